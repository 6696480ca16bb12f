/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How far approximated tensors are from their originals, in words and in JSON. */
#ifndef WCODEC_UTILS_LOSSY_H
#define WCODEC_UTILS_LOSSY_H

#include "utils/json.h"
#include <wcodec/reader.h>

/* Sums over tensors. */
struct lossy_figures {
    uint64_t tensors;
    uint64_t elements;
    double errors;  /* squared, summed */
    double squares; /* of the originals, summed */
    double largest; /* absolute error */
};

/* Add what the encoder measured of a tensor; nothing if it is not lossy. */
void lossy_add(struct lossy_figures *figures, const wcodec_tensor_info *info);

/* Those of all tensors of a file. */
struct lossy_figures lossy_of_file(const wcodec_reader *reader, const wcodec_file_info *file);

/* Signal-to-noise ratio in decibels; infinite without errors. */
double lossy_snr(const struct lossy_figures *figures);

enum { LOSSY_TEXT = 80 };
/* "25.31" or "exact"; dst has at least LOSSY_TEXT bytes. */
const char *lossy_snr_text(const struct lossy_figures *figures, char *dst);
/* "SNR 25.31 dB, largest error 0.0123" likewise. */
const char *lossy_text(const struct lossy_figures *figures, char *dst);

/* {"snr_db", "largest_error", "mean_squared_error", "mean_square"}; null for an SNR without errors.
 * NULL: out of memory. */
json_t *lossy_json(const struct lossy_figures *figures);

/* Compares a restored file with its original, front to back: approximated tensors are measured, all
 * else must be equal. Begins zeroed, but for `reader`. */
struct lossy_meter {
    const wcodec_reader *reader;
    struct lossy_figures figures; /* of the approximated tensors that were seen whole */
    uint64_t entry;               /* the next to come */
    wcodec_tensor_info info;      /* the one before it */
    uint64_t left;                /* its bytes that are to come */
    struct lossy_figures now;     /* of that entry */
    unsigned held;                /* bytes of an element that is not whole yet */
    uint8_t restored[4], original[4];
};

/* The next `size` bytes of both. Returns how many are as they should be: less than `size` where one
 * differs that must not, or a tensor is further off than the file says, which is seen at an element
 * of it. */
size_t lossy_compare(struct lossy_meter *meter, const uint8_t *restored, const uint8_t *original,
                     size_t size);

#endif
