/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of rows, by their numbers, of tensors that stay coded (backends/kernels/rows_coded.h).
 */
#ifndef WCODEC_GPU_KEPT_ROWS_H
#define WCODEC_GPU_KEPT_ROWS_H

#include "backends/gpu/kept.h"
#include "backends/kernels/rows_coded_launch.h"

enum wcodec_coded_rows_number {
#define WCODEC_CODED_ROWS(name, coding) WCODEC_CODED_ROWS_##name,
#include "backends/kernels/rows_coded.def"
#undef WCODEC_CODED_ROWS
    WCODEC_CODED_ROWS_KERNELS
};

struct wcodec_coded_rows_row {
    const char *name; /* "coded_rows_pairs" */
    uint8_t coding;
};

extern const struct wcodec_coded_rows_row wcodec_coded_rows_rows[WCODEC_CODED_ROWS_KERNELS];

/* The kernel of kernels.def that decodes the same tiles with as much shared memory. */
unsigned wcodec_gpu_coded_rows_decoder(unsigned kernel);

struct wcodec_gpu_coded_rows {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_coded_rows_launch arguments;
};

/* Are rows of so many bytes gathered from its tiles? */
bool wcodec_gpu_kept_gathers(const struct wcodec_gpu_kept *kept, uint64_t row_size);

/* Give the launches of rows->indices, one for each set of tables, whose tensor that is. Returns 0,
 * or what ended it. */
int wcodec_gpu_kept_gather(const struct wcodec_gpu_kept *kept, const struct wcodec_rows *rows,
                           int (*launch)(void *opaque, struct wcodec_gpu_coded_rows *l),
                           void *opaque);

#endif
