/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where the tensors of a file lie, whatever kind of file it is. All other bytes of it are kept as
 * they are, so that the file comes back byte for byte: a reader of a kind only has to find tensors,
 * and where it is in doubt it refuses the file, which is then stored as opaque bytes. */
#ifndef WCODEC_FORMAT_LAYOUT_H
#define WCODEC_FORMAT_LAYOUT_H

#include "format/index.h"
#include "core/arena.h"
#include "core/cancel.h"
#include "io/source.h"

#include <stdbool.h>

/* Bounds of ours on files other than safetensors: beyond, they are opaque. */
enum {
    WCODEC_LAYOUT_TENSORS_MAX = 1 << 20,
    WCODEC_LAYOUT_RANK_MAX = 64,
    WCODEC_LAYOUT_NAME_MAX = 4096,
    WCODEC_LAYOUT_NAMES_MAX = 64 << 20, /* bytes of all names, and of all metadata */
};

/* The metadata that says of which kind a file other than safetensors is. */
#define WCODEC_LAYOUT_KIND "wcodec.container"

struct wcodec_layout_tensor {
    const char *name;
    const char *dtype_name;
    const uint64_t *shape;
    const struct wcodec_record_geometry *geometry; /* NULL, or how its bytes may be cut into fields
                                                      (format/geometry.h) */
    uint64_t offset;                               /* in the file */
    uint64_t size;
    uint8_t
        dtype; /* WCODEC_DTYPE_OTHER: not known, the tensor is `size` bytes whatever its shape */
    uint8_t rank;
};

struct wcodec_file_layout {
    const wcodec_allocator *allocator;
    struct wcodec_cancel *cancel;           /* while it is read; may be NULL */
    struct wcodec_safetensors *safetensors; /* NULL: another kind */
    const char *kind;                       /* "safetensors", "npy", ...; lives as long */
    uint64_t count, capacity;
    struct wcodec_layout_tensor *tensors; /* when it is read: in the order of the file */
    uint64_t metadata_count, metadata_capacity;
    const char **metadata; /* key, value, key, value, ... */
    struct wcodec_arena arena;
    uint64_t text;       /* bytes of names and metadata */
    wcodec_error remark; /* its text: what is left as it is although it might be tensors, or "" */
};

struct wcodec_onnx_model; /* format/onnx.h */

/* Find the tensors of a whole file. WCODEC_ERROR_CORRUPT if it is of no kind that is known, or not
 * quite of its kind: the text says why, to be read after "the file". Also WCODEC_ERROR_IO,
 * WCODEC_ERROR_MEMORY; WCODEC_ERROR_CANCELLED where `cancel`, which may be NULL, says so. */
wcodec_status wcodec_layout_read(const struct wcodec_source *source,
                                 const wcodec_allocator *allocator, struct wcodec_cancel *cancel,
                                 struct wcodec_file_layout **layout, wcodec_error *err);

/* The same of a file that holds external data of an ONNX model, which calls it `location`: only the
 * model says where its tensors lie. */
wcodec_status wcodec_layout_read_external(const struct wcodec_source *source,
                                          const struct wcodec_onnx_model *model,
                                          const char *location, const wcodec_allocator *allocator,
                                          struct wcodec_file_layout **layout, wcodec_error *err);

/* As wcodec_layout_read(), and where that finds none and onnx_model is not NULL, by the model of
 * that path. The text of an error then names it. The context keeps the last such model, so that one
 * of many files is read once. */
wcodec_status wcodec_layout_find(wcodec_context *context, const struct wcodec_source *source,
                                 const char *onnx_model, const char *location,
                                 struct wcodec_cancel *cancel, struct wcodec_file_layout **layout,
                                 wcodec_error *err);

/* The layout of the original of an index, in which every tensor is of a known coding. Names are
 * copied, names of dtypes are the index's. */
wcodec_status wcodec_layout_of_index(const struct wcodec_index *index,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_file_layout **layout, wcodec_error *err);

void wcodec_layout_free(struct wcodec_file_layout *layout);

/* The kind of an original whose index has this metadata, as wcodec_file_info has it. */
void wcodec_layout_kind(const struct wcodec_index *index, char kind[16]);

/* Memory that a layout holds, about, beside what is for each tensor. */
uint64_t wcodec_layout_memory(const struct wcodec_file_layout *layout);

/* For the readers of kinds. Name and shape are copied; dtype_name is ignored unless dtype is
 * WCODEC_DTYPE_OTHER, and then must live as long. Extents are checked in the end, by
 * wcodec_layout_read(). */
wcodec_status wcodec_layout_add(struct wcodec_file_layout *layout,
                                const struct wcodec_layout_tensor *tensor, wcodec_error *err);
wcodec_status wcodec_layout_note(struct wcodec_file_layout *layout, const char *key,
                                 const char *value, wcodec_error *err);

/* A reader of a kind, given a layout of nothing. */
typedef wcodec_status (*wcodec_layout_reader)(const struct wcodec_source *source,
                                              struct wcodec_file_layout *layout, wcodec_error *err);

wcodec_status wcodec_npy_read(const struct wcodec_source *source, struct wcodec_file_layout *layout,
                              wcodec_error *err);
wcodec_status wcodec_gguf_read(const struct wcodec_source *source,
                               struct wcodec_file_layout *layout, wcodec_error *err);
/* Zip archives: of NumPy (npz), and of PyTorch. */
wcodec_status wcodec_archive_read(const struct wcodec_source *source,
                                  struct wcodec_file_layout *layout, wcodec_error *err);
wcodec_status wcodec_onnx_read(const struct wcodec_source *source,
                               struct wcodec_file_layout *layout, wcodec_error *err);

#endif
