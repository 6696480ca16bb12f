/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A set of distinct names, each with a number: hashed with a seed of its own, so that nobody can
 * prepare names that collide. */
#ifndef WCODEC_FORMAT_NAMES_H
#define WCODEC_FORMAT_NAMES_H

#include <stdbool.h>
#include <wcodec/context.h>

struct wcodec_names {
    const wcodec_allocator *allocator;
    struct wcodec_name_slot *slots; /* NULL: empty */
    uint64_t mask;
    uint64_t seed;
};

/* Bytes that a set with room for `count` names takes. */
uint64_t wcodec_names_memory(uint64_t count);

/* Room for `count` names. False if memory is short. */
bool wcodec_names_init(struct wcodec_names *names, const wcodec_allocator *allocator,
                       uint64_t count);
void wcodec_names_free(struct wcodec_names *names);

/* Add a name, which must stay in memory. False if it is there already: then *number is set to its
 * number. At most `count` names in all. */
bool wcodec_names_add(struct wcodec_names *names, const char *name, uint64_t *number);

/* Number of a name; false if it is not there. */
bool wcodec_names_find(const struct wcodec_names *names, const char *name, uint64_t *number);

/* UTF-8 without overlong forms, surrogates and U+0000. */
bool wcodec_utf8_valid(const uint8_t *bytes, size_t size);

#endif
