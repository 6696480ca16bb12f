/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

#include "core/error.h"

enum {
    ZSTD_LEVEL_MIN = 3, /* below, no time is spent on what zstd may make of a tensor */
    LARGE = 1 << 24,
    SMALL = 1 << 14,
    WORTH_PREDICTING = 128,
    SURELY_LESS = 32,
    /* How far an estimate may be off: one part in so many, and bytes of a small payload. */
    OFF_SHARE = 50,
    OFF_SHARE_SAMPLED = 10,
    OFF_BYTES = 512,
    /* Chunks below this level may be coded by zstd's best one, which saves so much at most. */
    LEVEL_SLOW = 7,
    SLOW_GAIN = 2
};

/* The looks at the data take time, and none needs another. What zstd makes of a sample is asked for
 * before coding only where loss is compared with it: it takes longer than the others, in one
 * thread, and else it is time enough to know it when the tiles are coded. */
enum { DECIDE_PLAN, DECIDE_PREDICTION, DECIDE_ZSTD, DECISIONS };

struct decision {
    struct wcodec_lossless *lossless;
    wcodec_status status[DECISIONS];
    wcodec_error error[DECISIONS];
};

static wcodec_status look_at_zstd(struct wcodec_lossless *l, wcodec_error *err)
{
    if (l->looked_at_zstd || l->settings->level < ZSTD_LEVEL_MIN)
        return WCODEC_OK;
    l->looked_at_zstd = true;
    return wcodec_zstd_look(
        l->context, l->settings->level, l->data, l->size, l->statistics->element_log2,
        wcodec_tile_policy(l->settings, l->statistics->elements), &l->zstd, err);
}

static void decide_task(void *argument, size_t i)
{
    struct decision *d = argument;
    struct wcodec_lossless *l = d->lossless;
    switch (i) {
    case DECIDE_PLAN:
        /* Where loss is asked for, it is an estimate to compare with as a rule. */
        if (wcodec_lossy_applies(l->settings, l->dtype, l->size))
            d->status[i] = wcodec_plan_tensor(l->context, l->settings, l->dtype, l->data, l->size,
                                              l->statistics, &l->plan, &d->error[i]);
        else
            d->status[i] = wcodec_plan_search(l->context, l->settings, l->dtype, l->data, l->size,
                                              l->statistics, &l->plan, &d->error[i]);
        break;
    case DECIDE_ZSTD:
        d->status[i] = look_at_zstd(l, &d->error[i]);
        break;
    default:
        d->status[i] = wcodec_predict_look(l->context, l->settings, l->statistics->element_log2,
                                           l->data, l->size, &l->prediction, &d->error[i]);
    }
}

wcodec_status wcodec_lossless_decide(wcodec_context *context,
                                     const struct wcodec_encode_settings *settings,
                                     const struct wcodec_statistics *statistics, wcodec_dtype dtype,
                                     const uint8_t *data, uint64_t size,
                                     struct wcodec_lossless *lossless, wcodec_error *err)
{
    struct decision d = {.lossless = lossless};
    *lossless = (struct wcodec_lossless){.context = context,
                                         .settings = settings,
                                         .statistics = statistics,
                                         .dtype = dtype,
                                         .data = data,
                                         .size = size};
    const unsigned decisions = settings->lossy != WCODEC_LOSSY_NONE ? DECISIONS : DECIDE_ZSTD;
    if (size < SMALL)
        for (unsigned i = 0; i < decisions; i++)
            decide_task(&d, i);
    else
        wcodec_run(context, decide_task, &d, decisions);
    for (unsigned i = 0; i < decisions; i++)
        if (d.status[i] != WCODEC_OK) {
            wcodec_lossless_free(lossless);
            return wcodec_fail(err, d.status[i], "%s", d.error[i].text);
        }
    return WCODEC_OK;
}

void wcodec_lossless_free(struct wcodec_lossless *lossless)
{
    wcodec_plan_free(lossless->plan);
    lossless->plan = NULL;
}

uint64_t wcodec_lossless_most(const struct wcodec_lossless *l)
{
    const uint64_t planned = wcodec_plan_size(l->plan);
    return planned + planned / OFF_SHARE + OFF_BYTES;
}

/* Of a tensor that repeats, could zstd's best level make so few bytes? Its quick one says about. */
static wcodec_status zstd_may_reach(const struct wcodec_lossless *l, uint64_t size, bool *may,
                                    wcodec_error *err)
{
    struct wcodec_encode_settings quick = *l->settings;
    quick.quick = true;
    *may = true;
    return size < l->size / SLOW_GAIN && quick.level < LEVEL_SLOW
               ? wcodec_chunked_code(l->context, &quick, l->data, l->size, SLOW_GAIN * size, NULL,
                                     may, err)
               : WCODEC_OK;
}

wcodec_status wcodec_lossless_may_reach(const struct wcodec_lossless *l, uint64_t size, bool *may,
                                        wcodec_error *err)
{
    const uint64_t planned = wcodec_plan_size(l->plan), off = planned / OFF_SHARE + OFF_BYTES;
    const double sampled = 1 - 1.0 / OFF_SHARE_SAMPLED;
    uint64_t low = planned > off ? planned - off : 0;
    if (l->prediction.pays)
        low = (uint64_t)((double)low * l->prediction.choice.share * sampled);
    if (l->zstd.piece != 0) {
        const double zstd = wcodec_zstd_share(&l->zstd) * (double)l->size * sampled;
        low = zstd < (double)low ? (uint64_t)zstd : low;
    }
    *may = size >= low;
    return l->zstd.repeats && !*may ? zstd_may_reach(l, size, may, err) : WCODEC_OK;
}

/* The modes go before the residuals' payload. */
static wcodec_status join_blocks(struct wcodec_predicted *predicted, struct wcodec_coded *coded,
                                 wcodec_error *err)
{
    uint8_t *modes = predicted->modes;
    coded->blocks = wcodec_alloc(coded->allocator, sizeof *coded->blocks);
    if (coded->blocks == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the modes of a tensor's blocks");
    *coded->blocks = predicted->blocks;
    predicted->modes = NULL;
    coded->coding = WCODEC_CODING_BLOCKS;
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
    wcodec_dtype as = dtype == WCODEC_DTYPE_U8 ? dtype : WCODEC_DTYPE_I8;
    if (predicted->blocks.element_log2 != 0)
        as = WCODEC_DTYPE_I16;
    struct wcodec_encode_settings own = *settings;
    struct wcodec_statistics statistics = {0};
    struct wcodec_plan *plan;
    struct wcodec_coded result;
    own.residuals = true;
    own.level = settings->level < WCODEC_LEVEL_SIZE ? settings->level : WCODEC_LEVEL_SIZE;
    for (unsigned i = 0; i < predicted->blocks.mode_count;
         i++) /* GPUs transform in a second pass */
        own.residuals = own.residuals && predicted->blocks.modes[i] % WCODEC_MODE_DIFFERENTIAL !=
                                             WCODEC_PREDICTOR_WHT;
    wcodec_status status = wcodec_statistics_gather(context, as, predicted->residuals, size,
                                                    settings->level, &statistics, err);
    *done = false;
    if (status != WCODEC_OK || statistics.any == statistics.all)
        return status;
    status =
        wcodec_plan_search(context, &own, as, predicted->residuals, size, &statistics, &plan, err);
    if (status != WCODEC_OK)
        return status;
    *done = modes < limit && wcodec_plan_size(plan) < limit - modes;
    if (*done)
        status = wcodec_payload_code(context, settings, plan, predicted->residuals, &result, err);
    wcodec_plan_free(plan);
    if (status != WCODEC_OK || !*done)
        return status;
    status = join_blocks(predicted, &result, err);
    if (status != WCODEC_OK)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}

/* What is smaller of `coded` and the tensor as its own plan has it becomes `result`; prediction
 * must save something to speak of, since it takes readers' time. */
static wcodec_status code_smaller(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_plan *plan, const uint8_t *data,
                                  struct wcodec_coded *coded, struct wcodec_coded *result,
                                  wcodec_error *err)
{
    wcodec_status status = wcodec_payload_code(context, settings, plan, data, result, err);
    const uint64_t worth =
        settings->level < WCODEC_LEVEL_SIZE ? result->payload_size / WORTH_PREDICTING : 0;
    if (status == WCODEC_OK && coded->payload_size < result->payload_size - worth) {
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
static wcodec_status code_best(struct wcodec_lossless *l, struct wcodec_coded *result,
                               wcodec_error *err)
{
    const struct wcodec_encode_settings *settings = l->settings;
    const bool free_choice = settings->predict == WCODEC_PREDICT_AUTO;
    const uint64_t plain = wcodec_plan_size(l->plan);
    struct wcodec_predicted predicted;
    struct wcodec_coded coded;
    bool done = false;
    if (!l->prediction.pays)
        return wcodec_payload_code(l->context, settings, l->plan, l->data, result, err);
    wcodec_status status =
        wcodec_predict_tensor(l->context, settings, &l->prediction, l->data, &predicted, err);
    if (status != WCODEC_OK)
        return status;
    status = code_predicted(l->context, settings, l->dtype, &predicted,
                            free_choice ? plain : UINT64_MAX, &coded, &done, err);
    wcodec_predicted_free(&predicted);
    if (status != WCODEC_OK)
        return status;
    if (done && free_choice && coded.payload_size > plain - plain / SURELY_LESS)
        return code_smaller(l->context, settings, l->plan, l->data, &coded, result, err);
    if (done && (free_choice || coded.payload_size < l->size)) {
        coded.order0_bits = l->plan->order0_bits;
        *result = coded;
        return WCODEC_OK;
    }
    if (done)
        wcodec_coded_free(&coded);
    return wcodec_payload_code(l->context, settings, l->plan, l->data, result, err);
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
static wcodec_status try_chunks(const struct wcodec_lossless *l, struct wcodec_coded *result,
                                wcodec_error *err)
{
    const uint64_t size = l->size;
    struct wcodec_coded chunks;
    bool small = result->coding == WCODEC_CODING_TILES && saves_nothing(result, size),
         try = small || result->payload_size >= size, done = false;
    wcodec_status status = WCODEC_OK;
    if (!try)
        status = wcodec_zstd_may_win(&l->context->allocator, l->settings->level, &l->zstd, result,
                                     &try, err);
    if (status != WCODEC_OK || !try)
        return status;
    uint64_t limit = result->payload_size;
    if (small)
        limit = UINT64_MAX;
    else if (limit < size && l->settings->level < WCODEC_LEVEL_SIZE)
        limit -= limit / 100;
    /* Of a large tensor two payloads at once would be too much memory: one is only counted, and
     * coded again if it wins. */
    bool large = size > LARGE;
    status = wcodec_chunked_code(l->context, l->settings, l->data, size, limit,
                                 large ? NULL : &chunks, &done, err);
    if (status != WCODEC_OK || !done)
        return status;
    uint64_t order0_bits = result->order0_bits;
    wcodec_coded_free(result);
    if (large)
        status =
            wcodec_chunked_code(l->context, l->settings, l->data, size, 0, &chunks, &done, err);
    if (status != WCODEC_OK)
        return status;
    chunks.order0_bits = order0_bits;
    *result = chunks;
    return WCODEC_OK;
}

/* Coding, and the look that its result is compared with, at once. */
enum { CODE_ZSTD, CODE_BEST, CODE_TASKS };

/* Bytes of a tensor for which that pays: of less, many are coded at once, each with its memory. */
enum { BESIDE = 1 << 20 };

struct coding {
    struct wcodec_lossless *lossless;
    struct wcodec_coded *result;
    wcodec_status status[CODE_TASKS];
    wcodec_error error[CODE_TASKS];
};

static void code_task(void *argument, size_t i)
{
    struct coding *c = argument;
    c->status[i] = i == CODE_ZSTD ? look_at_zstd(c->lossless, &c->error[i])
                                  : code_best(c->lossless, c->result, &c->error[i]);
}

static wcodec_status code_and_look(struct wcodec_lossless *l, struct wcodec_coded *result,
                                   wcodec_error *err)
{
    struct coding c = {.lossless = l, .result = result};
    if (l->size < BESIDE)
        for (unsigned i = 0; i < CODE_TASKS; i++)
            code_task(&c, i);
    else
        wcodec_run(l->context, code_task, &c, CODE_TASKS);
    for (unsigned i = 0; i < CODE_TASKS; i++)
        if (c.status[i] != WCODEC_OK) {
            if (c.status[CODE_BEST] == WCODEC_OK)
                wcodec_coded_free(result);
            return wcodec_fail(err, c.status[i], "%s", c.error[i].text);
        }
    return WCODEC_OK;
}

wcodec_status wcodec_lossless_code(struct wcodec_lossless *l, struct wcodec_coded *coded,
                                   wcodec_error *err)
{
    const struct wcodec_encode_settings *settings = l->settings;
    struct wcodec_coded result;
    wcodec_status status = code_and_look(l, &result, err);
    if (status != WCODEC_OK)
        return status;
    if (settings->verify)
        status = wcodec_coded_verify(l->context, settings, &result, l->data, NULL, err);
    /* Who asks for a predictor by name gets it. */
    if (status == WCODEC_OK &&
        (result.coding != WCODEC_CODING_BLOCKS || settings->predict == WCODEC_PREDICT_AUTO))
        status = try_chunks(l, &result, err);
    if (status != WCODEC_OK)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}
