/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C. A signal handler has no context pointer, hence the two static variables. */
#include "tools/base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tools/base/message.h"

static _Atomic(rlt_sim *) running;
static atomic_int arrived;

static void on_signal(int number)
{
    (void)number;
    rlt_sim *sim = atomic_load(&running);
    atomic_store(&arrived, 1);
    if (sim)
        rlt_sim_stop(sim);
}

void rlt_interrupt_init(void)
{
    struct sigaction stop = {0}, ignore = {0};
    atomic_store(&arrived, 0);
    stop.sa_handler = on_signal;
    stop.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&stop.sa_mask);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

void rlt_interrupt_watch(rlt_sim *sim)
{
    atomic_store(&running, sim);
    /* A signal may have arrived just before. */
    if (sim && atomic_load(&arrived))
        rlt_sim_stop(sim);
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
