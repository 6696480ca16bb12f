/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The command line, parsed. */
#ifndef WCODEC_UTILS_OPTIONS_H
#define WCODEC_UTILS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wcodec.h>

enum command {
    COMMAND_NONE = -1,
    COMMAND_COMPRESS,
    COMMAND_DECOMPRESS,
    COMMAND_LIST,
    COMMAND_INFO,
    COMMAND_TEST,
    COMMAND_VERIFY,
    COMMAND_CAT,
    COMMAND_CONVERT,
    COMMAND_REBASE,
    COMMAND_VECTORS,
    COMMAND_BENCH,
    COMMAND_DEVICES,
    COMMAND_REPORT,
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_COUNT
};

/* As what tensors in blocks are written. */
enum dequantize { DEQUANTIZE_NONE, DEQUANTIZE_F16, DEQUANTIZE_BF16, DEQUANTIZE_F32 };

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* A list of strings that ends with NULL (items is NULL while it is empty). */
struct strings {
    const char **items;
    size_t count;
};

struct options {
    enum command command;
    struct strings files;
    bool help, version; /* -h, -V: the command is then help or version */

    const char *output;     /* -o, unless that is "-" */
    const char *output_dir; /* -O */
    bool to_stdout;
    bool recursive;
    bool force;
    bool remove;
    bool no_sync;
    bool json;
    bool no_progress;
    bool no_sandbox;
    int quiet;
    int verbose;
    enum color color;
    unsigned threads;
    const char *backend;
    uint64_t memory_limit;

    int level;
    wcodec_tune tune;
    unsigned tile_log2;
    wcodec_profile profile;
    wcodec_predict predict;
    wcodec_lossy_target lossy;
    wcodec_lossy_scaling lossy_scale;
    double lossy_value;
    bool tables;                     /* --vectors: tables of vectors by anchors */
    struct strings table_names;      /* its patterns */
    uint64_t table_anchors;          /* 0: by their rows */
    double table_bits, table_recall; /* 0: not given */
    struct strings include;
    struct strings exclude;
    bool raw;
    bool strict;
    bool no_verify;
    int64_t latest; /* time that is noted */
    bool coding;    /* an option that says how to code was given */
    bool keep_name; /* --name: name, mode and time go into the file */

    int index;   /* --index: 1 to have it in front */
    bool placed; /* --index was given */

    const char *filelist;
    char *filelist_text; /* the names in it */

    struct strings bases; /* --base */
    unsigned base_depth;  /* 0: the library's default */
    struct strings from;  /* --from: what rebase decodes by */

    struct strings tensors; /* --tensor */
    struct strings only;    /* --only */
    bool keep_going;
    bool no_checksum;

    enum dequantize dequantize;
    const char *xxh128;
    bool slice;
    uint64_t slice_first;
    uint64_t slice_end; /* UINT64_MAX: to the last row */
    bool quick;
    unsigned iterations;
    uint64_t sample; /* bench: bytes of a class at most; 0: all */
    bool recurrent;  /* bench: recurrent models, no files */

    const char *subcommand; /* of vectors */
    wcodec_vectors_options train;
    uint64_t queries, nearest; /* vectors evaluate: UINT64_MAX and 0 are the defaults */
    bool anchors_given;
    double bits, recall;          /* vectors compress, add: 0: not given */
    uint64_t first_id;            /* vectors add, evaluate; UINT64_MAX: not given */
    wcodec_vectors_metric metric; /* vectors search, evaluate */
    uint64_t probes;              /* vectors search, evaluate; 0: all */
    double probes_recall;         /* vectors search; 0: not given */
    const char *rerank;           /* vectors search; NULL, or FILE[:TENSOR] */
    uint64_t rerank_factor;       /* 0: not given */
    uint64_t rerank_first_id;
    const char *filter;    /* vectors search; NULL, or a file of bits */
    const char *for_train; /* NULL, or an option of that subcommand that was given */
    const char *for_evaluate, *for_compress, *for_add, *for_search;
    const char *for_nearest; /* of evaluate and search */
    const char *for_stores;  /* of these, when it is a store that is evaluated */
};

/* Parse the command line. False: a message is out already and the program must end with exit
 * code 2. The strings stay in argv. */
bool options_parse(int argc, char **argv, struct options *options);
void options_free(struct options *options);

/* Are tensors approximated, where they can be? */
bool options_are_lossy(const struct options *options);

const char *command_name(enum command command);
/* COMMAND_NONE if there is none of that name. */
enum command command_find(const char *name);

/* "4096", "64KiB", "1.5GiB", "2G" (powers of 1024), "3MB" (powers of 1000). False if it is none of
 * these or too large. */
bool size_parse(const char *text, uint64_t *size);
/* A decimal number up to max, digits only. False if it is none. */
bool number_parse(const char *text, uint64_t max, uint64_t *number);

#endif
