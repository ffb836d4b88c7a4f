/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet topo describe: dimensions, nodes and facts of a topology. */
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/node_ports.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/output/links.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/topo/topo.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"

enum { LINE = 32 };

const rlt_option_group rlt__topo_describe_options[] = {{"Output", rlt_format_options, 0}, {0}};

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

static void put_facts(FILE *out, const rlt_topology *t, const rlt_topology_facts *f)
{
    static const char too_large[] = "not computed, the network is too large";
    bool alone = rlt_topology_accelerators(t) < 2;
    char a[LINE], b[LINE];
    if (f->diameter_hops || alone)
        fprintf(out, "diameter    %u link%s, %s\n", f->diameter_hops, rlt_s(f->diameter_hops),
                rlt_format_duration(a, sizeof a, f->diameter_ps));
    else
        fprintf(out, "diameter    %s\n", too_large);
    fprintf(out, "bisection   %s\n",
            f->bisection_Bps || alone ? rlt_format_rate(a, sizeof a, f->bisection_Bps) : too_large);
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
    char counts[100];
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    rlt_heading(f.stream, "%s", rlt_topology_name(t));
    if (*rlt_topology_source(t))
        rlt_wrap(f.stream, rlt_topology_source(t), 0, 0);
    fprintf(f.stream, "\n%s (one a direction)\n\n", rlt_topology_counts(t, counts, sizeof counts));
    rc = put_dims(t, facts, RLT_FORMAT_TABLE, f.stream, NULL, err);
    fputc('\n', f.stream);
    if (!rc)
        rc = put_nodes(f.stream, t, err);
    if (facts)
        put_facts(f.stream, t, facts);
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
        if (facts->diameter_hops) {
            rlt_jw_u64(&w, "diameter_hops", facts->diameter_hops);
            rlt_jw_i64(&w, "diameter_ps", facts->diameter_ps);
        }
        if (facts->bisection_Bps)
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

int rlt__topo_describe_run(const rlt_parsed *args, void *settings, rlt_error *err)
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

const rlt_columns rlt__topo_dims = {"Dimensions of a topology: `ringlet topo`, JSON `dims[]`, CSV",
                                    dim_columns, sizeof dim_columns / sizeof *dim_columns};

const rlt_command rlt__topo_describe = {
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
    .options = rlt__topo_describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = rlt__topo_describe_run,
};
const rlt_command rlt__topo_analyse = {
    .name = "analyse",
    .summary = "another word for describe",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description = "The same as ringlet topo describe.",
    .example = "ringlet topo analyse hgx-h100-8 --format json",
    .options = rlt__topo_describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = rlt__topo_describe_run,
};
