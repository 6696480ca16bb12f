/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Restoring and testing whole files. A plan cuts the original into jobs, in order: some tiles of a
 * tensor, or small entries that are neighbours. Threads take jobs from it. Each reads its coded
 * bytes, hashes them, decodes them, and hashes and writes what came of them, in buffers of its own
 * that stay in its cache. What cannot be done so, such as a large tensor in blocks, and all that a
 * device decodes, is a part: the calling thread has it decoded as wcodec_reader_decode() would, by
 * all threads together. */
#ifndef WCODEC_READ_RESTORE_H
#define WCODEC_READ_RESTORE_H

#include "backends/cpu/decode.h"
#include "core/phases.h"
#include "core/progress.h"
#include "io/span.h"
#include "read/decode.h"
#include "read/reader.h"
#include "registry/registry.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    /* Decoded bytes of a job, about: with what they are decoded from they fit in a second-level
     * cache of 1 MiB. */
    WCODEC_JOB_BYTES = 1 << 19,
    /* Coded bytes of a job of small entries; more of one entry, and it is a part. */
    WCODEC_JOB_CODED = 1 << 20,
    /* What a worker may hold, with the worst of tiles. */
    WCODEC_JOB_MEMORY = 4 << 20,
    /* Enough for any memory's bandwidth; with usual tensors each takes 1.3 MiB. */
    WCODEC_RESTORE_WORKERS = 32,
    /* Leaves of the original between the first that is not hashed and the last that a thread is
     * at. */
    WCODEC_RESTORE_LEAVES = 4097,
    /* Decoded bytes for which the system reads ahead where the source is slow. */
    WCODEC_RESTORE_AHEAD = 16 << 20,
    /* Slower than so many bytes in a microsecond, a job's bytes did not come from memory. */
    WCODEC_RESTORE_SLOW = 500
};

/* Headers that are verified in the order of the file. */
struct wcodec_header_checks {
    const struct wcodec_shard *shard;
    const struct wcodec_source *source;
    uint64_t next; /* group */
};

/* A tensor in tiles of which jobs take some. */
struct wcodec_open_tensor {
    const struct wcodec_entry *named; /* may be an alias */
    const struct wcodec_entry *entry; /* whose payload it is */
    struct wcodec_tiling tiling;
    struct wcodec_tiles *tiles;
    struct wcodec_cpu_decoder *decoder;
    struct wcodec_tree hash; /* of the payload; none for an alias */
    uint64_t held;           /* bytes of memory */
    uint64_t next;           /* tile that no job has */
    uint64_t prefetched;     /* tile that the system was not asked for yet */
    uint64_t jobs;           /* that have not ended, and the plan's own share */
};

struct wcodec_restore_job {
    struct wcodec_open_tensor *tensor; /* tiles [first, end) of it, ... */
    uint64_t first, end;               /* ... or entries of these numbers */
    uint64_t position;                 /* of small entries: up to here the container was seen */
    uint64_t offset, size;             /* in the original */
};

struct wcodec_restore_worker {
    uint8_t *coded, *decoded;
    uint64_t coded_size, decoded_size;
    struct wcodec_restore_waiting *waiting; /* small tensors, to be decoded together */
    unsigned small_count;
    uint64_t small_held; /* bytes of memory, about */
};

struct wcodec_restore {
    wcodec_context *context;
    const struct wcodec_shard *shard;
    const struct wcodec_source *source;
    bool checks;
    wcodec_leaf_fn leaf;
    const struct wcodec_cpu_dsp *dsp; /* NULL: there are no jobs, only parts */
    const char *device;               /* that decodes; NULL: the CPU */
    wcodec_write_fn write;            /* in order, from the calling thread */
    wcodec_write_at_fn write_at;      /* or from any; neither: only test */
    void *opaque;
    struct wcodec_reporter reporter;
    struct wcodec_phases phases;
    uint64_t end;                  /* the entry after the last to do */
    bool is_part;                  /* not all of the file */
    bool hashed;                   /* its bytes: all, or a part's whose hashes are wanted */
    struct wcodec_span_maker span; /* the bytes to do; made of a part only */
    struct wcodec_tree hash;       /* of the original; of a part, of its span */
    uint64_t hash_begin;           /* byte of the original that `hash` begins with */
    atomic_bool slow; /* the source: more than the job's own bytes should be on their way */
    uint64_t base;    /* memory that is held all the time */
    size_t worker_count;
    struct wcodec_restore_worker *workers;

    /* The rest changes with the lock held, or where no thread is at jobs. */
    pthread_mutex_t lock;
    pthread_cond_t advanced; /* the window of `hash` has moved on, or there was a failure */
    uint64_t entry;          /* number of the next one to plan */
    uint64_t offset;         /* in the original: everything before is planned */
    uint64_t position;       /* in the container: everything before was seen, or will be */
    struct wcodec_header_checks headers;
    uint64_t held;                     /* bytes of memory of open tensors */
    struct wcodec_open_tensor *tensor; /* of which tiles are left to plan */
    uint64_t stop;                     /* no job begins at or after this byte of the original */
    uint8_t *dst;                      /* jobs decode to here; NULL: to buffers of their own */
    uint64_t dst_begin;                /* byte of the original that it starts with */
    uint64_t until_ns;                 /* no job begins after this time; 0: none */
    bool at_part;                      /* the next entry is a part */
    wcodec_status status;
    uint64_t failed_at; /* byte of the original: the least of failures */
    wcodec_error error;
};

/* Note a failure at a byte of the original. Lock held. */
void wcodec_restore_note(struct wcodec_restore *r, uint64_t at, wcodec_status status,
                         const wcodec_error *error);

/* All of the file, or the part of it that is asked for (restore_span.c); and where its payloads
 * lie. */
void wcodec_restore_choose(struct wcodec_restore *r, const wcodec_decode_options *options);
struct wcodec_source_range wcodec_restore_body(const struct wcodec_index *index,
                                               const wcodec_decode_options *options);
/* Bytes of memory that the hashes of a part take; 0 where they are not wanted. */
uint64_t wcodec_restore_span_memory(const struct wcodec_restore *r);
/* Of a part, when r->hash is ready, and when all is in it: its hashes go to the caller.
 * WCODEC_ERROR_MEMORY, _IO. */
wcodec_status wcodec_restore_span_begin(struct wcodec_restore *r, wcodec_error *err);
wcodec_status wcodec_restore_span_end(struct wcodec_restore *r,
                                      const wcodec_decode_options *options, wcodec_error *err);
/* All bytes of the original are in the tree. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_restore_check_hash(const struct wcodec_index *index, struct wcodec_tree *tree,
                                        wcodec_error *err);

/* The plan. Lock held. *job is set, or false: there is none now. */
bool wcodec_restore_next(struct wcodec_restore *r, struct wcodec_restore_job *job);
/* A job has ended well: its tensor is closed with the last. Lock held. */
void wcodec_restore_ended(struct wcodec_restore *r, struct wcodec_restore_job *job);
void wcodec_open_tensor_free(struct wcodec_restore *r, struct wcodec_open_tensor *t);

/* Take jobs until there is none. */
void wcodec_restore_work(struct wcodec_restore *r, struct wcodec_restore_worker *worker);

/* Decode tiles [first, end) of a tensor to out. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_restore_tiles(const struct wcodec_restore *r,
                                   const struct wcodec_cpu_decoder *decoder,
                                   const struct wcodec_view *view, uint64_t first, uint64_t end,
                                   uint8_t *out, wcodec_error *err);

/* A small entry in tiles (packed or not) whose payload is in memory, up to the next flush: it is
 * decoded then, with others, or at once. The worker's are not full. The errors of flush name their
 * tensors. WCODEC_ERROR_CORRUPT, _MEMORY. */
wcodec_status wcodec_restore_small_add(const struct wcodec_restore *r,
                                       struct wcodec_restore_worker *worker,
                                       const struct wcodec_entry *entry, const uint8_t *payload,
                                       uint8_t *out, wcodec_error *err);
bool wcodec_restore_small_full(const struct wcodec_restore_worker *worker);
wcodec_status wcodec_restore_small_flush(const struct wcodec_restore *r,
                                         struct wcodec_restore_worker *worker, wcodec_error *err);

/* Bytes [begin, end) of the container, between payloads, must be zero: as they are in memory, or
 * read from the source. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_check_padding(const uint8_t *bytes, uint64_t begin, uint64_t end,
                                   wcodec_error *err);
wcodec_status wcodec_check_gap(const struct wcodec_source *source, uint64_t begin, uint64_t end,
                               wcodec_error *err);

/* Verify the headers of all groups whose first entry is below `end`, and that bytes in front of
 * them are zero. WCODEC_ERROR_CORRUPT, _IO, _MEMORY, _LIMIT. */
wcodec_status wcodec_check_headers(wcodec_context *context, struct wcodec_header_checks *checks,
                                   uint64_t end, wcodec_error *err);

/* Where the zeros in front of a payload begin: after the payload that ends at `position`, or after
 * a header. */
static inline uint64_t wcodec_gap_begin(const struct wcodec_entry *e, uint64_t position)
{
    return e->gap_offset > position ? e->gap_offset : position;
}

/* Of all bytes of the entry's payload. WCODEC_ERROR_CORRUPT. */
wcodec_status wcodec_check_payload_hash(const struct wcodec_entry *entry,
                                        struct wcodec_tree_hash hash, wcodec_error *err);

/* An entry that is decoded part by part. */
struct wcodec_restore_part {
    const struct wcodec_entry *entry; /* NULL: none is open */
    struct wcodec_decoder decoder;
    struct wcodec_tree hash; /* of its payload */
    uint64_t at;             /* bytes that were decoded */
};

/* Decode the next bytes of the entry that the plan is at, at most `capacity` of them, to dst:
 * *size; the entry is closed after its last. */
wcodec_status wcodec_restore_part(struct wcodec_restore *r, struct wcodec_restore_part *part,
                                  uint8_t *dst, uint64_t capacity, uint64_t *size,
                                  wcodec_error *err);
void wcodec_restore_part_close(struct wcodec_restore_part *part);

/* Most bytes of a part: the largest tile, chunk and row of blocks fit. */
uint64_t wcodec_restore_part_bytes(const struct wcodec_restore *r);

static inline uint64_t wcodec_position_after(const struct wcodec_entry *e, uint64_t position)
{
    return e->payload_size > 0 ? e->payload_offset + e->payload_size : position;
}

#endif
