/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What runs kernels as C with a fiber for each lane: collectives against plain computation, what
 * lanes see of each other's memory and of asynchronous copies, and programs that are wrong. */
#define WCODEC_FIBERS
#include "backends/kernels/rans.h"

#include "support.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS = 3, THREADS_MAX = 256, ROUNDS = 20 };

static struct wcodec_fibers *fibers;

static void launch(void (*kernel)(struct wcodec_warp *warp, const void *argument),
                   const void *argument, uint32_t groups, uint32_t threads, uint32_t shared,
                   uint64_t seed)
{
    const struct wcodec_lanes_launch l = {kernel, argument, groups, threads, shared, seed};
    wcodec_lanes_run(fibers, &l);
}

/* A fault is an abort of the lane's program: cmocka's assertions would leave the fiber. */
#define REQUIRE(condition) \
    do { \
        if (!(condition)) \
            wcodec_fibers_fail(__FILE__, __LINE__, "does not hold: %s", #condition); \
    } while (0)

static int setup(void **state)
{
    (void)state;
    if (!wcodec_fibers_supported()) {
        print_message("there are no fibers here\n");
        return 0;
    }
    fibers = wcodec_fibers_create();
    return fibers == NULL;
}

static int teardown(void **state)
{
    (void)state;
    if (fibers != NULL)
        wcodec_fibers_destroy(fibers);
    return 0;
}

static void skip_without_fibers(void)
{
    if (fibers == NULL)
        skip();
}

/* What each thread of each group brings to a collective. */
struct values {
    uint32_t value[ROUNDS][THREADS_MAX];
    uint32_t from[ROUNDS][THREADS_MAX];
    uint32_t seen[GROUPS]; /* threads */
};

static void collectives_kernel(struct wcodec_warp *warp, const void *argument)
{
    struct values *v = (struct values *)(uintptr_t)argument;
    const uint32_t thread = wcodec_thread(warp), lane = wcodec_lane(warp), first = thread - lane;
    REQUIRE(lane == thread % 32 && wcodec_group(warp) < GROUPS && wcodec_groups(warp) == GROUPS);
    wcodec_atomic_add(&v->seen[wcodec_group(warp)], 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t *values = v->value[round] + first;
        uint32_t odd = 0, sum = 0;
        for (uint32_t i = 0; i < 32; i++) {
            odd |= (values[i] & 1) << i;
            sum += values[i];
        }
        REQUIRE(wcodec_ballot(warp, (values[lane] & 1) != 0) == odd);
        REQUIRE(wcodec_any(warp, (values[lane] & 1) != 0) == (odd != 0));
        REQUIRE(wcodec_all(warp, values[lane] % 8 != 0) ==
                !wcodec_any(warp, values[lane] % 8 == 0));
        const uint32_t from = v->from[round][thread];
        REQUIRE(wcodec_shuffle(warp, values[lane], from) == values[from]);
        REQUIRE(wcodec_add_lanes(warp, values[lane]) == sum);
        if (thread / 32 % 2 == round % 2) /* warps go their own ways */
            REQUIRE(wcodec_all(warp, true) && !wcodec_any(warp, false));
        if (round % 7 == 0)
            wcodec_sync_group(warp);
    }
}

static void test_collectives(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    skip_without_fibers();
    for (uint32_t threads = 32; threads <= THREADS_MAX; threads *= 2) {
        struct values v = {.seen = {0}};
        for (uint32_t i = 0; i < ROUNDS * THREADS_MAX; i++) {
            v.value[i / THREADS_MAX][i % THREADS_MAX] = (uint32_t)support_random(&seed);
            v.from[i / THREADS_MAX][i % THREADS_MAX] = (uint32_t)support_random(&seed) % 32;
        }
        launch(collectives_kernel, &v, GROUPS, threads, 0, support_random(&seed));
        for (unsigned i = 0; i < GROUPS; i++)
            assert_int_equal(v.seen[i], threads);
    }
}

/* Shared headers' names for them. */
static void each_lane_kernel(struct wcodec_warp *warp, const void *argument)
{
    struct {
        WCODEC_WARP_MEMBER
    } work = {*warp}, *w = &work;
    uint32_t own[WCODEC_LANES_OF], mask, sum = 5;
    (void)argument;
    WCODEC_EACH_LANE
    {
        own[WCODEC_SELF] = lane;
        wcodec_put_u32(warp, wcodec_shared_base(warp) + 4 * lane, 3 * lane);
    }
    WCODEC_LOCAL_ORDER();
    WCODEC_EACH_LANE
    {
        own[WCODEC_SELF] += wcodec_shared_u32(warp, wcodec_shared_base(warp) + (lane + 1) % 32 * 4);
    }
    WCODEC_BALLOT(mask, lane % 3 == 0 && own[WCODEC_SELF] == lane + (lane + 1) % 32 * 3);
    REQUIRE(mask == 0x49249249u);
    WCODEC_ADD_LANES(sum, lane);
    REQUIRE(sum == 5 + 31 * 16);
    WCODEC_ORDER();
}

static void test_each_lane(void **state)
{
    (void)state;
    skip_without_fibers();
    launch(each_lane_kernel, NULL, 4, 32, 128, support_seed());
}

/* Widths of shared memory, through several warps. */
static void shared_kernel(struct wcodec_warp *warp, const void *argument)
{
    const uint32_t base = wcodec_shared_base(warp), thread = wcodec_thread(warp),
                   threads = wcodec_threads(warp), at = base + 16 * thread,
                   other = base + 16 * ((thread + 37) % threads);
    (void)argument;
    REQUIRE(base != 0 && base % 1024 == 0);
    wcodec_put_u4(warp, at, wcodec_make_u4(thread, 0x01020304, 0x05060708, 0x090a0b0c));
    wcodec_put_u16(warp, at + 6, 0xa55a);
    wcodec_put_u8(warp, at + 8, 0xff);
    wcodec_put_u2(warp, at + 8, wcodec_make_u2(wcodec_shared_u32(warp, at + 8) + 1, thread));
    wcodec_sync_group(warp);
    const wcodec_u4 v = wcodec_shared_u4(warp, other);
    const wcodec_u2 half = wcodec_shared_u2(warp, other + 8);
    REQUIRE(v.x == (thread + 37) % threads && v.y == 0xa55a0304 && v.z == 0x05060800);
    REQUIRE(v.w == v.x && half.x == v.z && half.y == v.w);
    REQUIRE(wcodec_shared_u16(warp, other + 4) == 0x0304 &&
            wcodec_shared_u8(warp, other + 7) == 0xa5);
    wcodec_sync_group(warp);
    WCODEC_SHARED(warp, uint32_t, at)[1] = thread;
    wcodec_sync_group(warp);
    REQUIRE(wcodec_shared_u32(warp, other + 4) == v.x);
}

static void test_shared(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    skip_without_fibers();
    for (uint32_t threads = 32; threads <= WCODEC_FIBERS_MAX; threads *= 2)
        launch(shared_kernel, NULL, 2, threads, 16 * threads, support_random(&seed));
}

/* Without a synchronisation a lane may read what its neighbour has not written yet. */
static void unordered_kernel(struct wcodec_warp *warp, const void *argument)
{
    const uint32_t base = wcodec_shared_base(warp), lane = wcodec_lane(warp);
    wcodec_put_u32(warp, base + 4 * lane, lane);
    if (wcodec_shared_u32(warp, base + (lane + 1) % 32 * 4) != (lane + 1) % 32)
        wcodec_atomic_add((uint32_t *)(uintptr_t)argument, 1);
}

static void test_unordered(void **state)
{
    uint32_t wrong = 0;
    (void)state;
    skip_without_fibers();
    for (uint64_t seed = 0; seed < 10; seed++)
        launch(unordered_kernel, &wrong, 1, 32, 128, seed);
    assert_in_range(wrong, 50, 250);
}

static void copies_kernel(struct wcodec_warp *warp, const void *argument)
{
    const uint8_t *from = argument;
    const uint32_t lane = wcodec_lane(warp), at = wcodec_shared_base(warp) + 16 * lane;
    const uint32_t limit = WCODEC_COPY_LIMIT(16 * 20);
    wcodec_put_u4(warp, at, wcodec_make_u4(1, 2, 3, 4));
    wcodec_copy_16(warp, at, from, 16 * lane, limit);
    for (uint32_t i = 0; i < 16; i++) /* nothing of old or new */
        REQUIRE(wcodec_shared_u8(warp, at + i) == 0xdb);
    wcodec_copy_commit(warp);
    wcodec_copy_16(warp, at + 512, from, 16 * (31 - lane), limit);
    REQUIRE(wcodec_shared_u8(warp, at) == 0xdb);
    wcodec_copy_wait(warp);
    for (uint32_t i = 0; i < 16; i++) {
        REQUIRE(wcodec_shared_u8(warp, at + i) == (lane < 20 ? from[16 * lane + i] : 0xdb));
        REQUIRE(wcodec_shared_u8(warp, at + 512 + i) == 0xdb); /* not committed */
    }
    wcodec_copy_commit(warp);
    wcodec_copy_wait(warp);
    wcodec_sync_warp(warp);
    const uint32_t other = wcodec_shared_base(warp) + 512 + 16 * (31 - lane);
    for (uint32_t i = 0; i < 16; i++)
        REQUIRE(wcodec_shared_u8(warp, other + i) == (lane < 20 ? from[16 * lane + i] : 0xdb));
}

static void test_copies(void **state)
{
    uint64_t seed = support_seed();
    void *from;
    (void)state;
    skip_without_fibers();
    assert_int_equal(posix_memalign(&from, 16, 320), 0);
    for (unsigned i = 0; i < 320; i++)
        ((uint8_t *)from)[i] = (uint8_t)(support_random(&seed) % 0xdb);
    launch(copies_kernel, from, 2, 32, 1024, support_random(&seed));
    free(from);
}

struct stream {
    uint16_t words[600];
    uint32_t states[32];
};

/* Against tile_decode's way to do it. */
static void renormalise_kernel(struct wcodec_warp *warp, const void *argument)
{
    const struct stream *s = argument;
    const uint32_t lane = wcodec_lane(warp), base = wcodec_shared_base(warp);
    uint32_t x = s->states[lane], at = base, states[32], taken = 0;
    for (uint32_t i = lane; i < 600; i += 32)
        wcodec_put_u16(warp, base + 2 * i, s->words[i]);
    wcodec_sync_warp(warp);
    memcpy(states, s->states, sizeof states);
    for (uint32_t round = 0; round < 15; round++) {
        wcodec_renormalise(warp, &x, &at, (1u << lane) - 1);
        for (uint32_t i = 0; i < 32; i++)
            if (states[i] < 0x10000)
                states[i] = states[i] << 16 | s->words[taken++];
        REQUIRE(x == states[lane] && at == base + 2 * taken);
        x /= 3 + lane;
        for (uint32_t i = 0; i < 32; i++)
            states[i] /= 3 + i;
    }
}

static void test_renormalise(void **state)
{
    uint64_t seed = support_seed();
    struct stream s;
    (void)state;
    skip_without_fibers();
    for (unsigned i = 0; i < 600; i++)
        s.words[i] = (uint16_t)support_random(&seed);
    for (unsigned i = 0; i < 32; i++)
        s.states[i] = (uint32_t)support_random(&seed) >> support_random(&seed) % 32;
    launch(renormalise_kernel, &s, 1, 32, 1200, support_random(&seed));
}

/* Bits, device memory. */
static void words_kernel(struct wcodec_warp *warp, const void *argument)
{
    uint32_t *words = (uint32_t *)(uintptr_t)argument;
    const uint64_t address = (uint64_t)(uintptr_t)argument;
    if (wcodec_thread(warp) != 0)
        return;
    REQUIRE(wcodec_rotate_right(0x12345678, 8) == 0x78123456 && wcodec_rotate_right(5, 32) == 5);
    REQUIRE(wcodec_select_bits(0xff00ff00, 0x11111111, 0x22222222) == 0x11221122);
    REQUIRE(wcodec_first_bit(0x80) == 7);
    REQUIRE(wcodec_bytes(0x33221100, 0x77665544, 0x7405) == 0x77440055);
    wcodec_store_u4(words, 1, 2, 3, 4);
    wcodec_store_u2(words + 2, 5, 6);
    wcodec_store_u32(words + 3, 7);
    wcodec_prefetch(words + 100);
    const wcodec_u4 v = wcodec_load_u4(WCODEC_BUFFER(warp, uint32_t, address));
    REQUIRE(v.x == 1 && v.y == 2 && v.z == 5 && v.w == 7);
    REQUIRE(wcodec_load_once_u32(words + 1) == 2 && wcodec_load_once_u16(words + 1) == 2);
    *WCODEC_BUFFER_OUT(warp, uint32_t, address + 4) = 9;
    REQUIRE(*WCODEC_BLOCK(warp, uint32_t, address + 4) == 9);
    REQUIRE(wcodec_atomic_add(words, 10) == 1 && words[0] == 11);
    wcodec_atomic_store(words, 3);
    wcodec_store_once_u4(words + 4, 3, 4, 5, 6);
    REQUIRE(words[0] == 3 && wcodec_load_u32(words + 7) == 6);
}

static void test_words(void **state)
{
    uint32_t words[12];
    void *aligned = words + (16 - (uintptr_t)words % 16) % 16 / 4;
    (void)state;
    skip_without_fibers();
    launch(words_kernel, aligned, 1, 32, 0, 0);
}

/* Programs that are wrong in one way each. */
static void wrong_kernel(struct wcodec_warp *warp, const void *argument)
{
    const uint32_t lane = wcodec_lane(warp), base = wcodec_shared_base(warp);
    const uint8_t *bytes = argument;
    switch (bytes[0]) {
    case 0: /* lane 7 does not vote */
        if (lane != 7)
            (void)wcodec_ballot(warp, true);
        break;
    case 1: /* two votes */
        if (lane < 7)
            (void)wcodec_ballot(warp, true);
        else
            (void)wcodec_ballot(warp, true);
        break;
    case 2: /* lane 7 waits for the group, the others for their warp */
        if (lane == 7)
            wcodec_sync_group(warp);
        else
            wcodec_sync_warp(warp);
        break;
    case 3: /* warp 1 does not wait for the group */
        if (wcodec_thread(warp) < 32)
            wcodec_sync_group(warp);
        break;
    case 4: /* two barriers */
        if (wcodec_thread(warp) < 32)
            wcodec_sync_group(warp);
        else
            wcodec_sync_group(warp);
        break;
    case 5:
        (void)wcodec_shuffle(warp, 0, lane + 1);
        break;
    case 6: /* the last byte and the one after it */
        (void)wcodec_shared_u8(warp, base + 1023);
        (void)wcodec_shared_u16(warp, base + 1024);
        break;
    case 7:
        (void)wcodec_shared_u32(warp, 0);
        break;
    case 8:
        (void)wcodec_shared_u4(warp, base + 8);
        break;
    case 9:
        wcodec_put_u2(warp, base + 1020, wcodec_make_u2(0, 0));
        break;
    case 10:
        wcodec_copy_16(warp, base, bytes, 8, 16);
        break;
    case 11:
        wcodec_copy_16(warp, base, bytes, 0, 16);
        break;
    default:
        (void)wcodec_load_once_u32(bytes + 2);
    }
}

static void expect_abort(uint8_t way, const char *text)
{
    int ends[2], status;
    char report[4096];
    size_t size = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint32_t words[8] = {0};
        uint8_t *aligned = (uint8_t *)words + (16 - (uintptr_t)words % 16) % 16;
        const struct rlimit none = {0, 0};
        aligned[0] = way;
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], 2);
        launch(wrong_kernel, aligned, 1, 64, 1024, way);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], report + size, sizeof report - 1 - size)) > 0;)
        size += (size_t)n;
    report[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(report, text) == NULL)
        fail_msg("program %u: status %x, report without \"%s\":\n%s", way, (unsigned)status, text,
                 report);
}

static void test_wrong(void **state)
{
    static const char *const reports[] = {
        "lanes 00000080 have ended",
        "in different collectives",
        "lanes 00000080 wait in sync of the group",
        "warp 1: lanes ffffffff have ended",
        "at different barriers",
        "shuffle from lane 32",
        "2 bytes at offset 1024 of 1024 bytes",
        "4 bytes at offset -",
        "must be a multiple of 16",
        "must be a multiple of 8",
        "a copy from",
        "not been waited for",
        "is no multiple of 4",
    };
    (void)state;
    skip_without_fibers();
    for (uint8_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
        expect_abort(i, reports[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_each_lane),
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_unordered),
        cmocka_unit_test(test_copies),      cmocka_unit_test(test_renormalise),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
