/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What rank 0 and the others send each other. A rank asks for work, which carries what came of the
 * work before, and gets a job or the end. Whoever waits sleeps, and sees signals: MPI's own waiting
 * takes a processor. */
#ifndef WCODEC_UTILS_MPI_MESSAGES_H
#define WCODEC_UTILS_MPI_MESSAGES_H

#include "utils/mpi/deal.h"

/* A rank has nothing to tell yet, can do no work, or has done some. */
enum asking { ASKING_FIRST, ASKING_UNABLE, ASKING_DONE };

/* To rank 0. */
bool message_ask(struct app *app, enum asking asking, const struct outcome *outcome);
/* From any rank, if one has come: false if not. The outcome's texts and hashes lie in *text, which
 * the caller frees. */
bool message_asked(struct app *app, unsigned *rank, enum asking *asking, struct outcome *outcome,
                   char **text);

/* To a rank; job NULL: the end, with that exit code. */
bool message_answer(struct app *app, unsigned rank, const struct job *job, int exit_code);
/* From rank 0, waited for. The job's strings lie in *text, which the caller frees, as job->hashes;
 * a source of NULL is the end, of which *exit_code is known. False: a signal has come, or there is
 * no memory. */
bool message_answered(struct app *app, struct job *job, int *exit_code, char **text);

/* Sleep for as long as nobody minds. */
void message_pause(void);

#endif
