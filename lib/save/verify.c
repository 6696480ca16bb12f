/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a device coded is decoded there, and compared by hashes of leaves. */
#include "core/error.h"
#include "save/coding.h"
#include <string.h>

enum {
    LEAF = WCODEC_LEAF_BYTES,
    DIGEST = 16,
    LEAVES = 16384 /* that are compared at once: a lane has room for hashes of twice as many */
};

/* What the device decodes, to the beginning of the lane's memory. */
static wcodec_status decode(struct wcodec_save_coding *k, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    const struct wcodec_tiles *t = k->tiles;
    struct wcodec_job job = {
        .tiles = t, .count = t->tiling->tiles, .memory = k->own.work, .verify = true};
    struct wcodec_job_result result = {0, WCODEC_TILE_OK};
    struct wcodec_batch *batch;
    wcodec_status status = WCODEC_OK;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        job.places[a] = (struct wcodec_area_place){.memory = k->own.work,
                                                   .offset = k->own.areas[a].offset,
                                                   .begin = t->area_begin[a],
                                                   .size = t->area_end[a] - t->area_begin[a]};
    struct wcodec_area_place *values = &job.places[WCODEC_AREA_VALUES];
    if (values->begin % 16 != 0 && values->size != 0) {
        const uint64_t to = k->values_again + values->begin % 16;
        status = p->b->copy(p->lane->queue, k->own.work, to, k->own.work, values->offset,
                            values->size, err);
        values->offset = to;
    }
    if (status == WCODEC_OK)
        status = p->b->batch_create(p->lane->queue, &job, 1, &batch, err);
    if (status != WCODEC_OK)
        return status;
    status = p->b->batch_decode(p->lane->queue, batch, err);
    if (status == WCODEC_OK)
        status = p->b->batch_results(p->lane->queue, batch, &result, err);
    const wcodec_status waited = p->b->queue_wait(p->lane->queue, status == WCODEC_OK ? err : NULL);
    status = status == WCODEC_OK ? waited : status;
    p->b->batch_destroy(batch);
    return status == WCODEC_OK && result.fault != WCODEC_TILE_OK
               ? wcodec_save_computes_wrongly(wcodec_tile_fault_string(result.fault), err)
               : status;
}

/* `count` leaves from number `first` on, of the tensor and of what is decoded. Hashes take the
 * place of areas, which are not needed any more. */
static wcodec_status compare_leaves(struct wcodec_save_coding *k, uint64_t first, uint64_t count,
                                    bool *same, wcodec_error *err)
{
    const struct wcodec_save_placed *p = &k->placed;
    const uint64_t size = count * DIGEST, to = k->own.directory.offset,
                   second = wcodec_align_u64(size, WCODEC_SAVE_ALIGNMENT);
    uint8_t *const staged = p->lane->staging.data;
    wcodec_status status =
        wcodec_save_hash(p->request, p->lane, k->own.elements, k->own.elements_at + first * LEAF,
                         count, WCODEC_SAVE_LEAF_LOG2, to, err);
    if (status == WCODEC_OK)
        status = wcodec_save_hash(p->request, p->lane, k->own.work, first * LEAF, count,
                                  WCODEC_SAVE_LEAF_LOG2, to + second, err);
    if (status == WCODEC_OK)
        status = p->b->copy_out(p->lane->queue, staged, k->own.work, to, second + size, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    *same = status == WCODEC_OK && memcmp(staged, staged + second, (size_t)size) == 0;
    return status;
}

/* The last bytes, of no whole leaf. */
static wcodec_status compare_rest(struct wcodec_save_coding *k, uint64_t at, bool *same,
                                  wcodec_error *err)
{
    const struct wcodec_save_placed *p = &k->placed;
    const uint64_t size = p->size - at;
    uint8_t *const staged = p->lane->staging.data;
    wcodec_status status =
        p->b->copy_out(p->lane->queue, staged, k->own.elements, k->own.elements_at + at, size, err);
    if (status == WCODEC_OK)
        status = p->b->copy_out(p->lane->queue, staged + LEAF, k->own.work, at, size, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    *same = status == WCODEC_OK && memcmp(staged, staged + LEAF, (size_t)size) == 0;
    return status;
}

wcodec_status wcodec_save_verify(struct wcodec_save_coding *k, wcodec_error *err)
{
    const uint64_t leaves = k->placed.size / LEAF;
    bool same = true;
    wcodec_status status = decode(k, err);
    for (uint64_t at = 0; at < leaves && status == WCODEC_OK && same; at += LEAVES)
        status = compare_leaves(k, at, leaves - at < LEAVES ? leaves - at : LEAVES, &same, err);
    if (status == WCODEC_OK && same)
        status = compare_rest(k, leaves * LEAF, &same, err);
    return status == WCODEC_OK && !same
               ? wcodec_save_computes_wrongly("a payload does not decode to what was coded", err)
               : status;
}
