/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/mpi/deal.h"
#include "utils/json.h"
#include "utils/results.h"
#include "utils/signals.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool make_room(struct deal *deal)
{
    if (deal->count < deal->room)
        return true;
    const size_t room = 2 * deal->room + 64;
    struct job *jobs = realloc(deal->jobs, room * sizeof *jobs);
    if (!jobs)
        return false;
    deal->jobs = jobs;
    deal->room = room;
    return true;
}

/* What cannot be examined is listed too: who does it reports why. */
void deal_take(struct work_share *share, struct app *app, enum work work, const char *source,
               const char *target)
{
    struct deal *deal = (struct deal *)share;
    struct stat stat_of;
    struct job job = {.work = work,
                      .order = deal->count,
                      .source = strdup(source),
                      .mirror_length = app->mirror_length};
    if (target)
        job.target = strdup(target);
    if (stat(source, &stat_of) == 0 && stat_of.st_size > 0)
        job.bytes = (uint64_t)stat_of.st_size;
    if (job.source && (job.target || !target) && make_room(deal)) {
        deal->jobs[deal->count++] = job;
        return;
    }
    free(job.source);
    free(job.target);
    app_fail(app, EXIT_FAILED, "%s: out of memory", source);
    results_add_failure(app, source);
}

static int compare_targets(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    const int targets = strcmp(x->target ? x->target : "", y->target ? y->target : "");
    return targets ? targets : (x->order > y->order) - (x->order < y->order);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    const int bytes = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return bytes ? bytes : (x->order > y->order) - (x->order < y->order);
}

/* Two ranks would not see that they make the same file. */
static void drop_equal_targets(struct deal *deal)
{
    size_t kept = 0;
    if (deal->count)
        qsort(deal->jobs, deal->count, sizeof *deal->jobs, compare_targets);
    for (size_t i = 0; i < deal->count; i++) {
        struct job *job = &deal->jobs[i];
        if (kept == 0 || !job->target || strcmp(deal->jobs[kept - 1].target, job->target) != 0) {
            deal->jobs[kept++] = *job;
            continue;
        }
        app_fail(deal->app, EXIT_FAILED,
                 "%s: is made from '%s' already; two inputs cannot have one output", job->target,
                 deal->jobs[kept - 1].source);
        results_add_failure(deal->app, job->source);
        free(job->source);
        free(job->target);
    }
    deal->count = kept;
}

/* The largest first, so that in the end ranks wait for small ones. */
void deal_begin(struct deal *deal)
{
    drop_equal_targets(deal);
    if (deal->count)
        qsort(deal->jobs, deal->count, sizeof *deal->jobs, compare_bytes);
    deal->begin = clock_seconds();
}

const struct job *deal_next(struct deal *deal, unsigned rank)
{
    if (deal->next == deal->count || deal->ranks[rank].unable)
        return NULL;
    return deal->ranks[rank].doing = &deal->jobs[deal->next++];
}

static void add_failure(struct deal *deal, unsigned rank, const char *text)
{
    struct failure *failures =
        realloc(deal->failures, (deal->failure_count + 1) * sizeof *failures);
    if (!failures)
        return; /* it has been reported */
    deal->failures = failures;
    failures[deal->failure_count++] = (struct failure){rank, strdup(text)};
}

static void add_items(struct deal *deal, unsigned rank, const char *text)
{
    json_t *items = json_loads(text, 0, NULL), *item;
    size_t i;
    json_array_foreach(items, i, item)
    {
        json_object_set_new(item, "rank", json_integer((json_int_t)rank));
        results_item(deal->app, json_incref(item));
    }
    json_decref(items);
}

void deal_settle(struct deal *deal, unsigned rank, const struct outcome *outcome)
{
    struct rank *r = &deal->ranks[rank];
    struct sums *sums = &deal->app->sums;
    r->files++;
    r->bytes += r->doing->bytes;
    r->busy += outcome->seconds;
    r->end = clock_seconds() - deal->begin;
    r->last = r->doing;
    r->doing = NULL;
    deal->done++;
    sums->coded += outcome->sums.coded;
    sums->copied += outcome->sums.copied;
    sums->current += outcome->sums.current;
    sums->from += outcome->sums.from;
    sums->to += outcome->sums.to;
    app_keep_exit_code(deal->app, outcome->exit_code);
    if (outcome->exit_code != EXIT_DONE)
        add_failure(deal, rank, *outcome->failure ? outcome->failure : r->last->source);
    if (*outcome->items)
        add_items(deal, rank, outcome->items);
}

void deal_exclude(struct deal *deal, unsigned rank, int exit_code)
{
    deal->ranks[rank].unable = true;
    app_keep_exit_code(deal->app, exit_code);
}

bool deal_is_over(const struct deal *deal)
{
    bool able = false;
    for (unsigned i = 0; i < deal->rank_count; i++)
        able = able || !deal->ranks[i].unable;
    return deal->done == deal->count || (!able && deal->done == deal->next);
}

void deal_end(struct deal *deal)
{
    deal->seconds = clock_seconds() - deal->begin;
    for (; deal->next < deal->count && !signals_pending(); deal->next++) {
        const char *source = deal->jobs[deal->next].source;
        app_fail(deal->app, EXIT_FAILED, "%s: no rank can work on it", source);
        results_add_failure(deal->app, source);
    }
}

void deal_free(struct deal *deal)
{
    for (size_t i = 0; i < deal->count; i++) {
        free(deal->jobs[i].source);
        free(deal->jobs[i].target);
    }
    for (size_t i = 0; i < deal->failure_count; i++)
        free(deal->failures[i].text);
    for (unsigned i = 0; i < deal->rank_count; i++)
        free(deal->ranks[i].host);
    free(deal->jobs);
    free(deal->failures);
    free(deal->ranks);
    pthread_mutex_destroy(&deal->lock);
}

void job_run(struct app *app, const struct job *job, struct outcome *outcome, char **items)
{
    const double begin = clock_seconds();
    free(app->failure);
    free(*items);
    app->failure = *items = NULL;
    app->exit_code = EXIT_DONE;
    app->sums = (struct sums){0};
    app->mirror_length = job->mirror_length;
    work_run(app, job->work, job->source, job->target);
    if (app->items) {
        *items = json_dumps(app->items, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_array_clear(app->items);
    }
    *outcome = (struct outcome){.exit_code = app->exit_code,
                                .seconds = clock_seconds() - begin,
                                .sums = app->sums,
                                .failure = app->failure ? app->failure : "",
                                .items = *items ? *items : ""};
}
