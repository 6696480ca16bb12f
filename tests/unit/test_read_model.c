/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Model folders and their index.json: one namespace, hostile names, missing and doubled tensors,
 * more shards than are kept open. */

#include "support_container.h"
#include "core/context.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wcodec/reader.h>

#define INDEX "model.safetensors.index.json"

static char folder[64];
static wcodec_context *context;

static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

/* A shard with constant tensors of these names, of one byte each: `value`. */
static void write_kind(const char *file_name, const char *kind, const char *const *names,
                       unsigned count, char value)
{
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, 1);
    for (unsigned i = 1; i < r.entries_used; i++) {
        free(r.entries[i].payload.data);
        free(r.entries[i].parameters.data);
        memset(&r.entries[i], 0, sizeof(r.entries[i]));
    }
    r.entry_count = r.entries_used = 1;
    r.metadata_count = kind != NULL;
    r.metadata[0] = "wcodec.container";
    r.metadata[1] = kind;
    r.kind = kind == NULL;
    for (unsigned i = 0; i < count; i++) {
        struct support_entry *e = support_recipe_add(&r, names[i]);
        e->dtype = WCODEC_DTYPE_U8;
        e->size = 1;
        support_put(&e->parameters, "\0", 1);
        support_put(&e->parameters, &value, 1);
    }
    r.size = r.entries[0].size + count;
    support_recipe_build(&r, &file);
    write_file(file_name, file.data, file.size);
    free(file.data);
    support_recipe_free(&r);
}

static void write_shard(const char *file_name, const char *const *names, unsigned count, char value)
{
    write_kind(file_name, NULL, names, count, value);
}

static int set_up(void **state)
{
    (void)state;
    wcodec_options options;
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "cpu";
    strcpy(folder, "test-model-XXXXXX");
    return mkdtemp(folder) == NULL || wcodec_context_create(&options, &context, NULL) != WCODEC_OK;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    wcodec_context_destroy(context);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void check_value(const wcodec_reader *reader, const char *name, char value)
{
    uint64_t i;
    uint8_t got;
    wcodec_error err;
    assert_int_equal(wcodec_reader_find(reader, name, &i, NULL), WCODEC_OK);
    if (wcodec_reader_decode(reader, i, &got, 1, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(got, value);
}

static void two_shards(void)
{
    const char *const first[] = {"a", "b"}, *const second[] = {"c"};
    write_shard("model-1.safetensors.wcodec", first, 2, '1');
    write_shard("model-2.safetensors.wcodec", second, 1, '2');
}

static void check_two_shards(const char *path)
{
    wcodec_reader *reader;
    wcodec_error err;
    wcodec_file_info info;
    wcodec_tensor_info tensor;
    if (wcodec_reader_open_path(context, path, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_reader_file_count(reader), 2);
    assert_int_equal(wcodec_reader_tensor_count(reader), 3);
    assert_int_equal(wcodec_reader_entry_count(reader), 5);
    assert_int_equal(wcodec_reader_file(reader, 1, &info, NULL), WCODEC_OK);
    assert_string_equal(info.path, in_folder("model-2.safetensors.wcodec"));
    assert_int_equal(info.first_tensor, 2);
    assert_int_equal(info.first_entry, 3);
    assert_int_equal(wcodec_reader_tensor(reader, 2, &tensor, NULL), WCODEC_OK);
    assert_string_equal(tensor.name, "c");
    assert_int_equal(tensor.file, 1);
    assert_int_equal(wcodec_reader_entry(reader, 3, &tensor, NULL), WCODEC_OK);
    assert_null(tensor.name);
    check_value(reader, "a", '1');
    check_value(reader, "b", '1');
    check_value(reader, "c", '2');
    wcodec_reader_close(reader);
}

static void opens_folder_and_index(void **state)
{
    (void)state;
    two_shards();
    /* What is no shard is passed over. */
    write_text("config.json", "{}");
    write_text(".x.wcodec", "");
    assert_int_equal(mkdir(in_folder("dir.wcodec"), 0700), 0);
    check_two_shards(folder);
    write_text(
        INDEX,
        "{\"metadata\": {\"total_size\": 3}, \"weight_map\": {\"c\": \"model-2.safetensors\", \"a\": \"model-1.safetensors\", \"b\": \"model-1.safetensors\"}}");
    check_two_shards(folder);
    check_two_shards(in_folder(INDEX));
    /* A second index: the usual name wins; without it somebody must choose. */
    write_text("other.safetensors.index.json", "{}");
    check_two_shards(folder);
    assert_int_equal(rename(in_folder(INDEX), in_folder("zzz.safetensors.index.json")), 0);
    wcodec_reader *reader;
    wcodec_error err;
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "several"));
    check_two_shards(in_folder("zzz.safetensors.index.json"));
    /* Links are followed: caches are made of them. */
    assert_int_equal(rename(in_folder("model-2.safetensors.wcodec"), in_folder("blob")), 0);
    assert_int_equal(symlink("blob", in_folder("model-2.safetensors.wcodec")), 0);
    check_two_shards(in_folder("zzz.safetensors.index.json"));
}

/* The text of an index.json, and what comes of it. */
static const struct {
    const char *name;
    const char *text;
    wcodec_status status;
    const char *error;
} indexes[] = {
    {"right", "{\"weight_map\": {\"a\": \"model-1.safetensors\"}}", WCODEC_OK, ""},
    {"empty file", "", WCODEC_ERROR_CORRUPT, INDEX},
    {"no object", "[]", WCODEC_ERROR_CORRUPT, "weight_map"},
    {"no map", "{}", WCODEC_ERROR_CORRUPT, "weight_map"},
    {"map no object", "{\"weight_map\": []}", WCODEC_ERROR_CORRUPT, "weight_map"},
    {"empty map", "{\"weight_map\": {}}", WCODEC_ERROR_CORRUPT, "weight_map"},
    {"junk after it", "{\"weight_map\": {\"a\": \"model-1.safetensors\"}} x", WCODEC_ERROR_CORRUPT,
     INDEX},
    {"name twice",
     "{\"weight_map\": {\"a\": \"model-1.safetensors\", \"a\": \"model-1.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, "uplicate"},
    {"name twice by escape",
     "{\"weight_map\": {\"a\": \"model-1.safetensors\", \"\\u0061\": \"model-1.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, "uplicate"},
    {"no string", "{\"weight_map\": {\"a\": 1}}", WCODEC_ERROR_CORRUPT, "no file name"},
    {"slash", "{\"weight_map\": {\"a\": \"x/model-1.safetensors\"}}", WCODEC_ERROR_CORRUPT,
     "no plain file name"},
    {"parent", "{\"weight_map\": {\"a\": \"..\"}}", WCODEC_ERROR_CORRUPT, "no plain file name"},
    {"path to a parent", "{\"weight_map\": {\"a\": \"../model-1.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, "no plain file name"},
    {"absolute", "{\"weight_map\": {\"a\": \"/etc/passwd\"}}", WCODEC_ERROR_CORRUPT,
     "no plain file name"},
    {"backslash", "{\"weight_map\": {\"a\": \"x\\\\y\"}}", WCODEC_ERROR_CORRUPT,
     "no plain file name"},
    {"drive", "{\"weight_map\": {\"a\": \"C:x\"}}", WCODEC_ERROR_CORRUPT, "no plain file name"},
    {"newline", "{\"weight_map\": {\"a\": \"x\\ny\"}}", WCODEC_ERROR_CORRUPT, "no plain file name"},
    {"NUL", "{\"weight_map\": {\"a\": \"model-1.safetensors\\u0000\"}}", WCODEC_ERROR_CORRUPT,
     "NUL"},
    {"NUL in a tensor", "{\"weight_map\": {\"a\\u0000\": \"model-1.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, "NUL"},
    {"empty name", "{\"weight_map\": {\"a\": \"\"}}", WCODEC_ERROR_CORRUPT, "no plain file name"},
    {"lone surrogate", "{\"weight_map\": {\"\\ud800\": \"model-1.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, INDEX},
    {"BOM", "\xef\xbb\xbf{\"weight_map\": {\"a\": \"model-1.safetensors\"}}", WCODEC_ERROR_CORRUPT,
     INDEX},
    {"missing shard", "{\"weight_map\": {\"a\": \"model-3.safetensors\"}}", WCODEC_ERROR_NOT_FOUND,
     "model-3.safetensors.wcodec"},
    {"missing tensor", "{\"weight_map\": {\"x\": \"model-1.safetensors\"}}", WCODEC_ERROR_CORRUPT,
     "tensor 'x' is not in"},
    {"tensor elsewhere",
     "{\"weight_map\": {\"c\": \"model-1.safetensors\", \"a\": \"model-2.safetensors\"}}",
     WCODEC_ERROR_CORRUPT, "tensor 'c' is not in"},
};

static void refuses_by_name(void **state)
{
    (void)state;
    two_shards();
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        wcodec_reader *reader = NULL;
        wcodec_error err = {0};
        write_text(INDEX, indexes[i].text);
        wcodec_status status = wcodec_reader_open_path(context, folder, &reader, &err);
        if (status != indexes[i].status || strstr(err.text, indexes[i].error) == NULL)
            fail_msg("%s: status %d, text '%s'", indexes[i].name, (int)status, err.text);
        wcodec_reader_close(reader);
    }
    /* Five million brackets. */
    size_t size = 5000000;
    char *deep = malloc(size);
    memset(deep, '[', size);
    write_file(INDEX, deep, size);
    free(deep);
    wcodec_reader *reader;
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, NULL), WCODEC_ERROR_CORRUPT);
}

#define PYTORCH_INDEX "pytorch_model.bin.index.json"

/* A folder of PyTorch's files; these and others beside safetensors files, which are the model then.
 */
static void opens_pytorch(void **state)
{
    (void)state;
    const char *const first[] = {"a", "b"}, *const second[] = {"c"}, *const other[] = {"a"};
    wcodec_reader *reader;
    wcodec_error err = {0};
    write_kind("pytorch_model-1.bin.wcodec", "pytorch", first, 2, '1');
    write_kind("pytorch_model-2.bin.wcodec", "pytorch", second, 1, '2');
    write_kind("training_args.bin.wcodec", "pytorch", NULL, 0, 0);
    /* `tied` is another name of `a`, which is not listed. */
    write_text(
        PYTORCH_INDEX,
        "{\"weight_map\": {\"a\": \"pytorch_model-1.bin\", \"tied\": \"pytorch_model-1.bin\", \"c\": \"pytorch_model-2.bin\"}}");
    write_text("other.bin.index.json", "{}");
    const char *const paths[] = {folder, in_folder(PYTORCH_INDEX)};
    for (unsigned i = 0; i < 2; i++) {
        if (wcodec_reader_open_path(context, paths[i], &reader, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(wcodec_reader_file_count(reader), 2);
        assert_int_equal(wcodec_reader_tensor_count(reader), 3);
        check_value(reader, "b", '1');
        check_value(reader, "c", '2');
        wcodec_reader_close(reader);
    }
    write_text(
        PYTORCH_INDEX,
        "{\"weight_map\": {\"a\": \"pytorch_model-2.bin\", \"b\": \"pytorch_model-1.bin\"}}");
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "tensor 'a' is not in"));
    write_text(PYTORCH_INDEX, "{\"weight_map\": {\"a\": \"pytorch_model-3.bin\"}}");
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "pytorch_model-3.bin.wcodec"));
    write_shard("model.safetensors.wcodec", other, 1, 's');
    write_kind("model-Q8_0.gguf.wcodec", "gguf", first, 2, 'g');
    write_kind("a.npy.wcodec", "npy", other, 1, 'n');
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor_count(reader), 1);
    check_value(reader, "a", 's');
    wcodec_reader_close(reader);
    two_shards();
    assert_int_equal(unlink(in_folder("model.safetensors.wcodec")), 0);
    write_text(
        INDEX,
        "{\"weight_map\": {\"c\": \"model-2.safetensors\", \"a\": \"model-1.safetensors\"}}");
    check_two_shards(folder);
}

static void refuses_doubles_and_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"b", "d"};
    wcodec_reader *reader;
    wcodec_error err;
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err),
                     WCODEC_ERROR_NOT_FOUND);
    two_shards();
    write_shard("model-3.safetensors.wcodec", names, 2, '3');
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "tensor 'b'"));
    assert_non_null(strstr(err.text, "model-1.safetensors.wcodec"));
    assert_non_null(strstr(err.text, "model-3.safetensors.wcodec"));
    write_text("model-3.safetensors.wcodec", "junk");
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "model-3.safetensors.wcodec"));
}

/* More shards than are kept open, one without tensors; one of them is replaced while the reader is
 * open. */
static void many_shards(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    for (unsigned i = 0; i < COUNT; i++) {
        char file[64], tensor[16];
        const char *const name = tensor;
        snprintf(file, sizeof(file), "s%03u.safetensors.wcodec", i);
        snprintf(tensor, sizeof(tensor), "t%u", i);
        write_shard(file, &name, i != 50 && i != COUNT - 1, (char)i);
    }
    wcodec_reader *reader;
    assert_int_equal(wcodec_reader_open_path(context, folder, &reader, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_file_count(reader), COUNT);
    assert_int_equal(wcodec_reader_tensor_count(reader), COUNT - 2);
    for (unsigned i = 0; i < COUNT - 1; i++) {
        char tensor[16];
        snprintf(tensor, sizeof(tensor), "t%u", i);
        if (i != 50)
            check_value(reader, tensor, (char)i);
        assert_int_equal(wcodec_reader_test(reader, i, 1, NULL, NULL), WCODEC_OK);
    }
    int next = open(".", O_RDONLY);
    assert_true(next < 90);
    close(next);
    uint64_t number;
    uint8_t got;
    wcodec_error err;
    const char *const other[] = {"t98"};
    assert_int_equal(unlink(in_folder("s098.safetensors.wcodec")), 0);
    assert_int_equal(wcodec_reader_find(reader, "t98", &number, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_decode(reader, number, &got, 1, NULL, &err),
                     WCODEC_ERROR_NOT_FOUND);
    write_shard("s098.safetensors.wcodec", other, 1, 'x');
    assert_int_equal(wcodec_reader_decode(reader, number, &got, 1, NULL, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "changed"));
    wcodec_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opens_folder_and_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opens_pytorch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_doubles_and_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_shards, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
