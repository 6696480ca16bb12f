/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/describe.h"
#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>

double describe_ratio(uint64_t coded, uint64_t original)
{
    return original ? (double)coded / (double)original : 0;
}

uint64_t describe_elements(const wcodec_tensor_info *info)
{
    unsigned bits = wcodec_dtype_bits(info->dtype);
    return bits ? info->size * 8 / bits : info->size;
}

double describe_bits(const wcodec_tensor_info *info, uint64_t bits)
{
    uint64_t elements = describe_elements(info);
    return elements ? (double)bits / (double)elements : 0;
}

json_t *describe_file_json(const char *path, const wcodec_file_info *info)
{
    char hash[33];
    text_hex(info->xxh128, 16, hash);
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:i, s:o}", "path", json_text(path), "name", json_text(info->name), "kind",
                     info->safetensors ? "safetensors" : "opaque", "bytes", json_size(info->size), "coded_bytes", json_size(info->coded_size), "ratio",
                     json_decimal(describe_ratio(info->coded_size, info->size), 6), "xxh128", hash, "format_version", (int)info->version, "tensor_count",
                     json_size(info->tensors));
}

static json_t *coding_json(const wcodec_reader *reader, const wcodec_tensor_info *info)
{
    static const char *const kinds[] = {"constant", "tiles", "chunks", "alias"};
    wcodec_tensor_info first;
    json_t *coding = json_pack("{s:s, s:s, s:s, s:i, s:o, s:i, s:i}", "kind", (unsigned)info->coding < 4 ? kinds[info->coding] : "unknown", "profile",
                               info->coding_name, "split", info->split, "element_bits", (int)info->element_bits, "tile", json_size(info->tile_elements),
                               "tables", (int)info->tables, "run", (int)info->run_elements);
    if (coding && info->alias_of != UINT64_MAX && wcodec_reader_entry(reader, info->alias_of, &first, NULL) == WCODEC_OK)
        json_object_set_new(coding, "alias_of", first.name ? json_text(first.name) : json_null());
    return coding;
}

json_t *describe_tensor_json(const wcodec_reader *reader, const wcodec_tensor_info *info)
{
    char hash[24];
    json_t *shape = json_array();
    for (unsigned i = 0; shape && i < info->rank; i++)
        json_array_append_new(shape, json_size(info->shape[i]));
    snprintf(hash, sizeof hash, "%016" PRIx64, info->payload_hash);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "name", json_text(info->name), "dtype", json_text(info->dtype_name), "shape", shape,
                     "bytes", json_size(info->size), "coded_bytes", json_size(info->coded_size), "ratio",
                     json_decimal(describe_ratio(info->coded_size, info->size), 6), "coding", coding_json(reader, info), "bits_per_element",
                     json_decimal(describe_bits(info, info->coded_size * 8), 4), "order0_bits", json_size(info->order0_bits), "payload_xxh3", hash);
}
