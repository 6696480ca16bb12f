/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory is bounded whatever the file's size: 64 MiB, twice the largest tensor or chunk, 16 times
 * the header, with more than 4 threads the largest once more and 1 MiB for each; or the caller's
 * limit. What zstd takes by itself is
 * not seen here; tests/bad/footprint.py looks at whole processes. */
#include "support_model.h"
#include "write/batch_work.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 64, MIB = 1 << 20 };

/* Counts bytes; each allocation has its size in front. */
struct counter {
    _Atomic size_t now, most;
};

enum { FRONT = 64 };

static void count(struct counter *c, size_t more, size_t less)
{
    size_t now = atomic_fetch_add(&c->now, more - less) + more - less, most = atomic_load(&c->most);
    while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now))
        ;
}

static void *counting_reallocate(void *opaque, void *memory, size_t size)
{
    size_t before = 0;
    uint8_t *front = memory ? (uint8_t *)memory - FRONT : NULL;
    if (front)
        memcpy(&before, front, sizeof before);
    count(opaque, memory ? size : size + FRONT, before);
    uint8_t *got = realloc(front, size + FRONT);
    assert_non_null(got);
    memcpy(got, &size, sizeof size);
    return got + FRONT;
}

static void *counting_allocate(void *opaque, size_t size)
{
    return counting_reallocate(opaque, NULL, size);
}

static void counting_release(void *opaque, void *memory)
{
    size_t size;
    memcpy(&size, (uint8_t *)memory - FRONT, sizeof size);
    count(opaque, 0, size + FRONT);
    free((uint8_t *)memory - FRONT);
}

struct sample {
    const char *dtype;
    unsigned bits;
    uint64_t tensor; /* bytes */
    unsigned tensors;
    enum support_pattern pattern;
};

/* A file of tensors that all differ. */
static FILE *make_file(const struct sample *s, uint64_t *seed)
{
    struct support_model m;
    support_model_init(&m);
    for (unsigned i = 0; i < s->tensors; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        support_model_add(&m, name, s->dtype, s->bits, s->tensor * 8 / s->bits, s->pattern, seed);
    }
    support_model_finish(&m, "", 0);
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(m.file, 1, m.file_size, f), m.file_size);
    assert_int_equal(fflush(f), 0);
    support_model_free(&m);
    return f;
}

static int put(void *opaque, const void *data, size_t size)
{
    return fwrite(data, 1, size, opaque) == size ? 0 : 5;
}

static wcodec_context *make_context(struct counter *c, uint64_t max_memory)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.threads = THREADS;
    options.backend = "cpu";
    options.limits.max_memory = max_memory;
    options.allocator = (wcodec_allocator){.allocate = counting_allocate,
                                           .reallocate = counting_reallocate,
                                           .release = counting_release,
                                           .opaque = c};
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    return context;
}

/* Most bytes that compressing and testing the file takes. */
static void measure(FILE *original, int level, int raw, wcodec_lossy_target lossy,
                    uint64_t max_memory, size_t most[2])
{
    struct counter c = {0};
    wcodec_error err = {0};
    wcodec_encode_options options;
    wcodec_context *context = make_context(&c, max_memory);
    wcodec_reader *reader;
    FILE *coded = tmpfile();
    assert_non_null(coded);
    wcodec_encode_options_init(&options);
    options.level = level;
    options.raw = raw;
    options.lossy = lossy;
    options.lossy_value = 4;
    if (wcodec_compress_fd(context, fileno(original), put, coded, &options, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fflush(coded), 0);
    most[0] = atomic_exchange(&c.most, 0);
    if (wcodec_reader_open_fd(context, dup(fileno(coded)), &reader, &err) != WCODEC_OK ||
        wcodec_reader_test(reader, 0, 0, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    most[1] = c.most;
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    assert_int_equal(c.now, 0);
    fclose(coded);
}

static const struct sample samples[] = {
    {"BF16", 16, 16 << 10, 1200, SUPPORT_WEIGHTS}, {"U8", 8, 64 << 10, 400, SUPPORT_WEIGHTS},
    {"I64", 64, 256 << 10, 100, SUPPORT_RANDOM},   {"U8", 8, MIB, 30, SUPPORT_WEIGHTS},
    {"F32", 32, 7 * MIB, 5, SUPPORT_WEIGHTS},      {"BF16", 16, 40 * MIB, 2, SUPPORT_WEIGHTS},
};

enum { SAMPLES = sizeof samples / sizeof *samples };

/* To make them takes as long as to compress them. */
static int make_files(void **state)
{
    static FILE *files[SAMPLES];
    uint64_t seed = support_seed();
    for (size_t i = 0; i < SAMPLES; i++)
        files[i] = make_file(&samples[i], &seed);
    *state = files;
    return 0;
}

static int close_files(void **state)
{
    FILE **files = *state;
    for (size_t i = 0; i < SAMPLES; i++)
        fclose(files[i]);
    return 0;
}

static void test_bound(void **state)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        FILE *f = ((FILE **)*state)[i];
        for (int level = 1; level <= 3; level += 2)
            for (int raw = 0; raw < 2; raw++) {
                if (support_quick() && raw != (level == 1))
                    continue;
                uint64_t largest = raw ? 16 * MIB : samples[i].tensor;
                size_t most[2];
                measure(f, level, raw, WCODEC_LOSSY_NONE, 0, most);
                print_message("%s of %llu bytes, level %d%s: %.1f and %.1f MiB\n", samples[i].dtype,
                              (unsigned long long)samples[i].tensor, level, raw ? ", raw" : "",
                              (double)most[0] / MIB, (double)most[1] / MIB);
                assert_true(most[0] <= (64 + THREADS) * MIB + 3 * largest);
                assert_true(most[1] <= 64 * MIB + 2 * largest);
            }
        size_t most[2];
        measure(f, 3, 0, WCODEC_LOSSY_BITS, 0, most);
        print_message("with loss: %.1f and %.1f MiB\n", (double)most[0] / MIB,
                      (double)most[1] / MIB);
        assert_true(most[0] <= (64 + THREADS) * MIB + 5 * samples[i].tensor);
        assert_true(most[1] <= 64 * MIB + 2 * samples[i].tensor);
    }
}

/* A limit that is just enough is kept; one that is not is named with what is needed. */
static void test_limit(void **state)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        FILE *f = ((FILE **)*state)[i];
        for (unsigned lossy = 0; lossy < 2; lossy++) {
            if (support_quick() && lossy != i % 2)
                continue;
            struct counter c = {0};
            wcodec_error err = {0};
            unsigned long long needed = 0, limit = 0;
            wcodec_encode_options options;
            wcodec_context *context = make_context(&c, 100000);
            wcodec_encode_options_init(&options);
            options.lossy = lossy ? WCODEC_LOSSY_BITS : WCODEC_LOSSY_NONE;
            options.lossy_value = 4;
            assert_int_equal(
                wcodec_compress_fd(context, fileno(f), put, NULL, &options, NULL, &err),
                WCODEC_ERROR_LIMIT);
            assert_int_equal(
                sscanf(err.text, "compressing takes about %llu bytes of memory, the limit is %llu",
                       &needed, &limit),
                2);
            assert_int_equal(limit, 100000);
            wcodec_context_destroy(context);
            size_t most[2];
            measure(f, 3, 0, options.lossy, needed, most);
            print_message("limit %.1f: %.1f and %.1f MiB\n", (double)needed / MIB,
                          (double)most[0] / MIB, (double)most[1] / MIB);
            assert_true(most[0] <= needed);
            assert_true(most[1] <= needed);
            /* No limit is one, too: as test_bound() has. */
            if (i == 0)
                measure(f, 3, 0, options.lossy, UINT64_MAX, most);
        }
    }
}

/* With a slow writer all is there at once: the bytes that are coded, what they take beside, their
 * payload, the one that waits, and the bytes of the next. What coding has besides is the rest. */
static void test_ahead(void **state)
{
    (void)state;
    static const struct wcodec_encode_settings settings[] = {
        {.level = 3}, {.level = 3, .records = true}, {.level = 3, .fragments = true}};
    static const uint64_t sizes[] = {2 * MIB, 20 * MIB, 192 * MIB, (uint64_t)3 << 30};
    struct counter c = {0};
    wcodec_context *context = make_context(&c, 0);
    const struct wcodec_source source = {.fd = 0};
    for (unsigned i = 0; i < 3 * 4; i++) {
        const uint64_t size = sizes[i % 4],
                       beside = wcodec_write_batch_beside(&settings[i / 4], size);
        struct wcodec_write_batch_item item = {.what.size = size};
        struct wcodec_write_batch batch = {.context = context,
                                           .source = &source,
                                           .settings = settings[i / 4],
                                           .memory = wcodec_write_batch_memory(context, size) +
                                                     size + beside,
                                           .now = {.items = &item, .count = 1, .size = size},
                                           .ahead = {.items = &item, .count = 1, .size = size}};
        assert_int_equal(beside, i / 4 == 0 ? 0 : size);
        for (unsigned next = 0; next < 2; next++) {
            const uint64_t rest = wcodec_write_left_ahead(&batch, next, size);
            print_message("%.0f MiB: %.1f MiB left\n", (double)size / MIB, (double)rest / MIB);
            assert_true(rest == 0 || (3 + next) * size + beside + rest <= batch.memory);
            assert_true(rest != 0 || size > 20 * MIB);
        }
    }
    wcodec_context_destroy(context);
}

/* Each of many threads has its own only where the caller sets no limit: a writer, which does not
 * know the largest tensor before, plans with nothing else. */
static void test_threads(void **state)
{
    (void)state;
    static const uint64_t limits[] = {0, UINT64_MAX, 300 * MIB, 1};
    for (unsigned i = 0; i < 4; i++) {
        struct counter c = {0};
        wcodec_context *context = make_context(&c, limits[i]);
        assert_int_equal(wcodec_write_batch_memory(context, 5 * MIB),
                         WCODEC_WRITE_BATCH_MEMORY + 10 * MIB + (i < 2 ? THREADS * MIB : 0));
        wcodec_context_destroy(context);
    }
}

static wcodec_status open_limited(const struct support_sink *file, uint64_t limit, size_t *most)
{
    struct counter c = {0};
    wcodec_reader *reader = NULL;
    wcodec_context *context = make_context(&c, limit);
    atomic_store(&c.most, 0);
    size_t before = c.now;
    wcodec_status status =
        wcodec_reader_open_memory(context, file->data, file->size, &reader, NULL);
    *most = c.most - before;
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    assert_int_equal(c.now, 0);
    return status;
}

/* Opening takes no more than the least limit that lets it, but for what does not grow: many keys,
 * which must all differ. */
static void test_metadata(void **state)
{
    (void)state;
    enum { PAIRS = 20000, FIXED = 64 << 10 };
    struct support_sink sink;
    wcodec_writer *writer;
    wcodec_context *context = support_context(1, NULL);
    support_sink_init(&sink);
    assert_int_equal(wcodec_writer_create(context, support_sink_write, &sink, NULL, &writer, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < PAIRS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i * 2654435761u);
        assert_int_equal(wcodec_writer_metadata(writer, key, "", NULL), WCODEC_OK);
    }
    assert_int_equal(wcodec_writer_finish(writer, NULL, NULL), WCODEC_OK);
    wcodec_writer_destroy(writer);
    wcodec_context_destroy(context);
    uint64_t bad = 1, good = (uint64_t)1 << 30;
    size_t most, most_good = 0;
    while (good - bad > 1) {
        uint64_t limit = bad + (good - bad) / 2;
        wcodec_status status = open_limited(&sink, limit, &most);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
        most_good = status == WCODEC_OK ? most : most_good;
        *(status == WCODEC_OK ? &good : &bad) = limit;
    }
    print_message("%d keys: limit %llu, taken %zu\n", PAIRS, (unsigned long long)good, most_good);
    assert_true(most_good <= good + FIXED);
    support_sink_free(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound), cmocka_unit_test(test_limit),
                                       cmocka_unit_test(test_ahead), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_metadata)};
    return cmocka_run_group_tests(tests, make_files, close_files);
}
