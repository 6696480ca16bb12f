/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What launches of the kernels of rows_coded.def are given, for hosts and kernels. */
#ifndef WCODEC_KERNELS_ROWS_CODED_LAUNCH_H
#define WCODEC_KERNELS_ROWS_CODED_LAUNCH_H

#include "backends/kernels/launch.h"

struct wcodec_coded_rows_launch {
    struct wcodec_launch tiles; /* jobs with the same tables; nothing is stored at their `out` */
    uint64_t indices;           /* int64 */
    uint64_t count;             /* of them */
    uint64_t out;               /* a multiple of 8 */
    uint64_t outside;           /* as in struct wcodec_rows_launch */
    uint64_t rows;              /* of the tensor */
    uint64_t row_size;          /* bytes, a multiple of 8 */
    uint32_t pieces;            /* tiles that have a part of one row, at most */
    uint32_t tile_log2;         /* of bytes of a tile */
    uint32_t number;            /* for `outside` */
    uint32_t zeros;             /* does this launch give rows that are none? */
    uint32_t sole;              /* are its jobs all tiles, in order? */
    uint32_t pad[3];
};
WCODEC_STRUCT_SIZE(wcodec_coded_rows_launch, 192);

#endif
