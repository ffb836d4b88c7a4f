/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The matrix of `nvidia-smi topo -m`: how each pair of a machine's GPUs and NICs is connected. The classes
 * PIX, PXB, PHB, NODE and SYS define a tree: devices of one class or a closer one share one bridge, one upper
 * bridge, one host bridge, one NUMA node. NVLinks are counted per pair (NV12). If the counts of a GPU add up
 * to more NVLinks than it has, they lead to NVSwitches. The matrix has no bandwidths.
 */
#include "net/import/nvidia_smi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/nccl.h"
#include "net/import/read.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define GBps UINT64_C(1000000000)

enum {
    MAX_DEVICES = 1024,
    MAX_TOKENS = MAX_DEVICES + 16,
    MAX_NVLINKS = 18, /* most NVLinks of a GPU */
    HOPPER_NVLINKS = 18,
    NVLINK_GBps = 25,
};

/* Distance of two devices. The number of NVLinks is stored apart from it. */
typedef enum distance { PIX, PXB, PHB, NODE, SYS, UNKNOWN, SELF } distance;
enum { LEVELS = SYS };

typedef struct token {
    const char *p;
    size_t n;
    uint32_t column; /* from 1 */
} token;

typedef struct device {
    const char *name;
    bool gpu;
    const char *numa;       /* CPU affinity as written; NULL: not stated */
    uint32_t group[LEVELS]; /* union-find: representative of its group at each level */
    uint32_t node;
} device;

typedef struct reader {
    rlt__machine m;
    const rlt_import *import;
    device *devices;
    uint8_t *apart, *nvlinks; /* n * n */
    uint32_t n, n_gpus, line, strange;
    uint32_t row_line[MAX_DEVICES];
    token tokens[MAX_TOKENS];
    uint32_t n_tokens;
    uint64_t nvlink_Bps, pcie_Bps, cpu_Bps;
    bool nvswitch;
    uint32_t links_of_gpu; /* largest number of NVLinks of a GPU */
} reader;

static int fail(reader *r, uint32_t column, const char *what, const token *t)
{
    char where[300];
    snprintf(where, sizeof where, "%.200s:%" PRIu32 ":%" PRIu32, r->m.file, r->line, column);
    if (!t)
        return rlt_fail(r->m.err, RLT_ESCHEMA, where, "%s", what);
    return rlt_fail(r->m.err, RLT_ESCHEMA, where, "%s, got '%.*s'", what, t->n > 40 ? 40 : (int)t->n, t->p);
}

/* ---- lines and words ---- */

static uint32_t split(const char *line, const char *end, token *tokens, uint32_t max)
{
    uint32_t n = 0;
    for (const char *p = line; p < end && n < max;) {
        /* The header is underlined, also when the output is no terminal. */
        const char *after = rlt__skip_escape(p, end);
        if (after != p || *p == ' ' || *p == '\t' || *p == '\r') {
            p = after != p ? after : p + 1;
            continue;
        }
        tokens[n] = (token){.p = p, .column = (uint32_t)(p - line) + 1};
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\x1b')
            p++;
        tokens[n].n = (size_t)(p - tokens[n].p);
        n++;
    }
    return n;
}

static bool is(const token *t, const char *text)
{
    return t->n == strlen(text) && memcmp(t->p, text, t->n) == 0;
}

static bool gpu_name(const token *t)
{
    return t->n > 3 && memcmp(t->p, "GPU", 3) == 0 && t->p[3] >= '0' && t->p[3] <= '9';
}

static bool begins(const token *t, const char *text)
{
    size_t n = strlen(text);
    return t->n >= n && memcmp(t->p, text, n) == 0;
}

/* Recognises the header: a GPU, then another device or the affinities, never "X". */
static bool is_head(const token *t, uint32_t n)
{
    return n >= 2 && gpu_name(&t[0]) &&
           (gpu_name(&t[1]) || is(&t[1], "CPU") || begins(&t[1], "NIC") || begins(&t[1], "mlx"));
}

static const char *end_of_line(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop : end;
}

bool rlt__topo_nvidia_smi_is(const char *text, size_t length)
{
    const char *end = text + length;
    token t[4];
    for (const char *p = text; p < end;) {
        const char *stop = end_of_line(p, end);
        if (is_head(t, split(p, stop, t, 4)))
            return true;
        p = stop + 1;
    }
    return false;
}

/* ---- reading ---- */

static int read_head(reader *r)
{
    while (r->n < r->n_tokens && !is(&r->tokens[r->n], "CPU") && !is(&r->tokens[r->n], "NUMA") &&
           !is(&r->tokens[r->n], "GPU"))
        r->n++;
    if (r->n > MAX_DEVICES || r->n_tokens == MAX_TOKENS)
        return fail(r, 1, "more than 1024 devices", NULL);
    r->devices = rlt_arena_array(&r->m.arena, r->n, sizeof *r->devices);
    r->apart = rlt_arena_array(&r->m.arena, r->n, r->n);
    r->nvlinks = rlt_arena_array(&r->m.arena, r->n, r->n);
    if (!r->devices || !r->apart || !r->nvlinks)
        return rlt_nomem(r->m.err);
    for (uint32_t i = 0; i < r->n; i++) {
        device *d = &r->devices[i];
        const token *t = &r->tokens[i];
        d->gpu = gpu_name(t);
        d->name = rlt_arena_strndup(&r->m.arena, t->p, t->n > 60 ? 60 : t->n);
        if (!d->name)
            return rlt_nomem(r->m.err);
        if (d->gpu && r->n_gpus++ != i)
            return fail(r, t->column, "expected the GPUs before other devices", t);
        for (uint32_t k = 0; k < LEVELS; k++)
            d->group[k] = i;
    }
    return 0;
}

static int read_cell(reader *r, uint32_t row, uint32_t column)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    const token *t = &r->tokens[column + 1];
    uint8_t *apart = &r->apart[row * r->n + column], *links = &r->nvlinks[row * r->n + column];
    if (is(t, "X") != (row == column))
        return fail(r, t->column, row == column ? "expected X, a device and itself" : "expected no X here",
                    t);
    *apart = SELF;
    if (row == column)
        return 0;
    for (uint8_t k = 0; k < 5; k++)
        if (is(t, words[k]) || (k == SYS && is(t, "SOC"))) { /* SOC: driver before 390 */
            *apart = k;
            return 0;
        }
    *apart = UNKNOWN;
    for (size_t i = 2; i < t->n && i < 5 && t->p[0] == 'N' && t->p[1] == 'V'; i++) {
        if (t->p[i] < '0' || t->p[i] > '9' || *links > 9)
            *links = 100;
        else
            *links = (uint8_t)(10 * *links + (t->p[i] - '0'));
    }
    if (t->n > 4 || *links == 0 || *links > 99 || row >= r->n_gpus || column >= r->n_gpus)
        return fail(r, t->column, "expected X, NV#, PIX, PXB, PHB, NODE or SYS (NV# between GPUs)", t);
    return 0;
}

static int read_row(reader *r, uint32_t row)
{
    device *d = &r->devices[row];
    if (!is(&r->tokens[0], d->name))
        return fail(r, r->tokens[0].column, "expected the rows in the order of the columns", &r->tokens[0]);
    if (r->n_tokens < r->n + 1)
        return fail(r, r->tokens[r->n_tokens - 1].column, "the row is shorter than the head", NULL);
    r->row_line[row] = r->line;
    for (uint32_t i = 0; i < r->n; i++) {
        int rc = read_cell(r, row, i);
        if (rc)
            return rc;
    }
    const token *affinity = &r->tokens[r->n + 1];
    if (r->n_tokens > r->n + 1 && affinity->p[0] >= '0' && affinity->p[0] <= '9') {
        d->numa = rlt_arena_strndup(&r->m.arena, affinity->p, affinity->n > 200 ? 200 : affinity->n);
        return d->numa ? 0 : rlt_nomem(r->m.err);
    }
    return 0;
}

/* Reads "NIC0: mlx5_0". */
static int read_legend(reader *r)
{
    const token *key = &r->tokens[0], *value = &r->tokens[1];
    for (uint32_t i = r->n_gpus; i < r->n; i++) {
        device *d = &r->devices[i];
        if (key->n != strlen(d->name) + 1 || key->p[key->n - 1] != ':' ||
            memcmp(key->p, d->name, key->n - 1) != 0)
            continue;
        d->name = rlt_arena_strndup(&r->m.arena, value->p, value->n > 60 ? 60 : value->n);
        return d->name ? 0 : rlt_nomem(r->m.err);
    }
    return 0;
}

static int read_matrix(reader *r, const char *text, size_t length)
{
    const char *end = text + length;
    uint32_t rows = 0;
    for (const char *p = text; p < end;) {
        const char *stop = end_of_line(p, end);
        r->line++;
        r->n_tokens = split(p, stop, r->tokens, MAX_TOKENS);
        p = stop + 1;
        int rc = 0;
        if (!r->n && is_head(r->tokens, r->n_tokens))
            rc = read_head(r);
        else if (rows < r->n && r->n_tokens)
            rc = read_row(r, rows++);
        else if (rows == r->n && r->n_tokens == 2)
            rc = read_legend(r);
        if (rc)
            return rc;
    }
    if (!r->n)
        return rlt_fail(r->m.err, RLT_ESCHEMA, r->m.file, "no line 'GPU0 GPU1 ...' of nvidia-smi topo -m");
    return rows == r->n ? 0 : fail(r, 1, "the matrix ends before its last row", NULL);
}

static int check_symmetry(reader *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (r->apart[i * r->n + k] != r->apart[k * r->n + i] ||
                r->nvlinks[i * r->n + k] != r->nvlinks[k * r->n + i]) {
                char where[300];
                snprintf(where, sizeof where, "%.200s:%" PRIu32, r->m.file, r->row_line[i]);
                return rlt_fail(r->m.err, RLT_ESCHEMA, where,
                                "the entry from %s to %s differs from the entry from %s to %s",
                                r->devices[i].name, r->devices[k].name, r->devices[k].name,
                                r->devices[i].name);
            }
    return 0;
}

/* ---- the tree ---- */

static uint32_t find(reader *r, uint32_t level, uint32_t i)
{
    while (r->devices[i].group[level] != i) {
        uint32_t up = r->devices[i].group[level];
        r->devices[i].group[level] = r->devices[up].group[level];
        i = up;
    }
    return i;
}

/* Joins two groups; the lowest number represents the result. */
static void join(reader *r, uint32_t level, uint32_t a, uint32_t b)
{
    a = find(r, level, a);
    b = find(r, level, b);
    if (a < b)
        r->devices[b].group[level] = a;
    else
        r->devices[a].group[level] = b;
}

static void make_groups(reader *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const char *a = r->devices[i].numa, *b = r->devices[k].numa;
            for (uint32_t level = r->apart[i * r->n + k]; level < LEVELS; level++)
                join(r, level, i, k);
            /* NVLinks hide the PCIe distance of two GPUs. */
            if (r->apart[i * r->n + k] == UNKNOWN && a && b && strcmp(a, b) == 0)
                join(r, NODE, i, k);
        }
    }
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < i; k++)
            for (uint32_t level = 0; level < LEVELS && r->apart[i * r->n + k] <= SYS; level++)
                if (level < r->apart[i * r->n + k] && find(r, level, i) == find(r, level, k)) {
                    r->strange++; /* further apart than by way of a third device */
                    break;
                }
}

/* Returns true if the group of i at `level` has several groups of level `below`. */
static bool has_several(reader *r, uint32_t level, uint32_t below, uint32_t i)
{
    for (uint32_t k = 0; k < r->n; k++)
        if (find(r, level, k) == find(r, level, i) && find(r, below, k) != find(r, below, i))
            return true;
    return false;
}

static bool alone(reader *r, uint32_t level, uint32_t i)
{
    for (uint32_t k = 0; k < r->n; k++)
        if (k != i && find(r, level, k) == find(r, level, i))
            return false;
    return true;
}

/* Returns the node of the group of device i at `level`; creates it, with that name, on first use. */
static int64_t group_node(reader *r, uint32_t *nodes, uint32_t level, uint32_t i, const char *name,
                          uint32_t *count)
{
    uint32_t *node = &nodes[level * r->n + find(r, level, i)];
    if (*node == RLT_NONE) {
        int64_t made = rlt__machine_node(&r->m, level == NODE ? RLT_CPU : RLT_PCIE, true, NULL, "%s%" PRIu32,
                                         name, (*count)++);
        if (made < 0)
            return made;
        *node = (uint32_t)made;
    }
    return *node;
}

/* Links a node to its parent, once. */
static int attach(reader *r, uint32_t *below, int64_t above, uint64_t bw, rlt_time latency)
{
    int rc = 0;
    if (above < 0)
        return (int)above;
    if (rlt_map_get(&r->m.pair, (uint64_t)*below << 32 | (uint32_t)above) == RLT_NONE)
        rc = rlt__machine_duplex(&r->m, *below, (uint32_t)above, bw, latency);
    *below = (uint32_t)above;
    return rc;
}

/* Attaches a device: bridge, upper bridge, host bridge, CPU, as far as the classes distinguish them. */
static int attach_device(reader *r, uint32_t *nodes, uint32_t *counts, uint32_t i)
{
    static const char *const names[] = {"pcie", "pcie-upper", "host-bridge", "cpu"};
    uint32_t below = r->devices[i].node;
    rlt_time latency = RLT__PCIE_END_PS;
    for (uint32_t level = PIX; level <= NODE; level++) {
        bool there = level == NODE || (level == PIX && !alone(r, PIX, i)) ||
                     (level == PXB && has_several(r, PXB, PIX, i)) ||
                     (level == PHB && has_several(r, NODE, PHB, i) && has_several(r, PHB, PXB, i));
        if (!there)
            continue;
        int rc = attach(r, &below, group_node(r, nodes, level, i, names[level], &counts[level]), r->pcie_Bps,
                        latency);
        if (rc)
            return rc;
        latency = 0;
    }
    return 0;
}

static int add_tree(reader *r)
{
    uint32_t *nodes = malloc(((size_t)LEVELS * r->n + 1) * sizeof *nodes), counts[LEVELS] = {0};
    int64_t rc = nodes ? 0 : rlt_nomem(r->m.err);
    for (uint32_t i = 0; nodes && i < LEVELS * r->n; i++)
        nodes[i] = RLT_NONE;
    for (uint32_t i = 0; rc >= 0 && i < r->n; i++) {
        const device *d = &r->devices[i];
        rc = d->gpu ? rlt__machine_node(&r->m, RLT_ACCELERATOR, false, NULL, "gpu%" PRIu32, i)
                    : rlt__machine_node(&r->m, RLT_NIC, true, NULL, "%s", d->name);
        r->devices[i].node = (uint32_t)rc;
    }
    for (uint32_t i = 0; rc >= 0 && i < r->n; i++)
        rc = attach_device(r, nodes, counts, i);
    for (uint32_t i = 0; rc >= 0 && i < r->n; i++)
        for (uint32_t k = 0; rc >= 0 && k < i; k++) {
            uint32_t a = nodes[NODE * r->n + i], b = nodes[NODE * r->n + k];
            if (a != RLT_NONE && b != RLT_NONE)
                rc = rlt__machine_duplex(&r->m, b, a, r->cpu_Bps, 0);
        }
    free(nodes);
    return rc < 0 ? (int)rc : 0;
}

/* ---- NVLinks and bandwidths ---- */

static void count_nvlinks(reader *r)
{
    bool same = r->n_gpus > 1;
    for (uint32_t i = 0; i < r->n_gpus; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < r->n_gpus; k++) {
            sum += r->nvlinks[i * r->n + k];
            same &= i == k || r->nvlinks[i * r->n + k] == r->nvlinks[1];
        }
        r->links_of_gpu = sum > r->links_of_gpu ? sum : r->links_of_gpu;
    }
    if (same && r->links_of_gpu > MAX_NVLINKS) {
        r->nvswitch = true;
        r->links_of_gpu = r->nvlinks[1];
    }
}

/* Sets bandwidths by the number of NVLinks of the GPUs: Hopper with PCIe Gen5 and Sapphire Rapids, Ampere
 * with Gen4 and AMD Rome, Volta and Pascal with Gen3 and Skylake. Bandwidths of NCCL (src/graph/topo.h). */
static void set_bandwidths(reader *r)
{
    uint32_t links = r->links_of_gpu;
    uint64_t pcie = links > 12 ? 48 : links == 0 || links > 6 ? 24 : 12;
    uint64_t cpu = links > 12 ? 22 : links == 0 || links > 6 ? 16 : 10;
    r->nvlink_Bps = r->import->nvlink_Bps ? r->import->nvlink_Bps : NVLINK_GBps * GBps;
    r->pcie_Bps = r->import->pcie_Bps ? r->import->pcie_Bps : pcie * GBps;
    r->cpu_Bps = r->import->cpu_Bps ? r->import->cpu_Bps : cpu * GBps;
}

static int add_nvlinks(reader *r)
{
    int64_t nvswitch = 0;
    int rc = 0;
    if (r->nvswitch && (nvswitch = rlt__machine_node(&r->m, RLT_SWITCH, true, NULL, "nvswitch")) < 0)
        return (int)nvswitch;
    if (r->nvswitch && r->links_of_gpu == HOPPER_NVLINKS)
        rlt__machine_nvls(&r->m, (uint32_t)nvswitch);
    for (uint32_t i = 0; !rc && i < r->n_gpus; i++) {
        if (r->nvswitch) {
            rc = rlt__machine_duplex(&r->m, r->devices[i].node, (uint32_t)nvswitch,
                                     r->links_of_gpu * r->nvlink_Bps, 0);
            continue;
        }
        for (uint32_t k = 0; !rc && k < r->n_gpus; k++)
            if (r->nvlinks[i * r->n + k])
                rc = rlt__machine_link(&r->m, r->devices[i].node, r->devices[k].node,
                                       r->nvlinks[i * r->n + k] * r->nvlink_Bps, 0);
    }
    return rc;
}

static const char *describe(reader *r, uint32_t relayed, const char *rings)
{
    rlt_arena *a = &r->m.arena;
    const char *nvlinks = "no NVLinks", *through = "", *strange = "";
    const char *each = rlt__rate(&r->m, r->nvlink_Bps);
    const char *how = r->import->nvlink_Bps ? "given" : "ASSUMED; --set nvlink= gives another";
    if (r->nvswitch)
        nvlinks =
            rlt_arena_printf(a,
                             "%" PRIu32 " NVLinks a GPU into NVSwitches, more than lead to each other one "
                             "directly, at %s each (%s)",
                             r->links_of_gpu, each, how);
    else if (r->links_of_gpu)
        nvlinks = rlt_arena_printf(a, "NVLinks between GPUs at %s each (%s)", each, how);
    if (relayed)
        through = rlt_arena_printf(a, " %" PRIu32 " pairs of GPUs without an NVLink go through a third one.",
                                   relayed);
    if (r->strange)
        strange =
            rlt_arena_printf(a,
                             " %" PRIu32 " pairs are said to be further apart than their common neighbours "
                             "leave them.",
                             r->strange);
    if (!nvlinks || !through || !strange)
        return NULL;
    return rlt_arena_printf(
        a,
        "nvidia-smi topo -m: %s; PCIe %s, between CPUs %s (%s). Latencies: NCCL's ring constants for LL "
        "(tuning.cc), NVLink 0.6 us a step in the endpoint, PCIe 0.4 us more.%s%s%s%s",
        nvlinks, rlt__rate(&r->m, r->pcie_Bps), rlt__rate(&r->m, r->cpu_Bps),
        r->import->pcie_Bps && r->import->cpu_Bps ? "given" : "ASSUMED for the generation",
        r->nvswitch && r->links_of_gpu == HOPPER_NVLINKS ? " NVSwitches add up and replicate (NVLink SHARP)."
                                                         : "",
        through, strange, rings);
}

static int add_rings(reader *r, const char **said)
{
    uint32_t *accelerator = rlt_arena_array(&r->m.arena, r->n, sizeof *accelerator);
    if (!accelerator)
        return rlt_nomem(r->m.err);
    for (uint32_t i = 0; i < r->n_gpus; i++)
        accelerator[i] = i;
    return rlt__nccl_rings_add(&r->m, r->import, accelerator, r->n_gpus, said);
}

static int build(reader *r, uint64_t hash, rlt_topology **out)
{
    uint32_t relayed = 0;
    const char *rings = "";
    int rc;
    make_groups(r);
    count_nvlinks(r);
    set_bandwidths(r);
    if ((rc = add_tree(r)) || (rc = add_nvlinks(r)) || (rc = rlt__machine_relay(&r->m, &relayed)) ||
        (rc = add_rings(r, &rings)))
        return rc;
    return rlt__machine_build(&r->m, describe(r, relayed, rings), hash, out);
}

int rlt__topo_nvidia_smi(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err)
{
    reader *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->m.file = name;
    r->m.err = err;
    r->import = import;
    int rc = read_matrix(r, text, length);
    if (!rc)
        rc = check_symmetry(r);
    if (!rc)
        rc = build(r, rlt_hash_bytes(text, length, 0), out);
    rlt__machine_free(&r->m);
    free(r);
    return rc;
}
