/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors with zeros and repetitions: unusual [-l LEVEL] [-q]. Bits an element of generated
 * tensors: pruned ones, whose zeros stand at random positions, and some with rows that are zero or
 * repeat. Beside them zstd -19 and two bounds: A, the order-0 entropies of an element's fields, all
 * coded (exponent, and sign with mantissa; of f32 the mantissa byte by byte; of bytes the whole),
 * and B, that of where zeros are and for the others the order-0 bound with raw sign and mantissa.
 * Exit status 1 if a pruned tensor is more than 1.5 % above A or larger than zstd -19 makes it. The
 * same tensors each time. -q: a sixteenth of the elements. */
#define PROGRAM "unusual"
#include "bench/floats.h"
#include "bench/program.h"
#include "bench/random.h"

#include "core/bytes.h"
#include "encode/encode.h"
#include <unistd.h>
#include <zstd.h>

enum { SIDE = 2048, SYMBOLS_LOG2 = 12 };

struct kind {
    const char *name;
    wcodec_dtype dtype;
    unsigned bytes, exponent, mantissa;
};

static const struct kind kinds[] = {{"bf16", WCODEC_DTYPE_BF16, 2, 8, 7},
                                    {"f16", WCODEC_DTYPE_F16, 2, 5, 10},
                                    {"f32", WCODEC_DTYPE_F32, 4, 8, 23},
                                    {"int8", WCODEC_DTYPE_I8, 1, 0, 0}};

static bool failed;

/* Gaussian, of deviation 0.02; bytes of deviation 32. */
static uint32_t element(const struct kind *k)
{
    const double v = gaussian();
    if (k->dtype == WCODEC_DTYPE_I8)
        return (uint8_t)(int)nearbyint(fmax(-127, fmin(127, 32 * v)));
    if (k->dtype == WCODEC_DTYPE_F16)
        return small_float(0.02 * v, 5, 10);
    return k->dtype == WCODEC_DTYPE_BF16 ? bf16_bits(0.02 * v) : f32_bits(0.02 * v);
}

static void fill(const struct kind *k, double zeros, size_t count, uint8_t *data)
{
    for (size_t i = 0; i < count; i++)
        wcodec_store_uint(data + i * k->bytes, uniform() < zeros ? 0 : element(k), k->bytes);
}

static double entropy(const uint32_t *counts, size_t symbols, double total)
{
    double bits = 0;
    for (size_t s = 0; s < symbols; s++)
        if (counts[s] > 0)
            bits -= counts[s] * log2(counts[s] / total);
    return bits;
}

/* Entropy of `width` bits from bit `shift` on, with bit `sign` above them (or none: 0), of all
 * elements or of those that are not zero. */
static double field_bits(const struct kind *k, const uint8_t *data, size_t count, unsigned shift,
                         unsigned width, unsigned sign, bool all)
{
    static uint32_t counts[1 << SYMBOLS_LOG2];
    size_t total = 0;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++) {
        const uint64_t e = wcodec_load_uint(data + i * k->bytes, k->bytes);
        if (e == 0 && !all)
            continue;
        counts[(e >> shift & ((1u << width) - 1)) | (sign ? (e >> sign & 1) << width : 0)]++;
        total++;
    }
    return entropy(counts, sizeof counts / sizeof *counts, (double)total);
}

static double bound_a(const struct kind *k, const uint8_t *data, size_t count)
{
    double bits = 0;
    unsigned low = 0;
    if (k->exponent == 0)
        return field_bits(k, data, count, 0, 8, 0, true);
    for (; k->mantissa - low > 11; low += 8)
        bits += field_bits(k, data, count, low, 8, 0, true);
    return bits +
           field_bits(k, data, count, low, k->mantissa - low, k->mantissa + k->exponent, true) +
           field_bits(k, data, count, k->mantissa, k->exponent, 0, true);
}

static double bound_b(const struct kind *k, const uint8_t *data, size_t count)
{
    uint32_t counts[2] = {0};
    for (size_t i = 0; i < count; i++)
        counts[wcodec_load_uint(data + i * k->bytes, k->bytes) == 0]++;
    const double where = entropy(counts, 2, (double)count);
    if (k->exponent == 0)
        return where + field_bits(k, data, count, 0, 8, 0, false);
    return where + (double)counts[0] * (1 + k->mantissa) +
           field_bits(k, data, count, k->mantissa, k->exponent, 0, false);
}

static double zstd_bits(const uint8_t *data, size_t size)
{
    const size_t capacity = ZSTD_compressBound(size);
    void *buffer = malloc(capacity);
    if (buffer == NULL)
        fail("out of memory");
    const size_t coded = ZSTD_compress(buffer, capacity, data, size, 19);
    free(buffer);
    if (ZSTD_isError(coded))
        fail(ZSTD_getErrorName(coded));
    return 8 * (double)coded;
}

/* What codes it: "chunks", or the coded fields. */
static void describe(const struct wcodec_coded *coded, char *text, size_t size)
{
    static const char *const names[] = {"constant", "tiles", "zstd", "alias", "blocks", "lossy"};
    snprintf(text, size, "%s",
             coded->coding < 6                       ? names[coded->coding]
             : coded->coding == WCODEC_CODING_MASKED ? "masked"
                                                     : "?");
    if (coded->coding != WCODEC_CODING_TILES)
        return;
    size_t at = 0;
    for (unsigned i = coded->tiling->field_count; i-- > 0 && at + 8 < size;) {
        const struct wcodec_field *f = &coded->tiling->fields[i];
        at += (size_t)snprintf(text + at, size - at, "%s%c%u", at ? "+" : "", "krc"[f->kind],
                               (unsigned)f -> width);
    }
}

static void measure(wcodec_context *context, int level, const struct kind *k, const char *name,
                    const uint8_t *data, size_t count, bool limited)
{
    const struct wcodec_encode_settings settings = {
        .level = level, .weights = true, .verify = true, .columns = SIDE};
    struct wcodec_coded coded;
    wcodec_error err;
    char how[64];
    check(wcodec_encode_tensor(context, &settings, k->dtype, data, count * k->bytes, &coded, &err),
          &err);
    const double own = 8 * (double)coded.payload_size, zstd = zstd_bits(data, count * k->bytes),
                 a = bound_a(k, data, count), b = bound_b(k, data, count), n = (double)count;
    describe(&coded, how, sizeof how);
    wcodec_coded_free(&coded);
    printf("| %-4s %-26s | %7.3f %-12s | %7.3f | %7.3f %+6.2f %% | %7.3f %+6.2f %% |\n", k->name,
           name, own / n, how, zstd / n, a / n, 100 * (own / a - 1), b / n, 100 * (own / b - 1));
    fflush(stdout);
    failed = failed || (limited && (own > 1.015 * a || own > zstd));
}

static void measure_pruned(wcodec_context *context, int level, const struct kind *k, size_t count,
                           uint8_t *data)
{
    static const unsigned shares[] = {10, 25, 50, 80, 90};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u %% zeros", shares[i]);
        random_state = shares[i];
        fill(k, shares[i] / 100.0, count, data);
        measure(context, level, k, name, data, count, true);
    }
}

/* Rows as they are, zero, or like an earlier one. */
static void measure_rows(wcodec_context *context, int level, const struct kind *k, size_t count,
                         uint8_t *data)
{
    const size_t size = (size_t)SIDE * k->bytes, rows = count / SIDE;
    random_state = 7;
    fill(k, 0, count, data);
    for (size_t r = 1; r < rows; r++)
        if (uniform() < 0.3)
            memset(data + r * size, 0, size);
    measure(context, level, k, "30 % of the rows zero", data, count, false);
    fill(k, 0, count, data);
    for (size_t r = 1; r < rows; r++)
        if (uniform() < 0.3)
            memcpy(data + r * size, data + (size_t)(uniform() * (double)r) * size, size);
    measure(context, level, k, "30 % of the rows repeat", data, count, false);
    fill(k, 0, count, data);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 16; c < SIDE; c++)
            if (c / 16 % 3 == 0)
                memcpy(data + r * size + c * k->bytes, data + r * size + (c - 16) * k->bytes,
                       k->bytes);
    measure(context, level, k, "channels repeat in rows", data, count, false);
}

int main(int argc, char **argv)
{
    int level = 3;
    size_t count = (size_t)SIDE * SIDE;
    for (int option; (option = getopt(argc, argv, "l:q")) != -1;) {
        if (option == 'l')
            level = atoi(optarg);
        else if (option == 'q')
            count /= 16;
        else
            return 2;
    }
    uint8_t *data = malloc(4 * count);
    if (data == NULL || level < 1 || level > 9)
        fail("usage: unusual [-l LEVEL] [-q]");
    wcodec_context *context = open_context(1);
    printf("| tensor | bits, fields | zstd -19 | A | B |\n| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        measure_pruned(context, level, &kinds[i], count, data);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        measure_rows(context, level, &kinds[i], count, data);
    wcodec_context_destroy(context);
    free(data);
    return failed;
}
