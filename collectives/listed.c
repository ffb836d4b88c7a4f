/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds listed collectives: lanes and steps in any order first, then flat arrays. */
#include "collectives/listed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"

/* A step takes about 100 bytes, so MAX_STEPS is above 1 GiB. No sensible file comes near. */
enum { MAX_STEPS = 1 << 24, MAX_PLACES = 1 << 22, MAX_LISTED_MEMBERS = 1 << 16 };

typedef struct entry {
    rlt_step step;
    uint32_t line;
    uint32_t to_lane; /* lane of the receiver; RLT_NONE: not connected, step.peer_shift stays as it is */
} entry;

typedef struct lane_list {
    entry *entries;
    uint32_t n, capacity;
} lane_list;

typedef struct member_list {
    lane_list *lanes;
    uint32_t n, capacity;
} member_list;

struct rlt_listing {
    rlt_listed head;
    member_list *members;
    uint64_t n_steps;
    bool has_lines;
    rlt_error err;  /* first error */
    rlt_step waste; /* dummy step that rlt_listing_at returns after an error */
};

int rlt_listing_create(const rlt_listing_head *head, rlt_listing **out, rlt_error *err)
{
    uint32_t n = head->n;
    if (n == 0 || n > MAX_LISTED_MEMBERS)
        return rlt_fail(err, RLT_ERANGE, head->name, "expected 1 to %d members, got %u", MAX_LISTED_MEMBERS,
                        n);
    if (head->root >= n)
        return rlt_fail(err, RLT_ERANGE, head->name, "root %u is not a member; expected 0 to %u", head->root,
                        n - 1);
    if (head->blocks == 0 || head->buffers == 0 || head->result >= head->buffers)
        return rlt_fail(err, RLT_ERANGE, head->name,
                        "%u blocks, result buffer %u of %u; expected at least one block "
                        "and a result below the number of buffers",
                        head->blocks, head->result, head->buffers);
    rlt_listing *l = calloc(1, sizeof *l);
    if (!l)
        return rlt_nomem(err);
    l->members = calloc(n, sizeof *l->members);
    if (!l->members) {
        free(l);
        return rlt_nomem(err);
    }
    l->head = (rlt_listed){.kind = head->kind,
                           .n = n,
                           .root = head->root,
                           .blocks = head->blocks,
                           .buffers = head->buffers,
                           .result = head->result};
    snprintf(l->head.name, sizeof l->head.name, "%s", head->name);
    rlt_make_printable(l->head.name);
    *out = l;
    return 0;
}

void rlt_listing_source(rlt_listing *l, const char *source)
{
    snprintf(l->head.source, sizeof l->head.source, "%s", source);
}

void rlt_listing_separate(rlt_listing *l)
{
    l->head.separate = true;
}

void rlt_listing_untracked(rlt_listing *l, uint64_t bytes)
{
    l->head.untracked = true;
    l->head.bytes = bytes;
}

uint32_t rlt_listing_lane(rlt_listing *l, uint32_t member)
{
    member_list *m = &l->members[member];
    if (l->err.code || rlt_grow(&m->lanes, &m->capacity, sizeof *m->lanes, (uint64_t)m->n + 1, RLT_MAX_LANES,
                                "lanes of a member", &l->err) < 0)
        return 0;
    m->lanes[m->n] = (lane_list){0};
    return m->n++;
}

uint32_t rlt_listing_step(rlt_listing *l, uint32_t member, uint32_t lane, const rlt_step *step, uint32_t line)
{
    if (l->err.code)
        return 0;
    lane_list *list = &l->members[member].lanes[lane];
    if (l->n_steps == MAX_STEPS) {
        rlt_fail(&l->err, RLT_ERANGE, NULL, "more than %d steps", MAX_STEPS);
        return 0;
    }
    if (rlt_grow(&list->entries, &list->capacity, sizeof *list->entries, (uint64_t)list->n + 1, MAX_STEPS,
                 "steps of a lane", &l->err) < 0)
        return 0;
    l->n_steps++;
    l->has_lines |= line != 0;
    list->entries[list->n] = (entry){.step = *step, .line = line, .to_lane = RLT_NONE};
    return list->n++;
}

rlt_step *rlt_listing_at(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t step)
{
    return l->err.code ? &l->waste : &l->members[member].lanes[lane].entries[step].step;
}

void rlt_listing_connect(rlt_listing *l, rlt_listing_place from, rlt_listing_place to)
{
    if (l->err.code)
        return;
    entry *sends = &l->members[from.member].lanes[from.lane].entries[from.step];
    rlt_step *hears = &l->members[to.member].lanes[to.lane].entries[to.step].step;
    sends->step.send_to = to.member;
    sends->step.peer_step = to.step;
    sends->to_lane = to.lane;
    hears->recv_from = hears->recv_count++ == 0 || hears->recv_from == from.member ? from.member : RLT_NONE;
}

uint32_t rlt_listing_steps(const rlt_listing *l, uint32_t member, uint32_t lane)
{
    return l->err.code ? 0 : l->members[member].lanes[lane].n;
}

bool rlt_listing_failed(const rlt_listing *l)
{
    return l->err.code != 0;
}

void rlt_listing_free(rlt_listing *l)
{
    if (!l)
        return;
    for (uint32_t m = 0; m < l->head.n; m++) {
        for (uint32_t k = 0; k < l->members[m].n; k++)
            free(l->members[m].lanes[k].entries);
        free(l->members[m].lanes);
    }
    free(l->members);
    free(l);
}

static uint32_t most_lanes(const rlt_listing *l)
{
    uint32_t lanes = 1;
    for (uint32_t m = 0; m < l->head.n; m++)
        lanes = l->members[m].n > lanes ? l->members[m].n : lanes;
    return lanes;
}

static void flatten(const rlt_listing *l, rlt_listed *out)
{
    uint32_t at = 0, place = 0;
    for (uint32_t m = 0; m < out->n; m++) {
        for (uint32_t k = 0; k < out->lanes; k++) {
            const lane_list *list = k < l->members[m].n ? &l->members[m].lanes[k] : NULL;
            out->first[place++] = at;
            for (uint32_t i = 0; list && i < list->n; i++, at++) {
                const entry *e = &list->entries[i];
                out->steps[at] = e->step;
                if (e->to_lane != RLT_NONE)
                    out->steps[at].peer_shift = (e->to_lane + out->lanes - k) % out->lanes;
                if (out->line)
                    out->line[at] = e->line;
            }
        }
    }
    out->first[place] = at;
}

int rlt_listing_finish(rlt_listing *l, rlt_listed *out, rlt_error *err)
{
    int rc = l->err.code;
    *out = l->head;
    out->lanes = most_lanes(l);
    if (rc) {
        rlt_fail(err, rc, out->source[0] ? out->source : out->name, "%s", l->err.what);
        goto out;
    }
    uint64_t places = (uint64_t)out->n * out->lanes;
    if (places > MAX_PLACES) {
        rc = rlt_fail(err, RLT_ERANGE, out->source[0] ? out->source : out->name,
                      "%u members with %u lanes are more than %d lanes", out->n, out->lanes, MAX_PLACES);
        goto out;
    }
    out->first = malloc((places + 1) * sizeof *out->first);
    out->steps = malloc((l->n_steps + 1) * sizeof *out->steps);
    out->line = l->has_lines ? malloc((l->n_steps + 1) * sizeof *out->line) : NULL;
    if (!out->first || !out->steps || (l->has_lines && !out->line)) {
        rc = rlt_nomem(err);
        goto out;
    }
    flatten(l, out);
out:
    rlt_listing_free(l);
    if (rc)
        rlt_listed_free(out);
    return rc;
}

void rlt_listed_free(rlt_listed *l)
{
    if (!l)
        return;
    free(l->first);
    free(l->steps);
    free(l->line);
    free(l->tag_first);
    free(l->tags);
    *l = (rlt_listed){0};
}

void rlt_step_place(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t step, char *text,
                    size_t size)
{
    const rlt_listed *l = plan->algorithm == &rlt_custom ? plan->req.listed : NULL;
    const char *source = !l ? plan->algorithm->name : l->source[0] ? l->source : l->name;
    uint32_t first = l ? l->first[(size_t)member * plan->lanes + lane] : 0;
    uint32_t end = l ? l->first[(size_t)member * plan->lanes + lane + 1] : 0;
    uint32_t line = l && l->line && step < end - first ? l->line[first + step] : 0;
    if (line)
        snprintf(text, size, "%s:%u: member %u, lane %u, step %u", source, line, member, lane, step);
    else
        snprintf(text, size, "%s: member %u, lane %u, step %u", source, member, lane, step);
}
