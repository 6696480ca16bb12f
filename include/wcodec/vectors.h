/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Vectors as anchors and indices: rows of a tensor [n, d] are clustered, and each is stood for by
 * the anchor that is nearest to it.
 *
 *     wcodec_vector_rows rows = {.dtype = WCODEC_DTYPE_F16, .count = n, .dimensions = d,
 *                                .data = data};
 *     wcodec_vectors_options options;
 *     wcodec_vectors_options_init(&options);
 *     options.anchors = 256;
 *     status = wcodec_vectors_train(context, &rows, &options, &vectors, &err);
 *
 * Distances are squared Euclidean ones in binary32: the sum takes four products at a time, of
 * dimensions 4j to 4j + 3 added up in their order. What is nearest is decided by these alone, and
 * equal ones by the lower number; sums over rows are binary64 in an order that is fixed. So anchors
 * and indices depend on data and options, never on threads, the machine, or the device.
 */
#ifndef WCODEC_VECTORS_H
#define WCODEC_VECTORS_H

#include <wcodec/context.h>
#include <wcodec/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Anchors, and the number of one for each row. Immutable: it may be used from several threads at
 * once, except for destroying. */
typedef struct wcodec_vectors wcodec_vectors;

/** Rows in the caller's memory, one after the other, as a tensor has them. */
typedef struct wcodec_vector_rows {
    /** F16, BF16 or F32; little-endian. */
    wcodec_dtype dtype;
    /** Rows, n: 1 to 2^32 - 1. */
    uint64_t count;
    /** Elements of a row, d: 1 to 65536. */
    uint64_t dimensions;
    /** count * dimensions elements, at any address. They must be finite and, since anchors are F16,
     * at most 65504 in magnitude, and must not change during a call: of rows that do, as those of a
     * mapped file that is written to, what is found is not theirs. */
    const void *data;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vector_rows;

/** In which steps anchors are found. */
typedef enum wcodec_vectors_schedule {
    /** Starts by sampling rows by their squared distance to what is there (k-means++, the best of
     * three candidates; of more than 65536 rows, and 256 an anchor, so many at random), then moves
     * anchors to the means of their rows until none changes its anchor. An anchor without rows
     * takes the row that is farthest from its own. */
    WCODEC_VECTORS_BEST = 0,
    /** As published: starts with the farthest rows; steps that shrink with a temperature; anchors
     * merged and split now and then. Its energies are those of the published logs, and higher. */
    WCODEC_VECTORS_COMPAT = 1
} wcodec_vectors_schedule;

/** What anchors are moved towards in the schedule COMPAT. */
typedef enum wcodec_vectors_reduce {
    /** The mean of the rows without the tenth that is nearest and the tenth that is farthest. */
    WCODEC_VECTORS_TRIMMED = 0,
    /** The mean of all. */
    WCODEC_VECTORS_PLAIN = 1
} wcodec_vectors_reduce;

/** One iteration, when it is over. */
typedef struct wcodec_vectors_iteration {
    /** From 1 on. */
    uint64_t iteration;
    /** After cooling; 0 in the schedule BEST. */
    double temperature;
    /** Mean squared distance of rows to their anchors, after these moved. */
    double energy;
    /** Rows that got another anchor than before; in the first iteration all. */
    uint64_t changes;
    /** Anchors that there are now: the schedule COMPAT adds some by splitting. */
    uint64_t anchors;
    /** Anchors that were merged into others in this iteration. */
    uint64_t merged;
    /** Anchors that were split in it. */
    uint64_t split;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vectors_iteration;

/** Called after each iteration by the thread that trains. A return value other than 0 cancels. */
typedef int (*wcodec_vectors_iteration_fn)(void *opaque, const wcodec_vectors_iteration *iteration);

/** How anchors are found: fill with wcodec_vectors_options_init(), then change what matters. It
 * grows at its end (wcodec/base.h). */
typedef struct wcodec_vectors_options {
    /** Set by wcodec_vectors_options_init(). */
    size_t struct_size;
    /** m, 1 to the number of rows. Default: 1024. */
    uint64_t anchors;
    /** Default: BEST. */
    wcodec_vectors_schedule schedule;
    /** Default: TRIMMED. BEST takes plain means. */
    wcodec_vectors_reduce reduce;
    /** At most so many, 1 to 10^6; 0, the default: 1000 in COMPAT, 100 in BEST. */
    uint64_t max_iterations;
    /** Of the random numbers of BEST. Default: 0. */
    uint64_t seed;
    /** COMPAT: the part of the temperature, which begins with 1, that an iteration takes away;
     * 0 to 1. Default: 0.01. */
    double cooling;
    /** COMPAT: of the way to the mean, the part step * T / (1 + T) is taken, and at most 0.1 a
     * dimension; 0 to 1. Default: 0.1. */
    double step;
    /** COMPAT ends after three iterations in a row of which each changed the energy by less than
     * this, and fewer rows than min_changes. Default: 1e-4. */
    double tolerance;
    /** Default: 10. */
    uint64_t min_changes;
    /** COMPAT: merge and split each time after so many iterations; 0: never. Default: 50. */
    uint64_t maintenance;
    /** NULL: no reports. */
    wcodec_vectors_iteration_fn iteration;
    /** Its first argument. */
    void *opaque;
    /** In bytes that rows have as binary32, each iteration anew; the total is that of
     * max_iterations. Default: none. */
    wcodec_progress progress;
} wcodec_vectors_options;

/** What wcodec_vectors_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_vectors_options_init_size(wcodec_vectors_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_vectors_options_init(wcodec_vectors_options *options)
{
    wcodec_vectors_options_init_size(options, sizeof *options);
}

/** Find anchors for the rows, on the context's threads or its device: on a CUDA or OpenCL one that
 * the context was asked for by name, or where it has the choice, if rows times anchors times
 * dimensions are 2^30 at least. What comes of it is the same, and so are the iterations that are
 * reported. Rows that its memory has no room for go there part by part, in each iteration anew,
 * which the log says; BEST then begins there with its sample, if that has room, else, and in
 * COMPAT, the CPU does, which makes trimmed means, too; a device that the context has the choice of
 * does so for 64 anchors at least. A device that cannot, has too little memory even for that, or is
 * lost where the CPU may go on, leaves all to the CPU, and the log says so; so does one that has
 * computed wrongly, as the CPU finds by 16 of the rows.
 *
 * Takes, beside the rows, their size as binary32 (dimensions rounded up to a multiple of four) and
 * 16 bytes a row, 12 bytes for each number of an anchor, and while the CPU looks for anchors to
 * begin with, that size once more; in BEST, of 256 rows an anchor, or 65536 if these are more, and
 * of these twice if they are not all. Where all that is beyond the limit of memory, or the
 * machine's, BEST widens rows as they are wanted, in their order, if it begins with fewer than all:
 * `data` may then be a mapping of a file that is larger than memory, and anchors take 20 bytes for
 * each number. Of a device's memory it takes the rows (with dimensions rounded up to a multiple of
 * 32), as F16 once more if they are not, 60 bytes a row, and 6 for each number of an anchor, or,
 * part by part, 14 for each of these and at most some 400 MiB, beside 150 of the host's for rows on
 * their way; these count as well where the device's memory is the host's.
 *
 * *vectors belongs to the caller, who ends it by wcodec_vectors_destroy() before the context. On
 * failure nothing is left.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (shapes or options out of range; a row with an element that
 * is NaN, infinite or too large for F16, by its number), WCODEC_ERROR_UNSUPPORTED (another dtype),
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED, WCODEC_ERROR_BACKEND (the device
 * that was asked for cannot be used), WCODEC_ERROR_DEVICE (it was lost, and the context may not use
 * the CPU). */
WCODEC_API wcodec_status wcodec_vectors_train(wcodec_context *context,
                                              const wcodec_vector_rows *rows,
                                              const wcodec_vectors_options *options,
                                              wcodec_vectors **vectors, wcodec_error *err);

/** What anchors and indices there are. */
typedef struct wcodec_vectors_info {
    /** n. */
    uint64_t rows;
    /** m. */
    uint64_t anchors;
    /** d. */
    uint64_t dimensions;
    /** F16, m * d, row by row; of the object. */
    const uint16_t *anchor;
    /** n numbers below m; of the object. */
    const uint32_t *index;
    /** Of the files that it was imported from: 1: there are Jacobians, 2: there are residuals,
     * which are in files of their own and not read. */
    uint32_t flags;
    /** 0. */
    uint32_t reserved32;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vectors_info;

/** Describe; what it points to lives as long as the object. Never fails. */
WCODEC_API void wcodec_vectors_describe(const wcodec_vectors *vectors, wcodec_vectors_info *info);

/** How well anchors stand for rows. */
typedef struct wcodec_vectors_quality {
    /** Mean squared distance of rows to their anchors. */
    double energy;
    /** Of the k nearest rows of a query, the part that is among the k whose anchors are nearest,
     * mean over the queries; equal distances count by the lower number of the row. */
    double recall;
    /** Queries that were taken: rows that are equally far from each other. */
    uint64_t queries;
    /** Bits that an index takes by the entropy of their counts. */
    double index_bits;
    /** Rows of the anchor with fewest. */
    uint64_t smallest;
    /** Rows of that with most. */
    uint64_t largest;
    /** Anchors that have none. */
    uint64_t empty;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vectors_quality;

/** Measure on the rows that the indices are of, with `queries` of them (at most all; 0: no recall)
 * and the k (1 to 1000, below n where there are queries) nearest others, by an exhaustive scan.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (also rows of another shape), WCODEC_ERROR_UNSUPPORTED,
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_vectors_evaluate(wcodec_context *context,
                                                 const wcodec_vectors *vectors,
                                                 const wcodec_vector_rows *rows, uint64_t queries,
                                                 uint64_t k, const wcodec_progress *progress,
                                                 wcodec_vectors_quality *quality,
                                                 wcodec_error *err);

/** The files that the published system keeps; all numbers are little-endian. */
typedef enum wcodec_vectors_part {
    /** .idx, 19 bytes: the magic number 0x564C4341 (32 bits), version 1 (16), m, d and n (32 each),
     * flags (8). */
    WCODEC_VECTORS_PART_HEAD = 0,
    /** .anchors.bin: F16, m * d. */
    WCODEC_VECTORS_PART_ANCHORS = 1,
    /** .assign.bin: unsigned 32 bits, n. */
    WCODEC_VECTORS_PART_INDEX = 2
} wcodec_vectors_part;

/** Write one of the files. `write` gets it in order, in pieces, and is called by this thread.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (no such part), WCODEC_ERROR_IO (write returned other than
 * 0). */
WCODEC_API wcodec_status wcodec_vectors_export(const wcodec_vectors *vectors,
                                               wcodec_vectors_part part, wcodec_write_fn write,
                                               void *opaque, wcodec_error *err);

/** Make an object of the contents of the three files, in the order of wcodec_vectors_part. They are
 * copied. All sizes must be what the head says, indices below m, anchors finite.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_LIMIT, WCODEC_ERROR_USAGE. */
WCODEC_API wcodec_status wcodec_vectors_import(wcodec_context *context, const void *const data[3],
                                               const size_t size[3], wcodec_vectors **vectors,
                                               wcodec_error *err);

/** Free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_vectors_destroy(wcodec_vectors *vectors);

#ifdef __cplusplus
}
#endif
#endif
