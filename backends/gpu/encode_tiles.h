/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels that code tensors in tiles (backends/kernels/encode_tiles.h). */
#ifndef WCODEC_GPU_ENCODE_TILES_H
#define WCODEC_GPU_ENCODE_TILES_H

#include "backends/backend.h"
#include "backends/kernels/encode_tiles_launch.h"

enum wcodec_tile_encoder_number {
#define WCODEC_TILE_ENCODER(name, element_log2, raw, profile) WCODEC_TILE_ENCODER_##name,
#define WCODEC_TILE_STEP(name, step, groups) WCODEC_TILE_ENCODER_##name,
#include "backends/kernels/tile_encoders.def"
#undef WCODEC_TILE_ENCODER
#undef WCODEC_TILE_STEP
    WCODEC_TILE_ENCODERS
};

/* Bytes of shared memory that work-groups of so many warps need, whose kernels are compiled for so
 * many copies of the table, with what it takes to begin them at a multiple. */
#define WCODEC_GPU_TILES_SHARED_OF(warps, copies_log2) \
    ((warps)*WCODEC_CODER_STAGE + (2u * WCODEC_CODER_SYMBOLS << (copies_log2)))

/* Of NVIDIA's GPUs: two work-groups of many warps have the registers of a multiprocessor, and its
 * shared memory. */
enum {
    WCODEC_GPU_TILES_WARPS = 8,
    WCODEC_GPU_TILES_WARPS_MANY = 16,
    WCODEC_GPU_TILES_MANY = 1 << 12, /* tiles for which work-groups have that many */
    WCODEC_GPU_TILES_SHARED =
        WCODEC_GPU_TILES_SHARED_OF(WCODEC_GPU_TILES_WARPS_MANY, WCODEC_CODER_COPIES_LOG2)
};

/* How a device's kernels are made. */
struct wcodec_gpu_tiles_form {
    uint32_t warps; /* of a work-group */
    uint32_t many;  /* the same from so many tiles on: */
    uint32_t many_from;
    uint32_t copies_log2; /* of the table */
    bool any;             /* code_any for every tensor */
};

/* As on NVIDIA's GPUs. */
extern const struct wcodec_gpu_tiles_form wcodec_gpu_tiles_usual;

struct wcodec_tile_encoder_row {
    const char *name;                   /* "code_16_8_p8" */
    uint8_t element_log2, raw, profile; /* of one of a step 0 */
    uint8_t groups; /* of a multiprocessor, for which registers are to be enough */
};

extern const struct wcodec_tile_encoder_row wcodec_tile_encoder_rows[WCODEC_TILE_ENCODERS];

struct wcodec_gpu_tiles {
    unsigned kernel;
    uint32_t groups, threads, shared;
    struct wcodec_coder_launch arguments;
};

/* Can tensors of this tiling be coded? One coded field of one table without runs, elements of at
 * most 32 bits, and raw bits that are neighbours in each plane. */
bool wcodec_gpu_codes_tiles(const struct wcodec_tiling *tiling);

/* The launches of code() (backends/backend.h), in order; address: of memory. Returns what `launch`
 * returned last, which is 0, or the host's own number of what failed. */
int wcodec_gpu_code_tiles(const struct wcodec_tensor_coding *coding,
                          const struct wcodec_gpu_tiles_form *form,
                          uint64_t (*address)(const struct wcodec_memory *memory),
                          int (*launch)(void *opaque, struct wcodec_gpu_tiles *launch),
                          void *opaque);

#endif
