/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/options.h"
#include "core/assert.h"
#include "core/error.h"
#include <string.h>

/* Other sizes are of no version's structure, but of one that was not initialized. */
enum { SIZE_LEAST = 2 * sizeof(size_t), SIZE_LARGEST = 1 << 16 };

void wcodec_options_set(void *options, size_t size, const void *defaults, size_t known)
{
    WCODEC_ASSERT(known >= SIZE_LEAST && known <= SIZE_LARGEST);
    if (options == NULL || size < SIZE_LEAST)
        return;
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    memcpy(options, &size, sizeof size);
}

static size_t find_set(const void *bytes, size_t begin, size_t end)
{
    while (begin < end && ((const unsigned char *)bytes)[begin] == 0)
        begin++;
    return begin;
}

wcodec_status wcodec_options_take(const void *from, void *options, size_t known, const char *init,
                                  wcodec_error *err)
{
    size_t size;
    WCODEC_ASSERT(known >= SIZE_LEAST && known <= SIZE_LARGEST);
    memcpy(options, &known, sizeof known);
    if (from == NULL)
        return WCODEC_OK;
    memcpy(&size, from, sizeof size);
    if (size < SIZE_LEAST || size > SIZE_LARGEST)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the options' struct_size is %zu: use %s()",
                           size, init);
    size_t unknown = find_set(from, known, size);
    if (unknown < size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the options hold a setting that wcodec %s does not know (byte %zu)",
                           wcodec_version_string(), unknown);
    memcpy(options, from, size < known ? size : known);
    memcpy(options, &known, sizeof known);
    return WCODEC_OK;
}

wcodec_status wcodec_reserved_check(const void *reserved, size_t size, const char *what,
                                    wcodec_error *err)
{
    if (find_set(reserved, 0, size) == size)
        return WCODEC_OK;
    return wcodec_fail(
        err, WCODEC_ERROR_USAGE,
        "the %s holds a setting that wcodec %s does not know (its reserved members are not 0)",
        what, wcodec_version_string());
}
