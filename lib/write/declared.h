/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tensors and metadata of a safetensors file that is to be, as callers declare them. */
#ifndef WCODEC_WRITE_DECLARED_H
#define WCODEC_WRITE_DECLARED_H

#include "core/arena.h"
#include "format/index.h"
#include "format/names.h"

/* Names that must differ, each noted once; grows. */
struct wcodec_declared_names {
    struct wcodec_names names;
    const char **list; /* to fill a larger set from */
    uint64_t count, capacity;
};

struct wcodec_declared {
    const wcodec_allocator *allocator;
    struct wcodec_arena *arena;         /* names, shapes, metadata: the owner's */
    struct wcodec_entry *tensors;       /* names.count of them */
    struct wcodec_declared_names names; /* of tensors */
    const char **metadata;              /* key, value, ...; keys.count pairs */
    uint64_t metadata_capacity;
    struct wcodec_declared_names keys;
    uint64_t size; /* bytes of all tensors */
};

void wcodec_declared_init(struct wcodec_declared *declared, struct wcodec_arena *arena);
void wcodec_declared_free(struct wcodec_declared *declared);

/* As wcodec_writer_metadata() and wcodec_writer_declare(), at any time. WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_declared_metadata(struct wcodec_declared *declared, const char *key,
                                       const char *value, wcodec_error *err);
wcodec_status wcodec_declared_tensor(struct wcodec_declared *declared, const char *name,
                                     wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                                     wcodec_error *err);

/* The header of the file, for wcodec_free(). As wcodec_write_header(). */
wcodec_status wcodec_declared_header(const struct wcodec_declared *declared, uint8_t **header,
                                     uint64_t *size, wcodec_error *err);

#endif
