/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's graph dump (NCCL_GRAPH_DUMP_FILE): the channels found for each pattern. Only the rings are read.
 * Together with a topology they become its recommended rings. Alone they are a topology: a link between two
 * GPUs has the bandwidth of a channel times the number of channels that use it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/import/nccl.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/xml.h"

enum { MAX_DEV = 1 << 14, MAX_ENTRIES = 1 << 22, RING = 4 /* NCCL_TOPO_PATTERN_RING */ };

typedef struct reader {
    rlt__nccl_rings *rings;
    uint32_t capacity, used, first; /* entries of dev; start of the open channel */
    bool in_ring, in_channel, seen;
    rlt_error *err;
} reader;

/* Parses GB/s, with a fraction. */
static int get_speed(const rlt_xml_tag *tag, const char *name, uint64_t *bw, rlt_error *err)
{
    const char *text = rlt_xml_get(tag, name);
    int64_t value = 0;
    if (!text)
        return 0;
    if (rlt_parse_decimal(text, strlen(text), 1000000000, &value) || value < 0 ||
        value > INT64_C(100000000000000))
        return rlt_xml_fail(tag, RLT_ERANGE, err, "expected '%s' to be a number of GB/s, got '%.40s'", name,
                            text);
    *bw = (uint64_t)value;
    return 0;
}

static int start_graph(reader *r, const rlt_xml_tag *tag)
{
    int64_t pattern = 0;
    int rc = rlt_xml_get_i64(tag, "pattern", true, 0, 1000, &pattern, r->err);
    r->in_ring = pattern == RING;
    if (rc || !r->in_ring)
        return rc;
    if (r->seen)
        return rlt_xml_fail(tag, RLT_ESCHEMA, r->err, "a second <graph> of rings (pattern 4)");
    r->seen = true;
    if ((rc = get_speed(tag, "speedintra", &r->rings->intra_Bps, r->err)))
        return rc;
    return get_speed(tag, "speedinter", &r->rings->inter_Bps, r->err);
}

static int add_gpu(reader *r, const rlt_xml_tag *tag)
{
    int64_t dev = 0;
    int rc = rlt_xml_get_i64(tag, "dev", true, 0, MAX_DEV - 1, &dev, r->err);
    if (rc || (rc = rlt_grow(&r->rings->dev, &r->capacity, sizeof *r->rings->dev, r->used + 1ull, MAX_ENTRIES,
                             "GPUs in channels", r->err)))
        return rc;
    r->rings->dev[r->used++] = (uint32_t)dev;
    return 0;
}

static int start(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    reader *r = user;
    if (tag->depth == 0 && !rlt_xml_is(tag, "graphs"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <graphs>, got <%.60s>", tag->name);
    if (tag->depth == 1 && rlt_xml_is(tag, "graph"))
        return start_graph(r, tag);
    if (tag->depth == 2 && r->in_ring && rlt_xml_is(tag, "channel")) {
        r->in_channel = true;
        r->first = r->used;
    } else if (tag->depth == 3 && r->in_channel && rlt_xml_is(tag, "gpu")) {
        return add_gpu(r, tag);
    } else if (tag->depth == 3 && r->in_channel && rlt_xml_is(tag, "net")) {
        r->rings->network = true;
    }
    return 0;
}

static int end(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    reader *r = user;
    if (tag->depth == 1)
        r->in_ring = false;
    if (tag->depth != 2 || !r->in_channel)
        return 0;
    r->in_channel = false;
    uint32_t n = r->used - r->first;
    if (n == 0)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "a <channel> without a <gpu>");
    if (r->rings->n_rings && n != r->rings->n)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                            "a ring of %" PRIu32 " GPUs, where those before have %" PRIu32, n, r->rings->n);
    r->rings->n = n;
    r->rings->n_rings++;
    return 0;
}

static void free_rings(rlt__nccl_rings *rings)
{
    free(rings->dev);
    *rings = (rlt__nccl_rings){0};
}

static int read_rings(const char *name, const char *text, size_t length, rlt__nccl_rings *rings,
                      rlt_error *err)
{
    static const rlt_xml_handler handler = {.start = start, .end = end};
    reader r = {.rings = rings, .err = err};
    *rings = (rlt__nccl_rings){0};
    int rc = rlt_xml_read(name, text, length, &handler, &r, err);
    if (!rc && !rings->n_rings)
        rc = rlt_fail(err, RLT_ESCHEMA, name, "no channel of a ring: no <graph> of pattern 4 with channels");
    if (rc)
        free_rings(rings);
    return rc;
}

/* Adds channels as rings over the accelerators that the dev numbers stand for. */
static int add_all(rlt__machine *m, const char *file, const rlt__nccl_rings *rings,
                   const uint32_t *accelerator, uint32_t n)
{
    uint32_t *ring = calloc(rings->n, sizeof *ring);
    uint32_t *seen = calloc(n + 1ull, sizeof *seen); /* number of the last channel with this dev, from 1 */
    int rc = ring && seen ? 0 : rlt_nomem(m->err);
    if (!rc && rings->n != m->n_accelerators)
        rc = rlt_fail(m->err, RLT_ESCHEMA, file, "rings of %" PRIu32 " GPUs, for a topology of %" PRIu32,
                      rings->n, m->n_accelerators);
    for (uint32_t i = 0; !rc && i < rings->n_rings; i++) {
        for (uint32_t k = 0; !rc && k < rings->n; k++) {
            uint32_t dev = rings->dev[i * rings->n + k];
            if (dev >= n || accelerator[dev] == RLT_NONE)
                rc = rlt_fail(m->err, RLT_ESCHEMA, file, "channel %" PRIu32 ": no GPU has the dev %" PRIu32,
                              i, dev);
            else if (seen[dev] == i + 1)
                rc = rlt_fail(m->err, RLT_ESCHEMA, file,
                              "channel %" PRIu32 ": the GPU of dev %" PRIu32 " twice", i, dev);
            else {
                ring[k] = accelerator[dev];
                seen[dev] = i + 1;
            }
        }
        if (!rc)
            rc = rlt__machine_ring(m, ring, rings->n);
    }
    free(ring);
    free(seen);
    return rc;
}

int rlt__nccl_rings_add(rlt__machine *m, const rlt_import *import, const uint32_t *accelerator, uint32_t n,
                        const char **said)
{
    rlt__nccl_rings rings = {0};
    *said = "";
    if (!import->graph_text)
        return 0;
    int rc = read_rings(import->graph_name, import->graph_text, import->graph_length, &rings, m->err);
    if (!rc)
        rc = add_all(m, import->graph_name, &rings, accelerator, n);
    if (!rc)
        *said = rlt_arena_printf(&m->arena, " Rings: the %" PRIu32 " channels of NCCL's graph dump.",
                                 rings.n_rings);
    free_rings(&rings);
    return !rc && !*said ? rlt_nomem(m->err) : rc;
}

/* ---- a topology of rings ---- */

/* Adds nodes in the order of dev. */
static int add_gpus(rlt__machine *m, const rlt__nccl_rings *rings, uint32_t *accelerator)
{
    bool *seen = calloc(MAX_DEV, sizeof *seen);
    int64_t rc = seen ? 0 : rlt_nomem(m->err);
    for (uint32_t i = 0; seen && i < rings->n; i++) /* later channels are compared with this one */
        seen[rings->dev[i]] = true;
    for (uint32_t dev = 0; rc >= 0 && dev < MAX_DEV; dev++) {
        accelerator[dev] = RLT_NONE;
        if (!seen[dev])
            continue;
        rc = rlt__machine_node(m, RLT_ACCELERATOR, true, NULL, "gpu%" PRIu32, dev);
        accelerator[dev] = (uint32_t)rc;
    }
    free(seen);
    return rc < 0 ? (int)rc : 0;
}

static int add_links(rlt__machine *m, const rlt__nccl_rings *rings, uint64_t intra, uint64_t inter)
{
    int64_t network = 0;
    int rc = 0;
    if (rings->network && (network = rlt__machine_node(m, RLT_SWITCH, true, NULL, "network")) < 0)
        return (int)network;
    for (uint32_t i = 0; !rc && i < m->n_rings; i++) {
        const uint32_t *ring = m->rings[i];
        for (uint32_t k = 0; !rc && k + 1 < rings->n; k++)
            rc = rlt__machine_link(m, ring[k], ring[k + 1], intra, 0);
        if (!rc && rings->network) {
            rc = rlt__machine_link(m, ring[rings->n - 1], (uint32_t)network, inter, RLT__NETWORK_END_PS);
            if (!rc)
                rc = rlt__machine_link(m, (uint32_t)network, ring[0], inter, RLT__NETWORK_END_PS);
        } else if (!rc && rings->n > 1) {
            rc = rlt__machine_link(m, ring[rings->n - 1], ring[0], intra, 0);
        }
    }
    return rc;
}

static int build(rlt__machine *m, const rlt__nccl_rings *rings, const rlt_import *import, uint64_t hash,
                 rlt_topology **out)
{
    uint64_t intra = import->channel_Bps ? import->channel_Bps : rings->intra_Bps;
    uint64_t inter = import->network_Bps ? import->network_Bps : rings->inter_Bps;
    uint32_t *accelerator = calloc(MAX_DEV, sizeof *accelerator);
    int rc = accelerator ? 0 : rlt_nomem(m->err);
    if (!rc && (!intra || (rings->network && !inter)))
        rc = rlt_fail(m->err, RLT_ESCHEMA, m->file,
                      "the <graph> of rings has no speed; --set %s=25GB/s gives one",
                      intra ? "network" : "link_bandwidth");
    if (!rc)
        rc = add_gpus(m, rings, accelerator);
    if (!rc)
        rc = add_all(m, m->file, rings, accelerator, MAX_DEV);
    if (!rc)
        rc = add_links(m, rings, intra, inter);
    free(accelerator);
    if (rc)
        return rc;
    const char *source = rlt_arena_printf(
        &m->arena,
        "NCCL graph dump: only what its %" PRIu32
        " ring channels run over, %s a channel%s; what the machine has besides is not in this file. GPUs "
        "relay. Latencies: NCCL's ring constants (tuning.cc).",
        rings->n_rings, rlt__rate(m, intra),
        rings->network ? "; the rings' ends are joined to one network" : "");
    return rlt__machine_build(m, source, hash, out);
}

int rlt__topo_nccl_graph(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err)
{
    rlt__machine m = {.file = name, .err = err};
    rlt__nccl_rings rings = {0};
    int rc = read_rings(name, text, length, &rings, err);
    if (!rc)
        rc = build(&m, &rings, import, rlt_hash_bytes(text, length, 0), out);
    free_rings(&rings);
    rlt__machine_free(&m);
    return rc;
}
