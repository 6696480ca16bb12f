/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_resident.h"

#include "core/bytes.h"
#include "core/dtype.h"
#include <stdio.h>
#include <string.h>

const struct support_model support_models[SUPPORT_RESIDENT_TENSORS] = {
    {"square", WCODEC_DTYPE_BF16, 2, {256, 384}, SUPPORT_BELL, true},
    {"tied", WCODEC_DTYPE_BF16, 2, {256, 384}, SUPPORT_SAME, true},
    {"other", WCODEC_DTYPE_U8, 2, {192, 1024}, SUPPORT_SAME, false},
    {"ragged", WCODEC_DTYPE_BF16, 2, {397, 1001}, SUPPORT_BELL, true},
    {"wide", WCODEC_DTYPE_BF16, 2, {31, 5000}, SUPPORT_BELL, true},
    {"tall", WCODEC_DTYPE_BF16, 2, {3000, 129}, SUPPORT_BELL, false},
    {"narrow", WCODEC_DTYPE_BF16, 2, {300, 40}, SUPPORT_BELL, false},
    {"any", WCODEC_DTYPE_BF16, 2, {64, 512}, SUPPORT_ANY_BITS, false},
    {"half", WCODEC_DTYPE_F16, 2, {200, 300}, SUPPORT_BELL, false},
    {"any-half", WCODEC_DTYPE_F16, 2, {33, 140}, SUPPORT_ANY_BITS, false},
    {"single", WCODEC_DTYPE_F32, 2, {50, 200}, SUPPORT_BELL, false},
    {"bytes", WCODEC_DTYPE_I8, 2, {128, 1000}, SUPPORT_BELL, false},
    {"unsigned", WCODEC_DTYPE_U8, 2, {19, 130}, SUPPORT_ANY_BITS, false},
    {"e4m3", WCODEC_DTYPE_F8_E4M3, 2, {40, 260}, SUPPORT_ANY_BITS, false},
    {"e5m2", WCODEC_DTYPE_F8_E5M2, 2, {40, 260}, SUPPORT_BELL, false},
    {"bias", WCODEC_DTYPE_BF16, 1, {397}, SUPPORT_BELL, false},
    {"stack", WCODEC_DTYPE_BF16, 3, {4, 20, 256}, SUPPORT_BELL, true},
    {"ones", WCODEC_DTYPE_BF16, 2, {48, 256}, SUPPORT_CONSTANT, false},
    {"empty", WCODEC_DTYPE_F32, 2, {0, 5}, SUPPORT_BELL, false},
    {"numbers", WCODEC_DTYPE_I64, 2, {10, 10}, SUPPORT_BELL, false},
    {"scalar", WCODEC_DTYPE_F32, 0, {0}, SUPPORT_BELL, false},
    {"deep", WCODEC_DTYPE_BF16, 2, {128, 1024}, SUPPORT_BELL, true},
};

static float around_zero(uint64_t *seed)
{
    float sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += (float)(support_random(seed) & 0xFFFF) / 65536 - 0.5F;
    return sum * 0.1F;
}

static void fill(uint64_t *seed, const struct support_model *m, uint8_t *to, size_t size)
{
    const unsigned bytes = wcodec_dtype_bits(m->dtype) / 8;
    for (size_t at = 0; at < size; at += bytes) {
        const float number = m->numbers == SUPPORT_CONSTANT ? 1 : around_zero(seed);
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        if (m->numbers == SUPPORT_ANY_BITS || bytes == 8)
            for (unsigned i = 0; i < bytes; i++)
                to[at + i] = (uint8_t)support_random(seed);
        else if (m->dtype == WCODEC_DTYPE_F16)
            wcodec_store_u16(to + at,
                             (uint16_t)((bits >> 16 & 0x8000) |
                                        (((bits >> 13 & 0x3FFFF) - (112 << 10)) & 0x7FFF)));
        else if (bytes == 2)
            wcodec_store_u16(to + at, (uint16_t)(bits >> 16));
        else if (bytes == 4)
            wcodec_store_u32(to + at, bits);
        else
            to[at] = (uint8_t)(int8_t)(number * 300);
    }
}

static int append(void *opaque, const void *data, size_t size)
{
    struct support_resident_file *file = opaque;
    file->bytes = realloc(file->bytes, file->size + size);
    memcpy(file->bytes + file->size, data, size);
    file->size += size;
    return 0;
}

/* Data of all tensors; their header's entries are written to `header`. Returns their bytes. */
static size_t make_tensors(uint64_t *seed, struct support_resident_file *file, FILE *header)
{
    size_t begin = 0;
    for (unsigned i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        const struct support_model *m = &support_models[i];
        uint64_t size;
        assert_true(wcodec_dtype_size(m->dtype, m->shape, m->rank, &size));
        file->sizes[i] = (size_t)size;
        file->data[i] = malloc(file->sizes[i] + 1);
        if (m->numbers == SUPPORT_SAME)
            memcpy(file->data[i], file->data[i - 1], file->sizes[i]);
        else
            fill(seed, m, file->data[i], file->sizes[i]);
        fprintf(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i == 0 ? "{" : ",", m->name,
                wcodec_dtype_name(m->dtype));
        for (unsigned d = 0; d < m->rank; d++)
            fprintf(header, "%s%u", d == 0 ? "" : ",", (unsigned)m->shape[d]);
        fprintf(header, "],\"data_offsets\":[%zu,%zu]}", begin, begin + file->sizes[i]);
        begin += file->sizes[i];
    }
    fprintf(header, "}");
    return begin;
}

void support_resident_make(wcodec_context *context, uint64_t *seed, wcodec_tune tune,
                           struct support_resident_file *file)
{
    wcodec_encode_options options;
    wcodec_error err;
    char *text;
    size_t length;
    FILE *header = open_memstream(&text, &length);
    memset(file, 0, sizeof *file);
    const size_t size = make_tensors(seed, file, header);
    fclose(header);
    uint8_t *original = malloc(8 + length + size);
    size_t at = 8 + length;
    wcodec_store_u64(original, length);
    memcpy(original + 8, text, length);
    for (unsigned i = 0; i < SUPPORT_RESIDENT_TENSORS; at += file->sizes[i++])
        memcpy(original + at, file->data[i], file->sizes[i]);
    wcodec_encode_options_init(&options);
    options.tune = tune;
    if (wcodec_compress_memory(context, original, 8 + length + size, append, file, &options, NULL,
                               &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    free(original);
    free(text);
}

wcodec_reader *support_resident_open(wcodec_context *context,
                                     const struct support_resident_file *file)
{
    wcodec_reader *reader;
    wcodec_error err;
    if (wcodec_reader_open_memory(context, file->bytes, file->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return reader;
}

void support_resident_free(struct support_resident_file *file)
{
    for (unsigned i = 0; i < SUPPORT_RESIDENT_TENSORS; i++)
        free(file->data[i]);
    free(file->bytes);
}

wcodec_context *support_resident_fake(const char *how)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    setenv("WCODEC_FAKE", how, 1);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.threads = 2;
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

wcodec_status support_resident_create(const wcodec_reader *reader, const char *memory,
                                      wcodec_resident_form form, wcodec_resident **resident,
                                      wcodec_error *err)
{
    wcodec_resident_options options;
    wcodec_resident_options_init(&options);
    options.memory = memory;
    options.form = form;
    return wcodec_resident_create(reader, NULL, 0, &options, resident, err);
}
