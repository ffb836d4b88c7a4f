/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared simulation settings: option tables, and loading of what they name. */
#include "workload/setup/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/libra/workload.h"
#include "net/shapes/shapes.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/setup/locate.h"

const char *rlt_network_word(uint32_t i)
{
    const rlt_net_model *m = rlt_net_model_at(i);
    return m ? m->name : NULL;
}

const char *rlt_algorithm_word(uint32_t i)
{
    const rlt_algorithm *a = rlt_algorithm_at(i);
    return a ? a->name : NULL;
}

const char *rlt_any_algorithm_word(uint32_t i)
{
    uint32_t n = 0;
    while (rlt_algorithm_at(n))
        n++;
    const rlt_reactive *r = i < n ? NULL : rlt_reactive_at(i - n);
    return i < n ? rlt_algorithm_at(i)->name : r ? rlt_reactive_name(r) : NULL;
}

const char *rlt_collective_word(uint32_t i)
{
    return i < RLT_COLL_KINDS ? rlt_coll_name((rlt_coll_kind)i) : i == RLT_COLL_KINDS ? "all" : NULL;
}

#define AT(field) .offset = offsetof(rlt_settings, field)
const rlt_option rlt_settings_options[] = {
    {"topology", 't', RLT_PARAM_TEXT, "T",
     "The network: a file (JSON, GraphML, ASTRA-sim YAML), a name that 'ringlet list topologies' shows, or "
     "dimensions written out, innermost first: ring:4@200GB/s,500ns*switch:8@50GB/s,500ns "
     "(shape:size@bandwidth,latency of each link).",
     AT(topology), .required = true, .spared_by = "timing=loggops compare", .inline_json = true},
    {"placement", 0, RLT_PARAM_TEXT, "FILE",
     "JSON file with the accelerator of each rank: {\"ranks\": [0, 2, \"gpu5\"]}. Default: rank r runs on "
     "accelerator r.",
     AT(placement)},
    {"network", 'n', RLT_PARAM_WORD, "MODEL",
     "How transfers share the network: flow (max-min fair sharing of every link), alpha-beta (only the "
     "send and receive ports of ranks are shared; fastest) or packet (queues, losses, congestion). Default: "
     "flow; packet if a reactive protocol runs or --set names a setting of packets.",
     AT(network), .usual = "flow, or packet where packets are needed", .word_at = rlt_network_word},
    {"routing", 0, RLT_PARAM_WORD, "POLICY",
     "Choice among equal paths: by destination, by a hash of each flow, or message by message.", AT(routing),
     .preset = "dmodk", .words = "dmodk|ecmp|spray"},
    {"injection", 0, RLT_PARAM_WORD, "RULE",
     "When a sender continues: once its message is on the wire (nic) or once it has arrived (blocking). "
     "Default: the topology file's, else nic.",
     AT(injection), .words = "nic|blocking"},
    {"link-scale", 0, RLT_PARAM_LIST, "LINK=X",
     "Give a link X times its bandwidth. LINK is its number, FROM->TO (names of nodes), or a node (all its "
     "links): acc3=0.5. May be repeated.",
     AT(link_scale), .named = true},
    {"dim-scale", 0, RLT_PARAM_LIST, "DIM=X",
     "Give all links of a dimension of the topology X times their bandwidth. Dimension 0 is the innermost. "
     "May be repeated.",
     AT(dim_scale), .named = true},
    {"set", 's', RLT_PARAM_LIST, "NAME=VALUE",
     "Override a parameter; may be repeated. Endpoint: launch=6.6us (once per collective), message=1us, "
     "byte=0.5ps, protocol=LL128. Algorithm: channels=2, chunks=8, window=4, directions=2, servers=2, "
     "patterns=ring,direct (inside each dimension, innermost first), schedule=themis, order=scf (of the "
     "chunks over the dimensions). Network packet: mtu=4096B, buffer=1MB, "
     "loss=0.1%, congestion=dcqcn and what 'ringlet list networks' shows.",
     AT(set), .named = true},
    {"unused-sets", 0, RLT_PARAM_FLAG, NULL,
     "Accept a --set of a protocol or network that does not run, and --updates without libra. They have no "
     "effect.",
     AT(sets_of_others)},
    {0}};
#undef AT

const rlt_option rlt_series_options[] = {
    {"series", 0, RLT_PARAM_DURATION, "DURATION",
     "Record the bytes of each link over time in bins of this width, such as 10us; JSON and --links-csv show "
     "them with the links.",
     .offset = 0},
    {0}};

/* Unit parsers report bad input; on the command line that is wrong usage. */
static int as_usage(int rc, rlt_error *err)
{
    if (rc == RLT_EMALFORMED || rc == RLT_ERANGE || rc == RLT_ESCHEMA || rc == RLT_EUNSUPPORTED) {
        rc = RLT_EUSAGE;
        if (err)
            err->code = rc;
    }
    return rc;
}

static int apply_sets(rlt_setup *s, const rlt_settings *from, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < from->set.n && !rc; i++) {
        char name[64];
        const char *value;
        rc = rlt_split_setting(from->set.items[i], name, sizeof name, &value, "--set", err);
        if (rc)
            return rc;
        rc = rlt_setup_set(s, name, value, err);
        if (rc)
            rlt_error_prefix(err, "--set");
    }
    if (!rc && from->injection)
        rc = rlt_endpoint_set(&s->endpoint, "injection", from->injection, err);
    if (!rc && (rc = rlt_packet_check(&s->packet, err)))
        rlt_error_prefix(err, "--set");
    return as_usage(rc, err);
}

static int place(rlt_setup *s, const rlt_settings *from, uint64_t n_ranks, rlt_error *err)
{
    uint32_t accelerators = rlt_topology_accelerators(s->topology);
    int rc;
    if (from->placed) {
        s->placement = *from->placed;
        s->borrows_placement = true;
        return n_ranks <= s->placement.n
                   ? 0
                   : rlt_fail(err, RLT_ERANGE, from->placement, "has %u ranks, but %llu are needed",
                              s->placement.n, (unsigned long long)n_ranks);
    }
    if (!from->placement) {
        if (n_ranks > accelerators)
            return rlt_fail(err, RLT_ERANGE, NULL, "%llu ranks do not fit the %u accelerators of %s",
                            (unsigned long long)n_ranks, accelerators, rlt_topology_name(s->topology));
        return rlt_placement_identity(s->topology, n_ranks ? (uint32_t)n_ranks : accelerators, &s->placement,
                                      err);
    }
    rc = rlt_placement_load(from->placement, s->topology, &s->placement, err);
    if (!rc)
        rc = rlt_inputs_add_file(&s->inputs, "placement", from->placement, err);
    if (!rc && n_ranks > s->placement.n)
        rc = rlt_fail(err, RLT_ERANGE, from->placement, "has %u ranks, but %llu are needed", s->placement.n,
                      (unsigned long long)n_ranks);
    return rc;
}

/* Reads one LINK=X or DIM=X. */
static int read_scale(const char *item, const char *option, char *which, size_t size, double *factor,
                      rlt_error *err)
{
    const char *value;
    int rc = rlt_split_setting(item, which, size, &value, option, err);
    return rc ? rc : rlt_parse_number(value, 0, factor, option, err);
}

static int scale_links(rlt_topology *t, const rlt_settings *from, rlt_error *err)
{
    for (uint32_t i = 0; i < from->link_scale.n; i++) {
        char which[300];
        double factor;
        int rc = read_scale(from->link_scale.items[i], "--link-scale", which, sizeof which, &factor, err);
        if (rc)
            return rc;
        if ((rc = rlt_topology_scale_links(t, which, factor, err))) {
            rlt_error_prefix(err, "--link-scale");
            return rc;
        }
    }
    return 0;
}

static int scale_dims(rlt_topology *t, const rlt_settings *from, rlt_error *err)
{
    for (uint32_t i = 0; i < from->dim_scale.n; i++) {
        char which[32];
        uint64_t dim;
        double factor;
        int rc = read_scale(from->dim_scale.items[i], "--dim-scale", which, sizeof which, &factor, err);
        if (rc || (rc = rlt_parse_count(which, &dim, "--dim-scale", err)))
            return rc;
        rc = rlt_topology_scale_dim(t, dim < RLT_MAX_DIMS ? (uint32_t)dim : RLT_MAX_DIMS, factor, err);
        if (rc) {
            rlt_error_prefix(err, "--dim-scale");
            return rc;
        }
    }
    return 0;
}

/* A named fallback replaces the protocols' own one when switches refuse them. */
static int prefer_fallback(rlt_setup *s, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n_protocols && s->fallback.protocol && !rc; i++)
        if (rlt_has_setting(s->protocols[i].protocol, "refused"))
            rc = rlt_settings_set(s->protocols[i].protocol, s->protocols[i].values, "refused", "fail", err);
    return rc;
}

static int read_updates(rlt_setup *s, const rlt_settings *from, rlt_error *err)
{
    bool libra = false;
    if (!from->updates)
        return 0;
    for (uint32_t i = 0; i < s->n_protocols; i++)
        libra |= rlt_reactive_can(s->protocols[i].protocol) & RLT_REACTS_TO_UPDATES;
    if (!libra && s->sets_of_others)
        return 0;
    if (!libra)
        return rlt_fail(err, RLT_EUSAGE, "--updates", "is for libra: add libra to --algorithm");
    for (uint32_t i = 0; i < from->set.n; i++) {
        const char *set = from->set.items[i], *bare = strncmp(set, "libra.", 6) == 0 ? set + 6 : set;
        if (strncmp(bare, "parameters=", 11) == 0 || strncmp(bare, "zipf=", 5) == 0)
            return rlt_fail(
                err, RLT_EUSAGE, "--updates",
                "the file gives the number of parameters and the popularity of each: it does not go with "
                "--set %s",
                set);
    }
    if (from->updated) {
        s->updates = from->updated;
        s->borrows_updates = true;
        return 0;
    }
    rlt_skew *skew = calloc(1, sizeof *skew);
    int rc = skew ? rlt_skew_read(from->updates, skew, err) : rlt_nomem(err);
    if (rc)
        free(skew);
    else
        s->updates = skew;
    return rc ? rc : rlt_inputs_add_file(&s->inputs, "updates", from->updates, err);
}

static const rlt_net_model *packet_model(void)
{
    uint32_t i = 0;
    while (!(rlt_net_model_at(i)->can & RLT_NET_PACKETS))
        i++;
    return rlt_net_model_at(i);
}

const char *rlt_packet_network(void)
{
    return packet_model()->name;
}

/* Finds the network model. One that is not named is that of packets where only packets will do: all of a
 * comparison then stands on one network. */
static int choose_model(rlt_setup *out, const rlt_settings *s, rlt_error *err)
{
    const char *set = NULL;
    const rlt_reactive *protocol = s->n_protocols && !s->protocols_where_able ? s->protocols[0] : NULL;
    for (uint32_t i = 0; i < s->set.n && !set; i++)
        set = rlt_needs_packets("set", s->set.items[i]) ? s->set.items[i] : NULL;
    if (!s->network && protocol)
        snprintf(out->why_packets, sizeof out->why_packets, "%s aggregates packets",
                 rlt_reactive_name(protocol));
    else if (!s->network && set)
        snprintf(out->why_packets, sizeof out->why_packets, "--set %.40s is a setting of packets", set);
    if (out->why_packets[0])
        out->model = packet_model();
    else
        out->model = rlt_net_model_find(s->network ? s->network : "flow", err);
    if (!out->model)
        return err && err->code ? err->code : RLT_EUSAGE;
    if (protocol && !(out->model->can & RLT_NET_PACKETS))
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "%s works packet by packet: it needs --network %s",
                        rlt_reactive_name(protocol), rlt_packet_network());
    return 0;
}

/* Returns true if a switch aggregates, but not in a machine whose endpoint is tuned: reactive protocols do
 * not know the costs of such aggregation. */
static bool switches_add(const rlt_setup *s)
{
    return (rlt_topology_in_networks(s->topology) & RLT_CAN_REDUCE) && s->endpoint.channels == 0;
}

/* Opens the protocols asked for, with their defaults. */
static int open_protocols(rlt_setup *s, const rlt_settings *from, rlt_error *err)
{
    int rc = 0;
    if (from->n_protocols == 0 || (from->protocols_where_able && !switches_add(s)))
        return 0;
    s->lacks_packets = !(s->model->can & RLT_NET_PACKETS);
    if (s->lacks_packets)
        return 0;
    if (!(s->protocols = calloc(from->n_protocols, sizeof *s->protocols)))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < from->n_protocols && !rc; i++) {
        s->protocols[i].protocol = from->protocols[i];
        rc = rlt_settings_preset(from->protocols[i], s->protocols[i].values, err);
        s->n_protocols++;
    }
    return rc;
}

int rlt_setup_topology(const rlt_settings *s, rlt_topology **out, rlt_error *err)
{
    int rc = rlt_find_topology(s->topology, out, err);
    if (!rc && ((rc = scale_dims(*out, s, err)) || (rc = scale_links(*out, s, err)))) {
        rlt_topology_free(*out);
        *out = NULL;
        rc = as_usage(rc, err);
    }
    return rc;
}

int rlt_setup_open(const rlt_settings *s, uint64_t n_ranks, rlt_setup *out, rlt_error *err)
{
    int rc;
    *out = (rlt_setup){0};
    if ((rc = choose_model(out, s, err)))
        return as_usage(rc, err);
    if ((rc = rlt_routing_parse(s->routing, &out->routing, err)))
        return as_usage(rc, err);
    out->topology = s->loaded;
    out->borrows_topology = s->loaded != NULL;
    if (!s->loaded && (rc = rlt_setup_topology(s, &out->topology, err)))
        return rc;
    rlt_inputs_add(&out->inputs, "topology", s->topology, rlt_topology_hash(out->topology));
    out->endpoint = *rlt_topology_endpoint(out->topology);
    out->packet = rlt_packet_default();
    out->sets_of_others = s->sets_of_others;
    out->sets_of_packets = s->sets_of_others && !s->one_network;
    if ((rc = open_protocols(out, s, err)) || (rc = apply_sets(out, s, err)) ||
        (rc = prefer_fallback(out, err)) || (rc = read_updates(out, s, err)) ||
        (rc = place(out, s, n_ranks, err)))
        rlt_setup_free(out);
    return rc;
}

void rlt_setup_free(rlt_setup *s)
{
    if (!s->borrows_placement)
        rlt_placement_free(&s->placement);
    if (!s->borrows_topology)
        rlt_topology_free(s->topology);
    free(s->protocols);
    if (s->updates && !s->borrows_updates) {
        rlt_skew_free(s->updates);
        free(s->updates);
    }
    *s = (rlt_setup){0};
}

void rlt_setup_parameters(const rlt_setup *s, rlt_coll_request *req)
{
    req->endpoint = &s->endpoint;
    req->model = s->model;
    rlt_request_params(req, &s->params);
}

rlt_net_config rlt_setup_net(const rlt_setup *s, rlt_sim *sim, rlt_router *router, rlt_time series_ps)
{
    return (rlt_net_config){.sim = sim,
                            .router = router,
                            .endpoint = s->endpoint,
                            .bandwidth_scale = 1,
                            .latency_scale = 1,
                            .series_bin_ps = series_ps,
                            .packet = &s->packet};
}

static const char *injection_name(const rlt_setup *s)
{
    return s->endpoint.injection == RLT_INJECT_BLOCKING ? "blocking" : "nic";
}

void rlt_setup_json(const rlt_setup *s, rlt_jw *w)
{
    rlt_jw_string(w, "topology", rlt_topology_name(s->topology));
    rlt_jw_u64(w, "accelerators", rlt_topology_accelerators(s->topology));
    rlt_jw_string(w, "network", s->model->name);
    rlt_jw_string(w, "routing", rlt_routing_name(s->routing));
    rlt_jw_string(w, "injection", injection_name(s));
}

void rlt_setup_line(const rlt_setup *s, char *buffer, size_t size)
{
    uint32_t n = rlt_topology_accelerators(s->topology);
    snprintf(buffer, size, "%s, %u accelerator%s; network %s, routing %s, injection %s",
             rlt_topology_name(s->topology), n, n == 1 ? "" : "s", s->model->name,
             rlt_routing_name(s->routing), injection_name(s));
}

static const rlt_algorithm *find_algorithm(const char *name, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    const char *word;
    for (uint32_t i = 0; (word = rlt_algorithm_word(i)); i++) {
        if (strcmp(word, name) == 0)
            return rlt_algorithm_at(i);
        rlt_nearest_try(&near, word);
    }
    for (uint32_t i = 0; rlt_reactive_at(i); i++)
        rlt_nearest_try(&near, rlt_reactive_name(rlt_reactive_at(i)));
    if (rlt_find_protocol(name, strlen(name)))
        rlt_fail(
            err, RLT_EUSAGE, "--algorithm",
            "%s is a reactive protocol with its own packets: only 'ringlet coll' and 'ringlet run' support "
            "it",
            name);
    else if (near.best)
        rlt_fail(err, RLT_EUSAGE, "--algorithm", "unknown algorithm '%s'; did you mean '%s'?", name,
                 near.best);
    else
        rlt_fail(err, RLT_EUSAGE, "--algorithm",
                 "unknown algorithm '%s'; 'ringlet list algorithms' shows them", name);
    return NULL;
}

int rlt_parse_algorithms(const char *text, const rlt_algorithm *table[RLT_COLL_KINDS], rlt_error *err)
{
    const char *cursor = text, *item;
    size_t length;
    memset(table, 0, RLT_COLL_KINDS * sizeof *table);
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[64], *equals;
        rlt_coll_kind kind = RLT_COLL_KINDS;
        snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), item);
        equals = strchr(word, '=');
        if (equals) {
            *equals = '\0';
            if (rlt_coll_parse(word, &kind, err)) {
                rlt_error_prefix(err, "--algorithm");
                return as_usage(RLT_ESCHEMA, err);
            }
        }
        const rlt_algorithm *a = find_algorithm(equals ? equals + 1 : word, err);
        if (!a)
            return RLT_EUSAGE;
        if (kind != RLT_COLL_KINDS && !(a->kinds & 1u << kind))
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "%s does not support %s", a->name, word);
        for (int k = 0; k < RLT_COLL_KINDS; k++)
            if (equals ? k == (int)kind : (a->kinds >> k & 1) != 0)
                table[k] = a;
    }
    return 0;
}
