/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/masked.h"

#include "coding/masked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/records.h"

#include <stdatomic.h>

enum {
    TILE_LOG2 = 14,
    ELEMENTS_MIN = 4096,
    LOOKS = WCODEC_MASKED_LOOKS,
    LOOK = WCODEC_MASKED_LOOK,
    FEW = 32,          /* one element in so many is zero: or a mask is not tried */
    WORTH = 32,        /* what it must save, one part in so many: it is decoded by the CPU alone */
    SAMPLE = 1 << 18,  /* elements of a large tensor that are coded both ways, */
    SAMPLE_PIECES = 4, /* from so many places */
    LEVEL_QUICK = 2,   /* has no trials of zstd */
    CLEARLY = 16       /* a mask saves one part in so many */
};

struct masking {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    wcodec_dtype dtype;
    const uint8_t *data;
    struct wcodec_masked m;
    uint64_t *firsts; /* values before each tile */
    uint8_t *counts;  /* as the payload has them, zeros up to a multiple of 16 */
    uint8_t *mask, *values;
    bool verify;
    struct wcodec_coded parts[WCODEC_MASKED_PARTS];
    atomic_bool wrong, failed;
};

static wcodec_status out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a masked tensor");
}

/* Bytes go to zeros at no cost when all their bits are coded, as small types' are. Elements of 16
 * bits are decoded by devices when they have no mask. */
static bool applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                    uint64_t size)
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    return !settings->part && !settings->unmasked && settings->lossy == WCODEC_LOSSY_NONE &&
           !settings->latency && !settings->fixed && !settings->fragments &&
           (settings->predict == WCODEC_PREDICT_AUTO || settings->predict == WCODEC_PREDICT_NONE) &&
           log2 >= (settings->level < WCODEC_LEVEL_SIZE ? 2 : 1) && size >> log2 >= ELEMENTS_MIN;
}

/* Where look i begins, in bytes. */
static uint64_t look_at(unsigned element_log2, uint64_t elements, unsigned i)
{
    return ((elements - LOOK) * i / (LOOKS - 1)) << element_log2;
}

static bool is_dense(uint64_t values)
{
    return values > (uint64_t)LOOKS * LOOK / FEW * (FEW - 1);
}

unsigned wcodec_masked_places(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                              uint64_t size, uint64_t offsets[WCODEC_MASKED_LOOKS])
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    if (!applies(settings, dtype, size))
        return 0;
    for (unsigned i = 0; i < LOOKS; i++)
        offsets[i] = look_at(log2, size >> log2, i);
    return LOOKS;
}

bool wcodec_masked_is_tried(wcodec_dtype dtype, const uint8_t *elements)
{
    return !is_dense(
        wcodec_masked_count(wcodec_dtype_element_log2(dtype), elements, (uint64_t)LOOKS * LOOK));
}

/* Are there zeros at all, as far as a few places show? */
static bool has_zeros(const struct masking *w)
{
    const unsigned log2 = w->m.element_log2;
    uint64_t values = 0;
    for (unsigned i = 0; i < LOOKS; i++)
        values += wcodec_masked_count(log2, w->data + look_at(log2, w->m.elements, i), LOOK);
    return !is_dense(values);
}

static void count_task(void *argument, size_t i)
{
    struct masking *w = argument;
    const unsigned log2 = w->m.element_log2;
    w->firsts[i + 1] = wcodec_masked_count(log2, w->data + ((uint64_t)i << w->m.tile_log2 << log2),
                                           wcodec_masked_tile_elements(&w->m, i));
}

static void gather_task(void *argument, size_t i)
{
    struct masking *w = argument;
    const unsigned log2 = w->m.element_log2;
    const uint64_t first = (uint64_t)i << w->m.tile_log2;
    (void)wcodec_masked_gather(log2, w->data + (first << log2),
                               wcodec_masked_tile_elements(&w->m, i), w->mask + first / 8,
                               w->values + (w->firsts[i] << log2));
}

/* Counts, and where each tile's values begin. */
static wcodec_status count(struct masking *w, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    const uint64_t size = wcodec_masked_counts_size(&w->m);
    w->firsts = wcodec_alloc_array(allocator, w->m.tiles + 1, sizeof *w->firsts);
    w->counts = wcodec_alloc_zeroed(allocator, (size_t)wcodec_align_u64(size, 16));
    if (w->firsts == NULL || w->counts == NULL)
        return out_of_memory(err);
    wcodec_run(w->context, count_task, w, (size_t)w->m.tiles);
    w->firsts[0] = 0;
    for (uint64_t i = 0; i < w->m.tiles; i++) {
        wcodec_store_u32(w->counts + 4 * i, (uint32_t)w->firsts[i + 1]);
        w->firsts[i + 1] += w->firsts[i];
    }
    w->m.values = w->firsts[w->m.tiles];
    w->m.check = wcodec_masked_check(w->counts, size);
    return WCODEC_OK;
}

static wcodec_status gather(struct masking *w, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    w->mask = wcodec_alloc_array(allocator, wcodec_div_up_u64(w->m.elements, 8), 1);
    w->values =
        wcodec_alloc_array(allocator, (w->m.values << w->m.element_log2) + WCODEC_MASKED_AFTER, 1);
    if (w->mask == NULL || w->values == NULL)
        return out_of_memory(err);
    wcodec_run(w->context, gather_task, w, (size_t)w->m.tiles);
    memset(w->values + (w->m.values << w->m.element_log2), 0, WCODEC_MASKED_AFTER);
    return WCODEC_OK;
}

static void verify_task(void *argument, size_t i)
{
    struct masking *w = argument;
    const unsigned log2 = w->m.element_log2;
    const uint64_t first = (uint64_t)i << w->m.tile_log2,
                   elements = wcodec_masked_tile_elements(&w->m, i);
    uint8_t *out = wcodec_alloc_array(&w->context->allocator, elements, (size_t)1 << log2);
    if (out == NULL) {
        atomic_store(&w->failed, true);
        return;
    }
    if (!wcodec_masked_spread(log2, w->mask + first / 8, w->values + (w->firsts[i] << log2),
                              wcodec_load_u32(w->counts + 4 * i), elements, out) ||
        memcmp(out, w->data + (first << log2), (size_t)(elements << log2)) != 0)
        atomic_store(&w->wrong, true);
    wcodec_free(&w->context->allocator, out);
}

static wcodec_status verify(struct masking *w, wcodec_error *err)
{
    wcodec_run(w->context, verify_task, w, (size_t)w->m.tiles);
    if (atomic_load(&w->failed))
        return out_of_memory(err);
    return atomic_load(&w->wrong)
               ? wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "a mask does not decode to what was coded: this machine computes "
                             "wrongly")
               : WCODEC_OK;
}

/* Mask or values, which are not needed afterwards. */
static wcodec_status code_part(struct masking *w, unsigned part, uint8_t **bytes, wcodec_error *err)
{
    struct wcodec_encode_settings own = wcodec_part_settings(w->settings);
    struct wcodec_coded *coded = &w->parts[part];
    own.predict = WCODEC_PREDICT_NONE;
    wcodec_status status = wcodec_encode_tensor(
        w->context, &own, part == WCODEC_MASKED_MASK ? WCODEC_DTYPE_U8 : w->dtype, *bytes,
        wcodec_masked_part_size(&w->m, part), coded, err);
    if (status != WCODEC_OK) {
        *coded = (struct wcodec_coded){.allocator = NULL};
        return status;
    }
    if (w->verify)
        status = wcodec_coded_verify(w->context, &own, coded, *bytes, NULL, err);
    wcodec_free(&w->context->allocator, *bytes);
    *bytes = NULL;
    return status;
}

static wcodec_status assemble(struct masking *w, struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    struct wcodec_coded result = {.coding = WCODEC_CODING_MASKED, .allocator = allocator};
    result.parts = wcodec_alloc_array(allocator, 1 + WCODEC_MASKED_PARTS, sizeof *result.parts);
    result.parameters = wcodec_alloc(allocator, WCODEC_MASKED_HEAD_MAX +
                                                    WCODEC_MASKED_PARTS * WCODEC_RECORD_CODING_MAX);
    bool good = result.parts != NULL && result.parameters != NULL;
    if (good) {
        result.payload_size = wcodec_masked_counts_size(&w->m);
        result.parts[result.part_count++] =
            (struct wcodec_coded_part){w->counts, result.payload_size};
        w->counts = NULL;
        result.parameters_size = wcodec_masked_write(&w->m, result.parameters);
    }
    for (unsigned i = 0; i < WCODEC_MASKED_PARTS && good; i++) {
        result.parameters_size +=
            wcodec_coded_put_part(&w->parts[i], result.parameters + result.parameters_size);
        result.order0_bits += w->parts[i].order0_bits;
        good = wcodec_coded_add_part(&result, &w->parts[i]);
        wcodec_coded_free(&w->parts[i]);
        w->parts[i] = (struct wcodec_coded){.allocator = NULL};
    }
    if (!good) {
        wcodec_coded_free(&result);
        return out_of_memory(err);
    }
    *coded = result;
    return WCODEC_OK;
}

static wcodec_status code(struct masking *w, struct wcodec_coded *coded, wcodec_error *err)
{
    wcodec_status status = gather(w, err);
    if (status == WCODEC_OK && w->verify)
        status = verify(w, err);
    if (status == WCODEC_OK)
        status = code_part(w, WCODEC_MASKED_VALUES, &w->values, err);
    if (status == WCODEC_OK)
        status = code_part(w, WCODEC_MASKED_MASK, &w->mask, err);
    return status == WCODEC_OK ? assemble(w, coded, err) : status;
}

static void free_masking(struct masking *w)
{
    const wcodec_allocator *allocator = &w->context->allocator;
    for (unsigned i = 0; i < WCODEC_MASKED_PARTS; i++)
        if (w->parts[i].allocator != NULL)
            wcodec_coded_free(&w->parts[i]);
    wcodec_free(allocator, w->firsts);
    wcodec_free(allocator, w->counts);
    wcodec_free(allocator, w->mask);
    wcodec_free(allocator, w->values);
}

static void begin(struct masking *w, const uint8_t *data, uint64_t size)
{
    w->data = data;
    w->m.element_log2 = (uint8_t)wcodec_dtype_element_log2(w->dtype);
    w->m.tile_log2 = TILE_LOG2;
    w->m.size = size;
    w->m.elements = size >> w->m.element_log2;
    w->m.tiles = wcodec_div_up_u64(w->m.elements, (uint64_t)1 << TILE_LOG2);
}

/* Code without a mask, and compare: *better by one part in `share`, or at all with 0. */
static wcodec_status code_plain(const struct masking *w, int level, uint64_t share,
                                const struct wcodec_coded *masked, bool *better,
                                struct wcodec_coded *plain, wcodec_error *err)
{
    struct wcodec_encode_settings own = *w->settings;
    const uint64_t cost = masked->payload_size + masked->parameters_size;
    own.unmasked = true;
    own.level = level;
    wcodec_status status =
        wcodec_encode_tensor(w->context, &own, w->dtype, w->data, w->m.size, plain, err);
    if (status == WCODEC_OK)
        *better = cost + (share != 0 ? plain->payload_size / share : 0) < plain->payload_size;
    return status;
}

/* Is it smaller by enough? Where that is clear, zstd's trials without a mask, which take most of
 * the time, are not made. If it is not, `plain` is set. */
static wcodec_status compare(const struct masking *w, const struct wcodec_coded *masked,
                             struct wcodec_coded *plain, bool *better, wcodec_error *err)
{
    const int level = w->settings->level;
    wcodec_status status = WCODEC_OK;
    *better = false;
    if (level > LEVEL_QUICK && level < WCODEC_LEVEL_SIZE) {
        status = code_plain(w, LEVEL_QUICK, CLEARLY, masked, better, plain, err);
        if (status == WCODEC_OK)
            wcodec_coded_free(plain);
    }
    if (status != WCODEC_OK || *better)
        return status;
    status =
        code_plain(w, level, level < WCODEC_LEVEL_SIZE ? WORTH : 0, masked, better, plain, err);
    if (status == WCODEC_OK && *better)
        wcodec_coded_free(plain);
    return status;
}

/* Of some pieces of a large tensor. */
static wcodec_status ask_sample(const struct masking *whole, bool *better, wcodec_error *err)
{
    const uint64_t piece = (uint64_t)(SAMPLE / SAMPLE_PIECES) << whole->m.element_log2,
                   room = whole->m.elements - SAMPLE / SAMPLE_PIECES;
    struct masking w = {
        .context = whole->context, .settings = whole->settings, .dtype = whole->dtype};
    struct wcodec_coded masked, plain;
    uint8_t *sample = wcodec_alloc_array(&w.context->allocator, SAMPLE_PIECES, (size_t)piece);
    if (sample == NULL)
        return out_of_memory(err);
    for (unsigned i = 0; i < SAMPLE_PIECES; i++)
        memcpy(sample + i * piece,
               whole->data + ((room * i / (SAMPLE_PIECES - 1)) << whole->m.element_log2),
               (size_t)piece);
    begin(&w, sample, SAMPLE_PIECES * piece);
    *better = false;
    wcodec_status status = count(&w, err);
    if (status == WCODEC_OK && w.m.values != 0 && w.m.values != w.m.elements) {
        status = code(&w, &masked, err);
        if (status == WCODEC_OK) {
            status = compare(&w, &masked, &plain, better, err);
            wcodec_coded_free(&masked);
            if (status == WCODEC_OK && !*better)
                wcodec_coded_free(&plain);
        }
    }
    free_masking(&w);
    wcodec_free(&w.context->allocator, sample);
    return status;
}

/* A small tensor, both ways: the smaller one. */
static wcodec_status code_smaller(struct masking *w, struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_coded masked, plain;
    bool better;
    wcodec_status status = code(w, &masked, err);
    if (status != WCODEC_OK)
        return status;
    status = compare(w, &masked, &plain, &better, err);
    if (status != WCODEC_OK || !better)
        wcodec_coded_free(&masked);
    if (status == WCODEC_OK)
        *coded = better ? masked : plain;
    return status;
}

/* Begins, where it does. */
static bool begin_if_applies(struct masking *w, const uint8_t *data, uint64_t size)
{
    if (!applies(w->settings, w->dtype, size))
        return false;
    begin(w, data, size);
    return has_zeros(w);
}

bool wcodec_masked_applies(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                           const void *data, uint64_t size)
{
    struct masking w = {.settings = settings, .dtype = dtype};
    return begin_if_applies(&w, data, size);
}

wcodec_status wcodec_masked_code(wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                 const void *data, uint64_t size, struct wcodec_coded *coded,
                                 bool *done, wcodec_error *err)
{
    struct masking w = {.context = context, .settings = settings, .dtype = dtype};
    bool better = true;
    *done = false;
    if (!begin_if_applies(&w, data, size))
        return WCODEC_OK;
    const bool large = w.m.elements >= 2 * SAMPLE;
    wcodec_status status = large ? ask_sample(&w, &better, err) : WCODEC_OK;
    if (status == WCODEC_OK && better)
        status = count(&w, err);
    if (status == WCODEC_OK && better && w.m.values != 0 && w.m.values != w.m.elements) {
        w.verify = settings->verify || settings->verify_parts;
        status = large ? code(&w, coded, err) : code_smaller(&w, coded, err);
        *done = status == WCODEC_OK;
    }
    free_masking(&w);
    return status;
}
