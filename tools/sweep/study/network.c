/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network of a study. Where no option names one, all points stand on packets if one of them needs
 * packets: times on different networks cannot be compared. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/tree.h"
#include "tools/base/command.h"
#include "tools/sweep/study/study.h"
#include "workload/setup/settings.h"

typedef struct survey {
    const rlt_sweep_study *study;
    rlt_arena arena;
    rlt_option_texts texts;
    uint32_t option; /* number of the option that names the network; RLT_NONE: none does */
    bool named, packets;
} survey;

static const char *name_of(const rlt_sweep_study *s, uint32_t option)
{
    const rlt_option *o = rlt_option_at(s->command->options, option, NULL);
    return o ? o->name : NULL;
}

/* Looks at the options of one point. A point with wrong options says nothing: it reports them itself. */
static int look(survey *v, const rlt_sweep_point *p, rlt_error *err)
{
    rlt_error why = {0};
    int rc = rlt_sweep_options(v->study, p, &v->arena, &v->texts, &why);
    if (rc == RLT_ENOMEM)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < v->texts.n && !rc; i++) {
        const char *name = name_of(v->study, v->texts.items[i].option), *text = v->texts.items[i].text;
        v->named |= strcmp(name, "network") == 0;
        v->packets |= rlt_needs_packets(name, text);
    }
    rlt_arena_free(&v->arena);
    return 0;
}

static bool touches(const rlt_sweep_study *s, const rlt_sweep_place *places, uint32_t n, const char *option)
{
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= strcmp(name_of(s, places[i].option), option) == 0;
    return found;
}

/* Looks at every value of the axes that can bring packets in, beside the first values of the others. */
static int look_at_axis(survey *v, uint32_t axis, rlt_error *err)
{
    const rlt_sweep_axis *a = &v->study->axes[axis];
    rlt_sweep_point p = {.named = RLT_NONE};
    int rc = 0;
    if (!touches(v->study, a->places, a->n_places, "algorithm") &&
        !touches(v->study, a->places, a->n_places, "set"))
        return 0;
    for (uint32_t i = 0; i < a->n && !rc && !v->packets; i++) {
        p.at[axis] = i;
        rc = look(v, &p, err);
    }
    return rc;
}

static int look_at_all(survey *v, rlt_error *err)
{
    const rlt_sweep_study *s = v->study;
    int rc = s->n_axes || !s->n_named ? look(v, &(rlt_sweep_point){.named = RLT_NONE}, err) : 0;
    for (uint32_t a = 0; a < s->n_axes && !rc; a++)
        rc = look_at_axis(v, a, err);
    for (uint32_t i = 0; i < s->n_named && !rc; i++)
        rc = look(v, &(rlt_sweep_point){.named = i}, err);
    return rc;
}

int rlt__sweep_network(rlt_sweep_study *s, rlt_error *err)
{
    survey v = {.study = s, .option = RLT_NONE};
    for (uint32_t i = 0; name_of(s, i); i++)
        v.option = strcmp(name_of(s, i), "network") == 0 ? i : v.option;
    bool varies = false;
    for (uint32_t a = 0; a < s->n_axes; a++)
        varies |= touches(s, s->axes[a].places, s->axes[a].n_places, "network");
    for (uint32_t i = 0; i < s->n_named; i++)
        varies |= touches(s, s->named[i].places, s->named[i].n, "network");
    s->one_network = !varies;
    int rc = varies || v.option == RLT_NONE ? 0 : look_at_all(&v, err);
    if (!rc && v.packets && !v.named) {
        rlt_sweep_member *m = &s->members[s->n_members++]; /* read_base left room for it */
        const rlt_option_text text = {v.option, rlt_packet_network()};
        *m = (rlt_sweep_member){.option = v.option};
        rc = rlt_grow(&m->texts.items, &m->texts.capacity, sizeof text, 1, 1, "options", err);
        if (!rc)
            m->texts.items[m->texts.n++] = text;
    }
    free(v.texts.items);
    rlt_arena_free(&v.arena);
    return rc;
}
