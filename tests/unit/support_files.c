/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_files.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/wcodec-unit-XXXXXX";

int support_enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

int support_leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

unsigned support_count_names(void)
{
    unsigned count = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir));)
        count += strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    closedir(dir);
    return count;
}

void support_put_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}
