/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine to calibrate: its topology file as text, and the setup built from it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"

enum { MAX_TEXT = 64 << 20, MAX_SYSTEMS = 256 };

static int read_systems(rlt_machine *m, rlt_json list, rlt_error *err)
{
    uint32_t n = rlt_json_count(list);
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list) || n > MAX_SYSTEMS)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of at most %d names of systems",
                             MAX_SYSTEMS);
    m->systems = calloc(n + 1, sizeof *m->systems);
    if (!m->systems)
        return rlt_nomem(err);
    for (rlt_json s = rlt_json_first(list); rlt_json_is(s); s = rlt_json_next(s)) {
        if (!rlt_json_string(s))
            return rlt_json_fail(s, RLT_ESCHEMA, err, "expected the name of a measured system");
        if (!(m->systems[m->n_systems] = strdup(rlt_json_string(s))))
            return rlt_nomem(err);
        m->n_systems++;
    }
    return 0;
}

static int read_calibration(rlt_machine *m, rlt_json root, rlt_error *err)
{
    rlt_json c = rlt_json_get(root, "calibration");
    const char *family = NULL, *site = NULL;
    uint64_t node = 0;
    int rc;
    m->key = rlt_json_is(c) ? "calibration" : "_calibration";
    if (!rlt_json_is(c))
        c = rlt_json_get(root, m->key);
    if (rlt_json_is(c) && !rlt_json_is_object(c))
        return rlt_json_fail(c, RLT_ESCHEMA, err, "expected an object with systems, family, node");
    if ((rc = rlt_json_get_string(c, "family", false, &family, err)) ||
        (rc = rlt_json_get_string(c, "site", false, &site, err)) ||
        (rc = rlt_json_get_u64(c, "node", false, RLT_MAX_ACCELERATORS, &node, err)) ||
        (rc = read_systems(m, rlt_json_get(c, "systems"), err)))
        return rc;
    m->node = (uint32_t)node;
    if ((family && !(m->family = strdup(family))) || (site && !(m->site = strdup(site))))
        return rlt_nomem(err);
    return 0;
}

bool rlt_machine_claims(const rlt_machine *m, const char *system)
{
    for (uint32_t i = 0; i < m->n_systems; i++)
        if (strcmp(m->systems[i], system) == 0)
            return true;
    return false;
}

/* Like rlt_setup_open, but from a text. */
static int set_up(rlt_machine *m, rlt_error *err)
{
    rlt_setup *s = &m->setup;
    const rlt_dirs dirs = rlt_topology_dirs();
    const rlt_import import = {.dirs = dirs.list}; /* a file may name others as its dimensions */
    int rc;
    rlt_setup_free(s);
    if (!(s->model = rlt_net_model_find(m->how->network, err)))
        return RLT_EUSAGE;
    if ((rc = rlt_routing_parse(m->how->routing, &s->routing, err)) ||
        (rc = rlt_topology_read(m->path, m->text, m->length, &import, &s->topology, err)))
        return rc;
    rlt_inputs_add(&s->inputs, "topology", m->path, rlt_topology_hash(s->topology));
    s->endpoint = *rlt_topology_endpoint(s->topology);
    for (uint32_t i = 0; i < m->how->set.n && !rc; i++) {
        char name[64];
        const char *value;
        rc = rlt_split_setting(m->how->set.items[i], name, sizeof name, &value, "--set", err);
        if (!rc && rlt_setup_set(s, name, value, err)) {
            rlt_error_prefix(err, "--set");
            rc = RLT_EUSAGE;
        }
    }
    return rc ? rc
              : rlt_placement_identity(s->topology, rlt_topology_accelerators(s->topology), &s->placement,
                                       err);
}

/* Makes a group of ranks spread evenly over the nodes. It uses the first accelerators of each node. */
static int make_group(rlt_machine *m, rlt_machine_group *g, rlt_error *err)
{
    uint32_t per = g->ranks / g->nodes, *ranks = malloc((g->ranks + 1) * sizeof *ranks);
    int rc;
    if (!ranks)
        return rlt_nomem(err);
    for (uint32_t r = 0; r < g->ranks; r++)
        ranks[r] = g->nodes == 1 ? r : r / per * m->node + r % per;
    rc = rlt_group_create(m->setup.topology, &m->setup.placement, ranks, g->ranks, &g->group, err);
    free(ranks);
    return rc;
}

int rlt_machine_group_of(rlt_machine *m, uint32_t ranks, uint32_t nodes, uint32_t *index, rlt_error *err)
{
    uint32_t room = rlt_topology_accelerators(m->setup.topology);
    rlt_machine_group *g;
    int rc;
    *index = RLT_NONE;
    for (uint32_t i = 0; i < m->n_groups && *index == RLT_NONE; i++)
        if (m->groups[i].ranks == ranks && m->groups[i].nodes == nodes)
            *index = i;
    if (*index != RLT_NONE || ranks > room || ranks == 0 || nodes == 0 || m->n_groups == RLT_MAX_GROUPS ||
        (nodes > 1 && (ranks % nodes || ranks / nodes > m->node || (uint64_t)nodes * m->node > room)))
        return 0;
    g = &m->groups[m->n_groups];
    *g = (rlt_machine_group){.ranks = ranks, .nodes = nodes};
    rc = make_group(m, g, err);
    if (!rc)
        *index = m->n_groups++;
    return rc;
}

int rlt_machine_rebuild(rlt_machine *m, rlt_error *err)
{
    int rc;
    for (uint32_t i = 0; i < m->n_groups; i++)
        rlt_group_free(&m->groups[i].group);
    rc = set_up(m, err);
    if (!rc && m->node == 0)
        m->node = rlt_topology_dim(m->setup.topology, 0).size;
    for (uint32_t i = 0; i < m->n_groups && !rc; i++)
        rc = make_group(m, &m->groups[i], err);
    return rc;
}

int rlt_machine_open(rlt_machine *m, const rlt_settings *how, const char *spec, rlt_error *err)
{
    char path[PATH_MAX];
    rlt_topology *checked = NULL;
    rlt_json_doc *doc = NULL;
    int rc;
    *m = (rlt_machine){.how = how};
    if (!rlt_topology_path(spec, rlt_topology_dirs().list, path, sizeof path)) {
        rc = rlt_find_topology(spec, &checked, err); /* reports the known topologies */
        rlt_topology_free(checked);
        return rc ? rc
                  : rlt_fail(err, RLT_EUSAGE, spec,
                             "expected a topology file in JSON, which can keep constants");
    }
    if ((rc = rlt_read_file(path, MAX_TEXT, &m->text, &m->length, err)))
        return rc;
    m->path = strdup(path);
    if (!m->path)
        rc = rlt_nomem(err);
    if (!rc && !(rc = rlt_json_parse(path, m->text, m->length, &doc, err)))
        rc = read_calibration(m, rlt_json_root(doc), err);
    rlt_json_free(doc);
    if (rc)
        rlt_machine_free(m);
    return rc;
}

void rlt_machine_free(rlt_machine *m)
{
    for (uint32_t i = 0; i < m->n_groups; i++)
        rlt_group_free(&m->groups[i].group);
    for (uint32_t i = 0; i < m->n_systems; i++)
        free(m->systems[i]);
    free(m->systems);
    free(m->family);
    free(m->site);
    free(m->path);
    free(m->text);
    rlt_setup_free(&m->setup);
    *m = (rlt_machine){0};
}
