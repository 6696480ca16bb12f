/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/error.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = sizeof(((wcodec_error *)0)->text) };

const char *wcodec_status_string(wcodec_status status)
{
    switch (status) {
    case WCODEC_OK:
        return "success";
    case WCODEC_ERROR_USAGE:
        return "wrong usage";
    case WCODEC_ERROR_MEMORY:
        return "out of memory";
    case WCODEC_ERROR_IO:
        return "input or output failed";
    case WCODEC_ERROR_CORRUPT:
        return "corrupt data";
    case WCODEC_ERROR_NEWER:
        return "made by a newer version";
    case WCODEC_ERROR_LIMIT:
        return "limit exceeded";
    case WCODEC_ERROR_CANCELLED:
        return "cancelled";
    case WCODEC_ERROR_BACKEND:
        return "backend not usable";
    case WCODEC_ERROR_DEVICE:
        return "device failed";
    case WCODEC_ERROR_NOT_FOUND:
        return "not found";
    case WCODEC_ERROR_MISMATCH:
        return "data differs";
    case WCODEC_ERROR_UNSUPPORTED:
        return "not supported";
    case WCODEC_ERROR_BUSY:
        return "in use";
    }
    return "unknown status";
}

/* Length of the UTF-8 character at s, or 0 if s does not begin a well-formed one. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey too. */
static bool is_control(const unsigned char *s, size_t length)
{
    return length == 1 ? s[0] < 0x20 || s[0] == 0x7F : length == 2 && s[0] == 0xC2 && s[1] < 0xA0;
}

/* Copy text with control characters and bytes that are no UTF-8 escaped, cut between characters
 * where it does not fit. */
static void put_escaped(char out[TEXT_SIZE], const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t at = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t length = utf8_length(s);
        bool escape = length == 0 || is_control(s, length);
        if (length == 0)
            length = 1;
        size_t need = escape ? 4 * length : length;
        if (at + need >= TEXT_SIZE)
            break;
        for (size_t i = 0; i < length; i++, s++) {
            if (escape) {
                out[at++] = '\\';
                out[at++] = 'x';
                out[at++] = digits[*s >> 4];
                out[at++] = digits[*s & 15];
            } else {
                out[at++] = (char)*s;
            }
        }
    }
    out[at] = '\0';
}

wcodec_status wcodec_fail(wcodec_error *err, wcodec_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    /* Formatted beside err first: arguments may point into err->text. */
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    err->status = status;
    memset(err->reserved, 0, sizeof err->reserved);
    put_escaped(err->text, text[0] ? text : wcodec_status_string(status));
    return status;
}

void wcodec_error_prefix(wcodec_error *err, const char *format, ...)
{
    if (err == NULL)
        return;
    char prefix[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(prefix, sizeof prefix, format, arguments) < 0)
        prefix[0] = '\0';
    va_end(arguments);
    char old[TEXT_SIZE];
    memcpy(old, err->text, sizeof old);
    old[TEXT_SIZE - 1] = '\0';
    put_escaped(err->text, prefix);
    /* A long prefix must not push out what went wrong: it is cut to half. */
    size_t at = strlen(err->text), most = TEXT_SIZE - 3, length = strlen(old);
    if (at + length > most && at > TEXT_SIZE / 2) {
        at = TEXT_SIZE / 2;
        while (((unsigned char)err->text[at] & 0xC0) == 0x80)
            at--;
    }
    err->text[at++] = ':';
    err->text[at++] = ' ';
    size_t take = length < TEXT_SIZE - 1 - at ? length : TEXT_SIZE - 1 - at;
    while (take < length && take > 0 && ((unsigned char)old[take] & 0xC0) == 0x80)
        take--;
    memcpy(err->text + at, old, take);
    err->text[at + take] = '\0';
}
