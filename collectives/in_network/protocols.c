/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of protocols that react, and their settings. */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/units.h"

static const rlt_reactive *const table[] = {
    &rlt_switchml, &rlt_ps_switch, &rlt_atp, &rlt_sharp, &rlt_host_ring, &rlt_libra, &rlt_hierarchical_ina};
static rlt_registry registry = RLT_REGISTRY("protocol", RLT_ESCHEMA, table);

rlt_registry *rlt_reactives(void)
{
    return &registry;
}

const rlt_reactive *rlt_reactive_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_reactive *rlt_reactive_find(const char *name, rlt_error *err)
{
    return rlt_registry_find(&registry, name, NULL, err);
}

const char *rlt_reactive_name(const rlt_reactive *r)
{
    return r->name;
}

const char *rlt_reactive_summary(const rlt_reactive *r)
{
    return r->summary;
}

const rlt_setting *rlt_reactive_setting(const rlt_reactive *r, uint32_t i)
{
    return i < r->n_settings ? &r->settings[i] : NULL;
}

bool rlt_reactive_does(const rlt_reactive *r, rlt_coll_kind kind)
{
    return (unsigned)kind < RLT_COLL_KINDS && (r->kinds >> kind & 1);
}

uint32_t rlt_reacting_servers(const rlt_reacting *r)
{
    return r->protocol->servers ? r->protocol->servers(r->values) : 0;
}

static int parse_word(const rlt_setting *s, const char *text, uint64_t *out, rlt_error *err)
{
    const char *word = s->words;
    size_t length = strlen(text);
    for (uint64_t i = 0; word; i++) {
        const char *end = strchr(word, '|');
        size_t n = end ? (size_t)(end - word) : strlen(word);
        if (n == length && strncmp(word, text, n) == 0) {
            *out = i;
            return 0;
        }
        word = end ? end + 1 : NULL;
    }
    return rlt_fail(err, RLT_ESCHEMA, s->name, "expected one of %s, got '%.64s'", s->words, text);
}

static int parse(const rlt_setting *s, const char *text, rlt_setting_value *v, rlt_error *err)
{
    double number = 0;
    int rc = 0;
    switch (s->kind) {
    case RLT_SETTING_COUNT:
        rc = rlt_parse_count(text, &v->u, s->name, err);
        number = (double)v->u;
        break;
    case RLT_SETTING_SIZE:
        rc = rlt_parse_size(text, &v->u, s->name, err);
        number = (double)v->u;
        break;
    case RLT_SETTING_DURATION:
        rc = rlt_parse_duration(text, &v->t, s->name, err);
        number = (double)v->t;
        break;
    case RLT_SETTING_NUMBER:
        rc = rlt_parse_number(text, s->least, &v->d, s->name, err);
        number = v->d;
        break;
    case RLT_SETTING_WORD:
        return parse_word(s, text, &v->u, err);
    }
    if (!rc && (number < s->least || number > s->most))
        rc = rlt_fail(err, RLT_ERANGE, s->name, "expected %.15g to %.15g%s, got %.64s", s->least, s->most,
                      s->kind == RLT_SETTING_DURATION ? " ps"
                      : s->kind == RLT_SETTING_SIZE   ? " bytes"
                                                      : "",
                      text);
    return rc;
}

int rlt_settings_preset(const rlt_reactive *r, rlt_setting_value values[RLT_MAX_SETTINGS], rlt_error *err)
{
    int rc = 0;
    memset(values, 0, RLT_MAX_SETTINGS * sizeof *values);
    for (uint32_t i = 0; i < r->n_settings && !rc; i++)
        rc = parse(&r->settings[i], r->settings[i].preset, &values[i], err);
    return rc;
}

int rlt_settings_set(const rlt_reactive *r, rlt_setting_value values[RLT_MAX_SETTINGS], const char *name,
                     const char *text, rlt_error *err)
{
    char known[512] = "";
    for (uint32_t i = 0; i < r->n_settings; i++) {
        if (strcmp(r->settings[i].name, name) == 0)
            return parse(&r->settings[i], text, &values[i], err);
        rlt_list_name(known, sizeof known, r->settings[i].name);
    }
    return rlt_fail(err, RLT_EUSAGE, r->name, "no setting '%.64s'; known: %s", name, known);
}
