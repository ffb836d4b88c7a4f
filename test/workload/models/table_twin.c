/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of layers at random, written as CSV and as JSON, against what table.c promises of each cell and of
 * each empty one; tables of tensors against layers grouped here; limits of all numbers, and texts of refusals.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/model.h"

enum { ROWS = 8, TEXT = 8192 };

static char dir[] = "/tmp/ringlet-table-XXXXXX";
static char csv[64], json[64];

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(csv, sizeof csv, "%s/table.csv", dir);
    snprintf(json, sizeof json, "%s/table.json", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(csv);
    unlink(json);
    return rmdir(dir);
}

static int read_text(const char *path, const char *text, rlt_model *m, rlt_error *err)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    *err = (rlt_error){0};
    return rlt_model_open(path, m, err);
}

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    assert_true((size_t)vsnprintf(text + used, TEXT - used, format, args) < TEXT - used);
    va_end(args);
}

/* ---- layers ---- */

enum { COUNT, REAL, FLAG, WORK };
static const struct {
    const char *name;
    int kind;
} columns[] = {{"work", WORK},
               {"parameters", COUNT},
               {"expert_parameters", COUNT},
               {"tied_parameters", COUNT},
               {"experts", COUNT},
               {"forward_flop", REAL},
               {"backward_flop", REAL},
               {"moved", REAL},
               {"saved", REAL},
               {"saved_split", REAL},
               {"saved_scores", REAL},
               {"saved_products", REAL},
               {"inner_gradients", REAL},
               {"logits", REAL},
               {"output", COUNT},
               {"tp", COUNT},
               {"tp_inputs", COUNT},
               {"ep", COUNT},
               {"cp", COUNT},
               {"sharded", FLAG},
               {"block", COUNT},
               {"movable", FLAG}};
enum { COLUMNS = sizeof columns / sizeof *columns, FORWARD = 5, BACKWARD = 6, SHARDED = 19, BLOCK, MOVABLE };
static const char *const kinds[] = {"matmul", "attention", "convolution", "lookup", "vector"};

/* A table: what each cell holds, if it is given. */
typedef struct cells {
    bool given[ROWS][COLUMNS];
    double value[ROWS][COLUMNS];
    uint32_t n;
} cells;

static double draw_value(dice *d, int kind)
{
    if (kind == WORK)
        return below(d, 5);
    if (kind == FLAG)
        return below(d, 2);
    return kind == COUNT ? below(d, 100) : below(d, 100) / 4.0;
}

/* Draws cells. Blocks rise by one at most, and only the first layer of one is movable. */
static void draw(cells *c, dice *d)
{
    memset(c, 0, sizeof *c);
    c->n = 1 + below(d, ROWS);
    uint32_t block = 0;
    for (uint32_t r = 0; r < c->n; r++) {
        for (uint32_t k = 0; k < COLUMNS; k++) {
            c->given[r][k] = below(d, 2);
            c->value[r][k] = draw_value(d, columns[k].kind);
        }
        bool begins = r == 0 || !c->given[r][BLOCK] || below(d, 2);
        block += r > 0 && begins;
        c->value[r][BLOCK] = block;
        if (!begins)
            c->value[r][MOVABLE] = 0;
    }
}

static void cell_text(const cells *c, uint32_t r, uint32_t k, bool is_json, char *text)
{
    double v = c->value[r][k];
    if (columns[k].kind == WORK)
        add(text, is_json ? "\"%s\"" : "%s", kinds[(uint32_t)v]);
    else if (columns[k].kind == FLAG)
        add(text, "%s", is_json ? (v > 0 ? "true" : "false") : (v > 0 ? "yes" : "no"));
    else
        add(text, "%.17g", v);
}

/* Writes columns in an order of their own: from `first` on, the name last. */
static void write_csv(const cells *c, uint32_t first, char *text)
{
    *text = '\0';
    for (uint32_t k = 0; k < COLUMNS; k++)
        add(text, "%s,", columns[(k + first) % COLUMNS].name);
    add(text, "name\n");
    for (uint32_t r = 0; r < c->n; r++) {
        for (uint32_t k = 0; k < COLUMNS; k++) {
            uint32_t at = (k + first) % COLUMNS;
            if (c->given[r][at])
                cell_text(c, r, at, false, text);
            add(text, ",");
        }
        add(text, "layer %u\n", r);
    }
}

static void write_json(const cells *c, char *text)
{
    *text = '\0';
    add(text, "{\"layers\": [");
    for (uint32_t r = 0; r < c->n; r++) {
        add(text, "%s{\"name\": \"layer %u\"", r ? ",\n" : "", r);
        for (uint32_t k = 0; k < COLUMNS; k++)
            if (c->given[r][k]) {
                add(text, ", \"%s\": ", columns[k].name);
                cell_text(c, r, k, true, text);
            }
        add(text, "}");
    }
    add(text, "]}");
}

/* Compares a row with its layer. */
static void compare_row(const cells *c, uint32_t r, const rlt_model *m)
{
    const rlt_model_layer *l = &m->layers[r];
    double v[COLUMNS];
    for (uint32_t k = 0; k < COLUMNS; k++)
        v[k] = c->given[r][k] ? c->value[r][k] : 0;
    bool begins = r == 0 || c->value[r][BLOCK] > c->value[r - 1][BLOCK];
    v[BLOCK] = c->value[r][BLOCK];
    v[MOVABLE] = c->given[r][MOVABLE] ? v[MOVABLE] : begins;
    v[SHARDED] = c->given[r][SHARDED] ? v[SHARDED] : 1;
    v[BACKWARD] = c->given[r][BACKWARD] ? v[BACKWARD] : 2 * v[FORWARD];
    const double got[] = {l->work,
                          (double)l->parameters,
                          (double)l->expert_parameters,
                          (double)l->tied_parameters,
                          l->experts,
                          l->forward_flop,
                          l->backward_flop,
                          l->moved_elements,
                          l->saved_whole,
                          l->saved_split,
                          l->saved_scores,
                          l->saved_products,
                          l->inner_gradients,
                          l->logits,
                          (double)l->output_elements,
                          (double)l->tp_elements,
                          (double)l->tp_inputs,
                          (double)l->ep_elements,
                          (double)l->cp_elements,
                          l->sharded,
                          l->block,
                          l->movable};
    for (uint32_t k = 0; k < COLUMNS; k++)
        if (fabs(got[k] - v[k]) > 0)
            fail_msg("layer %u: %s %g, expected %g", r, columns[k].name, got[k], v[k]);
    char name[24];
    snprintf(name, sizeof name, "layer %u", r);
    assert_string_equal(l->name, name);
}

static void compare(const cells *c, const rlt_model *m)
{
    uint32_t n = 0;
    uint64_t sum = 0;
    assert_int_equal(m->n_layers, c->n);
    for (uint32_t r = 0; r < c->n; r++) {
        compare_row(c, r, m);
        for (uint32_t k = 1; k < 3; k++) { /* dense parameters, those of experts */
            if (!c->given[r][k] || c->value[r][k] <= 0)
                continue;
            const rlt_model_tensor *t = &m->tensors[n++];
            assert_true(t->layer == r && t->expert == (k == 2) && t->elements == (uint64_t)c->value[r][k]);
            sum += t->elements;
        }
    }
    assert_int_equal(m->n_tensors, n);
    assert_int_equal(m->parameters, sum);
    assert_int_equal(m->n_products, 0);
    assert_true(m->tokens == 1 && m->hidden == 0 && m->heads == 0 && m->kv_heads == 0);
    assert_string_equal(m->name, "table");
    assert_string_equal(m->family, "table");
    assert_string_equal(m->sample, "sample");
}

static void layers(void **state)
{
    static char text[TEXT];
    dice d = {.seed = 1};
    (void)state;
    for (uint32_t trial = 0; trial < 400; trial++) {
        cells c;
        rlt_model m;
        rlt_error err;
        draw(&c, &d);
        write_csv(&c, below(&d, COLUMNS), text);
        for (int way = 0; way < 2; way++) {
            if (way)
                write_json(&c, text);
            if (read_text(way ? json : csv, text, &m, &err))
                fail_msg("trial %u: %s: %s\n%s", trial, err.where, err.what, text);
            compare(&c, &m);
            rlt_model_free(&m);
        }
    }
}

/* ---- tensors ---- */

/* Tensors with one name up to their ending form a layer. The first decides on the kind of work. */
static void tensors(void **state)
{
    static char text[TEXT];
    static const char *const endings[] = {"", ".w", ".b", ".bn.w", ".bn.b", ".c"};
    dice d = {.seed = 2};
    (void)state;
    for (uint32_t trial = 0; trial < 300; trial++) {
        struct {
            char name[8];
            uint64_t parameters;
            double flop;
            int work;
        } want[ROWS];
        uint32_t n = 0, rows = 1 + below(&d, ROWS), bytes = below(&d, 2);
        rlt_model m;
        rlt_error err;
        snprintf(text, sizeof text, "%stensor,params,fwd_flops_per_img\n", bytes ? "bytes_fp32," : "");
        for (uint32_t r = 0; r < rows; r++) {
            char name[8];
            const char *ending = endings[below(&d, 6)];
            uint32_t params = 1 + below(&d, 8), flop = below(&d, 3) ? params * below(&d, 5) : 0;
            snprintf(name, sizeof name, "%c", 'a' + (char)below(&d, 2));
            if (bytes)
                add(text, "%u,", 4 * params);
            add(text, "%s%s,%u,%u\n", name, ending, params, flop);
            if (strcmp(ending, ".c") == 0)
                strcat(name, ".c"); /* not one of the endings */
            if (n == 0 || strcmp(want[n - 1].name, name) != 0) {
                memset(&want[n], 0, sizeof *want);
                strcpy(want[n].name, name);
                want[n].work = flop == 0            ? RLT_WORK_VECTOR
                               : flop <= 2 * params ? RLT_WORK_MATMUL
                                                    : RLT_WORK_CONVOLUTION;
                n++;
            }
            want[n - 1].parameters += params;
            want[n - 1].flop += flop;
        }
        if (read_text(csv, text, &m, &err))
            fail_msg("%s: %s\n%s", err.where, err.what, text);
        assert_int_equal(m.n_layers, n);
        assert_int_equal(m.n_tensors, rows);
        for (uint32_t i = 0; i < n; i++) {
            const rlt_model_layer *l = &m.layers[i];
            assert_string_equal(l->name, want[i].name);
            assert_int_equal(l->work, want[i].work);
            assert_int_equal(l->parameters, want[i].parameters);
            assert_true(fabs(l->forward_flop - want[i].flop) <= 0);
            assert_true(fabs(l->backward_flop - 2 * want[i].flop) <= 0);
            assert_true(l->block == i && l->movable && l->sharded);
        }
        assert_string_equal(m.sample, "image");
        rlt_model_free(&m);
    }
}

/* ---- limits and refusals ---- */

static void expect(const char *path, const char *text, int code, const char *place, const char *what)
{
    char where[96];
    rlt_model m;
    rlt_error err;
    int rc = read_text(path, text, &m, &err);
    snprintf(where, sizeof where, "%s%s", path, place);
    if (rc != code || (rc && (strcmp(err.where, where) != 0 || strcmp(err.what, what) != 0)))
        fail_msg("%s: %d at '%s': '%s'", text, rc, err.where, err.what);
    rlt_model_free(&m);
}

/* The largest number is taken, the next is refused. */
static void limits_of_json(void **state)
{
    static const struct {
        const char *name;
        uint32_t most;
    } rows[] = {{"tokens", 1 << 24}, {"hidden", 1 << 20}, {"heads", 1 << 16}, {"kv_heads", 1 << 16}};
    char text[200], place[40], what[80];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"%s\": %u, \"layers\": [{\"name\": \"x\"}]}", rows[i].name,
                 rows[i].most);
        expect(json, text, 0, "", "");
        snprintf(text, sizeof text, "{\"%s\": %u, \"layers\": [{\"name\": \"x\"}]}", rows[i].name,
                 rows[i].most + 1);
        snprintf(place, sizeof place, ":1:%zu: %s", strlen(rows[i].name) + 6, rows[i].name);
        snprintf(what, sizeof what, "expected a number from 0 to %u, got %u", rows[i].most, rows[i].most + 1);
        expect(json, text, RLT_ERANGE, place, what);
        snprintf(text, sizeof text, "{\"%s\": 0, \"layers\": [{\"name\": \"x\"}]}", rows[i].name);
        expect(json, text, i ? 0 : RLT_ERANGE, place, "expected 1 or more");
    }
}

#define NAME_63 "123456789012345678901234567890123456789012345678901234567890123"
#define TENSORS "tensor,params,bytes_fp32,fwd_flops_per_img\n"

static void limits_of_csv(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *place, *what;
    } rows[] = {
        {"name,tp\nx,1152921504606846976\n", 0, "", ""},
        {"name,tp\nx,1152921504606846977\n", RLT_EMALFORMED, ":2:3",
         "tp: expected 0 to 1152921504606846976, got '1152921504606846977'"},
        {"name,experts\nx,1048576\n", 0, "", ""},
        {"name,experts\nx,1048577\n", RLT_EMALFORMED, ":2:3",
         "experts: expected 0 to 1048576, got '1048577'"},
        {"name,moved\nx,1e30\n", 0, "", ""},
        {"name,moved\nx,1.01e30\n", RLT_EMALFORMED, ":2:3", "moved: expected 0 to 1e+30, got '1.01e30'"},
        {"name,block\nx,0\ny,0\nz,1\n", 0, "", ""},
        {"name,block\nx,0\ny,1\nz,0\n", RLT_ESCHEMA, ":4",
         "expected blocks numbered 0, 1, 2, ... in this order"},
        {"name,block,movable\nx,0,no\ny,0,yes\n", RLT_ESCHEMA, ":3",
         "only the first layer of a block can be movable"},
        {"nam\nx\n", RLT_ESCHEMA, ":1:1", "unknown column 'nam'; did you mean 'name'?"},
        {"bytes_fp32,tensor,params,fwd_flops_per_img\n9,x,2,1\n", RLT_ESCHEMA, ":2:1",
         "9 bytes for 2 parameters: expected 4 bytes per parameter"},
        {"fwd_flops_per_img,params,tensor\n1,2,x\n", 0, "", ""},
        {"params,tensor,fwd_flops_per_img\n2,x,1\n", 0, "", ""},
        {"name,name\nx,1\n", RLT_ESCHEMA, ":1:6", "the column 'name' appears twice"},
        {TENSORS NAME_63 ".w,1,4,1\n", 0, "", ""},
        {TENSORS NAME_63 "4.w,1,4,1\n", RLT_ESCHEMA, ":2:1", "expected a name of 1 to 63 characters"},
        {TENSORS ",1,4,1\n", RLT_ESCHEMA, ":2:1", "expected a name of 1 to 63 characters"},
        {TENSORS ".w,1,4,1\n", 0, "", ""},
        {TENSORS "x,1152921504606846976,4611686018427387904,1e30\n", 0, "", ""},
        {TENSORS "x,1152921504606846977,4,1\n", RLT_EMALFORMED, ":2:3",
         "params: expected a whole number up to 1152921504606846976, got '1152921504606846977'"},
        {TENSORS "x,1,4611686018427387905,1\n", RLT_EMALFORMED, ":2:5",
         "bytes_fp32: expected a whole number up to 4611686018427387904, got '4611686018427387905'"},
        {TENSORS "x,2,9,1\n", RLT_ESCHEMA, ":2:5",
         "9 bytes for 2 parameters: expected 4 bytes per parameter"},
        {TENSORS "x,2,8,1.01e30\n", RLT_EMALFORMED, ":2:7",
         "fwd_flops_per_img: expected a number from 0 to 1e30, got '1.01e30'"},
        {"tensor,fwd_flops_per_img\nx,1\n", RLT_ESCHEMA, ":1",
         "no column 'params': a table of tensors needs tensor, params and fwd_flops_per_img"},
        {"tensor,params\nx,1\n", RLT_ESCHEMA, ":1",
         "no column 'fwd_flops_per_img': a table of tensors needs tensor, params and fwd_flops_per_img"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(csv, rows[i].text, rows[i].code, rows[i].place, rows[i].what);
}

/* Names of layers are cut to 63 characters, and control characters do not get through. */
static void names(void **state)
{
    rlt_model m;
    rlt_error err;
    (void)state;
    assert_int_equal(read_text(csv, "name\n" NAME_63 "45\nx\033y\n", &m, &err), 0);
    assert_string_equal(m.layers[0].name, NAME_63);
    assert_null(strchr(m.layers[1].name, '\033'));
    rlt_model_free(&m);
    assert_int_equal(
        read_text(json,
                  "{\"name\": \"a\\u001bb\", \"sample\": \"0123456789abcdef\", \"layers\": [{\"name\": "
                  "\"x\"}]}",
                  &m, &err),
        0);
    assert_string_equal(m.sample, "0123456789abcde");
    assert_null(strchr(m.name, '\033'));
    rlt_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),        cmocka_unit_test(tensors), cmocka_unit_test(limits_of_json),
        cmocka_unit_test(limits_of_csv), cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
