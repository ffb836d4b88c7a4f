/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MSCCL's XML (microsoft/msccl, msccl-tools): <algo> of <gpu>s of thread blocks <tb> of <step>s; read and
 * written.
 *
 * A thread block is a lane; the k-th send of a connection (sender, receiver, channel) meets its k-th receive.
 * Buffers i, o, s become buffers 0, 1 and 2 on; nchunksperloop chunks are the collective's bytes, as in the
 * run-time, so a chunk is a block. In place, o is i (of all-gather: i is a part of o; of reduce-scatter: o is
 * a part of i). Fused steps are a receive followed by a send: the run-time's overlap of the two inside a step
 * is not modelled. Reductions and copies take no time. Where scratch is larger than `nchunksperloop` it
 * takes several of our buffers, and a step across their border is cut in two.
 *
 * Beyond what the run-time knows, coll may be any of our kinds, and `root` names a rank.
 */
#ifndef RLT_COLLECTIVES_FORMATS_MSCCL_H
#define RLT_COLLECTIVES_FORMATS_MSCCL_H

#include "collectives/algorithm.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parsed, proven by rlt_listed_check. Errors name file, line, and the step. */
int rlt_msccl_parse(const char *file, const char *text, size_t length, rlt_listed *out,
                    rlt_error *err) RLT_MUST_USE;
/* *text is malloc'ed. RLT_EUNSUPPORTED for what the format cannot say: transfers by the network's own means,
 * untracked plans, uneven counts. */
int rlt_msccl_write(const rlt_plan *plan, const char *name, char **text, size_t *length,
                    rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
