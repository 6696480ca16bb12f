/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The errors of approximated tensors: those that are coded so have them in their parameters, and of
 * those that were compressed anew the metadata has them (doc/format.md 1.8). */
#ifndef WCODEC_FORMAT_LOSS_H
#define WCODEC_FORMAT_LOSS_H

#include "format/index.h"

/* What begins the key of such a pair; the tensor's name follows. */
#define WCODEC_LOSS_KEY "wcodec.lossy."

struct wcodec_loss {
    double largest_error; /* absolute */
    double mean_squared_error;
    double mean_square; /* of the original */
};

/* What a tensor of an index has lost; false: nothing. */
bool wcodec_loss_of(const struct wcodec_index *index, const struct wcodec_entry *entry,
                    struct wcodec_loss *loss);

/* Let the tensors of an index that was read know which pairs are about them: the last ones of its
 * metadata. They are counted, and no part of what is listed. */
void wcodec_loss_attach(struct wcodec_index *index);

/* Metadata of a container: the pairs of `from` except those of loss, then one for each of `tensors`
 * whose member `loss` is set. *pairs is the caller's to free; what it points to, the arena's or
 * that of `from`. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_loss_metadata(const wcodec_allocator *allocator, struct wcodec_arena *arena,
                                   const char *const *from, uint64_t from_count,
                                   const struct wcodec_entry *tensors, uint64_t tensor_count,
                                   const char ***pairs, uint64_t *pair_count, wcodec_error *err);

/* Is that the key of such a pair? */
bool wcodec_loss_is_key(const char *key);

/* The value of a pair, in the arena; NULL if memory is short. */
const char *wcodec_loss_text(struct wcodec_arena *arena, const struct wcodec_loss *loss);

#endif
