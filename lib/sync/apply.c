/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A message brought to the weights that it is of, in place: a tile depends on its own bytes only.
 */
#include "sync/apply.h"
#include "coding/linear.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"
#include <string.h>

enum { PIECE = 4 << 20, HASH_PIECE = 1 << 20 };

static const wcodec_delta_apply_options defaults = {.verify = WCODEC_DELTA_VERIFY_BEFORE};

void wcodec_delta_apply_options_init_size(wcodec_delta_apply_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* A tensor at work. */
struct target {
    struct wcodec_sync_apply *apply;
    const struct wcodec_sync_tensor *tensor;
    struct wcodec_decoder decoder;
    _Atomic uint64_t sum; /* of the result's hash */
    uint8_t *host;        /* NULL: the host does not see it */
    uint8_t *scratch;     /* NULL: it is decoded where it is */
    uint64_t piece;
    bool writes;
};

/* A piece that is decoded, as its hash is taken. */
struct hashed {
    struct target *target;
    const uint8_t *bytes;
    uint64_t at, size;
};

static void hash_task(void *argument, size_t i)
{
    struct hashed *h = argument;
    const uint64_t offset = (uint64_t)i * HASH_PIECE, left = h->size - offset;
    atomic_fetch_add(&h->target->sum,
                     wcodec_linear_sum(h->bytes + offset, left < HASH_PIECE ? left : HASH_PIECE,
                                       h->at + offset));
}

static void hash_piece(struct target *t, uint64_t at, const uint8_t *bytes, uint64_t size)
{
    struct hashed h = {.target = t, .bytes = bytes, .at = at, .size = size};
    wcodec_run(t->apply->context, hash_task, &h, (size_t)wcodec_div_up_u64(size, HASH_PIECE));
}

static wcodec_status apply_piece(struct target *t, uint64_t at, uint64_t end, wcodec_error *err)
{
    struct wcodec_sync_apply *a = t->apply;
    struct wcodec_reporter silent = {0};
    uint8_t *out = t->scratch != NULL ? t->scratch : t->host + at;
    if (t->writes && t->host != NULL) /* from here on its bytes change */
        a->states[t->tensor->weight] = WCODEC_DELTA_STATE_BROKEN;
    wcodec_status status = wcodec_decoder_range(&t->decoder, at, end, out, &silent, err);
    if (status == WCODEC_OK)
        hash_piece(t, at, out, end - at);
    if (status == WCODEC_OK && t->writes && t->host == NULL) {
        a->states[t->tensor->weight] = WCODEC_DELTA_STATE_BROKEN;
        status = wcodec_save_write(a->weights, (size_t)t->tensor->weight, at, out,
                                   (size_t)(end - at), err);
    }
    wcodec_cancel_count(&a->cancel, end - at);
    const bool stop = wcodec_cancel_poll(&a->cancel) && a->trial; /* else it is too late */
    return status == WCODEC_OK && stop ? wcodec_cancel_check(&a->cancel, err) : status;
}

/* What the tensor takes beside its decoder, which is open. */
static wcodec_status prepare(struct target *t, wcodec_error *err)
{
    struct wcodec_sync_apply *a = t->apply;
    const wcodec_allocator *allocator = &a->context->allocator;
    const uint64_t unit = wcodec_decoder_unit(&t->decoder), size = t->tensor->entry->size;
    t->piece = unit < PIECE ? PIECE / unit * unit : unit;
    t->piece = t->piece < size ? t->piece : size;
    if (t->host == NULL || a->trial) {
        t->scratch = wcodec_alloc(allocator, (size_t)t->piece);
        if (t->scratch == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a piece of it");
    }
    return WCODEC_OK;
}

static wcodec_status wrong_result(bool writes, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                       writes ? "the hash of the result differs: the weights were not those "
                                "of the old snapshot, and are now of neither"
                              : "the hash of what it would become differs: the weights are not "
                                "those of the old snapshot");
}

static wcodec_status apply_tensor(struct wcodec_sync_apply *a, const struct wcodec_sync_tensor *s,
                                  wcodec_error *err)
{
    const uint64_t size = s->entry->size;
    struct target t = {.apply = a,
                       .tensor = s,
                       .host = (uint8_t *)(uintptr_t)wcodec_sync_host(a->weights, s->weight),
                       .writes = !a->trial && !s->equal};
    const struct wcodec_decoder_input input = wcodec_sync_input(a, s);
    wcodec_status status = wcodec_decoder_open(&input, &t.decoder, err);
    if (status != WCODEC_OK)
        return status;
    status = prepare(&t, err);
    for (uint64_t at = 0; at < size && status == WCODEC_OK; at += t.piece)
        status = apply_piece(&t, at, size - at < t.piece ? size : at + t.piece, err);
    if (status == WCODEC_OK && wcodec_linear_hash(atomic_load(&t.sum), size) != s->after)
        status = wrong_result(t.writes, err);
    wcodec_free(&a->context->allocator, t.scratch);
    wcodec_decoder_close(&t.decoder);
    return status;
}

/* The same by the device that has it, where it can. Where the sum of its hash is known, what that
 * changes by follows from what is written; else the result is read. */
static wcodec_status apply_on_device(struct wcodec_sync_apply *a,
                                     const struct wcodec_sync_tensor *s, bool *taken,
                                     wcodec_error *err)
{
    const uint64_t size = s->entry->size;
    uint64_t sum = s->sum;
    wcodec_status status = WCODEC_OK;
    *taken = !a->trial && wcodec_sync_patches(a, s) && (s->equal || s->fits);
    if (*taken && !s->equal)
        status = wcodec_sync_patch_on_device(a, s, &sum, err);
    if (status != WCODEC_OK || !*taken)
        return status;
    if (!s->equal)
        wcodec_log(a->context, WCODEC_LOG_DEBUG, "tensor \"%.200s\" is changed where it is by %s",
                   s->entry->name, a->weights->device->name);
    if (!s->summed)
        status = wcodec_sync_sum_on_device(a->weights, s->weight, &sum, err);
    if (status == WCODEC_OK && wcodec_linear_hash(sum, size) != s->after)
        status = wrong_result(!s->equal, err);
    wcodec_cancel_count(&a->cancel, size);
    return status;
}

static void apply_task(void *argument, size_t i)
{
    struct wcodec_sync_apply *a = argument;
    const struct wcodec_sync_tensor *t = &a->tensors[i];
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    bool taken = false;
    if (atomic_load(&a->failure.failed) || t->tied)
        return;
    if (t->entry->size != 0 && !(t->equal && a->proven)) {
        status = apply_on_device(a, t, &taken, &error);
        if (status == WCODEC_OK && !taken)
            status = apply_tensor(a, t, &error);
    }
    if (status == WCODEC_OK && !a->trial)
        a->states[t->weight] = WCODEC_DELTA_STATE_AFTER;
    if (status == WCODEC_OK)
        return;
    if (status != WCODEC_ERROR_CANCELLED)
        wcodec_sync_prefix(t->entry, &error);
    wcodec_sync_failure_note(&a->failure, i, status, &error);
}

static wcodec_status run(struct wcodec_sync_apply *a, bool trial, bool proven, wcodec_error *err)
{
    const wcodec_status status = wcodec_sync_failure_init(&a->failure, err);
    if (status != WCODEC_OK)
        return status;
    a->trial = trial;
    a->proven = proven;
    wcodec_run(a->context, apply_task, a, (size_t)a->count);
    return wcodec_sync_failure_end(&a->failure, err);
}

/* Hashes of weights that a device has. */
struct before {
    struct wcodec_sync_apply *apply;
    uint8_t *wanted;
    uint64_t *hashes;
    struct wcodec_sync_failure failure;
};

static void before_task(void *argument, size_t i)
{
    struct before *b = argument;
    struct wcodec_sync_apply *a = b->apply;
    struct wcodec_sync_tensor *t = &a->tensors[i];
    wcodec_error error = {0};
    if (atomic_load(&b->failure.failed) || !b->wanted[t->weight] ||
        !wcodec_sync_on_device(a->weights, t->weight))
        return;
    wcodec_status status = wcodec_cancel_check(&a->cancel, &error);
    if (status == WCODEC_OK) {
        status = wcodec_sync_sum_on_device(a->weights, t->weight, &t->sum, &error);
        t->summed = status == WCODEC_OK;
        b->hashes[t->weight] = wcodec_linear_hash(t->sum, t->entry->size);
        if (status != WCODEC_OK)
            wcodec_sync_prefix(t->entry, &error);
    }
    b->wanted[t->weight] = 0;
    wcodec_cancel_count(&a->cancel, t->entry->size);
    if (status != WCODEC_OK)
        wcodec_sync_failure_note(&b->failure, i, status, &error);
}

/* Those of `wanted` that a device hashes, which are wanted no more then. */
static wcodec_status hash_on_devices(struct wcodec_sync_apply *a, uint8_t *wanted, uint64_t *hashes,
                                     wcodec_error *err)
{
    struct before b = {.apply = a, .wanted = wanted, .hashes = hashes};
    const wcodec_status status = wcodec_sync_failure_init(&b.failure, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(a->context, before_task, &b, (size_t)a->count);
    return wcodec_sync_failure_end(&b.failure, err);
}

/* Are the weights that deltas are of those of the old snapshot? */
static wcodec_status verify_before(struct wcodec_sync_apply *a, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    const uint64_t count = a->weights->declared.names.count;
    uint8_t *wanted = wcodec_alloc_zeroed(allocator, (size_t)count + 1);
    uint64_t *hashes = wcodec_alloc_array(allocator, count + 1, sizeof *hashes);
    wcodec_status status =
        wanted != NULL && hashes != NULL
            ? WCODEC_OK
            : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    for (uint64_t i = 0; i < a->count && status == WCODEC_OK; i++)
        wanted[a->tensors[i].weight] = a->tensors[i].entry->coding == WCODEC_CODING_DELTA;
    if (status == WCODEC_OK)
        status = hash_on_devices(a, wanted, hashes, err);
    if (status == WCODEC_OK && memchr(wanted, 1, (size_t)count) != NULL)
        status = wcodec_sync_hash(a->weights, wanted, hashes, &a->cancel, err);
    for (uint64_t i = 0; i < a->count && status == WCODEC_OK; i++) {
        const struct wcodec_sync_tensor *t = &a->tensors[i];
        if (t->entry->coding != WCODEC_CODING_DELTA || hashes[t->weight] == t->before)
            continue;
        status = wcodec_fail(err, WCODEC_ERROR_MISMATCH,
                             "the weights are not those of the old snapshot, of which the message "
                             "is a delta");
        wcodec_sync_prefix(t->entry, err);
    }
    wcodec_free(allocator, wanted);
    wcodec_free(allocator, hashes);
    return status;
}

/* What is made sure of before anything changes; where weights are hashed, both at once. */
struct checks {
    struct wcodec_sync_apply *apply;
    wcodec_status message, weights;
    wcodec_error message_error, weights_error;
};

static void check_message(void *argument)
{
    struct checks *c = argument;
    c->message = wcodec_sync_check(c->apply, &c->message_error);
}

static void check_weights(void *argument)
{
    struct checks *c = argument;
    c->weights = verify_before(c->apply, &c->weights_error);
}

static wcodec_status check(struct wcodec_sync_apply *a, wcodec_error *err)
{
    struct checks c = {.apply = a, .weights = WCODEC_OK};
    if (a->options.verify == WCODEC_DELTA_VERIFY_BEFORE)
        wcodec_run_beside(a->context, check_message, check_weights, &c);
    else
        check_message(&c);
    const wcodec_status status = c.message != WCODEC_OK ? c.message : c.weights;
    if (err != NULL && status != WCODEC_OK)
        *err = c.message != WCODEC_OK ? c.message_error : c.weights_error;
    return status;
}

static wcodec_status apply_all(struct wcodec_sync_apply *a, wcodec_error *err)
{
    const wcodec_delta_verify verify = a->options.verify;
    wcodec_status status = WCODEC_OK;
    if (verify == WCODEC_DELTA_VERIFY_TRIAL)
        status = run(a, true, false, err);
    if (status == WCODEC_OK) /* the last time that it can be cancelled */
        status = wcodec_reporter_end(&a->reporter, err);
    if (status == WCODEC_OK)
        status = run(a, false, verify != WCODEC_DELTA_VERIFY_AFTER, err);
    for (uint64_t w = 0; w < a->weights->declared.names.count; w++)
        if (a->tensor_of[w] != UINT64_MAX)
            a->states[w] = a->states[a->tensors[a->tensor_of[w]].weight];
    if (status == WCODEC_OK) {
        a->reporter.done = a->reporter.total;
        (void)wcodec_reporter_end(&a->reporter, NULL);
    }
    return status;
}

static wcodec_status read_options(const wcodec_delta_apply_options *from, size_t count,
                                  wcodec_delta_apply_options *options, wcodec_error *err)
{
    wcodec_delta_apply_options o = defaults;
    wcodec_status status = WCODEC_OK;
    if (from != NULL)
        status = wcodec_options_take(from, &o, sizeof o, "wcodec_delta_apply_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o.progress, err);
    if (status == WCODEC_OK && (unsigned)o.verify > WCODEC_DELTA_VERIFY_AFTER)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "verify %d is none", (int)o.verify);
    if (status == WCODEC_OK && o.use_queue && o.memory == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "a queue is waited for, but the weights are in host memory");
    if (status == WCODEC_OK && o.states != NULL && count != 0)
        memset(o.states, WCODEC_DELTA_STATE_BEFORE, count);
    *options = o;
    return status;
}

static void begin_progress(struct wcodec_sync_apply *a)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < a->count; i++)
        total += a->tensors[i].tied ? 0 : a->tensors[i].entry->size;
    wcodec_reporter_init(&a->reporter, &a->options.progress, total);
    wcodec_cancel_init(&a->cancel, &a->reporter);
    wcodec_cancel_span(&a->cancel, 0, total,
                       a->options.verify == WCODEC_DELTA_VERIFY_AFTER ? 1 : 2);
}

static void fill_report(const struct wcodec_sync_apply *a, wcodec_delta_report *report)
{
    *report = (wcodec_delta_report){.tensors = a->count};
    for (uint64_t i = 0; i < a->count; i++) {
        report->equal += a->tensors[i].equal || a->tensors[i].entry->size == 0;
        report->size += a->tensors[i].entry->size;
    }
}

/* With weights that are declared. */
static wcodec_status apply_message(struct wcodec_sync_apply *a, const void *message, size_t size,
                                   size_t count, wcodec_delta_report *report, wcodec_error *err)
{
    const wcodec_allocator *allocator = &a->context->allocator;
    uint8_t *own = NULL;
    a->states = a->options.states;
    if (a->states == NULL)
        a->states = own = wcodec_alloc_zeroed(allocator, count + 1);
    if (a->states == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a message");
    wcodec_status status = wcodec_sync_open(a, message, size, err);
    if (status == WCODEC_OK) {
        begin_progress(a);
        status = check(a, err);
    }
    if (status == WCODEC_OK)
        status = apply_all(a, err);
    if (status == WCODEC_OK && report != NULL)
        fill_report(a, report);
    wcodec_sync_close(a);
    wcodec_free(allocator, own);
    return status;
}

wcodec_status wcodec_delta_apply(wcodec_context *context, const void *message, size_t size,
                                 const wcodec_save_item *weights, size_t count,
                                 const wcodec_delta_apply_options *options,
                                 wcodec_delta_report *report, wcodec_error *err)
{
    if (context == NULL || (message == NULL && size != 0) || (weights == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_delta_apply: an argument is NULL");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_delta_apply_options o;
    status = read_options(options, count, &o, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_sync_apply *a = wcodec_alloc_zeroed(&context->allocator, sizeof *a);
    if (a == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a message");
    a->context = context;
    a->items = weights;
    a->options = o;
    const struct wcodec_sync_side side = {.items = weights,
                                          .count = count,
                                          .memory = a->options.memory,
                                          .use_queue = a->options.use_queue,
                                          .queue = a->options.queue,
                                          .host_memory = a->options.host_memory};
    status = wcodec_sync_request_create(context, &side, &a->weights, err);
    if (status == WCODEC_OK)
        status = apply_message(a, message, size, count, report, err);
    wcodec_sync_request_free(a->weights);
    wcodec_free(&context->allocator, a);
    return status;
}
