/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for tests of the Kineto reader: plays a program by its dependencies alone, without the replay
 * engine. */
#ifndef RLT_TEST_SUPPORT_TRACES_KINETO_H
#define RLT_TEST_SUPPORT_TRACES_KINETO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static inline rlt_read_options options(void)
{
    return (rlt_read_options){.first_step = -1, .last_step = -1};
}

/* Result of playing a program by its dependencies alone. A collective ends `transfer` after its last member
 * has arrived; for transfer < 0 it takes the recorded time (last start to last end). */
typedef struct played {
    rlt_time *start, *end, *arrived;
    rlt_time *rank_end; /* end of each rank since the rank's start */
    rlt_time *wait;     /* waiting time in collectives, per rank */
} played;

static inline bool deps_done(const rlt_program *p, const char *state, const rlt_time *end, uint32_t op,
                             rlt_time *at)
{
    for (uint32_t d = 0; d < p->ops[op].n_deps; d++) {
        uint32_t on = p->deps[p->ops[op].first_dep + d];
        if (state[on] != 2)
            return false;
        *at = end[on] > *at ? end[on] : *at;
    }
    return true;
}

static inline bool meet(const rlt_program *p, played *v, char *state, uint32_t comm, rlt_time transfer)
{
    const rlt_comm *c = &p->comms[comm];
    uint32_t n = p->group_first[c->group + 1] - p->group_first[c->group];
    rlt_time last = 0, begin = 0, end = 0;
    for (uint32_t m = 0; m < n; m++) {
        uint32_t op = p->comm_ops[c->first_op + m];
        const rlt_op *o = &p->ops[op];
        if (state[op] == 0)
            return false;
        last = v->arrived[op] > last ? v->arrived[op] : last;
        begin = o->recorded_ps > begin ? o->recorded_ps : begin;
        end = o->recorded_ps + o->recorded_duration_ps > end ? o->recorded_ps + o->recorded_duration_ps : end;
    }
    for (uint32_t m = 0; m < n; m++) {
        uint32_t op = p->comm_ops[c->first_op + m];
        state[op] = 2;
        v->end[op] = last + (transfer < 0 ? end - begin : transfer);
        v->wait[p->ops[op].rank] += last - v->arrived[op];
    }
    return true;
}

static inline played play(const rlt_program *p, rlt_time transfer, bool skew)
{
    size_t n = p->n_ops + 1;
    played v = {calloc(n, 8), calloc(n, 8), calloc(n, 8), calloc(p->n_ranks, 8), calloc(p->n_ranks, 8)};
    char *state = calloc(n, 1);
    assert_true(v.start && v.end && v.arrived && v.rank_end && v.wait && state);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < p->n_ops; i++) {
            const rlt_op *o = &p->ops[i];
            rlt_time at = skew ? p->rank_start_ps[o->rank] : 0;
            if (state[i] != 0 || !deps_done(p, state, v.end, i, &at))
                continue;
            moved = true;
            v.start[i] = v.arrived[i] = at;
            v.end[i] = at + o->duration_ps;
            state[i] = o->kind == RLT_OP_COLLECTIVE ? 1 : 2;
            if (state[i] == 1)
                meet(p, &v, state, o->comm, transfer);
        }
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        assert_int_equal(state[i], 2);
        uint32_t r = p->ops[i].rank;
        rlt_time span = v.end[i] - (skew ? p->rank_start_ps[r] : 0);
        v.rank_end[r] = span > v.rank_end[r] ? span : v.rank_end[r];
    }
    free(state);
    return v;
}

static inline void played_free(played *v)
{
    free(v->start);
    free(v->end);
    free(v->arrived);
    free(v->rank_end);
    free(v->wait);
}

static inline uint32_t count(const rlt_program *p, uint32_t rank, rlt_op_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++)
        n += p->ops[i].kind == kind;
    return n;
}

static inline uint64_t noted(const rlt_program *p, const char *part)
{
    for (uint32_t i = 0; i < p->n_notes; i++)
        if (strstr(p->notes[i].text, part))
            return p->notes[i].count;
    return 0;
}

static inline rlt_time total(const rlt_program *p, rlt_op_kind kind)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        sum += p->ops[i].kind == kind ? p->ops[i].duration_ps : 0;
    return sum;
}

#endif
