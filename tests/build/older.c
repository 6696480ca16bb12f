/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A program that older.sh builds with headers of several ages: AGE_older, AGE_today or
 * AGE_newer is defined. After each structure lies what the library must neither read nor write. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

enum { ELEMENTS = 20000, GUARD = 256 };

/* clang-format off */
#define GUARDED(type) struct { type it; unsigned char guard[GUARD]; }
/* clang-format on */
#define BEGIN(x) memset(&(x), 0xa5, sizeof(x))
#define END(x) check(is_guard((x).guard), "written after " #x, __LINE__)
#define CHECK(condition) check(condition, #condition, __LINE__)

static int failures;

static void check(bool condition, const char *text, int line)
{
    if (!condition)
        printf("line %d: %s\n", line, text);
    failures += !condition;
}

static bool is_guard(const unsigned char guard[GUARD])
{
    for (unsigned i = 0; i < GUARD; i++)
        if (guard[i] != 0xa5)
            return false;
    return true;
}

struct file {
    unsigned char bytes[ELEMENTS * 4 + 65536];
    size_t size;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct file *f = opaque;
    if (size > sizeof f->bytes - f->size)
        return 1;
    memcpy(f->bytes + f->size, data, size);
    f->size += size;
    return 0;
}

static wcodec_context *context;
static wcodec_reader *reader;
static float weights[ELEMENTS];
static struct file file;

static void create(void)
{
    GUARDED(wcodec_options) options;
    wcodec_error err;
    BEGIN(options);
    wcodec_options_init(&options.it);
    CHECK(options.it.struct_size == sizeof options.it);
    options.it.threads = 2;
    options.it.backend = "cpu";
#ifdef AGE_newer
    wcodec_context *none = NULL;
    options.it.newer = 1;
    CHECK(wcodec_context_create(&options.it, &none, &err) == WCODEC_ERROR_USAGE);
    CHECK(none == NULL && strstr(err.text, "does not know") != NULL && err.newer == 0);
    options.it.newer = 0;
    options.it.executor.newer = &err;
    CHECK(wcodec_context_create(&options.it, &none, &err) == WCODEC_ERROR_USAGE);
    options.it.executor.newer = NULL;
    options.it.limits.newer = 1;
    CHECK(wcodec_context_create(&options.it, &none, &err) == WCODEC_ERROR_USAGE);
    options.it.limits.newer = 0;
#endif
    CHECK(wcodec_context_create(&options.it, &context, &err) == WCODEC_OK);
    END(options);
    CHECK(wcodec_context_threads(context) == 2);
}

static void list_devices(void)
{
    const wcodec_device_info *devices;
    size_t count, available = 0;
    CHECK(wcodec_context_devices(context, &devices, &count, NULL) == WCODEC_OK);
    for (size_t i = 0; i < count; i++) {
        available += devices[i].available != 0;
        CHECK(strlen(devices[i].backend) >= 3);
        CHECK(devices[i].reserved[0] == 0);
    }
    CHECK(available >= 1);
}

static void compress(void)
{
    GUARDED(wcodec_encode_options) options;
    GUARDED(wcodec_encode_report) report;
    const uint64_t shape[] = {ELEMENTS / 100, 100};
    wcodec_writer *writer = NULL;
    wcodec_error err;
    uint32_t state = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 1664525 + 1013904223;
        weights[i] = ((float)(state >> 8) - 8388608.0F) / 8388608.0F;
    }
    BEGIN(options);
    BEGIN(report);
    wcodec_encode_options_init(&options.it);
    options.it.level = 1;
#ifdef AGE_newer
    options.it.newer = 1;
    CHECK(wcodec_writer_create(context, append, &file, &options.it, &writer, &err) ==
          WCODEC_ERROR_USAGE);
    options.it.newer = 0;
#endif
    CHECK(wcodec_writer_create(context, append, &file, &options.it, &writer, &err) == WCODEC_OK);
    CHECK(wcodec_writer_declare(writer, "w", WCODEC_DTYPE_F32, shape, 2, &err) == WCODEC_OK);
    CHECK(wcodec_writer_data(writer, weights, sizeof weights, &err) == WCODEC_OK);
    CHECK(wcodec_writer_finish(writer, &report.it, &err) == WCODEC_OK);
    wcodec_writer_destroy(writer);
    END(options);
    END(report);
    CHECK(report.it.tensors == 1 && report.it.lossy == 0 && report.it.coded_size == file.size);
    CHECK(report.it.reserved[0] == 0);
}

static void describe(void)
{
    GUARDED(wcodec_file_info) info;
    GUARDED(wcodec_tensor_info) tensor;
    BEGIN(info);
    BEGIN(tensor);
    CHECK(wcodec_reader_open_memory(context, file.bytes, file.size, &reader, NULL) == WCODEC_OK);
    CHECK(wcodec_reader_file(reader, 0, &info.it, NULL) == WCODEC_OK);
    CHECK(wcodec_reader_tensor(reader, 0, &tensor.it, NULL) == WCODEC_OK);
    END(info);
    END(tensor);
    CHECK(info.it.tensors == 1 && info.it.lossy == 0 && info.it.reserved[0] == 0);
    CHECK(tensor.it.size == sizeof weights && tensor.it.lossy == 0 && tensor.it.mode_count == 0);
    CHECK(strcmp(tensor.it.name, "w") == 0 && tensor.it.reserved[0] == 0);
#ifdef AGE_newer
    CHECK(info.it.newer == 0 && tensor.it.newer == 0);
#endif
}

static void decode(void)
{
    GUARDED(wcodec_decode_options) options;
    static float decoded[ELEMENTS];
    wcodec_error err;
    BEGIN(options);
    wcodec_decode_options_init(&options.it);
    CHECK(wcodec_reader_decode(reader, 0, decoded, sizeof decoded, &options.it, &err) == WCODEC_OK);
    CHECK(memcmp(decoded, weights, sizeof weights) == 0);
    /* What lies after older options does not switch checks off. */
    file.bytes[file.size / 2] ^= 1;
    CHECK(wcodec_reader_decode(reader, 0, decoded, sizeof decoded, &options.it, &err) ==
          WCODEC_ERROR_CORRUPT);
    file.bytes[file.size / 2] ^= 1;
#ifdef AGE_newer
    options.it.newer = 1;
    CHECK(wcodec_reader_decode(reader, 0, decoded, sizeof decoded, &options.it, &err) ==
          WCODEC_ERROR_USAGE);
    CHECK(wcodec_reader_test(reader, 0, 0, &options.it, &err) == WCODEC_ERROR_USAGE);
    options.it.newer = 0;
    options.it.progress.newer = &err;
    CHECK(wcodec_reader_test(reader, 0, 0, &options.it, &err) == WCODEC_ERROR_USAGE);
#endif
    options.it.struct_size = 0;
    CHECK(wcodec_reader_decode(reader, 0, decoded, sizeof decoded, &options.it, &err) ==
          WCODEC_ERROR_USAGE);
    END(options);
}

static void load(void)
{
    GUARDED(wcodec_load_options) options;
    GUARDED(wcodec_load_item) item;
    GUARDED(wcodec_load_report) report;
    GUARDED(wcodec_device_handles) device;
    static float decoded[ELEMENTS];
    wcodec_loading *loading = NULL;
    wcodec_error err;
    uint64_t size;
    BEGIN(options);
    BEGIN(item);
    BEGIN(report);
    BEGIN(device);
    CHECK(wcodec_context_device(context, &device.it, &err) == WCODEC_OK);
    CHECK(strcmp(device.it.backend, "cpu") == 0 && device.it.reserved[0] == 0);
    CHECK(wcodec_load_layout(reader, 0, &item.it, &size, &err) == WCODEC_OK);
    CHECK(size == sizeof weights && item.it.size == size && item.it.reserved[0] == 0);
    item.it.destination = (uint64_t)(uintptr_t)decoded;
    wcodec_load_options_init(&options.it);
    CHECK(wcodec_load(reader, &item.it, 1, &options.it, &report.it, &err) == WCODEC_OK);
    CHECK(memcmp(decoded, weights, sizeof weights) == 0);
    CHECK(report.it.bytes == sizeof weights && report.it.reserved[0] == 0);
    /* No callback is called that older options do not have. */
    CHECK(wcodec_load_start(reader, &item.it, 1, &options.it, &loading, &err) == WCODEC_OK);
    CHECK(wcodec_loading_wait(loading, NULL, &err) == WCODEC_OK);
    wcodec_loading_destroy(loading);
#ifdef AGE_newer
    options.it.newer = 1;
    CHECK(wcodec_load(reader, &item.it, 1, &options.it, NULL, &err) == WCODEC_ERROR_USAGE);
    options.it.newer = 0;
    item.it.newer = 1;
    CHECK(wcodec_load(reader, &item.it, 1, &options.it, NULL, &err) == WCODEC_ERROR_USAGE);
    CHECK(strstr(err.text, "reserved") != NULL);
#endif
    END(options);
    END(item);
    END(report);
    END(device);
}

static void save(void)
{
    GUARDED(wcodec_save_options) options;
    GUARDED(wcodec_save_item) item;
    GUARDED(wcodec_encode_report) report;
    static struct file saved;
    const uint64_t shape[] = {ELEMENTS};
    wcodec_saving *saving = NULL;
    wcodec_error err;
    BEGIN(options);
    BEGIN(item);
    BEGIN(report);
    item.it = (wcodec_save_item){.name = "weights",
                                 .dtype = WCODEC_DTYPE_F32,
                                 .rank = 1,
                                 .shape = shape,
                                 .source = (uint64_t)(uintptr_t)weights,
                                 .size = sizeof weights};
    wcodec_save_options_init(&options.it);
    CHECK(options.it.fd == -1 && options.it.path == NULL && options.it.done == NULL);
    options.it.write = append;
    options.it.opaque = &saved;
    CHECK(wcodec_save(context, &item.it, 1, &options.it, &report.it, &err) == WCODEC_OK);
    CHECK(report.it.tensors == 1 && report.it.coded_size == saved.size);
    CHECK(report.it.reserved[0] == 0);
    saved.size = 0;
    CHECK(wcodec_save_start(context, &item.it, 1, &options.it, &saving, &err) == WCODEC_OK);
    CHECK(wcodec_saving_wait(saving, NULL, &err) == WCODEC_OK);
    CHECK(report.it.coded_size == saved.size);
    wcodec_saving_destroy(saving);
#ifdef AGE_newer
    options.it.newer = 1;
    CHECK(wcodec_save(context, &item.it, 1, &options.it, NULL, &err) == WCODEC_ERROR_USAGE);
    options.it.newer = 0;
    item.it.newer = 1;
    CHECK(wcodec_save(context, &item.it, 1, &options.it, NULL, &err) == WCODEC_ERROR_USAGE);
    CHECK(strstr(err.text, "reserved") != NULL);
#endif
    END(options);
    END(item);
    END(report);
}

static void synchronise(void)
{
    GUARDED(wcodec_delta_encode_options) encode;
    GUARDED(wcodec_delta_apply_options) options;
    GUARDED(wcodec_delta_report) report;
    const uint64_t shape[] = {ELEMENTS};
    void *message = NULL;
    size_t size;
    wcodec_error err;
    BEGIN(encode);
    BEGIN(options);
    BEGIN(report);
    wcodec_save_item item = {.name = "weights",
                             .dtype = WCODEC_DTYPE_F32,
                             .rank = 1,
                             .shape = shape,
                             .source = (uint64_t)(uintptr_t)weights,
                             .size = sizeof weights};
    wcodec_delta_encode_options_init(&encode.it);
    wcodec_delta_apply_options_init(&options.it);
    CHECK(encode.it.write == NULL && options.it.verify == WCODEC_DELTA_VERIFY_BEFORE);
    CHECK(wcodec_delta_encode(context, &item, 1, &item, 1, &encode.it, &message, &size, NULL,
                              &err) == WCODEC_OK);
    CHECK(wcodec_delta_apply(context, message, size, &item, 1, &options.it, &report.it, &err) ==
          WCODEC_OK);
    CHECK(report.it.tensors == 1 && report.it.equal == 1 && report.it.size == sizeof weights);
    CHECK(report.it.reserved[0] == 0);
#ifdef AGE_newer
    encode.it.newer = 1;
    CHECK(wcodec_delta_encode(context, &item, 1, &item, 1, &encode.it, &message, &size, NULL,
                              &err) == WCODEC_ERROR_USAGE);
    options.it.newer = 1;
    CHECK(wcodec_delta_apply(context, message, size, &item, 1, &options.it, NULL, &err) ==
          WCODEC_ERROR_USAGE);
#endif
    wcodec_delta_free(context, message);
    END(encode);
    END(options);
    END(report);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("%zu %zu %zu %zu %zu %s\n", sizeof(void *), sizeof(wcodec_options),
               sizeof(wcodec_decode_options), sizeof(wcodec_encode_options),
               sizeof(wcodec_load_options), argv[1]);
        return 0;
    }
    create();
    list_devices();
    compress();
    describe();
    decode();
    load();
    save();
    synchronise();
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return failures != 0;
}
