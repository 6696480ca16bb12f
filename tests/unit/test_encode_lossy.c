/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The parts of the lossy encoder: forward transforms against the formula, rounding by cost, fields
 * of 16-bit coefficients; and tensors of many kinds, whose figures are measured again here. Files
 * are tested in test_write_compress_lossy.c. */
#include "support_memory.h"

#include "core/error.h"
#include "encode/choice.h"
#include "encode/assemble.h"
#include "encode/lossy_internal.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

static wcodec_context *context;

static int setup(void **state)
{
    (void)state;
    context = support_context(2, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wcodec_context_destroy(context);
    return 0;
}

static double uniform(uint64_t *seed)
{
    return ((double)(support_random(seed) >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(uint64_t *seed)
{
    return sqrt(-2 * log(uniform(seed))) * cos(2 * PI * uniform(seed));
}

static double basis(unsigned transform, unsigned frequency, unsigned position)
{
    if (transform == WCODEC_TRANSFORM_ADST)
        return sin((2 * position + 1) * (2 * frequency + 1) * PI / 32) / 2;
    return cos((2 * position + 1) * frequency * PI / 16) * (frequency ? 0.5 : sqrt(0.125));
}

static void test_forward(void **state)
{
    uint64_t seed = support_seed();
    struct wcodec_cpu_lossy_dsp dsp;
    (void)state;
    wcodec_cpu_lossy_dsp_init_scalar(&dsp);
    for (unsigned transform = WCODEC_TRANSFORM_DCT; transform < WCODEC_TRANSFORMS; transform++)
        for (unsigned i = 0; i < 200; i++) {
            float x[64], y[64];
            for (unsigned k = 0; k < 64; k++)
                x[k] = (float)gaussian(&seed);
            dsp.forward[transform](x, y);
            for (unsigned v = 0; v < 8; v++)
                for (unsigned u = 0; u < 8; u++) {
                    double sum = 0;
                    for (unsigned r = 0; r < 8; r++)
                        for (unsigned c = 0; c < 8; c++)
                            sum += (double)x[8 * r + c] * basis(transform, v, r) *
                                   basis(transform, u, c);
                    assert_true(fabs((double)y[8 * v + u] - sum) < 1e-5);
                }
        }
}

/* Rounded coefficients come back through the library's inverse to within what rounding does, for
 * small blocks and for the largest that are allowed. */
static void test_inverse(void **state)
{
    uint64_t seed = support_seed() + 1;
    struct wcodec_cpu_lossy_dsp dsp;
    (void)state;
    wcodec_cpu_lossy_dsp_init_scalar(&dsp);
    for (unsigned transform = WCODEC_TRANSFORM_DCT; transform < WCODEC_TRANSFORMS; transform++)
        for (unsigned i = 0; i < 300; i++) {
            const double size = i % 3 == 0 ? 500 : i % 3 == 1 ? 20 : 1;
            float x[64], y[64];
            int32_t q[64], z[64];
            double squares = 0, rounding = 0;
            for (unsigned k = 0; k < 64; k++)
                x[k] = (float)(size * gaussian(&seed));
            dsp.forward[transform](x, y);
            for (unsigned k = 0; k < 64; k++) {
                q[k] = (int32_t)lrintf(y[k]);
                rounding += ((double)y[k] - q[k]) * ((double)y[k] - q[k]);
            }
            wcodec_transform_inverse(transform, q, z);
            for (unsigned k = 0; k < 64; k++)
                squares += pow(z[k] / 64.0 - (double)x[k], 2);
            /* The inverse's constants of 12 bits are off by 1e-4. */
            assert_true(sqrt(squares) < sqrt(rounding) + 8 * (0.05 + 4e-4 * size));
        }
}

/* The entry of a magnitude in a class's table. */
static unsigned entry_of(unsigned magnitude)
{
    const struct wcodec_cpu_rounding rounding = {.rows = {0}};
    int32_t magnitudes[WCODEC_TRANSFORM_BLOCK];
    uint32_t entries[WCODEC_TRANSFORM_BLOCK];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        magnitudes[k] = (int32_t)magnitude;
    wcodec_cpu_entries(&rounding, magnitudes, entries);
    return entries[magnitude % WCODEC_TRANSFORM_BLOCK];
}

/* What the costs of class c make of a value, with either sign. */
static unsigned rounded(const struct wcodec_lossy_costs *costs, unsigned c, float value)
{
    struct wcodec_cpu_lossy_dsp dsp;
    struct wcodec_cpu_rounding rounding = {.margin = costs->margin[0], .bits = costs->bits[0]};
    struct wcodec_cpu_quantised q;
    float values[WCODEC_TRANSFORM_BLOCK];
    wcodec_cpu_lossy_dsp_init_scalar(&dsp);
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++) {
        rounding.rows[k] = c * WCODEC_CPU_ENTRIES;
        values[k] = k % 2 ? -value : value;
    }
    dsp.quantise(&rounding, true, values, 1, &q);
    assert_int_equal(q.coefficients[1], -q.coefficients[0]);
    const unsigned magnitude = (unsigned)q.coefficients[0];
    assert_true(fabs((double)q.bits - 64 * (double)costs->bits[c][entry_of(magnitude)]) < 1e-3);
    return magnitude;
}

static void test_rate(void **state)
{
    struct wcodec_lossy_counts *counts = calloc(1, sizeof *counts);
    struct wcodec_lossy_costs *plain = malloc(sizeof *plain), *costs = malloc(sizeof *costs);
    uint64_t seed = support_seed() + 2;
    (void)state;
    for (unsigned m = 1; m <= WCODEC_CPU_COEFFICIENT_MAX; m++) {
        const unsigned below = entry_of(m - 1), here = entry_of(m);
        assert_true(here == below || here == below + 1);
        assert_true(here < WCODEC_CPU_ENTRIES);
    }
    for (unsigned c = 0; c < WCODEC_LOSSY_CLASSES; c++)
        for (unsigned i = 0; i < 5000; i++)
            counts->counts[c][entry_of((unsigned)fabs((c + 0.3) * gaussian(&seed) + 0.5))]++;
    wcodec_lossy_costs_make(counts, WCODEC_LOSSY_CLASSES, 0, plain);
    wcodec_lossy_costs_make(counts, WCODEC_LOSSY_CLASSES, 0.1f, costs);
    for (unsigned c = 0; c < WCODEC_LOSSY_CLASSES; c++) {
        double sum = 0;
        for (unsigned m = 0; m < 256; m++)
            sum += (m ? 2 : 1) * exp2(-(double)costs->bits[c][entry_of(m)]); /* both signs */
        assert_true(sum > 0.98 && sum < 1.0001);
        for (float v = 0; v < 400; v += 0.37f) {
            const unsigned nearest = rounded(plain, c, v), chosen = rounded(costs, c, v);
            assert_int_equal(nearest, (unsigned)(v + 0.5f));
            assert_true(chosen == nearest || chosen + 1 == nearest);
            /* Never a choice that is worse. */
            const double rest = (double)v - chosen, other = (double)v - nearest;
            if (nearest < 16)
                assert_true(rest * rest + 0.1 * (double)costs->bits[c][entry_of(chosen)] <=
                            other * other + 0.1 * (double)costs->bits[c][entry_of(nearest)] + 1e-4);
        }
        assert_int_equal(rounded(costs, c, 1e20f), WCODEC_CPU_COEFFICIENT_MAX);
    }
    free(counts);
    free(plain);
    free(costs);
}

static void check_split(const uint8_t *q, unsigned count, const struct wcodec_split *split)
{
    unsigned width = 0;
    for (unsigned f = 0; f < split->field_count; f++) {
        assert_int_equal(split->fields[f].shift, width);
        width += split->fields[f].width;
        for (unsigned k = 0; k < count && split->fields[f].kind == WCODEC_FIELD_CONSTANT; k++)
            assert_int_equal(((wcodec_load_u16(q + 2 * k) + split->add) & 0xffff) >>
                                     split->fields[f].shift &
                                 ((1u << split->fields[f].width) - 1),
                             split->fields[f].value);
    }
    assert_int_equal(width, 16);
}

static void test_split(void **state)
{
    enum { N = 50000 };
    uint64_t seed = support_seed() + 3;
    uint8_t *q = malloc(2 * N);
    static const struct {
        double deviation;
        unsigned low_from, low_to;
    } cases[] = {{20, 0, 0}, {100, 1, 4}, {800, 3, 7}, {8000, 6, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wcodec_split split;
        int least = 0, largest = 0;
        for (unsigned k = 0; k < N; k++) {
            int v = (int)lrint(cases[i].deviation * gaussian(&seed));
            if (i == 0 && k % 1000 == 0)
                v = k % 2000 ? 3000 : -3000; /* a few that are far out */
            v = v > 32767 ? 32767 : v < -32768 ? -32768 : v;
            least = v < least ? v : least;
            largest = v > largest ? v : largest;
            wcodec_store_u16(q + 2 * k, (uint16_t)v);
        }
        assert_int_equal(
            wcodec_integer_split(&context->allocator, q, N, least, largest, &split, NULL),
            WCODEC_OK);
        check_split(q, N, &split);
        const unsigned low = split.fields[0].kind == WCODEC_FIELD_RAW ? split.fields[0].width : 0;
        assert_true(low >= cases[i].low_from && low <= cases[i].low_to);
        assert_int_equal(
            wcodec_plain_split(&context->allocator, q, N, least, largest, &split, NULL), WCODEC_OK);
        check_split(q, N, &split);
        assert_true(split.constant_above ||
                    split.fields[split.field_count - 1].kind == WCODEC_FIELD_CONSTANT);
        assert_true(i > 0 ||
                    (split.field_count == 2 && split.fields[1].kind == WCODEC_FIELD_CODED));
        assert_int_equal(
            wcodec_banded_split(&context->allocator, q, N, least, largest, &split, NULL),
            WCODEC_OK);
        check_split(q, N, &split);
        assert_false(split.constant_above);
    }
    /* Wide bands and narrow ones: whole bytes, of which the upper ones have one value in the narrow
     * bands. */
    for (unsigned k = 0; k < N; k++) {
        const int v = (int)(gaussian(&seed) * (k / 128 % 16 < 4 ? 60 : 0.4));
        wcodec_store_u16(q + 2 * (size_t)k, (uint16_t)v);
    }
    struct wcodec_split split;
    assert_int_equal(wcodec_banded_split(&context->allocator, q, N, -400, 400, &split, NULL),
                     WCODEC_OK);
    assert_int_equal(split.fields[0].kind, WCODEC_FIELD_CODED);
    assert_int_equal(split.fields[1].kind, WCODEC_FIELD_CODED);
    assert_int_equal(split.add, 128);
    free(q);
}

/* Of many values some are counted: not by their place, so that columns that differ by parity are
 * all seen. */
static void test_split_of_many(void **state)
{
    const uint32_t count = 1u << 22; /* every second one is counted */
    uint64_t seed = support_seed() + 4;
    uint8_t *q = malloc(2 * (size_t)count);
    struct wcodec_split split;
    int least = 0, largest = 0;
    (void)state;
    for (uint32_t k = 0; k < count; k++) {
        const int v = (int)lrint((k % 2 ? 160 : 20) * gaussian(&seed));
        least = v < least ? v : least;
        largest = v > largest ? v : largest;
        wcodec_store_u16(q + 2 * (size_t)k, (uint16_t)v);
    }
    assert_int_equal(
        wcodec_plain_split(&context->allocator, q, count, least, largest, &split, NULL), WCODEC_OK);
    const unsigned low = split.fields[0].kind == WCODEC_FIELD_RAW ? split.fields[0].width : 0;
    uint32_t above = 0;
    for (uint32_t k = 0; k < count; k++) {
        const int v = (int16_t)wcodec_load_u16(q + 2 * (size_t)k);
        above += v >= 128 << low || v < -(128 << low);
    }
    assert_true(!split.constant_above || above < count / 64);
    free(q);
}

/* Which tensors, and how they come out. */
enum kind { GAUSSIAN, LAPLACE, UNIFORM, WALK, SPARSE, TWO_VALUES, ONE_LARGE, KINDS };

static double number(enum kind kind, size_t i, double *walk, uint64_t *seed)
{
    switch (kind) {
    case GAUSSIAN:
        return gaussian(seed);
    case LAPLACE:
        return log(uniform(seed)) * (support_random(seed) & 1 ? 1 : -1);
    case UNIFORM:
        return uniform(seed);
    case WALK:
        return *walk = 0.98 * *walk + 0.2 * gaussian(seed);
    case SPARSE:
        return support_random(seed) % 50 ? 0 : gaussian(seed);
    case TWO_VALUES:
        return support_random(seed) & 1 ? 1 : -1;
    default:
        return i == 777 ? 1000 : gaussian(seed);
    }
}

static void put_number(wcodec_dtype dtype, double v, size_t i, uint8_t *data)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (dtype == WCODEC_DTYPE_F32)
        wcodec_store_u32(data + 4 * i, bits);
    else
        wcodec_store_u16(data + 2 * i, dtype == WCODEC_DTYPE_BF16 ? wcodec_bf16_from_f32(f)
                                                                  : wcodec_f16_from_f32(f));
}

static double get_number(wcodec_dtype dtype, const uint8_t *data, size_t i)
{
    if (dtype == WCODEC_DTYPE_F16) {
        const unsigned h = wcodec_load_u16(data + 2 * i), e = h >> 10 & 31;
        const double m = e ? ldexp(1024 + (h & 1023), (int)e - 25) : ldexp(h & 1023, -24);
        return e == 31 ? (h & 1023 ? NAN : INFINITY) : h >> 15 ? -m : m;
    }
    const uint32_t bits = dtype == WCODEC_DTYPE_F32 ? wcodec_load_u32(data + 4 * i)
                                                    : (uint32_t)wcodec_load_u16(data + 2 * i) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

struct figures {
    double largest, squares, square;
};

static struct figures measure(wcodec_dtype dtype, const uint8_t *before, const uint8_t *after,
                              size_t count)
{
    struct figures f = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const double x = get_number(dtype, before, i), e = get_number(dtype, after, i) - x;
        f.largest = fmax(f.largest, fabs(e));
        f.squares += e * e / (double)count;
        f.square += x * x / (double)count;
    }
    return f;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Code, check the promise, and return whether it was with loss. */
static bool check(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                  const uint8_t *data, size_t count)
{
    struct wcodec_coded coded;
    const size_t size = count * (dtype == WCODEC_DTYPE_F32 ? 4 : 2);
    assert_int_equal(wcodec_encode_tensor(context, settings, dtype, data, size, &coded, NULL),
                     WCODEC_OK);
    const bool lossy = coded.coding == 5;
    if (lossy) {
        const struct wcodec_lossy *l = coded.lossy;
        const struct figures f = measure(dtype, data, coded.approximation, count);
        const double bits = 8 * (double)coded.payload_size / (double)count;
        assert_null(coded.lossless);
        assert_true(isfinite(f.largest));
        assert_true(l->largest_error == f.largest);
        assert_true(close_to(l->mean_squared_error, f.squares));
        assert_true(close_to(l->mean_square, f.square));
        assert_int_equal(wcodec_lossy_check_side(l, coded.parts[0].data, NULL), WCODEC_OK);
        if (settings->lossy == WCODEC_LOSSY_SNR)
            assert_true(10 * log10(f.square / f.squares) >=
                        settings->lossy_value - 1e-8); /* sums in another order */
        else if (settings->lossy == WCODEC_LOSSY_ERROR)
            assert_true(f.largest <= settings->lossy_value);
        else
            assert_true(bits <= settings->lossy_value);
    } else {
        assert_null(coded.approximation);
        assert_true(coded.coding == 0 || coded.lossless != NULL);
    }
    wcodec_coded_free(&coded);
    return lossy;
}

static struct wcodec_encode_settings settings_of(wcodec_lossy_target target, double value,
                                                 uint64_t columns)
{
    return (struct wcodec_encode_settings){.level = 3,
                                           .verify = true,
                                           .weights = true,
                                           .columns = columns,
                                           .lossy = (uint8_t)target,
                                           .lossy_value = value};
}

static void test_targets(void **state)
{
    static const struct {
        unsigned rows, columns;
    } shapes[] = {{1, 20000}, {40, 500}, {16, 256}, {17, 257},
                  {1500, 8},  {100, 30}, {9, 2000}, {5000, 1}};
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};
    static const double values[][4] = {
        {0}, {3, 20, 35, 50}, {0.5, 0.1, 0.02, 0.001}, {0.7, 2.5, 4.5, 7}};
    uint64_t seed = support_seed() + 4;
    unsigned lossy = 0, tried = 0;
    uint8_t *data = malloc(4 * 20000);
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const size_t count = (size_t)shapes[s].rows * shapes[s].columns;
            const wcodec_dtype dtype = dtypes[(kind + s) % 3];
            double walk = 0;
            for (size_t i = 0; i < count; i++)
                put_number(dtype, number((enum kind)kind, i, &walk, &seed), i, data);
            for (unsigned target = WCODEC_LOSSY_SNR; target <= WCODEC_LOSSY_BITS; target++) {
                struct wcodec_encode_settings settings =
                    settings_of((wcodec_lossy_target)target,
                                values[target][(kind + s + target) % 4], shapes[s].columns);
                settings.lossy_rows =
                    target != WCODEC_LOSSY_ERROR && support_random(&seed) % 4 == 0;
                settings.level = (int)(1 + support_random(&seed) % 9);
                lossy += check(&settings, dtype, data, count);
                tried++;
            }
        }
    print_message("%u of %u with loss\n", lossy, tried);
    assert_true(lossy > tried * 3 / 4);
    free(data);
}

/* What is asked for is not only kept to, but used. */
static void test_close(void **state)
{
    enum { N = 300 * 1024 };
    uint64_t seed = support_seed() + 5;
    uint8_t *data = malloc(2 * N);
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_BF16, 0.02 * gaussian(&seed), i, data);
    for (unsigned target = WCODEC_LOSSY_SNR; target <= WCODEC_LOSSY_BITS; target++) {
        const double value = target == WCODEC_LOSSY_SNR     ? 24
                             : target == WCODEC_LOSSY_ERROR ? 0.004
                                                            : 4.5;
        const struct wcodec_encode_settings settings =
            settings_of((wcodec_lossy_target)target, value, 1024);
        struct wcodec_coded coded;
        assert_int_equal(
            wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_BF16, data, 2 * N, &coded, NULL),
            WCODEC_OK);
        assert_int_equal(coded.coding, 5);
        const double snr = 10 * log10(coded.lossy->mean_square / coded.lossy->mean_squared_error),
                     bits = 8 * (double)coded.payload_size / N;
        if (target == WCODEC_LOSSY_SNR)
            assert_true(snr >= value && snr < value + 0.1);
        else if (target == WCODEC_LOSSY_ERROR)
            assert_true(coded.lossy->largest_error > value / 2);
        else
            assert_true(bits <= value && bits >= 0.99 * value);
        assert_true(snr > 6.02 * bits - 1.53 - (target == WCODEC_LOSSY_ERROR ? 1.2 : 0.8));
        assert_true(coded.lossy->plain); /* such numbers gain nothing by transforms */
        wcodec_coded_free(&coded);
    }
    free(data);
}

/* Very little is asked for, or more than coefficients can say: then what there is is had, and no
 * number is cut. */
static void test_limits(void **state)
{
    enum { ROWS = 80, COLUMNS = 512, N = ROWS * COLUMNS };
    static const struct {
        uint8_t target;
        double value, most_bits, least_snr;
        bool lossless;
    } cases[] = {
        {WCODEC_LOSSY_SNR, 0, 0.2, -1e-8, false}, {WCODEC_LOSSY_ERROR, 1e30, 0.2, -1e-8, false},
        {WCODEC_LOSSY_BITS, 20, 20, 80, false},   {WCODEC_LOSSY_SNR, 75, 16, 75, false},
        {WCODEC_LOSSY_SNR, 130, 32, 0, true},     {WCODEC_LOSSY_ERROR, 1e-12, 32, 0, true}};
    uint64_t seed = support_seed() + 6;
    uint8_t *data = malloc(4 * N);
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        double above[COLUMNS] = {0};
        for (size_t i = 0; i < N; i++) {
            above[i % COLUMNS] = kind == 0 ? gaussian(&seed)
                                           : 0.99 * above[i % COLUMNS] + 0.02 * gaussian(&seed) +
                                                 sin((double)i / 40);
            put_number(WCODEC_DTYPE_F32, above[i % COLUMNS], i, data);
        }
        for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
            for (unsigned rows = 0; rows < (cases[c].target == WCODEC_LOSSY_ERROR ? 1 : 2);
                 rows++) {
                struct wcodec_encode_settings settings =
                    settings_of((wcodec_lossy_target)cases[c].target, cases[c].value, COLUMNS);
                struct wcodec_coded coded;
                settings.lossy_rows = rows;
                if (check(&settings, WCODEC_DTYPE_F32, data, N) == cases[c].lossless)
                    fail_msg("kind %u, case %u, scales of rows %u", kind, c, rows);
                assert_int_equal(wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_F32, data,
                                                      4 * N, &coded, NULL),
                                 WCODEC_OK);
                assert_true(8 * (double)coded.payload_size / N <= cases[c].most_bits);
                assert_true(cases[c].lossless || 10 * log10(coded.lossy->mean_square /
                                                            coded.lossy->mean_squared_error) >=
                                                     cases[c].least_snr);
                wcodec_coded_free(&coded);
            }
    }
    free(data);
}

static void test_transforms_gain(void **state)
{
    enum { SIDE = 256 };
    uint64_t seed = support_seed() + 6;
    uint8_t *data = malloc(4 * SIDE * SIDE);
    double *x = malloc(SIDE * SIDE * sizeof *x);
    (void)state;
    for (unsigned restart = 0; restart <= 8; restart += 8) {
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            const bool left = restart ? i % restart == 0 : i % SIDE == 0,
                       top = restart ? i / SIDE % restart == 0 : i < SIDE;
            x[i] = (left ? 0 : x[i - 1]) * 0.97 + (top ? 0 : x[i - SIDE]) * 0.97 -
                   (left || top ? 0 : x[i - SIDE - 1]) * 0.97 * 0.97 + gaussian(&seed);
            put_number(WCODEC_DTYPE_F32, x[i], i, data);
        }
        const struct wcodec_encode_settings square = settings_of(WCODEC_LOSSY_SNR, 25, SIDE),
                                            flat = settings_of(WCODEC_LOSSY_SNR, 25, 0);
        struct wcodec_coded with, without;
        assert_int_equal(wcodec_encode_tensor(context, &square, WCODEC_DTYPE_F32, data,
                                              4 * SIDE * SIDE, &with, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_encode_tensor(context, &flat, WCODEC_DTYPE_F32, data,
                                              4 * SIDE * SIDE, &without, NULL),
                         WCODEC_OK);
        assert_true(with.coding == 5 && without.coding == 5 && without.lossy->plain);
        assert_true(with.payload_size < without.payload_size * 3 / 4);
        uint64_t adst = 0;
        for (unsigned m = 0; m < with.lossy->mode_count; m++)
            adst += with.lossy->modes[m] == WCODEC_TRANSFORM_ADST ? with.lossy->counts[m] : 0;
        assert_true(restart ? adst > with.lossy->blocks / 2 : adst < with.lossy->blocks / 2);
        wcodec_coded_free(&with);
        wcodec_coded_free(&without);
    }
    free(data);
    free(x);
}

/* What must stay as it is. */
static void test_lossless(void **state)
{
    enum { N = 5000 };
    uint64_t seed = support_seed() + 7;
    uint8_t *data = malloc(4 * N);
    const struct wcodec_encode_settings settings = settings_of(WCODEC_LOSSY_SNR, 20, 50),
                                        bits = settings_of(WCODEC_LOSSY_BITS, 31, 50);
    struct wcodec_coded coded;
    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        const double scale = i == 3 ? 1e-41 : i == 4 ? 1e37 : i == 5 ? 1e-27 : 1;
        for (size_t k = 0; k < N; k++)
            put_number(WCODEC_DTYPE_F32, i == 6 ? (k & 1 ? -0.0 : 0.0) : scale * gaussian(&seed), k,
                       data);
        if (i == 0)
            put_number(WCODEC_DTYPE_F32, NAN, 4321, data);
        if (i == 1)
            put_number(WCODEC_DTYPE_F32, -INFINITY, 0, data);
        const size_t count = i == 2 ? 900 : N;
        /* Magnitudes that scales do not reach: 1e-27 is about the last that they do. */
        assert_int_equal(check(&settings, WCODEC_DTYPE_F32, data, count), i == 5);
    }
    assert_false(check(&bits, WCODEC_DTYPE_F32, data, N)); /* no smaller */
    assert_int_equal(
        wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_I32, data, 4 * N, &coded, NULL),
        WCODEC_OK);
    assert_true(coded.coding != 5 && coded.lossless);
    wcodec_coded_free(&coded);
    free(data);
}

/* Numbers at the end of what F16 holds: their neighbours are infinite, which no figure may be. */
static void test_end_of_range(void **state)
{
    enum { N = 6000 };
    uint64_t seed = support_seed() + 9;
    uint8_t *data = malloc(2 * N);
    unsigned lossless = 0;
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_F16,
                   i % 7   ? 3000 * gaussian(&seed)
                   : i % 2 ? -65504
                           : 65504,
                   i, data);
    for (unsigned i = 0; i < 40; i++) {
        const struct wcodec_encode_settings settings =
            i % 2 ? settings_of(WCODEC_LOSSY_BITS, 2 + i / 8.0, 60)
                  : settings_of(WCODEC_LOSSY_SNR, 15 + i, 60);
        lossless += !check(&settings, WCODEC_DTYPE_F16, data, N);
    }
    print_message("%u of 40 without loss\n", lossless);
    assert_true(lossless > 0 && lossless < 40);
    free(data);
}

/* Few values, far apart: many steps give them exactly, and what is left of an error says nothing of
 * the way to go. */
static void test_exact(void **state)
{
    enum { N = 8192 };
    uint64_t seed = support_seed() + 10;
    uint8_t *data = malloc(4 * N);
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_F32,
                   (double)((int)(support_random(&seed) % 5) - 2) + 1e-4 * gaussian(&seed), i,
                   data);
    for (unsigned i = 1; i < 24; i++) {
        const struct wcodec_encode_settings settings =
            settings_of(WCODEC_LOSSY_SNR, 4 * i, i % 2 ? 64 : 0);
        assert_true(check(&settings, WCODEC_DTYPE_F32, data, N));
    }
    free(data);
}

/* Little is asked for: many steps round everything to zero, and say nothing of the way to go. */
static void test_coarse(void **state)
{
    static const double values[] = {0.1, 0.5, 1, 2, 3};
    enum { N = 16384 };
    uint64_t seed = support_seed() + 11;
    uint8_t *data = malloc(4 * N);
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_F32,
                   sin((double)(i / 256) / 20) + cos((double)(i % 256) / 30) +
                       0.3 * gaussian(&seed),
                   i, data);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int level = 3; level <= 9; level += 6) {
            struct wcodec_encode_settings settings = settings_of(WCODEC_LOSSY_SNR, values[i], 256);
            settings.level = level;
            assert_true(check(&settings, WCODEC_DTYPE_F32, data, N));
        }
    free(data);
}

/* All coefficients zero: the file still says what was lost. */
static void test_nothing_left(void **state)
{
    enum { N = 20000 };
    uint64_t seed = support_seed() + 8;
    uint8_t *data = malloc(2 * N);
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_BF16, gaussian(&seed), i, data);
    for (uint64_t columns = 0; columns <= 200; columns += 200) {
        const struct wcodec_encode_settings settings =
            settings_of(WCODEC_LOSSY_ERROR, 100, columns);
        assert_true(check(&settings, WCODEC_DTYPE_BF16, data, N));
    }
    free(data);
}

/* A plain tensor at so many bits: what the payload holds must be the coefficients, and they what
 * was measured. */
static void code_plain(double bits, const uint8_t *data, size_t count, struct wcodec_coded *coded)
{
    const struct wcodec_encode_settings settings = settings_of(WCODEC_LOSSY_BITS, bits, 0);
    assert_true(check(&settings, WCODEC_DTYPE_BF16, data, count));
    assert_int_equal(
        wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_BF16, data, 2 * count, coded, NULL),
        WCODEC_OK);
    assert_true(coded->coding == 5 && coded->lossy->plain);
    assert_int_equal(wcodec_coded_verify(context, &settings, coded, data, NULL, NULL), WCODEC_OK);
}

/* Few numbers are far out: what is above the window is constant but for outliers in every tile,
 * even in the first, which has so many that a table would take less. */
static void test_constant_above(void **state)
{
    enum { N = 1 << 18, DENSE = 8192 };
    uint64_t seed = support_seed() + 12;
    uint8_t *data = malloc(2 * N);
    struct wcodec_coded coded;
    struct wcodec_tiles *tiles;
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_BF16, gaussian(&seed) * (i % (i < DENSE ? 64 : 4096) ? 1 : 100), i,
                   data);
    code_plain(5.5, data, N, &coded);
    const struct wcodec_tiling *t = coded.tiling;
    assert_true(t->element_log2 == 1 && t->coded_count == 2 &&
                t->fields[t->coded[0]].profile == WCODEC_P12);
    assert_true(t->tiles > 1 && t->tile_log2 == 13);
    assert_int_equal(wcodec_tiles_read(t, coded.parts[1].data,
                                       coded.payload_size - coded.parts[0].size,
                                       &context->allocator, &tiles, NULL),
                     WCODEC_OK);
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const struct wcodec_stream *stream = &tiles->streams[2 * tile + 1];
        uint32_t above = 0;
        for (size_t i = 0; i < wcodec_tile_elements(t, tile); i++)
            above +=
                ((wcodec_load_u16(coded.coefficients + 2 * ((tile << t->tile_log2) + i)) + t->add) &
                 0xffff) >>
                    t->fields[t->coded[1]].shift !=
                0;
        assert_true(stream->mode == WCODEC_STREAM_CONSTANT && stream->symbol == 0);
        assert_int_equal(stream->outliers, above);
        assert_true(tile > 0 || above > DENSE / 128);
    }
    wcodec_tiles_free(tiles);
    wcodec_coded_free(&coded);
    free(data);
}

/* Coefficients of bytes are cut and coded as GPUs decode them in one pass: all bits by P12, or
 * pairs above four raw bits, where runs with tables of P8 would save a little; and never above
 * three raw bits, which of small tensors would save something too. */
static void test_plain_fields(void **state)
{
    enum { N = 1 << 18, SMALL = 8192 };
    uint64_t seed = support_seed() + 13;
    uint8_t *data = malloc(2 * N);
    struct wcodec_coded coded;
    (void)state;
    for (size_t i = 0; i < N; i++)
        put_number(WCODEC_DTYPE_BF16, gaussian(&seed) * (i / 512 % 2 ? 1.5 : 1), i, data);
    code_plain(4.5, data, N, &coded);
    assert_true(coded.tiling->element_log2 == 0 && coded.tiling->field_count == 1);
    assert_int_equal(coded.tiling->fields[0].profile, WCODEC_P12);
    wcodec_coded_free(&coded);
    code_plain(6.5, data, N, &coded);
    assert_true(coded.tiling->element_log2 == 0 && coded.tiling->field_count == 2);
    assert_true(coded.tiling->fields[0].kind == WCODEC_FIELD_RAW &&
                coded.tiling->fields[0].width == 4);
    assert_int_equal(coded.tiling->fields[1].profile, WCODEC_PAIRS);
    wcodec_coded_free(&coded);
    for (size_t i = 0; i < SMALL; i++)
        put_number(WCODEC_DTYPE_BF16, gaussian(&seed), i, data);
    for (unsigned i = 0; i <= 10; i++) {
        code_plain(5 + i / 10.0, data, SMALL, &coded);
        assert_int_equal(coded.tiling->element_log2, 0);
        assert_true(coded.tiling->field_count == 1 || coded.tiling->fields[0].width == 4);
        wcodec_coded_free(&coded);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_of_many),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_transforms_gain),
        cmocka_unit_test(test_lossless),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_end_of_range),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_coarse),
        cmocka_unit_test(test_constant_above),
        cmocka_unit_test(test_plain_fields),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
