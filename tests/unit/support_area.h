/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An output in memory that several threads write in any order. */
#ifndef WCODEC_TESTS_SUPPORT_AREA_H
#define WCODEC_TESTS_SUPPORT_AREA_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct support_area {
    uint8_t *data;
    uint64_t size;
    _Atomic uint64_t written;
    _Atomic long left; /* calls before one fails, with EDQUOT */
};

/* A wcodec_write_at_fn. */
static inline int support_area_put(void *area, uint64_t offset, const void *data, size_t size)
{
    struct support_area *a = area;
    if (size == 0 || offset > a->size || size > a->size - offset)
        abort();
    if (a->left-- <= 0)
        return EDQUOT;
    memcpy(a->data + offset, data, size);
    a->written += size;
    return 0;
}

#endif
