/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What nvcc and the toolkit's headers declare by themselves, for clang without the toolkit
 * (--with-cuda-compiler=clang), which includes this before kernels.cu: as much of CUDA C++ as the
 * kernels use, by the compiler's own builtins. */
#ifndef WCODEC_CUDA_CLANG_CUH
#define WCODEC_CUDA_CLANG_CUH

#define __CUDACC__ 1
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__
#endif

#include <stddef.h>
#include <stdint.h>

#define WCODEC_CUDA static __device__ __forceinline__

/* The compiler's name of a register's reader in three. */
struct wcodec_cuda_thread {
    __declspec(property(get = read)) unsigned x;
    static __device__ __forceinline__ unsigned read()
    {
        return __nvvm_read_ptx_sreg_tid_x();
    }
};
struct wcodec_cuda_block {
    __declspec(property(get = read)) unsigned x;
    static __device__ __forceinline__ unsigned read()
    {
        return __nvvm_read_ptx_sreg_ctaid_x();
    }
};
struct wcodec_cuda_threads {
    __declspec(property(get = read)) unsigned x;
    static __device__ __forceinline__ unsigned read()
    {
        return __nvvm_read_ptx_sreg_ntid_x();
    }
};
struct wcodec_cuda_blocks {
    __declspec(property(get = read)) unsigned x;
    static __device__ __forceinline__ unsigned read()
    {
        return __nvvm_read_ptx_sreg_nctaid_x();
    }
};
extern const __device__ wcodec_cuda_thread threadIdx;
extern const __device__ wcodec_cuda_block blockIdx;
extern const __device__ wcodec_cuda_threads blockDim;
extern const __device__ wcodec_cuda_blocks gridDim;

struct __align__(8) uint2
{
    unsigned x, y;
};
struct __align__(16) uint4
{
    unsigned x, y, z, w;
};
WCODEC_CUDA uint2 make_uint2(unsigned x, unsigned y)
{
    return uint2{x, y};
}
WCODEC_CUDA uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4{x, y, z, w};
}

WCODEC_CUDA unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
WCODEC_CUDA float __uint_as_float(unsigned bits)
{
    return __builtin_bit_cast(float, bits);
}
WCODEC_CUDA unsigned __float_as_uint(float v)
{
    return __builtin_bit_cast(unsigned, v);
}
WCODEC_CUDA int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
WCODEC_CUDA int __ffs(unsigned v)
{
    return __builtin_ffs((int)v);
}
WCODEC_CUDA unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    return __nvvm_prmt(a, b, selector);
}
WCODEC_CUDA unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    unsigned v;
    __asm__("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(by));
    return v;
}

WCODEC_CUDA int __ffs(int v)
{
    return __builtin_ffs(v);
}

WCODEC_CUDA void __syncwarp(unsigned lanes = ~0u)
{
    __nvvm_bar_warp_sync(lanes);
}
WCODEC_CUDA unsigned __ballot_sync(unsigned lanes, int condition)
{
    return __nvvm_vote_ballot_sync(lanes, condition);
}
WCODEC_CUDA int __any_sync(unsigned lanes, int condition)
{
    return __nvvm_vote_any_sync(lanes, condition);
}
WCODEC_CUDA int __all_sync(unsigned lanes, int condition)
{
    return __nvvm_vote_all_sync(lanes, condition);
}

WCODEC_CUDA unsigned __shfl_sync(unsigned lanes, unsigned v, int from)
{
    return (unsigned)__nvvm_shfl_sync_idx_i32(lanes, (int)v, from, 31);
}
WCODEC_CUDA unsigned __shfl_up_sync(unsigned lanes, unsigned v, unsigned by)
{
    return (unsigned)__nvvm_shfl_sync_up_i32(lanes, (int)v, (int)by, 0);
}
WCODEC_CUDA unsigned __shfl_xor_sync(unsigned lanes, unsigned v, int with)
{
    return (unsigned)__nvvm_shfl_sync_bfly_i32(lanes, (int)v, with, 31);
}
WCODEC_CUDA uint64_t __shfl_sync(unsigned lanes, uint64_t v, int from)
{
    return (uint64_t)__shfl_sync(lanes, (unsigned)(v >> 32), from) << 32 |
           __shfl_sync(lanes, (unsigned)v, from);
}

WCODEC_CUDA unsigned __ldg(const unsigned *from)
{
    unsigned v;
    __asm__("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}
WCODEC_CUDA uint4 __ldg(const uint4 *from)
{
    uint4 v;
    __asm__("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
            : "l"(from));
    return v;
}
WCODEC_CUDA uint4 __ldcs(const uint4 *from)
{
    uint4 v;
    __asm__ volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(from)
                     : "memory");
    return v;
}
WCODEC_CUDA size_t __cvta_generic_to_shared(const void *p)
{
    return (size_t)(__attribute__((address_space(3))) const void *)p;
}

WCODEC_CUDA unsigned atomicAdd(unsigned *at, unsigned v)
{
    return __nvvm_atom_add_gen_i((int *)at, (int)v);
}
WCODEC_CUDA unsigned atomicInc(unsigned *at, unsigned last)
{
    return __nvvm_atom_inc_gen_ui(at, last);
}
WCODEC_CUDA unsigned atomicExch(unsigned *at, unsigned v)
{
    return (unsigned)__nvvm_atom_xchg_gen_i((int *)at, (int)v);
}

#undef WCODEC_CUDA
#endif
