/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --set NAME=VALUE: finds the owner of the setting. */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "workload/setup/settings.h"

static bool same_name(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i] && !(strchr("-_", a[i]) && a[i] && strchr("-_", b[i]) && b[i]))
            return false;
    return strlen(a) == length;
}

const rlt_reactive *rlt_find_protocol(const char *name, size_t length)
{
    const rlt_reactive *r;
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++)
        if (same_name(rlt_reactive_name(r), name, length))
            return r;
    return NULL;
}

bool rlt_has_setting(const rlt_reactive *r, const char *name)
{
    return rlt_params_find(rlt_reactive_settings(r), name) != NULL;
}

/* Checks the value for a protocol that does not run, where it has no effect. Returns 1 if such a protocol has
 * the setting, 0 if none has. */
static int check_others(const rlt_reactive *only, const char *bare, const char *value, rlt_error *err)
{
    const rlt_reactive *r;
    rlt_param_value ignored[RLT_MAX_SETTINGS];
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++) {
        if (only ? r != only : !rlt_has_setting(r, bare))
            continue;
        int rc = rlt_settings_preset(r, ignored, err);
        rc = rc ? rc : rlt_settings_set(r, ignored, bare, value, err);
        return rc ? rc : 1;
    }
    return 0;
}

/* Sets a setting of reactive protocols. Returns 1 if a protocol has it, 0 if none has. */
static int set_reacting(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    const char *dot = strchr(name, '.');
    const rlt_reactive *only = dot ? rlt_find_protocol(name, (size_t)(dot - name)) : NULL;
    const char *bare = only ? dot + 1 : name;
    int taken = 0;
    if (dot && !only)
        return 0;
    for (uint32_t i = 0; i < s->n_protocols; i++) {
        const rlt_reactive *r = s->protocols[i].protocol;
        if (only ? r != only : !rlt_has_setting(r, bare))
            continue;
        int rc = rlt_settings_set(r, s->protocols[i].values, bare, value, err);
        if (rc && !only) /* several protocols may have it */
            rlt_error_prefix(err, rlt_reactive_name(r));
        if (rc)
            return rc;
        taken = 1;
    }
    if (only && only == s->fallback.protocol) {
        int rc = rlt_settings_set(only, s->fallback.values, bare, value, err);
        return rc ? rc : 1;
    }
    if (!taken && s->sets_of_others)
        return check_others(only, bare, value, err);
    if (only && !taken)
        return rlt_fail(err, RLT_EUSAGE, name, "belongs to %s: add this protocol to --algorithm",
                        rlt_reactive_name(only));
    return taken;
}

static int read_fallback(const rlt_param *p, void *into, const char *value, const char *where, rlt_error *err)
{
    rlt_setup *s = into;
    const rlt_reactive *r;
    char known[512] = "";
    (void)p;
    s->fallback.protocol = rlt_find_protocol(value, strlen(value));
    if (s->fallback.protocol)
        return rlt_settings_preset(s->fallback.protocol, s->fallback.values, err);
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++)
        rlt_list_name(known, sizeof known, rlt_reactive_name(r));
    return rlt_fail(err, RLT_EUSAGE, where, "unknown protocol '%s'; known: %s", value, known);
}

static const char *sharing_word(uint32_t i)
{
    static const char *const words[] = {[RLT_SHARE_STATIC] = "static",
                                        [RLT_SHARE_DYNAMIC] = "dynamic",
                                        [RLT_SHARE_FIRST_COME] = "first_come"};
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

#define AT(field) RLT_FIELD(rlt_setup, aggregator.field)
static const rlt_param switches[] = {
    {"switch.slots", .kind = RLT_PARAM_COUNT, AT(slots), .min = 1, .max = RLT_MAX_SLOTS, .usual = "as needed",
     .help = "slots of every aggregating switch"},
    {"switch.memory", .kind = RLT_PARAM_SIZE, AT(memory_bytes), .usual = "without limit",
     .help = "memory of every aggregating switch for partial sums; replaces switch.slots"},
    {"switch.width", .kind = RLT_PARAM_COUNT, AT(width), .min = 1, .max = RLT_MAX_AGG_WIDTH,
     .usual = "all contributors", .help = "largest number of contributors to a slot"},
    {"switch.sharing", .kind = RLT_PARAM_CHOICE, .word_at = sharing_word, AT(sharing), .preset = "static",
     .help = "how jobs share the slots: static gives each an equal part, dynamic hashes all jobs over all "
             "slots, first_come grants slots until none are left"},
    {"switch.fallback", .kind = RLT_PARAM_OTHER, .read = read_fallback, .arg = "a protocol",
     .usual = "the protocol's refused=", .help = "protocol of a job that the switches refuse"},
    {0}};
#undef AT

const rlt_param *rlt_switch_parameters(void)
{
    return switches;
}

/* Sets a setting of every aggregating switch. Returns 1 if set, 0 if it is no such setting. */
static int set_switch(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    const rlt_param *p = rlt_params_find(switches, name);
    const char *word;
    if (!p)
        return strncmp(name, "switch.", 7) == 0 ? rlt_params_unknown(switches, "switches", name, err) : 0;
    for (uint32_t i = 0; p->word_at && (word = p->word_at(i)); i++)
        if (same_name(word, value, strlen(value))) /* dashes count as underscores */
            value = word;
    int rc = rlt_param_read(p, s, value, NULL, err);
    return rc ? rc : 1;
}

/* Sets a setting of algorithms. There must not be more patterns than dimensions of the topology. */
static int set_algorithms(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    uint32_t dims = s->topology ? rlt_topology_dims(s->topology) : RLT_MAX_DIMS;
    int rc = rlt_coll_params_set(&s->params, name, value, err);
    for (uint32_t d = dims; d < RLT_MAX_DIMS && !rc; d++)
        if (s->params.patterns[d])
            rc = rlt_fail(err, RLT_EUSAGE, "patterns",
                          "'%s' is for dimension %u, but %s has only %u dimensions", s->params.patterns[d], d,
                          rlt_topology_name(s->topology), dims);
    return rc;
}

/* Whether a name is ALGORITHM.NAME. */
static bool of_algorithm(const char *name)
{
    const char *dot = strchr(name, '.');
    const rlt_algorithm *a;
    for (uint32_t i = 0; dot && (a = rlt_algorithm_at(i)); i++)
        if (strlen(a->name) == (size_t)(dot - name) && strncmp(a->name, name, (size_t)(dot - name)) == 0)
            return true;
    return false;
}

/* Returns the row of the packet model with a name, with or without "packet." in front. */
static const rlt_param *packet_setting(const char *name)
{
    return rlt_params_find(rlt_packet_parameters(), strncmp(name, "packet.", 7) == 0 ? name + 7 : name);
}

bool rlt_needs_packets(const char *option, const char *text)
{
    const rlt_reactive *protocol;
    char name[64];
    if (strcmp(option, "algorithm") == 0)
        return rlt_named_protocols(text, &protocol, 1) > 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    return strcmp(option, "set") == 0 && packet_setting(name) && !rlt_coll_parameter(name) &&
           !rlt_params_find(rlt_endpoint_parameters(), name);
}

/* Sets a setting of algorithms, endpoints or packets. */
static int set_other(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    if (rlt_coll_parameter(name) || of_algorithm(name))
        return set_algorithms(s, name, value, err);
    for (const rlt_param *p = rlt_coll_parameters; p->name; p++)
        rlt_nearest_try(&near, p->name);
    for (const rlt_param *p = rlt_endpoint_parameters(); p->name; p++) {
        rlt_nearest_try(&near, p->name);
        if (strcmp(name, p->name) == 0)
            return rlt_param_read(p, &s->endpoint, value, NULL, err);
    }
    const rlt_param *of_packets = packet_setting(name);
    if (of_packets && !(s->model->can & RLT_NET_PACKETS) && !s->sets_of_packets)
        return rlt_fail(err, RLT_EUSAGE, name, "is a setting of --network packet, not of %s", s->model->name);
    if (of_packets)
        return rlt_param_read(of_packets, &s->packet, value, NULL, err);
    for (const rlt_param *p = rlt_packet_parameters(); p->name; p++)
        rlt_nearest_try(&near, p->name);
    for (uint32_t i = 0; i < s->n_protocols; i++)
        for (const rlt_param *p = rlt_reactive_settings(s->protocols[i].protocol); p->name; p++)
            rlt_nearest_try(&near, p->name);
    if (strchr(name, '.')) /* a setting of one protocol of the endpoint */
        return rlt_endpoint_set(&s->endpoint, name, value, err);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown setting%s%s%s ('ringlet list settings' shows all)",
                    near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
}

int rlt_setup_set(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    int rc = set_switch(s, name, value, err);
    if (rc)
        return rc < 0 ? rc : 0;
    if ((rc = set_reacting(s, name, value, err)) < 0)
        return rc;
    /* Algorithms or packets may have the same name with limits of their own. */
    if (rc && !strchr(name, '.'))
        (void)set_other(s, name, value, NULL);
    return rc ? 0 : set_other(s, name, value, err);
}
