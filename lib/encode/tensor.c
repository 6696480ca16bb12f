/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tensor.h"

#include "core/dtype.h"
#include "core/error.h"
#include "encode/chunked.h"
#include "encode/lossy.h"
#include "encode/payload.h"
#include "encode/predict.h"
#include "encode/rival.h"

enum {
    LARGE = 1 << 24,
    SMALL = 1 << 14,
    WORKERS_MAX = 1024,
    WORTH_PREDICTING = 128,
    SURELY_LESS = 32
};

size_t wcodec_encode_workers(wcodec_context *context, uint64_t scratch, uint64_t each,
                             uint64_t work)
{
    uint64_t workers = wcodec_context_threads(context), most = scratch == 0 ? WORKERS_MAX
                                                               : scratch / each < 1
                                                                   ? 1
                                                                   : scratch / each;
    workers = workers < most ? workers : most;
    return (size_t)(workers < work ? workers : work);
}

void wcodec_coded_free(struct wcodec_coded *coded)
{
    for (size_t i = 0; i < coded->part_count; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    wcodec_free(coded->allocator, coded->parts);
    wcodec_free(coded->allocator, coded->tiling);
    wcodec_free(coded->allocator, coded->blocks);
    wcodec_free(coded->allocator, coded->lossy);
    wcodec_free(coded->allocator, coded->coefficients);
    wcodec_free(coded->allocator, coded->approximation);
    coded->tiling = NULL;
    coded->lossy = NULL;
    coded->coefficients = coded->approximation = NULL;
    coded->blocks = NULL;
    coded->parts = NULL;
    coded->part_count = 0;
}

static void constant(const struct wcodec_survey *survey, const wcodec_allocator *allocator,
                     struct wcodec_coded *coded)
{
    memset(coded, 0, sizeof *coded);
    coded->allocator = allocator;
    coded->constant_element_log2 = (uint8_t)survey->element_log2;
    wcodec_store_uint(coded->constant_element, survey->all, 1u << survey->element_log2);
}

/* What is decided before anything is coded. Both looks at the data take time, and neither needs the
 * other. */
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
        d->status[i] = wcodec_plan_tensor(d->context, d->settings, d->dtype, d->data, d->size,
                                          d->survey, &d->plan, &d->error[i]);
    else if (d->settings->level >= 3)
        d->status[i] = wcodec_zstd_look(
            &d->context->allocator, d->settings->level, d->data, d->size, d->survey->element_log2,
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

wcodec_status wcodec_code_tiles(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size,
                                const struct wcodec_survey *survey, struct wcodec_coded *coded,
                                wcodec_error *err)
{
    struct wcodec_plan *plan;
    wcodec_status status =
        wcodec_plan_tensor(context, settings, dtype, data, size, survey, &plan, err);
    if (status)
        return status;
    status = wcodec_payload_code(context, settings, plan, data, coded, err);
    wcodec_plan_free(plan);
    return status;
}

wcodec_status wcodec_coded_prepend(struct wcodec_coded *coded, uint8_t *bytes, uint64_t size,
                                   wcodec_error *err)
{
    struct wcodec_coded_part *parts =
        wcodec_realloc_array(coded->allocator, coded->parts, coded->part_count + 1, sizeof *parts);
    if (!parts) {
        wcodec_free(coded->allocator, bytes);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for what describes a tensor's blocks");
    }
    memmove(parts + 1, parts, coded->part_count++ * sizeof *parts);
    parts[0] = (struct wcodec_coded_part){bytes, size};
    coded->parts = parts;
    coded->payload_size += size;
    return WCODEC_OK;
}

/* The modes go before the residuals' payload. */
static wcodec_status join_blocks(struct wcodec_predicted *predicted, struct wcodec_coded *coded,
                                 wcodec_error *err)
{
    uint8_t *modes = predicted->modes;
    coded->blocks = wcodec_alloc(coded->allocator, sizeof *coded->blocks);
    if (!coded->blocks)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the modes of a tensor's blocks");
    *coded->blocks = predicted->blocks;
    predicted->modes = NULL;
    coded->coding = 4;
    return wcodec_coded_prepend(coded, modes, wcodec_blocks_tiles_begin(&predicted->blocks), err);
}

/* Residuals are small integers, whatever the elements were. *done: there is something to code in
 * them, and it looks like less than `limit` bytes. */
static wcodec_status code_predicted(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    wcodec_dtype dtype, struct wcodec_predicted *predicted,
                                    uint64_t limit, struct wcodec_coded *coded, bool *done,
                                    wcodec_error *err)
{
    const uint64_t size = wcodec_blocks_residual_size(&predicted->blocks),
                   modes = wcodec_blocks_tiles_begin(&predicted->blocks);
    const wcodec_dtype as = predicted->blocks.element_log2 ? WCODEC_DTYPE_I16
                            : dtype == WCODEC_DTYPE_U8     ? dtype
                                                           : WCODEC_DTYPE_I8;
    struct wcodec_encode_settings own = *settings;
    struct wcodec_survey survey = {0};
    struct wcodec_plan *plan;
    struct wcodec_coded result;
    own.residuals = true;
    for (unsigned i = 0; i < predicted->blocks.mode_count;
         i++) /* GPUs transform in a second pass */
        own.residuals = own.residuals && predicted->blocks.modes[i] % WCODEC_MODE_DIFFERENTIAL !=
                                             WCODEC_PREDICTOR_WHT;
    wcodec_status status = wcodec_survey_tensor(context, as, predicted->residuals, size,
                                                settings->level <= 1, &survey, err);
    *done = false;
    if (status || survey.any == survey.all)
        return status;
    status = wcodec_plan_tensor(context, &own, as, predicted->residuals, size, &survey, &plan, err);
    if (status)
        return status;
    *done = modes < limit && wcodec_plan_size(plan) < limit - modes;
    if (*done)
        status = wcodec_payload_code(context, settings, plan, predicted->residuals, &result, err);
    wcodec_plan_free(plan);
    if (status || !*done)
        return status;
    status = join_blocks(predicted, &result, err);
    if (status)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}

/* What is smaller of `coded` and the tensor as its own plan has it becomes `result`; prediction
 * must save something to speak of, since it takes readers' time. */
static wcodec_status code_rival(wcodec_context *context,
                                const struct wcodec_encode_settings *settings,
                                struct wcodec_plan *plan, const uint8_t *data,
                                struct wcodec_coded *coded, struct wcodec_coded *result,
                                wcodec_error *err)
{
    wcodec_status status = wcodec_payload_code(context, settings, plan, data, result, err);
    if (!status &&
        coded->payload_size < result->payload_size - result->payload_size / WORTH_PREDICTING) {
        coded->order0_bits = result->order0_bits;
        wcodec_coded_free(result);
        *result = *coded;
    } else {
        wcodec_coded_free(coded);
    }
    return status;
}

/* By prediction in place of tiles alone, where that pays. Plans say beforehand what either way
 * takes, so that mostly one of them is enough; where they are not far apart both are tried. Asked
 * for by name, it is enough that the tensor does not grow. */
static wcodec_status code_best(wcodec_context *context,
                               const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                               const uint8_t *data, uint64_t size,
                               const struct wcodec_survey *survey, struct wcodec_plan *plan,
                               struct wcodec_coded *result, wcodec_error *err)
{
    const bool free_choice = settings->predict == WCODEC_PREDICT_AUTO;
    const uint64_t plain = wcodec_plan_size(plan);
    struct wcodec_predicted predicted;
    struct wcodec_coded coded;
    bool pays, done = false;
    wcodec_status status = wcodec_predict_tensor(context, settings, survey->element_log2, data,
                                                 size, &predicted, &pays, err);
    if (!status && pays) {
        status = code_predicted(context, settings, dtype, &predicted,
                                free_choice ? plain : UINT64_MAX, &coded, &done, err);
        wcodec_predicted_free(&predicted);
    }
    if (status)
        return status;
    if (done && free_choice && coded.payload_size > plain - plain / SURELY_LESS)
        return code_rival(context, settings, plan, data, &coded, result, err);
    if (done && (free_choice || coded.payload_size < size)) {
        coded.order0_bits = plan->order0_bits;
        *result = coded;
        return WCODEC_OK;
    }
    if (done)
        wcodec_coded_free(&coded);
    return wcodec_payload_code(context, settings, plan, data, result, err);
}

/* A small tensor whose tiles with all that describes them save less than 1 %: not worth the
 * reader's time for its tables. */
static bool saves_nothing(const struct wcodec_coded *tiles, uint64_t size)
{
    uint8_t parameters[WCODEC_TILING_MAX_BYTES];
    return size <= SMALL &&
           tiles->payload_size + wcodec_tiling_write(tiles->tiling, parameters) > size - size / 100;
}

/* Chunks, stored as they are or zstd, in place of tiles, where these do not shrink the tensor, or
 * where zstd saves 1 %: GPUs cannot decode it. */
static wcodec_status try_chunks(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, const uint8_t *data,
                                uint64_t size, const struct wcodec_zstd_look *look,
                                struct wcodec_coded *result, wcodec_error *err)
{
    struct wcodec_coded chunks;
    bool small = result->coding == 1 && saves_nothing(result, size),
         try = small || result->payload_size >= size, done = false;
    wcodec_status status = WCODEC_OK;
    if (!try)
        status = wcodec_zstd_may_win(&context->allocator, look, result, &try, err);
    if (status || !try)
        return status;
    uint64_t less = result->payload_size / 100,
             limit = small ? UINT64_MAX
                           : result->payload_size - (result->payload_size >= size ? 0 : less);
    /* Of a large tensor two payloads at once would be too much memory: one is only counted, and
     * coded again if it wins. */
    bool large = size > LARGE;
    status = wcodec_chunked_code(context, settings, data, size, limit, large ? NULL : &chunks,
                                 &done, err);
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

static wcodec_status code_weights(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                  const uint8_t *data, uint64_t size,
                                  const struct wcodec_survey *survey, struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    struct decision d = {.context = context,
                         .settings = settings,
                         .survey = survey,
                         .dtype = dtype,
                         .data = data,
                         .size = size};
    struct wcodec_coded result;
    wcodec_status status = decide(&d, err);
    if (status)
        return status;
    status = code_best(context, settings, dtype, data, size, survey, d.plan, &result, err);
    wcodec_plan_free(d.plan);
    if (status)
        return status;
    if (settings->verify)
        status = wcodec_coded_verify(context, settings, &result, data, err);
    /* Who asks for a predictor by name gets it. */
    if (!status && (result.coding != 4 || settings->predict == WCODEC_PREDICT_AUTO))
        status = try_chunks(context, settings, data, size, &d.look, &result, err);
    if (status)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}

/* Why a tensor must stay as it is, though loss was asked for; NULL if it need not. */
static const char *reason_against_loss(const struct wcodec_encode_settings *settings,
                                       wcodec_dtype dtype, uint64_t size,
                                       const struct wcodec_coded *lossless)
{
    if (!wcodec_lossy_dtype(dtype))
        return "its type has no lossy form";
    if (!wcodec_lossy_applies(settings, dtype, size))
        return "it is small";
    const double elements = (double)(size >> wcodec_dtype_element_log2(dtype));
    if (settings->lossy == WCODEC_LOSSY_BITS &&
        8 * (double)lossless->payload_size <= settings->lossy_value * elements)
        return "it takes no more bits without loss";
    return NULL;
}

/* Loss in place of what was coded without, where that is smaller. */
static wcodec_status try_lossy(wcodec_context *context,
                               const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                               const uint8_t *data, uint64_t size,
                               const struct wcodec_survey *survey, struct wcodec_coded *result,
                               wcodec_error *err)
{
    const uint64_t plain_size = result->payload_size, order0_bits = result->order0_bits;
    const char *reason = reason_against_loss(settings, dtype, size, result);
    const bool large = size > LARGE;
    struct wcodec_coded coded;
    wcodec_status status = WCODEC_OK;
    if (reason) {
        result->lossless = reason;
        return status;
    }
    /* As above: of a large tensor only one payload at a time. */
    if (large)
        wcodec_coded_free(result);
    status =
        wcodec_lossy_code(context, settings, dtype, data, size, plain_size, &coded, &reason, err);
    if (status)
        return status;
    if (reason && large)
        status = code_weights(context, settings, dtype, data, size, survey, result, err);
    if (reason) {
        result->lossless = reason;
        return status;
    }
    wcodec_coded_free(result);
    *result = coded;
    result->order0_bits = order0_bits;
    return settings->verify ? wcodec_coded_verify(context, settings, result, data, err) : status;
}

wcodec_status wcodec_encode_tensor(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const void *data, uint64_t size,
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
    wcodec_status status =
        wcodec_survey_tensor(context, dtype, data, size, settings->level <= 1, &survey, err);
    if (status)
        return status;
    if (survey.any == survey.all) {
        constant(&survey, &context->allocator, coded);
        return WCODEC_OK;
    }
    struct wcodec_coded result;
    status = code_weights(context, settings, dtype, data, size, &survey, &result, err);
    if (status)
        return status;
    if (settings->lossy != WCODEC_LOSSY_NONE)
        status = try_lossy(context, settings, dtype, data, size, &survey, &result, err);
    if (status)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}
