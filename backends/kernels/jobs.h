/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a host tells a kernel: built from validated structures (lib/coding/tiling.h), copied to the
 * device once, read by all dialects. Addresses are the device's; a backend that binds buffers makes
 * them offsets from what it binds. */
#ifndef WCODEC_KERNELS_JOBS_H
#define WCODEC_KERNELS_JOBS_H

#include "backends/kernels/dialect.h"
#include "lib/coding/codes.h"

/* One coded field of one tile, for the generic kernel. */
struct wcodec_stream_job {
    uint64_t states;
    uint64_t words;
    uint64_t positions;
    uint64_t values;
    uint64_t runs; /* its packed run indices, 0 without runs */
    uint32_t word_count;
    uint32_t outliers;
    uint32_t entries; /* of its table, or of the pool's first: index into the tensor's entries */
    uint32_t mode_symbol; /* mode | symbol << 8 */
};
WCODEC_STRUCT_SIZE(wcodec_stream_job, 56);

/* One tile. With one coded field in mode 0 the tile is a job of the fast kernels. */
struct wcodec_tile_job {
    uint64_t states;
    uint64_t words;
    uint64_t raw;
    uint64_t out;
    uint64_t positions;
    uint64_t values;
    uint64_t runs; /* fast: packed run indices; generic: its wcodec_stream_job, one a coded field */
    uint32_t check;
    uint32_t word_count;
    uint32_t elements; /* 1 to 65536 */
    uint32_t outliers;
    uint32_t slot;  /* where its fault goes, | 2^31: compare the check */
    uint32_t table; /* generic: where its wcodec_tensor_job is, in units of 16 bytes; in fragments:
                       bytes of a row of the matrix */
};
WCODEC_STRUCT_SIZE(wcodec_tile_job, 80);

/* The tables of a work-group at a time, and what holds for all tiles that use them. Followed by
 * entries, 4 bytes each (lib/coding/table.h). */
struct wcodec_table_set {
    uint32_t entries; /* 4096, or 256 a table of the pool */
    uint32_t shift;   /* of the coded field */
    uint32_t width;
    uint32_t base;      /* pairs: first value of the window */
    uint32_t add;       /* A, repeated to 32 bits */
    uint32_t run_log2;  /* P8: 0, or elements of a run */
    uint32_t run_bits;  /* bits of a run index */
    uint32_t constants; /* bits of an element that are none of a field that is coded or raw */
    uint32_t streams;   /* coded fields of a tile: the sets of further ones are behind this one's
                           entries */
    uint32_t pad[7];
};
WCODEC_STRUCT_SIZE(wcodec_table_set, 64);

/* Jobs [first, first + count) use the same tables: a work-group takes them together. */
struct wcodec_part {
    uint64_t tables; /* address of a wcodec_table_set */
    uint32_t first;
    uint32_t count;
};
WCODEC_STRUCT_SIZE(wcodec_part, 16);

struct wcodec_field_job {
    uint32_t shift;
    uint32_t width;
    uint32_t profile;
    uint32_t run_log2;
    uint32_t run_bits;
};

struct wcodec_plane_job {
    uint32_t bits;
    uint32_t position;
    uint32_t mask; /* of two elements of 16 bits: where its bits are */
};

/* Bits [slot, slot + bits) of a slot of plane `plane` are bits [element, element + bits) of the
 * element. */
struct wcodec_piece_job {
    uint8_t plane;
    uint8_t slot;
    uint8_t element;
    uint8_t bits;
};

/* A tensor, for the generic kernel. */
struct wcodec_tensor_job {
    uint64_t entries; /* address of all pools' entries */
    uint64_t bases;   /* address of u8: window base by (entry index / 256) */
    uint64_t add;
    uint64_t constants; /* constant fields in place */
    uint32_t element_log2;
    uint32_t coded;
    uint32_t planes;
    uint32_t pieces;
    uint32_t bytes; /* 16 bits, one or two fields coded: backends/kernels/bytes.h */
    uint32_t pad;
    struct wcodec_field_job field[8];
    struct wcodec_plane_job plane[6];
    struct wcodec_piece_job piece[64];
};
WCODEC_STRUCT_SIZE(wcodec_tensor_job, 544);

/* A job's tensor in blocks, in fragments, or lossy: a part of it that is wanted. */
struct wcodec_view_job {
    uint64_t out;   /* of element `begin` */
    uint64_t modes; /* packed numbers of modes, from the first block of the job's tiles on */
    uint64_t begin; /* elements [begin, end) of the tensor are stored */
    uint64_t end;
    uint64_t rows;
    uint64_t scales; /* lossy: of row first_row and those behind, or one */
    uint64_t first_row;
    uint32_t columns;
    uint32_t across;     /* blocks of 16 rows, or superblocks */
    uint32_t index_bits; /* of a number of a mode */
    uint32_t wide;       /* what tiles have is 16 bits wide? */
    uint32_t row_scales; /* lossy: a scale for each row? */
    uint32_t format;     /* lossy: of elements (backends/kernels/lossy.h) */
    uint32_t plain;      /* lossy: elements in their order, no blocks */
    uint32_t order;      /* lossy: of a block's coefficients (lib/coding/transform.h) */
    uint8_t mode[16];    /* by number */
};
WCODEC_STRUCT_SIZE(wcodec_view_job, 104);

/* The blocks of one tile: of 16 x 16, or superblocks; of a plain tensor, and of one in fragments,
 * its elements. */
struct wcodec_blocks_job {
    uint64_t residuals; /* of a fused kernel: the tile's raw bits */
    uint64_t view;      /* its wcodec_view_job */
    uint64_t row;       /* place of the first block, in blocks */
    uint64_t first;     /* number of the first block among those of the job's tiles; plain, and in
                           fragments: in the     tensor */
    uint32_t column;    /* of that place */
    uint32_t blocks;
    uint32_t pad[2];
};
WCODEC_STRUCT_SIZE(wcodec_blocks_job, 48);

/* A job's matrix at a fixed rate: some of its bands, of which elements are wanted. */
struct wcodec_fixed_job {
    uint64_t records; /* of its first tile */
    uint64_t spilled; /* of spilled element spilled_first */
    uint64_t shifts;  /* of rows, from the first band's on */
    uint64_t checks;  /* of tiles, from the first on */
    uint64_t out;     /* of element `begin` */
    uint64_t begin;   /* elements [begin, end) of the tensor are stored */
    uint64_t end;
    uint64_t first_row; /* rows [first_row, end_row), if they are regular */
    uint64_t end_row;
    uint64_t first_band;
    uint64_t rows;          /* of the tensor */
    uint64_t spilled_first; /* those of numbers [spilled_first, spilled_end) are there */
    uint64_t spilled_end;
    uint32_t columns;
    uint32_t across;  /* tiles of a band */
    uint32_t list;    /* units of a tile's list */
    uint32_t first;   /* number of its first tile among all of its kernel's */
    uint32_t slot;    /* where that tile's fault goes, | 2^31: compare checks */
    uint32_t regular; /* are rows wanted as a whole, and do they begin at multiples of 16 bytes? */
};
WCODEC_STRUCT_SIZE(wcodec_fixed_job, 128);

/* The layouts of elements that have kernels of their own: bits of an element, and how many of them
 * are raw. Others are coded, by one field. */
enum wcodec_shape {
    WCODEC_SHAPE_16_8,  /* bf16 */
    WCODEC_SHAPE_8_4,   /* int8 4+4 */
    WCODEC_SHAPE_8_0,   /* bytes */
    WCODEC_SHAPE_32_24, /* f32 */
    WCODEC_SHAPE_16_11, /* f16 */
    WCODEC_SHAPE_8_31,  /* the lower 3 and the top one: e4m3 */
    WCODEC_SHAPE_32_8,  /* bf16 stored as f32: the lower 16 bits are constant */
    WCODEC_SHAPE_8_1,   /* residuals, of which the lowest bits are raw */
    WCODEC_SHAPE_8_2,
    WCODEC_SHAPE_8_3,
    WCODEC_SHAPES
};

#endif
