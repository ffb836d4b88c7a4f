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
     "Algorithms to compare, as 'ringlet list algorithms' shows them. all: every one that can do the "
     "collective, and reactive protocols if a switch aggregates. auto: the one ringlet would choose. "
     "Default: all without reactive protocols; in groups of more than 64 ranks auto.",
     AT(algorithm), .word_at = rlt_any_algorithm_word},
    {"bytes", 'b', RLT_PARAM_TEXT, "SIZES",
     "Sizes: 64MiB, a list 1KiB,1MiB, or a range LOW:HIGH:xN or LOW:HIGH:+STEP such as 1KiB:1GiB:x4. "
     "all_reduce, broadcast, reduce, all_to_all: the buffer of a rank; all_gather, gather: the whole result; "
     "reduce_scatter, scatter: the whole input.",
     AT(bytes), .preset = "1KiB:1GiB:x4"},
    {"ranks", 'r', RLT_PARAM_COUNT, "N", "Only ranks 0 to N-1 take part (default: one per accelerator).",
     AT(ranks), .min = 1, .max = RLT_MAX_MEMBERS},
    {"workers", 0, RLT_PARAM_COUNT, "N",
     "Number of workers, per tenant: ranks 0 to N-1. Parameter servers, if a protocol has them, are the "
     "ranks after them, so that rows of all algorithms have the same workers.",
     AT(workers), .min = 2, .max = RLT_MAX_MEMBERS},
    {"straggler", 0, RLT_PARAM_DURATION, "DURATION",
     "Delay of the last rank, or worker, of each job. Times count from the begin of the first one.",
     AT(straggler_ps)},
    {"group", 'g', RLT_PARAM_TEXT, "LIST", "Only these ranks take part, in this order: 0-3,8.", AT(group)},
    {"root", 0, RLT_PARAM_COUNT, "R",
     "The rank that broadcasts or scatters, or that receives a reduce or gather (default: the group's "
     "first).",
     AT(root)},
    {"counts", 0, RLT_PARAM_TEXT, "FILE",
     "File of numbers. all_to_all: bytes from each rank to each other one, a row per sender; all_gather, "
     "reduce_scatter, gather, scatter: the bytes of each rank's share.",
     AT(counts)},
    {"tenants", 0, RLT_PARAM_TEXT, "J",
     "Number J of equal jobs at once on one network, each with the algorithm and the size of its row. Ranks "
     "are interleaved: job j has the group's ranks j, j+J, j+2J, ..., so that all jobs cross the same "
     "switches. A row is that of the slowest job, with the fairness of all. Results of each job are below "
     "the table, and in JSON in tenants[]. --set switch.sharing=static|dynamic|first_come sets how they "
     "share the slots of aggregating switches (--set switch.slots); --set switch.fallback=PROTOCOL sets the "
     "protocol of a job that switches refuse.",
     AT(tenants)},
    {"updates", 0, RLT_PARAM_TEXT, "FILE",
     "libra only: number of updates of each parameter, one number per line, or its id and the number; '#' "
     "begins a comment. Replaces --set parameters and zipf: the number of parameters is that of those "
     "updated.",
     AT(sim.updates)},
    {"dtype", 0, RLT_PARAM_TEXT, "NAME",
     "Type of the elements that are added: half, bfloat16, float, int8, ... Tuned endpoints add elements of "
     "one byte more slowly, and switches do not add them.",
     AT(dtype)},
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "First verify each plan symbolically: every rank ends with every contribution exactly once.", AT(check),
     .unrecorded = true},
    {"no-fold", 0, RLT_PARAM_FLAG, NULL,
     "Simulate every rank. By default, one rank of each class of identical ranks is simulated; the results "
     "are the same.",
     AT(no_fold), .unrecorded = true},
    {"verify-fold", 0, RLT_PARAM_FLAG, NULL,
     "If ranks are folded, also simulate every rank, and fail (exit status 1) unless times and links are the "
     "same to the picosecond.",
     AT(verify_fold), .unrecorded = true},
    {"plan", 0, RLT_PARAM_LIST, "FILE|DIR|PREFIX",
     "Also run the collective of a file, under the name it has there: MSCCL XML, ringlet's JSON, GOAL, or "
     "Chakra traces, one per rank (a folder or a prefix). The symbolic checker proves it first. Without "
     "--algorithm, only such plans are run. May be given several times.",
     AT(plans)},
    {0}};
#undef AT
