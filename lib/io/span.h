/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is kept of bytes [begin, end) of a file, so that whoever has the same of all others makes
 * the file's tree hash (io/tree.h) without the bytes: hashes of its whole leaves, and the bytes of
 * those that it shares with its neighbours. A tree of a span begins where the file's leaf does that
 * `begin` is in: first come `pad` zeros. */
#ifndef WCODEC_IO_SPAN_H
#define WCODEC_IO_SPAN_H

#include "io/tree.h"

/* As bytes: six numbers, little-endian, in the order of struct wcodec_span; front; back; 16 bytes
 * for each leaf (low, high). */
struct wcodec_span {
    uint64_t begin, end;
    uint64_t file_size;
    uint64_t front_size; /* bytes from `begin` to where a leaf begins; 0: there does one */
    uint64_t back_size;  /* bytes from the last leaf's begin to `end` */
    uint64_t leaf_count; /* between them */
    const uint8_t *front, *back, *leaves;
};

/* One that is being made. */
struct wcodec_span_maker {
    uint64_t begin, end;
    uint64_t pad;
    struct wcodec_tree_hash *leaves;
    uint8_t *front; /* a leaf, of zeros before there is something to keep */
};

/* Before anything but `begin` and `end` is known; the tree keeps what is asked of it until
 * wcodec_span_end(). WCODEC_ERROR_MEMORY; freed in any case by wcodec_span_free(). */
wcodec_status wcodec_span_begin(struct wcodec_span_maker *maker, struct wcodec_tree *tree,
                                const wcodec_allocator *allocator, wcodec_error *err);
/* All `pad` and `end - begin` bytes have come. *bytes (*size of them) is freed by the caller.
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_span_end(const struct wcodec_span_maker *maker, struct wcodec_tree *tree,
                              uint64_t file_size, const wcodec_allocator *allocator,
                              uint8_t **bytes, uint64_t *size, wcodec_error *err);
void wcodec_span_free(struct wcodec_span_maker *maker, const wcodec_allocator *allocator);

/* Understand `size` bytes, which must stay. False: they are no span. */
bool wcodec_span_read(const uint8_t *bytes, uint64_t size, struct wcodec_span *span);
/* The next bytes of the file's tree. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_span_put(const struct wcodec_span *span, struct wcodec_tree *tree,
                              wcodec_error *err);

#endif
