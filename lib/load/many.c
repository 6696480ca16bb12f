/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads to several devices: a request of each. */
#include "core/error.h"
#include "core/options.h"
#include "load/load.h"

/* Of each device, where the caller leaves it to us: staging memory of all together is to stay in
 * the caches (bench/README.md). */
#define HOST_MEMORY ((uint64_t)64 << 20)

static wcodec_status check(const wcodec_load_target *t, size_t i, wcodec_error *err)
{
    const wcodec_status status =
        wcodec_reserved_check(t->reserved, sizeof t->reserved, "load target", err);
    if (status != WCODEC_OK)
        return status;
    if (t->context == NULL || t->memory == NULL || (t->items == NULL && t->count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "load target %zu: %s is NULL", i,
                           t->context == NULL  ? "the context"
                           : t->memory == NULL ? "the name of its memory's backend"
                                               : "the list of items");
    return WCODEC_OK;
}

static wcodec_status check_all(const wcodec_load_target *targets, size_t count,
                               const wcodec_load_options *options, wcodec_error *err)
{
    if (count == 0 || count > WCODEC_LOAD_TARGETS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%zu load targets, expected 1 to %d", count,
                           WCODEC_LOAD_TARGETS_MAX);
    if (options->memory != NULL || options->use_queue)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the options have %s, which each load target has for itself",
                           options->memory != NULL ? "memory" : "a queue");
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        status = check(&targets[i], i, err);
    return status;
}

wcodec_status wcodec_load_requests_create(const wcodec_reader *reader,
                                          const wcodec_load_target *targets, size_t count,
                                          const wcodec_load_options *options,
                                          struct wcodec_load_request *requests, wcodec_error *err)
{
    wcodec_load_options o = {0};
    size_t made = 0;
    wcodec_status status =
        wcodec_options_take(options, &o, sizeof o, "wcodec_load_options_init", err);
    o.struct_size = sizeof o;
    if (o.host_memory == 0 && count > 1)
        o.host_memory = HOST_MEMORY;
    if (status == WCODEC_OK)
        status = check_all(targets, count, &o, err);
    while (status == WCODEC_OK && made < count) {
        const wcodec_load_target *t = &targets[made];
        o.memory = t->memory;
        o.use_queue = t->use_queue;
        o.queue = t->queue;
        status = wcodec_load_request_create(reader, t->context, t->items, t->count, &o, false,
                                            &requests[made], err);
        made += status == WCODEC_OK;
    }
    if (status == WCODEC_OK && count > 1)
        status = wcodec_load_share(requests, count, err);
    while (status != WCODEC_OK && made > 0)
        wcodec_load_request_free(&requests[--made]);
    return status;
}
