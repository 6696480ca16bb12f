/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A safetensors header of exactly the format's limit, 100,000,000 bytes with a million tensors:
 * compressed, opened, looked up in and restored, within 64 MiB and 16 times the header. One byte
 * more, and the file is opaque. */
#include "fuzz/fuzz.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <wcodec/writer.h>

enum { HEADER = 100000000, TENSORS = 1000000, EACH = 4 };

static atomic_ullong held, peak;

static void count(size_t before, size_t after)
{
    const unsigned long long now =
        atomic_fetch_add(&held, (unsigned long long)after - before) + after - before;
    unsigned long long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
        ;
}

/* The size of a block stands in front of it. */
static void *counting_reallocate(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    size_t *block = memory ? (size_t *)memory - 2 : NULL;
    const size_t before = block ? *block : 0;
    size_t *grown = realloc(block, size + 2 * sizeof *grown);
    FUZZ_REQUIRE(grown);
    *grown = size;
    count(before, size);
    return grown + 2;
}

static void *counting_allocate(void *opaque, size_t size)
{
    return counting_reallocate(opaque, NULL, size);
}

static void counting_release(void *opaque, void *memory)
{
    (void)opaque;
    if (!memory)
        return;
    count(((size_t *)memory)[-2], 0);
    free((size_t *)memory - 2);
}

struct stream {
    uint8_t *data;
    size_t size, capacity;
    const uint8_t *expected; /* restoring: compared as it comes */
};

static int keep(void *opaque, const void *data, size_t size)
{
    struct stream *s = opaque;
    if (size > s->capacity - s->size) {
        s->capacity = 2 * (s->capacity + size);
        s->data = realloc(s->data, s->capacity);
        FUZZ_REQUIRE(s->data);
    }
    if (size)
        memcpy(s->data + s->size, data, size);
    s->size += size;
    return 0;
}

static int compare(void *opaque, const void *data, size_t size)
{
    struct stream *s = opaque;
    FUZZ_REQUIRE(size <= s->capacity - s->size &&
                 (size == 0 || memcmp(s->expected + s->size, data, size) == 0));
    s->size += size;
    return 0;
}

static uint8_t *make(size_t header, size_t *size)
{
    *size = 8 + header + (size_t)TENSORS * EACH;
    uint8_t *file = malloc(*size);
    FUZZ_REQUIRE(file);
    wcodec_store_u64(file, header);
    char *at = (char *)file + 8;
    *at++ = '{';
    for (unsigned i = 0; i < TENSORS; i++)
        at +=
            sprintf(at, "%s\"l.%06u\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[%u,%u]}",
                    i ? "," : "", i, i * EACH, (i + 1) * EACH);
    *at++ = '}';
    FUZZ_REQUIRE(at <= (char *)file + 8 + header);
    memset(at, ' ', (size_t)((char *)file + 8 + header - at));
    for (uint32_t i = 0; i < TENSORS; i++)
        wcodec_store_u32(file + 8 + header + (size_t)i * EACH, i * 2654435761u % 100003);
    return file;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void round_trip(size_t header, bool safetensors)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.allocator = (wcodec_allocator){.allocate = counting_allocate,
                                           .reallocate = counting_reallocate,
                                           .release = counting_release};
    FUZZ_REQUIRE(wcodec_context_create(&options, &context, &err) == WCODEC_OK);
    size_t size;
    uint8_t *file = make(header, &size);
    struct stream coded = {NULL, 0, 0, NULL}, restored = {NULL, 0, size, file};
    wcodec_encode_report report;
    double start = seconds();
    if (wcodec_compress_memory(context, file, size, keep, &coded, NULL, &report, &err) !=
        WCODEC_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    printf("header of %zu: %zu -> %zu, compressed in %.1f s, %llu MiB held at most\n", header, size,
           coded.size, seconds() - start, atomic_load(&peak) >> 20);
    FUZZ_REQUIRE((report.safetensors != 0) == safetensors &&
                 report.tensors == (safetensors ? TENSORS : 0) && (safetensors || report.note[0]));
    FUZZ_REQUIRE(atomic_load(&peak) <= (64ull << 20) + 16ull * header);
    atomic_store(&peak, atomic_load(&held));
    start = seconds();
    wcodec_reader *reader;
    FUZZ_REQUIRE(wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err) ==
                 WCODEC_OK);
    printf("    opened in %.1f s, ", seconds() - start);
    start = seconds();
    uint64_t number;
    if (safetensors)
        FUZZ_REQUIRE(wcodec_reader_find(reader, "l.765432", &number, &err) == WCODEC_OK &&
                     number == 765432);
    FUZZ_REQUIRE(wcodec_reader_restore(reader, 0, compare, &restored, NULL, &err) == WCODEC_OK &&
                 restored.size == size);
    printf("restored in %.1f s, %llu MiB held at most\n", seconds() - start,
           atomic_load(&peak) >> 20);
    FUZZ_REQUIRE(atomic_load(&peak) <= (64ull << 20) + 16ull * header);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    FUZZ_REQUIRE(atomic_load(&held) == 0);
    atomic_store(&peak, 0);
    free(coded.data);
    free(file);
}

int main(void)
{
    round_trip(HEADER, true);
    round_trip(HEADER + 1, false);
    return 0;
}
