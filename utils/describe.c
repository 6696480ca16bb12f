/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/describe.h"
#include "utils/lossy.h"
#include "utils/signals.h"
#include "utils/table.h"
#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double describe_ratio(uint64_t coded, uint64_t original)
{
    return original ? (double)coded / (double)original : 0;
}

const char *describe_ratio_text(uint64_t coded, uint64_t original, char *dst)
{
    snprintf(dst, TABLE_CELL, "%.4f", describe_ratio(coded, original));
    return original ? dst : strcpy(dst, "-");
}

uint64_t describe_elements(const wcodec_tensor_info *info)
{
    unsigned bits = wcodec_dtype_bits(info->dtype);
    return bits ? info->size * 8 / bits : info->size;
}

double describe_share(const wcodec_tensor_info *info, unsigned mode)
{
    uint64_t blocks = 0;
    for (unsigned i = 0; i < info->mode_count; i++)
        blocks += info->modes[i].blocks;
    return blocks ? (double)info->modes[mode].blocks / (double)blocks : 0;
}

/* Is it coded with loss? An approximation can also be coded exactly. */
static bool is_coded_lossy(const wcodec_tensor_info *info)
{
    return info->coding == WCODEC_CODING_LOSSY || info->coding == WCODEC_CODING_ANCHORED ||
           (info->coding == WCODEC_CODING_ALIAS && info->scales > 0);
}

const char *describe_coding(const wcodec_tensor_info *info, char *dst, size_t size)
{
    unsigned most = 0;
    for (unsigned i = 1; i < info->mode_count; i++)
        most = info->modes[i].blocks > info->modes[most].blocks ? i : most;
    snprintf(dst, size, "%s%s%s%s",
             is_coded_lossy(info)                      ? "lossy/"
             : info->coding == WCODEC_CODING_FRAGMENTS ? "fragments/"
                                                       : "",
             info->mode_count ? info->modes[most].predictor : "", info->mode_count ? "/" : "",
             info->coding_name);
    return dst;
}

double describe_bits(const wcodec_tensor_info *info, uint64_t bits)
{
    uint64_t elements = describe_elements(info);
    return elements ? (double)bits / (double)elements : 0;
}

void describe_each_file(struct app *app, const char *name, const wcodec_reader *reader,
                        file_fn visit, void *opaque)
{
    uint64_t files = wcodec_reader_file_count(reader);
    for (uint64_t f = 0; f < files && !signals_pending() && app_stdout_good(app); f++) {
        struct described_file file = {.reader = reader, .number = f};
        wcodec_error err = {0};
        if (wcodec_reader_file(reader, f, &file.info, &err) != WCODEC_OK) {
            app_fail_status(app, name, &err);
            return;
        }
        file.path = file.info.path[0] ? file.info.path : name;
        visit(app, opaque, &file);
    }
}

/* Figures of a file's approximated tensors, with their number; null where there are none. */
static json_t *lossy_file_json(const struct described_file *file)
{
    const struct lossy_figures figures = lossy_of_file(file->reader, &file->info);
    json_t *json = figures.tensors ? lossy_json(&figures) : json_null();
    if (json && figures.tensors)
        json_object_set_new(json, "tensors", json_size(figures.tensors));
    return json;
}

/* Of one tensor. */
static json_t *lossy_tensor_json(const wcodec_tensor_info *info)
{
    struct lossy_figures figures = {0};
    lossy_add(&figures, info);
    json_t *json = info->lossy ? lossy_json(&figures) : json_null();
    if (json && info->lossy)
        json_object_set_new(json, "scales", json_size(info->scales));
    return json;
}

/* One of the values of an option from 0 on, which are separated by |; values of newer versions have
 * no name. */
static const char *value_name(const char *values, unsigned value, char dst[16])
{
    for (; value > 0 && values; value--) {
        values = strchr(values, '|');
        values += values != NULL;
    }
    snprintf(dst, 16, "%.*s", values ? (int)strcspn(values, "|") : 1, values ? values : "?");
    return dst;
}

#define TUNES "size|latency|compute-fixed|compute"
#define PROFILES "auto|pairs|p12|p8"
#define PREDICTORS "auto|none|left|top|average|planar|paeth|wht"

const char *describe_settings(const wcodec_file_info *info, char dst[DESCRIBE_SETTINGS])
{
    char tune[16], profile[16], predict[16], tile[24] = "";
    dst[0] = 0;
    if (info->level == 0)
        return dst;
    if (info->tile_log2 != 0 && info->tile_log2 < 32)
        snprintf(tile, sizeof tile, " --tile=%u", 1u << info->tile_log2);
    snprintf(dst, DESCRIBE_SETTINGS, "-%u%s%s%s%s%s%s%s%s%s", info->level,
             info->tune ? " --tune=" : "", info->tune ? value_name(TUNES, info->tune, tune) : "",
             tile, info->profile ? " --profile=" : "",
             info->profile ? value_name(PROFILES, info->profile, profile) : "",
             info->predict ? " --predict=" : "",
             info->predict ? value_name(PREDICTORS, info->predict, predict) : "",
             info->patterns ? " --include or --exclude" : "",
             info->index_first ? " --index=front" : "");
    return dst;
}

json_t *describe_settings_json(const wcodec_file_info *info)
{
    char tune[16], profile[16], predict[16];
    if (info->level == 0)
        return json_null();
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:b}", "level", (int)info->level, "tune",
                     value_name(TUNES, info->tune, tune), "profile",
                     value_name(PROFILES, info->profile, profile), "predict",
                     value_name(PREDICTORS, info->predict, predict), "tile",
                     info->tile_log2 != 0 && info->tile_log2 < 32
                         ? json_size(UINT64_C(1) << info->tile_log2)
                         : json_null(),
                     "patterns", (int)(info->patterns != 0));
}

json_t *describe_file_json(const struct described_file *file)
{
    const wcodec_file_info *info = &file->info;
    char hash[33];
    text_hex(info->xxh128, 16, hash);
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:i, s:o, s:o}", "path",
                     json_text(file->path), "name", json_text(info->name), "kind", info->kind,
                     "bytes", json_size(info->size), "coded_bytes", json_size(info->coded_size),
                     "ratio", json_decimal(describe_ratio(info->coded_size, info->size), 6),
                     "xxh128", hash, "format_version", (int)info->version, "tensor_count",
                     json_size(info->tensors), "lossy", lossy_file_json(file));
}

/* {"columns": C, "modes": [{"predictor": "left", "differential": false, "share": 0.93}, ...]}, or
 * {"transform": "dct", "share": 0.93}, and then "order": "products" too. */
static json_t *modes_json(const wcodec_tensor_info *info)
{
    const bool transforms = info->coding == WCODEC_CODING_LOSSY;
    json_t *modes = json_array();
    for (unsigned i = 0; modes && i < info->mode_count; i++) {
        json_t *mode =
            json_pack("{s:s}", transforms ? "transform" : "predictor", info->modes[i].predictor);
        if (mode && !transforms)
            json_object_set_new(mode, "differential", json_boolean(info->modes[i].differential));
        if (mode)
            json_object_set_new(mode, "share", json_decimal(describe_share(info, i), 6));
        json_array_append_new(modes, mode);
    }
    json_t *json = json_pack("{s:o, s:o}", "columns", json_size(info->columns), "modes", modes);
    if (json && info->order)
        json_object_set_new(json, "order", json_string(info->order));
    return json;
}

bool describe_delta(const wcodec_reader *reader, const wcodec_tensor_info *info,
                    wcodec_delta_info *delta)
{
    uint64_t i;
    return info->name && wcodec_reader_find(reader, info->name, &i, NULL) == WCODEC_OK &&
           wcodec_reader_delta(reader, i, delta, NULL) == WCODEC_OK && delta->delta;
}

unsigned describe_delta_shares(const wcodec_delta_info *delta, struct delta_share shares[5])
{
    const struct delta_share all[5] = {{"equal", (double)delta->equal},
                                       {"sparse", (double)delta->sparse},
                                       {"alone", (double)delta->alone},
                                       {"difference", (double)delta->difference},
                                       {"xor", (double)delta->exclusive_or}};
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < 5; i++)
        sum += all[i].share;
    for (unsigned i = 0; i < 5; i++)
        if (all[i].share > 0) {
            shares[count] = all[i];
            shares[count++].share /= sum;
        }
    return count;
}

/* {"base": "2e10...", "base_bytes": 1000, "depth": 1, "shares": {"equal": 0.9, "sparse": 0.1}} */
static json_t *delta_json(const wcodec_reader *reader, const wcodec_tensor_info *info)
{
    struct delta_share shares[5];
    wcodec_delta_info delta;
    char hash[33];
    if (!describe_delta(reader, info, &delta))
        return json_null();
    json_t *all = json_object();
    const unsigned count = describe_delta_shares(&delta, shares);
    for (unsigned i = 0; all && i < count; i++)
        json_object_set_new(all, shares[i].name, json_decimal(shares[i].share, 6));
    text_hex(delta.xxh128, 16, hash);
    return json_pack("{s:s, s:o, s:i, s:o}", "base", hash, "base_bytes", json_size(delta.base_size),
                     "depth", (int)delta.depth, "shares", all);
}

static json_t *coding_json(const wcodec_reader *reader, const wcodec_tensor_info *info)
{
    static const char *const kinds[] = {"constant", "tiles",  "chunks",    "alias",   "blocks",
                                        "lossy",    "fixed",  "fragments", "packed",  "records",
                                        "delta",    "masked", "inline",    "anchored"};
    wcodec_tensor_info first;
    json_t *coding = json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:i, s:i}", "kind",
        (unsigned)info->coding < sizeof kinds / sizeof *kinds ? kinds[info->coding] : "unknown",
        "profile", info->coding_name, "split", info->split, "element_bits", (int)info->element_bits,
        "tile", json_size(info->tile_elements), "tables", (int)info->tables, "run",
        (int)info->run_elements);
    if (coding && info->mode_count)
        json_object_set_new(coding, info->coding == WCODEC_CODING_LOSSY ? "transform" : "predict",
                            modes_json(info));
    if (coding && info->coding == WCODEC_CODING_ANCHORED)
        json_object_set_new(coding, "anchors", json_size(info->anchors));
    if (coding && info->coding == WCODEC_CODING_DELTA)
        json_object_set_new(coding, "delta", delta_json(reader, info));
    if (coding && info->alias_of != UINT64_MAX &&
        wcodec_reader_entry(reader, info->alias_of, &first, NULL) == WCODEC_OK)
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
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "name",
                     json_text(info->name), "dtype", json_text(info->dtype_name), "shape", shape,
                     "bytes", json_size(info->size), "coded_bytes", json_size(info->coded_size),
                     "ratio", json_decimal(describe_ratio(info->coded_size, info->size), 6),
                     "coding", coding_json(reader, info), "bits_per_element",
                     json_decimal(describe_bits(info, info->coded_size * 8), 4), "order0_bits",
                     json_size(info->order0_bits), "payload_xxh3", hash, "lossy",
                     lossy_tensor_json(info));
}

void describe_print_json(struct app *app, struct json_list *list, const struct described_file *file,
                         json_t *head)
{
    const wcodec_file_info *f = &file->info;
    char *text = json_render(app, head);
    if (!text)
        return;
    text[strlen(text) - 1] = 0; /* the closing brace comes after the tensors */
    printf("%s\n%s,\"tensors\":[", list->any ? "," : "", text);
    free(text);
    list->any = true;
    bool any = false;
    for (uint64_t i = f->first_tensor;
         i < f->first_tensor + f->tensors && !signals_pending() && app_stdout_good(app); i++) {
        wcodec_tensor_info info;
        wcodec_error err = {0};
        if (wcodec_reader_tensor(file->reader, i, &info, &err) == WCODEC_OK)
            json_print(app, describe_tensor_json(file->reader, &info), &any);
        else
            app_fail_status(app, file->path, &err);
    }
    fputs("]}", stdout);
}
