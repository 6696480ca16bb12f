/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/mpi/messages.h"
#include "utils/signals.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_ASK = 1, TAG_ANSWER = 2 };

/* Before the texts, each of which ends with a zero. All ranks are one program, so there is one
 * layout. */
struct ask_head {
    double seconds;
    uint64_t parts;
    struct sums sums;
    int asking;
    int exit_code;
};

struct answer_head {
    uint64_t mirror_length, part;
    double seconds;
    int work;
    int exit_code;
    int is_end, has_target;
};

void message_pause(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
}

/* A head and two texts. */
static bool send_texts(struct app *app, int to, int tag, const void *head, size_t head_size,
                       const char *first, const char *second)
{
    const size_t first_size = strlen(first) + 1, second_size = strlen(second) + 1;
    const size_t size = head_size + first_size + second_size;
    char *bytes = size <= INT_MAX ? malloc(size) : NULL;
    if (!bytes)
        return app_fail(app, EXIT_FAILED, "out of memory for a message to rank %d", to);
    memcpy(bytes, head, head_size);
    memcpy(bytes + head_size, first, first_size);
    memcpy(bytes + head_size + first_size, second, second_size);
    MPI_Send(bytes, (int)size, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    free(bytes);
    return true;
}

/* What has come, of which the head is taken over; *first is freed by the caller. */
static bool receive_texts(struct app *app, const MPI_Status *probed, void *head, size_t head_size,
                          char **first, const char **second)
{
    int size;
    MPI_Get_count(probed, MPI_BYTE, &size);
    char *bytes = malloc((size_t)size);
    if (!bytes) {
        app_fail(app, EXIT_FAILED, "out of memory for a message of rank %d", probed->MPI_SOURCE);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
        return false;
    }
    MPI_Recv(bytes, size, MPI_BYTE, probed->MPI_SOURCE, probed->MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    memcpy(head, bytes, head_size);
    memmove(bytes, bytes + head_size, (size_t)size - head_size);
    *first = bytes;
    *second = bytes + strlen(bytes) + 1;
    return true;
}

bool message_ask(struct app *app, enum asking asking, const struct outcome *outcome)
{
    struct ask_head head;
    memset(&head, 0, sizeof head); /* padding is sent too */
    head.asking = (int)asking;
    head.exit_code = outcome->exit_code;
    head.seconds = outcome->seconds;
    head.parts = outcome->parts;
    head.sums = outcome->sums;
    return send_texts(app, 0, TAG_ASK, &head, sizeof head, outcome->failure, outcome->items);
}

bool message_asked(struct app *app, unsigned *rank, enum asking *asking, struct outcome *outcome,
                   char **text)
{
    struct ask_head head;
    MPI_Status probed;
    const char *items;
    int come;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD, &come, &probed);
    if (!come || !receive_texts(app, &probed, &head, sizeof head, text, &items))
        return false;
    *rank = (unsigned)probed.MPI_SOURCE;
    *asking = (enum asking)head.asking;
    *outcome = (struct outcome){.exit_code = head.exit_code,
                                .seconds = head.seconds,
                                .parts = (size_t)head.parts,
                                .sums = head.sums,
                                .failure = *text,
                                .items = items};
    return true;
}

bool message_answer(struct app *app, unsigned rank, const struct job *job, int exit_code)
{
    const struct answer_head head = {.mirror_length = job ? job->mirror_length : 0,
                                     .part = job ? job->part : 0,
                                     .seconds = job ? job->seconds : 0,
                                     .work = job ? (int)job->work : 0,
                                     .exit_code = exit_code,
                                     .is_end = !job,
                                     .has_target = job && job->target};
    return send_texts(app, (int)rank, TAG_ANSWER, &head, sizeof head, job ? job->source : "",
                      head.has_target ? job->target : "");
}

bool message_answered(struct app *app, struct job *job, int *exit_code, char **text)
{
    struct answer_head head;
    MPI_Status probed;
    const char *target;
    int come = 0;
    while (!come && !signals_pending()) {
        MPI_Iprobe(0, TAG_ANSWER, MPI_COMM_WORLD, &come, &probed);
        if (!come)
            message_pause();
    }
    if (!come || !receive_texts(app, &probed, &head, sizeof head, text, &target))
        return false;
    *exit_code = head.exit_code;
    *job = (struct job){.mirror_length = head.mirror_length,
                        .part = (size_t)head.part,
                        .seconds = head.seconds,
                        .work = (enum work)head.work,
                        .source = head.is_end ? NULL : *text,
                        .target = head.has_target ? *text + (target - *text) : NULL};
    return true;
}
