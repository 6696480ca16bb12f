/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels' dialect in C with a fiber for each lane (backends/emulate/lanes.h): what a GPU would
 * do, but checked. WCODEC_FIBERS chooses it.
 *   Shared memory: every access is checked for range and natural alignment. Its first address is
 *     not 0, and is different in each work-group. It begins poisoned.
 *   Asynchronous copies: the destination is poisoned until wcodec_copy_wait() after
 *     wcodec_copy_commit(), and stays so beyond the limit.
 *   Device memory: addresses are pointers, so that AddressSanitizer sees what lies outside of a
 *     buffer. Accesses through functions are checked for alignment, others by
 *     UndefinedBehaviorSanitizer.
 *   Collectives: as backends/emulate/fibers.h says.
 *   Work-groups that run at once meet in memory, or with WCODEC_LANES_CLUSTERS are a cluster, as
 *     backends/emulate/clusters.h has it.
 * What is wrong is reported with its place and lane, and the process aborts. */
#ifndef WCODEC_KERNELS_DIALECT_LANES_H
#define WCODEC_KERNELS_DIALECT_LANES_H

#include "backends/emulate/lanes.h"
#include "backends/kernels/dialect_c.h"

#define WCODEC_SIMT
#define WCODEC_WARP_MEMBER struct wcodec_warp warp;
#define WCODEC_WARP_COPY(w, from) ((w)->warp = *(from))

#define WCODEC_LANES_OF 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE for (uint32_t lane = w->warp.lane, end_ = lane + 1; lane != end_; lane++)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        const uint32_t lane = w->warp.lane; \
        (void)lane; \
        (mask) = wcodec_ballot(&w->warp, (condition)); \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        const uint32_t lane = w->warp.lane; \
        (void)lane; \
        (sum) += wcodec_add_lanes(&w->warp, (value)); \
    } while (0)
#define WCODEC_ORDER() ((void)WCODEC_LANES_MEET(SYNC_WARP, 0, 0))
#define WCODEC_LOCAL_ORDER() WCODEC_ORDER()

#define WCODEC_LOAD_16(v, from) memcpy((v), wcodec_lanes_aligned(from, 16, __FILE__, __LINE__), 16)
#define WCODEC_TAKE_16(v, from) WCODEC_LOAD_16(v, from)
#define WCODEC_KEEP_16(to, v) wcodec_store_u4(to, (v)[0], (v)[1], (v)[2], (v)[3])
#define WCODEC_PUT_4(to, a) wcodec_store_u32(to, a)
#define WCODEC_PUT_16(to, a, b, c, d) wcodec_store_u4(to, a, b, c, d)

typedef struct {
    uint32_t x, y;
} wcodec_u2;

typedef struct {
    uint32_t x, y, z, w;
} wcodec_u4;

static inline wcodec_u2 wcodec_make_u2(uint32_t x, uint32_t y)
{
    return (wcodec_u2){x, y};
}

static inline wcodec_u4 wcodec_make_u4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return (wcodec_u4){x, y, z, w};
}

#define wcodec_warp_return(warp, copy) ((void)(warp), (void)(copy))
#define wcodec_lane(warp) ((warp)->lane)
#define wcodec_thread(warp) ((warp)->thread)
#define wcodec_threads(warp) ((warp)->threads)
#define wcodec_warp_number(warp) ((warp)->thread / 32)
#define wcodec_warps(warp) ((warp)->threads / 32)
#define wcodec_is_first(warp) ((warp)->lane == 0)
#define wcodec_group(warp) ((warp)->group)
#define wcodec_groups(warp) ((warp)->groups)

#define WCODEC_LANES_MEET(kind, value, from) \
    wcodec_fibers_meet(WCODEC_COLLECTIVE_##kind, (value), (from), __FILE__, __LINE__)
#define wcodec_ballot(warp, condition) \
    ((void)(warp), WCODEC_LANES_MEET(BALLOT, (condition) != 0, 0))
#define wcodec_any(warp, condition) (wcodec_ballot(warp, condition) != 0)
#define wcodec_all(warp, condition) (wcodec_ballot(warp, condition) == ~0u)
#define wcodec_shuffle(warp, value, from) ((void)(warp), WCODEC_LANES_MEET(SHUFFLE, value, from))
#define wcodec_swap(warp, value, mask) wcodec_shuffle(warp, value, (warp)->lane ^ (mask))
#define wcodec_add_lanes(warp, value) ((void)(warp), WCODEC_LANES_MEET(ADD, value, 0))
#define wcodec_sync_warp(warp) ((void)(warp), (void)WCODEC_LANES_MEET(SYNC_WARP, 0, 0))
#define wcodec_sync_group(warp) ((void)(warp), (void)WCODEC_LANES_MEET(SYNC_GROUP, 0, 0))

#define WCODEC_SYNC_ITEMS(warp) wcodec_sync_group(warp)

#define wcodec_shared_base(warp) ((warp)->base)
#define WCODEC_LANES_SHARED(warp, size, alignment, address) \
    wcodec_lanes_shared(warp, address, size, alignment, __FILE__, __LINE__)
#define WCODEC_SHARED(warp, type, address) \
    ((type *)WCODEC_LANES_SHARED(warp, sizeof(type), _Alignof(type), address))
#define WCODEC_LANES_GET(warp, type, address) \
    (*(const type *)WCODEC_LANES_SHARED(warp, sizeof(type), sizeof(type), address))
#define WCODEC_LANES_PUT(warp, type, address, v) \
    ((void)(*(type *)WCODEC_LANES_SHARED(warp, sizeof(type), sizeof(type), address) = (v)))
#define wcodec_shared_u8(warp, address) ((uint32_t)WCODEC_LANES_GET(warp, uint8_t, address))
#define wcodec_shared_u16(warp, address) ((uint32_t)WCODEC_LANES_GET(warp, uint16_t, address))
#define wcodec_shared_u32(warp, address) WCODEC_LANES_GET(warp, uint32_t, address)
#define wcodec_shared_u2(warp, address) WCODEC_LANES_GET(warp, wcodec_u2, address)
#define wcodec_shared_u4(warp, address) WCODEC_LANES_GET(warp, wcodec_u4, address)
#define wcodec_put_u8(warp, address, v) WCODEC_LANES_PUT(warp, uint8_t, address, (uint8_t)(v))
#define wcodec_put_u16(warp, address, v) WCODEC_LANES_PUT(warp, uint16_t, address, (uint16_t)(v))
#define wcodec_put_u32(warp, address, v) WCODEC_LANES_PUT(warp, uint32_t, address, v)
#define wcodec_put_u2(warp, address, v) WCODEC_LANES_PUT(warp, wcodec_u2, address, v)
#define wcodec_put_u4(warp, address, v) WCODEC_LANES_PUT(warp, wcodec_u4, address, v)

#define WCODEC_BUFFER(warp, type, address) \
    ((void)(warp), (const type *)wcodec_lanes_buffer((uintptr_t)(address)))
#define WCODEC_BUFFER_OUT(warp, type, address) ((void)(warp), (type *)(uintptr_t)(address))
#define WCODEC_BLOCK(warp, type, address) ((void)(warp), (const type *)(uintptr_t)(address))
#define WCODEC_BLOCK_OUT(warp, type, address) WCODEC_BUFFER_OUT(warp, type, address)

/* A buffer may end anywhere: nothing is read after the limit. */
#define WCODEC_COPY_LIMIT(bytes) (bytes)
#define wcodec_copy_16(warp, to, from, offset, limit) \
    wcodec_lanes_copy(warp, to, from, offset, limit, __FILE__, __LINE__)
#define wcodec_copy_commit(warp) wcodec_lanes_copy_commit(warp)
#define wcodec_copy_wait(warp) wcodec_lanes_copy_wait(warp)

#define WCODEC_LANES_LOAD(type, from) \
    (*(const type *)wcodec_lanes_aligned(from, sizeof(type), __FILE__, __LINE__))
#define WCODEC_LANES_STORE(type, to, v) \
    ((void)(*(type *)(uintptr_t)wcodec_lanes_aligned(to, sizeof(type), __FILE__, __LINE__) = (v)))
#define wcodec_load_once_u16(from) ((uint32_t)WCODEC_LANES_LOAD(uint16_t, from))
#define wcodec_load_once_u32(from) WCODEC_LANES_LOAD(uint32_t, from)
#define wcodec_load_once_u2(from) WCODEC_LANES_LOAD(wcodec_u2, from)
#define wcodec_load_once_u4(from) WCODEC_LANES_LOAD(wcodec_u4, from)
#define wcodec_load_u32(from) WCODEC_LANES_LOAD(uint32_t, from)
#define wcodec_load_u4(from) WCODEC_LANES_LOAD(wcodec_u4, from)
#define wcodec_store_u32(to, v) WCODEC_LANES_STORE(uint32_t, to, v)
#define wcodec_store_u2(to, a, b) WCODEC_LANES_STORE(wcodec_u2, to, wcodec_make_u2(a, b))
#define wcodec_store_u4(to, a, b, c, d) \
    WCODEC_LANES_STORE(wcodec_u4, to, wcodec_make_u4(a, b, c, d))
#define wcodec_store_once_u4(to, a, b, c, d) wcodec_store_u4(to, a, b, c, d)
#define wcodec_prefetch(from) ((void)(from))
#define wcodec_prefetch_all(warp, from, size) ((void)(from), (void)(size))

#define WCODEC_RAISE_FLAG(warp, serial) ((void)(warp))
#define WCODEC_BLOCKWISE 1

/* Between collectives a lane runs alone. */
static inline uint32_t wcodec_atomic_add(uint32_t *at, uint32_t v)
{
    const uint32_t old = *at;
    *at = old + v;
    return old;
}

#define wcodec_local_add(at, v) wcodec_atomic_add(at, v)

static inline void wcodec_atomic_store(uint32_t *at, uint32_t v)
{
    *at = v;
}

static inline uint32_t wcodec_entry_at(uint32_t first, uint32_t index, uint32_t step)
{
    return first + index * step;
}

static inline uint32_t wcodec_table_copy(uint32_t table, uint32_t copy)
{
    return table + 4 * copy;
}

#ifdef WCODEC_LANES_CLUSTERS
#define WCODEC_CLUSTERS
#else
#define WCODEC_EXCHANGES
#endif
#define wcodec_exchange_put(at, v) (*(at) = (v))
#define wcodec_exchange_get(at) (*(at))
#define wcodec_exchange_fail(at) (*(at) = 1)
#define wcodec_exchange_look(at) (*(at))
#define wcodec_exchange_pause() wcodec_fibers_pause()

/* v: not 0. */
static inline uint32_t wcodec_first_bit(uint32_t v)
{
    return (uint32_t)__builtin_ctz(v);
}

static inline float wcodec_bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#define WCODEC_MATRIX_PRODUCTS
#define wcodec_lesser(a, b) __builtin_fminf(a, b)
#define wcodec_larger(a, b) __builtin_fmaxf(a, b)
#define wcodec_quick_exp2(x) WCODEC_EXP2(x)
#define wcodec_quick_reciprocal(x) WCODEC_RECIPROCAL(x)
#define wcodec_square_root(x) __builtin_sqrtf(x)
#define wcodec_shared_add(warp, address, v) \
    wcodec_put_u32(warp, address, wcodec_shared_u32(warp, address) + (v))
#ifndef WCODEC_LANES_CLUSTERS
#define wcodec_sync_part(warp, part, threads) \
    ((void)(part), (void)(threads), wcodec_sync_group(warp))
#endif
#define wcodec_copy_part(warp, to, from, size) wcodec_lanes_copy_part(warp, to, from, size)
#define wcodec_allow_next_launch(warp) ((void)(warp))
#define wcodec_wait_for_launch(warp) ((void)(warp))

#define wcodec_fetch_begin(warp, barrier) ((void)(warp), (void)(barrier))
#define wcodec_fetch_end(warp, barrier) ((void)(warp), (void)(barrier))

static inline void wcodec_fetch(struct wcodec_warp *warp, uint32_t to, const uint8_t *from,
                                uint32_t bytes, uint32_t barrier)
{
    (void)barrier;
    for (uint32_t i = 16 * warp->lane; i < bytes; i += 512)
        wcodec_copy_16(warp, to + i, from, i, bytes);
    wcodec_copy_commit(warp);
}

static inline void wcodec_fetch_wait(struct wcodec_warp *warp, uint32_t barrier, uint32_t phase)
{
    (void)barrier, (void)phase;
    wcodec_copy_wait(warp);
    wcodec_sync_warp(warp);
}

static inline void wcodec_lanes_copy_part(struct wcodec_warp *warp, uint32_t to,
                                          const uint8_t *from, uint32_t size)
{
    uint32_t words[4] = {0, 0, 0, 0};
    memcpy(words, from, size);
    wcodec_put_u4(warp, to, wcodec_make_u4(words[0], words[1], words[2], words[3]));
}

/* Collective, from every lane: word i of lane `from`'s four. */
static inline void wcodec_lanes_gather(const uint32_t *own, unsigned count, uint32_t from,
                                       uint32_t *to)
{
    for (unsigned i = 0; i < count; i++)
        to[i] = WCODEC_LANES_MEET(SHUFFLE, own[i], from);
}

static inline float wcodec_lanes_bf16(uint32_t word, unsigned half)
{
    return wcodec_bits_float(half ? word & 0xffff0000u : word << 16);
}

static inline float wcodec_half_float(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000u) << 16, magnitude = (bits & 0x7fffu) << 13;
    const float number = wcodec_bits_float(magnitude) * 0x1p112f;
    const bool finite = (bits & 0x7c00u) != 0x7c00u;
    return wcodec_bits_float(sign | (finite ? wcodec_float_bits(number) : magnitude | 0x7f800000u));
}

static inline float wcodec_lanes_f16(uint32_t word, unsigned half)
{
    return wcodec_half_float(word >> 16 * half & 0xffffu);
}

static inline uint32_t wcodec_add_bf16(uint32_t a, uint32_t b)
{
    uint32_t sums = 0;
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t bits = wcodec_float_bits(wcodec_lanes_bf16(a, i) + wcodec_lanes_bf16(b, i));
        sums |= (bits + 0x7fffu + (bits >> 16 & 1)) >> 16 << 16 * i;
    }
    return sums;
}

/* As the instruction's documentation has the operands (PTX ISA, matrix fragments for m16n8k16). */
static inline void wcodec_lanes_mma(const struct wcodec_warp *warp, float *sums, const uint32_t *a,
                                    uint32_t b0, uint32_t b1,
                                    float (*number)(uint32_t word, unsigned half))
{
    const uint32_t group = warp->lane / 4, own[2] = {b0, b1};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t row[4], column[2][2];
        wcodec_lanes_gather(a, 4, 4 * group + i, row);
        for (uint32_t n = 0; n < 2; n++)
            wcodec_lanes_gather(own, 2, 4 * (warp->lane % 4 * 2 + n) + i, column[n]);
        for (unsigned sum = 0; sum < 4; sum++)
            for (unsigned k = 0; k < 4; k++)
                sums[sum] +=
                    number(row[sum / 2 + k / 2 * 2], k % 2) * number(column[sum % 2][k / 2], k % 2);
    }
}

static inline void wcodec_mma_bf16(struct wcodec_warp *warp, float *sums, const uint32_t *a,
                                   uint32_t b0, uint32_t b1)
{
    wcodec_lanes_mma(warp, sums, a, b0, b1, wcodec_lanes_bf16);
}

static inline void wcodec_mma_f16(struct wcodec_warp *warp, float *sums, const uint32_t *a,
                                  uint32_t b0, uint32_t b1)
{
    wcodec_lanes_mma(warp, sums, a, b0, b1, wcodec_lanes_f16);
}

#ifdef WCODEC_LANES_CLUSTERS
/* Products are done when they are asked for. */
#define WCODEC_GROUP_PRODUCTS
#define wcodec_group_begin_sums(sums, count) ((void)(sums), (void)(count))
#define wcodec_group_begin() ((void)0)
#define wcodec_group_end_products() ((void)0)
#define wcodec_group_end_sums(sums, count) ((void)(sums), (void)(count))

static inline uint64_t wcodec_group_across(uint32_t address, uint32_t down, uint32_t across)
{
    return address | (uint64_t)down << 32 | (uint64_t)across << 48;
}

static inline uint64_t wcodec_group_after(uint64_t operand, uint32_t bytes)
{
    return operand + bytes;
}

static inline void wcodec_group_multiply_48(struct wcodec_warp *warp, float *sums,
                                            const uint32_t *a, uint64_t operand)
{
    const uint32_t address = (uint32_t)operand, down = operand >> 32 & 0xffff,
                   across = (uint32_t)(operand >> 48);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t row[4];
        wcodec_lanes_gather(a, 4, warp->lane / 4 * 4 + i, row);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t of = address + k / 2 * down + 16 * (2 * i + k % 2) + warp->lane % 4 * 4;
            for (uint32_t block = 0; block < 6; block++) {
                const uint32_t pair = wcodec_shared_u32(warp, of + block * across);
                for (uint32_t sum = 0; sum < 4; sum++)
                    sums[4 * block + sum] += wcodec_lanes_bf16(row[sum / 2 + k / 2 * 2], k % 2) *
                                             wcodec_lanes_bf16(pair, sum % 2);
            }
        }
    }
}
#endif

#endif
