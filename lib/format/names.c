/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/names.h"
#include "core/bytes.h"
#include "core/memory.h"
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

struct wcodec_name_slot {
    const char *name; /* NULL: free */
    uint64_t number;
};

static uint64_t make_seed(const void *object)
{
    struct {
        struct timespec now;
        const void *object, *stack;
        uint64_t pid;
    } parts;
    memset(&parts, 0, sizeof(parts));
    clock_gettime(CLOCK_REALTIME, &parts.now);
    parts.object = object;
    parts.stack = &parts;
    parts.pid = (uint64_t)getpid();
    return XXH3_64bits(&parts, sizeof(parts));
}

uint64_t wcodec_names_memory(uint64_t count)
{
    uint64_t capacity = 8;
    while (capacity - capacity / 4 < count && capacity < (uint64_t)1 << 58)
        capacity *= 2;
    return capacity * sizeof(struct wcodec_name_slot);
}

bool wcodec_names_init(struct wcodec_names *names, const wcodec_allocator *allocator,
                       uint64_t count)
{
    uint64_t bytes = wcodec_names_memory(count), capacity = bytes / sizeof(struct wcodec_name_slot);
    struct wcodec_name_slot *slots =
        bytes > SIZE_MAX ? NULL : wcodec_alloc_zeroed(allocator, (size_t)bytes);
    if (slots == NULL)
        return false;
    *names = (struct wcodec_names){
        .allocator = allocator, .slots = slots, .mask = capacity - 1, .seed = make_seed(slots)};
    return true;
}

void wcodec_names_free(struct wcodec_names *names)
{
    if (names->slots != NULL)
        wcodec_free(names->allocator, names->slots);
    names->slots = NULL;
}

/* The slot of a name, or the free one where it belongs. */
static struct wcodec_name_slot *slot_of(const struct wcodec_names *names, const char *name)
{
    uint64_t i = XXH3_64bits_withSeed(name, strlen(name), names->seed) & names->mask;
    while (names->slots[i].name != NULL && strcmp(names->slots[i].name, name) != 0)
        i = (i + 1) & names->mask;
    return &names->slots[i];
}

bool wcodec_names_add(struct wcodec_names *names, const char *name, uint64_t *number)
{
    struct wcodec_name_slot *slot = slot_of(names, name);
    if (slot->name != NULL) {
        *number = slot->number;
        return false;
    }
    slot->name = name;
    slot->number = *number;
    return true;
}

bool wcodec_names_find(const struct wcodec_names *names, const char *name, uint64_t *number)
{
    if (names->slots == NULL)
        return false;
    const struct wcodec_name_slot *slot = slot_of(names, name);
    if (slot->name == NULL)
        return false;
    *number = slot->number;
    return true;
}

/* Bytes of the sequence at p, 0 if it is none. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = p[0] < 0x80       ? 1
                  : p[0] >> 5 == 6  ? 2
                  : p[0] >> 4 == 14 ? 3
                  : p[0] >> 3 == 30 ? 4
                                    : 0;
    if (size <= 1)
        return p[0] == 0 ? 0 : size;
    if (size > left)
        return 0;
    uint32_t code = p[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[size] || code > 0x10ffff || surrogate ? 0 : size;
}

bool wcodec_utf8_valid(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t step = utf8_sequence(bytes + i, size - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}
