/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/mpi/deal.h"
#include "utils/json.h"
#include "utils/parts.h"
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
    struct file *files = realloc(deal->files, room * sizeof *files);
    if (!files)
        return false;
    deal->files = files;
    deal->room = room;
    return true;
}

/* What cannot be examined is listed too: who does it reports why. */
void deal_take(struct work_share *share, struct app *app, enum work work, const char *source,
               const char *target)
{
    struct deal *deal = (struct deal *)share;
    struct stat stat_of;
    struct file file = {.work = work,
                        .order = deal->count,
                        .source = strdup(source),
                        .mirror_length = app->mirror_length};
    if (target)
        file.target = strdup(target);
    if (stat(source, &stat_of) == 0 && stat_of.st_size > 0)
        file.bytes = (uint64_t)stat_of.st_size;
    if (file.source && (file.target || !target) && make_room(deal)) {
        deal->files[deal->count++] = file;
        return;
    }
    free(file.source);
    free(file.target);
    app_fail(app, EXIT_FAILED, "%s: out of memory", source);
    results_add_failure(app, source);
}

static int compare_targets(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    const int targets = strcmp(x->target ? x->target : "", y->target ? y->target : "");
    return targets ? targets : (x->order > y->order) - (x->order < y->order);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    const int bytes = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return bytes ? bytes : (x->order > y->order) - (x->order < y->order);
}

/* Two ranks would not see that they make the same file. */
static void drop_equal_targets(struct deal *deal)
{
    size_t kept = 0;
    if (deal->count)
        qsort(deal->files, deal->count, sizeof *deal->files, compare_targets);
    for (size_t i = 0; i < deal->count; i++) {
        struct file *file = &deal->files[i];
        if (kept == 0 || !file->target || strcmp(deal->files[kept - 1].target, file->target) != 0) {
            deal->files[kept++] = *file;
            continue;
        }
        app_fail(deal->app, EXIT_FAILED,
                 "%s: is made from '%s' already; two inputs cannot have one output", file->target,
                 deal->files[kept - 1].source);
        results_add_failure(deal->app, file->source);
        free(file->source);
        free(file->target);
    }
    deal->count = kept;
}

/* What one core does within half a minute, at the slowest: all that is lost when it is killed. */
static uint64_t most_at_once(const struct options *o, enum work work)
{
    const bool slow = o->level >= 7 || options_are_lossy(o);
    return (uint64_t)(work != WORK_COMPRESS ? 8192 : slow ? 256 : 2048) << 20;
}

/* Can it be done in parts? */
static bool has_parts(const struct file *file)
{
    return file->bytes >= PARTS_WORTH &&
           (file->work == WORK_TEST ||
            (file->target && (file->work == WORK_COMPRESS || file->work == WORK_DECOMPRESS)));
}

/* Files that are given out whole go to whoever is free. One by which its rank would end later than
 * a twentieth after the others is done in parts, by all of them. */
static void choose_apart(struct deal *deal)
{
    double total = 0, *loads = calloc(deal->rank_count, sizeof *loads);
    for (size_t i = 0; i < deal->count; i++)
        total += (double)deal->files[i].bytes;
    for (size_t i = 0; loads && i < deal->count; i++) {
        struct file *file = &deal->files[i];
        unsigned least = 0;
        for (unsigned r = 1; r < deal->rank_count; r++)
            least = loads[r] < loads[least] ? r : least;
        const double end = loads[least] + (double)file->bytes;
        file->apart =
            has_parts(file) && (file->bytes > most_at_once(&deal->app->options, file->work) ||
                                end > 1.05 * total / deal->rank_count);
        if (!file->apart)
            loads[least] = end;
    }
    free(loads);
}

/* The largest first, so that in the end ranks wait for small ones. */
void deal_begin(struct deal *deal)
{
    drop_equal_targets(deal);
    if (deal->count)
        qsort(deal->files, deal->count, sizeof *deal->files, compare_bytes);
    choose_apart(deal);
    deal->begin = clock_seconds();
}

static size_t jobs_of_step(const struct file *file)
{
    return file->step == WORK_PART || file->step == WORK_PLACE ? file->parts : 1;
}

/* Of the original's bytes, those that the job codes. */
static uint64_t bytes_of_job(const struct file *file, enum work work, size_t part)
{
    if (file->parts == 0)
        return file->bytes;
    const uint64_t each = file->bytes / file->parts;
    if (work != WORK_PART)
        return 0;
    return part + 1 < file->parts ? each : file->bytes - part * each;
}

/* The next one of a file; false: none of it can be begun now by that rank. */
static bool take_job(struct file *file, const struct rank *rank, struct job *job)
{
    if (file->failed || file->given == jobs_of_step(file))
        return false;
    /* Two hosts that write into one page would undo each other's bytes on some file systems. */
    const bool shared =
        file->step == WORK_PLACE || (file->step == WORK_PART && file->work == WORK_DECOMPRESS);
    if (shared && file->host && strcmp(file->host, rank->host) != 0)
        return false;
    if (shared)
        file->host = rank->host;
    if (file->begin == 0)
        file->begin = clock_seconds();
    *job = (struct job){.work = file->step,
                        .file = file,
                        .source = file->source,
                        .target = file->target,
                        .mirror_length = file->mirror_length,
                        .part = file->given++,
                        .seconds = clock_seconds() - file->begin};
    memcpy(job->key, file->key, sizeof job->key);
    if (file->step == WORK_COMMIT && file->hashes) {
        job->hashes = file->hashes;
        job->hash_count = file->parts;
    }
    job->bytes = bytes_of_job(file, job->work, job->part);
    return true;
}

const struct job *deal_next(struct deal *deal, unsigned rank)
{
    struct rank *r = &deal->ranks[rank];
    if (r->unable)
        return NULL;
    for (struct file *file = deal->begun; file; file = file->next)
        if (take_job(file, r, &r->doing))
            return &r->doing;
    if (deal->next == deal->count)
        return NULL;
    struct file *file = &deal->files[deal->next++];
    file->step = file->apart ? WORK_LOOK : file->work;
    return take_job(file, r, &r->doing) ? &r->doing : NULL;
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

static void begin_parts(struct deal *deal, struct file *file, size_t parts)
{
    struct file **end = &deal->begun;
    while (*end)
        end = &(*end)->next;
    *end = file;
    file->parts = parts;
    if (file->work == WORK_COMPRESS)
        return;
    file->hashes = calloc(parts, sizeof *file->hashes);
    if (!file->hashes)
        file->failed = !app_fail(deal->app, EXIT_FAILED, "%s: out of memory", file->source);
}

/* What a part has of the original's hash. */
static void keep_hashes(struct deal *deal, struct file *file, size_t part,
                        const wcodec_part_hashes *hashes)
{
    void *copy = hashes->size ? malloc(hashes->size) : NULL;
    if (copy)
        file->hashes[part] = (wcodec_part_hashes){.data = memcpy(copy, hashes->data, hashes->size),
                                                  .size = hashes->size};
    else if (hashes->size)
        file->failed = !app_fail(deal->app, EXIT_FAILED, "%s: out of memory", file->source);
}

static void free_hashes(struct file *file)
{
    for (size_t i = 0; file->hashes && i < file->parts; i++)
        free((void *)file->hashes[i].data);
    free(file->hashes);
    file->hashes = NULL;
}

static void end_file(struct deal *deal, struct file *file)
{
    struct file **at = &deal->begun;
    while (*at && *at != file)
        at = &(*at)->next;
    if (*at)
        *at = file->next;
    if (file->parts && file->failed && file->target)
        parts_remove(deal->app, file->target);
    free_hashes(file);
    deal->done++;
}

/* A job of a file is done. Is all of it? */
static bool advance(struct file *file)
{
    if (++file->done < file->given || (!file->failed && file->done < jobs_of_step(file)))
        return false;
    if (file->failed || file->parts == 0 || file->step == WORK_COMMIT)
        return true;
    file->step = file->step == WORK_LOOK                                  ? WORK_PART
                 : file->step == WORK_PART && file->work == WORK_COMPRESS ? WORK_PLACE
                                                                          : WORK_COMMIT;
    file->given = file->done = 0;
    return false;
}

void deal_settle(struct deal *deal, unsigned rank, const struct outcome *outcome)
{
    struct rank *r = &deal->ranks[rank];
    struct sums *sums = &deal->app->sums;
    struct file *file = r->doing.file;
    const bool failed_before = file->failed;
    /* Of a look that found parts nothing is coded yet. */
    r->bytes += outcome->parts == 0 ? r->doing.bytes : 0;
    r->busy += outcome->seconds;
    r->end = clock_seconds() - deal->begin;
    r->last = file;
    sums->coded += outcome->sums.coded;
    sums->copied += outcome->sums.copied;
    sums->current += outcome->sums.current;
    sums->from += outcome->sums.from;
    sums->to += outcome->sums.to;
    sums->lossy += outcome->sums.lossy;
    app_keep_exit_code(deal->app, outcome->exit_code);
    if (outcome->exit_code != EXIT_DONE) {
        file->failed = true;
        if (!failed_before)
            add_failure(deal, rank, *outcome->failure ? outcome->failure : file->source);
    }
    if (*outcome->items && !failed_before)
        add_items(deal, rank, outcome->items);
    if (r->doing.work == WORK_LOOK && outcome->parts && file->failed && file->target)
        parts_remove(deal->app, file->target);
    if (r->doing.work == WORK_LOOK && outcome->parts && !file->failed) {
        memcpy(file->key, outcome->key, sizeof file->key);
        begin_parts(deal, file, outcome->parts);
    }
    if (r->doing.work == WORK_PART && file->hashes && !file->failed)
        keep_hashes(deal, file, r->doing.part, &outcome->hashes);
    r->doing.file = NULL;
    if (advance(file)) {
        r->files++;
        end_file(deal, file);
    }
}

void deal_exclude(struct deal *deal, unsigned rank, int exit_code)
{
    deal->ranks[rank].unable = true;
    app_keep_exit_code(deal->app, exit_code);
}

/* Has a rank a job? */
static bool is_busy(const struct deal *deal)
{
    for (unsigned i = 0; i < deal->rank_count; i++)
        if (deal->ranks[i].doing.file)
            return true;
    return false;
}

bool deal_is_over(const struct deal *deal)
{
    bool able = false;
    for (unsigned i = 0; i < deal->rank_count; i++)
        able = able || !deal->ranks[i].unable;
    return deal->done == deal->count || (!able && !is_busy(deal));
}

void deal_end(struct deal *deal)
{
    deal->seconds = clock_seconds() - deal->begin;
    /* What a signal has cut short is of no use to another run. */
    for (size_t i = 0; i < deal->next && signals_pending(); i++)
        if (deal->files[i].apart && deal->files[i].work == WORK_DECOMPRESS)
            parts_remove(deal->app, deal->files[i].target);
    for (; deal->next < deal->count && !signals_pending(); deal->next++) {
        const char *source = deal->files[deal->next].source;
        app_fail(deal->app, EXIT_FAILED, "%s: no rank can work on it", source);
        results_add_failure(deal->app, source);
    }
}

void deal_free(struct deal *deal)
{
    for (size_t i = 0; i < deal->count; i++) {
        free(deal->files[i].source);
        free(deal->files[i].target);
        free_hashes(&deal->files[i]);
    }
    for (size_t i = 0; i < deal->failure_count; i++)
        free(deal->failures[i].text);
    for (unsigned i = 0; i < deal->rank_count; i++)
        free(deal->ranks[i].host);
    free(deal->files);
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
    app->part = job->part;
    app->seconds = job->seconds;
    app->parts = 0;
    memcpy(app->key, job->key, sizeof app->key);
    app->all_hashes = job->hashes;
    app->all_hash_count = job->hash_count;
    free((void *)app->hashes.data);
    app->hashes = (wcodec_part_hashes){0};
    work_run(app, job->work, job->source, job->target);
    if (app->items) {
        *items = json_dumps(app->items, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_array_clear(app->items);
    }
    *outcome = (struct outcome){.exit_code = app->exit_code,
                                .seconds = clock_seconds() - begin,
                                .parts = app->parts,
                                .hashes = app->hashes,
                                .sums = app->sums,
                                .failure = app->failure ? app->failure : "",
                                .items = *items ? *items : ""};
    memcpy(outcome->key, app->key, sizeof outcome->key);
}
