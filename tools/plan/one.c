/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fastest layouts of one cluster. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/output/plot.h"
#include "tools/plan/answers.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "tools/sweep/ranks.h"
#include "workload/experiment/layouts/advice.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/why.h"
#include "workload/plan/plan.h"

/* Opens the file of answers. Rank 0 reads it for all. */
static int open_answers(rlt_plan_workers *w, const rlt_layouts *l, const char *path, const rlt_parsed *args,
                        rlt_answers *a, rlt_error *err)
{
    char *own = NULL, *text = NULL, *question = NULL;
    a->path = path;
    int rc = rlt_answers_question(args, &l->run.setup.inputs, &question, err);
    if (!rc && w->rank == 0)
        rc = rlt_answers_open(a, path, &own, err);
    rc = rlt_plan_agree(w, rc, err);
    if (!rc)
        rc = rlt_ranks_text(own, &text, err);
    if (!rc)
        rc = rlt_answers_read(a, question, &l->space, text, err);
    free(own);
    free(text);
    free(question);
    return rlt_plan_agree(w, rc, err);
}

static int find(void *layouts, const rlt_layout_search *how, rlt_error *err)
{
    return rlt_layouts_find(layouts, how, err);
}

static int search(rlt_plan_workers *w, rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                  const rlt_layout_search *how, rlt_error *err)
{
    rlt_answers answers = {0};
    int rc = s->save ? open_answers(w, l, s->save, args, &answers, err) : 0;
    if (!rc) {
        w->answers = s->save ? &answers : NULL;
        rc = rlt_plan_watched(w, s->quiet, how, find, l, err);
        w->answers = NULL;
    }
    rlt_answers_close(&answers);
    return rc;
}

/* Returns how many points the answer has: those within the share, and before the deadline. */
static uint32_t answer_of(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_layout_search *how)
{
    const rlt_layout_result *r = &l->result;
    uint32_t n = 0;
    double limit = how->within > 0 && r->n ? (double)r->points[0].time_ps * (1 + how->within) : INFINITY;
    if (s->worth.limit_ps)
        limit = fmin(limit, (double)s->worth.limit_ps);
    while (n < r->n && (double)r->points[n].time_ps <= limit)
        n++;
    return n;
}

/* Looks at what would help: the fastest layout under changes, and if asked for, further searches. */
static int advise(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                  const rlt_layout_search *how, rlt_layouts_advice *out, rlt_error *err)
{
    rlt_layouts_advise asked = {.changes = true, .searches = s->advice, .reach = s->advice ? 0.05 : 0};
    int rc = s->reach ? rlt_plan_share(s->reach, "--reach", 1, &asked.reach, err) : 0;
    return rc ? rc : rlt_layouts_advice_find(l, &s->run, args, how, &asked, out, err);
}

/* Runs the layouts of the answer, and reports them. */
static int show(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                const rlt_layout_search *how, rlt_plan_answer *a, rlt_error *err)
{
    rlt_layouts_advice advice = {.n_changes = 0};
    uint32_t all = answer_of(l, s, how), n = all < s->top ? all : (uint32_t)s->top;
    rlt_planned *rows = calloc((size_t)n + 1, sizeof *rows);
    int failed = rows ? 0 : rlt_nomem(err);
    for (; a->n < n && !failed && !rlt_interrupted(); a->n++)
        if (!(failed = rlt_plan_run(l, s, args, &l->result.points[a->n], &rows[a->n], err)))
            failed = rlt_plan_goodput(l, s, &rows[a->n], err);
    if (!failed && !a->rc)
        failed = advise(l, s, args, how, &advice, err);
    a->rows = rows;
    a->more = how->within > 0 ? all - a->n : 0;
    a->advice = &advice;
    if (!failed && s->plot)
        failed = rlt_plan_front_draw(s, rows, a->n, err);
    int rc = failed && failed != RLT_ECANCELLED ? failed : rlt_plan_report(l, s, args, a, err);
    if (s->plot)
        rlt_plot_keep(s->plot, rc);
    for (uint32_t i = 0; rows && i < n; i++)
        free(rows[i].command);
    free(rows);
    return rc;
}

int rlt_plan_one(rlt_plan_workers *w, rlt_plan_asked *s, const rlt_parsed *args, const rlt_layout_search *how,
                 rlt_error *err)
{
    rlt_layouts l = {0};
    rlt_layout_search p = *how;
    rlt_plan_mine mine = {.asked = false};
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_time than_ps;
    int rc = rlt_plan_than(s, &than_ps, err);
    if (!rc && !(rc = rlt_layouts_open(&l, &s->run, args, err)) &&
        !(rc = rlt_layouts_check(&l, &s->run, err)) && !(rc = rlt_plan_worth_settle(s, &l, &s->worth, err)))
        rc = rlt_plan_mine_run(&l, s, args, &mine, err);
    rc = rlt_plan_agree(w, rc, err);
    p.mark_ps = mine.run.time_ps;
    if (!rc)
        rc = search(w, &l, s, args, &p, err);
    p.watch = &watch;
    if (!rc && w->rank == 0)
        rc = rlt_plan_draw(&l, s, &p, than_ps, err);
    if (!rc && !l.result.n)
        rc = rlt_layouts_why(&l, &p, err);
    else if (w->rank == 0 && (!rc || rc == RLT_ECANCELLED)) {
        rlt_plan_answer answer = {.rc = rc, .mine = &mine};
        rc = show(&l, s, args, &p, &answer, err);
    }
    rlt_plan_mine_free(&mine);
    rlt_layouts_close(&l);
    return rc;
}
