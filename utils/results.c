/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/results.h"
#include "utils/json.h"
#include "utils/signals.h"

#include <string.h>

/* Does data go to standard output? */
static bool writes_data(const struct options *o)
{
    bool standard = o->files.count == 0;
    for (size_t i = 0; i < o->files.count; i++)
        standard = standard || strcmp(o->files.items[i], "-") == 0;
    return o->to_stdout || (standard && !o->output);
}

bool results_begin(struct app *app)
{
    struct json_list list;
    if (!app->options.json)
        return true;
    if (writes_data(&app->options))
        return app_fail(app, EXIT_USAGE,
                        "--json goes to standard output, and so would the data: use -o");
    json_list_begin(&list, "results");
    return true;
}

void results_end(struct app *app)
{
    struct json_list list = {.any = app->results};
    if (!app->options.json)
        return;
    if (app->summary)
        json_list_end_with(app, &list, app->summary);
    else
        json_list_end(&list);
    app->summary = NULL;
}

void results_item(struct app *app, json_t *item)
{
    struct json_list list = {.any = app->results};
    if (app->items && item) {
        json_array_append_new(app->items, item);
        return;
    }
    json_list_item(app, &list, item);
    app->results = list.any;
}

static void add(struct app *app, json_t *item, json_t *members)
{
    if (item && members)
        json_object_update(item, members);
    json_decref(members);
    results_item(app, item);
}

static void add_output(struct app *app, const char *path, const char *output, bool ok,
                       const char *status, json_t *members)
{
    if (!app->options.json || signals_pending())
        json_decref(members);
    else
        add(app,
            json_pack("{s:o, s:o, s:b, s:s}", "path", json_text(path), "output",
                      output ? json_text(output) : json_null(), "ok", (int)ok, "status", status),
            members);
}

void results_add(struct app *app, const char *path, const char *output, const char *status,
                 json_t *members)
{
    add_output(app, path, output, true, status, members);
}

void results_add_damaged(struct app *app, const char *path, const char *output, const char *status,
                         json_t *members)
{
    if (app->options.json && members)
        json_object_set_new(members, "error", json_text(app->failure ? app->failure : ""));
    add_output(app, path, output, false, status, members);
}

void results_add_failure(struct app *app, const char *path)
{
    if (app->options.json && !signals_pending())
        add(app,
            json_pack("{s:o, s:b, s:s, s:o}", "path", json_text(path), "ok", 0, "status", "failed",
                      "error", json_text(app->failure ? app->failure : "")),
            NULL);
}
