/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_records.h"

#include "core/bytes.h"
#include "format/geometry.h"
#include <inttypes.h>

/* About as Gaussian numbers are, of so many bits. */
static unsigned near_middle(uint64_t *seed, unsigned bits)
{
    const uint64_t any = support_random(seed);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += any >> 16 * i & ((1u << bits) - 1);
    return (unsigned)(sum / 4);
}

/* Fields differ in which bytes are frequent. */
static void fill_field(uint8_t *field, unsigned width, unsigned dtype, unsigned number,
                       uint64_t *seed)
{
    const uint8_t flip = (uint8_t)(number * 0x33);
    for (unsigned i = 0; i < width; i++)
        field[i] = dtype == WCODEC_DTYPE_I8
                       ? (uint8_t)(near_middle(seed, 8) - 128)
                       : (uint8_t)((near_middle(seed, 4) << 4 | near_middle(seed, 4)) ^ flip);
    if (dtype == WCODEC_DTYPE_F16)
        wcodec_store_u16(field, (uint16_t)(9 << 10 | near_middle(seed, 10)));
}

uint8_t *support_quantised_data(const struct support_quantised *q, uint64_t *seed, size_t *size)
{
    const struct wcodec_record_geometry *g = wcodec_geometry_find(q->type);
    assert_non_null(g);
    assert_int_equal(g->record_size, q->block);
    *size = (size_t)(q->rows * q->blocks * q->block);
    uint8_t *data = malloc(*size);
    for (size_t at = 0; at < *size; at += q->block)
        for (unsigned i = 0; i < g->field_count; i++)
            fill_field(data + at + g->fields[i].offset, g->fields[i].width, g->fields[i].dtype, i,
                       seed);
    return data;
}

void support_quantised_safetensors(const struct support_quantised *q, const char *type,
                                   const uint8_t *data, size_t size, struct support_sink *file)
{
    char text[400];
    uint8_t length[8];
    const int n = snprintf(text, sizeof text,
                           "{\"__metadata__\":{\"gguf.type.none\":\"Q8_0\",\"gguf.type.t\":\"%s\"},"
                           "\"t\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64 ",%" PRIu64
                           "],\"data_offsets\":[0,%zu]}}",
                           type != NULL ? type : q->type, q->rows, q->blocks * q->block, size);
    assert_true(n > 0 && n < (int)sizeof text);
    wcodec_store_u64(length, (uint64_t)n);
    support_sink_init(file);
    support_sink_write(file, length, 8);
    support_sink_write(file, text, (size_t)n);
    support_sink_write(file, data, size);
}

void support_quantised_gguf(const struct support_quantised *q, const uint8_t *data, size_t size,
                            struct support_sink *file)
{
    uint8_t head[96] = "GGUF";
    wcodec_store_u32(head + 4, 3);
    wcodec_store_u64(head + 8, 1); /* tensors; no values */
    wcodec_store_u64(head + 24, 1);
    head[32] = 't';
    wcodec_store_u32(head + 33, 2);
    wcodec_store_u64(head + 37, q->blocks * q->weights);
    wcodec_store_u64(head + 45, q->rows);
    wcodec_store_u32(head + 53, q->number);
    support_sink_init(file);
    support_sink_write(file, head, sizeof head);
    support_sink_write(file, data, size);
}
