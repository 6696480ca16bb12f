/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of blocks alone, one thread, every level that the machine has: GB/s of elements, from residuals in the cache to rows of 2048 elements, one mode
 * for all blocks. Medians of the thread's own time. */
#include "backends/cpu/blocks.h"
#include "backends/cpu/cpu_level.h"
#include "bench/timing.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9, TIMES = 20, ROWS = 32, COLUMNS = 2048 };

static double rate(const struct wcodec_cpu_blocks_dsp *dsp, unsigned element_log2, unsigned mode, const uint8_t *residuals, uint8_t *out)
{
    struct wcodec_blocks b = {.columns = COLUMNS, .mode_count = 1, .modes = {(uint8_t)mode}};
    double taken[ROUNDS];
    if (wcodec_blocks_derive(&b, (uint64_t)ROWS * COLUMNS << element_log2, element_log2, NULL))
        exit(1);
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double start = now();
        for (unsigned i = 0; i < TIMES; i++)
            wcodec_cpu_restore_blocks(dsp, &b, NULL, 0, b.count, residuals, 0, b.size, out);
        taken[r] = now() - start;
    }
    return 1e-9 * (double)b.size * TIMES / median(taken, ROUNDS);
}

int main(void)
{
    static const unsigned modes[] = {0, 1, 2, 4, 3, 5, 6, 8, 9, 11, 13};
    uint8_t *residuals = malloc(2 * ROWS * COLUMNS), *out = malloc(2 * ROWS * COLUMNS);
    if (!residuals || !out)
        return 1;
    for (size_t i = 0; i < 2 * ROWS * COLUMNS; i++)
        residuals[i] = (uint8_t)(i * 0x9E3779B1u >> 24);
    printf("| level, bits |");
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
        printf(" %s%s |", wcodec_predictor_name(modes[m]), modes[m] & WCODEC_MODE_DIFFERENTIAL ? "+d" : "");
    printf("\n");
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        struct wcodec_cpu_blocks_dsp dsp;
        wcodec_cpu_blocks_dsp_init(&dsp, wcodec_cpu_levels() & ((2u << level) - 1));
        for (unsigned w = 0; w < 2 && dsp.level == level; w++) {
            printf("| %s, %u |", wcodec_cpu_level_name(level), 8u << w);
            for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
                printf(" %.2f |", rate(&dsp, w, modes[m], residuals, out));
            printf("\n");
        }
    }
    free(out);
    free(residuals);
    return 0;
}
