/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Small tensors of a job: the states of one tile depend on each other, so those of several tensors
 * are decoded side by side. */
#include "read/restore.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <stddef.h>

enum {
    SMALL = 32,           /* tensors that wait at most */
    SMALL_TILES = 4,      /* so many tiles of one tensor go side by side by themselves */
    SMALL_HELD = 1 << 18, /* bytes of memory that those that wait may hold, about */
    LINE = 64
};

struct wcodec_restore_small {
    const struct wcodec_entry *entry;
    struct wcodec_tiling tiling;
    struct wcodec_tiles *tiles;
    struct wcodec_cpu_decoder *decoder;
    struct wcodec_view view;
    uint8_t *unpacked; /* NULL: the payload is not packed */
    uint8_t *out;
};

/* Those that wait, and what is made of them. All of it is freed at once, so it comes from one block
 * as long as that has room: malloc() and free() would take as long as a tile of them. */
struct wcodec_restore_waiting {
    wcodec_allocator allocator;
    const wcodec_allocator *beyond; /* for what does not fit */
    size_t used;
    struct wcodec_restore_small tensors[SMALL];
    _Alignas(max_align_t) uint8_t block[SMALL_HELD];
};

static bool is_of_block(const struct wcodec_restore_waiting *w, const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)w->block < sizeof w->block;
}

static void *take(void *opaque, size_t size)
{
    struct wcodec_restore_waiting *w = opaque;
    const size_t left = sizeof w->block - w->used;
    if (size > left)
        return w->beyond->allocate(w->beyond->opaque, size);
    uint8_t *memory = w->block + w->used;
    w->used += wcodec_align_u64(size, LINE) < left ? (size_t)wcodec_align_u64(size, LINE) : left;
    return memory;
}

static void *take_more(void *opaque, void *memory, size_t size)
{
    struct wcodec_restore_waiting *w = opaque;
    if (!is_of_block(w, memory))
        return w->beyond->reallocate(w->beyond->opaque, memory, size);
    void *more = take(opaque, size);
    const size_t most = (size_t)(w->block + sizeof w->block - (uint8_t *)memory);
    if (more != NULL)
        memmove(more, memory, size < most ? size : most);
    return more;
}

static void put_back(void *opaque, void *memory)
{
    struct wcodec_restore_waiting *w = opaque;
    if (!is_of_block(w, memory))
        w->beyond->release(w->beyond->opaque, memory);
}

static wcodec_status begin_waiting(const struct wcodec_restore *r, struct wcodec_restore_worker *w,
                                   wcodec_error *err)
{
    if (w->waiting != NULL)
        return WCODEC_OK;
    w->waiting = wcodec_alloc(&r->context->allocator, sizeof *w->waiting);
    if (w->waiting == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for small tensors");
    w->waiting->allocator = (wcodec_allocator){
        .allocate = take, .reallocate = take_more, .release = put_back, .opaque = w->waiting};
    w->waiting->beyond = &r->context->allocator;
    w->waiting->used = 0;
    return WCODEC_OK;
}

static void close_tensor(const wcodec_allocator *allocator, struct wcodec_restore_small *t)
{
    wcodec_cpu_decoder_free(t->decoder);
    wcodec_tiles_free(t->tiles);
    wcodec_free(allocator, t->unpacked);
}

static wcodec_status unpack(const wcodec_allocator *allocator, struct wcodec_restore_small *t,
                            const uint8_t *payload, wcodec_error *err)
{
    const struct wcodec_entry *e = t->entry;
    t->unpacked = wcodec_alloc(allocator, e->unpacked_size);
    if (t->unpacked == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu32 " bytes",
                           e->unpacked_size);
    return wcodec_entry_unpack(e, payload, t->unpacked, err);
}

static wcodec_status open_tensor(const struct wcodec_restore *r, const wcodec_allocator *allocator,
                                 struct wcodec_restore_small *t, const uint8_t *payload,
                                 wcodec_error *err)
{
    const struct wcodec_entry *e = t->entry;
    wcodec_status status = WCODEC_OK;
    wcodec_entry_tiling(e, &t->tiling);
    if (wcodec_entry_is_packed(e)) {
        status = unpack(allocator, t, payload, err);
        payload = t->unpacked;
    }
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(&t->tiling, payload, wcodec_entry_unpacked_size(e), allocator,
                                   &t->tiles, err);
    if (status == WCODEC_OK && r->checks)
        status = wcodec_tiles_check_padding(t->tiles, payload, err);
    if (status == WCODEC_OK)
        status = wcodec_cpu_decoder_create(r->dsp, t->tiles, allocator, &t->decoder, err);
    if (status == WCODEC_OK)
        wcodec_view_whole(payload, &t->view);
    return status;
}

static uint64_t memory_of(const struct wcodec_restore_small *t)
{
    return wcodec_tiles_memory(&t->tiling) + t->entry->unpacked_size +
           t->tiling.table_count * sizeof(struct wcodec_cpu_table);
}

wcodec_status wcodec_restore_small_add(const struct wcodec_restore *r,
                                       struct wcodec_restore_worker *w,
                                       const struct wcodec_entry *entry, const uint8_t *payload,
                                       uint8_t *out, wcodec_error *err)
{
    wcodec_status status = begin_waiting(r, w, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_restore_waiting *waiting = w->waiting;
    struct wcodec_restore_small *t = &waiting->tensors[w->small_count];
    const size_t used = waiting->used;
    t->entry = entry;
    t->tiles = NULL;
    t->decoder = NULL;
    t->unpacked = NULL;
    t->out = out;
    status = open_tensor(r, &waiting->allocator, t, payload, err);
    if (status == WCODEC_OK && t->tiling.tiles < SMALL_TILES) {
        w->small_count++;
        w->small_held += memory_of(t);
        return WCODEC_OK;
    }
    if (status == WCODEC_OK)
        status = wcodec_restore_tiles(r, t->decoder, &t->view, 0, t->tiling.tiles, t->out, err);
    close_tensor(&waiting->allocator, t);
    waiting->used = used;
    return status;
}

bool wcodec_restore_small_full(const struct wcodec_restore_worker *w)
{
    return w->small_count == SMALL || w->small_held >= SMALL_HELD;
}

static wcodec_status decode_all(const struct wcodec_restore *r,
                                const struct wcodec_restore_worker *w, wcodec_error *err)
{
    struct wcodec_cpu_tile tiles[SMALL * (SMALL_TILES - 1)];
    const struct wcodec_restore_small *of[SMALL * (SMALL_TILES - 1)];
    unsigned count = 0;
    for (unsigned i = 0; i < w->small_count; i++) {
        const struct wcodec_restore_small *t = &w->waiting->tensors[i];
        const unsigned log2 = t->tiling.tile_log2 + t->tiling.element_log2;
        for (uint64_t n = 0; n < t->tiling.tiles; n++) {
            of[count] = t;
            tiles[count++] = (struct wcodec_cpu_tile){.decoder = t->decoder,
                                                      .view = &t->view,
                                                      .number = n,
                                                      .out = t->out + (n << log2),
                                                      .verify = r->checks};
        }
    }
    for (unsigned i = 0; i < count; i += WCODEC_CPU_EACH)
        wcodec_cpu_decode_each(tiles + i,
                               count - i < WCODEC_CPU_EACH ? count - i : WCODEC_CPU_EACH);
    for (unsigned i = 0; i < count; i++)
        if (tiles[i].fault != WCODEC_TILE_OK) {
            wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 " of %" PRIu64 ": %s",
                        tiles[i].number, of[i]->tiling.tiles,
                        wcodec_tile_fault_string(tiles[i].fault));
            wcodec_shard_prefix(r->shard, of[i]->entry, err);
            return WCODEC_ERROR_CORRUPT;
        }
    return WCODEC_OK;
}

wcodec_status wcodec_restore_small_flush(const struct wcodec_restore *r,
                                         struct wcodec_restore_worker *w, wcodec_error *err)
{
    const wcodec_status status = w->small_count > 0 ? decode_all(r, w, err) : WCODEC_OK;
    for (unsigned i = 0; i < w->small_count; i++)
        close_tensor(&w->waiting->allocator, &w->waiting->tensors[i]);
    if (w->waiting != NULL)
        w->waiting->used = 0;
    w->small_count = 0;
    w->small_held = 0;
    return status;
}
