/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Copies from one device to another, over NVLink or PCIe. Access is between primary contexts, which
 * the process's other libraries have too: it is never taken back. */
#include "backends/cuda/cuda.h"

static wcodec_status peer_open(struct wcodec_device *from, struct wcodec_device *to,
                               wcodec_error *err)
{
    int possible = 0;
    if (from->number == to->number)
        return WCODEC_OK;
    wcodec_status status = wcodec_cuda_enter(from, err);
    if (status != WCODEC_OK)
        return status;
    cu_result result = from->cu->peer_possible(&possible, from->number, to->number);
    if (result != 0 || !possible) {
        wcodec_cuda_leave(from, 0, "", NULL);
        return from->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                "the driver gives device %d no access to device %d", from->number,
                                to->number);
    }
    result = from->cu->peer_enable(to->context, 0);
    if (result == CU_TOO_MANY_PEERS) {
        wcodec_cuda_leave(from, 0, "", NULL);
        return from->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                "device %d has access to as many others as it may", from->number);
    }
    return wcodec_cuda_leave(from, result == CU_PEER_ACCESS_ALREADY ? 0 : result,
                             "cuCtxEnablePeerAccess", err);
}

static wcodec_status peer_copy(struct wcodec_queue *queue, struct wcodec_memory *to,
                               uint64_t to_offset, struct wcodec_memory *from, uint64_t from_offset,
                               uint64_t size, wcodec_error *err)
{
    const struct wcodec_device *d = queue->device;
    if (size == 0)
        return WCODEC_OK;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    return wcodec_cuda_leave(d,
                             d->cu->peer_copy(to->address + to_offset, to->device->context,
                                              from->address + from_offset, d->context, (size_t)size,
                                              queue->stream),
                             "cuMemcpyPeerAsync", err);
}

const struct wcodec_backend_peers wcodec_cuda_peers = {.open = peer_open, .copy = peer_copy};
