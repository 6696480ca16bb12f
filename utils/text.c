/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 character at p, and its code point; 0 if there is none. */
static size_t utf8_take(const unsigned char *p, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80             ? 1
               : (p[0] & 0xe0) == 0xc0 ? 2
               : (p[0] & 0xf0) == 0xe0 ? 3
               : (p[0] & 0xf8) == 0xf0 ? 4
                                       : 0;
    if (n == 0)
        return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
        return 0;
    *code = c;
    return n;
}

static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Each unsafe character as \\xNN a byte, or for JSON, where all is UTF-8, as \\uNNNN. */
static char *escape(const char *text, bool json)
{
    enum { WIDEST = 6 };
    size_t length = strlen(text);
    char *escaped = length <= SIZE_MAX / WIDEST - 1 ? malloc(length * WIDEST + 1) : NULL;
    if (!escaped)
        return NULL;
    char *at = escaped;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        uint32_t code = 0;
        size_t n = utf8_take(p, &code);
        if (n && json && is_unsafe(code)) {
            at += snprintf(at, WIDEST + 1, "\\u%04" PRIx32, code);
            p += n;
        } else if (n == 0 || is_unsafe(code)) {
            for (size_t i = n ? n : 1; i > 0; i--, at += 4)
                snprintf(at, 5, "\\x%02x", *p++);
        } else {
            memcpy(at, p, n);
            at += n;
            p += n;
        }
    }
    *at = 0;
    return escaped;
}

char *text_escape(const char *text)
{
    return escape(text, false);
}

char *text_escape_json(const char *json)
{
    return escape(json, true);
}

bool text_is_utf8(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        uint32_t code;
        size_t n = utf8_take(p, &code);
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

const char *text_size(uint64_t size, char *dst)
{
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double value = (double)size;
    while (value >= 1023.995 && unit < 6) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(dst, 32, "%" PRIu64 " B", size);
    else
        snprintf(dst, 32, "%.2f %s", value, units[unit]);
    return dst;
}

const char *text_rate(uint64_t size, double seconds, char *dst)
{
    static const char units[][4] = {"B", "kB", "MB", "GB", "TB"};
    double value = seconds > 0 ? (double)size / seconds : 0;
    unsigned unit = 0;
    while (value >= 999.5 && unit < 4) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(dst, 32, "%.*f %s/s", decimals, value, units[unit]);
    return dst;
}

const char *text_duration(double seconds, char *dst)
{
    if (!(seconds >= 0) || seconds > 359999)
        seconds = 359999;
    unsigned s = (unsigned)(seconds + 0.5);
    if (s >= 3600)
        snprintf(dst, 32, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(dst, 32, "%u:%02u", s / 60, s % 60);
    return dst;
}

char *text_shape(const uint64_t *shape, unsigned rank)
{
    char *text = malloc((size_t)rank * 22 + 3);
    if (!text)
        return NULL;
    char *at = text;
    *at++ = '[';
    for (unsigned i = 0; i < rank; i++)
        at += snprintf(at, 23, "%s%" PRIu64, i ? ", " : "", shape[i]);
    *at++ = ']';
    *at = 0;
    return text;
}

void text_hex(const uint8_t *bytes, size_t size, char *dst)
{
    for (size_t i = 0; i < size; i++)
        snprintf(dst + 2 * i, 3, "%02x", bytes[i]);
}
