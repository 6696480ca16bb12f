/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* usage: crowd MIB [churn]
 *
 * Another process that has all memory of the first CUDA device but so much. Says "full" when it
 * has, and ends with its standard input; with "churn" it gives blocks back and takes them again all
 * the time. */
#include "bench/gpu/ballast.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct ballast b;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    const bool churns = argc > 2;
    const uint64_t leave = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    if (!ballast_take(&b, leave)) {
        puts("no device");
        return 77;
    }
    puts("full");
    fflush(stdout);
    while (poll(&in, 1, churns ? 3 : -1) == 0) {
        ballast_drop(&b);
        poll(&in, 1, 3);
        if (!ballast_take(&b, leave))
            return 1;
    }
    return 0;
}
