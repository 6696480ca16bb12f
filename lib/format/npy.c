/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/npy.h"
#include "format/safetensors.h"
#include "core/bytes.h"
#include "core/dtype.h"
#include "core/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* The names of NumPy's types, without the order of bytes. Types that NumPy does not know, as
 * bfloat16 and float8 of other packages, are saved as bytes without a meaning (V): they are taken
 * as unsigned integers of that size. */
static const struct {
    char name[4];
    uint8_t dtype;
} types[] = {
    {"b1", WCODEC_DTYPE_BOOL}, {"i1", WCODEC_DTYPE_I8},  {"i2", WCODEC_DTYPE_I16},
    {"i4", WCODEC_DTYPE_I32},  {"i8", WCODEC_DTYPE_I64}, {"u1", WCODEC_DTYPE_U8},
    {"u2", WCODEC_DTYPE_U16},  {"u4", WCODEC_DTYPE_U32}, {"u8", WCODEC_DTYPE_U64},
    {"f2", WCODEC_DTYPE_F16},  {"f4", WCODEC_DTYPE_F32}, {"f8", WCODEC_DTYPE_F64},
    {"c8", WCODEC_DTYPE_C64},  {"V1", WCODEC_DTYPE_U8},  {"V2", WCODEC_DTYPE_U16},
};

/* The header is a Python dictionary of three keys, in text. */
struct literal {
    const char *at, *end;
    unsigned seen; /* a bit for each key */
    bool is_fortran;
};

enum { SEEN_TYPE = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static void skip_blanks(struct literal *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n' || *l->at == '\t' || *l->at == '\r'))
        l->at++;
}

static bool take_char(struct literal *l, char c)
{
    skip_blanks(l);
    if (l->at == l->end || *l->at != c)
        return false;
    l->at++;
    return true;
}

static bool take_word(struct literal *l, const char *word)
{
    const size_t size = strlen(word);
    skip_blanks(l);
    if ((size_t)(l->end - l->at) < size || memcmp(l->at, word, size) != 0)
        return false;
    l->at += size;
    return true;
}

/* A string without escapes, which is all that is ever written; false: no such. */
static bool take_string(struct literal *l, char *text, size_t room)
{
    skip_blanks(l);
    if (l->at == l->end || (*l->at != '\'' && *l->at != '"'))
        return false;
    const char quote = *l->at++;
    size_t size = 0;
    while (l->at < l->end && *l->at != quote && *l->at != '\\' && size + 1 < room)
        text[size++] = *l->at++;
    text[size] = 0;
    return take_char(l, quote);
}

static bool take_number(struct literal *l, uint64_t *number)
{
    uint64_t n = 0;
    skip_blanks(l);
    const char *begin = l->at;
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++)
        if (!wcodec_mul_u64(n, 10, &n) || !wcodec_add_u64(n, (uint64_t)(*l->at - '0'), &n))
            return false;
    if (l->at == begin)
        return false;
    if (l->at < l->end && *l->at == 'L') /* by Python 2 */
        l->at++;
    *number = n;
    return true;
}

static wcodec_status take_type(struct literal *l, struct wcodec_npy *npy, wcodec_error *err)
{
    char text[32];
    if (!take_string(l, text, sizeof text))
        return CORRUPT(err, "its elements are structures, or their type cannot be read");
    const bool is_small = text[0] != 0 && text[1] != 0 && strcmp(text + 2, "1") == 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text[0] != 0 && strcmp(text + 1, types[i].name) == 0)
            npy->dtype = types[i].dtype;
    if (npy->dtype == WCODEC_DTYPE_OTHER)
        return CORRUPT(err, "its elements are of type '%s', which no tensor has", text);
    if (text[0] == '>' && !is_small)
        return CORRUPT(err, "its elements are big-endian ('%s')", text);
    if (strchr("<|>=", text[0]) == NULL)
        return CORRUPT(err, "the type '%s' has no order of bytes", text);
    return WCODEC_OK;
}

static wcodec_status take_shape(struct literal *l, struct wcodec_npy *npy, wcodec_error *err)
{
    if (!take_char(l, '('))
        return CORRUPT(err, "its shape cannot be read");
    while (!take_char(l, ')')) {
        if (npy->rank == WCODEC_LAYOUT_RANK_MAX)
            return CORRUPT(err, "it has more than %d dimensions", (int)WCODEC_LAYOUT_RANK_MAX);
        if (!take_number(l, &npy->shape[npy->rank]))
            return CORRUPT(err, "its shape cannot be read");
        npy->rank++;
        if (!take_char(l, ',') && (skip_blanks(l), l->at == l->end || *l->at != ')'))
            return CORRUPT(err, "its shape cannot be read");
    }
    return WCODEC_OK;
}

static wcodec_status take_member(struct literal *l, struct wcodec_npy *npy, wcodec_error *err)
{
    char key[32];
    unsigned bit;
    wcodec_status status = WCODEC_OK;
    if (!take_string(l, key, sizeof key) || !take_char(l, ':'))
        return CORRUPT(err, "its header is no dictionary");
    if (strcmp(key, "descr") == 0)
        bit = SEEN_TYPE;
    else if (strcmp(key, "fortran_order") == 0)
        bit = SEEN_ORDER;
    else if (strcmp(key, "shape") == 0)
        bit = SEEN_SHAPE;
    else
        return CORRUPT(err, "its header has the key \"%s\"", key);
    if ((l->seen & bit) != 0)
        return CORRUPT(err, "its header has the key \"%s\" twice", key);
    l->seen |= bit;
    if (bit == SEEN_TYPE)
        status = take_type(l, npy, err);
    else if (bit == SEEN_SHAPE)
        status = take_shape(l, npy, err);
    else if (take_word(l, "True"))
        l->is_fortran = true;
    else if (!take_word(l, "False"))
        status = CORRUPT(err, "fortran_order cannot be read");
    return status;
}

static wcodec_status parse(struct literal *l, struct wcodec_npy *npy, wcodec_error *err)
{
    if (!take_char(l, '{'))
        return CORRUPT(err, "its header is no dictionary");
    while (!take_char(l, '}')) {
        wcodec_status status = take_member(l, npy, err);
        if (status != WCODEC_OK)
            return status;
        if (!take_char(l, ',') && (skip_blanks(l), l->at == l->end || *l->at != '}'))
            return CORRUPT(err, "its header is no dictionary");
    }
    skip_blanks(l);
    if (l->at != l->end)
        return CORRUPT(err, "more follows its header's dictionary");
    if (l->seen != SEEN_ALL)
        return CORRUPT(err, "a key of its header is missing");
    return WCODEC_OK;
}

/* Fortran's order is that of the transpose. */
static void transpose(struct wcodec_npy *npy)
{
    for (unsigned i = 0; i < npy->rank / 2u; i++) {
        const uint64_t n = npy->shape[i];
        npy->shape[i] = npy->shape[npy->rank - 1 - i];
        npy->shape[npy->rank - 1 - i] = n;
    }
    npy->is_transposed = npy->rank > 1;
}

wcodec_status wcodec_npy_header(const struct wcodec_source *source, uint64_t begin, uint64_t end,
                                struct wcodec_npy *npy, wcodec_error *err)
{
    /* Magic, version, and the length of the text in 2 or 4 bytes. */
    enum { PREFIX_1 = 10, PREFIX_2 = 12 };
    uint8_t prefix[PREFIX_2];
    char text[WCODEC_NPY_HEADER_MAX];
    struct wcodec_npy n = {.dtype = WCODEC_DTYPE_OTHER};
    if (end - begin < PREFIX_2)
        return CORRUPT(err, "it is too short for an array");
    wcodec_status status = wcodec_source_read(source, begin, prefix, sizeof prefix, err);
    if (status != WCODEC_OK)
        return status;
    if (memcmp(prefix, "\x93NUMPY", 6) != 0 || prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
        return CORRUPT(err, "it is no array of version 1 to 3");
    const uint64_t size =
                       prefix[6] == 1 ? wcodec_load_u16(prefix + 8) : wcodec_load_u32(prefix + 8),
                   at = begin + (prefix[6] == 1 ? PREFIX_1 : PREFIX_2);
    if (size > sizeof text || size > end - at)
        return CORRUPT(err, "its header has %" PRIu64 " bytes", size);
    status = wcodec_source_read(source, at, text, (size_t)size, err);
    if (status != WCODEC_OK)
        return status;
    struct literal l = {.at = text, .end = text + size};
    status = parse(&l, &n, err);
    if (status != WCODEC_OK)
        return status;
    n.begin = at + size;
    if (!wcodec_safetensors_bytes((wcodec_dtype)n.dtype, n.shape, n.rank, &n.size))
        return CORRUPT(err, "its shape is too large");
    if (n.size > end - n.begin)
        return CORRUPT(err, "it is cut short: %" PRIu64 " bytes of %" PRIu64 " are there",
                       end - n.begin, n.size);
    if (l.is_fortran)
        transpose(&n);
    *npy = n;
    return WCODEC_OK;
}

wcodec_status wcodec_npy_add(struct wcodec_file_layout *layout, const char *name,
                             const struct wcodec_npy *npy, wcodec_error *err)
{
    char key[WCODEC_LAYOUT_NAME_MAX + 32];
    const struct wcodec_layout_tensor t = {.name = name,
                                           .dtype = npy->dtype,
                                           .shape = npy->shape,
                                           .rank = npy->rank,
                                           .offset = npy->begin,
                                           .size = npy->size};
    wcodec_status status = wcodec_layout_add(layout, &t, err);
    if (status != WCODEC_OK || !npy->is_transposed)
        return status;
    snprintf(key, sizeof key, "npy.transposed.%s", name);
    return wcodec_layout_note(layout, key, "fortran_order", err);
}

wcodec_status wcodec_npy_read(const struct wcodec_source *source, struct wcodec_file_layout *layout,
                              wcodec_error *err)
{
    struct wcodec_npy npy;
    wcodec_status status = wcodec_npy_header(source, 0, source->size, &npy, err);
    layout->kind = "npy";
    return status == WCODEC_OK ? wcodec_npy_add(layout, "arr_0", &npy, err) : status;
}
