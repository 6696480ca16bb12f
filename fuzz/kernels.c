/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in tiles, in blocks, lossy, in fragments or at a fixed rate by the GPUs' kernels as C:
 * the fault must be the one that the reference finds first, and the bytes the reference's. u16:
 * bytes of parameters, and from 2^13 on the kind; lossy: u8 dtype; u32 size of the tensor; the
 * parameters; modes and scales as before the tiles; the tiles' payload. */
#include "backends/emulate/device.h"
#include "backends/emulate/fibers.h"
#include "coding/blocks.h"
#include "coding/lossy.h"
#include "coding/tile.h"
#include "fuzz/fuzz.h"
#include "registry/decode.h"
#include "registry/host.h"

const char fuzz_target[] = "kernels";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 16, TILES_LIMIT = 24, GUARD = 64 };

/* SEALED: FIXED, with checks of tiles that are made right. */
enum kind { TILES = 0, FIXED = 1, BLOCKS = 2, SEALED = 3, LOSSY = 4, FRAGMENTS = 6 };

struct subject {
    enum kind kind;
    struct wcodec_tiling tiling;
    struct wcodec_blocks blocks;
    struct wcodec_lossy lossy;
    struct wcodec_fragments fragments;
    struct wcodec_fixed fixed;
    uint8_t *side; /* modes and scales */
    size_t side_size;
    size_t size; /* of the tensor */
    unsigned element_log2;
};

static struct wcodec_backend backend;
static struct wcodec_device *device;
static struct wcodec_queue *queue;

static void require(wcodec_status status)
{
    FUZZ_REQUIRE(status == WCODEC_OK);
}

static void open_device(void)
{
    static struct wcodec_host host;
    struct wcodec_backend_state *state;
    backend = wcodec_emulated_backend();
    wcodec_host_init(&host, fuzz_context());
    require(backend.open(&host, &state, NULL));
    require(backend.device_open(state, 0, &device, NULL));
    require(backend.queue_create(device, &queue, NULL));
}

static struct wcodec_memory *memory_of(const void *data, uint64_t size)
{
    struct wcodec_memory *memory;
    require(backend.memory_allocate(device, WCODEC_MEMORY_DEVICE, size, &memory, NULL));
    if (data != NULL)
        memcpy(backend.memory_pointer(memory), data, (size_t)size);
    return memory;
}

/* The first fault by the reference. decoded: what is in tiles. */
static struct wcodec_job_result decode_tiles(const struct wcodec_tiles *tiles,
                                             const uint8_t *payload, uint8_t *decoded)
{
    const struct wcodec_tiling *t = tiles->tiling;
    struct wcodec_view view;
    wcodec_view_whole(payload, &view);
    for (uint64_t i = 0; i < t->tiles; i++) {
        const enum wcodec_tile_fault fault = wcodec_tile_decode(
            tiles, &view, i, decoded + (i << t->tile_log2 << t->element_log2), true);
        if (fault != WCODEC_TILE_OK)
            return (struct wcodec_job_result){i, fault};
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}

static void reconstruct(const struct subject *s, const uint8_t *decoded, uint8_t *out)
{
    const struct wcodec_blocks *b = &s->blocks;
    const struct wcodec_lossy *l = &s->lossy;
    if (s->kind == TILES)
        memcpy(out, decoded, s->size);
    for (uint64_t i = 0; s->kind == BLOCKS && i < b->count; i++)
        wcodec_block_reconstruct(b, i, wcodec_blocks_mode(b, s->side, i),
                                 decoded + (i * WCODEC_BLOCK << b->element_log2), 0, s->size, out);
    if (s->kind == FRAGMENTS)
        wcodec_fragments_put(&s->fragments, 0, s->size >> s->element_log2, decoded, 0, s->size,
                             out);
    if (s->kind == LOSSY && l->plain)
        wcodec_plain_reconstruct(l, s->side, 0, l->elements, decoded, out);
    for (uint64_t i = 0; s->kind == LOSSY && i < l->superblocks; i++)
        wcodec_superblock_reconstruct(l, s->side, i,
                                      decoded + (i * WCODEC_SUPERBLOCK << l->coefficient_log2), 0,
                                      s->size, out);
}

static struct wcodec_job_result run_job(const struct wcodec_job *job)
{
    struct wcodec_job_result result;
    struct wcodec_batch *batch;
    require(backend.batch_create(queue, job, 1, &batch, NULL));
    require(backend.batch_decode(queue, batch, NULL));
    require(backend.batch_results(queue, batch, &result, NULL));
    backend.batch_destroy(batch);
    return result;
}

static struct wcodec_job_result decode_emulated(const struct subject *s,
                                                const struct wcodec_tiles *tiles,
                                                struct wcodec_memory *payload,
                                                struct wcodec_memory *out, uint64_t at)
{
    struct wcodec_job job = {.tiles = tiles,
                             .blocks = s->kind == BLOCKS ? &s->blocks : NULL,
                             .lossy = s->kind == LOSSY ? &s->lossy : NULL,
                             .fragments = s->kind == FRAGMENTS ? &s->fragments : NULL,
                             .modes = s->side,
                             .end = s->kind == TILES ? 0 : s->size,
                             .count = tiles->tiling->tiles,
                             .memory = out,
                             .destination = at,
                             .verify = true};
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] =
            (struct wcodec_area_place){payload, tiles->area_begin[a], tiles->area_begin[a],
                                       tiles->area_end[a] - tiles->area_begin[a]};
    return run_job(&job);
}

/* With the output at offset GUARD + shift: the device is another one for each. */
static void compare(const struct subject *s, const struct wcodec_tiles *tiles,
                    const uint8_t *payload, size_t payload_size, uint64_t shift)
{
    const size_t all = (size_t)shift + s->size + 2 * GUARD;
    uint8_t *expected = calloc(1, all), *decoded = malloc((size_t)s->tiling.size + 1);
    FUZZ_REQUIRE(expected != NULL && decoded != NULL);
    struct wcodec_memory *from = memory_of(payload, payload_size), *to = memory_of(expected, all);
    const struct wcodec_job_result wanted = decode_tiles(tiles, payload, decoded),
                                   result = decode_emulated(s, tiles, from, to, GUARD + shift);
    FUZZ_REQUIRE(result.fault == wanted.fault && result.tile == wanted.tile);
    if (wanted.fault == WCODEC_TILE_OK)
        reconstruct(s, decoded, expected + GUARD + shift);
    FUZZ_REQUIRE(memcmp(backend.memory_pointer(to), expected, all) == 0);
    backend.memory_free(from);
    backend.memory_free(to);
    free(decoded);
    free(expected);
}

/* A tile by the reference, to the elements of its matrix. */
static enum wcodec_tile_fault decode_tile(const struct wcodec_fixed *f, const uint8_t *payload,
                                          uint64_t tile, uint8_t *out)
{
    const uint64_t band = tile / f->across, x = tile % f->across;
    const uint8_t *record = payload + f->tiles_begin + tile * f->record_size;
    uint8_t elements[WCODEC_FIXED_TILE_BYTES];
    struct wcodec_fixed_list list;
    enum wcodec_tile_fault fault = wcodec_fixed_list_find(f, record, &list);
    if (fault != WCODEC_TILE_OK)
        return fault;
    const uint8_t *spilled = payload + f->spilled_begin + 4 * list.spilled_first;
    fault = wcodec_fixed_list_check(&list, spilled);
    if (fault != WCODEC_TILE_OK)
        return fault;
    if (wcodec_fixed_tile_check(f, record, spilled, list.spilled_count) !=
        wcodec_load_u32(payload + f->checks_begin + 4 * tile))
        return WCODEC_TILE_CHECK;
    wcodec_fixed_tile_decode(f, record, &list, payload + WCODEC_FIXED_ROWS * band, spilled,
                             elements, 2 * WCODEC_FIXED_COLUMNS);
    for (unsigned y = 0; y < wcodec_fixed_height(f, band); y++)
        memcpy(out + 2 * ((band * WCODEC_FIXED_ROWS + y) * f->columns + x * WCODEC_FIXED_COLUMNS),
               elements + (size_t)(2 * y) * WCODEC_FIXED_COLUMNS, 2 * wcodec_fixed_width(f, x));
    return WCODEC_TILE_OK;
}

static struct wcodec_job_result decode_matrix(const struct wcodec_fixed *f, const uint8_t *payload,
                                              uint8_t *out)
{
    for (uint64_t i = 0; i < f->tiles; i++) {
        const enum wcodec_tile_fault fault = decode_tile(f, payload, i, out);
        if (fault != WCODEC_TILE_OK)
            return (struct wcodec_job_result){i, fault};
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}

static void compare_matrix(const struct wcodec_fixed *f, const uint8_t *payload)
{
    const size_t all = (size_t)f->size + 2 * GUARD;
    struct wcodec_job job = {.fixed = f,
                             .modes = payload,
                             .end = f->size,
                             .count = f->tiles,
                             .destination = GUARD,
                             .verify = true};
    uint64_t next = UINT64_MAX;
    wcodec_fixed_place_records(&job);
    if (wcodec_fixed_place_spilled(&job, payload + f->tiles_begin, &next, NULL) != WCODEC_OK)
        return;
    uint8_t *expected = calloc(1, all);
    FUZZ_REQUIRE(expected != NULL);
    struct wcodec_memory *from = memory_of(payload, f->payload_size),
                         *to = memory_of(expected, all);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        job.places[a].offset = job.places[a].begin;
        job.places[a].memory = job.places[a].size != 0 ? from : NULL;
    }
    job.memory = to;
    const struct wcodec_job_result wanted = decode_matrix(f, payload, expected + GUARD),
                                   result = run_job(&job);
    FUZZ_REQUIRE(result.fault == wanted.fault && result.tile == wanted.tile);
    FUZZ_REQUIRE(wanted.fault != WCODEC_TILE_OK ||
                 memcmp(backend.memory_pointer(to), expected, all) == 0);
    fuzz_deep++;
    backend.memory_free(from);
    backend.memory_free(to);
    free(expected);
}

/* The check of the shifts is made right, and with SEALED those of tiles whose lists are sound. */
static void decode_fixed(struct subject *s, const uint8_t *data, size_t size)
{
    struct wcodec_fixed *f = &s->fixed;
    if (f->payload_size > size || f->tiles > TILES_LIMIT)
        return;
    uint8_t *payload = fuzz_copy(data, (size_t)f->payload_size);
    f->check = wcodec_fixed_shifts_check(f, payload);
    for (uint64_t i = 0; s->kind == SEALED && i < f->tiles; i++) {
        const uint8_t *record = payload + f->tiles_begin + i * f->record_size;
        struct wcodec_fixed_list list;
        if (wcodec_fixed_list_find(f, record, &list) == WCODEC_TILE_OK)
            wcodec_store_u32(payload + f->checks_begin + 4 * i,
                             wcodec_fixed_tile_check(
                                 f, record, payload + f->spilled_begin + 4 * list.spilled_first,
                                 list.spilled_count));
    }
    if (wcodec_fixed_check_front(f, payload, NULL) == WCODEC_OK)
        compare_matrix(f, payload);
    free(payload);
}

/* Modes and scales, whose check is made right so that they are looked at; false: they are refused.
 */
static bool take_side(struct subject *s, const uint8_t *rest, size_t left)
{
    s->side_size = s->kind == BLOCKS  ? (size_t)wcodec_blocks_tiles_begin(&s->blocks)
                   : s->kind == LOSSY ? (size_t)wcodec_lossy_tiles_begin(&s->lossy)
                                      : 0;
    if (s->side_size > left)
        return false;
    s->side = fuzz_copy(rest, s->side_size);
    if (s->kind == BLOCKS) {
        s->blocks.check = wcodec_blocks_modes_check(&s->blocks, s->side);
        return wcodec_blocks_check_modes(&s->blocks, s->side, NULL) == WCODEC_OK;
    }
    if (s->kind == LOSSY) {
        s->lossy.check = wcodec_lossy_side_check(&s->lossy, s->side);
        return wcodec_lossy_check_side(&s->lossy, s->side, NULL) == WCODEC_OK;
    }
    return true;
}

static bool read_parameters(struct subject *s, wcodec_dtype dtype, struct wcodec_cursor *c)
{
    bool newer = false;
    wcodec_status status;
    switch (s->kind) {
    case FIXED:
    case SEALED:
        return wcodec_fixed_read(c, s->size, WCODEC_DTYPE_BF16, &s->fixed, &newer, NULL) ==
                   WCODEC_OK &&
               !newer;
    case TILES:
        status = wcodec_tiling_read(c, s->size, &s->tiling, NULL);
        s->element_log2 = s->tiling.element_log2;
        break;
    case BLOCKS:
        status = wcodec_blocks_read(c, s->size, &s->blocks, &s->tiling, &newer, NULL);
        s->element_log2 = s->blocks.element_log2;
        break;
    case FRAGMENTS:
        status = wcodec_fragments_read(c, s->size, &s->fragments, &s->tiling, &newer, NULL);
        s->element_log2 = s->fragments.element_log2;
        break;
    default:
        status = wcodec_lossy_read(c, s->size, dtype, &s->lossy, &s->tiling, &newer, NULL);
        s->element_log2 = s->lossy.element_log2;
        break;
    }
    return status == WCODEC_OK && !newer && s->tiling.tiles <= TILES_LIMIT;
}

static void decode(struct subject *s, const uint8_t *data, size_t size)
{
    struct wcodec_tiles *tiles;
    if (!take_side(s, data, size) || s->tiling.prefix_size > size - s->side_size)
        return;
    const size_t payload_size = size - s->side_size;
    uint8_t *payload = fuzz_copy(data + s->side_size, payload_size);
    if (wcodec_tiles_read(&s->tiling, payload, payload_size, &wcodec_default_allocator, &tiles,
                          NULL) == WCODEC_OK) {
        fuzz_deep++;
        compare(s, tiles, payload, payload_size, 0);
        compare(s, tiles, payload, payload_size, 64);
        compare(s, tiles, payload, payload_size, (uint64_t)1 << s->element_log2);
        wcodec_tiles_free(tiles);
    }
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint16_t one = 1;
    if (!wcodec_fibers_supported() || *(const uint8_t *)&one != 1) {
        fuzz_deep = 1; /* nothing to be run here */
        return 0;
    }
    if (size < 7)
        return 0;
    struct subject s = {.kind = (enum kind)(wcodec_load_u16(data) >> 13)};
    const size_t head = s.kind == LOSSY ? 7 : 6, parameters = wcodec_load_u16(data) & 0x1fff;
    s.size = wcodec_load_u32(data + head - 4);
    if (parameters > size - head || s.size > SIZE_LIMIT || (s.size == 0 && s.kind != TILES))
        return 0;
    struct wcodec_cursor cursor = {data + head, data + head + parameters};
    if (!read_parameters(&s, (wcodec_dtype)data[2], &cursor))
        return 0;
    if (device == NULL)
        open_device();
    if (s.kind == FIXED || s.kind == SEALED)
        decode_fixed(&s, data + head + parameters, size - head - parameters);
    else
        decode(&s, data + head + parameters, size - head - parameters);
    free(s.side);
    return 0;
}
