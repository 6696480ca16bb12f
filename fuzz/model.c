/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A folder of a model: files of any names, some of which are shards with a few tensors, and an
 * index in JSON. u8: how many files; for each a u8 size of its name, the name, a u16 size and as
 * many bytes. Where the size has its highest bit, the bytes are names of tensors, one a byte, and
 * the file is a .wcodec file of them. It is opened as a folder, and by its index: what is listed is
 * found and can be decoded, and no file outside of the folder is opened. */
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "model";
const bool fuzz_takes_files = false;

enum { FILES_MAX = 6, NAME_MAX_SIZE = 40, SHARD = 1 << 15, TENSORS_MAX = 8, OUTPUT = 1 << 16 };

static const char *const indexes[] = {"model.safetensors.index.json",
                                      "pytorch_model.bin.index.json"};

struct sink {
    uint8_t data[OUTPUT];
    size_t size;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct sink *s = opaque;
    FUZZ_REQUIRE(size <= sizeof s->data - s->size);
    memcpy(s->data + s->size, data, size);
    s->size += size;
    return 0;
}

/* Tensors of one element, whose names are a letter; equal ones are refused by the writer. */
static void put_shard(const char *name, const uint8_t *names, size_t count)
{
    static struct sink out;
    wcodec_writer *writer;
    const uint64_t shape[1] = {1};
    unsigned declared = 0;
    out.size = 0;
    FUZZ_REQUIRE(wcodec_writer_create(fuzz_context(), append, &out, NULL, &writer, NULL) ==
                 WCODEC_OK);
    for (size_t i = 0; i < count && i < TENSORS_MAX; i++) {
        const char text[2] = {(char)('a' + names[i] % 26), 0};
        declared +=
            wcodec_writer_declare(writer, text, WCODEC_DTYPE_U8, shape, 1, NULL) == WCODEC_OK;
    }
    for (unsigned i = 0; i < declared; i++)
        FUZZ_REQUIRE(wcodec_writer_data(writer, &names[0], 1, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(wcodec_writer_finish(writer, NULL, NULL) == WCODEC_OK);
    wcodec_writer_destroy(writer);
    fuzz_file(name, out.data, out.size);
}

static void put_file(struct wcodec_cursor *c)
{
    char name[NAME_MAX_SIZE + 1];
    size_t length = 0;
    for (size_t n = fuzz_take(c) % (NAME_MAX_SIZE + 1); n > 0; n--) {
        const uint8_t letter = fuzz_take(c);
        name[length++] = letter < 0x20 || letter == '/' || letter == 0x7f ? '_' : (char)letter;
    }
    name[length] = 0;
    const uint16_t low = fuzz_take(c), code = (uint16_t)(low | fuzz_take(c) << 8);
    const size_t wanted = code & (SHARD - 1), left = wcodec_cursor_left(c),
                 size = wanted < left ? wanted : left;
    if (length != 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
        if (code & SHARD && size != 0)
            put_shard(name, c->at, size);
        else
            fuzz_file(name, c->at, size);
    }
    c->at += size;
}

static void look(const char *path)
{
    wcodec_reader *reader = NULL;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_reader_open_path(fuzz_context(), path, &reader, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (reader != NULL));
    FUZZ_REQUIRE(status != WCODEC_ERROR_USAGE || strstr(err.text, "several indexes") != NULL);
    FUZZ_REQUIRE(status != WCODEC_ERROR_MEMORY);
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    if (reader == NULL)
        return;
    fuzz_deep++;
    for (uint64_t i = 0; i < wcodec_reader_file_count(reader); i++) {
        wcodec_file_info file;
        FUZZ_REQUIRE(wcodec_reader_file(reader, i, &file, NULL) == WCODEC_OK);
    }
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        uint64_t found;
        uint8_t out[64];
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_reader_find(reader, info.name, &found, NULL) == WCODEC_OK &&
                     found == i);
        if (info.size <= sizeof out)
            (void)wcodec_reader_decode(reader, i, out, sizeof out, NULL, NULL);
    }
    wcodec_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    fuzz_folder_clear();
    for (unsigned n = fuzz_take(&c) % (FILES_MAX + 1); n > 0; n--)
        put_file(&c);
    look(fuzz_folder());
    for (unsigned i = 0; i < sizeof indexes / sizeof *indexes; i++)
        look(fuzz_path(indexes[i]));
    return 0;
}
