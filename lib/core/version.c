/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include <wcodec/base.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

unsigned wcodec_version_number(void)
{
    return WCODEC_VERSION_NUMBER;
}

const char *wcodec_version_string(void)
{
    return TEXT(WCODEC_VERSION_MAJOR) "." TEXT(WCODEC_VERSION_MINOR) "." TEXT(WCODEC_VERSION_PATCH);
}
