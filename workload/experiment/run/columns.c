/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/run/columns.h"

#include "collectives/collective.h"
#include "sim/base/time.h"
#include "workload/experiment/run/result.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"

static rlt_value number(const rlt_run *r, uint32_t i)
{
    (void)r;
    return rlt_count(i);
}

#define RANK(function, expression)                                                                           \
    static rlt_value function(const rlt_run *r, uint32_t i)                                                  \
    {                                                                                                        \
        rlt_rank_result k = rlt_replay_rank(r->replay, i);                                                   \
        return rlt_ps(expression);                                                                           \
    }
RANK(rank_start, k.start_ps)
RANK(rank_span, k.end_ps - k.start_ps)
RANK(rank_compute, k.compute_ps)
RANK(rank_comm, k.comm_ps)
RANK(rank_exposed, k.exposed_comm_ps)
RANK(rank_host, k.host_ps)
RANK(rank_idle, k.idle_ps)
RANK(rank_wait, k.comm_wait_ps)
RANK(rank_transfer, k.comm_transfer_ps)
#undef RANK

#define CAUSE(function, cause)                                                                               \
    static rlt_value function(const rlt_run *r, uint32_t i)                                                  \
    {                                                                                                        \
        return rlt_ps(r->causes[i].ps[cause]);                                                               \
    }
CAUSE(rank_bubble, RLT_CAUSE_BUBBLE)
#define PART(function, part)                                                                                 \
    static rlt_value function(const rlt_run *r, uint32_t i)                                                  \
    {                                                                                                        \
        return rlt_ps(r->causes[i].bubble_ps[part]);                                                         \
    }
PART(rank_warm_up, RLT_BUBBLE_WARM_UP)
PART(rank_inside, RLT_BUBBLE_INSIDE)
PART(rank_drain, RLT_BUBBLE_DRAIN)
#undef PART
CAUSE(rank_skew, RLT_CAUSE_SKEW)
CAUSE(rank_peers, RLT_CAUSE_WAIT)
CAUSE(rank_tp, RLT_CAUSE_TP)
CAUSE(rank_cp, RLT_CAUSE_CP)
CAUSE(rank_ep, RLT_CAUSE_EP)
CAUSE(rank_dp, RLT_CAUSE_DP)
CAUSE(rank_pp, RLT_CAUSE_PP)
CAUSE(rank_offload, RLT_CAUSE_OFFLOAD)
CAUSE(rank_other, RLT_CAUSE_COMM)
CAUSE(rank_ended, RLT_CAUSE_ENDED)
#undef CAUSE

static rlt_value rank_recorded(const rlt_run *r, uint32_t i)
{
    rlt_time t = r->program->rank_recorded_ps[i];
    return t >= 0 ? rlt_ps(t) : rlt_absent();
}

const rlt_run_column rlt_rank_columns[] = {
    {{"rank", NULL, NULL, RLT_COL_COUNT, 0, 0, "its number"}, number},
    {{"start_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "when its first operation begins"}, rank_start},
    {{"span_ps", "span", "us", RLT_COL_TIME, 11, 1, "from its start to its end"}, rank_span},
    {{"compute_ps", "compute", "us", RLT_COL_TIME, 11, 1, "some kernel computes"}, rank_compute},
    {{"comm_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "communication is under way"}, rank_comm},
    {{"exposed_comm_ps", "exposed comm", "us", RLT_COL_TIME, 13, 1,
      "communication is under way and no kernel computes"},
     rank_exposed},
    {{"exposed_by_dims_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "exposed_comm_ps by the dimensions in use, in the order of exposed_dims"},
     NULL},
    {{"bubble_ps", "bubble", "us", RLT_COL_TIME, 11, 1,
      "it waits for another pipeline stage, after its own end too, until the last stage ends"},
     rank_bubble},
    {{"bubble_warm_up_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "part of bubble_ps before its first compute of an iteration; the next two are the other parts"},
     rank_warm_up},
    {{"bubble_inside_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "between its compute of an iteration"},
     rank_inside},
    {{"bubble_drain_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "after its compute of an iteration, until its pipeline ends that of the same iteration"},
     rank_drain},
    {{"start_skew_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "its late start, and exposed communication that waits for ranks that started later"},
     rank_skew},
    {{"peer_wait_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "exposed communication that waits for ranks late for another reason, not of the pipeline"},
     rank_peers},
    {{"exposed_tp_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "transfers of tensor parallelism hold it up; the next ones likewise"},
     rank_tp},
    {{"exposed_cp_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "context parallelism"}, rank_cp},
    {{"exposed_ep_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "expert parallelism"}, rank_ep},
    {{"exposed_dp_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "data parallelism, of experts too"}, rank_dp},
    {{"exposed_pp_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "messages between pipeline stages, sums over copies of tied parameters"},
     rank_pp},
    {{"exposed_offload_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "copies between the device and its host"},
     rank_offload},
    {{"exposed_other_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "communication of unknown purpose, or under way beside host work that holds it up"},
     rank_other},
    {{"ended_ps", NULL, NULL, RLT_COL_TIME, 0, 0,
      "from its end, or that of its pipeline, to the end of the run"},
     rank_ended},
    {{"host_ps", "host", "us", RLT_COL_TIME, 11, 1, "only the host works"}, rank_host},
    {{"idle_ps", "idle", "us", RLT_COL_TIME, 11, 1, "no compute, communication or host work"}, rank_idle},
    {{"comm_wait_ps", "comm wait", "us", RLT_COL_TIME, 11, 1, "communication waits for its last member"},
     rank_wait},
    {{"comm_transfer_ps", "transfer", "us", RLT_COL_TIME, 11, 1,
      "communication is under way after all members arrived"},
     rank_transfer},
    {{"recorded_span_ps", "recorded", "us", RLT_COL_TIME, 11, 1, "its span in the trace"}, rank_recorded},
    {{0}, NULL},
};

static rlt_value comm_kind(const rlt_run *r, uint32_t i)
{
    return rlt_text(rlt_coll_name(r->program->comms[i].kind));
}

static rlt_value comm_algorithm(const rlt_run *r, uint32_t i)
{
    return rlt_text(rlt_replay_comm(r->replay, i).algorithm);
}

static rlt_value comm_ranks(const rlt_run *r, uint32_t i)
{
    return rlt_count(rlt_run_comm_ranks(r, i));
}

static rlt_value comm_step(const rlt_run *r, uint32_t i)
{
    return rlt_count(r->program->comms[i].step);
}

static rlt_value comm_bytes(const rlt_run *r, uint32_t i)
{
    return rlt_count(r->program->comms[i].bytes);
}

/* Known once the communication has ended. */
#define COMM(function, expression)                                                                           \
    static rlt_value function(const rlt_run *r, uint32_t i)                                                  \
    {                                                                                                        \
        rlt_comm_result c = rlt_replay_comm(r->replay, i);                                                   \
        return c.end_ps >= 0 ? expression : rlt_absent();                                                    \
    }
COMM(comm_first, rlt_ps(c.first_arrival_ps))
COMM(comm_last, rlt_ps(c.last_arrival_ps))
COMM(comm_end, rlt_ps(c.end_ps))
COMM(comm_wait, rlt_ps(c.last_arrival_ps - c.first_arrival_ps))
COMM(comm_transfer, rlt_ps(c.end_ps - c.last_arrival_ps))
COMM(comm_bound, rlt_ps(c.bound_ps))
COMM(comm_busbw, rlt_real(rlt_run_busbw(r, i, c.end_ps - c.last_arrival_ps) / 1e9))
COMM(comm_rate, rlt_count((uint64_t)rlt_run_busbw(r, i, c.end_ps - c.last_arrival_ps)))
COMM(comm_last_rank,
     rlt_count(r->program->ops[r->program->comm_ops[r->program->comms[i].first_op + c.last_member]].rank))
#undef COMM

/* Timing modes have no bounds. */
static rlt_value comm_known_bound(const rlt_run *r, uint32_t i)
{
    return r->timing ? rlt_absent() : comm_bound(r, i);
}

const rlt_run_column rlt_comm_columns[] = {
    {{"index", "#", NULL, RLT_COL_COUNT, 4, 0, "its number"}, number},
    {{"collective", "collective", NULL, RLT_COL_TEXT, 15, 0, "its kind"}, comm_kind},
    {{"algorithm", "algorithm", NULL, RLT_COL_TEXT, 13, 0, "algorithm or protocol"}, comm_algorithm},
    {{"ranks", "ranks", NULL, RLT_COL_COUNT, 6, 0, "number of members"}, comm_ranks},
    {{"dims", NULL, NULL, RLT_COL_COUNT, 0, 0, "dimensions in which the members differ"}, NULL},
    {{"step", NULL, NULL, RLT_COL_COUNT, 0, 0, "its iteration"}, comm_step},
    {{"bytes", "bytes", NULL, RLT_COL_SIZE, 11, 0, "its size, as nccl-tests counts it"}, comm_bytes},
    {{"first_arrival_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "first member arrives"}, comm_first},
    {{"last_arrival_ps", "begins", "us", RLT_COL_TIME, 11, 1, "last member arrives"}, comm_last},
    {{"end_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "last member ends"}, comm_end},
    {{"wait_ps", "wait", "us", RLT_COL_TIME, 10, 1, "from the first arrival to the last"}, comm_wait},
    {{"transfer_ps", "transfer", "us", RLT_COL_TIME, 10, 1, "from the last arrival to the end"},
     comm_transfer},
    {{"bound_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "lower bound: no algorithm is faster"}, comm_bound},
    {{NULL, "bound", "us", RLT_COL_TIME, 10, 1, "bound_ps where it is known"}, comm_known_bound},
    {{"busbw_GBps", NULL, NULL, RLT_COL_REAL, 0, 0, "bandwidth as nccl-tests prints it"}, comm_busbw},
    {{NULL, "busbw", NULL, RLT_COL_RATE, 11, 0, "busbw_GBps in bytes per second"}, comm_rate},
    {{"last_rank", "last", "rank", RLT_COL_COUNT, 6, 0, "the member that arrived last"}, comm_last_rank},
    {{0}, NULL},
};
