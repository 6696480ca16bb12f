/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Calls of the writer and the reader in any order, right and wrong: each byte is a call. A wrong
 * one is WCODEC_ERROR_USAGE and changes nothing. */
#include "fuzz/exercise.h"
#include "fuzz/fuzz.h"
#include <wcodec/writer.h>

const char fuzz_target[] = "api_sequence";
const bool fuzz_takes_files = false;

enum { TENSORS_MAX = 12, TENSOR_SIZE_MAX = 4096 };

struct state {
    wcodec_writer *writer;
    uint8_t *out; /* what was written */
    size_t out_size;
    int write_fails_in; /* calls until writing fails; negative: never */
    unsigned declared, written;
    wcodec_dtype dtypes[TENSORS_MAX];
    uint64_t sizes[TENSORS_MAX];
    uint8_t fill[TENSORS_MAX];
    bool started, finished, failed;
};

static int write_out(void *opaque, const void *data, size_t size)
{
    struct state *s = opaque;
    if (s->write_fails_in == 0)
        return 28; /* ENOSPC */
    s->write_fails_in -= s->write_fails_in > 0;
    s->out = realloc(s->out, s->out_size + size + 1);
    FUZZ_REQUIRE(s->out);
    if (size)
        memcpy(s->out + s->out_size, data, size);
    s->out_size += size;
    return 0;
}

static void create(struct state *s, uint8_t argument)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = 1 + argument % 9;
    options.no_verify = argument >> 7;
    FUZZ_REQUIRE(wcodec_writer_create(fuzz_context(), write_out, s, &options, &s->writer, NULL) ==
                 WCODEC_OK);
}

static void declare(struct state *s, uint8_t argument)
{
    char name[32];
    snprintf(name, sizeof name, "t%u", argument & 0x80 ? 0 : s->declared);
    const wcodec_dtype dtype = (wcodec_dtype)(argument % 24);
    uint64_t shape[2] = {argument % 7, 1 + argument % 5};
    const uint64_t bits = shape[0] * shape[1] * wcodec_dtype_bits(dtype);
    const bool wrong = s->started || s->finished || dtype == WCODEC_DTYPE_OTHER ||
                       dtype > WCODEC_DTYPE_F6_E3M2 || bits % 8 || (argument & 0x80 && s->declared);
    if (s->declared == TENSORS_MAX)
        return;
    const wcodec_status status = wcodec_writer_declare(s->writer, name, dtype, shape, 2, NULL);
    if (!s->failed)
        FUZZ_REQUIRE(wrong ? status == WCODEC_ERROR_USAGE : status == WCODEC_OK);
    if (status == WCODEC_OK) {
        s->dtypes[s->declared] = dtype;
        s->sizes[s->declared++] = bits / 8;
    }
}

static void write_data(struct state *s, uint8_t argument)
{
    uint8_t data[TENSOR_SIZE_MAX + 1] = {0};
    const bool none = s->written == s->declared;
    const uint64_t size = none ? 5 : s->sizes[s->written] + (argument & 1);
    for (uint64_t i = 0; i < size; i++)
        data[i] = (uint8_t)(argument + (argument & 2 ? i : 0));
    const wcodec_status status = wcodec_writer_data(s->writer, data, (size_t)size, NULL);
    if (status == WCODEC_OK) {
        FUZZ_REQUIRE(!none && !(argument & 1) && !s->failed);
        s->fill[s->written++] = argument;
        s->started = true;
    } else if (none || argument & 1) {
        FUZZ_REQUIRE(status == WCODEC_ERROR_USAGE || s->failed);
    } else {
        FUZZ_REQUIRE(s->failed || s->write_fails_in == 0);
        s->failed = true;
    }
}

static void check_written(struct state *s)
{
    struct exercise_result result;
    exercise_file(fuzz_context(), s->out, s->out_size, &result);
    FUZZ_REQUIRE(result.status == WCODEC_OK);
    size_t at = result.size;
    for (unsigned i = s->declared; i-- > 0;) {
        at -= (size_t)s->sizes[i];
        for (size_t k = 0; k < s->sizes[i]; k++)
            FUZZ_REQUIRE(result.restored[at + k] ==
                         (uint8_t)(s->fill[i] + (s->fill[i] & 2 ? k : 0)));
    }
    free(result.restored);
    fuzz_deep++;
}

static void finish(struct state *s)
{
    wcodec_encode_report report;
    const wcodec_status status = wcodec_writer_finish(s->writer, &report, NULL);
    if (status == WCODEC_OK) {
        FUZZ_REQUIRE(s->written == s->declared && !s->failed && !s->finished &&
                     report.coded_size == s->out_size && report.tensors == s->declared);
        s->finished = true;
        check_written(s);
    } else if (status == WCODEC_ERROR_USAGE) {
        FUZZ_REQUIRE(s->failed || s->written < s->declared || s->finished);
    } else {
        FUZZ_REQUIRE(s->write_fails_in == 0);
        s->failed = true;
    }
}

static void end(struct state *s)
{
    wcodec_writer_destroy(s->writer);
    free(s->out);
    memset(s, 0, sizeof *s);
    s->write_fails_in = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + (size < 400 ? size : 400)};
    struct state s = {0};
    s.write_fails_in = -1;
    while (wcodec_cursor_left(&c)) {
        const uint8_t call = fuzz_take(&c), argument = fuzz_take(&c);
        if (!s.writer)
            create(&s, argument);
        switch (call % 8) {
        case 0:
        case 1:
            declare(&s, argument);
            break;
        case 2:
        case 3:
        case 4:
            write_data(&s, argument);
            break;
        case 5:
            finish(&s);
            break;
        case 6: {
            const wcodec_status status =
                wcodec_writer_metadata(s.writer, argument & 1 ? "key" : "other", "value", NULL);
            FUZZ_REQUIRE(status == WCODEC_OK || status == WCODEC_ERROR_USAGE);
            FUZZ_REQUIRE(status != WCODEC_OK || !s.started);
            break;
        }
        default:
            if (argument & 1)
                end(&s);
            else if (argument & 2)
                s.write_fails_in = argument >> 4;
        }
    }
    end(&s);
    return 0;
}
