/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/survey.h"

#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/histogram.h"

enum { RAW = WCODEC_ATOM_RAW, SAMPLED = WCODEC_ATOM_SAMPLED, COUNTED = WCODEC_ATOM_COUNTED, MAX_TASKS = 64 };

static const struct wcodec_atom bf16_atoms[] = {{0, 7, SAMPLED}, {7, 8, COUNTED}, {15, 1, RAW}};
static const struct wcodec_atom f16_atoms[] = {{0, 8, SAMPLED}, {8, 2, RAW}, {10, 5, COUNTED}, {15, 1, RAW}};
static const struct wcodec_atom f32_atoms[] = {{0, 8, SAMPLED}, {8, 8, SAMPLED}, {16, 7, SAMPLED}, {23, 8, COUNTED}, {31, 1, RAW}};
static const struct wcodec_atom f64_atoms[] = {{0, 8, SAMPLED},  {8, 8, SAMPLED},  {16, 8, SAMPLED}, {24, 8, SAMPLED}, {32, 8, SAMPLED},
                                               {40, 8, SAMPLED}, {48, 4, SAMPLED}, {52, 8, COUNTED}, {60, 3, COUNTED}, {63, 1, RAW}};
static const struct wcodec_atom bytes_atoms[] = {{0, 8, COUNTED},  {8, 8, COUNTED},  {16, 8, COUNTED}, {24, 8, COUNTED},
                                                 {32, 8, COUNTED}, {40, 8, COUNTED}, {48, 8, COUNTED}, {56, 8, COUNTED}};

static void survey_begin(struct wcodec_survey *survey, wcodec_dtype dtype, uint64_t size)
{
    const struct wcodec_atom *atoms;
    memset(survey, 0, sizeof *survey);
    survey->element_log2 = wcodec_dtype_element_log2(dtype);
    survey->elements = size >> survey->element_log2;
    survey->all = UINT64_MAX;
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        atoms = bf16_atoms;
        survey->atom_count = 3;
        break;
    case WCODEC_DTYPE_F16:
        atoms = f16_atoms;
        survey->atom_count = 4;
        break;
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_C64:
        atoms = f32_atoms;
        survey->atom_count = 5;
        break;
    case WCODEC_DTYPE_F64:
        atoms = f64_atoms;
        survey->atom_count = 10;
        break;
    default:
        atoms = bytes_atoms;
        survey->atom_count = 1u << survey->element_log2;
    }
    memcpy(survey->atoms, atoms, survey->atom_count * sizeof *atoms);
}

/* Blocks are shared out in contiguous parts, one a task; sums do not depend on how. */
struct survey_job {
    const uint8_t *data;
    uint64_t blocks, stride;
    bool sampled;
    size_t tasks;
    struct wcodec_survey *parts;
};

static void survey_task(void *argument, size_t task)
{
    struct survey_job *job = argument;
    struct wcodec_survey *s = &job->parts[task];
    uint64_t begin = job->blocks * task / job->tasks, end = job->blocks * (task + 1) / job->tasks;
    for (uint64_t b = begin; b < end; b++) {
        uint64_t first = b * WCODEC_COUNT_BLOCK, left = s->elements - first;
        size_t n = left < WCODEC_COUNT_BLOCK ? (size_t)left : WCODEC_COUNT_BLOCK;
        const uint8_t *at = job->data + (first << s->element_log2);
        wcodec_fold_bits(at, n, s->element_log2, &s->any, &s->all);
        bool sample = b % job->stride == 0;
        for (unsigned a = 0; a < s->atom_count; a++)
            if (s->atoms[a].use != RAW && (sample || (s->atoms[a].use == COUNTED && !job->sampled)))
                wcodec_count_field(at, n, s->element_log2, 0, s->atoms[a].shift, s->atoms[a].width, s->counts[a]);
    }
}

wcodec_status wcodec_survey_tensor(wcodec_context *context, wcodec_dtype dtype, const uint8_t *data, uint64_t size, bool sampled, struct wcodec_survey *survey, wcodec_error *err)
{
    survey_begin(survey, dtype, size);
    struct survey_job job = {.data = data, .sampled = sampled};
    job.blocks = wcodec_div_up_u64(survey->elements, WCODEC_COUNT_BLOCK);
    job.stride = job.blocks / 4 < 1 ? 1 : job.blocks / 4 > 16 ? 16 : job.blocks / 4;
    job.tasks = job.blocks / 8 < 1 ? 1 : job.blocks / 8 > MAX_TASKS ? MAX_TASKS : (size_t)(job.blocks / 8);
    job.parts = wcodec_alloc_array(&context->allocator, job.tasks, sizeof *job.parts);
    if (!job.parts)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu histograms", job.tasks);
    for (size_t i = 0; i < job.tasks; i++)
        job.parts[i] = *survey;
    wcodec_run(context, survey_task, &job, job.tasks);
    for (size_t i = 0; i < job.tasks; i++) {
        survey->any |= job.parts[i].any;
        survey->all &= job.parts[i].all;
        for (unsigned a = 0; a < survey->atom_count; a++)
            for (unsigned s = 0; s < 256; s++)
                survey->counts[a][s] += job.parts[i].counts[a][s];
    }
    wcodec_free(&context->allocator, job.parts);
    return WCODEC_OK;
}
