/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that a device measures and codes: what is decided for them without their elements, the
 * same as wcodec_encode_tensor() decides with them. */
#ifndef WCODEC_ENCODE_MEASURED_H
#define WCODEC_ENCODE_MEASURED_H

#include "encode/choice.h"

/* The level at which that is so: above, samples are looked at. */
enum { WCODEC_MEASURED_LEVEL = 1 };

/* Do settings, type and size leave nothing to decide but what counts say? */
bool wcodec_measured_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                             uint64_t size);

/* Decide by what was measured as wcodec_statistics_measure() asks for. *plan is NULL if all
 * elements are equal: then `coded` is set. WCODEC_ERROR_MEMORY; WCODEC_ERROR_UNSUPPORTED: that
 * needs the elements. */
wcodec_status
wcodec_measured_plan(wcodec_context *context, const struct wcodec_encode_settings *settings,
                     wcodec_dtype dtype, uint64_t size, const struct wcodec_measured *measured,
                     struct wcodec_plan **plan, struct wcodec_coded *coded, wcodec_error *err);

#endif
