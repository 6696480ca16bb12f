/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A device by itself: its kernels by its own clock beside its copies, and the whole way from the
 * container to its memory. */
#include "utils/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loader {
    struct app *app;
    const struct bench_device *on;
    const struct bench_class *class;
    wcodec_load_item *items;
    wcodec_load_options options;
};

static bool fail(struct loader *l, const wcodec_error *err)
{
    return app_fail_status(l->app, l->class->dtype_name, err);
}

static bool run_load(void *opaque)
{
    struct loader *l = opaque;
    wcodec_error err = {0};
    return wcodec_load(l->on->reader, l->items, l->class->count, &l->options, NULL, &err) ==
               WCODEC_OK ||
           fail(l, &err);
}

static bool compare(struct loader *l, const wcodec_buffer *buffer)
{
    wcodec_error err = {0};
    for (size_t i = 0; i < l->class->count; i++) {
        const struct bench_tensor *t = &l->class->tensors[i];
        uint8_t *got = app_alloc(l->app, l->class->dtype_name, t->size);
        bool good = got && (wcodec_buffer_read(buffer, l->items[i].offset, got, (size_t)t->size,
                                               &err) == WCODEC_OK ||
                            fail(l, &err));
        if (good && memcmp(got, l->class->data + t->offset, (size_t)t->size) != 0)
            good = app_fail(l->app, EXIT_CORRUPT, "%s: what %s loads is not what was encoded",
                            l->class->dtype_name, l->on->backend);
        free(got);
        if (!good)
            return false;
    }
    return true;
}

static bool time_load(struct loader *l, struct bench *bench, struct bench_result *r, uint64_t size)
{
    wcodec_buffer *buffer;
    wcodec_error err = {0};
    if (wcodec_buffer_create(l->on->context, size, &buffer, &err) != WCODEC_OK)
        return fail(l, &err);
    for (size_t i = 0; i < l->class->count; i++)
        l->items[i].destination = wcodec_buffer_native(buffer);
    wcodec_load_options_init(&l->options);
    l->options.memory = l->on->backend;
    l->options.progress = progress_callback(&l->app->progress);
    r->operation = "load";
    bool good = bench_time(l->app, run_load, l, &r->seconds, &r->runs) && compare(l, buffer);
    wcodec_buffer_destroy(buffer);
    if (good)
        bench_report(bench, l->class, r);
    return good;
}

/* Constants and chunks have no kernel. */
static bool time_kernels(struct loader *l, struct bench *bench, struct bench_result *r)
{
    wcodec_device_rates rates;
    wcodec_error err = {0};
    uint64_t *tensors = app_alloc(l->app, l->class->dtype_name, l->class->count * sizeof *tensors);
    if (!tensors)
        return false;
    for (size_t i = 0; i < l->class->count; i++)
        tensors[i] = i;
    wcodec_status status = wcodec_reader_measure(l->on->reader, tensors, l->class->count,
                                                 l->app->options.iterations, &rates, &err);
    free(tensors);
    if (status != WCODEC_OK)
        return fail(l, &err);
    if (rates.bytes != 0) {
        struct bench_result kernel = *r;
        kernel.operation = "kernel";
        kernel.bytes = rates.bytes;
        kernel.seconds = (double)rates.decode_nanoseconds * 1e-9;
        if (strcmp(l->on->backend, "cpu") !=
            0) { /* whose copies are one thread's, and no measure of its memory */
            kernel.copy_rate = rates.copy_bandwidth / 1e9;
            kernel.of_copy =
                (double)(rates.bytes + rates.coded_bytes) / kernel.seconds / rates.copy_bandwidth;
        }
        bench_report(bench, l->class, &kernel);
    }
    if (strcmp(l->on->backend, "cpu") != 0)
        r->copy_rate = rates.upload_bandwidth / 1e9;
    return true;
}

bool bench_device(struct app *app, struct bench *bench, const struct bench_class *class,
                  const struct bench_device *on)
{
    struct loader l = {.app = app, .on = on, .class = class};
    struct bench_result r = {.coder = "wcodec",
                             .backend = on->backend,
                             .level = app->options.level,
                             .threads = wcodec_context_threads(on->context),
                             .coded = on->coded,
                             .verification = true,
                             .runs = app->options.iterations};
    wcodec_error err = {0};
    uint64_t size;
    if (class->opaque)
        return true;
    l.items = app_alloc(app, class->dtype_name, class->count * sizeof *l.items);
    if (!l.items)
        return false;
    bool good =
        wcodec_load_layout(on->reader, 0, l.items, &size, &err) == WCODEC_OK || fail(&l, &err);
    good = good && time_kernels(&l, bench, &r) && (size == 0 || time_load(&l, bench, &r, size));
    free(l.items);
    return good;
}
