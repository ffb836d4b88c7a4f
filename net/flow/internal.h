/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the flow model, shared by flow.c (messages) and links.c (links that change). Internal to net/. */
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
        rlt_time tail_ps; /* time from drained to delivered; with latency first, from sent to begun */
        uint32_t behind;  /* next message that waits to begin (see begin_later), or RLT_NONE */
    };
    union {
        struct {
            uint32_t next; /* next message of the flow; once drained, of the delivery, or RLT_NONE */
            uint32_t path; /* its links, until the flow begins */
        };
        uint32_t links[2]; /* its links until it begins, see begin_later */
    };
} rlt__flow_msg;

/* Shortcut: the path and cost of a rank's last message. Used for the next message to the same rank if the
 * path has two links and the cost does not depend on the size. */
typedef struct rlt__flow_memo {
    uint32_t dst; /* RLT_NONE: empty */
    uint32_t links[2];
    uint64_t key;
    rlt_time tail_ps;
} rlt__flow_memo;

/* Ends of a message, kept if links may change. */
typedef struct rlt__origin {
    uint32_t src, dst; /* ranks; src is RLT_NONE for a tree, whose links are kept instead */
    uint64_t key;
    uint32_t blocked; /* failed link in the way, while the message is stalled */
} rlt__origin;

enum { RLT__FLOW_LOOKED = 256 };

typedef struct rlt__flow_net {
    rlt_net_core core;
    rlt_maxmin *mm;
    rlt_pool messages;
    rlt__flow_memo *memos; /* one per rank */
    uint32_t ranks;
    bool remembers;
    uint64_t key_mask;
    /* Pairs of ranks whose route has been looked at for links of one kind, by source. */
    struct {
        uint32_t src, dst;
        uint64_t key;
    } looked[RLT__FLOW_LOOKED];
    bool routes_stay;
    int drain, solve, begin, begin_pairs, deliver;
    rlt_event wake; /* event of the next drain, at wake_at */
    rlt_time wake_at;
    rlt_batch batch;    /* messages that drained last, to be delivered together */
    rlt_batch starting; /* messages that were sent last, to begin together */
    bool solve_pending;
    bool latency_first;
    bool by_shares; /* true in a folded network, or with latency first */
    /* Only if links may change, see links.c. */
    rlt__origin *origins; /* one per message */
    uint32_t origins_room;
    rlt_mm_list changed; /* links that changed since the last relink */
    rlt_mm_list stalled; /* messages that wait for a route */
    bool relink_pending;
    int relink;
} rlt__flow_net;

static inline rlt__flow_msg *rlt__flow_message(const rlt__flow_net *net, uint32_t i)
{
    return (rlt__flow_msg *)(void *)net->messages.items + i;
}

int rlt__flow_no_memory(rlt__flow_net *net);
/* Schedules a solve, or the next drain. Call it after flows began or ended. */
void rlt__flow_update(rlt__flow_net *net);
/* Starts the message now, on the links of core.shares. RLT_ENOMEM. */
int rlt__flow_start(rlt__flow_net *net, uint32_t index) RLT_MUST_USE;

/* links.c */
int rlt__flow_links_create(rlt__flow_net *net, rlt_error *err) RLT_MUST_USE;
void rlt__flow_links_free(rlt__flow_net *net);
/* Records the ends of a message (for a tree its links are kept instead). Returns false on failure, which has
 * gone to rlt_sim_fail. */
bool rlt__flow_origin(rlt__flow_net *net, uint32_t index, const rlt_message *m);
/* Diverts a message that is about to begin on the links of core.shares. Returns true if one of them has
 * failed; the message then takes another route, or waits. */
bool rlt__flow_diverted(rlt__flow_net *net, uint32_t index);
void rlt__flow_relink(rlt_net *net, const uint32_t *links, uint32_t n);
uint64_t rlt__flow_waits(const rlt_net *net, char *text, size_t size);

/* Rounds down to whole bytes (up to the noise of doubles), so that no link is busy longer than it was
 * used. */
static inline uint64_t rlt__flow_whole_bytes(double bytes)
{
    return bytes > 0 ? (uint64_t)(bytes + 1e-3) : 0;
}

#endif
