/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Leaves that a device hashes where they are. */
#define XXH_INLINE_ALL /* for the secret */
#include <xxhash.h>

#include "core/bytes.h"
#include "save/save.h"

_Static_assert(WCODEC_SAVE_SECRET == XXH_SECRET_DEFAULT_SIZE / 8, "words of XXH3's secret");

void wcodec_save_secret(uint64_t secret[WCODEC_SAVE_SECRET])
{
    for (unsigned i = 0; i < WCODEC_SAVE_SECRET; i++)
        secret[i] = wcodec_load_u64(XXH3_kSecret + 8 * (size_t)i);
}

wcodec_status wcodec_save_hash(const struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                               struct wcodec_memory *elements, uint64_t at, uint64_t count,
                               unsigned leaf_log2, uint64_t to, wcodec_error *err)
{
    uint64_t secret[WCODEC_SAVE_SECRET];
    const struct wcodec_tensor_leaves l = {.elements = elements,
                                           .elements_at = at,
                                           .out = lane->work.memory,
                                           .out_at = to,
                                           .count = count,
                                           .leaf_log2 = leaf_log2,
                                           .secret = secret};
    wcodec_save_secret(secret);
    return r->device->backend->deltas->hash(lane->queue, &l, err);
}
