/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Prints the tensors of a .wcodec file or model folder: name, dtype, shape and first values.
 *
 *   cc -o decode-tensor decode-tensor.c $(pkg-config --cflags --libs wcodec)
 *   decode-tensor model.safetensors.wcodec [TENSOR...] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

enum { VALUES = 4 };

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Little-endian, whatever this machine is. */
static uint32_t load(const unsigned char *bytes, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static void print_values(const wcodec_tensor_info *info, const unsigned char *data)
{
    const unsigned width = wcodec_dtype_bits(info->dtype) / 8;
    for (uint64_t i = 0; i < VALUES && width != 0 && (i + 1) * width <= info->size; i++) {
        const unsigned char *at = data + i * width;
        if (info->dtype == WCODEC_DTYPE_F32)
            printf(" %g", (double)from_bits(load(at, 4)));
        else if (info->dtype == WCODEC_DTYPE_BF16)
            printf(" %g", (double)from_bits(load(at, 2) << 16));
        else
            printf(" 0x%0*" PRIx32, (int)(width < 4 ? 2 * width : 8),
                   load(at, width < 4 ? width : 4));
    }
}

static wcodec_status print_tensor(const wcodec_reader *reader, uint64_t i, wcodec_error *err)
{
    wcodec_tensor_info info;
    wcodec_status status = wcodec_reader_tensor(reader, i, &info, err);
    if (status != WCODEC_OK)
        return status;

    /* A name is whatever the file says: a program that prints to a terminal should escape control
     * characters. */
    printf("%s %s [", info.name, info.dtype_name);
    for (unsigned d = 0; d < info.rank; d++)
        printf("%s%" PRIu64, d ? ", " : "", info.shape[d]);
    printf("]:");

    if (info.size > SIZE_MAX - 1)
        return WCODEC_ERROR_LIMIT;
    unsigned char *data = malloc((size_t)info.size + 1);
    if (data == NULL)
        return WCODEC_ERROR_MEMORY;
    status = wcodec_reader_decode(reader, i, data, (size_t)info.size, NULL, err);
    if (status == WCODEC_OK)
        print_values(&info, data);
    putchar('\n');
    free(data);
    return status;
}

int main(int argc, char **argv)
{
    wcodec_context *context = NULL;
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};

    if (argc < 2) {
        fprintf(stderr, "usage: decode-tensor FILE.wcodec [TENSOR...]\n");
        return 2;
    }
    wcodec_status status = wcodec_context_create(NULL, &context, &err);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_path(context, argv[1], &reader, &err);

    if (status == WCODEC_OK && argc == 2) {
        const uint64_t count = wcodec_reader_tensor_count(reader);
        for (uint64_t i = 0; i < count && status == WCODEC_OK; i++)
            status = print_tensor(reader, i, &err);
    }
    for (int a = 2; a < argc && status == WCODEC_OK; a++) {
        uint64_t i;
        status = wcodec_reader_find(reader, argv[a], &i, &err);
        if (status == WCODEC_OK)
            status = print_tensor(reader, i, &err);
    }
    if (status != WCODEC_OK)
        fprintf(stderr, "decode-tensor: %s\n",
                err.status == status ? err.text : wcodec_status_string(status));

    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return status == WCODEC_OK ? 0 : 1;
}
