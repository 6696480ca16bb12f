/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_coding.h"

#include "coding/histogram.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "encode/assemble.h"
#include "encode/tables.h"

enum { ELEMENTS = 14000, MANY = 40, GUARD = 64, GUARD_BYTE = 0xee, DISTRIBUTIONS = 10 };

static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,     WCODEC_DTYPE_F32,
                                      WCODEC_DTYPE_I8,   WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_F8_E5M2,
                                      WCODEC_DTYPE_U8,   WCODEC_DTYPE_I16,     WCODEC_DTYPE_I32};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

struct coding {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    wcodec_context *context;
    uint64_t seed;
    uint64_t modes[3]; /* how many tiles had it */
    unsigned outliers; /* tensors with many in a tile */
    unsigned done;
    unsigned plans; /* made from a device's counts alone */
};

/* A tensor, and a plan that was made for it or for another one of its size. */
struct tensor {
    wcodec_dtype dtype;
    uint64_t elements, size;
    uint8_t *data;
    struct wcodec_encode_settings settings;
    struct wcodec_plan *plan;
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

/* About normal, with a spread of some powers of two. */
static double gaussian(uint64_t *seed)
{
    const uint64_t v = support_random(seed);
    double sum = -4 * 255.5;
    for (unsigned i = 0; i < 8; i++)
        sum += (double)(v >> 8 * i & 255);
    return sum / 400;
}

static uint64_t element_of(wcodec_dtype dtype, double v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const uint32_t exponent = bits >> 23 & 255, sign = bits >> 31;
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return bits >> 16;
    case WCODEC_DTYPE_F16:
        return sign << 15 | (exponent > 112 && exponent < 143 ? exponent - 112 : 0) << 10 |
               (bits >> 13 & 0x3ff);
    case WCODEC_DTYPE_F32:
        return bits;
    case WCODEC_DTYPE_F8_E4M3:
        return sign << 7 | (exponent > 120 && exponent < 136 ? exponent - 120 : 0) << 3 |
               (bits >> 20 & 7);
    case WCODEC_DTYPE_F8_E5M2:
        return sign << 7 | (exponent > 112 && exponent < 143 ? exponent - 112 : 0) << 2 |
               (bits >> 21 & 3);
    default:
        return (uint64_t)(int64_t)(v * 30);
    }
}

static uint64_t random_element(uint64_t *seed, unsigned distribution, wcodec_dtype dtype,
                               uint64_t i)
{
    const uint64_t r = support_random(seed), one = element_of(dtype, 0.7),
                   other = element_of(dtype, -0.01);
    switch (distribution) {
    case 0:
    case 1:
        return element_of(dtype, gaussian(seed) * 0.3);
    case 2: /* one value, seldom another */
        return r % 1000 == 0 ? r >> 32 : one;
    case 3: /* two values */
        return r % 3 ? one : other;
    case 4: /* everything, NaNs too */
        return r;
    case 5: /* tiles that differ */
        return i >> 12 & 1 ? r : i >> 13 & 1 ? one : element_of(dtype, gaussian(seed));
    case 6: /* many values of many sizes */
        return element_of(dtype, gaussian(seed) / (double)(1 + (r & (r >> 8) & 0xfff)));
    case 7: /* NaNs and infinities */
        return r % 50 ? element_of(dtype, gaussian(seed)) : UINT64_MAX << (r >> 8) % 8;
    case 8: /* a tenth are outliers */
        return element_of(dtype, r % 10 ? gaussian(seed) * 0.3 : 1e-30);
    default: /* zeros, seldom something */
        return r % 64 ? 0 : element_of(dtype, gaussian(seed));
    }
}

static uint8_t *random_data(struct coding *c, const struct tensor *t, unsigned distribution)
{
    const unsigned size = 1u << wcodec_dtype_element_log2(t->dtype);
    uint8_t *data = malloc((size_t)t->size);
    assert_non_null(data);
    for (uint64_t i = 0; i < t->elements; i++)
        wcodec_store_uint(data + i * size, random_element(&c->seed, distribution, t->dtype, i),
                          size);
    return data;
}

/* A plan by `data`; false where there is none, since all elements are equal. */
static bool make_plan(struct coding *c, struct tensor *t, const uint8_t *data)
{
    struct wcodec_statistics statistics;
    wcodec_error err = {0};
    ok(wcodec_statistics_gather(c->context, t->dtype, data, t->size, t->settings.level, &statistics,
                                &err),
       &err);
    if (statistics.any == statistics.all)
        return false;
    ok(wcodec_plan_tensor(c->context, &t->settings, t->dtype, data, t->size, &statistics, &t->plan,
                          &err),
       &err);
    return true;
}

static bool has_constant_field(const struct wcodec_tiling *t)
{
    for (unsigned i = 0; i < t->field_count; i++)
        if (t->fields[i].kind == WCODEC_FIELD_CONSTANT)
            return true;
    return false;
}

/* Of most tensors the plan is made by another one: everything may be an outlier. Where it says that
 * bits are constant it is for that one alone. */
static bool make_tensor(struct coding *c, struct tensor *t, bool many_outliers)
{
    static const uint8_t profiles[] = {0, 0, WCODEC_PAIRS, WCODEC_P12, WCODEC_P8};
    const uint64_t r = support_random(&c->seed);
    *t = (struct tensor){.dtype = many_outliers ? WCODEC_DTYPE_F32 : dtypes[r % DTYPES],
                         .settings = {.level = r >> 8 & 1 ? 3 : 1,
                                      .profile = profiles[(r >> 16) % 5],
                                      .tile_log2 = (uint8_t)(r >> 24 & 3 ? 12 : 13),
                                      .weights = true}};
    t->elements = 1 + (r >> 32) % (r >> 27 & 3 ? ELEMENTS : 300);
    if (r >> 30 & 1)
        t->elements = (t->elements + 127) / 128 * 128;
    t->elements += many_outliers ? ELEMENTS / 2 : 0;
    t->size = t->elements << wcodec_dtype_element_log2(t->dtype);
    uint8_t *model =
        random_data(c, t, many_outliers || (r >> 56) % 4 ? 0 : (unsigned)(r >> 58) % DISTRIBUTIONS);
    if (!make_plan(c, t, model)) {
        free(model);
        return false;
    }
    if ((r >> 62 & 1 && !many_outliers) || has_constant_field(t->plan->tiling)) {
        t->data = model;
        return true;
    }
    free(model);
    t->data = random_data(c, t, many_outliers ? 8 : (unsigned)(r >> 48) % DISTRIBUTIONS);
    return true;
}

static struct wcodec_memory *allocate(const struct coding *c, uint64_t size)
{
    wcodec_error err = {0};
    struct wcodec_memory *memory;
    ok(c->b->memory_allocate(c->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

static void put(const struct coding *c, struct wcodec_memory *memory, const void *data,
                uint64_t size)
{
    wcodec_error err = {0};
    ok(c->b->copy_in(c->queue, memory, 0, data, size, &err), &err);
    ok(c->b->queue_wait(c->queue, &err), &err);
}

static uint8_t *get(const struct coding *c, struct wcodec_memory *memory, uint64_t at,
                    uint64_t size)
{
    wcodec_error err = {0};
    uint8_t *data = malloc((size_t)size + 1);
    assert_non_null(data);
    ok(c->b->copy_out(c->queue, data, memory, at, size, &err), &err);
    ok(c->b->queue_wait(c->queue, &err), &err);
    return data;
}

/* Memory of so many bytes, which are not zero, and a guard. */
static struct wcodec_area_place place(const struct coding *c, uint64_t size)
{
    uint8_t *bytes = malloc((size_t)size + GUARD);
    assert_non_null(bytes);
    memset(bytes, GUARD_BYTE, (size_t)size + GUARD);
    struct wcodec_area_place p = {.memory = allocate(c, size + GUARD), .size = size};
    put(c, p.memory, bytes, size + GUARD);
    free(bytes);
    return p;
}

/* The first bytes are these, and past the end there is nothing. */
static void check_place(const struct coding *c, const struct wcodec_area_place *p,
                        const uint8_t *expected, uint64_t size)
{
    uint8_t *bytes = get(c, p->memory, p->offset, p->size + GUARD);
    for (uint64_t i = p->size; i < p->size + GUARD; i++)
        assert_int_equal(bytes[i], GUARD_BYTE);
    if (size <= p->size)
        assert_memory_equal(bytes, expected, (size_t)size);
    free(bytes);
}

/* Room for `share` parts in four of what an area takes, where that may be too little. */
static void make_places(const struct coding *c, const struct wcodec_tensor_totals *totals,
                        unsigned share, struct wcodec_tensor_coding *coding)
{
    const struct wcodec_tiling *t = coding->tiling;
    const uint64_t full = wcodec_tile_raw_size(t, 1u << t->tile_log2, WCODEC_STREAM_RANS),
                   usual = (t->tiles - 1) * full +
                           wcodec_tile_raw_size(t, wcodec_tile_elements(t, t->tiles - 1),
                                                WCODEC_STREAM_RANS);
    coding->directory = place(c, 12 * t->tiles);
    coding->areas[WCODEC_AREA_STATES] = place(c, 128 * t->tiles);
    coding->areas[WCODEC_AREA_WORDS] = place(c, totals->words / 2 * share);
    coding->areas[WCODEC_AREA_RAW] =
        place(c, usual > totals->raw / 4 * share ? usual : totals->raw / 4 * share);
    coding->areas[WCODEC_AREA_POSITIONS] = place(c, totals->outliers * share / 4 * 2);
    coding->areas[WCODEC_AREA_VALUES] = place(c, totals->outliers * share / 4);
}

static void count_modes(struct coding *c, const struct wcodec_tiles *tiles,
                        struct wcodec_tensor_totals *totals)
{
    const struct wcodec_tiling *t = tiles->tiling;
    bool many = false;
    *totals = (struct wcodec_tensor_totals){0};
    for (uint64_t i = 0; i < t->tiles; i++) {
        const struct wcodec_stream *s = &tiles->streams[i];
        c->modes[s->mode]++;
        many |= s->outliers > 1u << (t->tile_log2 - 4);
        totals->words += s->words;
        totals->streams += s->mode == WCODEC_STREAM_RANS;
        totals->raw += wcodec_tile_raw_size(t, wcodec_tile_elements(t, i), s->mode);
        totals->outliers += s->outliers;
    }
    c->outliers += many;
}

static void fill_table(const struct coding *c, const struct wcodec_encode_table *table,
                       struct wcodec_tensor_coding *coding)
{
    const struct wcodec_tensor_work w = wcodec_tensor_work(coding->tiling);
    struct wcodec_device_table device;
    wcodec_table_for_device(table, &device);
    coding->base = table->table.base;
    coding->common = table->most_frequent;
    coding->work = place(c, w.size).memory;
    put(c, coding->work, &device, sizeof device);
}

static void free_places(const struct coding *c, const struct wcodec_tensor_coding *coding)
{
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        c->b->memory_free(coding->areas[a].memory);
    c->b->memory_free(coding->directory.memory);
    c->b->memory_free(coding->work);
}

/* The device's parts of the payload against the whole one. */
static void code(struct coding *c, const struct wcodec_tiles *tiles, const uint8_t *payload,
                 const struct wcodec_encode_table *table, struct wcodec_memory *elements,
                 const struct wcodec_tensor_totals *totals, unsigned share)
{
    const struct wcodec_tiling *t = tiles->tiling;
    const struct wcodec_tensor_work w = wcodec_tensor_work(t);
    struct wcodec_tensor_coding coding = {.tiling = t, .elements = elements};
    wcodec_error err = {0};
    make_places(c, totals, share, &coding);
    fill_table(c, table, &coding);
    ok(c->b->encoders->code(c->queue, &coding, &err), &err);
    uint8_t *found = get(c, coding.work, w.totals, sizeof *totals);
    assert_memory_equal(found, totals, sizeof *totals);
    free(found);
    const uint64_t directory =
        tiles->area_begin[WCODEC_AREA_STATES] - wcodec_align_u64(12 * t->tiles, 16);
    check_place(c, &coding.directory, payload + directory, 12 * t->tiles);
    const uint64_t sizes[WCODEC_AREAS] = {128 * totals->streams, 2 * totals->words, totals->raw,
                                          2 * totals->outliers, totals->outliers};
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        check_place(c, &coding.areas[a], payload + tiles->area_begin[a], sizes[a]);
    free_places(c, &coding);
}

static void decode(const struct wcodec_tiles *tiles, const uint8_t *payload, const uint8_t *data)
{
    const struct wcodec_tiling *t = tiles->tiling;
    const size_t tile_size = (size_t)1 << (t->tile_log2 + t->element_log2);
    uint8_t *out = malloc(tile_size);
    struct wcodec_view view;
    assert_non_null(out);
    wcodec_view_whole(payload, &view);
    for (uint64_t i = 0; i < t->tiles; i++) {
        assert_int_equal(wcodec_tile_decode(tiles, &view, i, out, true), WCODEC_TILE_OK);
        assert_memory_equal(out, data + i * tile_size,
                            (size_t)wcodec_tile_elements(t, i) << t->element_log2);
    }
    free(out);
}

/* By the CPU, then by the device: with room, and with too little. */
static void compare(struct coding *c, struct tensor *t)
{
    struct wcodec_coded coded;
    struct wcodec_tiles *tiles;
    struct wcodec_tensor_totals totals;
    wcodec_error err = {0};
    ok(wcodec_payload_code(c->context, &t->settings, t->plan, t->data, &coded, &err), &err);
    uint8_t *payload = malloc((size_t)coded.payload_size);
    assert_non_null(payload);
    wcodec_coded_join(&coded, payload);
    ok(wcodec_tiles_read(coded.tiling, payload, coded.payload_size, &wcodec_default_allocator,
                         &tiles, &err),
       &err);
    count_modes(c, tiles, &totals);
    decode(tiles, payload, t->data);
    struct wcodec_memory *elements = allocate(c, t->size);
    put(c, elements, t->data, t->size);
    code(c, tiles, payload, &t->plan->tables[0][0], elements, &totals, 4);
    if (c->done % 4 == 0)
        code(c, tiles, payload, &t->plan->tables[0][0], elements, &totals, c->done / 4 % 4);
    c->b->memory_free(elements);
    wcodec_tiles_free(tiles);
    wcodec_coded_free(&coded);
    free(payload);
    c->done++;
}

/* What the device counts of a tensor, as statistics. False: it is the CPU that counts. */
static bool measure(const struct coding *c, wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                    int level, struct wcodec_statistics *statistics)
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    const struct wcodec_measure_work w = wcodec_measure_work(size >> log2);
    struct wcodec_area_place elements = place(c, size), work = place(c, w.size);
    struct wcodec_tensor_measure m = {.elements = elements.memory,
                                      .work = work.memory,
                                      .count = size >> log2,
                                      .element_log2 = log2};
    wcodec_error err = {0};
    const bool counts = wcodec_statistics_measure(dtype, size, level, m.fields, &m.field_count);
    assert_int_equal(counts, m.count > WCODEC_COUNT_BLOCK);
    if (!counts) {
        c->b->memory_free(elements.memory);
        c->b->memory_free(work.memory);
        return false;
    }
    put(c, elements.memory, data, size);
    put(c, work.memory, wcodec_log2_table, sizeof wcodec_log2_table);
    ok(c->b->encoders->measure(c->queue, &m, &err), &err);
    struct wcodec_measured *found = (void *)get(c, work.memory, w.result, sizeof *found);
    wcodec_statistics_measured(dtype, size, found, statistics);
    check_place(c, &work, (const uint8_t *)wcodec_log2_table, sizeof wcodec_log2_table);
    free(found);
    c->b->memory_free(elements.memory);
    c->b->memory_free(work.memory);
    return true;
}

/* Of what varies the CPU looks until nothing more can change a decision. */
static void same_statistics(const struct wcodec_statistics *own,
                            const struct wcodec_statistics *device, wcodec_dtype dtype, int level)
{
    struct wcodec_split splits[2][WCODEC_MAX_SPLITS];
    uint64_t bits[2];
    memset(splits, 0, sizeof splits);
    assert_int_equal(own->any | device->any, device->any);
    assert_int_equal(own->all & device->all, device->all);
    assert_int_equal(own->any == own->all, device->any == device->all);
    for (unsigned a = 0; a < own->atom_count; a++) {
        assert_memory_equal(own->counts[a], device->counts[a], sizeof own->counts[a]);
        assert_int_equal(own->block_bits[a], device->block_bits[a]);
        assert_int_equal(own->counted[a], device->counted[a]);
        assert_int_equal(own->held[a], device->held[a]);
        assert_int_equal(own->entropy[a], device->entropy[a]);
    }
    if (own->any == own->all)
        return;
    const unsigned count = wcodec_split_candidates(own, dtype, false, level, splits[0], &bits[0]);
    assert_int_equal(wcodec_split_candidates(device, dtype, false, level, splits[1], &bits[1]),
                     count);
    assert_memory_equal(splits[0], splits[1], count * sizeof splits[0][0]);
    assert_int_equal(bits[0], bits[1]);
}

/* At level 1 a plan needs the counts alone as a rule; it makes the same payload then. */
static void same_plan(struct coding *c, const struct wcodec_statistics *own,
                      const struct wcodec_statistics *device, wcodec_dtype dtype,
                      const uint8_t *data, uint64_t size)
{
    const struct wcodec_encode_settings settings = {.level = 1, .weights = true};
    struct wcodec_plan *plans[2];
    struct wcodec_coded coded[2];
    uint8_t *payloads[2];
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_plan_tensor(c->context, &settings, dtype, NULL, size, device, &plans[1], &err);
    if (status == WCODEC_ERROR_UNSUPPORTED)
        return;
    ok(status, &err);
    ok(wcodec_plan_tensor(c->context, &settings, dtype, data, size, own, &plans[0], &err), &err);
    for (unsigned i = 0; i < 2; i++) {
        ok(wcodec_payload_code(c->context, &settings, plans[i], data, &coded[i], &err), &err);
        payloads[i] = malloc((size_t)coded[i].payload_size);
        assert_non_null(payloads[i]);
        wcodec_coded_join(&coded[i], payloads[i]);
        wcodec_plan_free(plans[i]);
    }
    assert_int_equal(coded[0].payload_size, coded[1].payload_size);
    assert_memory_equal(payloads[0], payloads[1], (size_t)coded[0].payload_size);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_coded_free(&coded[i]);
        free(payloads[i]);
    }
    c->plans++;
}

static void compare_measures(struct coding *c, struct tensor *t, unsigned distribution, int level)
{
    struct wcodec_statistics own, device;
    wcodec_error err = {0};
    t->size = t->elements << wcodec_dtype_element_log2(t->dtype);
    t->data = random_data(c, t, distribution);
    if (distribution == DISTRIBUTIONS) /* all are equal */
        for (uint64_t i = 0, step = t->size / t->elements; i < t->size; i++)
            t->data[i] = t->data[i % step];
    ok(wcodec_statistics_gather(c->context, t->dtype, t->data, t->size, level, &own, &err), &err);
    const bool measured = measure(c, t->dtype, t->data, t->size, level, &device);
    if (measured)
        same_statistics(&own, &device, t->dtype, level);
    if (measured && level == 1 && own.any != own.all)
        same_plan(c, &own, &device, t->dtype, t->data, t->size);
    free(t->data);
}

/* Small ones, some of one block; of which every fourth is counted, and every 32nd. */
static void compare_all_measures(struct coding *c, unsigned tensors)
{
    static const int levels[] = {1, 3, 9};
    for (unsigned i = 0; i < tensors; i++) {
        const uint64_t r = support_random(&c->seed);
        struct tensor t = {.dtype = dtypes[r % DTYPES],
                           .elements = 1 + (r >> 32) % (r >> 8 & 3 ? 3 * ELEMENTS : 5000)};
        compare_measures(c, &t, i % (DISTRIBUTIONS + 1), levels[(r >> 16) % 3]);
    }
    for (unsigned i = 0; i < 2 && tensors >= MANY; i++) {
        struct tensor t = {.dtype = i == 0 ? WCODEC_DTYPE_F32 : WCODEC_DTYPE_BF16,
                           .elements = i == 0 ? 128 * 4096 + 77 : 512 * 4096 - 3};
        compare_measures(c, &t, 1, 3);
    }
    assert_true(tensors < MANY || c->plans > 0);
}

void support_coding(const struct wcodec_backend *backend, struct wcodec_device *device,
                    unsigned tensors, bool must)
{
    struct coding c = {.b = backend, .device = device, .seed = support_seed()};
    wcodec_options options;
    wcodec_error err = {0};
    wcodec_options_init(&options);
    options.backend = "cpu";
    ok(wcodec_context_create(&options, &c.context, &err), &err);
    ok(backend->queue_create(device, &c.queue, &err), &err);
    for (unsigned i = 0; i < tensors; i++) {
        struct tensor t;
        if (!make_tensor(&c, &t, i % 16 == 0))
            continue;
        if (backend->encoders->supports(device, t.plan->tiling))
            compare(&c, &t);
        wcodec_plan_free(t.plan);
        free(t.data);
    }
    if (c.done > 0 && backend->encoders->measure != NULL)
        compare_all_measures(&c, tensors);
    print_message("%u tensors, tiles by mode %llu, %llu, %llu, %u with many outliers\n", c.done,
                  (unsigned long long)c.modes[0], (unsigned long long)c.modes[1],
                  (unsigned long long)c.modes[2], c.outliers);
    /* Most tensors are of a kind that is coded; of many nothing was left out. */
    if (must || c.done > 0)
        assert_true(c.done > tensors / 4);
    for (unsigned mode = 0; mode < 3; mode++)
        assert_true(c.done < MANY || c.modes[mode] > 0);
    assert_true(c.done < MANY || c.outliers > 0);
    backend->queue_destroy(c.queue);
    wcodec_context_destroy(c.context);
}
