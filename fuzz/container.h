/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#ifndef WCODEC_FUZZ_CONTAINER_H
#define WCODEC_FUZZ_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

/* Run a whole .wcodec file as it is, and with the hashes and sizes of head and tail put right, so
 * that damage reaches the index and what it names. */
void fuzz_container(void (*run)(const uint8_t *data, size_t size), const uint8_t *data,
                    size_t size);

/* Put them right, in place; of fewer bytes than head and tail nothing. */
void fuzz_container_right(uint8_t *file, size_t size);

#endif
