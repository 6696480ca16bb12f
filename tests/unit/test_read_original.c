/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of files as they are; external data by the model that is named. */

#include "support_files.h"
#include "support_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char safetensors[] =
    "\x61\0\0\0\0\0\0\0{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"I8\",\"shape\":[2,1],"
    "\"data_offsets\":[0,2]}}                 xy";

/* A version, and a graph whose initialiser "w" of 2 FLOATs is in "data", from byte 4 on. */
static const char model[] = "\x08\x08\x3a\x2a\x2a\x28\x08\x02\x10\x01\x42\x01w"
                            "\x6a\x10\x0a\x08location\x12\x04"
                            "data"
                            "\x6a\x0b\x0a\x06offset\x12\x01"
                            "4"
                            "\x70\x01";

static wcodec_status open_file(wcodec_context *context, const char *path, const char *onnx_model,
                               const char *location, wcodec_original **original, wcodec_error *err)
{
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    const wcodec_status status =
        wcodec_original_open_fd(context, fd, onnx_model, location, original, err);
    close(fd);
    return status;
}

static void test_safetensors(void **state)
{
    (void)state;
    wcodec_original *original;
    wcodec_original_info info;
    wcodec_tensor_info tensor;
    const char *key, *value;
    wcodec_context *context = support_context(1, NULL);
    support_put_file("a", safetensors, sizeof safetensors - 1);
    assert_int_equal(open_file(context, "a", NULL, NULL, &original, NULL), WCODEC_OK);
    wcodec_original_describe(original, &info);
    assert_string_equal(info.kind, "safetensors");
    assert_int_equal(info.tensors, 1);
    assert_int_equal(info.metadata, 1);
    assert_string_equal(info.note, "");
    assert_int_equal(wcodec_original_tensor(original, 0, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "b");
    assert_int_equal(tensor.dtype, WCODEC_DTYPE_I8);
    assert_string_equal(tensor.dtype_name, "I8");
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.file_offset, sizeof safetensors - 3);
    assert_int_equal(tensor.size, 2);
    assert_int_equal(wcodec_original_metadata(original, 0, &key, &value, NULL), WCODEC_OK);
    assert_string_equal(key, "k");
    assert_string_equal(value, "v");
    assert_int_equal(wcodec_original_tensor(original, 1, &tensor, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_original_metadata(original, 1, &key, &value, NULL), WCODEC_ERROR_USAGE);
    wcodec_original_close(original);
    wcodec_original_close(NULL);
    wcodec_context_destroy(context);
    unlink("a");
}

static void test_external(void **state)
{
    (void)state;
    wcodec_original *original;
    wcodec_original_info info;
    wcodec_tensor_info tensor;
    wcodec_error err = {0};
    wcodec_context *context = support_context(1, NULL);
    support_put_file("m", model, sizeof model - 1);
    support_put_file("data", "            ", 12);
    assert_int_equal(open_file(context, "m", NULL, NULL, &original, NULL), WCODEC_OK);
    wcodec_original_describe(original, &info);
    assert_string_equal(info.kind, "onnx");
    assert_string_equal(info.note, "its tensors are in other files");
    wcodec_original_close(original);
    assert_int_equal(open_file(context, "data", "m", "data", &original, NULL), WCODEC_OK);
    wcodec_original_describe(original, &info);
    assert_string_equal(info.kind, "onnxdata");
    assert_int_equal(wcodec_original_tensor(original, 0, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "w");
    assert_int_equal(tensor.file_offset, 4);
    wcodec_original_close(original);
    assert_int_equal(open_file(context, "data", NULL, NULL, &original, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_int_equal(err.status, WCODEC_ERROR_NOT_FOUND);
    support_put_file("data", "GGUF        ", 12);
    assert_int_equal(open_file(context, "data", NULL, NULL, &original, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "is a GGUF file, but: "));
    support_put_file("data", "            ", 12);
    assert_int_equal(open_file(context, "data", "m", NULL, &original, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(open_file(context, "data", "m", "other", &original, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "by m: none of its tensors"));
    assert_int_equal(open_file(context, "data", "data", "data", &original, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "by data: is no ONNX model"));
    assert_int_equal(open_file(context, "data", "none", "data", &original, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "by none: cannot open"));
    assert_int_equal(wcodec_original_open_fd(context, -1, NULL, NULL, &original, NULL),
                     WCODEC_ERROR_IO);
    assert_int_equal(wcodec_original_open_fd(NULL, 0, NULL, NULL, &original, NULL),
                     WCODEC_ERROR_USAGE);
    wcodec_context_destroy(context);
    unlink("m");
    unlink("data");
}

/* Bytes of memory that are asked for: what is found, not how long that takes. */
static size_t asked;

static void *count_allocate(void *opaque, size_t size)
{
    (void)opaque;
    asked += size;
    return malloc(size);
}

static void *count_reallocate(void *opaque, void *old, size_t size)
{
    (void)opaque;
    asked += size;
    return realloc(old, size);
}

static void count_release(void *opaque, void *memory)
{
    (void)opaque;
    free(memory);
}

static const wcodec_allocator counting = {
    .allocate = count_allocate, .reallocate = count_reallocate, .release = count_release};

/* The model above with so many tensors, each in a file of its own. */
static void put_model_of(unsigned files)
{
    enum { TENSOR = 45 };
    const size_t size = (size_t)files * TENSOR;
    uint8_t *bytes = malloc(size + 8);
    assert_non_null(bytes);
    size_t n = 0;
    bytes[n++] = 0x08;
    bytes[n++] = 0x08;
    bytes[n++] = 0x3a;
    for (size_t left = size; left != 0; left >>= 7)
        bytes[n++] = (uint8_t)((left & 0x7f) | (left >> 7 != 0 ? 0x80 : 0));
    for (unsigned i = 0; i < files; i++, n += TENSOR) {
        char name[16];
        snprintf(name, sizeof name, "%04u", i);
        memcpy(bytes + n,
               "\x2a\x2b\x08\x02\x10\x01\x42\x04nnnn\x6a\x10\x0a\x08location\x12\x04"
               "ffff"
               "\x6a\x0b\x0a\x06offset\x12\x01"
               "4"
               "\x70\x01",
               TENSOR);
        memcpy(bytes + n + 8, name, 4);
        memcpy(bytes + n + 26, name, 4);
    }
    support_put_file("m", bytes, n);
    free(bytes);
}

/* What it takes to find the tensors of one more file of a model that was read. */
static size_t work_of_file(unsigned files)
{
    wcodec_original *original;
    wcodec_original_info info;
    wcodec_tensor_info tensor;
    wcodec_context *context = support_context(1, &counting);
    put_model_of(files);
    assert_int_equal(open_file(context, "data", "m", "0003", &original, NULL), WCODEC_OK);
    wcodec_original_close(original);
    asked = 0;
    assert_int_equal(open_file(context, "data", "m", "0007", &original, NULL), WCODEC_OK);
    const size_t work = asked;
    wcodec_original_describe(original, &info);
    assert_int_equal(info.tensors, 1);
    assert_int_equal(wcodec_original_tensor(original, 0, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "0007");
    wcodec_original_close(original);
    wcodec_context_destroy(context);
    return work;
}

/* A model of thousands of files is walked once, not once for each of them. */
static void test_many_files(void **state)
{
    (void)state;
    support_put_file("data", "            ", 12);
    const size_t few = work_of_file(10), many = work_of_file(5000);
    assert_int_equal(few, many);
    unlink("m");
    unlink("data");
}

/* A model that was changed is read again, and one that is gone is not remembered. */
static void test_changed_model(void **state)
{
    (void)state;
    wcodec_original *original;
    wcodec_tensor_info tensor;
    wcodec_error err = {0};
    wcodec_context *context = support_context(1, NULL);
    support_put_file("data", "            ", 12);
    support_put_file("m", model, sizeof model - 1);
    assert_int_equal(open_file(context, "data", "m", "data", &original, NULL), WCODEC_OK);
    wcodec_original_close(original);
    put_model_of(2);
    assert_int_equal(open_file(context, "data", "m", "data", &original, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(open_file(context, "data", "m", "0001", &original, NULL), WCODEC_OK);
    assert_int_equal(wcodec_original_tensor(original, 0, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "0001");
    wcodec_original_close(original);
    support_put_file("m", model, sizeof model - 2);
    assert_int_equal(open_file(context, "data", "m", "0001", &original, &err),
                     WCODEC_ERROR_CORRUPT);
    unlink("m");
    assert_int_equal(open_file(context, "data", "m", "0001", &original, &err), WCODEC_ERROR_IO);
    wcodec_context_destroy(context);
    unlink("data");
}

/* The option of compressing, and what a container of it knows without the model. */
static void test_compress(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    wcodec_encode_options options;
    wcodec_encode_report report;
    wcodec_reader *reader;
    wcodec_tensor_info tensor;
    struct support_sink sink;
    support_put_file("m", model, sizeof model - 1);
    support_put_file("data", "abcdefghijkl", 12);
    wcodec_encode_options_init(&options);
    assert_int_equal(wcodec_compress_path(context, "data", "out", &options, &report, NULL),
                     WCODEC_OK);
    assert_string_equal(report.kind, "opaque");
    options.onnx_model = "m";
    assert_int_equal(wcodec_compress_path(context, "./data", "out", &options, &report, NULL),
                     WCODEC_OK);
    assert_string_equal(report.kind, "onnxdata");
    assert_int_equal(report.tensors, 1);
    unlink("m");
    assert_int_equal(wcodec_reader_open_path(context, "out", &reader, NULL), WCODEC_OK);
    support_sink_init(&sink);
    assert_int_equal(wcodec_recompress(reader, 0, support_sink_write, &sink, NULL, &report, NULL),
                     WCODEC_OK);
    wcodec_reader_close(reader);
    assert_string_equal(report.kind, "onnxdata");
    assert_int_equal(wcodec_reader_open_memory(context, sink.data, sink.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, 0, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "w");
    assert_int_equal(tensor.file_offset, 4);
    wcodec_reader_close(reader);
    support_expect_restores(context, &sink, "abcdefghijkl", 12);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
    unlink("data");
    unlink("out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors), cmocka_unit_test(test_external),
        cmocka_unit_test(test_many_files),  cmocka_unit_test(test_changed_model),
        cmocka_unit_test(test_compress),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
