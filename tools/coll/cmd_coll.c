/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet coll: collectives x sizes x algorithms, one simulation each, in the manner of nccl-tests. Here:
 * what the user asks for. */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactive.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/pool.h"
#include "tools/coll/coll.h"
#include "tools/coll/plan.h"
#include "tools/coll/react.h"
#include "tools/coll/row.h"
#include "tools/coll/single.h"
#include "tools/coll/tenants.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

typedef struct coll_settings {
    rlt_settings sim;
    rlt_report_settings report;
    rlt_plan_settings plan;
    const char *collective, *algorithm, *bytes, *group, *counts, *plot, *tenants, *study;
    uint64_t ranks, workers, root, jobs;
    rlt_time straggler_ps, series_ps;
    const char *dtype;
    bool no_fold, verify_fold, check, why;
    rlt_coll_files *files; /* read already; NULL: to be read */
} coll_settings;

#define AT(field) .offset = offsetof(coll_settings, field)
static const rlt_option own_options[] = {
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
    {"why", 0, RLT_PARAM_FLAG, NULL,
     "Say which algorithms, protocols and channels a tuned endpoint chose from, and what it believed of "
     "each: not "
     "always the fastest is taken, as on the machines.",
     AT(why), .unrecorded = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Also draw time and bus bandwidth over size as SVG: a line an algorithm, logarithmic axes, the bound "
     "dashed.",
     AT(plot), .unrecorded = true},
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "First verify each plan symbolically: every rank ends with every contribution exactly once.", AT(check),
     .unrecorded = true},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Rows simulated at the same time, each in a thread with memory of its own (default: as many as there "
     "are processors). The output is the same for any number.",
     AT(jobs), .min = 1, .max = RLT_POOL_THREADS, .unrecorded = true},
    {"study", 0, RLT_PARAM_TEXT, "NAME", "Studies are run by 'ringlet sweep NAME'.", AT(study),
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
    {0}};
#undef AT

static const rlt_option_group options[] = {
    {"What to run", own_options, 0},
    {"Plans in files", rlt_plan_options, offsetof(coll_settings, plan)},
    {"Where and how", rlt_settings_options, offsetof(coll_settings, sim)},
    {"Output", rlt_format_options, offsetof(coll_settings, report)},
    {"Links", rlt_link_options, offsetof(coll_settings, report)},
    {NULL, rlt_series_options, offsetof(coll_settings, series_ps)},
    {0}};

typedef struct coll_job {
    const coll_settings *s;
    rlt_coll_ask ask;
    rlt_coll_kind kinds[RLT_COLL_KINDS];
    uint64_t *sizes;
    uint32_t n_sizes;
    uint64_t counted;                                   /* bytes by the counts */
    const rlt_reactive *protocols[RLT_COLL_ALGORITHMS]; /* asked for */
    uint32_t n_protocols;
    const rlt_reactive *named[RLT_COLL_ALGORITHMS]; /* by place in the list; NULL: steps */
} coll_job;

static int read_kinds(coll_job *j, rlt_error *err)
{
    const char *cursor = j->s->collective, *item;
    size_t length;
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        rlt_coll_kind kind;
        rlt_error why = {0};
        bool all = length == 3 && strncmp(item, "all", 3) == 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        for (int k = 0; all && k < RLT_COLL_KINDS; k++)
            j->kinds[k] = (rlt_coll_kind)k;
        if (all) {
            j->ask.n_kinds = RLT_COLL_KINDS;
            return 0;
        }
        if (rlt_coll_parse(word, &kind, &why)) {
            rlt_nearest near = rlt_nearest_to(word);
            for (int k = 0; k < RLT_COLL_KINDS; k++)
                rlt_nearest_try(&near, rlt_coll_name((rlt_coll_kind)k));
            if (near.best)
                return rlt_fail(err, RLT_EUSAGE, "--collective",
                                "unknown collective '%s'; did you mean '%s'?", word, near.best);
            return rlt_fail(err, RLT_EUSAGE, "--collective", "%s", why.what);
        }
        if (j->ask.n_kinds == RLT_COLL_KINDS)
            return rlt_fail(err, RLT_EUSAGE, "--collective", "more than there are");
        j->kinds[j->ask.n_kinds++] = kind;
    }
    return 0;
}

/* Without a word from the user: a comparison where it takes moments,
 * and where rows are not asked for one by one. */
static const char *default_algorithms(const coll_job *j)
{
    enum { COMPARED = 64 };
    bool one = j->s->report.links_csv || j->s->plan.export;
    return one || j->ask.group.n > COMPARED ? "auto" : "all";
}

/* Protocols only where the user says all himself, and a switch adds up. */
static int take_all(coll_job *j, rlt_error *err)
{
    const rlt_reactive *r;
    uint32_t n = 0;
    j->ask.all_algorithms = true;
    for (; rlt_algorithm_at(n) && n < RLT_COLL_ALGORITHMS; n++)
        j->ask.algorithms[n] = rlt_algorithm_at(n);
    j->ask.n_algorithms = n;
    for (uint32_t i = 0; j->s->algorithm && (r = rlt_reactive_at(i)); i++) {
        if (n + i >= RLT_COLL_ALGORITHMS)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "more than %d", RLT_COLL_ALGORITHMS);
        j->protocols[j->n_protocols++] = r;
    }
    return 0;
}

/* The topology is known: protocols asked for by name have their places; of all, they come last. */
static void place_protocols(coll_job *j)
{
    rlt_coll_ask *ask = &j->ask;
    uint32_t next = 0;
    for (uint32_t i = 0; i < ask->n_algorithms && !ask->all_algorithms; i++)
        if (j->named[i])
            ask->reacting[i] = &ask->setup.protocols[next++];
    for (; next < ask->setup.n_protocols; next++)
        ask->reacting[ask->n_algorithms++] = &ask->setup.protocols[next];
}

static int open_setup(coll_job *j, rlt_error *err)
{
    rlt_settings sim = j->s->sim;
    sim.protocols = j->protocols;
    sim.n_protocols = j->n_protocols;
    sim.protocols_where_able = j->ask.all_algorithms;
    int rc = rlt_setup_open(&sim, j->s->ranks, &j->ask.setup, err);
    if (!rc)
        place_protocols(j);
    return rc;
}

static int read_algorithms(coll_job *j, rlt_error *err)
{
    const char *text = j->s->algorithm ? j->s->algorithm : default_algorithms(j), *cursor = text, *item;
    size_t length;
    if (strcmp(text, "all") == 0)
        return take_all(j, err);
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        const rlt_algorithm *table[RLT_COLL_KINDS], *found = NULL;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        if (j->ask.n_algorithms == RLT_COLL_ALGORITHMS)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "more than %d", RLT_COLL_ALGORITHMS);
        const rlt_reactive *protocol = rlt_find_protocol(word, strlen(word));
        if (protocol)
            j->protocols[j->n_protocols++] = protocol;
        j->named[j->ask.n_algorithms] = protocol;
        if (strcmp(word, "auto") != 0 && !protocol) {
            int rc = strchr(word, '=')
                         ? rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected a name, got '%s'", word)
                         : rlt_parse_algorithms(word, table, err);
            if (rc)
                return rc;
            for (int k = 0; k < RLT_COLL_KINDS; k++)
                found = table[k] ? table[k] : found;
        }
        j->ask.algorithms[j->ask.n_algorithms++] = found;
    }
    return 0;
}

/* Root by rank, as the user says it, to member; the first one if he says none. */
static int find_root(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    if (!rlt_given(args, "root"))
        return 0;
    for (uint32_t m = 0; m < j->ask.group.n; m++)
        if ((j->ask.group.ranks ? j->ask.group.ranks[m] : m) == j->s->root) {
            j->ask.root = m;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, "--root", "rank %llu is not in the group of %u",
                    (unsigned long long)j->s->root, j->ask.group.n);
}

/* Bytes of a collective with counts: of an all-to-all, what a rank sends at most; else all shares. */
static uint64_t counted_bytes(const coll_job *j, uint32_t rows, uint32_t n)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < n && sum >> 62 == 0; k++) /* counts are below 2^49 */
            sum += j->ask.counts[(size_t)i * n + k];
        most = sum > most ? sum : most;
    }
    return most;
}

static int read_counts(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    uint32_t n = j->ask.group.n, taken = 1u << RLT_ALL_TO_ALL | 1u << RLT_ALL_GATHER |
                                         1u << RLT_REDUCE_SCATTER | 1u << RLT_GATHER | 1u << RLT_SCATTER;
    int rc;
    if (rlt_given(args, "bytes"))
        return rlt_fail(err, RLT_EUSAGE, "--bytes",
                        "does not go with --counts, which says how many each share has");
    if (j->ask.n_kinds != 1 || !(taken & 1u << j->kinds[0]))
        return rlt_fail(
            err, RLT_EUSAGE, "--counts",
            "is for --collective all_to_all, all_gather, reduce_scatter, gather or scatter alone");
    uint32_t rows = j->kinds[0] == RLT_ALL_TO_ALL ? n : 1;
    if (j->s->files)
        j->ask.counts = j->s->files->counts;
    else if ((rc = rlt_read_counts(j->s->counts, rows, n, &j->ask.counts, err)) ||
             (rc = rlt_inputs_add_file(&j->ask.setup.inputs, "counts", j->s->counts, err)))
        return rc;
    j->counted = counted_bytes(j, rows, n);
    return 0;
}

/* The number of jobs at once; 1 without --tenants. */
static int count_tenants(coll_job *j, rlt_error *err)
{
    uint64_t n = 1;
    if (j->s->tenants && (rlt_parse_count(j->s->tenants, &n, NULL, NULL) || n < 1 || n > RLT_MAX_JOBS))
        return rlt_fail(err, RLT_EUSAGE, "--tenants", "expected 1 to %d, got '%s'", RLT_MAX_JOBS,
                        j->s->tenants);
    j->ask.n_tenants = j->s->tenants ? (uint32_t)n : 0;
    return 0;
}

/* How many ranks --workers means. */
static int count_workers(const coll_job *j, uint32_t *n, rlt_error *err)
{
    uint64_t tenants = j->ask.n_tenants ? j->ask.n_tenants : 1, workers = j->s->workers;
    if (workers && workers * tenants > *n)
        return rlt_fail(err, RLT_EUSAGE, "--workers", "%llu tenant%s of %llu workers are more than %u ranks",
                        (unsigned long long)tenants, rlt_s(tenants), (unsigned long long)workers, *n);
    *n = workers ? (uint32_t)(workers * tenants) : *n;
    return 0;
}

static int make_groups(coll_job *j, rlt_error *err)
{
    uint32_t *ranks = NULL, n = j->ask.setup.placement.n;
    int rc = count_workers(j, &n, err);
    if (rc)
        return rc;
    if (j->s->group)
        rc = rlt_parse_ranks(j->s->group, &ranks, &n, err);
    if (!rc) {
        rc = rlt_group_create(j->ask.setup.topology, &j->ask.setup.placement, ranks, n, &j->ask.group, err);
        if (rc && j->s->group && err)
            snprintf(err->where, sizeof err->where, "--group");
    }
    free(ranks);
    if (!rc && j->ask.group.n >= 2) {
        uint32_t two[2] = {j->ask.group.ranks ? j->ask.group.ranks[0] : 0,
                           j->ask.group.ranks ? j->ask.group.ranks[1] : 1};
        rc = rlt_group_create(j->ask.setup.topology, &j->ask.setup.placement, two, 2, &j->ask.pair, err);
    }
    return rc;
}

/* A group for each job; what is of one group alone does not go with them. */
static int read_tenants(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    static const char *const others[] = {"root", "counts", "plan", "export-plan", "verify-fold"};
    rlt_coll_ask *ask = &j->ask;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rlt_given(args, others[i]))
            return rlt_fail(err, RLT_EUSAGE, NULL, "--%s does not go with --tenants", others[i]);
    if (ask->n_kinds == 1 && j->kinds[0] == RLT_SEND_RECV)
        return rlt_fail(err, RLT_EUSAGE, "--tenants", "does not go with --collective send_recv");
    return rlt_tenant_groups(ask->setup.topology, &ask->setup.placement, ask->group.ranks, ask->group.n,
                             ask->n_tenants, &ask->tenants, err);
}

/* Sizes apply to kinds that have a choice. */
static int list_cases(coll_job *j, rlt_error *err)
{
    rlt_coll_ask *ask = &j->ask;
    ask->cases = calloc((size_t)ask->n_kinds * j->n_sizes, sizeof *ask->cases);
    if (!ask->cases)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < ask->n_kinds; k++) {
        rlt_coll_kind kind = j->kinds[k];
        bool one = kind == RLT_BARRIER || ask->counts;
        if (kind == RLT_SEND_RECV && (ask->group.n < 2 || ask->tenants)) {
            if (ask->n_kinds == 1)
                return rlt_fail(err, RLT_EUSAGE, "--collective", "send_recv needs two ranks");
            continue;
        }
        for (uint32_t i = 0; i < (one ? 1 : j->n_sizes); i++)
            ask->cases[ask->n_cases++] = (rlt_coll_case){kind, kind == RLT_BARRIER ? 0
                                                               : ask->counts       ? j->counted
                                                                                   : j->sizes[i]};
    }
    return 0;
}

static int prepare(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    rlt_coll_ask *ask = &j->ask;
    int rc;
    ask->report = &j->s->report;
    ask->series_ps = j->s->series_ps;
    ask->collective = j->s->collective;
    ask->check = j->s->check;
    ask->plot = j->s->plot;
    ask->why = j->s->why;
    if (j->s->dtype && (ask->element = rlt_dtype_bytes(j->s->dtype)) == 0)
        return rlt_fail(err, RLT_EUSAGE, "--dtype",
                        "unknown type '%s'; known are int8, uint8, fp8, half, bfloat16, int32, float, int64, "
                        "double",
                        j->s->dtype);
    ask->fold = !j->s->no_fold;
    ask->verify_fold = j->s->verify_fold;
    if (j->s->no_fold && j->s->verify_fold)
        return rlt_fail(err, RLT_EUSAGE, "--verify-fold", "does not go with --no-fold");
    ask->jobs = rlt_pool_threads(j->s->jobs);
    ask->straggler_ps = j->s->straggler_ps;
    ask->exact_workers = j->s->workers > 0;
    if ((rc = read_kinds(j, err)) || (rc = count_tenants(j, err)) ||
        (j->s->algorithm && (rc = read_algorithms(j, err))) ||
        (rc = rlt_parse_sizes(j->s->bytes, &j->sizes, &j->n_sizes, err)) || (rc = open_setup(j, err)) ||
        (rc = make_groups(j, err)) || (rc = find_root(j, args, err)) ||
        (j->s->tenants && (rc = read_tenants(j, args, err))) ||
        (j->s->counts && (rc = read_counts(j, args, err))) || (rc = list_cases(j, err)))
        return rc;
    if (!j->s->algorithm && !j->s->plan.plans.n && (rc = read_algorithms(j, err)))
        return rc;
    if (j->s->files) {
        ask->plans = j->s->files->plans;
        ask->n_plans = j->s->files->n_plans;
    }
    if ((rc = rlt_coll_plans_load(ask, &j->s->plan, j->n_sizes, err)))
        return rc;
    if (j->s->report.links_csv && (uint64_t)ask->n_cases * ask->n_algorithms > 1)
        return rlt_fail(err, RLT_EUSAGE, "--links-csv", "is for one collective, size and algorithm");
    return 0;
}

/* What contradicts what, before anything is loaded. */
static int check_together(const coll_settings *s, const rlt_parsed *args, rlt_error *err)
{
    static const char *const others[] = {"ranks", "group"};
    if (s->study)
        return rlt_fail(err, RLT_EUSAGE, "--study",
                        "studies are run by 'ringlet sweep %s', with the same options", s->study);
    for (size_t i = 0; s->workers && i < sizeof others / sizeof *others; i++)
        if (rlt_given(args, others[i]))
            return rlt_fail(err, RLT_EUSAGE, NULL, "--%s does not go with --workers", others[i]);
    return 0;
}

static void close_job(coll_job *j)
{
    if (!j->s || !j->s->files) {
        rlt_coll_plans_free(&j->ask);
        free(j->ask.counts);
    }
    free(j->ask.cases);
    free(j->sizes);
    rlt_tenant_groups_free(j->ask.tenants, j->ask.n_tenants);
    rlt_group_free(&j->ask.pair);
    rlt_group_free(&j->ask.group);
    rlt_setup_free(&j->ask.setup);
}

rlt_settings *rlt_coll_settings_sim(void *settings)
{
    return &((coll_settings *)settings)->sim;
}

/* One collective of one size by one algorithm; the one that would be chosen where none is named. */
static int open_single(coll_job *j, const rlt_parsed *args, coll_settings *s, rlt_error *err)
{
    int rc = check_together(s, args, err);
    s->algorithm = s->algorithm || s->plan.plans.n ? s->algorithm : "auto";
    j->s = s;
    if (!rc)
        rc = prepare(j, args, err);
    if (!rc && (j->ask.n_cases != 1 || j->ask.n_algorithms != 1 || j->ask.all_algorithms))
        rc = rlt_fail(err, RLT_EUSAGE, NULL,
                      "expected one collective, one size and one algorithm; here are %u and %u",
                      j->ask.n_cases, j->ask.n_algorithms);
    return rc;
}

int rlt_coll_files_load(const rlt_parsed *args, void *settings, rlt_coll_files *out, rlt_error *err)
{
    coll_job j = {0};
    int rc = open_single(&j, args, settings, err);
    *out =
        (rlt_coll_files){j.ask.plans, j.ask.n_plans, j.ask.counts, j.ask.setup.updates, j.ask.setup.inputs};
    j.ask.plans = NULL;
    j.ask.n_plans = 0;
    j.ask.counts = NULL;
    j.ask.setup.updates = NULL;
    close_job(&j);
    return rc;
}

void rlt_coll_files_free(rlt_coll_files *files)
{
    rlt_coll_ask owner = {.plans = files->plans, .n_plans = files->n_plans};
    rlt_coll_plans_free(&owner);
    free(files->counts);
    if (files->updates)
        rlt_skew_free(files->updates);
    free(files->updates);
}

void rlt_coll_lend(void *settings, rlt_coll_files *files)
{
    coll_settings *s = settings;
    s->files = files;
    s->sim.updated = files->updates;
}

static rlt_react_ask react_of(const rlt_coll_ask *ask, const rlt_coll_request *reqs)
{
    return (rlt_react_ask){.setup = &ask->setup,
                           .reacting = ask->reacting[0],
                           .req = reqs,
                           .tenants = ask->n_tenants,
                           .straggler_ps = ask->straggler_ps,
                           .exact_workers = ask->exact_workers};
}

/* A protocol's bound is of its workers, and helped by switches. */
static int prime_protocol(const coll_job *j, rlt_coll_request *reqs, rlt_router *router, rlt_error *err)
{
    const rlt_coll_ask *ask = &j->ask;
    rlt_react_ask react = react_of(ask, reqs);
    rlt_react_run run = {0};
    rlt_time bound_ps;
    int rc = rlt_react_open(&run, &react, err);
    for (uint32_t i = 0; i < run.tenants && !rc; i++)
        rc = rlt_react_bound(&run.results[i], &reqs[i], router, 1, &bound_ps, err);
    rlt_react_end(&run);
    return rc;
}

int rlt_coll_prime(const rlt_parsed *args, void *settings, rlt_error *err)
{
    coll_job j = {0};
    rlt_router *router = NULL;
    rlt_bound bound;
    int rc = open_single(&j, args, settings, err);
    uint32_t n = j.ask.tenants ? j.ask.n_tenants : 1;
    rlt_coll_request *reqs = calloc(n, sizeof *reqs);
    if (!rc && !reqs)
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_router_create(j.ask.setup.topology, &j.ask.setup.placement, j.ask.setup.routing, &router,
                               err);
    for (uint32_t i = 0; !rc && i < n; i++) {
        reqs[i] = rlt_coll_request_of(&j.ask, 0, i);
        rc = rlt_coll_bound(&reqs[i], router, 1, 1, &bound, err);
    }
    if (!rc && j.ask.reacting[0])
        rc = prime_protocol(&j, reqs, router, err);
    free(reqs);
    rlt_router_free(router);
    close_job(&j);
    return rc;
}

static int run_single(const coll_job *j, rlt_coll_single *one, const rlt_watch *watch, rlt_error *err)
{
    const rlt_coll_ask *ask = &j->ask;
    uint32_t n = ask->tenants ? ask->n_tenants : 1;
    rlt_coll_request *reqs = calloc(n, sizeof *reqs);
    if (!reqs)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < n; k++)
        reqs[k] = rlt_coll_request_of(ask, 0, k);
    rlt_react_ask react = react_of(ask, reqs);
    rlt_coll_how how = {.setup = &ask->setup,
                        .algorithm = ask->algorithms[0],
                        .tenants = ask->n_tenants,
                        .straggler_ps = ask->straggler_ps,
                        .fold = ask->fold,
                        .watch = watch};
    rlt_tenants tenants = {0};
    int rc;
    if (react.reacting) {
        if (!(rc = rlt_react_open(&one->react, &react, err)) &&
            !(rc = rlt_react_simulate(&one->react, &react, watch, err)) &&
            !(ask->tenants && (rc = rlt_tenants_of_protocol(&one->react, &react, &tenants, err))))
            rlt_row_of_protocol(&one->row, &one->react, &react, &tenants);
    } else if (!(rc = rlt_coll_plan(&one->run, &how, reqs, err)) &&
               !(rc = rlt_coll_simulate(&one->run, &how, err)) &&
               !(ask->tenants && (rc = rlt_tenants_of_steps(&one->run, &tenants, err)))) {
        rlt_row_of_steps(&one->row, &one->run, &tenants);
    }
    rlt_tenants_free(&tenants);
    free(reqs);
    return rc;
}

int rlt_coll_single_run(const rlt_parsed *args, void *settings, const rlt_watch *watch,
                        int (*take)(void *ctx, const rlt_coll_single *one, rlt_error *err), void *ctx,
                        rlt_error *err)
{
    coll_job j = {0};
    rlt_coll_single *one = calloc(1, sizeof *one);
    int rc = one ? open_single(&j, args, settings, err) : rlt_nomem(err);
    if (!rc && !(rc = run_single(&j, one, watch, err))) {
        one->topology = j.ask.setup.topology;
        one->usage = one->react.fabric ? rlt_packets_usage(rlt_fabric_packets(one->react.fabric))
                                       : rlt_exec_net(one->run.exec)->usage;
        rc = take(ctx, one, err);
    }
    if (one) {
        rlt_coll_end(&one->run);
        rlt_react_end(&one->react);
    }
    free(one);
    close_job(&j);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    coll_job j = {.s = settings};
    int rc = check_together(j.s, args, err);
    if (!rc)
        rc = prepare(&j, args, err);
    if (!rc && j.s->plan.export)
        rc = rlt_coll_plan_export(&j.ask, &j.s->plan, err);
    if (!rc && !(j.s->plan.export && strcmp(j.s->plan.export, "-") == 0))
        rc = rlt_coll_table(&j.ask, args, err);
    close_job(&j);
    return rc;
}

static const rlt_command *const verbs[] = {&rlt_coll_arithmetic, NULL};

const rlt_command rlt_cmd_coll = {
    .name = "coll",
    .summary = "one collective, many sizes: an nccl-tests-like table",
    .description =
        "Simulates collectives over a network, one row for each collective, size and algorithm: the time, "
        "the bandwidths as nccl-tests defines them (algbw = bytes / time, busbw = algbw x factor), the lower "
        "bound that no algorithm can beat, and the link that was busiest. The fastest algorithm of each "
        "size is marked with *.\n\n"
        "Each run is checked: all bytes offered arrive, no link carries more than it can, no time beats the "
        "bound; otherwise the exit status is 1.",
    .example = "ringlet coll -t 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' -c all_reduce -a all -b "
               "1MiB:1GiB:x4",
    .options = options,
    .settings_size = sizeof(coll_settings),
    .run = run,
    .verbs = verbs,
};
