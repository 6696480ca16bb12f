/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reading segments: what is in the file, checked, and rows decoded from it. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "read/reader.h"
#include "vectors/segment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DIMENSIONS_MAX = 1 << 16, ROWS = 1024 /* decoded at once */ };

static wcodec_status check_key(const wcodec_reader *reader, wcodec_error *err)
{
    const char *key, *value;
    const uint64_t pairs =
        wcodec_reader_file_count(reader) == 1 ? wcodec_reader_metadata_count(reader, 0) : 0;
    for (uint64_t i = 0; i < pairs; i++) {
        const wcodec_status status = wcodec_reader_metadata(reader, 0, i, &key, &value, err);
        if (status != WCODEC_OK)
            return status;
        if (strcmp(key, WCODEC_SEGMENT_KEY) != 0)
            continue;
        if (strcmp(value, WCODEC_SEGMENT_VERSION) == 0)
            return WCODEC_OK;
        return wcodec_fail(err, WCODEC_ERROR_NEWER,
                           "a segment of vectors of version '%s', not " WCODEC_SEGMENT_VERSION,
                           value);
    }
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "no segment of vectors: it has no " WCODEC_SEGMENT_KEY);
}

/* The tensor of that name and rank. */
static wcodec_status find_tensor(const wcodec_reader *reader, const char *name, unsigned rank,
                                 uint64_t *number, wcodec_tensor_info *info, wcodec_error *err)
{
    if (wcodec_reader_find(reader, name, number, NULL) != WCODEC_OK)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a segment of vectors without %s", name);
    const wcodec_status status = wcodec_reader_tensor(reader, *number, info, err);
    if (status == WCODEC_OK && info->rank != rank)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s has %u dimensions, not %u", name,
                           info->rank, rank);
    return status;
}

static wcodec_status wrong_type(const char *name, const wcodec_tensor_info *info, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s is of %s", name, info->dtype_name);
}

static unsigned index_size_of(wcodec_dtype dtype)
{
    switch (dtype) {
    case WCODEC_DTYPE_U8:
        return 1;
    case WCODEC_DTYPE_U16:
        return 2;
    case WCODEC_DTYPE_U32:
        return 4;
    default:
        return 0;
    }
}

/* Gaps, if there are any. */
static wcodec_status find_gaps(struct wcodec_segment_file *f, wcodec_error *err)
{
    wcodec_tensor_info info;
    if (wcodec_reader_find(f->reader, WCODEC_SEGMENT_GAPS, &f->gaps, NULL) != WCODEC_OK)
        return WCODEC_OK;
    const wcodec_status status =
        find_tensor(f->reader, WCODEC_SEGMENT_GAPS, 1, &f->gaps, &info, err);
    if (status != WCODEC_OK)
        return status;
    f->gap_size = info.dtype == WCODEC_DTYPE_U64 ? 8 : index_size_of(info.dtype);
    if (f->gap_size == 0)
        return wrong_type(WCODEC_SEGMENT_GAPS, &info, err);
    if (info.shape[0] != f->n)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%" PRIu64 " gaps for %" PRIu64 " vectors",
                           info.shape[0], f->n);
    return WCODEC_OK;
}

static wcodec_status check_shapes(const struct wcodec_segment_file *f,
                                  const wcodec_tensor_info *anchors,
                                  const wcodec_tensor_info *scales,
                                  const wcodec_tensor_info *indices, wcodec_error *err)
{
    if (f->n == 0 || f->n >= UINT32_MAX || f->m == 0 || f->m >= UINT32_MAX || f->d == 0 ||
        f->d > DIMENSIONS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " vectors of %" PRIu64 " dimensions by %" PRIu64 " anchors",
                           f->n, f->d, f->m);
    if (anchors->shape[1] != f->d)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "anchors of %" PRIu64 " dimensions, residuals of %" PRIu64,
                           anchors->shape[1], f->d);
    if (indices->shape[0] != f->n)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " indices for residuals of %" PRIu64 " vectors",
                           indices->shape[0], f->n);
    if (scales->shape[0] != 1 && scales->shape[0] != f->m)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " scales for %" PRIu64 " anchors: expected one, or as many",
                           scales->shape[0], f->m);
    return WCODEC_OK;
}

wcodec_status wcodec_segment_find(const wcodec_reader *reader, struct wcodec_segment_file *file,
                                  wcodec_error *err)
{
    struct wcodec_segment_file f = {.reader = reader};
    wcodec_tensor_info anchors, scales, indices, residuals;
    wcodec_file_info info;
    wcodec_status status = check_key(reader, err);
    if (status == WCODEC_OK)
        status = find_tensor(reader, WCODEC_SEGMENT_ANCHORS, 2, &f.anchors, &anchors, err);
    if (status == WCODEC_OK)
        status = find_tensor(reader, WCODEC_SEGMENT_SCALES, 1, &f.scales, &scales, err);
    if (status == WCODEC_OK)
        status = find_tensor(reader, WCODEC_SEGMENT_INDICES, 1, &f.indices, &indices, err);
    if (status == WCODEC_OK)
        status = find_tensor(reader, WCODEC_SEGMENT_RESIDUALS, 2, &f.residuals, &residuals, err);
    if (status == WCODEC_OK)
        status = wcodec_reader_file(reader, 0, &info, err);
    if (status != WCODEC_OK)
        return status;
    f.index_size = index_size_of(indices.dtype);
    if (anchors.dtype != WCODEC_DTYPE_F16)
        return wrong_type(WCODEC_SEGMENT_ANCHORS, &anchors, err);
    if (scales.dtype != WCODEC_DTYPE_F32)
        return wrong_type(WCODEC_SEGMENT_SCALES, &scales, err);
    if (f.index_size == 0)
        return wrong_type(WCODEC_SEGMENT_INDICES, &indices, err);
    if (residuals.dtype != WCODEC_DTYPE_I8)
        return wrong_type(WCODEC_SEGMENT_RESIDUALS, &residuals, err);
    f.n = residuals.shape[0];
    f.d = residuals.shape[1];
    f.m = anchors.shape[0];
    f.scale_count = scales.shape[0];
    f.coded_size = info.coded_size;
    status = check_shapes(&f, &anchors, &scales, &indices, err);
    if (status == WCODEC_OK)
        status = find_gaps(&f, err);
    if (status == WCODEC_OK)
        *file = f;
    return status;
}

static wcodec_status widen_anchors(const uint8_t *bytes, size_t m, size_t d, size_t width,
                                   float *anchors, wcodec_error *err)
{
    for (size_t k = 0; k < m; k++)
        for (size_t j = 0; j < width; j++) {
            const uint16_t half = j < d ? wcodec_load_u16(bytes + 2 * (k * d + j)) : 0;
            if ((half & 0x7C00) == 0x7C00)
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "anchor %zu: element %zu is NaN or infinite", k, j);
            anchors[k * width + j] = wcodec_f32_of_bits(wcodec_f32_bits_of_f16(half));
        }
    return WCODEC_OK;
}

static wcodec_status take_scales(const struct wcodec_segment_file *file, const uint8_t *bytes,
                                 float *scales, wcodec_error *err)
{
    for (uint64_t k = 0; k < file->m; k++) {
        const uint64_t i = file->scale_count == 1 ? 0 : k;
        scales[k] = wcodec_f32_of_bits(wcodec_load_u32(bytes + 4 * i));
        if (!(scales[k] > 0 && scales[k] <= WCODEC_SEGMENT_SCALE_MAX))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "scale %" PRIu64 " is %g: expected one above 0, at most %g", i,
                               (double)scales[k], (double)WCODEC_SEGMENT_SCALE_MAX);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_segment_read_anchors(const struct wcodec_segment_file *file,
                                          const wcodec_allocator *allocator, size_t width,
                                          float *anchors, float *scales, wcodec_error *err)
{
    const size_t m = (size_t)file->m, d = (size_t)file->d;
    const size_t size = 2 * m * d, scales_size = 4 * (size_t)file->scale_count;
    uint8_t *bytes = wcodec_alloc(allocator, size > scales_size ? size : scales_size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu anchors", m);
    wcodec_status status =
        wcodec_reader_decode(file->reader, file->anchors, bytes, size, NULL, err);
    if (status == WCODEC_OK)
        status = widen_anchors(bytes, m, d, width, anchors, err);
    if (status == WCODEC_OK)
        status = wcodec_reader_decode(file->reader, file->scales, bytes, scales_size, NULL, err);
    if (status == WCODEC_OK)
        status = take_scales(file, bytes, scales, err);
    wcodec_free(allocator, bytes);
    return status;
}

wcodec_status wcodec_segment_read_indices(const struct wcodec_segment_file *file,
                                          const wcodec_allocator *allocator, uint64_t first,
                                          uint64_t count, uint32_t *indices, wcodec_error *err)
{
    const size_t size = (size_t)count * file->index_size;
    uint8_t *bytes = wcodec_alloc(allocator, size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " indices",
                           count);
    wcodec_status status = wcodec_reader_decode_rows(file->reader, file->indices, first, count,
                                                     bytes, size, NULL, err);
    for (uint64_t i = 0; status == WCODEC_OK && i < count; i++) {
        indices[i] = (uint32_t)wcodec_load_uint(bytes + i * file->index_size, file->index_size);
        if (indices[i] >= file->m)
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                 "row %" PRIu64 " has anchor %" PRIu32 ", but there are %" PRIu64,
                                 first + i, indices[i], file->m);
    }
    wcodec_free(allocator, bytes);
    return status;
}

wcodec_status wcodec_segment_read_ids(const struct wcodec_segment_file *file,
                                      const wcodec_allocator *allocator, uint64_t first,
                                      uint64_t *ids, wcodec_error *err)
{
    const size_t size = (size_t)file->n * file->gap_size;
    uint8_t *bytes = size != 0 ? wcodec_alloc(allocator, size) : NULL;
    wcodec_status status = WCODEC_OK;
    uint64_t next = first;
    if (size != 0 && bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " ids", file->n);
    if (size != 0)
        status = wcodec_reader_decode(file->reader, file->gaps, bytes, size, NULL, err);
    for (uint64_t i = 0; status == WCODEC_OK && i < file->n; i++) {
        const uint64_t gap =
            size != 0 ? wcodec_load_uint(bytes + i * file->gap_size, file->gap_size) : 0;
        if (next >= WCODEC_STORE_IDS || gap >= WCODEC_STORE_IDS - next)
            status =
                wcodec_fail(err, WCODEC_ERROR_CORRUPT, "row %" PRIu64 " has an id beyond 2^63", i);
        ids[i] = next + gap;
        next = ids[i] + 1;
    }
    wcodec_free(allocator, bytes);
    return status;
}

/* What decoding rows takes. */
struct decoding {
    float *anchors, *scales;
    uint32_t *indices; /* of all rows */
    int8_t *residuals; /* of ROWS rows */
};

static wcodec_status decode(const struct wcodec_segment_file *file,
                            const wcodec_allocator *allocator, const struct decoding *decoding,
                            uint64_t first, uint64_t count, float *dst, wcodec_error *err)
{
    const size_t d = (size_t)file->d;
    wcodec_status status =
        wcodec_segment_read_anchors(file, allocator, d, decoding->anchors, decoding->scales, err);
    if (status == WCODEC_OK)
        status = wcodec_segment_read_indices(file, allocator, first, count, decoding->indices, err);
    for (uint64_t at = 0, some; status == WCODEC_OK && at < count; at += some) {
        some = count - at < ROWS ? count - at : ROWS;
        status = wcodec_reader_decode_rows(file->reader, file->residuals, first + at, some,
                                           decoding->residuals, (size_t)some * d, NULL, err);
        for (uint64_t i = 0; status == WCODEC_OK && i < some; i++) {
            const uint32_t k = decoding->indices[at + i];
            for (size_t j = 0; j < d; j++)
                dst[(at + i) * d + j] =
                    wcodec_vectors_restore(decoding->anchors[k * d + j], decoding->scales[k],
                                           decoding->residuals[i * d + j]);
        }
    }
    return status;
}

wcodec_status wcodec_vectors_decode(const wcodec_reader *reader, uint64_t first, uint64_t count,
                                    float *dst, size_t dst_size, wcodec_error *err)
{
    const wcodec_allocator *allocator = &reader->context->allocator;
    struct wcodec_segment_file file;
    struct decoding decoding;
    uint64_t elements, memory;
    wcodec_status status = wcodec_segment_find(reader, &file, err);
    if (status != WCODEC_OK)
        return status;
    if (first > file.n || count > file.n - first)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "rows %" PRIu64 " to %" PRIu64 " of %" PRIu64 " vectors", first,
                           count > UINT64_MAX - first ? UINT64_MAX : first + count, file.n);
    if (!wcodec_mul_u64(count, file.d, &elements) || elements > dst_size / sizeof *dst)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%zu bytes for %" PRIu64 " vectors of %" PRIu64 " dimensions", dst_size,
                           count, file.d);
    if (!wcodec_mul_u64(file.m, 4 * file.d, &memory) || memory > reader->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " anchors are more than the limit of memory", file.m);
    decoding.anchors = wcodec_alloc_array(allocator, file.m * file.d, sizeof *decoding.anchors);
    decoding.scales = wcodec_alloc_array(allocator, file.m, sizeof *decoding.scales);
    decoding.indices = wcodec_alloc_array(allocator, count, sizeof *decoding.indices);
    decoding.residuals = wcodec_alloc_array(allocator, count < ROWS ? count : ROWS, (size_t)file.d);
    if (decoding.anchors == NULL || decoding.scales == NULL || decoding.indices == NULL ||
        decoding.residuals == NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " vectors", count);
    else
        status = decode(&file, allocator, &decoding, first, count, dst, err);
    wcodec_free(allocator, decoding.anchors);
    wcodec_free(allocator, decoding.scales);
    wcodec_free(allocator, decoding.indices);
    wcodec_free(allocator, decoding.residuals);
    return status;
}
