/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/cpu.h"
#include "backends/cpu/batch.h"
#include "backends/cpu/cpu_level.h"
#include "core/memory.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct wcodec_backend_state {
    const struct wcodec_host *host;
    struct wcodec_cpu_dsp dsp;
    struct wcodec_cpu_blocks_dsp blocks_dsp;
    struct wcodec_cpu_lossy_dsp lossy_dsp;
    struct wcodec_cpu_fixed_dsp fixed_dsp;
};

static wcodec_status cpu_open(const struct wcodec_host *host, struct wcodec_backend_state **state,
                              wcodec_error *err)
{
    const char *text = host->setting(host->opaque, "WCODEC_CPU_TUNE");
    uint32_t tuning = wcodec_cpu_tuning();
    if (text != NULL && !wcodec_cpu_parse_tuning(text, &tuning))
        return host->fail(err, WCODEC_ERROR_USAGE,
                          "WCODEC_CPU_TUNE is \"%s\": expected common or a list of straight, "
                          "straight-pairs, abreast, abreast-pairs, staggered-pairs, "
                          "gathered-pairs, straight-ranked",
                          text);
    struct wcodec_backend_state *s = wcodec_alloc(host->allocator, sizeof *s);
    if (s == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for the CPU backend");
    s->host = host;
    wcodec_cpu_dsp_init(&s->dsp, (wcodec_cpu_levels() & host->cpu_mask) | tuning);
    wcodec_cpu_blocks_dsp_init(&s->blocks_dsp, wcodec_cpu_levels() & host->cpu_mask);
    wcodec_cpu_lossy_dsp_init(&s->lossy_dsp, wcodec_cpu_levels() & host->cpu_mask);
    wcodec_cpu_fixed_dsp_init(&s->fixed_dsp, wcodec_cpu_levels() & host->cpu_mask);
    *state = s;
    return WCODEC_OK;
}

static void cpu_close(struct wcodec_backend_state *state)
{
    wcodec_free(state->host->allocator, state);
}

static unsigned cpu_device_count(struct wcodec_backend_state *state)
{
    (void)state;
    return 1;
}

/* "model name : ..." as x86 kernels have it; others name the machine elsewhere or not at all. */
static void read_model_name(char *name, size_t size)
{
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        colon += strspn(colon, ": \t");
        colon[strcspn(colon, "\n")] = '\0';
        if (colon[0] != '\0')
            snprintf(name, size, "%s", colon);
        break;
    }
    fclose(file);
}

static void cpu_device_list(struct wcodec_backend_state *state, unsigned i,
                            struct wcodec_device_listing *listing)
{
    (void)i;
    *listing = (struct wcodec_device_listing){
        .kind = WCODEC_DEVICE_CPU,
        .capabilities = WCODEC_DEVICE_HOST_MEMORY | WCODEC_DEVICE_ADOPT_MEMORY |
                        WCODEC_DEVICE_ADDRESSES | WCODEC_DEVICE_BLOCKS | WCODEC_DEVICE_LOSSY |
                        WCODEC_DEVICE_FIXED | WCODEC_DEVICE_FRAGMENTS};
    read_model_name(listing->name, sizeof listing->name);
    snprintf(listing->driver, sizeof listing->driver, "%s",
             wcodec_cpu_level_name(state->dsp.level));
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0)
        listing->memory = (uint64_t)pages * (uint64_t)size;
}

static wcodec_status cpu_device_open(struct wcodec_backend_state *state, unsigned i,
                                     struct wcodec_device **device, wcodec_error *err)
{
    const struct wcodec_host *host = state->host;
    if (i != 0)
        return host->fail(err, WCODEC_ERROR_BACKEND,
                          "cpu has one device, number 0: there is no cpu:%u", i);
    struct wcodec_device *d = wcodec_alloc(host->allocator, sizeof *d);
    if (d == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for the CPU backend");
    *d = (struct wcodec_device){.host = host,
                                .dsp = &state->dsp,
                                .blocks_dsp = &state->blocks_dsp,
                                .lossy_dsp = &state->lossy_dsp,
                                .fixed_dsp = &state->fixed_dsp};
    *device = d;
    return WCODEC_OK;
}

static void cpu_device_close(struct wcodec_device *device)
{
    wcodec_free(device->host->allocator, device);
}

static void cpu_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number)
{
    (void)device;
    *context = *number = 0;
}

static bool cpu_device_supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device, (void)tiling;
    return true;
}

static wcodec_status out_of_memory(const struct wcodec_host *host, uint64_t size, wcodec_error *err)
{
    return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory: %llu bytes",
                      (unsigned long long)size);
}

static wcodec_status cpu_memory_allocate(struct wcodec_device *device, enum wcodec_memory_kind kind,
                                         uint64_t size, struct wcodec_memory **memory,
                                         wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    const uint64_t alignment = kind == WCODEC_MEMORY_PINNED ? 4096 : 256;
    struct wcodec_memory *m = wcodec_alloc(host->allocator, sizeof *m);
    /* The allocator aligns for any type only: the rest is done by hand. */
    uint8_t *block = size <= SIZE_MAX - alignment
                         ? wcodec_alloc(host->allocator, (size_t)(size + alignment - 1))
                         : NULL;
    if (m == NULL || block == NULL) {
        wcodec_free(host->allocator, block);
        wcodec_free(host->allocator, m);
        return out_of_memory(host, size, err);
    }
    uint8_t *start = block + (alignment - (uintptr_t)block % alignment) % alignment;
    *m = (struct wcodec_memory){.host = host, .data = start, .size = size, .block = block};
    *memory = m;
    return WCODEC_OK;
}

static wcodec_status cpu_memory_adopt(struct wcodec_device *device, uint64_t native, uint64_t size,
                                      struct wcodec_memory **memory, wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    struct wcodec_memory *m = wcodec_alloc(host->allocator, sizeof *m);
    if (m == NULL)
        return out_of_memory(host, sizeof *m, err);
    *m = (struct wcodec_memory){.host = host, .data = (uint8_t *)(uintptr_t)native, .size = size};
    *memory = m;
    return WCODEC_OK;
}

static void *cpu_memory_pointer(struct wcodec_memory *memory)
{
    return memory->data;
}

static uint64_t cpu_memory_native(struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static void cpu_memory_free(struct wcodec_memory *memory)
{
    const struct wcodec_host *host = memory->host;
    wcodec_free(host->allocator, memory->block);
    wcodec_free(host->allocator, memory);
}

static wcodec_status cpu_queue_create(struct wcodec_device *device, struct wcodec_queue **queue,
                                      wcodec_error *err)
{
    struct wcodec_queue *q = wcodec_alloc(device->host->allocator, sizeof *q);
    if (q == NULL)
        return out_of_memory(device->host, sizeof *q, err);
    q->device = device;
    *queue = q;
    return WCODEC_OK;
}

static wcodec_status cpu_queue_adopt(struct wcodec_device *device, uint64_t native,
                                     struct wcodec_queue **queue, wcodec_error *err)
{
    (void)native, (void)queue;
    return device->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "the CPU has no queues to take over");
}

static void cpu_queue_destroy(struct wcodec_queue *queue)
{
    wcodec_free(queue->device->host->allocator, queue);
}

static wcodec_status cpu_queue_wait(struct wcodec_queue *queue, wcodec_error *err)
{
    (void)queue, (void)err;
    return WCODEC_OK;
}

static wcodec_status cpu_queue_after(struct wcodec_queue *queue, struct wcodec_event *event,
                                     wcodec_error *err)
{
    (void)queue, (void)event, (void)err;
    return WCODEC_OK;
}

static wcodec_status cpu_event_record(struct wcodec_queue *queue, struct wcodec_event **event,
                                      wcodec_error *err)
{
    struct wcodec_event *e = wcodec_alloc(queue->device->host->allocator, sizeof *e);
    if (e == NULL)
        return out_of_memory(queue->device->host, sizeof *e, err);
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    *e = (struct wcodec_event){.host = queue->device->host,
                               .time = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec};
    *event = e;
    return WCODEC_OK;
}

static wcodec_status cpu_event_wait(struct wcodec_event *event, wcodec_error *err)
{
    (void)event, (void)err;
    return WCODEC_OK;
}

static wcodec_status cpu_event_query(struct wcodec_event *event, bool *done, wcodec_error *err)
{
    (void)event, (void)err;
    *done = true;
    return WCODEC_OK;
}

static wcodec_status cpu_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                       uint64_t *nanoseconds, wcodec_error *err)
{
    (void)err;
    *nanoseconds = to->time - from->time;
    return WCODEC_OK;
}

static void cpu_event_destroy(struct wcodec_event *event)
{
    wcodec_free(event->host->allocator, event);
}

static wcodec_status cpu_copy_in(struct wcodec_queue *queue, struct wcodec_memory *to,
                                 uint64_t to_offset, const void *from, uint64_t size,
                                 wcodec_error *err)
{
    (void)queue, (void)err;
    if (size != 0)
        memcpy(to->data + to_offset, from, (size_t)size);
    return WCODEC_OK;
}

static wcodec_status cpu_copy_out(struct wcodec_queue *queue, void *to, struct wcodec_memory *from,
                                  uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    (void)queue, (void)err;
    if (size != 0)
        memcpy(to, from->data + from_offset, (size_t)size);
    return WCODEC_OK;
}

static wcodec_status cpu_copy(struct wcodec_queue *queue, struct wcodec_memory *to,
                              uint64_t to_offset, struct wcodec_memory *from, uint64_t from_offset,
                              uint64_t size, wcodec_error *err)
{
    (void)queue, (void)err;
    if (size != 0)
        memmove(to->data + to_offset, from->data + from_offset, (size_t)size);
    return WCODEC_OK;
}

static wcodec_status cpu_peer_open(struct wcodec_device *from, struct wcodec_device *to,
                                   wcodec_error *err)
{
    (void)from, (void)to, (void)err;
    return WCODEC_OK;
}

static wcodec_status cpu_fill(struct wcodec_queue *queue, struct wcodec_memory *to,
                              uint64_t to_offset, const uint8_t element[8], unsigned element_log2,
                              uint64_t count, wcodec_error *err)
{
    (void)queue, (void)err;
    uint8_t *at = to->data + to_offset;
    for (uint64_t i = 0; i < count; i++, at += (size_t)1 << element_log2)
        memcpy(at, element, (size_t)1 << element_log2);
    return WCODEC_OK;
}

static const struct wcodec_backend_peers cpu_peers = {.open = cpu_peer_open, .copy = cpu_copy};

const struct wcodec_backend wcodec_backend_cpu = {
    WCODEC_BACKEND_HEAD,
    .peers = &cpu_peers,
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .device_count = cpu_device_count,
    .device_list = cpu_device_list,
    .device_open = cpu_device_open,
    .device_close = cpu_device_close,
    .device_native = cpu_device_native,
    .device_supports = cpu_device_supports,
    .memory_allocate = cpu_memory_allocate,
    .memory_adopt = cpu_memory_adopt,
    .memory_pointer = cpu_memory_pointer,
    .memory_native = cpu_memory_native,
    .memory_free = cpu_memory_free,
    .queue_create = cpu_queue_create,
    .queue_create_timed = cpu_queue_create,
    .queue_adopt = cpu_queue_adopt,
    .queue_destroy = cpu_queue_destroy,
    .queue_wait = cpu_queue_wait,
    .queue_after = cpu_queue_after,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_query = cpu_event_query,
    .event_elapsed = cpu_event_elapsed,
    .event_destroy = cpu_event_destroy,
    .copy_in = cpu_copy_in,
    .copy_out = cpu_copy_out,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .batch_create = wcodec_cpu_batch_create,
    .batch_decode = wcodec_cpu_batch_decode,
    .batch_results = wcodec_cpu_batch_results,
    .batch_destroy = wcodec_cpu_batch_destroy,
};
