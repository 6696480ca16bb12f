/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/zstd.h"
#include <stdatomic.h>

static ZSTD_CCtx *take_compressor(struct wcodec_zstd *zstd)
{
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++) {
        ZSTD_CCtx *kept = atomic_exchange(&zstd->compressors[i], NULL);
        if (kept != NULL)
            return kept;
    }
    return ZSTD_createCCtx();
}

static void keep_compressor(struct wcodec_zstd *zstd, ZSTD_CCtx *context)
{
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++) {
        ZSTD_CCtx *none = NULL;
        if (atomic_compare_exchange_strong(&zstd->compressors[i], &none, context))
            return;
    }
    ZSTD_freeCCtx(context);
}

static ZSTD_DCtx *take_decompressor(struct wcodec_zstd *zstd)
{
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++) {
        ZSTD_DCtx *kept = atomic_exchange(&zstd->decompressors[i], NULL);
        if (kept != NULL)
            return kept;
    }
    return ZSTD_createDCtx();
}

static void keep_decompressor(struct wcodec_zstd *zstd, ZSTD_DCtx *context)
{
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong(&zstd->decompressors[i], &none, context))
            return;
    }
    ZSTD_freeDCtx(context);
}

void wcodec_zstd_free(struct wcodec_zstd *zstd)
{
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++) {
        ZSTD_freeCCtx(atomic_exchange(&zstd->compressors[i], NULL));
        ZSTD_freeDCtx(atomic_exchange(&zstd->decompressors[i], NULL));
    }
}

size_t wcodec_zstd_compress(struct wcodec_zstd *zstd, void *out, size_t capacity, const void *data,
                            size_t size, int level)
{
    ZSTD_CCtx *context = NULL;
    if (zstd != NULL && size <= WCODEC_ZSTD_KEPT_SIZE && level <= WCODEC_ZSTD_KEPT_LEVEL)
        context = take_compressor(zstd);
    if (context == NULL)
        return ZSTD_compress(out, capacity, data, size, level);
    const size_t got = ZSTD_compressCCtx(context, out, capacity, data, size, level);
    keep_compressor(zstd, context);
    return got;
}

size_t wcodec_zstd_decompress(struct wcodec_zstd *zstd, void *out, size_t capacity,
                              const void *coded, size_t coded_size)
{
    ZSTD_DCtx *context = zstd != NULL ? take_decompressor(zstd) : NULL;
    if (context == NULL)
        return ZSTD_decompress(out, capacity, coded, coded_size);
    const size_t got = ZSTD_decompressDCtx(context, out, capacity, coded, coded_size);
    keep_decompressor(zstd, context);
    return got;
}
