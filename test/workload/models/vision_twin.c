/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Models of images and of recommendation against second models of them: random settings are built, and each
 * layer is counted here once more from what vision.c, cnn.c and dlrm.c promise at their top. Blocks of ViT and
 * DiT are those of a transformer with the same settings, which transformer_twin.c counts.
 */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/model.h"

enum { MOST = 600, TEXT = 400 };

/* What a layer has; all else is 0. */
typedef struct wanted {
    char name[RLT_MODEL_NAME];
    rlt_work_kind work;
    uint64_t parameters, expert_parameters, output;
    double flop, kept, moved;
    uint32_t block, n_products;
    bool movable;
    uint32_t experts, ep;
} wanted;

static wanted want[MOST];
static uint32_t n_want;

static wanted *next(rlt_work_kind work, const char *format, ...) __attribute__((format(printf, 2, 3)));
static wanted *next(rlt_work_kind work, const char *format, ...)
{
    va_list args;
    assert_true(n_want < MOST);
    wanted *w = &want[n_want++];
    *w = (wanted){.work = work, .block = n_want > 1 ? want[n_want - 2].block : 0};
    va_start(args, format);
    vsnprintf(w->name, sizeof w->name, format, args);
    va_end(args);
    return w;
}

/* Adds a matrix with a bias. */
static void matrix(wanted *w, double rows, uint64_t in, uint64_t out)
{
    w->parameters += in * out + out;
    w->flop += 2 * rows * (double)in * (double)out;
    w->n_products++;
}

static bool differ(double x, double y)
{
    return fabs(x - y) > 1e-12 * fabs(y);
}

static void compare_layer(const char *spec, const rlt_model_layer *l, const wanted *w)
{
    if (strcmp(l->name, w->name) != 0)
        fail_msg("%s: layer '%s', expected '%s'", spec, l->name, w->name);
    if (l->work != w->work || l->parameters != w->parameters || l->expert_parameters != w->expert_parameters)
        fail_msg("%s: %s: kind %u, %llu parameters, expected %u, %llu", spec, w->name, l->work,
                 (unsigned long long)l->parameters, w->work, (unsigned long long)w->parameters);
    if (l->output_elements != w->output || l->block != w->block || l->movable != w->movable)
        fail_msg("%s: %s: output %llu, block %u, expected %llu, %u", spec, w->name,
                 (unsigned long long)l->output_elements, l->block, (unsigned long long)w->output, w->block);
    if (differ(l->forward_flop, w->flop) || differ(l->backward_flop, 2 * w->flop))
        fail_msg("%s: %s: %.17g and %.17g FLOPs, expected %.17g", spec, w->name, l->forward_flop,
                 l->backward_flop, w->flop);
    if (differ(l->saved_whole, w->kept) || differ(l->moved_elements, w->moved))
        fail_msg("%s: %s: keeps %.17g, moves %.17g, expected %.17g, %.17g", spec, w->name, l->saved_whole,
                 l->moved_elements, w->kept, w->moved);
    assert_int_equal(l->n_products, w->n_products);
    assert_int_equal(l->experts, w->experts);
    assert_int_equal(l->ep_elements, w->ep);
    assert_false(l->sharded);
    assert_true(l->saved_split <= 0 && l->saved_scores <= 0 && l->inner_gradients <= 0);
    assert_int_equal(l->tp_elements, 0);
}

static void open_model(const char *spec, rlt_model *m)
{
    rlt_error err = {0};
    if (rlt_model_open(spec, m, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
}

static void compare(const char *spec, const char *sample)
{
    rlt_model m;
    open_model(spec, &m);
    assert_int_equal(m.n_layers, n_want);
    for (uint32_t i = 0; i < n_want; i++)
        compare_layer(spec, &m.layers[i], &want[i]);
    assert_string_equal(m.sample, sample);
    assert_int_equal(m.tokens, 1);
    rlt_model_free(&m);
}

/* ---- DLRM ---- */

static void widths_of(dice *d, uint32_t *widths, uint32_t *n, char *text, size_t size)
{
    size_t used = 0;
    *n = 1 + below(d, 4);
    for (uint32_t i = 0; i < *n; i++) {
        widths[i] = 1 + below(d, 40);
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? "-" : "", widths[i]);
    }
}

static void mlp(const char *stem, uint32_t in, const uint32_t *widths, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = i ? widths[i - 1] : in;
        wanted *w = next(RLT_WORK_MATMUL, "%s %u", stem, i + 1);
        w->output = widths[i];
        w->kept = from;
        w->moved = widths[i] + widths[i]; /* the activation reads and writes */
        matrix(w, 1, from, widths[i]);
    }
}

/* All pairs of the vectors, counted one by one: of each table, and of the dense features. */
static uint32_t pairs(uint32_t vectors)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < vectors; i++)
        for (uint32_t j = i + 1; j < vectors; j++)
            n++;
    return n;
}

static void recommendation(void **state)
{
    dice d = {.seed = 2};
    (void)state;
    for (uint32_t trial = 0; trial < 100; trial++) {
        uint32_t bottom[4], top[4], n_bottom, n_top, rows[8], one = below(&d, 2);
        uint32_t tables = 2 + below(&d, 6), pooling = 1 + below(&d, 5), dense = 1 + below(&d, 20);
        char text[TEXT], down[32], up[32], list[64] = "";
        size_t used = 0;
        widths_of(&d, bottom, &n_bottom, down, sizeof down);
        widths_of(&d, top, &n_top, up, sizeof up);
        for (uint32_t i = 0; i < tables; i++) {
            rows[i] = i && one ? rows[0] : 1 + below(&d, 500);
            if (i == 0 || !one)
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i ? "-" : "", rows[i]);
        }
        uint32_t dim = bottom[n_bottom - 1], vectors = tables + 1;
        snprintf(text, sizeof text, "dlrm:tables=%u,pooling=%u,dense=%u,rows=%s,dim=%u,bottom=%s,top=%s",
                 tables, pooling, dense, list, dim, down, up);
        n_want = 0;
        wanted *w = next(RLT_WORK_LOOKUP, "embedding");
        for (uint32_t i = 0; i < tables; i++)
            w->expert_parameters += rows[i] * dim;
        w->experts = tables;
        w->output = tables * dim;
        w->ep = (tables * dim + 1) / 2;
        w->moved = tables * (pooling * dim + dim); /* rows read, their sum written */
        mlp("bottom", dense, bottom, n_bottom);
        w = next(RLT_WORK_MATMUL, "interaction");
        w->output = dim + pairs(vectors);
        w->kept = vectors * dim;
        w->flop = 2.0 * vectors * vectors * dim;
        w->moved = vectors * dim + vectors * vectors + (double)w->output;
        mlp("top", dim + pairs(vectors), top, n_top);
        compare(text, "sample");
    }
}

/* ---- convolutions ---- */

/* The image behind the last layer. */
static uint32_t channels, side;
static bool begins;

static void begin_block(void)
{
    begins = true;
}

static wanted *shown(rlt_work_kind work, const char *name, const char *ending)
{
    wanted *w = next(work, "%s%s", name, ending);
    w->block += begins;
    w->movable = begins;
    begins = false;
    w->output = channels * side * side;
    return w;
}

/* A convolution; `passes` over its output follow, and a batch norm if there is one (3 passes more). */
static void convolve(const char *name, uint32_t k, uint32_t out, uint32_t stride, uint32_t passes, bool bn,
                     bool keeps)
{
    uint32_t in = channels, steps = 0;
    double before = channels * side * side;
    for (uint32_t x = 0; x < side; x += stride)
        steps++;
    channels = out;
    side = steps;
    double after = channels * side * side;
    wanted *w = shown(RLT_WORK_CONVOLUTION, name, "");
    w->kept = keeps ? before : 0;
    w->parameters = k * k * in * out + (bn || passes == 0 ? 0 : out);
    w->flop = 2.0 * k * k * in * out * side * side;
    w->n_products = 1;
    w->moved = bn ? 0 : passes * after;
    if (!bn)
        return;
    w = shown(RLT_WORK_VECTOR, name, ".bn");
    w->kept = after;
    w->moved = (3 + passes) * after;
    w->parameters = 2 * out;
}

/* The layer before shrinks its output: it keeps, reads and writes an image more. */
static void pool(uint32_t stride)
{
    wanted *w = &want[n_want - 1];
    double before = channels * side * side;
    uint32_t steps = 0;
    for (uint32_t x = 0; x < side; x += stride)
        steps++;
    side = steps;
    w->output = channels * side * side;
    w->kept += before;
    w->moved += before + (double)w->output;
}

static void connected(const char *name, uint32_t width, uint32_t passes)
{
    uint64_t in = channels * side * side;
    channels = width;
    side = 1;
    wanted *w = shown(RLT_WORK_CONVOLUTION, name, "");
    w->kept = (double)in;
    w->moved = passes * width;
    matrix(w, 1, in, width);
}

/* Blocks of each stage, and whether blocks are bottlenecks. */
static const struct {
    uint32_t depth, blocks[4];
    bool wide;
} nets[] = {{18, {2, 2, 2, 2}, false},
            {34, {3, 4, 6, 3}, false},
            {50, {3, 4, 6, 3}, true},
            {101, {3, 4, 23, 3}, true},
            {152, {3, 8, 36, 3}, true}};

static void residual(const char *name, uint32_t inner, uint32_t outer, uint32_t stride, bool wide)
{
    char part[RLT_MODEL_NAME];
    uint32_t in = channels, before = side, n = 1;
    begin_block();
    if (wide) {
        snprintf(part, sizeof part, "%s.conv%u", name, n++);
        convolve(part, 1, inner, 1, 2, true, true);
    }
    snprintf(part, sizeof part, "%s.conv%u", name, n++);
    convolve(part, 3, inner, stride, 2, true, true);
    snprintf(part, sizeof part, "%s.conv%u", name, n++);
    convolve(part, wide ? 1 : 3, outer, 1, 3, true, true); /* and the sum with the shortcut */
    if (in == outer && stride == 1)
        return;
    channels = in;
    side = before;
    snprintf(part, sizeof part, "%s.down", name);
    convolve(part, 1, outer, stride, 0, true, false);
}

static void residual_nets(void **state)
{
    dice d = {.seed = 3};
    (void)state;
    for (uint32_t trial = 0; trial < 60; trial++) {
        uint32_t at = below(&d, 5), image = 1 + below(&d, 70), in = 1 + below(&d, 5),
                 classes = 1 + below(&d, 50), width = nets[at].wide ? 1 + below(&d, 3) : 1;
        char text[TEXT];
        snprintf(text, sizeof text, "resnet:depth=%u,image=%u,channels=%u,classes=%u,width=%u",
                 nets[at].depth, image, in, classes, width);
        n_want = 0;
        channels = in;
        side = image;
        begins = false;
        convolve("conv1", 7, 64, 2, 2, true, true);
        pool(2);
        for (uint32_t stage = 0; stage < 4; stage++)
            for (uint32_t i = 0; i < nets[at].blocks[stage]; i++) {
                static const uint32_t base[] = {64, 128, 256, 512};
                char name[32];
                snprintf(name, sizeof name, "layer%u.%u", stage + 1, i);
                residual(name, base[stage] * width, base[stage] * (nets[at].wide ? 4 : 1),
                         stage > 0 && i == 0 ? 2 : 1, nets[at].wide);
            }
        pool(side); /* to one pixel */
        connected("fc", classes, 0);
        want[n_want - 1].block++;
        compare(text, "image");
    }
}

static void plain_nets(void **state)
{
    static const struct {
        uint32_t depth, convs[5];
    } rows[] = {{11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
    static const uint32_t widths[] = {64, 128, 256, 512, 512};
    dice d = {.seed = 4};
    (void)state;
    for (uint32_t trial = 0; trial < 40; trial++) {
        uint32_t at = below(&d, 4), image = 1 + below(&d, 70), in = 1 + below(&d, 5),
                 classes = 1 + below(&d, 50), bn = below(&d, 2), number = 0;
        char text[TEXT], name[32];
        snprintf(text, sizeof text, "vgg:depth=%u,image=%u,channels=%u,classes=%u,batch_norm=%s",
                 rows[at].depth, image, in, classes, bn ? "yes" : "no");
        n_want = 0;
        channels = in;
        side = image;
        begins = false;
        for (uint32_t stage = 0; stage < 5; stage++) {
            for (uint32_t i = 0; i < rows[at].convs[stage]; i++) {
                if (number)
                    begin_block();
                snprintf(name, sizeof name, "features.%u", number++);
                convolve(name, 3, widths[stage], 1, 2, bn, true);
                want[n_want - 1 - bn].parameters += bn ? widths[stage] : 0; /* a bias all the same */
            }
            pool(2);
            number++;
        }
        for (uint32_t i = 6; i < 9; i++) {
            begin_block();
            snprintf(name, sizeof name, "fc%u", i);
            connected(name, i < 8 ? 4096 : classes, i < 8 ? 2 : 0);
        }
        compare(text, "image");
    }
}

/* ---- ViT and DiT ---- */

typedef struct vision {
    uint32_t layers, hidden, heads, ffn, image, patch, channels, classes, token, qk;
} vision;

/* Blocks are those of a transformer with the same settings. */
static void same_block(const rlt_model_layer *got, const rlt_model_layer *l, bool weights)
{
    rlt_model_layer one = *got, other = *l;
    if (!weights && strstr(got->name, "norms"))
        other.parameters = 0;
    one.first_product = other.first_product = 0;
    assert_string_equal(got->name, l->name);
    assert_memory_equal(&one, &other, sizeof one);
}

static void draw_vision(vision *v, dice *d, bool dit)
{
    v->layers = 1 + below(d, 4);
    v->heads = 1 + below(d, 4);
    v->hidden = v->heads * (1 + below(d, 8));
    v->ffn = below(d, 2) ? 1 + below(d, 50) : 0;
    v->patch = 1 + below(d, 5);
    v->image = v->patch * (1 + below(d, 5));
    v->channels = 1 + below(d, 5);
    v->classes = 1 + below(d, 50);
    v->token = dit ? 0 : below(d, 2);
    v->qk = below(d, 2);
}

static void vision_text(const vision *v, bool dit, char *text, size_t size)
{
    int n = snprintf(text, size,
                     "%s:layers=%u,hidden=%u,heads=%u,image=%u,patch=%u,channels=%u,classes=%u,"
                     "qk_norm=%s",
                     dit ? "dit" : "vit", v->layers, v->hidden, v->heads, v->image, v->patch, v->channels,
                     v->classes, v->qk ? "yes" : "no");
    if (v->ffn)
        n += snprintf(text + n, size - (size_t)n, ",ffn=%u", v->ffn);
    if (!dit)
        snprintf(text + n, size - (size_t)n, ",class_token=%s", v->token ? "yes" : "no");
}

/* One vector per image becomes `n`. */
static void modulation(const vision *v, const char *stem, uint32_t tokens, uint32_t n)
{
    wanted *w = next(RLT_WORK_MATMUL, "%s modulation", stem);
    w->output = tokens * v->hidden;
    w->kept = v->hidden + n * v->hidden;
    w->moved = v->hidden + v->hidden;
    matrix(w, 1, v->hidden, n * v->hidden);
}

/* Counts the layers before the blocks. */
static void count_begin(const vision *v, bool dit, uint32_t tokens)
{
    uint32_t patches = tokens - v->token, pixels = v->patch * v->patch * v->channels;
    wanted *w = next(RLT_WORK_MATMUL, "patches");
    w->output = tokens * v->hidden;
    w->kept = patches * pixels;
    w->moved = 2 * tokens * v->hidden; /* positions are added */
    matrix(w, patches, pixels, v->hidden);
    w->parameters += dit ? 0 : v->token * v->hidden + tokens * v->hidden;
    if (!dit)
        return;
    w = next(RLT_WORK_MATMUL, "condition");
    w->output = tokens * v->hidden;
    w->kept = 256 + 3 * v->hidden;
    w->moved = 256 + 2 * v->hidden;
    matrix(w, 1, 256, v->hidden);
    matrix(w, 1, v->hidden, v->hidden);
    w->parameters += v->classes * v->hidden + v->hidden; /* and one for no class */
}

static void count_head(const vision *v, bool dit, uint32_t tokens)
{
    uint32_t rows = dit ? tokens : 1, out = dit ? 2 * v->patch * v->patch * v->channels : v->classes;
    uint32_t last = v->layers + 1;
    if (dit) {
        modulation(v, "head", tokens, 2);
        want[n_want - 1].block = last;
    }
    wanted *w = next(RLT_WORK_MATMUL, "head");
    w->block = last;
    w->kept = tokens * v->hidden + rows * v->hidden + rows * out;
    w->moved = 2 * tokens * v->hidden;
    matrix(w, rows, v->hidden, out);
    w->parameters += dit ? 0 : 2 * v->hidden;
}

static void compare_vision(const vision *v, bool dit)
{
    char text[TEXT], blocks[TEXT], stem[32];
    uint32_t across = v->image / v->patch, tokens = across * across + v->token, at = 0, from = 1;
    rlt_model m, t;
    vision_text(v, dit, text, sizeof text);
    snprintf(blocks, sizeof blocks,
             "transformer:layers=%u,hidden=%u,heads=%u,ffn=%u,sequence=%u,dropout=no,fused_attention=yes,"
             "qk_norm=%s",
             v->layers, v->hidden, v->heads, v->ffn ? v->ffn : 4 * v->hidden, tokens, v->qk ? "yes" : "no");
    open_model(text, &m);
    open_model(blocks, &t);
    n_want = 0;
    count_begin(v, dit, tokens);
    for (; at < n_want; at++)
        compare_layer(text, &m.layers[at], &want[at]);
    for (uint32_t b = 0; b < v->layers; b++) {
        for (uint32_t i = 0; i < 4; i++) /* norms, scores, attention, MLP */
            same_block(&m.layers[at++], &t.layers[from++], !dit);
        snprintf(stem, sizeof stem, "block %u", b + 1);
        if (dit) {
            n_want = 0;
            modulation(v, stem, tokens, 6);
            want[0].block = b + 1;
            compare_layer(text, &m.layers[at++], &want[0]);
        }
    }
    n_want = 0;
    count_head(v, dit, tokens);
    for (uint32_t i = 0; i < n_want; i++)
        compare_layer(text, &m.layers[at++], &want[i]);
    assert_int_equal(m.n_layers, at);
    assert_string_equal(m.sample, "image");
    assert_true(m.tokens == tokens && m.hidden == v->hidden && m.heads == v->heads && m.kv_heads == v->heads);
    rlt_model_free(&m);
    rlt_model_free(&t);
}

static void images(void **state)
{
    dice d = {.seed = 5};
    (void)state;
    for (uint32_t trial = 0; trial < 200; trial++) {
        vision v;
        draw_vision(&v, &d, trial % 2);
        compare_vision(&v, trial % 2);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *spec, *where, *what;
    } rows[] = {
        {"vit:image=9,patch=2", "patch", "2 does not divide image 9"},
        {"dit:image=9,patch=2", "patch", "2 does not divide image 9"},
        {"dlrm:tables=3,rows=4-5", "rows",
         "got 2 numbers for 3 tables: expected one number, or one per table"},
        {"dlrm:bottom=8-4,dim=5", "bottom",
         "ends in 4, but embedding vectors are 5 wide: expected equal widths"},
        {"resnet:depth=49", "depth",
         "expected 18, 34, 50, 101 or 152 (at least 50 with width above 1), got 49"},
        {"resnet:depth=34,width=2", "depth",
         "expected 18, 34, 50, 101 or 152 (at least 50 with width above 1), got 34"},
        {"vgg:depth=12", "depth", "expected 11, 13, 16 or 19, got 12"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char where[128];
        rlt_model m;
        rlt_error err = {0};
        assert_int_equal(rlt_model_open(rows[i].spec, &m, &err), RLT_EUSAGE);
        snprintf(where, sizeof where, "%s: %s", rows[i].spec, rows[i].where);
        assert_string_equal(err.where, where);
        assert_string_equal(err.what, rows[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recommendation), cmocka_unit_test(residual_nets), cmocka_unit_test(plain_nets),
        cmocka_unit_test(images),         cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
