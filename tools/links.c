/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Link usage, written and checked. */
#include "tools/links.h"

#include <string.h>

#include "tools/file.h"

static double part(rlt_time busy_ps, rlt_time time_ps)
{
    return time_ps > 0 ? (double)busy_ps / (double)time_ps : 0;
}

enum { N_COLUMNS = 9 };
static const rlt_column columns[N_COLUMNS] = {
    {"id", "link", NULL, RLT_COL_COUNT, 0, 0},         {"src", "from", NULL, RLT_COL_TEXT, 0, 0},
    {"dst", "to", NULL, RLT_COL_TEXT, 0, 0},           {"dim", "dim", NULL, RLT_COL_COUNT, 0, 0},
    {"count", NULL, NULL, RLT_COL_COUNT, 0, 0}, /* links that this row stands for */
    {"bytes", "bytes", NULL, RLT_COL_COUNT, 0, 0},     {"busy_ps", "busy", "us", RLT_COL_TIME, 0, 0},
    {"active_ps", "active", "us", RLT_COL_TIME, 0, 0}, {"utilization", "util", "%", RLT_COL_PERCENT, 0, 1},
};

typedef struct link_row {
    rlt_value values[N_COLUMNS];
    char src[128], dst[128];
} link_row;

static void fill_row(link_row *r, const rlt_topology *t, const rlt_usage *u, uint32_t id, rlt_time time_ps)
{
    rlt_link l = rlt_topology_link(t, id);
    rlt_link_usage c = rlt_usage_link(u, id);
    uint32_t i = 0;
    r->values[i++] = rlt_count(id);
    r->values[i++] = rlt_text(rlt_topology_node_name(t, l.src, r->src, sizeof r->src));
    r->values[i++] = rlt_text(rlt_topology_node_name(t, l.dst, r->dst, sizeof r->dst));
    r->values[i++] = rlt_count(l.dim);
    r->values[i++] = rlt_count(1);
    r->values[i++] = rlt_count(c.bytes);
    r->values[i++] = rlt_ps(c.busy_ps);
    r->values[i++] = rlt_ps(c.active_ps);
    r->values[i++] = rlt_real(part(c.busy_ps, time_ps));
}

void rlt_links_json(rlt_jw *w, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps)
{
    link_row row;
    uint32_t bins = rlt_usage_bin_ps(u) > 0 ? rlt_usage_bins(u) : 0;
    if (rlt_usage_bin_ps(u) > 0)
        rlt_jw_i64(w, "series_bin_ps", rlt_usage_bin_ps(u));
    rlt_jw_array(w, "links");
    for (uint32_t id = 0; id < rlt_topology_links(t); id++) {
        fill_row(&row, t, u, id, time_ps);
        rlt_jw_object(w, NULL);
        rlt_row_json(w, columns, N_COLUMNS, row.values);
        if (rlt_usage_bin_ps(u) > 0) {
            rlt_jw_array(w, "series_bytes");
            for (uint32_t b = 0; b < bins; b++)
                rlt_jw_double(w, NULL, rlt_usage_bin_bytes(u, id, b), 0);
            rlt_jw_end_array(w);
        }
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

int rlt_links_csv(const char *path, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps,
                  rlt_error *err)
{
    rlt_file f;
    link_row row;
    rlt_time bin_ps = rlt_usage_bin_ps(u);
    uint32_t bins = bin_ps > 0 ? rlt_usage_bins(u) : 0;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    rlt_csv_heading(f.stream, columns, N_COLUMNS);
    for (uint32_t b = 0; b < bins; b++)
        fprintf(f.stream, ",bytes_from_%lld_ps", (long long)(b * bin_ps));
    fputc('\n', f.stream);
    for (uint32_t id = 0; id < rlt_topology_links(t); id++) {
        fill_row(&row, t, u, id, time_ps);
        rlt_csv_row(f.stream, columns, N_COLUMNS, row.values);
        for (uint32_t b = 0; b < bins; b++)
            fprintf(f.stream, ",%.0f", rlt_usage_bin_bytes(u, id, b));
        fputc('\n', f.stream);
    }
    return rlt_file_close(&f, err);
}

int rlt_links_table(FILE *out, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, rlt_error *err)
{
    rlt_table table;
    link_row row;
    uint32_t idle = 0;
    int rc;
    rlt_table_begin(&table, RLT_FORMAT_TABLE, columns, N_COLUMNS, out, NULL);
    for (uint32_t id = 0; id < rlt_topology_links(t); id++) {
        if (rlt_usage_link(u, id).bytes == 0) {
            idle++;
            continue;
        }
        fill_row(&row, t, u, id, time_ps);
        rlt_table_row(&table, row.values);
    }
    rc = rlt_table_end(&table, err);
    if (!rc && idle)
        fprintf(out, "# %u of %u links carried nothing\n", idle, rlt_topology_links(t));
    return rc;
}

void rlt_link_name(const rlt_topology *t, uint32_t link, char *buffer, size_t size)
{
    rlt_link l = rlt_topology_link(t, link);
    bool from_switch = rlt_topology_node_kind(t, l.src) == RLT_SWITCH;
    bool to_switch = rlt_topology_node_kind(t, l.dst) == RLT_SWITCH;
    if (rlt_topology_is_product(t))
        snprintf(buffer, size, "dim %u %s%s", l.dim, rlt_topology_dim(t, l.dim).shape,
                 from_switch && to_switch ? " between switches"
                 : to_switch              ? " up"
                 : from_switch            ? " down"
                                          : "");
    else {
        char src[72], dst[72];
        snprintf(buffer, size, "%s -> %s", rlt_topology_node_name(t, l.src, src, sizeof src),
                 rlt_topology_node_name(t, l.dst, dst, sizeof dst));
    }
}

rlt_busiest rlt_links_busiest(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps)
{
    rlt_busiest b = {.link = RLT_NONE};
    rlt_time most = 0;
    for (uint32_t id = 0; id < rlt_topology_links(t); id++) {
        rlt_link_usage c = rlt_usage_link(u, id);
        if (c.busy_ps > most) {
            most = c.busy_ps;
            b.link = id;
        }
    }
    if (b.link != RLT_NONE) {
        b.utilization = part(most, time_ps);
        rlt_link_name(t, b.link, b.name, sizeof b.name);
    }
    return b;
}

int rlt_accounts_check(const rlt_net *net, const rlt_topology *t, rlt_time time_ps, rlt_busiest *over,
                       rlt_error *err)
{
    bool shares_all = strcmp(net->model->name, "alpha-beta") != 0;
    rlt_busiest worst = rlt_links_busiest(t, net->usage, time_ps);
    if (over)
        over->link = RLT_NONE;
    if (net->bytes_offered != net->bytes_delivered)
        return rlt_fail(err, RLT_ECHECK, "accounts", "%llu bytes were offered to the network, %llu delivered",
                        (unsigned long long)net->bytes_offered, (unsigned long long)net->bytes_delivered);
    if (worst.link == RLT_NONE)
        return 0;
    rlt_link_usage c = rlt_usage_link(net->usage, worst.link);
    /* Each transfer's end is rounded to a picosecond. */
    if (c.busy_ps <= time_ps + (rlt_time)c.messages)
        return 0;
    if (!shares_all) {
        if (over)
            *over = worst;
        return 0;
    }
    return rlt_fail(err, RLT_ECHECK, "accounts", "link %u (%s) was busy for %lld ps in a run of %lld ps",
                    worst.link, worst.name, (long long)c.busy_ps, (long long)time_ps);
}
