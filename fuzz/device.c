/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/device.h"
#include "backends/emulate/fibers.h"
#include "fuzz/fuzz.h"
#include <limits.h>

static wcodec_context *open_context(void)
{
    const uint16_t one = 1;
    const char *build = getenv("top_builddir");
    char relative[PATH_MAX], folder[PATH_MAX];
    wcodec_context *context;
    wcodec_options options;
    wcodec_error err;
    snprintf(relative, sizeof relative, "%s/backends/fake/.libs", build != NULL ? build : ".");
    if (!wcodec_fibers_supported() || *(const uint8_t *)&one != 1)
        return NULL;
    if (getenv("WCODEC_BACKEND_PATH") == NULL && realpath(relative, folder) != NULL)
        setenv("WCODEC_BACKEND_PATH", folder, 1);
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "fake";
    if (wcodec_context_create(&options, &context, &err) == WCODEC_OK)
        return context;
    fprintf(stderr, "%s: not run: %s\n", fuzz_target, err.text);
    return NULL;
}

wcodec_context *fuzz_device_context(void)
{
    static wcodec_context *context;
    static bool tried;
    if (!tried)
        context = open_context();
    tried = true;
    if (context == NULL)
        fuzz_deep = 1; /* nothing to be run here */
    return context;
}
