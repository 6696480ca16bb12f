/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include "core/assert.h"
#include "core/error.h"

#include <math.h>

enum { MEASURED = 8, TASK_UNITS = 16, UNIT = WCODEC_SUPERBLOCK, SIDE = WCODEC_TRANSFORM_SIDE };

/* Tasks are the same whatever the threads, and what they measured is put together in their order.
 */
struct part {
    double squares, largest_error;
    int largest, least;
};

struct job {
    const struct wcodec_encode_settings *settings;
    const struct wcodec_lossy_source *source;
    const struct wcodec_lossy_model *model;
    struct wcodec_lossy_result *result;
    struct wcodec_cpu_rounding rounding; /* by the model */
    uint64_t units;                      /* superblocks, or as many elements */
    size_t tasks;
    float scale; /* of a row of weight 1 */
    struct part *parts;
};

wcodec_status wcodec_lossy_result_init(const struct wcodec_lossy_source *s,
                                       struct wcodec_lossy_result *result, wcodec_error *err)
{
    const uint64_t blocks = s->blocks ? wcodec_lossy_superblocks(s) * WCODEC_SUPERBLOCK_BLOCKS : 0,
                   coefficients = s->blocks ? blocks * WCODEC_TRANSFORM_BLOCK : s->elements;
    const uint64_t scales = s->weights ? s->rows : 1;
    struct wcodec_lossy_result r = {.allocator = s->allocator};
    r.coefficients = wcodec_alloc_array(s->allocator, coefficients, 2);
    r.numbers = blocks ? wcodec_alloc_array(s->allocator, blocks, 1) : NULL;
    r.side = wcodec_alloc_zeroed(s->allocator, (size_t)(blocks / 4 + 4 * scales + 16));
    r.approximation = wcodec_alloc_array(s->allocator, s->size, 1);
    if (r.coefficients == NULL || (blocks && r.numbers == NULL) || r.side == NULL ||
        r.approximation == NULL) {
        wcodec_lossy_result_free(&r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %llu coefficients",
                           (unsigned long long)coefficients);
    }
    *result = r;
    return WCODEC_OK;
}

void wcodec_lossy_result_free(struct wcodec_lossy_result *r)
{
    wcodec_free(r->allocator, r->coefficients);
    wcodec_free(r->allocator, r->numbers);
    wcodec_free(r->allocator, r->side);
    wcodec_free(r->allocator, r->approximation);
    r->coefficients = NULL;
    r->numbers = r->side = r->approximation = NULL;
}

/* Of a row that is all zero, the scale is zero. */
static float scale_of(const struct wcodec_lossy_source *s, float scale, uint64_t row)
{
    return s->weights ? scale * s->weights[row] : scale;
}

bool wcodec_lossy_step_valid(const struct wcodec_lossy_source *s, double step)
{
    const float scale = step < 1e30 ? (float)(step / WCODEC_TRANSFORM_UNIT) : 0;
    bool valid = scale > 0 && wcodec_scale_valid(scale);
    for (uint64_t r = 0; r < s->rows && s->weights && valid; r++)
        valid = wcodec_scale_valid(scale_of(s, scale, r));
    return valid;
}

static void note_range(const int16_t coefficients[WCODEC_TRANSFORM_BLOCK], struct part *part)
{
    enum { AT_ONCE = 8 };
    int16_t largest[AT_ONCE] = {0}, least[AT_ONCE] = {0};
    for (unsigned i = 0; i < WCODEC_TRANSFORM_BLOCK; i += AT_ONCE)
        for (unsigned k = 0; k < AT_ONCE; k++) {
            const int16_t v = coefficients[i + k];
            largest[k] = v > largest[k] ? v : largest[k];
            least[k] = v < least[k] ? v : least[k];
        }
    for (unsigned k = 0; k < AT_ONCE; k++) {
        part->largest = largest[k] > part->largest ? largest[k] : part->largest;
        part->least = least[k] < part->least ? least[k] : part->least;
    }
}

/* Block b of the superblock at `to`: four numbers of the order lie together. */
static void store_block(unsigned order, unsigned b,
                        const int16_t coefficients[WCODEC_TRANSFORM_BLOCK], uint8_t *to)
{
    const uint8_t *positions = wcodec_orders[order];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k += 4) {
        uint64_t four = 0;
        for (unsigned i = 0; i < 4; i++)
            four |= (uint64_t)(uint16_t)coefficients[positions[k + i]] << (16 * i);
        wcodec_store_u64(to + (size_t)2 * wcodec_coefficient_index(b, k), four);
    }
}

/* A block at the edge: what is coded of mode none for places that are dropped is zero. */
static void clear_padding(unsigned height, unsigned width, struct wcodec_lossy_block *block)
{
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK && (height < SIDE || width < SIDE); k++)
        if (k / SIDE >= height || k % SIDE >= width)
            block->coefficients[WCODEC_TRANSFORM_NONE][k] = 0;
}

static unsigned least_mode(unsigned set)
{
    unsigned mode = WCODEC_TRANSFORM_NONE;
    while (!(set >> mode & 1))
        mode++;
    return mode;
}

static void quantise_superblock(const struct job *j, uint64_t superblock, struct part *part)
{
    const struct wcodec_lossy_source *s = j->source;
    const unsigned height = wcodec_lossy_height(s, superblock),
                   width = wcodec_lossy_width(s, superblock);
    uint8_t *to = j->result->coefficients + 2 * (superblock << WCODEC_SUPERBLOCK_LOG2);
    uint8_t *numbers = j->result->numbers + superblock * WCODEC_SUPERBLOCK_BLOCKS;
    float values[WCODEC_SUPERBLOCK], factors[WCODEC_SUPERBLOCK_ROWS];
    wcodec_lossy_load_superblock(s, superblock, values);
    wcodec_lossy_row_factors(s, superblock, factors);
    for (unsigned b = 0; b < WCODEC_SUPERBLOCK_BLOCKS; b++) {
        const unsigned y = b / 32 * SIDE, x = b % 32 * SIDE;
        struct wcodec_lossy_block block;
        struct wcodec_lossy_quantised q = {.mode = least_mode(j->model->set)};
        if (y < height && x < width) {
            wcodec_lossy_block_make(&s->dsp, j->model->set | WCODEC_SET_PLAIN,
                                    values + (size_t)WCODEC_SUPERBLOCK_COLUMNS * y + x,
                                    WCODEC_SUPERBLOCK_COLUMNS, s->weights ? factors + y : NULL,
                                    &block);
            if (!(j->model->bound > 0)) /* then they are compared with the repeated ones */
                clear_padding(height - y < SIDE ? height - y : SIDE,
                              width - x < SIDE ? width - x : SIDE, &block);
            wcodec_lossy_block_quantise(j->model, &j->rounding, &block, j->scale, &q);
        }
        numbers[b] = (uint8_t)q.mode;
        note_range(q.block.coefficients, part);
        store_block(j->model->order, b, q.block.coefficients, to);
    }
}

/* Elements of a row, or of a tensor with one scale. */
static void quantise_run(const struct job *j, float scale, const float *values, size_t count,
                         uint8_t *to, struct part *part)
{
    enum { AT_ONCE = WCODEC_TRANSFORM_BLOCK };
    const float inverse = scale > 0 ? 1 / ((float)WCODEC_TRANSFORM_UNIT * scale) : 0;
    for (size_t first = 0; first < count; first += AT_ONCE) {
        const size_t n = count - first < AT_ONCE ? count - first : AT_ONCE;
        const float *in = values + first;
        float rest[AT_ONCE];
        struct wcodec_cpu_quantised q;
        if (n < AT_ONCE) {
            memset(rest, 0, sizeof rest);
            memcpy(rest, in, n * sizeof *in);
            in = rest;
        }
        j->source->dsp.quantise(&j->rounding, false, in, inverse, &q);
        note_range(q.coefficients, part);
        for (size_t i = 0; i < n; i++)
            wcodec_store_u16(to + 2 * (first + i), (uint16_t)q.coefficients[i]);
    }
}

static void quantise_plain(const struct job *j, uint64_t unit, struct part *part)
{
    const struct wcodec_lossy_source *s = j->source;
    const uint64_t first = unit * UNIT,
                   end = s->elements - first < UNIT ? s->elements : first + UNIT;
    float values[UNIT];
    wcodec_lossy_load(s->dtype, s->data + (first << s->element_log2), (size_t)(end - first),
                      values);
    for (uint64_t at = first, next; at < end; at = next) {
        const uint64_t row = s->weights ? at / s->columns : 0;
        next = s->weights && (row + 1) * s->columns < end ? (row + 1) * s->columns : end;
        quantise_run(j, scale_of(s, j->scale, row), values + (at - first), (size_t)(next - at),
                     j->result->coefficients + 2 * at, part);
    }
}

static uint64_t task_end(const struct job *j, uint64_t first)
{
    return j->units - first < TASK_UNITS ? j->units : first + TASK_UNITS;
}

static void quantise_task(void *argument, size_t task)
{
    struct job *j = argument;
    const uint64_t first = (uint64_t)task * TASK_UNITS, end = task_end(j, first);
    struct part part = {0};
    if (wcodec_cancel_poll(j->settings->cancel))
        return;
    for (uint64_t unit = first; unit < end; unit++)
        if (j->model->set == WCODEC_SET_PLAIN)
            quantise_plain(j, unit, &part);
        else
            quantise_superblock(j, unit, &part);
    j->parts[task] = part;
}

static void measure_run(const struct job *j, uint64_t first, size_t count, struct part *part)
{
    const struct wcodec_lossy_source *s = j->source;
    float before[UNIT], after[UNIT]; /* UNIT is a multiple of MEASURED */
    double squares[MEASURED] = {0}, largest[MEASURED] = {0};
    wcodec_lossy_load(s->dtype, s->data + (first << s->element_log2), count, before);
    wcodec_lossy_load(s->dtype, j->result->approximation + (first << s->element_log2), count,
                      after);
    for (size_t i = count; i % MEASURED; i++)
        before[i] = after[i] = 0;
    for (size_t i = 0; i < count; i += MEASURED)
        for (unsigned k = 0; k < MEASURED; k++) {
            const double error = fabs((double)after[i + k] - (double)before[i + k]);
            squares[k] += error * error;
            largest[k] = error > largest[k] ? error : largest[k];
        }
    for (unsigned k = 0; k < MEASURED; k++) {
        part->squares += squares[k];
        part->largest_error = fmax(part->largest_error, largest[k]);
    }
}

/* The rows and columns of a superblock are measured where they lie. */
static void measure_superblock(const struct job *j, uint64_t superblock, struct part *part)
{
    const struct wcodec_lossy_source *s = j->source;
    const uint64_t row = superblock / wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_ROWS,
                   column = superblock % wcodec_lossy_across(s) * WCODEC_SUPERBLOCK_COLUMNS;
    for (unsigned y = 0; y < wcodec_lossy_height(s, superblock); y++)
        measure_run(j, (row + y) * s->columns + column, wcodec_lossy_width(s, superblock), part);
}

static void measure_task(void *argument, size_t task)
{
    struct job *j = argument;
    const struct wcodec_lossy_source *s = j->source;
    struct wcodec_lossy_result *r = j->result;
    const uint64_t first = (uint64_t)task * TASK_UNITS, end = task_end(j, first);
    if (wcodec_cancel_poll(j->settings->cancel))
        return;
    for (uint64_t unit = first; unit < end; unit++) {
        const uint8_t *coefficients = r->coefficients + (unit * UNIT << r->lossy.coefficient_log2);
        if (r->lossy.plain) {
            const uint64_t at = unit * UNIT,
                           count = s->elements - at < UNIT ? s->elements - at : UNIT;
            wcodec_cpu_restore_lossy(&s->dsp, &r->lossy, r->side, at, at + count, coefficients, 0,
                                     s->size, r->approximation, false);
            measure_run(j, at, (size_t)count, &j->parts[task]);
        } else {
            wcodec_cpu_restore_lossy(&s->dsp, &r->lossy, r->side, unit, unit + 1, coefficients, 0,
                                     s->size, r->approximation, false);
            measure_superblock(j, unit, &j->parts[task]);
        }
    }
}

/* Modes that no block took are not in the list; the others are packed. Then come the scales. */
static void write_side(const struct job *j)
{
    struct wcodec_lossy_result *r = j->result;
    struct wcodec_lossy *l = &r->lossy;
    uint64_t counts[WCODEC_TRANSFORMS] = {0},
             blocks = j->model->set == WCODEC_SET_PLAIN
                          ? 0
                          : wcodec_lossy_superblocks(j->source) * WCODEC_SUPERBLOCK_BLOCKS;
    uint8_t index[WCODEC_TRANSFORMS];
    l->order = (uint8_t)j->model->order;
    l->mode_count = 0;
    if (j->model->set == WCODEC_SET_PLAIN)
        counts[WCODEC_TRANSFORM_NONE] = j->source->elements;
    for (uint64_t b = 0; b < blocks; b++)
        counts[r->numbers[b]]++;
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++)
        if (counts[m]) {
            index[m] = l->mode_count;
            l->counts[l->mode_count] = counts[m];
            l->modes[l->mode_count++] = (uint8_t)m;
        }
    (void)wcodec_lossy_derive(l, j->source->size, j->source->dtype, 1,
                              NULL); /* the source's view is one */
    const unsigned bits = wcodec_lossy_index_bits(l);
    memset(r->side, 0, (size_t)wcodec_lossy_tiles_begin(l));
    for (uint64_t b = 0; b < blocks && bits; b++)
        r->side[b * bits / 8] =
            (uint8_t)(r->side[b * bits / 8] | index[r->numbers[b]] << (b * bits % 8));
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(l); i++) {
        const float scale = scale_of(j->source, j->scale, i);
        uint32_t word;
        memcpy(&word, &scale, sizeof word);
        wcodec_store_u32(r->side + wcodec_lossy_modes_size(l) + 4 * i, word);
    }
    l->check = wcodec_lossy_side_check(l, r->side);
}

static void note_ranges(const struct job *j)
{
    struct wcodec_lossy_result *r = j->result;
    r->largest = r->least = 0;
    for (size_t i = 0; i < j->tasks; i++) {
        r->largest = j->parts[i].largest > r->largest ? j->parts[i].largest : r->largest;
        r->least = j->parts[i].least < r->least ? j->parts[i].least : r->least;
    }
}

static void note_errors(const struct job *j)
{
    struct wcodec_lossy *l = &j->result->lossy;
    double squares = 0;
    l->largest_error = 0;
    for (size_t i = 0; i < j->tasks; i++) {
        squares += j->parts[i].squares;
        l->largest_error = fmax(l->largest_error, j->parts[i].largest_error);
    }
    l->mean_squared_error = squares / (double)j->source->elements;
    l->mean_square = j->source->mean_square;
}

/* Of superblocks, or of as many elements in their order. */
static wcodec_status run(wcodec_context *context, struct job *j, bool plain,
                         void (*task)(void *, size_t), wcodec_error *err)
{
    j->units =
        plain ? wcodec_div_up_u64(j->source->elements, UNIT) : wcodec_lossy_superblocks(j->source);
    j->tasks = (size_t)wcodec_div_up_u64(j->units, TASK_UNITS);
    wcodec_free(j->source->allocator, j->parts);
    j->parts = wcodec_alloc_zeroed(j->source->allocator, j->tasks * sizeof *j->parts);
    if (j->parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory to measure an error");
    wcodec_run(context, task, j, j->tasks);
    if (wcodec_cancel_poll(j->settings->cancel))
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    return WCODEC_OK;
}

static bool all_plain(const struct job *j)
{
    const uint64_t blocks = wcodec_lossy_superblocks(j->source) * WCODEC_SUPERBLOCK_BLOCKS;
    for (uint64_t b = 0; b < blocks; b++)
        if (j->result->numbers[b] != WCODEC_TRANSFORM_NONE)
            return false;
    return true;
}

wcodec_status wcodec_lossy_quantise(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    const struct wcodec_lossy_source *s,
                                    struct wcodec_lossy_model *model, double step,
                                    struct wcodec_lossy_result *result, wcodec_error *err)
{
    WCODEC_ASSERT(model->set == WCODEC_SET_PLAIN || s->blocks);
    WCODEC_ASSERT(wcodec_lossy_step_valid(s, step));
    struct job j = {.settings = settings,
                    .source = s,
                    .model = model,
                    .rounding = wcodec_lossy_rounding(model),
                    .result = result,
                    .scale = (float)(step / WCODEC_TRANSFORM_UNIT)};
    result->lossy = (struct wcodec_lossy){.columns = s->columns,
                                          .row_scales = s->weights != NULL ? WCODEC_SCALES_ROWS
                                                                           : WCODEC_SCALES_ONE};
    wcodec_status status = run(context, &j, model->set == WCODEC_SET_PLAIN, quantise_task, err);
    if (status == WCODEC_OK && model->set != WCODEC_SET_PLAIN && all_plain(&j)) {
        /* Such a tensor is stored in another order. */
        model->set = WCODEC_SET_PLAIN;
        model->order = WCODEC_ORDER_DIAGONALS;
        j.rounding = wcodec_lossy_rounding(model);
        status = run(context, &j, true, quantise_task, err);
    }
    if (status == WCODEC_OK) {
        write_side(&j);
        note_ranges(&j);
    }
    wcodec_free(s->allocator, j.parts);
    return status;
}

wcodec_status wcodec_lossy_measure(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   const struct wcodec_lossy_source *s,
                                   struct wcodec_lossy_result *result, wcodec_error *err)
{
    struct job j = {.settings = settings, .source = s, .result = result};
    wcodec_status status = run(context, &j, result->lossy.plain, measure_task, err);
    if (status == WCODEC_OK)
        note_errors(&j);
    wcodec_free(s->allocator, j.parts);
    return status;
}

unsigned wcodec_lossy_result_narrow(struct wcodec_lossy_result *r)
{
    const uint64_t count = wcodec_lossy_coefficients(&r->lossy);
    if (r->least < -128 || r->largest > 127)
        return 1;
    for (uint64_t i = 0; i < count; i++)
        r->coefficients[i] = r->coefficients[2 * i];
    r->lossy.coefficient_log2 = 0;
    return 0;
}
