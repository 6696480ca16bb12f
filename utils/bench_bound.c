/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/bench.h"

#include <math.h>
#include <string.h>

static double entropy_bits(const uint64_t *counts, size_t symbols, uint64_t total)
{
    double bits = 0;
    for (size_t s = 0; s < symbols; s++) {
        if (counts[s])
            bits -= (double)counts[s] * log2((double)counts[s] / (double)total);
    }
    return bits;
}

/* Elements of `bytes` bytes of which `width` bits from `shift` on (at most 8) are coded and all
 * others raw. */
static double field_bound(const uint8_t *data, uint64_t size, unsigned bytes, unsigned shift,
                          unsigned width)
{
    uint64_t counts[256] = {0}, n = size / bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t v = 0;
        for (unsigned b = 0; b < bytes; b++)
            v |= (uint32_t)data[i * bytes + b] << (8 * b);
        counts[v >> shift & ((1u << width) - 1)]++;
    }
    return entropy_bits(counts, 256, n) + (double)n * (8 * bytes - width);
}

/* Every byte of an element is a field of its own. */
static double bytes_bound(const uint8_t *data, uint64_t size, unsigned bytes)
{
    double bits = 0;
    for (unsigned b = 0; b < bytes; b++) {
        uint64_t counts[256] = {0};
        for (uint64_t i = b; i < size; i += bytes)
            counts[data[i]]++;
        bits += entropy_bits(counts, 256, size / bytes);
    }
    return bits;
}

static double tensor_bound(wcodec_dtype dtype, const uint8_t *data, uint64_t size)
{
    unsigned bits = wcodec_dtype_bits(dtype);
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return field_bound(data, size, 2, 7, 8);
    case WCODEC_DTYPE_F16:
        return field_bound(data, size, 2, 10, 5);
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_C64:
        return field_bound(data, size, 4, 23, 8);
    case WCODEC_DTYPE_F8_E4M3:
    case WCODEC_DTYPE_F8_E4M3FNUZ:
        return field_bound(data, size, 1, 3, 4);
    case WCODEC_DTYPE_F8_E5M2:
    case WCODEC_DTYPE_F8_E5M2FNUZ:
        return field_bound(data, size, 1, 2, 5);
    case WCODEC_DTYPE_I8:
    case WCODEC_DTYPE_U8:
        return fmin(field_bound(data, size, 1, 0, 8),
                    fmin(field_bound(data, size, 1, 3, 5), field_bound(data, size, 1, 4, 4)));
    default:
        return bytes_bound(data, size, bits >= 8 ? bits / 8 : 1);
    }
}

double bench_bound(const struct bench_class *class)
{
    double bits = 0;
    for (size_t i = 0; i < class->count; i++)
        bits += tensor_bound(class->dtype, class->data + class->tensors[i].offset,
                             class->tensors[i].size);
    return bits;
}
