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
     "Algorithms to compare, those that 'ringlet list algorithms' shows; all: each that can do the "
     "collective, with the protocols that react where a switch adds up; auto: the one ringlet would choose. "
     "Default: all without those protocols, in groups of more than 64 ranks auto.",
     AT(algorithm), .word_at = rlt_any_algorithm_word},
    {"bytes", 'b', RLT_PARAM_TEXT, "SIZES",
     "Sizes: 64MiB, a list 1KiB,1MiB, or a range LOW:HIGH:xN or LOW:HIGH:+STEP such as 1KiB:1GiB:x4. "
     "all_reduce, broadcast, reduce, all_to_all: the buffer of a rank; all_gather, gather: the whole result; "
     "reduce_scatter, scatter: the whole input.",
     AT(bytes), .preset = "1KiB:1GiB:x4"},
    {"ranks", 'r', RLT_PARAM_COUNT, "N", "Only ranks 0 to N-1 take part (default: one on each accelerator).",
     AT(ranks), .min = 1, .max = RLT_MAX_MEMBERS},
    {"workers", 0, RLT_PARAM_COUNT, "N",
     "So many workers, of each of --tenants: ranks 0 to N-1, and where a protocol has servers apart, "
     "these are the "
     "ranks after them, so that rows of all algorithms have the same workers.",
     AT(workers), .min = 2, .max = RLT_MAX_MEMBERS},
    {"straggler", 0, RLT_PARAM_DURATION, "DURATION",
     "How much later than the others the last rank, or worker, of each job begins; times count from the "
     "first "
     "one's begin.",
     AT(straggler_ps)},
    {"group", 'g', RLT_PARAM_TEXT, "LIST", "Only these ranks take part, in this order: 0-3,8.", AT(group)},
    {"root", 0, RLT_PARAM_COUNT, "R",
     "The rank that broadcasts or scatters, or to which is reduced or gathered (default: the group's first).",
     AT(root)},
    {"counts", 0, RLT_PARAM_TEXT, "FILE",
     "File of numbers. all_to_all: how many bytes each rank sends to each other, one row a sender; "
     "all_gather, "
     "reduce_scatter, gather, scatter: the bytes of each rank's share.",
     AT(counts)},
    {"tenants", 0, RLT_PARAM_TEXT, "J",
     "So many equal jobs at once on one network, each with the algorithm and the size of its row. Their "
     "ranks "
     "are interleaved: job j has the group's ranks j, j+J, j+2J, ..., so that every job crosses the switches "
     "that all of them cross. A row is that of the slowest job, with the fairness of all; below the table, "
     "and "
     "in JSON in tenants[], stands what each one did. How they share the slots of switches that add up "
     "(--set "
     "switch.slots) says --set switch.sharing=static|dynamic|first_come; what a job runs as that switches "
     "refuse, --set switch.fallback=PROTOCOL.",
     AT(tenants)},
    {"updates", 0, RLT_PARAM_TEXT, "FILE",
     "Of libra: how often each parameter was updated, one number a line, or its id and the number; '#' "
     "begins "
     "a comment. In place of --set parameters and zipf: there are as many as were ever updated.",
     AT(sim.updates)},
    {"dtype", 0, RLT_PARAM_TEXT, "NAME",
     "What is added: half, bfloat16, float, int8, ... Tuned endpoints add elements of one byte more slowly, "
     "and "
     "switches do not.",
     AT(dtype)},
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "First verify each plan symbolically: every rank ends with every contribution exactly once.", AT(check),
     .unrecorded = true},
    {"no-fold", 0, RLT_PARAM_FLAG, NULL,
     "Simulate every rank. Otherwise one rank of each class of ranks that do the same is simulated where "
     "there are "
     "such classes: the results are the same.",
     AT(no_fold), .unrecorded = true},
    {"verify-fold", 0, RLT_PARAM_FLAG, NULL,
     "Where ranks are folded, also simulate every one, and fail (exit status 1) unless times and links are "
     "the same to "
     "the picosecond.",
     AT(verify_fold), .unrecorded = true},
    {"plan", 0, RLT_PARAM_LIST, "FILE|DIR|PREFIX",
     "Also run the collective that a file spells out, under the name it has there: MSCCL XML, ringlet's "
     "JSON, GOAL, or Chakra traces, one a rank (a folder or a prefix). It is first proven by the symbolic "
     "checker. Without --algorithm, only such plans are run. May be given several times.",
     AT(plans)},
    {0}};
#undef AT
