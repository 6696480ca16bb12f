/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/encode.h"

const struct wcodec_encoder_row wcodec_encoder_rows[WCODEC_ENCODERS] = {
#define WCODEC_ENCODER(name, step, bits) {#name, WCODEC_ENCODER_##step, bits},
#include "backends/kernels/encoders.def"
#undef WCODEC_ENCODER
};

enum { WARPS = WCODEC_ENCODER_THREADS / 32, GROUPS = 8 /* of a unit, at most */ };

static uint32_t groups_of(uint64_t tasks, uint32_t of_group, unsigned units)
{
    const uint64_t groups = (tasks + of_group - 1) / of_group, most = (uint64_t)GROUPS * units;
    return (uint32_t)(groups < most ? groups : most);
}

static unsigned kernel_of(enum wcodec_encoder_step step, unsigned bits)
{
    unsigned k = 0;
    while (wcodec_encoder_rows[k].step != step ||
           (step == WCODEC_ENCODER_CODE && wcodec_encoder_rows[k].bits != bits))
        k++;
    return k;
}

void wcodec_gpu_plan_encode(const struct wcodec_gpu_matrix *m, enum wcodec_encoder_step step,
                            struct wcodec_gpu_encode *launch)
{
    const struct wcodec_fixed *f = m->fixed;
    const struct wcodec_matrix_work w = wcodec_matrix_work(f);
    const bool code = step == WCODEC_ENCODER_CODE;
    const uint64_t choice = code ? f->bits - WCODEC_FIXED_BITS_MIN : 0;
    *launch = (struct wcodec_gpu_encode){
        .kernel = kernel_of(step, f->bits),
        .groups = groups_of(step == WCODEC_ENCODER_SHIFTS ? f->bands * WCODEC_FIXED_ROWS : f->tiles,
                            WARPS, m->units),
        .threads = WCODEC_ENCODER_THREADS,
        .shared = step == WCODEC_ENCODER_SHIFTS ? WARPS * WCODEC_ENCODE_EXPONENTS
                  : code                        ? WARPS * WCODEC_ENCODE_LIST
                                                : 0,
        .arguments = {.elements = m->elements,
                      .shifts = m->work + choice * f->bands * WCODEC_FIXED_ROWS,
                      .counts = m->work + w.counts + choice * f->tiles * 8,
                      .firsts = m->work + w.firsts,
                      .records = m->payload + f->tiles_begin,
                      .spilled = m->payload + f->spilled_begin,
                      .rows = f->rows,
                      .columns = (uint32_t)f->columns,
                      .across = (uint32_t)f->across,
                      .bands = (uint32_t)f->bands,
                      .list = f->list},
    };
}

void wcodec_gpu_plan_compare(uint64_t one, uint64_t other, uint64_t size, uint64_t differs,
                             unsigned units, struct wcodec_gpu_encode *launch)
{
    *launch = (struct wcodec_gpu_encode){
        .kernel = kernel_of(WCODEC_ENCODER_COMPARE, 0),
        .groups = groups_of(size / 16 + 1, WCODEC_ENCODER_THREADS, units),
        .threads = WCODEC_ENCODER_THREADS,
        .arguments = {.elements = one, .other = other, .size = size, .differs = differs},
    };
}
