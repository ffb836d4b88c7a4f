/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules that give the algorithm of a collective by kind, group size and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/library.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"

enum { MAX_RULES = 4096 };
#define AUTO "auto=" /* before a version whose tuner chooses */

typedef struct rule_list {
    rlt_algorithm_rule *items;
    uint32_t n, capacity;
} rule_list;

static int add_rule(rule_list *l, const rlt_algorithm_rule *rule, rlt_error *err)
{
    int rc = rlt_grow(&l->items, &l->capacity, sizeof *l->items, (uint64_t)l->n + 1, MAX_RULES, "rules", err);
    if (!rc)
        l->items[l->n++] = *rule;
    return rc;
}

uint32_t rlt_named_protocols(const char *text, const rlt_reactive **out, uint32_t most)
{
    uint32_t n = 0;
    while (text && *text) {
        size_t length = strcspn(text, ",:=");
        const rlt_reactive *r = rlt_find_protocol(text, length);
        bool known = false;
        for (uint32_t i = 0; i < n; i++)
            known |= out[i] == r;
        if (r && !known && n < most)
            out[n++] = r;
        text += length + (text[length] != '\0');
    }
    return n;
}

static const rlt_reacting *find_reacting(const rlt_setup *s, const char *name, size_t length)
{
    const rlt_reactive *r = rlt_find_protocol(name, length);
    for (uint32_t i = 0; r && i < s->n_protocols; i++)
        if (s->protocols[i].protocol == r)
            return &s->protocols[i];
    return NULL;
}

/* Reads "auto=nccl-2.23". */
static int read_version(const char *item, uint32_t *library, rlt_error *err)
{
    int rc = rlt_library_read(item + sizeof AUTO - 1, library, err);
    if (rc)
        rlt_error_prefix(err, "--algorithm: auto");
    return rc;
}

static int find_algorithm(const rlt_setup *s, const char *name, rlt_algorithm_rule *rule, rlt_error *err)
{
    const rlt_algorithm *table[RLT_COLL_KINDS];
    char item[128];
    rule->algorithm = NULL;
    rule->library = 0;
    rule->reacting = find_reacting(s, name, strlen(name));
    if (rule->reacting && !rlt_reactive_does(rule->reacting->protocol, rule->kind))
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "%s does not support %s", name,
                        rlt_coll_name(rule->kind));
    if (rule->reacting || strcmp(name, "auto") == 0)
        return 0;
    if (strncmp(name, AUTO, sizeof AUTO - 1) == 0)
        return read_version(name, &rule->library, err);
    snprintf(item, sizeof item, "%s=%.60s", rlt_coll_name(rule->kind), name);
    int rc = rlt_parse_algorithms(item, table, err);
    if (!rc)
        rule->algorithm = table[rule->kind];
    return rc;
}

/* Reads "ring:1MiB:nvls:1GiB:direct". */
static int read_chain(const rlt_setup *s, rule_list *l, rlt_algorithm_rule rule, const char *text,
                      rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = 0;
    for (uint32_t k = 0; !rc && (item = rlt_next_item(&text, ':', &length)); k++) {
        char word[64];
        uint64_t from = rule.from_bytes;
        snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), item);
        if (k % 2 == 0) {
            rc = find_algorithm(s, word, &rule, err);
            if (!rc)
                rc = add_rule(l, &rule, err);
            continue;
        }
        rc = rlt_parse_size(word, &rule.from_bytes, "--algorithm", err);
        if (!rc && (rule.from_bytes <= from || !text))
            rc = rlt_fail(
                err, RLT_EUSAGE, "--algorithm",
                "expected increasing sizes, each with an algorithm after it, such as ring:1MiB:nvls, not "
                "'%s'",
                word);
    }
    return rc;
}

/* Reads "all_reduce@8=ring:1MiB:nvls", which it cuts at its '='. */
static int read_rule(const rlt_setup *s, rule_list *l, char *text, rlt_error *err)
{
    rlt_algorithm_rule rule = {0};
    char *equals = strchr(text, '='), *at;
    uint64_t members = 0;
    int rc;
    if (!equals)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm",
                        "expected a collective first, such as all_reduce=ring:1MiB:nvls, got '%s'", text);
    *equals = '\0';
    at = strchr(text, '@');
    if (at)
        *at++ = '\0';
    if ((rc = rlt_coll_parse(text, &rule.kind, err)) ||
        (at && (rc = rlt_parse_count(at, &members, "members", err)))) {
        rlt_error_prefix(err, "--algorithm");
        return rc;
    }
    if (at && (members < 1 || members > RLT_MAX_MEMBERS))
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected at least 1 member, got %s", at);
    rule.members = (uint32_t)members;
    return read_chain(s, l, rule, equals + 1, err);
}

/* Reads "switchml", for all collectives it can do, or "all_reduce=switchml". Returns 1 for an algorithm. */
static int read_reacting(const rlt_setup *s, const char *item, size_t length, rlt_replay_options *o,
                         rlt_error *err)
{
    const char *equals = memchr(item, '=', length);
    const char *name = equals ? equals + 1 : item;
    const rlt_reacting *r = find_reacting(s, name, length - (size_t)(name - item));
    rlt_coll_kind kind;
    char word[48];
    if (!r)
        return 1;
    if (!equals) {
        for (int k = 0; k < RLT_COLL_KINDS; k++)
            if (rlt_reactive_does(r->protocol, (rlt_coll_kind)k))
                o->reacting[k] = r;
        return 0;
    }
    snprintf(word, sizeof word, "%.*s", (int)(equals - item < 47 ? equals - item : 47), item);
    int rc = rlt_coll_parse(word, &kind, err);
    if (rc) {
        rlt_error_prefix(err, "--algorithm");
        return rc;
    }
    if (!rlt_reactive_does(r->protocol, kind))
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "%s does not support %s",
                        rlt_reactive_name(r->protocol), word);
    o->reacting[kind] = r;
    return 0;
}

static int read_item(const rlt_setup *s, rule_list *l, const char *item, size_t length, char *plain,
                     rlt_replay_options *o, rlt_error *err)
{
    char rule[256];
    bool by_size = memchr(item, ':', length) || memchr(item, '@', length);
    if (length >= sizeof rule)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "'%.60s...' is too long", item);
    snprintf(rule, sizeof rule, "%.*s", (int)length, item);
    if (strncmp(rule, AUTO, sizeof AUTO - 1) == 0 && !by_size)
        return read_version(rule, &o->library, err);
    if (strcmp(rule, "auto") == 0)
        return 0;
    if (by_size || strstr(rule, "=auto"))
        return read_rule(s, l, rule, err);
    int rc = read_reacting(s, item, length, o, err);
    if (rc == 1) {
        sprintf(plain + strlen(plain), "%s%.*s", plain[0] ? "," : "", (int)length, item);
        rc = 0;
    }
    return rc;
}

int rlt_parse_rules(const char *text, const rlt_setup *setup, rlt_replay_options *o,
                    rlt_algorithm_rule **rules, rlt_error *err)
{
    const char *cursor = text, *item;
    char *plain = calloc(text ? strlen(text) + 1 : 1, 1);
    rule_list l = {0};
    size_t length;
    int rc = plain ? rlt_names_once(text, err) : rlt_nomem(err);
    if (rc && plain)
        rlt_error_prefix(err, "--algorithm");
    while (!rc && (item = rlt_next_item(&cursor, ',', &length)))
        rc = read_item(setup, &l, item, length, plain, o, err);
    if (!rc)
        rc = rlt_parse_algorithms(plain[0] ? plain : NULL, o->algorithm, err);
    free(plain);
    if (rc && rc != RLT_ENOMEM) {
        rc = RLT_EUSAGE;
        if (err)
            err->code = rc;
    }
    if (rc) {
        free(l.items);
        return rc;
    }
    o->rules = *rules = l.items;
    o->n_rules = l.n;
    return 0;
}
