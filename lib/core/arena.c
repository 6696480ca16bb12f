/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/arena.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };

struct wcodec_arena_block {
    struct wcodec_arena_block *next;
    uint64_t bytes[];
};

void wcodec_arena_init(struct wcodec_arena *arena, const wcodec_allocator *allocator)
{
    *arena = (struct wcodec_arena){.allocator = allocator};
}

/* Blocks double up to BLOCK_MAX, so that few objects take little and many objects few blocks. */
static bool add_block(struct wcodec_arena *arena, size_t size)
{
    size_t capacity = arena->capacity * 2;
    if (capacity < BLOCK_MIN)
        capacity = BLOCK_MIN;
    if (capacity > BLOCK_MAX)
        capacity = BLOCK_MAX;
    if (capacity < size)
        capacity = size;
    struct wcodec_arena_block *block = wcodec_alloc(arena->allocator, sizeof *block + capacity);
    if (!block)
        return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    arena->capacity = capacity;
    return true;
}

void *wcodec_arena_alloc(struct wcodec_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + 7) & ~(size_t)7;
    if ((!arena->blocks || size > arena->capacity - arena->used) && !add_block(arena, size))
        return NULL;
    void *memory = (uint8_t *)arena->blocks->bytes + arena->used;
    arena->used += size;
    return memory;
}

char *wcodec_arena_text(struct wcodec_arena *arena, const void *text, size_t size)
{
    char *copy = size < SIZE_MAX / 4 ? wcodec_arena_alloc(arena, size + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

void wcodec_arena_free(struct wcodec_arena *arena)
{
    while (arena->blocks) {
        struct wcodec_arena_block *next = arena->blocks->next;
        wcodec_free(arena->allocator, arena->blocks);
        arena->blocks = next;
    }
    arena->used = arena->capacity = 0;
}
