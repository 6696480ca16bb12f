/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a message says, checked against itself and the receiver's tensors. */
#include "core/error.h"
#include "core/memory.h"
#include "read/restore.h"
#include "sync/apply.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_PIECE = 8 * WCODEC_LEAF_BYTES };

static wcodec_status out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a message");
}

void wcodec_sync_prefix(const struct wcodec_entry *entry, wcodec_error *err)
{
    if (entry->name != NULL && err != NULL && strncmp(err->text, "tensor \"", 8) != 0)
        wcodec_error_prefix(err, "tensor \"%.200s\"", entry->name);
}

static bool read_digits(const char *text, uint64_t *hash)
{
    *hash = 0;
    for (unsigned i = 0; i < WCODEC_SYNC_DIGITS; i++) {
        const char c = text[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
        *hash = *hash << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static wcodec_status read_hashes(struct wcodec_sync_apply *a, const char *key, bool before,
                                 wcodec_error *err)
{
    const struct wcodec_index *index = a->message.index;
    const char *text = NULL;
    for (uint64_t i = 0; i < index->metadata_count; i++)
        if (strcmp(index->metadata[2 * i], key) == 0)
            text = index->metadata[2 * i + 1];
    if (text == NULL)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a .wcodec file, but no message of wcodec_delta_encode(): it has no "
                           "hashes of tensors");
    bool good = strlen(text) == a->count * WCODEC_SYNC_DIGITS;
    for (uint64_t i = 0; i < a->count && good; i++)
        good = read_digits(text + i * WCODEC_SYNC_DIGITS,
                           before ? &a->tensors[i].before : &a->tensors[i].after);
    return good ? WCODEC_OK
                : wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                              "a message whose hashes are not those of its %" PRIu64 " tensors",
                              a->count);
}

static wcodec_status match_tensor(struct wcodec_sync_apply *a, struct wcodec_sync_tensor *t,
                                  wcodec_error *err)
{
    const struct wcodec_entry *e = t->entry;
    bool same;
    if (e->newer)
        return wcodec_entry_refuse(e, err);
    if (e->coding == WCODEC_CODING_ALIAS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "stored as equal to another, which no message has");
    if (!wcodec_sync_find(a->weights, e, &t->weight, &same))
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "the receiver has no such tensor");
    if (!same)
        return wcodec_fail(err, WCODEC_ERROR_MISMATCH, "the receiver's has another dtype or shape");
    if (e->coding != WCODEC_CODING_DELTA)
        return WCODEC_OK;
    const struct wcodec_delta *d = &e->u.delta->head;
    if (a->bases.count == 0) { /* the first one */
        memcpy(a->file.hash, d->base, sizeof a->file.hash);
        a->file.size = d->base_size;
        a->bases.count = 1;
    } else if (memcmp(a->file.hash, d->base, sizeof a->file.hash) != 0 ||
               a->file.size != d->base_size) {
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a delta of another snapshot than those before it");
    }
    t->equal = d->counts[WCODEC_DELTA_EQUAL] == d->elements;
    if (t->equal && t->before != t->after)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "equal in both snapshots, but with two hashes");
    return WCODEC_OK;
}

/* The receiver's tensors as a file of them: what decoders read from. */
static wcodec_status make_base(struct wcodec_sync_apply *a, wcodec_error *err)
{
    const struct wcodec_save_request *r = a->weights;
    const wcodec_allocator *allocator = &a->context->allocator;
    const uint64_t count = r->declared.names.count;
    static char name[] = "the receiver's weights";
    a->layout = (struct wcodec_file_layout){.allocator = allocator, .count = count};
    a->file.path = name;
    a->file.layout = &a->layout;
    a->files[0] = &a->file;
    a->bases.context = a->context;
    a->bases.depth = 1;
    a->bases.files = a->files;
    a->order[0] = 0;
    a->bases.order = a->order;
    wcodec_source_function(wcodec_save_read, a->weights, r->size, &a->file.source);
    a->layout.tensors = wcodec_alloc_array(allocator, count + 1, sizeof *a->layout.tensors);
    if (a->layout.tensors == NULL || !wcodec_names_init(&a->file.names, allocator, count + 1))
        return out_of_memory(err);
    for (uint64_t i = 0; i < count; i++) {
        const struct wcodec_entry *e = &r->declared.tensors[i];
        uint64_t number = i;
        a->layout.tensors[i] = (struct wcodec_layout_tensor){.name = e->name,
                                                             .dtype_name = e->dtype_name,
                                                             .shape = e->shape,
                                                             .offset = r->places[i].at,
                                                             .size = e->size,
                                                             .dtype = e->dtype,
                                                             .rank = (uint8_t)e->rank};
        (void)wcodec_names_add(&a->file.names, e->name, &number);
    }
    return WCODEC_OK;
}

/* Memory of a tensor. */
struct extent {
    uint64_t space; /* 0: the host's; else what its bytes are counted from */
    uint64_t begin, end;
    uint64_t weight; /* number of the receiver's */
    uint64_t tensor; /* of the message; UINT64_MAX: it has none for it */
};

static int compare_extents(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    if (a->space != b->space)
        return a->space < b->space ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

static wcodec_status refuse_overlap(const struct wcodec_sync_apply *a, const struct extent *first,
                                    const struct extent *second, wcodec_error *err)
{
    const struct wcodec_entry *weights = a->weights->declared.tensors;
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "tensors \"%.200s\" and \"%.200s\" overlap in memory",
                       weights[first->weight].name, weights[second->weight].name);
}

/* first: of a tensor of the message. */
static wcodec_status tie(struct wcodec_sync_apply *a, const struct extent *first,
                         const struct extent *second, wcodec_error *err)
{
    if (first->begin != second->begin || first->end != second->end)
        return refuse_overlap(a, first, second, err);
    a->tensor_of[second->weight] = first->tensor;
    if (second->tensor == UINT64_MAX)
        return WCODEC_OK;
    struct wcodec_sync_tensor *t = &a->tensors[second->tensor], *of = &a->tensors[first->tensor];
    if (of->after != t->after)
        return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                           "tensors \"%.200s\" and \"%.200s\" are the same memory, but become "
                           "different",
                           of->entry->name, t->entry->name);
    t->tied = true;
    return WCODEC_OK;
}

/* Extents in order: those of the message must not overlap any other, but may be the same. */
static wcodec_status compare_neighbours(struct wcodec_sync_apply *a, const struct extent *list,
                                        uint64_t count, wcodec_error *err)
{
    const struct extent *last = NULL;    /* of the message */
    const struct extent *outside = NULL; /* of the others, which ends last */
    wcodec_status status = WCODEC_OK;
    for (const struct extent *e = list; e < list + count && status == WCODEC_OK; e++) {
        const bool ours = e->tensor != UINT64_MAX;
        if (e != list && e[-1].space != e->space)
            last = outside = NULL;
        if (ours && outside != NULL && outside->end > e->begin)
            status = refuse_overlap(a, outside, e, err);
        else if (last != NULL && last->end > e->begin)
            status = tie(a, last, e, err);
        else if (ours)
            last = e;
        if (!ours && (outside == NULL || e->end > outside->end))
            outside = e;
    }
    return status;
}

static uint64_t list_extents(const struct wcodec_sync_apply *a, struct extent *list)
{
    const struct wcodec_declared *d = &a->weights->declared;
    uint64_t count = 0;
    for (uint64_t w = 0; w < d->names.count; w++) {
        const wcodec_save_item *item = &a->items[w];
        const uint8_t *host = wcodec_sync_host(a->weights, w);
        const uint64_t begin = host != NULL ? (uint64_t)(uintptr_t)host : item->offset;
        if (d->tensors[w].size != 0)
            list[count++] = (struct extent){.space = host != NULL ? 0 : item->source,
                                            .begin = begin,
                                            .end = begin + d->tensors[w].size,
                                            .weight = w,
                                            .tensor = a->tensor_of[w]};
    }
    return count;
}

/* No memory may be changed twice, or behind a weight's back. */
static wcodec_status find_ties(struct wcodec_sync_apply *a, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    const uint64_t weights = a->weights->declared.names.count;
    struct extent *list = wcodec_alloc_array(allocator, weights + 1, sizeof *list);
    a->tensor_of = wcodec_alloc_array(allocator, weights + 1, sizeof *a->tensor_of);
    if (list == NULL || a->tensor_of == NULL) {
        wcodec_free(allocator, list);
        return out_of_memory(err);
    }
    for (uint64_t w = 0; w < weights; w++)
        a->tensor_of[w] = UINT64_MAX;
    for (uint64_t i = 0; i < a->count; i++)
        a->tensor_of[a->tensors[i].weight] = i;
    const uint64_t count = list_extents(a, list);
    qsort(list, (size_t)count, sizeof *list, compare_extents);
    const wcodec_status status = compare_neighbours(a, list, count, err);
    wcodec_free(allocator, list);
    return status;
}

struct wcodec_decoder_input wcodec_sync_input(const struct wcodec_sync_apply *a,
                                              const struct wcodec_sync_tensor *t)
{
    return (struct wcodec_decoder_input){.context = a->context,
                                         .source = &a->message.source,
                                         .entry = t->entry,
                                         .bases = &a->bases,
                                         .verify = true,
                                         .on_cpu = true,
                                         .whole = true};
}

/* Bytes in memory that are hashed. */
struct hashing {
    struct wcodec_tree tree;
    const uint8_t *bytes;
    uint64_t size;
    atomic_bool failed;
};

static void hash_task(void *argument, size_t i)
{
    struct hashing *h = argument;
    const uint64_t at = (uint64_t)i * HASH_PIECE, left = h->size - at;
    if (wcodec_tree_put(&h->tree, at, h->bytes + at, left < HASH_PIECE ? left : HASH_PIECE, NULL) !=
        WCODEC_OK)
        atomic_store(&h->failed, true);
}

/* The low half of their tree hash, by all threads. */
static wcodec_status hash_bytes(wcodec_context *context, const uint8_t *bytes, uint64_t size,
                                uint64_t *hash, wcodec_error *err)
{
    const wcodec_leaf_fn leaf = wcodec_sync_leaf(context);
    struct hashing h = {.bytes = bytes, .size = size};
    if (size <= (uint64_t)WCODEC_TREE_SMALL * WCODEC_LEAF_BYTES) {
        *hash = wcodec_tree_of(leaf, bytes, size).low;
        return WCODEC_OK;
    }
    wcodec_status status =
        wcodec_tree_init(&h.tree, &context->allocator, leaf, size / WCODEC_LEAF_BYTES + 2, err);
    if (status == WCODEC_OK) {
        wcodec_run(context, hash_task, &h, (size_t)wcodec_div_up_u64(size, HASH_PIECE));
        if (atomic_load(&h.failed))
            status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    }
    if (status == WCODEC_OK)
        *hash = wcodec_tree_end(&h.tree, size).low;
    wcodec_tree_free(&h.tree);
    return status;
}

/* A payload that is what was written, and opens as its entry says. t: NULL, or the tensor. */
static wcodec_status check_payload(struct wcodec_sync_apply *a, const struct wcodec_entry *e,
                                   struct wcodec_sync_tensor *t, wcodec_error *err)
{
    uint64_t hash = 0;
    struct wcodec_decoder decoder;
    wcodec_status status = WCODEC_OK;
    if (e->payload_size != 0)
        status = hash_bytes(a->context, a->message.source.data + e->payload_offset, e->payload_size,
                            &hash, err);
    if (status == WCODEC_OK && hash != e->payload_hash)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of its payload differs");
    if (status != WCODEC_OK || t == NULL || e->size == 0)
        return status;
    const struct wcodec_decoder_input input = wcodec_sync_input(a, t);
    status = wcodec_decoder_open(&input, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    if (wcodec_sync_patches(a, t)) {
        t->side = wcodec_decoder_take_side(&decoder);
        status = wcodec_sync_divide(a, t, err);
    }
    wcodec_decoder_close(&decoder);
    return status;
}

/* Of all tensors, then of all entries that are none. */
static void payload_task(void *argument, size_t i)
{
    struct wcodec_sync_apply *a = argument;
    const struct wcodec_entry *entries = a->message.index->entries;
    struct wcodec_sync_tensor *t = i < a->count ? &a->tensors[i] : NULL;
    const struct wcodec_entry *e = t != NULL ? t->entry : &entries[i - a->count];
    wcodec_error error = {0};
    if (atomic_load(&a->failure.failed) || (t == NULL && e->is_tensor))
        return;
    wcodec_status status = wcodec_cancel_check(&a->cancel, &error);
    if (status == WCODEC_OK)
        status = check_payload(a, e, t, &error);
    if (status == WCODEC_OK)
        return;
    wcodec_sync_prefix(e, &error);
    wcodec_sync_failure_note(&a->failure, (uint64_t)(e - entries), status, &error);
}

/* Headers of groups, and the zeros between. */
static wcodec_status check_frame(struct wcodec_sync_apply *a, wcodec_error *err)
{
    const struct wcodec_index *index = a->message.index;
    struct wcodec_header_checks checks = {.shard = &a->message, .source = &a->message.source};
    uint64_t end = 0;
    wcodec_status status = wcodec_check_headers(a->context, &checks, UINT64_MAX, err);
    for (uint64_t i = 0; i < index->entry_count && status == WCODEC_OK; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (e->payload_size == 0)
            continue;
        status = wcodec_check_gap(&a->message.source, end > e->gap_offset ? end : e->gap_offset,
                                  e->payload_offset, err);
        end = e->payload_offset + e->payload_size;
    }
    return status == WCODEC_OK
               ? wcodec_check_gap(&a->message.source, index->body_end, index->body_stop, err)
               : status;
}

wcodec_status wcodec_sync_check(struct wcodec_sync_apply *a, wcodec_error *err)
{
    wcodec_status status = check_frame(a, err);
    if (status == WCODEC_OK)
        status = wcodec_sync_failure_init(&a->failure, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(a->context, payload_task, a, (size_t)(a->count + a->message.index->entry_count));
    return wcodec_sync_failure_end(&a->failure, err);
}

wcodec_status wcodec_sync_open(struct wcodec_sync_apply *a, const void *message, size_t size,
                               wcodec_error *err)
{
    wcodec_status status =
        wcodec_shard_open_memory(a->context, message, size, false, &a->message, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_index *index = a->message.index;
    a->count = index->tensor_count;
    a->tensors =
        wcodec_alloc_zeroed(&a->context->allocator, (size_t)(a->count + 1) * sizeof *a->tensors);
    if (a->tensors == NULL)
        return out_of_memory(err);
    for (uint64_t i = 0; i < a->count; i++)
        a->tensors[i].entry = &index->entries[index->tensors[i]];
    status = read_hashes(a, WCODEC_SYNC_BEFORE, true, err);
    if (status == WCODEC_OK)
        status = read_hashes(a, WCODEC_SYNC_AFTER, false, err);
    if (status == WCODEC_OK)
        status = make_base(a, err);
    for (uint64_t i = 0; i < a->count && status == WCODEC_OK; i++) {
        status = match_tensor(a, &a->tensors[i], err);
        if (status != WCODEC_OK)
            wcodec_sync_prefix(a->tensors[i].entry, err);
    }
    return status == WCODEC_OK ? find_ties(a, err) : status;
}

void wcodec_sync_close(struct wcodec_sync_apply *a)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    for (uint64_t i = 0; a->tensors != NULL && i < a->count; i++) {
        wcodec_delta_side_free(a->tensors[i].side);
        wcodec_free(allocator, a->tensors[i].ranges);
    }
    wcodec_names_free(&a->file.names);
    wcodec_free(allocator, a->layout.tensors);
    wcodec_free(allocator, a->tensors);
    wcodec_free(allocator, a->tensor_of);
    if (a->message.index != NULL)
        wcodec_shard_close(a->context, &a->message);
}
