/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run from its settings to its end, without a report. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/selector.h"
#include "net/links.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "workload/experiment/run/faults.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"
#include "workload/timing/timing.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

#define AT(field) .offset = offsetof(rlt_run_settings, field)
const rlt_option rlt_what_if_options[] = {
    {"algorithm", 'a', RLT_PARAM_TEXT, "LIST",
     "Algorithms of collectives: a name, for every collective that it supports, or rules such as "
     "all_reduce=ring,all_to_all=direct. By size: all_reduce=ring:1MiB:nvls takes nvls from 1 MiB on, "
     "where nvls is possible. By group: all_reduce@8=direct is for groups of 8 ranks. The last rule that "
     "applies and supports the collective wins. Reactive protocols, as in all_reduce=ring:1MiB:switchml, "
     "need the packet network. auto=nccl-2.23, auto=rccl: the choice of that version, over several nodes; it "
     "can stand in rules, too. Default: hierarchical for groups over several dimensions, direct for "
     "all-to-all, else ring.",
     AT(algorithm), .word_at = rlt_any_algorithm_word},
    {"compute-scale", 0, RLT_PARAM_NUMBER, "X", "Make accelerators X times as fast as recorded.",
     AT(compute_scale), .preset = "1"},
    {"host-scale", 0, RLT_PARAM_NUMBER, "X", "Make hosts X times as fast as recorded.", AT(host_scale),
     .preset = "1"},
    {"network-scale", 0, RLT_PARAM_NUMBER, "X",
     "Make the network X times as fast as the topology says: bandwidths times X, latencies divided by X.",
     AT(network_scale), .preset = "1"},
    {"overlap-slowdown", 0, RLT_PARAM_NUMBER, "X",
     "Make device work take X times as long while its rank communicates, because both share "
     "multiprocessors and memory (default: 1, or the accelerator's value).",
     AT(overlap_slowdown)},
    {"rank-scale", 0, RLT_PARAM_LIST, "RANK:host|compute=X",
     "Make the host or the compute of one rank X times as fast; 3:compute=0.5 makes rank 3 a straggler. "
     "May be repeated.",
     AT(rank_scale), .named = true},
    {"rank-delay", 0, RLT_PARAM_LIST, "RANK=TIME",
     "Delay the start of a rank, such as 3=5ms. May be repeated.", AT(rank_delay), .named = true},
    {"no-skew", 0, RLT_PARAM_FLAG, NULL, "Start all ranks at the same instant; ignore the recorded starts.",
     AT(no_skew)},
    {"until", 0, RLT_PARAM_DURATION, "TIME", "Stop at this simulated time and report the results up to then.",
     AT(until_ps)},
    {"timing", 0, RLT_PARAM_WORD, "MODE",
     "Replace the network by closed forms. astra: times of ASTRA-sim's congestion-unaware back-end; "
     "astra-aware: times of its congestion-aware back-end, where messages share no link. Both need "
     "--astra-system, and links carry nothing. loggops: LogGOPSim's costs for a GOAL file, without a "
     "topology; --set L=2500 (latency), o, g (CPU, NIC per message), G, O (NIC, CPU per byte), all in ns, "
     "and S (largest message in bytes that does not wait for its receive).",
     AT(timing), .words = "network|astra|astra-aware|loggops", .preset = "network"},
    {"astra-system", 0, RLT_PARAM_TEXT, "FILE", "ASTRA-sim's system JSON, for --timing astra.",
     AT(astra_system)},
    {0}};
#undef AT

/* Refuses a recording whose exposed communication would be replayed as gaps, whatever the network. */
static int check_certificate(const rlt_run *r, const char *where, rlt_error *err)
{
    rlt_certificate c;
    char exposed[32], lost[32];
    int rc = r->settings->keep_waits ? 0 : rlt_certify(r->program, &c, err);
    if (rc || r->settings->keep_waits)
        return rc;
    if (rlt_certificate_fails(&c))
        rc = rlt_fail(err, RLT_ECHECK, where,
                      "%s of the recorded %s of exposed communication are in gaps that no known wait "
                      "explains, so the replay would hardly change with the network; 'ringlet trace check' "
                      "says what the recording lacks; --keep-waits replays it as recorded",
                      rlt_format_duration(lost, sizeof lost, c.lost_ps),
                      rlt_format_duration(exposed, sizeof exposed, c.exposed_ps));
    rlt_certificate_free(&c);
    return rc;
}

static int read_trace(rlt_run *r, const rlt_read_options *o, rlt_error *err)
{
    const rlt_texts *given = &r->settings->trace;
    const char *name = given->n ? given->items[0] : r->args->operands[0];
    rlt_read_options how = *o;
    rlt_read_fold fold;
    int rc = r->settings->fold ? rlt_run_fold_begin(r, &fold, err) : 0;
    how.fold = r->settings->fold ? &fold : NULL;
    if (!rc)
        rc = rlt_workload_trace(r->settings, r->args->operands, (uint32_t)r->args->n_operands, &how,
                                &r->program, err);
    if (how.fold)
        rlt_run_fold_end(&fold);
    if (rc)
        return rc;
    rlt_inputs_add(&r->setup.inputs, "trace", name, r->program->hash);
    return check_certificate(r, name, err);
}

/* Reads --trace or --model. With neither, the jobs of --job are the whole workload. */
static int read_workload(rlt_run *r, const rlt_read_options *o, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    bool traced = s->trace.n || r->args->n_operands;
    int rc = s->model ? rlt_run_train(r, err) : traced ? read_trace(r, o, err) : 0;
    return rc || !r->program ? rc : rlt_trace_rescale(&s->recording, &r->program, err);
}

static int no_rank(const char *option, uint64_t rank, uint32_t n, rlt_error *err)
{
    return rlt_fail(err, RLT_EUSAGE, option, "expected a rank from 0 to %u, got %llu", n - 1,
                    (unsigned long long)rank);
}

int rlt_run_rank_scales(rlt_run *r, uint32_t n, rlt_error *err)
{
    const rlt_texts *t = &r->settings->rank_scale;
    if (!t->n)
        return 0;
    r->host_scale = calloc(n, sizeof(double));
    r->compute_scale = calloc(n, sizeof(double));
    if (!r->host_scale || !r->compute_scale)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        r->host_scale[i] = r->compute_scale[i] = 1;
    for (uint32_t i = 0; i < t->n; i++) {
        char name[64], *what;
        const char *value;
        uint64_t rank;
        double x;
        if (rlt_split_setting(t->items[i], name, sizeof name, &value, "--rank-scale", err))
            return RLT_EUSAGE;
        what = strchr(name, ':');
        if (!what || (strcmp(what + 1, "host") != 0 && strcmp(what + 1, "compute") != 0))
            return rlt_fail(err, RLT_EUSAGE, "--rank-scale",
                            "expected RANK:host=X or RANK:compute=X, got '%s'", t->items[i]);
        *what++ = '\0';
        if (rlt_parse_count(name, &rank, "--rank-scale", err) ||
            rlt_parse_number(value, 0, &x, "--rank-scale", err))
            return RLT_EUSAGE;
        if (rank >= n)
            return no_rank("--rank-scale", rank, n, err);
        if (x <= 0)
            return rlt_fail(err, RLT_EUSAGE, "--rank-scale", "expected a speed above 0 for rank %llu (of %u)",
                            (unsigned long long)rank, n);
        (what[0] == 'h' ? r->host_scale : r->compute_scale)[rank] = x;
    }
    return 0;
}

/* Reads the speeds of all ranks. A folded run takes those of the ranks kept from them. */
static int rank_scales(rlt_run *r, rlt_error *err)
{
    uint32_t n = r->folds ? rlt_training_ranks(&r->training) : r->program->n_ranks;
    int rc = rlt_run_rank_scales(r, n, err);
    if (rc || !r->folds || !r->compute_scale)
        return rc;
    rlt_folded_speeds(&r->training, r->folds, r->compute_scale, r->compute_scale);
    rlt_folded_speeds(&r->training, r->folds, r->host_scale, r->host_scale);
    return 0;
}

static int rank_delays(rlt_run *r, rlt_error *err)
{
    const rlt_texts *t = &r->settings->rank_delay;
    if (!t->n)
        return 0;
    r->delay_ps = calloc(r->program->n_ranks, sizeof *r->delay_ps);
    if (!r->delay_ps)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n; i++) {
        char name[64];
        const char *value;
        uint64_t rank;
        rlt_time delay;
        if (rlt_split_setting(t->items[i], name, sizeof name, &value, "--rank-delay", err) ||
            rlt_parse_count(name, &rank, "--rank-delay", err) ||
            rlt_parse_duration(value, &delay, "--rank-delay", err))
            return RLT_EUSAGE;
        if (rank >= r->program->n_ranks)
            return no_rank("--rank-delay", rank, r->program->n_ranks, err);
        r->delay_ps[rank] = delay;
    }
    return 0;
}

static int check_forms(const rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    bool astra = strcmp(s->timing, "network") != 0;
    int rc = rlt_workload_check(s, r->args->n_operands ? r->args->operands[0] : NULL, err);
    if (rc)
        return rc;
    if (astra != (s->astra_system != NULL))
        return rlt_fail(err, RLT_EUSAGE, astra ? "--timing astra" : "--astra-system",
                        astra ? "needs --astra-system" : "needs --timing astra");
    if (s->until_ps == 0 && rlt_given(r->args, "until"))
        return rlt_fail(err, RLT_EUSAGE, "--until", "expected a time above 0");
    if (s->host_scale <= 0 || s->compute_scale <= 0 || s->network_scale <= 0)
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "expected speeds above 0 for --host-scale, --compute-scale and --network-scale");
    return 0;
}

static int load_astra(rlt_run *r, rlt_read_options *o, rlt_error *err)
{
    const char *system = r->settings->astra_system;
    int rc = rlt_timing_astra(system, strcmp(r->settings->timing, "astra-aware") == 0, r->setup.topology, o,
                              &r->timing, err);
    return rc ? rc : rlt_inputs_add_file(&r->setup.inputs, "astra-system", system, err);
}

/* Opens the setup. Reactive protocols have their own settings. */
static int open_setup(rlt_run *r, rlt_error *err)
{
    enum { MOST = 16 };
    const rlt_reactive *protocols[MOST];
    rlt_settings sim = r->settings->sim;
    sim.protocols = protocols;
    sim.n_protocols = rlt_named_protocols(r->settings->algorithm, protocols, MOST);
    return rlt_setup_open(&sim, 0, &r->setup, err);
}

int rlt_run_load(rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    rlt_read_options o;
    rlt_replicate *replicate = NULL;
    int rc;
    if (r->stem) {
        if ((rc = check_forms(r, err)) || (rc = open_setup(r, err)))
            return rc;
        r->program = r->stem->program;
        r->trains = r->stem->trains;
        r->trained = r->stem->trained;
        r->accelerator = r->stem->accelerator;
        r->training = r->stem->training;
        return 0;
    }
    if ((rc = check_forms(r, err)) || (rc = rlt_trace_read_options(&s->recording, &o, &replicate, err)) ||
        (rc = open_setup(r, err)))
        goto out;
    o.keep_waits = s->keep_waits;
    rlt_trace_dimensions(r->setup.topology, &o);
    if (s->astra_system && (rc = load_astra(r, &o, err)))
        goto out;
    if (!(rc = read_workload(r, &o, err)))
        rc = rlt_jobs_open(r, &o, err);
out:
    free(replicate);
    return rc;
}

/* Refuses versions of NCCL or RCCL that cannot choose for a collective of all ranks. Those of fewer ranks
 * take them where they can. */
static int check_libraries(const rlt_replay_options *o, rlt_error *err)
{
    rlt_group all;
    bool any = o->library;
    for (uint32_t i = 0; i < o->n_rules; i++)
        any |= o->rules[i].library != 0;
    if (!any)
        return 0;
    int rc = rlt_group_create(o->topology, o->placement, NULL, o->placement->n, &all, err);
    if (rc)
        return rc;
    rlt_coll_request req = rlt_group_request(&all, RLT_ALL_REDUCE, 0);
    req.endpoint = &o->endpoint;
    req.library = o->library;
    rc = rlt_library_check(&req, err);
    for (uint32_t i = 0; i < o->n_rules && !rc; i++) {
        req.kind = o->rules[i].kind;
        req.library = o->rules[i].library;
        rc = rlt_library_check(&req, err);
    }
    rlt_group_free(&all);
    return rc;
}

int rlt_run_network(rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    rlt_replay_options *o = &r->options;
    int rc;
    free(r->rules);
    r->rules = NULL;
    *o = rlt_replay_options_default();
    o->topology = r->setup.topology;
    o->placement = &r->setup.placement;
    o->routing = r->setup.routing;
    o->model = r->setup.model;
    o->endpoint = r->setup.endpoint;
    o->packet = &r->setup.packet;
    o->aggregator = &r->setup.aggregator;
    if ((rc = rlt_parse_rules(s->algorithm, &r->setup, o, &r->rules, err)))
        return rc;
    o->algorithm_where_able = s->algorithm && !strchr(s->algorithm, '=');
    o->params = r->setup.params;
    o->network_scale = s->network_scale;
    return r->folds || s->fold ? 0 : check_libraries(o, err);
}

int rlt_run_prepare(rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    rlt_replay_options *o = &r->options;
    int rc;
    if ((rc = rank_scales(r, err)) || (rc = rank_delays(r, err)) || (rc = rlt_run_network(r, err)))
        return rc;
    o->timing = r->timing;
    o->host_scale = s->host_scale;
    o->compute_scale = s->compute_scale;
    bool overlap = rlt_given(r->args, "overlap-slowdown");
    o->overlap_slowdown = overlap ? s->overlap_slowdown : r->trains ? r->accelerator.overlap_slowdown : 1;
    o->rank_host_scale = r->host_scale;
    o->rank_compute_scale = r->compute_scale;
    o->no_skew = s->no_skew;
    o->no_bounds = r->unbounded;
    o->rank_delay_ps = r->delay_ps;
    o->series_bin_ps = s->series_ps ? s->series_ps : r->series_ps;
    if (s->until_ps > 0)
        o->until_ps = s->until_ps;
    rlt_jobs_options(&r->jobs, o);
    if (overlap)
        o->rank_overlap_slowdown = NULL;
    if ((rc = rlt_faults_open(&s->faults, o, &r->faults, err)))
        return rc;
    return rlt_replay_create(r->program, o, &r->replay, err);
}

static void tell_progress(void *ctx, const rlt_sim *sim)
{
    const rlt_run *r = ctx;
    (void)sim;
    rlt_watch_progress(r->watch, rlt_replay_done_ops(r->replay), r->program->n_ops);
}

int rlt_run_simulate(rlt_run *r, rlt_error *err)
{
    enum { EVENTS = 1 << 15 };
    rlt_sim *sim = rlt_replay_sim(r->replay);
    if (r->watch && r->watch->progress)
        rlt_sim_on_progress(sim, EVENTS, tell_progress, r);
    rlt_watch_running(r->watch, sim);
    int rc = rlt_replay_run(r->replay, err);
    rlt_watch_running(r->watch, NULL);
    r->partial = rc != 0;
    for (uint32_t i = 1; i < r->program->n_ranks; i++)
        if (rlt_replay_rank(r->replay, i).end_ps > rlt_replay_rank(r->replay, r->last_rank).end_ps)
            r->last_rank = i;
    rlt_error e = {0};
    r->causes = malloc(r->program->n_ranks * sizeof *r->causes);
    int failed = r->causes ? rlt_replay_causes(r->replay, r->causes, &e) : rlt_nomem(&e);
    return rc ? rc : rlt_fail(err, failed, e.where, "%s", e.what);
}

bool rlt_run_was_limited(const rlt_run *r, int rc)
{
    return rc == RLT_ECANCELLED && r->settings->until_ps && !rlt_watch_stopped(r->watch);
}

int rlt_run_check(const rlt_run *r, rlt_busiest *over, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    for (uint32_t i = 0; i < r->program->n_ranks; i++) {
        rlt_rank_result k = rlt_replay_rank(r->replay, i);
        if (k.compute_ps + k.exposed_comm_ps + k.host_ps + k.idle_ps != k.end_ps - k.start_ps)
            return rlt_fail(err, RLT_ECHECK, "accounts",
                            "rank %u: compute + exposed communication + host + idle do not sum to its span",
                            i);
        rlt_time sum = 0;
        for (int c = 0; c < RLT_CAUSES; c++)
            sum += r->causes[i].ps[c];
        if (sum != rlt_replay_time(r->replay) || r->causes[i].ps[RLT_CAUSE_COMM] < 0)
            return rlt_fail(err, RLT_ECHECK, "accounts",
                            "rank %u: the causes of its time do not sum to the time of the run", i);
    }
    int rc = r->settings->verify_fold ? rlt_run_verify_fold(r, err) : 0;
    if (!rc && net)
        rc = rlt_accounts_check(net, r->setup.topology, rlt_run_end(r), over, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; net && i < r->program->n_comms; i++) {
        rlt_comm_result c = rlt_replay_comm(r->replay, i);
        if (c.end_ps - c.last_arrival_ps < c.bound_ps)
            return rlt_fail(err, RLT_ECHECK, "accounts",
                            "communication %u (%s) took less than its lower bound", i,
                            rlt_coll_name(r->program->comms[i].kind));
    }
    return 0;
}

void rlt_run_close(rlt_run *r)
{
    rlt_replay_free(r->replay);
    rlt_timing_free(r->timing);
    if (!r->stem)
        rlt_program_free(r->program);
    rlt_setup_free(&r->setup);
    free(r->causes);
    free(r->host_scale);
    free(r->compute_scale);
    free(r->delay_ps);
    free(r->rules);
    rlt_faults_free(&r->faults);
    if (!r->stem) {
        rlt_model_free(&r->trained);
        rlt_training_passes_free(&r->passes);
    }
    rlt_jobs_free(&r->jobs);
}
