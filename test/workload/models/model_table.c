/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of layers from files: accepted and refused ones. */
#include <stdio.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/model.h"

static char dir[] = "/tmp/ringlet-model-XXXXXX";
static char csv[64], json[64];

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(csv, sizeof csv, "%s/small.csv", dir);
    snprintf(json, sizeof json, "%s/small.json", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(csv);
    unlink(json);
    return rmdir(dir);
}

static int read_text(const char *path, const char *text, size_t length, rlt_model *m, rlt_error *err)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
    *err = (rlt_error){0};
    return rlt_model_open(path, m, err);
}

static void read_good(const char *path, const char *text, rlt_model *m)
{
    rlt_error err;
    if (read_text(path, text, strlen(text), m, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* Checks for the same three layers, in every format. */
static void check_layers(const rlt_model *m)
{
    const rlt_model_layer *l = m->layers;
    assert_int_equal(m->n_layers, 3);
    assert_string_equal(l[0].name, "in, put");
    assert_int_equal(l[0].work, RLT_WORK_LOOKUP);
    assert_int_equal(l[0].parameters, 10);
    assert_false(l[0].movable);
    assert_true(l[0].sharded);
    assert_string_equal(l[1].name, "mix");
    assert_int_equal(l[1].work, RLT_WORK_MATMUL);
    assert_int_equal(l[1].parameters, 20);
    assert_int_equal(l[1].expert_parameters, 400);
    assert_int_equal(l[1].experts, 4);
    assert_int_equal(l[1].block, 1);
    assert_true(l[1].movable);
    assert_false(l[1].sharded);
    assert_true(l[1].forward_flop == 1e12 && l[1].backward_flop == 2e12);
    assert_true(l[1].saved_whole == 1.5 && l[1].saved_split == 2.5 && l[1].saved_scores == 3.5);
    assert_true(l[1].moved_elements == 7);
    assert_int_equal(l[1].output_elements, 5);
    assert_int_equal(l[1].tp_elements, 6);
    assert_int_equal(l[1].ep_elements, 8);
    assert_int_equal(l[1].cp_elements, 9);
    assert_int_equal(l[2].block, 1);
    assert_false(l[2].movable);
    assert_true(l[2].forward_flop == 4 && l[2].backward_flop == 3);
    assert_int_equal(l[2].tied_parameters, 10);
    assert_int_equal(m->parameters, 430);
    assert_int_equal(m->n_tensors, 3);
    assert_true(m->tensors[2].expert && m->tensors[2].elements == 400 && m->tensors[2].layer == 1);
    assert_string_equal(m->family, "table");
}

static void columns(void **state)
{
    rlt_model m;
    (void)state;
    read_good(csv,
              "\xef\xbb\xbfname,work,parameters,expert_parameters,experts,forward_flop,backward_flop,saved,"
              "saved_split,saved_scores,moved,output,tp,ep,cp,block,movable,sharded,tied_parameters\r\n"
              "\"in, put\",lookup,10,,,,,,,,,,,,,0,no,,\r\n\r\n"
              "mix,,20,400,4,1e12,,1.5,2.5,3.5,7,5,6,8,9,1,,no,\r\n"
              "after,matmul,,,,4,3,,,,,,,,,1,no,yes,10",
              &m);
    check_layers(&m);
    assert_string_equal(m.name, "small");
    assert_int_equal(m.tokens, 1);
    rlt_model_free(&m);
    read_good(
        json,
        "{\"name\": \"three\", \"sample\": \"sequence\", \"tokens\": 64, \"hidden\": 32, \"heads\": 4,\n"
        " \"kv_heads\": 2, \"source\": \"none\", \"layers\": [\n"
        "{\"name\": \"in, put\", \"work\": \"lookup\", \"parameters\": 10, \"movable\": false},\n"
        "{\"name\": \"mix\", \"parameters\": 20, \"expert_parameters\": 400, \"experts\": 4, "
        "\"forward_flop\": 1e12, \"saved\": 1.5, \"saved_split\": 2.5, \"saved_scores\": 3.5, "
        "\"moved\": 7, \"output\": 5, \"tp\": 6, \"ep\": 8, \"cp\": 9, \"sharded\": false},\n"
        "{\"name\": \"after\", \"block\": 1, \"forward_flop\": 4, \"backward_flop\": 3, "
        "\"tied_parameters\": 10}\n"
        "]}",
        &m);
    check_layers(&m);
    assert_string_equal(m.name, "three");
    assert_string_equal(m.sample, "sequence");
    assert_true(m.tokens == 64 && m.hidden == 32 && m.heads == 4 && m.kv_heads == 2);
    rlt_model_free(&m);
}

/* Names group tensors into layers; FLOPs determine the kind of work. */
static void tensors(void **state)
{
    rlt_model m;
    (void)state;
    read_good(csv,
              "tensor,params,bytes_fp32,fwd_flops_per_img\n"
              "a.w,9,36,900\na.bn.w,3,12,0\na.bn.b,3,12,0\nb.w,8,32,16\nb.b,2,8,0\nscale,5,20,0\n",
              &m);
    assert_int_equal(m.n_layers, 3);
    assert_int_equal(m.n_tensors, 6);
    assert_string_equal(m.layers[0].name, "a");
    assert_int_equal(m.layers[0].work, RLT_WORK_CONVOLUTION);
    assert_int_equal(m.layers[0].parameters, 15);
    assert_true(m.layers[0].forward_flop == 900 && m.layers[0].backward_flop == 1800);
    assert_int_equal(m.layers[1].work, RLT_WORK_MATMUL);
    assert_int_equal(m.layers[1].parameters, 10);
    assert_string_equal(m.layers[2].name, "scale");
    assert_int_equal(m.layers[2].work, RLT_WORK_VECTOR);
    assert_string_equal(m.sample, "image");
    rlt_model_free(&m);
}

static void refused_csv(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *place, *what;
    } rows[] = {
        {"", RLT_EMALFORMED, "", "empty"},
        {"\n \n", RLT_EMALFORMED, "", "empty"},
        {"name\n", RLT_ESCHEMA, "", "has no layers"},
        {"parameters\n1\n", RLT_ESCHEMA, ":1", "expected a column 'name' (layers) or 'tensor' (tensors)"},
        {"name,paramters\nx,1\n", RLT_ESCHEMA, ":1:6", "did you mean 'parameters'?"},
        {"name,quux\nx,1\n", RLT_ESCHEMA, ":1:6", "a table of layers has name, work"},
        {"name,tp,tp\nx,1,2\n", RLT_ESCHEMA, ":1:9", "'tp' appears twice"},
        {"name,tp\nx\n", RLT_EMALFORMED, ":2", "1 cells under 2 columns"},
        {"name,tp\nx,1,2\n", RLT_EMALFORMED, ":2", "3 cells under 2 columns"},
        {"name,tp\n,1\n", RLT_ESCHEMA, ":2:1", "has no name"},
        {"name,tp\nx,1\ny,-1\n", RLT_EMALFORMED, ":3:3", "tp: expected a whole number, got '-1'"},
        {"name,tp\nx,1.5\n", RLT_EMALFORMED, ":2:3", "got '1.5'"},
        {"name,parameters\nx,1152921504606846977\n", RLT_EMALFORMED, ":2:3", "got '1152921504606846977'"},
        {"name,parameters\nx,1152921504606846976\ny,1\n", RLT_ERANGE, "", "2^60 parameters"},
        {"name,forward_flop\nx,1e31\n", RLT_EMALFORMED, ":2:3", "expected 0 to 1e+30"},
        {"name,forward_flop\nx,nan\n", RLT_EMALFORMED, ":2:3", "got 'nan'"},
        {"name,forward_flop\nx,-1\n", RLT_EMALFORMED, ":2:3", "got '-1'"},
        {"name,forward_flop\n\"x\"y,1\n", RLT_EMALFORMED, ":2:1", "after a quoted cell"},
        {"name,forward_flop\n\"x,1\n", RLT_EMALFORMED, ":2:1", "does not end"},
        {"name,work\nx,dense\n", RLT_EMALFORMED, ":2:3", "work: expected one of matmul, attention"},
        {"name,sharded\nx,true\n", RLT_EMALFORMED, ":2:3", "sharded: expected one of no, yes"},
        {"name,block\nx,1\n", RLT_ESCHEMA, ":2", "numbered 0, 1, 2"},
        {"name,block\nx,0\ny,2\n", RLT_ESCHEMA, ":3", "numbered 0, 1, 2"},
        {"name,block\nx,0\ny,1\nz,0\n", RLT_ESCHEMA, ":4", "numbered 0, 1, 2"},
        {"name,block,movable\nx,0,yes\ny,0,yes\n", RLT_ESCHEMA, ":3", "only the first layer"},
        {"tensor,params\nx,1\n", RLT_ESCHEMA, ":1", "no column 'fwd_flops_per_img'"},
        {"tensor,fwd_flops_per_img\nx,1\n", RLT_ESCHEMA, ":1", "no column 'params'"},
        {"tensor,params,bytes_fp32,fwd_flops_per_img\nx.w,2,4,1\n", RLT_ESCHEMA, ":2:7",
         "expected 4 bytes per"},
        {"tensor,params,fwd_flops_per_img\n.w,2,x\n", RLT_EMALFORMED, ":2:6", "fwd_flops_per_img"},
        {"tensor,params,fwd_flops_per_img\n,2,3\n", RLT_ESCHEMA, ":2:1", "expected a name"},
    };
    char where[100];
    rlt_model m;
    rlt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = read_text(csv, rows[i].text, strlen(rows[i].text), &m, &err);
        snprintf(where, sizeof where, "%s%s", csv, rows[i].place);
        /* Too many parameters are an error of the model, not of a line. */
        bool placed = rc == RLT_ERANGE || strcmp(err.where, where) == 0;
        if (rc != rows[i].code || !placed || !strstr(err.what, rows[i].what))
            fail_msg("case %zu: %d at '%s': '%s'", i, rc, err.where, err.what);
        assert_null(m.layers);
    }
    assert_int_equal(read_text(csv, "name\nx\0y\n", 9, &m, &err), RLT_EMALFORMED);
    assert_int_equal(rlt_model_open("/nowhere/x.csv", &m, NULL), RLT_EIO);
    assert_int_equal(rlt_model_open("/nowhere/x.json", &m, NULL), RLT_EIO);
}

static void refused_json(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *place, *what;
    } rows[] = {
        {"{", RLT_EMALFORMED, ":1:2", ""},
        {"[]", RLT_ESCHEMA, ":1:1", "expected an object"},
        {"{}", RLT_ESCHEMA, ":1:1", "expected 'layers'"},
        {"{\"layers\": []}", RLT_ESCHEMA, "", "has no layers"},
        {"{\"layers\": 3}", RLT_ESCHEMA, ":1:12", "expected 'layers'"},
        {"{\"layers\": [3]}", RLT_ESCHEMA, ":1:13", "expected an object"},
        {"{\"layers\": [{}]}", RLT_ESCHEMA, ":1:13", "missing 'name'"},
        {"{\"layers\": [{\"name\": \"\"}]}", RLT_ESCHEMA, ":1:13", "has no name"},
        {"{\"layers\": [{\"name\": \"x\",\n \"outptu\": 3}]}", RLT_ESCHEMA, ":2:12",
         "did you mean 'output'?"},
        {"{\"layers\": [{\"name\": \"x\",\n \"tp\": -3}]}", RLT_ERANGE, ":2:8", "got -3"},
        {"{\"layers\": [{\"name\": \"x\", \"saved\": -1}]}", RLT_ERANGE, ":1:36", "at least 0"},
        {"{\"layers\": [{\"name\": \"x\", \"work\": \"dense\"}]}", RLT_ESCHEMA, ":1:35", "got 'dense'"},
        {"{\"layers\": [{\"name\": \"x\", \"movable\": 1}]}", RLT_ESCHEMA, ":1:38", "true or false"},
        {"{\"layers\": [{\"name\": \"x\", \"block\": 1}]}", RLT_ESCHEMA, ":1:13", "numbered 0, 1, 2"},
        {"{\"tokens\": 0, \"layers\": [{\"name\": \"x\"}]}", RLT_ERANGE, ":1:12", "expected 1 or more"},
        {"{\"layer\": []}", RLT_ESCHEMA, ":1:11", "did you mean 'layers'?"},
    };
    char where[100];
    rlt_model m;
    rlt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = read_text(json, rows[i].text, strlen(rows[i].text), &m, &err);
        snprintf(where, sizeof where, "%s%s", json, rows[i].place);
        if (rc != rows[i].code || strncmp(err.where, where, strlen(where)) != 0 ||
            !strstr(err.what, rows[i].what))
            fail_msg("case %zu: %d at '%s': '%s'", i, rc, err.where, err.what);
        assert_null(m.layers);
    }
}

/* A valid file with some changed bytes is read or refused, and leaks no memory. */
static void damaged(void **state)
{
    static const char good[] = "name,work,parameters,forward_flop,block,movable\n"
                               "a,lookup,10,,0,no\n\"b\"\"c\",matmul,20,1e3,1,yes\nd,vector,,2.5,1,no\n";
    char text[sizeof good];
    uint32_t x = 1, fine = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        rlt_model m;
        rlt_error err;
        memcpy(text, good, sizeof good);
        for (int k = 0; k < 1 + i % 3; k++) {
            x = x * 1664525 + 1013904223;
            text[(x >> 8) % (sizeof good - 1)] = (char)(x >> 24);
        }
        int rc = read_text(csv, text, sizeof good - 1 - (i % 5 ? 0 : (x >> 4) % 40), &m, &err);
        assert_true(rc == 0 || (rc == err.code && err.what[0]));
        fine += rc == 0;
        rlt_model_free(&m);
    }
    assert_true(fine > 0 && fine < 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),      cmocka_unit_test(tensors), cmocka_unit_test(refused_csv),
        cmocka_unit_test(refused_json), cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
