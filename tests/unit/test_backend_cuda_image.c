/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "backends/cuda/image.h"

#include <string.h>

static const char texts[] = "// made by hand\n.version 7.4\n.target sm_75\n.address_size 64\n\0"
                            "//\n.version 7.4\n.target sm_86\n\0"
                            "//\n.version 8.6\n.target sm_100\n\0";

static void test_texts(void **state)
{
    (void)state;
    const char *second = texts + strlen(texts) + 1, *third = second + strlen(second) + 1;
    assert_null(wcodec_cuda_image(texts, 70));
    assert_ptr_equal(wcodec_cuda_image(texts, 75), texts);
    assert_ptr_equal(wcodec_cuda_image(texts, 80), texts);
    assert_ptr_equal(wcodec_cuda_image(texts, 86), second);
    assert_ptr_equal(wcodec_cuda_image(texts, 90), second);
    assert_ptr_equal(wcodec_cuda_image(texts, 100), third);
    assert_ptr_equal(wcodec_cuda_image(texts, 121), third);
}

/* The driver looks into it, whatever the device. */
static void test_fatbin(void **state)
{
    (void)state;
    static const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1};
    assert_ptr_equal(wcodec_cuda_image(fatbin, 75), fatbin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_fatbin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
