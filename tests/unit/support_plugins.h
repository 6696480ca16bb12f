/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where the fake plugins of the build tree are. */
#ifndef WCODEC_TESTS_UNIT_PLUGINS_SUPPORT_H
#define WCODEC_TESTS_UNIT_PLUGINS_SUPPORT_H

#include "support.h"

/* The absolute path of their folder, the caller's to free(). */
static inline char *support_plugin_folder(void)
{
    const char *build = getenv("top_builddir");
    char relative[4096];
    snprintf(relative, sizeof relative, "%s/backends/fake/.libs", build != NULL ? build : ".");
    char *folder = realpath(relative, NULL);
    if (folder == NULL)
        fail_msg("%s is not there: set top_builddir to the build tree", relative);
    return folder;
}

/* Let contexts find them; a group's set-up. */
static inline int support_find_plugins(void **state)
{
    char *folder = support_plugin_folder();
    (void)state;
    setenv("WCODEC_BACKEND_PATH", folder, 1);
    free(folder);
    return 0;
}

#endif
