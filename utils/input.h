/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Input files: names, "-" for standard input, pipes. Whatever it was, `fd` is a regular file that
 * can be read anywhere. */
#ifndef WCODEC_UTILS_INPUT_H
#define WCODEC_UTILS_INPUT_H

#include "utils/app.h"
#include <sys/stat.h>

static inline bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

struct input {
    const char *name; /* for messages: the path, or "standard input" */
    const char *path; /* NULL: standard input */
    int fd;           /* -1: not open */
    struct stat stat; /* of the file that was named; st_size is right for spools too */
    bool spooled;     /* came through a pipe: has no name, mode or time of its own */
};

/* Open; symbolic links are followed. Directories, devices and terminals are refused. False:
 * reported. */
bool input_open(struct app *app, const char *path, struct input *input);
void input_close(struct input *input);

/* Does it begin as .wcodec files do? */
bool input_is_container(const struct input *input);

/* So many bytes from there. False: reported, or interrupted. */
bool input_read(struct app *app, const struct input *input, uint64_t at, void *bytes, size_t size);

/* May --rm remove it? Refuses links, files with other names, and what is no file. False: reported.
 */
bool input_check_removable(struct app *app, const struct input *input);
/* Remove it, if its name still stands for the file that was read and that has not changed. */
bool input_remove(struct app *app, const struct input *input);

/* Open a .wcodec input: a file, "-" or a pipe through `input` (closed by input_close() after the
 * reader), or a model folder or index.json (input->fd is then -1). False: reported. */
bool input_open_reader(struct app *app, const char *path, struct input *input,
                       wcodec_reader **reader);

/* Open each input of the command line in turn, as input_open_reader() does, hand it to `visit`, and
 * close it. With --json one that cannot be opened is handed over too, as NULL. */
typedef void (*reader_fn)(struct app *app, void *opaque, const char *name,
                          const wcodec_reader *reader);
void input_each_reader(struct app *app, reader_fn visit, void *opaque);

/* Is it a directory (links followed)? */
bool path_is_directory(const char *path);
/* What comes after the last slash. */
const char *path_base(const char *path);
/* Where it is, or will be made: what comes before that, and before slashes at its end. The caller
 * frees it. NULL: no memory. */
char *path_parent(const char *path);
bool path_has_suffix(const char *path, const char *suffix);
/* "dir/name"; a slash at dir's end is not doubled. NULL: reported. The caller frees it. */
char *path_join(struct app *app, const char *dir, const char *name);

/* wcodec_hash_fd(). False: reported, or interrupted. */
bool file_hash(struct app *app, int fd, const char *name, uint8_t hash[16]);

#endif
