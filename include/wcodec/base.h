/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * What the other headers share: version, status, error text, dtypes, progress.
 *
 * How the interface grows. A program that was built against an older header of the same soname
 * works with a newer library, and one built against a newer header with an older library. Two rules
 * give that:
 *
 * 1. Options (wcodec_options, wcodec_decode_options, wcodec_encode_options, wcodec_load_options)
 *    begin with `struct_size`, the bytes that the caller's header gives them, and get longer at
 *    their end. The inline function wcodec_..._init() sets it, with the default of every member,
 *    so call it first, always. The library looks at no byte beyond struct_size: members that an
 *    older caller does not have keep their defaults. Members of a newer caller that the library
 *    does not know must be 0, which stands for their default; if one is not, the call fails with
 *    WCODEC_ERROR_USAGE and does nothing, rather than ignore what was asked for.
 *
 * 2. All other structures keep their size for ever. Their last member is `reserved`, from which
 *    new members are taken. In structures that the library fills in, it is set to 0, so that a
 *    member which an older library does not know reads as 0. In structures that the caller fills
 *    in, or that are part of options, it must be 0: zero the structure before setting members, by
 *    an initializer (`wcodec_load_item item = {.tensor = 5};`), calloc() or memset(). Where it is
 *    not 0, the call fails with WCODEC_ERROR_USAGE.
 *
 * Values of enumerations stay; new ones are added at the end or in gaps. A program must expect
 * values that it does not know where the library gives them: a status counts as failure, a coding
 * as one of which nothing is known but its name.
 */
#ifndef WCODEC_BASE_H
#define WCODEC_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks what the library exports. */
#if defined(__GNUC__)
#define WCODEC_API __attribute__((visibility("default")))
#else
#define WCODEC_API
#endif

/** Version of these headers. */
#define WCODEC_VERSION_MAJOR 0
#define WCODEC_VERSION_MINOR 1
#define WCODEC_VERSION_PATCH 0
/** The same as one number that can be compared: 0.1.0 is 100, 1.2.3 is 10203. */
#define WCODEC_VERSION_NUMBER \
    ((WCODEC_VERSION_MAJOR * 100 + WCODEC_VERSION_MINOR) * 100 + WCODEC_VERSION_PATCH)

/** Version of the library that the program runs with, which may be another than that of the
 * headers: as WCODEC_VERSION_NUMBER. Never fails; thread-safe. */
WCODEC_API unsigned wcodec_version_number(void);

/** The same as text ("0.1.0"), a constant. Never fails; thread-safe. */
WCODEC_API const char *wcodec_version_string(void);

/** Bytes that the public structure of that name ("wcodec_error") has in this library; 0 if there is
 * none of that name. For programs that declare the structures by themselves, in other languages,
 * and want to know at run time that they did it right. Never fails; thread-safe. */
WCODEC_API size_t wcodec_structure_size(const char *name);

/** What a function returns. Each function lists those that it can; one that is not listed may come
 * from a later version, and is a failure. */
typedef enum wcodec_status {
    /** Done. The only value that is no failure. */
    WCODEC_OK = 0,
    /** Wrong arguments, options or environment variables, or calls in the wrong order. */
    WCODEC_ERROR_USAGE = 1,
    /** An allocation failed, of host memory or of a device's. */
    WCODEC_ERROR_MEMORY = 2,
    /** Reading, writing or opening a file failed, or a file changed while it was used; the text
     * holds the system's reason. */
    WCODEC_ERROR_IO = 3,
    /** The input is damaged, or is no such file at all. */
    WCODEC_ERROR_CORRUPT = 4,
    /** The input needs a newer version of the library. */
    WCODEC_ERROR_NEWER = 5,
    /** A limit that the caller set, or a default one, would be passed (wcodec_limits). */
    WCODEC_ERROR_LIMIT = 6,
    /** The caller asked to stop, by a progress callback or wcodec_loading_cancel(). */
    WCODEC_ERROR_CANCELLED = 7,
    /** The backend that was asked for cannot be used; the text says why. */
    WCODEC_ERROR_BACKEND = 8,
    /** A device failed while it worked. The context uses it no more. */
    WCODEC_ERROR_DEVICE = 9,
    /** There is no tensor or file of that name. */
    WCODEC_ERROR_NOT_FOUND = 10,
    /** Data is intact but not what it was compared with. */
    WCODEC_ERROR_MISMATCH = 11,
    /** The request is right, but this build or this backend cannot do it. */
    WCODEC_ERROR_UNSUPPORTED = 12,
    /** Another process, or thread, is changing what the call would change; it did nothing, and may
     * be tried again. */
    WCODEC_ERROR_BUSY = 13
} wcodec_status;

/** A short constant English description of a status ("corrupt data"), also for values that are
 * none. Never NULL, never fails; thread-safe. */
WCODEC_API const char *wcodec_status_string(wcodec_status status);

/** What went wrong, in the caller's memory: no allocation, no lifetime. It needs no initialization:
 * a function that fails sets all of it, one that succeeds nothing. */
typedef struct wcodec_error {
    /** As the function returned it. */
    wcodec_status status;
    /** One line without a newline, cut to fit, always terminated. Control characters, and bytes
     * that are no UTF-8, in names from files are escaped as \xNN: it can be printed to a terminal.
     */
    char text[956];
    /** 0. */
    uint64_t reserved[8];
} wcodec_error;

/** Element types, with the names and bit widths of the safetensors format. Floating-point types are
 * named by bits, then exponent (E) and mantissa (M) bits. */
typedef enum wcodec_dtype {
    /** A type that this version does not know: its tensors are bytes. */
    WCODEC_DTYPE_OTHER = 0,
    /** 8 bits, 0 or 1. */
    WCODEC_DTYPE_BOOL = 1,
    /** Unsigned, 8 bits. */
    WCODEC_DTYPE_U8 = 2,
    /** Two's complement, 8 bits. */
    WCODEC_DTYPE_I8 = 3,
    /** 8 bits, with infinities, as float8_e5m2. */
    WCODEC_DTYPE_F8_E5M2 = 4,
    /** 8 bits, without infinities, as float8_e4m3fn. */
    WCODEC_DTYPE_F8_E4M3 = 5,
    /** 8 bits of exponent and nothing else: scales of microscaled types. */
    WCODEC_DTYPE_F8_E8M0 = 6,
    /** 8 bits, without infinities and negative zero. */
    WCODEC_DTYPE_F8_E4M3FNUZ = 7,
    /** 8 bits, without infinities and negative zero. */
    WCODEC_DTYPE_F8_E5M2FNUZ = 8,
    /** Unsigned, 16 bits. */
    WCODEC_DTYPE_U16 = 9,
    /** Two's complement, 16 bits. */
    WCODEC_DTYPE_I16 = 10,
    /** IEEE 754 binary16. */
    WCODEC_DTYPE_F16 = 11,
    /** The upper 16 bits of a binary32. */
    WCODEC_DTYPE_BF16 = 12,
    /** Unsigned, 32 bits. */
    WCODEC_DTYPE_U32 = 13,
    /** Two's complement, 32 bits. */
    WCODEC_DTYPE_I32 = 14,
    /** IEEE 754 binary32. */
    WCODEC_DTYPE_F32 = 15,
    /** Unsigned, 64 bits. */
    WCODEC_DTYPE_U64 = 16,
    /** Two's complement, 64 bits. */
    WCODEC_DTYPE_I64 = 17,
    /** IEEE 754 binary64. */
    WCODEC_DTYPE_F64 = 18,
    /** Complex: two binary32, real part first; 64 bits. */
    WCODEC_DTYPE_C64 = 19,
    /** 4 bits (E2M1), packed two to a byte. */
    WCODEC_DTYPE_F4 = 20,
    /** 6 bits, packed four to three bytes. */
    WCODEC_DTYPE_F6_E2M3 = 21,
    /** 6 bits, packed four to three bytes. */
    WCODEC_DTYPE_F6_E3M2 = 22
} wcodec_dtype;

/** The safetensors name of a dtype ("BF16"), a constant; "OTHER" for WCODEC_DTYPE_OTHER; NULL for a
 * value that is none. Thread-safe. */
WCODEC_API const char *wcodec_dtype_name(wcodec_dtype dtype);

/** Bits of one element of the shape; 0 for WCODEC_DTYPE_OTHER and for a value that is none.
 * Thread-safe. */
WCODEC_API unsigned wcodec_dtype_bits(wcodec_dtype dtype);

/** The dtype of a safetensors name; WCODEC_DTYPE_OTHER if it is not known. Thread-safe. */
WCODEC_API wcodec_dtype wcodec_dtype_from_name(const char *name);

/** Progress of a long call, in bytes of the original: `done` of `total`, which is 0 while it is not
 * known. Called from the thread that made the call, a few times a second at most and once at the
 * end. A return value other than 0 cancels: the call ends soon with WCODEC_ERROR_CANCELLED. It may
 * not call functions on the object that is at work. */
typedef int (*wcodec_progress_fn)(void *opaque, uint64_t done, uint64_t total);

/** Where progress is reported to; part of options. All 0: nowhere. */
typedef struct wcodec_progress {
    /** NULL: no reports. */
    wcodec_progress_fn fn;
    /** Its first argument. */
    void *opaque;
    /** 0. */
    void *reserved[2];
} wcodec_progress;

/** What the time of a call went into, in nanoseconds of the clock: the other members add up to
 * `total`. What several threads do at once counts by its share in their time; what is done beside
 * something longer counts nothing. */
typedef struct wcodec_times {
    /** The whole call. */
    uint64_t total;
    /** Reading the input. */
    uint64_t reading;
    /** Encoding or decoding. */
    uint64_t coding;
    /** Decoding and comparing what was encoded, and hashing its payloads meanwhile. */
    uint64_t verifying;
    /** Hashes of the original, and of payloads that are not verified. */
    uint64_t hashing;
    /** Writing the output, by the caller's function. */
    uint64_t writing;
    /** Threads without work, planning, and all else. */
    uint64_t waiting;
    /** 0. */
    uint64_t reserved[5];
} wcodec_times;

#ifdef __cplusplus
}
#endif
#endif
