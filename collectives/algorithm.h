/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collective algorithms as step generators. A plan is never materialised: step() computes any step when
 * asked. The executor, the symbolic checker, the exporters and the bound use the same generator.
 *
 * A plan has lanes (channel x chunk slot). Every member runs the steps 0, 1, 2, ... of each lane in order. A
 * step may send one message, wait for messages, and wait for a step of another lane of the same member.
 *
 * Blocks. The collective's bytes are cut into `blocks` blocks, and the bytes of each block over the lanes.
 * Parts of one cut differ by at most one byte; the larger ones come first. A span names blocks of a lane:
 * `reps` runs of `run` blocks, the runs `stride` blocks apart. Indices count modulo `blocks`, so a run may
 * wrap round, and a stride of blocks - 1 goes backwards. Example with 8 blocks: {first 6, run 2, stride 3,
 * reps 2} is 6, 7, 1, 2.
 *
 * Buffers. Every member has buffers 0 .. plan->buffers-1, each with the lane's blocks. Buffer 0 at the start,
 * and buffer plan->result at the end, hold:
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
 * If the request has counts (all-gather, reduce-scatter, gather, scatter), then blocks = n, and block i has
 * counts[i] bytes, cut over the lanes.
 *
 * In a plan with `shared` set, lanes are threads over one set of blocks. The blocks are cut from the whole
 * collective, every lane sees all of them, and lanes order their writes by waiting for each other.
 *
 * A new algorithm is one file with one const struct, entered in the list below.
 */
#ifndef RLT_COLLECTIVES_ALGORITHM_H
#define RLT_COLLECTIVES_ALGORITHM_H

#include <string.h>

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_LANES = 4096, RLT_MAX_TRANSLATIONS = 32 };

typedef struct rlt_blocks {
    uint32_t first, run, stride, reps; /* reps == 0: empty span */
} rlt_blocks;

/*
 * How the network carries the message of a step.
 *   SEND       Point to point.
 *   REDUCE     The network fetches `send` (from send_buffer) from all members at once and adds it up on the
 *              way. The sum lands at send_to, which may be the sending member itself. The sources must not
 *              change before it has landed.
 *   MULTICAST  `send` lands at every member, the sender included. Each member waits for it in its step
 *              peer_step. send_to = n.
 *   REDUCE_ALL A REDUCE whose sum lands at every member, as a MULTICAST does. send_to = n.
 * These verbs need switches that support them (see rlt_net_model). If the algorithm has `reach`, "all
 * members" are the members that `reach` names, the sender among them, and peer_step of MULTICAST and
 * REDUCE_ALL is the number of the sending step itself.
 */
typedef enum rlt_verb { RLT_VERB_SEND, RLT_VERB_REDUCE, RLT_VERB_MULTICAST, RLT_VERB_REDUCE_ALL } rlt_verb;

/* Whether a step's data lands at all members that it reaches. */
#define RLT_LANDS_AT_ALL(verb) ((verb) >= RLT_VERB_MULTICAST)

/* Members first + i * stride, 0 <= i < n. */
typedef struct rlt_reach {
    uint32_t first, stride, n;
} rlt_reach;

/* One step of one member in one lane. */
typedef struct rlt_step {
    uint32_t send_to;    /* member, or RLT_NONE */
    uint32_t peer_step;  /* step of send_to that waits for this message, in the lane given by peer_shift */
    uint32_t peer_shift; /* lane of the receiver: (own lane + peer_shift) mod plan->lanes; 0: the same lane */
    uint64_t send_bytes;
    uint32_t recv_from;  /* member; RLT_NONE: none, or several (see recv_count) */
    uint32_t recv_count; /* messages addressed to this step; the step ends when all have arrived */
    /* The step starts after step wait_step of lane wait_lane of this member has finished; lane RLT_NONE: no
     * wait. */
    uint32_t wait_lane, wait_step;
    uint8_t nowait; /* the lane does not wait for the injection of this send (the end of the lane does) */
    uint8_t reduce; /* the message is added at its destination; 0: it replaces what is there */
    uint8_t copy;   /* local move of `send` to `land` within this member (with `reduce`: added); no message */
    uint8_t send_buffer, land_buffer;
    uint8_t verb;    /* rlt_verb: how the network carries the message */
    uint16_t turn;   /* index among the parallel links to send_to, taken modulo their number */
    rlt_blocks send; /* blocks sent */
    rlt_blocks land; /* where they land: at send_to, or at this member for a copy */
} rlt_step;

typedef struct rlt_algorithm rlt_algorithm;

typedef struct rlt_plan {
    const rlt_algorithm *algorithm;
    rlt_coll_request req; /* its arrays are borrowed and must outlive the plan */
    uint32_t lanes;
    uint32_t blocks; /* blocks in a lane */
    uint8_t buffers, result;
    bool shared;              /* lanes share one set of blocks, see above */
    bool untracked;           /* messages are known, but not their contents: see collectives/listed.h */
    bool reduces, multicasts; /* whether any step uses the verb; bounds and checks depend on it */
    bool inside;              /* verbs reach the members of one node only */
    uint32_t chunks, channels, directions, window; /* values in force */
    rlt_param_value own[RLT_MAX_OWN];              /* values of the algorithm's own parameters */
    uint32_t words[8];                             /* scratch numbers of the algorithm */
    rlt_tuning tuning;                             /* costs of its messages, see collectives/selector.h */
    uint64_t tried; /* edges and chunks that a synthesis tried; other algorithms: 0 */
    void *data;     /* private data of the algorithm; rlt_plan_free calls release() and then free() on it */
} rlt_plan;

struct rlt_algorithm {
    const char *name, *summary;
    /* Parameters. Each row comes from one of the macros below, or has a name of its own and RLT_SLOT(i), i <
     * RLT_MAX_OWN. In the latter case plan->own[i] holds its value, or else its preset. NULL: no parameters.
     * */
    const rlt_param *parameters;
    uint32_t kinds;       /* supported kinds, a bit 1 << rlt_coll_kind each */
    uint32_t counted;     /* subset of `kinds` that is also supported with counts */
    rlt_serves served_by; /* endpoint protocols that can carry its messages */
    rlt_hop hop;          /* kind of its steps between nodes */
    /* Fills the plan: lanes, blocks, buffers. Fails with a reason if the algorithm cannot serve the
     * request. */
    int (*plan)(rlt_plan *plan, rlt_error *err);
    /* Returns the number of steps of a member in a lane. O(1). */
    uint32_t (*steps)(const rlt_plan *plan, uint32_t member, uint32_t lane);
    /* Fills *out, which the caller has cleared with rlt_step_clear. A pure function; O(dimensions). */
    void (*step)(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);
    /* Fills sizes[] with the sizes of the dimensions of a translation group, whose product is n, and returns
     * their number. The group maps the plan to itself when all blocks have one size. Members are mixed radix
     * in these sizes, innermost first; a translation adds a constant to each digit. Example: {2, 2, 2} is the
     * group of exclusive-or on 8 members. At most RLT_MAX_TRANSLATIONS; 0: no such group. NULL: none is
     * known. */
    uint32_t (*symmetry)(const rlt_plan *plan, uint32_t *sizes);
    /* Whether all members do the same but for their peers, when all blocks have one size: step k of a lane
     * sends as many bytes to as late a step, waits alike, and goes on to another peer, for each of them.
     * NULL: those with a group of symmetries are. */
    bool (*alike)(const rlt_plan *plan);
    /* Whether the steps of a lane send to one next member, each wait for one message from the previous
     * member, and send what the step before brought: a relay (collectives/relay.h). NULL: they do not. */
    bool (*relays)(const rlt_plan *plan);
    /* Whether the members of all nodes can be turned round at once, when all blocks have one size: member
     * k g + i then does what k g + i + 1 did, modulo g. */
    bool turns;
    /* Fills *out with the members that a REDUCE or MULTICAST step reaches. NULL: all members. */
    void (*reach)(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out);
    /* Frees what plan->data owns, but not plan->data itself. NULL: nothing to free. */
    void (*release)(rlt_plan *plan);
};

/* Rows that several algorithms share. `usually` describes the value when none is given. */
#define RLT_HAS_COUNT(field, text, most, usually)                                                            \
    {                                                                                                        \
#field, .kind = RLT_PARAM_COUNT, .help = text, .usual = usually, RLT_FIELD(rlt_coll_params, field),  \
                .min = 1, .max = most                                                                        \
    }
#define RLT_HAS_CHANNELS(usually) RLT_HAS_COUNT(channels, "independent shares of the data", 1024, usually)
#define RLT_HAS_CHUNKS(usually)   RLT_HAS_COUNT(chunks, "pieces of a share, pipelined", 4096, usually)
#define RLT_HAS_WINDOW(usually)   RLT_HAS_COUNT(window, "messages of a rank in flight", 4096, usually)
#define RLT_HAS_DIRECTIONS(usually)                                                                          \
    {                                                                                                        \
        "directions", .kind = RLT_PARAM_COUNT, .arg = "1 or 2", .help = "directions round a ring",           \
                      .usual = usually, RLT_FIELD(rlt_coll_params, directions), .min = 1, .max = 2           \
    }
#define RLT_HAS_SERVERS(usually)                                                                             \
    RLT_HAS_COUNT(servers, "parameter servers: the last members also serve", RLT_MAX_MEMBERS, usually)
#define RLT_HAS_PATTERNS(usually)                                                                            \
    {                                                                                                        \
        "patterns", .kind = RLT_PARAM_OTHER,                                                                 \
                    .arg = "ring, direct, halving_doubling, recursive_doubling, nvls, with commas",          \
                    .help = "pattern inside each dimension, innermost first", .usual = usually,              \
                    .read = rlt_read_patterns, .write = rlt_write_patterns                                   \
    }
#define RLT_HAS_SCHEDULE(usually)                                                                            \
    {                                                                                                        \
        "schedule", .kind = RLT_PARAM_CHOICE, .arg = "pipeline, baseline or themis",                         \
                    .help = "order in which chunks visit the dimensions", .usual = usually,                  \
                    RLT_FIELD(rlt_coll_params, schedule), .word_at = rlt_chunk_schedule_name                 \
    }
#define RLT_HAS_ORDER(usually)                                                                               \
    {                                                                                                        \
        "order", .kind = RLT_PARAM_CHOICE, .arg = "fifo or scf",                                             \
                 .help = "order in which a dimension serves its waiting chunks, under a schedule",           \
                 .usual = usually, RLT_FIELD(rlt_coll_params, order), .word_at = rlt_chunk_order_name        \
    }
RLT_API int rlt_read_patterns(const rlt_param *p, void *into, const char *text, const char *where,
                              rlt_error *err);
RLT_API void rlt_write_patterns(const rlt_param *p, const void *from, char *text, size_t size);

/* Table of all parameters that algorithms share. */
RLT_API extern const rlt_param rlt_coll_parameters[];
/* Returns the row of a shared parameter (NAME) or of an algorithm's own (NAME or ALGORITHM.NAME). NULL:
 * unknown. */
RLT_API const rlt_param *rlt_coll_parameter(const char *name);
/* Sets one value by name. A name that several algorithms have as their own is set for all of them. */
RLT_API int rlt_coll_params_set(rlt_coll_params *params, const char *name, const char *value,
                                rlt_error *err) RLT_MUST_USE;
/* Returns the i-th parameter that is set but that the algorithm does not have, and writes its value to
 * `text`. NULL past the end. */
RLT_API const rlt_param *rlt_coll_params_idle(const rlt_coll_params *params, const rlt_algorithm *a,
                                              uint32_t i, char *text, size_t size);

/* The built-in algorithms, in the order of lists. A new algorithm is one file and one line here. */
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
    X(pat)                                                                                                   \
    X(nvls)                                                                                                  \
    X(nvls_tree)                                                                                             \
    X(collnet)                                                                                               \
    X(tacos)                                                                                                 \
    X(rings)
#define RLT_X(name) RLT_API extern const rlt_algorithm rlt_##name;
RLT_ALGORITHMS(RLT_X)
#undef RLT_X

RLT_API rlt_registry *rlt_algorithms(void);
RLT_API const rlt_algorithm *rlt_algorithm_at(uint32_t i); /* NULL past the end */
RLT_API const rlt_algorithm *rlt_algorithm_find(const char *name, rlt_error *err);
/* Returns the default algorithm for a request whose endpoint has no tuner. All-to-all, gather, scatter and
 * requests with counts: direct (NCCL's are grouped sends and receives). Other requests: hierarchical in a
 * group with several dimensions, else ring. */
RLT_API const rlt_algorithm *rlt_algorithm_usual(const rlt_coll_request *req);

/* Creates a plan whose messages carry no tuning. Internal to the selector; all other code calls
 * rlt_plan_create. */
int rlt__plan_untuned(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                      rlt_error *err) RLT_MUST_USE;
/* Checks a request independently of any algorithm. Internal. */
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

/* Size and first index of part i when `total` is cut into `parts`: the first total % parts parts are larger
 * by one. Example: 10 cut into 4 gives 3, 3, 2, 2. */
static inline uint64_t rlt_part_size(uint64_t total, uint64_t parts, uint64_t i)
{
    return total / parts + (i < total % parts);
}
static inline uint64_t rlt_part_begin(uint64_t total, uint64_t parts, uint64_t i)
{
    uint64_t rest = total % parts;
    return i * (total / parts) + (i < rest ? i : rest);
}
/* Bytes of member `block`'s share in a lane, for a request with counts (rlt_shares_counted). */
static inline uint64_t rlt_counted_bytes(const rlt_plan *plan, uint32_t lane, uint32_t block)
{
    return rlt_part_size(plan->req.counts[block], plan->lanes, lane);
}
/* Bytes of a lane, and of a span in it. rlt_lane_bytes: O(1), with counts O(n). rlt_blocks_bytes: O(1) if the
 * blocks are even or run is 1, else O(reps); with counts O(blocks of the span). */
RLT_API uint64_t rlt_lane_bytes(const rlt_plan *plan, uint32_t lane);
RLT_API uint64_t rlt_blocks_bytes(const rlt_plan *plan, uint32_t lane, rlt_blocks span);

#ifdef __cplusplus
}
#endif
#endif
