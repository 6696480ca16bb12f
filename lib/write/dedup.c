/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/dedup.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

/* Tensors that agree wherever samples are taken are few: no more than COMPARE_MAX are read for each
 * one, up to the first byte that differs. */
enum {
    COMPARE_SIZE = 1 << 18,
    COMPARE_MAX = 16,
    SAMPLES = WCODEC_DEDUP_SAMPLES,
    SAMPLE = WCODEC_DEDUP_SAMPLE
};

void wcodec_dedup_init(struct wcodec_dedup *dedup, const wcodec_allocator *allocator,
                       const struct wcodec_source *source)
{
    *dedup = (struct wcodec_dedup){.allocator = allocator, .source = source};
    if (getrandom(&dedup->seed, sizeof dedup->seed, GRND_NONBLOCK) != (ssize_t)sizeof dedup->seed)
        dedup->seed = 0;
}

void wcodec_dedup_free(struct wcodec_dedup *dedup)
{
    wcodec_free(dedup->allocator, dedup->items);
    wcodec_free(dedup->allocator, dedup->slots);
    wcodec_free(dedup->allocator, dedup->buffer);
    *dedup = (struct wcodec_dedup){.allocator = dedup->allocator};
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

/* Is what the source holds at `offset` equal to them? */
static wcodec_status compare(struct wcodec_dedup *dedup, uint64_t offset,
                             const struct candidate *with, bool *equal, wcodec_error *err)
{
    const struct wcodec_source *source = dedup->source;
    if (with->data != NULL && source->fd < 0 && offset <= source->size &&
        with->size <= source->size - offset) {
        *equal = memcmp(source->data + offset, with->data, (size_t)with->size) == 0;
        return WCODEC_OK;
    }
    if (!dedup->buffer)
        dedup->buffer = wcodec_alloc(dedup->allocator, 2 * (size_t)COMPARE_SIZE);
    if (!dedup->buffer)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    uint8_t *const own = dedup->buffer + COMPARE_SIZE;
    bool same = true;
    for (uint64_t at = 0; at < with->size && same; at += COMPARE_SIZE) {
        const size_t part =
            with->size - at < COMPARE_SIZE ? (size_t)(with->size - at) : (size_t)COMPARE_SIZE;
        wcodec_status status = wcodec_source_read(source, offset + at, dedup->buffer, part, err);
        if (status == WCODEC_OK && with->data == NULL)
            status = wcodec_source_read(source, with->offset + at, own, part, err);
        if (status != WCODEC_OK)
            return status;
        same = memcmp(dedup->buffer, with->data != NULL ? with->data + at : own, part) == 0;
    }
    *equal = same;
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
    uint64_t capacity = dedup->capacity ? dedup->capacity * 2 : 64;
    struct wcodec_dedup_item *items =
        wcodec_realloc_array(dedup->allocator, dedup->items, capacity, sizeof *items);
    if (items)
        dedup->items = items;
    uint64_t *slots =
        items ? wcodec_alloc_array(dedup->allocator, 2 * capacity, sizeof *slots) : NULL;
    if (!slots)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for the hashes of %" PRIu64 " tensors", capacity);
    memset(slots, 0, (size_t)(2 * capacity) * sizeof *slots);
    wcodec_free(dedup->allocator, dedup->slots);
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
