/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with a resident matrix, piece by piece (backends/cpu/product.h): each piece is decoded
 * into the cache of a thread and taken by all vectors of a chunk there. y = x W^T: a thread has a
 * band of rows of W, and so of elements of y; y = x W: some of the columns. */

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/product.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "resident/resident.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { ROWS = WCODEC_PIECE_ROWS, COLUMNS = WCODEC_PIECE_COLUMNS, CHUNK = 128, LINE = 16 };

/* Bytes of vectors of a chunk, about, and of rows that are decoded at a time. */
#define CHUNK_BYTES ((uint64_t)16 << 20)
#define ROWS_BYTES ((uint64_t)4 << 20)

/* What a thread works in. */
struct scratch {
    float piece[WCODEC_PIECE];
    uint8_t elements[WCODEC_FIXED_TILE_BYTES];
    float sums[]; /* of a chunk */
};

struct product {
    const wcodec_resident *resident;
    wcodec_context *context;
    const struct wcodec_resident_item *item;
    const wcodec_linear *linear;
    struct wcodec_cpu_product_dsp dsp;
    struct wcodec_cpu_fixed_dsp fixed_dsp;
    enum wcodec_cpu_source source;
    uint64_t n, k;          /* of the matrix */
    size_t element;         /* bytes */
    uint64_t bands, across; /* pieces */
    bool by_tiles;          /* pieces are the tiles of the fixed rate */
    const uint8_t *rows;    /* else: elements of rows from first_row on */
    uint64_t first_row;
    uint64_t first_band, end_band; /* that are at hand */
    float *bias, *scales;          /* NULL, or n numbers */
    float *x, *y;                  /* vectors of a chunk, in whole pieces; y: of x W */
    size_t x_stride, y_stride;     /* numbers */
    uint64_t first, count;         /* the chunk */
    uint64_t held;                 /* bytes of memory, for the limit */
    size_t scratch_size;
    uint8_t *scratch; /* for each worker */
    uint64_t workers;
    atomic_uint_fast64_t next; /* band */
};

void wcodec_linear_init_size(wcodec_linear *linear, size_t size)
{
    const wcodec_linear defaults = {0};
    wcodec_options_set(linear, size, &defaults, sizeof defaults);
}

static bool is_operand(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16 || dtype == WCODEC_DTYPE_F16 || dtype == WCODEC_DTYPE_F32;
}

static size_t bytes_of(wcodec_dtype dtype)
{
    return wcodec_dtype_bits(dtype) / 8;
}

/* `count` numbers as binary32, followed by zeros up to a whole piece. */
static void widen(const struct product *p, enum wcodec_cpu_source source, size_t element,
                  const uint8_t *from, uint64_t count, float *to)
{
    uint8_t last[4 * COLUMNS] = {0};
    uint64_t at = 0;
    for (; count - at >= COLUMNS; at += COLUMNS)
        p->dsp.widen[source](from + at * element, to + at);
    if (at == count)
        return;
    memcpy(last, from + at * element, (size_t)(count - at) * element);
    p->dsp.widen[source](last, to + at);
}

static uint64_t at_most(uint64_t x, uint64_t most)
{
    return x < most ? x : most;
}

/* Elements of a tile at a fixed rate: *stride from row to row. */
static const uint8_t *decode_tile(const struct product *p, uint64_t band, uint64_t across,
                                  struct scratch *s, size_t *stride)
{
    const struct wcodec_fixed *f = &p->item->fixed.plan;
    const uint64_t tile = band * f->across + across;
    const struct wcodec_cpu_fixed_job job = wcodec_resident_fixed_job(p->item, &p->fixed_dsp);
    (void)wcodec_cpu_fixed_decode_alone(&job, tile, p->item->fixed.tiles + tile * f->record_size, 0,
                                        s->elements);
    *stride = (size_t)2 * wcodec_fixed_width(f, across);
    return s->elements;
}

/* Elements of a piece, as they are. */
static const uint8_t *elements_of(const struct product *p, uint64_t band, uint64_t across,
                                  struct scratch *s, size_t *stride)
{
    if (p->by_tiles)
        return decode_tile(p, band, across, s, stride);
    *stride = (size_t)p->k * p->element;
    return p->rows + (band * ROWS - p->first_row) * *stride + across * COLUMNS * p->element;
}

static void load_piece(const struct product *p, uint64_t band, uint64_t across, struct scratch *s)
{
    const unsigned height = (unsigned)at_most(p->n - band * ROWS, ROWS);
    const uint64_t width = at_most(p->k - across * COLUMNS, COLUMNS);
    size_t stride;
    const uint8_t *from = elements_of(p, band, across, s, &stride);
    for (unsigned row = 0; row < height; row++)
        widen(p, p->source, p->element, from + row * stride, width, s->piece + row * COLUMNS);
    memset(s->piece + height * COLUMNS, 0, (ROWS - height) * COLUMNS * sizeof *s->piece);
}

static void put(wcodec_dtype dtype, float value, uint8_t *to)
{
    if (dtype == WCODEC_DTYPE_F32)
        wcodec_store_u32(to, wcodec_cpu_narrow_f32(value));
    else
        wcodec_store_u16(to, dtype == WCODEC_DTYPE_BF16 ? wcodec_cpu_narrow_bf16(value)
                                                        : wcodec_cpu_narrow_f16(value));
}

/* Where row number `row` of y begins. */
static uint8_t *row_of_y(const struct product *p, uint64_t row)
{
    const wcodec_linear *l = p->linear;
    return (uint8_t *)l->y + row * l->y_stride;
}

/* Elements of y that a band of W gives. */
static void finish_band(const struct product *p, uint64_t band, const float *sums)
{
    const wcodec_dtype dtype = p->linear->y_dtype;
    const uint64_t end = at_most((band + 1) * ROWS, p->n);
    for (uint64_t v = 0; v < p->count; v++)
        for (uint64_t row = band * ROWS; row < end; row++) {
            float sum = wcodec_cpu_sum(sums + (v * ROWS + row % ROWS) * WCODEC_SUMS);
            if (p->scales != NULL)
                sum *= p->scales[row];
            if (p->bias != NULL)
                sum += p->bias[row];
            put(dtype, sum, row_of_y(p, p->first + v) + row * bytes_of(dtype));
        }
}

static struct scratch *scratch_of(const struct product *p, size_t worker)
{
    return (struct scratch *)(void *)(p->scratch + worker * p->scratch_size);
}

/* The products of whole pieces, from the first on, with elements as they are. Returns how many
 * those pieces are. */
static uint64_t multiply_elements(const struct product *p, uint64_t band, struct scratch *s)
{
    const uint64_t whole = p->k / COLUMNS;
    size_t stride;
    if (p->dsp.dot[p->source] == NULL || p->n - band * ROWS < ROWS)
        return 0;
    /* Tiles one by one, plain rows from end to end. */
    const uint64_t at_once = p->by_tiles ? 1 : whole;
    for (uint64_t across = 0; across < whole; across += at_once) {
        const uint8_t *from = elements_of(p, band, across, s, &stride);
        p->dsp.dot[p->source](from, stride, (size_t)(at_once * COLUMNS), p->x + across * COLUMNS,
                              p->x_stride, (size_t)p->count, s->sums);
    }
    return whole;
}

/* y = x W^T: bands that are at hand. */
static void multiply_bands(void *argument, size_t worker)
{
    struct product *p = argument;
    struct scratch *s = scratch_of(p, worker);
    for (;;) {
        const uint64_t band = atomic_fetch_add(&p->next, 1);
        if (band >= p->end_band)
            return;
        memset(s->sums, 0, (size_t)p->count * ROWS * WCODEC_SUMS * sizeof *s->sums);
        for (uint64_t across = multiply_elements(p, band, s); across < p->across; across++) {
            load_piece(p, band, across, s);
            p->dsp.dot[WCODEC_CPU_FROM_F32](s->piece, COLUMNS * sizeof *s->piece, COLUMNS,
                                            p->x + across * COLUMNS, p->x_stride, (size_t)p->count,
                                            s->sums);
        }
        finish_band(p, band, s->sums);
    }
}

/* y = x W: what bands that are at hand add to a worker's share of the columns. */
static void combine_columns(void *argument, size_t worker)
{
    struct product *p = argument;
    struct scratch *s = scratch_of(p, worker);
    const uint64_t begin = p->across * worker / p->workers,
                   end = p->across * (worker + 1) / p->workers;
    for (uint64_t band = p->first_band; band < p->end_band; band++)
        for (uint64_t across = begin; across < end; across++) {
            load_piece(p, band, across, s);
            p->dsp.combine(s->piece, p->x + band * ROWS, p->x_stride, (size_t)p->count,
                           p->y + across * COLUMNS, p->y_stride);
        }
}

/* Bands [first, end), which are at hand. */
static void multiply(struct product *p, uint64_t first, uint64_t end)
{
    const bool transposed = p->linear->transposed != 0;
    const uint64_t tasks = transposed ? p->across : end - first;
    p->workers = at_most(wcodec_context_threads(p->context), tasks);
    p->first_band = first;
    p->end_band = end;
    atomic_store(&p->next, first);
    wcodec_run(p->context, transposed ? combine_columns : multiply_bands, p, (size_t)p->workers);
}

/* All bands of elements that are decoded a few rows at a time. */
static wcodec_status multiply_decoded(struct product *p, struct wcodec_resident_elements *elements,
                                      uint8_t *memory, uint64_t at_once, wcodec_error *err)
{
    const uint64_t row_size = p->k * p->element;
    wcodec_status status = WCODEC_OK;
    p->rows = memory;
    for (uint64_t band = 0; band < p->bands && status == WCODEC_OK; band += at_once) {
        const uint64_t end = at_most(band + at_once, p->bands), last = at_most(end * ROWS, p->n);
        p->first_row = band * ROWS;
        status =
            wcodec_resident_read(elements, p->first_row * row_size, last * row_size, memory, err);
        if (status == WCODEC_OK)
            multiply(p, band, end);
    }
    return status;
}

static wcodec_status check_limit(const struct product *p, uint64_t held, wcodec_error *err)
{
    const uint64_t most = p->context->limits.max_memory;
    if (p->resident->size > most || held > most - p->resident->size)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "a product takes at least %" PRIu64
                           " bytes of memory with what is resident, the limit is %" PRIu64,
                           p->resident->size + held, most);
    return WCODEC_OK;
}

static wcodec_status decode_and_multiply(struct product *p, wcodec_error *err)
{
    const uint64_t band = at_most(p->n, ROWS) * p->k * p->element,
                   at_once = band < ROWS_BYTES ? at_most(ROWS_BYTES / band, p->bands) : 1;
    struct wcodec_resident_elements elements;
    const uint64_t held = p->held + at_once * band;
    wcodec_status status = check_limit(p, held, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *memory = wcodec_alloc_array(&p->context->allocator, at_once, (size_t)band);
    if (memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " rows",
                           at_once * ROWS);
    status = wcodec_resident_open(p->resident, p->item, held, &elements, err);
    if (status == WCODEC_OK) {
        status = multiply_decoded(p, &elements, memory, at_once, err);
        wcodec_resident_close(&elements);
    }
    wcodec_free(&p->context->allocator, memory);
    return status;
}

/* A vector of the chunk, and of y = x W what comes of it. */
static void take_vector(void *argument, size_t v)
{
    const struct product *p = argument;
    const wcodec_linear *l = p->linear;
    const uint64_t length = l->transposed ? p->n : p->k;
    float *to = p->x + v * p->x_stride;
    widen(p, wcodec_cpu_source_of(l->x_dtype), bytes_of(l->x_dtype),
          (const uint8_t *)l->x + (p->first + v) * l->x_stride, length, to);
    if (!l->transposed)
        return;
    for (uint64_t i = 0; i < length && p->scales != NULL; i++)
        to[i] *= p->scales[i];
    memset(p->y + v * p->y_stride, 0, p->y_stride * sizeof *p->y);
}

static void give_vector(void *argument, size_t v)
{
    const struct product *p = argument;
    const wcodec_dtype dtype = p->linear->y_dtype;
    uint8_t *to = row_of_y(p, p->first + v);
    for (uint64_t i = 0; i < p->k; i++)
        put(dtype, p->y[v * p->y_stride + i], to + i * bytes_of(dtype));
}

static wcodec_status multiply_chunk(struct product *p, wcodec_error *err)
{
    const bool at_hand = p->by_tiles || p->item->form == WCODEC_RESIDENT_PLAIN;
    wcodec_status status = WCODEC_OK;
    wcodec_run(p->context, take_vector, p, (size_t)p->count);
    if (at_hand || p->n == 0 || p->k == 0) {
        p->rows = p->item->bytes;
        p->first_row = 0;
        multiply(p, 0, p->bands);
    } else {
        status = decode_and_multiply(p, err);
    }
    if (status == WCODEC_OK && p->linear->transposed)
        wcodec_run(p->context, give_vector, p, (size_t)p->count);
    return status;
}

static wcodec_status multiply_chunks(struct product *p, uint64_t chunk, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (p->first = 0; p->first < p->linear->rows && status == WCODEC_OK; p->first += chunk) {
        p->count = at_most(p->linear->rows - p->first, chunk);
        status = multiply_chunk(p, err);
    }
    return status;
}

static float *take_numbers(const struct product *p, const void *numbers, wcodec_dtype dtype,
                           bool *short_of_memory)
{
    if (numbers == NULL)
        return NULL;
    float *taken =
        wcodec_alloc_array(&p->context->allocator, p->bands * ROWS + COLUMNS, sizeof *taken);
    *short_of_memory = *short_of_memory || taken == NULL;
    if (taken != NULL)
        widen(p, wcodec_cpu_source_of(dtype), bytes_of(dtype), numbers, p->n, taken);
    return taken;
}

static wcodec_status reserve(struct product *p, uint64_t chunk, wcodec_error *err)
{
    const wcodec_allocator *allocator = &p->context->allocator;
    const wcodec_linear *l = p->linear;
    bool short_of_memory = false;
    p->scratch_size = sizeof(struct scratch) +
                      (l->transposed ? 0 : (size_t)chunk * ROWS * WCODEC_SUMS * sizeof(float));
    p->scratch_size = (p->scratch_size + 63) / 64 * 64;
    p->held = wcodec_context_threads(p->context) * p->scratch_size +
              chunk * (p->x_stride + (l->transposed ? p->y_stride : 0)) * sizeof(float) +
              2 * (p->bands * ROWS + COLUMNS) * sizeof(float);
    wcodec_status status = check_limit(p, p->held, err);
    if (status != WCODEC_OK)
        return status;
    p->bias = take_numbers(p, l->bias, l->bias_dtype, &short_of_memory);
    p->scales = take_numbers(p, l->scales, l->scales_dtype, &short_of_memory);
    p->x = wcodec_alloc_array(allocator, chunk * p->x_stride, sizeof *p->x);
    p->y = wcodec_alloc_array(allocator, l->transposed ? chunk * p->y_stride : 0, sizeof *p->y);
    p->scratch = wcodec_alloc_array(allocator, wcodec_context_threads(p->context), p->scratch_size);
    short_of_memory = short_of_memory || p->x == NULL || p->y == NULL || p->scratch == NULL;
    return short_of_memory
               ? wcodec_fail(err, WCODEC_ERROR_MEMORY,
                             "out of memory for a product of %" PRIu64 " vectors", chunk)
               : WCODEC_OK;
}

static void release(struct product *p)
{
    const wcodec_allocator *allocator = &p->context->allocator;
    wcodec_free(allocator, p->scratch);
    wcodec_free(allocator, p->y);
    wcodec_free(allocator, p->x);
    wcodec_free(allocator, p->scales);
    wcodec_free(allocator, p->bias);
}

/* Of vectors in whole pieces. An odd number of lines, so that several are in the cache at once. */
static size_t stride_of(uint64_t length)
{
    return (size_t)(wcodec_div_up_u64(length, COLUMNS) * COLUMNS + LINE);
}

static wcodec_status run(struct product *p, wcodec_error *err)
{
    const uint64_t levels = wcodec_cpu_levels() & p->context->cpu_mask;
    wcodec_cpu_product_dsp_init(&p->dsp, (uint32_t)levels);
    wcodec_cpu_fixed_dsp_init(&p->fixed_dsp, (uint32_t)levels);
    p->bands = wcodec_div_up_u64(p->n, ROWS);
    p->across = wcodec_div_up_u64(p->k, COLUMNS);
    p->y_stride = stride_of(p->k);
    p->x_stride = stride_of(p->linear->transposed ? p->n : p->k);
    const uint64_t longer = p->x_stride > p->y_stride ? p->x_stride : p->y_stride,
                   fit = CHUNK_BYTES / sizeof(float) / (longer + 1) + 1,
                   chunk = at_most(at_most(p->linear->rows, CHUNK), fit);
    wcodec_status status = reserve(p, chunk, err);
    if (status == WCODEC_OK)
        status = multiply_chunks(p, chunk, err);
    release(p);
    return status;
}

static wcodec_status check_operand(const char *what, const void *numbers, wcodec_dtype dtype,
                                   wcodec_error *err)
{
    if (numbers != NULL && !is_operand(dtype))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is no BF16, F16 or F32", what);
    return WCODEC_OK;
}

static wcodec_status check_rows(const char *what, const void *numbers, wcodec_dtype dtype,
                                uint64_t width, size_t *stride, wcodec_error *err)
{
    wcodec_status status = check_operand(what, numbers, dtype, err);
    if (status != WCODEC_OK)
        return status;
    if (numbers == NULL && width != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is NULL", what);
    if (*stride != 0 && *stride < width * bytes_of(dtype))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s has %zu bytes from a row to the next, its rows have %" PRIu64, what,
                           *stride, width * bytes_of(dtype));
    if (*stride == 0)
        *stride = (size_t)(width * bytes_of(dtype));
    return WCODEC_OK;
}

static wcodec_status check_matrix(const struct wcodec_resident_item *named,
                                  const wcodec_linear *linear, wcodec_error *err)
{
    if (named->rank != 2)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a product needs 2 dimensions, there are %u",
                           named->rank);
    if (wcodec_cpu_source_of(named->dtype) == WCODEC_CPU_SOURCES)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "there are no products with %s",
                           wcodec_dtype_name(named->dtype));
    if (linear->transposed && linear->bias != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "y = x W takes no bias");
    return WCODEC_OK;
}

static wcodec_status begin(const struct wcodec_resident_item *named, const wcodec_linear *from,
                           wcodec_linear *l, wcodec_error *err)
{
    wcodec_status status = wcodec_options_take(from, l, sizeof *l, "wcodec_linear_init", err);
    if (status == WCODEC_OK)
        status = check_matrix(named, l, err);
    if (status != WCODEC_OK || l->rows == 0)
        return status;
    const uint64_t n = named->shape[0], k = named->shape[1];
    status = check_rows("x", l->x, l->x_dtype, l->transposed ? n : k, &l->x_stride, err);
    if (status == WCODEC_OK)
        status = check_rows("y", l->y, l->y_dtype, l->transposed ? k : n, &l->y_stride, err);
    if (status == WCODEC_OK)
        status = check_operand("bias", l->bias, l->bias_dtype, err);
    if (status == WCODEC_OK)
        status = check_operand("scales", l->scales, l->scales_dtype, err);
    return status;
}

wcodec_status wcodec_resident_linear(const wcodec_resident *resident, uint64_t i,
                                     const wcodec_linear *linear, wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    wcodec_linear l = {0};
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status == WCODEC_OK)
        status = wcodec_context_usable(resident->context, err);
    if (status == WCODEC_OK && linear == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_resident_linear: linear is NULL");
    if (status != WCODEC_OK)
        return status;
    status = begin(named, linear, &l, err);
    if (status == WCODEC_OK && l.rows != 0) {
        struct product p = {.resident = resident,
                            .context = resident->context,
                            .item = item,
                            .linear = &l,
                            .source = wcodec_cpu_source_of(named->dtype),
                            .n = named->shape[0],
                            .k = named->shape[1],
                            .element = bytes_of(named->dtype)};
        p.by_tiles = item->form == WCODEC_RESIDENT_FIXED && p.element == 2 &&
                     item->fixed.plan.columns == p.k;
        status = run(&p, err);
    }
    if (status != WCODEC_OK)
        wcodec_resident_prefix(named, err);
    return status;
}
