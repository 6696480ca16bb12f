/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* External data of ONNX models: files whose tensors only a model beside them knows. */
#ifndef WCODEC_UTILS_EXTERNAL_H
#define WCODEC_UTILS_EXTERNAL_H

#include "utils/app.h"

/* The path of the model beside `path` that says of which tensors its bytes are, or NULL: there is
 * none. What the models of a folder say is read once, until another folder is asked for. The string
 * lives as long. */
const char *external_model(struct app *app, const char *path);

void external_free(struct app *app);

/* The file that a key of a model's metadata says has tensors of it; NULL: another key. */
const char *external_file(const char *key);

#endif
