/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"

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
    a->allocator = (wcodec_allocator){allocate, reallocate, release, a};
    a->once = false;
    a->left = left;
    a->calls = 0;
    a->balance = 0;
}

static wcodec_context *make_context(unsigned threads, const wcodec_allocator *allocator, uint64_t max_memory)
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
