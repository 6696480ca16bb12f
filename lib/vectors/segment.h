/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Segments: files of anchors, indices and quantised residuals (doc/format.md 13), how residuals are
 * quantised, and what search has of a segment in memory. */
#ifndef WCODEC_VECTORS_SEGMENT_H
#define WCODEC_VECTORS_SEGMENT_H

#include "coding/floats.h"
#include "vectors/manifest.h"
#include "vectors/vectors.h"
#include <wcodec/search.h>

#define WCODEC_SEGMENT_KEY "wcodec.vectors"
#define WCODEC_SEGMENT_VERSION "1"
#define WCODEC_SEGMENT_ANCHORS "vectors.anchors"
#define WCODEC_SEGMENT_SCALES "vectors.scales"
#define WCODEC_SEGMENT_INDICES "vectors.indices"
#define WCODEC_SEGMENT_GAPS "vectors.gaps"
#define WCODEC_SEGMENT_RESIDUALS "vectors.residuals"
#define WCODEC_SEGMENT_SCALE_MAX 65504.0f

enum {
    WCODEC_RESIDUAL_MAX = 127 /* largest magnitude that is written */
};

/* The element that a residual decodes to. */
static inline float wcodec_vectors_restore(float anchor, float scale, int residual)
{
    const float product = scale * (float)residual;
    const float element = anchor + product;
    return element;
}

/* The residual of an element. */
int wcodec_vectors_quantise(float element, float anchor, float scale);

/* The largest scale by which residuals take at least so many bits a dimension, as far as a sample
 * of the rows tells, which have their anchors. */
float wcodec_vectors_scale_of_bits(const struct wcodec_vectors_work *work, double bits);
/* The least of these by which the decoded rows reach the recall. WCODEC_ERROR_USAGE: none does. */
wcodec_status wcodec_vectors_scale_of_recall(struct wcodec_vectors_work *work, double wanted,
                                             float *scale, double *recall, wcodec_error *err);
enum { WCODEC_RECALL_PASSES = 7 /* over the rows, at most, while it looks for it */ };

/* wcodec_vectors_compress() with a scale in place of bits and recall, or a larger one where
 * residuals would be clipped; 0: by these. */
wcodec_status wcodec_vectors_compress_by(wcodec_context *context, const wcodec_vectors *vectors,
                                         const wcodec_vector_rows *rows, float scale,
                                         const wcodec_vectors_compress_options *options,
                                         wcodec_write_fn write, void *opaque,
                                         wcodec_vectors_report *report, wcodec_error *err);

/* Options of a search, with what there is in the store, and the queries' shape: as
 * wcodec_vectors_search() says of them. */
wcodec_status wcodec_vectors_check_search(const wcodec_vectors_store *store,
                                          const wcodec_vector_rows *queries,
                                          const wcodec_vectors_search_options *options,
                                          wcodec_error *err);

/* What is in a segment. */
struct wcodec_segment_content {
    size_t n, m, d;
    size_t scale_count;      /* 1 or m */
    const uint16_t *anchors; /* F16, m * d */
    const float *scales;
    const uint32_t *indices;
    const uint64_t *gaps; /* ids that are left out before each row's; NULL: none */
    const int8_t *residuals;
};

wcodec_status wcodec_segment_write(wcodec_context *context,
                                   const struct wcodec_segment_content *content,
                                   const wcodec_encode_options *options, wcodec_write_fn write,
                                   void *opaque, uint64_t *coded_size, wcodec_error *err);

/* A segment that a reader has open: numbers of its tensors, and sizes, which fit each other. */
struct wcodec_segment_file {
    const wcodec_reader *reader;
    uint64_t anchors, scales, indices, residuals;
    uint64_t n, m, d;
    uint64_t scale_count; /* 1 or m */
    unsigned index_size;  /* bytes of an index */
    uint64_t gaps;
    unsigned gap_size;   /* bytes of a gap; 0: there are none */
    uint64_t coded_size; /* bytes of the file */
};

/* WCODEC_ERROR_USAGE: it is no segment; CORRUPT: it says that it is one. */
wcodec_status wcodec_segment_find(const wcodec_reader *reader, struct wcodec_segment_file *file,
                                  wcodec_error *err);
/* Anchors as binary32, m rows of `width` numbers, and m scales. */
wcodec_status wcodec_segment_read_anchors(const struct wcodec_segment_file *file,
                                          const wcodec_allocator *allocator, size_t width,
                                          float *anchors, float *scales, wcodec_error *err);
/* Indices of rows, all below m. */
wcodec_status wcodec_segment_read_indices(const struct wcodec_segment_file *file,
                                          const wcodec_allocator *allocator, uint64_t first,
                                          uint64_t count, uint32_t *indices, wcodec_error *err);

/* The ids of all rows, that of the first being at least `first`: below 2^63. */
wcodec_status wcodec_segment_read_ids(const struct wcodec_segment_file *file,
                                      const wcodec_allocator *allocator, uint64_t first,
                                      uint64_t *ids, wcodec_error *err);

/* A segment in memory. Rows are in the order of their anchors, and of their numbers within one. */
struct wcodec_vectors_segment {
    size_t n, m, d;
    size_t width;  /* of anchors: d up to a multiple of WCODEC_NEAREST_GROUP; zeros */
    size_t stride; /* of codes: d up to a multiple of WCODEC_CODES_GROUP; zeros */
    uint64_t first_id;
    bool is_sparse; /* ids do not all follow each other */
    uint64_t coded_size;
    uint64_t removed_count;
    float *anchors;        /* m * width */
    float *anchor_lengths; /* m */
    float *panels;         /* the same, as the kernel takes them */
    float *scales;         /* m */
    size_t *begin;         /* m + 1 */
    uint32_t *row;         /* n: numbers of rows */
    uint64_t *ids;         /* n, by row number, where is_sparse */
    int8_t *codes;         /* n * stride */
    float *squares;        /* n: of residuals, scaled */
    float *lengths;        /* n: of decoded rows */
    size_t from, to;       /* of these rows, those that a device gets: 0 to n but in a part */
    uint8_t *removed;      /* a bit a row number, by the file; NULL: none is */
};

/* Is it what a store's manifest says that it is? WCODEC_ERROR_CORRUPT: it is not. */
wcodec_status wcodec_segment_check(const struct wcodec_segment_file *file,
                                   const struct wcodec_manifest_entry *entry, uint64_t d,
                                   wcodec_error *err);
/* Its ids, by its manifest. */
wcodec_status wcodec_segment_entry_ids(const struct wcodec_segment_file *file,
                                       const wcodec_allocator *allocator,
                                       const struct wcodec_manifest_entry *entry, uint64_t *ids,
                                       wcodec_error *err);

/* entry: of a store's manifest, with that d; NULL: of none, ids are from 0 on. held: bytes that the
 * call holds already, of the limit of memory. */
wcodec_status wcodec_segment_load(wcodec_context *context, const wcodec_reader *reader,
                                  const struct wcodec_manifest_entry *entry, uint64_t d,
                                  uint64_t held, struct wcodec_vectors_segment *segment,
                                  wcodec_error *err);
void wcodec_segment_free(const wcodec_allocator *allocator, struct wcodec_vectors_segment *segment);
uint64_t wcodec_segment_memory(const struct wcodec_vectors_segment *segment);

static inline bool wcodec_segment_is_removed(const struct wcodec_vectors_segment *segment,
                                             uint64_t row)
{
    return segment->removed != NULL && (segment->removed[row / 8] >> row % 8 & 1) != 0;
}

static inline uint64_t wcodec_segment_id(const struct wcodec_vectors_segment *segment, uint64_t row)
{
    return segment->is_sparse ? segment->ids[row] : segment->first_id + row;
}

struct wcodec_held_vectors;

struct wcodec_vectors_store {
    wcodec_context *context;
    struct wcodec_held_vectors *held; /* NULL: the CPU searches; has a lock of its own */
    struct wcodec_cpu_nearest_dsp dsp;
    uint64_t d, next_id;
    uint64_t rows, removed; /* of all segments; removed ones are not among rows */
    size_t count;
    struct wcodec_vectors_segment *segments;
};

#endif
