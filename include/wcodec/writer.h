/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Writing: compress files, or make a .wcodec file of tensors in memory.
 *
 * A file:
 *
 *     wcodec_encode_options options;
 *     wcodec_encode_report report;
 *     wcodec_encode_options_init(&options);
 *     options.level = 9;
 *     status = wcodec_compress_path(context, "model.safetensors", "model.safetensors.wcodec",
 *                                   &options, &report, &err);
 *
 * Tensors in memory (examples/compress-tensors.c is a whole program):
 *
 *     wcodec_writer *writer = NULL;
 *     status = wcodec_writer_create(context, write, file, NULL, &writer, &err);
 *     for each tensor: wcodec_writer_declare(writer, name, dtype, shape, rank, &err);
 *     for each tensor: wcodec_writer_data(writer, data, size, &err);
 *     wcodec_writer_finish(writer, &report, &err);
 *     wcodec_writer_destroy(writer);
 */
#ifndef WCODEC_WRITER_H
#define WCODEC_WRITER_H

#include <wcodec/bases.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What tiles are chosen for. */
typedef enum wcodec_tune {
    /** Tiles grow with the tensor: the smallest file. */
    WCODEC_TUNE_SIZE = 0,
    /** Small tiles: one tensor alone occupies a large GPU. */
    WCODEC_TUNE_LATENCY = 1,
    /** Matrices of bf16 (two dimensions and more; the last one is the row, or where it is below 16
     * as many of the last ones as make it 16; at least 16 rows and 128 columns) at a fixed rate of
     * some 11.3 bits an element, about 7 % larger than the smallest: coded so, a device can
     * multiply by them. What that does not shrink by an eighth, and all other tensors, as for
     * WCODEC_TUNE_SIZE; with loss asked for, tensors with loss. */
    WCODEC_TUNE_COMPUTE_FIXED = 2,
    /** Matrices of BF16, F16, I8 and floats of eight bits (as above; at least 16 rows, and columns
     * that are a multiple of 128) as for WCODEC_TUNE_SIZE, but with their elements in the order in
     * which a device multiplies, in tiles of 4096 or 8192, and never predicted. What that does not
     * shrink, and all other tensors, as for WCODEC_TUNE_SIZE; with loss asked for, tensors with
     * loss. */
    WCODEC_TUNE_COMPUTE = 3
} wcodec_tune;

/** How fields are coded by rANS: what a symbol is, and how precise frequencies are. */
typedef enum wcodec_profile {
    /** By counted cost, field by field. */
    WCODEC_PROFILE_AUTO = 0,
    /** A symbol stands for the fields of two neighbouring elements, which must lie in a window of
     * 16 values; frequencies add up to 2^12. */
    WCODEC_PROFILE_PAIRS = 1,
    /** A symbol is one field; frequencies add up to 2^12. */
    WCODEC_PROFILE_P12 = 2,
    /** A symbol is one field; frequencies add up to 2^8. Its small tables can change from run to
     * run, and decode fastest. */
    WCODEC_PROFILE_P8 = 3
} wcodec_profile;

/** How elements are predicted from their neighbours in blocks of 16 x 16 of the tensor as a matrix
 * (rows of the last dimension). Only elements of 8 and 16 bits are. A predictor that is named here
 * is used for every tensor that can be predicted and does not get larger by it. */
typedef enum wcodec_predict {
    /** By counted cost: each block by what suits it best, where the tensor gets smaller by that. */
    WCODEC_PREDICT_AUTO = 0,
    /** No tensor is predicted. */
    WCODEC_PREDICT_NONE = 1,
    /** By the element to the left. */
    WCODEC_PREDICT_LEFT = 2,
    /** By the element above. */
    WCODEC_PREDICT_TOP = 3,
    /** By the average of left and top. */
    WCODEC_PREDICT_AVERAGE = 4,
    /** By left + top - topleft. */
    WCODEC_PREDICT_PLANAR = 5,
    /** By that of left, top and topleft which is nearest to left + top - topleft. */
    WCODEC_PREDICT_PAETH = 6,
    /** No prediction: a reversible Walsh-Hadamard transform. AUTO tries it from level 7 on. */
    WCODEC_PREDICT_WHT = 7
} wcodec_predict;

/** What coding with loss shall reach. Tensors of bf16, f16 and f32 are then approximated: each by
 * itself keeps to the target. Tables of many vectors come as WCODEC_CODING_ANCHORED where that has
 * fewer bits at the same error; not with WCODEC_TUNE_LATENCY and WCODEC_LOSSY_SCALE_ROW. */
typedef enum wcodec_lossy_target {
    /** No loss. */
    WCODEC_LOSSY_NONE = 0,
    /** At least so many decibels between the squares of a tensor's elements and those of its
     * errors. */
    WCODEC_LOSSY_SNR = 1,
    /** No absolute error larger than this. */
    WCODEC_LOSSY_ERROR = 2,
    /** At most so many bits an element, tables and all else included, with as little error as they
     * allow. */
    WCODEC_LOSSY_BITS = 3
} wcodec_lossy_target;

/** What the steps of the quantiser are in proportion to. */
typedef enum wcodec_lossy_scaling {
    /** One step for all of a tensor: the least mean squared error. */
    WCODEC_LOSSY_SCALE_TENSOR = 0,
    /** One for each row (of the last dimension), in proportion to its root mean square: rows are
     * equally exact by ratio. Not for WCODEC_LOSSY_ERROR. */
    WCODEC_LOSSY_SCALE_ROW = 1
} wcodec_lossy_scaling;

/** Copy `size` bytes from byte `from` of part number `part` on to byte `to` on of what is joined,
 * now or later; called from the calling thread, with rising `to`. Returns 0, or an errno, which
 * ends the work with WCODEC_ERROR_IO. */
typedef int (*wcodec_copy_at_fn)(void *opaque, size_t part, uint64_t from, uint64_t to,
                                 uint64_t size);

/** How to compress: fill with wcodec_encode_options_init(), then change what matters. It grows at
 * its end (wcodec/base.h). Strings and lists are copied where they are needed after the call
 * returns. Where a pointer to it is taken, NULL stands for the defaults. */
typedef struct wcodec_encode_options {
    /** Set by wcodec_encode_options_init(). */
    size_t struct_size;
    /** 1 (fast) to 9 (small). Default 3. */
    int level;
    /** Default WCODEC_TUNE_SIZE. */
    wcodec_tune tune;
    /** Binary logarithm of the elements of a tile: 12 to 16. 0: by `tune`. */
    unsigned tile_log2;
    /** A preference: used wherever the data allows it. Default WCODEC_PROFILE_AUTO. */
    wcodec_profile profile;
    /** Not 0: treat the input as opaque bytes without a look. Default 0. */
    int raw;
    /** Not 0: an input in which no tensors are found, since it is no good file of a kind that is
     * known, is WCODEC_ERROR_CORRUPT instead of opaque. Default 0. */
    int strict;
    /** Not 0: do not decode and compare what was coded. Default 0. */
    int no_verify;
    /** NULL, or a NULL-terminated list of patterns (fnmatch()): only tensors whose names match one
     * are coded as weights. */
    const char *const *include;
    /** NULL, or such a list: tensors whose names match one are stored in chunks; with `lossy`, they
     * are coded as weights without loss. */
    const char *const *exclude;
    /** Base name of the original to note in the file; NULL: none. Without name, mode and time the
     * same tensors, options and version make the same bytes. */
    const char *name;
    /** Permission bits to note, 0 to 07777; 0: none. */
    uint32_t mode;
    /** Seconds since 1970 to note; -1: none. Default -1. */
    int64_t mtime;
    /** In bytes of the original. Default: none. */
    wcodec_progress progress;
    /** Default WCODEC_PREDICT_AUTO. */
    wcodec_predict predict;
    /** Default WCODEC_LOSSY_NONE. Tensors stay lossless, as if this were off, whose names `exclude`
     * matches or `include` does not; of other types, with NaN or infinite numbers, of few elements;
     * for which no step gives what is asked for; and where that takes no more bytes. Which ones,
     * and why, is logged. The file then says which tensors have which error; its hash is that of
     * the approximated file. */
    wcodec_lossy_target lossy;
    /** Default WCODEC_LOSSY_SCALE_TENSOR. */
    wcodec_lossy_scaling lossy_scale;
    /** By `lossy`: decibels, 0 to 200; the error, 2^-126 to 2^126; or bits an element, 0.01 to
     * 32. */
    double lossy_value;
    /** NULL, or where wcodec_compress_fd(), _memory() and _path() say what their time went into.
     * Set on success only; not by a writer. */
    wcodec_times *times;
    /** NULL, or what is written by in place of `write`, with the same `opaque`: several threads
     * then write payloads to their places. wcodec_compress_path() always writes so, by itself. */
    wcodec_write_at_fn write_at;
    /** Not 0: the index goes in front of all else, for those who read from front to back or over a
     * network. wcodec_copy() only: others write before they know it. */
    int index_first;
    /** NULL, or the path of an ONNX model whose external data the input is: where no tensors are
     * found in the input itself, they are found by the model. Not by a writer. */
    const char *onnx_model;
    /** By what name the model calls the input, a file beside it. NULL, which is for
     * wcodec_compress_path() only: by the last part of its path. */
    const char *onnx_location;
    /** NULL, or bases: a tensor of which one of the files that were added to them has one of the
     * same name, dtype and shape is coded as the difference from that, tile by tile, where that is
     * smaller. Decoding needs the same base again. Not with `lossy`, WCODEC_TUNE_COMPUTE and
     * _COMPUTE_FIXED. It must stay until the call returns, or the writer is destroyed; three times
     * the largest tensor more memory is taken. */
    const wcodec_bases *bases;
    /** With `part_end`: the first byte of the original from which on entries of the part begin. */
    uint64_t part_begin;
    /** 0: all of the file. Else a part is made of it: of the tensors, and blobs between them, that
     * begin at bytes part_begin to part_end - 1 of the original; parts whose bytes follow each
     * other from 0 to its end have each of them once. What is written is a .wcodec file of its own,
     * which wcodec_join() takes: it restores to these bytes, with zeros before and a record after
     * them, and should be read by the version that made it. wcodec_compress_fd(), _memory() and
     * wcodec_recompress() only: others refuse it. */
    uint64_t part_end;
    /** wcodec_join() only: NULL, or what copies large payloads in place of the library. With
     * `write_at`. */
    wcodec_copy_at_fn copy_at;
    /** NULL, or a NULL-terminated list of patterns (fnmatch()): tensors whose names match one,
     * which are tables of vectors, are coded with loss by anchors, indices and residuals
     * (WCODEC_CODING_ANCHORED), whatever is smaller and whatever `lossy` says of others. A table
     * is [n, d] of BF16, F16 or F32: 16 to 8192 columns, 16 rows and 1024 elements at least, no
     * fewer rows than anchors, and these have at most 2^21 elements together. A pattern that
     * matches none is WCODEC_ERROR_USAGE, before anything is coded. `include` and `exclude` come
     * first. With `vectors_bits` or `vectors_recall`, NULL stands for all tables of at least 2048
     * rows, and six times as many as columns, where there are any. Not with `raw` and `bases`. As
     * with `lossy`, tables stay exact that hold NaN or infinite numbers or only zeros, for which no
     * step gives what is asked for, and where that takes no more bytes; which ones, and why, is
     * logged. */
    const char *const *vectors;
    /** 0, or how many anchors these tables get. Default: 0, by their rows: 16 to 256. */
    uint64_t vectors_anchors;
    /** 0, or at most so many bits an element of these tables, all else included, with as little
     * error as they allow: 0.01 to 32. */
    double vectors_bits;
    /** 0, or the recall that is to be reached in as few bits as it takes: above 0 and below 1. Of
     * 200 rows that are equally far from each other in the table, from the first on (all, where
     * there are fewer), the ten nearest others by Euclidean distance are looked for among all rows
     * as they are and as they are decoded. Counted are those found that are no farther than the
     * tenth. There are steps of a quarter of a decibel of the table's SNR, up to 90, of which the
     * lowest that reaches it is looked for by halving; what is reached is logged. Not with
     * `vectors_bits`. Where neither is set, 0.95. */
    double vectors_recall;
    /** Not 0: patterns of `vectors` may match no table, as they do in one file of several. */
    int vectors_optional;
} wcodec_encode_options;

/** What wcodec_encode_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_encode_options_init_size(wcodec_encode_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_encode_options_init(wcodec_encode_options *options)
{
    wcodec_encode_options_init_size(options, sizeof *options);
}

/** What compressing gave. */
typedef struct wcodec_encode_report {
    /** Bytes read: of the original, or of the safetensors file that a writer's tensors make. */
    uint64_t size;
    /** Bytes written. */
    uint64_t coded_size;
    /** Tensors in it. */
    uint64_t tensors;
    /** Of them: those equal to an earlier one, of which nothing is stored. */
    uint64_t aliases;
    /** Not 0: a safetensors file; 0: another, see `kind`. */
    int safetensors;
    /** Why it is opaque, or what of it is although it might be tensors, one line, escaped like
     * wcodec_error's; empty otherwise. */
    char note[256];
    /** Hash of the original, as wcodec_hash_fd() gives it; with approximated tensors, of the file
     * that restoring gives. */
    uint8_t xxh128[16];
    /** Tensors that are approximated. */
    uint64_t lossy;
    /** As in wcodec_file_info. */
    char kind[16];
    /** 0. */
    uint64_t reserved[6];
} wcodec_encode_report;

/** Compress the regular file `fd` (read with pread() from offset 0; it stays the caller's) and
 * write the container through `write`, front to back. A safetensors file becomes tensors; so does
 * another of a kind that wcodec_file_info.kind lists, with all its other bytes, so that it comes
 * back as it was; anything else becomes opaque bytes. If the file changes while it is read,
 * WCODEC_ERROR_IO. On failure, what was written is no valid file. The output depends on the input
 * and options only, never on the number of threads. `options` and `report` may be NULL.
 * Thread-safe.
 *
 * Memory: at most about twice the largest tensor (three times if it is predicted, five times with
 * loss or bases), 16 times the header and 64 MiB; with `vectors` and the like, 118 MiB. With more
 * than 4 threads and no limit of the context's, the largest tensor once more, since the next one is
 * read while one is coded, and 1 MiB for each thread.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT
 * (with `strict` only), WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_compress_fd(wcodec_context *context, int fd, wcodec_write_fn write,
                                            void *opaque, const wcodec_encode_options *options,
                                            wcodec_encode_report *report, wcodec_error *err);

/** The same from `size` bytes of memory, which must not change meanwhile. */
WCODEC_API wcodec_status wcodec_compress_memory(wcodec_context *context, const void *data,
                                                size_t size, wcodec_write_fn write, void *opaque,
                                                const wcodec_encode_options *options,
                                                wcodec_encode_report *report, wcodec_error *err);

/** Compress the file `path` to the file `out_path` safely: written to a temporary file beside it,
 * synced, then renamed; an existing `out_path` stays untouched until then, and on failure. It gets
 * the mode (less the umask) and the time of `path`, from where decompressing takes them.
 * WCODEC_ERROR_USAGE if both are the same file. Else as wcodec_compress_fd(). */
WCODEC_API wcodec_status wcodec_compress_path(wcodec_context *context, const char *path,
                                              const char *out_path,
                                              const wcodec_encode_options *options,
                                              wcodec_encode_report *report, wcodec_error *err);

/** Compress file number `file` of a reader anew, by other options or with loss: as
 * wcodec_compress_fd() does with what it restores to, which stands nowhere as a whole. What was
 * approximated stays so, and the new file says of these tensors what it was made of said: by how
 * much they are off. They cannot be approximated once more, since nobody could state the error:
 * with `lossy`, WCODEC_ERROR_USAGE unless `exclude` or `include` keeps them exact.
 * WCODEC_ERROR_CORRUPT, too, if the hash of what was decoded is not that of the original; what was
 * written is then no valid file.
 *
 * Memory: as wcodec_compress_fd(), and once more the largest tensor. Returns what it does, and what
 * wcodec_reader_decode() does. */
WCODEC_API wcodec_status wcodec_recompress(const wcodec_reader *reader, uint64_t file,
                                           wcodec_write_fn write, void *opaque,
                                           const wcodec_encode_options *options,
                                           wcodec_encode_report *report, wcodec_error *err);

/** Copy what a reader has open into a new container without coding it anew: payloads are copied,
 * and their hashes checked. With `tensors` NULL, all of the only file of the reader, which restores
 * to the same bytes. Else these `count` tensors, by their numbers in rising order and of all its
 * files, as a safetensors file: they are also decoded, for its hash. Of an alias whose original is
 * not among them, the original's payload is taken.
 *
 * Of the options, `index_first`, `progress` (in bytes of the original, twice as many with
 * index_first) and, with `tensors`, name, mode and mtime count. With index_first the index is
 * written in front of all else, wherever output goes; everything is read twice for that. `write_at`
 * must be NULL.
 *
 * Memory: the largest tensor with its payload, and 1 MiB. Returns WCODEC_OK, WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER (a tensor that
 * this version cannot decode), WCODEC_ERROR_UNSUPPORTED (an alias of another dtype than its
 * original has, which is at a fixed rate or approximated), WCODEC_ERROR_LIMIT,
 * WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_copy(const wcodec_reader *reader, const uint64_t *tensors,
                                     size_t count, wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err);

/** Put the `count` parts of a file together that wcodec_compress_fd() or wcodec_recompress() made
 * by `part_end`, wherever: in the order of their bytes, each opened as a reader of its own, and all
 * of them. The result is, byte for byte, what the same call with the same options makes of all of
 * the file at once. The original is the regular file `fd`; with fd -1 it is what the only file of
 * `original` restores to, as with wcodec_recompress(). Of it only the header is read, and tensors
 * that may be equal to one of another part; nothing is coded.
 *
 * `options` are those by which the parts were made (`part_begin` and `part_end` do not count here),
 * with the same bases. Payloads are read, their hashes are checked, and they are written. With
 * `copy_at` those of 64 KiB and more (from level 7 on 256 KiB) are left to that: copied as they
 * are, by whomever, and not checked.
 *
 * Memory: the header, the indices and records of all parts, the largest payload, and 2 MiB. Returns
 * WCODEC_OK, WCODEC_ERROR_USAGE (what is given is no part, one of another file, or made by other
 * options; one is missing), WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT,
 * WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED. Thread-safe. */
WCODEC_API wcodec_status wcodec_join(wcodec_context *context, const wcodec_reader *const *parts,
                                     size_t count, int fd, const wcodec_reader *original,
                                     wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err);

/** A writer makes a container from tensors in the caller's memory. It restores to a safetensors
 * file: declare all tensors, then write their data in the same order, then finish. One thread at a
 * time. After a failure that wrote or coded something it only takes wcodec_writer_destroy(). */
typedef struct wcodec_writer wcodec_writer;

/** Start a container that goes out through `write`. Nothing is written before all tensors are
 * declared. `options` may be NULL; `raw` and `strict` have no meaning here. *writer belongs to the
 * caller, who ends it by wcodec_writer_destroy() before the context. Returns WCODEC_OK,
 * WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_writer_create(wcodec_context *context, wcodec_write_fn write,
                                              void *opaque, const wcodec_encode_options *options,
                                              wcodec_writer **writer, wcodec_error *err);

/** Add a `__metadata__` pair; copied. Before the first data only. Returns WCODEC_OK,
 * WCODEC_ERROR_USAGE (too late, no UTF-8, a key that is there already, or one that begins with
 * "wcodec.lossy."), WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_writer_metadata(wcodec_writer *writer, const char *key,
                                                const char *value, wcodec_error *err);

/** Declare the next tensor; name and shape (`rank` dimensions, at most 255, slowest first) are
 * copied. Before the first data only. Its bytes (product(shape) * bits / 8) must be whole. Returns
 * WCODEC_OK, WCODEC_ERROR_USAGE (too late, a name used before, a dtype that is none, a shape that
 * makes no whole bytes), WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_writer_declare(wcodec_writer *writer, const char *name,
                                               wcodec_dtype dtype, const uint64_t *shape,
                                               unsigned rank, wcodec_error *err);

/** Compress the data of the next tensor in the order of declaration, little-endian; `size` must be
 * its bytes. `data` is free again on return. Small tensors are gathered, and what is compressed is
 * written while the next one is: so an error may be reported by a later call, or by
 * wcodec_writer_finish(). Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_IO, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_writer_data(wcodec_writer *writer, const void *data, size_t size,
                                            wcodec_error *err);

/** Write the index and the tail. WCODEC_ERROR_USAGE if data is missing. The writer can only be
 * destroyed after it. `report` may be NULL. Returns what wcodec_writer_data() does. */
WCODEC_API wcodec_status wcodec_writer_finish(wcodec_writer *writer, wcodec_encode_report *report,
                                              wcodec_error *err);

/** Free; without a finish before, what was written is no valid file. NULL is ignored. Never
 * fails. */
WCODEC_API void wcodec_writer_destroy(wcodec_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
