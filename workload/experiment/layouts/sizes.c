/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of accelerators from a list, and the topology with its outermost dimension resized. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/experiment/layouts/fleets.h"
#include "workload/experiment/layouts/fleets_internal.h"
#include "workload/experiment/layouts/layouts.h"

enum { MAX_FLEETS = 1 << 16 };

/* The outermost dimension of a topology's text: shape[0 .. head), a size, and what follows it. */
typedef struct outermost {
    const char *text, *tail;
    size_t inner, head; /* characters before its '*', and before its size */
    uint64_t size;      /* as written */
} outermost;

static bool find_outermost(const char *text, outermost *o)
{
    char digits[16];
    const char *star = strrchr(text, '*'), *shape = star ? star + 1 : text;
    size_t word = strcspn(shape, ":@,"), n = shape[word] == ':' ? strspn(shape + word + 1, "0123456789") : 0;
    o->text = text;
    o->inner = star ? (size_t)(star - text) : 0;
    o->head = (size_t)(shape - text) + word + 1;
    o->tail = text + o->head + n;
    if (!isalpha((unsigned char)*shape) || n == 0 || n >= sizeof digits || *o->tail != '@')
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)n, text + o->head);
    return rlt_parse_count(digits, &o->size, NULL, NULL) == 0 && o->size > 0;
}

/* Writes the topology with another size. One of size 1 is left out. */
static char *resized(const outermost *o, uint32_t size)
{
    size_t room = strlen(o->text) + 16;
    char *text = malloc(room);
    if (text && size == 1 && o->inner)
        snprintf(text, room, "%.*s", (int)o->inner, o->text);
    else if (text)
        snprintf(text, room, "%.*s%u%s", (int)o->head, o->text, size, o->tail);
    return text;
}

static int add(rlt_fleets *c, uint64_t ranks, const outermost *o, uint32_t inner, rlt_error *err)
{
    int rc = rlt_grow(&c->at, &c->room, sizeof *c->at, (uint64_t)c->n + 1, MAX_FLEETS,
                      "numbers of accelerators", err);
    if (rc)
        return rc;
    rlt_fleet *one = &c->at[c->n];
    *one = (rlt_fleet){.ranks = (uint32_t)ranks};
    if (o && !(one->topology = resized(o, (uint32_t)ranks / inner)))
        return rlt_nomem(err);
    c->n++;
    return 0;
}

static int read_number(const char *text, size_t length, uint64_t *out, rlt_error *err)
{
    char word[24];
    snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), text);
    if (rlt_parse_count(word, out, NULL, NULL) || *out == 0 || *out > RLT_MAX_ACCELERATORS)
        return rlt_fail(err, RLT_EUSAGE, "--accelerators",
                        "expected a range such as 64:4096 or a list such as 64+128, got '%s'", word);
    return 0;
}

static int add_range(rlt_fleets *c, const char *list, const outermost *o, uint32_t inner, rlt_error *err)
{
    uint64_t low = 0, high = 0;
    size_t length = strcspn(list, ":");
    int rc = read_number(list, length, &low, err);
    if (rc || (rc = read_number(list + length + 1, strlen(list + length + 1), &high, err)))
        return rc;
    for (uint64_t n = (low + inner - 1) / inner * inner; n <= high && !rc; n += inner)
        rc = add(c, n, o, inner, err);
    if (!rc && c->n == 0)
        rc = rlt_fail(err, RLT_EUSAGE, "--accelerators", "%s has no multiple of the topology's inner %u",
                      list, inner);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const rlt_fleet *x = a, *y = b;
    return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

static int add_list(rlt_fleets *c, const char *list, const outermost *o, uint32_t inner, rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&list, '+', &length))) {
        uint64_t n = 0;
        if (!(rc = read_number(item, length, &n, err)) && n % inner)
            rc = rlt_fail(err, RLT_EUSAGE, "--accelerators",
                          "%llu is no multiple of %u, the topology without its outermost dimension",
                          (unsigned long long)n, inner);
        if (!rc)
            rc = add(c, n, o, inner, err);
    }
    if (!rc && c->n)
        qsort(c->at, c->n, sizeof *c->at, by_number);
    for (uint32_t i = 1; i < c->n && !rc; i++)
        if (c->at[i].ranks == c->at[i - 1].ranks)
            rc = rlt_fail(err, RLT_EUSAGE, "--accelerators", "has %u twice", c->at[i].ranks);
    return rc;
}

int rlt__fleets_list(rlt_fleets *c, const char *list, rlt_error *err)
{
    const rlt_topology *t = c->given.run.setup.topology;
    uint32_t all = rlt_topology_accelerators(t);
    outermost o;
    if (!list)
        return add(c, rlt_layouts_ranks(&c->given), NULL, 1, err);
    if (c->given.run.training.ranks)
        return rlt_fail(err, RLT_EUSAGE, "--accelerators", "the training has its number of ranks: ranks=%u",
                        c->given.run.training.ranks);
    if (c->settings.sim.placement)
        return rlt_fail(err, RLT_EUSAGE, "--accelerators", "does not go with --placement");
    if (!find_outermost(c->settings.sim.topology, &o) || all % o.size)
        return rlt_fail(err, RLT_EUSAGE, "--accelerators",
                        "expected a --topology that ends with a dimension of one size, such as "
                        "*rail:32@400Gbps,2us");
    uint32_t inner = all / (uint32_t)o.size;
    return strchr(list, ':') ? add_range(c, list, &o, inner, err) : add_list(c, list, &o, inner, err);
}
