/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several jobs on one network, and background traffic. */
#include "workload/experiment/run/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/experiment/run/job_file.h"
#include "workload/experiment/run/run.h"
#include "workload/models/model.h"
#include "workload/program/join.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"

#define AT(field) .offset = offsetof(rlt_job_settings, field)
const rlt_option rlt_job_options[] = {
    {"job", 0, RLT_PARAM_LIST, "WORKLOAD@ACCELERATORS",
     "Run another workload at the same time on other accelerators: a trace, a model or a file of options "
     "(JSON as for --config: model, accelerator, layout, train, strategy, or trace), such as "
     "transformer:layers=4@4-7, traces/transformer-8@8-15 or resnet.json@8-15. The job's ranks are "
     "numbered after the ranks of the first workload. Without --trace and --model, only the jobs run. The "
     "run ends with the last job. May be repeated.",
     AT(job)},
    {"alone", 0, RLT_PARAM_FLAG, NULL,
     "With --job: also simulate each job alone on its accelerators. Report the slowdown that other jobs "
     "and background traffic cause.",
     AT(alone)},
    {"background", 0, RLT_PARAM_LIST, "FROM>TO:RATE,...",
     "Add background traffic between accelerators, which uses links, but no rank's time. 0-3>4-7:10GB/s: "
     "four flows of 10 GB/s each, in messages of size=64KiB (default: 10 us of the rate). on=1ms,off=3ms: "
     "each flow sends 1 ms, then pauses 3 ms. Congested links slow a flow below its rate. May be repeated.",
     AT(background)},
    {0}};
#undef AT

/* Accelerators, in the order given. */
typedef struct list {
    uint32_t *items;
    uint32_t n, capacity;
} list;

static int add(list *l, uint32_t item, rlt_error *err)
{
    int rc = rlt_grow(&l->items, &l->capacity, sizeof *l->items, (uint64_t)l->n + 1, RLT_MAX_ACCELERATORS,
                      "accelerators", err);
    if (!rc)
        l->items[l->n++] = item;
    return rc;
}

static int read_number(const char *text, size_t length, uint32_t limit, uint32_t *out, rlt_error *err)
{
    char word[24];
    uint64_t value = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), text);
    int rc = rlt_parse_count(word, &value, NULL, err);
    if (!rc && value >= limit)
        rc = rlt_fail(err, RLT_EUSAGE, NULL, "expected an accelerator from 0 to %u, got %s", limit - 1, word);
    *out = (uint32_t)value;
    return rc;
}

/* Reads "0-3,8". */
static int read_list(const char *text, size_t length, uint32_t limit, list *l, rlt_error *err)
{
    const char *end = text + length;
    int rc = 0;
    for (const char *at = text; at <= end && !rc;) {
        size_t n = (size_t)(end - at);
        const char *comma = memchr(at, ',', n), *stop = comma ? comma : end;
        const char *dash = memchr(at, '-', (size_t)(stop - at));
        uint32_t from = 0, to = 0;
        rc = read_number(at, (size_t)((dash ? dash : stop) - at), limit, &from, err);
        to = from;
        if (!rc && dash)
            rc = read_number(dash + 1, (size_t)(stop - dash - 1), limit, &to, err);
        if (!rc && to < from)
            rc = rlt_fail(err, RLT_EUSAGE, NULL,
                          "'%.*s' counts down: expected FIRST-LAST with FIRST at most LAST", (int)(stop - at),
                          at);
        for (uint32_t i = from; i <= to && !rc; i++)
            rc = add(l, i, err);
        at = stop + 1;
    }
    return rc;
}

/* ---- jobs ---- */

typedef struct opening {
    rlt_run *run;
    const rlt_read_options *read;
    rlt_program **parts; /* owned; the first one is the run's, if it has one */
    double *slowdown;    /* by part: slowdown of its work beside communication */
    bool own;            /* the first part is the run's own */
    list placed;         /* accelerator of each rank */
    uint32_t *rank_of;   /* by accelerator: its rank, or RLT_NONE */
    uint32_t accelerators, n;
} opening;

/* Places the next rank on an accelerator. */
static int place(opening *x, uint32_t accelerator, rlt_error *err)
{
    if (x->rank_of[accelerator] != RLT_NONE)
        return rlt_fail(
            err, RLT_EUSAGE, NULL,
            "accelerator %u already has rank %u: expected a free accelerator (a model takes all of "
            "them unless ranks=N, or dp=N in its layout, limits it)",
            accelerator, x->rank_of[accelerator]);
    x->rank_of[accelerator] = x->placed.n;
    return add(&x->placed, accelerator, err);
}

static bool is_model(const char *text)
{
    return strncmp(text, "transformer", 11) == 0 && (text[11] == '\0' || text[11] == ':');
}

/* Opens a trace, a model, or a file of options. */
static int open_job(opening *x, const char *name, const list *on, rlt_error *err)
{
    rlt_program **out = &x->parts[x->n];
    rlt_inputs *inputs = &x->run->setup.inputs;
    const char *specs[] = {name};
    int rc;
    if (is_model(name)) {
        rlt_run_settings s = {.model = name};
        rlt_placement where = {.n = on->n, .accelerator = on->items};
        return rlt_job_train(&s, x->run, &where, out, &x->slowdown[x->n], err);
    }
    if (rlt_is_job_file(name)) {
        rlt_placement where = {.n = on->n, .accelerator = on->items};
        rc = rlt_job_file_open(name, x->run, &where, out, &x->slowdown[x->n], err);
        return rc ? rc : rlt_inputs_add_file(inputs, "job", name, err);
    }
    rlt_error why = {0};
    rlt_model model;
    rc = rlt_find_trace(specs, 1, x->read, out, &why);
    if ((rc == RLT_EIO || rc == RLT_ENAME) && rlt_model_open(name, &model, NULL) == 0) {
        rlt_model_free(&model);
        return rlt_fail(err, RLT_EUSAGE, name,
                        "is a model: to run it on an accelerator, pass a file of options such as "
                        "{\"model\": ..., \"accelerator\": ...}");
    }
    if (rc)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    rlt_inputs_add(inputs, "job", name, (*out)->hash);
    return rc;
}

static int read_job(opening *x, const char *text, uint32_t number, rlt_error *err)
{
    const char *at = strrchr(text, '@');
    char *name = x->run->jobs.names[number];
    list l = {0};
    if (!at || at == text)
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "expected WORKLOAD@ACCELERATORS, such as transformer:layers=4@4-7, got '%.200s'",
                        text);
    memcpy(name, text, (size_t)(at - text));
    name[at - text] = '\0';
    int rc = read_list(at + 1, strlen(at + 1), x->accelerators, &l, err);
    if (!rc)
        rc = open_job(x, name, &l, err);
    if (!rc && x->parts[x->n]->n_ranks != l.n)
        rc = rlt_fail(err, RLT_EUSAGE, text, "has %u ranks, but %u accelerators are listed",
                      x->parts[x->n]->n_ranks, l.n);
    for (uint32_t i = 0; i < l.n && !rc; i++)
        rc = place(x, l.items[i], err);
    free(l.items);
    x->n++;
    return rc;
}

static int place_first(opening *x, rlt_error *err)
{
    const rlt_placement *p = &x->run->setup.placement;
    int rc = 0;
    if (!x->own)
        return 0;
    if (x->parts[0]->n_ranks > p->n)
        return rlt_fail(err, RLT_ERANGE, "placement", "the workload has %u ranks, but only %u are placed",
                        x->parts[0]->n_ranks, p->n);
    for (uint32_t i = 0; i < x->parts[0]->n_ranks && !rc; i++)
        rc = place(x, rlt_placed(p, i), err);
    return rc;
}

/* Ranks beyond those of the first workload stay where they were placed, after all others. */
static int place_rest(opening *x, rlt_error *err)
{
    const rlt_placement *p = &x->run->setup.placement;
    int rc = 0;
    for (uint32_t i = x->own ? x->parts[0]->n_ranks : 0; i < p->n && !rc; i++)
        if (x->rank_of[rlt_placed(p, i)] == RLT_NONE)
            rc = place(x, rlt_placed(p, i), err);
    return rc;
}

/* On the command line, wrong values are wrong usage; traces are input. */
static int as_usage(int rc, const char *option, rlt_error *err)
{
    if (rc == 0)
        return 0;
    rlt_error_prefix(err, option);
    if (rc == RLT_EMALFORMED && err && !strchr(err->where, '/') && !strchr(err->where, '.'))
        rc = err->code = RLT_EUSAGE;
    return rc;
}

static int read_jobs(opening *x, rlt_error *err)
{
    const rlt_texts *t = &x->run->settings->jobs.job;
    rlt_jobs *j = &x->run->jobs;
    int rc = 0;
    j->names = calloc((size_t)t->n + 1, sizeof *j->names);
    j->first_rank = calloc((size_t)t->n + 2, sizeof *j->first_rank);
    if (!j->names || !j->first_rank)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n; i++)
        if (!(j->names[i] = calloc(strlen(t->items[i]) + 1, 1)))
            return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n && !rc; i++)
        rc = as_usage(read_job(x, t->items[i], i, err), "--job", err);
    return rc;
}

/* Fills the slowdown of each rank's work beside communication. */
static int spread_slowdown(opening *x, rlt_error *err)
{
    rlt_jobs *j = &x->run->jobs;
    uint32_t n = j->first_rank[x->n];
    j->overlap_slowdown = malloc(n * sizeof *j->overlap_slowdown);
    if (!j->overlap_slowdown)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = j->first_rank[i]; k < j->first_rank[i + 1]; k++)
            j->overlap_slowdown[k] = x->slowdown[i];
    return 0;
}

static int join(opening *x, rlt_error *err)
{
    rlt_jobs *j = &x->run->jobs;
    if (!x->run->settings->jobs.job.n) {
        x->run->program = x->parts[0];
        x->parts[0] = NULL;
        return 0;
    }
    int rc =
        rlt_program_join((const rlt_program *const *)x->parts, x->n, &x->run->program, j->first_rank, err);
    if (!rc)
        rc = spread_slowdown(x, err);
    if (rc)
        return rc;
    j->n = x->n;
    j->own = x->own;
    if (x->run->settings->jobs.alone) {
        j->parts = x->parts;
        x->parts = NULL;
    }
    return 0;
}

/* ---- background traffic ---- */

#define AT(field) RLT_FIELD(rlt_background, field)
/* The rate comes first: it may be given without its name. */
static const rlt_param parameters[] = {
    {"rate", .kind = RLT_PARAM_RATE, AT(rate_Bps), .min = 1, .required = true,
     .help = "sending rate of each flow"},
    {"size", .kind = RLT_PARAM_SIZE, AT(bytes), .min = 1, .usual = "10 us of the rate, 4 KiB to 1 MiB",
     .help = "bytes per message"},
    {"on", .kind = RLT_PARAM_DURATION, AT(on_ps), .min = 1, .usual = "always",
     .help = "time that a flow sends before each pause; needs off"},
    {"off", .kind = RLT_PARAM_DURATION, AT(off_ps), .min = 1, .usual = "never",
     .help = "length of each pause; needs on"},
    {0}};
#undef AT

const rlt_param *rlt_background_parameters(void)
{
    return parameters;
}

/* Reads "10GB/s,size=1MiB" or "rate=10GB/s,size=1MiB". */
static int read_rate(const char *text, rlt_background *b, rlt_error *err)
{
    const char *whose = "background traffic";
    char rate[40];
    size_t length = strcspn(text, ",");
    int rc = 0;
    bool named = memchr(text, '=', length) != NULL;
    if (!named) {
        snprintf(rate, sizeof rate, "%.*s", (int)(length < 39 ? length : 39), text);
        rc = rlt_param_read(parameters, b, rate, NULL, err);
        text = text[length] ? text + length + 1 : NULL;
        if (!rc && text && !*text)
            rc = rlt_fail(err, RLT_EUSAGE, NULL, "expected NAME=VALUE, got ''");
    }
    if (!rc)
        rc = rlt_params_set_list(parameters + !named, whose, b, text, err);
    if (!rc && b->bytes == 0) {
        uint64_t bytes = b->rate_Bps / 100000;
        b->bytes = bytes < 4096 ? 4096 : bytes > 1 << 20 ? 1 << 20 : bytes;
    }
    if (!rc && !b->rate_Bps)
        rc = rlt_fail(err, RLT_EUSAGE, NULL, "expected a rate, such as 10GB/s");
    if (!rc && (b->on_ps > 0) != (b->off_ps > 0))
        rc = rlt_fail(err, RLT_EUSAGE, NULL, "expected both on and off, or neither");
    return rc;
}

static int add_flow(opening *x, uint32_t from, uint32_t to, rlt_background b, uint32_t *room, rlt_error *err)
{
    rlt_jobs *j = &x->run->jobs;
    int rc = 0;
    if (from == to)
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "traffic from accelerator %u to itself: expected two accelerators", from);
    if (x->rank_of[from] == RLT_NONE)
        rc = place(x, from, err);
    if (!rc && x->rank_of[to] == RLT_NONE)
        rc = place(x, to, err);
    if (!rc)
        rc = rlt_grow(&j->background, room, sizeof *j->background, (uint64_t)j->n_background + 1, 1 << 20,
                      "background flows", err);
    if (rc)
        return rc;
    b.src = x->rank_of[from];
    b.dst = x->rank_of[to];
    j->background[j->n_background++] = b;
    return 0;
}

/* Reads "0-3>4-7:10GB/s,size=1MiB,on=1ms,off=3ms". */
static int read_background(opening *x, const char *text, uint32_t *room, rlt_error *err)
{
    const char *arrow = strchr(text, '>'), *colon = arrow ? strchr(arrow, ':') : NULL;
    rlt_background b = {0};
    list from = {0}, to = {0};
    if (!colon)
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected FROM>TO:RATE, such as 0-3>4-7:10GB/s, got '%.200s'",
                        text);
    int rc = read_rate(colon + 1, &b, err);
    if (!rc)
        rc = read_list(text, (size_t)(arrow - text), x->accelerators, &from, err);
    if (!rc)
        rc = read_list(arrow + 1, (size_t)(colon - arrow - 1), x->accelerators, &to, err);
    if (!rc && from.n != to.n && from.n != 1 && to.n != 1)
        rc = rlt_fail(
            err, RLT_EUSAGE, NULL,
            "%u sources for %u destinations: expected equal numbers, or one source or one destination",
            from.n, to.n);
    for (uint32_t i = 0; (i < from.n || i < to.n) && !rc; i++)
        rc = add_flow(x, from.items[from.n == 1 ? 0 : i], to.items[to.n == 1 ? 0 : i], b, room, err);
    free(from.items);
    free(to.items);
    return rc;
}

static int finish_placement(opening *x, rlt_error *err)
{
    const rlt_placement *p = &x->run->setup.placement;
    rlt_placement *out = &x->run->jobs.placement;
    uint32_t first = x->own ? x->parts[0]->n_ranks : 0;
    *out = (rlt_placement){.n = x->placed.n, .accelerator = x->placed.items};
    x->placed = (list){0};
    if (!p->nic)
        return 0;
    out->nic = malloc(out->n * sizeof *out->nic);
    if (!out->nic)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < out->n; i++)
        out->nic[i] = i < first ? p->nic[i] : RLT_NONE; /* all of these are placed */
    return 0;
}

static int open_all(opening *x, rlt_error *err)
{
    const rlt_texts *background = &x->run->settings->jobs.background;
    uint32_t room = 0;
    int rc;
    uint32_t most = x->run->settings->jobs.job.n + 1;
    x->accelerators = rlt_topology_accelerators(x->run->setup.topology);
    x->parts = calloc(most, sizeof *x->parts);
    x->slowdown = malloc(most * sizeof *x->slowdown);
    x->rank_of = malloc(x->accelerators * sizeof *x->rank_of);
    if (!x->parts || !x->slowdown || !x->rank_of)
        return rlt_nomem(err);
    memset(x->rank_of, 0xff, x->accelerators * sizeof *x->rank_of);
    for (uint32_t i = 0; i < most; i++)
        x->slowdown[i] = 1;
    x->own = x->run->program != NULL;
    if (x->own) {
        x->parts[0] = x->run->program;
        x->slowdown[0] = x->run->trains ? x->run->accelerator.overlap_slowdown : 1;
        x->run->program = NULL;
        x->n = 1;
    }
    /* Checks the network before files of jobs, so that its errors are not reported as theirs. */
    if (x->run->settings->jobs.job.n && (rc = rlt_run_network(x->run, err)))
        return rc;
    if ((rc = place_first(x, err)) || (rc = read_jobs(x, err)) || (rc = place_rest(x, err)))
        return rc;
    for (uint32_t i = 0; i < background->n && !rc; i++)
        rc = as_usage(read_background(x, background->items[i], &room, err), "--background", err);
    if (!rc)
        rc = finish_placement(x, err);
    return rc ? rc : join(x, err);
}

static int check(const rlt_run *r, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    if (s->jobs.alone && !s->jobs.job.n)
        return rlt_fail(err, RLT_EUSAGE, "--alone", "needs --job");
    if (s->jobs.alone && s->faults.noise.n)
        return rlt_fail(err, RLT_EUSAGE, "--alone",
                        "does not go with --noise: noise is drawn by rank number, and a job alone has other "
                        "rank numbers");
    if (!s->jobs.job.n && !s->jobs.background.n)
        return 0;
    if (strcmp(s->timing, "network") != 0)
        return rlt_fail(err, RLT_EUSAGE, "--timing",
                        "--job and --background need a simulated network: drop --timing");
    if (s->faults.failures && s->jobs.job.n)
        return rlt_fail(err, RLT_EUSAGE, "--failures", "is for a single workload: it does not go with --job");
    return 0;
}

int rlt_jobs_open(rlt_run *r, const rlt_read_options *o, rlt_error *err)
{
    opening x = {.run = r, .read = o};
    int rc = check(r, err);
    if (rc || (!r->settings->jobs.job.n && !r->settings->jobs.background.n))
        return rc;
    rc = open_all(&x, err);
    for (uint32_t i = 0; x.parts && i < x.n; i++)
        rlt_program_free(x.parts[i]);
    free(x.parts);
    free(x.slowdown);
    free(x.rank_of);
    free(x.placed.items);
    return rc;
}

void rlt_jobs_options(const rlt_jobs *j, rlt_replay_options *o)
{
    if (j->placement.n)
        o->placement = &j->placement;
    o->rank_overlap_slowdown = j->overlap_slowdown;
    o->background = j->background;
    o->n_background = j->n_background;
}

void rlt_jobs_free(rlt_jobs *j)
{
    for (uint32_t i = 0; j->names && j->names[i]; i++)
        free(j->names[i]);
    for (uint32_t i = 0; j->parts && i < j->n; i++)
        rlt_program_free(j->parts[i]);
    free(j->parts);
    free(j->alone_ps);
    free(j->names);
    free(j->first_rank);
    free(j->overlap_slowdown);
    free(j->background);
    rlt_placement_free(&j->placement);
}
