/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_blocks.h"
#include "support_conform.h"
#include "support_matrix.h"
#include "support_coding.h"
#include "support_deltas.h"
#include "support_encoders.h"
#include "support_dense.h"
#include "support_kept.h"
#include "support_products.h"
#include "support_tiles.h"

#include <pthread.h>

struct run {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    uint32_t capabilities;
    uint64_t seed;
};

static _Thread_local wcodec_error failure;

static void ok(wcodec_status status)
{
    if (status != WCODEC_OK)
        fail_msg("status %d: %s", status, failure.text);
}

static struct wcodec_memory *allocate(struct run *r, enum wcodec_memory_kind kind, uint64_t size)
{
    struct wcodec_memory *memory;
    ok(r->b->memory_allocate(r->device, kind, size, &memory, &failure));
    return memory;
}

static void put(struct run *r, struct wcodec_memory *memory, uint64_t offset, const void *data,
                uint64_t size)
{
    ok(r->b->copy_in(r->queue, memory, offset, data, size, &failure));
    ok(r->b->queue_wait(r->queue, &failure));
}

static void get(struct run *r, void *data, struct wcodec_memory *memory, uint64_t offset,
                uint64_t size)
{
    ok(r->b->copy_out(r->queue, data, memory, offset, size, &failure));
    ok(r->b->queue_wait(r->queue, &failure));
}

static void check_memory(struct run *r)
{
    uint8_t in[3000], out[3000];
    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)support_random(&r->seed);
    struct wcodec_memory *a = allocate(r, WCODEC_MEMORY_DEVICE, 4096),
                         *c = allocate(r, WCODEC_MEMORY_DEVICE, 4096),
                         *pinned = allocate(r, WCODEC_MEMORY_PINNED, 4096);
    assert_non_null(r->b->memory_pointer(pinned));
    assert_int_equal((uintptr_t)r->b->memory_pointer(pinned) % 4096, 0);
    assert_int_equal(r->b->memory_pointer(a) != NULL,
                     (r->capabilities & WCODEC_DEVICE_HOST_MEMORY) != 0);
    memcpy(r->b->memory_pointer(pinned), in, sizeof in);
    put(r, a, 7, r->b->memory_pointer(pinned), sizeof in);
    ok(r->b->copy(r->queue, c, 1, a, 7, sizeof in, &failure));
    ok(r->b->copy(r->queue, c, 0, a, 0, 0, &failure));
    get(r, out, c, 1, sizeof in);
    assert_memory_equal(in, out, sizeof in);
    put(r, a, 0, in, 0);
    if (r->b->memory_pointer(a) != NULL)
        assert_memory_equal((uint8_t *)r->b->memory_pointer(a) + 7, in, sizeof in);
    if (r->capabilities & WCODEC_DEVICE_ADOPT_MEMORY) {
        struct wcodec_memory *again;
        ok(r->b->memory_adopt(r->device, r->b->memory_native(a), 4096, &again, &failure));
        memset(out, 0, sizeof out);
        get(r, out, again, 7, sizeof in);
        assert_memory_equal(in, out, sizeof in);
        r->b->memory_free(again);
    }
    r->b->memory_free(pinned);
    r->b->memory_free(c);
    r->b->memory_free(a);
}

static void check_fill(struct run *r)
{
    const uint8_t element[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t out[1100];
    struct wcodec_memory *m = allocate(r, WCODEC_MEMORY_DEVICE, sizeof out);
    for (unsigned log2 = 0; log2 < 4; log2++) {
        memset(out, 0xee, sizeof out);
        put(r, m, 0, out, sizeof out);
        ok(r->b->fill(r->queue, m, 8, element, log2, 100, &failure));
        ok(r->b->fill(r->queue, m, 0, element, log2, 0, &failure));
        get(r, out, m, 0, sizeof out);
        for (size_t i = 0; i < sizeof out; i++)
            assert_int_equal(out[i], i < 8 || i >= 8 + ((size_t)100 << log2)
                                         ? 0xee
                                         : element[(i - 8) % ((size_t)1 << log2)]);
    }
    r->b->memory_free(m);
}

static void check_events(struct run *r)
{
    struct wcodec_queue *other;
    struct wcodec_event *event;
    bool done = false;
    uint8_t in[64] = {42}, out[64] = {0};
    struct wcodec_memory *m = allocate(r, WCODEC_MEMORY_DEVICE, 64);
    ok(r->b->queue_create(r->device, &other, &failure));
    ok(r->b->copy_in(r->queue, m, 0, in, sizeof in, &failure));
    ok(r->b->event_record(r->queue, &event, &failure));
    ok(r->b->queue_after(other, event, &failure));
    ok(r->b->copy_out(other, out, m, 0, sizeof out, &failure));
    ok(r->b->queue_wait(other, &failure));
    assert_memory_equal(in, out, sizeof in);
    ok(r->b->event_wait(event, &failure));
    ok(r->b->event_query(event, &done, &failure));
    assert_true(done);
    r->b->event_destroy(event);
    r->b->queue_destroy(other);
    r->b->memory_free(m);
}

/* Work between two marks takes time, and less of it takes no more than what it is part of. */
static void check_times(struct run *r)
{
    enum { SIZE = 1 << 20 };
    struct wcodec_queue *queue;
    struct wcodec_event *marks[3];
    uint64_t first, second, both, context, number;
    const uint8_t zero[8] = {0};
    struct wcodec_memory *m = allocate(r, WCODEC_MEMORY_DEVICE, SIZE);
    ok(r->b->queue_create_timed(r->device, &queue, &failure));
    for (unsigned i = 0; i < 3; i++) {
        ok(r->b->event_record(queue, &marks[i], &failure));
        ok(r->b->fill(queue, m, 0, zero, 0, SIZE, &failure));
    }
    ok(r->b->queue_wait(queue, &failure));
    ok(r->b->event_elapsed(marks[0], marks[1], &first, &failure));
    ok(r->b->event_elapsed(marks[1], marks[2], &second, &failure));
    ok(r->b->event_elapsed(marks[0], marks[2], &both, &failure));
    assert_true(first > 0 && second > 0);
    /* CUDA's times are floats of milliseconds. */
    assert_true(both + 1000 >= first + second && both <= first + second + 1000);
    for (unsigned i = 0; i < 3; i++)
        r->b->event_destroy(marks[i]);
    r->b->queue_destroy(queue);
    r->b->memory_free(m);
    r->b->device_native(r->device, &context, &number);
    assert_int_equal(context != 0, (r->capabilities & WCODEC_DEVICE_HOST_MEMORY) == 0);
}

enum { TENSORS = 24, GUARD = 64 };

struct tensor {
    struct support_tensor x;
    struct support_blocks b; /* b.data: NULL but for a tensor in blocks */
    struct support_matrix
        m; /* m.data: NULL but for one at a fixed rate; then that is all there is */
    struct wcodec_tiles *tiles;
    struct wcodec_memory *payload;
    uint64_t first, count, bytes;
    struct wcodec_job part; /* in blocks, in fragments, or at a fixed rate */
    bool damaged;
};

typedef void (*make_fn)(uint64_t *seed, struct support_tensor *x, struct support_blocks *b);

static void make_blocks(struct run *r, struct tensor *t, make_fn make)
{
    do {
        make(&r->seed, &t->x, &t->b);
        if (r->b->device_supports(r->device, &t->x.tiling))
            break;
        support_blocks_free(&t->b);
        support_tensor_free(&t->x);
    } while (true);
    ok(wcodec_tiles_read(&t->x.tiling, t->x.payload, t->x.payload_size, &wcodec_default_allocator,
                         &t->tiles, &failure));
    support_blocks_part(&r->seed, &t->x, &t->b, &t->part);
    t->first = t->part.first;
    t->count = t->part.count;
    t->bytes = t->part.end - t->part.begin;
    t->damaged = false;
}

static void make_matrix(struct run *r, struct tensor *t)
{
    support_matrix_make(&r->seed, 0, 0, &t->m);
    t->part = (struct wcodec_job){.verify = true};
    support_matrix_part(&r->seed, &t->m, support_random(&r->seed) % 2, &t->part);
    t->first = t->part.first;
    t->count = t->part.count;
    t->bytes = t->part.end - t->part.begin;
}

/* Of a common kind, and mostly of whole tiles with one table: a GPU takes such a tensor by kernels
 * of their own if nothing goes with it. */
static void make_common(struct run *r, struct support_tensor *x)
{
    const uint64_t tiles = 1 + support_random(&r->seed) % 6,
                   less = support_random(&r->seed) % 4 ? 0 : support_random(&r->seed) % 4096;
    const unsigned shape = (unsigned)(support_random(&r->seed) % SUPPORT_SHAPES),
                   profile = support_random(&r->seed) % 4 ? WCODEC_PAIRS : WCODEC_P12;
    for (unsigned attempt = 0;; attempt++) {
        support_tensor_common(&r->seed, shape, profile, tiles * 4096 - less, x);
        unsigned tables = 0;
        for (unsigned i = 0; i < x->tiling.field_count; i++)
            tables += x->tiling.fields[i].tables;
        if ((tables == 1 && x->tiling.add == 0) || attempt == 40)
            return;
        support_tensor_free(x);
    }
}

static void make_tensor(struct run *r, struct tensor *t, bool alone)
{
    do {
        if (alone)
            make_common(r, &t->x);
        else
            support_tensor_make(&r->seed, 0, &t->x);
        if (r->b->device_supports(r->device, &t->x.tiling))
            break;
        support_tensor_free(&t->x);
    } while (true);
    ok(wcodec_tiles_read(&t->x.tiling, t->x.payload, t->x.payload_size, &wcodec_default_allocator,
                         &t->tiles, &failure));
    t->first = support_random(&r->seed) % t->x.tiling.tiles;
    t->count = 1 + support_random(&r->seed) % (t->x.tiling.tiles - t->first);
    uint64_t end = (t->first + t->count) << t->x.tiling.tile_log2;
    if (end > t->x.tiling.elements)
        end = t->x.tiling.elements;
    t->bytes = (end - (t->first << t->x.tiling.tile_log2)) << t->x.tiling.element_log2;
    t->damaged = false;
}

/* One bit of what the tiles decode from, so that the reference finds a fault in them. */
static void damage_tensor(struct run *r, struct tensor *t, enum wcodec_tile_fault *fault,
                          uint64_t *tile)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    struct wcodec_view view;
    uint8_t *out = malloc((size_t)1 << (t->x.tiling.tile_log2 + t->x.tiling.element_log2));
    wcodec_tiles_extent(t->tiles, t->first, t->first + t->count, begin, stop);
    wcodec_view_whole(t->x.payload, &view);
    for (unsigned attempt = 0; attempt < 20 && !t->damaged; attempt++) {
        unsigned a = (unsigned)(support_random(&r->seed) % WCODEC_AREAS);
        if (stop[a] == begin[a])
            continue;
        uint64_t bit = 8 * begin[a] + support_random(&r->seed) % (8 * (stop[a] - begin[a]));
        t->x.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        for (uint64_t i = 0; i < t->count && !t->damaged; i++) {
            *fault = wcodec_tile_decode(t->tiles, &view, t->first + i, out, true);
            *tile = t->first + i;
            t->damaged = *fault != WCODEC_TILE_OK;
        }
        if (!t->damaged)
            t->x.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(out);
}

static void damage_matrix(struct run *r, struct tensor *t, struct wcodec_job_result *wanted)
{
    uint8_t *out = malloc((size_t)t->bytes);
    for (unsigned attempt = 0; attempt < 20 && !t->damaged; attempt++) {
        const struct wcodec_area_place *a =
            &t->part.places[support_random(&r->seed) % 3 ? WCODEC_AREA_RAW : WCODEC_AREA_VALUES];
        if (a->size == 0)
            continue;
        const uint64_t bit = 8 * a->begin + support_random(&r->seed) % (8 * a->size);
        t->m.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        *wanted = support_matrix_decode(&t->m, &t->part, out);
        t->damaged = wanted->fault != WCODEC_TILE_OK;
        if (!t->damaged) /* in the spare bytes of a list that have no part in it: the check has */
            t->m.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(out);
}

/* The payload whole, or only the areas' extents, each at a place of its own. */
static void place_payload(struct run *r, struct tensor *t, struct wcodec_job *job)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS], at = 0;
    const bool matrix = t->m.data != NULL;
    const uint64_t size = matrix ? t->m.fixed.payload_size : t->x.payload_size;
    const uint8_t *payload = matrix ? t->m.payload : t->x.payload;
    for (unsigned a = 0; a < WCODEC_AREAS && matrix; a++) {
        begin[a] = t->part.places[a].begin;
        stop[a] = begin[a] + t->part.places[a].size;
    }
    if (!matrix)
        wcodec_tiles_extent(t->tiles, t->first, t->first + t->count, begin, stop);
    t->payload = allocate(r, WCODEC_MEMORY_DEVICE, size + WCODEC_AREAS * 512);
    bool whole = support_random(&r->seed) % 2;
    const uint8_t zero[8] = {
        0}; /* copies in units of 16 bytes may take in what lies between areas */
    ok(r->b->fill(r->queue, t->payload, 0, zero, 0, size + WCODEC_AREAS * 512, &failure));
    if (whole)
        put(r, t->payload, 0, payload, size);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        at = wcodec_align_u64(at, 256) + begin[a] % 16;
        job->places[a] = (struct wcodec_area_place){t->payload, whole ? begin[a] : at, begin[a],
                                                    stop[a] - begin[a]};
        if (!whole)
            put(r, t->payload, at, payload + begin[a], stop[a] - begin[a]);
        if (stop[a] == begin[a])
            job->places[a].memory = NULL;
        at += stop[a] - begin[a];
    }
}

static void check_output(struct run *r, const struct tensor *t, struct wcodec_memory *output,
                         uint64_t offset, const struct wcodec_job_result *result)
{
    uint8_t *out = malloc(t->bytes + 2 * GUARD);
    get(r, out, output, offset - GUARD, t->bytes + 2 * GUARD);
    for (unsigned i = 0; i < GUARD; i++) {
        assert_int_equal(out[i], 0xee);
        assert_int_equal(out[GUARD + t->bytes + i], 0xee);
    }
    if (result->fault == WCODEC_TILE_OK && t->m.data != NULL)
        assert_memory_equal(out + GUARD, t->m.data + t->part.begin, t->bytes);
    else if (result->fault == WCODEC_TILE_OK && t->b.data != NULL)
        assert_memory_equal(out + GUARD, t->b.data + t->part.begin, t->bytes);
    else if (result->fault == WCODEC_TILE_OK)
        assert_memory_equal(
            out + GUARD,
            t->x.data + (t->first << t->x.tiling.tile_log2 << t->x.tiling.element_log2), t->bytes);
    for (uint64_t i = 0; result->fault != WCODEC_TILE_OK && i < t->bytes; i++)
        assert_int_equal(out[GUARD + i], 0);
    free(out);
}

/* Of an element, to which destinations are aligned. */
static unsigned align_log2(const struct tensor *t)
{
    if (t->m.data != NULL)
        return 1;
    return t->b.data != NULL && t->b.is_lossy ? t->b.lossy.element_log2 : t->x.tiling.element_log2;
}

/* Tensor i of a batch of `count`. */
static void make_any(struct run *r, unsigned i, unsigned count, struct tensor *t)
{
    *t = (struct tensor){.damaged = false};
    if (r->capabilities & WCODEC_DEVICE_FIXED &&
        (count > 1 ? i % 6 == 4 : support_random(&r->seed) % 4 == 0))
        make_matrix(r, t);
    else if (r->capabilities & WCODEC_DEVICE_FRAGMENTS &&
             (count > 1 ? i % 7 == 2 : support_random(&r->seed) % 4 == 0))
        make_blocks(r, t, support_fragments_make);
    else if (count > 1 && i % 5 < 2 &&
             r->capabilities & (i % 5 ? WCODEC_DEVICE_LOSSY : WCODEC_DEVICE_BLOCKS))
        make_blocks(r, t, i % 5 == 1 ? support_lossy_make : support_blocks_make);
    else
        make_tensor(r, t, count == 1);
}

static void free_any(struct tensor *t)
{
    if (t->m.data != NULL) {
        support_matrix_free(&t->m);
        return;
    }
    wcodec_tiles_free(t->tiles);
    if (t->b.data != NULL)
        support_blocks_free(&t->b);
    support_tensor_free(&t->x);
}

static void damage_any(struct run *r, struct tensor *t, struct wcodec_job_result *wanted)
{
    if (t->m.data != NULL)
        damage_matrix(r, t, wanted);
    else
        damage_tensor(r, t, &wanted->fault, &wanted->tile);
}

/* Random tensors, in tiles, in blocks, lossy and at a fixed rate, whole and in part, some of them
 * damaged, in one batch that is decoded twice. */
static void check_batch(struct run *r, unsigned count)
{
    struct tensor *tensors = malloc(count * sizeof *tensors);
    struct wcodec_job jobs[TENSORS] = {{0}};
    struct wcodec_job_result results[TENSORS];
    struct wcodec_job_result wanted[TENSORS] = {{0}};
    uint64_t offsets[TENSORS], size = GUARD;
    for (unsigned i = 0; i < count; i++) {
        make_any(r, i, count, &tensors[i]);
        /* Some at any multiple of their element. */
        offsets[i] = i % 3 == 1 || (count == 1 && support_random(&r->seed) % 8 == 0)
                         ? size + (support_random(&r->seed) % 16 << align_log2(&tensors[i]))
                         : size;
        if (count == 1 ? support_random(&r->seed) % 3 == 0 : i % 4 == 3)
            damage_any(r, &tensors[i], &wanted[i]);
        jobs[i] = (struct wcodec_job){.tiles = tensors[i].tiles,
                                      .first = tensors[i].first,
                                      .count = tensors[i].count,
                                      .destination = offsets[i],
                                      .verify = true};
        if (tensors[i].b.data != NULL || tensors[i].m.data != NULL) {
            jobs[i].fixed = tensors[i].part.fixed;
            jobs[i].blocks = tensors[i].part.blocks;
            jobs[i].lossy = tensors[i].part.lossy;
            jobs[i].fragments = tensors[i].part.fragments;
            jobs[i].modes = tensors[i].part.modes;
            jobs[i].begin = tensors[i].part.begin;
            jobs[i].end = tensors[i].part.end;
        }
        place_payload(r, &tensors[i], &jobs[i]);
        size = wcodec_align_u64(offsets[i] + tensors[i].bytes, 16) + 2 * GUARD;
    }
    struct wcodec_memory *output = allocate(r, WCODEC_MEMORY_DEVICE, size);
    uint8_t *poison = malloc(size);
    memset(poison, 0xee, size);
    struct wcodec_batch *batch;
    for (unsigned i = 0; i < count; i++)
        jobs[i].memory = output;
    ok(r->b->batch_create(r->queue, jobs, count, &batch, &failure));
    memset(jobs, 0x55, sizeof jobs); /* copied by now */
    for (unsigned round = 0; round < 2; round++) {
        put(r, output, 0, poison, size);
        memset(results, 0x55, sizeof results);
        ok(r->b->batch_decode(r->queue, batch, &failure));
        ok(r->b->batch_results(r->queue, batch, results, &failure));
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(results[i].fault,
                             tensors[i].damaged ? wanted[i].fault : WCODEC_TILE_OK);
            if (tensors[i].damaged)
                assert_int_equal(results[i].tile, wanted[i].tile);
            check_output(r, &tensors[i], output, offsets[i], &results[i]);
        }
    }
    r->b->batch_destroy(batch);
    r->b->memory_free(output);
    free(poison);
    for (unsigned i = 0; i < count; i++) {
        r->b->memory_free(tensors[i].payload);
        free_any(&tensors[i]);
    }
    free(tensors);
}

static void *run_batches(void *argument)
{
    struct run *r = argument;
    ok(r->b->queue_create(r->device, &r->queue, &failure));
    for (unsigned i = 0; i < 2; i++)
        check_batch(r, TENSORS);
    r->b->queue_destroy(r->queue);
    return NULL;
}

/* Several threads, each with a queue and batches of its own, on one device. */
static void check_threads(const struct run *r)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    struct run runs[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        runs[i] = *r;
        runs[i].seed += 1 + i;
        assert_int_equal(pthread_create(&threads[i], NULL, run_batches, &runs[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

void support_conform(const struct wcodec_backend *backend, struct wcodec_backend_state *state,
                     unsigned device)
{
    struct run r = {.b = backend, .seed = support_seed()};
    struct wcodec_device_listing listing;
    backend->device_list(state, device, &listing);
    assert_true(listing.name[0] != '\0');
    assert_true(listing.kind >= WCODEC_DEVICE_CPU && listing.kind <= WCODEC_DEVICE_OTHER);
    r.capabilities = listing.capabilities;
    ok(backend->device_open(state, device, &r.device, &failure));
    ok(backend->queue_create(r.device, &r.queue, &failure));
    check_memory(&r);
    check_fill(&r);
    check_events(&r);
    check_times(&r);
    for (unsigned i = 0; i < 8; i++)
        check_batch(&r, TENSORS);
    for (unsigned i = 0; i < 40; i++)
        check_batch(&r, 1);
    check_threads(&r);
    if ((r.capabilities & WCODEC_DEVICE_PRODUCTS) && backend->products->keep != NULL)
        support_kept(backend, r.device, 60);
    if (r.capabilities & WCODEC_DEVICE_PRODUCTS) {
        support_products(backend, r.device, 40);
        support_products_wide(backend, r.device, 20, false);
        support_dense(backend, r.device, 200);
    }
    if ((r.capabilities & WCODEC_DEVICE_PRODUCTS) && backend->products->measure != NULL)
        support_encoders(backend, r.device, 40);
    if (backend->encoders != NULL)
        support_coding(backend, r.device, 200,
                       strcmp(backend->name, "opencl") != 0 &&
                           (backend->deltas == NULL || backend->deltas->supports(r.device)));
    if (backend->deltas != NULL && backend->deltas->supports(r.device))
        support_deltas(backend, r.device, 60);
    backend->queue_destroy(r.queue);
    backend->device_close(r.device);
}
