/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_model.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "core/bytes.h"

static void *grow(void *memory, size_t *capacity, size_t need)
{
    if (need <= *capacity)
        return memory;
    *capacity = need + need / 2 + 64;
    memory = realloc(memory, *capacity);
    assert_non_null(memory);
    return memory;
}

void support_model_init(struct support_model *model)
{
    memset(model, 0, sizeof *model);
}

static void add_json(struct support_model *m, const char *text)
{
    size_t size = strlen(text);
    m->json = grow(m->json, &m->json_room, m->json_size + size);
    memcpy(m->json + m->json_size, text, size);
    m->json_size += size;
}

void support_model_add_data(struct support_model *m, const char *name, const char *dtype,
                            uint64_t elements, const void *data, size_t size)
{
    char entry[400];
    int n =
        snprintf(entry, sizeof entry,
                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64 "],\"data_offsets\":[%zu,%zu]}",
                 m->tensors ? "," : "", name, dtype, elements, m->data_size, m->data_size + size);
    assert_true(n > 0 && n < (int)sizeof entry);
    add_json(m, entry);
    m->data = grow(m->data, &m->data_capacity, m->data_size + size);
    if (size)
        memcpy(m->data + m->data_size, data, size);
    m->data_size += size;
    m->tensors++;
}

/* A value near a normal distribution's, as the bits of a float. */
static uint32_t weight_bits(uint64_t *seed)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t r = support_random(seed);
        sum += (int64_t)(r & 0xffff) - (int64_t)(r >> 16 & 0xffff);
    }
    float f = (float)sum / 3e6f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void fill(uint8_t *data, size_t size, unsigned bits, enum support_pattern pattern,
                 uint64_t *seed)
{
    unsigned width = bits >= 8 ? bits / 8 : 1;
    for (size_t i = 0; i < size; i += width) {
        uint64_t v = 0;
        if (pattern == SUPPORT_RANDOM)
            v = support_random(seed);
        else if (pattern == SUPPORT_ALTERNATING)
            v = i / width % 2 ? 0x3c00 : 0xbc00;
        else if (pattern == SUPPORT_WEIGHTS)
            v = width == 1   ? (uint64_t)(weight_bits(seed) >> 18 & 0x3f)
                : width == 2 ? weight_bits(seed) >> 16
                             : (uint64_t)weight_bits(seed) << (8 * width - 32);
        for (unsigned b = 0; b < width && i + b < size; b++)
            data[i + b] = (uint8_t)(v >> (8 * b));
    }
}

void support_model_add(struct support_model *m, const char *name, const char *dtype, unsigned bits,
                       uint64_t elements, enum support_pattern pattern, uint64_t *seed)
{
    size_t size = bits == 0 ? (size_t)elements : (size_t)(elements * bits / 8);
    uint8_t *data = malloc(size ? size : 1);
    assert_non_null(data);
    fill(data, size, bits, pattern, seed);
    support_model_add_data(m, name, dtype, elements, data, size);
    free(data);
}

void support_model_finish(struct support_model *m, const char *metadata, unsigned blanks)
{
    size_t meta = strlen(metadata), comma = meta && m->tensors ? 1 : 0,
           text = 1 + meta + comma + m->json_size + 1 + blanks;
    m->file_size = 8 + text + m->data_size;
    m->file = malloc(m->file_size);
    assert_non_null(m->file);
    wcodec_store_u64(m->file, text);
    uint8_t *p = m->file + 8;
    *p++ = '{';
    memcpy(p, metadata, meta);
    p += meta;
    if (comma)
        *p++ = ',';
    if (m->json_size)
        memcpy(p, m->json, m->json_size);
    p += m->json_size;
    *p++ = '}';
    memset(p, ' ', blanks);
    if (m->data_size)
        memcpy(p + blanks, m->data, m->data_size);
}

void support_model_free(struct support_model *model)
{
    free(model->json);
    free(model->data);
    free(model->file);
    support_model_init(model);
}

void support_sink_init(struct support_sink *sink)
{
    *sink = (struct support_sink){.fail_at = UINT_MAX};
}

int support_sink_write(void *opaque, const void *data, size_t size)
{
    struct support_sink *sink = opaque;
    assert_true(size > 0);
    if (sink->calls++ == sink->fail_at)
        return ENOSPC;
    sink->data = grow(sink->data, &sink->capacity, sink->size + size);
    memcpy(sink->data + sink->size, data, size);
    sink->size += size;
    return 0;
}

void support_sink_free(struct support_sink *sink)
{
    free(sink->data);
    support_sink_init(sink);
}

wcodec_reader *support_open_sink(wcodec_context *context, const struct support_sink *sink)
{
    wcodec_reader *reader;
    wcodec_error err = {0};
    if (wcodec_reader_open_memory(context, sink->data, sink->size, &reader, &err) != WCODEC_OK)
        fail_msg("cannot be opened: %s", err.text);
    return reader;
}

void support_expect_restores(wcodec_context *context, const struct support_sink *sink,
                             const void *original, size_t size)
{
    wcodec_error err = {0};
    wcodec_reader *reader = support_open_sink(context, sink);
    struct support_sink restored;
    support_sink_init(&restored);
    if (wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, &err) != WCODEC_OK)
        fail_msg("cannot be restored: %s", err.text);
    if (wcodec_reader_test(reader, 0, 0, NULL, &err) != WCODEC_OK)
        fail_msg("does not test right: %s", err.text);
    assert_int_equal(restored.size, size);
    if (size)
        assert_memory_equal(restored.data, original, size);
    wcodec_reader_close(reader);
    support_sink_free(&restored);
}

static void check_restored(const wcodec_reader *reader, const uint8_t *data, size_t size)
{
    struct support_sink file;
    wcodec_error err = {0};
    support_sink_init(&file);
    if (wcodec_reader_restore(reader, 0, support_sink_write, &file, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_true(file.size > size);
    assert_memory_equal(file.data + file.size - size, data, size);
    assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_OK);
    support_sink_free(&file);
}

/* Parts of the tensor's size are enough to decode it. */
static void check_little_memory(const struct support_sink *coded, uint64_t rows,
                                const uint8_t *data, size_t size)
{
    wcodec_context *context = support_context_limited(2, 3 << 20);
    wcodec_reader *reader;
    uint8_t *out = malloc(size);
    wcodec_error err = {0};
    assert_int_equal(wcodec_reader_open_memory(context, coded->data, coded->size, &reader, NULL),
                     WCODEC_OK);
    if (wcodec_reader_decode(reader, 0, out, size, NULL, &err) != WCODEC_OK)
        fail_msg("%llu rows: %s", (unsigned long long)rows, err.text);
    assert_memory_equal(out, data, size);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(out);
}

void support_expect_tensor(wcodec_context *context, uint64_t *seed,
                           const struct support_sink *coded, uint64_t rows, const uint8_t *data,
                           size_t size)
{
    wcodec_reader *reader;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(wcodec_reader_open_memory(context, coded->data, coded->size, &reader, NULL),
                     WCODEC_OK);
    support_expect_rows(reader, 0, 1, seed, rows, data, size);
    check_restored(reader, data, size);
    wcodec_reader_close(reader);
    assert_int_equal(fwrite(coded->data, 1, coded->size, file), coded->size);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(wcodec_reader_open_fd(context, fileno(file), &reader, NULL), WCODEC_OK);
    support_expect_rows(reader, 0, 1, seed, rows, data, size);
    check_restored(reader, data, size);
    wcodec_reader_close(reader);
    fclose(file);
    check_little_memory(coded, rows, data, size);
}
