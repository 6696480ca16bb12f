/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The header of a safetensors file: what the reference reader accepts, and why a file is none. */
#ifndef WCODEC_FORMAT_SAFETENSORS_H
#define WCODEC_FORMAT_SAFETENSORS_H

#include "core/context.h"
#include "io/source.h"

/* The reference's limit on the JSON text. A larger header is not even read. */
#define WCODEC_SAFETENSORS_HEADER_MAX UINT64_C(100000000)

struct wcodec_safetensor {
    const char *name;
    const char *dtype_name;
    const uint64_t *shape;
    uint64_t offset; /* from the end of the header */
    uint64_t size;
    uint8_t
        dtype; /* WCODEC_DTYPE_OTHER: not known, the tensor is `size` bytes whatever its shape */
    uint8_t rank;
};

struct wcodec_safetensors {
    const wcodec_allocator *allocator;
    uint8_t *header; /* length word and text, verbatim */
    uint64_t header_size;
    uint64_t count;
    struct wcodec_safetensor *tensors; /* in the order of their data, without holes */
    uint64_t metadata_count;
    const char **metadata; /* key, value, key, value, ... in the order of the text */
    void *arena;           /* owns the strings and shapes */
};

/* Read and validate the header of a whole file. WCODEC_ERROR_CORRUPT if it is no safetensors file:
 * the text names the rule that it breaks; also WCODEC_ERROR_IO, WCODEC_ERROR_MEMORY.
 *
 * The rules are those of the reference reader, and these of ours, which also make a file none (it
 * is then stored as opaque bytes): sizes and dimensions below 2^48, at most 255 dimensions, no name
 * twice (the reference takes the last), no NUL in strings (the reference takes them; our names are
 * C strings), at most 1 MiB of text in a value that is no string and no object of the format (so
 * that a parsed value takes bounded memory), and entries written as objects with dtypes as strings
 * (the reference's JSON library also takes arrays). One of ours is laxer: a dtype that is not known
 * is taken, since new ones will come. */
wcodec_status wcodec_safetensors_read(const struct wcodec_source *source,
                                      const wcodec_allocator *allocator,
                                      struct wcodec_safetensors **safetensors, wcodec_error *err);

/* Bytes of a tensor of a known dtype by the same rules; false if it can be none. */
bool wcodec_safetensors_bytes(wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                              uint64_t *bytes);

void wcodec_safetensors_free(struct wcodec_safetensors *safetensors);

#endif
