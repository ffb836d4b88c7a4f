/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What everything that simulates takes: where (topology, placement) and how (network model, routing,
 * endpoint). The option tables are shared: whoever has them embeds the structs in its settings and enters the
 * tables as groups.
 */
#ifndef RLT_WORKLOAD_SETUP_SETTINGS_H
#define RLT_WORKLOAD_SETUP_SETTINGS_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/endpoint.h"
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
    const char *topology, *placement, *network, *routing, *injection;
    rlt_texts set, link_scale; /* name=value */
    /* Protocols that react, asked for: --set knows their names too. Not an option of its own. */
    const rlt_reactive *const *protocols;
    uint32_t n_protocols;
    bool sets_of_others;       /* --set may name what another point of a study runs: here it does nothing */
    bool protocols_where_able; /* only where a switch adds up; else there are none */
    const char *updates;       /* file of recorded counts; the same */
    /* Loaded already, with links scaled, and borrowed; NULL: the names above say what to load. */
    rlt_topology *loaded;
    const rlt_placement *placed;
    struct rlt_skew *updated;
} rlt_settings;
extern const rlt_option rlt_settings_options[]; /* offsets in rlt_settings */

extern const rlt_option rlt_series_options[]; /* --series: an rlt_time of its own */

/* The settings resolved. */
typedef struct rlt_setup {
    rlt_topology *topology;
    rlt_placement placement;
    rlt_routing routing;
    const rlt_net_model *model;
    rlt_endpoint endpoint;
    rlt_packet_settings packet; /* of the packet model */
    rlt_coll_params params;     /* of algorithms; patterns by dimension of the topology */
    rlt_reacting *protocols;    /* owned; in the order asked for */
    uint32_t n_protocols;
    rlt_aggregator_config aggregator; /* slots, memory, width and sharing of every switch that adds; 0: as
                                         needed, static */
    rlt_reacting fallback;            /* what runs where switches refuse; protocol NULL: none */
    struct rlt_skew *updates;         /* recorded, of Libra's parameters; NULL: none */
    rlt_inputs inputs;                /* for the manifest */
    bool sets_of_others;              /* as in rlt_settings */
    bool borrows_topology, borrows_placement, borrows_updates;
} rlt_setup;

/* The topology alone, its links scaled as the settings say; owned by the caller. */
int rlt_setup_topology(const rlt_settings *s, rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* Loads and checks everything. n_ranks 0: one for each accelerator, or as many as the placement file has;
 * otherwise ranks 0 .. n_ranks - 1 (a placement file must have at least as many). */
int rlt_setup_open(const rlt_settings *s, uint64_t n_ranks, rlt_setup *out, rlt_error *err) RLT_MUST_USE;
void rlt_setup_free(rlt_setup *s);
/* What every switch that adds takes, of an rlt_setup. */
const rlt_param *rlt_switch_parameters(void);
/* One --set by name and value: settings of endpoints (net/topology/endpoint.h), of the packet model where
 * that is the network or protocols react (net/packet/packet.h; with or without "packet." in front), channels,
 * chunks, window, directions, servers, patterns, schedule, order of algorithms, switch.slots, switch.memory,
 * switch.width, switch.sharing, switch.fallback, and those of the protocols: NAME of all that have it,
 * PROTOCOL.NAME of one (that of the fallback, too, once it is named). RLT_EUSAGE. */
int rlt_setup_set(rlt_setup *s, const char *name, const char *value, rlt_error *err) RLT_MUST_USE;
/* The same into a request. */
void rlt_setup_parameters(const rlt_setup *s, rlt_coll_request *req);
/* The models' configuration, for the given simulation and router. */
rlt_net_config rlt_setup_net(const rlt_setup *s, rlt_sim *sim, rlt_router *router, rlt_time series_ps);
/* "network": ..., "routing": ..., "injection": ... into an open JSON object, and topology's name and size. */
void rlt_setup_json(const rlt_setup *s, rlt_jw *w);
/* "dgx-h100, 8 ranks; network flow, routing dmodk, injection nic". */
void rlt_setup_line(const rlt_setup *s, char *buffer, size_t size);

/* "ring" (for every kind that it does) or "all_reduce=ring,all_to_all=direct" into a table by kind; NULL
 * entries are chosen. `text` NULL: all chosen. RLT_EUSAGE. */
int rlt_parse_algorithms(const char *text, const rlt_algorithm *table[RLT_COLL_KINDS],
                         rlt_error *err) RLT_MUST_USE;
/* The same with protocols that react (of the setup, which must have those that rlt_named_protocols finds) and
 * with rules, into options of a replay: "all_reduce=ring:1MiB:switchml" is ring below 1 MiB and switchml from
 * there on, "all_reduce@8=direct" is for groups of 8.
 * *rules malloc'ed, borrowed by the options. RLT_EUSAGE. */
int rlt_parse_rules(const char *text, const rlt_setup *setup, rlt_replay_options *o,
                    rlt_algorithm_rule **rules, rlt_error *err) RLT_MUST_USE;
/* The protocols that a text of algorithms names, each once: how many, at most `most`. */
uint32_t rlt_named_protocols(const char *text, const rlt_reactive **out, uint32_t most);
/* A protocol that reacts, by name; dashes are underscores. NULL: there is none of that name. */
const rlt_reactive *rlt_find_protocol(const char *name, size_t length);
/* Whether a protocol has a setting of that name. */
bool rlt_has_setting(const rlt_reactive *r, const char *name);
/* Words for option tables. */
const char *rlt_network_word(uint32_t i);
const char *rlt_algorithm_word(uint32_t i);     /* of steps */
const char *rlt_any_algorithm_word(uint32_t i); /* and protocols that react */
const char *rlt_collective_word(uint32_t i);    /* "all" at the end */

#endif
