/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding 2: u32 size, u32 chunk, then the payload. */
#include "coding/chunks.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "chunk";
const bool fuzz_takes_files = false;

static void decode_chunks(const struct wcodec_chunks *chunks, const uint8_t *payload,
                          size_t payload_size)
{
    for (uint64_t i = 0; i < chunks->count; i++) {
        const uint64_t at = i * chunks->chunk;
        const size_t size =
            (size_t)(chunks->size - at < chunks->chunk ? chunks->size - at : chunks->chunk);
        FUZZ_REQUIRE(chunks->offsets[i] <= payload_size &&
                     chunks->coded[i] <= payload_size - chunks->offsets[i] &&
                     chunks->coded[i] <= size);
        uint8_t *a = fuzz_guarded(size), *b = fuzz_guarded(size);
        wcodec_error err = {0};
        const wcodec_status status =
            wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i], a, true, &err);
        FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
        const wcodec_status unverified =
            wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i], b, false, &err);
        FUZZ_REQUIRE(status != WCODEC_OK || (unverified == WCODEC_OK && memcmp(a, b, size) == 0));
        fuzz_guarded_free(a, size);
        fuzz_guarded_free(b, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    const uint64_t decoded = wcodec_load_u32(data) % (1u << 20), chunk = wcodec_load_u32(data + 4);
    if (decoded == 0 || chunk == 0 || chunk > WCODEC_CHUNK_MAX)
        return 0; /* refused with the record */
    const size_t payload_size = size - 8;
    const uint64_t directory = wcodec_chunks_directory_size(decoded, chunk);
    if (directory > payload_size)
        return 0;
    uint8_t *payload = fuzz_copy(data + 8, payload_size);
    struct wcodec_chunks *chunks;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_chunks_read(decoded, chunk, payload, payload_size,
                                                    &wcodec_default_allocator, &chunks, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        fuzz_deep++;
        decode_chunks(chunks, payload, payload_size);
        wcodec_chunks_free(chunks);
    }
    free(payload);
    return 0;
}
