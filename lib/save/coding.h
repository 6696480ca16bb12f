/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a tensor where it is, in a device's memory, inside: what coder.c, code.c and verify.c
 * share. */
#ifndef WCODEC_SAVE_CODING_H
#define WCODEC_SAVE_CODING_H

#include "encode/assemble.h"
#include "save/save.h"

enum { WCODEC_SAVE_ALIGNMENT = 256 /* what kernels that measure and code want */ };

/* A tensor in a device's memory that is at work in a lane. */
struct wcodec_save_placed {
    struct wcodec_save_request *request;
    const struct wcodec_backend *b;
    struct wcodec_save_lane *lane;
    const struct wcodec_save_place *place;
    uint64_t size;
};

/* Memory of the device for the lane; what was in it is lost where it grows. */
wcodec_status wcodec_save_reserve(const struct wcodec_save_placed *placed, uint64_t size,
                                  wcodec_error *err);

/* Is this offset of the tensor's memory at such an address, as far as the host can know? */
bool wcodec_save_is_aligned(const struct wcodec_save_placed *placed, uint64_t offset,
                            unsigned alignment);

/* Where the payload is until it is written: pinned memory. */
struct wcodec_save_loan {
    struct wcodec_save_request *request;
    struct wcodec_staging staging;
};
void wcodec_save_loan_end(void *loan);

/* What a tensor is coded with. Begins with zeros but for the first three. */
struct wcodec_save_coding {
    struct wcodec_save_placed placed;
    const struct wcodec_encode_settings *settings;
    wcodec_dtype dtype;
    struct wcodec_plan *plan;
    struct wcodec_payload_prefix prefix;
    struct wcodec_tensor_coding own; /* all in the lane's memory, but elements that lie well */
    struct wcodec_tensor_totals totals;
    uint64_t values_again; /* a place from which values are decoded */
    struct wcodec_tiles *tiles;
    struct wcodec_save_loan *loan;
};

/* In this order, each waiting for what it brings to the host unless said otherwise.
 * WCODEC_ERROR_UNSUPPORTED: the CPU has to code it, and the text says why; WCODEC_ERROR_MEMORY,
 * _LIMIT, _DEVICE. */

/* Counts, to the beginning of the lane's staging memory. */
wcodec_status wcodec_save_measure(struct wcodec_save_coding *coding, wcodec_error *err);
/* By `plan`: prefix and tiles are set, and all areas are in the lane's memory. */
wcodec_status wcodec_save_code(struct wcodec_save_coding *coding, wcodec_error *err);
/* The areas to a loan. Does not wait. */
wcodec_status wcodec_save_bring(struct wcodec_save_coding *coding, wcodec_error *err);
/* Decode what was coded, and compare it with the tensor: WCODEC_ERROR_DEVICE if it differs. */
wcodec_status wcodec_save_verify(struct wcodec_save_coding *coding, wcodec_error *err);

/* Free what it has, but for `placed`. */
void wcodec_save_coding_end(struct wcodec_save_coding *coding);

wcodec_status wcodec_save_computes_wrongly(const char *what, wcodec_error *err);

#endif
