/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that a device codes as they are saved, and weights that it compares and changes: the file
 * is, byte for byte, what the CPU makes of them, and restores to them; a message between two states
 * of them leads from one to the other. u8 dtype, u8 elements more than a mebibyte holds, u8 how
 * often elements are not of the pattern, which is the rest. */
#include "fuzz/device.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "save";
const bool fuzz_takes_files = false;

enum { CODED_BYTES = 1 << 20 }; /* of the smallest tensor that devices code */

static const struct {
    wcodec_dtype dtype;
    unsigned size;
} kinds[] = {{WCODEC_DTYPE_BF16, 2},    {WCODEC_DTYPE_F16, 2},     {WCODEC_DTYPE_F32, 4},
             {WCODEC_DTYPE_F8_E4M3, 1}, {WCODEC_DTYPE_F8_E5M2, 1}, {WCODEC_DTYPE_I8, 1},
             {WCODEC_DTYPE_U8, 1}};

/* Elements whose highest byte is of the pattern, unless by chance, and the others random. */
static void fill(uint8_t *to, size_t size, unsigned element, uint8_t often, const uint8_t *pattern,
                 size_t length)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const bool top = i % element == element - 1, odd = (state >> 40 & 0xfff) < often;
        to[i] = top && !odd ? pattern[(state >> 32) % length] : (uint8_t)(state >> 24);
    }
}

static struct fuzz_bytes save(wcodec_context *context, const char *memory,
                              const wcodec_save_item *item)
{
    struct fuzz_bytes out = {NULL, 0};
    wcodec_save_options options;
    wcodec_encode_options encode;
    wcodec_error err = {0};
    wcodec_encode_options_init(&encode);
    encode.level = 1;
    wcodec_save_options_init(&options);
    options.write = fuzz_append;
    options.opaque = &out;
    options.encode = &encode;
    options.memory = memory;
    const wcodec_status status = wcodec_save(context, item, 1, &options, NULL, &err);
    if (status != WCODEC_OK)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_REQUIRE(status == WCODEC_OK);
    return out;
}

static void check_restored(const struct fuzz_bytes *file, const uint8_t *data, size_t size)
{
    wcodec_reader *reader;
    uint8_t *out = fuzz_guarded(size);
    FUZZ_REQUIRE(wcodec_reader_open_memory(fuzz_context(), file->data, file->size, &reader, NULL) ==
                 WCODEC_OK);
    FUZZ_REQUIRE(wcodec_reader_decode(reader, 0, out, size, NULL, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(out, data, size) == 0);
    wcodec_reader_close(reader);
    fuzz_guarded_free(out, size);
}

/* A message between two states in the device's memory: the older one becomes the newer one. */
static void exchange(wcodec_context *context, const wcodec_save_item *item, uint8_t often,
                     const uint8_t *pattern, size_t length)
{
    const size_t size = (size_t)item->size;
    wcodec_save_item older = *item;
    wcodec_buffer *buffer;
    wcodec_delta_encode_options encode;
    wcodec_delta_apply_options apply;
    uint8_t *after = (uint8_t *)(uintptr_t)item->source, *before;
    void *message;
    size_t message_size;
    FUZZ_REQUIRE(wcodec_buffer_create(context, size, &buffer, NULL) == WCODEC_OK);
    older.source = wcodec_buffer_native(buffer);
    before = (uint8_t *)(uintptr_t)older.source;
    memcpy(before, after, size);
    for (size_t i = often; i < size; i += 1 + (size_t)pattern[i % length] * (often + 1u))
        before[i] = (uint8_t)(before[i] + pattern[(i >> 8) % length]);
    wcodec_delta_encode_options_init(&encode);
    encode.before_memory = encode.after_memory = "fake";
    FUZZ_REQUIRE(wcodec_delta_encode(context, &older, 1, item, 1, &encode, &message, &message_size,
                                     NULL, NULL) == WCODEC_OK);
    wcodec_delta_apply_options_init(&apply);
    apply.memory = "fake";
    FUZZ_REQUIRE(wcodec_delta_apply(context, message, message_size, &older, 1, &apply, NULL,
                                    NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(before, after, size) == 0);
    wcodec_delta_free(context, message);
    wcodec_buffer_destroy(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wcodec_context *context = fuzz_device_context();
    struct wcodec_cursor c = {data, data + size};
    const unsigned kind = fuzz_take(&c) % (sizeof kinds / sizeof *kinds),
                   element = kinds[kind].size;
    const size_t bytes = CODED_BYTES + (size_t)fuzz_take(&c) * element;
    const uint8_t often = fuzz_take(&c);
    if (context == NULL || wcodec_cursor_left(&c) == 0)
        return 0;
    wcodec_buffer *buffer;
    FUZZ_REQUIRE(wcodec_buffer_create(context, bytes, &buffer, NULL) == WCODEC_OK);
    uint8_t *elements = (uint8_t *)(uintptr_t)wcodec_buffer_native(buffer);
    fill(elements, bytes, element, often, c.at, wcodec_cursor_left(&c));
    const uint64_t shape[1] = {bytes / element};
    const wcodec_save_item item = {.name = "t",
                                   .dtype = kinds[kind].dtype,
                                   .rank = 1,
                                   .shape = shape,
                                   .source = wcodec_buffer_native(buffer),
                                   .size = bytes};
    struct fuzz_bytes device = save(context, "fake", &item),
                      cpu = save(fuzz_context(), NULL, &item);
    FUZZ_REQUIRE(device.size == cpu.size && memcmp(device.data, cpu.data, cpu.size) == 0);
    check_restored(&device, elements, bytes);
    exchange(context, &item, often, c.at, wcodec_cursor_left(&c));
    fuzz_deep++;
    free(device.data);
    free(cpu.data);
    wcodec_buffer_destroy(buffer);
    return 0;
}
