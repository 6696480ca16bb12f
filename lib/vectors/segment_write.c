/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Writing segments: what is in them, as tensors of a file. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/segment.h"

#include <inttypes.h>

/* The narrowest dtype that has so many values. */
static wcodec_dtype unsigned_of(uint64_t values)
{
    return values <= 1 << 8              ? WCODEC_DTYPE_U8
           : values <= 1 << 16           ? WCODEC_DTYPE_U16
           : values <= UINT64_C(1) << 32 ? WCODEC_DTYPE_U32
                                         : WCODEC_DTYPE_U64;
}

static wcodec_dtype gap_dtype(const struct wcodec_segment_content *content)
{
    uint64_t most = 0;
    for (size_t i = 0; i < content->n; i++)
        most = content->gaps[i] > most ? content->gaps[i] : most;
    return unsigned_of(most + 1);
}

static wcodec_status declare(wcodec_writer *writer, const struct wcodec_segment_content *content,
                             wcodec_error *err)
{
    const uint64_t scales = content->scale_count, anchors[] = {content->m, content->d},
                   rows[] = {content->n, content->d};
    wcodec_status status =
        wcodec_writer_metadata(writer, WCODEC_SEGMENT_KEY, WCODEC_SEGMENT_VERSION, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_declare(writer, WCODEC_SEGMENT_ANCHORS, WCODEC_DTYPE_F16, anchors, 2,
                                       err);
    if (status == WCODEC_OK)
        status =
            wcodec_writer_declare(writer, WCODEC_SEGMENT_SCALES, WCODEC_DTYPE_F32, &scales, 1, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_declare(writer, WCODEC_SEGMENT_INDICES, unsigned_of(content->m),
                                       rows, 1, err);
    if (status == WCODEC_OK && content->gaps != NULL)
        status =
            wcodec_writer_declare(writer, WCODEC_SEGMENT_GAPS, gap_dtype(content), rows, 1, err);
    if (status == WCODEC_OK)
        status =
            wcodec_writer_declare(writer, WCODEC_SEGMENT_RESIDUALS, WCODEC_DTYPE_I8, rows, 2, err);
    return status;
}

static uint64_t number_at(const void *numbers, unsigned width, uint64_t i)
{
    return width == 2   ? ((const uint16_t *)numbers)[i]
           : width == 4 ? ((const uint32_t *)numbers)[i]
                        : ((const uint64_t *)numbers)[i];
}

/* Numbers of `width` bytes in memory, as numbers of `size` bytes in the file's order. */
static wcodec_status write_numbers(wcodec_writer *writer, const wcodec_allocator *allocator,
                                   const void *numbers, unsigned width, uint64_t count,
                                   unsigned size, wcodec_error *err)
{
    uint8_t *bytes = wcodec_alloc_array(allocator, count, size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " numbers",
                           count);
    for (uint64_t i = 0; i < count; i++)
        wcodec_store_uint(bytes + i * size, number_at(numbers, width, i), size);
    const wcodec_status status = wcodec_writer_data(writer, bytes, (size_t)count * size, err);
    wcodec_free(allocator, bytes);
    return status;
}

/* Scales by their bits. */
static wcodec_status write_scales(wcodec_writer *writer, const wcodec_allocator *allocator,
                                  const struct wcodec_segment_content *content, wcodec_error *err)
{
    uint8_t *bytes = wcodec_alloc_array(allocator, content->scale_count, sizeof(float));
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu scales",
                           content->scale_count);
    for (size_t i = 0; i < content->scale_count; i++)
        wcodec_store_u32(bytes + i * sizeof(float), wcodec_f32_bits(content->scales[i]));
    const wcodec_status status =
        wcodec_writer_data(writer, bytes, content->scale_count * sizeof(float), err);
    wcodec_free(allocator, bytes);
    return status;
}

static wcodec_status write_all(wcodec_writer *writer, const wcodec_allocator *allocator,
                               const struct wcodec_segment_content *content, wcodec_error *err)
{
    const unsigned index_size = wcodec_dtype_bits(unsigned_of(content->m)) / 8;
    wcodec_status status = declare(writer, content, err);
    if (status == WCODEC_OK)
        status = write_numbers(writer, allocator, content->anchors, 2,
                               (uint64_t)content->m * content->d, 2, err);
    if (status == WCODEC_OK)
        status = write_scales(writer, allocator, content, err);
    if (status == WCODEC_OK)
        status = write_numbers(writer, allocator, content->indices, 4, content->n, index_size, err);
    if (status == WCODEC_OK && content->gaps != NULL)
        status = write_numbers(writer, allocator, content->gaps, 8, content->n,
                               wcodec_dtype_bits(gap_dtype(content)) / 8, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_data(writer, content->residuals, content->n * content->d, err);
    return status;
}

wcodec_status wcodec_segment_write(wcodec_context *context,
                                   const struct wcodec_segment_content *content,
                                   const wcodec_encode_options *options, wcodec_write_fn write,
                                   void *opaque, uint64_t *coded_size, wcodec_error *err)
{
    wcodec_encode_report written;
    wcodec_writer *writer;
    wcodec_status status = wcodec_writer_create(context, write, opaque, options, &writer, err);
    if (status != WCODEC_OK)
        return status;
    status = write_all(writer, &context->allocator, content, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, &written, err);
    if (status == WCODEC_OK)
        *coded_size = written.coded_size;
    wcodec_writer_destroy(writer);
    return status;
}
