/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/progress.h"
#include "utils/signals.h"
#include "utils/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_start(struct progress *progress, const char *name, bool enabled)
{
    progress_end(progress);
    *progress = (struct progress){.name = text_escape(name),
                                  .start = clock_seconds(),
                                  .enabled = enabled && isatty(STDERR_FILENO)};
    progress->last = progress->start;
}

/* Before that, what is left would be a guess: of a large tensor nothing may be done yet. */
static bool has_rate(uint64_t done, uint64_t total, double elapsed)
{
    return elapsed >= 1 && done >= total / 50;
}

static void draw(struct progress *progress, uint64_t done, uint64_t total, double now)
{
    char text[160], size[32], of[32] = "", rate[32], left[64] = "", percent[16] = "";
    double elapsed = now - progress->start;
    const bool rated = has_rate(done, total, elapsed);
    if (total) {
        char sum[32], time_left[32];
        snprintf(percent, sizeof percent, "%5.1f %%  ", 100.0 * (double)done / (double)total);
        snprintf(of, sizeof of, " of %.24s", text_size(total, sum));
        if (rated)
            snprintf(left, sizeof left, "  %s left",
                     text_duration(elapsed * (double)(total - done) / (double)done, time_left));
    }
    int length = snprintf(text, sizeof text, "  %s%s%s%s%s%s", percent, text_size(done, size), of,
                          rated ? "  " : "", rated ? text_rate(done, elapsed, rate) : "", left);
    size_t columns = terminal_columns();
    size_t most = length > 0 && columns > (size_t)length + 1 ? columns - (size_t)length - 1 : 0;

    /* The end of a long name tells more than its beginning. */
    const char *name = progress->name ? progress->name : "";
    for (size_t width = text_width(name); width > most && *name; width--) {
        do
            name++;
        while (((unsigned char)*name & 0xc0) == 0x80);
    }
    fprintf(stderr, "\r%s%.*s\033[K", name, columns > 1 ? (int)columns - 1 : 0, text);
    fflush(stderr);
    progress->shown = true;
}

static int report(void *opaque, uint64_t done, uint64_t total)
{
    struct progress *progress = opaque;
    double now = clock_seconds();
    /* Nothing is drawn for what is over in half a second. */
    if (progress->enabled && now - progress->start >= 0.5 && now - progress->last >= 0.2) {
        progress->last = now;
        draw(progress, done, total && done > total ? done : total, now);
    }
    return signals_pending();
}

wcodec_progress progress_callback(struct progress *progress)
{
    return (wcodec_progress){.fn = report, .opaque = progress};
}

void progress_hide(struct progress *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
}

void progress_end(struct progress *progress)
{
    progress_hide(progress);
    free(progress->name);
    progress->name = NULL;
    progress->enabled = false;
}

double progress_seconds(const struct progress *progress)
{
    return clock_seconds() - progress->start;
}
