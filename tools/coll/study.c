/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The study of aggregation in the network: its points, and their simulations. */
#include "tools/coll/study.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/words.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/coll/coll.h"
#include "tools/coll/tenants.h"

enum { MAX_POINTS = 1 << 20 };

/* Points */

uint32_t rlt_study_points(const rlt_ina_study *s)
{
    uint64_t n = 1;
    for (int a = 0; a < RLT_AXES; a++)
        n = n > MAX_POINTS ? n : n * s->axes[a].n;
    return n > MAX_POINTS ? MAX_POINTS + 1 : (uint32_t)n;
}

bool rlt_study_point_at(const rlt_ina_study *s, uint32_t i, rlt_ina_point *p)
{
    bool inside = i < rlt_study_points(s);
    for (int a = RLT_AXES; a-- > 0; i /= s->axes[a].n)
        p->at[a] = i % s->axes[a].n;
    return inside;
}

/* Where the result is that holds for this point: steps know no slots and wait for the last to begin, which
 * adds to their time what it is late by. */
static uint32_t place_of(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p)
{
    const rlt_study_algorithm *a = &s->algorithms[algorithm];
    uint32_t i = 0;
    for (int axis = 0; axis < RLT_AXES; axis++) {
        bool same = a->steps   ? axis >= RLT_AXIS_STRAGGLER
                    : !a->adds ? axis >= RLT_AXIS_SLOTS
                               : axis == RLT_AXIS_PLACE && !a->placed;
        i = i * s->axes[axis].n + (same ? 0 : p->at[axis]);
    }
    return i * s->n_algorithms + algorithm;
}

const rlt_study_result *rlt_study_at(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p)
{
    return &s->results[place_of(s, algorithm, p)];
}

/* Simulations */

typedef struct study_job {
    rlt_ina_study *study;
    uint32_t *todo; /* places of results */
    uint32_t n;
    char (*reasons)[RLT_STUDY_REASON]; /* by slot */
} study_job;

static void simulate_point(const rlt_ina_study *s, uint32_t place, rlt_setup *setup, rlt_ina_point *p)
{
    rlt_study_point_at(s, place / s->n_algorithms, p);
    *setup = *s->setup;
    setup->packet.loss = s->axes[RLT_AXIS_LOSS].real[p->at[RLT_AXIS_LOSS]];
    setup->aggregator.slots = (uint32_t)s->axes[RLT_AXIS_SLOTS].count[p->at[RLT_AXIS_SLOTS]];
}

static double busbw(rlt_coll_kind kind, uint32_t n, uint64_t bytes, rlt_time time_ps)
{
    return time_ps > 0 ? (double)bytes / (double)time_ps * 1e3 * rlt_busbw_factor(kind, n) : 0;
}

/* The request of each tenant at a point, malloc'ed. RLT_ERANGE where there are not so many ranks. */
static int make_requests(const rlt_ina_study *s, const rlt_ina_point *p, const rlt_setup *setup,
                         rlt_coll_request **out, uint32_t *n, rlt_error *err)
{
    const rlt_study_values *w = &s->axes[RLT_AXIS_WORKERS], *t = &s->axes[RLT_AXIS_TENANTS];
    uint32_t at = p->at[RLT_AXIS_WORKERS] * t->n + p->at[RLT_AXIS_TENANTS];
    const rlt_group *g = s->groups[at];
    *n = (uint32_t)t->count[p->at[RLT_AXIS_TENANTS]];
    *out = NULL;
    if (!g)
        return rlt_fail(err, RLT_ERANGE, NULL, "%s tenants of %s workers are more than %u ranks",
                        t->text[p->at[RLT_AXIS_TENANTS]], w->text[p->at[RLT_AXIS_WORKERS]],
                        s->setup->placement.n);
    if (!(*out = calloc(*n, sizeof **out)))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < *n; i++) {
        (*out)[i] = rlt_group_request(&g[i], s->kind, s->axes[RLT_AXIS_SIZE].count[p->at[RLT_AXIS_SIZE]]);
        rlt_setup_parameters(setup, &(*out)[i]);
    }
    return 0;
}

static int take_run(const rlt_ina_study *s, const rlt_react_run *run, uint64_t bytes, rlt_study_result *r,
                    rlt_error *err)
{
    const rlt_react_result *x = &run->result;
    *r = (rlt_study_result){.there = true,
                            .time_ps = x->time_ps,
                            .busbw_GBps = busbw(s->kind, x->workers, bytes, x->time_ps),
                            .fairness = run->fairness,
                            .adds = run->node != RLT_NONE,
                            .retransmissions = x->retransmissions,
                            .server_bytes = x->server_bytes,
                            .servers = run->servers,
                            .fallback = rlt_react_fallback(run->results, run->tenants),
                            .peak = run->peak,
                            .mean = run->mean};
    return rlt_occupancy_of(run->fullest, &r->bin_ps, &r->occupancy, &r->bins, err);
}

static int run_protocol(const rlt_ina_study *s, uint32_t place, rlt_task *job, rlt_study_result *r,
                        rlt_error *err)
{
    const rlt_study_algorithm *a = &s->algorithms[place % s->n_algorithms];
    rlt_ina_point p;
    rlt_setup setup;
    rlt_reacting reacting = *a->reacting;
    rlt_react_run run = {0};
    rlt_watch watch = rlt_task_watcher(job);
    rlt_coll_request *reqs;
    simulate_point(s, place, &setup, &p);
    rlt_time *late = calloc(setup.placement.n, sizeof *late);
    rlt_react_ask how = {.setup = &setup,
                         .reacting = &reacting,
                         .late_ps = late,
                         .exact_workers = true,
                         .occupancy_ps = s->series_ps ? s->series_ps
                                         : s->plot    ? RLT_US
                                                      : 0};
    int rc = make_requests(s, &p, &setup, &reqs, &how.tenants, err);
    how.req = reqs;
    if (!rc && !late)
        rc = rlt_nomem(err);
    if (!rc && a->placed)
        rc = rlt_settings_set(a->reacting->protocol, reacting.values, "place",
                              s->axes[RLT_AXIS_PLACE].text[p.at[RLT_AXIS_PLACE]], err);
    if (!rc) {
        late[reqs->n - 1] = (rlt_time)s->axes[RLT_AXIS_STRAGGLER].count[p.at[RLT_AXIS_STRAGGLER]];
        rc = rlt_react_open(&run, &how, err);
    }
    if (!rc)
        rc = rlt_react_simulate(&run, &how, &watch, err);
    if (!rc)
        rc = take_run(s, &run, reqs->bytes, r, err);
    rlt_react_end(&run);
    free(reqs);
    free(late);
    return rc;
}

static int run_steps(const rlt_ina_study *s, uint32_t place, rlt_task *job, rlt_study_result *r,
                     rlt_error *err)
{
    const rlt_study_algorithm *a = &s->algorithms[place % s->n_algorithms];
    rlt_ina_point p;
    rlt_setup setup;
    rlt_coll_run run = {0};
    rlt_watch watch = rlt_task_watcher(job);
    rlt_tenants tenants = {0};
    rlt_coll_request *reqs;
    simulate_point(s, place, &setup, &p);
    rlt_coll_how how = {.setup = &setup, .algorithm = a->steps, .fold = true, .watch = &watch};
    int rc = make_requests(s, &p, &setup, &reqs, &how.tenants, err);
    if (!rc)
        rc = rlt_coll_plan(&run, &how, reqs, err);
    if (!rc)
        rc = rlt_coll_simulate(&run, &how, err);
    if (!rc)
        rc = rlt_tenants_of_steps(&run, &tenants, err);
    if (!rc)
        *r = (rlt_study_result){.there = true,
                                .time_ps = run.time_ps,
                                .busbw_GBps = busbw(s->kind, reqs->n, reqs->bytes, run.time_ps),
                                .fairness = tenants.fairness};
    rlt_tenants_free(&tenants);
    rlt_coll_end(&run);
    free(reqs);
    return rc;
}

/* What cannot be done here, or never ends, is a result too. */
static bool is_result(int rc)
{
    return rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY || rc == RLT_ERANGE || rc == RLT_ESTALL;
}

static int run_one(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    const study_job *j = ctx;
    const rlt_ina_study *s = j->study;
    uint32_t place = j->todo[i];
    rlt_study_result *r = &s->results[place];
    rlt_error why = {0};
    int rc = s->algorithms[place % s->n_algorithms].steps ? run_steps(s, place, job, r, &why)
                                                          : run_protocol(s, place, job, r, &why);
    j->reasons[slot][0] = '\0';
    if (is_result(rc)) {
        snprintf(j->reasons[slot], RLT_STUDY_REASON, "%s%s%s", why.where, why.where[0] ? ": " : "", why.what);
        rc = 0;
    }
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* Reasons are few: each is kept once. */
static int take_one(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    const study_job *j = ctx;
    rlt_ina_study *s = j->study;
    const char *text = j->reasons[slot];
    uint32_t k = 0;
    if (!text[0])
        return 0;
    while (k < s->n_reasons && strcmp(s->reasons[k], text) != 0)
        k++;
    if (k == s->n_reasons) {
        if (k == RLT_STUDY_REASONS)
            k = 0;
        else if (!(s->reasons[s->n_reasons++] = strdup(text)))
            return rlt_nomem(err);
    }
    s->results[j->todo[i]].why = k + 1;
    return 0;
}

static int simulate_all(rlt_ina_study *s, rlt_error *err)
{
    study_job j = {.study = s};
    uint32_t points = rlt_study_points(s);
    rlt_progress progress;
    rlt_pool_work work = {.ctx = &j, .run = run_one, .take = take_one, .progress = &progress, .slots = 256};
    rlt_ina_point p;
    int rc = RLT_ENOMEM;
    j.todo = calloc((size_t)points * s->n_algorithms, sizeof *j.todo);
    j.reasons = calloc(work.slots, sizeof *j.reasons);
    if (!j.todo || !j.reasons)
        goto out;
    for (uint32_t i = 0; rlt_study_point_at(s, i, &p); i++)
        for (uint32_t a = 0; a < s->n_algorithms; a++)
            if (place_of(s, a, &p) == i * s->n_algorithms + a)
                j.todo[work.n++] = i * s->n_algorithms + a;
    rlt_progress_start(&progress, "simulating");
    rc = rlt_pool_run(&work, s->jobs, err);
    rlt_progress_end(&progress);
out:
    if (!j.todo || !j.reasons)
        rlt_nomem(err);
    free(j.reasons);
    free(j.todo);
    return rc;
}

/* Comparing */

static rlt_time time_at(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p)
{
    const rlt_study_result *r = rlt_study_at(s, algorithm, p);
    uint64_t late = s->axes[RLT_AXIS_STRAGGLER].count[p->at[RLT_AXIS_STRAGGLER]];
    return s->algorithms[algorithm].steps ? rlt_time_add(r->time_ps, (rlt_time)late) : r->time_ps;
}

rlt_time rlt_study_time(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p)
{
    return rlt_study_at(s, algorithm, p)->there ? time_at(s, algorithm, p) : -1;
}

uint32_t rlt_study_best(const rlt_ina_study *s, const rlt_ina_point *p, bool adds)
{
    uint32_t best = RLT_NONE;
    for (uint32_t a = 0; a < s->n_algorithms; a++) {
        if (s->algorithms[a].adds != adds || !rlt_study_at(s, a, p)->there)
            continue;
        if (best == RLT_NONE || time_at(s, a, p) < time_at(s, best, p))
            best = a;
    }
    return best;
}

double rlt_study_gain(const rlt_ina_study *s, const rlt_ina_point *p)
{
    uint32_t base = rlt_study_best(s, p, false), best = rlt_study_best(s, p, true);
    if (base == RLT_NONE || best == RLT_NONE || time_at(s, best, p) <= 0)
        return 0;
    return (double)time_at(s, base, p) / (double)time_at(s, best, p);
}

/* Opening */

static int add_algorithm(rlt_ina_study *s, const char *name, const rlt_algorithm *steps, rlt_error *err)
{
    if (s->n_algorithms == RLT_STUDY_ALGORITHMS)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "more than %d", RLT_STUDY_ALGORITHMS);
    s->algorithms[s->n_algorithms++] = (rlt_study_algorithm){.name = name, .steps = steps};
    return 0;
}

/* "switchml,ring": steps into the study, protocols into a list (their values come with the setup). */
static int read_algorithms(rlt_ina_study *s, const char *text, const rlt_reactive **protocols, uint32_t *n,
                           rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&text, ',', &length))) {
        char word[48];
        const rlt_algorithm *table[RLT_COLL_KINDS];
        const rlt_reactive *r = rlt_find_protocol(item, length);
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        if (r && *n == RLT_STUDY_ALGORITHMS)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "more than %d", RLT_STUDY_ALGORITHMS);
        if (r) {
            protocols[(*n)++] = r;
            continue;
        }
        if (strchr(word, '='))
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected a name, got '%s'", word);
        if ((rc = rlt_parse_algorithms(word, table, err)) != 0)
            return rc;
        if (!table[s->kind])
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "%s does no %s", word, rlt_coll_name(s->kind));
        rc = add_algorithm(s, table[s->kind]->name, table[s->kind], err);
    }
    return rc;
}

static int open_setup(rlt_ina_study *s, const rlt_study_ask *ask, rlt_setup *setup, rlt_error *err)
{
    const rlt_reactive *protocols[RLT_STUDY_ALGORITHMS], *r;
    rlt_settings sim = *ask->sim;
    uint32_t n = 0;
    int rc = 0;
    if (!ask->network_given)
        sim.network = "packet";
    rc = read_algorithms(s, ask->algorithms ? ask->algorithms : "ring,ps", protocols, &n, err);
    for (uint32_t i = 0; !ask->algorithms && !rc && n < RLT_STUDY_ALGORITHMS && (r = rlt_reactive_at(i)); i++)
        protocols[n++] = r;
    if (rc)
        return rc;
    sim.protocols = protocols;
    sim.n_protocols = n;
    if ((rc = rlt_setup_open(&sim, 0, setup, err)) != 0)
        return rc;
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = add_algorithm(s, rlt_reactive_name(protocols[i]), NULL, err);
        if (!rc) {
            s->algorithms[s->n_algorithms - 1].reacting = &setup->protocols[i];
            s->algorithms[s->n_algorithms - 1].placed = rlt_has_setting(protocols[i], "place");
        }
    }
    return rc;
}

/* Groups of the most workers that fit; NULL: none do. */
static const rlt_group *largest_group(const rlt_ina_study *s)
{
    uint32_t n = s->axes[RLT_AXIS_WORKERS].n * s->axes[RLT_AXIS_TENANTS].n;
    const rlt_group *best = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (s->groups[i] && (!best || s->groups[i]->n > best->n))
            best = s->groups[i];
    return best;
}

/* Whether a protocol has switches add up: one that cannot be tried is taken to. */
static int find_adders(rlt_ina_study *s, rlt_error *err)
{
    const rlt_group *g = largest_group(s);
    if (!g)
        return rlt_fail(err, RLT_EUSAGE, "--tenants",
                        "no number of tenants and workers fits the %u ranks of %s", s->setup->placement.n,
                        rlt_topology_name(s->setup->topology));
    rlt_coll_request req = rlt_group_request(g, s->kind, 1);
    for (uint32_t a = 0; a < s->n_algorithms; a++) {
        rlt_react_ask how = {
            .setup = s->setup, .reacting = s->algorithms[a].reacting, .req = &req, .exact_workers = true};
        rlt_react_run run = {0};
        if (s->algorithms[a].steps)
            continue;
        int rc = rlt_react_open(&run, &how, err);
        s->algorithms[a].adds = rc != 0 || run.result.adders > 0;
        rlt_react_end(&run);
        if (rc == RLT_ENOMEM)
            return rc;
        if (err)
            *err = (rlt_error){0};
    }
    return 0;
}

static int make_groups(rlt_ina_study *s, rlt_error *err)
{
    const rlt_study_values *w = &s->axes[RLT_AXIS_WORKERS], *t = &s->axes[RLT_AXIS_TENANTS];
    int rc = 0;
    s->groups = calloc((size_t)w->n * t->n, sizeof *s->groups);
    if (!s->groups)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < w->n * t->n && !rc; i++) {
        uint64_t workers = w->count[i / t->n], tenants = t->count[i % t->n];
        if (workers * tenants <= s->setup->placement.n)
            rc = rlt_tenant_groups(s->setup->topology, &s->setup->placement, NULL,
                                   (uint32_t)(workers * tenants), (uint32_t)tenants, &s->groups[i], err);
    }
    return rc;
}

static int allocate(rlt_ina_study *s, rlt_error *err)
{
    uint32_t points = rlt_study_points(s);
    if (points > MAX_POINTS / s->n_algorithms)
        return rlt_fail(err, RLT_EUSAGE, "--study", "more than %d simulations", MAX_POINTS);
    s->n_results = points * s->n_algorithms;
    s->results = calloc(s->n_results, sizeof *s->results);
    return s->results ? 0 : rlt_nomem(err);
}

/* Nothing came of it at all: the first reason is the error. */
static int check_any(const rlt_ina_study *s, rlt_error *err)
{
    bool protocols = false;
    for (uint32_t i = 0; i < s->n_results; i++)
        if (s->results[i].there && s->algorithms[i % s->n_algorithms].adds)
            return 0;
    for (uint32_t a = 0; a < s->n_algorithms; a++)
        protocols |= s->algorithms[a].adds;
    if (!protocols)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm",
                        "--study ina needs a protocol that aggregates, such as switchml");
    return s->n_reasons ? rlt_fail(err, RLT_EUNSUPPORTED, "--study ina", "%s", s->reasons[0]) : 0;
}

static void close_study(rlt_ina_study *s)
{
    for (uint32_t i = 0; i < s->n_results && s->results; i++)
        free(s->results[i].occupancy);
    free(s->results);
    uint32_t tenants = s->axes[RLT_AXIS_TENANTS].n;
    for (uint32_t i = 0; i < s->axes[RLT_AXIS_WORKERS].n * tenants && s->groups; i++)
        rlt_tenant_groups_free(s->groups[i], (uint32_t)s->axes[RLT_AXIS_TENANTS].count[i % tenants]);
    free(s->groups);
    for (uint32_t i = 0; i < s->n_reasons; i++)
        free(s->reasons[i]);
}

int rlt_study_run(const rlt_study_ask *ask, const rlt_parsed *args, rlt_error *err)
{
    rlt_setup setup = {0};
    rlt_ina_study *s = calloc(1, sizeof *s);
    int rc = RLT_ENOMEM, cancelled = 0;
    if (!s)
        return rlt_nomem(err);
    *s = (rlt_ina_study){.setup = &setup,
                         .report = ask->report,
                         .kind = ask->kind,
                         .plot = ask->plot,
                         .jobs = ask->jobs,
                         .shared = ask->tenants != NULL};
    if ((rc = open_setup(s, ask, &setup, err)) || (rc = rlt_study_read_axes(s, ask, err)) ||
        (rc = make_groups(s, err)) || (rc = find_adders(s, err)) || (rc = allocate(s, err)))
        goto out;
    rc = simulate_all(s, err);
    if (rc == RLT_ECANCELLED) {
        cancelled = rc;
        s->partial = true;
        rc = 0;
        if (err)
            *err = (rlt_error){0};
    }
    if (!rc && !cancelled)
        rc = check_any(s, err);
    if (!rc)
        rc = rlt_study_report(s, args, err);
    if (!rc && ask->plot && !cancelled)
        rc = rlt_study_plot(s, err);
    if (!rc && cancelled)
        rc = rlt_fail(err, cancelled, NULL, "interrupted: the results are partial");
out:
    close_study(s);
    rlt_setup_free(&setup);
    free(s);
    return rc;
}
