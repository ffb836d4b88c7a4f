/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flow model's state, for flow.c (messages) and links.c (links that change). Internal to net/. */
#ifndef RLT_NET_FLOW_INTERNAL_H
#define RLT_NET_FLOW_INTERNAL_H

#include "net/flow/maxmin.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct rlt__flow_msg {
    uint64_t tx, rx, bytes, wire_bytes;
    union {
        rlt_time tail_ps; /* from drained to delivered, or, latency first, from sent to begun */
        uint32_t behind;  /* waiting to begin, see begin_later: the one behind it, or RLT_NONE */
    };
    union {
        struct {
            uint32_t next; /* of the same flow; once drained: of the same delivery, or RLT_NONE */
            uint32_t path; /* kept until the flow begins */
        };
        uint32_t links[2]; /* until it begins, see begin_later */
    };
} rlt__flow_msg;

/* What a rank's last message learnt of its way, where the next to the same rank can go without asking: two
 * links, costs that do not depend on the size. */
typedef struct rlt__flow_memo {
    uint32_t dst; /* RLT_NONE: nothing */
    uint32_t links[2];
    uint64_t key;
    rlt_time tail_ps;
} rlt__flow_memo;

/* Where a message goes, kept where links change. */
typedef struct rlt__origin {
    uint32_t src, dst; /* ranks; src RLT_NONE: over a tree, whose links it keeps */
    uint64_t key;
    uint32_t blocked; /* while it is stalled: the failed link in the way */
} rlt__origin;

typedef struct rlt__flow_net {
    rlt_net_core core;
    rlt_maxmin *mm;
    rlt_pool messages;
    rlt__flow_memo *memos; /* of each rank */
    uint32_t ranks;
    bool remembers;
    uint64_t key_mask;
    int drain, solve, begin, begin_pairs, deliver;
    rlt_event wake; /* the next drain, at wake_at */
    rlt_time wake_at;
    rlt_batch batch;    /* messages that drained last, to be delivered together */
    rlt_batch starting; /* messages that were sent last, to begin together */
    bool solve_pending;
    bool latency_first;
    bool by_shares; /* folded, or latency first */
    /* Where links change, see links.c. */
    rlt__origin *origins; /* of each message */
    uint32_t origins_room;
    rlt_mm_list changed; /* links, since the last relink */
    rlt_mm_list stalled; /* messages */
    bool relink_pending;
    int relink;
} rlt__flow_net;

static inline rlt__flow_msg *rlt__flow_message(const rlt__flow_net *net, uint32_t i)
{
    return (rlt__flow_msg *)(void *)net->messages.items + i;
}

int rlt__flow_no_memory(rlt__flow_net *net);
/* After flows began or ended. */
void rlt__flow_update(rlt__flow_net *net);
/* The message begins now on the links of core.shares. RLT_ENOMEM. */
int rlt__flow_start(rlt__flow_net *net, uint32_t index) RLT_MUST_USE;

/* links.c */
int rlt__flow_links_create(rlt__flow_net *net, rlt_error *err) RLT_MUST_USE;
void rlt__flow_links_free(rlt__flow_net *net);
/* Notes where a message goes (tree: its links are kept instead). False: told to the simulation. */
bool rlt__flow_origin(rlt__flow_net *net, uint32_t index, const rlt_message *m);
/* A message that is to begin on the links of core.shares; true if one of them has failed: then it goes
 * another way, or waits. */
bool rlt__flow_diverted(rlt__flow_net *net, uint32_t index);
void rlt__flow_relink(rlt_net *net, const uint32_t *links, uint32_t n);
uint64_t rlt__flow_waits(const rlt_net *net, char *text, size_t size);

#endif
