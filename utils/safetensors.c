/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

char *safetensors_begin(json_t *header, size_t *size)
{
    enum { WORD = 8 };
    char *text = header ? json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(header);
    if (!text)
        return NULL;
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    char *whole = malloc(WORD + padded);
    if (whole) {
        for (unsigned i = 0; i < WORD; i++)
            whole[i] = (char)((uint64_t)padded >> (8 * i));
        memcpy(whole + WORD, text, length);
        memset(whole + WORD + length, ' ', padded - length);
        *size = WORD + padded;
    }
    free(text);
    return whole;
}
