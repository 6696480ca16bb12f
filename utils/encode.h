/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How an input of compress becomes a container: compressed, compressed anew, or copied. */
#ifndef WCODEC_UTILS_ENCODE_H
#define WCODEC_UTILS_ENCODE_H

#include "utils/app.h"
#include "utils/input.h"
#include "utils/output.h"

struct source {
    const struct input *input;
    wcodec_reader *reader; /* NULL: it is no container, or taken as it is (--raw) */
    wcodec_file_info info; /* of the reader */
    uint64_t *tensors;     /* NULL, or those that are copied */
    size_t count;
};

/* Look what an input is, and which tensors of it are asked for. False: reported. */
bool source_open(struct app *app, const struct input *input, struct source *source);
void source_close(struct source *source);

/* Is it copied as it is coded? */
bool source_is_copied(const struct app *app, const struct source *source);

/* By `encode`, in which write_at is set where the output takes it. Where *err is left as it was,
 * the failure has been reported. */
wcodec_status source_encode(struct app *app, const struct source *source, struct output *output,
                            wcodec_encode_options *encode, wcodec_encode_report *report,
                            wcodec_error *err);

#endif
