/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The OpenCL loader, opened at run time: a plugin that is linked with it could not be opened
 * without it. */
#ifndef WCODEC_OPENCL_DRIVER_H
#define WCODEC_OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>

/* All of OpenCL 1.2. */
#define WCODEC_OPENCL_FUNCTIONS(X) \
    X(clGetPlatformIDs) \
    X(clGetPlatformInfo) \
    X(clGetDeviceIDs) \
    X(clGetDeviceInfo) \
    X(clGetExtensionFunctionAddressForPlatform) \
    X(clCreateContext) \
    X(clReleaseContext) \
    X(clCreateProgramWithSource) \
    X(clBuildProgram) \
    X(clGetProgramBuildInfo) \
    X(clReleaseProgram) \
    X(clCreateKernel) \
    X(clSetKernelArg) \
    X(clReleaseKernel) \
    X(clCreateCommandQueue) \
    X(clGetCommandQueueInfo) \
    X(clReleaseCommandQueue) \
    X(clRetainCommandQueue) \
    X(clFlush) \
    X(clFinish) \
    X(clCreateBuffer) \
    X(clGetMemObjectInfo) \
    X(clReleaseMemObject) \
    X(clEnqueueReadBuffer) \
    X(clEnqueueWriteBuffer) \
    X(clEnqueueCopyBuffer) \
    X(clEnqueueFillBuffer) \
    X(clEnqueueMapBuffer) \
    X(clEnqueueUnmapMemObject) \
    X(clEnqueueNDRangeKernel) \
    X(clEnqueueMarkerWithWaitList) \
    X(clEnqueueBarrierWithWaitList) \
    X(clWaitForEvents) \
    X(clGetEventInfo) \
    X(clGetEventProfilingInfo) \
    X(clReleaseEvent)

struct wcodec_opencl_driver {
    void *library;
#define X(name) __typeof__(name) *name;
    WCODEC_OPENCL_FUNCTIONS(X)
#undef X
};

/* Open the loader; returns NULL, or what is missing: a text that lives as long as the process, or
 * in `text`. Nothing is ever closed: drivers have threads. */
const char *wcodec_opencl_driver_open(struct wcodec_opencl_driver *driver, char *text,
                                      size_t text_size);

/* The name of a result, without its CL_; NULL if it is not one of OpenCL 1.2. */
const char *wcodec_opencl_result_name(cl_int result);

#endif
