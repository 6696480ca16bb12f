/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the subcommands of vectors share: a tensor as rows, and the three files of a set. */
#ifndef WCODEC_UTILS_VECTORS_H
#define WCODEC_UTILS_VECTORS_H

#include "utils/json.h"
#include "utils/output.h"
#include "utils/tensor_file.h"
#include <wcodec/search.h>

struct vectors_rows {
    struct tensor_file file;
    wcodec_vector_rows rows;
    void *data;
    void *mapped; /* NULL, or the part of the file that `data` is in */
    size_t mapped_size;
    char *name; /* file and tensor, for messages */
};

/* Read a tensor of a file, which must be [n, d]: the only one, or that of --tensor. False:
 * reported. */
bool vectors_rows_open(struct app *app, const char *path, struct vectors_rows *rows);
/* That of --rerank: by its name, or NULL: the only one. */
bool vectors_rows_open_original(struct app *app, const char *path, const char *tensor,
                                struct vectors_rows *rows);
/* Rows that are left in their file: were they the same until now? After they were used, and before
 * what is made of them gets its name. False: reported. */
bool vectors_rows_check(struct app *app, const struct vectors_rows *rows);
/* Are all numbers finite, and at most 65504 in magnitude? False: reported, with the row. */
bool vectors_rows_check_numbers(struct app *app, const struct vectors_rows *rows);
/* Was the file of such rows cut short? Zeros stand for what is gone. */
bool vectors_rows_lost(const struct vectors_rows *rows);
/* Was it, or was it written to? */
bool vectors_rows_changed(const struct vectors_rows *rows);
void vectors_rows_close(struct vectors_rows *rows);

enum { VECTORS_FILES = 3 };

/* Files that are being made, in the order of wcodec_vectors_part. */
struct vectors_files {
    char *path[VECTORS_FILES];
    struct output output[VECTORS_FILES];
};

/* Start NAME.idx, NAME.anchors.bin and NAME.assign.bin. False: reported. */
bool vectors_files_open(struct app *app, const char *name, const struct stat *input,
                        struct vectors_files *files);
/* Write them and give them their names, that of the .idx last: either all are there in the end, or
 * it is not. False: reported. */
bool vectors_files_write(struct app *app, const wcodec_vectors *vectors,
                         const struct output_attributes *attributes, struct vectors_files *files);
void vectors_files_close(struct vectors_files *files);
/* Bytes of the three files. */
uint64_t vectors_files_size(const wcodec_vectors_info *info);

/* Read the set NAME, which may be given with .idx at its end; the caller destroys it. What is made
 * of it gets attributes as narrow as its files'. NULL: reported. */
wcodec_vectors *vectors_files_read(struct app *app, const char *name,
                                   struct output_attributes *attributes);

/* Anchors by the options; without --anchors fewer for few vectors. NULL: reported. */
wcodec_vectors *vectors_find_anchors(struct app *app, const struct vectors_rows *rows);
/* Print it, and free it. */
void vectors_print_json(struct app *app, json_t *item);

/* train; compress, add, remove, compact and search are in vectors_store.c, what evaluate says of
 * stores in vectors_recall.c, the others in vectors_show.c. Operands are those after the
 * subcommand. */
void vectors_train(struct app *app);
void vectors_info(struct app *app);
void vectors_evaluate(struct app *app);
void vectors_export(struct app *app);
void vectors_compress(struct app *app);
void vectors_add(struct app *app);
void vectors_remove(struct app *app);
void vectors_compact(struct app *app);
void vectors_search(struct app *app);
/* A store or segment; NULL: reported. */
wcodec_vectors_store *vectors_store_open(struct app *app, const char *path);
/* Says what is in a store or segment. */
void vectors_store_info(struct app *app);
/* Measures what searches in one find of the originals' nearest. */
void vectors_store_evaluate(struct app *app);
/* Is it the path of a store, or of a segment? */
bool vectors_is_store(const char *path);

#endif
