/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec devices: backends and devices, and why one cannot be used. */
#include "utils/app.h"
#include "utils/json.h"
#include "utils/table.h"
#include "utils/text.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *device_json(const wcodec_device_info *d)
{
    return json_pack("{s:o, s:i, s:b, s:b, s:o, s:o, s:o, s:o}", "backend", json_text(d->backend),
                     "index", (int)d->index, "available", d->available != 0, "chosen",
                     d->chosen != 0, d->available ? "name" : "reason", json_text(d->name), "driver",
                     json_text(d->driver), "plugin", json_text(d->plugin_path), "memory",
                     json_size(d->memory));
}

static void device_row(const struct app *app, const wcodec_device_info *d, struct table *table,
                       bool print)
{
    char index[TABLE_CELL], memory[TABLE_CELL] = "-";
    char *name = text_escape(d->name), *driver = text_escape(d->driver),
         *plugin = text_escape(d->plugin_path);
    snprintf(index, sizeof index, "%u", d->index);
    if (d->memory)
        text_size(d->memory, memory);
    const char *cells[] = {d->backend,
                           d->available ? index : "-",
                           d->chosen      ? "chosen"
                           : d->available ? "usable"
                                          : "no",
                           memory,
                           driver && *driver ? driver : "-",
                           name ? name : "?",
                           app->options.verbose ? plugin && *plugin ? plugin : "(built in)" : ""};
    if (print)
        table_print(table, cells);
    else
        table_measure(table, cells);
    free(plugin);
    free(driver);
    free(name);
}

void command_devices(struct app *app)
{
    static const char *const heads[] = {"BACKEND", "DEVICE", "STATE", "MEMORY",
                                        "DRIVER",  "NAME",   NULL};
    static const char *const more_heads[] = {"BACKEND", "DEVICE", "STATE",  "MEMORY",
                                             "DRIVER",  "NAME",   "PLUGIN", NULL};
    const wcodec_device_info *devices;
    size_t count;
    wcodec_error err = {0};
    struct table table;
    struct json_list list;
    if (app->options.files.count) {
        app_fail(app, EXIT_USAGE, "devices takes no files");
        return;
    }
    if (!app_context(app))
        return;
    if (wcodec_context_devices(app->context, &devices, &count, &err) != WCODEC_OK) {
        app_fail_status(app, NULL, &err);
        return;
    }
    if (app->options.json) {
        json_list_begin(&list, "devices");
        for (size_t i = 0; i < count; i++)
            json_list_item(app, &list, device_json(&devices[i]));
        json_list_end(&list);
        return;
    }
    table_init(&table, app, app->options.verbose ? more_heads : heads, "lllllll");
    for (size_t i = 0; i < count; i++)
        device_row(app, &devices[i], &table, false);
    table_print_heads(&table);
    for (size_t i = 0; i < count; i++)
        device_row(app, &devices[i], &table, true);
    if (app->options.verbose)
        printf("threads: %u\n", wcodec_context_threads(app->context));
}
