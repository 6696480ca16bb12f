/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How exact residuals are: the scale for bits that are asked for, or for a recall. One scale for
 * all anchors has the least mean squared error at a rate of entropy coding. */
#include "core/error.h"
#include "encode/recall.h"
#include "vectors/segment.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 1 << 20, /* elements */
    FEW = 1 << 14,
    HALVINGS = 20,
    STEPS = 8, /* of a bit */
    BITS_FIRST = 1,
    BITS_LAST = 7
};

/* Of which scales beyond subnormal ones are made: a scale of 0 would make residuals of 0 / 0. */
static const double scale_min = 1e-30;

int wcodec_vectors_quantise(float element, float anchor, float scale)
{
    const float difference = element - anchor;
    const float number = rintf(difference / scale);
    if (number > WCODEC_RESIDUAL_MAX)
        return WCODEC_RESIDUAL_MAX;
    return number < -WCODEC_RESIDUAL_MAX ? -WCODEC_RESIDUAL_MAX : (int)number;
}

struct sample {
    const struct wcodec_vectors_work *work;
    size_t rows;
};

/* Row i of the sample: these are equally far from each other. */
static const float *sample_row(const struct sample *sample, size_t i, const float **anchor)
{
    const struct wcodec_vectors_work *work = sample->work;
    const size_t row = (size_t)((uint64_t)i * work->n / sample->rows);
    *anchor = work->anchors + work->index[row] * work->width;
    return work->rows + row * work->width;
}

static double bits_of(const struct sample *sample, float scale)
{
    const size_t d = sample->work->d;
    uint64_t count[2 * WCODEC_RESIDUAL_MAX + 1] = {0};
    double bits = 0;
    for (size_t i = 0; i < sample->rows; i++) {
        const float *anchor, *row = sample_row(sample, i, &anchor);
        for (size_t j = 0; j < d; j++)
            count[WCODEC_RESIDUAL_MAX + wcodec_vectors_quantise(row[j], anchor[j], scale)]++;
    }
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        const double part = (double)count[i] / ((double)sample->rows * (double)d);
        bits -= count[i] != 0 ? part * log2(part) : 0;
    }
    return bits;
}

float wcodec_vectors_scale_of_bits(const struct wcodec_vectors_work *work, double bits)
{
    struct sample sample = {.work = work, .rows = SAMPLE / work->d + 1};
    double sum = 0;
    float most = 0;
    if (sample.rows > work->n)
        sample.rows = work->n;
    for (size_t i = 0; i < sample.rows; i++) {
        const float *anchor, *row = sample_row(&sample, i, &anchor);
        for (size_t j = 0; j < work->d; j++) {
            const float difference = row[j] - anchor[j];
            sum += (double)difference * (double)difference;
            most = fmaxf(most, fabsf(difference));
        }
    }
    if (most == 0)
        return 1;
    /* From where all residuals are 0, or the largest scale that there is, to where more bits would
     * be clipped away. Few elements cannot have many bits, whatever they are: then none is clipped.
     */
    const double elements = (double)sample.rows * (double)work->d,
                 whole = elements < FEW ? (double)most / WCODEC_RESIDUAL_MAX : 0;
    double high = fmin(fmax(4.0 * (double)most, scale_min), (double)WCODEC_SEGMENT_SCALE_MAX),
           low = fmax(fmax(sqrt(sum / elements) / 64.0, whole), scale_min);
    for (unsigned i = 0; i < HALVINGS; i++) {
        const double middle = sqrt(low * high);
        if (bits_of(&sample, (float)middle) >= bits)
            low = middle;
        else
            high = middle;
    }
    return (float)low;
}

struct decoding {
    const struct wcodec_vectors_work *work;
    float scale;
};

static void rows_as_they_are(const void *opaque, size_t first, size_t count, float *to)
{
    const struct wcodec_vectors_work *work = opaque;
    memcpy(to, work->rows + first * work->width, count * work->width * sizeof *to);
}

static void decode_rows(const void *opaque, size_t first, size_t count, float *to)
{
    const struct decoding *decoding = opaque;
    const struct wcodec_vectors_work *work = decoding->work;
    for (size_t i = 0; i < count; i++) {
        const float *row = work->rows + (first + i) * work->width,
                    *anchor = work->anchors + work->index[first + i] * work->width;
        for (size_t j = 0; j < work->width; j++)
            to[i * work->width + j] =
                wcodec_vectors_restore(anchor[j], decoding->scale,
                                       wcodec_vectors_quantise(row[j], anchor[j], decoding->scale));
    }
}

static wcodec_status count_pass(struct wcodec_vectors_work *work, wcodec_error *err)
{
    return wcodec_reporter_add(&work->reporter, wcodec_vectors_passes(work, 1), err);
}

/* The least number of steps of a bit that reaches it, by halving. */
static wcodec_status choose(struct wcodec_recall *scan, struct wcodec_vectors_work *work,
                            double wanted, float *scale, double *recall, wcodec_error *err)
{
    unsigned low = 0, high = (BITS_LAST - BITS_FIRST) * STEPS + 1;
    double most = 0;
    *recall = -1;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const double bits = BITS_FIRST + (double)middle / STEPS;
        const struct decoding made = {work, wcodec_vectors_scale_of_bits(work, bits)};
        double reached;
        wcodec_status status = wcodec_recall_measure(scan, decode_rows, &made, &reached, err);
        if (status == WCODEC_OK)
            status = count_pass(work, err);
        if (status != WCODEC_OK)
            return status;
        most = fmax(most, reached);
        if (reached >= wanted) {
            *scale = made.scale;
            *recall = reached;
            high = middle;
        } else
            low = middle + 1;
    }
    if (*recall < 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a recall of %.6g is not reached by %d bits a dimension, but %.4g",
                           wanted, BITS_LAST, most);
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_scale_of_recall(struct wcodec_vectors_work *work, double wanted,
                                             float *scale, double *recall, wcodec_error *err)
{
    struct wcodec_recall scan = {.context = work->context,
                                 .cancel = &work->cancel,
                                 .n = work->n,
                                 .width = work->width,
                                 .rows = rows_as_they_are,
                                 .opaque = work};
    if (work->n == 1) {
        *scale = wcodec_vectors_scale_of_bits(work, BITS_LAST);
        *recall = 1;
        return WCODEC_OK;
    }
    wcodec_status status = wcodec_recall_begin(&scan, err);
    if (status == WCODEC_OK)
        status = count_pass(work, err);
    if (status == WCODEC_OK)
        status = choose(&scan, work, wanted, scale, recall, err);
    wcodec_recall_end(&scan);
    return status;
}
