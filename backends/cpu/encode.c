/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The driver of the encoder's stages: looks after everything that is not the same for all groups:
 * the last one, outliers, tables by run, the payload in the start states. */
#include "backends/cpu/encode.h"

#include "backends/cpu/cpu_level.h"
#include "coding/planes.h"
#include "core/assert.h"
#include "core/error.h"
#include <stddef.h>

enum {
    BATCH = 4,  /* groups whose symbols are chosen at once */
    FETCHED = 8 /* groups that are coded at once, while as many of the next tile are fetched */
};

void wcodec_cpu_encode_dsp_init(struct wcodec_cpu_encode_dsp *dsp, uint32_t levels)
{
    struct wcodec_cpu_dsp decode;
    wcodec_cpu_dsp_init(&decode, levels);
    WCODEC_CPU_CLIMB(wcodec_cpu_encode_dsp_init_, struct wcodec_cpu_encode_dsp, dsp, levels);
    dsp->sums = decode.finish;
    dsp->check = decode.check;
}

/* Returns whether the table can be looked up so, by `bits` low bits. */
static bool prepare_bytes(const struct wcodec_encode_table *e, unsigned bits,
                          struct wcodec_cpu_encode_bytes *b)
{
    const unsigned size = 1u << bits;
    bool taken[64] = {false};
    for (unsigned i = 0; i < size; i++)
        b->held[i] = (uint8_t)(i ^ 1);
    for (unsigned i = 0; i < e->table.count; i++) {
        const unsigned s = e->table.order[i], freq = e->table.freq[s], at = s % size,
                       reciprocal = freq > 1 ? 65536 / freq : 65535;
        if (taken[at] || freq > WCODEC_CPU_ENCODE_FREQ)
            return false;
        taken[at] = true;
        b->held[at] = (uint8_t)s;
        b->freq[at] = (uint8_t)freq;
        b->start[at] = (uint8_t)e->symbols[s].start;
        b->reciprocal_low[at] = (uint8_t)reciprocal;
        b->reciprocal_high[at] = (uint8_t)(reciprocal >> 8);
    }
    return true;
}

static void prepare_table(const struct wcodec_encode_table *e, const uint8_t (*compress)[16],
                          struct wcodec_cpu_encode_table *t)
{
    t->table = e;
    t->compress = compress;
    for (unsigned i = 0; i < e->table.count; i++) {
        const unsigned s = e->table.order[i];
        t->freq[s] = e->table.freq[s];
        t->start[s] = (uint16_t)e->symbols[s].start;
        t->entries[s] = e->table.freq[s] | (uint32_t)e->symbols[s].start << 16;
        t->held_pairs[s / 8] = (uint8_t)(t->held_pairs[s / 8] | 1u << s % 8);
    }
    if (e->table.profile == WCODEC_P8) {
        t->low6 = prepare_bytes(e, 6, &t->bytes6);
        t->low5 = prepare_bytes(e, 5, &t->bytes5);
    }
}

/* A mask with one more bit above: the words move down by one place for the new last one. */
static void prepare_compress(uint8_t compress[256][16])
{
    memset(compress[0], 0, sizeof compress[0]);
    for (unsigned word = 0; word < 8; word++)
        for (unsigned mask = 0; mask < 1u << word; mask++) {
            const uint64_t low = wcodec_load_u64(compress[mask]),
                           high = wcodec_load_u64(compress[mask] + 8),
                           bytes = 2 * word | (2 * word + 1) << 8;
            uint8_t *const to = compress[mask | 1u << word];
            wcodec_store_u64(to, low >> 16 | high << 48);
            wcodec_store_u64(to + 8, high >> 16 | bytes << 48);
        }
}

wcodec_status
wcodec_cpu_encoder_create(uint32_t levels, const struct wcodec_tiling *tiling,
                          const struct wcodec_encode_table *const pools[WCODEC_MAX_CODED],
                          const wcodec_allocator *allocator, struct wcodec_cpu_encoder **encoder,
                          wcodec_error *err)
{
    /* The tables follow, aligned. */
    const size_t tables = tiling->table_count * sizeof(struct wcodec_cpu_encode_table);
    struct wcodec_cpu_encoder *e = wcodec_alloc(allocator, sizeof *e + tables + 64);
    if (e == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "no memory for an encoder of %u tables",
                           tiling->table_count);
    memset(e, 0, offsetof(struct wcodec_cpu_encoder, compress));
    memset(e + 1, 0, tables + 64);
    e->tiling = tiling;
    e->allocator = allocator;
    wcodec_cpu_encode_dsp_init(&e->dsp, levels);
    if (e->dsp.compresses)
        prepare_compress(e->compress);
    struct wcodec_cpu_encode_table *at =
        (struct wcodec_cpu_encode_table *)(((uintptr_t)(e + 1) + 63) & ~(uintptr_t)63);
    for (unsigned c = 0; c < tiling->coded_count; c++) {
        e->tables[c] = at;
        for (unsigned i = 0; i < tiling->fields[tiling->coded[c]].tables; i++)
            prepare_table(&pools[c][i], (const uint8_t(*)[16])e->compress, at++);
    }
    e->direct = wcodec_cpu_derive_assembly(tiling, &e->assembly) && tiling->element_log2 <= 2 &&
                e->assembly.moved_count == 0;
    *encoder = e;
    return WCODEC_OK;
}

void wcodec_cpu_encoder_free(struct wcodec_cpu_encoder *encoder)
{
    if (encoder != NULL)
        wcodec_free(encoder->allocator, encoder);
}

/* One tile. */
struct work {
    const struct wcodec_cpu_encoder *encoder;
    const uint8_t *data;
    uint32_t elements, groups;
    unsigned ahead;  /* tiles from this one to the one that is fetched meanwhile */
    uint32_t *rows;  /* a plane of raw bits */
    uint8_t *padded; /* e', where planes are packed as the reference does it */
    uint8_t *values; /* a field's values, zeros after the last element */
    uint8_t *symbols;
    _Alignas(64) uint8_t tail[WCODEC_GROUP * 8]; /* the last group, if it is not whole */
};

size_t wcodec_cpu_encode_scratch_size(uint32_t elements)
{
    const size_t padded = ((size_t)elements + WCODEC_GROUP - 1) / WCODEC_GROUP * WCODEC_GROUP;
    return padded * (4 + 8 + 1 + 1) + 64;
}

static uint32_t check_tile(const struct work *w)
{
    const unsigned log2 = w->encoder->tiling->element_log2;
    const uint32_t whole = w->elements / WCODEC_GROUP;
    uint64_t sums[WCODEC_LANES] = {0};
    for (uint32_t g = 0; g < whole; g += WCODEC_CPU_CHUNK_GROUPS)
        w->encoder->dsp.sums(log2, w->data + ((size_t)g * WCODEC_GROUP << log2),
                             whole - g < WCODEC_CPU_CHUNK_GROUPS ? whole - g
                                                                 : WCODEC_CPU_CHUNK_GROUPS,
                             g, NULL, sums);
    if (whole < w->groups)
        w->encoder->dsp.sums(log2, w->tail, 1, whole, NULL, sums);
    return w->encoder->dsp.check(sums);
}

/* The last group's elements after the end, such that A makes them zero. */
static void pad_tail(struct work *w)
{
    const struct wcodec_tiling *t = w->encoder->tiling;
    const unsigned size = 1u << t->element_log2;
    for (uint32_t i = w->elements % WCODEC_GROUP; t->add && i < WCODEC_GROUP; i++)
        wcodec_store_uint(w->tail + (size_t)i * size, 0 - t->add, size);
}

/* All e', zeros after the last one. */
static void load_padded(const struct work *w)
{
    const struct wcodec_tiling *t = w->encoder->tiling;
    const unsigned size = 1u << t->element_log2;
    const size_t bytes = (size_t)w->elements * size;
    if (t->add == 0)
        memcpy(w->padded, w->data, bytes);
    for (size_t i = 0; t->add && i < bytes; i += size)
        wcodec_store_uint(w->padded + i, wcodec_load_uint(w->data + i, size) + t->add, size);
    memset(w->padded + bytes, 0, (size_t)w->groups * WCODEC_GROUP * size - bytes);
}

/* The four values of 4 bits of a group of bytes, which have a slot word a group and lane. */
static uint16_t nibbles_of_bytes(const struct wcodec_tiling *t, const uint8_t *rows, uint32_t group,
                                 unsigned lane)
{
    const unsigned q = t->planes[0].position % 8;
    uint32_t x =
        wcodec_rotl32(wcodec_load_u32(rows + 4 * ((size_t)(group / 2) * WCODEC_LANES + lane)),
                      group % 2 ? 28 : 0);
    /* Each byte rotated right. */
    x = (x >> q & 0x01010101u * (0xffu >> q)) | (x & 0x01010101u * ((1u << q) - 1)) << (8 - q);
    x &= 0x0f0f0f0fu;
    x = (x | x >> 4) & 0x00ff00ffu;
    return (uint16_t)(x | x >> 8);
}

/* The four values of 4 bits of a group, from the rows of a plane that is in position. */
static uint16_t nibbles_of(const struct wcodec_tiling *t, const uint8_t *rows, uint32_t group,
                           unsigned lane)
{
    const unsigned slot_bits = wcodec_slot_bits(t), own = slot_bits / 8, per_word = 4 / own,
                   ratio = slot_bits / 4, q = t->planes[0].position;
    uint32_t nibbles = 0;
    if (slot_bits == 8)
        return nibbles_of_bytes(t, rows, group, lane);
    for (unsigned position = 0; position < 4; position++) {
        const uint32_t number = group * own + position / per_word,
                       word = wcodec_rotl32(
                           wcodec_load_u32(rows +
                                           4 * ((size_t)(number / ratio) * WCODEC_LANES + lane)),
                           32 - number % ratio * 4);
        const uint64_t slot =
            (word >> (position % per_word * slot_bits)) & (0xffffffffu >> (32 - slot_bits));
        nibbles |= (uint32_t)((slot | slot << slot_bits) >> q & 15) << (4 * position);
    }
    return (uint16_t)nibbles;
}

/* The first plane's last row goes into the start states, or half of it does. Returns the end of
 * what stays of the rows. */
static uint8_t *take_payload(const struct work *w, uint8_t *rows, uint32_t count,
                             uint16_t payload[WCODEC_LANES])
{
    const struct wcodec_tiling *t = w->encoder->tiling;
    const bool wide = t->planes[0].bits >= 8;
    uint8_t *const last = rows + (size_t)(count - 1) * 4 * WCODEC_LANES;
    uint16_t stay[WCODEC_LANES];
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        payload[lane] =
            wide ? wcodec_load_u16(last + 4 * lane + 2) : nibbles_of(t, rows, w->groups - 1, lane);
        stay[lane] = wide            ? wcodec_load_u16(last + 4 * lane)
                     : w->groups % 2 ? 0
                                     : nibbles_of(t, rows, w->groups - 2, lane);
    }
    if (!wide && w->groups % 2)
        return last;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        wcodec_store_u16(last + 2 * lane, stay[lane]);
    return last + 2 * WCODEC_LANES;
}

/* As wcodec_pack_raw(), where planes are in position. */
static void pack_direct(struct work *w, bool has_payload, uint16_t payload[WCODEC_LANES],
                        uint8_t *raw)
{
    const struct wcodec_cpu_encoder *e = w->encoder;
    const struct wcodec_tiling *t = e->tiling;
    const uint32_t whole = w->elements / WCODEC_GROUP;
    memset(payload, 0, WCODEC_LANES * sizeof *payload);
    pad_tail(w);
    for (unsigned p = 0; p < t->plane_count; p++) {
        const uint32_t count = wcodec_plane_rows(&t->planes[p], w->groups * WCODEC_GROUP);
        e->dsp.pack(&e->assembly, p, w->data, 0, whole, raw);
        if (whole < w->groups)
            e->dsp.pack(&e->assembly, p, w->tail, whole, 1, raw);
        raw = p == 0 && has_payload ? take_payload(w, raw, count, payload)
                                    : raw + (size_t)count * 4 * WCODEC_LANES;
    }
}

static void add_outlier(struct wcodec_tile_output *o, unsigned c, uint32_t position, uint8_t value)
{
    o->positions[c][o->outlier_count[c]] = (uint16_t)position;
    o->values[c][o->outlier_count[c]++] = value;
}

/* What eight values' symbols give: the bytes of a word, the first in the low one. */
static uint64_t given_values(const uint8_t *symbols, uint32_t at, unsigned profile, unsigned base)
{
    if (profile != WCODEC_PAIRS)
        return wcodec_load_u64(symbols + at);
    uint64_t x = wcodec_load_u32(symbols + at / 2);
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    return x + base * UINT64_C(0x0101010101010101);
}

/* Values of elements [first, end), a whole number of groups or up to the tile's end, that are not
 * what their symbols give. */
static void note_outliers(const struct work *w, const struct wcodec_cpu_encode_table *table,
                          unsigned profile, unsigned c, uint32_t first, uint32_t end,
                          struct wcodec_tile_output *o)
{
    const unsigned base = table->table->table.base;
    const uint8_t *const values = w->values, *const symbols = w->symbols;
    const uint32_t stop = w->elements;
    for (uint32_t i = first; i < end && i < stop; i += 8) {
        uint64_t differ = wcodec_load_u64(values + i) ^ given_values(symbols, i, profile, base);
        for (uint32_t at = i; differ != 0 && at < stop; at++, differ >>= 8)
            if (differ & 0xff)
                add_outlier(o, c, at, values[at]);
    }
}

/* Pairs of the last group: elements after the end are coded as those of the common pair. */
static void choose_last_pairs(const struct work *w, const struct wcodec_encode_table *table,
                              uint32_t first)
{
    const unsigned base = table->table.base, common = table->most_frequent;
    for (uint32_t i = first; i < first + WCODEC_GROUP; i += 2) {
        /* These wrap to above 15 below the window. */
        unsigned a = w->values[i] - base, b = w->values[i + 1] - base;
        a = a < 16 && i < w->elements ? a : common % 16;
        b = b < 16 && i + 1 < w->elements ? b : common / 16;
        w->symbols[i / 2] = table->substitute[a + 16 * b];
    }
}

/* Symbols of groups [first, end), which share a table, and their outliers. */
static void choose_groups(const struct work *w, const struct wcodec_cpu_encode_table *table,
                          unsigned profile, unsigned c, uint32_t first, uint32_t end,
                          struct wcodec_tile_output *o)
{
    for (uint32_t g = first, next; g < end; g = next) {
        const bool last_pairs = profile == WCODEC_PAIRS && g == w->elements / WCODEC_GROUP;
        const uint32_t at = g * WCODEC_GROUP;
        next = last_pairs || end - g < BATCH ? g + 1 : g + BATCH;
        if (profile == WCODEC_PAIRS && next > w->elements / WCODEC_GROUP)
            next = last_pairs ? g + 1 : w->elements / WCODEC_GROUP;
        bool differ = true;
        if (last_pairs)
            choose_last_pairs(w, table->table, at);
        else
            differ = w->encoder->dsp.choose[profile](
                table, w->values + at, next - g, w->symbols + at / wcodec_profile_span(profile));
        if (differ)
            note_outliers(w, table, profile, c, at, next * WCODEC_GROUP, o);
    }
}

/* Prefetch `count` groups of the tile after this one: its first pass would wait for memory, which
 * is idle now. */
static void fetch_next(const struct work *w, uint32_t first, uint32_t count)
{
#if defined(__GNUC__)
    const unsigned log2 = w->encoder->tiling->element_log2;
    const uintptr_t next = (uintptr_t)w->data + w->ahead * ((uintptr_t)w->elements << log2) +
                           ((uintptr_t)first * WCODEC_GROUP << log2);
    for (uintptr_t at = next; at < next + ((uintptr_t)count * WCODEC_GROUP << log2); at += 64)
        __builtin_prefetch((const void *)at, 0, 2);
#else
    (void)w, (void)first, (void)count;
#endif
}

/* The table of run r of a field, and the group after the run. */
static const struct wcodec_cpu_encode_table *
table_of(const struct work *w, const struct wcodec_stream_plan *plan, unsigned c, uint32_t r)
{
    return &w->encoder->tables[c][plan->run_tables != NULL ? plan->run_tables[r] : plan->table];
}

static uint32_t end_of_run(const struct work *w, uint32_t run, uint32_t r)
{
    return w->groups - r * run < run ? w->groups : (r + 1) * run;
}

/* One field of one tile. */
struct stream_work {
    const struct work *w;
    const struct wcodec_stream_plan *plan;
    const struct wcodec_field *field;
    struct wcodec_tile_output *output;
    unsigned c;
    uint32_t run, runs; /* groups that share a table, and how often */
    struct wcodec_cpu_encode_stream s;
};

static uint8_t *words_end(const struct stream_work *k)
{
    return k->output->words[k->c] + wcodec_tile_words_max(k->w->elements);
}

static void begin_stream(struct stream_work *k, const uint16_t *payload)
{
    const struct work *w = k->w;
    k->run =
        k->plan->run_tables != NULL ? 1u << (k->field->run_log2 - WCODEC_GROUP_LOG2) : w->groups;
    k->runs = (w->groups + k->run - 1) / k->run;
    k->s.words = words_end(k);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        k->s.x[lane] = (1u << 16) + (payload ? payload[lane] : 0);
    for (uint32_t r = 0; r < k->runs; r++)
        choose_groups(w, table_of(w, k->plan, k->c, r), k->field->profile, k->c, r * k->run,
                      end_of_run(w, k->run, r), k->output);
}

static const uint8_t *symbols_of(const struct stream_work *k, uint32_t group)
{
    return k->w->symbols + (size_t)group * WCODEC_GROUP / wcodec_profile_span(k->field->profile);
}

static void code_stream(struct stream_work *k)
{
    const struct work *w = k->w;
    for (uint32_t r = k->runs; r-- > 0;) {
        const uint32_t first = r * k->run, stop = end_of_run(w, k->run, r);
        const struct wcodec_cpu_encode_table *table = table_of(w, k->plan, k->c, r);
        if (wcodec_table_is_constant(&table->table->table))
            continue;
        for (uint32_t g = stop, count; g > first; g -= count) {
            count = g - first < FETCHED ? g - first : FETCHED;
            if (k->c == 0)
                fetch_next(w, g - count, count);
            w->encoder->dsp.rans[k->field->profile](table, symbols_of(k, g - count), count, &k->s);
        }
    }
}

/* Two streams of as many groups with a table each. */
static void code_two(struct stream_work k[2])
{
    const struct work *w = k[0].w;
    const struct wcodec_cpu_encode_table *const tables[2] = {
        table_of(k[0].w, k[0].plan, k[0].c, 0), table_of(k[1].w, k[1].plan, k[1].c, 0)};
    struct wcodec_cpu_encode_stream *const streams[2] = {&k[0].s, &k[1].s};
    for (uint32_t g = w->groups, count; g > 0; g -= count) {
        count = g < FETCHED ? g : FETCHED;
        for (unsigned i = 0; i < 2 && k[0].c == 0; i++)
            fetch_next(k[i].w, g - count, count);
        const uint8_t *const symbols[2] = {symbols_of(&k[0], g - count),
                                           symbols_of(&k[1], g - count)};
        w->encoder->dsp.rans_two[k[0].field->profile](tables, symbols, count, streams);
    }
}

static bool has_one_table(const struct stream_work *k)
{
    return k->plan->mode == WCODEC_STREAM_RANS && k->runs == 1 &&
           !wcodec_table_is_constant(&table_of(k->w, k->plan, k->c, 0)->table->table);
}

static void end_stream(struct stream_work *k)
{
    struct wcodec_tile_output *o = k->output;
    uint8_t *const end = words_end(k);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        wcodec_store_u32(o->states[k->c] + 4 * lane, k->s.x[lane]);
    WCODEC_ASSERT(k->s.words >= o->words[k->c]);
    o->word_offset[k->c] = (uint32_t)(k->s.words - o->words[k->c]);
    o->word_count[k->c] = (uint32_t)(end - k->s.words) / 2;
}

/* All but the coded fields: the check, and raw bits with those of the start states. */
static void begin_work(const struct wcodec_cpu_encoder *encoder,
                       const struct wcodec_cpu_encode_job *job, unsigned ahead, struct work *w,
                       uint16_t payload[WCODEC_LANES])
{
    const struct wcodec_tiling *t = encoder->tiling;
    const uint32_t elements = job->elements;
    w->encoder = encoder;
    w->data = job->data;
    w->elements = elements;
    w->groups = (elements + WCODEC_GROUP - 1) / WCODEC_GROUP;
    w->ahead = ahead;
    const size_t padded = (size_t)w->groups * WCODEC_GROUP, tail = elements % WCODEC_GROUP;
    const bool has_payload = wcodec_tile_has_payload(t, job->plans[0].mode);
    WCODEC_ASSERT(elements > 0 && elements <= 1u << t->tile_log2);
    w->rows = (uint32_t *)(((uintptr_t)job->scratch + 63) & ~(uintptr_t)63);
    w->values = (uint8_t *)(w->rows + padded);
    w->symbols = w->values + padded;
    w->padded = w->symbols + padded;
    memset(w->tail, 0, sizeof w->tail);
    memcpy(w->tail, w->data + ((elements - tail) << t->element_log2), tail << t->element_log2);
    job->output->check = check_tile(w);
    if (encoder->direct) {
        pack_direct(w, has_payload, payload, job->output->raw);
        return;
    }
    load_padded(w);
    wcodec_pack_raw(t, w->padded, w->groups, has_payload, payload, job->output->raw, w->rows);
}

/* One field up to the symbols that are to be coded, if any are. */
static void begin_field(const struct work *w, const struct wcodec_cpu_encode_job *job, unsigned c,
                        const uint16_t *payload, struct stream_work *k)
{
    const struct wcodec_cpu_encoder *encoder = w->encoder;
    const struct wcodec_tiling *t = encoder->tiling;
    const struct wcodec_field *f = &t->fields[t->coded[c]];
    struct wcodec_tile_output *o = job->output;
    o->outlier_count[c] = 0;
    o->word_count[c] = 0;
    o->word_offset[c] = 0;
    k->w = w;
    k->plan = &job->plans[c];
    k->field = f;
    k->output = o;
    k->c = c;
    encoder->dsp.extract(w->data, w->elements, t->element_log2, t->add, f->shift, f->width,
                         w->values);
    memset(w->values + w->elements, 0, (size_t)w->groups * WCODEC_GROUP - w->elements);
    if (k->plan->mode == WCODEC_STREAM_RANS) {
        begin_stream(k, c == 0 ? payload : NULL);
        return;
    }
    for (uint32_t i = 0; i < w->elements; i++)
        if (w->values[i] != k->plan->symbol)
            add_outlier(o, c, i, w->values[i]);
}

void wcodec_cpu_encode_tile(const struct wcodec_cpu_encoder *encoder,
                            const struct wcodec_stream_plan plans[WCODEC_MAX_CODED],
                            const void *data, uint32_t elements, struct wcodec_tile_output *output,
                            void *scratch)
{
    const struct wcodec_cpu_encode_job job = {plans, data, elements, output, scratch};
    uint16_t payload[WCODEC_LANES];
    struct work w;
    begin_work(encoder, &job, 1, &w, payload);
    for (unsigned c = 0; c < encoder->tiling->coded_count; c++) {
        struct stream_work k;
        begin_field(&w, &job, c, payload, &k);
        if (k.plan->mode != WCODEC_STREAM_RANS)
            continue;
        code_stream(&k);
        end_stream(&k);
    }
}

void wcodec_cpu_encode_two(const struct wcodec_cpu_encoder *encoder,
                           const struct wcodec_cpu_encode_job jobs[2])
{
    uint16_t payload[2][WCODEC_LANES];
    struct work w[2];
    for (unsigned i = 0; i < 2; i++)
        begin_work(encoder, &jobs[i], 2, &w[i], payload[i]);
    for (unsigned c = 0; c < encoder->tiling->coded_count; c++) {
        struct stream_work k[2];
        for (unsigned i = 0; i < 2; i++)
            begin_field(&w[i], &jobs[i], c, payload[i], &k[i]);
        const bool together = encoder->dsp.rans_two[k[0].field->profile] != NULL &&
                              w[0].groups == w[1].groups && has_one_table(&k[0]) &&
                              has_one_table(&k[1]);
        if (together)
            code_two(k);
        for (unsigned i = 0; i < 2; i++) {
            if (k[i].plan->mode != WCODEC_STREAM_RANS)
                continue;
            if (!together)
                code_stream(&k[i]);
            end_stream(&k[i]);
        }
    }
}
