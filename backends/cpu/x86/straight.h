/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What kernels keep of a stream that make all of a tile's elements, and where these go. */
#ifndef WCODEC_CPU_X86_STRAIGHT_H
#define WCODEC_CPU_X86_STRAIGHT_H

#include "backends/cpu/decode.h"
#include "core/bytes.h"

struct straight_stream {
    const uint32_t *entries;
    const uint8_t *raw, *raw_last;
    uint8_t *elements;
    uint32_t rows_end;
    uint32_t past_end; /* elements of groups before this go past the caches */
    uint32_t outlier;  /* the next one */
};

/* The first group from `group` of the tile on that an outlier will change, counted from the
 * stretch's first one; or where its own rows end. */
INLINE uint32_t next_patched(const struct wcodec_cpu_stream *s, uint32_t *outlier, uint32_t group)
{
    for (; *outlier < s->outliers; ++*outlier) {
        const uint32_t at = wcodec_load_u16(s->positions + 2 * (size_t)*outlier) / WCODEC_GROUP;
        if (at >= group)
            return at - s->group < s->rows_end ? at - s->group : s->rows_end;
    }
    return s->rows_end;
}

/* That group's elements stay in the caches: their lines are fetched while there is time, since a
 * store that waits for its line holds up all that come after it. */
INLINE void find_patched(const struct wcodec_cpu_stream *s, size_t out_bytes, uint32_t group,
                         struct straight_stream *p)
{
    p->past_end = next_patched(s, &p->outlier, group);
    for (size_t i = 0; i < out_bytes; i += 64)
        __builtin_prefetch(p->elements + p->past_end * out_bytes + i, 1, 3);
}

INLINE void begin_straight(const struct wcodec_cpu_stream *s, size_t out_bytes,
                           struct straight_stream *p)
{
    *p = (struct straight_stream){.entries = s->table->entries,
                                  .raw = s->raw,
                                  .raw_last = s->raw_last,
                                  .elements = s->elements,
                                  .rows_end = s->rows_end};
    if (s->past)
        find_patched(s, out_bytes, s->group, p);
}

#endif
