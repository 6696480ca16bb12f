/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Checked longjmp() takes a jump to another stack for a mistake. */
#undef _FORTIFY_SOURCE

#include "backends/emulate/fibers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif

/* ThreadSanitizer loses its way between stacks. */
#if defined(HAVE_MAKECONTEXT) && defined(HAVE_SWAPCONTEXT) && !defined(__SANITIZE_THREAD__) && \
    !HAS_FEATURE(thread_sanitizer)
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WITH_ADDRESS_SANITIZER
#endif

/* How a fiber is left and entered. Jumps are the compiler's on a processor for which both gcc and
 * clang have them, and the C library's elsewhere, for which AddressSanitizer calls the system
 * twice, as it does for a switch of contexts. */
#if defined(__x86_64__)
typedef void *jump_buffer[5];
#define SET_JUMP(buffer) __builtin_setjmp(buffer)
#define JUMP(buffer) __builtin_longjmp(buffer, 1)
#elif !defined(WITH_ADDRESS_SANITIZER)
typedef jmp_buf jump_buffer;
#define SET_JUMP(buffer) _setjmp(buffer)
#define JUMP(buffer) _longjmp(buffer, 1)
#endif

/* Only pages that are touched take memory. */
enum { STACK_SIZE = 512 << 10, WARPS_MAX = WCODEC_FIBERS_MAX / WCODEC_FIBERS_WARP };

/* What is switched between: a lane, or the thread that runs the group. A lane is begun by its
 * context, and from then on left and entered by jumps: a switch of contexts calls the system. */
struct fiber {
    ucontext_t context;
#ifdef JUMP
    jump_buffer jump;
#endif
    bool begun;
    const void *stack;
    size_t stack_size;
    void *fake_stack; /* AddressSanitizer's */
};

struct lane {
    struct fiber fiber;
    uint8_t *map; /* a guard page, and the stack; both and the fiber are kept for the next group */
    /* The collective at which it waits, or waited last: file is NULL before the first. */
    const char *file;
    int line;
    enum wcodec_collective kind;
    uint32_t value;
    uint32_t from;
    uint32_t result;
};

/* Bit l of a mask is lane l's. Lanes that run or are ready are in `ready`, others wait or have
 * ended. */
struct warp {
    uint32_t ready;
    uint32_t ended;
    uint32_t waiting; /* for the warp; of the others each waits for the group */
};

struct wcodec_fibers {
    size_t page;
    uint64_t random;
    uint32_t threads;
    uint32_t running;               /* number of the lane that runs */
    uint32_t of_group;              /* lanes */
    uint32_t at_barrier[WARPS_MAX]; /* of each group: lanes that wait for it */
    uint32_t ready;                 /* bit w: warp w has lanes that can run */
    void (*function)(void *argument, uint32_t thread);
    void *argument;
    struct fiber caller;
    struct warp warps[WARPS_MAX];
    struct lane lanes[WCODEC_FIBERS_MAX];
};

/* Lanes stay on the thread that runs their group. */
static _Thread_local struct wcodec_fibers *current;

static const char *const collective_names[] = {
    [WCODEC_COLLECTIVE_BALLOT] = "ballot",
    [WCODEC_COLLECTIVE_SHUFFLE] = "shuffle",
    [WCODEC_COLLECTIVE_ADD] = "add",
    [WCODEC_COLLECTIVE_SYNC_WARP] = "sync of the warp",
    [WCODEC_COLLECTIVE_SYNC_GROUP] = "sync of the group",
};

bool wcodec_fibers_supported(void)
{
    return true;
}

static void release(struct wcodec_fibers *f)
{
    for (uint32_t i = 0; i < WCODEC_FIBERS_MAX; i++) {
        if (f->lanes[i].map == NULL)
            continue;
        munmap(f->lanes[i].map, f->page + STACK_SIZE);
    }
    free(f);
}

/* Fibers that nobody uses, for the next launch: their stacks take longer to make than most launches
 * do. */
static _Atomic(struct wcodec_fibers *) idle[2];

struct wcodec_fibers *wcodec_fibers_create(void)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct wcodec_fibers *kept = atomic_exchange(&idle[i], NULL);
        if (kept != NULL)
            return kept;
    }
    struct wcodec_fibers *f = calloc(1, sizeof *f);
    if (f != NULL)
        f->page = (size_t)sysconf(_SC_PAGESIZE);
    return f;
}

void wcodec_fibers_destroy(struct wcodec_fibers *f)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct wcodec_fibers *none = NULL;
        if (atomic_compare_exchange_strong(&idle[i], &none, f))
            return;
    }
    release(f);
}

/* When the plugin is unloaded, or the process ends. */
static __attribute__((destructor)) void release_idle(void)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct wcodec_fibers *kept = atomic_exchange(&idle[i], NULL);
        if (kept != NULL)
            release(kept);
    }
}

static uint32_t next_random(struct wcodec_fibers *f)
{
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->random >> 33);
}

/* The number of a bit that is set. mask: not 0. */
static uint32_t random_bit(struct wcodec_fibers *f, uint32_t mask)
{
    const uint32_t turn = next_random(f) % 32, turned = mask >> turn | mask << (32 - turn) % 32;
    return ((uint32_t)__builtin_ctz(turned) + turn) % 32;
}

static uint32_t lanes_at(const struct wcodec_fibers *f, uint32_t warp, const struct lane *like)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < WCODEC_FIBERS_WARP; i++) {
        const struct lane *l = &f->lanes[warp * WCODEC_FIBERS_WARP + i];
        if (l->file == like->file && l->line == like->line && l->kind == like->kind)
            mask |= 1u << i;
    }
    return mask;
}

/* Lanes of a warp, those at the same place of the program in one line. */
static void print_warp(const struct wcodec_fibers *f, uint32_t warp)
{
    const struct warp *w = &f->warps[warp];
    uint32_t left = ~(w->ended | w->ready);
    while (left != 0) {
        const uint32_t first = (uint32_t)__builtin_ctz(left);
        const struct lane *l = &f->lanes[warp * WCODEC_FIBERS_WARP + first];
        const uint32_t here = left & lanes_at(f, warp, l);
        fprintf(stderr, "  warp %u: lanes %08x wait in %s at %s:%d\n", warp, here,
                collective_names[l->kind], l->file, l->line);
        left &= ~here;
    }
    if (w->ready != 0)
        fprintf(stderr, "  warp %u: lanes %08x can run\n", warp, w->ready);
    if (w->ended != 0)
        fprintf(stderr, "  warp %u: lanes %08x have ended\n", warp, w->ended);
}

static _Noreturn void fail_all(const struct wcodec_fibers *f, const char *what)
{
    fprintf(stderr, "%s:\n", what);
    for (uint32_t w = 0; w < f->threads / WCODEC_FIBERS_WARP; w++)
        print_warp(f, w);
    fflush(stderr);
    abort();
}

void wcodec_fibers_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: warp %u, lane %u: ", file, line, current->running / WCODEC_FIBERS_WARP,
            current->running % WCODEC_FIBERS_WARP);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    fflush(stderr);
    va_end(arguments);
    abort();
}

/* What AddressSanitizer gets after a switch, on the stack of `to`. It knows where the caller's
 * stack is, which was left by the first switch. */
static void arrive(struct wcodec_fibers *f, struct fiber *to)
{
#ifdef WITH_ADDRESS_SANITIZER
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(to->fake_stack, &bottom, &size);
    if (f->caller.stack == NULL) {
        f->caller.stack = bottom;
        f->caller.stack_size = size;
    }
#else
    (void)f, (void)to;
#endif
}

#ifdef JUMP
/* A function of its own, as the compiler's jumps want it; AddressSanitizer would look at the whole
 * stack before each. */
static __attribute__((noinline, no_sanitize_address)) void enter(struct fiber *to)
{
    if (to->begun)
        JUMP(to->jump);
    to->begun = true;
    setcontext(&to->context);
}
#endif

/* `from` returns when somebody switches to it. */
static __attribute__((no_sanitize_address)) void switch_to(struct wcodec_fibers *f,
                                                           struct fiber *from, struct fiber *to)
{
#ifdef WITH_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef JUMP
    if (SET_JUMP(from->jump) == 0)
        enter(to);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrive(f, from);
}

/* Let another lane run; the caller when all have ended. */
static void run_next(struct wcodec_fibers *f)
{
    struct fiber *from = &f->lanes[f->running].fiber;
    if (f->ready != 0) {
        const uint32_t warp = random_bit(f, f->ready),
                       next = warp * WCODEC_FIBERS_WARP + random_bit(f, f->warps[warp].ready);
        if (next == f->running)
            return;
        f->running = next;
        switch_to(f, from, &f->lanes[next].fiber);
        return;
    }
    for (uint32_t w = 0; w < f->threads / WCODEC_FIBERS_WARP; w++)
        if (f->warps[w].ended != ~0u)
            fail_all(f, "not all lanes have reached a collective");
    switch_to(f, from, &f->caller);
}

static void set_ready(struct wcodec_fibers *f, uint32_t warp, uint32_t lanes)
{
    f->warps[warp].ready = lanes;
    if (lanes != 0)
        f->ready |= 1u << warp;
    else
        f->ready &= ~(1u << warp);
}

/* A lane's first function: group after group. */
static void lane_begin(void)
{
    struct wcodec_fibers *f = current;
    const uint32_t thread = f->running, lane = thread % WCODEC_FIBERS_WARP,
                   warp = thread / WCODEC_FIBERS_WARP;
    arrive(f, &f->lanes[thread].fiber);
    for (;;) {
        f->function(f->argument, thread);
        f->warps[warp].ended |= 1u << lane;
        set_ready(f, warp, f->warps[warp].ready & ~(1u << lane));
        run_next(f);
    }
}

static void lane_prepare(struct wcodec_fibers *f, struct lane *l)
{
    l->file = NULL;
    if (l->map != NULL)
        return;
    l->map = mmap(NULL, f->page + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    if (l->map == MAP_FAILED || mprotect(l->map, f->page, PROT_NONE) != 0) {
        fputs("no memory for the stacks of a work-group\n", stderr);
        abort();
    }
    l->fiber.stack = l->map + f->page;
    l->fiber.stack_size = STACK_SIZE;
#ifdef WITH_ADDRESS_SANITIZER
    /* It knows of frames that a stack ended with that was here before. */
    __asan_unpoison_memory_region(l->fiber.stack, STACK_SIZE);
#endif
    getcontext(&l->fiber.context);
    l->fiber.context.uc_link = NULL;
    l->fiber.context.uc_stack.ss_sp = l->map + f->page;
    l->fiber.context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&l->fiber.context, lane_begin, 0);
    /* Not needed any more. AddressSanitizer would forget with the switch what it knows of a stack
     * of that size. */
    l->fiber.context.uc_stack.ss_size = 0;
}

void wcodec_fibers_run_groups(struct wcodec_fibers *f, uint32_t groups, uint32_t of_group,
                              uint64_t seed, void (*function)(void *argument, uint32_t thread),
                              void *argument)
{
    struct wcodec_fibers *before = current;
    const uint32_t threads = groups * of_group;
    f->random = seed;
    f->threads = threads;
    f->of_group = of_group;
    memset(f->at_barrier, 0, sizeof f->at_barrier);
    f->function = function;
    f->argument = argument;
    f->caller.stack = NULL;
    f->caller.begun = true;
    for (uint32_t i = 0; i < threads; i++)
        lane_prepare(f, &f->lanes[i]);
    for (uint32_t w = 0; w < threads / WCODEC_FIBERS_WARP; w++) {
        f->warps[w] = (struct warp){0};
        set_ready(f, w, ~0u);
    }
    current = f;
    f->running = next_random(f) % threads;
    switch_to(f, &f->caller, &f->lanes[f->running].fiber);
    current = before;
}

void wcodec_fibers_run(struct wcodec_fibers *f, uint32_t threads, uint64_t seed,
                       void (*function)(void *argument, uint32_t thread), void *argument)
{
    wcodec_fibers_run_groups(f, 1, threads, seed, function, argument);
}

void wcodec_fibers_pause(void)
{
    run_next(current);
}

/* All lanes of a warp wait for each other. */
static void complete_warp(struct wcodec_fibers *f, uint32_t warp)
{
    struct lane *lanes = &f->lanes[warp * WCODEC_FIBERS_WARP];
    uint32_t ballot = 0, sum = 0;
    if (lanes_at(f, warp, lanes) != ~0u)
        fail_all(f, "lanes of a warp are in different collectives");
    for (uint32_t i = 0; i < WCODEC_FIBERS_WARP; i++) {
        ballot |= (uint32_t)(lanes[i].value != 0) << i;
        sum += lanes[i].value;
    }
    for (uint32_t i = 0; i < WCODEC_FIBERS_WARP; i++)
        lanes[i].result = lanes[0].kind == WCODEC_COLLECTIVE_BALLOT    ? ballot
                          : lanes[0].kind == WCODEC_COLLECTIVE_SHUFFLE ? lanes[lanes[i].from].value
                          : lanes[0].kind == WCODEC_COLLECTIVE_ADD     ? sum
                                                                       : 0;
    f->warps[warp].waiting = 0;
    set_ready(f, warp, ~0u);
}

/* All lanes of a group are at a barrier. */
static void complete_group(struct wcodec_fibers *f, uint32_t group)
{
    const uint32_t begin = group * f->of_group / WCODEC_FIBERS_WARP,
                   end = begin + f->of_group / WCODEC_FIBERS_WARP;
    const struct lane *first = &f->lanes[group * f->of_group];
    f->at_barrier[group] = 0;
    for (uint32_t w = begin; w < end; w++)
        if (lanes_at(f, w, first) != ~0u)
            fail_all(f, "lanes of a group are at different barriers");
    for (uint32_t w = begin; w < end; w++)
        set_ready(f, w, ~0u);
}

uint32_t wcodec_fibers_meet(enum wcodec_collective kind, uint32_t value, uint32_t from,
                            const char *file, int line)
{
    struct wcodec_fibers *f = current;
    const uint32_t bit = 1u << f->running % WCODEC_FIBERS_WARP,
                   warp = f->running / WCODEC_FIBERS_WARP;
    struct lane *l = &f->lanes[f->running];
    l->file = file;
    l->line = line;
    l->kind = kind;
    l->value = value;
    l->from = from;
    l->result = 0;
    if (kind == WCODEC_COLLECTIVE_SHUFFLE && from >= WCODEC_FIBERS_WARP)
        wcodec_fibers_fail(file, line, "shuffle from lane %u", from);
    set_ready(f, warp, f->warps[warp].ready & ~bit);
    if (kind == WCODEC_COLLECTIVE_SYNC_GROUP) {
        const uint32_t group = f->running / f->of_group;
        if (++f->at_barrier[group] == f->of_group)
            complete_group(f, group);
    } else {
        f->warps[warp].waiting |= bit;
        if (f->warps[warp].waiting == ~0u)
            complete_warp(f, warp);
    }
    run_next(f);
    return l->result;
}

#else

bool wcodec_fibers_supported(void)
{
    return false;
}

/* Nothing below is called. */

struct wcodec_fibers *wcodec_fibers_create(void)
{
    return NULL;
}

void wcodec_fibers_destroy(struct wcodec_fibers *fibers)
{
    (void)fibers;
}

void wcodec_fibers_run(struct wcodec_fibers *fibers, uint32_t threads, uint64_t seed,
                       void (*function)(void *argument, uint32_t thread), void *argument)
{
    (void)fibers, (void)threads, (void)seed, (void)function, (void)argument;
}

void wcodec_fibers_run_groups(struct wcodec_fibers *fibers, uint32_t groups, uint32_t threads,
                              uint64_t seed, void (*function)(void *argument, uint32_t thread),
                              void *argument)
{
    (void)fibers, (void)groups, (void)threads, (void)seed, (void)function, (void)argument;
}

void wcodec_fibers_pause(void)
{
}

uint32_t wcodec_fibers_meet(enum wcodec_collective kind, uint32_t value, uint32_t from,
                            const char *file, int line)
{
    (void)kind, (void)value, (void)from, (void)file, (void)line;
    return 0;
}

void wcodec_fibers_fail(const char *file, int line, const char *format, ...)
{
    (void)file, (void)line, (void)format;
    abort();
}

#endif
