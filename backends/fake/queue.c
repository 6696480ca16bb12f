/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/fake/queue.h"
#include "backends/cpu/cpu.h"
#include <string.h>

void fake_queue_init(struct fake_queue *q, struct wcodec_device *device,
                     const struct wcodec_host *host)
{
    *q = (struct fake_queue){.cpu.device = device, .host = host};
    q->last = &q->first;
}

bool fake_queue_give(struct fake_queue *q, const struct fake_operation *operation)
{
    struct fake_operation *o = wcodec_alloc(q->host->allocator, sizeof *o);
    if (o == NULL)
        return false;
    *o = *operation;
    o->next = NULL;
    o->number = ++q->given;
    *q->last = o;
    q->last = &o->next;
    return true;
}

static wcodec_status perform(struct fake_queue *q, const struct fake_operation *o,
                             wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (o->batch != NULL) {
        status = wcodec_backend_cpu.batch_decode(&q->cpu, o->batch, err);
        if (o->wrong != NULL)
            *o->wrong ^= 1;
    } else if (o->step != NULL) {
        struct wcodec_matrix matrix = o->matrix;
        matrix.fixed = &o->fixed;
        status = o->step(&q->cpu, &matrix, err);
        if (o->wrong != NULL)
            *o->wrong ^= 1;
    } else if (o->from != NULL) {
        memmove(o->to, o->from, (size_t)o->size);
    } else {
        for (uint64_t i = 0; i < o->size; i++)
            o->to[i] = o->element[i % ((size_t)1 << o->element_log2)];
    }
    return status;
}

static void take_first(struct fake_queue *q)
{
    struct fake_operation *o = q->first;
    q->first = o->next;
    if (q->first == NULL)
        q->last = &q->first;
    wcodec_free(q->host->allocator, o);
}

wcodec_status fake_queue_run(struct fake_queue *q, uint64_t number, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    while (q->first != NULL && q->first->number <= number && status == WCODEC_OK) {
        status = perform(q, q->first, err);
        take_first(q);
    }
    if (status != WCODEC_OK)
        fake_queue_drop(q);
    return status;
}

void fake_queue_drop(struct fake_queue *q)
{
    while (q->first != NULL)
        take_first(q);
}
