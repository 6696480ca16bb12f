/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_tree.h"
#include <stdint.h>
#include <stdlib.h>

static size_t put(uint8_t *to, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
    return 8;
}

XXH128_hash_t support_tree_hash(const void *data, size_t size)
{
    enum { LEAF = 65536 };
    const uint8_t *bytes = data;
    uint8_t *tree = malloc((size / LEAF + 1) * 16 + 8);
    size_t used = 0;
    if (tree == NULL)
        abort();
    for (size_t at = 0; at < size; at += LEAF) {
        const XXH128_hash_t h = XXH3_128bits(bytes + at, size - at < LEAF ? size - at : LEAF);
        used += put(tree + used, h.low64);
        used += put(tree + used, h.high64);
    }
    used += put(tree + used, size);
    const XXH128_hash_t root = XXH3_128bits(tree, used);
    free(tree);
    return root;
}
