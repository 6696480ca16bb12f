/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* CUDA C++ (dialect.h), by nvcc or clang. */
#ifndef WCODEC_KERNELS_DIALECT_CUDA_H
#define WCODEC_KERNELS_DIALECT_CUDA_H

#include <stdint.h>

#define WCODEC_SIMT
#define WCODEC_PTX
#if __CUDA_ARCH__ >= 800
#define WCODEC_PTX_80
#endif
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
#define WCODEC_PTX_HALVES
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WCODEC_WARPGROUPS
#endif
#endif

#define WCODEC_ALIGNED_16 __align__(16)
#define WCODEC_DEVICE_FUNCTION static __device__ __forceinline__
#define WCODEC_GLOBAL
#define WCODEC_GROUP_LOCAL
#define WCODEC_LOCAL
#define WCODEC_UNROLL_ALL _Pragma("unroll")
#define WCODEC_UNROLL_SOME _Pragma("unroll 4")
#define WCODEC_UNROLL_MANY _Pragma("unroll 8")
#define WCODEC_UNROLL_NONE _Pragma("unroll 1")
#define WCODEC_POPCOUNT(x) ((uint32_t)__popc(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(int16_t)(v) : (int32_t)(int8_t)(v))
#define WCODEC_FLOAT_BITS(f) __float_as_uint(f)
#define WCODEC_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define WCODEC_EXP2(x) wcodec_exp2(x)
#define WCODEC_RECIPROCAL(x) wcodec_reciprocal(x)

typedef uint2 wcodec_u2;
typedef uint4 wcodec_u4;
#define wcodec_make_u2(a, b) make_uint2(a, b)
#define wcodec_make_u4(a, b, c, d) make_uint4(a, b, c, d)

/* Threads know their warp. */
struct wcodec_warp {
};
#define WCODEC_WARP_MEMBER struct wcodec_warp warp;
#define WCODEC_WARP_COPY(w, from) ((w)->warp = *(from))

#include "backends/kernels/dialect_ptx.h"

#define WCODEC_LANES_OF 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE \
    for (uint32_t lane = threadIdx.x & 31, next_ = lane + 1; next_ > lane; next_ = lane)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        const uint32_t lane = threadIdx.x & 31; \
        (void)lane; \
        (mask) = __ballot_sync(0xffffffffu, (condition)); \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        const uint32_t lane = threadIdx.x & 31; \
        (void)lane; \
        (sum) += wcodec_add_lanes(&w->warp, (value)); \
    } while (0)
#define WCODEC_ORDER() __syncwarp()
#define WCODEC_LOCAL_ORDER() __syncwarp()

#define WCODEC_FROM_16(v, from) \
    do { \
        const uint4 v_ = (from); \
        (v)[0] = v_.x, (v)[1] = v_.y, (v)[2] = v_.z, (v)[3] = v_.w; \
    } while (0)
#define WCODEC_LOAD_16(v, from) WCODEC_FROM_16(v, __ldcs((const uint4 *)(from)))
#define WCODEC_READ_16(v, from) WCODEC_FROM_16(v, *(const uint4 *)(from))
#define WCODEC_TAKE_16(v, from) WCODEC_FROM_16(v, *(const uint4 *)(from))
#define WCODEC_TAKE_FLOATS(v, from) \
    do { \
        const uint4 v_ = *(const uint4 *)(from); \
        (v)[0] = __uint_as_float(v_.x), (v)[1] = __uint_as_float(v_.y); \
        (v)[2] = __uint_as_float(v_.z), (v)[3] = __uint_as_float(v_.w); \
    } while (0)
#define WCODEC_LOAD_FLOATS(v, from) WCODEC_TAKE_FLOATS(v, from)
#ifdef __clang__ /* It unrolls no loop of unknown length around assembly. */
#define WCODEC_PASS_FLOATS(v, from) WCODEC_LOAD_FLOATS(v, from)
#else
#define WCODEC_PASS_FLOATS(v, from) wcodec_pass_floats(v, from)
#endif
#define WCODEC_TAKE_WORDS(v, from) WCODEC_TAKE_16(v, from)
#define WCODEC_KEEP_16(to, v) (*(uint4 *)(to) = make_uint4((v)[0], (v)[1], (v)[2], (v)[3]))
#define WCODEC_PUT_16(to, a, b, c, d) wcodec_store_u4((uint8_t *)(to), a, b, c, d)
#define WCODEC_PUT_4(to, a) wcodec_store_u32((uint8_t *)(to), a)

#define WCODEC_AT(w, buffer, type, address) ((const type *)(uintptr_t)(address))
#define WCODEC_AT_OUT(w, type, address) ((type *)(uintptr_t)(address))
#define WCODEC_BIND(w, buffer, address) ((void)(w), (void)(address))
#define WCODEC_BUFFER(warp, type, address) ((void)(warp), (const type *)(uintptr_t)(address))
#define WCODEC_BUFFER_OUT(warp, type, address) ((void)(warp), (type *)(uintptr_t)(address))
#define WCODEC_BLOCK(warp, type, address) ((void)(warp), (const type *)(uintptr_t)(address))
#define WCODEC_BLOCK_OUT(warp, type, address) ((void)(warp), (type *)(uintptr_t)(address))

/* The work-group's, of the size that the launch says. */
extern __shared__ __align__(1024) uint32_t wcodec_shared_memory[];
#define WCODEC_SHARED(warp, type, address) \
    ((type *)((char *)wcodec_shared_memory + ((address)-wcodec_shared_base(warp))))

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_base(const struct wcodec_warp *)
{
    return (uint32_t)__cvta_generic_to_shared(wcodec_shared_memory);
}

/* A copy of the warp was used: what it counts is the warp's. */
WCODEC_DEVICE_FUNCTION void wcodec_warp_return(struct wcodec_warp *, const struct wcodec_warp *)
{
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_threads(const struct wcodec_warp *)
{
    return blockDim.x;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_number(const struct wcodec_warp *warp)
{
    return wcodec_thread(warp) / 32;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_warps(const struct wcodec_warp *)
{
    return blockDim.x / 32;
}

WCODEC_DEVICE_FUNCTION bool wcodec_is_first(const struct wcodec_warp *warp)
{
    return wcodec_lane(warp) == 0;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_group(const struct wcodec_warp *)
{
    return blockIdx.x;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_groups(const struct wcodec_warp *)
{
    return gridDim.x;
}

WCODEC_DEVICE_FUNCTION bool wcodec_any(struct wcodec_warp *, bool condition)
{
    return __any_sync(0xffffffffu, condition);
}

WCODEC_DEVICE_FUNCTION bool wcodec_all(struct wcodec_warp *, bool condition)
{
    return __all_sync(0xffffffffu, condition);
}

WCODEC_DEVICE_FUNCTION void wcodec_sync_group(struct wcodec_warp *)
{
    __syncthreads();
}

#define WCODEC_SYNC_ITEMS(warp) wcodec_sync_group(warp)

#if __CUDA_ARCH__ >= 900
#define WCODEC_CLUSTERS
WCODEC_DEVICE_FUNCTION void wcodec_cluster_sync(struct wcodec_warp *)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* What work-group `number` of the cluster has at a shared address. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_cluster_u32(struct wcodec_warp *, uint32_t at,
                                                   uint32_t number)
{
    uint32_t v;
    asm volatile("{\n"
                 " .reg .b32 there;\n"
                 " mapa.shared::cluster.u32 there, %1, %2;\n"
                 " ld.shared::cluster.u32 %0, [there];\n"
                 "}"
                 : "=r"(v)
                 : "r"(at), "r"(number)
                 : "memory");
    return v;
}

#ifdef WCODEC_PTX_HALVES
/* Stores that count at a barrier of the work-group that they go to, so that nothing else is waited
 * for: a barrier of the cluster takes all memory along. */
WCODEC_DEVICE_FUNCTION void wcodec_cluster_open(struct wcodec_warp *, uint32_t barriers,
                                                uint32_t count)
{
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < count; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * i)
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_put(struct wcodec_warp *, const float *at,
                                               uint32_t number, float v, uint32_t barrier)
{
    asm volatile("{\n"
                 " .reg .b32 there, counter;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " mapa.shared::cluster.u32 counter, %2, %1;\n"
                 " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32"
                 " [there], %3, [counter];\n"
                 "}" ::"r"((uint32_t)__cvta_generic_to_shared(at)),
                 "r"(number), "r"(barrier), "r"(__float_as_uint(v))
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_put_4(struct wcodec_warp *, uint32_t at, uint32_t number,
                                                 const float *v, uint32_t barrier)
{
    asm volatile("{\n"
                 " .reg .b32 there, counter;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " mapa.shared::cluster.u32 counter, %2, %1;\n"
                 " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"
                 " [there], {%3, %4, %5, %6}, [counter];\n"
                 "}" ::"r"(at),
                 "r"(number), "r"(barrier), "r"(__float_as_uint(v[0])), "r"(__float_as_uint(v[1])),
                 "r"(__float_as_uint(v[2])), "r"(__float_as_uint(v[3]))
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_ready(struct wcodec_warp *)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_send(struct wcodec_warp *, uint32_t at, uint32_t number,
                                                uint32_t bytes, uint32_t barrier)
{
    asm volatile("{\n"
                 " .reg .b32 there, counter;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " mapa.shared::cluster.u32 counter, %2, %1;\n"
                 " cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                 " [there], [%0], %3, [counter];\n"
                 "}" ::"r"(at),
                 "r"(number), "r"(barrier), "r"(bytes)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_arrive(struct wcodec_warp *, uint32_t barrier,
                                                  uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* What counts at the barrier is in shared memory, and seen when it has been counted. To acquire at
 * the cluster's scope would empty the first cache, too. */
WCODEC_DEVICE_FUNCTION void wcodec_cluster_pass(struct wcodec_warp *, uint32_t barrier,
                                                uint32_t turn)
{
    asm volatile("{\n"
                 " .reg .pred done;\n"
                 "again:\n"
                 " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(turn & 1)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_wait(struct wcodec_warp *warp, uint32_t barrier,
                                                uint32_t bytes, uint32_t turn)
{
    if (threadIdx.x == 0)
        wcodec_cluster_arrive(warp, barrier, bytes);
    wcodec_cluster_pass(warp, barrier, turn);
}
#else
WCODEC_DEVICE_FUNCTION void wcodec_cluster_open(struct wcodec_warp *, uint32_t, uint32_t)
{
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_put(struct wcodec_warp *, const float *at,
                                               uint32_t number, float v, uint32_t)
{
    asm volatile("{\n"
                 " .reg .b32 there;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " st.shared::cluster.f32 [there], %2;\n"
                 "}" ::"r"((uint32_t)__cvta_generic_to_shared(at)),
                 "r"(number), "f"(v)
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_put_4(struct wcodec_warp *, uint32_t at, uint32_t number,
                                                 const float *v, uint32_t)
{
    asm volatile("{\n"
                 " .reg .b32 there;\n"
                 " mapa.shared::cluster.u32 there, %0, %1;\n"
                 " st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n"
                 "}" ::"r"(at),
                 "r"(number), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                 : "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_ready(struct wcodec_warp *)
{
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_send(struct wcodec_warp *warp, uint32_t at,
                                                uint32_t number, uint32_t bytes, uint32_t)
{
    for (uint32_t i = at; i < at + bytes; i += 16) {
        const uint4 v = wcodec_shared_u4(warp, i);
        asm volatile("{\n"
                     " .reg .b32 there;\n"
                     " mapa.shared::cluster.u32 there, %0, %1;\n"
                     " st.shared::cluster.v4.u32 [there], {%2, %3, %4, %5};\n"
                     "}" ::"r"(i),
                     "r"(number), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_cluster_wait(struct wcodec_warp *warp, uint32_t, uint32_t,
                                                uint32_t)
{
    wcodec_cluster_sync(warp);
}
#endif
#endif

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rotate_right(uint32_t v, uint32_t n)
{
    return __funnelshift_r(v, v, n);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_first_bit(uint32_t v)
{
    return (uint32_t)__ffs((int)v) - 1;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_atomic_add(uint32_t *at, uint32_t v)
{
    return atomicAdd(at, v);
}

#define wcodec_local_add(at, v) wcodec_atomic_add(at, v)

WCODEC_DEVICE_FUNCTION void wcodec_atomic_store(uint32_t *at, uint32_t v)
{
    atomicExch(at, v);
}

/* Faults are cleared before each decoding, and all of them are looked at. */
#define WCODEC_RAISE_FLAG(warp, serial) ((void)(warp))

#define WCODEC_BLOCKWISE 1

/* Whole blocks of 16 bytes may be read: every allocation has room after its end. */
#define WCODEC_COPY_LIMIT(bytes) ((bytes) ? ((bytes) + 15 & ~15u) - 16 : 0u)

WCODEC_DEVICE_FUNCTION void wcodec_copy_16(struct wcodec_warp *warp, uint32_t to,
                                           const uint8_t *from, uint32_t offset, uint32_t limit)
{
    wcodec_copy_whole(warp, to, from + (offset < limit ? offset : limit));
}

/* Launches that may begin before those that came before them have ended. */
WCODEC_DEVICE_FUNCTION void wcodec_allow_next_launch(struct wcodec_warp *)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

WCODEC_DEVICE_FUNCTION void wcodec_wait_for_launch(struct wcodec_warp *)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

WCODEC_DEVICE_FUNCTION float wcodec_bits_float(uint32_t bits)
{
    return __uint_as_float(bits);
}

#endif
