/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Preloaded: kernels of CUDA that go wrong on a real device. From the launch LAUNCH_AT [1] on, or
 * that one alone with LAUNCH_ONCE, in the place of a kernel there is, by LAUNCH_FAULT: trap one
 * that ends in an illegal instruction: the context is lost endless   one that takes LAUNCH_SECONDS
 * [30] and computes nothing nothing   none, so that what is found in memory is what was there twice
 * the same kernel twice timeout   an error of the launch, CUDA_ERROR_LAUNCH_TIMEOUT count itself;
 * at the end the number of launches is said on standard error Functions of the driver are found by
 * dlsym(), which this stands before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void *, void **, void **);
typedef int (*extended_fn)(const void *, void *, void **, void **);
typedef void *(*find_fn)(void *, const char *);

struct extended { /* CUlaunchConfig */
    unsigned groups[3], threads[3], shared;
    void *stream;
};

enum { TIMED_OUT = 702, NO_KERNEL = 500 };

static const char kernels[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry wrong_trap() { trap; ret; }\n"
    ".visible .entry wrong_endless(.param .u64 time) {\n"
    ".reg .u64 %now, %end;\n.reg .pred %more;\n"
    "ld.param.u64 %end, [time];\nmov.u64 %now, %globaltimer;\nadd.u64 %end, %end, %now;\n"
    "AGAIN: mov.u64 %now, %globaltimer;\nsetp.lt.u64 %more, %now, %end;\n@%more bra AGAIN;\n"
    "ret;\n}\n";

static find_fn find;
static launch_fn launch;
static extended_fn launch_extended;
static int (*load)(void **, const void *), (*function_of)(void **, void *, const char *);
static atomic_long count;

static void *next(void *library, const char *symbol)
{
    if (find == NULL) {
        static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
        for (unsigned i = 0; i < 3 && find == NULL; i++) {
            void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
            memcpy(&find, &found, sizeof found);
        }
        if (find == NULL)
            abort();
    }
    return find(library, symbol);
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

/* Whether this launch goes wrong, and how. */
static const char *fault(void)
{
    const char *which = getenv("LAUNCH_FAULT");
    const long now = atomic_fetch_add(&count, 1) + 1, at = number("LAUNCH_AT", 1);
    if (which == NULL || strcmp(which, "count") == 0)
        return NULL;
    return now == at || (now > at && getenv("LAUNCH_ONCE") == NULL) ? which : NULL;
}

static int launch_wrong(const char *which, void *stream)
{
    void *module, *function;
    char name[32];
    uint64_t time = (uint64_t)number("LAUNCH_SECONDS", 30) * 1000000000u;
    void *arguments[] = {&time};
    if (strcmp(which, "timeout") == 0)
        return TIMED_OUT;
    if (strcmp(which, "nothing") == 0)
        return 0;
    snprintf(name, sizeof name, "wrong_%s", which);
    if (load(&module, kernels) != 0 || function_of(&function, module, name) != 0) {
        fprintf(stderr, "launches: no kernel %s\n", name);
        return NO_KERNEL;
    }
    return launch(function, 1, 1, 1, 1, 1, 1, 0, stream,
                  strcmp(which, "endless") == 0 ? arguments : NULL, NULL);
}

static int launch_by(void *f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                     unsigned tz, unsigned shared, void *stream, void **arguments, void **extra)
{
    const char *which = fault();
    if (which != NULL && strcmp(which, "twice") != 0)
        return launch_wrong(which, stream);
    if (which != NULL)
        launch(f, x, y, z, tx, ty, tz, shared, stream, arguments, extra);
    return launch(f, x, y, z, tx, ty, tz, shared, stream, arguments, extra);
}

static int extended_by(const void *config, void *f, void **arguments, void **extra)
{
    const char *which = fault();
    if (which != NULL && strcmp(which, "twice") != 0)
        return launch_wrong(which, ((const struct extended *)config)->stream);
    if (which != NULL)
        launch_extended(config, f, arguments, extra);
    return launch_extended(config, f, arguments, extra);
}

void *dlsym(void *restrict library, const char *restrict symbol)
{
    void *found = next(library, symbol), *by;
    launch_fn one = launch_by;
    extended_fn other = extended_by;
    if (found == NULL || library == RTLD_NEXT || strncmp(symbol, "cuLaunchKernel", 14) != 0)
        return found;
    if (symbol[14] == 0) {
        memcpy(&launch, &found, sizeof found);
        found = next(library, "cuModuleLoadData");
        memcpy(&load, &found, sizeof found);
        found = next(library, "cuModuleGetFunction");
        memcpy(&function_of, &found, sizeof found);
        memcpy(&by, &one, sizeof by);
    } else if (strcmp(symbol + 14, "Ex") == 0) {
        memcpy(&launch_extended, &found, sizeof found);
        memcpy(&by, &other, sizeof by);
    } else {
        return found;
    }
    return by;
}

__attribute__((destructor)) static void say(void)
{
    const char *which = getenv("LAUNCH_FAULT");
    if (which != NULL && strcmp(which, "count") == 0)
        fprintf(stderr, "launches: %ld\n", (long)atomic_load(&count));
}
