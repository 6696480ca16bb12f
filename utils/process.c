/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/process.h"
#include "utils/bases.h"
#include "utils/external.h"
#include "utils/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* A file that we open must never become descriptor 0, 1 or 2: messages would go into it. */
static bool open_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

/* A model folder is read with a file open for each shard, and there are models of more than the
 * 1024 that are usual. No more than that: drivers may go through all descriptors that there could
 * be. */
static void raise_file_limit(void)
{
    /* macOS takes no more than that. */
#ifdef __APPLE__
    enum { ENOUGH = OPEN_MAX };
#else
    enum { ENOUGH = 1 << 16 };
#endif
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < ENOUGH &&
        limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < ENOUGH ? limit.rlim_max : ENOUGH;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* glibc keeps more and more freed memory for each thread, as larger blocks are freed: with many
 * threads much more than is in use. */
static void return_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static void flush_output(struct app *app)
{
    if (app_stdout_good(app)) {
        errno = 0;
        fflush(stdout);
        if (app_stdout_good(app))
            return;
    }
    if (!signals_note_pipe(app->stdout_error))
        app_fail_errno(app, "standard output", "cannot write", app->stdout_error);
}

bool process_begin(void)
{
    if (!open_standard_descriptors())
        return false;
    return_memory();
    raise_file_limit();
    signals_catch();
    return true;
}

void process_free(struct app *app)
{
    progress_end(&app->progress);
    external_free(app);
    bases_free(app);
    wcodec_context_destroy(app->context);
    free(app->made);
    free(app->failure);
}

int process_end(struct app *app)
{
    flush_output(app);
    process_free(app);
    options_free(&app->options);
    signals_raise();
    return app->exit_code;
}
