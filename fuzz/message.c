/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages between snapshots of weights, applied: the input as a message; and a good one of which
 * bytes of payloads are changed as the input says, with hashes that are right, so that decoders in
 * place meet them. A message that is refused on trial changes nothing, and one that is applied
 * gives the new weights. */
#include "coding/delta.h"
#include "core/memory.h"
#include "format/index.h"
#include "fuzz/fuzz.h"
#include "io/source.h"
#include "io/tree.h"
#include <wcodec/delta.h>

const char fuzz_target[] = "message";
const bool fuzz_takes_files = true;

enum { TENSORS = 3, ELEMENTS = 20000, CHANGES = 8 };

static uint8_t before[TENSORS][2 * ELEMENTS], after[TENSORS][2 * ELEMENTS],
    weights[TENSORS][2 * ELEMENTS];
static const uint64_t shape = ELEMENTS;

static void item_of(uint8_t *data, unsigned i, wcodec_save_item *item)
{
    static const char *const names[TENSORS] = {"sparse", "dense", "equal"};
    *item = (wcodec_save_item){.name = names[i],
                               .dtype = WCODEC_DTYPE_BF16,
                               .rank = 1,
                               .shape = &shape,
                               .source = (uint64_t)(uintptr_t)data,
                               .size = 2 * ELEMENTS};
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A message of a sparse delta, one in parts, and one of no change. */
static void *make(size_t *size)
{
    wcodec_save_item old[TENSORS], new[TENSORS];
    uint32_t state = 1;
    void *message;
    for (unsigned i = 0; i < TENSORS; i++) {
        for (unsigned k = 0; k < 2 * ELEMENTS; k++)
            before[i][k] = (uint8_t)(k % 2 == 0 ? next(&state) : 0x3c);
        memcpy(after[i], before[i], sizeof after[i]);
        for (unsigned k = 0; k < ELEMENTS && i < 2; k++)
            if (next(&state) % (i == 0 ? 100 : 2) == 0)
                after[i][2 * k] = (uint8_t)(after[i][2 * k] + 1);
        item_of(before[i], i, &old[i]);
        item_of(after[i], i, &new[i]);
    }
    FUZZ_REQUIRE(wcodec_delta_encode(fuzz_context(), old, TENSORS, new, TENSORS, NULL, &message,
                                     size, NULL, NULL) == WCODEC_OK);
    return message;
}

static void apply(const void *message, size_t size, wcodec_delta_verify verify)
{
    wcodec_save_item items[TENSORS];
    wcodec_delta_apply_options options;
    uint8_t states[TENSORS];
    memcpy(weights, before, sizeof weights);
    for (unsigned i = 0; i < TENSORS; i++)
        item_of(weights[i], i, &items[i]);
    wcodec_delta_apply_options_init(&options);
    options.verify = verify;
    options.states = states;
    const wcodec_status status =
        wcodec_delta_apply(fuzz_context(), message, size, items, TENSORS, &options, NULL, NULL);
    fuzz_deep += states[0] != WCODEC_DELTA_STATE_BEFORE;
    for (unsigned i = 0; i < TENSORS; i++) {
        if (states[i] == WCODEC_DELTA_STATE_AFTER)
            FUZZ_REQUIRE(memcmp(weights[i], after[i], sizeof weights[i]) == 0);
        if (states[i] == WCODEC_DELTA_STATE_BEFORE)
            FUZZ_REQUIRE(memcmp(weights[i], before[i], sizeof weights[i]) == 0);
        FUZZ_REQUIRE(verify != WCODEC_DELTA_VERIFY_TRIAL || status == WCODEC_OK ||
                     states[i] == WCODEC_DELTA_STATE_BEFORE);
    }
}

/* Streams or the side of the sparse tensor, or any payload, changed at places and by values of the
 * input, three bytes each. */
static void change(const struct wcodec_index *index, uint8_t *message, const uint8_t *data,
                   size_t size)
{
    for (size_t i = 0; i + 3 <= size && i < 3 * CHANGES; i += 3) {
        const struct wcodec_entry *e = &index->entries[1 + data[i] % 2];
        const uint64_t part = data[i] & 0x80 ? e->u.delta->head.side_size : e->payload_size,
                       at = (data[i + 1] * part / 256 + (data[i] >> 1 & 63)) % e->payload_size;
        message[e->payload_offset + at] ^= data[i + 2];
    }
}

/* The checks of streams, which the end of the side has; `side` is that of the good message. */
static void seal_streams(const struct wcodec_delta_side *side, uint8_t *payload)
{
    const struct wcodec_delta *d = side->delta;
    const uint8_t *streams = payload + wcodec_delta_streams_begin(d);
    uint8_t varint[10], *at = payload + d->side_size;
    for (uint64_t i = d->tiles; i-- > 0;) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(side, i);
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        at -= 4;
        wcodec_store_u32(at, wcodec_delta_check(streams + t.place, t.size));
        at -= wcodec_put_varint(varint, t.size);
    }
}

/* Hashes of a delta that was changed, and the check of its side. */
static void seal_delta(struct wcodec_entry *e, const uint8_t *good, uint8_t *message, bool streams)
{
    struct wcodec_delta head = e->u.delta->head;
    struct wcodec_delta_side *side;
    uint8_t *parameters = fuzz_copy(e->parameters, e->parameters_size),
            *payload = message + e->payload_offset;
    FUZZ_REQUIRE(wcodec_delta_side_read(&head, good + e->payload_offset, &wcodec_default_allocator,
                                        &side, NULL) == WCODEC_OK);
    if (streams)
        seal_streams(side, payload);
    wcodec_delta_side_free(side);
    head.check = head.side_size != 0 ? wcodec_delta_check(payload, head.side_size) : 0;
    (void)wcodec_delta_write(&head, parameters);
    e->parameters = parameters;
}

/* The message with hashes that are right. */
static uint8_t *seal(struct wcodec_index *index, const uint8_t *message, size_t *size)
{
    uint8_t *coded, tail[WCODEC_TAIL_SIZE];
    size_t coded_size;
    uint64_t decoded_size;
    const size_t body = (size_t)index->body_stop;
    for (uint64_t i = 0; i < index->entry_count; i++) {
        struct wcodec_entry *e = &index->entries[i];
        if (e->payload_size != 0)
            e->payload_hash =
                wcodec_tree_of(wcodec_leaf_plain, message + e->payload_offset, e->payload_size).low;
    }
    FUZZ_REQUIRE(wcodec_index_write(index, &wcodec_default_allocator, &coded, &coded_size,
                                    &decoded_size, NULL) == WCODEC_OK);
    *size = body + coded_size + sizeof tail;
    uint8_t *sealed = malloc(*size);
    FUZZ_REQUIRE(sealed != NULL);
    memcpy(sealed, message, body);
    memcpy(sealed + body, coded, coded_size);
    wcodec_tail_write(sealed, body, coded, coded_size, decoded_size, *size, tail);
    memcpy(sealed + body + coded_size, tail, sizeof tail);
    wcodec_free(&wcodec_default_allocator, coded);
    return sealed;
}

static void run_changed(const uint8_t *good, size_t good_size, const uint8_t *data, size_t size)
{
    static const wcodec_limits limits = {.max_memory = UINT64_MAX,
                                         .max_tensor_bytes = UINT64_MAX,
                                         .max_index_bytes = UINT64_MAX,
                                         .max_tensors = UINT64_MAX};
    struct wcodec_source source;
    struct wcodec_index *index;
    size_t sealed_size;
    uint8_t *changed = fuzz_copy(good, good_size);
    wcodec_source_memory(good, good_size, &source);
    FUZZ_REQUIRE(wcodec_index_read(&source, &wcodec_default_allocator, &limits, &index, NULL) ==
                 WCODEC_OK);
    FUZZ_REQUIRE(index->entry_count == 1 + TENSORS);
    change(index, changed, data + 1, size - 1);
    for (unsigned i = 1; i <= 2; i++) {
        FUZZ_REQUIRE(index->entries[i].coding == WCODEC_CODING_DELTA);
        seal_delta(&index->entries[i], good, changed, data[0] & 1);
    }
    uint8_t *sealed = seal(index, changed, &sealed_size);
    for (unsigned verify = WCODEC_DELTA_VERIFY_BEFORE; verify <= WCODEC_DELTA_VERIFY_AFTER;
         verify++)
        apply(sealed, sealed_size, (wcodec_delta_verify)verify);
    for (unsigned i = 1; i <= 2; i++)
        free((void *)(uintptr_t)index->entries[i].parameters);
    free(sealed);
    free(changed);
    wcodec_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *message;
    static size_t message_size;
    if (message == NULL)
        message = make(&message_size);
    uint8_t *copy = fuzz_copy(data, size);
    apply(copy, size, WCODEC_DELTA_VERIFY_BEFORE);
    free(copy);
    if (size > 0)
        run_changed(message, message_size, data, size);
    return 0;
}
