/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A matrix in fragments: u16 bytes of parameters, u32 size of the tensor, the parameters, then
 * bytes that are taken for the sequence, over and over. What they give must not depend on which
 * bytes of the tensor are asked for, nor on who takes them there, and must give the sequence back.
 */
#include "backends/cpu/fragments.h"
#include "core/error.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "fragments";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 17 };

static void check_order(const struct wcodec_fragments *f, const uint8_t *sequence, uint64_t cut)
{
    const uint64_t elements = f->rows * f->columns, middle = cut >> f->element_log2;
    const uint8_t *rest = sequence + (middle << f->element_log2);
    uint8_t *whole = fuzz_guarded((size_t)f->size), *head = fuzz_guarded((size_t)cut),
            *tail = fuzz_guarded((size_t)(f->size - cut)), *again = fuzz_guarded((size_t)f->size);
    wcodec_fragments_put(f, 0, elements, sequence, 0, f->size, whole);
    wcodec_cpu_fragments_put(f, 0, middle, sequence, 0, cut, head);
    wcodec_cpu_fragments_put(f, middle, elements - middle, rest, 0, cut, head);
    wcodec_cpu_fragments_put(f, 0, elements, sequence, cut, f->size, tail);
    FUZZ_REQUIRE(memcmp(whole, head, (size_t)cut) == 0 &&
                 memcmp(whole + cut, tail, (size_t)(f->size - cut)) == 0);
    wcodec_fragments_gather(f, whole, 0, elements, again);
    FUZZ_REQUIRE(memcmp(again, sequence, (size_t)f->size) == 0);
    wcodec_cpu_fragments_gather(f, whole, middle, elements - middle,
                                again + (middle << f->element_log2));
    FUZZ_REQUIRE(memcmp(again, sequence, (size_t)f->size) == 0);
    fuzz_guarded_free(whole, (size_t)f->size);
    fuzz_guarded_free(head, (size_t)cut);
    fuzz_guarded_free(tail, (size_t)(f->size - cut));
    fuzz_guarded_free(again, (size_t)f->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 2);
    if (parameters > size - 6 || tensor == 0 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + 6, data + 6 + parameters};
    struct wcodec_fragments fragments;
    struct wcodec_tiling tiling;
    wcodec_error err = {0};
    bool newer;
    const wcodec_status status =
        wcodec_fragments_read(&cursor, tensor, &fragments, &tiling, &newer, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status != WCODEC_OK || newer)
        return 0;
    uint8_t again[WCODEC_FRAGMENTS_MAX_BYTES];
    FUZZ_REQUIRE(wcodec_fragments_write(&fragments, &tiling, again) == parameters &&
                 memcmp(again, data + 6, parameters) == 0);
    FUZZ_REQUIRE(tiling.size == tensor &&
                 fragments.rows * fragments.columns << fragments.element_log2 == tensor);
    const size_t left = size - 6 - parameters;
    uint8_t *sequence = malloc(tensor);
    FUZZ_REQUIRE(sequence);
    for (size_t i = 0; i < tensor; i++)
        sequence[i] = left > 0 ? (uint8_t)(data[6 + parameters + i % left] + i / left) : (uint8_t)i;
    fuzz_deep++;
    check_order(&fragments, sequence, (uint64_t)sequence[0] * tensor / 256);
    free(sequence);
    return 0;
}
