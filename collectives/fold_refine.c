/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding by refinement: the coarsest equitable partition of members and links over the messages of the plan
 * (sim/partition.h).
 *
 * A message stands for all those of consecutive steps that go to one member by one route. It joins its
 * sender, its receiver and the links of its path, in this order. Messages differ by a hash of their places in
 * the plan, sizes and latency; members by a hash of their steps without peers; links by bandwidth, latency
 * and dimension.
 *
 * Effort is counted in instructions. Simulating a message that repeats the one before costs the least; one
 * that does not needs a route, as it does here.
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
#include "sim/partition.h"

/* Steps of a lane that make a message: the first of them, and a hash of all but their peers. */
typedef struct run {
    uint64_t key;
    uint32_t lane, step;
} run;

/* A lane as all members of a sort run it: runs[first .. first + n), and a hash of all steps. */
typedef struct program {
    uint64_t own;
    uint32_t first, n;
} program;

enum { MAX_MESSAGES = 1 << 22, MAX_PLACES = 1 << 26, MAX_THINGS = 1 << 23, MAX_RUNS = 1 << 24 };

/* Instructions: to simulate a message that repeats the one before, in alpha-beta and in flow, and to find the
 * route of one that does not; to read a step, and to add a message and a place of it. */
enum { REPEAT = 400, REPEAT_SHARED = 650, ROUTE = 1000 };
enum { READ = 200, ADD = 600, ADD_PLACE = 15 };

typedef struct refinement {
    const rlt_plan *plan;
    rlt_router *router;
    const rlt_topology *topology;
    rlt_effort effort;
    uint32_t percent; /* effort allowed, of what it costs to simulate a message; RLT_FOLD_ANYWAY: any */
    uint32_t *first, *joined; /* see rlt_joins; links count on from the members */
    uint64_t *key;            /* by message */
    uint32_t n_messages, first_room, key_room, joined_room;
    run *runs;
    program *programs;
    rlt_map known; /* (sort, lane) -> program, if the algorithm names sorts */
    uint32_t n_runs, runs_room, n_programs, programs_room;
    uint32_t members, n_links;
    uint64_t *hash;  /* by member, then by link */
    uint32_t *class; /* likewise */
    uint32_t n_classes;
} refinement;

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) + 0x7f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* Passes on why the search ended, if it did. */
static int ended(const refinement *f, int rc, rlt_error *err)
{
    const char *name = f->plan->algorithm->name;
    if (rc == RLT_ENOMEM)
        return rlt_nomem(err);
    if (rc == RLT_ECANCELLED)
        return rlt_fail(err, rc, name, "cancelled");
    return rc ? rlt_fail(err, rc, name, "finding those that are alike would cost over %u %% of that",
                         f->percent)
              : 0;
}

static int spend(refinement *f, uint64_t work, rlt_error *err)
{
    return ended(f, rlt_effort_spend(&f->effort, work), err);
}

static void allow(refinement *f, uint64_t cost)
{
    if (f->percent != RLT_FOLD_ANYWAY)
        f->effort.limit += cost * f->percent / 100;
}

static int new_message(refinement *f, uint32_t member, const run *r, rlt_error *err)
{
    const rlt_plan *plan = f->plan;
    uint32_t n = f->n_messages, at = n ? f->first[n] : 0;
    rlt_path path;
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, r->lane, r->step, &s);
    int rc = rlt_route(f->router, rlt_member_rank(&plan->req, member), rlt_member_rank(&plan->req, s.send_to),
                       rlt_route_key(r->lane, s.turn), &path);
    if (rc)
        return rlt_fail(err, rc, plan->algorithm->name, "no route from member %u to %u", member, s.send_to);
    if (n == MAX_MESSAGES || (uint64_t)at + path.n + 2 > MAX_PLACES)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "too many messages to compare");
    if ((rc = rlt_grow(&f->first, &f->first_room, sizeof *f->first, (uint64_t)n + 2, MAX_MESSAGES + 2,
                       "messages", err)) ||
        (rc = rlt_grow(&f->key, &f->key_room, sizeof *f->key, (uint64_t)n + 1, MAX_MESSAGES, "messages",
                       err)) ||
        (rc = rlt_grow(&f->joined, &f->joined_room, sizeof *f->joined, (uint64_t)at + path.n + 2, MAX_PLACES,
                       "links on paths", err)))
        return rc;
    f->key[n] = mix(r->key, (uint64_t)path.latency_ps);
    f->first[n] = at;
    f->joined[at++] = member;
    f->joined[at++] = s.send_to;
    for (uint32_t k = 0; k < path.n; k++)
        f->joined[at++] = f->members + path.links[k];
    f->first[++f->n_messages] = at;
    allow(f, ROUTE);
    return spend(f, ADD + ADD_PLACE * path.n, err);
}

/* Lists the runs of a member in a lane, and hashes its steps without their peers. */
static int read_lane(refinement *f, uint32_t member, uint32_t lane, program *p, rlt_error *err)
{
    const rlt_plan *plan = f->plan;
    uint32_t steps = plan->algorithm->steps(plan, member, lane), to = RLT_NONE, turn = 0;
    *p = (program){.own = mix(lane, steps), .first = f->n_runs};
    int rc = spend(f, (uint64_t)READ * (steps + 1), err);
    for (uint32_t k = 0; k < steps && !rc; k++) {
        rlt_step s;
        rlt_step_clear(&s);
        plan->algorithm->step(plan, member, lane, k, &s);
        uint64_t h = mix((uint64_t)lane << 32 | k, (uint64_t)s.recv_count << 1 | s.nowait);
        p->own += mix(h, (uint64_t)s.wait_lane << 32 | s.wait_step);
        if (s.send_to == RLT_NONE)
            continue;
        if (s.send_to != to || s.turn != turn) {
            rc = rlt_grow(&f->runs, &f->runs_room, sizeof *f->runs, (uint64_t)f->n_runs + 1, MAX_RUNS,
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
    p->n = f->n_runs - p->first;
    return rc;
}

/* Reads what a member does in a lane, unless another one of its sort has told. */
static int read_program(refinement *f, uint32_t member, uint32_t lane, uint32_t sort, program *p,
                        rlt_error *err)
{
    uint64_t which = (uint64_t)sort << 32 | lane;
    uint32_t i = sort == RLT_NONE ? RLT_NONE : rlt_map_get(&f->known, which);
    if (i != RLT_NONE) {
        *p = f->programs[i];
        return 0;
    }
    if (sort == RLT_NONE) /* for this member alone */
        f->n_runs = 0;
    int rc = read_lane(f, member, lane, p, err);
    if (rc || sort == RLT_NONE)
        return rc;
    rc = rlt_grow(&f->programs, &f->programs_room, sizeof *f->programs, (uint64_t)f->n_programs + 1, MAX_RUNS,
                  "sorts of members", err);
    if (rc)
        return rc;
    f->programs[f->n_programs] = *p;
    return rlt_map_put(&f->known, which, f->n_programs++) ? rlt_nomem(err) : 0;
}

/* Adds the messages of all members. */
static int collect(refinement *f, rlt_error *err)
{
    const rlt_plan *plan = f->plan;
    bool alike = rlt_plan_is_even(plan) && rlt_plan_is_alike(plan);
    int rc = 0;
    for (uint32_t m = 0; m < f->members && !rc; m++) {
        f->hash[m] = 0;
        for (uint32_t lane = 0; lane < plan->lanes && !rc; lane++) {
            program p;
            rc = read_program(f, m, lane, alike ? 0 : RLT_NONE, &p, err);
            f->hash[m] += rc ? 0 : p.own;
            for (uint32_t i = 0; !rc && i < p.n; i++)
                rc = new_message(f, m, &f->runs[p.first + i], err);
        }
    }
    for (uint32_t i = 0; i < f->n_links && !rc; i++) {
        rlt_link l = rlt_topology_link(f->topology, i);
        f->hash[f->members + i] = mix(mix(l.bw_Bps, (uint64_t)l.latency_ps), (uint64_t)(uint32_t)l.dim);
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
    for (uint32_t i = 0; i < f->n_messages; i++) {
        const uint32_t *ends = &f->joined[f->first[i]];
        uint32_t from = out->size[out->of_member[ends[0]]], to = out->size[out->of_member[ends[1]]];
        if (from % to)
            return rlt_fail(err, RLT_EUNSUPPORTED, f->plan->algorithm->name,
                            "the size of a sending class is not a multiple of its receiving class");
        if (from > to && how->blocking && how->serialises)
            return rlt_fail(err, RLT_EUNSUPPORTED, f->plan->algorithm->name,
                            "blocked senders wait their turn at a receiver's port");
    }
    return 0;
}

/* Estimates the steps of the plan by the median over some members, so that a root does not count for all. */
static uint64_t expect_steps(const rlt_plan *plan)
{
    enum { ASKED = 15 };
    uint64_t steps[ASKED] = {0};
    uint32_t n = plan->req.n, asked = n < ASKED ? n : ASKED;
    for (uint32_t i = 0; i < asked; i++)
        for (uint32_t lane = 0; lane < plan->lanes; lane++)
            steps[i] += plan->algorithm->steps(plan, (uint32_t)((uint64_t)n * i / asked), lane);
    rlt_sort_u64(steps, asked);
    return steps[asked / 2] * n;
}

/* Finds the classes of members and links. */
static int find_classes(refinement *f, rlt_error *err)
{
    int rc = collect(f, err);
    if (rc)
        return rc;
    uint32_t none = 0;
    rlt_joins joins = {.n_things = f->members + f->n_links,
                       .n_messages = f->n_messages,
                       .first = f->n_messages ? f->first : &none,
                       .joined = f->joined};
    rc = rlt_partition(&joins, f->hash, f->key, &f->effort, f->class, &f->n_classes);
    return ended(f, rc, err);
}

static void release(refinement *f)
{
    free(f->first);
    free(f->joined);
    free(f->key);
    free(f->runs);
    free(f->programs);
    rlt_map_free(&f->known);
    free(f->hash);
    free(f->class);
}

int rlt__fold_refine(const rlt_plan *plan, rlt_router *router, const rlt_fold_options *how, rlt_fold *out,
                     rlt_error *err)
{
    refinement f = {.plan = plan,
                    .router = router,
                    .topology = rlt_router_topology(router),
                    .percent = how->percent,
                    .effort = {.watch = how->watch},
                    .members = plan->req.n};
    f.n_links = rlt_topology_links(f.topology);
    size_t total = (size_t)f.members + f.n_links;
    if (total > MAX_THINGS)
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "too many members and links to compare");
    if (how->percent == RLT_FOLD_ANYWAY)
        f.effort.limit = UINT64_MAX;
    allow(&f, expect_steps(plan) * (how->serialises ? REPEAT : REPEAT_SHARED));
    f.hash = malloc((total + 1) * sizeof *f.hash);
    f.class = malloc((total + 1) * sizeof *f.class);
    int rc = f.hash && f.class ? find_classes(&f, err) : rlt_nomem(err);
    if (!rc)
        rc = number(f.class, f.members, f.n_classes, &out->of_member, &out->size, &out->rep, &out->n_classes,
                    err);
    if (!rc && out->n_classes == f.members)
        rc = rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "no two members are alike");
    if (!rc)
        rc = number(f.class + f.members, f.n_links, f.n_classes, &out->net.of_link, &out->net.size,
                    &out->net.link, &out->net.n_classes, err);
    if (!rc)
        rc = check_whole(&f, out, how, err);
    out->net.topology = f.topology;
    release(&f);
    return rc;
}
