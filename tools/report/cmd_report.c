/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet report`: a result as an HTML page. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/message.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/report/network_text.h"
#include "tools/report/run_page.h"
#include "tools/report/study_data.h"
#include "tools/report/study_page.h"
#include "tools/report/timeline.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"

typedef struct settings {
    const char *output, *timeline, *topology, *as;
    uint64_t events;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const rlt_option report_options[] = {
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Write the page to this file (default: standard output).",
     AT(output), .writes = true},
    {"timeline", 0, RLT_PARAM_TEXT, "FILE",
     "Timeline of the run, as written by 'ringlet run --timeline FILE' (default: the page has none).",
     AT(timeline)},
    {"topology", 't', RLT_PARAM_TEXT, "T", "Network to draw (default: the one that the result names).",
     AT(topology)},
    {"events", 0, RLT_PARAM_COUNT, "N",
     "Most events of the timeline drawn individually; short neighbours are merged.", AT(events),
     .preset = "200000", .min = 1000, .max = 5000000},
    {"as", 0, RLT_PARAM_WORD, "FORMAT",
     "page, or the network alone with the utilization of each link: graphml (Gephi, NetworkX, igraph) or dot "
     "(Graphviz). Results without 'ringlet run --links' have a link's utilization only if its whole "
     "dimension is equal.",
     AT(as), .preset = "page", .words = "page|graphml|dot"},
    {0}};
#undef AT
static const rlt_option_group groups[] = {{"Page", report_options, 0}, {0}};

/* Loads the network that the result names, if its hash is unchanged; else prints a note why it is not
 * drawn. */
static int find_drawing(const settings *s, rlt_json run, rlt_topology **out, rlt_error *err)
{
    rlt_json inputs = rlt_json_get(rlt_json_get(run, "manifest"), "inputs");
    const char *path = s->topology, *hash = NULL;
    char now[17];
    rlt_error why = {0};
    for (rlt_json v = rlt_json_first(inputs); rlt_json_is(v); v = rlt_json_next(v)) {
        const char *what = rlt_json_string(rlt_json_get(v, "what"));
        if (what && strcmp(what, "topology") == 0) {
            path = s->topology ? s->topology : rlt_json_string(rlt_json_get(v, "path"));
            hash = rlt_json_string(rlt_json_get(v, "hash"));
        }
    }
    if (s->topology) {
        int rc = rlt_find_topology(path, out, err);
        if (rc)
            return rc;
    } else if (!path || strcmp(path, "-") == 0 || rlt_find_topology(path, out, &why)) {
        if (why.code == RLT_ENOMEM)
            return rlt_nomem(err);
        rlt_note("the network is not drawn: %s%s%s; --topology names it",
                 path ? path : "the result names none", why.code ? ": " : "", why.code ? why.what : "");
        return 0;
    }
    snprintf(now, sizeof now, "%016" PRIx64, rlt_topology_hash(*out));
    if (!hash || strcmp(hash, now) == 0)
        return 0;
    rlt_topology_free(*out);
    *out = NULL;
    if (s->topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "%s is not the network of the result", s->topology);
    rlt_note("the network is not drawn: %s has changed since the run", path);
    return 0;
}

static int report_network(const settings *s, const rlt_topology *t, rlt_json run, rlt_error *err)
{
    double *utilization = NULL;
    uint32_t unknown = 0;
    if (!t)
        return rlt_fail(err, RLT_EUSAGE, "--as", "needs the network of the result");
    int rc = rlt_run_page_utilization(t, run, &utilization, err);
    for (uint32_t i = 0; i < rlt_topology_links(t) && !rc; i++)
        unknown += utilization[i] < 0;
    if (!rc)
        rc = rlt_network_text(t, utilization, s->as, s->output, err);
    if (!rc && unknown)
        rlt_note("the result has no utilization for %u link%s: 'ringlet run --links' lists each link",
                 unknown, rlt_s(unknown));
    free(utilization);
    return rc;
}

static int report_run(const settings *s, const char *path, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    rlt_timeline timeline = {0};
    rlt_topology *topology = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    rlt_run_page page = {.run = rlt_json_root(doc), .events = (uint32_t)s->events};
    if ((rc = rlt_run_page_check(page.run, err)) || (rc = find_drawing(s, page.run, &topology, err)))
        goto out;
    if (strcmp(s->as, "page") != 0) {
        rc = report_network(s, topology, page.run, err);
        goto out;
    }
    page.topology = topology;
    if (s->timeline) {
        page.timeline = &timeline;
        if ((rc = rlt_timeline_read(s->timeline, &timeline, err)))
            goto out;
    }
    rc = rlt_run_page_write(&page, s->output, err);
out:
    rlt_timeline_free(&timeline);
    rlt_topology_free(topology);
    rlt_json_free(doc);
    return rc;
}

static int run(const rlt_parsed *args, void *given, rlt_error *err)
{
    const settings *s = given;
    int is_study = rlt_is_study(args->operands[0], err);
    if (is_study <= 0)
        return is_study ? is_study : report_run(s, args->operands[0], err);
    if (s->timeline || s->topology || strcmp(s->as, "page") != 0)
        return rlt_fail(err, RLT_EUSAGE,
                        s->timeline   ? "--timeline"
                        : s->topology ? "--topology"
                                      : "--as",
                        "needs the result of a run, not a study");
    return rlt_study_page_write(args->operands[0], s->output, err);
}

const rlt_command rlt_cmd_report = {
    .name = "report",
    .summary = "a run or a study as an HTML page",
    .operands = "RESULT",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Writes one self-contained HTML file. The page of a run shows the timeline, time by state, the "
        "network with link utilization, links over time, and the collectives.\n\nThe page of a study shows "
        "its points in a table to sort and filter. It also has the Pareto front, the sensitivity to each "
        "axis, and a comparison of two points.\n\nRESULT is the output of 'ringlet run --format json', or "
        "the SQLite file of a study. If the page lacks something, it says how to get it: --timeline FILE and "
        "--series DURATION of 'ringlet run'. 'ringlet run --report FILE' writes a page with everything at "
        "once.",
    .example = "ringlet report step-result.json --timeline step.json -o step.html",
    .options = groups,
    .settings_size = sizeof(settings),
    .run = run,
};
