/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random pipeline jobs as tables of their operations. A small simulation of ranks that wait for each other
 * writes the table. The program that is read from it must take as long as the job, at other speeds of
 * computation and network as long as the simulation at these, and without stragglers as long as with the
 * typical durations of each kind.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/text_file.h"
#include "test/support/traces/kineto.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

enum { MAX_RANKS = 12, MAX_OPS = 40, MAX_STEPS = 3, GROUPS = 4096 };
typedef enum kind { COMPUTE, MESSAGE, DATA, ENDS, ALL, ALONE } kind;

/* Times in us. */
typedef struct op {
    const char *type;
    kind kind;
    uint32_t seq, group; /* group: of those that meet; 0: none */
    bool joins;          /* begins with the one before it */
    int64_t gap, cut;    /* before it; cut: without waiting that is not recorded */
    int64_t length, start, end;
} op;

typedef struct job {
    dice d;
    uint32_t dp, pp, n_steps, n_groups, empty;
    uint64_t numbers[MAX_STEPS];
    op ops[MAX_STEPS][MAX_RANKS][MAX_OPS];
    uint32_t n[MAX_STEPS][MAX_RANKS];
    uint32_t messages[MAX_STEPS][2][MAX_RANKS][64]; /* group: back or forward, from or to a rank, by number */
    int64_t transfer[GROUPS];
    uint32_t members[GROUPS];
    char text[1 << 17];
} job;

/* How a job runs: divisors of computation, factors of transfers, and whether the gaps are as recorded. */
typedef struct speed {
    int compute, network;
    bool recorded;
} speed;

static op *add(job *j, uint32_t step, uint32_t rank, const char *type, kind what, uint32_t seq)
{
    op *o = &j->ops[step][rank][j->n[step][rank]++];
    assert_true(j->n[step][rank] <= MAX_OPS);
    *o = (op){.type = type, .kind = what, .seq = seq, .length = 2 * (5 + (int64_t)below(&j->d, 5000))};
    return o;
}

/* The group of some ranks' operations; its transfer is drawn with the first member. */
static void gather(job *j, op *o, uint32_t *group)
{
    if (*group == 0) {
        *group = ++j->n_groups;
        assert_true(j->n_groups < GROUPS);
        j->transfer[*group] = 10 + (int64_t)below(&j->d, 3000);
        j->members[*group] = 0;
    }
    o->group = *group;
    j->members[*group]++;
}

/* An operation of the ranks of a stage, of the ends of each pipeline, or of all. */
static void add_all(job *j, uint32_t step, const char *type, kind what, uint32_t seq)
{
    uint32_t groups[MAX_RANKS] = {0};
    for (uint32_t r = 0; r < j->dp * j->pp; r++) {
        uint32_t stage = r / j->dp, place = r % j->dp;
        if (what == ENDS && stage != 0 && stage + 1 != j->pp)
            continue;
        op *o = add(j, step, r, type, what, seq);
        if (what != COMPUTE)
            gather(j, o, &groups[what == DATA ? stage : what == ENDS ? place : what == ALL ? 0 : r]);
    }
}

/* A message of a rank's stage to the next one (forward) or back. */
static void add_message(job *j, uint32_t step, uint32_t rank, bool forward, bool sends, uint32_t seq)
{
    const char *type =
        forward ? (sends ? "forward-send" : "forward-recv") : (sends ? "backward-send" : "backward-recv");
    uint32_t lower = forward == sends ? rank : rank - j->dp;
    gather(j, add(j, step, rank, type, MESSAGE, seq), &j->messages[step][forward][lower][seq]);
}

/* Each microbatch goes forward through the stages, then each goes back. Pairs of stages exchange two
 * messages at once. */
static void draw_step(job *j, uint32_t step)
{
    static const char *const kinds[] = {"forward-compute", "backward-compute", "optimizer", "lossy-part",
                                        "gc"};
    uint32_t batches = 1 + below(&j->d, 3), ranks = j->dp * j->pp;
    if (below(&j->d, 2))
        add_all(j, step, "params-all-gather", DATA, below(&j->d, 100));
    for (uint32_t r = 0; r < ranks && j->pp > 1; r++) {
        uint32_t stage = r / j->dp;
        bool first = stage % 2 == 0;
        if ((first && stage + 1 == j->pp))
            continue;
        add(j, step, r, kinds[3], COMPUTE, 0);
        add_message(j, step, r, true, first, 50);
        add_message(j, step, r, false, !first, 50);
        j->ops[step][r][j->n[step][r] - 1].joins = true;
    }
    for (uint32_t back = 0; back < 2; back++)
        for (uint32_t m = 0; m < batches; m++)
            for (uint32_t r = 0; r < ranks; r++) {
                uint32_t stage = r / j->dp;
                if (back ? stage + 1 < j->pp : stage > 0)
                    add_message(j, step, r, !back, false, m);
                add(j, step, r, kinds[back], COMPUTE, m);
                if (back ? stage > 0 : stage + 1 < j->pp)
                    add_message(j, step, r, !back, true, m);
            }
    add_all(j, step, "grads-reduce-scatter", DATA, 0);
    if (below(&j->d, 2))
        add_all(j, step, "separate-grads-all-reduce", DATA, 1);
    if (below(&j->d, 2))
        add_all(j, step, "embedding-grads-all-reduce", ENDS, 0);
    if (below(&j->d, 2))
        add_all(j, step, "layernorm-grads-all-reduce", ALONE, 0);
    if (below(&j->d, 2))
        add_all(j, step, "optimizer-clip-main-grad", ALL, 0);
    add_all(j, step, kinds[2], COMPUTE, 0);
}

/* A gap is as long as the shortest at its place in the stage, up to 1 ms more, or much longer: then the rest
 * is waiting. The first operation keeps its distance from the begin of the step. */
static void draw_gaps(job *j, uint32_t step)
{
    for (uint32_t stage = 0; stage < j->pp; stage++)
        for (uint32_t i = 0; i < MAX_OPS; i++) {
            int64_t common = below(&j->d, 2) ? 2 + (int64_t)below(&j->d, 900) : 0;
            uint32_t least = stage * j->dp + below(&j->d, j->dp);
            for (uint32_t r = stage * j->dp; r < (stage + 1) * j->dp; r++) {
                op *o = &j->ops[step][r][i];
                uint32_t how = below(&j->d, 4);
                int64_t more = r == least ? 0
                               : how == 0 ? 1000
                               : how == 1 ? 1001 + (int64_t)below(&j->d, 5000)
                                          : 0;
                if (i >= j->n[step][r] || o->joins)
                    continue;
                o->gap = o->cut = common + more;
                if (i == 0)
                    o->gap = o->cut = below(&j->d, 2) ? (int64_t)below(&j->d, 5000) : 0;
                else if (more > 1000)
                    o->cut = common;
            }
        }
}

/* Runs a step. Returns its span: from the first begin to the last end. */
static int64_t run_step(job *j, uint32_t step, speed v)
{
    uint32_t next[MAX_RANKS] = {0}, met[GROUPS] = {0}, ranks = j->dp * j->pp;
    static int64_t last[GROUPS];
    int64_t first = INT64_MAX, end = 0;
    memset(last, 0, sizeof last);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t r = 0; r < ranks; r++) {
            op *all = j->ops[step][r], *o = &all[next[r]];
            uint32_t n = next[r] + 1 < j->n[step][r] && o[1].joins ? 2 : 1;
            if (next[r] == j->n[step][r])
                continue;
            int64_t before = 0;
            for (uint32_t i = 0; i < next[r]; i++)
                before = all[i].end > before ? all[i].end : before;
            if (o->start < 0) {
                for (uint32_t i = 0; i < n; i++) {
                    o[i].start = before + (v.recorded ? o->gap : o->cut);
                    if (o[i].group) {
                        last[o[i].group] = o[i].start > last[o[i].group] ? o[i].start : last[o[i].group];
                        met[o[i].group]++;
                    }
                }
                moved = true;
            }
            bool over = true;
            for (uint32_t i = 0; i < n; i++)
                over &= !o[i].group || met[o[i].group] == j->members[o[i].group];
            if (!over)
                continue;
            for (uint32_t i = 0; i < n; i++) {
                o[i].end = o[i].group ? last[o[i].group] + j->transfer[o[i].group] * v.network
                                      : o[i].start + o[i].length / v.compute;
                first = o[i].start < first ? o[i].start : first;
                end = o[i].end > end ? o[i].end : end;
            }
            next[r] += n;
            moved = true;
        }
    }
    for (uint32_t r = 0; r < ranks; r++)
        assert_int_equal(next[r], j->n[step][r]);
    return end - first;
}

/* The time of a step that begins when its first rank does. */
static int64_t span(job *j, uint32_t step, speed v)
{
    int64_t least = INT64_MAX;
    for (uint32_t r = 0; r < j->dp * j->pp; r++) {
        least = j->ops[step][r][0].gap < least ? j->ops[step][r][0].gap : least;
        for (uint32_t i = 0; i < j->n[step][r]; i++)
            j->ops[step][r][i].start = j->ops[step][r][i].end = -1;
    }
    for (uint32_t r = 0; r < j->dp * j->pp; r++) {
        j->ops[step][r][0].gap -= least;
        j->ops[step][r][0].cut -= least;
    }
    return run_step(j, step, v);
}

static size_t row(const job *j, char *out, size_t size, const char *const *columns, uint32_t step,
                  uint32_t rank, const op *o)
{
    char cells[8][64];
    size_t n = 0;
    for (int c = 0; c < 8; c++) {
        const char *name = columns[c];
        if (!strcmp(name, "dp_rank"))
            snprintf(cells[c], 64, "%u", rank % j->dp);
        else if (!strcmp(name, "stage"))
            snprintf(cells[c], 64, "%u", rank / j->dp);
        else if (!strcmp(name, "step"))
            snprintf(cells[c], 64, "%llu", (unsigned long long)j->numbers[step]);
        else if (!strcmp(name, "optype"))
            snprintf(cells[c], 64, "%s", o->type);
        else if (!strcmp(name, "start_ts"))
            snprintf(cells[c], 64, "%.6f", (double)o->start * 1e-6);
        else if (!strcmp(name, "duration"))
            snprintf(cells[c], 64, "%.6f", (double)(o->end - o->start) * 1e-6);
        else if (!strcmp(name, "mc"))
            snprintf(cells[c], 64, "%s", o->seq % 2 ? "-1" : "0");
        else
            snprintf(cells[c], 64, "%u", o->seq);
        n += (size_t)snprintf(out + n, size - n, "%s%s", c ? "," : "", cells[c]);
    }
    return n + (size_t)snprintf(out + n, size - n, "\n");
}

/* Rows and columns in any order, with marks without a duration between them. */
static void write_table(job *j)
{
    const char *columns[] = {"dp_rank", "stage", "step", "optype", "start_ts", "duration", "seq_id", "mc"};
    static struct {
        uint32_t step, rank, i;
    } rows[MAX_STEPS * MAX_RANKS * MAX_OPS];
    uint32_t n = 0;
    size_t at = 0;
    for (uint32_t c = 8; c-- > 1;) {
        uint32_t k = below(&j->d, c + 1);
        const char *x = columns[c];
        columns[c] = columns[k];
        columns[k] = x;
    }
    for (int c = 0; c < 8; c++)
        at += (size_t)snprintf(j->text + at, sizeof j->text - at, "%s%s", c ? "," : "", columns[c]);
    at += (size_t)snprintf(j->text + at, sizeof j->text - at, "\n");
    for (uint32_t s = 0; s < j->n_steps; s++)
        for (uint32_t r = 0; r < j->dp * j->pp; r++)
            for (uint32_t i = 0; i < j->n[s][r]; i++) {
                rows[n].step = s;
                rows[n].rank = r;
                rows[n++].i = i;
            }
    for (uint32_t k = n; k > 0; k--) {
        uint32_t pick = below(&j->d, k), s = rows[pick].step, r = rows[pick].rank;
        const op *o = &j->ops[s][r][rows[pick].i];
        at += row(j, j->text + at, sizeof j->text - at, columns, s, r, o);
        if (below(&j->d, 20) == 0) {
            op mark = {.type = "gc", .start = o->end, .end = o->end};
            at += row(j, j->text + at, sizeof j->text - at, columns, s, r, &mark);
            j->empty++;
        }
        rows[pick] = rows[k - 1];
        assert_true(at < sizeof j->text - 200);
    }
}

static void draw(job *j)
{
    dice d = j->d;
    memset(j, 0, sizeof *j);
    j->d = d;
    j->dp = 1 + below(&j->d, 3);
    j->pp = 1 + below(&j->d, 4);
    j->n_steps = 1 + below(&j->d, MAX_STEPS);
    for (uint32_t s = 0; s < j->n_steps; s++) {
        j->numbers[s] = (s ? j->numbers[s - 1] : 0) + 1 + below(&j->d, 1000);
        draw_step(j, s);
        draw_gaps(j, s);
    }
}

static int try_table(const job *j, const rlt_read_options *o, rlt_program **p, rlt_error *err)
{
    char path[] = "/tmp/ringlet-drawn-XXXXXX", named[64];
    const char *list = named;
    *p = NULL;
    test_write_new(path, j->text, strlen(j->text));
    snprintf(named, sizeof named, "%s.csv", path);
    assert_int_equal(rename(path, named), 0);
    int rc = rlt_trace_read(&list, 1, o, p, err);
    unlink(named);
    return rc;
}

static rlt_program *read_table(const job *j, bool ideal)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    rlt_read_options o = {.first_step = -1, .last_step = -1, .ideal = ideal};
    if (try_table(j, &o, &p, &err))
        fail_msg("%s: %s\n%s", err.where, err.what, j->text);
    return p;
}

static void expect_spans(const rlt_program *p, const rlt_topology *t, const job *j, const int64_t *us,
                         double compute, double network)
{
    rlt_error err = {0};
    rlt_replay *x = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.compute_scale = compute;
    o.network_scale = network;
    if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_replay_iterations(x), j->n_steps);
    for (uint32_t s = 0; s < j->n_steps; s++)
        if (rlt_replay_iteration_ps(x, s) != us[s] * RLT_US)
            fail_msg("step %u of %u x %u takes %lld ps, not %lld us, at %g and %g:\n%s", s, j->dp, j->pp,
                     (long long)rlt_replay_iteration_ps(x, s), (long long)us[s], compute, network, j->text);
    rlt_replay_free(x);
}

/* The kind of a collective, and who takes part: their number, and the first of them. */
static void check_collective(const rlt_program *p, const job *j, uint32_t rank, const op *o, const rlt_op *x)
{
    static const struct {
        const char *part;
        rlt_coll_kind kind;
    } kinds[] = {
        {"all-gather", RLT_ALL_GATHER}, {"reduce-scatter", RLT_REDUCE_SCATTER}, {"", RLT_ALL_REDUCE}};
    const rlt_comm *c = &p->comms[x->comm];
    const uint32_t *members = p->group_ranks + p->group_first[c->group];
    uint32_t n = p->group_first[c->group + 1] - p->group_first[c->group], i = 0;
    while (!strstr(o->type, kinds[i].part))
        i++;
    assert_int_equal(c->kind, kinds[i].kind);
    assert_int_equal(n, o->kind == DATA   ? j->dp
                        : o->kind == ALL  ? j->dp * j->pp
                        : o->kind == ENDS ? (j->pp > 1 ? 2 : 1)
                                          : 1);
    assert_int_equal(members[0], o->kind == DATA   ? rank / j->dp * j->dp
                                 : o->kind == ALL  ? 0
                                 : o->kind == ENDS ? rank % j->dp
                                                   : rank);
}

/* Each row is an operation of its rank and step, with its recorded times. Steps follow one another. */
static void check_ops(const rlt_program *p, const job *j, const int64_t *spans)
{
    for (uint32_t r = 0; r < j->dp * j->pp; r++) {
        int64_t begin = 0, end = 0;
        for (uint32_t s = 0; s < j->n_steps; begin += spans[s++])
            for (uint32_t i = 0; i < j->n[s][r]; i++) {
                const op *o = &j->ops[s][r][i];
                char name[100];
                uint32_t k = p->rank_first[r];
                snprintf(name, sizeof name, "%s %u", o->type, o->seq);
                while (k < p->rank_first[r + 1] &&
                       (p->ops[k].step != s || strcmp(rlt_program_string(p, p->ops[k].name), name) != 0))
                    k++;
                assert_true(k < p->rank_first[r + 1]);
                const rlt_op *x = &p->ops[k];
                assert_int_equal(x->recorded_ps, (begin + o->start) * RLT_US);
                assert_int_equal(x->recorded_duration_ps, (o->end - o->start) * RLT_US);
                end = begin + o->end > end ? begin + o->end : end;
                bool sends = strstr(o->type, "send") != NULL;
                assert_int_equal(x->kind, o->kind == COMPUTE   ? RLT_OP_COMPUTE
                                          : o->kind != MESSAGE ? RLT_OP_COLLECTIVE
                                          : sends              ? RLT_OP_SEND
                                                               : RLT_OP_RECV);
                assert_int_equal(x->duration_ps, (o->group ? j->transfer[o->group] : o->length) * RLT_US);
                if (o->kind == MESSAGE)
                    assert_true(x->purpose == RLT_FOR_PP && x->member == !sends);
                else if (o->kind != COMPUTE)
                    check_collective(p, j, r, o, x);
            }
        assert_int_equal(p->rank_recorded_ps[r], end * RLT_US);
    }
}

/* Some of the steps, and those that are not there. */
static void check_choice(job *j, const rlt_topology *t, const int64_t *us)
{
    for (int first = -1; first < MAX_STEPS; first++)
        for (int last = 0; last <= MAX_STEPS; last++) {
            rlt_read_options o = {.first_step = first, .last_step = last};
            rlt_program *p;
            rlt_error err = {0};
            int rc = try_table(j, &o, &p, &err);
            uint32_t from = first < 0 ? 0 : (uint32_t)first, all = j->n_steps;
            if (last >= (int)all || (int)from > last) {
                assert_int_equal(rc, RLT_ERANGE);
                assert_non_null(strstr(err.what, "expected steps within"));
                continue;
            }
            assert_int_equal(rc, 0);
            j->n_steps = (uint32_t)last + 1 - from;
            expect_spans(p, t, j, us + from, 1, 1);
            j->n_steps = all;
            rlt_program_free(p);
        }
}

static void jobs_take_their_time(void **state)
{
    static const speed speeds[] = {{1, 1, false}, {2, 1, false}, {1, 2, false}};
    static job j;
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    j.d = (dice){.seed = 21};
    assert_int_equal(rlt_topology_load("switch:12@50GB/s,1us", "topologies", &t, &err), 0);
    for (int k = 0; k < 60; k++) {
        int64_t us[MAX_STEPS];
        uint64_t kept = 0, cut = 0, unknown = 0;
        draw(&j);
        for (uint32_t s = 0; s < j.n_steps; s++) {
            us[s] = span(&j, s, (speed){1, 1, true});
            for (uint32_t r = 0; r < j.dp * j.pp; r++)
                for (uint32_t i = 0; i < j.n[s][r]; i++) {
                    const op *o = &j.ops[s][r][i];
                    kept += i > 0 && o->cut > 0;
                    cut += i > 0 && o->cut < o->gap;
                    unknown += strcmp(o->type, "lossy-part") == 0;
                }
        }
        write_table(&j);
        rlt_program *p = read_table(&j, false);
        check_ops(p, &j, us);
        assert_string_equal(p->reader, "timeline");
        assert_int_equal(p->n_ranks, j.dp * j.pp);
        assert_int_equal(noted(p, "kept as idle time"), kept);
        assert_int_equal(noted(p, "gap cut to the shortest"), cut);
        assert_int_equal(noted(p, "without a duration"), j.empty);
        assert_int_equal(noted(p, "'lossy-part' of an unknown kind"), unknown);
        for (size_t v = 0; v < sizeof speeds / sizeof *speeds; v++) {
            for (uint32_t s = 0; s < j.n_steps; s++)
                us[s] = span(&j, s, speeds[v]);
            expect_spans(p, t, &j, us, speeds[v].compute, 1.0 / speeds[v].network);
            if (v == 0 && k % 5 == 0)
                check_choice(&j, t, us);
        }
        rlt_program_free(p);
    }
    rlt_topology_free(t);
}

static int64_t mean(const int64_t *v, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += v[i];
    return (2 * sum + n) / (2 * (int64_t)n);
}

static int64_t median(int64_t *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
            int64_t x = v[k];
            v[k] = v[k - 1];
            v[k - 1] = x;
        }
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Gives all operations of a kind the mean of their lengths, or the median of their transfers, in ps. */
static void make_typical(job *j, const char *type)
{
    static int64_t v[MAX_STEPS * MAX_RANKS * MAX_OPS];
    uint32_t n = 0;
    bool meets = false;
    for (int set = 0; set < 2; set++) {
        int64_t typical = set == 0 || n == 0 ? 0 : meets ? median(v, n) : mean(v, n);
        for (uint32_t s = 0; s < j->n_steps; s++)
            for (uint32_t r = 0; r < j->dp * j->pp; r++)
                for (uint32_t i = 0; i < j->n[s][r]; i++) {
                    op *o = &j->ops[s][r][i];
                    if (strcmp(o->type, type) != 0)
                        continue;
                    meets = o->group > 0;
                    if (!set)
                        v[n++] = (o->group ? j->transfer[o->group] : o->length) * 1000000;
                    o->length = set ? typical : o->length;
                }
    }
}

/* The table is that of a job with its stragglers. */
static void typical_jobs(void **state)
{
    static const char *const types[] = {"forward-compute",
                                        "backward-compute",
                                        "optimizer",
                                        "lossy-part",
                                        "forward-send",
                                        "backward-send",
                                        "params-all-gather",
                                        "grads-reduce-scatter",
                                        "separate-grads-all-reduce",
                                        "layernorm-grads-all-reduce",
                                        "embedding-grads-all-reduce",
                                        "optimizer-clip-main-grad"};
    static job j;
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    j.d = (dice){.seed = 22};
    assert_int_equal(rlt_topology_load("switch:12@50GB/s,1us", "topologies", &t, &err), 0);
    for (int k = 0; k < 30; k++) {
        int64_t ps[MAX_STEPS];
        draw(&j);
        for (uint32_t s = 0; s < j.n_steps; s++)
            span(&j, s, (speed){1, 1, true});
        write_table(&j);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            make_typical(&j, types[i]);
        for (uint32_t s = 0; s < j.n_steps; s++) {
            for (uint32_t r = 0; r < j.dp * j.pp; r++)
                for (uint32_t i = 0; i < j.n[s][r]; i++) {
                    op *o = &j.ops[s][r][i];
                    o->gap = o->cut = 0;
                    if (o->group && (o->kind != MESSAGE || strstr(o->type, "send")))
                        j.transfer[o->group] = o->length;
                }
            ps[s] = span(&j, s, (speed){1, 1, false});
        }
        rlt_program *p = read_table(&j, true);
        assert_int_equal(noted(p, "kept as idle time") + noted(p, "gap cut to the shortest"), 0);
        rlt_replay *x = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        assert_int_equal(rlt_replay_create(p, &o, &x, &err), 0);
        assert_int_equal(rlt_replay_run(x, &err), 0);
        for (uint32_t s = 0; s < j.n_steps; s++)
            assert_int_equal(rlt_replay_iteration_ps(x, s), ps[s]);
        rlt_replay_free(x);
        rlt_program_free(p);
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_take_their_time),
        cmocka_unit_test(typical_jobs),
    };
    return cmocka_run_group_tests_name("timelines_drawn", tests, NULL, NULL);
}
