/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Saving: tensors in the memory of a device, or of the host, to a .wcodec file. The mirror of
 * wcodec/load.h.
 *
 *     wcodec_save_item items[] = {{.name = "w", .dtype = WCODEC_DTYPE_BF16, .rank = 2,
 *                                  .shape = shape, .source = pointer, .size = size}};
 *     wcodec_save_options_init(&options);
 *     options.path = "checkpoint.wcodec";
 *     options.memory = "cuda";
 *     status = wcodec_save(context, items, 1, &options, &report, &err);
 */
#ifndef WCODEC_SAVE_H
#define WCODEC_SAVE_H

#include <wcodec/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One tensor, and where it is. Members that are not set must be 0. */
typedef struct wcodec_save_item {
    /** UTF-8; no two of a file have the same. */
    const char *name;
    /** Any but WCODEC_DTYPE_OTHER. */
    wcodec_dtype dtype;
    /** Dimensions, at most 255. */
    unsigned rank;
    /** `rank` of them, slowest first; may be NULL if there are none. */
    const uint64_t *shape;
    /** CUdeviceptr, cl_mem or pointer, as an integer, of contiguous little-endian elements. It
     * stays the caller's. */
    uint64_t source;
    /** Bytes from there to the first element. */
    uint64_t offset;
    /** Bytes of the tensor: as many as dtype and shape make. */
    uint64_t size;
    /** 0. */
    uint64_t reserved[4];
} wcodec_save_item;

/** Called once when a save ends, from a thread of the library: `err` is empty, or says what went
 * wrong; both pointers are gone afterwards. It must not call functions of the saving. */
typedef void (*wcodec_save_done_fn)(void *opaque, wcodec_status status, const wcodec_error *err,
                                    const wcodec_encode_report *report);

/** What to save to, and how: fill with wcodec_save_options_init(), then change what matters. It
 * grows at its end (wcodec/base.h). */
typedef struct wcodec_save_options {
    /** Set by wcodec_save_options_init(). */
    size_t struct_size;
    /** NULL, or the file that is made: written beside it under another name, synced, then renamed,
     * so that an old one stays until the new one is whole, and on failure. */
    const char *path;
    /** Not 0: neither file nor folder are synced. */
    int no_sync;
    /** Without `path`: a descriptor that is written to from where it stands, which stays the
     * caller's; -1: none. Default -1. */
    int fd;
    /** Without either: what bytes are written by, front to back. */
    wcodec_write_fn write;
    /** First argument of `write`, and of the encode options' write_at. */
    void *opaque;
    /** NULL: the defaults; else how to code. Its `progress` is called from the thread that called
     * wcodec_save(), or from one of the library after wcodec_save_start(); raw, strict, index_first
     * and onnx_* must be as they are by default, and write_at NULL unless `write` is set. */
    const wcodec_encode_options *encode;
    /** NULL, or pairs of __metadata__: key, value, ..., and a NULL at the end. */
    const char *const *metadata;
    /** Whose memory the tensors are in: a backend's name ("cuda"), which must be that of the
     * context's device, or NULL: host memory. */
    const char *memory;
    /** Not 0: nothing is read before what was given to `queue` until now is done. */
    int use_queue;
    /** A CUstream or an in-order cl_command_queue of the caller's, as an integer, which stays his.
     * Looked at only with use_queue, since 0 is CUDA's default stream. */
    uint64_t queue;
    /** Bytes of pinned host memory through which tensors come from a device, at most; 0: 32 MiB. */
    uint64_t host_memory;
    /** NULL, or what wcodec_save_start() calls at the end. wcodec_save() does not. */
    wcodec_save_done_fn done;
    /** First argument of `done`. */
    void *done_opaque;
} wcodec_save_options;

/** What wcodec_save_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_save_options_init_size(wcodec_save_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_save_options_init(wcodec_save_options *options)
{
    wcodec_save_options_init_size(options, sizeof *options);
}

/** Save tensors, in the order in which they are given, and return when the file is whole. It
 * restores to a safetensors file with these tensors and metadata, and is, byte for byte, what
 * wcodec_compress_path() makes of that one with the same options. From any thread, several at once;
 * the driver's current context is left as it was. The tensors must not change meanwhile. `report`
 * may be NULL.
 *
 * At level 1 CUDA and OpenCL GPUs code tensors of 1 MiB and more where they are: of bf16, f16, f32
 * (where few elements are zero) and elements of one byte, verified there unless no_verify is set;
 * payloads come to pinned memory, from which they are written. All else is coded by the CPU:
 * elements come from the device by pieces, over several queues, while others are coded and written.
 * With a limit of memory (wcodec_limits) the CPU codes all. At WCODEC_LOG_INFO the log says what
 * was left to the CPU, and why.
 *
 * Memory: as wcodec_compress_fd(), and host_memory. With tensors that a device codes, pinned memory
 * for the payloads of 128 MiB of them, or of one that is larger, and as much again that is being
 * written (of those that are left to the CPU other memory than pinned); on the device some twice
 * the size of each of four tensors at once: a tensor for which there is no memory is coded by the
 * CPU.
 *
 * A failed save names its tensor, leaves nothing running, and of `path` what was there before; what
 * was written to a descriptor or by a function is no valid file.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (an item, option or queue that is wrong),
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED,
 * WCODEC_ERROR_BACKEND (tensors in memory of another backend than the context's),
 * WCODEC_ERROR_DEVICE, WCODEC_ERROR_UNSUPPORTED (the backend takes no memory or queue of the
 * caller's). */
WCODEC_API wcodec_status wcodec_save(wcodec_context *context, const wcodec_save_item *items,
                                     size_t count, const wcodec_save_options *options,
                                     wcodec_encode_report *report, wcodec_error *err);

/** A save that runs by itself. Its functions may be called from several threads at once, except for
 * destroying. */
typedef struct wcodec_saving wcodec_saving;

/** The same, beside the caller: returns as soon as items and options are found to be right, with
 * the statuses of wcodec_save(). The tensors must stay as they are until it has ended, and the
 * encode options' bases until it is destroyed; all else is copied, and `times` must be NULL.
 * *saving belongs to the caller, who ends it by wcodec_saving_destroy() before the context. */
WCODEC_API wcodec_status wcodec_save_start(wcodec_context *context, const wcodec_save_item *items,
                                           size_t count, const wcodec_save_options *options,
                                           wcodec_saving **saving, wcodec_error *err);

/** Not 0 if it has ended: wcodec_saving_wait() would return at once. Never fails. */
WCODEC_API int wcodec_saving_ended(wcodec_saving *saving);

/** How far it is, in bytes of the file that it restores to: *done of *total, which stays the same.
 * Never fails. */
WCODEC_API void wcodec_saving_progress(wcodec_saving *saving, uint64_t *done, uint64_t *total);

/** Make it stop soon, with WCODEC_ERROR_CANCELLED. Does not wait; never fails. */
WCODEC_API void wcodec_saving_cancel(wcodec_saving *saving);

/** Wait for its end and return what wcodec_save() would. As often as wanted. `report` may be
 * NULL. */
WCODEC_API wcodec_status wcodec_saving_wait(wcodec_saving *saving, wcodec_encode_report *report,
                                            wcodec_error *err);

/** Wait for its end and free it. NULL is ignored. Never fails. */
WCODEC_API void wcodec_saving_destroy(wcodec_saving *saving);

#ifdef __cplusplus
}
#endif
#endif
