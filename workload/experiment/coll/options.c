/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings of an experiment on collectives. */
#include <stddef.h>

#include "collectives/collective.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "workload/experiment/coll/coll.h"
#include "workload/setup/settings.h"

#define AT(field) .offset = offsetof(rlt_coll_settings, field)
const rlt_option rlt_coll_options[] = {
    {"collective", 'c', RLT_PARAM_TEXT, "NAME[,...]",
     "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce, gather, scatter, barrier, "
     "send_recv (from the group's first rank to its second), several separated by commas, or all.",
     AT(collective), .preset = "all_reduce", .word_at = rlt_collective_word},
    {"algorithm", 'a', RLT_PARAM_TEXT, "NAME[,...]",
     "Algorithms to compare ('ringlet list algorithms' shows the names). all: every algorithm that "
     "supports the collective, and with --network packet reactive protocols if a switch aggregates. auto: "
     "ringlet's own choice; auto=nccl-2.23, auto=rccl: that of a version, over several nodes. "
     "Default: all without reactive protocols; auto in groups of more than 64 ranks.",
     AT(algorithm), .word_at = rlt_any_algorithm_word},
    {"bytes", 'b', RLT_PARAM_TEXT, "SIZES",
     "Sizes: 64MiB, a list 1KiB,1MiB, or a range LOW:HIGH:xN or LOW:HIGH:+STEP such as 1KiB:1GiB:x4. "
     "all_reduce, broadcast, reduce, all_to_all: the buffer of a rank; all_gather, gather: the whole result; "
     "reduce_scatter, scatter: the whole input.",
     AT(bytes), .preset = "1KiB:1GiB:x4"},
    {"ranks", 'r', RLT_PARAM_COUNT, "N", "Only ranks 0 to N-1 take part (default: one per accelerator).",
     AT(ranks), .min = 1, .max = RLT_MAX_MEMBERS},
    {"workers", 0, RLT_PARAM_COUNT, "N",
     "Number of workers per tenant: ranks 0 to N-1. The parameter servers of a protocol run on the ranks "
     "after the workers, so that all rows have the same workers.",
     AT(workers), .min = 2, .max = RLT_MAX_MEMBERS},
    {"straggler", 0, RLT_PARAM_DURATION, "DURATION",
     "Delay of the last rank, or worker, of each job. Times count from the start of the first rank.",
     AT(straggler_ps)},
    {"group", 'g', RLT_PARAM_TEXT, "LIST", "Only these ranks take part, in this order: 0-3,8.", AT(group)},
    {"root", 0, RLT_PARAM_COUNT, "R",
     "Rank that broadcasts or scatters, or that receives the result of a reduce or gather (default: the "
     "group's first rank).",
     AT(root)},
    {"counts", 0, RLT_PARAM_TEXT, "FILE",
     "File of sizes in bytes. all_to_all: a row per sender, with its bytes to each rank; all_gather, "
     "reduce_scatter, gather, scatter: the share of each rank.",
     AT(counts)},
    {"tenants", 0, RLT_PARAM_TEXT, "J",
     "Run J equal jobs at the same time on one network, each with the algorithm and the size of its row. "
     "Ranks are interleaved: job j has the group's ranks j, j+J, j+2J, ..., so that all jobs cross the "
     "same switches. A row shows the slowest job and the fairness among all jobs. Results of each job are "
     "below the table, and in JSON in tenants[]. --set switch.sharing=static|dynamic|first_come selects "
     "how jobs share the slots of aggregating switches (--set switch.slots); --set "
     "switch.fallback=PROTOCOL selects the protocol of a job that the switches refuse.",
     AT(tenants)},
    {"updates", 0, RLT_PARAM_TEXT, "FILE",
     "libra only: file with the number of updates of each parameter. A line has the number, or the "
     "parameter's id and the number; '#' begins a comment. Replaces --set parameters and zipf: the job "
     "has the updated parameters only.",
     AT(sim.updates)},
    {"dtype", 0, RLT_PARAM_TEXT, "NAME",
     "Type of the elements that a reduction adds: half, bfloat16, float, int8, ... Tuned endpoints add "
     "one-byte elements more slowly; switches do not add one-byte elements.",
     AT(dtype)},
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "First verify each plan symbolically: every rank ends with every contribution exactly once.", AT(check),
     .unrecorded = true},
    {"no-fold", 0, RLT_PARAM_FLAG, NULL,
     "Simulate every rank. By default, one rank of each class of identical ranks is simulated; the results "
     "are the same.",
     AT(no_fold), .unrecorded = true},
    {"verify-fold", 0, RLT_PARAM_FLAG, NULL,
     "If ranks are folded, also simulate every rank. Fail (exit status 1) unless times and links agree to "
     "the picosecond. If not, say why.",
     AT(verify_fold), .unrecorded = true},
    {"plan", 0, RLT_PARAM_LIST, "FILE|DIR|PREFIX",
     "Also run the plan of a file, under the plan's own name: MSCCL XML, ringlet's JSON, GOAL, or Chakra "
     "traces, one per rank (a folder or a prefix). The symbolic checker proves the plan first. Without "
     "--algorithm, only plans are run. May be repeated.",
     AT(plans)},
    {0}};
#undef AT
