/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The published files of vectors: sizes of the first two (16 bits each), then the three one after
 * the other. What is accepted is written again as the same bytes but for the flags, has indices of
 * anchors that there are, and can be measured on rows. */
#include "fuzz/fuzz.h"
#include <wcodec/vectors.h>

const char fuzz_target[] = "vectors";
const bool fuzz_takes_files = false;

struct expected {
    const uint8_t *at, *end;
    bool head;
};

static int compare(void *opaque, const void *data, size_t size)
{
    struct expected *e = opaque;
    const size_t exact = e->head ? size - 1 : size;
    FUZZ_REQUIRE(size != 0 && size <= (size_t)(e->end - e->at) && memcmp(e->at, data, exact) == 0);
    e->at += size;
    return 0;
}

static void check_export(const wcodec_vectors *vectors, const void *const data[3],
                         const size_t size[3])
{
    for (int part = 0; part < 3; part++) {
        const uint8_t *begin = data[part];
        struct expected e = {begin, begin + size[part], part == WCODEC_VECTORS_PART_HEAD};
        FUZZ_REQUIRE(wcodec_vectors_export(vectors, (wcodec_vectors_part)part, compare, &e, NULL) ==
                         WCODEC_OK &&
                     e.at == e.end);
    }
}

static void check_quality(const wcodec_vectors *vectors, const wcodec_vectors_info *info)
{
    float *data = calloc((size_t)(info->rows * info->dimensions), sizeof *data);
    const wcodec_vector_rows rows = {.dtype = WCODEC_DTYPE_F32,
                                     .count = info->rows,
                                     .dimensions = info->dimensions,
                                     .data = data};
    const uint64_t queries = info->rows > 1 ? 1 : 0;
    wcodec_vectors_quality q;
    FUZZ_REQUIRE(data != NULL && wcodec_vectors_evaluate(fuzz_context(), vectors, &rows, queries, 1,
                                                         NULL, &q, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(q.energy >= 0 && q.recall >= 0 && q.recall <= 1 && q.index_bits >= 0 &&
                 q.smallest <= q.largest && q.largest <= info->rows && q.empty < info->anchors);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    size_t sizes[3] = {0};
    const void *parts[3];
    uint8_t *copies[3];
    wcodec_vectors *vectors = NULL;
    wcodec_error err = {0};
    for (unsigned i = 0; i < 2; i++) {
        sizes[i] = fuzz_take(&c);
        sizes[i] |= (size_t)fuzz_take(&c) << 8;
    }
    for (unsigned i = 0; i < 3; i++) {
        const size_t left = (size_t)(c.end - c.at);
        sizes[i] = i == 2 || sizes[i] > left ? left : sizes[i];
        parts[i] = copies[i] = fuzz_copy(c.at, sizes[i]);
        c.at += sizes[i];
    }
    const wcodec_status status =
        wcodec_vectors_import(fuzz_context(), parts, sizes, &vectors, &err);
    if (status == WCODEC_OK) {
        wcodec_vectors_info info;
        wcodec_vectors_describe(vectors, &info);
        for (uint64_t i = 0; i < info.rows; i++)
            FUZZ_REQUIRE(info.index[i] < info.anchors);
        check_export(vectors, parts, sizes);
        if (info.rows * info.dimensions <= 1 << 16)
            check_quality(vectors, &info);
        fuzz_deep++;
    } else
        FUZZ_REQUIRE((status == WCODEC_ERROR_CORRUPT || status == WCODEC_ERROR_NEWER) &&
                     vectors == NULL && err.status == status && err.text[0] != 0);
    wcodec_vectors_destroy(vectors);
    for (unsigned i = 0; i < 3; i++)
        free(copies[i]);
    return 0;
}
