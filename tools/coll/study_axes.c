/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The axes of the study of aggregation: what the user's lists mean, and what is usual. */
#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "tools/coll/study.h"
#include "tools/settings/settings.h"

#define AT(field) .offset = offsetof(rlt_study_settings, field)
const rlt_option rlt_study_options[] = {
    {"study", 0, RLT_PARAM_WORD, "WHAT",
     "ina: where switches that add up win, and by how much. Every combination of size, workers, loss, "
     "straggler, "
     "slots and placement is simulated by packets, by the protocols and the baselines of --algorithm "
     "(default: all protocols that react; ring and ps).",
     AT(study), .words = "ina"},
    {"workers", 0, RLT_PARAM_TEXT, "LIST", "Of --study: ranks that take part (default: 2,4,8,... up to 32).",
     AT(workers)},
    {"slots", 0, RLT_PARAM_TEXT, "LIST", "Of --study: slots of each switch that adds up (default: 64,256).",
     AT(slots)},
    {"loss", 0, RLT_PARAM_TEXT, "LIST",
     "Of --study: probability that a link loses a packet (default: what --set loss says, else 0,0.0001).",
     AT(loss)},
    {"straggler", 0, RLT_PARAM_TEXT, "LIST",
     "Of --study: how much later than the others the last worker begins (default: 0us,100us).",
     AT(straggler)},
    {"place", 0, RLT_PARAM_TEXT, "LIST",
     "Of --study: which switches add up: tor, spine, all (default: what --set place says, else all).",
     AT(place)},
    {0}};
#undef AT

enum { USUAL_WORKERS = 32 };

static int add_value(rlt_study_values *v, const char *text, size_t length, const char *where, rlt_error *err)
{
    if (v->n == RLT_STUDY_VALUES)
        return rlt_fail(err, RLT_EUSAGE, where, "more than %d values", RLT_STUDY_VALUES);
    if (length == 0 || length >= RLT_STUDY_WORD)
        return rlt_fail(err, RLT_EUSAGE, where, "'%.*s' is no value", (int)(length < 40 ? length : 40), text);
    memcpy(v->text[v->n], text, length);
    v->text[v->n++][length] = '\0';
    return 0;
}

static uint64_t most_of(rlt_study_axis axis)
{
    return axis == RLT_AXIS_WORKERS   ? RLT_MAX_MEMBERS
           : axis == RLT_AXIS_TENANTS ? RLT_MAX_JOBS
                                      : RLT_MAX_SLOTS;
}

static int read_value(rlt_study_axis axis, rlt_study_values *v, uint32_t i, const char *where, rlt_error *err)
{
    const char *text = v->text[i];
    rlt_time late = 0;
    int rc = 0;
    switch (axis) {
    case RLT_AXIS_WORKERS:
    case RLT_AXIS_TENANTS:
    case RLT_AXIS_SLOTS:
        rc = rlt_parse_count(text, &v->count[i], where, err);
        if (!rc && (v->count[i] < (axis == RLT_AXIS_WORKERS ? 2 : 1) || v->count[i] > most_of(axis)))
            rc = rlt_fail(err, RLT_EUSAGE, where, "'%s' is too %s", text, v->count[i] < 2 ? "few" : "many");
        break;
    case RLT_AXIS_STRAGGLER:
        rc = rlt_parse_duration(text, &late, where, err);
        v->count[i] = (uint64_t)late;
        break;
    case RLT_AXIS_LOSS:
        rc = rlt_parse_number(text, 0, &v->real[i], where, err);
        if (!rc && v->real[i] > 1)
            rc = rlt_fail(err, RLT_EUSAGE, where, "expected probabilities from 0 to 1, got '%s'", text);
        break;
    case RLT_AXIS_PLACE: {
        rlt_add_place place;
        rc = rlt_add_place_parse(text, &place, err);
        if (rc)
            rlt_error_prefix(err, where);
        break;
    }
    case RLT_AXIS_SIZE:
    case RLT_AXES:
        break;
    }
    return rc;
}

static int read_axis(rlt_ina_study *s, rlt_study_axis axis, const char *text, const char *where,
                     rlt_error *err)
{
    rlt_study_values *v = &s->axes[axis];
    const char *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&text, ',', &length))) {
        rc = add_value(v, item, length, where, err);
        if (!rc)
            rc = read_value(axis, v, v->n - 1, where, err);
    }
    if (rc && rc != RLT_ENOMEM) {
        rc = RLT_EUSAGE;
        if (err)
            err->code = rc;
    }
    return rc;
}

/* Ranks for a tenant where there are most of them. */
static uint32_t room_of(const rlt_ina_study *s)
{
    const rlt_study_values *t = &s->axes[RLT_AXIS_TENANTS];
    uint64_t most = 1;
    for (uint32_t i = 0; i < t->n; i++)
        most = t->count[i] > most ? t->count[i] : most;
    return s->setup->placement.n / (uint32_t)most;
}

/* 2, 4, 8, ... and all of them, as far as that is quick, and as the most tenants have. */
static void usual_workers(const rlt_ina_study *s, char *text, size_t size)
{
    uint32_t n = room_of(s), most = n < USUAL_WORKERS ? n : USUAL_WORKERS;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t w = 2; w <= most; w *= 2)
        used += (size_t)snprintf(text + used, size - used, "%s%u", used ? "," : "", w);
    if (most >= 2 && (most & (most - 1)))
        snprintf(text + used, size - used, "%s%u", used ? "," : "", most);
}

/* The value that --set gave to every protocol's placement, as it was written; else all. */
static const char *usual_place(const rlt_settings *sim)
{
    const char *place = "all";
    for (uint32_t i = 0; i < sim->set.n; i++)
        if (strncmp(sim->set.items[i], "place=", strlen("place=")) == 0)
            place = sim->set.items[i] + strlen("place=");
    return place;
}

int rlt_study_read_axes(rlt_ina_study *s, const rlt_study_ask *ask, rlt_error *err)
{
    static const uint64_t usual_sizes[] = {16 << 10, 256 << 10, 4 << 20};
    const rlt_study_settings *o = ask->settings;
    rlt_study_values *sizes = &s->axes[RLT_AXIS_SIZE];
    char workers[64], loss[32];
    uint32_t n = ask->sizes ? ask->n_sizes : sizeof usual_sizes / sizeof *usual_sizes;
    int rc;
    if (n > RLT_STUDY_VALUES)
        return rlt_fail(err, RLT_EUSAGE, "--bytes", "more than %d sizes", RLT_STUDY_VALUES);
    for (sizes->n = 0; sizes->n < n; sizes->n++) {
        uint64_t bytes = ask->sizes ? ask->sizes[sizes->n] : usual_sizes[sizes->n];
        sizes->count[sizes->n] = bytes;
        rlt_format_size(sizes->text[sizes->n], RLT_STUDY_WORD, bytes);
    }
    if ((rc = read_axis(s, RLT_AXIS_TENANTS, ask->tenants ? ask->tenants : "1", "--tenants", err)))
        return rc;
    for (uint32_t i = 0; i < s->axes[RLT_AXIS_TENANTS].n; i++)
        if (2 * s->axes[RLT_AXIS_TENANTS].count[i] > s->setup->placement.n && s->shared)
            return rlt_fail(err, RLT_EUSAGE, "--tenants", "%s tenants of two workers on the %u ranks of %s",
                            s->axes[RLT_AXIS_TENANTS].text[i], s->setup->placement.n,
                            rlt_topology_name(s->setup->topology));
    usual_workers(s, workers, sizeof workers);
    snprintf(loss, sizeof loss, s->setup->packet.loss > 0 ? "%.9g" : "0,0.0001", s->setup->packet.loss);
    if ((rc = read_axis(s, RLT_AXIS_WORKERS, o->workers ? o->workers : workers, "--workers", err)) ||
        (rc = read_axis(s, RLT_AXIS_LOSS, o->loss ? o->loss : loss, "--loss", err)) ||
        (rc = read_axis(s, RLT_AXIS_STRAGGLER, o->straggler ? o->straggler : "0us,100us", "--straggler",
                        err)) ||
        (rc = read_axis(s, RLT_AXIS_SLOTS, o->slots ? o->slots : "64,256", "--slots", err)) ||
        (rc = read_axis(s, RLT_AXIS_PLACE, o->place ? o->place : usual_place(ask->sim), "--place", err)))
        return rc;
    for (uint32_t i = 0; i < s->axes[RLT_AXIS_WORKERS].n; i++)
        if (s->axes[RLT_AXIS_WORKERS].count[i] > s->setup->placement.n)
            return rlt_fail(err, RLT_EUSAGE, "--workers", "%s workers on the %u ranks of %s",
                            s->axes[RLT_AXIS_WORKERS].text[i], s->setup->placement.n,
                            rlt_topology_name(s->setup->topology));
    for (int a = 0; a < RLT_AXES; a++)
        if (s->axes[a].n == 0)
            return rlt_fail(err, RLT_EUSAGE, "--study", "a list without values, or fewer than two ranks");
    return 0;
}
