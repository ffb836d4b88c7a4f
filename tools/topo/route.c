/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet topo route: the links between two accelerators. */
#include <stdio.h>

#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/topo/topo.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"

enum { LINE = 32, NAME = 160 };

typedef struct route_settings {
    rlt_report_settings report;
    const char *routing;
    uint64_t key;
} route_settings;

static const rlt_option route_own[] = {{"routing", 0, RLT_PARAM_WORD, "POLICY", "Choice among equal paths.",
                                        .offset = offsetof(route_settings, routing), .preset = "dmodk",
                                        .words = "dmodk|ecmp|spray"},
                                       {"key", 0, RLT_PARAM_COUNT, "N", "Number of the flow, for ecmp.",
                                        .offset = offsetof(route_settings, key), .preset = "0"},
                                       {0}};
static const rlt_option_group route_options[] = {
    {"Options", route_own, 0}, {"Output", rlt_format_options, offsetof(route_settings, report)}, {0}};

static const rlt_column hop_columns[] = {
    {"hop", "hop", NULL, RLT_COL_COUNT, 0, 0, "number of the link on the route, from 0"},
    {"src", "from", NULL, RLT_COL_TEXT, 0, 0, "node where the link begins"},
    {"dst", "to", NULL, RLT_COL_TEXT, 0, 0, "node where the link ends"},
    {"dim", "dim", NULL, RLT_COL_COUNT, 0, 0, "dimension of the topology that the link belongs to"},
    {"bandwidth_Bps", "bandwidth", NULL, RLT_COL_RATE, 0, 0, "capacity of the link"},
    {"latency_ps", "latency", NULL, RLT_COL_TIME, 0, 0, "latency of the link"},
    {"id", "link", NULL, RLT_COL_COUNT, 0, 0, "number of the link, one direction"},
};
enum { N_HOP_COLUMNS = sizeof hop_columns / sizeof *hop_columns };

/* Finds an accelerator by id or name. */
static int find_accelerator(const rlt_topology *t, const char *text, uint32_t *out, rlt_error *err)
{
    uint64_t id;
    uint32_t node, n = rlt_topology_accelerators(t);
    rlt_error ignored = {0};
    if (rlt_parse_count(text, &id, NULL, &ignored) == 0) {
        if (id >= n)
            return rlt_fail(err, RLT_ERANGE, text, "expected an accelerator from 0 to %u", n - 1);
        *out = (uint32_t)id;
        return 0;
    }
    node = rlt_topology_find_node(t, text);
    if (node == RLT_NONE)
        return rlt_fail(err, RLT_ERANGE, text,
                        "no node of that name; expected one such as acc0, or a number");
    if (node >= n)
        return rlt_fail(err, RLT_ERANGE, text, "routes connect accelerators, and this is not one");
    *out = node;
    return 0;
}

static int put_hops(const rlt_topology *t, const rlt_path *path, rlt_format format, FILE *out, rlt_jw *json,
                    rlt_error *err)
{
    rlt_table table;
    rlt_table_begin(&table, format, hop_columns, N_HOP_COLUMNS, out, json);
    for (uint32_t i = 0; i < path->n; i++) {
        char src[NAME], dst[NAME];
        rlt_link l = rlt_topology_link(t, path->links[i]);
        rlt_value v[] = {rlt_count(i),
                         rlt_text(rlt_topology_node_name(t, l.src, src, sizeof src)),
                         rlt_text(rlt_topology_node_name(t, l.dst, dst, sizeof dst)),
                         rlt_count(l.dim),
                         rlt_count(l.bw_Bps),
                         rlt_ps(l.latency_ps),
                         rlt_count(path->links[i])};
        rlt_table_row(&table, v);
    }
    return rlt_table_end(&table, err);
}

static int put_route(const rlt_parsed *args, const route_settings *s, const rlt_topology *t,
                     const rlt_path *path, rlt_error *err)
{
    rlt_format format = rlt_format_of(s->report.format, s->report.output);
    char a[LINE], b[LINE];
    rlt_file f;
    rlt_jw w;
    int rc;
    if (format == RLT_FORMAT_JSON) {
        rlt_inputs in = {0};
        rlt_inputs_add(&in, "topology", args->operands[0], rlt_topology_hash(t));
        rlt_document_begin(&w, "topo route", args, &in);
        rlt_jw_i64(&w, "latency_ps", path->latency_ps);
        rlt_jw_array(&w, "hops");
        rc = put_hops(t, path, format, NULL, &w, err);
        rlt_jw_end_array(&w);
        if (!rc)
            return rlt_document_write(&w, s->report.output, err);
        rlt_document_drop(&w);
        return rc;
    }
    if ((rc = rlt_file_open(&f, s->report.output, err)))
        return rc;
    if ((rc = put_hops(t, path, format, f.stream, NULL, err))) {
        rlt_file_discard(&f);
        return rc;
    }
    if (format == RLT_FORMAT_TABLE && path->n == 0)
        fputs("# the same accelerator: nothing crosses the network\n", f.stream);
    else if (format == RLT_FORMAT_TABLE)
        fprintf(f.stream, "# %u link%s, %s, %s\n", path->n, rlt_s(path->n),
                rlt_format_duration(a, sizeof a, path->latency_ps),
                rlt_format_rate(b, sizeof b, path->bw_Bps));
    return rlt_file_close(&f, err);
}

static int route(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const route_settings *s = settings;
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_router *router = NULL;
    rlt_routing routing;
    rlt_path path;
    uint32_t src, dst;
    int rc;
    if ((rc = rlt_routing_parse(s->routing, &routing, err)) ||
        (rc = rlt_find_topology(args->operands[0], &t, err)))
        return rc;
    if (!(rc = find_accelerator(t, args->operands[1], &src, err)) &&
        !(rc = find_accelerator(t, args->operands[2], &dst, err)) &&
        !(rc = rlt_placement_identity(t, rlt_topology_accelerators(t), &place, err)) &&
        !(rc = rlt_router_create(t, &place, routing, &router, err))) {
        rc = rlt_route(router, src, dst, s->key, &path);
        if (rc)
            rlt_fail(err, rc, NULL, "no route from %s to %s", args->operands[1], args->operands[2]);
        else
            rc = put_route(args, s, t, &path, err);
    }
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
    return rc;
}

static const rlt_columns hop_table = {"Links of a route: `ringlet topo route`, JSON `hops[]`, CSV",
                                      hop_columns, sizeof hop_columns / sizeof *hop_columns};
static const rlt_columns *const route_tables[] = {&hop_table, NULL};
const rlt_command rlt__topo_route = {
    .name = "route",
    .summary = "the links between two accelerators",
    .operands = "T SRC DST",
    .min_operands = 3,
    .max_operands = 3,
    .description = "Lists the links that a message from SRC to DST crosses. Both are accelerators, by number "
                   "or by name.",
    .example = "ringlet topo route 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' 0 31",
    .options = route_options,
    .settings_size = sizeof(route_settings),
    .run = route,
    .tables = route_tables,
};
