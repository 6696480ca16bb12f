/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that stay coded in the emulated device's memory, and what that device is like. */
#ifndef WCODEC_EMULATE_KEPT_H
#define WCODEC_EMULATE_KEPT_H

#include "backends/gpu/kept_product.h"
#include "backends/gpu/kept_rows.h"

/* Some device: work-groups small enough to be fast, tables with copies and without, all kernels or
 * some. */
struct wcodec_gpu_limits wcodec_emulated_limits(uint64_t *seed);

/* As wcodec_gpu_plan_measure() takes them. */
uint64_t wcodec_emulated_kernels_there(const struct wcodec_gpu_limits *limits);

/* As struct wcodec_backend_products has them; queues are not looked at. */
wcodec_status wcodec_emulated_keep(struct wcodec_queue *queue, const struct wcodec_job *job,
                                   struct wcodec_memory *scratch, struct wcodec_job_result *result,
                                   struct wcodec_kept **kept, wcodec_error *err);
uint64_t wcodec_emulated_kept_size(const struct wcodec_kept *kept);
wcodec_status wcodec_emulated_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                          uint64_t end, uint64_t out, wcodec_error *err);
uint64_t wcodec_emulated_kept_unit(const struct wcodec_kept *kept);
uint64_t wcodec_emulated_kept_work(const struct wcodec_kept *kept);
/* Its launches, one after the other. */
int wcodec_emulated_kept_multiply(const struct wcodec_product *product, uint64_t work,
                                  int (*launch)(void *opaque, struct wcodec_gpu_coded_product *l),
                                  void *opaque);
/* Rows of one, likewise as decode_rows(). */
wcodec_status wcodec_emulated_kept_gather(const struct wcodec_rows *rows, wcodec_error *err);
/* Of tables, as wcodec_kind_of() takes it. */
uint32_t wcodec_emulated_kept_copies(const struct wcodec_kept *kept);
void wcodec_emulated_kept_free(struct wcodec_kept *kept);

#endif
