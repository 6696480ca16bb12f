/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "tests/unit/support_fixed.h"

uint32_t support_fixed_code_tile(const struct wcodec_fixed *f, const uint8_t *elements,
                                 size_t stride, unsigned rows, unsigned columns,
                                 const uint8_t *shifts, uint64_t first, uint8_t *record,
                                 uint8_t *spilled)
{
    struct wcodec_fixed_band band;
    wcodec_fixed_band_init(&band, f->bits, shifts);
    return wcodec_fixed_tile_encode(f, &band, elements, stride, rows, columns,
                                    wcodec_fixed_count(&band, elements, stride, rows, columns),
                                    first, record, spilled);
}
