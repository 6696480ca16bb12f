/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A model's *.safetensors.index.json or *.bin.index.json says which files belong to it: what it
 * names and is not there makes the model useless, though every file that is there is whole. */
#ifndef WCODEC_UTILS_MODEL_INDEX_H
#define WCODEC_UTILS_MODEL_INDEX_H

#include "utils/app.h"

bool model_index_is(const char *path);

/* Does a file of a folder hold weights? A safetensors file does by its name; one of PyTorch's that
 * is called *model*.bin does if it is an archive, as torch.save() makes them: others of that ending
 * are optimizers, arguments and what other programs write. */
bool model_weights_are(const char *path);

/* Are all files that the index names in its folder, as they are or as .wcodec files?
 * WCODEC_ERROR_NOT_FOUND: one is missing; WCODEC_ERROR_CORRUPT: it is no such index;
 * WCODEC_ERROR_IO, WCODEC_ERROR_LIMIT. The text begins with the path. */
wcodec_status model_index_check(struct app *app, const char *path, wcodec_error *err);
/* The same, and the .wcodec files must hold the tensors that the index says. */
wcodec_status model_index_test(struct app *app, const char *path, wcodec_error *err);

#endif
