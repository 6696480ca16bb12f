/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/anchored.h"

#include "coding/anchored.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/assemble.h"
#include "encode/records.h"

#include <stdatomic.h>

enum {
    ROWS_MIN = 2048,
    ROWS_FOR_COLUMN = 6,   /* a table has more rows than columns by far, as weights have not */
    COLUMNS_MIN = 16,      /* of fewer, indices take too large a share */
    COLUMNS_MAX = 8192,    /* of more, a recall takes too much memory */
    ROWS_FOR_ANCHOR = 192, /* about; a power of two of them, */
    ANCHORS_LOG2_MIN = 4,
    ANCHORS_LOG2_MAX = 8, /* whose indices are bytes */
    WORTH = 64,           /* what they must save, one part in so many: the CPU decodes them alone */
    BLOCK = 256,          /* rows that a task takes */
    ELEMENTS_MIN = 1024   /* as without anchors */
};

struct anchoring {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_coded *plain; /* LOSSY: what is coded by anchors */
    struct wcodec_anchored a;
    struct wcodec_anchors found;
    uint8_t *bytes[WCODEC_ANCHORED_PARTS];
    struct wcodec_coded parts[WCODEC_ANCHORED_PARTS];
    atomic_bool wide, wrong, failed;
};

static wcodec_status out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor by anchors");
}

static bool fits(uint64_t columns, uint64_t anchors)
{
    return anchors <= (WCODEC_ANCHORED_BYTES_MAX >> 1) / columns;
}

static uint64_t anchors_by_rows(uint64_t rows, uint64_t columns)
{
    unsigned log2 = ANCHORS_LOG2_MIN;
    while (log2 < ANCHORS_LOG2_MAX && rows >> (log2 + 1) >= ROWS_FOR_ANCHOR &&
           fits(columns, (uint64_t)2 << log2))
        log2++;
    return (uint64_t)1 << log2;
}

const char *wcodec_anchored_refuses(wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                                    uint64_t anchors)
{
    if (!wcodec_lossy_dtype(dtype))
        return "it is neither of F16 nor of BF16 nor of F32";
    if (rank != 2)
        return "it has not two dimensions, rows and columns";
    const uint64_t rows = shape[0], columns = shape[1],
                   least = anchors != 0 ? anchors : 1u << ANCHORS_LOG2_MIN;
    if (columns < COLUMNS_MIN || columns > COLUMNS_MAX)
        return "it has fewer than 16 columns, or more than 8192";
    if (rows < 1u << ANCHORS_LOG2_MIN || rows > UINT32_MAX || rows * columns < ELEMENTS_MIN)
        return "it has fewer than 16 rows or 1024 elements, or more than 2^32 - 1 rows";
    if (rows < least)
        return "it has fewer rows than anchors";
    return fits(columns, least) ? NULL : "its anchors would take more than 2^21 elements";
}

bool wcodec_anchored_suits(const uint64_t *shape)
{
    return shape[0] >= ROWS_MIN && shape[0] / ROWS_FOR_COLUMN >= shape[1];
}

/* Is what was coded a table of numbers that have one scale and are not transformed? */
static bool applies(const struct wcodec_encode_settings *settings, const struct wcodec_coded *coded)
{
    const struct wcodec_lossy *l = coded->lossy;
    const uint64_t shape[] = {l->rows, l->columns};
    return settings->anchored ||
           (!settings->latency && l->plain && !l->row_scales && l->columns >= COLUMNS_MIN &&
            fits(l->columns, (uint64_t)1 << ANCHORS_LOG2_MAX) && wcodec_anchored_suits(shape));
}

static void store_number(uint8_t *to, unsigned log2, uint64_t i, int32_t number)
{
    wcodec_store_uint(to + (i << log2), (uint64_t)(int64_t)number, 1u << log2);
}

static void subtract_block(void *argument, size_t block)
{
    struct anchoring *w = argument;
    const struct wcodec_anchored *a = &w->a;
    const struct wcodec_anchors *found = &w->found;
    const int32_t most = a->number_log2 == 0 ? INT8_MAX : INT16_MAX;
    const uint64_t begin = (uint64_t)block * BLOCK,
                   end = a->rows - begin < BLOCK ? a->rows : begin + BLOCK;
    int32_t least = 0, largest = 0;
    for (uint64_t row = begin; row < end; row++) {
        const float *anchor = found->anchors + found->index[row] * found->width;
        for (uint64_t j = 0; j < a->columns; j++) {
            const uint64_t i = row * a->columns + j;
            const int32_t residual =
                wcodec_coefficient(w->plain->coefficients, w->plain->lossy->coefficient_log2,
                                   (size_t)i) -
                (int32_t)anchor[j];
            least = residual < least ? residual : least;
            largest = residual > largest ? residual : largest;
            store_number(w->bytes[WCODEC_ANCHORED_RESIDUALS], a->number_log2, i, residual);
        }
    }
    if (largest > most || least < -most - 1)
        atomic_store(&w->wide, true);
}

/* The bytes of all parts, their numbers of as many bytes as coefficients have, or else of two.
 * *fits: these are enough. */
static wcodec_status make_parts(struct anchoring *w, bool *fits, wcodec_error *err)
{
    struct wcodec_anchored *a = &w->a;
    for (unsigned i = 0; i < WCODEC_ANCHORED_PARTS; i++) {
        wcodec_free(&w->context->allocator, w->bytes[i]);
        w->bytes[i] =
            wcodec_alloc_array(&w->context->allocator, wcodec_anchored_part_size(a, i), 1);
        if (w->bytes[i] == NULL)
            return out_of_memory(err);
    }
    for (uint64_t k = 0; k < a->anchors; k++)
        for (uint64_t j = 0; j < a->columns; j++)
            store_number(w->bytes[WCODEC_ANCHORED_ANCHORS], a->number_log2, k * a->columns + j,
                         (int32_t)w->found.anchors[k * w->found.width + j]);
    for (uint64_t row = 0; row < a->rows; row++)
        wcodec_store_uint(w->bytes[WCODEC_ANCHORED_INDICES] + (row << a->index_log2),
                          w->found.index[row], 1u << a->index_log2);
    atomic_store(&w->wide, false);
    wcodec_run(w->context, subtract_block, w, (size_t)wcodec_div_up_u64(a->rows, BLOCK));
    *fits = !atomic_load(&w->wide);
    return WCODEC_OK;
}

static void verify_block(void *argument, size_t block)
{
    struct anchoring *w = argument;
    const struct wcodec_anchored *a = &w->a;
    const uint64_t begin = (uint64_t)block * BLOCK,
                   rows = a->rows - begin < BLOCK ? a->rows - begin : BLOCK,
                   row_size = wcodec_anchored_row_size(a);
    uint8_t *out = wcodec_alloc_array(&w->context->allocator, rows, (size_t)row_size);
    if (out == NULL) {
        atomic_store(&w->failed, true);
        return;
    }
    if (!wcodec_anchored_restore(a, w->bytes[WCODEC_ANCHORED_ANCHORS],
                                 w->bytes[WCODEC_ANCHORED_INDICES] + (begin << a->index_log2),
                                 w->bytes[WCODEC_ANCHORED_RESIDUALS] +
                                     (begin * a->columns << a->number_log2),
                                 rows, out) ||
        memcmp(out, w->plain->approximation + begin * row_size, (size_t)(rows * row_size)) != 0)
        atomic_store(&w->wrong, true);
    wcodec_free(&w->context->allocator, out);
}

static wcodec_status verify(struct anchoring *w, wcodec_error *err)
{
    wcodec_run(w->context, verify_block, w, (size_t)wcodec_div_up_u64(w->a.rows, BLOCK));
    if (atomic_load(&w->failed))
        return out_of_memory(err);
    return atomic_load(&w->wrong)
               ? wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "anchors do not decode to what was coded: this machine computes "
                             "wrongly")
               : WCODEC_OK;
}

static wcodec_status code_part(struct anchoring *w, unsigned part, wcodec_error *err)
{
    struct wcodec_encode_settings own = wcodec_part_settings(w->settings);
    struct wcodec_coded *coded = &w->parts[part];
    static const wcodec_dtype of_index[] = {WCODEC_DTYPE_U8, WCODEC_DTYPE_U16, WCODEC_DTYPE_U32};
    const wcodec_dtype dtype = part == WCODEC_ANCHORED_INDICES ? of_index[w->a.index_log2]
                               : w->a.number_log2 == 0         ? WCODEC_DTYPE_I8
                                                               : WCODEC_DTYPE_I16;
    own.predict = WCODEC_PREDICT_NONE;
    own.verify = false;
    wcodec_status status = wcodec_encode_tensor(w->context, &own, dtype, w->bytes[part],
                                                wcodec_anchored_part_size(&w->a, part), coded, err);
    if (status != WCODEC_OK) {
        *coded = (struct wcodec_coded){.allocator = NULL};
        return status;
    }
    return w->settings->verify || w->settings->verify_parts
               ? wcodec_coded_verify(w->context, &own, coded, w->bytes[part], NULL, err)
               : WCODEC_OK;
}

static void free_part(struct anchoring *w, unsigned part)
{
    if (w->parts[part].allocator != NULL)
        wcodec_coded_free(&w->parts[part]);
    w->parts[part] = (struct wcodec_coded){.allocator = NULL};
    wcodec_free(&w->context->allocator, w->bytes[part]);
    w->bytes[part] = NULL;
}

/* The parts' payloads one after the other, and the record. */
static wcodec_status assemble(struct anchoring *w, struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    struct wcodec_coded result = {.coding = WCODEC_CODING_ANCHORED, .allocator = allocator};
    result.parts = wcodec_alloc_array(allocator, WCODEC_ANCHORED_PARTS, sizeof *result.parts);
    result.parameters = wcodec_alloc(
        allocator, WCODEC_ANCHORED_HEAD_MAX + WCODEC_ANCHORED_PARTS * WCODEC_RECORD_CODING_MAX);
    bool good = result.parts != NULL && result.parameters != NULL;
    if (good)
        result.parameters_size = wcodec_anchored_write(&w->a, result.parameters);
    for (unsigned i = 0; i < WCODEC_ANCHORED_PARTS && good; i++) {
        result.parameters_size +=
            wcodec_coded_put_part(&w->parts[i], result.parameters + result.parameters_size);
        good = wcodec_coded_add_part(&result, &w->parts[i]);
        free_part(w, i);
    }
    if (!good) {
        wcodec_coded_free(&result);
        return out_of_memory(err);
    }
    *coded = result;
    return WCODEC_OK;
}

static void begin(struct anchoring *w)
{
    const struct wcodec_lossy *l = w->plain->lossy;
    const uint64_t given = w->settings->anchored ? w->settings->tables.anchors : 0,
                   anchors = given != 0 ? given : anchors_by_rows(l->rows, l->columns);
    w->a = (struct wcodec_anchored){.scale = wcodec_lossy_scale(l, w->plain->parts[0].data, 0),
                                    .largest_error = l->largest_error,
                                    .mean_squared_error = l->mean_squared_error,
                                    .mean_square = l->mean_square,
                                    .columns = l->columns,
                                    .anchors = anchors,
                                    .number_log2 = l->coefficient_log2,
                                    .index_log2 = anchors <= 1u << 8    ? 0
                                                  : anchors <= 1u << 16 ? 1
                                                                        : 2,
                                    .dtype = l->dtype,
                                    .element_log2 = l->element_log2,
                                    .rows = l->rows};
}

/* All parts. *done: they are coded. */
static wcodec_status code(struct anchoring *w, bool *done, wcodec_error *err)
{
    const struct wcodec_lossy *l = w->plain->lossy;
    *done = false;
    wcodec_status status = wcodec_anchors_find(
        w->context, w->settings->cancel, w->plain->coefficients, l->coefficient_log2,
        (size_t)l->rows, (size_t)l->columns, (size_t)w->a.anchors, &w->found, err);
    if (status == WCODEC_OK)
        status = make_parts(w, done, err);
    if (status == WCODEC_OK && !*done && w->a.number_log2 == 0) {
        w->a.number_log2 = 1;
        status = make_parts(w, done, err);
    }
    if (status != WCODEC_OK || !*done)
        return status;
    if (w->settings->verify || w->settings->verify_parts)
        status = verify(w, err);
    wcodec_anchors_free(&w->found);
    for (unsigned i = 0; i < WCODEC_ANCHORED_PARTS && status == WCODEC_OK; i++) {
        status = code_part(w, i, err);
        wcodec_free(&w->context->allocator, w->bytes[i]);
        w->bytes[i] = NULL;
    }
    return status;
}

static void free_anchoring(struct anchoring *w)
{
    for (unsigned i = 0; i < WCODEC_ANCHORED_PARTS; i++)
        free_part(w, i);
    wcodec_anchors_free(&w->found);
}

wcodec_status wcodec_anchored_replace(wcodec_context *context,
                                      const struct wcodec_encode_settings *settings,
                                      struct wcodec_coded *coded, int64_t *saved,
                                      const char **reason, wcodec_error *err)
{
    struct anchoring w = {.context = context,
                          .settings = settings,
                          .plain = coded,
                          .found = {.allocator = &context->allocator}};
    struct wcodec_coded anchored;
    bool done = false;
    *saved = 0;
    if (!applies(settings, coded))
        return WCODEC_OK;
    begin(&w);
    wcodec_status status = code(&w, &done, err);
    if (status == WCODEC_OK && done)
        status = assemble(&w, &anchored, err);
    free_anchoring(&w);
    if (settings->anchored && !done)
        *reason = "differences from anchors would take more than 16 bits";
    if (status != WCODEC_OK || !done)
        return status;
    const uint64_t size = coded->payload_size;
    if (!settings->anchored &&
        anchored.payload_size + anchored.parameters_size + size / WORTH >= size) {
        wcodec_coded_free(&anchored);
        return WCODEC_OK;
    }
    *saved = (int64_t)size - (int64_t)anchored.payload_size;
    anchored.approximation = coded->approximation;
    coded->approximation = NULL;
    wcodec_coded_free(coded);
    *coded = anchored;
    return WCODEC_OK;
}
