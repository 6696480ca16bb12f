/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/table.h"
#include "utils/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A name that is longer stands out, and does not make all rows as wide. */
enum { WIDTH_MAX = 100 };

bool color_wanted(const struct app *app)
{
    if (app->options.color != COLOR_AUTO)
        return app->options.color == COLOR_ALWAYS;
    const char *none = getenv("NO_COLOR");
    return !(none && *none) && isatty(STDOUT_FILENO);
}

void table_init(struct table *table, const struct app *app, const char *const *heads,
                const char *align)
{
    *table = (struct table){.align = align, .bold = color_wanted(app)};
    while (heads[table->columns]) {
        table->heads[table->columns] = heads[table->columns];
        table->columns++;
    }
    table_measure(table, table->heads);
}

void table_measure(struct table *table, const char *const *cells)
{
    for (unsigned i = 0; i < table->columns; i++) {
        size_t width = text_width(cells[i]);
        width = width < WIDTH_MAX ? width : WIDTH_MAX;
        if (width > table->width[i])
            table->width[i] = width;
    }
}

static void print_spaces(size_t count)
{
    while (count-- > 0)
        putchar(' ');
}

void table_print(const struct table *table, const char *const *cells)
{
    for (unsigned i = 0; i < table->columns; i++) {
        size_t width = text_width(cells[i]),
               padding = width < table->width[i] ? table->width[i] - width
                                                 : 0; /* a cell may be wider than its column */
        if (table->align[i] == 'r')
            print_spaces(padding);
        fputs(cells[i], stdout);
        if (i + 1 < table->columns)
            print_spaces(table->align[i] == 'r' ? 2 : padding + 2);
    }
    putchar('\n');
}

void table_print_heads(const struct table *table)
{
    if (table->bold)
        fputs("\033[1m", stdout);
    table_print(table, table->heads);
    if (table->bold)
        fputs("\033[0m", stdout);
}
