/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every subcommand works with: options, the library's context, messages, exit code. */
#ifndef WCODEC_UTILS_APP_H
#define WCODEC_UTILS_APP_H

#include "utils/options.h"
#include "utils/progress.h"
#include <sys/types.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CORRUPT = 3,
    EXIT_BACKEND = 4,
    EXIT_BUSY = 5
};

/* A file that this run has made. */
struct made_file {
    dev_t device;
    ino_t inode;
};

struct external;   /* utils/external.h */
struct input;      /* utils/input.h */
struct work_share; /* utils/work.h */
struct json_t;     /* jansson.h */

/* What came of all inputs. */
struct sums {
    size_t coded, copied, current; /* files: compressed or restored, copied, up to date */
    uint64_t from, to;             /* bytes of those that were compressed or restored */
    uint64_t lossy;                /* tensors that were approximated */
};

struct app {
    struct options options;
    const char *program;      /* that messages come from; NULL: "wcodec" */
    struct work_share *share; /* NULL: work is done at once */
    bool shares_cores;        /* with other processes of ours: no thread is bound to one */
    wcodec_context *context;  /* made by app_context() */
    wcodec_bases *bases;      /* NULL, or what deltas are decoded by (utils/bases.h) */
    wcodec_bases *bases_onto; /* rebase: NULL, or of --base */
    const char *subject;      /* NULL, or the file that the library's log is about */
    struct progress progress;
    struct made_file *made; /* so that no other input's output takes their place */
    size_t made_count;
    struct sums sums;
    size_t parts;              /* what a look found: 0, or of what a file is to be made */
    size_t part;               /* which one is at work */
    char key[17];              /* decompress: of the file that parts are written to */
    wcodec_part_hashes hashes; /* test, decompress: of the part, freed with the next */
    const wcodec_part_hashes *all_hashes; /* when it is committed: of all parts */
    size_t all_hash_count;
    double seconds;       /* that all of it took, when it is committed */
    size_t mirror_length; /* 0, or of a mirror's folder, with which paths of outputs begin */
    bool removes_later;   /* --rm: `done` go in the end (utils/removal.h) */
    struct input *done;
    size_t done_count;
    struct external *external; /* NULL: nothing was asked for */
    bool results;              /* an object of them is out (utils/results.h) */
    struct json_t *items;      /* NULL, or an array that takes them in place of stdout */
    struct json_t *summary;    /* NULL, or members that follow them */
    char *failure;             /* the last error that was reported */
    int exit_code;             /* the gravest so far */
    int stdout_error;          /* errno of the first write to stdout that failed */
};

#if defined(__GNUC__)
#define APP_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define APP_PRINTF(text, first)
#endif

/* The context, made on first use. False: reported. */
bool app_context(struct app *app);
/* One more, for that backend (NULL: the library's choice); the caller destroys it. NULL: reported.
 */
wcodec_context *app_make_context(struct app *app, unsigned threads, const char *backend);
/* How to decode, with the progress bar, and without checks where --no-checksum says so. */
wcodec_decode_options app_decode_options(struct app *app);
/* Is it --backend=all, which bench and test know? */
bool app_all_backends(const struct app *app);

/* Messages go to standard error, each one line, with control characters escaped; a progress bar
 * gives way to them. Notes are left out with -q, warnings with -qq. */
void app_note(struct app *app, const char *format, ...) APP_PRINTF(2, 3);
void app_detail(struct app *app, const char *format, ...) APP_PRINTF(2, 3); /* only with -v */
void app_warn(struct app *app, const char *format, ...) APP_PRINTF(2, 3);

/* Report an error and keep its exit code if it is graver than those before. Always returns false.
 */
bool app_fail(struct app *app, int exit_code, const char *format, ...) APP_PRINTF(3, 4);
/* The same for an error of the library: "NAME: text", without NAME where the text begins with it.
 * Interruption is not reported: the signal says it all. */
bool app_fail_status(struct app *app, const char *name, const wcodec_error *err);
/* The same for an errno value: "NAME: what: reason". */
bool app_fail_errno(struct app *app, const char *name, const char *what, int error);
int exit_code_of(wcodec_status status);
/* Keep an exit code if it is graver than those before. */
void app_keep_exit_code(struct app *app, int exit_code);

/* Has everything printed on stdout gone well? To be asked after each row: only then the reason is
 * still known. */
bool app_stdout_good(struct app *app);

/* A line about all inputs, where there was more than one file: what was done with them. */
void app_note_sums(struct app *app, const char *done);

/* malloc that reports; NULL on failure. Refuses what --memory-limit does not allow. */
void *app_alloc(struct app *app, const char *name, uint64_t size);

/* Subcommands. What they find wrong is in app->exit_code. */
void command_compress(struct app *app);
void command_decompress(struct app *app);
void command_list(struct app *app);
void command_info(struct app *app);
void command_test(struct app *app);
void command_verify(struct app *app);
void command_cat(struct app *app);
void command_convert(struct app *app);
void command_rebase(struct app *app);
void command_vectors(struct app *app);
void command_bench(struct app *app);
void command_devices(struct app *app);
void command_report(struct app *app);
void command_help(struct app *app);
void command_version(struct app *app);

#endif
