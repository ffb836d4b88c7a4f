/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MSCCL XML (microsoft/msccl, msccl-tools), read and written: <algo> contains <gpu>s, which contain thread
 * blocks <tb>, which contain <step>s.
 *
 * A thread block is a lane. The k-th send of a connection (sender, receiver, channel) matches its k-th
 * receive. Buffer i becomes buffer 0, o buffer 1, s buffer 2 and higher. As in MSCCL's run-time,
 * nchunksperloop chunks are the bytes of the collective; a chunk is a block. In place, o is i; for all-gather
 * i is a part of o, for reduce-scatter o is a part of i. A fused step becomes a receive and a send; their
 * overlap in the run-time is not modelled. Reductions and copies take no time. If scratch is larger than
 * nchunksperloop, it takes several buffers, and a step across their border is split.
 *
 * Extensions to MSCCL: `coll` may be any kind that ringlet knows, and `root` names a rank.
 */
#ifndef RLT_COLLECTIVES_FORMATS_MSCCL_H
#define RLT_COLLECTIVES_FORMATS_MSCCL_H

#include "collectives/algorithm.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a file and checks the plan with rlt_listed_check. Errors name file, line and step. */
int rlt_msccl_parse(const char *file, const char *text, size_t length, rlt_listed *out,
                    rlt_error *err) RLT_MUST_USE;
/* Writes a plan; the caller frees *text. RLT_EUNSUPPORTED for what the format cannot express: transfers by
 * the network itself, untracked plans, uneven counts. */
int rlt_msccl_write(const rlt_plan *plan, const char *name, char **text, size_t *length,
                    rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
