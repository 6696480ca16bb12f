/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/kernels.h"

const struct wcodec_kernel_row wcodec_kernel_rows[WCODEC_KERNELS] = {
#define WCODEC_KERNEL(name, family, shape, coding, add, bytes, raw, threads, groups) \
    [WCODEC_KERNEL_##name] = {#name, \
                              WCODEC_FAMILY_##family, \
                              WCODEC_SHAPE_##shape, \
                              WCODEC_CODING_##coding, \
                              add, \
                              bytes, \
                              raw, \
                              threads, \
                              groups},
#include "backends/kernels/kernels.def"
#undef WCODEC_KERNEL
};

unsigned wcodec_kernel_find(enum wcodec_family family, unsigned shape, unsigned coding, bool add,
                            unsigned bytes, bool raw)
{
    for (unsigned k = 0; k < WCODEC_KERNELS; k++) {
        const struct wcodec_kernel_row *r = &wcodec_kernel_rows[k];
        if (r->family == family && r->shape == shape && r->coding == coding && r->add == add &&
            r->bytes == bytes && r->raw == raw)
            return k;
    }
    return WCODEC_KERNEL_GENERIC;
}

struct wcodec_kind wcodec_kernel_kind(unsigned kernel, uint32_t copies)
{
    const struct wcodec_kernel_row *r = &wcodec_kernel_rows[kernel];
    return wcodec_row_kind(r->family, r->shape, r->coding, r->add, r->bytes, r->raw, copies);
}
