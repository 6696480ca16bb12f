/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that a device codes as they are saved: the bytes that the CPU makes, wherever they lie;
 * what it cannot code; too little memory, and a device that fails or computes wrongly. */
#include "support_files.h"
#include "support_load.h"
#include "support_plugins.h"
#include "backends/emulate/fibers.h"
#include <wcodec/save.h>

#include <string.h>

enum kind { BELL, ZEROS, EQUAL, NOISE, COPY, ODD };

/* What a tensor is, and whether the device codes it. */
static const struct tensor {
    const char *name;
    wcodec_dtype dtype;
    uint64_t elements;
    enum kind kind;
    bool coded; /* by the device */
} tensors[] = {
    {"bf16", WCODEC_DTYPE_BF16, 600000, BELL, true},
    {"small", WCODEC_DTYPE_BF16, 1000, BELL, false},
    {"f32", WCODEC_DTYPE_F32, 300001, BELL, true},
    {"tied", WCODEC_DTYPE_F32, 300001, COPY, true},
    {"pruned", WCODEC_DTYPE_F32, 300000, ZEROS, false},
    {"f16", WCODEC_DTYPE_F16, 524288 + 32768, BELL, true},
    {"odd", WCODEC_DTYPE_BF16, 550000, ODD, true},
    {"int8", WCODEC_DTYPE_I8, 1100000, BELL, true},
    {"one", WCODEC_DTYPE_BF16, 530000, EQUAL, true},
    {"noise", WCODEC_DTYPE_U8, 1050000, NOISE, false},
    {"doubles", WCODEC_DTYPE_F64, 140000, BELL, false},
    {"words", WCODEC_DTYPE_I32, 270000, BELL, false},
    {"last", WCODEC_DTYPE_BF16, 524288, BELL, true},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

static unsigned element_size(wcodec_dtype dtype)
{
    switch (dtype) {
    case WCODEC_DTYPE_F64:
        return 8;
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_I32:
        return 4;
    case WCODEC_DTYPE_BF16:
    case WCODEC_DTYPE_F16:
        return 2;
    default:
        return 1;
    }
}

/* Of a bell curve, about, with a spread of its own. */
static uint64_t element_of(const struct tensor *t, uint64_t i, uint64_t *seed)
{
    const uint64_t r = support_random(seed);
    double sum = -4 * 255.5;
    for (unsigned b = 0; b < 8; b++)
        sum += (double)(r >> 8 * b & 255);
    const float f = (float)(sum / 8000);
    const double d = sum / 8000;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &f, sizeof bits);
    memcpy(&wide, &d, sizeof wide);
    const uint32_t exponent = bits >> 23 & 255;
    if (t->kind == EQUAL)
        return 0x3c1f;
    if (t->kind == NOISE)
        return r;
    if (t->kind == ZEROS && r >> 60 < 8)
        return 0;
    if (t->kind == ODD && i % 4096 < 64) /* outliers, and tiles that are larger coded */
        return r;
    switch (t->dtype) {
    case WCODEC_DTYPE_F64:
        return wide;
    case WCODEC_DTYPE_F32:
        return bits;
    case WCODEC_DTYPE_BF16:
        return bits >> 16;
    case WCODEC_DTYPE_F16:
        return bits >> 31 << 15 | (exponent > 112 ? exponent - 112 : 0) << 10 |
               (bits >> 13 & 0x3ff);
    default:
        return (uint64_t)(int64_t)(d * 300);
    }
}

struct model {
    uint8_t *data;
    uint64_t size;
    uint64_t shapes[TENSORS][1];
    wcodec_save_item items[TENSORS];
};

/* Tensors at multiples of `gap`, and `shift` behind them. */
static void make_model(struct model *m, uint64_t gap, uint64_t shift)
{
    uint64_t at = gap, last = 0;
    *m = (struct model){.data = NULL};
    for (unsigned i = 0; i < TENSORS; i++) {
        const struct tensor *t = &tensors[i];
        m->shapes[i][0] = t->elements;
        m->items[i] = (wcodec_save_item){.name = t->name,
                                         .dtype = t->dtype,
                                         .rank = 1,
                                         .shape = m->shapes[i],
                                         .offset = at + shift,
                                         .size = t->elements * element_size(t->dtype)};
        at = (at + shift + m->items[i].size + gap - 1) / gap * gap;
    }
    m->size = at;
    m->data = calloc(1, at);
    assert_non_null(m->data);
    for (unsigned i = 0; i < TENSORS; i++) {
        const unsigned size = element_size(tensors[i].dtype);
        uint8_t *to = m->data + m->items[i].offset;
        uint64_t seed = 100 + i;
        m->items[i].source = (uint64_t)(uintptr_t)m->data;
        if (tensors[i].kind == COPY) {
            memcpy(to, m->data + last, m->items[i].size);
            continue;
        }
        for (uint64_t k = 0; k < tensors[i].elements; k++) {
            const uint64_t element = element_of(&tensors[i], k, &seed);
            memcpy(to + k * size, &element, size);
        }
        last = m->items[i].offset;
    }
}

static wcodec_status save(wcodec_context *context, const struct model *m, unsigned count,
                          const char *memory, const wcodec_encode_options *encode,
                          struct support_sink *sink, wcodec_error *err)
{
    wcodec_save_options options;
    support_sink_init(sink);
    wcodec_save_options_init(&options);
    options.write = support_sink_write;
    options.opaque = sink;
    options.memory = memory;
    options.encode = encode;
    return wcodec_save(context, m->items, count, &options, NULL, err);
}

static void level_1(wcodec_encode_options *encode)
{
    wcodec_encode_options_init(encode);
    encode->level = 1;
}

/* What the CPU makes of the same in host memory. */
static void save_on_cpu(const struct model *m, unsigned count, const wcodec_encode_options *encode,
                        struct support_sink *sink)
{
    wcodec_context *context = support_context(2, NULL);
    struct model own = *m;
    wcodec_error err = {0};
    for (unsigned i = 0; i < TENSORS; i++)
        own.items[i].source = (uint64_t)(uintptr_t)m->data;
    if (save(context, &own, count, NULL, encode, sink, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_context_destroy(context);
}

/* The model to a device's memory, as tensors of a plain container; NULL where there is no memory.
 */
static wcodec_buffer *to_device(wcodec_context *context, const char *backend, struct model *m,
                                wcodec_error *err)
{
    wcodec_buffer *buffer;
    wcodec_reader *reader;
    wcodec_load_item items[TENSORS] = {{0}};
    wcodec_load_options options;
    struct support_sink file;
    wcodec_encode_options encode;
    level_1(&encode);
    save_on_cpu(m, TENSORS, &encode, &file);
    if (wcodec_buffer_create(context, m->size, &buffer, err) != WCODEC_OK) {
        support_sink_free(&file);
        return NULL;
    }
    for (unsigned i = 0; i < TENSORS; i++) {
        m->items[i].source = wcodec_buffer_native(buffer);
        items[i] = (wcodec_load_item){.tensor = i,
                                      .destination = m->items[i].source,
                                      .offset = m->items[i].offset,
                                      .size = m->items[i].size};
    }
    if (wcodec_reader_open_memory(context, file.data, file.size, &reader, err) != WCODEC_OK)
        fail_msg("%s", err->text);
    wcodec_load_options_init(&options);
    options.memory = backend;
    const wcodec_status status = wcodec_load(reader, items, TENSORS, &options, NULL, err);
    wcodec_reader_close(reader);
    support_sink_free(&file);
    if (status == WCODEC_OK)
        return buffer;
    wcodec_buffer_destroy(buffer);
    return NULL;
}

static void expect_same(const struct support_sink *a, const struct support_sink *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* Of the log: tensors that the CPU codes in the device's place, and warnings. */
struct lines {
    _Atomic unsigned left, warnings;
};

static void count_line(void *opaque, wcodec_log_level level, const char *text)
{
    struct lines *lines = opaque;
    lines->left += strstr(text, "is coded by the CPU, not") != NULL;
    lines->warnings += level == WCODEC_LOG_WARNING;
}

/* NULL: there is no such device. */
static wcodec_context *create(const char *backend, const wcodec_allocator *allocator,
                              struct lines *lines, wcodec_error *err)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    options.log = count_line;
    options.log_opaque = lines;
    options.log_level = WCODEC_LOG_INFO;
    if (allocator != NULL)
        options.allocator = *allocator;
    return wcodec_context_create(&options, &context, err) == WCODEC_OK ? context : NULL;
}

/* Tensors that are large enough for a device, of types that it measures, but not coded by it. */
static unsigned count_left(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < TENSORS; i++)
        count += !tensors[i].coded && tensors[i].elements > 100000 &&
                 tensors[i].dtype != WCODEC_DTYPE_F64;
    return count;
}

/* From each device, whole and without verification, with tensors that lie well and not so. */
static void test_same_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"fake", "opencl", "cuda"};
    static const struct {
        uint64_t gap, shift;
    } places[] = {{256, 0}, {64, 8}};
    unsigned tried = 0;
    setenv("WCODEC_FAKE", "", 1);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (unsigned p = 0; p < 2; p++) {
            struct model m;
            struct support_sink host, device;
            struct lines lines = {0};
            wcodec_encode_options encode;
            wcodec_error err = {0};
            if (!support_load_plugin(n == 0 ? NULL : names[n]) && n != 0)
                continue;
            wcodec_context *context = create(names[n], NULL, &lines, &err);
            if (context == NULL) {
                print_message("%s: not tried\n", names[n]);
                continue;
            }
            make_model(&m, places[p].gap, places[p].shift);
            wcodec_buffer *buffer = to_device(context, names[n], &m, &err);
            if (buffer == NULL)
                fail_msg("%s", err.text);
            level_1(&encode);
            save_on_cpu(&m, TENSORS, &encode, &host);
            for (int verify = 0; verify < 2; verify++) {
                encode.no_verify = !verify;
                lines.left = 0;
                if (save(context, &m, TENSORS, names[n], &encode, &device, &err) != WCODEC_OK)
                    fail_msg("%s", err.text);
                expect_same(&host, &device);
                support_sink_free(&device);
                /* Of those that were tried: zeros, noise, integers of several fields. */
                if (n == 0 && wcodec_fibers_supported())
                    assert_int_equal(lines.left, count_left());
            }
            print_message("%s, shifted by %u: the same %zu bytes, %u tensors by the CPU\n",
                          names[n], (unsigned)places[p].shift, host.size, lines.left);
            support_sink_free(&host);
            wcodec_buffer_destroy(buffer);
            wcodec_context_destroy(context);
            free(m.data);
            tried++;
        }
    support_load_plugin(NULL);
    assert_true(tried >= 2);
}

enum { FEW = 2 };

/* The model to the fake device's memory, which the host does see. */
static wcodec_status place(wcodec_context *context, struct model *m, wcodec_buffer **buffer,
                           wcodec_error *err)
{
    const wcodec_status status = wcodec_buffer_create(context, m->size, buffer, err);
    for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++)
        m->items[i].source = wcodec_buffer_native(*buffer);
    if (status == WCODEC_OK)
        memcpy((void *)(uintptr_t)wcodec_buffer_native(*buffer), m->data, m->size);
    return status;
}

/* A few tensors in the memory of a fake device whose calls fail as `mode` says. What is saved all
 * the same is what the CPU makes. */
static wcodec_status save_failing(const char *mode, const struct support_allocator *allocator,
                                  struct model *m, struct lines *lines, wcodec_error *err)
{
    struct support_sink sink;
    wcodec_encode_options encode;
    wcodec_buffer *buffer;
    level_1(&encode);
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context =
        create("fake", allocator != NULL ? &allocator->allocator : NULL, lines, err);
    assert_non_null(context);
    wcodec_status status = place(context, m, &buffer, err);
    if (status == WCODEC_OK) {
        status = save(context, m, FEW, "fake", &encode, &sink, err);
        if (status == WCODEC_OK) {
            struct support_sink host;
            save_on_cpu(m, FEW, &encode, &host);
            expect_same(&host, &sink);
            support_sink_free(&host);
        }
        support_sink_free(&sink);
        wcodec_buffer_destroy(buffer);
    }
    wcodec_context_destroy(context);
    setenv("WCODEC_FAKE", "", 1);
    return status;
}

/* A device that is lost at call n says so, and which tensor it was at; one that has no memory for
 * once leaves the tensor to the CPU. */
static void test_failing(void **state)
{
    (void)state;
    struct model m;
    unsigned failed = 0, left = 0;
    make_model(&m, 256, 0);
    for (unsigned n = 1; n < 4000; n += support_one_in(4)) {
        char mode[32];
        struct support_allocator counted;
        struct lines lines = {0};
        wcodec_error err = {0};
        support_allocator_init(&counted, 1L << 40);
        snprintf(mode, sizeof mode, "lost-%u", n);
        const wcodec_status status = save_failing(mode, &counted, &m, &lines, &err);
        assert_int_equal(counted.balance, 0);
        if (status == WCODEC_OK)
            break;
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "fake:0"));
        failed++;
    }
    for (unsigned n = 1; n < 40; n++) {
        char mode[32];
        struct lines lines = {0};
        wcodec_error err = {0};
        snprintf(mode, sizeof mode, "memory-%u", n);
        const wcodec_status status = save_failing(mode, NULL, &m, &lines, &err);
        if (status != WCODEC_OK)
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
        left += lines.left;
    }
    struct lines lines = {0};
    wcodec_error err = {0};
    if (save_failing("late-nocoders", NULL, &m, &lines, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lines.left, wcodec_fibers_supported() ? 1 : 0);
    print_message("%u calls failed, %u tensors were left to the CPU\n", failed, left);
    assert_in_range(failed, wcodec_fibers_supported() ? 20 : 5, 3000);
    assert_true(left > 0 || !wcodec_fibers_supported());
    free(m.data);
}

/* What it codes does not decode to what it was made of: nothing of it is kept. */
static void test_wrong(void **state)
{
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    struct model m;
    struct lines lines = {0};
    wcodec_error err = {0};
    make_model(&m, 256, 0);
    assert_int_equal(save_failing("late-miscodes", NULL, &m, &lines, &err), WCODEC_ERROR_DEVICE);
    assert_non_null(strstr(err.text, "computes wrongly"));
    assert_non_null(strstr(err.text, "\"bf16\""));
    assert_true(lines.warnings > 0);
    free(m.data);
}

/* Host memory that ends at every allocation. */
static void test_short(void **state)
{
    (void)state;
    struct model m;
    unsigned failed = 0;
    make_model(&m, 256, 0);
    for (long n = 0; n < 100000; n += 1 + n / 8) {
        struct support_allocator allocator;
        struct support_sink sink;
        struct lines lines = {0};
        wcodec_encode_options encode;
        wcodec_buffer *buffer;
        wcodec_error err = {0};
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = create("fake", &allocator.allocator, &lines, &err);
        assert_non_null(context);
        assert_int_equal(place(context, &m, &buffer, &err), WCODEC_OK);
        level_1(&encode);
        allocator.left = n;
        const wcodec_status status = save(context, &m, FEW, "fake", &encode, &sink, &err);
        allocator.left = SUPPORT_NEVER;
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
            failed++;
        }
        support_sink_free(&sink);
        wcodec_buffer_destroy(buffer);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        if (status == WCODEC_OK)
            break;
    }
    assert_true(failed > 10);
    free(m.data);
}

static int stop_later(void *opaque, uint64_t done, uint64_t total)
{
    (void)total;
    *(uint64_t *)opaque = done;
    return done > 1000000;
}

static void test_cancelled(void **state)
{
    (void)state;
    struct model m;
    struct support_sink sink;
    struct lines lines = {0};
    wcodec_encode_options encode;
    wcodec_buffer *buffer;
    wcodec_error err = {0};
    uint64_t done = 0;
    make_model(&m, 256, 0);
    wcodec_context *context = create("fake", NULL, &lines, &err);
    assert_non_null(context);
    assert_int_equal(place(context, &m, &buffer, &err), WCODEC_OK);
    level_1(&encode);
    encode.progress = (wcodec_progress){.fn = stop_later, .opaque = &done};
    assert_int_equal(save(context, &m, TENSORS, "fake", &encode, &sink, &err),
                     WCODEC_ERROR_CANCELLED);
    support_sink_free(&sink);
    wcodec_buffer_destroy(buffer);
    wcodec_context_destroy(context);
    free(m.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_failing),
        cmocka_unit_test(test_wrong),      cmocka_unit_test(test_short),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
