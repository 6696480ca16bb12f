/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/delta_work.h"
#include "coding/tiling.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/records.h"
#include "encode/tables.h"

enum {
    MANY = 1 << 22, /* elements from which on tiles are the largest */
    TILE_LOG2_FEW = 14,
    FEW = 16, /* a tile of which one in so many differs, or fewer, is sparse */
    SAMPLE = 2048,
    SAMPLES = 4 /* elements that a tile's costs are counted of */
};

bool wcodec_delta_is_sparse(uint64_t count, uint64_t changed)
{
    return changed <= count / FEW || count < SAMPLES;
}

uint32_t wcodec_delta_most_changed(unsigned tile_log2)
{
    return (1u << tile_log2) / FEW;
}

unsigned wcodec_delta_tile_log2(const struct wcodec_encode_settings *settings, uint64_t elements)
{
    if (settings->tile_log2 != 0)
        return settings->tile_log2;
    return elements >= MANY ? WCODEC_TILE_LOG2_MAX : TILE_LOG2_FEW;
}

/* Elements that differ, and the lengths of both kinds of values. */
static void compare(struct wcodec_delta_work *w, uint64_t begin, uint64_t count,
                    struct wcodec_delta_work_tile *tile)
{
    const unsigned log2 = w->d.element_log2;
    const uint64_t mask = wcodec_delta_mask(log2), end = begin + count;
    uint64_t zigzag = 0, by_xor = 0;
    tile->changed = 0;
    if (memcmp(w->data + (begin << log2), w->base + (begin << log2), (size_t)(count << log2)) == 0)
        return;
    for (uint64_t i = begin; i < end; i++) {
        i = wcodec_delta_skip(w->data, w->base, i, end, log2);
        if (i == end)
            break;
        const uint64_t e = wcodec_delta_load(w->data, i, log2),
                       b = wcodec_delta_load(w->base, i, log2);
        if (e == b)
            continue;
        tile->changed++;
        zigzag += wcodec_delta_bits(wcodec_zigzag((e - b) & mask, log2));
        by_xor += wcodec_delta_bits(e ^ b);
    }
    atomic_fetch_add(&w->zigzag_bits, zigzag);
    atomic_fetch_add(&w->xor_bits, by_xor);
}

/* Bits that a sample of a tile takes, by the order-0 entropy of its bytes' planes. */
static double part_bits(const struct wcodec_delta_work *w, unsigned mode, uint64_t begin,
                        uint64_t count)
{
    const unsigned log2 = w->d.element_log2, width = 1u << log2;
    uint64_t counts[8][256] = {{0}}, taken = 0;
    uint8_t coded[SAMPLE << 3];
    const uint64_t step = count / SAMPLES;
    for (unsigned s = 0; s < SAMPLES; s++) {
        const uint64_t at = begin + s * step, size = step < SAMPLE ? step : SAMPLE;
        wcodec_delta_separate(mode, log2, w->data + (at << log2), w->base + (at << log2), size,
                              coded);
        for (uint64_t i = 0; i < size << log2; i++)
            counts[i & (width - 1)][coded[i]]++;
        taken += size;
    }
    double bits = 0;
    for (unsigned p = 0; p < width; p++)
        bits += (double)wcodec_entropy(counts[p], 256) / WCODEC_BIT;
    return taken != 0 ? bits / (double)taken * (double)count : (double)(count << log2) * 8;
}

/* The same of a sparse tile: codes of its own, and what is below classes. */
static double sparse_bits(const struct wcodec_delta_work *w, uint64_t begin, uint64_t count)
{
    const unsigned log2 = w->d.element_log2;
    struct wcodec_delta_counts c = {{0}, {0}};
    wcodec_delta_count(log2, false, w->data + (begin << log2), w->base + (begin << log2), count,
                       &c);
    double bits = 64 + (double)(wcodec_entropy(c.gaps, WCODEC_DELTA_GAPS + 3) +
                                wcodec_entropy(c.values, WCODEC_DELTA_VALUES)) /
                           WCODEC_BIT;
    for (unsigned i = WCODEC_DELTA_GAP_DIRECT; i < WCODEC_DELTA_GAPS; i++)
        bits += (double)c.gaps[i] * ((i - WCODEC_DELTA_GAP_DIRECT) / 2);
    for (unsigned i = WCODEC_DELTA_VALUE_DIRECT; i < WCODEC_DELTA_VALUES; i++)
        bits += (double)c.values[i] * ((i - WCODEC_DELTA_VALUE_DIRECT) / 2 + 3);
    return bits;
}

static uint8_t choose_mode(const struct wcodec_delta_work *w, uint64_t begin, uint64_t count,
                           uint32_t changed)
{
    uint8_t best = WCODEC_DELTA_SPARSE;
    if (changed == 0)
        return WCODEC_DELTA_EQUAL;
    if (wcodec_delta_is_sparse(count, changed))
        return best;
    double least = sparse_bits(w, begin, count);
    for (unsigned m = WCODEC_DELTA_ALONE; m < WCODEC_DELTA_MODES; m++) {
        const double bits = part_bits(w, m, begin, count);
        if (bits < least) {
            least = bits;
            best = (uint8_t)m;
        }
    }
    return best;
}

static void choose_task(void *argument, size_t i)
{
    struct wcodec_delta_work *w = argument;
    const uint64_t begin = (uint64_t)i << w->d.tile_log2,
                   count = wcodec_delta_tile_elements(&w->d, i);
    if (wcodec_cancel_poll(w->settings->cancel))
        return;
    compare(w, begin, count, &w->tiles[i]);
    w->tiles[i].mode = choose_mode(w, begin, count, w->tiles[i].changed);
    w->tiles[i].result =
        wcodec_delta_result_of(w->data + (begin << w->d.element_log2), count << w->d.element_log2,
                               begin << w->d.element_log2);
}

static void count_task(void *argument, size_t i)
{
    struct wcodec_delta_work *w = argument;
    const unsigned log2 = w->d.element_log2;
    const uint64_t at = (uint64_t)i << w->d.tile_log2 << log2;
    struct wcodec_delta_counts c = {{0}, {0}};
    const uint64_t count = wcodec_delta_tile_elements(&w->d, i);
    if (w->tiles[i].mode != WCODEC_DELTA_SPARSE)
        return;
    wcodec_delta_count(log2, w->d.xor_values, w->data + at, w->base + at, count, &c);
    pthread_mutex_lock(&w->lock);
    for (unsigned k = 0; k < WCODEC_DELTA_GAPS; k++)
        w->counts.gaps[k] += c.gaps[k];
    for (unsigned k = 0; k < WCODEC_DELTA_VALUES; k++)
        w->counts.values[k] += c.values[k];
    pthread_mutex_unlock(&w->lock);
}

static uint64_t write_stream(const struct wcodec_delta_work *w, size_t i, uint8_t *to)
{
    const unsigned log2 = w->d.element_log2;
    const uint64_t at = (uint64_t)i << w->d.tile_log2 << log2,
                   count = wcodec_delta_tile_elements(&w->d, i);
    return wcodec_delta_stream(&w->gaps, &w->values, log2, w->d.xor_values, w->data + at,
                               w->base + at, count, to);
}

static void stream_task(void *argument, size_t group)
{
    struct wcodec_delta_work *w = argument;
    const unsigned log2 = w->d.element_log2;
    const size_t end = wcodec_delta_group_end(w, group);
    uint64_t most = 0, size = 0;
    for (size_t i = group * WCODEC_DELTA_GROUP; i < end; i++)
        if (w->tiles[i].mode == WCODEC_DELTA_SPARSE)
            most += wcodec_delta_stream_most(log2, w->tiles[i].changed);
    if (most == 0)
        return;
    uint8_t *bytes = wcodec_alloc_array(&w->context->allocator, most, 1);
    if (bytes == NULL) {
        atomic_store(&w->failed, true);
        return;
    }
    for (size_t i = group * WCODEC_DELTA_GROUP; i < end; i++) {
        struct wcodec_delta_work_tile *t = &w->tiles[i];
        if (t->mode != WCODEC_DELTA_SPARSE)
            continue;
        t->size = (uint32_t)write_stream(w, i, bytes + size);
        t->check = wcodec_delta_check(bytes + size, t->size);
        size += t->size;
    }
    uint8_t *smaller = wcodec_realloc_array(&w->context->allocator, bytes, size, 1);
    w->streams[group] = smaller != NULL ? smaller : bytes;
    w->stream_sizes[group] = size;
}

static void free_work(struct wcodec_delta_work *w)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    for (size_t i = 0; i < w->groups && w->streams != NULL; i++)
        wcodec_free(allocator, w->streams[i]);
    if (w->lent.loan.end != NULL)
        w->lent.loan.end(w->lent.loan.lender);
    wcodec_free(allocator, w->lent.tiles);
    wcodec_free(allocator, w->streams);
    wcodec_free(allocator, w->stream_sizes);
    wcodec_free(allocator, w->tiles);
    pthread_mutex_destroy(&w->lock);
}

/* Streams are somebody else's to code. */
static wcodec_status code_found(struct wcodec_delta_work *w, wcodec_error *err)
{
    const struct wcodec_delta_found *f = w->found;
    w->d.xor_values =
        wcodec_delta_value_bits(&f->counts[1]) < wcodec_delta_value_bits(&f->counts[0]);
    w->counts = f->counts[w->d.xor_values];
    wcodec_delta_code_plan(w->counts.gaps, WCODEC_DELTA_GAPS, &w->gaps);
    wcodec_delta_code_plan(w->counts.values, WCODEC_DELTA_VALUES, &w->values);
    return f->code(f->opaque, &w->gaps, &w->values, w->d.xor_values,
                   wcodec_delta_coded_bits(&w->counts, &w->gaps, &w->values), w->settings->verify,
                   &w->lent, err);
}

static wcodec_status choose_found(struct wcodec_delta_work *w, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    const struct wcodec_delta_found *f = w->found;
    const uint64_t most = (uint64_t)1 << w->d.tile_log2;
    uint64_t sparse = 0;
    w->tiles = wcodec_alloc_array(allocator, w->d.tiles, sizeof *w->tiles);
    w->lent.tiles = wcodec_alloc_zeroed(allocator, (size_t)w->d.tiles * sizeof *w->lent.tiles);
    if (w->tiles == NULL || w->lent.tiles == NULL)
        return wcodec_delta_out_of_memory(err);
    const wcodec_status status =
        wcodec_delta_counts_any(&f->counts[0]) ? code_found(w, err) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        const uint32_t changed = f->changed[i];
        const struct wcodec_coded_tile t = w->lent.tiles[i];
        sparse += changed != 0;
        w->d.streams_size += t.size;
        w->tiles[i] = (struct wcodec_delta_work_tile){.changed = changed,
                                                      .size = t.size,
                                                      .check = t.check,
                                                      .result = f->results[i],
                                                      .mode = changed == 0 ? WCODEC_DELTA_EQUAL
                                                                           : WCODEC_DELTA_SPARSE};
    }
    /* The last tile may have fewer elements. */
    w->d.counts[WCODEC_DELTA_SPARSE] =
        sparse * most -
        (w->tiles[w->d.tiles - 1].changed != 0 ? w->d.tiles * most - w->d.elements : 0);
    w->d.counts[WCODEC_DELTA_EQUAL] = w->d.elements - w->d.counts[WCODEC_DELTA_SPARSE];
    return WCODEC_OK;
}

/* Modes of tiles, and the streams of those that are sparse. */
static wcodec_status choose(struct wcodec_delta_work *w, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    w->groups = (size_t)wcodec_div_up_u64(w->d.tiles, WCODEC_DELTA_GROUP);
    w->tiles = wcodec_alloc_zeroed(allocator, (size_t)w->d.tiles * sizeof *w->tiles);
    w->streams = wcodec_alloc_zeroed(allocator, w->groups * sizeof *w->streams);
    w->stream_sizes = wcodec_alloc_zeroed(allocator, w->groups * sizeof *w->stream_sizes);
    if (w->tiles == NULL || w->streams == NULL || w->stream_sizes == NULL)
        return wcodec_delta_out_of_memory(err);
    wcodec_run(w->context, choose_task, w, (size_t)w->d.tiles);
    if (wcodec_cancel_poll(w->settings->cancel))
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    for (uint64_t i = 0; i < w->d.tiles; i++)
        w->d.counts[w->tiles[i].mode] += wcodec_delta_tile_elements(&w->d, i);
    if (w->d.counts[WCODEC_DELTA_SPARSE] == 0)
        return WCODEC_OK;
    w->d.xor_values = w->xor_bits < w->zigzag_bits;
    wcodec_run(w->context, count_task, w, (size_t)w->d.tiles);
    wcodec_delta_code_plan(w->counts.gaps, WCODEC_DELTA_GAPS, &w->gaps);
    wcodec_delta_code_plan(w->counts.values, WCODEC_DELTA_VALUES, &w->values);
    wcodec_run(w->context, stream_task, w, w->groups);
    for (size_t i = 0; i < w->groups; i++)
        w->d.streams_size += w->stream_sizes[i];
    return atomic_load(&w->failed) ? wcodec_delta_out_of_memory(err) : WCODEC_OK;
}

/* The elements of a part, one after the other. */
static void gather(const struct wcodec_delta_work *w, unsigned mode, uint8_t *to)
{
    const unsigned log2 = w->d.element_log2;
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        const uint64_t at = i << w->d.tile_log2 << log2,
                       count = wcodec_delta_tile_elements(&w->d, i);
        if (w->tiles[i].mode != mode)
            continue;
        wcodec_delta_separate(mode, log2, w->data + at, w->base + at, count, to);
        to += count << log2;
    }
}

static wcodec_status code_part(const struct wcodec_delta_work *w, unsigned mode, wcodec_dtype dtype,
                               struct wcodec_coded *coded, wcodec_error *err)
{
    static const wcodec_dtype words[] = {WCODEC_DTYPE_U8, WCODEC_DTYPE_U16, WCODEC_DTYPE_U32,
                                         WCODEC_DTYPE_U64};
    const uint64_t size = w->d.counts[mode] << w->d.element_log2;
    struct wcodec_encode_settings settings = wcodec_part_settings(w->settings);
    uint8_t *bytes = wcodec_alloc_array(&w->context->allocator, size, 1);
    if (bytes == NULL)
        return wcodec_delta_out_of_memory(err);
    settings.predict = WCODEC_PREDICT_NONE;
    gather(w, mode, bytes);
    wcodec_status status = wcodec_encode_tensor(
        w->context, &settings, mode == WCODEC_DELTA_ALONE ? dtype : words[w->d.element_log2], bytes,
        size, coded, err);
    if (status == WCODEC_OK && w->settings->verify) {
        status = wcodec_coded_verify(w->context, &settings, coded, bytes, NULL, err);
        if (status != WCODEC_OK)
            wcodec_coded_free(coded);
    }
    wcodec_free(&w->context->allocator, bytes);
    return status;
}

/* Bytes that the payload has, up to the next multiple of 16. */
static uint8_t zeros_after(uint64_t size)
{
    return (uint8_t)(wcodec_align_u64(size, 16) - size);
}

static bool add(struct wcodec_coded *coded, uint8_t *data, uint64_t size)
{
    if (data == NULL && size != 0) {
        data = wcodec_alloc_zeroed(coded->allocator, (size_t)size);
        if (data == NULL)
            return false;
    }
    if (size == 0) {
        wcodec_free(coded->allocator, data);
        return true;
    }
    coded->parts[coded->part_count++] = (struct wcodec_coded_part){data, size};
    coded->payload_size += size;
    return true;
}

static void lend(struct wcodec_delta_work *w, struct wcodec_coded *coded)
{
    if (w->d.streams_size != 0)
        (void)add(coded, (uint8_t *)(uintptr_t)w->lent.bytes, w->d.streams_size);
    coded->loan = w->lent.loan;
    w->lent.loan.end = NULL;
}

/* The pieces of the payload in order. They change owners; what was not reached stays. */
static bool join(struct wcodec_delta_work *w, uint8_t **side, uint64_t side_room,
                 struct wcodec_coded *parts, const bool *has, struct wcodec_coded *coded)
{
    bool good = add(coded, *side, side_room);
    *side = NULL;
    for (size_t i = 0; i < w->groups && good; i++) {
        good = add(coded, w->streams[i], w->stream_sizes[i]);
        w->streams[i] = NULL;
    }
    if (good && w->lent.bytes != NULL)
        lend(w, coded);
    for (unsigned p = 0; p < WCODEC_DELTA_PARTS && good; p++) {
        if (!has[p] || parts[p].payload_size == 0)
            continue;
        uint8_t *bytes = wcodec_alloc_array(&w->context->allocator, parts[p].payload_size, 1);
        good = bytes != NULL && add(coded, NULL, zeros_after(coded->payload_size));
        if (!good) {
            wcodec_free(&w->context->allocator, bytes);
            break;
        }
        (void)wcodec_coded_join(&parts[p], bytes);
        good = add(coded, bytes, parts[p].payload_size);
    }
    return good;
}

/* Where the payload ends, as a reader finds it from the parameters. */
static uint64_t payload_end(const struct wcodec_delta_work *w, const struct wcodec_coded *parts,
                            const bool *has)
{
    uint64_t end = wcodec_delta_streams_end(&w->d);
    for (unsigned p = 0; p < WCODEC_DELTA_PARTS; p++)
        if (has[p])
            end = wcodec_delta_part_end(end, parts[p].payload_size);
    return end;
}

static wcodec_status assemble(struct wcodec_delta_work *w, uint8_t **side, uint64_t side_room,
                              struct wcodec_coded *parts, const bool *has,
                              struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    *coded = (struct wcodec_coded){.coding = WCODEC_CODING_DELTA, .allocator = allocator};
    coded->parts =
        wcodec_alloc_array(allocator, 2 + w->groups + 2 * WCODEC_DELTA_PARTS, sizeof *coded->parts);
    coded->parameters = wcodec_alloc(allocator, WCODEC_DELTA_HEAD_MAX +
                                                    WCODEC_DELTA_PARTS * WCODEC_RECORD_CODING_MAX);
    if (coded->parts == NULL || coded->parameters == NULL ||
        !join(w, side, side_room, parts, has, coded)) {
        wcodec_coded_free(coded);
        return wcodec_delta_out_of_memory(err);
    }
    coded->parameters_size = wcodec_delta_write(&w->d, coded->parameters);
    for (unsigned p = 0; p < WCODEC_DELTA_PARTS; p++)
        if (has[p])
            coded->parameters_size +=
                wcodec_coded_put_part(&parts[p], coded->parameters + coded->parameters_size);
    if (coded->payload_size == payload_end(w, parts, has))
        return WCODEC_OK;
    wcodec_coded_free(coded);
    return wcodec_fail(err, WCODEC_ERROR_DEVICE, "the payload of a delta has another size");
}

static wcodec_status code_delta(struct wcodec_delta_work *w, wcodec_dtype dtype,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_coded parts[WCODEC_DELTA_PARTS];
    bool has[WCODEC_DELTA_PARTS] = {false};
    uint8_t *side = NULL;
    uint64_t side_room = 0;
    wcodec_status status = w->found != NULL ? choose_found(w, err) : choose(w, err);
    for (unsigned p = 0; p < WCODEC_DELTA_PARTS && status == WCODEC_OK; p++) {
        const unsigned mode = WCODEC_DELTA_ALONE + p;
        if (w->d.counts[mode] == 0)
            continue;
        status = code_part(w, mode, dtype, &parts[p], err);
        has[p] = status == WCODEC_OK;
    }
    if (status == WCODEC_OK)
        status = wcodec_delta_make_side(w, &side, &side_room, err);
    if (status == WCODEC_OK && w->settings->verify)
        status = wcodec_delta_prove(w, side, err);
    if (status == WCODEC_OK)
        status = assemble(w, &side, side_room, parts, has, coded, err);
    for (unsigned p = 0; p < WCODEC_DELTA_PARTS; p++)
        if (has[p])
            wcodec_coded_free(&parts[p]);
    wcodec_free(&w->context->allocator, side);
    return status;
}

/* Code alone, too, where that might be smaller; who asked verifies it, as any other tensor. */
static wcodec_status code_alone(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size, struct wcodec_coded *coded,
                                wcodec_error *err)
{
    struct wcodec_encode_settings own = *settings;
    struct wcodec_coded alone;
    own.verify = false;
    wcodec_status status = wcodec_encode_tensor(context, &own, dtype, data, size, &alone, err);
    if (status != WCODEC_OK) {
        wcodec_coded_free(coded);
        return status;
    }
    if (alone.payload_size > coded->payload_size + coded->parameters_size) {
        wcodec_coded_free(&alone);
        return WCODEC_OK;
    }
    wcodec_coded_free(coded);
    *coded = alone;
    return WCODEC_OK;
}

/* Ends by free_work(). */
static wcodec_status begin_work(struct wcodec_delta_work *w, wcodec_dtype dtype, uint64_t size,
                                const struct wcodec_delta_base *base, wcodec_error *err)
{
    memcpy(w->d.base, base->hash, sizeof w->d.base);
    w->d.base_size = base->size;
    w->d.element_log2 = (uint8_t)wcodec_dtype_element_log2(dtype);
    if (size % ((uint64_t)1 << w->d.element_log2) != 0)
        w->d.element_log2 = 0;
    w->d.size = size;
    w->d.elements = size >> w->d.element_log2;
    w->d.tile_log2 = (uint8_t)wcodec_delta_tile_log2(w->settings, w->d.elements);
    w->d.tiles = wcodec_div_up_u64(w->d.elements, (uint64_t)1 << w->d.tile_log2);
    return pthread_mutex_init(&w->lock, NULL) == 0
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
}

/* May it be smaller without the base? */
static bool alone_may_win(const struct wcodec_coded *coded, uint64_t size)
{
    return coded->payload_size > size / 8;
}

wcodec_status wcodec_delta_code_found(wcodec_context *context,
                                      const struct wcodec_encode_settings *settings,
                                      wcodec_dtype dtype, uint64_t size,
                                      const struct wcodec_delta_base *base,
                                      const struct wcodec_delta_found *found,
                                      struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    struct wcodec_delta_work w = {.context = context, .settings = settings, .found = found};
    *done = false;
    wcodec_status status = begin_work(&w, dtype, size, base, err);
    if (status != WCODEC_OK)
        return status;
    status = code_delta(&w, dtype, coded, err);
    free_work(&w);
    if (status != WCODEC_OK)
        return status;
    *done = !alone_may_win(coded, size);
    if (!*done)
        wcodec_coded_free(coded);
    return WCODEC_OK;
}

wcodec_status wcodec_delta_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size,
                                const struct wcodec_delta_base *base, struct wcodec_coded *coded,
                                wcodec_error *err)
{
    struct wcodec_delta_work w = {
        .context = context, .settings = settings, .data = data, .base = base->bytes};
    wcodec_status status = begin_work(&w, dtype, size, base, err);
    if (status != WCODEC_OK)
        return status;
    status = code_delta(&w, dtype, coded, err);
    free_work(&w);
    return status == WCODEC_OK && alone_may_win(coded, size)
               ? code_alone(context, settings, dtype, data, size, coded, err)
               : status;
}
