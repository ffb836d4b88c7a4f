/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random recordings with cuda_sync events: two threads launch kernels, copies and collectives on a few
 * streams, record events, and wait. While a recording is drawn it is known what waits for what. Played with
 * the recorded transfers, all work ends when it was recorded to end. Work that takes longer delays what
 * waits for it, and nothing else.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { MAX_WORKS = 20, STREAMS = 3, RECORDS = 16, NONE = -1, CORRELATED = 1000 };

typedef struct work {
    char name[32];
    int stream;
    bool nccl;
    int64_t start, end, cut; /* ns; cut: when the host's part is over */
    uint32_t needs;          /* a bit for each work that it waits for, itself included */
} work;

typedef struct thread {
    int64_t now; /* when it may call again */
    uint32_t needs;
    bool seen;
} thread;

typedef struct drawn {
    dice d;
    char text[1 << 16];
    size_t n;
    int64_t begin, end, clock; /* clock: nothing is called before */
    int64_t steps[4];          /* begins, and the end */
    int n_steps;
    work works[MAX_WORKS];
    int n_works, last[STREAMS], n_records;
    struct {
        int call, stream, last; /* number of the call; the stream's last work then */
    } records[RECORDS];
    uint32_t pending[STREAMS];
    int64_t pending_end[STREAMS];
    thread threads[2];
    int correlation;
    uint64_t outside, carried, evident, long_gaps, tail;
} drawn;

static void say(drawn *x, const char *category, const char *name, int pid, int tid, int64_t begin,
                int64_t end, const char *args)
{
    x->n += (size_t)snprintf(
        x->text + x->n, sizeof x->text - x->n,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03d,"
        "\"dur\":%lld.%03d,\"args\":{%s}},\n",
        category, name, pid, tid, (long long)(begin / 1000), (int)(begin % 1000),
        (long long)((end - begin) / 1000), (int)((end - begin) % 1000), args);
    assert_true(x->n < sizeof x->text - 100);
}

static void call(drawn *x, int by, const char *name, int64_t begin, int64_t end)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", ++x->correlation);
    say(x, "cuda_runtime", name, 1, by + 1, begin, end, args);
    x->threads[by].now = end;
}

static void say_work(drawn *x, const work *w, bool copy)
{
    char args[300];
    snprintf(args, sizeof args, "\"device\":0,\"stream\":%d,\"correlation\":%d%s", 7 + w->stream,
             x->correlation,
             !w->nccl ? ""
                      : ",\"Collective name\":\"allreduce\",\"In msg nelems\":100,\"Out msg nelems\":100,"
                        "\"dtype\":\"Float\",\"Group size\":1,\"Process Group Name\":\"0\","
                        "\"Process Group Ranks\":\"[0]\"");
    say(x, copy ? "gpu_memcpy" : "kernel", w->name, 0, 7 + w->stream, w->start, w->end, args);
}

static void sync_event(drawn *x, const char *kind, int64_t at, int stream, int source, int record)
{
    char args[300];
    int n = snprintf(args, sizeof args, "\"cuda_sync_kind\":\"%s\",\"device\":0,\"correlation\":%d", kind,
                     x->correlation);
    if (stream != NONE)
        n += snprintf(args + n, sizeof args - (size_t)n, ",\"stream\":%d", 7 + stream);
    if (source != NONE)
        snprintf(args + n, sizeof args - (size_t)n,
                 ",\"wait_on_stream\":%d,\"wait_on_cuda_event_record_corr_id\":%d", 7 + source, record);
    say(x, "cuda_sync", kind, 0, 7, at, at + 1, args);
}

/* Some nanoseconds, so that no two things end at once. */
static int64_t jitter(drawn *x, int64_t us)
{
    return us * 1000 + below(&x->d, 997);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The thread that calls next, and when. */
static int64_t next_call(drawn *x, int *by)
{
    *by = below(&x->d, 3) == 0;
    return later(x->clock, x->threads[*by].now) + jitter(x, 1 + below(&x->d, 20));
}

/* The same for a launch or a wait. The second thread's first one follows from what the main thread has
 * reached. */
static int64_t next_work(drawn *x, int *by)
{
    int64_t t = next_call(x, by);
    if (*by && !x->threads[1].seen) {
        t = later(t, x->threads[0].now + 1500);
        x->threads[1].needs = x->threads[0].needs;
        x->threads[1].seen = true;
    }
    return t;
}

/* The end of the last collective of another stream that explains why work began, in a gap from `base` on. */
static int evidence(const drawn *x, const work *w, int64_t base)
{
    int64_t rest = (w->start - base) / 20;
    int best = NONE;
    rest = rest < 10000 ? 10000 : rest > 50000 ? 50000 : rest;
    for (int i = 0; i < x->n_works && w->start - base > 10000; i++) {
        const work *c = &x->works[i];
        if (c->nccl && c->stream != w->stream && c->end > base && c->end <= w->start + 1000 &&
            w->start - c->end <= rest && (best == NONE || c->end > x->works[best].end))
            best = i;
    }
    return best;
}

/* When work begins: as soon as it can, later, or just after a collective. */
static int64_t draw_start(drawn *x, int64_t ready)
{
    static const int64_t gaps[] = {0, 0, 1, 12, 45, 60, 300, 1500};
    if (x->n_works && below(&x->d, 3) == 0) {
        const work *c = &x->works[below(&x->d, (uint32_t)x->n_works)];
        int64_t at = c->end + jitter(x, below(&x->d, 60));
        if (c->nccl && at >= ready)
            return at;
    }
    return ready + jitter(x, gaps[below(&x->d, 8)]);
}

/* `copy`: its call waits until it is over. */
static void launch(drawn *x, bool copy)
{
    int by;
    int64_t t = next_work(x, &by), over = t + jitter(x, 5);
    thread *h = &x->threads[by];
    int s = (int)below(&x->d, STREAMS);
    work w = {.stream = s, .nccl = !copy && below(&x->d, 3) == 0};
    int64_t before = x->last[s] == NONE ? 0 : x->works[x->last[s]].end;
    int64_t ready = later(later(t + 1000, before), later(x->pending_end[s], x->begin));
    snprintf(w.name, sizeof w.name, w.nccl ? "ncclDevKernel_AllReduce_%d" : "work_%d", x->n_works);
    w.start = draw_start(x, ready);
    w.end = w.start + jitter(x, 1 + below(&x->d, 200));
    if (copy)
        over = w.end + jitter(x, 1);
    w.cut = copy ? t : over < w.start ? over : w.start;
    w.needs = h->needs | x->pending[s] | (x->last[s] == NONE ? 0 : x->works[x->last[s]].needs);
    int64_t base = later(later(w.cut, x->begin), later(before, x->pending_end[s]));
    int reason = w.nccl ? NONE : evidence(x, &w, base);
    if (reason != NONE) {
        w.needs |= x->works[reason].needs;
        base = later(base, x->works[reason].end);
        x->evident++;
    }
    x->long_gaps += w.start - base > 50000;
    w.needs |= 1u << x->n_works;
    call(x, by, copy ? "cudaMemcpy" : "cudaLaunchKernel", t, over);
    say_work(x, &w, copy);
    x->clock = copy ? t + 1000 : over;
    if (copy)
        h->needs |= w.needs;
    x->pending[s] = 0;
    x->pending_end[s] = 0;
    x->last[s] = x->n_works;
    x->works[x->n_works++] = w;
}

static void record(drawn *x)
{
    int by, s = (int)below(&x->d, STREAMS);
    int64_t t = next_call(x, &by);
    if (x->n_records == RECORDS)
        return;
    call(x, by, "cudaEventRecord", t, t + 1000);
    x->clock = t + 1000;
    x->records[x->n_records].call = x->correlation;
    x->records[x->n_records].stream = s;
    x->records[x->n_records++].last = x->last[s];
}

/* The next work of a stream waits for what a record found. */
static void stream_wait(drawn *x)
{
    int by, s = (int)below(&x->d, STREAMS);
    if (x->n_records == 0)
        return;
    uint32_t r = below(&x->d, (uint32_t)x->n_records);
    int64_t t = next_call(x, &by);
    int on = x->records[r].last;
    call(x, by, "cudaStreamWaitEvent", t, t + 1000);
    sync_event(x, "Stream Wait Event", t, s, x->records[r].stream, x->records[r].call);
    x->clock = t + 1000;
    if (on != NONE) {
        x->pending[s] |= x->works[on].needs;
        x->pending_end[s] = later(x->pending_end[s], x->works[on].end);
    }
}

/* A thread waits for the device, a stream or a record. */
static void synchronise(drawn *x)
{
    static const char *const names[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                        "cudaEventSynchronize"};
    int by, kind = (int)below(&x->d, 3), s = (int)below(&x->d, STREAMS);
    uint32_t r = x->n_records ? below(&x->d, (uint32_t)x->n_records) : 0;
    if (kind == 2 && (x->n_records == 0 || x->records[r].last == NONE))
        return;
    int64_t t = next_work(x, &by), end = t + 1000;
    thread *h = &x->threads[by];
    for (int i = 0; i < STREAMS; i++) {
        int op = kind == 2 ? x->records[r].last : x->last[kind == 1 ? s : i];
        if (op == NONE)
            continue;
        h->needs |= x->works[op].needs;
        end = later(end, x->works[op].end);
    }
    call(x, by, names[kind], t, end + jitter(x, 1 + below(&x->d, 3)));
    x->clock = t + 1000;
    if (kind == 1)
        sync_event(x, "Stream Sync", t, s, NONE, 0);
    if (kind == 2)
        sync_event(x, "Event Sync", t, NONE, x->records[r].stream, x->records[r].call);
}

/* The last work of a stream that is no collective and ended before a time. */
static int ended_before(const drawn *x, int stream, int64_t t)
{
    for (int i = x->n_works; i-- > 0;)
        if (x->works[i].stream == stream && !x->works[i].nccl && x->works[i].end <= t)
            return i;
    return NONE;
}

/* Work that was launched before the steps and runs inside, in the order of time. A collective waits for what
 * ended before it on other streams. *at: when the one before began. */
static void launch_early(drawn *x, int64_t *at)
{
    int s = (int)below(&x->d, STREAMS);
    work w = {.stream = s, .nccl = below(&x->d, 2)};
    int64_t before = x->last[s] == NONE ? 0 : x->works[x->last[s]].end,
            begin = *at = draw_start(x, later(*at + 1, before));
    for (int i = 0; i < x->n_works; i++)
        if (x->works[i].end > begin && x->works[i].end <= begin + 1000)
            return; /* such a small contradiction of times counts as an order */
    snprintf(w.name, sizeof w.name, w.nccl ? "ncclDevKernel_AllReduce_%d" : "work_%d", x->n_works);
    w.start = begin;
    w.end = later(begin, x->begin) + jitter(x, 1 + below(&x->d, 100));
    w.needs = x->last[s] == NONE ? 0 : x->works[x->last[s]].needs;
    int64_t base = later(x->begin, before);
    for (int i = 0; i < STREAMS && w.nccl; i++) {
        int other = i == s ? NONE : ended_before(x, i, begin);
        w.needs |= other == NONE ? 0 : x->works[other].needs;
        base = other == NONE ? base : later(base, x->works[other].end);
    }
    if (begin < x->begin && below(&x->d, 2))
        x->correlation++; /* its call is not recorded */
    else
        call(x, 0, "cudaLaunchKernel", x->begin - 4000 + x->correlation, x->begin - 2000);
    say_work(x, &w, false);
    w.start = w.cut = later(begin, x->begin);
    int reason = w.nccl ? NONE : evidence(x, &w, base);
    if (reason != NONE) {
        w.needs |= x->works[reason].needs;
        base = later(base, x->works[reason].end);
        x->evident++;
    }
    x->carried++;
    x->long_gaps += w.start - base > 50000;
    w.needs |= 1u << x->n_works;
    x->last[s] = x->n_works;
    x->works[x->n_works++] = w;
}

/* Work without a launch that begins when the steps are over, or ended when they began. */
static void leave_out_at(drawn *x, int64_t begin, int64_t end)
{
    work w = {.name = "outside", .stream = STREAMS, .start = begin, .end = end};
    x->correlation++;
    say_work(x, &w, below(&x->d, 2));
    x->outside++;
}

/* Work that ended before the steps, or was launched after them. */
static void leave_out(drawn *x)
{
    work w = {.name = "outside", .stream = (int)below(&x->d, STREAMS)};
    bool after = below(&x->d, 2);
    int64_t t = !after ? x->begin - jitter(x, 50) : below(&x->d, 2) ? x->end : x->end + jitter(x, 40);
    w.start = t + jitter(x, 5);
    w.end = after ? w.start + 5000 : x->begin;
    call(x, 0, "cudaLaunchKernel", t, t + 1000);
    say_work(x, &w, false);
    x->outside++;
}

static void draw(drawn *x)
{
    dice d = x->d;
    char name[32];
    memset(x, 0, sizeof *x);
    x->d = d;
    for (int s = 0; s < STREAMS; s++)
        x->last[s] = NONE;
    x->n = (size_t)snprintf(x->text, sizeof x->text, "{\"traceEvents\":[");
    x->begin = x->clock = jitter(x, 5000);
    x->threads[0].now = x->threads[1].now = x->begin;
    sync_event(x, "Stream Wait Event", x->begin, 0, NONE, 0); /* the recording has them */
    x->correlation = CORRELATED;
    int64_t at = x->begin - jitter(x, 100);
    for (int k = below(&x->d, 2) ? (int)below(&x->d, 6) : 0; k > 0; k--)
        launch_early(x, &at);
    x->threads[0].now = x->begin;
    for (int k = 8 + (int)below(&x->d, 30); k > 0; k--) {
        uint32_t what = below(&x->d, 10);
        if (what < 6 && x->n_works < MAX_WORKS)
            launch(x, what == 0);
        else if (what == 6)
            record(x);
        else if (what == 7)
            stream_wait(x);
        else if (what > 7)
            synchronise(x);
    }
    x->end = later(later(x->clock, x->threads[0].now), x->threads[1].now) + jitter(x, 1);
    x->n_steps = 1 + (int)below(&x->d, 3);
    for (int i = 0; i <= x->n_steps; i++)
        x->steps[i] = i == x->n_steps ? x->end : x->begin + (x->end - x->begin) * i / x->n_steps;
    for (int i = x->n_steps; i-- > 0;) {
        snprintf(name, sizeof name, "ProfilerStep#%d", 3 + i);
        say(x, "user_annotation", name, 1, 1, x->steps[i], x->steps[i + 1], "");
    }
    for (int k = (int)below(&x->d, 3); k > 0; k--)
        leave_out(x);
    if (below(&x->d, 3) == 0)
        leave_out_at(x, x->end, x->end + 5000);
    if (below(&x->d, 3) == 0)
        leave_out_at(x, x->begin - 1, x->begin);
    for (int i = 0; i < x->n_works; i++)
        x->tail += x->works[i].end > x->end;
    snprintf(x->text + x->n, sizeof x->text - x->n, "{\"ph\":\"i\"}]}");
}

static int step_of(const drawn *x, int64_t t)
{
    int step = 0;
    while (step + 1 < x->n_steps && x->steps[step + 1] <= t)
        step++;
    return step;
}

/* The host, and gaps: each plays when it was recorded, and as long. Host work begins in its step. */
static void check_rest(const drawn *x, const rlt_program *p, const played *v)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *o = &p->ops[i];
        if (o->kind != RLT_OP_HOST && o->kind != RLT_OP_DELAY)
            continue;
        assert_int_equal(v->start[i], o->recorded_ps);
        assert_int_equal(o->duration_ps, o->recorded_duration_ps);
        if (o->kind == RLT_OP_HOST)
            assert_int_equal(o->step, step_of(x, o->recorded_ps / RLT_NS + x->begin));
    }
}

static void check_times(const drawn *x, const rlt_program *p)
{
    played v = play(p, -1, true);
    int64_t last = x->end;
    check_rest(x, p, &v);
    for (int i = 0; i < x->n_works; i++) {
        const work *w = &x->works[i];
        const rlt_op *o = named(p, w->name);
        char stream[32];
        last = later(last, w->end);
        if (v.end[o - p->ops] != (w->end - x->begin) * RLT_NS)
            fail_msg("%s ends %lld ps late:\n%s", w->name,
                     (long long)(v.end[o - p->ops] - (w->end - x->begin) * RLT_NS), x->text);
        assert_int_equal(o->recorded_ps, (w->start - x->begin) * RLT_NS);
        assert_int_equal(o->recorded_duration_ps, (w->end - w->start) * RLT_NS);
        snprintf(stream, sizeof stream, "device 0 stream %d", 7 + w->stream);
        assert_string_equal(rlt_program_string(p, p->resources[o->resource].name), stream);
        assert_int_equal(o->step, step_of(x, w->cut));
    }
    assert_int_equal(v.rank_end[0], (last - x->begin) * RLT_NS);
    assert_int_equal(p->rank_recorded_ps[0], (last - x->begin) * RLT_NS);
    played_free(&v);
    assert_int_equal(noted(p, "left out: launched outside"), x->outside);
    assert_int_equal(noted(p, "began just after a collective"), x->evident);
    assert_int_equal(noted(p, "started over 50 us after"), x->long_gaps);
    assert_int_equal(noted(p, "end after the last step"), x->tail);
    assert_int_equal(noted(p, "dropped"), 0);
    assert_int_equal(noted(p, "without a launch"), x->carried);
    assert_int_equal(noted(p, "no known device work"), 0);
}

/* Makes each work longer than all gaps: who waits for it is delayed. */
static void check_order(const drawn *x, const rlt_program *p)
{
    played before = play(p, -1, true);
    for (int i = 0; i < x->n_works; i++) {
        rlt_op *o = named(p, x->works[i].name);
        o->duration_ps += RLT_S;
        o->recorded_duration_ps += RLT_S;
        played v = play(p, -1, true);
        o->duration_ps -= RLT_S;
        o->recorded_duration_ps -= RLT_S;
        for (int k = 0; k < x->n_works; k++) {
            long op = named(p, x->works[k].name) - p->ops;
            if ((v.end[op] > before.end[op]) != (x->works[k].needs >> i & 1)) {
                fputs(x->text, stdout);
                fail_msg("%s after %s: got %lld", x->works[k].name, x->works[i].name,
                         (long long)(v.end[op] - before.end[op]));
            }
        }
        played_free(&v);
    }
    played_free(&before);
}

static void recordings_play_as_they_were(void **state)
{
    (void)state;
    static drawn x;
    x.d = (dice){.seed = 3};
    for (int i = 0; i < 300; i++) {
        draw(&x);
        rlt_program *p = read_one(x.text);
        check_times(&x, p);
        check_order(&x, p);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_play_as_they_were),
    };
    return cmocka_run_group_tests_name("kineto_drawn", tests, make_folder, remove_folder);
}
