/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the files of this plugin share. */
#ifndef WCODEC_CUDA_CUDA_H
#define WCODEC_CUDA_CUDA_H

#include "backends/gpu/encode.h"
#include "backends/gpu/encode_tiles.h"
#include "backends/gpu/delta.h"
#include "backends/gpu/dense.h"
#include "backends/gpu/measure.h"
#include "backends/gpu/kept_product.h"
#include "backends/gpu/kept_rows.h"
#include "backends/gpu/launches.h"
#include "backends/gpu/product_wide.h"
#include "backends/gpu/rollout.h"
#include "backends/gpu/search.h"
#include "backends/gpu/vectors.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/image.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a batch works with: device memory for its descriptors, and pinned host memory from which
 * they are copied and to which faults come back. */
struct wcodec_cuda_slab {
    struct wcodec_cuda_slab *next;
    cu_pointer memory;
    uint8_t *host;
    cu_pointer host_address; /* as the device sees it */
    uint64_t size;           /* of both */
};

/* Device memory for residuals; size 0: none. */
struct wcodec_cuda_scratch {
    cu_pointer memory;
    uint64_t size;
};

/* Slabs of ended batches, for the next ones: a batch takes longer to allocate than to decode. */
struct wcodec_cuda_pool {
    pthread_mutex_t lock;
    struct wcodec_cuda_slab *free;
    uint64_t size; /* of those that are free */
    struct wcodec_cuda_scratch scratch;
};

struct wcodec_backend_state {
    const struct wcodec_host *host;
    struct wcodec_cuda_driver driver;
    int version; /* of the driver: 1000 * major + 10 * minor */
    unsigned devices;
};

/* How long a device is waited for. One that was longer is not called any more: what is asked of its
 * context would wait for it as well. What it has is not freed then, since it may still write there.
 */
struct wcodec_cuda_patience {
    uint64_t seconds; /* 0: for ever */
    atomic_bool is_over;
};

struct wcodec_device {
    struct wcodec_backend_state *state;
    struct wcodec_cuda_patience *patience;
    const struct wcodec_host *host;
    const struct wcodec_cuda_driver *cu;
    cu_device number;
    cu_context context;
    cu_module module;
    struct wcodec_gpu_limits limits;
    uint64_t there; /* bit k: kernel k is */
    cu_function functions[WCODEC_KERNELS];
    cu_function products[WCODEC_PRODUCTS + WCODEC_ROWS_KERNELS];
    cu_function encoders[WCODEC_ENCODERS];
    cu_function coded_products[WCODEC_CODED_PRODUCTS];
    cu_function coded_rows[WCODEC_CODED_ROWS_KERNELS];
    cu_function tile_encoders[WCODEC_TILE_ENCODERS];
    cu_function measures[WCODEC_MEASURES];
    cu_function deltas[WCODEC_DELTA_KERNELS];
    cu_function dense[WCODEC_DENSE_KERNELS];
    cu_function rollouts[WCODEC_ROLLOUT_KINDS][WCODEC_RECURRENCE_FORMS];
    cu_function groups[WCODEC_GROUPS_MOST + 1]; /* of so many parts; NULL: there is none */
    cu_function vectors[WCODEC_VECTORS_KERNELS];
    cu_function searches[WCODEC_SEARCH_KERNELS];
    cu_function wide[WCODEC_WIDE_KERNELS];
    struct wcodec_cuda_blas blas;
    bool clusters;     /* of work-groups */
    bool cooperative;  /* launches whose work-groups run at once */
    bool tensor_cores; /* that take BF16 */
    bool early_launches;
    uint32_t transposed_clusters[WCODEC_TRANSPOSED_CLUSTER + 1]; /* as in wcodec_gpu_product_limits;
                                                                    0: none */
    bool wide_products;                                          /* the kernels of them are there */
    struct wcodec_gpu_wide_limits wide_limits;
    struct wcodec_cuda_pool pool;
};

struct wcodec_memory {
    struct wcodec_device *device;
    cu_pointer address;
    void *pointer; /* PINNED */
    size_t mapped; /* bytes of it, if it is memory of our own that was registered */
    bool adopted;
};

struct wcodec_queue {
    struct wcodec_device *device;
    cu_stream stream;
    bool adopted;
    bool timed; /* its events have times */
};

struct wcodec_event {
    struct wcodec_device *device;
    cu_event event;
};

/* Record a failed call: "cuMemAlloc: CUDA_ERROR_..., text". */
wcodec_status wcodec_cuda_fail(const struct wcodec_device *device, cu_result result,
                               const char *call, wcodec_error *err);

/* Make the device's context the thread's. leave() puts the caller's back, and records a `call` that
 * failed meanwhile. */
wcodec_status wcodec_cuda_enter(const struct wcodec_device *device, wcodec_error *err);
wcodec_status wcodec_cuda_leave(const struct wcodec_device *device, cu_result result,
                                const char *call, wcodec_error *err);

/* Wait for a stream, or for an event of one, as long as there is patience: patience.c. */
wcodec_status wcodec_cuda_patience_create(struct wcodec_device *device, wcodec_error *err);
cu_result wcodec_cuda_wait(const struct wcodec_device *device, cu_stream stream);
cu_result wcodec_cuda_wait_event(const struct wcodec_device *device, cu_event event);

/* Copies to other devices: peers.c. */
extern const struct wcodec_backend_peers wcodec_cuda_peers;

/* Times and native handles: transfer.c. */
wcodec_status wcodec_cuda_queue_create_timed(struct wcodec_device *device,
                                             struct wcodec_queue **queue, wcodec_error *err);
wcodec_status wcodec_cuda_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                        uint64_t *nanoseconds, wcodec_error *err);
void wcodec_cuda_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number);

/* PINNED memory: pinned.c. Called with the device's context current. */
cu_result wcodec_cuda_pinned_allocate(const struct wcodec_device *device, size_t size,
                                      struct wcodec_memory *memory);
void wcodec_cuda_pinned_free(const struct wcodec_device *device, struct wcodec_memory *memory);

/* The kernels wcodec_PREFIXNAME. */
cu_result wcodec_cuda_find(const struct wcodec_device *device, const char *prefix,
                           const char *const *names, unsigned count, cu_function *functions);

/* Products: product.c. */
cu_result wcodec_cuda_find_products(struct wcodec_device *device);
extern const struct wcodec_backend_products wcodec_cuda_products;

/* A launch on the caller's stream failed: what is wrong with the stream is no failure of the
 * device. */
wcodec_status wcodec_cuda_launch_failed(const struct wcodec_device *device, cu_result result,
                                        wcodec_error *err);

/* On the caller's stream; early: may it begin while the launch before it ends? */
cu_result wcodec_cuda_launch(const struct wcodec_device *device, cu_function function,
                             uint32_t groups, uint32_t threads, uint32_t shared, uint64_t stream,
                             bool early, void *argument);

/* What makes a launch one of clusters of so many work-groups. */
struct cu_launch_attribute wcodec_cuda_cluster_of(uint32_t size);

/* The same by clusters of so many work-groups, where the device has them; it may begin early. And
 * how many such clusters run at a time; 0: none. */
cu_result wcodec_cuda_launch_clusters(const struct wcodec_device *device, cu_function function,
                                      uint32_t cluster, uint32_t groups, uint32_t threads,
                                      uint32_t shared, uint64_t stream, void *argument);
uint32_t wcodec_cuda_clusters(const struct wcodec_device *device, cu_function function,
                              uint32_t size, uint32_t threads, uint32_t shared);

/* Products of many vectors: wide.c. Are they for this one? Then all vectors of it. The device's
 * context is current. */
cu_result wcodec_cuda_find_wide(struct wcodec_device *device);
/* Unless WCODEC_CUDA_WARPGROUPS is 0. */
bool wcodec_cuda_may_use_warpgroups(const struct wcodec_device *device);
uint64_t wcodec_cuda_wide_room(struct wcodec_device *device, const struct wcodec_fixed *fixed,
                               uint64_t vectors);
bool wcodec_cuda_takes_wide(const struct wcodec_device *device,
                            const struct wcodec_product *product);
cu_result wcodec_cuda_multiply_wide(const struct wcodec_device *device, uint64_t stream,
                                    const struct wcodec_product *product);

/* Products with decoded elements: dense.c. */
cu_result wcodec_cuda_find_dense(struct wcodec_device *device);
uint64_t wcodec_cuda_dense_work(struct wcodec_device *device);
wcodec_status wcodec_cuda_multiply_dense(struct wcodec_device *device, uint64_t queue,
                                         const struct wcodec_dense_product *product,
                                         wcodec_error *err);

/* Tensors that stay coded: kept.c. */
cu_result wcodec_cuda_find_coded_products(struct wcodec_device *device);
wcodec_status wcodec_cuda_kept_gather(struct wcodec_device *device, uint64_t queue,
                                      const struct wcodec_rows *rows, wcodec_error *err);
uint64_t wcodec_cuda_kept_unit(const struct wcodec_kept *kept);
uint64_t wcodec_cuda_kept_work(const struct wcodec_kept *kept);
wcodec_status wcodec_cuda_kept_multiply(struct wcodec_device *device, uint64_t queue,
                                        const struct wcodec_product *product, wcodec_error *err);
wcodec_status wcodec_cuda_keep(struct wcodec_queue *queue, const struct wcodec_job *job,
                               struct wcodec_memory *scratch, struct wcodec_job_result *result,
                               struct wcodec_kept **kept, wcodec_error *err);
uint64_t wcodec_cuda_kept_size(const struct wcodec_kept *kept);
wcodec_status wcodec_cuda_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                      uint64_t end, uint64_t out, wcodec_error *err);
void wcodec_cuda_kept_free(struct wcodec_kept *kept);

/* What it consists of that codes: encode.c. */
cu_result wcodec_cuda_find_encoders(struct wcodec_device *device);
wcodec_status wcodec_cuda_measure(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                                  wcodec_error *err);
wcodec_status wcodec_cuda_code(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                               wcodec_error *err);

/* Tensors in tiles are coded: encode_tiles.c. */
cu_result wcodec_cuda_find_tile_encoders(struct wcodec_device *device);
cu_result wcodec_cuda_find_deltas(struct wcodec_device *device);
extern const struct wcodec_backend_deltas wcodec_cuda_deltas;
extern const struct wcodec_backend_encoders wcodec_cuda_encoders;

/* Rollouts: rollout.c. */
cu_result wcodec_cuda_find_rollouts(struct wcodec_device *device);
extern const struct wcodec_backend_rollouts wcodec_cuda_rollouts;

/* Anchors of vectors: vectors.c. */
cu_result wcodec_cuda_find_vectors(struct wcodec_device *device);
extern const struct wcodec_backend_vectors wcodec_cuda_vectors;

/* Search in coded vectors: search.c. */
cu_result wcodec_cuda_find_searches(struct wcodec_device *device);
extern const struct wcodec_backend_searches wcodec_cuda_searches;

extern const struct wcodec_backend wcodec_backend_cuda;

/* Bytes behind every allocation that kernels may read: the last word copies are of 16 bytes. */
enum { WCODEC_CUDA_SLACK = 256 };

/* Slabs of `size` bytes and more; called with the device's context current. */
wcodec_status wcodec_cuda_slab_take(struct wcodec_device *device, uint64_t size,
                                    struct wcodec_cuda_slab **slab, wcodec_error *err);
void wcodec_cuda_slab_give(struct wcodec_device *device, struct wcodec_cuda_slab *slab);
void wcodec_cuda_slabs_free(struct wcodec_device *device);

/* Scratch memory of `size` bytes and more; none for 0. Likewise. */
wcodec_status wcodec_cuda_scratch_take(struct wcodec_device *device, uint64_t size,
                                       struct wcodec_cuda_scratch *scratch, wcodec_error *err);
void wcodec_cuda_scratch_give(struct wcodec_device *device, struct wcodec_cuda_scratch *scratch);
void wcodec_cuda_scratch_free(struct wcodec_device *device);

wcodec_status wcodec_cuda_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                       size_t count, struct wcodec_batch **batch,
                                       wcodec_error *err);
wcodec_status wcodec_cuda_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                       wcodec_error *err);
wcodec_status wcodec_cuda_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                        struct wcodec_job_result *results, wcodec_error *err);
void wcodec_cuda_batch_destroy(struct wcodec_batch *batch);

/* The kernels: image.h. */
extern const unsigned char wcodec_cuda_fatbin[] __attribute__((visibility("hidden")));

#endif
