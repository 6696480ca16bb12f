/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/loader.h"
#include "registry/plugin_file.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define FUNCTION(name) \
    { \
#name, offsetof(struct wcodec_backend, name) \
    }

/* All functions of the structure, in its order. */
static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    FUNCTION(open),          FUNCTION(close),           FUNCTION(device_count),
    FUNCTION(device_list),   FUNCTION(device_open),     FUNCTION(device_close),
    FUNCTION(device_native), FUNCTION(device_supports), FUNCTION(memory_allocate),
    FUNCTION(memory_adopt),  FUNCTION(memory_pointer),  FUNCTION(memory_native),
    FUNCTION(memory_free),   FUNCTION(queue_create),    FUNCTION(queue_create_timed),
    FUNCTION(queue_adopt),   FUNCTION(queue_destroy),   FUNCTION(queue_wait),
    FUNCTION(queue_after),   FUNCTION(event_record),    FUNCTION(event_wait),
    FUNCTION(event_query),   FUNCTION(event_elapsed),   FUNCTION(event_destroy),
    FUNCTION(copy_in),       FUNCTION(copy_out),        FUNCTION(copy),
    FUNCTION(fill),          FUNCTION(batch_create),    FUNCTION(batch_decode),
    FUNCTION(batch_results), FUNCTION(batch_destroy),
};

/* A function that is added to the structure and not here would go unchecked. */
_Static_assert(sizeof(struct wcodec_backend) ==
                   offsetof(struct wcodec_backend, open) +
                       sizeof functions / sizeof functions[0] * sizeof(void (*)(void)),
               "the table of functions is not complete");

/* In the order of their sizes in WCODEC_BACKEND_HEAD. */
#define NAME(name) #name,
static const char *const structures[] = {WCODEC_BACKEND_STRUCTURES(NAME)};
static const uint32_t sizes[] = {WCODEC_BACKEND_STRUCTURES(WCODEC_BACKEND_SIZE)};

wcodec_status wcodec_plugin_check(const struct wcodec_backend *backend, const char *name,
                                  const char *path, wcodec_error *err)
{
    /* Of another version nothing but the number may be looked at. */
    if (backend->abi != WCODEC_BACKEND_ABI)
        return wcodec_fail(
            err, WCODEC_ERROR_BACKEND,
            "%s was built for another version of wcodec: made for ABI %u, this library has %u",
            path, (unsigned)backend->abi, WCODEC_BACKEND_ABI);
    for (size_t i = 0; i < WCODEC_BACKEND_STRUCTURE_COUNT; i++)
        if (backend->sizes[i] != sizes[i])
            return wcodec_fail(
                err, WCODEC_ERROR_BACKEND,
                "%s was built from other sources of wcodec: struct %s has %u bytes there, %u here",
                path, structures[i], (unsigned)backend->sizes[i], (unsigned)sizes[i]);
    if (backend->name == NULL || strcmp(backend->name, name) != 0)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s calls itself \"%.40s\", expected \"%s\"",
                           path, backend->name != NULL ? backend->name : "", name);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void (*function)(void);
        memcpy(&function, (const char *)backend + functions[i].offset, sizeof function);
        if (function == NULL)
            return wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s has no function %s", path,
                               functions[i].name);
    }
    return WCODEC_OK;
}

/* A name that is none of ours is mistyped, more often than not. */
static wcodec_status fail_missing(const char *name, const char *path, int reason, wcodec_error *err)
{
    const bool ours = strcmp(name, "cuda") == 0 || strcmp(name, "opencl") == 0;
    return wcodec_fail(
        err, WCODEC_ERROR_BACKEND, "%s%s: %s",
        ours ? ""
             : "there is no such backend (wcodec's own are cpu, cuda and opencl); as a plugin, ",
        path, reason == ENOENT || reason == ENOTDIR ? "not installed" : strerror(reason));
}

wcodec_status wcodec_plugin_open(const char *folder, const char *name, bool privileged,
                                 char path[WCODEC_PLUGIN_PATH_MAX],
                                 const struct wcodec_backend **backend, wcodec_error *err)
{
    path[0] = '\0';
    if (folder[0] != '/')
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "the folder of plugins is \"%s\": expected an absolute path", folder);
    if (snprintf(path, WCODEC_PLUGIN_PATH_MAX, "%s/wcodec_%s.so", folder, name) >=
        WCODEC_PLUGIN_PATH_MAX) {
        path[0] = '\0';
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "the path of plugin %s is too long: its folder is \"%s\"", name, folder);
    }
    if (privileged)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "%s is not opened: this program runs with raised privileges", path);
    if (access(path, F_OK) != 0)
        return fail_missing(name, path, errno, err);
    wcodec_status status = wcodec_plugin_file_check(path, err);
    if (status != WCODEC_OK)
        return status;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        const char *reason = dlerror();
        return wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s cannot be opened: %s", path,
                           reason != NULL ? reason : "no reason given");
    }
    char symbol[64];
    snprintf(symbol, sizeof symbol, "wcodec_backend_%s", name);
    const struct wcodec_backend *found = dlsym(plugin, symbol);
    if (found == NULL)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "%s is no plugin of wcodec: it has no symbol %s", path, symbol);
    status = wcodec_plugin_check(found, name, path, err);
    if (status == WCODEC_OK)
        *backend = found;
    return status;
}

/* For as many plugins as a program may well have; of others it is not known. */
long wcodec_plugin_process(const struct wcodec_backend *backend)
{
    enum { PLUGINS = 16 };
    static _Atomic(const struct wcodec_backend *) plugins[PLUGINS];
    static atomic_long processes[PLUGINS];
    const long self = (long)getpid();
    for (unsigned i = 0; i < PLUGINS; i++) {
        const struct wcodec_backend *known = NULL;
        long first = 0;
        if (!atomic_compare_exchange_strong(&plugins[i], &known, backend) && known != backend)
            continue;
        return atomic_compare_exchange_strong(&processes[i], &first, self) ? self : first;
    }
    return self;
}
