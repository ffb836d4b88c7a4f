/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the network models: the common start of every model's struct, and the steps from a message to its
 * path and cost. Internal. */
#ifndef RLT_NET_NETWORK_INTERNAL_H
#define RLT_NET_NETWORK_INTERNAL_H

#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Links (classes in a folded network) and the number of messages on each at once. */
typedef struct rlt_shares {
    uint32_t *links, *times;
    uint32_t n, room;
    uint32_t *at; /* index at which a link stands, if it does; NULL: no link comes twice */
} rlt_shares;

typedef struct rlt_net_tree rlt_net_tree; /* see network_tree.h */

typedef struct rlt__parked rlt__parked; /* see link_event.c */

typedef struct rlt_net_core {
    rlt_net base;
    rlt_sim *sim;
    rlt_router *router;
    rlt_net_client client;
    rlt_endpoint endpoint;
    double bandwidth_scale, latency_scale;
    const rlt_net_fold *fold;
    rlt_net_tree *tree; /* scratch space, NULL until needed */
    rlt_shares shares;  /* see rlt__net_shares */
    bool may_loop;      /* true if a route may cross a link twice */
    bool scaled;        /* true if a scale is not 1, or messages stand for several */
    bool plain;         /* true if the cost of a message does not depend on its size; it is then plain_ps */
    rlt_time plain_ps;
    rlt_pool path_runs; /* copies of paths, see rlt__path_keep */
    rlt_link_changes changes;
    rlt__parked *parked; /* messages without a route to their destination */
    uint32_t n_parked, parked_room;
    rlt_pool told; /* messages whose injection is reported later */
    int tell;      /* event handler for that, if links change */
} rlt_net_core;

/* A message to be sent: its path with scaled numbers, and all costs beyond its serialisation. */
typedef struct rlt_leg {
    rlt_path path;
    uint64_t wire_bytes;
    rlt_time tail_ps; /* endpoint delay + path latency */
} rlt_leg;

/* Fills the part that models share. *bw is malloc'ed: the scaled capacity of each link (or class). */
int rlt__net_init(rlt_net_core *c, const rlt_net_model *model, const rlt_net_config *cfg, uint64_t **bw,
                  rlt_error *err) RLT_MUST_USE;
void rlt__net_fini(rlt_net_core *c);
void rlt__net_tree_free(rlt_net_core *c); /* network_tree.c */
int rlt__net_leg_slow(rlt_net_core *c, const rlt_message *m, rlt_leg *leg) RLT_MUST_USE;
int rlt__net_no_route(rlt_net_core *c, const rlt_message *m, int code);

/* Finds the route and cost of a message. A failure has already gone to rlt_sim_fail. */
static inline int rlt__net_leg(rlt_net_core *c, const rlt_message *m, rlt_leg *leg)
{
    int rc = rlt_route(c->router, m->src, m->dst, m->route_key, &leg->path);
    if (__builtin_expect(rc != 0, 0))
        return rlt__net_no_route(c, m, rc);
    c->base.messages++;
    c->base.bytes_offered += m->bytes;
    if (!c->plain || c->scaled)
        return rlt__net_leg_slow(c, m, leg);
    leg->wire_bytes = m->bytes;
    leg->tail_ps = rlt_time_add(leg->path.latency_ps, c->plain_ps);
    return 0;
}

/* Returns the current scaled capacity of a link; 0 if it has failed. */
uint64_t rlt__net_link_Bps(const rlt_net_core *c, uint32_t link);
/* Writes "link 4 (acc1->acc2), which has failed". */
char *rlt__net_failed_name(const rlt_net_core *c, uint32_t link, char *buffer, size_t size);
/* Parks a message that has no route, to be sent when links come back. If that is not allowed, the failure
 * goes to rlt_sim_fail. Returns RLT_ESTALL in every case. */
int rlt__net_park(rlt_net_core *c, const rlt_message *m);
int rlt__net_park_tree(rlt_net_core *c, const rlt_tree_message *m, bool reduce, uint32_t blocked);
/* Returns the number of parked messages and describes one of them. */
uint64_t rlt__net_parked(const rlt_net_core *c, char *text, size_t size);
int rlt__net_changes_init(rlt_net_core *c, const rlt_net_config *cfg, rlt_error *err) RLT_MUST_USE;
void rlt__net_changes_fini(rlt_net_core *c);
/*
 * A line: messages that arrive at one instant. The first one posts the event `serve`, in class RLT_START. Its
 * handler takes the whole line, by port and rx, and serves it. Nobody lines up meanwhile: events do not nest.
 */
typedef struct rlt_arrival {
    uint64_t rx, tx;
    uint32_t port, index;
} rlt_arrival;
typedef struct rlt_arrivals {
    rlt_arrival *items; /* the upper half of the room is for sorting */
    uint32_t n, room;
    int serve;
} rlt_arrivals;
/* A failure goes to rlt_sim_fail. */
void rlt__line_up(rlt_net_core *c, rlt_arrivals *line, const rlt_arrival *a);
/* Empties the line and returns its messages in order. They are valid until the next rlt__line_up. */
const rlt_arrival *rlt__line_take(rlt_arrivals *line);
/* Returns a latency or delay times a scale; and times latency_scale. */
rlt_time rlt__scaled_time(rlt_time t, double scale);
rlt_time rlt__net_scaled_time(const rlt_net_core *c, rlt_time t);

static inline uint32_t rlt__message_count(const rlt_message *m)
{
    return m->count ? m->count : 1;
}

/* Fills c->shares with the number of messages on each link: in a folded network those of all messages that m
 * stands for, on each link of a class; otherwise how often the path crosses the link. A failure has already
 * gone to rlt_sim_fail. */
int rlt__net_shares(rlt_net_core *c, const rlt_message *m, const uint32_t *links, uint32_t n) RLT_MUST_USE;

/* Finds the send and the receive port of a path that is not empty, and how many of the messages that m stands
 * for come to the receive port at once. A failure has already gone to rlt_sim_fail. */
int rlt__net_ports(rlt_net_core *c, const rlt_message *m, const rlt_path *p, uint32_t ends[2],
                   uint32_t *arriving) RLT_MUST_USE;

/* Appends a link to c->shares without a search for duplicates. RLT_ENOMEM. */
int rlt__shares_push(rlt_net_core *c, uint32_t link, uint32_t times) RLT_MUST_USE;
/* keep copies c->shares, load brings a copy back. A copy is dropped like a path. RLT_ENOMEM. */
int rlt__shares_keep(rlt_net_core *c, uint32_t *first) RLT_MUST_USE;
int rlt__shares_load(rlt_net_core *c, uint32_t first) RLT_MUST_USE;

/*
 * A batch: consecutive messages whose next event is at the same time. They share that event and run in the
 * order in which they came, as with events of their own.
 */
typedef struct rlt_batch {
    rlt_time when;
    uint64_t scheduled; /* rlt_sim_scheduled() right after the batch's last message; 0: closed */
    uint32_t last;
} rlt_batch;

/* Returns true if a message due at `then` may join the batch instead of getting an event. */
static inline bool rlt__batch_takes(const rlt_batch *b, const rlt_sim *sim, rlt_time then)
{
    return b->scheduled == rlt_sim_scheduled(sim) && b->when == then;
}

/* Makes the message the last one of the batch. */
static inline void rlt__batch_note(rlt_batch *b, const rlt_sim *sim, rlt_time then, uint32_t message)
{
    b->when = then;
    b->scheduled = rlt_sim_scheduled(sim);
    b->last = message;
}

/* Closes the batch: its event has come. */
static inline void rlt__batch_close(rlt_batch *b)
{
    b->scheduled = 0;
}

/* Copies of paths that must outlive the next call of the router: chains of short runs. */
enum { RLT_RUN_LINKS = 6 };
typedef struct rlt_path_run {
    uint32_t next, n, links[RLT_RUN_LINKS];
} rlt_path_run;
/* Copies a path. *first is its first run, RLT_NONE for n == 0. Returns 0 or RLT_ENOMEM. */
int rlt__path_keep(rlt_net_core *c, const uint32_t *links, uint32_t n, uint32_t *first) RLT_MUST_USE;
void rlt__path_drop(rlt_net_core *c, uint32_t first);

static inline rlt_path_run *rlt__path_run(const rlt_net_core *c, uint32_t i)
{
    return rlt_pool_at(&c->path_runs, i);
}

#endif
