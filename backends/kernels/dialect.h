/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One source for CUDA, OpenCL C and C11: what the three languages say differently. A tile is
 * decoded by 32 lanes, a warp: threads of a GPU, one work-item in a loop (OpenCL on processors,
 * WCODEC_OPENCL_LOOPS), loops in C, or in C a fiber for each lane (WCODEC_FIBERS, for tests), so
 * that sanitizers and fuzzers see what a GPU would do.
 *
 * Code for every form: what is outside of WCODEC_EACH_LANE is the same for all lanes.
 *
 *   WCODEC_EACH_LANE { ... }     a block that every lane runs; `lane` is its number
 *   struct s of[WCODEC_LANES_OF]; of[WCODEC_SELF]  what a lane has for itself
 *   WCODEC_BALLOT(mask, condition)  bit l of mask is lane l's condition
 *   WCODEC_ADD_LANES(sum, value) adds all lanes' values to sum
 *   WCODEC_ORDER()               what lanes stored before, all lanes read after
 *   WCODEC_LOCAL_ORDER()         the same for memory that the lanes share (WCODEC_LOCAL) alone
 *   WCODEC_PUT_16(to, a, b, c, d)  four words, at a multiple of 16 bytes of output;
 *   WCODEC_PUT_4(to, a)          one
 *   WCODEC_STORE_16(w, address, a, b, c, d)  the same at an address
 *   WCODEC_LOAD_16(v, from)      v[0] to v[3] from a multiple of 16 bytes
 *   WCODEC_TAKE_16(v, from), WCODEC_KEEP_16(to, v)  from and to memory that lanes share
 *   WCODEC_READ_16(v, from)      the same, more than once
 *   WCODEC_LOAD_FLOATS(v, from)  v[0] to v[3] from a multiple of 16 bytes of the device's memory
 *   WCODEC_PASS_FLOATS(v, from)  the same, without a place in the first cache
 *   WCODEC_TAKE_FLOATS(v, from)  likewise of the work-group's; WCODEC_TAKE_WORDS(v, from)
 *   WCODEC_SYNC_ITEMS(warp)      barrier of the work-group, for its memory and the device's
 *   WCODEC_SIGNED(wide, v)       the lower 8 bits of v, or 16, as a signed number
 *   WCODEC_SIGNED_BYTE(word, i), WCODEC_SIGNED_HALF(word, i)  byte or half i likewise
 *   WCODEC_FLOAT_BITS(f)         a float's bits
 *   WCODEC_FMA(a, b, c)          a b + c, rounded once
 *   wcodec_multiply(a, b)        a b, rounded by itself whatever is added to it
 *   wcodec_divide(a, b)          a / b, rounded to the nearest; OpenCL's needs cl_khr_fp64
 *   wcodec_dot_signed(a, b, sum), wcodec_dot_unsigned(a, b, sum)  sum and the products of the
 *                                bytes of two words: of b's as signed numbers
 *   wcodec_local_add(at, v)      adds to a word of the work-group's; what was there
 *   wcodec_half_float(bits)      the number of binary16 with these bits
 *   WCODEC_EXP2(x), WCODEC_RECIPROCAL(x)  2^x, 1 / x, to two units in the last place
 *   WCODEC_FLOAT_PAIRS           defined where two floats are rounded and put into a word at once:
 *                                wcodec_pair_bf16(), wcodec_pair_f16()
 *   WCODEC_AT(w, buffer, type, address), WCODEC_AT_OUT(w, type, address)  in the buffers block,
 *                                states, words, raw, positions, values and out
 *   WCODEC_BIND(w, buffer, address)  before the first of those in code that needs it rarely
 *
 * Code for lanes that are threads or fibers (WCODEC_SIMT is defined): that of one lane. Every lane
 * of the warp comes to each call that says "collective".
 *
 *   wcodec_lane(warp), wcodec_thread(warp)  number in the warp, in the work-group
 *   wcodec_threads(warp)         of the work-group; wcodec_group(warp), wcodec_groups(warp): which
 *                                work-group of how many
 *   wcodec_ballot(warp, condition), wcodec_any(), wcodec_all()  collective
 *   wcodec_shuffle(warp, v, from)   what lane `from` has; collective
 *   wcodec_swap(warp, v, mask)   what the lane has whose number differs in these bits; collective
 *   wcodec_add_lanes(warp, v)    the sum over the lanes; collective
 *   wcodec_sync_warp(warp)       memory order among the lanes; collective
 *   wcodec_sync_group(warp)      barrier of the work-group
 *   wcodec_shared_base(warp)     address of the work-group's shared memory, of 32 bits
 *   wcodec_shared_u8(), _u16(), _u32(), _u2(), _u4() (warp, address)  read it
 *   wcodec_put_u8() ... (warp, address, v)  write it
 *   wcodec_shared_add(warp, address, v)  to a word of shared memory, to which others may add too
 *   WCODEC_SHARED(warp, type, address)  a pointer to it
 *   WCODEC_BUFFER(warp, type, address), WCODEC_BUFFER_OUT()  pointers to a batch's data
 *   WCODEC_BLOCK(warp, type, address)  pointer to its descriptors
 *   WCODEC_COPY_LIMIT(bytes)     for wcodec_copy_16() of so many bytes from a multiple of 16 on
 *   wcodec_copy_16(warp, to, from, offset, limit)  16 bytes at from + offset on their way to shared
 *                                address `to`; after the limit anything may arrive
 *   wcodec_copy_commit(warp), wcodec_copy_wait(warp)  the lane's copies have arrived; others' after
 *                                wcodec_sync_warp()
 *   wcodec_load_once_u32(from), _u16(), _u2(), _u4()  read once; wcodec_load_u32(), _u4(): at this
 *                                point
 *   wcodec_store_u32(to, v), _u2(), _u4(), wcodec_store_once_u4()  output
 *   wcodec_prefetch(from)        into the last cache
 *   wcodec_prefetch_all(warp, from, size)  likewise so many bytes, which are multiples of 16 as
 *                                `from` is; collective
 *   wcodec_atomic_add(at, v)     returns what was there
 *   wcodec_renormalise(warp, &state, &at, lanes_below)  collective; rans.h
 *   wcodec_shrink(warp, &state, &at, lanes_below, test, limit)  the other way, where test >= limit
 *
 *   WCODEC_MATRIX_PRODUCTS       defined where there are, for lanes that are threads or fibers:
 *   wcodec_mma_bf16(warp, sums, a, b0, b1)  sums += a b, 16 x 8 x 16, collective
 *   wcodec_mma_f16()             the same of F16
 *   wcodec_square_root(x)        to some units in the last place; so wcodec_quick_exp2(x) and
 *   wcodec_quick_reciprocal(x), for which numbers below 2^-126 are 0
 *   wcodec_lesser(a, b), wcodec_larger(a, b)  of two numbers, in one instruction
 *   wcodec_add_bf16(a, b)        sums of both halves, rounded
 *   wcodec_fetch(warp, to, from, bytes, barrier)  copy multiples of 16 bytes to shared memory, one
 *                                copy at a time; wcodec_fetch_begin(warp, barrier) comes before the
 *                                first; after wcodec_fetch_wait(warp, barrier, phase), 0 and 1 in
 *                                turns, they are there for all lanes; collective
 *   wcodec_fetch_end(warp, barrier)  before something else is stored at the barrier
 *   wcodec_sync_part(warp, part, threads)  a barrier of so many threads, whole warps, that give the
 *                                same number; all warps of the group come to one as often
 *   wcodec_copy_part(warp, to, from, size)  `size` of 16 bytes, then zeros, as wcodec_copy_16()
 *   WCODEC_CLUSTERS              defined where work-groups may be launched as clusters:
 *   wcodec_cluster_put(warp, at, number, v, barrier)  a float to where `at`, of its own shared
 *                                memory, is in that of a work-group of the cluster
 *   wcodec_cluster_put_4(warp, at, number, v, barrier)  four floats to shared address `at`
 *                                likewise, a multiple of 16
 *   wcodec_cluster_send(warp, at, number, bytes, barrier)  multiples of 16 bytes at shared
 *                                address `at` to the same place likewise, after a barrier before
 *                                which all who have written them called wcodec_cluster_ready(warp)
 *   wcodec_cluster_wait(warp, barrier, bytes, turn)  so many have come there, by calls that name
 *                                this barrier, for the turn-th time (from 0 on)
 *   wcodec_cluster_arrive(warp, barrier, bytes), wcodec_cluster_pass(warp, barrier, turn)  both
 *                                halves of that: one thread says what is to come, any wait for it
 *   wcodec_cluster_open(warp, barriers, count)  barriers, of 8 bytes each, before
 *                                wcodec_cluster_sync(), which is before the first float
 *   wcodec_cluster_sync(warp)    barrier of the cluster
 *   WCODEC_EXCHANGES             defined where work-groups that run at once may meet in memory, for
 *                                plain work-items too:
 *   wcodec_exchange_put(at, v), wcodec_exchange_get(at)  64 bits, written and read as one
 *   wcodec_exchange_fail(at), wcodec_exchange_look(at)  1 into a word of 32 bits; the word
 *   wcodec_exchange_pause()      after a read in vain
 *   WCODEC_WARPGROUPS            defined where warpgroup.h has what it has
 *   WCODEC_GROUP_PRODUCTS        defined where that has, or fibers have, products of four warps:
 *   wcodec_group_across(address, down, across)  describes their operand in shared memory: blocks
 *                                of 8 columns by 8 vectors
 *   wcodec_group_after(operand, bytes)  one that begins later
 *   wcodec_group_multiply_48(warp, sums, a, operand)  sums += a b, 64 x 48 x 16, after
 *                                wcodec_group_begin_sums(sums, count), and after any branch since
 *                                wcodec_group_begin(); wcodec_group_end_products() comes after the
 *                                last, and they are done with wcodec_group_end_sums(sums, count)
 *   wcodec_allow_next_launch(warp)  the next launch may begin
 *   wcodec_wait_for_launch(warp)    what the launches before this one have stored can be read now
 *
 * For both:
 *
 *   wcodec_bytes(a, b, choice)   byte i is the one that nibble i of `choice` names: 0 to 3 of a, 4
 *                                to 7 of b
 *   wcodec_entry_at(first, index, step)  first + step * index
 *   wcodec_select_bits(mask, a, b)  of a where the mask has ones, of b elsewhere
 *   wcodec_rotate_right(v, n), wcodec_shift_pair(low, high, n)  the lower half of high:low >> n,
 *                                n modulo 32
 *   wcodec_bits_float(bits)      the float of these bits
 *   WCODEC_POPCOUNT(v), wcodec_first_bit(v)  the number of the lowest bit set, v not 0
 *   WCODEC_UNROLL_ALL            before a loop: its arrays are for registers
 *   WCODEC_UNROLL_SOME, WCODEC_UNROLL_NONE  a few rounds at a time; none
 *   WCODEC_UNROLL_MANY           rounds that wait for memory at once
 *
 * Addresses are the device's. OpenCL has none: there they are numbers and offsets of buffers, of
 * which w, a struct wcodec_tile_work, is bound to those of its tile. Little-endian machines only.
 */
#ifndef WCODEC_KERNELS_DIALECT_H
#define WCODEC_KERNELS_DIALECT_H

#if defined(__OPENCL_VERSION__)
#include "backends/kernels/dialect_opencl.h"
#elif defined(__CUDACC__)
#include "backends/kernels/dialect_cuda.h"
#elif defined(WCODEC_FIBERS)
#include "backends/kernels/dialect_lanes.h"
#else
#include "backends/kernels/dialect_c.h"
#endif

#define WCODEC_STORE_16(w, address, a, b, c, d) \
    WCODEC_PUT_16(WCODEC_AT_OUT(w, uint8_t, address), a, b, c, d)

/* A structure that hosts fill in for kernels has this size in every language: where a device's
 * compiler sees another one, its kernels do not compile, and the device is not used. */
#define WCODEC_STRUCT_SIZE(name, bytes) \
    typedef char name##_has_##bytes##_bytes[sizeof(struct name) == (bytes) ? 1 : -1]

/* Byte or half i of a word as a signed number. By a byte permutation one instruction, which
 * compilers do not move out of branches to share it. */
#ifdef WCODEC_PTX
#define WCODEC_SIGNED_BYTE(word, i) wcodec_bytes(word, 0, 0x8880 + 0x1111 * (i))
#define WCODEC_SIGNED_HALF(word, i) wcodec_bytes(word, 0, 0x9910 + 0x2222 * (i))
#else
#define WCODEC_SIGNED_BYTE(word, i) ((uint32_t)((int32_t)((word) << (24 - 8 * (i))) >> 24))
#define WCODEC_SIGNED_HALF(word, i) ((uint32_t)((int32_t)((word) << (16 - 16 * (i))) >> 16))

WCODEC_DEVICE_FUNCTION uint32_t wcodec_byte(uint32_t a, uint32_t b, const uint32_t choice)
{
    return (choice & 4 ? b : a) >> 8 * (choice & 3) & 0xffu;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    return wcodec_byte(a, b, choice) | wcodec_byte(a, b, choice >> 4) << 8 |
           wcodec_byte(a, b, choice >> 8) << 16 | wcodec_byte(a, b, choice >> 12) << 24;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_select_bits(const uint32_t mask, uint32_t a, uint32_t b)
{
    return (a & mask) | (b & ~mask);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shift_pair(uint32_t low, uint32_t high, const uint32_t n)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> n % 32);
}

WCODEC_DEVICE_FUNCTION int32_t wcodec_dot_signed(uint32_t a, uint32_t b, int32_t sum)
{
    for (uint32_t i = 0; i < 4; i++)
        sum += (int32_t)WCODEC_SIGNED_BYTE(a, i) * (int32_t)WCODEC_SIGNED_BYTE(b, i);
    return sum;
}

WCODEC_DEVICE_FUNCTION int32_t wcodec_dot_unsigned(uint32_t a, uint32_t b, int32_t sum)
{
    for (uint32_t i = 0; i < 4; i++)
        sum += (int32_t)(a >> 8 * i & 0xffu) * (int32_t)WCODEC_SIGNED_BYTE(b, i);
    return sum;
}
#endif

#endif
