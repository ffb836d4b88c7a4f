/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds from the bytes that must cross the members' own links, and cuts of the network. The
 * mathematics and its sources are in collectives/bound.h. */
#include "collectives/bound.h"

#include <stdlib.h>

#include "net/topology/cut.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"

/* Largest group whose pairs are all routed for the latency bound. */
enum { MAX_PAIRED_MEMBERS = 64 };

typedef unsigned __int128 wide;

/* Bytes that one member must send and receive under any algorithm. */
typedef struct share {
    wide out, in;
} share;

/* Time of `bytes` at bw_Bps * scale, rounded down. A scale other than 1 computes in double and lowers the
 * result by 1e-14, so that rounding cannot raise the bound. */
static rlt_time time_of(wide bytes, wide bw_Bps, double scale)
{
    const uint64_t ps_per_s = 1000000000000u;
    if (bw_Bps == 0)
        return bytes ? RLT_TIME_MAX : 0;
    if (scale == 1.0 && bytes < (wide)1 << 87)
        bytes = bytes * ps_per_s / bw_Bps;
    else {
        double t = (double)bytes * (double)ps_per_s / ((double)bw_Bps * scale) * (1.0 - 1e-14);
        return t < (double)RLT_TIME_MAX ? (rlt_time)t : RLT_TIME_MAX;
    }
    return bytes > (wide)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)bytes;
}

/* All-to-all with counts: row and column sums of the matrix without its diagonal. */
static share counted_share(const rlt_coll_request *req, uint32_t m)
{
    share s = {0, 0};
    for (uint32_t j = 0; j < req->n; j++) {
        if (j == m)
            continue;
        s.out += req->counts[(uint64_t)m * req->n + j];
        s.in += req->counts[(uint64_t)j * req->n + m];
    }
    return s;
}

/* Size of member m's share, for kinds in which each member has one. */
static uint64_t own_bytes(const rlt_coll_request *req, uint32_t m)
{
    if (req->counts && req->kind != RLT_ALL_TO_ALL)
        return req->counts[m];
    return rlt_part_size(req->bytes, req->n, m);
}

/*
 * Bytes that member m must send and receive. All-reduce: its contribution must leave and the contributions of
 * others must enter, summed or not: M each way. Reduce-scatter: all but its own share leaves; a sum of the
 * size of its share enters. All-gather: the reverse. Gather: all shares but the root's enter the root.
 * Scatter: the reverse.
 */
static share member_share(const rlt_coll_request *req, uint32_t m)
{
    uint64_t bytes = req->bytes, own = own_bytes(req, m);
    switch (req->kind) {
    case RLT_ALL_REDUCE:
        return (share){bytes, bytes};
    case RLT_REDUCE_SCATTER:
        return (share){bytes - own, own};
    case RLT_ALL_GATHER:
        return (share){own, bytes - own};
    case RLT_ALL_TO_ALL:
        if (req->counts)
            return counted_share(req, m);
        return (share){bytes - own, (wide)(req->n - 1) * own};
    case RLT_GATHER:
        return m == req->root ? (share){0, bytes - own} : (share){own, 0};
    case RLT_SCATTER:
        return m == req->root ? (share){bytes - own, 0} : (share){0, own};
    case RLT_BROADCAST:
        return m == req->root ? (share){bytes, 0} : (share){0, bytes};
    case RLT_REDUCE:
        return m == req->root ? (share){0, bytes} : (share){bytes, 0};
    case RLT_SEND_RECV:
        return m == 0 ? (share){bytes, 0} : m == 1 ? (share){0, bytes} : (share){0, 0};
    default:
        return (share){0, 0};
    }
}

/* Network capabilities that the plan uses. */
typedef struct verbs {
    bool reduces, multicasts;
    bool inside; /* within nodes only */
} verbs;

/* Bytes that must leave and enter `parts` disjoint sets of members, summed over the sets. The sets are single
 * members or groups; each has data that all other sets need. */
static share all_parts(const rlt_coll_request *req, uint64_t parts, verbs v)
{
    wide others = (wide)(parts - 1) * req->bytes, once = req->bytes;
    switch (req->kind) {
    case RLT_ALL_REDUCE:
        if (v.reduces || v.multicasts) /* each set sends its contribution once and receives the sum once */
            return (share){parts * once, parts * once};
        return (share){2 * others, 2 * others};
    case RLT_ALL_GATHER:
    case RLT_BROADCAST:
        return (share){v.multicasts ? once : others, others};
    case RLT_REDUCE_SCATTER:
    case RLT_REDUCE:
        return (share){others, v.reduces ? once : others};
    case RLT_ALL_TO_ALL:
        once = (wide)(req->n - req->n / parts) * (req->bytes / req->n) * req->n;
        return (share){once, once};
    default:
        return (share){0, 0};
    }
}

/* Bytes that must leave and enter the members, summed over the members, if these are more than the sum of
 * their shares: a sum of shares takes no longer than the slowest of them. */
static share total_bytes(const rlt_coll_request *req, verbs v)
{
    return req->kind == RLT_ALL_TO_ALL ? (share){0, 0} : all_parts(req, req->n, v);
}

static rlt_time later(rlt_time a, rlt_time b)
{
    return a > b ? a : b;
}

/* Traffic bound if all accelerators have one bandwidth. Members then differ only by their shares: the first
 * has the largest, the last one the smallest, and a root moves more than the others. */
static rlt_time traffic_alike(const rlt_coll_request *req, uint64_t bw_Bps, verbs v, double scale)
{
    const uint32_t members[] = {0, req->n - 1, req->root};
    share total = total_bytes(req, v);
    wide all = (wide)bw_Bps * req->n;
    rlt_time longest = time_of(total.out > total.in ? total.out : total.in, all, scale);
    for (uint32_t i = 0; i < sizeof members / sizeof *members; i++) {
        share s = member_share(req, members[i]);
        longest = later(longest, time_of(s.out > s.in ? s.out : s.in, bw_Bps, scale));
    }
    return longest;
}

static int traffic(const rlt_coll_request *req, const rlt_topology *t, const rlt_placement *place, verbs v,
                   double scale, rlt_time *out, rlt_error *err)
{
    wide egress = 0, ingress = 0;
    rlt_time longest = 0;
    uint64_t bw_Bps;
    if (!req->ranks && !req->counts && req->n <= place->n && rlt_topology_uniform_Bps(t, &bw_Bps)) {
        *out = traffic_alike(req, bw_Bps, v, scale);
        return 0;
    }
    for (uint32_t m = 0; m < req->n; m++) {
        uint32_t rank = rlt_member_rank(req, m);
        if (rank >= place->n)
            return rlt_fail(err, RLT_ERANGE, rlt_coll_name(req->kind),
                            "rank %u does not exist; the placement has %u ranks", rank, place->n);
        uint32_t a = rlt_placed(place, rank);
        uint64_t member_out = rlt_topology_egress_Bps(t, a), member_in = rlt_topology_ingress_Bps(t, a);
        share s = member_share(req, m);
        longest = later(longest, time_of(s.out, member_out, scale));
        longest = later(longest, time_of(s.in, member_in, scale));
        egress += member_out;
        ingress += member_in;
    }
    share total = total_bytes(req, v);
    longest = later(longest, time_of(total.out, egress, scale));
    *out = later(longest, time_of(total.in, ingress, scale));
    return 0;
}

/*
 * Cut bounds of a whole product, in O(2^dimensions). For each set of chosen dimensions, members with equal
 * coordinates in these dimensions form one group. Traffic between the groups uses only the links of the
 * chosen dimensions. Verbs that reach one node only do not help between nodes.
 */
static rlt_time across_dimensions(const rlt_coll_request *req, const rlt_topology *t, verbs v, double scale)
{
    rlt_time longest = 0;
    uint32_t n_dims = rlt_topology_dims(t);
    if (!rlt_topology_is_product(t) || req->n != rlt_topology_accelerators(t) || req->counts)
        return 0;
    for (uint32_t chosen = 1; chosen < 1u << n_dims; chosen++) {
        uint64_t parts = 1, each = 0, below = 1;
        bool known = true, between = true;
        for (uint32_t d = 0; d < n_dims; d++) {
            rlt_dim dim = rlt_topology_dim(t, d);
            bool in_node = below < rlt_topology_node_size(t);
            below *= dim.size;
            if (!(chosen >> d & 1))
                continue;
            between = between && !in_node;
            parts *= dim.size;
            each += dim.bw_Bps;
            known = known && (dim.bw_Bps || dim.size == 1);
        }
        if (!known || parts < 2)
            continue;
        share s = all_parts(req, parts, v.inside && between ? (verbs){0} : v);
        longest = later(longest, time_of(s.out > s.in ? s.out : s.in, (wide)each * req->n, scale));
    }
    return longest;
}

/* Bound of the tightest cut if each member inside it sends `each` bytes across. */
static int over_cut(const rlt_topology *t, rlt_cut_question q, wide each, double scale, rlt_time *longest,
                    rlt_error *err)
{
    rlt_cut c;
    int rc = rlt_cut_find(t, &q, &c, err);
    if (rc == 0 && c.inside)
        *longest = later(*longest, time_of(each * c.inside, c.bw_Bps, scale));
    return rc;
}

/* Bound of a cut if each member inside it sends `piece` bytes to each member outside it. */
static int to_others(const rlt_topology *t, rlt_cut_question q, wide piece, double scale, rlt_time *longest,
                     rlt_error *err)
{
    rlt_cut c;
    int rc = rlt_cut_find(t, &q, &c, err);
    if (rc == 0 && c.inside)
        *longest = later(*longest, time_of(piece * c.inside * (q.n - c.inside), c.bw_Bps, scale));
    return rc;
}

/* Fills `order` with the members in the lower half of a coordinate, then with the others. Returns the number
 * of the former. */
static uint32_t split_by(const rlt_cut_question *q, uint32_t stride, uint32_t size, uint32_t *order)
{
    uint32_t at = 0, below = 0;
    for (int upper = 0; upper < 2; upper++) {
        for (uint32_t i = 0; i < q->n; i++)
            if ((q->accelerators[i] / stride % size >= size / 2) == upper)
                order[at++] = q->accelerators[i];
        below = upper ? below : at;
    }
    return below;
}

/* All-to-all between halves of the members: by member number, and by coordinate in each dimension of a
 * product. `order` has room for all members. */
static int between_halves(const rlt_topology *t, rlt_cut_question q, wide piece, uint32_t *order,
                          double scale, rlt_time *longest, rlt_error *err)
{
    uint32_t stride = 1, dims = rlt_topology_is_product(t) ? rlt_topology_dims(t) : 0;
    rlt_cut_question h = q;
    h.split = q.n / 2;
    int rc = to_others(t, h, piece, scale, longest, err);
    h.accelerators = order;
    for (uint32_t d = 0; d < dims; d++) {
        uint32_t sizes[RLT_MAX_DIMS], subs = rlt_topology_sub_sizes(t, d, sizes);
        for (uint32_t s = 0; s < subs && rc == 0; s++) {
            h.split = split_by(&q, stride, sizes[s], order);
            stride *= sizes[s];
            if (h.split && h.split < q.n)
                rc = to_others(t, h, piece, scale, longest, err);
        }
    }
    return rc;
}

static int over_cuts(const rlt_coll_request *req, const rlt_topology *t, rlt_cut_question q, uint32_t *room,
                     double scale, rlt_time *longest, rlt_error *err)
{
    wide own = req->bytes / req->n;
    rlt_cut_question in = q;
    int rc;
    switch (req->kind) {
    case RLT_ALL_REDUCE: /* one buffer crosses each way, whatever is summed on either side */
        q.source = 0;
        in = q;
        in.inwards = true;
        rc = over_cut(t, q, req->bytes, scale, longest, err);
        return rc ? rc : over_cut(t, in, req->bytes, scale, longest, err);
    case RLT_SEND_RECV:
        q.source = 0;
        q.sink = 1;
        return over_cut(t, q, req->bytes, scale, longest, err);
    case RLT_BROADCAST:
    case RLT_REDUCE:
        q.source = req->root;
        q.inwards = req->kind == RLT_REDUCE;
        return over_cut(t, q, req->bytes, scale, longest, err);
    case RLT_GATHER:
    case RLT_SCATTER:
        q.sink = req->root;
        q.inwards = req->kind == RLT_SCATTER;
        return over_cut(t, q, own, scale, longest, err);
    case RLT_ALL_GATHER:
    case RLT_REDUCE_SCATTER:
        q.inwards = req->kind == RLT_REDUCE_SCATTER;
        return over_cut(t, q, own, scale, longest, err);
    case RLT_ALL_TO_ALL:
        in.inwards = true;
        rc = to_others(t, q, own, scale, longest, err);
        if (rc == 0)
            rc = to_others(t, in, own, scale, longest, err);
        return rc ? rc : between_halves(t, q, own, room, scale, longest, err);
    default:
        return 0;
    }
}

static int cuts(const rlt_coll_request *req, const rlt_topology *t, const rlt_placement *place, double scale,
                rlt_time *longest, rlt_error *err)
{
    uint32_t links = rlt_topology_links(t);
    if (req->counts || links > RLT_CUT_LINKS || (uint64_t)req->n * links > RLT_CUT_WORK)
        return 0;
    uint32_t *accelerators = malloc(2 * (size_t)req->n * sizeof *accelerators);
    if (!accelerators)
        return rlt_nomem(err);
    for (uint32_t m = 0; m < req->n; m++)
        accelerators[m] = rlt_placed(place, rlt_member_rank(req, m));
    rlt_cut_question q = {.accelerators = accelerators, .n = req->n, .source = RLT_NONE, .sink = RLT_NONE};
    int rc = over_cuts(req, t, q, accelerators + req->n, scale, longest, err);
    free(accelerators);
    return rc;
}

static rlt_time smaller(rlt_time a, rlt_time b)
{
    return a < b ? a : b;
}

/* Smallest latency of any link, which no path can undercut. */
static rlt_time fastest_link(const rlt_topology *t)
{
    rlt_time least = RLT_TIME_MAX;
    bool all_known = true;
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        rlt_dim dim = rlt_topology_dim(t, d);
        all_known = all_known && dim.latency_ps > 0;
        least = smaller(least, dim.latency_ps);
    }
    if (all_known)
        return least;
    least = RLT_TIME_MAX;
    for (uint32_t i = 0; i < rlt_topology_links(t); i++)
        least = smaller(least, rlt_topology_link(t, i).latency_ps);
    return least;
}

static int latency(const rlt_coll_request *req, rlt_router *router, rlt_time *out, rlt_error *err)
{
    rlt_time least = RLT_TIME_MAX;
    if (req->n > MAX_PAIRED_MEMBERS)
        least = fastest_link(rlt_router_topology(router));
    for (uint32_t i = 0; req->n <= MAX_PAIRED_MEMBERS && i < req->n; i++) {
        for (uint32_t j = 0; j < req->n; j++) {
            uint32_t from = rlt_member_rank(req, i), to = rlt_member_rank(req, j);
            if (i == j || (req->kind == RLT_SEND_RECV && (i != 0 || j != 1)))
                continue;
            rlt_path path;
            int rc = rlt_route(router, from, to, 0, &path);
            if (rc)
                return rlt_fail(err, rc, rlt_coll_name(req->kind), "no path from rank %u to rank %u", from,
                                to);
            least = smaller(least, path.latency_ps);
        }
    }
    *out = least == RLT_TIME_MAX ? 0 : least;
    return 0;
}

static int bound(const rlt_coll_request *req, rlt_router *router, verbs v, double bandwidth_scale,
                 double latency_scale, rlt_bound *out, rlt_error *err)
{
    *out = (rlt_bound){0};
    if (!(bandwidth_scale > 0.0) || !(latency_scale >= 0.0))
        return rlt_fail(err, RLT_ERANGE, "bound",
                        "expected a bandwidth scale above 0 and a latency scale of at least 0, got %g and %g",
                        bandwidth_scale, latency_scale);
    if (req->n < 2)
        return 0;
    const rlt_topology *t = rlt_router_topology(router);
    const rlt_placement *place = rlt_router_placement(router);
    int rc = traffic(req, t, place, v, bandwidth_scale, &out->traffic_ps, err);
    if (rc)
        return rc;
    out->cut_ps = across_dimensions(req, t, v, bandwidth_scale);
    rlt_time least = 0;
    if ((rc = cuts(req, t, place, bandwidth_scale, &out->cut_ps, err)) ||
        (rc = latency(req, router, &least, err)))
        return rc;
    double scaled = (double)least * latency_scale;
    out->latency_ps = latency_scale == 1.0            ? least
                      : scaled < (double)RLT_TIME_MAX ? (rlt_time)scaled
                                                      : RLT_TIME_MAX;
    out->time_ps = later(later(out->traffic_ps, out->cut_ps), out->latency_ps);
    return 0;
}

int rlt_coll_bound(const rlt_coll_request *req, rlt_router *router, double bandwidth_scale,
                   double latency_scale, rlt_bound *out, rlt_error *err)
{
    return bound(req, router, (verbs){0}, bandwidth_scale, latency_scale, out, err);
}

int rlt_plan_bound(const rlt_plan *plan, rlt_router *router, double bandwidth_scale, double latency_scale,
                   rlt_bound *out, rlt_error *err)
{
    verbs v = {.reduces = plan->reduces, .multicasts = plan->multicasts, .inside = plan->inside};
    return bound(&plan->req, router, v, bandwidth_scale, latency_scale, out, err);
}
