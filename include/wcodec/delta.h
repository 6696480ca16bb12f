/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Weight synchronisation: what changed between two snapshots of a model's weights as one message,
 * and bringing the weights of a receiver to the new snapshot by it, in place. A trainer sends each
 * step's weights to inference so, which have the previous ones.
 *
 * The trainer (errors are not looked at; examples/sync-weights.c is a whole program):
 *
 *     wcodec_save_item before[] = {{.name = "w", .dtype = WCODEC_DTYPE_BF16, .rank = 2,
 *                                   .shape = shape, .source = old_pointer, .size = size}};
 *     wcodec_save_item after[] = ...;
 *     wcodec_delta_encode(context, before, 1, after, 1, NULL, &message, &size, NULL, &err);
 *     send(message, size);
 *     wcodec_delta_free(context, message);
 *
 * The receiver, whose weights are those of `before`:
 *
 *     wcodec_save_item weights[] = ...;
 *     wcodec_delta_apply(context, message, size, weights, 1, NULL, NULL, &err);
 *
 * A message is a .wcodec file with the hashes of each tensor before and after in its index. By the
 * option `as_file` it is the delta (wcodec/bases.h) of the file that wcodec_save() makes of `after`
 * against the one that it makes of `before`, too: it may be stored, and be decoded as a file with
 * that base.
 */
#ifndef WCODEC_DELTA_H
#define WCODEC_DELTA_H

#include <wcodec/save.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How to make a message: fill with wcodec_delta_encode_options_init(), then change what matters.
 * It grows at its end (wcodec/base.h). */
typedef struct wcodec_delta_encode_options {
    /** Set by wcodec_delta_encode_options_init(). */
    size_t struct_size;
    /** NULL: the defaults; else level, tile_log2, profile, predict, no_verify and progress count.
     * All other members must be as they are by default. */
    const wcodec_encode_options *encode;
    /** NULL, or what the message is written by, front to back, instead of to memory. */
    wcodec_write_fn write;
    /** First argument of `write`. */
    void *opaque;
    /** Whose memory the old tensors are in: a backend's name ("cuda"), which must be that of the
     * context's device, or NULL: host memory. */
    const char *before_memory;
    /** The same of the new tensors. */
    const char *after_memory;
    /** Not 0: no tensor in a device's memory is read before what was given to `queue` until now is
     * done. */
    int use_queue;
    /** A CUstream or an in-order cl_command_queue of the caller's, as an integer, which stays his.
     * Looked at only with use_queue, since 0 is CUDA's default stream. */
    uint64_t queue;
    /** Bytes of pinned host memory through which tensors come from a device, at most, for old and
     * new ones each; 0: 32 MiB. */
    uint64_t host_memory;
    /** Not 0: the message can also be decoded as a file, with the one as base that wcodec_save()
     * makes of the old tensors. Both snapshots are read once more, for the hashes of these files.
     */
    int as_file;
} wcodec_delta_encode_options;

/** What wcodec_delta_encode_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_delta_encode_options_init_size(wcodec_delta_encode_options *options,
                                                      size_t size);

/** Set all members to their defaults. */
static inline void wcodec_delta_encode_options_init(wcodec_delta_encode_options *options)
{
    wcodec_delta_encode_options_init_size(options, sizeof *options);
}

/** Make a message of what changed from the tensors `before` to the tensors `after`. Tensors are
 * matched by name, dtype and shape: one of `after` that has no match is coded alone, one of
 * `before` that has none is left out. An equal tensor costs its entry, an equal tile (16384
 * elements, or 65536 of a tensor with 2^22 and more) its check of 4 bytes and a bit. The tensors
 * must not change meanwhile.
 *
 * Without `options->write`, *message is memory of *size bytes, the caller's, for
 * wcodec_delta_free(); with it, both may be NULL, *message is set to NULL, and *size is set.
 * `options` and `report` may be NULL. From any thread, several at once.
 *
 * Tensors in the host's memory are read where they are. Of both snapshots in one device's memory
 * (CUDA, and OpenCL devices that are no processors), those of 1 MiB and more at offsets that are
 * multiples of 16 are hashed, compared and coded there, where no more than one element in 16
 * differs in any tile of 16384 or 65536; only streams and 40 bytes a tile come to the host, in
 * pinned memory of at most twice their size, of up to 16 tensors at once, which have 1 GiB together
 * or are one that is larger. On the device each takes a quarter of its size at most (3 sixteenths
 * of elements of 16 bits and more), and twice its streams. The former stays until the call
 * returns: each MiB of `host_memory` through which tensors came has as much as the largest of these
 * took. With `as_file` a thread beside the context's hashes files meanwhile, unless progress is
 * asked for or the context has one thread only or an executor of the caller's. Of any other tensor,
 * and with a limit of memory of all, it and the one it is matched with are brought to the host at a
 * time; WCODEC_LOG_INFO says why. Memory beside that: as a writer takes (wcodec/writer.h), the
 * message, and payloads of the tensors that are coded and of those before them that are written,
 * each 1 GiB together or one that is larger. A device keeps up to 512 MiB of pinned memory, and as
 * much of its own, for the next calls, of loading and saving, too.
 *
 * Unless options->encode says no_verify, streams are decoded by the device that made them, and
 * compared with what it found to differ; that it found all, and took the streams' checks rightly,
 * is proven by the receiver, who compares these and the hash of each result.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (an item, option or queue that is wrong, or two items of
 * one name), WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO (of `write`), WCODEC_ERROR_LIMIT,
 * WCODEC_ERROR_CANCELLED, WCODEC_ERROR_BACKEND (tensors in memory of another backend than the
 * context's), WCODEC_ERROR_DEVICE, WCODEC_ERROR_UNSUPPORTED. */
WCODEC_API wcodec_status wcodec_delta_encode(wcodec_context *context,
                                             const wcodec_save_item *before, size_t before_count,
                                             const wcodec_save_item *after, size_t after_count,
                                             const wcodec_delta_encode_options *options,
                                             void **message, size_t *size,
                                             wcodec_encode_report *report, wcodec_error *err);

/** Free a message that wcodec_delta_encode() made with the same context. NULL is ignored. Never
 * fails. */
WCODEC_API void wcodec_delta_free(wcodec_context *context, void *message);

/** What wcodec_delta_apply() makes sure of before it changes the first byte. That the message is
 * whole, by its hashes, and fits names, dtypes and shapes, it always does; and the hash of each
 * result is always compared. */
typedef enum wcodec_delta_verify {
    /** Hash the weights that deltas are of, while the message is looked at: those of another
     * snapshot are refused. Of weights that a device changes where they are, hashes of results
     * follow from these and from what is written, without reading all once more. What is then
     * applied can fail only if a device does, if there is not memory enough, or if the message was
     * not made by wcodec_delta_encode(). */
    WCODEC_DELTA_VERIFY_BEFORE = 0,
    /** Decode all of the message once without keeping it, and compare the hashes of results: after
     * that only a device can fail, or memory be too little. Takes twice as long. */
    WCODEC_DELTA_VERIFY_TRIAL = 1,
    /** Nothing more: the fastest. With weights of another snapshot, tensors are changed that are
     * then wrong, which the hashes of results show. */
    WCODEC_DELTA_VERIFY_AFTER = 2
} wcodec_delta_verify;

/** What has become of a receiver's tensor. */
typedef enum wcodec_delta_state {
    /** As it was; no byte was written. */
    WCODEC_DELTA_STATE_BEFORE = 0,
    /** The message's, proven by its hash. */
    WCODEC_DELTA_STATE_AFTER = 1,
    /** Neither: applying failed in the middle of it. */
    WCODEC_DELTA_STATE_BROKEN = 2
} wcodec_delta_state;

/** How to apply a message: fill with wcodec_delta_apply_options_init(), then change what matters.
 * It grows at its end (wcodec/base.h). */
typedef struct wcodec_delta_apply_options {
    /** Set by wcodec_delta_apply_options_init(). */
    size_t struct_size;
    /** Default WCODEC_DELTA_VERIFY_BEFORE. */
    wcodec_delta_verify verify;
    /** Whose memory the weights are in: as `before_memory` in encoding. */
    const char *memory;
    /** Not 0: no weight is read or written before what was given to `queue` until now is done. */
    int use_queue;
    /** As in encoding. */
    uint64_t queue;
    /** Bytes of pinned host memory through which weights come and go, at most; 0: 32 MiB. */
    uint64_t host_memory;
    /** NULL, or an array of as many as there are weights, which is set whether applying succeeds or
     * fails, but not with WCODEC_ERROR_USAGE: values of wcodec_delta_state. */
    uint8_t *states;
    /** In bytes of the message's tensors. It can cancel as long as nothing is changed. */
    wcodec_progress progress;
} wcodec_delta_apply_options;

/** What wcodec_delta_apply_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_delta_apply_options_init_size(wcodec_delta_apply_options *options,
                                                     size_t size);

/** Set all members to their defaults. */
static inline void wcodec_delta_apply_options_init(wcodec_delta_apply_options *options)
{
    wcodec_delta_apply_options_init_size(options, sizeof *options);
}

/** What applying did. */
typedef struct wcodec_delta_report {
    /** Tensors of the message. */
    uint64_t tensors;
    /** Of them: those that are equal in both snapshots as a whole. */
    uint64_t equal;
    /** Bytes of all of them. */
    uint64_t size;
    /** 0. */
    uint64_t reserved[5];
} wcodec_delta_report;

/** Bring weights from the snapshot that a message is a delta of to the one that it was made of, in
 * place, and return when that is done. `weights` have all tensors of the message, in any order;
 * others are left alone. Two of them may be the same memory as a whole (tied weights), if they
 * become the same; any other overlap is WCODEC_ERROR_USAGE, as far as it can be seen: in memory
 * that the host sees, and of one `source`. Nobody else may read or write them meanwhile. `options`
 * and `report` may be NULL. From any thread, several at once, on different weights.
 *
 * Nothing is changed before all is checked that options->verify says. When applying fails after
 * that, tensors are broken of which options->states says so: at most one for each thread. Tensors
 * on which no work had begun are as they were, all others are new. The error names a tensor that
 * failed.
 *
 * Tensors of at least 64 KiB in a device's memory are hashed there, and changed there where the
 * message has no tile of them but equal and sparse ones: only the message's bytes go to the device,
 * by pieces of 1 MiB that threads send at once. (CUDA, and OpenCL devices that are no processors,
 * at offsets that are multiples of 16.) All else is decoded by the CPU; from and to a device it
 * comes and goes by pieces. Memory beside the message: 4 MiB for each thread, what decoding takes,
 * and as much on the device as of pinned memory.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_CORRUPT (a message that
 * is damaged, or none), WCODEC_ERROR_NEWER, WCODEC_ERROR_NOT_FOUND (a tensor that the receiver does
 * not have), WCODEC_ERROR_MISMATCH (one of another dtype or shape, weights that are not those of
 * the old snapshot, or a result with another hash), WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED,
 * WCODEC_ERROR_BACKEND, WCODEC_ERROR_DEVICE, WCODEC_ERROR_UNSUPPORTED. */
WCODEC_API wcodec_status wcodec_delta_apply(wcodec_context *context, const void *message,
                                            size_t size, const wcodec_save_item *weights,
                                            size_t count, const wcodec_delta_apply_options *options,
                                            wcodec_delta_report *report, wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
