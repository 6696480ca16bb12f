/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Any bytes as a file: where its tensors are found they lie apart, in order and inside, with the
 * bytes that their types and shapes make. Of an ONNX model, the same bytes are its external data,
 * too. */
#include "format/layout.h"
#include "format/onnx.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <wcodec/reader.h>

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

/* The same as a file that is opened by the public interface, twice. */
static void open_original(const uint8_t *data, size_t size, uint64_t count)
{
    fuzz_file("original", data, size);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_original *original;
        wcodec_original_info info;
        wcodec_tensor_info tensor;
        const int fd = open(fuzz_path("original"), O_RDONLY | O_CLOEXEC);
        FUZZ_REQUIRE(fd >= 0);
        FUZZ_REQUIRE(wcodec_original_open_fd(fuzz_context(), fd, NULL, NULL, &original, NULL) ==
                     WCODEC_OK);
        wcodec_original_describe(original, &info);
        FUZZ_REQUIRE(info.tensors == count);
        for (uint64_t k = 0; k < count; k++)
            FUZZ_REQUIRE(wcodec_original_tensor(original, k, &tensor, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_original_tensor(original, count, &tensor, NULL) == WCODEC_ERROR_USAGE);
        for (uint64_t k = 0; k < info.metadata; k++) {
            const char *key, *value;
            FUZZ_REQUIRE(wcodec_original_metadata(original, k, &key, &value, NULL) == WCODEC_OK &&
                         key != NULL && value != NULL);
        }
        wcodec_original_close(original);
        close(fd);
    }
}

/* After some zeros as external data of itself by the public interface, twice: a model is kept from
 * the first time on. */
static void open_external(const struct wcodec_file_layout *model, const uint8_t *data, size_t size)
{
    static const char prefix[] = "onnx.external.";
    char path[4096];
    uint8_t *external = calloc(1, size + 8);
    FUZZ_REQUIRE(external != NULL);
    memcpy(external + 8, data, size);
    fuzz_file("external", external, size + 8);
    free(external);
    snprintf(path, sizeof path, "%s", fuzz_path("original"));
    for (uint64_t i = 0; i < 2 * model->metadata_count; i++) {
        const char *key = model->metadata[i / 2 * 2];
        wcodec_original *original;
        wcodec_error err = {0};
        if (strncmp(key, prefix, sizeof prefix - 1) != 0)
            continue;
        const int fd = open(fuzz_path("external"), O_RDONLY | O_CLOEXEC);
        FUZZ_REQUIRE(fd >= 0);
        const wcodec_status status = wcodec_original_open_fd(
            fuzz_context(), fd, path, key + sizeof prefix - 1, &original, &err);
        FUZZ_REQUIRE(status == WCODEC_OK || err.text[0] != 0);
        if (status == WCODEC_OK)
            wcodec_original_close(original);
        close(fd);
    }
}

/* The hash of bytes is that of the file with them. */
static void check_hash(const uint8_t *data, size_t size)
{
    uint8_t one[16], other[16];
    const int fd = open(fuzz_path("original"), O_RDONLY | O_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0);
    FUZZ_REQUIRE(wcodec_hash_memory(fuzz_context(), data, size, one, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(wcodec_hash_fd(fuzz_context(), fd, NULL, other, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(one, other, sizeof one) == 0);
    close(fd);
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
        open_original(data, size, layout->count);
        if (strcmp(layout->kind, "onnx") == 0)
            open_external(layout, data, size);
        check_hash(data, size);
        wcodec_layout_free(layout);
    }
    free(copy);
    return 0;
}
