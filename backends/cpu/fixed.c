/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles go straight to their destination; those of which only a part is wanted, or of which a part
 * is padding, go through a buffer. */
#include "backends/cpu/fixed.h"

#include "backends/cpu/cpu_level.h"

enum { ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS };

/* Four selectors of a quad, in nibbles: what the words of its lane's half have for number u. */
static inline uint32_t selectors(unsigned bits, const uint8_t *const words[], unsigned u)
{
    if (u / 2 <= bits)
        return wcodec_load_u32(words[u / 2]) >> (u % 2 * 16);
    const uint32_t top = (wcodec_load_u32(words[0]) >> 3 & 0x11111111) |
                         (wcodec_load_u32(words[1]) >> 2 & 0x22222222) |
                         (wcodec_load_u32(words[2]) >> 1 & 0x44444444);
    return top >> (u % 2 * 16);
}

/* The signs of a quad, where indices have three bits: bit 7 of each byte. */
static inline uint32_t signs(const uint8_t *word, unsigned u)
{
    return wcodec_load_u32(word) << (u % 2 * 4) & 0x80808080;
}

static inline void expand(unsigned bits, const uint8_t *record, const uint16_t *add,
                          const uint16_t *mask, uint8_t *out, size_t stride)
{
    const unsigned base = wcodec_fixed_base(bits);
    for (unsigned lane = 0; lane < 32; lane++) {
        const uint8_t *words[8];
        for (unsigned k = 0; k < 2 * (bits + 1); k++)
            words[k] = k < 4 ? record + WCODEC_FIXED_INDEX_AT + 16 * lane + 4 * (size_t)k
                             : record + WCODEC_FIXED_INDEX_AT + 512 + 8 * (bits - 1) * lane +
                                   4 * (size_t)(k - 4);
        for (unsigned quad = 0; quad < 16; quad++) {
            const uint8_t *const *half = words + quad / 8 * (bits + 1);
            const unsigned position = quad / 4 * 512 + 16 * lane + quad % 4 * 4,
                           row = wcodec_fixed_row(position);
            const uint32_t four = selectors(bits, half, quad % 8),
                           sign = bits == 3 ? signs(half[quad % 8 / 2], quad) : 0;
            uint8_t *to = out + row * stride + 2 * (size_t)wcodec_fixed_column(position);
            for (unsigned i = 0; i < 4; i++) {
                const unsigned selector = four >> 4 * i & 7, upper = base + selector % (1u << bits),
                               top = bits == 3 ? sign >> (8 * i + 7) & 1 : selector >> 2;
                const unsigned r = top << 15 | upper << 8 | record[position + i];
                wcodec_store_u16(to + 2 * (size_t)i, (uint16_t)((r + add[row]) & mask[row]));
            }
        }
    }
}

static void expand_2(const uint8_t *record, const uint16_t *add, const uint16_t *mask, uint8_t *out,
                     size_t stride)
{
    expand(2, record, add, mask, out, stride);
}

static void expand_3(const uint8_t *record, const uint16_t *add, const uint16_t *mask, uint8_t *out,
                     size_t stride)
{
    expand(3, record, add, mask, out, stride);
}

void wcodec_cpu_fixed_dsp_init_scalar(struct wcodec_cpu_fixed_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_fixed_dsp){.level = 0, .expand = {expand_2, expand_3}};
}

void wcodec_cpu_fixed_dsp_init(struct wcodec_cpu_fixed_dsp *dsp, uint32_t levels)
{
    struct wcodec_cpu_dsp tiles = {0};
    wcodec_cpu_dsp_init(&tiles, levels);
    WCODEC_CPU_CLIMB(wcodec_cpu_fixed_dsp_init_, struct wcodec_cpu_fixed_dsp, dsp, levels);
    dsp->finish = tiles.finish;
}

/* wcodec_fixed_tile_check() by the level's sums. */
static uint32_t check_of(const struct wcodec_cpu_fixed_job *job, const uint8_t *record,
                         const struct wcodec_fixed_list *list, const uint8_t *spilled)
{
    const uint32_t size = job->fixed->record_size, whole = size / WCODEC_GROUP,
                   groups = (size + WCODEC_GROUP - 1) / WCODEC_GROUP;
    uint64_t sums[WCODEC_LANES] = {0}, more[WCODEC_LANES];
    for (uint32_t first = 0; first < whole; first += WCODEC_CPU_CHUNK_GROUPS)
        job->dsp->finish(0, record + (size_t)first * WCODEC_GROUP,
                         whole - first < WCODEC_CPU_CHUNK_GROUPS ? whole - first
                                                                 : WCODEC_CPU_CHUNK_GROUPS,
                         first, NULL, sums);
    if (groups != whole) {
        uint8_t last[WCODEC_GROUP] = {0};
        memcpy(last, record + (size_t)whole * WCODEC_GROUP, size % WCODEC_GROUP);
        job->dsp->finish(0, last, 1, whole, NULL, sums);
    }
    if (list->spilled_count != 0) {
        wcodec_tile_check_sums_from(spilled, 4 * list->spilled_count, 0, groups, more);
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            sums[lane] += more[lane];
    }
    return wcodec_tile_check_finish(sums);
}

static void restore(const struct wcodec_cpu_fixed_job *job, const uint8_t *record,
                    const struct wcodec_fixed_list *list, const uint8_t *shifts,
                    const uint8_t *spilled, uint8_t *out, size_t stride)
{
    uint16_t add[ROWS], mask[ROWS];
    for (unsigned row = 0; row < ROWS; row++) {
        const int shift = (int8_t)shifts[row];
        const bool zero = shift == WCODEC_FIXED_ZERO_ROW;
        add[row] = zero ? 0 : (uint16_t)(128 * shift);
        mask[row] = zero ? 0x8000 : 0xFFFF;
    }
    job->dsp->expand[job->fixed->bits - WCODEC_FIXED_BITS_MIN](record, add, mask, out, stride);
    wcodec_fixed_tile_patch(job->fixed, list, shifts, spilled, out, stride);
}

enum wcodec_tile_fault wcodec_cpu_fixed_decode(const struct wcodec_cpu_fixed_job *job,
                                               uint64_t tile, const uint8_t *record, uint32_t check)
{
    const struct wcodec_fixed *f = job->fixed;
    struct wcodec_fixed_list list;
    const uint8_t *spilled = NULL;
    enum wcodec_tile_fault fault = wcodec_fixed_list_find(f, record, &list);
    if (fault == WCODEC_TILE_OK && list.spilled_count != 0) {
        if (list.spilled_first < job->spilled_first ||
            list.spilled_first + list.spilled_count > job->spilled_end)
            return WCODEC_TILE_OUTLIER;
        spilled = job->spilled + 4 * (list.spilled_first - job->spilled_first);
    }
    if (fault == WCODEC_TILE_OK)
        fault = wcodec_fixed_list_check(&list, spilled);
    if (fault == WCODEC_TILE_OK && job->verify && check_of(job, record, &list, spilled) != check)
        fault = WCODEC_TILE_CHECK;
    if (fault != WCODEC_TILE_OK)
        return fault;
    const uint64_t band = tile / f->across, x = tile % f->across, row = band * ROWS,
                   stride = 2 * f->columns, at = row * stride + 2 * x * COLUMNS;
    const unsigned width = wcodec_fixed_width(f, x), height = wcodec_fixed_height(f, band);
    const uint8_t *shifts = job->shifts + row;
    if (width == COLUMNS && height == ROWS && at >= job->begin &&
        at + (ROWS - 1) * stride + 2 * COLUMNS <= job->end) {
        restore(job, record, &list, shifts, spilled, job->dst + (at - job->begin), (size_t)stride);
        return WCODEC_TILE_OK;
    }
    uint8_t elements[ROWS][2 * COLUMNS];
    restore(job, record, &list, shifts, spilled, elements[0], sizeof elements[0]);
    for (unsigned y = 0; y < height; y++)
        wcodec_put_part(elements[y], at + y * stride, 2 * width, job->begin, job->end, job->dst);
    return WCODEC_TILE_OK;
}

enum wcodec_tile_fault wcodec_cpu_fixed_decode_alone(const struct wcodec_cpu_fixed_job *job,
                                                     uint64_t tile, const uint8_t *record,
                                                     uint32_t check, uint8_t *out)
{
    const struct wcodec_fixed *f = job->fixed;
    const uint64_t band = tile / f->across;
    struct wcodec_fixed alone = *f;
    struct wcodec_cpu_fixed_job own = *job;
    alone.columns = wcodec_fixed_width(f, tile % f->across);
    alone.rows = wcodec_fixed_height(f, band);
    alone.across = alone.bands = 1;
    own.fixed = &alone;
    own.shifts += band * ROWS;
    own.begin = 0;
    own.end = 2 * alone.rows * alone.columns;
    own.dst = out;
    return wcodec_cpu_fixed_decode(&own, 0, record, check);
}
