/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/encode.h"

#include "core/dtype.h"
#include "core/memory.h"
#include "encode/anchored.h"
#include "encode/assemble.h"
#include "encode/fixed.h"
#include "encode/fragments.h"
#include "encode/masked.h"
#include "encode/records.h"

enum { LARGE = 1 << 24 };

static const char no_fewer_bits[] = "it takes no more bits without loss";

void wcodec_coded_constant(unsigned element_log2, uint64_t value, const wcodec_allocator *allocator,
                           struct wcodec_coded *coded)
{
    memset(coded, 0, sizeof *coded);
    coded->coding = WCODEC_CODING_CONSTANT;
    coded->allocator = allocator;
    coded->constant_element_log2 = (uint8_t)element_log2;
    wcodec_store_uint(coded->constant_element, value, 1u << element_log2);
}

/* The bytes that a target in bits allows; 0 where there is none. */
static double target_bytes(const struct wcodec_lossless *l)
{
    const double elements = (double)(l->size >> wcodec_dtype_element_log2(l->dtype));
    return l->settings->lossy == WCODEC_LOSSY_BITS ? l->settings->lossy_value * elements / 8 : 0;
}

/* Are so many bytes within a target in bits? */
static bool is_within_bits(const struct wcodec_lossless *l, uint64_t payload_size)
{
    return (double)payload_size <= target_bytes(l);
}

/* Why a payload with loss is of no use beside one without. NULL if it is. */
static const char *reason_against(const struct wcodec_lossless *l, uint64_t lossy_size,
                                  uint64_t lossless_size)
{
    if (is_within_bits(l, lossless_size))
        return no_fewer_bits;
    return lossy_size >= lossless_size ? "it is no larger without loss" : NULL;
}

/* Where the estimate does not decide: code without loss too, and keep one of the two. Of a large
 * tensor two payloads at once would be too much memory: one that was thrown away is coded again. */
static wcodec_status compare(struct wcodec_lossless *l, struct wcodec_coded *lossy,
                             struct wcodec_coded *coded, const char **reason, wcodec_error *err)
{
    const uint64_t lossy_size = lossy->payload_size;
    const bool large = l->size > LARGE;
    struct wcodec_coded lossless;
    if (large)
        wcodec_coded_free(lossy);
    wcodec_status status = wcodec_lossless_code(l, &lossless, err);
    if (status != WCODEC_OK) {
        if (!large)
            wcodec_coded_free(lossy);
        return status;
    }
    *reason = reason_against(l, lossy_size, lossless.payload_size);
    if (*reason != NULL) {
        if (!large)
            wcodec_coded_free(lossy);
        *coded = lossless;
        return WCODEC_OK;
    }
    wcodec_coded_free(&lossless);
    if (large)
        return wcodec_anchored_code(l->context, l->settings, l->dtype, l->data, l->size, coded,
                                    reason, err);
    *coded = *lossy;
    return WCODEC_OK;
}

/* Code with loss as the settings ask. *reason: why not, or NULL. *done: `coded` is set; else the
 * tensor is still to be coded without loss. */
static wcodec_status code_lossy(struct wcodec_lossless *l, struct wcodec_coded *coded, bool *done,
                                const char **reason, wcodec_error *err)
{
    const uint64_t most = wcodec_lossless_most(l);
    struct wcodec_coded lossy;
    bool may_compete;
    *done = false;
    if (!wcodec_lossy_dtype(l->dtype))
        *reason = "its type has no lossy form";
    else if (!wcodec_lossy_applies(l->settings, l->dtype, l->size))
        *reason = "it is small";
    else if (is_within_bits(l, most))
        *reason = no_fewer_bits;
    else
        *reason = NULL;
    if (*reason != NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_anchored_code(l->context, l->settings, l->dtype, l->data, l->size,
                                                &lossy, reason, err);
    if (status != WCODEC_OK || *reason != NULL)
        return status;
    *reason = reason_against(l, lossy.payload_size, most);
    if (*reason != NULL) {
        wcodec_coded_free(&lossy);
        return WCODEC_OK;
    }
    const double target = target_bytes(l);
    const uint64_t within = target < (double)l->size ? (uint64_t)target : l->size;
    status = wcodec_lossless_may_reach(l, within > lossy.payload_size ? within : lossy.payload_size,
                                       &may_compete, err);
    if (status != WCODEC_OK) {
        wcodec_coded_free(&lossy);
        return status;
    }
    *done = true;
    if (may_compete)
        return compare(l, &lossy, coded, reason, err);
    *coded = lossy;
    return WCODEC_OK;
}

static wcodec_status code_weights(struct wcodec_lossless *l, struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    const struct wcodec_encode_settings *settings = l->settings;
    const uint64_t order0_bits = l->plan->order0_bits;
    struct wcodec_coded result;
    const char *reason = NULL;
    bool done = false;
    wcodec_status status = WCODEC_OK;
    if (settings->lossy != WCODEC_LOSSY_NONE)
        status = code_lossy(l, &result, &done, &reason, err);
    else if (settings->fixed && wcodec_fixed_applies(l->dtype, l->size, settings->columns))
        status = wcodec_fixed_code(l->context, settings, l->data, l->size, &result, &done, err);
    if (status == WCODEC_OK && !done)
        status = wcodec_lossless_code(l, &result, err);
    if (status != WCODEC_OK)
        return status;
    result.lossless = reason;
    if (result.coding == WCODEC_CODING_LOSSY || result.coding == WCODEC_CODING_FIXED ||
        result.coding == WCODEC_CODING_ANCHORED) {
        result.order0_bits = order0_bits;
        if (settings->verify)
            status = wcodec_coded_verify(l->context, settings, &result, l->data, NULL, err);
    }
    if (status == WCODEC_OK)
        status = wcodec_coded_pack(settings, &result, err);
    if (status != WCODEC_OK)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}

/* The type that so many bytes are read as. */
static wcodec_dtype whole_elements(wcodec_dtype dtype, uint64_t size)
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    return size >> log2 << log2 == size ? dtype : WCODEC_DTYPE_OTHER;
}

struct wcodec_planned {
    const wcodec_allocator *allocator;
    struct wcodec_encode_settings settings;
    struct wcodec_statistics statistics;
    struct wcodec_lossless lossless;
};

/* All that is coded by a plan alone, at levels that look for no better ones. */
static bool is_planned_ahead(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                             const void *data, uint64_t size)
{
    return size != 0 && settings->weights && settings->level < WCODEC_LEVEL_SIZE &&
           settings->lossy == WCODEC_LOSSY_NONE && settings->geometry == NULL &&
           !settings->fragments && !settings->fixed &&
           !wcodec_masked_applies(settings, dtype, data, size);
}

wcodec_status wcodec_plan_ahead(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size, struct wcodec_planned **planned,
                                wcodec_error *err)
{
    *planned = NULL;
    dtype = whole_elements(dtype, size);
    if (!is_planned_ahead(settings, dtype, data, size))
        return WCODEC_OK;
    struct wcodec_planned *p = wcodec_alloc(&context->allocator, sizeof *p);
    if (p == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor's plan");
    p->allocator = &context->allocator;
    p->settings = *settings;
    wcodec_status status =
        wcodec_statistics_gather(context, dtype, data, size, settings->level, &p->statistics, err);
    const bool constant = status == WCODEC_OK && p->statistics.any == p->statistics.all;
    if (status == WCODEC_OK && !constant)
        status = wcodec_lossless_decide(context, &p->settings, &p->statistics, dtype, data, size,
                                        &p->lossless, err);
    if (status != WCODEC_OK || constant)
        wcodec_free(&context->allocator, p);
    else
        *planned = p;
    return status;
}

wcodec_status wcodec_encode_planned(struct wcodec_planned *planned, uint64_t scratch,
                                    struct wcodec_coded *coded, wcodec_error *err)
{
    planned->settings.scratch = scratch;
    const wcodec_status status = code_weights(&planned->lossless, coded, err);
    wcodec_planned_free(planned);
    return status;
}

void wcodec_planned_free(struct wcodec_planned *planned)
{
    if (planned == NULL)
        return;
    wcodec_lossless_free(&planned->lossless);
    wcodec_free(planned->allocator, planned);
}

wcodec_status wcodec_encode_tensor(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const void *data, uint64_t size,
                                   struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_statistics statistics;
    struct wcodec_lossless lossless;
    bool done;
    if (size == 0) {
        wcodec_coded_constant(0, 0, &context->allocator, coded);
        return WCODEC_OK;
    }
    if (!settings->weights)
        return wcodec_chunked_code(context, settings, data, size, 0, coded, &done, err);
    dtype = whole_elements(dtype, size);
    wcodec_status status = WCODEC_OK;
    if (settings->geometry != NULL) {
        status = wcodec_records_code(context, settings, dtype, data, size, coded, &done, err);
        if (status != WCODEC_OK || done)
            return status;
    }
    if (settings->fragments && settings->lossy == WCODEC_LOSSY_NONE &&
        wcodec_fragments_apply(dtype, size, settings->columns)) {
        status = wcodec_fragments_code(context, settings, dtype, data, size, coded, &done, err);
        if (status != WCODEC_OK || done)
            return status;
    }
    status = wcodec_masked_code(context, settings, dtype, data, size, coded, &done, err);
    if (status != WCODEC_OK || done)
        return status;
    status =
        wcodec_statistics_gather(context, dtype, data, size, settings->level, &statistics, err);
    if (status != WCODEC_OK)
        return status;
    if (statistics.any == statistics.all) {
        wcodec_coded_constant(statistics.element_log2, statistics.all, &context->allocator, coded);
        return WCODEC_OK;
    }
    status =
        wcodec_lossless_decide(context, settings, &statistics, dtype, data, size, &lossless, err);
    if (status != WCODEC_OK)
        return status;
    status = code_weights(&lossless, coded, err);
    wcodec_lossless_free(&lossless);
    return status;
}
