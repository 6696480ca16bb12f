/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* JSON output. Objects are written one at a time, so that a list of a million tensors is never held
 * whole. */
#ifndef WCODEC_UTILS_JSON_H
#define WCODEC_UTILS_JSON_H

#include "utils/app.h"
#include <jansson.h>

/* A string; bytes that are no UTF-8 are escaped as \xNN, for JSON cannot hold them. */
json_t *json_text(const char *text);
/* An integer: jansson's are signed, and no size of ours passes 2^63. */
json_t *json_size(uint64_t value);
/* A number rounded to that many decimals; whatever the locale, with a point. */
json_t *json_decimal(double value, int decimals);

/* The text of a document, with nothing in it that acts on a terminal; frees the document. The
 * caller frees the text. NULL: reported. */
char *json_render(struct app *app, json_t *item);

/* {"schema":"wcodec/1", "KEY":[ ... ]} on standard output, in parts. */
struct json_list {
    bool any;
};
void json_list_begin(struct json_list *list, const char *key);
/* Print one element and free it. NULL (no memory): reported. */
void json_list_item(struct app *app, struct json_list *list, json_t *item);
void json_list_end(struct json_list *list);
/* With further members, of an object that is freed. */
void json_list_end_with(struct app *app, struct json_list *list, json_t *members);
/* {"path": NAME, "error": the last one that was reported}, for an input that gives nothing else. */
void json_list_failure(struct app *app, struct json_list *list, const char *name);

/* Print `item` after a comma if *any, which becomes true; frees it. */
void json_print(struct app *app, json_t *item, bool *any);

#endif
