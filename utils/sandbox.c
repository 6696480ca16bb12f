/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/sandbox.h"
#include "utils/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#if defined(HAVE_LINUX_LANDLOCK_H) && defined(SYS_landlock_create_ruleset)
#include <linux/landlock.h>
#define USE_LANDLOCK
#endif
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#include <sys/socket.h>
#endif
#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
/* The search for leaks looks into the process by ptrace(). */
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define FINDS_LEAKS
#endif

#ifdef __linux__

static bool decodes(enum command command)
{
    return command != COMMAND_LIST && command != COMMAND_INFO;
}

static bool has_plugin(const char *dir, const char *name)
{
    char path[4096];
    return (size_t)snprintf(path, sizeof path, "%s/wcodec_%s.so", dir, name) >= sizeof path ||
           access(path, F_OK) == 0;
}

/* May a driver be loaded? Not where the backend is the CPU, nothing is decoded, or there is none.
 */
static bool may_use_drivers(const struct options *o)
{
    const char *backend = o->backend ? o->backend : secure_getenv("WCODEC_BACKEND");
    const char *dir = secure_getenv("WCODEC_BACKEND_PATH");
    if (!decodes(o->command) || (backend && strcmp(backend, "cpu") == 0))
        return false;
    if (backend && *backend && strcmp(backend, "auto") != 0)
        return true;
#ifdef WCODEC_RELOCATABLE
    if (!dir)
        return true;
#endif
    if (!dir)
        dir = WCODEC_PLUGINDIR;
    return has_plugin(dir, "cuda") || has_plugin(dir, "opencl");
}

#endif

#ifdef USE_LANDLOCK

/* Later than the first headers with Landlock. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

struct rules {
    struct app *app;
    int fd;
    uint64_t handled;
    bool failed;
};

static void allow_directory(struct rules *rules, const char *dir)
{
    struct landlock_path_beneath_attr beneath = {.allowed_access = rules->handled};
    beneath.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (beneath.parent_fd < 0)
        return; /* nothing can be written there */
    if (syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0)
        rules->failed = true;
    close(beneath.parent_fd);
}

/* Where `path` is, or will be made. */
static void allow_beside(struct rules *rules, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *dir = n ? strndup(path, n) : strdup(".");
    if (dir)
        allow_directory(rules, dir);
    else
        rules->failed = true;
    free(dir);
}

static void allow_below_home(struct rules *rules, const char *variable, const char *name)
{
    const char *dir = secure_getenv(variable), *home = secure_getenv("HOME");
    char path[4096];
    if (dir && *dir)
        allow_directory(rules, dir);
    else if (home && *home &&
             (size_t)snprintf(path, sizeof path, "%s/%s", home, name) < sizeof path)
        allow_directory(rules, path);
}

static bool writes(const struct options *o)
{
    switch (o->command) {
    case COMMAND_COMPRESS:
    case COMMAND_DECOMPRESS:
    case COMMAND_CONVERT:
    case COMMAND_REBASE:
    case COMMAND_CAT:
        return !o->to_stdout;
    default:
        return false;
    }
}

static void allow_outputs(struct rules *rules, const struct options *o)
{
    if (!writes(o))
        return;
    if (o->output)
        allow_beside(rules, o->output);
    else if (o->output_dir)
        allow_beside(rules, o->output_dir);
    if (o->output_dir)
        allow_directory(rules, o->output_dir);
    /* What lies beside its input, and --rm. */
    if ((!o->output && !o->output_dir) || o->remove)
        for (size_t i = 0; i < o->files.count; i++)
            allow_beside(rules, o->files.items[i]);
}

static void allow_temporary(struct rules *rules)
{
    const char *dir = secure_getenv("TMPDIR");
    if (dir && *dir) {
        allow_directory(rules, dir);
        return;
    }
    allow_directory(rules, "/var/tmp");
    allow_directory(rules, "/tmp");
}

/* Where programs that OpenCL's drivers run keep files, and drivers what they have compiled. */
static void allow_drivers(struct rules *rules)
{
    allow_directory(rules, "/proc");
    allow_directory(rules, "/tmp");
    allow_below_home(rules, "XDG_CACHE_HOME", ".cache");
    allow_below_home(rules, "POCL_CACHE_DIR", ".cache/pocl");
    allow_below_home(rules, "CUDA_CACHE_PATH", ".nv");
}

static bool confine_files(struct app *app, bool drivers)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attributes = {0};
    struct rules rules = {.app = app};
    /* Before version 2 no file could be renamed from one directory to another, and before 3 any
     * could be cut. */
    if (version < 2)
        return false;
    rules.handled =
        LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
        LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
        LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
        LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rules.handled |= LANDLOCK_ACCESS_FS_TRUNCATE;
    attributes.handled_access_fs = rules.handled;
    rules.fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (rules.fd < 0)
        return false;
    allow_directory(&rules, "/dev");
    allow_outputs(&rules, &app->options);
    allow_temporary(&rules);
    if (drivers)
        allow_drivers(&rules);
    const bool good = !rules.failed && syscall(SYS_landlock_restrict_self, rules.fd, 0) == 0;
    close(rules.fd);
    return good;
}

#else
static bool confine_files(struct app *app, bool drivers)
{
    (void)app, (void)drivers;
    return false;
}
#endif

#ifdef HAVE_SECCOMP

/* Calls that nothing of ours makes. */
static const int refused[] = {
#ifndef FINDS_LEAKS
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(bpf),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(reboot),
    SCMP_SYS(open_by_handle_at),
};

/* What a driver may: run programs, and talk to its service on this machine. */
static const int of_drivers[] = {SCMP_SYS(execve), SCMP_SYS(execveat)};

static bool refuse(scmp_filter_ctx filter, const int *calls, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), calls[i], 0) == 0 && good;
    return good;
}

static bool confine_calls(bool drivers)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return false;
    bool good = refuse(filter, refused, sizeof refused / sizeof *refused);
    if (drivers)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1,
                                SCMP_A0(SCMP_CMP_NE, AF_UNIX)) == 0 &&
               good;
    else
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 0) == 0 &&
               refuse(filter, of_drivers, sizeof of_drivers / sizeof *of_drivers) && good;
    good = good && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return good;
}

#else
static bool confine_calls(bool drivers)
{
    (void)drivers;
    return false;
}
#endif

void sandbox_enter(struct app *app)
{
#ifdef __linux__
    if (app->options.no_sandbox || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return;
    const bool drivers = may_use_drivers(&app->options);
    const bool files = confine_files(app, drivers), calls = confine_calls(drivers);
    if (app->options.verbose > 1)
        app_detail(app, "sandbox: files %s, calls %s%s", files ? "confined" : "not confined",
                   calls ? "confined" : "not confined", drivers ? ", drivers may be used" : "");
#else
    (void)app;
#endif
}
