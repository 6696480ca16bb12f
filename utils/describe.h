/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What list and info both say of a file and of a tensor. */
#ifndef WCODEC_UTILS_DESCRIBE_H
#define WCODEC_UTILS_DESCRIBE_H

#include "utils/json.h"
#include <wcodec/reader.h>

/* A file of an input: of a model folder there are several. */
struct described_file {
    const char *path; /* its own, or what the input is called */
    const wcodec_reader *reader;
    uint64_t number;
    wcodec_file_info info;
};

/* Hand each file of a reader to `visit`. `name` is what messages call the input. */
typedef void (*file_fn)(struct app *app, void *opaque, const struct described_file *file);
void describe_each_file(struct app *app, const char *name, const wcodec_reader *reader,
                        file_fn visit, void *opaque);

/* Bytes over bytes; 0 where there is nothing to compare. */
double describe_ratio(uint64_t coded, uint64_t original);
/* "0.6602", or "-" where there is nothing to compare. Returns dst, of TABLE_CELL bytes. */
const char *describe_ratio_text(uint64_t coded, uint64_t original, char *dst);

/* Of a tensor's blocks, the share that has a mode. */
double describe_share(const wcodec_tensor_info *info, unsigned mode);

/* "p8"; of a tensor in blocks also the predictor of most: "left/p8"; of an approximated one also
 * that: "lossy/dct/p8". Returns dst. */
const char *describe_coding(const wcodec_tensor_info *info, char *dst, size_t size);

/* "-3", "-9 --tune=latency --profile=p8": the options of a file's making that differ from the
 * defaults, or "" where they were not noted. Returns dst. */
enum { DESCRIBE_SETTINGS = 160 };
const char *describe_settings(const wcodec_file_info *info, char dst[DESCRIBE_SETTINGS]);

/* The same as an object, or null. NULL: out of memory. */
json_t *describe_settings_json(const wcodec_file_info *info);

/* Bits of the file for each element (of each byte where the dtype's width is unknown). */
double describe_bits(const wcodec_tensor_info *info, uint64_t bits);

/* Elements by the dtype; bytes where its width is unknown. */
uint64_t describe_elements(const wcodec_tensor_info *info);

/* Keys of a file that every report has: path, name, kind, sizes, hash. NULL: out of memory. */
json_t *describe_file_json(const struct described_file *file);

/* {"name", "dtype", "shape", "bytes", "coded_bytes", "coding", ...} of a tensor; NULL: out of
 * memory. */
json_t *describe_tensor_json(const wcodec_reader *reader, const wcodec_tensor_info *info);

/* Print `head` (freed here), an object of a file, with its tensors under a key of their own, one by
 * one: the list may be long. */
void describe_print_json(struct app *app, struct json_list *list, const struct described_file *file,
                         json_t *head);

/* How a tensor is coded against its base. False: it is not. */
bool describe_delta(const wcodec_reader *reader, const wcodec_tensor_info *info,
                    wcodec_delta_info *delta);

/* Shares of its elements by how their tiles are coded, those that are not 0. Returns their number.
 */
struct delta_share {
    const char *name;
    double share;
};
unsigned describe_delta_shares(const wcodec_delta_info *delta, struct delta_share shares[5]);

#endif
