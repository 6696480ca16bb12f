/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Byte shuffles (pshufb, tbl) that deal words of a stream out to eight lanes: lane l with its bit
 * set in the row's number takes the next word, others get zero. */
#ifndef WCODEC_CPU_EXPAND_H
#define WCODEC_CPU_EXPAND_H

#include <stdint.h>

#define EXPAND_BYTE(m, l, k) \
    ((m) >> (l)&1 ? 2 * __builtin_popcount((m) & ((1 << (l)) - 1)) + (k) : 0x80)
#define EXPAND_LANE(m, l) EXPAND_BYTE(m, l, 0), EXPAND_BYTE(m, l, 1)
#define EXPAND_4(row, m) row(m), row((m) + 1), row((m) + 2), row((m) + 3)
#define EXPAND_16(row, m) \
    EXPAND_4(row, m), EXPAND_4(row, (m) + 4), EXPAND_4(row, (m) + 8), EXPAND_4(row, (m) + 12)
#define EXPAND_64(row, m) \
    EXPAND_16(row, m), EXPAND_16(row, (m) + 16), EXPAND_16(row, (m) + 32), EXPAND_16(row, (m) + 48)
#define EXPAND_256(row) \
    EXPAND_64(row, 0), EXPAND_64(row, 64), EXPAND_64(row, 128), EXPAND_64(row, 192)

/* Lanes in order. */
#define EXPAND_ROW(m) \
    { \
        EXPAND_LANE(m, 0), EXPAND_LANE(m, 1), EXPAND_LANE(m, 2), EXPAND_LANE(m, 3), \
            EXPAND_LANE(m, 4), EXPAND_LANE(m, 5), EXPAND_LANE(m, 6), EXPAND_LANE(m, 7) \
    }

/* The same, lanes of 32 bits. */
#define EXPAND_WIDE(m, l) EXPAND_LANE(m, l), 0x80, 0x80
#define EXPAND_WIDE_ROW(m) \
    { \
        EXPAND_WIDE(m, 0), EXPAND_WIDE(m, 1), EXPAND_WIDE(m, 2), EXPAND_WIDE(m, 3), \
            EXPAND_WIDE(m, 4), EXPAND_WIDE(m, 5), EXPAND_WIDE(m, 6), EXPAND_WIDE(m, 7) \
    }

/* Even lanes first, then odd ones. */
#define EXPAND_SPLIT_ROW(m) \
    { \
        EXPAND_LANE(m, 0), EXPAND_LANE(m, 2), EXPAND_LANE(m, 4), EXPAND_LANE(m, 6), \
            EXPAND_LANE(m, 1), EXPAND_LANE(m, 3), EXPAND_LANE(m, 5), EXPAND_LANE(m, 7) \
    }

#endif
