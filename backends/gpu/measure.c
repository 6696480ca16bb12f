/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/measure.h"

typedef char
    measure_fields_agree[(int)WCODEC_MEASURE_FIELDS == (int)WCODEC_MEASURED_FIELDS ? 1 : -1];

const char *const wcodec_measure_names[WCODEC_MEASURES] = {
#define WCODEC_MEASURE(name, element_log2) #name,
#define WCODEC_MEASURE_SUMS(name) #name,
#include "backends/kernels/measures.def"
#undef WCODEC_MEASURE
#undef WCODEC_MEASURE_SUMS
};

int wcodec_gpu_measure_tensor(const struct wcodec_tensor_measure *m, uint32_t warps,
                              uint64_t (*address)(const struct wcodec_memory *memory),
                              int (*launch)(void *opaque, struct wcodec_gpu_measuring *launch),
                              void *opaque)
{
    const struct wcodec_measure_work w = wcodec_measure_work(m->count);
    const uint64_t work = address(m->work) + m->work_at;
    const uint32_t items = WCODEC_MEASURE_FIELDS * 257 + 1;
    struct wcodec_gpu_measuring l = {
        .kernel = m->element_log2,
        .groups = (w.parts + warps - 1) / warps,
        .threads = 32 * warps,
        .shared = warps * WCODEC_MEASURE_STAGE,
        .arguments = {.elements = address(m->elements) + m->elements_at,
                      .count = m->count,
                      .blocks = w.blocks,
                      .log2_table = work,
                      .parts_at = work + w.parts_at,
                      .result = work + w.result,
                      .parts = w.parts,
                      .fields = m->field_count},
    };
    for (unsigned f = 0; f < m->field_count; f++) {
        l.arguments.shift[f] = m->fields[f].shift;
        l.arguments.mask[f] = (1u << m->fields[f].width) - 1;
        l.arguments.stride[f] = m->fields[f].stride;
        l.arguments.by_block[f] = m->fields[f].by_block;
    }
    const int result = launch(opaque, &l);
    l.kernel = WCODEC_MEASURE_measure_sums;
    l.groups = (8 * items + l.threads - 1) / l.threads;
    l.shared = 0;
    return result == 0 ? launch(opaque, &l) : result;
}
