/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices that have been loaded to a slot are coded at a fixed rate by the device: measured there,
 * planned by the host, coded, and compared with what their code decodes to. */
#ifndef WCODEC_RESIDENT_DEVICE_CODE_H
#define WCODEC_RESIDENT_DEVICE_CODE_H

#include "resident/resident.h"

enum { WCODEC_RESIDENT_PLACE = 256 /* bytes that places are multiples of */ };

struct wcodec_resident_matrix {
    uint64_t tensor; /* its number in the reader */
    struct wcodec_resident_item *item;
    struct wcodec_fixed view, plan;
    uint64_t elements_at, work_at;
    bool suits; /* the fixed rate */
};

struct wcodec_resident_slot {
    struct wcodec_memory *elements, *work;
    uint64_t size;              /* of `elements` */
    struct wcodec_memory *host; /* as much as `work`, pinned */
    uint64_t work_size;
    struct wcodec_resident_matrix *matrices;
    size_t count;
    size_t end;     /* of the tensors that are loaded with them: the next one's number */
    uint64_t bytes; /* that all these are decoded; 0: nothing is loaded to it */
    bool coded;     /* but perhaps not compared yet */
};

struct wcodec_resident_coder {
    const wcodec_reader *reader;
    wcodec_resident *resident;
    const struct wcodec_backend *b;
    struct wcodec_queue *queue;
    struct wcodec_memory *scratch;
    uint64_t scratch_size;
};

wcodec_status wcodec_resident_coder_allocate(const struct wcodec_resident_coder *coder,
                                             enum wcodec_memory_kind kind, uint64_t size,
                                             struct wcodec_memory **memory, wcodec_error *err);
/* Put file and tensor in front of an error. */
void wcodec_resident_coder_prefix(const struct wcodec_resident_coder *coder, uint64_t tensor,
                                  wcodec_error *err);

/* Errors name the tensor. WCODEC_ERROR_DEVICE, _MEMORY. */

/* Have shifts and counts of the slot's matrices made and brought to the host. */
wcodec_status wcodec_resident_measure(const struct wcodec_resident_coder *coder,
                                      struct wcodec_resident_slot *slot, wcodec_error *err);
/* They are there, since the queue has been waited for: choose how each is kept. */
void wcodec_resident_plan(const struct wcodec_resident_coder *coder,
                          struct wcodec_resident_slot *slot);
/* Get the memory for that, which takes as long. */
void wcodec_resident_reserve(const struct wcodec_resident_coder *coder,
                             struct wcodec_resident_slot *slot);
/* Then give the queue what is to be coded. */
wcodec_status wcodec_resident_code(const struct wcodec_resident_coder *coder,
                                   struct wcodec_resident_slot *slot, wcodec_error *err);
/* That has been done: does it decode to the elements? */
wcodec_status wcodec_resident_check_coded(const struct wcodec_resident_coder *coder,
                                          struct wcodec_resident_slot *slot, wcodec_error *err);
/* Wait for the queue. */
wcodec_status wcodec_resident_coder_wait(const struct wcodec_resident_coder *coder,
                                         wcodec_error *err);

#endif
