/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: hashes of leaves. */
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#include <immintrin.h>
#include <xxhash.h>

#include "backends/cpu/leaf.h"

struct wcodec_tree_hash wcodec_cpu_leaf_avx2(const void *data, size_t size)
{
    const XXH128_hash_t h = XXH3_128bits(data, size);
    /* xxhash.h has a pragma after which GCC puts none of these: the next instruction of SSE would
     * wait for some hundred cycles. */
    _mm256_zeroupper();
    return (struct wcodec_tree_hash){h.low64, h.high64};
}
