/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A set of bases inside: files by the hashes of their originals, and reading from their tensors. */
#ifndef WCODEC_READ_BASES_H
#define WCODEC_READ_BASES_H

#include "format/base_fetch.h"
#include "format/layout.h"
#include "read/bases_folder.h"
#include "read/decode.h"
#include "read/reader.h"

enum { WCODEC_BASES_DEPTH = 8, WCODEC_BASES_DEPTH_MAX = 64 };

struct wcodec_base_file {
    char *path;
    bool found; /* not given: nothing is coded against it */
    bool has_deltas;
    uint8_t hash[16]; /* of the original */
    uint64_t size;
    struct wcodec_shard shard; /* of a .wcodec file */
    /* Of another; NULL: a .wcodec file. */
    struct wcodec_file_layout *layout;
    struct wcodec_names names;   /* of the layout's tensors */
    struct wcodec_source source; /* its descriptor is -1 where it is opened for each call */
    struct stat identity;
    struct wcodec_base_file *next; /* of those that are closed later */
};

/* A file that is not compressed, and was read for its hash. */
struct wcodec_base_hash {
    struct stat identity;
    uint8_t hash[16];
};

struct wcodec_bases {
    struct wcodec_base_fetch fetch; /* the first member */
    wcodec_context *context;
    unsigned depth;
    uint64_t count;
    struct wcodec_base_file **files;
    uint64_t *order; /* numbers of files, by their hashes */
    uint64_t hash_count;
    struct wcodec_base_hash *hashes;
    struct wcodec_base_folder folder; /* that was looked through last */
};

/* Open what may become a base. by: of files that are not compressed only one is read, for its
 * hash, that a delta of that index may need, else WCODEC_ERROR_NOT_FOUND; NULL: any. f: zero; the
 * caller closes it, on failure too. */
wcodec_status wcodec_base_open(struct wcodec_bases *bases, const char *path,
                               const struct wcodec_index *by, struct wcodec_base_file *f,
                               wcodec_error *err);
/* NULL is ignored. */
void wcodec_base_close(wcodec_context *context, struct wcodec_base_file *f);
/* Into the set, unless a file with its hash is there. *left: what the caller closes, the file or
 * one that it takes the place of; NULL: nothing. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_base_keep(struct wcodec_bases *bases, struct wcodec_base_file *f, bool found,
                               struct wcodec_base_file **left, wcodec_error *err);

/* A tensor of a file. */
struct wcodec_base_tensor {
    const struct wcodec_base_file *file;
    const struct wcodec_entry *entry; /* no alias; NULL: of a file that is no .wcodec file */
    uint64_t offset;                  /* in that file */
    uint64_t size;
    uint8_t dtype;
    unsigned rank;
    const uint64_t *shape;
};

/* The number of the file with a hash; false: none has it, and *place is where it would stand in the
 * order. place may be NULL. */
bool wcodec_bases_find_hash(const struct wcodec_bases *bases, const uint8_t hash[16], uint64_t *i,
                            uint64_t *place);
/* NULL: none has it. */
const struct wcodec_base_file *wcodec_bases_by_hash(const struct wcodec_bases *bases,
                                                    const uint8_t hash[16]);
bool wcodec_base_find_tensor(const struct wcodec_base_file *file, const char *name,
                             struct wcodec_base_tensor *tensor);

/* Is a file what it was when it was looked at first? */
bool wcodec_base_is_same(const struct stat *a, const struct stat *b);

/* The base of a delta, by its name: as it must be. WCODEC_ERROR_NOT_FOUND, _CORRUPT. bases may be
 * NULL. */
wcodec_status wcodec_bases_resolve(const struct wcodec_bases *bases,
                                   const struct wcodec_entry *entry,
                                   struct wcodec_base_tensor *tensor, wcodec_error *err);

/* How many deltas an entry stands on, itself the first; the chain is whole.
 * WCODEC_ERROR_NOT_FOUND, _CORRUPT, _LIMIT, _NEWER. */
wcodec_status wcodec_bases_follow(const struct wcodec_bases *bases,
                                  const struct wcodec_entry *entry, unsigned *depth,
                                  wcodec_error *err);

/* Reading from a base's tensor. */
struct wcodec_base_reader {
    struct wcodec_base_tensor tensor;
    struct wcodec_source source;
    struct wcodec_decoder decoder; /* of a .wcodec file */
};

/* `like` says how: context, bases, depth (of the delta), held, verify, on_cpu, whole. */
wcodec_status wcodec_base_reader_open(const struct wcodec_decoder_input *like,
                                      const struct wcodec_base_tensor *tensor,
                                      struct wcodec_base_reader *reader, wcodec_error *err);
wcodec_status wcodec_base_reader_range(struct wcodec_base_reader *reader, uint64_t begin,
                                       uint64_t end, uint8_t *dst, wcodec_error *err);
/* Is a file that is not compressed still what it was? For who makes something of what was read, and
 * has no other check. WCODEC_ERROR_IO. */
wcodec_status wcodec_base_reader_unchanged(const struct wcodec_base_reader *reader,
                                           wcodec_error *err);
void wcodec_base_reader_close(struct wcodec_base_reader *reader);

#endif
