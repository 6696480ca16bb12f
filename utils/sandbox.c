/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/sandbox.h"
#include "core/system.h"
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
#if defined(HAVE_LINUX_SECCOMP_H) && defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#if defined(__x86_64__) && defined(__LP64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define NATIVE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define NATIVE AUDIT_ARCH_S390X
#endif
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
    const char *backend = o->backend ? o->backend : wcodec_getenv("WCODEC_BACKEND");
    const char *dir = wcodec_getenv("WCODEC_BACKEND_PATH");
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
    char *dir = path_parent(path);
    if (dir)
        allow_directory(rules, dir);
    else
        rules->failed = true;
    free(dir);
}

static void allow_below_home(struct rules *rules, const char *variable, const char *name)
{
    const char *dir = wcodec_getenv(variable), *home = wcodec_getenv("HOME");
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
    case COMMAND_VECTORS:
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
    const char *dir = wcodec_getenv("TMPDIR");
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

static bool confine_files(const struct options *o, bool drivers)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attributes = {0};
    struct rules rules = {0};
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
    allow_outputs(&rules, o);
    allow_temporary(&rules);
    if (drivers)
        allow_drivers(&rules);
    const bool good = !rules.failed && syscall(SYS_landlock_restrict_self, rules.fd, 0) == 0;
    close(rules.fd);
    return good;
}

#elif defined(__linux__)
static bool confine_files(const struct options *o, bool drivers)
{
    (void)o, (void)drivers;
    return false;
}
#endif

#ifdef NATIVE

/* Calls that nothing of ours makes. The filter is put together here, since libseccomp (2.5.4) dies
 * where memory is out. */
static const unsigned refused[] = {
#ifndef FINDS_LEAKS
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_open_by_handle_at,
    SYS_bpf,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_open_tree
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
#endif
};

struct filter {
    struct sock_filter code[128];
    unsigned short length;
};

static void put(struct filter *f, unsigned code, uint32_t value, unsigned yes, unsigned no)
{
    f->code[f->length++] = (struct sock_filter){
        .code = (uint16_t)code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = value};
}

static void load(struct filter *f, size_t offset)
{
    put(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void give(struct filter *f, uint32_t result)
{
    put(f, BPF_RET | BPF_K, result, 0, 0);
}

/* Is what was loaded this: refused. */
static void refuse(struct filter *f, unsigned code, uint32_t value)
{
    put(f, BPF_JMP | BPF_K | code, value, 0, 1);
    give(f, SECCOMP_RET_ERRNO | EACCES);
}

/* Where the low half of a call's argument is. */
static size_t place_of(unsigned argument)
{
    return offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t) +
           (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0);
}

/* Nothing is typed into the terminal, where a shell would run it. The kernel, too, looks only at
 * the low half of the request. */
static void refuse_typing(struct filter *f)
{
    enum { REQUEST = 1 };
    put(f, BPF_JMP | BPF_K | BPF_JEQ, SYS_ioctl, 0, 6);
    load(f, place_of(REQUEST));
    refuse(f, BPF_JEQ, TIOCSTI);
    refuse(f, BPF_JEQ, TIOCLINUX);
    give(f, SECCOMP_RET_ALLOW);
}

/* Drivers may run programs, and talk to their service on this machine. */
static bool confine_calls(bool drivers)
{
    enum { DOMAIN = 0 };
    struct filter f = {.length = 0};
    /* Calls of another architecture's have other numbers. */
    load(&f, offsetof(struct seccomp_data, arch));
    put(&f, BPF_JMP | BPF_K | BPF_JEQ, NATIVE, 1, 0);
    give(&f, SECCOMP_RET_ERRNO | EACCES);
    load(&f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    refuse(&f, BPF_JGE, 0x40000000); /* those of x32 */
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse(&f, BPF_JEQ, refused[i]);
    refuse_typing(&f);
    if (drivers) {
        put(&f, BPF_JMP | BPF_K | BPF_JEQ, SYS_socket, 1, 0);
        give(&f, SECCOMP_RET_ALLOW);
        load(&f, place_of(DOMAIN));
        put(&f, BPF_JMP | BPF_K | BPF_JEQ, AF_UNIX, 1, 0);
        give(&f, SECCOMP_RET_ERRNO | EACCES);
    } else {
        refuse(&f, BPF_JEQ, SYS_socket);
        refuse(&f, BPF_JEQ, SYS_execve);
        refuse(&f, BPF_JEQ, SYS_execveat);
    }
    give(&f, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = f.length, .filter = f.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#elif defined(__linux__)
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
    const bool files = confine_files(&app->options, drivers), calls = confine_calls(drivers);
    if (app->options.verbose > 1)
        app_detail(app, "sandbox: files %s, calls %s%s", files ? "confined" : "not confined",
                   calls ? "confined" : "not confined", drivers ? ", drivers may be used" : "");
#else
    (void)app;
#endif
}
