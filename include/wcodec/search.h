/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Vectors compressed with residuals, and search in what is compressed.
 *
 * A segment is a .wcodec file of vectors: anchors, the number of one for each vector, and what is
 * left of each vector, quantised (wcodec-format(5), section 13). A store is a folder of segments,
 * to which vectors are added, and from which they are removed, while others search it.
 *
 *     wcodec_vectors_train(context, &rows, NULL, &vectors, &err);
 *     wcodec_vectors_store_add(context, "store", vectors, &rows, NULL, NULL, &report, &err);
 *     wcodec_vectors_open(context, "store", &store, &err);
 *     wcodec_vectors_search(store, &queries, &options, ids, scores, &err);
 *
 * A vector decodes to anchor[j] + scale * residual[j], in binary32, product and sum rounded one
 * after the other. Nearest are those whose decoded vectors are nearest to a query, of which
 * products with residuals see the numbers rounded to 16 bits. Equal ones are in the order of
 * their ids. What is found depends on the store, the queries and the options, never on threads, on
 * the machine, or on the device.
 */
#ifndef WCODEC_SEARCH_H
#define WCODEC_SEARCH_H

#include <wcodec/vectors.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How exact compressed vectors are: fill with wcodec_vectors_compress_options_init(), then change
 * what matters. It grows at its end (wcodec/base.h). */
typedef struct wcodec_vectors_compress_options {
    /** Set by wcodec_vectors_compress_options_init(). */
    size_t struct_size;
    /** Bits a dimension that residuals take, by the entropy of their values, 0.5 to 7; fewer where
     * more would be clipped away, or there are not so many values. 0, the default: by `recall`. */
    double bits;
    /** Without `bits`: the part of the 10 rows whose decoded rows are nearest to a row that must be
     * among its 10 nearest, or as near as the tenth of these, above 0 and below 1; fewer than 10
     * where there are fewer others. It is measured on 200 rows, or all if there are fewer: of few
     * rows it says little. 0, the default: 0.95; but what is added to a store without bits and
     * recall is as exact as its first segment. */
    double recall;
    /** 1 (fast) to 9 (small), as in wcodec_encode_options. 0, the default: 3. */
    int level;
    /** In bytes that rows have as binary32, gone through some times. Default: none. */
    wcodec_progress progress;
} wcodec_vectors_compress_options;

/** What wcodec_vectors_compress_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_vectors_compress_options_init_size(wcodec_vectors_compress_options *options,
                                                          size_t size);

/** Set all members to their defaults. */
static inline void wcodec_vectors_compress_options_init(wcodec_vectors_compress_options *options)
{
    wcodec_vectors_compress_options_init_size(options, sizeof *options);
}

/** What compressing vectors gave. */
typedef struct wcodec_vectors_report {
    /** n. */
    uint64_t rows;
    /** Those that are some row's: others are left out. */
    uint64_t anchors;
    /** d. */
    uint64_t dimensions;
    /** Bytes of the file. */
    uint64_t coded_size;
    /** Bits a dimension that residuals take by the entropy of their values. */
    double bits;
    /** Of residuals: the distance of two values. */
    double scale;
    /** Mean squared distance of rows to decoded rows. */
    double energy;
    /** As measured; -1 where it was not, since `bits` or a store's scale decided. */
    double recall;
    /** Elements whose residual is beyond what 8 bits hold, and is the largest that they do. */
    uint64_t clipped;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vectors_report;

/** Compress rows to a segment, which goes out through `write`, front to back. Each row gets the
 * nearest of the anchors of `vectors`, which may have been trained on other rows of as many
 * dimensions. `options` and `report` may be NULL. Takes, beside the rows, their size as binary32,
 * 16 bytes a row, and a byte an element. On failure, what was written is no valid file.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (shapes or options out of range; a row with an element that
 * is NaN, infinite or too large for F16, by its number; a recall that 7 bits do not reach),
 * WCODEC_ERROR_UNSUPPORTED (another dtype), WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_vectors_compress(wcodec_context *context,
                                                 const wcodec_vectors *vectors,
                                                 const wcodec_vector_rows *rows,
                                                 const wcodec_vectors_compress_options *options,
                                                 wcodec_write_fn write, void *opaque,
                                                 wcodec_vectors_report *report, wcodec_error *err);

/** Decode rows [first, first + count) of a segment to dst, count * d numbers of binary32. Of the
 * file, only the anchors and what holds these rows are decoded.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (no segment, rows out of range, dst_size, in bytes, too
 * small), and what wcodec_reader_decode_rows() does. */
WCODEC_API wcodec_status wcodec_vectors_decode(const wcodec_reader *reader, uint64_t first,
                                               uint64_t count, float *dst, size_t dst_size,
                                               wcodec_error *err);

/** Vectors to search in, in memory, coded: a byte an element, 12 bytes a vector, and the anchors.
 * In the memory of a device, if one searches: as much again of it (of dimensions rounded up to a
 * multiple of 32), without the vectors that were removed. Immutable: it may be used from several
 * threads at once, except for closing; a device does one search after the other. */
typedef struct wcodec_vectors_store wcodec_vectors_store;

/** Open a store, or a segment, whose vectors then have the ids 0 to n - 1, and read it to memory.
 * What others add to the store or remove from it later is not seen.
 *
 * A CUDA or OpenCL device that the context was asked for by name gets the vectors, too, and
 * searches in them; where the context has the choice, they are brought there by the first search of
 * which queries times vectors that are looked at times dimensions are 2^36 at least. A device that
 * cannot, or has no memory for them and queries at work, leaves searching to the CPU, and the log
 * says so. A store of several segments, if there is memory for each of them by itself, then goes
 * there one part after the other in each search whose queries look at each vector 64 times or more
 * (together; all anchors and 64 queries, say, or a 16th of them and 1024), and the CPU does the
 * others.
 *
 * *store belongs to the caller, who ends it by wcodec_vectors_close() before the context.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (neither), WCODEC_ERROR_NOT_FOUND, WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, and
 * WCODEC_ERROR_BACKEND (the device that was asked for cannot be used) or WCODEC_ERROR_DEVICE (it
 * was lost, and the context may not use the CPU). */
WCODEC_API wcodec_status wcodec_vectors_open(wcodec_context *context, const char *path,
                                             wcodec_vectors_store **store, wcodec_error *err);

/** The same of a segment that a reader has open, which is not needed afterwards. */
WCODEC_API wcodec_status wcodec_vectors_open_reader(wcodec_context *context,
                                                    const wcodec_reader *reader,
                                                    wcodec_vectors_store **store,
                                                    wcodec_error *err);

/** What is in a store. */
typedef struct wcodec_vectors_store_info {
    /** Vectors that are there. */
    uint64_t rows;
    /** Vectors that were removed, but take memory. */
    uint64_t removed;
    /** d. */
    uint64_t dimensions;
    /** Segments. */
    uint64_t segments;
    /** Anchors of all segments. */
    uint64_t anchors;
    /** All ids are below it. */
    uint64_t next_id;
    /** Bytes of the files. */
    uint64_t coded_size;
    /** Bytes in memory. */
    uint64_t memory;
    /** Bytes in the memory of the device that searches, with what the largest search until now
     * needed; 0: the CPU does, or vectors are brought there for large searches. */
    uint64_t device_memory;
    /** 0. */
    uint64_t reserved[3];
} wcodec_vectors_store_info;

/** Describe. Never fails. */
WCODEC_API void wcodec_vectors_store_describe(const wcodec_vectors_store *store,
                                              wcodec_vectors_store_info *info);

/** What is near. */
typedef enum wcodec_vectors_metric {
    /** Least squared Euclidean distance. */
    WCODEC_VECTORS_L2 = 0,
    /** Largest inner product. */
    WCODEC_VECTORS_INNER_PRODUCT = 1,
    /** Largest cosine of the angle; 0 where a vector is zero. */
    WCODEC_VECTORS_COSINE = 2
} wcodec_vectors_metric;

/** How to search: fill with wcodec_vectors_search_options_init(), then change what matters. It
 * grows at its end (wcodec/base.h). */
typedef struct wcodec_vectors_search_options {
    /** Set by wcodec_vectors_search_options_init(). */
    size_t struct_size;
    /** Vectors to find for each query, 1 to 4096, and no more than there are. Default: 10. */
    uint64_t k;
    /** Default: L2. */
    wcodec_vectors_metric metric;
    /** Anchors of each segment, the nearest to the query, whose vectors are looked at; 0, the
     * default: all. */
    uint64_t probes;
    /** NULL, or a bit for each id, the lowest of a byte first: only vectors whose bit is 1 are
     * looked at. */
    const uint8_t *allowed;
    /** Bits in `allowed`; ids from there on are not looked at. */
    uint64_t allowed_count;
    /** NULL, or the vectors as they were before they were compressed: then rerank_factor times k
     * are looked for, at most 16384, and of these candidates the k are found that are nearest by
     * these rows, whose exact distances are the scores. Of any type that rows have. */
    const wcodec_vector_rows *original;
    /** NULL, or in place of `original` a reader that has them as a tensor: each candidate's row is
     * decoded. It may be of another context. */
    const wcodec_reader *original_reader;
    /** Number of that tensor in the reader. */
    uint64_t original_tensor;
    /** Id of the vector whose row is the first one; the others' follow. Default: 0. */
    uint64_t original_first_id;
    /** Candidates for each of k, 1 to 1000. Default: 4. */
    uint64_t rerank_factor;
} wcodec_vectors_search_options;

/** What wcodec_vectors_search_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_vectors_search_options_init_size(wcodec_vectors_search_options *options,
                                                        size_t size);

/** Set all members to their defaults. */
static inline void wcodec_vectors_search_options_init(wcodec_vectors_search_options *options)
{
    wcodec_vectors_search_options_init_size(options, sizeof *options);
}

/** Find the k vectors that are nearest to each query, on the context's threads, or by the device in
 * whose memory the vectors are. ids and scores get count * k numbers, k of each query, the nearest
 * first: squared distances, products or cosines, by the metric. Where fewer are looked at, the last
 * ids are UINT64_MAX, with scores that are infinite (by the other metrics, negative infinite).
 * `options` may be NULL.
 *
 * Of several queries in one call, up to 64 go through the vectors together, as many as the
 * context's limit of memory has room for beside these: that is faster, and finds the same. A device
 * takes as many together as a sixteenth of its memory holds, or 1 GiB: for each query 4 bytes for
 * each vector that it may look at, and 8 for each anchor; queries and what is found go by way of 16
 * MiB of the host's memory that each open store keeps. It looks for at most 1024 vectors (or
 * candidates), among those of at most 1024 anchors of each segment or of all; what is more, and
 * what a device that is lost had to do, the CPU does, if it may, and the log says so. With
 * `allowed` the bits of all vectors go to the device in each call.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (options out of range; k above the number of vectors;
 * queries of other dimensions; a query with an element that is NaN, infinite or beyond 65504, by
 * its number; an original of other dimensions, without a row of a candidate, or with one of
 * such elements, by its id), WCODEC_ERROR_UNSUPPORTED (another dtype),
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT (no room for one query), WCODEC_ERROR_DEVICE (the device
 * was lost, and the context may not use the CPU), and of a reader what wcodec_reader_decode_rows()
 * does. What ids and scores have after a failure is undefined. */
WCODEC_API wcodec_status wcodec_vectors_search(const wcodec_vectors_store *store,
                                               const wcodec_vector_rows *queries,
                                               const wcodec_vectors_search_options *options,
                                               uint64_t *ids, float *scores, wcodec_error *err);

/** The fewest probes by which searches of these queries find, on average, at least the part
 * `recall` (above 0 and below 1) of the k that are found where all anchors are looked at: for later
 * searches of queries like these, some hundreds of which say enough. What is as near as the last of
 * the k counts. *probes is 0 where all are needed. Of `options`, which may be NULL, all count but
 * probes. Searches all anchors once, and then by some numbers of probes.
 *
 * Returns what wcodec_vectors_search() does; WCODEC_ERROR_USAGE also for the recall. */
WCODEC_API wcodec_status wcodec_vectors_tune(const wcodec_vectors_store *store,
                                             const wcodec_vector_rows *queries,
                                             const wcodec_vectors_search_options *options,
                                             double recall, uint64_t *probes, wcodec_error *err);

/** Close and free. NULL is ignored. No other call may be running on it. Never fails. */
WCODEC_API void wcodec_vectors_close(wcodec_vectors_store *store);

/** Add rows to the store in the folder `path`, which is made if there is none, as one more segment.
 * They get ids that follow each other, from *first_id on, or, where first_id is NULL or it points
 * to UINT64_MAX, from the first on that was never used; that is then put there. Ids are below 2^63
 * and never used again. vectors NULL: the anchors are those of the store's first segment. Without
 * bits and recall in the options, residuals have the scale that they have there, or the larger one
 * that they need.
 *
 * The segment is written and synced before the manifest is replaced by rename. So whatever happens,
 * all of them are in the store or none, and a folder that was made for a store that is not there
 * then is gone. `options` and `report` may be NULL.
 *
 * Returns what wcodec_vectors_compress() and wcodec_vectors_open() do; WCODEC_ERROR_USAGE also for
 * ids that were used or too large, for other dimensions than the store's, and for a new store
 * without `vectors`; WCODEC_ERROR_BUSY where another process or thread is changing the store;
 * WCODEC_ERROR_CORRUPT also for a folder whose manifest was lost: it has none, but segments. */
WCODEC_API wcodec_status wcodec_vectors_store_add(wcodec_context *context, const char *path,
                                                  const wcodec_vectors *vectors,
                                                  const wcodec_vector_rows *rows,
                                                  const wcodec_vectors_compress_options *options,
                                                  uint64_t *first_id, wcodec_vectors_report *report,
                                                  wcodec_error *err);

/** Remove the vectors of `count` ids from the store in the folder `path`: they are not found any
 * more by who opens it afterwards. Their bytes stay in the segments until these are compacted. Each
 * call writes a bit for each vector of the segments that it touches anew. All of them are removed
 * or none. An id that is not there, or twice among them, is WCODEC_ERROR_NOT_FOUND; else as
 * wcodec_vectors_store_add(). */
WCODEC_API wcodec_status wcodec_vectors_store_remove(wcodec_context *context, const char *path,
                                                     const uint64_t *ids, uint64_t count,
                                                     wcodec_error *err);

/** How a store is compacted: fill with wcodec_vectors_compact_options_init(), then change what
 * matters. It grows at its end (wcodec/base.h). */
typedef struct wcodec_vectors_compact_options {
    /** Set by wcodec_vectors_compact_options_init(). */
    size_t struct_size;
    /** Segments are merged to such of at most so many vectors, 1 to 2^32 - 2, and no more than the
     * context's limit of memory has room for. A segment for which there is no room stays as it is;
     * if some were removed from it, they stay too, and the log says so. Default: 2^20. */
    uint64_t max_rows;
    /** 1 (fast) to 9 (small), as in wcodec_encode_options. 0, the default: 3. */
    int level;
    /** In bytes of residuals, read and written. Default: none. */
    wcodec_progress progress;
} wcodec_vectors_compact_options;

/** What wcodec_vectors_compact_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_vectors_compact_options_init_size(wcodec_vectors_compact_options *options,
                                                         size_t size);

/** Set all members to their defaults. */
static inline void wcodec_vectors_compact_options_init(wcodec_vectors_compact_options *options)
{
    wcodec_vectors_compact_options_init_size(options, sizeof *options);
}

/** What compacting did. */
typedef struct wcodec_vectors_compact_report {
    /** Segments before. */
    uint64_t segments_before;
    /** Segments afterwards. */
    uint64_t segments_after;
    /** Vectors that are there. */
    uint64_t rows;
    /** Removed vectors, whose bytes are gone now. */
    uint64_t dropped;
    /** Bytes of all segments before. */
    uint64_t size_before;
    /** Bytes of all segments afterwards. */
    uint64_t size_after;
    /** 0. */
    uint64_t reserved[4];
} wcodec_vectors_compact_report;

/** Merge segments of the store in the folder `path`, and drop the vectors that were removed. Ids
 * stay, and so do anchors, indices and residuals: a search finds the same vectors with the same
 * scores, to the last bit, where it looks at all of them. With `probes` it looks at so many anchors
 * of the merged segment, and no longer of each before.
 *
 * Neighbours in the order of ids are merged, as many as have max_rows together, if they have
 * anchors in common, directly or by way of other segments: that is so of all that were added by the
 * anchors of the first. Segments whose anchors were trained apart stay apart. One that has more
 * vectors, and none that was removed, is left alone.
 *
 * New segments are written and synced before the manifest is replaced by rename, and old ones are
 * removed after it: whatever happens, the store is as before or as afterwards. Who has it open
 * searches on, and who is about to open it begins again. `options` and `report` may be NULL.
 *
 * The limit of memory counts a merged segment, d + 12 bytes a vector that is left and 2 * d + 20 an
 * anchor, of which there are no more than vectors, and beside it the largest segment that is read
 * for it, 20 bytes a vector and 8 * d + 8 an anchor, or if they take more the merged ids or anchors
 * once more, 8 bytes and 2 * d; it does not count buffers of some MiB. Before that, 16 bytes for
 * each anchor of segments that can be copied are taken: more are WCODEC_ERROR_LIMIT.
 *
 * Returns what wcodec_vectors_store_add() does. */
WCODEC_API wcodec_status wcodec_vectors_store_compact(wcodec_context *context, const char *path,
                                                      const wcodec_vectors_compact_options *options,
                                                      wcodec_vectors_compact_report *report,
                                                      wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
