/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cuda/image.h"

#include <stdlib.h>
#include <string.h>

const void *wcodec_cuda_image(const void *kernels, int capability)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
    static const char target[] = "\n.target sm_";
    const void *found = NULL;
    if (memcmp(kernels, fatbin, sizeof fatbin) == 0)
        return kernels;
    for (const char *text = kernels; *text != '\0'; text += strlen(text) + 1) {
        const char *line = strstr(text, target);
        if (line != NULL && atoi(line + strlen(target)) <= capability)
            found = text;
    }
    return found;
}
