/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* INLINE: small functions that get constants for arguments, or vectors: they must be inlined where
 * they are used to be worth anything. Not under sanitizers, whose checks, copied that often, take
 * a compiler minutes for one file. */
#ifndef WCODEC_CPU_INLINE_H
#define WCODEC_CPU_INLINE_H

#if defined(__SANITIZE_ADDRESS__)
#define WCODEC_CPU_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WCODEC_CPU_SANITIZED 1
#endif
#endif

#if defined(__GNUC__) && !defined(WCODEC_CPU_SANITIZED)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline __attribute__((unused))
#endif

#endif
