/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rooms for batches. Making buffers costs more than decoding a small tensor, so a few are kept. */
#include "backends/opencl/opencl.h"

#include <string.h>

enum { ROOM_KEPT = 64 << 20, BLOCK_LEAST = 64 << 10, TILES_LEAST = 1024, PINNED = 64 };

static size_t room_size(const struct wcodec_opencl_room *r)
{
    return r->block_size + 4 * r->tiles;
}

static void destroy(struct wcodec_device *d, struct wcodec_opencl_room *r)
{
    if (r->first != NULL && d->cl->clEnqueueUnmapMemObject(d->queue, r->pinned, (void *)(uintptr_t)r->first, 0, NULL, NULL) == CL_SUCCESS)
        d->cl->clFinish(d->queue);
    if (r->pinned != NULL)
        d->cl->clReleaseMemObject(r->pinned);
    if (r->faults != NULL)
        d->cl->clReleaseMemObject(r->faults);
    if (r->block != NULL)
        d->cl->clReleaseMemObject(r->block);
    *r = (struct wcodec_opencl_room){.block = NULL};
}

/* A power of two: what one batch had is enough for the next, too. */
static size_t round_up(uint64_t size, size_t least)
{
    size_t n = least;
    while (n < size && n <= SIZE_MAX / 4)
        n *= 2;
    return n < size ? (size_t)size : n;
}

static bool take_kept(struct wcodec_device *d, uint64_t block_size, uint64_t tiles, struct wcodec_opencl_room *room)
{
    struct wcodec_opencl_room *best = NULL;
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < d->room_count; i++) {
        struct wcodec_opencl_room *r = &d->rooms[i];
        if (r->block_size >= block_size && r->tiles >= tiles && (best == NULL || room_size(r) < room_size(best)))
            best = r;
    }
    if (best != NULL) {
        *room = *best;
        *best = d->rooms[--d->room_count];
    }
    pthread_mutex_unlock(&d->lock);
    return best != NULL;
}

wcodec_status wcodec_opencl_room_take(struct wcodec_device *d, uint64_t block_size, uint64_t tiles, struct wcodec_opencl_room *room, wcodec_error *err)
{
    struct wcodec_opencl_room r = {.block_size = round_up(block_size, BLOCK_LEAST), .tiles = round_up(tiles, TILES_LEAST)};
    cl_int result;
    if (take_kept(d, block_size, tiles, room))
        return WCODEC_OK;
    r.block = d->cl->clCreateBuffer(d->context, CL_MEM_READ_ONLY, r.block_size, NULL, &result);
    if (result == CL_SUCCESS)
        r.faults = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, 4 * (r.tiles + 1), NULL, &result);
    if (result == CL_SUCCESS)
        r.pinned = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, PINNED, NULL, &result);
    if (result == CL_SUCCESS)
        r.first = d->cl->clEnqueueMapBuffer(d->queue, r.pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, PINNED, 0, NULL, NULL, &result);
    if (result != CL_SUCCESS) {
        destroy(d, &r);
        return wcodec_opencl_fail(d, result == CL_OUT_OF_RESOURCES || result == CL_MAP_FAILURE ? CL_MEM_OBJECT_ALLOCATION_FAILURE : result, "clCreateBuffer", err);
    }
    *room = r;
    return WCODEC_OK;
}

void wcodec_opencl_room_give(struct wcodec_device *d, struct wcodec_opencl_room *room)
{
    bool kept = false;
    if (room->block == NULL)
        return;
    pthread_mutex_lock(&d->lock);
    if (room_size(room) <= ROOM_KEPT / WCODEC_OPENCL_ROOMS && d->room_count < WCODEC_OPENCL_ROOMS) {
        d->rooms[d->room_count++] = *room;
        kept = true;
    }
    pthread_mutex_unlock(&d->lock);
    if (!kept)
        destroy(d, room);
}

void wcodec_opencl_rooms_close(struct wcodec_device *d)
{
    while (d->room_count > 0)
        destroy(d, &d->rooms[--d->room_count]);
}
