/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory traffic that symbol functions start beside their work, a little in every group, so that
 * its latency is hidden by theirs. Elements are stored past the caches if the vector operations
 * that a level includes before this have such stores. */
#ifndef WCODEC_CPU_TRAFFIC_H
#define WCODEC_CPU_TRAFFIC_H

#include "backends/cpu/decode.h"

/* Prefetch a line of words, and the rows of group g and where it is stored, while there is time:
 * hardware prefetches a few long streams by itself, not short ones of several tiles. Store what is
 * ready to go past the caches: many such stores at once would wait for each other. */
static inline void wcodec_cpu_traffic(const struct wcodec_cpu_stream *s, const uint8_t *words,
                                      unsigned g)
{
#if defined(__GNUC__)
    __builtin_prefetch((const void *)((uintptr_t)words + WCODEC_CPU_PREFETCH));
    for (unsigned i = 0; i < s->row_bytes; i += 64)
        __builtin_prefetch((const void *)((uintptr_t)s->rows + g * s->row_bytes + i));
    for (unsigned i = 0; i < s->out_bytes; i += 64)
        __builtin_prefetch((const void *)((uintptr_t)s->out + g * s->out_bytes + i), 1);
#else
    (void)words;
#endif
#ifdef VEC_STREAM
    for (unsigned i = 0; i < s->ready_bytes; i += VEC_BYTES)
        store_stream(s->pass_to + g * s->ready_bytes + i, load(s->ready + g * s->ready_bytes + i));
#endif
}

/* After so many groups. */
static inline void wcodec_cpu_advance(struct wcodec_cpu_stream *s, unsigned groups)
{
    s->symbols += groups * WCODEC_GROUP;
#ifdef VEC_STREAM
    if (s->ready_bytes) { /* else there may be nothing to point to */
        s->ready += groups * s->ready_bytes;
        s->pass_to += groups * s->ready_bytes;
    }
#endif
}

#endif
