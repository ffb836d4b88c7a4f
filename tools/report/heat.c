/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Utilization by link and time, reduced to the resolution of a screen. */
#include "tools/report/heat.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "tools/report/pack.h"

enum { MOST_ROWS = 400, MOST_BINS = 1024, FULL = 254 };

typedef struct row {
    uint32_t first, count;
    uint64_t sum, hash;
    unsigned char *bytes;
} row;

static void fill(const rlt_heat *h, uint32_t merge, uint32_t bins, row *r)
{
    r->sum = 0;
    for (uint32_t b = 0; b < bins; b++) {
        uint32_t first = b * merge, n = h->bins - first < merge ? h->bins - first : merge;
        double u = 0;
        for (uint32_t i = 0; i < n; i++)
            u += h->at(h->ctx, r->first, first + i);
        u /= n;
        r->bytes[b] = u > 1.002 ? 255
                      : u <= 0  ? 0
                                : (unsigned char)(u * FULL + 0.5 > FULL ? FULL : u * FULL + 0.5);
        if (u > 0 && r->bytes[b] == 0)
            r->bytes[b] = 1; /* a small value must not look like zero */
        r->sum += r->bytes[b];
    }
    r->hash = rlt_hash_bytes(r->bytes, bins, h->dim(h->ctx, r->first));
}

static int busiest_first(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum < y->sum ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Merges rows that look the same, and drops those that were never busy. *n is the number of rows left. */
static int gather(const rlt_heat *h, uint32_t merge, uint32_t bins, row *rows, uint32_t *n, rlt_error *err)
{
    rlt_map seen = {0};
    unsigned char *bytes = malloc((size_t)bins + 1);
    int rc = bytes ? 0 : rlt_nomem(err);
    *n = 0;
    for (uint32_t i = 0; i < h->rows && !rc; i++) {
        row r = {.first = i, .count = 1, .bytes = bytes};
        fill(h, merge, bins, &r);
        uint32_t old = r.sum ? rlt_map_get(&seen, r.hash) : RLT_NONE;
        if (!r.sum)
            continue;
        if (old != RLT_NONE) {
            rows[old].count++;
            continue;
        }
        if (rlt_map_put(&seen, r.hash, *n))
            rc = rlt_nomem(err);
        r.bytes = NULL;
        rows[(*n)++] = r;
    }
    free(bytes);
    rlt_map_free(&seen);
    return rc;
}

int rlt_heat_json(const rlt_heat *h, rlt_jw *w, rlt_error *err)
{
    uint32_t merge = (h->bins + MOST_BINS - 1) / MOST_BINS, bins, n = 0;
    row *rows = malloc(((size_t)h->rows + 1) * sizeof *rows);
    rlt_pack pack = {0};
    if (!rows)
        return rlt_nomem(err);
    merge = merge ? merge : 1;
    bins = (h->bins + merge - 1) / merge;
    int rc = gather(h, merge, bins, rows, &n, err);
    if (!rc)
        qsort(rows, n, sizeof *rows, busiest_first);
    uint32_t shown = n < MOST_ROWS ? n : MOST_ROWS;
    rlt_jw_object(w, "heat");
    rlt_jw_i64(w, "bin_ps", h->bin_ps * merge);
    rlt_jw_u64(w, "bins", bins);
    rlt_jw_u64(w, "rows", n);
    rlt_jw_u64(w, "shown", shown);
    rlt_jw_array(w, "list");
    for (uint32_t b = 0; b < bins; b++)
        rlt_pack_byte(&pack, 0);
    for (uint32_t i = 0; i < shown && !rc; i++) {
        char name[200], *text = NULL;
        if (!pack.failed) {
            rows[i].bytes = pack.bytes;
            fill(h, merge, bins, &rows[i]);
            text = rlt_pack_base64(&pack);
        }
        if (!text) {
            rc = rlt_nomem(err);
            break;
        }
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "name", h->name(h->ctx, rows[i].first, rows[i].count, name, sizeof name));
        rlt_jw_u64(w, "dim", h->dim(h->ctx, rows[i].first));
        rlt_jw_u64(w, "count", rows[i].count);
        rlt_jw_string(w, "data", text);
        rlt_jw_end_object(w);
        free(text);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
    free(pack.bytes);
    free(rows);
    return rc;
}
