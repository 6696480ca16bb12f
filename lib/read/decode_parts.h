/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The parts of a tensor whose coding is made of others: entries in its payload, each with a decoder
 * of its own. For decode_*.c. */
#ifndef WCODEC_READ_DECODE_PARTS_H
#define WCODEC_READ_DECODE_PARTS_H

#include "read/decode.h"

#include <stdatomic.h>

enum { WCODEC_DECODER_PARTS_MAX = 3 };

/* Zeros before it is begun. */
struct wcodec_decoder_parts {
    struct wcodec_source payload; /* memory, or the file */
    struct wcodec_entry entries[WCODEC_DECODER_PARTS_MAX];
    struct wcodec_decoder decoders[WCODEC_DECODER_PARTS_MAX];
    bool open[WCODEC_DECODER_PARTS_MAX];
    uint8_t *buffers[WCODEC_DECODER_PARTS_MAX]; /* what was decoded last */
    uint64_t sizes[WCODEC_DECODER_PARTS_MAX];
};

/* Those of the entry of `d`. What is open is closed by wcodec_decoder_parts_close(), in any case.
 */
void wcodec_decoder_parts_begin(struct wcodec_decoder *d, struct wcodec_decoder_parts *parts);
/* Open part i, of this entry. */
wcodec_status wcodec_decoder_parts_open(struct wcodec_decoder *d,
                                        struct wcodec_decoder_parts *parts, unsigned i,
                                        const struct wcodec_entry *entry, wcodec_error *err);
/* Bytes [begin, end) of part i to its buffer, and `zeros` bytes of 0 after them. */
wcodec_status wcodec_decoder_parts_range(struct wcodec_decoder *d,
                                         struct wcodec_decoder_parts *parts, unsigned i,
                                         uint64_t begin, uint64_t end, uint64_t zeros,
                                         wcodec_error *err);
void wcodec_decoder_parts_close(struct wcodec_decoder *d, struct wcodec_decoder_parts *parts);

/* By any thread: *first becomes `at` if that is less. */
static inline void wcodec_note_first(_Atomic uint64_t *first, uint64_t at)
{
    uint64_t least = atomic_load(first);
    while (at < least && !atomic_compare_exchange_weak(first, &least, at))
        ;
}

#endif
