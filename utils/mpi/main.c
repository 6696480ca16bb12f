/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec-mpi: compress, decompress, test and rebase of the wcodec command, over the ranks of an MPI
 * job. Rank 0 lists the files, gives them out one by one, large ones part by part, works on some
 * itself, and reports; see deal.h and messages.h. */
#include "utils/mpi/messages.h"
#include "utils/process.h"
#include "utils/signals.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: mpirun [-n RANKS] wcodec-mpi compress|decompress|test|rebase [OPTIONS] [--] "
    "FILE|DIR...\n"
    "Does what wcodec does over the ranks of an MPI job: file by file, the largest first, each to\n"
    "whoever is free, and large ones part by part. Options are those of wcodec\n"
    "(wcodec help COMMAND), except -c, --rm and standard input. Begun again after it was ended, it\n"
    "finds what is done.\n";

/* An app for a rank's work, beside the one that listed it. */
static bool worker_begin(struct app *worker, const struct app *app)
{
    *worker = (struct app){.options = app->options,
                           .program = app->program,
                           .shares_cores = app->shares_cores,
                           .items = app->options.json ? json_array() : NULL};
    return compress_read_epoch(worker) && app_context(worker);
}

static void worker_end(struct app *worker)
{
    free((void *)worker->hashes.data);
    json_decref(worker->items);
    process_free(worker);
}

/* Rank 0's own. */
static void *work_beside(void *opaque)
{
    struct deal *deal = opaque;
    struct app worker;
    struct outcome outcome;
    const struct job *job = NULL;
    char *items = NULL;
    const bool able = worker_begin(&worker, deal->app);
    for (bool over = !able; !over && !signals_pending();) {
        pthread_mutex_lock(&deal->lock);
        if (job)
            deal_settle(deal, 0, &outcome);
        job = deal_next(deal, 0);
        over = !job && deal_is_over(deal);
        pthread_mutex_unlock(&deal->lock);
        if (job)
            job_run(&worker, job, &outcome, &items);
        else if (!over)
            message_pause();
    }
    if (!able) {
        pthread_mutex_lock(&deal->lock);
        deal_exclude(deal, 0, worker.exit_code);
        pthread_mutex_unlock(&deal->lock);
    }
    free(items);
    worker_end(&worker);
    return NULL;
}

/* One message, if one has come. */
static bool serve(struct deal *deal)
{
    unsigned rank;
    enum asking asking;
    struct outcome outcome;
    char *text;
    if (!message_asked(deal->app, &rank, &asking, &outcome, &text))
        return false;
    pthread_mutex_lock(&deal->lock);
    if (asking == ASKING_DONE)
        deal_settle(deal, rank, &outcome);
    else if (asking == ASKING_UNABLE)
        deal_exclude(deal, rank, outcome.exit_code);
    pthread_mutex_unlock(&deal->lock);
    deal->ranks[rank].waits = true;
    free(text);
    return true;
}

/* Answer the ranks that wait, as far as there is work: others are answered later, or in the end. */
static void offer(struct deal *deal)
{
    for (unsigned i = 1; i < deal->rank_count; i++) {
        if (!deal->ranks[i].waits)
            continue;
        pthread_mutex_lock(&deal->lock);
        const struct job *job = deal_next(deal, i);
        pthread_mutex_unlock(&deal->lock);
        if (job && !message_answer(deal->app, i, job, 0))
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED); /* it would wait for ever */
        deal->ranks[i].waits = !job;
    }
}

static bool is_over(struct deal *deal)
{
    pthread_mutex_lock(&deal->lock);
    const bool over = deal_is_over(deal);
    pthread_mutex_unlock(&deal->lock);
    return over;
}

static void give_out(struct work_share *share, struct app *app)
{
    struct deal *deal = (struct deal *)share;
    pthread_t thread;
    deal_begin(deal);
    const int error = pthread_create(&thread, NULL, work_beside, deal);
    if (error) {
        app_fail_errno(app, "rank 0", "cannot start a thread", error);
        deal_exclude(deal, 0, EXIT_FAILED);
    }
    while (!signals_pending() && !is_over(deal)) {
        const bool came = serve(deal);
        offer(deal);
        if (!came)
            message_pause();
    }
    if (!error)
        pthread_join(thread, NULL);
    deal_end(deal);
    if (!signals_pending())
        deal_report(deal);
}

/* All ranks ask once more. */
static void dismiss(struct deal *deal)
{
    for (unsigned i = 1; i < deal->rank_count; i++) {
        while (!deal->ranks[i].waits && !signals_pending()) {
            if (!serve(deal))
                message_pause();
        }
        if (!signals_pending())
            message_answer(deal->app, i, NULL, deal->app->exit_code);
    }
}

/* False: never, since rank 0 would wait for it for ever. */
static bool tell(struct app *app, enum asking asking, const struct outcome *outcome)
{
    if (!message_ask(app, asking, outcome))
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    return true;
}

static void work_for_others(struct app *app)
{
    struct app worker;
    struct outcome outcome = {.failure = "", .items = ""};
    struct job job;
    char *items = NULL, *text = NULL;
    int exit_code = EXIT_FAILED;
    enum asking asking = worker_begin(&worker, app) ? ASKING_FIRST : ASKING_UNABLE;
    outcome.exit_code = worker.exit_code;
    while (!signals_pending() && tell(app, asking, &outcome) &&
           message_answered(app, &job, &exit_code, &text) && job.source) {
        job_run(&worker, &job, &outcome, &items);
        asking = ASKING_DONE;
        free((void *)job.hashes);
        free(text);
        text = NULL;
    }
    app->exit_code = exit_code;
    free(text);
    free(items);
    worker_end(&worker);
}

/* What needs one process, or none. */
static bool check_options(struct app *app)
{
    const struct options *o = &app->options;
    const enum command c = o->command;
    bool standard = o->files.count == 0 || (o->filelist && strcmp(o->filelist, "-") == 0);
    for (size_t i = 0; i < o->files.count; i++)
        standard = standard || strcmp(o->files.items[i], "-") == 0;
    if (c != COMMAND_COMPRESS && c != COMMAND_DECOMPRESS && c != COMMAND_TEST &&
        c != COMMAND_REBASE)
        return app_fail(app, EXIT_USAGE,
                        "compress, decompress, test and rebase go over ranks; '%s' is for wcodec",
                        command_name(c));
    if (standard || o->to_stdout)
        return app_fail(app, EXIT_USAGE,
                        "takes files and folders: ranks do not share standard input and output");
    if (o->remove)
        return app_fail(app, EXIT_USAGE, "--rm is for wcodec: remove inputs after a test");
    return true;
}

/* Rank 0 parses first, so that what is wrong is said once. */
static bool parse(struct app *app, int argc, char **argv, int rank)
{
    int good = 0, parsed = 0;
    if (rank == 0) {
        parsed = options_parse(argc, argv, &app->options);
        app->exit_code = parsed ? EXIT_DONE : EXIT_USAGE;
        const enum command c = app->options.command;
        if (parsed && c == COMMAND_HELP)
            fputs(help, stdout);
        else if (parsed && c == COMMAND_VERSION)
            printf("wcodec-mpi %s\n", wcodec_version_string());
        else
            good = parsed && check_options(app);
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (good && rank != 0 && !options_parse(argc, argv, &app->options))
        MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
    return good;
}

/* A launcher of another MPI starts many programs that all think that they are alone. */
static bool check_alone(struct app *app, int size)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (!text)
            continue;
        return size > 1 || atoi(text) <= 1 ||
               app_fail(app, EXIT_FAILED,
                        "was started %s times (%s), but MPI knows one rank only: start it by the "
                        "launcher of the MPI that it was built with (srun: --mpi=pmix or pmi2)",
                        text, names[i]);
    }
    return true;
}

/* Ranks of one host that their launcher has not bound to cores of their own share them. */
static void share_cores(struct app *app)
{
#ifdef __linux__
    MPI_Comm host;
    cpu_set_t set;
    int ranks;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    if (ranks < 2 || sched_getaffinity(0, sizeof set, &set) != 0 ||
        (long)CPU_COUNT(&set) * ranks <= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    app->shares_cores = true;
    if (app->options.threads == 0)
        app->options.threads = CPU_COUNT(&set) > ranks ? (unsigned)(CPU_COUNT(&set) / ranks) : 1;
#else
    (void)app;
#endif
}

/* The names of all ranks' hosts. */
static bool gather_hosts(struct deal *deal)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", *all = NULL;
    int length;
    MPI_Get_processor_name(own, &length);
    if (deal)
        all = calloc(deal->rank_count, sizeof own);
    if (deal && !all)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    MPI_Gather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, 0, MPI_COMM_WORLD);
    bool good = true;
    for (unsigned i = 0; deal && i < deal->rank_count; i++)
        good = (deal->ranks[i].host = strdup(all + i * sizeof own)) && good;
    free(all);
    return good;
}

static void lead(struct app *app, int size)
{
    struct deal deal = {.share = {.take = deal_take, .finish = give_out},
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .app = app,
                        .rank_count = (unsigned)size};
    deal.ranks = calloc(deal.rank_count, sizeof *deal.ranks);
    if (!deal.ranks || !gather_hosts(&deal))
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    app->share = &deal.share;
    switch (app->options.command) {
    case COMMAND_COMPRESS:
        command_compress(app);
        break;
    case COMMAND_DECOMPRESS:
        command_decompress(app);
        break;
    case COMMAND_REBASE:
        command_rebase(app);
        break;
    default:
        command_test(app);
        break;
    }
    dismiss(&deal);
    deal_free(&deal);
}

int main(int argc, char **argv)
{
    struct app app = {.exit_code = EXIT_DONE, .program = "wcodec-mpi"};
    char program[48];
    int rank, size, provided;
    if (!process_begin())
        return EXIT_FAILED;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1) {
        snprintf(program, sizeof program, "wcodec-mpi: rank %d", rank);
        app.program = rank > 0 ? program : app.program;
    }
    if (check_alone(&app, size) && parse(&app, argc, argv, rank)) {
        share_cores(&app);
        app.options.no_progress |= size > 1;
        if (rank == 0) {
            lead(&app, size);
        } else {
            gather_hosts(NULL);
            work_for_others(&app);
        }
    }
    /* The others wait for a rank that a signal ends: their launcher ends them. */
    if (!signals_pending())
        MPI_Finalize();
    return process_end(&app);
}
