/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A load to one device whose items get their places while it runs, one after the other, and which
 * says how many have arrived: so that places can be used again for later items. */
#ifndef WCODEC_LOAD_GATE_H
#define WCODEC_LOAD_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <wcodec/load.h>

struct wcodec_load_gate;
struct wcodec_load_part;
struct wcodec_load_request;
struct wcodec_memory;

struct wcodec_load_place {
    struct wcodec_memory *memory; /* of the context's device */
    uint64_t offset;
};

/* As wcodec_load_start(), but of the items only number, rows and size count, and they are read in
 * their order, which should be that of the files. options->memory must not be NULL. The gate is the
 * loading's, and ends with it. Whoever does not admit all items cancels the load. */
wcodec_status wcodec_load_start_gated(const wcodec_reader *reader, const wcodec_load_item *items,
                                      size_t count, const wcodec_load_options *options,
                                      struct wcodec_load_gate **gate, wcodec_loading **loading,
                                      wcodec_error *err);

/* The next items may be written to these places, which stay the caller's. By one thread. */
void wcodec_load_gate_admit(struct wcodec_load_gate *gate, const struct wcodec_load_place *places,
                            size_t count);

/* Wait until the first `count` items are at their places, all queues having been waited for. False:
 * the load has ended without them, and wcodec_loading_wait() says why. */
bool wcodec_load_gate_wait(struct wcodec_load_gate *gate, size_t count);

/* The load's side, from any thread. Close: nobody waits any more, and nothing more is admitted. */
wcodec_status wcodec_load_gate_create(struct wcodec_load_request *request,
                                      struct wcodec_load_gate **gate, wcodec_error *err);
void wcodec_load_gate_destroy(struct wcodec_load_gate *gate);
size_t wcodec_load_gate_admitted(struct wcodec_load_gate *gate);
/* Wait until item `next` is admitted. False: it will not be, or there is none. */
bool wcodec_load_gate_await(struct wcodec_load_gate *gate, size_t next);
void wcodec_load_gate_arrived(struct wcodec_load_gate *gate, const struct wcodec_load_part *parts,
                              size_t count);
void wcodec_load_gate_close(struct wcodec_load_gate *gate);

#endif
