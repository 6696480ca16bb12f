/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* INLINE: small functions that get constants for arguments, or vectors: they must be inlined where
 * they are used to be worth anything. */
#ifndef WCODEC_CPU_INLINE_H
#define WCODEC_CPU_INLINE_H

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
