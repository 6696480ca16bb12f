/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The folder of a store: a u16 size of its manifest, without the check, and that; then its files,
 * each a u8 with the file's number, and 128 more where it is the bits of removed vectors, a u16
 * size and the bytes. All get hashes that are right. What opens can be searched and compacted, and
 * finds the same vectors with the same scores afterwards; what was removed is not found. */
#include "fuzz/container.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include "vectors/manifest.h"
#include <inttypes.h>
#include <math.h>
#include <wcodec/search.h>
#include <xxhash.h>

const char fuzz_target[] = "stores";
const bool fuzz_takes_files = false;

enum { FILES = 8, REMOVED = 0x80, QUERIES = 2, K = 5, ELEMENTS_MAX = 1 << 16, HASH_SIZE = 8 };

struct found {
    uint64_t k, ids[QUERIES * K];
    float scores[QUERIES * K];
};

static size_t take_size(struct wcodec_cursor *c)
{
    const size_t low = fuzz_take(c), size = low | (size_t)fuzz_take(c) << 8,
                 left = (size_t)wcodec_cursor_left(c);
    return size < left ? size : left;
}

static void put_manifest(struct wcodec_cursor *c)
{
    enum { CHECK = 24 };
    const size_t size = take_size(c);
    char *text = malloc(size + CHECK);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, c->at, size);
    c->at += size;
    const int more =
        snprintf(text + size, CHECK, "check %016" PRIx64 "\n", (uint64_t)XXH3_64bits(text, size));
    fuzz_file(WCODEC_MANIFEST_NAME, text, size + (size_t)more);
    free(text);
}

static void put_file(struct wcodec_cursor *c)
{
    const uint8_t kind = fuzz_take(c);
    const size_t size = take_size(c);
    char name[WCODEC_STORE_NAME_SIZE];
    uint8_t *bytes = malloc(size + HASH_SIZE);
    FUZZ_REQUIRE(bytes != NULL);
    memcpy(bytes, c->at, size);
    c->at += size;
    if (kind & REMOVED) {
        wcodec_store_u64(bytes + size, XXH3_64bits(bytes, size));
        wcodec_store_removed_name(kind % REMOVED, name);
        fuzz_file(name, bytes, size + HASH_SIZE);
    } else {
        fuzz_container_right(bytes, size);
        wcodec_store_segment_name(kind, name);
        fuzz_file(name, bytes, size);
    }
    free(bytes);
}

/* NULL: it cannot be opened. */
static wcodec_vectors_store *open_store(void)
{
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_vectors_open(fuzz_context(), fuzz_folder(), &store, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (store != NULL));
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    return store;
}

static void check_found(const struct found *found, const wcodec_vectors_store_info *info)
{
    for (size_t i = 0; i < QUERIES * found->k; i++) {
        FUZZ_REQUIRE(found->ids[i] < info->next_id && found->scores[i] >= 0);
        FUZZ_REQUIRE(i % found->k == 0 || found->scores[i] >= found->scores[i - 1]);
    }
}

/* False: it has no vectors, or too many to search them for each input. */
static bool search(const wcodec_vectors_store *store, struct found *found)
{
    wcodec_vectors_store_info info;
    wcodec_vectors_search_options options;
    wcodec_error err = {0};
    wcodec_vectors_store_describe(store, &info);
    if (info.rows == 0 || info.dimensions > ELEMENTS_MAX ||
        info.rows > ELEMENTS_MAX / info.dimensions)
        return false;
    float *data = malloc((size_t)info.dimensions * QUERIES * sizeof *data);
    FUZZ_REQUIRE(data != NULL);
    for (size_t i = 0; i < info.dimensions * QUERIES; i++)
        data[i] = (float)(i * 7 % 11) - 5;
    const wcodec_vector_rows queries = {
        .dtype = WCODEC_DTYPE_F32, .count = QUERIES, .dimensions = info.dimensions, .data = data};
    wcodec_vectors_search_options_init(&options);
    *found = (struct found){.k = info.rows < K ? info.rows : K};
    options.k = found->k;
    const wcodec_status status =
        wcodec_vectors_search(store, &queries, &options, found->ids, found->scores, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
    if (status == WCODEC_OK)
        check_found(found, &info);
    free(data);
    return status == WCODEC_OK;
}

/* What is found afterwards is what was found before. */
static void compact(const struct found *before, bool searched)
{
    wcodec_vectors_compact_report report;
    wcodec_error err = {0};
    struct found after;
    const wcodec_status status =
        wcodec_vectors_store_compact(fuzz_context(), fuzz_folder(), NULL, &report, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    wcodec_vectors_store *store = open_store();
    FUZZ_REQUIRE(store != NULL);
    if (search(store, &after) && searched)
        FUZZ_REQUIRE(memcmp(before, &after, sizeof after) == 0);
    wcodec_vectors_close(store);
}

static void remove_first(const struct found *found)
{
    wcodec_error err = {0};
    struct found after;
    if (wcodec_vectors_store_remove(fuzz_context(), fuzz_folder(), found->ids, 1, &err) !=
        WCODEC_OK)
        return;
    wcodec_vectors_store *store = open_store();
    FUZZ_REQUIRE(store != NULL);
    if (search(store, &after))
        for (size_t i = 0; i < QUERIES * after.k; i++)
            FUZZ_REQUIRE(after.ids[i] != found->ids[0]);
    wcodec_vectors_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    struct found found;
    fuzz_folder_clear();
    put_manifest(&c);
    for (unsigned i = 0; i < FILES && wcodec_cursor_left(&c) != 0; i++)
        put_file(&c);
    wcodec_vectors_store *store = open_store();
    if (store == NULL)
        return 0;
    const bool searched = search(store, &found);
    wcodec_vectors_close(store);
    fuzz_deep++;
    compact(&found, searched);
    if (searched)
        remove_first(&found);
    return 0;
}
