/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A whole .wcodec file, each of whose tensors becomes resident in every form: that succeeds if the
 * reader decodes it, and elements and products are the same then. */
#include "fuzz/container.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "resident";
const bool fuzz_takes_files = true;

enum { TENSOR_LIMIT = 1 << 20, FORMS = 3, VECTORS = 2 };

static const wcodec_resident_form forms[FORMS] = {WCODEC_RESIDENT_CODED, WCODEC_RESIDENT_FIXED,
                                                  WCODEC_RESIDENT_PLAIN};

static wcodec_resident *make(const wcodec_reader *reader, uint64_t tensor,
                             wcodec_resident_form form, wcodec_status expected)
{
    wcodec_resident_options options;
    wcodec_resident *resident = NULL;
    wcodec_error err = {0};
    wcodec_resident_options_init(&options);
    options.form = form;
    const wcodec_status status =
        wcodec_resident_create(reader, &tensor, 1, &options, &resident, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (expected == WCODEC_OK));
    FUZZ_REQUIRE((status == WCODEC_OK) == (resident != NULL));
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    return resident;
}

static void check_elements(const wcodec_resident *resident, const wcodec_tensor_info *info,
                           const uint8_t *whole)
{
    const uint64_t rows = info->rank != 0 ? info->shape[0] : 1;
    const int64_t last = (int64_t)rows - 1;
    const size_t size = (size_t)info->size;
    uint8_t *out = fuzz_guarded(size);
    wcodec_status status = wcodec_resident_decode(resident, 0, 0, rows, out, size, NULL);
    FUZZ_REQUIRE(status == WCODEC_OK || rows == 0 || info->dtype == WCODEC_DTYPE_OTHER);
    FUZZ_REQUIRE(status != WCODEC_OK || memcmp(out, whole, size) == 0);
    status = rows == 0 ? WCODEC_ERROR_USAGE
                       : wcodec_resident_gather(resident, 0, &last, 1, out, size, NULL);
    if (status == WCODEC_OK)
        FUZZ_REQUIRE(memcmp(out, whole + (size - size / rows), (size_t)(size / rows)) == 0);
    fuzz_guarded_free(out, size);
}

/* The products of a matrix, or what refuses them, in all forms. */
static void check_products(wcodec_resident *const residents[FORMS], const wcodec_tensor_info *info,
                           int transposed)
{
    const size_t n = (size_t)info->shape[0], k = (size_t)info->shape[1],
                 in = (transposed ? n : k) * VECTORS, out = (transposed ? k : n) * VECTORS;
    float *x = malloc((in + 1) * sizeof *x), *y[FORMS];
    wcodec_status statuses[FORMS];
    wcodec_linear l;
    for (size_t i = 0; i < in; i++)
        x[i] = (float)(int)(i * 7 % 32) - 15.5F;
    wcodec_linear_init(&l);
    l.transposed = transposed;
    l.rows = VECTORS;
    l.x = x;
    l.x_dtype = l.y_dtype = WCODEC_DTYPE_F32;
    for (unsigned i = 0; i < FORMS; i++) {
        y[i] = (float *)(void *)fuzz_guarded(out * sizeof *x);
        l.y = y[i];
        statuses[i] = wcodec_resident_linear(residents[i], 0, &l, NULL);
        FUZZ_REQUIRE(statuses[i] == statuses[0]);
        FUZZ_REQUIRE(statuses[i] == WCODEC_OK || statuses[i] == WCODEC_ERROR_UNSUPPORTED);
        FUZZ_REQUIRE(memcmp(y[i], y[0], out * sizeof *x) == 0);
    }
    for (unsigned i = 0; i < FORMS; i++)
        fuzz_guarded_free((uint8_t *)y[i], out * sizeof *x);
    free(x);
}

static void run_tensor(const wcodec_reader *reader, uint64_t i)
{
    wcodec_tensor_info info;
    wcodec_resident *residents[FORMS];
    FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
    if (info.size > TENSOR_LIMIT)
        return;
    uint8_t *whole = fuzz_guarded((size_t)info.size);
    const wcodec_status status =
        wcodec_reader_decode(reader, i, whole, (size_t)info.size, NULL, NULL);
    for (unsigned f = 0; f < FORMS; f++) {
        residents[f] = make(reader, i, forms[f], status);
        if (residents[f] != NULL)
            check_elements(residents[f], &info, whole);
    }
    fuzz_deep += status == WCODEC_OK;
    if (status == WCODEC_OK && info.rank == 2 && info.shape[0] <= TENSOR_LIMIT &&
        info.shape[1] <= TENSOR_LIMIT) {
        check_products(residents, &info, 0);
        check_products(residents, &info, 1);
    }
    for (unsigned f = 0; f < FORMS; f++)
        wcodec_resident_destroy(residents[f]);
    fuzz_guarded_free(whole, (size_t)info.size);
}

static void run(const uint8_t *data, size_t size)
{
    wcodec_reader *reader;
    if (wcodec_reader_open_memory(fuzz_context(), data, size, &reader, NULL) != WCODEC_OK)
        return;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader) && i < 64; i++)
        run_tensor(reader, i);
    wcodec_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(run, data, size);
    return 0;
}
