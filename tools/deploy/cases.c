/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists, graphs and clusters that the options name. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "tools/base/message.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/random.h"
#include "tools/deploy/report.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/locate.h"

enum { RANDOM_SEED = 0 };

/* Lists of graphs, clusters and methods. */
enum { MAX_ITEMS = 64 };

int rlt_deploy_split(const char *list, char separator, const char *option, rlt_deploy_items *out,
                     rlt_error *err)
{
    const char *cursor = list, *item;
    size_t length;
    *out = (rlt_deploy_items){0};
    if (!list)
        return 0;
    out->text = malloc(MAX_ITEMS * sizeof *out->text);
    if (!out->text)
        return rlt_nomem(err);
    while ((item = rlt_next_item(&cursor, separator, &length))) {
        if (out->n == MAX_ITEMS || length >= RLT_DEPLOY_WORD || length == 0)
            return rlt_fail(err, RLT_EUSAGE, option, "expected 1 to %d items of 1 to %d letters", MAX_ITEMS,
                            RLT_DEPLOY_WORD - 1);
        snprintf(out->text[out->n++], RLT_DEPLOY_WORD, "%.*s", (int)length, item);
    }
    return 0;
}

/* Prints the assumptions of a reader, one a line. */
static void tell(const char *notes)
{
    const char *cursor = notes, *line;
    size_t length;
    while (notes && (line = rlt_next_item(&cursor, '\n', &length)))
        if (length)
            rlt_note("%.*s", (int)length, line);
}

/* "random:K": the K-th random model or cluster. */
static bool random_number(const char *spec, uint32_t *k)
{
    int end = 0;
    return sscanf(spec, "random:%" SCNu32 "%n", k, &end) == 1 && spec[end] == '\0';
}

int rlt_deploy_load_graph(const char *graph, const rlt_deploy_settings *s, rlt_deploy_case *out,
                          rlt_error *err)
{
    rlt_dirs accelerators = rlt_accelerator_dirs();
    rlt_graph_options options = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_growing notes = {0};
    options.batch = s->batch;
    options.accelerator = s->accelerator;
    options.accelerator_dirs = accelerators.list;
    options.precision = s->precision;
    options.notes = &notes;
    *out = (rlt_deploy_case){0};
    char path[PATH_MAX];
    uint32_t k;
    if (random_number(graph, &k))
        return rlt_random_model(RANDOM_SEED, k, &out->graph, err);
    if (!strchr(graph, '/') && access(graph, F_OK) &&
        rlt_find_file(rlt_data_dirs(RLT_DATA_TRACES).list, graph, path, sizeof path))
        graph = path;
    int rc = access(graph, F_OK) == 0 || strchr(graph, '/') || strcmp(graph, "-") == 0
                 ? rlt_opgraph_read(graph, &options, &out->graph, err)
                 : rlt_opgraph_of_model(graph, &options, &out->graph, err);
    out->notes = notes.text;
    return rc;
}

int rlt_deploy_load(const char *graph, const char *topology, const rlt_deploy_settings *s,
                    rlt_deploy_case *out, rlt_error *err)
{
    uint32_t k;
    int rc = rlt_deploy_load_graph(graph, s, out, err);
    if (!rc && random_number(topology, &k))
        rc = rlt_random_cluster(RANDOM_SEED, k, false, &out->cluster, err);
    else if (!rc)
        rc = rlt_cluster_load(topology, rlt_topology_dirs().list, s->devices, &out->cluster, err);
    if (!rc)
        rc = rlt_deploy_group(out->graph, s->groups, s->balance, &out->grouping, &out->cut, err);
    tell(out->notes);
    if (rc)
        rlt_deploy_unload(out);
    return rc;
}

void rlt_deploy_unload(rlt_deploy_case *c)
{
    rlt_grouping_free(&c->grouping);
    rlt_cluster_free(&c->cluster);
    rlt_opgraph_free(c->graph);
    free(c->notes);
    c->notes = NULL;
    c->graph = NULL;
}
