/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec cat: one tensor, or rows of it, as raw bytes or as a .safetensors file. */
#include "utils/app.h"
#include "utils/bases.h"
#include "utils/input.h"
#include "utils/output.h"
#include "utils/partial.h"
#include "utils/signals.h"

#include <inttypes.h>
#include <stdlib.h>

/* Turn --slice into rows of this tensor. False: reported. */
static bool find_rows(struct app *app, const char *name, const wcodec_tensor_info *info,
                      struct partial_rows *rows)
{
    const struct options *o = &app->options;
    if (info->rank == 0)
        return app_fail(app, EXIT_USAGE, "%s: tensor '%s' is a single number and has no rows", name,
                        info->name);
    uint64_t total = info->shape[0];
    uint64_t end = o->slice_end == UINT64_MAX ? total : o->slice_end;
    if (end > total || o->slice_first > end)
        return app_fail(app, EXIT_USAGE,
                        "%s: tensor '%s' has %" PRIu64 " rows; the slice is outside", name,
                        info->name, total);
    *rows = (struct partial_rows){.first = o->slice_first, .count = end - o->slice_first};
    return true;
}

static bool write_raw(struct app *app, const char *name, const wcodec_reader *reader,
                      uint64_t tensor, const struct partial_rows *rows, struct output *output)
{
    uint64_t size;
    void *data = partial_decode(app, name, reader, tensor, rows, &size);
    bool good = data && (output_write(output, data, (size_t)size) == 0 ||
                         app_fail_errno(app, output->name, "cannot write", output->error));
    free(data);
    return good;
}

static void cat_tensor(struct app *app, const struct input *input, const wcodec_reader *reader)
{
    const struct options *o = &app->options;
    struct partial_rows rows;
    struct output output;
    wcodec_tensor_info info;
    wcodec_error err = {0};
    size_t count;
    const struct stat *file = input->fd >= 0 ? &input->stat : NULL;
    uint64_t *tensor = partial_select(app, input->name, reader, &count);
    if (!tensor)
        return;
    if (wcodec_reader_tensor(reader, tensor[0], &info, &err) != WCODEC_OK) {
        app_fail_status(app, input->name, &err);
    } else if ((!o->slice || find_rows(app, input->name, &info, &rows)) &&
               (o->output ? output_open(app, o->output, file, &output)
                          : output_open_stdout(app, file, &output))) {
        const struct partial_rows *cut = o->slice ? &rows : NULL;
        struct output_attributes attributes = {0};
        output_attributes_narrow_by(&attributes, input, reader);
        bases_narrow(app, reader, -1, &attributes);
        progress_start(&app->progress, info.name, o->output && !o->quiet && !o->no_progress);
        bool good = o->output && path_has_suffix(o->output, ".safetensors")
                        ? partial_write(app, input->name, reader, tensor, 1, cut, &output)
                        : write_raw(app, input->name, reader, tensor[0], cut, &output);
        progress_end(&app->progress);
        if (good && bases_spared(app, output.name))
            output_commit(app, &output, &attributes);
        output_close(&output);
    }
    free(tensor);
}

void command_cat(struct app *app)
{
    const struct options *o = &app->options;
    struct input input;
    wcodec_reader *reader;
    if (o->files.count != 1)
        app_fail(app, EXIT_USAGE,
                 "cat takes one .wcodec file, model folder, or - for standard input");
    else if (o->tensors.count != 1)
        app_fail(app, EXIT_USAGE, "cat needs one --tensor NAME");
    else if (input_open_reader(app, o->files.items[0], &input, &reader)) {
        cat_tensor(app, &input, reader);
        wcodec_reader_close(reader);
        input_close(&input);
    }
}
