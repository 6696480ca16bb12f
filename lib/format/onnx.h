/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* ONNX: a protobuf message ModelProto, by the names and numbers of onnx.proto. Its tensors
 * (TensorProto) are initialisers of graphs and values of attributes, of graphs within graphs and of
 * functions too. They lie in the message itself or, as external data, in files beside it. */
#ifndef WCODEC_FORMAT_ONNX_H
#define WCODEC_FORMAT_ONNX_H

#include "format/layout.h"

/* Does it begin as a model does? There is no magic: the first field is the version of the format,
 * and only fields of a ModelProto come before its graph. */
bool wcodec_onnx_begins(const struct wcodec_source *source);

/* All tensors of a model, in whatever files they are. */
struct wcodec_onnx_model;

wcodec_status wcodec_onnx_model_read(const struct wcodec_source *source,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_onnx_model **model, wcodec_error *err);
/* Those that are in another file, which it calls `location`. */
wcodec_status wcodec_onnx_model_external(const struct wcodec_onnx_model *model,
                                         const char *location, struct wcodec_file_layout *layout,
                                         wcodec_error *err);
void wcodec_onnx_model_free(struct wcodec_onnx_model *model);

#endif
