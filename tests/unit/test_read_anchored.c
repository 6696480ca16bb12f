/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors that are coded with loss: when anchors are taken, and what they save; decoded
 * whole and by rows, restored, loaded, within little memory, copied, without an index, damaged. */
#include "support_model.h"
#include "support_table.h"

#include "read/reader.h"
#include <math.h>
#include <wcodec/resident.h>
#include <wcodec/writer.h>

enum { ROWS = 3000, COLUMNS = 32, CENTRES = 12 };

static wcodec_encode_options options_of(wcodec_lossy_target target, double value)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.lossy = target;
    options.lossy_value = value;
    return options;
}

static wcodec_status try_write(wcodec_context *context, const struct support_table *t,
                               const wcodec_encode_options *options, struct support_sink *sink,
                               wcodec_error *err)
{
    const uint64_t shape[] = {t->rows, t->columns};
    wcodec_writer *writer;
    support_sink_init(sink);
    wcodec_status status =
        wcodec_writer_create(context, support_sink_write, sink, options, &writer, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_writer_declare(writer, "t", t->dtype, shape, 2, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_data(writer, t->data, t->size, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, NULL, err);
    wcodec_writer_destroy(writer);
    return status;
}

static void write_table(wcodec_context *context, const struct support_table *t,
                        const wcodec_encode_options *options, struct support_sink *sink)
{
    wcodec_error err;
    if (try_write(context, t, options, sink, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* What the reader says of errors is what it gives; returns that, to be freed. */
static uint8_t *expect_described(const wcodec_reader *reader, const struct support_table *t)
{
    const size_t count = (size_t)(t->rows * t->columns);
    uint8_t *out = malloc(t->size);
    wcodec_tensor_info info;
    wcodec_error err;
    double largest = 0, squares = 0;
    assert_non_null(out);
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    if (wcodec_reader_decode(reader, 0, out, t->size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        const double error =
            fabs(support_table_number(t, out, i) - support_table_number(t, t->data, i));
        largest = fmax(largest, error);
        squares += error * error;
    }
    assert_true(info.lossy);
    assert_true(info.largest_error == largest);
    assert_true(fabs(squares / (double)count / info.mean_squared_error - 1) < 1e-9);
    return out;
}

static wcodec_tensor_info info_of(wcodec_context *context, const struct support_sink *sink)
{
    wcodec_reader *reader = support_open_sink(context, sink);
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, 0, &info, NULL), WCODEC_OK);
    info.name = NULL;
    wcodec_reader_close(reader);
    return info;
}

static void tables_come_by_anchors(void **state)
{
    static const struct {
        wcodec_dtype dtype;
        uint64_t rows, columns;
        double snr;
    } all[] = {
        {WCODEC_DTYPE_F32, ROWS, COLUMNS, 24}, {WCODEC_DTYPE_BF16, ROWS, COLUMNS, 20},
        {WCODEC_DTYPE_F16, 2049, 33, 30},      {WCODEC_DTYPE_F32, 2100, 301, 24},
        {WCODEC_DTYPE_F32, ROWS, COLUMNS, 60}, /* numbers of 16 bits */
    };
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct support_table t =
            support_table_make(&seed, all[i].dtype, all[i].rows, all[i].columns, CENTRES);
        wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, all[i].snr);
        struct support_sink sink, plain;
        write_table(context, &t, &options, &sink);
        options.tune = WCODEC_TUNE_LATENCY; /* has none */
        write_table(context, &t, &options, &plain);
        const wcodec_tensor_info info = info_of(context, &sink), other = info_of(context, &plain);
        assert_int_equal(info.coding, WCODEC_CODING_ANCHORED);
        assert_string_equal(info.coding_name, "anchors");
        assert_int_equal(info.element_bits, all[i].snr > 50 ? 16 : 8);
        assert_int_equal(info.columns, all[i].columns);
        assert_int_equal(info.scales, 1);
        assert_true(info.order0_bits != 0);
        assert_int_equal(other.coding, WCODEC_CODING_LOSSY);
        /* The same approximation, in fewer bytes. */
        assert_true(info.mean_squared_error == other.mean_squared_error);
        assert_true(info.coded_size + other.coded_size / 20 < other.coded_size);
        wcodec_reader *reader = support_open_sink(context, &sink);
        uint8_t *out = expect_described(reader, &t);
        support_expect_rows(reader, 0, 1, &seed, t.rows, out, t.size);
        support_expect_load(reader, 0, &seed, t.rows, out, t.size);
        wcodec_reader_close(reader);
        free(out);
        support_sink_free(&plain);
        support_sink_free(&sink);
        free(t.data);
    }
    wcodec_context_destroy(context);
}

/* What is saved of bits that were asked for goes into less error. */
static void bits_are_used(void **state)
{
    uint64_t seed = support_seed() + 1;
    wcodec_context *context = support_context(2, NULL);
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, ROWS, COLUMNS, CENTRES);
    wcodec_encode_options options = options_of(WCODEC_LOSSY_BITS, 4);
    struct support_sink sink, plain;
    (void)state;
    write_table(context, &t, &options, &sink);
    options.tune = WCODEC_TUNE_LATENCY;
    write_table(context, &t, &options, &plain);
    const wcodec_tensor_info info = info_of(context, &sink), other = info_of(context, &plain);
    assert_int_equal(info.coding, WCODEC_CODING_ANCHORED);
    assert_true(info.coded_size * 8 <= 4 * (uint64_t)ROWS * COLUMNS);
    assert_true(info.coded_size > other.coded_size / 10 * 9);
    assert_true(info.mean_squared_error < other.mean_squared_error / 2);
    support_sink_free(&plain);
    support_sink_free(&sink);
    free(t.data);
    wcodec_context_destroy(context);
}

/* Where there is nothing near anything, or too few rows, or one scale is not enough. */
static void others_come_without(void **state)
{
    static const struct {
        uint64_t rows, columns;
        unsigned centres;
        wcodec_lossy_scaling scaling;
    } all[] = {
        {ROWS, COLUMNS, 0, WCODEC_LOSSY_SCALE_TENSOR},
        {2047, COLUMNS, CENTRES, WCODEC_LOSSY_SCALE_TENSOR},
        {ROWS, 15, CENTRES, WCODEC_LOSSY_SCALE_TENSOR},
        {2048, 350, CENTRES, WCODEC_LOSSY_SCALE_TENSOR},
        {ROWS, COLUMNS, CENTRES, WCODEC_LOSSY_SCALE_ROW},
    };
    uint64_t seed = support_seed() + 2;
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct support_table t = support_table_make(&seed, WCODEC_DTYPE_F32, all[i].rows,
                                                    all[i].columns, all[i].centres);
        wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, 20);
        struct support_sink sink;
        options.lossy_scale = all[i].scaling;
        write_table(context, &t, &options, &sink);
        assert_int_equal(info_of(context, &sink).coding, WCODEC_CODING_LOSSY);
        support_sink_free(&sink);
        free(t.data);
    }
    wcodec_context_destroy(context);
}

static void threads_make_the_same(void **state)
{
    uint64_t seed = support_seed() + 3;
    struct support_table t = support_table_make(&seed, WCODEC_DTYPE_BF16, ROWS, COLUMNS, CENTRES);
    const wcodec_encode_options options = options_of(WCODEC_LOSSY_BITS, 3);
    struct support_sink sink[3];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(1 + 2 * i, NULL);
        write_table(context, &t, &options, &sink[i]);
        wcodec_context_destroy(context);
        assert_int_equal(sink[i].size, sink[0].size);
        assert_memory_equal(sink[i].data, sink[0].data, sink[0].size);
    }
    for (unsigned i = 0; i < 3; i++)
        support_sink_free(&sink[i]);
    free(t.data);
}

/* A table with its file, and what that decodes to. */
struct coded_table {
    wcodec_context *context;
    struct support_table t;
    struct support_sink sink;
    uint8_t *out;
};

static struct coded_table make_coded(uint64_t seed, uint64_t rows, uint64_t columns)
{
    struct coded_table c = {.context = support_context(2, NULL)};
    const wcodec_encode_options options = options_of(WCODEC_LOSSY_SNR, 20);
    c.t = support_table_make(&seed, WCODEC_DTYPE_F32, rows, columns, CENTRES);
    write_table(c.context, &c.t, &options, &c.sink);
    assert_int_equal(info_of(c.context, &c.sink).coding, WCODEC_CODING_ANCHORED);
    wcodec_reader *reader = support_open_sink(c.context, &c.sink);
    c.out = expect_described(reader, &c.t);
    wcodec_reader_close(reader);
    return c;
}

static void free_coded(struct coded_table *c)
{
    free(c->out);
    support_sink_free(&c->sink);
    free(c->t.data);
    wcodec_context_destroy(c->context);
}

/* From a file, with memory for some rows at a time. */
static void little_memory_is_enough(void **state)
{
    struct coded_table c = make_coded(support_seed() + 4, 40000, COLUMNS);
    wcodec_context *small = support_context_limited(2, 2 << 20);
    FILE *stream = tmpfile();
    wcodec_reader *reader;
    wcodec_error err = {0};
    (void)state;
    assert_non_null(stream);
    assert_int_equal(fwrite(c.sink.data, 1, c.sink.size, stream), c.sink.size);
    assert_int_equal(fflush(stream), 0);
    assert_int_equal(wcodec_reader_open_fd(small, fileno(stream), &reader, &err), WCODEC_OK);
    memset(c.t.data, 0xEE, c.t.size);
    if (wcodec_reader_decode(reader, 0, c.t.data, c.t.size, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(c.t.data, c.out, c.t.size);
    wcodec_reader_close(reader);
    wcodec_context_destroy(small);
    fclose(stream);
    free_coded(&c);
}

/* Copied it is the same file; made anew without loss it decodes to the same; and it is found by its
 * header alone. */
static void copies(void **state)
{
    struct coded_table c = make_coded(support_seed() + 5, ROWS, COLUMNS);
    struct support_sink back, again;
    wcodec_encode_options options;
    wcodec_reader *reader = support_open_sink(c.context, &c.sink), *left;
    wcodec_error err;
    (void)state;
    wcodec_encode_options_init(&options);
    support_sink_init(&back);
    support_sink_init(&again);
    assert_int_equal(wcodec_copy(reader, NULL, 0, support_sink_write, &back, &options, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(info_of(c.context, &back).coding, WCODEC_CODING_ANCHORED);
    assert_int_equal(wcodec_recompress(reader, 0, support_sink_write, &again, &options, NULL, &err),
                     WCODEC_OK);
    const wcodec_tensor_info info = info_of(c.context, &again);
    assert_true(info.coding != WCODEC_CODING_ANCHORED);
    assert_true(info.mean_squared_error == info_of(c.context, &c.sink).mean_squared_error);
    assert_int_equal(wcodec_reader_salvage_memory(c.context, c.sink.data,
                                                  (size_t)reader->shards[0].index->body_end, &left,
                                                  NULL),
                     WCODEC_OK);
    memset(c.t.data, 0xEE, c.t.size);
    assert_int_equal(wcodec_reader_decode(left, 0, c.t.data, c.t.size, NULL, &err), WCODEC_OK);
    assert_memory_equal(c.t.data, c.out, c.t.size);
    wcodec_reader_close(left);
    wcodec_reader_close(reader);
    support_sink_free(&again);
    support_sink_free(&back);
    free_coded(&c);
}

/* A flipped bit is an error that names the tensor, or of no consequence to it. */
static void damage_is_found(void **state)
{
    uint64_t seed = support_seed() + 6;
    struct coded_table c = make_coded(seed, ROWS, COLUMNS);
    unsigned found = 0;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        wcodec_reader *reader = support_open_sink(c.context, &c.sink);
        const struct wcodec_index *index = reader->shards[0].index;
        const struct wcodec_entry *e = &index->entries[index->tensors[0]];
        uint8_t *at = &c.sink.data[e->payload_offset + support_random(&seed) % e->payload_size];
        const uint8_t flip = (uint8_t)(1u << support_random(&seed) % 8);
        wcodec_error err;
        *at ^= flip;
        if (wcodec_reader_decode(reader, 0, c.t.data, c.t.size, NULL, &err) == WCODEC_OK) {
            assert_memory_equal(c.t.data, c.out, c.t.size);
        } else {
            assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, "'t'"));
            found++;
        }
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
        *at ^= flip;
        wcodec_reader_close(reader);
    }
    assert_true(found > 40);
    free_coded(&c);
}

static void stays_resident(void **state)
{
    static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_AUTO, WCODEC_RESIDENT_CODED,
                                                 WCODEC_RESIDENT_PLAIN};
    struct coded_table c = make_coded(support_seed() + 7, ROWS, COLUMNS);
    static uint8_t rows[4 * COLUMNS * 100];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        wcodec_reader *reader = support_open_sink(c.context, &c.sink);
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_error err;
        wcodec_resident_options_init(&options);
        options.form = forms[i];
        if (wcodec_resident_create(reader, NULL, 0, &options, &resident, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        if (wcodec_resident_decode(resident, 0, 1234, 100, rows, sizeof rows, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(rows, c.out + (size_t)4 * COLUMNS * 1234, sizeof rows);
        wcodec_resident_destroy(resident);
        wcodec_reader_close(reader);
    }
    free_coded(&c);
}

/* Each allocation fails once, of what anchors take on the way there, and on the way back. */
static void memory_that_is_out(void **state)
{
    if (support_threads_only())
        skip();
    struct coded_table c = make_coded(support_seed() + 8, 2048, 16);
    const wcodec_encode_options options = options_of(WCODEC_LOSSY_ERROR, 0.1);
    struct support_allocator allocator;
    unsigned refused = 0, decoded = 0;
    (void)state;
    for (long i = 0; decoded < 2; i++) {
        struct support_sink sink;
        wcodec_reader *reader;
        wcodec_error err;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        allocator.once = true;
        wcodec_context *context = support_context(1, &allocator.allocator);
        allocator.left = i;
        if (decoded == 0) {
            const wcodec_status status = try_write(context, &c.t, &options, &sink, &err);
            assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
            refused += status != WCODEC_OK;
            support_sink_free(&sink);
        } else if (wcodec_reader_open_memory(context, c.sink.data, c.sink.size, &reader, &err) ==
                   WCODEC_OK) {
            if (wcodec_reader_decode(reader, 0, c.t.data, c.t.size, NULL, &err) == WCODEC_OK)
                assert_memory_equal(c.t.data, c.out, c.t.size);
            else
                assert_int_equal(err.status, WCODEC_ERROR_MEMORY);
            wcodec_reader_close(reader);
        }
        const bool all = allocator.left > 0;
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        if (all) {
            decoded++;
            i = -1;
        }
    }
    assert_true(refused > 30);
    free_coded(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_come_by_anchors),  cmocka_unit_test(bits_are_used),
        cmocka_unit_test(others_come_without),     cmocka_unit_test(threads_make_the_same),
        cmocka_unit_test(little_memory_is_enough), cmocka_unit_test(copies),
        cmocka_unit_test(damage_is_found),         cmocka_unit_test(stays_resident),
        cmocka_unit_test(memory_that_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
