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
    char key[17];
};

struct answer_head {
    uint64_t mirror_length, part;
    double seconds;
    int work;
    int exit_code;
    int is_end, has_target;
    char key[17];
};

/* Hashes in a message: of so many bytes, which follow. */
struct hashes_head {
    uint64_t size;
};

void message_pause(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
}

static size_t size_of_hashes(const wcodec_part_hashes *hashes, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += sizeof(struct hashes_head) + hashes[i].size;
    return size;
}

static void put_hashes(char *to, const wcodec_part_hashes *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct hashes_head head = {.size = hashes[i].size};
        memcpy(to, &head, sizeof head);
        to += sizeof head;
        if (head.size)
            memcpy(to, hashes[i].data, hashes[i].size);
        to += head.size;
    }
}

/* The next ones; NULL: there are no more. */
static const char *get_hashes(const char *from, const char *end, wcodec_part_hashes *hashes)
{
    struct hashes_head head;
    if (from == end)
        return NULL;
    memcpy(&head, from, sizeof head);
    from += sizeof head;
    *hashes = (wcodec_part_hashes){.data = from, .size = (size_t)head.size};
    return from + head.size;
}

/* A head, two texts, and hashes. */
static bool send_texts(struct app *app, int to, int tag, const void *head, size_t head_size,
                       const char *first, const char *second, const wcodec_part_hashes *hashes,
                       size_t count)
{
    const size_t first_size = strlen(first) + 1, second_size = strlen(second) + 1;
    const size_t texts = head_size + first_size + second_size,
                 size = texts + size_of_hashes(hashes, count);
    char *bytes = size <= INT_MAX ? malloc(size) : NULL;
    if (!bytes)
        return app_fail(app, EXIT_FAILED, "out of memory for a message to rank %d", to);
    memcpy(bytes, head, head_size);
    memcpy(bytes + head_size, first, first_size);
    memcpy(bytes + head_size + first_size, second, second_size);
    put_hashes(bytes + texts, hashes, count);
    MPI_Send(bytes, (int)size, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    free(bytes);
    return true;
}

/* What has come, of which the head is taken over; *first, in which all else is up to *end, is freed
 * by the caller. */
static bool receive_texts(struct app *app, const MPI_Status *probed, void *head, size_t head_size,
                          char **first, const char **second, const char **end)
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
    *end = bytes + ((size_t)size - head_size);
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
    memcpy(head.key, outcome->key, sizeof head.key);
    return send_texts(app, 0, TAG_ASK, &head, sizeof head, outcome->failure, outcome->items,
                      &outcome->hashes, 1);
}

bool message_asked(struct app *app, unsigned *rank, enum asking *asking, struct outcome *outcome,
                   char **text)
{
    struct ask_head head;
    MPI_Status probed;
    const char *items, *end;
    int come;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD, &come, &probed);
    if (!come || !receive_texts(app, &probed, &head, sizeof head, text, &items, &end))
        return false;
    *rank = (unsigned)probed.MPI_SOURCE;
    *asking = (enum asking)head.asking;
    *outcome = (struct outcome){.exit_code = head.exit_code,
                                .seconds = head.seconds,
                                .parts = (size_t)head.parts,
                                .sums = head.sums,
                                .failure = *text,
                                .items = items};
    memcpy(outcome->key, head.key, sizeof head.key);
    (void)get_hashes(items + strlen(items) + 1, end, &outcome->hashes);
    return true;
}

bool message_answer(struct app *app, unsigned rank, const struct job *job, int exit_code)
{
    struct answer_head head = {.mirror_length = job ? job->mirror_length : 0,
                               .part = job ? job->part : 0,
                               .seconds = job ? job->seconds : 0,
                               .work = job ? (int)job->work : 0,
                               .exit_code = exit_code,
                               .is_end = !job,
                               .has_target = job && job->target};
    if (job)
        memcpy(head.key, job->key, sizeof head.key);
    return send_texts(app, (int)rank, TAG_ANSWER, &head, sizeof head, job ? job->source : "",
                      head.has_target ? job->target : "", job ? job->hashes : NULL,
                      job ? job->hash_count : 0);
}

/* All that a message has of them, freed by the caller. False: reported. */
static bool list_hashes(struct app *app, const char *from, const char *end,
                        wcodec_part_hashes **hashes, size_t *count)
{
    wcodec_part_hashes one;
    *hashes = NULL;
    *count = 0;
    for (const char *at = from; (at = get_hashes(at, end, &one));)
        ++*count;
    if (*count == 0)
        return true;
    *hashes = calloc(*count, sizeof **hashes);
    if (!*hashes)
        return app_fail(app, EXIT_FAILED, "out of memory for a message of rank 0");
    for (size_t i = 0; i < *count; i++)
        from = get_hashes(from, end, *hashes + i);
    return true;
}

bool message_answered(struct app *app, struct job *job, int *exit_code, char **text)
{
    struct answer_head head;
    MPI_Status probed;
    const char *target, *end;
    wcodec_part_hashes *hashes;
    size_t count;
    int come = 0;
    while (!come && !signals_pending()) {
        MPI_Iprobe(0, TAG_ANSWER, MPI_COMM_WORLD, &come, &probed);
        if (!come)
            message_pause();
    }
    if (!come || !receive_texts(app, &probed, &head, sizeof head, text, &target, &end))
        return false;
    if (!list_hashes(app, target + strlen(target) + 1, end, &hashes, &count)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
        return false;
    }
    *exit_code = head.exit_code;
    *job = (struct job){.mirror_length = head.mirror_length,
                        .part = (size_t)head.part,
                        .seconds = head.seconds,
                        .work = (enum work)head.work,
                        .source = head.is_end ? NULL : *text,
                        .target = head.has_target ? *text + (target - *text) : NULL,
                        .hashes = hashes,
                        .hash_count = count};
    memcpy(job->key, head.key, sizeof job->key);
    return true;
}
