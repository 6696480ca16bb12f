/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "bench/order0.h"
#include <math.h>
#include <string.h>

static double entropy_bits(const uint64_t *counts, size_t n)
{
    double bits = 0, total = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n; i++)
        if (counts[i])
            bits -= (double)counts[i] * log2((double)counts[i] / total);
    return bits;
}

/* Coded: `width` bits from bit `shift` of elements of `bytes` bytes; the other bits are raw. */
static double split_bits(const uint8_t *data, size_t size, unsigned bytes, unsigned shift,
                         unsigned width)
{
    uint64_t counts[256] = {0};
    for (size_t i = 0; i + bytes <= size; i += bytes) {
        uint32_t e = 0;
        for (unsigned k = 0; k < bytes; k++)
            e |= (uint32_t)data[i + k] << (8 * k);
        counts[e >> shift & ((1u << width) - 1)]++;
    }
    return entropy_bits(counts, 256) + (double)(size / bytes) * (8 * bytes - width);
}

static double integer_bits(const uint8_t *data, size_t size)
{
    const double whole = split_bits(data, size, 1, 0, 8), five = split_bits(data, size, 1, 3, 5),
                 four = split_bits(data, size, 1, 4, 4);
    return fmin(whole, fmin(five, four));
}

static double bytes_bits(const uint8_t *data, size_t size, unsigned bytes)
{
    double bits = 0;
    for (unsigned k = 0; k < bytes; k++) {
        uint64_t counts[256] = {0};
        for (size_t i = k; i < size; i += bytes)
            counts[data[i]]++;
        bits += entropy_bits(counts, 256);
    }
    return bits;
}

double order0_bits(const char *dtype, const void *data, size_t size)
{
    static const struct {
        const char *dtype;
        unsigned bytes, shift, width;
    } splits[] = {{"BF16", 2, 7, 8},    {"F16", 2, 10, 5},        {"F32", 4, 23, 8},
                  {"C64", 4, 23, 8},    {"F8_E4M3", 1, 3, 4},     {"F8_E4M3FNUZ", 1, 3, 4},
                  {"F8_E5M2", 1, 2, 5}, {"F8_E5M2FNUZ", 1, 2, 5}, {"F8_E8M0", 1, 0, 8}};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (strcmp(dtype, splits[i].dtype) == 0)
            return split_bits(data, size, splits[i].bytes, splits[i].shift, splits[i].width);
    if (strcmp(dtype, "I8") == 0 || strcmp(dtype, "U8") == 0)
        return integer_bits(data, size);
    const unsigned bytes = strstr(dtype, "64")   ? 8
                           : strstr(dtype, "32") ? 4
                           : strstr(dtype, "16") ? 2
                                                 : 1;
    return bytes_bits(data, size, bytes);
}
