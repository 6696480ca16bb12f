/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in tiles: u16 bytes of parameters, u32 size of the tensor, the parameters, the payload.
 * All decoders must agree on bytes and faults, and keep to their buffers, and so must encoders of
 * what they give. */
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/decode.h"
#include "coding/packed.h"
#include "coding/tile.h"
#include "fuzz/encode_again.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "tile_payload";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 18, TILES_LIMIT = 64 };

static void decode_reference(const struct wcodec_tiles *tiles, const struct wcodec_view *view,
                             uint8_t *out, enum wcodec_tile_fault *faults, bool verify)
{
    const struct wcodec_tiling *t = tiles->tiling;
    for (uint64_t i = 0; i < t->tiles; i++)
        faults[i] = wcodec_tile_decode(tiles, view, i, out + (i << t->tile_log2 << t->element_log2),
                                       verify);
}

static size_t tile_bytes(const struct wcodec_tiling *t, uint64_t tile)
{
    return (size_t)wcodec_tile_elements(t, tile) << t->element_log2;
}

static void compare(const struct wcodec_tiling *t, const uint8_t *a,
                    const enum wcodec_tile_fault *fa, const uint8_t *b,
                    const enum wcodec_tile_fault *fb)
{
    for (uint64_t i = 0; i < t->tiles; i++) {
        const uint64_t at = i << t->tile_log2 << t->element_log2;
        FUZZ_REQUIRE(fa[i] == fb[i]);
        FUZZ_REQUIRE((fa[i] != WCODEC_TILE_OK && fa[i] != WCODEC_TILE_CHECK) ||
                     memcmp(a + at, b + at, tile_bytes(t, i)) == 0);
    }
}

static void decode_with(uint32_t levels, const struct wcodec_tiles *tiles,
                        const struct wcodec_view *view, const uint8_t *expected,
                        const enum wcodec_tile_fault *expected_faults)
{
    const struct wcodec_tiling *t = tiles->tiling;
    struct wcodec_cpu_dsp dsp;
    struct wcodec_cpu_decoder *decoder;
    wcodec_cpu_dsp_init(&dsp, levels);
    FUZZ_REQUIRE(wcodec_cpu_decoder_create(&dsp, tiles, &wcodec_default_allocator, &decoder,
                                           NULL) == WCODEC_OK);
    for (int stream = 0; stream < 2; stream++) {
        enum wcodec_tile_fault faults[TILES_LIMIT];
        uint8_t *out = fuzz_guarded((size_t)t->size);
        wcodec_cpu_decode_tiles(decoder, view, 0, (unsigned)t->tiles, out, true, stream != 0,
                                faults);
        compare(t, expected, expected_faults, out, faults);
        fuzz_guarded_free(out, (size_t)t->size);
    }
    wcodec_cpu_decoder_free(decoder);
}

/* Every level, and where it has choices, two sets of them that differ in each. */
static void decode_levels(const struct wcodec_tiles *tiles, const struct wcodec_view *view,
                          const uint8_t *expected, const enum wcodec_tile_fault *expected_faults)
{
    const uint32_t levels = wcodec_cpu_levels(),
                   straight = WCODEC_CPU_STRAIGHT | WCODEC_CPU_STRAIGHT_PAIRS;
    for (unsigned level = 0; level < WCODEC_CPU_LEVELS; level++) {
        if (!(levels >> level & 1))
            continue;
        const uint32_t mask = levels & ((2u << level) - 1);
        decode_with(mask, tiles, view, expected, expected_faults);
        if (1u << level == WCODEC_CPU_AVX512)
            decode_with(mask | straight, tiles, view, expected, expected_faults);
        if (1u << level == WCODEC_CPU_AVX512 || 1u << level == WCODEC_CPU_AVX2)
            decode_with(mask | (WCODEC_CPU_TUNINGS & ~straight), tiles, view, expected,
                        expected_faults);
    }
}

static void decode_all(const struct wcodec_tiles *tiles, const uint8_t *payload)
{
    const struct wcodec_tiling *t = tiles->tiling;
    struct wcodec_view view;
    wcodec_view_whole(payload, &view);
    enum wcodec_tile_fault first[TILES_LIMIT], second[TILES_LIMIT], unverified[TILES_LIMIT];
    uint8_t *a = fuzz_guarded((size_t)t->size), *b = fuzz_guarded((size_t)t->size);
    decode_reference(tiles, &view, a, first, true);
    memset(b, 0x5A, (size_t)t->size);
    decode_reference(tiles, &view, b, second, true);
    compare(t, a, first, b, second);
    decode_reference(tiles, &view, b, unverified, false);
    for (uint64_t i = 0; i < t->tiles; i++) {
        const uint64_t at = i << t->tile_log2 << t->element_log2;
        FUZZ_REQUIRE(unverified[i] == (first[i] == WCODEC_TILE_CHECK ? WCODEC_TILE_OK : first[i]));
        FUZZ_REQUIRE(unverified[i] != WCODEC_TILE_OK ||
                     memcmp(a + at, b + at, tile_bytes(t, i)) == 0);
        if (first[i] == WCODEC_TILE_OK)
            FUZZ_REQUIRE(wcodec_tile_check(a + at, wcodec_tile_elements(t, i), t->element_log2) ==
                         tiles->checks[i]);
    }
    decode_levels(tiles, &view, a, first);
    if (first[0] == WCODEC_TILE_OK)
        fuzz_encode_again(tiles, 0, a);
    fuzz_guarded_free(a, (size_t)t->size);
    fuzz_guarded_free(b, (size_t)t->size);
}

/* Its packed form comes back as it was made: what is ignored in the payload is zero then. */
static void pack(const struct wcodec_tiling *t, const uint8_t *payload, size_t size)
{
    uint8_t *packed = malloc(2 * size + 1000), *again = malloc(2 * size + 1000),
            *unpacked = malloc(size + 1);
    const size_t made = wcodec_packed_write(t, payload, size, packed, 2 * size + 1000);
    if (made != 0) {
        FUZZ_REQUIRE(wcodec_packed_read(t, packed, made, unpacked, size, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_packed_write(t, unpacked, size, again, 2 * size + 1000) == made &&
                     memcmp(packed, again, made) == 0);
        packed[made / 2] ^= 1;
        (void)wcodec_packed_read(t, packed, made, unpacked, size, NULL);
    }
    /* Bytes that nobody packed. */
    (void)wcodec_packed_read(t, payload, size, unpacked, size, NULL);
    free(packed);
    free(again);
    free(unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 2);
    if (parameters > size - 6 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + 6, data + 6 + parameters};
    struct wcodec_tiling tiling;
    wcodec_error err = {0};
    wcodec_status status = wcodec_tiling_read(&cursor, tensor, &tiling, &err);
    if (status != WCODEC_OK) {
        FUZZ_REQUIRE(status == WCODEC_ERROR_CORRUPT && err.text[0] != 0);
        return 0;
    }
    uint8_t again[WCODEC_TILING_MAX_BYTES];
    FUZZ_REQUIRE(wcodec_tiling_write(&tiling, again) == parameters &&
                 memcmp(again, data + 6, parameters) == 0);
    const size_t payload_size = size - 6 - parameters;
    if (tiling.prefix_size > payload_size || tiling.tiles > TILES_LIMIT)
        return 0; /* what a reader of the index has refused already, or a limit of this target */
    uint8_t *payload = fuzz_copy(data + 6 + parameters, payload_size);
    struct wcodec_tiles *tiles;
    status =
        wcodec_tiles_read(&tiling, payload, payload_size, &wcodec_default_allocator, &tiles, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        for (int a = 0; a < WCODEC_AREAS; a++)
            FUZZ_REQUIRE(tiles->area_begin[a] <= tiles->area_end[a] &&
                         tiles->area_end[a] <= payload_size);
        fuzz_deep++;
        decode_all(tiles, payload);
        if (wcodec_packed_applies(&tiling, payload_size))
            pack(&tiling, payload, payload_size);
        wcodec_tiles_free(tiles);
    }
    free(payload);
    return 0;
}
