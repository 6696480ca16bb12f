/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Is what an output is to hold there already? */
#ifndef WCODEC_UTILS_CURRENT_H
#define WCODEC_UTILS_CURRENT_H

#include "utils/describe.h"
#include "utils/encode.h"

/* How a file was made that is there already. */
struct current {
    bool as_asked;
    char settings[DESCRIBE_SETTINGS];
};

/* Does `path` hold this input already, exactly: same size and hash? With --rm it is tested in
 * full, for the input will be gone: *damage says what is wrong with it. False is no error. */
bool current_is(struct app *app, const char *path, const struct source *source,
                struct current *found, wcodec_error *damage);

/* Say so. Options that were given are a wish, which the file may not meet. */
void current_print(struct app *app, const char *target, const struct current *current);

/* Is a delta asked for? */
bool current_is_delta_wanted(const struct options *o);

#endif
