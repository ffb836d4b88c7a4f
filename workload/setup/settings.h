/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings of every simulation: where (topology, placement) and how (network model, routing, endpoint). A
 * command shares the option tables by embedding the structs in its settings and entering the tables as
 * groups.
 */
#ifndef RLT_WORKLOAD_SETUP_SETTINGS_H
#define RLT_WORKLOAD_SETUP_SETTINGS_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/text/json.h"
#include "workload/models/accelerator.h"
#include "workload/replay/replay.h"
#include "workload/setup/inputs.h"

typedef struct rlt_settings {
    const char *topology, *placement, *network, *routing, *injection; /* network NULL: as it is needed */
    rlt_texts set, link_scale, dim_scale;                             /* each NAME=VALUE */
    /* Reactive protocols asked for: --set knows the names of their settings. Not an option. */
    const rlt_reactive *const *protocols;
    uint32_t n_protocols;
    bool sets_of_others; /* --set may name a setting of a protocol or a network that does not run */
    /* Nothing to compare runs on another network: --set must not name a setting of one. Not an option. */
    bool one_network;
    bool protocols_where_able; /* uses protocols only if a switch aggregates */
    const char *updates;       /* file of recorded counts; the same, already read */
    /* A topology that is already loaded, with links scaled; borrowed. NULL: loads the one named above. */
    rlt_topology *loaded;
    const rlt_placement *placed;
    struct rlt_skew *updated;
} rlt_settings;
extern const rlt_option rlt_settings_options[]; /* offsets are in rlt_settings */

extern const rlt_option rlt_series_options[]; /* --series, into an rlt_time of its own */

/* The settings, loaded. */
typedef struct rlt_setup {
    rlt_topology *topology;
    rlt_placement placement;
    rlt_routing routing;
    const rlt_net_model *model;
    rlt_endpoint endpoint;
    rlt_packet_settings packet; /* for the packet model */
    rlt_coll_params params;     /* for algorithms; patterns by dimension of the topology */
    rlt_reacting *protocols;    /* owned; in the order asked for */
    uint32_t n_protocols;
    /* slots, memory, width and sharing of every aggregating switch; 0: as needed, static */
    rlt_aggregator_config aggregator;
    rlt_reacting fallback;    /* protocol that runs if switches refuse; protocol NULL: none */
    struct rlt_skew *updates; /* recorded counts of Libra's parameters; NULL: none */
    rlt_inputs inputs;        /* for the manifest */
    char why_packets[80];     /* why packets are simulated although nobody named a network; or "" */
    bool lacks_packets;       /* protocols were left out: the network moves no packets */
    /* as in rlt_settings, for protocols and for networks */
    bool sets_of_others, sets_of_packets;
    bool borrows_topology, borrows_placement, borrows_updates;
} rlt_setup;

/* Loads only the topology, with its links scaled as the settings say; owned by the caller. */
int rlt_setup_topology(const rlt_settings *s, rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* Loads and checks everything. n_ranks 0: a rank per accelerator, or as many as the placement file has.
 * Otherwise ranks 0 .. n_ranks - 1; a placement file must have at least as many. */
int rlt_setup_open(const rlt_settings *s, uint64_t n_ranks, rlt_setup *out, rlt_error *err) RLT_MUST_USE;
void rlt_setup_free(rlt_setup *s);
/* Returns the settings of every aggregating switch, of an rlt_setup. */
const rlt_param *rlt_switch_parameters(void);
/* Applies one --set by name and value. Known are settings of endpoints (net/endpoint/endpoint.h); of the
 * packet model, if it is the network (net/packet/packet.h; with or without
 * "packet." in front); channels, chunks, window, directions, servers, patterns, schedule, order of
 * algorithms; switch.slots, switch.memory, switch.width, switch.sharing, switch.fallback; and those of
 * reactive protocols. NAME sets all protocols that have it, PROTOCOL.NAME one of them, or the fallback once
 * it is named. RLT_EUSAGE. */
int rlt_setup_set(rlt_setup *s, const char *name, const char *value, rlt_error *err) RLT_MUST_USE;
/* Returns true if the text of --algorithm or --set, by name of the option, asks for something that only a
 * network of packets has: a reactive protocol, or a setting of packets. */
bool rlt_needs_packets(const char *option, const char *text);
/* Returns the name of that network. */
const char *rlt_packet_network(void);
/* Copies the settings of algorithms into a request. */
void rlt_setup_parameters(const rlt_setup *s, rlt_coll_request *req);
/* Returns the configuration of the network model for a simulation and a router. */
rlt_net_config rlt_setup_net(const rlt_setup *s, rlt_sim *sim, rlt_router *router, rlt_time series_ps);
/* Writes "network": ..., "routing": ..., "injection": ..., and the topology's name and size into an open JSON
 * object. */
void rlt_setup_json(const rlt_setup *s, rlt_jw *w);
/* Writes a line such as "dgx-h100, 8 ranks; network flow, routing dmodk, injection nic". */
void rlt_setup_line(const rlt_setup *s, char *buffer, size_t size);

/* Parses "ring" (for every kind that it does) or "all_reduce=ring,all_to_all=direct" into a table by kind. A
 * NULL entry means the selector's choice. `text` NULL: all NULL. RLT_EUSAGE. */
int rlt_parse_algorithms(const char *text, const rlt_algorithm *table[RLT_COLL_KINDS],
                         rlt_error *err) RLT_MUST_USE;
/* Parses the same with rules and reactive protocols into options of a replay. "all_reduce=ring:1MiB:switchml"
 * is ring below 1 MiB and switchml from there on; "all_reduce@8=direct" is for groups of 8. The setup must
 * have the protocols that rlt_named_protocols finds. *rules is malloc'ed and borrowed by the options.
 * RLT_EUSAGE. */
int rlt_parse_rules(const char *text, const rlt_setup *setup, rlt_replay_options *o,
                    rlt_algorithm_rule **rules, rlt_error *err) RLT_MUST_USE;
/* Lists the protocols that a text of algorithms names, each once. Returns how many, at most `most`. */
uint32_t rlt_named_protocols(const char *text, const rlt_reactive **out, uint32_t most);
/* Finds a reactive protocol by name; dashes count as underscores. NULL: not found. */
const rlt_reactive *rlt_find_protocol(const char *name, size_t length);
/* Returns true if a protocol has a setting of that name. */
bool rlt_has_setting(const rlt_reactive *r, const char *name);
/* Words for option tables. */
const char *rlt_network_word(uint32_t i);
const char *rlt_algorithm_word(uint32_t i);     /* algorithms */
const char *rlt_any_algorithm_word(uint32_t i); /* algorithms and reactive protocols */
const char *rlt_collective_word(uint32_t i);    /* ends with "all" */

#endif
