/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A .wcodec file of deltas and the file that they stand on, which is a path: u32 size of the base,
 * the base, the deltas. Both as they are, then with the hashes of heads and tails put right, and
 * the checks of the deltas' sides: what is decoded is decoded twice alike, by rows too. */
#include "coding/delta.h"
#include "format/index.h"
#include "fuzz/container.h"
#include "fuzz/exercise.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "deltas";
const bool fuzz_takes_files = false;

static const uint8_t *base_bytes;
static size_t base_size;

static void describe(const wcodec_reader *reader)
{
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_delta_info info;
        FUZZ_REQUIRE(wcodec_reader_delta(reader, i, &info, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(info.delta || (info.depth == 0 && info.base_size == 0));
    }
}

/* The deltas by the base, which is in a file; the folder is searched where it is not named. */
static void run(const uint8_t *data, size_t size)
{
    wcodec_bases *bases;
    wcodec_reader *reader;
    wcodec_error err = {0};
    struct exercise_result result;
    if (wcodec_reader_open_memory(fuzz_context(), data, size, &reader, NULL) != WCODEC_OK)
        return;
    fuzz_file("base.wcodec", base_bytes, base_size);
    FUZZ_REQUIRE(wcodec_bases_create(fuzz_context(), 2, &bases, NULL) == WCODEC_OK);
    wcodec_status status = size % 2 == 0
                               ? wcodec_bases_add_path(bases, fuzz_path("base.wcodec"), &err)
                               : wcodec_bases_find(bases, reader, fuzz_folder(), &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    if (status == WCODEC_OK)
        status = wcodec_reader_set_bases(reader, bases, NULL);
    if (status == WCODEC_OK) {
        fuzz_deep++;
        describe(reader);
        exercise_reader(reader, &result);
        free(result.restored);
    }
    wcodec_reader_close(reader);
    wcodec_bases_destroy(bases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || wcodec_load_u32(data) > size - 4)
        return 0;
    base_bytes = data + 4;
    base_size = wcodec_load_u32(data);
    fuzz_container(run, base_bytes + base_size, size - 4 - base_size);
    return 0;
}
