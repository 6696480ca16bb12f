/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file that is read by a function of the caller's, each call of which may take long: behind a
 * network. What is announced (io/source.h) is asked for in few requests, several at once, ahead of
 * those who read it, and kept until they have. Other bytes are asked for when they are read.
 *
 * Memory: about wcodec_io.cache_bytes, and a request for each thread that reads. Threads: those
 * that ask ahead are started by the first announcement. All functions but the destruction may be
 * called by several threads at once. */
#ifndef WCODEC_READ_REMOTE_H
#define WCODEC_READ_REMOTE_H

#include "io/source.h"
#include <wcodec/reader.h>

struct wcodec_remote;

/* `io` is the caller's, and right (wcodec_io_check()). The head and the tail of the file are
 * announced. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_remote_create(const wcodec_allocator *allocator, const wcodec_io *io,
                                   struct wcodec_remote **remote, wcodec_error *err);

/* From now on the destruction calls io->close. */
void wcodec_remote_own(struct wcodec_remote *remote);

/* Waits for requests that are under way. NULL is ignored. */
void wcodec_remote_destroy(struct wcodec_remote *remote);

/* What the file's bytes are read through; lives as long as the remote. */
void wcodec_remote_source(struct wcodec_remote *remote, struct wcodec_source *source);

/* WCODEC_ERROR_USAGE where members are missing or out of range. */
wcodec_status wcodec_io_check(const wcodec_io *io, wcodec_error *err);

#endif
