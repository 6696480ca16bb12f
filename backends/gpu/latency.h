/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What latency kernels make a table of pairs from: less to read for all of them at once than
 * the table itself. Host code. */
#ifndef WCODEC_GPU_LATENCY_H
#define WCODEC_GPU_LATENCY_H

#include "backends/kernels/jobs.h"

#include <stdbool.h>

/* Bytes: a symbol for each slot, and for each symbol a word, which is what an entry is less its
 * slot. */
#define WCODEC_LATENCY_TABLE 5120

/* Write it; false if the set's is no table of pairs. */
bool wcodec_latency_write_table(const struct wcodec_table_set *set, uint8_t *at);

#endif
