/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/json.h"
#include "utils/mpi/deal.h"
#include "utils/text.h"

#include <stdlib.h>
#include <string.h>

static double rate_of(const struct rank *rank)
{
    return rank->busy > 0 ? (double)rank->bytes / rank->busy : 0;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the ranks that have done something; 0: none has. */
static double median_rate(const struct deal *deal)
{
    double *rates = malloc(deal->rank_count * sizeof *rates), median = 0;
    size_t count = 0;
    if (!rates)
        return 0;
    for (unsigned i = 0; i < deal->rank_count; i++)
        if (deal->ranks[i].bytes)
            rates[count++] = rate_of(&deal->ranks[i]);
    if (count) {
        qsort(rates, count, sizeof *rates, compare_doubles);
        median = rates[count / 2];
    }
    free(rates);
    return median;
}

/* Small files tell nothing of a rank's speed. */
static bool is_slow(const struct rank *rank, double median)
{
    return rank->busy >= 1 && rank->bytes && rate_of(rank) < median / 2;
}

/* The rank that all waited for, and seconds that the others waited on average. */
static unsigned find_last(const struct deal *deal, double *waited)
{
    unsigned last = 0;
    double ends = 0;
    for (unsigned i = 0; i < deal->rank_count; i++) {
        ends += deal->ranks[i].end;
        if (deal->ranks[i].end > deal->ranks[last].end)
            last = i;
    }
    const double end = deal->ranks[last].end;
    *waited = deal->rank_count > 1 ? (end * deal->rank_count - ends) / (deal->rank_count - 1) : 0;
    return last;
}

static bool is_late(const struct deal *deal, const struct rank *last, double waited)
{
    return last->last && waited >= 1 && waited > deal->seconds / 10;
}

static void print_rank(const struct deal *deal, unsigned i, double median)
{
    const struct rank *rank = &deal->ranks[i];
    char size[32], rate[32], middle[32];
    const char *unable = rank->unable ? ", could not work" : "";
    app_detail(deal->app, "rank %u (%s): %zu files, %s, busy %.1f s, %s%s", i, rank->host,
               rank->files, text_size(rank->bytes, size), rank->busy,
               text_rate(rank->bytes, rank->busy, rate), unable);
    if (is_slow(rank, median))
        app_note(deal->app, "rank %u (%s) is slow: %s, of ranks' median %s", i, rank->host,
                 text_rate(rank->bytes, rank->busy, rate), text_rate((uint64_t)median, 1, middle));
}

static void print_failures(const struct deal *deal)
{
    if (deal->failure_count == 0)
        return;
    app_note(deal->app, "%zu of %zu files failed:", deal->failure_count, deal->count);
    for (size_t i = 0; i < deal->failure_count; i++) {
        const struct failure *f = &deal->failures[i];
        app_note(deal->app, "  rank %u: %s", f->rank, f->text ? f->text : "out of memory");
    }
}

static json_t *rank_json(const struct deal *deal, unsigned i, double median)
{
    const struct rank *rank = &deal->ranks[i];
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "rank", (int)i, "host",
                     json_text(rank->host), "files", json_size(rank->files), "bytes",
                     json_size(rank->bytes), "busy_seconds", json_decimal(rank->busy, 6),
                     "end_seconds", json_decimal(rank->end, 6), "slow",
                     (int)is_slow(&deal->ranks[i], median), "unable", (int)rank->unable);
}

static void add_summary(struct deal *deal, double median, unsigned last, double waited)
{
    const struct rank *r = &deal->ranks[last];
    json_t *ranks = json_array();
    for (unsigned i = 0; i < deal->rank_count; i++)
        json_array_append_new(ranks, rank_json(deal, i, median));
    json_t *late = is_late(deal, r, waited) ? json_pack("{s:i, s:o, s:o}", "rank", (int)last,
                                                        "path", json_text(r->last->source),
                                                        "waited_seconds", json_decimal(waited, 6))
                                            : json_null();
    deal->app->summary =
        json_pack("{s:o, s:o, s:o, s:o}", "seconds", json_decimal(deal->seconds, 6), "failed",
                  json_size(deal->failure_count), "late", late, "ranks", ranks);
}

void deal_report(struct deal *deal)
{
    double waited, busy = 0;
    const double median = median_rate(deal);
    const unsigned last = find_last(deal, &waited);
    const struct rank *r = &deal->ranks[last];
    uint64_t bytes = 0;
    char size[32], rate[32];
    for (unsigned i = 0; i < deal->rank_count; i++) {
        print_rank(deal, i, median);
        bytes += deal->ranks[i].bytes;
        busy += deal->ranks[i].busy;
    }
    if (deal->seconds > 0)
        app_note(deal->app, "%u rank%s: %zu files, %s in %.1f s, %s, %.0f %% busy",
                 deal->rank_count, deal->rank_count == 1 ? "" : "s", deal->done,
                 text_size(bytes, size), deal->seconds, text_rate(bytes, deal->seconds, rate),
                 100 * busy / deal->seconds / deal->rank_count);
    if (is_late(deal, r, waited))
        app_note(deal->app, "rank %u (%s) was the last, with %s: the others waited %.1f s for it",
                 last, r->host, r->last->source, waited);
    print_failures(deal);
    if (deal->app->options.json)
        add_summary(deal, median, last, waited);
}
