/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Dividing a load to several devices: ranges that more than one of them want are decoded by one and
 * passed on. Each gets a run of neighbours in the order of the files, so that at most one tensor
 * for each device is cut, and reading goes on in order on all sides. */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/load.h"
#include <stdlib.h>
#include <string.h>

/* Tensors that are not larger are not cut: what they begin with would be read twice for little. */
#define CUT_MIN ((uint64_t)4 << 20)

/* A range as one of the requests has it. */
struct wanted {
    struct wcodec_load_range *range;
    size_t request;
};

/* What a device decodes: as the list grows, and bytes that it has to take yet. */
struct duty {
    struct wcodec_load_range *ranges;
    size_t count, pass_count;
    int64_t left;
};

struct sharing {
    const wcodec_allocator *allocator;
    struct wcodec_load_request *requests;
    size_t count;
    struct wanted *wanted;
    size_t wanted_count;
    struct duty *duties;
    bool *through_host; /* of [from][to] */
    size_t current;     /* which device takes what can be anybody's */
};

static int compare_wanted(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;
    const int order = wcodec_load_range_compare(a->range, b->range);
    if (a->range->shard != b->range->shard ||
        a->range->entry->payload_offset != b->range->entry->payload_offset)
        return order;
    if (a->range->entry != b->range->entry)
        return a->range->entry < b->range->entry ? -1 : 1;
    if (a->range->begin != b->range->begin || a->range->end != b->range->end)
        return order;
    return a->request < b->request ? -1 : 1;
}

/* How many from `first` on want the same bytes. */
static size_t group_of(const struct sharing *s, size_t first)
{
    size_t n = 1;
    while (first + n < s->wanted_count &&
           wcodec_load_range_equal(s->wanted[first].range, s->wanted[first + n].range))
        n++;
    return n;
}

static uint64_t size_of(const struct wanted *w)
{
    return w->range->end - w->range->begin;
}

/* Of those who want a range: the device that took the last one while it has to take more, else the
 * one that has to take most. */
static size_t choose(const struct sharing *s, const struct wanted *group, size_t n)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (group[i].request == s->current && s->duties[s->current].left > 0)
            return i;
        if (s->duties[group[i].request].left > s->duties[group[best].request].left)
            best = i;
    }
    return best;
}

/* Where to cut [begin, end) of an entry, so that the first part has about `wanted` bytes; `end`:
 * nowhere. */
static uint64_t cut_at(const struct wcodec_load_range *r, uint64_t begin, int64_t wanted)
{
    struct wcodec_layout layout;
    if (wanted <= 0 || r->end - begin <= (uint64_t)wanted || r->end - begin < CUT_MIN ||
        r->entry->newer || !wcodec_entry_has_layout(r->entry) || wcodec_entry_is_packed(r->entry))
        return r->end;
    wcodec_layout_derive(r->entry, &layout);
    const uint64_t bands = wcodec_div_up_u64(begin + (uint64_t)wanted, layout.bands.size);
    return bands < wcodec_div_up_u64(r->end, layout.bands.size) ? bands * layout.bands.size
                                                                : r->end;
}

/* Bytes [begin, end) of what a group wants become the duty of its member `owner`. */
static void assign(struct sharing *s, const struct wanted *group, size_t n, size_t owner,
                   uint64_t begin, uint64_t end)
{
    const size_t by = group[owner].request;
    struct wcodec_load_request *q = &s->requests[by];
    struct duty *d = &s->duties[by];
    struct wcodec_load_range *r = &d->ranges[d->count++];
    const uint64_t skipped = begin - group[owner].range->begin;
    *r = *group[owner].range;
    r->begin = begin;
    r->end = end;
    r->offset += skipped;
    r->host = r->host != NULL ? r->host + skipped : NULL;
    r->passes = q->passes + d->pass_count;
    r->pass_count = n - 1;
    for (size_t i = 0; i < n; i++) {
        if (i == owner)
            continue;
        struct wcodec_load_request *to = &s->requests[group[i].request];
        q->passes[d->pass_count++] = (struct wcodec_load_pass){
            .to = to,
            .memory = group[i].range->memory,
            .offset = group[i].range->offset + skipped,
            .through_host = s->through_host[by * s->count + group[i].request]};
        to->received += end - begin;
    }
    if (n > 1) { /* what one alone wants has been counted */
        d->left -= (int64_t)(end - begin);
        s->current = by;
    }
}

static void divide(struct sharing *s)
{
    for (size_t i = 0, n; i < s->wanted_count; i += n) {
        n = group_of(s, i);
        const struct wanted *group = &s->wanted[i];
        uint64_t begin = group->range->begin;
        do {
            const size_t owner = choose(s, group, n);
            const uint64_t end =
                n == 1 ? group->range->end
                       : cut_at(group->range, begin, s->duties[group[owner].request].left);
            assign(s, group, n, owner, begin, end);
            begin = end;
        } while (begin < group->range->end);
    }
}

/* Each is to decode as many bytes as the others, what it wants alone included; what one device
 * alone wants more than that is more for it. */
static void set_duties(struct sharing *s)
{
    uint64_t total = 0;
    for (size_t i = 0; i < s->wanted_count; i += group_of(s, i))
        total += size_of(&s->wanted[i]);
    for (size_t k = 0; k < s->count; k++)
        s->duties[k].left = (int64_t)(total / s->count) + (int64_t)(k < total % s->count);
    /* What is wanted by one alone comes off at once: where in the files it is does not matter. */
    for (size_t i = 0, n; i < s->wanted_count; i += n) {
        n = group_of(s, i);
        if (n == 1)
            s->duties[s->wanted[i].request].left -= (int64_t)size_of(&s->wanted[i]);
    }
}

/* Can bytes go from one device to another by a copy between them? */
static wcodec_status open_peers(struct sharing *s, wcodec_error *err)
{
    for (size_t i = 0; i < s->count * s->count; i++) {
        struct wcodec_load_request *from = &s->requests[i / s->count],
                                   *to = &s->requests[i % s->count];
        const struct wcodec_backend *b = from->device->backend;
        wcodec_error e = {0};
        if (from == to)
            continue;
        wcodec_status status = WCODEC_ERROR_UNSUPPORTED;
        if (b == to->device->backend && b->peers != NULL)
            status = b->peers->open(from->device->device, to->device->device, &e);
        else
            wcodec_fail(&e, status, "they have no copies to each other");
        if (status != WCODEC_OK && status != WCODEC_ERROR_UNSUPPORTED)
            return wcodec_backends_failed(from->context, from->device, status, &e, err);
        s->through_host[i] = status != WCODEC_OK;
        if (status == WCODEC_OK)
            wcodec_log(from->context, WCODEC_LOG_DEBUG, "%s passes on to %s by copies between them",
                       from->device->name, to->device->name);
        else
            wcodec_log(from->context, WCODEC_LOG_INFO, "%s passes on to %s through host memory: %s",
                       from->device->name, to->device->name, e.text);
    }
    return WCODEC_OK;
}

/* A cut leaves its device nothing more to take, so that there is one for each at most. */
static wcodec_status allocate(struct sharing *s, wcodec_error *err)
{
    size_t most = 0;
    for (size_t k = 0; k < s->count; k++)
        most += s->requests[k].count;
    s->wanted = wcodec_alloc_array(s->allocator, most, sizeof *s->wanted);
    s->duties = wcodec_alloc_array(s->allocator, s->count, sizeof *s->duties);
    if (s->duties != NULL)
        memset(s->duties, 0, s->count * sizeof *s->duties);
    s->through_host = wcodec_alloc_array(s->allocator, s->count * s->count, 1);
    if (s->wanted == NULL || s->duties == NULL || s->through_host == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load of %zu tensors",
                           most);
    for (size_t k = 0; k < s->count; k++) {
        struct wcodec_load_request *q = &s->requests[k];
        const size_t ranges = q->count + q->copies + 1;
        s->duties[k].ranges =
            wcodec_alloc_array(&q->context->allocator, ranges, sizeof *s->duties[k].ranges);
        q->passes = wcodec_alloc_array(&q->context->allocator, (q->count + 1) * s->count,
                                       sizeof *q->passes);
        if (s->duties[k].ranges == NULL || q->passes == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load of %zu tensors",
                               most);
        for (size_t i = 0; i < q->count; i++)
            if (q->ranges[i].begin != q->ranges[i].end)
                s->wanted[s->wanted_count++] = (struct wanted){&q->ranges[i], k};
    }
    return WCODEC_OK;
}

/* What was divided takes the place of what was asked for. */
static void replace(struct sharing *s)
{
    for (size_t k = 0; k < s->count; k++) {
        struct wcodec_load_request *q = &s->requests[k];
        struct duty *d = &s->duties[k];
        memcpy(d->ranges + d->count, q->ranges + q->count, q->copies * sizeof *d->ranges);
        q->placed = q->ranges;
        q->ranges = d->ranges;
        q->count = d->count;
        q->pass_count = d->pass_count;
        d->ranges = NULL;
    }
}

wcodec_status wcodec_load_share(struct wcodec_load_request *requests, size_t count,
                                wcodec_error *err)
{
    struct sharing s = {
        .allocator = &requests[0].context->allocator, .requests = requests, .count = count};
    wcodec_status status = allocate(&s, err);
    if (status == WCODEC_OK)
        status = open_peers(&s, err);
    if (status == WCODEC_OK) {
        qsort(s.wanted, s.wanted_count, sizeof *s.wanted, compare_wanted);
        set_duties(&s);
        divide(&s);
        replace(&s);
    }
    for (size_t k = 0; k < count && s.duties != NULL; k++)
        wcodec_free(&requests[k].context->allocator, s.duties[k].ranges);
    wcodec_free(s.allocator, s.through_host);
    wcodec_free(s.allocator, s.duties);
    wcodec_free(s.allocator, s.wanted);
    return status;
}
