/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accelerators: shipped files, times by formula, and refused files. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

static char path[] = "/tmp/ringlet-accelerator-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int load_text(const char *text, rlt_accelerator *a, rlt_error *err)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    *err = (rlt_error){0};
    return rlt_accelerator_load(path, NULL, a, err);
}

/* Figures of data sheets, without sparsity. Memory is at least the advertised one, which counts in 10^9. */
static void shipped(void **state)
{
    static const struct {
        const char *name, *precision;
        double peak_T, memory_G, bandwidth_G;
    } rows[] = {
        {"v100-sxm2-16gb", "fp16", 125, 16, 900}, {"v100-sxm2-32gb", "fp32", 15.7, 32, 900},
        {"a100-40gb", "bf16", 312, 40, 1555},     {"a100-80gb", "tf32", 156, 80, 2039},
        {"h100-sxm", "fp8", 1979, 80, 3350},      {"h100-hbm2e-96gb", "bf16", 989.5, 96, 2400},
        {"h200", "bf16", 989.5, 141, 4800},       {"b200", "bf16", 2250, 180, 8000},
        {"gb200", "fp8", 5000, 186, 8000},        {"b300", "fp8", 4500, 270, 8000},
        {"gb300", "bf16", 2500, 279, 8000},       {"mi300x", "bf16", 1307.4, 192, 5300},
        {"tpu-v4", "bf16", 275, 32, 1228},        {"tpu-v5p", "bf16", 459, 95, 2765},
        {"tpu-v6e", "bf16", 918, 32, 1638},       {"tpu-v7", "fp8", 4614, 192, 7380},
        {"mi355x", "mxfp4", 10066.3, 288, 8000},  {"trainium2", "bf16", 667, 96, 2900},
        {"gaudi3", "bf16", 1835, 128, 3700},      {"h800", "bf16", 989.5, 80, 3350},
        {"h20", "bf16", 148, 96, 4000},
    };
    uint32_t files = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_accelerator a;
        rlt_error err = {0};
        uint64_t peak;
        if (rlt_accelerator_load(rows[i].name, "workload/accelerators", &a, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_string_equal(a.name, rows[i].name);
        assert_true(strlen(a.source) > 20);
        assert_int_equal(rlt_accelerator_peak(&a, rows[i].precision, &peak, &err), 0);
        assert_true(fabs((double)peak / 1e12 - rows[i].peak_T) < 1e-9);
        assert_true((double)a.memory_bytes >= rows[i].memory_G * 1e9);
        assert_true((double)a.memory_bytes <= rows[i].memory_G * (1 << 30) * 1.1);
        assert_true((double)a.memory_Bps == rows[i].bandwidth_G * 1e9);
        /* Each precision has an efficiency on each stack. */
        assert_true(a.n_stacks >= 6);
        for (uint32_t k = 0; k < a.n_peaks; k++) {
            rlt_roofline f;
            assert_int_equal(rlt_accelerator_roofline(&a, "megatron", a.peaks[k].precision, &f, &err), 0);
            assert_string_equal(f.stack, "megatron");
            assert_true(f.most[RLT_WORK_MATMUL] > 0.1 && f.most[RLT_WORK_MATMUL] <= 1);
        }
    }
    DIR *d = opendir("workload/accelerators");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        files += strstr(e->d_name, ".json") != NULL;
    closedir(d);
    assert_int_equal(files, sizeof rows / sizeof *rows);
}

/* At efficiency 1 a TFLOP at 1 TFLOPS takes a second. Each factor of the efficiency is computed by hand. */
static void times(void **state)
{
    const rlt_roofline plain = {.peak_Flops = 1000000000000,
                                .peak_16_Flops = 500000000000,
                                .memory_Bps = 1000000000000,
                                .launch_ps = 5000000,
                                .most = {1, 1, 1, 1, 1},
                                .memory = 1};
    rlt_roofline bent = plain;
    const struct {
        const rlt_roofline *s;
        rlt_work w;
        double seconds;
    } rows[] = {
        {&plain, {RLT_WORK_MATMUL, 1e12, 0, 0, 0, 0}, 1},
        {&plain, {RLT_WORK_MATMUL, 1e12, 1e12, 64, 64, 8}, 1}, /* a factor is 1 if its half is 0 */
        {&plain, {RLT_WORK_ATTENTION, 1e12, 0, 0, 0, 0}, 2},   /* at the peak of 16 bits */
        {&plain, {RLT_WORK_MATMUL, 1e11, 5e11, 0, 0, 0}, 0.5}, /* memory is the bottleneck */
        {&plain, {RLT_WORK_VECTOR, 0, 25e10, 0, 0, 0}, 0.25},
        {&plain, {RLT_WORK_VECTOR, 0, 0, 0, 0, 0}, 0},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 0, 0, 0}, 2},
        {&bent, {RLT_WORK_ATTENTION, 1e12, 0, 7, 7, 7}, 8}, /* has none of the factors */
        {&bent, {RLT_WORK_LOOKUP, 0, 1e12, 7, 7, 7}, 2},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 256, 0, 0}, 4},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 768, 0, 0}, 2 / 0.75},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 0, 128, 0}, 4},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 0, 0, 192}, 2 / 0.75},
        {&bent, {RLT_WORK_MATMUL, 1e12, 0, 256, 128, 64}, 32}, /* 256 x 128 is half an area, too */
        {&bent, {RLT_WORK_CONVOLUTION, 1e12, 0, 0, 0, 64}, 1 / 0.8},
        /* Half for the rows. A sum of 8192 is two pieces, so 256 x 128 is twice half an area. */
        {&bent, {RLT_WORK_CONVOLUTION, 1e12, 0, 256, 128, 8192}, 2 * 1.5 / 0.8},
        {&bent, {RLT_WORK_CONVOLUTION, 1e12, 0, 1, 256, 64}, 257 * 2 / 0.8}, /* a tile has 128 rows */
    };
    (void)state;
    bent.memory = 0.5;
    bent.most[RLT_WORK_MATMUL] = 0.5;
    bent.most[RLT_WORK_ATTENTION] = 0.25;
    bent.most[RLT_WORK_CONVOLUTION] = 0.8;
    bent.rows_half = 256;
    bent.outputs_half = 128;
    bent.inputs_half = 64;
    bent.area_half = 256 * 128;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_time t = rlt_roofline_time(rows[i].s, &rows[i].w);
        double expected = rows[i].seconds * 1e12 + 5e6;
        if (fabs((double)t - expected) > expected * 1e-12 + 0.5)
            fail_msg("case %zu: %lld ps, expected %.0f", i, (long long)t, expected);
    }
    bent.peak_Flops = 1;
    assert_true(rlt_roofline_time(&bent, &(rlt_work){.flop = 1e30}) == RLT_TIME_MAX);
    assert_true(rlt_roofline_time(&bent, &(rlt_work){.flop = INFINITY}) == RLT_TIME_MAX);
}

#define HEAD                                                                                                 \
    "{\"name\": \"x\", \"source\": \"a test\", \"memory\": \"80GB\", \"bandwidth\": \"2TB/s\", \"peaks\": "  \
    "{\"bf16\": \"312TFLOPS\", \"fp32\": \"19.5TFLOPS\", \"fp8\": \"624TFLOPS\"}, \"launch\": \"4us\""
#define KERNELS(e)                                                                                           \
    HEAD ", \"kernels\":\n{\"memory\": 0.9, \"most\": {\"matmul\": " e                                       \
         ", \"attention\": 1, \"convolution\": 1, \"lookup\": 1, \"vector\": 1}"

/* Constants are those of the accelerator, times those of the stack, else of the stack "any". */
static void rooflines(void **state)
{
    static const char text[] = KERNELS(
        "0.5") ", \"precisions\": {\"fp8\": 0.8}, \"host\": 0.5}, \"stacks\": [{\"name\": \"s\", \"most\": "
               "{\"matmul\": 0.6}, \"precisions\": {\"fp8\": 0.5}, \"host_kernel\": \"10us\"},\n"
               "{\"name\": \"any\", \"most\": {\"matmul\": 3}}]}";
    static const struct {
        const char *stack, *precision, *found;
        double most, host_us;
    } rows[] = {{"s", "bf16", "s", 0.3, 5},
                {"s", "fp8", "s", 0.5 * 0.6 * 0.8 * 0.5, 5},
                {"t", "bf16", "any", 1, 0},
                {NULL, "fp8", "any", 1, 0},
                {"any", "fp32", "any", 1, 0}};
    rlt_accelerator a;
    rlt_error err;
    rlt_roofline s;
    uint64_t peak;
    (void)state;
    assert_int_equal(load_text(text, &a, &err), 0);
    assert_int_equal(a.memory_bytes, 80000000000);
    assert_int_equal(a.memory_Bps, 2000000000000);
    assert_int_equal(a.launch_ps, 4 * RLT_US);
    assert_true(a.overlap_slowdown == 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(rlt_accelerator_roofline(&a, rows[i].stack, rows[i].precision, &s, &err), 0);
        assert_string_equal(s.stack, rows[i].found);
        assert_true(fabs(s.most[RLT_WORK_MATMUL] - rows[i].most) < 1e-12);
        assert_true(s.host_kernel_ps == rows[i].host_us * RLT_US);
    }
    assert_int_equal(rlt_accelerator_roofline(&a, "s", "fp8", &s, &err), 0);
    assert_int_equal(s.peak_Flops, 624000000000000);
    assert_int_equal(s.peak_16_Flops, 312000000000000);
    assert_int_equal(rlt_accelerator_peak(&a, "fp32", &peak, &err), 0);
    assert_int_equal(peak, 19500000000000);
    assert_int_equal(rlt_accelerator_roofline(&a, "s", "fp4", &s, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what, "has no peak for precision fp4; known are: bf16, fp32, fp8");
    assert_int_equal(load_text(KERNELS("0.5") "}}", &a, &err), 0);
    assert_int_equal(rlt_accelerator_roofline(&a, "s", "bf16", &s, &err), 0);
    assert_true(s.most[RLT_WORK_MATMUL] == 0.5 && s.host_kernel_ps == 0);
}

/* Fitted goes before derived, then the narrowest interval; what has no entry is derived or assumed. */
static void evidence(void **state)
{
    static const char text[] = KERNELS(
        "0.5") "}, \"stacks\": [{\"name\": \"s\"}, {\"name\": \"t\"}, {\"name\": \"u\"},\n"
               "{\"name\": \"any\", \"spread\": {\"dense\": {\"low\": 0.5, \"high\": 2}}}], \"evidence\": [\n"
               "{\"stack\": \"s\", \"precision\": \"bf16\", \"kind\": \"dense\", \"rows\": 3, \"low\": 0.8, \"high\": 1.25},\n"
               "{\"stack\": \"t\", \"precision\": \"bf16\", \"kind\": \"dense\", \"rows\": 2, \"low\": 0.9, \"high\": 1.1},\n"
               "{\"stack\": \"t\", \"kind\": \"dense\", \"rows\": 0, \"low\": 0.7, \"high\": 1.4},\n"
               "{\"stack\": \"s\", \"precision\": \"fp8\", \"kind\": \"dense\", \"rows\": 1, \"low\": 0.5, \"high\": 2},\n"
               "{\"stack\": \"gone\", \"precision\": \"fp32\", \"kind\": \"dense\", \"rows\": 9, \"low\": 1, \"high\": 1}]}";
    static const struct {
        const char *stack, *precision;
        rlt_model_kind kind;
        rlt_basis basis;
        uint32_t rows;
        double low;
        const char *best;
    } rows[] = {
        {"s", "bf16", RLT_KIND_DENSE, RLT_BASIS_FITTED, 3, 0.8, "t"},
        {"t", "bf16", RLT_KIND_DENSE, RLT_BASIS_FITTED, 2, 0.9, "t"},
        {"t", "fp8", RLT_KIND_DENSE, RLT_BASIS_DERIVED, 0, 0.7, "s"}, /* fitted, if wider */
        {"s", "fp32", RLT_KIND_DENSE, RLT_BASIS_DERIVED, 0, 0.5, "t"},
        {"u", "bf16", RLT_KIND_DENSE, RLT_BASIS_DERIVED, 0, 0.5, "t"},
        {"s", "bf16", RLT_KIND_EXPERTS, RLT_BASIS_ASSUMED, 0, 0, "any"},
        {"s", "bf16", RLT_KIND_OTHER, RLT_BASIS_ASSUMED, 0, 0.5, "any"},
    };
    rlt_accelerator a;
    rlt_error err;
    (void)state;
    assert_int_equal(load_text(text, &a, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_grounds g = rlt_accelerator_grounds(&a, rows[i].stack, rows[i].precision, rows[i].kind);
        const char *best = rlt_accelerator_best_stack(&a, rows[i].precision, rows[i].kind);
        if (g.basis != rows[i].basis || g.rows != rows[i].rows || g.spread.low != rows[i].low ||
            strcmp(best, rows[i].best) != 0)
            fail_msg("case %zu: %s, %u rows, low %g, best %s", i, rlt_basis_name(g.basis), g.rows,
                     g.spread.low, best);
    }
}

/* Convolutions and state spaces were never measured; lookups are no experts. */
static void kinds(void **state)
{
    static const struct {
        const char *spec;
        rlt_model_kind kind;
    } rows[] = {{"gpt3-175b", RLT_KIND_DENSE},
                {"mixtral-8x7b", RLT_KIND_EXPERTS},
                {"resnet50", RLT_KIND_OTHER},
                {"dlrm", RLT_KIND_OTHER}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_model m;
        assert_int_equal(rlt_model_open(rows[i].spec, &m, NULL), 0);
        assert_int_equal(rlt_model_kind_of(&m), rows[i].kind);
        rlt_model_free(&m);
    }
}

#define BEGIN "{\"name\": \"x\", \"source\": \"y\", \"memory\": \"1GB\", \"bandwidth\": \"1GB/s\""

static void refused(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *place, *what;
    } rows[] = {
        {"", RLT_EMALFORMED, "", ""},
        {"[]", RLT_ESCHEMA, ":1:1", "expected an object"},
        {"{}", RLT_ESCHEMA, ":1:1", "missing 'name'"},
        {"{\"name\": \"\"}", RLT_ERANGE, ":1:10", "1 to 63 bytes"},
        {"{\"name\": \"x\"}", RLT_ESCHEMA, ":1:1", "missing 'source'"},
        {"{\"nam\": \"x\"}", RLT_ESCHEMA, ":1:9", "did you mean 'name'?"},
        {"{\"name\": \"x\", \"source\": \"y\",\n\"memory\": 80}", RLT_EMALFORMED, ":2:11", "80"},
        {"{\"name\": \"x\", \"source\": \"y\", \"memory\": \"80GB\",\n\"bandwidth\": \"80GB\"}",
         RLT_EMALFORMED, ":2:14", "80GB"},
        {"{\"name\": \"x\", \"source\": \"y\", \"memory\": \"0GB\", \"bandwidth\": \"1GB/s\"}", RLT_ERANGE,
         ":1:1", "above 0"},
        {BEGIN "}", RLT_ESCHEMA, ":1:1", "expected 'peaks'"},
        {BEGIN ", \"peaks\":\n{\"bf16\": \"3TF\"}, \"kernels\": {}}", RLT_EMALFORMED, ":2:10", "3TF"},
        {BEGIN ", \"peaks\":\n{\"bf16\": \"0TFLOPS\"}, \"kernels\": {}}", RLT_ERANGE, ":2:10", "above 0"},
        {BEGIN ", \"peaks\":\n{\"any\": \"1TFLOPS\"}, \"kernels\": {}}", RLT_ESCHEMA, ":2:9", "a precision"},
        {BEGIN ",\n\"overlap_slowdown\": 0.5}", RLT_ERANGE, ":2:21", "from 1 to 100"},
        {HEAD "}", RLT_ESCHEMA, "", "expected 'kernels'"},
        {HEAD ", \"kernels\":\n{}}", RLT_ESCHEMA, ":2:1", "missing 'most'"},
        {HEAD ", \"kernels\":\n{\"most\": {\"matmul\": 0.5}}}", RLT_ESCHEMA, ":2:10", "missing 'attention'"},
        {KERNELS("0") "}}", RLT_ERANGE, ":2:36", "from 1e-06 to 1"},
        {KERNELS("1.5") "}}", RLT_ERANGE, ":2:36", "from 1e-06 to 1"},
        {KERNELS("\"1\"") "}}", RLT_ESCHEMA, ":2:36", "expected a number"},
        {KERNELS("1") ",\n\"rows_half\": -1}}", RLT_ERANGE, ":3:14", "from 0 to 1e+12"},
        {KERNELS("1") ",\n\"rows_hlf\": 1}}", RLT_ESCHEMA, ":3:13", "did you mean 'rows_half'?"},
        {KERNELS("1") ",\n\"precisions\": 1}}", RLT_ESCHEMA, ":3:15", "expected an object"},
        {KERNELS("1") ",\n\"precisions\": {\"fp8\": 0}}}", RLT_ERANGE, ":3:23", "from 0.01 to 10"},
        {KERNELS("1") "},\n\"stacks\": {}}", RLT_ESCHEMA, ":3:11", "an array of stacks"},
        {KERNELS("1") "},\n\"stacks\": [{}]}", RLT_ESCHEMA, ":3:12", "missing 'name'"},
        {KERNELS("1") "},\n\"stacks\": [{\"name\": \"s\"},\n{\"name\": \"s\"}]}", RLT_ESCHEMA, ":4:1",
         "a second stack 's'"},
        {KERNELS("1") "},\n\"evidence\": {}}", RLT_ESCHEMA, ":3:13", "an array of evidence"},
        {KERNELS(
             "1") "},\n\"evidence\": [{\"stack\": \"s\",\n\"kind\": \"x\", \"rows\": 1, \"low\": 1, \"high\": 1}]}",
         RLT_ESCHEMA, ":4:9", "dense or experts"},
        {KERNELS(
             "1") "},\n\"evidence\": [{\"stack\": \"s\", \"kind\": \"dense\", \"rows\": 1, \"low\": 1,\n\"high\": 0.5}]}",
         RLT_ERANGE, ":4:9", "at least low, 1"},
        {KERNELS("1") "},\n\"stacks\": [{\"name\": \"s\",\n\"spread\": {\"dence\": 1}}]}", RLT_ESCHEMA,
         ":4:21", "did you mean 'dense'?"},
    };
    char where[100], many[8192] = KERNELS("1") "}, \"stacks\": [";
    rlt_accelerator a;
    rlt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = load_text(rows[i].text, &a, &err);
        snprintf(where, sizeof where, "%s%s", path, rows[i].place);
        if (rc != rows[i].code || strncmp(err.where, where, strlen(where)) != 0 ||
            !strstr(err.what, rows[i].what))
            fail_msg("case %zu: %d at '%s': '%s'", i, rc, err.where, err.what);
    }
    for (int i = 0; i <= RLT_MAX_STACKS; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%s{\"name\": \"s%d\"}", i ? "," : "", i);
    strcat(many, "]}");
    assert_int_equal(load_text(many, &a, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "more than 32 stacks"));
    assert_int_equal(rlt_accelerator_load("no-such", "workload/accelerators", &a, NULL), RLT_ENAME);
    assert_int_equal(rlt_accelerator_load("../accelerators/h200", "workload/accelerators", &a, NULL),
                     RLT_EIO);
    assert_int_equal(rlt_accelerator_load("", "workload/accelerators", &a, NULL), RLT_ENAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),  cmocka_unit_test(times), cmocka_unit_test(rooflines),
        cmocka_unit_test(evidence), cmocka_unit_test(kinds), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
