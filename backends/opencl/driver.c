/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/opencl/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found); /* what POSIX means by a cast that C does not have */
    return found != NULL;
}

const char *wcodec_opencl_driver_open(struct wcodec_opencl_driver *d, char *text, size_t text_size)
{
    d->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (d->library == NULL)
        return "libOpenCL.so.1 was not found: no OpenCL loader is installed";
#define X(name) \
    if (!find(d->library, #name, &d->name)) { \
        snprintf(text, text_size, "libOpenCL.so.1 has no " #name ": OpenCL 1.2 is needed"); \
        return text; \
    }
    WCODEC_OPENCL_FUNCTIONS(X)
#undef X
    return NULL;
}

const char *wcodec_opencl_result_name(cl_int result)
{
    static const char *const names[] = {"SUCCESS",
                                        "DEVICE_NOT_FOUND",
                                        "DEVICE_NOT_AVAILABLE",
                                        "COMPILER_NOT_AVAILABLE",
                                        "MEM_OBJECT_ALLOCATION_FAILURE",
                                        "OUT_OF_RESOURCES",
                                        "OUT_OF_HOST_MEMORY",
                                        "PROFILING_INFO_NOT_AVAILABLE",
                                        "MEM_COPY_OVERLAP",
                                        "IMAGE_FORMAT_MISMATCH",
                                        "IMAGE_FORMAT_NOT_SUPPORTED",
                                        "BUILD_PROGRAM_FAILURE",
                                        "MAP_FAILURE",
                                        "MISALIGNED_SUB_BUFFER_OFFSET",
                                        "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"};
    static const char *const invalid[] = {"INVALID_VALUE",
                                          "INVALID_DEVICE_TYPE",
                                          "INVALID_PLATFORM",
                                          "INVALID_DEVICE",
                                          "INVALID_CONTEXT",
                                          "INVALID_QUEUE_PROPERTIES",
                                          "INVALID_COMMAND_QUEUE",
                                          "INVALID_HOST_PTR",
                                          "INVALID_MEM_OBJECT",
                                          NULL,
                                          NULL,
                                          NULL,
                                          "INVALID_BINARY",
                                          "INVALID_BUILD_OPTIONS",
                                          "INVALID_PROGRAM",
                                          "INVALID_PROGRAM_EXECUTABLE",
                                          "INVALID_KERNEL_NAME",
                                          "INVALID_KERNEL_DEFINITION",
                                          "INVALID_KERNEL",
                                          "INVALID_ARG_INDEX",
                                          "INVALID_ARG_VALUE",
                                          "INVALID_ARG_SIZE",
                                          "INVALID_KERNEL_ARGS",
                                          "INVALID_WORK_DIMENSION",
                                          "INVALID_WORK_GROUP_SIZE",
                                          "INVALID_WORK_ITEM_SIZE",
                                          "INVALID_GLOBAL_OFFSET",
                                          "INVALID_EVENT_WAIT_LIST",
                                          "INVALID_EVENT",
                                          "INVALID_OPERATION",
                                          NULL,
                                          "INVALID_BUFFER_SIZE"};
    if (result <= 0 && result > -(cl_int)(sizeof names / sizeof names[0]))
        return names[-result];
    if (result <= CL_INVALID_VALUE &&
        result > CL_INVALID_VALUE - (cl_int)(sizeof invalid / sizeof invalid[0]))
        return invalid[CL_INVALID_VALUE - result];
    return NULL;
}
