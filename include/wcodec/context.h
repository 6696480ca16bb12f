/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Contexts: what a program decides once, and what all readers, writers and loads share.
 *
 * The defaults suit most programs: wcodec_context_create(NULL, &context, &err). Else:
 *
 *     wcodec_options options;
 *     wcodec_options_init(&options);
 *     options.threads = 8;
 *     options.backend = "cuda,cpu";
 *     options.limits.max_memory = (uint64_t)2 << 30;
 *     status = wcodec_context_create(&options, &context, &err);
 *
 * Nothing is global: two contexts in one process do not know of each other.
 */
#ifndef WCODEC_CONTEXT_H
#define WCODEC_CONTEXT_H

#include <wcodec/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the caller decides once: threads, backend, memory, log. Readers, writers, buffers and
 * loads keep a pointer to it, so it must outlive them. A context may be used from several threads
 * at once. */
typedef struct wcodec_context wcodec_context;

/** Where the library gets host memory from; part of options. All three functions or none must be
 * set. They are called from any thread, several at once. Memory that zstd, jansson, hwloc and
 * drivers of devices take for themselves does not come from here. */
typedef struct wcodec_allocator {
    /** malloc(): `size` > 0 bytes aligned for any type, or NULL. */
    void *(*allocate)(void *opaque, size_t size);
    /** realloc(): `memory` may be NULL, `size` is > 0. NULL leaves `memory` as it was. */
    void *(*reallocate)(void *opaque, void *memory, size_t size);
    /** free(): `memory` may be NULL. */
    void (*release)(void *opaque, void *memory);
    /** First argument of the three. */
    void *opaque;
    /** 0. */
    void *reserved[2];
} wcodec_allocator;

/** The caller's own threads in place of the library's pool; part of options. */
typedef struct wcodec_executor {
    /** Must call task(argument, i) once for each i in [0, count), in any order, on any threads, and
     * return when all have ended. Tasks never block on each other, but a task may call `run`
     * itself, and several threads may at once. NULL: there is no executor. */
    void (*run)(void *opaque, void (*task)(void *argument, size_t i), void *argument, size_t count);
    /** How many tasks may run at once: 1 to 4096. The library cuts its work accordingly. */
    unsigned concurrency;
    /** First argument of `run`. */
    void *opaque;
    /** 0. */
    void *reserved[2];
} wcodec_executor;

/** How much is logged: each level includes those before it. */
typedef enum wcodec_log_level {
    /** Failures that no status reports. */
    WCODEC_LOG_ERROR = 1,
    /** What should not be so, though work goes on: a device that failed, threads that could not be
     * started. */
    WCODEC_LOG_WARNING = 2,
    /** What was decided for the caller: a backend that cannot be used, tensors that the CPU decodes
     * for a device, tensors that stay lossless. */
    WCODEC_LOG_INFO = 3,
    /** Details for developers; they change from version to version. */
    WCODEC_LOG_DEBUG = 4
} wcodec_log_level;

/** Gets one line of text without a newline, escaped like wcodec_error's, gone afterwards. Called
 * from any thread, one call at a time. It may not call functions of this context. */
typedef void (*wcodec_log_fn)(void *opaque, wcodec_log_level level, const char *text);

/** What a file may demand; part of options. 0 stands for the default. A call that would pass a
 * limit fails with WCODEC_ERROR_LIMIT before it allocates or decodes. */
typedef struct wcodec_limits {
    /** Bytes of host memory that one call may hold at once. Default: no limit. */
    uint64_t max_memory;
    /** Decoded bytes of a tensor that one call may give. Default: 2^48, the format's limit. */
    uint64_t max_tensor_bytes;
    /** Decoded bytes of a file's index. Default: 4 GiB. */
    uint64_t max_index_bytes;
    /** Tensors in one file. Default: 2^24. Whatever it is, a file of more than 2^18 tensors is
     * refused as damaged if its index is not as many bytes as there are more of them, which no
     * writer makes: so a small file cannot take gigabytes. */
    uint64_t max_tensors;
    /** 0. */
    uint64_t reserved[4];
} wcodec_limits;

/** How to make a context: fill with wcodec_options_init(), then change what matters. Strings are
 * copied. It grows at its end (wcodec/base.h). */
typedef struct wcodec_options {
    /** Set by wcodec_options_init(). */
    size_t struct_size;
    /** Threads that work at once, the calling one included: at most 4096. 0: WCODEC_THREADS, else
     * one for each core that this process may use. Ignored with an executor. */
    unsigned threads;
    /** Not 0: bind each worker thread to a core of its own. Default 0. The
     * calling thread is never bound. */
    int bind_threads;
    /** What decodes: "cpu", "cuda", "opencl", one device of it ("cuda:1"), "auto" (the first CUDA
     * device, else an OpenCL GPU, else the CPU), or a list of these, separated by commas, of which
     * the first usable one is taken. NULL or empty: WCODEC_BACKEND, else "auto". */
    const char *backend;
    /** All NULL: malloc(), realloc(), free(). */
    wcodec_allocator allocator;
    /** `run` NULL: the library's own pool, whose threads start when they are first needed. */
    wcodec_executor executor;
    /** NULL: to standard error if WCODEC_LOG is set, else nowhere. */
    wcodec_log_fn log;
    /** First argument of `log`. */
    void *log_opaque;
    /** The last level that is logged. 0: WCODEC_LOG, else WCODEC_LOG_WARNING. */
    wcodec_log_level log_level;
    /** All 0: the defaults. */
    wcodec_limits limits;
} wcodec_options;

/** What wcodec_options_init() calls: set the `size` bytes at `options` to the defaults. `size` is
 * the caller's sizeof(wcodec_options), so that a newer library leaves alone what an older caller
 * does not have. Never fails; nothing happens if options is NULL or size is less than two
 * members. */
WCODEC_API void wcodec_options_init_size(wcodec_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_options_init(wcodec_options *options)
{
    wcodec_options_init_size(options, sizeof *options);
}

/** Make a context. `options` may be NULL for the defaults. No thread is started and no plugin
 * opened before it is needed, except that a backend asked for by name is opened at once. The
 * environment variables WCODEC_BACKEND, WCODEC_BACKEND_PATH, WCODEC_THREADS, WCODEC_CPU_MASK and
 * WCODEC_LOG are read here, by secure_getenv(); a member of the options that is set takes
 * precedence. *context belongs to the caller, who ends it by wcodec_context_destroy(). Thread-safe.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (a bad option or variable), WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_BACKEND (none of those asked for by name can be used; the text says why). */
WCODEC_API wcodec_status wcodec_context_create(const wcodec_options *options,
                                               wcodec_context **context, wcodec_error *err);

/** End the context and its threads, and close its devices. All readers, writers, buffers and loads
 * made with it must have been ended before. NULL is ignored. Never fails. */
WCODEC_API void wcodec_context_destroy(wcodec_context *context);

/** One line of the list of backends and devices. Strings live as long as the list. */
typedef struct wcodec_device_info {
    /** "cpu", "cuda", "opencl". */
    const char *backend;
    /** Device number in its backend, from 0: "cuda:1" is number 1 of "cuda". 0 for a backend that
     * cannot be used at all. */
    unsigned index;
    /** As the driver calls it; where `available` is 0, why it cannot be used. */
    const char *name;
    /** Version of the driver, or for the CPU the level of instructions in use; may be empty. */
    const char *driver;
    /** File of the plugin; empty for what is built in or was not found. */
    const char *plugin_path;
    /** Bytes of device memory, for the CPU of the machine; 0: unknown. */
    uint64_t memory;
    /** Not 0: it can be used. */
    int available;
    /** Not 0: this context decodes with it. */
    int chosen;
    /** 0. */
    uint64_t reserved[6];
} wcodec_device_info;

/** List all backends and devices, usable or not: an entry for each device of those that could be
 * opened, and one for each of the others. Opens every plugin, and for a moment every device.
 * *count entries are set at *devices; they belong to the context and are valid until it ends or the
 * next call. Not to be called from two threads at once with one context.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (after fork()), WCODEC_ERROR_MEMORY,
 * WCODEC_ERROR_BACKEND. */
WCODEC_API wcodec_status wcodec_context_devices(wcodec_context *context,
                                                const wcodec_device_info **devices, size_t *count,
                                                wcodec_error *err);

/** Threads that work for this context at once, the calling one included: at least 1. Never fails;
 * thread-safe. NULL: 1. */
WCODEC_API unsigned wcodec_context_threads(const wcodec_context *context);

#ifdef __cplusplus
}
#endif
#endif
