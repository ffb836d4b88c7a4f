/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap of links by next completion. The order of ties depends on the history of the heap, which is the
 * same in every run. Links know their position and are moved. `make bench` counts the instructions of each
 * move, so this room has heaps of its own instead of sim/base/heap.h's.
 */
#include "net/flow/maxmin.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

static void completion_up(rlt_maxmin *mm, uint32_t i, rlt_mm_completion c)
{
    rlt_mm_completion *a = mm->completions;
    while (i) {
        uint32_t parent = (i - 1) / 2;
        if (c.when >= a[parent].when)
            break;
        a[i] = a[parent];
        mm->links[a[i].link].heap = i;
        i = parent;
    }
    a[i] = c;
    mm->links[c.link].heap = i;
}

static void completion_down(rlt_maxmin *mm, uint32_t i, rlt_mm_completion c)
{
    rlt_mm_completion *a = mm->completions;
    uint32_t n = mm->n_completions;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && a[child + 1].when < a[child].when)
            child++;
        if (a[child].when >= c.when)
            break;
        a[i] = a[child];
        mm->links[a[i].link].heap = i;
        i = child;
    }
    a[i] = c;
    mm->links[c.link].heap = i;
}

int rlt__mm_completion(rlt_maxmin *mm, uint32_t link, rlt_time when)
{
    uint32_t i = mm->links[link].heap;
    rlt_mm_completion c = {when, link};
    if (when < 0) {
        if (i == RLT_NONE)
            return 0;
        mm->links[link].heap = RLT_NONE;
        if (i == --mm->n_completions)
            return 0;
        c = mm->completions[mm->n_completions];
    } else if (i == RLT_NONE) {
        i = mm->n_completions;
        if (i == 0)
            mm->latest = when;
        if (i == mm->completions_room && rlt_grow(&mm->completions, &mm->completions_room, sizeof(c),
                                                  (uint64_t)i + 1, UINT32_MAX, "links", NULL))
            return RLT_ENOMEM;
        mm->n_completions++;
    }
    if (c.when > mm->latest)
        mm->latest = c.when;
    if (i && c.when < mm->completions[(i - 1) / 2].when)
        completion_up(mm, i, c);
    else
        completion_down(mm, i, c);
    return 0;
}

/* Lists the positions in the heap whose completion is due, in mm->component, from the top down. */
static int due_places(rlt_maxmin *mm, rlt_time now)
{
    rlt_mm_list *due = &mm->component;
    int rc = 0;
    if (mm->n_completions && mm->completions[0].when <= now)
        rc = rlt__mm_append(due, 0);
    for (uint32_t i = 0; i < due->n && !rc; i++) {
        uint32_t child = 2 * due->items[i] + 1;
        for (uint32_t k = child; k < child + 2 && k < mm->n_completions && !rc; k++)
            if (mm->completions[k].when <= now)
                rc = rlt__mm_append(due, k);
    }
    return rc;
}

int rlt__mm_take_due(rlt_maxmin *mm, rlt_time now)
{
    rlt_mm_list *due = &mm->component;
    int rc = 0;
    due->n = 0;
    if (mm->latest <= now) {
        for (uint32_t i = 0; i < mm->n_completions && !rc; i++) {
            mm->links[mm->completions[i].link].heap = RLT_NONE;
            rc = rlt__mm_append(due, mm->completions[i].link);
        }
        mm->n_completions = 0;
        return rc;
    }
    rc = due_places(mm, now);
    for (uint32_t i = 0; i < due->n; i++)
        due->items[i] = mm->completions[due->items[i]].link;
    for (uint32_t i = 0; i < due->n && !rc; i++)
        rc = rlt__mm_completion(mm, due->items[i], -1);
    return rc;
}
