/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What compress and rebase do with one input, in steps. */
#ifndef WCODEC_UTILS_COMPRESS_H
#define WCODEC_UTILS_COMPRESS_H

#include "utils/encode.h"

struct compression {
    struct input input;
    struct source source;
};

/* Open and examine an input. False: reported. */
bool compression_open(struct app *app, const char *name, struct compression *c);
void compression_close(struct compression *c);

/* How it is coded, as `output`. False: reported. */
bool compression_options(struct app *app, const struct source *source, const char *output,
                         wcodec_encode_options *encode);

/* All is written: give it its attributes and its name, and say so. False: reported. */
bool compression_commit(struct app *app, const struct source *source,
                        const wcodec_encode_report *report, double seconds, struct output *output);

#endif
