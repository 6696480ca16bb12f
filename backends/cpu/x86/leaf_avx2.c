/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: hashes of leaves. */
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#include <xxhash.h>

#include "backends/cpu/leaf.h"

struct wcodec_tree_hash wcodec_cpu_leaf_avx2(const void *data, size_t size)
{
    const XXH128_hash_t h = XXH3_128bits(data, size);
    return (struct wcodec_tree_hash){h.low64, h.high64};
}
