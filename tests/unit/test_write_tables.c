/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors that are asked for by name or shape: by anchors at a rate or a recall, beside
 * tensors that are coded as ever; what cannot be so, and requests that make no sense. */
#include "support_model.h"
#include "support_table.h"

#include "coding/lossy.h"
#include "core/bytes.h"

#include <math.h>
#include <wcodec/writer.h>

enum { ROWS = 3000, COLUMNS = 32, CENTRES = 12, TENSORS = 4, NEAREST = 10, QUERIES = 200 };

struct named {
    const char *name;
    const struct support_table *table;
};

static wcodec_encode_options options_of(const char *const *names, double bits, double recall)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.vectors = names;
    options.vectors_bits = bits;
    options.vectors_recall = recall;
    return options;
}

static wcodec_status try_write(wcodec_context *context, const struct named *tensors, size_t count,
                               const wcodec_encode_options *options, struct support_sink *sink,
                               wcodec_error *err)
{
    wcodec_writer *writer;
    support_sink_init(sink);
    wcodec_status status =
        wcodec_writer_create(context, support_sink_write, sink, options, &writer, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i = 0; i < count && status == WCODEC_OK; i++) {
        const uint64_t shape[] = {tensors[i].table->rows, tensors[i].table->columns};
        status =
            wcodec_writer_declare(writer, tensors[i].name, tensors[i].table->dtype, shape, 2, err);
    }
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        status = wcodec_writer_data(writer, tensors[i].table->data, tensors[i].table->size, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, NULL, err);
    wcodec_writer_destroy(writer);
    return status;
}

static wcodec_reader *write_all(wcodec_context *context, const struct named *tensors, size_t count,
                                const wcodec_encode_options *options, struct support_sink *sink)
{
    wcodec_error err;
    if (try_write(context, tensors, count, options, sink, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return support_open_sink(context, sink);
}

static wcodec_tensor_info info_of(const wcodec_reader *reader, const char *name)
{
    wcodec_tensor_info info;
    uint64_t number;
    assert_int_equal(wcodec_reader_find(reader, name, &number, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, number, &info, NULL), WCODEC_OK);
    return info;
}

static uint8_t *decode(const wcodec_reader *reader, const char *name, size_t size)
{
    uint8_t *out = malloc(size);
    uint64_t number;
    wcodec_error err;
    assert_non_null(out);
    assert_int_equal(wcodec_reader_find(reader, name, &number, NULL), WCODEC_OK);
    if (wcodec_reader_decode(reader, number, out, size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return out;
}

static void expect_exact(const wcodec_reader *reader, const char *name,
                         const struct support_table *t)
{
    uint8_t *out = decode(reader, name, t->size);
    assert_false(info_of(reader, name).lossy);
    assert_memory_equal(out, t->data, t->size);
    free(out);
}

static double distance(const struct support_table *t, const uint8_t *rows, uint64_t row,
                       uint64_t query)
{
    double sum = 0;
    for (uint64_t j = 0; j < t->columns; j++) {
        const double difference =
            support_table_number(t, rows, (size_t)(row * t->columns + j)) -
            support_table_number(t, t->data, (size_t)(query * t->columns + j));
        sum += difference * difference;
    }
    return sum;
}

/* The ten that are nearest to a query among others. */
static void nearest(const struct support_table *t, const uint8_t *rows, uint64_t query,
                    uint64_t found[NEAREST], double far[NEAREST])
{
    unsigned count = 0;
    for (uint64_t row = 0; row < t->rows; row++) {
        const double d = row != query ? distance(t, rows, row, query) : INFINITY;
        unsigned at = count < NEAREST ? count++ : NEAREST;
        if (at == NEAREST && d >= far[NEAREST - 1])
            continue;
        at = at == NEAREST ? NEAREST - 1 : at;
        for (; at > 0 && far[at - 1] > d; at--) {
            far[at] = far[at - 1];
            found[at] = found[at - 1];
        }
        far[at] = d;
        found[at] = row;
    }
}

static double recall_of(const struct support_table *t, const uint8_t *out)
{
    unsigned good = 0;
    for (uint64_t q = 0; q < QUERIES; q++) {
        const uint64_t query = q * t->rows / QUERIES;
        uint64_t exact[NEAREST], found[NEAREST];
        double far[NEAREST], ignored[NEAREST];
        nearest(t, t->data, query, exact, far);
        nearest(t, out, query, found, ignored);
        for (unsigned i = 0; i < NEAREST; i++)
            good += distance(t, t->data, found[i], query) <= far[NEAREST - 1];
    }
    return (double)good / (QUERIES * NEAREST);
}

/* In as many bits as were allowed, or nearly, whatever is near anything; and others are exact. */
static void rates_are_kept(void **state)
{
    if (support_threads_only())
        skip();
    static const struct {
        wcodec_dtype dtype;
        uint64_t rows, columns, anchors;
        unsigned centres;
        double bits;
    } all[] = {
        {WCODEC_DTYPE_F32, ROWS, COLUMNS, 0, CENTRES, 4},
        {WCODEC_DTYPE_F32, ROWS, COLUMNS, 0, 0, 5}, /* anchors save nothing */
        {WCODEC_DTYPE_BF16, ROWS, COLUMNS, 1, CENTRES, 3},
        {WCODEC_DTYPE_F16, 700, 48, 300, CENTRES, 4.5}, /* indices of 16 bits */
        {WCODEC_DTYPE_F32, 64, 512, 16, CENTRES, 11},   /* numbers of 16 bits, fewer rows */
    };
    static const char *const names[] = {"tab*", NULL};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct support_table t = support_table_make(&seed, all[i].dtype, all[i].rows,
                                                    all[i].columns, all[i].centres),
                             other = support_table_make(&seed, all[i].dtype, ROWS, COLUMNS, 0);
        const struct named tensors[] = {{"other", &other}, {"table", &t}};
        wcodec_encode_options options = options_of(names, all[i].bits, 0);
        struct support_sink sink;
        options.vectors_anchors = all[i].anchors;
        wcodec_reader *reader = write_all(context, tensors, 2, &options, &sink);
        const wcodec_tensor_info info = info_of(reader, "table");
        const double bits = (double)info.coded_size * 8 / (double)(t.rows * t.columns);
        assert_int_equal(info.coding, WCODEC_CODING_ANCHORED);
        assert_true(info.lossy);
        assert_int_equal(info.anchors, all[i].anchors != 0 ? all[i].anchors : 16);
        assert_true(bits <= all[i].bits && bits > all[i].bits * 0.97);
        uint8_t *out = decode(reader, "table", t.size);
        double squares = 0;
        for (size_t k = 0; k < t.rows * t.columns; k++) {
            const double error =
                support_table_number(&t, out, k) - support_table_number(&t, t.data, k);
            squares += error * error;
        }
        assert_true(fabs(squares / (double)(t.rows * t.columns) / info.mean_squared_error - 1) <
                    1e-9);
        expect_exact(reader, "other", &other);
        free(out);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
        free(other.data);
        free(t.data);
    }
    wcodec_context_destroy(context);
}

/* By another's count too, and with fewer bits where less is asked for. */
static void recalls_are_reached(void **state)
{
    if (support_threads_only())
        skip();
    static const double recalls[] = {0.98, 0.9, 0.5};
    static const char *const names[] = {"table", NULL};
    uint64_t seed = support_seed() + 1, last = UINT64_MAX;
    wcodec_context *context = support_context(2, NULL);
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, 1000, COLUMNS, CENTRES);
    const struct named tensors[] = {{"table", &t}};
    (void)state;
    for (unsigned i = 0; i < sizeof recalls / sizeof *recalls; i++) {
        const wcodec_encode_options options = options_of(names, 0, recalls[i]);
        struct support_sink sink;
        wcodec_reader *reader = write_all(context, tensors, 1, &options, &sink);
        const wcodec_tensor_info info = info_of(reader, "table");
        uint8_t *out = decode(reader, "table", t.size);
        const double recall = recall_of(&t, out);
        assert_int_equal(info.coding, WCODEC_CODING_ANCHORED);
        assert_true(recall > recalls[i] - 0.002 && recall < recalls[i] + 0.05);
        assert_true(info.coded_size < last);
        last = info.coded_size;
        free(out);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
    }
    free(t.data);
    wcodec_context_destroy(context);
}

/* Without names, tables are what has many more rows than columns; with loss asked for, the others
 * come with it, and each keeps to what is its own. */
/* Whatever the numbers' scale: squares of such are beyond binary32. */
static void recalls_of_any_scale(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    static const char *const names[] = {"t", NULL};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    static const int exponents[] = {-80, 0, 65};
    for (unsigned k = 0; k < 3; k++) {
        struct support_table t =
            support_table_make(&seed, WCODEC_DTYPE_F32, ROWS, COLUMNS, CENTRES);
        for (size_t i = 0; i < t.size / 4; i++) {
            const float f = (float)support_table_number(&t, t.data, i);
            wcodec_store_u32(t.data + 4 * i, wcodec_f32_bits(ldexpf(f, exponents[k])));
        }
        const struct named tensors[] = {{"t", &t}};
        const wcodec_encode_options options = options_of(names, 0, 0.9);
        struct support_sink sink;
        wcodec_reader *reader = write_all(context, tensors, 1, &options, &sink);
        uint8_t *out = decode(reader, "t", t.size);
        assert_true(info_of(reader, "t").lossy);
        print_message("  2^%d: %f\n", exponents[k], recall_of(&t, out));
        assert_true(recall_of(&t, out) > 0.898);
        free(out);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
        free(t.data);
    }
    wcodec_context_destroy(context);
}

static void others_come_as_ever(void **state)
{
    static const char *const exclude[] = {"left*", NULL};
    uint64_t seed = support_seed() + 2;
    wcodec_context *context = support_context(2, NULL);
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, ROWS, COLUMNS, CENTRES),
                         weights = support_table_make(&seed, WCODEC_DTYPE_BF16, 300, 200, 0);
    /* The same bytes, one of them to be exact. */
    const struct named tensors[] = {{"a", &t}, {"weights", &weights}, {"left", &t}, {"z", &t}};
    (void)state;
    for (unsigned lossy = 0; lossy < 2; lossy++) {
        wcodec_encode_options options = options_of(NULL, 4, 0);
        struct support_sink sink;
        options.exclude = exclude;
        options.lossy = lossy ? WCODEC_LOSSY_SNR : WCODEC_LOSSY_NONE;
        options.lossy_scale = WCODEC_LOSSY_SCALE_ROW;
        options.lossy_value = 30;
        wcodec_reader *reader = write_all(context, tensors, TENSORS, &options, &sink);
        assert_int_equal(info_of(reader, "a").coding, WCODEC_CODING_ANCHORED);
        assert_true(info_of(reader, "z").lossy);
        assert_true(info_of(reader, "a").mean_squared_error ==
                    info_of(reader, "z").mean_squared_error);
        expect_exact(reader, "left", &t);
        if (lossy)
            assert_int_equal(info_of(reader, "weights").coding, WCODEC_CODING_LOSSY);
        else
            expect_exact(reader, "weights", &weights);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
    }
    free(weights.data);
    free(t.data);
    wcodec_context_destroy(context);
}

/* On any number of threads. */
static void files_are_the_same(void **state)
{
    static const char *const names[] = {"a", "b", NULL};
    uint64_t seed = support_seed() + 3;
    struct support_table a = support_table_make(&seed, WCODEC_DTYPE_BF16, ROWS, COLUMNS, CENTRES),
                         b = support_table_make(&seed, WCODEC_DTYPE_F16, 500, 40, CENTRES);
    const struct named tensors[] = {{"a", &a}, {"b", &b}};
    const wcodec_encode_options options = options_of(names, 0, 0); /* a recall of 0.95 */
    struct support_sink sink[3], anew;
    wcodec_error err;
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        wcodec_reader_close(write_all(context, tensors, 2, &options, &sink[i]));
        assert_int_equal(sink[i].size, sink[0].size);
        assert_memory_equal(sink[i].data, sink[0].data, sink[0].size);
        wcodec_context_destroy(context);
    }
    /* Loss upon loss is refused. */
    wcodec_context *context = support_context(2, NULL);
    wcodec_reader *reader = support_open_sink(context, &sink[0]);
    support_sink_init(&anew);
    assert_int_equal(wcodec_recompress(reader, 0, support_sink_write, &anew, &options, NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "approximated already"));
    wcodec_reader_close(reader);
    for (unsigned i = 0; i < 3; i++)
        support_sink_free(&sink[i]);
    support_sink_free(&anew);
    free(a.data);
    free(b.data);
    wcodec_context_destroy(context);
}

static void expect_refused(wcodec_context *context, const struct named *tensors, size_t count,
                           const wcodec_encode_options *options, const char *text)
{
    struct support_sink sink;
    wcodec_error err = {0};
    assert_int_equal(try_write(context, tensors, count, options, &sink, &err), WCODEC_ERROR_USAGE);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s, expected %s", err.text, text);
    support_sink_free(&sink);
}

static void names_must_match(void **state)
{
    static const char *const none[] = {"table", "embed*", NULL}, *const small[] = {"few", NULL},
                             *const narrow[] = {"thin", NULL}, *const table[] = {"t*", NULL};
    uint64_t seed = support_seed() + 4;
    wcodec_context *context = support_context(1, NULL);
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, 100, 32, 0),
                         few = support_table_make(&seed, WCODEC_DTYPE_F32, 15, 100, 0),
                         thin = support_table_make(&seed, WCODEC_DTYPE_F32, 200, 15, 0);
    const struct named tensors[] = {{"table", &t}, {"few", &few}, {"thin", &thin}};
    wcodec_encode_options options = options_of(none, 4, 0);
    (void)state;
    expect_refused(context, tensors, 3, &options, "no tensor's name matches \"embed*\"");
    options.vectors = small;
    expect_refused(context, tensors, 3, &options, "\"few\": it has fewer than 16 rows");
    options.vectors = narrow;
    expect_refused(context, tensors, 3, &options, "\"thin\": it has fewer than 16 columns");
    options.vectors = table;
    options.vectors_anchors = 101;
    expect_refused(context, tensors, 3, &options, "it has fewer rows than anchors");
    options.vectors_anchors = 0;
    options.exclude = table;
    expect_refused(context, tensors, 3, &options, "its name is left out");
    free(thin.data);
    free(few.data);
    free(t.data);
    wcodec_context_destroy(context);
}

static void options_must_fit(void **state)
{
    static const char *const names[] = {"t", NULL};
    uint64_t seed = support_seed() + 5;
    wcodec_context *context = support_context(1, NULL);
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, 100, 32, 0);
    const struct named tensors[] = {{"t", &t}};
    wcodec_encode_options options = options_of(names, 4, 0.5);
    (void)state;
    expect_refused(context, tensors, 1, &options, "not both");
    options = options_of(names, 33, 0);
    expect_refused(context, tensors, 1, &options, "0.01 to 32");
    options = options_of(names, (double)NAN, 0);
    expect_refused(context, tensors, 1, &options, "0.01 to 32");
    options = options_of(names, 0, 1);
    expect_refused(context, tensors, 1, &options, "above 0 and below 1");
    options = options_of(NULL, 0, 0);
    options.vectors_anchors = 3;
    expect_refused(context, tensors, 1, &options, "vectors_anchors without");
    options = options_of(names, 4, 0);
    options.raw = 1;
    expect_refused(context, tensors, 1, &options, "opaque");
    free(t.data);
    wcodec_context_destroy(context);
}

/* Numbers that are none, or all alike: exact, as with loss. */
static void what_has_no_loss_is_exact(void **state)
{
    if (support_threads_only())
        skip();
    static const char *const names[] = {"*", NULL};
    uint64_t seed = support_seed() + 6;
    wcodec_context *context = support_context(1, NULL);
    struct support_table bad = support_table_make(&seed, WCODEC_DTYPE_F32, 100, 32, 0),
                         zeros = support_table_make(&seed, WCODEC_DTYPE_F16, 100, 32, 0);
    const struct named tensors[] = {{"bad", &bad}, {"zeros", &zeros}};
    (void)state;
    memset(bad.data + 400, 0xFF, 4);
    memset(zeros.data, 0, zeros.size);
    for (unsigned i = 0; i < 2; i++) {
        const wcodec_encode_options options = options_of(names, i ? 4 : 0, i ? 0 : 0.9);
        struct support_sink sink;
        wcodec_reader *reader = write_all(context, tensors, 2, &options, &sink);
        expect_exact(reader, "bad", &bad);
        expect_exact(reader, "zeros", &zeros);
        wcodec_reader_close(reader);
        support_sink_free(&sink);
    }
    free(zeros.data);
    free(bad.data);
    wcodec_context_destroy(context);
}

/* Each allocation fails once. */
static void memory_that_is_out(void **state)
{
    if (support_threads_only())
        skip();
    static const char *const names[] = {"t", NULL};
    uint64_t seed = support_seed() + 7;
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, 64, 16, 2);
    const struct named tensors[] = {{"t", &t}};
    const wcodec_encode_options options = options_of(names, 0, 0.9);
    struct support_allocator allocator;
    unsigned refused = 0;
    bool all = false;
    (void)state;
    for (long i = 0; !all; i++) {
        struct support_sink sink;
        wcodec_error err;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        allocator.once = true;
        wcodec_context *context = support_context(1, &allocator.allocator);
        allocator.left = i;
        const wcodec_status status = try_write(context, tensors, 1, &options, &sink, &err);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        refused += status != WCODEC_OK;
        all = allocator.left > 0;
        support_sink_free(&sink);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    assert_true(refused > 50);
    free(t.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_kept),       cmocka_unit_test(recalls_are_reached),
        cmocka_unit_test(recalls_of_any_scale), cmocka_unit_test(others_come_as_ever),
        cmocka_unit_test(files_are_the_same),   cmocka_unit_test(names_must_match),
        cmocka_unit_test(options_must_fit),     cmocka_unit_test(what_has_no_loss_is_exact),
        cmocka_unit_test(memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
