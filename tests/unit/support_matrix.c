/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_fixed.h"
#include "support_matrix.h"

enum { ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS };

/* Mostly of a few exponents below the row's window's end; `odd` of 4096 are any bits, or with
 * `small` below 4, and one of 1024 of them infinite or no number. */
static uint16_t make_element(uint64_t *seed, int shift, unsigned odd, bool small)
{
    const uint64_t any = support_random(seed);
    const unsigned level = (unsigned)(any & 4095);
    if (level < odd && small)
        return (uint16_t)((any >> 16 & 0x807f) | ((any >> 32 & 1023) == 0 ? 255 : (any >> 48) % 129)
                                                     << 7);
    if (level < odd)
        return (uint16_t)(any >> 16);
    if (shift == WCODEC_FIXED_ZERO_ROW)
        return (uint16_t)(any >> 16 & 0x8000);
    const int down = (int)(level % 97 == 0 ? any >> 40 & 15 : any >> 40 & 3),
              exponent = 127 + shift - down;
    return (uint16_t)((any >> 16 & 0x807f) | (unsigned)(exponent > 0 ? exponent : 0) << 7);
}

/* Is it no relative element of its row (doc/format.md 6.2)? */
static bool is_foreign(unsigned element, int shift)
{
    const int exponent = (int)(element >> 7 & 255), r = exponent - shift;
    return shift == WCODEC_FIXED_ZERO_ROW ? (element & 0x7fff) != 0
           : exponent == 0                ? (element & 0x7f) != 0 && shift != 0
           : exponent == 255              ? false
                                          : r < 1 || r > 254;
}

bool support_matrix_has_foreign(const struct support_matrix *m)
{
    for (uint64_t i = 0; i < m->fixed.rows * m->fixed.columns; i++)
        if (is_foreign(wcodec_load_u16(m->data + 2 * i), (int8_t)m->payload[i / m->fixed.columns]))
            return true;
    return false;
}

/* foreign: such elements may be among them; else zeros are in their places, and sums of some
 * thousand elements are below 2^14, so that little is to be said against most of them. */
static void make_data(uint64_t *seed, bool foreign, struct support_matrix *m)
{
    const struct wcodec_fixed *f = &m->fixed;
    static const unsigned often[] = {0, 0, 8, 100, 1000, 4096};
    const unsigned odd = often[support_random(seed) % (foreign ? 6 : 4)];
    const int least = (2 << f->bits) - WCODEC_FIXED_SHIFT_MAX;
    for (uint64_t row = 0; row < f->checks_begin; row++) {
        const uint64_t any = support_random(seed);
        int shift = any % 16 == 0  ? WCODEC_FIXED_ZERO_ROW
                    : any % 4 != 0 ? (int)((any >> 8) % 5) - 8
                    : foreign
                        ? least + (int)((any >> 8) % (unsigned)(WCODEC_FIXED_SHIFT_MAX + 1 - least))
                        : -(int)((any >> 8) % 31);
        m->payload[row] = (uint8_t)shift;
        for (uint64_t i = 0; row < f->rows && i < f->columns; i++) {
            const uint16_t element = make_element(seed, shift, odd, !foreign);
            wcodec_store_u16(m->data + 2 * (row * f->columns + i),
                             foreign || !is_foreign(element, shift) ? element : 0);
        }
    }
}

/* Records and checks; spilled elements to `spilled`. */
static void code(struct support_matrix *m, uint8_t *spilled)
{
    struct wcodec_fixed *f = &m->fixed;
    for (uint64_t tile = 0; tile < f->tiles; tile++) {
        const uint64_t band = tile / f->across, x = tile % f->across;
        uint8_t *record = m->payload + f->tiles_begin + tile * f->record_size;
        if (x == 0)
            m->before[band] = f->spilled;
        const uint32_t count = support_fixed_code_tile(
            f, m->data + 2 * (band * ROWS * f->columns + x * COLUMNS), (size_t)(2 * f->columns),
            wcodec_fixed_height(f, band), wcodec_fixed_width(f, x), m->payload + band * ROWS,
            f->spilled, record, spilled + 4 * f->spilled);
        wcodec_store_u32(m->payload + f->checks_begin + 4 * tile,
                         wcodec_fixed_tile_check(f, record, spilled + 4 * f->spilled, count));
        f->spilled += count;
    }
    m->before[f->bands] = f->spilled;
}

static void make(uint64_t *seed, uint64_t rows, uint64_t columns, bool foreign,
                 struct support_matrix *m)
{
    const uint64_t any = support_random(seed);
    if (rows == 0)
        rows = 1 + any % 60;
    if (columns == 0) /* often such as have rows at multiples of 16 bytes */
        columns = any >> 8 & 3 ? 8 * (1 + (any >> 16) % 50) : 1 + (any >> 16) % 400;
    *m = (struct support_matrix){.fixed = {.columns = columns,
                                           .bits = (uint8_t)(2 + (any >> 32) % 2),
                                           .list = (uint8_t)(1 + (any >> 40) % 16)}};
    struct wcodec_fixed *f = &m->fixed;
    assert_int_equal(wcodec_fixed_derive(f, 2 * rows * columns, NULL), WCODEC_OK);
    uint8_t *spilled = malloc((size_t)(4 * WCODEC_FIXED_TILE * f->tiles));
    m->data = malloc((size_t)f->size);
    m->payload = calloc(1, (size_t)f->payload_size);
    m->before = malloc((size_t)(f->bands + 1) * sizeof *m->before);
    assert_true(spilled != NULL && m->data != NULL && m->payload != NULL && m->before != NULL);
    make_data(seed, foreign, m);
    code(m, spilled);
    f->check = wcodec_fixed_shifts_check(f, m->payload);
    const uint64_t front = f->payload_size;
    assert_int_equal(wcodec_fixed_derive(f, f->size, NULL), WCODEC_OK);
    m->payload = realloc(m->payload, (size_t)f->payload_size);
    assert_non_null(m->payload);
    memcpy(m->payload + front, spilled, (size_t)(f->payload_size - front));
    free(spilled);
    assert_int_equal(wcodec_fixed_check_front(f, m->payload, NULL), WCODEC_OK);
}

void support_matrix_make(uint64_t *seed, uint64_t rows, uint64_t columns, struct support_matrix *m)
{
    make(seed, rows, columns, true, m);
}

void support_matrix_make_relative(uint64_t *seed, uint64_t rows, uint64_t columns,
                                  struct support_matrix *m)
{
    make(seed, rows, columns, false, m);
}

void support_matrix_free(struct support_matrix *m)
{
    free(m->before);
    free(m->payload);
    free(m->data);
}

void support_matrix_part(uint64_t *seed, const struct support_matrix *m, bool whole,
                         struct wcodec_job *job)
{
    const struct wcodec_fixed *f = &m->fixed;
    const uint64_t any = support_random(seed), band = whole ? 0 : any % f->bands,
                   bands = whole ? f->bands : 1 + (any >> 16) % (f->bands - band),
                   begin = band * ROWS * f->columns,
                   end = (band + bands) * ROWS < f->rows ? (band + bands) * ROWS * f->columns
                                                         : f->rows * f->columns;
    uint64_t from = whole ? 0 : support_random(seed) % (end - begin),
             count = whole ? end : 1 + support_random(seed) % (end - begin - from);
    if (!whole && any >> 60 < 8) { /* whole rows of them */
        const uint64_t rows = (end - begin) / f->columns, first = from / f->columns;
        from = first * f->columns;
        count = (1 + (any >> 32) % (rows - first)) * f->columns;
    }
    job->fixed = f;
    job->modes = m->payload;
    job->first = band * f->across;
    job->count = bands * f->across;
    job->begin = 2 * (begin + from);
    job->end = job->begin + 2 * count;
    job->places[WCODEC_AREA_RAW] = (struct wcodec_area_place){
        .begin = f->tiles_begin + job->first * f->record_size, .size = job->count * f->record_size};
    job->places[WCODEC_AREA_VALUES] =
        (struct wcodec_area_place){.begin = f->spilled_begin + 4 * m->before[band],
                                   .size = 4 * (m->before[band + bands] - m->before[band])};
}

/* A tile's elements, rows of COLUMNS. */
static enum wcodec_tile_fault decode_tile(const struct support_matrix *m,
                                          const struct wcodec_job *job, uint64_t tile, uint8_t *out)
{
    const struct wcodec_fixed *f = &m->fixed;
    const uint8_t *record = m->payload + f->tiles_begin + tile * f->record_size, *spilled;
    const struct wcodec_area_place *values = &job->places[WCODEC_AREA_VALUES];
    struct wcodec_fixed_list list;
    enum wcodec_tile_fault fault = wcodec_fixed_list_find(f, record, &list);
    if (fault != WCODEC_TILE_OK)
        return fault;
    const uint64_t at = f->spilled_begin + 4 * list.spilled_first;
    if (list.spilled_count != 0 && (at < values->begin || at + 4 * (uint64_t)list.spilled_count >
                                                              values->begin + values->size))
        return WCODEC_TILE_OUTLIER;
    spilled = m->payload + at;
    fault = wcodec_fixed_list_check(&list, spilled);
    if (fault == WCODEC_TILE_OK && job->verify &&
        wcodec_fixed_tile_check(f, record, spilled, list.spilled_count) !=
            wcodec_load_u32(m->payload + f->checks_begin + 4 * tile))
        fault = WCODEC_TILE_CHECK;
    if (fault == WCODEC_TILE_OK)
        wcodec_fixed_tile_decode(f, record, &list, m->payload + tile / f->across * ROWS, spilled,
                                 out, (size_t)2 * COLUMNS);
    return fault;
}

struct wcodec_job_result support_matrix_decode(const struct support_matrix *m,
                                               const struct wcodec_job *job, uint8_t *out)
{
    const struct wcodec_fixed *f = &m->fixed;
    for (uint64_t tile = job->first; tile < job->first + job->count; tile++) {
        uint8_t elements[WCODEC_FIXED_TILE_BYTES];
        const uint64_t band = tile / f->across, x = tile % f->across;
        const enum wcodec_tile_fault fault = decode_tile(m, job, tile, elements);
        if (fault != WCODEC_TILE_OK) {
            memset(out, 0, (size_t)(job->end - job->begin));
            return (struct wcodec_job_result){tile, fault};
        }
        for (unsigned y = 0; y < wcodec_fixed_height(f, band); y++)
            for (unsigned i = 0; i < wcodec_fixed_width(f, x); i++) {
                const uint64_t at = 2 * ((band * ROWS + y) * f->columns + x * COLUMNS + i);
                if (at >= job->begin && at < job->end)
                    memcpy(out + (at - job->begin), elements + 2 * (y * COLUMNS + i), 2);
            }
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}
