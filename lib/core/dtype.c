/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/dtype.h"
#include "core/bytes.h"

static const struct {
    const char *name;
    uint8_t bits;
    uint8_t element_log2;
} dtypes[WCODEC_DTYPE_COUNT] = {
    [WCODEC_DTYPE_OTHER] = {"OTHER", 0, 0},
    [WCODEC_DTYPE_BOOL] = {"BOOL", 8, 0},
    [WCODEC_DTYPE_U8] = {"U8", 8, 0},
    [WCODEC_DTYPE_I8] = {"I8", 8, 0},
    [WCODEC_DTYPE_F8_E5M2] = {"F8_E5M2", 8, 0},
    [WCODEC_DTYPE_F8_E4M3] = {"F8_E4M3", 8, 0},
    [WCODEC_DTYPE_F8_E8M0] = {"F8_E8M0", 8, 0},
    [WCODEC_DTYPE_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8, 0},
    [WCODEC_DTYPE_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8, 0},
    [WCODEC_DTYPE_U16] = {"U16", 16, 1},
    [WCODEC_DTYPE_I16] = {"I16", 16, 1},
    [WCODEC_DTYPE_F16] = {"F16", 16, 1},
    [WCODEC_DTYPE_BF16] = {"BF16", 16, 1},
    [WCODEC_DTYPE_U32] = {"U32", 32, 2},
    [WCODEC_DTYPE_I32] = {"I32", 32, 2},
    [WCODEC_DTYPE_F32] = {"F32", 32, 2},
    [WCODEC_DTYPE_U64] = {"U64", 64, 3},
    [WCODEC_DTYPE_I64] = {"I64", 64, 3},
    [WCODEC_DTYPE_F64] = {"F64", 64, 3},
    [WCODEC_DTYPE_C64] = {"C64", 64, 2},
    [WCODEC_DTYPE_F4] = {"F4", 4, 0},
    [WCODEC_DTYPE_F6_E2M3] = {"F6_E2M3", 6, 0},
    [WCODEC_DTYPE_F6_E3M2] = {"F6_E3M2", 6, 0},
};

static bool is_dtype(wcodec_dtype dtype)
{
    return (unsigned)dtype < WCODEC_DTYPE_COUNT;
}

const char *wcodec_dtype_name(wcodec_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

unsigned wcodec_dtype_bits(wcodec_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].bits : 0;
}

wcodec_dtype wcodec_dtype_from_name(const char *name)
{
    for (unsigned i = 1; name != NULL && i < WCODEC_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            return (wcodec_dtype)i;
    return WCODEC_DTYPE_OTHER;
}

bool wcodec_dtype_size(wcodec_dtype dtype, const uint64_t *shape, unsigned rank, uint64_t *size)
{
    const uint64_t limit = (uint64_t)1 << 48;
    uint64_t bits = wcodec_dtype_bits(dtype);
    if (bits == 0)
        return false;
    /* One dimension of 0 empties the tensor however large the others are: their product is not
     * asked for. */
    bool empty = false;
    for (unsigned i = 0; i < rank; i++) {
        if (shape[i] >= limit)
            return false;
        if (shape[i] == 0)
            empty = true;
    }
    for (unsigned i = 0; i < rank && !empty; i++)
        if (!wcodec_mul_u64(bits, shape[i], &bits))
            return false;
    if (empty)
        bits = 0;
    if (bits % 8 != 0 || bits / 8 > limit)
        return false;
    *size = bits / 8;
    return true;
}

unsigned wcodec_dtype_element_log2(wcodec_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].element_log2 : 0;
}
