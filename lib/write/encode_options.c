/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/encode_options.h"
#include "write/tables.h"
#include "format/names.h"
#include "core/error.h"
#include "core/options.h"

#include <fnmatch.h>
#include <string.h>

enum { DEFAULT_LEVEL = 3 };

static const double default_recall = 0.95;

static const wcodec_encode_options defaults = {.level = DEFAULT_LEVEL, .mtime = -1};

void wcodec_encode_options_init_size(wcodec_encode_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status check_lossy(const wcodec_encode_options *o, wcodec_error *err)
{
    const double v = o->lossy_value;
    if ((unsigned)o->lossy > WCODEC_LOSSY_BITS)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "lossy target %d is none", (int)o->lossy);
    if ((unsigned)o->lossy_scale > WCODEC_LOSSY_SCALE_ROW)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "lossy scale %d is none", (int)o->lossy_scale);
    if (o->lossy == WCODEC_LOSSY_SNR && !(v >= 0 && v <= 200))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a lossy target of %g decibels, expected 0 to 200", v);
    if (o->lossy == WCODEC_LOSSY_ERROR && !(v >= 0x1p-126 && v <= 0x1p126))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a lossy target of error %g, expected 2^-126 to 2^126", v);
    if (o->lossy == WCODEC_LOSSY_BITS && !(v >= 0.01 && v <= 32))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a lossy target of %g bits an element, expected 0.01 to 32", v);
    if (o->lossy == WCODEC_LOSSY_ERROR && o->lossy_scale == WCODEC_LOSSY_SCALE_ROW)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "scales of rows cannot keep to one largest error");
    return WCODEC_OK;
}

static wcodec_status check_tables(wcodec_encode_options *o, wcodec_error *err)
{
    if (!wcodec_tables_wanted(o))
        return o->vectors_anchors == 0
                   ? WCODEC_OK
                   : wcodec_fail(err, WCODEC_ERROR_USAGE,
                                 "vectors_anchors without vectors_bits or vectors_recall");
    if (o->vectors_bits != 0 && !(o->vectors_bits >= 0.01 && o->vectors_bits <= 32))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "vectors of %g bits an element, expected 0.01 to 32", o->vectors_bits);
    if (o->vectors_recall != 0 && !(o->vectors_recall > 0 && o->vectors_recall < 1))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a recall is above 0 and below 1, and not %g",
                           o->vectors_recall);
    if (o->vectors_bits != 0 && o->vectors_recall != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "either bits are asked for, or a recall, and not both");
    if (o->raw || o->bases != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "vectors are coded by anchors neither in opaque bytes nor against a "
                           "base");
    if (o->vectors_bits == 0 && o->vectors_recall == 0)
        o->vectors_recall = default_recall;
    return WCODEC_OK;
}

wcodec_status wcodec_encode_options_whole(const wcodec_encode_options *options, wcodec_error *err)
{
    return options->part_end == 0 && options->copy_at == NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "part_end and copy_at are for compressing and joining files");
}

wcodec_status wcodec_encode_options_read(const wcodec_encode_options *from,
                                         wcodec_encode_options *options, wcodec_error *err)
{
    wcodec_encode_options o = defaults;
    wcodec_status status =
        wcodec_options_take(from, &o, sizeof o, "wcodec_encode_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o.progress, err);
    if (status != WCODEC_OK)
        return status;
    if (o.level < 1 || o.level > 9)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "level %d, expected 1 to 9", o.level);
    if ((unsigned)o.tune > WCODEC_TUNE_COMPUTE)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "tune %d is none", (int)o.tune);
    if (o.tile_log2 != 0 &&
        (o.tile_log2 < WCODEC_TILE_LOG2_MIN || o.tile_log2 > WCODEC_TILE_LOG2_MAX))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "tiles of 2^%u elements, expected 2^%d to 2^%d",
                           o.tile_log2, WCODEC_TILE_LOG2_MIN, WCODEC_TILE_LOG2_MAX);
    if ((unsigned)o.profile > WCODEC_PROFILE_P8)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "profile %d is none", (int)o.profile);
    if ((unsigned)o.predict > WCODEC_PREDICT_WHT)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "predictor %d is none", (int)o.predict);
    if (o.bases != NULL && (o.lossy != WCODEC_LOSSY_NONE || o.tune == WCODEC_TUNE_COMPUTE ||
                            o.tune == WCODEC_TUNE_COMPUTE_FIXED))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "what is coded against a base cannot be coded with loss, or for "
                           "products");
    if (o.part_begin != 0 && o.part_begin >= o.part_end)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a part without bytes");
    status = check_lossy(&o, err);
    if (status == WCODEC_OK)
        status = check_tables(&o, err);
    if (status == WCODEC_OK)
        *options = o;
    return status;
}

void wcodec_encode_options_settings(const wcodec_encode_options *options,
                                    struct wcodec_encode_settings *settings)
{
    const bool tables = wcodec_tables_wanted(options), alone = options->lossy == WCODEC_LOSSY_NONE;
    *settings = (struct wcodec_encode_settings){
        .level = options->level,
        .latency = options->tune == WCODEC_TUNE_LATENCY,
        .fixed = options->tune == WCODEC_TUNE_COMPUTE_FIXED,
        .fragments = options->tune == WCODEC_TUNE_COMPUTE,
        .tile_log2 = (uint8_t)options->tile_log2,
        .profile = (uint8_t)options->profile, /* the API's values are the format's */
        .verify = !options->no_verify,
        .weights = true,
        .predict = (uint8_t)options->predict,
        .lossy = (uint8_t)(tables && alone ? WCODEC_LOSSY_BITS : options->lossy),
        .lossy_rows = options->lossy_scale == WCODEC_LOSSY_SCALE_ROW,
        .lossy_value = options->lossy_value,
        .tables = {.on = tables,
                   .alone = tables && alone,
                   .anchors = options->vectors_anchors,
                   .bits = options->vectors_bits,
                   .recall = options->vectors_recall},
        .delta = options->bases != NULL,
    };
}

static bool matches(const char *const *patterns, const char *name)
{
    for (size_t i = 0; patterns[i]; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

bool wcodec_encode_options_weights(const wcodec_encode_options *options, const char *name)
{
    return (!options->include || matches(options->include, name)) &&
           (!options->exclude || !matches(options->exclude, name));
}

static wcodec_status keep_patterns(const char *const **list, struct wcodec_arena *arena,
                                   wcodec_error *err)
{
    size_t count = 0;
    if (!*list)
        return WCODEC_OK;
    while ((*list)[count])
        count++;
    const char **copy = wcodec_arena_alloc(arena, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = wcodec_arena_text(arena, (*list)[i], strlen((*list)[i]));
        if (!copy[i])
            copy = NULL;
    }
    if (!copy)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for patterns");
    copy[count] = NULL;
    *list = copy;
    return WCODEC_OK;
}

wcodec_status wcodec_encode_options_keep(wcodec_encode_options *options, struct wcodec_arena *arena,
                                         wcodec_error *err)
{
    wcodec_status status = keep_patterns(&options->include, arena, err);
    if (status == WCODEC_OK)
        status = keep_patterns(&options->exclude, arena, err);
    if (status == WCODEC_OK)
        status = keep_patterns(&options->vectors, arena, err);
    if (status != WCODEC_OK || !options->name)
        return status;
    options->name = wcodec_arena_text(arena, options->name, strlen(options->name));
    return options->name ? WCODEC_OK : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
}

wcodec_status wcodec_encode_options_note(const wcodec_encode_options *options,
                                         struct wcodec_output *output, wcodec_error *err)
{
    output->index.head.settings = (struct wcodec_settings){
        .level = (uint8_t)options->level,
        .tune = (uint8_t)options->tune,
        .profile = (uint8_t)options->profile,
        .tile_log2 = (uint8_t)options->tile_log2,
        .predict = (uint8_t)options->predict,
        .patterns = options->include != NULL || options->exclude != NULL,
        .lossy = options->lossy != WCODEC_LOSSY_NONE || wcodec_tables_wanted(options),
    };
    output->index.mode = options->mode & 07777;
    output->index.mtime = options->mtime < 0 ? -1 : options->mtime;
    /* Names of files are bytes, names in the index UTF-8. This one is only informative: one that
     * cannot be noted is left out. */
    if (!options->name || !wcodec_utf8_valid((const uint8_t *)options->name, strlen(options->name)))
        return WCODEC_OK;
    output->index.name = wcodec_arena_text(&output->arena, options->name, strlen(options->name));
    return output->index.name ? WCODEC_OK : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
}
