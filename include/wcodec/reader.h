/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Readers: open .wcodec files and model folders, list what is in them, decode tensors to host
 * memory, restore and test whole files. The format is described in wcodec-format(5).
 *
 * One tensor (examples/decode-tensor.c is a whole program):
 *
 *     wcodec_reader *reader = NULL;
 *     wcodec_tensor_info info;
 *     uint64_t i;
 *     void *data = NULL;
 *     wcodec_status status = wcodec_reader_open_path(context, path, &reader, &err);
 *     if (status == WCODEC_OK)
 *         status = wcodec_reader_find(reader, "embed.weight", &i, &err);
 *     if (status == WCODEC_OK)
 *         status = wcodec_reader_tensor(reader, i, &info, &err);
 *     if (status == WCODEC_OK && (data = malloc(info.size)) != NULL)
 *         status = wcodec_reader_decode(reader, i, data, info.size, NULL, &err);
 *     wcodec_reader_close(reader);
 */
#ifndef WCODEC_READER_H
#define WCODEC_READER_H

#include <wcodec/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open .wcodec file, or a model folder's files as one namespace of tensors. Immutable after
 * opening: it may be used from several threads at once, except for closing. Files are read with
 * pread(), never mapped, and nothing of them is read before it is needed but head, tail and
 * index. */
typedef struct wcodec_reader wcodec_reader;

/** Open a .wcodec file, a folder, or a *.safetensors.index.json or *.bin.index.json.
 *
 * A folder or index.json stands for all its shards: every "X.safetensors" or "X.bin" that the index
 * names is looked for with ".wcodec" after it beside it (shards are then in the order of their
 * names), and must hold the tensors that are mapped to it (of a PyTorch file, those that it lists:
 * see wcodec_file_info.kind); a folder without an index stands for all its *.wcodec files in the
 * order of their names. Of several indexes in a folder, model.safetensors.index.json or
 * pytorch_model.bin.index.json is taken; if there is none of these names, WCODEC_ERROR_USAGE. Where
 * a folder has *.safetensors.wcodec files or such an index, its *.bin.index.json, *.bin.wcodec,
 * *.gguf.wcodec, *.npy.wcodec and *.npz.wcodec are passed over: they are the same model in another
 * form. A tensor name found in two shards is WCODEC_ERROR_CORRUPT. Of a model with more than 64
 * shards, the others are opened again for each call; if one was changed since, that is
 * WCODEC_ERROR_IO.
 *
 * *reader belongs to the caller, who ends it by wcodec_reader_close() before the context.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, WCODEC_ERROR_NOT_FOUND. */
WCODEC_API wcodec_status wcodec_reader_open_path(wcodec_context *context, const char *path,
                                                 wcodec_reader **reader, wcodec_error *err);

/** Open a .wcodec file from a descriptor of a regular file, positioned anywhere. The descriptor is
 * duplicated: the caller keeps and closes his own. Else as wcodec_reader_open_path(), except that
 * WCODEC_ERROR_NOT_FOUND is not returned. */
WCODEC_API wcodec_status wcodec_reader_open_fd(wcodec_context *context, int fd,
                                               wcodec_reader **reader, wcodec_error *err);

/** Open a .wcodec file of `size` bytes in memory, which must stay unchanged until the reader is
 * closed. Else as wcodec_reader_open_fd(). */
WCODEC_API wcodec_status wcodec_reader_open_memory(wcodec_context *context, const void *data,
                                                   size_t size, wcodec_reader **reader,
                                                   wcodec_error *err);

/** Read up to `size` bytes, at least 1, of a file at `offset` to `dst`. Returns how many it read:
 * less than `size` is no failure; 0: the file ends there. -1: failed; error->text then says why in
 * one line, error->status may be set (else WCODEC_ERROR_IO; WCODEC_ERROR_CANCELLED stops what the
 * bytes were for without blaming the file). `offset + size` is at most wcodec_io.size. Called from
 * threads of the library's and from those that call it, several at once. Calls that take forever
 * hold up what needs the bytes, and wcodec_reader_close(): time out, and try again as often as
 * makes sense, in here. The reader must not be used from it. */
typedef int64_t (*wcodec_read_at_fn)(void *opaque, uint64_t offset, size_t size, void *dst,
                                     wcodec_error *error);

/** A .wcodec file behind a function: of an object store, a web server, an archive. Zero it before
 * setting members. */
typedef struct wcodec_io {
    wcodec_read_at_fn read_at;
    /** NULL, or called once, when nothing will be read any more: by wcodec_reader_close(), from its
     * thread. */
    void (*close)(void *opaque);
    /** First argument of both. */
    void *opaque;
    /** Bytes of the file, which must not change while it is open. */
    uint64_t size;
    /** What errors and wcodec_file_info call the file, copied: an address. NULL: nothing;
     * only where there is one file. */
    const char *name;
    /** Most bytes of one request, 64 KiB to 1 GiB; 0: 16 MiB. What is loaded or restored whole is
     * asked for in such pieces. */
    uint64_t request_bytes;
    /** Bytes that are kept, ahead of those who read them, at least two requests; 0: enough for
     * twice `requests`. Threads that must not wait for this ask for one more request each. Not
     * counted in wcodec_limits.max_memory. */
    uint64_t cache_bytes;
    /** Requests made ahead at the same time, up to 64; 0: 8. */
    uint64_t requests;
    /** 0. */
    uint64_t reserved[8];
} wcodec_io;

/** Open .wcodec files that the caller's functions read: one, or several as one namespace of tensors
 * in that order, as the shards of a folder are. Opening asks for the head, the tail, and what of
 * the index is in neither: 2 or 3 requests a file, those of several files at once. Decoding asks
 * for what holds the rows, loading and restoring for all that they need, ahead.
 *
 * On failure close() was called for none of the files; after success it is called for each.
 *
 * Returns what wcodec_reader_open_path() does but WCODEC_ERROR_NOT_FOUND, and what read_at() set;
 * WCODEC_ERROR_USAGE also where a member of wcodec_io is out of range, or count is 0. */
WCODEC_API wcodec_status wcodec_reader_open_io(wcodec_context *context, const wcodec_io *files,
                                               size_t count, wcodec_reader **reader,
                                               wcodec_error *err);

/** Open what is left of a damaged .wcodec file: as wcodec_reader_open_fd() where its index is
 * right. Where the file is cut short, or its index or tail is damaged, the index is rebuilt from
 * headers in front of the payloads, as far as they are there; wcodec_file_info's `rebuilt` is then
 * not 0. Tensors that are whole can be decoded, which verifies them as ever; others are
 * WCODEC_ERROR_CORRUPT. The file as a whole can be restored if nothing is missing, but its hash and
 * those of payloads are not known. Returns what
 * wcodec_reader_open_fd() does: WCODEC_ERROR_CORRUPT if the head is damaged, or no header is
 * found. */
WCODEC_API wcodec_status wcodec_reader_salvage_fd(wcodec_context *context, int fd,
                                                  wcodec_reader **reader, wcodec_error *err);

/** The same for a file in memory, as wcodec_reader_open_memory(). */
WCODEC_API wcodec_status wcodec_reader_salvage_memory(wcodec_context *context, const void *data,
                                                      size_t size, wcodec_reader **reader,
                                                      wcodec_error *err);

/** Close and free. NULL is ignored. No other call may be running on it. Never fails. */
WCODEC_API void wcodec_reader_close(wcodec_reader *reader);

/** How a tensor or blob is coded. */
typedef enum wcodec_coding {
    /** One element, repeated; nothing is stored but that. */
    WCODEC_CODING_CONSTANT = 0,
    /** Elements are split into fields, coded by rANS in independent tiles. */
    WCODEC_CODING_TILES = 1,
    /** Bytes, in chunks that are zstd frames or stored. */
    WCODEC_CODING_CHUNKS = 2,
    /** Equal to an earlier entry of the file. */
    WCODEC_CODING_ALIAS = 3,
    /** Predicted in blocks of a matrix, the residuals then as TILES. */
    WCODEC_CODING_BLOCKS = 4,
    /** Quantised, in blocks of a matrix transformed or not, the coefficients then as TILES: decodes
     * to an approximation. */
    WCODEC_CODING_LOSSY = 5,
    /** A matrix of bf16 in tiles of one size, in which every element has its place: made to be
     * multiplied on a device without being decoded first. */
    WCODEC_CODING_FIXED = 6,
    /** A matrix as TILES, its elements in the order in which matrix units take them: made to be
     * multiplied on a device without being decoded to memory first. */
    WCODEC_CODING_FRAGMENTS = 7,
    /** Records of one size, as blocks of quantised weights with their scales are: each field of
     * them in an array of its own, coded as CONSTANT, TILES or CHUNKS. */
    WCODEC_CODING_RECORDS = 9,
    /** The difference from a tensor of another file, its base, tile by tile
     * (wcodec/bases.h). */
    WCODEC_CODING_DELTA = 10,
    /** Of many zeros: a mask of the elements that are none, and these, each coded as CONSTANT,
     * TILES or CHUNKS. */
    WCODEC_CODING_MASKED = 11,
    /** Few bytes, which the index itself holds. */
    WCODEC_CODING_INLINE = 12,
    /** A table of vectors, quantised, each as the number of an anchor and the difference from it:
     * decodes to an approximation. */
    WCODEC_CODING_ANCHORED = 13,
    /** Made by a newer version: can be listed but not decoded. */
    WCODEC_CODING_UNKNOWN = 255
} wcodec_coding;

/** One original file. Strings live as long as the reader. */
typedef struct wcodec_file_info {
    /** Base name of the original; may be empty. It is whatever the file says: not safe as a
     * path. */
    const char *name;
    /** The .wcodec file that it is in, or its wcodec_io.name; empty for a descriptor or memory. */
    const char *path;
    /** Not 0: a safetensors file; 0: another, see `kind`. */
    int safetensors;
    /** Bytes of the original. */
    uint64_t size;
    /** Bytes of the .wcodec file. */
    uint64_t coded_size;
    /** Hash of the original, as wcodec_hash_fd() gives it; of an approximated file where tensors
     * are. */
    uint8_t xxh128[16];
    /** Permission bits, 0 to 07777; 0: unknown. */
    uint32_t mode;
    /** Seconds since 1970; -1: unknown. */
    int64_t mtime;
    /** Format version: what a reader must know to read it. */
    unsigned version;
    /** Number in the reader of its first tensor: its tensors are first_tensor ..
     * first_tensor + tensors - 1. */
    uint64_t first_tensor;
    /** How many tensors it has. */
    uint64_t tensors;
    /** Number in the reader of its first entry. */
    uint64_t first_entry;
    /** How many entries it has: tensors and blobs, in the order of the original's bytes, which they
     * cover without holes. */
    uint64_t entries;
    /** How many of its tensors are approximated: 0 says that the original comes back byte for byte.
     * Where it is not 0, hash and decoded bytes are those of the approximated file. */
    uint64_t lossy;
    /** Options by which it was made, as wcodec_encode_options has them (wcodec/writer.h). Level; 0:
     * neither this nor the following were noted. */
    uint8_t level;
    /** A wcodec_tune. */
    uint8_t tune;
    /** A wcodec_profile. */
    uint8_t profile;
    /** 0: by tune. */
    uint8_t tile_log2;
    /** A wcodec_predict. */
    uint8_t predict;
    /** Not 0: names chose which tensors were coded as weights. */
    uint8_t patterns;
    /** Not 0: the index stands in front of all else. */
    uint8_t index_first;
    /** Not 0: the index was rebuilt (wcodec_reader_salvage_fd()); name, hash, mode and mtime
     * are not known, nor is the metadata unless the original's own header is there. */
    uint8_t rebuilt;
    /** Of a rebuilt index: bytes of the original that are not there. */
    uint64_t missing;
    /** Of a rebuilt index: tensors of the original that are not even listed, as far as is known. */
    uint64_t lost_tensors;
    /** The kind of the original: "safetensors", "npy", "npz", "pytorch" (a zip file of
     * torch.save()), "gguf", "onnx", "onnxdata" (external data of an ONNX model), or "opaque"
     * where its tensors are not known. Later versions may add others. */
    char kind[16];
    /** 0. */
    uint64_t reserved[3];
} wcodec_file_info;

/** One mode of a tensor in blocks: how some of its blocks were predicted or transformed. */
typedef struct wcodec_mode_info {
    /** BLOCKS: the predictor, "none", "left", "top", "average", "planar", "paeth", or "wht" (a
     * transform). LOSSY: the transform, "none", "dct" or "adst". A constant. */
    const char *predictor;
    /** Not 0: with a differential pass over the residuals. */
    int differential;
    /** How many blocks have this mode; of 16 x 16 elements with BLOCKS, of 8 x 8 with LOSSY. */
    uint64_t blocks;
    /** 0. */
    uint64_t reserved[2];
} wcodec_mode_info;

/** One tensor, or one blob (bytes of the original that are no tensor). Strings and arrays live as
 * long as the reader. */
typedef struct wcodec_tensor_info {
    /** NULL for a blob; may contain any character but NUL. */
    const char *name;
    /** Of its elements; WCODEC_DTYPE_OTHER for a blob. */
    wcodec_dtype dtype;
    /** As in the original, also where dtype is WCODEC_DTYPE_OTHER; empty for a blob. */
    const char *dtype_name;
    /** Number of dimensions, 0 to 255: 0 for a scalar and for a blob. */
    unsigned rank;
    /** `rank` dimensions in elements, slowest first. */
    const uint64_t *shape;
    /** Decoded bytes. */
    uint64_t size;
    /** Bytes in the .wcodec file; 0 for constants and aliases. */
    uint64_t coded_size;
    /** Where its bytes start in the original. */
    uint64_t file_offset;
    /** Order-0 bound of the elements in bits, as the encoder counted it; 0: not counted. */
    uint64_t order0_bits;
    /** XXH3-64 of the coded bytes; 0 where there are none. */
    uint64_t payload_hash;
    /** How it is coded. */
    wcodec_coding coding;
    /** One word with details, a constant: "constant", "p8", "pairs", "p12", "mixed" (fields of
     * several profiles), "zstd", "stored", "alias", "fixed11", "fixed12" (FIXED, by the bits that
     * every element takes), "records", "delta", "inline", "unknown". */
    const char *coding_name;
    /** Fields of an element, low bits first, as kind (k constant, r raw, c coded) and bits:
     * "r7+c8+r1"; RECORDS: bytes of each field of a record, "2+32"; empty where there are none. */
    const char *split;
    /** Bits of the unit of the coding: 8, 16, 32, 64; 0 where there is none. Packed and complex
     * types are coded in other units than their elements. */
    unsigned element_bits;
    /** Units of a tile, or bytes of a chunk; 0 where there is none. */
    uint64_t tile_elements;
    /** Frequency tables in all pools together. */
    unsigned tables;
    /** Units of a run, which share a table, in the field with the longest; 0: without runs. */
    unsigned run_elements;
    /** Number of its file in the reader. */
    uint64_t file;
    /** ALIAS: number in the reader of the entry that it equals; else UINT64_MAX. */
    uint64_t alias_of;
    /** BLOCKS, LOSSY, FIXED, FRAGMENTS: elements of a row of the matrix; else 0. */
    uint64_t columns;
    /** BLOCKS, LOSSY: how many modes its blocks have, at most 13; else 0. */
    unsigned mode_count;
    /** The first mode_count are set. */
    wcodec_mode_info modes[16];
    /** Not 0: an approximation: coding is LOSSY, or ALIAS of such a tensor, or it was so before it
     * was compressed anew by wcodec_recompress(). Then the errors below are set, else 0. */
    int lossy;
    /** LOSSY, and ALIAS of it: order of the blocks' coefficients: "diagonals", "products", "rows"
     * or "columns"; else, and where single elements were quantised, NULL. A constant. */
    const char *order;
    /** LOSSY, and ALIAS of it: scales of the quantiser: 1, or one for each row of the matrix; else
     * 0. */
    uint64_t scales;
    /** Largest absolute difference from the original, as the encoder measured it. */
    double largest_error;
    /** Mean of the squared differences from the original, as the encoder measured it. */
    double mean_squared_error;
    /** Mean square of the original's elements; the signal-to-noise ratio is
     * 10 log10(mean_square / mean_squared_error) dB. */
    double mean_square;
    /** ANCHORED: how many anchors there are; else 0. */
    uint64_t anchors;
    /** 0. */
    uint64_t reserved[15];
} wcodec_tensor_info;

/** Number of original files: 1, or the shards of a model. Never fails. */
WCODEC_API uint64_t wcodec_reader_file_count(const wcodec_reader *reader);

/** Number of tensors in all files. They are numbered file by file, in the order of their data.
 * Never fails. */
WCODEC_API uint64_t wcodec_reader_tensor_count(const wcodec_reader *reader);

/** Number of entries in all files: tensors and blobs together, numbered file by file, in the order
 * of their data. Never fails. */
WCODEC_API uint64_t wcodec_reader_entry_count(const wcodec_reader *reader);

/** Describe file number i. Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the count. */
WCODEC_API wcodec_status wcodec_reader_file(const wcodec_reader *reader, uint64_t i,
                                            wcodec_file_info *info, wcodec_error *err);

/** Describe tensor number i. Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the
 * count. */
WCODEC_API wcodec_status wcodec_reader_tensor(const wcodec_reader *reader, uint64_t i,
                                              wcodec_tensor_info *info, wcodec_error *err);

/** Describe entry number i. Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the
 * count. */
WCODEC_API wcodec_status wcodec_reader_entry(const wcodec_reader *reader, uint64_t i,
                                             wcodec_tensor_info *info, wcodec_error *err);

/** Set *i to the number of the tensor of that name. Returns WCODEC_OK, or WCODEC_ERROR_NOT_FOUND if
 * there is none. */
WCODEC_API wcodec_status wcodec_reader_find(const wcodec_reader *reader, const char *name,
                                            uint64_t *i, wcodec_error *err);

/** Number of pairs in the `__metadata__` of file number `file`; 0 if there is no such file. Never
 * fails. */
WCODEC_API uint64_t wcodec_reader_metadata_count(const wcodec_reader *reader, uint64_t file);

/** Pair number i of the `__metadata__` of file number `file`, in the order of the
 * index. *key and *value live as long as the reader. Returns WCODEC_OK, or WCODEC_ERROR_USAGE if a
 * number is not below its count. */
WCODEC_API wcodec_status wcodec_reader_metadata(const wcodec_reader *reader, uint64_t file,
                                                uint64_t i, const char **key, const char **value,
                                                wcodec_error *err);

/** Where bytes go that are restored or compressed: called from the calling thread, in order, with
 * `size` > 0 bytes that are gone afterwards. It takes all of them and returns 0, or returns an
 * errno value, with which the call ends as WCODEC_ERROR_IO. */
typedef int (*wcodec_write_fn)(void *opaque, const void *data, size_t size);

/** The same in any order: called from several threads at once, with bytes that belong at `offset`
 * of the output, each byte once. */
typedef int (*wcodec_write_at_fn)(void *opaque, uint64_t offset, const void *data, size_t size);

/** How to decode: fill with wcodec_decode_options_init(), then change what matters. It grows at its
 * end (wcodec/base.h). Where a pointer to it is taken, NULL stands for the defaults. */
typedef struct wcodec_decode_options {
    /** Set by wcodec_decode_options_init(). */
    size_t struct_size;
    /** In bytes of what is decoded. Default: none. */
    wcodec_progress progress;
    /** Not 0: do not verify the checks of tiles and chunks, nor, when a file is restored, its
     * hashes. Default 0. Streams are still verified: damage is an error or wrong elements, never
     * worse. */
    int skip_checks;
    /** NULL, or what wcodec_reader_restore() writes by, in place of `write`, with the same
     * `opaque`: each thread then writes what it decoded, while that is in its cache. */
    wcodec_write_at_fn write_at;
    /** NULL, or where wcodec_reader_restore() and wcodec_reader_test() say what their time went
     * into. Set on success only. */
    wcodec_times *times;
    /** With `part_end`: the first byte of the original from which on entries of the part begin. */
    uint64_t part_begin;
    /** 0: all of the file. Else wcodec_reader_restore() and wcodec_reader_test() do a part of it:
     * the tensors, and blobs between them, that begin at bytes part_begin to part_end - 1 of the
     * original; parts whose bytes follow each other from 0 to its end have each of them once.
     * `write_at` gets offsets in the original. What belongs to the part is verified as ever, but
     * for the hash of the original, which is left to wcodec_reader_check_parts(). Other calls, and
     * quick tests, refuse it. */
    uint64_t part_end;
    /** NULL, or where the hashes of a part go when it is done, at once, with `hashes`; not with
     * skip_checks. */
    wcodec_write_fn write_hashes;
    void *hashes;
} wcodec_decode_options;

/** What wcodec_decode_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_decode_options_init_size(wcodec_decode_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_decode_options_init(wcodec_decode_options *options)
{
    wcodec_decode_options_init_size(options, sizeof *options);
}

/** Decode tensor i whole into dst, in the tensor's own byte order (little-endian) and packing.
 * Tensors in tiles, in blocks and lossy ones are decoded by the context's device, others by the
 * CPU. dst_size must be at least info.size; dst needs no alignment, and may be NULL for a tensor of
 * 0 bytes. On failure the contents of dst are undefined, and zeroed where a device wrote them.
 * `options` may be NULL.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED,
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_reader_decode(const wcodec_reader *reader, uint64_t i, void *dst,
                                              size_t dst_size, const wcodec_decode_options *options,
                                              wcodec_error *err);

/** Decode rows [first, first + count) of the first dimension into dst; reads and decodes only the
 * tiles that hold them. A tensor of rank 0 has one row. dst_size must be at least `count` times the
 * bytes of a row. WCODEC_ERROR_USAGE if the rows are out of range, or do not begin and end on whole
 * bytes (packed 4- and 6-bit types). Else as wcodec_reader_decode(). */
WCODEC_API wcodec_status wcodec_reader_decode_rows(const wcodec_reader *reader, uint64_t i,
                                                   uint64_t first, uint64_t count, void *dst,
                                                   size_t dst_size,
                                                   const wcodec_decode_options *options,
                                                   wcodec_error *err);

/** Restore file number `file` byte for byte through `write` (NULL is allowed where the options have
 * `write_at`), verify payload hashes, checks and the
 * hash of the whole. WCODEC_ERROR_CORRUPT if anything differs (bytes written before that are
 * wrong or incomplete). `options` may be NULL.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED,
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_reader_restore(const wcodec_reader *reader, uint64_t file,
                                               wcodec_write_fn write, void *opaque,
                                               const wcodec_decode_options *options,
                                               wcodec_error *err);

/** Verify file number `file`: every byte of the container, all checks, and the hash of the
 * original. With `quick` not 0, the structure and the index only (done at opening already), and
 * that all padding is zero. `options` may be NULL. Returns what wcodec_reader_restore() does. */
WCODEC_API wcodec_status wcodec_reader_test(const wcodec_reader *reader, uint64_t file, int quick,
                                            const wcodec_decode_options *options,
                                            wcodec_error *err);

/** What `write_hashes` of wcodec_decode_options got of a part: 16 bytes for each 65,536 of the
 * original, and up to 128 KiB; of this version of the library alone. */
typedef struct wcodec_part_hashes {
    const void *data;
    size_t size;
    /** 0. */
    uint64_t reserved[2];
} wcodec_part_hashes;

/** After all parts of file number `file` were restored or tested, by whichever reader, process or
 * machine: is the hash of the original that of these parts, in their order? Nothing is read. What
 * was salvaged without its index has no hash to compare with. Thread-safe.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (what is given is no part's, or another file's; one is
 * missing), WCODEC_ERROR_CORRUPT (the hash differs), WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_reader_check_parts(const wcodec_reader *reader, uint64_t file,
                                                   const wcodec_part_hashes *parts, size_t count,
                                                   wcodec_error *err);

/** The hash of a file as it is, to compare with wcodec_file_info's: XXH3-128s of leaves of 65,536
 * bytes, and one of these and the size (wcodec-format(5)), most significant byte first. It reads
 * the regular file `fd` by pread() from offset 0, with the context's threads; the descriptor stays
 * the caller's. `progress` may be NULL. Thread-safe.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CANCELLED. */
WCODEC_API wcodec_status wcodec_hash_fd(wcodec_context *context, int fd,
                                        const wcodec_progress *progress, uint8_t hash[16],
                                        wcodec_error *err);

/** The same of `size` bytes of memory. Returns WCODEC_OK, WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_hash_memory(wcodec_context *context, const void *data, size_t size,
                                            uint8_t hash[16], wcodec_error *err);

/** Where the tensors of a file lie that is not compressed, of any kind that wcodec_file_info.kind
 * lists: whoever has one reads their bytes from the file itself. Immutable. */
typedef struct wcodec_original wcodec_original;

/** What is known of it. */
typedef struct wcodec_original_info {
    /** As in wcodec_file_info, never "opaque". */
    char kind[16];
    /** Number of tensors. */
    uint64_t tensors;
    /** Number of pairs of its metadata. */
    uint64_t metadata;
    /** Why some of it is not listed although it might be tensors, one line; empty otherwise. */
    char note[256];
    /** 0. */
    uint64_t reserved[6];
} wcodec_original_info;

/** Find the tensors of the regular file `fd`, which is read with pread() and stays the caller's; it
 * is not needed afterwards. `onnx_model` is NULL, or the path of an ONNX model whose external data
 * it is, and `onnx_location` what that calls it. *original belongs to the caller, who ends it by
 * wcodec_original_close() before the context.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CORRUPT (no tensors are found in what begins as a file of tensors, or it is of
 * another kind that is known, such as a git-lfs pointer), WCODEC_ERROR_NOT_FOUND (it is of none of
 * these kinds). The text of the last two says why, to be read after its name. */
WCODEC_API wcodec_status wcodec_original_open_fd(wcodec_context *context, int fd,
                                                 const char *onnx_model, const char *onnx_location,
                                                 wcodec_original **original, wcodec_error *err);

/** Describe it. Never fails. */
WCODEC_API void wcodec_original_describe(const wcodec_original *original,
                                         wcodec_original_info *info);

/** Describe tensor number i, in the order of the file: name, dtype, dtype_name, rank, shape, size
 * and file_offset are set as wcodec_reader_tensor() sets them, and live as long as the original.
 * Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the count. */
WCODEC_API wcodec_status wcodec_original_tensor(const wcodec_original *original, uint64_t i,
                                                wcodec_tensor_info *info, wcodec_error *err);

/** Pair number i of the metadata; *key and *value live as long as the original. Returns WCODEC_OK,
 * or WCODEC_ERROR_USAGE if i is not below the count. */
WCODEC_API wcodec_status wcodec_original_metadata(const wcodec_original *original, uint64_t i,
                                                  const char **key, const char **value,
                                                  wcodec_error *err);

/** Free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_original_close(wcodec_original *original);

#ifdef __cplusplus
}
#endif
#endif
