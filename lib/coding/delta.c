/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/delta.h"
#include "coding/linear.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <xxhash.h>

enum {
    FORM = 1,
    TILE_LOG2_LEAST = 12,
    TILE_LOG2_MOST = 16,
    TILE_BYTES_LEAST = 5,
    RESULT_BYTES = 4
};

static wcodec_status bad(wcodec_error *err, const char *what)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a delta: %s", what);
}

uint32_t wcodec_delta_check(const void *bytes, uint64_t size)
{
    return (uint32_t)XXH3_64bits(bytes, (size_t)size);
}

uint32_t wcodec_delta_result(uint64_t sum, uint64_t size)
{
    return (uint32_t)wcodec_linear_hash(sum, size);
}

uint32_t wcodec_delta_result_of(const uint8_t *elements, uint64_t size, uint64_t at)
{
    return wcodec_delta_result(wcodec_linear_sum(elements, size, at), size);
}

unsigned wcodec_delta_mode_count(const struct wcodec_delta *d)
{
    unsigned modes = 0;
    for (unsigned m = 0; m < WCODEC_DELTA_MODES; m++)
        modes += d->counts[m] != 0;
    return modes;
}

/* Low half, then high half; in memory the most significant byte is the first. */
static void swap_hash(const uint8_t *from, uint8_t *to)
{
    for (unsigned i = 0; i < 16; i++)
        to[i] = from[15 - i];
}

static wcodec_status check_head(struct wcodec_delta *d, wcodec_error *err)
{
    const uint64_t tile = (uint64_t)1 << d->tile_log2;
    uint64_t sum = 0;
    for (unsigned m = 0; m < WCODEC_DELTA_MODES; m++)
        if (!wcodec_add_u64(sum, d->counts[m], &sum) || sum > d->elements)
            return bad(err, "modes of more elements than it has");
    if (sum != d->elements)
        return bad(err, "modes of fewer elements than it has");
    const bool sparse = d->counts[WCODEC_DELTA_SPARSE] != 0;
    if (!sparse && (d->streams_size != 0 || d->xor_values))
        return bad(err, "streams, but no sparse tile");
    if (d->tiles > d->side_size / RESULT_BYTES)
        return bad(err, "its side is too short for its tiles");
    if (sparse && d->counts[WCODEC_DELTA_SPARSE] / tile > d->side_size / TILE_BYTES_LEAST)
        return bad(err, "its side is too short for its sparse tiles");
    return WCODEC_OK;
}

wcodec_status wcodec_delta_read(struct wcodec_cursor *c, uint64_t size, struct wcodec_delta *delta,
                                bool *newer, wcodec_error *err)
{
    struct wcodec_delta d = {.size = size};
    const uint8_t *bytes;
    uint8_t form, values;
    if (!wcodec_take_u8(c, &form))
        return bad(err, "its record is cut short");
    *newer = form != FORM;
    if (*newer)
        return WCODEC_OK;
    if (!wcodec_take_bytes(c, 16, &bytes) || !wcodec_take_varint(c, &d.base_size) ||
        !wcodec_take_u8(c, &d.element_log2) || !wcodec_take_u8(c, &d.tile_log2) ||
        !wcodec_take_u8(c, &values))
        return bad(err, "its record is cut short");
    swap_hash(bytes, d.base);
    if (d.element_log2 > 3 || size % ((uint64_t)1 << d.element_log2) != 0)
        return bad(err, "elements that do not fit its size");
    if (d.tile_log2 < TILE_LOG2_LEAST || d.tile_log2 > TILE_LOG2_MOST || values > 1)
        return bad(err, "size of tiles, or kind of values");
    d.xor_values = values != 0;
    d.elements = size >> d.element_log2;
    d.tiles = wcodec_div_up_u64(d.elements, (uint64_t)1 << d.tile_log2);
    for (unsigned m = 0; m < WCODEC_DELTA_MODES; m++)
        if (!wcodec_take_varint(c, &d.counts[m]))
            return bad(err, "its record is cut short");
    if (!wcodec_take_varint(c, &d.side_size) || !wcodec_take_bytes(c, 4, &bytes) ||
        !wcodec_take_varint(c, &d.streams_size))
        return bad(err, "its record is cut short");
    if (d.side_size >> 48 != 0 || d.streams_size >> 48 != 0)
        return bad(err, "sizes out of range");
    d.check = wcodec_load_u32(bytes);
    wcodec_status status = check_head(&d, err);
    if (status == WCODEC_OK)
        *delta = d;
    return status;
}

bool wcodec_delta_base_of(const uint8_t *parameters, size_t size, uint8_t hash[16])
{
    if (size < 17)
        return false;
    swap_hash(parameters + 1, hash);
    return true;
}

void wcodec_delta_set_base(uint8_t *parameters, const uint8_t hash[16])
{
    swap_hash(hash, parameters + 1);
}

size_t wcodec_delta_write(const struct wcodec_delta *d, uint8_t *to)
{
    uint8_t *at = to;
    *at++ = FORM;
    swap_hash(d->base, at);
    at += 16;
    at += wcodec_put_varint(at, d->base_size);
    *at++ = d->element_log2;
    *at++ = d->tile_log2;
    *at++ = d->xor_values;
    for (unsigned m = 0; m < WCODEC_DELTA_MODES; m++)
        at += wcodec_put_varint(at, d->counts[m]);
    at += wcodec_put_varint(at, d->side_size);
    wcodec_store_u32(at, d->check);
    at += 4;
    at += wcodec_put_varint(at, d->streams_size);
    return (size_t)(at - to);
}

/* Words are given in the order of lengths, then of classes; each is written from its top bit on. */
bool wcodec_delta_code_make(struct wcodec_delta_code *code)
{
    unsigned held = 0, last = 0, next = 0, used = 0;
    code->longest = 0;
    for (unsigned i = 0; i < code->count; i++) {
        if (code->lengths[i] > WCODEC_DELTA_CODE_BITS)
            return false;
        held += code->lengths[i] != 0;
        last = code->lengths[i] != 0 ? i : last;
        code->longest = code->lengths[i] > code->longest ? code->lengths[i] : code->longest;
    }
    code->single = held == 1;
    if (held <= 1) {
        code->table[0] = (uint16_t)(last << 4);
        code->words[last] = 0;
        return held == 0 || code->lengths[last] == 1;
    }
    for (unsigned length = 1; length <= code->longest; length++, next <<= 1) {
        for (unsigned i = 0; i < code->count; i++) {
            unsigned word = 0;
            if (code->lengths[i] != length)
                continue;
            used += 1u << (code->longest - length);
            if (used > 1u << code->longest)
                return false;
            for (unsigned b = 0; b < length; b++)
                word |= (next >> b & 1) << (length - 1 - b);
            next++;
            code->words[i] = (uint16_t)word;
            for (unsigned k = word; k < 1u << code->longest; k += 1u << length)
                code->table[k] = (uint16_t)(i << 4 | length);
        }
    }
    return used == 1u << code->longest;
}

unsigned wcodec_delta_class(uint64_t number, unsigned direct)
{
    if (number <= direct)
        return (unsigned)number - 1;
    const unsigned bits = wcodec_delta_bits(number);
    return direct + 2 * (bits - wcodec_delta_bits(direct + 1)) +
           (unsigned)(number >> (bits - 2) & 1);
}

/* Bits of a stream, the lowest of a byte first; zeros after its end. */
struct bits {
    const uint8_t *at, *end;
    uint64_t buffer;
    unsigned filled;
    uint64_t taken;
};

/* At least 33 bits are at hand then. Those that are read by eight bytes at once may be there
 * again when they are read the next time. */
static inline void fill(struct bits *b)
{
    if (b->filled > 32)
        return;
    if (b->end - b->at >= 8) {
        b->buffer |= wcodec_load_u64(b->at) << b->filled;
        b->at += (63 - b->filled) / 8;
        b->filled |= 56;
        return;
    }
    while (b->filled <= 56) {
        b->buffer |= (uint64_t)(b->at < b->end ? *b->at : 0) << b->filled;
        b->at += b->at < b->end;
        b->filled += 8;
    }
}

/* At most 32. */
static uint32_t take(struct bits *b, unsigned count)
{
    fill(b);
    const uint32_t v = (uint32_t)(b->buffer & (((uint64_t)1 << count) - 1));
    b->buffer >>= count;
    b->filled -= count;
    b->taken += count;
    return v;
}

static uint64_t take_long(struct bits *b, unsigned count)
{
    const unsigned low = count < 32 ? count : 32;
    const uint64_t v = take(b, low);
    return count > 32 ? v | (uint64_t)take(b, count - 32) << 32 : v;
}

/* A number from 1 on: its class, and what is below. */
static uint64_t take_number(struct bits *b, const struct wcodec_delta_code *code, unsigned direct)
{
    fill(b);
    const uint16_t found = code->table[code->single ? 0 : b->buffer & ((1u << code->longest) - 1)];
    const unsigned class = found >> 4, length = found & 15;
    b->buffer >>= length;
    b->filled -= length;
    b->taken += length;
    if (class < direct)
        return class + 1;
    const unsigned below = (class - direct) / 2 + wcodec_delta_bits(direct + 1) - 2;
    return (uint64_t)(2 + ((class - direct) & 1)) << below | take_long(b, below);
}

/* Numbers of a sparse tile. */
struct numbers {
    const struct wcodec_delta_side *side;
    struct bits bits;
    uint64_t at, count, size;
};

/* The next element that differs, number *at of the tile, and its value. *valid: false, the stream
 * is none. Returns false at the end. */
static inline bool take_change(struct numbers *n, uint64_t *at, uint64_t *value, bool *valid)
{
    *valid = true;
    if (n->at >= n->count)
        return false;
    const uint64_t gap = take_number(&n->bits, &n->side->gaps, WCODEC_DELTA_GAP_DIRECT) - 1;
    *valid = gap <= n->count - n->at && n->bits.taken <= 8 * n->size;
    if (!*valid)
        return false;
    n->at += gap;
    if (n->at == n->count)
        return false;
    *value = take_number(&n->bits, &n->side->values, WCODEC_DELTA_VALUE_DIRECT);
    *valid = *value <= wcodec_delta_mask(n->side->delta->element_log2);
    *at = n->at++;
    return *valid;
}

/* Does the stream end where it has to, with zeros? */
static bool is_over(const struct bits *b, const uint8_t *stream, uint64_t size)
{
    return (b->taken + 7) / 8 == size &&
           (b->taken % 8 == 0 || stream[size - 1] >> b->taken % 8 == 0);
}

static uint64_t changed(const struct wcodec_delta_side *side, uint64_t base, uint64_t value)
{
    return side->delta->xor_values ? base ^ value : base + wcodec_unzigzag(value);
}

bool wcodec_delta_patch(const struct wcodec_delta_side *side, const uint8_t *stream, uint64_t size,
                        uint64_t count, uint8_t *elements)
{
    const unsigned log2 = side->delta->element_log2;
    struct numbers n = {
        .side = side, .bits = {.at = stream, .end = stream + size}, .count = count, .size = size};
    uint64_t at = 0, value = 0;
    bool valid;
    while (take_change(&n, &at, &value, &valid))
        wcodec_delta_store(elements, at, log2,
                           changed(side, wcodec_delta_load(elements, at, log2), value));
    return valid && is_over(&n.bits, stream, size);
}

void wcodec_delta_combine(unsigned mode, unsigned element_log2, const uint8_t *coded,
                          uint64_t count, uint8_t *elements)
{
    const bool is_xor = mode == WCODEC_DELTA_XOR;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t v = wcodec_delta_load(coded, i, element_log2),
                       base = wcodec_delta_load(elements, i, element_log2);
        wcodec_delta_store(elements, i, element_log2,
                           is_xor ? base ^ v : base + wcodec_unzigzag(v));
    }
}

void wcodec_delta_separate(unsigned mode, unsigned element_log2, const uint8_t *elements,
                           const uint8_t *base, uint64_t count, uint8_t *coded)
{
    const uint64_t mask = wcodec_delta_mask(element_log2);
    if (mode == WCODEC_DELTA_ALONE) {
        memcpy(coded, elements, (size_t)(count << element_log2));
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t e = wcodec_delta_load(elements, i, element_log2),
                       b = wcodec_delta_load(base, i, element_log2);
        wcodec_delta_store(coded, i, element_log2,
                           mode == WCODEC_DELTA_XOR ? e ^ b
                                                    : wcodec_zigzag((e - b) & mask, element_log2));
    }
}

uint64_t wcodec_delta_side_memory(const struct wcodec_delta *d)
{
    return sizeof(struct wcodec_delta_side) + d->tiles * sizeof(struct wcodec_delta_tile);
}

void wcodec_delta_side_free(struct wcodec_delta_side *side)
{
    if (side == NULL)
        return;
    wcodec_free(side->allocator, side->tiles);
    wcodec_free(side->allocator, side);
}

static unsigned only_mode(const struct wcodec_delta *d)
{
    unsigned m = 0;
    while (m + 1 < WCODEC_DELTA_MODES && d->counts[m] == 0)
        m++;
    return m;
}

static wcodec_status read_modes(struct wcodec_cursor *c, struct wcodec_delta_side *side,
                                wcodec_error *err)
{
    const struct wcodec_delta *d = side->delta;
    struct bits b = {.at = c->at, .end = c->end};
    const uint64_t room = 8 * (uint64_t)wcodec_cursor_left(c);
    for (uint64_t i = 0; i < d->tiles; i++) {
        fill(&b);
        const unsigned more = wcodec_delta_take_mode(b.buffer, &side->tiles[i].mode);
        b.buffer >>= more;
        b.filled -= more;
        b.taken += more;
        if (b.taken > room)
            return bad(err, "its side ends too early");
    }
    if (b.taken % 8 != 0 && take(&b, 8 - b.taken % 8) != 0)
        return bad(err, "bits after its modes");
    c->at += b.taken / 8;
    return WCODEC_OK;
}

static bool read_code(struct wcodec_cursor *c, unsigned most, struct wcodec_delta_code *code)
{
    const uint8_t *bytes;
    uint8_t count;
    if (!wcodec_take_u8(c, &count) || count < 1 || count > most ||
        !wcodec_take_bytes(c, (count + 1u) / 2, &bytes))
        return false;
    code->count = count;
    for (unsigned i = 0; i < count; i++)
        code->lengths[i] = bytes[i / 2] >> 4 * (i % 2) & 15;
    if (code->lengths[count - 1] == 0)
        return false;
    return (count % 2 == 0 || bytes[count / 2] >> 4 == 0) && wcodec_delta_code_make(code);
}

bool wcodec_delta_codes_read(struct wcodec_cursor *c, struct wcodec_delta_code *gaps,
                             struct wcodec_delta_code *values)
{
    return read_code(c, WCODEC_DELTA_GAPS, gaps) && read_code(c, WCODEC_DELTA_VALUES, values);
}

/* Sizes of streams; places of all tiles. */
static wcodec_status read_directory(struct wcodec_cursor *c, struct wcodec_delta_side *side,
                                    wcodec_error *err)
{
    const struct wcodec_delta *d = side->delta;
    uint64_t place[WCODEC_DELTA_MODES] = {0}, streams = 0;
    struct wcodec_cursor at = *c; /* in registers */
    for (uint64_t i = 0; i < d->tiles; i++) {
        struct wcodec_delta_tile *t = &side->tiles[i];
        uint64_t size;
        uint32_t check;
        t->place = place[t->mode];
        place[t->mode] += wcodec_delta_tile_elements(d, i);
        if (t->mode != WCODEC_DELTA_SPARSE)
            continue;
        if (!wcodec_delta_take_tile(&at, &size, &check))
            return bad(err, "its side ends too early");
        if (size > UINT32_MAX || size > d->streams_size - streams)
            return bad(err, "streams of more bytes than it has");
        t->place = streams;
        t->size = (uint32_t)size;
        t->check = check;
        streams += size;
    }
    *c = at;
    if (streams != d->streams_size)
        return bad(err, "its streams are longer than its tiles");
    for (unsigned m = 0; m < WCODEC_DELTA_MODES; m++)
        if (place[m] != d->counts[m])
            return bad(err, "modes of other tiles than its record says");
    return WCODEC_OK;
}

/* Checks of elements: what the side ends with. */
static wcodec_status read_results(struct wcodec_cursor *c, struct wcodec_delta_side *side,
                                  wcodec_error *err)
{
    const struct wcodec_delta *d = side->delta;
    const uint8_t *results = c->at;
    if (!wcodec_take_bytes(c, RESULT_BYTES * d->tiles, &results))
        return bad(err, "its side ends too early");
    for (uint64_t i = 0; i < d->tiles; i++)
        side->tiles[i].result = wcodec_load_u32(results + RESULT_BYTES * i);
    return c->at == c->end ? WCODEC_OK : bad(err, "its side is longer than its tiles");
}

wcodec_status wcodec_delta_side_read(const struct wcodec_delta *d, const uint8_t *bytes,
                                     const wcodec_allocator *allocator,
                                     struct wcodec_delta_side **side, wcodec_error *err)
{
    struct wcodec_cursor c = {bytes, bytes + d->side_size};
    struct wcodec_delta_side *s = wcodec_alloc_zeroed(allocator, sizeof *s);
    wcodec_status status = WCODEC_OK;
    if (s == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    s->allocator = allocator;
    s->delta = d;
    s->tiles = wcodec_alloc_array(allocator, d->tiles, sizeof *s->tiles);
    if (s->tiles == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta's tiles");
    else if (wcodec_delta_check(bytes, d->side_size) != d->check)
        status = bad(err, "the check of its side differs");
    const uint8_t mode = (uint8_t)only_mode(d);
    for (uint64_t i = 0; i < d->tiles && status == WCODEC_OK; i++)
        s->tiles[i].mode = mode;
    if (status == WCODEC_OK && wcodec_delta_mode_count(d) > 1)
        status = read_modes(&c, s, err);
    if (status == WCODEC_OK && d->counts[WCODEC_DELTA_SPARSE] != 0 &&
        !wcodec_delta_codes_read(&c, &s->gaps, &s->values))
        status = bad(err, "its codes are none");
    if (status == WCODEC_OK)
        status = read_directory(&c, s, err);
    if (status == WCODEC_OK)
        status = read_results(&c, s, err);
    if (status == WCODEC_OK)
        *side = s;
    else
        wcodec_delta_side_free(s);
    return status;
}

struct wcodec_delta_tile wcodec_delta_tile_at(const struct wcodec_delta_side *side, uint64_t tile)
{
    return side->tiles[tile];
}
