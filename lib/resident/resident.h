/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Resident tensors inside. A tensor's elements are *stored* once: plain, at a fixed rate, or as an
 * entry of a file whose payload begins at its memory's first byte. */
#ifndef WCODEC_RESIDENT_RESIDENT_H
#define WCODEC_RESIDENT_RESIDENT_H

#include "backends/cpu/fixed.h"
#include "core/arena.h"
#include "encode/encode.h"
#include "format/names.h"
#include "read/decode.h"
#include "registry/registry.h"
#include <pthread.h>
#include <wcodec/resident.h>

struct wcodec_resident_item {
    const char *name;
    struct wcodec_entry entry; /* of the elements, in memory of the resident object */
    unsigned rank;
    const uint64_t *shape;
    wcodec_dtype dtype;
    uint64_t alias_of; /* UINT64_MAX: none; then the following are the other's */
    wcodec_resident_form form;
    uint64_t held;
    uint8_t *bytes; /* PLAIN: elements; CODED, and FIXED from the file: the payload */
    struct {
        struct wcodec_fixed plan;
        const uint8_t *front, *tiles, *spilled;
        struct wcodec_coded coded; /* owns them where they are not in `bytes` */
    } fixed;                       /* FIXED */
    struct wcodec_memory *memory;  /* of a device: the elements, which are not in host memory */
    struct wcodec_kept *kept;      /* CODED, there */
    uint64_t columns;              /* then, in fragments; else 0 */
};

struct wcodec_resident {
    wcodec_context *context;
    struct wcodec_arena arena; /* names and shapes */
    struct wcodec_names names;
    uint64_t count;
    struct wcodec_resident_item *items;
    uint64_t size;
    struct wcodec_opened *device;  /* NULL: in host memory */
    struct wcodec_memory *outside; /* of a device: what its launches count (struct wcodec_rows) */
    uint32_t seen;                 /* of that, by wcodec_resident_check() */
    struct wcodec_memory *work;    /* of it, for products with what stays coded */
    struct wcodec_memory *decoded; /* likewise, for matrices that products decode */
    uint64_t decoded_size;
    struct wcodec_memory *library; /* what dense_work() of a backend asks for */
    pthread_mutex_t launches;      /* of these, and of their decoding, which take several each */
};

/* The item that has the elements of number i; WCODEC_ERROR_USAGE if there is no such number. */
wcodec_status wcodec_resident_item(const wcodec_resident *resident, uint64_t i,
                                   const struct wcodec_resident_item **named,
                                   const struct wcodec_resident_item **item, wcodec_error *err);

/* Bytes [*begin, *end) that rows of the first dimension are. WCODEC_ERROR_USAGE. */
wcodec_status wcodec_resident_rows(const struct wcodec_resident_item *named, uint64_t first,
                                   uint64_t count, uint64_t *begin, uint64_t *end,
                                   wcodec_error *err);

/* An item's elements, to be read in parts by one thread; those that are decoded are decoded by
 * all. */
struct wcodec_resident_elements {
    wcodec_context *context;
    const struct wcodec_resident_item *item;
    struct wcodec_source source;
    struct wcodec_decoder decoder; /* CODED */
};

/* held: bytes of memory that the caller holds beside what is resident, for the limit.
 * WCODEC_ERROR_MEMORY, _LIMIT; closed only if it succeeded. The structure must stay where it is. */
wcodec_status wcodec_resident_open(const wcodec_resident *resident,
                                   const struct wcodec_resident_item *item, uint64_t held,
                                   struct wcodec_resident_elements *elements, wcodec_error *err);
/* Bytes [begin, end). WCODEC_ERROR_MEMORY, _LIMIT. */
wcodec_status wcodec_resident_read(struct wcodec_resident_elements *elements, uint64_t begin,
                                   uint64_t end, uint8_t *dst, wcodec_error *err);
void wcodec_resident_close(struct wcodec_resident_elements *elements);

/* What tiles at a fixed rate are decoded from. */
struct wcodec_cpu_fixed_job wcodec_resident_fixed_job(const struct wcodec_resident_item *item,
                                                      const struct wcodec_cpu_fixed_dsp *dsp);

/* Free what an item has in host memory. */
void wcodec_resident_drop(struct wcodec_resident_item *item, const wcodec_allocator *allocator);

/* Memory of the context's device, whose backend must have this name; NULL: of the host.
 * WCODEC_ERROR_BACKEND, _DEVICE, _MEMORY, _UNSUPPORTED. */
wcodec_status wcodec_resident_on_device(wcodec_resident *resident, const char *memory,
                                        wcodec_error *err);

/* Copy an item that is plain or at a fixed rate there; its host memory stays. Unload: of any item.
 * WCODEC_ERROR_MEMORY, _DEVICE. */
wcodec_status wcodec_resident_upload(wcodec_resident *resident, struct wcodec_resident_item *item,
                                     wcodec_error *err);
void wcodec_resident_unload(const wcodec_resident *resident, struct wcodec_resident_item *item);

/* Has the device been lost? WCODEC_ERROR_DEVICE, _USAGE. */
wcodec_status wcodec_resident_alive(const wcodec_resident *resident, wcodec_error *err);

/* Where launches there count the indices that are no row's, zeros at first: its native memory. In
 * host memory nothing. WCODEC_ERROR_MEMORY, _DEVICE. */
wcodec_status wcodec_resident_count_outside(wcodec_resident *resident, wcodec_error *err);
uint64_t wcodec_resident_outside(const wcodec_resident *resident);
void wcodec_resident_forget_outside(wcodec_resident *resident);

/* A call of its device failed: wcodec_backends_failed(). */
wcodec_status wcodec_resident_failed(const wcodec_resident *resident, wcodec_status status,
                                     const wcodec_error *reason, wcodec_error *err);

/* A tensor that is to be there, described but without its elements, its size not 0. columns: of
 * the matrix that is to be coded at a fixed rate if that suits it; 0: it stays plain. */
struct wcodec_resident_wanted {
    uint64_t tensor; /* its number in the reader */
    struct wcodec_resident_item *item;
    uint64_t columns;
    const struct wcodec_shard *shard; /* that has its elements, and where they begin there */
    uint64_t payload_offset;
};

/* Load tensors to where they stay, in the order of the files, in which `wanted` is afterwards. The
 * device must be able to code. What is loaded is verified, and what is coded. On failure the caller
 * unloads all. WCODEC_ERROR_MEMORY, _IO, _CORRUPT, _NEWER, _CANCELLED, _DEVICE, ... */
wcodec_status wcodec_resident_load(const wcodec_reader *reader, wcodec_resident *resident,
                                   struct wcodec_resident_wanted *wanted, size_t count,
                                   struct wcodec_reporter *reporter, wcodec_error *err);

/* What tensors that stay coded become so with; all zero at first but for `resident`. */
struct wcodec_resident_keeper {
    wcodec_resident *resident;
    struct wcodec_queue *queue;
    struct wcodec_memory *scratch;
    uint64_t scratch_size;
};

/* Does the device decode such a tensor from its tiles? */
bool wcodec_resident_can_keep(const wcodec_resident *resident, const struct wcodec_entry *entry);

/* Bring one to the device's memory as it is coded. held: bytes of memory that the caller holds. On
 * failure the caller unloads it. WCODEC_ERROR_CORRUPT (as the device says), _MEMORY, _IO, _LIMIT,
 * _DEVICE, ... */
wcodec_status wcodec_resident_keep(struct wcodec_resident_keeper *keeper,
                                   const struct wcodec_source *source,
                                   const struct wcodec_entry *entry, uint64_t held,
                                   struct wcodec_resident_item *item, wcodec_error *err);
/* Memory for products with what was brought. WCODEC_ERROR_MEMORY, _DEVICE. */
wcodec_status wcodec_resident_make_work(wcodec_resident *resident, wcodec_error *err);
void wcodec_resident_keeper_end(struct wcodec_resident_keeper *keeper);

/* Memory for products that decode a matrix, `limit` bytes of it at a time where it can be divided.
 * 0: none. WCODEC_ERROR_MEMORY, _DEVICE. */
wcodec_status wcodec_resident_make_dense(wcodec_resident *resident, uint64_t limit,
                                         wcodec_error *err);
void wcodec_resident_drop_dense(wcodec_resident *resident);

/* The address of plain elements there, else 0. */
uint64_t wcodec_resident_native(const wcodec_resident *resident,
                                const struct wcodec_resident_item *item);

/* y = x W^T or y = x W there, all arguments checked as for host memory. WCODEC_ERROR_UNSUPPORTED,
 * _DEVICE. */
wcodec_status wcodec_resident_multiply(const wcodec_resident *resident,
                                       const struct wcodec_resident_item *named,
                                       const struct wcodec_resident_item *item,
                                       const wcodec_linear *linear, wcodec_error *err);

/* Any such product, with decoded elements. Likewise. */
wcodec_status wcodec_resident_multiply_dense(const wcodec_resident *resident,
                                             const struct wcodec_resident_item *named,
                                             const struct wcodec_resident_item *item,
                                             const wcodec_linear *linear, wcodec_error *err);

/* Put the tensor's name in front of an error. */
void wcodec_resident_prefix(const struct wcodec_resident_item *named, wcodec_error *err);

#endif
