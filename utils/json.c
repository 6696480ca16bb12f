/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/json.h"
#include "utils/text.h"

#include <stdio.h>
#include <stdlib.h>

json_t *json_text(const char *text)
{
    if (text_is_utf8(text))
        return json_string(text);
    char *escaped = text_escape(text);
    json_t *json = escaped ? json_string(escaped) : NULL;
    free(escaped);
    return json;
}

json_t *json_size(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_decimal(double value, int decimals)
{
    /* Sizes and rates here are far below 2^53 when scaled. */
    double scale = 1;
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    double scaled = value * scale;
    if (scaled > -9e15 && scaled < 9e15)
        value = (double)(long long)(scaled + (scaled < 0 ? -0.5 : 0.5)) / scale;
    return json_real(value);
}

char *json_render(struct app *app, json_t *item)
{
    char *text =
        item ? json_dumps(item, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12))
             : NULL;
    char *safe = text ? text_escape_json(text) : NULL;
    free(text);
    json_decref(item);
    if (!safe)
        app_fail(app, EXIT_FAILED, "standard output: out of memory for JSON");
    return safe;
}

void json_print(struct app *app, json_t *item, bool *any)
{
    char *text = json_render(app, item);
    printf("%s%s", *any ? ",\n" : "\n", text ? text : "null");
    *any = true;
    app_stdout_good(app);
    free(text);
}

void json_list_begin(struct json_list *list, const char *key)
{
    list->any = false;
    printf("{\"schema\":\"wcodec/1\",\"%s\":[", key);
}

void json_list_item(struct app *app, struct json_list *list, json_t *item)
{
    json_print(app, item, &list->any);
}

void json_list_failure(struct app *app, struct json_list *list, const char *name)
{
    json_list_item(app, list,
                   json_pack("{s:o, s:o}", "path", json_text(name), "error",
                             json_text(app->failure ? app->failure : "")));
}

void json_list_end(struct json_list *list)
{
    fputs(list->any ? "\n]}\n" : "]}\n", stdout);
}

void json_list_end_with(struct app *app, struct json_list *list, json_t *members)
{
    char *text = json_render(app, members);
    fputs(list->any ? "\n]" : "]", stdout);
    if (text && text[1] != '}')
        printf(",\n%s\n", text + 1); /* its brace ends the whole */
    else
        puts("}");
    free(text);
}
