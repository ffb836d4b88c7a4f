/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective of one size by one algorithm, with the options of `ringlet coll` and without its table. */
#ifndef RLT_COLL_SINGLE_H
#define RLT_COLL_SINGLE_H

#include "tools/coll_row.h"

typedef struct rlt_coll_single {
    rlt_coll_run run;    /* of steps; or */
    rlt_react_run react; /* of a protocol that reacts: its fabric is there */
    rlt_coll_row row;
    const rlt_topology *topology;
    const rlt_usage *usage;
} rlt_coll_single;

/* `settings` are those of the command, filled; they may bring a loaded topology along (rlt_settings.loaded).
 * `take` sees the result before it is freed. */
int rlt_coll_single_run(const rlt_parsed *args, void *settings, rlt_job *job,
                        int (*take)(void *ctx, const rlt_coll_single *one, rlt_error *err), void *ctx,
                        rlt_error *err) RLT_MUST_USE;
/* Finds the cuts that its bound asks for, which the topology then knows. */
int rlt_coll_prime(const rlt_parsed *args, void *settings, rlt_error *err) RLT_MUST_USE;
/* The part of the settings that says where and how. */
rlt_settings *rlt_coll_settings_sim(void *settings);

#endif
