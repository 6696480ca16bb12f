/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */
#ifndef WCODEC_WRITER_H
#define WCODEC_WRITER_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wcodec_tune {
    WCODEC_TUNE_SIZE = 0,   /**< tile size by the size of the tensor */
    WCODEC_TUNE_LATENCY = 1 /**< small tiles: one tensor alone fills a large GPU */
} wcodec_tune;

typedef enum wcodec_profile {
    WCODEC_PROFILE_AUTO = 0,
    WCODEC_PROFILE_PAIRS = 1,
    WCODEC_PROFILE_P12 = 2,
    WCODEC_PROFILE_P8 = 3
} wcodec_profile;

/** How elements are predicted from their neighbours in blocks of 16 x 16 of the tensor as a matrix
 * (rows of the last dimension). Only elements of 8 and 16 bits are. */
typedef enum wcodec_predict {
    WCODEC_PREDICT_AUTO = 0, /**< by counted cost: each block by what suits it best, where the
                                tensor gets smaller by that */
    WCODEC_PREDICT_NONE = 1, /**< no tensor */
    WCODEC_PREDICT_LEFT =
        2, /**< this and those below: every tensor that can be and is not larger then than it was */
    WCODEC_PREDICT_TOP = 3,
    WCODEC_PREDICT_AVERAGE = 4, /**< of left and top */
    WCODEC_PREDICT_PLANAR = 5,  /**< left + top - topleft */
    WCODEC_PREDICT_PAETH = 6,   /**< that of left, top and topleft which is nearest to planar */
    WCODEC_PREDICT_WHT = 7 /**< no prediction: a reversible Walsh-Hadamard transform; AUTO tries it
                              from level 7 on */
} wcodec_predict;

/** What coding with loss shall reach. Tensors of bf16, f16 and f32 are then approximated: each by
 * itself keeps to the target. */
typedef enum wcodec_lossy_target {
    WCODEC_LOSSY_NONE = 0, /**< no loss */
    WCODEC_LOSSY_SNR = 1,  /**< at least so many decibels between the squares of a tensor's elements
                              and those of its errors */
    WCODEC_LOSSY_ERROR = 2, /**< no error larger than this */
    WCODEC_LOSSY_BITS = 3   /**< at most so many bits an element, tables and all else included, with
                               as little error as they allow */
} wcodec_lossy_target;

typedef enum wcodec_lossy_scaling {
    WCODEC_LOSSY_SCALE_TENSOR =
        0, /**< one step for all of a tensor: the least mean squared error */
    WCODEC_LOSSY_SCALE_ROW =
        1 /**< one for each row (of the last dimension), in proportion to its root mean square: rows
             are equally exact by ratio. Not for WCODEC_LOSSY_ERROR */
} wcodec_lossy_scaling;

/** How to compress. Fill with wcodec_encode_options_init(), then change what matters. Strings and
 * lists are copied where they are needed after the call returns. New fields are added at the end,
 * and 0 stands for their default. */
typedef struct wcodec_encode_options {
    size_t struct_size;
    int level; /**< 1 (fast) to 9 (small); default 3 */
    wcodec_tune tune;
    unsigned tile_log2;     /**< 12 to 16; 0: by tune */
    wcodec_profile profile; /**< a preference: used wherever the data allows it */
    int raw;                /**< not 0: treat the input as opaque bytes without a look */
    int strict; /**< not 0: an input that ought to be safetensors and is not is WCODEC_ERROR_CORRUPT
                   instead of opaque */
    int no_verify;              /**< not 0: do not decode and compare what was coded */
    const char *const *include; /**< NULL, or a NULL-terminated list of patterns (fnmatch): only
                                   tensors that match one are coded as weights */
    const char *const *exclude; /**< NULL, or such a list: tensors that match one are stored in
                                   chunks; with `lossy`, they are coded as weights without loss */
    const char
        *name; /**< base name of the original to note in the file; NULL: none (or from the path) */
    uint32_t mode; /**< permission bits to note; 0: none */
    int64_t mtime; /**< seconds since 1970 to note; -1: none */
    wcodec_progress progress;
    wcodec_predict predict;
    /** Off unless asked for. Tensors stay lossless, as if this were off, whose names `exclude`
     * matches or `include` does not; of other types, with NaN or infinite numbers, of few elements;
     * for which no step gives what is asked for; and where that takes no more bytes. Which ones,
     * and why, is logged. The file then says which tensors have which error; its hash is that of
     * the approximated file. */
    wcodec_lossy_target lossy;
    wcodec_lossy_scaling lossy_scale;
    double lossy_value; /**< decibels, 0 to 200; error, 2^-126 to 2^126; or bits, 0.01 to 32 */
} wcodec_encode_options;

/** Set the `size` bytes at options to the defaults; size is the caller's
 * sizeof(wcodec_encode_options), so that a newer library leaves alone what an older caller does not
 * have. */
WCODEC_API void wcodec_encode_options_init_size(wcodec_encode_options *options, size_t size);

static inline void wcodec_encode_options_init(wcodec_encode_options *options)
{
    wcodec_encode_options_init_size(options, sizeof *options);
}

/** What compressing gave. */
typedef struct wcodec_encode_report {
    uint64_t size;       /**< bytes read */
    uint64_t coded_size; /**< bytes written */
    uint64_t tensors;
    uint64_t aliases;
    int safetensors;    /**< 0: stored as opaque bytes */
    char note[256];     /**< why it is opaque, one line; empty otherwise */
    uint8_t xxh128[16]; /**< XXH3-128 of the original, canonical order; with approximated tensors,
                           of the file that restoring gives */
    uint64_t lossy;     /**< tensors that are approximated */
} wcodec_encode_report;

/** Compress the regular file `fd` (read with pread from offset 0) and write the container through
 * `write`, front to back. A safetensors file becomes tensors, anything else one opaque blob. If the
 * file changes while it is read, WCODEC_ERROR_IO. The output depends on the input and options only,
 * never on the number of threads. Memory: at most about twice the largest tensor (three times if it
 * is predicted, five times with loss), 16 times the header and 64 MiB. `report` may be NULL.
 * Returns WCODEC_OK, _USAGE, _MEMORY, _IO, _CORRUPT (strict only), _LIMIT, _CANCELLED. */
WCODEC_API wcodec_status wcodec_compress_fd(wcodec_context *context, int fd, wcodec_write_fn write,
                                            void *opaque, const wcodec_encode_options *options,
                                            wcodec_encode_report *report, wcodec_error *err);

/** The same from memory. */
WCODEC_API wcodec_status wcodec_compress_memory(wcodec_context *context, const void *data,
                                                size_t size, wcodec_write_fn write, void *opaque,
                                                const wcodec_encode_options *options,
                                                wcodec_encode_report *report, wcodec_error *err);

/** Compress the file `path` to the file `out_path` safely: written to a temporary file beside it,
 * synced, then renamed; an existing `out_path` stays untouched until then. WCODEC_ERROR_USAGE if
 * both are the same file. */
WCODEC_API wcodec_status wcodec_compress_path(wcodec_context *context, const char *path,
                                              const char *out_path,
                                              const wcodec_encode_options *options,
                                              wcodec_encode_report *report, wcodec_error *err);

/** A writer makes a container from tensors in the caller's memory. It restores to a safetensors
 * file: declare all tensors, then write their data in the same order, then finish. One thread at a
 * time. */
typedef struct wcodec_writer wcodec_writer;

/** Start a container that goes out through `write`. Nothing is written before all tensors are
 * declared. */
WCODEC_API wcodec_status wcodec_writer_create(wcodec_context *context, wcodec_write_fn write,
                                              void *opaque, const wcodec_encode_options *options,
                                              wcodec_writer **writer, wcodec_error *err);

/** Add a `__metadata__` pair; copied. Before the first data only. WCODEC_ERROR_USAGE if the key is
 * there already. */
WCODEC_API wcodec_status wcodec_writer_metadata(wcodec_writer *writer, const char *key,
                                                const char *value, wcodec_error *err);

/** Declare the next tensor; name and shape are copied. Before the first data only. Its bytes
 * (product(shape) * bits / 8) must be whole. WCODEC_ERROR_USAGE for a name used before, or a dtype
 * that is none. */
WCODEC_API wcodec_status wcodec_writer_declare(wcodec_writer *writer, const char *name,
                                               wcodec_dtype dtype, const uint64_t *shape,
                                               unsigned rank, wcodec_error *err);

/** Compress the data of the next tensor in the order of declaration; `size` must be its bytes.
 * `data` is free again on return. Small tensors are gathered, and what is compressed is written
 * while the next one is: so an error may be told by a later call, or by wcodec_writer_finish(). */
WCODEC_API wcodec_status wcodec_writer_data(wcodec_writer *writer, const void *data, size_t size,
                                            wcodec_error *err);

/** Write the index and the tail. WCODEC_ERROR_USAGE if data is missing. The writer can only be
 * destroyed after it. `report` may be NULL. */
WCODEC_API wcodec_status wcodec_writer_finish(wcodec_writer *writer, wcodec_encode_report *report,
                                              wcodec_error *err);

/** Free; without a finish before, what was written is no valid file. NULL is ignored. */
WCODEC_API void wcodec_writer_destroy(wcodec_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
