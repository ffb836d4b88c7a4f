/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of `ringlet design`, and how they are loaded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/file.h"
#include "tools/design/design.h"
#include "tools/output/report_options.h"
#include "workload/design/design.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/training/training.h"

#define AT(field) .offset = offsetof(rlt_design_settings, field)
const rlt_option rlt_design_work_options[] = {
    {"workload", 'w', RLT_PARAM_LIST, "SPEC[@LIST]",
     "Workload: a file of layers (ASTRA-sim 1.0's or SimAI's text, or JSON), a trace (a path, or a name "
     "that 'ringlet list traces' shows), or a model that 'ringlet list models' shows. A trace counts as "
     "rank 0's device work and collectives, one after another. Settings follow @: tp=16 (ranks of a model "
     "group), weight=2 (or only the number) among several workloads. A model also takes accelerator=NAME, "
     "microbatch=4, precision=bf16, ... ('ringlet list training'). May be repeated: the network is "
     "designed for the weighted mean.",
     AT(workload), .required = true},
    {"tp", 0, RLT_PARAM_COUNT, "N", "Ranks of a model group, for workloads that do not say.", AT(tp),
     .preset = "1", .min = 1, .max = RLT_MAX_RANKS},
    {"accelerator", 0, RLT_PARAM_TEXT, "NAME", "Accelerator for models: a file or a name.", AT(accelerator),
     .preset = "a100-80gb"},
    {"any-memory", 0, RLT_PARAM_FLAG, NULL,
     "Continue if a model does not fit into the memory of its accelerators.", AT(any_memory)},
    {"loop", 0, RLT_PARAM_WORD, "LOOP",
     "no-overlap: everything in sequence. overlap: in the backward pass, input gradients with their "
     "collectives run beside weight gradients with theirs. recompute: the forward pass, with its "
     "collectives, runs twice. overlap-recompute: both.",
     AT(loop), .preset = "no-overlap", .words = "no-overlap|overlap|recompute|overlap-recompute"},
    {"forward-compute", 0, RLT_PARAM_NUMBER, "X",
     "How often forward compute counts (default: 2 if the loop recomputes it, else 1). The published "
     "optimiser always counts 1.",
     AT(forward_compute)},
    {"shared", 0, RLT_PARAM_WORD, "HOW",
     "Bandwidth of a group that covers part of a ring or fully connected dimension. links: the links between "
     "its members; ideal: all of the bandwidth, as in the published optimisers.",
     AT(shared), .preset = "links", .words = "links|ideal"},
    {"compute-scale", 0, RLT_PARAM_NUMBER, "X", "Factor on the workload's compute time.", AT(compute_scale),
     .preset = "1"},
    {0}};

const rlt_option rlt_design_goal_options[] = {
    {"objective", 0, RLT_PARAM_WORD, "WHAT",
     "Minimise time, time x cost (speed per dollar), or cost with an iteration of at most --deadline.",
     AT(objective), .preset = "perf", .words = "perf|perf-per-cost|cost"},
    {"deadline", 0, RLT_PARAM_DURATION, "TIME", "Longest iteration allowed, for --objective cost.",
     AT(deadline_ps)},
    {"total", 0, RLT_PARAM_TEXT, "RATE",
     "Bandwidth of an accelerator, the sum over all dimensions. 'ringlet design bandwidth' takes several: "
     "100GB/s,200GB/s, or ranges LOW:HIGH:xN and LOW:HIGH:+STEP.",
     AT(totals)},
    {"constraint", 0, RLT_PARAM_LIST, "TEXT",
     "Limit on the split: sums on both sides of <=, >= or =. Terms are b1 (the innermost dimension), b2, "
     "..., levels (pod, node, package, chiplet: their dimensions), total and rates; or cost and dollars. "
     "Examples: 'b1 >= 2*b2', 'b3 + b4 = 200GB/s', 'pod <= 100GB/s', 'cost <= 1e6'. May be repeated.",
     AT(constraint)},
    {"nic", 0, RLT_PARAM_LIST, "[WHERE=]RATES",
     "Speeds that are for sale: 100Gbps,200Gbps,400Gbps. Each dimension at the pod takes one of them; WHERE "
     "names another level (node=450GB/s,900GB/s) or a dimension (b1=...). If all dimensions have a list, "
     "--total is the most they may have together. The report has the best split of any speeds, too. May be "
     "repeated.",
     AT(nic)},
    {0}};

const rlt_option rlt_design_cost_options[] = {
    {"cost", 0, RLT_PARAM_TEXT, "PRICES",
     "Prices. libra: tables of LIBRA, a link priced for one direction; sc22: the same, for both; 2021: an "
     "older table; clos: libra with switches of --radix ports. Or a JSON file of prices.",
     AT(cost), .preset = "libra"},
    {"radix", 0, RLT_PARAM_COUNT, "PORTS",
     "Ports of a switch: switched dimensions are folded Clos networks with as many tiers as needed (default: "
     "one switch of any size; for clos 64).",
     AT(radix), .min = 4, .max = 1 << 16},
    {"rail", 0, RLT_PARAM_FLAG, NULL,
     "With a radix: a switched dimension joins only accelerators at the same position further in (a rail), "
     "not all of them.",
     AT(rail)},
    {"npu-cost", 0, RLT_PARAM_NUMBER, "DOLLARS", "Price of an accelerator besides the network.",
     AT(npu_cost)},
    {"tie-break", 0, RLT_PARAM_NUMBER, "DOLLARS",
     "Added to each price, times the number of the dimension, so that equal prices differ (LIBRA's files: "
     "1e-5).",
     AT(tie_break)},
    {"unit", 0, RLT_PARAM_WORD, "UNIT",
     "Unit of prices and of bandwidths shown: GB is 1e9 bytes, GiB 2^30 (ASTRA-sim 1.0 calls it GB).",
     AT(unit), .preset = "GB/s", .words = "GB/s|GiB/s"},
    {"levels", 0, RLT_PARAM_TEXT, "LIST",
     "Level of each dimension, for its prices: chiplet, package, node or pod, innermost first. Default: the "
     "outermost is the pod, then inwards node, package, chiplet; with two dimensions package and pod.",
     AT(levels)},
    {"in-network", 0, RLT_PARAM_TEXT, "LIST",
     "Numbers of the switched dimensions whose switches aggregate: an all-reduce then sends s there instead "
     "of 2 s (n-1)/n.",
     AT(in_network)},
    {0}};

const rlt_option rlt_design_sim_options[] = {
    {"no-simulation", 0, RLT_PARAM_FLAG, NULL, "Show only the closed form.", AT(no_simulation)},
    {"chunks", 0, RLT_PARAM_COUNT, "N",
     "Chunks of a collective, which follow each other (default: 64, fewer if they would be below 256 KiB).",
     AT(chunks), .min = 1, .max = 4096},
    {"all-switches", 0, RLT_PARAM_FLAG, NULL, "Simulate every dimension as a switch.", AT(all_switches)},
    {"endpoint-delay", 0, RLT_PARAM_DURATION, "TIME", "Delay of each message at its sender.",
     AT(endpoint_ps)},
    {0}};

const rlt_option rlt_design_report_options[] = {RLT_FORMAT_OPTION(AT(format)),
                                                {"output", 'o', RLT_PARAM_TEXT, "FILE",
                                                 "Write the report to this file (default: standard output).",
                                                 AT(output), .unrecorded = true, .writes = true},
                                                RLT_QUIET_OPTION(AT(quiet)),
                                                {0}};
#undef AT

/* ---- prices ---- */

static int open_prices(rlt_design_setup *u, const rlt_design_settings *s, rlt_error *err)
{
    const rlt_design_prices *p;
    bool clos = strcmp(s->cost, "clos") == 0;
    struct stat st;
    u->cost = (rlt_design_cost){.prices = &u->prices,
                                .unit_Bps = strcmp(s->unit, "GB/s") == 0 ? 1e9 : 1073741824.,
                                .npu = s->npu_cost,
                                .tie_break = s->tie_break,
                                .radix = s->radix ? (uint32_t)s->radix
                                         : clos   ? 64
                                                  : 0,
                                .rail = s->rail};
    if (s->rail && !u->cost.radix)
        return rlt_fail(err, RLT_EUSAGE, "--rail", "only with --radix, or --cost clos");
    for (uint32_t i = 0; (p = rlt_design_prices_at(i)); i++)
        if (strcmp(p->name, clos ? "libra" : s->cost) == 0) {
            u->prices = *p;
            return 0;
        }
    if (stat(s->cost, &st))
        return rlt_fail(err, RLT_EUSAGE, "--cost", "expected libra, sc22, 2021, clos or a file, and '%s': %s",
                        s->cost, strerror(errno));
    int rc = rlt_design_prices_read(s->cost, &u->prices, err);
    return rc ? rc : rlt_inputs_add_file(&u->inputs, "prices", s->cost, err);
}

/* ---- workloads ---- */

typedef struct wanted {
    char head[512];
    const char *list; /* text behind the @ */
    uint64_t tp;
    bool own_tp; /* the list says tp */
    double weight;
    const char *accelerator;
    char accelerator_name[128];
    bool file;
} wanted;

#define AT(field) RLT_FIELD(wanted, field)
/* Parameters of a workload besides those of a training. A trace takes only these. The weight may stand
 * without its name. */
static const rlt_param parameters[] = {
    {"weight", .kind = RLT_PARAM_NUMBER, AT(weight), .preset = "1",
     .help = "weight of this workload among several, above 0"},
    {"tp", .kind = RLT_PARAM_COUNT, AT(tp), .usual = "--tp", .help = "ranks of a model group, above 0"},
    {"accelerator", .kind = RLT_PARAM_NAME, AT(accelerator_name), .usual = "--accelerator",
     .help = "accelerator that a model runs on"},
    {0}};
#undef AT

const rlt_param *rlt_design_workload_parameters(void)
{
    return parameters;
}

/* Reads an item if it is one of `parameters`. *own is false for others, which are tried as settings of a
 * training. */
static int read_own(wanted *w, const char *item, bool *own, rlt_error *err)
{
    char name[32];
    const char *equals = strchr(item, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - item) : 31, equals ? item : "weight");
    const rlt_param *p = rlt_params_find(parameters, name);
    *own = p != NULL;
    w->own_tp = w->own_tp || strcmp(name, "tp") == 0;
    int rc = p ? rlt_param_read(p, w, equals ? equals + 1 : item, NULL, err) : 0;
    if (rc)
        rlt_error_prefix(err, "--workload");
    return rc;
}

static int read_spec(const rlt_design_settings *s, uint32_t i, rlt_training *t, wanted *w, rlt_error *err)
{
    const char *text = s->workload.items[i], *at = strrchr(text, '@'), *item, *rest = at ? at + 1 : NULL;
    size_t length = at ? (size_t)(at - text) : strlen(text);
    struct stat st;
    int rc = 0;
    *w = (wanted){.tp = s->tp, .weight = 1, .accelerator = s->accelerator};
    if (length >= sizeof w->head || length == 0)
        return rlt_fail(err, RLT_EUSAGE, "--workload", "expected a file or a model, got '%.80s'", text);
    memcpy(w->head, text, length);
    const char *head = w->head;
    char **paths = NULL;
    uint32_t files = 0;
    rlt_error ignored = {0};
    w->file =
        stat(head, &st) == 0 || (rlt_find_trace_files(&head, 1, &paths, &files, &ignored) == 0 && files > 0);
    free(paths);
    w->list = rest;
    while (!rc && rest && (item = rlt_next_item(&rest, ',', &length))) {
        char one[160];
        bool own;
        snprintf(one, sizeof one, "%.*s", (int)(length < 159 ? length : 159), item);
        rc = read_own(w, one, &own, err);
        if (rc || own)
            continue;
        rc = w->file ? rlt_fail(err, RLT_EUSAGE, "--workload",
                                "'%s' is a setting of models; a file takes tp and weight", one)
                     : rlt_training_apply(t, one, "--workload", err);
    }
    if (rc) {
        if (err)
            err->code = RLT_EUSAGE;
        return RLT_EUSAGE;
    }
    if (*w->accelerator_name)
        w->accelerator = w->accelerator_name;
    return w->weight > 0 && w->tp > 0
               ? 0
               : rlt_fail(err, RLT_EUSAGE, "--workload", "'%s': weight and tp must be above zero", text);
}

/* Replaces an error about a trace with fewer ranks than accelerators: readers suggest options that only `run`
 * has. */
static int say_ranks(const char *path, uint32_t ranks, int rc, rlt_error *err)
{
    rlt_read_options how = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    if (rlt_find_trace(&path, 1, &how, &p, NULL) == 0 && p->n_ranks != ranks) {
        *err = (rlt_error){0};
        rc =
            rlt_fail(err, RLT_ERANGE, path,
                     "a trace of %u ranks for %u accelerators: the numbers must be equal", p->n_ranks, ranks);
    }
    rlt_program_free(p);
    return rc;
}

/* Opens traces that have no layers. */
static int open_trace(const char *path, rlt_design_work *out, rlt_error *err)
{
    rlt_read_options how = {.n_ranks = out->model * out->data, .first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    int rc = rlt_find_trace(&path, 1, &how, &p, err);
    if (!rc)
        rc = rlt_design_work_program(out, p, err);
    else
        rc = say_ranks(path, how.n_ranks, rc, err);
    rlt_program_free(p);
    return rc;
}

/* A trace has no layers, so repeating or overlapping passes is refused. */
static int open_trace_of(const rlt_design_setup *u, const char *path, rlt_design_work *out, rlt_error *err)
{
    if (u->loop.overlap || u->loop.forward_passes > 1)
        return rlt_fail(err, RLT_EUSAGE, "--loop", "%s needs workloads with layers; '%s' is a trace",
                        u->s->loop, path);
    return open_trace(path, out, err);
}

/* SimAI's text has layers and the size of model groups. With stages or expert groups it is taken as a
 * trace. */
static int open_simai(const rlt_design_setup *u, const wanted *w, rlt_design_work *out, rlt_error *err)
{
    rlt_error own = {0};
    int rc = rlt_design_work_simai(out, w->head, u->loop.forward_passes > 1, &own);
    if (rc == RLT_EUNSUPPORTED && !u->loop.overlap && u->loop.forward_passes == 1)
        return open_trace(w->head, out, err);
    if (!rc && w->own_tp && w->tp != out->model)
        return rlt_fail(err, RLT_EUSAGE, "--workload", "tp=%llu, but '%s' has model groups of %u",
                        (unsigned long long)w->tp, w->head, out->model);
    if (rc)
        *err = own;
    return rc;
}

static int open_layers(const rlt_design_setup *u, const wanted *w, rlt_design_work *out, rlt_error *err)
{
    const char *path = w->head;
    enum { MAX_LAYER_BYTES = 256 << 20 };
    const rlt_reader *reader = NULL;
    rlt_error ignored = {0};
    char *text = NULL;
    size_t length = 0;
    struct stat st;
    bool file = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    if (!file || (rlt_reader_for(path, &reader, &ignored) == 0 && reader != &rlt_reader_astra1))
        return reader == &rlt_reader_simai ? open_simai(u, w, out, err) : open_trace_of(u, path, out, err);
    int rc = rlt_read_file(path, MAX_LAYER_BYTES, &text, &length, err);
    if (rc)
        return rc;
    bool json = text[strspn(text, " \t\r\n")] == '{';
    free(text);
    return json ? rlt_design_work_json(out, path, err) : rlt_design_work_astra1(out, path, err);
}

static int open_file(rlt_design_setup *u, uint32_t i, const wanted *w, rlt_design_work *out, rlt_error *err)
{
    int rc = open_layers(u, w, out, err);
    if (!rc && u->inputs.n < RLT_MAX_INPUTS) {
        bool known = false;
        for (uint32_t k = 0; k < u->inputs.n; k++)
            known = known || u->inputs.items[k].hash == out->hash;
        if (!known)
            rlt_inputs_add(&u->inputs, "workload", u->s->workload.items[i], out->hash);
    }
    return rc;
}

/* Activations are computed again where the loop says so, and in no other way. */
static int set_recompute(const rlt_design_setup *u, rlt_training *t, rlt_error *err)
{
    bool again = u->loop.forward_passes > 1;
    if (t->recompute != RLT_RECOMPUTE_NONE && !(again && t->recompute == RLT_RECOMPUTE_FULL))
        return rlt_fail(err, RLT_EUSAGE, "--workload",
                        "recompute=: design recomputes whole blocks, with --loop recompute");
    if (again)
        t->recompute = RLT_RECOMPUTE_FULL;
    return 0;
}

static int open_model(rlt_design_setup *u, uint32_t i, const wanted *w, rlt_training *t, uint64_t ranks,
                      rlt_error *err)
{
    rlt_design_work *out = &u->works[i];
    bool named = *w->accelerator_name || (u->args && rlt_given(u->args, "accelerator"));
    rlt_model model = {0};
    rlt_accelerator accelerator = {0};
    char tp[24];
    snprintf(tp, sizeof tp, "%llu", (unsigned long long)w->tp);
    int rc = rlt_model_open(w->head, &model, err);
    if (!rc)
        rc = rlt_find_accelerator(w->accelerator, &accelerator, err);
    t->model = &model;
    t->accelerator = &accelerator;
    t->overlap = u->loop.overlap;
    if (!rc && !(rc = rlt_training_set(t, "tp", tp, err)) && !(rc = set_recompute(u, t, err)) &&
        !(rc = rlt_training_plan(t, (uint32_t)ranks, err)) && !(rc = rlt_design_work_training(out, t, err)) &&
        !(rc = rlt_design_fits(u, t, out->name, err)))
        rlt_design_assume(&u->assumed[i], t, w->list, named);
    rlt_model_free(&model);
    return rc;
}

static int open_work(rlt_design_setup *u, uint32_t i, uint64_t ranks, rlt_design_work *out, rlt_error *err)
{
    wanted w;
    rlt_training t = rlt_training_default();
    int rc = read_spec(u->s, i, &t, &w, err);
    if (rc)
        return rc;
    const char *slash = strrchr(w.head, '/');
    snprintf(out->name, sizeof out->name, "%.90s", slash ? slash + 1 : w.head);
    if (w.tp > ranks || ranks % w.tp)
        return rlt_fail(err, RLT_ERANGE, out->name, "%llu accelerators cannot be divided into groups of %llu",
                        (unsigned long long)ranks, (unsigned long long)w.tp);
    out->model = (uint32_t)w.tp;
    out->data = (uint32_t)(ranks / w.tp);
    return w.file ? open_file(u, i, &w, out, err) : open_model(u, i, &w, &t, ranks, err);
}

int rlt_design_setup_works(rlt_design_setup *u, uint64_t ranks, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < u->n_works && !rc; i++)
        rc = open_work(u, i, ranks, &u->works[i], err);
    return rc;
}

void rlt_design_setup_free(rlt_design_setup *u)
{
    for (uint32_t i = 0; i < u->n_works && i < RLT_MAX_WORKS; i++)
        rlt_design_work_free(&u->works[i]);
}

/* ---- the whole setup ---- */

int rlt_design_setup_open(rlt_design_setup *u, const rlt_design_settings *s, rlt_error *err)
{
    bool again = strstr(s->loop, "recompute") != NULL;
    double sum = 0;
    *u = (rlt_design_setup){.s = s};
    u->goal = strcmp(s->objective, "perf") == 0   ? RLT_LEAST_TIME
              : strcmp(s->objective, "cost") == 0 ? RLT_LEAST_COST
                                                  : RLT_LEAST_TIME_COST;
    u->loop = (rlt_design_loop){.overlap = strncmp(s->loop, "overlap", 7) == 0,
                                .forward_passes = again ? 2 : 1,
                                .forward_compute = s->forward_compute > 0 ? s->forward_compute
                                                   : again                ? 2
                                                                          : 1,
                                .compute_scale = s->compute_scale};
    u->how = (rlt_design_how){
        .chunks = (uint32_t)s->chunks, .all_switches = s->all_switches, .endpoint = rlt_endpoint_default()};
    u->how.endpoint.message_ps = s->endpoint_ps;
    if (s->workload.n > RLT_MAX_WORKS)
        return rlt_fail(err, RLT_EUSAGE, "--workload", "more than %d", RLT_MAX_WORKS);
    if ((u->goal == RLT_LEAST_COST) != (s->deadline_ps > 0))
        return rlt_fail(err, RLT_EUSAGE, "--deadline",
                        "--objective cost and --deadline must be given together");
    u->n_works = s->workload.n;
    int rc = open_prices(u, s, err);
    if (!rc)
        rc = rlt_nics_read(&u->nics, &s->nic, err);
    for (uint32_t i = 0; i < u->n_works && !rc; i++) {
        wanted w;
        rlt_training t = rlt_training_default();
        rc = read_spec(s, i, &t, &w, err);
        u->weight[i] = w.weight;
        sum += w.weight;
    }
    for (uint32_t i = 0; i < u->n_works && !rc; i++)
        u->weight[i] /= sum;
    return rc;
}

static int set_levels(const char *list, rlt_design_net *net, rlt_error *err)
{
    const char *item;
    size_t length;
    uint32_t n = 0;
    for (; (item = rlt_next_item(&list, ',', &length)); n++) {
        uint32_t l = 0;
        while (l < RLT_LEVELS && (strlen(rlt_level_name((rlt_level)l)) != length ||
                                  strncmp(rlt_level_name((rlt_level)l), item, length) != 0))
            l++;
        if (l == RLT_LEVELS)
            return rlt_fail(err, RLT_EUSAGE, "--levels", "expected chiplet, package, node or pod, got '%.*s'",
                            (int)length, item);
        if (n < net->n)
            net->dims[n].level = (rlt_level)l;
    }
    return n == net->n ? 0 : rlt_fail(err, RLT_EUSAGE, "--levels", "%u levels for %u dimensions", n, net->n);
}

static int set_in_network(const char *list, rlt_design_net *net, rlt_error *err)
{
    const char *item;
    size_t length;
    while ((item = rlt_next_item(&list, ',', &length))) {
        char digits[16];
        uint64_t d = 0;
        snprintf(digits, sizeof digits, "%.*s", (int)(length < 15 ? length : 15), item);
        if (rlt_parse_count(digits, &d, NULL, NULL) || d < 1 || d > net->n)
            return rlt_fail(err, RLT_EUSAGE, "--in-network", "expected dimensions from 1 to %u, got '%s'",
                            net->n, digits);
        if (net->dims[d - 1].block != RLT_BLOCK_SWITCH)
            return rlt_fail(err, RLT_EUSAGE, "--in-network",
                            "dimension %llu is a %s: only switches can aggregate", (unsigned long long)d,
                            rlt_block_name(net->dims[d - 1].block));
        net->dims[d - 1].in_network = true;
    }
    return 0;
}

int rlt_design_setup_net(const rlt_design_setup *u, rlt_design_net *net, rlt_error *err)
{
    rlt_design_levels(net);
    net->ideal = u->s->all_switches || strcmp(u->s->shared, "ideal") == 0;
    int rc = u->s->levels ? set_levels(u->s->levels, net, err) : 0;
    return rc || !u->s->in_network ? rc : set_in_network(u->s->in_network, net, err);
}

int rlt_design_read_net(const char *spec, rlt_design_net *net, double bw[RLT_MAX_DIMS], rlt_inputs *inputs,
                        rlt_error *err)
{
    rlt_topology *t = NULL;
    int rc = rlt_find_topology(spec, &t, err);
    if (rc)
        return rc;
    *net = (rlt_design_net){.n = rlt_topology_dims(t)};
    for (uint32_t i = 0; i < net->n && !rc; i++) {
        rlt_dim d = rlt_topology_dim(t, i);
        uint32_t b = 0;
        while (b < RLT_BLOCKS && strcmp(d.shape, rlt_block_name((rlt_block)b)) != 0)
            b++;
        if (b == RLT_BLOCKS || !rlt_topology_is_product(t))
            rc = rlt_fail(err, RLT_ETOPOLOGY, "--topology",
                          "design supports products of ring, fully-connected and switch; '%s' has a %s", spec,
                          d.shape);
        else if (d.size < 2)
            rc = rlt_fail(err, RLT_ETOPOLOGY, "--topology", "dimension %u has one accelerator", i + 1);
        else
            net->dims[i] =
                (rlt_design_dim){.block = (rlt_block)b, .size = d.size, .latency_ps = d.latency_ps};
        bw[i] = (double)d.bw_Bps;
    }
    rlt_inputs_add(inputs, "topology", spec, rlt_topology_hash(t));
    rlt_topology_free(t);
    return rc;
}
