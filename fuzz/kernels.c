/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in tiles, as for tile_payload, by the GPUs' kernels as C: the fault must be the one that
 * the reference finds first, and the bytes the reference's. */
#include "backends/emulate/device.h"
#include "backends/emulate/fibers.h"
#include "coding/tile.h"
#include "fuzz/fuzz.h"
#include "registry/host.h"

const char fuzz_target[] = "kernels";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 16, TILES_LIMIT = 24, GUARD = 64 };

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

/* The first fault by the reference. */
static struct wcodec_job_result decode_reference(const struct wcodec_tiles *tiles,
                                                 const uint8_t *payload, uint8_t *out)
{
    const struct wcodec_tiling *t = tiles->tiling;
    struct wcodec_view view;
    wcodec_view_whole(payload, &view);
    for (uint64_t i = 0; i < t->tiles; i++) {
        const enum wcodec_tile_fault fault =
            wcodec_tile_decode(tiles, &view, i, out + (i << t->tile_log2 << t->element_log2), true);
        if (fault != WCODEC_TILE_OK)
            return (struct wcodec_job_result){i, fault};
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}

static struct wcodec_job_result decode_emulated(const struct wcodec_tiles *tiles,
                                                struct wcodec_memory *payload,
                                                struct wcodec_memory *out, uint64_t at)
{
    struct wcodec_job job = {.tiles = tiles,
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
static void compare(const struct wcodec_tiles *tiles, const uint8_t *payload, size_t payload_size,
                    uint64_t shift)
{
    const size_t size = (size_t)tiles->tiling->size, all = (size_t)shift + size + 2 * GUARD;
    uint8_t *expected = calloc(1, all);
    FUZZ_REQUIRE(expected != NULL);
    struct wcodec_memory *from = memory_of(payload, payload_size), *to = memory_of(expected, all);
    const struct wcodec_job_result wanted =
                                       decode_reference(tiles, payload, expected + GUARD + shift),
                                   result = decode_emulated(tiles, from, to, GUARD + shift);
    FUZZ_REQUIRE(result.fault == wanted.fault && result.tile == wanted.tile);
    if (wanted.fault != WCODEC_TILE_OK)
        memset(expected, 0, all);
    FUZZ_REQUIRE(memcmp(backend.memory_pointer(to), expected, all) == 0);
    backend.memory_free(from);
    backend.memory_free(to);
    free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint16_t one = 1;
    if (!wcodec_fibers_supported() || *(const uint8_t *)&one != 1) {
        fuzz_deep = 1; /* nothing to be run here */
        return 0;
    }
    if (size < 6)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 2);
    if (parameters > size - 6 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + 6, data + 6 + parameters};
    struct wcodec_tiling tiling;
    if (wcodec_tiling_read(&cursor, tensor, &tiling, NULL) != WCODEC_OK)
        return 0;
    const size_t payload_size = size - 6 - parameters;
    if (tiling.prefix_size > payload_size || tiling.tiles > TILES_LIMIT)
        return 0;
    if (device == NULL)
        open_device();
    uint8_t *payload = fuzz_copy(data + 6 + parameters, payload_size);
    struct wcodec_tiles *tiles;
    if (wcodec_tiles_read(&tiling, payload, payload_size, &wcodec_default_allocator, &tiles,
                          NULL) == WCODEC_OK) {
        fuzz_deep++;
        compare(tiles, payload, payload_size, 0);
        compare(tiles, payload, payload_size, 64);
        compare(tiles, payload, payload_size, (uint64_t)1 << tiling.element_log2);
        wcodec_tiles_free(tiles);
    }
    free(payload);
    return 0;
}
