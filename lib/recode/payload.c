/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "recode/recode.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

static wcodec_status hold(const wcodec_context *context, uint64_t bytes, wcodec_error *err)
{
    const uint64_t most = context->limits.max_memory;
    return bytes <= most ? WCODEC_OK
                         : wcodec_fail(err, WCODEC_ERROR_LIMIT,
                                       "copying takes at least %" PRIu64
                                       " bytes of memory, the limit is %" PRIu64,
                                       bytes, most);
}

wcodec_status wcodec_payload_read(wcodec_context *context, const struct wcodec_source *source,
                                  const struct wcodec_entry *e, uint8_t **payload,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const wcodec_leaf_fn leaf = wcodec_cpu_leaf(wcodec_cpu_levels() & context->cpu_mask);
    struct wcodec_tree tree = {.leaves = NULL};
    wcodec_status status = hold(context, e->payload_size + e->size, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *bytes = wcodec_alloc_array(allocator, e->payload_size, 1);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes",
                           e->payload_size);
    status = wcodec_source_read(source, e->payload_offset, bytes, (size_t)e->payload_size, err);
    if (status == WCODEC_OK)
        status =
            wcodec_tree_init(&tree, allocator, leaf, e->payload_size / WCODEC_LEAF_BYTES + 1, err);
    if (status == WCODEC_OK)
        status = wcodec_tree_put(&tree, 0, bytes, e->payload_size, err);
    if (status == WCODEC_OK && wcodec_tree_end(&tree, e->payload_size).low != e->payload_hash)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of its payload differs");
    wcodec_tree_free(&tree);
    if (status == WCODEC_OK)
        *payload = bytes;
    else
        wcodec_free(allocator, bytes);
    return status;
}
