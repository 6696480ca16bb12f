/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/fuzz.h"

uint64_t fuzz_deep;

enum { GUARD = 64, POISON = 0xA5 };

uint8_t *fuzz_guarded(size_t size)
{
    uint8_t *bytes = malloc(size + 2 * GUARD);
    FUZZ_REQUIRE(bytes);
    memset(bytes, POISON, size + 2 * GUARD);
    return bytes + GUARD;
}

void fuzz_guarded_free(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < GUARD; i++)
        FUZZ_REQUIRE((bytes - GUARD)[i] == POISON && bytes[size + i] == POISON);
    free(bytes - GUARD);
}

wcodec_context *fuzz_context(void)
{
    static wcodec_context *context;
    if (!context) {
        wcodec_options options;
        wcodec_options_init(&options);
        options.threads = 1;
        options.backend = "cpu";
        options.limits.max_memory = 256 << 20;
        FUZZ_REQUIRE(wcodec_context_create(&options, &context, NULL) == WCODEC_OK);
    }
    return context;
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    FUZZ_REQUIRE(copy);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

int fuzz_append(void *bytes, const void *data, size_t size)
{
    struct fuzz_bytes *b = bytes;
    b->data = realloc(b->data, b->size + size + 1);
    FUZZ_REQUIRE(b->data != NULL);
    if (size != 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}
