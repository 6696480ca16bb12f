/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The list of files of a run, who gets which, and what came of them. Of MPI nothing is known here.
 * Rank 0 owns it, whose worker and whose messages take turns by `lock`. */
#ifndef WCODEC_UTILS_MPI_DEAL_H
#define WCODEC_UTILS_MPI_DEAL_H

#include "utils/work.h"
#include <jansson.h>
#include <pthread.h>

/* A file. A large one may be done in parts, each of which is a job, by steps: all jobs of one are
 * done before the next step begins. */
struct file {
    enum work work; /* of all of it at once */
    char *source;
    char *target;         /* NULL: nothing is written */
    uint64_t bytes;       /* of the source */
    size_t order;         /* in which it was found */
    size_t mirror_length; /* app->mirror_length when it was found */
    bool apart;           /* it begins with a look whether it is done in parts */
    size_t parts;         /* 0: it is not */
    enum work step;
    size_t given, done;         /* jobs of the step */
    bool failed;                /* one of them */
    double begin;               /* seconds, of its first job */
    const char *host;           /* NULL, or whose ranks write into the output */
    struct file *next;          /* in parts, begun after it */
    char key[17];               /* decompress: of the file that parts are written to */
    wcodec_part_hashes *hashes; /* test, decompress: of each part */
};

/* What a rank gets. */
struct job {
    enum work work;
    struct file *file;  /* NULL at other ranks than 0 */
    const char *source; /* as in the file */
    const char *target;
    size_t mirror_length;
    size_t part;
    double seconds; /* since the file's first job */
    uint64_t bytes; /* of the original, that it codes */
    char key[17];
    const wcodec_part_hashes *hashes; /* to commit: of all parts */
    size_t hash_count;
};

/* What came of one, from the rank that did it. */
struct outcome {
    int exit_code;
    double seconds;
    size_t parts; /* of a look */
    char key[17];
    wcodec_part_hashes hashes; /* of a part */
    struct sums sums;
    const char *failure; /* the last error that was reported; "" if there was none */
    const char *items;   /* a JSON array of results; "" without --json */
};

struct rank {
    char *host;
    size_t files; /* that it did, or did the last job of */
    uint64_t bytes;
    double busy;             /* seconds */
    double end;              /* seconds from the begin to its last outcome */
    const struct file *last; /* what that was about; NULL: it has done nothing */
    bool unable;             /* has no context, so gets no work */
    struct job doing;
    bool waits; /* has asked, and got nothing yet */
};

struct failure {
    unsigned rank;
    char *text;
};

struct deal {
    struct work_share share; /* by which the subcommand lists the files */
    pthread_mutex_t lock;
    struct app *app;
    struct file *files; /* from deal_begin() on the largest first */
    size_t count, room;
    size_t next; /* the first that nobody has begun */
    size_t done;
    struct file *begun; /* list of those in parts */
    struct rank *ranks;
    unsigned rank_count;
    struct failure *failures;
    size_t failure_count;
    double begin, seconds;
};

/* A work_share's take(). */
void deal_take(struct work_share *share, struct app *app, enum work work, const char *source,
               const char *target);
/* All files are known: put them into their order. */
void deal_begin(struct deal *deal);
/* The next job for a rank; NULL: there is none now. */
const struct job *deal_next(struct deal *deal, unsigned rank);
/* The rank has done what it got. */
void deal_settle(struct deal *deal, unsigned rank, const struct outcome *outcome);
/* The rank can do nothing, and has said why. */
void deal_exclude(struct deal *deal, unsigned rank, int exit_code);
/* Will nothing more come? */
bool deal_is_over(const struct deal *deal);
/* Files that no rank could do are failures, each. */
void deal_end(struct deal *deal);
void deal_free(struct deal *deal);

/* Do it here, with an `app` of its own for the rank. The outcome's texts are the app's, and freed
 * by the next call. */
void job_run(struct app *app, const struct job *job, struct outcome *outcome, char **items);

/* Rates of ranks, who was late, and what failed (report.c); with --json as members of the results.
 */
void deal_report(struct deal *deal);

#endif
