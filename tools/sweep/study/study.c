/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a study. */
#include "tools/sweep/study/study.h"

#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "tools/base/commands.h"
#include "tools/output/report_options.h"
#include "workload/setup/locate.h"

enum { MAX_NAMED = 1000000, MAX_REPLICAS = 1000000 };

static rlt_figure figure_of(rlt_json v, rlt_error *err)
{
    rlt_error why = {0};
    if (!rlt_json_is_string(v)) {
        rlt_json_fail(v, RLT_ESCHEMA, err, "expected the name of a column");
        return RLT_FIGURES;
    }
    rlt_figure f = rlt_figure_find(rlt_json_string(v), &why);
    if (f == RLT_FIGURES)
        rlt_json_fail(v, RLT_ESCHEMA, err, "%s", why.what);
    return f;
}

static int read_command(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    const char *name = "run";
    int rc = rlt_json_get_string(root, "command", false, &name, err);
    if (rc)
        return rc;
    s->command = strcmp(name, "run") == 0 ? &rlt_cmd_run : strcmp(name, "coll") == 0 ? &rlt_cmd_coll : NULL;
    if (!s->command)
        return rlt_json_fail(rlt_json_get(root, "command"), RLT_ESCHEMA, err,
                             "expected run or coll, got '%s'", name);
    s->seed_option = RLT_NONE;
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(s->command->options, i, NULL)); i++)
        if (strcmp(o->name, "seed") == 0)
            s->seed_option = i;
    return 0;
}

/* Refuses options that do not affect results. */
static int check_option(const rlt_sweep_study *s, const rlt_json_tree *member, uint32_t number,
                        rlt_error *err)
{
    const rlt_option *o = rlt_option_at(s->command->options, number, NULL);
    if (!o->unrecorded && strcmp(o->name, "compare") != 0)
        return 0;
    return rlt_json_fail(member->at, RLT_ESCHEMA, err,
                         "this option changes a report, not a result: a sweep has columns and links instead");
}

static int read_base(rlt_sweep_study *s, rlt_json v, rlt_error *err)
{
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object of options");
    int rc = rlt_tree_make(&s->arena, v, &s->base, err);
    if (rc)
        return rc;
    s->n_members = s->base->n;
    s->members = rlt_arena_array(&s->arena, s->n_members + 1, sizeof *s->members);
    if (!s->members)
        return rlt_nomem(err);
    uint32_t i = 0;
    for (const rlt_json_tree *m = s->base->first; m && !rc; m = m->next, i++) {
        s->members[i].node = m;
        rc = rlt_tree_known(s->command->options, "of this command", m, &s->members[i].option, err);
        if (!rc)
            rc = check_option(s, m, s->members[i].option, err);
    }
    return rc;
}

static bool leads_into_topology(const char *pointer)
{
    return pointer && strncmp(pointer, "/topology/", 10) == 0;
}

/* Returns true if any key or value of the file is a pointer into the topology. */
static bool any_into_topology(rlt_json v)
{
    if (leads_into_topology(rlt_json_string(v)))
        return true;
    for (rlt_json c = rlt_json_first(v); rlt_json_is(c); c = rlt_json_next(c))
        if (leads_into_topology(rlt_json_key(c)) || any_into_topology(c))
            return true;
    return false;
}

/* If pointers lead into the topology that base names by a file, replaces the name by the file's contents. */
static int inline_topology(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    rlt_json_tree *node = (rlt_json_tree *)rlt_tree_get(s->base, "topology");
    char path[4096];
    if (!node || node->kind != RLT_TREE_STRING || !any_into_topology(root) ||
        !rlt_topology_path(node->text, rlt_topology_dirs().list, path, sizeof path))
        return 0;
    rlt_error ignored = {0};
    rlt_json_tree *file = NULL;
    if (rlt_json_load(path, &s->topology, &ignored))
        return 0; /* another format: pointers into it will be reported */
    int rc = rlt_tree_make(&s->arena, rlt_json_root(s->topology), &file, err);
    if (rc || file->kind != RLT_TREE_OBJECT)
        return rc;
    node->kind = RLT_TREE_OBJECT;
    node->text = NULL;
    node->first = file->first;
    node->last = file->last;
    node->n = file->n;
    for (rlt_json_tree *c = node->first; c; c = c->next)
        c->parent = node;
    return 0;
}

int rlt__sweep_place_of(rlt_sweep_study *s, rlt_json at, const char *pointer, rlt_sweep_place *out,
                        rlt_error *err)
{
    rlt_error why = {0};
    *out = (rlt_sweep_place){.pointer = pointer};
    int rc = rlt_tree_find(&s->arena, s->base, pointer, &out->place, &why);
    if (rc == RLT_ENOMEM)
        return rlt_nomem(err);
    if (rc) {
        const rlt_json_tree *t = rlt_tree_get(s->base, "topology");
        bool text = leads_into_topology(pointer) && t && t->kind == RLT_TREE_STRING;
        return rlt_json_fail(at, RLT_ESCHEMA, err, "%s%s", why.what,
                             text ? "; write the topology as an object, or name a JSON file" : "");
    }
    size_t n = strcspn(pointer + 1, "/");
    rlt_json_tree top = {.key = rlt_arena_strndup(&s->arena, pointer + 1, n), .at = at};
    if (!top.key)
        return rlt_nomem(err);
    rc = rlt_tree_known(s->command->options, "of this command", &top, &out->option, err);
    if (!rc)
        rc = check_option(s, &top, out->option, err);
    for (uint32_t i = 0; i < s->n_members && !rc; i++)
        s->members[i].touched |= s->members[i].option == out->option;
    return rc;
}

static int read_named_set(rlt_sweep_study *s, rlt_sweep_named *p, rlt_json set, rlt_error *err)
{
    uint32_t n = rlt_json_count(set);
    size_t begin = 0, end = 0;
    if (rlt_json_is(set))
        rlt_json_extent(set, &begin, &end);
    p->text = end ? rlt_arena_strndup(&s->arena, rlt_json_text(s->doc) + begin, end - begin) : "{}";
    p->places = rlt_arena_array(&s->arena, n + 1, sizeof *p->places);
    p->values = rlt_arena_array(&s->arena, n + 1, sizeof *p->values);
    if (!p->text || !p->places || !p->values)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(set); rlt_json_is(v); v = rlt_json_next(v)) {
        rlt_json_tree *value;
        rlt_sweep_place *place = &p->places[p->n];
        if (rlt_json_key(v)[0] == '_')
            continue;
        int rc = rlt__sweep_place_of(s, v, rlt_json_key(v), place, err);
        if (!rc)
            rc = rlt_tree_make(&s->arena, v, &value, err);
        if (rc)
            return rc;
        for (uint32_t k = 0; k < p->n; k++)
            if (rlt_tree_overlap(&p->places[k].place, &place->place))
                return rlt_json_fail(v, RLT_ESCHEMA, err, "sets the same value as '%s'",
                                     p->places[k].pointer);
        p->values[p->n++] = value;
    }
    return 0;
}

/* Records a name, which must be unique: `sweep compare` finds points by name. */
static int note_name(rlt_strings *names, const char *name, rlt_json v, rlt_error *err)
{
    size_t length = strlen(name);
    if (rlt_intern_find(names, name, length) != RLT_NONE)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "another point is called '%s'", name);
    return rlt_intern(names, name, length) == RLT_NONE ? rlt_nomem(err) : 0;
}

static int read_named(rlt_sweep_study *s, rlt_json list, rlt_error *err)
{
    static const char *const keys[] = {"name", "set", NULL};
    uint32_t n = rlt_json_count(list);
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of points");
    if (n > MAX_NAMED)
        return rlt_json_fail(list, RLT_ERANGE, err, "more than %d points", MAX_NAMED);
    s->named = rlt_arena_array(&s->arena, n + 1, sizeof *s->named);
    if (!s->named)
        return rlt_nomem(err);
    rlt_strings names = {0};
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        rlt_sweep_named *p = &s->named[s->n_named++];
        rlt_json set = rlt_json_get(v, "set");
        rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
        if (!rc)
            rc = rlt_json_get_string(v, "name", true, &p->name, err);
        if (!rc)
            rc = note_name(&names, p->name, v, err);
        if (!rc && rlt_json_is(set) && !rlt_json_is_object(set))
            rc = rlt_json_fail(set, RLT_ESCHEMA, err, "expected an object of pointers and values");
        if (!rc)
            rc = read_named_set(s, p, set, err);
    }
    rlt_strings_free(&names);
    return rc;
}

static int read_objective(rlt_json v, rlt_sweep_objective *out, rlt_error *err)
{
    static const char *const keys[] = {"column", "goal", NULL};
    const char *goal = "min";
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    rlt_json column = rlt_json_get(v, "column");
    if (rc || (rc = rlt_json_get_string(v, "goal", false, &goal, err)))
        return rc;
    if (!rlt_json_is(column))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "has no column");
    out->max = strcmp(goal, "max") == 0;
    if (!out->max && strcmp(goal, "min") != 0)
        return rlt_json_fail(rlt_json_get(v, "goal"), RLT_ESCHEMA, err, "expected min or max, got '%s'",
                             goal);
    out->column = figure_of(column, err);
    if (out->column == RLT_FIGURES)
        return RLT_ESCHEMA;
    if (out->column >= RLT_FIG_STORED)
        return rlt_json_fail(column, RLT_ESCHEMA, err, "is computed from the objectives and cannot be one");
    return rlt_figure_infos[out->column].kind != RLT_FIG_TEXT
               ? 0
               : rlt_json_fail(column, RLT_ESCHEMA, err, "is a text and cannot be an objective");
}

static int read_columns(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    rlt_json objectives = rlt_json_get(root, "objectives"), columns = rlt_json_get(root, "columns");
    int rc = 0;
    if ((rlt_json_is(objectives) && !rlt_json_is_array(objectives)) ||
        rlt_json_count(objectives) > RLT_SWEEP_OBJECTIVES)
        return rlt_json_fail(objectives, RLT_ESCHEMA, err, "expected a list of up to %d objectives",
                             RLT_SWEEP_OBJECTIVES);
    for (rlt_json v = rlt_json_first(objectives); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_objective(v, &s->objectives[s->n_objectives++], err);
    if (!rc && s->n_objectives == 0)
        s->objectives[s->n_objectives++] = (rlt_sweep_objective){.column = RLT_FIG_TIME};
    if (!rc && rlt_json_is(columns) &&
        (!rlt_json_is_array(columns) || rlt_json_count(columns) == 0 ||
         rlt_json_count(columns) > RLT_FIGURES))
        return rlt_json_fail(columns, RLT_ESCHEMA, err, "expected a list of columns");
    for (rlt_json v = rlt_json_first(columns); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        if ((s->columns[s->n_columns++] = figure_of(v, err)) == RLT_FIGURES)
            rc = RLT_ESCHEMA;
    return rc;
}

static int read_baseline(rlt_sweep_study *s, rlt_json v, rlt_error *err)
{
    static const char *const keys[] = {"axis", "where", NULL};
    if (!rlt_json_is(v))
        return 0;
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    if (rc || (rc = rlt_json_get_string(v, "axis", true, &s->baseline_axis, err)) ||
        (rc = rlt_json_get_string(v, "where", true, &s->baseline_where, err)))
        return rc;
    rlt_nearest near = rlt_nearest_to(s->baseline_axis);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        if (strcmp(s->axes[i].name, s->baseline_axis) == 0)
            return 0;
        rlt_nearest_try(&near, s->axes[i].name);
    }
    return rlt_json_fail(rlt_json_get(v, "axis"), RLT_ESCHEMA, err, "no axis of that name%s%s%s",
                         near.best ? "; did you mean '" : "", near.best ? near.best : "",
                         near.best ? "'?" : "");
}

static int read_links(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    static const char *const words[] = {"none", "summary", "all"};
    const char *word = "none";
    int rc = rlt_json_get_string(root, "links", false, &word, err);
    for (int i = 0; i < 3 && !rc; i++)
        if (strcmp(word, words[i]) == 0) {
            s->links = (rlt_figure_links)i;
            return 0;
        }
    return rc ? rc
              : rlt_json_fail(rlt_json_get(root, "links"), RLT_ESCHEMA, err,
                              "expected none, summary or all, got '%s'", word);
}

static int read_sample(rlt_sweep_study *s, rlt_json v, rlt_error *err)
{
    static const char *const keys[] = {"random", "adaptive", "seed", "objective", "goal", "round", NULL};
    rlt_json random = rlt_json_get(v, "random"), adaptive = rlt_json_get(v, "adaptive");
    rlt_json objective = rlt_json_get(v, "objective");
    const char *goal = NULL;
    uint64_t n = 0, round = 0;
    s->aim = s->objectives[0];
    if (!rlt_json_is(v))
        return 0;
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    if (rc)
        return rc;
    if (rlt_json_is(random) == rlt_json_is(adaptive))
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "expected either random or adaptive, with a number of points");
    s->sample = rlt_json_is(random) ? RLT_SWEEP_RANDOM : RLT_SWEEP_ADAPTIVE;
    if ((rc = rlt_json_u64(rlt_json_is(random) ? random : adaptive, RLT_SWEEP_POINTS, &n, err)) ||
        (rc = rlt_json_get_u64(v, "seed", false, UINT64_MAX, &s->sample_seed, err)) ||
        (rc = rlt_json_get_u64(v, "round", false, RLT_SWEEP_POINTS, &round, err)) ||
        (rc = rlt_json_get_string(v, "goal", false, &goal, err)))
        return rc;
    if (n == 0 || s->n_axes == 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             n ? "there are no axes to sample" : "expected at least 1 point");
    if (rlt_json_is(objective)) {
        s->aim = (rlt_sweep_objective){.column = figure_of(objective, err)};
        if (s->aim.column == RLT_FIGURES)
            return RLT_ESCHEMA;
        for (uint32_t i = 0; i < s->n_objectives; i++)
            if (s->objectives[i].column == s->aim.column)
                s->aim.max = s->objectives[i].max;
    }
    if (goal && strcmp(goal, "min") != 0 && strcmp(goal, "max") != 0)
        return rlt_json_fail(rlt_json_get(v, "goal"), RLT_ESCHEMA, err, "expected min or max, got '%s'",
                             goal);
    if (goal)
        s->aim.max = goal[1] == 'a';
    s->wanted = (uint32_t)n;
    s->round = (uint32_t)(round ? round : n / 8 > 8 ? n / 8 : 8);
    return 0;
}

/* Makes the texts of members that no point changes, once for all points. */
static int settle_members(rlt_sweep_study *s, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->n_members && !rc; i++) {
        rlt_sweep_member *m = &s->members[i];
        const rlt_option *o = rlt_option_at(s->command->options, m->option, NULL);
        if (!m->touched)
            rc = rlt_tree_option(m->node, NULL, o, m->option, &s->arena, &m->texts, err);
    }
    return rc;
}

/* Sets the number of places of the grid. */
static int count_places(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    s->grid = s->n_axes || !s->n_named;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        uint32_t n = s->axes[i].from ? 1 : s->axes[i].n;
        if (s->grid > (UINT64_MAX >> 2) / n)
            return rlt_json_fail(rlt_json_get(root, "axes"), RLT_ERANGE, err, "more places than 2^62");
        s->grid *= n;
    }
    if ((s->sample == RLT_SWEEP_GRID ? s->grid : s->wanted) > RLT_SWEEP_POINTS / s->replicas - s->n_named)
        return rlt_json_fail(rlt_json_get(root, "axes"), RLT_ERANGE, err,
                             "%llu places x %u replicas and %u named points are more than %d points; take a "
                             "\"sample\" of them",
                             (unsigned long long)s->grid, s->replicas, s->n_named, RLT_SWEEP_POINTS);
    return 0;
}

bool rlt_sweep_dropped(const rlt_sweep_study *s, char *buffer, size_t size)
{
    uint64_t all = 0, last = UINT64_MAX;
    size_t used = 0;
    for (uint32_t i = 0; i < s->n_reasons; i++)
        all += s->reasons[i].points;
    if (all)
        used = (size_t)snprintf(buffer, size, "%llu dropped", (unsigned long long)all);
    for (uint32_t n = 0, told = 0; n < s->n_reasons && all && used + 1 < size; n++) {
        uint32_t best = RLT_NONE; /* the next in order of falling numbers, then of reasons */
        for (uint32_t i = 0; i < s->n_reasons; i++) {
            uint64_t points = s->reasons[i].points;
            bool later = points < last || (points == last && i > told);
            if (points && later && (best == RLT_NONE || points > s->reasons[best].points))
                best = i;
        }
        if (best == RLT_NONE)
            break;
        last = s->reasons[best].points;
        told = best;
        used += (size_t)snprintf(buffer + used, size - used, "%s %llu %s", n ? ";" : ":",
                                 (unsigned long long)last, s->reasons[best].text);
    }
    return all != 0;
}

/* Reports a study without points, with what dropped them. */
static int no_points(const rlt_sweep_study *s, rlt_json at, uint64_t kept, rlt_error *err)
{
    char dropped[400];
    if (!rlt_sweep_dropped(s, dropped, sizeof dropped))
        dropped[0] = '\0';
    if (s->sample == RLT_SWEEP_GRID)
        return rlt_json_fail(at, RLT_ESCHEMA, err, "no point passes the filters%s%s", dropped[0] ? ": " : "",
                             dropped);
    return rlt_json_fail(at, RLT_ESCHEMA, err, "asks for %u of %llu places that pass the filters%s%s",
                         s->wanted, (unsigned long long)kept, dropped[0] ? "; " : "", dropped);
}

int rlt_sweep_count(rlt_sweep_study *s, rlt_error *err)
{
    rlt_json root = rlt_json_root(s->doc);
    uint64_t kept = 0, draws = 0, end;
    uint32_t at[RLT_SWEEP_AXES], reason;
    bool sampled = s->sample != RLT_SWEEP_GRID;
    int rc = count_places(s, root, err);
    end = sampled && s->grid > 16 * (uint64_t)RLT_SWEEP_POINTS ? 16 * (uint64_t)RLT_SWEEP_POINTS : s->grid;
    for (uint32_t i = 0; i < s->n_reasons; i++)
        s->reasons[i].points = 0;
    for (; draws < end && !(sampled && kept == s->wanted) && !rc; draws++) {
        rc = rlt__sweep_judge(s, sampled ? rlt_sweep_permute(s, draws) : draws, at, &reason, err);
        if (reason == RLT_NONE)
            kept++;
        else
            s->reasons[reason].points += s->replicas;
    }
    if (rc)
        return rc;
    if (sampled && kept < s->wanted)
        return no_points(s, rlt_json_get(root, "sample"), kept, err);
    s->draws = s->sample == RLT_SWEEP_ADAPTIVE ? s->wanted : draws;
    s->points = (kept + s->n_named) * s->replicas;
    if (s->points == 0)
        return no_points(s, root, kept, err);
    if (s->sample == RLT_SWEEP_ADAPTIVE &&
        !(s->chosen = rlt_arena_array(&s->arena, s->wanted, sizeof *s->chosen)))
        return rlt_nomem(err);
    return 0;
}

static int read_skip(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    rlt_json v = rlt_json_get(root, "skip_impossible");
    int rc = rlt_json_get_bool(root, "skip_impossible", false, &s->skip_impossible, err);
    if (!rc && s->skip_impossible && s->command != &rlt_cmd_run)
        rc = rlt_json_fail(v, RLT_ESCHEMA, err, "is for trainings, and '%s' runs none", s->command->name);
    return rc;
}

static int read_root(rlt_sweep_study *s, rlt_json root, rlt_error *err)
{
    static const char *const keys[] = {
        "name",       "command", "base",  "axes",     "points", "filter",          "replicas", "sample",
        "objectives", "columns", "links", "baseline", "rules",  "skip_impossible", NULL};
    uint64_t replicas = 1;
    uint32_t first;
    int rc;
    if (!rlt_json_is_object(root))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object");
    s->name = "study";
    if ((rc = rlt_json_only(root, keys, err)) ||
        (rc = rlt_json_get_string(root, "name", false, &s->name, err)) || (rc = read_command(s, root, err)))
        return rc;
    if (!rlt_json_is(rlt_json_get(root, "base")))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "has no base, the options of all points");
    if ((rc = read_base(s, rlt_json_get(root, "base"), err)) || (rc = inline_topology(s, root, err)) ||
        (rc = rlt_sweep_reason(s, "by filters", &first, err)) ||
        (rc = rlt__sweep_axes(s, rlt_json_get(root, "axes"), err)) ||
        (rc = read_named(s, rlt_json_get(root, "points"), err)) ||
        (rc = rlt__sweep_filters(s, rlt_json_get(root, "filter"), err)) ||
        (rc = rlt__sweep_conditions(s, rlt_json_get(root, "rules"), err)) || (rc = read_skip(s, root, err)) ||
        (rc = rlt_json_get_u64(root, "replicas", false, MAX_REPLICAS, &replicas, err)) ||
        (rc = read_columns(s, root, err)) || (rc = read_baseline(s, rlt_json_get(root, "baseline"), err)) ||
        (rc = read_links(s, root, err)) || (rc = read_sample(s, rlt_json_get(root, "sample"), err)))
        return rc;
    rlt_json where = rlt_json_get(root, "replicas");
    if (replicas == 0)
        return rlt_json_fail(where, RLT_ESCHEMA, err, "expected at least 1");
    if (replicas > 1 && s->seed_option == RLT_NONE)
        return rlt_json_fail(where, RLT_ESCHEMA, err, "'%s' takes no seed: all replicas would be equal",
                             s->command->name);
    s->replicas = (uint32_t)replicas;
    if ((rc = settle_members(s, err)) || (rc = rlt__sweep_network(s, err)))
        return rc;
    return rlt_sweep_count(s, err);
}

static int read_doc(rlt_sweep_study *s, rlt_error *err)
{
    const char *text = rlt_json_text(s->doc);
    snprintf(s->hash, sizeof s->hash, "%016llx", (unsigned long long)rlt_hash_bytes(text, strlen(text), 0));
    return read_root(s, rlt_json_root(s->doc), err);
}

int rlt_sweep_study_read(const char *path, rlt_sweep_study *s, rlt_error *err)
{
    *s = (rlt_sweep_study){.path = path};
    int rc = rlt_json_load(path, &s->doc, err);
    return rc ? rc : read_doc(s, err);
}

int rlt_sweep_study_parse(const char *name, const char *text, rlt_sweep_study *s, rlt_error *err)
{
    *s = (rlt_sweep_study){.path = name};
    int rc = rlt_json_parse(name, text, strlen(text), &s->doc, err);
    return rc ? rc : read_doc(s, err);
}

void rlt_sweep_study_free(rlt_sweep_study *s)
{
    for (uint32_t i = 0; i < s->n_members && s->members; i++)
        free(s->members[i].texts.items);
    free(s->reasons);
    rlt_json_free(s->doc);
    rlt_json_free(s->topology);
    rlt_arena_free(&s->arena);
    *s = (rlt_sweep_study){0};
}
