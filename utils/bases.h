/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* --base: the files that deltas are coded against, and decoded by. */
#ifndef WCODEC_UTILS_BASES_H
#define WCODEC_UTILS_BASES_H

#include "utils/app.h"
#include "utils/input.h"
#include "utils/output.h"

/* The set with the files of --base, that tensors are coded against, and what these need; opened on
 * first use, it belongs to `app`. */
wcodec_status bases_given(struct app *app, wcodec_bases **bases, wcodec_error *err);

/* Where a reader has deltas, have it decode them: by the files of --base (and of rebase's --from),
 * and by others that are in the folder of `path` (NULL: it has none). What the tensors that are
 * asked for need must be there; nothing need be for what lists files, or keeps going. */
wcodec_status bases_set(struct app *app, const char *path, wcodec_reader *reader,
                        wcodec_error *err);

/* wcodec_reader_open_fd() of an input, and this. */
wcodec_status bases_open_reader(struct app *app, wcodec_context *context, const struct input *input,
                                wcodec_reader **reader, wcodec_error *err);

/* Does a reader have tensors that need a base? */
bool bases_needed(const wcodec_reader *reader);

/* Is the output none of the bases that are at hand? False: it is, which is reported. */
bool bases_spared(struct app *app, const char *output);

/* A file that deltas are made of. */
struct base_link {
    const uint8_t *hash; /* 16 bytes */
    uint64_t size;
    const char *path; /* NULL: it is not at hand */
    const char *of;   /* the base that is made of it; NULL: the reader's own file */
};
typedef void (*base_fn)(void *opaque, const struct base_link *link);
/* Each file that tensors `begin` to `end` of a reader need to be decoded by the set, once. False:
 * no memory. */
bool bases_each(const struct app *app, const wcodec_bases *bases, const wcodec_reader *reader,
                uint64_t begin, uint64_t end, base_fn visit, void *opaque);

/* Of what is made from a reader's tensors (NULL: of no reader's) nobody may do more than with the
 * bases that these need, or the container in `made` needs (-1: it is none). */
void bases_narrow(const struct app *app, const wcodec_reader *reader, int made,
                  struct output_attributes *attributes);

/* Are all deltas of a reader made of files that were given? */
bool bases_match(struct app *app, const wcodec_reader *reader);

void bases_free(struct app *app);

#endif
