/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AMD's descriptions of a machine: the matrices of `rocm-smi --showtopo`, and the JSON of `amd-smi topology
 * --json`. Each pair of GPUs has a type (XGMI or PCIE), a number of hops and a weight. A pair of one xGMI
 * hop has a link; other pairs go through a third GPU, or through the CPUs of their NUMA nodes. amd-smi also
 * tells the bandwidth of a pair, in MB/s, raw: protocol and checksums leave three quarters (48 of 64 GB/s on
 * MI300X, AMD, ROCm blogs, 2025-03).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/import/read.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/json.h"

#define MBps UINT64_C(1000000)
#define GBps UINT64_C(1000000000)

enum {
    MAX_GPUS = 256,
    MAX_WORDS = MAX_GPUS + 8,
    MAX_MBps = 10000000,
    XGMI_GBps = 48,
    PCIE_GBps = 48,
    CPU_GBps = 16
};
/* A step over xGMI costs 0.8 us in RCCL's tuner (src/graph/tuning.cc, MI300X, LL), of which the endpoint of
 * rlt__machine_build has 0.6. */
#define XGMI_PS ((rlt_time)200000)

/* Facts about a pair of GPUs. */
typedef struct pair {
    bool listed, xgmi;
    uint32_t hops, weight, MBps_raw; /* 0: not stated */
} pair;

typedef struct reader {
    rlt__machine m;
    const rlt_import *import;
    uint32_t n, numa[MAX_GPUS]; /* RLT_NONE: not stated */
    pair *pairs;                /* n * n */
    uint32_t line, stated;      /* stated: links with a bandwidth of their own */
    uint64_t xgmi_Bps, pcie_Bps, cpu_Bps;
} reader;

typedef struct word {
    const char *p;
    uint32_t n;
} word;

static int fail(const reader *r, const char *what, const word *w)
{
    char where[300];
    snprintf(where, sizeof where, "%.200s:%" PRIu32, r->m.file, r->line);
    if (!w)
        return rlt_fail(r->m.err, RLT_ESCHEMA, where, "%s", what);
    return rlt_fail(r->m.err, RLT_ESCHEMA, where, "%s, got '%.*s'", what, w->n > 40 ? 40 : (int)w->n, w->p);
}

static bool is(const word *w, const char *text)
{
    return w->n == strlen(text) && memcmp(w->p, text, w->n) == 0;
}

static uint32_t split(const char *line, const char *end, word *words)
{
    uint32_t n = 0;
    for (const char *p = line; p < end && n < MAX_WORDS;) {
        if (*p == ' ' || *p == '\t' || *p == '\r') {
            p++;
            continue;
        }
        words[n].p = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
            p++;
        words[n].n = (uint32_t)(p - words[n].p);
        n++;
    }
    return n;
}

/* Reads the digits at p, at most to `end`. Returns false if there are none or more than 8. */
static bool digits(const char *p, const char *end, uint32_t *out)
{
    uint32_t n = 0;
    *out = 0;
    for (; p + n < end && p[n] >= '0' && p[n] <= '9' && n < 9; n++)
        *out = *out * 10 + (uint32_t)(p[n] - '0');
    return n > 0 && n < 9;
}

/* Returns the number of "GPU3"; RLT_NONE for another word. */
static uint32_t gpu_of(const word *w)
{
    uint32_t gpu;
    return w->n > 3 && memcmp(w->p, "GPU", 3) == 0 && digits(w->p + 3, w->p + w->n, &gpu) ? gpu : RLT_NONE;
}

static int set_size(reader *r, uint32_t n)
{
    if (n == 0 || n > MAX_GPUS)
        return fail(r, n ? "more than 256 GPUs" : "no GPUs", NULL);
    r->n = n;
    r->pairs = rlt_arena_array(&r->m.arena, (size_t)n * n, sizeof *r->pairs);
    if (!r->pairs)
        return rlt_nomem(r->m.err);
    for (uint32_t i = 0; i < n; i++)
        r->numa[i] = RLT_NONE;
    return 0;
}

static int set_type(reader *r, pair *p, const word *w)
{
    if (!is(w, "XGMI") && !is(w, "PCIE") && !is(w, "SELF") && !is(w, "0") && !is(w, "N/A") &&
        !is(w, "UNKNOWN"))
        return fail(r, "expected a type of link, XGMI or PCIE", w);
    p->listed = true;
    p->xgmi = is(w, "XGMI");
    return 0;
}

/* Reads "50000-100000", the least and the greatest bandwidth in MB/s, or "N/A". */
static int set_bandwidth(reader *r, pair *p, const word *w)
{
    const char *dash = memchr(w->p, '-', w->n), *end = w->p + w->n;
    uint32_t low = 0, high = 0;
    if (is(w, "N/A") || is(w, "0"))
        return 0;
    if (!digits(w->p, end, &low) || !digits(dash ? dash + 1 : w->p, end, &high) || high > MAX_MBps ||
        low > high)
        return fail(r, "expected a bandwidth LOW-HIGH in MB/s", w);
    p->MBps_raw = high;
    return 0;
}

/* ---- rocm-smi */

typedef enum section { NONE, WEIGHTS, HOPS, TYPES, BANDWIDTHS, NUMA } section;

static section section_of(const char *line, const char *end)
{
    static const struct {
        const char *text;
        section section;
    } heads[] = {{"Weight between two GPUs", WEIGHTS},
                 {"Hops between two GPUs", HOPS},
                 {"Link Type between two GPUs", TYPES},
                 {"andwidth between two GPUs", BANDWIDTHS},
                 {"Numa Nodes", NUMA}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (rlt_contains(line, (size_t)(end - line), heads[i].text))
            return heads[i].section;
    return NONE;
}

static int read_cells(reader *r, section s, uint32_t row, const word *cells)
{
    int rc = 0;
    for (uint32_t k = 0; k < r->n && !rc; k++) {
        pair *p = &r->pairs[row * r->n + k];
        const word *w = &cells[k];
        if (s == TYPES)
            rc = set_type(r, p, w);
        else if (s == BANDWIDTHS)
            rc = set_bandwidth(r, p, w);
        else if (!digits(w->p, w->p + w->n, s == HOPS ? &p->hops : &p->weight) && !is(w, "N/A"))
            rc = fail(r, "expected a number", w);
    }
    return rc;
}

/* Reads "GPU[0] : (Topology) Numa Node: 0"; older versions write "GPU 0". */
static void read_numa(reader *r, const char *line, const char *end)
{
    const char *at = line;
    uint32_t gpu, node;
    while (at < end && (*at < '0' || *at > '9'))
        at++;
    if (!rlt_contains(line, (size_t)(end - line), "Numa Node:") || !digits(at, end, &gpu) || gpu >= r->n)
        return;
    for (at = end; at > line && (at[-1] == ' ' || at[-1] == '\r'); at--) {
    }
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at > line && at[-1] != '-' && digits(at, end, &node))
        r->numa[gpu] = node;
}

static int read_line(reader *r, section *s, uint32_t *row, const char *line, const char *end)
{
    word words[MAX_WORDS];
    section next = section_of(line, end);
    uint32_t n = split(line, end, words);
    if (next != NONE) {
        *s = next;
        *row = 0;
        return 0;
    }
    if (*s == NUMA)
        read_numa(r, line, end);
    if (*s == NONE || *s == NUMA || n == 0 || gpu_of(&words[0]) == RLT_NONE)
        return 0;
    bool head = n == 1 ? *row == 0 && !r->n : gpu_of(&words[1]) != RLT_NONE;
    if (head && !r->n)
        return set_size(r, n);
    if (head || (n == 1 && r->n == 1 && *row == 0))
        return n == r->n ? 0 : fail(r, "the matrices have different sizes", NULL);
    if (gpu_of(&words[0]) != *row || *row >= r->n || n != r->n + 1)
        return fail(r, "expected a row for each GPU with an entry for each", &words[0]);
    return read_cells(r, *s, (*row)++, words + 1);
}

static int read_matrices(reader *r, const char *text, size_t length)
{
    const char *end = text + length;
    section s = NONE;
    uint32_t row = 0;
    int rc = 0;
    for (const char *p = text; p < end && !rc;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        r->line++;
        rc = read_line(r, &s, &row, p, stop);
        p = stop + 1;
    }
    return rc ? rc : r->n ? 0 : fail(r, "no matrix of rocm-smi --showtopo", NULL);
}

/* ---- amd-smi */

static int read_link(reader *r, uint32_t gpu, rlt_json link)
{
    uint64_t peer = 0, hops = 0, weight = 0;
    const char *type = NULL, *bandwidth = NULL;
    char buffer[64];
    int rc = rlt_json_get_u64(link, "gpu", true, r->n - 1, &peer, r->m.err);
    rc = rc ? rc : rlt_json_get_string(link, "link_type", true, &type, r->m.err);
    if (!rc && rlt_json_is_number(rlt_json_get(link, "num_hops")))
        rc = rlt_json_get_u64(link, "num_hops", true, UINT32_MAX, &hops, r->m.err);
    if (!rc && rlt_json_is_number(rlt_json_get(link, "weight")))
        rc = rlt_json_get_u64(link, "weight", true, UINT32_MAX, &weight, r->m.err);
    if (rc)
        return rc;
    pair *p = &r->pairs[gpu * r->n + peer];
    p->hops = (uint32_t)hops;
    p->weight = (uint32_t)weight;
    rc = set_type(r, p, &(word){type, (uint32_t)strlen(type)});
    bandwidth = rlt_json_scalar(rlt_json_get(link, "bandwidth"), buffer, sizeof buffer);
    if (!rc && bandwidth)
        rc = set_bandwidth(r, p, &(word){bandwidth, (uint32_t)strlen(bandwidth)});
    return rc ? rlt_json_fail(link, rc, r->m.err, "not a link") : 0;
}

static int read_json(reader *r, const char *name, const char *text, size_t length)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_parse(name, text, length, &doc, r->m.err);
    rlt_json list = rc ? (rlt_json){0} : rlt_json_root(doc);
    r->line = 1;
    if (!rc)
        rc = set_size(r, rlt_json_count(list));
    for (rlt_json g = rlt_json_first(list); rlt_json_is(g) && !rc; g = rlt_json_next(g)) {
        uint64_t gpu = 0;
        rlt_json links = rlt_json_get(g, "links");
        rc = rlt_json_get_u64(g, "gpu", true, r->n - 1, &gpu, r->m.err);
        if (!rc && !rlt_json_is_array(links))
            rc = rlt_json_fail(g, RLT_ESCHEMA, r->m.err,
                               "expected links, as amd-smi topology --json lists them");
        for (rlt_json l = rlt_json_first(links); rlt_json_is(l) && !rc; l = rlt_json_next(l))
            rc = read_link(r, (uint32_t)gpu, l);
    }
    rlt_json_free(doc);
    return rc;
}

/* ---- the machine */

static int check(reader *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < r->n; k++) {
            const pair *p = &r->pairs[i * r->n + k], *q = &r->pairs[k * r->n + i];
            if (i != k && (!p->listed || p->xgmi != q->xgmi || p->hops != q->hops))
                return rlt_fail(r->m.err, RLT_ESCHEMA, r->m.file,
                                p->listed ? "the entry from GPU %" PRIu32 " to GPU %" PRIu32
                                            " differs from the entry back"
                                          : "no type of link from GPU %" PRIu32 " to GPU %" PRIu32,
                                i, k);
        }
    return 0;
}

/* Least weight of an xGMI pair: that of one hop. */
static uint32_t least_weight(const reader *r)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < r->n * r->n; i++)
        if (r->pairs[i].xgmi && r->pairs[i].weight && r->pairs[i].weight < least)
            least = r->pairs[i].weight;
    return least;
}

static bool linked(const pair *p, uint32_t least)
{
    return p->xgmi && p->hops <= 1 && p->weight <= least;
}

static int add_xgmi(reader *r, uint32_t least)
{
    int rc = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < r->n && !rc; k++) {
            const pair *p = &r->pairs[i * r->n + k];
            uint64_t bw = r->xgmi_Bps;
            if (i == k || !linked(p, least))
                continue;
            if (p->MBps_raw && !r->import->xgmi_Bps) {
                bw = p->MBps_raw * MBps / 4 * 3;
                r->stated++;
            }
            rc = rlt__machine_link(&r->m, i, k, bw, XGMI_PS);
        }
    return rc;
}

/* Adds the CPUs of the NUMA nodes, if a pair of GPUs has no link. */
static int add_cpus(reader *r, uint32_t least)
{
    uint32_t cpus[MAX_GPUS], n = 0;
    bool needed = r->n == 1;
    int64_t rc = 0;
    for (uint32_t i = 0; i < r->n * r->n; i++)
        needed = needed || (i % r->n != i / r->n && !linked(&r->pairs[i], least));
    for (uint32_t i = 0; i < r->n && needed && rc >= 0; i++) {
        uint32_t same = 0;
        while (same < i && r->numa[same] != r->numa[i])
            same++;
        rc = same < i ? cpus[same] : rlt__machine_node(&r->m, RLT_CPU, true, NULL, "cpu%" PRIu32, n++);
        cpus[i] = (uint32_t)rc;
        if (rc >= 0)
            rc = rlt__machine_duplex(&r->m, i, cpus[i], r->pcie_Bps, RLT__PCIE_END_PS);
        for (uint32_t k = 0; k < i && rc >= 0 && same == i; k++)
            if (rlt_map_get(&r->m.pair, (uint64_t)cpus[k] << 32 | cpus[i]) == RLT_NONE)
                rc = rlt__machine_duplex(&r->m, cpus[k], cpus[i], r->cpu_Bps, 0);
    }
    return rc < 0 ? (int)rc : 0;
}

static const char *describe(reader *r, uint32_t relayed)
{
    const char *each = rlt__rate(&r->m, r->xgmi_Bps);
    return rlt_arena_printf(
        &r->m.arena,
        "AMD SMI topology: %" PRIu32 " GPUs; xGMI at %s%s; PCIe %s, between CPUs %s (%s). %" PRIu32
        " pairs without an xGMI link go through a third GPU. xGMI 0.8 us a step (RCCL's tuner, MI300X).",
        r->n, r->stated ? "three quarters of the stated bandwidth" : each,
        r->import->xgmi_Bps ? " (given)"
        : r->stated         ? ""
                            : " (ASSUMED: MI300X; --set xgmi= gives another)",
        rlt__rate(&r->m, r->pcie_Bps), rlt__rate(&r->m, r->cpu_Bps),
        r->import->pcie_Bps && r->import->cpu_Bps ? "given" : "ASSUMED", relayed);
}

static int build(reader *r, uint64_t hash, rlt_topology **out)
{
    uint32_t relayed = 0, least = least_weight(r);
    int64_t rc = check(r);
    r->xgmi_Bps = r->import->xgmi_Bps ? r->import->xgmi_Bps : XGMI_GBps * GBps;
    r->pcie_Bps = r->import->pcie_Bps ? r->import->pcie_Bps : PCIE_GBps * GBps;
    r->cpu_Bps = r->import->cpu_Bps ? r->import->cpu_Bps : CPU_GBps * GBps;
    for (uint32_t i = 0; i < r->n && rc >= 0; i++)
        rc = rlt__machine_node(&r->m, RLT_ACCELERATOR, false, NULL, "gpu%" PRIu32, i);
    rc = rc < 0 ? rc : add_xgmi(r, least);
    rc = rc < 0 ? rc : add_cpus(r, least);
    rc = rc < 0 ? rc : rlt__machine_relay(&r->m, &relayed);
    return rc < 0 ? (int)rc : rlt__machine_build(&r->m, describe(r, relayed), hash, out);
}

bool rlt__topo_amd_smi_is(const char *text, size_t length)
{
    return text[0] == '['
               ? rlt_contains(text, length, "\"link_type\"") && rlt_contains(text, length, "\"links\"")
               : text[0] != '{' && rlt_contains(text, length, "Link Type between two GPUs");
}

int rlt__topo_amd_smi(const char *name, const char *text, size_t length, const rlt_import *import,
                      rlt_topology **out, rlt_error *err)
{
    reader *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->m.file = name;
    r->m.err = err;
    r->import = import;
    const char *at = text;
    while (at < text + length && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    int rc =
        at < text + length && *at == '[' ? read_json(r, name, text, length) : read_matrices(r, text, length);
    if (!rc)
        rc = build(r, rlt_hash_bytes(text, length, 0), out);
    rlt__machine_free(&r->m);
    free(r);
    return rc;
}
