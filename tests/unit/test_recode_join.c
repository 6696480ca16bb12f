/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Parts of a file joined are, byte for byte, the file compressed at once. */

#include "support_area.h"
#include "support_model.h"
#include "support_records.h"
#include "support_memory.h"
#include "support.h"
#include "coding/lossy.h"
#include "core/bytes.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <wcodec/reader.h>
#include <wcodec/writer.h>

enum { PARTS_MAX = 24 };

/* A file, and what it is cut into. */
struct cut {
    FILE *file;
    const uint8_t *data;
    size_t size;
    struct support_sink parts[PARTS_MAX];
    wcodec_reader *readers[PARTS_MAX];
    size_t count;
};

static void cut_init(struct cut *c, const uint8_t *data, size_t size)
{
    *c = (struct cut){.data = data, .size = size, .file = tmpfile()};
    assert_non_null(c->file);
    assert_int_equal(fwrite(data, 1, size, c->file), size);
    assert_int_equal(fflush(c->file), 0);
}

static void cut_close_parts(struct cut *c)
{
    for (size_t i = 0; i < c->count; i++) {
        wcodec_reader_close(c->readers[i]);
        support_sink_free(&c->parts[i]);
    }
    c->count = 0;
}

static void cut_free(struct cut *c)
{
    cut_close_parts(c);
    fclose(c->file);
}

/* One more part, [begin, end) of the file, of which `from` NULL says that it is compressed, else
 * that it is compressed anew. */
static void add_part(wcodec_context *context, struct cut *c, const wcodec_reader *from,
                     const wcodec_encode_options *given, uint64_t begin, uint64_t end)
{
    wcodec_encode_options options = *given;
    struct support_sink *part = &c->parts[c->count];
    wcodec_error err = {0};
    options.part_begin = begin;
    options.part_end = end;
    support_sink_init(part);
    const wcodec_status status =
        from != NULL ? wcodec_recompress(from, 0, support_sink_write, part, &options, NULL, &err)
                     : wcodec_compress_memory(context, c->data, c->size, support_sink_write, part,
                                              &options, NULL, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, WCODEC_OK);
    c->readers[c->count++] = support_open_sink(context, part);
}

/* Random cuts, none or many; the last part's end may be far behind the file's. */
static void cut_at_random(wcodec_context *context, struct cut *c, const wcodec_reader *from,
                          const wcodec_encode_options *options, uint64_t *seed)
{
    const size_t count = 1 + support_random(seed) % 6;
    uint64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = begin + 1 + support_random(seed) % (2 * (c->size / count) + 1);
        if (i + 1 == count || end >= c->size)
            end = support_random(seed) % 2 ? c->size : UINT64_MAX;
        if (end <= begin) /* an empty file, or all has come */
            break;
        add_part(context, c, from, options, begin, end);
        begin = end;
        if (end >= c->size)
            break;
    }
}

/* What is left to a caller's function: it copies at once. */
struct copying {
    struct support_area area;
    const struct cut *cut;
    unsigned calls;
    int error;
};

static int put_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    return support_area_put(&((struct copying *)opaque)->area, offset, data, size);
}

static int copy_at(void *opaque, size_t part, uint64_t from, uint64_t to, uint64_t size)
{
    struct copying *c = opaque;
    const struct support_sink *p = &c->cut->parts[part];
    assert_true(from <= p->size && size <= p->size - from);
    c->calls++;
    return c->error != 0 ? c->error : support_area_put(&c->area, to, p->data + from, (size_t)size);
}

static void expect_join(wcodec_context *context, const struct cut *c, const wcodec_reader *original,
                        const wcodec_encode_options *given, const struct support_sink *whole,
                        const wcodec_encode_report *expected)
{
    wcodec_encode_options options = *given;
    wcodec_encode_report report = {0};
    wcodec_error err = {0};
    struct support_sink joined;
    const int fd = original != NULL ? -1 : fileno(c->file);
    support_sink_init(&joined);
    wcodec_join(context, (const wcodec_reader *const *)c->readers, c->count, fd, original,
                support_sink_write, &joined, &options, &report, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(joined.size, whole->size);
    assert_memory_equal(joined.data, whole->data, whole->size);
    assert_memory_equal(&report, expected, sizeof report);
    support_sink_free(&joined);
    for (int by_caller = 0; by_caller < 2; by_caller++) {
        struct copying copying = {
            .area = {.data = calloc(1, whole->size), .size = whole->size, .left = SUPPORT_NEVER},
            .cut = c};
        options.write_at = put_at;
        options.copy_at = by_caller ? copy_at : NULL;
        assert_int_equal(wcodec_join(context, (const wcodec_reader *const *)c->readers, c->count,
                                     fd, original, NULL, &copying, &options, &report, NULL),
                         WCODEC_OK);
        assert_memory_equal(&report, expected, sizeof report);
        assert_int_equal(copying.area.written, whole->size);
        assert_memory_equal(copying.area.data, whole->data, whole->size);
        free(copying.area.data);
    }
}

/* So many tensors come by anchors. */
static void expect_anchored(wcodec_context *context, const struct support_sink *whole,
                            unsigned anchored)
{
    wcodec_reader *reader = support_open_sink(context, whole);
    wcodec_tensor_info info;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        anchored -= info.coding == WCODEC_CODING_ANCHORED;
    }
    assert_int_equal(anchored, 0);
    wcodec_reader_close(reader);
}

static void check(wcodec_context *context, const uint8_t *data, size_t size, uint64_t tensors,
                  unsigned anchored, const wcodec_encode_options *options, unsigned rounds,
                  uint64_t *seed)
{
    struct cut c;
    struct support_sink whole, anew;
    wcodec_encode_report report, again;
    cut_init(&c, data, size);
    support_sink_init(&whole);
    assert_int_equal(wcodec_compress_memory(context, data, size, support_sink_write, &whole,
                                            options, &report, NULL),
                     WCODEC_OK);
    assert_int_equal(report.tensors, tensors);
    expect_anchored(context, &whole, anchored);
    assert_true(tensors < 2 || report.aliases > 0);
    for (unsigned i = 0; i < rounds; i++) {
        cut_at_random(context, &c, NULL, options, seed);
        for (size_t k = 0; k < c.count; k++)
            assert_int_equal(wcodec_reader_test(c.readers[k], 0, 0, NULL, NULL), WCODEC_OK);
        expect_join(context, &c, NULL, options, &whole, &report);
        cut_close_parts(&c);
    }
    if (report.lossy == 0) {
        wcodec_reader *reader = support_open_sink(context, &whole);
        support_sink_init(&anew);
        assert_int_equal(
            wcodec_recompress(reader, 0, support_sink_write, &anew, options, &again, NULL),
            WCODEC_OK);
        cut_at_random(context, &c, reader, options, seed);
        expect_join(context, &c, reader, options, &anew, &again);
        wcodec_reader_close(reader);
        support_sink_free(&anew);
    }
    support_sink_free(&whole);
    cut_free(&c);
}

/* About Gaussian. */
static float noise(uint64_t *seed)
{
    float sum = 0;
    for (unsigned i = 0; i < 12; i++)
        sum += (float)(support_random(seed) % 1000) * 0.001f - 0.5f;
    return sum;
}

enum { ROWS = 4096, COLUMNS = 64, CENTRES = 12, TABLE_SIZE = 88 + ROWS * COLUMNS * 2 };

/* A safetensors file of rows around a few: a table that comes by anchors. */
static uint8_t *make_table(uint64_t *seed)
{
    static const char header[] = "{\"table\":{\"dtype\":\"F16\",\"shape\":[4096,64],"
                                 "\"data_offsets\":[0,524288]}}";
    float centres[CENTRES][COLUMNS];
    uint8_t *file = malloc(TABLE_SIZE), *at = file;
    assert_non_null(file);
    for (size_t i = 0; i < CENTRES; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            centres[i][j] = 4 * noise(seed);
    wcodec_store_u64(at, 80);
    memset(at + 8, ' ', 80);
    memcpy(at + 8, header, sizeof header - 1);
    at += 88;
    for (size_t i = 0; i < ROWS; i++) {
        const float *centre = centres[support_random(seed) % CENTRES];
        for (size_t j = 0; j < COLUMNS; j++, at += 2)
            wcodec_store_u16(at, wcodec_f16_from_f32(centre[j] + noise(seed)));
    }
    return file;
}

/* Tensors of all sizes, some equal to others far away and of other types, empty ones, also last. */
static void make_model(struct support_model *model, uint64_t *seed)
{
    static const uint64_t sizes[] = {1,     0,     3,      100,    2000,   70000, 40000,
                                     32768, 65536, 300000, 500000, 500000, 9,     0};
    uint8_t same[6000];
    char name[32];
    support_model_init(model);
    for (size_t i = 0; i < sizeof same; i++)
        same[i] = (uint8_t)(support_random(seed) % 5);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(name, sizeof name, "t%u", i);
        support_model_add(model, name, i % 3 ? "BF16" : "F32", i % 3 ? 16 : 32, sizes[i],
                          i == 11 ? SUPPORT_RANDOM : (enum support_pattern)(i % 5 ? 0 : 4), seed);
        if (i % 4 == 1) {
            snprintf(name, sizeof name, "same%u", i);
            support_model_add_data(model, name, i % 8 == 1 ? "BF16" : "F16", sizeof same / 2, same,
                                   sizeof same);
        }
    }
    support_model_finish(model, "\"__metadata__\":{\"format\":\"pt\"}", 3);
}

static void joins_as_at_once(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (int level = 1; level <= 9; level += support_quick() ? 4 : 2) {
        struct support_model model;
        wcodec_encode_options options;
        wcodec_context *context = support_context(1 + (unsigned)level % 3, NULL);
        make_model(&model, &seed);
        wcodec_encode_options_init(&options);
        options.level = level;
        options.name = "model.safetensors";
        options.mode = 0640;
        options.mtime = 12345;
        check(context, model.file, model.file_size, model.tensors, 0, &options, level == 1 ? 6 : 2,
              &seed);
        support_model_free(&model);
        wcodec_context_destroy(context);
    }
}

/* With loss what is hashed is what is decoded. */
static void joins_with_loss(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model model;
    wcodec_encode_options options;
    wcodec_context *context = support_context(2, NULL);
    make_model(&model, &seed);
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_BITS;
    options.lossy_value = 6;
    check(context, model.file, model.file_size, model.tensors, 0, &options, 2, &seed);
    support_model_free(&model);
    uint8_t *table = make_table(&seed);
    check(context, table, TABLE_SIZE, 1, 1, &options, 2, &seed);
    free(table);
    wcodec_context_destroy(context);
}

/* Opaque bytes in pieces of 16 MiB, a GGUF file, and nothing. */
static void joins_other_kinds(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    wcodec_encode_options options;
    wcodec_context *context = support_context(2, NULL);
    const size_t size = (33 << 20) + 5;
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 1 + i % 4096)
        bytes[i] = (uint8_t)i;
    wcodec_encode_options_init(&options);
    options.level = 1;
    check(context, bytes, size, 0, 0, &options, 2, &seed);
    free(bytes);
    struct cut c;
    struct support_sink whole;
    wcodec_encode_report report;
    cut_init(&c, (const uint8_t *)"", 0);
    support_sink_init(&whole);
    assert_int_equal(
        wcodec_compress_memory(context, "", 0, support_sink_write, &whole, &options, &report, NULL),
        WCODEC_OK);
    add_part(context, &c, NULL, &options, 0, 1);
    expect_join(context, &c, NULL, &options, &whole, &report);
    support_sink_free(&whole);
    cut_free(&c);
    const struct support_quantised q = {"Q4_0", 2, 18, 32, 64, 40};
    struct support_sink gguf;
    size_t data_size;
    uint8_t *data = support_quantised_data(&q, &seed, &data_size);
    support_sink_init(&gguf);
    support_quantised_gguf(&q, data, data_size, &gguf);
    check(context, gguf.data, gguf.size, 1, 0, &options, 3, &seed);
    support_sink_free(&gguf);
    free(data);
    wcodec_context_destroy(context);
}

static wcodec_status join(wcodec_context *context, const struct cut *c, size_t first, size_t count,
                          const wcodec_encode_options *options, wcodec_error *err)
{
    struct support_sink joined;
    support_sink_init(&joined);
    const wcodec_status status =
        wcodec_join(context, (const wcodec_reader *const *)c->readers + first, count,
                    fileno(c->file), NULL, support_sink_write, &joined, options, NULL, err);
    support_sink_free(&joined);
    return status;
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque, (void)total;
    return done != 0;
}

static void refuses(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model model, other;
    struct cut c, d;
    wcodec_encode_options options;
    wcodec_error err;
    wcodec_context *context = support_context(2, NULL);
    make_model(&model, &seed);
    make_model(&other, &seed);
    cut_init(&c, model.file, model.file_size);
    cut_init(&d, other.file, other.file_size);
    wcodec_encode_options_init(&options);
    const uint64_t middle = model.file_size / 2;
    add_part(context, &c, NULL, &options, 0, middle);
    add_part(context, &c, NULL, &options, middle, UINT64_MAX);
    add_part(context, &d, NULL, &options, 0, UINT64_MAX);
    assert_int_equal(join(context, &c, 0, 2, &options, &err), WCODEC_OK);
    /* One is missing. */
    assert_int_equal(join(context, &c, 0, 1, &options, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "a part is missing, from byte"));
    assert_int_equal(join(context, &c, 1, 1, &options, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part 1 of 1: it begins at byte"));
    assert_int_equal(join(context, &c, 0, 0, &options, &err), WCODEC_ERROR_USAGE);
    /* Of other options. */
    options.level = 9;
    assert_int_equal(join(context, &c, 0, 2, &options, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part 1 of 2: it was made by other options"));
    options.level = 3;
    /* Of another file: of the same size, and names. */
    if (other.file_size == model.file_size) {
        struct cut mixed = {.file = d.file};
        mixed.readers[0] = c.readers[0];
        mixed.readers[1] = c.readers[1];
        assert_int_equal(join(context, &mixed, 0, 2, &options, &err), WCODEC_OK);
    }
    /* What is no part. */
    struct support_sink plain;
    support_sink_init(&plain);
    assert_int_equal(wcodec_compress_memory(context, model.file, model.file_size,
                                            support_sink_write, &plain, &options, NULL, NULL),
                     WCODEC_OK);
    wcodec_reader *reader = support_open_sink(context, &plain);
    struct cut none = {.file = c.file, .readers = {reader}};
    assert_int_equal(join(context, &none, 0, 1, &options, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "it is no part of a file"));
    wcodec_reader_close(reader);
    support_sink_free(&plain);
    /* Cancelled, a function that fails, and wrong arguments. */
    options.progress.fn = stop;
    assert_int_equal(join(context, &c, 0, 2, &options, &err), WCODEC_ERROR_CANCELLED);
    options.progress.fn = NULL;
    struct copying copying = {
        .area = {.data = malloc(1 << 24), .size = 1 << 24, .left = 9999}, .cut = &c, .error = EIO};
    options.copy_at = copy_at;
    assert_int_equal(join(context, &c, 0, 2, &options, &err), WCODEC_ERROR_USAGE);
    options.write_at = put_at;
    const wcodec_reader *const *parts = (const wcodec_reader *const *)c.readers;
    assert_int_equal(
        wcodec_join(context, parts, 2, fileno(c.file), NULL, NULL, &copying, &options, NULL, &err),
        WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "copying to byte"));
    assert_int_equal(copying.calls, 1);
    free(copying.area.data);
    assert_int_equal(
        wcodec_join(context, parts, 2, -1, NULL, support_sink_write, NULL, NULL, NULL, &err),
        WCODEC_ERROR_USAGE);
    /* What is no file is not made in parts. */
    wcodec_encode_options part;
    wcodec_writer *writer;
    wcodec_encode_options_init(&part);
    part.part_end = 1000;
    assert_int_equal(
        wcodec_writer_create(context, support_sink_write, &plain, &part, &writer, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_copy(c.readers[0], NULL, 0, support_sink_write, &plain, &part, NULL, &err),
        WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part_end and copy_at are for"));
    part.part_end = 0;
    part.part_begin = 7;
    assert_int_equal(
        wcodec_compress_memory(context, "x", 1, support_sink_write, &plain, &part, NULL, NULL),
        WCODEC_ERROR_USAGE);
    options.part_begin = options.part_end = 7;
    assert_int_equal(
        wcodec_compress_memory(context, "x", 1, support_sink_write, &plain, &options, NULL, NULL),
        WCODEC_ERROR_USAGE);
    cut_free(&c);
    cut_free(&d);
    support_model_free(&model);
    support_model_free(&other);
    wcodec_context_destroy(context);
}

/* A part that is damaged in any byte is refused, or joined to what is as it should be where that
 * byte does not count; and never to anything else. */
static void refuses_damage(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model model;
    struct support_sink whole;
    struct cut c;
    wcodec_encode_options options;
    wcodec_context *context = support_context(1, NULL);
    support_model_init(&model);
    support_model_add(&model, "a", "BF16", 16, 3000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&model, "b", "BF16", 16, 40000, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&model, "", 0);
    cut_init(&c, model.file, model.file_size);
    wcodec_encode_options_init(&options);
    support_sink_init(&whole);
    assert_int_equal(wcodec_compress_memory(context, model.file, model.file_size,
                                            support_sink_write, &whole, &options, NULL, NULL),
                     WCODEC_OK);
    add_part(context, &c, NULL, &options, 0, 5000);
    add_part(context, &c, NULL, &options, 5000, UINT64_MAX);
    unsigned refused = 0, tried = 0;
    for (size_t i = 0; i < c.parts[1].size; i += 1 + support_random(&seed) % 97) {
        struct support_sink joined;
        wcodec_reader *damaged, *sound = c.readers[1];
        const uint8_t bit = (uint8_t)(1 << support_random(&seed) % 8);
        c.parts[1].data[i] ^= bit;
        tried++;
        if (wcodec_reader_open_memory(context, c.parts[1].data, c.parts[1].size, &damaged, NULL) !=
            WCODEC_OK) {
            refused++;
        } else {
            support_sink_init(&joined);
            c.readers[1] = damaged;
            if (wcodec_join(context, (const wcodec_reader *const *)c.readers, 2, fileno(c.file),
                            NULL, support_sink_write, &joined, &options, NULL, NULL) != WCODEC_OK) {
                refused++;
            } else {
                assert_int_equal(joined.size, whole.size);
                assert_memory_equal(joined.data, whole.data, whole.size);
            }
            c.readers[1] = sound;
            wcodec_reader_close(damaged);
            support_sink_free(&joined);
        }
        c.parts[1].data[i] ^= bit;
    }
    assert_true(refused > tried / 2);
    support_sink_free(&whole);
    cut_free(&c);
    support_model_free(&model);
    wcodec_context_destroy(context);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model model;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    support_model_init(&model);
    support_model_add(&model, "a", "BF16", 16, 3000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&model, "b", "BF16", 16, 70000, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&model, "", 0);
    for (long n = 0; status != WCODEC_OK; n++) {
        struct support_allocator failing;
        struct cut c;
        wcodec_encode_options options;
        struct support_sink part;
        support_allocator_init(&failing, SUPPORT_NEVER);
        wcodec_context *context = support_context(1, &failing.allocator);
        cut_init(&c, model.file, model.file_size);
        wcodec_encode_options_init(&options);
        add_part(context, &c, NULL, &options, 0, 5000);
        add_part(context, &c, NULL, &options, 5000, UINT64_MAX);
        failing.left = n;
        failing.once = true;
        status = join(context, &c, 0, 2, &options, NULL);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        if (status == WCODEC_OK) { /* and of a part */
            options.part_end = 5000;
            failing.left = SUPPORT_NEVER;
            wcodec_status made = WCODEC_ERROR_MEMORY;
            for (long m = 0; made != WCODEC_OK; m++) {
                support_sink_init(&part);
                failing.left = m;
                made = wcodec_compress_memory(context, model.file, model.file_size,
                                              support_sink_write, &part, &options, NULL, NULL);
                assert_true(made == WCODEC_OK || made == WCODEC_ERROR_MEMORY);
                support_sink_free(&part);
                assert_true(m < 1000);
            }
        }
        failing.left = SUPPORT_NEVER;
        cut_free(&c);
        wcodec_context_destroy(context);
        assert_int_equal(failing.balance, 0);
        assert_true(n < 1000);
    }
    support_model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_as_at_once),  cmocka_unit_test(joins_with_loss),
        cmocka_unit_test(joins_other_kinds), cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_damage),    cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
