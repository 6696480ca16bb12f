/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The ONNX model that a context has read last. A model may have thousands of files of external
 * data, each of which is opened by it. */
#ifndef WCODEC_FORMAT_ONNX_KEPT_H
#define WCODEC_FORMAT_ONNX_KEPT_H

#include "format/onnx.h"

/* The model of that path, read if it is not the one that is kept, or was changed since. Nobody else
 * gets one before wcodec_onnx_kept_give_back(), which is called after success only. */
wcodec_status wcodec_onnx_kept_take(wcodec_context *context, const char *path,
                                    const struct wcodec_onnx_model **model, wcodec_error *err);
void wcodec_onnx_kept_give_back(wcodec_context *context);

#endif
