/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Resident tensors are the CPU's, whatever the context's device is: with one that fails at every
 * batch, and no CPU in its place, all of it works. */
#include "support_plugins.h"
#include "support_resident.h"

#include <string.h>

static void check_form(const wcodec_reader *reader, const struct support_resident_file *file,
                       wcodec_resident_form form)
{
    static float x[384], y[256];
    static uint8_t out[256 * 384 * 2];
    const int64_t rows[] = {7, 200};
    wcodec_resident_options options;
    wcodec_resident *resident;
    wcodec_linear l;
    wcodec_error err;
    wcodec_resident_options_init(&options);
    options.form = form;
    if (wcodec_resident_create(reader, NULL, 0, &options, &resident, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_resident_decode(resident, 0, 0, 256, out, sizeof out, NULL), WCODEC_OK);
    assert_memory_equal(out, file->data[0], sizeof out);
    assert_int_equal(wcodec_resident_gather(resident, 0, rows, 2, out, sizeof out, NULL),
                     WCODEC_OK);
    wcodec_linear_init(&l);
    l.rows = 1;
    l.x = x;
    l.y = y;
    l.x_dtype = l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(resident, 0, &l, NULL), WCODEC_OK);
    wcodec_resident_destroy(resident);
}

static void test_failing_device(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct support_resident_file file;
        wcodec_context *cpu = support_context(2, NULL);
        support_resident_make(cpu, &seed, k == 0 ? WCODEC_TUNE_SIZE : WCODEC_TUNE_COMPUTE_FIXED,
                              &file);
        wcodec_context_destroy(cpu);
        wcodec_context *context = support_resident_fake("late-decode");
        wcodec_reader *reader = support_resident_open(context, &file);
        uint8_t *out = malloc(file.sizes[0]);
        for (int form = WCODEC_RESIDENT_AUTO; form <= WCODEC_RESIDENT_PLAIN; form++)
            check_form(reader, &file, (wcodec_resident_form)form);
        /* It would have failed. */
        assert_int_equal(wcodec_reader_decode(reader, 0, out, file.sizes[0], NULL, NULL),
                         WCODEC_ERROR_DEVICE);
        free(out);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
        support_resident_free(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failing_device)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
