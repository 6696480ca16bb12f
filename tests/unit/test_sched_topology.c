/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "core/memory.h"
#include "sched/topology.h"
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wcodec_topology *load(const struct wcodec_topology_probe *probe)
{
    struct wcodec_topology *t;
    wcodec_error err;
    if (wcodec_topology_load(&wcodec_default_allocator, probe, &t, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return t;
}

/* Nodes and first CPUs of all cores in order: "0:0 0:2 1:4". */
static void describe(const struct wcodec_topology *t, char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned i = 0; i < wcodec_topology_cores(t); i++) {
        const unsigned *cpus;
        size_t count = wcodec_topology_cpus(t, i, &cpus), at = strlen(text);
        assert_true(count > 0);
        snprintf(text + at, size - at, "%s%u:%u", i ? " " : "", wcodec_topology_node(t, i),
                 cpus[0]);
    }
}

static void is_order(const struct wcodec_topology_probe *probe, const char *expected)
{
    char text[1024];
    struct wcodec_topology *t = load(probe);
    describe(t, text, sizeof text);
    assert_string_equal(text, expected);
    wcodec_topology_free(t);
}

static void test_this_machine(void **state)
{
    (void)state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int way = 0; way < 2; way++) {
        const struct wcodec_topology_probe probe = {.no_hwloc = way};
        struct wcodec_topology *t = load(&probe);
        const unsigned cores = wcodec_topology_cores(t);
        print_message("%u cores on %u nodes by %s\n", cores, wcodec_topology_nodes(t),
                      wcodec_topology_source(t));
        assert_true(cores >= 1 && cores <= (unsigned)CPU_COUNT(&set));
        assert_true(wcodec_topology_nodes(t) >= 1 && wcodec_topology_nodes(t) <= cores);
        cpu_set_t seen;
        CPU_ZERO(&seen);
        for (unsigned i = 0; i < cores; i++) {
            const unsigned *cpus;
            const size_t count = wcodec_topology_cpus(t, i, &cpus);
            for (size_t k = 0; k < count; k++) {
                assert_true(CPU_ISSET(cpus[k], &set));
                assert_false(CPU_ISSET(cpus[k], &seen)); /* no CPU is of two cores */
                CPU_SET(cpus[k], &seen);
            }
        }
        /* Bind to each core, and see that it is so. */
        for (unsigned i = 0; i < cores; i++) {
            const unsigned *cpus;
            const size_t count = wcodec_topology_cpus(t, i, &cpus);
            cpu_set_t now;
            assert_true(wcodec_topology_bind(t, i));
            assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
            assert_int_equal(CPU_COUNT(&now), count);
            assert_true(CPU_ISSET(cpus[0], &now));
            assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
        }
        wcodec_topology_free(t);
    }
}

/* What this thread may not use is not counted. */
static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t set, one;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    unsigned last = 0;
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int way = 0; way < 2; way++) {
        const struct wcodec_topology_probe probe = {.no_hwloc = way};
        struct wcodec_topology *t = load(&probe);
        const unsigned *cpus;
        assert_int_equal(wcodec_topology_cores(t), 1);
        assert_int_equal(wcodec_topology_cpus(t, 0, &cpus), 1);
        assert_int_equal(cpus[0], last);
        wcodec_topology_free(t);
    }
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static void put_siblings(const char *root, unsigned cpu, const char *list)
{
    char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
             root, cpu);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')) != NULL; s++) {
        *s = '\0';
        mkdir(path, 0700);
        *s = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", list);
    fclose(file);
}

/* Without hwloc, hardware threads of one core are told by sysfs. */
static void test_siblings(void **state)
{
    (void)state;
    char root[] = "/tmp/wcodec-topology.XXXXXX", command[100];
    assert_non_null(mkdtemp(root));
    put_siblings(root, 0, "0,4");
    put_siblings(root, 4, "0,4");
    put_siblings(root, 1, "1,5");
    put_siblings(root, 5, "1,5");
    put_siblings(root, 2, "2-3");
    put_siblings(root, 3, "2-3");
    put_siblings(root, 6, "nonsense");
    const unsigned all[] = {0, 1, 2, 3, 4, 5, 6, 7}, some[] = {3, 4, 5}, high[] = {1500};
    is_order(
        &(struct wcodec_topology_probe){
            .no_hwloc = true, .root = root, .allowed = all, .allowed_count = 8},
        "0:0 0:1 0:2 0:6 0:7");
    is_order(
        &(struct wcodec_topology_probe){
            .no_hwloc = true, .root = root, .allowed = some, .allowed_count = 3},
        "0:3 0:4 0:5");
    is_order(
        &(struct wcodec_topology_probe){
            .no_hwloc = true, .root = root, .allowed = high, .allowed_count = 1},
        "0:1500");
    is_order(
        &(struct wcodec_topology_probe){
            .no_hwloc = true, .root = root, .allowed = all, .allowed_count = 0},
        "0:0");
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

#ifdef HAVE_HWLOC
static void test_synthetic(void **state)
{
    (void)state;
    /* All name their nodes by [numa]: hwloc 2.9 copies overlapping memory where it adds a node
     * itself. Cores, not hardware threads. */
    is_order(&(struct wcodec_topology_probe){.synthetic = "[numa] core:4 pu:2"}, "0:0 0:2 0:4 0:6");
    is_order(&(struct wcodec_topology_probe){.synthetic = "[numa] core:1 pu:1"}, "0:0");
    /* The caller's node first, the others after it by number. */
    is_order(&(struct wcodec_topology_probe){.synthetic = "pack:3 [numa] core:2 pu:2"},
             "0:0 0:2 1:4 1:6 2:8 2:10");
    is_order(&(struct wcodec_topology_probe){.synthetic = "pack:3 [numa] core:2 pu:2",
                                             .current_cpu = 1 + 5},
             "1:4 1:6 0:0 0:2 2:8 2:10");
    is_order(&(struct wcodec_topology_probe){.synthetic = "pack:3 [numa] core:2 pu:2",
                                             .current_cpu = 1 + 11},
             "2:8 2:10 0:0 0:2 1:4 1:6");
    is_order(&(struct wcodec_topology_probe){.synthetic = "pack:3 [numa] core:2 pu:2",
                                             .current_cpu = 1 + 99},
             "0:0 0:2 1:4 1:6 2:8 2:10");
    /* Dealt round the last-level caches of a node. */
    is_order(&(struct wcodec_topology_probe){.synthetic = "pack:2 [numa] l3:2 core:3 pu:1"},
             "0:0 0:3 0:1 0:4 0:2 0:5 1:6 1:9 1:7 1:10 1:8 1:11");
    /* Machines without core objects: hardware threads then. */
    is_order(&(struct wcodec_topology_probe){.synthetic = "[numa] pu:3"}, "0:0 0:1 0:2");
}

static void test_synthetic_restricted(void **state)
{
    (void)state;
    const unsigned second[] = {1, 3, 9}, none[] = {1000}, node1[] = {4, 5, 7};
    const struct wcodec_topology_probe threads = {.synthetic = "pack:3 [numa] core:2 pu:2",
                                                  .allowed = second,
                                                  .allowed_count = 3,
                                                  .current_cpu = 1 + 9};
    is_order(&threads, "2:9 0:1 0:3");
    const struct wcodec_topology_probe one = {
        .synthetic = "pack:3 [numa] core:2 pu:2", .allowed = node1, .allowed_count = 3};
    is_order(&one, "1:4 1:7");
    struct wcodec_topology *t = load(&one);
    const unsigned *cpus;
    assert_int_equal(wcodec_topology_nodes(t), 1);
    assert_int_equal(wcodec_topology_cpus(t, 0, &cpus), 2);
    assert_int_equal(wcodec_topology_cpus(t, 1, &cpus), 1);
    assert_string_equal(wcodec_topology_source(t), "hwloc");
    wcodec_topology_free(t);
    /* Nothing in common with what hwloc describes: what is allowed counts. */
    is_order(&(struct wcodec_topology_probe){.synthetic = "[numa] core:2 pu:1",
                                             .allowed = none,
                                             .allowed_count = 1,
                                             .root = "/nonexistent"},
             "0:1000");
    /* No topology at all. */
    t = load(&(struct wcodec_topology_probe){.synthetic = "no such thing"});
    assert_true(wcodec_topology_cores(t) >= 1);
    assert_string_equal(wcodec_topology_source(t), "affinity");
    wcodec_topology_free(t);
}

static void test_large(void **state)
{
    (void)state;
    struct wcodec_topology *t =
        load(&(struct wcodec_topology_probe){.synthetic = "pack:8 [numa] l3:8 core:16 pu:2"});
    assert_int_equal(wcodec_topology_cores(t), 1024);
    assert_int_equal(wcodec_topology_nodes(t), 8);
    for (unsigned i = 0; i < 1024; i++)
        assert_int_equal(wcodec_topology_node(t, i), i / 128);
    wcodec_topology_free(t);
}
#endif

static size_t allowed_calls;

static void *limited(void *opaque, size_t size)
{
    (void)opaque;
    return allowed_calls-- > 0 ? malloc(size) : NULL;
}

static void *limited_again(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    return allowed_calls-- > 0 ? realloc(memory, size) : NULL;
}

static void test_no_memory(void **state)
{
    (void)state;
    wcodec_allocator allocator = wcodec_default_allocator;
    allocator.allocate = limited;
    allocator.reallocate = limited_again;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    size_t n;
    for (n = 0; status != WCODEC_OK; n++) {
        struct wcodec_topology *t = NULL;
        wcodec_error err;
        allowed_calls = n;
        status = wcodec_topology_load(&allocator, &(struct wcodec_topology_probe){0}, &t, &err);
        assert_true(status == WCODEC_OK || (status == WCODEC_ERROR_MEMORY && t == NULL));
        allowed_calls = 100;
        wcodec_topology_free(t);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_machine), cmocka_unit_test(test_affinity),
        cmocka_unit_test(test_siblings),
#ifdef HAVE_HWLOC
        cmocka_unit_test(test_synthetic),    cmocka_unit_test(test_synthetic_restricted),
        cmocka_unit_test(test_large),
#endif
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
