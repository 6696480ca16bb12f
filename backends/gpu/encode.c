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

static void plan_step(const struct wcodec_gpu_matrix *m, enum wcodec_encoder_step step,
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

/* Set the word at `differs` where `size` bytes of elements are not those in scratch memory. */
static void plan_compare(const struct wcodec_gpu_matrix *m, uint64_t elements, uint64_t size,
                         struct wcodec_gpu_encode *launch)
{
    *launch = (struct wcodec_gpu_encode){
        .kernel = kernel_of(WCODEC_ENCODER_COMPARE, 0),
        .groups = groups_of(size / 16 + 1, WCODEC_ENCODER_THREADS, m->units),
        .threads = WCODEC_ENCODER_THREADS,
        .arguments = {.elements = elements,
                      .other = m->scratch,
                      .size = size,
                      .differs = m->work + wcodec_matrix_work(m->fixed).differs},
    };
}

int wcodec_gpu_measure(const struct wcodec_gpu_matrix *m,
                       const struct wcodec_gpu_launcher *launcher)
{
    struct wcodec_gpu_encode l;
    plan_step(m, WCODEC_ENCODER_SHIFTS, &l);
    const int result = launcher->encode(launcher->opaque, &l);
    plan_step(m, WCODEC_ENCODER_COUNTS, &l);
    return result == 0 ? launcher->encode(launcher->opaque, &l) : result;
}

/* Rows of what was coded, as many whole bands from `first` on as scratch memory has place for:
 * decoded to it and compared. */
static int check_piece(const struct wcodec_gpu_matrix *m,
                       const struct wcodec_gpu_launcher *launcher, uint64_t first, uint64_t *count)
{
    const struct wcodec_fixed *f = m->fixed;
    const uint64_t most = m->scratch_size / wcodec_fixed_band_size(f) * WCODEC_FIXED_ROWS,
                   left = f->rows - first;
    const struct wcodec_rows wanted = {
        .fixed = f, .first = first, .count = left < most ? left : most, .out = m->scratch};
    struct wcodec_gpu_rows rows;
    struct wcodec_gpu_encode l;
    *count = wanted.count;
    wcodec_gpu_plan_rows(&wanted, m->payload, m->units, m->shared, &rows);
    plan_compare(m, m->elements + 2 * first * f->columns, 2 * wanted.count * f->columns, &l);
    const int result = launcher->rows(launcher->opaque, &rows);
    return result == 0 ? launcher->encode(launcher->opaque, &l) : result;
}

int wcodec_gpu_code(const struct wcodec_gpu_matrix *m, const struct wcodec_gpu_launcher *launcher)
{
    struct wcodec_gpu_encode l;
    plan_step(m, WCODEC_ENCODER_CODE, &l);
    int result = launcher->encode(launcher->opaque, &l);
    for (uint64_t first = 0, count; first < m->fixed->rows && result == 0; first += count)
        result = check_piece(m, launcher, first, &count);
    return result;
}
