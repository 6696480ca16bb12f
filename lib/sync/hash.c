/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Hashes of tensors, and of the file that they make. */
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "coding/linear.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/memory.h"
#include "sync/sync.h"

enum { PIECE = 1 << 20 };

/* By devices first, what they can; then pieces of all others are read. */
struct hashing {
    struct wcodec_save_request *request;
    const uint8_t *wanted; /* NULL: all */
    struct wcodec_cancel *cancel;
    uint64_t *pieces; /* that are read, of the tensors before each, and of all */
    bool *done;       /* of each tensor, by a device */
    struct wcodec_sync_failure failure;
    _Atomic uint64_t *sums;       /* of tensors; NULL: of the file there is */
    struct wcodec_looked *looked; /* what devices hashed of it */
    struct wcodec_tree file;
};

wcodec_leaf_fn wcodec_sync_leaf(const wcodec_context *context)
{
    return wcodec_cpu_leaf(wcodec_cpu_levels() & context->cpu_mask);
}

/* The tensor that a piece is of: the last one that begins with it or before it. */
static uint64_t tensor_of(const struct hashing *h, uint64_t piece)
{
    uint64_t low = 0, high = h->request->declared.names.count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (h->pieces[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_wanted(const struct hashing *h, uint64_t tensor)
{
    return h->wanted == NULL || h->wanted[tensor];
}

/* Leaves of the file that are in a tensor, by its device. */
static wcodec_status look(struct hashing *h, uint64_t tensor, wcodec_error *err)
{
    struct wcodec_save_request *r = h->request;
    const struct wcodec_write_coder coder = {.opaque = r, .look = wcodec_save_look};
    return wcodec_looked_take(&r->context->allocator, &coder, r->places[tensor].at,
                              r->declared.tensors[tensor].size, false, &h->looked[tensor], err);
}

static wcodec_status sum(struct hashing *h, uint64_t tensor, wcodec_error *err)
{
    uint64_t all = 0;
    const wcodec_status status = wcodec_sync_sum_on_device(h->request, tensor, &all, err);
    if (status == WCODEC_OK) /* else all of it is read, or nobody asks */
        atomic_store(&h->sums[tensor], all);
    return status;
}

/* A tensor that its device hashes. */
static void device_task(void *argument, size_t tensor)
{
    struct hashing *h = argument;
    struct wcodec_save_request *r = h->request;
    wcodec_error error = {0};
    if (atomic_load(&h->failure.failed) || !is_wanted(h, tensor) ||
        !wcodec_sync_on_device(r, tensor))
        return;
    wcodec_status status = wcodec_cancel_check(h->cancel, &error);
    if (status == WCODEC_OK)
        status = h->sums != NULL ? sum(h, tensor, &error) : look(h, tensor, &error);
    if (wcodec_save_is_left(status)) /* then it is read */
        return;
    if (status != WCODEC_OK) {
        if (status != WCODEC_ERROR_CANCELLED)
            wcodec_error_prefix(&error, "tensor \"%.200s\"", r->declared.tensors[tensor].name);
        wcodec_sync_failure_note(&h->failure, tensor, status, &error);
    }
    h->done[tensor] = status == WCODEC_OK;
    wcodec_cancel_count(h->cancel, r->declared.tensors[tensor].size);
}

/* What is known of these in the file: bytes of leaves that they have not as a whole. */
static void ends_task(void *argument, size_t tensor)
{
    struct hashing *h = argument;
    wcodec_error error = {0};
    if (h->looked[tensor].memory == NULL || atomic_load(&h->failure.failed))
        return;
    const wcodec_status status = wcodec_looked_put_ends(&h->looked[tensor], &h->file, &error);
    if (status != WCODEC_OK)
        wcodec_sync_failure_note(&h->failure, tensor, status, &error);
}

static void read_task(void *argument, size_t i)
{
    struct hashing *h = argument;
    struct wcodec_save_request *r = h->request;
    const uint64_t tensor = tensor_of(h, i), offset = (i - h->pieces[tensor]) * PIECE,
                   left = r->declared.tensors[tensor].size - offset,
                   size = left < PIECE ? left : PIECE, at = r->places[tensor].at + offset;
    const uint8_t *bytes = wcodec_sync_host(r, tensor);
    uint8_t *own = NULL;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (atomic_load(&h->failure.failed))
        return;
    status = wcodec_cancel_check(h->cancel, &error);
    if (status == WCODEC_OK && bytes != NULL) {
        bytes += offset;
    } else if (status == WCODEC_OK) {
        bytes = own = wcodec_alloc(&r->context->allocator, (size_t)size);
        status = own != NULL
                     ? wcodec_save_read(r, at, own, (size_t)size, &error)
                     : wcodec_fail(&error, WCODEC_ERROR_MEMORY, "out of memory for a tensor");
    }
    if (status == WCODEC_OK && h->sums != NULL)
        atomic_fetch_add(&h->sums[tensor], wcodec_linear_sum(bytes, size, offset));
    else if (status == WCODEC_OK)
        status = wcodec_tree_put(&h->file, at, bytes, size, &error);
    if (status != WCODEC_OK)
        wcodec_sync_failure_note(&h->failure, i, status, &error);
    wcodec_cancel_count(h->cancel, size);
    wcodec_free(&r->context->allocator, own);
}

static wcodec_status out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
}

/* What devices have not hashed is read. */
static uint64_t divide(struct hashing *h)
{
    const struct wcodec_save_request *r = h->request;
    h->pieces[0] = 0;
    for (uint64_t i = 0; i < r->declared.names.count; i++)
        h->pieces[i + 1] =
            h->pieces[i] + (h->done[i] || !is_wanted(h, i)
                                ? 0
                                : wcodec_div_up_u64(r->declared.tensors[i].size, PIECE));
    return h->pieces[r->declared.names.count];
}

/* All of it, with what is hashed prepared. */
static wcodec_status run(struct hashing *h, wcodec_error *err)
{
    struct wcodec_save_request *r = h->request;
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t count = r->declared.names.count;
    h->done = wcodec_alloc_zeroed(allocator, ((size_t)count + 1) * sizeof *h->done);
    h->pieces = wcodec_alloc_array(allocator, count + 1, sizeof *h->pieces);
    wcodec_status status = h->done != NULL && h->pieces != NULL ? WCODEC_OK : out_of_memory(err);
    if (status == WCODEC_OK)
        status = wcodec_sync_failure_init(&h->failure, err);
    if (status == WCODEC_OK) {
        wcodec_run(r->context, device_task, h, (size_t)count);
        if (!atomic_load(&h->failure.failed))
            wcodec_run(r->context, read_task, h, (size_t)divide(h));
        if (h->looked != NULL)
            wcodec_run(r->context, ends_task, h, (size_t)count);
        status = wcodec_sync_failure_end(&h->failure, err);
    }
    wcodec_free(allocator, h->done);
    wcodec_free(allocator, h->pieces);
    return status;
}

wcodec_status wcodec_sync_hash(struct wcodec_save_request *r, const uint8_t *wanted,
                               uint64_t *hashes, struct wcodec_cancel *cancel, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t count = r->declared.names.count;
    struct hashing h = {.request = r, .wanted = wanted, .cancel = cancel};
    h.sums = wcodec_alloc_zeroed(allocator, ((size_t)count + 1) * sizeof *h.sums);
    const wcodec_status status = h.sums != NULL ? run(&h, err) : out_of_memory(err);
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++)
        if (wanted[i])
            hashes[i] = wcodec_linear_hash(atomic_load(&h.sums[i]), r->declared.tensors[i].size);
    wcodec_free(allocator, (void *)h.sums);
    return status;
}

wcodec_status wcodec_sync_hash_file(struct wcodec_save_request *r, uint8_t hash[16],
                                    struct wcodec_cancel *cancel, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t count = r->declared.names.count;
    struct hashing h = {.request = r, .cancel = cancel};
    h.looked = wcodec_alloc_zeroed(allocator, ((size_t)count + 1) * sizeof *h.looked);
    if (h.looked == NULL)
        return out_of_memory(err);
    wcodec_status status = wcodec_tree_init(&h.file, allocator, wcodec_sync_leaf(r->context),
                                            r->size / WCODEC_LEAF_BYTES + 2, err);
    if (status == WCODEC_OK)
        status = wcodec_tree_put(&h.file, 0, r->header, r->header_size, err);
    if (status == WCODEC_OK)
        status = run(&h, err);
    for (uint64_t i = 0; i < count; i++) {
        if (status == WCODEC_OK && h.looked[i].memory != NULL)
            wcodec_looked_put_leaves(&h.looked[i], &h.file);
        wcodec_looked_free(allocator, &h.looked[i]);
    }
    if (status == WCODEC_OK)
        wcodec_tree_canonical(wcodec_tree_end(&h.file, r->size), hash);
    wcodec_tree_free(&h.file);
    wcodec_free(allocator, h.looked);
    return status;
}
