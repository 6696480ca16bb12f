/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The stages of a batch, each in a file of its own, and what they share. After a failure, which is
 * noted, the others do nothing. */
#ifndef WCODEC_WRITE_BATCH_WORK_H
#define WCODEC_WRITE_BATCH_WORK_H

#include "write/batch.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WCODEC_WRITE_READ_PIECE = 1 << 20, WCODEC_WRITE_VERIFY_SCRATCH = 1 << 22 };

/* What the threads that work on a batch share. Of failures the first in the order of the file is
 * told. */
struct wcodec_write_work {
    struct wcodec_write_batch *batch;
    pthread_mutex_t lock;
    atomic_bool failed;
    uint64_t failed_position;
    wcodec_status status;
    wcodec_error error;
    struct wcodec_encode_settings settings; /* with the scratch of one item */
    size_t coders;
    atomic_size_t next;                /* item */
    struct wcodec_write_items *coming; /* what is read: the batch's items, also where they are those
                                          ahead meanwhile */
    size_t readers;                    /* threads that read at once */
    atomic_size_t next_piece;          /* of what is read */
    uint64_t read_begin, read_end;     /* of their bytes: what is read and hashed */
    bool is_coded;                     /* all of the batch */
    bool is_settled;                   /* all that is pending was, before */
    bool plans;                      /* the next items are read and planned while these are coded */
    bool is_read;                    /* they were read before */
    uint64_t scratch;                /* that is left for coding beside the writing; 0: too little */
    uint64_t writing_ns, written_ns; /* how long it took to write, and when that ended */
    atomic_bool helps;               /* who has prepared has come to help with writing */
    uint64_t prepared_ns;            /* when what was beside it ended */
};

/* Places of failures: what was pending comes first. */
enum {
    WCODEC_WRITE_PLACE_WRITE = 0,
    WCODEC_WRITE_PLACE_PENDING = 1,
    WCODEC_WRITE_PLACE_BATCH = WCODEC_WRITE_PLACE_PENDING + WCODEC_WRITE_BATCH_ITEMS,
    WCODEC_WRITE_PLACE_NEXT = WCODEC_WRITE_PLACE_BATCH + WCODEC_WRITE_BATCH_ITEMS
};

/* May what it decodes to differ from what it is? */
static inline bool wcodec_write_may_be_lossy(const struct wcodec_write_batch_item *item)
{
    return item->lossy && wcodec_lossy_dtype((wcodec_dtype)item->what.dtype);
}

/* Is there one thread for everything? */
static inline bool wcodec_write_is_alone(const struct wcodec_write_batch *b)
{
    return wcodec_context_threads(b->context) == 1;
}

/* Threads that read, which takes as much of the memory's time as of theirs, while others code. */
static inline size_t wcodec_write_half(const struct wcodec_write_batch *b)
{
    const size_t threads = wcodec_context_threads(b->context);
    return threads < 2 ? 1 : threads / 2;
}

/* batch.c */

/* Free what the items were coded to. */
void wcodec_write_free_coded(const wcodec_allocator *allocator,
                             struct wcodec_write_batch_item *items, size_t count);
/* Of several threads. */
void wcodec_write_note_failure(struct wcodec_write_work *w, uint64_t position, wcodec_status status,
                               const wcodec_error *error);
/* The same, with the tensor's name before what went wrong. */
void wcodec_write_note_item_failure(struct wcodec_write_work *w, uint64_t position,
                                    const struct wcodec_write_batch_item *item,
                                    wcodec_status status, wcodec_error *error);

/* batch_memory.c: bytes, but for the number of coders. */

/* What coding an item of `size` bytes takes beside it and its payload, in one thread. */
uint64_t wcodec_write_least_scratch(const struct wcodec_encode_settings *settings, uint64_t size);
/* The size of the largest item. */
uint64_t wcodec_write_largest_item(const struct wcodec_write_items *items);
/* The payloads that are still to be written. */
uint64_t wcodec_write_pending_size(const struct wcodec_write_batch *b);
/* What is left for coding beside the batch's bytes, its payload and `others`; 0: too little. */
uint64_t wcodec_write_left_over(const struct wcodec_write_batch *b, uint64_t others);
/* The same for the items ahead; `next`: while the batch's are there, too. */
uint64_t wcodec_write_left_ahead(const struct wcodec_write_batch *b, bool next, uint64_t others);
/* Items that a coder has at work at once. */
size_t wcodec_write_count_coders(const struct wcodec_write_batch *b);
/* Set how many items are at work at once, and how much of `scratch` each has. */
void wcodec_write_share_memory(struct wcodec_write_work *w, uint64_t scratch);

/* batch_read.c */

/* Read what is coming, and hash it as part of the original. */
void wcodec_write_read(struct wcodec_write_work *w);
/* In place of reading: the coder has the bytes, and says their hashes. */
void wcodec_write_look(struct wcodec_write_work *w);
/* Find the items that equal entries before them. Entry numbers are known before anything is coded:
 * items become entries in their order. */
void wcodec_write_find_aliases(struct wcodec_write_work *w);

/* batch_code.c */

/* Code the items; those that are not large are settled, too. */
void wcodec_write_code(struct wcodec_write_work *w);
/* Plan the items ahead: one that is large, where others are not coded at the same time. */
void wcodec_write_plan(struct wcodec_write_work *w);

/* batch_settle.c */

/* Verify an item that was made of the bytes at data, if that is asked for, and hash its payload,
 * unless that was done. position: of a failure. */
void wcodec_write_settle(struct wcodec_write_work *w, uint64_t position,
                         struct wcodec_write_batch_item *item, const uint8_t *data);
/* The same of all these items. position: of the first. */
void wcodec_write_settle_items(struct wcodec_write_work *w, struct wcodec_write_items *items,
                               uint64_t position);
/* Bytes of the last batch that are still to be verified. */
uint64_t wcodec_write_unsettled_size(const struct wcodec_write_batch *b);

/* batch_write.c */

/* Write what is pending; `work`: a struct wcodec_write_work. */
void wcodec_write_pending(void *work);
/* The same beside it, by who has nothing else to do. */
void wcodec_write_help(struct wcodec_write_work *w);
/* Be done with what was pending, is written, and has its hashes. */
void wcodec_write_release(struct wcodec_write_batch *b);

#endif
