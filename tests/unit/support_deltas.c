/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support.h"

#include "support_deltas.h"

#include "coding/delta.h"
#include "coding/linear.h"
#include "io/tree.h"

enum {
    GUARD = 256, /* bytes before and after the elements */
    TILE_LOG2 = 10,
    TILES_MOST = 70,
    ALIGNMENT = 256,
    CODES = 2 * 2 * WCODEC_PATCH_CODE,
    DAMAGES = 12,
    PLACED = 4 * 32 + 3
};

struct deltas {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    uint64_t seed;
    unsigned faults, good; /* damaged streams */
    uint64_t changed;      /* elements that were found to be */
};

/* A tensor, what it is to become, and the tiles that say so. */
struct delta {
    struct wcodec_delta head;
    struct wcodec_delta_side side;
    uint8_t *base, *data, *result; /* with a guard before and after the first */
    uint64_t size;
    uint8_t *streams;
    uint64_t streams_size;
    struct wcodec_patch_tile tiles[TILES_MOST];
    uint32_t count;
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

static struct wcodec_memory *allocate(const struct deltas *d, uint64_t size)
{
    wcodec_error err = {0};
    struct wcodec_memory *memory;
    ok(d->b->memory_allocate(d->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

static void put(const struct deltas *d, struct wcodec_memory *memory, const void *data,
                uint64_t size)
{
    wcodec_error err = {0};
    ok(d->b->copy_in(d->queue, memory, 0, data, size, &err), &err);
    ok(d->b->queue_wait(d->queue, &err), &err);
}

static void get(const struct deltas *d, struct wcodec_memory *memory, uint64_t at, void *data,
                uint64_t size)
{
    wcodec_error err = {0};
    ok(d->b->copy_out(d->queue, data, memory, at, size, &err), &err);
    ok(d->b->queue_wait(d->queue, &err), &err);
}

static uint8_t *random_bytes(struct deltas *d, uint64_t size)
{
    uint8_t *bytes = malloc((size_t)size + 8);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < size; i += 8)
        wcodec_store_u64(bytes + i, support_random(&d->seed));
    return bytes;
}

static void check_leaves(struct deltas *d, uint64_t count, unsigned leaf_log2, uint64_t before)
{
    const uint64_t leaf = (uint64_t)1 << leaf_log2, size = count * leaf;
    uint8_t *bytes = random_bytes(d, before + size);
    uint64_t secret[24], *got = malloc((size_t)count * 16);
    struct wcodec_memory *elements = allocate(d, before + size), *out = allocate(d, count * 16);
    wcodec_error err = {0};
    assert_non_null(got);
    for (unsigned i = 0; i < 24; i++)
        secret[i] = wcodec_load_u64(XXH3_kSecret + 8 * (size_t)i);
    if (count > 1)
        memset(bytes + before, 0, (size_t)leaf);
    put(d, elements, bytes, before + size);
    const struct wcodec_tensor_leaves leaves = {.elements = elements,
                                                .elements_at = before,
                                                .out = out,
                                                .count = count,
                                                .leaf_log2 = leaf_log2,
                                                .secret = secret};
    ok(d->b->deltas->hash(d->queue, &leaves, &err), &err);
    get(d, out, 0, got, count * 16);
    for (uint64_t i = 0; i < count; i++) {
        const struct wcodec_tree_hash h =
            wcodec_leaf_plain(bytes + before + i * leaf, (size_t)leaf);
        assert_true(got[2 * i] == h.low && got[2 * i + 1] == h.high);
        assert_int_equal((uint32_t)got[2 * i], wcodec_delta_check(bytes + before + i * leaf, leaf));
    }
    d->b->memory_free(out);
    d->b->memory_free(elements);
    free(got);
    free(bytes);
}

/* A tensor's linear hash, of its parts from number 0 and from another on. */
static void check_linear(struct deltas *d, uint64_t size)
{
    const uint64_t piece = 1 << 16, at = 16 * (support_random(&d->seed) % 5),
                   pieces = (size + piece - 1) / piece,
                   first = pieces > 1 ? support_random(&d->seed) % pieces : 0;
    uint8_t *bytes = random_bytes(d, size);
    uint64_t *got = malloc((size_t)(pieces + 1) * 8);
    struct wcodec_memory *elements = allocate(d, at + size), *out = allocate(d, pieces * 8 + 16);
    wcodec_error err = {0};
    assert_non_null(got);
    ok(d->b->copy_in(d->queue, elements, at, bytes, size, &err), &err);
    for (uint64_t n = 0; n <= first; n += first + (first == 0)) {
        const struct wcodec_tensor_linear t = {.elements = elements,
                                               .elements_at = at,
                                               .out = out,
                                               .out_at = 8,
                                               .before = n * piece,
                                               .size = size - n * piece};
        got[pieces - n] = support_random(&d->seed);
        ok(d->b->copy_in(d->queue, out, 8 + 8 * (pieces - n), got + pieces - n, 8, &err), &err);
        const uint64_t guard = got[pieces - n];
        ok(d->b->deltas->linear(d->queue, &t, &err), &err);
        get(d, out, 8, got, 8 * (pieces - n + 1 - (n == 0)));
        for (uint64_t i = n; i < pieces; i++)
            assert_true(got[i - n] ==
                        wcodec_linear_sum(bytes + i * piece,
                                          size - i * piece < piece ? size - i * piece : piece,
                                          i * piece));
        assert_true(n == 0 || got[pieces - n] == guard);
    }
    d->b->memory_free(out);
    d->b->memory_free(elements);
    free(got);
    free(bytes);
}

/* A tensor, and where it differs from its base, by the device; of some tiles slots have no room for
 * all. */
struct changes {
    struct wcodec_tensor_changes c;
    struct wcodec_changes_work w;
    uint8_t *elements, *base;
    uint8_t *area; /* the work area as it came back */
    uint32_t full; /* tiles of more than slots have room for */
    struct wcodec_delta_counts counts[2];
    struct wcodec_delta_code gaps, values;
    uint8_t *streams; /* of the reference: `size` bytes */
    uint64_t size;
    struct wcodec_coded_tile *coded; /* likewise */
    uint64_t all;                    /* elements that are coded */
};

static struct wcodec_changed_tile changed_tile(const struct changes *x, uint32_t tile)
{
    struct wcodec_changed_tile t;
    memcpy(&t, x->area + x->w.counts + tile * sizeof t, sizeof t);
    return t;
}

static uint64_t changed_elements(const struct changes *x, uint32_t tile)
{
    const uint64_t left = x->c.count - ((uint64_t)tile << x->c.tile_log2),
                   most = (uint64_t)1 << x->c.tile_log2;
    return left < most ? left : most;
}

/* What it found in one tile. */
static void check_changed(struct changes *x, uint32_t tile)
{
    const unsigned log2 = x->c.element_log2;
    const uint64_t first = (uint64_t)tile << x->c.tile_log2,
                   end = first + changed_elements(x, tile);
    const uint8_t *positions = x->area + x->w.slots + (uint64_t)tile * x->w.slot_size,
                  *values = positions + 2 * (uint64_t)x->c.slot,
                  *bases = values + ((uint64_t)x->c.slot << log2);
    const struct wcodec_changed_tile found = changed_tile(x, tile);
    uint32_t count = 0;
    for (uint64_t i = first; i < end; i++) {
        const uint64_t e = wcodec_delta_load(x->elements, i, log2),
                       b = wcodec_delta_load(x->base, i, log2);
        if (e == b)
            continue;
        if (count < x->c.slot) {
            uint16_t position;
            memcpy(&position, positions + 2 * (uint64_t)count, 2);
            assert_int_equal(position, i - first);
            assert_true(wcodec_delta_load(values, count, log2) == e);
            assert_true(wcodec_delta_load(bases, count, log2) == b);
        }
        count++;
    }
    assert_int_equal(found.count, count);
    assert_true(found.sum == wcodec_linear_sum(x->elements + (first << log2), (end - first) << log2,
                                               first << log2));
    assert_true(found.base_sum ==
                wcodec_linear_sum(x->base + (first << log2), (end - first) << log2, first << log2));
    x->full += count > x->c.slot;
    if (count == 0 || count > x->c.slot)
        return;
    x->all += count;
    for (unsigned kind = 0; kind < 2; kind++)
        wcodec_delta_count(log2, kind != 0, x->elements + (first << log2),
                           x->base + (first << log2), end - first, &x->counts[kind]);
}

static void check_tally(const struct changes *x)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        const unsigned values = kind ? WCODEC_CHANGES_XOR : WCODEC_CHANGES_ZIGZAG;
        uint32_t found[WCODEC_CHANGES_TALLY + 1];
        memcpy(found, x->area, sizeof found);
        for (unsigned i = 0; i < WCODEC_CHANGES_GAPS; i++)
            assert_int_equal(found[i], x->counts[kind].gaps[i]);
        for (unsigned i = 0; i < WCODEC_CHANGES_VALUES; i++)
            assert_int_equal(found[values + i], x->counts[kind].values[i]);
        assert_int_equal(found[WCODEC_CHANGES_FULL], x->full);
    }
}

static void find_changes(struct deltas *d, struct changes *x)
{
    const uint64_t size = x->c.count << x->c.element_log2;
    wcodec_error err = {0};
    x->c.elements = allocate(d, x->c.elements_at + size);
    x->c.base = allocate(d, x->c.base_at + size);
    ok(d->b->copy_in(d->queue, x->c.elements, x->c.elements_at, x->elements, size, &err), &err);
    ok(d->b->copy_in(d->queue, x->c.base, x->c.base_at, x->base, size, &err), &err);
    x->w = wcodec_changes_work(&x->c);
    x->area = malloc((size_t)x->w.size + GUARD);
    assert_non_null(x->area);
    memset(x->area, 0xee, (size_t)x->w.size + GUARD);
    memset(x->area, 0, sizeof(uint32_t) * (WCODEC_CHANGES_TALLY + 1));
    x->c.work = allocate(d, x->w.size + GUARD);
    put(d, x->c.work, x->area, x->w.size + GUARD);
    ok(d->b->deltas->find(d->queue, &x->c, &err), &err);
    get(d, x->c.work, 0, x->area, x->w.size + GUARD);
    for (unsigned i = 0; i < GUARD; i++)
        assert_int_equal(x->area[x->w.size + i], 0xee);
    for (uint32_t i = 0; i < x->w.tiles; i++)
        check_changed(x, i);
    check_tally(x);
}

static void put_code(uint8_t *to, const struct wcodec_delta_code *code)
{
    memcpy(to, code->table, (code->single ? 1u : 1u << code->longest) * sizeof *code->table);
}

static void put_words(const struct changes *x, const struct wcodec_delta_code *code, bool values)
{
    uint8_t *to = x->area + x->w.words + (values ? 4 * WCODEC_CHANGES_GAPS : 0);
    for (unsigned i = 0; i < code->count && !code->single; i++) {
        const uint32_t word =
            code->lengths[i] != 0 ? code->words[i] | (uint32_t)code->lengths[i] << 16 : 0;
        memcpy(to + (size_t)4 * i, &word, 4);
    }
    put_code(x->area + x->w.codes + (values ? 2 * WCODEC_PATCH_CODE : 0), code);
}

/* Both codes, and what the reference makes of each tile. */
static void plan_changes(struct changes *x)
{
    const unsigned log2 = x->c.element_log2;
    const struct wcodec_delta_counts *counts = &x->counts[x->c.xor_values];
    wcodec_delta_code_plan(counts->gaps, WCODEC_DELTA_GAPS, &x->gaps);
    wcodec_delta_code_plan(counts->values, WCODEC_DELTA_VALUES, &x->values);
    memset(x->area + x->w.words, 0, (size_t)(x->w.firsts - x->w.words));
    put_words(x, &x->gaps, false);
    put_words(x, &x->values, true);
    memcpy(x->area + x->w.secret, XXH3_kSecret, XXH_SECRET_DEFAULT_SIZE);
    x->c.gap_bits = x->gaps.single ? 0 : x->gaps.longest;
    x->c.value_bits = x->values.single ? 0 : x->values.longest;
    x->streams = malloc((size_t)wcodec_delta_stream_most(log2, x->all + x->w.tiles) + 64);
    x->coded = calloc(x->w.tiles, sizeof *x->coded);
    assert_true(x->streams != NULL && x->coded != NULL);
    for (uint32_t i = 0; i < x->w.tiles; i++) {
        const struct wcodec_changed_tile t = changed_tile(x, i);
        const uint64_t first = (uint64_t)i << x->c.tile_log2 << log2;
        if (t.count == 0 || t.count > x->c.slot)
            continue;
        uint8_t *to = x->streams + x->size;
        x->coded[i].size = (uint32_t)wcodec_delta_stream(
            &x->gaps, &x->values, log2, x->c.xor_values, x->elements + first, x->base + first,
            changed_elements(x, i), to);
        x->coded[i].check = wcodec_delta_check(to, x->coded[i].size);
        x->size += x->coded[i].size;
    }
    const uint64_t bits = wcodec_delta_coded_bits(counts, &x->gaps, &x->values);
    assert_true(bits <= 8 * x->size && 8 * x->size <= bits + 7 * (uint64_t)x->w.tiles);
}

/* With room for so many bytes of streams; tiles that it says are coded wrongly. */
static uint32_t code_changes(struct deltas *d, struct changes *x, bool prove, uint64_t room,
                             uint8_t *got)
{
    const uint64_t given = wcodec_align_u64(room, 4);
    struct wcodec_coded_total total;
    wcodec_error err = {0};
    memset(got, 0, (size_t)given);
    memset(got + given, 0xee, GUARD);
    put(d, x->c.streams, got, given + GUARD);
    put(d, x->c.work, x->area, x->w.size);
    x->c.streams_room = room;
    ok(d->b->deltas->code(d->queue, &x->c, prove, &err), &err);
    get(d, x->c.streams, 0, got, given + GUARD);
    get(d, x->c.work, x->w.total, &total, sizeof total);
    assert_true(total.size == x->size);
    for (unsigned i = 0; i < GUARD; i++)
        assert_int_equal(got[given + i], 0xee);
    return total.wrong;
}

/* All of it comes out as the reference has it. */
static void check_coded(struct deltas *d, struct changes *x, bool prove, uint8_t *got)
{
    const size_t size = x->w.tiles * sizeof *x->coded;
    struct wcodec_coded_tile *coded = malloc(size);
    assert_non_null(coded);
    assert_int_equal(code_changes(d, x, prove, x->size + 4 + support_random(&d->seed) % 64, got),
                     0);
    assert_memory_equal(got, x->streams, (size_t)x->size);
    get(d, x->c.work, x->w.coded, coded, size);
    for (uint32_t i = 0; i < x->w.tiles; i++) {
        assert_int_equal(coded[i].size, x->coded[i].size);
        assert_true(coded[i].size == 0 || coded[i].check == x->coded[i].check);
    }
    free(coded);
}

static void check_streams(struct deltas *d, struct changes *x)
{
    const uint64_t r = support_random(&d->seed);
    uint8_t *got = malloc((size_t)x->size + 128 + GUARD);
    assert_non_null(got);
    x->c.streams = allocate(d, x->size + 128 + GUARD);
    check_coded(d, x, r & 1, got);
    if (x->size >= 8)
        (void)code_changes(d, x, true, x->size / 2, got);
    /* A word of the code that is read is another's: some tile has it. */
    uint8_t *code = x->area + x->w.codes + (r & 2 ? 2 * WCODEC_PATCH_CODE : 0);
    const struct wcodec_delta_code *c = r & 2 ? &x->values : &x->gaps;
    for (unsigned i = 0; i < (c->single ? 1u : 1u << c->longest); i++)
        code[2 * i] ^= 16;
    assert_true(code_changes(d, x, true, x->size + 4, got) > 0);
    assert_int_equal(code_changes(d, x, false, x->size + 4, got), 0);
    put_code(x->area + x->w.codes, &x->gaps);
    put_code(x->area + x->w.codes + 2 * WCODEC_PATCH_CODE, &x->values);
    d->b->memory_free(x->c.streams);
    free(got);
}

/* One element in `one_in` differs, of all tiles or of every second one. */
static void check_tensor(struct deltas *d, const struct wcodec_tensor_changes *c, uint64_t one_in,
                         bool all)
{
    struct changes x = {.c = *c};
    const unsigned log2 = c->element_log2;
    const uint64_t size = c->count << log2;
    x.base = random_bytes(d, size);
    x.elements = malloc((size_t)size + 8);
    assert_non_null(x.elements);
    memcpy(x.elements, x.base, (size_t)size);
    for (uint64_t i = 0; i < c->count; i++)
        if (support_random(&d->seed) % one_in == 0 && (all || i >> 12 & 1))
            wcodec_delta_store(x.elements, i, log2,
                               wcodec_delta_load(x.base, i, log2) +
                                   (support_random(&d->seed) >> support_random(&d->seed) % 64));
    find_changes(d, &x);
    if (x.all != 0) {
        plan_changes(&x);
        check_streams(d, &x);
    }
    d->changed += x.all;
    d->b->memory_free(x.c.elements);
    d->b->memory_free(x.c.base);
    d->b->memory_free(x.c.work);
    free(x.streams);
    free(x.coded);
    free(x.area);
    free(x.elements);
    free(x.base);
}

static void check_changes(struct deltas *d)
{
    const uint64_t r = support_random(&d->seed);
    const struct wcodec_tensor_changes c = {.element_log2 = r & 3,
                                            .tile_log2 = (uint8_t)(12 + (r >> 2 & 1)),
                                            .slot = 8u << (r >> 16) % 10,
                                            .elements_at = 16 * (r >> 24 & 7),
                                            .base_at = 16 * (r >> 28 & 7),
                                            .xor_values = r >> 3 & 1,
                                            .count = 1 + (r >> 32) % (r >> 30 & 3 ? 20000 : 40)};
    check_tensor(d, &c, (uint64_t)1 << (r >> 8) % 9, r >> 60 == 0);
}

/* More tiles than a work-group has lanes: several of them have their places from one lane, after
 * those of other warps. */
static void check_places(struct deltas *d, uint64_t tiles)
{
    const struct wcodec_tensor_changes c = {
        .tile_log2 = 12, .slot = 16, .count = (tiles << 12) - 5};
    check_tensor(d, &c, 600, true);
}

/* Of which tiles one element in `one_in` differs, by a little or by anything. */
static void change(struct deltas *d, struct delta *x)
{
    const unsigned log2 = x->head.element_log2;
    const uint64_t one_in = 1 + (support_random(&d->seed) & 0xfff >> support_random(&d->seed) % 12),
                   reach = support_random(&d->seed) % 64;
    for (uint64_t i = 0; i < x->head.elements; i++) {
        const uint64_t r = support_random(&d->seed);
        if (r % one_in == 0)
            wcodec_delta_store(x->data, i, log2,
                               wcodec_delta_load(x->data, i, log2) +
                                   (support_random(&d->seed) >> reach));
    }
}

/* The tiles that differ, coded. */
static void code(struct delta *x)
{
    const unsigned log2 = x->head.element_log2;
    struct wcodec_delta_counts counts = {{0}, {0}};
    for (uint64_t i = 0; i < x->head.tiles; i++) {
        const uint64_t at = i << (TILE_LOG2 + log2);
        wcodec_delta_count(log2, x->head.xor_values, x->data + at, x->base + at,
                           wcodec_delta_tile_elements(&x->head, i), &counts);
    }
    wcodec_delta_code_plan(counts.gaps, WCODEC_DELTA_GAPS, &x->side.gaps);
    wcodec_delta_code_plan(counts.values, WCODEC_DELTA_VALUES, &x->side.values);
    x->streams =
        malloc((size_t)wcodec_delta_stream_most(log2, x->head.elements) + 8 * TILES_MOST + 8);
    assert_non_null(x->streams);
    for (uint64_t i = 0; i < x->head.tiles; i++) {
        const uint64_t at = i << (TILE_LOG2 + log2), n = wcodec_delta_tile_elements(&x->head, i);
        if (memcmp(x->data + at, x->base + at, (size_t)(n << log2)) == 0)
            continue;
        struct wcodec_patch_tile *t = &x->tiles[x->count++];
        *t = (struct wcodec_patch_tile){
            .first = i << TILE_LOG2, .stream = x->streams_size, .count = (uint32_t)n};
        t->size = (uint32_t)wcodec_delta_stream(&x->side.gaps, &x->side.values, log2,
                                                x->head.xor_values, x->data + at, x->base + at, n,
                                                x->streams + x->streams_size);
        x->streams_size += t->size;
    }
}

static void make(struct deltas *d, struct delta *x)
{
    memset(x, 0, sizeof *x);
    x->head.element_log2 = (uint8_t)(support_random(&d->seed) % 4);
    x->head.tile_log2 = TILE_LOG2;
    x->head.xor_values = support_random(&d->seed) % 2 != 0;
    x->head.elements = 1 + support_random(&d->seed) % ((uint64_t)TILES_MOST << TILE_LOG2);
    x->head.tiles = (x->head.elements + (1 << TILE_LOG2) - 1) >> TILE_LOG2;
    x->side.delta = &x->head;
    x->size = x->head.elements << x->head.element_log2;
    uint8_t *bytes = random_bytes(d, x->size + (uint64_t)2 * GUARD);
    x->base = bytes + GUARD;
    x->data = malloc((size_t)x->size);
    x->result = malloc((size_t)x->size + (size_t)2 * GUARD);
    assert_true(x->data != NULL && x->result != NULL);
    memcpy(x->data, x->base, (size_t)x->size);
    change(d, x);
    code(x);
}

static void drop(struct delta *x)
{
    free(x->base - GUARD);
    free(x->data);
    free(x->result);
    free(x->streams);
}

/* What the device makes of the tensor, to `result`; of its tiles, what it says. */
static void patch(struct deltas *d, struct delta *x, struct wcodec_patched_tile *tiles_made)
{
    const uint64_t tiles = CODES,
                   results = wcodec_align_u64(tiles + x->count * sizeof(struct wcodec_patch_tile),
                                              ALIGNMENT),
                   made = x->count * sizeof *tiles_made,
                   streams = wcodec_align_u64(results + made, ALIGNMENT),
                   size = wcodec_align_u64(streams + x->streams_size, 4) + 4,
                   whole = x->size + (uint64_t)2 * GUARD;
    uint8_t *work = calloc(1, (size_t)size);
    struct wcodec_memory *elements = allocate(d, whole), *memory = allocate(d, size);
    wcodec_error err = {0};
    assert_non_null(work);
    put_code(work, &x->side.gaps);
    put_code(work + CODES / 2, &x->side.values);
    memcpy(work + tiles, x->tiles, x->count * sizeof *x->tiles);
    memset(work + results, 0xee, (size_t)made);
    memcpy(work + streams, x->streams, (size_t)x->streams_size);
    put(d, elements, x->base - GUARD, whole);
    put(d, memory, work, size);
    const struct wcodec_tensor_patch p = {
        .elements = elements,
        .elements_at = GUARD,
        .work = memory,
        .tiles = tiles,
        .results = results,
        .streams = streams,
        .streams_size = x->streams_size,
        .count = x->count,
        .element_log2 = x->head.element_log2,
        .gap_bits = x->side.gaps.single ? 0 : x->side.gaps.longest,
        .value_bits = x->side.values.single ? 0 : x->side.values.longest,
        .xor_values = x->head.xor_values};
    ok(d->b->deltas->patch(d->queue, &p, &err), &err);
    get(d, elements, 0, x->result, whole);
    get(d, memory, results, tiles_made, made);
    d->b->memory_free(memory);
    d->b->memory_free(elements);
    free(work);
}

/* Against the reference, tile by tile; what no tile has is as it was. */
static void compare(struct deltas *d, struct delta *x, const struct wcodec_patched_tile *made)
{
    const unsigned log2 = x->head.element_log2;
    uint8_t *expected = malloc((size_t)x->size);
    assert_non_null(expected);
    memcpy(expected, x->base, (size_t)x->size);
    assert_memory_equal(x->result, x->base - GUARD, GUARD);
    assert_memory_equal(x->result + GUARD + x->size, x->base + x->size, GUARD);
    for (uint32_t i = 0; i < x->count; i++) {
        const struct wcodec_patch_tile *t = &x->tiles[i];
        const uint64_t at = t->first << log2, size = (uint64_t)t->count << log2;
        const bool good =
            wcodec_delta_patch(&x->side, x->streams + t->stream, t->size, t->count, expected + at);
        assert_int_equal(made[i].fault, !good);
        if (good)
            assert_true(made[i].sum == wcodec_linear_sum(expected + at, size, at) -
                                           wcodec_linear_sum(x->base + at, size, at));
        d->faults += !good;
        d->good += good;
        if (!good) /* the tile's elements are anything */
            memcpy(expected + at, x->result + GUARD + at, (size_t)size);
    }
    assert_memory_equal(x->result + GUARD, expected, x->size);
    free(expected);
}

/* Bits of streams, and sizes that are not theirs, but no more than there are. */
static void damage(struct deltas *d, struct delta *x)
{
    for (unsigned i = 0; i < DAMAGES; i++) {
        const uint64_t r = support_random(&d->seed);
        struct wcodec_patch_tile *t = &x->tiles[r % x->count];
        if (r >> 32 & 1 && t->size != 0)
            t->size -= (uint32_t)(r >> 40) % (t->size < 4 ? t->size : 4);
        else if (x->streams_size != 0)
            x->streams[support_random(&d->seed) % x->streams_size] ^=
                (uint8_t)(1u << (r >> 60 & 7));
    }
}

void support_deltas(const struct wcodec_backend *backend, struct wcodec_device *device,
                    unsigned tensors)
{
    struct deltas d = {.b = backend, .device = device, .seed = support_seed()};
    wcodec_error err = {0};
    ok(backend->queue_create(device, &d.queue, &err), &err);
    for (unsigned i = 0; i < 3; i++)
        check_leaves(&d, 1 + 6 * (uint64_t)i, 16, 16 * (support_random(&d.seed) % 5));
    for (unsigned log2 = 13; log2 < 20; log2++)
        check_leaves(&d, 2, log2, 16 * (support_random(&d.seed) % 5));
    for (unsigned i = 0; i < 12; i++)
        check_linear(&d, 1 + support_random(&d.seed) % (i < 6 ? 5000 : 300000));
    check_linear(&d, 1 << 17);
    for (unsigned i = 0; i < tensors; i++)
        check_changes(&d);
    check_places(&d, PLACED);
    assert_true(tensors < 40 || d.changed > 1000);
    for (unsigned i = 0; i < tensors; i++) {
        struct wcodec_patched_tile made[TILES_MOST];
        struct delta x;
        make(&d, &x);
        if (x.count != 0) {
            patch(&d, &x, made);
            compare(&d, &x, made);
            assert_memory_equal(x.result + GUARD, x.data, x.size);
            damage(&d, &x);
            patch(&d, &x, made);
            compare(&d, &x, made);
        }
        drop(&x);
    }
    assert_true(tensors < 10 || (d.faults > 0 && d.good > d.faults));
    print_message("deltas: %u tiles, %u faults\n", d.good + d.faults, d.faults);
    backend->queue_destroy(d.queue);
}
