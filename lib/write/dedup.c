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
enum { COMPARE_SIZE = 1 << 18, COMPARE_MAX = 16, SAMPLES = 64, SAMPLE = 64 };

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

struct wcodec_dedup_hash wcodec_dedup_hash(const void *data, size_t size)
{
    uint8_t samples[SAMPLES * SAMPLE];
    XXH128_hash_t h;
    if (size <= sizeof samples) {
        h = XXH3_128bits(data, size);
    } else {
        const size_t step = (size - SAMPLE) / (SAMPLES - 1);
        for (size_t i = 0; i < SAMPLES; i++)
            memcpy(samples + i * SAMPLE,
                   (const uint8_t *)data + (i < SAMPLES - 1 ? i * step : size - SAMPLE), SAMPLE);
        h = XXH3_128bits(samples, sizeof samples);
    }
    return (struct wcodec_dedup_hash){h.low64, h.high64};
}

static uint64_t first_slot(const struct wcodec_dedup *dedup, const struct wcodec_dedup_hash *hash)
{
    return XXH3_64bits_withSeed(hash, sizeof *hash, dedup->seed) & (dedup->slot_count - 1);
}

/* Is what the source holds at `offset` equal to data? */
static wcodec_status compare(struct wcodec_dedup *dedup, uint64_t offset, const uint8_t *data,
                             size_t size, bool *equal, wcodec_error *err)
{
    if (dedup->source->fd < 0 && offset <= dedup->source->size &&
        size <= dedup->source->size - offset) {
        *equal = memcmp(dedup->source->data + offset, data, size) == 0;
        return WCODEC_OK;
    }
    if (!dedup->buffer)
        dedup->buffer = wcodec_alloc(dedup->allocator, COMPARE_SIZE);
    if (!dedup->buffer)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    bool same = true;
    for (size_t at = 0; at < size && same; at += COMPARE_SIZE) {
        size_t part = size - at < COMPARE_SIZE ? size - at : COMPARE_SIZE;
        wcodec_status status =
            wcodec_source_read(dedup->source, offset + at, dedup->buffer, part, err);
        if (status != WCODEC_OK)
            return status;
        same = memcmp(dedup->buffer, data + at, part) == 0;
    }
    *equal = same;
    return WCODEC_OK;
}

wcodec_status wcodec_dedup_find(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                                const void *data, size_t size, uint64_t *entry, wcodec_error *err)
{
    uint64_t found = UINT64_MAX, mask = dedup->slot_count - 1;
    unsigned compared = 0;
    if (dedup->slot_count != 0) {
        for (uint64_t s = first_slot(dedup, &hash);
             dedup->slots[s] != 0 && found == UINT64_MAX && compared < COMPARE_MAX;
             s = (s + 1) & mask) {
            const struct wcodec_dedup_item *item = &dedup->items[dedup->slots[s] - 1];
            if (item->hash.low != hash.low || item->hash.high != hash.high || item->size != size)
                continue;
            bool equal = false;
            wcodec_status status = compare(dedup, item->offset, data, size, &equal, err);
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
