/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Local memory of the fast kernels by 32-bit addresses, and the ring through which a tile's words
 * pass. NVIDIA's compiler takes PTX for what OpenCL C does not say: addresses of 32 bits, copies
 * that no register waits for, one predicate for ballot and fetch, hints for the caches. */
#ifdef WCODEC_SHAPE
#include "backends/kernels/tile.h"

#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_LOCAL_BASE(pointer) ((uint32_t)(ulong)(pointer))

/* Measured (bench/gpu/README.md): for bytes, what is read asks L2 for its neighbours, and a word is
 * joined to a state by a multiplication, which has a pipe of its own; for wider elements neither
 * gains. */
#if defined(WCODEC_OPENCL_ASYNC) && \
    (WCODEC_SHAPE == 1 || WCODEC_SHAPE == 2 || WCODEC_SHAPE == 5 || WCODEC_SHAPE >= 9)
#define WCODEC_LONGER ".L2::256B"
#define WCODEC_JOIN "mad.lo.u32 %0, %0, 0x10000, rank"
#else
#define WCODEC_LONGER ""
#define WCODEC_JOIN "prmt.b32 %0, rank, %0, 0x5410"
#endif

/* Number in the work-group: asked for where it is needed, so that no register holds it or what
 * follows from it. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_thread(void)
{
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}
#define WCODEC_THREAD_LANE(w) (wcodec_thread() & 31)

/* Entry `index` of `step` bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_local_entry(__local uint8_t *local_memory, uint32_t table,
                                                   uint32_t index, const uint32_t step)
{
    uint32_t v;
    (void)local_memory;
    asm volatile("{ .reg .b32 a; mad.lo.u32 a, %1, %2, %3; ld.shared.u32 %0, [a]; }"
                 : "=r"(v)
                 : "r"(index), "r"(step), "r"(table));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    uint32_t v;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(choice));
    return v;
}

/* What lane `from` has. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_shuffle(uint32_t v, uint32_t from)
{
    uint32_t other;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(other)
                 : "r"(v), "r"(from));
    return other;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_stream(const __global uint8_t *from)
{
    uint32_t v;
    asm volatile("ld.global.cs" WCODEC_LONGER ".u32 %0, [%1];" : "=r"(v) : "l"((ulong)from));
    return v;
}

WCODEC_DEVICE_FUNCTION void wcodec_store_1(__global uint8_t *to, uint32_t v)
{
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"((ulong)to), "r"(v) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_store_2(__global uint8_t *to, uint32_t a, uint32_t b)
{
    asm volatile("st.global.L1::no_allocate.v2.u32 [%0], {%1, %2};" ::"l"((ulong)to), "r"(a), "r"(b)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_store_4(__global uint8_t *to, const uint32_t *v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"((ulong)to), "r"(v[0]),
                 "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_prefetch(const __global uint8_t *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"((ulong)from));
}
#else
#ifdef WCODEC_OPENCL_SUBGROUP
#define wcodec_shuffle(v, from) sub_group_broadcast(v, from) /* of the same lane for all */
#endif
#define WCODEC_LOCAL_BASE(pointer) 0u
#define WCODEC_THREAD_LANE(w) (w)->warp.lane

WCODEC_DEVICE_FUNCTION uint32_t wcodec_local_entry(__local uint8_t *local_memory, uint32_t table,
                                                   uint32_t index, const uint32_t step)
{
    return *(const __local uint32_t *)(local_memory + table + index * step);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_byte(uint32_t a, uint32_t b, const uint32_t choice)
{
    return (choice & 4 ? b : a) >> 8 * (choice & 3) & 0xffu;
}

/* Byte i is the one that nibble i of `choice` names: 0 to 3 of a, 4 to 7 of b. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    return wcodec_byte(a, b, choice) | wcodec_byte(a, b, choice >> 4) << 8 |
           wcodec_byte(a, b, choice >> 8) << 16 | wcodec_byte(a, b, choice >> 12) << 24;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_load_stream(const __global uint8_t *from)
{
    return *(const __global uint32_t *)from;
}

WCODEC_DEVICE_FUNCTION void wcodec_store_1(__global uint8_t *to, uint32_t v)
{
    *(__global uint32_t *)to = v;
}

WCODEC_DEVICE_FUNCTION void wcodec_store_2(__global uint8_t *to, uint32_t a, uint32_t b)
{
    *(__global uint2 *)to = (uint2)(a, b);
}

WCODEC_DEVICE_FUNCTION void wcodec_store_4(__global uint8_t *to, const uint32_t *v)
{
    *(__global uint4 *)to = (uint4)(v[0], v[1], v[2], v[3]);
}

WCODEC_DEVICE_FUNCTION void wcodec_prefetch(const __global uint8_t *from)
{
    (void)from;
}
#endif

/* Three slots of 512 bytes, and the first half of the first one again behind the last, so that a
 * lane's address needs no mask. A look at the ring must come at least every 256 bytes of words
 * (four renormalisations): so no address leaves it, whatever the words are. For lossy tensors the
 * whole slot, and 512 bytes. */
#define WCODEC_RING_SLOT 512u
#define WCODEC_RING_SIZE 1536u
#ifdef WCODEC_LOSSY_FUSED
#define WCODEC_RING_ROOM 2048u
#else
#define WCODEC_RING_ROOM 1792u
#endif

struct wcodec_ring {
    uint32_t at;   /* local address of the next word */
    uint32_t next; /* where `at` enters the slot after its own */
#ifndef WCODEC_OPENCL_NVIDIA
    uint32_t ring; /* local address */
#endif
    uint32_t slot; /* local address of the lane's part of the slot to fill next */
    uint32_t load; /* offset from `from` of what goes there: 16 * lane, and 512 a slot */
    uint32_t end;  /* offset behind the last word */
    const __global uint8_t *from;
    __local uint8_t *local_memory;
#ifndef WCODEC_OPENCL_ASYNC
    uint4 waiting; /* the lane's part of the next slot */
#endif
};

/* Rings are the first in local memory. */
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_RING(r) \
    (WCODEC_LOCAL_BASE((r)->local_memory) + wcodec_thread() / 32 * WCODEC_RING_ROOM)
#else
#define WCODEC_RING(r) (r)->ring
#endif

#ifdef WCODEC_OPENCL_ASYNC
/* Sixteen bytes, of them `size` from memory and zeros behind; a place that is not read may not
 * exist. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_copy(uint32_t to, const __global uint8_t *from,
                                             uint32_t size)
{
    asm volatile("cp.async.cg.shared.global" WCODEC_LONGER " [%0], [%1], 16, %2;" ::"r"(to),
                 "l"((ulong)from), "r"(size)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_ring_fill(struct wcodec_ring *r, bool first)
{
    const uint32_t at = min(r->load, r->end), size = min(r->end - at, 16u);
    const __global uint8_t *from = r->from + (size ? at : 0);
    wcodec_ring_copy(r->slot, from, size);
    if (first && r->slot < WCODEC_RING(r) + WCODEC_RING_ROOM - WCODEC_RING_SIZE)
        wcodec_ring_copy(r->slot + WCODEC_RING_SIZE, from, size);
    asm volatile("cp.async.commit_group;" ::: "memory");
    r->load += WCODEC_RING_SLOT;
    r->slot += WCODEC_RING_SLOT;
}

/* The slots before the last one asked for have come. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_wait(void)
{
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}

/* What is still on its way must not arrive in the next tile. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_close(void)
{
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}
#else
/* Sixteen bytes; those behind the end are zero. */
WCODEC_DEVICE_FUNCTION uint4 wcodec_ring_load(const struct wcodec_ring *r)
{
    if (r->load + 16 <= r->end)
        return *(const __global uint4 *)(r->from + r->load);
    uint32_t part[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < 8; i++)
        if (r->load + 2 * i + 2 <= r->end)
            part[i / 2] |= (uint32_t) * (const __global ushort *)(r->from + r->load + 2 * i)
                           << i % 2 * 16;
    return (uint4)(part[0], part[1], part[2], part[3]);
}

WCODEC_DEVICE_FUNCTION void wcodec_ring_fill(struct wcodec_ring *r, bool first)
{
    *(__local uint4 *)(r->local_memory + r->slot) = r->waiting;
    if (first && r->slot < WCODEC_RING(r) + WCODEC_RING_ROOM - WCODEC_RING_SIZE)
        *(__local uint4 *)(r->local_memory + r->slot + WCODEC_RING_SIZE) = r->waiting;
    r->load += WCODEC_RING_SLOT;
    r->slot += WCODEC_RING_SLOT;
    r->waiting = wcodec_ring_load(r);
}

WCODEC_DEVICE_FUNCTION void wcodec_ring_wait(void)
{
}

WCODEC_DEVICE_FUNCTION void wcodec_ring_close(void)
{
}
#endif

/* The first words are asked for; wait and order must come before they are read. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_open(struct wcodec_ring *r, __local uint8_t *local_memory,
                                             uint32_t number, uint32_t lane,
                                             const __global uint8_t *words, uint64_t offset,
                                             uint32_t count)
{
    const uint32_t skip = (uint32_t)offset & 31; /* whole sectors */
    wcodec_local_order();                        /* all have read their words of the tile before */
    r->local_memory = local_memory;
    const uint32_t ring = WCODEC_LOCAL_BASE(local_memory) + number * WCODEC_RING_ROOM;
#ifndef WCODEC_OPENCL_NVIDIA
    r->ring = ring;
#endif
    r->from = words + (offset - skip);
    r->end = count ? skip + 2 * count : 0;
    r->load = lane * 16;
    r->slot = ring + lane * 16;
    r->at = ring + skip;
    r->next = ring + WCODEC_RING_SLOT;
#ifndef WCODEC_OPENCL_ASYNC
    r->waiting = wcodec_ring_load(r);
#endif
#pragma unroll
    for (uint32_t i = 0; i < 3; i++)
        wcodec_ring_fill(r, i == 0);
}

/* `at` has moved by 256 bytes at most since the last look: the slot before its own is free, the one
 * behind it must have come. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_look(struct wcodec_ring *r)
{
#ifdef WCODEC_OPENCL_NVIDIA
    uint32_t inside; /* the same for all; said by a vote, so that the compiler knows */
    asm volatile(
        "{ .reg .pred p; setp.lo.u32 p, %1, %2; vote.sync.all.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
        : "=r"(inside)
        : "r"(r->at), "r"(r->next));
    if (inside)
        return;
#else
    if (r->at < r->next)
        return;
#endif
    wcodec_local_order(); /* all have read what is overwritten now */
    const bool wrap = r->slot >= WCODEC_RING(r) + WCODEC_RING_SIZE;
    r->slot -= wrap ? WCODEC_RING_SIZE : 0;
    wcodec_ring_fill(r, wrap);
    wcodec_ring_wait();
    wcodec_local_order();
    const bool last = r->next == WCODEC_RING(r) + WCODEC_RING_SIZE;
    r->at -= last ? WCODEC_RING_SIZE : 0;
    r->next = last ? WCODEC_RING(r) + WCODEC_RING_SLOT : r->next + WCODEC_RING_SLOT;
}

/* Bytes taken since the ring was opened. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ring_taken(const struct wcodec_ring *r, uint32_t lane,
                                                  uint64_t offset)
{
    return r->load - lane * 16 - 3 * WCODEC_RING_SLOT + r->at - (r->next - WCODEC_RING_SLOT) -
           ((uint32_t)offset & 31);
}

/* Lanes whose state is low take the next words, in lane order. */
WCODEC_DEVICE_FUNCTION void wcodec_renormalise(struct wcodec_tile_work *w, struct wcodec_ring *r,
                                               uint32_t *state, uint32_t lanes_below)
{
#ifdef WCODEC_OPENCL_NVIDIA
    uint32_t x = *state, at = r->at;
    (void)w;
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
                 " @low " WCODEC_JOIN ";\n"
                 "}"
                 : "+r"(x), "+r"(at)
                 : "r"(lanes_below)
                 : "memory");
    *state = x;
    r->at = at;
#else
    const bool low = *state < WCODEC_STATE_LOW;
    const uint32_t mask = wcodec_ballot(&w->warp, low);
    const uint32_t word = *(const __local ushort *)(r->local_memory + r->at +
                                                    2 * WCODEC_POPCOUNT(mask & lanes_below));
    *state = low ? *state << 16 | word : *state;
    r->at += 2 * WCODEC_POPCOUNT(mask);
#endif
}
#endif
