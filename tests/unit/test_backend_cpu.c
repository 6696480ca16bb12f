/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_conform.h"
#include "support_hostile.h"

#include "registry/host.h"
#include "registry/known_answer.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/cpu_level.h"

static void damaged(struct wcodec_backend_state *cpu)
{
    struct wcodec_device *device;
    struct wcodec_device_listing listing;
    wcodec_error err;
    wcodec_backend_cpu.device_list(cpu, 0, &listing);
    assert_int_equal(wcodec_backend_cpu.device_open(cpu, 0, &device, &err), WCODEC_OK);
    support_hostile(&wcodec_backend_cpu, device, false);
    support_flips(&wcodec_backend_cpu, device, 61);
    support_far(&wcodec_backend_cpu, device, &listing);
    wcodec_backend_cpu.device_close(device);
}

/* Each level of this machine in turn, and the last one on several threads too: levels differ in
 * what a single thread does. Under ThreadSanitizer only the last one is run, and not alone. */
static void test_conform(void **state)
{
    (void)state;
    const uint32_t levels = wcodec_cpu_levels();
    assert_true(levels & WCODEC_CPU_SCALAR);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        for (unsigned level = 0; level < WCODEC_CPU_LEVELS; level++) {
            if (!(levels >> level & 1) || (threads > 1 ? levels >> level != 1 : SUPPORT_TSAN))
                continue;
            wcodec_options options;
            wcodec_context *context;
            struct wcodec_host host;
            struct wcodec_backend_state *cpu;
            wcodec_error err;
            wcodec_options_init(&options);
            options.threads = threads;
            assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
            wcodec_host_init(&host, context);
            host.cpu_mask = (uint32_t)1 << level | WCODEC_CPU_SCALAR;
            print_message("%s, %u threads\n", wcodec_cpu_level_name(level), threads);
            assert_int_equal(wcodec_backend_cpu.open(&host, &cpu, &err), WCODEC_OK);
            assert_int_equal(wcodec_backend_cpu.device_count(cpu), 1);
            support_conform(&wcodec_backend_cpu, cpu, 0);
            damaged(cpu);
            wcodec_backend_cpu.close(cpu);
            wcodec_context_destroy(context);
        }
    }
}

static void test_no_second_device(void **state)
{
    (void)state;
    wcodec_context *context;
    struct wcodec_host host;
    struct wcodec_backend_state *cpu;
    struct wcodec_device *device;
    struct wcodec_queue *queue, *adopted;
    wcodec_error err;
    assert_int_equal(wcodec_context_create(NULL, &context, &err), WCODEC_OK);
    wcodec_host_init(&host, context);
    assert_int_equal(wcodec_backend_cpu.open(&host, &cpu, &err), WCODEC_OK);
    assert_int_equal(wcodec_backend_cpu.device_open(cpu, 1, &device, &err), WCODEC_ERROR_BACKEND);
    assert_int_equal(wcodec_backend_cpu.device_open(cpu, 0, &device, &err), WCODEC_OK);
    assert_int_equal(wcodec_backend_cpu.queue_adopt(device, 0, &adopted, &err),
                     WCODEC_ERROR_UNSUPPORTED);
    assert_int_equal(wcodec_backend_cpu.queue_create(device, &queue, &err), WCODEC_OK);
    wcodec_backend_cpu.queue_destroy(queue);
    assert_int_equal(
        wcodec_known_answer_check(&wcodec_backend_cpu, device, &wcodec_default_allocator, &err),
        WCODEC_OK);
    wcodec_backend_cpu.device_close(device);
    wcodec_backend_cpu.close(cpu);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conform),
                                       cmocka_unit_test(test_no_second_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
