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

wcodec_status wcodec_save_hash_two(const struct wcodec_save_request *r,
                                   struct wcodec_save_lane *lane, struct wcodec_memory *elements,
                                   const struct wcodec_save_leaves *first,
                                   const struct wcodec_save_leaves *second, unsigned leaf_log2,
                                   wcodec_error *err)
{
    uint64_t secret[WCODEC_SAVE_SECRET];
    const struct wcodec_tensor_leaves l = {.elements = elements,
                                           .elements_at = first->at,
                                           .out = lane->work.memory,
                                           .out_at = first->to,
                                           .count = first->count,
                                           .leaf_log2 = leaf_log2,
                                           .secret = secret,
                                           .second_at = second->at,
                                           .second_out_at = second->to,
                                           .second_count = second->count};
    wcodec_save_secret(secret);
    return r->device->backend->deltas->hash(lane->queue, &l, err);
}

wcodec_status wcodec_save_hash(const struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                               struct wcodec_memory *elements, uint64_t at, uint64_t count,
                               unsigned leaf_log2, uint64_t to, wcodec_error *err)
{
    const struct wcodec_save_leaves leaves = {at, count, to}, none = {at, 0, 0};
    return wcodec_save_hash_two(r, lane, elements, &leaves, &none, leaf_log2, err);
}
