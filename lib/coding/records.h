/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that are arrays of records of one size (doc/format.md 3.1), as quantised weights in
 * blocks with their scales are: each field of the records is an array of its own, coded as a tensor
 * is. */
#ifndef WCODEC_CODING_RECORDS_H
#define WCODEC_CODING_RECORDS_H

#include "coding/packed.h"

enum {
    WCODEC_RECORDS_FORM = 1,  /* the only one so far */
    WCODEC_RECORD_MAX = 4096, /* bytes of a record */
    WCODEC_RECORD_FIELDS_MAX = 16
};

/* How a tensor's bytes may be cut: what an encoder is proposed. The fields cover the record. */
struct wcodec_record_geometry {
    uint16_t record_size;
    uint8_t field_count;
    struct {
        uint16_t offset, width; /* bytes */
        uint8_t dtype;          /* how to read the array: enum wcodec_dtype */
    } fields[WCODEC_RECORD_FIELDS_MAX];
};

/* One field of all records: an array of `size` bytes. */
struct wcodec_record_field {
    uint16_t offset, width; /* bytes, in a record */
    uint8_t coding;         /* as on disk: 0 constant, 1 tiles, 2 chunks, 8 packed */
    union {
        struct {
            uint8_t element_log2;
            uint8_t element[8];
        } constant;
        uint64_t chunk;
    } u;
    uint32_t unpacked_size; /* packed: as in struct wcodec_entry; else 0 */
    uint64_t payload_size;
    const uint8_t *parameters; /* tiles and packed: of the tiling, where they were read from */
    size_t parameters_size;
    /* Derived. */
    uint64_t size;
    uint64_t payload_begin; /* in the tensor's payload */
};

struct wcodec_records {
    uint16_t record_size;
    uint8_t field_count;
    struct wcodec_record_field fields[WCODEC_RECORD_FIELDS_MAX];
    /* Derived. */
    uint64_t count; /* of records */
};

/* Check that each byte of a record is in exactly one field, and derive sizes and places for a
 * tensor of `size` > 0 bytes with such a payload. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_records_derive(struct wcodec_records *records, uint64_t size,
                                    uint64_t payload_size, wcodec_error *err);

/* Parse the parameters of an index record (all that is left in cursor), and check all that they
 * say of a tensor of `size` bytes with such a payload. *newer is set, and nothing else, where the
 * form, or a field's coding, is none that this version knows. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_records_read(struct wcodec_cursor *cursor, uint64_t size,
                                  uint64_t payload_size, struct wcodec_records *records,
                                  bool *newer, wcodec_error *err);

/* Coding, payload size, and length and parameters of the coding, as fields have them after offset
 * and width, and parts of deltas (coding/delta.h); at most WCODEC_RECORD_CODING_MAX bytes. */
#define WCODEC_RECORD_CODING_MAX (1 + 10 + 2 + 5 + (size_t)WCODEC_TILING_MAX_BYTES)
size_t wcodec_record_coding_write(const struct wcodec_record_field *field, uint8_t *bytes);
#define WCODEC_RECORDS_MAX_BYTES \
    (5 + (size_t)WCODEC_RECORD_FIELDS_MAX * (4 + WCODEC_RECORD_CODING_MAX))
/* Write the parameters; returns the number of bytes, at most WCODEC_RECORDS_MAX_BYTES. */
size_t wcodec_records_write(const struct wcodec_records *records, uint8_t *bytes);

/* `width` bytes at `offset` of each of `count` records of record_size bytes, one after the other,
 * and back. */
void wcodec_record_gather(const uint8_t *records, size_t record_size, size_t offset, size_t width,
                          size_t count, uint8_t *array);
void wcodec_record_scatter(const uint8_t *array, size_t record_size, size_t offset, size_t width,
                           size_t count, uint8_t *records);

#endif
