/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding all tiles of a tensor by a plan, and putting their parts together as doc/format.md 2.1 has it. */
#ifndef WCODEC_ENCODE_PAYLOAD_H
#define WCODEC_ENCODE_PAYLOAD_H

#include "encode/plan.h"

/* The parts of a payload in tiles, each beginning at a multiple of 16 and padded to one (but for the last). */
enum wcodec_payload_part { WCODEC_PART_PREFIX, WCODEC_PART_STATES, WCODEC_PART_WORDS, WCODEC_PART_RAW, WCODEC_PART_POSITIONS, WCODEC_PART_VALUES, WCODEC_PARTS };

struct wcodec_part {
    uint8_t *data;
    uint64_t size;
    uint64_t room;
};

struct wcodec_payload {
    const wcodec_allocator *allocator;
    struct wcodec_part parts[WCODEC_PARTS];
    uint64_t size;
};

/* Code the tensor; sets the plan's tiling->prefix_size. `payload` is the caller's to free. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_payload_code(wcodec_context *context, struct wcodec_plan *plan, const uint8_t *data, struct wcodec_cancel *cancel, struct wcodec_payload *payload, wcodec_error *err);
void wcodec_payload_free(struct wcodec_payload *payload);

/* Decode all tiles and compare them with data. WCODEC_ERROR_DEVICE if they differ, WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_payload_verify(wcodec_context *context, const struct wcodec_plan *plan, const uint8_t *data, const struct wcodec_payload *payload, struct wcodec_cancel *cancel, wcodec_error *err);

#endif
