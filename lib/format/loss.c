/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/loss.h"
#include "core/error.h"
#include "core/memory.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Three numbers of 16 digits, with blanks between. */
enum { DIGITS = 16, NUMBERS = 3, TEXT_SIZE = NUMBERS * (DIGITS + 1) - 1 };

static bool read_digit(char c, uint64_t *bits)
{
    const char *const digits = "0123456789abcdef", *at = c != 0 ? strchr(digits, c) : NULL;
    if (at == NULL)
        return false;
    *bits = *bits << 4 | (uint64_t)(at - digits);
    return true;
}

static bool read_text(const char *text, struct wcodec_loss *loss)
{
    double numbers[NUMBERS];
    if (strlen(text) != TEXT_SIZE)
        return false;
    for (unsigned n = 0; n < NUMBERS; n++, text += DIGITS + 1) {
        uint64_t bits = 0;
        for (unsigned i = 0; i < DIGITS; i++)
            if (!read_digit(text[i], &bits))
                return false;
        memcpy(&numbers[n], &bits, sizeof bits);
        if (!(numbers[n] >= 0 && numbers[n] <= DBL_MAX) || (n + 1 < NUMBERS && text[DIGITS] != ' '))
            return false;
    }
    *loss = (struct wcodec_loss){numbers[0], numbers[1], numbers[2]};
    return true;
}

const char *wcodec_loss_text(struct wcodec_arena *arena, const struct wcodec_loss *loss)
{
    const double numbers[NUMBERS] = {loss->largest_error, loss->mean_squared_error,
                                     loss->mean_square};
    char text[TEXT_SIZE + 2];
    for (unsigned n = 0; n < NUMBERS; n++) {
        uint64_t bits;
        memcpy(&bits, &numbers[n], sizeof bits);
        snprintf(text + n * (DIGITS + 1), DIGITS + 2, "%016" PRIx64 " ", bits);
    }
    return wcodec_arena_text(arena, text, TEXT_SIZE);
}

bool wcodec_loss_of(const struct wcodec_index *index, const struct wcodec_entry *entry,
                    struct wcodec_loss *loss)
{
    const struct wcodec_entry *own = wcodec_entry_own(index, entry);
    if (!wcodec_entry_is_lossy(index, entry))
        return false;
    if (entry->loss != NULL)
        return read_text(entry->loss, loss);
    if (own->coding == WCODEC_CODING_ANCHORED) {
        const struct wcodec_anchored *a = &own->u.anchored->head;
        *loss = (struct wcodec_loss){a->largest_error, a->mean_squared_error, a->mean_square};
        return true;
    }
    struct wcodec_lossy lossy;
    struct wcodec_tiling tiling;
    wcodec_entry_lossy(own, &lossy, &tiling);
    *loss = (struct wcodec_loss){lossy.largest_error, lossy.mean_squared_error, lossy.mean_square};
    return true;
}

bool wcodec_loss_is_key(const char *key)
{
    return strncmp(key, WCODEC_LOSS_KEY, sizeof WCODEC_LOSS_KEY - 1) == 0;
}

void wcodec_loss_attach(struct wcodec_index *index)
{
    for (uint64_t i = index->metadata_count;
         i-- > 0 && wcodec_loss_is_key(index->metadata[2 * i]);) {
        const char *key = index->metadata[2 * i], *value = index->metadata[2 * i + 1];
        struct wcodec_loss loss;
        uint64_t tensor;
        index->loss_count++;
        if (!read_text(value, &loss) ||
            !wcodec_names_find(&index->names, key + sizeof WCODEC_LOSS_KEY - 1, &tensor))
            continue;
        struct wcodec_entry *e = &index->entries[index->tensors[tensor]];
        if (wcodec_entry_is_lossy(index, e))
            continue;
        e->loss = value;
        index->lossy_count++;
    }
}

static const char *make_key(struct wcodec_arena *arena, const char *name)
{
    const size_t front = sizeof WCODEC_LOSS_KEY - 1, size = strlen(name);
    char *key = wcodec_arena_alloc(arena, front + size + 1);
    if (key == NULL)
        return NULL;
    memcpy(key, WCODEC_LOSS_KEY, front);
    memcpy(key + front, name, size + 1);
    return key;
}

wcodec_status wcodec_loss_metadata(const wcodec_allocator *allocator, struct wcodec_arena *arena,
                                   const char *const *from, uint64_t from_count,
                                   const struct wcodec_entry *tensors, uint64_t tensor_count,
                                   const char ***pairs, uint64_t *pair_count, wcodec_error *err)
{
    uint64_t count = 0;
    const char **made = wcodec_alloc_array(allocator, from_count + tensor_count, 2 * sizeof *made);
    if (made == NULL && from_count + tensor_count > 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
    for (uint64_t i = 0; i < from_count; i++) {
        if (wcodec_loss_is_key(from[2 * i]))
            continue;
        made[2 * count] = from[2 * i];
        made[2 * count++ + 1] = from[2 * i + 1];
    }
    for (uint64_t i = 0; i < tensor_count; i++) {
        if (tensors[i].loss == NULL)
            continue;
        made[2 * count] = make_key(arena, tensors[i].name);
        made[2 * count + 1] = tensors[i].loss;
        if (made[2 * count++] == NULL) {
            wcodec_free(allocator, made);
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
        }
    }
    *pairs = made;
    *pair_count = count;
    return WCODEC_OK;
}
