/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The calling thread needs no more than 128 KiB of stack, musl's default: everything that codes and
 * decodes, on a thread of that size, with and without threads of the library. */

#include "support_model.h"

#include <pthread.h>
#include <sys/mman.h>
#include <wcodec.h>

enum { STACK = 128 << 10, PAINT = 0xa5, ROWS = 384, COLUMNS = 384 };

/* A safetensors file in memory. */
struct model {
    char *json;
    size_t json_size;
    uint8_t *data;
    size_t data_size;
    uint8_t *file;
    size_t file_size;
};

/* Frames of sanitizers, and without optimization, are several times as large. */
#if defined(__OPTIMIZE__)
enum { LARGE_FRAMES = SUPPORT_ASAN || SUPPORT_TSAN };
#else
enum { LARGE_FRAMES = 1 };
#endif

struct run {
    const struct model *model;
    int level;
    wcodec_tune tune;
    wcodec_lossy_target lossy;
    double value;
    unsigned threads;
    int failed; /* a line of this file; 0: none */
    char text[300];
};

#define CHECK(call) \
    do { \
        if ((call) != WCODEC_OK) { \
            run->failed = __LINE__; \
            snprintf(run->text, sizeof run->text, "%.299s", err.text); \
            goto end; \
        } \
    } while (0)

static void *work(void *opaque)
{
    struct run *run = opaque;
    const struct model *m = run->model;
    wcodec_options options;
    wcodec_encode_options encode;
    wcodec_context *context = NULL;
    wcodec_reader *reader = NULL;
    struct support_sink sink, restored;
    wcodec_error err = {0};
    wcodec_options_init(&options);
    options.threads = run->threads;
    options.backend = "cpu";
    wcodec_encode_options_init(&encode);
    encode.level = run->level;
    encode.tune = run->tune;
    encode.lossy = run->lossy;
    encode.lossy_value = run->value;
    support_sink_init(&sink);
    support_sink_init(&restored);
    CHECK(wcodec_context_create(&options, &context, &err));
    CHECK(wcodec_compress_memory(context, m->file, m->file_size, support_sink_write, &sink, &encode,
                                 NULL, &err));
    CHECK(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, &err));
    CHECK(wcodec_reader_test(reader, 0, 0, NULL, &err));
    CHECK(wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, &err));
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        wcodec_load_item item = {0};
        wcodec_load_options load;
        CHECK(wcodec_reader_tensor(reader, i, &info, &err));
        uint8_t *data = malloc(info.size + 1);
        wcodec_status status = wcodec_reader_decode(reader, i, data, info.size, NULL, &err);
        item.tensor = i;
        item.rows = info.rank > 0 ? info.shape[0] : 1;
        item.destination = (uint64_t)(uintptr_t)data;
        item.size = info.size;
        wcodec_load_options_init(&load);
        if (status == WCODEC_OK)
            status = wcodec_load(reader, &item, 1, &load, NULL, &err);
        free(data);
        CHECK(status);
    }
end:
    if (reader)
        wcodec_reader_close(reader);
    if (context)
        wcodec_context_destroy(context);
    support_sink_free(&sink);
    support_sink_free(&restored);
    return NULL;
}

/* How much of a painted stack was used. */
static size_t used(const uint8_t *stack, size_t size)
{
    size_t i = 0;
    while (i < size && stack[i] == PAINT)
        i++;
    return size - i;
}

/* What lies below the stack may not be touched, so that no large frame jumps over it. */
static void expect(struct run run)
{
    const size_t size = LARGE_FRAMES ? (size_t)2 << 20 : (size_t)STACK, guard = (size_t)1 << 20;
    pthread_attr_t attributes;
    pthread_t thread;
    uint8_t *area = mmap(NULL, guard + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    assert_int_equal(mprotect(area + guard, size, PROT_READ | PROT_WRITE), 0);
    memset(area + guard, PAINT, size);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, area + guard, size), 0);
    assert_int_equal(pthread_create(&thread, &attributes, work, &run), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    print_message("level %d, tune %d, lossy %d, %u threads: %zu bytes\n", run.level, (int)run.tune,
                  (int)run.lossy, run.threads, used(area + guard, size));
    munmap(area, guard + size);
    if (run.failed)
        fail_msg("line %d: %s", run.failed, run.text);
}

/* A tensor of rows. */
static void add(struct model *m, const char *name, const char *dtype, unsigned size,
                const void *data)
{
    const size_t bytes = (size_t)ROWS * COLUMNS * size;
    m->json_size += (size_t)sprintf(m->json + m->json_size,
                                    "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%d,%d],"
                                    "\"data_offsets\":[%zu,%zu]}",
                                    m->json_size ? "," : "{", name, dtype, ROWS, COLUMNS,
                                    m->data_size, m->data_size + bytes);
    memcpy(m->data + m->data_size, data, bytes);
    m->data_size += bytes;
}

/* Sum of uniform numbers, nearly normal. */
static float weight(uint64_t *seed)
{
    float sum = 0;
    for (unsigned i = 0; i < 8; i++)
        sum += (float)(support_random(seed) >> 40) / (float)(1 << 24) - 0.5f;
    return sum * 0.02f;
}

/* Weights, rows that are alike, and what is no weight. */
static void make(struct model *m, uint64_t *seed)
{
    static float f32[ROWS][COLUMNS];
    static uint16_t bf16[ROWS][COLUMNS], smooth[ROWS][COLUMNS], wave[ROWS][COLUMNS];
    static uint8_t bytes[ROWS][COLUMNS], text[ROWS][COLUMNS];
    for (unsigned y = 0; y < ROWS; y++)
        for (unsigned x = 0; x < COLUMNS; x++) {
            uint32_t bits;
            f32[y][x] = weight(seed);
            memcpy(&bits, &f32[y][x], 4);
            bf16[y][x] = (uint16_t)(bits >> 16);
            const float near =
                1 + 0.2f * (float)y / ROWS + 0.1f * (float)x / COLUMNS + weight(seed) * 0.1f;
            memcpy(&bits, &near, 4);
            wave[y][x] = (uint16_t)(bits >> 16);
            smooth[y][x] = (uint16_t)(y * y / 8 + 3 * x + support_random(seed) % 8);
            bytes[y][x] = (uint8_t)(y / 2 + x / 3 + support_random(seed) % 4);
            text[y][x] = (uint8_t)("a few words "[x % 12] + (support_random(seed) % 16 == 0));
        }
    *m = (struct model){.json = malloc(4096), .data = malloc((size_t)ROWS * COLUMNS * 16)};
    add(m, "w", "BF16", 2, bf16);
    add(m, "f", "F32", 4, f32);
    add(m, "h", "F16", 2, bf16);
    add(m, "v", "BF16", 2, wave);
    add(m, "s", "I16", 2, smooth);
    add(m, "b", "I8", 1, bytes);
    add(m, "t", "U8", 1, text);
    m->json_size += (size_t)sprintf(m->json + m->json_size, "}");
    m->file_size = 8 + m->json_size + m->data_size;
    m->file = malloc(m->file_size);
    const uint64_t header = m->json_size;
    for (unsigned i = 0; i < 8; i++)
        m->file[i] = (uint8_t)(header >> 8 * i);
    memcpy(m->file + 8, m->json, m->json_size);
    memcpy(m->file + 8 + m->json_size, m->data, m->data_size);
    free(m->json);
    free(m->data);
}

static void test_levels(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct model m;
    make(&m, &seed);
    static const int levels[] = {1, 3, 5, 7, 9};
    for (unsigned threads = support_quick() ? 3 : 1; threads <= 3; threads += 2) {
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
            expect((struct run){.model = &m, .level = levels[i], .threads = threads});
        expect(
            (struct run){.model = &m, .level = 3, .tune = WCODEC_TUNE_COMPUTE, .threads = threads});
        expect((struct run){
            .model = &m, .level = 3, .tune = WCODEC_TUNE_COMPUTE_FIXED, .threads = threads});
    }
    free(m.file);
}

static void test_lossy(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct model m;
    make(&m, &seed);
    for (unsigned threads = support_quick() ? 3 : 1; threads <= 3; threads += 2)
        for (int level = 1; level <= 9; level += 4) {
            expect((struct run){.model = &m,
                                .level = level,
                                .lossy = WCODEC_LOSSY_BITS,
                                .value = 4,
                                .threads = threads});
            expect((struct run){.model = &m,
                                .level = level,
                                .lossy = WCODEC_LOSSY_SNR,
                                .value = 30,
                                .threads = threads});
            expect((struct run){.model = &m,
                                .level = level,
                                .lossy = WCODEC_LOSSY_ERROR,
                                .value = 0.01,
                                .threads = threads});
        }
    free(m.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_lossy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
