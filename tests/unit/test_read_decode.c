/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Single tensors: all codings, whole and in rows, any alignment, little memory, damage, limits,
 * cancelling, failure of every allocation, two threads. */

#include "support_container.h"
#include "support_memory.h"
#include "core/context.h"
#include <pthread.h>
#include <string.h>
#include <wcodec/reader.h>
#include <xxhash.h>

enum { CANARY = 0xa5, MARGIN = 16 };

/* A file with one more tensor of several tiles, and one of many chunks, rows of `columns` elements.
 */
struct fixture {
    struct support_recipe recipe;
    struct support_tensor tensor;
    uint8_t *chunked;
    struct support_bytes file;
};

enum { CHUNKED_ROWS = 5000, CHUNKED_COLUMNS = 31 };

static void fixture_make(struct fixture *f, uint64_t seed, uint64_t elements)
{
    support_recipe_init(&f->recipe, seed);
    support_tensor_make(&seed, elements, &f->tensor);
    support_entry_tiles(support_recipe_add(&f->recipe, "big"), &f->tensor);
    size_t size = (size_t)CHUNKED_ROWS * CHUNKED_COLUMNS;
    f->chunked = malloc(size);
    for (size_t i = 0; i < size; i++)
        f->chunked[i] = (uint8_t)(i / 4096 % 2 ? support_random(&seed) : i / 7);
    struct support_entry *e = support_recipe_add(&f->recipe, "chunked");
    e->dtype = WCODEC_DTYPE_U8;
    e->rank = 2;
    e->shape[0] = CHUNKED_ROWS;
    e->shape[1] = CHUNKED_COLUMNS;
    support_entry_chunks(e, f->chunked, size, 4096);
    support_recipe_finish(&f->recipe);
    support_recipe_build(&f->recipe, &f->file);
}

static void fixture_free(struct fixture *f)
{
    free(f->file.data);
    free(f->chunked);
    support_tensor_free(&f->tensor);
    support_recipe_free(&f->recipe);
}

static wcodec_reader *open_fixture(const struct fixture *f, wcodec_context *context)
{
    wcodec_reader *reader;
    wcodec_error err;
    if (wcodec_reader_open_memory(context, f->file.data, f->file.size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

static const uint8_t *data_of(const struct fixture *f, uint64_t tensor)
{
    return f->recipe.entries[tensor + 1].data;
}

/* Decode rows to a place of any alignment and look at the bytes around it. */
static void check_rows(const struct fixture *f, const wcodec_reader *reader, uint64_t i,
                       uint64_t first, uint64_t count, uint64_t row_bytes, size_t shift)
{
    size_t size = (size_t)(count * row_bytes);
    uint8_t *dst = malloc(size + 2 * MARGIN);
    wcodec_error err;
    memset(dst, CANARY, size + 2 * MARGIN);
    if (wcodec_reader_decode_rows(reader, i, first, count, dst + shift, size, NULL, &err) !=
        WCODEC_OK)
        fail_msg("tensor %u, rows %u + %u: %s", (unsigned)i, (unsigned)first, (unsigned)count,
                 err.text);
    if (size > 0)
        assert_memory_equal(dst + shift, data_of(f, i) + first * row_bytes, size);
    for (size_t k = 0; k < shift; k++)
        assert_int_equal(dst[k], CANARY);
    for (size_t k = shift + size; k < size + 2 * MARGIN; k++)
        assert_int_equal(dst[k], CANARY);
    free(dst);
}

static void check_whole(const struct fixture *f, const wcodec_reader *reader, uint64_t i,
                        size_t shift)
{
    wcodec_tensor_info info;
    wcodec_error err;
    assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
    uint8_t *dst = malloc((size_t)info.size + 2 * MARGIN);
    memset(dst, CANARY, (size_t)info.size + 2 * MARGIN);
    if (wcodec_reader_decode(reader, i, dst + shift, (size_t)info.size, NULL, &err) != WCODEC_OK)
        fail_msg("tensor %u: %s", (unsigned)i, err.text);
    if (info.size > 0)
        assert_memory_equal(dst + shift, data_of(f, i), info.size);
    for (size_t k = 0; k < MARGIN; k++) {
        assert_true(k >= shift || dst[k] == CANARY);
        assert_int_equal(dst[info.size + shift + k % (2 * MARGIN - shift)], CANARY);
    }
    free(dst);
}

static void check_all(const struct fixture *f, const wcodec_reader *reader, uint64_t *seed,
                      unsigned ranges)
{
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        check_whole(f, reader, i, (size_t)(support_random(seed) % 8));
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        uint64_t rows = info.shape[0];
        for (unsigned k = 0; k < ranges && info.dtype != WCODEC_DTYPE_OTHER; k++) {
            uint64_t first = support_random(seed) % (rows + 1),
                     count = support_random(seed) % (rows - first + 1);
            if (k % 3 == 0 && count > 3)
                count = support_random(seed) % 4;
            check_rows(f, reader, i, first, count, rows > 0 ? info.size / rows : 0,
                       (size_t)(support_random(seed) % 8));
        }
    }
}

static void decodes_everything(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < (support_threads_only() ? 12 : 40); round++) {
        struct fixture f;
        wcodec_context *context = support_context(1 + round % 3, NULL);
        fixture_make(&f, support_random(&seed), 20000 + support_random(&seed) % 60000);
        wcodec_reader *reader = open_fixture(&f, context);
        check_all(&f, reader, &seed, 12);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
        fixture_free(&f);
    }
}

/* The same with so little memory that there are many batches. */
static void decodes_with_little_memory(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    const unsigned step = support_threads_only() ? 4 : 1;
    unsigned refused = 0, decoded = 0;
    for (unsigned round = 0; round < 60; round += step) {
        struct fixture f;
        wcodec_context *context = support_context_limited(2, 30000 + (uint64_t)round * 15000);
        wcodec_reader *reader;
        wcodec_error err;
        fixture_make(&f, support_random(&seed), 100000);
        wcodec_status status =
            wcodec_reader_open_memory(context, f.file.data, f.file.size, &reader, &err);
        if (status == WCODEC_OK) {
            size_t size = (size_t)f.tensor.tiling.size;
            uint8_t *dst = malloc(size);
            uint64_t elements = f.tensor.tiling.elements, row = size / elements;
            status = wcodec_reader_decode(reader, 5, dst, size, NULL, &err);
            if (status == WCODEC_OK)
                assert_memory_equal(dst, f.tensor.data, size);
            if (status == WCODEC_OK)
                status =
                    wcodec_reader_decode_rows(reader, 5, 1, elements - 2, dst, size, NULL, &err);
            if (status == WCODEC_OK) {
                assert_memory_equal(dst, f.tensor.data + row, size - 2 * row);
                decoded++;
            }
            free(dst);
            wcodec_reader_close(reader);
        }
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_LIMIT);
            assert_true(round < 50);
            refused++;
        }
        wcodec_context_destroy(context);
        fixture_free(&f);
    }
    assert_true(refused > 0 && decoded * step > 20);
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_context *context = support_context(1, NULL);
    wcodec_error err;
    uint8_t byte[64];
    fixture_make(&f, 7, 5000);
    wcodec_reader *reader = open_fixture(&f, context);
    assert_int_equal(wcodec_reader_decode(reader, 7, byte, sizeof(byte), NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode(reader, 0, byte, 11, NULL, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "tensor 'a'"));
    assert_int_equal(wcodec_reader_decode(reader, 0, NULL, 12, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode(reader, 0, byte, 12, NULL, &err), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode_rows(reader, 0, 0, 3, byte, sizeof(byte), NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 0, 3, 0, byte, sizeof(byte), NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 0, 2, 0, NULL, 0, NULL, &err), WCODEC_OK);
    assert_int_equal(
        wcodec_reader_decode_rows(reader, 0, UINT64_MAX, 2, byte, sizeof(byte), NULL, &err),
        WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "rows 18446744073709551615 to 18446744073709551615 of 2"));
    assert_int_equal(
        wcodec_reader_decode_rows(reader, 0, 1, UINT64_MAX, byte, sizeof(byte), NULL, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 0, 1, 1, byte, 5, NULL, &err),
                     WCODEC_ERROR_USAGE);
    /* "d" has 2500 bytes in 10000 rows of an unknown dtype. */
    assert_int_equal(wcodec_reader_decode_rows(reader, 3, 1, 4, byte, sizeof(byte), NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 3, 4, 8, byte, sizeof(byte), NULL, &err),
                     WCODEC_OK);
    assert_memory_equal(byte, f.recipe.entries[4].data + 1, 2);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    fixture_free(&f);
}

/* 6-bit elements: four make three bytes. A scalar has one row. */
static void decodes_packed_rows_and_scalars(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct support_recipe r;
    struct support_bytes file;
    wcodec_context *context = support_context(1, NULL);
    wcodec_reader *reader;
    uint8_t got[9];
    support_recipe_init(&r, 11);
    struct support_entry *e = support_recipe_add(&r, "packed");
    e->dtype = WCODEC_DTYPE_F6_E2M3;
    e->rank = 2;
    e->shape[0] = 6;
    e->shape[1] = 2;
    support_entry_chunks(e, data, 9, 4);
    e = support_recipe_add(&r, "scalar");
    e->dtype = WCODEC_DTYPE_F64;
    support_entry_chunks(e, data, 8, 8);
    support_recipe_finish(&r);
    support_recipe_build(&r, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_decode_rows(reader, 5, 1, 2, got, 9, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 5, 2, 1, got, 9, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode_rows(reader, 5, 2, 4, got, 9, NULL, NULL), WCODEC_OK);
    assert_memory_equal(got, data + 3, 6);
    assert_int_equal(wcodec_reader_decode_rows(reader, 6, 0, 1, got, 8, NULL, NULL), WCODEC_OK);
    assert_memory_equal(got, data, 8);
    assert_int_equal(wcodec_reader_decode_rows(reader, 6, 0, 2, got, 9, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(file.data);
    support_recipe_free(&r);
}

/* Rows of a constant tensor of 2^47 elements of two bytes: index arithmetic beyond 2^32. */
static void decodes_rows_of_a_huge_tensor(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    wcodec_context *context = support_context(1, NULL);
    wcodec_reader *reader;
    uint16_t got[12];
    support_recipe_init(&r, 12);
    struct support_entry *e = support_recipe_add(&r, "huge");
    e->dtype = WCODEC_DTYPE_U16;
    e->rank = 2;
    e->shape[0] = (uint64_t)1 << 44;
    e->shape[1] = 4;
    e->size = (uint64_t)1 << 47;
    support_put(&e->parameters,
                "\x03"
                "abcdefgh",
                9);
    r.size += e->size;
    support_recipe_build(&r, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    const uint64_t firsts[] = {0, ((uint64_t)1 << 33) + 1, ((uint64_t)1 << 44) - 3};
    for (unsigned i = 0; i < 3; i++) {
        memset(got, 0, sizeof(got));
        assert_int_equal(
            wcodec_reader_decode_rows(reader, 5, firsts[i], 3, got, sizeof(got), NULL, NULL),
            WCODEC_OK);
        assert_memory_equal(got, "abcdefghabcdefghabcdefgh", 24);
    }
    assert_int_equal(wcodec_reader_decode_rows(reader, 5, ((uint64_t)1 << 44) - 2, 3, got,
                                               sizeof(got), NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode(reader, 5, got, sizeof(got), NULL, NULL),
                     WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(file.data);
    support_recipe_free(&r);
}

static void refuses_a_newer_entry(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    wcodec_context *context = support_context(1, NULL);
    wcodec_reader *reader;
    wcodec_tensor_info info;
    wcodec_error err;
    uint8_t *dst;
    support_recipe_init(&r, 13);
    r.entries[2].coding = 77;
    r.entries[1].dtype = 23;
    support_recipe_build(&r, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, 1, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_UNKNOWN);
    dst = malloc((size_t)info.size);
    assert_int_equal(wcodec_reader_decode(reader, 0, dst, (size_t)info.size, NULL, &err),
                     WCODEC_ERROR_NEWER);
    assert_non_null(strstr(err.text, "dtype 23"));
    assert_int_equal(wcodec_reader_decode(reader, 1, dst, (size_t)info.size, NULL, &err),
                     WCODEC_ERROR_NEWER);
    assert_non_null(strstr(err.text, "tensor 'b'"));
    assert_non_null(strstr(err.text, "coding 77"));
    /* The alias of it too; the others can be read. */
    assert_int_equal(wcodec_reader_decode(reader, 2, dst, (size_t)info.size, NULL, &err),
                     WCODEC_ERROR_NEWER);
    free(dst);
    dst = malloc(2500);
    assert_int_equal(wcodec_reader_decode(reader, 3, dst, 2500, NULL, &err), WCODEC_OK);
    free(dst);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(file.data);
    support_recipe_free(&r);
}

/* Every flip of a payload: an error that names the tensor, or the same bytes. */
static void finds_every_flip(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    uint64_t seed = support_seed(), errors = 0, same = 0;
    wcodec_context *context = support_context(1, NULL);
    for (unsigned round = 0; round < 3; round++) {
        struct support_recipe r;
        struct support_bytes file;
        wcodec_reader *reader;
        support_recipe_init(&r, support_random(&seed));
        support_tensor_free(&r.tensor);
        free(r.entries[2].payload.data);
        memset(&r.entries[2].payload, 0, sizeof(r.entries[2].payload));
        r.entries[2].parameters.size = 0;
        support_tensor_make(&seed, 100 + support_random(&seed) % 200, &r.tensor);
        support_entry_tiles(&r.entries[2], &r.tensor);
        r.entries[3].size = r.entries[2].size;
        r.entries[3].dtype = r.entries[2].dtype;
        r.entries[3].shape[0] = r.entries[2].shape[0];
        r.entries[3].data = r.entries[2].data;
        support_recipe_finish(&r);
        support_recipe_build(&r, &file);
        assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                         WCODEC_OK);
        uint8_t *dst = malloc((size_t)r.tensor.tiling.size + 2500);
        const struct support_entry *entries[] = {&r.entries[2], &r.entries[4]};
        for (unsigned k = 0; k < 2; k++) {
            wcodec_tensor_info info;
            assert_int_equal(wcodec_reader_tensor(reader, k == 0 ? 1 : 3, &info, NULL), WCODEC_OK);
            uint8_t *payload = file.data;
            while (memcmp(payload, entries[k]->payload.data, entries[k]->payload.size) != 0)
                payload += 16;
            for (size_t bit = 0; bit < 8 * entries[k]->payload.size; bit++) {
                wcodec_error err;
                payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
                wcodec_status status = wcodec_reader_decode(reader, k == 0 ? 1 : 3, dst,
                                                            (size_t)info.size, NULL, &err);
                if (status == WCODEC_OK) {
                    same++;
                    assert_memory_equal(dst, entries[k]->data, info.size);
                } else {
                    errors++;
                    assert_int_equal(status, WCODEC_ERROR_CORRUPT);
                    assert_non_null(strstr(err.text, k == 0 ? "tensor 'b'" : "tensor 'd'"));
                }
                payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
        free(dst);
        wcodec_reader_close(reader);
        free(file.data);
        support_recipe_free(&r);
    }
    print_message("%llu errors, %llu without effect\n", (unsigned long long)errors,
                  (unsigned long long)same);
    assert_true(errors > 20 * same);
    wcodec_context_destroy(context);
}

static void respects_max_tensor_bytes(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    uint8_t dst[CHUNKED_COLUMNS];
    fixture_make(&f, 3, 5000);
    wcodec_options_init(&options);
    options.limits.max_tensor_bytes = 100;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    wcodec_reader *reader = open_fixture(&f, context);
    uint8_t *whole = malloc((size_t)CHUNKED_ROWS * CHUNKED_COLUMNS);
    assert_int_equal(
        wcodec_reader_decode(reader, 6, whole, (size_t)CHUNKED_ROWS * CHUNKED_COLUMNS, NULL, &err),
        WCODEC_ERROR_LIMIT);
    assert_int_equal(wcodec_reader_decode_rows(reader, 6, 17, 1, dst, sizeof(dst), NULL, &err),
                     WCODEC_OK);
    assert_memory_equal(dst, f.chunked + 17 * CHUNKED_COLUMNS, sizeof(dst));
    free(whole);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    fixture_free(&f);
}

struct progress_seen {
    uint64_t calls, done, total;
    int answer;
};

static int see_progress(void *opaque, uint64_t done, uint64_t total)
{
    struct progress_seen *seen = opaque;
    seen->calls++;
    seen->done = done;
    seen->total = total;
    return seen->answer;
}

static void reports_and_cancels(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_context *context = support_context(1, NULL);
    fixture_make(&f, 5, 30000);
    wcodec_reader *reader = open_fixture(&f, context);
    struct progress_seen seen = {0};
    wcodec_decode_options options;
    wcodec_decode_options_init(&options);
    options.progress = (wcodec_progress){.fn = see_progress, .opaque = &seen};
    size_t size = (size_t)f.tensor.tiling.size;
    uint8_t *dst = malloc(size);
    assert_int_equal(wcodec_reader_decode(reader, 5, dst, size, &options, NULL), WCODEC_OK);
    assert_true(seen.calls >= 1);
    assert_int_equal(seen.done, size);
    assert_int_equal(seen.total, size);
    seen.answer = 1;
    assert_int_equal(wcodec_reader_decode(reader, 5, dst, size, &options, NULL),
                     WCODEC_ERROR_CANCELLED);
    free(dst);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    fixture_free(&f);
}

static wcodec_status decode_all(wcodec_context *context, const struct fixture *f, uint8_t *dst,
                                size_t capacity)
{
    wcodec_reader *reader;
    wcodec_status status =
        wcodec_reader_open_memory(context, f->file.data, f->file.size, &reader, NULL);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader) && status == WCODEC_OK; i++) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, NULL), WCODEC_OK);
        status = wcodec_reader_decode(reader, i, dst, capacity, NULL, NULL);
        if (status == WCODEC_OK && info.size > 0)
            assert_memory_equal(dst, data_of(f, i), info.size);
        if (status == WCODEC_OK && info.shape[0] > 4 && info.dtype != WCODEC_DTYPE_OTHER)
            status = wcodec_reader_decode_rows(reader, i, 1, info.shape[0] - 2, dst, capacity, NULL,
                                               NULL);
    }
    wcodec_reader_close(reader);
    return status;
}

static void survives_every_failed_allocation(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    struct fixture f;
    struct support_allocator failing;
    fixture_make(&f, 6, 100000);
    support_allocator_init(&failing, SUPPORT_NEVER);
    failing.once = true;
    wcodec_context *context = support_context(1, &failing.allocator);
    size_t capacity = (size_t)1 << 20;
    uint8_t *dst = malloc(capacity);
    assert_int_equal(decode_all(context, &f, dst, capacity), WCODEC_OK);
    long before = failing.balance, failures = 0;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (long n = 0; status != WCODEC_OK || failing.calls > n; n++) {
        failing.calls = 0;
        failing.left = n;
        status = decode_all(context, &f, dst, capacity);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        assert_int_equal(failing.balance, before);
        failures += status != WCODEC_OK;
    }
    assert_true(failures > 20);
    free(dst);
    wcodec_context_destroy(context);
    assert_int_equal(failing.balance, 0);
    fixture_free(&f);
}

struct thread_work {
    const struct fixture *fixture;
    const wcodec_reader *reader;
    uint64_t seed;
};

static void *decode_in_thread(void *argument)
{
    struct thread_work *work = argument;
    for (unsigned i = 0; i < 4; i++)
        check_all(work->fixture, work->reader, &work->seed, 4);
    return NULL;
}

/* One reader, two threads (for the thread sanitizer). */
static void two_threads_share_a_reader(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_context *context = support_context(2, NULL);
    fixture_make(&f, support_seed(), 70000);
    wcodec_reader *reader = open_fixture(&f, context);
    struct thread_work works[2] = {{&f, reader, 1}, {&f, reader, 2}};
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode_in_thread, &works[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_everything),
        cmocka_unit_test(decodes_with_little_memory),
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(decodes_packed_rows_and_scalars),
        cmocka_unit_test(decodes_rows_of_a_huge_tensor),
        cmocka_unit_test(refuses_a_newer_entry),
        cmocka_unit_test(finds_every_flip),
        cmocka_unit_test(respects_max_tensor_bytes),
        cmocka_unit_test(reports_and_cancels),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(two_threads_share_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
