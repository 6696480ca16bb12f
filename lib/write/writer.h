/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a writer does beside its public functions. */
#ifndef WCODEC_WRITE_WRITER_H
#define WCODEC_WRITE_WRITER_H

#include <wcodec/writer.h>

/* Add a pair of metadata that only the index has, not the header that the file restores to. When
 * all is declared, and before wcodec_writer_finish(). As wcodec_writer_data(). */
wcodec_status wcodec_writer_note(wcodec_writer *writer, const char *key, const char *value,
                                 wcodec_error *err);

#endif
