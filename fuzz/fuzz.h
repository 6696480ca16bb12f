/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What fuzz targets share. A target is one file with its name and LLVMFuzzerTestOneInput(); it is
 * linked with libFuzzer, or with fuzz/driver.c. */
#ifndef WCODEC_FUZZ_H
#define WCODEC_FUZZ_H

#include "core/bytes.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <wcodec/context.h>

/* The name of the target: its corpus is in fuzz/corpus/NAME. */
extern const char fuzz_target[];
/* Whether whole .wcodec files, so the golden ones, are input to the target. */
extern const bool fuzz_takes_files;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property does not hold: the program ends, so that the fuzzer keeps the input. */
#define FUZZ_REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* `size` bytes with guard bytes on both sides, all poisoned; freeing them checks that the guards
 * are as they were. */
uint8_t *fuzz_guarded(size_t size);
void fuzz_guarded_free(uint8_t *bytes, size_t size);

/* Inputs that got past all first checks; the driver prints it and takes none at all as a failure.
 */
extern uint64_t fuzz_deep;

/* One thread, 256 MiB of memory, made once; the options that a caller changes are the defaults
 * else. */
wcodec_context *fuzz_context(void);

/* An exact copy, so that a sanitizer sees a read past its end. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

/* Bytes that grow, to be freed; fuzz_append() is a wcodec_write_fn of them. */
struct fuzz_bytes {
    uint8_t *data;
    size_t size;
};
int fuzz_append(void *bytes, const void *data, size_t size);

/* What a target reads its choices from: zeros when there are no more bytes. */
static inline uint8_t fuzz_take(struct wcodec_cursor *c)
{
    return c->at < c->end ? *c->at++ : 0;
}

#endif
