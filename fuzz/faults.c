/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file behind functions, some of whose bytes are changed, and an operation of readers on it while
 * something fails. u8 file (how it was coded), u8 operation, u8 argument of it, u16 number of the
 * allocation that fails, u8 of the read, u8 whether all later reads fail and how large they are, u8
 * of the call of the progress that cancels, u8 of the write that fails; 0: none. Then changes, a
 * u16 place in 65536ths and a u8 each. What fails says why, nothing stays allocated, and what
 * succeeds without changes gives the original. */
#include "fuzz/container.h"
#include "fuzz/failing.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>

const char fuzz_target[] = "faults";
const bool fuzz_takes_files = false;

enum { HEAD = 9, FILES = 8, ORIGINAL = 1 << 16, CHANGES = 16 };

struct run {
    const struct fuzz_bytes *original;
    const uint8_t *data; /* the file, changed */
    size_t size;
    bool changed;
    uint8_t argument;
    struct fuzz_fault reads, progress, writes;
    wcodec_context *context;
    wcodec_reader *reader;
    struct fuzz_bytes out; /* what was written */
};

/* Of a model with weights, few and many zeros, equal and tiny tensors. */
static struct fuzz_bytes make_original(void)
{
    static const struct {
        const char *name, *dtype, *shape;
        unsigned size, element, zeros;
    } tensors[] = {{"bf16", "BF16", "[40,256]", 20480, 2, 0}, {"f32", "F32", "[24,40]", 3840, 4, 0},
                   {"i8", "I8", "[32,128]", 4096, 1, 0},      {"twin", "I8", "[4096]", 4096, 1, 0},
                   {"few", "U8", "[5000]", 5000, 1, 30},      {"f16", "F16", "[17,48]", 1632, 2, 0},
                   {"zeros", "I16", "[300]", 600, 2, 1},      {"b", "F64", "[2]", 16, 8, 0}};
    char header[1000];
    uint64_t state = 7;
    size_t length = 0, at = 0;
    struct fuzz_bytes b = {malloc(ORIGINAL), 0};
    FUZZ_REQUIRE(b.data != NULL);
    for (unsigned i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        length +=
            (size_t)snprintf(header + length, sizeof header - length,
                             "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                             i == 0 ? "{" : ",", tensors[i].name, tensors[i].dtype,
                             tensors[i].shape, at, at + tensors[i].size);
        at += tensors[i].size;
    }
    header[length++] = '}';
    wcodec_store_u64(b.data, length);
    memcpy(b.data + 8, header, length);
    b.size = 8 + length;
    for (unsigned i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        if (strcmp(tensors[i].name, "twin") == 0)
            state = 3;
        if (strcmp(tensors[i].name, "i8") == 0)
            state = 3;
        for (unsigned k = 0; k < tensors[i].size; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const unsigned top = k % tensors[i].element == tensors[i].element - 1;
            const uint8_t value =
                top ? (uint8_t)(0x3c + (state >> 40 & state >> 44 & 3)) : (uint8_t)(state >> 33);
            const bool zero = tensors[i].zeros != 0 && (tensors[i].zeros == 1 || state >> 50 & 31);
            b.data[b.size++] = zero ? 0 : value;
        }
    }
    return b;
}

static void set_options(wcodec_encode_options *options, unsigned kind)
{
    wcodec_encode_options_init(options);
    options->level = kind == 1 ? 9 : 1;
    options->tune = kind == 2   ? WCODEC_TUNE_COMPUTE_FIXED
                    : kind == 3 ? WCODEC_TUNE_COMPUTE
                    : kind == 4 ? WCODEC_TUNE_LATENCY
                                : WCODEC_TUNE_SIZE;
    options->predict = kind == 1 ? WCODEC_PREDICT_PAETH : WCODEC_PREDICT_NONE;
    options->raw = kind == 5;
    options->profile = kind == 6 ? WCODEC_PROFILE_P8 : WCODEC_PROFILE_AUTO;
    options->lossy = kind == 7 ? WCODEC_LOSSY_SNR : WCODEC_LOSSY_NONE;
    options->lossy_value = 30;
    options->name = "model";
}

static const struct fuzz_bytes *file_of(unsigned kind, const struct fuzz_bytes **original)
{
    static struct fuzz_bytes made[FILES], restored[FILES], model;
    wcodec_encode_options options;
    wcodec_reader *reader;
    if (model.data == NULL)
        model = make_original();
    if (made[kind].data == NULL) {
        set_options(&options, kind);
        FUZZ_REQUIRE(wcodec_compress_memory(fuzz_context(), model.data, model.size, fuzz_append,
                                            &made[kind], &options, NULL, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_reader_open_memory(fuzz_context(), made[kind].data, made[kind].size,
                                               &reader, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_reader_restore(reader, 0, fuzz_append, &restored[kind], NULL, NULL) ==
                     WCODEC_OK);
        wcodec_reader_close(reader);
    }
    *original = &restored[kind];
    return &made[kind];
}

static int64_t read_at(void *opaque, uint64_t offset, size_t size, void *dst, wcodec_error *err)
{
    struct run *r = opaque;
    FUZZ_REQUIRE(offset <= r->size && size != 0 && size <= r->size - offset);
    if (fuzz_fails(&r->reads)) {
        snprintf(err->text, sizeof err->text, "the line is cut");
        return -1;
    }
    const size_t some = size > 1 && r->argument & 1 ? size - size / 3 : size;
    memcpy(dst, r->data + offset, some);
    return (int64_t)some;
}

static int write_out(void *opaque, const void *data, size_t size)
{
    struct run *r = opaque;
    return fuzz_fails(&r->writes) ? 28 : fuzz_append(&r->out, data, size); /* ENOSPC */
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    struct run *r = opaque;
    FUZZ_REQUIRE(total == 0 || done <= total);
    return fuzz_fails(&r->progress);
}

static wcodec_progress watch(struct run *r)
{
    return (wcodec_progress){stop, r, {NULL, NULL}};
}

static wcodec_status restore(struct run *r, wcodec_error *err)
{
    wcodec_decode_options options;
    wcodec_times times;
    wcodec_decode_options_init(&options);
    options.progress = watch(r);
    options.times = &times;
    const wcodec_status status = wcodec_reader_restore(r->reader, 0, write_out, r, &options, err);
    if (status == WCODEC_OK && !r->changed)
        FUZZ_REQUIRE(r->out.size == r->original->size &&
                     memcmp(r->out.data, r->original->data, r->out.size) == 0);
    return status;
}

static wcodec_status test(struct run *r, wcodec_error *err)
{
    wcodec_decode_options options;
    wcodec_decode_options_init(&options);
    options.progress = watch(r);
    return wcodec_reader_test(r->reader, 0, r->argument & 2, &options, err);
}

/* Each tensor whole, then some rows of it. */
static wcodec_status decode(struct run *r, wcodec_error *err)
{
    wcodec_decode_options options;
    wcodec_tensor_info info;
    wcodec_status status = WCODEC_OK;
    wcodec_decode_options_init(&options);
    options.progress = watch(r);
    options.skip_checks = r->argument >> 2 & 1;
    for (uint64_t i = 0; status == WCODEC_OK && i < wcodec_reader_tensor_count(r->reader); i++) {
        FUZZ_REQUIRE(wcodec_reader_tensor(r->reader, i, &info, NULL) == WCODEC_OK);
        if (info.size > ORIGINAL)
            continue;
        uint8_t *out = fuzz_guarded((size_t)info.size);
        status = wcodec_reader_decode(r->reader, i, out, (size_t)info.size, &options, err);
        if (status == WCODEC_OK && !r->changed)
            FUZZ_REQUIRE(memcmp(out, r->original->data + info.file_offset, (size_t)info.size) == 0);
        if (status == WCODEC_OK && info.rank != 0 && info.shape[0] != 0)
            status = wcodec_reader_decode_rows(r->reader, i, r->argument % info.shape[0], 1, out,
                                               (size_t)info.size, &options, err);
        fuzz_guarded_free(out, (size_t)info.size);
    }
    return status == WCODEC_ERROR_USAGE ? WCODEC_OK : status; /* rows of no whole bytes */
}

/* All tensors to host memory: at once, by a call of their own, or to one that is cancelled. */
static wcodec_status load(struct run *r, wcodec_error *err)
{
    wcodec_load_options options;
    wcodec_loading *loading = NULL;
    uint64_t size = 0, done, total;
    const size_t count = (size_t)wcodec_reader_tensor_count(r->reader);
    wcodec_load_item *items = calloc(count + 1, sizeof *items);
    FUZZ_REQUIRE(items != NULL);
    wcodec_status status = wcodec_load_layout(r->reader, 1u << r->argument % 9, items, &size, err);
    if (status != WCODEC_OK || size > 4 * ORIGINAL) {
        free(items);
        return status;
    }
    uint8_t *memory = fuzz_guarded((size_t)size);
    for (size_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)memory;
    wcodec_load_options_init(&options);
    options.progress = watch(r);
    options.streams = 1 + r->argument % 3u;
    options.host_memory = r->argument & 8 ? 1 << 20 : 0;
    if (r->argument < 128)
        status = wcodec_load(r->reader, items, count, &options, NULL, err);
    else
        status = wcodec_load_start(r->reader, items, count, &options, &loading, err);
    if (loading != NULL) {
        wcodec_loading_progress(loading, &done, &total);
        FUZZ_REQUIRE(done <= total);
        if (r->argument & 64)
            wcodec_loading_cancel(loading);
        status = wcodec_loading_wait(loading, NULL, err);
        FUZZ_REQUIRE(wcodec_loading_ended(loading));
        wcodec_loading_destroy(loading);
    }
    fuzz_guarded_free(memory, (size_t)size);
    free(items);
    return status;
}

/* Resident on the CPU, described, gathered and multiplied by. */
static wcodec_status keep(struct run *r, wcodec_error *err)
{
    wcodec_resident_options options;
    wcodec_resident *resident = NULL;
    wcodec_resident_tensor info;
    wcodec_linear linear;
    uint64_t found;
    const int64_t row = 0;
    static float x[2 * 256], y[2 * 256];
    wcodec_resident_options_init(&options);
    options.progress = watch(r);
    options.form = (wcodec_resident_form)(r->argument % 4);
    wcodec_status status = wcodec_resident_create(r->reader, NULL, 0, &options, &resident, err);
    for (uint64_t i = 0; resident != NULL && i < wcodec_resident_count(resident); i++) {
        FUZZ_REQUIRE(wcodec_resident_info(resident, i, &info, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(wcodec_resident_find(resident, info.name, &found, NULL) == WCODEC_OK &&
                     found == i && info.held <= wcodec_resident_size(resident));
        if (info.size > ORIGINAL || info.rank != 2 || info.shape[0] > 256 || info.shape[1] > 256)
            continue;
        uint8_t *out = fuzz_guarded((size_t)info.size);
        (void)wcodec_resident_gather(resident, i, &row, 1, out, (size_t)info.size, NULL);
        fuzz_guarded_free(out, (size_t)info.size);
        wcodec_linear_init(&linear);
        linear.rows = 2;
        linear.x = x;
        linear.y = y;
        linear.x_dtype = linear.y_dtype = WCODEC_DTYPE_F32;
        (void)wcodec_resident_linear(resident, i, &linear, NULL);
    }
    wcodec_resident_destroy(resident);
    return status;
}

static wcodec_status copy(struct run *r, wcodec_error *err)
{
    wcodec_encode_options options;
    const uint64_t some[2] = {0, 1};
    wcodec_encode_options_init(&options);
    options.progress = watch(r);
    options.index_first = r->argument >> 2 & 1;
    const bool whole = r->argument & 8 || wcodec_reader_tensor_count(r->reader) < 2;
    return wcodec_copy(r->reader, whole ? NULL : some, whole ? 0 : 2, write_out, r, &options, NULL,
                       err);
}

static wcodec_status recompress(struct run *r, wcodec_error *err)
{
    static const char *const all[] = {"*", NULL};
    wcodec_encode_options options;
    set_options(&options, r->argument % FILES);
    options.exclude = options.lossy != WCODEC_LOSSY_NONE ? all : NULL;
    options.progress = watch(r);
    return wcodec_recompress(r->reader, 0, write_out, r, &options, NULL, err);
}

/* A part of the file, and all parts of it put together. */
static wcodec_status join(struct run *r, wcodec_error *err)
{
    wcodec_encode_options options;
    wcodec_reader *part = NULL;
    struct fuzz_bytes coded = {NULL, 0};
    set_options(&options, 0);
    options.part_end = ORIGINAL * 2;
    wcodec_status status =
        wcodec_recompress(r->reader, 0, fuzz_append, &coded, &options, NULL, err);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_memory(r->context, coded.data, coded.size, &part, err);
    options.progress = watch(r);
    options.part_end = 0;
    if (status == WCODEC_OK)
        status = wcodec_join(r->context, (const wcodec_reader *const *)&part, 1, -1, r->reader,
                             write_out, r, &options, NULL, err);
    wcodec_reader_close(part);
    free(coded.data);
    return status;
}

static wcodec_status salvage(struct run *r, wcodec_error *err)
{
    wcodec_reader *reader = NULL;
    const wcodec_status status =
        wcodec_reader_salvage_memory(r->context, r->data, r->size, &reader, err);
    wcodec_reader_close(reader);
    return status;
}

enum { WEIGHTS = 6000 };

static wcodec_save_item item_of(const char *name, const uint8_t *weights)
{
    static const uint64_t shape = WEIGHTS;
    return (wcodec_save_item){.name = name,
                              .dtype = WCODEC_DTYPE_U8,
                              .rank = 1,
                              .shape = &shape,
                              .source = (uint64_t)(uintptr_t)weights,
                              .size = WEIGHTS};
}

/* Tensors of the original's bytes, at once or by a call of their own. */
static wcodec_status save(struct run *r, wcodec_error *err)
{
    wcodec_save_options options;
    wcodec_encode_options encode;
    wcodec_saving *saving = NULL;
    uint64_t done, total;
    const wcodec_save_item items[2] = {item_of("a", r->original->data),
                                       item_of("b", r->original->data + WEIGHTS)};
    set_options(&encode, 0);
    encode.progress = watch(r);
    wcodec_save_options_init(&options);
    options.write = write_out;
    options.opaque = r;
    options.encode = &encode;
    if (r->argument < 128)
        return wcodec_save(r->context, items, 2, &options, NULL, err);
    wcodec_status status = wcodec_save_start(r->context, items, 2, &options, &saving, err);
    if (saving == NULL)
        return status;
    wcodec_saving_progress(saving, &done, &total);
    FUZZ_REQUIRE(done <= total);
    if (r->argument & 64)
        wcodec_saving_cancel(saving);
    status = wcodec_saving_wait(saving, NULL, err);
    FUZZ_REQUIRE(wcodec_saving_ended(saving));
    wcodec_saving_destroy(saving);
    return status;
}

/* A message between two states of weights: what was changed by it is right, or was not changed. */
static wcodec_status exchange(struct run *r, wcodec_error *err)
{
    static uint8_t before[WEIGHTS], weights[WEIGHTS];
    const uint8_t *after = r->original->data + WEIGHTS;
    const wcodec_save_item old = item_of("w", before), new = item_of("w", after),
                           own = item_of("w", weights);
    wcodec_delta_apply_options options;
    void *message = NULL;
    size_t size;
    uint8_t state = WCODEC_DELTA_STATE_BROKEN;
    for (size_t i = 0; i < WEIGHTS; i++)
        before[i] = (uint8_t)(after[i] + (i % (r->argument + 1u) == 0));
    memcpy(weights, before, WEIGHTS);
    wcodec_status status =
        wcodec_delta_encode(r->context, &old, 1, &new, 1, NULL, &message, &size, NULL, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_delta_apply_options_init(&options);
    options.verify = (wcodec_delta_verify)(r->argument % 3);
    options.progress = watch(r);
    options.states = &state;
    status = wcodec_delta_apply(r->context, message, size, &own, 1, &options, NULL, err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (state == WCODEC_DELTA_STATE_AFTER));
    if (state != WCODEC_DELTA_STATE_BROKEN)
        FUZZ_REQUIRE(memcmp(weights, status == WCODEC_OK ? after : before, WEIGHTS) == 0);
    wcodec_delta_free(r->context, message);
    return status;
}

static wcodec_status (*const operations[])(struct run *r, wcodec_error *err) = {
    restore, test, decode, load, keep, copy, recompress, join, salvage, save, exchange};

static wcodec_status run(struct run *r, const uint8_t *head, wcodec_error *err)
{
    wcodec_status status;
    const wcodec_io io = {.read_at = read_at,
                          .opaque = r,
                          .size = r->size,
                          .name = "fuzz",
                          .request_bytes = head[6] & 2 ? 64 << 10 : 0,
                          .requests = 1 + (head[6] >> 2) % 4u};
    r->context = fuzz_failing_context();
    fuzz_fail_allocation(wcodec_load_u16(head + 3));
    fuzz_fault_init(&r->reads, head[5], head[6] & 1);
    fuzz_fault_init(&r->progress, head[7], true);
    fuzz_fault_init(&r->writes, head[8], true);
    status = wcodec_reader_open_io(r->context, &io, 1, &r->reader, err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (r->reader != NULL));
    if (status == WCODEC_OK)
        status = operations[head[1] % (sizeof operations / sizeof *operations)](r, err);
    wcodec_reader_close(r->reader);
    fuzz_failing_destroy(r->context);
    free(r->out.data);
    return status;
}

static const uint8_t *choices;

static void try_file(const uint8_t *data, size_t size)
{
    struct run r = {.data = data, .size = size, .argument = choices[2]};
    wcodec_error err = {0};
    const struct fuzz_bytes *good = file_of(choices[0] % FILES, &r.original);
    r.changed = size != good->size || memcmp(data, good->data, size) != 0;
    const wcodec_status status = run(&r, choices, &err);
    const bool fails = wcodec_load_u16(choices + 3) != 0 || choices[5] != 0 || choices[7] != 0 ||
                       choices[8] != 0 || choices[2] & 64;
    FUZZ_REQUIRE(status == WCODEC_OK || (err.status == status && err.text[0] != 0));
    FUZZ_REQUIRE(status != WCODEC_ERROR_BACKEND && status != WCODEC_ERROR_DEVICE &&
                 status != WCODEC_ERROR_BUSY && status != WCODEC_ERROR_MISMATCH);
    if (!r.changed && !fails && status != WCODEC_OK)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_REQUIRE(r.changed || fails || status == WCODEC_OK);
    fuzz_deep += status == WCODEC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_bytes *original;
    if (size < HEAD)
        return 0;
    const struct fuzz_bytes *good = file_of(data[0] % FILES, &original);
    uint8_t *file = fuzz_copy(good->data, good->size);
    for (size_t i = HEAD; i + 3 <= size && i < HEAD + 3 * CHANGES; i += 3)
        file[wcodec_load_u16(data + i) * good->size >> 16] ^= data[i + 2];
    choices = data;
    if (size < HEAD + 3)
        try_file(file, good->size);
    else
        fuzz_container(try_file, file, good->size);
    free(file);
    return 0;
}
