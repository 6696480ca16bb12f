/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A gated recurrent unit, as its files see it. */
#ifndef WCODEC_RECURRENT_GRU_H
#define WCODEC_RECURRENT_GRU_H

#include "backends/cpu/gates.h"

#include <wcodec/recurrent.h>

/* Sums of a step: the candidate's of the inputs (and, in RESET_BEFORE, of the hidden values), z, r,
 * and in RESET_AFTER the candidate's of the hidden values. */
enum { WCODEC_GRU_SUMS = 4 };

struct wcodec_gru {
    wcodec_context *context;
    wcodec_allocator allocator;
    size_t hidden, inputs;
    size_t width; /* hidden up to whole blocks: rows of zeros, whose values stay 0 */
    wcodec_gru_form form;
    struct wcodec_cpu_gates_dsp dsp;
    float *weights;
    float *bias;                      /* [4, width], as sums lie; two rows more while it is made */
    float *of_inputs;                 /* W_h, W_z, W_r, in blocks */
    float *of_hidden;                 /* U_z, U_r, U_h, in blocks */
    struct wcodec_gru_device *device; /* NULL: none; else it has the weights */
};

/* Numbers from a step, and a sequence, to the next. */
struct wcodec_gru_strides {
    size_t input_step, input_sequence, output_step, output_sequence;
};

/* Take over the caller's options, or the defaults for NULL, and check them, by the context's limit
 * of memory too. */
wcodec_status wcodec_gru_options_check(const wcodec_context *context,
                                       const wcodec_gru_options *from, wcodec_gru_options *o,
                                       wcodec_error *err);

#endif
