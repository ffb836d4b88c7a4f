/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans as JSON, written and read. No detail of a step is lost: a plan that is read back takes the same time
 * to the picosecond, at any size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/listed_check.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/formats/text.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

enum { VERSION = 1, MAX_BLOCKS = 1 << 24 };
#define MAX_MESSAGE_BYTES ((uint64_t)1 << 48)

static const char *const verbs[] = {"send", "reduce", "multicast", "reduce_all"};
enum { N_VERBS = sizeof verbs / sizeof *verbs };
static const char *const blocks_of[] = {"lane", "all", "untracked"};

static void write_span(rlt_growing *t, const char *key, rlt_blocks s)
{
    rlt_growing_add(t, "\"%s\": [%u", key, s.first);
    if (s.run != 1 || s.reps != 1)
        rlt_growing_add(t, ", %u", s.run);
    if (s.reps != 1)
        rlt_growing_add(t, ", %u, %u", s.stride, s.reps);
    rlt_growing_add(t, "], ");
}

static bool same_span(rlt_blocks a, rlt_blocks b)
{
    return a.first == b.first && a.run == b.run && a.reps == b.reps && (a.reps == 1 || a.stride == b.stride);
}

static void write_data(rlt_growing *t, const rlt_plan *plan, const rlt_step *s)
{
    if (plan->untracked) {
        if (s->send_to != RLT_NONE)
            rlt_growing_add(t, "\"bytes\": %llu, ", (unsigned long long)s->send_bytes);
        return;
    }
    write_span(t, "send", s->send);
    if (!same_span(s->send, s->land))
        write_span(t, "land", s->land);
    if (s->send_buffer)
        rlt_growing_add(t, "\"buffer\": %u, ", s->send_buffer);
    if (s->land_buffer)
        rlt_growing_add(t, "\"into\": %u, ", s->land_buffer);
    if (s->reduce)
        rlt_growing_add(t, "\"add\": true, ");
}

static void write_step(rlt_growing *t, const rlt_plan *plan, uint32_t lane, const rlt_step *s)
{
    rlt_growing_add(t, "{");
    size_t begin = t->length;
    if (s->send_to != RLT_NONE && !RLT_LANDS_AT_ALL(s->verb))
        rlt_growing_add(t, "\"to\": %u, ", s->send_to);
    if (s->send_to != RLT_NONE)
        rlt_growing_add(t, "\"step\": %u, ", s->peer_step);
    if (s->send_to != RLT_NONE && s->peer_shift % plan->lanes)
        rlt_growing_add(t, "\"lane\": %u, ", (lane + s->peer_shift) % plan->lanes);
    if (s->send_to != RLT_NONE || s->copy)
        write_data(t, plan, s);
    if (s->copy)
        rlt_growing_add(t, "\"copy\": true, ");
    if (s->nowait)
        rlt_growing_add(t, "\"nowait\": true, ");
    if (s->verb)
        rlt_growing_add(t, "\"verb\": \"%s\", ", verbs[s->verb]);
    if (s->recv_count)
        rlt_growing_add(t, "\"receives\": %u, ", s->recv_count);
    if (s->recv_from != RLT_NONE)
        rlt_growing_add(t, "\"from\": %u, ", s->recv_from);
    if (s->wait_lane != RLT_NONE)
        rlt_growing_add(t, "\"after\": [%u, %u], ", s->wait_lane, s->wait_step);
    if (!t->failed && t->length > begin)
        t->length -= 2; /* the last comma */
    rlt_growing_add(t, "}");
}

static void write_lane(rlt_growing *t, const rlt_plan *plan, uint32_t member, uint32_t lane, bool *any)
{
    uint32_t steps = plan->algorithm->steps(plan, member, lane);
    if (steps == 0)
        return;
    rlt_growing_add(t, "%s\n    {\"rank\": %u, \"lane\": %u, \"steps\": [", *any ? "," : "", member, lane);
    for (uint32_t k = 0; k < steps; k++) {
        rlt_step s;
        rlt_step_clear(&s);
        plan->algorithm->step(plan, member, lane, k, &s);
        rlt_growing_add(t, "%s\n      ", k ? "," : "");
        write_step(t, plan, lane, &s);
    }
    rlt_growing_add(t, "]}");
    *any = true;
}

int rlt_plan_json_write(const rlt_plan *plan, const char *name, char **text, size_t *length, rlt_error *err)
{
    rlt_growing t = {0};
    char plain[64];
    bool any = false;
    if (plan->algorithm->reach && (plan->reduces || plan->multicasts))
        return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name,
                        "reductions and multicasts inside dimensions cannot be written in this format");
    rlt_plain_name(name, plain, sizeof plain);
    rlt_growing_add(&t,
                    "{\n  \"format\": \"ringlet-plan\",\n  \"version\": %d,\n  \"name\": \"%s\",\n"
                    "  \"collective\": \"%s\",\n  \"ranks\": %u,\n  \"root\": %u,\n",
                    VERSION, plain, rlt_coll_name(plan->req.kind), plan->req.n, plan->req.root);
    rlt_growing_add(&t,
                    "  \"lanes\": %u,\n  \"blocks\": %u,\n  \"blocks_of\": \"%s\",\n  \"buffers\": %u,\n"
                    "  \"result\": %u,\n",
                    plan->lanes, plan->blocks, blocks_of[plan->untracked ? 2 : plan->shared], plan->buffers,
                    plan->result);
    if (plan->untracked)
        rlt_growing_add(&t, "  \"bytes\": %llu,\n", (unsigned long long)plan->req.bytes);
    rlt_growing_add(&t, "  \"programs\": [");
    for (uint32_t m = 0; m < plan->req.n; m++)
        for (uint32_t lane = 0; lane < plan->lanes; lane++)
            write_lane(&t, plan, m, lane, &any);
    rlt_growing_add(&t, "]\n}\n");
    return rlt_growing_finish(&t, text, length, err);
}

/* Head of a plan. */
typedef struct head {
    const char *name;
    rlt_coll_kind kind;
    uint32_t ranks, root, lanes, blocks, buffers, result, blocks_of;
    uint64_t bytes;
} head;

static int get_u32(rlt_json v, const char *key, bool required, uint32_t max, uint32_t *out, rlt_error *err)
{
    uint64_t value = *out;
    int rc = rlt_json_get_u64(v, key, required, max, &value, err);
    *out = (uint32_t)value;
    return rc;
}

static int read_blocks_of(rlt_json root, head *h, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_json_get_string(root, "blocks_of", true, &text, err);
    if (rc)
        return rc;
    for (h->blocks_of = 0; h->blocks_of < 3; h->blocks_of++)
        if (strcmp(text, blocks_of[h->blocks_of]) == 0)
            break;
    if (h->blocks_of == 3)
        return rlt_json_fail(rlt_json_get(root, "blocks_of"), RLT_ESCHEMA, err,
                             "expected \"lane\", \"all\" or \"untracked\", got \"%.40s\"", text);
    if (h->blocks_of == 2)
        return rlt_json_get_u64(root, "bytes", true, MAX_MESSAGE_BYTES, &h->bytes, err);
    return rlt_json_is(rlt_json_get(root, "bytes"))
               ? rlt_json_fail(rlt_json_get(root, "bytes"), RLT_ESCHEMA, err,
                               "only a plan with \"blocks_of\": \"untracked\" may have bytes")
               : 0;
}

static int read_head(rlt_json root, head *h, rlt_error *err)
{
    static const char *const keys[] = {"format", "version", "name",     "collective", "ranks",
                                       "root",   "lanes",   "blocks",   "blocks_of",  "buffers",
                                       "result", "bytes",   "programs", NULL};
    const char *format = "", *collective = NULL;
    uint32_t version = 0;
    int rc;
    if (!rlt_json_is_object(root))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object");
    if ((rc = rlt_json_get_string(root, "format", true, &format, err)))
        return rc;
    if (strcmp(format, "ringlet-plan") != 0)
        return rlt_json_fail(rlt_json_get(root, "format"), RLT_ESCHEMA, err,
                             "expected \"ringlet-plan\", got \"%.40s\"", format);
    if ((rc = get_u32(root, "version", true, UINT32_MAX, &version, err)))
        return rc;
    if (version != VERSION)
        return rlt_json_fail(rlt_json_get(root, "version"), RLT_EUNSUPPORTED, err,
                             "plan version %u is not supported; expected %d", version, VERSION);
    if ((rc = rlt_json_only(root, keys, err)) ||
        (rc = rlt_json_get_string(root, "name", true, &h->name, err)) ||
        (rc = rlt_json_get_string(root, "collective", true, &collective, err)))
        return rc;
    rlt_error why = {0};
    if (rlt_coll_parse(collective, &h->kind, &why))
        return rlt_json_fail(rlt_json_get(root, "collective"), RLT_ESCHEMA, err, "%s", why.what);
    if ((rc = get_u32(root, "ranks", true, 1 << 16, &h->ranks, err)) ||
        (rc = get_u32(root, "root", false, UINT16_MAX, &h->root, err)) ||
        (rc = get_u32(root, "lanes", true, RLT_MAX_LANES, &h->lanes, err)) ||
        (rc = get_u32(root, "blocks", true, MAX_BLOCKS, &h->blocks, err)) ||
        (rc = get_u32(root, "buffers", true, UINT8_MAX, &h->buffers, err)) ||
        (rc = get_u32(root, "result", true, UINT8_MAX, &h->result, err)))
        return rc;
    if (!h->ranks || !h->lanes || !h->blocks || h->root >= h->ranks || h->result >= h->buffers)
        return rlt_json_fail(root, RLT_ESCHEMA, err,
                             "not a plan: %u ranks, root %u, %u lanes, %u blocks, result %u of %u buffers",
                             h->ranks, h->root, h->lanes, h->blocks, h->result, h->buffers);
    return read_blocks_of(root, h, err);
}

/* Position in the text; values are read in its order. */
typedef struct cursor {
    const char *text;
    size_t at;
    uint32_t line;
} cursor;

static uint32_t line_of(cursor *c, rlt_json v)
{
    size_t begin, end;
    rlt_json_extent(v, &begin, &end);
    for (; c->at < begin; c->at++)
        c->line += c->text[c->at] == '\n';
    return c->line;
}

/* Reads an array of `least` to `most` numbers. If the key is absent, *n is unchanged. */
static int read_numbers(rlt_json step, const char *key, uint32_t least, uint32_t most, uint32_t *out,
                        uint32_t *n, rlt_error *err)
{
    rlt_json list = rlt_json_get(step, key);
    uint32_t i = 0;
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list) || rlt_json_count(list) < least || rlt_json_count(list) > most)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of %u to %u numbers", least, most);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v), i++) {
        uint64_t value = 0;
        int rc = rlt_json_u64(v, UINT32_MAX - 1, &value, err);
        if (rc)
            return rc;
        out[i] = (uint32_t)value;
    }
    *n = i;
    return 0;
}

static int read_span(rlt_json step, const char *key, uint32_t blocks, const rlt_blocks *otherwise,
                     rlt_blocks *out, rlt_error *err)
{
    uint32_t v[4] = {0, 1, 0, 1}, n = 0;
    int rc = read_numbers(step, key, 1, 4, v, &n, err);
    if (rc)
        return rc;
    if (n == 3)
        return rlt_json_fail(rlt_json_get(step, key), RLT_ESCHEMA, err, "expected 1, 2 or 4 numbers");
    if (n == 0 && !otherwise)
        return rlt_json_fail(step, RLT_ESCHEMA, err, "the step moves data, but \"%s\" is missing", key);
    *out = n ? (rlt_blocks){v[0], v[1], v[2], v[3]} : *otherwise;
    uint64_t count = (uint64_t)out->run * out->reps;
    if (out->first >= blocks || count == 0 || count > blocks)
        return rlt_json_fail(rlt_json_get(step, key), RLT_ESCHEMA, err,
                             "%u x %u blocks from block %u on do not fit in a lane of %u blocks", out->reps,
                             out->run, out->first, blocks);
    return 0;
}

static int read_verb(rlt_json v, const head *h, rlt_step *s, rlt_error *err)
{
    const char *verb = NULL;
    int rc = rlt_json_get_string(v, "verb", false, &verb, err);
    if (rc || !verb)
        return rc;
    for (s->verb = 0; s->verb < N_VERBS && strcmp(verb, verbs[s->verb]) != 0;)
        s->verb++;
    if (s->verb == N_VERBS)
        return rlt_json_fail(rlt_json_get(v, "verb"), RLT_ESCHEMA, err,
                             "expected \"reduce\", \"multicast\" or \"reduce_all\", got \"%.40s\"", verb);
    if (RLT_LANDS_AT_ALL(s->verb))
        s->send_to = h->ranks;
    return 0;
}

static int read_data(rlt_json v, const head *h, rlt_step *s, rlt_error *err)
{
    uint32_t buffer = 0, into = 0;
    bool add = false;
    int rc;
    if (h->blocks_of == 2)
        return s->copy ? 0 : rlt_json_get_u64(v, "bytes", true, MAX_MESSAGE_BYTES, &s->send_bytes, err);
    if ((rc = read_span(v, "send", h->blocks, NULL, &s->send, err)) ||
        (rc = read_span(v, "land", h->blocks, &s->send, &s->land, err)) ||
        (rc = get_u32(v, "buffer", false, h->buffers - 1, &buffer, err)) ||
        (rc = get_u32(v, "into", false, h->buffers - 1, &into, err)) ||
        (rc = rlt_json_get_bool(v, "add", false, &add, err)))
        return rc;
    if ((uint64_t)s->send.run * s->send.reps != (uint64_t)s->land.run * s->land.reps)
        return rlt_json_fail(rlt_json_get(v, "land"), RLT_ESCHEMA, err,
                             "sends %u x %u blocks, but they land as %u x %u; expected the same number",
                             s->send.reps, s->send.run, s->land.reps, s->land.run);
    s->send_buffer = (uint8_t)buffer;
    s->land_buffer = (uint8_t)into;
    s->reduce = add;
    return 0;
}

static int read_step(rlt_json v, const head *h, uint32_t lane, rlt_step *s, rlt_error *err)
{
    static const char *const keys[] = {"to",   "step",   "lane", "send",     "land", "buffer", "into",  "add",
                                       "copy", "nowait", "verb", "receives", "from", "after",  "bytes", NULL};
    uint32_t to_lane = lane, after[2], n_after = 0;
    bool copy = false, nowait = false;
    int rc;
    rlt_step_clear(s);
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a step as an object");
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = get_u32(v, "to", false, h->ranks - 1, &s->send_to, err)) || (rc = read_verb(v, h, s, err)) ||
        (rc = get_u32(v, "step", s->send_to != RLT_NONE, UINT32_MAX - 1, &s->peer_step, err)) ||
        (rc = get_u32(v, "lane", false, h->lanes - 1, &to_lane, err)) ||
        (rc = rlt_json_get_bool(v, "copy", false, &copy, err)) ||
        (rc = rlt_json_get_bool(v, "nowait", false, &nowait, err)) ||
        (rc = get_u32(v, "receives", false, UINT16_MAX, &s->recv_count, err)) ||
        (rc = get_u32(v, "from", false, h->ranks - 1, &s->recv_from, err)) ||
        (rc = read_numbers(v, "after", 2, 2, after, &n_after, err)))
        return rc;
    s->copy = copy;
    s->nowait = nowait;
    s->peer_shift = (to_lane + h->lanes - lane) % h->lanes;
    if (n_after && after[0] >= h->lanes)
        return rlt_json_fail(rlt_json_get(v, "after"), RLT_ESCHEMA, err, "expected lane 0 to %u, got %u",
                             h->lanes - 1, after[0]);
    if (n_after) {
        s->wait_lane = after[0];
        s->wait_step = after[1];
    }
    return s->copy || s->send_to != RLT_NONE ? read_data(v, h, s, err) : 0;
}

static int read_program(rlt_json v, const head *h, cursor *c, rlt_listing *l, rlt_error *err)
{
    static const char *const keys[] = {"rank", "lane", "steps", NULL};
    uint32_t rank = 0, lane = 0;
    int rc;
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object with rank, lane and steps");
    if ((rc = rlt_json_only(v, keys, err)) || (rc = get_u32(v, "rank", true, h->ranks - 1, &rank, err)) ||
        (rc = get_u32(v, "lane", true, h->lanes - 1, &lane, err)))
        return rc;
    if (rlt_listing_steps(l, rank, lane))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "lane %u of rank %u is given twice", lane, rank);
    rlt_json steps = rlt_json_get(v, "steps");
    if (!rlt_json_is_array(steps))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected \"steps\": [...]");
    for (rlt_json s = rlt_json_first(steps); rlt_json_is(s); s = rlt_json_next(s)) {
        rlt_step step;
        if ((rc = read_step(s, h, lane, &step, err)))
            return rc;
        rlt_listing_step(l, rank, lane, &step, line_of(c, s));
    }
    return 0;
}

static int read_programs(rlt_json root, const head *h, const char *text, rlt_listing *l, rlt_error *err)
{
    rlt_json programs = rlt_json_get(root, "programs");
    cursor c = {.text = text, .line = 1};
    int rc = 0;
    if (!rlt_json_is_array(programs))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected \"programs\": [...]");
    if ((uint64_t)h->ranks * h->lanes > 1 << 22)
        return rlt_json_fail(root, RLT_ERANGE, err, "%u ranks x %u lanes are too many", h->ranks, h->lanes);
    for (uint32_t m = 0; m < h->ranks; m++)
        for (uint32_t k = 0; k < h->lanes; k++)
            rlt_listing_lane(l, m);
    for (rlt_json v = rlt_json_first(programs); rlt_json_is(v) && !rc && !rlt_listing_failed(l);
         v = rlt_json_next(v))
        rc = read_program(v, h, &c, l, err);
    return rc;
}

int rlt_plan_json_parse(const char *file, const char *text, size_t length, rlt_listed *out, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    rlt_listing *l = NULL;
    head h = {0};
    int rc = rlt_json_parse(file, text, length, &doc, err);
    if (rc)
        return rc;
    rlt_json root = rlt_json_root(doc);
    if ((rc = read_head(root, &h, err)))
        goto out;
    const rlt_listing_head listed = {h.name,           h.kind, h.ranks, h.root, h.blocks, (uint8_t)h.buffers,
                                     (uint8_t)h.result};
    if ((rc = rlt_listing_create(&listed, &l, err)))
        goto out;
    rlt_listing_source(l, file);
    if (h.blocks_of == 0)
        rlt_listing_separate(l);
    if (h.blocks_of == 2)
        rlt_listing_untracked(l, h.bytes);
    rc = read_programs(root, &h, text, l, err);
    if (rc)
        goto out;
    rc = rlt_listing_finish(l, out, err);
    l = NULL;
    if (!rc)
        rc = rlt_listed_check(out, err);
    if (rc)
        rlt_listed_free(out);
out:
    rlt_listing_free(l);
    rlt_json_free(doc);
    return rc;
}
