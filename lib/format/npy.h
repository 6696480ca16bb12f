/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The header of a NumPy array as numpy.save() writes it. */
#ifndef WCODEC_FORMAT_NPY_H
#define WCODEC_FORMAT_NPY_H

#include "format/layout.h"

/* Longer ones are those of structured types, which are no tensors. */
enum { WCODEC_NPY_HEADER_MAX = 10000 };

struct wcodec_npy {
    uint64_t
        shape[WCODEC_LAYOUT_RANK_MAX]; /* in the order of the bytes, the last dimension fastest */
    uint64_t begin;                    /* of the data, in the source */
    uint64_t size;
    uint8_t dtype;
    uint8_t rank;
    bool is_transposed; /* the array was in Fortran's order: `shape` is that of its transpose */
};

/* Read the header of the array that the bytes [begin, end) of a source are. WCODEC_ERROR_CORRUPT,
 * with the reason, where it is none, or none of numbers that a tensor can have. More bytes after
 * the data are allowed. */
wcodec_status wcodec_npy_header(const struct wcodec_source *source, uint64_t begin, uint64_t end,
                                struct wcodec_npy *npy, wcodec_error *err);

/* It as a tensor of a layout. */
wcodec_status wcodec_npy_add(struct wcodec_file_layout *layout, const char *name,
                             const struct wcodec_npy *npy, wcodec_error *err);

#endif
