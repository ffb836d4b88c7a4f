/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies and placements: loaded once, read by all threads. */
#include "workload/experiment/shared.h"

#include <stdlib.h>
#include <string.h>

#include "net/aggregation/tree.h"
#include "net/shapes/shapes.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/words.h"

enum { KEPT_NETS = 256 };

static const char *const of_net[] = {"topology", "link-scale", "dim-scale", "placement", NULL};

void rlt__key_add(uint64_t key[2], const void *data, size_t length)
{
    for (int k = 0; k < 2; k++)
        key[k] = rlt_hash_bytes(data, length, key[k]);
}

void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2])
{
    key[0] = 1;
    key[1] = 2;
    for (uint32_t i = 0; i < texts->n; i++) {
        const rlt_option_text *t = &texts->items[i];
        const char *name = rlt_option_at(groups, t->option, NULL)->name;
        if (names && rlt_is_one_of(name, names) == others)
            continue;
        rlt__key_add(key, name, strlen(name) + 1);
        rlt__key_add(key, t->text, strlen(t->text) + 1);
    }
}

bool rlt_shared_is_of_net(const char *option)
{
    return rlt_is_one_of(option, of_net);
}

int rlt_shared_note(rlt_shared *s, const rlt_inputs *in, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < in->n && !rc && s->note; i++)
        if (strcmp(in->items[i].what, "topology") != 0)
            rc = s->note(s->ctx, in->items[i].what, in->items[i].path, in->items[i].hash, err);
    return rc;
}

static void free_net(rlt_shared_net *net)
{
    if (net->placed)
        rlt_placement_free(&net->placement);
    rlt_topology_free(net->topology);
    if (net->primed)
        rlt_map_free(net->primed);
    free(net->primed);
    free(net);
}

static int load_net(rlt_shared *s, const rlt_settings *sim, rlt_shared_net *net, rlt_error *err)
{
    rlt_inputs in = {0};
    if (!sim->topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "is required: pass --topology T");
    int rc = rlt_setup_topology(sim, &net->topology, err);
    if (rc || (rc = rlt_reduction_prime(net->topology, err)))
        return rc;
    if (sim->topology[0] != '{' && s->note)
        rc = s->note(s->ctx, "topology", sim->topology, rlt_topology_hash(net->topology), err);
    if (rc || !sim->placement)
        return rc;
    if ((rc = rlt_placement_load(sim->placement, net->topology, &net->placement, err)))
        return rc;
    net->placed = true;
    rc = rlt_inputs_add_file(&in, "placement", sim->placement, err);
    return rc ? rc : rlt_shared_note(s, &in, err);
}

rlt_settings *rlt_prepared_sim(const rlt_prepared *p)
{
    return p->kind == RLT_EXPERIMENT_RUN ? &((rlt_run_settings *)p->settings)->sim
                                         : &((rlt_coll_settings *)p->settings)->sim;
}

int rlt_shared_net_of(rlt_shared *s, rlt_prepared *p, rlt_error *err)
{
    rlt_settings *sim = rlt_prepared_sim(p);
    uint64_t key[2];
    rlt_option_key(p->parsed->groups, p->texts, of_net, false, key);
    rlt_shared_net *net = (rlt_shared_net *)rlt_kept_find(&s->nets, key);
    if (!net) {
        rlt_kept *old = s->nets.n >= KEPT_NETS ? rlt_kept_drop(&s->nets) : NULL;
        if (old)
            free_net((rlt_shared_net *)old);
        if (!(net = calloc(1, sizeof *net)))
            return rlt_nomem(err);
        int rc = load_net(s, sim, net, err);
        if (!rc)
            rc = rlt_kept_add(&s->nets, &net->kept, key, "topologies", err);
        if (rc) {
            free_net(net);
            return rc;
        }
    }
    sim->loaded = net->topology;
    sim->placed = net->placed ? &net->placement : NULL;
    p->net = net;
    return 0;
}

void rlt_shared_free(rlt_shared *s)
{
    for (uint32_t i = 0; i < s->nets.n; i++)
        free_net((rlt_shared_net *)s->nets.items[i]);
    free(s->nets.items);
    rlt__shared_works_free(s);
    rlt__shared_files_free(s);
    *s = (rlt_shared){0};
}
