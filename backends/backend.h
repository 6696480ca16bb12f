/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a backend is: all that the core knows of CUDA, OpenCL and the CPU. The CPU's is part of the
 * library; the others are plugins, wcodec_NAME.so, that export one constant `struct wcodec_backend
 * wcodec_backend_NAME` and have no undefined symbol of the core: what they need of it comes in as
 * `struct wcodec_host`.
 *
 * The nouns. A *backend state* is a backend opened for one context. A *device* is opened from it.
 * *Memory* of a device is a handle, and places in it are handle and byte offset. A *queue* of a
 * device does what it is given in order, at its own time. An *event* marks a point in a queue. A
 * *batch* is a list of decoding jobs made ready for a device; it can be decoded any number of
 * times.
 *
 * Ownership. What a function creates belongs to the caller, who ends it by the matching function
 * before its device, and devices before the state. Ending takes no NULL. Nothing may be ended while
 * a queue still works on it: wait first. Where a function fails, outputs are not set and nothing is
 * left behind.
 *
 * Errors. A failing function returns a status and records text at err (may be NULL) by
 * host->fail(): what was called, what the driver said. WCODEC_ERROR_MEMORY: host or device memory
 * is out, the caller may free some, or try less. WCODEC_ERROR_UNSUPPORTED: this device cannot do
 * that. WCODEC_ERROR_DEVICE: the device or its driver failed; the core then uses the device no more
 * but to end what it has, and those functions must survive that. Asynchronous failures are reported
 * by the next function on the queue or its events, at the latest by event_wait() and queue_wait().
 *
 * Threads. A state, a device, memory and events may be used by several threads at once; a queue and
 * a batch by one at a time. Functions leave thread-local state of the driver (CUDA's current
 * context) as they found it, never print, never change signals or locale, and never call back into
 * the core but through `struct wcodec_host`. No function is called in a process forked after
 * open().
 *
 * Hostile input. Jobs refer to structures that the core has parsed and validated: sizes, offsets,
 * table indices and counts in them are right, and lie in memory that a file cannot change any more.
 * Only states, words, raw bits and outliers are the file's: a kernel masks, clamps and bounds
 * whatever derives from them. */
#ifndef WCODEC_BACKEND_H
#define WCODEC_BACKEND_H

#include "coding/blocks.h"
#include "coding/device_table.h"
#include "coding/fixed.h"
#include "coding/fragments.h"
#include "coding/lossy.h"
#include "coding/measure.h"
#include "coding/patch.h"
#include "coding/tile.h"
#include "core/error.h"
#include <wcodec/context.h>

/* Raised by hand, by one, with every change of this file or of coding/tiling.h, coding/table.h,
 * coding/blocks.h, coding/device_table.h, coding/fixed.h, coding/fragments.h, coding/lossy.h,
 * coding/measure.h, coding/patch.h and coding/tile.h that a plugin could notice: plugins of any
 * other number are refused. 6: numbers and sizes are compared one by one. 8: jobs of matrices at a
 * fixed rate. 9: products with these, and their rows; jobs of matrices in fragments. 10: matrices
 * are coded at a fixed rate. 11: indices that are no row's are counted; tensors are kept coded;
 * tensors are coded in tiles. 12: tensors are measured. 13: products y = x W. 14: deltas are
 * applied, and tensors hashed; products with decoded elements; outliers of tiles are marked in the
 * work area; copies from one device to another. 15: leaves of other sizes; elements that differ
 * from those of another tensor. 16: rollouts of recurrent models. 17: anchors of vectors. 18:
 * recurrent units over sequences. 19: elements that differ are coded in streams; leaves in two
 * places. 20: search in coded vectors. 21: recurrent units by tensor cores. 22: products of many
 * vectors have room to work in. 23: operands of rows that anchors are found for have a centre. 24:
 * backends say how many vectors of y = x W pay. 25: rollouts of many starts. 26:
 * rows that anchors are found for come part by part. 27: parts of a member of a rollout meet in
 * memory, and its work area may be the host's. 28: rows of tensors that are kept coded. 29:
 * linear hashes of tensors. 30: leaves in one place. 31: streams have places and checks. */
#define WCODEC_BACKEND_ABI 31u

/* The structures that cross the border. Their sizes are compared too, since a change that left the
 * number as it was would not be seen otherwise. */
#define WCODEC_BACKEND_STRUCTURES(X) \
    X(wcodec_backend) \
    X(wcodec_host) \
    X(wcodec_allocator) \
    X(wcodec_error) \
    X(wcodec_device_listing) \
    X(wcodec_area_place) \
    X(wcodec_job) \
    X(wcodec_job_result) \
    X(wcodec_product) \
    X(wcodec_dense_product) \
    X(wcodec_rows) \
    X(wcodec_matrix) \
    X(wcodec_backend_products) \
    X(wcodec_backend_encoders) \
    X(wcodec_backend_deltas) \
    X(wcodec_backend_rollouts) \
    X(wcodec_rollout_sizes) \
    X(wcodec_rollout_plan) \
    X(wcodec_rollout_work) \
    X(wcodec_ensemble_rollout) \
    X(wcodec_many_work) \
    X(wcodec_many_rollouts) \
    X(wcodec_sequences) \
    X(wcodec_backend_vectors) \
    X(wcodec_vectors_shape) \
    X(wcodec_vectors_places) \
    X(wcodec_vectors_step) \
    X(wcodec_backend_searches) \
    X(wcodec_search_shape) \
    X(wcodec_search_step) \
    X(wcodec_backend_peers) \
    X(wcodec_tensor_leaves) \
    X(wcodec_tensor_linear) \
    X(wcodec_tensor_patch) \
    X(wcodec_patch_tile) \
    X(wcodec_patched_tile) \
    X(wcodec_tensor_changes) \
    X(wcodec_changed_tile) \
    X(wcodec_coded_tile) \
    X(wcodec_coded_total) \
    X(wcodec_tensor_coding) \
    X(wcodec_tensor_totals) \
    X(wcodec_tensor_work) \
    X(wcodec_tensor_measure) \
    X(wcodec_measure_work) \
    X(wcodec_measured) \
    X(wcodec_device_table) \
    X(wcodec_fixed_counts) \
    X(wcodec_tiling) \
    X(wcodec_tiles) \
    X(wcodec_table) \
    X(wcodec_blocks) \
    X(wcodec_lossy) \
    X(wcodec_fixed) \
    X(wcodec_fragments)

#define WCODEC_BACKEND_COUNT_STRUCTURE(name) +1
enum { WCODEC_BACKEND_STRUCTURE_COUNT = WCODEC_BACKEND_STRUCTURES(WCODEC_BACKEND_COUNT_STRUCTURE) };

/* What every backend's structure begins with. */
#define WCODEC_BACKEND_SIZE(name) sizeof(struct name),
#define WCODEC_BACKEND_HEAD \
    .abi = WCODEC_BACKEND_ABI, .sizes = {WCODEC_BACKEND_STRUCTURES(WCODEC_BACKEND_SIZE)}

/* Backends define these for themselves. */
struct wcodec_backend_state;
struct wcodec_device;
struct wcodec_memory;
struct wcodec_queue;
struct wcodec_event;
struct wcodec_batch;
struct wcodec_kept;

/* What the core does for a backend. Lives as long as the state; all functions may be called from
 * any thread. */
struct wcodec_host {
    /* First argument of the functions below that have one. */
    void *opaque;

    /* wcodec_fail() and wcodec_error_prefix(): fill in an error (may be NULL). */
    wcodec_status (*fail)(wcodec_error *err, wcodec_status status, const char *format, ...)
        WCODEC_PRINTF(3, 4);

    /* Is there somebody who gets lines of this level? Then log() one. */
    bool (*log_wants)(void *opaque, wcodec_log_level level);
    void (*log)(void *opaque, wcodec_log_level level, const char *format, ...) WCODEC_PRINTF(3, 4);

    /* All host memory of a backend, except what its driver takes. */
    const wcodec_allocator *allocator;

    /* The context's threads: wcodec_run() and wcodec_context_threads(). */
    void (*run)(void *opaque, void (*task)(void *argument, size_t i), void *argument, size_t count);
    unsigned (*threads)(void *opaque);

    /* An environment variable by secure_getenv(), for settings that only this backend has; NULL if
     * unset or empty. Its name begins with WCODEC_. */
    const char *(*setting)(void *opaque, const char *name);

    /* enum wcodec_cpu_level bits that may be used (WCODEC_CPU_MASK). */
    uint32_t cpu_mask;
};

enum wcodec_device_kind { WCODEC_DEVICE_CPU = 1, WCODEC_DEVICE_GPU = 2, WCODEC_DEVICE_OTHER = 3 };

/* Capabilities: bits. */
enum wcodec_device_capability {
    /* Memory of kind DEVICE has a host pointer: copies in and out can be spared. */
    WCODEC_DEVICE_HOST_MEMORY = 1 << 0,
    /* memory_adopt() works. */
    WCODEC_DEVICE_ADOPT_MEMORY = 1 << 1,
    /* queue_adopt() works. */
    WCODEC_DEVICE_ADOPT_QUEUE = 1 << 2,
    /* Native memory is an address of the device, to which offsets can be added (a CUdeviceptr or a
     * pointer, not a cl_mem). */
    WCODEC_DEVICE_ADDRESSES = 1 << 3,
    /* Jobs may be of tensors in blocks. */
    WCODEC_DEVICE_BLOCKS = 1 << 4,
    /* Jobs may be of lossy tensors. */
    WCODEC_DEVICE_LOSSY = 1 << 5,
    /* Jobs may be of matrices at a fixed rate. */
    WCODEC_DEVICE_FIXED = 1 << 6,
    /* The backend's products work. */
    WCODEC_DEVICE_PRODUCTS = 1 << 7,
    /* Jobs may be of matrices in fragments. */
    WCODEC_DEVICE_FRAGMENTS = 1 << 8
};

/* One device as it is listed, opened or not. Texts are cut to fit. */
struct wcodec_device_listing {
    /* As the driver calls it. */
    char name[128];
    /* Versions of driver and API, architecture, instruction-set level. */
    char driver[96];
    /* Why it cannot be used; empty: it can, as far as is known without opening it. */
    char reason[256];
    /* Bytes; 0: unknown. */
    uint64_t memory;
    /* enum wcodec_device_kind */
    uint32_t kind;
    /* enum wcodec_device_capability bits */
    uint32_t capabilities;
};

enum wcodec_memory_kind {
    /* Where the device decodes from and to, aligned to 256 bytes. */
    WCODEC_MEMORY_DEVICE = 1,
    /* Host memory with a pointer, from and to which the device copies fastest, aligned to 4096
     * bytes; not for the bytes of jobs. */
    WCODEC_MEMORY_PINNED = 2
};

/* Where bytes [begin, begin + size) of an area of a payload (offsets as in struct wcodec_tiles)
 * are: at `offset` of `memory`. An area that no tile of the job needs has size 0, and memory may be
 * NULL. offset - begin is a multiple of 16, so that aligned parts of the payload are aligned in
 * memory. */
struct wcodec_area_place {
    struct wcodec_memory *memory;
    uint64_t offset;
    uint64_t begin;
    uint64_t size;
};

/* Decode tiles [first, first + count) of a tensor, whole, one after the other, to `destination` of
 * `memory`. The core has made sure that places hold what the tiles need, that count is not 0, and
 * that the destination (aligned to the element) has room. Jobs of a batch do not overlap in their
 * destinations.
 *
 * With `blocks` the tiles hold residuals of a tensor in blocks (doc/format.md 4), with `lossy`
 * coefficients (5). Then bytes [begin, end) of that tensor are written, which are whole elements,
 * not none, and of blocks that those tiles have; what else the tiles have is dropped. The CPU's
 * backend also takes bytes that are not whole elements, and writes of [begin, end) what the tiles
 * have.
 *
 * With `fragments` the tiles hold a matrix in the order of (7), and bytes [begin, end) of it are
 * written likewise, of elements that those tiles have.
 *
 * With `fixed` the tiles are those of whole bands of a matrix at a fixed rate (6), of which bytes
 * [begin, end) are written likewise. Area RAW has their records, and area VALUES spilled elements,
 * those that the tiles' lists may name; `begin` is an offset in the payload. */
struct wcodec_job {
    /* Must live as long as the batch, and so must blocks, lossy, fixed, fragments and modes. NULL
     * with fixed. */
    const struct wcodec_tiles *tiles;
    /* At most one of the four is not NULL. */
    const struct wcodec_blocks *blocks;
    const struct wcodec_lossy *lossy;
    const struct wcodec_fixed *fixed;
    const struct wcodec_fragments *fragments;
    /* Packed modes of all blocks, and of a lossy tensor the scales; at a fixed rate what the
     * payload begins with: shifts and checks. Checked. */
    const uint8_t *modes;
    uint64_t begin;
    uint64_t end;
    struct wcodec_area_place places[WCODEC_AREAS];
    uint64_t first;
    uint64_t count;
    struct wcodec_memory *memory;
    uint64_t destination;
    /* Bytes of host memory that decoding may take beside payload and destination, with a tile at
     * least; 0: no limit. */
    uint64_t host_memory;
    /* Compare the tiles' checks. */
    bool verify;
};

/* Bytes that a job writes, from its destination on. */
static inline uint64_t wcodec_job_bytes(const struct wcodec_job *job)
{
    if (job->blocks != NULL || job->lossy != NULL || job->fixed != NULL || job->fragments != NULL)
        return job->end - job->begin;
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint64_t begin = job->first << t->tile_log2, end = (job->first + job->count)
                                                             << t->tile_log2;
    return ((end < t->elements ? end : t->elements) - begin) << t->element_log2;
}

/* What came of a job. */
struct wcodec_job_result {
    /* The first tile that failed: its number in the tensor. */
    uint64_t tile;
    /* Why; WCODEC_TILE_OK: the job is done. */
    enum wcodec_tile_fault fault;
};

/* What products take at once, at most. */
enum { WCODEC_WIDE_VECTORS = 256 };

/* A matrix W at a fixed rate whose payload, checked and without foreign elements
 * (doc/format.md 6.2), is in memory of kind DEVICE at a multiple of 256, with padding as encoders
 * write it; and y = x W^T + bias, or y = x W. x, y and bias are native addresses; on OpenCL, which
 * has none, cl_mem that they begin. */
struct wcodec_product {
    const struct wcodec_fixed *fixed; /* NULL: as `kept` has it, with kept_work() bytes of `work` */
    struct wcodec_memory *memory;
    uint64_t offset;
    uint64_t x; /* BF16, aligned to the element, as the others are to theirs */
    uint64_t y;
    uint64_t bias;     /* 0: none */
    uint64_t x_stride; /* bytes from a vector to the next */
    uint64_t y_stride;
    uint64_t vectors;     /* of x and y, not 0 */
    wcodec_dtype y_dtype; /* BF16, F16 or F32 */
    wcodec_dtype bias_dtype;
    struct wcodec_kept *kept; /* then x and x_stride are multiples of 16 */
    struct wcodec_memory *work;
    uint64_t room; /* for products of many vectors (wide_room()), a multiple of 256; 0: none */
    uint64_t room_size;
    bool transposed; /* y = x W, and `fixed` is not NULL, `bias` 0 */
};

/* A product with decoded elements, row by row, at a multiple of their size: with all of a matrix,
 * or with rows of it from number `first` on, which is where their part of y = x W^T, of the bias
 * and of the scales begins, and of the vectors of y = x W. Native addresses as above. */
struct wcodec_dense_product {
    struct wcodec_memory *memory;
    uint64_t offset;
    uint64_t rows; /* that are there, less than 2^32 as columns and vectors; 0: of y = x W */
    uint64_t columns;
    uint64_t first;
    uint64_t x;
    uint64_t y;
    uint64_t bias;   /* 0: none; of y = x W always */
    uint64_t scales; /* of the matrix's rows; 0: none */
    uint64_t x_stride;
    uint64_t y_stride;
    uint64_t vectors;     /* not 0 */
    wcodec_dtype dtype;   /* of elements: BF16, F16, F32, I8, U8, F8_E4M3 or F8_E5M2 */
    wcodec_dtype x_dtype; /* BF16, F16 or F32, as the following */
    wcodec_dtype y_dtype;
    wcodec_dtype bias_dtype;
    wcodec_dtype scales_dtype;
    bool transposed;            /* y = x W */
    bool add;                   /* to what y has */
    struct wcodec_memory *work; /* dense_work() bytes; NULL: there is no library */
};

/* Rows of such a matrix, which may have foreign elements: those of the numbers at native address
 * `indices` (int64; one that is no row's is a row of zeros), or `count` from `first` on. They go to
 * the native address `out`, aligned to the element. Addresses on OpenCL as above.
 *
 * With `kept` they are rows of row_size bytes of what stays coded, of which all are, by indices,
 * and `out` is a multiple of 16; WCODEC_ERROR_UNSUPPORTED: its tiles are none from which rows are
 * gathered.
 *
 * outside: native memory of kind DEVICE, of two words, or 0. The first one grows by the number of
 * indices that are no row's; the second one is set to `number` where there are any. */
struct wcodec_rows {
    const struct wcodec_fixed *fixed; /* NULL with `kept` */
    struct wcodec_memory *memory;
    uint64_t offset;
    uint64_t indices; /* 0: none */
    uint64_t first;
    uint64_t count; /* not 0 */
    uint64_t out;
    uint64_t outside;
    uint32_t number;
    struct wcodec_kept *kept; /* NULL: of `fixed` */
    uint64_t row_size;
};

/* A matrix of BF16 that a device codes at a fixed rate (doc/format.md 6). Places are multiples of
 * 256 in memory of kind DEVICE. */
struct wcodec_matrix {
    const struct wcodec_fixed *fixed; /* to measure: what follows from its size; to code: all */
    struct wcodec_memory *elements;   /* row by row */
    uint64_t elements_at;
    struct wcodec_memory *work; /* wcodec_matrix_work() */
    uint64_t work_at;
    struct wcodec_memory *payload; /* to code: as `fixed` places it */
    uint64_t payload_at;
    struct wcodec_memory *scratch; /* to code: for a band of elements at least */
    uint64_t scratch_at;
    uint64_t scratch_size;
};

/* Where things are in a matrix's work area. Both sizes of an index, the smaller one first, have
 * shifts, i8[16 * bands] each, from the beginning on, and counts. */
struct wcodec_matrix_work {
    uint64_t counts;  /* struct wcodec_fixed_counts[tiles] each */
    uint64_t firsts;  /* u32[tiles]: the number of a tile's first spilled element */
    uint64_t differs; /* u32 */
    uint64_t size;
};
static inline struct wcodec_matrix_work wcodec_matrix_work(const struct wcodec_fixed *fixed)
{
    struct wcodec_matrix_work w = {.counts =
                                       WCODEC_FIXED_CHOICES * fixed->bands * WCODEC_FIXED_ROWS};
    w.firsts = w.counts + WCODEC_FIXED_CHOICES * fixed->tiles * sizeof(struct wcodec_fixed_counts);
    w.differs = w.firsts + 4 * fixed->tiles;
    w.size = w.differs + 4;
    return w;
}

/* Of devices with WCODEC_DEVICE_PRODUCTS. The first three are given to a queue of the caller's, by
 * its native handle, without an allocation and without waiting for anything. The others are NULL
 * where the device cannot code; what they find and write is what lib/coding/fixed.h says. */
struct wcodec_backend_products {
    wcodec_status (*multiply)(struct wcodec_device *device, uint64_t queue,
                              const struct wcodec_product *product, wcodec_error *err);
    wcodec_status (*decode_rows)(struct wcodec_device *device, uint64_t queue,
                                 const struct wcodec_rows *rows, wcodec_error *err);

    /* Bytes of room with which multiply() takes so many vectors, y = x W^T with a matrix at a fixed
     * rate, faster than it would without, or a library after decode_rows(); less makes it take
     * WCODEC_WIDE_VECTORS of them at a time, or as few as there is room for. 0: there is no such
     * way, as where this is NULL. */
    uint64_t (*wide_room)(struct wcodec_device *device, const struct wcodec_fixed *fixed,
                          uint64_t vectors);

    /* Most vectors of y = x W that multiply() takes in less time than a library after
     * decode_rows(). */
    uint64_t (*transposed_most)(struct wcodec_device *device, const struct wcodec_fixed *fixed);

    /* Likewise. Any device has kernels for it, which are right, but fast for few vectors at most.
     */
    wcodec_status (*multiply_dense)(struct wcodec_device *device, uint64_t queue,
                                    const struct wcodec_dense_product *product, wcodec_error *err);
    /* Open the library that multiplies many vectors fast, and say how many bytes of memory of kind
     * DEVICE it works in; 0: there is none. May take long. */
    uint64_t (*dense_work)(struct wcodec_device *device);

    /* Shifts and counts to the work area. */
    wcodec_status (*measure)(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                             wcodec_error *err);

    /* Records and spilled elements to the payload, from the shifts, counts and firsts of the work
     * area. Then they are decoded and compared: `differs` is set to 1 if they are not the elements,
     * and not written if they are. */
    wcodec_status (*code)(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                          wcodec_error *err);

    /* The rest is NULL where nothing is kept coded. `job` is all tiles of a tensor, verified, to
     * destination 0 of no memory (NULL), its payload in memory of kind DEVICE, which stays as it is
     * as long as the tensor is kept; what else the job refers to need not. It is made ready to be
     * decoded, decoded to the beginning of `scratch`, which has room for all of it, and *result is
     * what came of that: if that is a fault, nothing is kept. The host waits for all this. */
    wcodec_status (*keep)(struct wcodec_queue *queue, const struct wcodec_job *job,
                          struct wcodec_memory *scratch, struct wcodec_job_result *result,
                          struct wcodec_kept **kept, wcodec_error *err);
    /* Bytes of the device's memory that it takes besides the payload. */
    uint64_t (*kept_size)(const struct wcodec_kept *kept);
    /* Give the decoding of bytes [begin, end) to a queue of the caller's, by its native handle, to
     * native address `out` (a multiple of 16, else WCODEC_ERROR_USAGE; of a cl_mem its first byte),
     * without an allocation and without waiting. All of a tensor, or what its tiles have alone:
     * else WCODEC_ERROR_UNSUPPORTED. Decodings of one tensor must not overlap in time. */
    wcodec_status (*kept_decode)(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                 uint64_t end, uint64_t out, wcodec_error *err);
    /* What decodings begin and end at multiples of, in bytes; 0: all of it only. */
    uint64_t (*kept_unit)(const struct wcodec_kept *kept);
    /* Bytes of memory that products with it, a matrix of BF16 in fragments, work with; 0: there are
     * none. */
    uint64_t (*kept_work)(const struct wcodec_kept *kept);
    /* No queue works on it any more. */
    void (*kept_free)(struct wcodec_kept *kept);
};

/* A tensor that a device codes in tiles (doc/format.md 2), by what has been decided. Places are
 * multiples of 256 in memory of kind DEVICE, `size` of an area's place is what there is room for:
 * of states and raw bits at least what they take if all tiles have mode 0. */
struct wcodec_tensor_coding {
    const struct wcodec_tiling *tiling; /* prefix_size is not looked at */
    struct wcodec_memory *elements;
    uint64_t elements_at;
    struct wcodec_memory *work; /* wcodec_tensor_work() */
    uint64_t work_at;
    struct wcodec_area_place directory;
    struct wcodec_area_place areas[WCODEC_AREAS]; /* `begin` is not looked at */
    uint8_t base;                                 /* pairs: of the table's window */
    uint8_t common;                               /* pairs: the most frequent symbol */
};

/* What all tiles take. */
struct wcodec_tensor_totals {
    uint64_t words;
    uint64_t streams; /* of mode 0 */
    uint64_t raw;     /* bytes */
    uint64_t outliers;
};

/* Where things are in such a tensor's work area, which begins with its struct wcodec_device_table.
 * Of a tile: 32 states; four words for each group, which say what outliers are; room for all words.
 */
struct wcodec_tensor_work {
    uint64_t states;
    uint64_t marks;
    uint64_t marks_part; /* bytes of a tile */
    uint64_t words;
    uint64_t words_part; /* likewise */
    uint64_t sums;       /* of ranges of 2^range_log2 tiles */
    unsigned range_log2;
    uint64_t totals; /* struct wcodec_tensor_totals */
    uint64_t size;
};
static inline struct wcodec_tensor_work wcodec_tensor_work(const struct wcodec_tiling *t)
{
    const bool p12 = t->fields[t->coded[0]].profile == WCODEC_P12;
    struct wcodec_tensor_work w = {.states = sizeof(struct wcodec_device_table),
                                   .marks_part = (uint64_t)1 << (t->tile_log2 - 3),
                                   .words_part = (uint64_t)1 << (t->tile_log2 + p12),
                                   .range_log2 = 5};
    while (w.range_log2 < 14 && (uint64_t)1 << 2 * w.range_log2 < t->tiles)
        w.range_log2++;
    w.marks = w.states + 128 * t->tiles;
    w.words = wcodec_align_u64(w.marks + w.marks_part * t->tiles, 512);
    w.sums = w.words + w.words_part * t->tiles;
    w.totals = w.sums + 16 * ((t->tiles >> w.range_log2) + 1);
    w.size = w.totals + sizeof(struct wcodec_tensor_totals);
    return w;
}

/* A tensor that a device measures, with elements of 1, 2 or 4 bytes. Places are multiples of 256 in
 * memory of kind DEVICE. */
struct wcodec_tensor_measure {
    struct wcodec_memory *elements;
    uint64_t elements_at;
    struct wcodec_memory *work; /* wcodec_measure_work() */
    uint64_t work_at;
    uint64_t count; /* of elements, not 0 */
    unsigned element_log2;
    unsigned field_count;
    struct wcodec_measured_field fields[WCODEC_MEASURED_FIELDS];
};

/* Where things are in such a tensor's work area, which begins with wcodec_log2_table of
 * lib/encode/tables.h. */
struct wcodec_measure_work {
    uint64_t result; /* struct wcodec_measured */
    uint64_t parts_at;
    uint64_t blocks;
    uint32_t parts; /* of the tensor, that are counted each by itself */
    uint64_t size;
};
static inline struct wcodec_measure_work wcodec_measure_work(uint64_t count)
{
    struct wcodec_measure_work w = {.result = 1280, .blocks = (count + 4095) / 4096};
    w.parts = w.blocks < 8 ? 1 : w.blocks / 8 > 4096 ? 4096 : (uint32_t)(w.blocks / 8);
    w.parts_at = wcodec_align_u64(w.result + sizeof(struct wcodec_measured), 256);
    w.size = w.parts_at + (uint64_t)4144 * w.parts;
    return w;
}

struct wcodec_backend_encoders {
    /* Can such a tensor be coded? Cheap, no device work. */
    bool (*supports)(struct wcodec_device *device, const struct wcodec_tiling *tiling);

    /* Checks and descriptors to the directory, which follow each other there, and the areas, byte
     * for byte what lib/encode/assemble.c makes of this plan; totals to the work area, in which the
     * caller has put the table. Of an area that is too small for its total nothing past its end is
     * written, and it is of no use. Waits for nothing. */
    wcodec_status (*code)(struct wcodec_queue *queue, const struct wcodec_tensor_coding *coding,
                          wcodec_error *err);

    /* NULL: there is none. Counts to the work area, in which the caller has put the logarithms;
     * what lib/encode/statistics.c counts of the same blocks. Waits for nothing.
     * WCODEC_ERROR_UNSUPPORTED where supports() says no to all. */
    wcodec_status (*measure)(struct wcodec_queue *queue,
                             const struct wcodec_tensor_measure *measure, wcodec_error *err);
};

/* Leaves of a tensor, whole ones, that a device hashes. Places are multiples of 256 in
 * memory of kind DEVICE, but for the elements', which are of 16. */
struct wcodec_tensor_leaves {
    struct wcodec_memory *elements;
    uint64_t elements_at;
    struct wcodec_memory *out; /* of each its XXH3-128: u64 low, u64 high */
    uint64_t out_at;
    uint64_t count;         /* not 0 */
    unsigned leaf_log2;     /* bytes of each: 13 to 24 */
    const uint64_t *secret; /* XXH3's own, 24 words */
};

/* A tensor, or a part of it, whose linear hash is taken by pieces of 64 KiB, the last one of which
 * may be smaller. Places are multiples of 8, the elements' of 16. */
struct wcodec_tensor_linear {
    struct wcodec_memory *elements;
    uint64_t elements_at;      /* of the tensor's first */
    struct wcodec_memory *out; /* u64 a piece: what it adds to the sum */
    uint64_t out_at;
    uint64_t before; /* bytes of the tensor before the part, a multiple of 64 KiB */
    uint64_t size;   /* of the part, not 0, below 2^48 */
};

/* Sparse tiles of a delta, and the tensor in which they change elements. All but the elements, at
 * a multiple of 16, is in `work`, at multiples of 256. */
struct wcodec_tensor_patch {
    struct wcodec_memory *elements;
    uint64_t elements_at;
    struct wcodec_memory *work;
    uint64_t tiles;   /* struct wcodec_patch_tile[count] */
    uint64_t results; /* struct wcodec_patched_tile[count] */
    uint64_t codes; /* u16[2][WCODEC_PATCH_CODE]: tables of gaps and values, as in coding/delta.h */
    uint64_t streams; /* of streams_size bytes and at least 4 more */
    uint64_t streams_size;
    uint32_t count; /* not 0 */
    uint8_t element_log2;
    uint8_t gap_bits, value_bits; /* of codes; 0: there is one number alone */
    bool xor_values;
};

/* A tensor, and another one that it is compared with, by tiles, of which there are at most 2^20.
 * Both begin at multiples of 16; places in `work` are multiples of 256. */
struct wcodec_tensor_changes {
    struct wcodec_memory *elements;
    uint64_t elements_at;
    struct wcodec_memory *base;
    uint64_t base_at;
    struct wcodec_memory *work; /* wcodec_changes_work() */
    uint64_t count;             /* elements, not 0 */
    uint8_t element_log2;
    uint8_t tile_log2; /* 12 to 16 */
    uint32_t slot;     /* elements of a tile that are kept, a multiple of 8 */
    /* To code: which kind of values, bits of codes as in struct wcodec_tensor_patch, and where
     * streams go to, from the beginning of `streams` on: bytes that there are for them, up to a
     * multiple of 4 and at least 4, all zeros. */
    bool xor_values;
    uint8_t gap_bits, value_bits;
    struct wcodec_memory *streams;
    uint64_t streams_room;
};

/* Where things are in such a work area. It begins with the tally, u32[WCODEC_CHANGES_TALLY + 1];
 * the caller has put zeros there. */
struct wcodec_changes_work {
    uint32_t tiles;
    uint64_t counts; /* struct wcodec_changed_tile[tiles] */
    uint64_t words;  /* to code: of gaps, then of values, u32: a word | its bits << 16 */
    uint64_t codes;  /* likewise, as in struct wcodec_tensor_patch */
    uint64_t secret; /* likewise, XXH3's own, u64[24] */
    uint64_t firsts; /* bytes of the streams before, u64[tiles] */
    uint64_t total;  /* struct wcodec_coded_total */
    uint64_t coded;  /* right after it: struct wcodec_coded_tile[tiles] */
    uint64_t slots;
    uint32_t slot_size;
    uint64_t size;
};
static inline struct wcodec_changes_work wcodec_changes_work(const struct wcodec_tensor_changes *c)
{
    const uint64_t tile = (uint64_t)1 << c->tile_log2;
    struct wcodec_changes_work w = {.tiles = (uint32_t)((c->count + tile - 1) >> c->tile_log2),
                                    .slot_size = (uint32_t)wcodec_align_u64(
                                        (2 + ((uint64_t)2 << c->element_log2)) * c->slot, 16)};
    w.counts = wcodec_align_u64(4 * (WCODEC_CHANGES_TALLY + 1), 256);
    w.words =
        wcodec_align_u64(w.counts + sizeof(struct wcodec_changed_tile) * (uint64_t)w.tiles, 256);
    w.codes = wcodec_align_u64(w.words + 4 * (uint64_t)WCODEC_CHANGES_WORDS, 256);
    w.secret = w.codes + 4 * (uint64_t)WCODEC_PATCH_CODE;
    w.firsts = w.secret + 256;
    w.total = wcodec_align_u64(w.firsts + 8 * (uint64_t)w.tiles, 256);
    w.coded = w.total + sizeof(struct wcodec_coded_total);
    w.slots = wcodec_align_u64(w.coded + sizeof(struct wcodec_coded_tile) * (uint64_t)w.tiles, 256);
    w.size = w.slots + (uint64_t)w.slot_size * w.tiles;
    return w;
}

struct wcodec_backend_deltas {
    /* Can it? Cheap, no device work. */
    bool (*supports)(struct wcodec_device *device);

    /* None waits. Of a tile whose stream is no valid one some elements change, none outside of it.
     */
    wcodec_status (*hash)(struct wcodec_queue *queue, const struct wcodec_tensor_leaves *leaves,
                          wcodec_error *err);
    wcodec_status (*linear)(struct wcodec_queue *queue, const struct wcodec_tensor_linear *tensor,
                            wcodec_error *err);
    wcodec_status (*patch)(struct wcodec_queue *queue, const struct wcodec_tensor_patch *patch,
                           wcodec_error *err);

    /* Counts and sums to the work area, and what differs to slots; of a tile of more than `slot`
     * all are counted, and the first are kept. Classes of the others' gaps and values are added to
     * the tally. Then, by codes and words that the caller has put there, streams one after the
     * other, with their sizes, checks and total; what there is no room for is not written. If
     * `prove` they are decoded from there, and tiles are counted of which that does not give what
     * differs. What a tile of none or too many has is not coded: its stream has no bytes. Neither
     * waits. */
    wcodec_status (*find)(struct wcodec_queue *queue, const struct wcodec_tensor_changes *changes,
                          wcodec_error *err);
    wcodec_status (*code)(struct wcodec_queue *queue, const struct wcodec_tensor_changes *changes,
                          bool prove, wcodec_error *err);
};

/* A recurrent unit by itself: wcodec_gru_form. */
enum { WCODEC_UNIT_NONE, WCODEC_UNIT_BEFORE, WCODEC_UNIT_AFTER };

/* An ensemble of recurrent models (wcodec/recurrent.h), or a unit by itself: as an ensemble of one
 * member without stochastic values. */
struct wcodec_rollout_sizes {
    uint32_t members, hidden, stochastic, inputs;
    uint32_t mode; /* wcodec_rssm_mode */
    uint32_t unit; /* WCODEC_UNIT_NONE: an ensemble */
    /* May factors of products be rounded to BF16? Of an ensemble: of many starts, which then has a
     * plan with tiles, or there is no such form. */
    bool rounded;
};

/* What of a member's weights its gates multiply. */
enum wcodec_rollout_matrix {
    WCODEC_ROLLOUT_W,     /* W_z, W_r and W_h, one over the other */
    WCODEC_ROLLOUT_GATES, /* U_z and U_r */
    WCODEC_ROLLOUT_RESET, /* U_h */
    WCODEC_ROLLOUT_MATRICES
};

/* How a device wants its weights, floats in memory of kind DEVICE: [members][parts][part_floats],
 * and after that the head, [hidden + stochastic]. A part has rows part * rows on of each gate's
 * matrices: W, U_z and U_r, U_h, column 0 of W [3][rows], the bias [3][rows]; a unit by itself in
 * place of that column c_h [rows], zeros [2][rows], and no head. A matrix of N rows,
 * those of one gate after those of the other, is [columns / 4][slices][N][4]: in slice s columns
 * s * columns on. What is none of the ensemble's is 0.
 *
 * What has tiles goes by tensor cores. Its parts, of a multiple of 64 rows, have weights of
 * BF16 for warps of eight rows, by quads of 64 columns, those of W and then those of U:
 * [rows / 8][quads][z, r, h][2][32][2][2][2], for a lane of two chunks of 16 columns four numbers
 * each. Lane l of 32 has row l / 4, and with q = l % 4 of a chunk of U columns 2 q, 2 q + 1, 2 q +
 * 8 and 2 q + 9, of W 4 q to 4 q + 3. After that come floats, [4][rows]: b_z, b_r, b_h and c_h.
 * Of an ensemble column 0 of W is 0, and there are [rows][8] more, of each hidden value: W_z's and
 * W_r's column 0, two zeros, W_h's; what head multiplies it by (in the mode reference also as the
 * stochastic value that it is); what head multiplies the stochastic value by that it is the logit
 * of; 1 if there is one, else 0. All heads are there then, and none follows. */
struct wcodec_rollout_plan {
    struct wcodec_rollout_sizes sizes;
    uint32_t form; /* the backend's own */
    uint32_t items;
    uint32_t parts;
    uint32_t rows;
    uint32_t slices[WCODEC_ROLLOUT_MATRICES];
    uint32_t columns[WCODEC_ROLLOUT_MATRICES]; /* multiples of 4 */
    uint32_t vector;                           /* floats of a vector, in all slices */
    uint32_t kept[WCODEC_ROLLOUT_MATRICES];    /* of them, the backend's own, as form and items */
    uint32_t cached[WCODEC_ROLLOUT_MATRICES];  /* likewise */
    uint32_t partials;                         /* most slices of rows */
    uint64_t part_floats;                      /* a multiple of 4 */
    uint32_t at_once;                          /* members of several parts, the backend's own */
    bool exchanges;                            /* do parts meet in the work area? */
    bool takes_pinned;                         /* may the work area be of kind PINNED? */
    uint32_t history; /* hidden values that are kept on the chip, the backend's own */
    uint32_t tiles; /* of 16 sequences, by tensor cores, the backend's own but for being 0 or not */
};

/* Where things are in a rollout's work area, in floats: what comes in, then what goes out, then
 * what the device works with. */
struct wcodec_rollout_work {
    uint64_t features; /* [inputs] */
    uint64_t hidden;   /* [members][hidden], or [hidden] where all begin alike */
    uint64_t exchange; /* [members][2][hidden][2], zeros; none where parts do not meet here */
    uint64_t fault;    /* [4], zeros; what goes out begins here, too: the first is not 0 where parts
                          waited in vain for each other, and nothing else is right */
    uint64_t loss;     /* [members][steps], as the next two */
    uint64_t squares;  /* sums of the squares of hidden values */
    uint64_t entropy;  /* not of the mode reference */
    uint64_t last;     /* [members][hidden + stochastic]: after the last step */
    uint64_t stay;     /* what comes here stays on the device */
    uint64_t size;
};

struct wcodec_ensemble_rollout {
    const struct wcodec_rollout_plan *plan;
    struct wcodec_memory *weights;
    struct wcodec_memory *work; /* of kind DEVICE, or PINNED where the plan allows it */
    uint64_t seed;              /* of the mode sampled */
    uint32_t steps;
    bool alike;
    bool bounded; /* are no hidden values larger than 4? */
};

static inline struct wcodec_rollout_work wcodec_rollout_work(const struct wcodec_rollout_plan *p,
                                                             uint32_t steps, bool alike)
{
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const uint64_t numbers = wcodec_align_u64((uint64_t)s->members * steps, 4);
    struct wcodec_rollout_work w = {.hidden = wcodec_align_u64(s->inputs, 4)};
    w.exchange =
        w.hidden + wcodec_align_u64(alike ? s->hidden : (uint64_t)s->members * s->hidden, 4);
    w.fault = w.exchange + (p->exchanges ? (uint64_t)4 * s->members * s->hidden : 0);
    w.loss = w.fault + 4;
    w.squares = w.loss + numbers;
    w.entropy = w.squares + numbers;
    w.last = w.entropy + numbers;
    w.stay = w.last + wcodec_align_u64((uint64_t)s->members * (s->hidden + s->stochastic), 4);
    w.size = w.stay + (uint64_t)s->members * p->parts * 3 * p->rows;
    return w;
}

/* Where things are in a work area of so many starts, in floats: what comes in, then what goes out.
 */
struct wcodec_many_work {
    uint64_t features; /* [starts][inputs] */
    uint64_t hidden;   /* [members][starts][hidden]; none where all begin alike */
    uint64_t loss;     /* [members][starts][steps], as the next one */
    uint64_t entropy;  /* not of the mode reference */
    uint64_t last;     /* [members][starts][hidden] */
    uint64_t size;
};

/* Rollouts of all members from each of many starts, no hidden value of which is larger than 4. */
struct wcodec_many_rollouts {
    const struct wcodec_rollout_plan *plan; /* with tiles */
    struct wcodec_memory *weights;
    struct wcodec_memory *work; /* of kind DEVICE */
    uint64_t starts;            /* not 0 */
    uint32_t steps;
    bool alike; /* hidden values are tanh of the features, then zeros */
};

static inline struct wcodec_many_work wcodec_many_work(const struct wcodec_rollout_plan *p,
                                                       uint64_t starts, uint32_t steps, bool alike)
{
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const uint64_t numbers = wcodec_align_u64(s->members * starts * steps, 4),
                   hidden = wcodec_align_u64(s->members * starts * s->hidden, 4);
    struct wcodec_many_work w = {.hidden = wcodec_align_u64(starts * s->inputs, 4)};
    w.loss = w.hidden + (alike ? 0 : hidden);
    w.entropy = w.loss + numbers;
    w.last = w.entropy + numbers;
    w.size = w.last + hidden;
    return w;
}

/* Sequences that go through a unit by itself: binary32 at native addresses (on OpenCL, which has
 * none, cl_mem that they begin), aligned to the element. Strides are numbers of elements. */
struct wcodec_sequences {
    const struct wcodec_rollout_plan *plan;
    struct wcodec_memory *weights;
    uint64_t values; /* [steps][sequences][inputs]; 0: there are no steps */
    uint64_t hidden; /* [sequences][hidden]; 0: zeros */
    uint64_t out;    /* [steps][sequences][hidden]; 0: not wanted */
    uint64_t last;   /* as hidden, which it may be; 0: not wanted */
    uint64_t values_step, values_sequence, out_step, out_sequence;
    uint64_t steps, sequences; /* sequences not 0 */
    bool reverse;              /* from the last step to the first */
};

struct wcodec_backend_rollouts {
    /* How the device would have such an ensemble; false: it does not take it. No device work. */
    bool (*plan)(struct wcodec_device *device, const struct wcodec_rollout_sizes *sizes,
                 struct wcodec_rollout_plan *plan);

    /* All steps of all members; steps may be 0. Sums are added in the plan's order, the same from
     * run to run. Waits for nothing. WCODEC_ERROR_UNSUPPORTED: the device's compiler does not take
     * the kernel. */
    wcodec_status (*run)(struct wcodec_queue *queue, const struct wcodec_ensemble_rollout *rollout,
                         wcodec_error *err);

    /* All steps of all members from all starts, whose results are the same whatever others are
     * beside them. Likewise. NULL: no plan has tiles. */
    wcodec_status (*run_many)(struct wcodec_queue *queue,
                              const struct wcodec_many_rollouts *rollouts, wcodec_error *err);

    /* Give all steps of all sequences to a queue of the caller's, by its native handle, without an
     * allocation and without waiting. Likewise. */
    wcodec_status (*run_sequences)(struct wcodec_device *device, uint64_t queue,
                                   const struct wcodec_sequences *sequences, wcodec_error *err);
};

/* Rows that anchors are found for (lib/vectors). In memory of kind DEVICE a row has pitch elements,
 * zeros after its own. */
struct wcodec_vectors_shape {
    uint64_t rows; /* less than 2^32 - 1 */
    uint32_t dimensions;
    uint32_t pitch;     /* wcodec_vectors_pitch() */
    wcodec_dtype dtype; /* F16, BF16 or F32 */
    bool centred;       /* is there a centre other than zeros? */
    bool parts;         /* rows are there part by part: what they add up to is kept */
};

enum {
    WCODEC_VECTORS_ROWS = 256,  /* of a block, whose sums are made by themselves */
    WCODEC_VECTORS_TRIED = 3,   /* rows that are tried for an anchor at once */
    WCODEC_VECTORS_PITCH = 32,  /* elements of a row are multiples of it */
    WCODEC_VECTORS_COLUMNS = 64 /* anchors that tensor cores take together */
};

static inline uint32_t wcodec_vectors_pitch(uint64_t dimensions)
{
    return (uint32_t)wcodec_align_u64(dimensions, WCODEC_VECTORS_PITCH);
}

/* What all iterations have found, as the host reads it after a step MEASURE. */
struct wcodec_vectors_result {
    double energy;         /* sum of squared distances */
    uint32_t changes;      /* rows that got another anchor by the last step ASSIGN */
    uint32_t empty;        /* anchors without rows */
    uint32_t next_changes; /* the device's own; 0 to begin with, as what follows */
    uint32_t hard;
    uint32_t hardest;
    uint32_t compared; /* rows that were compared with all anchors by that step, one by one */
};

/* Where things are: in the memory of what rows have, and in that of what anchors have. Multiples of
 * 128. */
struct wcodec_vectors_places {
    uint64_t distance; /* f32[rows]: to the row's anchor, when it was assigned */
    uint64_t index;    /* u32[rows]: 2^32 - 1 to begin with */
    uint64_t sums;     /* f64[WCODEC_VECTORS_TRIED][blocks] */
    uint64_t result;   /* struct wcodec_vectors_result, zeros to begin with */
    uint64_t centre;   /* f32[pitch]: what rows are around, zeros where they are not centred */
    uint64_t own;      /* the device's */
    uint64_t anchors;  /* f32[anchors][pitch] */
    uint64_t counts;   /* u32[anchors]: zeros to begin with */
    uint64_t totals;   /* parts: f64[anchors][pitch], what rows add up to; zeros to begin with */
    uint64_t members;  /* parts: u32[anchors], how many; likewise */
    uint64_t own_of_anchors;
    uint64_t rows_size, anchors_size;
};

static inline struct wcodec_vectors_places
wcodec_vectors_places(const struct wcodec_vectors_shape *s, uint64_t anchors)
{
    const uint64_t blocks = (s->rows + WCODEC_VECTORS_ROWS - 1) / WCODEC_VECTORS_ROWS,
                   columns = wcodec_align_u64(anchors, WCODEC_VECTORS_COLUMNS),
                   more = s->dtype != WCODEC_DTYPE_F16 || s->centred ? 2 * (uint64_t)s->pitch : 0;
    struct wcodec_vectors_places p = {.index = wcodec_align_u64(4 * s->rows, 256)};
    p.sums = p.index + wcodec_align_u64(4 * s->rows, 256);
    p.result = p.sums + wcodec_align_u64(8 * WCODEC_VECTORS_TRIED * blocks, 256);
    p.centre = p.result + 256;
    p.own = p.centre + wcodec_align_u64(4 * (uint64_t)s->pitch, 256);
    p.counts = 4 * anchors * s->pitch;
    p.totals = p.counts + wcodec_align_u64(4 * anchors, 256);
    p.members = p.totals + (s->parts ? 8 * anchors * s->pitch : 0);
    p.own_of_anchors = p.members + (s->parts ? wcodec_align_u64(4 * anchors, 256) : 0);
    /* backends/gpu/vectors.c says of what. */
    p.rows_size =
        p.own + (44 + more) * wcodec_align_u64(s->rows, 64) + 16 * wcodec_align_u64(blocks, 64);
    p.anchors_size = p.own_of_anchors + 256 + 10 * columns + 2 * columns * s->pitch;
    return p;
}

/* All of a step reads and writes what the places above say; what is not in `shape` or said by the
 * kind of step it takes no notice of. */
enum wcodec_vectors_kind {
    /* Rows are there: before all others. */
    WCODEC_VECTORS_BEGIN,
    /* Make a row anchor `number`, and distances those to the nearest anchor up to this one. The row
     * is `row[0]`, or the farthest after the step before, the last of equal ones. Of each block the
     * sum of distances goes to `sums` where it is wanted. */
    WCODEC_VECTORS_TAKE,
    /* What the sums would be with each of the rows `row`. */
    WCODEC_VECTORS_TRY,
    /* The nearest anchor of each row. */
    WCODEC_VECTORS_ASSIGN,
    /* Move anchors towards the means of their rows. */
    WCODEC_VECTORS_MOVE,
    /* Energy and changes to the result. */
    WCODEC_VECTORS_MEASURE,
    /* After ASSIGN, of rows that are a part of all: changes to the result, and what the rows add up
     * to, if that is wanted, to what those before have left, in the order of the rows. */
    WCODEC_VECTORS_ADD,
    /* After all parts: move anchors that have rows towards the means; totals are zeros again. */
    WCODEC_VECTORS_FINISH
};

struct wcodec_vectors_step {
    const struct wcodec_vectors_shape *shape;
    struct wcodec_memory *rows;    /* as the shape says */
    struct wcodec_memory *work;    /* of places.rows_size */
    struct wcodec_memory *anchors; /* of places.anchors_size */
    enum wcodec_vectors_kind kind;
    uint32_t used;   /* of the shape's rows those that are there, the first; 0: all */
    uint32_t room;   /* anchors that the places are of */
    uint32_t count;  /* anchors */
    uint32_t number; /* TAKE */
    bool farthest;   /* TAKE: not row[0] */
    bool sums;       /* TAKE, ADD: are wanted */
    bool distances;  /* ASSIGN: are wanted */
    bool trimmed;    /* MOVE: without the tenth of rows at either end; needs distances */
    bool whole;      /* MOVE, FINISH: to the means; MOVE: anchors without rows go to the farthest */
    bool any_order;  /* MOVE, ADD: sums of rows are exact */
    float part;      /* MOVE, FINISH: of the way, not `whole` */
    uint32_t row[WCODEC_VECTORS_TRIED];
};

struct wcodec_backend_vectors {
    /* Can it? Cheap, no device work. */
    bool (*supports)(struct wcodec_device *device, const struct wcodec_vectors_shape *shape);

    /* Does it bound distances by products of tensor cores, which a centre makes more certain?
     * Likewise. */
    bool (*multiplies)(struct wcodec_device *device, const struct wcodec_vectors_shape *shape);

    /* What lib/vectors does for the step, to the last bit. Waits for nothing.
     * WCODEC_ERROR_UNSUPPORTED: the device's compiler does not take the kernels. */
    wcodec_status (*run)(struct wcodec_queue *queue, const struct wcodec_vectors_step *step,
                         wcodec_error *err);
};

/* Coded vectors that are searched (lib/vectors/search.c), of all segments. Rows are in the order of
 * their anchors; those that were removed are left out. */
struct wcodec_search_shape {
    uint64_t rows;  /* 1 to 2^32 - 2 */
    uint64_t ranks; /* likewise, not less: where a row is in the order of ids, removed ones too */
    uint32_t dimensions;
    uint32_t pitch;   /* wcodec_vectors_pitch(): of queries, anchors and codes; zeros after these */
    uint32_t anchors; /* of all segments */
    uint32_t segments;
    uint32_t pieces; /* of at most WCODEC_SEARCH_PIECE rows of an anchor: all rows are in one */
};

enum {
    WCODEC_SEARCH_PIECE = 256,
    WCODEC_SEARCH_LANES = 32,  /* rows and anchors whose numbers lie beside each other */
    WCODEC_SEARCH_CODES = 16,  /* codes of a row that do */
    WCODEC_SEARCH_MOST = 1024, /* k; and probes, if not all anchors of a segment are fewer */
    WCODEC_SEARCH_QUERIES = 1 << 14
};

/* Where things are in the memory of vectors. Codes are in memory of their own:
 * i8[rows / LANES][pitch / CODES][LANES][CODES]. Multiples of 256. */
struct wcodec_search_places {
    uint64_t panels;         /* f32[anchors / LANES][pitch][LANES] */
    uint64_t anchors;        /* f32[anchors][pitch] */
    uint64_t anchor_lengths; /* f32[anchors] */
    uint64_t scales;         /* f32[anchors] */
    uint64_t begin;          /* u32[anchors + 1]: rows */
    uint64_t segments;       /* u32[segments + 1]: anchors */
    uint64_t pieces;         /* u32[pieces][2]: anchor, first row */
    uint64_t ranks;          /* u32[rows] */
    uint64_t squares;        /* f32[rows]: of residuals */
    uint64_t lengths;        /* f32[rows]: of decoded rows */
    uint64_t size, codes_size;
};

static inline uint64_t wcodec_search_put(uint64_t *at, uint64_t size)
{
    const uint64_t place = *at;
    *at += wcodec_align_u64(size, 256);
    return place;
}

static inline struct wcodec_search_places wcodec_search_places(const struct wcodec_search_shape *s)
{
    struct wcodec_search_places p = {.codes_size =
                                         wcodec_align_u64(s->rows, WCODEC_SEARCH_LANES) * s->pitch};
    const uint64_t anchor = 4 * (uint64_t)s->pitch;
    p.panels =
        wcodec_search_put(&p.size, wcodec_align_u64(s->anchors, WCODEC_SEARCH_LANES) * anchor);
    p.anchors = wcodec_search_put(&p.size, s->anchors * anchor);
    p.anchor_lengths = wcodec_search_put(&p.size, 4 * (uint64_t)s->anchors);
    p.scales = wcodec_search_put(&p.size, 4 * (uint64_t)s->anchors);
    p.begin = wcodec_search_put(&p.size, 4 * ((uint64_t)s->anchors + 1));
    p.segments = wcodec_search_put(&p.size, 4 * ((uint64_t)s->segments + 1));
    p.pieces = wcodec_search_put(&p.size, 8 * (uint64_t)s->pieces);
    p.ranks = wcodec_search_put(&p.size, 4 * s->rows);
    p.squares = wcodec_search_put(&p.size, 4 * s->rows);
    p.lengths = wcodec_search_put(&p.size, 4 * s->rows);
    return p;
}

/* Some queries, and what is looked for. */
struct wcodec_search_step {
    const struct wcodec_search_shape *shape;
    struct wcodec_memory *codes;
    struct wcodec_memory *vectors;
    struct wcodec_memory *work; /* of work.size */
    uint32_t queries;           /* 1 to WCODEC_SEARCH_QUERIES */
    uint32_t k;                 /* 1 to WCODEC_SEARCH_MOST */
    uint32_t probes;            /* anchors of each segment; 0: all */
    uint32_t pairs;             /* anchors that a query looks at then, of all segments; 0: all */
    uint32_t room;              /* rows that it looks at at most */
    uint32_t splits;            /* parts of these that are selected from by themselves */
    uint32_t metric;            /* wcodec_vectors_metric */
    bool filtered;              /* only rows that are allowed */
};

/* Where things are in the memory of the work. */
struct wcodec_search_work {
    uint64_t allowed; /* u32[ranks / 32]: a bit a rank, the lowest first */
    uint64_t queries; /* f32[queries][pitch] */
    uint64_t lengths; /* f32[queries] */
    uint64_t found;   /* u64[queries][k]: orders of keys above ranks; all ones: none */
    uint64_t own;     /* the device's */
    uint64_t size;
};

/* Bytes of the device's own: backends/gpu/search.c says of what. */
static inline uint64_t wcodec_search_own(const struct wcodec_search_step *s)
{
    const uint64_t pairs = s->pairs, query = 8 * (uint64_t)s->shape->anchors + 20 * pairs + 4 +
                                             4 * (uint64_t)s->room + 8 * (uint64_t)s->splits * s->k;
    return s->queries * query + 8 * ((uint64_t)s->shape->anchors + 1) + 16 * 256;
}

static inline struct wcodec_search_work wcodec_search_work(const struct wcodec_search_step *s)
{
    struct wcodec_search_work w = {.size = 0};
    w.allowed = wcodec_search_put(&w.size, s->filtered ? (s->shape->ranks + 31) / 32 * 4 : 0);
    w.queries = wcodec_search_put(&w.size, 4 * (uint64_t)s->queries * s->shape->pitch);
    w.lengths = wcodec_search_put(&w.size, 4 * (uint64_t)s->queries);
    w.found = wcodec_search_put(&w.size, 8 * (uint64_t)s->queries * s->k);
    w.own = wcodec_search_put(&w.size, wcodec_search_own(s));
    return w;
}

/* The order of a binary32 as a whole number, and back. */
static inline uint32_t wcodec_order_of_bits(uint32_t bits)
{
    return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

static inline uint32_t wcodec_bits_of_order(uint32_t order)
{
    return (order & 0x80000000) != 0 ? order & 0x7fffffff : ~order;
}

struct wcodec_backend_searches {
    /* Can it? Cheap, no device work. */
    bool (*supports)(struct wcodec_device *device, const struct wcodec_search_shape *shape);

    /* What lib/vectors/search.c finds, to the last bit. Waits for nothing.
     * WCODEC_ERROR_UNSUPPORTED: the device's compiler does not take the kernels. */
    wcodec_status (*run)(struct wcodec_queue *queue, const struct wcodec_search_step *step,
                         wcodec_error *err);
};

struct wcodec_backend_peers {
    /* Make ready copies from one device to another, or to itself, which may be of another state of
     * this backend. What the driver keeps for that may stay until the process ends. As often as
     * wanted. WCODEC_ERROR_UNSUPPORTED: from this one to that one there are none; the text says
     * why. */
    wcodec_status (*open)(struct wcodec_device *from, struct wcodec_device *to, wcodec_error *err);

    /* As the backend's copy(), given to a queue of the device of `from`, to the other one's memory.
     * That one's own queues know nothing of it. */
    wcodec_status (*copy)(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset,
                          struct wcodec_memory *from, uint64_t from_offset, uint64_t size,
                          wcodec_error *err);
};

struct wcodec_backend {
    /* WCODEC_BACKEND_HEAD. The number is first in every version; the sizes are looked at only if it
     * is this version's. */
    uint32_t abi;
    uint32_t sizes[WCODEC_BACKEND_STRUCTURE_COUNT];

    /* "cuda": lower case letters and digits; the plugin is wcodec_NAME.so and this structure
     * wcodec_backend_NAME. */
    const char *name;

    /* NULL: none of its devices has WCODEC_DEVICE_PRODUCTS. */
    const struct wcodec_backend_products *products;

    /* NULL: none of its devices codes tensors in tiles. */
    const struct wcodec_backend_encoders *encoders;

    /* NULL: none of its devices changes weights where they are. */
    const struct wcodec_backend_deltas *deltas;

    /* NULL: none of its devices rolls out recurrent models. */
    const struct wcodec_backend_rollouts *rollouts;

    /* NULL: none of its devices finds anchors of vectors. */
    const struct wcodec_backend_vectors *vectors;

    /* NULL: none of its devices searches in them. */
    const struct wcodec_backend_searches *searches;

    /* NULL: none of its devices copies to another. */
    const struct wcodec_backend_peers *peers;

    /* Open the backend: load and start the driver, find devices. Without a usable driver
     * WCODEC_ERROR_BACKEND, and the text is the reason that the user sees
     * ("libcuda.so.1 not found"). Must be cheap where there is no driver. */
    wcodec_status (*open)(const struct wcodec_host *host, struct wcodec_backend_state **state,
                          wcodec_error *err);
    void (*close)(struct wcodec_backend_state *state);

    /* Devices, numbered from 0 in an order that stays while the state lives. The listing is the
     * caller's. */
    unsigned (*device_count)(struct wcodec_backend_state *state);
    void (*device_list)(struct wcodec_backend_state *state, unsigned i,
                        struct wcodec_device_listing *listing);

    /* Open device i: context, kernels. WCODEC_ERROR_BACKEND if it cannot be used, with the reason.
     * May be opened more than once. */
    wcodec_status (*device_open)(struct wcodec_backend_state *state, unsigned i,
                                 struct wcodec_device **device, wcodec_error *err);
    void (*device_close)(struct wcodec_device *device);

    /* What the driver calls it, for callers that make memory and queues of their own: CUcontext and
     * CUdevice, cl_context and cl_device_id, as integers; 0 where there is none. */
    void (*device_native)(struct wcodec_device *device, uint64_t *context, uint64_t *number);

    /* Can jobs of such a tensor be decoded here? If not, the core takes the CPU. Cheap, no device
     * work. */
    bool (*device_supports)(struct wcodec_device *device, const struct wcodec_tiling *tiling);

    /* size > 0. The contents are undefined. WCODEC_ERROR_MEMORY if there is not so much. */
    wcodec_status (*memory_allocate)(struct wcodec_device *device, enum wcodec_memory_kind kind,
                                     uint64_t size, struct wcodec_memory **memory,
                                     wcodec_error *err);

    /* Make a handle of kind DEVICE for memory that stays the caller's: native is a CUdeviceptr, a
     * cl_mem, for the CPU a pointer, as an integer, aligned to 16 bytes (for the CPU to 1); size
     * bytes of it are used. It must live until the handle is freed. WCODEC_ERROR_USAGE if the
     * driver knows it for another device's. */
    wcodec_status (*memory_adopt)(struct wcodec_device *device, uint64_t native, uint64_t size,
                                  struct wcodec_memory **memory, wcodec_error *err);

    /* Where the host sees it; NULL for memory that it does not see. */
    void *(*memory_pointer)(struct wcodec_memory *memory);

    /* The other way of memory_adopt(): the native handle. 0 for PINNED memory that has none. */
    uint64_t (*memory_native)(struct wcodec_memory *memory);
    void (*memory_free)(struct wcodec_memory *memory);

    wcodec_status (*queue_create)(struct wcodec_device *device, struct wcodec_queue **queue,
                                  wcodec_error *err);

    /* One whose events have times, for measurements. */
    wcodec_status (*queue_create_timed)(struct wcodec_device *device, struct wcodec_queue **queue,
                                        wcodec_error *err);

    /* A queue over the caller's CUstream or cl_command_queue (which must be in order), which stays
     * his; ending the queue does not wait for it. */
    wcodec_status (*queue_adopt)(struct wcodec_device *device, uint64_t native,
                                 struct wcodec_queue **queue, wcodec_error *err);
    void (*queue_destroy)(struct wcodec_queue *queue);

    /* Wait until all that was given to the queue is done. */
    wcodec_status (*queue_wait)(struct wcodec_queue *queue, wcodec_error *err);

    /* What is given to the queue from now on begins after the event (of any queue of the device).
     * The host does not wait. */
    wcodec_status (*queue_after)(struct wcodec_queue *queue, struct wcodec_event *event,
                                 wcodec_error *err);

    /* A mark after all that was given to the queue so far. */
    wcodec_status (*event_record)(struct wcodec_queue *queue, struct wcodec_event **event,
                                  wcodec_error *err);
    wcodec_status (*event_wait)(struct wcodec_event *event, wcodec_error *err);

    /* *done is whether event_wait() would return at once. */
    wcodec_status (*event_query)(struct wcodec_event *event, bool *done, wcodec_error *err);

    /* Nanoseconds from one event to another on the device's own clock, both of queues that were
     * made by queue_create_timed(), and both passed. */
    wcodec_status (*event_elapsed)(struct wcodec_event *from, struct wcodec_event *to,
                                   uint64_t *nanoseconds, wcodec_error *err);
    void (*event_destroy)(struct wcodec_event *event);

    /* Copies, size may be 0. Host bytes belong to the queue until an event recorded later has
     * passed; only if they are PINNED memory is the copy sure not to hold up the caller. */
    wcodec_status (*copy_in)(struct wcodec_queue *queue, struct wcodec_memory *to,
                             uint64_t to_offset, const void *from, uint64_t size,
                             wcodec_error *err);
    wcodec_status (*copy_out)(struct wcodec_queue *queue, void *to, struct wcodec_memory *from,
                              uint64_t from_offset, uint64_t size, wcodec_error *err);
    wcodec_status (*copy)(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset,
                          struct wcodec_memory *from, uint64_t from_offset, uint64_t size,
                          wcodec_error *err);

    /* Write count times the first 2^element_log2 bytes of element, from an offset aligned to them
     * (constant tensors). */
    wcodec_status (*fill)(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset,
                          const uint8_t element[8], unsigned element_log2, uint64_t count,
                          wcodec_error *err);

    /* Make count > 0 jobs ready: build the device's descriptors from their structures, order tiles
     * by table, allocate what decoding needs. Uploads may be given to `queue`, and the batch is
     * decoded on this queue, or on one that is made to come after. The array of jobs is copied; the
     * payload's bytes need not be there yet. */
    wcodec_status (*batch_create)(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                  size_t count, struct wcodec_batch **batch, wcodec_error *err);

    /* Give the decoding of all jobs to the queue, in pieces that do not hold a display for long.
     * Every byte of a job's destination is written, also where a tile fails: nothing that was in
     * the memory before can be read from it afterwards. The results of the time before must have
     * been fetched. It is sure to begin by itself when an event is recorded after it, or when
     * somebody waits for the queue or the results: until then a driver may keep it. */
    wcodec_status (*batch_decode)(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                  wcodec_error *err);

    /* Wait for the last batch_decode() and set results[i] for each job. The destination of a failed
     * job is zeros when this returns. */
    wcodec_status (*batch_results)(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                   struct wcodec_job_result *results, wcodec_error *err);
    /* The queue must have been waited for since batch_create() and the last batch_decode(): both
     * may still read what is freed here. */
    void (*batch_destroy)(struct wcodec_batch *batch);
};

#endif
