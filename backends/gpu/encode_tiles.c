/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/encode_tiles.h"

enum {
    /* Tiles that a warp puts to their places, once it has found the first one's; of fewer than the
     * second all warps are needed. */
    JOINED = 4,
    JOINED_ALONE = 1 << 13,
    ENCODER_GROUPS = 4
};

const struct wcodec_tile_encoder_row wcodec_tile_encoder_rows[WCODEC_TILE_ENCODERS] = {
#define WCODEC_TILE_ENCODER(name, element_log2, raw, profile) \
    {#name, element_log2, raw, profile, ENCODER_GROUPS},
#define WCODEC_TILE_STEP(name, step, groups) {#name, 0, 0, 0, groups},
#include "backends/kernels/tile_encoders.def"
#undef WCODEC_TILE_ENCODER
#undef WCODEC_TILE_STEP
};

const struct wcodec_gpu_tiles_form wcodec_gpu_tiles_usual = {
    WCODEC_GPU_TILES_WARPS, WCODEC_GPU_TILES_WARPS_MANY, WCODEC_GPU_TILES_MANY,
    WCODEC_CODER_COPIES_LOG2, false};

static const struct wcodec_field *coded_field(const struct wcodec_tiling *t)
{
    return &t->fields[t->coded[0]];
}

static bool is_run(const struct wcodec_tiling *t, const struct wcodec_plane *plane)
{
    for (unsigned i = 0; i < plane->bits; i++)
        if (t->raw_position[plane->first + i] != (plane->position + i) % (8u << t->element_log2))
            return false;
    return true;
}

bool wcodec_gpu_codes_tiles(const struct wcodec_tiling *t)
{
    if (t->element_log2 > 2 || t->coded_count != 1 || coded_field(t)->tables != 1 ||
        coded_field(t)->run_log2 != 0 || t->raw_bits > 31 || t->tiles > INT32_MAX)
        return false;
    for (unsigned p = 0; p < t->plane_count; p++)
        if (!is_run(t, &t->planes[p]))
            return false;
    return true;
}

static unsigned kernel_of(const struct wcodec_tiling *t, bool any)
{
    for (unsigned k = 0; k < WCODEC_TILE_ENCODER_code_any && !any; k++) {
        const struct wcodec_tile_encoder_row *row = &wcodec_tile_encoder_rows[k];
        if (row->element_log2 == t->element_log2 && row->raw == t->raw_bits &&
            row->profile == coded_field(t)->profile)
            return k;
    }
    return WCODEC_TILE_ENCODER_code_any;
}

/* The bits of a plane in a word of slots. */
static uint32_t mask_of(const struct wcodec_tiling *t, const struct wcodec_plane *plane)
{
    const unsigned slot = 8u << t->element_log2;
    uint32_t mask = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((i + slot - plane->position) % slot < plane->bits)
            mask |= 1u << i;
    return mask;
}

/* A number of as many bits as an element has, repeated in a word. */
static uint32_t repeated(const struct wcodec_tiling *t, uint32_t number)
{
    return t->element_log2 == 0 ? number * 0x01010101u
                                : (t->element_log2 == 1 ? number * 0x00010001u : number);
}

static void set_planes(const struct wcodec_tiling *t, struct wcodec_coder_launch *a)
{
    a->position = t->plane_count > 0 ? t->planes[0].position : 0;
    for (unsigned p = 0; p < t->plane_count; p++)
        for (unsigned i = 0; i < 5; i++)
            if (t->planes[p].bits == 1u << i)
                a->plane_masks[i] = mask_of(t, &t->planes[p]);
}

static struct wcodec_coder_launch
arguments_of(const struct wcodec_tensor_coding *coding,
             uint64_t (*address)(const struct wcodec_memory *memory))
{
    const struct wcodec_tiling *t = coding->tiling;
    const struct wcodec_field *f = coded_field(t);
    const struct wcodec_tensor_work w = wcodec_tensor_work(t);
    const uint64_t work = address(coding->work) + coding->work_at;
    uint64_t at[WCODEC_AREAS];
    for (unsigned i = 0; i < WCODEC_AREAS; i++)
        at[i] = coding->areas[i].memory != NULL
                    ? address(coding->areas[i].memory) + coding->areas[i].offset
                    : 0;
    const uint64_t positions = coding->areas[WCODEC_AREA_POSITIONS].size / 2,
                   values = coding->areas[WCODEC_AREA_VALUES].size;
    struct wcodec_coder_launch a = {
        .elements = address(coding->elements) + coding->elements_at,
        .count = t->elements,
        .table = work,
        .tile_states = work + w.states,
        .tile_marks = work + w.marks,
        .tile_words = work + w.words,
        .sums = work + w.sums,
        .totals = work + w.totals,
        .directory = address(coding->directory.memory) + coding->directory.offset,
        .states = at[WCODEC_AREA_STATES],
        .words = at[WCODEC_AREA_WORDS],
        .words_size = coding->areas[WCODEC_AREA_WORDS].size,
        .raw = at[WCODEC_AREA_RAW],
        .raw_size = coding->areas[WCODEC_AREA_RAW].size,
        .positions = at[WCODEC_AREA_POSITIONS],
        .values = at[WCODEC_AREA_VALUES],
        .outliers = positions < values ? positions : values,
        .tiles = (uint32_t)t->tiles,
        .tile_log2 = t->tile_log2,
        .range_log2 = w.range_log2,
        .marks_part = (uint32_t)w.marks_part,
        .words_part = (uint32_t)w.words_part,
        .element_log2 = t->element_log2,
        .raw_bits = t->raw_bits,
        .profile = f->profile,
        .shift = f->shift,
        .mask = (1u << f->width) - 1,
        .add = repeated(t, (uint32_t)t->add),
        .carry = repeated(t, 1u << ((8u << t->element_log2) - 1)),
        .base = coding->base,
        .common = coding->common,
    };
    set_planes(t, &a);
    return a;
}

static void divide(struct wcodec_gpu_tiles *l, uint32_t warps, uint64_t tasks)
{
    l->groups = (uint32_t)((tasks + warps - 1) / warps);
    l->threads = 32 * warps;
}

int wcodec_gpu_code_tiles(const struct wcodec_tensor_coding *coding,
                          const struct wcodec_gpu_tiles_form *form,
                          uint64_t (*address)(const struct wcodec_memory *memory),
                          int (*launch)(void *opaque, struct wcodec_gpu_tiles *launch),
                          void *opaque)
{
    const uint64_t tiles = coding->tiling->tiles,
                   ranges = (tiles >> wcodec_tensor_work(coding->tiling).range_log2) + 1;
    const unsigned kernel = kernel_of(coding->tiling, form->any);
    const uint32_t warps = tiles < form->many_from || kernel == WCODEC_TILE_ENCODER_code_any
                               ? form->warps
                               : form->many;
    struct wcodec_gpu_tiles l = {.kernel = kernel,
                                 .shared = WCODEC_GPU_TILES_SHARED_OF(warps, form->copies_log2),
                                 .arguments = arguments_of(coding, address)};
    divide(&l, warps, tiles);
    int result = launch(opaque, &l);
    l.kernel = WCODEC_TILE_ENCODER_code_sums;
    l.shared = 0;
    divide(&l, form->warps, ranges);
    if (result == 0)
        result = launch(opaque, &l);
    l.kernel = WCODEC_TILE_ENCODER_code_join;
    divide(&l, form->warps, tiles < JOINED_ALONE ? tiles : (tiles + JOINED - 1) / JOINED);
    return result == 0 ? launch(opaque, &l) : result;
}
