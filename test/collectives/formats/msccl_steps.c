/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random MSCCL files of every type of step and many kinds. A second model does what MSCCL's run-time does
 * with the chunks of each gpu, step by step as the files are drawn. The plan that is read from the file is
 * run by a plain walk over its steps, and must leave the same in every buffer. Sums are sums of random
 * numbers, so that no two ways agree by chance.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/msccl.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { GPUS = 4, CHUNKS = 12, SCRATCH = 40, TBS = 48, BUFFERS = 48, LINES = 512 };

/* The contents of a chunk: numbers of members, of one block of the collective. */
typedef struct chunk {
    uint64_t sum;
    uint32_t members; /* a bit each; 0: nothing */
    uint32_t block;
} chunk;

typedef struct gpu {
    chunk in[CHUNKS], out[CHUNKS], scratch[SCRATCH];
    char text[16384];
    size_t n;
    uint32_t tbs, last_tb;
    bool waits; /* whether a step was written */
} gpu;

typedef struct file {
    dice d;
    rlt_coll_kind kind;
    uint32_t n, root, per, chunks, scratch, channel;
    bool in_place, sums;
    gpu g[GPUS];
    uint64_t given[GPUS][CHUNKS]; /* buffer 0 at the start */
    char text[65536];
} file;

/* Place of a chunk: in place, i and o are parts of one another. */
static chunk *at(file *f, uint32_t g, char buffer, uint32_t offset)
{
    bool gathers = f->kind == RLT_ALL_GATHER || f->kind == RLT_GATHER;
    bool scatters = f->kind == RLT_REDUCE_SCATTER || f->kind == RLT_SCATTER;
    if (buffer == 's')
        return &f->g[g].scratch[offset];
    if ((buffer == 'i' && gathers) || (buffer == 'o' && scatters))
        offset += g * f->per;
    return buffer == 'i' || f->in_place ? &f->g[g].in[offset] : &f->g[g].out[offset];
}

static uint32_t chunks_of(const file *f, char buffer)
{
    bool part = buffer == 'i' ? f->kind == RLT_ALL_GATHER || f->kind == RLT_GATHER
                              : f->kind == RLT_REDUCE_SCATTER || f->kind == RLT_SCATTER;
    return buffer == 's' ? f->scratch : part ? f->per : f->chunks;
}

typedef struct ref {
    char buffer;
    uint32_t offset;
} ref;

/* A thread block with one step, which waits for what its gpu did before. */
static void write_step(file *f, uint32_t g, const char *type, uint32_t send, uint32_t recv, ref src, ref dst,
                       uint32_t count)
{
    gpu *x = &f->g[g];
    char dep[64] = "";
    if (x->waits)
        snprintf(dep, sizeof dep, "depid=\"%u\" deps=\"0\" ", x->last_tb);
    else if (below(&f->d, 2))
        snprintf(dep, sizeof dep, "depid=\"-1\" deps=\"-1\" ");
    x->n += (size_t)snprintf(x->text + x->n, sizeof x->text - x->n,
                             "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%u\">", x->tbs, (int)send,
                             (int)recv, f->channel);
    x->n +=
        (size_t)snprintf(x->text + x->n, sizeof x->text - x->n,
                         "<step s=\"0\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%u\" dstbuf=\"%c\" dstoff=\"%u\" "
                         "cnt=\"%u\" %shasdep=\"1\"/></tb>\n",
                         type, src.buffer, src.offset, dst.buffer, dst.offset, count, dep);
    assert_true(x->n < sizeof x->text);
    x->last_tb = x->tbs++;
    x->waits = true;
}

static void take(file *f, uint32_t g, ref from, uint32_t count, chunk *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = *at(f, g, from.buffer, from.offset + i);
}

static void give(file *f, uint32_t g, ref to, uint32_t count, const chunk *what)
{
    for (uint32_t i = 0; i < count; i++)
        *at(f, g, to.buffer, to.offset + i) = what[i];
}

static bool all_there(const chunk *c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!c[i].members)
            return false;
    return true;
}

/* Adds b to a, if they are parts of one sum. */
static bool add(chunk *a, const chunk *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!a[i].members || !b[i].members || a[i].block != b[i].block || (a[i].members & b[i].members))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        a[i].sum += b[i].sum;
        a[i].members |= b[i].members;
    }
    return true;
}

static ref draw_ref(file *f, char buffer, uint32_t count)
{
    return (ref){buffer, below(&f->d, chunks_of(f, buffer) - count + 1)};
}

static ref draw_from(file *f, uint32_t count)
{
    char buffer = below(&f->d, 3) ? 's' : 'i';
    return draw_ref(f, count <= chunks_of(f, buffer) ? buffer : 's', count);
}

static bool overlap(ref a, ref b, uint32_t count)
{
    return a.buffer == b.buffer && a.offset < b.offset + count && b.offset < a.offset + count;
}

static void draw_local(file *f)
{
    uint32_t g = below(&f->d, f->n), count = 1 + below(&f->d, f->per < 3 ? 2 : f->per);
    ref from = draw_from(f, count), to = draw_ref(f, 's', count);
    chunk a[CHUNKS], b[CHUNKS];
    take(f, g, from, count, a);
    take(f, g, to, count, b);
    if (overlap(from, to, count) || !all_there(a, count))
        return;
    bool sums = f->sums && add(b, a, count);
    write_step(f, g, sums ? "re" : "cpy", RLT_NONE, RLT_NONE, from, to, count);
    give(f, g, to, count, sums ? b : a);
    f->channel++;
}

/* A message that goes on from gpu to gpu; the steps between are fused. */
static void draw_message(file *f)
{
    uint32_t g = below(&f->d, f->n), count = 1 + below(&f->d, f->per < 3 ? 2 : f->per),
             hops = 1 + below(&f->d, f->n - 1);
    ref from = draw_from(f, count), none = {'i', 0};
    chunk a[CHUNKS], b[CHUNKS];
    take(f, g, from, count, a);
    if (!all_there(a, count))
        return;
    write_step(f, g, "s", (g + 1) % f->n, RLT_NONE, from, none, count);
    for (uint32_t k = 1; k <= hops; k++) {
        uint32_t before = (g + k - 1) % f->n, here = (g + k) % f->n;
        bool last = k == hops;
        ref with = draw_from(f, count), to = below(&f->d, 2) ? with : draw_ref(f, 's', count);
        to = to.buffer == 's' && (!overlap(with, to, count) || with.offset == to.offset)
                 ? to
                 : draw_ref(f, 's', count);
        take(f, here, with, count, b);
        bool apart = !overlap(with, to, count) || with.offset == to.offset,
             sums = f->sums && apart && add(b, a, count);
        bool keeps = last || below(&f->d, 2) || !sums;
        const char *type = !sums ? last ? "r" : "rcs" : last ? "rrc" : keeps ? "rrcs" : "rrs";
        write_step(f, here, type, last ? RLT_NONE : (here + 1) % f->n, before, with, keeps ? to : none,
                   count);
        if (sums)
            memcpy(a, b, sizeof a);
        if (keeps)
            give(f, here, to, count, a);
    }
    f->channel++;
}

/* A message of the collective itself, without detours. */
static void deliver(file *f, uint32_t from, ref src, uint32_t to, ref dst, uint32_t count, bool adds)
{
    chunk a[CHUNKS], b[CHUNKS];
    take(f, from, src, count, a);
    take(f, to, dst, count, b);
    if (from == to && at(f, from, src.buffer, src.offset) == at(f, to, dst.buffer, dst.offset))
        return;
    if (from == to)
        write_step(f, from, "cpy", RLT_NONE, RLT_NONE, src, dst, count);
    else {
        write_step(f, from, "s", to, RLT_NONE, src, dst, count);
        write_step(f, to, adds ? "rrc" : "r", RLT_NONE, from, dst, dst, count);
    }
    if (adds)
        assert_true(add(b, a, count));
    give(f, to, dst, count, adds ? b : a);
    f->channel++;
}

/* Sends everything from where it was at the start to where it belongs: first a member's own, then to it from
 * all others. */
static void finish(file *f)
{
    bool all = f->kind == RLT_ALL_REDUCE || f->kind == RLT_BROADCAST || f->kind == RLT_REDUCE;
    bool rooted = f->kind == RLT_BROADCAST || f->kind == RLT_SCATTER;
    bool to_root = f->kind == RLT_REDUCE || f->kind == RLT_GATHER;
    uint32_t count = all ? f->chunks : f->per;
    for (uint32_t self = 1; self < 2; self--)
        for (uint32_t a = 0; a < f->n; a++)
            for (uint32_t b = 0; b < f->n; b++) {
                if ((a == b) != self || (rooted && a != f->root) || (to_root && b != f->root))
                    continue;
                bool whole_in = all || f->kind == RLT_ALL_GATHER || f->kind == RLT_GATHER;
                bool whole_out = all || f->kind == RLT_REDUCE_SCATTER || f->kind == RLT_SCATTER;
                ref src = {'i', whole_in ? 0 : b * f->per}, dst = {'o', whole_out ? 0 : a * f->per};
                deliver(f, a, src, b, dst, count, f->sums && !self);
            }
}

static void start(file *f)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_TO_ALL,
                                          RLT_BROADCAST,  RLT_REDUCE,     RLT_GATHER,         RLT_SCATTER};
    dice d = f->d;
    memset(f, 0, sizeof *f);
    f->d = d;
    f->kind = kinds[below(&f->d, sizeof kinds / sizeof *kinds)];
    f->n = 2 + below(&f->d, GPUS - 1);
    f->per = 1 + below(&f->d, CHUNKS / GPUS);
    f->chunks = f->per * f->n;
    f->scratch = f->chunks + below(&f->d, SCRATCH - f->chunks);
    f->sums = f->kind == RLT_ALL_REDUCE || f->kind == RLT_REDUCE_SCATTER || f->kind == RLT_REDUCE;
    /* In place, some collectives need an order of their own. */
    f->in_place =
        below(&f->d, 2) && (f->kind == RLT_ALL_GATHER || f->kind == RLT_GATHER || f->kind == RLT_BROADCAST ||
                            f->kind == RLT_REDUCE || f->kind == RLT_SCATTER);
    bool rooted =
        f->kind == RLT_BROADCAST || f->kind == RLT_SCATTER || f->kind == RLT_GATHER || f->kind == RLT_REDUCE;
    f->root = rooted ? below(&f->d, f->n) : 0;
    for (uint32_t g = 0; g < f->n; g++)
        for (uint32_t k = 0; k < f->chunks; k++) {
            bool gathers = f->kind == RLT_ALL_GATHER || f->kind == RLT_GATHER;
            bool held = f->kind == RLT_BROADCAST || f->kind == RLT_SCATTER ? g == f->root
                        : gathers                                          ? k / f->per == g
                                                                           : true;
            if (held)
                f->g[g].in[k] = (chunk){1 + roll(&f->d, (uint64_t)1 << 50), 1u << g, k};
            f->given[g][k] = f->g[g].in[k].sum;
        }
}

static void draw(file *f)
{
    uint32_t order[GPUS];
    start(f);
    for (uint32_t k = below(&f->d, 16); k > 0; k--) {
        if (below(&f->d, 2))
            draw_local(f);
        else
            draw_message(f);
    }
    finish(f);
    for (uint32_t g = 0; g < f->n; g++)
        order[g] = g;
    for (uint32_t g = f->n; g-- > 1;) {
        uint32_t other = below(&f->d, g + 1), id = order[g];
        order[g] = order[other];
        order[other] = id;
    }
    size_t n = (size_t)snprintf(
        f->text, sizeof f->text,
        "<algo name=\"drawn\" nchunksperloop=\"%u\" ngpus=\"%u\" coll=\"%s\" inplace=\"%d\" "
        "outofplace=\"%d\" root=\"%u\">\n",
        f->chunks, f->n, rlt_coll_name(f->kind), f->in_place || below(&f->d, 2), !f->in_place, f->root);
    for (uint32_t k = 0; k < f->n; k++)
        n +=
            (size_t)snprintf(f->text + n, sizeof f->text - n,
                             "<gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">\n%s</gpu>\n",
                             order[k], chunks_of(f, 'i'), chunks_of(f, 'o'), f->scratch, f->g[order[k]].text);
    snprintf(f->text + n, sizeof f->text - n, "</algo>\n");
}

/* The walk over the plan's steps. */
typedef struct walk {
    const rlt_listed *l;
    uint64_t at[GPUS][BUFFERS][CHUNKS];
    uint32_t next[GPUS * TBS];               /* step of each lane */
    uint64_t post[LINES][CHUNKS];            /* by sending step: its values */
    uint32_t from[LINES][2], arrived[LINES]; /* by receiving step: its messages */
} walk;

static void land(walk *w, uint32_t member, const rlt_step *s, const uint64_t *values)
{
    for (uint32_t i = 0; i < s->land.run; i++) {
        uint64_t *to = &w->at[member][s->land_buffer][(s->land.first + i) % w->l->blocks];
        *to = values[i] + (s->reduce ? *to : 0);
    }
}

/* Takes the next step of a lane, if it may begin and end. */
static bool advance(walk *w, uint32_t member, uint32_t lane)
{
    const rlt_listed *l = w->l;
    uint32_t place = member * l->lanes + lane, i = l->first[place] + w->next[place];
    if (i == l->first[place + 1])
        return false;
    const rlt_step *s = &l->steps[i];
    if ((s->wait_lane != RLT_NONE && w->next[member * l->lanes + s->wait_lane] <= s->wait_step) ||
        w->arrived[i] < s->recv_count)
        return false;
    assert_true(s->recv_count <= 1 && s->send.reps <= 1);
    for (uint32_t k = 0; k < s->recv_count; k++)
        land(w, member, &l->steps[w->from[i][k]], w->post[w->from[i][k]]);
    for (uint32_t k = 0; k < s->send.run && s->send.reps; k++)
        w->post[i][k] = w->at[member][s->send_buffer][(s->send.first + k) % l->blocks];
    if (s->copy)
        land(w, member, s, w->post[i]);
    if (s->send_to != RLT_NONE) {
        uint32_t to = l->first[s->send_to * l->lanes + (lane + s->peer_shift) % l->lanes] + s->peer_step;
        w->from[to][w->arrived[to]++] = i;
    }
    w->next[place]++;
    return true;
}

static void compare(file *f, const rlt_listed *l, bool scratch)
{
    static walk w;
    uint32_t places = l->n * l->lanes, done = 0;
    memset(&w, 0, sizeof w);
    w.l = l;
    assert_true(places <= GPUS * TBS && l->buffers <= BUFFERS && l->first[places] <= LINES);
    for (uint32_t g = 0; g < f->n; g++)
        memcpy(w.at[g][0], f->given[g], sizeof f->given[g]);
    for (bool moves = true; moves;) {
        moves = false;
        for (uint32_t p = 0; p < places; p++)
            while (advance(&w, p / l->lanes, p % l->lanes)) {
                moves = true;
                done++;
            }
    }
    assert_int_equal(done, l->first[places]);
    for (uint32_t g = 0; g < f->n; g++) {
        for (uint32_t k = 0; k < f->chunks; k++) {
            assert_int_equal(w.at[g][0][k], f->g[g].in[k].sum);
            if (!f->in_place)
                assert_int_equal(w.at[g][1][k], f->g[g].out[k].sum);
        }
        for (uint32_t k = 0; scratch && k < f->scratch; k++)
            if (w.at[g][2 + k / f->chunks][k % f->chunks] != f->g[g].scratch[k].sum)
                fail_msg("chunk %u of s of gpu %u:\n%s", k, g, f->text);
    }
}

/* Writes the plan of a file as a file. What lies in scratch has another place there. */
static void write_again(file *f, const rlt_listed *l)
{
    rlt_coll_request req = {.kind = f->kind, .n = f->n, .root = f->root, .bytes = 1 << 20, .listed = l};
    rlt_plan plan;
    rlt_listed again;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    if (rlt_plan_create(&rlt_custom, &req, &plan, &err) ||
        rlt_msccl_write(&plan, "drawn", &text, &length, &err) ||
        rlt_msccl_parse("written.xml", text, length, &again, &err))
        fail_msg("%s: %s\n%s", err.where, err.what, f->text);
    assert_true(again.blocks == l->blocks && again.result == l->result);
    compare(f, &again, false);
    rlt_listed_free(&again);
    rlt_plan_free(&plan);
    free(text);
}

static void files_do_what_the_run_time_does(void **state)
{
    (void)state;
    static file f;
    f.d = (dice){.seed = 5};
    for (int i = 0; i < 600; i++) {
        rlt_listed l;
        rlt_error err = {0};
        draw(&f);
        if (rlt_msccl_parse("drawn.xml", f.text, strlen(f.text), &l, &err))
            fail_msg("%s: %s\n%s", err.where, err.what, f.text);
        assert_string_equal(l.name, "drawn");
        assert_true(l.kind == f.kind && l.n == f.n && l.root == f.root && l.blocks == f.chunks);
        assert_int_equal(l.result, f.in_place ? 0 : 1);
        assert_false(l.separate || l.untracked);
        compare(&f, &l, true);
        write_again(&f, &l);
        rlt_listed_free(&l);
    }
}

/* A share of chunks for each gpu, in the collectives that need one. */
static void chunks_are_shared(void **state)
{
    (void)state;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        static const char form[] = "<algo ngpus=\"%d\" nchunksperloop=\"3\" coll=\"%s\"/>\n";
        bool shares = kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER || kind == RLT_ALL_TO_ALL ||
                      kind == RLT_GATHER || kind == RLT_SCATTER;
        for (int n = 2; n <= 3; n++) {
            char text[200];
            rlt_listed l;
            rlt_error err = {0};
            snprintf(text, sizeof text, form, n, rlt_coll_name((rlt_coll_kind)kind));
            assert_int_equal(rlt_msccl_parse("f.xml", text, strlen(text), &l, &err), RLT_ESCHEMA);
            assert_int_equal(strstr(err.what, "cannot be shared equally") != NULL, shares && n == 2);
            assert_int_equal(strstr(err.what, "needs 2 gpus, got 3") != NULL,
                             kind == RLT_SEND_RECV && n == 3);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_do_what_the_run_time_does),
        cmocka_unit_test(chunks_are_shared),
    };
    return cmocka_run_group_tests_name("msccl_steps", tests, NULL, NULL);
}
