/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens a database for queries. */
#include "tools/sweep/asked.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"

static const char *const own_columns[] = {"point", "name", "replica", "status", "error", "command", NULL};
enum { OWN_COLUMNS = sizeof own_columns / sizeof *own_columns - 1 };

int rlt_asked_column(const char *name, const char *where, rlt_error *err)
{
    rlt_error why = {0};
    if (rlt_figure_find(name, &why) != RLT_FIGURES)
        return 0;
    return rlt_fail(err, RLT_EUSAGE, where, "%s", why.what);
}

static int add_text(rlt_asked *a, char ***list, uint32_t *n, const char *text, rlt_error *err)
{
    char **more = rlt_arena_array(&a->arena, *n + 1, sizeof **list);
    if (!more)
        return rlt_nomem(err);
    if (*n)
        memcpy(more, *list, *n * sizeof **list);
    more[*n] = rlt_arena_strdup(&a->arena, text);
    *list = more;
    return more[(*n)++] ? 0 : rlt_nomem(err);
}

/* Finds short names for a zipped axis's pointers: their last parts, or as many as make them different. */
static int name_parts(rlt_asked *a, rlt_asked_axis *x, rlt_json pointers, rlt_error *err)
{
    x->parts = rlt_arena_array(&a->arena, rlt_json_count(pointers), sizeof *x->parts);
    if (!x->parts)
        return rlt_nomem(err);
    bool same = true;
    for (uint32_t depth = 1; same && depth < 16; depth++) {
        x->n_parts = 0;
        same = false;
        for (rlt_json v = rlt_json_first(pointers); rlt_json_is(v); v = rlt_json_next(v)) {
            const char *pointer = rlt_json_string(v), *part = pointer + strlen(pointer);
            for (uint32_t k = 0; k < depth && part > pointer; k++)
                while (part > pointer && *--part != '/')
                    ;
            for (uint32_t k = 0; k < x->n_parts; k++)
                same |= strcmp(x->parts[k], part + 1) == 0;
            if (!(x->parts[x->n_parts++] = rlt_arena_strdup(&a->arena, part + (*part == '/'))))
                return rlt_nomem(err);
        }
    }
    return 0;
}

/* Adds an axis. Its column has its name, or "axis_NAME" if another column has that name. */
static int see_axis(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    rlt_json_doc *doc = NULL;
    bool taken = rlt_figure_find(c[0].text, NULL) != RLT_FIGURES;
    (void)n;
    for (int i = 0; own_columns[i]; i++)
        taken |= strcmp(own_columns[i], c[0].text) == 0;
    if (a->n_axes == RLT_SWEEP_AXES)
        return rlt_fail(err, RLT_ESCHEMA, NULL, "has more than %d axes", RLT_SWEEP_AXES);
    rlt_asked_axis *x = &a->axes[a->n_axes++];
    x->name = rlt_arena_printf(&a->arena, "%s%s", taken ? "axis_" : "", c[0].text);
    int rc = x->name ? rlt_json_parse("axis", c[1].text, strlen(c[1].text), &doc, err) : rlt_nomem(err);
    if (!rc && rlt_json_count(rlt_json_root(doc)) > 1)
        rc = name_parts(a, x, rlt_json_root(doc), err);
    rlt_json_free(doc);
    return rc;
}

static int see_column(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    (void)n;
    return add_text(a, &a->columns, &a->n_columns, c[0].text, err);
}

static int see_objective(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    bool *max = rlt_arena_array(&a->arena, a->n_objectives + 1, sizeof *max);
    (void)n;
    if (!max)
        return rlt_nomem(err);
    if (a->n_objectives)
        memcpy(max, a->max, a->n_objectives * sizeof *max);
    max[a->n_objectives] = strcmp(c[1].text, "max") == 0;
    a->max = max;
    return add_text(a, &a->objectives, &a->n_objectives, c[0].text, err);
}

/* Writes an SQL name in quotes, with quotes inside doubled. */
static void put_name(FILE *f, const char *name)
{
    putc('"', f);
    for (; *name; name++)
        fprintf(f, *name == '"' ? "\"\"" : "%c", *name);
    putc('"', f);
}

/* Writes the gain of a point. Let f be the first objective and f_b its best value among the baseline points
 * of the same case. The gain is f_b / f if f is minimised, f / f_b if maximised: above 1 is better. */
static void put_gain(const rlt_asked *a, FILE *f)
{
    const char *aim = a->objectives[0];
    if (!a->baseline) {
        fputs(", NULL AS gain", f);
        return;
    }
    fprintf(f, ", CASE WHEN name IS NULL AND %s>0 THEN ", aim);
    if (a->max[0])
        fprintf(f, "1.0*%s/", aim);
    fprintf(f, "%s(CASE WHEN (%s\n) THEN %s END) OVER (PARTITION BY \"rlt_case\", replica)",
            a->max[0] ? "max" : "1.0*min", a->baseline, aim);
    if (!a->max[0])
        fprintf(f, "/%s", aim);
    fputs(" END AS gain", f);
}

static int make_view(rlt_asked *a, rlt_error *err)
{
    char *sql = NULL, figures[RLT_FIGURE_LIST];
    size_t length;
    FILE *f = rlt_text_stream(&sql, &length);
    int rc = f ? 0 : rlt_nomem(err);
    if (rc)
        return rc;
    fputs("CREATE TEMP VIEW points AS SELECT *", f);
    put_gain(a, f);
    fputs(" FROM (SELECT p.point, p.name, ", f);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        fprintf(f,
                "(SELECT v FROM temp.axis_value WHERE axis=%u AND i=json_extract(p.coordinates,'$[%u]')) AS ",
                i, i);
        put_name(f, a->axes[i].name);
        fputs(", ", f);
    }
    if (a->baseline)
        fprintf(f, "json_remove(p.coordinates,'$[%u]') AS \"rlt_case\", ", a->compared);
    fprintf(f, "p.replica, p.status, p.error, %s FROM point p LEFT JOIN result r ON r.point=p.point)",
            rlt_figure_list("r.", false, figures));
    if (fclose(f))
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_store_query(a->store, sql, NULL, NULL, err);
    free(sql);
    return rc;
}

static int see_baseline(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    rlt_asked *a = ctx;
    (void)n;
    if (c[0].kind != RLT_CELL_TEXT || c[1].kind != RLT_CELL_TEXT)
        return 0;
    for (a->compared = 0; a->compared < a->n_axes; a->compared++)
        if (strcmp(a->axes[a->compared].name, c[0].text) == 0)
            break;
    a->baseline = rlt_arena_strdup(&a->arena, c[1].text);
    return a->baseline ? 0 : rlt_nomem(err);
}

static int make_means(rlt_asked *a, rlt_error *err)
{
    char *sql = NULL;
    size_t length;
    int rc =
        rlt_store_query(a->store, "SELECT max(replica)+1 FROM point", rlt_asked_integer, &a->replicas, err);
    a->ranked = a->replicas > 1 ? "means" : "points";
    FILE *f = rc || a->replicas < 2 ? NULL : rlt_text_stream(&sql, &length);
    if (!f)
        return rc || a->replicas < 2 ? rc : rlt_nomem(err);
    fputs("CREATE TEMP VIEW means AS SELECT min(point) AS point, name", f);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        fputs(", ", f);
        put_name(f, a->axes[i].name);
    }
    fputs(", NULL AS replica, max(status) AS status, max(error) AS error", f);
    for (int i = 0; i < RLT_FIGURES; i++)
        fprintf(f, ", %s(%s) AS %s", rlt_figure_infos[i].kind == RLT_FIG_TEXT ? "max" : "avg",
                rlt_figure_infos[i].name, rlt_figure_infos[i].name);
    fprintf(f, " FROM points GROUP BY point/%lld", (long long)a->replicas);
    if (fclose(f))
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_store_query(a->store, sql, NULL, NULL, err);
    free(sql);
    return rc;
}

int rlt_asked_open(rlt_asked *a, const char *db, rlt_error *err)
{
    static const char *const values[] = {
        "CREATE TEMP TABLE axis_value(axis INTEGER, i INTEGER, v, PRIMARY KEY(axis,i)) WITHOUT ROWID",
        "INSERT INTO temp.axis_value SELECT a.axis, j.key, j.value FROM axis a, json_each(a.\"values\") j"};
    rlt_error why = {0};
    *a = (rlt_asked){.compared = RLT_NONE};
    int rc = rlt_store_open(db, RLT_STORE_READ, &a->store, err);
    if (rc)
        return rc;
    if (rlt_store_query(a->store, "SELECT name, pointers FROM axis ORDER BY axis", see_axis, a, &why))
        return rlt_fail(err, RLT_ESCHEMA, db, "is not a database of a sweep: %s", why.what);
    if ((rc =
             rlt_store_query(a->store, "SELECT j.value FROM study, json_each(study.columns) j ORDER BY j.key",
                             see_column, a, err)) ||
        (rc = rlt_store_query(
             a->store,
             "SELECT json_extract(j.value,'$.column'), json_extract(j.value,'$.goal') FROM study, "
             "json_each(study.objectives) j ORDER BY j.key",
             see_objective, a, err)))
        return rc;
    a->usual = !a->n_columns;
    for (int i = 0; i < RLT_FIG_USUAL && !rc && a->usual; i++)
        rc = add_text(a, &a->columns, &a->n_columns, rlt_figure_infos[i].name, err);
    for (int i = 0; i < 2 && !rc; i++)
        rc = rlt_store_query(a->store, values[i], NULL, NULL, err);
    if (!rc)
        rc = rlt_store_query(a->store,
                             "SELECT json_extract(text,'$.baseline.axis'), "
                             "json_extract(text,'$.baseline.where') FROM study",
                             see_baseline, a, err);
    if (!rc)
        rc = make_view(a, err);
    if (!rc)
        rc = make_means(a, err);
    return rc ? rc : rlt_asked_commands(a, err);
}

void rlt_asked_close(rlt_asked *a)
{
    rlt_store_close(a->store);
    rlt_asked_study_free(a);
    rlt_arena_free(&a->arena);
    *a = (rlt_asked){0};
}

/* Returns the view's column with this name, as the view spells it; NULL with an error that names the
 * nearest. */
static const char *find_column(const rlt_asked *a, const char *name, size_t length, rlt_error *err)
{
    char word[100];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    rlt_nearest near = rlt_nearest_to(word);
    for (uint32_t i = 0; i < a->n_axes + RLT_FIGURES + OWN_COLUMNS; i++) {
        uint32_t k = i - a->n_axes;
        const char *known = i < a->n_axes     ? a->axes[i].name
                            : k < OWN_COLUMNS ? own_columns[k]
                                              : rlt_figure_infos[k - OWN_COLUMNS].name;
        if (strcmp(known, word) == 0)
            return known;
        rlt_nearest_try(&near, known);
    }
    rlt_fail(err, RLT_EUSAGE, "--columns", "no column '%s'%s%s%s", word, near.best ? "; did you mean '" : "",
             near.best ? near.best : "", near.best ? "'?" : "");
    return NULL;
}

bool rlt__asked_listed(char *const *list, uint32_t n, const char *name)
{
    uint32_t i = 0;
    while (i < n && strcmp(list[i], name) != 0)
        i++;
    return i < n;
}

static void add_name(FILE *f, const char *name)
{
    fputs(ftell(f) ? ", " : "", f);
    fputs(strcmp(name, "command") == 0 ? "ringlet_command(point) AS " : "", f);
    put_name(f, name);
}

static int put_chosen(const rlt_asked *a, const char *chosen, FILE *f, rlt_error *err)
{
    size_t length;
    const char *item;
    while (chosen && (item = rlt_next_item(&chosen, ',', &length))) {
        const char *name = find_column(a, item, length, err);
        if (!name)
            return RLT_EUSAGE;
        add_name(f, name);
    }
    return 0;
}

/* Writes the default columns. For people the objectives follow the axes. */
static void put_usual(const rlt_asked *a, bool people, FILE *f)
{
    add_name(f, "point");
    add_name(f, "name");
    for (uint32_t i = 0; i < a->n_axes; i++)
        add_name(f, a->axes[i].name);
    for (uint32_t i = 0; i < a->n_objectives && people; i++)
        add_name(f, a->objectives[i]);
    add_name(f, "replica");
    add_name(f, "status");
    add_name(f, "error");
    for (uint32_t i = 0; i < a->n_columns; i++)
        if (!people || !rlt__asked_listed(a->objectives, a->n_objectives, a->columns[i]))
            add_name(f, a->columns[i]);
}

int rlt_asked_select(rlt_asked *a, const char *chosen, bool people, char **out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    int rc = 0;
    FILE *f = rlt_text_stream(&text, &length);
    if (!f)
        return rlt_nomem(err);
    if (chosen)
        rc = put_chosen(a, chosen, f, err);
    else
        put_usual(a, people, f);
    if (fclose(f) && !rc)
        rc = rlt_nomem(err);
    *out = rc ? NULL : rlt_arena_strdup(&a->arena, text);
    free(text);
    return rc || *out ? rc : rlt_nomem(err);
}

static void write_plain(const rlt_json_tree *t, FILE *f)
{
    if (t->kind == RLT_TREE_STRING)
        fputs(t->text, f);
    else
        rlt_tree_write(t, NULL, f);
}

/* Joins the values of an object, such as "switch,8,50GB/s,1us". */
static char *join_values(rlt_arena *arena, const rlt_json_tree *object)
{
    char *made = NULL, *kept = NULL;
    size_t length;
    FILE *f = rlt_text_stream(&made, &length);
    for (const rlt_json_tree *t = f ? object->first : NULL; t; t = t->next) {
        fputs(t == object->first ? "" : ",", f);
        write_plain(t, f);
    }
    if (f && !fclose(f))
        kept = rlt_arena_strdup(arena, made);
    free(made);
    return kept;
}

/* Formats the values of a zipped axis, such as "tp=2,pp=1". */
static char *join_parts(rlt_arena *arena, const rlt_asked_axis *x, const rlt_json_tree *list)
{
    char *made = NULL, *kept = NULL;
    size_t length;
    uint32_t i = 0;
    FILE *f = rlt_text_stream(&made, &length);
    for (const rlt_json_tree *t = f ? list->first : NULL; t && i < x->n_parts; t = t->next, i++) {
        fprintf(f, "%s%s=", i ? "," : "", x->parts[i]);
        write_plain(t, f);
    }
    if (f && !fclose(f))
        kept = rlt_arena_strdup(arena, made);
    free(made);
    return kept;
}

const char *rlt_asked_shown(rlt_arena *arena, const rlt_asked_axis *x, const char *text, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    rlt_json_tree *t = NULL;
    const char *equals = strchr(text, '='), *shown = NULL;
    size_t n = equals ? (size_t)(equals - text) : 0, k = strlen(x->name);
    if (x->n_parts < 2 && text[0] != '{') {
        bool own =
            n >= k && memcmp(equals - k, x->name, k) == 0 && (n == k || equals[-(ptrdiff_t)k - 1] == '.');
        shown = rlt_arena_strdup(arena, own ? equals + 1 : text);
    } else if (!rlt_json_parse(x->name, text, strlen(text), &doc, err) &&
               !rlt_tree_make(arena, rlt_json_root(doc), &t, err)) {
        const rlt_json_tree *name = rlt_tree_get(t, "name");
        shown = x->n_parts > 1                          ? join_parts(arena, x, t)
                : name && name->kind == RLT_TREE_STRING ? name->text
                                                        : join_values(arena, t);
    }
    rlt_json_free(doc);
    if (!shown)
        rlt_nomem(err);
    return shown;
}

int rlt_asked_integer(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    (void)n;
    (void)err;
    *(int64_t *)ctx = c[0].integer;
    return 0;
}
