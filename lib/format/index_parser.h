/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* For the files that read the index, or what an index can be rebuilt from. */
#ifndef WCODEC_FORMAT_INDEX_PARSER_H
#define WCODEC_FORMAT_INDEX_PARSER_H

#include "format/index.h"

enum {
    WCODEC_SPLITS_KEPT = 16
}; /* tensors of a model share a few splits: their texts are kept
      once */

struct wcodec_parser {
    const wcodec_allocator *allocator;
    const wcodec_limits *limits;
    wcodec_error *err;
    struct wcodec_index *index;
    struct wcodec_cursor cursor;
    uint64_t held;        /* bytes of memory */
    uint64_t entries_max; /* that the file may have */
    uint64_t payload_end;
    uint64_t header_end;  /* of the last group that has begun */
    uint64_t group;       /* the next one */
    uint64_t group_left;  /* entries of the one that has begun */
    uint64_t file_offset; /* in the original, of the next entry */
    uint8_t *body;        /* of the group that has begun, as its header must have it */
    size_t body_size, body_capacity;
    const char *splits[WCODEC_SPLITS_KEPT];
    unsigned next_split;
};

#define FAIL(p, ...) wcodec_fail((p)->err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* The parser's index, empty, of a file with this head whose body begins there. */
wcodec_status wcodec_parser_begin(struct wcodec_parser *p, const struct wcodec_head *head,
                                  uint64_t body_begin, uint64_t file_size);

wcodec_status wcodec_parser_cut_short(struct wcodec_parser *p, const char *what);
/* Count `bytes` more against the caller's limit. */
wcodec_status wcodec_parser_hold(struct wcodec_parser *p, uint64_t bytes);
/* Memory that is counted; the caller's to free. */
wcodec_status wcodec_parser_take(struct wcodec_parser *p, uint64_t count, size_t size,
                                 void **memory);
wcodec_status wcodec_parser_string(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   const char *what, const char **text);
/* A table of names, counted too. Who frees it before the index takes it off again. */
wcodec_status wcodec_parser_names(struct wcodec_parser *p, uint64_t count, const char *what,
                                  struct wcodec_names *names);
/* Bytes at the end of `body`. */
wcodec_status wcodec_parser_put(struct wcodec_parser *p, const void *bytes, size_t size);
wcodec_status wcodec_parser_put_varint(struct wcodec_parser *p, uint64_t v);

/* A record, which must end with the cursor; where there are groups it is put into `body`. `e` is
 * zero, and an element of the index's entries. */
wcodec_status wcodec_parser_record(struct wcodec_parser *p, struct wcodec_cursor *c,
                                   struct wcodec_entry *e);
/* The same as the header of a group has it. */
wcodec_status wcodec_parser_description(struct wcodec_parser *p, struct wcodec_cursor *c,
                                        struct wcodec_entry *e);

/* Entries, tensors and names for `count` entries. */
wcodec_status wcodec_parser_entries(struct wcodec_parser *p, uint64_t count);
/* Note the entry that was parsed last, number `number`: its place in the original, and its name. */
wcodec_status wcodec_parser_add(struct wcodec_parser *p, uint64_t number);
/* Put what an error is about in front of it. */
void wcodec_parser_prefix(struct wcodec_parser *p, const struct wcodec_entry *e, uint64_t number);

#endif
