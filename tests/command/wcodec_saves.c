/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the library writes under a name, for power.sh: wcodec_saves save|compress SOURCE OUT. The
 * first makes a file of one tensor, of the bytes of SOURCE, the second compresses that file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

static wcodec_status save(wcodec_context *context, const char *source, const char *out,
                          wcodec_error *err)
{
    enum { BYTES_MAX = 1 << 20 };
    wcodec_save_options options;
    FILE *file = fopen(source, "rb");
    uint8_t *data = malloc(BYTES_MAX);
    if (file == NULL || data == NULL)
        exit(99);
    const uint64_t size = fread(data, 1, BYTES_MAX, file);
    const wcodec_save_item item = {.name = "bytes",
                                   .dtype = WCODEC_DTYPE_U8,
                                   .rank = 1,
                                   .shape = &size,
                                   .source = (uintptr_t)data,
                                   .size = size};
    wcodec_save_options_init(&options);
    options.path = out;
    const wcodec_status status = wcodec_save(context, &item, 1, &options, NULL, err);
    fclose(file);
    free(data);
    return status;
}

int main(int argc, char **argv)
{
    wcodec_context *context = NULL;
    wcodec_error error;
    if (argc != 4)
        return 99;
    wcodec_status status = wcodec_context_create(NULL, &context, &error);
    if (status == WCODEC_OK && strcmp(argv[1], "save") == 0)
        status = save(context, argv[2], argv[3], &error);
    else if (status == WCODEC_OK)
        status = wcodec_compress_path(context, argv[2], argv[3], NULL, NULL, &error);
    if (status != WCODEC_OK)
        fprintf(stderr, "%s\n", error.text);
    wcodec_context_destroy(context);
    return status == WCODEC_OK ? 0 : 1;
}
