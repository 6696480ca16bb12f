/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/batch.h"
#include "coding/chunks.h"
#include "coding/packed.h"
#include "core/assert.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "encode/assemble.h"
#include "encode/recall.h"
#include "format/base_fetch.h"
#include "write/tables.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

/* How often bytes are gone through until they are coded and verified, about; and from level 7 on.
 */
enum { PASSES = 2, PASSES_SMALL = 3 };

enum { READ_PIECE = 1 << 20, VERIFY_SCRATCH = 1 << 22 };

/* What the threads that work on a batch share. Of failures the first in the order of the file is
 * told. */
struct work {
    struct wcodec_write_batch *batch;
    pthread_mutex_t lock;
    atomic_bool failed;
    uint64_t failed_position;
    wcodec_status status;
    wcodec_error error;
    struct wcodec_encode_settings settings; /* with the scratch of one item */
    size_t coders;
    atomic_size_t next;              /* item */
    uint64_t read_begin, read_end;   /* of the batch's bytes: what is read and hashed */
    bool is_coded;                   /* all of the batch */
    uint64_t scratch;                /* that is left for coding beside the writing; 0: too little */
    uint64_t writing_ns, written_ns; /* how long it took to write, and when that ended */
    uint64_t prepared_ns;            /* when what was beside it ended */
};

/* Places of failures: what was pending comes first. */
enum { PLACE_WRITE = 0, PLACE_PENDING = 1, PLACE_BATCH = PLACE_PENDING + WCODEC_WRITE_BATCH_ITEMS };

/* Is it one repeated element of 2^log2 bytes? */
static bool repeats(const uint8_t *data, size_t size, unsigned log2)
{
    size_t width = (size_t)1 << log2;
    return size % width == 0 && memcmp(data, data + width, size - width) == 0;
}

static wcodec_status code_tiny(const wcodec_allocator *allocator, wcodec_dtype dtype,
                               const uint8_t *data, size_t size, struct wcodec_coded *coded,
                               wcodec_error *err)
{
    unsigned log2 = size == 8   ? 3
                    : size == 4 ? 2
                    : size == 2 ? 1
                                : wcodec_dtype_element_log2(dtype);
    struct wcodec_coded c = {.coding = WCODEC_CODING_CONSTANT, .allocator = allocator};
    if (repeats(data, size, log2)) {
        c.constant_element_log2 = (uint8_t)log2;
        memcpy(c.constant_element, data, (size_t)1 << log2);
        *coded = c;
        return WCODEC_OK;
    }
    uint64_t directory = wcodec_chunks_directory_size(size, size);
    c.parts = wcodec_alloc_zeroed(allocator, sizeof *c.parts);
    uint8_t *payload = wcodec_alloc_zeroed(allocator, (size_t)directory + size);
    if (!c.parts || !payload) {
        wcodec_free(allocator, c.parts);
        wcodec_free(allocator, payload);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    wcodec_store_u32(payload, (uint32_t)size);
    wcodec_store_u32(payload + 4, wcodec_chunk_check(data, size));
    memcpy(payload + directory, data, size);
    c.coding = WCODEC_CODING_CHUNKS;
    c.chunk = size;
    c.payload_size = directory + size;
    c.part_count = 1;
    c.parts[0] = (struct wcodec_coded_part){payload, c.payload_size};
    *coded = c;
    return WCODEC_OK;
}

/* It stands in the index, where all that is so small is compressed together. */
static wcodec_status code_inline(const wcodec_allocator *allocator, const uint8_t *data,
                                 size_t size, struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_coded c = {.coding = WCODEC_CODING_INLINE, .allocator = allocator};
    c.parameters = wcodec_alloc(allocator, size);
    if (c.parameters == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    memcpy(c.parameters, data, size);
    c.parameters_size = size;
    *coded = c;
    return WCODEC_OK;
}

/* Rows of the matrix that a tensor is predicted as: the last dimension; with those before it where
 * it is narrower than a block, as convolution kernels are. */
static uint64_t matrix_columns(const struct wcodec_entry *what)
{
    uint64_t columns = 1;
    unsigned i = what->rank;
    while (i > 1 && columns < WCODEC_BLOCK_SIDE)
        columns *= what->shape[--i];
    return i > 0 && columns >= WCODEC_BLOCK_SIDE ? columns : 0;
}

wcodec_status wcodec_code_bytes(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, bool weights,
                                const struct wcodec_entry *what, const void *data,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_dtype dtype = (wcodec_dtype)what->dtype;
    /* Headers of archives' members and of arrays, of which there is one for each tensor, have
     * names, blanks and zeros. */
    if (!what->is_tensor && what->size != 0 && what->size <= settings->inline_most &&
        !repeats(data, (size_t)what->size, 0))
        return code_inline(&context->allocator, data, (size_t)what->size, coded, err);
    const uint64_t tiny = what->is_tensor ? WCODEC_TINY_BYTES : WCODEC_TINY_BLOB_BYTES;
    if (what->size != 0 && what->size <= tiny) {
        const wcodec_status status =
            code_tiny(&context->allocator, dtype, data, (size_t)what->size, coded, err);
        if (status == WCODEC_OK && settings->lossy != WCODEC_LOSSY_NONE &&
            coded->coding != WCODEC_CODING_CONSTANT)
            coded->lossless =
                wcodec_lossy_dtype(dtype) ? "it is small" : "its type has no lossy form";
        return status;
    }
    struct wcodec_encode_settings own = *settings;
    own.weights = weights;
    own.columns = matrix_columns(what);
    own.geometry = what->u.geometry;
    return wcodec_encode_tensor(context, &own, dtype, data, what->size, coded, err);
}

wcodec_status wcodec_write_batch_init(struct wcodec_write_batch *batch, wcodec_error *err)
{
    batch->items = wcodec_alloc_array(&batch->context->allocator, WCODEC_WRITE_BATCH_ITEMS,
                                      sizeof *batch->items);
    batch->pending = wcodec_alloc_array(&batch->context->allocator, WCODEC_WRITE_BATCH_ITEMS,
                                        sizeof *batch->pending);
    return batch->items && batch->pending
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a batch of tensors");
}

static void free_coded(const wcodec_allocator *allocator, struct wcodec_write_batch_item *items,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_coded)
            wcodec_coded_free(&items[i].coded);
        wcodec_free(allocator, items[i].approximation);
        wcodec_looked_free(allocator, &items[i].looked);
    }
}

void wcodec_write_batch_free(struct wcodec_write_batch *batch)
{
    if (!batch->context)
        return;
    free_coded(&batch->context->allocator, batch->items, batch->count);
    free_coded(&batch->context->allocator, batch->pending, batch->pending_count);
    batch->count = batch->pending_count = 0;
    wcodec_free(&batch->context->allocator, batch->items);
    wcodec_free(&batch->context->allocator, batch->pending);
    wcodec_free(&batch->context->allocator, batch->data);
    batch->items = batch->pending = NULL;
    batch->data = NULL;
}

wcodec_status wcodec_write_batch_reserve(struct wcodec_write_batch *batch, uint64_t size, bool keep,
                                         wcodec_error *err)
{
    const wcodec_allocator *allocator = &batch->context->allocator;
    /* A large tensor's memory is not kept for the small ones after it. */
    bool large =
        !keep && batch->data_capacity > WCODEC_WRITE_BATCH_BYTES && batch->data_capacity / 2 > size;
    if (batch->data && size <= batch->data_capacity && !large) /* nothing has a pointer too */
        return WCODEC_OK;
    if (!keep) {
        wcodec_free(allocator, batch->data);
        batch->data = NULL;
    }
    uint8_t *data = wcodec_realloc_array(allocator, batch->data, size, 1);
    if (!data) {
        batch->data_capacity = batch->data ? batch->data_capacity : 0;
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", size);
    }
    wcodec_prefer_large_pages(allocator, data, (size_t)size);
    batch->data = data;
    batch->data_capacity = size;
    return WCODEC_OK;
}

bool wcodec_write_batch_by_coder(const struct wcodec_write_batch *batch,
                                 const struct wcodec_entry *what, bool weights, uint64_t offset)
{
    return batch->coder != NULL && (batch->bases != NULL) == batch->coder->by_base && weights &&
           what->is_tensor && what->u.geometry == NULL && what->size >= WCODEC_WRITE_BATCH_LARGE &&
           batch->coder->takes(batch->coder->opaque, &batch->settings, what, offset);
}

/* Bytes, their payload, and the payload of those before; with loss, coefficients and
 * approximations. */
static uint64_t most_bytes(const struct wcodec_write_batch *batch)
{
    const uint64_t share = batch->settings.lossy != WCODEC_LOSSY_NONE ? 8 : 4;
    if (batch->by_coder)
        return WCODEC_WRITE_BATCH_CODER_BYTES;
    return batch->memory / share < WCODEC_WRITE_BATCH_BYTES ? batch->memory / share
                                                            : WCODEC_WRITE_BATCH_BYTES;
}

bool wcodec_write_batch_is_full(const struct wcodec_write_batch *batch, uint64_t size,
                                bool by_coder)
{
    const uint64_t limit = most_bytes(batch);
    return batch->count != 0 &&
           (batch->count == WCODEC_WRITE_BATCH_ITEMS || batch->by_coder != by_coder ||
            size > limit || batch->size > limit - size);
}

void wcodec_write_batch_add(struct wcodec_write_batch *batch, const struct wcodec_entry *what,
                            bool weights, bool by_coder)
{
    WCODEC_ASSERT(batch->count == 0 || batch->by_coder == by_coder);
    batch->by_coder = by_coder;
    /* With loss asked for, patterns say what it is for; the others are weights all the same. */
    const bool lossy = batch->settings.lossy != WCODEC_LOSSY_NONE && what->is_tensor,
               anchored = weights && wcodec_tables_has(batch->options, what);
    const bool is_lossy = weights && lossy && (anchored || !batch->settings.tables.alone);
    batch->items[batch->count++] = (struct wcodec_write_batch_item){.what = *what,
                                                                    .weights = weights || lossy,
                                                                    .lossy = is_lossy,
                                                                    .anchored = anchored,
                                                                    .at = batch->size,
                                                                    .alias = UINT64_MAX};
    batch->size += what->size;
}

/* Tensors that can be constants need no alias. */
static bool is_candidate(const struct wcodec_write_batch *batch,
                         const struct wcodec_write_batch_item *item)
{
    return batch->dedup && item->what.is_tensor && item->what.size > 8;
}

/* May what it decodes to differ from what it is? */
static bool may_be_lossy(const struct wcodec_write_batch_item *item)
{
    return item->lossy && wcodec_lossy_dtype((wcodec_dtype)item->what.dtype);
}

static void note_failure(struct work *w, uint64_t position, wcodec_status status,
                         const wcodec_error *error)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed) || position < w->failed_position) {
        w->failed_position = position;
        w->status = status;
        w->error = *error;
    }
    atomic_store(&w->failed, true);
    pthread_mutex_unlock(&w->lock);
}

static void note_item_failure(struct work *w, uint64_t position,
                              const struct wcodec_write_batch_item *item, wcodec_status status,
                              wcodec_error *error)
{
    if (item->what.name && status != WCODEC_ERROR_CANCELLED)
        wcodec_error_prefix(error, "tensor \"%.200s\"", item->what.name);
    note_failure(w, position, status, error);
}

/* Bytes of a payload that is put together by a copy: larger ones would take more memory, a copy for
 * each thread, than they save in time. */
enum { SMALL_PAYLOAD = 16 << 10 };

/* Of a small tensor, when it has been verified. */
static wcodec_status settle_small(struct work *w, struct wcodec_coded *coded, const uint8_t *data,
                                  uint64_t *hash, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (w->batch->settings.verify)
        status = wcodec_coded_verify(w->batch->context, &w->settings, coded, data, NULL, err);
    if (status == WCODEC_OK)
        status = wcodec_coded_gather(coded, err);
    return status == WCODEC_OK
               ? wcodec_coded_hash(w->batch->context, w->batch->output->original.leaf, coded, hash,
                                   err)
               : status;
}

/* Verify, if that is asked for, and hash. */
static void settle(struct work *w, uint64_t position, struct wcodec_write_batch_item *item,
                   const uint8_t *data)
{
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (!item->is_coded || item->is_settled || atomic_load(&w->failed))
        return;
    const uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    const bool verify = w->batch->settings.verify;
    const wcodec_leaf_fn leaf = w->batch->output->original.leaf;
    if (item->coded.payload_size <= SMALL_PAYLOAD)
        status = settle_small(w, &item->coded, data, &item->payload_hash, &error);
    else if (verify)
        status = wcodec_coded_settle(w->batch->context, &w->settings, leaf, &item->coded, data,
                                     &item->payload_hash, &error);
    else
        status =
            wcodec_coded_hash(w->batch->context, leaf, &item->coded, &item->payload_hash, &error);
    (void)wcodec_phase_end(&w->batch->phases, verify ? WCODEC_PHASE_VERIFY : WCODEC_PHASE_HASH,
                           begin);
    item->is_settled = status == WCODEC_OK;
    wcodec_free(&w->batch->context->allocator, item->coded.coefficients);
    item->coded.coefficients = NULL;
    if (status != WCODEC_OK)
        note_item_failure(w, position, item, status, &error);
}

static bool is_large(const struct wcodec_write_batch_item *item)
{
    return item->weights && item->what.size >= WCODEC_WRITE_BATCH_LARGE;
}

/* Has a base a tensor like this? Small ones are not worth naming a base. */
static bool has_base(const struct wcodec_write_batch *b, const struct wcodec_write_batch_item *item)
{
    return b->bases != NULL && item->weights && item->what.is_tensor &&
           item->what.size > WCODEC_TINY_BYTES &&
           wcodec_base_fetch_of(b->bases)->has(b->bases, &item->what);
}

/* As a difference from its base, or alone if that is smaller. */
static wcodec_status code_by_base(const struct wcodec_write_batch *b,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_write_batch_item *item, const uint8_t *data,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &b->context->allocator;
    struct wcodec_encode_settings own = *settings;
    const struct wcodec_base_fetch *from = wcodec_base_fetch_of(b->bases);
    struct wcodec_delta_base base;
    wcodec_status status = WCODEC_OK;
    uint8_t *bytes = NULL;
    const bool placed = from->place != NULL && from->place(b->bases, &item->what, &base);
    if (!placed)
        bytes = wcodec_alloc_array(allocator, item->what.size, 1);
    if (!placed && bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a base's %" PRIu64 " bytes",
                           item->what.size);
    own.verify = b->settings.verify;
    own.weights = item->weights;
    own.columns = matrix_columns(&item->what);
    own.geometry = item->what.u.geometry;
    if (!placed)
        status = from->fetch(b->bases, &item->what, bytes, &base, err);
    if (status == WCODEC_OK)
        status = wcodec_delta_code(b->context, &own, (wcodec_dtype)item->what.dtype, data,
                                   item->what.size, &base, &item->coded, err);
    wcodec_free(allocator, bytes);
    return status;
}

/* By its bytes at data. */
static void code_here(struct work *w, size_t i, const uint8_t *data)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->items[i];
    struct wcodec_encode_settings settings = w->settings;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (item->alias != UINT64_MAX && !may_be_lossy(item))
        return;
    settings.verify = false;
    settings.verify_parts = b->settings.verify;
    /* A writer's only item that is no tensor is its header. */
    settings.quick = b->source == NULL && !item->what.is_tensor;
    settings.lossy = item->lossy ? settings.lossy : WCODEC_LOSSY_NONE;
    if (item->anchored)
        wcodec_tables_settings(&settings);
    if (wcodec_cancel_poll(settings.cancel))
        status = wcodec_fail(&error, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    const uint64_t time = wcodec_phase_begin(&b->phases);
    if (status == WCODEC_OK && has_base(b, item))
        status = code_by_base(b, &settings, item, data, &error);
    else if (status == WCODEC_OK)
        status = wcodec_code_bytes(b->context, &settings, item->weights, &item->what, data,
                                   &item->coded, &error);
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_CODE, time);
    item->is_coded = status == WCODEC_OK;
    if (status == WCODEC_OK) {
        item->approximation = item->coded.approximation;
        item->coded.approximation = NULL;
    }
    /* Of an alias only what it decodes to is wanted: the same as what its entry does. */
    if (item->is_coded && item->alias != UINT64_MAX) {
        wcodec_coded_free(&item->coded);
        item->is_coded = false;
    }
    if (status != WCODEC_OK)
        note_item_failure(w, PLACE_BATCH + i, item, status, &error);
}

static void code_item(struct work *w, size_t i)
{
    struct wcodec_write_batch_item *item = &w->batch->items[i];
    code_here(w, i, w->batch->bytes + item->at);
    if (!is_large(item))
        settle(w, PLACE_BATCH + i, item, w->batch->bytes + item->at);
}

/* Of a batch that the coder has: what it leaves is coded here later. */
static void code_by_coder(struct work *w, size_t i)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->items[i];
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    bool done = false;
    if (item->alias != UINT64_MAX)
        return;
    const uint64_t time = wcodec_phase_begin(&b->phases);
    if (wcodec_cancel_poll(w->settings.cancel))
        status = wcodec_fail(&error, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (status == WCODEC_OK)
        status = b->coder->code(b->coder->opaque, &b->settings, &item->what, b->begin + item->at,
                                &item->coded, &done, &error);
    item->is_coded = done;
    if (done)
        status = wcodec_coded_hash(b->context, b->output->original.leaf, &item->coded,
                                   &item->payload_hash, &error);
    item->is_settled = done;
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_CODE, time);
    if (status != WCODEC_OK)
        note_item_failure(w, PLACE_BATCH + i, item, status, &error);
}

/* The original's hash goes by what is decoded. */
static void hash_approximations(struct work *w)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < b->count && status == WCODEC_OK; i++) {
        struct wcodec_write_batch_item *item = &b->items[i];
        status = wcodec_output_hash(b->context, b->output,
                                    item->approximation ? item->approximation : b->bytes + item->at,
                                    item->what.size, &error);
        wcodec_free(&b->context->allocator, item->approximation);
        item->approximation = NULL;
    }
    if (status != WCODEC_OK)
        note_failure(w, PLACE_BATCH, status, &error);
}

/* Tasks take items until none is left. */
static void code_task(void *argument, size_t i)
{
    struct work *w = argument;
    (void)i;
    for (size_t item;
         !atomic_load(&w->failed) && (item = atomic_fetch_add(&w->next, 1)) < w->batch->count;)
        if (w->batch->by_coder)
            code_by_coder(w, item);
        else
            code_item(w, item);
}

/* Items that are at work at once. */
static size_t count_coders(const struct wcodec_write_batch *b)
{
    const size_t threads = wcodec_context_threads(b->context),
                 most = threads < b->coder->workers ? threads : b->coder->workers;
    return most < b->count ? most : b->count;
}

static void read_task(void *argument, size_t i)
{
    struct work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    const uint64_t at = w->read_begin + i * READ_PIECE, left = w->read_end - at,
                   size = left < READ_PIECE ? left : READ_PIECE;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (atomic_load(&w->failed))
        return;
    uint64_t time = wcodec_phase_begin(&b->phases);
    if (b->source && b->source->fd >= 0)
        status = wcodec_source_read(b->source, b->begin + at, b->data + at, (size_t)size, &error);
    time = wcodec_phase_end(&b->phases, WCODEC_PHASE_READ, time);
    if (status == WCODEC_OK && b->settings.lossy == WCODEC_LOSSY_NONE)
        status = wcodec_tree_put(&b->output->original, b->output->hashed + (at - w->read_begin),
                                 b->bytes + at, size, &error);
    (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_HASH, time);
    if (status != WCODEC_OK)
        note_failure(w, PLACE_BATCH + i, status, &error);
}

/* Copying from the system's cache, touching new memory, and hashing what is in cache then take as
 * long as some of the coding: each piece is one thread's. */
static void read_bytes(struct work *w)
{
    struct wcodec_write_batch *b = w->batch;
    const uint64_t most = wcodec_tree_span(&b->output->original);
    wcodec_error error = {0};
    if (b->source && b->source->fd < 0) {
        b->bytes = b->source->data + b->begin;
    } else if (b->source) {
        wcodec_status status = wcodec_write_batch_reserve(b, b->size, false, &error);
        if (status != WCODEC_OK) {
            note_failure(w, PLACE_BATCH, status, &error);
            return;
        }
        b->bytes = b->data;
    }
    for (w->read_begin = 0; w->read_begin < b->size && !atomic_load(&w->failed);
         w->read_begin = w->read_end) {
        w->read_end = b->size - w->read_begin < most ? b->size : w->read_begin + most;
        wcodec_run(b->context, read_task, w,
                   (size_t)wcodec_div_up_u64(w->read_end - w->read_begin, READ_PIECE));
        if (b->settings.lossy == WCODEC_LOSSY_NONE) {
            wcodec_tree_advance(&b->output->original);
            b->output->hashed += w->read_end - w->read_begin;
        }
    }
}

static void look_task(void *argument, size_t i)
{
    struct work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    (void)i;
    for (size_t n; !atomic_load(&w->failed) && (n = atomic_fetch_add(&w->next, 1)) < b->count;) {
        struct wcodec_write_batch_item *item = &b->items[n];
        const uint64_t time = wcodec_phase_begin(&b->phases);
        const wcodec_status status =
            wcodec_looked_take(&b->context->allocator, b->coder, b->begin + item->at,
                               item->what.size, &item->looked, &error);
        (void)wcodec_phase_end(&b->phases, WCODEC_PHASE_HASH, time);
        if (status != WCODEC_OK)
            note_item_failure(w, PLACE_BATCH + n, item, status, &error);
    }
}

/* In place of reading: the coder has the bytes, and says their hashes. */
static void look_at_items(struct work *w)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    b->bytes = NULL;
    wcodec_run(b->context, look_task, w, count_coders(b));
    atomic_store(&w->next, 0);
    for (size_t i = 0; i < b->count && !atomic_load(&w->failed); i++) {
        const wcodec_status status =
            wcodec_looked_put(&b->items[i].looked, &b->output->original, &error);
        if (status != WCODEC_OK)
            note_failure(w, PLACE_BATCH + i, status, &error);
        b->output->hashed += b->items[i].what.size;
    }
}

static wcodec_status find_alias(struct wcodec_write_batch *b, size_t i, wcodec_error *err)
{
    struct wcodec_write_batch_item *item = &b->items[i];
    if (!is_candidate(b, item))
        return WCODEC_OK;
    item->hash = b->by_coder ? wcodec_dedup_hash_samples(item->looked.samples)
                             : wcodec_dedup_hash(b->bytes + item->at, (size_t)item->what.size);
    wcodec_looked_free(&b->context->allocator, &item->looked);
    /* What comes of equal bytes depends on their type and view too. */
    if (may_be_lossy(item))
        item->hash.low +=
            ((matrix_columns(&item->what) * 2 + item->anchored) * 256 + item->what.dtype + 1) *
            0x9E3779B97F4A7C15u;
    wcodec_status status = b->by_coder
                               ? wcodec_dedup_find_read(b->dedup, item->hash, b->begin + item->at,
                                                        item->what.size, &item->alias, err)
                               : wcodec_dedup_find(b->dedup, item->hash, b->bytes + item->at,
                                                   (size_t)item->what.size, &item->alias, err);
    if (status != WCODEC_OK || item->alias != UINT64_MAX)
        return status;
    struct wcodec_dedup_item known = {item->hash, item->what.size, b->begin + item->at,
                                      b->first_entry + i};
    return wcodec_dedup_add(b->dedup, &known, err);
}

/* Entry numbers are known before anything is coded: items become entries in their order. */
static void find_aliases(struct work *w)
{
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    if (!b->dedup || atomic_load(&w->failed))
        return;
    b->dedup->held = b->bytes;
    b->dedup->held_begin = b->begin;
    b->dedup->held_size = b->bytes != NULL ? b->size : 0;
    for (size_t i = 0; i < b->count && !atomic_load(&w->failed); i++) {
        wcodec_status status = find_alias(b, i, &error);
        if (status != WCODEC_OK)
            note_failure(w, PLACE_BATCH + i, status, &error);
    }
}

/* What loss takes beside: coefficients and what they decode to, as long as the item is at work;
 * fragments: the elements in their order; records: a field; deltas: the base, differences and
 * their payloads; */
uint64_t wcodec_write_batch_beside(const struct wcodec_encode_settings *settings, uint64_t size)
{
    if (settings->lossy != WCODEC_LOSSY_NONE)
        return size * 9 / 4;
    if (settings->delta)
        return 3 * size;
    return settings->fragments || settings->records ? size : 0;
}

/* and a sample of blocks, costs and figures while the step is searched; of tables anchors in three
 * forms, and what a recall is measured with. */
static uint64_t lossy_planning(const struct wcodec_encode_settings *settings, uint64_t size)
{
    const uint64_t sample = 6 * size < 5 << 19 ? 6 * size : 5 << 19,
                   table = 14 * size < 54 << 20 ? 14 * size : 54 << 20;
    if (settings->lossy == WCODEC_LOSSY_NONE)
        return 0;
    return sample + (384 << 10) + (settings->tables.on ? table : 0);
}

/* What planning takes for one item: samples, counts, and zstd's look. From level 5 on zstd may be
 * tried on all of it, with tables that count. */
static uint64_t planning_memory(const struct wcodec_write_batch *b, uint64_t size)
{
    uint64_t most = b->settings.level >= 7 ? 8 << 20 : 1 << 20,
             chunk = size < WCODEC_CHUNK_MAX ? size : WCODEC_CHUNK_MAX;
    /* Limited memory: residuals, or the values of a masked tensor, and a second payload. */
    uint64_t predicted = b->context->limits.max_memory != UINT64_MAX ? 2 * size : 0;
    /* A payload that is packed, and again when it is verified: allocators keep what is freed. */
    uint64_t packed = 4 * (size < WCODEC_PACKED_MOST ? size : WCODEC_PACKED_MOST);
    return predicted + packed + lossy_planning(&b->settings, size) + (320 << 10) +
           2 * (size < most ? size : most) +
           (b->settings.level >= 5
                ? wcodec_chunk_encode_memory(wcodec_zstd_level(b->settings.level), chunk)
                : 0);
}

/* What coding an item takes beside it and its payload, in one thread. */
static uint64_t least_scratch(const struct wcodec_encode_settings *settings, uint64_t size)
{
    uint64_t tiles = 8 * size < 6 << 20 ? 8 * size : 6 << 20,
             chunk = size < WCODEC_CHUNK_MAX ? size : WCODEC_CHUNK_MAX;
    return (512 << 10) + tiles +
           wcodec_chunk_encode_memory(wcodec_zstd_level(settings->level), chunk);
}

static uint64_t payload_most(uint64_t size)
{
    return size + size / 32;
}

uint64_t wcodec_write_batch_least(const struct wcodec_encode_settings *settings, uint64_t size)
{
    return size + payload_most(size) + wcodec_write_batch_beside(settings, size) +
           lossy_planning(settings, size) + least_scratch(settings, size);
}

static uint64_t largest_item(const struct wcodec_write_batch *b)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < b->count; i++)
        largest = b->items[i].what.size > largest ? b->items[i].what.size : largest;
    return largest;
}

/* How many items at once, and how much scratch for each. */
static void share_memory(struct work *w, uint64_t scratch)
{
    const struct wcodec_write_batch *b = w->batch;
    uint64_t planning = scratch / 2, threads = wcodec_context_threads(b->context),
             most = planning / planning_memory(b, largest_item(b));
    most = most < 1 ? 1 : most < threads ? most : threads;
    w->coders = b->count < most ? b->count : (size_t)most;
    if (b->by_coder)
        w->coders = count_coders(b);
    w->settings = b->settings;
    w->settings.scratch = (scratch - planning) / (w->coders ? w->coders : 1);
}

/* A tensor of the source that the coder left: read here, for this alone. */
struct bringing {
    struct work *work;
    uint64_t offset, size;
    uint8_t *bytes;
    size_t item;
};

static void bring_task(void *argument, size_t i)
{
    const struct bringing *g = argument;
    const uint64_t at = (uint64_t)i * READ_PIECE, left = g->size - at;
    wcodec_error error = {0};
    if (atomic_load(&g->work->failed))
        return;
    const wcodec_status status =
        g->work->batch->coder->read(g->work->batch->coder->opaque, g->offset + at, g->bytes + at,
                                    (size_t)(left < READ_PIECE ? left : READ_PIECE), &error);
    if (status != WCODEC_OK)
        note_failure(g->work, PLACE_BATCH + g->item, status, &error);
}

static void code_left(struct work *w, size_t i)
{
    struct wcodec_write_batch *b = w->batch;
    struct wcodec_write_batch_item *item = &b->items[i];
    struct bringing g = {
        .work = w, .offset = b->begin + item->at, .size = item->what.size, .item = i};
    wcodec_error error = {0};
    if (item->is_coded || item->alias != UINT64_MAX || atomic_load(&w->failed))
        return;
    g.bytes = wcodec_alloc_array(&b->context->allocator, g.size, 1);
    if (g.bytes == NULL) {
        const wcodec_status status =
            wcodec_fail(&error, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", g.size);
        note_item_failure(w, PLACE_BATCH + i, item, status, &error);
        return;
    }
    wcodec_run(b->context, bring_task, &g, (size_t)wcodec_div_up_u64(g.size, READ_PIECE));
    w->settings.scratch = least_scratch(&b->settings, g.size);
    if (!atomic_load(&w->failed))
        code_here(w, i, g.bytes);
    if (!atomic_load(&w->failed))
        settle(w, PLACE_BATCH + i, item, g.bytes);
    wcodec_free(&b->context->allocator, g.bytes);
}

static void code_items(struct work *w)
{
    if (!atomic_load(&w->failed))
        wcodec_run(w->batch->context, code_task, w, w->coders);
    for (size_t i = 0; i < w->batch->count && w->batch->by_coder; i++)
        code_left(w, i);
    if (!atomic_load(&w->failed) && w->batch->settings.lossy != WCODEC_LOSSY_NONE)
        hash_approximations(w);
    w->is_coded = true;
}

static uint64_t pending_size(const struct wcodec_write_batch *b)
{
    uint64_t size = 0;
    for (size_t i = 0; i < b->pending_count; i++)
        if (b->pending[i].is_coded && b->pending[i].coded.loan.end == NULL)
            size += b->pending[i].coded.payload_size;
    return size;
}

/* Memory that is left for coding beside the batch's bytes, its payload and `others`; 0: too little.
 */
static uint64_t left_over(const struct wcodec_write_batch *b, uint64_t others)
{
    uint64_t bytes = b->source && b->source->fd < 0 ? 0 : b->size,
             taken = bytes + payload_most(b->size) +
                     wcodec_write_batch_beside(&b->settings, b->size) + others;
    return b->memory >= taken + least_scratch(&b->settings, largest_item(b)) ? b->memory - taken
                                                                             : 0;
}

/* What of the last batch is still to be verified. */
static uint64_t unsettled_size(const struct wcodec_write_batch *b)
{
    uint64_t size = 0;
    for (size_t i = 0; i < b->pending_count; i++)
        size += b->pending[i].is_coded && !b->pending[i].is_settled ? b->pending[i].what.size : 0;
    return size;
}

static void settle_task(void *argument, size_t i)
{
    struct work *w = argument;
    struct wcodec_write_batch_item *item = &w->batch->pending[i];
    if (item->is_coded && !item->is_settled) /* else its bytes may be no more */
        settle(w, PLACE_PENDING + i, item, w->batch->pending_bytes + item->at);
}

static void settle_pending(struct work *w)
{
    wcodec_run(w->batch->context, settle_task, w, w->batch->pending_count);
}

static void log_lossy(const struct wcodec_write_batch *b,
                      const struct wcodec_write_batch_item *item)
{
    wcodec_context *context = b->context;
    const char *reason = item->coded.lossless;
    if (item->coded.recall > 0 && wcodec_log_wants(context, WCODEC_LOG_INFO))
        wcodec_log(context, WCODEC_LOG_INFO, "tensor \"%.200s\" reaches a recall@%d of %.4f",
                   item->what.name, (int)WCODEC_RECALL_NEAREST, item->coded.recall);
    if (b->settings.tables.alone && !item->anchored)
        return;
    if (item->weights && !item->lossy && wcodec_lossy_dtype((wcodec_dtype)item->what.dtype))
        reason = "its name is left out";
    if (reason && wcodec_log_wants(context, WCODEC_LOG_INFO))
        wcodec_log(context, WCODEC_LOG_INFO, "tensor \"%.200s\" stays lossless: %s",
                   item->what.name, reason);
}

/* Is there one thread for everything? */
static bool is_alone(const struct wcodec_write_batch *b)
{
    return wcodec_context_threads(b->context) == 1;
}

/* Threads that write what is pending. Each more of them takes longer for its part, which keeps it
 * from coding. */
static size_t count_writers(const struct work *w)
{
    const size_t threads = wcodec_context_threads(w->batch->context),
                 share = w->scratch != 0 ? 1 + (threads - 1) / 3 : threads,
                 most = w->batch->writers;
    return most != 0 && most < share ? most : share;
}

static void write_pending(void *argument)
{
    struct work *w = argument;
    struct wcodec_write_batch *b = w->batch;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    const uint64_t begin = wcodec_phase_begin(&b->phases);
    for (size_t i = 0; i < b->pending_count && status == WCODEC_OK; i++) {
        const struct wcodec_write_batch_item *item = &b->pending[i];
        if (b->settings.lossy != WCODEC_LOSSY_NONE && item->is_coded)
            log_lossy(b, item);
        if (item->alias != UINT64_MAX)
            status = wcodec_output_alias(b->output, &item->what, item->alias, &error);
        else
            status = wcodec_output_coded(b->output, &item->what, &item->coded, &error);
    }
    if (status == WCODEC_OK)
        status = wcodec_output_write(b->context, b->output, count_writers(w),
                                     is_alone(b) ? NULL : &b->phases, &error);
    w->written_ns = wcodec_phase_begin(&b->phases);
    w->writing_ns = w->written_ns - begin;
    if (status != WCODEC_OK)
        note_failure(w, PLACE_WRITE, status, &error);
}

/* A stage has ended, which began at that time. Returns the time. */
static uint64_t end_stage(struct work *w, uint64_t begin, enum wcodec_phase phase)
{
    const uint64_t now = wcodec_phase_begin(&w->batch->phases);
    wcodec_phases_divide(&w->batch->phases, now - begin, phase);
    return now;
}

static void settle_stage(struct work *w)
{
    const uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    settle_pending(w);
    (void)end_stage(w, begin, WCODEC_PHASE_VERIFY);
}

/* Beside the writing: first what needs the bytes of what is written, whose place the next ones
 * take. */
static void prepare_next(void *argument)
{
    struct work *w = argument;
    settle_stage(w);
    uint64_t begin = wcodec_phase_begin(&w->batch->phases);
    if (w->batch->by_coder)
        look_at_items(w);
    else
        read_bytes(w);
    begin = end_stage(w, begin, WCODEC_PHASE_READ);
    find_aliases(w);
    if (w->scratch != 0) {
        share_memory(w, w->scratch);
        code_items(w);
    }
    w->prepared_ns = end_stage(w, begin, WCODEC_PHASE_CODE);
}

static void settle_beside(void *argument)
{
    struct work *w = argument;
    settle_stage(w);
    w->prepared_ns = wcodec_phase_begin(&w->batch->phases);
}

/* Writing beside other work takes time as far as it ends later; one thread does it before that. */
static void end_beside(struct work *w)
{
    struct wcodec_phases *p = &w->batch->phases;
    if (is_alone(w->batch))
        p->shares[WCODEC_PHASE_WRITE] += w->writing_ns;
    else if (p->on && w->written_ns > w->prepared_ns) {
        const uint64_t longer = w->written_ns - w->prepared_ns;
        p->shares[WCODEC_PHASE_WRITE] += longer < w->writing_ns ? longer : w->writing_ns;
    }
}

static wcodec_status begin_work(struct work *w, struct wcodec_write_batch *batch, wcodec_error *err)
{
    *w = (struct work){.batch = batch, .settings = batch->settings};
    w->settings.scratch = VERIFY_SCRATCH;
    return pthread_mutex_init(&w->lock, NULL) == 0
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
}

static wcodec_status end_work(struct work *w, wcodec_error *err)
{
    pthread_mutex_destroy(&w->lock);
    return atomic_load(&w->failed) ? wcodec_fail(err, w->status, "%s", w->error.text) : WCODEC_OK;
}

/* What was written has its hashes by now. */
static void release_pending(struct wcodec_write_batch *b)
{
    if (b->pending_count == 0)
        return;
    struct wcodec_entry *entries =
        b->output->index.entries + (b->output->index.entry_count - b->pending_count);
    for (size_t i = 0; i < b->pending_count; i++)
        if (b->pending[i].is_coded)
            entries[i].payload_hash = b->pending[i].payload_hash;
    free_coded(&b->context->allocator, b->pending, b->pending_count);
    b->pending_count = 0;
}

wcodec_status wcodec_write_batch_run(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct work w;
    if (batch->count == 0)
        return WCODEC_OK;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_cancel_span(batch->settings.cancel, batch->begin, batch->size,
                       batch->settings.level >= 7 ? PASSES_SMALL : PASSES);
    batch->first_entry = batch->output->index.entry_count + batch->pending_count;
    w.scratch = batch->by_coder ? VERIFY_SCRATCH : left_over(batch, pending_size(batch));
    wcodec_run_beside(batch->context, write_pending, prepare_next, &w);
    end_beside(&w);
    if (!atomic_load(&w.failed)) {
        release_pending(batch);
        if (!w.is_coded) {
            uint64_t scratch = left_over(batch, 0);
            const uint64_t begin = wcodec_phase_begin(&batch->phases);
            share_memory(&w,
                         scratch ? scratch : least_scratch(&batch->settings, largest_item(batch)));
            code_items(&w);
            (void)end_stage(&w, begin, WCODEC_PHASE_CODE);
        }
    }
    status = end_work(&w, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_write_batch_item *items = batch->pending;
    batch->pending = batch->items;
    batch->pending_count = batch->count;
    batch->pending_bytes = batch->bytes;
    batch->items = items;
    batch->begin += batch->size;
    batch->count = 0;
    batch->size = 0;
    return WCODEC_OK;
}

wcodec_status wcodec_write_batch_settle(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct work w;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    settle_pending(&w);
    return end_work(&w, err);
}

wcodec_status wcodec_write_batch_flush(struct wcodec_write_batch *batch, wcodec_error *err)
{
    struct work w;
    if (batch->pending_count == 0)
        return WCODEC_OK;
    wcodec_status status = begin_work(&w, batch, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t size = unsettled_size(batch);
    wcodec_cancel_span(batch->settings.cancel, batch->begin - size / 10, size / 10, 10);
    wcodec_run_beside(batch->context, write_pending, settle_beside, &w);
    end_beside(&w);
    status = end_work(&w, err);
    if (status == WCODEC_OK)
        release_pending(batch);
    return status;
}
