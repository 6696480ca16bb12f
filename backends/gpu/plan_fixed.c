/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the kernels read of a matrix at a fixed rate: one descriptor for all tiles of a job, its
 * rows' shifts and its tiles' checks. */
#include "backends/gpu/plan.h"

#include <string.h>

unsigned wcodec_gpu_plan_fixed_kernel(const struct wcodec_fixed *fixed)
{
    return wcodec_kernel_find(WCODEC_FAMILY_FIXED, WCODEC_SHAPE_16_8, WCODEC_CODING_PAIRS, false,
                              fixed->bits, false);
}

static uint64_t shifts_size(const struct wcodec_job *job)
{
    return job->count / job->fixed->across * WCODEC_FIXED_ROWS;
}

uint64_t wcodec_gpu_plan_fixed_size(const struct wcodec_job *job)
{
    return sizeof(struct wcodec_fixed_job) + shifts_size(job) +
           wcodec_align_u64(4 * job->count, 16);
}

void wcodec_gpu_plan_write_fixed(const struct wcodec_job *job, uint64_t records, uint64_t spilled,
                                 uint64_t out, uint32_t slot, uint64_t address, uint8_t *at)
{
    const struct wcodec_fixed *f = job->fixed;
    const struct wcodec_area_place *values = &job->places[WCODEC_AREA_VALUES];
    const uint64_t band = job->first / f->across, begin = job->begin / 2, end = job->end / 2,
                   shifts = shifts_size(job),
                   first = values->size == 0 ? 0 : (values->begin - f->spilled_begin) / 4;
    uint8_t *const shifts_at = at + sizeof(struct wcodec_fixed_job), *const checks_at =
                                                                         shifts_at + shifts;
    *(struct wcodec_fixed_job *)(void *)at = (struct wcodec_fixed_job){
        .records = records,
        .spilled = spilled,
        .shifts = address + sizeof(struct wcodec_fixed_job),
        .checks = address + sizeof(struct wcodec_fixed_job) + shifts,
        .out = out,
        .begin = begin,
        .end = end,
        .first_row = begin / f->columns,
        .end_row = end / f->columns,
        .first_band = band,
        .rows = f->rows,
        .spilled_first = first,
        .spilled_end = first + values->size / 4,
        .columns = (uint32_t)f->columns,
        .across = (uint32_t)f->across,
        .list = f->list,
        .slot = slot,
        .regular = begin % f->columns == 0 && end % f->columns == 0 && f->columns % 8 == 0 &&
                   out % 16 == 0,
    };
    memcpy(shifts_at, job->modes + band * WCODEC_FIXED_ROWS, (size_t)shifts);
    memcpy(checks_at, job->modes + f->checks_begin + 4 * job->first, (size_t)(4 * job->count));
}
