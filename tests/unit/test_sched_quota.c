/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "sched/quota.h"
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

/* Write a file below the root, with its folders. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')) != NULL; s++) {
        *s = '\0';
        mkdir(full, 0700);
        *s = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static int begin(void **state)
{
    *state = NULL;
    snprintf(root, sizeof root, "/tmp/wcodec-quota.XXXXXX");
    return mkdtemp(root) == NULL;
}

static int end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "garbage\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "100000 0\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "-5 100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/proc/self/cgroup", "nonsense\n:\n3:cpu\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
}

static void test_v2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 3);
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"); /* a group above is stricter */
    assert_int_equal(wcodec_quota_cpus(root), 2);
    put("/sys/fs/cgroup/cpu.max", "1000 100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 1);
}

static void test_v1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "4:memory:/m\n3:cpuset:/s\n2:cpu,cpuacct:/docker/abc\n0::/\n");
    put("/sys/fs/cgroup/cpuset/s/cpu.cfs_quota_us", "1000\n"); /* not this controller's */
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "400000\n");
    assert_int_equal(wcodec_quota_cpus(root), 4);
    /* In a container the group's path is the host's, and the mount is the group itself. */
    put("/proc/self/cgroup", "1:cpu:/kubepods/pod1/c1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(wcodec_quota_cpus(root), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_nothing, begin, end),
                                       cmocka_unit_test_setup_teardown(test_v2, begin, end),
                                       cmocka_unit_test_setup_teardown(test_v1, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
