/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Durations of the collectives of layouts, remembered by where their members are. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/cost.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"
#include "workload/training/work.h"

enum { MAX_KNOWN = 1 << 28, KEY_WORDS = 16 };

/* A list of classes: those that a group may have in any order of the axes, and at any stage. */
typedef struct list {
    uint32_t first, n;
} list;

struct rlt_spans {
    const rlt_replay_options *how; /* borrowed */
    rlt_timing *alone;             /* borrowed; NULL: collectives take no time */
    rlt_placement identity;
    rlt_axis (*orders)[RLT_AXES_OF_LAYOUT];
    uint32_t n_orders;
    /* Classes of groups, by what their members depend on; a group of each class. */
    rlt_strings places;
    uint32_t *class_at, places_room;
    rlt_map of_timing; /* class of the timing -> class */
    rlt_group *groups;
    uint32_t n_classes, classes_room;
    rlt_strings keys; /* class, kind and bytes */
    rlt_time *times;
    uint32_t times_room;
    rlt_strings layouts; /* sizes of a layout, and a group */
    list *lists;
    uint32_t lists_room, *listed, n_listed, listed_room;
};

int rlt_spans_create(const rlt_replay_options *how, rlt_timing *alone, rlt_spans **out, rlt_error *err)
{
    rlt_spans *s = *out = calloc(1, sizeof *s);
    if (!s)
        return rlt_nomem(err);
    s->how = how;
    s->alone = alone;
    return 0;
}

static void forget(rlt_spans *s)
{
    for (uint32_t i = 0; i < s->n_classes; i++)
        rlt_group_free(&s->groups[i]);
    s->n_classes = s->n_listed = 0;
    rlt_strings_free(&s->places);
    rlt_strings_free(&s->keys);
    rlt_strings_free(&s->layouts);
    rlt_map_free(&s->of_timing);
}

void rlt_spans_free(rlt_spans *s)
{
    if (!s)
        return;
    forget(s);
    free(s->orders);
    free(s->class_at);
    free(s->groups);
    free(s->times);
    free(s->lists);
    free(s->listed);
    free(s);
}

int rlt_spans_add_order(rlt_spans *s, const rlt_axis order[RLT_AXES_OF_LAYOUT], rlt_error *err)
{
    rlt_axis(*grown)[RLT_AXES_OF_LAYOUT] = realloc(s->orders, (s->n_orders + 1) * sizeof *grown);
    if (!grown)
        return rlt_nomem(err);
    s->orders = grown;
    memcpy(grown[s->n_orders++], order, sizeof *grown);
    return 0;
}

/* Writes the facts on which the members of a group depend. Returns the number of words. */
static uint32_t write_place(const rlt_training *t, uint32_t stage, int group, uint32_t key[KEY_WORDS])
{
    uint32_t stride[RLT_AXES_OF_LAYOUT], n = 1, used = 0;
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        stride[t->order[i]] = n;
        n *= t->size[t->order[i]];
    }
    key[used++] = stage * stride[RLT_AXIS_PP]; /* the first rank of the stage */
    if (group == RLT__GROUP_TP || group == RLT__GROUP_CP) {
        rlt_axis along = group == RLT__GROUP_TP ? RLT_AXIS_TP : RLT_AXIS_CP;
        key[used++] = t->size[along];
        key[used++] = stride[along];
        return used;
    }
    key[used++] = (uint32_t)group;
    for (int a = 0; a < RLT_AXES_OF_LAYOUT; a++) {
        bool copies = t->schedule == RLT_SCHEDULE_DUALPIPE;
        key[used++] = a == RLT_AXIS_PP && !copies ? 0 : t->size[a];
        key[used++] = a == RLT_AXIS_PP && !copies ? 0 : stride[a];
    }
    key[used++] = t->ep;
    key[used++] = rlt_training_etp(t);
    key[used++] = t->shard;
    key[used++] = rlt__node(t);
    return used;
}

/* Finds the class of an opened group, and takes the group if it is the first. */
static int class_of_group(rlt_spans *s, rlt_group *g, uint32_t *class, rlt_error *err)
{
    uint32_t own = s->n_classes;
    if (s->alone->classify) {
        rlt_coll_request req = rlt_group_request(g, RLT_BARRIER, 0);
        int rc = s->alone->classify(s->alone, &req, &own, err);
        if (rc)
            return rc;
    }
    *class = rlt_map_get(&s->of_timing, own);
    if (*class != RLT_NONE)
        return 0;
    int rc = rlt_grow(&s->groups, &s->classes_room, sizeof *s->groups, (uint64_t)s->n_classes + 1, MAX_KNOWN,
                      "groups", err);
    if (!rc && rlt_map_put(&s->of_timing, own, s->n_classes))
        rc = rlt_nomem(err);
    if (rc)
        return rc;
    *class = s->n_classes;
    s->groups[s->n_classes++] = *g;
    *g = (rlt_group){0};
    return 0;
}

/* Finds the class of a new group. Groups of a class take the same time for any collective. */
static int classify(rlt_spans *s, const rlt_training *t, uint32_t stage, int group, uint32_t *class,
                    rlt_error *err)
{
    const rlt_placement *where = s->how->placement ? s->how->placement : &s->identity;
    uint32_t at[RLT_AXES_OF_LAYOUT] = {0}, *ranks = malloc(((size_t)s->identity.n + 1) * sizeof *ranks);
    rlt_group g = {0};
    if (!ranks)
        return rlt_nomem(err);
    at[RLT_AXIS_PP] = stage;
    uint32_t n = rlt__training_members(t, at, (rlt__group)group, ranks);
    int rc = rlt_group_create(s->how->topology, where, ranks, n, &g, err);
    free(ranks);
    if (!rc)
        rc = class_of_group(s, &g, class, err);
    rlt_group_free(&g);
    return rc;
}

/* Finds the class of a group that there is. */
static int class_of(rlt_spans *s, const rlt_training *t, uint32_t stage, int group, uint32_t *class,
                    rlt_error *err)
{
    uint32_t key[KEY_WORDS] = {0}, n = write_place(t, stage, group, key);
    uint32_t index = rlt_intern_find(&s->places, (const char *)key, n * sizeof *key);
    if (index != RLT_NONE) {
        *class = s->class_at[index];
        return 0;
    }
    int rc = classify(s, t, stage, group, class, err);
    if (!rc)
        rc = rlt_grow(&s->class_at, &s->places_room, sizeof *s->class_at, (uint64_t)s->places.n + 1,
                      MAX_KNOWN, "groups", err);
    if (rc)
        return rc;
    index = rlt_intern(&s->places, (const char *)key, n * sizeof *key);
    if (index == RLT_NONE)
        return rlt_nomem(err);
    s->class_at[index] = *class;
    return 0;
}

/* Finds the duration of a collective of a class. */
static int time_of(rlt_spans *s, uint32_t class, rlt_coll_kind kind, uint64_t bytes, rlt_time *duration_ps,
                   rlt_error *err)
{
    const uint64_t key[] = {class, (uint64_t)kind, bytes};
    uint32_t index = rlt_intern_find(&s->keys, (const char *)key, sizeof key);
    if (index != RLT_NONE) {
        *duration_ps = s->times[index];
        return 0;
    }
    rlt_coll_request req = rlt_group_request(&s->groups[class], kind, bytes);
    req.endpoint = &s->how->endpoint;
    req.library = s->how->library;
    rlt_request_params(&req, &s->how->params);
    int rc = s->alone->duration(s->alone, &req, duration_ps, err);
    if (!rc)
        rc = rlt_grow(&s->times, &s->times_room, sizeof *s->times, (uint64_t)s->keys.n + 1, MAX_KNOWN,
                      "collectives", err);
    if (rc)
        return rc;
    index = rlt_intern(&s->keys, (const char *)key, sizeof key);
    if (index == RLT_NONE)
        return rlt_nomem(err);
    s->times[index] = *duration_ps;
    return 0;
}

static int add_class(rlt_spans *s, uint32_t first, uint32_t class, rlt_error *err)
{
    for (uint32_t i = first; i < s->n_listed; i++)
        if (s->listed[i] == class)
            return 0;
    int rc = rlt_grow(&s->listed, &s->listed_room, sizeof *s->listed, (uint64_t)s->n_listed + 1, MAX_KNOWN,
                      "groups", err);
    if (!rc)
        s->listed[s->n_listed++] = class;
    return rc;
}

/* Lists the classes that a group of a layout has in any order, at any stage. */
static int list_of(rlt_spans *s, const rlt_training *t, int group, list *out, rlt_error *err)
{
    const uint32_t key[] = {(uint32_t)group,      t->size[RLT_AXIS_TP],
                            t->size[RLT_AXIS_CP], t->size[RLT_AXIS_DP],
                            t->size[RLT_AXIS_PP], t->ep,
                            rlt_training_etp(t),  t->shard,
                            rlt__node(t),         (uint32_t)t->schedule == RLT_SCHEDULE_DUALPIPE};
    uint32_t index = rlt_intern_find(&s->layouts, (const char *)key, sizeof key);
    int rc = 0;
    if (index != RLT_NONE) {
        *out = s->lists[index];
        return 0;
    }
    *out = (list){.first = s->n_listed};
    for (uint32_t o = 0; o < s->n_orders; o++) {
        rlt_training other = *t;
        memcpy(other.order, s->orders[o], sizeof other.order);
        for (uint32_t stage = 0; stage < t->size[RLT_AXIS_PP]; stage++) {
            uint32_t class;
            if ((rc = class_of(s, &other, stage, group, &class, err)) ||
                (rc = add_class(s, out->first, class, err)))
                return rc;
        }
    }
    out->n = s->n_listed - out->first;
    if ((rc = rlt_grow(&s->lists, &s->lists_room, sizeof *s->lists, (uint64_t)s->layouts.n + 1, MAX_KNOWN,
                       "layouts", err)))
        return rc;
    index = rlt_intern(&s->layouts, (const char *)key, sizeof key);
    if (index == RLT_NONE)
        return rlt_nomem(err);
    s->lists[index] = *out;
    return 0;
}

static int least_of(rlt_spans *s, const rlt_training *t, int group, rlt_coll_kind kind, uint64_t bytes,
                    rlt_time *duration_ps, rlt_error *err)
{
    list classes;
    int rc = list_of(s, t, group, &classes, err);
    *duration_ps = RLT_TIME_MAX;
    for (uint32_t i = 0; i < classes.n && !rc; i++) {
        rlt_time each = 0;
        rc = time_of(s, s->listed[classes.first + i], kind, bytes, &each, err);
        *duration_ps = each < *duration_ps ? each : *duration_ps;
    }
    return rc;
}

/* Returns the number of members of a group at a stage, if it is folded away. */
static uint32_t members_of(const rlt__work *w, int group, uint32_t *ranks)
{
    const rlt_training *t = w->t;
    uint32_t tp = t->size[RLT_AXIS_TP], cp = t->size[RLT_AXIS_CP], dp = t->size[RLT_AXIS_DP],
             etp = rlt_training_etp(t), copies = t->schedule == RLT_SCHEDULE_DUALPIPE ? 2 : 1;
    switch (group) {
    case RLT__GROUP_TP:
        return tp;
    case RLT__GROUP_CP:
        return cp;
    case RLT__GROUP_DP:
        return copies * cp * dp;
    case RLT__GROUP_EP:
        return t->ep;
    case RLT__GROUP_EXPERT_DP:
        return copies * (tp * cp * dp / (etp * t->ep));
    case RLT__GROUP_EXPERT_TP:
        return etp == tp ? 1 : etp;
    case RLT__GROUP_SHARD:
        return t->shard;
    case RLT__GROUP_REPLICA:
        return t->shard ? cp * dp / t->shard : 0;
    case RLT__GROUP_EP_ACROSS:
    case RLT__GROUP_EP_INSIDE:
        return t->ep > 1 && rlt__sends_per_node(t) ? rlt__training_members(t, w->at, (rlt__group)group, ranks)
                                                   : 1;
    default:
        return 0;
    }
}

int rlt__spans_groups(rlt__work *w, uint32_t *ranks, rlt_error *err)
{
    rlt_spans *s = w->spans;
    /* Bytes sent once to each node depend on the order: no exchange is at most any. */
    bool left_out = w->communication != RLT_COST_EXACT && w->t->ep > 1 && rlt__sends_per_node(w->t);
    int rc = 0;
    w->folded->n_known = 0;
    for (int g = 0; g < RLT__GROUPS && !rc; g++) {
        bool away =
            rlt__folded_away(w->folded, g) &&
            !(left_out && (g == RLT__GROUP_EP || g == RLT__GROUP_EP_ACROSS || g == RLT__GROUP_EP_INSIDE));
        w->members[g] = away ? members_of(w, g, ranks) : 0;
        w->groups[g] = w->members[g] < 2 ? RLT_NONE : 0;
        if (w->groups[g] != RLT_NONE && w->communication == RLT_COST_EXACT)
            rc = class_of(s, w->t, w->at[RLT_AXIS_PP], g, &w->groups[g], err);
    }
    return rc;
}

int rlt__span(rlt__work *w, int group, rlt_coll_kind kind, uint64_t bytes, rlt_time *duration_ps,
              rlt_error *err)
{
    rlt__folded *f = w->folded;
    bool of_passes = group == RLT__GROUP_TP || group == RLT__GROUP_CP || group == RLT__GROUP_EP ||
                     group == RLT__GROUP_EXPERT_TP;
    *duration_ps = 0;
    if (w->communication == RLT_COST_NONE || (w->communication == RLT_COST_LEAST && !of_passes))
        return 0;
    for (uint32_t i = f->n_known; i-- > 0;)
        if (f->known[i].group == (uint32_t)group && f->known[i].kind == kind && f->known[i].bytes == bytes) {
            *duration_ps = f->known[i].duration_ps;
            return 0;
        }
    int rc = w->communication == RLT_COST_LEAST
                 ? least_of(w->spans, w->t, group, kind, bytes, duration_ps, err)
                 : time_of(w->spans, w->groups[group], kind, bytes, duration_ps, err);
    if (!rc)
        rc = rlt_grow(&f->known, &f->known_room, sizeof *f->known, (uint64_t)f->n_known + 1, MAX_KNOWN,
                      "collectives", err);
    if (!rc)
        f->known[f->n_known++] = (rlt__folded_known){(uint32_t)group, kind, bytes, *duration_ps};
    return rc;
}

const rlt_replay_options *rlt__spans_how(const struct rlt_spans *s)
{
    return s->how;
}

void rlt__spans_begin(rlt_spans *s, uint32_t ranks)
{
    if (s->identity.n != ranks)
        forget(s);
    s->identity.n = ranks;
}
