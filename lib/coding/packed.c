/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Both directions are one walk over the payload, so that they cannot differ: each value goes from
 * the packed bits to the payload, or the other way. */
#include "coding/packed.h"

#include "coding/planes.h"
#include "core/error.h"

enum {
    STREAMS_MAX = (WCODEC_PACKED_MOST >> WCODEC_TILE_LOG2_MIN) * WCODEC_MAX_CODED,
    TABLE_SIZE_BITS = 10,
    COUNT_BITS = 17, /* of words and outliers */
    PIECES_MAX = 8
};

struct stream {
    uint32_t words, outliers;
    bool rans;
};

struct walk {
    const struct wcodec_tiling *t;
    bool writes; /* the packed form */
    bool failed; /* it ends too early, or says what no payload can have */
    const uint8_t *from, *from_end;
    uint8_t *to, *to_end;
    uint64_t held; /* bits that are read and not taken, or put and not written */
    unsigned held_bits;
    uint8_t *payload; /* writing: only read */
    size_t payload_size;
    uint64_t area[WCODEC_AREAS]; /* where each begins */
    struct stream streams[STREAMS_MAX];
};

static void refill(struct walk *w)
{
    if (w->from_end - w->from >= 8) {
        w->held |= wcodec_load_u64(w->from) << w->held_bits;
        w->from += (63 - w->held_bits) >> 3;
        w->held_bits |= 56;
        return;
    }
    for (; w->held_bits <= 56 && w->from < w->from_end; w->held_bits += 8)
        w->held |= (uint64_t)*w->from++ << w->held_bits;
}

static void put_bytes(struct walk *w)
{
    for (; w->held_bits >= 8 && !w->failed; w->held_bits -= 8, w->held >>= 8) {
        w->failed = w->to == w->to_end;
        if (!w->failed)
            *w->to++ = (uint8_t)w->held;
    }
}

/* The next `bits` of the packed form, at most 32: `value`, or what is there. */
static uint32_t bits_of(struct walk *w, uint32_t value, unsigned bits)
{
    const uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    if (w->failed)
        return 0;
    if (w->writes) {
        w->held |= (uint64_t)(value & mask) << w->held_bits;
        w->held_bits += bits;
        put_bytes(w);
        return value & mask;
    }
    if (w->held_bits < bits)
        refill(w);
    w->failed = w->held_bits < bits;
    if (w->failed)
        return 0;
    value = (uint32_t)w->held & mask;
    w->held >>= bits;
    w->held_bits -= bits;
    return value;
}

/* To the next whole byte, over zeros. */
static void align_bits(struct walk *w)
{
    if (w->writes) {
        w->held_bits = (w->held_bits + 7) & ~7u;
        put_bytes(w);
        return;
    }
    const unsigned rest = w->held_bits % 8;
    w->failed = w->failed || (w->held & ((1u << rest) - 1)) != 0;
    w->from -= w->held_bits / 8;
    w->held = 0;
    w->held_bits = 0;
}

/* Bytes of the payload as they are. */
static void bytes_of(struct walk *w, uint64_t at, uint64_t size)
{
    const size_t left = w->writes ? (size_t)(w->to_end - w->to) : (size_t)(w->from_end - w->from);
    w->failed = w->failed || size > left;
    if (w->failed || size == 0)
        return;
    if (w->writes) {
        memcpy(w->to, w->payload + at, (size_t)size);
        w->to += size;
    } else {
        memcpy(w->payload + at, w->from, (size_t)size);
        w->from += size;
    }
}

static void byte_of(struct walk *w, uint64_t at, uint32_t value)
{
    if (!w->writes)
        w->payload[at] = (uint8_t)value;
}

static void word_of(struct walk *w, uint64_t at, uint32_t value)
{
    if (!w->writes)
        wcodec_store_u32(w->payload + at, value);
}

/* Is there so much in the payload's prefix? */
static bool has_prefix(struct walk *w, uint64_t at, uint64_t size)
{
    w->failed = w->failed || at > w->t->prefix_size || size > w->t->prefix_size - at;
    return !w->failed;
}

static unsigned bits_needed(uint32_t value)
{
    unsigned bits = 0;
    for (; bits < 32 && value >> bits != 0; bits++)
        ;
    return bits;
}

/* A frequency of 8 bits: how many follow the top one, and these. */
static uint32_t frequency_of(struct walk *w, uint32_t value)
{
    const unsigned below = bits_of(w, bits_needed(value) - 1, 3);
    return (1u << below) | bits_of(w, value, below);
}

/* A table of P8 at byte `at`: returns where it ends. */
static uint64_t table_of_p8(struct walk *w, uint64_t at)
{
    const uint8_t *held = w->payload + at + 1;
    uint32_t least = 255, largest = 0;
    if (!has_prefix(w, at, 1))
        return at;
    const uint32_t count = bits_of(w, w->payload[at], 8) + 1;
    byte_of(w, at++, count - 1);
    if (!has_prefix(w, at, 2 * (uint64_t)count))
        return at;
    for (uint32_t i = 0; i < count && w->writes; i++) {
        least = held[2 * i] < least ? held[2 * i] : least;
        largest = held[2 * i] > largest ? held[2 * i] : largest;
    }
    least = bits_of(w, least, 8);
    const unsigned width = bits_of(w, w->writes ? bits_needed(largest - least) : 0, 4);
    w->failed = w->failed || width > 8;
    for (uint32_t i = 0; i < count && !w->failed; i++, at += 2) {
        const uint32_t symbol = least + bits_of(w, w->payload[at] - least, width);
        w->failed = w->failed || symbol > 255;
        byte_of(w, at, symbol);
        byte_of(w, at + 1, frequency_of(w, w->payload[at + 1]));
    }
    return at;
}

/* A table of 12 bits: its bytes. */
static uint64_t table_of_p12(struct walk *w, const struct wcodec_field *f, uint64_t at)
{
    uint32_t size = 0;
    if (w->writes) {
        struct wcodec_table table;
        struct wcodec_cursor c = {w->payload + at, w->payload + w->t->prefix_size};
        w->failed = wcodec_table_read(&c, f->profile, f->width, false, &table, NULL) != WCODEC_OK;
        size = (uint32_t)(c.at - (w->payload + at));
    }
    size = bits_of(w, size, TABLE_SIZE_BITS);
    if (!has_prefix(w, at, size))
        return at;
    for (uint32_t i = 0; i < size; i++, at++)
        byte_of(w, at, bits_of(w, w->payload[at], 8));
    return at;
}

static struct stream descriptor_of(struct walk *w, const struct wcodec_field *f, uint64_t at)
{
    const uint32_t first = w->writes ? wcodec_load_u32(w->payload + at) : 0,
                   second = w->writes ? wcodec_load_u32(w->payload + at + 4) : 0;
    uint32_t table = 0, symbol = 0;
    struct stream s = {0, 0, false};
    w->failed = w->failed || first >> 24 > WCODEC_STREAM_CONSTANT;
    s.rans = bits_of(w, first >> 24, 1) == WCODEC_STREAM_RANS;
    if (s.rans) {
        s.words = bits_of(w, first & 0xfffff, COUNT_BITS);
        table = f->tables > 1 ? bits_of(w, first >> 20 & 15, 4) : 0;
    } else {
        symbol = bits_of(w, second >> 24, 8);
    }
    if (bits_of(w, (second & 0x1ffff) != 0, 1))
        s.outliers = bits_of(w, second & 0x1ffff, COUNT_BITS);
    word_of(w, at,
            s.words | table << 20 |
                (uint32_t)(s.rans ? WCODEC_STREAM_RANS : WCODEC_STREAM_CONSTANT) << 24);
    word_of(w, at + 4, s.outliers | symbol << 24);
    return s;
}

/* Tables and directory. */
static void walk_prefix(struct walk *w)
{
    const struct wcodec_tiling *t = w->t;
    uint64_t at = 0;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        for (unsigned i = 0; i < f->tables && !w->failed; i++)
            at = f->profile == WCODEC_P8 ? table_of_p8(w, at) : table_of_p12(w, f, at);
    }
    uint64_t check = wcodec_align_u64(at, 16);
    at = check + 4 * t->tiles;
    const uint64_t end = at + 8 * t->tiles * t->coded_count;
    w->failed = w->failed || wcodec_align_u64(end, 16) != t->prefix_size;
    for (uint64_t tile = 0; tile < t->tiles && !w->failed; tile++, check += 4) {
        word_of(w, check, bits_of(w, w->writes ? wcodec_load_u32(w->payload + check) : 0, 32));
        for (unsigned c = 0; c < t->coded_count && !w->failed; c++, at += 8)
            w->streams[tile * t->coded_count + c] = descriptor_of(w, &t->fields[t->coded[c]], at);
    }
}

static unsigned mode_of(const struct walk *w, uint64_t tile)
{
    return w->streams[tile * w->t->coded_count].rans ? WCODEC_STREAM_RANS : WCODEC_STREAM_CONSTANT;
}

/* Where areas begin: they must end where the payload does. */
static void find_areas(struct walk *w)
{
    const struct wcodec_tiling *t = w->t;
    uint64_t states = 0, words = 0, raw = 0, outliers = 0;
    if (w->failed)
        return;
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        raw += wcodec_tile_raw_size(t, wcodec_tile_elements(t, tile), mode_of(w, tile));
        for (unsigned c = 0; c < t->coded_count; c++) {
            const struct stream *s = &w->streams[tile * t->coded_count + c];
            states += s->rans ? 4 * WCODEC_LANES : 0;
            words += 2 * (uint64_t)s->words;
            outliers += s->outliers;
        }
    }
    w->area[WCODEC_AREA_STATES] = t->prefix_size;
    w->area[WCODEC_AREA_WORDS] = wcodec_align_u64(t->prefix_size + states, 16);
    w->area[WCODEC_AREA_RAW] = wcodec_align_u64(w->area[WCODEC_AREA_WORDS] + words, 16);
    w->area[WCODEC_AREA_POSITIONS] = wcodec_align_u64(w->area[WCODEC_AREA_RAW] + raw, 16);
    w->area[WCODEC_AREA_VALUES] = w->area[WCODEC_AREA_POSITIONS] + 2 * outliers;
    w->failed = w->area[WCODEC_AREA_VALUES] + outliers != w->payload_size;
}

/* Start states have 17 to 32 bits: how many follow the top one, and these. */
static void walk_states(struct walk *w)
{
    const uint64_t count = w->t->tiles * w->t->coded_count;
    uint64_t at = w->area[WCODEC_AREA_STATES];
    for (uint64_t i = 0; i < count && !w->failed; i++) {
        for (unsigned lane = 0; w->streams[i].rans && lane < WCODEC_LANES; lane++, at += 4) {
            const uint32_t state = w->writes ? wcodec_load_u32(w->payload + at) : 0;
            const unsigned below = 16 + bits_of(w, bits_needed(state) - 17, 4);
            word_of(w, at, (uint32_t)1 << below | bits_of(w, state, below));
        }
    }
}

/* A plane of a tile: its bytes, and of these the words of its last row if they are not full. */
struct plane_bytes {
    uint64_t whole;
    bool partial;
    unsigned count; /* of pieces: neighbouring bits that a word of the last row has */
    uint8_t shift[PIECES_MAX], width[PIECES_MAX];
};

static uint32_t last_row_bits(const struct wcodec_tiling *t, const struct wcodec_plane *plane,
                              uint32_t slot_words)
{
    const unsigned slot_bits = wcodec_slot_bits(t);
    uint32_t slot = 0, bits = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((i % slot_bits + slot_bits - plane->position % slot_bits) % slot_bits < plane->bits)
            slot |= 1u << i;
    for (uint32_t j = 0; j < slot_words; j++)
        bits |= wcodec_rotl32(slot, j * plane->bits);
    return bits;
}

static void find_plane(const struct wcodec_tiling *t, unsigned p, uint32_t elements,
                       bool has_payload, struct plane_bytes *b)
{
    const struct wcodec_plane *plane = &t->planes[p];
    const unsigned ratio = wcodec_slot_bits(t) / plane->bits;
    const uint32_t groups = (uint32_t)wcodec_div_up_u64(elements, WCODEC_GROUP),
                   rows = wcodec_plane_rows(plane, elements),
                   slot_words = groups * wcodec_slot_bits(t) / 8;
    *b = (struct plane_bytes){.whole = (uint64_t)rows * 4 * WCODEC_LANES};
    if (p == 0 && has_payload) {
        b->whole -= (plane->bits == 4 && groups % 2 ? 4u : 2u) * WCODEC_LANES;
        return;
    }
    b->partial = slot_words % ratio != 0;
    if (!b->partial)
        return;
    b->whole -= 4 * WCODEC_LANES;
    const uint32_t bits = last_row_bits(t, plane, slot_words % ratio);
    for (unsigned i = 0; i < 32;) {
        const uint32_t rest = ~(bits >> i);
        unsigned width = 0;
        for (; i + width < 32 && !(rest >> width & 1); width++)
            ;
        if (width != 0) {
            b->shift[b->count] = (uint8_t)i;
            b->width[b->count++] = (uint8_t)width;
        }
        i += width + 1;
    }
}

static void walk_last_row(struct walk *w, const struct plane_bytes *b, uint64_t at)
{
    for (unsigned lane = 0; lane < WCODEC_LANES && !w->failed; lane++, at += 4) {
        const uint32_t word = w->writes ? wcodec_load_u32(w->payload + at) : 0;
        uint32_t made = 0;
        for (unsigned i = 0; i < b->count; i++)
            made |= bits_of(w, word >> b->shift[i], b->width[i]) << b->shift[i];
        word_of(w, at, made);
    }
}

/* Raw bits: `last`: those of last rows that are not full; else all others. */
static void walk_raw(struct walk *w, bool last)
{
    const struct wcodec_tiling *t = w->t;
    uint64_t at = w->area[WCODEC_AREA_RAW];
    for (uint64_t tile = 0; tile < t->tiles && !w->failed; tile++) {
        const bool payload = wcodec_tile_has_payload(t, mode_of(w, tile));
        for (unsigned p = 0; p < t->plane_count; p++) {
            struct plane_bytes b;
            find_plane(t, p, wcodec_tile_elements(t, tile), payload, &b);
            if (!last)
                bytes_of(w, at, b.whole);
            at += b.whole;
            if (last && b.partial)
                walk_last_row(w, &b, at);
            at += b.partial ? 4 * WCODEC_LANES : 0;
        }
    }
}

static void walk(struct walk *w)
{
    uint64_t words = 0;
    walk_prefix(w);
    find_areas(w);
    walk_states(w);
    walk_raw(w, true);
    align_bits(w);
    walk_raw(w, false);
    for (uint64_t i = 0; i < w->t->tiles * w->t->coded_count; i++)
        words += 2 * (uint64_t)w->streams[i].words;
    bytes_of(w, w->area[WCODEC_AREA_WORDS], words);
    bytes_of(w, w->area[WCODEC_AREA_POSITIONS],
             w->failed ? 0 : w->payload_size - w->area[WCODEC_AREA_POSITIONS]);
}

uint64_t wcodec_packed_saving(const struct wcodec_tiling *t)
{
    enum { PADDING = 12, OF_TABLE = 13, OF_STREAM = 18 + 5 }; /* states and descriptor */
    uint64_t saved = PADDING + OF_STREAM * t->tiles * t->coded_count;
    for (unsigned c = 0; c < t->coded_count; c++)
        saved += t->fields[t->coded[c]].profile == WCODEC_P8 ? OF_TABLE : 0;
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const bool payload = wcodec_tile_has_payload(t, WCODEC_STREAM_RANS);
        for (unsigned p = 0; p < t->plane_count; p++) {
            struct plane_bytes b;
            unsigned bits = 0;
            find_plane(t, p, wcodec_tile_elements(t, tile), payload, &b);
            for (unsigned i = 0; i < b.count; i++)
                bits += b.width[i];
            saved += b.partial ? 4 * (32 - bits) : 0;
        }
    }
    return saved;
}

bool wcodec_packed_applies(const struct wcodec_tiling *t, uint64_t payload_size)
{
    bool runs = false;
    for (unsigned c = 0; c < t->coded_count; c++)
        runs = runs || t->fields[t->coded[c]].run_log2 != 0;
    return !runs && t->size <= WCODEC_PACKED_MOST && payload_size <= WCODEC_PACKED_MOST &&
           t->prefix_size <= payload_size;
}

size_t wcodec_packed_write(const struct wcodec_tiling *t, const uint8_t *payload,
                           size_t payload_size, uint8_t *packed, size_t capacity)
{
    struct walk w = {.t = t,
                     .writes = true,
                     .to = packed,
                     .to_end = packed + capacity,
                     .payload = (uint8_t *)(uintptr_t)payload,
                     .payload_size = payload_size};
    walk(&w);
    return w.failed ? 0 : (size_t)(w.to - packed);
}

wcodec_status wcodec_packed_read(const struct wcodec_tiling *t, const uint8_t *packed,
                                 size_t packed_size, uint8_t *payload, size_t payload_size,
                                 wcodec_error *err)
{
    struct walk w = {.t = t,
                     .from = packed,
                     .from_end = packed + packed_size,
                     .payload = payload,
                     .payload_size = payload_size};
    memset(payload, 0, payload_size);
    walk(&w);
    if (w.failed)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a packed payload ends too early, or its parts do not fill %zu bytes",
                           payload_size);
    if (w.from != w.from_end)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%zu bytes are left over at the end of a packed payload",
                           (size_t)(w.from_end - w.from));
    return WCODEC_OK;
}
