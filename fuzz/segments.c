/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vectors that anchors are found for, compressed to a segment and searched in: u8 rows, u8
 * dimensions, u8 anchors, u8 schedule and dtype, and 32 more for a device, u8 metric and k, u8
 * number of changes of the segment, each a u16 place in 65536ths and a u8; then bytes that elements
 * are made of, over and over. A segment that is not changed gives its rows back, near to what they
 * were; one that is changed is refused, or gives numbers. A device finds what the CPU does, to the
 * last bit. */
#include "fuzz/container.h"
#include "fuzz/device.h"
#include "fuzz/fuzz.h"
#include <math.h>
#include <wcodec.h>

const char fuzz_target[] = "segments";
const bool fuzz_takes_files = false;

enum { ROWS_MAX = 96, DIMENSIONS_MAX = 40, CHANGES_MAX = 4, QUERIES = 2, K_MAX = 8 };

static struct fuzz_bytes segment;
static wcodec_vector_rows rows;
static uint8_t metric;
static bool changed;
static wcodec_context *device; /* NULL: none is to be used */

struct found {
    uint64_t ids[QUERIES * K_MAX];
    float scores[QUERIES * K_MAX];
};

static void check_error(wcodec_status status, const wcodec_error *err)
{
    FUZZ_REQUIRE(status == WCODEC_OK || (err->status == status && err->text[0] != 0));
}

/* Numbers as the bits are, or small ones. */
static void make_rows(struct wcodec_cursor *c, uint8_t kind)
{
    static uint8_t data[ROWS_MAX * DIMENSIONS_MAX * 4];
    const size_t left = wcodec_cursor_left(c),
                 size = (size_t)(rows.count * rows.dimensions) * (kind & 1 ? 2 : 4);
    rows.dtype = !(kind & 1) ? WCODEC_DTYPE_F32 : kind & 2 ? WCODEC_DTYPE_BF16 : WCODEC_DTYPE_F16;
    rows.data = data;
    for (size_t i = 0; i < size; i++)
        data[i] =
            (uint8_t)((left != 0 ? c->at[i % left] : 0) ^ (kind & 4 ? i * 2654435761u >> 29 : 0));
    for (size_t i = 0; !(kind & 1) && !(kind & 8) && i < size; i += 4) {
        const float small = (float)(int8_t)data[i] / 16;
        memcpy(data + i, &small, sizeof small);
    }
}

/* The same anchors for the same rows. */
static void check_same(const wcodec_vectors *vectors, const wcodec_vectors *others)
{
    wcodec_vectors_info a, b;
    wcodec_vectors_describe(vectors, &a);
    wcodec_vectors_describe(others, &b);
    FUZZ_REQUIRE(a.anchors == b.anchors && a.rows == b.rows && a.dimensions == b.dimensions);
    FUZZ_REQUIRE(memcmp(a.index, b.index, (size_t)a.rows * sizeof *a.index) == 0);
    FUZZ_REQUIRE(
        memcmp(a.anchor, b.anchor, (size_t)(a.anchors * a.dimensions) * sizeof *a.anchor) == 0);
}

static wcodec_vectors *train(uint64_t anchors, bool published)
{
    wcodec_vectors_options options;
    wcodec_vectors *vectors = NULL;
    wcodec_vectors_info info;
    wcodec_error err = {0};
    wcodec_vectors_options_init(&options);
    options.anchors = 1 + anchors % rows.count;
    options.schedule = published ? WCODEC_VECTORS_COMPAT : WCODEC_VECTORS_BEST;
    options.max_iterations = 20;
    options.maintenance = 5;
    const wcodec_status status =
        wcodec_vectors_train(fuzz_context(), &rows, &options, &vectors, &err);
    check_error(status, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_USAGE);
    if (device != NULL) {
        wcodec_vectors *others = NULL;
        FUZZ_REQUIRE(wcodec_vectors_train(device, &rows, &options, &others, NULL) == status);
        if (others != NULL)
            check_same(vectors, others);
        wcodec_vectors_destroy(others);
    }
    if (vectors == NULL)
        return NULL;
    wcodec_vectors_describe(vectors, &info);
    for (uint64_t i = 0; i < info.rows; i++)
        FUZZ_REQUIRE(info.index[i] < info.anchors);
    return vectors;
}

static void search(const wcodec_vectors_store *store, struct found *found)
{
    wcodec_vectors_search_options options;
    wcodec_vectors_store_info info;
    wcodec_error err = {0};
    wcodec_vector_rows queries = rows;
    wcodec_vectors_store_describe(store, &info);
    queries.count = rows.count < QUERIES ? rows.count : QUERIES;
    wcodec_vectors_search_options_init(&options);
    options.metric = (wcodec_vectors_metric)(metric % 3);
    options.k = 1 + metric / 3 % K_MAX;
    options.probes = metric >> 6;
    const wcodec_status status =
        wcodec_vectors_search(store, &queries, &options, found->ids, found->scores, &err);
    check_error(status, &err);
    for (uint64_t i = 0; status == WCODEC_OK && i < queries.count * options.k; i++)
        FUZZ_REQUIRE(found->ids[i] == UINT64_MAX || found->ids[i] < info.rows);
    if (status != WCODEC_OK)
        *found = (struct found){{0}, {0}};
}

static void search_on_device(const wcodec_reader *reader, const struct found *expected)
{
    wcodec_vectors_store *store = NULL;
    struct found found = {{0}, {0}};
    FUZZ_REQUIRE(wcodec_vectors_open_reader(device, reader, &store, NULL) == WCODEC_OK);
    search(store, &found);
    FUZZ_REQUIRE(memcmp(&found, expected, sizeof found) == 0);
    wcodec_vectors_close(store);
}

static void use(const uint8_t *data, size_t size)
{
    wcodec_reader *reader = NULL;
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    if (wcodec_reader_open_memory(fuzz_context(), data, size, &reader, NULL) != WCODEC_OK) {
        FUZZ_REQUIRE(changed);
        return;
    }
    const size_t all = (size_t)(rows.count * rows.dimensions) * sizeof(float);
    float *out = (float *)(void *)fuzz_guarded(all);
    wcodec_status status = wcodec_vectors_decode(reader, 0, rows.count, out, all, &err);
    check_error(status, &err);
    FUZZ_REQUIRE(changed || status == WCODEC_OK);
    for (size_t i = 0; !changed && i < all / sizeof(float); i++)
        FUZZ_REQUIRE(isfinite(out[i]));
    fuzz_guarded_free((uint8_t *)out, all);
    status = wcodec_vectors_open_reader(fuzz_context(), reader, &store, &err);
    check_error(status, &err);
    FUZZ_REQUIRE(changed || status == WCODEC_OK);
    struct found found = {{0}, {0}};
    if (store != NULL)
        search(store, &found);
    if (store != NULL && device != NULL)
        search_on_device(reader, &found);
    fuzz_deep += store != NULL;
    wcodec_vectors_close(store);
    wcodec_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    wcodec_error err = {0};
    rows = (wcodec_vector_rows){.count = 1 + fuzz_take(&c) % ROWS_MAX};
    rows.dimensions = 1 + fuzz_take(&c) % DIMENSIONS_MAX;
    const uint8_t anchors = fuzz_take(&c), kind = fuzz_take(&c);
    device = kind & 32 ? fuzz_device_context() : NULL;
    metric = fuzz_take(&c);
    const unsigned changes = fuzz_take(&c) % (CHANGES_MAX + 1);
    const uint8_t *change = c.at;
    if (wcodec_cursor_left(&c) < 3 * (size_t)changes)
        return 0;
    c.at += 3 * (size_t)changes;
    make_rows(&c, kind);
    wcodec_vectors *vectors = train(anchors, kind & 16);
    if (vectors == NULL)
        return 0;
    segment = (struct fuzz_bytes){NULL, 0};
    const wcodec_status status = wcodec_vectors_compress(fuzz_context(), vectors, &rows, NULL,
                                                         fuzz_append, &segment, NULL, &err);
    check_error(status, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_USAGE);
    for (unsigned i = 0; status == WCODEC_OK && i < changes; i++)
        segment.data[wcodec_load_u16(change + 3 * i) * segment.size >> 16] ^= change[3 * i + 2];
    changed = changes != 0;
    if (status == WCODEC_OK && !changed)
        use(segment.data, segment.size);
    else if (status == WCODEC_OK)
        fuzz_container(use, segment.data, segment.size);
    free(segment.data);
    wcodec_vectors_destroy(vectors);
    return 0;
}
