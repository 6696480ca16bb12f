/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Text for people: escaped names, sizes, times. Nothing here depends on the locale. */
#ifndef WCODEC_UTILS_TEXT_H
#define WCODEC_UTILS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A copy of `text` in which control characters (C0, DEL, C1), bytes that are no UTF-8, and
 * characters that turn the direction of writing are \xNN, so that a name cannot change the
 * terminal. The caller frees it. NULL: out of memory. */
char *text_escape(const char *text);

/* JSON text in which the same characters, as far as JSON leaves them as they are, have become
 * \uNNNN. It has no line breaks but those in it. The caller frees it. NULL: out of memory. */
char *text_escape_json(const char *json);

/* Is it well-formed UTF-8? */
bool text_is_utf8(const char *text);

/* Columns that UTF-8 text takes, one a code point. */
size_t text_width(const char *text);

/* "1.23 GiB"; dst has at least 32 bytes. */
const char *text_size(uint64_t size, char *dst);

/* "45.2 MB/s", of three digits; dst has at least 32 bytes. */
const char *text_rate(uint64_t size, double seconds, char *dst);

/* "1:02:03" or "0:05"; dst has at least 32 bytes. */
const char *text_duration(double seconds, char *dst);

/* "[2, 3]"; a shape of rank 0 is "[]". The caller frees it. */
char *text_shape(const uint64_t *shape, unsigned rank);

void text_hex(const uint8_t *bytes, size_t size, char *dst);

#endif
