/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/product_wide.h"

const struct wcodec_wide_row wcodec_wide_rows[WCODEC_WIDE_PRODUCTS] = {
#define WCODEC_WIDE_PRODUCT(name, bits, vectors, helpers) {#name, bits, vectors, helpers},
#include "backends/kernels/products_wide.def"
#undef WCODEC_WIDE_PRODUCT
};

enum {
    LEAST = 33,       /* vectors: fewer other kernels take as fast, */
    LEAST_LARGE = 17, /* but for large matrices */
    START = 8,        /* tiles that take as long as a work-group's beginning and end, */
    JOIN = 2,         /* and as what parts of no cluster have of each other */
    RESERVED = 1024,  /* bytes of shared memory that a multiprocessor wants for any work-group */
    FULL = 256,       /* vectors of work-groups that leave no registers */
    ROOM_GROUPS = 144 /* whose sums room is asked for: a device that runs more has clusters */
};

/* Most vectors that take less time so than after decoding, by a library: of large matrices, and of
 * others. Measured on an H200 (bench/gpu/README.md, "By warpgroups"). */
enum { LARGE = 1 << 25 /* elements */, LARGE_MOST = 256, MOST = 128 };

static bool is_large(const struct wcodec_fixed *f)
{
    return f->rows * f->columns >= LARGE;
}

static uint64_t least_of(const struct wcodec_fixed *f)
{
    return is_large(f) ? LEAST_LARGE : LEAST;
}

/* Bytes that a block of the kernel's vectors takes when it is ready. */
static uint64_t block_size(const struct wcodec_fixed *f, unsigned k)
{
    return (uint64_t)wcodec_wide_rows[k].vectors * f->across * WCODEC_FIXED_COLUMNS * 2;
}

/* The kernel with the least blocks that take all vectors, in so much memory; WCODEC_WIDE_PRODUCTS:
 * there is none. */
static unsigned kernel_for(const struct wcodec_fixed *f, uint64_t vectors, uint64_t size)
{
    unsigned found = WCODEC_WIDE_PRODUCTS;
    for (unsigned k = 0; k < WCODEC_WIDE_PRODUCTS; k++)
        if (wcodec_wide_rows[k].bits == f->bits && block_size(f, k) <= size) {
            found = k;
            if (wcodec_wide_rows[k].vectors >= vectors)
                break;
        }
    return found;
}

/* Of all rows and blocks of vectors, work-groups without parts. */
static uint64_t items_of(const struct wcodec_fixed *f, uint64_t blocks)
{
    return (f->bands + WCODEC_WIDE_BANDS - 1) / WCODEC_WIDE_BANDS * blocks;
}

/* Bytes that work-groups whose parts are no cluster have beside x: their sums, and counters. */
static uint64_t joined_size(uint64_t groups, uint64_t items, uint32_t vectors)
{
    return groups * WCODEC_WIDE_ROWS * vectors * sizeof(float) +
           items * WCODEC_WIDE_BANDS * sizeof(uint32_t);
}

uint64_t wcodec_gpu_wide_room(const struct wcodec_fixed *f, uint64_t vectors)
{
    if (vectors < least_of(f) || vectors > (is_large(f) ? LARGE_MOST : MOST))
        return 0;
    const unsigned k = kernel_for(f, vectors, UINT64_MAX);
    const uint32_t each = wcodec_wide_rows[k].vectors;
    const uint64_t blocks = (vectors + each - 1) / each, size = blocks * block_size(f, k);
    return is_large(f) && each <= WCODEC_WIDE_JOINED
               ? size + joined_size(ROOM_GROUPS, items_of(f, blocks), each)
               : size;
}

bool wcodec_gpu_takes_wide(const struct wcodec_product *p)
{
    return !p->transposed && p->room != 0 && p->vectors >= least_of(p->fixed) &&
           kernel_for(p->fixed, 1, p->room_size) != WCODEC_WIDE_PRODUCTS;
}

/* Parts of the columns that are no cluster: as many as end first, of work-groups that all run at a
 * time if their rows and vectors do. The one that ends last adds the sums. Others, without tiles,
 * take what multiprocessors there are besides: what makes the next product's x ready would pile up
 * there. false: these are not for them, or there is no room. */
static bool divide_joined(const struct wcodec_product *p,
                          const struct wcodec_gpu_wide_limits *limits, uint64_t blocks,
                          struct wcodec_gpu_wide *l)
{
    const struct wcodec_fixed *f = p->fixed;
    const uint64_t items = items_of(f, blocks), units = limits->clusters[1],
                   x = blocks * l->arguments.block_size;
    uint64_t parts = 1, least = UINT64_MAX;
    if (l->arguments.vectors > WCODEC_WIDE_JOINED ||
        items * WCODEC_WIDE_BANDS > units * WCODEC_WIDE_X_THREADS)
        return false;
    for (uint64_t some = 1; some <= f->across && (some == 1 || some * items <= units); some++) {
        const uint64_t turns = (some * items + units - 1) / units,
                       time = turns * ((f->across + some - 1) / some + START) +
                              (some > 1 ? (unsigned)JOIN : 0);
        if (time < least &&
            x + joined_size(some * items, items, l->arguments.vectors) <= p->room_size) {
            least = time;
            parts = some;
        }
    }
    if (least == UINT64_MAX)
        return false;
    l->cluster = 1;
    l->arguments.product.parts = (uint32_t)parts;
    l->arguments.shares = 1;
    l->arguments.groups = (uint32_t)(parts * items);
    l->groups = parts * items < units ? (uint32_t)units : l->arguments.groups;
    l->arguments.sums = p->room + x;
    l->arguments.counters =
        l->arguments.sums + parts * items * WCODEC_WIDE_ROWS * l->arguments.vectors * 4;
    l->arguments.counts = (uint32_t)items * WCODEC_WIDE_BANDS;
    return true;
}

/* Work-groups of a cluster: of those shapes the one that ends first, if work-groups take as long as
 * they have tiles; those that share x if that is no matter. */
static void divide(const struct wcodec_gpu_wide_limits *limits, const struct wcodec_fixed *f,
                   uint64_t blocks, struct wcodec_gpu_wide *l)
{
    const uint64_t tall = (f->bands + WCODEC_WIDE_BANDS - 1) / WCODEC_WIDE_BANDS;
    uint64_t least = UINT64_MAX;
    for (uint32_t shares = tall > 1 ? 2 : 1; shares > 0; shares--)
        for (uint32_t parts = 1; parts * shares <= WCODEC_WIDE_CLUSTER && parts <= f->across;
             parts++) {
            const uint64_t at_once = limits->clusters[parts * shares],
                           clusters = (tall + shares - 1) / shares * blocks;
            if (at_once == 0)
                continue;
            const uint64_t turns = (clusters + at_once - 1) / at_once,
                           time = turns * ((f->across + parts - 1) / parts + START);
            if (time >= least)
                continue;
            least = time;
            l->cluster = parts * shares;
            l->groups = (uint32_t)(clusters * l->cluster);
            l->arguments.product.parts = parts;
            l->arguments.shares = shares;
        }
}

/* As many stages of x as there is room for, beside a work-group that makes x ready. */
static void stage(const struct wcodec_gpu_wide_limits *limits, const struct wcodec_fixed *f,
                  struct wcodec_gpu_wide *l)
{
    const struct wcodec_wide_row *row = &wcodec_wide_rows[l->kernel];
    const uint32_t warps = WCODEC_WIDE_BANDS * wcodec_wide_records(row->vectors) *
                           wcodec_wide_record(row->bits, f->list),
                   each = 128 * row->vectors,
                   fit = (limits->shared - RESERVED - WCODEC_WIDE_HEAD - warps) / each;
    l->arguments.stages = fit < WCODEC_WIDE_STAGES ? fit : WCODEC_WIDE_STAGES;
    l->threads = WCODEC_WIDE_THREADS(row->helpers);
    l->shared = WCODEC_WIDE_HEAD + l->arguments.stages * each + warps;
}

/* Work-groups that make x ready: no more than find room beside those that multiply, of this product
 * or the one before. Others would wait for those to end, and have what comes after wait. */
static uint32_t x_groups(const struct wcodec_gpu_wide_limits *limits, uint64_t pieces,
                         const struct wcodec_gpu_wide *l)
{
    const uint64_t wanted = pieces > l->arguments.counts ? pieces : l->arguments.counts,
                   groups = (wanted + WCODEC_WIDE_X_THREADS - 1) / WCODEC_WIDE_X_THREADS,
                   units = limits->clusters[1], busy = l->groups < units ? l->groups : units,
                   most = busy + (units - busy) * WCODEC_WIDE_X_GROUPS;
    return (uint32_t)(groups > most && l->arguments.vectors < FULL ? most : groups);
}

uint64_t wcodec_gpu_plan_wide(const struct wcodec_product *p, uint64_t matrix,
                              const struct wcodec_gpu_wide_limits *limits, uint64_t first,
                              struct wcodec_gpu_wide *l)
{
    const struct wcodec_fixed *f = p->fixed;
    uint64_t vectors = p->vectors - first;
    const unsigned k = kernel_for(f, vectors, p->room_size);
    const uint64_t each = wcodec_wide_rows[k].vectors, size = block_size(f, k),
                   most = p->room_size / size;
    uint64_t blocks = (vectors + each - 1) / each;
    /* What is left over in a block has a kernel of its own. */
    if (blocks > 1 && vectors % each != 0 && vectors % each <= each / 2)
        blocks--;
    blocks = blocks < most ? blocks : most;
    vectors = vectors < blocks * each ? vectors : blocks * each;
    *l = (struct wcodec_gpu_wide){
        .kernel = k,
        .arguments = {.blocks = p->room, .block_size = size, .vectors = (uint32_t)each}};
    wcodec_gpu_product_arguments(p, matrix, first, vectors, &l->arguments.product);
    if (!divide_joined(p, limits, blocks, l))
        divide(limits, f, blocks, l);
    stage(limits, f, l);
    l->x_groups = x_groups(limits, blocks * each * f->across * 4, l);
    return vectors;
}
