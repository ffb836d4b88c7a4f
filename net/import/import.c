/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of topology files, told apart by content, and what a user may state in their place. */
#include "net/import/import.h"

#include <string.h>

#include "net/import/nccl.h"
#include "net/import/nvidia_smi.h"
#include "net/import/read.h"
#include "sim/base/registry.h"
#include "sim/base/units.h"

/* ---- settings ---- */

static const struct {
    const char *name;
    size_t offset;
} settings[] = {{"nvlink", offsetof(rlt_import, nvlink_Bps)},
                {"pcie", offsetof(rlt_import, pcie_Bps)},
                {"cpu", offsetof(rlt_import, cpu_Bps)},
                {"network", offsetof(rlt_import, network_Bps)},
                {"link_bandwidth", offsetof(rlt_import, channel_Bps)}};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static uint64_t *value_of(rlt_import *import, int i)
{
    return (uint64_t *)(void *)((char *)import + settings[i].offset);
}

int rlt_import_set(rlt_import *import, const char *setting, rlt_error *err)
{
    const char *equals = strchr(setting, '=');
    size_t n = equals ? (size_t)(equals - setting) : 0;
    for (int i = 0; n && i < N_SETTINGS; i++) {
        if (strlen(settings[i].name) != n || memcmp(settings[i].name, setting, n) != 0)
            continue;
        int rc = rlt_parse_rate(equals + 1, value_of(import, i), settings[i].name, err);
        if (!rc && !*value_of(import, i))
            rc = rlt_fail(err, RLT_ERANGE, settings[i].name, "a bandwidth of zero");
        return rc;
    }
    return rlt_fail(err, RLT_EUSAGE, setting,
                    "expected NAME=BANDWIDTH, such as nvlink=25GB/s; names are nvlink, pcie, cpu, network, "
                    "link_bandwidth");
}

/* ---- formats ---- */

typedef int reader(const char *name, const char *text, size_t length, const rlt_import *import,
                   rlt_topology **out, rlt_error *err);

static int read_json(const char *name, const char *text, size_t length, const rlt_import *import,
                     rlt_topology **out, rlt_error *err)
{
    (void)import;
    return rlt_topology_from_json(name, text, length, out, err);
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

/* The first place of `what` in text[0..length), or NULL. */
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

/* Whether the outermost element of an XML text has this name. */
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

/* Other output may stand before the first line of NCCL, and a launcher's "[1,0]<stdout>:" before each. */
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

/* In this order: the first that says yes reads. */
static const struct format {
    rlt_topology_format info;
    bool (*is)(const char *text, size_t length); /* from the first byte that is no blank: at least that one */
    reader *read;
    bool rings; /* takes those of a graph dump */
} formats[] = {
    {{"nccl-topology", "topology: NCCL's XML, NCCL_TOPO_DUMP_FILE", "nvlink, pcie, cpu, network"},
     is_nccl_topology,
     rlt__topo_nccl_xml,
     true},
    {{"nccl-graph", "topology: NCCL's graphs, NCCL_GRAPH_DUMP_FILE", "link_bandwidth, network"},
     is_nccl_graph,
     rlt__topo_nccl_graph,
     false},
    {{"graphml", "topology: GraphML (Gephi, NetworkX, igraph)", NULL}, is_graphml, read_graphml, false},
    {{"nccl-log", "topology: NCCL's log of all ranks, NCCL_DEBUG=INFO", "link_bandwidth, network"},
     is_nccl_log,
     rlt__topo_nccl_log,
     false},
    {{"json", "topology: ringlet's own", NULL}, is_json, read_json, false},
    {{"nvidia-smi", "topology: the matrix of nvidia-smi topo -m", "nvlink, pcie, cpu"},
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

/* Refuses what the format would not look at. */
static int check_import(const struct format *f, const rlt_import *import, rlt_error *err)
{
    rlt_import copy = *import;
    for (int i = 0; i < N_SETTINGS; i++)
        if (*value_of(&copy, i) && (!f->info.settings || !strstr(f->info.settings, settings[i].name)))
            return rlt_fail(err, RLT_EUSAGE, settings[i].name, "%s takes %s%s", f->info.name,
                            f->info.settings ? "only " : "no settings",
                            f->info.settings ? f->info.settings : "");
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
        if (rc && err && !err->where[0]) /* limits that a place in the file does not explain */
            rlt_error_prefix(err, name);
        return rc;
    }
    return rlt_fail(
        err, RLT_EMALFORMED, name,
        "no format that is read: neither JSON, GraphML, an ASTRA-sim network file, NCCL's topology, graph "
        "or log, nor the matrix of nvidia-smi topo -m");
}
