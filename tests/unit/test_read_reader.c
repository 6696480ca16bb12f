/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Opening by path, descriptor and memory; what is listed; finding; errors that name the file. */

#include "support_container.h"
#include "support_memory.h"
#include "core/context.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wcodec/reader.h>
#include <xxhash.h>

struct fixture {
    struct support_recipe recipe;
    struct support_bytes file;
    char path[32];
    int fd;
    wcodec_context *context;
};

static void fixture_make(struct fixture *f)
{
    support_recipe_init(&f->recipe, 31);
    support_recipe_build(&f->recipe, &f->file);
    strcpy(f->path, "test-reader-XXXXXX");
    f->fd = mkstemp(f->path);
    assert_true(f->fd >= 0);
    assert_int_equal(write(f->fd, f->file.data, f->file.size), (ssize_t)f->file.size);
    f->context = support_context(1, NULL);
}

static void fixture_free(struct fixture *f)
{
    wcodec_context_destroy(f->context);
    close(f->fd);
    unlink(f->path);
    free(f->file.data);
    support_recipe_free(&f->recipe);
}

static void check_listing(const struct fixture *f, const wcodec_reader *reader, const char *path)
{
    wcodec_file_info file;
    wcodec_tensor_info t;
    const char *key, *value;
    XXH128_canonical_t hash;
    assert_int_equal(wcodec_reader_file_count(reader), 1);
    assert_int_equal(wcodec_reader_tensor_count(reader), 5);
    assert_int_equal(wcodec_reader_entry_count(reader), 6);
    assert_int_equal(wcodec_reader_file(reader, 0, &file, NULL), WCODEC_OK);
    assert_string_equal(file.name, "model.safetensors");
    assert_string_equal(file.path, path);
    assert_true(file.safetensors);
    assert_int_equal(file.size, f->recipe.size);
    assert_int_equal(file.coded_size, f->file.size);
    XXH128_canonicalFromHash(&hash, (XXH128_hash_t){f->recipe.hash[0], f->recipe.hash[1]});
    assert_memory_equal(file.xxh128, hash.digest, 16);
    assert_int_equal(file.mode, 0644);
    assert_int_equal(file.mtime, 1700000000);
    assert_int_equal(file.version, 1);
    assert_int_equal(file.first_tensor, 0);
    assert_int_equal(file.tensors, 5);
    assert_int_equal(file.entries, 6);
    assert_int_equal(wcodec_reader_metadata_count(reader, 0), 2);
    assert_int_equal(wcodec_reader_metadata_count(reader, 1), 0);
    assert_int_equal(wcodec_reader_metadata(reader, 0, 0, &key, &value, NULL), WCODEC_OK);
    assert_string_equal(key, "format");
    assert_string_equal(value, "pt");
    assert_int_equal(wcodec_reader_metadata(reader, 0, 2, &key, &value, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_metadata(reader, 1, 0, &key, &value, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_entry(reader, 0, &t, NULL), WCODEC_OK);
    assert_null(t.name);
    assert_string_equal(t.coding_name, "stored");
    assert_int_equal(t.tile_elements, 40);
    assert_int_equal(wcodec_reader_tensor(reader, 0, &t, NULL), WCODEC_OK);
    assert_string_equal(t.name, "a");
    assert_string_equal(t.dtype_name, "BF16");
    assert_int_equal(t.dtype, WCODEC_DTYPE_BF16);
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.shape[1], 3);
    assert_int_equal(t.coding, WCODEC_CODING_CONSTANT);
    assert_string_equal(t.coding_name, "constant");
    assert_int_equal(t.element_bits, 16);
    assert_int_equal(t.file_offset, 40);
    assert_true(t.alias_of == UINT64_MAX);
    const struct wcodec_tiling *tiling = &f->recipe.tensor.tiling;
    assert_int_equal(wcodec_reader_tensor(reader, 1, &t, NULL), WCODEC_OK);
    assert_int_equal(t.coding, WCODEC_CODING_TILES);
    assert_int_equal(t.element_bits, 8u << tiling->element_log2);
    assert_int_equal(t.tile_elements, 1u << tiling->tile_log2);
    assert_int_equal(t.tables, tiling->table_count);
    assert_int_equal(t.coded_size, f->recipe.tensor.payload_size);
    assert_true(t.payload_hash == f->recipe.entries[2].payload_hash);
    char split[256] = "";
    for (unsigned i = 0; i < tiling->field_count; i++)
        sprintf(split + strlen(split), "%s%c%u", i > 0 ? "+" : "",
                tiling->fields[i].kind == WCODEC_FIELD_CODED ? 'c'
                : tiling->fields[i].kind == WCODEC_FIELD_RAW ? 'r'
                                                             : 'k',
                tiling->fields[i].width);
    assert_string_equal(t.split, split);
    assert_int_equal(wcodec_reader_tensor(reader, 2, &t, NULL), WCODEC_OK);
    assert_string_equal(t.coding_name, "alias");
    assert_int_equal(t.alias_of, 2);
    assert_int_equal(wcodec_reader_tensor(reader, 3, &t, NULL), WCODEC_OK);
    assert_int_equal(t.dtype, WCODEC_DTYPE_OTHER);
    assert_string_equal(t.dtype_name, "F2");
    assert_string_equal(t.coding_name, "zstd");
    assert_int_equal(wcodec_reader_tensor(reader, 5, &t, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_entry(reader, 6, &t, NULL), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_file(reader, 1, &file, NULL), WCODEC_ERROR_USAGE);
    for (uint64_t i = 0; i < 5; i++) {
        uint64_t number = 99;
        assert_int_equal(wcodec_reader_tensor(reader, i, &t, NULL), WCODEC_OK);
        assert_int_equal(wcodec_reader_find(reader, t.name, &number, NULL), WCODEC_OK);
        assert_int_equal(number, i);
    }
    uint64_t number;
    wcodec_error err;
    assert_int_equal(wcodec_reader_find(reader, "no", &number, &err), WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "'no'"));
    assert_int_equal(wcodec_reader_find(reader, NULL, &number, &err), WCODEC_ERROR_NOT_FOUND);
}

static void opens_and_lists(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_reader *reader;
    uint8_t got[12];
    fixture_make(&f);
    assert_int_equal(wcodec_reader_open_path(f.context, f.path, &reader, NULL), WCODEC_OK);
    check_listing(&f, reader, f.path);
    wcodec_reader_close(reader);
    assert_int_equal(wcodec_reader_open_memory(f.context, f.file.data, f.file.size, &reader, NULL),
                     WCODEC_OK);
    check_listing(&f, reader, "");
    wcodec_reader_close(reader);
    /* The descriptor is ours again, where it was; the reader has its own. */
    int fd = open(f.path, O_RDONLY);
    assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
    assert_int_equal(wcodec_reader_open_fd(f.context, fd, &reader, NULL), WCODEC_OK);
    check_listing(&f, reader, "");
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
    close(fd);
    assert_int_equal(wcodec_reader_decode(reader, 0, got, 12, NULL, NULL), WCODEC_OK);
    assert_memory_equal(got, f.recipe.constant_data, 12);
    assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
    wcodec_reader_close(reader);
    wcodec_reader_close(NULL);
    fixture_free(&f);
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_reader *reader;
    wcodec_error err;
    fixture_make(&f);
    assert_int_equal(wcodec_reader_open_path(f.context, "no-such-file", &reader, &err),
                     WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no-such-file"));
    assert_int_equal(wcodec_reader_open_path(f.context, "/dev/null", &reader, &err),
                     WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, "/dev/null"));
    assert_int_equal(wcodec_reader_open_path(f.context, "/dev/zero", &reader, &err),
                     WCODEC_ERROR_IO);
    assert_int_equal(wcodec_reader_open_path(f.context, NULL, &reader, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_fd(f.context, -1, &reader, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_memory(f.context, NULL, 1, &reader, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_open_memory(f.context, NULL, 0, &reader, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(mkfifo("test-reader-fifo", 0600), 0);
    assert_int_equal(wcodec_reader_open_path(f.context, "test-reader-fifo", &reader, &err),
                     WCODEC_ERROR_IO);
    unlink("test-reader-fifo");
    /* Sparse: 2^44 bytes of nothing take no memory. */
    assert_int_equal(ftruncate(f.fd, (off_t)1 << 43), 0);
    assert_int_equal(wcodec_reader_open_path(f.context, f.path, &reader, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, f.path));
    fixture_free(&f);
}

/* A file that shrinks after it was opened is an error, not a crash. */
static void sees_a_file_that_changes(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_reader *reader;
    wcodec_error err;
    fixture_make(&f);
    assert_int_equal(wcodec_reader_open_path(f.context, f.path, &reader, NULL), WCODEC_OK);
    assert_int_equal(ftruncate(f.fd, 100), 0);
    size_t size = (size_t)f.recipe.tensor.tiling.size;
    uint8_t *dst = malloc(size);
    assert_int_equal(wcodec_reader_decode(reader, 1, dst, size, NULL, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, f.path));
    assert_non_null(strstr(err.text, "tensor 'b'"));
    free(dst);
    wcodec_reader_close(reader);
    fixture_free(&f);
}

static void refuses_a_forked_process(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_reader *reader;
    uint8_t got[12];
    fixture_make(&f);
    assert_int_equal(wcodec_reader_open_path(f.context, f.path, &reader, NULL), WCODEC_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(wcodec_reader_decode(reader, 0, got, 12, NULL, NULL) == WCODEC_ERROR_USAGE &&
                      wcodec_reader_test(reader, 0, 1, NULL, NULL) == WCODEC_ERROR_USAGE
                  ? 0
                  : 1);
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    wcodec_reader_close(reader);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_and_lists),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(sees_a_file_that_changes),
        cmocka_unit_test(refuses_a_forked_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
