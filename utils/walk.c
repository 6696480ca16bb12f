/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/walk.h"
#include "utils/directory.h"
#include "utils/input.h"
#include "utils/output.h"
#include "utils/results.h"
#include "utils/signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 64 };

struct walk {
    struct app *app;
    const char *root;
    walk_fn visit;
    void *opaque;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* All names in a directory but "." and "..", sorted. */
static bool read_names(struct app *app, const char *path, char ***names, size_t *count)
{
    char **list = NULL;
    size_t n = 0, capacity = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return app_fail_errno(app, path, "cannot open the directory", errno);
    const struct dirent *entry;
    for (errno = 0; (entry = readdir(dir)); errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (n == capacity) {
            char **more = realloc(list, (capacity = capacity ? capacity * 2 : 64) * sizeof *list);
            if (!more)
                goto no_memory;
            list = more;
        }
        if (!(list[n] = strdup(entry->d_name)))
            goto no_memory;
        n++;
    }
    if (errno) {
        app_fail_errno(app, path, "cannot read the directory", errno);
        goto fail;
    }
    closedir(dir);
    if (n)
        qsort(list, n, sizeof *list, compare_names);
    *names = list;
    *count = n;
    return true;
no_memory:
    app_fail(app, EXIT_FAILED, "%s: out of memory", path);
fail:
    closedir(dir);
    free_names(list, n);
    return false;
}

static bool walk_below(const struct walk *walk, const char *relative, unsigned depth);

#define DIGITS "0123456789"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* How names of temporary files end, after ".NAME": the command's (utils/output.c), the library's
 * (lib/io/safefile.c), and those of the Python package (python/wcodec/_write.py). */
static const struct ending {
    size_t length; /* of what is random, between "." and `last` */
    const char *of;
    const char *last;
    bool any_name; /* not only files of weights are written so */
} endings[] = {
    {10, DIGITS "abcdefghijklmnopqrstuv", "", true},
    {6, CAPITALS LETTERS DIGITS "-_", "", false},
    {12, DIGITS "abcdef", ".part", true},
};

/* A word, a date or a number is none of ours: a digit or a capital stands after the first letter,
 * and not all are of one kind. Three in a hundred of ours are not known by it, which does less
 * harm than a file that is left out. */
static bool looks_random(const char *text, size_t n)
{
    return strcspn(text + 1, DIGITS CAPITALS) < n - 1 && strspn(text, DIGITS) < n &&
           strspn(text, CAPITALS) < n;
}

/* The length of NAME where `base` is ".NAME" and such an ending; 0: it is not. */
static size_t match_ending(const char *base, const struct ending *ending)
{
    const size_t n = strlen(base), tail = ending->length + strlen(ending->last);
    if (base[0] != '.' || n < tail + 3 || base[n - tail - 1] != '.')
        return 0;
    const char *noise = base + n - tail;
    return strspn(noise, ending->of) >= ending->length &&
                   strcmp(noise + ending->length, ending->last) == 0 &&
                   looks_random(noise, ending->length)
               ? n - tail - 2
               : 0;
}

/* Is it what a run that was killed left, ".NAME.wcodec.bi80ki0tc4"? Other names than those of
 * weights only where there is a file of that name, as the next run has made it. */
static bool is_temporary(const char *path)
{
    const char *base = path_base(path);
    bool ours = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !ours; i++) {
        const size_t length = match_ending(base, &endings[i]);
        char *name = length ? strndup(path, (size_t)(base - path) + 1 + length) : NULL;
        if (!name)
            continue;
        char *plain = name + (base - path);
        memmove(plain, plain + 1, length + 1);
        ours = path_has_suffix(plain, ".wcodec") || path_has_suffix(plain, ".safetensors") ||
               (endings[i].any_name && access(name, F_OK) == 0);
        free(name);
    }
    return ours;
}

/* False: nothing further can be visited. */
static bool visit_name(const struct walk *walk, const char *relative, unsigned depth)
{
    struct app *app = walk->app;
    struct stat link, target;
    bool good = true;
    char *path = path_join(app, walk->root, relative);
    if (!path)
        return false;
    const bool linked = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
    if (linked && stat(path, &target) != 0 && errno == ENOENT)
        app_warn(app, "%s: left out: a symbolic link to what is not there", path);
    else if (stat(path, &target) != 0)
        app_fail_errno(app, path, "cannot be examined", errno);
    else if (S_ISREG(target.st_mode) && is_temporary(path))
        app_warn(app, "%s: left out: a temporary file of a run that was ended", path);
    else if (S_ISREG(target.st_mode))
        walk->visit(app, walk->opaque, relative, false);
    else if (!S_ISDIR(target.st_mode))
        app_warn(app, "%s: left out: neither a file nor a directory", path);
    else if (linked)
        app_warn(app, "%s: left out: a symbolic link to a directory", path);
    else if (!app->options.recursive)
        app_warn(app, "%s: left out: a directory (-r goes into it)", path);
    else if (depth >= MAX_DEPTH)
        app_fail(app, EXIT_FAILED, "%s: directories are nested too deeply", path);
    else if (walk->visit(app, walk->opaque, relative, true))
        good = walk_below(walk, relative, depth + 1);
    free(path);
    return good;
}

static bool walk_below(const struct walk *walk, const char *relative, unsigned depth)
{
    char **names = NULL;
    size_t count = 0;
    char *path = *relative ? path_join(walk->app, walk->root, relative) : strdup(walk->root);
    if (!path)
        return app_fail(walk->app, EXIT_FAILED, "%s: out of memory", walk->root);
    bool good = read_names(walk->app, path, &names, &count);
    free(path);
    if (!good)
        return false;
    for (size_t i = 0; i < count && good && !signals_pending(); i++) {
        char *below = *relative ? path_join(walk->app, relative, names[i]) : strdup(names[i]);
        good = below && visit_name(walk, below, depth);
        free(below);
    }
    free_names(names, count);
    return good;
}

bool walk_directory(struct app *app, const char *dir, walk_fn visit, void *opaque)
{
    struct walk walk = {.app = app, .root = dir, .visit = visit, .opaque = opaque};
    return walk_below(&walk, "", 0);
}

/* realpath() of the longest part that exists, with the rest after it; the caller frees it. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    if (real || errno != ENOENT)
        return real;
    char *copy = strdup(path);
    if (!copy)
        return NULL;
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = 0;
    char *slash = strrchr(copy, '/');
    const char *base = slash ? slash + 1 : copy;
    char *parent = slash ? strndup(copy, slash == copy ? 1 : (size_t)(slash - copy)) : strdup(".");
    char *above = parent ? resolve(parent) : NULL;
    if (above && (real = malloc(strlen(above) + strlen(base) + 2))) {
        strcpy(real, above);
        if (strcmp(above, "/") != 0)
            strcat(real, "/");
        strcat(real, base);
    }
    free(above);
    free(parent);
    free(copy);
    return real;
}

static bool is_inside(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 &&
           (path[n] == 0 || path[n] == '/' || (n && dir[n - 1] == '/'));
}

bool paths_overlap(const char *a, const char *b)
{
    char *ra = resolve(a), *rb = resolve(b);
    bool overlap = ra && rb && (is_inside(ra, rb) || is_inside(rb, ra));
    free(ra);
    free(rb);
    return overlap;
}

struct mirror {
    const char *in;
    const char *out;
    mirror_fn make;
    void *opaque;
    size_t count; /* of what was found in it */
};

static bool mirror_visit(struct app *app, void *opaque, const char *relative, bool is_directory)
{
    struct mirror *mirror = opaque;
    char *source = path_join(app, mirror->in, relative);
    char *target = path_join(app, mirror->out, relative);
    bool good = source && target;
    mirror->count++;
    if (good && is_directory)
        good = directory_make_like(app, target, source);
    else if (good)
        mirror->make(app, mirror->opaque, source, target);
    free(source);
    free(target);
    return good;
}

static void mirror_in(struct app *app, struct mirror *mirror)
{
    size_t length = strlen(mirror->out);
    while (length > 1 && mirror->out[length - 1] == '/')
        length--;
    char *root = strndup(mirror->out, length);
    if (!root) {
        app_fail(app, EXIT_FAILED, "%s: out of memory", mirror->out);
        return;
    }
    mirror->out = root;
    if (directory_make_like(app, root, mirror->in)) {
        app->mirror_length = length;
        if (walk_directory(app, mirror->in, mirror_visit, mirror) && mirror->count == 0 &&
            !signals_pending())
            app_warn(app, "%s: holds no files", mirror->in);
        app->mirror_length = 0;
    }
    free(root);
}

void walk_mirror(struct app *app, const char *in, const char *out, mirror_fn make, void *opaque)
{
    struct mirror mirror = {.in = in, .out = out, .make = make, .opaque = opaque};
    if (paths_overlap(in, out))
        app_fail(app, EXIT_USAGE,
                 "%s: lies in '%s', or the other way round; input and output must be apart", out,
                 in);
    else
        mirror_in(app, &mirror);
}

static bool has_contents_of(struct app *app, const char *target, const struct input *input)
{
    uint8_t ours[16], theirs[16];
    struct stat stat;
    bool same = false;
    int fd = open(target, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == input->stat.st_size &&
        stat.st_ino != input->stat.st_ino)
        same = file_hash(app, fd, target, theirs) && file_hash(app, input->fd, input->name, ours) &&
               memcmp(ours, theirs, 16) == 0;
    close(fd);
    return same;
}

static bool copy_bytes(struct app *app, const struct input *input, struct output *output)
{
    enum { SIZE = 1 << 20 };
    char *buffer = app_alloc(app, input->name, SIZE);
    bool good = buffer != NULL;
    for (off_t at = 0; good;) {
        ssize_t n = pread(input->fd, buffer, SIZE, at);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            good = app_fail_errno(app, input->name, "cannot read", errno);
        else if (output_write(output, buffer, (size_t)n) != 0)
            good = app_fail_errno(app, output->name, "cannot write", output->error);
        at += n;
    }
    free(buffer);
    return good;
}

bool copy_file(struct app *app, const char *source, const char *target)
{
    struct input input;
    struct output output;
    if (!input_open(app, source, &input))
        return false;
    bool good = has_contents_of(app, target, &input);
    if (good) {
        app_note(app, "%s: up to date", target);
        app->sums.current++;
        results_add(app, source, target, "up to date", NULL);
    } else if (!signals_pending() && output_open(app, target, &input.stat, &output)) {
        struct output_attributes attributes = output_attributes_of(&input.stat);
        good = copy_bytes(app, &input, &output) && output_commit(app, &output, &attributes);
        output_close(&output);
        if (good)
            app_note(app, "%s: copied", source);
        app->sums.copied += good;
        if (good)
            results_add(app, source, target, "copied", NULL);
    }
    input_close(&input);
    if (!good)
        results_add_failure(app, source);
    return good;
}
