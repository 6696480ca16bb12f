/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"

#include <string.h>

enum { POISON = 0xA5 }; /* what nobody has set */

static bool may_allocate(struct support_allocator *a)
{
    a->calls++;
    long left = a->left--;
    return left > 0 || (left < 0 && a->once);
}

static void *allocate(void *opaque, size_t size)
{
    struct support_allocator *a = opaque;
    void *memory = may_allocate(a) ? malloc(size) : NULL;
    a->balance += memory != NULL;
    if (memory != NULL)
        memset(memory, POISON, size);
    return memory;
}

static void *reallocate(void *opaque, void *old, size_t size)
{
    struct support_allocator *a = opaque;
    void *memory = may_allocate(a) ? realloc(old, size) : NULL;
    a->balance += memory != NULL && old == NULL;
    return memory;
}

static void release(void *opaque, void *memory)
{
    struct support_allocator *a = opaque;
    a->balance -= memory != NULL;
    free(memory);
}

void support_allocator_init(struct support_allocator *a, long left)
{
    a->allocator = (wcodec_allocator){
        .allocate = allocate, .reallocate = reallocate, .release = release, .opaque = a};
    a->once = false;
    a->left = left;
    a->calls = 0;
    a->balance = 0;
}

static wcodec_context *make_context(unsigned threads, const wcodec_allocator *allocator,
                                    uint64_t max_memory)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err = {0};
    wcodec_options_init(&options);
    options.threads = threads;
    options.backend = "cpu";
    if (max_memory)
        options.limits.max_memory = max_memory;
    if (allocator)
        options.allocator = *allocator;
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("no context: %s", err.text);
    return context;
}

wcodec_context *support_context(unsigned threads, const wcodec_allocator *allocator)
{
    return make_context(threads, allocator, 0);
}

wcodec_context *support_context_limited(unsigned threads, uint64_t max_memory)
{
    return make_context(threads, NULL, max_memory);
}

void support_expect_rows(const wcodec_reader *reader, uint64_t tensor, unsigned count,
                         uint64_t *seed, uint64_t rows, const uint8_t *data, size_t size)
{
    const size_t row = size / (size_t)rows;
    uint8_t *out = malloc(size + 16);
    for (unsigned i = 0; i < 12; i++) {
        const uint64_t first = i == 0 ? 0 : support_random(seed) % rows,
                       n = i == 0       ? rows
                           : i % 3 == 2 ? 1
                                        : 1 + support_random(seed) % (rows - first);
        wcodec_error err = {0};
        memset(out, 0xa5, size + 16);
        if (wcodec_reader_decode_rows(reader, tensor + i % count, first, n, out + 8, size, NULL,
                                      &err) != WCODEC_OK)
            fail_msg("rows %llu and %llu more: %s", (unsigned long long)first,
                     (unsigned long long)n, err.text);
        assert_memory_equal(out + 8, data + first * row, (size_t)n * row);
        for (unsigned k = 0; k < 8; k++) {
            assert_int_equal(out[k], 0xa5);
            assert_int_equal(out[8 + n * row + k], 0xa5);
        }
    }
    free(out);
}

void support_expect_load(const wcodec_reader *reader, uint64_t tensor, uint64_t *seed,
                         uint64_t rows, const uint8_t *data, size_t size)
{
    const size_t row = size / (size_t)rows;
    const uint64_t first = support_random(seed) % rows;
    uint8_t *out = malloc(size);
    const wcodec_load_item item = {.tensor = tensor,
                                   .first_row = first,
                                   .rows = rows - first,
                                   .destination = (uintptr_t)out,
                                   .size = size};
    wcodec_error err = {0};
    if (wcodec_load(reader, &item, 1, NULL, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(out, data + first * row, (size_t)(rows - first) * row);
    free(out);
}

struct expected {
    const uint8_t *bytes;
    size_t at, size;
};

static int compare(void *opaque, const void *data, size_t size)
{
    struct expected *e = opaque;
    assert_true(size <= e->size - e->at);
    assert_memory_equal(data, e->bytes + e->at, size);
    e->at += size;
    return 0;
}

void support_expect_restored(const wcodec_reader *reader, const uint8_t *original, size_t size)
{
    struct expected expected = {original, 0, size};
    wcodec_error err = {0};
    if (wcodec_reader_restore(reader, 0, compare, &expected, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(expected.at, size);
    assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, &err), WCODEC_OK);
}
