/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the lossy mode gives: lossy [LEVEL] [FILE.safetensors] Bits and signal to noise of generated
 * tensors, or of the larger tensors of a file, beside the bound of uniform quantisation with ideal
 * entropy coding and the block formats Q4_0 and Q8_0 of GGUF; what transforms gain on fields, of
 * what they could; seconds of the thread. Exit status 1 if a target is missed. */
#define PROGRAM "lossy"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"
#include "write/batch.h"
#include "format/safetensors.h"
#include "core/error.h"
#include "encode/lossy_internal.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2048 };

static bool failed;

/* How far ahead of the block formats. */
static struct {
    unsigned tensors;
    double sum, least;
} lead[2] = {{0, 0, INFINITY}, {0, 0, INFINITY}};

/* A Gaussian field correlated with its left and upper neighbours by rho; it starts anew, at zero,
 * every `restart` rows and columns. 0: never, as a field that has always been. */
static void make_field(double rho, size_t restart, double *x)
{
    for (size_t r = 0; r < SIDE; r++)
        for (size_t c = 0; c < SIDE; c++) {
            const bool top = restart ? r % restart == 0 : r == 0,
                       left = restart ? c % restart == 0 : c == 0;
            const double b = top ? 0 : rho, a = left ? 0 : rho, l = left ? 0 : x[r * SIDE + c - 1],
                         t = top ? 0 : x[r * SIDE + c - SIDE],
                         k = left || top ? 0 : x[r * SIDE + c - SIDE - 1];
            const double fresh =
                (restart || !left ? 1 - rho * rho : 1) * (restart || !top ? 1 - rho * rho : 1);
            x[r * SIDE + c] = a * l + b * t - a * b * k + sqrt(fresh) * gaussian();
        }
}

static void to_bf16(const double *x, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        wcodec_store_u16(out + 2 * i, wcodec_bf16_from_f32((float)x[i]));
}

static float from_f16(uint16_t h)
{
    uint8_t bytes[2];
    float f;
    wcodec_store_u16(bytes, h);
    wcodec_lossy_load(WCODEC_DTYPE_F16, bytes, 1, &f);
    return f;
}

/* Signal to noise of ggml's block formats, 32 numbers with a scale in f16: Q4_0 scales the number
 * of largest magnitude to -8, Q8_0 to +-127. */
static double block_format_snr(const float *x, size_t count, bool q8)
{
    double signal = 0, noise = 0;
    for (size_t i = 0; i + 32 <= count; i += 32) {
        float most = 0;
        for (size_t k = i; k < i + 32; k++)
            most = fabsf(x[k]) > fabsf(most) ? x[k] : most;
        const float d = q8 ? fabsf(most) / 127 : most / -8, inverse = d != 0 ? 1 / d : 0,
                    scale = from_f16(wcodec_f16_from_f32(d));
        for (size_t k = i; k < i + 32; k++) {
            const int q =
                q8 ? (int)roundf(x[k] * inverse) : (int)fminf(15, x[k] * inverse + 8.5f) - 8;
            const double error = (double)scale * q - (double)x[k];
            signal += (double)x[k] * (double)x[k];
            noise += error * error;
        }
    }
    return 10 * log10(signal / noise);
}

struct outcome {
    unsigned coding;
    double bits, snr, largest, seconds;
    char modes[32];
};

static struct outcome code(wcodec_context *context, int level, wcodec_dtype dtype, size_t rows,
                           size_t columns, const uint8_t *data, wcodec_lossy_target target,
                           double value)
{
    const struct wcodec_encode_settings settings = {.level = level,
                                                    .weights = true,
                                                    .verify = true,
                                                    .lossy = (uint8_t)target,
                                                    .lossy_value = value};
    const uint64_t shape[] = {rows, columns}, elements = rows * columns;
    const struct wcodec_entry what = {.is_tensor = true,
                                      .dtype = (uint8_t)dtype,
                                      .rank = rows == 1 ? 1 : 2,
                                      .shape = rows == 1 ? shape + 1 : shape,
                                      .size = elements * wcodec_dtype_bits(dtype) / 8};
    struct wcodec_coded coded;
    struct outcome o = {0};
    wcodec_error err = {0};
    const double start = now();
    check(wcodec_code_bytes(context, &settings, true, &what, data, &coded, &err), &err);
    o.seconds = now() - start;
    o.coding = coded.coding;
    o.bits = 8 * (double)coded.payload_size / (double)elements;
    o.snr = INFINITY;
    snprintf(o.modes, sizeof o.modes, "%s", coded.lossless ? "lossless" : "");
    if (coded.lossy) {
        const struct wcodec_lossy *l = coded.lossy;
        o.snr = 10 * log10(l->mean_square / l->mean_squared_error);
        o.largest = l->largest_error;
        for (unsigned m = 0; m < l->mode_count; m++)
            snprintf(o.modes + strlen(o.modes), sizeof o.modes - strlen(o.modes), "%s%s %.0f%%",
                     m ? " " : "", wcodec_transform_name(l->modes[m]),
                     100 * (double)l->counts[m] / (double)l->blocks);
    }
    wcodec_coded_free(&coded);
    return o;
}

static const char *const targets[] = {"", "snr", "error", "bits"};

static struct outcome row(wcodec_context *context, int level, const char *name, wcodec_dtype dtype,
                          size_t rows, size_t columns, const uint8_t *data,
                          wcodec_lossy_target target, double value, double least_snr)
{
    const struct outcome o = code(context, level, dtype, rows, columns, data, target, value);
    char asked[32];
    snprintf(asked, sizeof asked, "%s:%g", targets[target], value);
    const bool missed = o.snr < least_snr || (target == WCODEC_LOSSY_BITS && o.bits > value);
    printf("| %-22s | %-12s | %7.4f | %6.2f | %6.2f | %9.3g | %-26s | %5.0f |%s\n", name, asked,
           o.bits, o.snr, 6.02 * o.bits - 1.53, o.largest, o.modes,
           (double)(rows * columns * wcodec_dtype_bits(dtype) / 8) / o.seconds / 1e6,
           missed ? " MISSED" : "");
    fflush(stdout);
    failed = failed || missed;
    return o;
}

static void formats(wcodec_context *context, int level, const char *name, wcodec_dtype dtype,
                    size_t rows, size_t columns, const uint8_t *data, double ahead)
{
    const size_t count = rows * columns;
    float *x = malloc(count * sizeof *x);
    wcodec_lossy_load(dtype, data, count, x);
    for (unsigned q8 = 0; q8 < 2; q8++) {
        const double theirs = block_format_snr(x, count, q8);
        printf("| %-22s | %-12s | %7.4f | %6.2f |\n", name, q8 ? "Q8_0" : "Q4_0", q8 ? 8.5 : 4.5,
               theirs);
        const struct outcome o = row(context, level, name, dtype, rows, columns, data,
                                     WCODEC_LOSSY_BITS, q8 ? 8.5 : 4.5, theirs + ahead);
        lead[q8].tensors++;
        lead[q8].sum += o.snr - theirs;
        lead[q8].least = fmin(lead[q8].least, o.snr - theirs);
    }
    free(x);
}

/* Variances of the DCT's coefficients for a row of 8 of AR(1): their geometric mean is what is left
 * of the noise. */
static double dct_gain(double rho)
{
    double product = 1;
    for (int k = 0; k < 8; k++) {
        double variance = 0;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                variance += pow(rho, abs(i - j)) * cos((2 * i + 1) * k * 3.141592653589793 / 16) *
                            cos((2 * j + 1) * k * 3.141592653589793 / 16) * (k ? 0.25 : 0.125);
        product *= variance;
    }
    return -20 * log10(product) / 8; /* both ways */
}

/* Bits of the sample's blocks if all take one transform, at a step. */
static double set_bits(wcodec_context *context, const uint8_t *data, unsigned set, double step)
{
    const struct wcodec_encode_settings settings = {.level = 3, .columns = SIDE};
    struct wcodec_lossy_source source;
    struct wcodec_lossy_sample sample;
    struct wcodec_lossy_estimate e;
    struct wcodec_lossy_model model = {
        .dsp = &source.dsp, .set = set, .lambda = WCODEC_LOSSY_LAMBDA, .dtype = WCODEC_DTYPE_BF16};
    if (wcodec_lossy_source_open(context, &settings, false, WCODEC_DTYPE_BF16, data,
                                 (uint64_t)SIDE * SIDE * 2, &source, NULL) != WCODEC_OK ||
        wcodec_lossy_sample_take(&source, &sample, NULL) != WCODEC_OK)
        exit(2);
    wcodec_lossy_sample_transform(&sample);
    wcodec_lossy_choose_order(&sample, (float)(step / 64), &model);
    wcodec_lossy_settle(&sample, true, (float)(step / 64), &model, &e);
    wcodec_lossy_sample_free(&sample);
    wcodec_lossy_source_close(&source);
    return e.bits + e.distortion / (double)model.lambda;
}

static void fields(wcodec_context *context, int level, double *x, uint8_t *data)
{
    const double bits = 4, could = dct_gain(0.95);
    make_field(0.95, 0, x);
    to_bf16(x, (size_t)SIDE * SIDE, data);
    row(context, level, "AR(1) 0.95, as a row", WCODEC_DTYPE_BF16, 1, (size_t)SIDE * SIDE, data,
        WCODEC_LOSSY_BITS, bits, 0);
    for (double snr = 20; snr <= 52; snr += 8) {
        const struct outcome o = row(context, level, "AR(1) 0.95 both ways", WCODEC_DTYPE_BF16,
                                     SIDE, SIDE, data, WCODEC_LOSSY_SNR, snr, snr);
        const double gain = o.snr - (6.02 * o.bits - 1.53);
        const bool missed = snr > 20 && gain < 0.9 * could; /* 1 bit is too little for the bound */
        printf(
            "| ... gains %.2f dB over the bound: %.1f %% of the %.2f that the DCT of 8 x 8 could%s |\n",
            gain, 100 * gain / could, could, missed ? " MISSED" : "");
        failed = failed || missed;
    }
    row(context, level, "AR(1) 0.95 both ways", WCODEC_DTYPE_BF16, SIDE, SIDE, data,
        WCODEC_LOSSY_ERROR, 0.05, 0);
    make_field(0.95, 8, x);
    to_bf16(x, (size_t)SIDE * SIDE, data);
    row(context, level, "fields from zero", WCODEC_DTYPE_BF16, SIDE, SIDE, data, WCODEC_LOSSY_BITS,
        bits, 0);
    const double dct = set_bits(context, data, WCODEC_SET_DCT, 0.05),
                 adst = set_bits(context, data, WCODEC_SET_ADST, 0.05);
    printf("fields from zero: cost with DCT %.4f, with ADST %.4f bits an element%s\n", dct, adst,
           adst <= dct ? "" : " MISSED");
    failed = failed || adst > dct;
}

static void file(wcodec_context *context, int level, const char *path)
{
    struct wcodec_source source;
    struct wcodec_safetensors *s;
    wcodec_error err = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || wcodec_source_fd(fd, &source, &err) != WCODEC_OK ||
        wcodec_safetensors_read(&source, &context->allocator, &s, &err) != WCODEC_OK) {
        fprintf(stderr, "lossy: %s: %s\n", path, err.text);
        exit(2);
    }
    uint64_t at = s->header_size;
    for (uint64_t i = 0; i < s->count; i++) {
        const struct wcodec_safetensor *t = &s->tensors[i];
        uint8_t *data = malloc((size_t)t->size + 1);
        if (t->rank >= 2 && wcodec_lossy_dtype((wcodec_dtype)t->dtype) && t->size >= 1 << 16 &&
            wcodec_source_read(&source, at, data, (size_t)t->size, &err) == WCODEC_OK) {
            const uint64_t columns = t->shape[t->rank - 1],
                           rows =
                               t->size / (wcodec_dtype_bits((wcodec_dtype)t->dtype) / 8) / columns;
            formats(context, level, t->name + (strlen(t->name) > 22 ? strlen(t->name) - 22 : 0),
                    (wcodec_dtype)t->dtype, (size_t)rows, (size_t)columns, data, 0);
        }
        free(data);
        at += t->size;
    }
    wcodec_safetensors_free(s);
    for (unsigned q8 = 0; q8 < 2 && lead[q8].tensors; q8++)
        printf("ahead of %s in %u tensors: %.2f dB on average, %.2f at least\n",
               q8 ? "Q8_0" : "Q4_0", lead[q8].tensors, lead[q8].sum / lead[q8].tensors,
               lead[q8].least);
}

int main(int argc, char **argv)
{
    const int level = argc > 1 ? atoi(argv[1]) : 3;
    wcodec_context *context = open_context(1);
    printf(
        "| %-22s | %-12s | %7s | %6s | %6s | %9s | %-26s | %5s |\n|---|---|---|---|---|---|---|---|\n",
        "tensor", "asked", "bits", "dB", "bound", "largest", "modes", "MB/s");
    if (argc > 2) {
        file(context, level, argv[2]);
    } else {
        double *x = malloc((size_t)SIDE * SIDE * sizeof *x);
        uint8_t *data = malloc((size_t)SIDE * SIDE * 2);
        for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
            x[i] = 0.02 * gaussian();
        to_bf16(x, (size_t)SIDE * SIDE, data);
        row(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, WCODEC_LOSSY_BITS,
            2, 0);
        row(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, WCODEC_LOSSY_BITS,
            4.5, 25.0);
        row(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, WCODEC_LOSSY_BITS,
            6.5, 36.8);
        formats(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, 2);
        row(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, WCODEC_LOSSY_SNR,
            30, 30);
        row(context, level, "Gaussian bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data,
            WCODEC_LOSSY_ERROR, 0.001, 0);
        fields(context, level, x, data);
        free(x);
        free(data);
    }
    wcodec_context_destroy(context);
    return failed;
}
