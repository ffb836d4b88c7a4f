/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/help/settings.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/in_network/reactive.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/packet/packet.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "tools/calibrate/select.h"
#include "tools/design/design.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/mapping.h"
#include "workload/models/model.h"
#include "workload/replay/failures.h"
#include "workload/replay/noise.h"
#include "workload/setup/settings.h"
#include "workload/timing/loggops.h"
#include "workload/training/training.h"

static void visit_table(const rlt_setting_visitor *v, rlt_setting_owner o, const rlt_param *table)
{
    if (!table || !table->name)
        return;
    v->owner(v->self, &o);
    for (const rlt_param *p = table; p->name; p++)
        v->row(v->self, &o, p);
}

/* Lists the parameters that several algorithms share, then those of each alone. */
static void visit_algorithms(const rlt_setting_visitor *v)
{
    const rlt_algorithm *a;
    visit_table(v, (rlt_setting_owner){"algorithms", "--set ", NULL}, rlt_coll_parameters);
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++) {
        char prefix[80];
        bool first = true;
        snprintf(prefix, sizeof prefix, "%s.", a->name);
        rlt_setting_owner o = {a->name, "--set ", prefix};
        for (const rlt_param *p = a->parameters; p && p->name; p++) {
            if (rlt_params_find(rlt_coll_parameters, p->name))
                continue;
            if (first)
                v->owner(v->self, &o);
            first = false;
            v->row(v->self, &o, p);
        }
    }
}

static void visit_protocols(const rlt_setting_visitor *v)
{
    const rlt_reactive *r;
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++) {
        char prefix[80];
        snprintf(prefix, sizeof prefix, "%s.", rlt_reactive_name(r));
        visit_table(v, (rlt_setting_owner){rlt_reactive_name(r), "--set ", prefix}, rlt_reactive_settings(r));
    }
}

static void visit_noise(const rlt_setting_visitor *v)
{
    const rlt_noise_info *kind;
    for (uint32_t i = 0; (kind = rlt_noise_kind_at(i)); i++) {
        char of[64], given[64];
        snprintf(of, sizeof of, "noise %s", kind->name);
        snprintf(given, sizeof given, "--noise %s:", kind->name);
        visit_table(v, (rlt_setting_owner){of, given, NULL}, kind->parameters);
    }
}

static void visit_shapes(const rlt_setting_visitor *v)
{
    const rlt_shape_info *s;
    for (uint32_t i = 0; (s = rlt_shape_list(i)); i++) {
        char of[80], given[120];
        snprintf(of, sizeof of, "shape %s", s->name);
        snprintf(given, sizeof given, "--topology %s:SIZE@RATE,LATENCY,", s->name);
        visit_table(v, (rlt_setting_owner){of, given, NULL}, s->parameters);
    }
    visit_table(v, (rlt_setting_owner){"ports of a dimension", "--topology SHAPE:SIZE@RATE,LATENCY,", NULL},
                rlt_port_parameters());
}

static void visit_models(const rlt_setting_visitor *v)
{
    const rlt_model_family *f;
    for (uint32_t i = 0; (f = rlt_model_family_at(i)); i++) {
        char given[80];
        snprintf(given, sizeof given, "--model %s:", f->name);
        visit_table(v, (rlt_setting_owner){f->name, given, NULL}, f->parameters);
    }
}

void rlt_each_setting(const rlt_setting_visitor *v)
{
    visit_table(v, (rlt_setting_owner){"endpoints", "--set ", NULL}, rlt_endpoint_parameters());
    visit_table(v, (rlt_setting_owner){"a protocol of the endpoint", "--set ", "PROTOCOL."},
                rlt_protocol_parameters());
    visit_table(v, (rlt_setting_owner){"packet network", "--network packet --set ", NULL},
                rlt_packet_parameters());
    visit_algorithms(v);
    visit_protocols(v);
    visit_table(v, (rlt_setting_owner){"switches", "--set ", NULL}, rlt_switch_parameters());
    visit_noise(v);
    visit_table(v, (rlt_setting_owner){"failures", "--failures ", NULL}, rlt_failures_parameters());
    visit_table(v, (rlt_setting_owner){"background traffic", "--background FROM>TO:", NULL},
                rlt_background_parameters());
    visit_table(v, (rlt_setting_owner){"DASO", "--strategy daso:", NULL}, rlt_daso_parameters());
    visit_table(v, (rlt_setting_owner){"DASO", "--strategy daso:", NULL}, rlt_daso_case_parameters());
    visit_table(v, (rlt_setting_owner){"LogGOPS", "--timing loggops --set ", NULL}, rlt_loggops_parameters());
    visit_table(v, (rlt_setting_owner){"trainings", "--train ", NULL}, rlt_training_parameters());
    visit_models(v);
    visit_table(v, (rlt_setting_owner){"mapping", "--map ", NULL}, rlt_mapping_parameters());
    visit_table(v, (rlt_setting_owner){"workloads of a design", "--workload SPEC@", NULL},
                rlt_design_workload_parameters());
    visit_table(v, (rlt_setting_owner){"measurements", "--where ", NULL}, rlt_select_parameters());
    visit_table(v, (rlt_setting_owner){"tables of layers", "column ", NULL}, rlt_model_layer_parameters());
    visit_table(v, (rlt_setting_owner){"imports", "topo import --set ", NULL}, rlt_import_parameters());
    visit_shapes(v);
}
