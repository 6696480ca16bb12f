/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the system refuses: memory, descriptors, file sizes, threads, files that are none, files
 * that shrink. Each case runs in a process of its own, with an alarm: it must end with an error,
 * without a crash, without waiting and without leaving a file. */
#include "fuzz/fuzz.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wcodec/writer.h>

enum { SIZE = 8 << 20, SECONDS = 60 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* these reserve more address space than any limit leaves */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static wcodec_error err;

static wcodec_context *new_context(unsigned threads)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.threads = threads;
    options.backend = "cpu";
    FUZZ_REQUIRE(wcodec_context_create(&options, &context, &err) == WCODEC_OK);
    return context;
}

/* A macro, since the type of `resource` is not the same everywhere. */
#define limit(resource, value) \
    do { \
        struct rlimit r_; \
        FUZZ_REQUIRE(getrlimit(resource, &r_) == 0); \
        r_.rlim_cur = (value); \
        FUZZ_REQUIRE(setrlimit(resource, &r_) == 0); \
    } while (0)

static void require_error(wcodec_status status, wcodec_status expected)
{
    if (status != expected)
        fprintf(stderr, "status %d (%s) instead of %d\n", status, err.text, expected);
    FUZZ_REQUIRE(status == expected && err.status == expected && err.text[0] != 0);
}

/* No file but these may be in the folder. */
static void require_only(const char *a, const char *b)
{
    DIR *dir = opendir(".");
    FUZZ_REQUIRE(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, a) != 0 && strcmp(e->d_name, b) != 0) {
            fprintf(stderr, "%s was left behind\n", e->d_name);
            abort();
        }
    closedir(dir);
}

static void file_too_large(void)
{
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 100000);
    require_error(wcodec_compress_path(new_context(1), "in", "out", NULL, NULL, &err),
                  WCODEC_ERROR_IO);
    require_only("in", "in.wcodec");
}

static void no_descriptor(void)
{
    wcodec_context *context = new_context(1);
    wcodec_reader *reader = NULL;
    limit(RLIMIT_NOFILE, 3);
    require_error(wcodec_reader_open_path(context, "in.wcodec", &reader, &err), WCODEC_ERROR_IO);
    require_error(wcodec_compress_path(context, "in", "out", NULL, NULL, &err), WCODEC_ERROR_IO);
    FUZZ_REQUIRE(!reader);
}

static uint64_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%llu", &pages) != 1)
        return 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void little_memory(void)
{
    const uint64_t used = address_space();
    if (SANITIZED || used == 0)
        return;
    wcodec_context *context = new_context(1);
    int failures = 0, right = 0;
    for (uint64_t more = 1 << 20; more <= 64 << 20; more += 3 << 20) {
        limit(RLIMIT_AS, used + more);
        const wcodec_status status = wcodec_compress_path(context, "in", "out", NULL, NULL, &err);
        FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        failures += status != WCODEC_OK;
        right += status == WCODEC_OK;
        unlink("out");
        require_only("in", "in.wcodec");
    }
    FUZZ_REQUIRE(failures > 0 && right > 0);
}

/* Stacks for threads need address space: without it the work is done by the caller. */
static void no_thread(void)
{
    const uint64_t used = address_space();
    if (SANITIZED || used == 0)
        return;
    static uint8_t bytes[SIZE];
    wcodec_context *context = new_context(8);
    wcodec_reader *reader = NULL;
    FUZZ_REQUIRE(wcodec_reader_open_path(context, "in.wcodec", &reader, &err) == WCODEC_OK &&
                 wcodec_reader_tensor_count(reader) == 1);
    limit(RLIMIT_STACK, 1 << 30); /* glibc takes it as the size of a thread's stack */
    limit(RLIMIT_AS, address_space() + (48 << 20));
    const wcodec_status status = wcodec_reader_decode(reader, 0, bytes, SIZE, NULL, &err);
    FUZZ_REQUIRE(status == WCODEC_OK);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

static void shrinks(void)
{
    wcodec_context *context = new_context(2);
    static uint8_t bytes[SIZE];
    for (int half = 0; half < 2; half++) {
        wcodec_reader *reader = NULL;
        FUZZ_REQUIRE(wcodec_reader_open_path(context, "in.wcodec", &reader, &err) == WCODEC_OK);
        FUZZ_REQUIRE(truncate("in.wcodec", half ? 0 : 300000) == 0);
        require_error(wcodec_reader_decode(reader, 0, bytes, SIZE, NULL, &err), WCODEC_ERROR_IO);
        wcodec_reader_close(reader);
        FUZZ_REQUIRE(unlink("in.wcodec") == 0 &&
                     wcodec_compress_path(context, "in", "in.wcodec", NULL, NULL, &err) ==
                         WCODEC_OK);
    }
    wcodec_context_destroy(context);
}

static void forked(void)
{
    wcodec_context *context = new_context(4);
    static uint8_t bytes[SIZE];
    wcodec_reader *reader = NULL;
    FUZZ_REQUIRE(wcodec_reader_open_path(context, "in.wcodec", &reader, &err) == WCODEC_OK &&
                 wcodec_reader_decode(reader, 0, bytes, SIZE, NULL, &err) == WCODEC_OK);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        require_error(wcodec_reader_decode(reader, 0, bytes, SIZE, NULL, &err), WCODEC_ERROR_USAGE);
        wcodec_context *own = new_context(4); /* a context of its own works */
        wcodec_reader *again = NULL;
        FUZZ_REQUIRE(wcodec_reader_open_path(own, "in.wcodec", &again, &err) == WCODEC_OK &&
                     wcodec_reader_decode(again, 0, bytes, SIZE, NULL, &err) == WCODEC_OK);
        _exit(0);
    }
    int status;
    FUZZ_REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    FUZZ_REQUIRE(wcodec_reader_decode(reader, 0, bytes, SIZE, NULL, &err) == WCODEC_OK);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

static void no_regular_file(void)
{
    wcodec_context *context = new_context(1);
    wcodec_reader *reader = NULL;
    FUZZ_REQUIRE(mkfifo("fifo", 0600) == 0);
    const char *const paths[] = {"fifo", "/dev/zero", "/dev/null", "none", "in/none", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const wcodec_status status = wcodec_reader_open_path(context, paths[i], &reader, &err);
        if (status != WCODEC_ERROR_IO && status != WCODEC_ERROR_CORRUPT &&
            status != WCODEC_ERROR_NOT_FOUND)
            fprintf(stderr, "%s: status %d %s\n", paths[i], status, err.text);
        FUZZ_REQUIRE((status == WCODEC_ERROR_IO || status == WCODEC_ERROR_CORRUPT ||
                      status == WCODEC_ERROR_NOT_FOUND) &&
                     !reader && err.text[0] != 0);
        if (i != 2)
            FUZZ_REQUIRE(wcodec_compress_path(context, paths[i], "out", NULL, NULL, &err) !=
                         WCODEC_OK);
        unlink("out");
    }
    unlink("fifo");
    wcodec_context_destroy(context);
}

/* 16 TiB that take no room: the tail is looked at, nothing else. */
static void sparse(void)
{
    wcodec_context *context = new_context(1);
    wcodec_reader *reader = NULL;
    const int fd = open("sparse", O_RDWR | O_CREAT, 0600);
    FUZZ_REQUIRE(fd >= 0);
    if (ftruncate(fd, (off_t)1 << 43) == 0 || ftruncate(fd, (off_t)1 << 39) == 0)
        require_error(wcodec_reader_open_path(context, "sparse", &reader, &err),
                      WCODEC_ERROR_CORRUPT);
    close(fd);
    unlink("sparse");
    wcodec_context_destroy(context);
}

static void read_only_folder(void)
{
    wcodec_context *context = new_context(1);
    if (geteuid() == 0)
        require_error(wcodec_compress_path(context, "in", "/proc/out.wcodec", NULL, NULL, &err),
                      WCODEC_ERROR_IO);
    else
        require_error(wcodec_compress_path(context, "in", "/out.wcodec", NULL, NULL, &err),
                      WCODEC_ERROR_IO);
    wcodec_context_destroy(context);
}

static void make_input(void)
{
    wcodec_context *context = new_context(1);
    static uint8_t bytes[SIZE];
    uint32_t x = 1;
    for (size_t i = 0; i < SIZE; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = i & 1 ? (uint8_t)(0x3c + __builtin_ctz(x >> 8 | 0x10)) : (uint8_t)(x >> 24);
    }
    FILE *f = fopen("in", "wb");
    char header[100];
    const int n = snprintf(header, sizeof header,
                           "{\"t\":{\"dtype\":\"BF16\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
                           SIZE / 2, SIZE);
    uint8_t word[8];
    wcodec_store_u64(word, (uint64_t)n);
    FUZZ_REQUIRE(f && fwrite(word, 1, 8, f) == 8 && fwrite(header, 1, (size_t)n, f) == (size_t)n &&
                 fwrite(bytes, 1, SIZE, f) == SIZE && fclose(f) == 0);
    FUZZ_REQUIRE(wcodec_compress_path(context, "in", "in.wcodec", NULL, NULL, &err) == WCODEC_OK);
    wcodec_context_destroy(context);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"a file above the limit", file_too_large},
                 {"no descriptor left", no_descriptor},
                 {"little memory", little_memory},
                 {"no thread can be started", no_thread},
                 {"no regular file", no_regular_file},
                 {"a sparse file", sparse},
                 {"a folder that cannot be written", read_only_folder},
                 {"a process forked", forked},
                 {"a file that shrinks", shrinks}};
    char folder[] = "limits.XXXXXX";
    int failed = 0;
    FUZZ_REQUIRE(mkdtemp(folder) && chdir(folder) == 0);
    make_input();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            alarm(SECONDS);
            cases[i].run();
            _exit(0);
        }
        int status = 1;
        FUZZ_REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
        printf("%s: %s\n", cases[i].name, status == 0 ? "right" : "WRONG");
        failed += status != 0;
    }
    require_only("in", "in.wcodec");
    unlink("in");
    unlink("in.wcodec");
    FUZZ_REQUIRE(chdir("..") == 0 && rmdir(folder) == 0);
    return failed != 0;
}
