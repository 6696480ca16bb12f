/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What encoders see of a set of bases (wcodec/bases.h), which readers implement. */
#ifndef WCODEC_FORMAT_BASE_FETCH_H
#define WCODEC_FORMAT_BASE_FETCH_H

#include "encode/delta.h"
#include "format/index.h"
#include <wcodec/bases.h>

/* What struct wcodec_bases begins with. */
struct wcodec_base_fetch {
    /* Is there a tensor of that name, dtype and shape? */
    bool (*has)(const wcodec_bases *bases, const struct wcodec_entry *what);
    /* Its bytes to dst, what->size of them, and whose they are; base->bytes is dst. */
    wcodec_status (*fetch)(const wcodec_bases *bases, const struct wcodec_entry *what, uint8_t *dst,
                           struct wcodec_delta_base *base, wcodec_error *err);
    /* Is the file of hash `base` that of `hash`, or is that one needed to decode it? */
    bool (*needs)(const wcodec_bases *bases, const uint8_t base[16], const uint8_t hash[16]);
    /* NULL, or as `fetch`, without a copy of what is in memory. False: it is not. */
    bool (*place)(const wcodec_bases *bases, const struct wcodec_entry *what,
                  struct wcodec_delta_base *base);
};

static inline const struct wcodec_base_fetch *wcodec_base_fetch_of(const wcodec_bases *bases)
{
    return (const struct wcodec_base_fetch *)(const void *)bases;
}

#endif
