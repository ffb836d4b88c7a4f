/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sweep across machines, under mpirun or srun. Rank 0 owns the database and hands out points; the others
 * run them. Only the executable ringlet-mpi, which stands beside ringlet, is linked with MPI: ranks_mpi.c
 * there, ranks_none.c in ringlet.
 */
#ifndef RLT_TOOLS_SWEEP_RANKS_H
#define RLT_TOOLS_SWEEP_RANKS_H

#include "sim/base/error.h"
#include "tools/base/pool.h"
#include "tools/sweep/state.h"
#include "tools/sweep/study/study.h"

/* "Open MPI 4.1.4", or what ringlet says of it. */
const char *rlt_ranks_version(char *buffer, size_t size);
/* Under a launcher of several ranks ringlet becomes ringlet-mpi. Returns where there is nothing to become;
 * RLT_EUNSUPPORTED: it is missing. */
int rlt_ranks_become(char **argv, rlt_error *err) RLT_MUST_USE;
/* How many there are, and which this is; 1 and 0 without a launcher. */
int rlt_ranks_begin(uint32_t *n, uint32_t *rank, rlt_error *err) RLT_MUST_USE;
/* On rank 0, in place of rlt_pool_run. */
int rlt_ranks_run(rlt_sweep *w, const rlt_pool_work *work, rlt_error *err) RLT_MUST_USE;
/* On the others: until rank 0 has no more. */
int rlt_ranks_serve(rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* From rank 0 to all: *text is malloc'ed; own NULL on rank 0: there is none, and *text is NULL. */
int rlt_ranks_text(const char *own, char **text, rlt_error *err) RLT_MUST_USE;
/* The end of rlt_ranks_begin. `served`: the others serve, and are let go. */
void rlt_ranks_end(uint32_t rank, bool served);

#endif
