/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * libwcodec: lossless compression of neural-network weights.
 *
 * This header includes the whole public interface:
 *
 *   wcodec/base.h     status codes, error text, dtypes, version, limits
 *   wcodec/context.h  context: threads, backend, allocator, log
 *   wcodec/reader.h   open .wcodec files and model folders, list and decode tensors
 *   wcodec/writer.h   compress files, or tensors from memory
 *   wcodec/load.h     decode to device memory, many tensors at once
 *
 * Rules that hold everywhere:
 *
 * - Functions that can fail return a wcodec_status. Outputs come last and are set only on success.
 * - The last argument `wcodec_error *err` may be NULL. On failure it gets the status and one line
 * of text
 *   (what was wrong, where, what was expected). On success it is left untouched.
 * - The library never prints, never exits, never changes locale, umask or signal handlers, and
 * starts no thread before it is asked to work.
 * - Two threads may use two different objects at any time. Where one object may be used from
 * several threads at once, its
 *   declaration says so. After fork(), the child must not use objects made by the parent:
 *   calls that open, decode, restore, test or compress return WCODEC_ERROR_USAGE there. What was
 *   opened may still be described and found, closed and destroyed.
 * - All strings are UTF-8. All sizes are bytes unless a comment says elements or rows.
 */
#ifndef WCODEC_H
#define WCODEC_H

#include <wcodec/base.h>
#include <wcodec/context.h>
#include <wcodec/load.h>
#include <wcodec/reader.h>
#include <wcodec/writer.h>

#endif
