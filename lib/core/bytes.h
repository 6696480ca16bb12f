/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Checked arithmetic, and little-endian bytes. */
#ifndef WCODEC_CORE_BYTES_H
#define WCODEC_CORE_BYTES_H

#include "core/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each returns false, and leaves *result alone, if the result does not fit. */
static inline bool wcodec_add_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    if (a > UINT64_MAX - b)
        return false;
    *result = a + b;
    return true;
}

static inline bool wcodec_mul_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *result = a * b;
    return true;
}

/* Least multiple of n (a power of two) not below a; a must be at most UINT64_MAX - n. */
static inline uint64_t wcodec_align_u64(uint64_t a, uint64_t n)
{
    WCODEC_ASSERT(n != 0 && (n & (n - 1)) == 0 && a <= UINT64_MAX - n);
    return (a + n - 1) & ~(n - 1);
}

static inline uint64_t wcodec_div_up_u64(uint64_t a, uint64_t n)
{
    WCODEC_ASSERT(n != 0);
    return a / n + (a % n != 0);
}

static inline uint16_t wcodec_load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static inline uint32_t wcodec_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t wcodec_load_u64(const uint8_t *p)
{
    return wcodec_load_u32(p) | (uint64_t)wcodec_load_u32(p + 4) << 32;
}

/* An element of 2^element_log2 bytes, at most 8; compilers make one load of each case. */
static inline uint64_t wcodec_load_element(const uint8_t *p, unsigned element_log2)
{
    switch (element_log2) {
    case 0:
        return *p;
    case 1:
        return wcodec_load_u16(p);
    case 2:
        return wcodec_load_u32(p);
    default:
        return wcodec_load_u64(p);
    }
}

/* size bytes, at most 8; 0 where nothing is left. */
static inline uint64_t wcodec_load_uint(const uint8_t *p, unsigned size)
{
    WCODEC_ASSERT(size <= 8);
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static inline void wcodec_store_uint(uint8_t *p, uint64_t v, unsigned size)
{
    WCODEC_ASSERT(size <= 8);
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* One store where the machine's order allows it: compilers leave the loop above a loop. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline void wcodec_store_u16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void wcodec_store_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void wcodec_store_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}
#else
static inline void wcodec_store_u16(uint8_t *p, uint16_t v)
{
    wcodec_store_uint(p, v, 2);
}

static inline void wcodec_store_u32(uint8_t *p, uint32_t v)
{
    wcodec_store_uint(p, v, 4);
}

static inline void wcodec_store_u64(uint8_t *p, uint64_t v)
{
    wcodec_store_uint(p, v, 8);
}
#endif

static inline uint32_t wcodec_rotl32(uint32_t x, unsigned r)
{
    r &= 31;
    return r ? x << r | x >> (32 - r) : x;
}

/* A bounded reader of bytes: every take fails, and leaves the cursor alone, when too few are left.
 */
struct wcodec_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static inline size_t wcodec_cursor_left(const struct wcodec_cursor *c)
{
    WCODEC_ASSERT(c->at <= c->end);
    return (size_t)(c->end - c->at);
}

static inline bool wcodec_take_bytes(struct wcodec_cursor *c, uint64_t size, const uint8_t **bytes)
{
    if (size > wcodec_cursor_left(c))
        return false;
    *bytes = c->at;
    c->at += size;
    return true;
}

static inline bool wcodec_take_u8(struct wcodec_cursor *c, uint8_t *v)
{
    if (c->at == c->end)
        return false;
    *v = *c->at++;
    return true;
}

/* LEB128 as doc/format.md has it: minimal, below 2^64. */
static inline bool wcodec_take_varint(struct wcodec_cursor *c, uint64_t *v)
{
    uint64_t r = 0;
    const uint8_t *p = c->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == c->end)
            return false;
        uint8_t b = *p++;
        if (shift == 63 && b > 1)
            return false;
        r |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            if (b == 0 && shift != 0)
                return false;
            c->at = p;
            *v = r;
            return true;
        }
    }
    return false;
}

/* Write v as LEB128, at most 10 bytes; returns their number. */
static inline size_t wcodec_put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

/* `size` bytes that belong at place `at`: those of them at places [begin, end) go to dst, which
 * starts with place `begin`. */
static inline void wcodec_put_part(const uint8_t *bytes, uint64_t at, uint64_t size, uint64_t begin,
                                   uint64_t end, uint8_t *dst)
{
    const uint64_t stop = at + size, from = at > begin ? at : begin, to = stop < end ? stop : end;
    if (from < to)
        memcpy(dst + (from - begin), bytes + (from - at), (size_t)(to - from));
}

#endif
