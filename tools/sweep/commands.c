/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of a database as commands that a shell runs: `ringlet run ...` or `ringlet coll ...`. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/tree.h"
#include "tools/base/command.h"
#include "tools/base/message.h"
#include "tools/base/shell.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"

struct rlt_asked_study {
    rlt_sweep_study study;
    bool unreadable; /* an input that it names is gone: points have no commands */
    rlt_arena arena; /* texts of one command */
    rlt_option_texts texts;
};

typedef struct place {
    const rlt_sweep_study *study;
    rlt_sweep_point *point;
    uint32_t n;
    bool there;
} place;

static int see_point(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    place *p = ctx;
    const rlt_sweep_study *s = p->study;
    (void)n;
    p->there = true;
    p->point->id = (uint64_t)c[0].integer;
    p->point->replica = (uint32_t)c[1].integer;
    for (uint32_t i = 0; c[2].kind == RLT_CELL_TEXT && i < s->n_named; i++)
        if (strcmp(s->named[i].name, c[2].text) == 0)
            p->point->named = i;
    return c[2].kind == RLT_CELL_TEXT && p->point->named == RLT_NONE
               ? rlt_fail(err, RLT_ESCHEMA, "point", "the study has no point called '%s'", c[2].text)
               : 0;
}

static int see_place(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    place *p = ctx;
    uint32_t a = p->n++;
    (void)n;
    if (p->point->named != RLT_NONE)
        return 0;
    if (a >= p->study->n_axes || c[0].integer < 0 || c[0].integer >= p->study->axes[a].n)
        return rlt_fail(err, RLT_ESCHEMA, "point.coordinates", "not of this study's axes");
    p->point->at[a] = (uint32_t)c[0].integer;
    return 0;
}

int rlt_asked_point(const rlt_asked *a, const rlt_sweep_study *s, int64_t number, rlt_sweep_point *out,
                    rlt_error *err)
{
    char sql[160];
    place p = {.study = s, .point = out};
    *out = (rlt_sweep_point){.named = RLT_NONE};
    snprintf(sql, sizeof sql, "SELECT point, replica, name FROM point WHERE point=%lld", (long long)number);
    int rc = rlt_store_query(a->store, sql, see_point, &p, err);
    snprintf(sql, sizeof sql,
             "SELECT j.value FROM point p, json_each(p.coordinates) j WHERE p.point=%lld ORDER BY j.key",
             (long long)number);
    if (!rc && p.there)
        rc = rlt_store_query(a->store, sql, see_place, &p, err);
    if (!rc && (!p.there || p.n != s->n_axes))
        rc = rlt_fail(err, RLT_ESCHEMA, "point", "%lld is not of this study", (long long)number);
    return rc;
}

static int see_text(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    (void)n;
    return c[0].kind == RLT_CELL_TEXT ? rlt_sweep_study_parse("study.text", c[0].text, ctx, err) : 0;
}

int rlt_asked_study_of(const rlt_asked *a, rlt_sweep_study *out, rlt_error *err)
{
    *out = (rlt_sweep_study){0};
    int rc = rlt_store_query(a->store, "SELECT text FROM study", see_text, out, err);
    return rc || out->command ? rc : rlt_fail(err, RLT_ESCHEMA, "study.text", "is missing");
}

/* Writes a command. A study accepts settings of protocols that only other points run: so must the command. */
static void put_command(FILE *f, const rlt_sweep_study *s, const rlt_option_texts *t)
{
    bool sets = false, lenient = false;
    fprintf(f, "ringlet %s", s->command->name);
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_option *o = rlt_option_at(s->command->options, t->items[i].option, NULL);
        const char *text = t->items[i].text;
        sets |= strcmp(o->name, "set") == 0 || strcmp(o->name, "updates") == 0;
        lenient |= strcmp(o->name, "unused-sets") == 0;
        fprintf(f, " --%s", o->name);
        if (o->kind == RLT_PARAM_FLAG && !*text)
            continue;
        putc(o->kind == RLT_PARAM_FLAG || *text == '-' ? '=' : ' ', f);
        rlt_put_word(f, text);
    }
    if (sets && !lenient && s->n_axes)
        fputs(" --unused-sets", f);
}

static int write_command(struct rlt_asked_study *c, const rlt_sweep_point *p, char **text, rlt_error *err)
{
    size_t length;
    int rc = rlt_sweep_options(&c->study, p, &c->arena, &c->texts, err);
    FILE *f = rc ? NULL : rlt_text_stream(text, &length);
    if (!rc && !f)
        rc = rlt_nomem(err);
    if (f) {
        put_command(f, &c->study, &c->texts);
        rc = fclose(f) ? rlt_nomem(err) : 0;
    }
    rlt_arena_free(&c->arena);
    return rc;
}

/* The SQL function ringlet_command(point). A point whose options are wrong has no command. */
static int make_command(void *ctx, int64_t number, char **text, rlt_error *err)
{
    rlt_asked *a = ctx;
    rlt_sweep_point p;
    rlt_error why = {0};
    int rc = 0;
    if (!a->study) {
        if (!(a->study = calloc(1, sizeof *a->study)))
            return rlt_nomem(err);
        a->study->unreadable = (rc = rlt_asked_study_of(a, &a->study->study, &why)) != 0;
        if (rc == RLT_ENOMEM)
            return rlt_nomem(err);
        if (rc)
            rlt_warn("no commands: %s: %s", why.where, why.what);
    }
    if (a->study->unreadable)
        return 0;
    if ((rc = rlt_asked_point(a, &a->study->study, number, &p, err)))
        return rc;
    rc = write_command(a->study, &p, text, &why);
    return rc == RLT_ENOMEM ? rlt_nomem(err) : 0;
}

int rlt_asked_commands(rlt_asked *a, rlt_error *err)
{
    return rlt_store_call(a->store, "ringlet_command", make_command, a, err);
}

void rlt_asked_study_free(rlt_asked *a)
{
    if (!a->study)
        return;
    free(a->study->texts.items);
    rlt_arena_free(&a->study->arena);
    rlt_sweep_study_free(&a->study->study);
    free(a->study);
    a->study = NULL;
}
