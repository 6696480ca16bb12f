/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The second and third stage of a level that has vectors: see assemble.h and finish.h. */
#ifndef WCODEC_CPU_ELEMENTS_H
#define WCODEC_CPU_ELEMENTS_H

#include "backends/cpu/assemble.h"
#include "backends/cpu/finish.h"

INLINE void use_elements(struct wcodec_cpu_dsp *dsp)
{
    dsp->assemble[WCODEC_CPU_ANY] = assemble_any;
    dsp->assemble[WCODEC_CPU_BF16] = assemble_bf16;
    dsp->assemble[WCODEC_CPU_NIBBLE] = assemble_nibble;
    dsp->assemble[WCODEC_CPU_BYTE] = assemble_byte;
    dsp->assemble[WCODEC_CPU_F32] = assemble_f32;
    dsp->assemble[WCODEC_CPU_F16] = assemble_f16;
    dsp->finish = finish_plain;
    dsp->check = finish_check;
#ifdef VEC_STREAM
    dsp->finish_stream = finish_stream;
    dsp->stream_end = stream_end;
#endif
}

#endif
