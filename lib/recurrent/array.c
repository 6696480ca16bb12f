/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "recurrent/array.h"

#include "backends/cpu/gates.h"
#include "coding/floats.h"
#include "core/error.h"

#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_GATES_BLOCK };

bool wcodec_recurrent_dtype(wcodec_dtype dtype)
{
    switch (dtype) {
    case WCODEC_DTYPE_F64:
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_F16:
    case WCODEC_DTYPE_BF16:
    case WCODEC_DTYPE_F8_E5M2:
    case WCODEC_DTYPE_F8_E4M3:
    case WCODEC_DTYPE_I8:
        return true;
    default:
        return false;
    }
}

float wcodec_recurrent_element(wcodec_dtype dtype, const void *data, size_t i)
{
    const uint8_t *bytes = data;
    uint16_t half;
    float single;
    double number;
    switch (dtype) {
    case WCODEC_DTYPE_F64:
        memcpy(&number, bytes + i * sizeof number, sizeof number);
        return (float)number;
    case WCODEC_DTYPE_F16:
        memcpy(&half, bytes + i * sizeof half, sizeof half);
        return wcodec_f32_of_bits(wcodec_f32_bits_of_f16(half));
    case WCODEC_DTYPE_BF16:
        memcpy(&half, bytes + i * sizeof half, sizeof half);
        return wcodec_f32_of_bits((uint32_t)half << 16);
    case WCODEC_DTYPE_F8_E5M2:
        return wcodec_f32_of_bits(wcodec_f32_bits_of_f16((uint32_t)bytes[i] << 8));
    case WCODEC_DTYPE_F8_E4M3:
        return wcodec_f32_of_bits(wcodec_f32_bits_of_e4m3(bytes[i]));
    case WCODEC_DTYPE_I8:
        return (float)(int8_t)bytes[i];
    default:
        memcpy(&single, bytes + i * sizeof single, sizeof single);
        return single;
    }
}

static wcodec_status check(const wcodec_gru_array *from, const char *name, wcodec_error *err)
{
    const char *dtype = wcodec_dtype_name(from->dtype);
    if (!wcodec_recurrent_dtype(from->dtype))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s is of %s: expected F64, F32, F16, BF16, F8_E5M2, F8_E4M3 or I8",
                           name, dtype == NULL ? "no dtype" : dtype);
    if ((from->dtype == WCODEC_DTYPE_I8) != (from->scales != NULL))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is of %s %s scales", name, dtype,
                           from->scales == NULL ? "without" : "and has");
    return from->reserved == 0 ? WCODEC_OK
                               : wcodec_fail(err, WCODEC_ERROR_USAGE,
                                             "%s has a reserved member that is not 0", name);
}

wcodec_status wcodec_gru_array_take(const wcodec_gru_array *from, size_t rows, size_t columns,
                                    const char *name, float *to, wcodec_error *err)
{
    const wcodec_status status = check(from, name, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++) {
            float v = wcodec_recurrent_element(from->dtype, from->data, i * columns + k);
            if (from->scales != NULL)
                v *= from->scales[i];
            if (!isfinite(v))
                return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s[%zu, %zu] is %s", name, i, k,
                                   isnan(v) ? "NaN" : "infinite");
            to[(i / BLOCK * columns + k) * BLOCK + i % BLOCK] = v;
        }
    return WCODEC_OK;
}
