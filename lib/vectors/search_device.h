/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Search by a device, in whose memory the coded vectors of a store are. What it finds is what the
 * CPU finds, to the last bit. */
#ifndef WCODEC_VECTORS_SEARCH_DEVICE_H
#define WCODEC_VECTORS_SEARCH_DEVICE_H

#include "vectors/rerank.h"

/* After the store was read: bring its vectors to the context's device, if one was asked for by name
 * and can search them; the log says why not. Where the choice is the library's, they are brought
 * there by the first search that pays. WCODEC_ERROR_MEMORY, _BACKEND, _DEVICE. */
wcodec_status wcodec_search_device_create(struct wcodec_vectors_store *store, wcodec_error *err);
void wcodec_search_device_destroy(struct wcodec_vectors_store *store);

/* Bytes that are in its memory. */
uint64_t wcodec_search_device_memory(const struct wcodec_vectors_store *store);

/* Bytes that are in the host's memory for it, with the store itself; 0: none. */
uint64_t wcodec_search_device_host_memory(const struct wcodec_vectors_store *store);

/* A search, whose options are checked. */
struct wcodec_device_search {
    const struct wcodec_vectors_store *store;
    const wcodec_vector_rows *queries; /* of the store's dimensions */
    const wcodec_vectors_search_options *options;
    struct wcodec_rerank *rerank; /* or NULL: then options.k are the candidates */
    const float *widened;         /* the queries for it, `width` numbers each */
    uint64_t *ids;
    float *scores;
};

/* *done false: nothing was found, and the CPU is to search, or to say what is wrong with queries.
 * From several threads. */
wcodec_status wcodec_search_device_run(const struct wcodec_device_search *search, bool *done,
                                       wcodec_error *err);

#endif
