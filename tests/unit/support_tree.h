/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tree hash as doc/format.md 1.5 says it, without the library's code. */
#ifndef WCODEC_TESTS_SUPPORT_TREE_H
#define WCODEC_TESTS_SUPPORT_TREE_H

#include <stddef.h>
#include <xxhash.h>

XXH128_hash_t support_tree_hash(const void *data, size_t size);

#endif
