/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/vectors.h"

enum {
    TENSOR_DEPTH = 128,  /* numbers of anchors in a stage: vectors_tensor.h */
    TENSOR_PITCH = 1024, /* most numbers of a row */
    TOGETHER = 8         /* rows in local memory: vectors_tensor.h */
};

const char *const wcodec_vectors_kernel_names[WCODEC_VECTORS_KERNELS] = {
#define WCODEC_VECTORS_PLAIN(name, arguments) #name,
#define WCODEC_VECTORS_TENSOR(name, held) #name,
#define WCODEC_VECTORS_BESIDE(name, arguments) #name,
#include "backends/kernels/vectors.def"
#undef WCODEC_VECTORS_PLAIN
#undef WCODEC_VECTORS_TENSOR
#undef WCODEC_VECTORS_BESIDE
};

/* Those that are there. */
static uint32_t rows_of(const struct wcodec_vectors_step *step)
{
    return step->used != 0 ? step->used : (uint32_t)step->shape->rows;
}

/* Where things are. */
static struct wcodec_vectors_launch arguments_of(const struct wcodec_vectors_step *step,
                                                 uint64_t rows, uint64_t work, uint64_t anchors)
{
    const struct wcodec_vectors_shape *s = step->shape;
    const struct wcodec_vectors_places p = wcodec_vectors_places(s, step->room);
    const uint64_t count = wcodec_align_u64(s->rows, 64),
                   columns = wcodec_align_u64(step->room, WCODEC_VECTORS_COLUMNS);
    struct wcodec_vectors_launch l = {.rows = rows,
                                      .distance = work + p.distance,
                                      .index = work + p.index,
                                      .sums = work + p.sums,
                                      .result = work + p.result,
                                      .centre = work + p.centre,
                                      .keys = work + p.own,
                                      .anchors = anchors + p.anchors,
                                      .counts = anchors + p.counts,
                                      .totals = anchors + p.totals,
                                      .members = anchors + p.members,
                                      .begin = anchors + p.own_of_anchors,
                                      .count = rows_of(step),
                                      .anchor_count = step->count,
                                      .pitch = s->pitch,
                                      .dimensions = s->dimensions,
                                      .format = s->dtype == WCODEC_DTYPE_F32    ? WCODEC_TO_F32
                                                : s->dtype == WCODEC_DTYPE_BF16 ? WCODEC_TO_BF16
                                                                                : WCODEC_TO_F16,
                                      .number = step->number,
                                      .part = step->part,
                                      .row = {step->row[0], step->row[1], step->row[2]},
                                      .flags = (step->farthest ? WCODEC_VECTORS_FARTHEST : 0u) |
                                               (step->sums ? WCODEC_VECTORS_SUMS : 0u) |
                                               (step->trimmed ? WCODEC_VECTORS_TRIMMED_MEANS : 0u) |
                                               (step->whole ? WCODEC_VECTORS_WHOLE : 0u) |
                                               (step->any_order ? WCODEC_VECTORS_ANY_ORDER : 0u)};
    l.place = l.keys + 8 * count;
    l.norms = l.place + 4 * count;
    l.list = l.norms + 8 * count;
    l.few = l.list + 4 * count;
    l.rest = l.few + 16 * count;
    l.farthest = l.rest + 4 * count;
    l.halves =
        s->dtype == WCODEC_DTYPE_F16 && !s->centred
            ? rows
            : l.farthest + 16 * wcodec_align_u64(
                                    (s->rows + WCODEC_VECTORS_ROWS - 1) / WCODEC_VECTORS_ROWS, 64);
    l.middle = l.begin + 4 * (columns + 64);
    l.columns = l.middle + 4 * columns;
    l.bounds = l.columns + 2 * columns * s->pitch;
    return l;
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

struct list {
    struct wcodec_gpu_vectors_launch *launches;
    unsigned count;
    uint32_t items;
    struct wcodec_vectors_launch arguments;
};

static void add(struct list *list, enum wcodec_vectors_kernel kernel, uint32_t groups,
                uint32_t shared)
{
    list->launches[list->count++] =
        (struct wcodec_gpu_vectors_launch){.kernel = kernel,
                                           .groups = groups,
                                           .threads = list->items,
                                           .shared = shared,
                                           .arguments = list->arguments};
}

/* Rows are in local memory for some of it. */
bool wcodec_gpu_vectors_multiplies(const struct wcodec_vectors_shape *shape,
                                   const struct wcodec_gpu_vectors_form *form)
{
    return form->tensor && shape->pitch <= TENSOR_PITCH;
}

static bool takes_tensor(const struct wcodec_vectors_step *step,
                         const struct wcodec_gpu_vectors_form *form)
{
    return wcodec_gpu_vectors_multiplies(step->shape, form);
}

/* The nearest anchors by tensor cores, and what these leave open. */
static void add_tensor(struct list *l, const struct wcodec_vectors_step *step,
                       const struct wcodec_gpu_vectors_form *form)
{
    const uint32_t pitch = step->shape->pitch, count = rows_of(step),
                   depth = pitch < TENSOR_DEPTH ? pitch : TENSOR_DEPTH,
                   stages = 2 * 2 * WCODEC_VECTORS_COLUMNS * depth,
                   all = divide_up(count, form->items), many = 4 * form->units,
                   columns = (uint32_t)wcodec_align_u64(step->count, WCODEC_VECTORS_COLUMNS);
    const enum wcodec_vectors_kernel kernel = pitch == 64    ? WCODEC_VECTORS_KERNEL_tensor_64
                                              : pitch == 128 ? WCODEC_VECTORS_KERNEL_tensor_128
                                                             : WCODEC_VECTORS_KERNEL_tensor;
    l->arguments.bound_count = columns / (form->items / 4);
    add(l, WCODEC_VECTORS_KERNEL_columns, l->arguments.bound_count, 12 * form->items);
    add(l, kernel, all, stages > 4 * form->items ? stages : 4 * form->items);
    add(l, WCODEC_VECTORS_KERNEL_decide, all < many ? all : many, 4 * form->items);
    const uint32_t batches = divide_up(count, TOGETHER);
    add(l, WCODEC_VECTORS_KERNEL_rescan, batches < many ? batches : many,
        8 * form->items + 4 * TOGETHER * pitch);
    if (step->distances) {
        l->arguments.flags |= WCODEC_VECTORS_ALWAYS;
        add(l, WCODEC_VECTORS_KERNEL_distances, all, 16);
    }
}

static void add_move(struct list *l, const struct wcodec_vectors_step *step,
                     const struct wcodec_gpu_vectors_form *form)
{
    const uint32_t items = form->items, all = divide_up(rows_of(step), items);
    add(l, WCODEC_VECTORS_KERNEL_scan, 1, 8 * items);
    add(l, WCODEC_VECTORS_KERNEL_scatter, all, 16);
    /* Seeds are sought by distances, before any anchor moves. */
    if (step->whole && takes_tensor(step, form))
        add(l, WCODEC_VECTORS_KERNEL_distances, all, 16);
    add(l, WCODEC_VECTORS_KERNEL_move, step->count, WCODEC_GPU_VECTORS_SHARED(items));
    if (step->whole)
        add(l, WCODEC_VECTORS_KERNEL_seed, 1, 8 * items);
}

/* A part's rows to what those before have left. */
static void add_sums(struct list *l, const struct wcodec_vectors_step *step,
                     const struct wcodec_gpu_vectors_form *form)
{
    const uint32_t items = form->items;
    l->arguments.flags |= WCODEC_VECTORS_ADDED;
    add(l, WCODEC_VECTORS_KERNEL_scan, 1, 8 * items);
    if (!step->sums)
        return;
    add(l, WCODEC_VECTORS_KERNEL_scatter, divide_up(rows_of(step), items), 16);
    add(l, WCODEC_VECTORS_KERNEL_move, step->count, WCODEC_GPU_VECTORS_SHARED(items));
}

unsigned wcodec_gpu_vectors_launches(const struct wcodec_vectors_step *step,
                                     const struct wcodec_gpu_vectors_form *form, uint64_t rows,
                                     uint64_t work, uint64_t anchors,
                                     struct wcodec_gpu_vectors_launch *launches)
{
    struct list l = {launches, 0, form->items, arguments_of(step, rows, work, anchors)};
    const uint32_t count = rows_of(step), all = divide_up(count, form->items),
                   blocks = divide_up(count, WCODEC_VECTORS_ROWS), pairs = 8 * form->items,
                   sums = 8 * WCODEC_VECTORS_ROWS;
    switch (step->kind) {
    case WCODEC_VECTORS_BEGIN:
        if (takes_tensor(step, form))
            add(&l, WCODEC_VECTORS_KERNEL_halves, all, 16);
        break;
    case WCODEC_VECTORS_TAKE:
        add(&l, WCODEC_VECTORS_KERNEL_take, blocks, pairs > sums ? pairs : sums);
        break;
    case WCODEC_VECTORS_TRY:
        add(&l, WCODEC_VECTORS_KERNEL_try, blocks, WCODEC_VECTORS_TRIED * sums);
        break;
    case WCODEC_VECTORS_ASSIGN:
        if (takes_tensor(step, form))
            add_tensor(&l, step, form);
        else
            add(&l, WCODEC_VECTORS_KERNEL_assign, all,
                4 * WCODEC_VECTORS_AT_ONCE * WCODEC_VECTORS_PIECE);
        break;
    case WCODEC_VECTORS_MOVE:
        add_move(&l, step, form);
        break;
    case WCODEC_VECTORS_MEASURE:
        add(&l, WCODEC_VECTORS_KERNEL_energy, blocks, sums);
        add(&l, WCODEC_VECTORS_KERNEL_total, 1, 8 * WCODEC_VECTORS_SORTED);
        break;
    case WCODEC_VECTORS_ADD:
        add_sums(&l, step, form);
        break;
    case WCODEC_VECTORS_FINISH:
        add(&l, WCODEC_VECTORS_KERNEL_finish, step->count, 16);
        break;
    }
    return l.count;
}
