/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */
#ifndef WCODEC_BASE_H
#define WCODEC_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WCODEC_API __attribute__((visibility("default")))
#else
#define WCODEC_API
#endif

/** Version of these headers. */
#define WCODEC_VERSION_MAJOR 0
#define WCODEC_VERSION_MINOR 1
#define WCODEC_VERSION_PATCH 0
#define WCODEC_VERSION_NUMBER \
    ((WCODEC_VERSION_MAJOR * 100 + WCODEC_VERSION_MINOR) * 100 + WCODEC_VERSION_PATCH)

/** Version of the library that is linked: as WCODEC_VERSION_NUMBER, and as text ("0.1.0"). Both
 * never fail. */
WCODEC_API unsigned wcodec_version_number(void);
WCODEC_API const char *wcodec_version_string(void);

/** What a function can return. Values are stable; new ones may be added at the end. */
typedef enum wcodec_status {
    WCODEC_OK = 0,
    WCODEC_ERROR_USAGE = 1,  /**< wrong arguments, or calls in the wrong order */
    WCODEC_ERROR_MEMORY = 2, /**< an allocation failed */
    WCODEC_ERROR_IO =
        3, /**< reading, writing or opening failed; the text holds the system's reason */
    WCODEC_ERROR_CORRUPT = 4, /**< the input is damaged or is no such file */
    WCODEC_ERROR_NEWER = 5,   /**< the input needs a newer version of the library */
    WCODEC_ERROR_LIMIT = 6,   /**< a limit that the caller set (or a default one) would be passed */
    WCODEC_ERROR_CANCELLED = 7,   /**< the caller's progress callback asked to stop */
    WCODEC_ERROR_BACKEND = 8,     /**< the backend that was asked for cannot be used */
    WCODEC_ERROR_DEVICE = 9,      /**< a device failed while working */
    WCODEC_ERROR_NOT_FOUND = 10,  /**< no tensor, file or metadata of that name */
    WCODEC_ERROR_MISMATCH = 11,   /**< data is intact but not what it was compared with */
    WCODEC_ERROR_UNSUPPORTED = 12 /**< right, but this build or backend cannot do it */
} wcodec_status;

/** A short constant English description of a status ("corrupt data"), also for unknown values.
 * Never NULL. */
WCODEC_API const char *wcodec_status_string(wcodec_status status);

/** What went wrong, in the caller's memory: no allocation, no lifetime. Text is one line without a
 * newline, cut to fit, always terminated. Control characters in names from files are escaped
 * (\xNN). */
typedef struct wcodec_error {
    wcodec_status status;
    char text[1020];
} wcodec_error;

/** Element types, with the names and bit widths of the safetensors format. WCODEC_DTYPE_OTHER is a
 * type this version does not know: its tensors are bytes. */
typedef enum wcodec_dtype {
    WCODEC_DTYPE_OTHER = 0,
    WCODEC_DTYPE_BOOL = 1,
    WCODEC_DTYPE_U8 = 2,
    WCODEC_DTYPE_I8 = 3,
    WCODEC_DTYPE_F8_E5M2 = 4,
    WCODEC_DTYPE_F8_E4M3 = 5,
    WCODEC_DTYPE_F8_E8M0 = 6,
    WCODEC_DTYPE_F8_E4M3FNUZ = 7,
    WCODEC_DTYPE_F8_E5M2FNUZ = 8,
    WCODEC_DTYPE_U16 = 9,
    WCODEC_DTYPE_I16 = 10,
    WCODEC_DTYPE_F16 = 11,
    WCODEC_DTYPE_BF16 = 12,
    WCODEC_DTYPE_U32 = 13,
    WCODEC_DTYPE_I32 = 14,
    WCODEC_DTYPE_F32 = 15,
    WCODEC_DTYPE_U64 = 16,
    WCODEC_DTYPE_I64 = 17,
    WCODEC_DTYPE_F64 = 18,
    WCODEC_DTYPE_C64 = 19,
    WCODEC_DTYPE_F4 = 20,
    WCODEC_DTYPE_F6_E2M3 = 21,
    WCODEC_DTYPE_F6_E3M2 = 22
} wcodec_dtype;

/** The safetensors name of a dtype ("BF16"); "OTHER" for WCODEC_DTYPE_OTHER; NULL for a value that
 * is none. */
WCODEC_API const char *wcodec_dtype_name(wcodec_dtype dtype);

/** Bits of one element of the shape; 0 for WCODEC_DTYPE_OTHER and for a value that is none. */
WCODEC_API unsigned wcodec_dtype_bits(wcodec_dtype dtype);

/** The dtype of a safetensors name; WCODEC_DTYPE_OTHER if it is not known. */
WCODEC_API wcodec_dtype wcodec_dtype_from_name(const char *name);

/** Progress of a long call, in bytes of the original (`total` is 0 while it is not known). Called
 * from the thread that made the call, a few times a second at most and once at the end. A return
 * value other than 0 cancels: the call ends with WCODEC_ERROR_CANCELLED. */
typedef int (*wcodec_progress_fn)(void *opaque, uint64_t done, uint64_t total);

typedef struct wcodec_progress {
    wcodec_progress_fn fn; /**< NULL: no reports */
    void *opaque;
} wcodec_progress;

#ifdef __cplusplus
}
#endif
#endif
