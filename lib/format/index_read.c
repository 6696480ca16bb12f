/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reading the index (doc/format.md 1.3). Whatever bytes come in, the result is consistent or there
 * is none: the rest of the library trusts it. */

#include "format/index.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>
#include <zstd.h>

#define SIZE_LIMIT ((uint64_t)1 << 48) /* of a tensor in bytes, and of a dimension */

enum {
    RECORD_MIN = 14,  /* length, type, size (or name, dtype and rank), order0, coding, payload size,
                         8 of payload hash */
    METADATA_MIN = 2, /* two empty strings */
    SPLITS_KEPT = 16, /* tensors of a model share a few splits: their texts are kept once */
    SPLIT_MAX = WCODEC_MAX_FIELDS * 4
};

struct parser {
    const wcodec_allocator *allocator;
    const wcodec_limits *limits;
    wcodec_error *err;
    struct wcodec_index *index;
    struct wcodec_cursor cursor;
    uint64_t held; /* bytes of memory */
    uint64_t payload_end;
    const char *splits[SPLITS_KEPT];
    unsigned next_split;
};

#define FAIL(p, ...) wcodec_fail((p)->err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

static wcodec_status cut_short(struct parser *p, const char *what)
{
    return FAIL(p, "%s: cut short, or no valid number", what);
}

/* Count `bytes` more against the caller's limit. */
static wcodec_status hold(struct parser *p, uint64_t bytes)
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
static wcodec_status take_memory(struct parser *p, uint64_t count, size_t size, void **memory)
{
    uint64_t bytes;
    if (!wcodec_mul_u64(count, size, &bytes))
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY,
                           "out of memory for %" PRIu64 " records of the index", count);
    wcodec_status status = hold(p, bytes);
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
static wcodec_status arena_take(struct parser *p, size_t size, void **memory)
{
    wcodec_status status = hold(p, wcodec_align_u64(size, 8));
    if (status != WCODEC_OK)
        return status;
    void *got = wcodec_arena_alloc(&p->index->arena, size);
    if (got == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for the index");
    *memory = got;
    return WCODEC_OK;
}

static wcodec_status take_string(struct parser *p, struct wcodec_cursor *c, const char *what,
                                 const char **text)
{
    uint64_t size;
    const uint8_t *bytes;
    if (!wcodec_take_varint(c, &size) || !wcodec_take_bytes(c, size, &bytes))
        return cut_short(p, what);
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
static wcodec_status take_names(struct parser *p, uint64_t count, const char *what,
                                struct wcodec_names *names)
{
    wcodec_status status = hold(p, wcodec_names_memory(count));
    if (status == WCODEC_OK && !wcodec_names_init(names, p->allocator, count))
        status = wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " %s", count,
                             what);
    return status;
}

static wcodec_status read_metadata(struct parser *p)
{
    struct wcodec_index *index = p->index;
    uint64_t count;
    if (!wcodec_take_varint(&p->cursor, &count))
        return cut_short(p, "number of metadata pairs");
    if (count > wcodec_cursor_left(&p->cursor) / METADATA_MIN)
        return FAIL(p,
                    "%" PRIu64
                    " metadata pairs do not fit into the %zu bytes that are left of the index",
                    count, wcodec_cursor_left(&p->cursor));
    if (count > p->limits->max_tensors)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " metadata pairs, the limit is %" PRIu64, count,
                           p->limits->max_tensors);
    if (count == 0)
        return WCODEC_OK;
    void *memory;
    wcodec_status status = take_memory(p, count, 2 * sizeof(*index->metadata), &memory);
    if (status != WCODEC_OK)
        return status;
    index->metadata = memory;
    struct wcodec_names keys;
    status = take_names(p, count, "metadata pairs", &keys);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        uint64_t number = i;
        status = take_string(p, &p->cursor, "metadata key", &index->metadata[2 * i]);
        if (status == WCODEC_OK)
            status = take_string(p, &p->cursor, "metadata value", &index->metadata[2 * i + 1]);
        if (status == WCODEC_OK && !wcodec_names_add(&keys, index->metadata[2 * i], &number))
            status = FAIL(p, "metadata key '%s' is there twice", index->metadata[2 * i]);
    }
    wcodec_names_free(&keys);
    p->held -= wcodec_names_memory(count);
    index->metadata_count = count;
    return status;
}

/* What stands before the entries. */
static wcodec_status read_preamble(struct parser *p)
{
    struct wcodec_index *index = p->index;
    struct wcodec_cursor *c = &p->cursor;
    uint8_t kind;
    if (!wcodec_take_u8(c, &kind))
        return cut_short(p, "kind of the original");
    if (kind > 1)
        return wcodec_fail(p->err, WCODEC_ERROR_NEWER,
                           "made by a newer version: original of kind %u", kind);
    index->safetensors = kind == 1;
    const char *name;
    wcodec_status status = take_string(p, c, "name of the original", &name);
    if (status != WCODEC_OK)
        return status;
    index->name = name;
    const uint8_t *hash;
    uint64_t mode, mtime;
    if (!wcodec_take_varint(c, &index->size) || !wcodec_take_bytes(c, 16, &hash) ||
        !wcodec_take_varint(c, &mode) || !wcodec_take_varint(c, &mtime))
        return cut_short(p, "size, hash, mode and time of the original");
    if (mode > 07777)
        return FAIL(p, "mode 0%" PRIo64 " is more than permission bits", mode);
    if (mtime > (uint64_t)INT64_MAX + 1)
        return FAIL(p, "modification time %" PRIu64 " is out of range", mtime);
    for (unsigned i = 0; i < 16; i++)
        index->hash[i] = hash[15 - i];
    index->mode = (uint32_t)mode;
    index->mtime = mtime == 0 ? -1 : (int64_t)(mtime - 1);
    return read_metadata(p);
}

/* Name, dtype and shape of a tensor. */
static wcodec_status read_label(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    wcodec_status status = take_string(p, c, "name of a tensor", &e->name);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_take_u8(c, &e->dtype))
        return cut_short(p, "dtype");
    if (e->dtype == WCODEC_DTYPE_OTHER) {
        status = take_string(p, c, "dtype name", &e->dtype_name);
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
        return cut_short(p, "rank");
    if (rank > 255)
        return FAIL(p, "rank %" PRIu64 ", at most 255 is allowed", rank);
    if (rank > wcodec_cursor_left(c))
        return cut_short(p, "shape");
    void *memory;
    status = arena_take(p, (size_t)rank * sizeof(uint64_t), &memory);
    if (status != WCODEC_OK)
        return status;
    uint64_t *shape = memory;
    for (uint64_t i = 0; i < rank; i++) {
        if (!wcodec_take_varint(c, &shape[i]))
            return cut_short(p, "shape");
        if (shape[i] >= SIZE_LIMIT)
            return FAIL(p, "dimension %" PRIu64 " is %" PRIu64 ", it must be below 2^48", i,
                        shape[i]);
    }
    e->rank = (unsigned)rank;
    e->shape = shape;
    return WCODEC_OK;
}

/* What shape and dtype say, or a number where they do not. */
static wcodec_status read_size(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    if (wcodec_entry_implies_size(e)) {
        if (!wcodec_dtype_size((wcodec_dtype)e->dtype, e->shape, e->rank, &e->size))
            return FAIL(p,
                        "its shape makes more than 2^48 bytes of %s, or no whole number of bytes",
                        e->dtype_name);
        return WCODEC_OK;
    }
    if (!wcodec_take_varint(c, &e->size))
        return cut_short(p, "size");
    if (e->size > SIZE_LIMIT)
        return FAIL(p, "size %" PRIu64 ", at most 2^48 bytes are allowed", e->size);
    return WCODEC_OK;
}

static wcodec_status read_constant(struct parser *p, struct wcodec_cursor *c,
                                   struct wcodec_entry *e)
{
    const uint8_t *element;
    uint8_t w;
    if (!wcodec_take_u8(c, &w))
        return cut_short(p, "element size of a constant");
    if (w > 3)
        return FAIL(p, "constant element of 2^%u bytes, at most 2^3 are allowed", w);
    if (!wcodec_take_bytes(c, (uint64_t)1 << w, &element))
        return cut_short(p, "constant element");
    if (e->size % ((uint64_t)1 << w) != 0)
        return FAIL(p, "%" PRIu64 " bytes are no whole number of constant elements of 2^%u bytes",
                    e->size, w);
    if (e->size == 0 && (w != 0 || element[0] != 0))
        return FAIL(p, "an empty entry must have the constant byte 0");
    e->u.constant.element_log2 = w;
    memcpy(e->u.constant.element, element, (size_t)1 << w);
    return WCODEC_OK;
}

/* "r7+c8+r1": kind and width of each field. */
static wcodec_status make_split(struct parser *p, const struct wcodec_tiling *tiling,
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
    for (unsigned i = 0; i < SPLITS_KEPT; i++)
        if (p->splits[i] != NULL && strcmp(p->splits[i], text) == 0) {
            *split = p->splits[i];
            return WCODEC_OK;
        }
    void *copy;
    wcodec_status status = arena_take(p, size + 1, &copy);
    if (status != WCODEC_OK)
        return status;
    memcpy(copy, text, size + 1);
    *split = p->splits[p->next_split++ % SPLITS_KEPT] = copy;
    return WCODEC_OK;
}

/* Keep the parameters from `begin` up to the cursor. */
static wcodec_status copy_parameters(struct parser *p, const struct wcodec_cursor *c,
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
static wcodec_status keep_parameters(struct parser *p, const struct wcodec_cursor *c,
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

static wcodec_status read_tiles(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    struct wcodec_tiling tiling;
    const uint8_t *begin = c->at;
    wcodec_status status = wcodec_tiling_read(c, e->size, &tiling, p->err);
    return status == WCODEC_OK ? keep_parameters(p, c, begin, &tiling, e->payload_size, e) : status;
}

static wcodec_status read_blocks(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
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

static wcodec_status read_fragments(struct parser *p, struct wcodec_cursor *c,
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

static wcodec_status read_lossy(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
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

static wcodec_status read_fixed(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
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

static wcodec_status read_chunks(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    if (!wcodec_take_varint(c, &e->u.chunk))
        return cut_short(p, "chunk size");
    if (e->u.chunk < 1 || e->u.chunk > (uint64_t)1 << 24)
        return FAIL(p, "chunks of %" PRIu64 " bytes, allowed are 1 to 2^24", e->u.chunk);
    uint64_t directory = wcodec_align_u64(8 * wcodec_div_up_u64(e->size, e->u.chunk), 16);
    if (e->payload_size < directory || e->payload_size - directory > e->size)
        return FAIL(
            p, "payload of %" PRIu64 " bytes cannot hold %" PRIu64 " bytes in chunks of %" PRIu64,
            e->payload_size, e->size, e->u.chunk);
    return WCODEC_OK;
}

static wcodec_status read_alias(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    if (!wcodec_take_varint(c, &e->u.alias))
        return cut_short(p, "number of the entry that an alias names");
    if (e->u.alias >= (uint64_t)(e - p->index->entries))
        return FAIL(p, "an alias of entry %" PRIu64 ", which is no earlier one", e->u.alias);
    const struct wcodec_entry *original = &p->index->entries[e->u.alias];
    if (original->coding == WCODEC_CODING_ALIAS)
        return FAIL(p, "an alias of entry %" PRIu64 ", which is an alias itself", e->u.alias);
    if (original->size != e->size)
        return FAIL(p, "an alias of %" PRIu64 " bytes of entry %" PRIu64 ", which has %" PRIu64,
                    e->size, e->u.alias, original->size);
    return WCODEC_OK;
}

static wcodec_status read_parameters(struct parser *p, struct wcodec_cursor *c,
                                     struct wcodec_entry *e)
{
    if (e->size == 0 && e->coding != WCODEC_CODING_CONSTANT)
        return FAIL(p, "an empty entry must be a constant, this one has coding %u", e->coding);
    bool has_payload = wcodec_entry_has_tiles(e) || e->coding == WCODEC_CODING_CHUNKS ||
                       e->coding == WCODEC_CODING_FIXED;
    if (!has_payload && e->payload_size != 0)
        return FAIL(p, "a constant or an alias with a payload of %" PRIu64 " bytes",
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
        status = read_chunks(p, c, e);
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
    default:
        status = read_alias(p, c, e);
        break;
    }
    if (status == WCODEC_OK && c->at != c->end)
        return FAIL(p, "%zu bytes are left over at the end of its record", wcodec_cursor_left(c));
    return status;
}

static wcodec_status read_record(struct parser *p, struct wcodec_cursor *c, struct wcodec_entry *e)
{
    uint8_t type;
    const uint8_t *hash;
    if (!wcodec_take_u8(c, &type))
        return cut_short(p, "type");
    if (type > 1)
        return wcodec_fail(p->err, WCODEC_ERROR_NEWER, "made by a newer version: entry of type %u",
                           type);
    e->is_tensor = type == 1;
    wcodec_status status = e->is_tensor ? read_label(p, c, e) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    status = read_size(p, c, e);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_take_varint(c, &e->order0_bits) || !wcodec_take_u8(c, &e->coding) ||
        !wcodec_take_varint(c, &e->payload_size) || !wcodec_take_bytes(c, 8, &hash))
        return cut_short(p, "order0, coding, payload size and hash");
    e->payload_hash = wcodec_load_u64(hash);
    if (e->payload_size == 0 && e->payload_hash != 0)
        return FAIL(p, "a payload hash without a payload");
    if (e->coding > WCODEC_CODING_FRAGMENTS)
        e->newer = true;
    return e->newer ? WCODEC_OK : read_parameters(p, c, e);
}

/* Where the payload lies follows from the payloads before; it must end before the index. */
static wcodec_status place_payload(struct parser *p, struct wcodec_entry *e)
{
    if (e->payload_size == 0)
        return WCODEC_OK;
    uint64_t begin = wcodec_align_u64(p->payload_end, wcodec_payload_alignment(e->payload_size));
    if (begin > p->index->index_offset || e->payload_size > p->index->index_offset - begin)
        return FAIL(p,
                    "payload of %" PRIu64 " bytes at byte %" PRIu64
                    " reaches into the index at byte %" PRIu64,
                    e->payload_size, begin, p->index->index_offset);
    e->payload_offset = begin;
    p->payload_end = begin + e->payload_size;
    return WCODEC_OK;
}

static wcodec_status read_entry(struct parser *p, uint64_t number, uint64_t *file_offset)
{
    struct wcodec_index *index = p->index;
    struct wcodec_entry *e = &index->entries[number];
    memset(e, 0, sizeof(*e));
    uint64_t length;
    const uint8_t *record;
    if (!wcodec_take_varint(&p->cursor, &length) || !wcodec_take_bytes(&p->cursor, length, &record))
        return cut_short(p, "record");
    struct wcodec_cursor c = {record, record + length};
    wcodec_status status = read_record(p, &c, e);
    if (status == WCODEC_OK)
        status = place_payload(p, e);
    if (status != WCODEC_OK)
        return status;
    e->file_offset = *file_offset;
    if (!wcodec_add_u64(*file_offset, e->size, file_offset) || *file_offset > index->size)
        return FAIL(p, "it reaches past the end of the original (%" PRIu64 " bytes)", index->size);
    if (e->is_tensor) {
        uint64_t other = index->tensor_count;
        if (index->tensor_count == p->limits->max_tensors)
            return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                               "more tensors than the limit of %" PRIu64, p->limits->max_tensors);
        if (!wcodec_names_add(&index->names, e->name, &other))
            return FAIL(p, "there are two tensors of that name");
        index->tensors[index->tensor_count++] = number;
        index->lossy_count += wcodec_entry_is_lossy(index, e);
    }
    return WCODEC_OK;
}

static wcodec_status take_entry_memory(struct parser *p, uint64_t count)
{
    struct wcodec_index *index = p->index;
    void *memory;
    wcodec_status status = take_memory(p, count, sizeof(*index->entries), &memory);
    if (status != WCODEC_OK)
        return status;
    index->entries = memory;
    status = take_memory(p, count, sizeof(*index->tensors), &memory);
    if (status != WCODEC_OK)
        return status;
    index->tensors = memory;
    return take_names(p, count, "entries", &index->names);
}

static wcodec_status read_entries(struct parser *p)
{
    struct wcodec_index *index = p->index;
    uint64_t count, file_offset = 0;
    if (!wcodec_take_varint(&p->cursor, &count))
        return cut_short(p, "number of entries");
    if (count > wcodec_cursor_left(&p->cursor) / RECORD_MIN)
        return FAIL(p,
                    "%" PRIu64 " entries do not fit into the %zu bytes that are left of the index",
                    count, wcodec_cursor_left(&p->cursor));
    /* A safetensors file has one blob beside its tensors. */
    if (count > p->limits->max_tensors && count - 1 > p->limits->max_tensors)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " entries, the limit is %" PRIu64 " tensors", count,
                           p->limits->max_tensors);
    wcodec_status status = take_entry_memory(p, count);
    if (status != WCODEC_OK)
        return status;
    p->payload_end = WCODEC_HEAD_SIZE;
    for (; index->entry_count < count; index->entry_count++) {
        status = read_entry(p, index->entry_count, &file_offset);
        if (status != WCODEC_OK) {
            const struct wcodec_entry *e = &index->entries[index->entry_count];
            if (e->name != NULL)
                wcodec_error_prefix(p->err, "tensor '%s'", e->name);
            wcodec_error_prefix(p->err, "index entry %" PRIu64, index->entry_count);
            return status;
        }
    }
    if (p->cursor.at != p->cursor.end)
        return FAIL(p, "%zu bytes are left over at the end of the index",
                    wcodec_cursor_left(&p->cursor));
    if (file_offset != index->size)
        return FAIL(p, "the entries make %" PRIu64 " bytes, the original has %" PRIu64, file_offset,
                    index->size);
    if (wcodec_align_u64(p->payload_end, 16) != index->index_offset)
        return FAIL(p, "the payloads end at byte %" PRIu64 ", the index begins at byte %" PRIu64,
                    p->payload_end, index->index_offset);
    return WCODEC_OK;
}

/* One zstd frame of exactly the declared size. */
static wcodec_status decompress(struct parser *p, const uint8_t *coded, size_t coded_size,
                                uint8_t *decoded, size_t decoded_size)
{
    if (coded_size < 4 || wcodec_load_u32(coded) != ZSTD_MAGICNUMBER ||
        ZSTD_findFrameCompressedSize(coded, coded_size) != coded_size)
        return FAIL(p, "the index is not one zstd frame");
    unsigned long long content = ZSTD_getFrameContentSize(coded, coded_size);
    if (content == ZSTD_CONTENTSIZE_ERROR ||
        (content != ZSTD_CONTENTSIZE_UNKNOWN && content != decoded_size))
        return FAIL(p, "the index's frame has not the size that the tail says (%zu bytes)",
                    decoded_size);
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (zstd == NULL)
        return wcodec_fail(p->err, WCODEC_ERROR_MEMORY, "out of memory for zstd");
    size_t got = ZSTD_decompressDCtx(zstd, decoded, decoded_size, coded, coded_size);
    ZSTD_freeDCtx(zstd);
    if (ZSTD_isError(got))
        return FAIL(p, "decompressing the index: %s", ZSTD_getErrorName(got));
    if (got != decoded_size)
        return FAIL(p, "the index decodes to %zu bytes, the tail says %zu", got, decoded_size);
    return WCODEC_OK;
}

/* Coded bytes of the index, verified. */
static wcodec_status load_coded(struct parser *p, const struct wcodec_source *source,
                                const struct wcodec_framing *framing, uint8_t **coded)
{
    void *bytes;
    wcodec_status status = take_memory(p, framing->index_size, 1, &bytes);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_source_read(source, framing->index_offset, bytes, (size_t)framing->index_size,
                                p->err);
    if (status == WCODEC_OK &&
        XXH3_64bits(bytes, (size_t)framing->index_size) != framing->index_hash)
        status = FAIL(p, "the index's checksum differs");
    if (status == WCODEC_OK)
        *coded = bytes;
    else
        wcodec_free(p->allocator, bytes);
    return status;
}

static wcodec_status load_decoded(struct parser *p, const struct wcodec_source *source,
                                  const struct wcodec_framing *framing, uint8_t **decoded)
{
    if (framing->index_decoded_size > p->limits->max_index_bytes)
        return wcodec_fail(p->err, WCODEC_ERROR_LIMIT,
                           "index of %" PRIu64 " bytes, the limit is %" PRIu64,
                           framing->index_decoded_size, p->limits->max_index_bytes);
    uint8_t *coded;
    wcodec_status status = load_coded(p, source, framing, &coded);
    if (status != WCODEC_OK)
        return status;
    void *bytes;
    status = take_memory(p, framing->index_decoded_size, 1, &bytes);
    if (status == WCODEC_OK) {
        status = decompress(p, coded, (size_t)framing->index_size, bytes,
                            (size_t)framing->index_decoded_size);
        if (status == WCODEC_OK)
            *decoded = bytes;
        else
            wcodec_free(p->allocator, bytes);
    }
    wcodec_free(p->allocator, coded);
    p->held -= framing->index_size;
    return status;
}

wcodec_status wcodec_index_read(const struct wcodec_source *source,
                                const wcodec_allocator *allocator, const wcodec_limits *limits,
                                struct wcodec_index **index, wcodec_error *err)
{
    struct wcodec_framing framing;
    wcodec_status status = wcodec_framing_read(source, &framing, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_index *made = wcodec_alloc_zeroed(allocator, sizeof(*made));
    if (made == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the index");
    made->allocator = allocator;
    wcodec_arena_init(&made->arena, allocator);
    made->version = framing.version;
    made->index_offset = framing.index_offset;
    made->file_size = source->size;
    struct parser p = {.allocator = allocator, .limits = limits, .err = err, .index = made};
    uint8_t *decoded = NULL;
    status = load_decoded(&p, source, &framing, &decoded);
    if (status == WCODEC_OK) {
        p.cursor = (struct wcodec_cursor){decoded, decoded + framing.index_decoded_size};
        status = read_preamble(&p);
        if (status == WCODEC_OK)
            status = read_entries(&p);
        wcodec_free(allocator, decoded);
    }
    if (status == WCODEC_OK)
        *index = made;
    else
        wcodec_index_free(made);
    return status;
}

void wcodec_index_free(struct wcodec_index *index)
{
    if (index == NULL)
        return;
    wcodec_arena_free(&index->arena);
    wcodec_names_free(&index->names);
    wcodec_free(index->allocator, index->metadata);
    wcodec_free(index->allocator, index->tensors);
    wcodec_free(index->allocator, index->entries);
    wcodec_free(index->allocator, index);
}

void wcodec_entry_tiling(const struct wcodec_entry *entry, struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    (void)wcodec_tiling_read(&c, entry->size, tiling, NULL);
}

void wcodec_entry_blocks(const struct wcodec_entry *entry, struct wcodec_blocks *blocks,
                         struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_blocks_read(&c, entry->size, blocks, tiling, &newer, NULL);
}

void wcodec_entry_lossy(const struct wcodec_entry *entry, struct wcodec_lossy *lossy,
                        struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_lossy_read(&c, entry->size, (wcodec_dtype)entry->dtype, lossy, tiling, &newer,
                            NULL);
}

void wcodec_entry_fixed(const struct wcodec_entry *entry, struct wcodec_fixed *fixed)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_fixed_read(&c, entry->size, (wcodec_dtype)entry->dtype, fixed, &newer, NULL);
}

void wcodec_entry_fragments(const struct wcodec_entry *entry, struct wcodec_fragments *fragments,
                            struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_fragments_read(&c, entry->size, fragments, tiling, &newer, NULL);
}

wcodec_status wcodec_entry_refuse(const struct wcodec_entry *e, wcodec_error *err)
{
    if (e->coding > WCODEC_CODING_FRAGMENTS)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: coding %u",
                           e->coding);
    if (e->dtype >= WCODEC_DTYPE_COUNT)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: dtype %u", e->dtype);
    return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: %s of another form",
                       e->coding == WCODEC_CODING_LOSSY       ? "a lossy tensor"
                       : e->coding == WCODEC_CODING_FIXED     ? "a tensor at a fixed rate"
                       : e->coding == WCODEC_CODING_FRAGMENTS ? "a tensor in fragments"
                                                              : "blocks");
}
