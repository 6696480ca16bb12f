/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a folder holds of files that may be bases. */
#ifndef WCODEC_READ_BASES_FOLDER_H
#define WCODEC_READ_BASES_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <wcodec/bases.h>

struct wcodec_listed {
    char *path;
    uint64_t size; /* of the original, once that is known, else of the file */
    bool coded;    /* a .wcodec file, whose index was read */
    bool hashed;   /* then the hash is known */
    bool useless;  /* no file of tensors */
    bool has_deltas;
    uint8_t hash[16];
};

struct wcodec_listing {
    struct wcodec_listed *files;
    uint64_t count, room;
};

/* Paths and sizes of a folder's files, in the order of names: what is coded against what must not
 * depend on the file system's. The caller frees the list, on failure too. WCODEC_ERROR_IO,
 * _MEMORY. */
wcodec_status wcodec_listing_read(const wcodec_allocator *allocator, const char *folder,
                                  struct wcodec_listing *list, wcodec_error *err);
void wcodec_listing_free(const wcodec_allocator *allocator, struct wcodec_listing *list);

/* A folder as it was read last. */
struct wcodec_base_folder {
    char *path; /* NULL: none was */
    struct stat identity;
    uint64_t read_at, read_for; /* ns */
    struct wcodec_listing list; /* coded files by their hashes, and others by their sizes */
    uint64_t coded_count;
};

/* Have bases->folder be what a folder holds. What was read of it a moment ago serves, too, so that
 * to look for the bases of each of its files takes no time in their square. WCODEC_ERROR_IO,
 * _MEMORY. */
wcodec_status wcodec_base_folder_read(wcodec_bases *bases, const char *path, wcodec_error *err);
void wcodec_base_folder_free(const wcodec_allocator *allocator, struct wcodec_base_folder *folder);

/* The coded file of an original's hash and size, if there are several one without deltas. NULL:
 * there is none. */
struct wcodec_listed *wcodec_base_folder_coded(const struct wcodec_base_folder *folder,
                                               const uint8_t hash[16], uint64_t size);
/* The other files of a size: the first, and how many; NULL: none. */
struct wcodec_listed *wcodec_base_folder_others(const struct wcodec_base_folder *folder,
                                                uint64_t size, uint64_t *count);

#endif
