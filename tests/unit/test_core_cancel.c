/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the caller's callback is told while something large is at work: never less than before,
 * never more than all, and what it answers. */

#include "support.h"
#include "core/cancel.h"

enum { TOTAL = 1000 };

struct caller {
    uint64_t done;
    int answer;
};

static int note(void *opaque, uint64_t done, uint64_t total)
{
    struct caller *c = opaque;
    assert_int_equal(total, TOTAL);
    assert_true(done >= c->done && done <= total);
    c->done = done;
    return c->answer;
}

/* Without the wait between two reports. */
static bool poll_now(struct wcodec_cancel *cancel)
{
    cancel->reporter->last = 0;
    return wcodec_cancel_poll(cancel);
}

static void begin(struct wcodec_cancel *cancel, struct wcodec_reporter *reporter, struct caller *c)
{
    const wcodec_progress progress = {.fn = note, .opaque = c};
    *c = (struct caller){0};
    wcodec_reporter_init(reporter, &progress, TOTAL);
    wcodec_cancel_init(cancel, reporter);
}

static void tells_how_far_it_is(void **state)
{
    (void)state;
    struct wcodec_cancel cancel;
    struct wcodec_reporter reporter;
    struct caller c;
    begin(&cancel, &reporter, &c);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, 0);
    wcodec_cancel_span(&cancel, 100, 800, 2);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, 100);
    wcodec_cancel_count(&cancel, 800);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, 500);
    /* Of more passes than were expected, the last tenth waits for the end. */
    wcodec_cancel_count(&cancel, 8000);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, 820);
    /* What is done for certain counts; what was told is not taken back. */
    assert_int_equal(wcodec_reporter_add(&reporter, 700, NULL), WCODEC_OK);
    wcodec_cancel_span(&cancel, 0, 0, 1);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, 820);
    assert_int_equal(wcodec_reporter_add(&reporter, 300, NULL), WCODEC_OK);
    wcodec_cancel_span(&cancel, 900, 800, 1);
    wcodec_cancel_count(&cancel, 800);
    assert_false(poll_now(&cancel));
    assert_int_equal(c.done, TOTAL);
    assert_int_equal(wcodec_reporter_end(&reporter, NULL), WCODEC_OK);
    assert_int_equal(c.done, TOTAL);
}

static void stops_for_good(void **state)
{
    (void)state;
    struct wcodec_cancel cancel;
    struct wcodec_reporter reporter;
    struct caller c;
    begin(&cancel, &reporter, &c);
    c.answer = 1;
    assert_true(poll_now(&cancel));
    c.answer = 0;
    assert_true(poll_now(&cancel));
    assert_false(wcodec_cancel_poll(NULL));
    wcodec_cancel_span(NULL, 0, 1, 1);
    wcodec_cancel_count(NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_how_far_it_is),
        cmocka_unit_test(stops_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
