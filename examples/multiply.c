/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Keeps the matrices of a .wcodec file or model folder in memory as they are coded, and multiplies
 * each by a vector of ones: prints the sum of the result, and what memory they take.
 *
 *   cc -o multiply multiply.c $(pkg-config --cflags --libs wcodec)
 *   multiply model.safetensors.wcodec */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <wcodec.h>

static const char *form_name(wcodec_resident_form form)
{
    return form == WCODEC_RESIDENT_FIXED   ? "fixed"
           : form == WCODEC_RESIDENT_CODED ? "coded"
                                           : "plain";
}

/* y = x W^T for one vector x. */
static wcodec_status multiply(const wcodec_resident *resident, uint64_t i,
                              const wcodec_resident_tensor *info, wcodec_error *err)
{
    const size_t n = (size_t)info->shape[0], k = (size_t)info->shape[1];
    float *x = malloc((k + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    wcodec_status status = WCODEC_ERROR_MEMORY;
    wcodec_linear l;
    double sum = 0;
    if (x != NULL && y != NULL) {
        for (size_t c = 0; c < k; c++)
            x[c] = 1;
        wcodec_linear_init(&l);
        l.rows = 1;
        l.x = x;
        l.x_dtype = WCODEC_DTYPE_F32;
        l.y = y;
        l.y_dtype = WCODEC_DTYPE_F32;
        status = wcodec_resident_linear(resident, i, &l, err);
    }
    if (status == WCODEC_OK) {
        for (size_t row = 0; row < n; row++)
            sum += (double)y[row];
        printf("%s [%zu, %zu] %s, %" PRIu64 " of %" PRIu64 " bytes: %g\n", info->name, n, k,
               form_name(info->form), info->held, info->size, sum);
    }
    free(x);
    free(y);
    return status;
}

static wcodec_status multiply_all(const wcodec_resident *resident, wcodec_error *err)
{
    const uint64_t count = wcodec_resident_count(resident);
    wcodec_resident_tensor info;
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++) {
        status = wcodec_resident_info(resident, i, &info, err);
        if (status != WCODEC_OK || info.rank != 2)
            continue;
        status = multiply(resident, i, &info, err);
        if (status == WCODEC_ERROR_UNSUPPORTED) { /* not of a dtype that there are products with */
            printf("%s: %s\n", info.name, err->text);
            status = WCODEC_OK;
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    wcodec_context *context = NULL;
    wcodec_reader *reader = NULL;
    wcodec_resident *resident = NULL;
    wcodec_error err = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: multiply FILE.wcodec\n");
        return 2;
    }
    wcodec_status status = wcodec_context_create(NULL, &context, &err);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_path(context, argv[1], &reader, &err);
    if (status == WCODEC_OK)
        status = wcodec_resident_create(reader, NULL, 0, NULL, &resident, &err);
    wcodec_reader_close(reader); /* all that is needed is in memory */
    if (status == WCODEC_OK) {
        printf("%" PRIu64 " bytes resident\n", wcodec_resident_size(resident));
        status = multiply_all(resident, &err);
    }
    if (status != WCODEC_OK)
        fprintf(stderr, "multiply: %s\n",
                err.status == status ? err.text : wcodec_status_string(status));

    wcodec_resident_destroy(resident);
    wcodec_context_destroy(context);
    return status == WCODEC_OK ? 0 : 1;
}
