/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lets a script put many files to the library in one process. Requests on standard input: a letter,
 * a u64 size, that many bytes. Answers on standard output,
 * a line each.   x  a container: everything that can be done with it (fuzz/exercise.h); "ok HASH",
 *                or "STAGE STATUS TEXT"
 *   f  the same with the first, second, ... allocation failing until none does; "ok HASH
 *   ALLOCATIONS"
 *   c  an original to compress: with failing allocations as above; "ok HASH ALLOCATIONS", the hash
 *   being that of what the container gives back
 *   o  a container to open with the default limits, and one row of each tensor to decode; "ok
 *   PEAK", or as above. Followed by u64: bytes of memory that this
 * may take.   z  an original to compress. Followed by 8 bytes: level, profile, tile size as a power
 *             of two, tune, raw, predictor and two zeros; "ok SIZE" and
 * that many bytes. */
#include "fuzz/exercise.h"
#include "fuzz/fuzz.h"
#include <math.h>
#include <wcodec/writer.h>
#include <xxhash.h>

enum { ALLOCATIONS_MAX = 100000 };

struct counting {
    uint64_t calls, fail_at, live, bytes, peak;
};

static bool fails(struct counting *c)
{
    return ++c->calls == c->fail_at;
}

/* The size of a block stands in front of it. */
static void *counting_reallocate(void *opaque, void *memory, size_t size)
{
    struct counting *c = opaque;
    if (fails(c))
        return NULL;
    size_t *block = memory ? (size_t *)memory - 2 : NULL;
    const size_t before = block ? *block : 0;
    size_t *grown = realloc(block, size + 2 * sizeof *grown);
    FUZZ_REQUIRE(grown);
    c->live += !memory;
    c->bytes += size - before;
    c->peak = c->bytes > c->peak ? c->bytes : c->peak;
    *grown = size;
    return grown + 2;
}

static void *counting_allocate(void *opaque, size_t size)
{
    return counting_reallocate(opaque, NULL, size);
}

static void counting_release(void *opaque, void *memory)
{
    struct counting *c = opaque;
    if (!memory)
        return;
    c->live--;
    c->bytes -= ((size_t *)memory)[-2];
    free((size_t *)memory - 2);
}

/* A context that counts; NULL if one of its own allocations was to fail. */
static wcodec_context *counting_context(struct counting *counting, uint64_t fail_at)
{
    memset(counting, 0, sizeof *counting);
    counting->fail_at = fail_at;
    wcodec_options options;
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "cpu";
    options.allocator = (wcodec_allocator){.allocate = counting_allocate,
                                           .reallocate = counting_reallocate,
                                           .release = counting_release,
                                           .opaque = counting};
    wcodec_context *context = NULL;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_context_create(&options, &context, &err);
    FUZZ_REQUIRE(status == WCODEC_OK ||
                 (status == WCODEC_ERROR_MEMORY && !context && counting->live == 0));
    return context;
}

static void end_context(wcodec_context *context, const struct counting *counting)
{
    wcodec_context_destroy(context);
    FUZZ_REQUIRE(counting->live == 0 && counting->bytes == 0);
}

struct growing {
    uint8_t *data;
    size_t size;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct growing *g = opaque;
    g->data = realloc(g->data, g->size + size + 1);
    FUZZ_REQUIRE(g->data);
    if (size)
        memcpy(g->data + g->size, data, size);
    g->size += size;
    return 0;
}

static void print_hash(const uint8_t *data, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(data, size);
    printf("ok %016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

static void answer_exercise(const uint8_t *data, size_t size)
{
    struct exercise_result result;
    exercise_file(fuzz_context(), data, size, &result);
    if (result.status == WCODEC_OK) {
        print_hash(result.restored, result.size);
        printf("\n");
    } else {
        printf("%s %d %s\n", result.stage, result.status, result.err.text);
    }
    free(result.restored);
}

/* One whole run on what opens and restores without an error; true if the allocation was reached. */
static bool decode_failing(const uint8_t *data, size_t size, uint64_t fail_at, struct growing *out)
{
    struct counting counting;
    wcodec_context *context = counting_context(&counting, fail_at);
    if (!context)
        return true;
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    wcodec_status status = wcodec_reader_open_memory(context, data, size, &reader, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (reader != NULL));
    out->size = 0;
    if (status == WCODEC_OK)
        status = wcodec_reader_restore(reader, 0, append, out, NULL, &err);
    for (uint64_t i = 0; reader && i < wcodec_reader_tensor_count(reader) && status == WCODEC_OK;
         i++) {
        wcodec_tensor_info info;
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
        uint8_t *bytes = fuzz_guarded((size_t)info.size);
        status = wcodec_reader_decode(reader, i, bytes, (size_t)info.size, NULL, &err);
        FUZZ_REQUIRE(status != WCODEC_OK ||
                     memcmp(bytes, out->data + info.file_offset, (size_t)info.size) == 0);
        fuzz_guarded_free(bytes, (size_t)info.size);
    }
    wcodec_reader_close(reader);
    const bool reached = counting.calls >= fail_at;
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_MEMORY && err.status == status &&
                                         err.text[0] != 0 && reached));
    end_context(context, &counting);
    return reached;
}

static bool compress_failing(const uint8_t *data, size_t size, uint64_t fail_at,
                             struct growing *out)
{
    struct counting counting;
    wcodec_context *context = counting_context(&counting, fail_at);
    if (!context)
        return true;
    wcodec_error err = {0};
    out->size = 0;
    const wcodec_status status =
        wcodec_compress_memory(context, data, size, append, out, NULL, NULL, &err);
    const bool reached = counting.calls >= fail_at;
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_MEMORY && err.status == status &&
                                         err.text[0] != 0 && reached));
    end_context(context, &counting);
    return reached;
}

static void answer_failing(bool (*run)(const uint8_t *, size_t, uint64_t, struct growing *),
                           const uint8_t *data, size_t size, bool decode_result)
{
    struct growing out = {NULL, 0};
    uint64_t n = 1;
    while (run(data, size, n, &out))
        FUZZ_REQUIRE(++n < ALLOCATIONS_MAX);
    if (decode_result) {
        struct exercise_result result;
        exercise_file(fuzz_context(), out.data, out.size, &result);
        FUZZ_REQUIRE(result.status == WCODEC_OK);
        print_hash(result.restored, result.size);
        free(result.restored);
    } else {
        print_hash(out.data, out.size);
    }
    printf(" %llu\n", (unsigned long long)n - 1);
    free(out.data);
}

static void decode_row(const wcodec_reader *reader, uint64_t i)
{
    uint8_t row[4096];
    wcodec_tensor_info info;
    FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
    const uint64_t rows = info.rank ? info.shape[0] : 1;
    if (rows == 0 || info.size / rows > sizeof row)
        return;
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_reader_decode_rows(reader, i, 0, 1, row, sizeof row, NULL, &err);
    FUZZ_REQUIRE(status != WCODEC_ERROR_IO && status != WCODEC_ERROR_DEVICE &&
                 (status == WCODEC_OK || err.text[0] != 0));
}

static void answer_compress(const uint8_t *data, size_t size, const uint8_t choice[8])
{
    struct growing out = {NULL, 0};
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = choice[0];
    options.profile = (wcodec_profile)choice[1];
    options.tile_log2 = choice[2];
    options.tune = (wcodec_tune)choice[3];
    options.raw = choice[4];
    options.predict = (wcodec_predict)choice[5];
    options.lossy = (wcodec_lossy_target)(choice[6] & 15);
    options.lossy_scale = (wcodec_lossy_scaling)(choice[6] >> 4);
    options.lossy_value = options.lossy == WCODEC_LOSSY_ERROR  ? ldexp(1, -choice[7])
                          : options.lossy == WCODEC_LOSSY_BITS ? choice[7] / 8.0
                                                               : choice[7];
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_compress_memory(fuzz_context(), data, size, append, &out, &options, NULL, &err);
    if (status == WCODEC_OK) {
        printf("ok %zu\n", out.size);
        FUZZ_REQUIRE(fwrite(out.data, 1, out.size, stdout) == out.size);
    } else {
        printf("compress %d %s\n", status, err.text);
    }
    free(out.data);
}

static void answer_open(const uint8_t *data, size_t size, uint64_t most)
{
    struct counting counting;
    wcodec_context *context = counting_context(&counting, 0);
    const uint64_t before = counting.bytes;
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_reader_open_memory(context, data, size, &reader, &err);
    for (uint64_t i = 0; reader && i < wcodec_reader_tensor_count(reader); i++)
        decode_row(reader, i);
    wcodec_reader_close(reader);
    FUZZ_REQUIRE(counting.peak - before <= most);
    if (status == WCODEC_OK)
        printf("ok %llu\n", (unsigned long long)(counting.peak - before));
    else
        printf("open %d %s\n", status, err.text);
    end_context(context, &counting);
}

/* What is saved: the whole tensors of a damaged file, one after the other. */
static void answer_salvage(const uint8_t *data, size_t size)
{
    struct growing out = {NULL, 0};
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    const wcodec_status opened =
        wcodec_reader_salvage_memory(fuzz_context(), data, size, &reader, &err);
    if (opened != WCODEC_OK) {
        printf("open %d %s\n", opened, err.text);
        return;
    }
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
        uint8_t *bytes = fuzz_guarded((size_t)info.size);
        const wcodec_status status =
            wcodec_reader_decode(reader, i, bytes, (size_t)info.size, NULL, NULL);
        FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_CORRUPT);
        if (status == WCODEC_OK && info.size != 0)
            FUZZ_REQUIRE(append(&out, bytes, (size_t)info.size) == 0);
        fuzz_guarded_free(bytes, (size_t)info.size);
    }
    wcodec_reader_close(reader);
    print_hash(out.data, out.size);
    printf("\n");
    free(out.data);
}

int main(void)
{
    uint8_t head[9];
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        const size_t size = (size_t)wcodec_load_u64(head + 1);
        uint8_t *data = malloc(size ? size : 1), more[8] = {0};
        if (!data || fread(data, 1, size, stdin) != size ||
            ((head[0] == 'o' || head[0] == 'z') &&
             fread(more, 1, sizeof more, stdin) != sizeof more))
            return 1;
        if (head[0] == 'x')
            answer_exercise(data, size);
        else if (head[0] == 'f')
            answer_failing(decode_failing, data, size, false);
        else if (head[0] == 'c')
            answer_failing(compress_failing, data, size, true);
        else if (head[0] == 'o')
            answer_open(data, size, wcodec_load_u64(more));
        else if (head[0] == 's')
            answer_salvage(data, size);
        else if (head[0] == 'z')
            answer_compress(data, size, more);
        else
            return 1;
        fflush(stdout);
        free(data);
    }
    wcodec_context_destroy(fuzz_context());
    return 0;
}
