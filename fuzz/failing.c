/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/failing.h"
#include "fuzz/fuzz.h"

static struct fuzz_fault allocations;
static _Atomic int64_t live;

void fuzz_fault_init(struct fuzz_fault *fault, uint64_t nth, bool on)
{
    fault->on = on;
    atomic_store(&fault->left, nth == 0 ? INT64_MIN / 2 : (int64_t)nth);
}

bool fuzz_fails(struct fuzz_fault *fault)
{
    const int64_t left = atomic_fetch_sub(&fault->left, 1) - 1;
    return left == 0 || (fault->on && left < 0 && left > INT64_MIN / 4);
}

static void *reallocate(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    if (fuzz_fails(&allocations))
        return NULL;
    void *grown = realloc(memory, size);
    FUZZ_REQUIRE(grown != NULL);
    atomic_fetch_add(&live, memory == NULL);
    return grown;
}

static void *allocate(void *opaque, size_t size)
{
    return reallocate(opaque, NULL, size);
}

static void release(void *opaque, void *memory)
{
    (void)opaque;
    atomic_fetch_sub(&live, memory != NULL);
    free(memory);
}

wcodec_context *fuzz_failing_context(void)
{
    wcodec_context *context;
    wcodec_options options;
    fuzz_fail_allocation(0);
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "cpu";
    options.limits.max_memory = 256 << 20;
    options.allocator = (wcodec_allocator){allocate, reallocate, release, NULL, {NULL, NULL}};
    FUZZ_REQUIRE(wcodec_context_create(&options, &context, NULL) == WCODEC_OK);
    return context;
}

void fuzz_fail_allocation(uint64_t nth)
{
    fuzz_fault_init(&allocations, nth, false);
}

void fuzz_failing_destroy(wcodec_context *context)
{
    wcodec_context_destroy(context);
    FUZZ_REQUIRE(atomic_load(&live) == 0);
}
