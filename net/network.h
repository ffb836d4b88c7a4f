/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Network models behind one interface with three verbs: send (one to one), reduce-to and multicast. A network
 * belongs to one simulation. It routes each message, charges its endpoint costs, and tells its client when
 * the message is injected (serialised at the sender) and delivered (last byte at the receiver). A verb that a
 * model lacks is NULL in its table.
 *
 *   alpha-beta  A message occupies the first and the last link of its path (the ranks' send and receive
 *               ports) for its serialisation there. Messages queue at a send port in order of issue, and at a
 *               receive port in the order in which their last bytes would arrive unimpeded. The link of a
 *               path of one link is both ports. Links in between
 *               are not shared: the usage reports those above capacity, nothing slows down.
 *               delivery = start + latency + wire bytes / path bandwidth
 *   flow        All links of a path are shared max-min fairly. Under the nic rule the message drains from the
 *               instant of issue, and its last byte arrives the path's latency after it left. Under the
 *               blocking rule the latency comes first, as a start-up delay without a share (as in SimGrid).
 *   packet      See net/packet/packet.h. Lost packets are retransmitted; a message is delivered once.
 *
 * A message that is alone in the network takes the same time in alpha-beta and flow, under both rules.
 *
 * Links may change during the run (rlt_net_link_event) if the configuration allows it:
 *
 *   alpha-beta  Messages issued later see the change. Messages under way are not affected.
 *   flow        Rates are solved again at that instant. Transfers on a failed link continue on another
 *               route with the bytes they have left, or wait for the link.
 *   packet      Packets queued later see the change. Packets on a failed link, or waiting at its port, are
 *               lost. Flows continue on another route, or wait.
 *
 * Later messages take routes over links that have not failed, or wait if there is no such route. A flow
 * returns to its old route only with its next message.
 *
 * Accounts balance: offered + replicated = delivered + absorbed + abandoned, once nothing is under way.
 */
#ifndef RLT_NET_NETWORK_H
#define RLT_NET_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/route.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_message {
    uint32_t src, dst; /* ranks */
    uint64_t bytes;
    uint64_t route_key; /* distinguishes flows of one pair */
    uint64_t tx, rx;    /* cookies of the client */
    /* In a folded network (net/fold.h): messages that it stands for, and those per receiver; 0 means 1. */
    uint32_t count, fan_in;
    const rlt_tuning *tuning; /* tuning of the collective, borrowed during the call; NULL: none */
} rlt_message;

/* Whether links keep their bandwidth, change it, or may fail during the run. */
typedef enum rlt_link_changes { RLT_LINKS_STAY, RLT_LINKS_CHANGE, RLT_LINKS_FAIL } rlt_link_changes;

/* Callbacks of the client; called from within the simulation. */
typedef struct rlt_net_client {
    void *ctx;
    void (*injected)(void *ctx, uint64_t tx);
    void (*delivered)(void *ctx, uint64_t tx, uint64_t rx);
} rlt_net_client;

/* One of several simulations that are parts of one network, each on its own thread (sim/windows.h). Ranks and
 * ports of other parts do nothing in it. Only the packet model has parts. */
typedef struct rlt_net_part {
    const struct rlt_packet_parts *parts; /* net/packet/parts.h; borrowed */
    struct rlt_windows *windows;          /* borrowed */
    const uint8_t *of_rank;               /* part of each rank; borrowed */
    uint32_t self;
} rlt_net_part;

typedef struct rlt_net_config {
    rlt_sim *sim;
    rlt_router *router;    /* borrowed */
    rlt_endpoint endpoint; /* copied */
    rlt_net_client client;
    double bandwidth_scale;                   /* multiplies every link's bandwidth; 1 = as built */
    double latency_scale;                     /* multiplies link latencies and endpoint delays */
    rlt_time series_bin_ps;                   /* resolution of the usage time series; 0 = none */
    const rlt_net_fold *fold;                 /* borrowed; NULL: not folded */
    const struct rlt_packet_settings *packet; /* net/packet/packet.h; copied; NULL: the defaults */
    rlt_link_changes changes;                 /* must be RLT_LINKS_STAY in a folded network */
    /* Serves messages that reach a port at one instant in the order of their rx, and not in that of events,
     * which symmetric ports do not share. For models whose order matters: those without
     * RLT_NET_SHARES_LINKS. */
    bool orderly;
    /* The client's work at one accelerator does not reach another one within the instant. */
    bool local;
    const rlt_net_part *part; /* borrowed until the run ends; NULL: the whole network */
} rlt_net_config;

typedef struct rlt_net rlt_net;

/*
 * A tree-shaped transfer: one message between `root` and all `n` ranks (which may include root). Data is
 * summed (reduce_to) or replicated (multicast) where the paths meet. The tree is the union of the routes from
 * all ranks to the root, each link once; a multicast uses the same cables in the other direction. If the root
 * is one of the ranks, its own part goes to the first switch that can reduce, and returns with the sum. With
 * `all`, the sum of a reduction is replicated there and lands at all ranks: each cable carries the bytes once
 * in each direction. The root must then be one of the ranks.
 *
 * Each link carries the bytes once. In flow the whole tree has one rate; in alpha-beta each send port starts
 * as soon as it is free. The latency is that of the longest branch (with `all`: up and down). `injected` is
 * called when the message has left all its sources, `delivered` once, when the last byte is everywhere. A
 * reduction counts as n messages, a multicast as one.
 *
 * Fails through rlt_sim_fail with RLT_EUNSUPPORTED if a node where paths meet cannot do the operation
 * (rlt_topology_in_network), or if the routes form no tree.
 */
typedef struct rlt_tree_message {
    const uint32_t *ranks; /* n ranks, borrowed during the call; NULL: 0 .. n-1 */
    uint32_t n, root;
    uint64_t bytes, route_key, tx, rx;
    uint32_t count;           /* equal transfers that it stands for in a folded network (flow only); 0: 1 */
    bool all;                 /* the sum of a reduction lands at all ranks */
    const rlt_tuning *tuning; /* as in rlt_message */
} rlt_tree_message;

/* Capabilities of a model, for callers that must not know it by name. */
enum {
    /* Transfers share every link: a cut inside the network bounds them, and no link carries more than its
     * bandwidth. Without this flag they meet only at the ranks' own ports, where they are serialised. */
    RLT_NET_SHARES_LINKS = 1,
    RLT_NET_FOLDS = 2,   /* accepts rlt_net_config.fold */
    RLT_NET_PACKETS = 4, /* moves packets: uses rlt_packet_settings, may lose packets, accepts guests */
};

typedef struct rlt_net_model {
    const char *name, *summary;
    uint32_t can; /* flags RLT_NET_... */
    int (*create)(const rlt_net_config *cfg, rlt_net **out, rlt_error *err);
    void (*destroy)(rlt_net *net);
    /* Issues a message now. Returns the time of its injection if that is known at issue (client.injected is
     * then not called), otherwise -1. Failures go to rlt_sim_fail. */
    rlt_time (*send)(rlt_net *net, const rlt_message *m);
    /* Issue a tree-shaped transfer; otherwise like send. */
    rlt_time (*reduce_to)(rlt_net *net, const rlt_tree_message *m);
    rlt_time (*multicast)(rlt_net *net, const rlt_tree_message *m);
    void (*settle)(rlt_net *net); /* see rlt_net_settle */
    /* Applies a change of these links, which the router already knows. */
    void (*relink)(rlt_net *net, const uint32_t *links, uint32_t n);
    /* Reports a stall: returns the number of transfers that wait inside the network, and names one. May be
     * NULL. */
    uint64_t (*waits)(const rlt_net *net, char *text, size_t size);
} rlt_net_model;

typedef struct rlt_net_totals {
    uint64_t messages, bytes_offered, bytes_delivered, bytes_absorbed, bytes_replicated;
} rlt_net_totals;

/* Base of a network; the first member of every model's struct. */
struct rlt_net {
    const rlt_net_model *model;
    rlt_usage *usage;
    uint64_t messages, bytes_offered, bytes_delivered; /* payload, without protocol overhead */
    uint64_t bytes_absorbed, bytes_replicated;         /* reductions absorb, multicasts replicate */
    uint64_t bytes_abandoned; /* bytes that a client offered but did not wait for; set by that client */
    rlt_net_totals marked;    /* see rlt_net_mark */
    bool unique;              /* its state never repeats (random streams): rlt_net_mark refuses */
};

/* The models, in the order of lists. A new model is one file and one line here. */
#define RLT_NET_MODELS(X)                                                                                    \
    X(alpha_beta)                                                                                            \
    X(flow)                                                                                                  \
    X(packet)
#define RLT_X(name) RLT_API extern const rlt_net_model rlt_net_##name;
RLT_NET_MODELS(RLT_X)
#undef RLT_X

/* Return a model by number (NULL past the end) or by name (the error lists the known names). */
RLT_API const rlt_net_model *rlt_net_model_at(uint32_t i);
RLT_API const rlt_net_model *rlt_net_model_find(const char *name, rlt_error *err);

static inline rlt_time rlt_net_send(rlt_net *net, const rlt_message *m)
{
    return net->model->send(net, m);
}
/* Sets the bandwidth of these links to `factor` times that as built; 0 makes them fail. Call it from a
 * handler in class RLT_COMPLETE. Failures go to rlt_sim_fail: RLT_EUSAGE if the configuration says that links
 * do not change or do not fail. */
RLT_API void rlt_net_link_event(rlt_net *net, const uint32_t *links, uint32_t n, double factor);
/* Closes the accounts at the present instant: active intervals still open, bytes carried so far. Call it
 * after the run and before reading usage; later calls do nothing. Not after a run that ended for want of
 * memory, whose accounts stay open. A model that moves packets may
 * still have copies under way when its work ends: call it then, and the copies are not counted. */
RLT_API void rlt_net_settle(rlt_net *net);
/* Appends "; " and a description of the transfers that wait inside the network, if the model knows. */
RLT_API void rlt_net_waits(const rlt_net *net, char *text, size_t size);
/* For a client that knows that a stretch of the run repeats. mark remembers the accounts now. repeat adds the
 * traffic since the mark `times` more times, each one period later. Nothing may be under way at either call.
 * mark returns RLT_EUNSUPPORTED if a time series is kept, and under packet. */
RLT_API int rlt_net_mark(rlt_net *net) RLT_MUST_USE;
RLT_API void rlt_net_repeat(rlt_net *net, uint64_t times, rlt_time period_ps);
/* Returns the links of a network of the packet model, for guests; NULL for other models. */
RLT_API struct rlt_packets *rlt_net_packets(rlt_net *net);
RLT_API void rlt_net_free(rlt_net *net);

#ifdef __cplusplus
}
#endif
#endif
