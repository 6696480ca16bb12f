/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages between snapshots in devices' memory, one of them or both, and weights there that they
 * are applied to; and devices that fail at each call. */
#include "support_sync.h"

#include "backends/emulate/fibers.h"
#include <pthread.h>

static const struct support_shape shapes[] = {
    {WCODEC_DTYPE_BF16, 900000}, {WCODEC_DTYPE_BF16, 40 * 16384 + 3}, {WCODEC_DTYPE_F32, 0},
    {WCODEC_DTYPE_F64, 1},       {WCODEC_DTYPE_F16, 40001},           {WCODEC_DTYPE_I8, 200000},
    {WCODEC_DTYPE_F6_E3M2, 4},   {WCODEC_DTYPE_F32, 3000000}};
enum { COUNT = sizeof shapes / sizeof *shapes, UNEVEN = 1 };

/* A snapshot's bytes in a device's memory; `items` are those of it. */
struct placed {
    wcodec_buffer *buffer;
    wcodec_save_item items[COUNT];
};

static void save(wcodec_context *context, const struct support_snapshot *s,
                 struct support_sink *sink)
{
    wcodec_save_options options;
    wcodec_error err = {0};
    wcodec_save_options_init(&options);
    support_sink_init(sink);
    options.write = support_sink_write;
    options.opaque = sink;
    if (wcodec_save(context, s->items, s->count, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static void load(wcodec_context *context, const struct support_snapshot *s, const char *backend,
                 struct placed *p)
{
    struct support_sink file;
    wcodec_reader *reader;
    wcodec_load_item items[COUNT] = {{0}};
    wcodec_load_options options;
    wcodec_error err = {0};
    save(context, s, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < COUNT; i++)
        items[i] = (wcodec_load_item){.tensor = i,
                                      .destination = p->items[i].source,
                                      .offset = p->items[i].offset,
                                      .size = p->items[i].size};
    wcodec_load_options_init(&options);
    options.memory = backend;
    if (wcodec_load(reader, items, COUNT, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader_close(reader);
    support_sink_free(&file);
}

static wcodec_status reserve(wcodec_context *context, const struct support_snapshot *s,
                             struct placed *p, wcodec_error *err)
{
    *p = (struct placed){.buffer = NULL};
    const wcodec_status status = wcodec_buffer_create(context, s->size, &p->buffer, err);
    memcpy(p->items, s->items, s->count * sizeof *p->items);
    for (unsigned i = 0; i < s->count && status == WCODEC_OK; i++)
        p->items[i].source = wcodec_buffer_native(p->buffer);
    return status;
}

static void put(wcodec_context *context, const struct support_snapshot *s, const char *backend,
                struct placed *p)
{
    wcodec_error err = {0};
    if (reserve(context, s, p, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    load(context, s, backend, p);
}

static void expect(const struct placed *p, const struct support_snapshot *s)
{
    wcodec_error err = {0};
    for (unsigned i = 0; i < COUNT; i++) {
        uint8_t *got = malloc(s->items[i].size + 1);
        assert_int_equal(
            wcodec_buffer_read(p->buffer, s->items[i].offset, got, s->items[i].size, &err),
            WCODEC_OK);
        assert_memory_equal(got, support_snapshot_tensor(s, i), s->items[i].size);
        free(got);
    }
}

static int go_on(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque;
    assert_true(done <= total);
    return 0;
}

/* Which side is on the device makes no difference to the message, nor what is done at once: with
 * progress snapshots are hashed before they are coded, with the least memory one tensor is coded
 * after the other. */
static void try_encoding(wcodec_context *context, const char *backend,
                         const struct support_snapshot *before, struct placed *old,
                         const struct support_snapshot *after, struct placed *new,
                         const void *wanted, size_t wanted_size)
{
    const bool is_fake = strcmp(backend, "fake") == 0; /* which codes, and is slow */
    for (unsigned which = 1; which < (is_fake ? 6 : 4); which++) {
        wcodec_delta_encode_options options;
        wcodec_encode_options encode;
        wcodec_error err = {0};
        void *message;
        size_t size;
        wcodec_delta_encode_options_init(&options);
        wcodec_encode_options_init(&encode);
        encode.progress.fn = go_on;
        options.encode = which == 4 ? &encode : NULL;
        options.before_memory = which != 2 ? backend : NULL;
        options.after_memory = which != 1 ? backend : NULL;
        options.host_memory = which == 3 ? 1 : 0;
        options.use_queue = which == 2 && is_fake;
        options.queue = 1; /* of the fake device, any number */
        if (wcodec_delta_encode(context, which != 2 ? old->items : before->items, COUNT,
                                which != 1 ? new->items : after->items, COUNT, &options, &message,
                                &size, NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(size, wanted_size);
        assert_memory_equal(message, wanted, size);
        wcodec_delta_free(context, message);
    }
}

/* The same of a message that is a file, too: hashes of files are taken beside coding. */
static void try_file(wcodec_context *context, const char *backend,
                     const struct support_snapshot *before, const struct placed *old,
                     const struct support_snapshot *after, const struct placed *new)
{
    void *messages[2];
    size_t sizes[2];
    for (unsigned on_device = 0; on_device < 2; on_device++) {
        wcodec_delta_encode_options options;
        wcodec_error err = {0};
        wcodec_delta_encode_options_init(&options);
        options.as_file = 1;
        options.before_memory = options.after_memory = on_device ? backend : NULL;
        if (wcodec_delta_encode(context, on_device ? old->items : before->items, COUNT,
                                on_device ? new->items : after->items, COUNT, &options,
                                &messages[on_device], &sizes[on_device], NULL, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(messages[0], messages[1], sizes[0]);
    wcodec_delta_free(context, messages[0]);
    wcodec_delta_free(context, messages[1]);
}

/* Of a tensor the last tile, of three elements, each of which gets less by one: codes of one word,
 * which take no bits, and a stream of no bytes. */
static void try_end(wcodec_context *context, const char *backend,
                    const struct support_snapshot *like, struct placed *old, struct placed *new)
{
    struct support_snapshot before, after;
    wcodec_delta_apply_options how;
    wcodec_error err = {0};
    size_t size;
    support_snapshot_copy(like, &before);
    uint8_t *end = support_snapshot_tensor(&before, UNEVEN) + before.items[UNEVEN].size - 3 * 2;
    end[0] = end[2] = end[4] = 9;
    support_snapshot_copy(&before, &after);
    end = support_snapshot_tensor(&after, UNEVEN) + after.items[UNEVEN].size - 3 * 2;
    end[0] = end[2] = end[4] = 8;
    void *message = support_message(context, &before, &after, &size);
    load(context, &before, backend, old);
    load(context, &after, backend, new);
    try_encoding(context, backend, &before, old, &after, new, message, size);
    wcodec_delta_apply_options_init(&how);
    how.memory = backend;
    if (wcodec_delta_apply(context, message, size, old->items, COUNT, &how, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    expect(old, &after);
    wcodec_delta_free(context, message);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static void test_devices(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu", "fake", "opencl", "cuda"};
    unsigned tried = 0;
    struct support_snapshot before, after;
    support_snapshot_make(&before, shapes, COUNT, support_seed());
    support_snapshot_copy(&before, &after);
    support_snapshot_change(&after, 60, 62);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        wcodec_context *context;
        wcodec_options options;
        wcodec_error err = {0};
        struct placed old, new;
        struct support_allocator allocator;
        size_t size;
        setenv("WCODEC_FAKE", "", 1);
        if (!support_load_plugin(n < 2 ? NULL : names[n]) && n >= 2)
            continue;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_options_init(&options);
        options.backend = names[n];
        options.threads = 3;
        options.allocator = allocator.allocator;
        if (wcodec_context_create(&options, &context, NULL) != WCODEC_OK) {
            print_message("%s: not tried\n", names[n]);
            assert_true(n >= 2);
            continue;
        }
        void *message = support_message(context, &before, &after, &size);
        put(context, &before, names[n], &old);
        put(context, &after, names[n], &new);
        try_encoding(context, names[n], &before, &old, &after, &new, message, size);
        if (n == 1)
            try_file(context, names[n], &before, &old, &after, &new);
        for (unsigned verify = 0; verify < 3; verify++) {
            wcodec_delta_apply_options how;
            uint8_t states[COUNT];
            wcodec_delta_apply_options_init(&how);
            how.verify = verify;
            how.memory = names[n];
            how.states = states;
            how.use_queue = verify == WCODEC_DELTA_VERIFY_BEFORE && strcmp(names[n], "fake") == 0;
            how.queue = 1;
            load(context, &before, names[n], &old);
            if (wcodec_delta_apply(context, message, size, old.items, COUNT, &how, NULL, &err) !=
                WCODEC_OK)
                fail_msg("%s", err.text);
            expect(&old, &after);
            /* Not twice. */
            if (verify != WCODEC_DELTA_VERIFY_AFTER) {
                assert_int_equal(
                    wcodec_delta_apply(context, message, size, old.items, COUNT, &how, NULL, &err),
                    WCODEC_ERROR_MISMATCH);
                expect(&old, &after);
                assert_int_equal(states[0], WCODEC_DELTA_STATE_BEFORE);
            }
        }
        try_end(context, names[n], &before, &old, &new);
        print_message("%s: a message of %zu bytes\n", names[n], size);
        tried++;
        wcodec_delta_free(context, message);
        wcodec_buffer_destroy(old.buffer);
        wcodec_buffer_destroy(new.buffer);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    assert_true(tried >= 2);
    support_load_plugin(NULL);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static void count_changes(void *opaque, wcodec_log_level level, const char *text)
{
    _Atomic unsigned *changes = opaque;
    (void)level;
    *changes += strstr(text, "is changed where it is by fake:0") != NULL;
}

/* A message that says another hash of the first tensor's result: whether the result is read, or its
 * hash follows from what is written, that is seen. */
static void try_forged(wcodec_context *context, const void *message, size_t size,
                       const struct support_snapshot *before, struct placed *weights)
{
    wcodec_reader *reader;
    const char *key, *value;
    char hashes[16 * COUNT + 1];
    wcodec_error err = {0};
    size_t forged_size;
    assert_int_equal(wcodec_reader_open_memory(context, message, size, &reader, &err), WCODEC_OK);
    assert_int_equal(wcodec_reader_metadata(reader, 0, 1, &key, &value, &err), WCODEC_OK);
    assert_int_equal(strlen(value), sizeof hashes - 1);
    memcpy(hashes, value, sizeof hashes);
    hashes[5] = hashes[5] == '0' ? '1' : '0';
    uint8_t *forged =
        support_message_forge(message, size, "wcodec.delta.after", hashes, &forged_size);
    wcodec_reader_close(reader);
    for (unsigned after = 0; after < 2; after++) {
        wcodec_delta_apply_options how;
        uint8_t states[COUNT];
        wcodec_delta_apply_options_init(&how);
        how.memory = "fake";
        how.verify = after ? WCODEC_DELTA_VERIFY_AFTER : WCODEC_DELTA_VERIFY_BEFORE;
        how.states = states;
        load(context, before, "fake", weights);
        assert_int_equal(wcodec_delta_apply(context, forged, forged_size, weights->items, COUNT,
                                            &how, NULL, &err),
                         WCODEC_ERROR_MISMATCH);
        assert_non_null(strstr(err.text, "layers.0.weight"));
        assert_int_equal(states[0], WCODEC_DELTA_STATE_BROKEN);
    }
    free(forged);
}

/* Tensors that a device changes itself: all of equal and sparse tiles that it can, and none where
 * it cannot. What comes of them is the same, and a tensor in other tiles goes by way of the host.
 */
static void test_changed_on_device(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "nodeltas"};
    struct support_snapshot before, after;
    size_t size;
    support_snapshot_make(&before, shapes, COUNT, 81);
    support_snapshot_copy(&before, &after);
    for (unsigned t = 0; t < COUNT; t++) {
        uint8_t *bytes = support_snapshot_tensor(&after, t);
        for (uint64_t i = 0; i < after.items[t].size; i += 997)
            bytes[i]++;
    }
    /* Most of its elements. */
    for (uint64_t i = 0; i < after.items[4].size; i++)
        support_snapshot_tensor(&after, 4)[i] += (uint8_t)(i % 7);
    wcodec_context *plain = support_context(2, NULL);
    void *message = support_message(plain, &before, &after, &size);
    for (unsigned m = 0; m < 2; m++) {
        _Atomic unsigned changes = 0;
        wcodec_options options;
        wcodec_context *context;
        wcodec_delta_apply_options how;
        wcodec_error err = {0};
        struct placed weights;
        setenv("WCODEC_FAKE", modes[m], 1);
        support_load_plugin(NULL);
        wcodec_options_init(&options);
        options.backend = "fake";
        options.threads = 3;
        options.log = count_changes;
        options.log_opaque = &changes;
        options.log_level = WCODEC_LOG_DEBUG;
        assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
        wcodec_delta_apply_options_init(&how);
        how.memory = "fake";
        put(context, &before, "fake", &weights);
        if (wcodec_delta_apply(context, message, size, weights.items, COUNT, &how, NULL, &err) !=
            WCODEC_OK)
            fail_msg("%s", err.text);
        expect(&weights, &after);
        /* Those of bf16 and f32: that of f16 is at an odd place, others are small or in other
         * tiles. */
        assert_int_equal(changes, m == 0 && wcodec_fibers_supported() ? 2 : 0);
        if (m == 0)
            try_forged(context, message, size, &before, &weights);
        wcodec_buffer_destroy(weights.buffer);
        wcodec_context_destroy(context);
    }
    setenv("WCODEC_FAKE", "", 1);
    wcodec_delta_free(plain, message);
    wcodec_context_destroy(plain);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

/* Calls that a device fails at; BETWEEN: two snapshots in its memory. */
enum failing { MAKING, TRYING, CHANGING, BETWEEN, FAILINGS };

/* The snapshot's bytes to the fake device's memory, which the host does see. */
static wcodec_status place(wcodec_context *context, const struct support_snapshot *s,
                           struct placed *p, wcodec_error *err)
{
    const wcodec_status status = reserve(context, s, p, err);
    for (unsigned i = 0; i < s->count && status == WCODEC_OK; i++)
        memcpy((uint8_t *)(uintptr_t)p->items[i].source + p->items[i].offset,
               support_snapshot_tensor(s, i), s->items[i].size);
    return status;
}

static wcodec_status encode_between(wcodec_context *context, const struct support_snapshot *before,
                                    const struct support_snapshot *after, void **message,
                                    size_t *size, wcodec_error *err)
{
    struct placed old = {.buffer = NULL}, new = {.buffer = NULL};
    wcodec_delta_encode_options options;
    wcodec_delta_encode_options_init(&options);
    options.before_memory = options.after_memory = "fake";
    wcodec_status status = place(context, before, &old, err);
    if (status == WCODEC_OK)
        status = place(context, after, &new, err);
    if (status == WCODEC_OK)
        status = wcodec_delta_encode(context, old.items, before->count, new.items, after->count,
                                     &options, message, size, NULL, err);
    wcodec_buffer_destroy(old.buffer);
    wcodec_buffer_destroy(new.buffer);
    return status;
}

/* An executor that has the caller's thread only. */
struct executed {
    pthread_t caller;
    _Atomic unsigned runs, elsewhere; /* and those asked for on another thread */
};

static void run_here(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                     size_t count)
{
    struct executed *e = opaque;
    e->runs++;
    e->elsewhere += !pthread_equal(pthread_self(), e->caller);
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

/* Who waits for an executor's tasks may run any others that it has. If a thread beside coding had
 * it hash, and coding waited for that, each could wait for the other for ever. */
static void test_executor(void **state)
{
    (void)state;
    static const struct support_shape few[] = {{WCODEC_DTYPE_BF16, 40001},
                                               {WCODEC_DTYPE_BF16, 4001}};
    struct support_snapshot before, after;
    struct executed executed = {.caller = pthread_self()};
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err = {0};
    void *message = NULL;
    size_t size, wanted_size;
    support_snapshot_make(&before, few, 2, 87);
    support_snapshot_copy(&before, &after);
    support_snapshot_change(&after, 60, 88);
    setenv("WCODEC_FAKE", "", 1);
    support_load_plugin(NULL);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.executor = (wcodec_executor){.run = run_here, .concurrency = 3, .opaque = &executed};
    assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
    void *wanted = support_message(context, &before, &after, &wanted_size);
    if (encode_between(context, &before, &after, &message, &size, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(size, wanted_size);
    assert_memory_equal(message, wanted, size);
    assert_true(executed.runs != 0);
    assert_int_equal(executed.elsewhere, 0);
    wcodec_delta_free(context, message);
    wcodec_delta_free(context, wanted);
    wcodec_context_destroy(context);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static bool fails_at(unsigned n, enum failing failing, const struct support_snapshot *s,
                     const struct support_snapshot *after, const void *message, size_t size)
{
    char mode[32];
    struct support_allocator counted;
    struct support_lines lines = {0};
    struct placed placed = {.buffer = NULL};
    wcodec_error err = {0};
    uint8_t states[COUNT] = {0};
    void *made = NULL;
    size_t made_size = 0;
    support_allocator_init(&counted, 1L << 40);
    snprintf(mode, sizeof mode, "lost-%u", n);
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = support_load_context("fake", 2, &counted.allocator, &lines);
    wcodec_status status = WCODEC_OK;
    if (failing == BETWEEN)
        status = encode_between(context, s, after, &made, &made_size, &err);
    else
        status = reserve(context, s, &placed, &err);
    if (status == WCODEC_OK && failing == MAKING) {
        wcodec_delta_encode_options options;
        wcodec_delta_encode_options_init(&options);
        options.after_memory = "fake";
        status = wcodec_delta_encode(context, s->items, COUNT, placed.items, COUNT, &options, &made,
                                     &made_size, NULL, &err);
    } else if (status == WCODEC_OK && failing != BETWEEN) {
        wcodec_delta_apply_options options;
        wcodec_delta_apply_options_init(&options);
        options.memory = "fake";
        options.verify = failing == TRYING ? WCODEC_DELTA_VERIFY_TRIAL : WCODEC_DELTA_VERIFY_AFTER;
        options.states = states;
        status =
            wcodec_delta_apply(context, message, size, placed.items, COUNT, &options, NULL, &err);
    }
    /* The buffer's bytes are not those of any snapshot. */
    const bool through = status == WCODEC_OK || status == WCODEC_ERROR_MISMATCH;
    if (!through) {
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "fake:0"));
    } else if (failing == BETWEEN) {
        assert_int_equal(made_size, size);
        assert_memory_equal(made, message, size);
    }
    wcodec_delta_free(context, made);
    wcodec_buffer_destroy(placed.buffer);
    wcodec_context_destroy(context);
    assert_int_equal(counted.balance, 0);
    return !through;
}

/* Without kernels, or memory for once, the host does it. */
static void test_left(void **state)
{
    (void)state;
    struct support_snapshot before, after;
    size_t size, made_size;
    unsigned short_of = 0;
    support_snapshot_make(&before, shapes, COUNT, 93);
    support_snapshot_copy(&before, &after);
    support_snapshot_change(&after, 60, 94);
    wcodec_context *plain = support_context(2, NULL);
    void *wanted = support_message(plain, &before, &after, &size);
    for (unsigned n = 0; n < 30; n += support_one_in(3)) {
        char mode[32] = "late-nocoders";
        wcodec_error err = {0};
        void *made = NULL;
        if (n > 0)
            snprintf(mode, sizeof mode, "memory-%u", n);
        setenv("WCODEC_FAKE", mode, 1);
        wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
        const wcodec_status status =
            encode_between(context, &before, &after, &made, &made_size, &err);
        if (status == WCODEC_OK) {
            assert_int_equal(made_size, size);
            assert_memory_equal(made, wanted, size);
        } else {
            const char *named = strstr(err.text, "tensor \"");
            assert_true(n > 0);
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
            assert_true(named == NULL || strstr(named + 1, "tensor \"") == NULL);
            short_of++;
        }
        wcodec_delta_free(context, made);
        wcodec_context_destroy(context);
    }
    assert_true(short_of < 20);
    setenv("WCODEC_FAKE", "", 1);
    wcodec_delta_free(plain, wanted);
    wcodec_context_destroy(plain);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static void expect_wrong(const char *mode, const struct support_snapshot *before,
                         const struct support_snapshot *after, const char *text)
{
    wcodec_error err = {0};
    void *message = NULL;
    size_t size;
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = support_load_context("fake", 2, NULL, NULL);
    assert_int_equal(encode_between(context, before, after, &message, &size, &err),
                     WCODEC_ERROR_DEVICE);
    assert_non_null(strstr(err.text, text));
    assert_non_null(strstr(err.text, "fake:0"));
    wcodec_context_destroy(context);
    setenv("WCODEC_FAKE", "", 1);
}

/* What the device finds to differ makes no sense, streams have other sizes than it says, or a class
 * of gaps is not counted, which may be the only one: no message. */
static void test_computes_wrongly(void **state)
{
    (void)state;
    struct support_snapshot before, after;
    if (!wcodec_fibers_supported())
        skip();
    support_snapshot_make(&before, shapes, COUNT, 91);
    support_snapshot_copy(&before, &after);
    /* All of a last tile: no gap is longer than another. */
    uint8_t *end = support_snapshot_tensor(&after, UNEVEN) + after.items[UNEVEN].size - 3 * 2;
    end[0] ^= 1;
    end[2] ^= 1;
    end[4] ^= 1;
    expect_wrong("late-mistallies", &before, &after, "other elements differ than are counted");
    support_snapshot_change(&after, 60, 92);
    expect_wrong("late-misorders", &before, &after, "streams do not decode");
    expect_wrong("late-missizes", &before, &after, "streams have other sizes");
    expect_wrong("late-mistallies", &before, &after, "streams do not decode");
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static void test_device_fails(void **state)
{
    (void)state;
    struct support_snapshot before, after;
    size_t size;
    support_snapshot_make(&before, shapes, COUNT, 71);
    support_snapshot_copy(&before, &after);
    support_snapshot_change(&after, 60, 72);
    wcodec_context *plain = support_context(2, NULL);
    void *message = support_message(plain, &before, &after, &size);
    for (unsigned failing = 0; failing < FAILINGS; failing++) {
        unsigned failed = 0;
        for (unsigned n = 1; n < 4000 && fails_at(n, failing, &before, &after, message, size);
             n += support_one_in(2) + n / 5)
            failed++;
        print_message("%u calls failed\n", failed);
        assert_true(failed > 5 / support_one_in(2));
    }
    setenv("WCODEC_FAKE", "", 1);
    wcodec_delta_free(plain, message);
    wcodec_context_destroy(plain);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
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
        cmocka_unit_test(test_devices),          cmocka_unit_test(test_changed_on_device),
        cmocka_unit_test(test_device_fails),     cmocka_unit_test(test_left),
        cmocka_unit_test(test_computes_wrongly), cmocka_unit_test(test_executor)};
    return cmocka_run_group_tests(tests, set_up, support_leave_folder);
}
