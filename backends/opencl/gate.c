/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* NVIDIA's driver has one lock for all queues of a context, on which threads sleep. Each call takes
 * some microseconds, to wake a thread a hundred: 16 threads that give work to 16 queues are slower
 * than one. So calls that give work come one at a time, by threads that try and do not sleep, and
 * who waits for a queue asks whether it has ended where nobody else has something to give. */
#include "backends/opencl/opencl.h"

#include <sched.h>

enum {
    RELAXED = 200, /* turns without leaving the processor: 0.2 ms */
    TRIES = 2000,  /* turns before a thread sleeps after all */
    ASKED = 500,   /* times, some 2 ms */
    BETWEEN = 4    /* turns between two */
};

/* A microsecond at first, then as long as others want the processor. */
static void relax(unsigned turn)
{
    if (turn >= RELAXED) {
        sched_yield();
        return;
    }
    for (unsigned i = 0; i < 16; i++) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause();
#elif defined __aarch64__
        __asm__ volatile("yield");
#endif
    }
}

void wcodec_opencl_lock(pthread_mutex_t *lock)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(lock) == 0)
            return;
        relax(i);
    }
    pthread_mutex_lock(lock);
}

void wcodec_opencl_enter(struct wcodec_device *d)
{
    if (d->gated)
        wcodec_opencl_lock(&d->gate);
}

void wcodec_opencl_leave(struct wcodec_device *d)
{
    if (d->gated)
        pthread_mutex_unlock(&d->gate);
}

/* A mark behind all that the queue was given. */
static cl_int mark(const struct wcodec_queue *q, cl_event *end, const char **call)
{
    const struct wcodec_opencl_driver *cl = q->device->cl;
    *call = "clEnqueueMarkerWithWaitList";
    const cl_int result = cl->clEnqueueMarkerWithWaitList(q->queue, 0, NULL, end);
    if (result != CL_SUCCESS)
        return result;
    *call = "clFlush";
    return cl->clFlush(q->queue);
}

static cl_int ask(struct wcodec_device *d, cl_event end, const char **call)
{
    cl_int state = CL_QUEUED, result = CL_SUCCESS;
    *call = "clGetEventInfo";
    for (unsigned i = 0; i < ASKED && result == CL_SUCCESS && state > CL_COMPLETE; i++) {
        for (unsigned k = 0; k < BETWEEN; k++)
            relax(i);
        if (pthread_mutex_trylock(&d->gate) != 0)
            continue;
        result = d->cl->clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                                       NULL);
        pthread_mutex_unlock(&d->gate);
    }
    if (result == CL_SUCCESS && state < 0)
        *call = "what the queue was given";
    if (result != CL_SUCCESS || state <= CL_COMPLETE)
        return result != CL_SUCCESS ? result : state;
    *call = "clWaitForEvents";
    return d->cl->clWaitForEvents(1, &end);
}

cl_int wcodec_opencl_finish(const struct wcodec_queue *q, const char **call)
{
    struct wcodec_device *d = q->device;
    cl_event end = NULL;
    if (!d->gated) {
        *call = "clFinish";
        return d->cl->clFinish(q->queue);
    }
    wcodec_opencl_enter(d);
    cl_int result = mark(q, &end, call);
    wcodec_opencl_leave(d);
    if (result == CL_SUCCESS)
        result = ask(d, end, call);
    if (end != NULL) {
        wcodec_opencl_enter(d);
        d->cl->clReleaseEvent(end);
        wcodec_opencl_leave(d);
    }
    return result;
}
