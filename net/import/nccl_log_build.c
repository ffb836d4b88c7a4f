/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a topology from an NCCL log: the GPUs of the largest communicator, a link between two GPUs that
 * connect directly, and two directions of a NIC for a host that connects to another.
 *
 * A log has no bandwidths. A link gets the bandwidth of one channel times the channels of the rings over it.
 * A NIC gets the same if the log holds a measured bus bandwidth B: each of the k ring channels then ran at B
 * / k.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/import/nccl.h"
#include "net/import/nccl_log.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define GBps UINT64_C(1000000000)

enum { SHARED_MEMORY_GBps = 6, CHANNEL_GBps = 20, NIC_MBps = 12500 };

typedef struct edge {
    uint32_t src, dst;
    uint32_t ring_uses;      /* number of rings over it */
    uint64_t connections[2]; /* channels of rings and of trees, one bit each */
    rlt__via via;
} edge;

typedef struct builder {
    rlt__machine m;
    rlt__nccl_log log;
    const rlt_import *import;
    uint32_t *host; /* host of each rank */
    uint32_t n_hosts;
    bool blocks; /* hosts are blocks of ranks by number, not as logged */
    edge *edges; /* edges between ranks of a host, or by P2P */
    uint32_t n_edges, edge_capacity;
    rlt_map edge_of;  /* (src << 32 | dst) -> edge */
    rlt_map nic_of;   /* (rank, channel, direction) -> NIC */
    rlt_map nic_node; /* (host, NIC, direction) -> node */
    rlt_map nic_uses; /* (host, NIC, direction) -> rings over it */
    const rlt__log_ring *rings[RLT__LOG_MAX_CHANNELS];
    uint32_t n_rings;
    uint32_t network, busiest_nic;
    uint64_t channel_Bps, nic_Bps;
    const char *choices; /* where its algorithms come from */
} builder;

/* ---- who is where ---- */

/* Guesses ranks: a process without a logged communicator is the rank whose connections it makes. */
static void guess_ranks(rlt__nccl_log *log)
{
    for (uint32_t i = 0; i < log->n_connections; i++) {
        const rlt__connection *c = &log->connections[i];
        rlt__log_process *p = &log->processes[c->process];
        uint32_t rank = c->receive ? c->dst : c->src;
        if (p->n_ranks == 0 && p->rank == RLT_NONE && rank < log->size)
            p->rank = rank;
    }
}

static bool in_largest(const rlt__nccl_log *log, const rlt__log_process *p)
{
    return p->rank < log->size && (p->n_ranks == log->size || p->n_ranks == 0);
}

/* Assigns hosts if the log has only some processes: from the logged number of ranks per host. */
static int fill_hosts(builder *b, uint32_t known)
{
    const rlt__nccl_log *log = &b->log;
    uint32_t per_host = log->local_ranks;
    bool network = false;
    for (uint32_t i = 0; i < log->n_connections; i++)
        network |= log->connections[i].via == RLT__VIA_NET;
    if (!per_host && !network)
        per_host = log->size;
    if (!per_host || log->size % per_host)
        return rlt_fail(b->m.err, RLT_ESCHEMA, b->m.file,
                        "the log tells the host of %" PRIu32 " of %" PRIu32
                        " ranks: gather the output of all of them",
                        known, log->size);
    b->blocks = true;
    for (uint32_t r = 0; r < log->size; r++)
        b->host[r] = r / per_host;
    return 0;
}

static int find_hosts(builder *b)
{
    rlt__nccl_log *log = &b->log;
    uint32_t known = 0;
    b->host = malloc((log->size + 1ull) * sizeof *b->host);
    if (!b->host)
        return rlt_nomem(b->m.err);
    for (uint32_t r = 0; r < log->size; r++)
        b->host[r] = RLT_NONE;
    guess_ranks(log);
    for (uint32_t i = 0; i < log->process_names.n; i++) {
        const rlt__log_process *p = &log->processes[i];
        if (!in_largest(log, p) || b->host[p->rank] == p->host)
            continue;
        known += b->host[p->rank] == RLT_NONE;
        b->host[p->rank] = p->host;
    }
    int rc = known == log->size ? 0 : fill_hosts(b, known);
    for (uint32_t r = 0; !rc && r < log->size; r++)
        if (b->host[r] >= b->n_hosts)
            b->n_hosts = b->host[r] + 1;
    return rc;
}

/* ---- rings ---- */

static int check_ring(const builder *b, const rlt__log_ring *r, uint32_t *seen)
{
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t rank = b->log.ranks[r->first + i];
        if (rank < r->n && seen[rank] != r->channel + 1) {
            seen[rank] = r->channel + 1;
            continue;
        }
        char where[300];
        snprintf(where, sizeof where, "%.200s:%" PRIu32, b->m.file, r->line);
        return rlt_fail(b->m.err, RLT_ESCHEMA, where,
                        "channel %" PRIu32 " is no ring of %" PRIu32 " ranks: %" PRIu32 " %s", r->channel,
                        r->n, rank, rank < r->n ? "is there twice" : "is too large");
    }
    return 0;
}

/* Takes the first ring of each channel in the largest communicator. */
static int take_rings(builder *b)
{
    uint32_t *seen = calloc(b->log.size + 1ull, sizeof *seen);
    int rc = seen ? 0 : rlt_nomem(b->m.err);
    for (uint32_t i = 0; !rc && i < b->log.n_rings; i++) {
        const rlt__log_ring *r = &b->log.rings[i];
        if (r->n != b->log.size || b->rings[r->channel])
            continue;
        rc = check_ring(b, r, seen);
        b->rings[r->channel] = r;
        b->n_rings++;
    }
    for (uint32_t c = 0; !rc && c < RLT__LOG_MAX_CHANNELS; c++)
        if (b->rings[c])
            rc = rlt__machine_ring(&b->m, b->log.ranks + b->rings[c]->first, b->log.size);
    free(seen);
    return rc;
}

/* ---- connections ---- */

static int find_edge(builder *b, uint32_t src, uint32_t dst, edge **out)
{
    uint64_t key = (uint64_t)src << 32 | dst;
    uint32_t k = rlt_map_get(&b->edge_of, key);
    if (k == RLT_NONE) {
        int rc = rlt_grow(&b->edges, &b->edge_capacity, sizeof *b->edges, b->n_edges + 1ull, 1 << 24, "links",
                          b->m.err);
        if (rc)
            return rc;
        if (rlt_map_put(&b->edge_of, key, b->n_edges))
            return rlt_nomem(b->m.err);
        k = b->n_edges++;
        b->edges[k] = (edge){.src = src, .dst = dst, .via = RLT__VIA_P2P};
    }
    *out = &b->edges[k];
    return 0;
}

static uint64_t nic_key(uint32_t rank_or_host, uint32_t nic_or_channel, bool receive)
{
    return (uint64_t)receive << 48 | (uint64_t)rank_or_host << 16 | nic_or_channel;
}

static int take_connections(builder *b)
{
    for (uint32_t i = 0; i < b->log.n_connections; i++) {
        const rlt__connection *c = &b->log.connections[i];
        const rlt__log_process *p = &b->log.processes[c->process];
        edge *e;
        /* Connections of other communicators use other rank numbers. */
        if (!in_largest(&b->log, p) || (p->rank != c->src && p->rank != c->dst) || c->src >= b->log.size ||
            c->dst >= b->log.size)
            continue;
        if (c->via == RLT__VIA_NET) {
            uint64_t key = nic_key(c->receive ? c->dst : c->src, c->channel, c->receive);
            if (rlt_map_get(&b->nic_of, key) == RLT_NONE && rlt_map_put(&b->nic_of, key, c->nic))
                return rlt_nomem(b->m.err);
            continue;
        }
        int rc = find_edge(b, c->src, c->dst, &e);
        if (rc)
            return rc;
        e->connections[c->channel / 64] |= UINT64_C(1) << c->channel % 64;
        if (c->via == RLT__VIA_SHM)
            e->via = RLT__VIA_SHM;
    }
    return 0;
}

/* Counts one more ring over a direction of a NIC. */
static int use_nic(builder *b, uint32_t rank, uint32_t channel, bool receive)
{
    uint32_t nic = rlt_map_get(&b->nic_of, nic_key(rank, channel, receive));
    if (nic == RLT_NONE) { /* unknown: the host's first NIC */
        nic = 0;
        if (rlt_map_put(&b->nic_of, nic_key(rank, channel, receive), nic))
            return rlt_nomem(b->m.err);
    }
    uint64_t key = nic_key(b->host[rank], nic, receive);
    uint32_t uses = rlt_map_get(&b->nic_uses, key);
    uses = uses == RLT_NONE ? 1 : uses + 1;
    if (uses > b->busiest_nic)
        b->busiest_nic = uses;
    return rlt_map_put(&b->nic_uses, key, uses) ? rlt_nomem(b->m.err) : 0;
}

static int use_rings(builder *b)
{
    uint32_t n = b->log.size;
    for (uint32_t c = 0; c < RLT__LOG_MAX_CHANNELS; c++) {
        for (uint32_t i = 0; b->rings[c] && i < n; i++) {
            const uint32_t *ring = b->log.ranks + b->rings[c]->first;
            uint32_t src = ring[i], dst = ring[(i + 1) % n];
            edge *e;
            int rc;
            if (b->host[src] == b->host[dst] ||
                rlt_map_get(&b->edge_of, (uint64_t)src << 32 | dst) != RLT_NONE) {
                if ((rc = find_edge(b, src, dst, &e)))
                    return rc;
                e->ring_uses++;
            } else if ((rc = use_nic(b, src, c, false)) || (rc = use_nic(b, dst, c, true))) {
                return rc;
            }
        }
    }
    return 0;
}

/* ---- the machine ---- */

static const char *host_name(const builder *b, uint32_t host, char *buffer, size_t size)
{
    if (b->blocks)
        snprintf(buffer, size, "node%" PRIu32, host);
    else
        snprintf(buffer, size, "%s", rlt_interned(&b->log.hosts, host));
    return buffer;
}

/* Sets the bandwidth of channels and NICs: stated, else measured, else assumed. */
static void set_bandwidths(builder *b)
{
    uint64_t channel = b->n_rings ? b->log.busbw_Bps / b->n_rings : 0;
    bool network = b->nic_of.n > 0;
    b->channel_Bps = b->import->channel_Bps ? b->import->channel_Bps
                     : channel && !network  ? channel
                                            : CHANNEL_GBps * GBps;
    b->nic_Bps = b->import->network_Bps      ? b->import->network_Bps
                 : channel && b->busiest_nic ? channel * b->busiest_nic
                                             : NIC_MBps * (GBps / 1000);
}

static int add_edges(builder *b)
{
    for (uint32_t i = 0; i < b->n_edges; i++) {
        const edge *e = &b->edges[i];
        uint64_t channels = e->ring_uses;
        for (int w = 0; !e->ring_uses && w < 2; w++)
            for (uint64_t bits = e->connections[w]; bits; bits &= bits - 1)
                channels++;
        uint64_t each = b->channel_Bps;
        if (e->via == RLT__VIA_SHM && !b->import->channel_Bps && each > SHARED_MEMORY_GBps * GBps)
            each = SHARED_MEMORY_GBps * GBps;
        int rc = rlt__machine_link(&b->m, e->src, e->dst, channels * each, 0);
        if (rc)
            return rc;
    }
    return 0;
}

/* Returns the node of a direction of a NIC. Creates it and joins it to the network on first use. */
static int64_t nic_node(builder *b, uint32_t rank, uint32_t nic, bool receive)
{
    uint64_t key = nic_key(b->host[rank], nic, receive);
    uint32_t known = rlt_map_get(&b->nic_node, key);
    char host[320];
    int rc;
    if (known != RLT_NONE)
        return known;
    int64_t node =
        rlt__machine_node(&b->m, RLT_NIC, true, NULL, "%s nic%" PRIu32 " %s",
                          host_name(b, b->host[rank], host, sizeof host), nic, receive ? "receive" : "send");
    if (node < 0)
        return node;
    if (rlt_map_put(&b->nic_node, key, (uint32_t)node))
        return rlt_nomem(b->m.err);
    rc = receive ? rlt__machine_link(&b->m, b->network, (uint32_t)node, b->nic_Bps, 0)
                 : rlt__machine_link(&b->m, (uint32_t)node, b->network, b->nic_Bps, 0);
    return rc ? rc : node;
}

/* Adds NICs in the order of ranks and channels, so that the same log gives the same topology. */
static int add_nics(builder *b)
{
    if (!b->nic_of.n)
        return 0;
    int64_t node = rlt__machine_node(&b->m, RLT_SWITCH, true, NULL, "network");
    if (node < 0)
        return (int)node;
    b->network = (uint32_t)node;
    for (uint32_t r = 0; r < b->log.size; r++) {
        for (uint32_t k = 0; k < 2 * RLT__LOG_MAX_CHANNELS; k++) {
            bool receive = k % 2;
            uint32_t nic = rlt_map_get(&b->nic_of, nic_key(r, k / 2, receive));
            if (nic == RLT_NONE)
                continue;
            if ((node = nic_node(b, r, nic, receive)) < 0)
                return (int)node;
            uint32_t from = receive ? (uint32_t)node : r, to = receive ? r : (uint32_t)node;
            if (rlt_map_get(&b->m.pair, (uint64_t)from << 32 | to) != RLT_NONE)
                continue; /* another channel */
            int rc = rlt__machine_link(&b->m, from, to, b->nic_Bps, RLT__NETWORK_END_PS);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* Adds a dimension if hosts have equally many ranks, numbered one host after the other. */
static void set_dimensions(builder *b)
{
    uint32_t n = b->log.size, per_host = 1;
    while (per_host < n && b->host[per_host] == b->host[0])
        per_host++;
    if (per_host == n || n % per_host)
        return;
    for (uint32_t r = 1; r < n; r++)
        if ((b->host[r] == b->host[r - 1]) != (r % per_host != 0))
            return;
    if (n / per_host != b->n_hosts && b->blocks)
        return;
    b->m.n_logical = 2;
    b->m.logical[0] = per_host;
    b->m.logical[1] = n / per_host;
}

static const char *how_known(const builder *b, bool network)
{
    uint64_t given = network ? b->import->network_Bps : b->import->channel_Bps;
    bool measured = b->log.busbw_Bps && b->n_rings && (network ? b->busiest_nic > 0 : b->nic_of.n == 0);
    return given      ? "given"
           : measured ? "from the bus bandwidth measured in the log"
                      : "ASSUMED, the log has none";
}

static const char *describe(builder *b)
{
    rlt_arena *a = &b->m.arena;
    const char *nic = "", *rings = " Rings: its channels.", *others = "", *hosts = "";
    if (b->nic_of.n)
        nic = rlt_arena_printf(a, "; a NIC %s a direction (%s; --set network= gives another)",
                               rlt__rate(&b->m, b->nic_Bps), how_known(b, true));
    if (!b->n_rings)
        rings = " No rings: NCCL prints no more than 20 ranks of one, or the log has none.";
    if (b->log.communicators)
        others = " Of several communicators the largest.";
    if (b->blocks)
        hosts = " Hosts by rank number: the log does not name all.";
    if (!nic)
        return NULL;
    return rlt_arena_printf(a,
                            "NCCL log: links where ranks connect directly, %s a channel of a ring (%s; --set "
                            "link_bandwidth= gives another)%s.%s%s%s%s GPUs relay. Latencies: NCCL's ring "
                            "constants for LL (tuning.cc).",
                            rlt__rate(&b->m, b->channel_Bps), how_known(b, false), nic, rings, b->choices,
                            others, hosts);
}

static int build(builder *b, uint64_t hash, rlt_topology **out)
{
    int rc;
    if (b->log.size < 2)
        return rlt_fail(b->m.err, RLT_ESCHEMA, b->m.file,
                        "no communicator of two or more ranks: expected an NCCL log with NCCL_DEBUG=INFO");
    if ((rc = find_hosts(b)))
        return rc;
    for (uint32_t r = 0; r < b->log.size; r++) {
        int64_t node = rlt__machine_node(&b->m, RLT_ACCELERATOR, true, NULL, "gpu%" PRIu32, r);
        if (node < 0)
            return (int)node;
    }
    if ((rc = take_rings(b)) || (rc = take_connections(b)) || (rc = use_rings(b)))
        return rc;
    if (!b->n_edges && !b->nic_of.n)
        return rlt_fail(
            b->m.err, RLT_ESCHEMA, b->m.file,
            "neither rings nor connections in this log: expected lines such as 'Channel 00/02 : 0 1' "
            "or 'Channel 00 : 0[1a000] -> 1[1c000] via P2P/IPC'");
    set_bandwidths(b);
    if ((rc = add_edges(b)) || (rc = add_nics(b)) || (rc = rlt__log_choices_add(&b->log, &b->m, &b->choices)))
        return rc;
    set_dimensions(b);
    return rlt__machine_build(&b->m, describe(b), hash, out);
}

int rlt__topo_nccl_log(const char *name, const char *text, size_t length, const rlt_import *import,
                       rlt_topology **out, rlt_error *err)
{
    builder b = {.m = {.file = name, .err = err}, .log = {.file = name, .err = err}, .import = import};
    int rc = rlt__nccl_log_scan(&b.log, text, length);
    if (!rc)
        rc = build(&b, rlt_hash_bytes(text, length, 0), out);
    rlt_map_free(&b.edge_of);
    rlt_map_free(&b.nic_of);
    rlt_map_free(&b.nic_node);
    rlt_map_free(&b.nic_uses);
    free(b.edges);
    free(b.host);
    rlt__nccl_log_free(&b.log);
    rlt__machine_free(&b.m);
    return rc;
}
