/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_container.h"
#include "support_memory.h"
#include "support_tree.h"
#include <stdlib.h>
#include <string.h>
#include <wcodec/reader.h>
#include <zstd.h>

enum { CONSTANT_ELEMENTS = 6, CHUNK = 1000, CHUNK_DATA = 2500, HEADER = 40 };

/* Room that is taken for so many bytes: growing seldom matters with sanitizers, whose realloc()
 * always moves. */
static size_t room_for(size_t size)
{
    size_t capacity = 64;
    while (capacity < size)
        capacity *= 2;
    return capacity;
}

void support_put(struct support_bytes *b, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (b->data == NULL || room_for(b->size + size) != room_for(b->size))
        b->data = realloc(b->data, room_for(b->size + size));
    assert_non_null(b->data);
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

void support_put_uint(struct support_bytes *b, uint64_t v, unsigned size)
{
    uint8_t bytes[8];
    wcodec_store_u64(bytes, v);
    support_put(b, bytes, size);
}

void support_put_varint(struct support_bytes *b, uint64_t v)
{
    uint8_t bytes[10];
    support_put(b, bytes, wcodec_put_varint(bytes, v));
}

void support_put_string(struct support_bytes *b, const char *text, size_t size)
{
    support_put_varint(b, size);
    support_put(b, text, size);
}

static void put_zeros(struct support_bytes *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        support_put_uint(b, 0, 1);
}

static void put_align(struct support_bytes *b, size_t n)
{
    put_zeros(b, (n - b->size % n) % n);
}

void support_entry_chunks(struct support_entry *entry, const uint8_t *data, uint64_t size,
                          uint64_t chunk)
{
    struct support_bytes coded = {0};
    size_t bound = ZSTD_compressBound((size_t)chunk);
    uint8_t *frame = malloc(bound);
    entry->payload.size = 0;
    entry->parameters.size = 0;
    for (uint64_t at = 0; at < size; at += chunk) {
        size_t part = (size_t)(size - at < chunk ? size - at : chunk);
        size_t got = ZSTD_compress(frame, bound, data + at, part, 3);
        bool stored = ZSTD_isError(got) || got >= part;
        support_put(&coded, stored ? data + at : frame, stored ? part : got);
        support_put_uint(&entry->payload, stored ? part : got, 4);
        support_put_uint(&entry->payload, XXH3_64bits(data + at, part), 4);
    }
    put_align(&entry->payload, 16);
    support_put(&entry->payload, coded.data, coded.size);
    support_put_varint(&entry->parameters, chunk);
    entry->coding = WCODEC_CODING_CHUNKS;
    entry->size = size;
    entry->data = data;
    entry->payload_size = entry->payload.size;
    entry->payload_hash = support_tree_hash(entry->payload.data, entry->payload.size).low64;
    free(frame);
    free(coded.data);
}

void support_entry_tiles(struct support_entry *entry, const struct support_tensor *tensor)
{
    static const uint8_t dtypes[] = {WCODEC_DTYPE_I8, WCODEC_DTYPE_BF16, WCODEC_DTYPE_F32,
                                     WCODEC_DTYPE_F64};
    uint8_t parameters[WCODEC_TILING_MAX_BYTES];
    entry->coding = WCODEC_CODING_TILES;
    entry->dtype = dtypes[tensor->tiling.element_log2];
    entry->rank = 1;
    entry->shape[0] = tensor->tiling.elements;
    entry->size = tensor->tiling.size;
    entry->data = tensor->data;
    support_put(&entry->parameters, parameters, wcodec_tiling_write(&tensor->tiling, parameters));
    support_put(&entry->payload, tensor->payload, tensor->payload_size);
    entry->payload_size = tensor->payload_size;
    entry->payload_hash = support_tree_hash(tensor->payload, tensor->payload_size).low64;
}

struct support_entry *support_recipe_add(struct support_recipe *recipe, const char *name)
{
    assert_true(recipe->entries_used < SUPPORT_ENTRIES);
    struct support_entry *e = &recipe->entries[recipe->entries_used++];
    recipe->entry_count++;
    e->type = name != NULL;
    e->name = name;
    e->name_size = name != NULL ? strlen(name) : 0;
    return e;
}

static void add_constant(struct support_recipe *r)
{
    struct support_entry *e = support_recipe_add(r, "a");
    const uint8_t parameters[] = {1, 0x80, 0x3f};
    e->dtype = WCODEC_DTYPE_BF16;
    e->rank = 2;
    e->shape[0] = 2;
    e->shape[1] = CONSTANT_ELEMENTS / 2;
    e->size = 2 * CONSTANT_ELEMENTS;
    r->constant_data = malloc(e->size);
    for (unsigned i = 0; i < CONSTANT_ELEMENTS; i++)
        memcpy(r->constant_data + 2 * i, parameters + 1, 2);
    e->data = r->constant_data;
    support_put(&e->parameters, parameters, sizeof(parameters));
}

static void add_alias(struct support_recipe *r)
{
    struct support_entry *original = &r->entries[2], *e = support_recipe_add(r, "c");
    e->dtype = original->dtype;
    e->rank = original->rank;
    e->shape[0] = original->shape[0];
    e->size = original->size;
    e->data = original->data;
    e->coding = WCODEC_CODING_ALIAS;
    support_put_varint(&e->parameters, 2);
}

void support_recipe_init(struct support_recipe *r, uint64_t seed)
{
    memset(r, 0, sizeof(*r));
    memcpy(r->head, "\x89WCD\r\n\x1a\n\x01", 9);
    r->kind = 1;
    r->name = "model.safetensors";
    r->name_size = strlen(r->name);
    r->group_entries = 4;
    r->mode = 0644;
    r->mtime = 1700000001;
    r->metadata_count = 2;
    r->metadata[0] = "format";
    r->metadata[1] = "pt";
    r->metadata[2] = "";
    r->metadata[3] = "\xc3\xa9\xf0\x9f\x98\x80";
    r->chunk_data = malloc(CHUNK_DATA + HEADER);
    for (unsigned i = 0; i < CHUNK_DATA + HEADER; i++)
        r->chunk_data[i] = (uint8_t)(i < CHUNK ? support_random(&seed) : i / 100);
    for (unsigned i = 0; i < HEADER; i++)
        r->chunk_data[CHUNK_DATA + i] = (uint8_t)support_random(&seed);
    support_entry_chunks(support_recipe_add(r, NULL), r->chunk_data + CHUNK_DATA, HEADER, HEADER);
    add_constant(r);
    support_tensor_make(&seed, 0, &r->tensor);
    support_entry_tiles(support_recipe_add(r, "b"), &r->tensor);
    add_alias(r);
    struct support_entry *e = support_recipe_add(r, "d");
    e->dtype_name = "F2";
    e->rank = 1;
    e->shape[0] = 10000;
    support_entry_chunks(e, r->chunk_data, CHUNK_DATA, CHUNK);
    e = support_recipe_add(r, "e\xcc\x81");
    e->dtype = WCODEC_DTYPE_F32;
    e->rank = 3;
    e->shape[0] = 0;
    e->shape[1] = e->shape[2] = ((uint64_t)1 << 48) - 1;
    support_put(&e->parameters, "\0\0", 2);
    support_recipe_finish(r);
}

void support_recipe_original(const struct support_recipe *r, struct support_bytes *bytes)
{
    *bytes = (struct support_bytes){0};
    for (unsigned i = 0; i < r->entries_used; i++)
        if (r->entries[i].data != NULL)
            support_put(bytes, r->entries[i].data, r->entries[i].size);
}

void support_recipe_finish(struct support_recipe *r)
{
    struct support_bytes original;
    support_recipe_original(r, &original);
    const XXH128_hash_t hash = support_tree_hash(original.data, original.size);
    r->size = original.size;
    r->hash[0] = hash.low64;
    r->hash[1] = hash.high64;
    free(original.data);
}

void support_recipe_free(struct support_recipe *r)
{
    for (unsigned i = 0; i < SUPPORT_ENTRIES; i++) {
        free(r->entries[i].payload.data);
        free(r->entries[i].parameters.data);
    }
    support_tensor_free(&r->tensor);
    free(r->constant_data);
    free(r->chunk_data);
}

static void put_label(struct support_bytes *b, const struct support_entry *e)
{
    support_put_uint(b, e->type, 1);
    if (e->type == 1) {
        support_put_string(b, e->name, e->name_size);
        support_put_uint(b, e->dtype, 1);
        if (e->dtype == 0)
            support_put_string(b, e->dtype_name, strlen(e->dtype_name));
        support_put_varint(b, e->rank);
        for (uint64_t i = 0; i < e->rank && i < SUPPORT_SHAPE; i++)
            support_put_varint(b, e->shape[i]);
    }
    if (e->type != 1 || e->dtype == 0 || e->dtype > 22)
        support_put_varint(b, e->size);
}

static unsigned count_group(const struct support_recipe *r, unsigned first)
{
    const unsigned left = r->entries_used - first;
    return left < r->group_entries ? left : r->group_entries;
}

void support_recipe_header(const struct support_recipe *r, unsigned first,
                           struct support_bytes *header)
{
    struct support_bytes body = {0}, description = {0};
    const unsigned count = count_group(r, first);
    support_put_varint(&body, first);
    support_put_varint(&body, count);
    for (unsigned i = first; i < first + count; i++) {
        const struct support_entry *e = &r->entries[i];
        description.size = 0;
        support_put_varint(&description, e->payload_size);
        put_label(&description, e);
        support_put_uint(&description, e->coding, 1);
        support_put(&description, e->parameters.data, e->parameters.size);
        support_put_varint(&body, description.size);
        support_put(&body, description.data, description.size);
    }
    *header = (struct support_bytes){0};
    support_put_uint(header, 0, 8);
    support_put_uint(header, body.size + 12, 4);
    support_put(header, body.data, body.size);
    wcodec_store_u64(header->data, XXH3_64bits(header->data + 8, header->size - 8));
    free(description.data);
    free(body.data);
}

static void put_groups(struct support_bytes *b, const struct support_recipe *r)
{
    const unsigned n = r->group_entries;
    support_put_varint(b, n != 0 ? (r->entries_used + n - 1) / n : 0);
    for (unsigned first = 0; n != 0 && first < r->entries_used; first += n) {
        struct support_bytes header;
        support_recipe_header(r, first, &header);
        support_put_varint(b, count_group(r, first));
        support_put_varint(b, header.size);
        free(header.data);
    }
}

static void put_record(struct support_bytes *b, const struct support_entry *e)
{
    struct support_bytes record = {0};
    put_label(&record, e);
    support_put_varint(&record, e->order0);
    support_put_uint(&record, e->coding, 1);
    support_put_varint(&record, e->payload_size);
    support_put_uint(&record, e->payload_hash, 8);
    support_put(&record, e->parameters.data, e->parameters.size);
    support_put_varint(b, (uint64_t)((int64_t)record.size + e->length_error));
    support_put(b, record.data, record.size);
    free(record.data);
}

static void put_index(struct support_bytes *b, const struct support_recipe *r)
{
    support_put_uint(b, r->kind, 1);
    support_put_string(b, r->name, r->name_size);
    support_put_varint(b, r->size);
    if (r->long_varint) {
        b->data[b->size - 1] |= 0x80;
        support_put_uint(b, 0, 1);
    }
    support_put_uint(b, r->hash[0], 8);
    support_put_uint(b, r->hash[1], 8);
    support_put_varint(b, r->mode);
    support_put_varint(b, r->mtime);
    support_put_varint(b, r->metadata_count);
    for (uint64_t i = 0; i < 2 * r->metadata_count && i < 8 && r->metadata[i] != NULL; i++)
        support_put_string(b, r->metadata[i], strlen(r->metadata[i]));
    put_groups(b, r);
    support_put_varint(b, r->entry_count);
    for (unsigned i = 0; i < r->entries_used; i++)
        put_record(b, &r->entries[i]);
    put_zeros(b, r->index_extra);
    assert_true(r->index_cut <= b->size);
    b->size -= r->index_cut;
}

/* The index's frame, or what stands for it. */
static void put_frame(struct support_bytes *file, const struct support_recipe *r,
                      const struct support_bytes *index)
{
    size_t bound = ZSTD_compressBound(index->size),
           half = r->two_frames ? index->size / 2 : index->size;
    uint8_t *coded = malloc(bound);
    if (r->skippable_frame) {
        support_put_uint(file, 0x184d2a50, 4);
        support_put_uint(file, index->size, 4);
        support_put(file, index->data, index->size);
    } else {
        support_put(file, coded, ZSTD_compress(coded, bound, index->data, half, 1));
        if (r->two_frames)
            support_put(file, coded,
                        ZSTD_compress(coded, bound, index->data + half, index->size - half, 1));
    }
    put_zeros(file, r->coded_extra);
    free(coded);
}

static void put_tail(struct support_bytes *file, const struct support_recipe *r, size_t index_at,
                     uint64_t decoded_size, uint64_t head_hash)
{
    size_t coded_size = file->size - index_at, at = file->size;
    support_put_uint(file, index_at + (uint64_t)r->index_offset_error, 8);
    support_put_uint(file, coded_size + (uint64_t)r->index_size_error, 8);
    support_put_uint(file, decoded_size + (uint64_t)r->decoded_size_error, 8);
    support_put_uint(file, XXH3_64bits(file->data + index_at, coded_size) ^ r->index_hash_error, 8);
    support_put_uint(file, at + 64 + (uint64_t)r->file_size_error, 8);
    support_put_uint(file, head_hash ^ r->head_hash_error, 8);
    support_put_uint(file, XXH3_64bits(file->data + at, 48) ^ r->tail_hash_error, 8);
    support_put(file, "\n\x1a\n\rDCW\x89", 8);
    put_zeros(file, r->trailing);
}

void support_recipe_build(const struct support_recipe *r, struct support_bytes *file)
{
    struct support_bytes index = {0};
    *file = (struct support_bytes){0};
    support_put(file, r->head, 56);
    uint64_t head_hash = XXH3_64bits(r->head, 56);
    support_put_uint(file, head_hash, 8);
    for (unsigned i = 0; i < r->entries_used; i++) {
        if (r->group_entries != 0 && i % r->group_entries == 0) {
            struct support_bytes header;
            support_recipe_header(r, i, &header);
            put_align(file, 16);
            support_put(file, header.data, header.size);
            free(header.data);
        }
        if (r->entries[i].payload.size > 0) {
            put_align(file, r->entries[i].payload.size >= 65536 ? 256 : 16);
            support_put(file, r->entries[i].payload.data, r->entries[i].payload.size);
        }
    }
    put_align(file, 16);
    put_zeros(file, r->gap);
    put_index(&index, r);
    size_t index_at = file->size;
    put_frame(file, r, &index);
    put_tail(file, r, index_at, index.size, head_hash);
    free(index.data);
    /* Not a byte more, so that sanitizers see what is read past the end. */
    file->data = realloc(file->data, file->size);
    assert_non_null(file->data);
}

size_t support_recipe_find(const struct support_bytes *file, const struct support_entry *entry)
{
    size_t at = 0;
    while (memcmp(file->data + at, entry->payload.data, entry->payload.size) != 0)
        at++;
    return at;
}

void support_recipe_expect(wcodec_context *context, const struct support_recipe *recipe,
                           const struct support_bytes *file, uint64_t tensor, uint64_t *seed,
                           uint64_t rows, const uint8_t *data, size_t size, uint64_t least)
{
    struct support_bytes original;
    wcodec_context *small = support_context_limited(2, least);
    FILE *stream = tmpfile();
    assert_int_equal(fwrite(file->data, 1, file->size, stream), file->size);
    assert_int_equal(fflush(stream), 0);
    support_recipe_original(recipe, &original);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_reader *reader;
        const wcodec_status status =
            i == 0 ? wcodec_reader_open_memory(context, file->data, file->size, &reader, NULL)
                   : wcodec_reader_open_fd(i == 1 ? context : small, fileno(stream), &reader, NULL);
        assert_int_equal(status, WCODEC_OK);
        support_expect_rows(reader, tensor, 2, seed, rows, data, size);
        if (i < 2) {
            support_expect_load(reader, tensor, seed, rows, data, size);
            support_expect_restored(reader, original.data, original.size);
        }
        wcodec_reader_close(reader);
    }
    fclose(stream);
    wcodec_context_destroy(small);
    free(original.data);
}

int support_append(void *bytes, const void *data, size_t size)
{
    support_put(bytes, data, size);
    return 0;
}

wcodec_reader *support_open_bytes(wcodec_context *context, const struct support_bytes *file)
{
    wcodec_reader *reader;
    wcodec_error err = {0};
    if (wcodec_reader_open_memory(context, file->data, file->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

void support_expect_original(wcodec_context *context, const struct support_bytes *file,
                             const struct support_bytes *original)
{
    struct support_bytes got = {0};
    wcodec_reader *reader = support_open_bytes(context, file);
    assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_OK);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_append, &got, NULL, NULL), WCODEC_OK);
    assert_int_equal(got.size, original->size);
    assert_memory_equal(got.data, original->data, got.size);
    wcodec_reader_close(reader);
    free(got.data);
}

void support_large_make(struct support_large *l, uint64_t constant, uint64_t chunked,
                        const uint64_t *chunks, unsigned count, uint64_t elements)
{
    uint64_t seed = 8;
    support_recipe_init(&l->recipe, 8);
    l->constant = malloc((size_t)constant);
    l->chunked = malloc((size_t)chunked);
    assert_non_null(l->constant);
    assert_non_null(l->chunked);
    memset(l->constant, 'c', (size_t)constant);
    struct support_entry *e = support_recipe_add(&l->recipe, "constant");
    e->dtype = WCODEC_DTYPE_U8;
    e->rank = 1;
    e->shape[0] = e->size = constant;
    e->data = l->constant;
    support_put(&e->parameters, "\0c", 2);
    for (size_t i = 0; i < chunked; i++)
        l->chunked[i] = (uint8_t)(i / 65536 % 2 ? support_random(&seed) : i / 999);
    for (unsigned i = 0; i < count; i++)
        support_entry_chunks(support_recipe_add(&l->recipe, NULL), l->chunked + i, chunked - i,
                             chunks[i]);
    support_tensor_make(&seed, elements, &l->tensor);
    support_entry_tiles(support_recipe_add(&l->recipe, "tiles"), &l->tensor);
    support_recipe_finish(&l->recipe);
}

void support_large_free(struct support_large *l)
{
    support_recipe_free(&l->recipe);
    support_tensor_free(&l->tensor);
    free(l->constant);
    free(l->chunked);
}
