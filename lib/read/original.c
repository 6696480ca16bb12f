/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of files that are not compressed. */

#include "format/foreign.h"
#include "format/layout.h"
#include "format/safetensors.h"
#include "read/reader.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

struct wcodec_original {
    const wcodec_allocator *allocator;
    struct wcodec_file_layout *layout;
};

/* Nothing in it speaks for a kind that holds tensors, or for another that is known. */
static bool is_of_no_kind(const struct wcodec_source *source)
{
    return !wcodec_foreign_safetensors(source) && wcodec_foreign_kind(source) == NULL;
}

wcodec_status wcodec_original_open_fd(wcodec_context *context, int fd, const char *onnx_model,
                                      const char *onnx_location, wcodec_original **original,
                                      wcodec_error *err)
{
    struct wcodec_source source;
    if (context == NULL || original == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_original_open_fd: an argument is NULL");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_source_fd(fd, &source, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_original *made = wcodec_alloc_zeroed(&context->allocator, sizeof *made);
    if (made == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    made->allocator = &context->allocator;
    status =
        wcodec_layout_find(context, &source, onnx_model, onnx_location, NULL, &made->layout, err);
    if (status == WCODEC_ERROR_CORRUPT && onnx_model == NULL && is_of_no_kind(&source))
        status = WCODEC_ERROR_NOT_FOUND;
    if (status == WCODEC_ERROR_NOT_FOUND && err != NULL)
        err->status = status;
    if (status == WCODEC_OK)
        *original = made;
    else
        wcodec_original_close(made);
    return status;
}

static uint64_t metadata_count(const struct wcodec_file_layout *l)
{
    return l->safetensors != NULL ? l->safetensors->metadata_count : l->metadata_count;
}

void wcodec_original_describe(const wcodec_original *original, wcodec_original_info *info)
{
    const struct wcodec_file_layout *l = original->layout;
    *info = (wcodec_original_info){.tensors = l->count, .metadata = metadata_count(l)};
    memcpy(info->kind, l->kind, strlen(l->kind));
    size_t size = strlen(l->remark.text);
    if (size >= sizeof info->note) {
        size = sizeof info->note - 1;
        while (size > 0 && ((unsigned char)l->remark.text[size] & 0xC0) == 0x80)
            size--;
    }
    memcpy(info->note, l->remark.text, size);
}

wcodec_status wcodec_original_tensor(const wcodec_original *original, uint64_t i,
                                     wcodec_tensor_info *info, wcodec_error *err)
{
    const wcodec_status status = wcodec_check_number(i, original->layout->count, "tensor", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_layout_tensor *t = &original->layout->tensors[i];
    *info = (wcodec_tensor_info){.name = t->name,
                                 .dtype = (wcodec_dtype)t->dtype,
                                 .dtype_name = t->dtype_name,
                                 .rank = t->rank,
                                 .shape = t->shape,
                                 .size = t->size,
                                 .coded_size = t->size,
                                 .file_offset = t->offset,
                                 .coding = WCODEC_CODING_CHUNKS,
                                 .coding_name = "stored",
                                 .split = "",
                                 .alias_of = UINT64_MAX};
    return status;
}

wcodec_status wcodec_original_metadata(const wcodec_original *original, uint64_t i,
                                       const char **key, const char **value, wcodec_error *err)
{
    const struct wcodec_file_layout *l = original->layout;
    const wcodec_status status = wcodec_check_number(i, metadata_count(l), "metadata pair", err);
    if (status != WCODEC_OK)
        return status;
    const char **metadata = l->safetensors != NULL ? l->safetensors->metadata : l->metadata;
    *key = metadata[2 * i];
    *value = metadata[2 * i + 1];
    return status;
}

void wcodec_original_close(wcodec_original *original)
{
    if (original == NULL)
        return;
    wcodec_layout_free(original->layout);
    wcodec_free(original->allocator, original);
}
