/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices in fragments: the CPU's own way to and from their sequence against the reference, of
 * matrices of all shapes, and any part of them. Inputs and outputs end or begin at guard pages. */
#include "support.h"

#include "support_guarded.h"

#include "backends/cpu/fragments.h"
#include <string.h>

enum { ROUNDS = 60, POISON = 0x5a };

void checkdsp_fragments(uint64_t seed);

static struct wcodec_fragments random_fragments(uint64_t *seed)
{
    const uint64_t any = support_random(seed);
    const unsigned element_log2 = any & 1;
    uint64_t rows = 1 + (any >> 8) % 50, columns = 1 + (any >> 16) % 500;
    if (any >> 1 & 3)
        columns = WCODEC_SECTION_COLUMNS * (1 + (any >> 16) % 5);
    struct wcodec_fragments f = {.columns = columns};
    assert_int_equal(
        wcodec_fragments_derive(&f, rows * columns << element_log2, element_log2, NULL), WCODEC_OK);
    return f;
}

/* A part of a number of things, all of them every fourth time. */
static void part(uint64_t *seed, uint64_t all, uint64_t *first, uint64_t *count)
{
    const bool whole = support_random(seed) % 4 == 0;
    *first = whole ? 0 : support_random(seed) % all;
    *count = whole ? all : 1 + support_random(seed) % (all - *first);
}

static void check_put(uint64_t *seed, const struct wcodec_fragments *f, const uint8_t *sequence)
{
    uint64_t first, count, begin, size;
    part(seed, f->rows * f->columns, &first, &count);
    part(seed, f->size, &begin, &size);
    struct guarded in = guarded_side((size_t)(count << f->element_log2), support_random(seed) % 2),
                   out = guarded_side((size_t)size, support_random(seed) % 2);
    uint8_t *expected = malloc((size_t)size);
    memcpy(in.data, sequence + (first << f->element_log2), (size_t)(count << f->element_log2));
    memset(out.data, POISON, (size_t)size);
    memset(expected, POISON, (size_t)size);
    wcodec_cpu_fragments_put(f, first, count, in.data, begin, begin + size, out.data);
    wcodec_fragments_put(f, first, count, in.data, begin, begin + size, expected);
    assert_memory_equal(out.data, expected, (size_t)size);
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

static void check_gather(uint64_t *seed, const struct wcodec_fragments *f, const uint8_t *data)
{
    uint64_t first, count;
    part(seed, f->rows * f->columns, &first, &count);
    const size_t size = (size_t)(count << f->element_log2);
    struct guarded in = guarded_side((size_t)f->size, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2);
    uint8_t *expected = malloc(size);
    memcpy(in.data, data, (size_t)f->size);
    wcodec_cpu_fragments_gather(f, in.data, first, count, out.data);
    wcodec_fragments_gather(f, data, first, count, expected);
    assert_memory_equal(out.data, expected, size);
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

void checkdsp_fragments(uint64_t seed)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct wcodec_fragments f = random_fragments(&seed);
        uint8_t *bytes = malloc((size_t)f.size);
        for (uint64_t k = 0; k < f.size; k++)
            bytes[k] = (uint8_t)support_random(&seed);
        check_put(&seed, &f, bytes);
        check_gather(&seed, &f, bytes);
        free(bytes);
    }
}
