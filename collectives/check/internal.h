/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the symbolic checker: checker.c, checker_cells.c, checker_deadlock.c. */
#ifndef RLT_COLLECTIVES_CHECK_INTERNAL_H
#define RLT_COLLECTIVES_CHECK_INTERNAL_H

#include "collectives/algorithm.h"
#include "collectives/check/observe.h"
#include "collectives/check/races.h"
#include "sim/base/error.h"

typedef struct rlt__cell {
    uint32_t tag;        /* original block; RLT_NONE: empty */
    uint32_t written;    /* last step that wrote it, plus 1; 0: not written since the start */
    uint16_t lane;       /* lane of that step */
    uint8_t by_addition; /* whether that write was an addition */
    uint8_t fetched;     /* whether the network has fetched it for another member */
} rlt__cell;

/* Cells and their contributor sets, `words` 64-bit words each. */
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
    const uint32_t *clock; /* clock of the sender, if lanes share their cells */
    uint64_t memory[];     /* storage of content and clock */
} rlt__mail;

/* Progress of a member in a lane. Places are numbered member * lanes + lane. A place has cells of its own,
 * or, in a shared plan, all lanes of a member use the cells of its first place. */
typedef struct rlt__place {
    uint32_t step, steps, got;
    bool started, queued, waits_for_lane;
    rlt__mail *mail; /* messages for this step and later ones */
} rlt__place;

typedef struct rlt__checker {
    const rlt_plan *plan;
    rlt_error *err;
    uint32_t n, lanes, blocks, words;
    rlt__cells state;
    rlt__place *places;
    uint32_t *queue; /* ring buffer of places that may be able to advance */
    uint32_t queue_head, queue_length, n_places;
    uint32_t *heard;     /* per place and member: sending step of the last message that arrived in its lane */
    rlt_races *races;    /* present if lanes share their cells */
    bool patient;        /* a sum may be replaced by a smaller one, which may be intended */
    bool lost;           /* the defect found is a lost contribution */
    uint64_t mail_bytes; /* size of messages under way */
    uint64_t moves;
    rlt_send_observer *observer;
    void *observer_ctx;
} rlt__checker;

/* Limit of cells and messages. */
#define RLT__MAX_STATE_BYTES ((uint64_t)1 << 30)

/* Fills the cells of place p as they are at the start. */
void rlt__checker_fill(rlt__checker *x, uint32_t p);
/* Copies the span that a step sends or copies. */
int rlt__checker_take(rlt__checker *x, uint32_t p, uint32_t k, const rlt_step *s, rlt__mail **out);
/* Lands a message in step k of place p. */
int rlt__checker_land(rlt__checker *x, uint32_t p, uint32_t k, const rlt__mail *m);
void rlt__checker_drop(rlt__checker *x, rlt__mail *m);
/* Compares block b of the result of place p with what must be there: the block, or its contributions. `want`
 * is scratch for a set. */
int rlt__checker_result(rlt__checker *x, uint32_t p, uint32_t b, bool contributions, uint64_t *want);
/* checker_deadlock.c */
void rlt__checker_step(const rlt__checker *x, uint32_t p, uint32_t k, rlt_step *out);
/* Describes one circular wait, starting from place *p, and returns its length. For a run in which no place
 * can advance. Sets *p to a place on the circle. */
uint32_t rlt__checker_circle(rlt__checker *x, uint32_t *p, char *text, size_t size);

#endif
