/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links: names, bandwidths and latencies, from the file or stated by the user. */
#include <inttypes.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/infragraph/document.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"

/* Unit of a quantity: a member of the schema, and what one of it is in bytes a second or picoseconds. */
typedef struct scaled_unit {
    const char *name;
    int64_t scale;
} scaled_unit;

static const scaled_unit rates[] = {{"gigabits_per_second", 125000000},
                                    {"gigabytes_per_second", 1000000000},
                                    {"gigatransfers_per_second", 1000000000},
                                    {NULL, 0}};
static const scaled_unit durations[] = {{"ns", 1000}, {"us", 1000000}, {"ms", 1000000000}, {NULL, 0}};

/* Finds the member that `choice` names, or the only one. *which is the row of its unit. */
static int find_value(rlt_json of, const scaled_unit *units, rlt_json *value, uint32_t *which, rlt_error *err)
{
    const char *keys[5] = {"choice"}, *choice = NULL;
    uint32_t found = 0;
    for (uint32_t i = 0; units[i].name; i++)
        keys[i + 1] = units[i].name;
    int rc = rlt_json_only(of, keys, err);
    if (rc < 0 || (rc = rlt_json_get_string(of, "choice", false, &choice, err)) < 0)
        return rc;
    for (uint32_t i = 0; units[i].name; i++) {
        rlt_json v = rlt_json_get(of, units[i].name);
        if (choice ? strcmp(choice, units[i].name) != 0 : !rlt_json_is(v))
            continue;
        *value = v;
        *which = i;
        found++;
    }
    if (choice && !found)
        return rlt_json_fail(rlt_json_get(of, "choice"), RLT_ESCHEMA, err,
                             "unknown unit '%.40s', expected %s or another of the schema", choice, keys[1]);
    if (choice && !rlt_json_is(*value))
        return rlt_json_fail(of, RLT_ESCHEMA, err, "the choice is '%s', but '%s' is missing", choice, choice);
    return found < 2 ? 0 : rlt_json_fail(of, RLT_ESCHEMA, err, "several units and no 'choice' among them");
}

/* Reads a quantity. It stays as it is if the file states none. */
static int read_quantity(rlt_json of, const scaled_unit *units, int64_t *value, uint32_t *which,
                         rlt_error *err)
{
    rlt_json v = {NULL, NULL};
    char number[64];
    int64_t x;
    int rc = rlt_json_is(of) ? find_value(of, units, &v, which, err) : 0;
    if (rc < 0 || !rlt_json_is(v))
        return rc;
    const char *text = rlt_json_is_number(v) ? rlt_json_scalar(v, number, sizeof number) : NULL;
    if (!text || rlt_parse_decimal(text, strlen(text), units[*which].scale, &x) < 0 || x < 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a number that is not negative");
    if (units == rates && x == 0)
        return rlt_json_fail(v, RLT_ERANGE, err, "the bandwidth is zero");
    *value = x;
    return 0;
}

static int read_link(rlt_json v, rlt__ig_link *link, rlt_error *err)
{
    static const char *const keys[] = {"name", "description", "physical", NULL};
    static const char *const physical_keys[] = {"bandwidth", "latency", NULL};
    rlt_json physical = rlt_json_get(v, "physical");
    int64_t bw = 0;
    uint32_t unit = 0, other = 0;
    int rc;
    *link = (rlt__ig_link){.at = v, .latency_ps = -1};
    if ((rc = rlt_json_only(v, keys, err)) < 0 ||
        (rc = rlt_json_get_string(v, "name", true, &link->name, err)) < 0)
        return rc;
    if (!rlt_json_is(physical))
        return 0;
    if ((rc = rlt_json_only(physical, physical_keys, err)) < 0 ||
        (rc = read_quantity(rlt_json_get(physical, "bandwidth"), rates, &bw, &unit, err)) < 0 ||
        (rc = read_quantity(rlt_json_get(physical, "latency"), durations, &link->latency_ps, &other, err)) <
            0)
        return rc;
    link->transfers = bw && unit == 2;
    link->bw_Bps = link->transfers ? 0 : (uint64_t)bw;
    return 0;
}

int rlt__ig_links_read(rlt__ig_document *d, rlt_json list, rlt__ig_links *links)
{
    uint32_t n = rlt_json_count(list);
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, d->err, "expected a list of links");
    links->items = rlt_arena_array(&d->arena, n + 1ull, sizeof *links->items);
    if (!links->items)
        return rlt_nomem(d->err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        rlt__ig_link *link = &links->items[links->n];
        int rc = read_link(v, link, d->err);
        if (rc < 0)
            return rc;
        uint32_t k = rlt_intern(&links->names, link->name, strlen(link->name));
        if (k == RLT_NONE)
            return rlt_nomem(d->err);
        if (k != links->n)
            return rlt_json_fail(v, RLT_ESCHEMA, d->err, "the name '%.60s' is given to two links",
                                 link->name);
        links->n++;
    }
    return 0;
}

/* ---- what the user states ---- */

/* Values of one setting `link`: NAME:RATE, NAME:DURATION or NAME:RATE,DURATION. */
typedef struct stated {
    const char *text, *name;
    size_t length;       /* length of the name */
    uint64_t bw_Bps;     /* 0: not stated */
    rlt_time latency_ps; /* below zero: not stated */
    uint32_t found;
} stated;

static int wrong_setting(const char *text, rlt_error *err)
{
    return rlt_fail(err, RLT_EUSAGE, "link",
                    "expected NAME:BANDWIDTH,LATENCY or one of the two, such as nvlink:450GB/s,0ns; got "
                    "'%.80s'",
                    text);
}

static int read_stated(const char *text, stated *s, rlt_error *err)
{
    const char *colon = strchr(text, ':'), *comma = colon ? strchr(colon, ',') : NULL;
    rlt_error ignored = {0};
    char first[64];
    size_t n = !colon ? 0 : comma ? (size_t)(comma - colon - 1) : strlen(colon + 1);
    *s = (stated){.text = text, .name = text, .latency_ps = -1};
    if (!colon || colon == text || n == 0 || n >= sizeof first)
        return wrong_setting(text, err);
    s->length = (size_t)(colon - text);
    memcpy(first, colon + 1, n);
    first[n] = '\0';
    bool rate = rlt_parse_rate(first, &s->bw_Bps, NULL, &ignored) == 0 && s->bw_Bps > 0;
    if (!rate && (comma || rlt_parse_duration(first, &s->latency_ps, NULL, &ignored) < 0))
        return wrong_setting(text, err);
    return comma && rlt_parse_duration(comma + 1, &s->latency_ps, NULL, &ignored) < 0
               ? wrong_setting(text, err)
               : 0;
}

static void apply(rlt__ig_links *links, stated *s)
{
    uint32_t i = rlt_intern_find(&links->names, s->name, s->length);
    if (i == RLT_NONE)
        return;
    s->found++;
    if (s->bw_Bps)
        links->items[i].bw_Bps = s->bw_Bps;
    if (s->latency_ps >= 0)
        links->items[i].latency_ps = s->latency_ps;
}

static void apply_default(rlt__ig_links *links, uint64_t bw_Bps, rlt_time latency_ps)
{
    for (uint32_t i = 0; i < links->n; i++) {
        rlt__ig_link *link = &links->items[i];
        link->bw_Bps = link->bw_Bps || link->transfers ? link->bw_Bps : bw_Bps;
        link->latency_ps = link->latency_ps < 0 ? latency_ps : link->latency_ps;
    }
}

int rlt__ig_links_state(rlt__ig_document *d)
{
    const rlt_import *import = d->import;
    rlt_time latency_ps = -1;
    for (uint32_t i = 0; i < import->links.n; i++) {
        stated s;
        int rc = read_stated(import->links.items[i], &s, d->err);
        if (rc < 0)
            return rc;
        apply(&d->links, &s);
        for (uint32_t k = 0; k < d->n_devices; k++)
            apply(&d->devices[k].links, &s);
        if (!s.found)
            return rlt_fail(d->err, RLT_EUSAGE, d->file, "no link has the name '%.*s' of --set link=%.80s",
                            (int)(s.length < 60 ? s.length : 60), s.name, s.text);
    }
    if (import->latency && rlt_parse_duration(import->latency, &latency_ps, "latency", d->err) < 0)
        return RLT_EUSAGE;
    apply_default(&d->links, import->link_Bps, latency_ps);
    for (uint32_t k = 0; k < d->n_devices; k++)
        apply_default(&d->devices[k].links, import->link_Bps, latency_ps);
    return 0;
}

int rlt__ig_link_check(const rlt__ig_document *d, const rlt__ig_link *link)
{
    if (link->transfers && !link->bw_Bps)
        return rlt_json_fail(link->at, RLT_ESCHEMA, d->err,
                             "transfers a second depend on lanes and coding for their bytes: state the "
                             "bandwidth of link '%.60s' with --set link=%.60s:64GB/s",
                             link->name, link->name);
    if (!link->bw_Bps)
        return rlt_json_fail(link->at, RLT_ESCHEMA, d->err,
                             "link '%.60s' has no bandwidth: state it with --set link=%.60s:64GB/s, or that "
                             "of all such links with --set bandwidth=64GB/s",
                             link->name, link->name);
    if (link->latency_ps < 0)
        return rlt_json_fail(link->at, RLT_ESCHEMA, d->err,
                             "link '%.60s' has no latency: state it with --set link=%.60s:500ns, or that of "
                             "all such links with --set latency=500ns",
                             link->name, link->name);
    return 0;
}
