/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Any bytes as a file: where its tensors are found they lie apart, in order and inside, with the
 * bytes that their types and shapes make. Of an ONNX model, the same bytes are its external data,
 * too. */
#include "format/layout.h"
#include "format/onnx.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"

#include <string.h>

const char fuzz_target[] = "layout";
const bool fuzz_takes_files = false;

static void check(const struct wcodec_file_layout *layout, uint64_t file_size)
{
    uint64_t at = 0, size;
    for (uint64_t i = 0; i < layout->count; i++) {
        const struct wcodec_layout_tensor *t = &layout->tensors[i];
        FUZZ_REQUIRE(t->offset >= at && t->size <= file_size - t->offset);
        at = t->offset + t->size;
        FUZZ_REQUIRE(t->name != NULL && t->dtype_name != NULL && t->dtype < WCODEC_DTYPE_COUNT);
        if (t->dtype != WCODEC_DTYPE_OTHER)
            FUZZ_REQUIRE(wcodec_dtype_size(t->dtype, t->shape, t->rank, &size) && size == t->size);
    }
    FUZZ_REQUIRE(at <= file_size);
}

static void check_external(const struct wcodec_file_layout *model,
                           const struct wcodec_source *source)
{
    static const char prefix[] = "onnx.external.";
    struct wcodec_onnx_model *whole;
    if (strcmp(model->kind, "onnx") != 0)
        return;
    FUZZ_REQUIRE(wcodec_onnx_model_read(source, &wcodec_default_allocator, &whole, NULL) ==
                 WCODEC_OK);
    for (uint64_t i = 0; i < model->metadata_count; i++) {
        struct wcodec_file_layout *layout = NULL;
        const char *key = model->metadata[2 * i];
        if (strncmp(key, prefix, sizeof prefix - 1) != 0)
            continue;
        const wcodec_status status = wcodec_layout_read_external(
            source, whole, key + sizeof prefix - 1, &wcodec_default_allocator, &layout, NULL);
        FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_CORRUPT);
        if (status == WCODEC_OK)
            check(layout, source->size);
        wcodec_layout_free(layout);
    }
    wcodec_onnx_model_free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct wcodec_source source;
    struct wcodec_file_layout *layout = NULL;
    wcodec_error err = {0};
    wcodec_source_memory(copy, size, &source);
    const wcodec_status status =
        wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &layout, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        fuzz_deep++;
        check(layout, size);
        check_external(layout, &source);
        wcodec_layout_free(layout);
    }
    free(copy);
    return 0;
}
