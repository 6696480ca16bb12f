/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tensor.h"

#include "core/dtype.h"
#include "core/error.h"
#include "encode/chunked.h"
#include "encode/payload.h"
#include "encode/rival.h"

enum { LARGE = 1 << 24, SMALL = 1 << 14, WORKERS_MAX = 1024 };

size_t wcodec_encode_workers(wcodec_context *context, uint64_t scratch, uint64_t each, uint64_t work)
{
    uint64_t workers = wcodec_context_threads(context), most = scratch == 0 ? WORKERS_MAX : scratch / each < 1 ? 1 : scratch / each;
    workers = workers < most ? workers : most;
    return (size_t)(workers < work ? workers : work);
}

void wcodec_coded_free(struct wcodec_coded *coded)
{
    for (size_t i = 0; i < coded->part_count; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    wcodec_free(coded->allocator, coded->parts);
    wcodec_free(coded->allocator, coded->tiling);
    coded->tiling = NULL;
    coded->parts = NULL;
    coded->part_count = 0;
}

static void constant(const struct wcodec_survey *survey, const wcodec_allocator *allocator, struct wcodec_coded *coded)
{
    memset(coded, 0, sizeof *coded);
    coded->allocator = allocator;
    coded->constant_element_log2 = (uint8_t)survey->element_log2;
    wcodec_store_uint(coded->constant_element, survey->all, 1u << survey->element_log2);
}

/* What is decided before anything is coded. Both looks at the data take time, and neither needs the other. */
struct decision {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_survey *survey;
    wcodec_dtype dtype;
    const uint8_t *data;
    uint64_t size;
    struct wcodec_plan *plan;
    struct wcodec_zstd_look look;
    wcodec_status status[2];
    wcodec_error error[2];
};

static void decide_task(void *argument, size_t i)
{
    struct decision *d = argument;
    if (i == 0)
        d->status[i] = wcodec_plan_tensor(d->context, d->settings, d->dtype, d->data, d->size, d->survey, &d->plan, &d->error[i]);
    else if (d->settings->level >= 3)
        d->status[i] = wcodec_zstd_look(&d->context->allocator, d->settings->level, d->data, d->size, d->survey->element_log2,
                                        wcodec_tile_policy(d->settings, d->survey->elements), &d->look, &d->error[i]);
}

static wcodec_status decide(struct decision *d, wcodec_error *err)
{
    wcodec_run(d->context, decide_task, d, 2);
    for (unsigned i = 0; i < 2; i++)
        if (d->status[i]) {
            wcodec_plan_free(d->plan);
            d->plan = NULL;
            return wcodec_fail(err, d->status[i], "%s", d->error[i].text);
        }
    return WCODEC_OK;
}

/* A small tensor whose tiles with all that describes them save less than 1 %: not worth the reader's time for its tables. */
static bool saves_nothing(const struct wcodec_coded *tiles, uint64_t size)
{
    uint8_t parameters[WCODEC_TILING_MAX_BYTES];
    return size <= SMALL && tiles->payload_size + wcodec_tiling_write(tiles->tiling, parameters) > size - size / 100;
}

/* Chunks, stored as they are or zstd, in place of tiles, where these do not shrink the tensor, or where zstd saves 1 %: GPUs cannot decode it. */
static wcodec_status try_chunks(wcodec_context *context, const struct wcodec_encode_settings *settings, const uint8_t *data, uint64_t size, const struct wcodec_zstd_look *look,
                                struct wcodec_coded *result, wcodec_error *err)
{
    struct wcodec_coded chunks;
    bool small = saves_nothing(result, size), try = small || result->payload_size >= size, done = false;
    wcodec_status status = try ? WCODEC_OK : wcodec_zstd_may_win(&context->allocator, look, result, &try, err);
    if (status || !try)
        return status;
    uint64_t limit = small ? UINT64_MAX : result->payload_size >= size ? result->payload_size : result->payload_size - result->payload_size / 100;
    /* Of a large tensor two payloads at once would be too much memory: one is only counted, and coded again if it wins. */
    bool large = size > LARGE;
    status = wcodec_chunked_code(context, settings, data, size, limit, large ? NULL : &chunks, &done, err);
    if (status || !done)
        return status;
    uint64_t order0_bits = result->order0_bits;
    wcodec_coded_free(result);
    if (large)
        status = wcodec_chunked_code(context, settings, data, size, 0, &chunks, &done, err);
    if (status)
        return status;
    chunks.order0_bits = order0_bits;
    *result = chunks;
    return WCODEC_OK;
}

static wcodec_status code_weights(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                  const struct wcodec_survey *survey, struct wcodec_coded *coded, wcodec_error *err)
{
    struct decision d = {.context = context, .settings = settings, .survey = survey, .dtype = dtype, .data = data, .size = size};
    struct wcodec_coded result;
    wcodec_status status = decide(&d, err);
    if (status)
        return status;
    status = wcodec_payload_code(context, settings, d.plan, data, &result, err);
    wcodec_plan_free(d.plan);
    if (status)
        return status;
    if (settings->verify)
        status = wcodec_coded_verify(context, settings, &result, data, err);
    if (!status)
        status = try_chunks(context, settings, data, size, &d.look, &result, err);
    if (status)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}

wcodec_status wcodec_encode_tensor(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const void *data, uint64_t size,
                                   struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_survey survey = {0};
    bool done;
    if (size == 0) {
        constant(&survey, &context->allocator, coded);
        return WCODEC_OK;
    }
    if (!settings->weights)
        return wcodec_chunked_code(context, settings, data, size, 0, coded, &done, err);
    if (size >> wcodec_dtype_element_log2(dtype) << wcodec_dtype_element_log2(dtype) != size)
        dtype = WCODEC_DTYPE_OTHER;
    wcodec_status status = wcodec_survey_tensor(context, dtype, data, size, settings->level <= 1, &survey, err);
    if (status)
        return status;
    if (survey.any == survey.all) {
        constant(&survey, &context->allocator, coded);
        return WCODEC_OK;
    }
    return code_weights(context, settings, dtype, data, size, &survey, coded, err);
}
