/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Many small objects that are freed together: names, shapes and the like of a header. */
#ifndef WCODEC_CORE_ARENA_H
#define WCODEC_CORE_ARENA_H

#include <wcodec/context.h>

struct wcodec_arena_block;

struct wcodec_arena {
    const wcodec_allocator *allocator;
    struct wcodec_arena_block *blocks; /* the newest first */
    size_t used;
    size_t capacity; /* of the newest block */
};

void wcodec_arena_init(struct wcodec_arena *arena, const wcodec_allocator *allocator);
/* `size` bytes aligned for a u64, or NULL. */
void *wcodec_arena_alloc(struct wcodec_arena *arena, size_t size);
/* `size` bytes of text and a NUL, or NULL. */
char *wcodec_arena_text(struct wcodec_arena *arena, const void *text, size_t size);
void wcodec_arena_free(struct wcodec_arena *arena);

#endif
