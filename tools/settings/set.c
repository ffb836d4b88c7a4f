/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --set NAME=VALUE: whose setting a name is. */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "tools/settings/settings.h"

/* "ring,direct": names by dimension of the topology, innermost first. */
static int set_patterns(rlt_setup *s, const char *value, rlt_error *err)
{
    const char *cursor = value, *item;
    size_t length;
    uint32_t d = 0;
    memset(s->patterns, 0, sizeof s->patterns);
    for (; (item = rlt_next_item(&cursor, ',', &length)); d++) {
        char word[32];
        const char *known;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), item);
        rlt_nearest near = rlt_nearest_to(word);
        if (d == RLT_MAX_DIMS || (s->topology && d >= rlt_topology_dims(s->topology)))
            return rlt_fail(err, RLT_EUSAGE, "patterns", "'%s' is for dimension %u, and %s has %u", word, d,
                            s->topology ? rlt_topology_name(s->topology) : "a topology",
                            s->topology ? rlt_topology_dims(s->topology) : (unsigned)RLT_MAX_DIMS);
        for (uint32_t i = 0; (known = rlt_pattern_name(i)) && !s->patterns[d]; i++) {
            rlt_nearest_try(&near, known);
            if (strcmp(word, known) == 0)
                s->patterns[d] = known;
        }
        if (!s->patterns[d])
            return rlt_fail(err, RLT_EUSAGE, "patterns",
                            "unknown pattern '%s'%s%s%s (ring, direct, "
                            "halving_doubling, recursive_doubling, nvls)",
                            word, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                            near.best ? "'?" : "");
    }
    return 0;
}

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
    const rlt_setting *s;
    for (uint32_t i = 0; (s = rlt_reactive_setting(r, i)); i++)
        if (strcmp(s->name, name) == 0)
            return true;
    return false;
}

/* A setting of protocols that react: 1 where one has it, 0 where none has. */
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
        if (rc && !only) /* several may have it */
            rlt_error_prefix(err, rlt_reactive_name(r));
        if (rc)
            return rc;
        taken = 1;
    }
    if (only && only == s->fallback.protocol) {
        int rc = rlt_settings_set(only, s->fallback.values, bare, value, err);
        return rc ? rc : 1;
    }
    if (only && !taken)
        return rlt_fail(err, RLT_EUSAGE, name, "%s is not among the algorithms asked for",
                        rlt_reactive_name(only));
    return taken;
}

static int set_sharing(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    static const char *const words[] = {[RLT_SHARE_STATIC] = "static",
                                        [RLT_SHARE_DYNAMIC] = "dynamic",
                                        [RLT_SHARE_FIRST_COME] = "first_come"};
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        if (same_name(words[i], value, strlen(value))) {
            s->aggregator.sharing = (rlt_slot_sharing)i;
            return 1;
        }
    return rlt_fail(err, RLT_EUSAGE, name, "expected static, dynamic or first_come, got '%s'", value);
}

static int set_fallback(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    const rlt_reactive *r;
    char known[512] = "";
    s->fallback.protocol = rlt_find_protocol(value, strlen(value));
    if (s->fallback.protocol) {
        int rc = rlt_settings_preset(s->fallback.protocol, s->fallback.values, err);
        return rc ? rc : 1;
    }
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++)
        rlt_list_name(known, sizeof known, rlt_reactive_name(r));
    return rlt_fail(err, RLT_EUSAGE, name, "unknown protocol '%s'; known: %s", value, known);
}

/* What every switch that adds has. 1: set, 0: not of that kind. */
static int set_switch(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    uint64_t n = 0;
    int rc;
    if (strcmp(name, "switch.sharing") == 0)
        return set_sharing(s, name, value, err);
    if (strcmp(name, "switch.fallback") == 0)
        return set_fallback(s, name, value, err);
    if (strcmp(name, "switch.memory") == 0) {
        rc = rlt_parse_size(value, &s->aggregator.memory_bytes, name, err);
        return rc ? rc : 1;
    }
    bool slots = strcmp(name, "switch.slots") == 0;
    if (!slots && strcmp(name, "switch.width") != 0)
        return 0;
    uint64_t most = slots ? RLT_MAX_SLOTS : RLT_MAX_AGG_WIDTH;
    if ((rc = rlt_parse_count(value, &n, name, err)))
        return rc;
    if (n < 1 || n > most)
        return rlt_fail(err, RLT_EUSAGE, name, "expected 1 to %llu, got '%s'", (unsigned long long)most,
                        value);
    *(slots ? &s->aggregator.slots : &s->aggregator.width) = (uint32_t)n;
    return 1;
}

/* One of the words that word_at lists: its number. */
static int set_word(const char *name, const char *value, const char *(*word_at)(uint32_t), uint32_t *number,
                    rlt_error *err)
{
    const char *word;
    char known[80] = "";
    rlt_nearest near = rlt_nearest_to(value);
    for (uint32_t i = 0; (word = word_at(i)); i++) {
        size_t used = strlen(known);
        if (strcmp(word, value) == 0) {
            *number = i;
            return 0;
        }
        rlt_nearest_try(&near, word);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", word);
    }
    return rlt_fail(err, RLT_EUSAGE, name, "unknown word '%s'%s%s%s (%s)", value,
                    near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "",
                    known);
}

/* Settings of algorithms of steps, endpoints and packets. */
static int set_other(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    const struct {
        const char *name;
        uint32_t *field, max;
    } own[] = {{"channels", &s->channels, 1024},
               {"chunks", &s->chunks, 4096},
               {"window", &s->window, 4096},
               {"directions", &s->directions, 2},
               {"servers", &s->servers, RLT_MAX_MEMBERS}};
    const char *endpoint, *packet;
    rlt_nearest near = rlt_nearest_to(name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        uint64_t n = 0;
        rlt_nearest_try(&near, own[i].name);
        if (strcmp(name, own[i].name) != 0)
            continue;
        int rc = rlt_parse_count(value, &n, name, err);
        if (rc)
            return rc;
        if (n < 1 || n > own[i].max)
            return rlt_fail(err, RLT_EUSAGE, name, "expected 1 to %u, got '%s'", own[i].max, value);
        *own[i].field = (uint32_t)n;
        return 0;
    }
    rlt_nearest_try(&near, "patterns");
    if (strcmp(name, "patterns") == 0)
        return set_patterns(s, value, err);
    rlt_nearest_try(&near, "schedule");
    if (strcmp(name, "schedule") == 0)
        return set_word(name, value, rlt_chunk_schedule_name, &s->schedule, err);
    rlt_nearest_try(&near, "order");
    if (strcmp(name, "order") == 0)
        return set_word(name, value, rlt_chunk_order_name, &s->order, err);
    for (uint32_t i = 0; (endpoint = rlt_endpoint_setting(i)); i++) {
        rlt_nearest_try(&near, endpoint);
        if (strcmp(name, endpoint) == 0)
            return rlt_endpoint_set(&s->endpoint, name, value, err);
    }
    for (uint32_t i = 0; (packet = rlt_packet_setting(i)); i++) {
        const char *bare = strncmp(name, "packet.", 7) == 0 ? name + 7 : name;
        rlt_nearest_try(&near, packet);
        if (strcmp(bare, packet) != 0)
            continue;
        if (s->model != &rlt_net_packet && !s->n_protocols)
            return rlt_fail(err, RLT_EUSAGE, name, "is a setting of --network packet");
        return rlt_packet_set(&s->packet, packet, value, err);
    }
    for (uint32_t i = 0; i < s->n_protocols; i++) {
        const rlt_setting *known;
        for (uint32_t k = 0; (known = rlt_reactive_setting(s->protocols[i].protocol, k)); k++)
            rlt_nearest_try(&near, known->name);
    }
    if (strchr(name, '.')) /* of one protocol of the endpoint */
        return rlt_endpoint_set(&s->endpoint, name, value, err);
    return rlt_fail(
        err, RLT_EUSAGE, name,
        "unknown setting%s%s%s (endpoints have injection, launch, message, byte, protocol, clock, ...; "
        "algorithms have channels, chunks, window, directions, servers, patterns, schedule, order; 'ringlet "
        "list "
        "networks' "
        "shows those of packets)",
        near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
}

int rlt_setup_set(rlt_setup *s, const char *name, const char *value, rlt_error *err)
{
    int rc = set_switch(s, name, value, err);
    if (rc)
        return rc < 0 ? rc : 0;
    if ((rc = set_reacting(s, name, value, err)) < 0)
        return rc;
    /* The same name may be one of steps or packets, whose limits are their own. */
    if (rc && !strchr(name, '.'))
        (void)set_other(s, name, value, NULL);
    return rc ? 0 : set_other(s, name, value, err);
}
