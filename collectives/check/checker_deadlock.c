/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the circular wait in a plan that does not end. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/internal.h"

void rlt__checker_step(const rlt__checker *x, uint32_t p, uint32_t k, rlt_step *out)
{
    rlt_step_clear(out);
    x->plan->algorithm->step(x->plan, p / x->lanes, p % x->lanes, k, out);
}

static bool reaches(const rlt__checker *x, uint32_t q, uint32_t k, uint32_t p)
{
    rlt_reach r = rlt_reach_of(x->plan, q / x->lanes, q % x->lanes, k);
    uint32_t member = p / x->lanes;
    return member >= r.first && (member - r.first) % r.stride == 0 && (member - r.first) / r.stride < r.n;
}

/* Number of messages to the current step of place p that place q has still to send. */
static uint32_t still_to_send(const rlt__checker *x, uint32_t q, uint32_t p)
{
    const rlt__place *from = &x->places[q];
    uint32_t count = 0;
    for (uint32_t k = from->step + from->started; k < from->steps; k++) {
        rlt_step s;
        rlt__checker_step(x, q, k, &s);
        bool here = s.send_to == p / x->lanes || (RLT_LANDS_AT_ALL(s.verb) && reaches(x, q, k, p));
        count += here && s.peer_step == x->places[p].step && (q + s.peer_shift) % x->lanes == p % x->lanes;
    }
    return count;
}

/* Returns the place for which p waits: another lane of its member, or a place that has still to send it a
 * message. */
static uint32_t waits_for(const rlt__checker *x, uint32_t p)
{
    const rlt__place *here = &x->places[p];
    rlt_step s;
    rlt__checker_step(x, p, here->step, &s);
    if (here->waits_for_lane)
        return p - p % x->lanes + s.wait_lane;
    bool known = s.recv_from < x->n; /* otherwise any member */
    uint32_t q = known ? s.recv_from * x->lanes : 0, end = known ? q + x->lanes : x->n_places;
    for (; q < end; q++)
        if (still_to_send(x, q, p))
            return q;
    return p; /* not reached: the number of messages sent to a step equals the number awaited */
}

uint32_t rlt__checker_circle(rlt__checker *x, uint32_t *p, char *text, size_t size)
{
    /* the queue is empty, so `queued` marks visited places */
    for (; !x->places[*p].queued; *p = waits_for(x, *p))
        x->places[*p].queued = true;
    size_t used = 0;
    uint32_t q = *p, length = 0;
    do {
        q = waits_for(x, q);
        if (length++ < 8)
            used += (size_t)snprintf(text + used, size - used, "%smember %u lane %u step %u",
                                     length > 1 ? ", " : "", q / x->lanes, q % x->lanes, x->places[q].step);
    } while (q != *p);
    return length;
}
