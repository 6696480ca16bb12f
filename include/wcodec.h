/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * libwcodec: compression of neural-network weights, without loss unless it is asked for.
 *
 * This header includes the whole public interface:
 *
 *   wcodec/base.h     status codes, error text, dtypes, version, how structures grow
 *   wcodec/context.h  context: threads, backend, allocator, limits, log
 *   wcodec/reader.h   open .wcodec files and model folders, list and decode tensors
 *   wcodec/bases.h    files that others are coded against
 *   wcodec/writer.h   compress files, or tensors from memory
 *   wcodec/load.h     decode to device memory, many tensors at once
 *   wcodec/save.h     tensors in a device's memory, or the host's, to a file
 *   wcodec/resident.h tensors that stay coded in memory, and products with them
 *   wcodec/vectors.h  rows of a tensor as anchors and indices
 *   wcodec/search.h   vectors that stay compressed, and search in them
 *
 * Rules that hold everywhere:
 *
 * - Functions that can fail return a wcodec_status. Outputs come last and are set only on success.
 * - The last argument `wcodec_error *err` may be NULL. On failure it gets the status and one line
 *   of text (what was wrong, where, what was expected). On success it is left untouched.
 * - Handles (context, reader, writer, buffer, loading, saving) are made by one function and ended
 * by one other, which takes NULL. A function that fails to make one leaves nothing behind. Strings
 * and arrays that a function gives are owned by the handle that it was called with, unless its
 *   comment says otherwise; nothing that the library gives is freed by the caller.
 * - Pointers that a function takes must not be NULL unless its comment says so. Strings and
 *   structures that it takes are copied as far as they are needed after it returns.
 * - The library never prints, never exits, never changes locale, umask or signal handlers, and
 *   starts no thread before it is asked to work.
 * - With the cpu backend, calls that code, decode or load need no more than 128 KiB of the calling
 *   thread's stack, as compilers optimize. The library's own threads have 2 MiB, whatever the
 *   process's default is; drivers of devices have needs of their own.
 * - Two threads may use two different objects at any time. Where one object may be used from
 *   several threads at once, its declaration says so.
 * - After fork(), the child must not use objects made by the parent: calls that open, decode,
 *   restore, test or compress return WCODEC_ERROR_USAGE there. What was opened may still be
 *   described and found, closed and destroyed. New contexts work, but for backends whose plugin the
 *   parent has used: drivers of devices do not survive fork(), so that these cannot be used, and
 *   "auto" takes the CPU.
 * - All strings are UTF-8 and end with NUL. All sizes are bytes unless a comment says elements or
 *   rows.
 * - How structures and enumerations grow from one version to the next: wcodec/base.h.
 */
#ifndef WCODEC_H
#define WCODEC_H

#include <wcodec/base.h>
#include <wcodec/bases.h>
#include <wcodec/context.h>
#include <wcodec/delta.h>
#include <wcodec/learn.h>
#include <wcodec/load.h>
#include <wcodec/reader.h>
#include <wcodec/recurrent.h>
#include <wcodec/resident.h>
#include <wcodec/save.h>
#include <wcodec/search.h>
#include <wcodec/state.h>
#include <wcodec/vectors.h>
#include <wcodec/writer.h>

#endif
