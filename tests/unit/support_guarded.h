/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory between two pages that cannot be touched. */
#ifndef WCODEC_TESTS_UNIT_GUARDED_SUPPORT_H
#define WCODEC_TESTS_UNIT_GUARDED_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    uint8_t *map;
    size_t size;
    uint8_t *data;
};

/* The last byte is followed by a guard page. */
static inline struct guarded guarded_new(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    struct guarded g = {NULL, whole + 2 * page, NULL};
    g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + page + whole, page, PROT_NONE), 0);
    g.data = g.map + page + whole - size;
    return g;
}

/* If begin, the first byte is preceded by one. */
static inline struct guarded guarded_side(size_t size, bool begin)
{
    struct guarded g = guarded_new(size);
    if (begin)
        g.data = g.map + sysconf(_SC_PAGESIZE);
    return g;
}

static inline void guarded_free(struct guarded *g)
{
    munmap(g->map, g->size);
}

#endif
