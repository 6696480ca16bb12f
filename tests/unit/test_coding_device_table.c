/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables as devices have them: quotients of all frequencies, and what stands in for symbols that
 * are not held. */
#include "support.h"

#include "coding/device_table.h"

/* x / freq << p | x % freq + start, as a device finds it. */
static uint32_t push(uint32_t x, const struct wcodec_device_symbol *s)
{
    const uint64_t product = (uint64_t)(x + (s->how >> 31)) * s->reciprocal;
    return x + s->start + (uint32_t)(product >> 32 >> (s->how & 31)) * s->rest;
}

/* The quotients of both ends, and those near multiples of the frequency, where an error shows. */
static void check_symbol(uint64_t *seed, unsigned p, uint32_t freq, uint32_t start,
                         const struct wcodec_device_symbol *s)
{
    const uint64_t most = (uint64_t)freq << (32 - p);
    for (unsigned i = 0; i < 64; i++) {
        uint64_t x = i == 0 ? most - freq : support_random(seed) % most / freq * freq;
        for (unsigned k = 0; k < 2; k++, x += freq - 1)
            if (x < most)
                assert_int_equal(push((uint32_t)x, s),
                                 (uint32_t)((x / freq << p) + x % freq + start));
    }
    const uint32_t last = (uint32_t)(most - 1);
    assert_int_equal(push(last, s), (uint32_t)((last / freq << p) + last % freq + start));
}

/* Two symbols that share all slots, with every frequency. */
static void check_profile(unsigned profile)
{
    const unsigned p = wcodec_profile_bits(profile);
    uint64_t seed = support_seed();
    for (uint32_t freq = 1; freq < 1u << p; freq++) {
        struct wcodec_table table = {.profile = (uint8_t)profile, .width = 8, .count = 2};
        struct wcodec_encode_table encode;
        struct wcodec_device_table device;
        uint32_t costs[256] = {[7] = 3, [200] = 5};
        table.order[0] = 7;
        table.order[1] = 200;
        table.freq[7] = (uint16_t)freq;
        table.freq[200] = (uint16_t)((1u << p) - freq);
        wcodec_encode_table_init(&encode, &table);
        wcodec_device_table_init(&device, &encode, costs);
        check_symbol(&seed, p, freq, 0, &device.symbols[7]);
        check_symbol(&seed, p, (1u << p) - freq, freq, &device.symbols[200]);
        assert_int_equal(device.symbols[7].how >> 16 & 0xfff, freq);
        assert_int_equal(device.symbols[7].how >> 5 & 1, 0);
        assert_int_equal(device.symbols[7].how >> 8 & 255, 7);
        assert_int_equal(device.symbols[0].how >> 5 & 1, 1);
        assert_int_equal(device.symbols[0].how >> 8 & 255, encode.substitute[0]);
        assert_int_equal(device.costs[200], 5);
    }
}

static void test_p8(void **state)
{
    (void)state;
    check_profile(WCODEC_P8);
}

static void test_p12(void **state)
{
    (void)state;
    check_profile(WCODEC_P12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_p8), cmocka_unit_test(test_p12)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
