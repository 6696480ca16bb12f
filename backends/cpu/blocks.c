/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Blocks are sorted by their modes, so that those of one mode go side by side, straight to their
 * destination; those of which only a part is wanted, or of which a part is padding, go through a
 * buffer. */
#include "backends/cpu/blocks.h"

#include "backends/cpu/cpu_level.h"
#include "core/assert.h"

enum {
    PARTIAL = 32,             /* blocks that go through the buffer together */
    GROUPS = 2 * WCODEC_MODES /* modes, of whole blocks and of the others */
};

/* Blocks of a call in the order of their groups: their numbers from the first one on. */
struct sorted {
    uint16_t begin[GROUPS + 1];
    uint16_t block[WCODEC_CPU_BLOCKS];
};

static void restore_scalar(unsigned element_log2, unsigned mode, const uint8_t *const *residuals,
                           uint8_t *const *out, size_t stride, unsigned count)
{
    const size_t row = (size_t)WCODEC_BLOCK_SIDE << element_log2;
    for (unsigned i = 0; i < count; i++) {
        uint8_t elements[2 * WCODEC_BLOCK];
        wcodec_block_restore(mode, element_log2, residuals[i], elements);
        for (unsigned y = 0; y < WCODEC_BLOCK_SIDE; y++)
            memcpy(out[i] + y * stride, elements + y * row, row);
    }
}

static void restore_8(unsigned mode, const uint8_t *const *residuals, uint8_t *const *out,
                      size_t stride, unsigned count)
{
    restore_scalar(0, mode, residuals, out, stride, count);
}

static void restore_16(unsigned mode, const uint8_t *const *residuals, uint8_t *const *out,
                       size_t stride, unsigned count)
{
    restore_scalar(1, mode, residuals, out, stride, count);
}

void wcodec_cpu_blocks_dsp_init_scalar(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 0, .restore = {restore_8, restore_16}};
}

void wcodec_cpu_blocks_dsp_init(struct wcodec_cpu_blocks_dsp *dsp, uint32_t levels)
{
    WCODEC_CPU_CLIMB(wcodec_cpu_blocks_dsp_init_, struct wcodec_cpu_blocks_dsp, dsp, levels);
}

/* The arguments of a call. */
struct request {
    const struct wcodec_cpu_blocks_dsp *dsp;
    const struct wcodec_blocks *blocks;
    const uint8_t *packed;
    uint64_t first;
    unsigned count;
    const uint8_t *residuals;
    uint64_t begin, end;
    uint8_t *dst;
};

/* at: where in the tensor each begins. What ends within the tensor, and so has no padding below,
 * ends at or before `end`, which is not after it. */
static void sort_blocks(const struct request *r, struct sorted *s, uint64_t at[WCODEC_CPU_BLOCKS])
{
    const struct wcodec_blocks *b = r->blocks;
    const uint64_t stride = b->columns << b->element_log2,
                   width = (uint64_t)WCODEC_BLOCK_SIDE << b->element_log2,
                   last_row = (WCODEC_BLOCK_SIDE - 1) * stride;
    uint64_t down = r->first / b->across, across = r->first % b->across;
    uint8_t group[WCODEC_CPU_BLOCKS];
    uint16_t next[GROUPS];
    memset(s->begin, 0, sizeof s->begin);
    for (unsigned i = 0; i < r->count; i++) {
        at[i] = down * WCODEC_BLOCK_SIDE * stride + across * width;
        const bool whole = (across + 1) * width <= stride && at[i] >= r->begin &&
                           at[i] + last_row + width <= r->end;
        group[i] = (uint8_t)(2 * wcodec_blocks_mode_number(b, r->packed, r->first + i) + !whole);
        s->begin[group[i] + 1]++;
        if (++across == b->across) {
            across = 0;
            down++;
        }
    }
    for (unsigned g = 0; g < GROUPS; g++) {
        s->begin[g + 1] = (uint16_t)(s->begin[g + 1] + s->begin[g]);
        next[g] = s->begin[g];
    }
    for (unsigned i = 0; i < r->count; i++)
        s->block[next[group[i]]++] = (uint16_t)i;
}

static const uint8_t *residuals_of(const struct request *r, unsigned i)
{
    return r->residuals + ((size_t)i * WCODEC_BLOCK << r->blocks->element_log2);
}

/* The last block again, up to where functions may go. */
static void repeat_last(const uint8_t **from, uint8_t **to, unsigned count)
{
    for (unsigned i = count; i % WCODEC_CPU_BLOCKS_STEP; i++) {
        from[i] = from[count - 1];
        to[i] = to[count - 1];
    }
}

static void restore_whole(const struct request *r, unsigned mode, const uint16_t *list,
                          unsigned count, const uint64_t *at)
{
    const uint8_t *from[WCODEC_CPU_BLOCKS];
    uint8_t *to[WCODEC_CPU_BLOCKS];
    WCODEC_ASSERT(count > 0 && count <= WCODEC_CPU_BLOCKS);
    for (unsigned i = 0; i < count; i++) {
        from[i] = residuals_of(r, list[i]);
        to[i] = r->dst + (at[list[i]] - r->begin);
    }
    repeat_last(from, to, count);
    r->dsp->restore[r->blocks->element_log2](
        mode, from, to, (size_t)(r->blocks->columns << r->blocks->element_log2), count);
}

static void restore_partial(const struct request *r, unsigned mode, const uint16_t *list,
                            unsigned count)
{
    uint8_t elements[PARTIAL][2 * WCODEC_BLOCK];
    const uint8_t *from[WCODEC_CPU_BLOCKS_STEP];
    uint8_t *to[WCODEC_CPU_BLOCKS_STEP];
    WCODEC_ASSERT(count > 0 && count <= PARTIAL);
    for (unsigned i = 0; i < count; i++) {
        from[i] = residuals_of(r, list[i]);
        to[i] = elements[i];
    }
    repeat_last(from, to, count);
    r->dsp->restore[r->blocks->element_log2](
        mode, from, to, (size_t)WCODEC_BLOCK_SIDE << r->blocks->element_log2, count);
    for (unsigned i = 0; i < count; i++)
        wcodec_block_put(r->blocks, r->first + list[i], elements[i], r->begin, r->end, r->dst);
}

static void restore_some(const struct request *r)
{
    struct sorted s;
    uint64_t at[WCODEC_CPU_BLOCKS];
    sort_blocks(r, &s, at);
    for (unsigned g = 0; g < 2 * (unsigned)r->blocks->mode_count; g += 2) {
        const unsigned whole = s.begin[g + 1] - s.begin[g], end = s.begin[g + 2],
                       mode = r->blocks->modes[g / 2];
        if (whole > 0)
            restore_whole(r, mode, s.block + s.begin[g], whole, at);
        for (unsigned i = s.begin[g + 1]; i < end; i += PARTIAL)
            restore_partial(r, mode, s.block + i, end - i < PARTIAL ? end - i : PARTIAL);
    }
}

void wcodec_cpu_restore_blocks(const struct wcodec_cpu_blocks_dsp *dsp,
                               const struct wcodec_blocks *blocks, const uint8_t *packed,
                               uint64_t first, uint64_t end, const uint8_t *residuals,
                               uint64_t begin, uint64_t end_byte, uint8_t *dst)
{
    struct request r = {.dsp = dsp,
                        .blocks = blocks,
                        .packed = packed,
                        .residuals = residuals,
                        .begin = begin,
                        .end = end_byte,
                        .dst = dst};
    WCODEC_ASSERT(first <= end && begin <= end_byte);
    for (r.first = first; r.first < end; r.first += r.count) {
        r.count = end - r.first < WCODEC_CPU_BLOCKS ? (unsigned)(end - r.first) : WCODEC_CPU_BLOCKS;
        restore_some(&r);
        r.residuals += (size_t)r.count * WCODEC_BLOCK << blocks->element_log2;
    }
}
