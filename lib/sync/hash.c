/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Hashes of tensors, and of the file that they make, in one pass. */
#include "backends/cpu/leaf.h"
#include "backends/cpu/cpu_level.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/memory.h"
#include "sync/sync.h"

enum { PIECE = 1 << 20, DIGEST = 16 };

struct hashing {
    struct wcodec_save_request *request;
    const uint8_t *wanted;
    struct wcodec_cancel *cancel;
    wcodec_leaf_fn leaf;
    uint64_t *pieces;  /* that are read, of the tensors before each, and of all */
    uint64_t *digests; /* the same in leaves */
    uint64_t *hashes;
    struct wcodec_looked *looked; /* of tensors that devices hash, if there is a file */
    bool *hashed;                 /* of each tensor: that is done */
    uint8_t *leaves;              /* a digest each, and room for a size after those of a tensor */
    struct wcodec_tree file;
    bool has_file;
    struct wcodec_sync_failure failure;
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

static void hash_leaves(struct hashing *h, uint64_t tensor, uint64_t offset, const uint8_t *bytes,
                        uint64_t size)
{
    uint8_t *to = h->leaves + (h->digests[tensor] + tensor + offset / WCODEC_LEAF_BYTES) * DIGEST;
    for (uint64_t at = 0; at < size; at += WCODEC_LEAF_BYTES, to += DIGEST) {
        const uint64_t left = size - at;
        const struct wcodec_tree_hash hash =
            h->leaf(bytes + at, (size_t)(left < WCODEC_LEAF_BYTES ? left : WCODEC_LEAF_BYTES));
        wcodec_store_u64(to, hash.low);
        wcodec_store_u64(to + 8, hash.high);
    }
}

static bool is_wanted(const struct hashing *h, uint64_t tensor)
{
    return h->wanted == NULL || h->wanted[tensor];
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
    if (status == WCODEC_OK && h->looked != NULL)
        status =
            wcodec_sync_look_on_device(r, tensor, &h->hashes[tensor], &h->looked[tensor], &error);
    else if (status == WCODEC_OK)
        status = wcodec_sync_hash_on_device(r, tensor, &h->hashes[tensor], &error);
    if (wcodec_save_is_left(status)) /* then it is read */
        return;
    if (status != WCODEC_OK) {
        if (status != WCODEC_ERROR_CANCELLED)
            wcodec_error_prefix(&error, "tensor \"%.200s\"", r->declared.tensors[tensor].name);
        wcodec_sync_failure_note(&h->failure, tensor, status, &error);
    }
    h->hashed[tensor] = status == WCODEC_OK;
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

/* The file's hash. */
static void end_file(struct hashing *h, uint8_t file[16])
{
    for (uint64_t i = 0; i < h->request->declared.names.count; i++)
        if (h->looked[i].memory != NULL)
            wcodec_looked_put_leaves(&h->looked[i], &h->file);
    wcodec_tree_canonical(wcodec_tree_end(&h->file, h->request->size), file);
}

static void hash_task(void *argument, size_t i)
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
    if (status == WCODEC_OK && h->has_file)
        status = wcodec_tree_put(&h->file, at, bytes, size, &error);
    if (status == WCODEC_OK)
        hash_leaves(h, tensor, offset, bytes, size);
    else
        wcodec_sync_failure_note(&h->failure, i, status, &error);
    wcodec_cancel_count(h->cancel, size);
    wcodec_free(&r->context->allocator, own);
}

static uint64_t root_of(struct hashing *h, uint64_t tensor)
{
    const uint64_t count = h->digests[tensor + 1] - h->digests[tensor];
    uint8_t *digests = h->leaves + (h->digests[tensor] + tensor) * DIGEST;
    wcodec_store_u64(digests + count * DIGEST, h->request->declared.tensors[tensor].size);
    return wcodec_leaf_plain(digests, (size_t)count * DIGEST + 8).low;
}

/* How much of everything there is, and memory for it. */
static wcodec_status prepare(struct hashing *h, wcodec_error *err)
{
    const struct wcodec_save_request *r = h->request;
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t count = r->declared.names.count;
    h->hashed = wcodec_alloc_zeroed(allocator, ((size_t)count + 1) * sizeof *h->hashed);
    if (h->hashed == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    h->pieces = wcodec_alloc_array(allocator, count + 1, sizeof *h->pieces);
    h->digests = wcodec_alloc_array(allocator, count + 1, sizeof *h->digests);
    if (h->pieces == NULL || h->digests == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    h->digests[0] = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t size = r->declared.tensors[i].size;
        h->digests[i + 1] = h->digests[i] + wcodec_div_up_u64(size, WCODEC_LEAF_BYTES);
    }
    h->leaves = wcodec_alloc_array(allocator, h->digests[count] + count + 1, DIGEST);
    if (h->leaves == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    return WCODEC_OK;
}

/* What devices have not hashed is read. */
static uint64_t divide(struct hashing *h)
{
    const struct wcodec_save_request *r = h->request;
    h->pieces[0] = 0;
    for (uint64_t i = 0; i < r->declared.names.count; i++)
        h->pieces[i + 1] =
            h->pieces[i] + (h->hashed[i] || !is_wanted(h, i)
                                ? 0
                                : wcodec_div_up_u64(r->declared.tensors[i].size, PIECE));
    return h->pieces[r->declared.names.count];
}

static wcodec_status prepare_file(struct hashing *h, wcodec_error *err)
{
    const struct wcodec_save_request *r = h->request;
    const uint64_t count = r->declared.names.count;
    h->looked =
        wcodec_alloc_zeroed(&r->context->allocator, ((size_t)count + 1) * sizeof *h->looked);
    if (h->looked == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    wcodec_status status = wcodec_tree_init(&h->file, &r->context->allocator, h->leaf,
                                            r->size / WCODEC_LEAF_BYTES + 2, err);
    h->has_file = status == WCODEC_OK;
    return status == WCODEC_OK ? wcodec_tree_put(&h->file, 0, r->header, r->header_size, err)
                               : status;
}

wcodec_status wcodec_sync_hash(struct wcodec_save_request *r, const uint8_t *wanted,
                               uint64_t *hashes, uint8_t file[16], struct wcodec_cancel *cancel,
                               wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t count = r->declared.names.count;
    struct hashing h = {.request = r,
                        .wanted = wanted,
                        .hashes = hashes,
                        .cancel = cancel,
                        .leaf = wcodec_sync_leaf(r->context)};
    wcodec_status status = prepare(&h, err);
    if (status == WCODEC_OK && file != NULL)
        status = prepare_file(&h, err);
    if (status == WCODEC_OK)
        status = wcodec_sync_failure_init(&h.failure, err);
    if (status == WCODEC_OK) {
        wcodec_run(r->context, device_task, &h, (size_t)count);
        if (!atomic_load(&h.failure.failed))
            wcodec_run(r->context, hash_task, &h, (size_t)divide(&h));
        if (file != NULL)
            wcodec_run(r->context, ends_task, &h, (size_t)count);
        status = wcodec_sync_failure_end(&h.failure, err);
    }
    for (uint64_t i = 0; i < count && status == WCODEC_OK; i++)
        if (is_wanted(&h, i) && !h.hashed[i])
            hashes[i] = root_of(&h, i);
    if (status == WCODEC_OK && file != NULL)
        end_file(&h, file);
    wcodec_tree_free(&h.file);
    for (uint64_t i = 0; h.looked != NULL && i < count; i++)
        wcodec_looked_free(allocator, &h.looked[i]);
    wcodec_free(allocator, h.looked);
    wcodec_free(allocator, h.hashed);
    wcodec_free(allocator, h.leaves);
    wcodec_free(allocator, h.digests);
    wcodec_free(allocator, h.pieces);
    return status;
}
