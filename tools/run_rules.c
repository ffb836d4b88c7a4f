/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which algorithm a collective of a size, in a group of a size, is replayed with. */
#include <stdlib.h>
#include <string.h>

#include "sim/mem.h"
#include "sim/units.h"
#include "tools/message.h"
#include "tools/settings.h"

enum { MAX_RULES = 4096 };

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

static int find_algorithm(const char *name, rlt_coll_kind kind, const rlt_algorithm **out, rlt_error *err)
{
    const rlt_algorithm *table[RLT_COLL_KINDS];
    char item[128];
    *out = NULL;
    if (strcmp(name, "auto") == 0)
        return 0;
    snprintf(item, sizeof item, "%s=%.60s", rlt_coll_name(kind), name);
    int rc = rlt_parse_algorithms(item, table, err);
    if (!rc)
        *out = table[kind];
    return rc;
}

/* "ring:1MiB:nvls:1GiB:direct" */
static int read_chain(rule_list *l, rlt_algorithm_rule rule, const char *text, rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = 0;
    for (uint32_t k = 0; !rc && (item = rlt_next_item(&text, ':', &length)); k++) {
        char word[64];
        uint64_t from = rule.from_bytes;
        snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), item);
        if (k % 2 == 0) {
            rc = find_algorithm(word, rule.kind, &rule.algorithm, err);
            if (!rc)
                rc = add_rule(l, &rule, err);
            continue;
        }
        rc = rlt_parse_size(word, &rule.from_bytes, "--algorithm", err);
        if (!rc && (rule.from_bytes <= from || !text))
            rc = rlt_fail(
                err, RLT_EUSAGE, "--algorithm",
                "expected growing sizes with an algorithm after each, such as ring:1MiB:nvls, not '%s'",
                word);
    }
    return rc;
}

/* "all_reduce@8=ring:1MiB:nvls", cut at its '='. */
static int read_rule(rule_list *l, char *text, rlt_error *err)
{
    rlt_algorithm_rule rule = {0};
    char *equals = strchr(text, '='), *at;
    uint64_t members = 0;
    int rc;
    if (!equals)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm",
                        "expected a collective in front, such as all_reduce=ring:1MiB:nvls, got '%s'", text);
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
        return rlt_fail(err, RLT_EUSAGE, "--algorithm", "no group has %s members", at);
    rule.members = (uint32_t)members;
    return read_chain(l, rule, equals + 1, err);
}

int rlt_parse_rules(const char *text, const rlt_algorithm *table[RLT_COLL_KINDS], rlt_algorithm_rule **rules,
                    uint32_t *n, rlt_error *err)
{
    const char *cursor = text, *item;
    char *plain = calloc(text ? strlen(text) + 1 : 1, 1), rule[256];
    rule_list l = {0};
    size_t length, used = 0;
    int rc = plain ? 0 : rlt_nomem(err);
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        if (!memchr(item, ':', length) && !memchr(item, '@', length)) {
            used += (size_t)sprintf(plain + used, "%s%.*s", used ? "," : "", (int)length, item);
        } else if (length >= sizeof rule) {
            rc = rlt_fail(err, RLT_EUSAGE, "--algorithm", "'%.60s...' is too long", item);
        } else {
            snprintf(rule, sizeof rule, "%.*s", (int)length, item);
            rc = read_rule(&l, rule, err);
        }
    }
    if (!rc)
        rc = rlt_parse_algorithms(used ? plain : NULL, table, err);
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
    *rules = l.items;
    *n = l.n;
    return 0;
}
