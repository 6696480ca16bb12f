/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

/* A way to plan a tensor: what a level does, for given tiles and profile. */
struct plan_way {
    uint8_t from;      /* the level that has it, and all above */
    uint8_t level;     /* of the planner */
    uint8_t tile_log2; /* 0: by policy */
    uint8_t profile;   /* 0: by counted cost */
    bool small;        /* only for tensors of which it takes no time to speak of */
};

enum {
    /* An estimate that is so far above the smallest payload is not worth coding: one in so many. */
    HOPELESS = 8,
    LARGE = WCODEC_TILE_LOG2_MAX,
    SMALL = 1 << 18
};

/* Samples and thresholds let a level that looks closer choose worse by some tenths of a percent, so
 * what those below choose is counted too. The others are what saved most on the files of
 * bench/README.md for their time, the profiles alone being quick. */
static const struct plan_way ways[] = {
    {5, 5, 0, 0, false},
    {5, 3, 0, 0, false},
    {7, 7, 0, 0, true},
    {7, 7, LARGE, 0, false},
    {7, 5, LARGE, 0, false},
    {7, 7, 0, WCODEC_P12, false},
    {7, 3, LARGE, WCODEC_P12, false},
    {8, 3, LARGE - 1, 0, false},
    {8, 3, LARGE, 0, false},
    {8, 7, LARGE, WCODEC_P8, false},
    {8, 3, LARGE, WCODEC_PAIRS, false},
    {8, 7, 0, WCODEC_PAIRS, false},
    {8, 3, LARGE - 1, WCODEC_P12, false},
    {8, 7, LARGE - 1, 0, true},
    {9, 9, LARGE, 0, true},
};

static bool is_way_open(const struct wcodec_encode_settings *settings, const struct plan_way *way,
                        uint64_t elements)
{
    if (settings->level < way->from || (way->profile != 0 && settings->profile != 0))
        return false;
    if (way->small && elements > SMALL)
        return false;
    if (way->tile_log2 == 0)
        return true;
    return settings->tile_log2 == 0 && !settings->latency &&
           elements >> wcodec_tile_policy(settings, elements) != 0;
}

/* Tiles, fields and tables that take as much are taken for the same. */
static bool plans_are_same(const struct wcodec_plan *a, const struct wcodec_plan *b)
{
    return a->tiling->tile_log2 == b->tiling->tile_log2 && a->word_bits == b->word_bits &&
           a->tiling->field_count == b->tiling->field_count &&
           wcodec_plan_size(a) == wcodec_plan_size(b);
}

/* The best plan so far, or none yet: NULL. */
struct measured_plan {
    struct wcodec_plan *plan;
    uint64_t size; /* of its payload */
};

/* Keep the one of two plans that makes less, and free the other. */
static wcodec_status keep_smaller(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const uint8_t *data, struct measured_plan *best,
                                  struct wcodec_plan *plan, wcodec_error *err)
{
    uint64_t size = UINT64_MAX;
    wcodec_status status = WCODEC_OK;
    const bool worth =
        best->plan == NULL || (!plans_are_same(best->plan, plan) &&
                               wcodec_plan_size(plan) < best->size + best->size / HOPELESS);
    if (worth)
        status = wcodec_payload_measure(context, settings, plan, data, &size, err);
    if (status == WCODEC_OK && (best->plan == NULL || size < best->size)) {
        wcodec_plan_free(best->plan);
        *best = (struct measured_plan){plan, size};
    } else {
        wcodec_plan_free(plan);
    }
    return status;
}

wcodec_status wcodec_plan_search(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const uint8_t *data, uint64_t size,
                                 const struct wcodec_statistics *statistics,
                                 struct wcodec_plan **plan, wcodec_error *err)
{
    struct measured_plan best = {NULL, 0};
    wcodec_status status = WCODEC_OK;
    if (settings->level < 5)
        return wcodec_plan_tensor(context, settings, dtype, data, size, statistics, plan, err);
    for (size_t i = 0; i < sizeof ways / sizeof *ways && status == WCODEC_OK; i++) {
        struct wcodec_encode_settings own = *settings;
        struct wcodec_plan *found;
        if (!is_way_open(settings, &ways[i], statistics->elements))
            continue;
        own.level = ways[i].level;
        own.tile_log2 = ways[i].tile_log2 != 0 ? ways[i].tile_log2 : settings->tile_log2;
        own.profile = ways[i].profile != 0 ? ways[i].profile : settings->profile;
        status = wcodec_plan_tensor(context, &own, dtype, data, size, statistics, &found, err);
        if (status == WCODEC_OK)
            status = keep_smaller(context, settings, data, &best, found, err);
    }
    if (status == WCODEC_OK)
        *plan = best.plan;
    else
        wcodec_plan_free(best.plan);
    return status;
}
