/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a tensor in records (doc/format.md 3.1). */
#ifndef WCODEC_ENCODE_RECORDS_H
#define WCODEC_ENCODE_RECORDS_H

#include "encode/encode.h"

/* The fields of a tensor in records as they are coded, in the order of the format. */
struct wcodec_coded_records {
    const wcodec_allocator *allocator;
    struct wcodec_records records; /* parameters are not set */
    uint8_t dtypes[WCODEC_RECORD_FIELDS_MAX];
    struct wcodec_coded fields[WCODEC_RECORD_FIELDS_MAX]; /* own the data of the tensor's parts */
    uint8_t zeros[256];                                   /* but for these, between fields */
};

/* Code a tensor of weights by settings->geometry, and verify it if the settings say so, unless it
 * takes fewer bytes as it is. *done: `coded` is set; else it is to be coded as it is. Takes up to
 * `size` bytes beside the payload. WCODEC_ERROR_MEMORY, _CANCELLED, _DEVICE. */
wcodec_status wcodec_records_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                  const void *data, uint64_t size, struct wcodec_coded *coded,
                                  bool *done, wcodec_error *err);

/* Decode what was coded in records and compare it with the data. WCODEC_ERROR_DEVICE, _MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_coded_verify_records(wcodec_context *context,
                                          const struct wcodec_encode_settings *settings,
                                          const struct wcodec_coded *coded, const void *data,
                                          wcodec_error *err);

/* Write the parameters; at most WCODEC_RECORDS_MAX_BYTES. */
size_t wcodec_coded_records_write(const struct wcodec_coded *coded, uint8_t *bytes);

/* What a tensor was coded to as a field has it; not the parameters of tiles. */
void wcodec_coded_note(const struct wcodec_coded *coded, struct wcodec_record_field *field);

/* Its coding, size of the payload and parameters, as records of deltas and of masked tensors have
 * them of a part; at most WCODEC_RECORD_CODING_MAX bytes. */
size_t wcodec_coded_put_part(const struct wcodec_coded *coded, uint8_t *to);
/* Zeros up to the next multiple of 16 of a payload, whose list of parts has room for one more, and
 * a part's payload after them. False if memory is short. */
bool wcodec_coded_add_part(struct wcodec_coded *coded, struct wcodec_coded *part);

/* Settings of what is coded as a part of a tensor: it has no view as a matrix and no loss, and is
 * no records. */
struct wcodec_encode_settings wcodec_part_settings(const struct wcodec_encode_settings *settings);

void wcodec_coded_records_free(struct wcodec_coded_records *records);

#endif
