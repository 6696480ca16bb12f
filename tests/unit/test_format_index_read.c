/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The index: every refusal by name, with all checksums right; every flip and truncation; limits; a
 * million tensors; failure of every allocation. */

#include "support_container.h"
#include "support_memory.h"
#include "format/index.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>
#include <string.h>

enum { BLOB, CONSTANT, TILES, ALIAS, CHUNKS, EMPTY };

#define SPLIT_BYTES 2500

static const wcodec_limits no_limits = {.max_memory = UINT64_MAX,
                                        .max_tensor_bytes = (uint64_t)1 << 48,
                                        .max_index_bytes = (uint64_t)4 << 30,
                                        .max_tensors = (uint64_t)1 << 24};

static wcodec_status read_index(const struct support_bytes *file, const wcodec_limits *limits,
                                struct wcodec_index **index, wcodec_error *err)
{
    struct wcodec_source source;
    wcodec_source_memory(file->data, file->size, &source);
    memset(err, 0, sizeof(*err));
    wcodec_status status =
        wcodec_index_read(&source, &wcodec_default_allocator, limits, index, err);
    assert_int_equal(err->status, status);
    return status;
}

static void reads_everything(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_index *index;
    wcodec_error err;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    assert_int_equal(read_index(&file, &no_limits, &index, &err), WCODEC_OK);
    assert_true(index->safetensors);
    assert_string_equal(index->name, "model.safetensors");
    assert_int_equal(index->size, r.size);
    assert_int_equal(index->hash[0], r.hash[1] >> 56);
    assert_int_equal(index->hash[15], r.hash[0] & 0xff);
    assert_int_equal(index->mode, 0644);
    assert_int_equal(index->mtime, 1700000000);
    assert_int_equal(index->metadata_count, 2);
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(index->metadata[i], r.metadata[i]);
    assert_int_equal(index->entry_count, 6);
    assert_int_equal(index->tensor_count, 5);
    uint64_t at = 0;
    for (unsigned i = 0; i < 6; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        const struct support_entry *s = &r.entries[i];
        assert_int_equal(e->is_tensor, s->type);
        assert_int_equal(e->coding, s->coding);
        assert_false(e->newer);
        assert_int_equal(e->size, s->size);
        assert_int_equal(e->file_offset, at);
        at += e->size;
        assert_int_equal(e->payload_size, s->payload_size);
        assert_true(e->payload_hash == s->payload_hash);
        if (e->payload_size > 0)
            assert_memory_equal(file.data + e->payload_offset, s->payload.data, s->payload_size);
        if (i == BLOB) {
            assert_null(e->name);
            continue;
        }
        assert_string_equal(e->name, s->name);
        assert_int_equal(e->rank, s->rank);
        assert_memory_equal(e->shape, s->shape, e->rank * sizeof(*e->shape));
        assert_int_equal(index->tensors[i - 1], i);
        uint64_t number;
        assert_true(wcodec_names_find(&index->names, s->name, &number));
        assert_int_equal(number, i - 1);
    }
    assert_string_equal(index->entries[CONSTANT].dtype_name, "BF16");
    assert_string_equal(index->entries[CHUNKS].dtype_name, "F2");
    assert_int_equal(index->entries[CONSTANT].u.constant.element_log2, 1);
    assert_memory_equal(index->entries[CONSTANT].u.constant.element, "\x80\x3f", 2);
    assert_int_equal(index->entries[ALIAS].u.alias, TILES);
    assert_int_equal(index->entries[CHUNKS].u.chunk, 1000);
    struct wcodec_tiling tiling;
    memset(&tiling, 0, sizeof(tiling));
    wcodec_entry_tiling(&index->entries[TILES], &tiling);
    assert_int_equal(tiling.elements, r.tensor.tiling.elements);
    assert_int_equal(tiling.field_count, r.tensor.tiling.field_count);
    for (unsigned i = 0; i < tiling.field_count; i++)
        assert_int_equal(tiling.fields[i].width, r.tensor.tiling.fields[i].width);
    unsigned width;
    assert_int_equal(sscanf(index->entries[TILES].split, "%*[krc]%u", &width), 1);
    assert_int_equal(width, tiling.fields[0].width);
    wcodec_index_free(index);
    free(file.data);
    support_recipe_free(&r);
}

/* An index is refused: `edit` makes it wrong. */
struct refusal {
    const char *name;
    void (*edit)(struct support_recipe *r);
    wcodec_status status;
    const char *text;
};

#define EDIT(name, ...) \
    static void name(struct support_recipe *r) \
    { \
        __VA_ARGS__; \
    }

static void set_parameters(struct support_entry *e, const void *bytes, size_t size)
{
    e->parameters.size = 0;
    support_put(&e->parameters, bytes, size);
}

static void set_varint_parameter(struct support_entry *e, uint64_t v)
{
    e->parameters.size = 0;
    support_put_varint(&e->parameters, v);
}

static void opaque(struct support_recipe *r)
{
    r->kind = 0;
}

EDIT(kind_newer, r->kind = 2)
EDIT(name_utf8, r->name = "\xc0\x80"; r->name_size = 2)
EDIT(name_nul, r->name = "a\0b"; r->name_size = 3)
EDIT(mode_large, r->mode = 010000)
EDIT(mode_largest, r->mode = 07777)
EDIT(mtime_large, r->mtime = ((uint64_t)1 << 63) + 1)
EDIT(mtime_largest, r->mtime = (uint64_t)1 << 63)
EDIT(varint_long, r->long_varint = true)
EDIT(metadata_huge, r->metadata_count = UINT64_MAX)
EDIT(metadata_many, r->metadata_count = 1000)
EDIT(metadata_twice, r->metadata[2] = "format")
EDIT(metadata_utf8, r->metadata[3] = "\xed\xa0\x80")
EDIT(entries_huge, r->entry_count = (uint64_t)1 << 63)
EDIT(entries_2_32, r->entry_count = (uint64_t)1 << 32)
EDIT(entries_more, r->entry_count++)
EDIT(entries_fewer, r->entry_count--)
EDIT(index_left_over, r->index_extra = 1)
EDIT(type_newer, r->entries[BLOB].type = 2)
EDIT(record_longer, r->entries[CHUNKS].length_error = 1)
EDIT(record_shorter, r->entries[CHUNKS].length_error = -1)
EDIT(record_huge, r->entries[CHUNKS].length_error = 1000000)
EDIT(parameters_left_over, support_put_uint(&r->entries[CONSTANT].parameters, 0, 1))
EDIT(tensor_twice, r->entries[CHUNKS].name = "a"; r->entries[CHUNKS].name_size = 1)
EDIT(tensor_name_empty, r->entries[CHUNKS].name = ""; r->entries[CHUNKS].name_size = 0)
EDIT(tensor_name_metadata, r->entries[CHUNKS].name = "__metadata__";
     r->entries[CHUNKS].name_size = 12)
EDIT(tensor_name_control, r->entries[CHUNKS].name = "\x1b[31m\n"; r->entries[CHUNKS].name_size = 6)
EDIT(tensor_name_normal, r->entries[CHUNKS].name = "\xc3\xa9"; r->entries[CHUNKS].name_size = 2)
EDIT(tensor_name_nul, r->entries[CHUNKS].name = "d\0"; r->entries[CHUNKS].name_size = 2)
EDIT(tensor_name_utf8, r->entries[CHUNKS].name = "\xf4\x90\x80\x80";
     r->entries[CHUNKS].name_size = 4)
EDIT(dtype_name_utf8, r->entries[CHUNKS].dtype_name = "\xff")
EDIT(dtype_newer, r->entries[CONSTANT].dtype = 23)
EDIT(rank_256, r->entries[CHUNKS].rank = 256)
EDIT(rank_255, r->entries[CHUNKS].rank = 255)
EDIT(rank_huge, r->entries[CHUNKS].rank = UINT64_MAX)
EDIT(rank_past_record, r->entries[EMPTY].rank = 255; r->entries[EMPTY].length_error = -240)
EDIT(dimension_2_48, r->entries[CHUNKS].shape[0] = (uint64_t)1 << 48)
EDIT(dimension_2_64, r->entries[CHUNKS].shape[0] = UINT64_MAX)
EDIT(shape_larger, r->entries[CONSTANT].shape[1]++)
EDIT(shape_wraps, r->entries[CONSTANT].shape[0] = ((uint64_t)1 << 42) + 1;
     r->entries[CONSTANT].shape[1] = (uint64_t)1 << 22)
EDIT(shape_half_byte, r->entries[CONSTANT].dtype = WCODEC_DTYPE_F4;
     r->entries[CONSTANT].shape[0] = 3; r->entries[CONSTANT].shape[1] = 1)
EDIT(size_2_48, r->entries[CHUNKS].size = ((uint64_t)1 << 48) + 1)
EDIT(size_wraps, r->entries[CHUNKS].size = UINT64_MAX)
EDIT(size_of_original_less, r->size--)
EDIT(size_of_original_more, r->size++)
EDIT(coding_newer, r->entries[CHUNKS].coding = 4)
EDIT(coding_newer_junk, r->entries[CHUNKS].coding = 200;
     set_parameters(&r->entries[CHUNKS], "any", 3))
EDIT(hash_without_payload, r->entries[CONSTANT].payload_hash = 1)
EDIT(constant_with_payload, r->entries[CONSTANT].payload_size = 1)
EDIT(alias_with_payload, r->entries[ALIAS].payload_size = 1)
EDIT(constant_width, set_parameters(&r->entries[CONSTANT], "\4abcdabcdabcdabcd", 17))
EDIT(constant_cut, set_parameters(&r->entries[CONSTANT], "\1a", 2))
EDIT(constant_no_multiple, set_parameters(&r->entries[CONSTANT], "\3abcdabcd", 9))
EDIT(empty_not_zero, set_parameters(&r->entries[EMPTY], "\0a", 2))
EDIT(empty_wide, set_parameters(&r->entries[EMPTY], "\1\0\0", 3))
EDIT(empty_alias, r->entries[EMPTY].coding = WCODEC_CODING_ALIAS;
     set_varint_parameter(&r->entries[EMPTY], 1))
EDIT(empty_chunks, r->entries[EMPTY].coding = WCODEC_CODING_CHUNKS;
     set_varint_parameter(&r->entries[EMPTY], 1))
EDIT(chunk_zero, set_varint_parameter(&r->entries[CHUNKS], 0))
EDIT(chunk_large, set_varint_parameter(&r->entries[CHUNKS], (1 << 24) + 1))
EDIT(chunk_directory, set_varint_parameter(&r->entries[CHUNKS], 1))
EDIT(chunk_bomb, r->entries[CHUNKS].size = (uint64_t)1 << 48;
     r->size += ((uint64_t)1 << 48) - SPLIT_BYTES;
     set_varint_parameter(&r->entries[CHUNKS], 1 << 24))
EDIT(chunk_long_payload, r->entries[BLOB].size = 1; set_varint_parameter(&r->entries[BLOB], 40))
EDIT(alias_self, set_varint_parameter(&r->entries[ALIAS], ALIAS))
EDIT(alias_later, set_varint_parameter(&r->entries[ALIAS], CHUNKS))
EDIT(alias_huge, set_varint_parameter(&r->entries[ALIAS], UINT64_MAX))
EDIT(alias_size, set_varint_parameter(&r->entries[ALIAS], CONSTANT))
static void make_inline(struct support_entry *e, uint64_t size)
{
    e->coding = WCODEC_CODING_INLINE;
    e->payload_size = e->payload_hash = 0;
    e->size = size;
    set_parameters(e, "bytes", 5);
}

EDIT(inline_tensor, make_inline(&r->entries[CHUNKS], 5))
EDIT(inline_large, make_inline(&r->entries[BLOB], 4097))
EDIT(inline_cut, make_inline(&r->entries[BLOB], 6))
EDIT(inline_left_over, make_inline(&r->entries[BLOB], 4))
EDIT(inline_empty, make_inline(&r->entries[BLOB], 0))
EDIT(inline_payload, make_inline(&r->entries[BLOB], 5); r->entries[BLOB].payload_size = 1)
EDIT(payload_past_index, r->entries[CHUNKS].payload_size += 64)
EDIT(payload_wraps, r->entries[TILES].payload_size = UINT64_MAX)
EDIT(payload_short, r->entries[CHUNKS].payload_size -= 32)
EDIT(gap, r->gap = 16)
EDIT(prefix_long, r->entries[TILES].payload_size = r->tensor.tiling.prefix_size - 1)
EDIT(tiles_cut, r->entries[TILES].parameters.size--)
EDIT(tiles_left_over, support_put_uint(&r->entries[TILES].parameters, 0, 1))
EDIT(tiles_fields, r->entries[TILES].parameters.data[2 + (1 << r->tensor.tiling.element_log2)] = 0)
EDIT(tiles_width, r->entries[TILES].parameters.data[0] = 4)
EDIT(tiles_tile, r->entries[TILES].parameters.data[1] = 17)
EDIT(frame_hash, r->index_hash_error = 1)
EDIT(frame_skippable, r->skippable_frame = true)
EDIT(frame_two, r->two_frames = true)
EDIT(frame_trailing, r->coded_extra = 1)
EDIT(frame_size_less, r->decoded_size_error = -1)
EDIT(frame_size_more, r->decoded_size_error = 1)
EDIT(container_appended, r->trailing = 64)

static void alias_of_alias(struct support_recipe *r)
{
    struct support_entry *e = support_recipe_add(r, "f");
    *e = r->entries[ALIAS];
    memset(&e->parameters, 0, sizeof(e->parameters));
    e->name = "f";
    set_varint_parameter(e, ALIAS);
    r->size += e->size;
}

static void name_of_a_mebibyte(struct support_recipe *r)
{
    static char name[1 << 20];
    memset(name, 'n', sizeof(name));
    r->entries[CHUNKS].name = name;
    r->entries[CHUNKS].name_size = sizeof(name) - 1;
}

static const struct refusal refusals[] = {
    {"as it is", opaque, WCODEC_OK, ""},
    {"kind", kind_newer, WCODEC_ERROR_NEWER, "kind 2"},
    {"name of the original: overlong form", name_utf8, WCODEC_ERROR_CORRUPT, "UTF-8"},
    {"name of the original: NUL", name_nul, WCODEC_ERROR_CORRUPT, "NUL"},
    {"mode", mode_large, WCODEC_ERROR_CORRUPT, "mode"},
    {"mode at its most", mode_largest, WCODEC_OK, ""},
    {"mtime", mtime_large, WCODEC_ERROR_CORRUPT, "time"},
    {"mtime at its most", mtime_largest, WCODEC_OK, ""},
    {"varint that is not minimal", varint_long, WCODEC_ERROR_CORRUPT, "no valid number"},
    {"metadata count 2^64-1", metadata_huge, WCODEC_ERROR_CORRUPT, "metadata pairs do not fit"},
    {"metadata count", metadata_many, WCODEC_ERROR_CORRUPT, "metadata"},
    {"metadata key twice", metadata_twice, WCODEC_ERROR_CORRUPT, "'format' is there twice"},
    {"metadata surrogate", metadata_utf8, WCODEC_ERROR_CORRUPT, "metadata value"},
    {"entry count 2^63", entries_huge, WCODEC_ERROR_CORRUPT, "entries do not fit"},
    {"entry count 2^32", entries_2_32, WCODEC_ERROR_CORRUPT, "entries do not fit"},
    {"entry count more", entries_more, WCODEC_ERROR_CORRUPT, "entry 6: record: cut short"},
    {"entry count less", entries_fewer, WCODEC_ERROR_CORRUPT, "left over at the end of the index"},
    {"bytes after the entries", index_left_over, WCODEC_ERROR_CORRUPT,
     "left over at the end of the index"},
    {"type", type_newer, WCODEC_ERROR_NEWER, "type 2"},
    {"record longer", record_longer, WCODEC_ERROR_CORRUPT, "left over at the end of its record"},
    {"record shorter", record_shorter, WCODEC_ERROR_CORRUPT, "chunk size: cut short"},
    {"record past the end", record_huge, WCODEC_ERROR_CORRUPT, "record: cut short"},
    {"parameters left over", parameters_left_over, WCODEC_ERROR_CORRUPT,
     "index entry 1: tensor 'a': 1 bytes are left over"},
    {"tensor twice", tensor_twice, WCODEC_ERROR_CORRUPT, "two tensors of that name"},
    {"empty tensor name", tensor_name_empty, WCODEC_OK, ""},
    {"tensor name __metadata__", tensor_name_metadata, WCODEC_OK, ""},
    {"control characters in a name", tensor_name_control, WCODEC_OK, ""},
    {"another normalisation of a name", tensor_name_normal, WCODEC_OK, ""},
    {"a name of 1 MiB", name_of_a_mebibyte, WCODEC_OK, ""},
    {"NUL in a name", tensor_name_nul, WCODEC_ERROR_CORRUPT, "NUL"},
    {"name past U+10FFFF", tensor_name_utf8, WCODEC_ERROR_CORRUPT, "UTF-8"},
    {"dtype name", dtype_name_utf8, WCODEC_ERROR_CORRUPT, "dtype name"},
    {"dtype of a newer version", dtype_newer, WCODEC_OK, ""},
    {"rank 256", rank_256, WCODEC_ERROR_CORRUPT, "rank 256"},
    {"rank 255", rank_255, WCODEC_OK, ""},
    {"rank 2^64-1", rank_huge, WCODEC_ERROR_CORRUPT, "rank"},
    {"rank past the record", rank_past_record, WCODEC_ERROR_CORRUPT, "shape"},
    {"dimension 2^48", dimension_2_48, WCODEC_ERROR_CORRUPT, "dimension 0"},
    {"dimension 2^64-1", dimension_2_64, WCODEC_ERROR_CORRUPT, "dimension 0"},
    {"shape of more bytes", shape_larger, WCODEC_ERROR_CORRUPT, "past the end of the original"},
    {"product of the shape wraps", shape_wraps, WCODEC_ERROR_CORRUPT, "more than 2^48"},
    {"half a byte", shape_half_byte, WCODEC_ERROR_CORRUPT, "no whole number"},
    {"size above 2^48", size_2_48, WCODEC_ERROR_CORRUPT, "at most 2^48"},
    {"size 2^64-1", size_wraps, WCODEC_ERROR_CORRUPT, "at most 2^48"},
    {"original smaller", size_of_original_less, WCODEC_ERROR_CORRUPT,
     "past the end of the original"},
    {"original larger", size_of_original_more, WCODEC_ERROR_CORRUPT, "the entries make"},
    {"coding of a newer version", coding_newer, WCODEC_OK, ""},
    {"its parameters", coding_newer_junk, WCODEC_OK, ""},
    {"hash without payload", hash_without_payload, WCODEC_ERROR_CORRUPT, "hash without a payload"},
    {"constant with payload", constant_with_payload, WCODEC_ERROR_CORRUPT, "with a payload"},
    {"alias with payload", alias_with_payload, WCODEC_ERROR_CORRUPT, "with a payload"},
    {"constant of 16 bytes", constant_width, WCODEC_ERROR_CORRUPT, "2^4"},
    {"constant cut short", constant_cut, WCODEC_ERROR_CORRUPT, "constant element: cut short"},
    {"constant no multiple", constant_no_multiple, WCODEC_ERROR_CORRUPT,
     "no whole number of constant elements"},
    {"empty entry not zero", empty_not_zero, WCODEC_ERROR_CORRUPT, "constant byte 0"},
    {"empty entry wide", empty_wide, WCODEC_ERROR_CORRUPT, "constant byte 0"},
    {"empty entry an alias", empty_alias, WCODEC_ERROR_CORRUPT, "must be a constant"},
    {"empty entry in chunks", empty_chunks, WCODEC_ERROR_CORRUPT, "must be a constant"},
    {"chunk size 0", chunk_zero, WCODEC_ERROR_CORRUPT, "chunks of 0 bytes"},
    {"chunk size above 2^24", chunk_large, WCODEC_ERROR_CORRUPT, "chunks of 16777217"},
    {"chunk directory past the payload", chunk_directory, WCODEC_ERROR_CORRUPT, "cannot hold"},
    {"2^48 bytes in a few", chunk_bomb, WCODEC_ERROR_CORRUPT, "cannot hold"},
    {"chunk payload too long", chunk_long_payload, WCODEC_ERROR_CORRUPT, "cannot hold"},
    {"alias of itself", alias_self, WCODEC_ERROR_CORRUPT, "no earlier one"},
    {"alias of a later one", alias_later, WCODEC_ERROR_CORRUPT, "no earlier one"},
    {"alias 2^64-1", alias_huge, WCODEC_ERROR_CORRUPT, "no earlier one"},
    {"alias of another size", alias_size, WCODEC_ERROR_CORRUPT, "which has 12"},
    {"alias of an alias", alias_of_alias, WCODEC_ERROR_CORRUPT, "an alias itself"},
    {"tensor in the index", inline_tensor, WCODEC_ERROR_CORRUPT, "a tensor cannot stand in"},
    {"too much in the index", inline_large, WCODEC_ERROR_CORRUPT, "4097 bytes in the index itself"},
    {"too little in the index", inline_cut, WCODEC_ERROR_CORRUPT, "cut short"},
    {"bytes in the index left over", inline_left_over, WCODEC_ERROR_CORRUPT, "1 bytes are left"},
    {"empty entry in the index", inline_empty, WCODEC_ERROR_CORRUPT, "must be a constant"},
    {"in the index with a payload", inline_payload, WCODEC_ERROR_CORRUPT, "it has none"},
    {"payload past the index", payload_past_index, WCODEC_ERROR_CORRUPT, "reaches into the index"},
    {"payload wraps", payload_wraps, WCODEC_ERROR_CORRUPT, "reaches into the index"},
    {"payload shorter", payload_short, WCODEC_ERROR_CORRUPT, "the index begins at"},
    {"hole before the index", gap, WCODEC_ERROR_CORRUPT, "the index begins at"},
    {"prefix past the payload", prefix_long, WCODEC_ERROR_CORRUPT, "prefix of"},
    {"tiles cut short", tiles_cut, WCODEC_ERROR_CORRUPT, "tensor 'b'"},
    {"tiles left over", tiles_left_over, WCODEC_ERROR_CORRUPT, "tensor 'b'"},
    {"tiles without fields", tiles_fields, WCODEC_ERROR_CORRUPT, "tensor 'b'"},
    {"tiles of 16-byte elements", tiles_width, WCODEC_ERROR_CORRUPT, "tensor 'b'"},
    {"tiles of 2^17", tiles_tile, WCODEC_ERROR_CORRUPT, "tensor 'b'"},
    {"index checksum", frame_hash, WCODEC_ERROR_CORRUPT, "the index's checksum differs"},
    {"skippable frame", frame_skippable, WCODEC_ERROR_CORRUPT, "not one zstd frame"},
    {"two frames", frame_two, WCODEC_ERROR_CORRUPT, "not one zstd frame"},
    {"bytes after the frame", frame_trailing, WCODEC_ERROR_CORRUPT, "not one zstd frame"},
    {"declared size smaller", frame_size_less, WCODEC_ERROR_CORRUPT, "has not the size"},
    {"declared size larger", frame_size_more, WCODEC_ERROR_CORRUPT, "has not the size"},
    {"bytes after the tail", container_appended, WCODEC_ERROR_CORRUPT, "does not end with a tail"},
};

static void refuses_by_name(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct support_recipe r;
        struct support_bytes file;
        struct wcodec_index *index = NULL;
        wcodec_error err;
        support_recipe_init(&r, seed);
        refusals[i].edit(&r);
        support_recipe_build(&r, &file);
        wcodec_status status = read_index(&file, &no_limits, &index, &err);
        if (status != refusals[i].status || strstr(err.text, refusals[i].text) == NULL)
            fail_msg("%s: status %d, text '%s'", refusals[i].name, (int)status, err.text);
        wcodec_index_free(index);
        free(file.data);
        support_recipe_free(&r);
    }
}

static void a_newer_entry_is_listed(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_index *index;
    wcodec_error err;
    support_recipe_init(&r, 1);
    coding_newer_junk(&r);
    dtype_newer(&r);
    support_recipe_build(&r, &file);
    assert_int_equal(read_index(&file, &no_limits, &index, &err), WCODEC_OK);
    assert_true(index->entries[CHUNKS].newer);
    assert_true(index->entries[CONSTANT].newer);
    assert_false(index->entries[TILES].newer);
    assert_int_equal(index->entries[CHUNKS].coding, 200);
    wcodec_index_free(index);
    free(file.data);
    support_recipe_free(&r);
}

/* Flips and truncations of a whole file: only payloads (which are verified when they are decoded)
 * may change unseen. Bytes between payloads are for wcodec_reader_test(). */
static void refuses_flips_and_truncations(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_index *index;
    wcodec_error err;
    support_recipe_init(&r, support_seed());
    support_recipe_build(&r, &file);
    assert_int_equal(read_index(&file, &no_limits, &index, &err), WCODEC_OK);
    uint64_t index_at = index->body_stop;
    wcodec_index_free(index);
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        if (bit / 8 == 64)
            bit = 8 * (size_t)index_at;
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (read_index(&file, &no_limits, &index, &err) != WCODEC_ERROR_CORRUPT)
            fail_msg("bit %zu: %s", bit, err.text);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (struct support_bytes cut = file; cut.size-- > 0;)
        assert_int_equal(read_index(&cut, &no_limits, &index, &err), WCODEC_ERROR_CORRUPT);
    free(file.data);
    support_recipe_free(&r);
}

/* A decoded index that ends early, anywhere, in an intact frame. */
static void refuses_a_short_index(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_index *index;
    wcodec_error err;
    support_recipe_init(&r, 4);
    support_recipe_build(&r, &file);
    assert_int_equal(read_index(&file, &no_limits, &index, &err), WCODEC_OK);
    size_t decoded_size = (size_t)wcodec_load_u64(file.data + file.size - 64 + 16);
    wcodec_index_free(index);
    for (r.index_cut = 1; r.index_cut <= decoded_size; r.index_cut++) {
        free(file.data);
        support_recipe_build(&r, &file);
        assert_int_equal(read_index(&file, &no_limits, &index, &err), WCODEC_ERROR_CORRUPT);
    }
    free(file.data);
    support_recipe_free(&r);
}

/* Random damage to the decoded index with right checksums: refused or consistent, and no access
 * outside (for the sanitizers). */
static void survives_random_damage(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    unsigned accepted = 0, refused = 0;
    for (unsigned round = 0; round < 3000; round++) {
        struct support_recipe r;
        struct support_bytes file;
        struct wcodec_index *index = NULL;
        wcodec_error err;
        support_recipe_init(&r, round % 16);
        struct support_entry *e = &r.entries[support_random(&seed) % r.entries_used];
        for (unsigned n = (unsigned)(support_random(&seed) % 3) + 1; n > 0; n--) {
            uint64_t *fields[] = {&e->rank,   &e->shape[0],     &e->size,
                                  &e->order0, &e->payload_size, &e->payload_hash,
                                  &r.size,    &r.entry_count,   &r.metadata_count};
            uint64_t value = support_random(&seed) >> support_random(&seed) % 64,
                     which = support_random(&seed) % 14;
            if (which < 9)
                *fields[which] = which == 0 ? value % SUPPORT_SHAPE : value;
            else if (which == 9)
                e->coding = (uint8_t)(value % 5);
            else if (which == 10)
                e->dtype = (uint8_t)(value % 24);
            else if (e->parameters.size > 0)
                e->parameters.data[value % e->parameters.size] = (uint8_t)support_random(&seed);
            if (e->dtype == 0 && e->dtype_name == NULL)
                e->dtype_name = "";
        }
        support_recipe_build(&r, &file);
        wcodec_status status = read_index(&file, &no_limits, &index, &err);
        if (status == WCODEC_OK) {
            accepted++;
            uint64_t total = 0;
            for (uint64_t i = 0; i < index->entry_count; i++) {
                const struct wcodec_entry *got = &index->entries[i];
                total += got->size;
                assert_true(got->payload_size == 0 ||
                            (got->payload_offset >= 64 &&
                             got->payload_offset + got->payload_size <= index->body_stop));
            }
            assert_int_equal(total, index->size);
        } else {
            refused++;
            assert_true(status == WCODEC_ERROR_CORRUPT || status == WCODEC_ERROR_NEWER);
        }
        wcodec_index_free(index);
        free(file.data);
        support_recipe_free(&r);
    }
    assert_true(accepted > 10);
    assert_true(refused > 10);
}

static void respects_limits(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct wcodec_index *index;
    wcodec_error err;
    support_recipe_init(&r, 2);
    support_recipe_build(&r, &file);
    wcodec_limits limits = no_limits;
    limits.max_tensors = 5;
    assert_int_equal(read_index(&file, &limits, &index, &err), WCODEC_OK);
    wcodec_index_free(index);
    limits.max_tensors = 4;
    assert_int_equal(read_index(&file, &limits, &index, &err), WCODEC_ERROR_LIMIT);
    limits = no_limits;
    limits.max_index_bytes = 50;
    assert_int_equal(read_index(&file, &limits, &index, &err), WCODEC_ERROR_LIMIT);
    /* From nothing up there is one point from which it fits. */
    limits = no_limits;
    unsigned changes = 0;
    wcodec_status before = WCODEC_ERROR_LIMIT;
    for (limits.max_memory = 1; limits.max_memory < 40000; limits.max_memory += 97) {
        wcodec_status status = read_index(&file, &limits, &index, &err);
        changes += status != before;
        before = status;
        if (status == WCODEC_OK)
            wcodec_index_free(index);
        else
            assert_int_equal(status, WCODEC_ERROR_LIMIT);
    }
    assert_int_equal(before, WCODEC_OK);
    assert_int_equal(changes, 1);
    free(file.data);
    support_recipe_free(&r);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, 3);
    name_of_a_mebibyte(&r);
    support_recipe_build(&r, &file);
    struct wcodec_source source;
    wcodec_source_memory(file.data, file.size, &source);
    struct support_allocator failing;
    long n;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (n = 0; status != WCODEC_OK; n++) {
        struct wcodec_index *index = NULL;
        support_allocator_init(&failing, n);
        failing.once = true;
        status = wcodec_index_read(&source, &failing.allocator, &no_limits, &index, NULL);
        assert_int_equal(status, failing.calls <= n ? WCODEC_OK : WCODEC_ERROR_MEMORY);
        wcodec_index_free(index);
        assert_int_equal(failing.balance, 0);
    }
    assert_true(n > 7);
    free(file.data);
    support_recipe_free(&r);
}

/* A million tensors; and memory in proportion: what a million records of 30 bytes decode to is
 * bounded. */
static void reads_a_million_tensors(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    struct wcodec_index *index = calloc(1, sizeof(*index)), *got;
    char *names = malloc((size_t)COUNT * 32);
    uint64_t shape[2] = {1, 1};
    index->safetensors = true;
    index->entries = calloc(COUNT, sizeof(*index->entries));
    index->mtime = -1;
    index->entry_count = COUNT;
    index->size = COUNT;
    for (uint64_t i = 0; i < COUNT; i++) {
        struct wcodec_entry *e = &index->entries[i];
        e->is_tensor = true;
        e->name = names + i * 32;
        snprintf(names + i * 32, 32, "layer.%" PRIu64 ".weight", i);
        e->dtype = WCODEC_DTYPE_U8;
        e->rank = 2;
        e->shape = shape;
        e->size = 1;
        e->u.constant.element[0] = (uint8_t)i;
    }
    struct support_bytes file = {0};
    uint8_t head[64], tail[64], *coded;
    size_t coded_size;
    uint64_t decoded_size;
    wcodec_error err;
    assert_int_equal(wcodec_index_write(index, &wcodec_default_allocator, &coded, &coded_size,
                                        &decoded_size, &err),
                     WCODEC_OK);
    wcodec_head_write(&(struct wcodec_head){.size = UINT64_MAX}, head);
    wcodec_tail_write(head, 64, coded, coded_size, decoded_size, 128 + coded_size, tail);
    support_put(&file, head, 64);
    support_put(&file, coded, coded_size);
    support_put(&file, tail, 64);
    assert_int_equal(read_index(&file, &no_limits, &got, &err), WCODEC_OK);
    assert_int_equal(got->tensor_count, COUNT);
    uint64_t number = 0;
    assert_true(wcodec_names_find(&got->names, "layer.765432.weight", &number));
    assert_int_equal(number, 765432);
    wcodec_index_free(got);
    free(coded);
    free(file.data);
    free(names);
    free(index->entries);
    free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(a_newer_entry_is_listed),
        cmocka_unit_test(refuses_flips_and_truncations),
        cmocka_unit_test(refuses_a_short_index),
        cmocka_unit_test(survives_random_damage),
        cmocka_unit_test(respects_limits),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(reads_a_million_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
