/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Walks over the members of a JSON object in text. Only punctuation, and where a value ends, is
 * understood here: every piece is then given to jansson, one at a time. A tree of a whole
 * safetensors header would take ten and more times its size (forty times, if it is hostile). */
#ifndef WCODEC_FORMAT_JSON_TEXT_H
#define WCODEC_FORMAT_JSON_TEXT_H

#include "core/arena.h"
#include "core/bytes.h"

/* Objects and arrays within each other, as the reference's JSON library limits them. */
enum { WCODEC_JSON_DEPTH_MAX = 127 };

struct wcodec_json_span {
    const uint8_t *at;
    size_t size;
};

/* Called for each member in order: the key with its quotes, and the value, both as they stand. */
typedef wcodec_status (*wcodec_json_member_fn)(void *opaque, struct wcodec_json_span key,
                                               struct wcodec_json_span value, wcodec_error *err);

/* Walk over the one object that `text` is (blanks around it are allowed), which stands inside
 * `depth` others. WCODEC_ERROR_CORRUPT if it is none, or what fn returns other than WCODEC_OK. */
wcodec_status wcodec_json_members(struct wcodec_json_span text, unsigned depth,
                                  wcodec_json_member_fn fn, void *opaque, wcodec_error *err);

/* A string's value, in the arena. WCODEC_ERROR_CORRUPT (no valid string, or one with a NUL; `what`
 * says which string it is), WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_json_string(struct wcodec_arena *arena, struct wcodec_json_span span,
                                 const char *what, const char **text, wcodec_error *err);

/* An array of integers from 0 to 2^48, in the arena. */
wcodec_status wcodec_json_integers(struct wcodec_arena *arena, struct wcodec_json_span span,
                                   const char *what, const uint64_t **values, size_t *count,
                                   wcodec_error *err);

/* Is it valid JSON? */
wcodec_status wcodec_json_check(struct wcodec_json_span span, wcodec_error *err);

#endif
