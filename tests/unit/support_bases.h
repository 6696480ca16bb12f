/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Checkpoints of which each is a delta of the one before. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_BASES_H
#define WCODEC_TESTS_UNIT_SUPPORT_BASES_H

#include "support_files.h"
#include "support_model.h"

#include "core/bytes.h"
#include <unistd.h>

enum { ELEMENTS = 40000, KINDS = 7 };

static const struct {
    const char *dtype;
    unsigned bits;
} dtypes[] = {{"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
              {"F8_E8M0", 8}, {"U16", 16}, {"I16", 16}, {"F16", 16},    {"BF16", 16},
              {"U32", 32},    {"I32", 32}, {"F32", 32}, {"U64", 64},    {"I64", 64},
              {"F64", 64},    {"C64", 64}, {"F4", 8},   {"F6_E2M3", 8}, {"mine", 8}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Weights: near each other, so that they are coded in tiles. */
static inline void fill(uint8_t *to, unsigned bits, uint64_t *seed)
{
    for (unsigned i = 0; i < ELEMENTS; i++) {
        const uint64_t any = support_random(seed);
        wcodec_store_uint(to + (size_t)i * bits / 8,
                          90 + (any & 7) + (any >> 3 & 7) + (any >> 6 & 7), bits / 8);
    }
}

static inline void change(uint8_t *at, unsigned bits, unsigned kind, unsigned i, uint64_t any)
{
    const unsigned width = bits / 8;
    const uint64_t old = wcodec_load_uint(at, width),
                   step = 1 + (any >> 8 & 1) + (any >> 9 & 1 & any >> 8);
    uint64_t now = old;
    if (kind == 1 && any % 1000 == 0)
        now = any >> 10 & 1 ? old + step : old - step;
    else if (kind == 2 && any % 4 == 0)
        now = old + step;
    else if (kind == 3)
        now = old + (any >> 20 & 3);
    else if (kind == 4)
        now = i < 15000 ? old : i < 25000 ? any >> 30 & 31 : old ^ 64;
    else if (kind == 5)
        now = any >> 7;
    else if (kind == 6 && i == 39999)
        now = ~old;
    wcodec_store_uint(at, now, width);
}

/* A model, and the next one of it. */
static inline void make_models(struct support_model *base, struct support_model *next,
                               uint64_t *seed)
{
    static uint8_t data[ELEMENTS * 8], other[ELEMENTS * 8];
    char name[40];
    support_model_init(base);
    support_model_init(next);
    for (unsigned i = 0; i < DTYPES; i++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const size_t size = (size_t)ELEMENTS * dtypes[i].bits / 8;
            uint64_t elements = ELEMENTS;
            if (dtypes[i].dtype[0] == 'F' && strcmp(dtypes[i].dtype, "F4") == 0)
                elements = 2 * ELEMENTS;
            if (strcmp(dtypes[i].dtype, "F6_E2M3") == 0)
                elements = size * 8 / 6 / 4 * 4;
            const size_t bytes =
                strcmp(dtypes[i].dtype, "F6_E2M3") == 0 ? (size_t)elements * 6 / 8 : size;
            fill(data, dtypes[i].bits, seed);
            memcpy(other, data, size);
            for (unsigned k = 0; k < ELEMENTS; k++)
                change(other + (size_t)k * dtypes[i].bits / 8, dtypes[i].bits, kind, k,
                       support_random(seed));
            snprintf(name, sizeof name, "%s.%u", dtypes[i].dtype, kind);
            support_model_add_data(base, name, dtypes[i].dtype, elements, data, bytes);
            support_model_add_data(next, name, dtypes[i].dtype, elements, other, bytes);
        }
    support_model_finish(base, "", 3);
    support_model_finish(next, "", 0);
}

static inline wcodec_bases *bases_of(wcodec_context *context, unsigned depth, const char *path)
{
    wcodec_bases *bases;
    wcodec_error err = {0};
    assert_int_equal(wcodec_bases_create(context, depth, &bases, &err), WCODEC_OK);
    if (path != NULL && wcodec_bases_add_path(bases, path, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return bases;
}

static inline void compress(wcodec_context *context, const void *data, size_t size,
                            const wcodec_bases *bases, struct support_sink *out)
{
    wcodec_encode_options options;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.level = 2; /* quick to code */
    options.bases = bases;
    support_sink_init(out);
    if (wcodec_compress_memory(context, data, size, support_sink_write, out, &options, NULL,
                               &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

enum { LINKS = 4 };

/* Models of which each differs a little from the one before, as files of both kinds: 0, 1, ... */
struct chain {
    struct support_model models[LINKS];
    struct support_sink coded[LINKS];
};

static inline void make_chain(wcodec_context *context, struct chain *c, uint64_t *seed)
{
    static uint8_t data[ELEMENTS * 2];
    char name[16];
    fill(data, 16, seed);
    for (unsigned i = 0; i < LINKS; i++) {
        wcodec_bases *bases = NULL;
        support_model_init(&c->models[i]);
        support_model_add_data(&c->models[i], "w", "BF16", ELEMENTS, data, sizeof data);
        support_model_add_data(&c->models[i], "v", "BF16", ELEMENTS, data, sizeof data);
        support_model_finish(&c->models[i], "", 0);
        snprintf(name, sizeof name, "%u.safetensors", i);
        support_put_file(name, c->models[i].file, c->models[i].file_size);
        if (i > 0) {
            snprintf(name, sizeof name, "%u.safetensors", i - 1);
            bases = bases_of(context, 0, name);
        }
        compress(context, c->models[i].file, c->models[i].file_size, bases, &c->coded[i]);
        wcodec_bases_destroy(bases);
        snprintf(name, sizeof name, "%u.wcodec", i);
        support_put_file(name, c->coded[i].data, c->coded[i].size);
        for (unsigned k = 0; k < ELEMENTS; k++)
            change(data + 2 * (size_t)k, 16, 1, k, support_random(seed));
    }
}

static inline void free_chain(struct chain *c)
{
    char name[16];
    for (unsigned i = 0; i < LINKS; i++) {
        support_model_free(&c->models[i]);
        support_sink_free(&c->coded[i]);
        snprintf(name, sizeof name, "%u.safetensors", i);
        unlink(name);
        snprintf(name, sizeof name, "%u.wcodec", i);
        unlink(name);
    }
}

#endif
