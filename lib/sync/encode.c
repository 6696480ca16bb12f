/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From two snapshots to a message: a writer whose base is in memory. A device that compares tensors
 * hashes them, too; others are hashed when all are coded. Where the message is to be a file, what
 * it names its base by is the hash of another file: a device's snapshots are hashed so while it
 * codes, and no delta is written before that has ended. */
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "format/base_fetch.h"
#include "sched/background.h"
#include "sync/coder.h"
#include "write/encode_options.h"
#include "write/tables.h"
#include "write/writer.h"
#include <errno.h>
#include <string.h>

enum { COPY_PIECE = 128 << 10, COPY_ALONE = 2 << 20 /* sooner than others wake */ };

static const wcodec_delta_encode_options defaults = {.encode = NULL};

void wcodec_delta_encode_options_init_size(wcodec_delta_encode_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* A message that grows in memory. */
struct message {
    wcodec_context *context;
    const wcodec_allocator *allocator;
    uint8_t *data;
    uint64_t size, capacity;
    bool failed;
    wcodec_write_fn write; /* NULL: to memory */
    void *opaque;
};

struct encoding {
    struct wcodec_base_fetch fetch; /* what a writer sees of the old tensors: the first member */
    wcodec_context *context;
    wcodec_delta_encode_options options;
    wcodec_encode_options encode;
    struct wcodec_save_request *before, *after;
    /* Of the files that the tensors make; known when `hashing` has ended, if it is on. Where the
     * message is no file: of their headers. */
    uint8_t base[16], original[16];
    struct wcodec_background hashing;
    bool is_beside;
    struct message message;
    struct wcodec_sync_coder coder; /* of tensors in one device's memory */
    bool codes_on_device;
    uint8_t *brought; /* a tensor of a device */
    uint64_t room;
};

/* Bytes that go to a message: new memory is touched first by who has time for it. */
struct copying {
    uint8_t *to;
    const uint8_t *from;
    size_t size;
};

static void copy_task(void *argument, size_t i)
{
    const struct copying *c = argument;
    const size_t at = i * COPY_PIECE, left = c->size - at;
    memcpy(c->to + at, c->from + at, left < COPY_PIECE ? left : COPY_PIECE);
}

static int write_message(void *opaque, const void *data, size_t size)
{
    struct message *m = opaque;
    if (m->write != NULL) {
        m->size += size;
        return m->write(m->opaque, data, size);
    }
    if (size > m->capacity - m->size) {
        const uint64_t capacity = (m->size + size) * 3 / 2 + 4096;
        uint8_t *larger = wcodec_realloc_array(m->allocator, m->data, capacity, 1);
        m->failed = larger == NULL;
        if (m->failed)
            return ENOMEM;
        m->data = larger;
        m->capacity = capacity;
    }
    struct copying c = {m->data + m->size, data, size};
    if (size > COPY_ALONE)
        wcodec_run(m->context, copy_task, &c, (size + COPY_PIECE - 1) / COPY_PIECE);
    else if (size != 0)
        memcpy(c.to, c.from, size);
    m->size += size;
    return 0;
}

static struct encoding *encoding_of(const wcodec_bases *bases)
{
    return (struct encoding *)(uintptr_t)bases;
}

static bool has(const wcodec_bases *bases, const struct wcodec_entry *what)
{
    uint64_t tensor;
    bool same;
    return wcodec_sync_find(encoding_of(bases)->before, what, &tensor, &same) && same;
}

/* Hashes are known then. */
static wcodec_status end_hashing(struct encoding *e, wcodec_error *err)
{
    return e->is_beside ? wcodec_background_wait(&e->hashing, err) : WCODEC_OK;
}

/* Where it may still be hashed, the coder sets the hash before a delta is written. */
static void name_base(const struct encoding *e, struct wcodec_delta_base *base)
{
    *base = e->coder.base;
    if (!e->codes_on_device)
        memcpy(base->hash, e->base, sizeof base->hash);
}

static wcodec_status fetch(const wcodec_bases *bases, const struct wcodec_entry *what, uint8_t *dst,
                           struct wcodec_delta_base *base, wcodec_error *err)
{
    struct encoding *e = encoding_of(bases);
    uint64_t tensor = 0;
    bool same;
    (void)wcodec_sync_find(e->before, what, &tensor, &same);
    name_base(e, base);
    base->bytes = dst;
    return wcodec_sync_bring(e->before, tensor, dst, err);
}

static bool place(const wcodec_bases *bases, const struct wcodec_entry *what,
                  struct wcodec_delta_base *base)
{
    struct encoding *e = encoding_of(bases);
    uint64_t tensor = 0;
    bool same;
    (void)wcodec_sync_find(e->before, what, &tensor, &same);
    name_base(e, base);
    base->bytes = wcodec_sync_host(e->before, tensor);
    return base->bytes != NULL;
}

/* Where nothing has changed a message is a delta of what it stands for: the receiver has that. */
static bool needs(const wcodec_bases *bases, const uint8_t base[16], const uint8_t hash[16])
{
    (void)bases, (void)base, (void)hash;
    return false;
}

static wcodec_status check_encoding(const wcodec_encode_options *e, wcodec_error *err)
{
    if (e->tune != WCODEC_TUNE_SIZE || e->raw || e->strict || e->include != NULL ||
        e->exclude != NULL || e->name != NULL || e->mode != 0 || e->mtime != -1 ||
        e->lossy != WCODEC_LOSSY_NONE || wcodec_tables_wanted(e) || e->times != NULL ||
        e->write_at != NULL || e->index_first || e->onnx_model != NULL ||
        e->onnx_location != NULL || e->bases != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "of the encode options of a message only level, tile_log2, profile, "
                           "predict, no_verify and progress can be set");
    return WCODEC_OK;
}

static wcodec_status read_options(struct encoding *e, const wcodec_delta_encode_options *from,
                                  wcodec_error *err)
{
    wcodec_delta_encode_options o = defaults;
    wcodec_status status = WCODEC_OK;
    if (from != NULL)
        status = wcodec_options_take(from, &o, sizeof o, "wcodec_delta_encode_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(o.encode, &e->encode, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_whole(&e->encode, err);
    if (status == WCODEC_OK)
        status = check_encoding(&e->encode, err);
    if (status == WCODEC_OK && o.use_queue && o.before_memory == NULL && o.after_memory == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "a queue is waited for, but the tensors are in host memory");
    e->options = o;
    e->encode.bases = (const wcodec_bases *)(const void *)e;
    e->message.write = o.write;
    e->message.opaque = o.opaque;
    return status;
}

static wcodec_status open_sides(struct encoding *e, const wcodec_save_item *before,
                                size_t before_count, const wcodec_save_item *after,
                                size_t after_count, wcodec_error *err)
{
    const wcodec_delta_encode_options *o = &e->options;
    struct wcodec_sync_side side = {.items = before,
                                    .count = before_count,
                                    .memory = o->before_memory,
                                    .use_queue = o->use_queue,
                                    .queue = o->queue,
                                    .host_memory = o->host_memory};
    wcodec_status status = wcodec_sync_request_create(e->context, &side, &e->before, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "old snapshot");
        return status;
    }
    side.items = after;
    side.count = after_count;
    side.memory = o->after_memory;
    status = wcodec_sync_request_create(e->context, &side, &e->after, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "new snapshot");
    return status;
}

/* Both at the same time. */
struct side_hashes {
    struct encoding *encoding;
    bool of_files; /* else of tensors whose hashes are not known */
    struct wcodec_cancel *cancel;
    wcodec_status statuses[2];
    wcodec_error errors[2];
};

static void hash_side(void *argument, size_t after)
{
    struct side_hashes *h = argument;
    struct encoding *e = h->encoding;
    struct wcodec_save_request *r = after ? e->after : e->before;
    const struct wcodec_sync_hashes *known =
        after ? &e->coder.after_hashes : &e->coder.before_hashes;
    h->statuses[after] =
        h->of_files
            ? wcodec_sync_hash_file(r, after ? e->original : e->base, h->cancel, &h->errors[after])
            : wcodec_sync_hash(r, known->wanted, known->hashes, h->cancel, &h->errors[after]);
}

static wcodec_status hash_sides(struct encoding *e, bool of_files, wcodec_error *err)
{
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    wcodec_reporter_init(&reporter, &e->encode.progress, e->after->size);
    wcodec_cancel_init(&cancel, &reporter);
    struct wcodec_cancel *asked = e->encode.progress.fn != NULL ? &cancel : NULL;
    struct side_hashes h = {.encoding = e, .of_files = of_files, .cancel = asked};
    wcodec_run(e->context, hash_side, &h, 2);
    const unsigned failed = h.statuses[0] == WCODEC_OK;
    if (err != NULL && h.statuses[failed] != WCODEC_OK)
        *err = h.errors[failed];
    return h.statuses[failed];
}

static wcodec_status hash_files(void *opaque, wcodec_error *err)
{
    return hash_sides(opaque, true, err);
}

static bool is_any(const struct wcodec_sync_hashes *hashes, uint64_t count)
{
    return memchr(hashes->wanted, 1, (size_t)count + 1) != NULL;
}

/* Of tensors that no device has hashed as it compared them. */
static wcodec_status hash_others(struct encoding *e, wcodec_error *err)
{
    return is_any(&e->coder.before_hashes, e->before->declared.names.count) ||
                   is_any(&e->coder.after_hashes, e->after->declared.names.count)
               ? hash_sides(e, false, err)
               : WCODEC_OK;
}

static bool make_hashes(const struct encoding *e, const struct wcodec_save_request *r,
                        struct wcodec_sync_hashes *hashes)
{
    const wcodec_allocator *allocator = &e->context->allocator;
    const uint64_t count = r->declared.names.count;
    hashes->hashes = wcodec_alloc_array(allocator, count + 1, sizeof *hashes->hashes);
    hashes->wanted = wcodec_alloc_zeroed(allocator, (size_t)count + 1);
    return hashes->hashes != NULL && hashes->wanted != NULL;
}

/* Room for hashes, and which tensors have one in the message. */
static wcodec_status prepare_hashes(struct encoding *e, wcodec_error *err)
{
    struct wcodec_sync_coder *c = &e->coder;
    if (!make_hashes(e, e->before, &c->before_hashes) ||
        !make_hashes(e, e->after, &c->after_hashes))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    for (uint64_t i = 0; i < e->after->declared.names.count; i++) {
        uint64_t tensor;
        bool same;
        c->after_hashes.wanted[i] = 1;
        if (wcodec_sync_find(e->before, &e->after->declared.tensors[i], &tensor, &same) && same)
            c->before_hashes.wanted[tensor] = 1;
    }
    return WCODEC_OK;
}

static void hash_header(const struct encoding *e, const struct wcodec_save_request *r,
                        uint8_t hash[16])
{
    wcodec_tree_canonical(wcodec_tree_of(wcodec_sync_leaf(e->context), r->header, r->header_size),
                          hash);
}

/* What base and original are named by. Files are hashed beside coding only where a device does
 * both, and nobody is told how far which of them is; not by a caller's executor, whose tasks never
 * wait for those of another thread. */
static wcodec_status start_hashing(struct encoding *e, wcodec_error *err)
{
    if (!e->options.as_file) {
        hash_header(e, e->before, e->base);
        hash_header(e, e->after, e->original);
        return WCODEC_OK;
    }
    e->is_beside = e->codes_on_device && e->encode.progress.fn == NULL &&
                   e->context->executor.run == NULL && wcodec_context_threads(e->context) > 1 &&
                   wcodec_background_start(&e->hashing, hash_files, e, NULL) == WCODEC_OK;
    return e->is_beside ? WCODEC_OK : hash_files(e, err);
}

static wcodec_status declare(const struct encoding *e, wcodec_writer *writer, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t i = 0; i < e->after->declared.names.count && status == WCODEC_OK; i++) {
        const struct wcodec_entry *t = &e->after->declared.tensors[i];
        status =
            wcodec_writer_declare(writer, t->name, (wcodec_dtype)t->dtype, t->shape, t->rank, err);
    }
    return status;
}

static wcodec_status write_tensor(struct encoding *e, wcodec_writer *writer, uint64_t i,
                                  wcodec_error *err)
{
    const uint64_t size = e->after->declared.tensors[i].size;
    const uint8_t *bytes = wcodec_sync_host(e->after, i);
    bool taken = false;
    wcodec_status status = bytes == NULL ? wcodec_writer_placed(writer, &taken, err) : WCODEC_OK;
    if (taken || status != WCODEC_OK)
        return status;
    if (bytes == NULL && size > e->room) {
        wcodec_free(&e->context->allocator, e->brought);
        e->room = 0;
        e->brought = wcodec_alloc_array(&e->context->allocator, size, 1);
        if (e->brought == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor");
        e->room = size;
    }
    if (bytes == NULL && size != 0) {
        status = wcodec_sync_bring(e->after, i, e->brought, err);
        bytes = e->brought;
    }
    return status == WCODEC_OK ? wcodec_writer_data(writer, bytes, (size_t)size, err) : status;
}

static void put_digits(char *to, uint64_t hash)
{
    for (unsigned i = 0; i < WCODEC_SYNC_DIGITS; i++)
        to[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
}

/* Hashes of all tensors, before or after. */
static wcodec_status note_hashes(const struct encoding *e, wcodec_writer *writer, bool before,
                                 wcodec_error *err)
{
    const uint64_t count = e->after->declared.names.count;
    char *text =
        wcodec_alloc_zeroed(&e->context->allocator, (size_t)count * WCODEC_SYNC_DIGITS + 1);
    if (text == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the hashes of tensors");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hash = e->coder.after_hashes.hashes[i], tensor;
        bool same;
        if (before)
            hash =
                wcodec_sync_find(e->before, &e->after->declared.tensors[i], &tensor, &same) && same
                    ? e->coder.before_hashes.hashes[tensor]
                    : 0;
        put_digits(text + i * WCODEC_SYNC_DIGITS, hash);
    }
    const wcodec_status status =
        wcodec_writer_note(writer, before ? WCODEC_SYNC_BEFORE : WCODEC_SYNC_AFTER, text, err);
    wcodec_free(&e->context->allocator, text);
    return status;
}

/* All tensors, and what is known when they are coded. */
static wcodec_status write_tensors(struct encoding *e, wcodec_writer *writer, wcodec_error *err)
{
    wcodec_status status = declare(e, writer, err);
    for (uint64_t i = 0; i < e->after->declared.names.count && status == WCODEC_OK; i++)
        status = write_tensor(e, writer, i, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_code(writer, err);
    if (status == WCODEC_OK)
        status = end_hashing(e, err);
    if (status == WCODEC_OK)
        status = hash_others(e, err);
    if (status == WCODEC_OK)
        status = note_hashes(e, writer, true, err);
    return status == WCODEC_OK ? note_hashes(e, writer, false, err) : status;
}

static wcodec_status encode(struct encoding *e, wcodec_encode_report *report, wcodec_error *err)
{
    wcodec_writer *writer = NULL;
    wcodec_status status =
        wcodec_writer_create(e->context, write_message, &e->message, &e->encode, &writer, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_writer_set_hash(writer, e->original);
    if (e->codes_on_device)
        wcodec_writer_set_coder(writer, &e->coder.write);
    status = write_tensors(e, writer, err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, report, err);
    wcodec_writer_destroy(writer);
    return e->message.failed ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a message")
                             : status;
}

static wcodec_status check_arguments(const wcodec_context *context, const wcodec_save_item *before,
                                     size_t before_count, const wcodec_save_item *after,
                                     size_t after_count, wcodec_error *err)
{
    if (context == NULL || (before == NULL && before_count != 0) ||
        (after == NULL && after_count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_delta_encode: an argument is NULL");
    return wcodec_context_usable(context, err);
}

wcodec_status wcodec_delta_encode(wcodec_context *context, const wcodec_save_item *before,
                                  size_t before_count, const wcodec_save_item *after,
                                  size_t after_count, const wcodec_delta_encode_options *options,
                                  void **message, size_t *size, wcodec_encode_report *report,
                                  wcodec_error *err)
{
    wcodec_status status = check_arguments(context, before, before_count, after, after_count, err);
    if (status != WCODEC_OK)
        return status;
    struct encoding e = {.fetch = {has, fetch, needs, place},
                         .context = context,
                         .message = {.context = context, .allocator = &context->allocator}};
    status = read_options(&e, options, err);
    if (status == WCODEC_OK && e.options.write == NULL && (message == NULL || size == NULL))
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "wcodec_delta_encode: nothing that takes the message");
    if (status == WCODEC_OK)
        status = open_sides(&e, before, before_count, after, after_count, err);
    if (status == WCODEC_OK) {
        e.coder.base.size = e.before->size;
        e.coder.hash = e.base;
        e.codes_on_device = wcodec_sync_coder_init(&e.coder, e.before, e.after);
        status = prepare_hashes(&e, err);
        if (status == WCODEC_OK)
            status = start_hashing(&e, err);
        e.coder.hashing = e.is_beside ? &e.hashing : NULL;
    }
    if (status == WCODEC_OK)
        status = encode(&e, report, err);
    if (e.is_beside) { /* what it fails with may be why the other did */
        wcodec_error error = {0};
        const wcodec_status hashed = wcodec_background_wait(&e.hashing, &error);
        wcodec_background_join(&e.hashing);
        if (hashed != WCODEC_OK)
            status = wcodec_fail(err, hashed, "%s", error.text);
    }
    wcodec_sync_request_free(e.before);
    wcodec_sync_request_free(e.after);
    wcodec_free(&context->allocator, e.coder.before_hashes.hashes);
    wcodec_free(&context->allocator, e.coder.before_hashes.wanted);
    wcodec_free(&context->allocator, e.coder.after_hashes.hashes);
    wcodec_free(&context->allocator, e.coder.after_hashes.wanted);
    wcodec_free(&context->allocator, e.brought);
    if (status != WCODEC_OK) {
        wcodec_free(&context->allocator, e.message.data);
        return status;
    }
    if (message != NULL)
        *message = e.message.data;
    if (size != NULL)
        *size = (size_t)e.message.size;
    return WCODEC_OK;
}

void wcodec_delta_free(wcodec_context *context, void *message)
{
    if (context != NULL)
        wcodec_free(&context->allocator, message);
}
