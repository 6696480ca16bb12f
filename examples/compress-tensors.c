/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Makes a .wcodec file from tensors in memory, then reads it back and compares.
 *
 *   cc -o compress-tensors compress-tensors.c $(pkg-config --cflags --libs wcodec)
 *   compress-tensors OUT.wcodec */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

enum { ROWS = 256, COLUMNS = 64 };

static const uint64_t weight_shape[] = {ROWS, COLUMNS};
static const uint64_t bias_shape[] = {ROWS};

/* Tensors are little-endian in the file; this example takes such a machine for granted. */
static float weight[ROWS * COLUMNS];
static uint16_t bias[ROWS];

static void fill(void)
{
    for (size_t i = 0; i < sizeof weight / sizeof weight[0]; i++)
        weight[i] = (float)(i % 1024) / 256.0F;
    for (size_t i = 0; i < sizeof bias / sizeof bias[0]; i++)
        bias[i] = (uint16_t)(0x3f80 + i % 7);
}

static int write_to_file(void *opaque, const void *data, size_t size)
{
    return fwrite(data, 1, size, opaque) == size ? 0 : errno;
}

static wcodec_status compress(wcodec_context *context, FILE *file, wcodec_encode_report *report,
                              wcodec_error *err)
{
    wcodec_encode_options options;
    wcodec_writer *writer = NULL;

    wcodec_encode_options_init(&options);
    wcodec_status status =
        wcodec_writer_create(context, write_to_file, file, &options, &writer, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_metadata(writer, "made-by", "compress-tensors", err);
    if (status == WCODEC_OK)
        status =
            wcodec_writer_declare(writer, "layer.0.weight", WCODEC_DTYPE_F32, weight_shape, 2, err);
    if (status == WCODEC_OK)
        status =
            wcodec_writer_declare(writer, "layer.0.bias", WCODEC_DTYPE_BF16, bias_shape, 1, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_data(writer, weight, sizeof weight, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_data(writer, bias, sizeof bias, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, report, err);
    wcodec_writer_destroy(writer);
    return status;
}

static wcodec_status compare(const wcodec_reader *reader, const char *name, const void *expected,
                             size_t size, wcodec_error *err)
{
    uint64_t i;
    wcodec_status status = wcodec_reader_find(reader, name, &i, err);
    if (status != WCODEC_OK)
        return status;
    void *data = malloc(size);
    if (data == NULL)
        return WCODEC_ERROR_MEMORY;
    status = wcodec_reader_decode(reader, i, data, size, NULL, err);
    if (status == WCODEC_OK && memcmp(data, expected, size) != 0)
        status = WCODEC_ERROR_MISMATCH;
    free(data);
    return status;
}

int main(int argc, char **argv)
{
    wcodec_context *context = NULL;
    wcodec_reader *reader = NULL;
    wcodec_encode_report report;
    wcodec_error err = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: compress-tensors OUT.wcodec\n");
        return 2;
    }
    fill();
    FILE *file = fopen(argv[1], "wb");
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    memset(&report, 0, sizeof report);
    wcodec_status status = wcodec_context_create(NULL, &context, &err);
    if (status == WCODEC_OK)
        status = compress(context, file, &report, &err);
    if (fclose(file) != 0 && status == WCODEC_OK)
        status = WCODEC_ERROR_IO;

    if (status == WCODEC_OK)
        status = wcodec_reader_open_path(context, argv[1], &reader, &err);
    if (status == WCODEC_OK)
        status = compare(reader, "layer.0.weight", weight, sizeof weight, &err);
    if (status == WCODEC_OK)
        status = compare(reader, "layer.0.bias", bias, sizeof bias, &err);

    if (status == WCODEC_OK)
        printf("%s: %" PRIu64 " tensors, %" PRIu64 " bytes as %" PRIu64 ", read back and equal\n",
               argv[1], report.tensors, report.size, report.coded_size);
    else
        fprintf(stderr, "compress-tensors: %s\n",
                err.status == status ? err.text : wcodec_status_string(status));

    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return status == WCODEC_OK ? 0 : 1;
}
