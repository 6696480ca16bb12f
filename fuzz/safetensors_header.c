/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* u32 bytes of data behind the header, then the JSON text. What is accepted must be what another
 * JSON parser reads, and lie as the rules say. */
#include "format/safetensors.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"
#include <jansson.h>

const char fuzz_target[] = "safetensors_header";
const bool fuzz_takes_files = false;

static void check_tensor(const struct wcodec_safetensor *t, const json_t *root)
{
    const json_t *entry = json_object_get(root, t->name),
                 *offsets = json_object_get(entry, "data_offsets"),
                 *shape = json_object_get(entry, "shape");
    FUZZ_REQUIRE(entry && json_array_size(offsets) == 2 && json_array_size(shape) == t->rank);
    FUZZ_REQUIRE((uint64_t)json_integer_value(json_array_get(offsets, 0)) == t->offset &&
                 (uint64_t)json_integer_value(json_array_get(offsets, 1)) == t->offset + t->size);
    for (unsigned i = 0; i < t->rank; i++)
        FUZZ_REQUIRE((uint64_t)json_integer_value(json_array_get(shape, i)) == t->shape[i]);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    FUZZ_REQUIRE(dtype && strcmp(dtype, t->dtype_name) == 0 &&
                 wcodec_dtype_from_name(dtype) == t->dtype);
    uint64_t size;
    if (t->dtype != WCODEC_DTYPE_OTHER)
        FUZZ_REQUIRE(wcodec_dtype_size(t->dtype, t->shape, t->rank, &size) && size == t->size);
}

static void check_accepted(const struct wcodec_safetensors *s, const uint8_t *text, size_t size,
                           uint64_t behind)
{
    FUZZ_REQUIRE(s->header_size == size + 8 && wcodec_load_u64(s->header) == size &&
                 memcmp(s->header + 8, text, size) == 0);
    json_error_t reason;
    json_t *root = json_loadb((const char *)text, size, 0, &reason);
    if (!root) /* jansson takes no number beyond a double's range; where the library does, there is
                  nothing to compare */
        FUZZ_REQUIRE(strstr(reason.text, "overflow") || strstr(reason.text, "too big") ||
                     strstr(reason.text, "depth"));
    uint64_t at = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        FUZZ_REQUIRE(s->tensors[i].offset == at);
        at += s->tensors[i].size;
        if (root)
            check_tensor(&s->tensors[i], root);
    }
    FUZZ_REQUIRE(at == behind);
    if (root)
        FUZZ_REQUIRE(json_object_size(root) ==
                     s->count + (json_object_get(root, "__metadata__") != NULL));
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    const uint32_t behind = wcodec_load_u32(data) % 100000;
    const uint8_t *text = data + 4;
    size -= 4;
    uint8_t *file = malloc(8 + size + behind);
    FUZZ_REQUIRE(file);
    wcodec_store_u64(file, size);
    memcpy(file + 8, text, size);
    memset(file + 8 + size, 0, behind);
    struct wcodec_source source;
    wcodec_source_memory(file, 8 + size + behind, &source);
    struct wcodec_safetensors *safetensors;
    wcodec_error err = {0};
    wcodec_status status =
        wcodec_safetensors_read(&source, &wcodec_default_allocator, &safetensors, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        fuzz_deep++;
        check_accepted(safetensors, text, size, behind);
        wcodec_safetensors_free(safetensors);
    }
    free(file);
    /* The text as a whole file: a length word of any value. */
    uint8_t *copy = fuzz_copy(text, size);
    wcodec_source_memory(copy, size, &source);
    status = wcodec_safetensors_read(&source, &wcodec_default_allocator, &safetensors, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK)
        wcodec_safetensors_free(safetensors);
    free(copy);
    return 0;
}
