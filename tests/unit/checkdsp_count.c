/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Counting of symbols by each level against single increments: few values and many, at either end
 * of all values, some far from the others, and some that begin like others than they go on. The
 * symbols end at a guard page or begin after one. */
#include "support_guarded.h"
#include "support_tiles.h"

#include "backends/cpu/encode.h"

void checkdsp_count(uint32_t levels, uint64_t seed);

enum { MOST = 3 * WCODEC_COUNT_BLOCK };

void checkdsp_count(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_encode_dsp dsp;
    wcodec_cpu_encode_dsp_init(&dsp, levels);
    for (unsigned round = 0; round < 600; round++) {
        const size_t n = (size_t)(support_random(&seed) % (round % 4 ? 1000 : MOST + 1)),
                     turn = (size_t)(support_random(&seed) % (2 * n + 1));
        const unsigned wild = (unsigned)(support_random(&seed) % 4);
        unsigned low = (unsigned)(support_random(&seed) % 256),
                 span = 1 + (unsigned)(support_random(&seed) % (round % 3 ? 20 : 256));
        struct guarded symbols = guarded_side(n, round % 2);
        uint64_t counts[256], expected[256];
        for (unsigned v = 0; v < 256; v++)
            counts[v] = expected[v] = support_random(&seed) >> 1;
        for (size_t i = 0; i < n; i++) {
            if (i == turn) {
                low = (unsigned)(support_random(&seed) % 256);
                span = 1 + (unsigned)(support_random(&seed) % 256);
            }
            symbols.data[i] =
                (uint8_t)(support_random(&seed) % 100 < wild ? support_random(&seed)
                                                             : low + support_random(&seed) % span);
            expected[symbols.data[i]]++;
        }
        dsp.count(symbols.data, n, counts);
        assert_memory_equal(counts, expected, sizeof counts);
        guarded_free(&symbols);
    }
}
