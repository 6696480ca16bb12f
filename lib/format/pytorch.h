/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tensors of a zip archive that torch.save() made. */
#ifndef WCODEC_FORMAT_PYTORCH_H
#define WCODEC_FORMAT_PYTORCH_H

#include "format/layout.h"
#include "format/zip.h"

/* The member whose pickle says what the archive holds; NULL: it is not one of PyTorch's. */
const struct wcodec_zip_member *wcodec_pytorch_pickle(const struct wcodec_zip *zip);

/* Dtypes, shapes and names come from the pickle, which is read, never run: a tensor's name is the
 * path of keys to it, with dots between, or "tensor" for one alone. A tensor must be dense; one
 * whose strides are those of other dimensions' order is listed in the order of its bytes. Of
 * tensors that share bytes one is listed. A storage of which no tensor is listed is one, as numbers
 * in a row. */
wcodec_status wcodec_pytorch_read(const struct wcodec_source *source,
                                  struct wcodec_file_layout *layout, const struct wcodec_zip *zip,
                                  const struct wcodec_zip_member *pickle, wcodec_error *err);

#endif
