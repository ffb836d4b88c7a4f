/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: models, accelerators, routings of experts, graphs of operators, policies. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/workload.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "test/fuzz/fuzz.h"
#include "tools/deploy/policy/policy.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/experts/experts.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

static void use_model(int rc, rlt_model *m, const rlt_error *err)
{
    fuzz_judge(rc, err, NULL);
    if (rc == 0) {
        rlt_model_totals totals = rlt_model_sum(m);
        FUZZ_CHECK(m->n_layers > 0 && totals.forward_flop >= 0);
    }
    rlt_model_free(m);
}

static void model_file(const fuzz_input *in)
{
    rlt_model m = {0};
    rlt_error err = {0};
    const char *first = in->text + strspn(in->text, " \t\r\n");
    int rc = rlt_model_open(fuzz_path(in, *first == '{' ? ".json" : ".csv"), &m, &err);
    use_model(rc, &m, &err);
}

static void model_text(const fuzz_input *in)
{
    rlt_model m = {0};
    rlt_error err = {0};
    /* Options refuse an empty text. */
    if (!*in->text || strchr(in->text, '/') || fuzz_has_long_number(in, 5))
        return;
    int rc = rlt_model_open(in->text, &m, &err);
    use_model(rc, &m, &err);
}

static void accelerator(const fuzz_input *in)
{
    static rlt_accelerator a;
    rlt_error err = {0};
    rlt_roofline roofline;
    int rc = rlt_accelerator_load(fuzz_path(in, ".json"), NULL, &a, &err);
    fuzz_judge(rc, &err, NULL);
    for (uint32_t i = 0; rc == 0 && i < a.n_peaks; i++) {
        rlt_work w = {.kind = (rlt_work_kind)0, .flop = 1e9, .bytes = 1e6, .m = 64, .n = 64, .k = 64};
        rlt_error why = {0};
        int found = rlt_accelerator_roofline(&a, NULL, a.peaks[i].precision, &roofline, &why);
        fuzz_judge(found, &why, NULL);
        FUZZ_CHECK(found || rlt_roofline_time(&roofline, &w) >= 0);
    }
}

static void routing(const fuzz_input *in)
{
    static const rlt_expert_group group = {.experts = 8, .top_k = 2, .members = 4};
    rlt_expert_load load;
    rlt_error err = {0};
    int word = !strncmp(in->text, "zipf", 4) || !strncmp(in->text, "bal", 3);
    int rc =
        rlt_routing_load(word ? in->text : fuzz_path(in, ""), &group, fuzz_pick(2) ? 1.25 : 0, &load, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK(rc || (load.dropped >= 0 && load.dropped <= 1 && load.exchange >= 0));
}

static void updates(const fuzz_input *in)
{
    rlt_skew k = {0};
    rlt_error err = {0};
    int rc = rlt_skew_parse(in->text, in->n, "input", &k, &err);
    fuzz_judge(rc, &err, "input");
    if (rc == 0) {
        double all = rlt_skew_coverage(&k, k.n);
        FUZZ_CHECK(k.n > 0 && all > 0.999 && all < 1.001);
        FUZZ_CHECK(rlt_skew_draw(&k, 1, 0, fuzz_pick(9)) < k.n);
    }
    rlt_skew_free(&k);
}

static void graph(const fuzz_input *in)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    const char *path = fuzz_path(in, "");
    rlt_opgraph *g = NULL;
    rlt_error err = {0};
    o.accelerator = "a100-80gb";
    o.accelerator_dirs = "workload/accelerators";
    o.batch = 8;
    int rc = rlt_opgraph_read(path, &o, &g, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK((rc == 0) == (g != NULL));
    rlt_opgraph_free(g);
}

static void devices(const fuzz_input *in)
{
    static rlt_cluster c;
    rlt_error err = {0};
    fuzz_judge(rlt_cluster_load("switch:8@10GB/s,1us", NULL, in->text, &c, &err), &err, NULL);
    rlt_cluster_free(&c);
}

/* A topology that says which devices it has. */
static void device_file(const fuzz_input *in)
{
    static rlt_cluster c;
    rlt_error err = {0};
    if (fuzz_has_long_number(in, 4) || fuzz_names_device(in))
        return;
    int rc = rlt_cluster_load(fuzz_path(in, ".json"), NULL, NULL, &c, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK(rc || c.n_groups > 0);
    rlt_cluster_free(&c);
}

static void strategy(const fuzz_input *in)
{
    static rlt_cluster c;
    static rlt_opgraph *g;
    rlt_grouping p = {0};
    rlt_strategy s = {0};
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    if (!g) {
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        o.accelerator = "a100-80gb";
        o.accelerator_dirs = "workload/accelerators";
        FUZZ_CHECK(rlt_cluster_load("switch:8@10GB/s,1us", NULL, "v100:4,p100:4", &c, &err) == 0);
        FUZZ_CHECK(rlt_opgraph_of_model("transformer:layers=1,hidden=64,heads=4", &o, &g, &err) == 0);
    }
    int rc = rlt_json_parse("input", in->text, in->n, &doc, &err);
    if (!rc)
        rc = rlt_strategy_read(doc, g, &c, &p, &s, &err);
    fuzz_judge(rc, &err, "input");
    rlt_grouping_free(&p);
    rlt_strategy_free(&s);
    rlt_json_free(doc);
}

static void policy(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".weights");
    rlt_policy *p = NULL;
    rlt_error err = {0};
    int rc = rlt_policy_load(path, &p, &err);
    fuzz_judge(rc, &err, path);
    FUZZ_CHECK((rc == 0) == (p != NULL));
    rlt_policy_free(p);
}

const fuzz_target fuzz_models[] = {{"model-file", .run = model_file, .change = fuzz_change_json},
                                   {"model-text", .run = model_text},
                                   {"accelerator", .run = accelerator, .change = fuzz_change_json},
                                   {"routing", .run = routing},
                                   {"updates", .run = updates},
                                   {"graph-onnx", .run = graph, .change = fuzz_change_protobuf},
                                   {"graph-pipedream", .run = graph},
                                   {"graph-placement", .run = graph, .change = fuzz_change_json},
                                   {"graph-trace", .run = graph, .change = fuzz_change_json},
                                   {"devices", .run = devices},
                                   {"device-file", .run = device_file, .change = fuzz_change_json},
                                   {"strategy", .run = strategy, .change = fuzz_change_json},
                                   {"policy", .run = policy},
                                   {0}};
