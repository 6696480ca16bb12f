/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tiles of one kernel, cut for work-groups. */
#include "backends/gpu/plan.h"

/* What [first, end) and a segment have in common. */
static struct wcodec_part clip(const struct wcodec_segment *s, uint32_t first, uint32_t end)
{
    const uint32_t begin = s->first > first ? s->first : first,
                   stop = s->first + s->count < end ? s->first + s->count : end;
    return (struct wcodec_part){s->tables, begin, stop - begin};
}

/* Tiles of a group, so that each has the tables of one segment and no more than `groups` are
 * needed. */
static uint32_t chunk_of(const struct wcodec_segment *segments, uint32_t first, uint32_t count,
                         uint32_t groups)
{
    for (uint32_t chunk = (count + groups - 1) / groups;; chunk++) {
        uint64_t needed = 0;
        for (uint32_t i = 0, done = 0; done < count; i++) {
            const uint32_t n = clip(&segments[i], first, first + count).count;
            needed += (n + chunk - 1) / chunk;
            done += n;
        }
        if (needed <= groups)
            return chunk;
    }
}

uint32_t wcodec_gpu_plan_cut(const struct wcodec_segment *segments, uint32_t first, uint32_t count,
                             uint32_t groups, struct wcodec_part *parts, uint32_t *numbers,
                             uint32_t *tiles)
{
    const uint32_t end = first + count;
    uint32_t of = 0, at = 0, part = 0;
    while (segments[of].first + segments[of].count < end)
        of++;
    if (++of <= groups / 2) {
        *tiles = chunk_of(segments, first, count, groups);
        for (uint32_t i = 0; i < of; i++) {
            const struct wcodec_part all = clip(&segments[i], first, end);
            const uint32_t n = (all.count + *tiles - 1) / *tiles;
            for (uint32_t k = 0; k < n; k++, at++) {
                const uint32_t from = (uint32_t)((uint64_t)all.count * k / n),
                               to = (uint32_t)((uint64_t)all.count * (k + 1) / n);
                numbers[at] = at;
                parts[at] = (struct wcodec_part){all.tables, all.first + from, to - from};
            }
        }
        numbers[at] = at;
        return at;
    }
    groups = count < groups ? count : groups;
    *tiles = (count + groups - 1) / groups;
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t stop = first + (uint32_t)((uint64_t)count * (g + 1) / groups);
        numbers[g] = part;
        for (uint32_t from = first + (uint32_t)((uint64_t)count * g / groups); from < stop;
             from += parts[part++].count) {
            while (segments->first + segments->count <= from)
                segments++;
            parts[part] = clip(segments, from, stop);
        }
    }
    numbers[groups] = part;
    return groups;
}
