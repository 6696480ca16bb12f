/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a writer does beside its public functions. */
#ifndef WCODEC_WRITE_WRITER_H
#define WCODEC_WRITE_WRITER_H

#include "write/coder.h"
#include <wcodec/writer.h>

/* Somebody who may have tensors that are declared; offsets are those of the file that this restores
 * to. Before the first data. `coder` must outlive the writer's work. */
void wcodec_writer_set_coder(wcodec_writer *writer, const struct wcodec_write_coder *coder);

/* The hash of what the file restores to is the caller's matter: 16 bytes, canonical, which are
 * there when wcodec_writer_finish() is called. Before the first data. */
void wcodec_writer_set_hash(wcodec_writer *writer, const uint8_t *hash);

/* Code all that came; the last of it is not written yet. As wcodec_writer_data(). */
wcodec_status wcodec_writer_code(wcodec_writer *writer, wcodec_error *err);

/* In place of wcodec_writer_data(): the coder has the next tensor. *taken: it is dealt with; else
 * its data is still to come. */
wcodec_status wcodec_writer_placed(wcodec_writer *writer, bool *taken, wcodec_error *err);

/* Add a pair of metadata that only the index has, not the header that the file restores to. When
 * all is declared, and before wcodec_writer_finish(). As wcodec_writer_data(). */
wcodec_status wcodec_writer_note(wcodec_writer *writer, const char *key, const char *value,
                                 wcodec_error *err);

#endif
