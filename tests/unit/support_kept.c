/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_blocks.h"
#include "support_caller.h"
#include "support_kept.h"
#include "support_tiles.h"

#include <float.h>
#include <math.h>

enum { GUARD = 64, VECTORS = 35 };

struct keeping {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct support_caller caller;
    struct wcodec_queue *queue; /* the caller's */
    uint64_t seed;
    struct support_tensor x;
    struct support_blocks blocks; /* data: NULL but in blocks, in fragments, lossy */
    const uint8_t *data;
    uint64_t bytes;
    struct wcodec_tiles *tiles;
    struct wcodec_memory *payload, *out;
    struct wcodec_job job;
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

static struct wcodec_memory *allocate(const struct keeping *k, uint64_t size)
{
    wcodec_error err = {0};
    struct wcodec_memory *memory;
    ok(k->b->memory_allocate(k->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

static void put(const struct keeping *k, struct wcodec_memory *memory, const void *data,
                uint64_t size)
{
    wcodec_error err = {0};
    ok(k->b->copy_in(k->queue, memory, 0, data, size, &err), &err);
    ok(k->b->queue_wait(k->queue, &err), &err);
}

/* Are all tiles coded by rANS, by tables of several symbols? */
static bool is_coded(const struct support_tensor *x)
{
    struct wcodec_tiles *tiles;
    wcodec_error err = {0};
    bool all = x->tiling.add == 0;
    ok(wcodec_tiles_read(&x->tiling, x->payload, x->payload_size, &wcodec_default_allocator, &tiles,
                         &err),
       &err);
    for (uint64_t i = 0; i < x->tiling.tiles; i++)
        all = all && tiles->streams[i].mode == WCODEC_STREAM_RANS;
    for (unsigned i = 0; i < x->tiling.table_count; i++)
        all = all && !wcodec_table_is_constant(&tiles->tables[i]);
    wcodec_tiles_free(tiles);
    return all;
}

/* A matrix of bf16 in whole tiles in the order of products. */
static void make_matrix(struct keeping *k, unsigned profile)
{
    const uint64_t columns = 256 * (1 + support_random(&k->seed) % 3),
                   rows = 16 * (1 + support_random(&k->seed) % 2);
    for (;;) {
        support_tensor_common(&k->seed, 0, profile, rows * columns, &k->x);
        if (is_coded(&k->x))
            break;
        support_tensor_free(&k->x);
    }
    k->blocks = (struct support_blocks){
        .in_fragments = true, .fragments = {.columns = columns}, .size = k->x.tiling.size};
    assert_int_equal(wcodec_fragments_derive(&k->blocks.fragments, k->blocks.size, 1, NULL),
                     WCODEC_OK);
    k->blocks.data = malloc((size_t)k->blocks.size);
    assert_non_null(k->blocks.data);
    wcodec_fragments_put(&k->blocks.fragments, 0, rows * columns, k->x.data, 0, k->blocks.size,
                         k->blocks.data);
    k->data = k->blocks.data;
    k->bytes = k->blocks.size;
}

/* BF16, all of it coded, of which rows are gathered. */
static void make_table(struct keeping *k, unsigned profile)
{
    for (;;) {
        support_tensor_common(&k->seed, 0, profile, 16 * (1 + support_random(&k->seed) % 1500),
                              &k->x);
        if (is_coded(&k->x))
            break;
        support_tensor_free(&k->x);
    }
    k->data = k->x.data;
    k->bytes = k->x.tiling.size;
}

static void make_any(struct keeping *k, unsigned number)
{
    static void (*const makers[])(uint64_t * seed, struct support_tensor * x,
                                  struct support_blocks * b) = {
        support_fragments_make, support_blocks_make, support_lossy_make};
    const unsigned kind = number % 8;
    memset(&k->blocks, 0, sizeof k->blocks);
    if (kind == 6) {
        make_matrix(k, number / 8 % 2 ? WCODEC_PAIRS : WCODEC_P8);
        return;
    }
    if (kind == 7) {
        make_table(k, number / 8 % 2 ? WCODEC_PAIRS : WCODEC_P8);
        return;
    }
    if (kind < 3)
        makers[kind](&k->seed, &k->x, &k->blocks);
    else if (kind == 3)
        support_tensor_common(&k->seed, (unsigned)(support_random(&k->seed) % SUPPORT_SHAPES),
                              number % 4 ? WCODEC_PAIRS : WCODEC_P12,
                              4096 * (1 + support_random(&k->seed) % 6), &k->x);
    else
        support_tensor_make(&k->seed, 0, &k->x);
    k->data = kind < 3 ? k->blocks.data : k->x.data;
    k->bytes = kind < 3 ? k->blocks.size : k->x.tiling.size;
}

static void make_job(struct keeping *k)
{
    wcodec_error err = {0};
    struct support_blocks *b = &k->blocks;
    ok(wcodec_tiles_read(&k->x.tiling, k->x.payload, k->x.payload_size, &wcodec_default_allocator,
                         &k->tiles, &err),
       &err);
    k->job = (struct wcodec_job){
        .tiles = k->tiles,
        .blocks = b->data != NULL && !b->is_lossy && !b->in_fragments ? &b->blocks : NULL,
        .lossy = b->is_lossy ? &b->lossy : NULL,
        .fragments = b->in_fragments ? &b->fragments : NULL,
        .modes = b->modes,
        .end = k->bytes,
        .count = k->x.tiling.tiles,
        .verify = true};
    k->payload = allocate(k, k->x.payload_size);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        k->job.places[a] =
            (struct wcodec_area_place){k->payload, k->tiles->area_begin[a], k->tiles->area_begin[a],
                                       k->tiles->area_end[a] - k->tiles->area_begin[a]};
    put(k, k->payload, k->x.payload, k->x.payload_size);
    k->out = allocate(k, k->bytes + 2 * GUARD);
}

static void drop(struct keeping *k)
{
    k->b->memory_free(k->out);
    k->b->memory_free(k->payload);
    wcodec_tiles_free(k->tiles);
    if (k->blocks.data != NULL)
        support_blocks_free(&k->blocks);
    support_tensor_free(&k->x);
}

/* Bytes [begin, end), to where `shift` says. Returns whether they can be had alone. */
static bool decode(struct keeping *k, struct wcodec_kept *kept, uint64_t begin, uint64_t end,
                   uint64_t shift)
{
    wcodec_error err = {0};
    const uint64_t size = end - begin, at = k->caller.opencl ? 0 : 16 + shift;
    uint8_t *out = malloc((size_t)k->bytes + 2 * GUARD);
    assert_non_null(out);
    memset(out, 0xee, (size_t)k->bytes + 2 * GUARD);
    put(k, k->out, out, k->bytes + 2 * GUARD);
    const wcodec_status status = k->b->products->kept_decode(
        kept, k->caller.native, begin, end, k->b->memory_native(k->out) + at, &err);
    if (status == WCODEC_OK) {
        ok(k->b->copy_out(k->queue, out, k->out, 0, k->bytes + 2 * GUARD, &err), &err);
        ok(k->b->queue_wait(k->queue, &err), &err);
        assert_memory_equal(out + at, k->data + begin, (size_t)size);
        memset(out + at, 0xee, (size_t)size);
        for (uint64_t i = 0; i < k->bytes + 2 * GUARD; i++)
            assert_int_equal(out[i], 0xee);
    } else {
        assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
    }
    free(out);
    return status == WCODEC_OK;
}

static unsigned decode_parts(struct keeping *k, struct wcodec_kept *kept)
{
    const uint64_t unit = k->job.fragments != NULL
                              ? wcodec_fragments_band_size(k->job.fragments)
                              : (uint64_t)1 << (k->x.tiling.tile_log2 + k->x.tiling.element_log2);
    unsigned parts = 0;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t units = (k->bytes + unit - 1) / unit,
                       first = support_random(&k->seed) % units,
                       last = first + 1 + support_random(&k->seed) % (units - first),
                       end = last * unit < k->bytes ? last * unit : k->bytes;
        const bool there = decode(k, kept, first * unit, end, 16 * (i % 3));
        if (k->blocks.data == NULL)
            assert_true(there);
        parts += there && last - first < units;
        if (end + 8 < k->bytes && unit > 8)
            assert_false(decode(k, kept, 0, end + 8, 0));
    }
    return parts;
}

/* Rows by an index. Returns whether they can be had. */
static bool gather(struct keeping *k, struct wcodec_kept *kept, uint64_t row_size)
{
    const uint64_t rows = k->bytes / row_size, count = 1 + support_random(&k->seed) % 12;
    wcodec_error err = {0};
    uint64_t *numbers = malloc((size_t)count * sizeof *numbers);
    uint8_t *out = malloc((size_t)(count * row_size) + 2 * GUARD);
    uint32_t none = 0, words[2] = {0, 0};
    assert_true(numbers != NULL && out != NULL);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t any = support_random(&k->seed);
        numbers[i] = any % 8 == 0 ? UINT64_MAX - any % 3 : any % 8 == 1 ? rows : any / 8 % rows;
        none += numbers[i] >= rows;
    }
    memset(out, 0xee, (size_t)(count * row_size) + 2 * GUARD);
    struct wcodec_memory *to = allocate(k, count * row_size + 2 * GUARD),
                         *index = allocate(k, 8 * count), *outside = allocate(k, sizeof words);
    put(k, to, out, count * row_size + 2 * GUARD);
    put(k, index, numbers, 8 * count);
    put(k, outside, words, sizeof words);
    const uint64_t at = k->caller.opencl ? 0 : 48;
    const struct wcodec_rows wanted = {.kept = kept,
                                       .row_size = row_size,
                                       .indices = k->b->memory_native(index),
                                       .count = count,
                                       .out = k->b->memory_native(to) + at,
                                       .outside = k->b->memory_native(outside),
                                       .number = 77};
    const wcodec_status status =
        k->b->products->decode_rows(k->device, k->caller.native, &wanted, &err);
    if (status == WCODEC_OK) {
        ok(k->b->copy_out(k->queue, out, to, 0, count * row_size + 2 * GUARD, &err), &err);
        ok(k->b->copy_out(k->queue, words, outside, 0, sizeof words, &err), &err);
        ok(k->b->queue_wait(k->queue, &err), &err);
        for (uint64_t i = 0; i < count; i++) {
            uint8_t *row = out + at + i * row_size;
            if (numbers[i] < rows)
                assert_memory_equal(row, k->data + numbers[i] * row_size, (size_t)row_size);
            for (uint64_t j = 0; numbers[i] >= rows && j < row_size; j++)
                assert_int_equal(row[j], 0);
        }
        memset(out + at, 0xee, (size_t)(count * row_size));
        for (uint64_t i = 0; i < count * row_size + 2 * GUARD; i++)
            assert_int_equal(out[i], 0xee);
        assert_int_equal(words[0], none);
        assert_int_equal(words[1], none > 0 ? 77 : 0);
    } else {
        assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
    }
    k->b->memory_free(outside);
    k->b->memory_free(index);
    k->b->memory_free(to);
    free(out);
    free(numbers);
    return status == WCODEC_OK;
}

/* Rows of some length that the tensor has whole: of parts of a tile, and of several. */
static unsigned gather_some(struct keeping *k, struct wcodec_kept *kept)
{
    unsigned gathered = 0;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t row_size = 8 * (1 + support_random(&k->seed) % (i == 0 ? 4096 : 256));
        while (row_size > 8 && k->bytes % row_size != 0)
            row_size -= 8;
        if (k->bytes % row_size == 0)
            gathered += gather(k, kept, row_size);
    }
    return gathered;
}

static double bf16(const uint8_t *at)
{
    const uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static void check_sum(double sum, double magnitude, uint64_t count, double got)
{
    if (isnan(sum) || isinf(sum)) {
        assert_true(isnan(got) || isinf(got));
        return;
    }
    if (magnitude > (double)FLT_MAX / 4)
        return;
    if (!(fabs(got - sum) <= (double)(count + 8) * ldexp(magnitude, -22) + ldexp(1, -125)))
        fail_msg("%g for %g", got, sum);
}

/* y = x W^T + bias. */
static void multiply(struct keeping *k, struct wcodec_kept *kept, uint64_t vectors)
{
    const uint64_t columns = k->blocks.fragments.columns, rows = k->blocks.fragments.rows,
                   x_stride = 2 * columns + 16 * (vectors % 3), y_stride = 4 * rows + 8;
    uint8_t *x = malloc((size_t)(vectors * x_stride)), *y = malloc((size_t)(vectors * y_stride));
    float *bias = malloc((size_t)rows * sizeof *bias);
    wcodec_error err = {0};
    assert_true(x != NULL && y != NULL && bias != NULL);
    memset(x, 0x7f, (size_t)(vectors * x_stride)); /* NaNs between vectors */
    memset(y, 0xee, (size_t)(vectors * y_stride));
    for (uint64_t v = 0; v < vectors; v++)
        for (uint64_t i = 0; i < columns; i++) {
            const uint64_t any = support_random(&k->seed);
            wcodec_store_u16(x + v * x_stride + 2 * i,
                             (uint16_t)(any >> 48 & 0x80ff) | (uint16_t)((120 + any % 8) << 7));
        }
    for (uint64_t i = 0; i < rows; i++)
        bias[i] = (float)(support_random(&k->seed) >> 40) / 4096;
    struct wcodec_memory *xs = allocate(k, vectors * x_stride),
                         *ys = allocate(k, vectors * y_stride),
                         *biases = allocate(k, rows * sizeof *bias),
                         *work = allocate(k, k->b->products->kept_work(kept));
    put(k, xs, x, vectors * x_stride);
    put(k, ys, y, vectors * y_stride);
    put(k, biases, bias, rows * sizeof *bias);
    const bool add = vectors % 2 == 0;
    const struct wcodec_product product = {.kept = kept,
                                           .work = work,
                                           .x = k->b->memory_native(xs),
                                           .y = k->b->memory_native(ys),
                                           .bias = add ? k->b->memory_native(biases) : 0,
                                           .x_stride = x_stride,
                                           .y_stride = y_stride,
                                           .vectors = vectors,
                                           .y_dtype = WCODEC_DTYPE_F32,
                                           .bias_dtype = WCODEC_DTYPE_F32};
    ok(k->b->products->multiply(k->device, k->caller.native, &product, &err), &err);
    ok(k->b->copy_out(k->queue, y, ys, 0, vectors * y_stride, &err), &err);
    ok(k->b->queue_wait(k->queue, &err), &err);
    for (uint64_t v = 0; v < vectors; v++)
        for (uint64_t row = 0; row < rows; row++) {
            double sum = add ? (double)bias[row] : 0, magnitude = fabs(sum);
            float got;
            for (uint64_t i = 0; i < columns; i++) {
                const double t =
                    bf16(x + v * x_stride + 2 * i) * bf16(k->data + 2 * (row * columns + i));
                sum += t;
                magnitude += fabs(t);
            }
            memcpy(&got, y + v * y_stride + 4 * row, sizeof got);
            check_sum(sum, magnitude, columns, (double)got);
        }
    for (uint64_t v = 0; v < vectors; v++)
        for (uint64_t i = 4 * rows; i < y_stride; i++)
            assert_int_equal(y[v * y_stride + i], 0xee);
    k->b->memory_free(work);
    k->b->memory_free(biases);
    k->b->memory_free(ys);
    k->b->memory_free(xs);
    free(bias);
    free(y);
    free(x);
}

/* One bit is another: a fault is found now, or nothing else comes of it. */
static unsigned damage(struct keeping *k)
{
    wcodec_error err = {0};
    struct wcodec_job_result result;
    struct wcodec_kept *kept = NULL;
    const uint64_t begin = k->tiles->area_begin[0],
                   bit = 8 * begin + support_random(&k->seed) % (8 * (k->x.payload_size - begin));
    k->x.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
    put(k, k->payload, k->x.payload, k->x.payload_size);
    ok(k->b->products->keep(k->queue, &k->job, k->out, &result, &kept, &err), &err);
    if (result.fault != WCODEC_TILE_OK) {
        assert_true(result.tile < k->job.count);
        return 1;
    }
    decode(k, kept, 0, k->bytes, 0);
    k->b->products->kept_free(kept);
    return 0;
}

void support_kept(const struct wcodec_backend *backend, struct wcodec_device *device,
                  unsigned tensors)
{
    struct keeping k = {.b = backend, .device = device, .seed = support_seed()};
    wcodec_error err = {0};
    unsigned parts = 0, faults = 0, products = 0, gathered = 0;
    support_caller_begin(backend, device, &k.caller);
    k.queue = k.caller.queue;
    for (unsigned i = 0; i < tensors; i++) {
        struct wcodec_job_result result = {0, WCODEC_TILE_OK};
        struct wcodec_kept *kept = NULL;
        make_any(&k, i);
        make_job(&k);
        ok(backend->products->keep(k.queue, &k.job, k.out, &result, &kept, &err), &err);
        assert_int_equal(result.fault, WCODEC_TILE_OK);
        assert_true(backend->products->kept_size(kept) > 0);
        assert_true(decode(&k, kept, 0, k.bytes, 0));
        assert_true(decode(&k, kept, 0, k.bytes, 32));
        parts += decode_parts(&k, kept);
        gathered += gather_some(&k, kept);
        if (backend->products->kept_work(kept) != 0) {
            multiply(&k, kept, 1 + support_random(&k.seed) % VECTORS);
            products++;
        }
        backend->products->kept_free(kept);
        faults += damage(&k);
        drop(&k);
    }
    print_message("kept: %u parts, %u faults, %u products, %u times rows\n", parts, faults,
                  products, gathered);
    assert_true(parts >= tensors / 8 && faults >= tensors / 8);
    /* Of OpenCL's devices those with tensor cores alone have them. */
    assert_true((k.caller.opencl && products == 0) || products >= tensors / 16);
    assert_true(k.caller.opencl || gathered >= tensors / 8);
    support_caller_end(backend, &k.caller);
}
