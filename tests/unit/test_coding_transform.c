/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The integer transforms against their definitions in double precision, both ways. What wraps is
 * compared with the oracle's integers, by whole files. */
#include "support.h"

#include "coding/transform.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SIDE = WCODEC_TRANSFORM_SIDE, BLOCK = WCODEC_TRANSFORM_BLOCK };

static const double pi = 3.14159265358979323846;

/* Orthonormal: frequency k at place n. */
static double basis(unsigned transform, unsigned k, unsigned n)
{
    if (transform == WCODEC_TRANSFORM_NONE)
        return k == n;
    if (transform == WCODEC_TRANSFORM_ADST)
        return 0.5 * sin((2 * n + 1) * (2 * k + 1) * pi / 32);
    return (k ? 0.5 : sqrt(0.125)) * cos((2 * n + 1) * k * pi / 16);
}

static void inverse(unsigned transform, const int32_t *coefficients, double *values)
{
    for (unsigned i = 0; i < BLOCK; i++) {
        values[i] = 0;
        for (unsigned k = 0; k < BLOCK; k++)
            values[i] += 64 * coefficients[k] * basis(transform, k / SIDE, i / SIDE) *
                         basis(transform, k % SIDE, i % SIDE);
    }
}

/* Each coefficient alone, and many at random: the error is that of rounding and of 12-bit
 * constants. */
static void test_definition(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned t = 0; t < WCODEC_TRANSFORMS; t++)
        for (unsigned i = 0; i < 2 * BLOCK + 300; i++) {
            int32_t q[BLOCK] = {0}, z[BLOCK];
            double exact[BLOCK], size = 0;
            const int32_t most = i % 3 == 0 ? 3 : i % 3 == 1 ? 127 : 2000;
            if (i < 2 * BLOCK)
                q[i / 2] = i % 2 ? -1000 : 1000;
            for (unsigned k = 0; k < BLOCK && i >= 2 * BLOCK; k++)
                q[k] = (int32_t)(support_random(&seed) % (2 * (unsigned)most + 1)) - most;
            inverse(t, q, exact);
            wcodec_transform_inverse(t, q, z);
            for (unsigned k = 0; k < BLOCK; k++)
                size += abs(q[k]);
            for (unsigned k = 0; k < BLOCK; k++)
                assert_true(fabs(z[k] - exact[k]) <=
                            (t == WCODEC_TRANSFORM_NONE ? 0 : 8 + 64 * size / 2000));
        }
}

/* Elements to coefficients by the definition, rounded, and back: within the quantiser's steps. */
static void test_round_trip(void **state)
{
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned t = 0; t < WCODEC_TRANSFORMS; t++)
        for (unsigned rep = 0; rep < 100; rep++) {
            int32_t q[BLOCK], z[BLOCK];
            double x[BLOCK], squares = 0;
            for (unsigned i = 0; i < BLOCK; i++)
                x[i] = (double)(support_random(&seed) % 20001) / 100 - 100;
            for (unsigned k = 0; k < BLOCK; k++) {
                double c = 0;
                for (unsigned i = 0; i < BLOCK; i++)
                    c += x[i] * basis(t, k / SIDE, i / SIDE) * basis(t, k % SIDE, i % SIDE);
                q[k] = (int32_t)lrint(c);
            }
            wcodec_transform_inverse(t, q, z);
            for (unsigned i = 0; i < BLOCK; i++) {
                assert_true(fabs(z[i] / 64.0 - x[i]) < 3);
                squares += (z[i] / 64.0 - x[i]) * (z[i] / 64.0 - x[i]);
            }
            /* A step's mean squared error is 1/12 of its square; 64 of them deviate little from it.
             */
            assert_true(squares / BLOCK > 0.03 && squares / BLOCK < 0.16);
        }
}

/* All of 16 bits are allowed; what comes of the largest must be the same bits wherever this is
 * compiled. */
static void test_extremes(void **state)
{
    static const uint32_t sums[WCODEC_TRANSFORMS] = {0xa78473c0, 0x4d2e33d8,
                                                     0x519c6d88}; /* as the oracle has them */
    (void)state;
    for (unsigned t = 0; t < WCODEC_TRANSFORMS; t++) {
        uint64_t seed = 5;
        uint32_t sum = 0;
        for (unsigned rep = 0; rep < 50; rep++) {
            int32_t q[BLOCK], z[BLOCK];
            for (unsigned k = 0; k < BLOCK; k++)
                q[k] = support_random(&seed) % 3 ? (support_random(&seed) & 1 ? 32767 : -32768)
                                                 : (int16_t)support_random(&seed);
            wcodec_transform_inverse(t, q, z);
            for (unsigned k = 0; k < BLOCK; k++)
                sum = sum * 0x01000193 + (uint32_t)z[k];
        }
        if (sum != sums[t])
            fail_msg("transform %u: 0x%08x", t, (unsigned)sum);
    }
}

static void test_orders(void **state)
{
    const uint8_t *zigzag = wcodec_orders[WCODEC_ORDER_DIAGONALS];
    (void)state;
    for (unsigned order = 0; order < WCODEC_ORDERS; order++) {
        uint64_t seen = 0;
        for (unsigned k = 0; k < BLOCK; k++)
            seen |= (uint64_t)1 << wcodec_orders[order][k];
        assert_true(seen == UINT64_MAX);
    }
    for (unsigned k = 0; k < BLOCK; k++) {
        const unsigned position = zigzag[k], next = zigzag[k + 1 < BLOCK ? k + 1 : k];
        const int down = (int)(next / SIDE) - (int)(position / SIDE),
                  right = (int)(next % SIDE) - (int)(position % SIDE);
        assert_int_equal(wcodec_orders[WCODEC_ORDER_ROWS][k], k);
        assert_int_equal(wcodec_orders[WCODEC_ORDER_COLUMNS][k], SIDE * (k % SIDE) + k / SIDE);
        /* Along a diagonal, or one step to the next. */
        assert_true(k + 1 == BLOCK || (down + right == 0 && abs(down) == 1) ||
                    (down + right == 1 && down * right == 0));
    }
    assert_int_equal(zigzag[1], 1);
    assert_string_equal(wcodec_order_name(WCODEC_ORDER_PRODUCTS), "products");
    assert_string_equal(wcodec_transform_name(WCODEC_TRANSFORM_ADST), "adst");
    assert_string_equal(wcodec_transform_name(3), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
