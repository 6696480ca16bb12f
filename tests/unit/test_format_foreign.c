/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files of other kinds are known by their first bytes, whatever of them is there. */

#include "support.h"
#include "format/foreign.h"
#include "core/bytes.h"

#include <stdlib.h>
#include <string.h>

/* From memory of exactly that size, so that a sanitizer sees what is read past it. */
static const char *kind_of(const void *bytes, size_t size)
{
    struct wcodec_source source;
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    wcodec_source_memory(copy, size, &source);
    const char *kind = wcodec_foreign_kind(&source);
    (void)wcodec_foreign_safetensors(&source);
    free(copy);
    return kind;
}

static void says(const char *bytes, size_t size, const char *expected)
{
    const char *kind = kind_of(bytes, size);
    assert_non_null(kind);
    if (strstr(kind, expected) == NULL)
        fail_msg("'%s' is not said of a file, but '%s'", expected, kind);
}

#define SAYS(bytes, expected) says(bytes, sizeof(bytes) - 1, expected)

static void knows_kinds(void **state)
{
    (void)state;
    SAYS("GGUF\3\0\0\0", "GGUF");
    SAYS("\x89HDF\r\n\x1a\n....", "HDF5");
    SAYS("\x93NUMPY\1\0", ".npy");
    SAYS("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j", "PyTorch");
    SAYS("\x80\x04\x95", "pickle");
    SAYS("\x28\xb5\x2f\xfd....", "zstd");
    SAYS("\x1f\x8b\x08....", "gzip");
    SAYS("\x89WCD\r\n\x1a\n", ".wcodec");
    SAYS("<!DOCTYPE html><html>", "HTML");
    SAYS("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull");
}

static void knows_what_is_in_a_zip(void **state)
{
    (void)state;
    char zip[200] = "PK\3\4";
    strcpy(zip + 30, "model/data.pkl");
    zip[26] = 14;
    says(zip, sizeof zip, "PyTorch checkpoint");
    strcpy(zip + 30, "arr_0.npy.....");
    says(zip, sizeof zip, ".npz");
    memset(zip + 30, 'x', sizeof zip - 30);
    zip[27] = (char)0xff; /* a name longer than what is looked at */
    says(zip, sizeof zip, "zip archive");
    for (size_t size = 4; size < sizeof zip; size++)
        assert_non_null(kind_of(zip, size));
}

static void knows_nothing_of_others(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n";
    char large[1024] = "";
    memcpy(large, pointer, sizeof pointer);
    assert_null(kind_of(large, sizeof large)); /* a pointer is shorter */
    for (size_t size = 0; size < 4; size++)
        assert_null(kind_of("GGUF", size));
    assert_null(kind_of("\0\0\0\0\0\0\0\0{}", 10));
    struct wcodec_source closed = {.fd = -1, .data = NULL, .size = 0};
    assert_null(wcodec_foreign_kind(&closed));
}

static void knows_safetensors(void **state)
{
    (void)state;
    struct wcodec_source source;
    wcodec_source_memory("\2\0\0\0\0\0\0\0{}", 10, &source);
    assert_true(wcodec_foreign_safetensors(&source));
    wcodec_source_memory("\3\0\0\0\0\0\0\0{}", 10, &source);
    assert_false(wcodec_foreign_safetensors(&source)); /* longer than the file */
    wcodec_source_memory("\2\0\0\0\0\0\0\0[]", 10, &source);
    assert_false(wcodec_foreign_safetensors(&source));
    wcodec_source_memory("\2\0\0\0\0\0\0\0{", 9, &source);
    assert_false(wcodec_foreign_safetensors(&source));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_kinds),
        cmocka_unit_test(knows_what_is_in_a_zip),
        cmocka_unit_test(knows_nothing_of_others),
        cmocka_unit_test(knows_safetensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
