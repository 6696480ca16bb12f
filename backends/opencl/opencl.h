/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the files of this plugin share. */
#ifndef WCODEC_OPENCL_OPENCL_H
#define WCODEC_OPENCL_OPENCL_H

#include "backends/gpu/delta.h"
#include "backends/gpu/encode_tiles.h"
#include "backends/gpu/launches.h"
#include "backends/gpu/measure.h"
#include "backends/gpu/dense.h"
#include "backends/gpu/kept_product.h"
#include "backends/gpu/kept_rows.h"
#include "backends/gpu/product.h"
#include "backends/gpu/rollout.h"
#include "backends/gpu/search.h"
#include "backends/gpu/vectors.h"
#include "backends/opencl/driver.h"

#include <pthread.h>

enum { WCODEC_OPENCL_DEVICES_MAX = 64 };

struct wcodec_opencl_id {
    cl_platform_id platform;
    cl_device_id device;
    cl_device_type type;
};

struct wcodec_backend_state {
    const struct wcodec_host *host;
    struct wcodec_opencl_driver driver;
    unsigned count;
    struct wcodec_opencl_id ids[WCODEC_OPENCL_DEVICES_MAX]; /* GPUs first, CPUs last */
};

/* How the 32 lanes of a tile run: backends/kernels/dialect.h. */
enum wcodec_opencl_variant {
    WCODEC_VARIANT_LOOPS,
    WCODEC_VARIANT_LOCAL,
    WCODEC_VARIANT_SUBGROUP,
    WCODEC_VARIANT_NVIDIA,
    WCODEC_VARIANTS
};

/* The program of one kernel. Made when it is needed first. */
struct wcodec_opencl_program {
    cl_program program;
    bool tried;
    unsigned items; /* of a work-group */
    unsigned tiles; /* of a work-group */
    unsigned buffers;
    unsigned groups; /* that run at a time on a unit */
};

/* Kernels of products.def, as product.cl numbers them: by NVIDIA's tensor cores, or by plain
 * work-items. */
enum wcodec_opencl_product_kind {
    WCODEC_OPENCL_PRODUCT = 1,
    WCODEC_OPENCL_ROWS = 2,
    WCODEC_OPENCL_GATHER = 3,
    WCODEC_OPENCL_PLAIN_PRODUCT = 4,
    WCODEC_OPENCL_PLAIN_ROWS = 5,
    WCODEC_OPENCL_DENSE = 6
};

/* The program of one. Plain ones are in the places of the first rows of their bits. */
struct wcodec_opencl_product {
    struct wcodec_opencl_program program;
    cl_kernel kernel; /* set and launched under the device's lock */
};

/* Kernels that coders are: of tile_encoders.def, of measures.def, of enum wcodec_delta_kernel. */
enum {
    WCODEC_OPENCL_MEASURING = WCODEC_TILE_ENCODERS,
    WCODEC_OPENCL_DELTAS = WCODEC_OPENCL_MEASURING + WCODEC_MEASURES,
    WCODEC_OPENCL_CODERS = WCODEC_OPENCL_DELTAS + WCODEC_DELTA_KERNELS
};

/* Each thread that launches has a kernel of its own for as long as that takes: arguments are set
 * outside the device's lock. */
enum { WCODEC_OPENCL_CODER_KERNELS = 64 };
struct wcodec_opencl_coder {
    struct wcodec_opencl_program program;
    cl_kernel kernels[WCODEC_OPENCL_CODER_KERNELS]; /* that nobody has */
    unsigned kernel_count;
};

/* Kernels in one program, of vectors.def or of search.def: set and launched under the device's
 * lock. */
enum { WCODEC_OPENCL_SET_KERNELS = 32 };
_Static_assert((unsigned)WCODEC_VECTORS_KERNELS <= (unsigned)WCODEC_OPENCL_SET_KERNELS,
               "a set has room for all");
_Static_assert((unsigned)WCODEC_SEARCH_KERNELS <= (unsigned)WCODEC_OPENCL_SET_KERNELS,
               "a set has room for all");

struct wcodec_opencl_kernel_set {
    struct wcodec_opencl_program program;
    cl_kernel kernels[WCODEC_OPENCL_SET_KERNELS];
    bool failed; /* does not compile: not tried again */
};

/* NVIDIA's driver takes half a microsecond for each buffer that a launch has: so there are kernels
 * for two, as one tensor has, for 8, for 72, and for as many as the device lets a kernel have;
 * and latency kernels for two. Elsewhere there is one. */
enum wcodec_opencl_form {
    WCODEC_OPENCL_FORM_2,
    WCODEC_OPENCL_FORM_8,
    WCODEC_OPENCL_FORM_72,
    WCODEC_OPENCL_FORM_MOST,
    WCODEC_OPENCL_FORMS
};
enum { WCODEC_OPENCL_BUFFERS_2 = 2, WCODEC_OPENCL_BUFFERS_8 = 8, WCODEC_OPENCL_BUFFERS_72 = 72 };

enum { WCODEC_OPENCL_LATENCY_GROUPS = 4 }; /* of latency kernels, at a time on a unit at most */

/* Forms of rollouts, of backends/gpu/rollout.h. */
enum { WCODEC_OPENCL_ROLLOUTS = 11 };

/* What a batch has of the device: kept for the next one. */
struct wcodec_opencl_buffers {
    cl_mem block; /* descriptors, and a fault for each tile */
    size_t size;
    /* A word each in the host's memory, which kernels write the decoding's serial number to if a
     * tile fails. Kernels must not write to what is mapped: while one of them is, the next decoding
     * has the other. */
    cl_mem flags[2];
    unsigned turn;          /* that of the next decoding */
    volatile cl_uint *word; /* the other one mapped; NULL: it is not */
    bool asked;             /* for the word of the last decoding */
    uint32_t serial;        /* of the last decoding */
};

enum { WCODEC_OPENCL_BUFFERS_KEPT = 8 };

struct wcodec_device {
    struct wcodec_backend_state *state;
    const struct wcodec_host *host;
    const struct wcodec_opencl_driver *cl;
    const struct wcodec_opencl_id *id;
    cl_context context;
    cl_command_queue queue; /* for mapping pinned memory only */
    enum wcodec_opencl_variant variant;
    uint64_t memory;       /* bytes */
    uint64_t local_memory; /* bytes of a work-group */
    unsigned capability;   /* NVIDIA: 10 * major + minor */
    unsigned buffers;      /* buffers of one launch at most */
    unsigned units;        /* that run work-groups at a time */
    unsigned launch_tiles; /* of one launch at most */
    unsigned
        rollout_parts; /* of each member, on any device, for tests; 0: as many as run at once */
    bool alone; /* one launch of the process at a time, and each is waited for (also in a caller's
                   queue): its driver fails else */
    cl_mem(CL_API_CALL *create_nv)(cl_context, cl_mem_flags, cl_bitfield, size_t, void *,
                                   cl_int *); /* clCreateBufferNV; NULL if there is none */
    bool gated; /* what gives work goes to the driver one call at a time: gate.c */
    pthread_mutex_t gate;
    pthread_mutex_t lock; /* of what follows */
    struct wcodec_opencl_program programs[WCODEC_KERNELS][WCODEC_OPENCL_FORMS];
    struct wcodec_opencl_product products[WCODEC_PRODUCTS];
    struct wcodec_opencl_product rows[WCODEC_ROWS_KERNELS];
    struct wcodec_opencl_product rollouts[2][WCODEC_OPENCL_ROLLOUTS]; /* of ensembles, of units */
    bool rollouts_failed[2];        /* one does not compile: not tried again */
    cl_command_queue rollout_meets; /* with the last launch whose work-groups wait for each other */
    struct wcodec_opencl_kernel_set vectors;
    struct wcodec_opencl_kernel_set search;
    struct wcodec_opencl_product dense[2];  /* y = x W^T, y = x W */
    bool plain_products;                    /* by work-items without tensor cores */
    cl_kernel kept_kernels[WCODEC_KERNELS]; /* set and launched under the lock */
    struct wcodec_opencl_product coded[WCODEC_CODED_PRODUCTS];
    struct wcodec_opencl_product coded_rows[WCODEC_CODED_ROWS_KERNELS];
    bool coded_failed; /* one of them does not compile: not tried again */
    struct wcodec_opencl_coder coders[WCODEC_OPENCL_CODERS];
    bool coders_failed; /* one of them does not compile: none is used any more */
    struct wcodec_opencl_buffers kept[WCODEC_OPENCL_BUFFERS_KEPT];
    unsigned kept_count;
};

struct wcodec_memory {
    struct wcodec_device *device;
    cl_mem buffer;
    void *map;     /* PINNED: where it is mapped */
    void *pointer; /* within, aligned */
    bool adopted;
    uint32_t number; /* of those of a launch: in a batch's own copies */
};

struct wcodec_queue {
    struct wcodec_device *device;
    cl_command_queue queue; /* commands go to wcodec_opencl_use() */
    bool adopted;
    bool idle; /* waited for, and given nothing since */
};

/* The driver's queue, for a command. */
static inline cl_command_queue wcodec_opencl_use(struct wcodec_queue *q)
{
    q->idle = false;
    return q->queue;
}

struct wcodec_event {
    struct wcodec_device *device;
    cl_event event;
};

/* Record a failed call: "clCreateBuffer: OUT_OF_HOST_MEMORY". */
wcodec_status wcodec_opencl_fail(const struct wcodec_device *device, cl_int result,
                                 const char *call, wcodec_error *err);

/* Likewise of clCreateBuffer: drivers say that memory is too little in two ways. */
wcodec_status wcodec_opencl_no_buffer(const struct wcodec_device *device, cl_int result,
                                      wcodec_error *err);

/* Zeroed memory of the host's allocator. */
void *wcodec_opencl_allocate(const struct wcodec_host *host, size_t size);
void wcodec_opencl_release(const struct wcodec_host *host, void *memory);

/* Short calls of a gated device's driver, one at a time: gate.c. */
void wcodec_opencl_enter(struct wcodec_device *device);
void wcodec_opencl_leave(struct wcodec_device *device);
/* Take a lock that is held for microseconds at most, by trying first. */
void wcodec_opencl_lock(pthread_mutex_t *lock);
/* Wait until a queue has ended. *call: the driver's function that failed, if one did. */
cl_int wcodec_opencl_finish(const struct wcodec_queue *queue, const char **call);

/* Devices: device.c. */
wcodec_status wcodec_opencl_open(const struct wcodec_host *host,
                                 struct wcodec_backend_state **state, wcodec_error *err);
void wcodec_opencl_close(struct wcodec_backend_state *state);
unsigned wcodec_opencl_device_count(struct wcodec_backend_state *state);
void wcodec_opencl_device_list(struct wcodec_backend_state *state, unsigned i,
                               struct wcodec_device_listing *listing);
wcodec_status wcodec_opencl_device_open(struct wcodec_backend_state *state, unsigned i,
                                        struct wcodec_device **device, wcodec_error *err);
void wcodec_opencl_device_close(struct wcodec_device *device);

/* Has the device an extension? */
bool wcodec_opencl_has(const struct wcodec_device *device, const char *extension);

/* Choose how lanes run, and build the general kernel: program.c. */
wcodec_status wcodec_opencl_program_open(struct wcodec_device *device, wcodec_error *err);
void wcodec_opencl_program_close(struct wcodec_device *device);
/* Build a program of p->items and p->buffers with further options; on failure the compiler's words
 * are in the error text. */
wcodec_status wcodec_opencl_program_build(const struct wcodec_device *device,
                                          enum wcodec_opencl_variant variant, const char *more,
                                          struct wcodec_opencl_program *p, wcodec_error *err);

/* Items of a work-group of kernels that take any number: fewer where the device has not so many, or
 * is a processor. */
unsigned wcodec_opencl_items(const struct wcodec_device *d, unsigned wanted);
/* Local memory that a work-group of so many work-items may have, besides pointers to buffers. */
uint32_t wcodec_opencl_local_memory(const struct wcodec_device *device, unsigned buffers,
                                    unsigned items);

/* The size of sub-groups of a program's kernel in work-groups of `items`; 0 if the driver does not
 * tell. */
size_t wcodec_opencl_sub_group_size(const struct wcodec_device *device, cl_program program,
                                    const char *name, size_t items);

/* Does the compiler take long kernels with votes? Processors' need minutes for barriers, or make of
 * sub-groups single work-items; there these variants are for tests alone (WCODEC_OPENCL_FAST is 1
 * or 0 there: whether they have such kernels). */
bool wcodec_opencl_takes_long_kernels(const struct wcodec_device *device);

/* The program of a kernel; NULL, and why in the log, where the device cannot have it. */
const struct wcodec_opencl_program *wcodec_opencl_program_get(struct wcodec_device *device,
                                                              unsigned kernel,
                                                              enum wcodec_opencl_form form);
/* Build a kernel of product_coded.cl, which `define` says, for what kernel `decoder` decodes. */
wcodec_status wcodec_opencl_coded_build(const struct wcodec_device *device, unsigned decoder,
                                        const char *define, struct wcodec_opencl_program *p,
                                        wcodec_error *err);
/* Let launches be planned with it: false if there is none. */
bool wcodec_opencl_find_kernel(struct wcodec_device *device, unsigned kernel,
                               enum wcodec_opencl_form form, struct wcodec_gpu_limits *limits);

/* Buffers for a batch: buffers.c. */
wcodec_status wcodec_opencl_buffers_take(struct wcodec_device *device, uint64_t size,
                                         struct wcodec_opencl_buffers *buffers, wcodec_error *err);
/* Map the word of the last decoding; it is there when the queue has ended. */
wcodec_status wcodec_opencl_buffers_map_flag(struct wcodec_queue *queue,
                                             struct wcodec_opencl_buffers *buffers,
                                             wcodec_error *err);
void wcodec_opencl_buffers_give(struct wcodec_device *device,
                                struct wcodec_opencl_buffers *buffers);
void wcodec_opencl_buffers_close(struct wcodec_device *device);

/* Times and native handles: transfer.c. */
wcodec_status wcodec_opencl_queue_create_timed(struct wcodec_device *device,
                                               struct wcodec_queue **queue, wcodec_error *err);
wcodec_status wcodec_opencl_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                          uint64_t *nanoseconds, wcodec_error *err);
void wcodec_opencl_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number);

/* Arguments of the kernels of kernels.def, in their order. */
enum {
    WCODEC_OPENCL_ARG_BLOCK,
    WCODEC_OPENCL_ARG_FLAG,
    WCODEC_OPENCL_ARG_LAUNCH,
    WCODEC_OPENCL_ARG_SHARED,
    WCODEC_OPENCL_ARG_BUFFERS
};

/* What stands for an address: the buffer's number, above the offset. */
uint64_t wcodec_opencl_address(const struct wcodec_memory *memory);
/* The kernels that these tensors want and the device has: bits, as wcodec_gpu_plan_measure() takes
 * them. */
uint64_t wcodec_opencl_find_kernels(struct wcodec_device *device, const struct wcodec_job *jobs,
                                    size_t count, enum wcodec_opencl_form form,
                                    struct wcodec_gpu_limits *limits);
/* The kernels of units, which all tensors of a plan that is measured may need. */
wcodec_status wcodec_opencl_find_units(struct wcodec_device *device,
                                       const struct wcodec_gpu_plan *plan,
                                       enum wcodec_opencl_form form,
                                       struct wcodec_gpu_limits *limits, wcodec_error *err);

/* Batches: batch.c. */
wcodec_status wcodec_opencl_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                         size_t count, struct wcodec_batch **batch,
                                         wcodec_error *err);
wcodec_status wcodec_opencl_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                         wcodec_error *err);
wcodec_status wcodec_opencl_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                          struct wcodec_job_result *results, wcodec_error *err);
void wcodec_opencl_batch_destroy(struct wcodec_batch *batch);
/* Launch a kernel whose arguments are set, as the device bears it. *call: the driver's function
 * that failed, if one did. */
cl_int wcodec_opencl_enqueue(const struct wcodec_device *device, cl_command_queue queue,
                             cl_kernel kernel, size_t groups, size_t items, cl_event *event,
                             const char **call);

/* Is native memory a buffer, or a queue, of the device's context? Then its size, or properties. */
bool wcodec_opencl_owns_buffer(const struct wcodec_device *device, uint64_t native, size_t *size);
bool wcodec_opencl_owns_queue(const struct wcodec_device *device, uint64_t native,
                              cl_command_queue_properties *properties);

/* Products: product.c. */
extern const struct wcodec_backend_products wcodec_opencl_products;
bool wcodec_opencl_by_tensor_cores(const struct wcodec_device *device);
/* Queue and operands of a product with a matrix of that shape. WCODEC_ERROR_USAGE. */
wcodec_status wcodec_opencl_check_product(const struct wcodec_device *device, uint64_t queue,
                                          const struct wcodec_product *product, uint64_t rows,
                                          uint64_t columns, wcodec_error *err);
void wcodec_opencl_products_close(struct wcodec_device *device);
/* The kernel of a program that was built; what cannot have one is closed. Under the device's lock,
 * but when the device is closed. */
wcodec_status wcodec_opencl_product_open(const struct wcodec_device *device, const char *name,
                                         struct wcodec_opencl_product *product, wcodec_error *err);
void wcodec_opencl_product_close(const struct wcodec_device *device,
                                 struct wcodec_opencl_product *product);
/* Is native memory a buffer of the device's, of so many bytes at least? Is a native queue one of
 * the device's, in order? WCODEC_ERROR_USAGE. */
wcodec_status wcodec_opencl_check_buffer(const struct wcodec_device *device, const char *what,
                                         uint64_t native, uint64_t bytes, wcodec_error *err);
wcodec_status wcodec_opencl_check_queue(const struct wcodec_device *device, uint64_t native,
                                        wcodec_error *err);
/* A launch on such a queue failed: what is wrong with the queue is no failure of the device. */
wcodec_status wcodec_opencl_launch_failed(const struct wcodec_device *device, cl_int result,
                                          const char *call, wcodec_error *err);

/* Tensors that stay coded, as struct wcodec_backend_products has them: kept.c. */
wcodec_status wcodec_opencl_keep(struct wcodec_queue *queue, const struct wcodec_job *job,
                                 struct wcodec_memory *scratch, struct wcodec_job_result *result,
                                 struct wcodec_kept **kept, wcodec_error *err);
uint64_t wcodec_opencl_kept_size(const struct wcodec_kept *kept);
wcodec_status wcodec_opencl_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                        uint64_t end, uint64_t out, wcodec_error *err);
uint64_t wcodec_opencl_kept_unit(const struct wcodec_kept *kept);
uint64_t wcodec_opencl_kept_work(const struct wcodec_kept *kept);
wcodec_status wcodec_opencl_kept_multiply(struct wcodec_device *device, uint64_t queue,
                                          const struct wcodec_product *product, wcodec_error *err);
wcodec_status wcodec_opencl_kept_gather(struct wcodec_device *device, uint64_t queue,
                                        const struct wcodec_rows *rows, wcodec_error *err);
void wcodec_opencl_kept_free(struct wcodec_kept *kept);
void wcodec_opencl_kept_close(struct wcodec_device *device);

/* Coding in tiles: encode_tiles.c. */
extern const struct wcodec_backend_encoders wcodec_opencl_encoders;
void wcodec_opencl_encoders_close(struct wcodec_device *device);

/* What that has in common with deltas, delta.c: programs of coder.cl, one a kernel, made when it is
 * needed first. */
enum { WCODEC_OPENCL_CODER_BUFFERS = 3 + WCODEC_AREAS };

/* Buffers, then what the launch is given, then its local memory. */
struct wcodec_opencl_coder_launch {
    unsigned kernel;
    const void *arguments;
    size_t arguments_size;
    uint32_t groups, threads, shared;
    cl_mem buffers[WCODEC_OPENCL_CODER_BUFFERS];
    unsigned buffer_count;
};

/* Can it, as far as is known? */
bool wcodec_opencl_has_coders(struct wcodec_device *device);
/* Warps of a work-group. */
unsigned wcodec_opencl_coder_warps(const struct wcodec_device *device, unsigned kernel);
wcodec_status wcodec_opencl_coder_enqueue(struct wcodec_queue *queue,
                                          const struct wcodec_opencl_coder_launch *launch,
                                          wcodec_error *err);
wcodec_status wcodec_opencl_coders_flush(const struct wcodec_queue *queue, wcodec_error *err);

extern const struct wcodec_backend_deltas wcodec_opencl_deltas;

/* Rollouts: rollout.c. */
extern const struct wcodec_backend_rollouts wcodec_opencl_rollouts;
void wcodec_opencl_rollouts_open(struct wcodec_device *device);
void wcodec_opencl_rollouts_close(struct wcodec_device *device);

/* Sets of kernels: kernel_set.c. They are named wcodec_SET_KERNEL. */
struct wcodec_opencl_kernel_names {
    const char *set;
    const char *define; /* with which the source has them */
    const char *const *kernels;
    unsigned count;
    unsigned items;     /* of a work-group */
    unsigned registers; /* that an item has at most, by NVIDIA's compiler */
};

struct wcodec_opencl_set_launch {
    cl_kernel kernel;
    cl_mem buffers[3];
    const void *arguments;
    size_t arguments_size;
    uint32_t shared; /* bytes of local memory */
    uint32_t groups, threads;
};

/* Make the set, if it is not there. WCODEC_ERROR_UNSUPPORTED: the device's compiler does not take
 * it. The device's lock is held, as for the others. */
wcodec_status wcodec_opencl_set_find(struct wcodec_device *device,
                                     const struct wcodec_opencl_kernel_names *names,
                                     struct wcodec_opencl_kernel_set *set, wcodec_error *err);
void wcodec_opencl_set_close(struct wcodec_device *device, struct wcodec_opencl_kernel_set *set);
wcodec_status wcodec_opencl_set_enqueue(struct wcodec_queue *queue,
                                        const struct wcodec_opencl_set_launch *launch,
                                        wcodec_error *err);

/* Anchors of vectors: vectors.c. */
extern const struct wcodec_backend_vectors wcodec_opencl_vectors_backend;
/* Are numbers as the CPU has them, small ones too, and binary64? */
bool wcodec_opencl_computes_alike(const struct wcodec_device *device);

/* Search in coded vectors: search.c. */
extern const struct wcodec_backend_searches wcodec_opencl_searches_backend;

/* The kernels' source, joined at build time. */
extern const char wcodec_opencl_source[];
extern const size_t wcodec_opencl_source_size;

#endif
