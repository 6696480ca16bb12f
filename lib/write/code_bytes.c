/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/batch.h"

#include "coding/chunks.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

/* Is it one repeated element of 2^log2 bytes? */
static bool repeats(const uint8_t *data, size_t size, unsigned log2)
{
    size_t width = (size_t)1 << log2;
    return size % width == 0 && memcmp(data, data + width, size - width) == 0;
}

static wcodec_status code_tiny(const wcodec_allocator *allocator, wcodec_dtype dtype,
                               const uint8_t *data, size_t size, struct wcodec_coded *coded,
                               wcodec_error *err)
{
    unsigned log2 = size == 8   ? 3
                    : size == 4 ? 2
                    : size == 2 ? 1
                                : wcodec_dtype_element_log2(dtype);
    struct wcodec_coded c = {.coding = WCODEC_CODING_CONSTANT, .allocator = allocator};
    if (repeats(data, size, log2)) {
        c.constant_element_log2 = (uint8_t)log2;
        memcpy(c.constant_element, data, (size_t)1 << log2);
        *coded = c;
        return WCODEC_OK;
    }
    uint64_t directory = wcodec_chunks_directory_size(size, size);
    c.parts = wcodec_alloc_zeroed(allocator, sizeof *c.parts);
    uint8_t *payload = wcodec_alloc_zeroed(allocator, (size_t)directory + size);
    if (!c.parts || !payload) {
        wcodec_free(allocator, c.parts);
        wcodec_free(allocator, payload);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    wcodec_store_u32(payload, (uint32_t)size);
    wcodec_store_u32(payload + 4, wcodec_chunk_check(data, size));
    memcpy(payload + directory, data, size);
    c.coding = WCODEC_CODING_CHUNKS;
    c.chunk = size;
    c.payload_size = directory + size;
    c.part_count = 1;
    c.parts[0] = (struct wcodec_coded_part){payload, c.payload_size};
    *coded = c;
    return WCODEC_OK;
}

/* It stands in the index, where all that is so small is compressed together. */
static wcodec_status code_inline(const wcodec_allocator *allocator, const uint8_t *data,
                                 size_t size, struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_coded c = {.coding = WCODEC_CODING_INLINE, .allocator = allocator};
    c.parameters = wcodec_alloc(allocator, size);
    if (c.parameters == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    memcpy(c.parameters, data, size);
    c.parameters_size = size;
    *coded = c;
    return WCODEC_OK;
}

uint64_t wcodec_entry_columns(const struct wcodec_entry *what)
{
    uint64_t columns = 1;
    unsigned i = what->rank;
    while (i > 1 && columns < WCODEC_BLOCK_SIDE)
        columns *= what->shape[--i];
    return i > 0 && columns >= WCODEC_BLOCK_SIDE ? columns : 0;
}

static struct wcodec_encode_settings settings_of(const struct wcodec_encode_settings *settings,
                                                 bool weights, const struct wcodec_entry *what)
{
    struct wcodec_encode_settings own = *settings;
    own.weights = weights;
    own.columns = wcodec_entry_columns(what);
    own.geometry = what->u.geometry;
    return own;
}

wcodec_status wcodec_code_bytes(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, bool weights,
                                const struct wcodec_entry *what, const void *data,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_dtype dtype = (wcodec_dtype)what->dtype;
    /* Headers of archives' members and of arrays, of which there is one for each tensor, have
     * names, blanks and zeros. */
    if (!what->is_tensor && what->size != 0 && what->size <= settings->inline_most &&
        !repeats(data, (size_t)what->size, 0))
        return code_inline(&context->allocator, data, (size_t)what->size, coded, err);
    const uint64_t tiny = what->is_tensor ? WCODEC_TINY_BYTES : WCODEC_TINY_BLOB_BYTES;
    if (what->size != 0 && what->size <= tiny) {
        const wcodec_status status =
            code_tiny(&context->allocator, dtype, data, (size_t)what->size, coded, err);
        if (status == WCODEC_OK && settings->lossy != WCODEC_LOSSY_NONE &&
            coded->coding != WCODEC_CODING_CONSTANT)
            coded->lossless =
                wcodec_lossy_dtype(dtype) ? "it is small" : "its type has no lossy form";
        return status;
    }
    const struct wcodec_encode_settings own = settings_of(settings, weights, what);
    return wcodec_encode_tensor(context, &own, dtype, data, what->size, coded, err);
}

wcodec_status wcodec_plan_bytes(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, bool weights,
                                const struct wcodec_entry *what, const void *data,
                                struct wcodec_planned **planned, wcodec_error *err)
{
    const struct wcodec_encode_settings own = settings_of(settings, weights, what);
    return wcodec_plan_ahead(context, &own, (wcodec_dtype)what->dtype, data, what->size, planned,
                             err);
}
