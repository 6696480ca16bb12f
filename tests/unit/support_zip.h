/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files of other kinds made byte by byte: zip archives with any field wrong, arrays of NumPy. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_ZIP_H
#define WCODEC_TESTS_UNIT_SUPPORT_ZIP_H

#include "support.h"
#include "format/layout.h"
#include "io/source.h"
#include <stdbool.h>

struct support_bytes {
    uint8_t *data;
    size_t size;
};

void support_put(struct support_bytes *b, const void *data, size_t size);
void support_put_u16(struct support_bytes *b, uint64_t v);
void support_put_u32(struct support_bytes *b, uint64_t v);
void support_put_u64(struct support_bytes *b, uint64_t v);
void support_bytes_free(struct support_bytes *b);

/* An array as numpy.save() writes it: the header's text, and `data_size` bytes 1, 2, 3, ... */
void support_put_array(struct support_bytes *b, const char *header, size_t data_size);

struct support_zip {
    struct support_bytes file;
    struct support_bytes directory;
    unsigned count;
    /* How the next members are made. */
    unsigned method, flags;
    bool zip64;     /* sizes and places in extra fields, and an end record of 64 bits */
    size_t padding; /* an extra field of so many bytes in local headers, if it is at least 4 */
};

/* A member; `name_size` bytes of name. */
void support_zip_member(struct support_zip *zip, const char *name, size_t name_size,
                        const void *data, size_t size);
void support_zip_add(struct support_zip *zip, const char *name, const void *data, size_t size);
/* Put the directory at the end. */
void support_zip_end(struct support_zip *zip);
void support_zip_free(struct support_zip *zip);

/* `size` bytes in memory of exactly that size, which the caller frees. */
uint8_t *support_source(const struct support_bytes *b, size_t size, struct wcodec_source *source);

/* The layout of a file; NULL: it is refused. */
struct wcodec_file_layout *support_layout(const struct support_bytes *file, wcodec_error *err);
/* That of a good one, of that kind. */
struct wcodec_file_layout *support_layout_of(const struct support_bytes *file, const char *kind);
/* It is refused with a text that begins with one and has the other. */
void support_layout_refused(const struct support_bytes *file, const char *begin,
                            const char *expected);
/* Every shorter file is refused, and any bit may be another. */
void support_layout_cut_and_flipped(struct support_bytes *file);
/* Read a file's layout with memory that is out after 0, 1, 2, ... allocations: nothing is left each
 * time, and more than `least` are needed. */
void support_layout_memory(const struct support_bytes *file, int least);

#endif
