/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_vectors.h"

#include "support_memory.h"

#include <math.h>

float *support_vectors_make(size_t n, size_t d, uint64_t seed, wcodec_vector_rows *rows)
{
    float *data = malloc(n * d * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n * d; i++)
        data[i] = (float)(i / d * 7919 % 11 * (i % d + 1) % 13) +
                  (float)(support_random(&seed) % 1000) * 0.004f - 5;
    *rows =
        (wcodec_vector_rows){.dtype = WCODEC_DTYPE_F32, .count = n, .dimensions = d, .data = data};
    return data;
}

int support_file_append(void *opaque, const void *data, size_t size)
{
    struct support_file *file = opaque;
    if (file->size + size > file->room) {
        file->room = 2 * (file->size + size);
        file->bytes = realloc(file->bytes, file->room);
        assert_non_null(file->bytes);
    }
    memcpy(file->bytes + file->size, data, size);
    file->size += size;
    return 0;
}

wcodec_status support_vectors_segment(wcodec_context *context, const wcodec_vector_rows *rows,
                                      uint64_t anchors, double bits, struct support_file *file,
                                      wcodec_vectors_report *report, wcodec_error *err)
{
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_options train;
    wcodec_vectors_compress_options options;
    wcodec_vectors_options_init(&train);
    train.anchors = anchors;
    wcodec_vectors_compress_options_init(&options);
    options.bits = bits;
    file->size = 0;
    wcodec_status status = wcodec_vectors_train(context, rows, &train, &vectors, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_compress(context, vectors, rows, &options, support_file_append,
                                         file, report, err);
    wcodec_vectors_destroy(vectors);
    return status;
}

wcodec_vectors_store *support_vectors_open(wcodec_context *context, const struct support_file *file)
{
    wcodec_reader *reader;
    wcodec_vectors_store *store = NULL;
    wcodec_error err;
    if (wcodec_reader_open_memory(context, file->bytes, file->size, &reader, &err) != WCODEC_OK ||
        wcodec_vectors_open_reader(context, reader, &store, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader_close(reader);
    return store;
}

double support_vectors_score(const float *query, const float *row, size_t d,
                             wcodec_vectors_metric metric)
{
    double l2 = 0, product = 0, a = 0, b = 0;
    for (size_t j = 0; j < d; j++) {
        l2 += ((double)query[j] - (double)row[j]) * ((double)query[j] - (double)row[j]);
        product += (double)query[j] * (double)row[j];
        a += (double)query[j] * (double)query[j];
        b += (double)row[j] * (double)row[j];
    }
    if (metric == WCODEC_VECTORS_L2)
        return l2;
    return metric == WCODEC_VECTORS_INNER_PRODUCT ? product : product / sqrt(a * b);
}

unsigned support_vectors_refusals(const struct support_file *file,
                                  wcodec_status (*call)(const wcodec_vectors_store *store,
                                                        void *opaque),
                                  void *opaque)
{
    struct support_allocator allocator;
    unsigned refusals = 0;
    bool all = false;
    for (long i = 0; !all; i++) {
        support_allocator_init(&allocator, SUPPORT_NEVER);
        allocator.once = true;
        wcodec_context *context = support_context(1, &allocator.allocator);
        wcodec_vectors_store *store = support_vectors_open(context, file);
        allocator.left = i;
        const wcodec_status status = call(store, opaque);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        refusals += status != WCODEC_OK;
        all = allocator.left > 0;
        wcodec_vectors_close(store);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    return refusals;
}
