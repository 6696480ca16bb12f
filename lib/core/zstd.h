/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* zstd for small inputs, with its contexts kept. To make one, zstd asks the processor what it can
 * do, which takes a virtual machine microseconds, and its tables are pages that the system clears:
 * more than coding 4 KiB does. */
#ifndef WCODEC_CORE_ZSTD_H
#define WCODEC_CORE_ZSTD_H

#include <stddef.h>
#include <zstd.h>

enum {
    WCODEC_ZSTD_KEPT = 8, /* of each kind, of some 96 and 280 KiB */
    /* Larger inputs have larger tables. zstd's higher levels choose strategies of which it does not
     * say that a context's past leaves no trace in what it writes. */
    WCODEC_ZSTD_KEPT_SIZE = 1 << 14,
    WCODEC_ZSTD_KEPT_LEVEL = 4
};

/* All zero: none are kept yet. */
struct wcodec_zstd {
    _Atomic(ZSTD_CCtx *) compressors[WCODEC_ZSTD_KEPT];
    _Atomic(ZSTD_DCtx *) decompressors[WCODEC_ZSTD_KEPT];
};

/* Free what is kept. No other thread may use it. */
void wcodec_zstd_free(struct wcodec_zstd *zstd);

/* As ZSTD_compress() and ZSTD_decompress(), with the same result. zstd: may be NULL, nothing is
 * kept. Thread-safe. */
size_t wcodec_zstd_compress(struct wcodec_zstd *zstd, void *out, size_t capacity, const void *data,
                            size_t size, int level);
size_t wcodec_zstd_decompress(struct wcodec_zstd *zstd, void *out, size_t capacity,
                              const void *coded, size_t coded_size);

#endif
