/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Resident tensors: tensors of a reader that stay coded in memory, to be decoded, row by row too,
 * and multiplied by, as often as wanted: in host memory, by the CPU's threads, or, on the caller's
 * streams or queues, in the memory of a CUDA device that has tensor cores for BF16 (compute
 * capability 8.0), or of an OpenCL device.
 *
 * A layer y = x W^T + b of 8 vectors (examples/multiply.c is a whole program):
 *
 *     wcodec_linear l;
 *     status = wcodec_resident_create(reader, NULL, 0, NULL, &resident, &err);
 *     if (status == WCODEC_OK)
 *         status = wcodec_resident_find(resident, "mlp.weight", &tensor, &err);
 *     wcodec_linear_init(&l);
 *     l.rows = 8;
 *     l.x = x;
 *     l.x_dtype = WCODEC_DTYPE_BF16;
 *     l.y = y;
 *     l.y_dtype = WCODEC_DTYPE_BF16;
 *     if (status == WCODEC_OK)
 *         status = wcodec_resident_linear(resident, tensor, &l, &err);
 */
#ifndef WCODEC_RESIDENT_H
#define WCODEC_RESIDENT_H

#include <wcodec/reader.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a resident tensor is kept as. All hold the same elements: what is computed from them in
 * host memory is, bit for bit, the same. */
typedef enum wcodec_resident_form {
    /** By tensor: what has two dimensions or more of bf16 or f16, and is coded in 7/8 of its bytes
     * or less, CODED (FIXED where the file has it so); one element repeated CODED; all else PLAIN.
     * Only asked for, never told. */
    WCODEC_RESIDENT_AUTO = 0,
    /** As in the file: smallest, and decoded piece by piece for each product. */
    WCODEC_RESIDENT_CODED = 1,
    /** At the fixed rate of wcodec-format(5), section 6, which is made for devices: on a CPU
     * products with CODED matrices are faster. Coded anew when it becomes resident,
     * unless the file has it so. A tensor that this form is not for (another dtype than bf16,
     * numbers of which it would not make less) is PLAIN instead, and one element repeated CODED. */
    WCODEC_RESIDENT_FIXED = 2,
    /** Decoded. */
    WCODEC_RESIDENT_PLAIN = 3
} wcodec_resident_form;

/** Tensors in memory. Immutable: it may be used from several threads at once, except for
 * destroying; what several threads give to one queue of a device stays together, call by call. */
typedef struct wcodec_resident wcodec_resident;

/** How tensors become resident: fill with wcodec_resident_options_init(), then change what matters.
 * It grows at its end (wcodec/base.h). Where a pointer to it is taken, NULL stands for the
 * defaults. */
typedef struct wcodec_resident_options {
    /** Set by wcodec_resident_options_init(). */
    size_t struct_size;
    /** Of all tensors. Default: AUTO. */
    wcodec_resident_form form;
    /** In decoded bytes. Default: none. */
    wcodec_progress progress;
    /** Whose memory they stay in: a backend's name ("cuda", "opencl"), which must be that of the
     * context's device, or NULL, the default: host memory. On a device AUTO is FIXED, and a matrix
     * with elements that products could not take from the fixed rate (subnormal numbers, exponents
     * 127 away from most of their row's) is PLAIN, and so is one element repeated. With CODED
     * what the file has in tiles stays as it is (with what decodes it, some bytes a tile), to be
     * decoded, gathered from, and multiplied by (wcodec_resident_linear()); the rest is as in form
     * FIXED, or PLAIN. */
    const char *memory;
    /** Bytes of a device's memory, at most, that are kept for products which decode their matrix
     * (wcodec_resident_linear()), some rows at a time: no more than the largest matrix takes; but
     * all of one that is coded so that it can only be decoded whole. 0: none, and such products are
     * WCODEC_ERROR_UNSUPPORTED. Default: 128 MiB. A library that multiplies (cuBLASLt) gets 32 MiB
     * to work in, unless this is 0. */
    size_t decoded;
} wcodec_resident_options;

/** What wcodec_resident_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_resident_options_init_size(wcodec_resident_options *options, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_resident_options_init(wcodec_resident_options *options)
{
    wcodec_resident_options_init_size(options, sizeof *options);
}

/** Read tensors, one after the other, and keep them: those of `count` numbers of the reader, no
 * number twice, or with `tensors` NULL (and count 0) all. They are numbered anew from 0, in that
 * order. Equal ones of a file (aliases) are kept once. All checks are verified, also of what stays
 * coded: damage is found here and never later. Takes, beside what stays, the decoded and the coded
 * size of one tensor; a limit of memory counts both. Equal tensors have the form of the first.
 *
 * *resident belongs to the caller, who ends it by wcodec_resident_destroy() before the reader's
 * context; the reader may be closed before. On failure nothing is left. Where they stay in a
 * device's memory, tensors are loaded as by wcodec_load(), to where they stay; matrices by way of
 * four pieces of it, of 128 MiB or one matrix each, from where the device codes them, decodes that
 * again and compares. A device that cannot code gets what the CPU makes, one by one. Up to 512 MiB
 * of pinned memory stay with the context for the next load, as those of wcodec_load() do.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_IO,
 * WCODEC_ERROR_CORRUPT, WCODEC_ERROR_NEWER, WCODEC_ERROR_LIMIT, WCODEC_ERROR_CANCELLED,
 * WCODEC_ERROR_BACKEND (memory of another backend than the context's), WCODEC_ERROR_UNSUPPORTED
 * (the device has no products, or not of this form), WCODEC_ERROR_DEVICE (the device failed, or the
 * machine computes wrongly). */
WCODEC_API wcodec_status wcodec_resident_create(const wcodec_reader *reader,
                                                const uint64_t *tensors, size_t count,
                                                const wcodec_resident_options *options,
                                                wcodec_resident **resident, wcodec_error *err);

/** One resident tensor. Strings and arrays live as long as the resident object. */
typedef struct wcodec_resident_tensor {
    /** As in the file. */
    const char *name;
    /** Of its elements. */
    wcodec_dtype dtype;
    /** Number of dimensions; 0 for a scalar. */
    unsigned rank;
    /** `rank` dimensions in elements, slowest first. */
    const uint64_t *shape;
    /** Decoded bytes. */
    uint64_t size;
    /** CODED, FIXED or PLAIN. */
    wcodec_resident_form form;
    /** Bytes of memory that its elements take; 0 where they are another's, or CODED as one element
     * repeated. */
    uint64_t held;
    /** Number of the resident tensor whose elements these are, else UINT64_MAX. */
    uint64_t alias_of;
    /** PLAIN in a device's memory: where its elements are (a CUdeviceptr, at a multiple of 256; a
     * cl_mem); they live as long as the resident object, and must not be changed. Else 0. */
    uint64_t native;
    /** 0. */
    uint64_t reserved[7];
} wcodec_resident_tensor;

/** Number of resident tensors. Never fails. */
WCODEC_API uint64_t wcodec_resident_count(const wcodec_resident *resident);

/** Bytes of memory that all their elements take. Never fails. */
WCODEC_API uint64_t wcodec_resident_size(const wcodec_resident *resident);

/** Set *i to the number of the tensor of that name. Returns WCODEC_OK, or WCODEC_ERROR_NOT_FOUND if
 * it is not resident. */
WCODEC_API wcodec_status wcodec_resident_find(const wcodec_resident *resident, const char *name,
                                              uint64_t *i, wcodec_error *err);

/** Describe tensor number i. Returns WCODEC_OK, or WCODEC_ERROR_USAGE if i is not below the
 * count. */
WCODEC_API wcodec_status wcodec_resident_info(const wcodec_resident *resident, uint64_t i,
                                              wcodec_resident_tensor *info, wcodec_error *err);

/** Decode rows [first, first + count) of the first dimension of tensor i to dst, which has room for
 * dst_size bytes and needs no alignment; as wcodec_reader_decode_rows(), with no file to fail.
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT. */
WCODEC_API wcodec_status wcodec_resident_decode(const wcodec_resident *resident, uint64_t i,
                                                uint64_t first, uint64_t count, void *dst,
                                                size_t dst_size, wcodec_error *err);

/** Decode the rows of tensor i that rows[0] to rows[count - 1] name, in that order, to dst, which
 * must not overlap them: what an embedding does. A row may come several times. An index outside of
 * the first dimension is WCODEC_ERROR_USAGE, before anything is written. Else as
 * wcodec_resident_decode(). */
WCODEC_API wcodec_status wcodec_resident_gather(const wcodec_resident *resident, uint64_t i,
                                                const int64_t *rows, size_t count, void *dst,
                                                size_t dst_size, wcodec_error *err);

/** The same of tensors in a device's memory: given to `queue`, a CUstream of the device's primary
 * context as an integer, without waiting and without allocating, so that a CUDA graph can capture
 * it. dst is an address of the device, aligned to the element, with room for dst_size bytes. For
 * tensors of form FIXED: PLAIN ones are at wcodec_resident_tensor.native.
 *
 * Of form CODED dst is a multiple of 16, and rows are decoded that have whole tiles of the file (in
 * the order of products: whole bands of 16 rows), or all; others are WCODEC_ERROR_UNSUPPORTED.
 * Decodings of the same tensor share memory: they are given to one queue, or to queues that wait
 * for each other. Rows are gathered of BF16 whose rows are multiples of 8 bytes and which is not in
 * the order of products, if all of its tiles are coded by rANS in a way that has a kernel for it;
 * else that is WCODEC_ERROR_UNSUPPORTED. It decodes a row's tiles for each index that names it, up
 * to where the row ends: for more rows than there are tiles decoding all takes less time.
 *
 * On an OpenCL device `queue` is a cl_command_queue of the device's cl_context
 * (wcodec_context_device()), in order, which the caller flushes or waits for, and dst and rows are
 * cl_mem, from whose first byte on they are used; of a part of a buffer a sub-buffer is one. The
 * first call of a kind waits for its kernel to be compiled.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE, WCODEC_ERROR_UNSUPPORTED (another form),
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_resident_decode_queued(const wcodec_resident *resident, uint64_t i,
                                                       uint64_t first, uint64_t count, uint64_t dst,
                                                       uint64_t dst_size, uint64_t queue,
                                                       wcodec_error *err);

/** Likewise; rows is the device's address of `count` int64, and an index outside of the first
 * dimension gives a row of zeros, and is counted for wcodec_resident_check(). */
WCODEC_API wcodec_status wcodec_resident_gather_queued(const wcodec_resident *resident, uint64_t i,
                                                       uint64_t rows, uint64_t count, uint64_t dst,
                                                       uint64_t dst_size, uint64_t queue,
                                                       wcodec_error *err);

/** Had a gather that was queued an index outside of the first dimension? The launches cannot tell
 * it: they count such indices in the device's memory, from where this reads how many there are.
 * That they were is told once: in the next call only those count that came since. The call waits
 * for its own copy alone, so what is under way on other queues may be told now or the next time:
 * wait for these before. One call at a time. In host memory wcodec_resident_gather() tells it, and
 * here all is well.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (there were; err names one of the tensors),
 * WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_resident_check(wcodec_resident *resident, wcodec_error *err);

/** A product with a matrix W of n rows and k columns: y = x W^T + bias, or y = x W. Fill with
 * wcodec_linear_init(), then set what matters. It grows at its end (wcodec/base.h). */
typedef struct wcodec_linear {
    /** Set by wcodec_linear_init(). */
    size_t struct_size;
    /** Not 0: y = x W, where x has n columns and y has k; `bias` is NULL. As backward passes need
     * it. Default 0: y = x W^T + bias, where x has k columns and y has n. */
    int transposed;
    /** Of x and y. */
    uint64_t rows;
    /** Elements row by row; aligned to the element. */
    const void *x;
    /** BF16, F16 or F32. */
    wcodec_dtype x_dtype;
    /** Bytes from a row to the next; 0: they follow each other. */
    size_t x_stride;
    /** Where the result goes; must not overlap x. */
    void *y;
    /** BF16, F16 or F32. */
    wcodec_dtype y_dtype;
    /** As x_stride. */
    size_t y_stride;
    /** NULL, or n numbers that are added to each row of y. */
    const void *bias;
    /** BF16, F16 or F32. */
    wcodec_dtype bias_dtype;
    /** NULL, or n numbers that the rows of W are multiplied by: of int8 weights with a scale for
     * each row. */
    const void *scales;
    /** BF16, F16 or F32. */
    wcodec_dtype scales_dtype;
    /** Of tensors in a device's memory, as an integer: a CUstream of the device's primary context,
     * 0: the default stream; a cl_command_queue (wcodec_resident_decode_queued()). */
    uint64_t queue;
    /** On a CUDA device: work_size bytes of its memory, at a multiple of 256, in which this product
     * works in place of what the resident object keeps for all of them (decoded). Default: NULL.
     * See wcodec_resident_linear_work(). */
    void *work;
    size_t work_size;
} wcodec_linear;

/** What wcodec_linear_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_linear_init_size(wcodec_linear *linear, size_t size);

/** Set all members to their defaults. */
static inline void wcodec_linear_init(wcodec_linear *linear)
{
    wcodec_linear_init_size(linear, sizeof *linear);
}

/** Bytes of a device's memory in which wcodec_resident_linear() multiplies so many rows of x of
 * BF16 by tensor i, y = x W^T without scales, straight from the code and fastest: for
 * wcodec_linear.work. 0: another way is faster, or there is none that works in such memory. Never
 * fails. */
WCODEC_API uint64_t wcodec_resident_linear_work(const wcodec_resident *resident, uint64_t i,
                                                uint64_t rows);

/** Is it faster to let wcodec_resident_linear() multiply so many rows of x of BF16 by tensor i,
 * which a device has, without scales, straight from its code (y = x W^T with as much work as
 * wcodec_resident_linear_work() says, CODED with x and its stride multiples of 16; transposed not
 * 0: y = x W), than to decode the tensor and multiply by a library such as cuBLASLt? For callers
 * that have one. 1: yes, and it does so; 0: no, or nothing of the device takes it straight from the
 * code, or there is no such tensor. Measured on CUDA devices. Never fails. */
WCODEC_API int wcodec_resident_linear_straight(const wcodec_resident *resident, uint64_t i,
                                               uint64_t rows, int transposed);

/** Multiply by tensor i, a matrix of BF16, F16, F32, I8, U8, F8_E4M3 or F8_E5M2, without decoding
 * it to memory as a whole. What is CODED or FIXED is decoded once for 128 rows of x (fewer where
 * they have more than 2^15 elements).
 *
 * Sums are binary32. y = x W^T: sum j of 16 takes, in the order of columns, those whose number is j
 * modulo 16, each by a fused multiplication and addition; then sum j gets j + 8, then j + 4, j + 2
 * and j + 1. The result is multiplied by the row's scale, bias is added, and it is rounded to y's
 * dtype (to nearest, ties to even). y = x W: elements of x are multiplied by the scales, and one
 * sum takes the rows of W in order. So results depend neither on the form nor on threads or the
 * machine, as long as no thread has changed how it rounds or that it takes subnormal numbers for
 * zero; and the error of a sum of k products is at most (k/16 + 5) 2^-24 (y = x W: n 2^-24)
 * times the sum of their magnitudes, as long as nothing is subnormal or overflows. Infinities and
 * NaNs come out as of the products written out.
 *
 * In a device's memory x, y, bias and scales are addresses of the device, aligned to their elements
 * like their strides. The product is given to `queue`, without waiting and without allocating in
 * the device's memory, so that a CUDA graph can capture it. How it is made depends on the matrix:
 *
 * - x of BF16, no scales, W of BF16 in form FIXED: straight from the code by tensor cores, 32 rows
 *   of x at a time (y = x W: 16). Where the device can, that begins while the launch before it ends
 *   (programmatic dependent launch). On devices of compute capability 9.0 (a build by nvcc) more
 *   than 32 rows of y = x W^T, 256 at a time, in wcodec_linear.work, or in memory of the resident
 *   object that is for decoding too, and by matrices of 2^25 elements 17 to 32 in
 *   wcodec_linear.work, unless WCODEC_CUDA_WARPGROUPS is 0 in the environment.
 * - The same in form CODED by WCODEC_TUNE_COMPUTE (rows of whole tiles, x and its stride multiples
 *   of 16), y = x W^T, on CUDA: likewise, 16 rows of x at a time.
 * - All else, and on CUDA more than 64 rows of x (128 of matrices of 8192 rows; so on devices of
 *   compute capability 9.0 of all, and 256 of matrices of 2^25 elements; CODED 32; y = x W 16, and
 *   before 9.0 any of fewer than 8192 columns) where there is cuBLASLt: W is decoded to memory of
 *   the resident object (wcodec_resident_options.decoded), unless it is PLAIN, and multiplied by
 *   cuBLASLt where the types are such that it can (x of W's type, y too or of F32, no scales), else
 *   by kernels that are right, but slow for many vectors. On CUDA that of I8 with x of BF16 takes 8
 *   rows of x at a time by tensor cores (W of columns that are a multiple of 64, x and its stride
 *   multiples of 16). libcublasLt.so.13 or .12 is looked for when tensors become resident;
 *   WCODEC_CUDA_BLAS=0 does without.
 *
 * Products with CODED matrices, those that decode, and on CUDA those of more than 32 rows of x
 * without `work`, share memory of the resident object: they are given to one queue, or to queues
 * that wait for each other. So are those that have the same `work`, which stays until they end.
 *
 * Sums are binary32, in an order that depends on shape and device alone (on the room to work in
 * where there is less than wcodec_resident_linear_work() says, and on the library's version); the
 * error of a sum of k products is at most (k + 8) 2^-22 times the sum of their magnitudes, as long
 * as nothing is subnormal or overflows. Besides, y of 16 bits is rounded once
 * more for a bias of another type than y's where cuBLASLt multiplies, and y = x W for each piece of
 * W that is decoded by itself. Straight from FIXED, sums are made in units of 2^s, where most of
 * the row's elements are below 2^(s+1): they overflow there if products pass 2^(127+s), which takes
 * an element some 2^100 times as large as those beside it, or such an x.
 *
 * On an OpenCL device x, y, bias and scales are cl_mem, cast to pointers, and `queue` is as in
 * wcodec_resident_decode_queued(). Devices of NVIDIA of compute capability 8.0 and later multiply
 * by their tensor cores, as CUDA does; on others every work-item multiplies by itself, up to 8 rows
 * of x at a time.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (no matrix, a wrong dtype, stride or pointer),
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_LIMIT, WCODEC_ERROR_UNSUPPORTED (a matrix of another dtype; on
 * a device no memory to decode to, or 2^32 rows or columns), WCODEC_ERROR_DEVICE. */
WCODEC_API wcodec_status wcodec_resident_linear(const wcodec_resident *resident, uint64_t i,
                                                const wcodec_linear *linear, wcodec_error *err);

/** Free all. NULL is ignored. No other call may be running on it. Never fails. */
WCODEC_API void wcodec_resident_destroy(wcodec_resident *resident);

#ifdef __cplusplus
}
#endif
#endif
