/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How exact residuals are: the scale for bits that are asked for, or for a recall. One scale for
 * all anchors has the least mean squared error at a rate of entropy coding. */
#include "core/error.h"
#include "core/memory.h"
#include "vectors/segment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    SAMPLE = 1 << 20, /* elements */
    HALVINGS = 20,
    QUERIES = 200,
    CHUNKS = 32, /* tasks of a scan */
    ROWS = 8,    /* that a task has decoded at once */
    LANES = WCODEC_NEAREST_LANES,
    STEPS = 8, /* of a bit */
    BITS_FIRST = 1,
    BITS_LAST = 7,
    NEAREST = WCODEC_RECALL_NEAREST
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
    /* From where all residuals are 0 to where more bits would be clipped away. */
    double high = fmax(4.0 * (double)most, scale_min),
           low = fmax(sqrt(sum / ((double)sample.rows * (double)work->d)) / 64.0, scale_min);
    for (unsigned i = 0; i < HALVINGS; i++) {
        const double middle = sqrt(low * high);
        if (bits_of(&sample, (float)middle) >= bits)
            low = middle;
        else
            high = middle;
    }
    return (float)low;
}

struct scan {
    struct wcodec_vectors_work *work;
    size_t queries, k, panels;
    size_t scratch;  /* numbers of a chunk */
    float scale;     /* 0: rows as they are */
    float *lanes;    /* queries, as the kernel takes them */
    float *decoded;  /* of each chunk ROWS rows, and then their distances to all queries */
    uint64_t *near;  /* of each chunk, of each query, k keys */
    uint64_t *exact; /* of each query */
    uint64_t *coded;
};

static size_t self_of(const struct scan *scan, size_t q)
{
    return (size_t)((uint64_t)q * scan->work->n / scan->queries);
}

static void decode_rows(const struct scan *scan, size_t first, size_t count, float *to)
{
    const struct wcodec_vectors_work *work = scan->work;
    for (size_t i = 0; i < count; i++) {
        const float *row = work->rows + (first + i) * work->width,
                    *anchor = work->anchors + work->index[first + i] * work->width;
        for (size_t j = 0; j < work->width; j++)
            to[i * work->width + j] = wcodec_vectors_restore(
                anchor[j], scan->scale, wcodec_vectors_quantise(row[j], anchor[j], scan->scale));
    }
}

static void scan_chunk(void *opaque, size_t chunk)
{
    const struct scan *scan = opaque;
    struct wcodec_vectors_work *work = scan->work;
    const size_t begin = (size_t)((uint64_t)chunk * work->n / CHUNKS),
                 end = (size_t)((uint64_t)(chunk + 1) * work->n / CHUNKS), k = scan->k;
    float *decoded = scan->decoded + chunk * scan->scratch, *sums = decoded + ROWS * work->width;
    uint64_t *near = scan->near + chunk * scan->queries * k;
    memset(near, 0xFF, scan->queries * k * sizeof *near);
    for (size_t i = begin, some; i < end; i += some) {
        some = end - i < ROWS ? end - i : ROWS;
        if (wcodec_cancel_poll(&work->cancel))
            return;
        if (scan->scale != 0)
            decode_rows(scan, i, some, decoded);
        work->dsp.distances(scan->scale != 0 ? decoded : work->rows + i * work->width, some,
                            work->width, scan->lanes, scan->panels, sums);
        for (size_t r = 0; r < some; r++)
            for (size_t q = 0; q < scan->queries; q++)
                if (self_of(scan, q) != i + r)
                    wcodec_vectors_insert(
                        near + q * k, k,
                        (uint64_t)wcodec_f32_bits(sums[r * scan->panels * LANES + q]) << 32 |
                            (i + r));
    }
}

/* The k nearest of each query to `to`. */
static wcodec_status run_scan(struct scan *scan, float scale, uint64_t *to, wcodec_error *err)
{
    struct wcodec_vectors_work *work = scan->work;
    scan->scale = scale;
    wcodec_run(work->context, scan_chunk, scan, CHUNKS);
    wcodec_status status = wcodec_cancel_check(&work->cancel, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&work->reporter, wcodec_vectors_passes(work, 1), err);
    memcpy(to, scan->near, scan->queries * scan->k * sizeof *to);
    for (size_t i = scan->queries * scan->k; i < CHUNKS * scan->queries * scan->k; i++)
        wcodec_vectors_insert(to + i % (scan->queries * scan->k) / scan->k * scan->k, scan->k,
                              scan->near[i]);
    return status;
}

/* Rows as far as the k-th count as found: where distances are equal, their order says nothing. */
static double recall_of(const struct scan *scan)
{
    const struct wcodec_vectors_work *work = scan->work;
    size_t found = 0;
    for (size_t q = 0; q < scan->queries; q++) {
        const float *query = work->rows + self_of(scan, q) * work->width;
        const uint64_t last = scan->exact[q * scan->k + scan->k - 1] >> 32;
        for (size_t i = 0; i < scan->k; i++) {
            const uint32_t row = (uint32_t)scan->coded[q * scan->k + i];
            found += wcodec_f32_bits(wcodec_vectors_distance(query, work->rows + row * work->width,
                                                             work->width)) <= last;
        }
    }
    return (double)found / ((double)scan->queries * (double)scan->k);
}

static wcodec_status start_scan(struct scan *scan, wcodec_error *err)
{
    struct wcodec_vectors_work *work = scan->work;
    const wcodec_allocator *allocator = &work->context->allocator;
    const uint64_t keys = (uint64_t)scan->queries * scan->k;
    scan->panels = (scan->queries + LANES - 1) / LANES;
    scan->scratch = ROWS * (work->width + scan->panels * LANES);
    scan->lanes = wcodec_alloc_array(allocator, scan->panels * LANES, work->width * sizeof(float));
    scan->decoded = wcodec_alloc_array(allocator, CHUNKS, scan->scratch * sizeof(float));
    scan->near = wcodec_alloc_array(allocator, CHUNKS * keys, sizeof *scan->near);
    scan->exact = wcodec_alloc_array(allocator, keys, sizeof *scan->exact);
    scan->coded = wcodec_alloc_array(allocator, keys, sizeof *scan->coded);
    if (scan->lanes == NULL || scan->decoded == NULL || scan->near == NULL || scan->exact == NULL ||
        scan->coded == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu queries",
                           scan->queries);
    for (size_t q = 0; q < scan->panels * LANES; q++)
        wcodec_vectors_put_lane(
            scan->lanes, q, q < scan->queries ? work->rows + self_of(scan, q) * work->width : NULL,
            work->width, 0);
    return run_scan(scan, 0, scan->exact, err);
}

static void end_scan(struct scan *scan)
{
    const wcodec_allocator *allocator = &scan->work->context->allocator;
    wcodec_free(allocator, scan->lanes);
    wcodec_free(allocator, scan->decoded);
    wcodec_free(allocator, scan->near);
    wcodec_free(allocator, scan->exact);
    wcodec_free(allocator, scan->coded);
}

/* The least number of steps of a bit that reaches it, by halving. */
static wcodec_status choose(struct scan *scan, double wanted, float *scale, double *recall,
                            wcodec_error *err)
{
    unsigned low = 0, high = (BITS_LAST - BITS_FIRST) * STEPS + 1;
    double most = 0;
    *recall = -1;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const double bits = BITS_FIRST + (double)middle / STEPS;
        const float made = wcodec_vectors_scale_of_bits(scan->work, bits);
        const wcodec_status status = run_scan(scan, made, scan->coded, err);
        if (status != WCODEC_OK)
            return status;
        const double reached = recall_of(scan);
        most = fmax(most, reached);
        if (reached >= wanted) {
            *scale = made;
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
    struct scan scan = {.work = work, .queries = work->n < QUERIES ? work->n : QUERIES};
    scan.k = work->n > NEAREST ? NEAREST : work->n - 1;
    if (scan.k == 0) {
        *scale = wcodec_vectors_scale_of_bits(work, BITS_LAST);
        *recall = 1;
        return WCODEC_OK;
    }
    wcodec_status status = start_scan(&scan, err);
    if (status == WCODEC_OK)
        status = choose(&scan, wanted, scale, recall, err);
    end_scan(&scan);
    return status;
}
