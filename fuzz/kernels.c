/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in tiles, in blocks, lossy or in fragments by the GPUs' kernels as C: the fault must be
 * the one that the reference finds first, and the bytes the reference's. u16: bytes of parameters,
 * and from 2^14 on the kind; lossy: u8 dtype; u32 size of the tensor; the parameters; modes and
 * scales as before the tiles; the tiles' payload. */
#include "backends/emulate/device.h"
#include "backends/emulate/fibers.h"
#include "coding/blocks.h"
#include "coding/lossy.h"
#include "coding/tile.h"
#include "fuzz/fuzz.h"
#include "registry/host.h"

const char fuzz_target[] = "kernels";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 16, TILES_LIMIT = 24, GUARD = 64 };

enum kind { TILES, BLOCKS, LOSSY, FRAGMENTS };

struct subject {
    enum kind kind;
    struct wcodec_tiling tiling;
    struct wcodec_blocks blocks;
    struct wcodec_lossy lossy;
    struct wcodec_fragments fragments;
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
    struct wcodec_job_result result;
    struct wcodec_batch *batch;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] =
            (struct wcodec_area_place){payload, tiles->area_begin[a], tiles->area_begin[a],
                                       tiles->area_end[a] - tiles->area_begin[a]};
    require(backend.batch_create(queue, &job, 1, &batch, NULL));
    require(backend.batch_decode(queue, batch, NULL));
    require(backend.batch_results(queue, batch, &result, NULL));
    backend.batch_destroy(batch);
    return result;
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
    struct subject s = {.kind = (enum kind)(wcodec_load_u16(data) >> 14)};
    const size_t head = s.kind == LOSSY ? 7 : 6, parameters = wcodec_load_u16(data) & 0x3fff;
    s.size = wcodec_load_u32(data + head - 4);
    if (parameters > size - head || s.size > SIZE_LIMIT || (s.size == 0 && s.kind != TILES))
        return 0;
    struct wcodec_cursor cursor = {data + head, data + head + parameters};
    if (!read_parameters(&s, (wcodec_dtype)data[2], &cursor))
        return 0;
    if (device == NULL)
        open_device();
    decode(&s, data + head + parameters, size - head - parameters);
    free(s.side);
    return 0;
}
