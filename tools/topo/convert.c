/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet topo import and export: topologies in other formats. */
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/file.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/topo/topo.h"
#include "workload/setup/locate.h"

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
     .offset = offsetof(export_settings, output), .preset = "-", .unrecorded = true, .writes = true},
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
     .offset = offsetof(import_settings, output), .preset = "-", .unrecorded = true, .writes = true},
    {0}};
static const rlt_option_group import_options[] = {{"Options", import_own, 0}, {0}};

static bool describes_a_machine(const char *source)
{
    return strncmp(source, "NCCL ", strlen("NCCL ")) == 0 ||
           strncmp(source, "nvidia-smi ", strlen("nvidia-smi ")) == 0 ||
           strncmp(source, "AMD SMI ", strlen("AMD SMI ")) == 0 ||
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

const rlt_command rlt__topo_import = {
    .name = "import",
    .summary = "convert any format that is read to ringlet's JSON",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Reads a topology in any format that 'ringlet list readers' shows, and writes ringlet's JSON, which "
        "you can edit. Descriptions of your own machine: NCCL's topology file (NCCL_TOPO_DUMP_FILE=FILE), "
        "its log (NCCL_DEBUG=INFO, of all ranks; may be gzipped), or the output of nvidia-smi topo -m, "
        "rocm-smi --showtopo or amd-smi topology --json. "
        "InfraGraph describes whole clusters. "
        "Values missing in such a file are assumed and listed, here and in \"source\"; --set gives them.",
    .example = "ringlet topo import nccl-topo.xml --graph nccl-graph.xml --set nvlink=25GB/s -o machine.json",
    .options = import_options,
    .settings_size = sizeof(import_settings),
    .run = import,
};
const rlt_command rlt__topo_export = {
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
