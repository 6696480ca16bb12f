/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/onnx_kept.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kept {
    const wcodec_allocator *allocator;
    struct wcodec_onnx_model *model;
    struct stat file;
};

static void free_kept(void *opaque)
{
    struct kept *kept = opaque;
    wcodec_onnx_model_free(kept->model);
    wcodec_free(kept->allocator, kept);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

static wcodec_status read_model(const wcodec_allocator *allocator, int fd, struct kept *kept,
                                wcodec_error *err)
{
    struct wcodec_source source;
    wcodec_status status = wcodec_source_fd(fd, &source, err);
    if (status == WCODEC_OK && !wcodec_onnx_begins(&source))
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "is no ONNX model");
    if (status == WCODEC_OK)
        status = wcodec_onnx_model_read(&source, allocator, &kept->model, err);
    return status;
}

static wcodec_status keep(wcodec_context *context, int fd, const struct stat *file,
                          wcodec_error *err)
{
    struct kept *kept = wcodec_alloc_zeroed(&context->allocator, sizeof *kept);
    if (kept == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    kept->allocator = &context->allocator;
    kept->file = *file;
    const wcodec_status status = read_model(kept->allocator, fd, kept, err);
    if (status != WCODEC_OK) {
        free_kept(kept);
        return status;
    }
    context->kept = kept;
    context->free_kept = free_kept;
    return status;
}

static wcodec_status take_open(wcodec_context *context, int fd,
                               const struct wcodec_onnx_model **model, wcodec_error *err)
{
    struct stat file;
    wcodec_status status = WCODEC_OK;
    struct kept *kept = context->kept;
    if (fstat(fd, &file) != 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot examine the file: %s", strerror(errno));
    if (kept == NULL || !is_same_file(&kept->file, &file)) {
        context->kept = NULL;
        if (kept != NULL)
            free_kept(kept);
        status = keep(context, fd, &file, err);
        kept = context->kept;
    }
    if (status == WCODEC_OK)
        *model = kept->model;
    return status;
}

wcodec_status wcodec_onnx_kept_take(wcodec_context *context, const char *path,
                                    const struct wcodec_onnx_model **model, wcodec_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return wcodec_fail(err, WCODEC_ERROR_IO, "cannot open: %s", strerror(errno));
    pthread_mutex_lock(&context->kept_lock);
    const wcodec_status status = take_open(context, fd, model, err);
    close(fd);
    if (status != WCODEC_OK)
        pthread_mutex_unlock(&context->kept_lock);
    return status;
}

void wcodec_onnx_kept_give_back(wcodec_context *context)
{
    pthread_mutex_unlock(&context->kept_lock);
}
