/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vectors: golden values of the published runs, the same results by every number of threads,
 * energies of the default schedule, input that is refused, failing memory, and the files. */
#include "support_memory.h"

#include "coding/lossy.h"
#include <wcodec/search.h>

#include <math.h>
#include <stdatomic.h>

/* The published test data, as F16. */
static uint16_t *make_rows(size_t n, size_t d, wcodec_vector_rows *rows)
{
    uint16_t *data = malloc(n * d * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n * d; i++)
        data[i] = wcodec_f16_from_f32(5 * (float)(i / d % 3) + 0.5f * sinf((float)i * 0.1f));
    *rows =
        (wcodec_vector_rows){.dtype = WCODEC_DTYPE_F16, .count = n, .dimensions = d, .data = data};
    return data;
}

/* What the published runs were made with. */
static void set_published(wcodec_vectors_options *o, uint64_t anchors)
{
    wcodec_vectors_options_init(o);
    o->anchors = anchors;
    o->schedule = WCODEC_VECTORS_COMPAT;
    o->cooling = 0.05;
    o->step = 0.2;
    o->max_iterations = 50;
    o->tolerance = 1e-3;
    o->min_changes = 1;
    o->maintenance = 20;
}

enum { KEPT = 64 };

struct course {
    wcodec_vectors_iteration at[KEPT];
    uint64_t count, stop;
};

static int note(void *opaque, const wcodec_vectors_iteration *iteration)
{
    struct course *course = opaque;
    if (course->count < KEPT)
        course->at[course->count] = *iteration;
    course->count++;
    return course->stop != 0 && course->count >= course->stop;
}

static wcodec_vectors *train(unsigned threads, const wcodec_vector_rows *rows,
                             wcodec_vectors_options *o, struct course *course)
{
    wcodec_context *context = support_context(threads, NULL);
    wcodec_vectors *vectors;
    wcodec_error err;
    *course = (struct course){0};
    o->iteration = note;
    o->opaque = course;
    if (wcodec_vectors_train(context, rows, o, &vectors, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_context_destroy(context);
    return vectors;
}

static void expect_golden(size_t n, size_t d, uint64_t anchors, wcodec_vectors_reduce reduce,
                          uint64_t iterations, uint64_t at, double energy, double error)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct course course;
    uint16_t *data = make_rows(n, d, &rows);
    set_published(&o, anchors);
    o.reduce = reduce;
    wcodec_vectors_destroy(train(2, &rows, &o, &course));
    if (iterations != 0)
        assert_int_equal(course.count, iterations);
    if (fabs(course.at[at - 1].energy - energy) > error)
        fail_msg("energy %.7f, not %.7f", course.at[at - 1].energy, energy);
    free(data);
}

static void golden(void **state)
{
    (void)state;
    expect_golden(1000, 64, 32, WCODEC_VECTORS_TRIMMED, 8, 8, 0.287837, 5e-7);
    expect_golden(300, 64, 10, WCODEC_VECTORS_TRIMMED, 0, 20, 2.339, 5e-4);
}

/* The published log; under ThreadSanitizer the small cases say as much. */
static void golden_log(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct course course;
    (void)state;
    if (SUPPORT_TSAN)
        skip();
    uint16_t *data = make_rows(10000, 128, &rows);
    set_published(&o, 256);
    o.reduce = WCODEC_VECTORS_PLAIN;
    wcodec_vectors_destroy(train(2, &rows, &o, &course));
    assert_int_equal(course.count, 31);
    assert_true(fabs(course.at[9].temperature - 0.5987) < 5e-5);
    assert_true(fabs(course.at[9].energy - 0.0099) < 5e-5);
    assert_true(fabs(course.at[8].energy - course.at[9].energy - 0.000012) < 5e-7);
    assert_int_equal(course.at[9].changes, 4);
    assert_int_equal(course.at[20].merged, 244);
    assert_true(fabs(course.at[30].energy - 0.011276) < 5e-7);
    o.reduce = WCODEC_VECTORS_TRIMMED;
    wcodec_vectors_destroy(train(2, &rows, &o, &course));
    assert_int_equal(course.count, 31);
    assert_true(fabs(course.at[19].energy - 0.009936) < 5e-7);
    assert_true(fabs(course.at[30].energy - 0.011367) < 5e-7);
    free(data);
}

static void best_is_better(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct course course;
    (void)state;
    uint16_t *data = make_rows(300, 64, &rows);
    wcodec_vectors_options_init(&o);
    o.anchors = 22;
    wcodec_vectors_destroy(train(2, &rows, &o, &course));
    /* That of k-means from three random starts is 0.50, 0.55 and 0.72. */
    assert_true(course.at[course.count - 1].energy < 0.50);
    for (uint64_t i = 1; i < course.count; i++)
        assert_true(course.at[i].energy <= course.at[i - 1].energy * (1 + 1e-6));
    free(data);
}

static void threads_change_nothing(void **state)
{
    wcodec_vector_rows rows;
    struct course course;
    (void)state;
    uint16_t *data = make_rows(1003, 30, &rows);
    for (int schedule = WCODEC_VECTORS_BEST; schedule <= WCODEC_VECTORS_COMPAT; schedule++) {
        wcodec_vectors *first = NULL;
        for (unsigned threads = 1; threads <= 5; threads += 2) {
            wcodec_vectors_options o;
            wcodec_vectors_info a, b;
            set_published(&o, 21);
            o.schedule = (wcodec_vectors_schedule)schedule;
            o.seed = 7;
            wcodec_vectors *vectors = train(threads, &rows, &o, &course);
            wcodec_vectors_describe(vectors, &b);
            wcodec_vectors_describe(first != NULL ? first : vectors, &a);
            assert_int_equal(a.anchors, b.anchors);
            assert_memory_equal(a.anchor, b.anchor, a.anchors * a.dimensions * 2);
            assert_memory_equal(a.index, b.index, a.rows * 4);
            if (first == NULL)
                first = vectors;
            else
                wcodec_vectors_destroy(vectors);
        }
        wcodec_vectors_destroy(first);
    }
    free(data);
}

static void expect_refused(const wcodec_vector_rows *rows, uint64_t anchors, wcodec_status status,
                           const char *text)
{
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors_options o;
    wcodec_vectors *vectors = NULL;
    wcodec_error err;
    wcodec_vectors_options_init(&o);
    o.anchors = anchors;
    assert_int_equal(wcodec_vectors_train(context, rows, &o, &vectors, &err), status);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, text);
    assert_null(vectors);
    wcodec_context_destroy(context);
}

static void refused(void **state)
{
    wcodec_vector_rows rows, wrong;
    (void)state;
    uint16_t *data = make_rows(600, 5, &rows);
    expect_refused(&rows, 601, WCODEC_ERROR_USAGE, "601 anchors for 600 vectors");
    expect_refused(&rows, 0, WCODEC_ERROR_USAGE, "0 anchors");
    wrong = rows;
    wrong.dimensions = 0;
    expect_refused(&wrong, 2, WCODEC_ERROR_USAGE, "dimensions");
    wrong = rows;
    wrong.dtype = WCODEC_DTYPE_I8;
    expect_refused(&wrong, 2, WCODEC_ERROR_UNSUPPORTED, "I8");
    data[5 * 433 + 2] = 0x7C00;
    expect_refused(&rows, 2, WCODEC_ERROR_USAGE, "row 433: element 2 is infinite");
    data[5 * 300 + 4] = 0xFE01;
    expect_refused(&rows, 2, WCODEC_ERROR_USAGE, "row 300: element 4 is NaN");
    const float large[4] = {0, 1, 65505, 2};
    wrong =
        (wcodec_vector_rows){.dtype = WCODEC_DTYPE_F32, .count = 2, .dimensions = 2, .data = large};
    expect_refused(&wrong, 1, WCODEC_ERROR_USAGE, "row 1: element 0 is beyond 65504");
    free(data);
}

static int refuse(void *opaque, uint64_t done, uint64_t total)
{
    assert_true(done <= total);
    ++*(unsigned *)opaque;
    return 1;
}

/* By the report of an iteration, and by the progress callback, which is called in the end at the
 * latest. */
static void cancelled(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_quality quality;
    unsigned calls = 0;
    const wcodec_progress progress = {.fn = refuse, .opaque = &calls};
    (void)state;
    uint16_t *data = make_rows(300, 8, &rows);
    wcodec_context *context = support_context(2, NULL);
    for (int schedule = WCODEC_VECTORS_BEST; schedule <= WCODEC_VECTORS_COMPAT; schedule++) {
        struct course course = {.stop = 3};
        set_published(&o, 8);
        o.schedule = (wcodec_vectors_schedule)schedule;
        o.iteration = note;
        o.opaque = &course;
        assert_int_equal(wcodec_vectors_train(context, &rows, &o, &vectors, NULL),
                         WCODEC_ERROR_CANCELLED);
        assert_int_equal(course.count, 3);
        calls = 0;
        o.iteration = NULL;
        o.progress = progress;
        assert_int_equal(wcodec_vectors_train(context, &rows, &o, &vectors, NULL),
                         WCODEC_ERROR_CANCELLED);
        assert_int_equal(calls, 1);
        assert_null(vectors);
    }
    o.progress = (wcodec_progress){0};
    assert_int_equal(wcodec_vectors_train(context, &rows, &o, &vectors, NULL), WCODEC_OK);
    for (unsigned queries = 0; queries <= 10; queries += 10) {
        calls = 0;
        assert_int_equal(
            wcodec_vectors_evaluate(context, vectors, &rows, queries, 5, &progress, &quality, NULL),
            WCODEC_ERROR_CANCELLED);
        assert_int_equal(calls, 1);
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(data);
}

struct seen {
    uint64_t done, total;
};

static int see(void *opaque, uint64_t done, uint64_t total)
{
    struct seen *seen = opaque;
    assert_true(done >= seen->done && done <= total);
    *seen = (struct seen){done, total};
    return 0;
}

/* What ends before the most iterations is whole, too. */
static void progress(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    wcodec_vectors *vectors;
    wcodec_vectors_quality quality;
    struct seen trained = {0}, measured = {0};
    (void)state;
    uint16_t *data = make_rows(300, 6, &rows);
    wcodec_context *context = support_context(2, NULL);
    wcodec_vectors_options_init(&o);
    o.anchors = 4;
    o.progress = (wcodec_progress){.fn = see, .opaque = &trained};
    assert_int_equal(wcodec_vectors_train(context, &rows, &o, &vectors, NULL), WCODEC_OK);
    assert_int_equal(trained.done, 300 * 8 * 4 * 100);
    assert_int_equal(trained.total, trained.done);
    o.progress.opaque = &measured;
    assert_int_equal(
        wcodec_vectors_evaluate(context, vectors, &rows, 9, 5, &o.progress, &quality, NULL),
        WCODEC_OK);
    assert_int_equal(measured.done, 300 * 8 * 4 * 10);
    assert_int_equal(measured.total, measured.done);
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(data);
}

struct file {
    uint8_t bytes[20000];
    size_t size;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct file *file = opaque;
    assert_true(size <= sizeof file->bytes - file->size);
    memcpy(file->bytes + file->size, data, size);
    file->size += size;
    return 0;
}

/* Train, export, import and measure; what was made is freed. */
static wcodec_status use_all(wcodec_context *context, const wcodec_vector_rows *rows,
                             const wcodec_vectors_options *o)
{
    static struct file file[3];
    wcodec_vectors *vectors = NULL, *copy = NULL;
    wcodec_vectors_quality quality;
    wcodec_error err = {0};
    wcodec_status status = wcodec_vectors_train(context, rows, o, &vectors, &err);
    for (int part = 0; part < 3 && status == WCODEC_OK; part++) {
        file[part].size = 0;
        status =
            wcodec_vectors_export(vectors, (wcodec_vectors_part)part, append, &file[part], &err);
    }
    const void *bytes[3] = {file[0].bytes, file[1].bytes, file[2].bytes};
    const size_t size[3] = {file[0].size, file[1].size, file[2].size};
    if (status == WCODEC_OK)
        status = wcodec_vectors_import(context, bytes, size, &copy, &err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_evaluate(context, copy, rows, 10, 5, NULL, &quality, &err);
    assert_true(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    wcodec_vectors_destroy(vectors);
    wcodec_vectors_destroy(copy);
    return status;
}

/* Each allocation fails once, and then all from it on; and every limit of memory. */
static void out_of_memory(void **state)
{
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    (void)state;
    uint16_t *data = make_rows(300, 8, &rows);
    set_published(&o, 10);
    for (unsigned way = 0; way < 4; way++) {
        wcodec_status status = WCODEC_ERROR_MEMORY;
        long n = 0;
        o.schedule = way / 2 == 0 ? WCODEC_VECTORS_COMPAT : WCODEC_VECTORS_BEST;
        for (; status != WCODEC_OK; n++) {
            struct support_allocator allocator;
            support_allocator_init(&allocator, SUPPORT_NEVER);
            wcodec_context *context = support_context(1, &allocator.allocator);
            const long before = allocator.balance;
            allocator.once = way % 2 == 0;
            allocator.left = n;
            status = use_all(context, &rows, &o);
            assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
            assert_int_equal(allocator.balance, before);
            wcodec_context_destroy(context);
            assert_int_equal(allocator.balance, 0);
        }
        assert_true(n > 20);
    }
    wcodec_status status = WCODEC_ERROR_LIMIT;
    unsigned refusals = 0;
    for (uint64_t most = 1000; status != WCODEC_OK; most += 1000) {
        wcodec_context *context = support_context_limited(1, most);
        status = use_all(context, &rows, &o);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
        refusals += status != WCODEC_OK;
        wcodec_context_destroy(context);
    }
    assert_true(refusals > 3 && refusals < 100);
    free(data);
}

static void files(void **state)
{
    static struct file file[3];
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct course course;
    wcodec_vectors_info a, b;
    wcodec_vectors_quality quality;
    wcodec_vectors *copy = NULL;
    (void)state;
    uint16_t *data = make_rows(700, 6, &rows);
    wcodec_context *context = support_context(1, NULL);
    wcodec_vectors_options_init(&o);
    o.anchors = 40;
    wcodec_vectors *vectors = train(1, &rows, &o, &course);
    for (int part = 0; part < 3; part++) {
        file[part].size = 0;
        assert_int_equal(
            wcodec_vectors_export(vectors, (wcodec_vectors_part)part, append, &file[part], NULL),
            WCODEC_OK);
    }
    static const uint8_t head[] = {0x41, 0x43, 0x4C, 0x56, 1,    0, 40, 0, 0, 0,
                                   6,    0,    0,    0,    0xBC, 2, 0,  0, 0};
    assert_int_equal(file[0].size, sizeof head);
    assert_memory_equal(file[0].bytes, head, sizeof head);
    const void *bytes[3] = {file[0].bytes, file[1].bytes, file[2].bytes};
    size_t size[3] = {file[0].size, file[1].size, file[2].size};
    assert_int_equal(wcodec_vectors_import(context, bytes, size, &copy, NULL), WCODEC_OK);
    wcodec_vectors_describe(vectors, &a);
    wcodec_vectors_describe(copy, &b);
    assert_memory_equal(a.anchor, b.anchor, 40 * 6 * 2);
    assert_memory_equal(a.index, b.index, 700 * 4);
    assert_int_equal(wcodec_vectors_evaluate(context, copy, &rows, 50, 10, NULL, &quality, NULL),
                     WCODEC_OK);
    assert_true(quality.recall > 0 && quality.recall <= 1 && quality.index_bits <= log2(40));
    assert_true(quality.largest >= quality.smallest && quality.empty == 0);
    wcodec_vectors_destroy(copy);
    /* An index that is none, anchors that are not finite, sizes, magic, version, flags. */
    for (unsigned wrong = 0; wrong < 6; wrong++) {
        static const unsigned part[] = {2, 1, 0, 0, 0, 0}, at[] = {0, 1, 0, 4, 18, 6};
        static const uint8_t value[] = {40, 0x7C, 0, 2, 4, 41};
        const uint8_t before = file[part[wrong]].bytes[at[wrong]];
        if (wrong == 0)
            memset(file[2].bytes, 0, 4);
        file[part[wrong]].bytes[at[wrong]] = value[wrong];
        const wcodec_status status = wcodec_vectors_import(context, bytes, size, &copy, NULL);
        assert_int_equal(status,
                         wrong == 3 || wrong == 4 ? WCODEC_ERROR_NEWER : WCODEC_ERROR_CORRUPT);
        file[part[wrong]].bytes[at[wrong]] = wrong == 0 ? 0 : before;
    }
    for (unsigned part = 0; part < 3; part++) {
        size[part]--;
        assert_int_equal(wcodec_vectors_import(context, bytes, size, &copy, NULL),
                         WCODEC_ERROR_CORRUPT);
        size[part]++;
    }
    wcodec_vectors_destroy(vectors);
    wcodec_context_destroy(context);
    free(data);
}

static void look_for_apart(void *opaque, wcodec_log_level level, const char *text)
{
    bool *apart = opaque;
    (void)level;
    *apart = *apart || strstr(text, "are widened as they are wanted") != NULL;
}

/* With that limit of memory. */
static wcodec_status train_within(uint64_t limit, const wcodec_vector_rows *rows,
                                  const wcodec_vectors_options *o, const wcodec_allocator *a,
                                  bool *apart, wcodec_vectors **vectors, wcodec_error *err)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.backend = "cpu";
    options.threads = 2;
    options.limits.max_memory = limit;
    options.allocator = *a;
    options.log = look_for_apart;
    options.log_opaque = apart;
    options.log_level = WCODEC_LOG_INFO;
    *apart = false;
    *vectors = NULL;
    wcodec_status status = wcodec_context_create(&options, &context, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_vectors_train(context, rows, o, vectors, err);
    if (*vectors != NULL) {
        wcodec_vectors_destroy(*vectors);
        *vectors = NULL;
    }
    wcodec_context_destroy(context);
    return status;
}

/* Rows that have no room as binary32: the same course. 70,000 rows of four numbers would take
 * 2,240,000 bytes, without these 1,120,000, and what anchors begin with 2,359,296 beside. */
static void rows_apart(void **state)
{
    enum { N = 70000, D = 4, LIMIT = 3500000 };
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct support_allocator allocator;
    bool apart;
    struct course want, got;
    wcodec_vectors *vectors;
    wcodec_error err = {0};
    (void)state;
    for (unsigned few = 0; few < 2; few++) {
        uint16_t *data = make_rows(N, D, &rows);
        /* Few different ones, so that anchors have no rows. */
        for (size_t i = 0; few && i < (size_t)N * D; i++)
            data[i] = wcodec_f16_from_f32((float)((i / D) % 7 * (i % D + 3) % 5));
        wcodec_vectors_options_init(&o);
        o.anchors = 20;
        o.max_iterations = 3;
        wcodec_vectors_destroy(train(2, &rows, &o, &want));
        got = (struct course){0};
        o.opaque = &got;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        if (train_within(LIMIT, &rows, &o, &allocator.allocator, &apart, &vectors, &err) !=
            WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(allocator.balance, 0);
        assert_true(apart);
        assert_int_equal(got.count, want.count);
        for (size_t i = 0; i < got.count; i++) {
            assert_int_equal(got.at[i].changes, want.at[i].changes);
            assert_memory_equal(&got.at[i].energy, &want.at[i].energy, sizeof(double));
        }
        if (few) {
            free(data);
            continue;
        }
        /* An element that is refused, by its row. */
        data[69999 * D + 1] = 0x7c00;
        assert_int_equal(
            train_within(LIMIT, &rows, &o, &allocator.allocator, &apart, &vectors, &err),
            WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "row 69999: element 1 is infinite"));
        data[69999 * D + 1] = 0;
        /* Less than rows take besides, or what anchors begin with, and a schedule that needs them
         * all. */
        assert_int_equal(
            train_within(1100000, &rows, &o, &allocator.allocator, &apart, &vectors, &err),
            WCODEC_ERROR_LIMIT);
        assert_int_equal(
            train_within(2300000, &rows, &o, &allocator.allocator, &apart, &vectors, &err),
            WCODEC_ERROR_LIMIT);
        assert_int_equal(
            train_within(3400000, &rows, &o, &allocator.allocator, &apart, &vectors, &err),
            WCODEC_ERROR_LIMIT);
        o.schedule = WCODEC_VECTORS_COMPAT;
        assert_int_equal(
            train_within(2200000, &rows, &o, &allocator.allocator, &apart, &vectors, &err),
            WCODEC_ERROR_LIMIT);
        o.schedule = WCODEC_VECTORS_BEST;
        o.max_iterations = 1;
        /* Some of the allocations of the blocks fail. */
        for (long fails = 0; fails < 700; fails += fails < 40 ? 1 : 97) {
            support_allocator_init(&allocator, fails);
            const wcodec_status status =
                train_within(LIMIT, &rows, &o, &allocator.allocator, &apart, &vectors, &err);
            if (status != WCODEC_OK && status != WCODEC_ERROR_MEMORY)
                fail_msg("allocation %ld: %s", fails, err.text);
            assert_int_equal(allocator.balance, 0);
        }
        free(data);
    }
}

/* Memory of which the most that was taken at once is known. */
struct counted {
    _Atomic uint64_t now, most;
};

enum { HEAD = 64 }; /* before each allocation: its size */

static void *count_bytes(void *opaque, void *memory, size_t size)
{
    struct counted *c = opaque;
    size_t before = 0;
    if (memory != NULL)
        memcpy(&before, (uint8_t *)memory - HEAD, sizeof before);
    uint8_t *got = realloc(memory != NULL ? (uint8_t *)memory - HEAD : NULL, size + HEAD);
    if (got == NULL)
        return NULL;
    memcpy(got, &size, sizeof size);
    const uint64_t now = atomic_fetch_add(&c->now, size - before) + size - before;
    for (uint64_t most = atomic_load(&c->most);
         now > most && !atomic_compare_exchange_weak(&c->most, &most, now);)
        continue;
    return got + HEAD;
}

static void *count_allocation(void *opaque, size_t size)
{
    return count_bytes(opaque, NULL, size);
}

static void count_release(void *opaque, void *memory)
{
    struct counted *c = opaque;
    size_t size;
    if (memory == NULL)
        return;
    memcpy(&size, (uint8_t *)memory - HEAD, sizeof size);
    atomic_fetch_sub(&c->now, size);
    free((uint8_t *)memory - HEAD);
}

/* With each limit of memory no more of it is taken: some for what does not grow. Returns, of limits
 * from `least` to `most`, how many refuse, take rows apart, and have room for all. */
static void train_by_limits(uint64_t n, uint64_t d, uint64_t anchors, uint64_t least, uint64_t most,
                            unsigned ones[3])
{
    enum { OTHER = 200000, STEPS = 13 };
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    uint16_t *data = make_rows(n, d, &rows);
    wcodec_vectors_options_init(&o);
    o.anchors = anchors;
    o.max_iterations = 1;
    ones[0] = ones[1] = ones[2] = 0;
    for (uint64_t limit = least; limit < most; limit += (most - least) / STEPS) {
        struct counted counted = {0};
        const wcodec_allocator allocator = {
            count_allocation, count_bytes, count_release, &counted, {NULL}};
        wcodec_vectors *vectors;
        wcodec_error err = {0};
        bool apart;
        const wcodec_status status =
            train_within(limit, &rows, &o, &allocator, &apart, &vectors, &err);
        if (status != WCODEC_OK && status != WCODEC_ERROR_LIMIT)
            fail_msg("limit %u: %s", (unsigned)limit, err.text);
        if (counted.most > limit + OTHER)
            fail_msg("limit %u: %u bytes", (unsigned)limit, (unsigned)counted.most);
        assert_int_equal(counted.now, 0);
        ones[status != WCODEC_OK ? 0 : apart ? 1 : 2]++;
    }
    print_message("%u limits too small, %u with rows apart, %u for all\n", ones[0], ones[1],
                  ones[2]);
    free(data);
}

/* Without a limit, 200,000 rows of four numbers take 8,760,000 bytes; apart from these, 5,560,000.
 * 3,000 rows of 64 take 816,000, as many anchors of them almost 2,000,000, and they begin with
 * 768,000. */
static void limit_holds(void **state)
{
    unsigned ones[3];
    (void)state;
    train_by_limits(200000, 4, 20, 3000000, 9500000, ones);
    assert_true(ones[0] > 2 && ones[1] > 2 && ones[2] > 0);
    train_by_limits(3000, 64, 2500, 700000, 4600000, ones);
    assert_true(ones[0] > 5 && ones[2] > 2);
}

static int ignore_bytes(void *opaque, const void *data, size_t size)
{
    (void)opaque, (void)data, (void)size;
    return 0;
}

static wcodec_status compress_within(uint64_t limit, const wcodec_vectors *vectors,
                                     const wcodec_vector_rows *rows, struct counted *counted)
{
    wcodec_vectors_compress_options o;
    wcodec_options options;
    wcodec_context *context;
    wcodec_vectors_compress_options_init(&o);
    o.bits = 4;
    wcodec_options_init(&options);
    options.backend = "cpu";
    options.threads = 2;
    options.limits.max_memory = limit;
    options.allocator =
        (wcodec_allocator){count_allocation, count_bytes, count_release, counted, {NULL}};
    *counted = (struct counted){0};
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    const wcodec_status status =
        wcodec_vectors_compress(context, vectors, rows, &o, ignore_bytes, NULL, NULL, NULL);
    wcodec_context_destroy(context);
    assert_int_equal(counted->now, 0);
    return status;
}

/* Rows are no more when residuals are coded; these count. 50,000 rows of 64 numbers take 13,600,000
 * bytes, five anchors 26 numbers (panels are of 16) a dimension, and residuals 3,200,000, with
 * which coding takes less. */
static void compressing(void **state)
{
    enum { N = 50000, D = 64, ROWS = 13600000, ANCHORS = 26 * 4 * D + 6 * (int)sizeof(size_t) };
    enum { ALL = ROWS + ANCHORS + N * D, OTHER = 200000 };
    wcodec_vector_rows rows;
    wcodec_vectors_options o;
    struct course course;
    struct counted counted;
    (void)state;
    uint16_t *data = make_rows(N, D, &rows);
    wcodec_vectors_options_init(&o);
    o.anchors = 5;
    o.max_iterations = 1;
    wcodec_vectors *vectors = train(2, &rows, &o, &course);
    assert_int_equal(compress_within(ALL - 1, vectors, &rows, &counted), WCODEC_ERROR_LIMIT);
    assert_true(counted.most < ALL);
    assert_int_equal(compress_within(ALL, vectors, &rows, &counted), WCODEC_OK);
    print_message("%u bytes\n", (unsigned)counted.most);
    assert_true(counted.most <= ALL + OTHER);
    wcodec_vectors_destroy(vectors);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),         cmocka_unit_test(golden_log),
        cmocka_unit_test(best_is_better), cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(refused),        cmocka_unit_test(cancelled),
        cmocka_unit_test(progress),       cmocka_unit_test(out_of_memory),
        cmocka_unit_test(files),          cmocka_unit_test(rows_apart),
        cmocka_unit_test(limit_holds),    cmocka_unit_test(compressing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
