/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a word does to the lane that takes it, worked out before the lane's state is known, for
 * kernels of few tiles (backends/cuda/few.cuh). The state before is x < 2^16; with the word it is x
 * << 16 | word, of which the lowest bits, and so the table's entries, are the word's. */
#ifndef WCODEC_KERNELS_FEW_STEP_H
#define WCODEC_KERNELS_FEW_STEP_H

#include "backends/kernels/rans.h"

/* Behind a tile's last step stand as many that hold nothing: a lane may look at them before it is
 * known that a word is missing. */
#define WCODEC_FEW_SPARE 40u

/* The next state is factor * x + plus; entry: what is decoded. */
struct wcodec_few_step {
    uint32_t factor, plus, entry;
};

/* Pairs, e = table[word % 4096]: frequency * (x << 4 | word >> 12) + bias. */
WCODEC_DEVICE_FUNCTION struct wcodec_few_step wcodec_few_pair(uint32_t word, uint32_t e)
{
    const uint32_t frequency = e >> 20;
    const struct wcodec_few_step step = {frequency << 4, frequency * (word >> 12) + (e & 0xfffu),
                                         e};
    return step;
}

/* P8, e = table[word % 256], as wcodec_p8_entry() makes it. After the first symbol the state is
 * frequency * (x << 8) + plus, of which the lowest eight bits are those of plus: the second entry
 * is table[plus % 256]. */
WCODEC_DEVICE_FUNCTION struct wcodec_few_step wcodec_few_first(uint32_t word, uint32_t e)
{
    const struct wcodec_few_step step = {e >> 24, (e >> 24) * (word >> 8) + (e >> 8 & 0xffu), e};
    return step;
}

/* Two symbols of P8 in one word, the second in the upper half. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_symbols(uint32_t first, uint32_t second)
{
    return (first & 0xffu) | (second & 0xffu) << 16;
}

/* Then the second: frequency * (factor * x + plus >> 8) + bias. */
WCODEC_DEVICE_FUNCTION struct wcodec_few_step wcodec_few_second(struct wcodec_few_step first,
                                                                uint32_t e)
{
    const uint32_t frequency = e >> 24;
    const struct wcodec_few_step step = {frequency * first.factor,
                                         frequency * (first.plus >> 8) + (e >> 8 & 0xffu),
                                         wcodec_few_symbols(first.entry, e)};
    return step;
}

/* A step by NVIDIA's instructions, for both of its compilers: lanes whose state is low take words;
 * all go on with the next pair, or with two symbols of P8. Lanes that take none look at the table
 * while the others wait for their vote. The bits of a vote are counted in this order: a lane's own
 * rank first, since the sum of all is not waited for. state, at (the shared address of what the
 * next word does) and entry are written; entries: the address of words' entries less half of that
 * of their steps; limit: of the step of the second word behind the last; zero: which the compiler
 * cannot see. */
#define WCODEC_FEW_STEP(text, state, at, entry, lanes_below, entries, table, limit, zero) \
    asm volatile(text \
                 : "+r"(state), "+r"(at), "=&r"(entry) \
                 : "r"(lanes_below), "r"(entries), "r"(table), "r"(limit), "r"(zero) \
                 : "memory")

#define WCODEC_FEW_TEXT(slot_mask, second_look, next_state) \
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

#define WCODEC_FEW_PAIRS \
    WCODEC_FEW_TEXT("0xfff", "", \
                    " shr.u32 f, %2, 20;\n" \
                    " shr.u32 q, %0, 12;\n" \
                    " and.b32 b, %2, 0xfff;\n" \
                    " mad.lo.u32 next, f, q, b;\n")

#define WCODEC_FEW_P8 \
    WCODEC_FEW_TEXT("0xff", \
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

#endif
