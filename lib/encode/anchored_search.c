/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The step of a table that is coded by anchors: by what they save, for a rate, or for a recall. */
#include "encode/anchored.h"

#include "encode/assemble.h"
#include "encode/lossy_internal.h"
#include "encode/recall.h"

#include <math.h>

enum {
    TRIES = 6,         /* of a rate */
    DECIBEL_STEPS = 4, /* of a decibel, in which a recall is looked for, */
    DECIBELS = 90      /* up to so many */
};

/* A tensor that is coded, each time anew: two payloads at once would be too much memory. */
struct table {
    wcodec_context *context;
    struct wcodec_encode_settings settings; /* of the next time */
    wcodec_dtype dtype;
    const uint8_t *data;
    uint64_t size;
};

static wcodec_status code_once(const struct table *t, struct wcodec_coded *coded,
                               const char **reason, int64_t *saved, wcodec_error *err)
{
    *saved = 0;
    wcodec_status status =
        wcodec_lossy_code(t->context, &t->settings, t->dtype, t->data, t->size, coded, reason, err);
    if (status != WCODEC_OK || *reason != NULL)
        return status;
    status = wcodec_anchored_replace(t->context, &t->settings, coded, saved, reason, err);
    if (status != WCODEC_OK || *reason != NULL)
        wcodec_coded_free(coded);
    return status;
}

static double bits_of(const struct wcodec_coded *coded)
{
    return (double)(coded->payload_size + coded->parameters_size) * 8;
}

static double elements_of(const struct table *t)
{
    return (double)(t->size >> (t->dtype == WCODEC_DTYPE_F32 ? 2 : 1));
}

/* Where anchors take fewer bytes than was allowed, with less error. */
static wcodec_status use_saved(struct table *t, int64_t saved, struct wcodec_coded *coded,
                               const char **reason, wcodec_error *err)
{
    const double target = t->settings.lossy_value, elements = elements_of(t);
    t->settings.lossy_value += (double)saved * 8 / elements;
    wcodec_coded_free(coded);
    wcodec_status status = code_once(t, coded, reason, &saved, err);
    if (status != WCODEC_OK)
        return status;
    if (*reason == NULL) {
        if (bits_of(coded) <= target * elements)
            return WCODEC_OK;
        wcodec_coded_free(coded);
    }
    t->settings.lossy_value = target;
    return code_once(t, coded, reason, &saved, err);
}

/* At most so many bits by anchors, though what is coded first has none: its bits are moved by as
 * many as were too many or too few. */
static wcodec_status code_rate(struct table *t, struct wcodec_coded *coded, const char **reason,
                               wcodec_error *err)
{
    const double target = t->settings.lossy_value, elements = elements_of(t);
    double best = 0, best_bits = 0, above = 0, above_bits = 0; /* above 0: nothing was too much */
    int64_t saved;
    for (unsigned i = 0; i < TRIES; i++) {
        const wcodec_status status = code_once(t, coded, reason, &saved, err);
        if (status != WCODEC_OK)
            return status;
        if (*reason != NULL)
            break;
        const double bits = bits_of(coded) / elements;
        if (bits <= target && bits >= target * 0.99)
            return WCODEC_OK;
        wcodec_coded_free(coded);
        const double value = t->settings.lossy_value;
        if (bits <= target && value > best) {
            best = value;
            best_bits = bits;
        } else if (bits > target && (above == 0 || value < above)) {
            above = value;
            above_bits = bits;
        }
        /* Between two of them on the line through both. */
        t->settings.lossy_value =
            best != 0 && above > best
                ? best + (above - best) * (0.995 * target - best_bits) / (above_bits - best_bits)
                : fmax(value + 0.995 * target - bits, 0.01);
    }
    if (best == 0) {
        *reason = *reason != NULL ? *reason : "no step gives what was asked for";
        return WCODEC_OK;
    }
    t->settings.lossy_value = best;
    return code_once(t, coded, reason, &saved, err);
}

/* Rows of elements as numbers. */
struct rows {
    const struct table *table;
    const uint8_t *data;
    size_t columns, width;
    float factor; /* a power of two, by which squares are within binary32 */
};

/* Of the largest number, to 1 or below. */
static float factor_of(const struct table *t)
{
    enum { PIECE = 256 };
    const size_t elements = (size_t)elements_of(t);
    const unsigned log2 = t->dtype == WCODEC_DTYPE_F32 ? 2 : 1;
    float values[PIECE], largest = 0;
    for (size_t i = 0; i < elements; i += PIECE) {
        const size_t count = elements - i < PIECE ? elements - i : PIECE;
        wcodec_lossy_load(t->dtype, t->data + (i << log2), count, values);
        for (size_t j = 0; j < count; j++)
            largest = fmaxf(largest, fabsf(values[j]));
    }
    const int exponent = largest > 0 && isfinite(largest) ? -ilogbf(largest) : 0;
    return ldexpf(1, exponent > 126 ? 126 : exponent);
}

static void load_rows(const void *opaque, size_t first, size_t count, float *to)
{
    const struct rows *r = opaque;
    const unsigned log2 = r->table->dtype == WCODEC_DTYPE_F32 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        float *row = to + i * r->width;
        wcodec_lossy_load(r->table->dtype, r->data + ((first + i) * r->columns << log2), r->columns,
                          row);
        for (size_t j = 0; j < r->width; j++)
            row[j] = j < r->columns ? row[j] * r->factor : 0;
    }
}

/* The recall at an SNR. *recall is negative where there is a reason why it cannot be coded so. */
static wcodec_status try_recall(struct table *t, struct wcodec_recall *scan, struct rows *rows,
                                double decibels, const char **reason, double *recall,
                                wcodec_error *err)
{
    struct wcodec_coded coded;
    t->settings.lossy_value = decibels;
    *recall = -1;
    wcodec_status status = wcodec_lossy_code(t->context, &t->settings, t->dtype, t->data, t->size,
                                             &coded, reason, err);
    if (status != WCODEC_OK || *reason != NULL)
        return status;
    rows->data = coded.approximation;
    status = wcodec_recall_measure(scan, load_rows, rows, recall, err);
    wcodec_coded_free(&coded);
    return status;
}

/* The lowest SNR that reaches the recall, by halving: what is approximated is the same with anchors
 * and without. *best stays negative where none does. */
static wcodec_status find_recall(struct table *t, struct wcodec_recall *scan, struct rows *rows,
                                 const char **reason, double *best, double *recall,
                                 wcodec_error *err)
{
    unsigned low = 0, high = DECIBELS * DECIBEL_STEPS + 1;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const double decibels = (double)middle / DECIBEL_STEPS;
        double reached;
        const wcodec_status status = try_recall(t, scan, rows, decibels, reason, &reached, err);
        if (status != WCODEC_OK)
            return status;
        if (reached >= t->settings.tables.recall) {
            *best = decibels;
            *recall = reached;
        }
        /* Where steps are too fine for it to be coded, finer ones are too. */
        if (reached >= t->settings.tables.recall || *reason != NULL)
            high = middle;
        else
            low = middle + 1;
    }
    return WCODEC_OK;
}

static wcodec_status code_recall(struct table *t, struct wcodec_coded *coded, const char **reason,
                                 wcodec_error *err)
{
    const size_t columns = (size_t)t->settings.columns;
    struct rows original = {t, t->data, columns,
                            (size_t)wcodec_align_u64(columns, WCODEC_NEAREST_GROUP), factor_of(t)},
                made = original;
    struct wcodec_recall scan = {.context = t->context,
                                 .cancel = t->settings.cancel,
                                 .n = (size_t)elements_of(t) / columns,
                                 .width = original.width,
                                 .rows = load_rows,
                                 .opaque = &original};
    double best = -1, recall = 0;
    int64_t saved;
    wcodec_status status = wcodec_recall_begin(&scan, err);
    if (status == WCODEC_OK)
        status = find_recall(t, &scan, &made, reason, &best, &recall, err);
    wcodec_recall_end(&scan);
    if (status != WCODEC_OK)
        return status;
    if (best < 0) {
        *reason = *reason != NULL ? *reason : "no step reaches the recall that was asked for";
        return WCODEC_OK;
    }
    t->settings.lossy_value = best;
    status = code_once(t, coded, reason, &saved, err);
    if (status == WCODEC_OK && *reason == NULL)
        coded->recall = recall;
    return status;
}

wcodec_status wcodec_anchored_code(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                   struct wcodec_coded *coded, const char **reason,
                                   wcodec_error *err)
{
    struct table t = {context, *settings, dtype, data, size};
    int64_t saved;
    if (settings->anchored)
        return settings->tables.recall != 0 ? code_recall(&t, coded, reason, err)
                                            : code_rate(&t, coded, reason, err);
    const wcodec_status status = code_once(&t, coded, reason, &saved, err);
    return status != WCODEC_OK || *reason != NULL || settings->lossy != WCODEC_LOSSY_BITS ||
                   saved == 0
               ? status
               : use_saved(&t, saved, coded, reason, err);
}
