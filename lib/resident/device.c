/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Resident tensors in a device's memory: they are made ready in host memory, and copied. What is
 * computed from them is given to the caller's queue. */
#include "core/error.h"
#include "resident/resident.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

wcodec_status wcodec_resident_on_device(wcodec_resident *resident, const char *memory,
                                        wcodec_error *err)
{
    struct wcodec_opened *o;
    if (memory == NULL)
        return WCODEC_OK;
    const wcodec_status status = wcodec_backends_device_of(resident->context, memory, &o, err);
    if (status != WCODEC_OK)
        return status;
    if (!(o->listing.capabilities & WCODEC_DEVICE_PRODUCTS))
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "%s (%s) has no products with resident tensors: host memory has",
                           o->name, o->listing.name);
    resident->device = o;
    return WCODEC_OK;
}

wcodec_status wcodec_resident_failed(const wcodec_resident *r, wcodec_status status,
                                     const wcodec_error *reason, wcodec_error *err)
{
    return wcodec_backends_failed(r->context, r->device, status, reason, err);
}

/* Parts of a tensor, one after the other. */
struct part {
    const uint8_t *from;
    uint64_t size;
};

static wcodec_status copy_parts(const wcodec_resident *r, const struct part *parts, unsigned count,
                                struct wcodec_memory *memory, wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    struct wcodec_queue *queue;
    wcodec_status status = b->queue_create(r->device->device, &queue, err), waited;
    uint64_t at = 0;
    if (status != WCODEC_OK)
        return status;
    for (unsigned i = 0; i < count && status == WCODEC_OK; i++) {
        status = b->copy_in(queue, memory, at, parts[i].from, parts[i].size, err);
        at += parts[i].size;
    }
    waited = b->queue_wait(queue, status == WCODEC_OK ? err : NULL);
    b->queue_destroy(queue);
    return status == WCODEC_OK ? waited : status;
}

wcodec_status wcodec_resident_upload(wcodec_resident *resident, struct wcodec_resident_item *item,
                                     wcodec_error *err)
{
    const struct wcodec_fixed *f = &item->fixed.plan;
    const bool fixed = item->form == WCODEC_RESIDENT_FIXED;
    const struct part parts[] = {
        {fixed ? item->fixed.front : item->bytes, fixed ? f->tiles_begin : item->held},
        {item->fixed.tiles, fixed ? f->spilled_begin - f->tiles_begin : 0},
        {item->fixed.spilled, fixed ? 4 * f->spilled : 0}};
    wcodec_error e = {0};
    if (item->held == 0)
        return WCODEC_OK;
    wcodec_status status = wcodec_opened_allocate(resident->device, WCODEC_MEMORY_DEVICE,
                                                  item->held, &item->memory, &e);
    if (status == WCODEC_OK)
        status = copy_parts(resident, parts, 3, item->memory, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

void wcodec_resident_unload(const wcodec_resident *resident, struct wcodec_resident_item *item)
{
    if (wcodec_context_usable(resident->context, NULL) == WCODEC_OK) {
        if (item->kept != NULL)
            resident->device->backend->products->kept_free(item->kept);
        if (item->memory != NULL)
            resident->device->backend->memory_free(item->memory);
    }
    item->memory = NULL;
    item->kept = NULL;
}

uint64_t wcodec_resident_native(const wcodec_resident *resident,
                                const struct wcodec_resident_item *item)
{
    return item->memory != NULL && item->form == WCODEC_RESIDENT_PLAIN
               ? resident->device->backend->memory_native(item->memory)
               : 0;
}

wcodec_status wcodec_resident_alive(const wcodec_resident *resident, wcodec_error *err)
{
    if (atomic_load(&resident->device->lost))
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s: %s", resident->device->name,
                           resident->device->loss);
    return wcodec_context_usable(resident->context, err);
}

static wcodec_status check_aligned(const char *what, const void *at, uint64_t stride,
                                   wcodec_dtype dtype, wcodec_error *err)
{
    const uint64_t element = dtype == WCODEC_DTYPE_F32 ? 4 : 2;
    if ((uint64_t)(uintptr_t)at % element != 0 || stride % element != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is not aligned to its elements", what);
    return WCODEC_OK;
}

/* Most vectors that are multiplied straight from the code where a library takes more of them, after
 * decoding (bench/gpu/README.md). */
enum { FIXED_MOST = 64, TALL_MOST = 128, CODED_MOST = 32 };

enum { WORK_ALIGNMENT = 256 };

/* Rows of x that go there where any number does; and most rows that do not in memory that all
 * products share. */
enum { WIDE_SOME = 64, SHARED_NOT = 32 };

/* Rows from which a launch takes 64 vectors and leaves no multiprocessor with one or two bands. */
enum { TALL_ROWS = 8192 };

static uint64_t most_straight(const wcodec_resident *resident,
                              const struct wcodec_resident_item *named,
                              const struct wcodec_resident_item *item, bool transposed)
{
    if (item->form == WCODEC_RESIDENT_CODED)
        return CODED_MOST;
    if (transposed)
        return resident->device->backend->products->transposed_most(resident->device->device,
                                                                    &item->fixed.plan);
    return named->shape[0] >= TALL_ROWS ? TALL_MOST : FIXED_MOST;
}

/* Bytes in which the device multiplies so many vectors by such a matrix; 0: it has no such way. */
static uint64_t wide_room(const wcodec_resident *resident, const struct wcodec_resident_item *named,
                          const struct wcodec_resident_item *item, uint64_t vectors)
{
    const struct wcodec_backend_products *products = resident->device->backend->products;
    if (products->wide_room == NULL || item->form != WCODEC_RESIDENT_FIXED || named->rank != 2 ||
        named->dtype != WCODEC_DTYPE_BF16 || item->fixed.plan.columns != named->shape[1])
        return 0;
    return products->wide_room(resident->device->device, &item->fixed.plan, vectors);
}

/* Has a product enough room for as many vectors as are taken at once? */
static bool is_wide(const wcodec_resident *resident, const struct wcodec_resident_item *named,
                    const struct wcodec_resident_item *item, const wcodec_linear *l)
{
    const uint64_t at_once = l->rows < WCODEC_WIDE_VECTORS ? l->rows : WCODEC_WIDE_VECTORS,
                   size = l->work != NULL ? l->work_size : resident->decoded_size;
    return !l->transposed && wide_room(resident, named, item, l->rows) != 0 &&
           wide_room(resident, named, item, at_once) <= size;
}

uint64_t wcodec_resident_linear_work(const wcodec_resident *resident, uint64_t i, uint64_t rows)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    if (wcodec_resident_item(resident, i, &named, &item, NULL) != WCODEC_OK ||
        resident->device == NULL || rows > UINT32_MAX ||
        wcodec_resident_alive(resident, NULL) != WCODEC_OK)
        return 0;
    return wide_room(resident, named, item, rows);
}

/* Is there a kernel that takes the matrix as it is kept: of BF16 at a fixed rate, or coded in the
 * order of products, where x is aligned? */
static bool has_kernel(const wcodec_resident *resident, const struct wcodec_resident_item *named,
                       const struct wcodec_resident_item *item, bool transposed, bool aligned)
{
    if (named->rank != 2 || named->dtype != WCODEC_DTYPE_BF16)
        return false;
    if (item->form == WCODEC_RESIDENT_FIXED)
        return item->fixed.plan.columns == named->shape[1];
    return item->form == WCODEC_RESIDENT_CODED && item->columns == named->shape[1] &&
           resident->device->backend->products->kept_work(item->kept) != 0 && !transposed &&
           aligned;
}

/* Is a product made by such a kernel? */
static bool is_straight(const wcodec_resident *resident, const struct wcodec_resident_item *named,
                        const struct wcodec_resident_item *item, const wcodec_linear *l)
{
    const bool transposed = l->transposed != 0,
               aligned = (uintptr_t)l->x % 16 == 0 && l->x_stride % 16 == 0;
    return l->x_dtype == WCODEC_DTYPE_BF16 && l->scales == NULL &&
           has_kernel(resident, named, item, transposed, aligned) &&
           (resident->library == NULL || resident->decoded == NULL ||
            l->rows <= most_straight(resident, named, item, transposed) ||
            is_wide(resident, named, item, l));
}

int wcodec_resident_linear_straight(const wcodec_resident *resident, uint64_t i, uint64_t rows,
                                    int transposed)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    const bool turned = transposed != 0;
    if (wcodec_resident_item(resident, i, &named, &item, NULL) != WCODEC_OK ||
        resident->device == NULL || rows == 0 || rows > UINT32_MAX ||
        wcodec_resident_alive(resident, NULL) != WCODEC_OK ||
        !has_kernel(resident, named, item, turned, true))
        return 0;
    return rows <= most_straight(resident, named, item, turned) ||
           (!turned && wide_room(resident, named, item, rows) != 0);
}

static wcodec_status check_operands(const wcodec_linear *l, wcodec_error *err)
{
    wcodec_status status = check_aligned("x", l->x, l->x_stride, l->x_dtype, err);
    if (status == WCODEC_OK)
        status = check_aligned("y", l->y, l->y_stride, l->y_dtype, err);
    if (status == WCODEC_OK && l->bias != NULL)
        status = check_aligned("bias", l->bias, 0, l->bias_dtype, err);
    if (status == WCODEC_OK && l->scales != NULL)
        status = check_aligned("scales", l->scales, 0, l->scales_dtype, err);
    if (status == WCODEC_OK && (uintptr_t)l->work % WORK_ALIGNMENT != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "work is no multiple of %d", WORK_ALIGNMENT);
    return status;
}

/* Where products of many vectors work; 0: this is none of them. */
static uint64_t room_of(const wcodec_resident *resident, const struct wcodec_resident_item *named,
                        const struct wcodec_resident_item *item, const wcodec_linear *l)
{
    const uint64_t some = l->rows < WIDE_SOME ? l->rows : WIDE_SOME;
    if (l->transposed || wide_room(resident, named, item, some) == 0)
        return 0;
    if (l->work != NULL)
        return (uint64_t)(uintptr_t)l->work;
    return resident->decoded != NULL && l->rows > SHARED_NOT
               ? resident->device->backend->memory_native(resident->decoded)
               : 0;
}

wcodec_status wcodec_resident_multiply(const wcodec_resident *resident,
                                       const struct wcodec_resident_item *named,
                                       const struct wcodec_resident_item *item,
                                       const wcodec_linear *l, wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = wcodec_resident_alive(resident, err);
    if (status == WCODEC_OK)
        status = check_operands(l, err);
    if (status != WCODEC_OK || named->shape[l->transposed ? 1 : 0] == 0)
        return status;
    if (!is_straight(resident, named, item, l))
        return wcodec_resident_multiply_dense(resident, named, item, l, err);
    const struct wcodec_product product = {.fixed = item->kept == NULL ? &item->fixed.plan : NULL,
                                           .memory = item->memory,
                                           .kept = item->kept,
                                           .work = resident->work,
                                           .room = room_of(resident, named, item, l),
                                           .room_size = l->work != NULL ? l->work_size
                                                                        : resident->decoded_size,
                                           .x = (uint64_t)(uintptr_t)l->x,
                                           .y = (uint64_t)(uintptr_t)l->y,
                                           .bias = (uint64_t)(uintptr_t)l->bias,
                                           .x_stride = l->x_stride,
                                           .y_stride = l->y_stride,
                                           .vectors = l->rows,
                                           .y_dtype = l->y_dtype,
                                           .bias_dtype = l->bias_dtype,
                                           .transposed = l->transposed != 0};
    /* Launches that share memory stay together. */
    pthread_mutex_t *lock = item->kept != NULL || (product.room != 0 && l->work == NULL)
                                ? &((wcodec_resident *)(uintptr_t)resident)->launches
                                : NULL;
    if (lock != NULL)
        pthread_mutex_lock(lock);
    status = resident->device->backend->products->multiply(resident->device->device, l->queue,
                                                           &product, &e);
    if (lock != NULL)
        pthread_mutex_unlock(lock);
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

/* The rows of the first dimension that are wanted: a matrix at a fixed rate may have shorter ones.
 * Those of what stays coded are looked at by its backend. */
static wcodec_status check_rows(const struct wcodec_resident_item *named,
                                const struct wcodec_resident_item *item, uint64_t *row_size,
                                wcodec_error *err)
{
    uint64_t begin, end = 0;
    wcodec_status status = WCODEC_OK;
    if (item->form != WCODEC_RESIDENT_FIXED && item->kept == NULL)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "its elements are in the device's memory as they are");
    if (named->entry.size != 0)
        status = wcodec_resident_rows(named, 0, 1, &begin, &end, err);
    *row_size = end;
    return status;
}

static wcodec_status check_addresses(uint64_t rows, uint64_t count, uint64_t row_size, uint64_t dst,
                                     uint64_t dst_size, wcodec_error *err)
{
    if (row_size != 0 && count > dst_size / row_size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%" PRIu64 " rows of %" PRIu64 " bytes do not fit into %" PRIu64, count,
                           row_size, dst_size);
    if (dst == 0 || dst % 2 != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the destination is %s",
                           dst == 0 ? "0" : "not aligned to the element");
    if (rows % 8 != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the index is not aligned to 8 bytes");
    return WCODEC_OK;
}

static wcodec_status decode_rows(const wcodec_resident *resident, const struct wcodec_rows *rows,
                                 uint64_t queue, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status =
        resident->device->backend->products->decode_rows(resident->device->device, queue, rows, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

static wcodec_status check_device(const wcodec_resident *resident, wcodec_error *err)
{
    if (resident->device == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "these tensors are in host memory");
    return wcodec_resident_alive(resident, err);
}

/* Bytes of a tensor that is there as it is coded. */
static wcodec_status decode_coded(const wcodec_resident *resident,
                                  const struct wcodec_resident_item *named,
                                  const struct wcodec_resident_item *item, uint64_t first,
                                  uint64_t count, uint64_t dst, uint64_t dst_size, uint64_t queue,
                                  wcodec_error *err)
{
    uint64_t begin, end;
    wcodec_error e = {0};
    wcodec_status status = wcodec_resident_rows(named, first, count, &begin, &end, err);
    if (status != WCODEC_OK || begin == end)
        return status;
    status = check_addresses(0, 1, end - begin, dst, dst_size, err);
    if (status != WCODEC_OK)
        return status;
    pthread_mutex_t *lock = &((wcodec_resident *)(uintptr_t)resident)->launches;
    pthread_mutex_lock(lock);
    status =
        resident->device->backend->products->kept_decode(item->kept, queue, begin, end, dst, &e);
    pthread_mutex_unlock(lock);
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

static wcodec_status decode_queued(const wcodec_resident *resident,
                                   const struct wcodec_resident_item *named,
                                   const struct wcodec_resident_item *item, uint64_t first,
                                   uint64_t count, uint64_t dst, uint64_t dst_size, uint64_t queue,
                                   wcodec_error *err)
{
    uint64_t row_size, begin, end;
    wcodec_status status = check_device(resident, err);
    if (status == WCODEC_OK && item->form == WCODEC_RESIDENT_CODED)
        return decode_coded(resident, named, item, first, count, dst, dst_size, queue, err);
    if (status == WCODEC_OK)
        status = check_rows(named, item, &row_size, err);
    if (status == WCODEC_OK)
        status = wcodec_resident_rows(named, first, count, &begin, &end, err);
    if (status != WCODEC_OK || begin == end)
        return status;
    if (begin % (2 * item->fixed.plan.columns) != 0 || end % (2 * item->fixed.plan.columns) != 0)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "its equal has rows of %" PRIu64 " elements, of which these are parts",
                           item->fixed.plan.columns);
    status = check_addresses(0, count, row_size, dst, dst_size, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t columns = item->fixed.plan.columns;
    const struct wcodec_rows rows = {.fixed = &item->fixed.plan,
                                     .memory = item->memory,
                                     .first = begin / (2 * columns),
                                     .count = (end - begin) / (2 * columns),
                                     .out = dst};
    return decode_rows(resident, &rows, queue, err);
}

wcodec_status wcodec_resident_decode_queued(const wcodec_resident *resident, uint64_t i,
                                            uint64_t first, uint64_t count, uint64_t dst,
                                            uint64_t dst_size, uint64_t queue, wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status != WCODEC_OK)
        return status;
    status = decode_queued(resident, named, item, first, count, dst, dst_size, queue, err);
    if (status != WCODEC_OK)
        wcodec_resident_prefix(named, err);
    return status;
}

static wcodec_status gather_queued(const wcodec_resident *resident,
                                   const struct wcodec_resident_item *named,
                                   const struct wcodec_resident_item *item,
                                   const struct wcodec_rows *rows, uint64_t dst_size,
                                   uint64_t queue, wcodec_error *err)
{
    uint64_t row_size;
    struct wcodec_rows all = *rows;
    wcodec_status status = check_device(resident, err);
    if (status == WCODEC_OK)
        status = check_rows(named, item, &row_size, err);
    if (status != WCODEC_OK || rows->count == 0 || row_size == 0)
        return status;
    all.row_size = row_size;
    if (item->kept == NULL && row_size != 2 * item->fixed.plan.columns)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "its rows are not the %" PRIu64 " elements that are kept together",
                           item->fixed.plan.columns);
    if (rows->indices == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the index is 0");
    status = check_addresses(rows->indices, rows->count, row_size, rows->out, dst_size, err);
    return status == WCODEC_OK ? decode_rows(resident, &all, queue, err) : status;
}

wcodec_status wcodec_resident_gather_queued(const wcodec_resident *resident, uint64_t i,
                                            uint64_t rows, uint64_t count, uint64_t dst,
                                            uint64_t dst_size, uint64_t queue, wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t outside = resident->device != NULL ? wcodec_resident_outside(resident) : 0;
    const struct wcodec_rows wanted = {.fixed = item->kept == NULL ? &item->fixed.plan : NULL,
                                       .memory = item->memory,
                                       .kept = item->kept,
                                       .indices = rows,
                                       .count = count,
                                       .out = dst,
                                       .outside = outside,
                                       .number = (uint32_t)i};
    status = gather_queued(resident, named, item, &wanted, dst_size, queue, err);
    if (status != WCODEC_OK)
        wcodec_resident_prefix(named, err);
    return status;
}
