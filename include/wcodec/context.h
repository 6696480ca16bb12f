/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */
#ifndef WCODEC_CONTEXT_H
#define WCODEC_CONTEXT_H

#include <wcodec/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the caller decides once: threads, backend, memory, log. Readers and writers keep a pointer
 * to it, so it must outlive them. A context may be used from several threads at once. */
typedef struct wcodec_context wcodec_context;

/** Memory. All three or none (malloc, realloc, free) must be set. Called from any thread.
 * `allocate` returns memory aligned for any type, or NULL. */
typedef struct wcodec_allocator {
    void *(*allocate)(void *opaque, size_t size);
    void *(*reallocate)(void *opaque, void *memory, size_t size);
    void (*release)(void *opaque, void *memory); /**< memory may be NULL */
    void *opaque;
} wcodec_allocator;

/** The caller's own threads in place of the library's pool. `run` must call task(argument, i) once
 * for each i in [0, count), in any order, on any threads, and return when all have ended. Tasks
 * never block on each other, but a task may call `run` itself, and several threads may at once.
 * `concurrency` is how many may run at once (at least 1). */
typedef struct wcodec_executor {
    void (*run)(void *opaque, void (*task)(void *argument, size_t i), void *argument, size_t count);
    unsigned concurrency;
    void *opaque;
} wcodec_executor;

typedef enum wcodec_log_level {
    WCODEC_LOG_ERROR = 1,
    WCODEC_LOG_WARNING = 2,
    WCODEC_LOG_INFO = 3,
    WCODEC_LOG_DEBUG = 4
} wcodec_log_level;

/** Gets one line of text without a newline. Called from any thread, one call at a time. */
typedef void (*wcodec_log_fn)(void *opaque, wcodec_log_level level, const char *text);

/** What a reader may take or give. 0 stands for the default. */
typedef struct wcodec_limits {
    uint64_t max_memory;       /**< bytes that one call may hold at once; default: no limit */
    uint64_t max_tensor_bytes; /**< decoded bytes that one call may give of a tensor; default: no
                                  limit but the format's (2^48) */
    uint64_t max_index_bytes;  /**< decoded bytes of an index; default 4 GiB */
    uint64_t max_tensors;      /**< tensors in one file; default 2^24 */
} wcodec_limits;

/** Fill with wcodec_options_init(), then change what matters. Strings are copied. New fields are
 * added at the end, and 0 stands for their default. */
typedef struct wcodec_options {
    size_t struct_size; /**< set by wcodec_options_init(): tells the library which fields the caller
                           knows */
    unsigned threads;   /**< worker threads; 0: WCODEC_THREADS, else one per core that this process
                           may use */
    int bind_threads;   /**< not 0: bind each worker to its core (default 0) */
    const char *backend; /**< "auto", "cpu", "cuda", "opencl", "cuda:1", or a list of these; NULL:
                            WCODEC_BACKEND, else "auto" */
    wcodec_allocator allocator; /**< all NULL: malloc */
    wcodec_executor executor;   /**< run NULL: the library's own pool */
    wcodec_log_fn log;          /**< NULL: to standard error if WCODEC_LOG is set, else nowhere */
    void *log_opaque;
    wcodec_log_level log_level; /**< 0: WCODEC_LOG, else WCODEC_LOG_WARNING */
    wcodec_limits limits;
} wcodec_options;

/** Set the `size` bytes at options to the defaults; size is the caller's sizeof(wcodec_options), so
 * that a newer library leaves alone what an older caller does not have. */
WCODEC_API void wcodec_options_init_size(wcodec_options *options, size_t size);

static inline void wcodec_options_init(wcodec_options *options)
{
    wcodec_options_init_size(options, sizeof *options);
}

/** Make a context. `options` may be NULL for the defaults. No thread is started and no plugin
 * opened before it is needed, except that a backend asked for by name is opened at once. The
 * environment variables WCODEC_BACKEND, WCODEC_BACKEND_PATH, WCODEC_THREADS, WCODEC_CPU_MASK and
 * WCODEC_LOG are read here, by secure_getenv(). Returns WCODEC_OK, WCODEC_ERROR_USAGE (a bad option
 * or variable), WCODEC_ERROR_MEMORY, WCODEC_ERROR_BACKEND. */
WCODEC_API wcodec_status wcodec_context_create(const wcodec_options *options,
                                               wcodec_context **context, wcodec_error *err);

/** End the context and its threads. All readers and writers made with it must be closed before.
 * NULL is ignored. */
WCODEC_API void wcodec_context_destroy(wcodec_context *context);

/** One line of the list of backends and devices. Strings live as long as the context. */
typedef struct wcodec_device_info {
    const char *backend;     /**< "cpu", "cuda", ... */
    unsigned index;          /**< device number in its backend */
    const char *name;        /**< as the driver calls it; the reason where available is 0 */
    const char *driver;      /**< version of driver or instruction-set level; may be empty */
    const char *plugin_path; /**< file of the plugin; empty for what is built in */
    uint64_t memory; /**< bytes of device memory; for the CPU, of the machine; 0 if unknown */
    int available;   /**< 0: cannot be used, `name` holds the reason */
    int chosen;      /**< not 0: this context decodes with it */
} wcodec_device_info;

/** List all backends and devices, usable or not (opens every plugin). `count` entries are set at
 * `devices`, owned by the context, valid until it ends or the next call. Not to be called from two
 * threads at once with one context. Returns WCODEC_OK, WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_context_devices(wcodec_context *context,
                                                const wcodec_device_info **devices, size_t *count,
                                                wcodec_error *err);

/** Threads that work for this context. Never fails. */
WCODEC_API unsigned wcodec_context_threads(const wcodec_context *context);

#ifdef __cplusplus
}
#endif
#endif
