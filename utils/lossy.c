/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/lossy.h"
#include "utils/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void lossy_add(struct lossy_figures *f, const wcodec_tensor_info *info)
{
    const double elements = (double)describe_elements(info);
    if (!info->lossy)
        return;
    f->tensors++;
    f->elements += describe_elements(info);
    f->errors += info->mean_squared_error * elements;
    f->squares += info->mean_square * elements;
    f->largest = fmax(f->largest, info->largest_error);
}

struct lossy_figures lossy_of_file(const wcodec_reader *reader, const wcodec_file_info *file)
{
    struct lossy_figures f = {0};
    for (uint64_t i = file->first_tensor; file->lossy && i < file->first_tensor + file->tensors;
         i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK)
            lossy_add(&f, &info);
    }
    return f;
}

double lossy_snr(const struct lossy_figures *f)
{
    /* All rounded to zero: the same sum in two orders. */
    const double ratio = f->errors > 0 ? f->squares / f->errors : HUGE_VAL;
    return ratio < 1 && ratio > 1 - 1e-6 ? 0 : 10 * log10(ratio);
}

const char *lossy_snr_text(const struct lossy_figures *f, char *dst)
{
    if (f->errors > 0)
        snprintf(dst, LOSSY_TEXT, "%.2f", lossy_snr(f));
    else
        snprintf(dst, LOSSY_TEXT, "exact");
    return dst;
}

const char *lossy_text(const struct lossy_figures *f, char *dst)
{
    if (f->errors > 0)
        snprintf(dst, LOSSY_TEXT, "SNR %.2f dB, largest error %.4g", lossy_snr(f), f->largest);
    else
        snprintf(dst, LOSSY_TEXT, "no error");
    return dst;
}

/* JSON has no infinite numbers. */
static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *lossy_json(const struct lossy_figures *f)
{
    const double elements = f->elements ? (double)f->elements : 1;
    return json_pack("{s:o, s:o, s:o, s:o}", "snr_db",
                     isfinite(lossy_snr(f)) ? json_decimal(lossy_snr(f), 3) : json_null(),
                     "largest_error", number(f->largest), "mean_squared_error",
                     number(f->errors / elements), "mean_square", number(f->squares / elements));
}

/* The number of an element of BF16, F16 or F32. */
static double value_of(wcodec_dtype dtype, const uint8_t *bytes)
{
    const unsigned low = (unsigned)bytes[0] | (unsigned)bytes[1] << 8;
    uint32_t bits = dtype == WCODEC_DTYPE_F32
                        ? low | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24
                        : (uint32_t)low << 16;
    float value;
    if (dtype == WCODEC_DTYPE_F16) {
        const int exponent = low >> 10 & 31, mantissa = low & 1023;
        const double magnitude = exponent == 31 ? (mantissa ? NAN : HUGE_VAL)
                                 : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                                : ldexp(mantissa, -24);
        return low >> 15 ? -magnitude : magnitude;
    }
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* The stated error is of doubles too, but who knows how they were rounded. Infinite numbers may be
 * equal; nothing compares with a NaN. */
static bool measure(struct lossy_meter *m, const uint8_t *restored, const uint8_t *original)
{
    const double a = value_of(m->info.dtype, restored), b = value_of(m->info.dtype, original),
                 error = a == b ? 0 : fabs(a - b);
    m->now.errors += error * error;
    m->now.squares += b * b;
    m->now.largest = fmax(m->now.largest, error);
    return error <= m->info.largest_error * (1 + 1e-6);
}

/* Bytes of an approximated tensor, in which elements may be cut. */
static size_t measure_bytes(struct lossy_meter *m, const uint8_t *restored, const uint8_t *original,
                            size_t size)
{
    const unsigned width = m->info.dtype == WCODEC_DTYPE_F32 ? 4 : 2;
    for (size_t i = 0; i < size; i++) {
        m->restored[m->held] = restored[i];
        m->original[m->held++] = original[i];
        if (m->held < width)
            continue;
        m->held = 0;
        if (!measure(m, m->restored, m->original))
            return i;
    }
    return size;
}

static size_t equal_bytes(const uint8_t *a, const uint8_t *b, size_t size)
{
    size_t i = 0;
    if (memcmp(a, b, size) == 0)
        return size;
    while (a[i] == b[i])
        i++;
    return i;
}

static void end_tensor(struct lossy_meter *m)
{
    if (!m->info.lossy)
        return;
    m->figures.tensors++;
    m->figures.elements += describe_elements(&m->info);
    m->figures.errors += m->now.errors;
    m->figures.squares += m->now.squares;
    m->figures.largest = fmax(m->figures.largest, m->now.largest);
}

size_t lossy_compare(struct lossy_meter *m, const uint8_t *restored, const uint8_t *original,
                     size_t size)
{
    size_t done = 0;
    while (done < size) {
        if (m->left == 0) {
            m->now = (struct lossy_figures){0};
            m->left = wcodec_reader_entry(m->reader, m->entry++, &m->info, NULL) == WCODEC_OK
                          ? m->info.size
                          : UINT64_MAX;
            continue;
        }
        const size_t part = m->left < size - done ? (size_t)m->left : size - done;
        const size_t same = m->info.lossy ? measure_bytes(m, restored + done, original + done, part)
                                          : equal_bytes(restored + done, original + done, part);
        m->left -= same;
        done += same;
        if (same < part)
            break;
        if (m->left == 0)
            end_tensor(m);
    }
    return done;
}
