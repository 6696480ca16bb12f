/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A reader inside: some containers (shards), and their tensors as one namespace. */
#ifndef WCODEC_READ_READER_H
#define WCODEC_READ_READER_H

#include "format/index.h"
#include "io/source.h"
#include <sys/stat.h>
#include <wcodec/bases.h>

struct wcodec_remote;

/* One container. */
struct wcodec_shard {
    struct wcodec_index *index;
    char *path;                   /* as it is shown and opened; NULL: descriptor or memory */
    int fd;                       /* owned; -1: memory, or a file that is opened for each call */
    struct wcodec_source source;  /* of memory, of the remote, or of fd if that is not -1 */
    struct wcodec_remote *remote; /* owned; NULL: the caller has no function to read by */
    struct stat identity;         /* of the file when it was opened first */
    uint64_t first_tensor;        /* in the reader's numbers */
    uint64_t first_entry;
    const struct wcodec_bases *bases; /* of deltas; NULL: none were given */
};

struct wcodec_reader {
    wcodec_context *context;
    uint64_t shard_count;
    struct wcodec_shard *shards;
    uint64_t tensor_count;
    uint64_t entry_count;
    bool model; /* names: of all shards; else the only shard's index has them */
    struct wcodec_names names;
};

/* Files of a model that are kept open; the others are opened for each call, so that a model of a
 * thousand shards does not take all descriptors of a process. */
enum { WCODEC_SHARDS_OPEN = 64 };

/* Open `path` (kept, as shown in errors) and read its index. keep_open: see above. salvage: rebuild
 * an index that is damaged or missing. Errors name the path. */
wcodec_status wcodec_shard_open_path(wcodec_context *context, const char *path, bool keep_open,
                                     bool salvage, struct wcodec_shard *shard, wcodec_error *err);
wcodec_status wcodec_shard_open_fd(wcodec_context *context, int fd, bool salvage,
                                   struct wcodec_shard *shard, wcodec_error *err);
wcodec_status wcodec_shard_open_memory(wcodec_context *context, const void *data, size_t size,
                                       bool salvage, struct wcodec_shard *shard, wcodec_error *err);
/* A file that is read by a function, which is not closed before wcodec_remote_own(). */
wcodec_status wcodec_shard_open_io(wcodec_context *context, const wcodec_io *io,
                                   struct wcodec_shard *shard, wcodec_error *err);
/* Rebuild the index of a shard whose source is open. WCODEC_ERROR_CORRUPT if nothing is found. */
wcodec_status wcodec_shard_rebuild(wcodec_context *context, struct wcodec_shard *shard,
                                   wcodec_error *err);
void wcodec_shard_close(wcodec_context *context, struct wcodec_shard *shard);

/* A source to read from until it is given back. WCODEC_ERROR_IO if the file was changed or replaced
 * since it was opened first. */
wcodec_status wcodec_shard_acquire(const struct wcodec_shard *shard, struct wcodec_source *source,
                                   wcodec_error *err);
void wcodec_shard_release(const struct wcodec_shard *shard, struct wcodec_source *source);

/* Open what a file name can be opened for here: regular files; FIFOs and the like do not block. -1
 * and errno. */
int wcodec_open_for_reading(const char *path);

/* Is a text longer than `suffix`, and does it end so? */
bool wcodec_ends_with(const char *text, const char *suffix);

/* Is it the index.json of a model, by its name? */
bool wcodec_model_is_index(const char *path);

/* Open and number the shards of a folder or an index.json. On failure the caller closes what is
 * there. */
wcodec_status wcodec_model_open(struct wcodec_reader *reader, const char *path, bool is_folder,
                                wcodec_error *err);

/* Number tensors and entries of all shards; in a model, make the set of names, and refuse one that
 * is in two shards. */
wcodec_status wcodec_reader_number(struct wcodec_reader *reader, wcodec_error *err);

/* The shard that has tensor or entry number i. */
const struct wcodec_shard *wcodec_reader_shard_of_tensor(const struct wcodec_reader *reader,
                                                         uint64_t i);
const struct wcodec_shard *wcodec_reader_shard_of_entry(const struct wcodec_reader *reader,
                                                        uint64_t i);
/* The entry that is tensor number i, which the reader has, and its shard. */
const struct wcodec_entry *wcodec_reader_entry_of_tensor(const struct wcodec_reader *reader,
                                                         uint64_t i,
                                                         const struct wcodec_shard **shard);

/* Is there a file, tensor, entry, ... (`what`) of that number? WCODEC_ERROR_USAGE. */
wcodec_status wcodec_check_number(uint64_t i, uint64_t count, const char *what, wcodec_error *err);

/* The caller's options, or the defaults if `from` is NULL. WCODEC_ERROR_USAGE. */
wcodec_status wcodec_decode_options_read(const wcodec_decode_options *from,
                                         wcodec_decode_options *options, wcodec_error *err);

/* The entry whose payload an entry's bytes come from. */
const struct wcodec_entry *wcodec_shard_resolve(const struct wcodec_shard *shard,
                                                const struct wcodec_entry *entry);

/* Rows [first, first + count) of an entry as bytes. WCODEC_ERROR_USAGE if there are none such, or
 * they do not lie on whole bytes. */
wcodec_status wcodec_entry_rows(const struct wcodec_entry *entry, uint64_t first, uint64_t count,
                                uint64_t *begin, uint64_t *end, wcodec_error *err);

/* WCODEC_ERROR_USAGE where dst, of dst_size bytes, has no room for `size` bytes. */
wcodec_status wcodec_check_room(uint64_t size, const void *dst, size_t dst_size, wcodec_error *err);

/* Put file and tensor in front of an error. */
void wcodec_shard_prefix(const struct wcodec_shard *shard, const struct wcodec_entry *entry,
                         wcodec_error *err);

#endif
