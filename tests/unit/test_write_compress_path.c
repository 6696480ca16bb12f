/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_files.h"
#include "support_model.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_compresses(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct stat st;
    wcodec_encode_report report;
    wcodec_reader *reader;
    wcodec_file_info info;
    struct support_sink restored;
    mode_t before = umask(022);
    support_model_init(&m);
    support_model_add(&m, "a", "F32", 32, 9999, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&m, "", 0);
    support_put_file("m.safetensors", m.file, m.file_size);
    assert_int_equal(chmod("m.safetensors", 0664), 0);
    static const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {1234567890, 0}};
    assert_int_equal(utimensat(AT_FDCWD, "m.safetensors", times, 0), 0);
    support_put_file("out.wcodec", "old", 3);
    wcodec_context *context = support_context(1, NULL);
    assert_int_equal(
        wcodec_compress_path(context, "./m.safetensors", "out.wcodec", NULL, &report, NULL),
        WCODEC_OK);
    assert_int_equal(stat("out.wcodec", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_mtim.tv_sec, 1234567890);
    assert_int_equal(st.st_size, report.coded_size);
    assert_int_equal(support_count_names(), 2);
    assert_int_equal(wcodec_reader_open_path(context, "out.wcodec", &reader, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_file(reader, 0, &info, NULL), WCODEC_OK);
    assert_string_equal(info.name, "");
    assert_int_equal(info.mode, 0);
    assert_true(info.mtime == -1);
    support_sink_init(&restored);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_sink_write, &restored, NULL, NULL),
                     WCODEC_OK);
    assert_int_equal(restored.size, m.file_size);
    assert_memory_equal(restored.data, m.file, m.file_size);
    support_sink_free(&restored);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    support_model_free(&m);
    unlink("m.safetensors");
    unlink("out.wcodec");
    umask(before);
}

/* What a group may do is for that group. */
static void test_group(void **state)
{
    (void)state;
    const gid_t other = 65534;
    struct stat st;
    wcodec_error err = {0};
    wcodec_context *context = support_context(1, NULL);
    support_put_file("a", "hello", 5);
    if (chown("a", (uid_t)-1, other) != 0) {
        print_message("this user cannot change groups\n");
    } else {
        assert_int_equal(chmod("a", 0640), 0);
        assert_int_equal(wcodec_compress_path(context, "a", "a.wcodec", NULL, NULL, &err),
                         WCODEC_OK);
        assert_int_equal(stat("a.wcodec", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(st.st_gid, other);
        unlink("a.wcodec");
    }
    unlink("a");
    wcodec_context_destroy(context);
}

/* Several threads write large tensors: the file is the one that is written in order. */
static void test_threads(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    struct support_model m;
    struct support_sink in_order;
    wcodec_error err = {0};
    support_model_init(&m);
    support_model_add(&m, "a", "BF16", 16, 3000000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&m, "b", "F32", 32, 1000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&m, "c", "F32", 32, 700001, SUPPORT_WEIGHTS, &seed);
    support_model_finish(&m, "", 0);
    support_put_file("m.safetensors", m.file, m.file_size);
    wcodec_context *context = support_context(4, NULL);
    support_sink_init(&in_order);
    assert_int_equal(wcodec_compress_memory(context, m.file, m.file_size, support_sink_write,
                                            &in_order, NULL, NULL, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_compress_path(context, "m.safetensors", "out.wcodec", NULL, NULL, &err),
                     WCODEC_OK);
    uint8_t *got = malloc(in_order.size + 1);
    FILE *f = fopen("out.wcodec", "rb");
    assert_non_null(f);
    assert_int_equal(fread(got, 1, in_order.size + 1, f), in_order.size);
    fclose(f);
    assert_memory_equal(got, in_order.data, in_order.size);
    free(got);
    support_sink_free(&in_order);
    wcodec_context_destroy(context);
    support_model_free(&m);
    unlink("m.safetensors");
    unlink("out.wcodec");
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque, (void)done, (void)total;
    return 1;
}

static void test_refuses(void **state)
{
    (void)state;
    wcodec_error err = {0};
    wcodec_encode_options options;
    wcodec_context *context = support_context(1, NULL);
    support_put_file("a", "hello", 5);
    support_put_file("old", "old", 3);
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(symlink("a", "soft"), 0);
    assert_int_equal(wcodec_compress_path(context, "a", "a", NULL, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_compress_path(context, "a", "./a", NULL, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_compress_path(context, "a", "hard", NULL, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_compress_path(context, "a", "soft", NULL, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_compress_path(context, "soft", "a", NULL, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_compress_path(context, "none", "b", NULL, NULL, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "none"));
    assert_int_equal(wcodec_compress_path(context, ".", "b", NULL, NULL, NULL), WCODEC_ERROR_IO);
    assert_int_equal(wcodec_compress_path(context, "a", "none/b", NULL, NULL, NULL),
                     WCODEC_ERROR_IO);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(wcodec_compress_path(context, "fifo", "b", NULL, NULL, NULL),
                     WCODEC_ERROR_IO); /* without waiting for a writer */
    unlink("fifo");
    /* What was there before stays whole when compressing does not end well. */
    wcodec_encode_options_init(&options);
    options.progress.fn = stop;
    assert_int_equal(wcodec_compress_path(context, "a", "old", &options, NULL, &err),
                     WCODEC_ERROR_CANCELLED);
    wcodec_encode_options_init(&options);
    options.strict = 1;
    assert_int_equal(wcodec_compress_path(context, "a", "old", &options, NULL, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(strncmp(err.text, "a: ", 3), 0);
    char text[4] = {0};
    FILE *f = fopen("old", "rb");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, 4, f), 3);
    fclose(f);
    assert_string_equal(text, "old");
    assert_int_equal(support_count_names(), 4);
    unlink("a");
    unlink("old");
    unlink("hard");
    unlink("soft");
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compresses),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
