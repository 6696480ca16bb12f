/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Steps of training on a device: the rows are in its memory, and an iteration brings two numbers;
 * or they go there part by part in each. What steps find is the CPU's, to the last bit. */
#ifndef WCODEC_VECTORS_DEVICE_H
#define WCODEC_VECTORS_DEVICE_H

#include "vectors/vectors.h"

/* Bring the rows to the context's device, if it is to do the work: work->device stays NULL where
 * the CPU is, for fewer rows than pay where no device was asked for by name, a device that cannot,
 * or one without memory even for parts of them, which the log says. by_parts false: or for all. */
wcodec_status wcodec_vectors_device_create(struct wcodec_vectors_work *work,
                                           const wcodec_vector_rows *rows, bool by_parts,
                                           wcodec_error *err);
void wcodec_vectors_device_destroy(struct wcodec_vectors_work *work);

/* Bytes of the host's that it takes. */
uint64_t wcodec_vectors_device_memory(const struct wcodec_vectors_device *d);
/* There are anchors: what is kept free for finding those to begin with is no more. */
void wcodec_vectors_device_started(struct wcodec_vectors_work *work);

/* Training ended with this error: is it the device's, and may the CPU do it all again? Then the log
 * says so, and there is no device any more. */
bool wcodec_vectors_device_leave(struct wcodec_vectors_work *work, wcodec_status status,
                                 const wcodec_error *reason);

/* The first rows there are these ones, as many as work->n says; numbers NULL: all rows are there
 * again. */
wcodec_status wcodec_vectors_device_sample(struct wcodec_vectors_work *work,
                                           const uint32_t *numbers, wcodec_error *err);
/* All anchors to begin with, as wcodec_vectors_start_farthest(); they stay there. */
wcodec_status wcodec_vectors_device_take_farthest(struct wcodec_vectors_work *work,
                                                  wcodec_error *err);
/* Make a row anchor k; what distances add up to then goes to work->block_sum. */
wcodec_status wcodec_vectors_device_take(struct wcodec_vectors_work *work, size_t k, size_t row,
                                         wcodec_error *err);
/* Those of a block to work->distance. */
wcodec_status wcodec_vectors_device_distances(struct wcodec_vectors_work *work, size_t block,
                                              wcodec_error *err);
/* What they would add up to with each of WCODEC_VECTORS_TRIED rows: sums[rows][blocks]. */
wcodec_status wcodec_vectors_device_try(struct wcodec_vectors_work *work, const size_t *rows,
                                        double *sums, wcodec_error *err);

/* An iteration: changes, energy, and what maintenance does, which is the host's. */
wcodec_status wcodec_vectors_device_iterate(struct wcodec_vectors_work *work,
                                            const struct wcodec_vectors_move *move,
                                            wcodec_vectors_iteration *now, wcodec_error *err);
/* Anchors to work->anchors; and, as they are there then, back. */
wcodec_status wcodec_vectors_device_get_anchors(struct wcodec_vectors_work *work,
                                                wcodec_error *err);
wcodec_status wcodec_vectors_device_put_anchors(struct wcodec_vectors_work *work,
                                                wcodec_error *err);
/* Give each row its nearest anchor, and bring which to work->index. */
wcodec_status wcodec_vectors_device_assign(struct wcodec_vectors_work *work, wcodec_error *err);

#endif
