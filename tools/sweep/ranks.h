/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work across machines, under mpirun or srun. In a sweep rank 0 owns the database and hands out points; the
 * others run them. In a search for layouts all ranks do the same, and share answers. Only the executable
 * ringlet-mpi beside ringlet is linked with MPI: it has ranks_mpi.c, ringlet has ranks_none.c.
 */
#ifndef RLT_TOOLS_SWEEP_RANKS_H
#define RLT_TOOLS_SWEEP_RANKS_H

#include "sim/base/error.h"
#include "tools/base/pool.h"
#include "tools/sweep/state.h"
#include "tools/sweep/study/study.h"

/* Returns MPI's name and version, such as "Open MPI 4.1.4", or a text saying that it is not linked. */
const char *rlt_ranks_version(char *buffer, size_t size);
/* Becomes ringlet-mpi if a launcher started several ranks of this command. Returns 0 if there is nothing to
 * do; RLT_EUNSUPPORTED: ringlet-mpi is missing. */
int rlt_ranks_become(const char *command, char **argv, rlt_error *err) RLT_MUST_USE;
/* Starts MPI. Sets the number of ranks and this one's number; 1 and 0 without a launcher. */
int rlt_ranks_begin(uint32_t *n, uint32_t *rank, rlt_error *err) RLT_MUST_USE;
/* On rank 0: replaces rlt_pool_run. */
int rlt_ranks_run(rlt_sweep *w, const rlt_pool_work *work, rlt_error *err) RLT_MUST_USE;
/* On other ranks: runs points until rank 0 has no more. */
int rlt_ranks_serve(rlt_sweep_study *study, rlt_error *err) RLT_MUST_USE;
/* Sends a text from rank 0 to all. *text is malloc'ed. If `own` is NULL on rank 0, *text is NULL. */
int rlt_ranks_text(const char *own, char **text, rlt_error *err) RLT_MUST_USE;
/* Shares an array among all ranks: rank r has set the items r, r + size, ...; after it all ranks have all. rc
 * is how this rank fared. An error of one rank is that of all: that of the lowest rank, before RLT_ECANCELLED
 * of another. Items are then not shared. All ranks call it at the same time, with the same n unless rc is an
 * error. */
int rlt_ranks_share(void *items, size_t size, uint32_t n, int rc, rlt_error *err) RLT_MUST_USE;
/* Ends MPI. `served`: the other ranks are in rlt_ranks_serve and are released. */
void rlt_ranks_end(uint32_t rank, bool served);

#endif
