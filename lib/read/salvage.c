/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is known of a file that has lost its index: the entries that headers name, and what the
 * header of the original, if that is a safetensors file and its start is there, says of the rest.
 */

#include "read/decode.h"
#include "read/reader.h"
#include "core/error.h"
#include "core/memory.h"
#include "format/groups.h"
#include "format/safetensors.h"

static wcodec_status copy_text(struct wcodec_index *index, const char *text, const char **copy,
                               wcodec_error *err)
{
    *copy = wcodec_arena_text(&index->arena, text, strlen(text));
    return *copy != NULL ? WCODEC_OK
                         : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
}

static wcodec_status take_metadata(const struct wcodec_safetensors *s, struct wcodec_index *index,
                                   wcodec_error *err)
{
    const uint64_t count = s->metadata_count;
    wcodec_status status = WCODEC_OK;
    if (count == 0)
        return status;
    index->metadata = wcodec_alloc_array(index->allocator, count, 2 * sizeof(*index->metadata));
    if (index->metadata == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for metadata");
    for (uint64_t i = 0; i < 2 * count && status == WCODEC_OK; i++)
        status = copy_text(index, s->metadata[i], &index->metadata[i], err);
    if (status == WCODEC_OK)
        index->metadata_count = count;
    return status;
}

/* Tensors of which no header is left. */
static uint64_t count_lost(const struct wcodec_safetensors *s, const struct wcodec_index *index)
{
    uint64_t lost = 0, number;
    for (uint64_t i = 0; i < s->count; i++)
        lost += !wcodec_names_find(&index->names, s->tensors[i].name, &number);
    return lost;
}

/* The bytes of the first entry are the header, if the original is a safetensors file; its data is
 * not looked at. */
static wcodec_status take_header(const uint8_t *bytes, uint64_t size, struct wcodec_index *index,
                                 wcodec_error *err)
{
    struct wcodec_safetensors *s;
    struct wcodec_source source;
    wcodec_error why = {0};
    if (size < 8 || wcodec_load_u64(bytes) != size - 8)
        return WCODEC_OK;
    wcodec_source_memory(bytes, index->size, &source);
    wcodec_status status = wcodec_safetensors_read(&source, index->allocator, &s, &why);
    if (status == WCODEC_ERROR_CORRUPT)
        return WCODEC_OK;
    if (status != WCODEC_OK)
        return wcodec_fail(err, status, "%s", why.text);
    index->safetensors = true;
    index->lost_tensors = count_lost(s, index);
    status = take_metadata(s, index, err);
    wcodec_safetensors_free(s);
    return status;
}

static wcodec_status read_header(wcodec_context *context, struct wcodec_shard *shard,
                                 wcodec_error *err)
{
    const struct wcodec_entry *e = &shard->index->entries[0];
    struct wcodec_reporter silent = {0};
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {.context = context,
                                               .source = &shard->source,
                                               .entry = e,
                                               .verify = true,
                                               .on_cpu = true,
                                               .whole = true};
    uint8_t *bytes = wcodec_alloc(&context->allocator, (size_t)e->size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header");
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status == WCODEC_OK) {
        status = wcodec_decoder_range(&decoder, 0, e->size, bytes, &silent, err);
        wcodec_decoder_close(&decoder);
    }
    if (status == WCODEC_OK)
        status = take_header(bytes, e->size, shard->index, err);
    wcodec_free(&context->allocator, bytes);
    return status;
}

wcodec_status wcodec_shard_rebuild(wcodec_context *context, struct wcodec_shard *shard,
                                   wcodec_error *err)
{
    wcodec_error why = {0};
    wcodec_status status = wcodec_index_rebuild(&shard->source, &context->allocator,
                                                &context->limits, &shard->index, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_index *index = shard->index;
    const struct wcodec_entry *e = index->entries;
    if (e->is_tensor || e->newer || e->coding == WCODEC_CODING_ALIAS || e->size < 8 ||
        e->size > WCODEC_SAFETENSORS_HEADER_MAX + 8 || e->size > context->limits.max_index_bytes ||
        index->head.size == UINT64_MAX)
        return status;
    status = read_header(context, shard, &why);
    /* Without it only less is known. */
    if (status == WCODEC_OK || status == WCODEC_ERROR_CORRUPT)
        return WCODEC_OK;
    wcodec_index_free(shard->index);
    shard->index = NULL;
    return wcodec_fail(err, status, "%s", why.text);
}
