/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/geometry.h"

#include "format/names.h"
#include "format/safetensors.h"
#include "core/dtype.h"
#include "core/error.h"

#include <string.h>

/* A field that starts at byte `offset`. */
#define AT(offset, width, type) \
    { \
        (offset), (width), WCODEC_DTYPE_##type \
    }

/* Scales are numbers, or bytes, or bits in bytes; so are the weights. Where bits of several kinds
 * share the bytes of a field, parts of it with bits of their own are fields, too: of Q4_K's twelve
 * bytes of scales the first four hold other bits than the next four and the last. */
static const struct {
    const char *type;
    struct wcodec_record_geometry geometry;
} types[] = {
    {"Q4_0", {18, 2, {AT(0, 2, F16), AT(2, 16, U8)}}},
    {"Q4_1", {20, 3, {AT(0, 2, F16), AT(2, 2, F16), AT(4, 16, U8)}}},
    {"Q5_0", {22, 3, {AT(0, 2, F16), AT(2, 4, U8), AT(6, 16, U8)}}},
    {"Q5_1", {24, 4, {AT(0, 2, F16), AT(2, 2, F16), AT(4, 4, U8), AT(8, 16, U8)}}},
    {"Q8_0", {34, 2, {AT(0, 2, F16), AT(2, 32, I8)}}},
    {"Q2_K", {84, 4, {AT(0, 16, U8), AT(16, 64, U8), AT(80, 2, F16), AT(82, 2, F16)}}},
    {"Q3_K",
     {110, 5, {AT(0, 32, U8), AT(32, 64, U8), AT(96, 8, U8), AT(104, 4, U8), AT(108, 2, F16)}}},
    {"Q4_K",
     {144,
      6,
      {AT(0, 2, F16), AT(2, 2, F16), AT(4, 4, U8), AT(8, 4, U8), AT(12, 4, U8), AT(16, 128, U8)}}},
    {"Q5_K",
     {176,
      7,
      {AT(0, 2, F16), AT(2, 2, F16), AT(4, 4, U8), AT(8, 4, U8), AT(12, 4, U8), AT(16, 32, U8),
       AT(48, 128, U8)}}},
    {"Q6_K", {210, 4, {AT(0, 128, U8), AT(128, 64, U8), AT(192, 16, I8), AT(208, 2, F16)}}},
    {"Q8_K", {292, 3, {AT(0, 4, F32), AT(4, 256, I8), AT(260, 32, I16)}}},
    {"IQ2_XXS", {66, 2, {AT(0, 2, F16), AT(2, 64, U8)}}},
    {"IQ2_XS", {74, 3, {AT(0, 2, F16), AT(2, 64, U8), AT(66, 8, U8)}}},
    {"IQ3_XXS", {98, 3, {AT(0, 2, F16), AT(2, 64, U8), AT(66, 32, U8)}}},
    {"IQ1_S", {50, 3, {AT(0, 2, F16), AT(2, 32, U8), AT(34, 16, U8)}}},
    {"IQ4_NL", {18, 2, {AT(0, 2, F16), AT(2, 16, U8)}}},
    {"IQ3_S",
     {110, 5, {AT(0, 2, F16), AT(2, 64, U8), AT(66, 8, U8), AT(74, 32, U8), AT(106, 4, U8)}}},
    {"IQ2_S", {82, 4, {AT(0, 2, F16), AT(2, 64, U8), AT(66, 8, U8), AT(74, 8, U8)}}},
    {"IQ4_XS", {136, 4, {AT(0, 2, F16), AT(2, 2, U8), AT(4, 4, U8), AT(8, 128, U8)}}},
    {"IQ1_M", {56, 3, {AT(0, 32, U8), AT(32, 16, U8), AT(48, 8, U8)}}},
    {"TQ1_0", {54, 3, {AT(0, 48, U8), AT(48, 4, U8), AT(52, 2, F16)}}},
    {"TQ2_0", {66, 2, {AT(0, 64, U8), AT(64, 2, F16)}}},
    {"MXFP4", {17, 2, {AT(0, 1, U8), AT(1, 16, U8)}}},
    {"NVFP4", {36, 2, {AT(0, 4, U8), AT(4, 32, U8)}}},
    {"Q1_0", {18, 2, {AT(0, 2, F16), AT(2, 16, U8)}}},
};

const struct wcodec_record_geometry *wcodec_geometry_find(const char *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, type) == 0)
            return &types[i].geometry;
    return NULL;
}

/* Rows are whole records, or the metadata is wrong. */
static void propose(struct wcodec_layout_tensor *t, const char *type, uint64_t *count)
{
    const struct wcodec_record_geometry *geometry = wcodec_geometry_find(type);
    if (geometry == NULL || t->dtype != WCODEC_DTYPE_U8 || t->rank == 0 || t->size == 0 ||
        t->shape[t->rank - 1] % geometry->record_size != 0)
        return;
    t->geometry = geometry;
    ++*count;
}

static bool is_type(const char *key)
{
    return strncmp(key, WCODEC_GEOMETRY_KEY, strlen(WCODEC_GEOMETRY_KEY)) == 0;
}

/* `pairs` of the metadata, of which at least one is a type. */
static wcodec_status propose_all(struct wcodec_file_layout *layout, const char *const *metadata,
                                 uint64_t pairs, uint64_t *count, wcodec_error *err)
{
    struct wcodec_names names;
    if (!wcodec_names_init(&names, layout->allocator, layout->count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for names");
    for (uint64_t i = 0; i < layout->count; i++) {
        uint64_t number = i;
        (void)wcodec_names_add(&names, layout->tensors[i].name, &number);
    }
    for (uint64_t i = 0; i < pairs; i++) {
        uint64_t number;
        if (is_type(metadata[2 * i]) &&
            wcodec_names_find(&names, metadata[2 * i] + strlen(WCODEC_GEOMETRY_KEY), &number))
            propose(&layout->tensors[number], metadata[2 * i + 1], count);
    }
    wcodec_names_free(&names);
    return WCODEC_OK;
}

wcodec_status wcodec_geometry_propose(struct wcodec_file_layout *layout, uint64_t *count,
                                      wcodec_error *err)
{
    const struct wcodec_safetensors *s = layout->safetensors;
    const char *const *metadata = s != NULL ? s->metadata : layout->metadata;
    const uint64_t pairs = s != NULL ? s->metadata_count : layout->metadata_count;
    uint64_t i = 0;
    *count = 0;
    while (i < pairs && !is_type(metadata[2 * i]))
        i++;
    return i < pairs ? propose_all(layout, metadata, pairs, count, err) : WCODEC_OK;
}
