/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages TensorProto of an ONNX model, and what is listed of them: tensors whose bytes lie in one
 * piece, as raw_data, as packed numbers of fixed size, or in another file. */
#ifndef WCODEC_FORMAT_ONNX_TENSOR_H
#define WCODEC_FORMAT_ONNX_TENSOR_H

#include "format/layout.h"
#include "format/protobuf.h"

/* A message that is being read. */
struct wcodec_onnx_tensor {
    char name[WCODEC_LAYOUT_NAME_MAX + 1];
    uint64_t shape[WCODEC_LAYOUT_RANK_MAX];
    unsigned rank;
    uint64_t type;        /* a TensorProto.DataType */
    uint64_t begin, size; /* of its bytes, where they are in one field */
    uint32_t holder;      /* number of that field; 0: there is none */
    bool has_excess_rank;
    bool is_scattered; /* values are in several fields, or are numbers of varying size */
    bool is_external;
    char location[256]; /* "": none that is taken */
    bool has_length;
    uint64_t offset, length; /* in that file */
};

struct wcodec_onnx_found; /* one that is listed */

/* Those that were read. */
struct wcodec_onnx_tensors {
    const wcodec_allocator *allocator;
    struct wcodec_onnx_found *list;
    uint64_t count, capacity;
    uint64_t text; /* bytes of names */
    uint64_t left; /* tensors that are not listed, and why the first is not */
    wcodec_error why;
    struct wcodec_arena arena;
};

void wcodec_onnx_tensor_begin(struct wcodec_onnx_tensor *tensor);
wcodec_status wcodec_onnx_tensor_field(struct wcodec_onnx_tensor *tensor, struct wcodec_protobuf *p,
                                       const struct wcodec_protobuf_field *field);
/* A pair of its external_data. */
wcodec_status wcodec_onnx_tensor_external(struct wcodec_onnx_tensor *tensor, const char *key,
                                          const char *value, wcodec_error *err);
/* The message ends at byte `at`: list its tensor, or count it as left. WCODEC_ERROR_CORRUPT where
 * its bytes are not those of its type and shape. Also WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_onnx_tensor_end(const struct wcodec_onnx_tensor *tensor, uint64_t at,
                                     struct wcodec_onnx_tensors *tensors, wcodec_error *err);

void wcodec_onnx_tensors_init(struct wcodec_onnx_tensors *tensors,
                              const wcodec_allocator *allocator);
/* All are read: make their names distinct, and order them by file and place. */
wcodec_status wcodec_onnx_tensors_finish(struct wcodec_onnx_tensors *tensors, wcodec_error *err);
/* Put those of the file `location`, of the model itself if that is NULL, into a layout. Others are
 * not looked at, so that many files of one model take no longer than the model is. */
wcodec_status wcodec_onnx_tensors_put(const struct wcodec_onnx_tensors *tensors,
                                      const char *location, struct wcodec_file_layout *layout,
                                      wcodec_error *err);
void wcodec_onnx_tensors_free(struct wcodec_onnx_tensors *tensors);

#endif
