/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C. A signal handler has no context pointer, hence the static variables. */
#include "tools/base/interrupt.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <time.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "tools/base/file.h"
#include "tools/base/message.h"

static _Atomic(rlt_sim *) running;
static atomic_int arrived;
static atomic_int silent; /* nothing is left to be said */
static sem_t alarmed;     /* posted when a signal arrives */
static sem_t ready;       /* posted when the guard has begun */
static bool guarded;      /* there is, or was to be, a guard */

/*
 * Time left after a signal, for work that notices it late. Processor time counts, so that a busy machine does
 * not take partial results away. A program that waits, as for the reader of a pipe, uses none, and has no
 * thread that would run if a processor were free.
 */
enum { LEFT_MS = 400, BUSY_MS = 300, STEP_MS = 50, ASLEEP_STEPS = 4, MOST_MS = 3000 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 3 }; /* work costs so much more */
#else
enum { SLOWER = 1 };
#endif

static int64_t spent_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Counts the threads that run, or wait for a processor or a disk. Off Linux there are none to be seen. */
static int runnable(void)
{
    int n = 0;
    struct dirent *entry;
    DIR *threads = opendir("/proc/self/task");
    while (threads && (entry = readdir(threads))) {
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", entry->d_name);
        FILE *stat = fopen(path, "r");
        if (!stat)
            continue;
        /* "17 (name) R ...": a name may hold any character. */
        const char *state = fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL;
        n += state && (state[2] == 'R' || state[2] == 'D');
        fclose(stat);
    }
    if (threads)
        closedir(threads);
    return n;
}

/* Returns when the time is over, or false if the program has begun anew. */
static bool wait_for_the_end(void)
{
    int64_t begun = spent_ms(), seen = begun;
    int asleep = 0;
    for (int ms = 0; ms < MOST_MS * SLOWER; ms += STEP_MS) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        int64_t now = spent_ms();
        if (!atomic_load(&arrived))
            return false;
        /* The guard itself runs. */
        asleep = now == seen && runnable() <= 1 ? asleep + 1 : 0;
        seen = now;
        if (ms + STEP_MS >= LEFT_MS && (now - begun >= BUSY_MS * SLOWER || asleep >= ASLEEP_STEPS))
            return true;
    }
    return true;
}

/* Returns true if the stream is not in use and can be written to at once; then it is locked for good. */
static bool take(FILE *stream)
{
    struct pollfd out = {.fd = fileno(stream), .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && out.revents & POLLOUT && ftrylockfile(stream) == 0;
}

/* Ends the program. Lines that were printed are passed on. */
static void end_now(void)
{
    rlt_error err = {0};
    int rc = rlt_fail(&err, RLT_ECANCELLED, NULL,
                      "interrupted: work that could not stop was ended, and what it had not written is lost");
    bool rows = rlt_files_abandon();
    if (take(stdout)) {
        if (rows)
            fputs(RLT_PARTIAL_LINE, stdout);
        fflush(stdout);
    }
    if (!atomic_load(&silent) && take(stderr))
        rlt_say(&err);
    _exit(rlt_exit_status(rc));
}

static void *guard(void *unused)
{
    (void)unused;
    sem_post(&ready);
    while (sem_wait(&alarmed) != 0 || !wait_for_the_end())
        ;
    end_now();
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    rlt_sim *sim = atomic_load(&running);
    atomic_store(&arrived, 1);
    if (sim)
        rlt_sim_stop(sim);
    sem_post(&alarmed);
}

/* Starts the guard once. Without it, work that does not look ends with the second signal. */
static void start_guard(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (guarded || sem_init(&alarmed, 0, 0) != 0 || sem_init(&ready, 0, 0) != 0)
        return;
    guarded = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, guard, NULL) == 0)
        pthread_detach(thread);
    else
        sem_post(&ready);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Ends the command when the program that runs it for itself, in a session of its own, is killed: on Linux. */
static void end_with_parent(void)
{
#ifdef __linux__
    const char *parent = getenv("RINGLET_PARENT");
    if (parent && strtol(parent, NULL, 10) == getppid())
        prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

void rlt_interrupt_init(void)
{
    struct sigaction stop = {0}, ignore = {0};
    end_with_parent();
    start_guard();
    atomic_store(&arrived, 0);
    stop.sa_handler = on_signal;
    stop.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&stop.sa_mask);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

void rlt_interrupt_before_fork(void)
{
    if (!guarded)
        return;
    while (sem_wait(&ready) != 0)
        ;
    sem_post(&ready);
}

void rlt_interrupt_release(void)
{
    struct sigaction usual = {0};
    atomic_store(&silent, 1);
    usual.sa_handler = SIG_DFL;
    sigemptyset(&usual.sa_mask);
    sigaction(SIGINT, &usual, NULL);
    sigaction(SIGTERM, &usual, NULL);
}

void rlt_interrupt_watch(rlt_sim *sim)
{
    atomic_store(&running, sim);
    /* A signal may have arrived just before. */
    if (sim && atomic_load(&arrived))
        rlt_sim_stop(sim);
}

int rlt_interrupted_result(rlt_error *err)
{
    rlt_results_are_partial();
    *err = (rlt_error){0};
    return rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted: the results are partial");
}

bool rlt_interrupted(void)
{
    return atomic_load(&arrived) != 0;
}

static void watch_running(void *ctx, rlt_sim *sim)
{
    (void)ctx;
    rlt_interrupt_watch(sim);
}

static bool watch_stopped(void *ctx)
{
    (void)ctx;
    return rlt_interrupted();
}

static void watch_note(void *ctx, const char *text)
{
    (void)ctx;
    rlt_note("%s", text);
}

rlt_watch rlt_interrupt_watcher(void)
{
    return (rlt_watch){.running = watch_running, .stopped = watch_stopped, .note = watch_note};
}
