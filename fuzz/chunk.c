/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding 2: u32 size, u32 chunk, then the payload. With bit 31 of the size coding 9: u32 size of
 * the payload, then the parameters, whose fields must cover records once, and their payloads lie in
 * it.
 */
#include "coding/chunks.h"
#include "coding/records.h"
#include "core/memory.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "chunk";
const bool fuzz_takes_files = false;

static void decode_chunks(const struct wcodec_chunks *chunks, const uint8_t *payload,
                          size_t payload_size)
{
    for (uint64_t i = 0; i < chunks->count; i++) {
        const uint64_t at = i * chunks->chunk;
        const size_t size =
            (size_t)(chunks->size - at < chunks->chunk ? chunks->size - at : chunks->chunk);
        FUZZ_REQUIRE(chunks->offsets[i] <= payload_size &&
                     chunks->coded[i] <= payload_size - chunks->offsets[i] &&
                     chunks->coded[i] <= size);
        uint8_t *a = fuzz_guarded(size), *b = fuzz_guarded(size);
        wcodec_error err = {0};
        const wcodec_status status =
            wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i], a, true, NULL, &err);
        FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
        const wcodec_status unverified =
            wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i], b, false, NULL, &err);
        FUZZ_REQUIRE(status != WCODEC_OK || (unverified == WCODEC_OK && memcmp(a, b, size) == 0));
        fuzz_guarded_free(a, size);
        fuzz_guarded_free(b, size);
    }
}

/* What is cut into fields comes back from them. */
static void cut_records(const struct wcodec_records *r)
{
    const size_t count = r->count < 3 ? (size_t)r->count : 3, size = count * r->record_size;
    uint8_t *records = fuzz_guarded(size), *back = fuzz_guarded(size);
    for (size_t i = 0; i < size; i++) {
        records[i] = (uint8_t)(i * 7);
        back[i] = (uint8_t)~records[i];
    }
    for (unsigned i = 0; i < r->field_count; i++) {
        const struct wcodec_record_field *f = &r->fields[i];
        uint8_t *array = fuzz_guarded(count * f->width);
        wcodec_record_gather(records, r->record_size, f->offset, f->width, count, array);
        wcodec_record_scatter(array, r->record_size, f->offset, f->width, count, back);
        fuzz_guarded_free(array, count * f->width);
    }
    FUZZ_REQUIRE(memcmp(records, back, size) == 0);
    fuzz_guarded_free(back, size);
    fuzz_guarded_free(records, size);
}

static void read_records(const uint8_t *data, size_t size)
{
    const uint64_t tensor = wcodec_load_u32(data) & INT32_MAX, payload = wcodec_load_u32(data + 4);
    uint8_t *own = fuzz_copy(data + 8, size - 8), *again = malloc(WCODEC_RECORDS_MAX_BYTES);
    struct wcodec_cursor cursor = {own, own + (size - 8)};
    struct wcodec_records r;
    wcodec_error err = {0};
    uint64_t end = 0, bytes = 0;
    bool newer;
    FUZZ_REQUIRE(again);
    const wcodec_status status =
        tensor != 0 ? wcodec_records_read(&cursor, tensor, payload, &r, &newer, &err)
                    : WCODEC_ERROR_CORRUPT;
    FUZZ_REQUIRE(status == WCODEC_OK || tensor == 0 ||
                 (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK && !newer) {
        const size_t read = (size_t)(cursor.at - own);
        FUZZ_REQUIRE(wcodec_records_write(&r, again) == read && memcmp(again, own, read) == 0);
        for (unsigned i = 0; i < r.field_count; i++) {
            const struct wcodec_record_field *f = &r.fields[i];
            FUZZ_REQUIRE(f->payload_begin >= end && f->payload_begin + f->payload_size <= payload);
            end = f->payload_size != 0 ? f->payload_begin + f->payload_size : end;
            bytes += f->width;
        }
        FUZZ_REQUIRE(end == payload && bytes == r.record_size && r.count * bytes == tensor);
        fuzz_deep++;
        cut_records(&r);
    }
    free(again);
    free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    if (wcodec_load_u32(data) > INT32_MAX) {
        read_records(data, size);
        return 0;
    }
    const uint64_t decoded = wcodec_load_u32(data) % (1u << 20), chunk = wcodec_load_u32(data + 4);
    if (decoded == 0 || chunk == 0 || chunk > WCODEC_CHUNK_MAX)
        return 0; /* refused with the record */
    const size_t payload_size = size - 8;
    const uint64_t directory = wcodec_chunks_directory_size(decoded, chunk);
    if (directory > payload_size)
        return 0;
    uint8_t *payload = fuzz_copy(data + 8, payload_size);
    struct wcodec_chunks *chunks;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_chunks_read(decoded, chunk, payload, payload_size,
                                                    &wcodec_default_allocator, &chunks, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        fuzz_deep++;
        decode_chunks(chunks, payload, payload_size);
        wcodec_chunks_free(chunks);
    }
    free(payload);
    return 0;
}
