/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of files as they are; external data by the model that is named. */

#include "support_files.h"
#include "support_model.h"

#include <fcntl.h>
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
    assert_int_equal(open_file(context, "data", NULL, NULL, &original, &err), WCODEC_ERROR_CORRUPT);
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
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_external),
        cmocka_unit_test(test_compress),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
