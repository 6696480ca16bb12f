/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A load inside. A *request* is the caller's items as ranges of entries. It is cut into *pieces*,
 * which are staged in host memory, copied and decoded together; a piece is made of *parts*. Each
 * stream has a *slot*, which holds a piece from reading to its end; a worker thread leads some
 * slots through their stages, one after the other, and the workers are at different stages. */
#ifndef WCODEC_LOAD_LOAD_H
#define WCODEC_LOAD_LOAD_H

#include "read/decode.h"
#include "read/reader.h"
#include <stdatomic.h>
#include <wcodec/load.h>

enum {
    WCODEC_LOAD_STREAMS = 4,
    WCODEC_LOAD_STREAMS_MAX = 64,
    WCODEC_LOAD_PARTS = 1024,
    WCODEC_LOAD_TARGETS_MAX = 256
};

struct wcodec_load_request;

/* Where else the bytes of a range go: another target's memory, of its device. */
struct wcodec_load_pass {
    struct wcodec_load_request *to;
    struct wcodec_memory *memory;
    uint64_t offset;   /* in memory, of the range's first byte */
    bool through_host; /* these two devices have no copy from one to the other */
};

/* Bytes [begin, end) of an entry, and their place. */
struct wcodec_load_range {
    const struct wcodec_shard *shard;
    const struct wcodec_entry *named; /* as asked for; may be an alias */
    const struct wcodec_entry *entry;
    uint64_t begin, end;
    struct wcodec_memory *memory; /* where the device writes; NULL: it cannot write there */
    uint64_t offset;              /* in memory */
    const struct wcodec_load_range *original; /* of a copy */
    uint8_t *host;                            /* where the host writes; NULL: it cannot */
    bool aligned;                             /* the device can decode to that place */
    struct wcodec_load_pass *passes;
    size_t pass_count;
};

struct wcodec_load_request {
    wcodec_context *context;
    struct wcodec_opened *device;
    bool verify;
    size_t count;
    struct wcodec_load_range
        *ranges; /* in the order of the files; after them copies that are made when all is there */
    size_t copies;
    struct wcodec_load_range *placed; /* of a load to several devices: the ranges as they were asked
                                         for, to which copies refer; else NULL */
    struct wcodec_load_pass *passes;  /* of all ranges */
    size_t pass_count;
    size_t adopted_count;
    struct wcodec_memory **adopted;
    uint64_t bytes;
    uint64_t received; /* of them, what other devices decode and pass on */
    unsigned streams;
    uint64_t slot_bytes;         /* of coded bytes that a piece has, about */
    uint64_t scratch_bytes;      /* of decoded bytes that do not go to their place at once */
    size_t parts;                /* that a piece may have, at most WCODEC_LOAD_PARTS */
    wcodec_load_options options; /* as far as the caller has them; the others are the defaults */
};

/* Make a request of the caller's items, for the device of a context that need not be the reader's:
 * each is found to be right, and its memory is taken over. placed_later: items have no destinations
 * yet, and ranges stay in the order of the items, equal ones too. */
wcodec_status wcodec_load_request_create(const wcodec_reader *reader, wcodec_context *context,
                                         const wcodec_load_item *items, size_t count,
                                         const wcodec_load_options *options, bool placed_later,
                                         struct wcodec_load_request *request, wcodec_error *err);
/* The destination of one of those, in the request's device's memory, which stays the caller's. */
void wcodec_load_request_place(const struct wcodec_load_request *request,
                               struct wcodec_load_range *range, struct wcodec_memory *memory,
                               uint64_t offset);
/* In the order of the files. */
int wcodec_load_range_compare(const void *a, const void *b);
/* Do two ranges have the same bytes, so that one is decoded and copied? Constants are filled in as
 * fast. */
bool wcodec_load_range_equal(const struct wcodec_load_range *a, const struct wcodec_load_range *b);

/* Requests for several devices, none of which is left after a failure, and which have been divided
 * among them: many.c. */
wcodec_status wcodec_load_requests_create(const wcodec_reader *reader,
                                          const wcodec_load_target *targets, size_t count,
                                          const wcodec_load_options *options,
                                          struct wcodec_load_request *requests, wcodec_error *err);

/* Divide what several of the requests want among them: each range is then decoded by one, which
 * passes it on, and each decodes about as many bytes. share.c. */
wcodec_status wcodec_load_share(struct wcodec_load_request *requests, size_t count,
                                wcodec_error *err);

/* The CPU in place of a device that has failed before it was given anything: for destinations in
 * host memory. */
wcodec_status wcodec_load_request_to_cpu(struct wcodec_load_request *request, wcodec_error *err);
void wcodec_load_request_free(struct wcodec_load_request *request);
/* Tell sources that come from afar what is read: of what is wanted whole all, of other tensors what
 * they begin with. And that nothing more is. */
void wcodec_load_announce(const struct wcodec_load_request *request);
void wcodec_load_withdraw(const struct wcodec_load_request *request);

struct wcodec_load_work;
/* Of a range that has the bytes of another (an alias that was asked for too): copied when that is
 * there. */
wcodec_status wcodec_load_copies(struct wcodec_load_work *work, wcodec_error *err);

/* A tensor in tiles, in blocks or lossy, whose prefix is parsed, for all parts that are made of it.
 */
struct wcodec_load_tensor {
    atomic_uint references;
    bool in_piece; /* its memory is the piece's: it was taken whole */
    const wcodec_allocator *allocator;
    const struct wcodec_load_range *range;
    struct wcodec_source source;
    struct wcodec_layout layout;
    struct wcodec_tiles *tiles; /* of a tensor that is staged whole: NULL until it was read */
    uint64_t whole; /* where in the staging memory its payload is; UINT64_MAX: only the areas of its
                       parts are */
    bool on_cpu;    /* the device has no code for it */
    const uint8_t *side; /* modes and scales: in `front`, or in the staging memory */
    uint8_t *front;      /* what the payload begins with, if it was read by itself */
};

enum wcodec_load_kind {
    WCODEC_LOAD_TILES,
    WCODEC_LOAD_FILL,  /* of a constant, by the device */
    WCODEC_LOAD_BYTES, /* decoded by the CPU to the staging memory, then copied */
    WCODEC_LOAD_DIRECT /* decoded by the CPU to its place */
};

/* Bytes [begin, stop) of an entry. */
struct wcodec_load_part {
    enum wcodec_load_kind kind;
    const struct wcodec_load_range *range;
    uint64_t begin, stop;
    uint64_t from_end; /* BYTES: bytes from there to the end of the staging memory; it may need them
                       several times if it is longer */
    struct wcodec_load_tensor *tensor; /* TILES */
    uint64_t first, end;               /* tiles */
    struct wcodec_area_place areas[WCODEC_AREAS];
    uint64_t scratch; /* where in the scratch memory the tiles are decoded to; UINT64_MAX: to their
                         destination */
    uint64_t begin_there; /* then: where in the scratch memory byte `begin` is */
    bool on_cpu;
};

struct wcodec_load_piece {
    uint64_t number;
    size_t count;
    struct wcodec_load_part *parts;     /* as many as the request says; tensors likewise */
    struct wcodec_load_tensor *tensors; /* of parts that are whole tensors, in the places of the
                                           first part of each */
    uint64_t low;  /* staged coded bytes, from the beginning of the staging memory */
    uint64_t high; /* staged decoded bytes, at its end */
    uint64_t scratch;
    uint64_t jobs; /* parts in tiles */
};

/* Where the request has been cut. One thread at a time. */
struct wcodec_load_cursor {
    const struct wcodec_load_request *request;
    size_t range;
    size_t limit; /* ranges that may be taken, from the first one on */
    uint64_t at;  /* byte of the range's entry from which on nothing was taken; 0: none of it was */
    struct wcodec_load_tensor *open; /* the one that is taken in several pieces */
    uint64_t pieces;
};

/* The next piece; *more is whether there was one. On failure the error names its tensor. */
wcodec_status wcodec_load_take(struct wcodec_load_cursor *cursor, struct wcodec_load_piece *piece,
                               bool *more, wcodec_error *err);
void wcodec_load_cursor_end(struct wcodec_load_cursor *cursor);
void wcodec_load_piece_end(struct wcodec_load_piece *piece);

void wcodec_load_tensor_release(struct wcodec_load_tensor *tensor);

/* The whole of a load to one device. */
struct wcodec_load_work {
    struct wcodec_load_request *request;
    struct wcodec_load_cursor cursor;
    struct wcodec_event *after; /* what the caller's queue has done when the load may write; NULL:
                                   nothing to wait for */
    atomic_bool stop;
    struct wcodec_staging_owner owner;
    atomic_uint_fast64_t done, coded, by_cpu, batches;
    atomic_bool passed; /* what all queues wait for first is done */
};

struct wcodec_load_slot {
    struct wcodec_load_work *work;
    struct wcodec_load_piece piece;
    struct wcodec_queue *queue;
    struct wcodec_staging stage, coded, scratch, out;
    uint64_t top; /* of the staging memory: where what the piece uses of it ends */
    struct wcodec_batch *batch;
    struct wcodec_event *event;
    struct wcodec_job *jobs; /* as many as parts */
    struct wcodec_job_result *results;
    bool busy;                              /* given to the device and not yet waited for */
    bool doubtful;                          /* a wait for the queue failed */
    struct wcodec_load_request *passing_to; /* whose queue `passing` is: one of its device, for
                                               copies through the host */
    struct wcodec_queue *passing;
};

wcodec_status wcodec_load_slot_create(struct wcodec_load_work *work, struct wcodec_load_slot *slot,
                                      wcodec_error *err);
/* Waits for what the device is at. */
void wcodec_load_slot_free(struct wcodec_load_slot *slot);

/* Lead the slot's piece through its stages: bring it into memory and give it to the device; then
 * wait for it and bring it to its places, where needed by the CPU. Errors name file and tensor. */
wcodec_status wcodec_load_slot_begin(struct wcodec_load_slot *slot, wcodec_error *err);
wcodec_status wcodec_load_slot_finish(struct wcodec_load_slot *slot, wcodec_error *err);

/* Read what the piece is made of, and parse prefixes: stage.c. */
wcodec_status wcodec_load_stage(struct wcodec_load_slot *slot, wcodec_error *err);

/* A device failed: it is used no more, and err says so, with its name and a tensor's. */
wcodec_status wcodec_load_lose(wcodec_context *context, struct wcodec_opened *device,
                               const struct wcodec_load_part *part, const wcodec_error *reason,
                               wcodec_error *err);

/* Pass on a part that is at its place, or will be when the slot's queue gets there: by copies
 * between devices in this queue; then those through the host, when the part is there. Errors say
 * which device failed, and name the tensor: pass.c. */
wcodec_status wcodec_load_pass_on(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part, wcodec_error *err);
wcodec_status wcodec_load_pass_through_host(struct wcodec_load_slot *slot,
                                            const struct wcodec_load_part *part, wcodec_error *err);
void wcodec_load_passing_end(struct wcodec_load_slot *slot);

/* Decode a staged part on the CPU and bring it to its place: cpu.c. */
wcodec_status wcodec_load_part_on_cpu(struct wcodec_load_slot *slot,
                                      const struct wcodec_load_part *part, wcodec_error *err);
/* Decode a part that is not in tiles to its place, or to the staging memory and give the copy to
 * the queue. */
wcodec_status wcodec_load_part_bytes(struct wcodec_load_slot *slot,
                                     const struct wcodec_load_part *part, wcodec_error *err);

#endif
