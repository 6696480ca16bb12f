/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "sched/topology.h"
#include "core/assert.h"
#include "core/conf.h"
#include "core/error.h"
#include "core/memory.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

struct core {
    unsigned first, count; /* its CPUs, in the topology's list */
    unsigned node;
    unsigned cache;    /* a number that cores of one last-level cache share */
    unsigned in_cache; /* how many cores of its cache come before it */
};

struct wcodec_topology {
    const wcodec_allocator *allocator;
    const char *source;
    unsigned core_count;
    unsigned node_count;
    struct core *cores;
    unsigned *cpus;
    unsigned cpu_count;
    unsigned capacity; /* of cores and of cpus each */
};

#ifdef HAVE_SCHED_GETAFFINITY
typedef cpu_set_t cpu_bits;
#else
typedef unsigned char cpu_bits;
#endif

/* CPUs that may be used. */
struct cpu_set {
    cpu_bits *bits;
    size_t bytes;
};

enum { CPU_LIMIT = 1 << 20 };

static unsigned set_limit(const struct cpu_set *set)
{
    return (unsigned)(8 * set->bytes);
}

#ifdef HAVE_SCHED_GETAFFINITY
static size_t set_bytes(unsigned cpus)
{
    return CPU_ALLOC_SIZE(cpus);
}

static bool contains(const struct cpu_set *set, unsigned cpu)
{
    return CPU_ISSET_S(cpu, set->bytes, set->bits);
}

static void add(struct cpu_set *set, unsigned cpu)
{
    CPU_SET_S(cpu, set->bytes, set->bits);
}

static bool get_affinity(struct cpu_set *set)
{
    return sched_getaffinity(0, set->bytes, set->bits) == 0;
}

static bool set_affinity(const struct cpu_set *set)
{
    return sched_setaffinity(0, set->bytes, set->bits) == 0;
}

static int current_cpu(void)
{
    return sched_getcpu();
}
#else
/* macOS has no affinity of threads to CPUs: all may be used, and no thread is bound. */

static size_t set_bytes(unsigned cpus)
{
    return ((size_t)cpus + 7) / 8;
}

static bool contains(const struct cpu_set *set, unsigned cpu)
{
    return (set->bits[cpu / 8] >> cpu % 8 & 1) != 0;
}

static void add(struct cpu_set *set, unsigned cpu)
{
    set->bits[cpu / 8] |= (unsigned char)(1U << cpu % 8);
}

static bool get_affinity(struct cpu_set *set)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1 || (unsigned long)count > set_limit(set)) {
        errno = count < 1 ? ENOSYS : EINVAL;
        return false;
    }
    for (unsigned cpu = 0; cpu < (unsigned)count; cpu++)
        add(set, cpu);
    return true;
}

/* Not even refused: who asks would report it for every thread. */
static bool set_affinity(const struct cpu_set *set)
{
    (void)set;
    return true;
}

static int current_cpu(void)
{
    return -1;
}
#endif

static bool set_allocate(const wcodec_allocator *allocator, unsigned cpus, struct cpu_set *set)
{
    set->bytes = set_bytes(cpus);
    set->bits = wcodec_alloc_zeroed(allocator, set->bytes);
    return set->bits != NULL;
}

/* The calling thread's affinity, which its workers inherit. The kernel says EINVAL while the set is
 * smaller than its own. */
static bool read_affinity(const wcodec_allocator *allocator, struct cpu_set *set)
{
    for (unsigned cpus = 1024; cpus <= CPU_LIMIT; cpus *= 2) {
        if (!set_allocate(allocator, cpus, set))
            return false;
        if (get_affinity(set))
            return true;
        bool small = errno == EINVAL && cpus < CPU_LIMIT;
        if (!small) {
            /* Not even that is known: one CPU. */
            memset(set->bits, 0, set->bytes);
            add(set, 0);
            return true;
        }
        wcodec_free(allocator, set->bits);
        set->bits = NULL;
    }
    return false;
}

static bool read_allowed(const wcodec_allocator *allocator,
                         const struct wcodec_topology_probe *probe, struct cpu_set *set)
{
    if (probe->allowed == NULL)
        return read_affinity(allocator, set);
    unsigned limit = 1;
    for (size_t i = 0; i < probe->allowed_count; i++)
        if (probe->allowed[i] < CPU_LIMIT && probe->allowed[i] >= limit)
            limit = probe->allowed[i] + 1;
    if (!set_allocate(allocator, limit, set))
        return false;
    for (size_t i = 0; i < probe->allowed_count; i++)
        if (probe->allowed[i] < limit)
            add(set, probe->allowed[i]);
    return true;
}

/* Make room for one core and one CPU more. */
static bool grow(struct wcodec_topology *t)
{
    if (t->cpu_count < t->capacity)
        return true;
    unsigned capacity = t->capacity ? 2 * t->capacity : 64;
    struct core *cores = wcodec_realloc_array(t->allocator, t->cores, capacity, sizeof *cores);
    if (cores == NULL)
        return false;
    t->cores = cores;
    unsigned *cpus = wcodec_realloc_array(t->allocator, t->cpus, capacity, sizeof *cpus);
    if (cpus == NULL)
        return false;
    t->cpus = cpus;
    t->capacity = capacity;
    return true;
}

static bool add_cpu(struct wcodec_topology *t, unsigned cpu)
{
    if (!grow(t))
        return false;
    t->cpus[t->cpu_count++] = cpu;
    return true;
}

/* The CPUs added from number `first` on are a core. */
static void add_core(struct wcodec_topology *t, unsigned first, unsigned node, unsigned cache)
{
    if (t->cpu_count > first)
        t->cores[t->core_count++] = (struct core){
            .first = first, .count = t->cpu_count - first, .node = node, .cache = cache};
}

#ifdef HAVE_HWLOC
static void block_components(hwloc_topology_t hwloc)
{
    /* GPU libraries are slow to open, and hwloc's OpenCL component and PoCL can recurse into each
     * other. */
#if HWLOC_API_VERSION >= 0x00020100
    static const char *const names[] = {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl", "pci"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, names[i]);
#endif
    /* Of the caches only the last level's is asked for. Packages and groups stay: NUMA nodes are
     * attached to them. I/O devices are left out by default. */
    hwloc_topology_set_cache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
}

static bool add_hwloc_core(struct wcodec_topology *t, hwloc_topology_t hwloc, hwloc_obj_t object,
                           const struct cpu_set *allowed)
{
    unsigned first = t->cpu_count;
    for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(object->cpuset, cpu))
        if (allowed->bits == NULL ||
            ((unsigned)cpu < set_limit(allowed) && contains(allowed, (unsigned)cpu)))
            if (!add_cpu(t, (unsigned)cpu))
                return false;
    int node = object->nodeset != NULL ? hwloc_bitmap_first(object->nodeset) : 0;
    hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_L3CACHE, object);
    add_core(t, first, node > 0 ? (unsigned)node : 0, cache != NULL ? cache->logical_index : 0);
    return true;
}

/* False only when memory is out; a machine that hwloc cannot describe leaves no cores. */
static bool load_hwloc(struct wcodec_topology *t, const struct wcodec_topology_probe *probe,
                       const struct cpu_set *allowed)
{
    /* hwloc takes plugin paths from the environment even in a program with raised privileges. */
    if (probe->no_hwloc || wcodec_conf_is_privileged())
        return true;
    /* Without these hwloc finds nothing, and says so on standard error, which is not ours to write
     * to. */
    if (probe->synthetic == NULL && access("/sys/devices/system/cpu/cpu0/topology", F_OK) != 0 &&
        access("/sys/bus/cpu/devices/cpu0/topology", F_OK) != 0)
        return true;
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) != 0)
        return true;
    bool right = true;
    block_components(hwloc);
    if (probe->synthetic != NULL && hwloc_topology_set_synthetic(hwloc, probe->synthetic) != 0)
        goto destroy_hwloc;
    if (hwloc_topology_load(hwloc) != 0)
        goto destroy_hwloc;
    /* The user's HWLOC_XMLFILE and the like describe another machine. */
    if (probe->synthetic == NULL && !hwloc_topology_is_thissystem(hwloc))
        goto destroy_hwloc;
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (hwloc_obj_t object = NULL;
         right && (object = hwloc_get_next_obj_by_type(hwloc, type, object)) != NULL;)
        right = add_hwloc_core(t, hwloc, object, allowed);
    t->source = "hwloc";

destroy_hwloc:
    hwloc_topology_destroy(hwloc);
    return right;
}
#endif

/* Is there an allowed CPU below `cpu` in a list like "0,8" or "0-3,8-11": then the core is counted
 * already. Unreadable lists have none. */
static bool has_lower_sibling(const char *list, unsigned cpu, const struct cpu_set *allowed)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < cpu; i++)
            if (contains(allowed, (unsigned)i))
                return true;
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

static bool is_second_thread(const char *root, unsigned cpu, const struct cpu_set *allowed)
{
    char path[512], list[4096];
    if (snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
                 root, cpu) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool second = fgets(list, sizeof list, file) != NULL && has_lower_sibling(list, cpu, allowed);
    fclose(file);
    return second;
}

/* Without hwloc: cores by their first usable hardware thread; NUMA nodes and caches are not looked
 * for. */
static bool load_affinity(struct wcodec_topology *t, const struct wcodec_topology_probe *probe,
                          const struct cpu_set *allowed)
{
    t->source = "affinity";
    for (unsigned cpu = 0; cpu < set_limit(allowed); cpu++) {
        if (!contains(allowed, cpu) ||
            is_second_thread(probe->root != NULL ? probe->root : "", cpu, allowed))
            continue;
        unsigned first = t->cpu_count;
        if (!add_cpu(t, cpu))
            return false;
        add_core(t, first, 0, 0);
    }
    return true;
}

static int compare_cores(const void *a, const void *b)
{
    const struct core *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->in_cache != y->in_cache)
        return x->in_cache < y->in_cache ? -1 : 1;
    if (x->cache != y->cache)
        return x->cache < y->cache ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The node of the core that holds a CPU; the first core's if none does. */
static unsigned node_of_cpu(const struct wcodec_topology *t, unsigned cpu)
{
    for (unsigned i = 0; i < t->core_count; i++)
        for (unsigned k = 0; k < t->cores[i].count; k++)
            if (t->cpus[t->cores[i].first + k] == cpu)
                return t->cores[i].node;
    return t->cores[0].node;
}

static void rotate_left(struct core *cores, unsigned count, unsigned by)
{
    for (; by > 0 && by < count; by--) {
        struct core first = cores[0];
        memmove(cores, cores + 1, (count - 1) * sizeof *cores);
        cores[count - 1] = first;
    }
}

/* Put the cores in the order that the header describes: sorted, then the home node's block moved to
 * the front. */
static void order_cores(struct wcodec_topology *t, unsigned home)
{
    for (unsigned i = 0; i < t->core_count; i++)
        for (unsigned k = i; k-- > 0;)
            if (t->cores[k].cache == t->cores[i].cache && t->cores[k].node == t->cores[i].node) {
                t->cores[i].in_cache = t->cores[k].in_cache + 1;
                break;
            }
    qsort(t->cores, t->core_count, sizeof *t->cores, compare_cores);
    unsigned before = 0, own = 0;
    t->node_count = 1;
    for (unsigned i = 0; i < t->core_count; i++) {
        before += t->cores[i].node < home;
        own += t->cores[i].node == home;
        t->node_count += i > 0 && t->cores[i].node != t->cores[i - 1].node;
    }
    /* The lower nodes go after the home node, in one rotation of what lies before its end. */
    rotate_left(t->cores, before + own, before);
}

wcodec_status wcodec_topology_load(const wcodec_allocator *allocator,
                                   const struct wcodec_topology_probe *probe,
                                   struct wcodec_topology **topology, wcodec_error *err)
{
    bool this_machine = probe->synthetic == NULL && probe->allowed == NULL;
    struct cpu_set allowed = {NULL, 0};
    struct wcodec_topology *t = wcodec_alloc_zeroed(allocator, sizeof *t);
    if (t == NULL)
        goto no_memory;
    t->allocator = allocator;
    if ((probe->synthetic == NULL || probe->allowed != NULL) &&
        !read_allowed(allocator, probe, &allowed))
        goto no_memory;
#ifdef HAVE_HWLOC
    if (!load_hwloc(t, probe, &allowed))
        goto no_memory;
#endif
    if (t->core_count == 0 && allowed.bits == NULL && !read_affinity(allocator, &allowed))
        goto no_memory;
    if (t->core_count == 0 && !load_affinity(t, probe, &allowed))
        goto no_memory;
    if (t->core_count == 0) {
        if (!add_cpu(t, 0))
            goto no_memory;
        add_core(t, 0, 0, 0);
    }
    int cpu = this_machine ? current_cpu() : probe->current_cpu - 1;
    order_cores(t, cpu >= 0 ? node_of_cpu(t, (unsigned)cpu) : t->cores[0].node);
    wcodec_free(allocator, allowed.bits);
    *topology = t;
    return WCODEC_OK;

no_memory:
    wcodec_free(allocator, allowed.bits);
    wcodec_topology_free(t);
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the list of cores");
}

void wcodec_topology_free(struct wcodec_topology *topology)
{
    if (topology == NULL)
        return;
    wcodec_free(topology->allocator, topology->cores);
    wcodec_free(topology->allocator, topology->cpus);
    wcodec_free(topology->allocator, topology);
}

unsigned wcodec_topology_cores(const struct wcodec_topology *topology)
{
    return topology->core_count;
}

unsigned wcodec_topology_nodes(const struct wcodec_topology *topology)
{
    return topology->node_count;
}

unsigned wcodec_topology_node(const struct wcodec_topology *topology, unsigned i)
{
    WCODEC_ASSERT(i < topology->core_count);
    return topology->cores[i].node;
}

size_t wcodec_topology_cpus(const struct wcodec_topology *topology, unsigned i,
                            const unsigned **cpus)
{
    WCODEC_ASSERT(i < topology->core_count);
    *cpus = topology->cpus + topology->cores[i].first;
    return topology->cores[i].count;
}

const char *wcodec_topology_source(const struct wcodec_topology *topology)
{
    return topology->source;
}

bool wcodec_topology_bind(const struct wcodec_topology *topology, unsigned i)
{
    WCODEC_ASSERT(i < topology->core_count);
    const struct core *core = &topology->cores[i];
    unsigned limit = 1;
    for (unsigned k = 0; k < core->count; k++)
        if (topology->cpus[core->first + k] >= limit)
            limit = topology->cpus[core->first + k] + 1;
    struct cpu_set set;
    if (!set_allocate(topology->allocator, limit, &set))
        return false;
    for (unsigned k = 0; k < core->count; k++)
        add(&set, topology->cpus[core->first + k]);
    bool bound = set_affinity(&set);
    wcodec_free(topology->allocator, set.bits);
    return bound;
}
