/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/registry.h"
#include "core/assert.h"
#include "registry/choice.h"
#include "registry/host.h"
#include "registry/known_answer.h"
#include "registry/loader.h"
#include "backends/cpu/cpu.h"
#include "core/conf.h"
#include "core/log.h"
#include "core/memory.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_SIZE = 400, DEVICES_MAX = 1024 };

/* What is part of the library. */
static const struct wcodec_backend *const builtin[] = {&wcodec_backend_cpu};

/* Looked for wherever all backends are asked for, in the order of "auto". */
static const char *const known_names[] = {"cuda", "opencl", "cpu"};

enum {
    KNOWN_NAMES = sizeof known_names / sizeof known_names[0],
    ENTRIES_MAX = WCODEC_CHOICE_MAX + KNOWN_NAMES
};

/* A device that a backend lists. */
struct slot {
    struct wcodec_opened opened; /* device NULL: not open */
    char reason[REASON_SIZE];    /* why it cannot be used; empty: it can, or has not been tried */
};

/* A backend by name, usable or not. */
struct entry {
    char name[WCODEC_BACKEND_NAME_MAX + 1];
    bool tried;
    const struct wcodec_backend *backend;
    struct wcodec_backend_state *state; /* NULL: not open */
    char *path;                         /* of the plugin */
    char reason[REASON_SIZE];
    unsigned slot_count;
    struct slot *slots;
};

struct wcodec_backends {
    wcodec_context *context;
    struct wcodec_host host;
    pthread_mutex_t lock; /* guards all below; not the context's, which opening a device may need */
    struct wcodec_choice choice;
    struct wcodec_opened *chosen;
    unsigned entry_count;
    struct entry entries[ENTRIES_MAX];
    wcodec_device_info *infos; /* what wcodec_context_devices() gave last */
};

static struct entry *find_entry(struct wcodec_backends *b, const char *name)
{
    for (unsigned i = 0; i < b->entry_count; i++)
        if (strcmp(b->entries[i].name, name) == 0)
            return &b->entries[i];
    WCODEC_ASSERT(b->entry_count < ENTRIES_MAX);
    struct entry *entry = &b->entries[b->entry_count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

#ifdef WCODEC_RELOCATABLE
/* The folder "wcodec" beside the file that this code was loaded from. */
static bool default_folder(char folder[WCODEC_PLUGIN_PATH_MAX])
{
    Dl_info here;
    char *file = dladdr(&builtin, &here) != 0 ? realpath(here.dli_fname, NULL) : NULL;
    char *slash = file != NULL ? strrchr(file, '/') : NULL;
    int length = -1;
    if (slash != NULL)
        length = snprintf(folder, WCODEC_PLUGIN_PATH_MAX, "%.*s/wcodec", (int)(slash - file), file);
    free(file);
    return length > 0 && length < WCODEC_PLUGIN_PATH_MAX;
}
#else
static bool default_folder(char folder[WCODEC_PLUGIN_PATH_MAX])
{
    return snprintf(folder, WCODEC_PLUGIN_PATH_MAX, "%s", WCODEC_PLUGINDIR) <
           WCODEC_PLUGIN_PATH_MAX;
}
#endif

/* Find the structure of a backend: built in, or a plugin's. */
static wcodec_status load_entry(struct wcodec_backends *b, struct entry *entry, wcodec_error *err)
{
    for (size_t i = 0; i < sizeof builtin / sizeof builtin[0]; i++) {
        if (strcmp(builtin[i]->name, entry->name) == 0) {
            entry->backend = builtin[i];
            return WCODEC_OK;
        }
    }
    char usual[WCODEC_PLUGIN_PATH_MAX], path[WCODEC_PLUGIN_PATH_MAX];
    const char *folder = b->context->backend_path;
    if (folder == NULL && !default_folder(usual))
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "the path of the folder of plugins is too long");
    if (folder == NULL)
        folder = usual;
    wcodec_status status = wcodec_plugin_open(folder, entry->name, wcodec_conf_is_privileged(),
                                              path, &entry->backend, err);
    if (path[0] != '\0' && entry->path == NULL &&
        (entry->path = wcodec_strdup(&b->context->allocator, path)) == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the list of backends");
    return status;
}

static wcodec_status list_devices(struct wcodec_backends *b, struct entry *entry, wcodec_error *err)
{
    unsigned count = entry->backend->device_count(entry->state);
    if (count == 0)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND, "no device found");
    if (count > DEVICES_MAX)
        count = DEVICES_MAX;
    entry->slots = wcodec_alloc_zeroed(&b->context->allocator, count * sizeof *entry->slots);
    if (entry->slots == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the list of devices");
    entry->slot_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct wcodec_opened *o = &entry->slots[i].opened;
        o->backend = entry->backend;
        o->index = i;
        atomic_init(&o->lost, false);
        pthread_mutex_init(&o->keep.lock, NULL);
        snprintf(o->name, sizeof o->name, "%s:%u", entry->name, i);
        entry->backend->device_list(entry->state, i, &o->listing);
        o->listing.name[sizeof o->listing.name - 1] = '\0';
        o->listing.driver[sizeof o->listing.driver - 1] = '\0';
        snprintf(entry->slots[i].reason, REASON_SIZE, "%.*s", (int)sizeof o->listing.reason - 1,
                 o->listing.reason);
    }
    return WCODEC_OK;
}

/* What is no usable backend keeps its reason and is not asked again. A GPU without free memory is
 * such; for the CPU, which comes last, lack of memory is the caller's error, and the next time all
 * is tried again. */
static wcodec_status keep_reason(const struct entry *entry, wcodec_status status,
                                 const wcodec_error *e, char reason[REASON_SIZE], wcodec_error *err)
{
    if (status == WCODEC_ERROR_MEMORY && entry->backend == &wcodec_backend_cpu)
        return wcodec_fail(err, status, "%s", e->text);
    snprintf(reason, REASON_SIZE, "%.*s", REASON_SIZE - 1, e->text);
    return WCODEC_OK;
}

static wcodec_status refuse_forked(const struct entry *entry, wcodec_error *err)
{
    const long process = wcodec_plugin_process(entry->backend);
    if (process == (long)getpid())
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                       "process %ld used it before fork(), after which drivers do not work: use it "
                       "first in this process, or in one that was started by exec()",
                       process);
}

/* Open a backend if that has not been tried. Afterwards it has a state, or a reason. Fails only for
 * lack of memory. */
static wcodec_status open_entry(struct wcodec_backends *b, struct entry *entry, wcodec_error *err)
{
    if (entry->tried)
        return WCODEC_OK;
    wcodec_error e = {0};
    wcodec_status status = load_entry(b, entry, &e);
    if (status == WCODEC_OK && entry->path != NULL)
        status = refuse_forked(entry, &e);
    if (status == WCODEC_OK)
        status = entry->backend->open(&b->host, &entry->state, &e);
    if (status == WCODEC_OK && (status = list_devices(b, entry, &e)) != WCODEC_OK) {
        entry->backend->close(entry->state);
        entry->state = NULL;
    }
    if (status != WCODEC_OK) {
        status = keep_reason(entry, status, &e, entry->reason, err);
        if (status != WCODEC_OK)
            return status;
        wcodec_log(b->context, WCODEC_LOG_INFO, "%s cannot be used: %s", entry->name,
                   entry->reason);
    }
    entry->tried = true;
    return WCODEC_OK;
}

/* Open a device of an open backend if it is not open or known to be unusable, and let it decode the
 * known tensors. Afterwards it is open, or has a reason. Fails only for lack of memory. */
static wcodec_status open_slot(struct wcodec_backends *b, struct entry *entry, struct slot *slot,
                               wcodec_error *err)
{
    struct wcodec_opened *o = &slot->opened;
    if (o->device != NULL || slot->reason[0] != '\0')
        return WCODEC_OK;
    wcodec_error e = {0};
    struct wcodec_device *device = NULL;
    wcodec_status status = entry->backend->device_open(entry->state, o->index, &device, &e);
    if (status == WCODEC_OK &&
        (status = wcodec_known_answer_check(entry->backend, device, &b->context->allocator, &e)) !=
            WCODEC_OK)
        entry->backend->device_close(device);
    if (status == WCODEC_OK) {
        o->device = device;
        wcodec_log(b->context, WCODEC_LOG_DEBUG, "%s is open: %s, %s", o->name, o->listing.name,
                   o->listing.driver);
        return WCODEC_OK;
    }
    status = keep_reason(entry, status, &e, slot->reason, err);
    if (status == WCODEC_OK)
        wcodec_log(b->context, WCODEC_LOG_INFO, "%s cannot be used: %s", o->name, slot->reason);
    return status;
}

/* The first usable device that an item of the choice stands for; NULL with a reason at `why` if
 * there is none. */
static wcodec_status try_item(struct wcodec_backends *b, unsigned item,
                              struct wcodec_opened **found, char why[REASON_SIZE],
                              wcodec_error *err)
{
    struct entry *entry = find_entry(b, b->choice.items[item].name);
    bool gpu_only = b->choice.items[item].automatic && strcmp(entry->name, "opencl") == 0;
    *found = NULL;
    wcodec_status status = open_entry(b, entry, err);
    if (status != WCODEC_OK)
        return status;
    snprintf(why, REASON_SIZE, "%s",
             entry->state == NULL ? entry->reason
             : gpu_only           ? "no GPU"
                                  : "there is no such device");
    for (unsigned i = 0; entry->state != NULL && i < entry->slot_count; i++) {
        struct slot *slot = &entry->slots[i];
        if (!b->choice.items[item].any_device && i != b->choice.items[item].device)
            continue;
        if (gpu_only && slot->opened.listing.kind != WCODEC_DEVICE_GPU)
            continue;
        status = open_slot(b, entry, slot, err);
        if (status != WCODEC_OK)
            return status;
        if (slot->opened.device != NULL) {
            *found = &slot->opened;
            return WCODEC_OK;
        }
        snprintf(why, REASON_SIZE, "%s", slot->reason);
    }
    return WCODEC_OK;
}

static bool choice_has_cpu(const struct wcodec_choice *choice)
{
    for (unsigned i = 0; i < choice->count; i++)
        if (strcmp(choice->items[i].name, "cpu") == 0)
            return true;
    return false;
}

/* Go through the choice. Called with the lock held, as all below that have no other word. */
static wcodec_status choose(struct wcodec_backends *b, wcodec_error *err)
{
    wcodec_error reasons = {0};
    for (unsigned i = 0; i < b->choice.count; i++) {
        struct wcodec_opened *found;
        char why[REASON_SIZE], item[64];
        wcodec_status status = try_item(b, i, &found, why, err);
        if (status != WCODEC_OK)
            return status;
        if (found != NULL) {
            found->cpu_allowed = choice_has_cpu(&b->choice);
            b->chosen = found;
            wcodec_log(b->context, WCODEC_LOG_DEBUG, "decoding with %s", found->name);
            return WCODEC_OK;
        }
        snprintf(item, sizeof item, b->choice.items[i].any_device ? "%s" : "%s:%u",
                 b->choice.items[i].name, b->choice.items[i].device);
        wcodec_fail(&reasons, WCODEC_ERROR_BACKEND, "%s%s%s cannot be used: %s", reasons.text,
                    reasons.text[0] != '\0' ? "; " : "", item, why);
    }
    return wcodec_fail(err, WCODEC_ERROR_BACKEND, "%s", reasons.text);
}

static bool asked_by_name(const struct wcodec_choice *choice)
{
    for (unsigned i = 0; i < choice->count; i++)
        if (!choice->items[i].automatic)
            return true;
    return false;
}

bool wcodec_backends_are_automatic(const wcodec_context *context)
{
    return !asked_by_name(&context->backends->choice);
}

wcodec_status wcodec_backends_create(wcodec_context *context, wcodec_error *err)
{
    struct wcodec_choice choice;
    wcodec_status status =
        wcodec_choice_parse(context->backend, context->backend_origin, &choice, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_backends *b = wcodec_alloc_zeroed(&context->allocator, sizeof *b);
    if (b == NULL || pthread_mutex_init(&b->lock, NULL) != 0) {
        wcodec_free(&context->allocator, b);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the list of backends");
    }
    b->context = context;
    b->choice = choice;
    wcodec_host_init(&b->host, context);
    if (asked_by_name(&choice) && (status = choose(b, err)) != WCODEC_OK) {
        wcodec_backends_destroy(b, false);
        return status;
    }
    context->backends = b;
    return WCODEC_OK;
}

void wcodec_backends_destroy(struct wcodec_backends *backends, bool abandon)
{
    if (backends == NULL)
        return;
    const wcodec_allocator *allocator = &backends->context->allocator;
    for (unsigned i = 0; i < backends->entry_count; i++) {
        struct entry *entry = &backends->entries[i];
        for (unsigned k = 0; k < entry->slot_count && !abandon; k++) {
            wcodec_keep_empty(&entry->slots[k].opened.keep, entry->backend);
            pthread_mutex_destroy(&entry->slots[k].opened.keep.lock);
            if (entry->slots[k].opened.device != NULL)
                entry->backend->device_close(entry->slots[k].opened.device);
        }
        if (entry->state != NULL && !abandon)
            entry->backend->close(entry->state);
        wcodec_free(allocator, entry->slots);
        wcodec_free(allocator, entry->path);
    }
    if (!abandon)
        pthread_mutex_destroy(&backends->lock);
    wcodec_free(allocator, backends->infos);
    wcodec_free(allocator, backends);
}

static wcodec_status open_cpu(struct wcodec_backends *b, struct wcodec_opened **opened,
                              wcodec_error *err)
{
    struct entry *entry = find_entry(b, "cpu");
    wcodec_status status = open_entry(b, entry, err);
    if (status == WCODEC_OK && entry->state != NULL)
        status = open_slot(b, entry, &entry->slots[0], err);
    if (status != WCODEC_OK)
        return status;
    if (entry->state == NULL || entry->slots[0].opened.device == NULL)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND, "cpu cannot be used: %s",
                           entry->state == NULL ? entry->reason : entry->slots[0].reason);
    *opened = &entry->slots[0].opened;
    return WCODEC_OK;
}

wcodec_status wcodec_backends_device(wcodec_context *context, struct wcodec_opened **opened,
                                     wcodec_error *err)
{
    struct wcodec_backends *b = context->backends;
    WCODEC_ASSERT(b != NULL);
    pthread_mutex_lock(&b->lock);
    wcodec_status status = b->chosen != NULL ? WCODEC_OK : choose(b, err);
    if (status == WCODEC_OK) {
        if (!atomic_load(&b->chosen->lost))
            *opened = b->chosen;
        else if (b->chosen->cpu_allowed)
            status = open_cpu(b, opened, err);
        else
            status = wcodec_fail(err, WCODEC_ERROR_DEVICE,
                                 "%s has failed before and is used no more", b->chosen->name);
    }
    pthread_mutex_unlock(&b->lock);
    return status;
}

wcodec_status wcodec_backends_cpu(wcodec_context *context, struct wcodec_opened **opened,
                                  wcodec_error *err)
{
    struct wcodec_backends *b = context->backends;
    pthread_mutex_lock(&b->lock);
    wcodec_status status = open_cpu(b, opened, err);
    pthread_mutex_unlock(&b->lock);
    return status;
}

void wcodec_backends_lose(wcodec_context *context, struct wcodec_opened *opened, const char *reason)
{
    WCODEC_ASSERT(opened->backend != &wcodec_backend_cpu);
    pthread_mutex_lock(&context->backends->lock);
    bool first = !atomic_load(&opened->lost);
    if (first)
        snprintf(opened->loss, sizeof opened->loss, "%s", reason);
    atomic_store(&opened->lost, true);
    pthread_mutex_unlock(&context->backends->lock);
    if (first)
        wcodec_log(context, WCODEC_LOG_WARNING, "%s is used no more: %s", opened->name, reason);
}

wcodec_status wcodec_opened_allocate(struct wcodec_opened *opened, enum wcodec_memory_kind kind,
                                     uint64_t size, struct wcodec_memory **memory,
                                     wcodec_error *err)
{
    const struct wcodec_backend *b = opened->backend;
    const wcodec_status status = b->memory_allocate(opened->device, kind, size, memory, err);
    return status == WCODEC_ERROR_MEMORY && wcodec_keep_empty(&opened->keep, b)
               ? b->memory_allocate(opened->device, kind, size, memory, err)
               : status;
}

wcodec_status wcodec_backends_device_of(wcodec_context *context, const char *memory,
                                        struct wcodec_opened **opened, wcodec_error *err)
{
    struct wcodec_opened *o;
    const wcodec_status status = wcodec_backends_device(context, &o, err);
    if (status != WCODEC_OK)
        return status;
    if (strcmp(memory, o->backend->name) != 0)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "memory of %s was asked for, but this context decodes with %s", memory,
                           o->name);
    *opened = o;
    return WCODEC_OK;
}

wcodec_status wcodec_opened_check_memory(const struct wcodec_opened *opened, const char *memory,
                                         const char *what, wcodec_error *err)
{
    if (strcmp(memory, opened->backend->name) != 0)
        return wcodec_fail(err, WCODEC_ERROR_BACKEND,
                           "the %s are memory of %s, but this context decodes with %s", what,
                           memory, opened->name);
    if (!(opened->listing.capabilities & WCODEC_DEVICE_ADOPT_MEMORY))
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "%s takes no memory of the caller's",
                           opened->name);
    return WCODEC_OK;
}

wcodec_status wcodec_opened_adopt(struct wcodec_opened *opened, uint64_t native, uint64_t size,
                                  struct wcodec_memory **memory, uint64_t *offset,
                                  wcodec_error *err)
{
    const uint64_t off = opened->listing.capabilities & WCODEC_DEVICE_ADDRESSES ? native % 16 : 0;
    const wcodec_status status =
        opened->backend->memory_adopt(opened->device, native - off, off + size, memory, err);
    if (status == WCODEC_OK)
        *offset = off;
    else
        wcodec_error_prefix(err, "%s", opened->name);
    return status;
}

wcodec_status wcodec_opened_mark(struct wcodec_opened *opened, uint64_t native_queue,
                                 struct wcodec_event **event, wcodec_error *err)
{
    const struct wcodec_backend *b = opened->backend;
    struct wcodec_queue *queue;
    wcodec_status status = b->queue_adopt(opened->device, native_queue, &queue, err);
    if (status == WCODEC_OK) {
        status = b->event_record(queue, event, err);
        b->queue_destroy(queue);
    }
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "%s", opened->name);
    return status;
}

wcodec_status wcodec_backends_failed(wcodec_context *context, struct wcodec_opened *opened,
                                     wcodec_status status, const wcodec_error *reason,
                                     wcodec_error *err)
{
    if (status == WCODEC_ERROR_DEVICE)
        wcodec_backends_lose(context, opened, reason->text);
    return wcodec_fail(err, status, "%s: %s", opened->name, reason->text);
}

/* Open what is not open yet to see whether it can be, and close it again. */
static wcodec_status probe_entry(struct wcodec_backends *b, struct entry *entry, wcodec_error *err)
{
    wcodec_status status = open_entry(b, entry, err);
    for (unsigned i = 0; status == WCODEC_OK && entry->state != NULL && i < entry->slot_count;
         i++) {
        struct slot *slot = &entry->slots[i];
        if (slot->opened.device != NULL)
            continue;
        status = open_slot(b, entry, slot, err);
        if (slot->opened.device != NULL) {
            entry->backend->device_close(slot->opened.device);
            slot->opened.device = NULL;
        }
    }
    return status;
}

static wcodec_device_info describe(const struct wcodec_backends *b, const struct entry *entry,
                                   unsigned i)
{
    wcodec_device_info info = {.backend = entry->name,
                               .name = entry->reason,
                               .driver = "",
                               .plugin_path = entry->path != NULL ? entry->path : ""};
    if (entry->state == NULL)
        return info;
    const struct slot *slot = &entry->slots[i];
    info.index = i;
    info.available = slot->reason[0] == '\0' && !atomic_load(&slot->opened.lost);
    info.name = slot->reason[0] != '\0' ? slot->reason
                : info.available        ? slot->opened.listing.name
                                        : "it has failed";
    info.driver = slot->opened.listing.driver;
    info.memory = slot->opened.listing.memory;
    info.chosen = b->chosen == &slot->opened;
    return info;
}

static wcodec_status list_all(struct wcodec_backends *b, const wcodec_device_info **devices,
                              size_t *count, wcodec_error *err)
{
    wcodec_status status = b->chosen != NULL ? WCODEC_OK : choose(b, err);
    for (unsigned i = 0; i < KNOWN_NAMES; i++)
        find_entry(b, known_names[i]);
    size_t lines = 0;
    for (unsigned i = 0; status == WCODEC_OK && i < b->entry_count; i++) {
        status = probe_entry(b, &b->entries[i], err);
        lines += b->entries[i].state != NULL ? b->entries[i].slot_count : 1;
    }
    if (status != WCODEC_OK)
        return status;
    wcodec_device_info *infos =
        wcodec_realloc_array(&b->context->allocator, b->infos, lines, sizeof *infos);
    if (infos == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the list of devices");
    b->infos = infos;
    size_t n = 0;
    for (unsigned i = 0; i < b->entry_count; i++)
        for (unsigned k = 0; k < (b->entries[i].state != NULL ? b->entries[i].slot_count : 1); k++)
            infos[n++] = describe(b, &b->entries[i], k);
    *devices = infos;
    *count = n;
    return WCODEC_OK;
}

wcodec_status wcodec_context_devices(wcodec_context *context, const wcodec_device_info **devices,
                                     size_t *count, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    if (devices == NULL || count == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "devices or count is NULL");
    struct wcodec_backends *b = context->backends;
    pthread_mutex_lock(&b->lock);
    status = list_all(b, devices, count, err);
    pthread_mutex_unlock(&b->lock);
    return status;
}
