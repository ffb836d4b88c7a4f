/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of topology files, recognised by content, and the values that a user may state in place of
 * theirs. */
#include "net/import/import.h"

#include <string.h>

#include "net/import/nccl.h"
#include "net/import/nvidia_smi.h"
#include "net/import/read.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"

/* ---- parameters ---- */

#define RATE(parameter, field, text)                                                                         \
    {                                                                                                        \
        parameter, .kind = RLT_PARAM_RATE, RLT_FIELD(rlt_import, field), .min = 1, .help = text              \
    }
#define NVLINK         RATE("nvlink", nvlink_Bps, "one NVLink in one direction")
#define XGMI           RATE("xgmi", xgmi_Bps, "the xGMI links of two GPUs in one direction")
#define PCIE           RATE("pcie", pcie_Bps, "the slot of a GPU or NIC, and between PCIe switches")
#define CPU            RATE("cpu", cpu_Bps, "between two CPUs")
#define NETWORK        RATE("network", network_Bps, "a NIC's port")
#define LINK_BANDWIDTH RATE("link_bandwidth", channel_Bps, "one channel of a ring between two GPUs")

#define LINK                                                                                                 \
    {                                                                                                        \
        "link", .kind = RLT_PARAM_LIST, RLT_FIELD(rlt_import, links), .arg = "NAME:RATE,DURATION",           \
                .help = "an InfraGraph's link of that name; may be repeated"                                 \
    }
#define BANDWIDTH RATE("bandwidth", link_Bps, "InfraGraph links that state none")
#define LATENCY                                                                                              \
    {                                                                                                        \
        "latency", .kind = RLT_PARAM_TEXT, RLT_FIELD(rlt_import, latency), .arg = "DURATION",                \
                   .help = "latency of InfraGraph links that state none"                                     \
    }
#define LENIENT                                                                                              \
    {                                                                                                        \
        "lenient", .kind = RLT_PARAM_CHOICE, RLT_FIELD(rlt_import, lenient), .words = "off|on",              \
                   .help = "cut unequal one2one lists, leave out unknown and unconnected components, as "    \
                           "InfraGraph's service does"                                                       \
    }
#define FOLD                                                                                                 \
    {                                                                                                        \
        "fold", .kind = RLT_PARAM_CHOICE, RLT_FIELD(rlt_import, unfolded), .words = "on|off",                \
                .help = "make one link of those that meet at an InfraGraph's port or connector"              \
    }

static const rlt_param parameters[] = {NVLINK, XGMI,      PCIE,    CPU,     NETWORK, LINK_BANDWIDTH,
                                       LINK,   BANDWIDTH, LATENCY, LENIENT, FOLD,    {0}};
static const rlt_param of_infragraph[] = {LINK, BANDWIDTH, LATENCY, LENIENT, FOLD, {0}};
static const rlt_param of_nccl_topology[] = {NVLINK, PCIE, CPU, NETWORK, {0}};
static const rlt_param of_nccl_rings[] = {LINK_BANDWIDTH, NETWORK, {0}};
static const rlt_param of_amd_smi[] = {XGMI, PCIE, CPU, {0}};
static const rlt_param of_nvidia_smi[] = {NVLINK, PCIE, CPU, {0}};

const rlt_param *rlt_import_parameters(void)
{
    return parameters;
}

/* ---- formats ---- */

typedef int reader(const char *name, const char *text, size_t length, const rlt_import *import,
                   rlt_topology **out, rlt_error *err);

static int read_json(const char *name, const char *text, size_t length, const rlt_import *import,
                     rlt_topology **out, rlt_error *err)
{
    return rlt_topology_from_json(name, text, length, import, out, err);
}

static int read_graphml(const char *name, const char *text, size_t length, const rlt_import *import,
                        rlt_topology **out, rlt_error *err)
{
    (void)import;
    return rlt_topology_from_graphml(name, text, length, out, err);
}

static int read_astra(const char *name, const char *text, size_t length, const rlt_import *import,
                      rlt_topology **out, rlt_error *err)
{
    (void)import;
    return rlt_topology_from_astra(name, text, length, out, err);
}

/* Returns the first occurrence of `what` in text[0..length), or NULL. */
static const char *find(const char *text, size_t length, const char *what)
{
    size_t n = strlen(what);
    const char *p = text, *end = text + length;
    while ((size_t)(end - p) >= n && (p = memchr(p, what[0], (size_t)(end - p) - n + 1)) != NULL) {
        if (memcmp(p, what, n) == 0)
            return p;
        p++;
    }
    return NULL;
}

/* Returns true if the outermost element of an XML text has this name. */
static bool outermost_is(const char *text, size_t length, const char *name)
{
    const char *p = text, *end = text + length;
    size_t n = strlen(name);
    while ((p = memchr(p, '<', (size_t)(end - p))) != NULL && (size_t)(end - p) > n + 1) {
        if (p[1] != '!' && p[1] != '?')
            return memcmp(p + 1, name, n) == 0 && p[1 + n] && strchr(" \t\r\n>/", p[1 + n]);
        p = find(p, (size_t)(end - p), p[1] == '!' ? "-->" : "?>");
        if (!p)
            return false;
    }
    return false;
}

static bool is_nccl_topology(const char *text, size_t length)
{
    return text[0] == '<' && outermost_is(text, length, "system");
}

static bool is_nccl_graph(const char *text, size_t length)
{
    return text[0] == '<' && outermost_is(text, length, "graphs");
}

static bool is_graphml(const char *text, size_t length)
{
    (void)length;
    return text[0] == '<';
}

/* Recognises an NCCL log. Other output may precede NCCL's first line, and a launcher's "[1,0]<stdout>:" may
 * precede each line. */
static bool is_nccl_log(const char *text, size_t length)
{
    return text[0] != '{' && text[0] != '<' && find(text, length, " NCCL INFO ") != NULL;
}

static bool is_json(const char *text, size_t length)
{
    (void)length;
    return text[0] == '{' || text[0] == '[';
}

static bool is_yaml(const char *text, size_t length)
{
    char c = text[0];
    (void)length;
    return c == '#' || c == '-' || c == '"' || c == '\'' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* In this order; the first format that accepts the text reads it. */
static const struct format {
    rlt_topology_format info;
    bool (*is)(const char *text, size_t length); /* text: from its first non-blank byte, which exists */
    reader *read;
    bool rings; /* uses the rings of a graph dump */
} formats[] = {
    {{"nccl-topology", "topology: NCCL's XML, NCCL_TOPO_DUMP_FILE", of_nccl_topology},
     is_nccl_topology,
     rlt__topo_nccl_xml,
     true},
    {{"nccl-graph", "topology: NCCL's graphs, NCCL_GRAPH_DUMP_FILE", of_nccl_rings},
     is_nccl_graph,
     rlt__topo_nccl_graph,
     false},
    {{"graphml", "topology: GraphML (Gephi, NetworkX, igraph)", NULL}, is_graphml, read_graphml, false},
    {{"infragraph", "topology: InfraGraph, YAML or JSON (Keysight, ASTRA-sim 3)", of_infragraph},
     rlt__topo_infragraph_is,
     rlt__topo_infragraph,
     false},
    {{"nccl-log", "topology: NCCL's log of all ranks, NCCL_DEBUG=INFO", of_nccl_rings},
     is_nccl_log,
     rlt__topo_nccl_log,
     false},
    {{"amd-smi", "topology: rocm-smi --showtopo, or amd-smi topology --json", of_amd_smi},
     rlt__topo_amd_smi_is,
     rlt__topo_amd_smi,
     false},
    {{"json", "topology: ringlet's own", NULL}, is_json, read_json, false},
    {{"nvidia-smi", "topology: the matrix of nvidia-smi topo -m", of_nvidia_smi},
     rlt__topo_nvidia_smi_is,
     rlt__topo_nvidia_smi,
     true},
    {{"astra-network", "topology: ASTRA-sim network YAML", NULL}, is_yaml, read_astra, false},
};
static rlt_registry registry = RLT_REGISTRY_OF_ARRAY("topology format", RLT_EUSAGE, formats);

const rlt_topology_format *rlt_topology_format_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

/* Refuses stated values that the format does not use. */
static int check_import(const struct format *f, const rlt_import *import, rlt_error *err)
{
    for (const rlt_param *p = parameters; p->name; p++) {
        char takes[256];
        if (!*(const uint64_t *)(const void *)((const char *)import + p->offset) ||
            rlt_params_find(f->info.parameters, p->name))
            continue;
        rlt_params_describe(f->info.parameters, takes, sizeof takes);
        return rlt_fail(err, RLT_EUSAGE, p->name, "%s takes %s%s", f->info.name,
                        *takes ? "only " : "no settings", takes);
    }
    if (import->graph_text && !f->rings)
        return rlt_fail(
            err, RLT_EUSAGE, import->graph_name,
            "a graph's rings can be added to an NCCL topology file or an nvidia-smi matrix, not to %s",
            f->info.name);
    return 0;
}

int rlt_topology_read(const char *name, const char *text, size_t length, const rlt_import *import,
                      rlt_topology **out, rlt_error *err)
{
    static const rlt_import none = {0};
    size_t i = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *out = NULL;
    while (i < length && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    if (i == length)
        return rlt_fail(err, RLT_EMALFORMED, name, "the file is empty");
    if (length - i >= 2 && memcmp(text + i, "\x1f\x8b", 2) == 0)
        return rlt_fail(err, RLT_EMALFORMED, name, "a gzip file: expected its content");
    for (uint32_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        if (!formats[k].is(text + i, length - i))
            continue;
        int rc = check_import(&formats[k], import ? import : &none, err);
        if (!rc)
            rc = formats[k].read(name, text, length, import ? import : &none, out, err);
        if (rc && err && !err->where[0]) /* an error without a place, such as a limit */
            rlt_error_prefix(err, name);
        return rc;
    }
    return rlt_fail(
        err, RLT_EMALFORMED, name,
        "no format that is read: neither JSON, GraphML, InfraGraph, an ASTRA-sim network file, NCCL's "
        "topology, graph or log, nor the output of nvidia-smi topo -m, rocm-smi --showtopo or amd-smi "
        "topology");
}
