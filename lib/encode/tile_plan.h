/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What one tile is coded with: modes and tables of its fields, and its place in memory until it
 * joins the payload. */
#ifndef WCODEC_ENCODE_TILE_PLAN_H
#define WCODEC_ENCODE_TILE_PLAN_H

#include "encode/plan.h"

/* Memory of one thread. */
struct wcodec_tile_scratch {
    void *coder;      /* wcodec_cpu_encode_scratch_size() */
    uint8_t *symbols; /* the elements of a tile */
    uint8_t *run_tables[WCODEC_MAX_CODED];
};

/* A coded tile. */
struct wcodec_tile_slot {
    uint64_t tile;
    uint32_t elements;
    bool stored;
    struct wcodec_stream_plan streams[WCODEC_MAX_CODED];
    struct wcodec_tile_output output;
    uint64_t raw_size;
};

/* Decide modes and tables of a tile of the tensor at data. */
void wcodec_tile_choose(const struct wcodec_plan *plan, const uint8_t *data,
                        struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch);

/* Choose, code, and store the tile as it is if that is no larger. */
void wcodec_tile_code(const struct wcodec_plan *plan, const uint8_t *data,
                      struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch);

#endif
