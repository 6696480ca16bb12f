/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include "backends/cpu/cpu_level.h"
#include "coding/floats.h"
#include "core/error.h"

#include <math.h>

enum { PIECE = 1 << 12, TASK = 1 << 16, LOOK = 8, LOAD = 64 };

/* What a task saw. Tasks are the same whatever the threads, and their sums are added in their
 * order. */
struct part {
    double sum, largest;
    bool finite;
};

struct look {
    const struct wcodec_lossy_source *source;
    const struct wcodec_encode_settings *settings;
    struct part *parts;
    double *row_sums, *row_peaks; /* NULL, or squares of each row, and its largest number */
};

/* A constant number, so that compilers make vectors of it. */
static inline void load_some(wcodec_dtype dtype, const uint8_t *from, float *to)
{
    uint32_t words[LOAD];
    for (unsigned i = 0; i < LOAD; i++)
        words[i] = wcodec_load_u16(from + (size_t)2 * i);
    if (dtype == WCODEC_DTYPE_BF16)
        for (unsigned i = 0; i < LOAD; i++)
            to[i] = wcodec_f32_of_bits(words[i] << 16);
    else
        for (unsigned i = 0; i < LOAD; i++)
            to[i] = wcodec_f32_of_bits(wcodec_f32_bits_of_f16(words[i]));
}

void wcodec_lossy_load(wcodec_dtype dtype, const uint8_t *from, size_t count, float *to)
{
    size_t i = 0;
    if (dtype == WCODEC_DTYPE_F32) {
        for (; i < count; i++)
            to[i] = wcodec_f32_of_bits(wcodec_load_u32(from + 4 * i));
        return;
    }
    for (; i + LOAD <= count; i += LOAD)
        load_some(dtype, from + 2 * i, to + i);
    if (i < count) {
        uint8_t rest[2 * LOAD] = {0};
        float numbers[LOAD];
        memcpy(rest, from + 2 * i, 2 * (count - i));
        load_some(dtype, rest, numbers);
        memcpy(to + i, numbers, (count - i) * sizeof *to);
    }
}

void wcodec_lossy_load_superblock(const struct wcodec_lossy_source *s, uint64_t superblock,
                                  float values[WCODEC_SUPERBLOCK])
{
    const unsigned height = wcodec_lossy_height(s, superblock),
                   width = wcodec_lossy_width(s, superblock);
    const uint64_t row = superblock / wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_ROWS,
                   column = superblock % wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_COLUMNS;
    for (unsigned y = 0; y < WCODEC_SUPERBLOCK_ROWS; y++) {
        float *to = values + (size_t)WCODEC_SUPERBLOCK_COLUMNS * y;
        if (y >= height) {
            memcpy(to, to - WCODEC_SUPERBLOCK_COLUMNS, WCODEC_SUPERBLOCK_COLUMNS * sizeof *to);
            continue;
        }
        wcodec_lossy_load(
            s->dtype, s->data + (((row + y) * s->columns + column) << s->element_log2), width, to);
        for (unsigned x = width; x < WCODEC_SUPERBLOCK_COLUMNS; x++)
            to[x] = to[width - 1];
    }
}

void wcodec_lossy_row_factors(const struct wcodec_lossy_source *s, uint64_t superblock,
                              float factors[WCODEC_SUPERBLOCK_ROWS])
{
    const uint64_t row = superblock / wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_ROWS;
    const unsigned height = wcodec_lossy_height(s, superblock);
    for (unsigned y = 0; y < WCODEC_SUPERBLOCK_ROWS; y++) {
        const float weight = s->weights ? s->weights[row + (y < height ? y : height - 1)] : 1;
        factors[y] = weight > 0 ? 1 / weight : 0;
    }
}

/* Sums and maxima side by side, so that compilers make vectors of them. values: capacity of LOOK
 * more than `count`. */
static void look_piece(float *values, size_t count, struct part *part)
{
    double sums[LOOK] = {0}, sum = 0;
    float largest[LOOK] = {0};
    for (size_t i = count; i % LOOK; i++)
        values[i] = 0;
    for (size_t i = 0; i < count; i += LOOK)
        for (unsigned k = 0; k < LOOK; k++) {
            const double v = (double)values[i + k];
            const float size = fabsf(values[i + k]);
            sums[k] += v * v;
            largest[k] = size > largest[k] ? size : largest[k];
        }
    for (unsigned k = 0; k < LOOK; k++) {
        sum += sums[k];
        part->largest = fmax(part->largest, (double)largest[k]);
    }
    /* f32 cannot make a sum of so few squares infinite; an infinite or NaN element does. */
    part->finite = part->finite && sum <= 0x1p300;
    part->sum += sum;
}

static void look_task(void *argument, size_t task)
{
    const struct look *l = argument;
    const struct wcodec_lossy_source *s = l->source;
    const uint64_t first = (uint64_t)task * TASK,
                   end = s->elements - first < TASK ? s->elements : first + TASK;
    struct part part = {.finite = true};
    float values[PIECE + LOOK];
    if (wcodec_cancel_poll(l->settings->cancel))
        return;
    for (uint64_t i = first; i < end; i += PIECE) {
        const size_t count = end - i < PIECE ? (size_t)(end - i) : PIECE;
        wcodec_lossy_load(s->dtype, s->data + (i << s->element_log2), count, values);
        look_piece(values, count, &part);
    }
    l->parts[task] = part;
}

static void row_task(void *argument, size_t row)
{
    const struct look *l = argument;
    const struct wcodec_lossy_source *s = l->source;
    struct part part = {.finite = true};
    float values[PIECE + LOOK];
    for (uint64_t i = 0; i < s->columns; i += PIECE) {
        const size_t count = s->columns - i < PIECE ? (size_t)(s->columns - i) : PIECE;
        wcodec_lossy_load(s->dtype, s->data + ((row * s->columns + i) << s->element_log2), count,
                          values);
        look_piece(values, count, &part);
    }
    l->row_sums[row] = part.sum;
    l->row_peaks[row] = part.largest;
}

static wcodec_status look(wcodec_context *context, const struct wcodec_encode_settings *settings,
                          struct wcodec_lossy_source *s, wcodec_error *err)
{
    const size_t tasks = (size_t)wcodec_div_up_u64(s->elements, TASK);
    struct look l = {.source = s, .settings = settings};
    double sum = 0;
    l.parts = wcodec_alloc_array(s->allocator, tasks, sizeof *l.parts);
    if (l.parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to look at a tensor's range");
    wcodec_run(context, look_task, &l, tasks);
    s->finite = true;
    s->largest = 0;
    for (size_t i = 0; i < tasks && !wcodec_cancel_poll(settings->cancel); i++) {
        sum += l.parts[i].sum;
        s->largest = l.parts[i].largest > s->largest ? l.parts[i].largest : s->largest;
        s->finite = s->finite && l.parts[i].finite;
    }
    s->peak = s->largest;
    s->mean_square = sum / (double)s->elements;
    wcodec_free(s->allocator, l.parts);
    return wcodec_cancel_poll(settings->cancel)
               ? wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller")
               : WCODEC_OK;
}

static wcodec_status weigh_rows(wcodec_context *context,
                                const struct wcodec_encode_settings *settings,
                                struct wcodec_lossy_source *s, wcodec_error *err)
{
    struct look l = {.source = s, .settings = settings};
    s->weights = wcodec_alloc_array(s->allocator, s->rows, sizeof *s->weights);
    l.row_sums = wcodec_alloc_array(s->allocator, s->rows, sizeof *l.row_sums);
    l.row_peaks = wcodec_alloc_array(s->allocator, s->rows, sizeof *l.row_peaks);
    if (s->weights == NULL || l.row_sums == NULL || l.row_peaks == NULL) {
        wcodec_free(s->allocator, l.row_sums);
        wcodec_free(s->allocator, l.row_peaks);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the scales of %llu rows",
                           (unsigned long long)s->rows);
    }
    wcodec_run(context, row_task, &l, (size_t)s->rows);
    s->peak = 0;
    for (uint64_t r = 0; r < s->rows; r++) {
        s->weights[r] = (float)sqrt(l.row_sums[r] / (double)s->columns / s->mean_square);
        s->peak =
            s->weights[r] > 0 ? fmax(s->peak, l.row_peaks[r] / (double)s->weights[r]) : s->peak;
    }
    wcodec_free(s->allocator, l.row_sums);
    wcodec_free(s->allocator, l.row_peaks);
    return WCODEC_OK;
}

wcodec_status wcodec_lossy_source_open(wcodec_context *context,
                                       const struct wcodec_encode_settings *settings, bool by_row,
                                       wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                       struct wcodec_lossy_source *source, wcodec_error *err)
{
    struct wcodec_lossy_source s = {.allocator = &context->allocator,
                                    .dtype = dtype,
                                    .element_log2 = dtype == WCODEC_DTYPE_F32 ? 2 : 1,
                                    .data = data,
                                    .size = size};
    wcodec_cpu_lossy_dsp_init(&s.dsp, wcodec_cpu_levels() & context->cpu_mask);
    s.elements = size >> s.element_log2;
    s.columns = settings->columns != 0 && s.elements % settings->columns == 0 &&
                        settings->columns <= (uint64_t)WCODEC_LOSSY_ROW_MAX >> s.element_log2
                    ? settings->columns
                    : 1;
    s.rows = s.elements / s.columns;
    const uint64_t padded = wcodec_lossy_superblocks(&s) << WCODEC_SUPERBLOCK_LOG2;
    s.blocks = !settings->anchored && s.columns > 1 && padded <= s.elements + s.elements / 4;
    wcodec_status status = look(context, settings, &s, err);
    if (status == WCODEC_OK && by_row && s.columns > 1 && s.finite && s.mean_square > 0)
        status = weigh_rows(context, settings, &s, err);
    if (status != WCODEC_OK)
        wcodec_lossy_source_close(&s);
    else
        *source = s;
    return status;
}

void wcodec_lossy_source_close(struct wcodec_lossy_source *source)
{
    wcodec_free(source->allocator, source->weights);
    source->weights = NULL;
}
