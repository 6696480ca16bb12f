/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "core/assert.h"
#include "core/error.h"

/* The first look alone would be several percent of the time that tensors of fewer elements take to
 * code; one that is chosen by name needs no look. */
enum { TASK_BLOCKS = 256, ELEMENTS_MIN = 1 << 17, FORCED_MIN = 1 << 12 };

struct predictor {
    const struct wcodec_encode_settings *settings;
    const struct wcodec_mode_choice *choice;
    struct wcodec_predicted *predicted;
    const uint8_t *data;
    uint8_t *numbers; /* of each block's mode in the choice */
};

static void predict_task(void *argument, size_t task)
{
    struct predictor *p = argument;
    const struct wcodec_blocks *b = &p->predicted->blocks;
    const uint64_t first = (uint64_t)task * TASK_BLOCKS,
                   end = b->count - first < TASK_BLOCKS ? b->count : first + TASK_BLOCKS;
    if (wcodec_cancel_poll(p->settings->cancel))
        return;
    for (uint64_t block = first; block < end; block++) {
        uint16_t elements[WCODEC_BLOCK], residuals[WCODEC_BLOCK];
        wcodec_block_load(b, p->data, block, elements);
        p->numbers[block] =
            (uint8_t)wcodec_block_choose(p->choice, b->element_log2, elements, residuals);
        wcodec_residuals_store(b, residuals,
                               p->predicted->residuals + (block * WCODEC_BLOCK << b->element_log2));
    }
}

/* Modes that no block took are not in the list; the others are packed. */
static wcodec_status pack_modes(const struct wcodec_mode_choice *choice, const uint8_t *numbers,
                                struct wcodec_predicted *predicted, wcodec_error *err)
{
    struct wcodec_blocks *b = &predicted->blocks;
    uint64_t counts[WCODEC_MODES] = {0};
    uint8_t index[WCODEC_MODES];
    for (uint64_t i = 0; i < b->count; i++)
        counts[numbers[i]]++;
    b->mode_count = 0;
    for (unsigned m = 0; m < choice->count; m++)
        if (counts[m]) {
            index[m] = b->mode_count;
            b->counts[b->mode_count] = counts[m];
            b->modes[b->mode_count++] = choice->modes[m];
        }
    const unsigned bits = wcodec_blocks_index_bits(b);
    predicted->modes =
        wcodec_alloc_zeroed(predicted->allocator, (size_t)wcodec_blocks_tiles_begin(b) + 1);
    if (predicted->modes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the modes of %llu blocks",
                           (unsigned long long)b->count);
    for (uint64_t i = 0; i < b->count && bits; i++)
        predicted->modes[i * bits / 8] =
            (uint8_t)(predicted->modes[i * bits / 8] | index[numbers[i]] << (i * bits % 8));
    b->check = wcodec_blocks_modes_check(b, predicted->modes);
    return WCODEC_OK;
}

static wcodec_status predict_blocks(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_mode_choice *choice, const uint8_t *data,
                                    struct wcodec_predicted *predicted, wcodec_error *err)
{
    const struct wcodec_blocks *b = &predicted->blocks;
    struct predictor p = {
        .settings = settings, .choice = choice, .predicted = predicted, .data = data};
    wcodec_status status = WCODEC_OK;
    p.numbers = wcodec_alloc_array(predicted->allocator, b->count, 1);
    predicted->residuals =
        wcodec_alloc_array(predicted->allocator, wcodec_blocks_residual_size(b), 1);
    if (p.numbers == NULL || predicted->residuals == NULL) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %llu bytes of residuals",
                             (unsigned long long)wcodec_blocks_residual_size(b));
        goto free_numbers;
    }
    wcodec_run(context, predict_task, &p, (size_t)wcodec_div_up_u64(b->count, TASK_BLOCKS));
    if (wcodec_cancel_poll(settings->cancel))
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    else
        status = pack_modes(choice, p.numbers, predicted, err);
free_numbers:
    wcodec_free(predicted->allocator, p.numbers);
    return status;
}

wcodec_status wcodec_predict_look(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  unsigned element_log2, const uint8_t *data, uint64_t size,
                                  struct wcodec_prediction *prediction, wcodec_error *err)
{
    const unsigned forced = settings->predict == WCODEC_PREDICT_AUTO
                                ? WCODEC_PREDICTORS
                                : settings->predict - (unsigned)WCODEC_PREDICT_NONE;
    struct wcodec_blocks *blocks = &prediction->blocks;
    prediction->pays = false;
    if (settings->predict == WCODEC_PREDICT_NONE || settings->columns == 0 ||
        (settings->level <= 1 && forced == WCODEC_PREDICTORS))
        return WCODEC_OK;
    /* Residuals and a second payload come beside the tensor and its first one. */
    if (size >> element_log2 < (forced == WCODEC_PREDICTORS ? ELEMENTS_MIN : FORCED_MIN) ||
        size > context->limits.max_memory / 6)
        return WCODEC_OK;
    *blocks = (struct wcodec_blocks){.columns = settings->columns};
    if (wcodec_blocks_derive(blocks, size, element_log2, NULL) != WCODEC_OK)
        return WCODEC_OK;
    /* So much padding would eat up what there is to gain. */
    if (forced == WCODEC_PREDICTORS && wcodec_blocks_residual_size(blocks) > size + size / 4)
        return WCODEC_OK;
    return wcodec_modes_choose(&context->allocator, settings->level, blocks, data, forced,
                               &prediction->choice, &prediction->pays, err);
}

wcodec_status wcodec_predict_tensor(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_prediction *prediction, const uint8_t *data,
                                    struct wcodec_predicted *predicted, wcodec_error *err)
{
    WCODEC_ASSERT(prediction->pays);
    struct wcodec_predicted result = {.allocator = &context->allocator,
                                      .blocks = prediction->blocks};
    wcodec_status status =
        predict_blocks(context, settings, &prediction->choice, data, &result, err);
    if (status != WCODEC_OK)
        wcodec_predicted_free(&result);
    else
        *predicted = result;
    return status;
}

void wcodec_predicted_free(struct wcodec_predicted *predicted)
{
    wcodec_free(predicted->allocator, predicted->modes);
    wcodec_free(predicted->allocator, predicted->residuals);
    predicted->modes = NULL;
    predicted->residuals = NULL;
}
