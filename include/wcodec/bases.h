/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Bases: files whose tensors others are coded against. A checkpoint that differs little from one
 * that both sides have is stored as its difference from that: a delta.
 *
 * Coding, and decoding again (errors are not looked at):
 *
 *     wcodec_bases_create(context, 0, &bases, &err);
 *     wcodec_bases_add_path(bases, "step-1000.safetensors", &err);
 *     options.bases = bases;
 *     wcodec_compress_path(context, "step-1010.safetensors", "step-1010.wcodec", &options, NULL,
 *                          &err);
 *
 *     wcodec_reader_open_path(context, "step-1010.wcodec", &reader, &err);
 *     wcodec_reader_set_bases(reader, bases, &err);
 *     wcodec_reader_decode(reader, ...);
 *
 * A delta names its base by the hash of the original (wcodec_hash_fd()), never by a path: the
 * original and every .wcodec file of it serve alike.
 */
#ifndef WCODEC_BASES_H
#define WCODEC_BASES_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A set of files, open. Adding to it takes one thread at a time, and no other call that uses the
 * set may run meanwhile; otherwise readers and encoders may use one from several threads at
 * once. */
typedef struct wcodec_bases wcodec_bases;

/** Make an empty set. A base may be a delta itself: `depth` is how many deltas a tensor may stand
 * on, one after the other, until one is coded alone or is in a file that is not compressed, from
 * where on nothing is decoded; 0 is the default, 8; at most 64. *bases
 * belongs to the caller, who ends it by wcodec_bases_destroy() after every reader and writer that
 * uses it, and before the context. Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_bases_create(wcodec_context *context, unsigned depth,
                                             wcodec_bases **bases, wcodec_error *err);

/** Add the file `path`: a .wcodec file, or another whose tensors can be found (as
 * wcodec_original_open_fd() does), which is read once for its hash; or all files of a folder whose
 * names end in .wcodec, .safetensors or .bin. One with the same hash as a file that is there
 * already is passed over. The files must stay as they are as long as the set exists: where one was
 * changed, decoding fails with WCODEC_ERROR_IO. Returns WCODEC_OK, WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT (also of a file without tensors),
 * WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, WCODEC_ERROR_NOT_FOUND. */
WCODEC_API wcodec_status wcodec_bases_add_path(wcodec_bases *bases, const char *path,
                                               wcodec_error *err);

/** Add those files of a folder that the deltas of a reader need and that are not there yet, and
 * those that these need in turn. They are found by what they hold, not by names: among files that
 * end in .wcodec by the hash in their index; of others only those are read, for their hash, and
 * once for each set, that have the size of the original that is looked for, and tensors as it must
 * have. Tensors are not coded against what is found so. A folder that was looked through last and
 * has not changed since is not read again for a second, or ten times what reading it took, at most
 * a minute: until then a file in it that is written where it is may not be found.
 * folder: NULL for the folders of the reader's files. reader: NULL for what the bases themselves
 * need, for encoding against one that is a delta. That something is not found is no failure here.
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO. */
WCODEC_API wcodec_status wcodec_bases_find(wcodec_bases *bases, const wcodec_reader *reader,
                                           const char *folder, wcodec_error *err);

/** The same among .wcodec files alone, of which only the index is read, whatever their size: for
 * what lists files and decodes nothing. */
WCODEC_API wcodec_status wcodec_bases_find_coded(wcodec_bases *bases, const wcodec_reader *reader,
                                                 const char *folder, wcodec_error *err);

/** Number of files in the set. Never fails. */
WCODEC_API uint64_t wcodec_bases_count(const wcodec_bases *bases);

/** Path and hash of file number i, in the order of adding; either may be NULL. The path lives as
 * long as the set. Returns WCODEC_OK, WCODEC_ERROR_USAGE. */
WCODEC_API wcodec_status wcodec_bases_file(const wcodec_bases *bases, uint64_t i, const char **path,
                                           uint8_t xxh128[16], wcodec_error *err);

/** Close all files and free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_bases_destroy(wcodec_bases *bases);

/** Have a reader decode its deltas by these bases; NULL: by none. That every base is there which
 * any tensor needs, down to one that is coded alone, is looked at now, before anything is decoded:
 * where one is not, WCODEC_ERROR_NOT_FOUND, and the text has its hash, and that of the file that
 * was given in its place. The set is not copied: it must outlive the reader, and may be of another
 * context. No other call may be running on the reader. On failure the reader stays as it was.
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_NOT_FOUND, WCODEC_ERROR_LIMIT (a chain longer
 * than `depth`), WCODEC_ERROR_CORRUPT (files that are each other's bases, or a base whose tensor
 * has another size or dtype), WCODEC_ERROR_NEWER. */
WCODEC_API wcodec_status wcodec_reader_set_bases(wcodec_reader *reader, const wcodec_bases *bases,
                                                 wcodec_error *err);

/** The same where of the reader's tensors only `count` will be decoded, by their numbers: what
 * these need must be there. Others decode too where their bases are there, and where not it is
 * said then: 0 tensors ask for nothing. Returns the same, also WCODEC_ERROR_USAGE for a number that
 * no tensor has. */
WCODEC_API wcodec_status wcodec_reader_set_bases_for(wcodec_reader *reader,
                                                     const wcodec_bases *bases,
                                                     const uint64_t *tensors, uint64_t count,
                                                     wcodec_error *err);

/** Of tensor number i: what it is coded against, and which part of it how. Members are 0 where it
 * is no delta. */
typedef struct wcodec_delta_info {
    /** Not 0: a delta, or an alias of one. */
    int delta;
    /** Deltas that it stands on, itself the first, as far as the reader's bases are known. */
    unsigned depth;
    /** Hash of the original of the base, as wcodec_hash_fd() gives it. */
    uint8_t xxh128[16];
    /** Bytes of that original. */
    uint64_t base_size;
    /** Elements in tiles that are equal to the base's. */
    uint64_t equal;
    /** Elements in tiles of which those that differ are listed. */
    uint64_t sparse;
    /** Elements in tiles that are coded without the base. */
    uint64_t alone;
    /** Elements in tiles whose differences are coded. */
    uint64_t difference;
    /** Elements in tiles of which the exclusive or with the base's is coded. */
    uint64_t exclusive_or;
    /** 0. */
    uint64_t reserved[6];
} wcodec_delta_info;

/** Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the count of tensors. */
WCODEC_API wcodec_status wcodec_reader_delta(const wcodec_reader *reader, uint64_t i,
                                             wcodec_delta_info *info, wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
