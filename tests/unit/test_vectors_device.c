/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors that devices find: those of the CPU, to the last bit, with the same energies; golden
 * values; a device that has no kernels for it, no memory, and one that is lost. */
#include "support_load.h"
#include "support_memory.h"
#include "support_plugins.h"
#include "backends/backend.h"
#include "bench/gpu/ballast.h"
#include "backends/emulate/fibers.h"
#include "coding/lossy.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* What rows are like. */
enum data {
    PUBLISHED, /* the published test data */
    UNIFORM,
    TWINS,    /* few different rows, of which each is there often: all distances are ties */
    REPEATED, /* one row and another one, not of numbers of F16: some anchors never move */
    BLOBS,    /* around few places, many in one */
    NEARLY,   /* of which one bit makes the difference */
    TINY,     /* what F16 has few bits for, or none */
    SHIFTED,  /* far from the origin */
    AXIS,     /* likewise, by one dimension */
    LONG,     /* one row is 50 times as long */
    ENDS      /* of F16's numbers: differences are beyond them */
};

struct set {
    wcodec_dtype dtype;
    enum data data;
    size_t n, d;
    uint64_t anchors;
    wcodec_vectors_schedule schedule;
    wcodec_vectors_reduce reduce;
};

static float number(const struct set *s, size_t i, uint64_t *seed)
{
    const double u = (double)(support_random(seed) >> 11) * 0x1p-53;
    const size_t row = i / s->d, j = i % s->d;
    switch (s->data) {
    case PUBLISHED:
        return 5 * (float)(row % 3) + 0.5f * sinf((float)i * 0.1f);
    case TWINS:
        return (float)((row * row % 7 * (j + 3)) % 5);
    case REPEATED:
        return 0.1f * (float)(j + 3 + (row == 5));
    case BLOBS:
        return (float)(row % 5 == 0 ? row % 11 : 3) + 0.01f * (float)u;
    case NEARLY:
        return 1 + (float)((row * 7 + j) % 3) * 0x1p-10f;
    case TINY:
        return (float)(u - 0.5) * 1e-6f;
    case SHIFTED:
        return (float)(2 * u + 20);
    case AXIS:
        return (float)(2 * u - 1) + (j == 3 ? 200.0f : 0);
    case LONG:
        return (float)(2 * u - 1) * (row == 7 ? 50.0f : 1);
    case ENDS:
        return (row % 25 == 0 ? -1.0f : 1) * (65504 - (float)(int)(16 * u) * 32);
    case UNIFORM:
        break;
    }
    return (float)(20 * u - 10);
}

static void *make(const struct set *s, wcodec_vector_rows *rows)
{
    uint64_t seed = support_seed();
    uint16_t *halves = malloc(s->n * s->d * sizeof(float));
    float *floats = (float *)halves;
    assert_non_null(halves);
    for (size_t i = 0; i < s->n * s->d; i++) {
        const float x = number(s, i, &seed);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (s->dtype == WCODEC_DTYPE_F32)
            floats[i] = x;
        else
            halves[i] =
                s->dtype == WCODEC_DTYPE_F16 ? wcodec_f16_from_f32(x) : (uint16_t)(bits >> 16);
    }
    *rows =
        (wcodec_vector_rows){.dtype = s->dtype, .count = s->n, .dimensions = s->d, .data = halves};
    return halves;
}

enum { KEPT = 64 };

struct course {
    wcodec_vectors_iteration at[KEPT];
    uint64_t count;
};

/* None is left out, and none is told of twice. */
static int note(void *opaque, const wcodec_vectors_iteration *iteration)
{
    struct course *course = opaque;
    assert_int_equal(iteration->iteration, course->count + 1);
    assert_true(course->count < KEPT);
    course->at[course->count++] = *iteration;
    return 0;
}

/* What the published runs were made with. */
static wcodec_status train(wcodec_context *context, const struct set *s,
                           const wcodec_vector_rows *rows, struct course *course,
                           wcodec_vectors **vectors, wcodec_error *err)
{
    wcodec_vectors_options o;
    wcodec_vectors_options_init(&o);
    o.anchors = s->anchors;
    o.schedule = s->schedule;
    o.reduce = s->reduce;
    o.cooling = 0.05;
    o.step = 0.2;
    o.max_iterations = s->n < 100 || s->n > 60000 ? 3 : s->n < 1000 ? 6 : 50;
    o.tolerance = 1e-3;
    o.min_changes = 1;
    o.maintenance = s->n < 1000 ? 2 : 20;
    o.iteration = note;
    o.opaque = course;
    *course = (struct course){.count = 0};
    return wcodec_vectors_train(context, rows, &o, vectors, err);
}

static wcodec_vectors *train_well(wcodec_context *context, const struct set *s,
                                  const wcodec_vector_rows *rows, struct course *course)
{
    wcodec_vectors *vectors;
    wcodec_error err;
    if (train(context, s, rows, course, &vectors, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return vectors;
}

static void expect_same(const wcodec_vectors *got, const struct course *got_course,
                        const wcodec_vectors *want, const struct course *want_course)
{
    wcodec_vectors_info a, b;
    for (uint64_t i = 0; i < want_course->count && i < got_course->count; i++) {
        const wcodec_vectors_iteration *x = &got_course->at[i], *y = &want_course->at[i];
        if (x->changes != y->changes || memcmp(&x->energy, &y->energy, sizeof x->energy) != 0)
            fail_msg("iteration %u: %u changes and energy %.17g, not %u and %.17g", (unsigned)i + 1,
                     (unsigned)x->changes, x->energy, (unsigned)y->changes, y->energy);
        assert_int_equal(x->anchors, y->anchors);
        assert_int_equal(x->merged, y->merged);
        assert_int_equal(x->split, y->split);
        assert_true(x->temperature == y->temperature);
    }
    assert_int_equal(got_course->count, want_course->count);
    wcodec_vectors_describe(got, &a);
    wcodec_vectors_describe(want, &b);
    assert_int_equal(a.anchors, b.anchors);
    assert_memory_equal(a.anchor, b.anchor, a.anchors * a.dimensions * 2);
    assert_memory_equal(a.index, b.index, a.rows * 4);
}

static const struct set sets[] = {
    {WCODEC_DTYPE_F16, PUBLISHED, 300, 64, 10, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, PUBLISHED, 300, 30, 10, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_F16, PUBLISHED, 100, 64, 22, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, UNIFORM, 513, 30, 7, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, UNIFORM, 100, 100, 65, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, UNIFORM, 130, 129, 5, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, TWINS, 100, 5, 40, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, TWINS, 100, 33, 20, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_F32, REPEATED, 50, 8, 20, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, BLOBS, 300, 3, 9, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, NEARLY, 200, 48, 20, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, TINY, 100, 20, 12, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, UNIFORM, 1, 1, 1, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, UNIFORM, 40, 1, 40, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    /* By emulated tensor cores: no more rows than 70. */
    {WCODEC_DTYPE_F16, PUBLISHED, 65, 64, 10, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, UNIFORM, 70, 100, 66, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, UNIFORM, 33, 140, 9, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, NEARLY, 50, 64, 12, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, TINY, 40, 20, 12, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, TWINS, 50, 5, 30, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, ENDS, 60, 16, 9, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, ENDS, 60, 64, 20, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    /* More rows of an anchor than are sorted in local memory. */
    {WCODEC_DTYPE_F32, UNIFORM, 2100, 2, 1, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    /* Anchors begin with a sample of so many. */
    {WCODEC_DTYPE_F16, UNIFORM, 66000, 1, 3, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
};

/* Larger ones, for devices that are not emulated. */
static const struct set large[] = {
    {WCODEC_DTYPE_F16, PUBLISHED, 10000, 128, 256, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, UNIFORM, 5000, 128, 300, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, UNIFORM, 3000, 384, 70, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, UNIFORM, 3001, 64, 129, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, NEARLY, 4000, 64, 100, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, BLOBS, 20000, 32, 40, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, BLOBS, 5000, 2, 1, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, ENDS, 3000, 128, 60, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, UNIFORM, 200000, 64, 300, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
};

static const struct set small = {WCODEC_DTYPE_F16,      PUBLISHED, 40, 8, 4, WCODEC_VECTORS_COMPAT,
                                 WCODEC_VECTORS_TRIMMED};

/* Rows off the origin, or one that is long: by products few are uncertain. */
static const struct set off[] = {
    {WCODEC_DTYPE_F16, SHIFTED, 70, 64, 10, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, AXIS, 65, 50, 9, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_BF16, AXIS, 64, 130, 10, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, LONG, 70, 128, 12, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, LONG, 60, 33, 10, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
};

/* most: bytes of memory that are allowed, 0: all. NULL: there is no such device. */
static wcodec_context *open_at(const char *backend, uint64_t most, wcodec_log_level level,
                               struct support_allocator *allocator, struct support_log *logged,
                               wcodec_error *err)
{
    wcodec_options options;
    wcodec_context *context;
    support_allocator_init(allocator, SUPPORT_NEVER);
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    if (most != 0)
        options.limits.max_memory = most;
    options.allocator = allocator->allocator;
    options.log = support_keep_line;
    options.log_opaque = logged;
    options.log_level = level;
    *logged = (struct support_log){.size = 0};
    return wcodec_context_create(&options, &context, err) == WCODEC_OK ? context : NULL;
}

static wcodec_context *open_logged(const char *backend, uint64_t most,
                                   struct support_allocator *allocator, struct support_log *logged,
                                   wcodec_error *err)
{
    return open_at(backend, most, WCODEC_LOG_INFO, allocator, logged, err);
}

static struct course on_cpu, on_device;
static struct support_allocator full_allocator;
static struct support_log full_log;

static void try_set(wcodec_context *device, const struct set *s)
{
    wcodec_vector_rows rows;
    void *data = make(s, &rows);
    wcodec_context *cpu = support_context(2, NULL);
    wcodec_vectors *want = train_well(cpu, s, &rows, &on_cpu),
                   *got = train_well(device, s, &rows, &on_device);
    expect_same(got, &on_device, want, &on_cpu);
    wcodec_vectors_destroy(got);
    wcodec_vectors_destroy(want);
    wcodec_context_destroy(cpu);
    free(data);
}

/* Energies as SYSTEMS has them, of the published runs. */
static void expect_golden(wcodec_context *device)
{
    const struct set s = {WCODEC_DTYPE_F16,      PUBLISHED, 1000, 64, 32, WCODEC_VECTORS_COMPAT,
                          WCODEC_VECTORS_TRIMMED};
    wcodec_vector_rows rows;
    void *data = make(&s, &rows);
    wcodec_vectors_destroy(train_well(device, &s, &rows, &on_device));
    assert_int_equal(on_device.count, 8);
    assert_true(fabs(on_device.at[7].energy - 0.287837) < 5e-7);
    free(data);
}

static void expect_golden_log(wcodec_context *device)
{
    const struct set s = {WCODEC_DTYPE_F16,      PUBLISHED,           10000, 128, 256,
                          WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN};
    wcodec_vector_rows rows;
    void *data = make(&s, &rows);
    wcodec_vectors_destroy(train_well(device, &s, &rows, &on_device));
    assert_int_equal(on_device.count, 31);
    assert_true(fabs(on_device.at[9].energy - 0.0099) < 5e-5);
    assert_int_equal(on_device.at[9].changes, 4);
    assert_int_equal(on_device.at[20].merged, 244);
    assert_true(fabs(on_device.at[30].energy - 0.011276) < 5e-7);
    free(data);
}

static void test_devices(void **state)
{
    static const char *const names[] = {"fake", "opencl", "cuda"};
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct support_allocator allocator;
        struct support_log logged;
        setenv("WCODEC_FAKE", "", 1);
        if (d > 0 && !support_load_plugin(names[d]))
            continue;
        wcodec_context *context = open_logged(names[d], 0, &allocator, &logged, NULL);
        if (context == NULL) {
            print_message("%s: not tried\n", names[d]);
            assert_true(d > 0);
            continue;
        }
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
            try_set(context, &sets[i]);
        expect_golden(context);
        /* A processor takes its time for these. */
        for (size_t i = 0; i < sizeof large / sizeof large[0] && d == 2; i++)
            try_set(context, &large[i]);
        if (d == 2)
            expect_golden_log(context);
        print_message("%s: trained\n%s", names[d], logged.text);
        if (d > 0 || wcodec_fibers_supported())
            assert_null(strstr(logged.text, "the CPU"));
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

/* By tensor cores, of which the emulator has some. */
static void test_certain(void **state)
{
    static const char *const names[] = {"fake", "cuda"};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        if (d > 0 && !support_load_plugin(names[d]))
            continue;
        for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
            struct support_allocator allocator;
            struct support_log logged;
            unsigned compared = 0, all = 0;
            setenv("WCODEC_FAKE", "", 1);
            wcodec_context *context =
                open_at(names[d], 0, WCODEC_LOG_DEBUG, &allocator, &logged, NULL);
            if (context == NULL)
                break;
            try_set(context, &off[i]);
            const char *line = strstr(logged.text, " rows were compared with all anchors");
            assert_non_null(line);
            while (line > logged.text && line[-1] != '\n')
                line--;
            assert_int_equal(sscanf(line, "%*s %u of %u", &compared, &all), 2);
            print_message("%s, set %u: %u of %u\n", names[d], (unsigned)i, compared, all);
            assert_true(all > off[i].n && compared <= all / 20);
            wcodec_context_destroy(context);
            assert_int_equal(allocator.balance, 0);
        }
    }
    support_load_plugin(NULL);
}

/* Device memory in which so many rows have room by twos, and these anchors. */
static uint64_t room_of_parts(const struct set *s, uint64_t rows)
{
    const struct wcodec_vectors_shape shape = {.rows = rows,
                                               .dimensions = (uint32_t)s->d,
                                               .pitch = wcodec_vectors_pitch(s->d),
                                               .dtype = s->dtype,
                                               .parts = true};
    const uint64_t anchors = s->schedule == WCODEC_VECTORS_BEST ? s->anchors : 2 * s->anchors;
    const struct wcodec_vectors_places p = wcodec_vectors_places(&shape, anchors);
    const uint64_t row = (s->dtype == WCODEC_DTYPE_F32 ? 4u : 2u) * (uint64_t)shape.pitch;
    return 2 * (row * rows + p.rows_size) + p.anchors_size;
}

static void limit_room(uint64_t room)
{
    char text[32];
    snprintf(text, sizeof text, "%u", (unsigned)room);
    if (room == 0)
        unsetenv("WCODEC_FAKE_ROOM");
    else
        setenv("WCODEC_FAKE_ROOM", text, 1);
}

/* Rows that have no room there together: the same indices and energies, of parts of several
 * sizes. */
static const struct set parted[] = {
    {WCODEC_DTYPE_F16, PUBLISHED, 1000, 64, 16, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, PUBLISHED, 900, 30, 10, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_F32, UNIFORM, 1025, 30, 7, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, UNIFORM, 800, 40, 65, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F16, TWINS, 800, 5, 40, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_BF16, TWINS, 700, 33, 20, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_F32, BLOBS, 1300, 3, 9, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
    {WCODEC_DTYPE_F16, NEARLY, 770, 48, 20, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
    {WCODEC_DTYPE_F32, LONG, 800, 128, 12, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
};

/* Returns whether a sample was there by itself. */
static bool try_parts(const char *backend, uint64_t limit, const struct set *s)
{
    struct support_allocator allocator;
    struct support_log logged;
    unsigned parts = 0;
    wcodec_context *context = open_logged(backend, limit, &allocator, &logged, NULL);
    if (context == NULL) {
        print_message("%s: not tried\n", backend);
        assert_true(limit != 0);
        return false;
    }
    try_set(context, s);
    const char *line = strstr(logged.text, "rows go there in ");
    if (line == NULL || strstr(logged.text, "the CPU does") != NULL)
        fail_msg("%s, %u rows: '%s'", backend, (unsigned)s->n, logged.text);
    assert_int_equal(sscanf(line, "rows go there in %u", &parts), 1);
    assert_true(parts > 1);
    const bool sampled = strstr(logged.text, "is there by itself") != NULL;
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    return sampled;
}

static void test_parts(void **state)
{
    static const struct set of_processor = {
        WCODEC_DTYPE_F32, UNIFORM, 3000, 5, 5, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED};
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    for (size_t i = 0; i < sizeof parted / sizeof parted[0] && wcodec_fibers_supported(); i++) {
        limit_room(room_of_parts(&parted[i], parted[i].n < 1200 ? 256 : 512));
        try_parts("fake", 0, &parted[i]);
    }
    limit_room(0);
    /* Of the host's memory rows take 144000 bytes, and 96000 more while the CPU looks for anchors
     * to begin with; for a copy of all that goes there at once, 384000 would be needed. */
    if (support_load_plugin("opencl"))
        try_parts("opencl", 400000, &of_processor);
    support_load_plugin(NULL);
}

/* A sample of them has room, with which anchors begin there. */
static void test_sample_of_parts(void **state)
{
    static const struct set s = {WCODEC_DTYPE_F32,      UNIFORM, 140000, 2, 3, WCODEC_VECTORS_BEST,
                                 WCODEC_VECTORS_TRIMMED};
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    limit_room(33800000);
    if (wcodec_fibers_supported())
        assert_true(try_parts("fake", 0, &s));
    limit_room(0);
}

/* Neither has the host room for them as binary32 (test_vectors_train.c says of how much). */
static void test_apart(void **state)
{
    static const struct set s = {WCODEC_DTYPE_F16,      UNIFORM, 70000, 4, 5, WCODEC_VECTORS_BEST,
                                 WCODEC_VECTORS_TRIMMED};
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    if (wcodec_fibers_supported())
        try_parts("fake", 4500000, &s);
}

/* While the CPU looks for anchors to begin with, its copy of the rows counts beside their parts: of
 * 28800 bytes for rows and 19200 for that copy, parts with what comes back take 39000. */
static void test_start_counts(void **state)
{
    static const struct {
        uint64_t limit;
        bool there;
    } tries[] = {{85000, false}, {95000, true}};
    struct set s = small;
    wcodec_vector_rows rows;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    setenv("WCODEC_FAKE", "", 1);
    s.n = 600;
    limit_room(room_of_parts(&s, 256));
    void *data = make(&s, &rows);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        struct support_allocator allocator;
        struct support_log logged;
        wcodec_context *context = open_logged("fake", tries[i].limit, &allocator, &logged, NULL);
        assert_non_null(context);
        wcodec_vectors_destroy(train_well(context, &s, &rows, &on_device));
        if ((strstr(logged.text, "rows go there in ") != NULL) != tries[i].there)
            fail_msg("%u bytes: '%s'", (unsigned)tries[i].limit, logged.text);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    limit_room(0);
    free(data);
}

/* Of a GPU most memory is taken, so that rows have no room together. */
static void test_full_devices(void **state)
{
    static const char *const names[] = {"cuda", "opencl"};
    /* Each takes more than 100 MiB there. */
    static const struct set full[] = {
        {WCODEC_DTYPE_F32, UNIFORM, 700000, 32, 70, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
        {WCODEC_DTYPE_F16, UNIFORM, 400000, 128, 64, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED},
        {WCODEC_DTYPE_BF16, SHIFTED, 400000, 64, 40, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_PLAIN},
        {WCODEC_DTYPE_F16, BLOBS, 600000, 64, 40, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
    };
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct ballast ballast;
        if (!support_load_plugin(names[d]))
            continue;
        wcodec_context *context = open_logged(names[d], 0, &full_allocator, &full_log, NULL);
        if (context != NULL) /* NVIDIA's OpenCL has no room for its kernels later (-46) */
            try_set(context, &small);
        if (context == NULL || !ballast_take(&ballast, (uint64_t)(d == 0 ? 64 : 96) << 20)) {
            print_message("%s: not tried\n", names[d]);
            wcodec_context_destroy(context);
            continue;
        }
        for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) {
            full_log.size = 0;
            full_log.text[0] = 0;
            try_set(context, &full[i]);
            print_message("%s, set %u: %s", names[d], (unsigned)i, full_log.text);
            if (strstr(full_log.text, "rows go there in ") == NULL)
                fail_msg("set %u: all of it had room", (unsigned)i);
            /* OpenCL may look for memory at any call, and what has none is left to the CPU. */
            if (strstr(full_log.text, "the CPU does") != NULL &&
                (d == 0 || strstr(full_log.text, "MEM_OBJECT_ALLOCATION_FAILURE") == NULL))
                fail_msg("set %u was left to the CPU", (unsigned)i);
        }
        ballast_drop(&ballast);
        wcodec_context_destroy(context);
        assert_int_equal(full_allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

/* The caller stops at an iteration. */
static int stop_later(void *opaque, const wcodec_vectors_iteration *iteration)
{
    unsigned *left = opaque;
    (void)iteration;
    return (*left)-- == 0;
}

/* Or before a part: where the work goes to the caller's threads the `at`-th time, as a part's rows
 * do before they go to the device, time passes until the caller is asked, who says to stop. */
struct stopping {
    unsigned runs, at;
};

static void run_here(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                     size_t count)
{
    static const struct timespec asked_every = {.tv_nsec = 210000000};
    struct stopping *s = opaque;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
    if (++s->runs == s->at)
        nanosleep(&asked_every, NULL);
}

static int stop_there(void *opaque, uint64_t done, uint64_t total)
{
    const struct stopping *s = opaque;
    (void)done, (void)total;
    return s->at != 0 && s->runs >= s->at;
}

/* Rows in five parts; stopping NULL: they stop at that iteration. */
static void train_in_parts(const struct set *s, const wcodec_vector_rows *rows,
                           struct stopping *stopping, unsigned iterations, wcodec_status want)
{
    struct support_allocator allocator;
    struct support_log logged = {.size = 0};
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_options o;
    wcodec_options options;
    wcodec_context *context;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.allocator = allocator.allocator;
    options.log = support_keep_line;
    options.log_opaque = &logged;
    options.log_level = WCODEC_LOG_INFO;
    wcodec_vectors_options_init(&o);
    o.anchors = s->anchors;
    o.schedule = s->schedule;
    o.reduce = s->reduce;
    o.tolerance = 0;
    o.max_iterations = stopping != NULL ? iterations : 10;
    if (stopping != NULL) {
        options.executor.run = run_here;
        options.executor.opaque = stopping;
        options.executor.concurrency = 1;
        o.progress.fn = stop_there;
        o.progress.opaque = stopping;
    } else {
        o.iteration = stop_later;
        o.opaque = &iterations;
    }
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_vectors_train(context, rows, &o, &vectors, NULL), want);
    assert_true((vectors != NULL) == (want == WCODEC_OK));
    assert_non_null(strstr(logged.text, "rows go there in 5 parts"));
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

static void test_cancelled(void **state)
{
    struct set s = small;
    struct stopping one = {0}, two = {0};
    wcodec_vector_rows rows;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    setenv("WCODEC_FAKE", "", 1);
    s.n = 2348;
    s.reduce = WCODEC_VECTORS_PLAIN;
    limit_room(room_of_parts(&s, 1024)); /* parts have half of it */
    void *data = make(&s, &rows);
    train_in_parts(&s, &rows, &one, 1, WCODEC_OK);
    train_in_parts(&s, &rows, &two, 2, WCODEC_OK);
    /* What an iteration gives the caller's threads to do is its parts. */
    assert_int_equal(two.runs, one.runs + 5);
    for (unsigned at = one.runs + 1; at <= two.runs; at++) {
        struct stopping stopping = {.at = at};
        train_in_parts(&s, &rows, &stopping, 2, WCODEC_ERROR_CANCELLED);
        assert_int_equal(stopping.runs, at); /* nothing of the next part */
    }
    for (unsigned i = 0; i < 3; i++)
        train_in_parts(&s, &rows, NULL, i, WCODEC_ERROR_CANCELLED);
    limit_room(0);
    free(data);
}

/* Rows of which no products are made have no centre, for which rows of F16 would be there once
 * more, and the log tells of none: because they are too long, or the device has no tensor cores. */
static void try_uncentred(const struct set *s)
{
    const struct wcodec_vectors_shape shape = {.rows = s->n,
                                               .dimensions = (uint32_t)s->d,
                                               .pitch = wcodec_vectors_pitch(s->d),
                                               .dtype = s->dtype};
    const struct wcodec_vectors_places places = wcodec_vectors_places(&shape, 2 * s->anchors);
    struct support_allocator allocator;
    struct support_log logged;
    char mode[32];
    snprintf(mode, sizeof mode, "room-%u",
             (unsigned)(2 * s->n * shape.pitch + places.rows_size + places.anchors_size));
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_at("fake", 0, WCODEC_LOG_DEBUG, &allocator, &logged, NULL);
    assert_non_null(context);
    try_set(context, s);
    if (strstr(logged.text, "the CPU does") != NULL || strstr(logged.text, "rows ") != NULL)
        fail_msg("%s", logged.text);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    setenv("WCODEC_FAKE", "", 1);
}

static void test_uncentred(void **state)
{
    static const struct set sets_of[] = {
        {WCODEC_DTYPE_F16, SHIFTED, 60, 1100, 4, WCODEC_VECTORS_COMPAT, WCODEC_VECTORS_TRIMMED},
        {WCODEC_DTYPE_F16, SHIFTED, 300, 64, 4, WCODEC_VECTORS_BEST, WCODEC_VECTORS_TRIMMED}};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    for (size_t i = 0; i < sizeof sets_of / sizeof sets_of[0]; i++)
        try_uncentred(&sets_of[i]);
}

/* What the CPU is left to do it does: no kernels, ones that do not compile, no memory of the
 * device's, and a limit that has no room for what goes there (2728 bytes are the CPU's, and 1536
 * what anchors begin with). */
static void test_left_to_cpu(void **state)
{
    static const char *const modes[] = {"novectors", "late-nocoders", "memory-1", "memory-2",
                                        "memory-3",  "memory-4",      ""};
    wcodec_vector_rows rows;
    wcodec_error err = {0};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    void *data = make(&small, &rows);
    wcodec_context *cpu = support_context(1, NULL);
    wcodec_vectors *want = train_well(cpu, &small, &rows, &on_cpu);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct support_allocator allocator;
        struct support_log logged;
        setenv("WCODEC_FAKE", modes[i], 1);
        wcodec_context *context =
            open_logged("fake", *modes[i] ? 0 : 4400, &allocator, &logged, &err);
        assert_non_null(context);
        wcodec_vectors *got = train_well(context, &small, &rows, &on_device);
        expect_same(got, &on_device, want, &on_cpu);
        if (strstr(logged.text, "the CPU does") == NULL)
            fail_msg("%s: '%s'", modes[i], logged.text);
        wcodec_vectors_destroy(got);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    setenv("WCODEC_FAKE", "", 1);
    wcodec_vectors_destroy(want);
    wcodec_context_destroy(cpu);
    free(data);
}

/* A device that does nothing and says that it did, or nothing more: no anchors come of it, and
 * indices of none are not followed. */
static void test_idle(void **state)
{
    struct set of[3] = {small, small, small};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    of[1].schedule = of[2].schedule = WCODEC_VECTORS_BEST;
    of[2].n = 600;
    for (unsigned i = 0; i < 7; i++) {
        const struct set *s = &of[i % 3];
        struct support_allocator allocator;
        struct support_log logged;
        wcodec_vectors *got = NULL;
        wcodec_vector_rows rows;
        wcodec_error err = {0};
        setenv("WCODEC_FAKE", i == 6 ? "late-stale" : "late-idle", 1);
        limit_room(i % 3 == 2 ? room_of_parts(s, 256) : 0);
        void *data = make(s, &rows);
        wcodec_context *context =
            open_logged(i < 3 ? "fake" : "fake,cpu", 0, &allocator, &logged, &err);
        assert_non_null(context);
        const wcodec_status status = train(context, s, &rows, &on_device, &got, &err);
        print_message("%u: %s%s\n", i, err.text, logged.text);
        assert_int_equal(status, i < 3 ? WCODEC_ERROR_DEVICE : WCODEC_OK);
        assert_non_null(strstr(i < 3 ? err.text : logged.text, "computes wrongly"));
        assert_true(i < 6 || strstr(logged.text, "is the nearest") != NULL);
        wcodec_vectors_destroy(got);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        free(data);
    }
    setenv("WCODEC_FAKE", "", 1);
    limit_room(0);
}

/* A device that is lost at call number `at`; false: it was not called so often. Where the CPU may,
 * it does all again, and no iteration is told of twice. */
static bool lost_at(unsigned at, const char *backend, const struct set *s,
                    const wcodec_vector_rows *rows, const wcodec_vectors *want)
{
    char mode[32];
    struct support_allocator allocator;
    struct support_log logged;
    wcodec_vectors *got = NULL;
    wcodec_error err = {0};
    snprintf(mode, sizeof mode, "lost-%u", at);
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_logged(backend, 0, &allocator, &logged, &err);
    assert_non_null(context);
    const wcodec_status status = train(context, s, rows, &on_device, &got, &err);
    const bool lost = strstr(logged.text, "is used no more") != NULL;
    if (strchr(backend, ',') != NULL || !lost) {
        assert_int_equal(status, WCODEC_OK);
        expect_same(got, &on_device, want, &on_cpu);
    } else {
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "fell off its bus"));
        assert_null(got);
    }
    wcodec_vectors_destroy(got);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    return lost;
}

static void test_lost(void **state)
{
    static const char *const backends[] = {"fake", "fake,cpu"};
    struct set of[3] = {small, small, small};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    of[1].schedule = of[2].schedule = WCODEC_VECTORS_BEST;
    of[2].n = 600;
    wcodec_context *cpu = support_context(1, NULL);
    for (unsigned i = 0; i < 6; i++) {
        const struct set *s = &of[i % 3];
        limit_room(i % 3 == 2 ? room_of_parts(s, 256) : 0);
        wcodec_vector_rows rows;
        void *data = make(s, &rows);
        wcodec_vectors *want = train_well(cpu, s, &rows, &on_cpu);
        unsigned calls = 1;
        while (lost_at(calls, backends[i / 3], s, &rows, want))
            calls += calls < 40 ? 1 : 7;
        print_message("%s: lost at calls up to %u\n", backends[i / 3], calls);
        assert_true(calls > 20);
        wcodec_vectors_destroy(want);
        free(data);
    }
    setenv("WCODEC_FAKE", "", 1);
    limit_room(0);
    wcodec_context_destroy(cpu);
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
    wcodec_vector_rows rows;
    long fails = 0;
    (void)state;
    void *data = make(&small, &rows);
    for (bool through = false; !through; fails++) {
        struct support_allocator allocator;
        wcodec_options options;
        wcodec_context *context = NULL;
        wcodec_vectors *vectors = NULL;
        wcodec_error err = {0};
        support_allocator_init(&allocator, fails);
        wcodec_options_init(&options);
        options.backend = "fake";
        options.threads = 1;
        options.allocator = allocator.allocator;
        wcodec_status status = wcodec_context_create(&options, &context, &err);
        if (status == WCODEC_OK)
            status = train(context, &small, &rows, &on_device, &vectors, &err);
        through = status == WCODEC_OK;
        if (!through && status != WCODEC_ERROR_MEMORY && status != WCODEC_ERROR_BACKEND)
            fail_msg("allocation %ld: %s", fails, err.text);
        wcodec_vectors_destroy(vectors);
        if (context != NULL)
            wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    print_message("%ld allocations\n", fails - 1);
    assert_true(fails > 8);
    free(data);
}

/* full: only what a device has no memory for. */
int main(int argc, char **argv)
{
    const struct CMUnitTest full[] = {cmocka_unit_test(test_full_devices)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_start_counts),
                                       cmocka_unit_test(test_full_devices),
                                       cmocka_unit_test(test_cancelled),
                                       cmocka_unit_test(test_apart),
                                       cmocka_unit_test(test_sample_of_parts),
                                       cmocka_unit_test(test_uncentred),
                                       cmocka_unit_test(test_certain),
                                       cmocka_unit_test(test_left_to_cpu),
                                       cmocka_unit_test(test_idle),
                                       cmocka_unit_test(test_lost),
                                       cmocka_unit_test(test_memory)};
    if (argc > 1 && strcmp(argv[1], "full") == 0)
        return cmocka_run_group_tests(full, support_find_plugins, NULL);
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
