/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements are the things, then the messages. Those of a class are adjacent in `items`. */
#include "sim/partition.h"

#include <stdlib.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"

/* Instructions to touch an element, and to sort or move one. */
enum { TOUCH = 30, MOVE = 15 };

typedef struct span {
    uint32_t begin, n;
    uint32_t touched; /* elements at its front that the splitter joins */
    bool waits;
} span;

typedef struct partition {
    const rlt_joins *joins;
    rlt_effort *effort;
    uint32_t n;           /* elements */
    uint32_t *items, *at; /* elements by class, and the index there of each */
    uint32_t *class;      /* by element */
    uint64_t *mark;       /* by touched element: sum over its places in the splitter */
    span *spans;          /* by class */
    uint32_t *hit;        /* touched classes */
    uint32_t *waiting;    /* stack */
    uint32_t n_spans, n_hit, n_waiting;
    uint32_t *start, *ties; /* places of each thing: ties[start[i] .. start[i + 1]) index joins->joined */
    uint32_t *message;      /* by place */
} partition;

/* Distinct words, so that sums of them tell how often each place occurs. */
static inline uint64_t word_of(uint32_t place)
{
    return rlt_mix64(((uint64_t)place + 1) * 0x9e3779b97f4a7c15u);
}

static inline void put(partition *p, uint32_t at, uint32_t item)
{
    p->items[at] = item;
    p->at[item] = at;
}

static inline void touch(partition *p, uint32_t item, uint64_t word)
{
    uint32_t c = p->class[item], at = p->at[item];
    span *s = &p->spans[c];
    uint32_t front = s->begin + s->touched;
    if (at < front) {
        p->mark[item] += word;
        return;
    }
    if (s->touched++ == 0)
        p->hit[p->n_hit++] = c;
    put(p, at, p->items[front]);
    put(p, front, item);
    p->mark[item] = word;
}

/* Sorts items[low, high) by their marks, which are hashes: equal ones are common, others in no order. */
static void sort(partition *p, uint32_t low, uint32_t high)
{
    while (high - low > 1) {
        uint64_t pivot = p->mark[p->items[low + (high - low) / 2]];
        uint32_t less = low, same = low, more = high;
        while (same < more) {
            uint32_t item = p->items[same];
            uint64_t mark = p->mark[item];
            if (mark == pivot) {
                same++;
                continue;
            }
            uint32_t to = mark < pivot ? less++ : --more;
            p->items[mark < pivot ? same++ : same] = p->items[to];
            p->items[to] = item;
        }
        p->effort->spent += (uint64_t)MOVE * (high - low);
        if (less - low < high - more) {
            sort(p, low, less);
            low = more;
        } else {
            sort(p, more, high);
            high = less;
        }
    }
}

static void wait_for_turn(partition *p, uint32_t c)
{
    if (!p->spans[c].waits)
        p->waiting[p->n_waiting++] = c;
    p->spans[c].waits = true;
}

/* Makes items[begin, end) a class of their own, which waits. */
static void separate(partition *p, uint32_t begin, uint32_t end)
{
    uint32_t c = p->n_spans++;
    p->spans[c] = (span){.begin = begin, .n = end - begin};
    for (uint32_t i = begin; i < end; i++)
        p->class[p->items[i]] = c;
    wait_for_turn(p, c);
    p->effort->spent += (uint64_t)MOVE * (end - begin);
}

/* Returns the end of the run of equal marks that begins at `begin`. */
static uint32_t run_end(const partition *p, uint32_t begin, uint32_t end)
{
    uint32_t i = begin + 1;
    while (i < end && p->mark[p->items[i]] == p->mark[p->items[begin]])
        i++;
    return i;
}

/* Splits a touched class by marks. The largest part keeps its number. */
static void split(partition *p, uint32_t c)
{
    span s = p->spans[c];
    uint32_t end = s.begin + s.n, front = s.begin + s.touched;
    p->spans[c].touched = 0;
    if (run_end(p, s.begin, front) != front) {
        sort(p, s.begin, front);
        for (uint32_t i = s.begin; i < front; i++)
            p->at[p->items[i]] = i;
    } else if (front == end) {
        return;
    }
    uint32_t kept = front, kept_end = end;
    for (uint32_t i = s.begin, j; i < front; i = j) {
        j = run_end(p, i, front);
        if (j - i > kept_end - kept)
            kept = i, kept_end = j;
    }
    for (uint32_t i = s.begin, j; i < front; i = j) {
        j = run_end(p, i, front);
        if (i != kept)
            separate(p, i, j);
    }
    if (front < end && front != kept)
        separate(p, front, end);
    p->spans[c].begin = kept;
    p->spans[c].n = kept_end - kept;
}

/* Touches what the elements of a class are joined with. */
static int look_around(partition *p, uint32_t c)
{
    const rlt_joins *g = p->joins;
    span s = p->spans[c];
    int rc = 0;
    for (uint32_t i = s.begin; i < s.begin + s.n && !rc; i++) {
        uint32_t item = p->items[i], thing = item < g->n_things, message = item - g->n_things;
        uint32_t from = thing ? p->start[item] : g->first[message];
        uint32_t to = thing ? p->start[item + 1] : g->first[message + 1];
        for (uint32_t k = from; k < to; k++) {
            if (thing)
                touch(p, g->n_things + p->message[p->ties[k]],
                      word_of(p->ties[k] - g->first[p->message[p->ties[k]]]));
            else
                touch(p, g->joined[k], word_of(k - from));
        }
        rc = rlt_effort_spend(p->effort, (uint64_t)TOUCH * (to - from + 1));
    }
    return rc;
}

static void split_all(partition *p)
{
    for (uint32_t i = 0; i < p->n_hit; i++)
        split(p, p->hit[i]);
    p->n_hit = 0;
}

/* Begins with the things in one class and the messages in another, split by their hashes. */
static void begin(partition *p, const uint64_t *of_thing, const uint64_t *of_message)
{
    uint32_t things = p->joins->n_things, messages = p->joins->n_messages;
    p->spans[0] = (span){.n = things};
    p->spans[1] = (span){.begin = things, .n = messages};
    p->n_spans = 2;
    for (uint32_t i = 0; i < p->n; i++) {
        p->class[i] = i >= things;
        put(p, i, i);
    }
    for (uint32_t i = 0; i < p->n; i++)
        touch(p, i, i < things ? of_thing[i] : of_message[i - things]);
    split_all(p);
    for (uint32_t c = 0; c < p->n_spans; c++)
        wait_for_turn(p, c);
}

/* Lists the places of each thing. */
static void turn_round(partition *p)
{
    const rlt_joins *g = p->joins;
    uint32_t places = g->first[g->n_messages];
    for (uint32_t k = 0; k < places; k++)
        p->start[g->joined[k] + 1]++;
    for (uint32_t i = 0; i < g->n_things; i++)
        p->start[i + 1] += p->start[i];
    for (uint32_t m = g->n_messages; m-- > 0;)
        for (uint32_t k = g->first[m]; k < g->first[m + 1]; k++)
            p->message[k] = m;
    for (uint32_t k = places; k-- > 0;)
        p->ties[--p->start[g->joined[k] + 1]] = k;
    for (uint32_t i = 0; i < g->n_things; i++)
        p->start[i] = p->start[i + 1];
    p->start[g->n_things] = places;
}

static int allocate(partition *p)
{
    uint64_t n = p->n, places = p->joins->first[p->joins->n_messages];
    uint32_t **lists[] = {&p->items, &p->at, &p->class, &p->hit, &p->waiting};
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = malloc((n + 2) * sizeof **lists[i])))
            return RLT_ENOMEM;
    p->mark = malloc((n + 2) * sizeof *p->mark);
    p->spans = malloc((n + 2) * sizeof *p->spans);
    p->start = calloc((uint64_t)p->joins->n_things + 2, sizeof *p->start);
    p->ties = malloc((places + 1) * sizeof *p->ties);
    p->message = malloc((places + 1) * sizeof *p->message);
    return p->mark && p->spans && p->start && p->ties && p->message ? 0 : RLT_ENOMEM;
}

static void release(partition *p)
{
    free(p->items);
    free(p->at);
    free(p->class);
    free(p->hit);
    free(p->waiting);
    free(p->mark);
    free(p->spans);
    free(p->start);
    free(p->ties);
    free(p->message);
}

int rlt_partition(const rlt_joins *joins, const uint64_t *of_thing, const uint64_t *of_message,
                  rlt_effort *effort, uint32_t *class, uint32_t *n)
{
    partition p = {.joins = joins, .effort = effort, .n = joins->n_things + joins->n_messages};
    int rc = rlt_effort_spend(effort, (uint64_t)TOUCH * ((uint64_t)p.n + joins->first[joins->n_messages]));
    if (!rc)
        rc = allocate(&p);
    if (!rc) {
        turn_round(&p);
        begin(&p, of_thing, of_message);
    }
    while (!rc && p.n_waiting) {
        uint32_t c = p.waiting[--p.n_waiting];
        p.spans[c].waits = false;
        rc = look_around(&p, c);
        split_all(&p);
    }
    for (uint32_t i = 0; i < joins->n_things && !rc; i++)
        class[i] = p.class[i];
    *n = p.n_spans;
    release(&p);
    return rc;
}
