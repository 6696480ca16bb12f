/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The second stage, over the vector operations that a level includes before this. In a register
 * stand slot words (32 >> element_log2 elements), 1, 2, 4 of them a lane for elements of 8, 16, 32
 * bits; 64-bit elements are made as two registers of 32-bit words. The level gives
 *
 *   spread(element_log2, symbols)                   one symbol an element
 *   plane_words(rows, bits, element_log2, g, lane)  slot words of a plane of at most 16 bits, from
 *                                                   group g and lane on: slot word number n of a
 *                                                   lane (over its groups) is in row
 *                                                   n * bits / (8 << element_log2), rotated by what
 *                                                   is left of n in it times bits */
#ifndef WCODEC_CPU_ASSEMBLE_H
#define WCODEC_CPU_ASSEMBLE_H

#include "backends/cpu/decode.h"

/* How many fields, planes and moved runs, and whether there are neither constant bits nor A.
 * Constants where a function has them for itself. */
struct plan {
    unsigned element_log2, coded_count, plane_count, moved_count;
    const uint8_t *bits;
    bool plain;
};

/* A run of bits that is not in position. */
struct moved {
    vec mask, mask_high;
    shift_count left, right;
};

INLINE vec subtract(unsigned element_log2, vec a, vec b)
{
    return element_log2 == 0 ? sub8(a, b) : element_log2 == 1 ? sub16(a, b) : sub32(a, b);
}

INLINE void load_moved(const struct wcodec_cpu_assembly *a, unsigned count,
                       struct moved moved[WCODEC_CPU_MOVED])
{
    for (unsigned i = 0; i < count; i++)
        moved[i] = (struct moved){set32(a->moved[i].mask), set32(a->moved[i].mask_high),
                                  make_count(2, a->moved[i].rotate),
                                  make_count(2, 32u - a->moved[i].rotate)};
}

INLINE vec move(const struct moved *moved, vec v)
{
    return bit_or(shift_left(2, v, moved->left), shift_right(v, moved->right));
}

/* A plane of 32 bits has had its rows joined: a lane's slot words are neighbours. */
INLINE vec slot_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                      unsigned lane)
{
    return bits == 32 ? load(rows + 16 * (size_t)(group * WCODEC_LANES + lane))
                      : plane_words(rows, bits, element_log2, group, lane);
}

/* Symbols fit above their shift: no bit reaches the next element. */
INLINE void assemble(const struct wcodec_cpu_assembly *assembly, struct plan plan,
                     const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES],
                     uint8_t *elements)
{
    const unsigned log2 = plan.element_log2, lanes = VEC_BYTES / 4 >> log2;
    const vec constant = set32(assembly->constant), add = set32(assembly->add);
    vec mask[WCODEC_MAX_PLANES];
    shift_count shift[WCODEC_MAX_CODED];
    for (unsigned p = 0; p < plan.plane_count; p++)
        mask[p] = set32(assembly->plane_mask[p]);
    for (unsigned c = 0; c < plan.coded_count; c++)
        shift[c] = make_count(log2, assembly->shift[c]);
    struct moved moved[WCODEC_CPU_MOVED];
    load_moved(assembly, plan.moved_count, moved);
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += lanes) {
            const size_t at = g * WCODEC_GROUP + 4 * (size_t)lane;
            vec v = shift_left(log2, spread(log2, symbols + at), shift[0]);
            for (unsigned c = 1; c < plan.coded_count; c++)
                v = bit_or(v, shift_left(log2, spread(log2, symbols + c * WCODEC_CPU_CHUNK + at),
                                         shift[c]));
            for (unsigned p = 0; p < plan.plane_count; p++)
                v = bit_or(v, bit_and(plane_words(rows[p], plan.bits[p], log2, g, lane), mask[p]));
            for (unsigned i = 0; i < plan.moved_count; i++) {
                const unsigned p = assembly->moved[i].plane;
                v = bit_or(
                    v, bit_and(move(&moved[i], plane_words(rows[p], plan.bits[p], log2, g, lane)),
                               moved[i].mask));
            }
            store(elements + (at << log2),
                  plan.plain ? v : subtract(log2, bit_or(v, constant), add));
        }
}

/* A plane of 32 bits has a row for each slot word: a lane's four come together. */
static void join_rows(const uint8_t *restrict rows, uint32_t *restrict words)
{
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS;
         g++, rows += 16 * WCODEC_LANES, words += 4 * WCODEC_LANES)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            for (unsigned i = 0; i < 4; i++)
                memcpy(&words[4 * lane + i], rows + 4 * (size_t)(i * WCODEC_LANES + lane), 4);
}

/* 64-bit elements less add from their lower and upper words. */
INLINE void store_wide(uint8_t *out, vec low, vec high, uint64_t add)
{
    const vec a = zip_low32(low, high), b = zip_high32(low, high);
    store(out, sub64(zip_parts_low(a, b), set64(add)));
    store(out + VEC_BYTES, sub64(zip_parts_high(a, b), set64(add)));
}

/* 64-bit elements. */
INLINE void assemble_wide(const struct wcodec_cpu_assembly *assembly, struct plan plan,
                          const uint8_t *symbols,
                          const uint8_t *const chunk_rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const struct wcodec_cpu_assembly a = *assembly;
    const uint8_t *rows[WCODEC_MAX_PLANES];
    const vec constant_low = set32(a.constant), constant_high = set32(a.constant_high);
    const uint64_t add = a.add | (uint64_t)a.add_high << 32;
    uint32_t joined[WCODEC_CPU_CHUNK];
    vec mask_low[WCODEC_MAX_PLANES], mask_high[WCODEC_MAX_PLANES];
    shift_count low_shift[WCODEC_MAX_CODED], high_shift[WCODEC_MAX_CODED];
    struct moved moved[WCODEC_CPU_MOVED];
    load_moved(assembly, plan.moved_count, moved);
    for (unsigned p = 0; p < plan.plane_count; p++) {
        rows[p] = chunk_rows[p];
        mask_low[p] = set32(a.plane_mask[p]);
        mask_high[p] = set32(a.plane_mask_high[p]);
    }
    if (plan.plane_count > 0 && plan.bits[0] == 32) {
        join_rows(rows[0], joined);
        rows[0] = (const uint8_t *)joined;
    }
    for (unsigned c = 0; c < plan.coded_count; c++) {
        low_shift[c] = make_count(2, a.shift[c] % 32);
        high_shift[c] = make_count(2, a.shift[c] < 32 ? (32u - a.shift[c]) % 32 : a.shift[c] - 32u);
    }
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += VEC_BYTES / 16) {
            const size_t at = g * WCODEC_GROUP + 4 * (size_t)lane;
            vec low = constant_low, high = constant_high;
            for (unsigned c = 0; c < plan.coded_count; c++) {
                const vec s = spread(2, symbols + c * WCODEC_CPU_CHUNK + at);
                if (a.shift[c] < 32)
                    low = bit_or(low, shift_left(2, s, low_shift[c]));
                if (a.shift[c] >= 32)
                    high = bit_or(high, shift_left(2, s, high_shift[c]));
                else if (a.shift[c] > 24)
                    high = bit_or(high, shift_right(s, high_shift[c]));
            }
            for (unsigned p = 0; p < plan.plane_count; p++) {
                const vec v = slot_words(rows[p], plan.bits[p], 2, g, lane);
                low = bit_or(low, bit_and(v, mask_low[p]));
                high = bit_or(high, bit_and(v, mask_high[p]));
            }
            for (unsigned i = 0; i < plan.moved_count; i++) {
                const unsigned p = a.moved[i].plane;
                const vec v = move(&moved[i], slot_words(rows[p], plan.bits[p], 2, g, lane));
                low = bit_or(low, bit_and(v, moved[i].mask));
                high = bit_or(high, bit_and(v, moved[i].mask_high));
            }
            store_wide(elements + 8 * at, low, high, add);
        }
}

static void assemble_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                          const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {8};
    if (a->constant == 0 && a->add == 0)
        assemble(a, (struct plan){1, 1, 1, 0, bits, true}, symbols, rows, elements);
    else
        assemble(a, (struct plan){1, 1, 1, 0, bits, false}, symbols, rows, elements);
}

/* One word of 4-bit planes a lane and two groups. */
INLINE void nibble(const struct wcodec_cpu_assembly *a, bool plain, const uint8_t *symbols,
                   const uint8_t *row, uint8_t *elements)
{
    const shift_count shift = make_count(0, a->shift[0]);
    const vec mask = set32(a->plane_mask[0]), constant = set32(a->constant), add = set32(a->add);
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g += 2, row += WCODEC_GROUP)
        for (unsigned i = 0; i < WCODEC_GROUP; i += VEC_BYTES) {
            const size_t at = g * WCODEC_GROUP + i;
            const vec word = load(row + i);
            const vec first = bit_or(bit_and(word, mask), shift_left(0, load(symbols + at), shift));
            const vec second = bit_or(bit_and(rotate_right_4(word), mask),
                                      shift_left(0, load(symbols + at + WCODEC_GROUP), shift));
            store(elements + at, plain ? first : subtract(0, bit_or(first, constant), add));
            store(elements + at + WCODEC_GROUP,
                  plain ? second : subtract(0, bit_or(second, constant), add));
        }
}

static void assemble_nibble(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->constant == 0 && a->add == 0)
        nibble(a, true, symbols, rows[0], elements);
    else
        nibble(a, false, symbols, rows[0], elements);
}

static void assemble_byte(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                          const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    assemble(a, (struct plan){0, 1, 0, 0, NULL, false}, symbols, rows, elements);
}

static void assemble_f32(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                         const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {16, 8};
    assemble(a, (struct plan){2, 1, 2, 0, bits, false}, symbols, rows, elements);
}

static void assemble_f16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                         const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {8, 2, 1};
    assemble(a, (struct plan){1, 1, 3, 0, bits, false}, symbols, rows, elements);
}

/* Integers: fields of bytes, all coded. */
static void assemble_all_coded(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                               const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->element_log2 == 3)
        assemble_wide(a, (struct plan){3, a->coded_count, 0, 0, NULL, false}, symbols, rows,
                      elements);
    else if (a->element_log2 == 2)
        assemble(a, (struct plan){2, a->coded_count, 0, 0, NULL, false}, symbols, rows, elements);
    else if (a->element_log2 == 1 && a->coded_count == 2)
        assemble(a, (struct plan){1, 2, 0, 0, NULL, false}, symbols, rows, elements);
    else if (a->element_log2 == 1)
        assemble(a, (struct plan){1, a->coded_count, 0, 0, NULL, false}, symbols, rows, elements);
    else
        assemble(a, (struct plan){0, a->coded_count, 0, 0, NULL, false}, symbols, rows, elements);
}

static void assemble_any(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                         const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t one_bit[] = {1}, two_bits[] = {2}, three_bits[] = {2, 1},
                         eight_bits[] = {8};
    if (a->plane_count == 0)
        assemble_all_coded(a, symbols, rows, elements);
    else if (a->element_log2 == 3)
        assemble_wide(
            a,
            (struct plan){3, a->coded_count, a->plane_count, a->moved_count, a->plane_bits, false},
            symbols, rows, elements);
    else if (a->element_log2 == 2 && a->coded_count == 1 && a->plane_count == 1 &&
             a->moved_count == 1 && a->plane_bits[0] == 8)
        assemble(a, (struct plan){2, 1, 1, 1, eight_bits, false}, symbols, rows,
                 elements); /* bf16 as f32 */
    else if (a->element_log2 == 2)
        assemble(
            a,
            (struct plan){2, a->coded_count, a->plane_count, a->moved_count, a->plane_bits, false},
            symbols, rows, elements);
    else if (a->element_log2 == 1 && a->coded_count == 2 && a->plane_count == 1 &&
             a->plane_bits[0] == 1) /* coefficients of lossy tensors */
        assemble(a, (struct plan){1, 2, 1, 0, one_bit, false}, symbols, rows, elements);
    else if (a->element_log2 == 1 && a->coded_count == 2 && a->plane_count == 1 &&
             a->plane_bits[0] == 2)
        assemble(a, (struct plan){1, 2, 1, 0, two_bits, false}, symbols, rows, elements);
    else if (a->element_log2 == 1)
        assemble(a, (struct plan){1, a->coded_count, a->plane_count, 0, a->plane_bits, false},
                 symbols, rows, elements);
    else if (a->coded_count == 1 && a->plane_count == 2 && a->plane_bits[0] == 2)
        assemble(a, (struct plan){0, 1, 2, 0, three_bits, false}, symbols, rows,
                 elements); /* int8 split 5 + 3, e5m2 */
    else if (a->coded_count == 1 && a->plane_count == 1 && a->plane_bits[0] == 2) /* residuals */
        assemble(a, (struct plan){0, 1, 1, 0, two_bits, false}, symbols, rows, elements);
    else if (a->coded_count == 1 && a->plane_count == 1 && a->plane_bits[0] == 1)
        assemble(a, (struct plan){0, 1, 1, 0, one_bit, false}, symbols, rows, elements);
    else
        assemble(a, (struct plan){0, a->coded_count, a->plane_count, 0, a->plane_bits, false},
                 symbols, rows, elements);
}

#endif
