/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* XXH3-128 of a leaf by the widest vectors that there are: xxHash's own code, compiled again with a
 * level's flags, since its library is often built for the oldest machines of an architecture. */
#ifndef WCODEC_CPU_LEAF_H
#define WCODEC_CPU_LEAF_H

#include "io/tree.h"

/* The best function among the levels in mask (bits of enum wcodec_cpu_level, already masked by what
 * the machine has). */
wcodec_leaf_fn wcodec_cpu_leaf(uint32_t levels);

/* The levels' own. */
struct wcodec_tree_hash wcodec_cpu_leaf_avx2(const void *data, size_t size);
struct wcodec_tree_hash wcodec_cpu_leaf_avx512(const void *data, size_t size);

#endif
