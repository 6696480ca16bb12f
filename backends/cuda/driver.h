/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The part of the CUDA driver API that is used, opened by dlopen. Declared here, so that the host
 * code builds without the toolkit; the names are those of NVIDIA's documentation. */
#ifndef WCODEC_CUDA_DRIVER_H
#define WCODEC_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result; /* CUresult: 0 is success */
typedef int cu_device;
typedef uint64_t cu_pointer; /* CUdeviceptr */
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;

enum {
    CU_OUT_OF_MEMORY = 2,
    CU_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CU_INVALID_VALUE = 1,
    CU_INVALID_HANDLE = 400,
    CU_CAPTURE_FIRST = 900, /* errors of stream capture */
    CU_CAPTURE_LAST = 908,
    CU_NO_BINARY = 209, /* no kernel image for the device */
    CU_PEER_ACCESS_ALREADY = 704,
    CU_TOO_MANY_PEERS = 711,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_TIMED_OUT = 702,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_HOST_PORTABLE_MAPPED = 1 | 2, /* of cuMemHostAlloc and cuMemHostRegister */
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_MULTIPROCESSOR_THREADS = 39,
    CU_ATTRIBUTE_MULTIPROCESSOR_SHARED = 81,
    CU_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_ATTRIBUTE_BLOCK_SHARED = 97,     /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    CU_ATTRIBUTE_RESERVED_SHARED = 111, /* RESERVED_SHARED_MEMORY_PER_BLOCK */
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_FUNCTION_MAX_THREADS = 0,
    CU_FUNCTION_PTX_VERSION = 5, /* 80: of compute capability 8.0 */
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_FUNCTION_SHARED_CARVEOUT = 9,
    CU_FUNCTION_LARGE_CLUSTERS = 14, /* non-portable sizes */
    CU_POINTER_DEVICE = 9            /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
};

/* X(name here, symbol, parameters) */
#define WCODEC_CUDA_FUNCTIONS(X) \
    X(init, "cuInit", (unsigned)) \
    X(version, "cuDriverGetVersion", (int *)) \
    X(error_name, "cuGetErrorName", (cu_result, const char **)) \
    X(error_string, "cuGetErrorString", (cu_result, const char **)) \
    X(device_count, "cuDeviceGetCount", (int *)) \
    X(device_get, "cuDeviceGet", (cu_device *, int)) \
    X(device_name, "cuDeviceGetName", (char *, int, cu_device)) \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, cu_device)) \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, cu_device)) \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cu_context *, cu_device)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (cu_device)) \
    X(context_push, "cuCtxPushCurrent_v2", (cu_context)) \
    X(context_pop, "cuCtxPopCurrent_v2", (cu_context *)) \
    X(module_load, "cuModuleLoadData", (cu_module *, const void *)) \
    X(module_unload, "cuModuleUnload", (cu_module)) \
    X(module_function, "cuModuleGetFunction", (cu_function *, cu_module, const char *)) \
    X(function_get, "cuFuncGetAttribute", (int *, int, cu_function)) \
    X(function_set, "cuFuncSetAttribute", (cu_function, int, int)) \
    X(allocate, "cuMemAlloc_v2", (cu_pointer *, size_t)) \
    X(release, "cuMemFree_v2", (cu_pointer)) \
    X(host_allocate, "cuMemHostAlloc", (void **, size_t, unsigned)) \
    X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned)) \
    X(host_unregister, "cuMemHostUnregister", (void *)) \
    X(host_release, "cuMemFreeHost", (void *)) \
    X(host_pointer, "cuMemHostGetDevicePointer_v2", (cu_pointer *, void *, unsigned)) \
    X(pointer_attribute, "cuPointerGetAttribute", (void *, int, cu_pointer)) \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (cu_pointer, const void *, size_t, cu_stream)) \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, cu_pointer, size_t, cu_stream)) \
    X(copy, "cuMemcpyDtoDAsync_v2", (cu_pointer, cu_pointer, size_t, cu_stream)) \
    X(peer_possible, "cuDeviceCanAccessPeer", (int *, cu_device, cu_device)) \
    X(peer_enable, "cuCtxEnablePeerAccess", (cu_context, unsigned)) \
    X(peer_copy, "cuMemcpyPeerAsync", \
      (cu_pointer, cu_context, cu_pointer, cu_context, size_t, cu_stream)) \
    X(set_8, "cuMemsetD8Async", (cu_pointer, unsigned char, size_t, cu_stream)) \
    X(set_16, "cuMemsetD16Async", (cu_pointer, unsigned short, size_t, cu_stream)) \
    X(set_32, "cuMemsetD32Async", (cu_pointer, unsigned, size_t, cu_stream)) \
    X(set_rows_32, "cuMemsetD2D32Async", \
      (cu_pointer, size_t, unsigned, size_t, size_t, cu_stream)) \
    X(stream_create, "cuStreamCreate", (cu_stream *, unsigned)) \
    X(stream_destroy, "cuStreamDestroy_v2", (cu_stream)) \
    X(stream_context, "cuStreamGetCtx", (cu_stream, cu_context *)) \
    X(stream_wait, "cuStreamSynchronize", (cu_stream)) \
    X(stream_query, "cuStreamQuery", (cu_stream)) \
    X(stream_after, "cuStreamWaitEvent", (cu_stream, cu_event, unsigned)) \
    X(event_create, "cuEventCreate", (cu_event *, unsigned)) \
    X(event_record, "cuEventRecord", (cu_event, cu_stream)) \
    X(event_wait, "cuEventSynchronize", (cu_event)) \
    X(event_query, "cuEventQuery", (cu_event)) \
    X(event_elapsed, "cuEventElapsedTime", (float *, cu_event, cu_event)) \
    X(event_destroy, "cuEventDestroy_v2", (cu_event)) \
    X(launch, "cuLaunchKernel", \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       cu_stream, void **, void **))

/* Those that older drivers do not have: NULL there. */
#define WCODEC_CUDA_NEWER_FUNCTIONS(X) \
    X(launch_extended, "cuLaunchKernelEx", \
      (const struct cu_launch_config *, cu_function, void **, void **)) \
    X(clusters, "cuOccupancyMaxActiveClusters", \
      (int *, cu_function, const struct cu_launch_config *))

/* CUlaunchAttribute and CUlaunchConfig. */
struct cu_launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int allowed;
        unsigned cluster[3];
    } value;
};
struct cu_launch_config {
    unsigned groups[3], threads[3], shared;
    cu_stream stream;
    struct cu_launch_attribute *attributes;
    unsigned count;
};
enum { CU_LAUNCH_COOPERATIVE = 2, CU_LAUNCH_CLUSTER = 4, CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };

struct wcodec_cuda_driver {
    void *library;
#define X(name, symbol, parameters) cu_result(*name) parameters;
    WCODEC_CUDA_FUNCTIONS(X)
    WCODEC_CUDA_NEWER_FUNCTIONS(X)
#undef X
};

/* Open the driver; returns NULL, or what is missing: a text that lives as long as the process, or
 * in `text`. Nothing is ever closed: a driver that is unloaded takes its threads' code with it. */
const char *wcodec_cuda_driver_open(struct wcodec_cuda_driver *driver, char *text,
                                    size_t text_size);

#endif
