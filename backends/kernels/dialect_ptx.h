/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* NVIDIA's instructions that neither CUDA C++ nor OpenCL C has a word for, each text once for both
 * languages. Shared memory is addressed by 32 bits. WCODEC_PTX_80: compute capability 8.0 and
 * later. */
#ifndef WCODEC_KERNELS_DIALECT_PTX_H
#define WCODEC_KERNELS_DIALECT_PTX_H

/* The number in the work-group: asked for where it is needed, so that no register holds it. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_thread(const struct wcodec_warp *warp)
{
    uint32_t t;
    (void)warp;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lane(const struct wcodec_warp *warp)
{
    return wcodec_thread(warp) & 31;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *warp, bool condition)
{
    uint32_t mask;
    (void)warp;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(mask)
                 : "r"((uint32_t)condition)
                 : "memory");
    return mask;
}

WCODEC_DEVICE_FUNCTION float wcodec_exp2(float x)
{
    float v;
    asm("ex2.approx.f32 %0, %1;" : "=f"(v) : "f"(x));
    return v;
}

/* Nearer by a step of Newton's; of 0 and what is infinite the approximation is right. */
WCODEC_DEVICE_FUNCTION float wcodec_reciprocal(float x)
{
    float v;
    asm("rcp.approx.f32 %0, %1;" : "=f"(v) : "f"(x));
    const float rest = WCODEC_FMA(-x, v, 1.0f);
    return rest == rest ? WCODEC_FMA(v, rest, v) : v;
}

/* What lane `from` has. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_shuffle(struct wcodec_warp *warp, uint32_t v, uint32_t from)
{
    uint32_t other;
    (void)warp;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(other)
                 : "r"(v), "r"(from));
    return other;
}

/* What lane `own ^ mask` has. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_swap(struct wcodec_warp *warp, uint32_t v, uint32_t mask)
{
    uint32_t other;
    (void)warp;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(other)
                 : "r"(v), "r"(mask));
    return other;
}

/* By the second cache alone. Nobody writes there meanwhile. */
WCODEC_DEVICE_FUNCTION void wcodec_pass_floats(float *v, const WCODEC_GLOBAL float *from)
{
    asm("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
        : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
        : "l"(from));
}

#define WCODEC_EXCHANGES
#define wcodec_exchange_pause() ((void)0)
WCODEC_DEVICE_FUNCTION void wcodec_exchange_put(WCODEC_GLOBAL uint64_t *at, uint64_t v)
{
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_exchange_get(const WCODEC_GLOBAL uint64_t *at)
{
    uint64_t v;
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}

WCODEC_DEVICE_FUNCTION void wcodec_exchange_fail(WCODEC_GLOBAL uint32_t *at)
{
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(at), "r"(1) : "memory");
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_exchange_look(const WCODEC_GLOBAL uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return v;
}

/* The sum over the lanes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *warp, uint32_t v)
{
    (void)warp;
#ifdef WCODEC_PTX_80
    asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(v));
#else
    WCODEC_UNROLL_ALL
    for (uint32_t i = 16; i > 0; i /= 2) {
        uint32_t other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                     : "=r"(other)
                     : "r"(v), "r"(i));
        v += other;
    }
#endif
    return v;
}

WCODEC_DEVICE_FUNCTION void wcodec_sync_warp(struct wcodec_warp *warp)
{
    (void)warp;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* Byte i of the result is the one that nibble i of `choice` names: 0 to 3 of a, 4 to 7 of b; with
 * 8 added its sign. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    uint32_t v;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(choice));
    return v;
}

/* Bits of a where the mask has ones, of b elsewhere: one instruction, if the compiler does not see
 * what it is. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_select_bits(const uint32_t mask, uint32_t a, uint32_t b)
{
    uint32_t v;
    asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(v) : "r"(a), "r"(b), "r"(mask));
    return v;
}

WCODEC_DEVICE_FUNCTION int32_t wcodec_dot_signed(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t v;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(sum));
    return v;
}

WCODEC_DEVICE_FUNCTION int32_t wcodec_dot_unsigned(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t v;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(sum));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_divide(float a, float b)
{
    float v;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

/* The lower half of high:low >> n. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_shift_pair(uint32_t low, uint32_t high, const uint32_t n)
{
    uint32_t v;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(n));
    return v;
}

/* first + step * index: of an addition and a mask that the compiler sees, it makes one instruction
 * more. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_entry_at(uint32_t first, uint32_t index, const uint32_t step)
{
    uint32_t v;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(index), "r"(step), "r"(first));
    return v;
}

/* table + 4 * copy as one operand: an addition that the compiler saw would be taken apart, and cost
 * an instruction for every symbol. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_table_copy(uint32_t table, uint32_t copy)
{
    asm volatile("mad.lo.u32 %0, %1, 4, %0;" : "+r"(table) : "r"(copy));
    return table;
}

/* Read once: raw bits. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_once_u32(const WCODEC_GLOBAL uint8_t *from)
{
    uint32_t v;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(v) : "l"((uint64_t)from));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_once_u16(const WCODEC_GLOBAL uint8_t *from)
{
    uint32_t v;
    asm volatile("ld.global.cs.u16 %0, [%1];" : "=r"(v) : "l"((uint64_t)from));
    return v;
}

WCODEC_DEVICE_FUNCTION wcodec_u2 wcodec_load_once_u2(const WCODEC_GLOBAL uint8_t *from)
{
    wcodec_u2 v;
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"((uint64_t)from));
    return v;
}

WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_load_once_u4(const WCODEC_GLOBAL uint8_t *from)
{
    wcodec_u4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"((uint64_t)from));
    return v;
}

/* At this point of the program. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_u32(const WCODEC_GLOBAL uint8_t *from)
{
    uint32_t v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"((uint64_t)from));
    return v;
}

WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_load_u4(const WCODEC_GLOBAL uint8_t *from)
{
    wcodec_u4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"((uint64_t)from));
    return v;
}

/* Output is not read again here: it is kept out of L1. */
WCODEC_DEVICE_FUNCTION void wcodec_store_u32(WCODEC_GLOBAL uint8_t *to, uint32_t v)
{
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"((uint64_t)to), "r"(v) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_store_u2(WCODEC_GLOBAL uint8_t *to, uint32_t a, uint32_t b)
{
    asm volatile("st.global.L1::no_allocate.v2.u32 [%0], {%1, %2};" ::"l"((uint64_t)to), "r"(a),
                 "r"(b)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_store_u4(WCODEC_GLOBAL uint8_t *to, uint32_t a, uint32_t b,
                                            uint32_t c, uint32_t d)
{
    asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"((uint64_t)to),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

/* The same, to be evicted first. */
WCODEC_DEVICE_FUNCTION void wcodec_store_once_u4(WCODEC_GLOBAL uint8_t *to, uint32_t a, uint32_t b,
                                                 uint32_t c, uint32_t d)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"((uint64_t)to), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_prefetch(const WCODEC_GLOBAL uint8_t *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"((uint64_t)from));
}

WCODEC_DEVICE_FUNCTION void wcodec_prefetch_all(const struct wcodec_warp *warp,
                                                const WCODEC_GLOBAL uint8_t *from, uint32_t size)
{
#ifdef WCODEC_PTX_HALVES
    if (wcodec_lane(warp) == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((uint64_t)from), "r"(size));
#else
    for (uint32_t at = 32 * wcodec_lane(warp); at < size; at += 1024)
        wcodec_prefetch(from + at);
#endif
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_u8(const struct wcodec_warp *warp, uint32_t address)
{
    uint32_t v;
    (void)warp;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_u16(const struct wcodec_warp *warp, uint32_t address)
{
    uint32_t v;
    (void)warp;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_u32(const struct wcodec_warp *warp, uint32_t address)
{
    uint32_t v;
    (void)warp;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

WCODEC_DEVICE_FUNCTION wcodec_u2 wcodec_shared_u2(const struct wcodec_warp *warp, uint32_t address)
{
    wcodec_u2 v;
    (void)warp;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
    return v;
}

WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_shared_u4(const struct wcodec_warp *warp, uint32_t address)
{
    wcodec_u4 v;
    (void)warp;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
    return v;
}

WCODEC_DEVICE_FUNCTION void wcodec_put_u8(const struct wcodec_warp *warp, uint32_t address,
                                          uint32_t v)
{
    (void)warp;
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_put_u16(const struct wcodec_warp *warp, uint32_t address,
                                           uint32_t v)
{
    (void)warp;
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"((uint16_t)v) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_put_u32(const struct wcodec_warp *warp, uint32_t address,
                                           uint32_t v)
{
    (void)warp;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_put_u2(const struct wcodec_warp *warp, uint32_t address,
                                          wcodec_u2 v)
{
    (void)warp;
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.x), "r"(v.y) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_put_u4(const struct wcodec_warp *warp, uint32_t address,
                                          wcodec_u4 v)
{
    (void)warp;
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Copies to shared memory that no register waits for. */
WCODEC_DEVICE_FUNCTION void wcodec_copy_commit(struct wcodec_warp *warp)
{
    (void)warp;
#ifdef WCODEC_PTX_80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_copy_wait(struct wcodec_warp *warp)
{
    (void)warp;
#ifdef WCODEC_PTX_80
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

/* 16 bytes. */
WCODEC_DEVICE_FUNCTION void wcodec_copy_whole(struct wcodec_warp *warp, uint32_t to,
                                              const WCODEC_GLOBAL uint8_t *from)
{
#ifdef WCODEC_PTX_80
    (void)warp;
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"((uint64_t)from)
                 : "memory");
#else
    wcodec_put_u4(warp, to, *(const WCODEC_GLOBAL wcodec_u4 *)from);
#endif
}

/* The first `size` of 16 bytes, and zeros after them; what is not read may not exist. */
WCODEC_DEVICE_FUNCTION void wcodec_copy_part(struct wcodec_warp *warp, uint32_t to,
                                             const WCODEC_GLOBAL uint8_t *from, uint32_t size)
{
#ifdef WCODEC_PTX_80
    (void)warp;
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to),
                 "l"((uint64_t)from), "r"(size)
                 : "memory");
#else
    if (size == 16)
        wcodec_copy_whole(warp, to, from);
    else
        for (uint32_t i = 0; i < size; i++)
            wcodec_put_u8(warp, to + i, from[i]);
#endif
}

/* Copies of many bytes by the warp (dialect.h). On Hopper one lane asks for all, and they do not
 * go the way of other loads, which come in order. */
WCODEC_DEVICE_FUNCTION void wcodec_fetch_begin(struct wcodec_warp *warp, uint32_t barrier)
{
#ifdef WCODEC_PTX_HALVES
    if (wcodec_lane(warp) == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
#else
    (void)barrier;
#endif
    wcodec_sync_warp(warp);
}

/* The barrier's memory is to be used for something else. */
WCODEC_DEVICE_FUNCTION void wcodec_fetch_end(struct wcodec_warp *warp, uint32_t barrier)
{
#ifdef WCODEC_PTX_HALVES
    if (wcodec_lane(warp) == 0)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
#else
    (void)warp, (void)barrier;
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_fetch(struct wcodec_warp *warp, uint32_t to,
                                         const WCODEC_GLOBAL uint8_t *from, uint32_t bytes,
                                         uint32_t barrier)
{
#ifdef WCODEC_PTX_HALVES
    if (wcodec_lane(warp) == 0) {
        uint64_t once;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
                     "l"((uint64_t)from), "r"(bytes), "r"(barrier), "l"(once)
                     : "memory");
    }
#else
    (void)barrier;
    for (uint32_t i = 16 * wcodec_lane(warp); i < bytes; i += 512)
        wcodec_copy_whole(warp, to + i, from + i);
    wcodec_copy_commit(warp);
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_fetch_wait(struct wcodec_warp *warp, uint32_t barrier,
                                              uint32_t phase)
{
#ifdef WCODEC_PTX_HALVES
    (void)warp;
    asm volatile("{\n"
                 " .reg .pred done;\n"
                 "again:\n"
                 " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
#else
    (void)barrier, (void)phase;
    wcodec_copy_wait(warp);
    wcodec_sync_warp(warp);
#endif
}

/* A barrier of the warps of a part, `threads` together. */
WCODEC_DEVICE_FUNCTION void wcodec_sync_part(struct wcodec_warp *warp, uint32_t part,
                                             uint32_t threads)
{
    (void)warp;
    asm volatile("bar.sync %0, %1;" ::"r"(part + 1), "r"(threads) : "memory");
}

/* Lanes whose state is low take the next words, in lane order; at: shared address of the first word
 * that is not taken. One predicate serves vote and fetch. */
WCODEC_DEVICE_FUNCTION void wcodec_renormalise(struct wcodec_warp *warp, uint32_t *state,
                                               uint32_t *at, uint32_t lanes_below)
{
    uint32_t x = *state, first = *at;
    (void)warp;
    asm volatile("{\n"
                 " .reg .pred low;\n"
                 " .reg .b32 mask, rank, total;\n"
                 " setp.lo.u32 low, %0, 0x10000;\n"
                 " vote.sync.ballot.b32 mask, low, 0xffffffff;\n"
                 " and.b32 rank, mask, %2;\n"
                 " popc.b32 rank, rank;\n"
                 " popc.b32 total, mask;\n"
                 " mad.lo.u32 rank, rank, 2, %1;\n"
                 " mad.lo.u32 %1, total, 2, %1;\n"
                 " ld.shared.u16 rank, [rank];\n"
                 " @low mad.lo.u32 %0, %0, 0x10000, rank;\n"
                 "}"
                 : "+r"(x), "+r"(first)
                 : "r"(lanes_below)
                 : "memory");
    *state = x;
    *at = first;
}

/* The other way (encode_tiles.h): lanes whose `test` reaches their limit put the lower half of the
 * state before `at`, in lane order, and keep the upper one. */
WCODEC_DEVICE_FUNCTION void wcodec_shrink(struct wcodec_warp *warp, uint32_t *state, uint32_t *at,
                                          uint32_t lanes_below, uint32_t test, uint32_t limit)
{
    uint32_t x = *state, first = *at;
    (void)warp;
    asm volatile("{\n"
                 " .reg .pred high;\n"
                 " .reg .b32 mask, rank, total;\n"
                 " .reg .b16 word;\n"
                 " setp.hs.u32 high, %3, %4;\n"
                 " vote.sync.ballot.b32 mask, high, 0xffffffff;\n"
                 " and.b32 rank, mask, %2;\n"
                 " popc.b32 rank, rank;\n"
                 " popc.b32 total, mask;\n"
                 " mad.lo.u32 %1, total, -2, %1;\n"
                 " mad.lo.u32 rank, rank, 2, %1;\n"
                 " cvt.u16.u32 word, %0;\n"
                 " @high st.shared.u16 [rank], word;\n"
                 " @high shr.u32 %0, %0, 16;\n"
                 "}"
                 : "+r"(x), "+r"(first)
                 : "r"(lanes_below), "r"(test), "r"(limit)
                 : "memory");
    *state = x;
    *at = first;
}

/* A step of latency kernels (latency_step.h): lanes whose state is low take words; all go on
 * with the next pair, or with two symbols of P8. Lanes that take none read the table while the
 * others wait for their vote. The bits of a vote are counted in this order: a lane's own rank
 * first, since the sum of all is not waited for. state, at (the shared address of what the next
 * word does) and entry are written; entries: the address of words' entries less half of that of
 * their steps; limit: of the step of the second word after the last; zero: which the compiler
 * cannot see. */
#define WCODEC_LATENCY_STEP(text, state, at, entry, lanes_below, entries, table, limit, zero) \
    asm volatile(text \
                 : "+r"(state), "+r"(at), "=&r"(entry) \
                 : "r"(lanes_below), "r"(entries), "r"(table), "r"(limit), "r"(zero) \
                 : "memory")

#define WCODEC_LATENCY_TEXT(slot_mask, second_look, next_state) \
    "{\n" \
    " .reg .pred low;\n" \
    " .reg .b32 mask, rank, place, slot, f, b, q, x, next, factor, plus, other, second;\n" \
    " setp.lo.u32 low, %0, 0x10000;\n" \
    " and.b32 slot, %0, " slot_mask ";\n" \
    " mad.lo.u32 slot, slot, 4, %5;\n" \
    " ld.shared.u32 %2, [slot];\n" \
    " vote.sync.ballot.b32 mask, low, 0xffffffff;\n" \
    " and.b32 rank, mask, %3;\n" \
    " popc.b32 rank, rank;\n" second_look " mad.lo.u32 place, rank, 8, %1;\n" \
    " ld.shared.v2.u32 {factor, plus}, [place];\n" \
    " shr.u32 place, place, 1;\n" \
    " add.u32 place, place, %4;\n" \
    " ld.shared.u32 other, [place];\n" next_state " selp.b32 %2, other, %2, low;\n" \
    " @low mad.lo.u32 next, factor, %0, plus;\n" \
    " mov.b32 %0, next;\n" \
    " and.b32 rank, rank, %7;\n" \
    " or.b32 mask, mask, rank;\n" \
    " popc.b32 mask, mask;\n" \
    " mad.lo.u32 %1, mask, 8, %1;\n" \
    " min.u32 %1, %1, %6;\n" \
    "}"

#define WCODEC_LATENCY_PAIRS \
    WCODEC_LATENCY_TEXT("0xfff", "", \
                        " shr.u32 f, %2, 20;\n" \
                        " shr.u32 q, %0, 12;\n" \
                        " and.b32 b, %2, 0xfff;\n" \
                        " mad.lo.u32 next, f, q, b;\n")

#define WCODEC_LATENCY_P8 \
    WCODEC_LATENCY_TEXT("0xff", \
                        " shr.u32 f, %2, 24;\n" \
                        " shr.u32 q, %0, 8;\n" \
                        " prmt.b32 b, %2, 0, 0x4441;\n" \
                        " mad.lo.u32 x, f, q, b;\n" \
                        " and.b32 slot, x, 0xff;\n" \
                        " mad.lo.u32 slot, slot, 4, %5;\n" \
                        " ld.shared.u32 second, [slot];\n", \
                        " shr.u32 f, second, 24;\n" \
                        " shr.u32 q, x, 8;\n" \
                        " prmt.b32 b, second, 0, 0x4441;\n" \
                        " mad.lo.u32 next, f, q, b;\n" \
                        " prmt.b32 %2, %2, second, 0x6420;\n")

/* PTX 8.0: clang (backends/cuda/by-clang.sh) and CUDA 11.8 write 7.8 for sm_90. */
#ifdef WCODEC_PTX_HALVES
WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_halves(uint32_t a, uint32_t b)
{
    uint32_t v;
    asm("add.u16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
    return v;
}
#endif

/* Two floats rounded to nearest even, in one word. */
#ifdef WCODEC_PTX_80
#define WCODEC_FLOAT_PAIRS
WCODEC_DEVICE_FUNCTION uint32_t wcodec_pair_bf16(float low, float high)
{
    uint32_t v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_pair_f16(float low, float high)
{
    uint32_t v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
#endif

WCODEC_DEVICE_FUNCTION void wcodec_shared_add(const struct wcodec_warp *warp, uint32_t address,
                                              uint32_t v)
{
    (void)warp;
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

/* A product that no addition after it is fused with. */
WCODEC_DEVICE_FUNCTION float wcodec_multiply(float a, float b)
{
    float v;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_lesser(float a, float b)
{
    float v;
    asm("min.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_larger(float a, float b)
{
    float v;
    asm("max.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_square_root(float x)
{
    float v;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(v) : "f"(x));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_quick_exp2(float x)
{
    float v;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_quick_reciprocal(float x)
{
    float v;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
    return v;
}

WCODEC_DEVICE_FUNCTION float wcodec_half_float(uint32_t bits)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((uint16_t)bits));
    return v;
}

/* sums += a b, with 16 rows of a, 8 columns of b and 16 products of BF16 for each sum: lanes have
 * them as mma.m16n8k16 takes them. */
#ifdef WCODEC_PTX_80
#define WCODEC_MATRIX_PRODUCTS
WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_bf16(uint32_t a, uint32_t b)
{
    uint32_t sum;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(0x3f803f80u), "r"(b));
    return sum;
}

WCODEC_DEVICE_FUNCTION void wcodec_mma_bf16(struct wcodec_warp *warp, float *sums,
                                            const uint32_t *a, uint32_t b0, uint32_t b1)
{
    (void)warp;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

WCODEC_DEVICE_FUNCTION void wcodec_mma_f16(struct wcodec_warp *warp, float *sums, const uint32_t *a,
                                           uint32_t b0, uint32_t b1)
{
    (void)warp;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

#endif
