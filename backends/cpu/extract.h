/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's first stage, over the vector operations that a level includes before this. */
#ifndef WCODEC_CPU_EXTRACT_H
#define WCODEC_CPU_EXTRACT_H

#include "backends/cpu/encode.h"

#include "coding/histogram.h"

static void extract(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add,
                    unsigned shift, unsigned width, uint8_t *values)
{
    const unsigned mask = (1u << width) - 1;
    size_t i = 0;
    if (element_log2 == 0)
        for (; i + VEC_BYTES <= elements; i += VEC_BYTES)
            store(values + i, bit_and(shr16(add8(load(data + i), set8((uint8_t)add)), shift),
                                      set8((uint8_t)mask)));
    else if (element_log2 == 1)
        for (; i + VEC_BYTES <= elements; i += VEC_BYTES) {
            vec v[2];
            for (unsigned k = 0; k < 2; k++)
                v[k] = bit_and(
                    shr16(add16(load(data + 2 * i + VEC_BYTES * k), set16((uint16_t)add)), shift),
                    set16((uint16_t)mask));
            store(values + i, in_order(pack16(v[0], v[1])));
        }
    else if (element_log2 == 2)
        for (; i + VEC_BYTES <= elements; i += VEC_BYTES) {
            vec v[4];
            for (unsigned k = 0; k < 4; k++)
                v[k] = bit_and(
                    shr32(add32(load(data + 4 * i + VEC_BYTES * k), set32((uint32_t)add)), shift),
                    set32(mask));
            store(values + i, in_order_twice(pack16(pack32(v[0], v[1]), pack32(v[2], v[3]))));
        }
    wcodec_extract_field(data + (i << element_log2), elements - i, element_log2, add, shift, width,
                         values + i);
}

#endif
