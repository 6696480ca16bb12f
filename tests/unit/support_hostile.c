/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_hostile.h"
#include "support_matrix.h"
#include "support_tiles.h"

#include "registry/known_answer.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { BATCH = 12, GUARD = 64, FLIPS = 256, FLIPS_LEAST = 8, THREADS = 3 };

struct run {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    bool small;
    uint64_t seed;
    unsigned rounds;
    unsigned faults[6]; /* how often the reference found each */
    unsigned matrix_faults[6];
};

static _Thread_local wcodec_error failure;

static void ok(wcodec_status status)
{
    if (status != WCODEC_OK)
        fail_msg("status %d: %s", status, failure.text);
}

static void damage(uint64_t *seed, struct support_tensor *x)
{
    const uint64_t prefix = x->tiling.prefix_size, size = x->payload_size;
    for (unsigned i = 0; i < 1 + support_random(seed) % 4 && size > prefix; i++) {
        const uint64_t at = prefix + support_random(seed) % (size - prefix),
                       end = support_random(seed) % 2 ? at + 1 : size;
        const unsigned kind = (unsigned)(support_random(seed) % 4);
        for (uint64_t k = at; k < end; k++)
            x->payload[k] =
                kind == 0 ? 0
                : kind == 1
                    ? 0xff
                    : (uint8_t)(x->payload[k] ^ (kind == 2 ? support_random(seed)
                                                           : 1u << support_random(seed) % 8));
    }
}

/* The first fault by the reference, whose bytes go to out, zeros if there is any. */
static struct wcodec_job_result reference(const uint8_t *payload, const struct wcodec_tiles *tiles,
                                          uint8_t *out)
{
    const struct wcodec_tiling *t = tiles->tiling;
    struct wcodec_view view;
    wcodec_view_whole(payload, &view);
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const enum wcodec_tile_fault fault = wcodec_tile_decode(
            tiles, &view, tile, out + (tile << t->tile_log2 << t->element_log2), true);
        if (fault != WCODEC_TILE_OK) {
            memset(out, 0, t->size);
            return (struct wcodec_job_result){tile, fault};
        }
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}

/* Whole tiles, which kernels of their own decode: bf16, int8, e4m3 and bytes by turns, with all
 * profiles; and others. */
static void make_whole_tiles(struct run *r, unsigned i, unsigned round, struct support_tensor *x)
{
    const unsigned shape = i < 8 ? i / 2 : (unsigned)(support_random(&r->seed) % SUPPORT_SHAPES);
    const uint64_t elements =
        r->small ? 4096 + support_random(&r->seed) % 300 : 4096 + support_random(&r->seed) % 40000;
    support_tensor_common(&r->seed, shape, 1 + (round + i / 2) % 3, elements, x);
    while (shape == 0 && x->tiling.add != 0) { /* no kernel of its own */
        support_tensor_free(x);
        support_tensor_common(&r->seed, shape, 1 + (round + i / 2) % 3, elements, x);
    }
}

static void place_whole(const struct wcodec_tiles *tiles, struct wcodec_memory *payload,
                        uint64_t offset, struct wcodec_job *job)
{
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job->places[a] =
            (struct wcodec_area_place){payload, offset + tiles->area_begin[a], tiles->area_begin[a],
                                       tiles->area_end[a] - tiles->area_begin[a]};
}

/* Damaged tensors and good ones in one batch; payloads in buffers that end where they do, outputs
 * in two. */
static void hostile_batch(struct run *r, unsigned round)
{
    struct support_tensor x[BATCH];
    struct wcodec_tiles *tiles[BATCH];
    struct wcodec_memory *payload[BATCH], *output[2];
    struct wcodec_job jobs[BATCH] = {{0}};
    struct wcodec_job_result results[BATCH];
    struct wcodec_batch *batch;
    uint64_t size[2] = {GUARD, GUARD};
    for (unsigned i = 0; i < BATCH; i++) {
        if (i % 2)
            support_tensor_make(&r->seed, 1 + support_random(&r->seed) % (r->small ? 300 : 6000),
                                &x[i]);
        else
            make_whole_tiles(r, i, round, &x[i]);
        ok(wcodec_tiles_read(&x[i].tiling, x[i].payload, x[i].payload_size,
                             &wcodec_default_allocator, &tiles[i], &failure));
        if (i % 3)
            damage(&r->seed, &x[i]);
        ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, x[i].payload_size, &payload[i],
                                 &failure));
        ok(r->b->copy_in(r->queue, payload[i], 0, x[i].payload, x[i].payload_size, &failure));
        jobs[i] = (struct wcodec_job){.tiles = tiles[i],
                                      .count = x[i].tiling.tiles,
                                      .destination = size[i % 2],
                                      .verify = true};
        place_whole(tiles[i], payload[i], 0, &jobs[i]);
        size[i % 2] = wcodec_align_u64(size[i % 2] + x[i].tiling.size, 16) + GUARD;
    }
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t poison[8] = {0xee};
        ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, size[k], &output[k], &failure));
        ok(r->b->fill(r->queue, output[k], 0, poison, 0, size[k], &failure));
    }
    for (unsigned i = 0; i < BATCH; i++)
        jobs[i].memory = output[i % 2];
    ok(r->b->batch_create(r->queue, jobs, BATCH, &batch, &failure));
    ok(r->b->batch_decode(r->queue, batch, &failure));
    ok(r->b->batch_results(r->queue, batch, results, &failure));
    for (unsigned i = 0; i < BATCH; i++) {
        const size_t whole = (size_t)x[i].tiling.size;
        uint8_t *expected = malloc(whole), *out = malloc(whole + 2 * GUARD);
        const struct wcodec_job_result wanted = reference(x[i].payload, tiles[i], expected);
        assert_int_equal(results[i].fault, wanted.fault);
        assert_int_equal(results[i].tile, wanted.tile);
        ok(r->b->copy_out(r->queue, out, output[i % 2], jobs[i].destination - GUARD,
                          whole + 2 * GUARD, &failure));
        ok(r->b->queue_wait(r->queue, &failure));
        assert_memory_equal(out + GUARD, expected, whole);
        for (unsigned k = 0; k < GUARD; k++) {
            assert_int_equal(out[k], 0xee);
            assert_int_equal(out[GUARD + whole + k], 0xee);
        }
        r->faults[wanted.fault]++;
        free(expected);
        free(out);
    }
    r->b->batch_destroy(batch);
    r->b->memory_free(output[0]);
    r->b->memory_free(output[1]);
    for (unsigned i = 0; i < BATCH; i++) {
        r->b->memory_free(payload[i]);
        wcodec_tiles_free(tiles[i]);
        support_tensor_free(&x[i]);
    }
}

/* Bytes of its areas, or of the lists in its records. */
static void damage_matrix(uint64_t *seed, struct support_matrix *m, const struct wcodec_job *job)
{
    const struct wcodec_fixed *f = &m->fixed;
    for (unsigned i = 0; i < 1 + support_random(seed) % 4; i++) {
        const uint64_t any = support_random(seed);
        const struct wcodec_area_place *a =
            &job->places[any % 4 ? WCODEC_AREA_RAW : WCODEC_AREA_VALUES];
        const uint64_t list = f->tiles_begin + (any >> 8) % f->tiles * f->record_size +
                              wcodec_fixed_list_begin(f),
                       at = any >> 40 & 1 || a->size == 0
                                ? list + (any >> 41) % wcodec_fixed_list_size(f)
                                : a->begin + (any >> 16) % a->size;
        m->payload[at] =
            (uint8_t)(any >> 48 & 1 ? any >> 56 : m->payload[at] ^ 1u << (any >> 60) % 8);
        if (any >> 49 & 1) /* so that it is found by what the list says */
            for (uint64_t tile = 0; tile < f->tiles; tile++) {
                struct wcodec_fixed_list found;
                const uint8_t *record = m->payload + f->tiles_begin + tile * f->record_size;
                if (wcodec_fixed_list_find(f, record, &found) == WCODEC_TILE_OK)
                    wcodec_store_u32(m->payload + f->checks_begin + 4 * tile,
                                     wcodec_fixed_tile_check(f, record,
                                                             m->payload + f->spilled_begin +
                                                                 4 * found.spilled_first,
                                                             found.spilled_count));
            }
    }
}

/* Damaged matrices at a fixed rate and good ones in one batch; payloads in buffers that end where
 * they do. */
static void hostile_matrices(struct run *r)
{
    struct support_matrix m[BATCH];
    struct wcodec_memory *payload[BATCH], *output;
    struct wcodec_job jobs[BATCH] = {{0}};
    struct wcodec_job_result results[BATCH];
    struct wcodec_batch *batch;
    const unsigned count = r->small ? 3 : BATCH;
    const uint8_t poison[8] = {0xee};
    uint64_t size = GUARD;
    for (unsigned i = 0; i < count; i++) {
        support_matrix_make(&r->seed, r->small ? 20 : 0, r->small ? 136 + 7 * i : 0, &m[i]);
        jobs[i].verify = true;
        support_matrix_part(&r->seed, &m[i], i % 4 != 3, &jobs[i]);
        if (i % 3)
            damage_matrix(&r->seed, &m[i], &jobs[i]);
        ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, m[i].fixed.payload_size,
                                 &payload[i], &failure));
        ok(r->b->copy_in(r->queue, payload[i], 0, m[i].payload, m[i].fixed.payload_size, &failure));
        for (unsigned a = 0; a < WCODEC_AREAS; a++) {
            jobs[i].places[a].offset = jobs[i].places[a].begin;
            jobs[i].places[a].memory = jobs[i].places[a].size != 0 ? payload[i] : NULL;
        }
        jobs[i].destination = size;
        size = wcodec_align_u64(size + wcodec_job_bytes(&jobs[i]), 16) + GUARD;
    }
    ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, size, &output, &failure));
    ok(r->b->fill(r->queue, output, 0, poison, 0, size, &failure));
    for (unsigned i = 0; i < count; i++)
        jobs[i].memory = output;
    ok(r->b->batch_create(r->queue, jobs, count, &batch, &failure));
    ok(r->b->batch_decode(r->queue, batch, &failure));
    ok(r->b->batch_results(r->queue, batch, results, &failure));
    for (unsigned i = 0; i < count; i++) {
        const size_t whole = (size_t)wcodec_job_bytes(&jobs[i]);
        uint8_t *expected = malloc(whole), *out = malloc(whole + 2 * GUARD);
        const struct wcodec_job_result wanted = support_matrix_decode(&m[i], &jobs[i], expected);
        assert_int_equal(results[i].fault, wanted.fault);
        assert_int_equal(results[i].tile, wanted.tile);
        ok(r->b->copy_out(r->queue, out, output, jobs[i].destination - GUARD, whole + 2 * GUARD,
                          &failure));
        ok(r->b->queue_wait(r->queue, &failure));
        assert_memory_equal(out + GUARD, expected, whole);
        for (unsigned k = 0; k < GUARD; k++) {
            assert_int_equal(out[k], 0xee);
            assert_int_equal(out[GUARD + whole + k], 0xee);
        }
        r->matrix_faults[wanted.fault]++;
        free(expected);
        free(out);
    }
    r->b->batch_destroy(batch);
    r->b->memory_free(output);
    for (unsigned i = 0; i < count; i++) {
        r->b->memory_free(payload[i]);
        support_matrix_free(&m[i]);
    }
}

static void *run_batches(void *argument)
{
    struct run *r = argument;
    ok(r->b->queue_create(r->device, &r->queue, &failure));
    for (unsigned i = 0; i < r->rounds; i++) {
        hostile_batch(r, i);
        hostile_matrices(r);
    }
    r->b->queue_destroy(r->queue);
    return NULL;
}

static void known_answers(const struct run *r)
{
    if (wcodec_known_answer_check(r->b, r->device, &wcodec_default_allocator, &failure) !=
        WCODEC_OK)
        fail_msg("after damage: %s", failure.text);
}

void support_hostile(const struct wcodec_backend *backend, struct wcodec_device *device, bool small)
{
    pthread_t threads[THREADS];
    struct run alone = {.b = backend,
                        .device = device,
                        .small = small,
                        .seed = support_seed() + 1,
                        .rounds = small ? 3 : 20},
               runs[THREADS];
    run_batches(&alone);
    for (unsigned i = 0; i < 6; i++) {
        print_message("fault %u: %u times, in matrices %u\n", i, alone.faults[i],
                      alone.matrix_faults[i]);
        assert_true(small || alone.matrix_faults[i] > 0 ||
                    (i != WCODEC_TILE_OK && i != WCODEC_TILE_OUTLIER && i != WCODEC_TILE_CHECK));
        assert_true(small || alone.faults[i] > 0 ||
                    (i != WCODEC_TILE_OK && i != WCODEC_TILE_WORDS && i != WCODEC_TILE_CHECK));
    }
    known_answers(&alone);
    if (small) /* oclgrind runs one kernel at a time, or aborts */
        return;
    for (unsigned i = 0; i < THREADS; i++) {
        runs[i] = (struct run){.b = backend, .device = device, .seed = alone.seed + i, .rounds = 4};
        assert_int_equal(pthread_create(&threads[i], NULL, run_batches, &runs[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    known_answers(&alone);
}

/* Payloads of a tensor, each with another bit flipped, decoded in one batch. */
struct flipped {
    const struct support_tensor *x;
    uint64_t step; /* from one payload to the next */
    uint8_t *payloads;
    struct wcodec_tiles *tiles[FLIPS]; /* NULL: the structures are refused */
    unsigned number[FLIPS];            /* of the payload that a job decodes */
    unsigned jobs;
};

/* Bits from `first` on, every stride-th, as many as there is room for and payload. Returns how
 * many. */
static unsigned flip(struct flipped *f, uint64_t first, uint64_t stride)
{
    const uint64_t bits = 8 * (uint64_t)f->x->payload_size;
    unsigned count = 0;
    f->jobs = 0;
    for (uint64_t bit = first; bit < bits && count < FLIPS; bit += stride, count++) {
        uint8_t *payload = f->payloads + count * f->step;
        memcpy(payload, f->x->payload, f->x->payload_size);
        payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        f->tiles[count] = NULL;
        if (wcodec_tiles_read(&f->x->tiling, payload, f->x->payload_size, &wcodec_default_allocator,
                              &f->tiles[count], &failure) == WCODEC_OK)
            f->number[f->jobs++] = count;
        else
            assert_int_equal(failure.status, WCODEC_ERROR_CORRUPT);
    }
    return count;
}

/* Results and bytes must be the reference's. Returns how many decode as if nothing were wrong. */
static unsigned decode_flipped(const struct run *r, const struct flipped *f, unsigned count)
{
    const uint64_t size = f->x->tiling.size;
    unsigned good = 0;
    struct wcodec_memory *payload, *output;
    struct wcodec_job jobs[FLIPS] = {{0}};
    struct wcodec_job_result results[FLIPS];
    struct wcodec_batch *batch;
    uint8_t *out = malloc((size_t)(f->jobs * size)), *expected = malloc((size_t)size);
    ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, count * f->step, &payload, &failure));
    ok(r->b->memory_allocate(r->device, WCODEC_MEMORY_DEVICE, f->jobs * size, &output, &failure));
    for (unsigned i = 0; i < f->jobs; i++) {
        jobs[i] = (struct wcodec_job){.tiles = f->tiles[f->number[i]],
                                      .count = f->x->tiling.tiles,
                                      .memory = output,
                                      .destination = i * size,
                                      .verify = true};
        place_whole(f->tiles[f->number[i]], payload, f->number[i] * f->step, &jobs[i]);
    }
    ok(r->b->copy_in(r->queue, payload, 0, f->payloads, count * f->step, &failure));
    ok(r->b->batch_create(r->queue, jobs, f->jobs, &batch, &failure));
    ok(r->b->batch_decode(r->queue, batch, &failure));
    ok(r->b->batch_results(r->queue, batch, results, &failure));
    ok(r->b->copy_out(r->queue, out, output, 0, f->jobs * size, &failure));
    ok(r->b->queue_wait(r->queue, &failure));
    for (unsigned i = 0; i < f->jobs; i++) {
        const struct wcodec_job_result wanted =
            reference(f->payloads + f->number[i] * f->step, f->tiles[f->number[i]], expected);
        assert_int_equal(results[i].fault, wanted.fault);
        assert_int_equal(results[i].tile, wanted.tile);
        assert_memory_equal(out + i * size, expected, (size_t)size);
        good += wanted.fault == WCODEC_TILE_OK;
    }
    r->b->batch_destroy(batch);
    r->b->memory_free(output);
    r->b->memory_free(payload);
    free(expected);
    free(out);
    return good;
}

static void flip_tensor(const struct run *r, const struct support_tensor *x, unsigned profile,
                        uint64_t stride)
{
    struct flipped f = {.x = x, .step = wcodec_align_u64(x->payload_size, 256)};
    unsigned total = 0, refused = 0, good = 0;
    f.payloads = calloc(FLIPS, (size_t)f.step);
    assert_non_null(f.payloads);
    for (uint64_t first = 0; first < 8 * (uint64_t)x->payload_size; first += FLIPS * stride) {
        const unsigned count = flip(&f, first, stride);
        if (f.jobs > 0)
            good += decode_flipped(r, &f, count);
        total += count;
        refused += count - f.jobs;
        for (unsigned i = 0; i < count; i++)
            wcodec_tiles_free(f.tiles[i]);
    }
    print_message(
        "profile %u: %u flips, %u refused by the structures, %u faults, %u without effect\n",
        profile, total, refused, total - refused - good, good);
    assert_true(total > refused + good);
    free(f.payloads);
}

void support_flips(const struct wcodec_backend *backend, struct wcodec_device *device,
                   uint64_t stride)
{
    struct run r = {.b = backend, .device = device, .seed = support_seed() + 2};
    const bool all = getenv("WCODEC_TEST_EXHAUSTIVE") != NULL;
    ok(backend->queue_create(device, &r.queue, &failure));
    for (unsigned profile = 1; profile <= 3; profile++) {
        struct support_tensor x;
        support_tensor_common(&r.seed, profile % SUPPORT_SHAPES, profile, 4096, &x);
        /* Of a small payload more than a flip or two. */
        const uint64_t wanted = profile == 2 ? stride : 7 * stride,
                       most = 8 * (uint64_t)x.payload_size / FLIPS_LEAST + 1;
        flip_tensor(&r, &x, profile, all ? 1 : wanted < most ? wanted : most);
        support_tensor_free(&x);
    }
    backend->queue_destroy(r.queue);
    known_answers(&r);
}

#define FAR ((uint64_t)1 << 32)

static void *repeat(const void *item, size_t size, uint64_t count)
{
    uint8_t *items = malloc(count * size);
    assert_non_null(items);
    for (uint64_t i = 0; i < count; i++)
        memcpy(items + i * size, item, size);
    return items;
}

/* One tensor of more than 4 GiB in one launch: the same tile again and again, so that there is
 * little to make. */
static void far_tensor(const struct run *r, struct wcodec_memory *payload,
                       struct wcodec_memory *output, uint64_t size)
{
    uint64_t seed = r->seed;
    struct support_tensor x;
    struct wcodec_tiles *tiles;
    for (;;) {
        support_tensor_common(&seed, 0, WCODEC_PAIRS, 4096, &x);
        ok(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size, &wcodec_default_allocator,
                             &tiles, &failure));
        if (x.tiling.add == 0 && tiles->streams[0].mode == WCODEC_STREAM_RANS)
            break;
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
    struct wcodec_tiling tiling = x.tiling;
    const uint64_t tile = x.tiling.size, count = size / tile;
    tiling.tiles = count;
    tiling.size = count * tile;
    tiling.elements = count * x.tiling.elements;
    struct wcodec_tiles many = *tiles;
    many.tiling = &tiling;
    many.checks = repeat(tiles->checks, sizeof *tiles->checks, count);
    many.streams = repeat(tiles->streams, sizeof *tiles->streams, count);
    many.raw = repeat(tiles->raw, sizeof *tiles->raw, count);
    struct wcodec_job job = {.tiles = &many, .count = count, .verify = true, .memory = output};
    struct wcodec_job_result result;
    struct wcodec_batch *batch;
    const uint8_t poison[8] = {0xee};
    uint8_t *out = malloc((size_t)(tile * 1024));
    assert_non_null(out);
    place_whole(tiles, payload, 0, &job);
    ok(r->b->fill(r->queue, output, 0, poison, 0, size, &failure));
    ok(r->b->copy_in(r->queue, payload, 0, x.payload, x.payload_size, &failure));
    ok(r->b->batch_create(r->queue, &job, 1, &batch, &failure));
    ok(r->b->batch_decode(r->queue, batch, &failure));
    ok(r->b->batch_results(r->queue, batch, &result, &failure));
    assert_int_equal(result.fault, WCODEC_TILE_OK);
    for (uint64_t first = 0; first < count; first += 1024) {
        const uint64_t n = count - first < 1024 ? count - first : 1024;
        ok(r->b->copy_out(r->queue, out, output, first * tile, n * tile, &failure));
        ok(r->b->queue_wait(r->queue, &failure));
        for (uint64_t i = 0; i < n; i++)
            assert_memory_equal(out + i * tile, x.data, (size_t)tile);
    }
    print_message("one tensor of %" PRIu64 " bytes: done\n", tiling.size);
    r->b->batch_destroy(batch);
    free(out);
    free(many.raw);
    free(many.streams);
    free(many.checks);
    wcodec_tiles_free(tiles);
    support_tensor_free(&x);
}

void support_far(const struct wcodec_backend *backend, struct wcodec_device *device,
                 const struct wcodec_device_listing *listing)
{
    struct run r = {.b = backend, .device = device, .seed = support_seed() + 3};
    struct wcodec_memory *payload, *output;
    const uint64_t size = FAR + ((uint64_t)1 << 22);
    if (listing->memory < 3 * size) {
        print_message("nothing beyond 4 GiB: skipped, the device has %" PRIu64 " MiB\n",
                      listing->memory >> 20);
        return;
    }
    if (backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, size, &payload, &failure) !=
        WCODEC_OK) {
        print_message("nothing beyond 4 GiB: skipped, %s\n", failure.text);
        return;
    }
    if (backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, size, &output, &failure) !=
        WCODEC_OK) {
        print_message("nothing beyond 4 GiB: skipped, %s\n", failure.text);
        backend->memory_free(payload);
        return;
    }
    ok(backend->queue_create(device, &r.queue, &failure));
    for (unsigned i = 0; i < 12; i++) {
        /* On both sides of the border, and some after it. */
        const uint64_t from = FAR - 4096 + (i % 3 == 0 ? 0 : 65536),
                       to = FAR - 2048 + (i % 2 ? 0 : 65536);
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        struct wcodec_job job = {.verify = true, .memory = output, .destination = to};
        struct wcodec_job_result result;
        struct wcodec_batch *batch;
        support_tensor_common(&r.seed, i % 6, i < 6 ? 1 : 3, 20000, &x);
        uint8_t *out = malloc((size_t)x.tiling.size);
        ok(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size, &wcodec_default_allocator,
                             &tiles, &failure));
        job.tiles = tiles;
        job.count = x.tiling.tiles;
        place_whole(tiles, payload, from, &job);
        ok(backend->copy_in(r.queue, payload, from, x.payload, x.payload_size, &failure));
        ok(backend->batch_create(r.queue, &job, 1, &batch, &failure));
        ok(backend->batch_decode(r.queue, batch, &failure));
        ok(backend->batch_results(r.queue, batch, &result, &failure));
        ok(backend->copy_out(r.queue, out, output, to, x.tiling.size, &failure));
        ok(backend->queue_wait(r.queue, &failure));
        assert_int_equal(result.fault, WCODEC_TILE_OK);
        assert_memory_equal(out, x.data, (size_t)x.tiling.size);
        backend->batch_destroy(batch);
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
        free(out);
    }
    print_message("beyond 4 GiB: done\n");
    if (listing->kind == WCODEC_DEVICE_GPU) /* a processor would take minutes */
        far_tensor(&r, payload, output, size);
    backend->queue_destroy(r.queue);
    backend->memory_free(output);
    backend->memory_free(payload);
}
