/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products of many vectors by cuBLASLt, whose matrices are column by column: W is there k x n, x
 * and y have vectors as columns. Sums are binary32 to their end, in an order that does not change
 * from run to run. */
#include "backends/cuda/blas.h"
#include "backends/gpu/dense.h"

#include <dlfcn.h>
#include <string.h>

enum {
    CUDA_R_32F = 0,
    CUDA_R_16F = 2,
    CUDA_R_16BF = 14,
    CUBLAS_COMPUTE_32F = 68,
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLAS_OP_T = 1,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
    CUBLAS_NOT_SUPPORTED = 15,
    ALIGNMENT = 256 /* the most that is told */
};

static bool load(struct wcodec_cuda_blas *b)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    void *library = NULL;
    for (unsigned i = 0; i < sizeof names / sizeof *names && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define X(name, symbol, parameters) \
    { \
        void *found = dlsym(library, symbol); \
        if (found == NULL) \
            return false; \
        memcpy(&b->name, &found, sizeof found); \
    }
    WCODEC_CUDA_BLAS_FUNCTIONS(X)
#undef X
    return true;
}

bool wcodec_cuda_blas_open(struct wcodec_cuda_blas *b, const struct wcodec_host *host)
{
    const char *wanted = host->setting(host->opaque, "WCODEC_CUDA_BLAS");
    pthread_mutex_lock(&b->lock);
    if (!b->tried && (wanted == NULL || strcmp(wanted, "0") != 0)) {
        if (!load(b) || b->create(&b->handle) != 0) {
            b->handle = NULL;
            host->log(host->opaque, WCODEC_LOG_INFO,
                      "CUDA: cuBLASLt is not there: products of many vectors by kernels of ours");
        }
    }
    b->tried = true;
    const bool there = b->handle != NULL;
    pthread_mutex_unlock(&b->lock);
    return there;
}

void wcodec_cuda_blas_close(struct wcodec_cuda_blas *b)
{
    if (b->handle != NULL)
        b->destroy(b->handle);
    b->handle = NULL;
}

static int type_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16  ? CUDA_R_16BF
           : dtype == WCODEC_DTYPE_F16 ? CUDA_R_16F
                                       : CUDA_R_32F;
}

bool wcodec_cuda_blas_takes(const struct wcodec_dense_product *p)
{
    return p->work != NULL && p->scales == 0 && p->rows != 0 && p->columns != 0 &&
           p->x_dtype == p->dtype && (p->y_dtype == p->dtype || p->y_dtype == WCODEC_DTYPE_F32) &&
           (p->bias == 0 || p->bias_dtype == p->y_dtype);
}

static uint32_t alignment_of(uint64_t address, uint64_t stride)
{
    const uint64_t all = address | stride | ALIGNMENT;
    return (uint32_t)(all & (~all + 1));
}

/* What a product is to the library; all are NULL, or to be destroyed. */
struct described {
    const struct wcodec_dense_product *p;
    cu_pointer elements;
    uint64_t x, y, bias; /* where its part begins */
    cublas_product product;
    cublas_layout w, x_layout, y_layout;
    cublas_preference preference;
};

static cublas_result describe(const struct wcodec_cuda_blas *b, struct described *d)
{
    const struct wcodec_dense_product *p = d->p;
    const uint64_t inside = p->transposed ? p->rows : p->columns,
                   outside = p->transposed ? p->columns : p->rows;
    const int transpose = CUBLAS_OP_T, epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublas_result r = b->product_create(&d->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (r == 0 && !p->transposed)
        r = b->product_set(d->product, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose);
    if (r == 0 && p->bias != 0)
        r = b->product_set(d->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (r == 0 && p->bias != 0)
        r = b->product_set(d->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &d->bias, sizeof d->bias);
    if (r == 0)
        r = b->layout_create(&d->w, type_of(p->dtype), p->columns, p->rows, (int64_t)p->columns);
    if (r == 0)
        r = b->layout_create(&d->x_layout, type_of(p->x_dtype), inside, p->vectors,
                             (int64_t)(p->x_stride / wcodec_gpu_operand_bytes(p->x_dtype)));
    if (r == 0)
        r = b->layout_create(&d->y_layout, type_of(p->y_dtype), outside, p->vectors,
                             (int64_t)(p->y_stride / wcodec_gpu_operand_bytes(p->y_dtype)));
    return r;
}

static void forget(const struct wcodec_cuda_blas *b, struct described *d)
{
    if (d->preference != NULL)
        b->preference_destroy(d->preference);
    if (d->y_layout != NULL)
        b->layout_destroy(d->y_layout);
    if (d->x_layout != NULL)
        b->layout_destroy(d->x_layout);
    if (d->w != NULL)
        b->layout_destroy(d->w);
    if (d->product != NULL)
        b->product_destroy(d->product);
}

static struct wcodec_cuda_blas_key key_of(const struct described *d)
{
    const struct wcodec_dense_product *p = d->p;
    struct wcodec_cuda_blas_key key;
    memset(&key, 0, sizeof key); /* keys are compared as bytes */
    key.rows = p->rows;
    key.columns = p->columns;
    key.vectors = p->vectors;
    key.x_stride = p->x_stride;
    key.y_stride = p->y_stride;
    key.dtype = (uint32_t)p->dtype;
    key.y_dtype = (uint32_t)p->y_dtype;
    key.transposed = p->transposed;
    key.add = p->add;
    key.bias = p->bias != 0;
    key.alignments[0] = alignment_of(d->elements, p->columns * wcodec_gpu_operand_bytes(p->dtype));
    key.alignments[1] = alignment_of(d->x, p->x_stride);
    key.alignments[2] = alignment_of(d->y, p->y_stride);
    return key;
}

/* The library's choice; the lock is held. */
static cublas_result choose(const struct wcodec_cuda_blas *b, struct described *d,
                            const struct wcodec_cuda_blas_key *key, struct cublas_found *found)
{
    const uint64_t work = WCODEC_CUDA_BLAS_WORK;
    const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const struct {
        int attribute;
        const void *value;
        size_t size;
    } wanted[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &work, sizeof work},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &key->alignments[0], sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &key->alignments[1], sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &key->alignments[2], sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &key->alignments[2], sizeof(uint32_t)},
    };
    int count = 0;
    cublas_result r = b->preference_create(&d->preference);
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted && r == 0; i++)
        r = b->preference_set(d->preference, wanted[i].attribute, wanted[i].value, wanted[i].size);
    if (r == 0)
        r = b->find(b->handle, d->product, d->w, d->x_layout, d->y_layout, d->y_layout,
                    d->preference, 1, found, &count);
    return r == 0 && count == 0 ? CUBLAS_NOT_SUPPORTED : r;
}

static cublas_result find(struct wcodec_cuda_blas *b, struct described *d,
                          struct cublas_found *found)
{
    const struct wcodec_cuda_blas_key key = key_of(d);
    cublas_result r = 0;
    pthread_mutex_lock(&b->lock);
    unsigned i = 0;
    while (i < b->count && memcmp(&b->keys[i], &key, sizeof key) != 0)
        i++;
    if (i < b->count)
        *found = b->found[i];
    else
        r = choose(b, d, &key, found);
    if (i == b->count && r == 0) {
        b->keys[b->next] = key;
        b->found[b->next] = *found;
        b->next = (b->next + 1) % WCODEC_CUDA_BLAS_KEPT;
        b->count += b->count < WCODEC_CUDA_BLAS_KEPT;
    }
    pthread_mutex_unlock(&b->lock);
    return r;
}

cublas_result wcodec_cuda_blas_multiply(struct wcodec_cuda_blas *b,
                                        const struct wcodec_dense_product *p, cu_pointer elements,
                                        cu_pointer work, cu_stream stream)
{
    const uint64_t x_first = p->transposed ? p->first : 0, y_first = p->transposed ? 0 : p->first;
    const float one = 1, other = p->add ? 1 : 0;
    struct described d = {
        .p = p,
        .elements = elements,
        .x = p->x + x_first * wcodec_gpu_operand_bytes(p->x_dtype),
        .y = p->y + y_first * wcodec_gpu_operand_bytes(p->y_dtype),
        .bias = p->bias + p->first * wcodec_gpu_operand_bytes(p->bias_dtype),
    };
    struct cublas_found found;
    cublas_result r = describe(b, &d);
    if (r == 0)
        r = find(b, &d, &found);
    if (r == 0)
        r = b->multiply(b->handle, d.product, &one, (const void *)(uintptr_t)elements, d.w,
                        (const void *)(uintptr_t)d.x, d.x_layout, &other,
                        (const void *)(uintptr_t)d.y, d.y_layout, (void *)(uintptr_t)d.y,
                        d.y_layout, &found.algorithm, (void *)(uintptr_t)work,
                        (size_t)WCODEC_CUDA_BLAS_WORK, stream);
    forget(b, &d);
    return r;
}
