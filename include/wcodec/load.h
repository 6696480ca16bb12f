/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */
#ifndef WCODEC_LOAD_H
#define WCODEC_LOAD_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The device that a context decodes with, as its driver knows it. Native handles are integers
 * here, so that this header needs no other. */
typedef struct wcodec_device_handles {
    const char *backend;     /**< "cpu", "cuda", "opencl"; lives as long as the context */
    unsigned index;          /**< device number in its backend */
    uint64_t native_context; /**< CUcontext (the device's primary one), or cl_context, to which
                                OpenCL buffers and queues given to a load must belong; CPU: 0 */
    uint64_t native_device;  /**< CUdevice or cl_device_id; 0 for the CPU */
} wcodec_device_handles;

/** The device of this context, opened if it was not yet. Thread-safe. WCODEC_OK, _USAGE, _MEMORY,
 * _BACKEND, or _DEVICE if it has failed and no other may take its place. */
WCODEC_API wcodec_status wcodec_context_device(wcodec_context *context,
                                               wcodec_device_handles *handles, wcodec_error *err);

/** Memory of that device, for programs that do not allocate by its driver themselves. */
typedef struct wcodec_buffer wcodec_buffer;

/** `size` > 0 bytes whose contents are undefined. Belongs to the caller, who ends it before the
 * context. WCODEC_OK, _USAGE, _MEMORY (host's or device's), _BACKEND, _DEVICE. */
WCODEC_API wcodec_status wcodec_buffer_create(wcodec_context *context, uint64_t size,
                                              wcodec_buffer **buffer, wcodec_error *err);

/** What a load takes as destination, if its options' `memory` names this buffer's backend: a
 * CUdeviceptr, a cl_mem, for the CPU a pointer. Never fails. */
WCODEC_API uint64_t wcodec_buffer_native(const wcodec_buffer *buffer);

/** Copy bytes [offset, offset + size) to host memory, when all that was loaded into them is there.
 * Thread-safe. WCODEC_OK, _USAGE (outside of the buffer), _MEMORY, _DEVICE. */
WCODEC_API wcodec_status wcodec_buffer_read(const wcodec_buffer *buffer, uint64_t offset, void *dst,
                                            size_t size, wcodec_error *err);

/** NULL is ignored. No load into it may be running. */
WCODEC_API void wcodec_buffer_destroy(wcodec_buffer *buffer);

/** One tensor, or some of its rows, and where it goes. Destinations of a load must not overlap. */
typedef struct wcodec_load_item {
    uint64_t tensor;      /**< its number in the reader */
    uint64_t first_row;   /**< rows of the first dimension; a tensor of rank 0 has one */
    uint64_t rows;        /**< 0: all from first_row on */
    uint64_t destination; /**< CUdeviceptr, cl_mem or pointer, as an integer */
    uint64_t offset; /**< bytes from there to the first byte that is written; need not be aligned,
                        though multiples of 16 (better 256) are faster */
    uint64_t
        size; /**< bytes that may be written from there; at least the decoded size of the rows */
} wcodec_load_item;

/** What a load did. */
typedef struct wcodec_load_report {
    uint64_t bytes;       /**< decoded */
    uint64_t coded_bytes; /**< read from files */
    uint64_t cpu_bytes;   /**< of the decoded ones: decoded by the CPU, since the device cannot or
                             chunks are its work */
    uint64_t batches;     /**< given to the device */
} wcodec_load_report;

/** Called once when a load ends, from a thread of the library: `err` is empty, or what went wrong;
 * both arguments are gone afterwards. It must not call functions of the loading. */
typedef void (*wcodec_load_done_fn)(void *opaque, wcodec_status status, const wcodec_error *err,
                                    const wcodec_load_report *report);

/** How to load. Fill with wcodec_load_options_init(), then change what matters. New fields are
 * added at the end, and 0 stands for their default. */
typedef struct wcodec_load_options {
    size_t struct_size;
    const char *memory; /**< whose memory the destinations are: a backend's name ("cuda"), which
                           must be that of the context's device, or NULL: host memory, decoded by
                           way of the device */
    unsigned streams; /**< batches in flight, each with a queue and staging memory of its own; 0: 4,
                         at most 64 */
    uint64_t host_memory; /**< bytes of (pinned) staging memory of all streams together, about; one
                             tile must fit; 0: 128 MiB. The context keeps up to 512 MiB of it for
                             its next loads. */
    int use_queue;        /**< not 0: `queue` is a CUstream or an in-order cl_command_queue of the
                             caller's. Nothing is written before
                             what was given to it until now is done. */
    uint64_t queue;
    int skip_checks;          /**< as in wcodec_decode_options */
    wcodec_progress progress; /**< called from the thread that called wcodec_load(), or from one of
                                 the library after wcodec_load_start() */
    wcodec_load_done_fn done; /**< NULL, or what wcodec_load_start() calls at the end */
    void *done_opaque;
} wcodec_load_options;

/** Set the `size` bytes at options to the defaults; size is the caller's
 * sizeof(wcodec_load_options), so that a newer library leaves alone what an older caller does not
 * have. */
WCODEC_API void wcodec_load_options_init_size(wcodec_load_options *options, size_t size);

static inline void wcodec_load_options_init(wcodec_load_options *options)
{
    wcodec_load_options_init_size(options, sizeof *options);
}

/** Fill in an item for each of the reader's tensors (wcodec_reader_tensor_count() of them), whole,
 * one after the other at multiples of `alignment` (a power of two; 0: 256) from offset 0.
 * destination is 0 and left to the caller. *size is what a destination for all needs. items may be
 * NULL to ask for the size only. WCODEC_OK, _USAGE, _LIMIT (sizes do not add up to 64 bits). */
WCODEC_API wcodec_status wcodec_load_layout(const wcodec_reader *reader, uint64_t alignment,
                                            wcodec_load_item *items, uint64_t *size,
                                            wcodec_error *err);

/** Read, copy and decode tensors to where they are used, all at the same time over several streams,
 * and return when all bytes are there. Files are read in their order, whatever the order of the
 * items. What the device has no code or no memory for is decoded by the CPU and copied, and so are
 * chunks (zstd); a log of level INFO says so. Each tile is checked as in wcodec_reader_decode(). A
 * failed load names file and tensor, leaves nothing running, and the destinations' contents
 * undefined; the next one can begin at once. A device that fails is used no more: host destinations
 * are then decoded by the CPU, if the choice of backends allows it. From any thread, several at
 * once; the driver's current context is left as it was. `options` and `report` may be NULL. Returns
 * WCODEC_OK, _USAGE (a tensor, row, size or queue that is wrong), _MEMORY, _IO, _CORRUPT, _NEWER,
 * _LIMIT, _CANCELLED, _BACKEND (destinations of another backend than the context's), _DEVICE,
 * _UNSUPPORTED (the backend takes no memory or queue of the caller's). */
WCODEC_API wcodec_status wcodec_load(const wcodec_reader *reader, const wcodec_load_item *items,
                                     size_t count, const wcodec_load_options *options,
                                     wcodec_load_report *report, wcodec_error *err);

/** A load that runs by itself. */
typedef struct wcodec_loading wcodec_loading;

/** The same, beside the caller: returns as soon as the items are found to be right. The reader and
 * the destinations must stay until it has ended; items and options are copied. Ended by
 * wcodec_loading_destroy(). */
WCODEC_API wcodec_status wcodec_load_start(const wcodec_reader *reader,
                                           const wcodec_load_item *items, size_t count,
                                           const wcodec_load_options *options,
                                           wcodec_loading **loading, wcodec_error *err);

/** Not 0 if it has ended: wcodec_loading_wait() would return at once. Thread-safe, as the two
 * below. */
WCODEC_API int wcodec_loading_ended(wcodec_loading *loading);

/** Ask it to stop soon, with WCODEC_ERROR_CANCELLED. What the device is at is finished first. */
WCODEC_API void wcodec_loading_cancel(wcodec_loading *loading);

/** Wait for its end and return what wcodec_load() would. As often as wanted. */
WCODEC_API wcodec_status wcodec_loading_wait(wcodec_loading *loading, wcodec_load_report *report,
                                             wcodec_error *err);

/** Wait for its end and free it. NULL is ignored. */
WCODEC_API void wcodec_loading_destroy(wcodec_loading *loading);

/** Rates of a device, each the median of several runs by the device's own clock. */
typedef struct wcodec_device_rates {
    uint64_t bytes;       /**< decoded */
    uint64_t coded_bytes; /**< on the device, from which they are decoded */
    uint64_t skipped;     /**< tensors that are not in tiles, or that the device cannot decode: not
                             counted above */
    uint64_t decode_nanoseconds; /**< of one launch for all */
    double copy_bandwidth;       /**< device to device, bytes read plus bytes written a second */
    double upload_bandwidth;     /**< from pinned host memory, bytes a second */
} wcodec_device_rates;

/** Measure how fast the context's device decodes these tensors (of which there must be room on it,
 * coded and decoded) when all is in its memory, beside its copies in the same run. At least 3
 * repetitions, 0: 9. Returns WCODEC_OK, _USAGE, _MEMORY, _IO, _CORRUPT, _NEWER, _BACKEND, _DEVICE.
 */
WCODEC_API wcodec_status wcodec_reader_measure(const wcodec_reader *reader, const uint64_t *tensors,
                                               size_t count, unsigned repetitions,
                                               wcodec_device_rates *rates, wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
