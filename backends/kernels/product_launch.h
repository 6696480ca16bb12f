/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of products.def are given, for hosts and kernels. Addresses are the
 * device's. */
#ifndef WCODEC_KERNELS_PRODUCT_LAUNCH_H
#define WCODEC_KERNELS_PRODUCT_LAUNCH_H

#include "backends/kernels/floats.h"
#include "backends/kernels/jobs.h"

/* What a kernel of products does: y = x W^T of whole tiles of x, of any x, or y = x W. */
#define WCODEC_PRODUCT_DIRECT 0
#define WCODEC_PRODUCT_STAGED 1
#define WCODEC_PRODUCT_TRANSPOSED 2

/* What a launch of products is given (product.h, product_transposed.h). */
struct wcodec_product_launch {
    uint64_t shifts;  /* i8[16 * bands] */
    uint64_t records; /* multiples of 16 */
    uint64_t spilled;
    uint64_t x; /* BF16 */
    uint64_t y;
    uint64_t bias;     /* 0: none */
    uint64_t x_stride; /* bytes from a vector to the next */
    uint64_t y_stride;
    uint32_t rows;    /* of the matrix */
    uint32_t columns; /* likewise */
    uint32_t across;  /* tiles of a band */
    uint32_t bands;
    uint32_t vectors;     /* 1 to what the kernel takes */
    uint32_t list;        /* units of a tile's list */
    uint32_t group_bands; /* of a work-group */
    uint32_t parts;       /* warps for each */
    uint32_t y_format;    /* WCODEC_TO_F32, ... */
    uint32_t bias_format;
    uint32_t by_16;  /* may x be read by 16 bytes? */
    uint32_t groups; /* y = x W: work-groups of a cluster, which divide the bands */
};
WCODEC_STRUCT_SIZE(wcodec_product_launch, 112);

/* Shared memory of a warp: what is to be changed in the upper byte of each element of a tile, the
 * tile's record, and what says that this is there. After all warps' come, for each part, two stages
 * of x, if there are any. At the end the sums of all warps, with so many words from a vector to the
 * next, are there. */
enum {
    WCODEC_PRODUCT_RECORD = WCODEC_FIXED_TILE,
    WCODEC_PRODUCT_BARRIER =
        WCODEC_PRODUCT_RECORD + 2048 + 1024 + WCODEC_FIXED_LIST_MAX * WCODEC_FIXED_LIST_UNIT,
    WCODEC_PRODUCT_WARP = WCODEC_PRODUCT_BARRIER + 16,
    WCODEC_PRODUCT_SPARE = 4
};

/* Bytes of shared memory of a work-group; eights: of vectors. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_product_shared(uint32_t bands, uint32_t parts,
                                                      uint32_t eights, bool staged)
{
    const uint32_t tiles = bands * parts * WCODEC_PRODUCT_WARP +
                           (staged ? parts * 2 * 2048 * eights : 0),
                   sums =
                       parts * eights * 8 * (bands * WCODEC_FIXED_ROWS + WCODEC_PRODUCT_SPARE) * 4;
    return tiles > sums ? tiles : sums;
}

/* Products of many vectors (product_wide.h) and what makes their x ready. */
struct wcodec_wide_launch {
    struct wcodec_product_launch
        product;         /* parts: of the columns, a work-group of a cluster each */
    uint64_t blocks;     /* x, made ready */
    uint64_t block_size; /* bytes of one, of `vectors` */
    uint32_t shares;     /* work-groups of a cluster that share a part's x */
    uint32_t stages;     /* of x */
    uint32_t vectors;    /* of a block */
    uint32_t groups;     /* that have tiles, no clusters; 0: there are clusters */
    /* Of such groups: sums of binary32 of each one's rows and vectors, where there are parts; of
     * how many parts they are there, for each warp of rows and vectors, u32[counts]. */
    uint64_t sums, counters;
    uint32_t counts; /* no more than threads that make x ready */
    uint32_t pad;
};
WCODEC_STRUCT_SIZE(wcodec_wide_launch, 168);

/* Rows of a work-group, by eight warps, beside which others bring what they multiply. Shared
 * memory: barriers; stages of x, 64 columns of all vectors each; for each warp and each of its
 * records what WCODEC_PRODUCT_RECORD has before it, and the record. In place of all but the
 * barriers the sums come at the end, with so many words from a vector to the next. */
enum {
    WCODEC_WIDE_BANDS = 8,
    WCODEC_WIDE_ROWS = WCODEC_WIDE_BANDS * WCODEC_FIXED_ROWS,
    WCODEC_WIDE_STAGES = 16,     /* most */
    WCODEC_WIDE_RECORDS = 4,     /* most, of a warp */
    WCODEC_WIDE_CLUSTER = 8,     /* most work-groups */
    WCODEC_WIDE_JOINED = 64,     /* most vectors of those whose parts are no cluster */
    WCODEC_WIDE_HEAD = 1024,     /* barriers */
    WCODEC_WIDE_X_THREADS = 128, /* of a work-group that makes x ready, */
    WCODEC_WIDE_X_GROUPS = 16,   /* and such of a multiprocessor */
    WCODEC_WIDE_STRIDE = WCODEC_WIDE_ROWS + WCODEC_PRODUCT_SPARE
};

/* Threads of a work-group whose records so many warps bring: four warps bring, or twelve. */
#define WCODEC_WIDE_THREADS(helpers) (32 * (WCODEC_WIDE_BANDS + ((helpers) > 3 ? 12 : 4)))

/* Records of a warp that are there at once: of many vectors, each of which takes long, two. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_records(uint32_t vectors)
{
    return vectors > 128 ? 2 : vectors > 64 ? 3 : 4;
}

/* Bytes that one of them takes there. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_record(uint32_t bits, uint32_t list)
{
    return WCODEC_PRODUCT_RECORD +
           (2048 + 256 * (bits + 1) + WCODEC_FIXED_LIST_UNIT * list + 127) / 128 * 128;
}

/* y = x W (product_transposed.h): most vectors of a launch, and words from one's sums to the next
 * one's. */
enum {
    WCODEC_TRANSPOSED_VECTORS = 16,
    WCODEC_TRANSPOSED_CLUSTER = 8, /* most work-groups */
    WCODEC_TRANSPOSED_STRIDE = WCODEC_FIXED_COLUMNS + 4,
    WCODEC_TRANSPOSED_SUMS = 4 * WCODEC_TRANSPOSED_VECTORS * WCODEC_TRANSPOSED_STRIDE
};

/* Most vectors of a launch of products by plain work-items (product_plain.h). */
enum { WCODEC_PRODUCT_PLAIN_VECTORS = 8 };

/* What one of rows is given (rows.h). */
struct wcodec_rows_launch {
    struct wcodec_fixed_job job; /* its checks are not there */
    uint64_t indices;            /* int64; 0: the job's elements are wanted */
    uint64_t count;              /* of them */
    uint64_t outside; /* two words: how many of them were no row's, and `number` of the last launch
                         that had one; 0: that is not told */
    uint32_t tiles;   /* of the job */
    uint32_t number;
};
WCODEC_STRUCT_SIZE(wcodec_rows_launch, 160);

/* Tiles of a row that a warp takes at once, of eight. across: of the row. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_gather_tiles(uint32_t across)
{
    return across > 4 ? 8 : across > 2 ? 4 : across;
}

/* Shared memory of eight rows' tiles, a warp's: for each of them its list, and what is to be
 * changed in upper bytes, by lane; some bytes keep tiles apart in banks. */
enum {
    WCODEC_GATHER_LIST = WCODEC_FIXED_LIST_MAX * WCODEC_FIXED_LIST_UNIT,
    WCODEC_GATHER_TILE = WCODEC_GATHER_LIST + WCODEC_FIXED_COLUMNS + 16,
    WCODEC_GATHER_WARP = 8 * WCODEC_GATHER_TILE
};

#endif
