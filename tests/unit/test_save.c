/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in host memory and in devices' memory to files: the bytes that compressing the
 * safetensors file of them gives; what bad items get; and what is left when a save fails. */
#include "support_files.h"
#include "support_load.h"
#include "support_plugins.h"
#include <wcodec/save.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tensor {
    const char *name;
    wcodec_dtype dtype;
    unsigned rank;
    uint64_t shape[3];
    uint64_t size;
    unsigned seed; /* tensors of one have the same bytes */
} tensors[] = {
    {"w", WCODEC_DTYPE_BF16, 2, {700, 1100}, 1540000, 1},
    {"nothing", WCODEC_DTYPE_F32, 2, {0, 7}, 0, 2},
    {"tied", WCODEC_DTYPE_BF16, 2, {700, 1100}, 1540000, 1},
    {"scalar", WCODEC_DTYPE_F64, 0, {0}, 8, 3},
    {"bytes", WCODEC_DTYPE_U8, 1, {9}, 9, 4},
    {"half", WCODEC_DTYPE_F16, 1, {40001}, 80002, 5},
    {"a \"name\" \xC3\xA4", WCODEC_DTYPE_F32, 3, {3, 50, 70}, 42000, 6},
    {"packed", WCODEC_DTYPE_F4, 1, {6}, 3, 7},
    {"int8", WCODEC_DTYPE_I8, 2, {900, 2000}, 1800000, 8},
    {"", WCODEC_DTYPE_I64, 1, {0}, 0, 9},
};
enum { TENSORS = sizeof tensors / sizeof *tensors, GAP = 256 };

static const char *const metadata[] = {"format", "pt", "k\"", "\xC3\xA4", NULL};

/* All tensors in one block of memory, at places that the items have as offsets. */
struct block {
    uint8_t *data;
    uint64_t size;
    wcodec_save_item items[TENSORS];
};

static void make_block(struct block *b, unsigned gap)
{
    *b = (struct block){.size = 64};
    for (unsigned i = 0; i < TENSORS; i++) {
        const struct tensor *t = &tensors[i];
        b->items[i] = (wcodec_save_item){.name = t->name,
                                         .dtype = t->dtype,
                                         .rank = t->rank,
                                         .shape = t->shape,
                                         .offset = b->size,
                                         .size = t->size};
        b->size = (b->size + t->size + gap - 1) / gap * gap;
    }
    b->data = calloc(1, b->size);
    assert_non_null(b->data);
    for (unsigned i = 0; i < TENSORS; i++) {
        uint64_t seed = tensors[i].seed;
        for (uint64_t k = 0; k < tensors[i].size; k++)
            b->data[b->items[i].offset + k] = (uint8_t)(support_random(&seed) & 0x3F);
        b->items[i].source = (uint64_t)(uintptr_t)b->data;
    }
}

static void sink_options(wcodec_save_options *options, struct support_sink *sink)
{
    support_sink_init(sink);
    wcodec_save_options_init(options);
    options->write = support_sink_write;
    options->opaque = sink;
    options->metadata = metadata;
}

/* What the container restores to, compressed by the same options. */
static void expect_compressed(wcodec_context *context, const struct support_sink *saved,
                              const wcodec_encode_options *options)
{
    struct support_sink original, again;
    wcodec_reader *reader;
    wcodec_error err = {0};
    support_sink_init(&original);
    support_sink_init(&again);
    if (wcodec_reader_open_memory(context, saved->data, saved->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    if (wcodec_reader_restore(reader, 0, support_sink_write, &original, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader_close(reader);
    if (wcodec_compress_memory(context, original.data, original.size, support_sink_write, &again,
                               options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(again.size, saved->size);
    assert_memory_equal(again.data, saved->data, saved->size);
    support_sink_free(&original);
    support_sink_free(&again);
}

static void expect_tensors(wcodec_context *context, const struct block *b,
                           const struct support_sink *saved)
{
    wcodec_reader *reader;
    wcodec_tensor_info info;
    uint64_t number;
    wcodec_error err = {0};
    if (wcodec_reader_open_memory(context, saved->data, saved->size, &reader, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_reader_tensor_count(reader), TENSORS);
    for (unsigned i = 0; i < TENSORS; i++) {
        uint8_t *got = malloc(tensors[i].size + 1);
        assert_int_equal(wcodec_reader_find(reader, tensors[i].name, &number, &err), WCODEC_OK);
        assert_int_equal(number, i);
        assert_int_equal(wcodec_reader_tensor(reader, i, &info, &err), WCODEC_OK);
        assert_int_equal(info.dtype, tensors[i].dtype);
        assert_int_equal(info.rank, tensors[i].rank);
        assert_int_equal(info.size, tensors[i].size);
        if (wcodec_reader_decode(reader, i, got, info.size, NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(got, b->data + b->items[i].offset, tensors[i].size);
        free(got);
    }
    wcodec_reader_close(reader);
}

static void test_host(void **state)
{
    (void)state;
    static const unsigned gaps[] = {1, GAP};
    struct block b;
    for (unsigned g = 0; g < 2; g++) {
        make_block(&b, gaps[g]);
        for (int level = g == 0 ? 1 : 5; level <= (g == 0 ? 9 : 5); level += 4) {
            wcodec_context *context = support_context(1 + (unsigned)level / 4, NULL);
            wcodec_encode_options encode;
            wcodec_save_options options;
            wcodec_encode_report report;
            struct support_sink sink;
            wcodec_error err = {0};
            sink_options(&options, &sink);
            wcodec_encode_options_init(&encode);
            encode.level = level;
            options.encode = &encode;
            if (wcodec_save(context, b.items, TENSORS, &options, &report, &err) != WCODEC_OK)
                fail_msg("%s", err.text);
            assert_int_equal(report.tensors, TENSORS);
            assert_int_equal(report.aliases, 1);
            assert_int_equal(report.coded_size, sink.size);
            assert_true(report.safetensors);
            expect_tensors(context, &b, &sink);
            expect_compressed(context, &sink, &encode);
            support_sink_free(&sink);
            wcodec_context_destroy(context);
        }
        free(b.data);
    }
}

static void test_no_tensors(void **state)
{
    (void)state;
    wcodec_context *context = support_context(2, NULL);
    wcodec_save_options options;
    struct support_sink sink;
    wcodec_encode_report report;
    wcodec_error err = {0};
    sink_options(&options, &sink);
    if (wcodec_save(context, NULL, 0, &options, &report, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.tensors, 0);
    expect_compressed(context, &sink, NULL);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

/* The tensors in memory of the context's device, as `file` has them. */
static wcodec_buffer *to_device(wcodec_context *context, const struct support_sink *file,
                                const char *backend, struct block *b)
{
    wcodec_reader *reader;
    wcodec_load_item items[TENSORS] = {{0}};
    wcodec_load_options options;
    wcodec_buffer *buffer;
    wcodec_error err = {0};
    if (wcodec_buffer_create(context, b->size, &buffer, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < TENSORS; i++) {
        b->items[i].source = wcodec_buffer_native(buffer);
        items[i] = (wcodec_load_item){.tensor = i,
                                      .destination = b->items[i].source,
                                      .offset = b->items[i].offset,
                                      .size = b->items[i].size};
    }
    assert_int_equal(wcodec_reader_open_memory(context, file->data, file->size, &reader, &err),
                     WCODEC_OK);
    wcodec_load_options_init(&options);
    options.memory = backend;
    if (wcodec_load(reader, items, TENSORS, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader_close(reader);
    return buffer;
}

static void save_to(wcodec_context *context, const struct block *b, const char *memory,
                    uint64_t host_memory, struct support_sink *sink)
{
    wcodec_save_options options;
    wcodec_error err = {0};
    sink_options(&options, sink);
    options.memory = memory;
    options.host_memory = host_memory;
    if (wcodec_save(context, b->items, TENSORS, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static void expect_same(const struct support_sink *a, const struct support_sink *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* From each device that this machine has, with much staging memory and with little. */
static void test_devices(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu", "fake", "opencl", "cuda"};
    unsigned tried = 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct block b;
        struct support_sink host, device;
        wcodec_context *context;
        const bool fake = strcmp(names[n], "fake") == 0;
        struct support_allocator allocator;
        setenv("WCODEC_FAKE", "", 1);
        if (!support_load_plugin(n < 2 ? NULL : names[n]) && n >= 2)
            continue;
        wcodec_options options;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_options_init(&options);
        options.backend = names[n];
        options.threads = fake ? 3 : 2;
        options.allocator = allocator.allocator;
        if (wcodec_context_create(&options, &context, NULL) != WCODEC_OK) {
            print_message("%s: not tried\n", names[n]);
            assert_true(n >= 2);
            continue;
        }
        make_block(&b, GAP);
        save_to(context, &b, NULL, 0, &host);
        wcodec_buffer *buffer = to_device(context, &host, names[n], &b);
        for (uint64_t staging = 0; staging <= 1 << 20; staging += 1 << 20) {
            save_to(context, &b, names[n], staging, &device);
            expect_same(&host, &device);
            support_sink_free(&device);
        }
        print_message("%s: the same %zu bytes\n", names[n], host.size);
        tried++;
        wcodec_buffer_destroy(buffer);
        wcodec_context_destroy(context);
        support_sink_free(&host);
        free(b.data);
    }
    assert_true(tried >= 2);
    support_load_plugin(NULL);
}

/* A tensor's coded bytes depend on nothing but itself: of a file in which one has changed all but
 * these and the index is as before. */
static void test_one_changed(void **state)
{
    (void)state;
    enum { CHANGED = 5, INDEX = 2048 };
    struct block b;
    struct support_sink sinks[2];
    wcodec_reader *readers[2];
    wcodec_error err = {0};
    wcodec_context *context = support_context(2, NULL);
    make_block(&b, 1);
    for (unsigned i = 0; i < 2; i++) {
        save_to(context, &b, NULL, 0, &sinks[i]);
        if (wcodec_reader_open_memory(context, sinks[i].data, sinks[i].size, &readers[i], &err) !=
            WCODEC_OK)
            fail_msg("%s", err.text);
        for (uint64_t k = 0; k < tensors[CHANGED].size; k += 97)
            b.data[b.items[CHANGED].offset + k] ^= 1;
    }
    uint64_t differ = sinks[1].size;
    wcodec_tensor_info info[2];
    for (unsigned t = 0; t < TENSORS; t++) {
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(wcodec_reader_tensor(readers[i], t, &info[i], &err), WCODEC_OK);
        const bool same = info[0].coded_size == info[1].coded_size &&
                          info[0].payload_hash == info[1].payload_hash;
        assert_int_equal(same, t != CHANGED);
        if (same) /* of one that is tied to another: 0 */
            differ -= info[1].coded_size;
        else if (t == CHANGED)
            assert_in_range(info[1].coded_size, INDEX, tensors[CHANGED].size);
    }
    assert_int_equal(wcodec_reader_tensor(readers[1], CHANGED, &info[1], &err), WCODEC_OK);
    print_message("%llu of %zu bytes differ\n", (unsigned long long)differ, sinks[1].size);
    assert_in_range(differ, info[1].coded_size, info[1].coded_size + INDEX);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_reader_close(readers[i]);
        support_sink_free(&sinks[i]);
    }
    wcodec_context_destroy(context);
    free(b.data);
}

/* A device that fails at call n of saving: an error that says so and names a tensor, and nothing
 * left of it. */
static void test_device_fails(void **state)
{
    (void)state;
    unsigned failed = 0;
    struct block b;
    struct support_sink host;
    make_block(&b, GAP);
    wcodec_context *plain = support_context(2, NULL);
    save_to(plain, &b, NULL, 0, &host);
    for (unsigned n = 1; n < 4000; n++) {
        char mode[32];
        struct support_allocator counted;
        struct support_lines lines = {0};
        wcodec_save_options options;
        wcodec_error err = {0};
        struct support_sink sink;
        wcodec_buffer *buffer = NULL;
        support_allocator_init(&counted, 1L << 40);
        snprintf(mode, sizeof mode, "lost-%u", n);
        setenv("WCODEC_FAKE", mode, 1);
        wcodec_context *context = support_load_context("fake", 2, &counted.allocator, &lines);
        sink_options(&options, &sink);
        options.memory = "fake";
        wcodec_status status = wcodec_buffer_create(context, b.size, &buffer, &err);
        for (unsigned i = 0; i < TENSORS && status == WCODEC_OK; i++)
            b.items[i].source = wcodec_buffer_native(buffer);
        if (status == WCODEC_OK)
            status = wcodec_save(context, b.items, TENSORS, &options, NULL, &err);
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_DEVICE);
            assert_non_null(strstr(err.text, "fake:0"));
            failed++;
        }
        wcodec_buffer_destroy(buffer);
        wcodec_context_destroy(context);
        assert_int_equal(counted.balance, 0);
        support_sink_free(&sink);
        if (status == WCODEC_OK)
            break;
    }
    setenv("WCODEC_FAKE", "", 1);
    print_message("%u calls failed\n", failed);
    assert_true(failed > 5);
    wcodec_context_destroy(plain);
    support_sink_free(&host);
    free(b.data);
}

/* A path gets the whole file or keeps the old one. */
static void test_path(void **state)
{
    (void)state;
    struct block b;
    struct support_sink sink;
    wcodec_context *context = support_context(3, NULL);
    wcodec_save_options options;
    wcodec_error err = {0};
    struct stat st;
    make_block(&b, GAP);
    save_to(context, &b, NULL, 0, &sink);
    wcodec_save_options_init(&options);
    options.metadata = metadata;
    options.path = "saved.wcodec";
    support_put_file(options.path, "old", 3);
    const mode_t mask = umask(027);
    for (int sync = 0; sync < 2; sync++) {
        options.no_sync = sync;
        if (wcodec_save(context, b.items, TENSORS, &options, NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(stat(options.path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(st.st_size, sink.size);
    }
    umask(mask);
    int fd = open(options.path, O_RDWR);
    uint8_t *got = malloc(sink.size);
    assert_int_equal(pread(fd, got, sink.size, 0), sink.size);
    assert_memory_equal(got, sink.data, sink.size);
    assert_int_equal(ftruncate(fd, 0), 0);
    options.path = NULL;
    options.fd = fd;
    if (wcodec_save(context, b.items, TENSORS, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(pread(fd, got, sink.size, 0), sink.size);
    assert_memory_equal(got, sink.data, sink.size);
    close(fd);
    fd = open("/dev/full", O_WRONLY);
    options.fd = fd;
    if (fd >= 0) {
        assert_int_equal(wcodec_save(context, b.items, TENSORS, &options, NULL, &err),
                         WCODEC_ERROR_IO);
        close(fd);
    }
    options.fd = -1;
    options.path = "no folder/saved.wcodec";
    assert_int_equal(wcodec_save(context, b.items, TENSORS, &options, NULL, &err), WCODEC_ERROR_IO);
    assert_int_equal(support_count_names(), 1);
    unlink("saved.wcodec");
    free(got);
    free(b.data);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

struct ending {
    _Atomic int calls;
    wcodec_status status;
    bool told; /* by a text */
    uint64_t tensors;
};

static void note_end(void *opaque, wcodec_status status, const wcodec_error *err,
                     const wcodec_encode_report *report)
{
    struct ending *e = opaque;
    e->status = status;
    e->tensors = report->tensors;
    e->told = err->text[0] != 0;
    e->calls++;
}

/* One that runs by itself: the caller's lists may go as soon as it has begun. */
static void test_started(void **state)
{
    (void)state;
    struct block b;
    struct support_sink wanted, sink;
    struct ending ending = {0};
    wcodec_context *context = support_context(2, NULL);
    wcodec_save_options options;
    wcodec_saving *saving;
    wcodec_encode_report report;
    uint64_t done, total;
    wcodec_error err = {0};
    make_block(&b, GAP);
    save_to(context, &b, NULL, 0, &wanted);
    sink_options(&options, &sink);
    options.done = note_end;
    options.done_opaque = &ending;
    struct block items = b;
    wcodec_encode_options encode;
    wcodec_times times;
    wcodec_encode_options_init(&encode);
    encode.times = &times;
    options.encode = &encode;
    /* Options are looked at before items, of which this one is wrong too. */
    const wcodec_save_item nothing = {.name = NULL};
    assert_int_equal(wcodec_save_start(context, &nothing, 1, &options, &saving, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "times"));
    options.encode = NULL;
    if (wcodec_save_start(context, items.items, TENSORS, &options, &saving, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    memset(&items, 0, sizeof items);
    for (unsigned i = 0; i < 2; i++) {
        if (wcodec_saving_wait(saving, &report, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(report.tensors, TENSORS);
    }
    assert_true(wcodec_saving_ended(saving));
    wcodec_saving_progress(saving, &done, &total);
    assert_int_equal(done, total);
    assert_int_equal(total, report.size);
    wcodec_saving_destroy(saving);
    assert_int_equal(ending.calls, 1);
    assert_int_equal(ending.status, WCODEC_OK);
    assert_false(ending.told);
    assert_int_equal(ending.tensors, TENSORS);
    expect_same(&wanted, &sink);
    support_sink_free(&sink);
    support_sink_free(&wanted);
    free(b.data);
    wcodec_context_destroy(context);
}

static int wait_for_cancel(void *opaque, const void *data, size_t size)
{
    (void)data;
    (void)size;
    while (!*(_Atomic bool *)opaque)
        usleep(1000);
    return 0;
}

static void test_cancelled(void **state)
{
    (void)state;
    struct block b;
    struct ending ending = {0};
    _Atomic bool go = false;
    wcodec_context *context = support_context(2, NULL);
    wcodec_save_options options;
    wcodec_saving *saving;
    wcodec_error err = {0};
    make_block(&b, GAP);
    wcodec_save_options_init(&options);
    options.write = wait_for_cancel;
    options.opaque = &go;
    options.done = note_end;
    options.done_opaque = &ending;
    assert_int_equal(wcodec_save_start(context, b.items, TENSORS, &options, &saving, &err),
                     WCODEC_OK);
    assert_false(wcodec_saving_ended(saving));
    wcodec_saving_cancel(saving);
    go = true;
    assert_int_equal(wcodec_saving_wait(saving, NULL, &err), WCODEC_ERROR_CANCELLED);
    wcodec_saving_destroy(saving);
    assert_int_equal(ending.status, WCODEC_ERROR_CANCELLED);
    assert_true(ending.told);
    options.write = NULL;
    options.path = "cancelled.wcodec";
    assert_int_equal(wcodec_save_start(context, b.items, TENSORS, &options, &saving, &err),
                     WCODEC_OK);
    wcodec_saving_cancel(saving);
    wcodec_saving_destroy(saving);
    unlink("cancelled.wcodec"); /* it may have been too late */
    assert_int_equal(support_count_names(), 0);
    wcodec_saving_destroy(NULL);
    free(b.data);
    wcodec_context_destroy(context);
}

static int stop_at_once(void *opaque, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    ++*(unsigned *)opaque;
    return 1;
}

static void test_progress(void **state)
{
    (void)state;
    struct block b;
    unsigned calls = 0;
    wcodec_context *context = support_context(2, NULL);
    wcodec_encode_options encode;
    wcodec_save_options options;
    struct support_sink sink;
    wcodec_error err = {0};
    make_block(&b, GAP);
    sink_options(&options, &sink);
    wcodec_encode_options_init(&encode);
    encode.progress = (wcodec_progress){.fn = stop_at_once, .opaque = &calls};
    options.encode = &encode;
    assert_int_equal(wcodec_save(context, b.items, TENSORS, &options, NULL, &err),
                     WCODEC_ERROR_CANCELLED);
    assert_true(calls > 0);
    support_sink_free(&sink);
    free(b.data);
    wcodec_context_destroy(context);
}

/* What is wrong is told before anything is written, and by its name. */
static void test_bad_items(void **state)
{
    (void)state;
    static const uint64_t huge[] = {1ULL << 40, 1ULL << 40}, odd[] = {3};
    struct block b;
    make_block(&b, GAP);
    const uint64_t source = b.items[0].source;
    const struct {
        wcodec_save_item item;
        const char *says;
    } cases[] = {
        {{.dtype = WCODEC_DTYPE_F32, .source = source, .size = 4}, "name is no UTF-8"},
        {{.name = "\xFF", .dtype = WCODEC_DTYPE_F32, .source = source, .size = 4},
         "name is no UTF-8"},
        {{.name = "__metadata__", .dtype = WCODEC_DTYPE_F32, .source = source, .size = 4},
         "__metadata__"},
        {{.name = "w", .dtype = WCODEC_DTYPE_F32, .source = source, .size = 4},
         "\"w\" was declared before"},
        {{.name = "x", .source = source, .size = 4}, "\"x\": dtype 0 is none"},
        {{.name = "x", .dtype = WCODEC_DTYPE_F32, .source = source, .size = 5},
         "\"x\": 5 bytes, expected 4"},
        {{.name = "x", .dtype = WCODEC_DTYPE_F32, .size = 4}, "\"x\": the source is NULL"},
        {{.name = "x", .dtype = WCODEC_DTYPE_F32, .rank = 2, .source = source, .size = 4},
         "\"x\": 2 dimensions"},
        {{.name = "x",
          .dtype = WCODEC_DTYPE_F32,
          .rank = 2,
          .shape = huge,
          .source = source,
          .size = 4},
         "\"x\": the shape makes"},
        {{.name = "x",
          .dtype = WCODEC_DTYPE_F4,
          .rank = 1,
          .shape = odd,
          .source = source,
          .size = 1},
         "\"x\": the shape makes"},
        {{.name = "x",
          .dtype = WCODEC_DTYPE_F32,
          .source = source,
          .size = 4,
          .offset = UINT64_MAX - 2},
         "\"x\": the source's offset"},
        {{.name = "x", .dtype = WCODEC_DTYPE_F32, .source = source, .size = 4, .reserved = {1}},
         "save item"},
    };
    wcodec_context *context = support_context(1, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wcodec_save_options options;
        wcodec_saving *saving;
        struct support_sink sink;
        wcodec_error err = {0};
        const wcodec_save_item both[] = {b.items[0], cases[i].item};
        sink_options(&options, &sink);
        assert_int_equal(wcodec_save(context, both, 2, &options, NULL, &err), WCODEC_ERROR_USAGE);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(wcodec_save_start(context, both, 2, &options, &saving, &err),
                         WCODEC_ERROR_USAGE);
        assert_int_equal(sink.calls, 0);
        support_sink_free(&sink);
    }
    free(b.data);
    wcodec_context_destroy(context);
}

static void test_bad_options(void **state)
{
    (void)state;
    static const char *const half[] = {"key", NULL}, *const twice[] = {"k", "v", "k", "v", NULL};
    struct block b;
    struct support_sink sink;
    wcodec_context *context = support_context(1, NULL);
    wcodec_save_options options;
    wcodec_encode_options encode;
    wcodec_error err = {0};
    make_block(&b, GAP);
    for (unsigned i = 0; i < 13; i++) {
        static const char *const says[] = {
            "nothing to save to", "more than one",   "more than one", "has no value",
            "is there already",   "in host memory",  "cuda",          "not for tensors",
            "not for tensors",    "not for tensors", "by `write`",    "level 10",
            "part_end",
        };
        sink_options(&options, &sink);
        wcodec_encode_options_init(&encode);
        options.encode = &encode;
        switch (i) {
        case 0:
            options.write = NULL;
            break;
        case 1:
            options.path = "x";
            break;
        case 2:
            options.fd = 1;
            break;
        case 3:
            options.metadata = half;
            break;
        case 4:
            options.metadata = twice;
            break;
        case 5:
            options.use_queue = 1;
            break;
        case 6:
            options.memory = "cuda";
            break;
        case 7:
            encode.raw = 1;
            break;
        case 8:
            encode.index_first = 1;
            break;
        case 9:
            encode.onnx_location = "x";
            break;
        case 10:
            options.write = NULL;
            options.path = "x";
            encode.write_at = (wcodec_write_at_fn)1;
            break;
        case 11:
            encode.level = 10;
            break;
        default:
            encode.part_end = 1000;
            break;
        }
        const wcodec_status status = wcodec_save(context, b.items, TENSORS, &options, NULL, &err);
        assert_int_equal(status, i == 6 ? WCODEC_ERROR_BACKEND : WCODEC_ERROR_USAGE);
        if (strstr(err.text, says[i]) == NULL)
            fail_msg("%u: %s", i, err.text);
        support_sink_free(&sink);
    }
    assert_int_equal(wcodec_save(context, NULL, 1, &options, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_save(context, b.items, 1, NULL, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(support_count_names(), 0);
    free(b.data);
    wcodec_context_destroy(context);
}

/* Memory that ends at every allocation, and a function that fails at every call. */
static void test_short(void **state)
{
    (void)state;
    struct block b;
    unsigned failed = 0;
    make_block(&b, GAP);
    setenv("WCODEC_FAKE", "", 1);
    for (long n = 0; n < 100000; n += 1 + n / 8) {
        struct support_allocator allocator;
        struct support_sink sink;
        wcodec_save_options options;
        wcodec_buffer *buffer = NULL;
        wcodec_error err = {0};
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = support_load_context("fake", 2, &allocator.allocator, NULL);
        wcodec_buffer_create(context, b.size, &buffer, &err);
        for (unsigned i = 0; i < TENSORS; i++)
            b.items[i].source = wcodec_buffer_native(buffer);
        sink_options(&options, &sink);
        options.memory = "fake";
        allocator.left = n;
        const wcodec_status status = wcodec_save(context, b.items, TENSORS, &options, NULL, &err);
        allocator.left = SUPPORT_NEVER;
        if (status != WCODEC_OK) {
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
            failed++;
        }
        wcodec_buffer_destroy(buffer);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        support_sink_free(&sink);
        if (status == WCODEC_OK)
            break;
    }
    assert_true(failed > 10);
    wcodec_context *context = support_context(2, NULL);
    for (unsigned i = 0; i < TENSORS; i++)
        b.items[i].source = (uint64_t)(uintptr_t)b.data;
    for (unsigned at = 0;; at++) {
        struct support_sink sink;
        wcodec_save_options options;
        wcodec_error err = {0};
        sink_options(&options, &sink);
        sink.fail_at = at;
        const wcodec_status status = wcodec_save(context, b.items, TENSORS, &options, NULL, &err);
        support_sink_free(&sink);
        if (status == WCODEC_OK)
            break;
        assert_int_equal(status, WCODEC_ERROR_IO);
        assert_non_null(strstr(err.text, strerror(ENOSPC)));
    }
    wcodec_context_destroy(context);
    free(b.data);
}

static int set_up(void **state)
{
    support_find_plugins(state);
    return support_enter_folder(state);
}

/* Of the build tree, for those who leave this folder. */
static void fix_builddir(void)
{
    const char *build = getenv("top_builddir");
    char *path = realpath(build != NULL ? build : ".", NULL);
    assert_non_null(path);
    setenv("top_builddir", path, 1);
    free(path);
}

int main(void)
{
    fix_builddir();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),      cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_devices),   cmocka_unit_test(test_device_fails),
        cmocka_unit_test(test_path),      cmocka_unit_test(test_started),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_progress),
        cmocka_unit_test(test_bad_items), cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_short),     cmocka_unit_test(test_one_changed),
    };
    return cmocka_run_group_tests(tests, set_up, support_leave_folder);
}
