/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Output files that appear under their name only when they are whole, and standard output. The
 * library has the same inside for its own paths; the command keeps to the public interface, and has
 * rules of its own (links, devices, --force, owner, the terminal), so it does not share that code.
 */
#ifndef WCODEC_UTILS_OUTPUT_H
#define WCODEC_UTILS_OUTPUT_H

#include "utils/app.h"
#include "utils/input.h"
#include "utils/mapped.h"
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

/* In place of an errno: another process has cut the file short. */
enum { OUTPUT_CUT = -1 };

struct output {
    const char *name;         /* path, or "standard output" */
    int fd;                   /* -1: not open */
    int dir_fd;               /* -1: written in place (standard output, device, pipe) */
    char *base;               /* final name in dir_fd */
    char *temporary;          /* name in dir_fd to be removed; NULL: none */
    bool in_any_order;        /* output_write_at() serves */
    off_t begin;              /* then: where the output begins in the file */
    atomic_int error;         /* errno of a write that failed */
    bool sync;                /* it is to be on the disk in the end */
    _Atomic uint64_t written; /* bytes, but for those written by the map */
    _Atomic uint64_t end;     /* of what was written in any order */
    struct mapped mapped;     /* of a file in memory */
};

/* Start `path`. `input` (may be NULL) is the file that is read: writing over it is refused. An
 * existing file, a symbolic link, device or pipe is refused without
 * --force; with it, files and links are replaced (never followed), devices and pipes are written
 * to. False: reported. */
bool output_open(struct app *app, const char *path, const struct stat *input,
                 struct output *output);
/* The same with a file that is in the directory of `path` already, as `temporary`, and has all that
 * is to be written. */
bool output_adopt(struct app *app, const char *path, const struct stat *input,
                  const char *temporary, struct output *output);
/* Standard output; `input` as above. Binary data to a terminal is refused without --force. */
bool output_open_stdout(struct app *app, const struct stat *input, struct output *output);

/* A wcodec_write_fn; `output` is the struct. */
int output_write(void *output, const void *data, size_t size);

/* A wcodec_write_at_fn for what is in_any_order. */
int output_write_at(void *output, uint64_t offset, const void *data, size_t size);

/* Get ready for that many bytes: is there room? Disks are asked to allocate it. Reported if not. */
bool output_prepare(struct app *app, struct output *output, uint64_t size);
/* Get ready to write about that many bytes in any order, or fewer. */
void output_map(struct output *output, uint64_t most);
/* After that many bytes were written in any order, what is written to standard output by others
 * goes after them. False: reported. */
bool output_pass(struct app *app, const struct output *output, uint64_t size);

struct output_attributes {
    bool set_mode;
    mode_t mode; /* permission bits */
    bool apply_umask;
    bool set_mtime;
    struct timespec mtime;
    bool set_owner;
    uid_t uid;
    gid_t gid;
    bool narrowed; /* by files of `group`; mixed: of several */
    bool mixed;
    gid_t group;
};

/* Mode, time and owner of a file, to be given to another. */
struct output_attributes output_attributes_of(const struct stat *stat);

/* Of an output that is made from a file nobody may do more than with that, except its owner: to be
 * called for each such file. */
void output_attributes_narrow(struct output_attributes *attributes, const struct stat *stat);
/* The same for all files of an input; reader: NULL, or what was opened of it. */
void output_attributes_narrow_by(struct output_attributes *attributes, const struct input *input,
                                 const wcodec_reader *reader);

/* All is written: cut it to its size, so that it can be read. output_commit() does so, too. False:
 * reported. */
bool output_cut(struct app *app, struct output *output);

/* Give it its attributes, bring it to the disk and to its name. False: reported. */
bool output_commit(struct app *app, struct output *output,
                   const struct output_attributes *attributes);

/* Report a failed call of the library that wrote to it: the failure to write if there was one, else
 * err with `name` in front. Always false. */
bool output_fail(struct app *app, const struct output *output, const char *name,
                 const wcodec_error *err);

/* Close; what was not committed is removed. */
void output_close(struct output *output);

#endif
