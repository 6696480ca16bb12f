/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tensor.h"

#include "core/dtype.h"
#include "core/error.h"
#include "encode/chunked.h"
#include "encode/payload.h"
#include "encode/rival.h"

enum { LARGE = 1 << 24 };

void wcodec_coded_free(struct wcodec_coded *coded)
{
    for (unsigned i = 0; i < coded->part_count; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    if (coded->tiling)
        wcodec_free(coded->allocator, coded->tiling);
    coded->tiling = NULL;
    coded->part_count = 0;
}

static void constant(const struct wcodec_survey *survey, const wcodec_allocator *allocator, struct wcodec_coded *coded)
{
    memset(coded, 0, sizeof *coded);
    coded->allocator = allocator;
    coded->constant_element_log2 = (uint8_t)survey->element_log2;
    wcodec_store_uint(coded->constant_element, survey->all, 1u << survey->element_log2);
}

static wcodec_status tiles(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                           const struct wcodec_survey *survey, struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_plan *plan;
    struct wcodec_payload payload;
    wcodec_status status = wcodec_plan_tensor(context, settings, dtype, data, size, survey, &plan, err);
    if (status)
        return status;
    status = wcodec_payload_code(context, plan, data, settings->cancel, &payload, err);
    if (status)
        goto free_plan;
    if (settings->verify) {
        status = wcodec_payload_verify(context, plan, data, &payload, settings->cancel, err);
        if (status)
            goto free_payload;
    }
    memset(coded, 0, sizeof *coded);
    coded->allocator = &context->allocator;
    coded->coding = 1;
    coded->order0_bits = plan->order0_bits;
    coded->tiling = plan->tiling;
    plan->tiling = NULL;
    coded->payload_size = payload.size;
    coded->part_count = WCODEC_PARTS;
    for (unsigned p = 0; p < WCODEC_PARTS; p++) {
        coded->parts[p].data = payload.parts[p].data;
        coded->parts[p].size = payload.parts[p].size;
        payload.parts[p].data = NULL;
    }
free_payload:
    wcodec_payload_free(&payload);
free_plan:
    wcodec_plan_free(plan);
    return status;
}

/* zstd in place of tiles, where these do not shrink the tensor or where it saves 1 %: GPUs cannot decode it. */
static wcodec_status try_chunks(wcodec_context *context, const struct wcodec_encode_settings *settings, const uint8_t *data, uint64_t size, struct wcodec_coded *result, wcodec_error *err)
{
    struct wcodec_coded chunks;
    bool try = result->payload_size >= size || settings->level >= 9, done = false;
    wcodec_status status = WCODEC_OK;
    if (!try && settings->level >= 3)
        status = wcodec_zstd_may_win(&context->allocator, settings->level, data, result, &try, err);
    if (status || !try)
        return status;
    uint64_t limit = result->payload_size >= size ? result->payload_size : result->payload_size - result->payload_size / 100;
    /* Of a large tensor two payloads at once would be too much memory: one is only counted, and coded again if it wins. */
    bool large = size > LARGE;
    status = wcodec_chunked_code(context, settings->level, data, size, limit, settings->cancel, large ? NULL : &chunks, &done, err);
    if (status || !done)
        return status;
    uint64_t order0_bits = result->order0_bits;
    wcodec_coded_free(result);
    if (large)
        status = wcodec_chunked_code(context, settings->level, data, size, 0, settings->cancel, &chunks, &done, err);
    if (status)
        return status;
    chunks.order0_bits = order0_bits;
    *result = chunks;
    return WCODEC_OK;
}

wcodec_status wcodec_encode_tensor(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const void *data, uint64_t size,
                                   struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_survey survey = {0};
    struct wcodec_coded result;
    bool done;
    if (size == 0) {
        constant(&survey, &context->allocator, coded);
        return WCODEC_OK;
    }
    if (!settings->weights)
        return wcodec_chunked_code(context, settings->level, data, size, 0, settings->cancel, coded, &done, err);
    if (size >> wcodec_dtype_element_log2(dtype) << wcodec_dtype_element_log2(dtype) != size)
        dtype = WCODEC_DTYPE_OTHER;
    wcodec_status status = wcodec_survey_tensor(context, dtype, data, size, settings->level <= 1, &survey, err);
    if (status)
        return status;
    if (survey.any == survey.all) {
        constant(&survey, &context->allocator, coded);
        return WCODEC_OK;
    }
    status = tiles(context, settings, dtype, data, size, &survey, &result, err);
    if (status)
        return status;
    status = try_chunks(context, settings, data, size, &result, err);
    if (status)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}
