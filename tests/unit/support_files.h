/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tests that write files do so in a folder of their own, which must be empty in the end. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_FILES_H
#define WCODEC_TESTS_UNIT_SUPPORT_FILES_H

#include "support.h"

/* Set-up and tear-down of a group. */
int support_enter_folder(void **state);
int support_leave_folder(void **state);

/* Names in the folder. */
unsigned support_count_names(void);

void support_put_file(const char *path, const void *data, size_t size);

#endif
