/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A pickle as a tree of values. Nothing is imported, called or made: a class is its name, and a
 * call is a value that holds what would be called and its arguments. */
#ifndef WCODEC_FORMAT_PICKLE_H
#define WCODEC_FORMAT_PICKLE_H

#include "core/arena.h"
#include "core/cancel.h"
#include <stdbool.h>
#include <wcodec/base.h>

/* A larger pickle is refused; so is one of more values, by which memory is bounded. */
enum { WCODEC_PICKLE_SIZE_MAX = 64 << 20, WCODEC_PICKLE_VALUES_MAX = 1 << 21 };

enum wcodec_pickle_kind {
    WCODEC_PICKLE_OTHER, /* None, booleans, floating point, bytes, sets: not looked into */
    WCODEC_PICKLE_NUMBER,
    WCODEC_PICKLE_TEXT,
    WCODEC_PICKLE_GLOBAL, /* text: module, a blank, name */
    WCODEC_PICKLE_TUPLE,
    WCODEC_PICKLE_LIST,
    WCODEC_PICKLE_DICT,       /* items: key, value, key, value, ... */
    WCODEC_PICKLE_PERSISTENT, /* items: what identifies it */
    WCODEC_PICKLE_OBJECT,     /* items: what is called, its arguments, states that it is given */
};

struct wcodec_pickle_item {
    struct wcodec_pickle_value *value;
    struct wcodec_pickle_item *next;
};

struct wcodec_pickle_value {
    enum wcodec_pickle_kind kind;
    bool is_seen; /* the caller's: values may be shared, and hold themselves */
    int64_t number;
    const char *text;
    struct wcodec_pickle_item *first, *last;
};

/* The value that a pickle of protocol 2 to 5 makes, in the arena. WCODEC_ERROR_CORRUPT if it is
 * none, or has instructions that torch.save() does not write; WCODEC_ERROR_MEMORY;
 * WCODEC_ERROR_CANCELLED (cancel may be NULL). */
wcodec_status wcodec_pickle_read(const uint8_t *bytes, size_t size, struct wcodec_arena *arena,
                                 struct wcodec_cancel *cancel, struct wcodec_pickle_value **value,
                                 wcodec_error *err);

/* Item number i of a value, or NULL. */
struct wcodec_pickle_value *wcodec_pickle_item(const struct wcodec_pickle_value *value, unsigned i);

#endif
