/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run`: replays a trace or a generated workload over a topology. */
#include <stdlib.h>
#include <string.h>

#include "net/links.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/interrupt.h"
#include "tools/base/message.h"
#include "tools/base/progress.h"
#include "tools/output/links.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/run/report.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/why.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/faults.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/plan/plan.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"

#define AT(field) .offset = offsetof(rlt_run_asked, field)
static const rlt_option run_report_options[] = {
    {"explain", 'e', RLT_PARAM_FLAG, NULL,
     "Explain what bounds the run: the critical path, the links, and who waits for whom.", AT(explain),
     .unrecorded = true},
    {"all", 0, RLT_PARAM_FLAG, NULL,
     "List every collective in JSON and pages. By default those that differ only in when they take place are "
     "one row with their count.",
     AT(all), .unrecorded = true},
    {"timeline", 0, RLT_PARAM_TEXT, "FILE",
     "Write the timeline as Chrome trace JSON to this file (opens in Perfetto).", AT(timeline),
     .unrecorded = true, .writes = true},
    {"report", 0, RLT_PARAM_TEXT, "FILE",
     "Write an HTML page to this file: timeline, time by state, the network with its links over time, and "
     "the collectives ('ringlet report --help').",
     AT(page), .unrecorded = true, .writes = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Plot the utilization of the busiest links over time as SVG: at least one link of each dimension, at "
     "most eight. Bins are those of --series (default: as many as fit). With --strategy daso: the time of "
     "each epoch, and a changing loss over time, beside Horovod's.",
     AT(plot), .unrecorded = true, .writes = true},
    {"memory-csv", 0, RLT_PARAM_TEXT, "FILE",
     "Write the memory of each rank over time as CSV to this file (time_ps, rank, bytes; a row for each "
     "change).",
     AT(memory_csv), .unrecorded = true, .writes = true},
    {"compare", 0, RLT_PARAM_FLAG, NULL,
     "Compare two runs instead, and explain their difference. Operands are results (--format json), or files "
     "of options (--config), which are run.",
     AT(compare)},
    {"quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress bar.", AT(quiet), .unrecorded = true},
    {0}};
#undef AT

#define RUN(field) offsetof(rlt_run_asked, run) + offsetof(rlt_run_settings, field)
static const rlt_option_group groups[] = {{"Workload", rlt_workload_options, offsetof(rlt_run_asked, run)},
                                          {"Training", rlt_training_options, offsetof(rlt_run_asked, run)},
                                          {"Recording", rlt_trace_option_table, RUN(recording)},
                                          {"Network", rlt_settings_options, RUN(sim)},
                                          {"What if", rlt_what_if_options, offsetof(rlt_run_asked, run)},
                                          {"Other traffic", rlt_job_options, RUN(jobs)},
                                          {"Faults", rlt_fault_options, RUN(faults)},
                                          {"Report", rlt_format_options, offsetof(rlt_run_asked, report)},
                                          {"Links", rlt_link_options, offsetof(rlt_run_asked, report)},
                                          {NULL, rlt_series_options, RUN(series_ps)},
                                          {"More", run_report_options, 0},
                                          {0}};
#undef RUN

static int report(rlt_run *r, const rlt_run_asked *s, rlt_error *err)
{
    rlt_format format = rlt_format_of(s->report.format, s->report.output);
    rlt_file f = {0};
    int rc = 0;
    if (s->timeline && (rc = rlt_run_timeline(r, s->timeline, err)))
        return rc;
    if (s->page && (rc = rlt_run_report(r, s, s->page, err)))
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
        return rlt_run_json(r, s, s->report.output, err);
    if ((rc = rlt_file_open(&f, s->report.output, err)))
        return rc;
    rc = format == RLT_FORMAT_CSV ? rlt_run_csv(r, f.stream, err) : rlt_run_table(r, s, f.stream, err);
    if (!rc && s->explain && format == RLT_FORMAT_TABLE)
        rc = rlt_run_explain(r, f.stream, err);
    if (rc)
        rlt_file_discard(&f);
    else
        rlt_mark_partial(f.stream);
    return rc ? rc : rlt_file_close(&f, err);
}

/* Records link usage over time if a page or plot needs it and --series was not given. Bins double until there
 * are few enough. */
static int choose_series(rlt_run *r, const rlt_run_asked *s, rlt_error *err)
{
    enum { PAGE_BIN_PS = 1000000, MOST_PAGE_LINKS = 8192 };
    uint32_t links = rlt_topology_links(r->setup.topology);
    if ((!s->page && !s->plot) || s->run.series_ps)
        return 0;
    if (links <= MOST_PAGE_LINKS)
        r->series_ps = PAGE_BIN_PS;
    else if (s->plot)
        return rlt_fail(
            err, RLT_EUSAGE, "--plot",
            "needs --series DURATION: the network has %u links, more than the %d that are recorded by "
            "default",
            links, MOST_PAGE_LINKS);
    return 0;
}

static void draw_bar(void *ctx, uint64_t done, uint64_t total)
{
    rlt_progress_update(ctx, done, total);
}

/* Simulates with a progress bar. */
static int simulate(rlt_run *r, const rlt_run_asked *s, rlt_error *err)
{
    const rlt_watch *before = r->watch;
    rlt_watch watch = *before;
    rlt_progress bar;
    if (s->quiet)
        return rlt_run_simulate(r, err);
    rlt_progress_start(&bar, "replaying");
    watch.ctx = &bar;
    watch.progress = bar.enabled ? draw_bar : NULL;
    r->watch = &watch;
    int rc = rlt_run_simulate(r, err);
    r->watch = before;
    rlt_progress_clear();
    return rc;
}

/* --layout auto: finds the fastest layout, and puts it in place of the settings. */
static int choose_layout(rlt_run_asked *s, const rlt_parsed *args, const rlt_watch *watch, char *chosen[2],
                         rlt_error *err)
{
    rlt_layouts l = {0};
    rlt_layout_search how = {.watch = watch};
    int rc = s->run.model ? rlt_layouts_open(&l, &s->run, args, err)
                          : rlt_fail(err, RLT_EUSAGE, "--layout", "auto needs --model");
    if (!rc)
        rc = rlt_layouts_check(&l, &s->run, err);
    if (!rc)
        rc = rlt_layouts_find(&l, &how, err);
    if (!rc && !l.result.n && !(rc = rlt_layouts_why(&l, &how, err)))
        rc = rlt_fail(err, RLT_ERANGE, "--layout", "auto: no layout can run");
    if (!rc && !(rc = rlt_layouts_settings(&l, &l.result.points[0], &chosen[0], &chosen[1], err))) {
        s->run.layout = chosen[0];
        s->run.train = chosen[1];
        rlt_note("--layout %s --train %s is the fastest of %.0f layouts", chosen[0], chosen[1],
                 l.result.total);
    }
    rlt_layouts_close(&l);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    rlt_run_asked *s = settings;
    char *chosen[2] = {NULL, NULL};
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_run r = {.args = args, .settings = &s->run, .watch = &watch};
    rlt_error second = {0};
    rlt_busiest over = {.link = RLT_NONE};
    int rc, rc2;
    if ((rc = rlt_memory_check(s, err)) || (rc = rlt_plot_check(s, err)))
        return rc;
    if (s->compare)
        return rlt_run_compare(args, s, err);
    if (rlt_run_is_daso(&s->run))
        return rlt_run_daso(args, s, err);
    if (strcmp(s->run.timing, "loggops") == 0)
        return rlt_run_loggops(args, s, err);
    if (s->run.layout && strcmp(s->run.layout, "auto") == 0 &&
        (rc = choose_layout(s, args, &watch, chosen, err)))
        goto out;
    if ((rc = rlt_run_load(&r, err)) || (rc = choose_series(&r, s, err)) || (rc = rlt_run_prepare(&r, err)))
        goto out;
    rc = simulate(&r, s, err);
    /* A stopped run reports its partial results; a failed one only its error. */
    if (rc && rc != RLT_ECANCELLED)
        goto out;
    if (!rc && !(rc = rlt_run_check(&r, &over, err)))
        rc = rlt_jobs_alone(&r, err);
    rlt_links_warn(&over, "the run");
    bool limited = rlt_run_was_limited(&r, rc);
    if (rc == RLT_ECANCELLED && !limited)
        rlt_results_are_partial();
    if ((!rc || rc == RLT_ECANCELLED) && (rc2 = report(&r, s, &second)) && err) {
        rc = rc2;
        *err = second;
    } else if (limited) {
        rc = 0;
        *err = (rlt_error){0};
    }
out:
    rlt_run_close(&r);
    free(chosen[0]);
    free(chosen[1]);
    return rc;
}

static const rlt_command *const verbs[] = {&rlt_run_stragglers, NULL};

static const rlt_columns *const tables[] = {
    &rlt_run_rank_columns, &rlt_run_class_columns, &rlt_run_link_columns, &rlt_link_columns,
    &rlt_compare_columns,  &rlt_daso_columns,      &rlt_loggops_columns,  NULL};

const rlt_command rlt_cmd_run = {
    .name = "run",
    .summary = "replay a trace or a generated workload over a topology",
    .operands = "[TRACE...]",
    .max_operands = -1,
    .description =
        "Replays a recorded training step (or a generated one) over a network. Shows how long it takes, what "
        "bounds it, and how busy every link is. Recorded waiting is not replayed: ranks wait for each other "
        "again, over the given network.\n\nThe span of each rank is the sum of four states. compute: device "
        "work is running. exposed communication: a communication is under way and nothing computes. host: "
        "only host threads work. idle: the rest. Exposed communication is told apart as pipeline bubble, "
        "start skew, waiting for other ranks, and transfers by what they are for.",
    .example = "ringlet run --trace traces/transformer-8 --topology hgx-h100-8 --explain",
    .options = groups,
    .settings_size = sizeof(rlt_run_asked),
    .run = run,
    .verbs = verbs,
    .tables = tables,
};
