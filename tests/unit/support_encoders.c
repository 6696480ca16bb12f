/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_encoders.h"
#include "support_matrix.h"

enum { ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS, CHOICES = 2, SCRATCH = 40000 };

struct encoders {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    uint64_t seed;
    struct support_matrix m;
    struct wcodec_matrix_work places;
    uint8_t *work; /* as it should be, or was read */
    struct wcodec_matrix matrix;
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

static struct wcodec_memory *allocate(const struct encoders *e, uint64_t size)
{
    wcodec_error err = {0};
    struct wcodec_memory *memory;
    ok(e->b->memory_allocate(e->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

static void put(const struct encoders *e, struct wcodec_memory *memory, uint64_t at,
                const void *data, uint64_t size)
{
    wcodec_error err = {0};
    ok(e->b->copy_in(e->queue, memory, at, data, size, &err), &err);
    ok(e->b->queue_wait(e->queue, &err), &err);
}

static void get(const struct encoders *e, struct wcodec_memory *memory, uint64_t at, void *data,
                uint64_t size)
{
    wcodec_error err = {0};
    ok(e->b->copy_out(e->queue, data, memory, at, size, &err), &err);
    ok(e->b->queue_wait(e->queue, &err), &err);
}

/* The reference's counts of a tile under these shifts. */
static struct wcodec_fixed_counts count_tile(const struct support_matrix *m, unsigned bits,
                                             const uint8_t *shifts, uint64_t tile)
{
    const struct wcodec_fixed *f = &m->fixed;
    const uint64_t band = tile / f->across, x = tile % f->across;
    struct wcodec_fixed_band tables;
    wcodec_fixed_band_init(&tables, bits, shifts + band * ROWS);
    return wcodec_fixed_count(&tables, m->data + 2 * (band * ROWS * f->columns + x * COLUMNS),
                              (size_t)(2 * f->columns), wcodec_fixed_height(f, band),
                              wcodec_fixed_width(f, x));
}

static int choose(const struct support_matrix *m, unsigned bits, uint64_t row)
{
    uint32_t exponents[256] = {0}, zeros = 0, within;
    for (uint64_t i = 0; i < m->fixed.columns; i++) {
        const unsigned element = wcodec_load_u16(m->data + 2 * (row * m->fixed.columns + i));
        exponents[element >> 7 & 255]++;
        zeros += (element & 0x7fff) == 0;
    }
    return wcodec_fixed_choose_shift(bits, exponents, zeros, &within);
}

static void measure(struct encoders *e)
{
    const struct wcodec_fixed *f = &e->m.fixed;
    struct wcodec_fixed_counts counts;
    wcodec_error err = {0};
    memset(e->work, 0xee, (size_t)e->places.size);
    put(e, e->matrix.work, 0, e->work, e->places.size);
    ok(e->b->products->measure(e->queue, &e->matrix, &err), &err);
    get(e, e->matrix.work, 0, e->work, e->places.size);
    for (unsigned i = 0; i < CHOICES; i++) {
        const uint8_t *shifts = e->work + i * f->bands * ROWS;
        for (uint64_t row = 0; row < f->bands * ROWS; row++)
            assert_int_equal((int8_t)shifts[row],
                             row < f->rows ? choose(&e->m, WCODEC_FIXED_BITS_MIN + i, row) : 0);
        for (uint64_t tile = 0; tile < f->tiles; tile++) {
            const struct wcodec_fixed_counts expected =
                count_tile(&e->m, WCODEC_FIXED_BITS_MIN + i, shifts, tile);
            memcpy(&counts, e->work + e->places.counts + (i * f->tiles + tile) * sizeof counts,
                   sizeof counts);
            assert_memory_equal(&counts, &expected, sizeof counts);
        }
    }
    for (uint64_t i = e->places.firsts; i < e->places.size; i++)
        assert_int_equal(e->work[i], 0xee);
}

/* The work area for the payload as the reference made it. */
static void prepare(struct encoders *e)
{
    const struct support_matrix *m = &e->m;
    const struct wcodec_fixed *f = &m->fixed;
    const unsigned choice = f->bits - WCODEC_FIXED_BITS_MIN;
    uint32_t first = 0;
    memset(e->work, 0xee, (size_t)e->places.size);
    memcpy(e->work + choice * f->bands * ROWS, m->payload, (size_t)(f->bands * ROWS));
    for (uint64_t tile = 0; tile < f->tiles; tile++) {
        const struct wcodec_fixed_counts counts = count_tile(m, f->bits, m->payload, tile);
        memcpy(e->work + e->places.counts + (choice * f->tiles + tile) * sizeof counts, &counts,
               sizeof counts);
        wcodec_store_u32(e->work + e->places.firsts + 4 * tile, first);
        first += wcodec_fixed_spilled(counts, f->list);
    }
    wcodec_store_u32(e->work + e->places.differs, 0);
    put(e, e->matrix.work, 0, e->work, e->places.size);
}

static uint32_t differs(const struct encoders *e)
{
    uint8_t word[4];
    get(e, e->matrix.work, e->places.differs, word, 4);
    return wcodec_load_u32(word);
}

static void code(struct encoders *e)
{
    const struct wcodec_fixed *f = &e->m.fixed;
    uint8_t *payload = malloc((size_t)f->payload_size);
    wcodec_error err = {0};
    assert_non_null(payload);
    prepare(e);
    memset(payload, 0xee, (size_t)f->payload_size);
    memcpy(payload, e->m.payload, (size_t)f->tiles_begin);
    put(e, e->matrix.payload, 0, payload, f->payload_size);
    ok(e->b->products->code(e->queue, &e->matrix, &err), &err);
    get(e, e->matrix.payload, 0, payload, f->payload_size);
    assert_memory_equal(payload, e->m.payload, (size_t)f->payload_size);
    assert_int_equal(differs(e), 0);
    free(payload);
}

/* Other shifts where it is decoded: a computer that errs. */
static void code_wrongly(struct encoders *e)
{
    const struct wcodec_fixed *f = &e->m.fixed;
    uint8_t *shifts = malloc((size_t)(f->bands * ROWS));
    bool same = true;
    wcodec_error err = {0};
    assert_non_null(shifts);
    prepare(e);
    for (uint64_t row = 0; row < f->bands * ROWS; row++) {
        const int shift = (int8_t)e->m.payload[row];
        shifts[row] = (uint8_t)(shift > 0 ? shift - 1 : shift + 1);
    }
    put(e, e->matrix.payload, 0, shifts, f->bands * ROWS);
    for (uint64_t i = 0; i < f->rows * f->columns && same; i++) {
        const unsigned exponent = wcodec_load_u16(e->m.data + 2 * i) >> 7 & 255,
                       shift = e->m.payload[i / f->columns];
        same = exponent < 3 || exponent > 250 || (int8_t)shift < -100 ||
               (int)exponent - (int8_t)shift < 3 || (int)exponent - (int8_t)shift > 250;
    }
    ok(e->b->products->code(e->queue, &e->matrix, &err), &err);
    if (!same)
        assert_int_equal(differs(e), 1);
    free(shifts);
}

void support_encoders(const struct wcodec_backend *backend, struct wcodec_device *device,
                      unsigned matrices)
{
    struct encoders e = {.b = backend, .device = device, .seed = support_seed()};
    wcodec_error err = {0};
    ok(backend->queue_create(device, &e.queue, &err), &err);
    for (unsigned i = 0; i < matrices; i++) {
        support_matrix_make(&e.seed, 0, 0, &e.m);
        const struct wcodec_fixed *f = &e.m.fixed;
        e.places = wcodec_matrix_work(f);
        e.work = malloc((size_t)e.places.size);
        assert_non_null(e.work);
        e.matrix = (struct wcodec_matrix){.fixed = f,
                                          .elements = allocate(&e, f->size),
                                          .work = allocate(&e, e.places.size),
                                          .payload = allocate(&e, f->payload_size),
                                          .scratch = allocate(&e, SCRATCH),
                                          .scratch_size = SCRATCH};
        put(&e, e.matrix.elements, 0, e.m.data, f->size);
        measure(&e);
        code(&e);
        code_wrongly(&e);
        backend->memory_free(e.matrix.scratch);
        backend->memory_free(e.matrix.payload);
        backend->memory_free(e.matrix.work);
        backend->memory_free(e.matrix.elements);
        free(e.work);
        support_matrix_free(&e.m);
    }
    backend->queue_destroy(e.queue);
}
