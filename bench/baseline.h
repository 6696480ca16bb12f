/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* memcpy() and the decoder of zstd -1 on a program's data, in the same run. */
#ifndef WCODEC_BENCH_BASELINE_H
#define WCODEC_BENCH_BASELINE_H

#include "bench/program.h"
#include "bench/timing.h"

#include <zstd.h>

struct baseline {
    double copy, zstd; /* seconds */
    size_t packed;     /* bytes by zstd -1 */
};

/* out: `size` bytes. */
static inline struct baseline measure_baseline(const uint8_t *data, size_t size, uint8_t *out)
{
    enum { ROUNDS_OF_BASELINE = 9 };
    const size_t bound = ZSTD_compressBound(size);
    uint8_t *packed = take_pages(bound);
    double copies[ROUNDS_OF_BASELINE], unpacks[ROUNDS_OF_BASELINE];
    const size_t packed_size = ZSTD_compress(packed, bound, data, size, 1);
    for (unsigned i = 0; i < ROUNDS_OF_BASELINE; i++) {
        const double start = now();
        memcpy(out, data, size);
        const double between = now();
        if (ZSTD_decompress(out, size, packed, packed_size) != size)
            fail("zstd failed");
        copies[i] = between - start;
        unpacks[i] = now() - between;
    }
    free(packed);
    return (struct baseline){median(copies, ROUNDS_OF_BASELINE),
                             median(unpacks, ROUNDS_OF_BASELINE), packed_size};
}

#endif
