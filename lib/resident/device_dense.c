/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products on a device that no kernel takes from the code: with plain matrices, of more vectors
 * than pay, of other types, y = x W of what is coded. Coded matrices are decoded for them, some
 * rows at a time, to memory that the resident object keeps for that. */
#include "backends/cpu/product.h"
#include "core/error.h"
#include "core/memory.h"
#include "resident/resident.h"
#include <inttypes.h>

static const struct wcodec_backend_products *products_of(const wcodec_resident *r)
{
    return r->device->backend->products;
}

static uint64_t least_common(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x > UINT64_MAX / b ? UINT64_MAX : a / x * b;
}

/* Bytes of rows of `named` that are decoded at a time, `limit` at most if they can be divided so.
 */
static uint64_t piece_of(const wcodec_resident *r, const struct wcodec_resident_item *named,
                         const struct wcodec_resident_item *item, uint64_t limit)
{
    const uint64_t size = named->entry.size, row = size / named->shape[0],
                   unit = item->form == WCODEC_RESIDENT_FIXED
                              ? 2 * item->fixed.plan.columns
                              : products_of(r)->kept_unit(item->kept);
    const uint64_t step = unit != 0 ? least_common(unit, row) : UINT64_MAX;
    if (size <= limit || step >= size)
        return size;
    return step < limit ? limit / step * step : step;
}

/* Is it a matrix that may have to be decoded? */
static bool is_decoded(const struct wcodec_resident_item *named,
                       const struct wcodec_resident_item *item)
{
    return named->rank == 2 && named->entry.size != 0 &&
           wcodec_cpu_source_of(named->dtype) != WCODEC_CPU_SOURCES &&
           item->form != WCODEC_RESIDENT_PLAIN && item->memory != NULL;
}

static wcodec_status allocate(struct wcodec_resident *r, uint64_t size,
                              struct wcodec_memory **memory, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status =
        wcodec_opened_allocate(r->device, WCODEC_MEMORY_DEVICE, size, memory, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(r, status, &e, err);
    r->size += size;
    return WCODEC_OK;
}

wcodec_status wcodec_resident_make_dense(wcodec_resident *r, uint64_t limit, wcodec_error *err)
{
    bool any = false;
    wcodec_status status = WCODEC_OK;
    if (r->device == NULL || limit == 0)
        return WCODEC_OK;
    for (uint64_t i = 0; i < r->count; i++) {
        const struct wcodec_resident_item *named = &r->items[i],
                                          *item = named->alias_of == UINT64_MAX
                                                      ? named
                                                      : &r->items[named->alias_of];
        any = any || (named->rank == 2 && named->entry.size != 0 &&
                      wcodec_cpu_source_of(named->dtype) != WCODEC_CPU_SOURCES);
        if (!is_decoded(named, item))
            continue;
        const uint64_t piece = piece_of(r, named, item, limit);
        r->decoded_size = piece > r->decoded_size ? piece : r->decoded_size;
    }
    const uint64_t work = any ? products_of(r)->dense_work(r->device->device) : 0;
    if (r->decoded_size != 0)
        status = allocate(r, r->decoded_size, &r->decoded, err);
    if (status == WCODEC_OK && work != 0)
        status = allocate(r, work, &r->library, err);
    return status;
}

void wcodec_resident_drop_dense(struct wcodec_resident *r)
{
    const bool usable = wcodec_context_usable(r->context, NULL) == WCODEC_OK;
    if (r->decoded != NULL && usable)
        r->device->backend->memory_free(r->decoded);
    if (r->library != NULL && usable)
        r->device->backend->memory_free(r->library);
    r->decoded = r->library = NULL;
}

static wcodec_status decode(const wcodec_resident *r, const struct wcodec_resident_item *item,
                            uint64_t begin, uint64_t end, uint64_t queue, wcodec_error *e)
{
    const uint64_t out = r->device->backend->memory_native(r->decoded);
    if (item->form == WCODEC_RESIDENT_CODED)
        return products_of(r)->kept_decode(item->kept, queue, begin, end, out, e);
    const uint64_t row = 2 * item->fixed.plan.columns;
    const struct wcodec_rows rows = {.fixed = &item->fixed.plan,
                                     .memory = item->memory,
                                     .first = begin / row,
                                     .count = (end - begin) / row,
                                     .out = out};
    return products_of(r)->decode_rows(r->device->device, queue, &rows, e);
}

/* Rows [p->first, p->first + p->rows), which are in memory. The sums of y = x W of parts are added
 * to each other. */
static wcodec_status multiply(const wcodec_resident *r, struct wcodec_dense_product *p,
                              uint64_t queue, wcodec_error *e)
{
    p->add = p->transposed && p->first != 0;
    return products_of(r)->multiply_dense(r->device->device, queue, p, e);
}

static wcodec_status multiply_decoded(const wcodec_resident *r,
                                      const struct wcodec_resident_item *named,
                                      const struct wcodec_resident_item *item,
                                      struct wcodec_dense_product *p, uint64_t queue,
                                      wcodec_error *e)
{
    const uint64_t size = named->entry.size, row = size / named->shape[0],
                   piece = piece_of(r, named, item, r->decoded_size);
    wcodec_status status = WCODEC_OK;
    p->memory = r->decoded;
    for (uint64_t begin = 0; begin < size && status == WCODEC_OK; begin += piece) {
        const uint64_t end = size - begin < piece ? size : begin + piece;
        p->first = begin / row;
        p->rows = (end - begin) / row;
        status = decode(r, item, begin, end, queue, e);
        if (status == WCODEC_OK)
            status = multiply(r, p, queue, e);
    }
    return status;
}

static wcodec_status check(const wcodec_resident *r, const struct wcodec_resident_item *named,
                           const struct wcodec_resident_item *item, const wcodec_linear *l,
                           wcodec_error *err)
{
    if (named->shape[0] > UINT32_MAX || named->shape[1] > UINT32_MAX || l->rows > UINT32_MAX)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "devices have no products of 2^32 rows, columns or vectors");
    if (is_decoded(named, item) &&
        (r->decoded == NULL || piece_of(r, named, item, r->decoded_size) > r->decoded_size))
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "this product decodes its matrix, for which no memory was kept "
                           "(wcodec_resident_options.decoded)");
    return WCODEC_OK;
}

wcodec_status wcodec_resident_multiply_dense(const wcodec_resident *r,
                                             const struct wcodec_resident_item *named,
                                             const struct wcodec_resident_item *item,
                                             const wcodec_linear *l, wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = check(r, named, item, l, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_dense_product p = {.memory = item->memory,
                                     .rows = named->shape[0],
                                     .columns = named->shape[1],
                                     .x = (uint64_t)(uintptr_t)l->x,
                                     .y = (uint64_t)(uintptr_t)l->y,
                                     .bias = (uint64_t)(uintptr_t)l->bias,
                                     .scales = (uint64_t)(uintptr_t)l->scales,
                                     .x_stride = l->x_stride,
                                     .y_stride = l->y_stride,
                                     .vectors = l->rows,
                                     .dtype = named->dtype,
                                     .x_dtype = l->x_dtype,
                                     .y_dtype = l->y_dtype,
                                     .bias_dtype = l->bias_dtype,
                                     .scales_dtype = l->scales_dtype,
                                     .transposed = l->transposed != 0,
                                     .work = r->library};
    /* Launches that share memory stay together. */
    pthread_mutex_t *lock = &((wcodec_resident *)(uintptr_t)r)->launches;
    pthread_mutex_lock(lock);
    status = is_decoded(named, item) ? multiply_decoded(r, named, item, &p, l->queue, &e)
                                     : multiply(r, &p, l->queue, &e);
    pthread_mutex_unlock(lock);
    return status == WCODEC_OK ? status : wcodec_resident_failed(r, status, &e, err);
}
