/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the files of this plugin share. */
#ifndef WCODEC_OPENCL_OPENCL_H
#define WCODEC_OPENCL_OPENCL_H

#include "backends/common/plan.h"
#include "backends/opencl/driver.h"

enum { WCODEC_OPENCL_DEVICES_MAX = 64 };

struct wcodec_opencl_place {
    cl_platform_id platform;
    cl_device_id device;
    cl_device_type type;
};

struct wcodec_backend_state {
    const struct wcodec_host *host;
    struct wcodec_opencl_driver driver;
    unsigned count;
    struct wcodec_opencl_place places[WCODEC_OPENCL_DEVICES_MAX]; /* GPUs first, CPUs last */
};

/* How the 32 lanes of a tile run: backends/common/dialect.h. */
enum wcodec_opencl_variant { WCODEC_VARIANT_LOOPS, WCODEC_VARIANT_LOCAL, WCODEC_VARIANT_SUBGROUP, WCODEC_VARIANT_NVIDIA, WCODEC_VARIANTS };

struct wcodec_device {
    struct wcodec_backend_state *state;
    const struct wcodec_host *host;
    const struct wcodec_opencl_driver *cl;
    const struct wcodec_opencl_place *place;
    cl_context context;
    cl_program program;
    cl_command_queue queue; /* for mapping pinned memory only */
    enum wcodec_opencl_variant variant;
    uint64_t memory; /* bytes */
    unsigned items; /* of a work-group */
    unsigned tiles; /* of a work-group */
    unsigned piece; /* work-groups of a launch at most */
    unsigned units; /* that run work-groups at a time */
    uint64_t fast;  /* bit k: kernel k of the plan is there */
};

struct wcodec_memory {
    struct wcodec_device *device;
    cl_mem buffer;
    void *map;     /* PINNED: where it is mapped */
    void *pointer; /* within, aligned */
    bool adopted;
};

struct wcodec_queue {
    struct wcodec_device *device;
    cl_command_queue queue;
    bool adopted;
};

struct wcodec_event {
    struct wcodec_device *device;
    cl_event event;
};

/* Record a failed call: "clCreateBuffer: OUT_OF_HOST_MEMORY". */
wcodec_status wcodec_opencl_fail(const struct wcodec_device *device, cl_int result, const char *call, wcodec_error *err);

/* Zeroed memory of the host's allocator. */
void *wcodec_opencl_allocate(const struct wcodec_host *host, size_t size);
void wcodec_opencl_release(const struct wcodec_host *host, void *memory);

/* Places and devices: device.c. */
wcodec_status wcodec_opencl_open(const struct wcodec_host *host, struct wcodec_backend_state **state, wcodec_error *err);
void wcodec_opencl_close(struct wcodec_backend_state *state);
unsigned wcodec_opencl_device_count(struct wcodec_backend_state *state);
void wcodec_opencl_device_list(struct wcodec_backend_state *state, unsigned i, struct wcodec_device_listing *listing);
wcodec_status wcodec_opencl_device_open(struct wcodec_backend_state *state, unsigned i, struct wcodec_device **device, wcodec_error *err);
void wcodec_opencl_device_close(struct wcodec_device *device);

/* The program of a device: program.c. Sets program, variant, items, tiles, piece, units and fast. */
wcodec_status wcodec_opencl_program_build(struct wcodec_device *device, wcodec_error *err);

/* The name of kernel k of a plan; NULL if there is none such. */
const char *wcodec_opencl_kernel_name(unsigned kernel);

/* Times and native handles: transfer.c. */
wcodec_status wcodec_opencl_queue_create_timed(struct wcodec_device *device, struct wcodec_queue **queue, wcodec_error *err);
wcodec_status wcodec_opencl_event_elapsed(struct wcodec_event *from, struct wcodec_event *to, uint64_t *nanoseconds, wcodec_error *err);
void wcodec_opencl_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number);

/* Batches: batch.c. */
wcodec_status wcodec_opencl_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs, size_t count, struct wcodec_batch **batch, wcodec_error *err);
wcodec_status wcodec_opencl_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch, wcodec_error *err);
wcodec_status wcodec_opencl_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch, struct wcodec_job_result *results, wcodec_error *err);
void wcodec_opencl_batch_destroy(struct wcodec_batch *batch);

/* The kernels' source, joined at build time. */
extern const char wcodec_opencl_source[];
extern const size_t wcodec_opencl_source_size;

#endif
