/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* All options in one table, from which the command line is parsed and the help is printed.
 * tests/command/options.sh compares it with the man page and the completions. */
#ifndef WCODEC_UTILS_OPTION_TABLE_H
#define WCODEC_UTILS_OPTION_TABLE_H

#include "utils/options.h"

/* The set of all commands: bits 1 << enum command. */
#define COMMAND_ALL ((1u << COMMAND_COUNT) - 1)

struct option_row {
    /* The long option; NULL: a line of the help, no option. */
    const char *name;
    /* The short one, or 0. */
    char letter;
    /* As the help shows it; NULL: it takes none; in brackets: it may be left out. */
    const char *argument;
    /* The commands that take it, and those of them whose help lists it; what all commands take is
     * listed by the general help. */
    unsigned commands, listed;
    /* Takes the argument over (NULL if there is none) to the member at `offset`. False: it is
     * wrong. */
    bool (*set)(const struct option_row *row, const char *text, struct options *o);
    size_t offset;
    /* What is said of a wrong argument, before it; NULL: `set` has said it. */
    const char *wrong;
    /* NULL: not in the help. */
    const char *help;
};

enum { OPTION_ROWS_MAX = 96 };

extern const struct option_row option_table[];
extern const size_t option_count;

bool option_is_level(const struct option_row *row);
/* Does it say how to code, or what the file notes of its original? */
bool option_is_coding(const struct option_row *row);

/* Prints "wcodec: TEXT 'DETAIL'" (detail may be NULL) and a hint; false. */
bool usage_error(const char *text, const char *detail);
/* Append to a list; false: out of memory, and said. */
bool strings_add(struct strings *list, const char *item);

#endif
