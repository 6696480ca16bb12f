/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tables.h"

enum { BLOCK = 16, BLOCKS = 16, ATTEMPTS = 24, STEPS = 1 << 17 };

unsigned wcodec_table_boundaries(const struct wcodec_table *table)
{
    unsigned inside[BLOCKS] = {0}, slot = 0, most = 0;
    for (unsigned i = 0; i < table->count; i++) {
        unsigned n = slot % BLOCK ? ++inside[slot / BLOCK] : 0;
        most = n > most ? n : most;
        slot += table->freq[table->order[i]];
    }
    return most;
}

/* xorshift32: the choices are the same on every machine. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Which of the left symbols to deal at a slot, when at most `budget` more may end inside this
 * block; left_count if none will do. Symbols that end exactly at a block's end are free; while the
 * budget lasts, small ones are dealt, so that the large ones remain for crossing into the next
 * block. */
static unsigned choose(const uint16_t *freq, const uint8_t *left, unsigned left_count,
                       unsigned slot, unsigned budget, uint32_t *state)
{
    unsigned left_in_block = BLOCK - slot % BLOCK, best = left_count;
    uint32_t best_score = 0;
    for (unsigned i = 0; i < left_count; i++) {
        unsigned f = freq[left[i]], noise = next_random(state) & 15;
        uint32_t score;
        if (f < left_in_block)
            score = budget == 0 ? 0 : 64 - 2 * f + noise;
        else if ((slot + f) % BLOCK == 0)
            score = 48 + noise;
        else
            score = budget == 0 ? 32 - (f > 64 ? 16 : f / 4) + noise : 16 + noise;
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* One attempt with at most `limit` ends inside a block. */
static bool attempt(const struct wcodec_table *table, unsigned limit, uint32_t *state,
                    uint8_t order[256])
{
    uint8_t left[256];
    unsigned left_count = table->count, slot = 0, used = 0;
    memcpy(left, table->order, table->count);
    for (unsigned n = 0; n < table->count; n++) {
        unsigned i = choose(table->freq, left, left_count, slot, limit - used, state);
        if (i == left_count)
            return false;
        unsigned end = slot + table->freq[left[i]];
        if (end / BLOCK != slot / BLOCK)
            used = 0;
        if (end % BLOCK && ++used > limit)
            return false;
        slot = end;
        order[n] = left[i];
        left[i] = left[--left_count];
    }
    return true;
}

unsigned wcodec_table_order_slots(struct wcodec_table *table, unsigned enough)
{
    uint32_t state = 0x9E3779B9;
    unsigned present = wcodec_table_boundaries(table);
    /* All but 16 symbols at least begin inside a block. */
    unsigned limit = table->count > BLOCKS ? (table->count - 1u) / BLOCKS : 0;
    limit = limit < enough ? enough : limit;
    /* An attempt takes count^2 / 2 steps: all of them together stay below a millisecond. */
    unsigned steps = 0, each = (unsigned)table->count * table->count / 2;
    for (; limit < present && steps < STEPS; limit++) {
        for (unsigned k = 0; k < ATTEMPTS && steps < STEPS; k++) {
            steps += each;
            uint8_t order[256];
            if (attempt(table, limit, &state, order)) {
                memcpy(table->order, order, table->count);
                return limit;
            }
        }
    }
    return present;
}
