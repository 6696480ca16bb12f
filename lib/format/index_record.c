/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One entry of the index, or of a group's header (doc/format.md 1.3 and 1.6). Whatever bytes come
 * in, the result is consistent or there is none: the rest of the library trusts it. */

#include "format/index_parser.h"
#include "coding/chunks.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>
#include <stdio.h>

#define SIZE_LIMIT ((uint64_t)1 << 48) /* of a tensor in bytes, and of a dimension */

enum { SPLIT_MAX = WCODEC_MAX_FIELDS * 4 };

wcodec_status wcodec_parser_cut_short(struct wcodec_parser *p, const char *what)
{
    return FAIL(p, "%s: cut short, or no valid number", what);
}

/* Count `bytes` more against the caller's limit. */
wcodec_status wcodec_parser_hold(struct wcodec_parser *p, uint64_t bytes)
{
    uint64_t most = p->limits->max_memory, needed;
    if (!wcodec_add_u64(p->held, bytes, &needed) || needed > most)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "opening takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           p->held + bytes, most);
    p->held = needed;
    return WCODEC_OK;
}

/* Memory that is counted. */
wcodec_status wcodec_parser_take(struct wcodec_parser *p, uint64_t count, size_t size,
                                 void **memory)
{
    uint64_t bytes;
    if (!wcodec_mul_u64(count, size, &bytes))
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY,
                           "out of memory for %" PRIu64 " records of the index", count);
    wcodec_status status = wcodec_parser_hold(p, bytes);
    if (status != WCODEC_OK)
        return status;
    void *got = wcodec_alloc_array(p->allocator, count, size);
    if (got == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY,
                           "out of memory: %" PRIu64 " bytes for the index", bytes);
    *memory = got;
    return WCODEC_OK;
}

/* `size` bytes that live as long as the index, aligned for u64. */
static wcodec_status arena_take(struct wcodec_parser *p, size_t size, void **memory)
{
    wcodec_status status = wcodec_parser_hold(p, wcodec_align_u64(size, 8));
    if (status != WCODEC_OK)
        return status;
    void *got = wcodec_arena_alloc(&p->index->arena, size);
    if (got == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for the index");
    *memory = got;
    return WCODEC_OK;
}

wcodec_status wcodec_parser_string(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   const char *what, const char **text)
{
    uint64_t size;
    const uint8_t *bytes;
    if (!wcodec_take_varint(c, &size) || !wcodec_take_bytes(c, size, &bytes))
        return wcodec_parser_cut_short(p, what);
    if (!wcodec_utf8_valid(bytes, (size_t)size))
        return FAIL(p, "%s is no valid UTF-8, or holds a NUL", what);
    void *copy;
    wcodec_status status = arena_take(p, (size_t)size + 1, &copy);
    if (status != WCODEC_OK)
        return status;
    memcpy(copy, bytes, (size_t)size);
    ((char *)copy)[size] = 0;
    *text = copy;
    return WCODEC_OK;
}

/* A table of names, counted too. Who frees it before the index takes it off again. */
wcodec_status wcodec_parser_names(struct wcodec_parser *p, uint64_t count, const char *what,
                                  struct wcodec_names *names)
{
    wcodec_status status = wcodec_parser_hold(p, wcodec_names_memory(count));
    if (status == WCODEC_OK && !wcodec_names_init(names, p->allocator, count))
        status = wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " %s", count,
                             what);
    return status;
}

/* Name, dtype and shape of a tensor. */
static wcodec_status read_label(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    wcodec_status status = wcodec_parser_string(p, c, "name of a tensor", &e->name);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_take_u8(c, &e->dtype))
        return wcodec_parser_cut_short(p, "dtype");
    if (e->dtype == WCODEC_DTYPE_OTHER) {
        status = wcodec_parser_string(p, c, "dtype name", &e->dtype_name);
        if (status != WCODEC_OK)
            return status;
    } else if (e->dtype < WCODEC_DTYPE_COUNT) {
        e->dtype_name = wcodec_dtype_name((wcodec_dtype)e->dtype);
    } else {
        e->newer = true;
        e->dtype_name = "?";
    }
    uint64_t rank;
    if (!wcodec_take_varint(c, &rank))
        return wcodec_parser_cut_short(p, "rank");
    if (rank > 255)
        return FAIL(p, "rank %" PRIu64 ", at most 255 is allowed", rank);
    if (rank > wcodec_cursor_left(c))
        return wcodec_parser_cut_short(p, "shape");
    void *memory;
    status = arena_take(p, (size_t)rank * sizeof(uint64_t), &memory);
    if (status != WCODEC_OK)
        return status;
    uint64_t *shape = memory;
    for (uint64_t i = 0; i < rank; i++) {
        if (!wcodec_take_varint(c, &shape[i]))
            return wcodec_parser_cut_short(p, "shape");
        if (shape[i] >= SIZE_LIMIT)
            return FAIL(p, "dimension %" PRIu64 " is %" PRIu64 ", it must be below 2^48", i,
                        shape[i]);
    }
    e->rank = (unsigned)rank;
    e->shape = shape;
    return WCODEC_OK;
}

/* What shape and dtype say, or a number where they do not. */
static wcodec_status read_size(struct wcodec_parser *p, struct wcodec_cursor *c,
                               struct wcodec_entry *e)
{
    if (wcodec_entry_implies_size(e)) {
        if (!wcodec_dtype_size((wcodec_dtype)e->dtype, e->shape, e->rank, &e->size))
            return FAIL(p,
                        "its shape makes more than 2^48 bytes of %s, or no whole number of bytes",
                        e->dtype_name);
        return WCODEC_OK;
    }
    if (!wcodec_take_varint(c, &e->size))
        return wcodec_parser_cut_short(p, "size");
    if (e->size > SIZE_LIMIT)
        return FAIL(p, "size %" PRIu64 ", at most 2^48 bytes are allowed", e->size);
    return WCODEC_OK;
}

static wcodec_status read_constant(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   struct wcodec_entry *e)
{
    const uint8_t *element;
    uint8_t w;
    if (!wcodec_take_u8(c, &w))
        return wcodec_parser_cut_short(p, "element size of a constant");
    if (w > 3)
        return FAIL(p, "constant element of 2^%u bytes, at most 2^3 are allowed", w);
    if (!wcodec_take_bytes(c, (uint64_t)1 << w, &element))
        return wcodec_parser_cut_short(p, "constant element");
    if (e->size % ((uint64_t)1 << w) != 0)
        return FAIL(p, "%" PRIu64 " bytes are no whole number of constant elements of 2^%u bytes",
                    e->size, w);
    if (e->size == 0 && (w != 0 || element[0] != 0))
        return FAIL(p, "an empty entry must have the constant byte 0");
    e->u.constant.element_log2 = w;
    memcpy(e->u.constant.element, element, (size_t)1 << w);
    return WCODEC_OK;
}

static wcodec_status keep_split(struct wcodec_parser *p, const char *text, size_t size,
                                const char **split)
{
    for (unsigned i = 0; i < WCODEC_SPLITS_KEPT; i++)
        if (p->splits[i] != NULL && strcmp(p->splits[i], text) == 0) {
            *split = p->splits[i];
            return WCODEC_OK;
        }
    void *copy;
    wcodec_status status = arena_take(p, size + 1, &copy);
    if (status != WCODEC_OK)
        return status;
    memcpy(copy, text, size + 1);
    *split = p->splits[p->next_split++ % WCODEC_SPLITS_KEPT] = copy;
    return WCODEC_OK;
}

/* "r7+c8+r1": kind and width of each field. */
static wcodec_status make_split(struct wcodec_parser *p, const struct wcodec_tiling *tiling,
                                const char **split)
{
    char text[SPLIT_MAX + 1];
    size_t size = 0;
    for (unsigned i = 0; i < tiling->field_count; i++) {
        const unsigned width = tiling->fields[i].width; /* up to 64 */
        if (i > 0)
            text[size++] = '+';
        text[size++] = "krc"[tiling->fields[i].kind];
        if (width >= 10)
            text[size++] = (char)('0' + width / 10);
        text[size++] = (char)('0' + width % 10);
    }
    text[size] = '\0';
    return keep_split(p, text, size, split);
}

/* Keep the parameters from `begin` up to the cursor. */
static wcodec_status copy_parameters(struct wcodec_parser *p, const struct wcodec_cursor *c,
                                     const uint8_t *begin, struct wcodec_entry *e)
{
    void *parameters;
    e->parameters_size = (size_t)(c->at - begin);
    wcodec_status status = arena_take(p, e->parameters_size, &parameters);
    if (status != WCODEC_OK)
        return status;
    memcpy(parameters, begin, e->parameters_size);
    e->parameters = parameters;
    return WCODEC_OK;
}

/* Keep the parameters from `begin` up to the cursor; the tiles' payload has `payload_size` bytes.
 */
static wcodec_status keep_parameters(struct wcodec_parser *p, const struct wcodec_cursor *c,
                                     const uint8_t *begin, const struct wcodec_tiling *tiling,
                                     uint64_t payload_size, struct wcodec_entry *e)
{
    if (tiling->prefix_size > payload_size)
        return FAIL(p, "prefix of %" PRIu64 " bytes in a payload of %" PRIu64, tiling->prefix_size,
                    payload_size);
    wcodec_status status = copy_parameters(p, c, begin, e);
    if (status != WCODEC_OK)
        return status;
    e->u.tiling = NULL;
    return make_split(p, tiling, &e->split);
}

static wcodec_status read_tiles(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    struct wcodec_tiling tiling;
    const uint8_t *begin = c->at;
    wcodec_status status = wcodec_tiling_read(c, e->size, &tiling, p->err);
    return status == WCODEC_OK ? keep_parameters(p, c, begin, &tiling, e->payload_size, e) : status;
}

/* As tiles, but for the payload. */
static wcodec_status read_packed(struct wcodec_parser *p, struct wcodec_cursor *c,
                                 struct wcodec_entry *e)
{
    struct wcodec_tiling tiling;
    uint64_t unpacked;
    if (!wcodec_take_varint(c, &unpacked))
        return wcodec_parser_cut_short(p, "size of a packed payload when it is unpacked");
    const uint8_t *begin = c->at;
    wcodec_status status = wcodec_tiling_read(c, e->size, &tiling, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->payload_size == 0 || e->payload_size > WCODEC_PACKED_MOST ||
        !wcodec_packed_applies(&tiling, unpacked))
        return FAIL(p,
                    "a payload of %" PRIu64 " bytes for %" PRIu64 " cannot be packed in %" PRIu64,
                    unpacked, e->size, e->payload_size);
    e->coding = WCODEC_CODING_TILES;
    e->unpacked_size = (uint32_t)unpacked;
    return keep_parameters(p, c, begin, &tiling, unpacked, e);
}

static wcodec_status read_blocks(struct wcodec_parser *p, struct wcodec_cursor *c,
                                 struct wcodec_entry *e)
{
    struct wcodec_blocks blocks;
    struct wcodec_tiling tiling;
    const uint8_t *begin = c->at;
    wcodec_status status = wcodec_blocks_read(c, e->size, &blocks, &tiling, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    uint64_t tiles_begin = wcodec_blocks_tiles_begin(&blocks);
    if (tiles_begin > e->payload_size)
        return FAIL(p, "modes of %" PRIu64 " blocks do not fit into a payload of %" PRIu64 " bytes",
                    blocks.count, e->payload_size);
    return keep_parameters(p, c, begin, &tiling, e->payload_size - tiles_begin, e);
}

static wcodec_status read_fragments(struct wcodec_parser *p, struct wcodec_cursor *c,
                                    struct wcodec_entry *e)
{
    struct wcodec_fragments fragments;
    struct wcodec_tiling tiling;
    const uint8_t *begin = c->at;
    wcodec_status status =
        wcodec_fragments_read(c, e->size, &fragments, &tiling, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    return keep_parameters(p, c, begin, &tiling, e->payload_size, e);
}

static wcodec_status read_lossy(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    struct wcodec_lossy lossy;
    struct wcodec_tiling tiling;
    const uint8_t *begin = c->at;
    if (!e->is_tensor)
        return FAIL(p, "bytes that are no tensor cannot be lossy");
    wcodec_status status =
        wcodec_lossy_read(c, e->size, (wcodec_dtype)e->dtype, &lossy, &tiling, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    uint64_t tiles_begin = wcodec_lossy_tiles_begin(&lossy);
    if (tiles_begin > e->payload_size)
        return FAIL(p,
                    "modes and scales of %" PRIu64 " bytes do not fit into a payload of %" PRIu64,
                    tiles_begin, e->payload_size);
    return keep_parameters(p, c, begin, &tiling, e->payload_size - tiles_begin, e);
}

static wcodec_status read_fixed(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    struct wcodec_fixed fixed;
    const uint8_t *begin = c->at;
    if (!e->is_tensor)
        return FAIL(p, "bytes that are no tensor cannot be at a fixed rate");
    wcodec_status status =
        wcodec_fixed_read(c, e->size, (wcodec_dtype)e->dtype, &fixed, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    if (e->payload_size != fixed.payload_size)
        return FAIL(p, "a payload of %" PRIu64 " bytes at a fixed rate, expected %" PRIu64,
                    e->payload_size, fixed.payload_size);
    e->split = "";
    return copy_parameters(p, c, begin, e);
}

/* "2+32": bytes of each field. */
static wcodec_status make_widths(struct wcodec_parser *p, const struct wcodec_records *records,
                                 const char **split)
{
    char text[6 * WCODEC_RECORD_FIELDS_MAX];
    size_t size = 0;
    for (unsigned i = 0; i < records->field_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%u", i > 0 ? "+" : "",
                                 records->fields[i].width);
    return keep_split(p, text, size, split);
}

static wcodec_status read_records(struct wcodec_parser *p, struct wcodec_cursor *c,
                                  struct wcodec_entry *e)
{
    struct wcodec_records records;
    const uint8_t *begin = c->at;
    wcodec_status status =
        wcodec_records_read(c, e->size, e->payload_size, &records, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    status = copy_parameters(p, c, begin, e);
    return status == WCODEC_OK ? make_widths(p, &records, &e->split) : status;
}

static wcodec_status read_alias(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    if (!wcodec_take_varint(c, &e->u.alias))
        return wcodec_parser_cut_short(p, "number of the entry that an alias names");
    if (e->u.alias >= (uint64_t)(e - p->index->entries))
        return FAIL(p, "an alias of entry %" PRIu64 ", which is no earlier one", e->u.alias);
    const struct wcodec_entry *original = &p->index->entries[e->u.alias];
    if (original->coding == WCODEC_CODING_ALIAS || original->coding == WCODEC_CODING_INLINE)
        return FAIL(p, "an alias of entry %" PRIu64 ", which is %s", e->u.alias,
                    original->coding == WCODEC_CODING_ALIAS ? "an alias itself"
                                                            : "in the index itself");
    if (original->size != e->size)
        return FAIL(p, "an alias of %" PRIu64 " bytes of entry %" PRIu64 ", which has %" PRIu64,
                    e->size, e->u.alias, original->size);
    return WCODEC_OK;
}

static wcodec_status read_parameters(struct wcodec_parser *p, struct wcodec_cursor *c,
                                     struct wcodec_entry *e);

/* A part of a delta, of a masked tensor or of one by anchors is described as an entry is, by its
 * coding and parameters: a constant, in tiles, packed or not, or in chunks. *end: where its payload
 * ends in the whole's. */
static wcodec_status read_part(struct wcodec_parser *p, struct wcodec_cursor *c,
                               const struct wcodec_entry *whole, uint64_t size, uint64_t *end,
                               struct wcodec_entry **part)
{
    void *memory;
    uint64_t parameters;
    const uint8_t *bytes;
    wcodec_status status = arena_take(p, sizeof **part, &memory);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_entry *e = memory;
    *e = (struct wcodec_entry){.is_tensor = true,
                               .name = whole->name,
                               .dtype = whole->dtype,
                               .dtype_name = whole->dtype_name,
                               .size = size};
    if (!wcodec_take_u8(c, &e->coding) || !wcodec_take_varint(c, &e->payload_size) ||
        !wcodec_take_varint(c, &parameters) || !wcodec_take_bytes(c, parameters, &bytes))
        return wcodec_parser_cut_short(p, "a part of a tensor");
    if (e->coding != WCODEC_CODING_CONSTANT && e->coding != WCODEC_CODING_TILES &&
        e->coding != WCODEC_CODING_CHUNKS && e->coding != WCODEC_CODING_PACKED)
        return FAIL(p, "a part of a tensor has coding %u", e->coding);
    e->payload_offset = wcodec_align_u64(*end, 16);
    if (e->payload_size != 0 && (e->payload_offset > whole->payload_size ||
                                 e->payload_size > whole->payload_size - e->payload_offset))
        return FAIL(p, "a part of %" PRIu64 " bytes does not fit into a payload of %" PRIu64,
                    e->payload_size, whole->payload_size);
    *end = wcodec_delta_part_end(*end, e->payload_size);
    struct wcodec_cursor own = {bytes, bytes + parameters};
    status = read_parameters(p, &own, e);
    if (status == WCODEC_OK)
        *part = e;
    return status;
}

static wcodec_status read_delta(struct wcodec_parser *p, struct wcodec_cursor *c,
                                struct wcodec_entry *e)
{
    const uint8_t *begin = c->at;
    void *memory;
    if (!e->is_tensor)
        return FAIL(p, "bytes that are no tensor cannot be a delta");
    wcodec_status status = arena_take(p, sizeof(struct wcodec_entry_delta), &memory);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_entry_delta *delta = memory;
    *delta = (struct wcodec_entry_delta){.parts = {NULL}};
    status = wcodec_delta_read(c, e->size, &delta->head, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    const struct wcodec_delta *d = &delta->head;
    uint64_t end = wcodec_delta_streams_end(d);
    if (end > e->payload_size)
        return FAIL(p, "%" PRIu64 " bytes of a delta do not fit into a payload of %" PRIu64, end,
                    e->payload_size);
    for (unsigned i = 0; i < WCODEC_DELTA_PARTS && status == WCODEC_OK; i++) {
        const uint64_t count = d->counts[WCODEC_DELTA_ALONE + i];
        if (count != 0)
            status = read_part(p, c, e, count << d->element_log2, &end, &delta->parts[i]);
    }
    if (status != WCODEC_OK)
        return status;
    if (end != e->payload_size)
        return FAIL(p, "a delta of %" PRIu64 " bytes has a payload of %" PRIu64, end,
                    e->payload_size);
    status = copy_parameters(p, c, begin, e);
    e->split = "";
    e->u.delta = delta;
    return status;
}

static wcodec_status read_masked(struct wcodec_parser *p, struct wcodec_cursor *c,
                                 struct wcodec_entry *e)
{
    const uint8_t *begin = c->at;
    void *memory;
    wcodec_status status = arena_take(p, sizeof(struct wcodec_entry_masked), &memory);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_entry_masked *masked = memory;
    *masked = (struct wcodec_entry_masked){.parts = {NULL}};
    status = wcodec_masked_read(c, e->size, &masked->head, &e->newer, p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    uint64_t end = wcodec_masked_counts_size(&masked->head);
    if (end > e->payload_size)
        return FAIL(p, "counts of %" PRIu64 " bytes do not fit into a payload of %" PRIu64, end,
                    e->payload_size);
    for (unsigned i = 0; i < WCODEC_MASKED_PARTS && status == WCODEC_OK; i++)
        status =
            read_part(p, c, e, wcodec_masked_part_size(&masked->head, i), &end, &masked->parts[i]);
    if (status != WCODEC_OK)
        return status;
    if (end != e->payload_size)
        return FAIL(p, "a masked tensor of %" PRIu64 " bytes has a payload of %" PRIu64, end,
                    e->payload_size);
    status = copy_parameters(p, c, begin, e);
    e->split = "";
    e->u.masked = masked;
    return status;
}

static wcodec_status read_anchored(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   struct wcodec_entry *e)
{
    const uint8_t *begin = c->at;
    void *memory;
    if (!e->is_tensor)
        return FAIL(p, "bytes that are no tensor cannot be coded by anchors");
    wcodec_status status = arena_take(p, sizeof(struct wcodec_entry_anchored), &memory);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_entry_anchored *anchored = memory;
    *anchored = (struct wcodec_entry_anchored){.parts = {NULL}};
    status = wcodec_anchored_read(c, e->size, (wcodec_dtype)e->dtype, &anchored->head, &e->newer,
                                  p->err);
    if (status != WCODEC_OK)
        return status;
    if (e->newer) {
        c->at = c->end;
        return WCODEC_OK;
    }
    uint64_t end = 0;
    for (unsigned i = 0; i < WCODEC_ANCHORED_PARTS && status == WCODEC_OK; i++)
        status = read_part(p, c, e, wcodec_anchored_part_size(&anchored->head, i), &end,
                           &anchored->parts[i]);
    if (status != WCODEC_OK)
        return status;
    if (end != e->payload_size)
        return FAIL(p, "a tensor by anchors of %" PRIu64 " bytes has a payload of %" PRIu64, end,
                    e->payload_size);
    status = copy_parameters(p, c, begin, e);
    e->split = "";
    e->u.anchored = anchored;
    return status;
}

/* Its bytes themselves. */
static wcodec_status read_inline(struct wcodec_parser *p, struct wcodec_cursor *c,
                                 struct wcodec_entry *e)
{
    const uint8_t *begin = c->at, *bytes;
    if (e->is_tensor)
        return FAIL(p, "a tensor cannot stand in the index");
    if (e->size > WCODEC_INLINE_MAX)
        return FAIL(p, "%" PRIu64 " bytes in the index itself, at most %d are allowed", e->size,
                    (int)WCODEC_INLINE_MAX);
    if (!wcodec_take_bytes(c, e->size, &bytes))
        return wcodec_parser_cut_short(p, "bytes that stand in the index");
    e->split = "";
    return copy_parameters(p, c, begin, e);
}

static wcodec_status read_parameters(struct wcodec_parser *p, struct wcodec_cursor *c,
                                     struct wcodec_entry *e)
{
    if (e->size == 0 && e->coding != WCODEC_CODING_CONSTANT)
        return FAIL(p, "an empty entry must be a constant, this one has coding %u", e->coding);
    const bool has_payload = e->coding != WCODEC_CODING_CONSTANT &&
                             e->coding != WCODEC_CODING_ALIAS && e->coding != WCODEC_CODING_INLINE;
    if (!has_payload && e->payload_size != 0)
        return FAIL(p, "coding %u with a payload of %" PRIu64 " bytes: it has none", e->coding,
                    e->payload_size);
    wcodec_status status = WCODEC_OK;
    switch (e->coding) {
    case WCODEC_CODING_CONSTANT:
        status = read_constant(p, c, e);
        break;
    case WCODEC_CODING_TILES:
        status = read_tiles(p, c, e);
        break;
    case WCODEC_CODING_CHUNKS:
        status = wcodec_chunks_read_size(c, e->size, e->payload_size, &e->u.chunk, p->err);
        break;
    case WCODEC_CODING_BLOCKS:
        status = read_blocks(p, c, e);
        break;
    case WCODEC_CODING_LOSSY:
        status = read_lossy(p, c, e);
        break;
    case WCODEC_CODING_FIXED:
        status = read_fixed(p, c, e);
        break;
    case WCODEC_CODING_FRAGMENTS:
        status = read_fragments(p, c, e);
        break;
    case WCODEC_CODING_PACKED:
        status = read_packed(p, c, e);
        break;
    case WCODEC_CODING_RECORDS:
        status = read_records(p, c, e);
        break;
    case WCODEC_CODING_DELTA:
        status = read_delta(p, c, e);
        break;
    case WCODEC_CODING_MASKED:
        status = read_masked(p, c, e);
        break;
    case WCODEC_CODING_INLINE:
        status = read_inline(p, c, e);
        break;
    case WCODEC_CODING_ANCHORED:
        status = read_anchored(p, c, e);
        break;
    default:
        status = read_alias(p, c, e);
        break;
    }
    if (status == WCODEC_OK && c->at != c->end)
        return FAIL(p, "%zu bytes are left over at the end of its record", wcodec_cursor_left(c));
    return status;
}

wcodec_status wcodec_parser_put(struct wcodec_parser *p, const void *bytes, size_t size)
{
    if (size > p->body_capacity - p->body_size) {
        uint64_t capacity = 2 * (uint64_t)p->body_capacity + size + 256;
        wcodec_status status = wcodec_parser_hold(p, capacity - p->body_capacity);
        if (status != WCODEC_OK)
            return status;
        uint8_t *body = wcodec_realloc_array(p->allocator, p->body, capacity, 1);
        if (body == NULL)
            return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for the index");
        p->body = body;
        p->body_capacity = (size_t)capacity;
    }
    if (size != 0)
        memcpy(p->body + p->body_size, bytes, size);
    p->body_size += size;
    return WCODEC_OK;
}

wcodec_status wcodec_parser_put_varint(struct wcodec_parser *p, uint64_t v)
{
    uint8_t bytes[10];
    return wcodec_parser_put(p, bytes, wcodec_put_varint(bytes, v));
}

static wcodec_status read_type(struct wcodec_parser *p, struct wcodec_cursor *c,
                               struct wcodec_entry *e)
{
    uint8_t type;
    if (!wcodec_take_u8(c, &type))
        return wcodec_parser_cut_short(p, "type");
    if (type > 1)
        return wcodec_fail(p->err, WCODEC_ERROR_NEWER, "made by a newer version: entry of type %u",
                           type);
    e->is_tensor = type == 1;
    wcodec_status status = e->is_tensor ? read_label(p, c, e) : WCODEC_OK;
    return status == WCODEC_OK ? read_size(p, c, e) : status;
}

static wcodec_status read_coding(struct wcodec_parser *p, struct wcodec_cursor *c,
                                 struct wcodec_entry *e)
{
    if (!wcodec_coding_is_known(e->coding))
        e->newer = true;
    return e->newer ? WCODEC_OK : read_parameters(p, c, e);
}

/* The same pieces make the body of a group's header. */
static wcodec_status put_body(struct wcodec_parser *p, const struct wcodec_entry *e,
                              const struct wcodec_cursor *description,
                              const struct wcodec_cursor *rest)
{
    uint8_t size[10];
    const bool is_inline = e->coding == WCODEC_CODING_INLINE;
    const size_t size_bytes = wcodec_put_varint(size, e->payload_size),
                 front = wcodec_cursor_left(description),
                 back = is_inline ? 0 : wcodec_cursor_left(rest);
    wcodec_status status = wcodec_parser_put_varint(p, size_bytes + front + 1 + back);
    if (status == WCODEC_OK)
        status = wcodec_parser_put(p, size, size_bytes);
    if (status == WCODEC_OK)
        status = wcodec_parser_put(p, description->at, front);
    if (status == WCODEC_OK)
        status = wcodec_parser_put(p, &e->coding, 1);
    return status == WCODEC_OK ? wcodec_parser_put(p, rest->at, back) : status;
}

wcodec_status wcodec_parser_record(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   struct wcodec_entry *e)
{
    struct wcodec_cursor description = *c;
    const uint8_t *hash;
    wcodec_status status = read_type(p, c, e);
    if (status != WCODEC_OK)
        return status;
    description.end = c->at;
    if (!wcodec_take_varint(c, &e->order0_bits) || !wcodec_take_u8(c, &e->coding) ||
        !wcodec_take_varint(c, &e->payload_size) || !wcodec_take_bytes(c, 8, &hash))
        return wcodec_parser_cut_short(p, "order0, coding, payload size and hash");
    e->payload_hash = wcodec_load_u64(hash);
    if (e->payload_size == 0 && e->payload_hash != 0)
        return FAIL(p, "a payload hash without a payload");
    if (p->index->group_count > 0)
        status = put_body(p, e, &description, c);
    return status == WCODEC_OK ? read_coding(p, c, e) : status;
}

wcodec_status wcodec_parser_description(struct wcodec_parser *p, struct wcodec_cursor *c,
                                        struct wcodec_entry *e)
{
    if (!wcodec_take_varint(c, &e->payload_size))
        return wcodec_parser_cut_short(p, "payload size");
    wcodec_status status = read_type(p, c, e);
    if (status == WCODEC_OK && !wcodec_take_u8(c, &e->coding))
        status = wcodec_parser_cut_short(p, "coding");
    if (status != WCODEC_OK || e->coding != WCODEC_CODING_INLINE)
        return status == WCODEC_OK ? read_coding(p, c, e) : status;
    /* Its bytes were in the index. */
    if (e->is_tensor || e->size == 0 || e->size > WCODEC_INLINE_MAX || e->payload_size != 0 ||
        c->at != c->end)
        return FAIL(p, "no right description of bytes that stand in the index");
    e->cut = true;
    return status;
}
