/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_load.h"

#include "core/bytes.h"
#include "support_plugins.h"

#include <string.h>
#include <unistd.h>

void support_loaded_make(struct support_loaded *m, uint64_t seed)
{
    support_loaded_make_level(m, seed, 0);
}

void support_loaded_make_level(struct support_loaded *m, uint64_t seed, int level)
{
    static const struct {
        const char *name;
        unsigned bits;
    } dtypes[] = {{"BF16", 16},   {"F16", 16}, {"F32", 32}, {"I8", 8},
                  {"F8_E4M3", 8}, {"U8", 8},   {"I32", 32}, {"F64", 64}};
    char name[32];
    support_model_init(&m->model);
    support_model_add(&m->model, "large", "BF16", 16, 1500000, SUPPORT_WEIGHTS, &seed);
    for (unsigned i = 0; i < 60; i++) {
        const unsigned d = i % 8;
        snprintf(name, sizeof name, "t%u", i);
        support_model_add(
            &m->model, name, dtypes[d].name, dtypes[d].bits,
            1 + support_random(&seed) % (i < 40 ? 40000 : 300),
            i % 7 == 6 ? (enum support_pattern)(i % SUPPORT_PATTERNS) : SUPPORT_WEIGHTS, &seed);
    }
    support_model_add(&m->model, "empty", "F32", 32, 0, SUPPORT_ZEROS, &seed);
    support_model_add(&m->model, "zeros", "F32", 32, 100000, SUPPORT_ZEROS, &seed);
    support_model_add(&m->model, "eight", "F64", 64, 9001, SUPPORT_ZEROS, &seed);
    support_model_add(&m->model, "noise", "U8", 8, 700001, SUPPORT_RANDOM, &seed);
    uint8_t *copy = malloc(3000000);
    memcpy(copy, m->model.data, 3000000);
    support_model_add_data(&m->model, "again", "BF16", 1500000, copy, 3000000);
    free(copy);
    support_model_finish(&m->model, "", 0);
    support_sink_init(&m->sink);
    wcodec_context *context = support_load_context("cpu", 2, NULL, NULL);
    wcodec_encode_options options;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.tile_log2 = 12;
    if (level != 0)
        options.level = level;
    if (wcodec_compress_memory(context, m->model.file, m->model.file_size, support_sink_write,
                               &m->sink, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_context_destroy(context);
    strcpy(m->path, "test-load-XXXXXX");
    int fd = mkstemp(m->path);
    assert_true(fd >= 0);
    for (size_t at = 0; at < m->sink.size;) {
        ssize_t n = write(fd, m->sink.data + at, m->sink.size - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    close(fd);
}

void support_loaded_free(struct support_loaded *m)
{
    unlink(m->path);
    support_sink_free(&m->sink);
    support_model_free(&m->model);
}

static void count_line(void *opaque, wcodec_log_level level, const char *text)
{
    struct support_lines *lines = opaque;
    (void)text;
    lines->warnings += level == WCODEC_LOG_WARNING;
    lines->infos += level == WCODEC_LOG_INFO;
}

wcodec_context *support_load_context(const char *backend, unsigned threads,
                                     const wcodec_allocator *allocator, struct support_lines *lines)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = threads;
    if (allocator != NULL)
        options.allocator = *allocator;
    if (lines != NULL) {
        options.log = count_line;
        options.log_opaque = lines;
        options.log_level = WCODEC_LOG_INFO;
    }
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

wcodec_reader *support_load_open(wcodec_context *context, const struct support_loaded *m)
{
    wcodec_reader *reader;
    wcodec_error err;
    if (wcodec_reader_open_path(context, m->path, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

bool support_load_plugin(const char *name)
{
    const char *build = getenv("top_builddir");
    char relative[4096];
    snprintf(relative, sizeof relative, "%s/backends/%s/.libs/wcodec_%s.so",
             build != NULL ? build : ".", name != NULL ? name : "fake",
             name != NULL ? name : "fake");
    const bool built = access(relative, F_OK) == 0;
    *strrchr(relative, '/') = '\0';
    char *folder = built ? realpath(relative, NULL) : support_plugin_folder();
    setenv("WCODEC_BACKEND_PATH", folder, 1);
    free(folder);
    if (!built)
        print_message("skipped: %s was not built\n", name);
    return built;
}

const uint8_t *support_loaded_bytes(const struct support_loaded *m, const wcodec_reader *reader,
                                    uint64_t i, uint64_t *size)
{
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
    *size = info.size;
    return m->model.file + info.file_offset;
}

const struct support_smooth support_smooth[SUPPORT_SMOOTH] = {
    {WCODEC_DTYPE_I8, 700, 257},  {WCODEC_DTYPE_BF16, 333, 100},  {WCODEC_DTYPE_F16, 90, 700},
    {WCODEC_DTYPE_F32, 129, 512}, {WCODEC_DTYPE_BF16, 2000, 640}, {WCODEC_DTYPE_I8, 16, 100000},
};

/* Smooth in both directions, of moderate size; in bf16 a subnormal number here and there, which a
 * fixed rate has no place for. */
static uint8_t *make_data(uint64_t *seed, const struct support_smooth *t, size_t *size)
{
    const unsigned bytes = wcodec_dtype_bits(t->dtype) / 8;
    *size = (size_t)(t->rows * t->columns) * bytes;
    uint8_t *data = malloc(*size);
    for (uint64_t i = 0; i < t->rows * t->columns; i++) {
        const unsigned v =
            (unsigned)(i / t->columns + 2 * (i % t->columns) + support_random(seed) % 7) % 250;
        const float f = 0.01f * (float)v;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (t->dtype == WCODEC_DTYPE_I8)
            data[i] = (uint8_t)v;
        else if (t->dtype == WCODEC_DTYPE_F32)
            memcpy(data + 4 * i, &bits, 4);
        else if (t->dtype == WCODEC_DTYPE_BF16)
            wcodec_store_u16(data + 2 * i,
                             support_random(seed) % 3000 == 0 ? 1 : (uint16_t)(bits >> 16));
        else
            data[2 * i] = (uint8_t)v, data[2 * i + 1] = 0x30;
    }
    return data;
}

void support_smooth_write(const wcodec_encode_options *options, struct support_sink *out)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_load_context("cpu", 2, NULL, NULL);
    wcodec_writer *writer;
    wcodec_error err = {0};
    char name[8];
    assert_int_equal(wcodec_writer_create(context, support_sink_write, out, options, &writer, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        const uint64_t shape[] = {support_smooth[i].rows, support_smooth[i].columns};
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(
            wcodec_writer_declare(writer, name, support_smooth[i].dtype, shape, 2, &err),
            WCODEC_OK);
    }
    for (unsigned i = 0; i < SUPPORT_SMOOTH; i++) {
        size_t size;
        uint8_t *data = make_data(&seed, &support_smooth[i], &size);
        if (wcodec_writer_data(writer, data, size, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        free(data);
    }
    assert_int_equal(wcodec_writer_finish(writer, NULL, &err), WCODEC_OK);
    wcodec_writer_destroy(writer);
    wcodec_context_destroy(context);
}

void support_keep_line(void *opaque, wcodec_log_level level, const char *text)
{
    struct support_log *lines = opaque;
    (void)level;
    if (lines->size < sizeof lines->text)
        lines->size += (size_t)snprintf(lines->text + lines->size, sizeof lines->text - lines->size,
                                        "%s\n", text);
}
