/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How many probes find what is asked for. */
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "vectors/segment.h"

struct tuning {
    const struct wcodec_vectors_store *store;
    const wcodec_vector_rows *queries;
    wcodec_vectors_search_options options;
    uint64_t *all_ids, *ids;
    float *all_scores, *scores;
};

/* Of what looking at all anchors has found, the part that was found now: what is as near as the
 * last of these counts. */
static double part_found(const struct tuning *t)
{
    const size_t k = (size_t)t->options.k;
    size_t wanted = 0, found = 0;
    for (size_t q = 0; q < t->queries->count; q++) {
        const size_t at = q * k;
        size_t count = 0;
        while (count < k && t->all_ids[at + count] != UINT64_MAX)
            count++;
        wanted += count;
        for (size_t i = 0; i < count; i++) {
            const float score = t->scores[at + i], last = t->all_scores[at + count - 1];
            found += t->ids[at + i] != UINT64_MAX &&
                     (t->options.metric == WCODEC_VECTORS_L2 ? score <= last : score >= last);
        }
    }
    return wanted != 0 ? (double)found / (double)wanted : 1;
}

static wcodec_status reaches(struct tuning *t, uint64_t probes, double recall, bool *reached,
                             wcodec_error *err)
{
    t->options.probes = probes;
    const wcodec_status status =
        wcodec_vectors_search(t->store, t->queries, &t->options, t->ids, t->scores, err);
    *reached = status == WCODEC_OK && part_found(t) >= recall;
    return status;
}

/* More probes find no less: doubled until they reach it, and then halved in between. */
static wcodec_status find_probes(struct tuning *t, double recall, uint64_t *probes,
                                 wcodec_error *err)
{
    uint64_t most = 1, low = 0, high = 1;
    bool reached = false;
    for (size_t i = 0; i < t->store->count; i++)
        most = t->store->segments[i].m > most ? t->store->segments[i].m : most;
    wcodec_status status = reaches(t, 1, recall, &reached, err);
    while (status == WCODEC_OK && !reached && high < most) {
        low = high;
        high = 2 * high < most ? 2 * high : most;
        status = reaches(t, high, recall, &reached, err);
    }
    while (status == WCODEC_OK && high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        status = reaches(t, middle, recall, &reached, err);
        if (reached)
            high = middle;
        else
            low = middle;
    }
    *probes = high < most ? high : 0;
    return status;
}

wcodec_status wcodec_vectors_tune(const wcodec_vectors_store *store,
                                  const wcodec_vector_rows *queries,
                                  const wcodec_vectors_search_options *options, double recall,
                                  uint64_t *probes, wcodec_error *err)
{
    struct tuning t = {.store = store, .queries = queries};
    const wcodec_allocator *allocator = &store->context->allocator;
    uint64_t number = 0;
    wcodec_vectors_search_options_init(&t.options);
    wcodec_status status = wcodec_options_take(options, &t.options, sizeof t.options,
                                               "wcodec_vectors_search_options_init", err);
    if (status == WCODEC_OK && !(recall > 0 && recall < 1))
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "a recall is above 0 and below 1, and not %g",
                             recall);
    if (status != WCODEC_OK)
        return status;
    t.options.probes = 0;
    /* Before memory is taken by it. */
    status = wcodec_vectors_check_search(store, queries, &t.options, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_vectors_check_rows(queries, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "queries");
        return status;
    }
    const size_t k = (size_t)t.options.k;
    t.all_ids = wcodec_alloc_array(allocator, queries->count, k * sizeof *t.ids);
    t.ids = wcodec_alloc_array(allocator, queries->count, k * sizeof *t.ids);
    t.all_scores = wcodec_alloc_array(allocator, queries->count, k * sizeof *t.scores);
    t.scores = wcodec_alloc_array(allocator, queries->count, k * sizeof *t.scores);
    if (t.all_ids == NULL || t.ids == NULL || t.all_scores == NULL || t.scores == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for what is found");
    if (status == WCODEC_OK)
        status = wcodec_vectors_search(store, queries, &t.options, t.all_ids, t.all_scores, err);
    if (status == WCODEC_OK)
        status = find_probes(&t, recall, &number, err);
    wcodec_free(allocator, t.all_ids);
    wcodec_free(allocator, t.ids);
    wcodec_free(allocator, t.all_scores);
    wcodec_free(allocator, t.scores);
    if (status == WCODEC_OK)
        *probes = number;
    return status;
}
