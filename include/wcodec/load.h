/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Loading: many tensors at once to the memory of a device, or by way of it to host memory. Native
 * handles of CUDA and OpenCL are integers here, so that this header needs no other.
 *
 * A whole model to one buffer of the device (examples/load-model.c is a whole program):
 *
 *     size_t count = wcodec_reader_tensor_count(reader);
 *     wcodec_load_item *items = calloc(count, sizeof *items);
 *     wcodec_load_layout(reader, 0, items, &size, &err);
 *     wcodec_buffer_create(context, size, &buffer, &err);
 *     for (size_t i = 0; i < count; i++)
 *         items[i].destination = wcodec_buffer_native(buffer);
 *     wcodec_context_device(context, &device, &err);
 *     wcodec_load_options_init(&options);
 *     options.memory = device.backend;
 *     status = wcodec_load(reader, items, count, &options, &report, &err);
 */
#ifndef WCODEC_LOAD_H
#define WCODEC_LOAD_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The device that a context decodes with, as its driver knows it. */
typedef struct wcodec_device_handles {
    /** "cpu", "cuda", "opencl"; lives as long as the context. */
    const char *backend;
    /** Device number in its backend. */
    unsigned index;
    /** CUcontext (the device's primary one), or cl_context, to which OpenCL buffers and queues
     * given to a load must belong; for the CPU 0. They stay the library's. */
    uint64_t native_context;
    /** CUdevice or cl_device_id; for the CPU 0. */
    uint64_t native_device;
    /** 0. */
    uint64_t reserved[4];
} wcodec_device_handles;

/** The device of this context, opened if it was not yet. Thread-safe. Returns WCODEC_OK,
 * WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_BACKEND, or WCODEC_ERROR_DEVICE if it has
 * failed and no other may take its place. */
WCODEC_API wcodec_status wcodec_context_device(wcodec_context *context,
                                               wcodec_device_handles *handles, wcodec_error *err);

/** Memory of that device, for programs that do not allocate by its driver themselves. It may be
 * used from several threads at once, except for destroying. */
typedef struct wcodec_buffer wcodec_buffer;

/** Allocate `size` > 0 bytes whose contents are undefined. *buffer belongs to the caller, who ends
 * it by wcodec_buffer_destroy() before the context. Thread-safe. Returns WCODEC_OK,
 * WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY (the host's or the device's), WCODEC_ERROR_BACKEND,
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_buffer_create(wcodec_context *context, uint64_t size,
                                              wcodec_buffer **buffer, wcodec_error *err);

/** What a load takes as destination, if its options' `memory` names this buffer's backend: a
 * CUdeviceptr, a cl_mem, for the CPU a pointer. Lives as long as the buffer. Never fails. */
WCODEC_API uint64_t wcodec_buffer_native(const wcodec_buffer *buffer);

/** Copy bytes [offset, offset + size) to host memory, when all that was loaded into them is there.
 * On failure the contents of dst are undefined. Returns WCODEC_OK, WCODEC_ERROR_USAGE (outside of
 * the buffer), WCODEC_ERROR_MEMORY, WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_buffer_read(const wcodec_buffer *buffer, uint64_t offset, void *dst,
                                            size_t size, wcodec_error *err);

/** Free it. NULL is ignored. No load into it may be running. Never fails. */
WCODEC_API void wcodec_buffer_destroy(wcodec_buffer *buffer);

/** One tensor, or some of its rows, and where it goes. Destinations of a load must not overlap.
 * Members that are not set must be 0. */
typedef struct wcodec_load_item {
    /** Its number in the reader. */
    uint64_t tensor;
    /** The first of the rows of the first dimension; a tensor of rank 0 has one. */
    uint64_t first_row;
    /** How many rows; 0: all from first_row on. */
    uint64_t rows;
    /** CUdeviceptr, cl_mem or pointer, as an integer. It stays the caller's. */
    uint64_t destination;
    /** Bytes from there to the first byte that is written; need not be aligned, though multiples of
     * 16 (better 256) are faster. */
    uint64_t offset;
    /** Bytes that may be written from `offset` on; at least the decoded size of the rows. */
    uint64_t size;
    /** 0. */
    uint64_t reserved[4];
} wcodec_load_item;

/** What a load did. */
typedef struct wcodec_load_report {
    /** Decoded bytes. */
    uint64_t bytes;
    /** Bytes read from files. */
    uint64_t coded_bytes;
    /** Of the decoded ones: bytes that the CPU decoded for the device, since that cannot, or since
     * they are in chunks (zstd), which are the CPU's work. */
    uint64_t cpu_bytes;
    /** Batches of tiles that were given to the device. */
    uint64_t batches;
    /** Of the decoded ones: bytes that another device of wcodec_load_many() decoded, and passed
     * on. */
    uint64_t received_bytes;
    /** 0. */
    uint64_t reserved[7];
} wcodec_load_report;

/** Called once when a load ends, from a thread of the library: `err` is empty, or says what went
 * wrong; both pointers are gone afterwards. It must not call functions of the loading. */
typedef void (*wcodec_load_done_fn)(void *opaque, wcodec_status status, const wcodec_error *err,
                                    const wcodec_load_report *report);

/** How to load: fill with wcodec_load_options_init(), then change what matters. It grows at its end
 * (wcodec/base.h). Where a pointer to it is taken, NULL stands for the defaults. */
typedef struct wcodec_load_options {
    /** Set by wcodec_load_options_init(). */
    size_t struct_size;
    /** Whose memory the destinations are: a backend's name ("cuda"), which must be that of the
     * context's device, or NULL: host memory, decoded by way of the device. */
    const char *memory;
    /** Batches that are under way at once, each with a queue and staging memory of its own: at most
     * 64. 0: 4. */
    unsigned streams;
    /** Bytes of (pinned) staging memory of all streams together, about; one tile must fit. 0: 96
     * MiB, to several devices 64 for each. The context keeps up to 512 MiB of it for its next
     * loads. */
    uint64_t host_memory;
    /** Not 0: nothing is written before what was given to `queue` until now is done. */
    int use_queue;
    /** A CUstream or an in-order cl_command_queue of the caller's, as an integer, which stays his.
     * Looked at only with use_queue, since 0 is CUDA's default stream. */
    uint64_t queue;
    /** As in wcodec_decode_options. */
    int skip_checks;
    /** In decoded bytes. Called from the thread that called wcodec_load(), or from one of the
     * library after wcodec_load_start(). */
    wcodec_progress progress;
    /** NULL, or what wcodec_load_start() calls at the end. wcodec_load() does not. */
    wcodec_load_done_fn done;
    /** First argument of `done`. */
    void *done_opaque;
} wcodec_load_options;

/** What wcodec_load_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_load_options_init_size(wcodec_load_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_load_options_init(wcodec_load_options *options)
{
    wcodec_load_options_init_size(options, sizeof *options);
}

/** Fill in an item for each of the reader's tensors (wcodec_reader_tensor_count() of them), whole,
 * one after the other at multiples of `alignment` (a power of two; 0: 256) from offset 0.
 * `destination` is 0 and left to the caller. *size is what a destination for all needs, in bytes.
 * items may be NULL to ask for the size only. Thread-safe. Returns WCODEC_OK, WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_LIMIT (sizes do not add up to 64 bits). */
WCODEC_API wcodec_status wcodec_load_layout(const wcodec_reader *reader, uint64_t alignment,
                                            wcodec_load_item *items, uint64_t *size,
                                            wcodec_error *err);

/** Read, copy and decode tensors to where they are used, all at the same time over several streams,
 * and return when all bytes are there. From any thread, several at once; the driver's current
 * context is left as it was. `options` and `report` may be NULL.
 *
 * Files are read in their order, whatever the order of the items. What the device has no code or no
 * memory for is decoded by the CPU and copied, and so are chunks (zstd); a log of level INFO says
 * so. Each tile is checked as in wcodec_reader_decode().
 *
 * A failed load names file and tensor, leaves nothing running, and the destinations' contents
 * undefined; the next one can begin at once. A device that fails is used no more: host destinations
 * are then decoded by the CPU, if the choice of backends allows it.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (a tensor, row, size or queue that is wrong),
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER,
 * WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED, WCODEC_ERROR_BACKEND (destinations of another backend
 * than the context's), WCODEC_ERROR_DEVICE, WCODEC_ERROR_UNSUPPORTED (the backend takes no memory
 * or queue of the caller's). */
WCODEC_API wcodec_status wcodec_load(const wcodec_reader *reader, const wcodec_load_item *items,
                                     size_t count, const wcodec_load_options *options,
                                     wcodec_load_report *report, wcodec_error *err);

/** One of the devices of a load to several, and what goes to its memory. Members that are not set
 * must be 0. */
typedef struct wcodec_load_target {
    /** Whose device it is; it need not be the reader's context. It stays the caller's, and must
     * live until the load has ended. */
    wcodec_context *context;
    /** Whose memory the destinations are: the name of that device's backend ("cuda"). Not NULL. */
    const char *memory;
    /** As of wcodec_load(): destinations must not overlap those of other targets either. */
    const wcodec_load_item *items;
    /** How many; may be 0. */
    size_t count;
    /** A queue of that device, as in wcodec_load_options. */
    uint64_t queue;
    /** Not 0: `queue` is one. */
    int use_queue;
    /** 0. */
    uint64_t reserved[4];
} wcodec_load_target;

/** Load to several devices at once: as wcodec_load() of each, but what more than one of them wants
 * (the same rows of the same tensor) is read and decoded by one of them, about as many bytes by
 * each, which passes them on as they are decoded. So of a copy for each of two devices, each
 * decodes a half. Rows that differ but overlap are decoded by each.
 *
 * Devices of one backend pass on by copies between them, over links or the bus, where the driver
 * has such copies (of CUDA with peer access, which is turned on for both primary contexts and stays
 * so); other devices through host memory, by small pieces. A log says which: of level DEBUG, or
 * INFO for the host's. 1 <= count <= 256.
 *
 * `options` are for all: `streams` and `host_memory` are each device's, the progress is that of all
 * together, and `memory` and `use_queue` must not be set, since targets have them. `reports` is
 * NULL, or has room for `count`.
 *
 * A device that fails makes the load fail, with its name, and so does one that the others pass on
 * to; no other takes its place. Statuses, threads and what is left after a failure are those of
 * wcodec_load(), of which all destinations' contents are undefined. */
WCODEC_API wcodec_status wcodec_load_many(const wcodec_reader *reader,
                                          const wcodec_load_target *targets, size_t count,
                                          const wcodec_load_options *options,
                                          wcodec_load_report *reports, wcodec_error *err);

/** A load that runs by itself. Its functions may be called from several threads at once, except for
 * destroying. */
typedef struct wcodec_loading wcodec_loading;

/** The same, beside the caller: returns as soon as the items are found to be right, with the
 * statuses of wcodec_load(). The reader and the destinations must stay until it has ended; items
 * and options are copied. *loading belongs to the caller, who ends it by
 * wcodec_loading_destroy(). */
WCODEC_API wcodec_status wcodec_load_start(const wcodec_reader *reader,
                                           const wcodec_load_item *items, size_t count,
                                           const wcodec_load_options *options,
                                           wcodec_loading **loading, wcodec_error *err);

/** The same of wcodec_load_many(). Targets are copied too; the report is the sum of all. */
WCODEC_API wcodec_status wcodec_load_many_start(const wcodec_reader *reader,
                                                const wcodec_load_target *targets, size_t count,
                                                const wcodec_load_options *options,
                                                wcodec_loading **loading, wcodec_error *err);

/** Not 0 if it has ended: wcodec_loading_wait() would return at once. Never fails. */
WCODEC_API int wcodec_loading_ended(wcodec_loading *loading);

/** How far it is, in decoded bytes, for programs that would rather ask than be called: *done of
 * *total, which stays the same. Never fails. */
WCODEC_API void wcodec_loading_progress(wcodec_loading *loading, uint64_t *done, uint64_t *total);

/** Make it stop soon, with WCODEC_ERROR_CANCELLED. What the device is at is finished first. Does
 * not wait; never fails. */
WCODEC_API void wcodec_loading_cancel(wcodec_loading *loading);

/** Wait for its end and return what wcodec_load() would. As often as wanted. `report` may be
 * NULL. */
WCODEC_API wcodec_status wcodec_loading_wait(wcodec_loading *loading, wcodec_load_report *report,
                                             wcodec_error *err);

/** Wait for its end and free it. NULL is ignored. Never fails. */
WCODEC_API void wcodec_loading_destroy(wcodec_loading *loading);

/** Rates of a device, each the median of several runs by the device's own clock. */
typedef struct wcodec_device_rates {
    /** Decoded bytes. */
    uint64_t bytes;
    /** Coded bytes on the device, from which they are decoded. */
    uint64_t coded_bytes;
    /** Tensors in chunks or constant, or that the device cannot decode: not counted above. */
    uint64_t skipped;
    /** Time of one launch for all, in nanoseconds. */
    uint64_t decode_nanoseconds;
    /** Device to device: bytes read plus bytes written, a second. */
    double copy_bandwidth;
    /** From pinned host memory: bytes a second. */
    double upload_bandwidth;
    /** 0. */
    uint64_t reserved[8];
} wcodec_device_rates;

/** Measure how fast the context's device decodes `count` tensors, given by their numbers, when all
 * is in its memory (which must hold them coded and decoded at once), beside its copies in the same
 * run. `repetitions` of each measurement are made, at least 3; 0: 9. Returns WCODEC_OK,
 * WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO, WCODEC_ERROR_CORRUPT,
 * WCODEC_ERROR_NEWER, WCODEC_ERROR_BACKEND, WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_reader_measure(const wcodec_reader *reader, const uint64_t *tensors,
                                               size_t count, unsigned repetitions,
                                               wcodec_device_rates *rates, wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
