/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables from the whole tensor, once it is known from a sample which there are to be. */
#ifndef WCODEC_ENCODE_REFINE_H
#define WCODEC_ENCODE_REFINE_H

#include "encode/field_choice.h"
#include "encode/plan.h"

/* Share out the tensor's tiles (every `stride`-th of them) or their runs among the tables of coded
 * field number `field` of the tiling (derived; its profile, tables and runs set), count the symbols
 * of each, and fit the tables anew. scattered: tiles not always from the same place of their
 * `stride`. A table that nobody chose stays as it is. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_tables_refine(wcodec_context *context, const struct wcodec_cpu_encode_dsp *dsp,
                                   const struct wcodec_tiling *tiling, unsigned field,
                                   const uint8_t *data, uint64_t stride, bool scattered,
                                   struct wcodec_field_choice *choice, wcodec_error *err);

#endif
