/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */
#ifndef WCODEC_READER_H
#define WCODEC_READER_H

#include <wcodec/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open .wcodec file, or a model folder's files as one namespace of tensors. Immutable after
 * opening: it may be used from several threads at once, except for closing. Files are read with
 * pread(), never mapped. */
typedef struct wcodec_reader wcodec_reader;

/** Open a .wcodec file, a folder, or a *.safetensors.index.json. A folder or index.json stands for
 * all its shards: every "X.safetensors" that the index names is looked for as
 * "X.safetensors.wcodec" beside it (shards are then in the order of their names), and must hold the
 * tensors that are mapped to it; a folder without an index stands for all its *.wcodec files in the
 * order of their names. Of several indexes in a folder, model.safetensors.index.json is taken; if
 * there is none of that name, WCODEC_ERROR_USAGE. A tensor name found in two shards is an error. Of
 * a model with more than 64 shards, the others are opened again for each call; if one was changed
 * since, that is WCODEC_ERROR_IO. Returns WCODEC_OK, _USAGE, _MEMORY, _IO, _CORRUPT, _NEWER,
 * _LIMIT, _NOT_FOUND. */
WCODEC_API wcodec_status wcodec_reader_open_path(wcodec_context *context, const char *path,
                                                 wcodec_reader **reader, wcodec_error *err);

/** Open a .wcodec file from a descriptor of a regular file, positioned anywhere. The descriptor is
 * duplicated: the caller keeps and closes his own. */
WCODEC_API wcodec_status wcodec_reader_open_fd(wcodec_context *context, int fd,
                                               wcodec_reader **reader, wcodec_error *err);

/** Open a .wcodec file in memory, which must stay unchanged until the reader is closed. */
WCODEC_API wcodec_status wcodec_reader_open_memory(wcodec_context *context, const void *data,
                                                   size_t size, wcodec_reader **reader,
                                                   wcodec_error *err);

/** Close and free. NULL is ignored. No other call may be running on it. */
WCODEC_API void wcodec_reader_close(wcodec_reader *reader);

/** How a tensor or blob is coded. */
typedef enum wcodec_coding {
    WCODEC_CODING_CONSTANT = 0, /**< one repeated element */
    WCODEC_CODING_TILES = 1,    /**< split and rANS */
    WCODEC_CODING_CHUNKS = 2,   /**< zstd frames, or stored */
    WCODEC_CODING_ALIAS = 3,    /**< equal to an earlier entry */
    WCODEC_CODING_BLOCKS = 4,   /**< predicted in blocks of a matrix, then as TILES */
    WCODEC_CODING_LOSSY = 5,    /**< quantised, in blocks of a matrix transformed or not, then as
                                   TILES: decodes to an approximation */
    WCODEC_CODING_UNKNOWN = 255 /**< made by a newer version: can be listed but not decoded */
} wcodec_coding;

/** One original file. Strings live as long as the reader. */
typedef struct wcodec_file_info {
    const char *name;      /**< base name of the original; may be empty. Not safe as a path. */
    const char *path;      /**< the .wcodec file it is in; empty for a descriptor or memory */
    int safetensors;       /**< not 0: a safetensors file; 0: opaque bytes */
    uint64_t size;         /**< bytes of the original */
    uint64_t coded_size;   /**< bytes of the .wcodec file */
    uint8_t xxh128[16];    /**< XXH3-128 of the original in canonical order (most significant byte
                              first) */
    uint32_t mode;         /**< permission bits; 0: unknown */
    int64_t mtime;         /**< seconds since 1970; -1: unknown */
    unsigned version;      /**< format version: what a reader must know to read it */
    uint64_t first_tensor; /**< its tensors are first_tensor .. first_tensor + tensors - 1 */
    uint64_t tensors;
    uint64_t first_entry; /**< its entries (tensors and blobs, in file order) */
    uint64_t entries;
    uint64_t lossy; /**< how many of its tensors are approximated: 0 says that the original comes
                       back byte for byte. Where it is not 0, hash and decoded bytes are those of
                       the approximated file */
} wcodec_file_info;

/** One tensor, or one blob (bytes of the original that are no tensor). Pointers live as long as the
 * reader. */
typedef struct wcodec_tensor_info {
    const char *name; /**< NULL for a blob; may contain any character but NUL */
    wcodec_dtype dtype;
    const char *dtype_name; /**< as in the original, also where dtype is WCODEC_DTYPE_OTHER */
    unsigned rank;
    const uint64_t *shape; /**< rank dimensions, slowest first */
    uint64_t size;         /**< decoded bytes */
    uint64_t coded_size;   /**< bytes in the file; 0 for constants and aliases */
    uint64_t file_offset;  /**< where its bytes start in the original */
    uint64_t order0_bits;  /**< order-0 bound in bits that the encoder counted; 0: not counted */
    uint64_t payload_hash; /**< XXH3-64 of the coded bytes; 0 where there are none */
    wcodec_coding coding;
    const char
        *coding_name;  /**< one word with details: "constant", "p8", "pairs", "p12", "mixed" (fields
                          of several profiles), "zstd", "stored", "alias", "unknown" */
    const char *split; /**< fields, low bits first, as kind (k constant, r raw, c coded) and bits:
                          "r7+c8+r1"; empty where there is none */
    unsigned element_bits;  /**< unit of the coding: 8, 16, 32, 64; 0 where there is none */
    uint64_t tile_elements; /**< elements of a tile, or bytes of a chunk; 0 where there is none */
    unsigned tables;        /**< tables in all pools together */
    unsigned run_elements;  /**< elements of a run, 0 without runs */
    uint64_t file;          /**< number of its file */
    uint64_t alias_of;      /**< number of the entry it equals; UINT64_MAX: none */
    uint64_t columns;       /**< BLOCKS, LOSSY: elements of a row of the matrix; else 0 */
    unsigned mode_count;    /**< BLOCKS, LOSSY: how many modes its blocks have; else 0 */
    struct {
        const char *predictor; /**< "none", "left", "top", "average", "planar", "paeth", "wht" (a
                                  transform) */
        int differential;      /**< not 0: with a differential pass over the residuals */
        uint64_t blocks;       /**< of 16 x 16 elements that have this mode */
    } modes[13];
    int lossy; /**< not 0: coding is LOSSY, or an alias of such a tensor; then the following are
                  set, else 0. LOSSY: modes[].predictor is the transform, "none", "dct" or "adst",
                  of blocks of 8 x 8 elements ("none" alone: of single elements) */
    const char *order;         /**< of the blocks' coefficients: "diagonals", "products", "rows" or
                                  "columns"; NULL where there are no blocks */
    uint64_t scales;           /**< quantiser's scales: 1, or one a row of the matrix */
    double largest_error;      /**< largest absolute difference from the original, as the encoder
                                  measured it */
    double mean_squared_error; /**< likewise: the mean of the squared differences */
    double mean_square;        /**< of the original's elements; the signal-to-noise ratio is 10
                                  log10(mean_square / mean_squared_error) dB */
} wcodec_tensor_info;

WCODEC_API uint64_t wcodec_reader_file_count(const wcodec_reader *reader);
WCODEC_API uint64_t wcodec_reader_tensor_count(const wcodec_reader *reader);
WCODEC_API uint64_t wcodec_reader_entry_count(const wcodec_reader *reader);

/** Describe file, tensor or entry number i. Tensors are numbered in the order of their data;
 * entries are tensors and blobs together. WCODEC_ERROR_USAGE if i is not below the count. */
WCODEC_API wcodec_status wcodec_reader_file(const wcodec_reader *reader, uint64_t i,
                                            wcodec_file_info *info, wcodec_error *err);
WCODEC_API wcodec_status wcodec_reader_tensor(const wcodec_reader *reader, uint64_t i,
                                              wcodec_tensor_info *info, wcodec_error *err);
WCODEC_API wcodec_status wcodec_reader_entry(const wcodec_reader *reader, uint64_t i,
                                             wcodec_tensor_info *info, wcodec_error *err);

/** Number of the tensor of that name. WCODEC_ERROR_NOT_FOUND if there is none. */
WCODEC_API wcodec_status wcodec_reader_find(const wcodec_reader *reader, const char *name,
                                            uint64_t *i, wcodec_error *err);

/** The `__metadata__` of file number `file`. Pointers live as long as the reader. */
WCODEC_API uint64_t wcodec_reader_metadata_count(const wcodec_reader *reader, uint64_t file);
WCODEC_API wcodec_status wcodec_reader_metadata(const wcodec_reader *reader, uint64_t file,
                                                uint64_t i, const char **key, const char **value,
                                                wcodec_error *err);

/** How to decode. Zeroed, or NULL where a pointer to it is asked for: the defaults. */
typedef struct wcodec_decode_options {
    wcodec_progress progress;
    int skip_checks; /**< not 0: do not verify tile and chunk checks, nor, when a file is restored,
                        its hashes (streams are still verified) */
} wcodec_decode_options;

/** Decode tensor i whole into dst, in the tensor's own byte order (little-endian) and packing.
 * Tensors in tiles, in blocks and lossy ones are decoded by the context's device, others by the
 * CPU. dst_size must be at least info.size; dst needs no alignment. On failure the contents of dst
 * are undefined, and zeroed where a device wrote them. Returns WCODEC_OK, _USAGE, _MEMORY, _IO,
 * _CORRUPT, _NEWER, _LIMIT, _CANCELLED, _DEVICE. */
WCODEC_API wcodec_status wcodec_reader_decode(const wcodec_reader *reader, uint64_t i, void *dst,
                                              size_t dst_size, const wcodec_decode_options *options,
                                              wcodec_error *err);

/** Decode rows [first, first + count) of the first dimension into dst; reads and decodes only the
 * tiles that hold them. A tensor of rank 0 has one row. dst_size must be at least count times the
 * bytes of a row. WCODEC_ERROR_USAGE if the rows do not end on whole bytes (packed 4- and 6-bit
 * types) or are out of range. */
WCODEC_API wcodec_status wcodec_reader_decode_rows(const wcodec_reader *reader, uint64_t i,
                                                   uint64_t first, uint64_t count, void *dst,
                                                   size_t dst_size,
                                                   const wcodec_decode_options *options,
                                                   wcodec_error *err);

/** Where restored bytes go. Called from the calling thread, in order. Returns 0, or an errno value.
 */
typedef int (*wcodec_write_fn)(void *opaque, const void *data, size_t size);

/** Restore file number `file` byte for byte through `write`, verify payload hashes, checks and the
 * XXH3-128 of the whole. WCODEC_ERROR_CORRUPT if anything differs (bytes written before that are
 * wrong or incomplete). */
WCODEC_API wcodec_status wcodec_reader_restore(const wcodec_reader *reader, uint64_t file,
                                               wcodec_write_fn write, void *opaque,
                                               const wcodec_decode_options *options,
                                               wcodec_error *err);

/** Verify file number `file`: every byte of the container, all checks, and the XXH3-128 of the
 * original. With `quick`, the structure and the index only (done at opening already), and that all
 * padding is zero. */
WCODEC_API wcodec_status wcodec_reader_test(const wcodec_reader *reader, uint64_t file, int quick,
                                            const wcodec_decode_options *options,
                                            wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
