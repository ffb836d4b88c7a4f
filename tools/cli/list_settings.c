/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet list settings: every table of parameters that are set by name. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/in_network/reactive.h"
#include "net/import/import.h"
#include "net/packet/packet.h"
#include "net/shapes/shapes.h"
#include "net/topology/endpoint.h"
#include "sim/base/column.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "tools/calibrate/select.h"
#include "tools/cli/list.h"
#include "tools/design/design.h"
#include "tools/output/output.h"
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

const rlt_column rlt_setting_columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0},   {"of", "of", NULL, RLT_COL_TEXT, 0, 0},
    {"given", "given", NULL, RLT_COL_TEXT, 0, 0}, {"kind", "kind", NULL, RLT_COL_TEXT, 0, 0},
    {"value", "value", NULL, RLT_COL_TEXT, 0, 0}, {"default", "default", NULL, RLT_COL_TEXT, 0, 0},
    {"range", "range", NULL, RLT_COL_TEXT, 0, 0}, {"unit", "unit", NULL, RLT_COL_TEXT, 0, 0},
    {"help", "help", NULL, RLT_COL_TEXT, 0, 0},
};

/* The owner of parameters, and what a user types before a parameter's name. */
typedef struct owner {
    const char *of, *given;
    const char *prefix; /* prefix of names, with its dot; NULL: none */
} owner;

/* Returns the default as text. A field without a default is zero. */
static const char *default_of(const rlt_param *p, char word[64])
{
    bool number = p->kind == RLT_PARAM_COUNT || p->kind == RLT_PARAM_SIZE || p->kind == RLT_PARAM_RATE ||
                  p->kind == RLT_PARAM_DURATION || p->kind == RLT_PARAM_NUMBER ||
                  p->kind == RLT_PARAM_SHARE || p->kind == RLT_PARAM_PPM;
    const char *first = p->kind == RLT_PARAM_CHOICE ? rlt_param_word(p, 0, word) : NULL;
    if (p->required)
        return "none: needed";
    if (p->usual || p->preset)
        return p->usual ? p->usual : p->preset;
    return first ? first : number && p->min <= 0 ? "0" : "";
}

char *rlt_list_value(const rlt_param *p, char *text, size_t size)
{
    char form[256], range[96], word[64];
    const char *preset = default_of(p, word);
    rlt_param_form(p, form, sizeof form);
    rlt_param_range(p, range, sizeof range);
    snprintf(text, size, "%s%s%s%s%s%s%s", form, p->unit ? " of " : "", p->unit ? p->unit : "",
             *range ? "; " : "", range, *preset ? "; default " : "", preset);
    return text;
}

static void put_row(rlt_table *t, const owner *o, const rlt_param *p)
{
    char name[128], given[256], form[256], range[96], word[64], more[640];
    snprintf(name, sizeof name, "%s%s", o->prefix ? o->prefix : "", p->name);
    if (t->format == RLT_FORMAT_TABLE) {
        rlt_list_text(t->out, name, p->help, rlt_list_value(p, more, sizeof more));
        return;
    }
    snprintf(given, sizeof given, "%s%s=VALUE", o->given, name);
    rlt_param_form(p, form, sizeof form);
    rlt_value v[] = {rlt_text(name),
                     rlt_text(o->of),
                     rlt_text(given),
                     rlt_text(rlt_param_kind_name(p->kind)),
                     rlt_text(form),
                     rlt_text(default_of(p, word)),
                     rlt_text(rlt_param_range(p, range, sizeof range)),
                     rlt_text(p->unit ? p->unit : ""),
                     rlt_text(p->help ? p->help : "")};
    rlt_table_row(t, v);
}

static void put_owner(rlt_table *t, const owner *o)
{
    if (t->format == RLT_FORMAT_TABLE)
        rlt_heading(t->out, "%s: %sNAME=VALUE", o->of, o->given);
}

static void put_table(rlt_table *t, owner o, const rlt_param *table)
{
    if (!table || !table->name)
        return;
    put_owner(t, &o);
    for (const rlt_param *p = table; p->name; p++)
        put_row(t, &o, p);
}

/* Lists parameters that several algorithms share, then those of each algorithm. */
static void put_algorithms(rlt_table *t)
{
    const rlt_algorithm *a;
    put_table(t, (owner){"algorithms", "--set ", NULL}, rlt_coll_parameters);
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++) {
        char prefix[80];
        bool first = true;
        snprintf(prefix, sizeof prefix, "%s.", a->name);
        owner o = {a->name, "--set ", prefix};
        for (const rlt_param *p = a->parameters; p && p->name; p++) {
            if (rlt_params_find(rlt_coll_parameters, p->name))
                continue;
            if (first)
                put_owner(t, &o);
            first = false;
            put_row(t, &o, p);
        }
    }
}

static void put_protocols(rlt_table *t)
{
    const rlt_reactive *r;
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++) {
        char prefix[80];
        snprintf(prefix, sizeof prefix, "%s.", rlt_reactive_name(r));
        put_table(t, (owner){rlt_reactive_name(r), "--set ", prefix}, rlt_reactive_settings(r));
    }
}

static void put_noise(rlt_table *t)
{
    const rlt_noise_info *kind;
    for (uint32_t i = 0; (kind = rlt_noise_kind_at(i)); i++) {
        char of[64], given[64];
        snprintf(of, sizeof of, "noise %s", kind->name);
        snprintf(given, sizeof given, "--noise %s:", kind->name);
        put_table(t, (owner){of, given, NULL}, kind->parameters);
    }
}

static void put_shapes(rlt_table *t)
{
    const rlt_shape_info *s;
    for (uint32_t i = 0; (s = rlt_shape_list(i)); i++) {
        char of[80], given[120];
        snprintf(of, sizeof of, "shape %s", s->name);
        snprintf(given, sizeof given, "--topology %s:SIZE@RATE,LATENCY,", s->name);
        put_table(t, (owner){of, given, NULL}, s->parameters);
    }
}

static void put_models(rlt_table *t)
{
    const rlt_model_family *f;
    for (uint32_t i = 0; (f = rlt_model_family_at(i)); i++) {
        char given[80];
        snprintf(given, sizeof given, "--model %s:", f->name);
        put_table(t, (owner){f->name, given, NULL}, f->parameters);
    }
}

void rlt_list_settings(rlt_table *t)
{
    put_table(t, (owner){"endpoints", "--set ", NULL}, rlt_endpoint_parameters());
    put_table(t, (owner){"a protocol of the endpoint", "--set ", "PROTOCOL."}, rlt_protocol_parameters());
    put_table(t, (owner){"packet network", "--network packet --set ", NULL}, rlt_packet_parameters());
    put_algorithms(t);
    put_protocols(t);
    put_table(t, (owner){"switches", "--set ", NULL}, rlt_switch_parameters());
    put_noise(t);
    put_table(t, (owner){"failures", "--failures ", NULL}, rlt_failures_parameters());
    put_table(t, (owner){"background traffic", "--background FROM>TO:", NULL}, rlt_background_parameters());
    put_table(t, (owner){"DASO", "--strategy daso:", NULL}, rlt_daso_parameters());
    put_table(t, (owner){"DASO", "--strategy daso:", NULL}, rlt_daso_case_parameters());
    put_table(t, (owner){"LogGOPS", "--timing loggops --set ", NULL}, rlt_loggops_parameters());
    put_table(t, (owner){"trainings", "--train ", NULL}, rlt_training_parameters());
    put_models(t);
    put_table(t, (owner){"mapping", "--map ", NULL}, rlt_mapping_parameters());
    put_table(t, (owner){"workloads of a design", "--workload SPEC@", NULL},
              rlt_design_workload_parameters());
    put_table(t, (owner){"measurements", "--where ", NULL}, rlt_select_parameters());
    put_table(t, (owner){"tables of layers", "column ", NULL}, rlt_model_layer_parameters());
    put_table(t, (owner){"imports", "topo import --set ", NULL}, rlt_import_parameters());
    put_shapes(t);
}
