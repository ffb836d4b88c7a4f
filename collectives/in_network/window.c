/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows of chunks under way, and their retransmission timers. */
#include "collectives/in_network/window.h"

#include <stdlib.h>

int rlt_window_create(rlt_window *w, const rlt_fabric_job *j, rlt_error *err)
{
    w->places = calloc((size_t)j->workers * j->window, sizeof *w->places);
    return w->places ? 0 : rlt_nomem(err);
}

void rlt_window_free(rlt_window *w)
{
    free(w->places);
    w->places = NULL;
}

void rlt_window_wait(const rlt_window *w, rlt_fabric_job *j, uint32_t worker, rlt_window_place *p,
                     rlt_time leaves)
{
    uint64_t doublings = w->backoff ? p->tries / w->backoff : 0;
    rlt_time rto = w->rto << (doublings < 10 ? doublings : 10);
    if (w->rto > 0)
        p->timer = rlt_fabric_job_timer(j, rlt_time_add(leaves, rto),
                                        (uint64_t)worker * j->window + p->chunk % j->window);
}

rlt_window_place *rlt_window_late(const rlt_window *w, rlt_fabric_job *j, uint64_t what, uint32_t *worker)
{
    rlt_window_place *p = &w->places[what];
    *worker = (uint32_t)(what / j->window);
    j->result.timeouts++;
    if (++p->tries <= w->tries)
        return p;
    rlt_fabric_job_in_vain(j, *worker, p->chunk, p->tries);
    return NULL;
}
