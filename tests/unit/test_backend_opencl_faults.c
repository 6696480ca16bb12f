/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The OpenCL plugin on a driver that fails: each call of each function once, for want of memory and
 * otherwise, and from each call on all of them, as when a device is lost. It must say which call it
 * was, give nothing for success, leave no object behind, and decode right again as soon as the
 * driver does its part. What stands between is put into the table of functions that the plugin
 * keeps; the driver behind it is the first that is installed. */
#include "support.h"

#include "support_matrix.h"
#include "support_tiles.h"

#include "registry/host.h"
#include "registry/known_answer.h"
#include "backends/opencl/opencl.h"
#include "coding/linear.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const struct wcodec_backend *backend;
static wcodec_context *context;
static struct wcodec_host host;
static struct wcodec_backend_state *state;
static struct wcodec_opencl_driver real;

/* Call number `at` of the function `target`, or with `lost` that call of any function and all after
 * it, returns `code`. */
static struct {
    const char *target;
    long at;
    bool lost, all;
    cl_int code;
    bool done;
} fault;
static _Atomic long calls, objects;
static cl_int command_state; /* what becomes of a command, if not 0 */
static cl_command_queue queues[8];

/* A device that fails does nothing any more: what was given to it must not go on after the
 * plugin's back. */
static void stop(void)
{
    for (unsigned i = 0; i < sizeof queues / sizeof queues[0]; i++)
        if (queues[i] != NULL)
            real.clFinish(queues[i]);
}

static cl_int fails(const char *name)
{
    const bool counted = fault.target != NULL && (fault.lost || strcmp(fault.target, name) == 0);
    const long number = counted ? calls++ : -1;
    if (!counted || (fault.lost || fault.all ? number < fault.at : number != fault.at))
        return CL_SUCCESS;
    if (!fault.done)
        stop();
    fault.done = true;
    return fault.code;
}

/* A function that fails, and what must come of it. */
struct call_case {
    const char *name;
    cl_int code;
    wcodec_status status;
    const char *says;
};

#define STATUS(name, parameters, ...) \
    static cl_int CL_API_CALL name##_or_not parameters \
    { \
        const cl_int code = fails(#name); \
        return code != CL_SUCCESS ? code : real.name(__VA_ARGS__); \
    }
#define OBJECT(type, name, parameters, ...) \
    static type CL_API_CALL name##_or_not parameters \
    { \
        const cl_int code = fails(#name); \
        type made = code == CL_SUCCESS ? real.name(__VA_ARGS__) : NULL; \
        if (code != CL_SUCCESS) \
            *result = code; \
        objects += made != NULL; \
        return made; \
    }
#define RELEASE(name, type) \
    static cl_int CL_API_CALL name##_or_not(type object) \
    { \
        objects--; \
        return real.name(object); \
    }

OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
        void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *result),
       p, n, d, f, u, result)
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *result), c, n, s, l,
       result)
OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *n, cl_int *result), p, n, result)
OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t s, void *p, cl_int *result), c,
       f, s, p, result)
RELEASE(clReleaseContext, cl_context)
RELEASE(clReleaseProgram, cl_program)
RELEASE(clReleaseKernel, cl_kernel)
RELEASE(clReleaseMemObject, cl_mem)
RELEASE(clReleaseEvent, cl_event)
STATUS(clBuildProgram,
       (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
        void(CL_CALLBACK *f)(cl_program, void *), void *u),
       p, n, d, o, f, u)
STATUS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), k, i, s, v)
STATUS(clFlush, (cl_command_queue q), q)
STATUS(clFinish, (cl_command_queue q), q)
STATUS(clEnqueueReadBuffer,
       (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p, cl_uint n,
        const cl_event *w, cl_event *e),
       q, m, b, o, s, p, n, w, e)
STATUS(clEnqueueWriteBuffer,
       (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p, cl_uint n,
        const cl_event *w, cl_event *e),
       q, m, b, o, s, p, n, w, e)
STATUS(clEnqueueCopyBuffer,
       (cl_command_queue q, cl_mem a, cl_mem b, size_t i, size_t o, size_t s, cl_uint n,
        const cl_event *w, cl_event *e),
       q, a, b, i, o, s, n, w, e)
STATUS(clEnqueueFillBuffer,
       (cl_command_queue q, cl_mem m, const void *p, size_t z, size_t o, size_t s, cl_uint n,
        const cl_event *w, cl_event *e),
       q, m, p, z, o, s, n, w, e)
STATUS(clEnqueueBarrierWithWaitList,
       (cl_command_queue q, cl_uint n, const cl_event *w, cl_event *e), q, n, w, e)
STATUS(clWaitForEvents, (cl_uint n, const cl_event *w), n, w)
STATUS(clGetEventProfilingInfo, (cl_event e, cl_profiling_info w, size_t s, void *v, size_t *r), e,
       w, s, v, r)
STATUS(clGetMemObjectInfo, (cl_mem m, cl_mem_info w, size_t s, void *v, size_t *r), m, w, s, v, r)

static cl_command_queue CL_API_CALL clCreateCommandQueue_or_not(cl_context c, cl_device_id d,
                                                                cl_command_queue_properties p,
                                                                cl_int *result)
{
    unsigned i = 0;
    *result = fails("clCreateCommandQueue");
    cl_command_queue made =
        *result == CL_SUCCESS ? real.clCreateCommandQueue(c, d, p, result) : NULL;
    objects += made != NULL;
    while (made != NULL && queues[i] != NULL)
        i++;
    if (made != NULL)
        queues[i] = made;
    return made;
}

static cl_int CL_API_CALL clReleaseCommandQueue_or_not(cl_command_queue q)
{
    for (unsigned i = 0; i < sizeof queues / sizeof queues[0]; i++)
        if (queues[i] == q)
            queues[i] = NULL;
    objects--;
    return real.clReleaseCommandQueue(q);
}

static cl_int CL_API_CALL clEnqueueNDRangeKernel_or_not(cl_command_queue q, cl_kernel k, cl_uint d,
                                                        const size_t *o, const size_t *g,
                                                        const size_t *l, cl_uint n,
                                                        const cl_event *w, cl_event *e)
{
    const cl_int code = fails("clEnqueueNDRangeKernel"),
                 result = code != CL_SUCCESS
                              ? code
                              : real.clEnqueueNDRangeKernel(q, k, d, o, g, l, n, w, e);
    objects += result == CL_SUCCESS && e != NULL;
    return result;
}

static cl_int CL_API_CALL clEnqueueMarkerWithWaitList_or_not(cl_command_queue q, cl_uint n,
                                                             const cl_event *w, cl_event *e)
{
    const cl_int code = fails("clEnqueueMarkerWithWaitList"),
                 result = code != CL_SUCCESS ? code : real.clEnqueueMarkerWithWaitList(q, n, w, e);
    objects += result == CL_SUCCESS && e != NULL;
    return result;
}

STATUS(clEnqueueUnmapMemObject,
       (cl_command_queue q, cl_mem m, void *p, cl_uint n, const cl_event *w, cl_event *e), q, m, p,
       n, w, e)

static void *CL_API_CALL clEnqueueMapBuffer_or_not(cl_command_queue q, cl_mem m, cl_bool b,
                                                   cl_map_flags f, size_t o, size_t s, cl_uint n,
                                                   const cl_event *w, cl_event *e, cl_int *result)
{
    const cl_int code = fails("clEnqueueMapBuffer");
    if (code == CL_SUCCESS)
        return real.clEnqueueMapBuffer(q, m, b, f, o, s, n, w, e, result);
    *result = code;
    return NULL;
}

static cl_int CL_API_CALL clGetEventInfo_or_not(cl_event e, cl_event_info what, size_t size,
                                                void *value, size_t *returned)
{
    const cl_int code = fails("clGetEventInfo"),
                 result = code != CL_SUCCESS ? code
                                             : real.clGetEventInfo(e, what, size, value, returned);
    if (result == CL_SUCCESS && command_state != 0)
        memcpy(value, &command_state, sizeof command_state);
    return result;
}

static cl_int CL_API_CALL clGetProgramBuildInfo_or_not(cl_program p, cl_device_id d,
                                                       cl_program_build_info what, size_t size,
                                                       void *value, size_t *returned)
{
    static const char log[] = "fast.cl:7: no such instruction\nno such register\n";
    if (fault.target == NULL || strcmp(fault.target, "clBuildProgram") != 0 ||
        what != CL_PROGRAM_BUILD_LOG || size < sizeof log)
        return real.clGetProgramBuildInfo(p, d, what, size, value, returned);
    memcpy(value, log, sizeof log);
    return CL_SUCCESS;
}

/* NVIDIA's function for pinned memory, which is found by its name. */
static cl_mem(CL_API_CALL *real_create_nv)(cl_context, cl_mem_flags, cl_bitfield, size_t, void *,
                                           cl_int *);

static cl_mem CL_API_CALL create_nv_or_not(cl_context c, cl_mem_flags f, cl_bitfield nv, size_t s,
                                           void *p, cl_int *result)
{
    const cl_int code = fails("clCreateBufferNV");
    cl_mem made = code == CL_SUCCESS ? real_create_nv(c, f, nv, s, p, result) : NULL;
    if (code != CL_SUCCESS)
        *result = code;
    objects += made != NULL;
    return made;
}

static void *CL_API_CALL clGetExtensionFunctionAddressForPlatform_or_not(cl_platform_id p,
                                                                         const char *name)
{
    cl_mem(CL_API_CALL * own)(cl_context, cl_mem_flags, cl_bitfield, size_t, void *, cl_int *) =
        create_nv_or_not;
    void *found = real.clGetExtensionFunctionAddressForPlatform(p, name);
    if (found == NULL || strcmp(name, "clCreateBufferNV") != 0)
        return found;
    memcpy(&real_create_nv, &found, sizeof found);
    memcpy(&found, &own, sizeof found);
    return found;
}

static void stand_between(struct wcodec_opencl_driver *d)
{
    real = *d;
#define X(name) d->name = name##_or_not;
    X(clCreateContext)
    X(clCreateCommandQueue)
    X(clCreateProgramWithSource)
    X(clCreateKernel)
    X(clCreateBuffer)
    X(clGetExtensionFunctionAddressForPlatform)
    X(clReleaseContext)
    X(clReleaseCommandQueue)
    X(clReleaseProgram)
    X(clReleaseKernel)
    X(clReleaseMemObject)
    X(clReleaseEvent)
    X(clBuildProgram)
    X(clSetKernelArg)
    X(clFlush)
    X(clFinish)
    X(clEnqueueReadBuffer)
    X(clEnqueueWriteBuffer)
    X(clEnqueueCopyBuffer)
    X(clEnqueueFillBuffer)
    X(clEnqueueBarrierWithWaitList)
    X(clWaitForEvents)
    X(clGetEventProfilingInfo)
    X(clGetMemObjectInfo)
    X(clEnqueueNDRangeKernel)
    X(clEnqueueMarkerWithWaitList)
    X(clEnqueueMapBuffer)
    X(clEnqueueUnmapMemObject)
    X(clGetEventInfo)
    X(clGetProgramBuildInfo)
#undef X
}

/* From now on: call `at` of `target`, and all after it too if `all` or `lost`. */
static void let_fail(const char *target, long at, cl_int code)
{
    fault.target = target;
    fault.at = at;
    fault.code = code;
    fault.lost = fault.all = fault.done = false;
    calls = 0;
}

/* A good tensor and a damaged one, of common fields, and where the damage is. */
static struct support_tensor tensors[2];
static struct wcodec_tiles *tiles[2];
static struct wcodec_job_result wanted;

static void make_tensors(void)
{
    uint64_t seed = support_seed();
    struct wcodec_view view;
    wcodec_error err;
    for (unsigned i = 0; i < 2; i++) {
        support_tensor_common(&seed, 1, 1 + 2 * i, 9000, &tensors[i]);
        assert_int_equal(wcodec_tiles_read(&tensors[i].tiling, tensors[i].payload,
                                           tensors[i].payload_size, &wcodec_default_allocator,
                                           &tiles[i], &err),
                         WCODEC_OK);
    }
    tensors[1].payload[tiles[1]->area_begin[WCODEC_AREA_WORDS]] ^= 0x55;
    uint8_t *out = malloc(tensors[1].tiling.size);
    wcodec_view_whole(tensors[1].payload, &view);
    wanted.fault = WCODEC_TILE_OK;
    for (wanted.tile = 0; wanted.tile < tensors[1].tiling.tiles && wanted.fault == WCODEC_TILE_OK;
         wanted.tile += wanted.fault == WCODEC_TILE_OK)
        wanted.fault = wcodec_tile_decode(
            tiles[1], &view, wanted.tile,
            out + (wanted.tile << tensors[1].tiling.tile_log2 << tensors[1].tiling.element_log2),
            true);
    assert_true(wanted.fault != WCODEC_TILE_OK);
    free(out);
}

struct work {
    struct wcodec_queue *queue, *timed;
    struct wcodec_memory *payload[2], *out, *pinned, *adopted;
    struct wcodec_event *marks[2];
    struct wcodec_batch *batch;
    uint64_t size, at; /* of both outputs; of the second one */
};

static wcodec_status allocate(struct work *w, struct wcodec_device *device, wcodec_error *err)
{
    wcodec_status status = backend->queue_create(device, &w->queue, err);
    if (status == WCODEC_OK)
        status = backend->queue_create_timed(device, &w->timed, err);
    for (unsigned i = 0; i < 2 && status == WCODEC_OK; i++)
        status = backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, tensors[i].payload_size,
                                          &w->payload[i], err);
    if (status == WCODEC_OK)
        status = backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, 2 * w->size, &w->out, err);
    if (status == WCODEC_OK)
        status = backend->memory_allocate(device, WCODEC_MEMORY_PINNED, w->size, &w->pinned, err);
    if (status == WCODEC_OK)
        status = backend->memory_adopt(device, backend->memory_native(w->out), w->size, &w->adopted,
                                       err);
    return status;
}

static wcodec_status decode(struct work *w, struct wcodec_job_result results[2], wcodec_error *err)
{
    static const uint8_t poison[8] = {0xee};
    struct wcodec_job jobs[2] = {{0}};
    bool done;
    wcodec_status status = backend->fill(w->queue, w->out, 0, poison, 0, w->size, err);
    for (unsigned i = 0; i < 2; i++) {
        jobs[i] = (struct wcodec_job){.tiles = tiles[i],
                                      .count = tensors[i].tiling.tiles,
                                      .memory = w->out,
                                      .destination = i * w->at,
                                      .verify = true};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            jobs[i].places[a] =
                (struct wcodec_area_place){w->payload[i], 0, 0, tensors[i].payload_size};
        if (status == WCODEC_OK)
            status = backend->copy_in(w->queue, w->payload[i], 0, tensors[i].payload,
                                      tensors[i].payload_size, err);
    }
    if (status == WCODEC_OK)
        status = backend->batch_create(w->queue, jobs, 2, &w->batch, err);
    for (unsigned i = 0; i < 3;
         i++) { /* each decoding tells of its faults elsewhere than the one before */
        memset(results, 0, 2 * sizeof *results);
        if (status == WCODEC_OK)
            status = backend->batch_decode(w->queue, w->batch, err);
        for (unsigned k = 0; k < 2 && status == WCODEC_OK; k++)
            status = backend->batch_results(w->queue, w->batch, results, err);
        if (status == WCODEC_OK)
            assert_int_equal(results[1].fault, wanted.fault);
    }
    if (status == WCODEC_OK)
        status = backend->event_record(w->timed, &w->marks[0], err);
    if (status == WCODEC_OK)
        status = backend->queue_after(w->queue, w->marks[0], err);
    if (status == WCODEC_OK)
        status = backend->copy(w->queue, w->out, w->size, w->out, 0, w->size, err);
    if (status == WCODEC_OK)
        status = backend->copy_out(w->queue, backend->memory_pointer(w->pinned), w->out, w->size,
                                   w->size, err);
    if (status == WCODEC_OK)
        status = backend->queue_wait(w->queue, err);
    if (status == WCODEC_OK)
        status = backend->event_record(w->timed, &w->marks[1], err);
    if (status == WCODEC_OK)
        status = backend->event_wait(w->marks[1], err);
    if (status == WCODEC_OK)
        status = backend->event_query(w->marks[1], &done, err);
    return status;
}

/* Everything that the interface has; what came of it must be right if it says so. */
static wcodec_status work(struct wcodec_device *device, wcodec_error *err)
{
    struct work w = {.size = wcodec_align_u64(tensors[0].tiling.size, 16) + tensors[1].tiling.size,
                     .at = wcodec_align_u64(tensors[0].tiling.size, 16)};
    struct wcodec_job_result results[2] = {{0}};
    uint64_t time;
    *err = (wcodec_error){0};
    wcodec_status status = allocate(&w, device, err);
    if (status == WCODEC_OK)
        status = decode(&w, results, err);
    if (status == WCODEC_OK)
        status = backend->event_elapsed(w.marks[0], w.marks[1], &time, err);
    if (status == WCODEC_OK) {
        const uint8_t *got = backend->memory_pointer(w.pinned);
        assert_int_equal(results[0].fault, WCODEC_TILE_OK);
        assert_int_equal(results[1].fault, wanted.fault);
        assert_int_equal(results[1].tile, wanted.tile);
        assert_memory_equal(got, tensors[0].data, tensors[0].tiling.size);
        for (uint64_t i = 0; i < tensors[1].tiling.size; i++)
            assert_int_equal(got[w.at + i], 0);
    }
    struct wcodec_queue *const own[] = {w.queue, w.timed};
    struct wcodec_memory *const memories[] = {w.adopted, w.pinned, w.out, w.payload[1],
                                              w.payload[0]};
    for (unsigned i = 0; i < 2; i++)
        if (own[i] != NULL)
            backend->queue_wait(own[i], NULL);
    if (w.batch != NULL)
        backend->batch_destroy(w.batch);
    for (unsigned i = 0; i < 2; i++)
        if (w.marks[i] != NULL)
            backend->event_destroy(w.marks[i]);
    for (unsigned i = 0; i < 5; i++)
        if (memories[i] != NULL)
            backend->memory_free(memories[i]);
    for (unsigned i = 0; i < 2; i++)
        if (own[i] != NULL)
            backend->queue_destroy(own[i]);
    return status;
}

static void works(struct wcodec_device *device)
{
    wcodec_error err;
    let_fail(NULL, 0, 0);
    if (work(device, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static struct wcodec_device *open_device(const char *variant)
{
    struct wcodec_device *device;
    wcodec_error err;
    setenv("WCODEC_OPENCL_VARIANT", variant, 1);
    if (backend->device_open(state, 0, &device, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return device;
}

/* What batches leave behind on purpose. */
static void drop_kept(struct wcodec_device *device)
{
    for (; device->kept_count > 0; device->kept_count--) {
        clReleaseMemObject_or_not(device->kept[device->kept_count - 1].block);
        for (unsigned i = 0; i < 2; i++)
            clReleaseMemObject_or_not(device->kept[device->kept_count - 1].flags[i]);
    }
}

/* Each call of a function alone. */
static void test_calls(void **unused)
{
    (void)unused;
    static const struct call_case cases[] = {
        {"clCreateCommandQueue", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_MEMORY,
         "clCreateCommandQueue: OUT_OF_HOST_MEMORY"},
        {"clCreateCommandQueue", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clCreateCommandQueue: OUT_OF_RESOURCES"},
        {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, WCODEC_ERROR_MEMORY,
         "clCreateBuffer: MEM_OBJECT_ALLOCATION_FAILURE"},
        {"clCreateBuffer", CL_OUT_OF_RESOURCES, WCODEC_ERROR_MEMORY,
         "clCreateBuffer: "}, /* what some drivers say of memory */
        {"clCreateBuffer", CL_INVALID_BUFFER_SIZE, WCODEC_ERROR_MEMORY,
         "clCreateBuffer: INVALID_BUFFER_SIZE"},
        {"clCreateBuffer", CL_INVALID_CONTEXT, WCODEC_ERROR_DEVICE,
         "clCreateBuffer: INVALID_CONTEXT"},
        {"clEnqueueMapBuffer", CL_MAP_FAILURE, WCODEC_ERROR_MEMORY,
         ": MEM_OBJECT_ALLOCATION_FAILURE"},
        {"clEnqueueUnmapMemObject", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueUnmapMemObject: OUT_OF_RESOURCES"},
        {"clCreateKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clCreateKernel: OUT_OF_RESOURCES"},
        {"clSetKernelArg", CL_INVALID_MEM_OBJECT, WCODEC_ERROR_DEVICE, "INVALID_"},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueNDRangeKernel: OUT_OF_RESOURCES"},
        {"clEnqueueNDRangeKernel", CL_MEM_OBJECT_ALLOCATION_FAILURE, WCODEC_ERROR_MEMORY,
         "clEnqueueNDRangeKernel: MEM_OBJECT"}, /* memory comes with use */
        {"clEnqueueWriteBuffer", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_MEMORY,
         "clEnqueueWriteBuffer: OUT_OF_HOST_MEMORY"},
        {"clEnqueueReadBuffer", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueReadBuffer: OUT_OF_RESOURCES"},
        {"clEnqueueFillBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, WCODEC_ERROR_MEMORY,
         "clEnqueueFillBuffer: MEM_OBJECT"},
        {"clEnqueueCopyBuffer", CL_INVALID_COMMAND_QUEUE, WCODEC_ERROR_DEVICE,
         "clEnqueueCopyBuffer: INVALID_COMMAND_QUEUE"},
        {"clEnqueueMarkerWithWaitList", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueMarkerWithWaitList: OUT_OF_RESOURCES"},
        {"clEnqueueBarrierWithWaitList", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueBarrierWithWaitList: OUT_OF_RESOURCES"},
        {"clFlush", CL_INVALID_COMMAND_QUEUE, WCODEC_ERROR_DEVICE, "INVALID_COMMAND_QUEUE"},
        {"clFinish", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE, "OUT_OF_RESOURCES"},
        {"clWaitForEvents", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, WCODEC_ERROR_DEVICE,
         "clWaitForEvents: EXEC_STATUS_ERROR"},
        {"clGetEventInfo", CL_INVALID_EVENT, WCODEC_ERROR_DEVICE, "clGetEventInfo: INVALID_EVENT"},
        {"clGetEventProfilingInfo", CL_PROFILING_INFO_NOT_AVAILABLE, WCODEC_ERROR_DEVICE,
         "clGetEventProfilingInfo: PROFILING_INFO_NOT_AVAILABLE"},
        {"clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, WCODEC_ERROR_USAGE, "context"},
    };
    struct wcodec_device *device = open_device("loops");
    works(device);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned failed = 0;
        for (long at = 0;; at++) {
            wcodec_error err;
            drop_kept(device); /* so that they are made again */
            let_fail(cases[i].name, at, cases[i].code);
            const long before = objects;
            const wcodec_status status = work(device, &err);
            const bool done = fault.done;
            drop_kept(device);
            assert_int_equal(objects, before);
            if (!done) {
                assert_int_equal(status, WCODEC_OK);
                break;
            }
            if (status == WCODEC_OK) /* in clearing up: there is nobody to tell */
                continue;
            failed++;
            if (status != cases[i].status || strstr(err.text, cases[i].says) == NULL)
                fail_msg("%s, call %ld: status %d: %s", cases[i].name, at, status, err.text);
            works(device);
        }
        print_message("%s: %u\n", cases[i].name, failed);
        assert_true(failed > 0);
    }
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* A device that is lost: from each call on, nothing succeeds any more, but releasing. A new opening
 * finds it again. */
static void test_lost(void **unused)
{
    (void)unused;
    static const cl_int codes[] = {CL_OUT_OF_RESOURCES, CL_DEVICE_NOT_AVAILABLE};
    struct wcodec_device *device = open_device("loops");
    wcodec_error err;
    for (long at = 0;; at++) {
        let_fail("", at, codes[at % 2]);
        fault.lost = true;
        drop_kept(device);
        const long before = objects;
        const wcodec_status status = work(device, &err);
        drop_kept(device);
        assert_int_equal(objects, before);
        if (!fault.done) {
            print_message("%ld calls\n", at);
            break;
        }
        if (status != WCODEC_ERROR_DEVICE && status != WCODEC_ERROR_MEMORY &&
            status != WCODEC_ERROR_USAGE && status != WCODEC_OK)
            fail_msg("from call %ld on: status %d: %s", at, status, err.text);
    }
    works(device);
    let_fail("", 0, CL_DEVICE_NOT_AVAILABLE);
    fault.lost = true;
    assert_int_equal(work(device, &err), WCODEC_ERROR_DEVICE);
    backend->device_close(device);
    assert_int_equal(objects, 0);
    let_fail(NULL, 0, 0);
    device = open_device("loops");
    works(device);
    backend->device_close(device);
}

/* A command that fails after it was taken: the decoding's own, and any before a mark. */
static void test_commands(void **unused)
{
    (void)unused;
    struct wcodec_device *device = open_device("loops");
    wcodec_error err;
    works(device);
    command_state = CL_OUT_OF_RESOURCES;
    let_fail(NULL, 0, 0);
    const wcodec_status status = work(device, &err);
    command_state = 0;
    assert_int_equal(status, WCODEC_ERROR_DEVICE);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, "the decoding: OUT_OF_RESOURCES"));
    works(device);
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* Opening, each call of what it calls: a backend that cannot be used, with the reason. */
static void test_opening(void **unused)
{
    (void)unused;
    static const struct call_case cases[] = {
        {"clCreateContext", CL_DEVICE_NOT_AVAILABLE, WCODEC_ERROR_BACKEND,
         "clCreateContext: DEVICE_NOT_AVAILABLE"},
        {"clCreateContext", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_MEMORY,
         "clCreateContext: OUT_OF_HOST_MEMORY"},
        {"clCreateCommandQueue", CL_OUT_OF_RESOURCES, WCODEC_ERROR_BACKEND,
         "clCreateCommandQueue: OUT_OF_RESOURCES"},
        {"clCreateProgramWithSource", CL_OUT_OF_RESOURCES, WCODEC_ERROR_BACKEND,
         "clCreateProgramWithSource: OUT_OF_RESOURCES"},
        {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE, WCODEC_ERROR_BACKEND,
         "the kernels (loops) do not compile: BUILD_PROGRAM_FAILURE: fast.cl:7: no such instruction|no such register"},
        {"clBuildProgram", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_BACKEND,
         "do not compile: OUT_OF_HOST_MEMORY: fast.cl:7"},
    };
    struct wcodec_device *device;
    wcodec_error err;
    setenv("WCODEC_OPENCL_VARIANT", "loops", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        let_fail(cases[i].name, 0, cases[i].code);
        const wcodec_status status = backend->device_open(state, 0, &device, &err);
        if (status != cases[i].status || err.status != status ||
            strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: status %d: %s", cases[i].name, status, err.text);
        assert_int_equal(objects, 0);
    }
    let_fail(NULL, 0, 0);
    device = open_device("loops");
    works(device);
    backend->device_close(device);
}

/* The general kernel compiles and no other: it decodes everything. */
static void test_without_fast(void **unused)
{
    (void)unused;
    setenv("WCODEC_OPENCL_FAST", "1", 1);
    struct wcodec_device *device = open_device("local");
    wcodec_error err;
    let_fail("clBuildProgram", 0, CL_BUILD_PROGRAM_FAILURE);
    fault.all = true;
    if (work(device, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_true(fault.done);
    unsetenv("WCODEC_OPENCL_FAST");
    works(device); /* and is not tried again */
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* A product, or with `rows` a matrix decoded, on a queue of the caller's. */
static wcodec_status compute(struct wcodec_device *device, bool rows, wcodec_error *err)
{
    uint64_t seed = support_seed();
    struct support_matrix m;
    struct wcodec_queue *queue;
    struct wcodec_memory *memories[3];
    wcodec_status status;
    const char *target = fault.target;
    fault.target = NULL;
    support_matrix_make(&seed, 20, 64, &m);
    const uint64_t sizes[] = {m.fixed.payload_size, 128, m.fixed.size};
    assert_int_equal(backend->queue_create(device, &queue, err), WCODEC_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, sizes[i], &memories[i], err),
            WCODEC_OK);
    assert_int_equal(backend->copy_in(queue, memories[0], 0, m.payload, sizes[0], err), WCODEC_OK);
    assert_int_equal(backend->queue_wait(queue, err), WCODEC_OK);
    const uint64_t native = (uint64_t)(uintptr_t)wcodec_opencl_use(queue),
                   out = backend->memory_native(memories[2]);
    const struct wcodec_rows all = {
        .fixed = &m.fixed, .memory = memories[0], .count = m.fixed.rows, .out = out};
    const struct wcodec_product product = {.fixed = &m.fixed,
                                           .memory = memories[0],
                                           .x = backend->memory_native(memories[1]),
                                           .y = out,
                                           .x_stride = 128,
                                           .y_stride = 80,
                                           .vectors = 1,
                                           .y_dtype = WCODEC_DTYPE_F32};
    fault.target = target;
    status = rows ? backend->products->decode_rows(device, native, &all, err)
                  : backend->products->multiply(device, native, &product, err);
    fault.target = NULL;
    assert_int_equal(backend->queue_wait(queue, NULL), WCODEC_OK);
    for (unsigned i = 0; i < 3; i++)
        backend->memory_free(memories[i]);
    backend->queue_destroy(queue);
    support_matrix_free(&m);
    return status;
}

/* Each call of products and rows: what fails is told, and what comes after it works. */
static void test_products(void **unused)
{
    (void)unused;
    static const struct call_case cases[] = {
        {"clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, WCODEC_ERROR_USAGE,
         "no buffer of the device's OpenCL context"},
        {"clCreateProgramWithSource", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_MEMORY,
         "clCreateProgramWithSource: OUT_OF_HOST_MEMORY"},
        {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE, WCODEC_ERROR_UNSUPPORTED,
         "do not compile: BUILD_PROGRAM_FAILURE: fast.cl:7: no such instruction"},
        {"clCreateKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clCreateKernel: OUT_OF_RESOURCES"},
        {"clSetKernelArg", CL_INVALID_MEM_OBJECT, WCODEC_ERROR_DEVICE,
         "clSetKernelArg: INVALID_MEM_OBJECT"},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueNDRangeKernel: OUT_OF_RESOURCES"},
        {"clEnqueueNDRangeKernel", CL_INVALID_COMMAND_QUEUE, WCODEC_ERROR_USAGE,
         "the queue does not take the launch: INVALID_COMMAND_QUEUE"},
    };
    struct wcodec_device *device = open_device("loops");
    wcodec_error err;
    for (unsigned rows = 0; rows < 2; rows++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            let_fail(cases[i].name, 0, cases[i].code);
            const wcodec_status status = compute(device, rows != 0, &err);
            if (status != cases[i].status || strstr(err.text, cases[i].says) == NULL)
                fail_msg("%s: status %d: %s", cases[i].name, status, err.text);
            assert_true(fault.done);
        }
        let_fail(NULL, 0, 0);
        assert_int_equal(compute(device, rows != 0, &err), WCODEC_OK);
    }
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* A queue that was waited for, and was given nothing since, is not asked for again; one of the
 * caller's always is, and one whose waiting failed. */
static void test_idle(void **unused)
{
    (void)unused;
    static const uint8_t zero[8];
    const long never = 1000;
    struct wcodec_device *device = open_device("loops");
    struct wcodec_queue *own, *adopted;
    struct wcodec_memory *memory;
    uint8_t bytes[64];
    wcodec_error err;
    assert_int_equal(backend->queue_create(device, &own, &err), WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, 64, &memory, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < 4; i++) {
        let_fail("clFinish", never, 0);
        assert_int_equal(backend->fill(own, memory, 0, zero, 0, 64, &err), WCODEC_OK);
        if (i == 1)
            assert_int_equal(backend->copy(own, memory, 0, memory, 32, 32, &err), WCODEC_OK);
        if (i == 2)
            assert_int_equal(backend->copy_in(own, memory, 0, bytes, 64, &err), WCODEC_OK);
        if (i == 3)
            assert_int_equal(backend->copy_out(own, bytes, memory, 0, 64, &err), WCODEC_OK);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(backend->queue_wait(own, &err), WCODEC_OK);
        assert_int_equal(calls, 1);
    }
    let_fail("clFinish", 0, CL_OUT_OF_RESOURCES);
    assert_int_equal(backend->fill(own, memory, 0, zero, 0, 64, &err), WCODEC_OK);
    assert_int_equal(backend->queue_wait(own, &err), WCODEC_ERROR_DEVICE);
    assert_int_equal(backend->queue_wait(own, &err), WCODEC_OK);
    assert_int_equal(calls, 2);
    let_fail("clFinish", never, 0);
    const uint64_t native = (uint64_t)(uintptr_t)wcodec_opencl_use(own);
    assert_int_equal(backend->queue_adopt(device, native, &adopted, &err), WCODEC_OK);
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(backend->queue_wait(adopted, &err), WCODEC_OK);
    assert_int_equal(calls, 3);
    let_fail(NULL, 0, 0);
    backend->queue_destroy(adopted);
    backend->memory_free(memory);
    backend->queue_destroy(own);
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* Where the driver is given one call at a time, who waits for a queue asks; what fails of that is
 * told, and who has asked for long waits. */
static void test_gate(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        const char *says;
    } cases[] = {{"clEnqueueMarkerWithWaitList", "clEnqueueMarkerWithWaitList: OUT_OF_RESOURCES"},
                 {"clFlush", "clFlush: OUT_OF_RESOURCES"},
                 {"clGetEventInfo", "clGetEventInfo: OUT_OF_RESOURCES"},
                 {"clWaitForEvents", "clWaitForEvents: OUT_OF_RESOURCES"}};
    static const uint8_t zero[8];
    const long never = 1000;
    struct wcodec_device *device = open_device("loops");
    struct wcodec_queue *queue;
    struct wcodec_memory *memory;
    wcodec_error err;
    device->gated = true;
    works(device);
    drop_kept(device);
    assert_int_equal(backend->queue_create(device, &queue, &err), WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, 64, &memory, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < 4; i++) {
        command_state = i == 3 ? CL_RUNNING : 0;
        let_fail(cases[i].name, 0, CL_OUT_OF_RESOURCES);
        assert_int_equal(backend->fill(queue, memory, 0, zero, 0, 64, &err), WCODEC_OK);
        assert_int_equal(backend->queue_wait(queue, &err), WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_int_equal(backend->queue_wait(queue, &err), WCODEC_OK);
        assert_true(calls >= 2);
        calls = 0;
        assert_int_equal(backend->queue_wait(queue, &err), WCODEC_OK); /* nothing to ask */
        assert_int_equal(calls, 0);
    }
    command_state = CL_OUT_OF_RESOURCES;
    let_fail("clFinish", never, 0);
    assert_int_equal(backend->fill(queue, memory, 0, zero, 0, 64, &err), WCODEC_OK);
    assert_int_equal(backend->queue_wait(queue, &err), WCODEC_ERROR_DEVICE);
    assert_non_null(strstr(err.text, "what the queue was given: OUT_OF_RESOURCES"));
    command_state = 0;
    assert_int_equal(backend->queue_wait(queue, &err), WCODEC_OK);
    assert_int_equal(calls, 0);
    let_fail(NULL, 0, 0);
    backend->memory_free(memory);
    backend->queue_destroy(queue);
    backend->device_close(device);
    assert_int_equal(objects, 0);
}

/* A tensor that is hashed by a queue of its own. */
enum { HASHED = 70000, HASHED_PIECES = 2, HASHING_THREADS = 4 };
struct hashed {
    struct wcodec_queue *queue;
    struct wcodec_memory *elements, *sums;
    uint8_t bytes[HASHED];
    uint64_t wanted;
    wcodec_status status;
    wcodec_error error;
    bool right;
};

static void hash_once(struct hashed *h)
{
    const struct wcodec_tensor_linear linear = {
        .elements = h->elements, .out = h->sums, .size = HASHED};
    uint64_t sums[HASHED_PIECES] = {0};
    h->error = (wcodec_error){0};
    h->status = backend->deltas->linear(h->queue, &linear, &h->error);
    if (h->status != WCODEC_OK)
        return;
    h->status = backend->copy_out(h->queue, sums, h->sums, 0, sizeof sums, &h->error);
    const wcodec_status waited = backend->queue_wait(h->queue, NULL);
    h->status = h->status == WCODEC_OK ? waited : h->status;
    h->right = sums[0] + sums[1] == h->wanted;
}

static void *hash_often(void *hashed)
{
    struct hashed *h = hashed;
    unsigned right = 0;
    for (unsigned i = 0; i < 20; i++) {
        hash_once(h);
        right += h->status == WCODEC_OK && h->right;
    }
    h->right = right == 20;
    return NULL;
}

static void make_hashed(struct wcodec_device *device, unsigned number, struct hashed *h)
{
    uint64_t seed = support_seed() + number;
    for (unsigned i = 0; i < HASHED; i++)
        h->bytes[i] = (uint8_t)support_random(&seed);
    h->wanted = wcodec_linear_sum(h->bytes, HASHED, 0);
    assert_int_equal(backend->queue_create(device, &h->queue, NULL), WCODEC_OK);
    assert_int_equal(
        backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, HASHED, &h->elements, NULL),
        WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE,
                                              HASHED_PIECES * sizeof(uint64_t), &h->sums, NULL),
                     WCODEC_OK);
    assert_int_equal(backend->copy_in(h->queue, h->elements, 0, h->bytes, HASHED, NULL), WCODEC_OK);
}

/* Kernels of coders are launched by several threads at once, each with arguments of its own; and
 * what fails of that is told, leaves nothing behind, and is tried again. */
static void test_launches(void **unused)
{
    (void)unused;
    static const struct call_case cases[] = {
        {"clCreateProgramWithSource", CL_OUT_OF_HOST_MEMORY, WCODEC_ERROR_MEMORY,
         "clCreateProgramWithSource: OUT_OF_HOST_MEMORY"},
        {"clCreateKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clCreateKernel: OUT_OF_RESOURCES"}, /* beside the program */
        {"clCreateKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clCreateKernel: OUT_OF_RESOURCES"}, /* one more */
        {"clSetKernelArg", CL_INVALID_MEM_OBJECT, WCODEC_ERROR_DEVICE,
         "clSetKernelArg: INVALID_MEM_OBJECT"},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE,
         "clEnqueueNDRangeKernel: OUT_OF_RESOURCES"},
        {"clFlush", CL_OUT_OF_RESOURCES, WCODEC_ERROR_DEVICE, "clFlush: OUT_OF_RESOURCES"},
    };
    static struct hashed hashed[HASHING_THREADS];
    pthread_t threads[HASHING_THREADS];
    setenv("WCODEC_OPENCL_FAST", "1", 1);
    setenv("WCODEC_OPENCL_OPTIONS", "-cl-opt-disable", 1); /* PoCL takes a minute else */
    struct wcodec_device *device = open_device("local");
    struct wcodec_opencl_coder *c = &device->coders[WCODEC_OPENCL_DELTAS + WCODEC_DELTA_LINEAR];
    let_fail(NULL, 0, 0);
    for (unsigned i = 0; i < HASHING_THREADS; i++)
        make_hashed(device, i, &hashed[i]);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned kept = c->kernel_count;
        c->kernel_count = i == 2 ? 0 : kept; /* as if another thread had them */
        let_fail(cases[i].name, 0, cases[i].code);
        hash_once(&hashed[0]);
        if (hashed[0].status != cases[i].status ||
            strstr(hashed[0].error.text, cases[i].says) == NULL)
            fail_msg("%s: status %d: %s", cases[i].name, hashed[0].status, hashed[0].error.text);
        c->kernel_count = i == 2 ? kept : c->kernel_count;
        let_fail(NULL, 0, 0);
        if (i == 0) /* there is no program yet */
            continue;
        hash_once(&hashed[0]);
        assert_int_equal(hashed[0].status, WCODEC_OK);
        assert_true(hashed[0].right);
        assert_int_equal(c->kernel_count, 1);
    }
    device->gated = true;
    for (unsigned i = 0; i < HASHING_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hash_often, &hashed[i]), 0);
    for (unsigned i = 0; i < HASHING_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < HASHING_THREADS; i++) {
        if (hashed[i].status != WCODEC_OK)
            fail_msg("%s", hashed[i].error.text);
        assert_true(hashed[i].right);
    }
    assert_in_range(c->kernel_count, 1, HASHING_THREADS);
    print_message("%u kernels\n", c->kernel_count);
    for (unsigned i = 0; i < HASHING_THREADS; i++) {
        backend->memory_free(hashed[i].elements);
        backend->memory_free(hashed[i].sums);
        backend->queue_destroy(hashed[i].queue);
    }
    backend->device_close(device);
    unsetenv("WCODEC_OPENCL_OPTIONS");
    unsetenv("WCODEC_OPENCL_FAST");
    assert_int_equal(objects, 0);
}

int main(void)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    wcodec_error err;
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl",
           1); /* PoCL asks hwloc, whose OpenCL component asks PoCL */
    snprintf(path, sizeof path, "%s/backends/opencl/.libs/wcodec_opencl.so",
             build != NULL ? build : ".");
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    backend = plugin != NULL ? dlsym(plugin, "wcodec_backend_opencl") : NULL;
    if (backend == NULL) {
        print_message("%s\n", dlerror());
        return 1;
    }
    if (wcodec_context_create(NULL, &context, &err) != WCODEC_OK)
        return 1;
    wcodec_host_init(&host, context);
    if (backend->open(&host, &state, &err) != WCODEC_OK) {
        print_message("skipped: %s\n", err.text);
        wcodec_context_destroy(context);
        return 77;
    }
    stand_between(&state->driver);
    make_tensors();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),      cmocka_unit_test(test_calls),
        cmocka_unit_test(test_lost),         cmocka_unit_test(test_commands),
        cmocka_unit_test(test_without_fast), cmocka_unit_test(test_products),
        cmocka_unit_test(test_idle),         cmocka_unit_test(test_gate),
        cmocka_unit_test(test_launches)};
    const int result = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < 2; i++) {
        wcodec_tiles_free(tiles[i]);
        support_tensor_free(&tensors[i]);
    }
    backend->close(state);
    wcodec_context_destroy(context);
    return result;
}
