/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels that code matrices (backends/kernels/encode_fixed.h). */
#ifndef WCODEC_GPU_ENCODE_H
#define WCODEC_GPU_ENCODE_H

#include "backends/gpu/product.h"
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

/* A matrix that is measured or coded: addresses of native memory, of its elements, its work area,
 * its payload, and of scratch memory for a band of elements at least; a device with so many units,
 * and so many bytes of shared memory for a work-group. */
struct wcodec_gpu_matrix {
    const struct wcodec_fixed *fixed;
    uint64_t elements, work, payload;
    uint64_t scratch, scratch_size;
    unsigned units, shared;
};

/* How a host launches, in order: 0, or its own number of what failed, after which there is no
 * other. */
struct wcodec_gpu_launcher {
    int (*encode)(void *opaque, struct wcodec_gpu_encode *launch);
    int (*rows)(void *opaque, struct wcodec_gpu_rows *launch);
    void *opaque;
};

/* The launches of measure() and code() (backends/backend.h); what the launcher returned last. */
int wcodec_gpu_measure(const struct wcodec_gpu_matrix *matrix,
                       const struct wcodec_gpu_launcher *launcher);
int wcodec_gpu_code(const struct wcodec_gpu_matrix *matrix,
                    const struct wcodec_gpu_launcher *launcher);

#endif
