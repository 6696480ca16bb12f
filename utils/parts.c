/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/parts.h"
#include "core/system.h"
#include "utils/bases.h"
#include "utils/compress.h"
#include "utils/directory.h"
#include "utils/results.h"
#include "utils/signals.h"
#include "utils/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file has some 32 parts, each of so many bytes at least and at most: these are coded within half
 * a minute by one core at any level. All parts are open at once. */
enum { PARTS = 32, PARTS_MAX = 256, LONGEST_NAME = 170 };
#define LEAST_BYTES ((uint64_t)16 << 20)
#define MOST_BYTES ((uint64_t)256 << 20)
#define INFIX ".part-"

/* Those of one output. */
struct parts {
    struct app *app;
    const struct source *source;
    const char *target;
    int dir_fd;
    char key[17];
    size_t count;
    uint64_t bytes; /* of the original, in each but the last */
    wcodec_encode_options encode;
    wcodec_reader **readers; /* NULL: they are not open */
    int *fds;
    int whole;     /* descriptor of the output; -1: it is not open */
    int error;     /* errno of what failed */
    size_t placed; /* the part whose payloads are to be copied; `count`: none */
};

static uint64_t size_of(const struct source *source)
{
    return source->reader ? source->info.size : (uint64_t)source->input->stat.st_size;
}

uint64_t parts_bytes(uint64_t size)
{
    uint64_t bytes = size / PARTS;
    if (bytes < LEAST_BYTES)
        bytes = LEAST_BYTES;
    if (bytes > MOST_BYTES)
        bytes = MOST_BYTES;
    return size / bytes < PARTS_MAX ? bytes : size / PARTS_MAX + 1;
}

bool parts_are_named(const char *target)
{
    return strlen(path_base(target)) <= LONGEST_NAME;
}

size_t parts_count(const struct app *app, const struct source *source, const char *target)
{
    const uint64_t size = size_of(source), bytes = parts_bytes(size);
    if (!target || size < PARTS_WORTH || app->options.index || source_is_copied(app, source) ||
        source->input->spooled || !parts_are_named(target))
        return 0;
    return (size_t)((size + bytes - 1) / bytes);
}

/* Which state of a file it is. Times of change are not enough: whoever unpacks a folder may set
 * them, to what another file of that name had; inodes have other numbers on each host where the
 * file system makes them up. */
void parts_describe(FILE *text, const struct stat *file)
{
    fprintf(text, " %" PRIu64 " %lld %ld %lld %ld", (uint64_t)file->st_size,
            (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec, (long long)file->st_ctim.tv_sec,
            file->st_ctim.tv_nsec);
}

static void add_strings(FILE *text, const char *what, const struct strings *strings)
{
    for (size_t i = 0; i < strings->count; i++) {
        struct stat file;
        fprintf(text, "%s %zu %s", what, strlen(strings->items[i]), strings->items[i]);
        if (stat(strings->items[i], &file) == 0)
            parts_describe(text, &file);
        fputc('\n', text);
    }
}

/* All that the parts' bytes depend on. */
static bool make_key(struct parts *p)
{
    const struct options *o = &p->app->options;
    const wcodec_encode_options *e = &p->encode;
    char *bytes = NULL;
    size_t size = 0;
    uint8_t hash[16];
    char digits[33];
    wcodec_error err = {0};
    FILE *text = open_memstream(&bytes, &size);
    if (!text)
        return app_fail(p->app, EXIT_FAILED, "%s: out of memory", p->target);
    fprintf(text, "%s %d %" PRIu64, wcodec_version_string(), (int)o->command, p->bytes);
    parts_describe(text, &p->source->input->stat);
    fputc('\n', text);
    fprintf(text, "%d %d %u %d %d %d %d %a %d %d %d %" PRIu64 " %a %a\n", e->level, (int)e->tune,
            e->tile_log2, (int)e->profile, (int)e->predict, (int)e->lossy, (int)e->lossy_scale,
            e->lossy_value, e->raw, e->strict, e->no_verify, e->vectors_anchors, e->vectors_bits,
            e->vectors_recall);
    add_strings(text, "vectors", &o->table_names);
    add_strings(text, "include", &o->include);
    add_strings(text, "exclude", &o->exclude);
    add_strings(text, "base", &o->bases);
    add_strings(text, "from", &o->from);
    if (p->encode.onnx_model)
        fprintf(text, "model %s\n", p->encode.onnx_model);
    const bool good = fclose(text) == 0 &&
                      wcodec_hash_memory(p->app->context, bytes, size, hash, &err) == WCODEC_OK;
    free(bytes);
    if (!good)
        return app_fail(p->app, EXIT_FAILED, "%s: out of memory", p->target);
    text_hex(hash, 16, digits);
    memcpy(p->key, digits, sizeof p->key - 1);
    p->key[sizeof p->key - 1] = 0;
    return true;
}

/* ".NAME.part-KEY-NUMBER", or "all" in place of a number. */
char *parts_name(struct app *app, const char *target, const char *key, size_t number)
{
    const char *base = path_base(target);
    const size_t room = strlen(base) + sizeof INFIX + strlen(key) + 32;
    char *name = app_alloc(app, target, room);
    if (name && number != SIZE_MAX)
        snprintf(name, room, ".%s" INFIX "%s-%zu", base, key, number);
    else if (name)
        snprintf(name, room, ".%s" INFIX "%s-all", base, key);
    return name;
}

static char *name_of(const struct parts *p, size_t number)
{
    return parts_name(p->app, p->target, p->key, number);
}

/* False: reported; parts_end() is to be called in any case. */
static bool parts_begin(struct app *app, const struct source *source, const char *target,
                        struct parts *p)
{
    const uint64_t size = size_of(source);
    *p = (struct parts){.app = app,
                        .source = source,
                        .target = target,
                        .dir_fd = -1,
                        .whole = -1,
                        .bytes = parts_bytes(size)};
    p->count = p->placed = parts_count(app, source, target);
    if (p->count == 0)
        return app_fail(app, EXIT_FAILED, "%s: has changed", source->input->name);
    p->dir_fd = directory_open_above(app, target);
    return p->dir_fd >= 0 && compression_options(app, source, target, &p->encode) && make_key(p);
}

static void parts_end(struct parts *p)
{
    for (size_t i = 0; p->readers && i < p->count; i++) {
        wcodec_reader_close(p->readers[i]);
        if (p->fds[i] >= 0)
            close(p->fds[i]);
    }
    free(p->readers);
    free(p->fds);
    if (p->whole >= 0)
        close(p->whole);
    if (p->dir_fd >= 0)
        close(p->dir_fd);
}

int parts_open(int dir_fd, const char *name, int flags)
{
    struct stat file;
    const int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                   file.st_nlink == 1))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* Is it there, and whole? Else nothing of its name is left. */
static bool is_made(const struct parts *p, const char *name)
{
    struct app *app = p->app;
    wcodec_reader *reader;
    const int fd = parts_open(p->dir_fd, name, O_RDONLY);
    bool good = false;
    if (fd >= 0 && wcodec_reader_open_fd(app->context, fd, &reader, NULL) == WCODEC_OK) {
        wcodec_decode_options decode = app_decode_options(app);
        good = !bases_needed(reader) || p->encode.bases == NULL ||
               wcodec_reader_set_bases(reader, p->encode.bases, NULL) == WCODEC_OK;
        good = good && wcodec_reader_test(reader, 0, 0, &decode, NULL) == WCODEC_OK;
        wcodec_reader_close(reader);
    }
    if (fd >= 0)
        close(fd);
    if (!good && !signals_pending())
        unlinkat(p->dir_fd, name, 0);
    return good;
}

/* Code the part, and have it under its name. */
static bool write_part(struct parts *p, const char *path)
{
    struct app *app = p->app;
    struct output output;
    const struct output_attributes none = {0};
    wcodec_encode_report report;
    wcodec_error err = {0};
    const char *name = p->source->input->name;
    p->encode.part_begin = app->part * p->bytes;
    p->encode.part_end = app->part + 1 < p->count ? p->encode.part_begin + p->bytes : UINT64_MAX;
    if (!output_open(app, path, NULL, &output))
        return false;
    output.sync = false;
    p->encode.write_at = output_write_at;
    app->subject = name;
    const wcodec_status status =
        p->source->reader ? wcodec_recompress(p->source->reader, 0, output_write, &output,
                                              &p->encode, &report, &err)
                          : wcodec_compress_fd(app->context, p->source->input->fd, output_write,
                                               &output, &p->encode, &report, &err);
    app->subject = NULL;
    /* What a power cut leaves of it is found by a test: it need not be on the disk. */
    const bool no_sync = app->options.no_sync;
    app->options.no_sync = true;
    const bool good = status == WCODEC_OK ? output_commit(app, &output, &none)
                                          : output_fail(app, &output, name, &err);
    app->options.no_sync = no_sync;
    output_close(&output);
    return good;
}

static bool make_part(struct parts *p)
{
    char *name = name_of(p, p->app->part), *parent = path_parent(p->target),
         *path = name && parent ? path_join(p->app, *parent ? parent : ".", name) : NULL;
    bool good = path != NULL;
    if (good && !is_made(p, name))
        good = !signals_pending() && write_part(p, path);
    else if (good)
        app_detail(p->app, "%s: part %zu of %zu is there already", p->target, p->app->part + 1,
                   p->count);
    free(path);
    free(parent);
    free(name);
    return good;
}

/* All of them, which are made. */
static bool open_parts(struct parts *p)
{
    wcodec_error err = {0};
    p->readers = calloc(p->count, sizeof *p->readers);
    p->fds = malloc(p->count * sizeof *p->fds);
    if (!p->readers || !p->fds) {
        free(p->readers);
        p->readers = NULL;
        return app_fail(p->app, EXIT_FAILED, "%s: out of memory", p->target);
    }
    for (size_t i = 0; i < p->count; i++)
        p->fds[i] = -1;
    for (size_t i = 0; i < p->count; i++) {
        char *name = name_of(p, i);
        p->fds[i] = name ? parts_open(p->dir_fd, name, O_RDONLY) : -1;
        free(name);
        if (p->fds[i] < 0)
            return app_fail(p->app, EXIT_FAILED, "%s: part %zu of %zu is gone", p->target, i + 1,
                            p->count);
        if (wcodec_reader_open_fd(p->app->context, p->fds[i], &p->readers[i], &err) != WCODEC_OK)
            return app_fail(p->app, EXIT_FAILED, "%s: part %zu of %zu: %s", p->target, i + 1,
                            p->count, err.text);
    }
    return true;
}

int parts_write(int fd, uint64_t offset, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        const ssize_t n =
            signals_pending() ? -1 : pwrite(fd, from, wcodec_call_bytes(size), (off_t)offset);
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return signals_pending() ? EINTR : errno;
        from += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* The library's own writing: of part 0's process only. */
static int put_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    struct parts *p = opaque;
    if (p->placed == 0)
        p->error = parts_write(p->whole, offset, data, size);
    return p->error;
}

/* Through memory, where the system does not copy. */
static int copy_piece(const struct parts *p, size_t part, off_t *from, off_t *to, size_t size,
                      size_t *done)
{
    static char bytes[1 << 18];
    const ssize_t got =
        pread(p->fds[part], bytes, size < sizeof bytes ? size : sizeof bytes, *from);
    if (got <= 0)
        return got < 0 ? errno : EIO;
    const ssize_t put = pwrite(p->whole, bytes, (size_t)got, *to);
    if (put < 0)
        return errno;
    *from += put;
    *to += put;
    *done = (size_t)put;
    return 0;
}

static int copy_at(void *opaque, size_t part, uint64_t from, uint64_t to, uint64_t size)
{
    struct parts *p = opaque;
    off_t at = (off_t)from, end = (off_t)to;
    if (part != p->placed)
        return 0;
    while (size > 0) {
        size_t done = 0;
        if (signals_pending())
            return p->error = EINTR;
#ifdef __linux__
        const ssize_t n = copy_file_range(p->fds[part], &at, p->whole, &end, (size_t)size, 0);
        done = n > 0 ? (size_t)n : 0;
#endif
        int error = done ? 0 : copy_piece(p, part, &at, &end, (size_t)size, &done);
        if (error == EINTR)
            continue;
        if (error)
            return p->error = error;
        size -= done;
    }
    return 0;
}

static bool join(struct parts *p, wcodec_encode_report *report)
{
    wcodec_error err = {0};
    p->encode.write_at = put_at;
    p->encode.copy_at = copy_at;
    if (wcodec_join(p->app->context, (const wcodec_reader *const *)p->readers, p->count,
                    p->source->reader ? -1 : p->source->input->fd, p->source->reader, NULL, p,
                    &p->encode, report, &err) == WCODEC_OK)
        return true;
    return p->error ? app_fail_errno(p->app, p->target, "cannot write", p->error)
                    : app_fail_status(p->app, p->source->input->name, &err);
}

static bool place_part(struct parts *p)
{
    wcodec_encode_report report;
    char *name = name_of(p, SIZE_MAX);
    if (!name)
        return false;
    p->whole = parts_open(p->dir_fd, name, O_WRONLY | O_CREAT);
    const int error = errno;
    free(name);
    if (p->whole < 0)
        return app_fail_errno(p->app, p->target, "cannot create a temporary file beside it", error);
    p->placed = p->app->part;
    if (!open_parts(p) || !join(p, &report))
        return false;
    /* There are file systems that say only now that they had no room. */
    const int fd = p->whole;
    p->whole = -1;
    return close(fd) == 0 || app_fail_errno(p->app, p->target, "cannot write", errno);
}

static bool commit_parts(struct parts *p)
{
    wcodec_encode_report report;
    struct output output;
    struct stat file;
    char *name = name_of(p, SIZE_MAX);
    bool good = name && open_parts(p) && join(p, &report) &&
                output_adopt(p->app, p->target, &p->source->input->stat, name, &output);
    if (good) {
        good = (fstat(output.fd, &file) == 0 && (uint64_t)file.st_size == report.coded_size) ||
               app_fail(p->app, EXIT_FAILED, "%s: has not the bytes that were written", p->target);
        good = good && compression_commit(p->app, p->source, &report, p->app->seconds, &output);
        output_close(&output);
    }
    free(name);
    if (good)
        parts_remove(p->app, p->target);
    return good;
}

/* One of these steps, with the input open. */
static void do_step(struct app *app, const char *name, const char *target,
                    bool (*step)(struct parts *p))
{
    struct compression c;
    bool good = false;
    if (compression_open(app, name, &c)) {
        struct parts p;
        good = parts_begin(app, &c.source, target, &p) && step(&p);
        parts_end(&p);
        compression_close(&c);
    }
    if (!good)
        results_add_failure(app, name);
}

void parts_make(struct app *app, const char *name, const char *target)
{
    do_step(app, name, target, make_part);
}

void parts_place(struct app *app, const char *name, const char *target)
{
    do_step(app, name, target, place_part);
}

void parts_commit(struct app *app, const char *name, const char *target)
{
    do_step(app, name, target, commit_parts);
}

/* Is it what name_of() gives an output of that name, by any key; or, after "..", such a name and
 * what output_open() puts after it while it is written? */
static bool is_own_name(const char *name, const char *base)
{
    enum { KEY = 16, RANDOM = 11 };
    const size_t dots = strspn(name, "."), length = strlen(base);
    const char *at = name + dots;
    if (dots == 0 || dots > 2 || strncmp(at, base, length) != 0 ||
        strncmp(at + length, INFIX, sizeof INFIX - 1) != 0)
        return false;
    at += length + sizeof INFIX - 1;
    if (strspn(at, "0123456789abcdef") != KEY || at[KEY] != '-')
        return false;
    at += KEY + 1;
    const size_t number = strncmp(at, "all", 3) == 0 ? 3 : strspn(at, "0123456789");
    at += number;
    return number != 0 && (dots == 1 ? *at == 0 : *at == '.' && strlen(at) == RANDOM);
}

void parts_remove(struct app *app, const char *target)
{
    const char *base = path_base(target);
    const int fd = directory_open_above(app, target);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir));)
        if (is_own_name(e->d_name, base))
            unlinkat(fd, e->d_name, 0);
    closedir(dir);
}
