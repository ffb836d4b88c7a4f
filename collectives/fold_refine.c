/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Colour refinement: the coarsest equitable partition of members and links.
 *
 * Let c_0 be the colour of each member from its own steps, and of each link from its bandwidth, latency and
 * dimension. In round t + 1 the colour of x is the pair of c_t(x) and the multiset of its surroundings. The
 * surroundings of a member are its messages out and in. Each is described by its place in the plan, its size,
 * the colours of both ends, and those of the links on its path. The surroundings of a link are the messages
 * over it. The rounds end when the number of colours stays the same. A multiset is compared by the sum of
 * 64-bit hashes of its elements.
 *
 * Example: a chain 0 -> 1 -> 2 -> 3 -> 4 of equal messages. At first the end members differ from the inner
 * ones, whose steps are alike. The first round separates 1 and 3 from 2, because their neighbours differ.
 * Then all five members differ.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/fold.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* Messages of consecutive steps with the same destination and route. */
typedef struct record {
    uint64_t key; /* hash of places in the plan, sizes, latency */
    uint32_t src, dst;
    uint32_t path, n; /* links[path .. path + n) */
} record;

/* Steps of a member in a lane that make a record: the first of them, and a hash of all but their peers. */
typedef struct run {
    uint64_t key;
    uint32_t lane, step;
} run;

enum { MAX_RECORDS = 1 << 22, MAX_THINGS = 1 << 23 };

typedef struct refinement {
    const rlt_plan *plan;
    rlt_router *router;
    const rlt_topology *topology;
    record *records;
    uint32_t n_records, record_room;
    uint32_t *links;
    uint32_t n_links_on_paths, links_room;
    run *runs; /* of one member */
    uint32_t n_runs, run_room;
    uint32_t members, n_links;
    uint64_t *hash;   /* members, then links */
    uint32_t *colour; /* members, then links */
    uint32_t n_colours;
} refinement;

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) + 0x7f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static int new_record(refinement *f, uint32_t member, const run *r, rlt_error *err)
{
    const rlt_plan *plan = f->plan;
    rlt_path path;
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, r->lane, r->step, &s);
    int rc = rlt_route(f->router, rlt_member_rank(&plan->req, member), rlt_member_rank(&plan->req, s.send_to),
                       rlt_route_key(r->lane, s.turn), &path);
    if (rc)
        return rlt_fail(err, rc, plan->algorithm->name, "no route from member %u to %u", member, s.send_to);
    if (f->n_records == MAX_RECORDS)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "too many messages to compare");
    if ((rc = rlt_grow(&f->records, &f->record_room, sizeof *f->records, (uint64_t)f->n_records + 1,
                       MAX_RECORDS, "messages", err)) ||
        (rc = rlt_grow(&f->links, &f->links_room, sizeof *f->links, (uint64_t)f->n_links_on_paths + path.n,
                       UINT32_MAX, "links on paths", err)))
        return rc;
    f->records[f->n_records++] = (record){.key = mix(r->key, (uint64_t)path.latency_ps),
                                          .src = member,
                                          .dst = s.send_to,
                                          .path = f->n_links_on_paths,
                                          .n = path.n};
    if (path.n)
        memcpy(f->links + f->n_links_on_paths, path.links, path.n * sizeof *path.links);
    f->n_links_on_paths += path.n;
    return 0;
}

/* Lists the runs of a member in a lane, and hashes its steps without their peers into *own. */
static int note_lane(refinement *f, uint32_t member, uint32_t lane, uint64_t *own, rlt_error *err)
{
    const rlt_plan *plan = f->plan;
    uint32_t steps = plan->algorithm->steps(plan, member, lane), to = RLT_NONE, turn = 0;
    for (uint32_t k = 0; k < steps; k++) {
        rlt_step s;
        rlt_step_clear(&s);
        plan->algorithm->step(plan, member, lane, k, &s);
        uint64_t h = mix((uint64_t)lane << 32 | k, (uint64_t)s.recv_count << 1 | s.nowait);
        *own += mix(h, (uint64_t)s.wait_lane << 32 | s.wait_step);
        if (s.send_to == RLT_NONE)
            continue;
        if (s.send_to != to || s.turn != turn) {
            int rc = rlt_grow(&f->runs, &f->run_room, sizeof *f->runs, (uint64_t)f->n_runs + 1, MAX_RECORDS,
                              "messages of a member", err);
            if (rc)
                return rc;
            f->runs[f->n_runs++] = (run){.key = lane, .lane = lane, .step = k};
        }
        to = s.send_to;
        turn = s.turn;
        uint64_t *key = &f->runs[f->n_runs - 1].key;
        *key = mix(*key, mix((uint64_t)k << 32 | s.peer_step, s.send_bytes << 12 ^ s.peer_shift));
    }
    *own += mix(lane, steps);
    return 0;
}

static int note_steps(refinement *f, uint32_t member, rlt_error *err)
{
    int rc = 0;
    f->n_runs = 0;
    f->hash[member] = 0;
    for (uint32_t lane = 0; lane < f->plan->lanes && !rc; lane++)
        rc = note_lane(f, member, lane, &f->hash[member], err);
    return rc;
}

/* Gives equal hashes one colour; colours are numbered by their lowest index. Members and links never share
 * one. */
static int colour(refinement *f, rlt_error *err)
{
    rlt_map seen = {0};
    uint32_t total = f->members + f->n_links;
    f->n_colours = 0;
    for (uint32_t i = 0; i < total; i++) {
        uint64_t hash = mix(f->hash[i], i < f->members);
        uint32_t c = rlt_map_get(&seen, hash);
        if (c == RLT_NONE) {
            c = f->n_colours++;
            if (rlt_map_put(&seen, hash, c)) {
                rlt_map_free(&seen);
                return rlt_nomem(err);
            }
        }
        f->colour[i] = c;
    }
    rlt_map_free(&seen);
    return 0;
}

/* One round: every member and link mixes its own colour with its surroundings. */
static void look_around(refinement *f)
{
    const uint32_t *of_member = f->colour, *of_link = f->colour + f->members;
    for (uint32_t i = 0; i < f->members + f->n_links; i++)
        f->hash[i] = mix(f->colour[i], 1);
    for (uint32_t i = 0; i < f->n_records; i++) {
        const record *r = &f->records[i];
        const uint32_t *links = f->links + r->path;
        uint64_t way = r->key;
        for (uint32_t k = 0; k < r->n; k++)
            way = mix(way, of_link[links[k]]);
        uint64_t ends = (uint64_t)of_member[r->src] << 32 | of_member[r->dst];
        uint64_t all = mix(way, ends);
        f->hash[r->src] += mix(all, 2);
        f->hash[r->dst] += mix(all, 3);
        for (uint32_t k = 0; k < r->n; k++)
            f->hash[f->members + links[k]] += mix(all, 4 + k);
    }
}

static int refine(refinement *f, rlt_error *err)
{
    int rc = colour(f, err);
    while (!rc) {
        uint32_t before = f->n_colours;
        look_around(f);
        if ((rc = colour(f, err)) || f->n_colours == before)
            break;
    }
    return rc;
}

/* Numbers the classes of `count` things from 0 in order of appearance; lists their sizes and lowest
 * elements. */
static int number(const uint32_t *colour_of, uint32_t count, uint32_t n_colours, uint32_t **of,
                  uint32_t **size, uint32_t **rep, uint32_t *n, rlt_error *err)
{
    uint32_t *id = malloc(((size_t)n_colours + 1) * sizeof *id);
    *of = malloc(((size_t)count + 1) * sizeof **of);
    *size = calloc((size_t)count + 1, sizeof **size);
    *rep = malloc(((size_t)count + 1) * sizeof **rep);
    if (!id || !*of || !*size || !*rep) {
        free(id);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < n_colours; i++)
        id[i] = RLT_NONE;
    *n = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *c = &id[colour_of[i]];
        if (*c == RLT_NONE) {
            (*rep)[*n] = i;
            *c = (*n)++;
        }
        (*of)[i] = *c;
        (*size)[*c]++;
    }
    free(id);
    return 0;
}

/* Verifies the partition: the size of each sending class is a multiple of the receiving class's size, so that
 * a receiver gets a whole number of messages. Also fails if blocked senders would queue at a receive port. */
static int check_whole(const refinement *f, const rlt_fold *out, const rlt_fold_options *how, rlt_error *err)
{
    for (uint32_t i = 0; i < f->n_records; i++) {
        const record *r = &f->records[i];
        uint32_t from = out->size[out->of_member[r->src]], to = out->size[out->of_member[r->dst]];
        if (from % to)
            return rlt_fail(err, RLT_EUNSUPPORTED, f->plan->algorithm->name,
                            "the size of a sending class is not a multiple of its receiving class");
        if (from > to && how->blocking && how->serialises)
            return rlt_fail(err, RLT_EUNSUPPORTED, f->plan->algorithm->name,
                            "blocked senders wait their turn at a receiver's port");
    }
    return 0;
}

/* Records the messages of all members. Where members are alike, one of them tells the steps of all. */
static int collect(refinement *f, bool alike, rlt_error *err)
{
    int rc = 0;
    for (uint32_t m = 0; m < f->members && !rc; m++) {
        if (!alike || m == 0)
            rc = note_steps(f, m, err);
        f->hash[m] = alike ? 0 : f->hash[m];
        for (uint32_t i = 0; i < f->n_runs && !rc; i++)
            rc = new_record(f, m, &f->runs[i], err);
    }
    for (uint32_t i = 0; i < f->n_links && !rc; i++) {
        rlt_link l = rlt_topology_link(f->topology, i);
        f->hash[f->members + i] = mix(mix(l.bw_Bps, (uint64_t)l.latency_ps), (uint64_t)(uint32_t)l.dim);
    }
    return rc;
}

/* Whether the first `members` members have more steps than the limit. */
static bool too_many(const rlt_plan *plan, uint32_t members, uint64_t most)
{
    uint64_t steps = 0;
    for (uint32_t m = 0; m < members && steps <= most; m++) {
        for (uint32_t lane = 0; lane < plan->lanes; lane++)
            steps += plan->algorithm->steps(plan, m, lane);
    }
    return steps > most;
}

int rlt__fold_refine(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how, rlt_fold *out,
                     rlt_error *err)
{
    refinement f = {
        .plan = plan, .router = router, .topology = rlt_router_topology(router), .members = plan->req.n};
    f.n_links = rlt_topology_links(f.topology);
    bool alike = rlt_plan_is_even(plan) && rlt_plan_is_alike(plan);
    if (too_many(plan, alike ? 1 : plan->req.n, how->max_messages) ||
        (uint64_t)f.members + f.n_links > MAX_THINGS)
        return RLT_EUNSUPPORTED; /* the reason given by translations stands */
    size_t total = (size_t)f.members + f.n_links;
    f.hash = malloc((total + 1) * sizeof *f.hash);
    f.colour = malloc((total + 1) * sizeof *f.colour);
    int rc = f.hash && f.colour ? collect(&f, alike, err) : rlt_nomem(err);
    if (!rc)
        rc = refine(&f, err);
    if (!rc)
        rc = number(f.colour, f.members, f.n_colours, &out->of_member, &out->size, &out->rep, &out->n_classes,
                    err);
    if (!rc && out->n_classes == f.members)
        rc = rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "no two members are alike");
    if (!rc)
        rc = number(f.colour + f.members, f.n_links, f.n_colours, &out->net.of_link, &out->net.size,
                    &out->net.link, &out->net.n_classes, err);
    if (!rc)
        rc = check_whole(&f, out, how, err);
    out->net.topology = f.topology;
    free(f.records);
    free(f.links);
    free(f.runs);
    free(f.hash);
    free(f.colour);
    return rc;
}
