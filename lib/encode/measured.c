/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/measured.h"

#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

enum {
    ELEMENT_LOG2_MAX = 2, /* that devices measure */
    SIZE_MIN = 1 << 20    /* smaller payloads may be packed, or pay in chunks */
};

bool wcodec_measured_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                             uint64_t size)
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    return settings->level == WCODEC_MEASURED_LEVEL && settings->lossy == WCODEC_LOSSY_NONE &&
           !settings->fixed && !settings->fragments && !settings->delta &&
           (settings->predict == WCODEC_PREDICT_AUTO || settings->predict == WCODEC_PREDICT_NONE) &&
           log2 <= ELEMENT_LOG2_MAX && size >= SIZE_MIN && size >> log2 << log2 == size;
}

wcodec_status
wcodec_measured_plan(wcodec_context *context, const struct wcodec_encode_settings *settings,
                     wcodec_dtype dtype, uint64_t size, const struct wcodec_measured *measured,
                     struct wcodec_plan **plan, struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_statistics *statistics = wcodec_alloc(&context->allocator, sizeof *statistics);
    wcodec_status status = WCODEC_OK;
    *plan = NULL;
    if (statistics == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the counts of a tensor");
    wcodec_statistics_measured(dtype, size, measured, statistics);
    if (statistics->any == statistics->all)
        wcodec_coded_constant(statistics->element_log2, statistics->all, &context->allocator,
                              coded);
    else
        status = wcodec_plan_tensor(context, settings, dtype, NULL, size, statistics, plan, err);
    wcodec_free(&context->allocator, statistics);
    return status;
}
