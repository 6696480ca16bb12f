/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file without its tail, as damaged as it may be: what is left of it is opened, listed, tested
 * and decoded. */
#include "format/groups.h"
#include "fuzz/fuzz.h"
#include <string.h>
#include <wcodec/reader.h>
#include <xxhash.h>

const char fuzz_target[] = "salvage";
const bool fuzz_takes_files = true;

enum { TENSOR_LIMIT = 1 << 20 };

static void decode(const wcodec_reader *reader, uint64_t i)
{
    wcodec_tensor_info info;
    FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK && info.name != NULL);
    if (info.size > TENSOR_LIMIT)
        return;
    const size_t size = (size_t)info.size;
    uint8_t *a = fuzz_guarded(size), *b = fuzz_guarded(size);
    const wcodec_status status = wcodec_reader_decode(reader, i, a, size, NULL, NULL);
    FUZZ_REQUIRE(status == wcodec_reader_decode(reader, i, b, size, NULL, NULL));
    FUZZ_REQUIRE(status != WCODEC_ERROR_IO && status != WCODEC_ERROR_USAGE);
    if (status == WCODEC_OK)
        FUZZ_REQUIRE(memcmp(a, b, size) == 0);
    fuzz_guarded_free(a, size);
    fuzz_guarded_free(b, size);
}

static void run(const uint8_t *data, size_t size)
{
    wcodec_reader *reader = NULL;
    wcodec_file_info info;
    const wcodec_status status =
        wcodec_reader_salvage_memory(fuzz_context(), data, size, &reader, NULL);
    FUZZ_REQUIRE((status == WCODEC_OK) == (reader != NULL));
    FUZZ_REQUIRE(status != WCODEC_ERROR_IO && status != WCODEC_ERROR_USAGE);
    if (reader == NULL)
        return;
    FUZZ_REQUIRE(wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(info.rebuilt || info.missing == 0);
    FUZZ_REQUIRE(info.missing <= info.size);
    fuzz_deep += info.rebuilt && info.tensors > 0;
    for (uint64_t i = 0; i < info.tensors; i++)
        decode(reader, i);
    if (info.size <= TENSOR_LIMIT) {
        const wcodec_status tested = wcodec_reader_test(reader, 0, 0, NULL, NULL);
        FUZZ_REQUIRE(info.missing == 0 || tested == WCODEC_ERROR_CORRUPT);
    }
    wcodec_reader_close(reader);
}

/* The checksums of the head and of the first header, made right. */
static void put_right(uint8_t *file, size_t size)
{
    uint8_t *header = file + WCODEC_HEAD_SIZE;
    wcodec_store_u64(file + 56, XXH3_64bits(file, 56));
    const uint32_t own = wcodec_load_u32(header + 8) & ~WCODEC_GROUP_PACKED;
    if (own > 8 && own <= size - WCODEC_HEAD_SIZE)
        wcodec_store_u64(header, XXH3_64bits(header + 8, own - 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run(data, size);
    if (size <= WCODEC_HEAD_SIZE + WCODEC_GROUP_MIN)
        return 0;
    size -= size > 2 * WCODEC_TAIL_SIZE + WCODEC_GROUP_MIN ? WCODEC_TAIL_SIZE : 0;
    uint8_t *file = fuzz_copy(data, size);
    put_right(file, size);
    run(file, size);
    free(file);
    return 0;
}
