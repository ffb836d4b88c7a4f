/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collective algorithms as step generators: nothing is materialised. A plan has lanes (channel x chunk slot);
 * every member runs the steps 0, 1, 2, ... of each lane in order. A step may send one message, wait for
 * messages, and wait for a step of another lane of the same member. The same generator feeds the executor,
 * the symbolic checker, exporters and the bound.
 *
 * The collective's bytes are cut into `blocks` blocks (sizes differ by at most one byte: the first
 * bytes % blocks are larger), and each block over the lanes in the same way; so the first blocks of a lane,
 * too, are larger by one byte or none. A span names blocks of a lane: `reps` runs of `run` blocks, `stride`
 * blocks apart. Indices count modulo `blocks`: a run may wrap round, a stride of blocks - 1 goes backwards.
 *
 * Every member has buffers 0 .. plan->buffers-1 with the lane's blocks. Buffer 0 at the start, and buffer
 * plan->result at the end, hold:
 *
 *                    at the start                           at the end
 *   all-reduce       the member's contribution              the sum of all contributions
 *   reduce           to every block                         the sum, at the root
 *   reduce-scatter                                          the sum, for the member's own share
 *   all-gather       the member's own share, nothing else:  all shares
 *   gather           block b belongs to member b * n/blocks all shares, at the root
 *   broadcast        the root's blocks                      the root's blocks
 *   scatter          the root's blocks                      the member's own share of them
 *   all-to-all       range j holds what goes to member j    range j from member j
 *
 * Where the request has counts (all-gather, reduce-scatter, gather, scatter), blocks = n and block i has
 * counts[i] bytes, cut over the lanes.
 *
 * A plan with `shared` set has lanes that are threads over one set of blocks: its blocks are cut from the
 * whole collective, every lane sees all of them, and lanes order their writes by waiting for each other.
 *
 * A new algorithm is one file with one const struct, entered in the list below.
 */
#ifndef RLT_COLLECTIVES_ALGORITHM_H
#define RLT_COLLECTIVES_ALGORITHM_H

#include <string.h>

#include "collectives/collective.h"
#include "net/topology/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_LANES = 4096, RLT_MAX_TRANSLATIONS = 32 };

typedef struct rlt_blocks {
    uint32_t first, run, stride, reps; /* reps == 0: nothing */
} rlt_blocks;

/*
 * What the network does.
 *   REDUCE     It fetches `send` (of send_buffer) from all members at once and adds it up on the way. The sum
 *              lands at send_to, which may be the member itself. The sources must not change before.
 *   MULTICAST  `send` lands at every member, the sender included; each of them waits for it in peer_step.
 *              send_to = n.
 * Both need switches that can do it (see rlt_net_model). Where the algorithm has `reach`, "all members" are
 * those that `reach` names, the sender among them, and peer_step is the step itself.
 */
typedef enum rlt_verb { RLT_VERB_SEND, RLT_VERB_REDUCE, RLT_VERB_MULTICAST } rlt_verb;

/* Members first + i * stride, i < n. */
typedef struct rlt_reach {
    uint32_t first, stride, n;
} rlt_reach;

/* One step of one member in one lane. */
typedef struct rlt_step {
    uint32_t send_to;    /* member, or RLT_NONE */
    uint32_t peer_step;  /* the step of send_to that waits for this message, in the lane peer_shift on */
    uint32_t peer_shift; /* 0: the same lane; else lane (own + peer_shift) mod plan->lanes */
    uint64_t send_bytes;
    uint32_t recv_from;  /* member, or RLT_NONE (none, or several: see recv_count) */
    uint32_t recv_count; /* messages addressed to this step before it is done */
    /* Start only after that lane of this member has finished that step; lane RLT_NONE: no wait. */
    uint32_t wait_lane, wait_step;
    uint8_t nowait; /* the lane does not wait for this send's injection (the lane's end does) */
    uint8_t reduce; /* what is sent is added at its destination, else it replaces */
    uint8_t copy;   /* local: `send` is moved to `land` within this member (reduce: added); no message */
    uint8_t send_buffer, land_buffer;
    uint8_t verb;    /* rlt_verb: what the network does with the message */
    uint16_t turn;   /* of several parallel links to send_to, which one: modulo their number */
    rlt_blocks send; /* blocks sent */
    rlt_blocks land; /* where they land at send_to (or here, for copy) */
} rlt_step;

typedef struct rlt_algorithm rlt_algorithm;

typedef struct rlt_plan {
    const rlt_algorithm *algorithm;
    rlt_coll_request req; /* its arrays are borrowed and must outlive the plan */
    uint32_t lanes;
    uint32_t blocks; /* of a lane */
    uint8_t buffers, result;
    bool shared;              /* see above */
    bool untracked;           /* messages are known, not what is in them: collectives/listed.h */
    bool reduces, multicasts; /* some step uses these verbs: bounds and checks must know */
    uint32_t chunks, channels, directions, window; /* in force */
    rlt_param_value own[RLT_MAX_OWN];              /* parameters of the algorithm alone */
    uint32_t words[8];                             /* the algorithm's own few numbers */
    rlt_tuning tuning;                             /* what its messages cost, see collectives/selector.h */
    void *data; /* the algorithm's own, freed by rlt_plan_free with free(), after release() */
} rlt_plan;

struct rlt_algorithm {
    const char *name, *summary;
    /* What it can be told, each row by one of the macros below or with a name of its own and RLT_SLOT(i), i <
     * RLT_MAX_OWN: the value, or else the preset, is then in plan->own[i]. NULL: nothing. */
    const rlt_param *parameters;
    uint32_t kinds;       /* bit 1 << rlt_coll_kind for each that it does */
    uint32_t counted;     /* and of these, those that it does with counts too */
    rlt_serves served_by; /* the protocols of an endpoint that carry it */
    /* Refuses a request that it cannot do, with a reason. Else fills the plan: lanes, blocks, buffers. */
    int (*plan)(rlt_plan *plan, rlt_error *err);
    /* Number of steps of a member in a lane; O(1). */
    uint32_t (*steps)(const rlt_plan *plan, uint32_t member, uint32_t lane);
    /* Fills *out, which comes zeroed but for the RLT_NONEs set by rlt_step_clear. Pure; O(dims). */
    void (*step)(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);
    /* Which renumberings of the members leave the plan as it is, when all blocks are of one size:
     * translations along dimensions of sizes[0 .. return value) whose product is n, members being mixed radix
     * in them, innermost first (2, 2, ..., 2 is the group of exclusive-or). At most RLT_MAX_TRANSLATIONS; 0:
     * none. NULL: none is known. */
    uint32_t (*symmetry)(const rlt_plan *plan, uint32_t *sizes);
    /* Whom a step with a verb of the network reaches; NULL: all. */
    void (*reach)(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out);
    /* Frees what plan->data owns beside itself; NULL: nothing. */
    void (*release)(rlt_plan *plan);
};

/* Rows that several algorithms share; `usually` says what holds in this one where nothing is given. */
#define RLT_HAS_COUNT(field, text, most, usually)                                                            \
    {                                                                                                        \
#field, .kind = RLT_PARAM_COUNT, .help = text, .usual = usually, RLT_FIELD(rlt_coll_params, field),  \
                .min = 1, .max = most                                                                        \
    }
#define RLT_HAS_CHANNELS(usually) RLT_HAS_COUNT(channels, "independent shares of the data", 1024, usually)
#define RLT_HAS_CHUNKS(usually)   RLT_HAS_COUNT(chunks, "pieces of a share under way", 4096, usually)
#define RLT_HAS_WINDOW(usually)   RLT_HAS_COUNT(window, "messages that a rank keeps under way", 4096, usually)
#define RLT_HAS_DIRECTIONS(usually)                                                                          \
    {                                                                                                        \
        "directions", .kind = RLT_PARAM_COUNT, .arg = "1 or 2", .help = "ways round a ring",                 \
                      .usual = usually, RLT_FIELD(rlt_coll_params, directions), .min = 1, .max = 2           \
    }
#define RLT_HAS_SERVERS(usually)                                                                             \
    RLT_HAS_COUNT(servers, "members that also serve, of parameter servers", RLT_MAX_MEMBERS, usually)
#define RLT_HAS_PATTERNS(usually)                                                                            \
    {                                                                                                        \
        "patterns", .kind = RLT_PARAM_OTHER,                                                                 \
                    .arg = "ring, direct, halving_doubling, recursive_doubling, nvls, with commas",          \
                    .help = "inside each dimension, innermost first", .usual = usually,                      \
                    .read = rlt_read_patterns, .write = rlt_write_patterns                                   \
    }
#define RLT_HAS_SCHEDULE(usually)                                                                            \
    {                                                                                                        \
        "schedule", .kind = RLT_PARAM_CHOICE, .arg = "pipeline, baseline or themis",                         \
                    .help = "of chunks over the dimensions", .usual = usually,                               \
                    RLT_FIELD(rlt_coll_params, schedule), .word_at = rlt_chunk_schedule_name                 \
    }
#define RLT_HAS_ORDER(usually)                                                                               \
    {                                                                                                        \
        "order", .kind = RLT_PARAM_CHOICE, .arg = "fifo or scf",                                             \
                 .help = "in which a dimension serves the chunks that wait for it, with such a schedule",    \
                 .usual = usually, RLT_FIELD(rlt_coll_params, order), .word_at = rlt_chunk_order_name        \
    }
RLT_API int rlt_read_patterns(const rlt_param *p, void *into, const char *text, const char *where,
                              rlt_error *err);
RLT_API void rlt_write_patterns(const rlt_param *p, const void *from, char *text, size_t size);

/* All that algorithms share. */
RLT_API extern const rlt_param rlt_coll_parameters[];
/* The row of that name, of those or of an algorithm: NAME, or ALGORITHM.NAME. NULL: no algorithm has it. */
RLT_API const rlt_param *rlt_coll_parameter(const char *name);
/* One value by name; a name of several algorithms' own is set for all of them. */
RLT_API int rlt_coll_params_set(rlt_coll_params *params, const char *name, const char *value,
                                rlt_error *err) RLT_MUST_USE;
/* What is set that the algorithm does not have, by number, NULL past the end; its value into `text`. */
RLT_API const rlt_param *rlt_coll_params_idle(const rlt_coll_params *params, const rlt_algorithm *a,
                                              uint32_t i, char *text, size_t size);

/* The built-in algorithms, in the order of lists: a new one is a file and a line here. */
#define RLT_ALGORITHMS(X)                                                                                    \
    X(ring)                                                                                                  \
    X(hierarchical)                                                                                          \
    X(torus)                                                                                                 \
    X(direct)                                                                                                \
    X(point_to_point)                                                                                        \
    X(halving_doubling)                                                                                      \
    X(recursive_doubling)                                                                                    \
    X(bruck)                                                                                                 \
    X(two_level)                                                                                             \
    X(rail)                                                                                                  \
    X(tree)                                                                                                  \
    X(pairwise)                                                                                              \
    X(parameter_server)                                                                                      \
    X(nvls)                                                                                                  \
    X(tacos)                                                                                                 \
    X(rings)
#define RLT_X(name) RLT_API extern const rlt_algorithm rlt_##name;
RLT_ALGORITHMS(RLT_X)
#undef RLT_X

RLT_API rlt_registry *rlt_algorithms(void);
RLT_API const rlt_algorithm *rlt_algorithm_at(uint32_t i); /* NULL past the end */
RLT_API const rlt_algorithm *rlt_algorithm_find(const char *name, rlt_error *err);
/* The default for a request whose endpoint is not tuned: direct for gather, scatter and whatever has counts;
 * else hierarchical where the group has several dimensions; else direct for all-to-all and ring for the
 * rest. */
RLT_API const rlt_algorithm *rlt_algorithm_usual(const rlt_coll_request *req);

/* A plan whose messages carry no tuning, for the selector; all others call rlt_plan_create. Internal. */
int rlt__plan_untuned(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                      rlt_error *err) RLT_MUST_USE;
/* Whether the request makes sense for any algorithm. Internal. */
int rlt__plan_checks(const rlt_coll_request *req, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_plan_free(rlt_plan *plan);

static inline rlt_reach rlt_reach_of(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_reach r = {0, 1, plan->req.n};
    if (plan->algorithm->reach)
        plan->algorithm->reach(plan, member, lane, k, &r);
    return r;
}

static inline void rlt_step_clear(rlt_step *s)
{
    memset(s, 0, sizeof *s);
    s->send_to = s->recv_from = s->wait_lane = RLT_NONE;
}

/* Size of part i of `total` cut into `parts`, and where it begins: the first total % parts are one larger. */
static inline uint64_t rlt_part_size(uint64_t total, uint64_t parts, uint64_t i)
{
    return total / parts + (i < total % parts);
}
static inline uint64_t rlt_part_begin(uint64_t total, uint64_t parts, uint64_t i)
{
    uint64_t rest = total % parts;
    return i * (total / parts) + (i < rest ? i : rest);
}
/* With counts (rlt_shares_counted), block b is member b's share, cut over the lanes. */
static inline uint64_t rlt_counted_bytes(const rlt_plan *plan, uint32_t lane, uint32_t block)
{
    return rlt_part_size(plan->req.counts[block], plan->lanes, lane);
}
/* Bytes of the lane, and of a span in it. O(1) when the blocks are even or run is 1, else O(reps); with
 * counts O(n), O(blocks of the span). */
RLT_API uint64_t rlt_lane_bytes(const rlt_plan *plan, uint32_t lane);
RLT_API uint64_t rlt_blocks_bytes(const rlt_plan *plan, uint32_t lane, rlt_blocks span);

#ifdef __cplusplus
}
#endif
#endif
