/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/spool.h"
#include "core/system.h"
#include "utils/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int create_in(const char *dir)
{
    char path[4096];
    int fd;
    /* Linux; not every file system there has it. */
#ifdef O_TMPFILE
    fd = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
#endif
    if ((size_t)snprintf(path, sizeof path, "%s/wcodec.XXXXXX", dir) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int spool_create(struct app *app)
{
    const char *dir = wcodec_getenv("TMPDIR");
    if (dir && *dir) {
        int fd = create_in(dir);
        if (fd < 0)
            app_fail_errno(app, dir, "cannot make a temporary file", errno);
        return fd;
    }
    /* Weights are large and /tmp is often memory, so /var/tmp comes first. */
    int fd = create_in("/var/tmp");
    if (fd < 0)
        fd = create_in("/tmp");
    if (fd < 0)
        app_fail_errno(app, "/tmp", "cannot make a temporary file", errno);
    return fd;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, wcodec_call_bytes(size));
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

int spool_copy(struct app *app, int fd, const char *name)
{
    enum { SIZE = 1 << 20 };
    char *buffer = NULL;
    int spool = spool_create(app);
    if (spool < 0 || !(buffer = app_alloc(app, name, SIZE)))
        goto fail;
    for (;;) {
        ssize_t n = signals_pending() ? -1 : read(fd, buffer, SIZE);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0) {
            app_fail_errno(app, name, "cannot read", errno);
            goto fail;
        }
        if (!write_all(spool, buffer, (size_t)n)) {
            app_fail_errno(app, name, "cannot keep it in a temporary file", errno);
            goto fail;
        }
    }
    free(buffer);
    return spool;
fail:
    free(buffer);
    if (spool >= 0)
        close(spool);
    return -1;
}
