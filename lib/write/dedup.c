/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/dedup.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/system.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

/* Tensors that agree wherever samples are taken are few: no more than COMPARE_MAX are read for each
 * one, up to a piece that differs. */
enum {
    COMPARE_SIZE = 1 << 18, /* a piece */
    COMPARE_THREADS = 16,   /* at most, each with two pieces in memory */
    COMPARE_MAX = 16,
    SAMPLES = WCODEC_DEDUP_SAMPLES,
    SAMPLE = WCODEC_DEDUP_SAMPLE
};

void wcodec_dedup_init(struct wcodec_dedup *dedup, wcodec_context *context,
                       const struct wcodec_source *source)
{
    *dedup = (struct wcodec_dedup){.context = context, .source = source};
    if (!wcodec_random(&dedup->seed, sizeof dedup->seed, false))
        dedup->seed = 0;
}

void wcodec_dedup_free(struct wcodec_dedup *dedup)
{
    wcodec_free(&dedup->context->allocator, dedup->items);
    wcodec_free(&dedup->context->allocator, dedup->slots);
    *dedup = (struct wcodec_dedup){.context = dedup->context};
}

size_t wcodec_dedup_sample(size_t size, unsigned i)
{
    return i < SAMPLES - 1 ? i * ((size - SAMPLE) / (SAMPLES - 1)) : size - SAMPLE;
}

static struct wcodec_dedup_hash hash_of(const void *data, size_t size)
{
    const XXH128_hash_t h = XXH3_128bits(data, size);
    return (struct wcodec_dedup_hash){h.low64, h.high64};
}

struct wcodec_dedup_hash wcodec_dedup_hash_samples(const uint8_t *samples)
{
    return hash_of(samples, (size_t)SAMPLES * SAMPLE);
}

struct wcodec_dedup_hash wcodec_dedup_hash(const void *data, size_t size)
{
    uint8_t samples[SAMPLES * SAMPLE];
    if (size <= sizeof samples)
        return hash_of(data, size);
    for (unsigned i = 0; i < SAMPLES; i++)
        memcpy(samples + (size_t)i * SAMPLE, (const uint8_t *)data + wcodec_dedup_sample(size, i),
               SAMPLE);
    return wcodec_dedup_hash_samples(samples);
}

static uint64_t first_slot(const struct wcodec_dedup *dedup, const struct wcodec_dedup_hash *hash)
{
    return XXH3_64bits_withSeed(hash, sizeof *hash, dedup->seed) & (dedup->slot_count - 1);
}

/* Bytes that an item may be equal to: in memory, or where data is NULL, in the source. */
struct candidate {
    const uint8_t *data;
    uint64_t offset, size;
};

/* What the threads that compare share. */
struct comparison {
    const struct wcodec_dedup *dedup;
    uint64_t offset;     /* in the source */
    const uint8_t *data; /* the same bytes in memory; NULL: they are read */
    const struct candidate *with;
    atomic_size_t next;  /* piece */
    atomic_bool differs; /* or a failure: no more pieces are needed */
    pthread_mutex_t lock;
    wcodec_status status; /* of the first failure */
    wcodec_error error;
};

/* Bytes of the source from `offset` on, if they are in memory. */
static const uint8_t *in_memory(const struct wcodec_dedup *dedup, uint64_t offset, uint64_t size)
{
    const struct wcodec_source *source = dedup->source;
    if (source->fd < 0 && offset <= source->size && size <= source->size - offset)
        return source->data + offset;
    if (dedup->held != NULL && offset >= dedup->held_begin &&
        offset - dedup->held_begin <= dedup->held_size &&
        size <= dedup->held_size - (offset - dedup->held_begin))
        return dedup->held + (offset - dedup->held_begin);
    return NULL;
}

/* One piece; buffers: for two of them. */
static wcodec_status compare_piece(struct comparison *c, uint64_t at, size_t size, uint8_t *buffers,
                                   wcodec_error *err)
{
    const struct wcodec_source *source = c->dedup->source;
    const uint8_t *one = c->data != NULL ? c->data + at : buffers,
                  *other = c->with->data != NULL ? c->with->data + at : buffers + COMPARE_SIZE;
    wcodec_status status = WCODEC_OK;
    if (c->data == NULL)
        status = wcodec_source_read(source, c->offset + at, buffers, size, err);
    if (status == WCODEC_OK && c->with->data == NULL)
        status =
            wcodec_source_read(source, c->with->offset + at, buffers + COMPARE_SIZE, size, err);
    if (status == WCODEC_OK && memcmp(one, other, size) != 0)
        atomic_store(&c->differs, true);
    return status;
}

/* Tasks take pieces until one differs or none is left. */
static void compare_task(void *argument, size_t i)
{
    struct comparison *c = argument;
    const wcodec_allocator *allocator = &c->dedup->context->allocator;
    const size_t pieces = (size_t)wcodec_div_up_u64(c->with->size, COMPARE_SIZE);
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    uint8_t *buffers = NULL;
    (void)i;
    for (size_t p; status == WCODEC_OK && !atomic_load(&c->differs) &&
                   (p = atomic_fetch_add(&c->next, 1)) < pieces;) {
        const uint64_t at = (uint64_t)p * COMPARE_SIZE, left = c->with->size - at;
        if (buffers == NULL && (c->data == NULL || c->with->data == NULL))
            buffers = wcodec_alloc(allocator, 2 * (size_t)COMPARE_SIZE);
        if (buffers == NULL && (c->data == NULL || c->with->data == NULL))
            status = wcodec_fail(&error, WCODEC_ERROR_MEMORY, "out of memory");
        else
            status =
                compare_piece(c, at, (size_t)(left < COMPARE_SIZE ? left : (uint64_t)COMPARE_SIZE),
                              buffers, &error);
    }
    wcodec_free(allocator, buffers);
    if (status == WCODEC_OK)
        return;
    atomic_store(&c->differs, true);
    pthread_mutex_lock(&c->lock);
    if (c->status == WCODEC_OK) {
        c->status = status;
        c->error = error;
    }
    pthread_mutex_unlock(&c->lock);
}

/* Is what the source holds at `offset` equal to them? */
static wcodec_status compare(struct wcodec_dedup *dedup, uint64_t offset,
                             const struct candidate *with, bool *equal, wcodec_error *err)
{
    struct comparison c = {.dedup = dedup,
                           .offset = offset,
                           .data = in_memory(dedup, offset, with->size),
                           .with = with};
    const uint64_t pieces = wcodec_div_up_u64(with->size, COMPARE_SIZE);
    if (pthread_mutex_init(&c.lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    wcodec_run(dedup->context, compare_task, &c,
               (size_t)(pieces < COMPARE_THREADS ? pieces : (uint64_t)COMPARE_THREADS));
    pthread_mutex_destroy(&c.lock);
    if (c.status != WCODEC_OK)
        return wcodec_fail(err, c.status, "%s", c.error.text);
    *equal = !atomic_load(&c.differs);
    return WCODEC_OK;
}

static wcodec_status find(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                          const struct candidate *with, uint64_t *entry, wcodec_error *err)
{
    uint64_t found = UINT64_MAX, mask = dedup->slot_count - 1;
    unsigned compared = 0;
    if (dedup->slot_count != 0) {
        for (uint64_t s = first_slot(dedup, &hash);
             dedup->slots[s] != 0 && found == UINT64_MAX && compared < COMPARE_MAX;
             s = (s + 1) & mask) {
            const struct wcodec_dedup_item *item = &dedup->items[dedup->slots[s] - 1];
            if (item->hash.low != hash.low || item->hash.high != hash.high ||
                item->size != with->size)
                continue;
            bool equal = false;
            wcodec_status status = compare(dedup, item->offset, with, &equal, err);
            if (status != WCODEC_OK)
                return status;
            compared++;
            if (equal)
                found = item->entry;
        }
    }
    *entry = found;
    return WCODEC_OK;
}

wcodec_status wcodec_dedup_find(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                                const void *data, size_t size, uint64_t *entry, wcodec_error *err)
{
    const struct candidate with = {.data = data, .size = size};
    return find(dedup, hash, &with, entry, err);
}

wcodec_status wcodec_dedup_find_read(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                                     uint64_t offset, uint64_t size, uint64_t *entry,
                                     wcodec_error *err)
{
    const struct candidate with = {.offset = offset, .size = size};
    return find(dedup, hash, &with, entry, err);
}

static void put_slot(struct wcodec_dedup *dedup, uint64_t number)
{
    uint64_t mask = dedup->slot_count - 1, s = first_slot(dedup, &dedup->items[number].hash);
    while (dedup->slots[s] != 0)
        s = (s + 1) & mask;
    dedup->slots[s] = number + 1;
}

static wcodec_status grow(struct wcodec_dedup *dedup, wcodec_error *err)
{
    const wcodec_allocator *allocator = &dedup->context->allocator;
    uint64_t capacity = dedup->capacity ? dedup->capacity * 2 : 64;
    struct wcodec_dedup_item *items =
        wcodec_realloc_array(allocator, dedup->items, capacity, sizeof *items);
    if (items)
        dedup->items = items;
    uint64_t *slots = items ? wcodec_alloc_array(allocator, 2 * capacity, sizeof *slots) : NULL;
    if (!slots)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the hashes of %" PRIu64 " tensors", capacity);
    memset(slots, 0, (size_t)(2 * capacity) * sizeof *slots);
    wcodec_free(allocator, dedup->slots);
    dedup->slots = slots;
    dedup->slot_count = 2 * capacity;
    dedup->capacity = capacity;
    for (uint64_t i = 0; i < dedup->count; i++)
        put_slot(dedup, i);
    return WCODEC_OK;
}

wcodec_status wcodec_dedup_add(struct wcodec_dedup *dedup, const struct wcodec_dedup_item *item,
                               wcodec_error *err)
{
    if (dedup->count == dedup->capacity) {
        wcodec_status status = grow(dedup, err);
        if (status != WCODEC_OK)
            return status;
    }
    dedup->items[dedup->count] = *item;
    put_slot(dedup, dedup->count++);
    return WCODEC_OK;
}
