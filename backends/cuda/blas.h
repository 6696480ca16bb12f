/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The part of cuBLASLt that is used, opened by dlopen where it is installed. Declared here, so that
 * the host code builds without the toolkit; the names and numbers are those of NVIDIA's
 * documentation. */
#ifndef WCODEC_CUDA_BLAS_H
#define WCODEC_CUDA_BLAS_H

#include "backends/backend.h"
#include "backends/cuda/driver.h"

#include <pthread.h>

typedef int cublas_result; /* cublasStatus_t: 0 is success */
typedef struct cublasLtContext *cublas_handle;
typedef struct cublasLtMatmulDescOpaque *cublas_product;
typedef struct cublasLtMatrixLayoutOpaque *cublas_layout;
typedef struct cublasLtMatmulPreferenceOpaque *cublas_preference;

struct cublas_algorithm {
    uint64_t data[8];
};
struct cublas_found {
    struct cublas_algorithm algorithm;
    size_t workspace;
    cublas_result state;
    float waves;
    int reserved[4];
};

/* X(name here, symbol, parameters) */
#define WCODEC_CUDA_BLAS_FUNCTIONS(X) \
    X(create, "cublasLtCreate", (cublas_handle *)) \
    X(destroy, "cublasLtDestroy", (cublas_handle)) \
    X(product_create, "cublasLtMatmulDescCreate", (cublas_product *, int, int)) \
    X(product_destroy, "cublasLtMatmulDescDestroy", (cublas_product)) \
    X(product_set, "cublasLtMatmulDescSetAttribute", (cublas_product, int, const void *, size_t)) \
    X(layout_create, "cublasLtMatrixLayoutCreate", \
      (cublas_layout *, int, uint64_t, uint64_t, int64_t)) \
    X(layout_destroy, "cublasLtMatrixLayoutDestroy", (cublas_layout)) \
    X(preference_create, "cublasLtMatmulPreferenceCreate", (cublas_preference *)) \
    X(preference_destroy, "cublasLtMatmulPreferenceDestroy", (cublas_preference)) \
    X(preference_set, "cublasLtMatmulPreferenceSetAttribute", \
      (cublas_preference, int, const void *, size_t)) \
    X(find, "cublasLtMatmulAlgoGetHeuristic", \
      (cublas_handle, cublas_product, cublas_layout, cublas_layout, cublas_layout, cublas_layout, \
       cublas_preference, int, struct cublas_found *, int *)) \
    X(multiply, "cublasLtMatmul", \
      (cublas_handle, cublas_product, const void *, const void *, cublas_layout, const void *, \
       cublas_layout, const void *, const void *, cublas_layout, void *, cublas_layout, \
       const struct cublas_algorithm *, void *, size_t, cu_stream))

/* What a choice of the library depends on. */
struct wcodec_cuda_blas_key {
    uint64_t rows, columns, vectors, x_stride, y_stride;
    uint32_t dtype, y_dtype;
    uint32_t transposed, add, bias;
    uint32_t alignments[3]; /* of elements, x and y */
};

enum { WCODEC_CUDA_BLAS_KEPT = 64 };

/* Of a device; opened when it is needed first. */
struct wcodec_cuda_blas {
    pthread_mutex_t lock; /* of what follows */
    bool tried;
    cublas_handle handle; /* NULL: there is none */
#define X(name, symbol, parameters) cublas_result(*name) parameters;
    WCODEC_CUDA_BLAS_FUNCTIONS(X)
#undef X
    /* Choices, the oldest of which makes room for the next one. */
    struct wcodec_cuda_blas_key keys[WCODEC_CUDA_BLAS_KEPT];
    struct cublas_found found[WCODEC_CUDA_BLAS_KEPT];
    unsigned count, next;
};

/* Bytes of memory that the library works in. */
#define WCODEC_CUDA_BLAS_WORK ((uint64_t)32 << 20)

/* With the device's context current. open: is it there? multiply: NULL, or why it has none: a text
 * that lives as long as the process. */
bool wcodec_cuda_blas_open(struct wcodec_cuda_blas *blas, const struct wcodec_host *host);
bool wcodec_cuda_blas_takes(const struct wcodec_dense_product *product);
cublas_result wcodec_cuda_blas_multiply(struct wcodec_cuda_blas *blas,
                                        const struct wcodec_dense_product *product,
                                        cu_pointer elements, cu_pointer work, cu_stream stream);
void wcodec_cuda_blas_close(struct wcodec_cuda_blas *blas);

#endif
