/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sched/quota.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_SIZE = 8192, PATH_SIZE = 4608 };

/* Read a small file whole as text. */
static bool read_file(const char *path, char text[FILE_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t size = 0;
    while (size < FILE_SIZE - 1) {
        ssize_t n = read(fd, text + size, FILE_SIZE - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    close(fd);
    text[size] = '\0';
    return size != 0;
}

static void take_least(unsigned *cpus, long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return;
    long long n = quota / period + (quota % period != 0);
    if (n < 1 << 20 && (*cpus == 0 || (unsigned)n < *cpus))
        *cpus = (unsigned)n;
}

/* Version 2: "max 100000" or "150000 100000". */
static void look_v2(const char *folder, unsigned *cpus)
{
    char path[PATH_SIZE], text[FILE_SIZE];
    long long quota, period;
    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path ||
        !read_file(path, text))
        return;
    if (sscanf(text, "%lld %lld", &quota, &period) == 2)
        take_least(cpus, quota, period);
}

/* Version 1: two files; a quota of -1 is none. */
static void look_v1(const char *folder, unsigned *cpus)
{
    char path[PATH_SIZE], quota[FILE_SIZE], period[FILE_SIZE];
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= (int)sizeof path ||
        !read_file(path, quota))
        return;
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= (int)sizeof path ||
        !read_file(path, period))
        return;
    take_least(cpus, strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Look in a group's folder and all above it up to the mount. In a container the group's path is
 * often that of the host and not there: then only its upper parts are. */
static void climb(const char *mount, const char *group,
                  void (*look)(const char *folder, unsigned *cpus), unsigned *cpus)
{
    char folder[PATH_SIZE - 32];
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return;
    size_t top = strlen(mount);
    for (;;) {
        look(folder, cpus);
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < top)
            return;
        *slash = '\0';
    }
}

/* Is "cpu" one of the comma-separated names? */
static bool names_cpu(const char *controllers)
{
    for (;;) {
        size_t length = strcspn(controllers, ",");
        if (length == 3 && memcmp(controllers, "cpu", 3) == 0)
            return true;
        if (controllers[length] == '\0')
            return false;
        controllers += length + 1;
    }
}

unsigned wcodec_quota_cpus(const char *root)
{
    static const char *const mounts_v2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static const char *const mounts_v1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    char path[PATH_SIZE], text[FILE_SIZE], mount[512];
    unsigned cpus = 0;
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path ||
        !read_file(path, text))
        return 0;
    /* Lines are "number:controllers:path"; version 2 has no controllers. */
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        controllers++;
        bool v2 = controllers[0] == '\0';
        if (!v2 && !names_cpu(controllers))
            continue;
        for (unsigned i = 0; i < 2; i++)
            if (snprintf(mount, sizeof mount, "%s%s", root, v2 ? mounts_v2[i] : mounts_v1[i]) <
                (int)sizeof mount)
                climb(mount, group, v2 ? look_v2 : look_v1, &cpus);
    }
    return cpus;
}
