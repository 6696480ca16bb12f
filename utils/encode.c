/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/encode.h"
#include "core/system.h"
#include "utils/bases.h"
#include "utils/partial.h"
#include "utils/signals.h"
#include "utils/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool source_open(struct app *app, const struct input *input, struct source *source)
{
    const struct options *o = &app->options;
    wcodec_error err = {0};
    *source = (struct source){.input = input};
    if (o->raw || !input_is_container(input))
        return (o->only.count + o->tensors.count == 0) ||
               app_fail(app, EXIT_USAGE,
                        "%s: is no .wcodec file: --tensor and --only take tensors of these",
                        input->name);
    if (wcodec_reader_open_fd(app->context, input->fd, &source->reader, &err) != WCODEC_OK ||
        wcodec_reader_file(source->reader, 0, &source->info, &err) != WCODEC_OK) {
        app_fail_status(app, input->name, &err);
        source_close(source);
        return false;
    }
    /* What is copied as a whole stays what it is. */
    const bool copied = o->only.count + o->tensors.count == 0 && source_is_copied(app, source);
    if (!copied && bases_set(app, input->path, source->reader, &err) != WCODEC_OK) {
        app_fail_status(app, input->name, &err);
        source_close(source);
        return false;
    }
    if (o->only.count + o->tensors.count == 0)
        return true;
    source->tensors = partial_select(app, input->name, source->reader, &source->count);
    if (source->tensors)
        return true;
    source_close(source);
    return false;
}

void source_close(struct source *source)
{
    free(source->tensors);
    wcodec_reader_close(source->reader);
    source->reader = NULL;
    source->tensors = NULL;
}

bool source_is_copied(const struct app *app, const struct source *source)
{
    return source->tensors || (source->reader && app->options.placed && !app->options.coding);
}

static wcodec_status encode_anew(struct app *app, const struct source *source,
                                 wcodec_write_fn write, void *opaque,
                                 const wcodec_encode_options *encode, wcodec_encode_report *report,
                                 wcodec_error *err)
{
    return source->reader ? wcodec_recompress(source->reader, 0, write, opaque, encode, report, err)
                          : wcodec_compress_fd(app->context, source->input->fd, write, opaque,
                                               encode, report, err);
}

/* What is written before it can be put in order. */
struct spool {
    int fd;
    int error; /* errno of the write that failed */
};

static int write_spool(void *opaque, const void *data, size_t size)
{
    struct spool *spool = opaque;
    for (const char *at = data; size > 0;) {
        const ssize_t n = write(spool->fd, at, wcodec_call_bytes(size));
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return spool->error = errno;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static wcodec_status copy_spool(struct app *app, const struct spool *spool, struct output *output,
                                wcodec_encode_options *encode, wcodec_encode_report *report,
                                wcodec_error *err)
{
    wcodec_reader *reader = NULL;
    wcodec_status status = wcodec_reader_open_fd(app->context, spool->fd, &reader, err);
    if (status != WCODEC_OK)
        return status;
    encode->index_first = 1;
    status = wcodec_copy(reader, NULL, 0, output_write, output, encode, report, err);
    wcodec_reader_close(reader);
    return status;
}

/* The index is known when all else is written: so that goes to a temporary file first. */
static wcodec_status encode_index_first(struct app *app, const struct source *source,
                                        struct output *output, wcodec_encode_options *encode,
                                        wcodec_encode_report *report, wcodec_error *err)
{
    struct spool spool = {.fd = spool_create(app)};
    if (spool.fd < 0)
        return WCODEC_ERROR_IO; /* reported */
    encode->write_at = NULL;
    encode->index_first = 0;
    wcodec_status status = encode_anew(app, source, write_spool, &spool, encode, report, err);
    if (spool.error != 0) {
        app_fail_errno(app, output->name, "cannot be kept in a temporary file (see TMPDIR)",
                       spool.error);
        *err = (wcodec_error){0};
    } else if (status == WCODEC_OK) {
        const wcodec_encode_report first = *report;
        status = copy_spool(app, &spool, output, encode, report, err);
        if (status != WCODEC_OK && output->error == 0) {
            app_fail_status(app, output->name, err);
            *err = (wcodec_error){0};
        }
        memcpy(report->note, first.note, sizeof report->note);
    }
    close(spool.fd);
    return status;
}

wcodec_status source_encode(struct app *app, const struct source *source, struct output *output,
                            wcodec_encode_options *encode, wcodec_encode_report *report,
                            wcodec_error *err)
{
    encode->index_first = app->options.index;
    if (source_is_copied(app, source)) {
        encode->write_at = NULL;
        return wcodec_copy(source->reader, source->tensors, source->count, output_write, output,
                           encode, report, err);
    }
    return encode->index_first
               ? encode_index_first(app, source, output, encode, report, err)
               : encode_anew(app, source, output_write, output, encode, report, err);
}
