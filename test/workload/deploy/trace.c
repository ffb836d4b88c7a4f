/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of one rank as operator graphs: graphs by hand, one rank of several, totals of public recordings, and
 * what is refused. */
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "test/support/traces/chakra.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/readers/chakra/node.h"

#define DATA "../shared/data/"
#define MB   1000000ull

static rlt_error err;
static rlt_growing notes;

static int load(const char *path, uint32_t batch, rlt_opgraph **out)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    o.batch = batch;
    o.notes = &notes;
    free(notes.text);
    notes = (rlt_growing){0};
    err = (rlt_error){0};
    return rlt_opgraph_read(path, &o, out, &err);
}

static rlt_opgraph *graph(const char *path)
{
    rlt_opgraph *g = NULL;
    if (load(path, 16, &g))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(g->batch, 16);
    assert_true(g->unsized);
    return g;
}

static rlt_opgraph *made(file *f)
{
    char path[256];
    end(f, "t.et");
    return graph(path_of("t.et", path, sizeof path));
}

static void refuse(const char *path, uint32_t batch, int code, const char *place, const char *what)
{
    rlt_opgraph *g = NULL;
    int rc = load(path, batch, &g);
    if (rc != code || g || !strstr(err.where, place) || !strstr(err.what, what))
        fail_msg("%d: %s: %s", rc, err.where, err.what);
}

static void told(const char *what, bool there)
{
    if ((notes.text && strstr(notes.text, what)) != there)
        fail_msg("'%s' is %s the notes:\n%s", what, there ? "not in" : "in", notes.text);
}

/* ---- writing ---- */

/* Work that waits for node `on` (0: for none). */
static void compute(file *f, uint64_t id, const char *name, uint64_t us, uint64_t on)
{
    work(f, id, name, us, false);
    if (on)
        dep(f, on);
    message(f);
}

static void reduction(file *f, uint64_t id, uint64_t type, uint64_t bytes, uint64_t on, uint64_t also)
{
    head(f, id, "reduction", RLT_CHAKRA_COLL);
    number(f, "comm_type", RLT_CHAKRA_INT64, type);
    number(f, "comm_size", RLT_CHAKRA_INT64, bytes);
    dep(f, on);
    if (also)
        dep(f, also);
    message(f);
}

static void host(file *f, uint64_t id, uint64_t thread, uint64_t on)
{
    work(f, id, "launch", 5, true);
    number(f, "tid", RLT_CHAKRA_INT64, thread);
    if (on)
        dep(f, on);
    message(f);
}

/* A kernel launched by node `on`. */
static void kernel(file *f, uint64_t id, const char *name, uint64_t us, uint64_t stream, uint64_t on)
{
    work(f, id, name, us, false);
    number(f, "stream", RLT_CHAKRA_INT64, stream);
    dep(f, on);
    message(f);
}

/* ---- reading ---- */

static uint32_t at(const rlt_opgraph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (strcmp(g->ops[i].name, name) == 0)
            return i;
    fail_msg("no operator '%s'", name);
    return 0;
}

static void is(const rlt_opgraph *g, const char *name, rlt_operator_pass pass, uint64_t us, uint64_t weights)
{
    const rlt_operator *o = &g->ops[at(g, name)];
    assert_int_equal(o->pass, pass);
    assert_int_equal(o->time_ps, (rlt_time)us * RLT_US);
    assert_int_equal(o->launch_ps, 0);
    assert_int_equal(o->kept_bytes, 0);
    assert_int_equal(o->parameter_bytes, weights);
    assert_int_equal(o->splittable, pass != RLT_OPERATOR_UPDATE);
}

static uint32_t feeds(const rlt_opgraph *g, const char *from, const char *to, uint64_t bytes,
                      rlt_tensor_kind kind)
{
    uint32_t a = at(g, from), b = at(g, to), n = 0;
    for (uint32_t t = g->out_first[a]; t < g->out_first[a + 1]; t++)
        n += g->tensors[t].dst == b && g->tensors[t].bytes == bytes && g->tensors[t].kind == kind;
    return n;
}

/* Two layers; the update waits for both reductions, of 30 and 10 MB. */
static void two_layers(file *f, bool own_updates)
{
    begin(f);
    compute(f, 1, "forward a", 1000, 0);
    compute(f, 2, "forward b", 2000, 1);
    compute(f, 3, "backward b", 3000, 2);
    reduction(f, 4, RLT_CHAKRA_ALL_REDUCE, 30 * MB, 3, 0);
    compute(f, 5, "backward a", 1000, 3);
    reduction(f, 6, RLT_CHAKRA_ALL_REDUCE, 10 * MB, 5, 0);
    if (own_updates) {
        compute(f, 7, "Adam b", 700, 4);
        compute(f, 8, "Adam a", 500, 6);
        return;
    }
    work(f, 7, "optimizer", 8000, false);
    dep(f, 4);
    dep(f, 6);
    message(f);
}

/* ---- tests ---- */

static void by_hand(void **state)
{
    (void)state;
    file f;
    two_layers(&f, false);
    rlt_opgraph *g = made(&f);
    assert_string_equal(g->name, "t");
    assert_int_equal(g->n_ops, 6);
    assert_int_equal(g->n_tensors, 5);
    assert_int_equal(g->forward_ps, 3 * RLT_MS);
    assert_int_equal(g->backward_ps, 4 * RLT_MS);
    assert_int_equal(g->update_ps, 8 * RLT_MS);
    assert_int_equal(g->parameter_bytes, 40 * MB);
    is(g, "forward a", RLT_OPERATOR_FORWARD, 1000, 10 * MB);
    is(g, "forward b", RLT_OPERATOR_FORWARD, 2000, 30 * MB);
    is(g, "backward b", RLT_OPERATOR_BACKWARD, 3000, 0);
    is(g, "backward a", RLT_OPERATOR_BACKWARD, 1000, 0);
    is(g, "update backward b", RLT_OPERATOR_UPDATE, 6000, 30 * MB);
    is(g, "update backward a", RLT_OPERATOR_UPDATE, 2000, 10 * MB);
    assert_int_equal(feeds(g, "forward a", "forward b", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "forward b", "backward b", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "backward b", "backward a", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "backward b", "update backward b", 30 * MB, RLT_TENSOR_GRADIENT), 1);
    assert_int_equal(feeds(g, "backward a", "update backward a", 10 * MB, RLT_TENSOR_GRADIENT), 1);
    assert_int_equal(g->ops[at(g, "backward a")].forward, at(g, "forward a"));
    assert_int_equal(g->ops[at(g, "update backward a")].together, at(g, "forward a"));
    assert_int_equal(g->ops[at(g, "forward a")].together, at(g, "forward a"));
    told("2 forward, 2 backward and 1 update", true);
    told("communication other than that", false);
    rlt_opgraph_free(g);
    /* The trace's own updates, each of one gradient. */
    two_layers(&f, true);
    g = made(&f);
    assert_int_equal(g->n_ops, 6);
    is(g, "Adam b", RLT_OPERATOR_UPDATE, 700, 30 * MB);
    is(g, "Adam a", RLT_OPERATOR_UPDATE, 500, 10 * MB);
    told("divided over the gradients", false);
    rlt_opgraph_free(g);
    clean();
}

/* Names say nothing of layers: the second half of the backward pass belongs to the first half of the forward
 * pass. Work after the last backward work is an update. */
static void by_order(void **state)
{
    (void)state;
    file f;
    begin(&f);
    compute(&f, 1, "one", 100, 0);
    compute(&f, 2, "two", 300, 1);
    compute(&f, 3, "TwoBackward0", 600, 2);
    compute(&f, 4, "middle", 100, 3);
    compute(&f, 5, "MulBackward0", 100, 4);
    reduction(&f, 6, RLT_CHAKRA_REDUCE_SCATTER, 8, 3, 0);
    reduction(&f, 7, RLT_CHAKRA_ALL_REDUCE, 9, 4, 5); /* of two producers */
    compute(&f, 8, "last", 50, 7);
    rlt_opgraph *g = made(&f);
    assert_int_equal(g->n_ops, 5 + 3);
    is(g, "one", RLT_OPERATOR_FORWARD, 100, 9);
    is(g, "two", RLT_OPERATOR_FORWARD, 300, 8);
    is(g, "middle", RLT_OPERATOR_BACKWARD, 100, 0);
    assert_int_equal(feeds(g, "middle", "update middle", 5, RLT_TENSOR_GRADIENT), 1);
    assert_int_equal(feeds(g, "MulBackward0", "update MulBackward0", 4, RLT_TENSOR_GRADIENT), 1);
    assert_int_equal(g->update_ps, 50 * RLT_US);
    rlt_opgraph_free(g);
    clean();
}

/* Reductions of the forward pass, those that the backward pass waits for, and other collectives vanish; work
 * still waits for what was before them. Without gradients the trace's updates stay. */
static void other_communication(void **state)
{
    (void)state;
    file f;
    begin(&f);
    compute(&f, 1, "forward", 100, 0);
    reduction(&f, 2, RLT_CHAKRA_ALL_REDUCE, 1024, 1, 0);
    compute(&f, 3, "forward 2", 100, 2);
    compute(&f, 4, "backward", 100, 3);
    reduction(&f, 5, RLT_CHAKRA_ALL_REDUCE, 1024, 4, 0);
    reduction(&f, 6, RLT_CHAKRA_ALL_TO_ALL, 1024, 5, 0);
    compute(&f, 7, "backward 2", 100, 6);
    compute(&f, 8, "step", 30, 7);
    rlt_opgraph *g = made(&f);
    assert_int_equal(g->n_ops, 5);
    assert_int_equal(g->n_tensors, 4);
    assert_int_equal(g->parameter_bytes, 0);
    is(g, "step", RLT_OPERATOR_UPDATE, 30, 0);
    assert_int_equal(feeds(g, "forward", "forward 2", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "backward", "backward 2", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "backward 2", "step", 0, RLT_TENSOR_GRADIENT), 1);
    told("since the strategy decides it: 3, 3 KiB", true);
    told("no reduction of gradients", true);
    rlt_opgraph_free(g);
    clean();
}

/* Kernels of one stream, two launched by host thread 1 and one by thread 2, which then launches another one. */
static void begin_recording(file *f)
{
    begin(f);
    host(f, 1, 1, 0);
    kernel(f, 2, "gemm", 40, 7, 1);
    host(f, 3, 1, 1);
    kernel(f, 4, "gemm", 60, 7, 3);
    host(f, 5, 2, 3);
    kernel(f, 6, "gemm", 70, 7, 5);
    host(f, 7, 2, 5);
}

/* Host thread 1 launches two kernels; thread 2 three on two streams, and a reduction; thread 1 the optimizer.
 * Only launches are recorded. */
static void recording(void **state)
{
    (void)state;
    file f;
    begin_recording(&f);
    kernel(&f, 8, "fill", 10, 8, 7);
    host(&f, 9, 2, 7);
    kernel(&f, 10, "gemm", 80, 7, 9);
    host(&f, 11, 2, 9);
    reduction(&f, 12, RLT_CHAKRA_ALL_REDUCE, 4096, 11, 0);
    host(&f, 13, 1, 11);
    kernel(&f, 14, "add", 20, 7, 13);
    rlt_opgraph *g = made(&f);
    assert_int_equal(g->n_ops, 6);
    assert_int_equal(g->n_tensors, 5);
    is(g, "gemm", RLT_OPERATOR_FORWARD, 40, 4096); /* mirrored: gemm #4 */
    is(g, "gemm #2", RLT_OPERATOR_FORWARD, 60, 0);
    is(g, "gemm #3", RLT_OPERATOR_BACKWARD, 70, 0);
    is(g, "fill", RLT_OPERATOR_BACKWARD, 10, 0);
    is(g, "gemm #4", RLT_OPERATOR_BACKWARD, 80, 0);
    is(g, "update gemm", RLT_OPERATOR_UPDATE, 20, 4096);
    assert_int_equal(feeds(g, "gemm #2", "gemm #3", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "gemm #3", "fill", 0, RLT_TENSOR_BATCHED), 1); /* joined: launched before it */
    assert_int_equal(feeds(g, "gemm #3", "gemm #4", 0, RLT_TENSOR_BATCHED), 1);
    assert_int_equal(feeds(g, "gemm #4", "update gemm", 4096, RLT_TENSOR_GRADIENT), 1);
    told("follow the one before (1)", true);
    told("host work is left out", true);
    rlt_opgraph_free(g);
    clean();
}

/* As `recording`, where the kernel of the second stream also waits for two of the first one, named in either order: for
 * the later one, because the first stream runs in order. */
static void last_of_a_stream(void **state)
{
    static const uint64_t pairs[][2] = {{2, 4}, {4, 2}, {4, 6}, {6, 4}, {6, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        file f;
        begin_recording(&f);
        work(&f, 8, "fill", 10, false);
        number(&f, "stream", RLT_CHAKRA_INT64, 8);
        dep(&f, pairs[i][0]);
        dep(&f, pairs[i][1]);
        dep(&f, 7);
        message(&f);
        host(&f, 9, 2, 7);
        kernel(&f, 10, "gemm", 80, 7, 9);
        rlt_opgraph *g = made(&f);
        bool third = pairs[i][0] == 6 || pairs[i][1] == 6;
        const uint32_t fill = at(g, "fill");
        assert_int_equal(g->in_first[fill + 1] - g->in_first[fill], 1);
        const rlt_tensor *t = &g->tensors[g->in[g->in_first[fill]]];
        assert_string_equal(g->ops[t->src].name, third ? "gemm #3" : "gemm #2");
        rlt_opgraph_free(g);
        clean();
    }
}

/* Three steps of 5, 1 and 3 us: the last one is taken. A fourth has no device work. */
static void steps(void **state)
{
    (void)state;
    static const uint64_t us[] = {5, 1, 3};
    file f;
    begin(&f);
    for (uint64_t s = 0; s < 4; s++) {
        work(&f, s + 1, "work", s < 3 ? us[s] : 9, s == 3);
        number(&f, "ringlet_step", RLT_CHAKRA_INT64, s);
        if (s)
            dep(&f, s);
        message(&f);
    }
    rlt_opgraph *g = made(&f);
    assert_int_equal(g->n_ops, 1);
    is(g, "work", RLT_OPERATOR_FORWARD, 3, 0);
    told("step 2 of the trace is taken, of 3", true);
    rlt_opgraph_free(g);
    clean();
}

/* Rank 3 of a job: a group of listed ranks, a gather, a root and a message to another rank. */
static void one_of_several(void **state)
{
    (void)state;
    file f;
    char path[256];
    begin(&f);
    compute(&f, 1, "forward", 100, 0);
    head(&f, 2, "send", RLT_CHAKRA_SEND);
    number(&f, "comm_dst", RLT_CHAKRA_INT64, 7);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 64);
    dep(&f, 1);
    message(&f);
    compute(&f, 3, "backward", 200, 2);
    head(&f, 4, "reduction", RLT_CHAKRA_COLL);
    number(&f, "comm_type", RLT_CHAKRA_INT64, RLT_CHAKRA_ALL_REDUCE);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 512);
    text(&f, "pg_name", "data");
    dep(&f, 3);
    message(&f);
    head(&f, 5, "broadcast", RLT_CHAKRA_COLL);
    number(&f, "comm_type", RLT_CHAKRA_INT64, RLT_CHAKRA_BROADCAST);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 512);
    number(&f, "root_rank", RLT_CHAKRA_INT64, 5);
    message(&f);
    end(&f, "job.3.et");
    rlt_opgraph *g = graph(path_of("job.3.et", path, sizeof path));
    assert_int_equal(g->n_ops, 3);
    assert_int_equal(feeds(g, "backward", "update backward", 512, RLT_TENSOR_GRADIENT), 1);
    assert_int_equal(g->update_ps, 1280); /* no update in the trace: 512 bytes at 4e5 bytes a microsecond */
    told("message to or from another rank: left out (1)", true);
    told("no update operations", true);
    told("since the strategy decides it: 1, 512 B", true);
    rlt_opgraph_free(g);
    two_layers(&f, false);
    end(&f, "job.4.et");
    refuse(directory, 16, RLT_EUSAGE, directory, "has the traces of 2 ranks: expected that of one");
    clean();
}

static void refusals(void **state)
{
    (void)state;
    char path[256];
    file f;
    two_layers(&f, false);
    end(&f, "t.et");
    refuse(path_of("t.et", path, sizeof path), 0, RLT_EUSAGE, "t.et", "(--batch)");
    begin(&f);
    collective(&f, 1, RLT_CHAKRA_ALL_REDUCE, 64, NULL);
    end(&f, "t.et");
    refuse(path, 16, RLT_EMALFORMED, "t.et", "no device work that takes time");
    begin(&f);
    compute(&f, 1, "one", 10, 2);
    compute(&f, 2, "two", 10, 1);
    end(&f, "t.et");
    refuse(path, 16, RLT_ESCHEMA, "t.et: rank 0", "in a cycle");
    static const char broken[] = "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\",";
    save("t.json", broken, sizeof broken - 1);
    refuse(path_of("t.json", path, sizeof path), 16, RLT_EMALFORMED, "t.json", "");
    static const char goal[] = "num_ranks 2\nrank 0 {\nl1: calc 10\n}\nrank 1 {\nl1: calc 10\n}\n";
    save("t.goal", goal, sizeof goal - 1);
    refuse(path_of("t.goal", path, sizeof path), 16, RLT_EUSAGE, "t.goal", "has the work of 2 ranks");
    clean();
}

/* Whatever is damaged, there is a graph or an error with a text. */
static void damage(void **state)
{
    (void)state;
    file f;
    char path[256];
    two_layers(&f, false);
    size_t n = f.out.length;
    uint8_t *whole = malloc(n), *copy = malloc(n);
    assert_true(whole && copy);
    memcpy(whole, f.out.data, n);
    end(&f, "t.et");
    path_of("t.et", path, sizeof path);
    for (size_t i = 0; i < 2 * n; i++) {
        rlt_opgraph *g = NULL;
        memcpy(copy, whole, n);
        if (i >= n)
            copy[i - n] ^= (uint8_t)(1 + i % 251);
        save("t.et", copy, i < n ? i : n);
        int rc = load(path, 16, &g);
        assert_true(rc ? !g && err.what[0] : g != NULL);
        rlt_opgraph_free(g);
    }
    free(whole);
    free(copy);
    clean();
}

/* Public recordings. Times are sums of the durations of kernels and copies, parameters the sums of what was
 * all-reduced: ResNet-50 has 25 557 032 parameters of 4 bytes. */
static void published(void **state)
{
    static const struct {
        const char *file;
        uint32_t n_ops;
        uint64_t us, parameter_bytes; /* us 0: several steps */
    } rows[] = {
        {"chakra/dlrm_v100_8rank/dlrm.0.et", 0, 1053, 1576964 + 448 + 907840},
        {"kineto/hta/critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz", 98, 66203,
         0},
        {"kineto/hta/nccl_parser_config__nccl_data.json.gz", 0, 0, 102228128},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[256];
        snprintf(path, sizeof path, DATA "%s", rows[i].file);
        if (access(path, R_OK) != 0) {
            print_message("    # SKIP %s is not here\n", path);
            skip();
        }
        rlt_opgraph *g = graph(path);
        rlt_time all = g->forward_ps + g->backward_ps + g->update_ps;
        if (rows[i].n_ops)
            assert_int_equal(g->n_ops, rows[i].n_ops);
        if (rows[i].us)
            assert_int_equal(all, (rlt_time)rows[i].us * RLT_US);
        assert_int_equal(g->parameter_bytes, rows[i].parameter_bytes);
        rlt_opgraph_free(g);
    }
}

static int done(void **state)
{
    free(notes.text);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(by_order),
        cmocka_unit_test(other_communication),
        cmocka_unit_test(recording),
        cmocka_unit_test(last_of_a_stream),
        cmocka_unit_test(steps),
        cmocka_unit_test(one_of_several),
        cmocka_unit_test(refusals),
        cmocka_unit_test(damage),
        cmocka_unit_test(published),
    };
    return cmocka_run_group_tests(tests, set_up, done);
}
