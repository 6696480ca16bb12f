/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/json_text.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <jansson.h>

/* A tree takes up to some forty times its text: no larger text than this becomes one. */
enum { TREE_TEXT_MAX = 1 << 20, TREE_FACTOR = 40 };

#define INTEGER_MOST ((uint64_t)1 << 48)

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct wcodec_cursor *c)
{
    while (c->at != c->end && is_blank(*c->at))
        c->at++;
}

static bool take_char(struct wcodec_cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != (uint8_t)wanted)
        return false;
    c->at++;
    return true;
}

/* From a quote to the one that closes it. */
static bool skip_string(struct wcodec_cursor *c)
{
    if (c->at == c->end || *c->at != '"')
        return false;
    for (const uint8_t *p = c->at + 1; p < c->end; p++) {
        if (*p == '\\') {
            p++;
        } else if (*p == '"') {
            c->at = p + 1;
            return true;
        }
    }
    return false;
}

/* Brackets are only counted: that they match is for the parser to see. */
static bool skip_brackets(struct wcodec_cursor *c, unsigned depth)
{
    unsigned open = 0;
    while (c->at != c->end) {
        uint8_t ch = *c->at;
        if (ch == '"') {
            if (!skip_string(c))
                return false;
            continue;
        }
        c->at++;
        if ((ch == '{' || ch == '[') && ++open + depth > WCODEC_JSON_DEPTH_MAX)
            return false;
        if ((ch == '}' || ch == ']') && --open == 0)
            return true;
    }
    return false;
}

static bool skip_value(struct wcodec_cursor *c, unsigned depth)
{
    if (c->at == c->end)
        return false;
    if (*c->at == '"')
        return skip_string(c);
    if (*c->at == '{' || *c->at == '[')
        return skip_brackets(c, depth);
    const uint8_t *start = c->at;
    while (c->at != c->end && !is_blank(*c->at) && *c->at != ',' && *c->at != '}' && *c->at != ']')
        c->at++;
    return c->at != start;
}

static wcodec_status bad_syntax(struct wcodec_json_span text, const uint8_t *at,
                                const char *expected, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                       "no valid JSON object: expected %s at byte %zu of %zu", expected,
                       (size_t)(at - text.at), text.size);
}

wcodec_status wcodec_json_members(struct wcodec_json_span text, unsigned depth,
                                  wcodec_json_member_fn fn, void *opaque, wcodec_error *err)
{
    struct wcodec_cursor c = {text.at, text.at + text.size};
    if (!take_char(&c, '{'))
        return bad_syntax(text, c.at, "\"{\"", err);
    bool first = true;
    while (!take_char(&c, '}')) {
        if (!first && !take_char(&c, ','))
            return bad_syntax(text, c.at, "\",\" or \"}\"", err);
        first = false;
        skip_blanks(&c);
        struct wcodec_json_span key = {c.at, 0}, value;
        if (!skip_string(&c))
            return bad_syntax(text, c.at, "a key", err);
        key.size = (size_t)(c.at - key.at);
        if (!take_char(&c, ':'))
            return bad_syntax(text, c.at, "\":\"", err);
        skip_blanks(&c);
        value.at = c.at;
        if (!skip_value(&c, depth + 1))
            return bad_syntax(text, value.at, "a value that ends and is not nested too deeply",
                              err);
        value.size = (size_t)(c.at - value.at);
        wcodec_status status = fn(opaque, key, value, err);
        if (status != WCODEC_OK)
            return status;
    }
    skip_blanks(&c);
    if (c.at != c.end)
        return bad_syntax(text, c.at, "nothing more", err);
    return WCODEC_OK;
}

/* jansson does not always say that memory was short: it may call a text wrong. So a text is wrong
 * only where it is so twice, and there was memory for it. */
static json_t *load(struct wcodec_json_span span, json_error_t *error, bool *memory)
{
    json_t *json = NULL;
    for (unsigned i = 0; i < 2 && !json; i++)
        json = json_loadb((const char *)span.at, span.size,
                          JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, error);
    void *tree =
        json ? NULL
             : wcodec_alloc_array(&wcodec_default_allocator,
                                  (span.size < TREE_TEXT_MAX ? span.size : TREE_TEXT_MAX) + 1,
                                  TREE_FACTOR);
    *memory = json || (tree && json_error_code(error) != json_error_out_of_memory);
    wcodec_free(&wcodec_default_allocator, tree);
    return json;
}

static wcodec_status parse(struct wcodec_json_span span, const char *what, json_t **json,
                           wcodec_error *err)
{
    if (span.at[0] != '"' && span.size > TREE_TEXT_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s takes %zu bytes, expected at most %d",
                           what, span.size, TREE_TEXT_MAX);
    json_error_t error;
    bool memory;
    *json = load(span, &error, &memory);
    if (*json)
        return WCODEC_OK;
    if (!memory)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for JSON");
    if (json_error_code(&error) == json_error_null_character ||
        json_error_code(&error) == json_error_null_byte_in_key)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s holds a NUL", what);
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s is no valid JSON: %s", what, error.text);
}

/* Printable ASCII without escapes needs no parser. */
static bool is_plain(struct wcodec_json_span inner)
{
    for (size_t i = 0; i < inner.size; i++)
        if (inner.at[i] < 0x20 || inner.at[i] > 0x7e || inner.at[i] == '\\' || inner.at[i] == '"')
            return false;
    return true;
}

wcodec_status wcodec_json_string(struct wcodec_arena *arena, struct wcodec_json_span span,
                                 const char *what, const char **text, wcodec_error *err)
{
    if (span.size < 2 || span.at[0] != '"')
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s is no string", what);
    struct wcodec_json_span inner = {span.at + 1, span.size - 2};
    const char *copy;
    if (is_plain(inner)) {
        copy = wcodec_arena_text(arena, inner.at, inner.size);
    } else {
        json_t *json;
        wcodec_status status = parse(span, what, &json, err);
        if (status != WCODEC_OK)
            return status;
        copy = wcodec_arena_text(arena, json_string_value(json), json_string_length(json));
        json_decref(json);
    }
    if (!copy)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    *text = copy;
    return WCODEC_OK;
}

/* Digits of an integer up to 2^48 without a sign, a fraction or zeros in front. */
static bool take_digits(struct wcodec_cursor *c, uint64_t *value)
{
    const uint8_t *const start = c->at;
    uint64_t v = 0;
    while (c->at != c->end && *c->at >= '0' && *c->at <= '9' && v <= INTEGER_MOST)
        v = 10 * v + (uint64_t)(*c->at++ - '0');
    *value = v;
    return c->at != start && v <= INTEGER_MOST && (*start != '0' || c->at == start + 1);
}

/* The array as nearly all files have it, two for each of many tensors: to make a tree of it takes
 * longer than all else that is done with the header. false: it is for the parser to judge, or there
 * is no memory, which the parser's way says too. */
static bool usual_integers(struct wcodec_arena *arena, struct wcodec_json_span span,
                           const uint64_t **values, size_t *count)
{
    struct wcodec_cursor c = {span.at, span.at + span.size};
    size_t n = 0, most = 1;
    for (const uint8_t *p = span.at; p < c.end; p++)
        most += *p == ',';
    if (span.size > TREE_TEXT_MAX || !take_char(&c, '['))
        return false;
    uint64_t *list = wcodec_arena_alloc(arena, most * sizeof *list);
    if (list == NULL)
        return false;
    do {
        skip_blanks(&c);
        if (!take_digits(&c, &list[n++]))
            return false;
    } while (take_char(&c, ','));
    if (!take_char(&c, ']'))
        return false;
    skip_blanks(&c);
    *values = list;
    *count = n;
    return c.at == c.end;
}

wcodec_status wcodec_json_integers(struct wcodec_arena *arena, struct wcodec_json_span span,
                                   const char *what, const uint64_t **values, size_t *count,
                                   wcodec_error *err)
{
    json_t *json;
    if (usual_integers(arena, span, values, count))
        return WCODEC_OK;
    wcodec_status status = parse(span, what, &json, err);
    if (status != WCODEC_OK)
        return status;
    if (!json_is_array(json)) {
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%s is no array", what);
        goto free_json;
    }
    size_t n = json_array_size(json);
    uint64_t *list = wcodec_arena_alloc(arena, n * sizeof *list);
    if (!list) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        goto free_json;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(json, i);
        json_int_t v = json_integer_value(item);
        if (!json_is_integer(item) || v < 0 || v > (json_int_t)INTEGER_MOST) {
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                 "number %zu of %s is no integer from 0 to 2^48", i, what);
            goto free_json;
        }
        list[i] = (uint64_t)v;
    }
    *values = list;
    *count = n;
free_json:
    json_decref(json);
    return status;
}

wcodec_status wcodec_json_check(struct wcodec_json_span span, wcodec_error *err)
{
    json_t *json;
    wcodec_status status = parse(span, "a value", &json, err);
    if (status == WCODEC_OK)
        json_decref(json);
    return status;
}
