/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What only Hopper has (WCODEC_WARPGROUPS: a build for compute capability 9.0 by nvcc): products of
 * four warps, whose other operand is in shared memory, and copies to several work-groups of a
 * cluster. Shared memory is addressed by 32 bits. */
#ifndef WCODEC_KERNELS_WARPGROUP_H
#define WCODEC_KERNELS_WARPGROUP_H

#include "backends/kernels/dialect.h"

#ifdef WCODEC_WARPGROUPS
/* What describes an operand of eights of vectors, each of 8 x 128 bytes whose pieces of 16 are
 * exchanged (piece i of vector v is where i ^ v % 8 would be): its address, a multiple of 1024, and
 * 32 bytes more for every 16 columns. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_group_operand(uint32_t address)
{
    return (uint64_t)(address >> 4 & 0x3fff) | 1u << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

/* Before products, whose registers are written; after them; and until all of them but those of the
 * last `count` (0 or 1) commits are done. */
WCODEC_DEVICE_FUNCTION void wcodec_group_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_group_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_group_wait(const uint32_t count)
{
    if (count == 0)
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    else
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

/* sums += a b: 16 rows of a for each warp as wcodec_mma_bf16() takes them, 16 columns, and 64 to
 * 256 vectors. Until they are done neither registers nor the operand may change. */
#define WCODEC_GROUP_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WCODEC_GROUP_16(d, i) \
    WCODEC_GROUP_4(d, i), WCODEC_GROUP_4(d, i + 4), WCODEC_GROUP_4(d, i + 8), \
        WCODEC_GROUP_4(d, i + 12)
#define WCODEC_GROUP_64(d, i) \
    WCODEC_GROUP_16(d, i), WCODEC_GROUP_16(d, i + 16), WCODEC_GROUP_16(d, i + 32), \
        WCODEC_GROUP_16(d, i + 48)
#define WCODEC_GROUP_TEXT(vectors, sums, a, b) \
    "wgmma.mma_async.sync.aligned.m64n" #vectors "k16.f32.bf16.bf16 {" sums "}, {" a "}, " b \
    ", 1, 1, 1, 0;"
#define WCODEC_GROUP_IN(a, operand) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(operand)

#define WCODEC_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WCODEC_TEXT_16_1 \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WCODEC_TEXT_32 WCODEC_TEXT_16 ", " WCODEC_TEXT_16_1
#define WCODEC_TEXT_32_1 \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WCODEC_TEXT_64_1 \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, " \
    "%125, %126, %127"
#define WCODEC_TEXT_64 WCODEC_TEXT_32 ", " WCODEC_TEXT_32_1

WCODEC_DEVICE_FUNCTION void wcodec_group_multiply(const uint32_t vectors, float *sums,
                                                  const uint32_t *a, uint64_t operand)
{
    if (vectors == 32)
        asm volatile(WCODEC_GROUP_TEXT(32, WCODEC_TEXT_16, "%16, %17, %18, %19", "%20")
                     : WCODEC_GROUP_16(sums, 0)
                     : WCODEC_GROUP_IN(a, operand));
    else if (vectors == 64)
        asm volatile(WCODEC_GROUP_TEXT(64, WCODEC_TEXT_32, "%32, %33, %34, %35", "%36")
                     : WCODEC_GROUP_16(sums, 0), WCODEC_GROUP_16(sums, 16)
                     : WCODEC_GROUP_IN(a, operand));
    else if (vectors == 128)
        asm volatile(WCODEC_GROUP_TEXT(128, WCODEC_TEXT_64, "%64, %65, %66, %67", "%68")
                     : WCODEC_GROUP_64(sums, 0)
                     : WCODEC_GROUP_IN(a, operand));
    else
        asm volatile(WCODEC_GROUP_TEXT(256, WCODEC_TEXT_64 ", " WCODEC_TEXT_64_1,
                                       "%128, %129, %130, %131", "%132")
                     : WCODEC_GROUP_64(sums, 0), WCODEC_GROUP_64(sums, 64)
                     : WCODEC_GROUP_IN(a, operand));
}

/* What describes an operand of blocks of 8 columns by 8 vectors, [8][8], which are `down` bytes
 * from each other for every 8 columns, and `across` for every 8 vectors: its address, a multiple
 * of 16.
 */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_group_across(uint32_t address, uint32_t down,
                                                    uint32_t across)
{
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(down >> 4) << 16 |
           (uint64_t)(across >> 4) << 32;
}

/* The operand that begins `bytes` after another one. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_group_after(uint64_t operand, uint32_t bytes)
{
    return (operand >> 32 << 32) | ((uint32_t)operand + (bytes >> 4));
}

/* sums += a b as above, of 48 vectors in such blocks. */
#define WCODEC_GROUP_PRODUCTS
WCODEC_DEVICE_FUNCTION void wcodec_group_multiply_48(struct wcodec_warp *, float *sums,
                                                     const uint32_t *a, uint64_t operand)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, "
                 "%6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "
                 "%23}, {%24, %25, %26, %27}, %28, 1, 1, 1, 1;"
                 : WCODEC_GROUP_16(sums, 0), WCODEC_GROUP_4(sums, 16), WCODEC_GROUP_4(sums, 20)
                 : WCODEC_GROUP_IN(a, operand));
}

/* Before products and after them: a compiler that does not know that they write to sums until then
 * leaves these where they are. */
WCODEC_DEVICE_FUNCTION void wcodec_group_begin_sums(float *sums, const uint32_t count)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < count; i++)
        asm volatile("" : "+f"(sums[i])::"memory");
    wcodec_group_begin();
}

WCODEC_DEVICE_FUNCTION void wcodec_group_end_products()
{
    wcodec_group_commit();
}

WCODEC_DEVICE_FUNCTION void wcodec_group_end_sums(float *sums, const uint32_t count)
{
    wcodec_group_wait(0);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < count; i++)
        asm volatile("" : "+f"(sums[i])::"memory");
}

/* Registers of a warp, from here on, in all warps of the four: fewer, or more, for which others
 * have to have given theirs back. */
WCODEC_DEVICE_FUNCTION void wcodec_registers_fewer(const uint32_t count)
{
    if (count == 32)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}

WCODEC_DEVICE_FUNCTION void wcodec_registers_more(const uint32_t count)
{
    if (count == 192)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

/* A barrier in shared memory that `count` arrivals pass, before wcodec_cluster_sync() or
 * a barrier of the work-group makes it known. */
WCODEC_DEVICE_FUNCTION void wcodec_barrier_open(uint32_t barrier, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* All threads of the cluster that have not ended, for which others wait. Of memory it hands on what
 * wcodec_barrier_open() did, and nothing else (wcodec_cluster_sync() does). */
WCODEC_DEVICE_FUNCTION void wcodec_cluster_meet(struct wcodec_warp *)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* Arrive at the same barrier of work-group `rank` of the cluster. */
WCODEC_DEVICE_FUNCTION void wcodec_barrier_arrive(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 " .reg .b32 there;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

/* At the work-group's own. */
WCODEC_DEVICE_FUNCTION void wcodec_barrier_arrive_own(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_barrier_wait(uint32_t barrier, uint32_t phase)
{
    asm volatile("{\n"
                 " .reg .pred done;\n"
                 "again:\n"
                 " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

/* The barrier is passed when `bytes` have come, and that was said. */
WCODEC_DEVICE_FUNCTION void wcodec_barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* Bytes to the same place of all work-groups of the cluster whose bits the mask has, each of whose
 * barriers they count for. */
WCODEC_DEVICE_FUNCTION void wcodec_cluster_copy(uint32_t to, uint64_t from, uint32_t bytes,
                                                uint32_t barrier, uint32_t mask)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "h"((uint16_t)mask)
                 : "memory");
}

/* To the own. */
WCODEC_DEVICE_FUNCTION void wcodec_group_copy(uint32_t to, uint64_t from, uint32_t bytes,
                                              uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* A counter of arrivals of warps of the device, each of which makes known what its lanes stored
 * before, and has what was stored before the arrivals that it counts: how many there were, and the
 * same with an arrival after that. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_arrived(struct wcodec_warp *warp, uint64_t counter)
{
    uint32_t count = 0;
    if (wcodec_lane(warp) == 0)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
    return wcodec_shuffle(warp, count, 0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_arrive(struct wcodec_warp *warp, uint64_t counter)
{
    uint32_t count = 0;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    wcodec_sync_warp(warp);
    if (wcodec_lane(warp) == 0)
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                     : "=r"(count)
                     : "l"(counter)
                     : "memory");
    return wcodec_shuffle(warp, count, 0);
}

/* What another work-group has stored. */
WCODEC_DEVICE_FUNCTION wcodec_u4 wcodec_load_shared_by_all(uint64_t from)
{
    wcodec_u4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

/* Some microseconds. */
WCODEC_DEVICE_FUNCTION void wcodec_pause()
{
    asm volatile("nanosleep.u32 3000;" ::: "memory");
}

/* Two words that work-group `rank` of the cluster has at this address. */
WCODEC_DEVICE_FUNCTION wcodec_u2 wcodec_cluster_u2(uint32_t address, uint32_t rank)
{
    wcodec_u2 v;
    asm volatile("{\n"
                 " .reg .b32 there;\n"
                 " mapa.shared::cluster.u32 there, %2, %3;\n"
                 " ld.shared::cluster.v2.u32 {%0, %1}, [there];\n"
                 "}"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address), "r"(rank));
    return v;
}
#endif

#endif
