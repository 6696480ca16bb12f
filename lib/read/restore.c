/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Restoring and testing whole files. One side reads and decodes pieces of the original, the other
 * hashes and writes them; where the context has threads of its own, the two work at the same time.
 */

#include "read/decode.h"
#include "read/reader.h"
#include "core/error.h"
#include "core/memory.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* Most bytes of a piece: a chunk always fits. Where memory is limited, pieces take a quarter of it.
 */
#define PIECE_BYTES ((uint64_t)WCODEC_CHUNK_MAX)

/* Small entries that are decoded side by side: how many, of what size, by how many threads at most,
 * since each takes tables and its payload. */
enum { SLOTS = 2, GROUP_ITEMS = 512, GROUP_ITEM_BYTES = 1 << 18, GROUP_WORKERS = 16 };

struct piece {
    uint8_t *data;
    uint64_t size; /* 0: the file has ended */
};

struct producer {
    wcodec_context *context;
    const struct wcodec_shard *shard;
    const struct wcodec_source *source;
    bool checks;
    uint64_t piece_bytes;
    uint64_t held;     /* bytes of all pieces */
    uint64_t entry;    /* number of the next one to open, or of the one that is open plus 1 */
    uint64_t position; /* in the container: everything before was looked at */
    bool is_open;
    uint64_t at; /* in the open entry */
    struct wcodec_decoder decoder;
    struct wcodec_tree payload_hash; /* of the one that is open */
};

struct consumer {
    wcodec_context *context;
    wcodec_write_fn write; /* NULL: only test */
    void *opaque;
    struct wcodec_tree hash; /* unless `checks` is false */
    bool checks;
    uint64_t done; /* bytes */
    struct wcodec_reporter reporter;
};

/* Bytes between payloads must be zero; there are less than 256. */
static wcodec_status check_gap(const struct wcodec_source *source, uint64_t begin, uint64_t end,
                               wcodec_error *err)
{
    uint8_t bytes[256];
    if (end - begin > sizeof(bytes))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a hole of %" PRIu64 " bytes at byte %" PRIu64, end - begin, begin);
    wcodec_status status = wcodec_source_read(source, begin, bytes, (size_t)(end - begin), err);
    for (uint64_t i = 0; i < end - begin && status == WCODEC_OK; i++)
        if (bytes[i] != 0)
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                 "byte %" PRIu64 " of the file is padding and not zero", begin + i);
    return status;
}

static wcodec_status check_payload_hash(const struct wcodec_decoder *decoder,
                                        const struct wcodec_entry *e, wcodec_error *err)
{
    if (decoder->input.hash == NULL ||
        wcodec_tree_end(decoder->input.hash, e->payload_size).low == e->payload_hash)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of its payload differs");
}

/* An entry before whose payload everything up to `position` was looked at. */
static wcodec_status open_decoder(const struct producer *p, const struct wcodec_entry *e,
                                  uint64_t position, struct wcodec_tree *hash,
                                  struct wcodec_decoder *decoder, wcodec_error *err)
{
    bool alias = !e->newer && e->coding == WCODEC_CODING_ALIAS;
    if (e->payload_size > 0) {
        wcodec_status status = check_gap(p->source, position, e->payload_offset, err);
        if (status != WCODEC_OK)
            return status;
    }
    if (e->is_tensor && e->size > p->context->limits.max_tensor_bytes)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " bytes are more than the limit of %" PRIu64, e->size,
                           p->context->limits.max_tensor_bytes);
    *hash = (struct wcodec_tree){.leaves = NULL};
    const bool hashed = p->checks && e->payload_size > 0;
    if (hashed) {
        wcodec_status status = wcodec_tree_init(hash, &p->context->allocator,
                                                e->payload_size / WCODEC_LEAF_BYTES + 1, err);
        if (status != WCODEC_OK)
            return status;
    }
    const struct wcodec_decoder_input input = {
        .context = p->context,
        .source = p->source,
        .entry = alias ? &p->shard->index->entries[e->u.alias] : e,
        .held = p->held,
        .verify = p->checks,
        .whole = true,
        .hash = hashed ? hash : NULL,
    };
    wcodec_status status = wcodec_decoder_open(&input, decoder, err);
    if (status != WCODEC_OK) {
        wcodec_tree_free(hash);
        return status;
    }
    /* Tiles are in memory already: damage is found before anything is decoded. */
    status = wcodec_entry_has_tiles(e) ? check_payload_hash(decoder, e, err) : WCODEC_OK;
    if (status != WCODEC_OK) {
        wcodec_decoder_close(decoder);
        wcodec_tree_free(hash);
    }
    return status;
}

static uint64_t position_after(const struct wcodec_entry *e, uint64_t position)
{
    return e->payload_size > 0 ? e->payload_offset + e->payload_size : position;
}

static wcodec_status open_entry(struct producer *p, const struct wcodec_entry *e, wcodec_error *err)
{
    wcodec_status status = open_decoder(p, e, p->position, &p->payload_hash, &p->decoder, err);
    p->position = position_after(e, p->position);
    p->is_open = status == WCODEC_OK;
    p->at = 0;
    return status;
}

static void close_entry(struct producer *p)
{
    if (p->is_open)
        wcodec_decoder_close(&p->decoder);
    wcodec_tree_free(&p->payload_hash);
    p->is_open = false;
}

/* Bytes of the open entry that go next into a piece with `room` left: whole tiles, chunks or rows
 * of blocks, so that none is decoded twice. */
static uint64_t part_size(const struct producer *p, uint64_t room)
{
    const uint64_t left = p->decoder.input.entry->size - p->at;
    return left <= room ? left : room - room % wcodec_decoder_unit(&p->decoder);
}

/* One more part of the open entry, which is closed after its last. *full: nothing more goes into
 * this piece. */
static wcodec_status produce_part(struct producer *p, const struct wcodec_entry *e,
                                  struct piece *piece, bool *full, wcodec_error *err)
{
    struct wcodec_reporter silent = {0};
    uint64_t size = part_size(p, p->piece_bytes - piece->size);
    wcodec_status status = wcodec_decoder_range(&p->decoder, p->at, p->at + size,
                                                piece->data + piece->size, &silent, err);
    if (status != WCODEC_OK)
        return status;
    piece->size += size;
    p->at += size;
    *full = p->at < e->size;
    if (*full)
        return WCODEC_OK;
    if (!wcodec_entry_has_tiles(e))
        status = check_payload_hash(&p->decoder, e, err);
    close_entry(p);
    return status;
}

/* Small entries are decoded side by side: there is too little in each for several threads. */
struct group {
    const struct producer *p;
    struct piece *piece;
    size_t count;
    struct {
        const struct wcodec_entry *entry;
        uint64_t position; /* as open_decoder() wants it */
        uint64_t at;       /* in the piece */
    } items[GROUP_ITEMS];
    atomic_size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first item that failed; `count`: none */
    wcodec_status status;
    wcodec_error error;
};

static wcodec_status decode_item(const struct group *g, size_t i, wcodec_error *err)
{
    const struct wcodec_entry *e = g->items[i].entry;
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    struct wcodec_tree hash;
    wcodec_status status = open_decoder(g->p, e, g->items[i].position, &hash, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    status =
        wcodec_decoder_range(&decoder, 0, e->size, g->piece->data + g->items[i].at, &silent, err);
    if (status == WCODEC_OK && !wcodec_entry_has_tiles(e))
        status = check_payload_hash(&decoder, e, err);
    wcodec_decoder_close(&decoder);
    wcodec_tree_free(&hash);
    return status;
}

static void group_task(void *argument, size_t worker)
{
    struct group *g = argument;
    (void)worker;
    for (size_t i; (i = atomic_fetch_add(&g->next, 1)) < g->count;) {
        wcodec_error error = {0};
        wcodec_status status = decode_item(g, i, &error);
        if (status == WCODEC_OK)
            continue;
        pthread_mutex_lock(&g->lock);
        if (i < g->failed) {
            g->failed = i;
            g->status = status;
            g->error = error;
        }
        pthread_mutex_unlock(&g->lock);
        break; /* items before this one are taken already: the first failure is found */
    }
}

/* The entries that come next, as far as they are small and fit into the piece. */
static void gather(const struct producer *p, struct piece *piece, struct group *g)
{
    const struct wcodec_index *index = p->shard->index;
    uint64_t at = piece->size, position = p->position;
    for (uint64_t n = p->entry; n < index->entry_count && g->count < GROUP_ITEMS; n++) {
        const struct wcodec_entry *e = &index->entries[n];
        if (e->size > GROUP_ITEM_BYTES || e->size > p->piece_bytes - at)
            return;
        g->items[g->count].entry = e;
        g->items[g->count].position = position;
        g->items[g->count++].at = at;
        position = position_after(e, position);
        at += e->size;
    }
}

/* Decode a group if there is one: *done. */
static wcodec_status produce_group(struct producer *p, struct piece *piece, bool *done,
                                   wcodec_error *err)
{
    struct group g = {.p = p, .piece = piece, .lock = PTHREAD_MUTEX_INITIALIZER};
    size_t threads = wcodec_context_threads(p->context);
    *done = false;
    /* With a limit of memory one after the other: each is then held against all of it. */
    if (threads < 2 || p->context->limits.max_memory != UINT64_MAX)
        return WCODEC_OK;
    gather(p, piece, &g);
    if (g.count < 2)
        return WCODEC_OK;
    *done = true;
    g.failed = g.count;
    threads = threads < GROUP_WORKERS ? threads : GROUP_WORKERS;
    wcodec_run(p->context, group_task, &g, threads < g.count ? threads : g.count);
    if (g.failed < g.count) {
        if (err != NULL)
            *err = g.error;
        wcodec_shard_prefix(p->shard, g.items[g.failed].entry, err);
        return g.status;
    }
    const struct wcodec_entry *last = g.items[g.count - 1].entry;
    p->entry += g.count;
    p->position = position_after(last, g.items[g.count - 1].position);
    piece->size = g.items[g.count - 1].at + last->size;
    return WCODEC_OK;
}

/* Fill a piece with the next bytes of the original, of several entries where they are small. */
static wcodec_status produce(struct producer *p, struct piece *piece, wcodec_error *err)
{
    const struct wcodec_index *index = p->shard->index;
    bool full = false;
    piece->size = 0;
    while (!full && piece->size < p->piece_bytes) {
        if (!p->is_open && p->entry == index->entry_count)
            break;
        const struct wcodec_entry *e = &index->entries[p->is_open ? p->entry - 1 : p->entry];
        bool done = false;
        wcodec_status status = p->is_open ? WCODEC_OK : produce_group(p, piece, &done, err);
        if (status != WCODEC_OK)
            return status;
        if (done)
            continue;
        if (!p->is_open) {
            status = open_entry(p, e, err);
            p->entry++;
        }
        if (status == WCODEC_OK)
            status = produce_part(p, e, piece, &full, err);
        if (status != WCODEC_OK) {
            wcodec_shard_prefix(p->shard, e, err);
            return status;
        }
    }
    return WCODEC_OK;
}

/* Bytes of a piece that one thread hashes. */
enum { HASH_BYTES = 1 << 20 };

struct hashing {
    struct wcodec_tree *tree;
    uint64_t offset;
    const struct piece *piece;
    atomic_bool failed;
};

static void hash_task(void *argument, size_t i)
{
    struct hashing *h = argument;
    const uint64_t at = (uint64_t)i * HASH_BYTES, left = h->piece->size - at;
    if (wcodec_tree_put(h->tree, h->offset + at, h->piece->data + at,
                        left < HASH_BYTES ? left : HASH_BYTES, NULL) != WCODEC_OK)
        atomic_store(&h->failed, true);
}

static wcodec_status hash_piece(struct consumer *c, const struct piece *piece, wcodec_error *err)
{
    struct hashing h = {.tree = &c->hash, .offset = c->done, .piece = piece};
    wcodec_run(c->context, hash_task, &h, (size_t)wcodec_div_up_u64(piece->size, HASH_BYTES));
    wcodec_tree_advance(&c->hash);
    c->done += piece->size;
    return atomic_load(&h.failed)
               ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash")
               : WCODEC_OK;
}

static wcodec_status consume(struct consumer *c, const struct piece *piece, wcodec_error *err)
{
    wcodec_status status = c->checks ? hash_piece(c, piece, err) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    if (c->write != NULL) {
        int error = c->write(c->opaque, piece->data, (size_t)piece->size);
        if (error != 0)
            return wcodec_fail(err, WCODEC_ERROR_IO, "writing: %s", strerror(error));
    }
    return wcodec_reporter_add(&c->reporter, piece->size, err);
}

static wcodec_status run_alone(struct producer *p, struct consumer *c, struct piece *piece,
                               wcodec_error *err)
{
    for (;;) {
        wcodec_status status = produce(p, piece, err);
        if (status != WCODEC_OK || piece->size == 0)
            return status;
        status = consume(c, piece, err);
        if (status != WCODEC_OK)
            return status;
    }
}

/* Two slots between a thread that fills them and the calling thread that empties them. */
struct pipeline {
    struct producer *producer;
    struct piece *slots;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned filled; /* slots that wait for the consumer */
    bool ended;      /* the producer: no more slots will be filled */
    bool stopped;    /* the consumer: none are wanted */
    wcodec_status status;
    wcodec_error error;
};

/* Wait for a free slot. False: stop. */
static bool wait_free(struct pipeline *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->filled == SLOTS && !l->stopped)
        pthread_cond_wait(&l->changed, &l->lock);
    bool go_on = !l->stopped;
    pthread_mutex_unlock(&l->lock);
    return go_on;
}

static void *run_producer(void *argument)
{
    struct pipeline *l = argument;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    bool ended = false;
    for (unsigned i = 0; !ended && wait_free(l); i = (i + 1) % SLOTS) {
        status = produce(l->producer, &l->slots[i], &error);
        ended = status != WCODEC_OK || l->slots[i].size == 0;
        pthread_mutex_lock(&l->lock);
        l->filled += !ended;
        l->ended = ended;
        l->status = status;
        l->error = error;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* Wait for a filled slot. False: there are no more. */
static bool wait_filled(struct pipeline *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->filled == 0 && !l->ended)
        pthread_cond_wait(&l->changed, &l->lock);
    bool filled = l->filled > 0;
    pthread_mutex_unlock(&l->lock);
    return filled;
}

static wcodec_status run_consumer(struct pipeline *l, struct consumer *c, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; status == WCODEC_OK && wait_filled(l); i = (i + 1) % SLOTS) {
        status = consume(c, &l->slots[i], err);
        pthread_mutex_lock(&l->lock);
        l->filled--;
        l->stopped = status != WCODEC_OK;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
    return status;
}

/* A thread that gets no signals: they are the caller's. */
static int start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return EAGAIN;
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static wcodec_status run_together(struct producer *p, struct consumer *c, struct piece slots[SLOTS],
                                  wcodec_error *err)
{
    pthread_t thread;
    struct pipeline l = {.producer = p,
                         .slots = slots,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER};
    if (start_thread(&thread, run_producer, &l) != 0)
        return run_alone(p, c, slots, err);
    wcodec_status status = run_consumer(&l, c, err);
    pthread_join(thread, NULL);
    if (status == WCODEC_OK && l.status != WCODEC_OK) {
        status = l.status;
        if (err != NULL)
            *err = l.error;
    }
    return status;
}

/* As large as the limit of memory allows, but the largest tile, chunk and row of blocks must fit.
 */
static uint64_t choose_piece_bytes(const struct producer *p)
{
    const struct wcodec_index *index = p->shard->index;
    uint64_t most = p->context->limits.max_memory / (4 * SLOTS),
             largest = (uint64_t)1 << (WCODEC_TILE_LOG2_MAX + 3);
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (!e->newer && e->coding == WCODEC_CODING_CHUNKS && e->u.chunk > largest)
            largest = e->u.chunk;
        if (!e->newer && e->coding == WCODEC_CODING_BLOCKS) {
            struct wcodec_blocks blocks;
            struct wcodec_tiling tiling;
            wcodec_entry_blocks(e, &blocks, &tiling);
            if (wcodec_blocks_band_size(&blocks) > largest)
                largest = wcodec_blocks_band_size(&blocks);
        }
        if (!e->newer && e->coding == WCODEC_CODING_LOSSY) {
            struct wcodec_lossy lossy;
            struct wcodec_tiling tiling;
            wcodec_entry_lossy(e, &lossy, &tiling);
            if (wcodec_lossy_band_size(&lossy) > largest)
                largest = wcodec_lossy_band_size(&lossy);
        }
    }
    if (most > PIECE_BYTES)
        most = PIECE_BYTES;
    if (most < largest)
        most = largest;
    /* A file of no bytes has entries to look at too. */
    return index->size == 0 ? 1 : index->size < most ? index->size : most;
}

static wcodec_status run(struct producer *p, struct consumer *c, wcodec_error *err)
{
    const wcodec_allocator *allocator = &p->context->allocator;
    p->piece_bytes = choose_piece_bytes(p);
    /* The caller's executor may not want to be called from a thread that is not his. */
    bool together = p->shard->index->size > p->piece_bytes && p->context->executor.run == NULL &&
                    wcodec_context_threads(p->context) > 1;
    p->held = p->piece_bytes * (together ? SLOTS : 1);
    if (p->held > p->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "restoring takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           p->held, p->context->limits.max_memory);
    struct piece slots[SLOTS] = {{NULL, 0}, {NULL, 0}};
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < (together ? SLOTS : 1u); i++)
        if ((slots[i].data = wcodec_alloc(allocator, (size_t)p->piece_bytes)) == NULL)
            status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes",
                                 p->piece_bytes);
    if (status == WCODEC_OK)
        status = together ? run_together(p, c, slots, err) : run_alone(p, c, slots, err);
    close_entry(p);
    for (unsigned i = 0; i < SLOTS; i++)
        wcodec_free(allocator, slots[i].data);
    return status;
}

static wcodec_status check_file_hash(const struct wcodec_index *index, struct wcodec_tree *tree,
                                     wcodec_error *err)
{
    uint8_t hash[sizeof index->hash];
    wcodec_tree_canonical(wcodec_tree_end(tree, index->size), hash);
    if (memcmp(hash, index->hash, sizeof hash) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of the restored file differs");
    return WCODEC_OK;
}

/* write may be NULL. */
static wcodec_status decode_file(const wcodec_reader *reader, const struct wcodec_shard *shard,
                                 const struct wcodec_source *source, wcodec_write_fn write,
                                 void *opaque, const wcodec_decode_options *options,
                                 wcodec_error *err)
{
    bool checks = !options->skip_checks;
    struct producer p = {.context = reader->context,
                         .shard = shard,
                         .source = source,
                         .checks = checks,
                         .position = WCODEC_HEAD_SIZE};
    struct consumer c = {
        .context = reader->context, .write = write, .opaque = opaque, .checks = checks};
    wcodec_reporter_init(&c.reporter, &options->progress, shard->index->size);
    /* A piece may be as large as a band of blocks. */
    wcodec_status status =
        checks ? wcodec_tree_init(&c.hash, &reader->context->allocator,
                                  choose_piece_bytes(&p) / WCODEC_LEAF_BYTES + 2, err)
               : WCODEC_OK;
    if (status == WCODEC_OK)
        status = run(&p, &c, err);
    if (status == WCODEC_OK)
        status = check_gap(source, p.position, shard->index->index_offset, err);
    if (status == WCODEC_OK && checks)
        status = check_file_hash(shard->index, &c.hash, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&c.reporter, err);
    wcodec_tree_free(&c.hash);
    return status;
}

/* All padding of the container; the structure was checked when it was opened. */
static wcodec_status check_gaps(const struct wcodec_shard *shard,
                                const struct wcodec_source *source, wcodec_error *err)
{
    const struct wcodec_index *index = shard->index;
    uint64_t position = WCODEC_HEAD_SIZE;
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (e->payload_size == 0)
            continue;
        wcodec_status status = e->payload_offset > position
                                   ? check_gap(source, position, e->payload_offset, err)
                                   : WCODEC_OK;
        if (status != WCODEC_OK)
            return status;
        position = e->payload_offset + e->payload_size;
    }
    return check_gap(source, position, index->index_offset, err);
}

static wcodec_status work(const wcodec_reader *reader, uint64_t file, bool quick,
                          wcodec_write_fn write, void *opaque, const wcodec_decode_options *options,
                          wcodec_error *err)
{
    struct wcodec_source source;
    wcodec_decode_options own;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_decode_options_read(options, &own, err);
    if (status != WCODEC_OK)
        return status;
    if (file >= reader->shard_count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is no file number %" PRIu64 ", there are %" PRIu64, file,
                           reader->shard_count);
    const struct wcodec_shard *shard = &reader->shards[file];
    status = wcodec_shard_acquire(shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    status = quick ? check_gaps(shard, &source, err)
                   : decode_file(reader, shard, &source, write, opaque, &own, err);
    wcodec_shard_release(shard, &source);
    return status;
}

wcodec_status wcodec_reader_restore(const wcodec_reader *reader, uint64_t file,
                                    wcodec_write_fn write, void *opaque,
                                    const wcodec_decode_options *options, wcodec_error *err)
{
    if (reader == NULL || write == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_restore: an argument is NULL");
    return work(reader, file, false, write, opaque, options, err);
}

wcodec_status wcodec_reader_test(const wcodec_reader *reader, uint64_t file, int quick,
                                 const wcodec_decode_options *options, wcodec_error *err)
{
    if (reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_test: an argument is NULL");
    return work(reader, file, quick != 0, NULL, NULL, options, err);
}
