/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "core/error.h"
#include "encode/tables.h"
#include "coding/histogram.h"

enum {
    WINDOW = 8,
    COUNTED = 1 << 22,
    BANDS = 16,
    RUN_LOG2 = 7,
    SAMPLE = 1 << 18,
    RARE = 3000, /* a symbol that comes up less than once in so many is an outlier */
    WORTH_RAW = 250,
    WORTH_SECOND = 143
};

/* What makes zero the middle of the window, and of a step of the raw bits. */
static unsigned offset_of(unsigned low)
{
    return (128u << low) + (low ? 1u << (low - 1) : 0);
}

/* All values within the window? */
static bool window_holds(unsigned low, int least, int largest)
{
    const int offset = (int)offset_of(low);
    return least + offset >= 0 && (largest + offset) >> low < 1 << WINDOW;
}

/* How often each value was seen. */
struct counted {
    int least, largest; /* of all values, those that were not counted too */
    uint64_t elements;
    uint32_t *counts; /* from `least` on */
};

/* Bits (times WCODEC_BIT). constant: nothing of what is above the window is coded; outliers count
 * twice, since they take decoders' time. */
static uint64_t cost_of(const struct counted *c, unsigned low, bool holds, bool constant)
{
    const uint64_t elements = c->elements;
    uint64_t middle[256] = {0}, top[256] = {0};
    for (int v = c->least; v <= c->largest; v++) {
        const unsigned e = ((unsigned)v + offset_of(low)) & 0xffff;
        middle[e >> low & 0xff] += c->counts[v - c->least];
        top[e >> low >> WINDOW] += c->counts[v - c->least];
    }
    /* A second stream takes its states in every tile, but where it is constant there. */
    const uint64_t states =
        elements / 8192 * (WCODEC_STREAM_BITS + WCODEC_NO_PAYLOAD_BITS) / 2 * WCODEC_BIT;
    uint64_t cost = wcodec_entropy(middle, 256) + low * elements * WCODEC_BIT;
    if (!holds && constant)
        cost += 2 * (elements - top[0]) * WCODEC_OUTLIER_BITS * WCODEC_BIT;
    else if (!holds)
        cost += wcodec_entropy(top, 256) + states;
    return cost;
}

static void add_field(struct wcodec_split *split, unsigned kind, unsigned width)
{
    const struct wcodec_field *last =
        split->field_count ? &split->fields[split->field_count - 1] : NULL;
    if (width)
        split->fields[split->field_count++] =
            (struct wcodec_field){.kind = (uint8_t)kind,
                                  .width = (uint8_t)width,
                                  .shift = (uint8_t)(last ? last->shift + last->width : 0)};
}

/* bits: of all values (times WCODEC_BIT). */
static void make_split(unsigned low, int least, int largest, double bits,
                       struct wcodec_split *split)
{
    memset(split, 0, sizeof *split);
    split->add = offset_of(low) & 0xffff;
    add_field(split, WCODEC_FIELD_RAW, low);
    add_field(split, WCODEC_FIELD_CODED, WINDOW);
    add_field(split, window_holds(low, least, largest) ? WCODEC_FIELD_CONSTANT : WCODEC_FIELD_CODED,
              16 - WINDOW - low);
    split->order0_bits = split->estimate = (uint64_t)(bits / (double)WCODEC_BIT) + 1;
}

/* The number of raw bits of least cost. */
static unsigned best_split(const struct counted *c, bool constant, uint64_t *best)
{
    unsigned chosen = 0;
    *best = UINT64_MAX;
    for (unsigned low = 0; low <= 16 - WINDOW; low++) {
        const uint64_t cost = cost_of(
            c, low, low == 16 - WINDOW || window_holds(low, c->least, c->largest), constant);
        if (cost < *best) {
            *best = cost;
            chosen = low;
        }
    }
    return chosen;
}

static wcodec_status split_values(const wcodec_allocator *allocator, const uint8_t *values,
                                  uint64_t count, int least, int largest, bool plain,
                                  struct wcodec_split *split, wcodec_error *err)
{
    struct counted c = {.least = least, .largest = largest};
    const uint64_t stride = count / COUNTED + 1;
    uint64_t best, constant_best;
    c.counts = wcodec_alloc_zeroed(allocator, (size_t)(largest - least + 1) * sizeof *c.counts);
    if (c.counts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to count integers of 16 bits");
    /* Not always at the same place of a stride: columns of a matrix may differ by their parity. */
    for (uint64_t i = 0; i + stride <= count; i += stride, c.elements++)
        c.counts[(int16_t)wcodec_load_u16(values + 2 * (i + wcodec_scatter(c.elements, stride))) -
                 least]++;
    unsigned chosen = best_split(&c, false, &best);
    const unsigned constant = plain ? best_split(&c, true, &constant_best) : 0;
    const bool above = plain && constant_best <= best + best / WORTH_SECOND;
    if (above) {
        best = constant_best;
        chosen = constant;
    }
    wcodec_free(allocator, c.counts);
    make_split(chosen, least, largest, (double)best / (double)c.elements * (double)count, split);
    split->constant_above = above;
    return WCODEC_OK;
}

wcodec_status wcodec_integer_split(const wcodec_allocator *allocator, const uint8_t *values,
                                   uint64_t count, int least, int largest,
                                   struct wcodec_split *split, wcodec_error *err)
{
    return split_values(allocator, values, count, least, largest, false, split, err);
}

wcodec_status wcodec_plain_split(const wcodec_allocator *allocator, const uint8_t *values,
                                 uint64_t count, int least, int largest, struct wcodec_split *split,
                                 wcodec_error *err)
{
    return split_values(allocator, values, count, least, largest, true, split, err);
}

/* What is counted of a band, for each number of raw bits. */
struct band {
    uint32_t middle[16 - WINDOW + 1][256], top[16 - WINDOW + 1][256];
};

/* Bits (times WCODEC_BIT) by a table of P8: no held symbol has less than 1/256, and what comes up
 * once in some thousand is an outlier. */
static uint64_t p8_cost(const uint32_t counts[256])
{
    uint64_t total = 0, weights[256], sum = 0, cost = 0;
    for (unsigned s = 0; s < 256; s++)
        total += counts[s];
    for (unsigned s = 0; s < 256; s++) {
        const uint64_t scaled = counts[s] * UINT64_C(256);
        weights[s] = scaled > total ? scaled : total;
        sum += counts[s] * (uint64_t)RARE < total ? 0 : weights[s];
    }
    for (unsigned s = 0; s < 256; s++) {
        uint64_t bits = WCODEC_OUTLIER_BITS * WCODEC_BIT;
        if (counts[s] * (uint64_t)RARE >= total)
            bits = (wcodec_log2(sum) - wcodec_log2(weights[s])) >> 8;
        cost += counts[s] * bits;
    }
    return cost;
}

static void count_bands(const uint8_t *values, uint64_t count, uint64_t stride,
                        struct band bands[BANDS])
{
    for (uint64_t run = 0; run << RUN_LOG2 < count; run++) {
        struct band *band = &bands[run % BANDS];
        if (run / BANDS % stride)
            continue;
        for (uint64_t i = run << RUN_LOG2; i < count && i < (run + 1) << RUN_LOG2; i++)
            for (unsigned low = 0; low <= 16 - WINDOW; low++) {
                const unsigned e = (wcodec_load_u16(values + 2 * i) + offset_of(low)) & 0xffff;
                band->middle[low][e >> low & 0xff]++;
                band->top[low][e >> low >> WINDOW]++;
            }
    }
}

/* Do most bands have upper bytes of more than one value, not counting outliers? */
static bool is_wide(const struct band bands[BANDS])
{
    unsigned wide = 0;
    for (unsigned b = 0; b < BANDS; b++) {
        uint64_t total = 0, largest = 0;
        for (unsigned s = 0; s < 256; s++) {
            total += bands[b].top[0][s];
            largest = bands[b].top[0][s] > largest ? bands[b].top[0][s] : largest;
        }
        wide += (total - largest) * RARE >= total && total;
    }
    return wide > BANDS / 2;
}

wcodec_status wcodec_banded_split(const wcodec_allocator *allocator, const uint8_t *values,
                                  uint64_t count, int least, int largest,
                                  struct wcodec_split *split, wcodec_error *err)
{
    struct band *bands = wcodec_alloc_zeroed(allocator, BANDS * sizeof *bands);
    const uint64_t stride = count / SAMPLE + 1;
    uint64_t elements = 0, best = 0;
    unsigned chosen = 0;
    if (bands == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to count coefficients");
    count_bands(values, count, stride, bands);
    const bool wide = is_wide(bands);
    for (unsigned b = 0; b < BANDS; b++)
        for (unsigned s = 0; s < 256; s++)
            elements += bands[b].middle[0][s];
    for (unsigned low = 0; low <= 16 - WINDOW; low++) {
        const int64_t worth = (int64_t)(best / WORTH_RAW) * (wide ? 1 : -1);
        uint64_t cost = low * elements * WCODEC_BIT;
        for (unsigned b = 0; b < BANDS; b++)
            cost += p8_cost(bands[b].middle[low]) +
                    (window_holds(low, least, largest) ? 0 : p8_cost(bands[b].top[low]));
        if (low == 0 || (int64_t)cost < (int64_t)best + (chosen == 0 ? worth : 0)) {
            best = cost;
            chosen = low;
        }
    }
    wcodec_free(allocator, bands);
    make_split(chosen, least, largest, (double)best / (double)elements * (double)count, split);
    return WCODEC_OK;
}
