/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet topo: describe, route, check, import, export. */
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/node_ports.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"

enum { LINE = 32, NAME = 160 };

/* ---- describe */

static const rlt_option_group describe_options[] = {{"Output", rlt_format_options, 0}, {0}};

static const rlt_column dim_columns[] = {
    {"dim", "dim", NULL, RLT_COL_COUNT, 0, 0, "number of the dimension, from 0"},
    {"shape", "shape", NULL, RLT_COL_TEXT, 0, 0, "shape of the dimension: ring, switch, torus, ..."},
    {"size", "size", NULL, RLT_COL_COUNT, 0, 0, "accelerators along the dimension"},
    {"bandwidth_Bps", "bandwidth", NULL, RLT_COL_RATE, 0, 0,
     "bandwidth with which one accelerator can send into the dimension"},
    {"latency_ps", "link latency", NULL, RLT_COL_TIME, 0, 0, "latency of one link"},
    {"links", "links", NULL, RLT_COL_COUNT, 0, 0, "links of the dimension, each direction counted"},
    {"sizes", "sizes", NULL, RLT_COL_TEXT, 0, 0, "lines of a torus or mesh"},
};
enum { N_DIM_COLUMNS = sizeof dim_columns / sizeof *dim_columns };

/* Formats the sizes of a torus or mesh, such as "4x4x4"; "" for other shapes. */
static const char *sub_sizes(const rlt_topology *t, uint32_t d, char *text, size_t size)
{
    uint32_t sizes[RLT_MAX_DIMS], count = rlt_topology_sub_sizes(t, d, sizes);
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t s = 0; count > 1 && s < count && used < size; s++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", s ? "x" : "", sizes[s]);
    return text;
}

static int put_dims(const rlt_topology *t, const rlt_topology_facts *facts, rlt_format format, FILE *out,
                    rlt_jw *json, rlt_error *err)
{
    rlt_table table;
    rlt_table_begin(&table, format, dim_columns, N_DIM_COLUMNS, out, json);
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        char text[LINE];
        rlt_dim dim = rlt_topology_dim(t, d);
        rlt_value v[] = {rlt_count(d),
                         rlt_text(dim.shape),
                         rlt_count(dim.size),
                         dim.bw_Bps ? rlt_count(dim.bw_Bps) : rlt_absent(),
                         rlt_topology_is_product(t) ? rlt_ps(dim.latency_ps) : rlt_absent(),
                         facts ? rlt_count(facts->links_by_dim[d]) : rlt_absent(),
                         rlt_text(sub_sizes(t, d, text, sizeof text))};
        rlt_table_row(&table, v);
    }
    return rlt_table_end(&table, err);
}

static void put_endpoint(FILE *out, const rlt_endpoint *e)
{
    char a[LINE], b[LINE];
    fprintf(out, "endpoint    injection %s, launch %s, message %s, byte %g ps",
            e->injection == RLT_INJECT_BLOCKING ? "blocking" : "nic",
            rlt_format_duration(a, sizeof a, e->launch_ps), rlt_format_duration(b, sizeof b, e->message_ps),
            e->byte_fs / 1000.0);
    for (uint32_t i = 0; i < e->n_protocols; i++)
        fprintf(out, "%s%s", i ? ", " : ", protocols ", e->protocols[i].name);
    fputc('\n', out);
}

static void put_facts(FILE *out, const rlt_topology_facts *f)
{
    char a[LINE], b[LINE];
    fprintf(out, "diameter    %u link%s, %s\n", f->diameter_hops, rlt_s(f->diameter_hops),
            rlt_format_duration(a, sizeof a, f->diameter_ps));
    fprintf(out, "bisection   %s\n", rlt_format_rate(a, sizeof a, f->bisection_Bps));
    if (f->min_egress_Bps == f->max_egress_Bps)
        fprintf(out, "egress      %s an accelerator\n", rlt_format_rate(a, sizeof a, f->min_egress_Bps));
    else
        fprintf(out, "egress      %s to %s an accelerator\n", rlt_format_rate(a, sizeof a, f->min_egress_Bps),
                rlt_format_rate(b, sizeof b, f->max_egress_Bps));
}

/* Prints the algorithms that the topology states, such as "all_reduce tree, from 1 MiB ring". */
static void put_choices(FILE *out, const rlt_topology *t)
{
    uint32_t n;
    const rlt_choice *all = rlt_topology_choices(t, &n);
    for (uint32_t i = 0; i < n; i++) {
        char size[LINE];
        bool first = i == 0 || strcmp(all[i].collective, all[i - 1].collective) != 0;
        fputs(i == 0 ? "auto        " : ", ", out);
        if (first)
            fprintf(out, "%s %s", all[i].collective, all[i].algorithm);
        else
            fprintf(out, "from %s %s", rlt_format_size(size, sizeof size, all[i].from_bytes),
                    all[i].algorithm);
    }
    if (n)
        fputc('\n', out);
}

/* Says where nodes end and what joins them: "4 of 8 accelerators; 8 NICs of 50 GB/s a node". */
static int put_nodes(FILE *out, const rlt_topology *t, rlt_error *err)
{
    char rate[LINE];
    rlt_machines m;
    int rc = rlt_machines_find(t, &m, err);
    if (rc || m.nodes < 2)
        return rc;
    fprintf(out, "nodes       %u of %u accelerators; %u NIC%s", m.nodes, m.accelerators, m.nics,
            rlt_s(m.nics));
    if (m.nic_Bps)
        fprintf(out, " of %s", rlt_format_rate(rate, sizeof rate, m.nic_Bps));
    fprintf(out, " a node");
    if (m.planes)
        fprintf(out, ", in %u network%s", m.planes, rlt_s(m.planes));
    fputc('\n', out);
    if (m.pxn != RLT_PXN_UNSTATED && m.nics > 1)
        fprintf(out, "            messages %s inside the node first (pxn %s)\n",
                m.pxn == RLT_PXN_ON ? "move to the receiver's NIC index" : "do not move",
                m.pxn == RLT_PXN_ON ? "on" : "off");
    return 0;
}

static int describe_text(const rlt_topology *t, const rlt_topology_facts *facts, const char *path,
                         rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    rlt_heading(f.stream, "%s", rlt_topology_name(t));
    if (*rlt_topology_source(t))
        rlt_wrap(f.stream, rlt_topology_source(t), 0, 0);
    fprintf(f.stream, "\n%u accelerators, %u nodes, %u links (one a direction)\n\n",
            rlt_topology_accelerators(t), rlt_topology_nodes(t), rlt_topology_links(t));
    rc = put_dims(t, facts, RLT_FORMAT_TABLE, f.stream, NULL, err);
    fputc('\n', f.stream);
    if (!rc)
        rc = put_nodes(f.stream, t, err);
    if (facts)
        put_facts(f.stream, facts);
    if (rlt_topology_rings(t))
        fprintf(f.stream, "rings       %u recommended\n", rlt_topology_rings(t));
    put_choices(f.stream, t);
    put_endpoint(f.stream, rlt_topology_endpoint(t));
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int describe_json(const rlt_parsed *args, const rlt_topology *t, const rlt_topology_facts *facts,
                         const char *path, rlt_error *err)
{
    rlt_inputs in = {0};
    rlt_jw w;
    int rc;
    rlt_inputs_add(&in, "topology", args->operands[0], rlt_topology_hash(t));
    rlt_document_begin(&w, "topo", args, &in);
    rlt_jw_string(&w, "name", rlt_topology_name(t));
    rlt_jw_string(&w, "source", rlt_topology_source(t));
    rlt_jw_bool(&w, "product", rlt_topology_is_product(t));
    rlt_jw_u64(&w, "accelerators", rlt_topology_accelerators(t));
    rlt_jw_u64(&w, "nodes", rlt_topology_nodes(t));
    rlt_jw_u64(&w, "links", rlt_topology_links(t));
    rlt_jw_array(&w, "dims");
    rc = put_dims(t, facts, RLT_FORMAT_JSON, NULL, &w, err);
    rlt_jw_end_array(&w);
    rlt_machines m = {0};
    if (!rc)
        rc = rlt_machines_find(t, &m, err);
    if (m.nodes > 1) {
        rlt_jw_u64(&w, "node_size", m.accelerators);
        rlt_jw_u64(&w, "nics", m.nics);
        rlt_jw_u64(&w, "nic_Bps", m.nic_Bps);
    }
    if (facts) {
        rlt_jw_u64(&w, "diameter_hops", facts->diameter_hops);
        rlt_jw_i64(&w, "diameter_ps", facts->diameter_ps);
        rlt_jw_u64(&w, "bisection_Bps", facts->bisection_Bps);
        rlt_jw_u64(&w, "min_egress_Bps", facts->min_egress_Bps);
        rlt_jw_u64(&w, "max_egress_Bps", facts->max_egress_Bps);
    }
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int describe_csv(const rlt_topology *t, const rlt_topology_facts *facts, const char *path,
                        rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    if ((rc = put_dims(t, facts, RLT_FORMAT_CSV, f.stream, NULL, err))) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int describe(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_report_settings *s = settings;
    rlt_topology *t = NULL;
    rlt_topology_facts facts, *known = &facts;
    rlt_error why = {0};
    int rc = rlt_find_topology(args->operands[0], &t, err);
    if (rc)
        return rc;
    if (rlt_topology_analyse(t, &facts, &why)) {
        rlt_note("not analysed: %s", why.what);
        known = NULL;
    }
    switch (rlt_format_of(s->format, s->output)) {
    case RLT_FORMAT_JSON:
        rc = describe_json(args, t, known, s->output, err);
        break;
    case RLT_FORMAT_CSV:
        rc = describe_csv(t, known, s->output, err);
        break;
    default:
        rc = describe_text(t, known, s->output, err);
    }
    rlt_topology_free(t);
    return rc;
}

/* ---- route */

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

/* ---- check */

static int check(const rlt_parsed *args, void *settings, rlt_error *err)
{
    (void)settings;
    for (int i = 0; i < args->n_operands; i++) {
        rlt_topology *t = NULL;
        rlt_error why = {0};
        if (rlt_find_topology(args->operands[i], &t, &why)) {
            rlt_say_and_keep(err, &why);
            continue;
        }
        printf("%s: ok: %u accelerators, %u nodes, %u links\n", args->operands[i],
               rlt_topology_accelerators(t), rlt_topology_nodes(t), rlt_topology_links(t));
        rlt_topology_free(t);
    }
    return err->code;
}

/* ---- import, export */

typedef struct export_settings {
    const char *as, *output;
} export_settings;

static int write_as(const rlt_topology *t, const char *format, const char *output, rlt_error *err)
{
    char *text = NULL;
    int rc = strcmp(format, "infragraph") == 0 ? rlt_topology_to_infragraph(t, &text, err)
                                               : rlt_topology_export(t, format, &text, err);
    if (!rc)
        rc = rlt_file_write(output, text, strlen(text), err);
    free(text);
    return rc;
}

static const rlt_option export_own[] = {
    {"as", 0, RLT_PARAM_WORD, "FORMAT",
     "Format: ringlet's JSON, GraphML (Gephi, NetworkX, igraph), dot (Graphviz), or InfraGraph.",
     .offset = offsetof(export_settings, as), .preset = "json", .words = "json|graphml|dot|infragraph"},
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Write to this file (default: standard output).",
     .offset = offsetof(export_settings, output), .preset = "-", .unrecorded = true},
    {0}};
static const rlt_option_group export_options[] = {{"Options", export_own, 0}, {0}};

static int export(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const export_settings *s = settings;
    rlt_topology *t = NULL;
    int rc = rlt_find_topology(args->operands[0], &t, err);
    if (!rc)
        rc = write_as(t, s->as, s->output, err);
    rlt_topology_free(t);
    return rc;
}

typedef struct import_settings {
    const char *output, *graph;
    rlt_texts set;
} import_settings;

static const rlt_option import_own[] = {
    {"set", 's', RLT_PARAM_LIST, "NAME=VALUE",
     "What the file does not state. Bandwidths in one direction: nvlink (one NVLink), pcie, cpu (between two "
     "CPUs), network (a NIC), link_bandwidth (a ring channel between two GPUs). InfraGraph: "
     "link=NAME:RATE,DURATION, bandwidth and latency of all other links, lenient, fold. May be repeated.",
     .offset = offsetof(import_settings, set)},
    {"graph", 0, RLT_PARAM_TEXT, "FILE", "NCCL's graph dump of the same machine; its rings are recommended.",
     .offset = offsetof(import_settings, graph)},
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Write to this file (default: standard output).",
     .offset = offsetof(import_settings, output), .preset = "-", .unrecorded = true},
    {0}};
static const rlt_option_group import_options[] = {{"Options", import_own, 0}, {0}};

static bool describes_a_machine(const char *source)
{
    return strncmp(source, "NCCL ", strlen("NCCL ")) == 0 ||
           strncmp(source, "nvidia-smi ", strlen("nvidia-smi ")) == 0 ||
           strncmp(source, "InfraGraph ", strlen("InfraGraph ")) == 0;
}

/* The assumptions of the import are in the topology's source; they are printed as well. */
static int import_with(const rlt_parsed *args, const import_settings *s, const rlt_import *with,
                       rlt_error *err)
{
    rlt_topology *t = NULL;
    int rc = rlt_topology_import(args->operands[0], rlt_topology_dirs().list, with, &t, err);
    if (!rc)
        rc = write_as(t, "json", s->output, err);
    if (!rc && describes_a_machine(rlt_topology_source(t)))
        rlt_note("%s", rlt_topology_source(t));
    rlt_topology_free(t);
    return rc;
}

static int import(const rlt_parsed *args, void *settings, rlt_error *err)
{
    enum { MAX_GRAPH_BYTES = 256 << 20 };
    const import_settings *s = settings;
    rlt_import with = {0};
    char *graph = NULL;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->set.n; i++)
        if ((rc = rlt_params_set_text(rlt_import_parameters(), "an import", &with, s->set.items[i], err)))
            rlt_error_prefix(err, "--set");
    if (!rc && s->graph)
        rc = rlt_read_file(s->graph, MAX_GRAPH_BYTES, &graph, &with.graph_length, err);
    with.graph_name = s->graph;
    with.graph_text = graph;
    if (!rc)
        rc = import_with(args, s, s->set.n || graph ? &with : NULL, err);
    free(graph);
    free(with.links.items);
    return rc;
}

static const rlt_command cmd_describe = {
    .name = "describe",
    .summary = "dimensions, links, diameter, bisection (also plain: ringlet topo T)",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Describes a topology: dimensions, nodes and links. Computed on the graph itself: the diameter, the "
        "bisection bandwidth and what an accelerator can send. The bisection is the minimum cut between two "
        "halves of the accelerators, by number or by one coordinate of a product.",
    .example = "ringlet topo 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns'",
    .options = describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = describe,
};
static const rlt_command cmd_analyse = {
    .name = "analyse",
    .summary = "another word for describe",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description = "The same as ringlet topo describe.",
    .example = "ringlet topo analyse hgx-h100-8 --format json",
    .options = describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = describe,
};
static const rlt_columns hop_table = {"Links of a route: `ringlet topo route`, JSON `hops[]`, CSV",
                                      hop_columns, sizeof hop_columns / sizeof *hop_columns};
static const rlt_columns *const route_tables[] = {&hop_table, NULL};
static const rlt_command cmd_route = {
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
static const rlt_command cmd_check = {
    .name = "check",
    .summary = "validate topology files",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Reads each file and says whether it is a good topology. If not, prints file, line, column, the path "
        "of the value and what was expected. Exit status 3 if any is bad.",
    .example = "ringlet topo check hgx-h100-8",
    .run = check,
};
static const rlt_command cmd_import = {
    .name = "import",
    .summary = "convert any format that is read to ringlet's JSON",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Reads a topology in any format that 'ringlet list readers' shows, and writes ringlet's JSON, which "
        "you can edit. Descriptions of your own machine: NCCL's topology file (NCCL_TOPO_DUMP_FILE=FILE), "
        "its log (NCCL_DEBUG=INFO, of all ranks; may be gzipped), or the output of nvidia-smi topo -m. "
        "InfraGraph describes whole clusters. "
        "Values missing in such a file are assumed and listed, here and in \"source\"; --set gives them.",
    .example = "ringlet topo import nccl-topo.xml --graph nccl-graph.xml --set nvlink=25GB/s -o machine.json",
    .options = import_options,
    .settings_size = sizeof(import_settings),
    .run = import,
};
static const rlt_command cmd_export = {
    .name = "export",
    .summary = "the whole graph as JSON, GraphML, dot or InfraGraph",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description = "Writes the whole graph with all nodes and links.",
    .example = "ringlet topo export 'ring:8@100GB/s,500ns' --as dot",
    .options = export_options,
    .settings_size = sizeof(export_settings),
    .run = export,
};

static const rlt_command *const verbs[] = {&cmd_describe, &cmd_analyse, &cmd_route, &cmd_check,
                                           &cmd_import,   &cmd_export,  NULL};

static const rlt_columns dim_table = {"Dimensions of a topology: `ringlet topo`, JSON `dims[]`, CSV",
                                      dim_columns, sizeof dim_columns / sizeof *dim_columns};
static const rlt_columns *const tables[] = {&dim_table, NULL};

const rlt_command rlt_cmd_topo = {
    .name = "topo",
    .summary = "describe, check, analyse, import, export a topology",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "T is a file ('ringlet list readers' shows the formats), a name that 'ringlet list topologies' "
        "shows, - for standard input, or dimensions written out, innermost first: "
        "shape:size@bandwidth,latency*shape:size@... The bandwidth is what one accelerator can send into the "
        "dimension in one direction; the latency is of one link. 'ringlet list shapes' shows the shapes.",
    .example = "ringlet topo 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns'",
    .options = describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = describe,
    .verbs = verbs,
    .tables = tables,
};
