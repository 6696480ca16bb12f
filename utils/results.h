/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* --json of compress, decompress, test, convert and rebase: an object for each file, on standard
 * output. Nothing happens without that option. */
#ifndef WCODEC_UTILS_RESULTS_H
#define WCODEC_UTILS_RESULTS_H

#include "utils/app.h"
#include <jansson.h>

/* False: data goes where the results would go, which is reported. */
bool results_begin(struct app *app);
void results_end(struct app *app);

/* One file: "compressed", "restored", "converted", "copied" or "up to date", with further members,
 * which are freed (NULL: none). */
void results_add(struct app *app, const char *path, const char *output, const char *status,
                 json_t *members);
/* One that failed, with the last error that was reported. */
void results_add_failure(struct app *app, const char *path);
/* One of which a part was written, as results_add(); what is damaged has been reported. */
void results_add_damaged(struct app *app, const char *path, const char *output, const char *status,
                         json_t *members);

/* Any other object, which is freed (NULL, no memory: reported). */
void results_item(struct app *app, json_t *item);

#endif
