/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/choice.h"
#include "core/error.h"
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

static wcodec_status bad(const char *origin, const char *text, const char *reason,
                         wcodec_error *err)
{
    return wcodec_fail(
        err, WCODEC_ERROR_USAGE,
        "%s is \"%s\": %s; expected auto, cpu, cuda, opencl, a device like cuda:1, or a list of these",
        origin, text, reason);
}

static bool add(struct wcodec_choice *choice, const char *name, size_t length, bool any_device,
                unsigned device, bool automatic)
{
    if (choice->count == WCODEC_CHOICE_MAX)
        return false;
    memcpy(choice->items[choice->count].name, name, length);
    choice->items[choice->count].name[length] = '\0';
    choice->items[choice->count].any_device = any_device;
    choice->items[choice->count].device = device;
    choice->items[choice->count].automatic = automatic;
    choice->count++;
    return true;
}

static bool add_automatic(struct wcodec_choice *choice)
{
    return add(choice, "cuda", 4, true, 0, true) && add(choice, "opencl", 6, true, 0, true) &&
           add(choice, "cpu", 3, true, 0, true);
}

/* Parse one item at *at and go past it. NULL, or what is wrong. */
static const char *parse_item(const char **at, struct wcodec_choice *choice)
{
    const char *name = *at;
    size_t length = 0;
    while (is_name_char(name[length]))
        length++;
    if (length == 0)
        return "a name is missing";
    if (length > WCODEC_BACKEND_NAME_MAX)
        return "a name is too long";
    const char *s = name + length;
    bool any_device = *s != ':';
    unsigned device = 0;
    if (!any_device) {
        if (!is_digit(*++s))
            return "a device number is missing";
        for (; is_digit(*s); s++) {
            device = device * 10 + (unsigned)(*s - '0');
            if (device > 9999)
                return "a device number is too large";
        }
    }
    *at = s;
    bool automatic = length == 4 && memcmp(name, "auto", 4) == 0;
    if (automatic && !any_device)
        return "auto has no device numbers";
    if (automatic ? !add_automatic(choice) : !add(choice, name, length, any_device, device, false))
        return "the list is too long";
    return NULL;
}

wcodec_status wcodec_choice_parse(const char *text, const char *origin,
                                  struct wcodec_choice *choice, wcodec_error *err)
{
    if (text == NULL)
        text = "auto";
    struct wcodec_choice result = {0};
    for (const char *at = text;; at++) {
        const char *wrong = parse_item(&at, &result);
        if (wrong != NULL)
            return bad(origin, text, wrong, err);
        if (*at == '\0')
            break;
        if (*at != ',')
            return bad(origin, text, "a character is out of place", err);
    }
    *choice = result;
    return WCODEC_OK;
}
