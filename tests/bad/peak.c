/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* usage: peak FILE COMMAND [ARGUMENT...]
 * Runs the command, ends with its exit code, and writes to FILE the most bytes that were resident
 * at once. Small itself: a child counts from what its parent had. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    FILE *file = fopen(words[1], "w");
    const pid_t child = file == NULL ? -1 : fork();
    if (child == 0) {
        execvp(words[2], words + 2);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 99;
    fprintf(file, "%lld\n", (long long)usage.ru_maxrss * 1024);
    if (fclose(file) != 0)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
