/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/foreign.h"
#include "format/onnx.h"
#include "format/safetensors.h"
#include "core/bytes.h"

#include <string.h>

enum { FIRST_BYTES = 128, LFS_BYTES_MAX = 1024, ZIP_NAME = 30 };

struct kind {
    const char *magic;
    unsigned char size; /* of the magic */
    const char *text;
};

#define KIND(magic, text) \
    { \
        magic, sizeof(magic) - 1, text \
    }

static const struct kind kinds[] = {
    KIND("\x89WCD\r\n\x1a\n", "a .wcodec file already"),
    KIND("GGUF", "a GGUF file"),
    KIND("\x89HDF\r\n\x1a\n", "an HDF5 file (as of Keras)"),
    KIND("\x93NUMPY", "a NumPy array (.npy)"),
    KIND("\x80\x02\x8a\x0al\xfc\x9c", "a PyTorch checkpoint from before version 1.6 (pickle)"),
    KIND("\x80\x02", "a Python pickle"),
    KIND("\x80\x03", "a Python pickle"),
    KIND("\x80\x04", "a Python pickle"),
    KIND("\x80\x05", "a Python pickle"),
    KIND("\x28\xb5\x2f\xfd", "compressed by zstd"),
    KIND("\x1f\x8b\x08", "compressed by gzip"),
    KIND("\xfd"
         "7zXZ\0",
         "compressed by xz"),
    KIND("\x04\x22\x4d\x18", "compressed by lz4"),
    KIND("BZh", "compressed by bzip2"),
    KIND("<!DOCTYPE html", "an HTML page, perhaps what a server said in place of the file"),
    KIND("<!doctype html", "an HTML page, perhaps what a server said in place of the file"),
    KIND("<html", "an HTML page, perhaps what a server said in place of the file"),
};

static bool begins_with(const uint8_t *first, size_t size, const char *text)
{
    const size_t n = strlen(text);
    return size >= n && memcmp(first, text, n) == 0;
}

/* By the name of the first entry: PyTorch's is FOLDER/data.pkl, or another of that folder. */
static const char *zip_kind(const uint8_t *first, size_t size)
{
    char name[FIRST_BYTES] = "";
    size_t length = size > ZIP_NAME ? wcodec_load_u16(first + 26) : 0;
    if (size > ZIP_NAME && length > size - ZIP_NAME)
        length = size - ZIP_NAME;
    memcpy(name, first + ZIP_NAME, length);
    if (strstr(name, "/data.pkl") != NULL || strstr(name, "/.format_version") != NULL)
        return "a PyTorch checkpoint (zip)";
    if (strstr(name, ".npy") != NULL)
        return "a NumPy archive (.npz)";
    return "a zip archive, as PyTorch's checkpoints are";
}

const char *wcodec_foreign_kind(const struct wcodec_source *source)
{
    uint8_t first[FIRST_BYTES];
    const size_t size = source->size < sizeof first ? (size_t)source->size : sizeof first;
    if (size == 0 || wcodec_source_read(source, 0, first, size, NULL) != WCODEC_OK)
        return NULL;
    if (source->size < LFS_BYTES_MAX &&
        begins_with(first, size, "version https://git-lfs.github.com/spec/v"))
        return "a git-lfs pointer, not the file itself ('git lfs pull' gets that)";
    if (begins_with(first, size, "PK\x03\x04"))
        return zip_kind(first, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].size && memcmp(first, kinds[i].magic, kinds[i].size) == 0)
            return kinds[i].text;
    return wcodec_onnx_begins(source) ? "an ONNX model" : NULL;
}

bool wcodec_foreign_safetensors(const struct wcodec_source *source)
{
    uint8_t first[9]; /* a length, and JSON */
    return source->size > sizeof first &&
           wcodec_source_read(source, 0, first, sizeof first, NULL) == WCODEC_OK &&
           wcodec_load_u64(first) <= WCODEC_SAFETENSORS_HEADER_MAX &&
           wcodec_load_u64(first) <= source->size - 8 && first[8] == '{';
}
