/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/integer_split.h"

#include "core/error.h"
#include "encode/bits.h"

enum { VALUES = 1 << 16, WINDOW = 8, COUNTED = 1 << 22 };

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

static uint64_t cost_of(const uint32_t *counts, uint64_t elements, unsigned low, bool holds)
{
    uint64_t middle[256] = {0}, top[256] = {0};
    for (unsigned v = 0; v < VALUES; v++) {
        const unsigned e = (v + offset_of(low)) & 0xffff;
        middle[e >> low & 0xff] += counts[v];
        top[e >> low >> WINDOW] += counts[v];
    }
    /* A second stream takes its states in every tile, but where it is constant there. */
    const uint64_t states = holds ? 0 : elements / 8192 * (WCODEC_STREAM_BITS + WCODEC_NO_PAYLOAD_BITS) / 2;
    return wcodec_entropy(middle, 256) + (holds ? 0 : wcodec_entropy(top, 256)) + (low * elements + states) * WCODEC_BIT;
}

static void add_field(struct wcodec_split *split, unsigned kind, unsigned width)
{
    const struct wcodec_field *last = split->field_count ? &split->fields[split->field_count - 1] : NULL;
    if (width)
        split->fields[split->field_count++] = (struct wcodec_field){.kind = (uint8_t)kind, .width = (uint8_t)width, .shift = (uint8_t)(last ? last->shift + last->width : 0)};
}

wcodec_status wcodec_integer_split(const wcodec_allocator *allocator, const uint8_t *values, uint64_t count, int least, int largest, struct wcodec_split *split, wcodec_error *err)
{
    uint32_t *counts = wcodec_alloc_zeroed(allocator, VALUES * sizeof *counts);
    const uint64_t stride = count / COUNTED + 1;
    uint64_t elements = 0, best = UINT64_MAX;
    unsigned chosen = 0;
    if (!counts)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to count integers of 16 bits");
    for (uint64_t i = 0; i < count; i += stride, elements++)
        counts[wcodec_load_u16(values + 2 * i)]++;
    for (unsigned low = 0; low <= 16 - WINDOW; low++) {
        const uint64_t cost = cost_of(counts, elements, low, low == 16 - WINDOW || window_holds(low, least, largest));
        if (cost < best) {
            best = cost;
            chosen = low;
        }
    }
    wcodec_free(allocator, counts);
    memset(split, 0, sizeof *split);
    split->add = offset_of(chosen) & 0xffff;
    add_field(split, WCODEC_FIELD_RAW, chosen);
    add_field(split, WCODEC_FIELD_CODED, WINDOW);
    add_field(split, window_holds(chosen, least, largest) ? WCODEC_FIELD_CONSTANT : WCODEC_FIELD_CODED, 16 - WINDOW - chosen);
    split->order0_bits = split->estimate = (uint64_t)((double)best / (double)WCODEC_BIT / (double)elements * (double)count) + 1;
    return WCODEC_OK;
}
