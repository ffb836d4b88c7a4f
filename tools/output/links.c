/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes link usage. */
#include "tools/output/links.h"

#include <stdlib.h>
#include <string.h>

#include "net/fold.h"
#include "sim/base/column.h"
#include "tools/base/file.h"
#include "tools/base/message.h"

enum { N_COLUMNS = 11, N_WITH_PACKETS = 17 };
static const rlt_column columns[N_WITH_PACKETS] = {
    {"id", "link", NULL, RLT_COL_COUNT, 0, 0,
     "number of the link, one direction; in a row for several links, of the first one"},
    {"src", "from", NULL, RLT_COL_TEXT, 0, 0, "node where the link begins"},
    {"dst", "to", NULL, RLT_COL_TEXT, 0, 0, "node where the link ends"},
    {"dim", "dim", NULL, RLT_COL_COUNT, 0, 0, "dimension of the topology that the link belongs to"},
    {"count", "count", NULL, RLT_COL_COUNT, 0, 0, "links that did the same and that the row stands for"},
    {"bandwidth_Bps", NULL, NULL, RLT_COL_COUNT, 0, 0, "capacity of one link"},
    {"bytes", "bytes", NULL, RLT_COL_COUNT, 0, 0,
     "bytes that each of these links carried, protocol overhead included"},
    {"messages", NULL, NULL, RLT_COL_COUNT, 0, 0, "messages that crossed the link"},
    {"busy_ps", "busy", "us", RLT_COL_TIME, 0, 0, "bytes / capacity"},
    {"active_ps", "active", "us", RLT_COL_TIME, 0, 0, "time in which some transfer was present on the link"},
    {"utilization", "util", "%", RLT_COL_PERCENT, 0, 1, "busy time of the link / time of the run"},
    {"drops", "drops", NULL, RLT_COL_COUNT, 0, 0, "packets dropped at a full buffer (packet model)"},
    {"losses", "losses", NULL, RLT_COL_COUNT, 0, 0, "packets lost on the wire (packet model)"},
    {"marks", "marks", NULL, RLT_COL_COUNT, 0, 0, "packets marked by ECN (packet model)"},
    {"pauses", "pauses", NULL, RLT_COL_COUNT, 0, 0, "times that the link was paused (packet model)"},
    {"paused_ps", NULL, NULL, RLT_COL_TIME, 0, 0, "time in which the link was paused (packet model)"},
    {"peak_bytes", "peak", NULL, RLT_COL_COUNT, 0, 0, "longest queue in front of the link (packet model)"},
};

const rlt_columns rlt_link_columns = {"Links: JSON `links[]`, `--links`, `--links-csv`", columns,
                                      N_WITH_PACKETS};

static uint32_t columns_of(const rlt_usage *u)
{
    rlt_port_counts ignored;
    return rlt_usage_port(u, 0, &ignored) ? N_WITH_PACKETS : N_COLUMNS;
}

typedef struct link_row {
    rlt_value values[N_WITH_PACKETS];
    char src[128], dst[128];
} link_row;

static void fill_row(link_row *r, const rlt_topology *t, const rlt_link_class *c)
{
    uint32_t i = 0;
    r->values[i++] = rlt_count(c->first);
    r->values[i++] = rlt_text(rlt_topology_node_name(t, c->link.src, r->src, sizeof r->src));
    r->values[i++] = rlt_text(rlt_topology_node_name(t, c->link.dst, r->dst, sizeof r->dst));
    r->values[i++] = rlt_count(c->link.dim);
    r->values[i++] = rlt_count(c->count);
    r->values[i++] = rlt_count(c->link.bw_Bps);
    r->values[i++] = rlt_count(c->usage.bytes);
    r->values[i++] = rlt_count(c->usage.messages);
    r->values[i++] = rlt_ps(c->usage.busy_ps);
    r->values[i++] = rlt_ps(c->usage.active_ps);
    r->values[i++] = rlt_real(c->utilization);
    if (!c->packets)
        return;
    r->values[i++] = rlt_count(c->port.drops);
    r->values[i++] = rlt_count(c->port.losses);
    r->values[i++] = rlt_count(c->port.marks);
    r->values[i++] = rlt_count(c->port.pauses);
    r->values[i++] = rlt_ps(c->port.paused_ps);
    r->values[i++] = rlt_count(c->port.peak_bytes);
}

static void series_json(rlt_jw *w, const rlt_usage *u, uint32_t link)
{
    rlt_jw_array(w, "series_bytes");
    for (uint32_t b = 0; b < rlt_usage_bins(u); b++)
        rlt_jw_double(w, NULL, rlt_usage_bin_bytes(u, link, b), 0);
    rlt_jw_end_array(w);
}

int rlt_links_json(rlt_jw *w, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   bool series, rlt_error *err)
{
    link_row row;
    rlt_link_class *list;
    uint32_t n;
    series = series && rlt_usage_bin_ps(u) > 0;
    int rc = rlt_links_list(t, u, time_ps, folded && !series, &list, &n, err);
    if (rc)
        return rc;
    if (series)
        rlt_jw_i64(w, "series_bin_ps", rlt_usage_bin_ps(u));
    rlt_jw_array(w, "links");
    for (uint32_t i = 0; i < n; i++) {
        fill_row(&row, t, &list[i]);
        rlt_jw_object(w, NULL);
        rlt_row_json(w, columns, columns_of(u), row.values);
        if (series)
            series_json(w, u, list[i].first);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    free(list);
    return 0;
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
    rlt_csv_heading(f.stream, columns, columns_of(u));
    for (uint32_t b = 0; b < bins; b++)
        fprintf(f.stream, ",bytes_from_%lld_ps", (long long)(b * bin_ps));
    fputc('\n', f.stream);
    for (uint32_t id = 0; id < rlt_topology_links(t); id++) {
        rlt_link_class c = rlt_link_class_of(t, u, id, time_ps);
        fill_row(&row, t, &c);
        rlt_csv_row(f.stream, columns, columns_of(u), row.values);
        for (uint32_t b = 0; b < bins; b++)
            fprintf(f.stream, ",%.0f", rlt_usage_bin_bytes(u, id, b));
        fputc('\n', f.stream);
    }
    rlt_mark_partial(f.stream);
    return rlt_file_close(&f, err);
}

int rlt_links_table(FILE *out, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                    rlt_error *err)
{
    rlt_table table;
    link_row row;
    rlt_link_class *list;
    uint32_t idle = 0, n;
    int rc = rlt_links_list(t, u, time_ps, folded, &list, &n, err);
    if (rc)
        return rc;
    rlt_table_begin(&table, RLT_FORMAT_TABLE, columns, columns_of(u), out, NULL);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].usage.bytes == 0) {
            idle += list[i].count;
            continue;
        }
        fill_row(&row, t, &list[i]);
        rlt_table_row(&table, row.values);
    }
    free(list);
    rc = rlt_table_end(&table, err);
    if (!rc && idle)
        fprintf(out, "# %u of %u links carried nothing\n", idle, rlt_topology_links(t));
    return rc;
}

void rlt_links_warn(const rlt_busiest *over, const char *what)
{
    if (over->link != RLT_NONE)
        rlt_warn(
            "%s loads link %u (%s) to %.0f %% of its capacity: alpha-beta does not share links inside the "
            "network; --network flow does",
            what, over->link, over->name, over->utilization * 100);
}

char *rlt_topology_counts(const rlt_topology *t, char *text, size_t size)
{
    uint32_t accelerators = rlt_topology_accelerators(t), nodes = rlt_topology_nodes(t),
             links = rlt_topology_links(t);
    snprintf(text, size, "%u accelerator%s, %u node%s, %u link%s", accelerators, rlt_s(accelerators), nodes,
             rlt_s(nodes), links, rlt_s(links));
    return text;
}
