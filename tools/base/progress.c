/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress bar. */
#include "tools/base/progress.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

/* Whether a bar is on the terminal, kept here so that messages of any thread can wipe it. A process has one
 * terminal. */
static atomic_bool shown;
static atomic_bool hushed;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int smart_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

int rlt_may_colour(int fd)
{
    const char *no = getenv("NO_COLOR");
    return smart_terminal(fd) && !(no && *no);
}

void rlt_progress_hush(void)
{
    atomic_store(&hushed, true);
}

void rlt_progress_start(rlt_progress *p, const char *label)
{
    *p = (rlt_progress){
        .label = label, .began_s = now_s(), .enabled = !atomic_load(&hushed) && smart_terminal(2)};
}

static void put_seconds(double s)
{
    if (s >= 3600)
        fprintf(stderr, "%d:%02d:%02d", (int)(s / 3600), (int)(s / 60) % 60, (int)s % 60);
    else
        fprintf(stderr, "%d:%02d", (int)(s / 60), (int)s % 60);
}

void rlt_progress_update(rlt_progress *p, uint64_t done, uint64_t total)
{
    double now, spent;
    if (!p->enabled)
        return;
    now = now_s();
    spent = now - p->began_s;
    if (spent < 1 || now - p->drawn_s < 0.1)
        return;
    p->drawn_s = now;
    atomic_store(&shown, true);
    fprintf(stderr, "\r\033[K%s ", p->label);
    if (total && done <= total) {
        double part = (double)done / (double)total;
        int full = (int)(part * BAR);
        fprintf(stderr, "[%.*s%*s] %3.0f %%  ", full, "##############################", BAR - full, "",
                part * 100);
        if (done) {
            put_seconds(spent * (1 - part) / part);
            fputs(" left", stderr);
        }
    } else {
        if (done)
            fprintf(stderr, "%llu events  ", (unsigned long long)done);
        put_seconds(spent);
    }
    fflush(stderr);
}

void rlt_progress_clear(void)
{
    if (atomic_exchange(&shown, false)) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
