/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "load/gate.h"
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"

struct wcodec_load_gate {
    struct wcodec_load_request *request;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    size_t admitted; /* ranges, from the first one on */
    size_t arrived;  /* likewise */
    uint64_t *left;  /* bytes of each range that have not arrived */
    bool closed;
};

wcodec_status wcodec_load_gate_create(struct wcodec_load_request *request,
                                      struct wcodec_load_gate **gate, wcodec_error *err)
{
    const wcodec_allocator *allocator = &request->context->allocator;
    struct wcodec_load_gate *g = wcodec_alloc_zeroed(allocator, sizeof *g);
    uint64_t *left = wcodec_alloc_array(allocator, request->count, sizeof *left);
    if (g == NULL || left == NULL || pthread_mutex_init(&g->lock, NULL) != 0)
        goto free_memory;
    if (pthread_cond_init(&g->changed, NULL) != 0)
        goto destroy_lock;
    g->request = request;
    g->left = left;
    for (size_t i = 0; i < request->count; i++)
        left[i] = request->ranges[i].end - request->ranges[i].begin;
    *gate = g;
    return WCODEC_OK;
destroy_lock:
    pthread_mutex_destroy(&g->lock);
free_memory:
    wcodec_free(allocator, left);
    wcodec_free(allocator, g);
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load");
}

void wcodec_load_gate_destroy(struct wcodec_load_gate *g)
{
    if (g == NULL)
        return;
    const wcodec_allocator *allocator = &g->request->context->allocator;
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    wcodec_free(allocator, g->left);
    wcodec_free(allocator, g);
}

/* Empty ones arrive as soon as they may. */
static void advance(struct wcodec_load_gate *g)
{
    while (g->arrived < g->admitted && g->left[g->arrived] == 0)
        g->arrived++;
    pthread_cond_broadcast(&g->changed);
}

void wcodec_load_gate_admit(struct wcodec_load_gate *g, const struct wcodec_load_place *places,
                            size_t count)
{
    /* Nobody looks at where those go that are not admitted. */
    for (size_t i = 0; i < count; i++)
        wcodec_load_request_place(g->request, &g->request->ranges[g->admitted + i],
                                  places[i].memory, places[i].offset);
    pthread_mutex_lock(&g->lock);
    g->admitted += count;
    advance(g);
    pthread_mutex_unlock(&g->lock);
}

bool wcodec_load_gate_wait(struct wcodec_load_gate *g, size_t count)
{
    pthread_mutex_lock(&g->lock);
    while (g->arrived < count && !g->closed)
        pthread_cond_wait(&g->changed, &g->lock);
    const bool there = g->arrived >= count;
    pthread_mutex_unlock(&g->lock);
    return there;
}

size_t wcodec_load_gate_admitted(struct wcodec_load_gate *g)
{
    pthread_mutex_lock(&g->lock);
    const size_t admitted = g->admitted;
    pthread_mutex_unlock(&g->lock);
    return admitted;
}

bool wcodec_load_gate_await(struct wcodec_load_gate *g, size_t next)
{
    pthread_mutex_lock(&g->lock);
    while (next < g->request->count && g->admitted <= next && !g->closed)
        pthread_cond_wait(&g->changed, &g->lock);
    const bool more = next < g->request->count && !g->closed;
    pthread_mutex_unlock(&g->lock);
    return more;
}

void wcodec_load_gate_arrived(struct wcodec_load_gate *g, const struct wcodec_load_part *parts,
                              size_t count)
{
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < count; i++)
        g->left[parts[i].range - g->request->ranges] -= parts[i].stop - parts[i].begin;
    advance(g);
    pthread_mutex_unlock(&g->lock);
}

void wcodec_load_gate_close(struct wcodec_load_gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->closed = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}
