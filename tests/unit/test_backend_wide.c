/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of products of many vectors (backends/gpu/product_wide.h), and of y = x W by clusters
 * (backends/gpu/product.h), without a device: every matrix and number of vectors is divided so that
 * work-groups take all of it once, in the memory that there is. */
#include "support.h"

#include "backends/gpu/product_wide.h"

/* As an H200 runs them, and a device that runs few, and no clusters of three. */
static const struct wcodec_gpu_wide_limits devices[] = {
    {{0, 132, 66, 39, 30, 24, 20, 16, 14}, 227 << 10},
    {{0, 20, 9, 0, 4, 0, 0, 0, 1}, WCODEC_GPU_WIDE_SHARED},
    {{0, 1, 0, 0, 0, 0, 0, 0, 0}, 227 << 10}};
enum { DEVICES = sizeof devices / sizeof *devices };

static struct wcodec_fixed matrix_of(uint64_t rows, uint64_t columns, unsigned bits, unsigned list)
{
    struct wcodec_fixed f = {.columns = columns, .bits = (uint8_t)bits, .list = (uint8_t)list};
    assert_int_equal(wcodec_fixed_derive(&f, 2 * rows * columns, NULL), WCODEC_OK);
    return f;
}

/* Every part of the columns of all rows and vectors is one work-group's (wcodec_wide_place()), and
 * those of a cluster are its first ones. */
static void check_groups(const struct wcodec_gpu_wide *l, const struct wcodec_fixed *f)
{
    const struct wcodec_wide_launch *a = &l->arguments;
    const uint32_t parts = a->product.parts, size = parts * a->shares,
                   tall = (uint32_t)(f->bands + WCODEC_WIDE_BANDS - 1) / WCODEC_WIDE_BANDS,
                   clusters = (tall + a->shares - 1) / a->shares,
                   blocks = (a->product.vectors + a->vectors - 1) / a->vectors;
    uint8_t *taken = calloc(blocks * tall, parts);
    const uint32_t groups = clusters * blocks * size;
    assert_non_null(taken);
    assert_int_equal(l->cluster, a->groups != 0 ? 1 : size);
    assert_true(a->groups == 0 ? l->groups == groups : a->groups == groups && l->groups >= groups);
    for (uint32_t group = 0; group < groups; group++) {
        const uint32_t cluster = group / size, rank = group % size, block = cluster / clusters,
                       rows = cluster % clusters * a->shares + rank / parts;
        if (rows < tall)
            taken[(block * tall + rows) * parts + rank % parts]++;
    }
    for (uint32_t i = 0; i < blocks * tall * parts; i++)
        assert_int_equal(taken[i], 1);
    free(taken);
}

/* What parts that are no cluster have of each other is in the room, behind x, and what makes x
 * ready has a thread for each counter. */
static void check_joined(const struct wcodec_gpu_wide *l, const struct wcodec_product *p,
                         const struct wcodec_gpu_wide_limits *limits)
{
    const struct wcodec_wide_launch *a = &l->arguments;
    const uint64_t blocks = (a->product.vectors + a->vectors - 1) / a->vectors,
                   items = a->groups / a->product.parts,
                   sums = (uint64_t)a->groups * WCODEC_WIDE_ROWS * a->vectors * 4;
    assert_int_equal(a->shares, 1);
    assert_true(a->vectors <= WCODEC_WIDE_JOINED);
    assert_true(a->sums >= a->blocks + blocks * a->block_size && a->sums % 16 == 0);
    assert_true(a->counters >= a->sums + sums);
    assert_int_equal(a->counts, items * WCODEC_WIDE_BANDS);
    assert_true(a->counters + 4 * (uint64_t)a->counts <= p->room + p->room_size);
    assert_true(a->counts <= l->x_groups * WCODEC_WIDE_X_THREADS);
    /* Parts that wait for others would all have to run at a time: none does, but one turn it is
     * where there are parts. */
    assert_true(a->product.parts == 1 || l->groups <= limits->clusters[1]);
}

static void check_launch(const struct wcodec_gpu_wide *l, const struct wcodec_product *p,
                         const struct wcodec_gpu_wide_limits *limits, uint64_t taken)
{
    const struct wcodec_fixed *f = p->fixed;
    const struct wcodec_wide_row *row = &wcodec_wide_rows[l->kernel];
    const struct wcodec_wide_launch *a = &l->arguments;
    const uint64_t blocks = (taken + row->vectors - 1) / row->vectors;
    assert_int_equal(row->bits, f->bits);
    assert_int_equal(a->product.vectors, taken);
    assert_int_equal(a->vectors, row->vectors);
    assert_true(a->product.parts >= 1 && a->product.parts <= f->across);
    assert_true(limits->clusters[l->cluster] != 0);
    assert_true(a->stages >= 2 && a->stages <= WCODEC_WIDE_STAGES);
    assert_true(l->shared <= limits->shared);
    assert_true(l->shared >= WCODEC_WIDE_HEAD + 4 * row->vectors * WCODEC_WIDE_STRIDE);
    assert_int_equal(l->threads, WCODEC_WIDE_THREADS(row->helpers));
    assert_int_equal(a->blocks, p->room);
    assert_true(blocks * a->block_size <= p->room_size);
    assert_true(l->x_groups >= 1 &&
                ((uint64_t)(l->x_groups - 1) * WCODEC_WIDE_X_THREADS <
                     blocks * row->vectors * f->across * 4 ||
                 (uint64_t)(l->x_groups - 1) * WCODEC_WIDE_X_THREADS < a->counts));
    if (a->groups != 0)
        check_joined(l, p, limits);
    /* A work-group of 32 registers a thread that makes x ready has room beside one of these. */
    if (row->vectors < 256) {
        assert_true(l->shared + 1024 <= limits->shared);
        assert_true(l->x_groups <= WCODEC_WIDE_X_GROUPS * limits->clusters[1]);
    }
    check_groups(l, f);
}

static void check_product(const struct wcodec_fixed *f, uint64_t vectors, uint64_t room_size,
                          const struct wcodec_gpu_wide_limits *limits)
{
    const struct wcodec_product p = {.fixed = f,
                                     .x = 1 << 20,
                                     .y = 1 << 30,
                                     .x_stride = 2 * f->columns,
                                     .y_stride = 2 * f->rows,
                                     .vectors = vectors,
                                     .y_dtype = WCODEC_DTYPE_BF16,
                                     .room = 4096,
                                     .room_size = room_size};
    uint64_t first = 0;
    assert_true(wcodec_gpu_takes_wide(&p));
    while (first < vectors) {
        struct wcodec_gpu_wide l;
        const uint64_t taken = wcodec_gpu_plan_wide(&p, 1 << 16, limits, first, &l);
        assert_true(taken > 0 && taken <= vectors - first);
        assert_int_equal(l.arguments.product.x, p.x + first * p.x_stride);
        assert_int_equal(l.arguments.product.y, p.y + first * p.y_stride);
        check_launch(&l, &p, limits, taken);
        first += taken;
    }
}

static void test_divided(void **state)
{
    static const uint64_t rows[] = {1, 16, 128, 129, 300, 4096, 14336, 17000},
                          columns[] = {1, 128, 129, 1300, 4096, 14336},
                          vectors[] = {33, 64, 65, 96, 128, 129, 200, 256, 257, 520};
    (void)state;
    for (unsigned i = 0; i < 8 * 6 * 10; i++) {
        const struct wcodec_fixed f = matrix_of(rows[i % 8], columns[i / 8 % 6],
                                                2 + (i + i / 8 + i / 48) % 2, 1 + i * 5 % 16);
        const uint64_t count = vectors[i / 48], least = 64 * f.across * WCODEC_FIXED_COLUMNS * 2;
        for (unsigned d = 0; d < DEVICES; d++) {
            check_product(&f, count, 8 * least + 5, &devices[d]);
            check_product(&f, count, least, &devices[d]);
            check_product(&f, count, 3 * least, &devices[d]);
        }
    }
}

static void test_taken(void **state)
{
    const struct wcodec_fixed f = matrix_of(4096, 1000, 2, 4);
    const struct wcodec_fixed large = matrix_of(8192, 4096, 2, 4);
    const uint64_t least = 32 * 8 * WCODEC_FIXED_COLUMNS * 2;
    struct wcodec_product p = {.fixed = &f, .vectors = 64, .room = 256, .room_size = least};
    (void)state;
    assert_true(wcodec_gpu_takes_wide(&p));
    p.vectors = 32;
    assert_false(wcodec_gpu_takes_wide(&p));
    p.vectors = 33;
    assert_true(wcodec_gpu_takes_wide(&p));
    p.room_size = least - 1;
    assert_false(wcodec_gpu_takes_wide(&p));
    p.room_size = least;
    p.transposed = true;
    assert_false(wcodec_gpu_takes_wide(&p));
    p.transposed = false;
    p.room = 0;
    assert_false(wcodec_gpu_takes_wide(&p));
    p.room = 256;
    p.room_size = wcodec_gpu_wide_room(&large, 17);
    p.fixed = &large;
    p.vectors = 17;
    assert_true(wcodec_gpu_takes_wide(&p));
    p.vectors = 16;
    assert_false(wcodec_gpu_takes_wide(&p));
}

/* The room that is asked for takes all vectors in launches of as many as kernels have; that of
 * large matrices for few also sums of as many work-groups as an H200 runs. */
static void test_room(void **state)
{
    static const struct {
        uint64_t rows, columns, least, most;
    } shapes[] = {{300, 7000, 33, 128},   {4096, 4096, 33, 128}, {8191, 4096, 33, 128},
                  {4096, 8192, 17, 256},  {8192, 4096, 17, 256}, {14336, 4096, 17, 256},
                  {4096, 14336, 17, 256}, {8192, 4095, 33, 128}};
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct wcodec_fixed f = matrix_of(shapes[i].rows, shapes[i].columns, 2 + i % 2, 3);
        const uint64_t each = f.across * WCODEC_FIXED_COLUMNS * 2,
                       sums = shapes[i].least < 33 ? (uint64_t)132 * WCODEC_WIDE_ROWS * 4 : 0,
                       least = shapes[i].least, most = shapes[i].most;
        assert_int_equal(wcodec_gpu_wide_room(&f, least - 1), 0);
        assert_true(wcodec_gpu_wide_room(&f, least) >= (least < 33 ? 32 : 64) * (each + sums));
        assert_true(wcodec_gpu_wide_room(&f, 64) >= 64 * (each + sums));
        assert_int_equal(wcodec_gpu_wide_room(&f, 65), 128 * each);
        assert_true(wcodec_gpu_wide_room(&f, most) != 0);
        assert_int_equal(wcodec_gpu_wide_room(&f, most + 1), 0);
        for (uint64_t v = least; v <= most; v += 31)
            check_product(&f, v, wcodec_gpu_wide_room(&f, v), &devices[0]);
    }
}

/* What an H200 is given: work-groups for as many multiprocessors as there are. */
static void test_shapes(void **state)
{
    static const struct {
        uint64_t rows, columns, vectors;
        uint32_t kernel, groups, parts, with_tiles;
    } expected[] = {{4096, 4096, 64, WCODEC_WIDE_wide11_64, 96, 3, 0},
                    {4096, 14336, 128, WCODEC_WIDE_wide11_128, 96, 3, 0},
                    {4096, 14336, 64, WCODEC_WIDE_wide11_64, 132, 4, 128},
                    {8192, 8192, 64, WCODEC_WIDE_wide11_64, 132, 2, 128},
                    {14336, 4096, 32, WCODEC_WIDE_wide11_32, 132, 1, 112},
                    {14336, 4096, 256, WCODEC_WIDE_wide11_256, 112, 1, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct wcodec_fixed f = matrix_of(expected[i].rows, expected[i].columns, 2, 4);
        const struct wcodec_product p = {.fixed = &f,
                                         .vectors = expected[i].vectors,
                                         .room = 256,
                                         .room_size =
                                             wcodec_gpu_wide_room(&f, expected[i].vectors)};
        struct wcodec_gpu_wide l;
        assert_int_equal(wcodec_gpu_plan_wide(&p, 0, &devices[0], 0, &l), p.vectors);
        assert_int_equal(l.kernel, expected[i].kernel);
        assert_int_equal(l.groups, expected[i].groups);
        assert_int_equal(l.arguments.product.parts, expected[i].parts);
        assert_int_equal(l.arguments.groups, expected[i].with_tiles);
    }
}

/* y = x W: every tile is one warp's (wcodec_transposed_kernel()). */
static void check_transposed(const struct wcodec_gpu_product *l, const struct wcodec_fixed *f)
{
    const struct wcodec_product_launch *a = &l->arguments;
    uint8_t *taken = calloc(f->across, f->bands);
    assert_non_null(taken);
    assert_int_equal(l->threads, 32 * a->parts);
    for (uint32_t group = 0; group < l->groups; group++)
        for (uint32_t warp = 0; warp < a->parts; warp++)
            for (uint64_t band = group % a->groups * a->parts + warp; band < f->bands;
                 band += a->parts * a->groups)
                taken[group / a->groups * f->bands + band]++;
    for (uint64_t i = 0; i < f->across * f->bands; i++)
        assert_int_equal(taken[i], 1);
    free(taken);
}

static void test_transposed(void **state)
{
    static const struct {
        uint64_t rows, columns;
        uint32_t groups; /* of a cluster, on an H200 */
    } shapes[] = {{4096, 4096, 3},  {8192, 8192, 2}, {14336, 4096, 3}, {4096, 14336, 1},
                  {1, 1, 1},        {16, 300, 1},    {300, 7000, 2},   {1000, 128, 4},
                  {17000, 1300, 8}, {256, 128, 1}};
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct wcodec_fixed f = matrix_of(shapes[i].rows, shapes[i].columns, 2 + i % 2, 4);
        const struct wcodec_product p = {.fixed = &f, .vectors = 5, .transposed = true};
        struct wcodec_gpu_product_limits limits = {132, WCODEC_PRODUCT_WARPS, 227 << 10, 32,
                                                   devices[0].clusters};
        struct wcodec_gpu_product l;
        assert_int_equal(wcodec_gpu_plan_product(&p, 0, &limits, 0, &l), 5);
        assert_int_equal(l.arguments.groups, shapes[i].groups);
        check_transposed(&l, &f);
        limits.clusters = NULL;
        limits.shared = 48 << 10;
        assert_int_equal(wcodec_gpu_plan_product(&p, 0, &limits, 0, &l), 5);
        assert_int_equal(l.arguments.groups, 1);
        check_transposed(&l, &f);
        assert_int_equal(wcodec_gpu_transposed_most(&f, true), 16);
        assert_int_equal(wcodec_gpu_transposed_most(&f, false), shapes[i].columns >= 8192 ? 16 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_divided), cmocka_unit_test(test_taken),
                                       cmocka_unit_test(test_room), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_transposed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
