/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Any bytes as a pickle: what comes of it is made of its values alone, and can be walked. */
#include "format/pickle.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "pickle";
const bool fuzz_takes_files = false;

/* Each value once; the input is too short for a depth that this could not bear. */
static void walk(struct wcodec_pickle_value *v, unsigned depth)
{
    FUZZ_REQUIRE(v != NULL && v->kind <= WCODEC_PICKLE_OBJECT);
    if (v->is_seen || depth == 1000)
        return;
    v->is_seen = true;
    if (v->kind == WCODEC_PICKLE_TEXT || v->kind == WCODEC_PICKLE_GLOBAL)
        FUZZ_REQUIRE(v->text != NULL);
    unsigned count = 0;
    for (const struct wcodec_pickle_item *i = v->first; i != NULL; i = i->next) {
        walk(i->value, depth + 1);
        count++;
    }
    FUZZ_REQUIRE(v->kind != WCODEC_PICKLE_DICT || count % 2 == 0);
    FUZZ_REQUIRE((v->first == NULL) == (v->last == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct wcodec_arena arena;
    struct wcodec_pickle_value *value = NULL;
    wcodec_error err = {0};
    wcodec_arena_init(&arena, &wcodec_default_allocator);
    const wcodec_status status = wcodec_pickle_read(copy, size, &arena, NULL, &value, &err);
    free(copy);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        fuzz_deep++;
        walk(value, 0);
    }
    wcodec_arena_free(&arena);
    return 0;
}
