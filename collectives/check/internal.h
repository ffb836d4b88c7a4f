/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of collectives/checker*.c share. */
#ifndef RLT_COLLECTIVES_CHECK_INTERNAL_H
#define RLT_COLLECTIVES_CHECK_INTERNAL_H

#include "collectives/algorithm.h"
#include "collectives/check/observe.h"
#include "collectives/check/races.h"
#include "sim/base/error.h"

typedef struct rlt__cell {
    uint32_t tag;        /* original block, or RLT_NONE: nothing there */
    uint32_t written;    /* last step that wrote it + 1; 0: as it was at the start */
    uint16_t lane;       /* of that step */
    uint8_t by_addition; /* that write was a sum */
    uint8_t fetched;     /* by the network, for another member */
} rlt__cell;

/* Sets lie beside the cells: `words` 64-bit words each. */
typedef struct rlt__cells {
    rlt__cell *c;
    uint64_t *sets;
} rlt__cells;

typedef struct rlt__mail {
    struct rlt__mail *next;
    uint32_t from, from_step, to_step, count;
    uint8_t reduce, land_buffer;
    rlt_blocks land;
    rlt__cells content;
    const uint32_t *clock; /* of the sender, where lanes share their cells */
    uint64_t memory[];     /* of content and clock */
} rlt__mail;

/* Where a member stands in a lane. Places are numbered member * lanes + lane. A place has cells of its own,
 * or shares those of its member's first place with the member's other lanes. */
typedef struct rlt__place {
    uint32_t step, steps, got;
    bool started, queued, waits_for_lane;
    rlt__mail *mail; /* for this step and later ones */
} rlt__place;

typedef struct rlt__checker {
    const rlt_plan *plan;
    rlt_error *err;
    uint32_t n, lanes, blocks, words;
    rlt__cells state;
    rlt__place *places;
    uint32_t *queue; /* a ring of places that may be able to advance */
    uint32_t queue_head, queue_length, n_places;
    uint32_t *heard;     /* of a place, by member: the step of the last message of its lane that has come */
    rlt_races *races;    /* where lanes share their cells */
    bool patient;        /* a sum may be replaced by a smaller one: perhaps it is not needed any more */
    bool lost;           /* what is wrong is that a contribution is lost */
    uint64_t mail_bytes; /* of messages on their way */
    uint64_t moves;
    rlt_send_observer *observer;
    void *observer_ctx;
} rlt__checker;

void rlt__checker_step(const rlt__checker *x, uint32_t p, uint32_t k, rlt_step *out);
/* One circle of waits from *p on, in words, and its length; for a run in which nobody goes on. */
uint32_t rlt__checker_circle(rlt__checker *x, uint32_t *p, char *text, size_t size);

#endif
