/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/container.h"
#include "format/index.h"
#include "fuzz/fuzz.h"
#include <xxhash.h>

/* What a zstd frame of 14 bytes or more says that it decodes to (RFC 8878, 3.1.1.1); 0: nothing. */
static uint64_t content_size(const uint8_t *frame)
{
    const bool single = frame[4] >> 5 & 1;
    const uint8_t *at = frame + (single ? 5 : 6);
    switch (frame[4] >> 6) {
    case 0:
        return single ? *at : 0;
    case 1:
        return 256u + wcodec_load_u16(at);
    case 2:
        return wcodec_load_u32(at);
    default:
        return wcodec_load_u64(at);
    }
}

void fuzz_container_right(uint8_t *file, size_t size)
{
    if (size < WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE)
        return;
    uint8_t *tail = file + size - WCODEC_TAIL_SIZE;
    uint64_t at = wcodec_load_u64(tail);
    if (at > size - WCODEC_TAIL_SIZE)
        at = WCODEC_HEAD_SIZE;
    const uint64_t coded = size - WCODEC_TAIL_SIZE - at;
    wcodec_store_u64(file + 56, XXH3_64bits(file, 56));
    wcodec_store_u64(tail, at);
    wcodec_store_u64(tail + 8, coded);
    if (coded >= 14)
        wcodec_store_u64(tail + 16, content_size(file + at));
    wcodec_store_u64(tail + 24, XXH3_64bits(file + at, (size_t)coded));
    wcodec_store_u64(tail + 32, size);
    memcpy(tail + 40, file + 56, 8);
    wcodec_store_u64(tail + 48, XXH3_64bits(tail, 48));
}

void fuzz_container(void (*run)(const uint8_t *data, size_t size), const uint8_t *data, size_t size)
{
    run(data, size);
    if (size < WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE)
        return;
    uint8_t *file = fuzz_copy(data, size);
    fuzz_container_right(file, size);
    run(file, size);
    free(file);
}
