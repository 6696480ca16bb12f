/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#ifndef WCODEC_FUZZ_FOLDER_H
#define WCODEC_FUZZ_FOLDER_H

#include <stddef.h>

/* A folder for what targets open by a path: made once, under TMPDIR, and removed with what is in it
 * when the program ends by itself. */
const char *fuzz_folder(void);

/* The path of a file of it; the next call overwrites it. */
const char *fuzz_path(const char *name);

/* Make the file, or make it anew. */
void fuzz_file(const char *name, const void *data, size_t size);

/* Remove all files. */
void fuzz_folder_clear(void);

#endif
