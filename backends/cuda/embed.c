/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels as they were built (image.h), taken in by the assembler: as an array in C they would
 * be tens of megabytes of source. */
#include "backends/cuda/cuda.h"

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl wcodec_cuda_fatbin\n"
        ".hidden wcodec_cuda_fatbin\n"
        "wcodec_cuda_fatbin:\n"
        ".incbin \"" WCODEC_CUDA_FATBIN "\"\n"
        ".byte 0\n"
        ".popsection\n");
