/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables for people: aligned columns. Rows are gone through twice, first to measure, then to print,
 * so that a million rows need no memory. */
#ifndef WCODEC_UTILS_TABLE_H
#define WCODEC_UTILS_TABLE_H

#include "utils/app.h"

enum { TABLE_COLUMNS = 12, TABLE_CELL = 32 };

struct table {
    unsigned columns;
    const char *heads[TABLE_COLUMNS];
    const char *align; /* a letter a column: 'l' or 'r' */
    size_t width[TABLE_COLUMNS];
    bool bold; /* heads in bold */
};

/* `heads` ends with NULL. Colour by --color and NO_COLOR. */
void table_init(struct table *table, const struct app *app, const char *const *heads,
                const char *align);
/* Cells are escaped already. */
void table_measure(struct table *table, const char *const *cells);
void table_print_heads(const struct table *table);
void table_print(const struct table *table, const char *const *cells);

/* May standard output be coloured? */
bool color_wanted(const struct app *app);

#endif
