/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What comes from a device is not believed where the host would write or read beyond its memory by
 * it, and of a few rows it is computed again. */
#include "core/error.h"
#include "core/memory.h"
#include "vectors/device_steps.h"

#include <inttypes.h>
#include <math.h>

wcodec_status wcodec_vectors_device_check(const struct wcodec_vectors_work *work, size_t first,
                                          size_t count, wcodec_error *err)
{
    for (size_t i = first; i < first + count; i++)
        if (work->index[i] >= work->m)
            return wcodec_fail(err, WCODEC_ERROR_DEVICE,
                               "it computes wrongly: row %zu has anchor %" PRIu32 " of %zu", i,
                               work->index[i], work->m);
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_device_check_some(const struct wcodec_vectors_work *work,
                                               wcodec_error *err)
{
    enum { SOME = 16 };
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t count = work->n < SOME ? work->n : SOME;
    wcodec_status status = wcodec_vectors_device_check(work, 0, work->n, err);
    if (status != WCODEC_OK)
        return status;
    float *room = wcodec_alloc_array(allocator, work->width, sizeof *room);
    if (room == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a vector of %zu", work->d);
    for (size_t s = 0; s < count && status == WCODEC_OK; s++) {
        const size_t i = (size_t)((uint64_t)s * work->n / count);
        const float *row = wcodec_vectors_widened(work, i, 1, room);
        float least = INFINITY;
        size_t nearest = 0;
        for (size_t k = 0; k < work->m; k++) {
            const float d =
                wcodec_vectors_distance(row, work->anchors + k * work->width, work->width);
            if (d < least) {
                least = d;
                nearest = k;
            }
        }
        if (work->index[i] != nearest)
            status = wcodec_fail(err, WCODEC_ERROR_DEVICE,
                                 "it computes wrongly: row %zu has anchor %" PRIu32
                                 ", but %zu is the nearest",
                                 i, work->index[i], nearest);
    }
    wcodec_free(allocator, room);
    return status;
}
