/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector clocks of places. For each cell: the last write, and the last read by each lane since then. */
#include "collectives/check/races.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define MAX_CLOCK_BYTES ((uint64_t)1 << 29)

typedef struct access {
    uint32_t lane, time; /* time 0: no access */
} access;

struct rlt_races {
    uint32_t lanes, n_places, width; /* width of a clock: all places, or only the member's lanes (partial) */
    bool partial;
    uint32_t *clocks;  /* width words per place */
    access *writes;    /* last write of each cell */
    uint32_t *reads;   /* per cell and lane: time of the last read since that write; 0: none */
    rlt_map waited;    /* place << 32 | awaited step -> index of its snapshot */
    uint32_t **copies; /* snapshots of clocks at the end of awaited steps */
    uint32_t n_copies;
};

/* Index of a place in the clocks of its member. */
static uint32_t slot(const rlt_races *r, uint32_t p)
{
    return r->partial ? p % r->lanes : p;
}

static uint32_t *clock_of(const rlt_races *r, uint32_t p)
{
    return r->clocks + (size_t)p * r->width;
}

static int note_waits(rlt_races *r, const rlt_plan *plan, rlt_error *err)
{
    for (uint32_t p = 0; p < r->n_places; p++) {
        uint32_t steps = plan->algorithm->steps(plan, p / r->lanes, p % r->lanes);
        for (uint32_t k = 0; k < steps; k++) {
            rlt_step s;
            rlt_step_clear(&s);
            plan->algorithm->step(plan, p / r->lanes, p % r->lanes, k, &s);
            if (s.wait_lane == RLT_NONE || s.wait_lane >= r->lanes)
                continue;
            uint64_t key = (uint64_t)(p - p % r->lanes + s.wait_lane) << 32 | s.wait_step;
            if (rlt_map_get(&r->waited, key) == RLT_NONE && rlt_map_put(&r->waited, key, r->n_copies++) < 0)
                return rlt_nomem(err);
        }
    }
    r->copies = calloc((size_t)r->n_copies + 1, sizeof *r->copies);
    return r->copies ? 0 : rlt_nomem(err);
}

int rlt_races_create(const rlt_plan *plan, rlt_races **out, rlt_error *err)
{
    uint64_t cells = (uint64_t)plan->req.n * plan->buffers * plan->blocks;
    rlt_races *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->lanes = plan->lanes;
    r->n_places = plan->req.n * plan->lanes;
    r->width = r->n_places;
    int rc = note_waits(r, plan, err);
    if (rc)
        goto fail;
    /* One clock per place, one per awaited step, and about one message per place under way. */
    if ((2 * (uint64_t)r->n_places + r->n_copies) * r->width * sizeof *r->clocks > MAX_CLOCK_BYTES) {
        r->partial = true;
        r->width = r->lanes;
    }
    if (((uint64_t)r->n_places + r->n_copies) * r->width * sizeof *r->clocks > MAX_CLOCK_BYTES ||
        cells > MAX_CLOCK_BYTES / sizeof *r->reads / r->lanes) {
        rc = rlt_fail(err, RLT_ERANGE, plan->algorithm->name,
                      "%u members x %u lanes over %u blocks are too many to check", plan->req.n, r->lanes,
                      plan->blocks);
        goto fail;
    }
    r->clocks = calloc((size_t)r->n_places * r->width, sizeof *r->clocks);
    r->writes = calloc(cells, sizeof *r->writes);
    r->reads = calloc(cells * r->lanes, sizeof *r->reads);
    if (!r->clocks || !r->writes || !r->reads) {
        rc = rlt_nomem(err);
        goto fail;
    }
    *out = r;
    return 0;
fail:
    rlt_races_free(r);
    return rc;
}

void rlt_races_free(rlt_races *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->copies && i < r->n_copies; i++)
        free(r->copies[i]);
    free(r->copies);
    free(r->clocks);
    free(r->writes);
    free(r->reads);
    rlt_map_free(&r->waited);
    free(r);
}

size_t rlt_races_width(const rlt_races *r)
{
    return r->partial ? 0 : r->width;
}

const uint32_t *rlt_races_clock(const rlt_races *r, uint32_t p)
{
    return clock_of(r, p);
}

void rlt_races_join(rlt_races *r, uint32_t p, const uint32_t *clock)
{
    uint32_t *own = clock_of(r, p);
    for (uint32_t i = 0; i < r->width; i++)
        own[i] = clock[i] > own[i] ? clock[i] : own[i];
}

void rlt_races_start(rlt_races *r, uint32_t p, uint32_t k)
{
    clock_of(r, p)[slot(r, p)] = 2 * k + 1;
}

void rlt_races_wait(rlt_races *r, uint32_t p, uint32_t other, uint32_t step)
{
    uint32_t i = rlt_map_get(&r->waited, (uint64_t)other << 32 | step);
    if (i != RLT_NONE && r->copies[i])
        rlt_races_join(r, p, r->copies[i]);
}

int rlt_races_done(rlt_races *r, uint32_t p, uint32_t k, rlt_error *err)
{
    uint32_t *own = clock_of(r, p), i = rlt_map_get(&r->waited, (uint64_t)p << 32 | k);
    own[slot(r, p)] = 2 * k + 2;
    if (i == RLT_NONE)
        return 0;
    r->copies[i] = malloc(r->width * sizeof *own);
    if (!r->copies[i])
        return rlt_nomem(err);
    memcpy(r->copies[i], own, r->width * sizeof *own);
    return 0;
}

/* Whether the access of p's member in `lane` at `time` happened before p's current step. */
static bool is_past(const rlt_races *r, uint32_t p, uint32_t lane, uint32_t time)
{
    return clock_of(r, p)[slot(r, p - p % r->lanes + lane)] >= time || lane == p % r->lanes;
}

static bool after_write(const rlt_races *r, size_t cell, uint32_t p, uint32_t *lane, uint32_t *step)
{
    const access *w = &r->writes[cell];
    if (w->time == 0 || is_past(r, p, w->lane, w->time))
        return true;
    *lane = w->lane;
    *step = w->time / 2 - 1;
    return false;
}

bool rlt_races_read(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step)
{
    r->reads[cell * r->lanes + p % r->lanes] = 2 * k + 1;
    return after_write(r, cell, p, lane, step);
}

bool rlt_races_write(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step)
{
    uint32_t *reads = r->reads + cell * r->lanes;
    if (!after_write(r, cell, p, lane, step))
        return false;
    for (uint32_t l = 0; l < r->lanes; l++) {
        if (reads[l] && !is_past(r, p, l, reads[l])) {
            *lane = l;
            *step = reads[l] / 2;
            return false;
        }
        reads[l] = 0;
    }
    r->writes[cell] = (access){.lane = p % r->lanes, .time = 2 * k + 2};
    return true;
}
