/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages that are damaged or of another snapshot, and wrong arguments: an error, and weights of
 * which it is known what became of them. */
#include "support_sync.h"

static const struct support_shape small[] = {
    {WCODEC_DTYPE_BF16, 700}, {WCODEC_DTYPE_F32, 300}, {WCODEC_DTYPE_U8, 5}, {WCODEC_DTYPE_I8, 0}};
enum { SMALL = sizeof small / sizeof *small };

struct fixture {
    struct support_snapshot before, after, weights;
    wcodec_context *context;
    uint8_t *message;
    size_t size;
};

static void make(struct fixture *f, const struct support_shape *shapes, unsigned count,
                 uint64_t every)
{
    support_snapshot_make(&f->before, shapes, count, 51);
    support_snapshot_copy(&f->before, &f->after);
    support_snapshot_copy(&f->before, &f->weights);
    support_snapshot_change(&f->after, every, 52);
    f->context = support_context(2, NULL);
    f->message = support_message(f->context, &f->before, &f->after, &f->size);
}

static void end(struct fixture *f)
{
    wcodec_delta_free(f->context, f->message);
    wcodec_context_destroy(f->context);
    support_snapshot_free(&f->weights);
    support_snapshot_free(&f->after);
    support_snapshot_free(&f->before);
}

static wcodec_status apply(const struct fixture *f, const void *message, size_t size,
                           wcodec_delta_verify verify, uint8_t *states, wcodec_error *err)
{
    wcodec_delta_apply_options options;
    wcodec_delta_apply_options_init(&options);
    options.verify = verify;
    options.states = states;
    return wcodec_delta_apply(f->context, message, size, f->weights.items, f->weights.count,
                              &options, NULL, err);
}

/* Cut at every byte: nothing is changed. */
static void test_cut(void **state)
{
    (void)state;
    struct fixture f;
    make(&f, small, SMALL, 10);
    print_message("a message of %zu bytes\n", f.size);
    for (size_t size = 0; size < f.size; size++) {
        uint8_t *cut = malloc(size + 1);
        wcodec_error err = {0};
        memcpy(cut, f.message, size);
        assert_int_not_equal(apply(&f, cut, size, WCODEC_DELTA_VERIFY_AFTER, NULL, &err),
                             WCODEC_OK);
        assert_true(err.text[0] != 0);
        free(cut);
    }
    support_snapshot_expect(&f.weights, &f.before);
    end(&f);
}

/* Each bit flipped: all are noticed, and nothing is changed. */
static void test_flipped(void **state)
{
    (void)state;
    struct fixture f;
    unsigned harmless = 0;
    make(&f, small, SMALL, 10);
    for (size_t i = 0; i < 8 * f.size; i++) {
        wcodec_error err = {0};
        f.message[i / 8] ^= (uint8_t)(1u << i % 8);
        const wcodec_status status =
            apply(&f, f.message, f.size, WCODEC_DELTA_VERIFY_AFTER, NULL, &err);
        support_snapshot_expect(&f.weights, status == WCODEC_OK ? &f.after : &f.before);
        harmless += status == WCODEC_OK;
        memcpy(f.weights.data, f.before.data, f.before.size);
        f.message[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    print_message("%u of %zu bits are harmless\n", harmless, 8 * f.size);
    assert_int_equal(harmless, 0);
    assert_int_equal(apply(&f, f.message, f.size, WCODEC_DELTA_VERIFY_AFTER, NULL, NULL),
                     WCODEC_OK);
    end(&f);
}

static const struct support_shape large[] = {{WCODEC_DTYPE_BF16, 90000},
                                             {WCODEC_DTYPE_F32, 3000000},
                                             {WCODEC_DTYPE_BF16, 100},
                                             {WCODEC_DTYPE_F16, 70000}};
enum { LARGE = sizeof large / sizeof *large };

/* One element of a tensor is another than the trainer's. */
static void test_wrong_receiver(void **state)
{
    (void)state;
    struct fixture f;
    uint8_t states[LARGE];
    wcodec_error err = {0};
    make(&f, large, LARGE, 40);
    f.before.data[f.before.items[1].offset + 11999998] ^= 4;
    memcpy(f.weights.data, f.before.data, f.before.size);
    for (unsigned verify = WCODEC_DELTA_VERIFY_BEFORE; verify < WCODEC_DELTA_VERIFY_AFTER;
         verify++) {
        memset(states, 77, sizeof states);
        assert_int_equal(apply(&f, f.message, f.size, verify, states, &err), WCODEC_ERROR_MISMATCH);
        assert_non_null(strstr(err.text, "layers.1.weight"));
        assert_non_null(strstr(err.text, "old snapshot"));
        support_snapshot_expect(&f.weights, &f.before);
        for (unsigned i = 0; i < LARGE; i++)
            assert_int_equal(states[i], WCODEC_DELTA_STATE_BEFORE);
    }
    assert_int_equal(apply(&f, f.message, f.size, WCODEC_DELTA_VERIFY_AFTER, states, &err),
                     WCODEC_ERROR_MISMATCH);
    assert_non_null(strstr(err.text, "layers.1.weight"));
    assert_int_equal(states[1], WCODEC_DELTA_STATE_BROKEN);
    for (unsigned i = 0; i < LARGE; i++) {
        assert_true(i == 1 || states[i] != WCODEC_DELTA_STATE_BROKEN);
        if (i != 1)
            assert_memory_equal(
                support_snapshot_tensor(&f.weights, i),
                support_snapshot_tensor(
                    states[i] == WCODEC_DELTA_STATE_AFTER ? &f.after : &f.before, i),
                f.after.items[i].size);
    }
    /* A second time the same message is of another snapshot. */
    memcpy(f.weights.data, f.after.data, f.after.size);
    for (unsigned verify = WCODEC_DELTA_VERIFY_BEFORE; verify < WCODEC_DELTA_VERIFY_AFTER; verify++)
        assert_int_equal(apply(&f, f.message, f.size, verify, NULL, &err), WCODEC_ERROR_MISMATCH);
    support_snapshot_expect(&f.weights, &f.after);
    end(&f);
}

/* What the receiver declares does not fit. */
static void test_wrong_tensors(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_error err = {0};
    make(&f, small, SMALL, 10);
    wcodec_save_item *item = &f.weights.items[1];
    const wcodec_save_item right = *item;
    const uint64_t square[2] = {30, 10};
    item->name = "another";
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "layers.1.weight"));
    item->name = f.weights.items[0].name;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_USAGE);
    *item = right;
    item->dtype = WCODEC_DTYPE_I32;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_MISMATCH);
    assert_non_null(strstr(err.text, "layers.1.weight"));
    *item = right;
    item->rank = 2;
    item->shape = square;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_MISMATCH);
    *item = right;
    item->size--;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_USAGE);
    *item = right;
    item->source = 0;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_USAGE);
    *item = right;
    item->reserved[3] = 1;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_USAGE);
    *item = right;
    f.weights.count = SMALL - 1;
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_ERROR_NOT_FOUND);
    f.weights.count = SMALL;
    support_snapshot_expect(&f.weights, &f.before);
    assert_int_equal(apply(&f, f.message, f.size, 0, NULL, &err), WCODEC_OK);
    end(&f);
}

/* Files that are none: of weights that are saved, and not even that. */
static void test_no_message(void **state)
{
    (void)state;
    struct fixture f;
    struct support_sink sink;
    wcodec_save_options options;
    wcodec_error err = {0};
    make(&f, small, SMALL, 10);
    wcodec_save_options_init(&options);
    support_sink_init(&sink);
    options.write = support_sink_write;
    options.opaque = &sink;
    for (int forged = 0; forged < 2; forged++) {
        static const char *const metadata[] = {"wcodec.delta.before", "00", "wcodec.delta.after",
                                               "zz", NULL};
        options.metadata = forged ? metadata : NULL;
        support_sink_free(&sink);
        support_sink_init(&sink);
        assert_int_equal(wcodec_save(f.context, f.after.items, SMALL, &options, NULL, &err),
                         WCODEC_OK);
        assert_int_equal(apply(&f, sink.data, sink.size, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "hashes"));
    }
    support_sink_free(&sink);
    assert_int_equal(apply(&f, "message", 7, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(apply(&f, NULL, 0, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(apply(&f, NULL, 1, 0, NULL, &err), WCODEC_ERROR_USAGE);
    support_snapshot_expect(&f.weights, &f.before);
    end(&f);
}

/* A result with another hash than the message says: found half way, unless all is tried before. */
static void test_forged(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "0", "0123456789abcdeF0123456789abcdef", NULL};
    char hashes[16 * LARGE + 1];
    struct fixture f;
    wcodec_error err = {0};
    wcodec_tensor_info info;
    wcodec_reader *reader;
    uint8_t states[LARGE], *forged;
    const char *key, *value;
    size_t size;
    make(&f, large, LARGE, 40);
    for (unsigned i = 0; wrong[i] != NULL; i++) {
        forged = support_message_forge(f.message, f.size,
                                       i % 2 ? "wcodec.delta.before" : "wcodec.delta.after",
                                       wrong[i], &size);
        assert_int_equal(apply(&f, forged, size, 0, NULL, &err), WCODEC_ERROR_CORRUPT);
        free(forged);
    }
    assert_int_equal(wcodec_reader_open_memory(f.context, f.message, f.size, &reader, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_tensor(reader, 3, &info, &err), WCODEC_OK);
    assert_string_equal(info.name, "layers.3.weight");
    assert_int_equal(wcodec_reader_metadata_count(reader, 0), 2);
    assert_int_equal(wcodec_reader_metadata(reader, 0, 1, &key, &value, &err), WCODEC_OK);
    assert_string_equal(key, "wcodec.delta.after");
    assert_int_equal(strlen(value), sizeof hashes - 1);
    memcpy(hashes, value, sizeof hashes);
    hashes[16 * 3] = hashes[16 * 3] == '0' ? '1' : '0';
    wcodec_reader_close(reader);
    forged = support_message_forge(f.message, f.size, "wcodec.delta.after", hashes, &size);
    for (unsigned verify = 0; verify < 3; verify++) {
        memcpy(f.weights.data, f.before.data, f.before.size);
        assert_int_equal(apply(&f, forged, size, verify, states, &err), WCODEC_ERROR_MISMATCH);
        assert_non_null(strstr(err.text, "layers.3.weight"));
        assert_int_equal(states[3], verify == WCODEC_DELTA_VERIFY_TRIAL
                                        ? WCODEC_DELTA_STATE_BEFORE
                                        : WCODEC_DELTA_STATE_BROKEN);
        for (unsigned i = 0; i < 3; i++)
            assert_memory_equal(
                support_snapshot_tensor(&f.weights, i),
                support_snapshot_tensor(
                    states[i] == WCODEC_DELTA_STATE_AFTER ? &f.after : &f.before, i),
                f.after.items[i].size);
    }
    free(forged);
    end(&f);
}

static void test_options(void **state)
{
    (void)state;
    struct fixture f;
    wcodec_delta_encode_options options;
    wcodec_delta_apply_options how;
    wcodec_encode_options encode;
    wcodec_error err = {0};
    void *message = NULL;
    size_t size;
    make(&f, small, SMALL, 10);
    const wcodec_save_item *b = f.before.items, *a = f.after.items;
#define ENCODE(o, n) wcodec_delta_encode(f.context, b, SMALL, a, n, o, &message, &size, NULL, &err)
    assert_int_equal(
        wcodec_delta_encode(NULL, b, SMALL, a, SMALL, NULL, &message, &size, NULL, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_delta_encode(f.context, NULL, 1, a, SMALL, NULL, &message, &size, NULL, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_delta_encode(f.context, b, SMALL, a, SMALL, NULL, NULL, &size, NULL, &err),
        WCODEC_ERROR_USAGE);
    wcodec_delta_encode_options_init(&options);
    options.use_queue = 1;
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_USAGE);
    options.use_queue = 0;
    options.before_memory = "no backend";
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_BACKEND);
    options.before_memory = NULL;
    options.encode = &encode;
    wcodec_encode_options_init(&encode);
    encode.lossy = WCODEC_LOSSY_SNR;
    encode.lossy_value = 40;
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_USAGE);
    wcodec_encode_options_init(&encode);
    encode.level = 10;
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_USAGE);
    encode.level = 3;
    encode.part_end = 1000;
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part_end"));
    options.struct_size = 3;
    assert_int_equal(ENCODE(&options, SMALL), WCODEC_ERROR_USAGE);
    f.after.items[1].name = f.after.items[0].name;
    assert_int_equal(ENCODE(NULL, SMALL), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "new snapshot"));
    assert_null(message);
#undef ENCODE
    wcodec_delta_apply_options_init(&how);
    how.verify = 3;
    assert_int_equal(
        wcodec_delta_apply(f.context, f.message, f.size, f.weights.items, SMALL, &how, NULL, &err),
        WCODEC_ERROR_USAGE);
    how.verify = 0;
    how.use_queue = 1;
    assert_int_equal(
        wcodec_delta_apply(f.context, f.message, f.size, f.weights.items, SMALL, &how, NULL, &err),
        WCODEC_ERROR_USAGE);
    how.use_queue = 0;
    how.memory = "no backend";
    assert_int_equal(
        wcodec_delta_apply(f.context, f.message, f.size, f.weights.items, SMALL, &how, NULL, &err),
        WCODEC_ERROR_BACKEND);
    support_snapshot_expect(&f.weights, &f.before);
    end(&f);
}

/* Memory that is out at call n: the weights are as they were, or known to be broken. */
static void test_no_memory(void **state)
{
    (void)state;
    struct fixture f;
    unsigned failed = 0;
    make(&f, large, LARGE, 40);
    for (long n = 0;; n += 1 + n / 8) {
        struct support_allocator allocator;
        wcodec_error err = {0};
        uint8_t states[LARGE] = {0};
        wcodec_delta_apply_options options;
        void *message = NULL;
        size_t size;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_context *context = support_context(2, &allocator.allocator);
        allocator.left = n;
        wcodec_delta_apply_options_init(&options);
        options.states = states;
        memcpy(f.weights.data, f.before.data, f.before.size);
        const wcodec_status encoded =
            wcodec_delta_encode(context, f.before.items, LARGE, f.after.items, LARGE, NULL,
                                &message, &size, NULL, &err);
        assert_true(encoded == WCODEC_OK || encoded == WCODEC_ERROR_MEMORY);
        wcodec_delta_free(context, message);
        allocator.left = n;
        const wcodec_status status = wcodec_delta_apply(context, f.message, f.size, f.weights.items,
                                                        LARGE, &options, NULL, &err);
        allocator.left = SUPPORT_NEVER;
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        for (unsigned i = 0; i < LARGE; i++)
            if (states[i] != WCODEC_DELTA_STATE_BROKEN)
                assert_memory_equal(
                    support_snapshot_tensor(&f.weights, i),
                    support_snapshot_tensor(
                        states[i] == WCODEC_DELTA_STATE_AFTER ? &f.after : &f.before, i),
                    f.after.items[i].size);
        if (status == WCODEC_OK && encoded == WCODEC_OK)
            break;
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        failed++;
    }
    print_message("%u times out of memory\n", failed);
    assert_true(failed > 10);
    support_snapshot_expect(&f.weights, &f.after);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_wrong_receiver),
        cmocka_unit_test(test_wrong_tensors),
        cmocka_unit_test(test_no_message),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
