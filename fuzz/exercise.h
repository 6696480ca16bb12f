/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Everything that can be done with a container in memory, with what must hold whatever its bytes
 * are. */
#ifndef WCODEC_FUZZ_EXERCISE_H
#define WCODEC_FUZZ_EXERCISE_H

#include <wcodec/reader.h>

struct exercise_result {
    wcodec_status status; /* of opening, else of restoring */
    const char *stage;    /* "open", "restore"; "ok" */
    wcodec_error err;
    uint8_t *restored; /* the caller's to free; NULL unless status is WCODEC_OK */
    size_t size;
};

/* Open, list, restore, test, decode all tensors, and rows of them. Originals above 16 MiB are not
 * restored: status WCODEC_ERROR_LIMIT. */
void exercise_file(wcodec_context *context, const uint8_t *data, size_t size,
                   struct exercise_result *result);

/* The same of a reader that is open. */
void exercise_reader(const wcodec_reader *reader, struct exercise_result *result);

#endif
