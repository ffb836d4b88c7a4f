/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run`: replays a trace or a generated workload over a topology. */
#include <string.h>

#include "tools/base/commands.h"
#include "tools/run/run.h"

#define AT(field) .offset = offsetof(rlt_run_settings, field)
static const rlt_option what_if_options[] = {
    {"algorithm", 'a', RLT_OPT_TEXT, "LIST",
     "Algorithm of collectives: a name for all that it can do, or all_reduce=ring,all_to_all=direct. By "
     "size: all_reduce=ring:1MiB:nvls is nvls from 1 MiB on, where it can; by group: all_reduce@8=direct is "
     "for "
     "groups of 8; the last that applies and can. With protocols that react, such as "
     "all_reduce=ring:1MiB:switchml, the network is of packets. Default: hierarchical where a "
     "group spans several dimensions, direct for all-to-all, else ring.",
     AT(algorithm), .word_at = rlt_any_algorithm_word},
    {"compute-scale", 0, RLT_OPT_NUMBER, "X", "Accelerators X times as fast as recorded.", AT(compute_scale),
     .preset = "1"},
    {"host-scale", 0, RLT_OPT_NUMBER, "X", "Hosts X times as fast as recorded.", AT(host_scale),
     .preset = "1"},
    {"network-scale", 0, RLT_OPT_NUMBER, "X",
     "A network X times as fast as the topology says: bandwidths times X, latencies divided by X.",
     AT(network_scale), .preset = "1"},
    {"overlap-slowdown", 0, RLT_OPT_NUMBER, "X",
     "Device work takes X times as long while its rank has a communication under way: they share "
     "multiprocessors and memory (default: 1, or what the accelerator says).",
     AT(overlap_slowdown)},
    {"rank-scale", 0, RLT_OPT_LIST, "RANK:host|compute=X",
     "The same for one rank, such as a straggler: 3:compute=0.5; may be repeated.", AT(rank_scale),
     .named = true},
    {"rank-delay", 0, RLT_OPT_LIST, "RANK=TIME",
     "A rank starts that much later, such as 3=5ms; may be repeated.", AT(rank_delay), .named = true},
    {"no-skew", 0, RLT_OPT_FLAG, NULL, "All ranks start at the same instant, whatever was recorded.",
     AT(no_skew)},
    {"until", 0, RLT_OPT_DURATION, "TIME", "Stop at this simulated time and report what there is.",
     AT(until_ps)},
    {"timing", 0, RLT_OPT_WORD, "MODE",
     "astra: durations of communication in closed form as ASTRA-sim's congestion-unaware back-end has them, "
     "astra-aware: as its congestion-aware one has them where messages do not meet, "
     "in place of the network "
     "(with --astra-system; links then carry nothing). loggops: a GOAL file by LogGOPSim's costs, set by "
     "--set "
     "L=2500 (latency), o, g (CPU, NIC per message), G, O (NIC, CPU per byte), all in ns, and S (bytes that "
     "go "
     "without waiting); no topology.",
     AT(timing), .words = "network|astra|astra-aware|loggops", .preset = "network"},
    {"astra-system", 0, RLT_OPT_TEXT, "FILE", "ASTRA-sim's system JSON, for --timing astra.",
     AT(astra_system)},
    {0}};

static const rlt_option run_report_options[] = {
    {"explain", 'e', RLT_OPT_FLAG, NULL,
     "Say what bounds the run: the critical path, the links, who waits for whom.", AT(explain),
     .unrecorded = true},
    {"timeline", 0, RLT_OPT_TEXT, "FILE", "Write the timeline as Chrome trace JSON (opens in Perfetto).",
     AT(timeline), .unrecorded = true},
    {"report", 0, RLT_OPT_TEXT, "FILE",
     "Write a page to look at: one HTML file with the timeline, where the time went, the network with its "
     "links over time, and the collectives ('ringlet report --help').",
     AT(page), .unrecorded = true},
    {"plot", 0, RLT_OPT_TEXT, "FILE",
     "Draw how busy the busiest links were over time as SVG, at least one of each dimension, up to eight, in "
     "the bins of --series (default: as many as there is room for). Of --strategy daso: the time of each "
     "epoch, and a loss that changes over time, beside Horovod's.",
     AT(plot), .unrecorded = true},
    {"compare", 0, RLT_OPT_FLAG, NULL,
     "Instead of a run, two of them side by side, and where the difference comes from: results (--format "
     "json), or "
     "files of options (--config), which are run.",
     AT(compare)},
    {"quiet", 'q', RLT_OPT_FLAG, NULL, "No progress bar.", AT(quiet), .unrecorded = true},
    {0}};
#undef AT

static const rlt_option_group groups[] = {
    {"Workload", rlt_workload_options, 0},
    {"Training", rlt_training_options, 0},
    {"Recording", rlt_trace_option_table, offsetof(rlt_run_settings, recording)},
    {"Network", rlt_settings_options, offsetof(rlt_run_settings, sim)},
    {"What if", what_if_options, 0},
    {"Other traffic", rlt_job_options, offsetof(rlt_run_settings, jobs)},
    {"Faults", rlt_fault_options, offsetof(rlt_run_settings, faults)},
    {"Report", rlt_format_options, offsetof(rlt_run_settings, report)},
    {"Links", rlt_link_options, offsetof(rlt_run_settings, report)},
    {"More", run_report_options, 0},
    {0}};

static int report(rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    rlt_format format = rlt_format_of(s->report.format);
    rlt_file f = {0};
    int rc = 0;
    if (s->timeline && (rc = rlt_run_timeline(r, s->timeline, err)))
        return rc;
    if (s->page && (rc = rlt_run_report(r, s->page, err)))
        return rc;
    if (s->plot && (rc = rlt_run_plot(r, s->plot, err)))
        return rc;
    const rlt_net *net = rlt_replay_net(r->replay);
    if (s->report.links_csv && net &&
        (rc = rlt_links_csv(s->report.links_csv, r->setup.topology, net->usage, rlt_run_end(r), err)))
        return rc;
    if (s->memory_csv && (rc = rlt_run_memory_csv(r, s->memory_csv, err)))
        return rc;
    if (format == RLT_FORMAT_JSON)
        return rlt_run_json(r, s->report.output, err);
    if ((rc = rlt_file_open(&f, s->report.output, err)))
        return rc;
    rc = format == RLT_FORMAT_CSV ? rlt_run_csv(r, f.stream, err) : rlt_run_table(r, f.stream, err);
    if (!rc && s->explain && format == RLT_FORMAT_TABLE)
        rc = rlt_run_explain(r, f.stream, err);
    if (rc)
        rlt_file_discard(&f);
    return rc ? rc : rlt_file_close(&f, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    rlt_run r = {.args = args, .settings = settings};
    rlt_error second = {0};
    int rc, rc2;
    if ((rc = rlt_memory_check(settings, err)) || (rc = rlt_plot_check(settings, err)))
        return rc;
    if (r.settings->compare)
        return rlt_run_compare(args, settings, err);
    if (rlt_run_is_daso(r.settings))
        return rlt_run_daso(args, settings, err);
    if (strcmp(r.settings->timing, "loggops") == 0)
        return rlt_run_loggops(args, settings, err);
    if ((rc = rlt_run_load(&r, err)) || (rc = rlt_run_prepare(&r, err)))
        goto out;
    rc = rlt_run_simulate(&r, NULL, err);
    /* What was asked to stop tells what it has; what failed tells only why. */
    if (rc && rc != RLT_ECANCELLED)
        goto out;
    if (!rc && !(rc = rlt_run_check(&r, err)))
        rc = rlt_jobs_alone(&r, err);
    bool asked = rlt_run_was_limited(&r, rc);
    if ((!rc || rc == RLT_ECANCELLED) && (rc2 = report(&r, &second)) && err) {
        rc = rc2;
        *err = second;
    } else if (asked) {
        rc = 0;
        *err = (rlt_error){0};
    }
out:
    rlt_run_close(&r);
    return rc;
}

const rlt_command rlt_cmd_run = {
    .name = "run",
    .summary = "replay a trace or a generated workload over a topology",
    .operands = "[TRACE...]",
    .max_operands = -1,
    .description = "Replays a recorded training step (or a generated one) over a network and tells how long "
                   "it takes, what bounds it, and how busy "
                   "every link is. Recorded waiting is not replayed: ranks wait for each other again, over "
                   "the network given.\n\n"
                   "Of every rank's span, compute is time with device work running, exposed communication "
                   "time with a communication under way and "
                   "nothing computing, host time with only host threads at work, idle the rest; they add up "
                   "to the span.",
    .example = "ringlet run --trace traces/transformer-8 --topology hgx-h100-8 --explain",
    .options = groups,
    .settings_size = sizeof(rlt_run_settings),
    .run = run,
};
