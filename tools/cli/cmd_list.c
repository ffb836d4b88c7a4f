/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet list: built-in names. */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/cli/list.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/program/reader.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/training/training.h"

enum { NAME_WIDTH = 20, ORIGIN_TEXT = 1024 };

static const rlt_column columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0, "name that other commands accept"},
    {"summary", "", NULL, RLT_COL_TEXT, 0, 0, "what it is, in a line"},
    {"parameters", "parameters", NULL, RLT_COL_TEXT, 0, 0, "settings that it takes"},
};
static const rlt_column topology_columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0, "name or path of the topology"},
    {"accelerators", "accelerators", NULL, RLT_COL_COUNT, 0, 0, "accelerators of the topology"},
    {"dims", "dimensions", NULL, RLT_COL_TEXT, 0, 0, "dimensions, innermost first"},
};
static const rlt_column accelerator_columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"also", "also", NULL, RLT_COL_TEXT, 0, 0, "other names of the accelerator"},
    {"memory_bytes", "memory", NULL, RLT_COL_SIZE, 0, 0, "memory of the accelerator"},
    {"bandwidth_Bps", "bandwidth", NULL, RLT_COL_RATE, 0, 0, "bandwidth of the memory"},
    {"peak_TFLOPS", "TFLOPS by precision", NULL, RLT_COL_TEXT, 0, 0,
     "peak of each precision, in 10^12 operations a second"},
    {"stacks", "stacks", NULL, RLT_COL_COUNT, 0, 0, "software stacks known for it"},
    {"evidence", "measured runs behind it, 80 % interval of others", NULL, RLT_COL_TEXT, 0, 0,
     "measured runs behind the constants by stack and precision, the 80 % interval of other runs; or that "
     "they are derived, assumed"},
};

void rlt_list_text(FILE *out, const char *name, const char *summary, const char *parameters)
{
    char text[1200];
    int column = fprintf(out, "%-*s ", NAME_WIDTH - 1, name);
    rlt_wrap(out, summary ? summary : "", column, NAME_WIDTH);
    if (parameters && *parameters) {
        snprintf(text, sizeof text, "[%s]", parameters);
        fprintf(out, "%*s", NAME_WIDTH, "");
        rlt_wrap(out, text, NAME_WIDTH, NAME_WIDTH);
    }
}

void rlt_list_put(rlt_table *t, const char *name, const char *summary, const char *parameters)
{
    if (t->format == RLT_FORMAT_TABLE) {
        rlt_list_text(t->out, name, summary, parameters);
        return;
    }
    rlt_value v[] = {rlt_text(name), rlt_text(summary ? summary : ""),
                     rlt_text(parameters ? parameters : "")};
    rlt_table_row(t, v);
}

/* Returns the summary, followed by the plug-in's name if a plug-in added the entry. */
static const char *with_origin(const rlt_registry *r, uint32_t i, const char *summary, char text[ORIGIN_TEXT])
{
    const char *origin = rlt_registry_origin(r, i);
    if (!origin)
        return summary;
    snprintf(text, ORIGIN_TEXT, "%s (plug-in %s)", summary, origin);
    return text;
}

static void list_collectives(rlt_table *t)
{
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        char by[512] = "";
        const rlt_algorithm *a;
        for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++) {
            size_t used = strlen(by);
            if (a->kinds >> k & 1)
                snprintf(by + used, sizeof by - used, "%s%s", used ? ", " : "by ", a->name);
        }
        rlt_list_put(t, rlt_coll_name((rlt_coll_kind)k), by, NULL);
    }
}

static void list_protocols(rlt_table *t)
{
    const rlt_reactive *r;
    char text[1024];
    for (uint32_t i = 0; (r = rlt_reactive_at(i)); i++) {
        rlt_params_describe(rlt_reactive_settings(r), text, sizeof text);
        rlt_list_put(t, rlt_reactive_name(r), rlt_reactive_summary(r), text);
    }
}

static void list_algorithms(rlt_table *t)
{
    const rlt_algorithm *a;
    char text[ORIGIN_TEXT], settings[1024];
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++)
        rlt_list_put(t, a->name, with_origin(rlt_algorithms(), i, a->summary, text),
                     rlt_params_describe(a->parameters, settings, sizeof settings));
    list_protocols(t);
}

static void list_networks(rlt_table *t)
{
    const rlt_net_model *m;
    char text[64];
    for (uint32_t i = 0; (m = rlt_net_model_at(i)); i++)
        rlt_list_put(t, m->name, m->summary, NULL);
    for (const rlt_param *p = rlt_packet_parameters(); p->name; p++) {
        snprintf(text, sizeof text, "packet: --set %s=", p->name);
        rlt_list_put(t, text, p->help, NULL);
    }
}

static void list_shapes(rlt_table *t)
{
    const rlt_shape_info *s;
    char text[1024];
    for (uint32_t i = 0; (s = rlt_shape_list(i)); i++)
        rlt_list_put(t, s->name, s->summary, rlt_params_describe(s->parameters, text, sizeof text));
    rlt_list_put(t, "of every shape", "how the accelerators of a node reach the dimension",
                 rlt_params_describe(rlt_port_parameters(), text, sizeof text));
}

static void list_readers(rlt_table *t)
{
    const rlt_reader *r;
    char text[ORIGIN_TEXT];
    for (uint32_t i = 0; (r = rlt_reader_at(i)); i++)
        rlt_list_put(t, r->name, with_origin(rlt_readers(), i, r->summary, text), NULL);
    const rlt_topology_format *f;
    for (uint32_t i = 0; (f = rlt_topology_format_at(i)); i++)
        rlt_list_put(t, f->name, f->summary, rlt_params_describe(f->parameters, text, sizeof text));
}

/* Formats presets, such as "layers=12, heads=hidden/64". */
static const char *presets_of(const rlt_param *table, char text[ORIGIN_TEXT])
{
    text[0] = '\0';
    for (const rlt_param *p = table; p && p->name; p++) {
        char one[160];
        const char *value = p->usual ? p->usual : p->preset ? p->preset : "";
        snprintf(one, sizeof one, "%s=%s", p->name, value);
        rlt_list_name(text, ORIGIN_TEXT, one);
    }
    return text;
}

/* Lists families with their settings, then models with fixed sizes. */
static void list_models(rlt_table *t)
{
    const rlt_model_family *f;
    const rlt_model_preset *p;
    rlt_model m;
    char text[ORIGIN_TEXT], presets[ORIGIN_TEXT];
    for (uint32_t i = 0; (f = rlt_model_family_at(i)); i++)
        rlt_list_put(t, f->name, with_origin(rlt_model_families(), i, f->summary, text),
                     presets_of(f->parameters, presets));
    for (uint32_t i = 0; (p = rlt_model_preset_at(i)); i++) {
        char summary[512], settings[512];
        if (rlt_model_open(p->name, &m, NULL))
            continue;
        rlt_model_totals sum = rlt_model_sum(&m);
        snprintf(summary, sizeof summary, "%llu parameters, %.4g TFLOP a %s forward; %s",
                 (unsigned long long)sum.parameters, sum.forward_flop / 1e12, m.sample, p->source);
        snprintf(settings, sizeof settings, "%s:%s", p->family, p->settings);
        rlt_list_put(t, p->name, summary, settings);
        rlt_model_free(&m);
    }
}

/* Lists the classes of networks between nodes with their costs. */
static void list_interconnects(rlt_table *t)
{
    const char *name;
    for (uint32_t i = 0; (name = rlt_internode_name(i)); i++) {
        char settings[512] = "", value[64], one[128];
        rlt_endpoint e = rlt_endpoint_default();
        e.internode = rlt_internode_class(i);
        for (const rlt_param *p = rlt_endpoint_parameters(); p->name; p++) {
            if (strncmp(p->name, "network_", 8) != 0)
                continue;
            snprintf(one, sizeof one, "%s=%s", p->name + 8, rlt_param_write(p, &e, value, sizeof value));
            rlt_list_name(settings, sizeof settings, one);
        }
        rlt_list_put(t, name, rlt_internode_source(i), settings);
    }
}

static void list_training(rlt_table *t)
{
    char value[256];
    for (const rlt_param *p = rlt_training_parameters(); p->name; p++)
        rlt_list_put(t, p->name, p->help, rlt_list_value(p, value, sizeof value));
}

static void list_strategies(rlt_table *t)
{
    const rlt_training_strategy *s;
    char text[ORIGIN_TEXT];
    for (uint32_t i = 0; (s = rlt_training_strategy_at(i)); i++)
        rlt_list_put(t, s->name, with_origin(rlt_training_strategies(), i, s->summary, text), s->settings);
    rlt_list_put(
        t, "daso",
        "a whole training: nodes synchronised now and then, without waiting, and Horovod (arXiv 2104.05588)",
        "nodes, batch_time, calibration=juwels, ...: an unknown one lists all");
}

static const char *const topology_endings[] = {".json", ".graphml", ".yml", ".yaml", NULL};
static const char *const accelerator_endings[] = {".json", NULL};

static void put_topology(rlt_table *table, const char *name)
{
    char dims[256] = "";
    rlt_topology *t = NULL;
    rlt_error why = {0};
    if (rlt_find_topology(name, &t, &why)) {
        rlt_warn("%s: %s", why.where, why.what);
        return;
    }
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        size_t used = strlen(dims);
        rlt_dim dim = rlt_topology_dim(t, d);
        snprintf(dims + used, sizeof dims - used, "%s%s %u", d ? " x " : "", dim.shape, dim.size);
    }
    rlt_value v[] = {rlt_text(name), rlt_count(rlt_topology_accelerators(t)), rlt_text(dims)};
    rlt_table_row(table, v);
    rlt_topology_free(t);
}

/* Lists the runs behind an accelerator's constants: "megatron-bridge fp8 9 runs -12..+14 %". */
static void describe_evidence(const rlt_accelerator *a, char *text, size_t size)
{
    char one[128];
    *text = '\0';
    for (uint32_t i = 0; i < a->n_evidence; i++) {
        const rlt_evidence *e = &a->evidence[i];
        if (!e->rows)
            continue;
        snprintf(one, sizeof one, "%s %s%s %u run%s %+.0f..%+.0f %%", e->stack, e->precision,
                 e->kind == RLT_KIND_EXPERTS ? " experts" : "", e->rows, e->rows == 1 ? "" : "s",
                 100 * (e->spread.low - 1), 100 * (e->spread.high - 1));
        rlt_list_name(text, size, one);
    }
    if (!*text)
        snprintf(text, size, "%s%s", a->n_evidence ? "derived from " : "assumed",
                 a->n_evidence ? a->generation : "");
}

static void put_accelerator(rlt_table *table, const char *name)
{
    char peaks[256] = "", evidence[ORIGIN_TEXT];
    rlt_accelerator a;
    rlt_error why = {0};
    if (rlt_find_accelerator(name, &a, &why)) {
        rlt_warn("%s: %s", why.where, why.what);
        return;
    }
    for (uint32_t i = 0; i < a.n_peaks; i++) {
        char one[64];
        snprintf(one, sizeof one, "%s %g", a.peaks[i].precision, (double)a.peaks[i].Flops / 1e12);
        rlt_list_name(peaks, sizeof peaks, one);
    }
    describe_evidence(&a, evidence, sizeof evidence);
    rlt_value v[] = {rlt_text(name),          rlt_text(a.also), rlt_count(a.memory_bytes),
                     rlt_count(a.memory_Bps), rlt_text(peaks),  rlt_count(a.n_stacks),
                     rlt_text(evidence)};
    rlt_table_row(table, v);
}

/* Lists everything that files in these directories define, in the order of names. */
static int list_files(rlt_table *table, const char *dirs, const char *const *endings,
                      void (*put_one)(rlt_table *, const char *), rlt_error *err)
{
    rlt_found found;
    int rc = rlt_find_all(dirs, endings, &found, err);
    for (uint32_t i = 0; i < found.n && !rc; i++)
        put_one(table, found.names[i]);
    rlt_find_free(&found);
    return rc;
}

static int list_topologies(rlt_table *table, rlt_error *err)
{
    return list_files(table, rlt_topology_dirs().list, topology_endings, put_topology, err);
}

static int list_accelerators(rlt_table *table, rlt_error *err)
{
    return list_files(table, rlt_accelerator_dirs().list, accelerator_endings, put_accelerator, err);
}

static const struct {
    const char *name;
    void (*list)(rlt_table *t);                 /* lists names, summaries and settings */
    int (*files)(rlt_table *t, rlt_error *err); /* lists what files define */
    /* Lists what further operands name. It is never listed without being named. */
    int (*named)(rlt_table *t, char *const *names, int n, rlt_error *err);
    const rlt_column *columns;
    uint32_t n_columns;
} sections[] = {
    {"topologies", NULL, list_topologies, NULL, topology_columns, 3},
    {"accelerators", NULL, list_accelerators, NULL, accelerator_columns, 7},
    {"traces", NULL, rlt_list_traces, NULL, columns, 3},
    {"studies", NULL, rlt_list_studies, NULL, columns, 3},
    {"stacks", NULL, rlt_list_stacks, NULL, columns, 3},
    {"dispatchers", NULL, rlt_list_dispatchers, NULL, columns, 3},
    {"collectives", list_collectives, NULL, NULL, columns, 3},
    {"algorithms", list_algorithms, NULL, NULL, columns, 3},
    {"networks", list_networks, NULL, NULL, columns, 3},
    {"shapes", list_shapes, NULL, NULL, columns, 3},
    {"interconnects", list_interconnects, NULL, NULL, columns, 3},
    {"readers", list_readers, NULL, NULL, columns, 3},
    {"models", list_models, NULL, NULL, columns, 3},
    {"training", list_training, NULL, NULL, columns, 3},
    {"strategies", list_strategies, NULL, NULL, columns, 3},
    {"folders", NULL, rlt_list_folders, NULL, rlt_folder_columns, RLT_FOLDER_COLUMNS},
    {"settings", rlt_list_settings, NULL, NULL, rlt_setting_columns, RLT_SETTING_COLUMNS},
    {"options", NULL, NULL, rlt_list_options, rlt_option_columns, RLT_OPTION_COLUMNS},
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

static const char *section_word(uint32_t i)
{
    return i < N_SECTIONS ? sections[i].name : NULL;
}

static int put_section(int i, const rlt_parsed *args, rlt_format format, FILE *out, rlt_jw *json,
                       rlt_error *err)
{
    rlt_table table;
    int rc = 0, end;
    if ((sections[i].files && sections[i].columns != columns) || format != RLT_FORMAT_TABLE)
        rlt_table_begin(&table, format, sections[i].columns, sections[i].n_columns, out, json);
    else
        table = (rlt_table){.format = format, .out = out};
    if (sections[i].files)
        rc = sections[i].files(&table, err);
    else if (sections[i].named)
        rc = sections[i].named(&table, args->operands + 1, args->n_operands - 1, err);
    else
        sections[i].list(&table);
    end = rlt_table_end(&table, err);
    return rc ? rc : end;
}

static bool is_asked(int i, int only)
{
    return only < 0 ? !sections[i].named : only == i;
}

static int list_json(const rlt_parsed *args, int only, const char *path, rlt_error *err)
{
    rlt_jw w;
    int rc = 0;
    rlt_document_begin(&w, "list", args, NULL);
    for (int i = 0; i < N_SECTIONS && !rc; i++)
        if (is_asked(i, only)) {
            rlt_jw_array(&w, sections[i].name);
            rc = put_section(i, args, RLT_FORMAT_JSON, NULL, &w, err);
            rlt_jw_end_array(&w);
        }
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int list_text(const rlt_parsed *args, int only, rlt_format format, const char *path, rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    for (int i = 0; i < N_SECTIONS && !rc; i++)
        if (is_asked(i, only)) {
            if (only < 0)
                rlt_heading(f.stream, "%s%s", i ? "\n" : "", sections[i].name);
            rc = put_section(i, args, format, f.stream, NULL, err);
        }
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int find_section(const char *name, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    char all[512] = "";
    for (int i = 0; i < N_SECTIONS; i++) {
        if (strcmp(name, sections[i].name) == 0)
            return i;
        rlt_nearest_try(&near, sections[i].name);
        rlt_list_name(all, sizeof all, sections[i].name);
    }
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "nothing of that kind; did you mean '%s'?", near.best);
    return rlt_fail(err, RLT_EUSAGE, name, "expected one of %s", all);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const rlt_report_settings *s = settings;
    rlt_format format = rlt_format_of(s->format, s->output);
    int only = -1;
    if (args->n_operands && (only = find_section(args->operands[0], err)) < 0)
        return only;
    if (args->n_operands > 1 && !sections[only].named)
        return rlt_fail(err, RLT_EUSAGE, args->operands[1], "only 'options' takes a further operand");
    if (format == RLT_FORMAT_CSV && only < 0)
        return rlt_fail(err, RLT_EUSAGE, "--format",
                        "csv needs one of the lists: ringlet list algorithms -f csv");
    return format == RLT_FORMAT_JSON ? list_json(args, only, s->output, err)
                                     : list_text(args, only, format, s->output, err);
}

static const rlt_option_group options[] = {{"Output", rlt_format_options, 0}, {0}};

static const rlt_columns name_table = {"Names: `ringlet list`, such as `algorithms`", columns, 3};
static const rlt_columns topology_table = {"Topologies: `ringlet list topologies`", topology_columns, 3};
static const rlt_columns accelerator_table = {"Accelerators: `ringlet list accelerators`",
                                              accelerator_columns, 6};
static const rlt_columns folder_table = {"Folders: `ringlet list folders`", rlt_folder_columns,
                                         RLT_FOLDER_COLUMNS};
static const rlt_columns setting_table = {"Settings: `ringlet list settings`", rlt_setting_columns,
                                          RLT_SETTING_COLUMNS};
static const rlt_columns option_table = {"Options: `ringlet list options`", rlt_option_columns,
                                         RLT_OPTION_COLUMNS};
static const rlt_columns *const tables[] = {
    &name_table, &topology_table, &accelerator_table, &folder_table, &setting_table, &option_table, NULL};

const rlt_command rlt_cmd_list = {
    .name = "list",
    .summary = "built-in topologies, accelerators, algorithms, models, readers",
    .operands = "[WHAT [COMMAND]]",
    .operand_at = section_word,
    .min_operands = 0,
    .max_operands = 3,
    .description =
        "Lists names that other commands accept. WHAT is topologies, accelerators, traces, studies, stacks, "
        "dispatchers, collectives, algorithms, networks, shapes, interconnects (classes of networks between "
        "nodes), readers, models, training (its settings), strategies, folders (where the first six are "
        "looked for, in order), settings (all that are set by name, with owner, default and range) or "
        "options (of all commands, or of one: list options topo route). Without WHAT all but options are "
        "listed.",
    .example = "ringlet list algorithms",
    .options = options,
    .settings_size = sizeof(rlt_report_settings),
    .run = run,
    .tables = tables,
};
