/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include <dirent.h>
#include <limits.h>
#include <unistd.h>

static char folder[256];

void fuzz_folder_clear(void)
{
    DIR *dir = opendir(fuzz_folder());
    FUZZ_REQUIRE(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            FUZZ_REQUIRE(unlink(fuzz_path(e->d_name)) == 0);
    closedir(dir);
}

static void remove_folder(void)
{
    fuzz_folder_clear();
    (void)rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *above = getenv("TMPDIR");
    if (folder[0] == 0) {
        snprintf(folder, sizeof folder, "%.200s/fuzz-%s-XXXXXX", above != NULL ? above : "/tmp",
                 fuzz_target);
        FUZZ_REQUIRE(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
    return folder;
}

const char *fuzz_path(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

void fuzz_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(fuzz_path(name), "wb");
    FUZZ_REQUIRE(f != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, f) == size && fclose(f) == 0);
}
