/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An index from the headers of groups (doc/format.md 1.6). Headers are found by the sizes of what
 * lies before them, never by looking for something like one: payloads may hold anything. */

#include "format/groups.h"
#include "format/index_parser.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>

enum {
    DESCRIPTION_MIN = 6
}; /* length, payload size, type, size (or name, dtype and rank), coding,
      parameters */

struct found {
    struct wcodec_group group;
    size_t body_at; /* in the parser's `body` */
};

/* The walk from one header to the next. Bodies are kept one after the other in the parser. */
struct walk {
    struct wcodec_parser p;
    const struct wcodec_source *source;
    uint64_t position; /* end of the last payload, as far as it goes */
    uint64_t entries;
    uint64_t groups, capacity; /* of `found` */
    struct found *found;
};

/* Where a payload of that size and coding begins and ends: false if no file can be that long. */
static bool place(uint64_t *position, uint64_t size, uint8_t coding, uint64_t *offset)
{
    const uint64_t limit = (uint64_t)1 << 62;
    if (*position > limit || size > limit)
        return false;
    *offset = wcodec_align_u64(*position, wcodec_payload_alignment(size, coding));
    *position = *offset + size;
    return true;
}

/* The coding of a description from its type on: where it is none, that is found later. */
static uint8_t find_coding(struct wcodec_cursor c)
{
    struct wcodec_entry e = {.dtype = WCODEC_DTYPE_OTHER};
    uint64_t length, rank, skipped;
    const uint8_t *text;
    uint8_t type;
    if (!wcodec_take_u8(&c, &type))
        return 0;
    e.is_tensor = type == 1;
    if (e.is_tensor) {
        if (!wcodec_take_varint(&c, &length) || !wcodec_take_bytes(&c, length, &text) ||
            !wcodec_take_u8(&c, &e.dtype))
            return 0;
        if (e.dtype == WCODEC_DTYPE_OTHER &&
            (!wcodec_take_varint(&c, &length) || !wcodec_take_bytes(&c, length, &text)))
            return 0;
        if (!wcodec_take_varint(&c, &rank))
            return 0;
        for (uint64_t i = 0; i < rank; i++)
            if (!wcodec_take_varint(&c, &skipped))
                return 0;
    }
    if (!wcodec_entry_implies_size(&e) && !wcodec_take_varint(&c, &skipped))
        return 0;
    return wcodec_take_u8(&c, &e.coding) ? e.coding : 0;
}

/* Sizes and codings of payloads of a body: all that is needed to find the next header. */
static bool measure(struct wcodec_cursor c, uint64_t first, uint64_t position,
                    struct wcodec_group *g, uint64_t *end)
{
    uint64_t number, offset, length, size;
    const uint8_t *bytes;
    if (!wcodec_take_varint(&c, &number) || number != first || !wcodec_take_varint(&c, &g->count) ||
        g->count == 0 || g->count > wcodec_cursor_left(&c) / DESCRIPTION_MIN)
        return false;
    for (uint64_t i = 0; i < g->count; i++) {
        if (!wcodec_take_varint(&c, &length) || !wcodec_take_bytes(&c, length, &bytes))
            return false;
        struct wcodec_cursor description = {bytes, bytes + length};
        if (!wcodec_take_varint(&description, &size) ||
            (size > 0 && !place(&position, size, find_coding(description), &offset)))
            return false;
    }
    *end = position;
    return wcodec_cursor_left(&c) == 0;
}

static wcodec_status keep_group(struct walk *w, const struct wcodec_group *g, const uint8_t *body)
{
    const struct found found = {*g, w->p.body_size};
    if (w->groups == w->capacity) {
        const uint64_t capacity = 2 * w->capacity + 16;
        wcodec_status status =
            wcodec_parser_hold(&w->p, (capacity - w->capacity) * sizeof(*w->found));
        if (status != WCODEC_OK)
            return status;
        struct found *larger =
            wcodec_realloc_array(w->p.allocator, w->found, capacity, sizeof(*larger));
        if (larger == NULL)
            return wcodec_fail(w->p.err, WCODEC_ERROR_MEMORY, "out of memory for the index");
        w->found = larger;
        w->capacity = capacity;
    }
    w->found[w->groups++] = found;
    w->entries += g->count;
    return wcodec_parser_put(&w->p, body, (size_t)g->body_size);
}

/* The header that ought to follow. *more is false where there is none: the walk ends. */
static wcodec_status step(struct walk *w, bool *more)
{
    const uint64_t most = w->p.limits->max_index_bytes;
    struct wcodec_group g = {.first = w->entries, .offset = wcodec_align_u64(w->position, 16)};
    uint8_t *header, *body = NULL;
    size_t size, body_size;
    wcodec_error why = {0};
    *more = false;
    wcodec_status status =
        w->position > w->source->size
            ? WCODEC_ERROR_CORRUPT
            : wcodec_group_load(w->source, w->p.allocator, g.offset, most, &header, &size, &why);
    if (status == WCODEC_OK) {
        status =
            wcodec_group_decode(header, size, most, w->p.allocator, NULL, &body, &body_size, &why);
        wcodec_free(w->p.allocator, header);
    }
    if (status == WCODEC_ERROR_CORRUPT)
        return WCODEC_OK;
    if (status != WCODEC_OK)
        return wcodec_fail(w->p.err, status, "%s", why.text);
    const struct wcodec_cursor c = {body, body + body_size};
    g.header_size = size;
    g.body_size = body_size;
    *more = measure(c, w->entries, g.offset + size, &g, &w->position);
    if (*more && w->entries + g.count > w->p.limits->max_tensors &&
        w->entries + g.count - 1 > w->p.limits->max_tensors)
        status = wcodec_fail(w->p.err, WCODEC_ERROR_LIMIT,
                             "more entries than the limit of %" PRIu64 " tensors",
                             w->p.limits->max_tensors);
    if (*more && status == WCODEC_OK && w->entries + g.count > w->p.entries_max)
        status = wcodec_fail(w->p.err, WCODEC_ERROR_LIMIT,
                             "more than %" PRIu64 " entries, which is the limit in so small a file",
                             w->p.entries_max);
    if (*more && status == WCODEC_OK && body_size > most - w->p.body_size)
        status = wcodec_fail(w->p.err, WCODEC_ERROR_LIMIT,
                             "headers of more than %" PRIu64 " bytes, which is the limit", most);
    if (*more && status == WCODEC_OK)
        status = keep_group(w, &g, body);
    wcodec_free(w->p.allocator, body);
    return status;
}

static wcodec_status read_entry(struct walk *w, struct wcodec_cursor *c, uint64_t *position)
{
    struct wcodec_parser *p = &w->p;
    struct wcodec_index *index = p->index;
    const uint64_t number = index->entry_count;
    struct wcodec_entry *e = &index->entries[number];
    uint64_t length;
    const uint8_t *bytes;
    memset(e, 0, sizeof(*e));
    if (!wcodec_take_varint(c, &length) || !wcodec_take_bytes(c, length, &bytes))
        return wcodec_parser_cut_short(p, "description");
    struct wcodec_cursor description = {bytes, bytes + length};
    wcodec_status status = wcodec_parser_description(p, &description, e);
    if (status != WCODEC_OK)
        return status;
    if (e->payload_size > 0)
        (void)place(position, e->payload_size, wcodec_entry_coding(e), &e->payload_offset);
    e->gap_offset = p->header_end;
    e->unhashed = true;
    const struct wcodec_entry *own =
        !e->newer && e->coding == WCODEC_CODING_ALIAS ? &index->entries[e->u.alias] : e;
    e->cut = e->cut || own->cut || (e->payload_size > 0 && *position > w->source->size);
    e->newer |= e->cut;
    index->missing += e->cut ? e->size : 0;
    return wcodec_parser_add(p, number);
}

static wcodec_status read_group(struct walk *w, const struct found *found)
{
    struct wcodec_parser *p = &w->p;
    const struct wcodec_group *g = &found->group;
    const uint8_t *body = p->body + found->body_at;
    struct wcodec_cursor c = {body, body + g->body_size};
    uint64_t position = g->offset + g->header_size, number;
    wcodec_status status = WCODEC_OK;
    p->header_end = position;
    (void)(wcodec_take_varint(&c, &number) && wcodec_take_varint(&c, &number));
    for (uint64_t i = 0; i < g->count && status == WCODEC_OK; i++) {
        status = read_entry(w, &c, &position);
        if (status != WCODEC_OK)
            wcodec_parser_prefix(p, &p->index->entries[p->index->entry_count],
                                 p->index->entry_count);
        else
            p->index->entry_count++;
    }
    return status;
}

/* What was found becomes entries. */
static wcodec_status read_groups(struct walk *w)
{
    struct wcodec_index *index = w->p.index;
    if (w->groups == 0)
        return FAIL(&w->p, "there is no header that tensors could be found by");
    wcodec_status status = wcodec_parser_entries(&w->p, w->entries);
    index->size = index->head.size != UINT64_MAX ? index->head.size : (uint64_t)1 << 62;
    for (uint64_t i = 0; i < w->groups && status == WCODEC_OK; i++)
        status = read_group(w, &w->found[i]);
    if (status != WCODEC_OK)
        return status;
    if (index->head.size == UINT64_MAX)
        index->size = w->p.file_offset;
    index->missing += index->size - w->p.file_offset;
    index->safetensors = index->tensor_count > 0;
    index->mtime = -1;
    index->name = "";
    index->body_end = w->position;
    return WCODEC_OK;
}

wcodec_status wcodec_index_rebuild(const struct wcodec_source *source,
                                   const wcodec_allocator *allocator, const wcodec_limits *limits,
                                   struct wcodec_index **index, wcodec_error *err)
{
    struct wcodec_head head;
    uint64_t begin;
    wcodec_status status = wcodec_head_read(source, &head, &begin, err);
    struct walk w = {
        .p = {.allocator = allocator,
              .limits = limits,
              .err = err,
              .entries_max = wcodec_index_entries_max(source->size)},
        .source = source,
    };
    if (status == WCODEC_OK)
        status = wcodec_parser_begin(&w.p, &head, begin, source->size);
    if (status != WCODEC_OK)
        return status;
    w.p.index->rebuilt = true;
    w.position = begin;
    for (bool more = true; more && status == WCODEC_OK;)
        status = step(&w, &more);
    if (status == WCODEC_OK)
        status = read_groups(&w);
    wcodec_free(allocator, w.p.body);
    wcodec_free(allocator, w.found);
    if (status == WCODEC_OK)
        *index = w.p.index;
    else
        wcodec_index_free(w.p.index);
    return status;
}
