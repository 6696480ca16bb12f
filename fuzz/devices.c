/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A whole .wcodec file whose tensors are loaded to a device and become resident there, in every
 * form: what the reader decodes is what is in the device's memory then, and what it refuses is
 * refused. */
#include "fuzz/container.h"
#include "fuzz/device.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "devices";
const bool fuzz_takes_files = true;

enum { TENSOR_LIMIT = 1 << 17, TENSORS_LIMIT = 24, FILE_LIMIT = 1 << 22 };

static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_CODED, WCODEC_RESIDENT_FIXED,
                                             WCODEC_RESIDENT_PLAIN};

static wcodec_buffer *make_buffer(uint64_t size)
{
    wcodec_buffer *buffer;
    FUZZ_REQUIRE(wcodec_buffer_create(fuzz_device_context(), size != 0 ? size : 1, &buffer, NULL) ==
                 WCODEC_OK);
    return buffer;
}

static void require_bytes(const wcodec_buffer *buffer, const uint8_t *expected, size_t size)
{
    uint8_t *found = fuzz_guarded(size);
    FUZZ_REQUIRE(wcodec_buffer_read(buffer, 0, found, size, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(found, expected, size) == 0);
    fuzz_guarded_free(found, size);
}

static void load(const wcodec_reader *reader, uint64_t tensor, const uint8_t *expected, size_t size,
                 wcodec_status status)
{
    wcodec_buffer *buffer = make_buffer(size);
    wcodec_load_options options;
    wcodec_error err = {0};
    const wcodec_load_item item = {
        .tensor = tensor, .destination = wcodec_buffer_native(buffer), .size = size};
    wcodec_load_options_init(&options);
    options.memory = "fake";
    const wcodec_status loaded = wcodec_load(reader, &item, 1, &options, NULL, &err);
    FUZZ_REQUIRE((loaded == WCODEC_OK) == (status == WCODEC_OK));
    FUZZ_REQUIRE(loaded == WCODEC_OK || (err.status == loaded && err.text[0] != 0));
    if (loaded == WCODEC_OK)
        require_bytes(buffer, expected, size);
    wcodec_buffer_destroy(buffer);
}

/* Rows of it, decoded and gathered by queued calls. */
static void check_rows(wcodec_resident *resident, const wcodec_tensor_info *info,
                       const uint8_t *whole)
{
    const uint64_t rows = info->rank != 0 ? info->shape[0] : 1;
    const size_t size = (size_t)info->size;
    const int64_t wanted[3] = {(int64_t)rows - 1, 0, (int64_t)rows};
    if (rows == 0 || size % rows != 0)
        return;
    const size_t row = size / (size_t)rows;
    wcodec_buffer *out = make_buffer(size + 3 * row), *indices = make_buffer(sizeof wanted);
    const uint64_t to = wcodec_buffer_native(out);
    memcpy((void *)(uintptr_t)wcodec_buffer_native(indices), wanted, sizeof wanted);
    wcodec_status status = wcodec_resident_decode_queued(resident, 0, 0, rows, to, size, 0, NULL);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_UNSUPPORTED ||
                 status == WCODEC_ERROR_USAGE);
    if (status == WCODEC_OK)
        require_bytes(out, whole, size);
    status = wcodec_resident_gather_queued(resident, 0, wcodec_buffer_native(indices), 3, to,
                                           3 * row, 0, NULL);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_UNSUPPORTED ||
                 status == WCODEC_ERROR_USAGE);
    if (status == WCODEC_OK) {
        uint8_t *expected = calloc(3, row + 1);
        FUZZ_REQUIRE(expected != NULL);
        memcpy(expected, whole + (size - row), row);
        memcpy(expected + row, whole, row);
        require_bytes(out, expected, 3 * row);
        FUZZ_REQUIRE(wcodec_resident_check(resident, NULL) == WCODEC_ERROR_USAGE);
        free(expected);
    }
    wcodec_buffer_destroy(out);
    wcodec_buffer_destroy(indices);
}

/* A product is made, or refused; what is written stays inside. */
static void check_product(const wcodec_resident *resident, const wcodec_tensor_info *info,
                          wcodec_dtype dtype, int transposed, size_t vectors)
{
    const size_t n = (size_t)info->shape[0], k = (size_t)info->shape[1],
                 element = dtype == WCODEC_DTYPE_F32 ? 4 : 2,
                 in = (transposed ? n : k) * vectors * element,
                 out = (transposed ? k : n) * vectors * element;
    wcodec_buffer *x = make_buffer(in), *y = make_buffer(out);
    uint8_t *numbers = (uint8_t *)(uintptr_t)wcodec_buffer_native(x);
    wcodec_linear l;
    for (size_t i = 0; i < in; i++)
        numbers[i] = i % element == element - 1 ? 0x3c : (uint8_t)(37 * i);
    wcodec_linear_init(&l);
    l.transposed = transposed;
    l.rows = vectors;
    l.x = numbers;
    l.y = (void *)(uintptr_t)wcodec_buffer_native(y);
    l.x_dtype = l.y_dtype = dtype;
    const wcodec_status status = wcodec_resident_linear(resident, 0, &l, NULL);
    FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_UNSUPPORTED ||
                 status == WCODEC_ERROR_USAGE || status == WCODEC_ERROR_LIMIT);
    FUZZ_REQUIRE(wcodec_buffer_read(y, 0, numbers, 0, NULL) == WCODEC_OK);
    wcodec_buffer_destroy(x);
    wcodec_buffer_destroy(y);
}

static void keep(const wcodec_reader *reader, uint64_t i, const wcodec_tensor_info *info,
                 const uint8_t *whole, wcodec_status expected, wcodec_resident_form form)
{
    wcodec_resident_options options;
    wcodec_resident *resident = NULL;
    wcodec_error err = {0};
    wcodec_resident_options_init(&options);
    options.form = form;
    options.memory = "fake";
    const wcodec_status status = wcodec_resident_create(reader, &i, 1, &options, &resident, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (resident != NULL));
    FUZZ_REQUIRE(status != WCODEC_OK || expected == WCODEC_OK);
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    if (resident == NULL)
        return;
    check_rows(resident, info, whole);
    if (info->rank == 2 && info->shape[0] <= TENSOR_LIMIT && info->shape[1] <= TENSOR_LIMIT) {
        check_product(resident, info, WCODEC_DTYPE_BF16, 0, 3);
        check_product(resident, info, WCODEC_DTYPE_BF16, 0, 9 + info->shape[0] % 24);
        check_product(resident, info, WCODEC_DTYPE_BF16, 1, 3);
        check_product(resident, info, WCODEC_DTYPE_F32, form == WCODEC_RESIDENT_FIXED, 3);
    }
    wcodec_resident_destroy(resident);
}

static void run_tensor(const wcodec_reader *reader, uint64_t i)
{
    wcodec_tensor_info info;
    FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
    if (info.size > TENSOR_LIMIT)
        return;
    uint8_t *whole = fuzz_guarded((size_t)info.size);
    const wcodec_status status =
        wcodec_reader_decode(reader, i, whole, (size_t)info.size, NULL, NULL);
    fuzz_deep += status == WCODEC_OK;
    load(reader, i, whole, (size_t)info.size, status);
    for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
        keep(reader, i, &info, whole, status, forms[f]);
    fuzz_guarded_free(whole, (size_t)info.size);
}

/* Files behind functions, one byte less than asked for at a time. */
struct remote {
    const uint8_t *data;
    size_t size;
};

static int64_t read_at(void *opaque, uint64_t offset, size_t size, void *dst, wcodec_error *error)
{
    const struct remote *r = opaque;
    (void)error;
    FUZZ_REQUIRE(offset <= r->size && size <= r->size - offset);
    const size_t some = size > 1 ? size - 1 : size;
    memcpy(dst, r->data + offset, some);
    return (int64_t)some;
}

static int discard(void *opaque, const void *data, size_t size)
{
    (void)data;
    *(uint64_t *)opaque += size;
    return 0;
}

static void run(const uint8_t *data, size_t size)
{
    struct remote remote = {data, size};
    const wcodec_io file = {.read_at = read_at, .opaque = &remote, .size = size, .name = "fuzz"};
    wcodec_reader *reader;
    if (wcodec_reader_open_io(fuzz_device_context(), &file, 1, &reader, NULL) != WCODEC_OK)
        return;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader) && i < TENSORS_LIMIT; i++)
        run_tensor(reader, i);
    wcodec_file_info info;
    uint64_t restored = 0;
    FUZZ_REQUIRE(wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK);
    if (info.size <= FILE_LIMIT &&
        wcodec_reader_restore(reader, 0, discard, &restored, NULL, NULL) == WCODEC_OK)
        FUZZ_REQUIRE(restored == info.size);
    wcodec_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fuzz_device_context() != NULL)
        fuzz_container(run, data, size);
    return 0;
}
