/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PipeDream's layer graphs as operator graphs: totals of published files, which awk added up, and what is
 * refused. Models as graphs, against a list of their layers. */
#include "workload/deploy/graphs/graphs.h"
#include "test/support/text_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "workload/deploy/opgraph.h"
#include "workload/models/accelerator.h"
#include "workload/models/layer.h"
#include "workload/models/model.h"

#define DATA "../shared/data/pipedream/"

static rlt_error err;

static int load(const char *path, uint32_t batch, rlt_opgraph **out)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    o.batch = batch;
    err = (rlt_error){0};
    return rlt_opgraph_read(path, &o, out, &err);
}

static int load_text(const char *text, size_t length, rlt_opgraph **out)
{
    char path[] = "/tmp/ringlet-graphs-XXXXXX";
    test_write_new(path, text, length);
    int rc = load(path, 16, out);
    unlink(path);
    return rc;
}

static rlt_opgraph *graph(const char *path, uint32_t batch)
{
    rlt_opgraph *g = NULL;
    if (load(path, batch, &g))
        fail_msg("%s: %s", err.where, err.what);
    return g;
}

static rlt_opgraph *graph_text(const char *text)
{
    rlt_opgraph *g = NULL;
    if (load_text(text, strlen(text), &g))
        fail_msg("%s: %s", err.where, err.what);
    return g;
}

static uint32_t base_groups(const rlt_opgraph *g)
{
    uint32_t *group = malloc(g->n_ops * sizeof *group), n;
    assert_int_equal(rlt_opgraph_base_groups(g, group, &n, &err), 0);
    free(group);
    return n;
}

/* ---- published files ---- */

static void published(void **state)
{
    static const struct {
        const char *file;
        uint32_t nodes, edges, batch;
        uint64_t forward_us, backward_us, parameter_bytes, kept_hkB; /* activations in 100 kB, rounded */
    } rows[] = {
        {"alexnet", 23, 23, 256, 44801, 40520, 244403360, 12787},
        {"vgg16", 41, 41, 128, 233902, 438633, 553430176, 147592},
        {"resnet18", 71, 79, 256, 107446, 152296, 46758048, 85826},
        {"resnet50", 177, 193, 128, 182488, 260931, 102228128, 193087},
        {"squeezenet1_0", 68, 76, 256, 113247, 172119, 4993696, 124763},
        {"gnmt", 48, 58, 77, 33533, 55883, 775063808, 4092}, /* 77: not images; the options say it */
    };
    (void)state;
    if (access(DATA "vgg16.graph.txt", R_OK) != 0) {
        print_message("    # SKIP " DATA " is not here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t nodes = 0, edges = 0;
        uint64_t kept = 0;
        char path[256];
        snprintf(path, sizeof path, DATA "%s.graph.txt", rows[i].file);
        rlt_opgraph *g = graph(path, 77);
        for (uint32_t k = 0; k < g->n_ops; k++) {
            nodes += g->ops[k].pass == RLT_OPERATOR_FORWARD;
            kept += g->ops[k].kept_bytes;
        }
        for (uint32_t k = 0; k < g->n_tensors; k++)
            edges += g->ops[g->tensors[k].src].pass == RLT_OPERATOR_FORWARD &&
                     g->ops[g->tensors[k].dst].pass == RLT_OPERATOR_FORWARD;
        assert_string_equal(g->name, rows[i].file);
        assert_int_equal(nodes, rows[i].nodes);
        assert_int_equal(edges, rows[i].edges);
        assert_int_equal(g->batch, rows[i].batch);
        assert_int_equal(g->forward_ps, (rlt_time)rows[i].forward_us * RLT_US);
        assert_int_equal(g->backward_ps, (rlt_time)rows[i].backward_us * RLT_US);
        assert_int_equal(g->parameter_bytes, rows[i].parameter_bytes);
        assert_int_equal((kept + 50000) / 100000, rows[i].kept_hkB);
        rlt_opgraph_free(g);
    }
}

static void training_graph(void **state)
{
    (void)state;
    if (access(DATA "vgg16.graph.txt", R_OK) != 0) {
        print_message("    # SKIP " DATA " is not here\n");
        skip();
    }
    rlt_opgraph *g = graph(DATA "vgg16.graph.txt", 0);
    assert_int_equal(g->n_ops, 97); /* 41 forward, 40 backward, 16 updates */
    assert_int_equal(g->n_tensors, 137);
    assert_int_equal(base_groups(g), 81);
    rlt_time all = g->forward_ps + g->backward_ps + g->update_ps;
    assert_int_equal((all + RLT_MS / 20) / (RLT_MS / 10), 6739); /* 673.9 ms */
    rlt_opgraph_free(g);
    /* Stages do not matter: the same model, divided into stages. */
    g = graph(DATA "test_graphs_vgg16_partitioned.txt", 0);
    assert_int_equal(g->n_ops, 97);
    assert_int_equal(g->n_tensors, 137);
    assert_int_equal(g->parameter_bytes, 553430176);
    rlt_opgraph_free(g);
}

/* ---- by hand ---- */

#define NODE(k, kind, f, b, a, p)                                                                            \
    "node" #k " -- " kind " -- forward_compute_time=" f ", backward_compute_time=" b ", activation_size=" a  \
    ", parameter_size=" p "\n"
#define IN     NODE(1, "Input0", "9.5", "3", "8.0", "0.0")
#define LINEAR NODE(2, "Linear(a -- b, c=(3, 3))", "0.003", "0.004", "[1.0; 2.0]", "4000.000")
#define ADD    NODE(3, "Add", "0.001", "0.002", "5", "0")
#define LINKS  "\tnode1 -- node2\n\tnode2 -- node3\n"

static void by_hand(void **state)
{
    static const char text[] = IN LINEAR ADD LINKS, blanks[] = IN "\r\n" LINEAR ADD "\n" LINKS "\n\n",
                      late[] = LINKS ADD LINEAR IN;
    (void)state;
    rlt_opgraph *g = graph_text(text), *h = graph_text(blanks);
    assert_int_equal(g->n_ops, 3 + 2 + 1);
    assert_int_equal(g->n_tensors, 2 + 1 + 2 + 1);
    assert_int_equal(g->batch, 16);
    assert_string_equal(g->ops[0].kind, "Input0");
    assert_int_equal(g->ops[0].time_ps, 0);
    assert_string_equal(g->ops[1].name, "node2");
    assert_string_equal(g->ops[1].kind, "Linear");
    assert_int_equal(g->ops[1].time_ps, 3 * RLT_US);
    assert_int_equal(g->ops[1].kept_bytes, 3); /* the list is added up */
    assert_int_equal(g->ops[1].parameter_bytes, 4000);
    assert_int_equal(g->forward_ps, 4 * RLT_US);
    assert_int_equal(g->backward_ps, 6 * RLT_US);
    assert_int_equal(h->hash, g->hash);
    rlt_opgraph_free(h);
    /* Edges may come first. */
    h = graph_text(late);
    assert_int_equal(h->hash, g->hash);
    rlt_opgraph_free(h);
    rlt_opgraph_free(g);
}

static void refuse(const char *text, int code, const char *place, const char *what)
{
    rlt_opgraph *g = (rlt_opgraph *)&err; /* is not left as it is */
    int rc = load_text(text, strlen(text), &g);
    if (rc != code || g || !strstr(err.where, place) || !strstr(err.what, what))
        fail_msg("%d: %s: %s", rc, err.where, err.what);
}

static void refusals(void **state)
{
    char *longer = malloc(70000);
    (void)state;
    refuse(IN LINEAR ADD LINKS "\tnode3 -- node2\n", RLT_EMALFORMED, "ringlet-graphs-", "has a cycle");
    refuse(IN LINEAR ADD LINKS "\tnode2 -- node2\n", RLT_EMALFORMED, "ringlet-graphs-", "feeds itself");
    refuse(IN LINEAR ADD "\tnode1 -- node2\n", RLT_EMALFORMED, "ringlet-graphs-", "in one piece");
    refuse(NODE(1, "Input", "5", "0", "1", "0") NODE(2, "Add", "0", "0.000", "1", "0") "\tnode1 -- node2\n",
           RLT_EMALFORMED, "ringlet-graphs-", "no operator has a time");
    refuse(IN LINEAR ADD LINKS LINEAR, RLT_ESCHEMA, ":6", "'node2' appears a second time: line 2");
    refuse(IN LINEAR ADD LINKS "\tnode3 -- node4\n", RLT_ESCHEMA, ":6", "no line defines 'node4'");
    refuse(IN LINEAR ADD LINKS "\tnode3 -- x\n", RLT_EMALFORMED, ":6", "expected a node");
    refuse(IN LINEAR ADD LINKS "\tnode3, node1\n", RLT_EMALFORMED, ":6", "nodeA -- nodeB");
    refuse("", RLT_EMALFORMED, "ringlet-graphs-", "not an operator graph");
    assert_string_equal(err.what, "not an operator graph: expected a file of one of the formats pipedream, "
                                  "placement, onnx, trace");
    refuse("\n\n", RLT_EMALFORMED, "ringlet-graphs-", "not an operator graph");
    refuse(IN NODE(2, "Add", "-0.001", "1", "1", "0"), RLT_EMALFORMED, ":2", "forward_compute_time=NUMBER");
    refuse(IN NODE(2, "Add", "1", "1", "-1", "0"), RLT_EMALFORMED, ":2", "activation_size=NUMBER");
    refuse(IN NODE(2, "Add", "1", "1", "1", "-4"), RLT_EMALFORMED, ":2", "parameter_size=NUMBER");
    refuse(IN NODE(2, "Add", "1", "nan", "1", "4"), RLT_EMALFORMED, ":2", "backward_compute_time=NUMBER");
    refuse(IN NODE(2, "Add", "1", "1.2.3", "1", "4"), RLT_EMALFORMED, ":2", "backward_compute_time=NUMBER");
    refuse(IN NODE(2, "Add", "1", "1", "[1; 2", "4"), RLT_EMALFORMED, ":2", "']'");
    refuse(IN NODE(2, "Add", "1", "1", "1", "4 and"), RLT_EMALFORMED, ":2", "end of the line");
    refuse(IN NODE(2, "Add", "1", "1", "300000000000000", "4"), RLT_ERANGE, ":2", "too large");
    refuse(IN NODE(2, "Add", "1", "1", "[200000000000000; 200000000000000]", "4"), RLT_ERANGE, ":2",
           "too large");
    refuse(IN NODE(2, "Add", "99999999999999999999", "1", "1", "4"), RLT_ERANGE, ":2", "too large");
    snprintf(longer, 70000, "%snode2 -- %066000d -- forward_compute_time=1\n", IN, 0);
    refuse(longer, RLT_EMALFORMED, ":2", "expected lines of at most 65536 bytes");
    free(longer);
}

/* Whatever is damaged, there is a graph or an error with a text. */
static void damage(void **state)
{
    static const char text[] = IN LINEAR ADD LINKS;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof text; i++) {
        char copy[sizeof text];
        rlt_opgraph *g = NULL;
        size_t n = sizeof text - 1;
        memcpy(copy, text, sizeof text);
        if (i < sizeof text)
            n = i;
        else
            copy[i - sizeof text] = i % 3 ? '\0' : '-';
        int rc = load_text(copy, n, &g);
        assert_true(rc ? !g && err.what[0] : g != NULL);
        rlt_opgraph_free(g);
    }
}

/* The batch is that of the only input, in images of 3 x 224 x 224 words, or else as asked for: 16. */
static void batches(void **state)
{
    static const struct {
        const char *first, *second, *bytes[2];
        uint32_t batch;
    } rows[] = {{"Input0", "Add", {"19267584.0", "0"}, 32}, /* 32 images */
                {"Input0", "Input1", {"19267584.0", "19267584.0"}, 16},
                {"Input0", "Add", {"19267585.0", "0"}, 16},
                {"Input0", "Add", {"602111.0", "0"}, 16},
                {"Input0", "Add", {"602112.0", "0"}, 1},
                {"Add", "Input0", {"0", "1204224.0"}, 2},
                {"Add", "Add", {"602112.0", "0"}, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "node1 -- %s -- forward_compute_time=1, backward_compute_time=1, activation_size=%s, "
                 "parameter_size=0.0\nnode2 -- %s -- forward_compute_time=1, backward_compute_time=1, "
                 "activation_size=%s, parameter_size=0.0\n" ADD "\tnode1 -- node3\n\tnode2 -- node3\n",
                 rows[i].first, rows[i].bytes[0], rows[i].second, rows[i].bytes[1]);
        rlt_opgraph *g = graph_text(text);
        if (g->batch != rows[i].batch)
            fail_msg("row %zu: %u", i, g->batch);
        rlt_opgraph_free(g);
    }
}

/* ---- models ---- */

/* Writes an accelerator on which each kind of work has another efficiency, with a launch of its own. */
static void write_accelerator(char *path)
{
    static const char text[] =
        "{\"name\": \"drawn\", \"source\": \"drawn\", \"memory\": \"1GB\", \"bandwidth\": \"3GB/s\", "
        "\"launch\": \"1us\", \"peaks\": {\"fp32\": \"10GFLOPS\", \"tf32\": \"11GFLOPS\", \"fp16\": "
        "\"20GFLOPS\", \"bf16\": \"21GFLOPS\"}, \"kernels\": {\"most\": {\"matmul\": 0.7, \"attention\": 0.6, "
        "\"convolution\": 0.5, \"lookup\": 0.4, \"vector\": 0.3}, \"memory\": 0.8, \"rows_half\": 3, "
        "\"outputs_half\": 4, \"inputs_half\": 5, \"area_half\": 6, \"backward\": 0.9}}\n";
    test_write_new(path, text, sizeof text - 1);
}

/* Lists the layers of a model as they should be, one after the other, and makes their graph. */
static rlt_opgraph *layers_of(const char *spec, const char *accelerator, const char *precision,
                              uint32_t batch)
{
    rlt_model m = {0};
    rlt_accelerator a;
    rlt_roofline roofline;
    rlt_opgraph *g = NULL;
    const rlt_layer_costs costs = RLT_LAYER_COSTS_DEFAULT;
    const uint32_t element = precision[2] == '1' ? 2 : 4; /* fp16, bf16; fp32, tf32 */
    err = (rlt_error){0};
    if (rlt_model_open(spec, &m, &err) || rlt_accelerator_load(accelerator, NULL, &a, &err) ||
        rlt_accelerator_roofline(&a, NULL, precision, &roofline, &err))
        fail_msg("%s: %s", err.where, err.what);
    roofline.launch_ps = 0; /* the options state it */
    rlt_layer_node *nodes = calloc(m.n_layers, sizeof *nodes);
    uint32_t *edges = calloc(2 * (size_t)m.n_layers, sizeof *edges);
    assert_true(nodes && edges);
    for (uint32_t i = 0; i < m.n_layers; i++) {
        const rlt_model_layer *l = &m.layers[i];
        const rlt_layer_share share = {.samples = batch,
                                       .tp = 1,
                                       .ep = 1,
                                       .element_bytes = element,
                                       .gradient_bytes = element,
                                       .slowdown = 1};
        double inputs = rlt_layer_time(&m, i, &roofline, &share, RLT_LAYER_INPUTS),
               weights = rlt_layer_time(&m, i, &roofline, &share, RLT_LAYER_WEIGHTS);
        nodes[i] = (rlt_layer_node){
            .name = l->name,
            .kind = "layer",
            .forward_ps = rlt_time_of(rlt_layer_time(&m, i, &roofline, &share, RLT_LAYER_FORWARD)),
            .backward_ps = rlt_time_of(inputs + weights),
            .output_bytes = (uint64_t)l->output_elements * batch * element,
            .parameter_bytes = (l->parameters + l->expert_parameters) * element};
        edges[2 * i] = i;
        edges[2 * i + 1] = i + 1;
    }
    if (rlt_opgraph_of_layers(&(rlt_layer_graph){m.name, batch, nodes, m.n_layers, edges, m.n_layers - 1},
                              &costs, &g, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(g->parameter_bytes, m.parameters * element);
    free(nodes);
    free(edges);
    rlt_model_free(&m);
    return g;
}

/* A model is a row of layers, whose times follow from an accelerator. */
static void models(void **state)
{
    static const char *const specs[] = {
        "transformer:layers=2,hidden=64,heads=4,sequence=32",
        "transformer:layers=2,hidden=64,heads=4,sequence=32,experts=4,top_k=2", "resnet50", "dlrm"};
    static const char *const precisions[] = {NULL, "fp32", "tf32", "fp16", "bf16"};
    char path[] = "/tmp/ringlet-graphs-XXXXXX";
    (void)state;
    write_accelerator(path);
    for (uint32_t i = 0; i < 4 * 5 * 2; i++) {
        const char *spec = specs[i % 4], *precision = precisions[i / 4 % 5];
        const uint32_t batch = i / 20 ? 7 : 0;
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_growing notes = {0};
        rlt_opgraph *g = NULL,
                    *want = layers_of(spec, path, precision ? precision : "fp32", batch ? batch : 32);
        char note[120];
        o.accelerator = path;
        o.precision = precision;
        o.batch = batch;
        o.notes = i % 3 ? &notes : NULL;
        if (rlt_opgraph_of_model(spec, &o, &g, &err))
            fail_msg("%s: %s: %s", spec, err.where, err.what);
        assert_string_equal(g->name, want->name);
        assert_int_equal(g->batch, want->batch);
        assert_int_equal(g->n_ops, want->n_ops);
        assert_int_equal(g->forward_ps, want->forward_ps);
        assert_int_equal(g->backward_ps, want->backward_ps);
        assert_int_equal(g->parameter_bytes, want->parameter_bytes);
        assert_int_equal(g->hash, want->hash);
        snprintf(note, sizeof note, "times are estimated: roofline of drawn in %s\n",
                 precision ? precision : "fp32");
        if (o.notes)
            assert_string_equal(notes.text, note);
        free(notes.text);
        rlt_opgraph_free(g);
        rlt_opgraph_free(want);
    }
    unlink(path);
}

/* Without an accelerator a V100 is taken, by its name. Unknown names are refused. */
static void names_of_models(void **state)
{
    static const struct {
        const char *spec, *accelerator, *precision, *what;
    } rows[] = {{"resnet50", NULL, NULL, NULL},
                {"resnet50", "v100", "fp16", NULL},
                {"resnte50", NULL, NULL, "resnte50"},
                {"resnet50", "v10000", NULL, "v10000"},
                {"resnet50", NULL, "bf16", "bf16"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_growing notes = {0};
        rlt_opgraph *g = (rlt_opgraph *)&err; /* is not left as it is */
        char all[1600];
        o.accelerator = rows[i].accelerator;
        o.accelerator_dirs = "workload/accelerators";
        o.precision = rows[i].precision;
        o.notes = &notes;
        err = (rlt_error){0};
        int rc = rlt_opgraph_of_model(rows[i].spec, &o, &g, &err);
        snprintf(all, sizeof all, "%s: %s", err.where, err.what);
        assert_int_equal(rc != 0, rows[i].what != NULL);
        assert_int_equal(g != NULL, rc == 0);
        if (rc)
            assert_non_null(strstr(all, rows[i].what));
        else
            assert_non_null(strstr(notes.text, "roofline of v100-sxm2-16gb in "));
        free(notes.text);
        rlt_opgraph_free(g);
    }
}

/* A file of layers has updates as fast as the options say, and no optimizer is infinitely slow. */
static void costs_of_layers(void **state)
{
    static const char text[] = IN LINEAR ADD LINKS;
    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[] = "/tmp/ringlet-graphs-XXXXXX";
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_opgraph *g = NULL;
        o.costs = (rlt_layer_costs){3000, i - 1};
        err = (rlt_error){0};
        test_write_new(path, text, sizeof text - 1);
        int rc = rlt_opgraph_read(path, &o, &g, &err);
        unlink(path);
        assert_int_equal(rc, i == 2 ? 0 : RLT_EUSAGE);
        if (rc) {
            assert_string_equal(err.what, "the optimizer needs more than 0 bytes a microsecond");
            continue;
        }
        assert_int_equal(g->ops[1].launch_ps, 3000);
        assert_int_equal(g->update_ps, 4000 * RLT_US);
        rlt_opgraph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published), cmocka_unit_test(training_graph),  cmocka_unit_test(by_hand),
        cmocka_unit_test(refusals),  cmocka_unit_test(damage),          cmocka_unit_test(batches),
        cmocka_unit_test(models),    cmocka_unit_test(names_of_models), cmocka_unit_test(costs_of_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
