/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels that code matrices (backends/kernels/encode_fixed.h). */
#ifndef WCODEC_GPU_ENCODE_H
#define WCODEC_GPU_ENCODE_H

#include "backends/backend.h"
#include "backends/kernels/encode_launch.h"

enum wcodec_encoder_step {
    WCODEC_ENCODER_SHIFTS,
    WCODEC_ENCODER_COUNTS,
    WCODEC_ENCODER_CODE,
    WCODEC_ENCODER_COMPARE
};

enum wcodec_encoder_number {
#define WCODEC_ENCODER(name, step, bits) WCODEC_ENCODER_##name,
#include "backends/kernels/encoders.def"
#undef WCODEC_ENCODER
    WCODEC_ENCODERS
};

struct wcodec_encoder_row {
    const char *name; /* "fixed_code11" */
    enum wcodec_encoder_step step;
    uint8_t bits;
};

extern const struct wcodec_encoder_row wcodec_encoder_rows[WCODEC_ENCODERS];

enum { WCODEC_ENCODER_THREADS = 256 };

struct wcodec_gpu_encode {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_encode_launch arguments;
};

/* A step on a device with so many units. The addresses are of native memory: the matrix's elements,
 * its work area and its payload. */
struct wcodec_gpu_matrix {
    const struct wcodec_fixed *fixed;
    uint64_t elements, work, payload;
    unsigned units;
};
void wcodec_gpu_plan_encode(const struct wcodec_gpu_matrix *matrix, enum wcodec_encoder_step step,
                            struct wcodec_gpu_encode *launch);

/* Set the word at `differs` where two times `size` bytes are not the same. */
void wcodec_gpu_plan_compare(uint64_t one, uint64_t other, uint64_t size, uint64_t differs,
                             unsigned units, struct wcodec_gpu_encode *launch);

#endif
