/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/tables.h"

#include "core/error.h"
#include "encode/anchored.h"
#include "write/encode_options.h"

#include <fnmatch.h>

static const char *refuses(const wcodec_encode_options *o, const struct wcodec_entry *what)
{
    if (!wcodec_encode_options_weights(o, what->name))
        return "its name is left out";
    return wcodec_anchored_refuses((wcodec_dtype)what->dtype, what->shape, what->rank,
                                   o->vectors_anchors);
}

bool wcodec_tables_has(const wcodec_encode_options *o, const struct wcodec_entry *what)
{
    if (!what->is_tensor || !wcodec_tables_wanted(o) || refuses(o, what) != NULL)
        return false;
    if (o->vectors == NULL)
        return wcodec_anchored_suits(what->shape);
    for (size_t i = 0; o->vectors[i] != NULL; i++)
        if (fnmatch(o->vectors[i], what->name, 0) == 0)
            return true;
    return false;
}

static wcodec_status check_pattern(const wcodec_encode_options *o, const char *pattern,
                                   wcodec_tables_tensor_fn tensor, const void *opaque,
                                   uint64_t count, wcodec_error *err)
{
    struct wcodec_entry first;
    const char *reason = NULL;
    for (uint64_t i = 0; i < count; i++) {
        const struct wcodec_entry what = tensor(opaque, i);
        if (fnmatch(pattern, what.name, 0) != 0)
            continue;
        const char *why = refuses(o, &what);
        if (why == NULL)
            return WCODEC_OK;
        if (reason == NULL) {
            first = what;
            reason = why;
        }
    }
    if (reason == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "no tensor's name matches \"%.200s\", which is to be coded by anchors",
                           pattern);
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "no tensor that matches \"%.200s\" can be coded by anchors: \"%.200s\": %s",
                       pattern, first.name, reason);
}

wcodec_status wcodec_tables_check(const wcodec_encode_options *o, wcodec_tables_tensor_fn tensor,
                                  const void *opaque, uint64_t count, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (o->vectors_optional)
        return WCODEC_OK;
    for (size_t i = 0; o->vectors != NULL && o->vectors[i] != NULL && status == WCODEC_OK; i++)
        status = check_pattern(o, o->vectors[i], tensor, opaque, count, err);
    return status;
}

void wcodec_tables_settings(struct wcodec_encode_settings *s)
{
    s->anchored = true;
    s->lossy = s->tables.recall != 0 ? WCODEC_LOSSY_SNR : WCODEC_LOSSY_BITS;
    s->lossy_value = s->tables.bits;
    s->lossy_rows = false;
}
