/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sparse tiles of a delta, written. */

#include "coding/delta.h"

/* Elements that differ, in order. */
struct walk {
    const uint8_t *elements, *base;
    uint64_t at, count;
    unsigned element_log2;
    bool xor_values;
};

static uint64_t value_of(const struct walk *w, uint64_t e, uint64_t b)
{
    return w->xor_values
               ? e ^ b
               : wcodec_zigzag((e - b) & wcodec_delta_mask(w->element_log2), w->element_log2);
}

/* The next one: how many elements are before it, and its value; false: `gap` elements are left. */
static bool next(struct walk *w, uint64_t *gap, uint64_t *value)
{
    const uint64_t begin = w->at;
    w->at = wcodec_delta_skip(w->elements, w->base, w->at, w->count, w->element_log2);
    for (; w->at < w->count; w->at++) {
        const uint64_t e = wcodec_delta_load(w->elements, w->at, w->element_log2),
                       b = wcodec_delta_load(w->base, w->at, w->element_log2);
        if (e == b)
            continue;
        *gap = w->at++ - begin;
        *value = value_of(w, e, b);
        return true;
    }
    *gap = w->count - begin;
    return false;
}

static void count_walk(struct walk *w, struct wcodec_delta_counts *counts)
{
    uint64_t gap, value;
    while (next(w, &gap, &value)) {
        counts->gaps[wcodec_delta_class(gap + 1, WCODEC_DELTA_GAP_DIRECT)]++;
        counts->values[wcodec_delta_class(value, WCODEC_DELTA_VALUE_DIRECT)]++;
    }
    if (gap != 0)
        counts->gaps[wcodec_delta_class(gap + 1, WCODEC_DELTA_GAP_DIRECT)]++;
}

void wcodec_delta_count(unsigned element_log2, bool xor_values, const uint8_t *elements,
                        const uint8_t *base, uint64_t count, struct wcodec_delta_counts *counts)
{
    struct walk w = {.elements = elements,
                     .base = base,
                     .count = count,
                     .element_log2 = element_log2,
                     .xor_values = xor_values};
    count_walk(&w, counts);
}

/* Nodes of a tree of words: leaves first, then what joins two. */
struct tree {
    uint64_t weight[2 * WCODEC_DELTA_VALUES];
    uint16_t parent[2 * WCODEC_DELTA_VALUES];
};

static unsigned least(const struct tree *t, unsigned nodes)
{
    unsigned best = nodes;
    for (unsigned i = 0; i < nodes; i++)
        if (t->weight[i] != 0 && t->parent[i] == 0 &&
            (best == nodes || t->weight[i] < t->weight[best]))
            best = i;
    return best;
}

/* The longest word. */
static unsigned plan_lengths(const uint64_t *weights, unsigned classes, uint8_t *lengths)
{
    struct tree t = {.weight = {0}};
    unsigned nodes = classes, longest = 0;
    memcpy(t.weight, weights, classes * sizeof *weights);
    for (;;) {
        const unsigned a = least(&t, nodes);
        if (a == nodes)
            break;
        t.parent[a] = UINT16_MAX; /* not found again */
        const unsigned b = least(&t, nodes);
        if (b == nodes)
            break;
        t.parent[a] = t.parent[b] = (uint16_t)nodes;
        t.weight[nodes++] = t.weight[a] + t.weight[b];
    }
    for (unsigned i = 0; i < classes; i++) {
        unsigned length = 0;
        for (unsigned n = i; weights[i] != 0 && t.parent[n] != UINT16_MAX; n = t.parent[n])
            length++;
        lengths[i] = (uint8_t)length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

void wcodec_delta_code_plan(const uint64_t *counts, unsigned classes,
                            struct wcodec_delta_code *code)
{
    uint64_t weights[WCODEC_DELTA_VALUES];
    unsigned held = 0, last = 0;
    memcpy(weights, counts, classes * sizeof *counts);
    code->count = 1;
    for (unsigned i = 0; i < classes; i++) {
        held += counts[i] != 0;
        last = counts[i] != 0 ? i : last;
    }
    /* Words that are too long get shorter where counts are more alike. */
    while (plan_lengths(weights, classes, code->lengths) > WCODEC_DELTA_CODE_BITS)
        for (unsigned i = 0; i < classes; i++)
            weights[i] = weights[i] == 0 ? 0 : weights[i] / 2 + 1;
    if (held <= 1)
        code->lengths[last] = 1;
    code->count = last + 1;
    (void)wcodec_delta_code_make(code);
}

/* Bits of a value of class i below its two highest ones, and more where its class does not say
 * these. */
static unsigned bits_below(unsigned i, unsigned direct)
{
    return i < direct ? 0 : (i - direct) / 2 + wcodec_delta_bits(direct + 1) - 2;
}

uint64_t wcodec_delta_value_bits(const struct wcodec_delta_counts *counts)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < WCODEC_DELTA_VALUES; i++)
        bits += counts->values[i] * (i < WCODEC_DELTA_VALUE_DIRECT
                                         ? wcodec_delta_bits(i + 1)
                                         : bits_below(i, WCODEC_DELTA_VALUE_DIRECT) + 2);
    return bits;
}

static uint64_t coded_bits(const uint64_t *counts, const struct wcodec_delta_code *code,
                           unsigned direct)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < code->count; i++)
        bits += counts[i] * ((code->single ? 0u : code->lengths[i]) + bits_below(i, direct));
    return bits;
}

uint64_t wcodec_delta_coded_bits(const struct wcodec_delta_counts *counts,
                                 const struct wcodec_delta_code *gaps,
                                 const struct wcodec_delta_code *values)
{
    return coded_bits(counts->gaps, gaps, WCODEC_DELTA_GAP_DIRECT) +
           coded_bits(counts->values, values, WCODEC_DELTA_VALUE_DIRECT);
}

size_t wcodec_delta_codes_write(const struct wcodec_delta_code *gaps,
                                const struct wcodec_delta_code *values, uint8_t *to)
{
    const struct wcodec_delta_code *const codes[2] = {gaps, values};
    uint8_t *at = to;
    for (unsigned c = 0; c < 2; c++) {
        const unsigned count = codes[c]->count;
        *at++ = (uint8_t)count;
        for (unsigned i = 0; i < count; i += 2)
            *at++ = (uint8_t)(codes[c]->lengths[i] |
                              (i + 1 < count ? codes[c]->lengths[i + 1] << 4 : 0));
    }
    return (size_t)(at - to);
}

struct bits {
    uint8_t *at;
    uint64_t buffer;
    unsigned filled; /* less than 8 between numbers */
};

/* At most 56, of which those above are 0. Eight bytes are written, and what is no whole one again.
 */
static inline void put(struct bits *b, uint64_t v, unsigned count)
{
    b->buffer |= v << b->filled;
    b->filled += count;
    wcodec_store_u64(b->at, b->buffer);
    b->at += b->filled / 8;
    b->buffer >>= b->filled & ~7u; /* at most 56 */
    b->filled &= 7;
}

/* A word, and the bits below the two that its class says. */
static inline void put_number(struct bits *b, const struct wcodec_delta_code *code, unsigned direct,
                              uint64_t number)
{
    const unsigned class = wcodec_delta_class(number, direct),
                   length = code->single ? 0 : code->lengths[class],
                   below = number > direct ? wcodec_delta_bits(number) - 2 : 0;
    const uint64_t rest = number & (((uint64_t)1 << below) - 1),
                   word = length != 0 ? code->words[class] : 0;
    if (length + below <= 56) {
        put(b, word | rest << length, length + below);
        return;
    }
    put(b, word, length);
    put(b, rest & 0xffffffff, 32);
    put(b, rest >> 32, below - 32);
}

uint64_t wcodec_delta_stream_most(unsigned element_log2, uint64_t count)
{
    /* Two words, and what is below; each element, and the end. */
    return (2 * WCODEC_DELTA_CODE_BITS + 16 + (8u << element_log2)) / 8 * (count + 1) + 8;
}

static uint64_t write_walk(struct walk *w, const struct wcodec_delta_code *gaps,
                           const struct wcodec_delta_code *values, uint8_t *to)
{
    struct bits b = {.at = to};
    uint64_t gap, value;
    while (next(w, &gap, &value)) {
        put_number(&b, gaps, WCODEC_DELTA_GAP_DIRECT, gap + 1);
        put_number(&b, values, WCODEC_DELTA_VALUE_DIRECT, value);
    }
    if (gap != 0)
        put_number(&b, gaps, WCODEC_DELTA_GAP_DIRECT, gap + 1);
    return (uint64_t)(b.at - to) + (b.filled != 0);
}

uint64_t wcodec_delta_stream(const struct wcodec_delta_code *gaps,
                             const struct wcodec_delta_code *values, unsigned element_log2,
                             bool xor_values, const uint8_t *elements, const uint8_t *base,
                             uint64_t count, uint8_t *to)
{
    struct walk w = {.elements = elements,
                     .base = base,
                     .count = count,
                     .element_log2 = element_log2,
                     .xor_values = xor_values};
    return write_walk(&w, gaps, values, to);
}
