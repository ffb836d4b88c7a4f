/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/coll/dropped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "tools/base/message.h"

enum { MOST = 1 << 16 };

int rlt_drop(rlt_dropped *d, const rlt_dropped_entry *one, rlt_error *err)
{
    for (uint32_t i = 0; i < d->n; i++) {
        rlt_dropped_entry *e = &d->items[i];
        if (e->kind != one->kind || strcmp(e->algorithm, one->algorithm) != 0)
            continue;
        e->sizes++;
        e->bytes = one->bytes < e->bytes ? one->bytes : e->bytes;
        return 0;
    }
    int rc =
        rlt_grow(&d->items, &d->capacity, sizeof *d->items, d->n + 1ull, MOST, "dropped algorithms", err);
    if (!rc) {
        d->items[d->n] = *one;
        d->items[d->n++].sizes = 1;
    }
    return rc;
}

/* Appends the collective of an entry, and the sizes if others were simulated. */
static size_t put_collective(char *text, size_t used, size_t size, const rlt_dropped_entry *e, uint32_t sizes)
{
    char at[32];
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", rlt_coll_name(e->kind));
    if (used < size && e->sizes < sizes && e->kind != RLT_BARRIER)
        used += (size_t)snprintf(text + used, size - used, " (%u of %u sizes, from %s)", e->sizes, sizes,
                                 rlt_format_size(at, sizeof at, e->bytes));
    return used < size ? used : size - 1;
}

void rlt_dropped_notes(const rlt_dropped *d, uint32_t sizes)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const rlt_dropped_entry *first = &d->items[i];
        char list[600] = "";
        size_t used = 0;
        bool told = first->quiet;
        for (uint32_t k = 0; k < i && !told; k++)
            told = !d->items[k].quiet && strcmp(d->items[k].algorithm, first->algorithm) == 0;
        for (uint32_t k = i; k < d->n && !told; k++)
            if (!d->items[k].quiet && strcmp(d->items[k].algorithm, first->algorithm) == 0)
                used = put_collective(list, used, sizeof list, &d->items[k], sizes);
        if (!told)
            rlt_note("%s is left out of %s: %s", first->algorithm, list, first->reason);
    }
}

void rlt_dropped_json(rlt_jw *w, const rlt_dropped *d)
{
    rlt_jw_array(w, "dropped");
    for (uint32_t i = 0; i < d->n; i++) {
        const rlt_dropped_entry *e = &d->items[i];
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "collective", rlt_coll_name(e->kind));
        rlt_jw_string(w, "algorithm", e->algorithm);
        rlt_jw_u64(w, "from_bytes", e->bytes);
        rlt_jw_u64(w, "sizes", e->sizes);
        rlt_jw_string(w, "reason", e->reason);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

void rlt_dropped_free(rlt_dropped *d)
{
    free(d->items);
    *d = (rlt_dropped){0};
}
