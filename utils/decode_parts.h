/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A large file that is tested or decompressed in parts, by several processes: of its tensors, each
 * of which one process decodes. What they write goes to its places in one hidden file beside the
 * output, .NAME.part-KEY-all, which is made anew for each run, with a KEY of its own. */
#ifndef WCODEC_UTILS_DECODE_PARTS_H
#define WCODEC_UTILS_DECODE_PARTS_H

#include "utils/app.h"
#include "utils/input.h"

/* In how many parts it is to be decoded, of a file in the state that app->key then stands for; 0:
 * at once. */
size_t decode_parts_count(struct app *app, const struct input *input, const wcodec_file_info *info);

/* Is it in that state still? WCODEC_ERROR_MISMATCH, _MEMORY. */
wcodec_status decode_parts_same(struct app *app, const struct input *input, wcodec_error *err);
/* How part number app->part is decoded; its hashes go to app->hashes. */
wcodec_decode_options decode_parts_options(struct app *app, const wcodec_file_info *info);
/* All are decoded: is the hash of the original that of app->all_hashes? */
wcodec_status decode_parts_check(struct app *app, const wcodec_reader *reader, wcodec_error *err);

/* The file that parts are written to: make it, of `size` bytes; write part
 * number app->part to it; its name, which the caller frees. False, NULL: reported. */
bool decode_parts_begin(struct app *app, const char *target, uint64_t size);
bool decode_parts_write(struct app *app, const char *name, const wcodec_reader *reader,
                        const wcodec_file_info *info, const char *target);
char *decode_parts_name(struct app *app, const char *target);

#endif
