/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Load all tensors of a model into the memory of a GPU (or of whatever device WCODEC_BACKEND
 * chooses):
 *
 *     cc load-model.c $(pkg-config --cflags --libs wcodec) -o load-model
 *     WCODEC_BACKEND=cuda ./load-model my-model.wcodec
 *
 * A program that allocates by CUDA or OpenCL itself gives its own pointers or buffers as
 * destinations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wcodec.h>

static int fail(const wcodec_error *err)
{
    fprintf(stderr, "load-model: %s\n", err->text);
    return 1;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A buffer for all, an item for each tensor, and one call. */
static int load(wcodec_context *context, const wcodec_reader *reader, wcodec_load_item *items,
                size_t count)
{
    wcodec_device_handles device;
    wcodec_load_options options;
    wcodec_load_report report;
    wcodec_buffer *buffer;
    wcodec_error err;
    uint64_t size;
    if (wcodec_context_device(context, &device, &err) != WCODEC_OK ||
        wcodec_load_layout(reader, 0, items, &size, &err) != WCODEC_OK)
        return fail(&err);
    if (wcodec_buffer_create(context, size != 0 ? size : 1, &buffer, &err) != WCODEC_OK)
        return fail(&err);
    for (size_t i = 0; i < count; i++)
        items[i].destination = wcodec_buffer_native(buffer);
    wcodec_load_options_init(&options);
    options.memory = device.backend;
    const double begin = seconds();
    int code =
        wcodec_load(reader, items, count, &options, &report, &err) == WCODEC_OK ? 0 : fail(&err);
    const double time = seconds() - begin;
    if (code == 0)
        printf("%s:%u: %zu tensors, %" PRIu64 " bytes from %" PRIu64 " in %.3f s\n", device.backend,
               device.index, count, report.bytes, report.coded_bytes, time);
    if (code == 0 && report.cpu_bytes > 0 && strcmp(device.backend, "cpu") != 0)
        printf("The CPU decoded %" PRIu64 " bytes of them, which the device cannot.\n",
               report.cpu_bytes);
    /* Here the weights are used. */
    wcodec_buffer_destroy(buffer);
    return code;
}

int main(int argc, char **argv)
{
    wcodec_context *context;
    wcodec_reader *reader;
    wcodec_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: load-model FILE.wcodec|FOLDER\n");
        return 2;
    }
    if (wcodec_context_create(NULL, &context, &err) != WCODEC_OK)
        return fail(&err);
    if (wcodec_reader_open_path(context, argv[1], &reader, &err) != WCODEC_OK) {
        wcodec_context_destroy(context);
        return fail(&err);
    }
    const size_t count = (size_t)wcodec_reader_tensor_count(reader);
    wcodec_load_item *items = calloc(count + 1, sizeof *items);
    int code = items != NULL ? load(context, reader, items, count) : 1;
    free(items);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return code;
}
