/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Division of layers over chunks against a second model: random models (layers in front, blocks of equal and of
 * unequal layers, a head) in random pipelines. What is a block, a head, a row of equal blocks, who has a copy of
 * tied parameters, and the layers of each chunk are counted here once more, from the words of training.h and
 * model.h; the division by time is the best of all there are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { MOST = 48, PRODUCTS = 2 };

/* Blocks, as they are drawn. */
typedef struct drawn {
    fixture f;
    uint32_t begin[MOST + 1], n_all; /* first layer of each block, of any kind; behind them the end */
    uint32_t shape[MOST];            /* blocks of one shape are equal */
    uint32_t movable[MOST], n;       /* first layers of those that a stage may begin with */
    uint32_t head;                   /* first layer behind the last of those */
    double twice[MOST];              /* twice the time of each layer: forward, backward, once more */
    uint32_t pp, chunks, vp;
} drawn;

/* The layers have their exact room, so that sanitizers see what is read behind them. */
static rlt_model_layer room[MOST], *layers = room;
static rlt_model_product products[MOST * PRODUCTS];

/* How a block differs from others of its shape. */
enum { SAME, PARAMETERS, ROWS, IN, OUT, SPLIT, EXPERT, LONGER, WAYS };

static void add_product(rlt_model *m, rlt_model_layer *l, rlt_model_product p)
{
    l->first_product = l->n_products++ ? l->first_product : m->n_products;
    l->forward_flop += 2 * p.rows * (double)p.in * (double)p.out;
    products[m->n_products++] = p;
}

/* Sets a layer of a shape: all that such layers have is the same, except their names and their places. */
static void set_layer(rlt_model *m, uint32_t shape, uint32_t k, uint32_t differs)
{
    rlt_model_layer *l = &layers[m->n_layers];
    uint32_t units = 1 + (shape * 7 + k * 3) % 5;
    snprintf(l->name, sizeof l->name, "layer %u", m->n_layers);
    l->work = (uint8_t)((shape + k) % 2 ? RLT_WORK_MATMUL : RLT_WORK_ATTENTION);
    l->sharded = true;
    l->parameters = units + (differs == PARAMETERS ? 100 + m->n_layers : 0);
    if (shape % 3 == 2) { /* products instead of a width */
        bool last = differs == EXPERT;
        add_product(
            m, l,
            (rlt_model_product){differs == ROWS ? 1e5 : (1 + units) * 1e5, 50, 100, RLT_SPLIT_OUT, false});
        add_product(m, l,
                    (rlt_model_product){differs == ROWS ? (1 + units) * 1e5 : 1e5, differs == IN ? 300 : 50,
                                        differs == OUT ? 400 : 100,
                                        differs == SPLIT ? RLT_SPLIT_IN : RLT_SPLIT_NONE, last});
    } else
        l->forward_flop = units * 2e9;
    l->backward_flop = 2 * l->forward_flop;
    m->n_layers++;
}

static void add_block(drawn *x, uint32_t shape, uint32_t size, bool movable, uint32_t differs)
{
    rlt_model *m = &x->f.model;
    size += differs == LONGER;
    x->begin[x->n_all] = m->n_layers;
    x->shape[x->n_all] = differs ? 1000 * differs + (differs == PARAMETERS ? x->n_all : shape) : shape;
    for (uint32_t k = 0; k < size; k++) {
        set_layer(m, shape, k, k + 1 == size ? differs : SAME);
        layers[m->n_layers - 1].block = x->n_all;
    }
    layers[x->begin[x->n_all]].movable = movable;
    if (movable) {
        x->movable[x->n++] = x->begin[x->n_all];
        x->head = m->n_layers;
    }
    x->begin[++x->n_all] = m->n_layers;
}

/* Draws how a block differs: one of six does. Only one shape has products. */
static uint32_t ways_of(dice *d, uint32_t shape)
{
    static const uint32_t plain[] = {PARAMETERS, LONGER};
    if (below(d, 6))
        return SAME;
    return shape % 3 == 2 ? 1 + below(d, WAYS - 1) : plain[below(d, 2)];
}

/* Draws up to two blocks in front, 1 to 7 blocks at which a stage may begin, and up to two as a head. Some
 * have another one between them at which none may begin. */
static void draw(drawn *x, dice *d)
{
    memset(x, 0, sizeof *x);
    if (layers != room)
        free(layers);
    layers = memset(room, 0, sizeof room);
    memset(products, 0, sizeof products);
    x->f.model = (rlt_model){.layers = layers, .products = products, .tokens = 1};
    for (uint32_t i = below(d, 3); i > 0; i--)
        add_block(x, 10 + i, 1 + below(d, 2), false, SAME);
    uint32_t kinds = 1 + below(d, 3), size = 1 + below(d, 3), equal = below(d, 2);
    for (uint32_t i = 1 + below(d, 7); i > 0; i--) {
        uint32_t shape = below(d, kinds);
        add_block(x, shape, equal ? size : 1 + shape, true, ways_of(d, shape));
        if (i > 1 && below(d, 12) == 0)
            add_block(x, 20, 1, false, SAME);
    }
    for (uint32_t i = below(d, 3); i > 0; i--)
        add_block(x, 30 + i, 1 + below(d, 2), false, SAME);
    layers = malloc(x->f.model.n_layers * sizeof *layers);
    assert_non_null(layers);
    x->f.model.layers = memcpy(layers, room, x->f.model.n_layers * sizeof *layers);
    test_begin(&x->f);
}

static bool repeats(const drawn *x, uint32_t layer)
{
    bool is = false;
    for (uint32_t b = 0; b < x->n_all; b++)
        if (x->begin[b] <= layer)
            is = layers[x->begin[b]].movable;
    return is;
}

/* Shares the embedding's weights with later layers: some in front hold enough, some do not. */
static void tie(drawn *x, dice *d)
{
    for (uint32_t i = 1; i < x->f.model.n_layers; i++)
        if (below(d, 6) == 0) {
            layers[i].tied_parameters = 1 + below(d, 6);
            for (uint32_t b = 0; b < x->n_all; b++)
                if (x->begin[b] <= i && i < x->begin[b + 1])
                    x->shape[b] = 100000 + b; /* equal to none */
        }
}

static void set_number(fixture *f, const char *name, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    test_set(f, name, text);
}

static void draw_pipeline(drawn *x, dice *d)
{
    x->vp = 1;
    x->pp = 1 + below(d, 6);
    if (x->pp > 1 && below(d, 3) == 0) {
        x->vp = 2 + below(d, 2);
        test_set(&x->f, "schedule", "interleaved");
        set_number(&x->f, "vp", x->vp);
    }
    set_number(&x->f, "pp", x->pp);
    x->chunks = x->pp * x->vp;
}

/* The longest row of equal blocks that follow each other; the first of those as long. */
static void check_alike(const drawn *x)
{
    uint32_t from = 0, to = 0, period = 0;
    for (uint32_t b = 0; b < x->n_all; b++) {
        uint32_t end = b + 1;
        while (layers[x->begin[b]].movable && end < x->n_all && x->shape[end] == x->shape[b] &&
               layers[x->begin[end]].movable)
            end++;
        if (end > b + 1 && x->begin[end] - x->begin[b] > to - from) {
            from = x->begin[b];
            to = x->begin[end];
            period = x->begin[b + 1] - x->begin[b];
        }
    }
    assert_int_equal(x->f.t.blocks.alike, from);
    assert_int_equal(x->f.t.blocks.alike_end, to);
    assert_int_equal(x->f.t.blocks.period, period);
}

static void check_blocks(const drawn *x)
{
    uint32_t each = x->n > 1 ? x->movable[1] - x->movable[0] : 0;
    for (uint32_t i = 2; i < x->n; i++)
        if (x->movable[i] - x->movable[i - 1] != each)
            each = 0;
    assert_ptr_equal(x->f.t.blocks.of, &x->f.model);
    assert_int_equal(x->f.t.blocks.n, x->n);
    assert_int_equal(x->f.t.blocks.first, x->movable[0]);
    assert_int_equal(x->f.t.blocks.head, x->head);
    assert_int_equal(x->f.t.blocks.each, each);
    check_alike(x);
}

/* Checks the layers of chunks with these numbers of blocks. */
static void check_chunks(const drawn *x, const uint32_t *blocks)
{
    uint32_t at = 0, sum = 0;
    for (uint32_t c = 0; c < x->chunks; c++) {
        uint32_t first, end;
        rlt_training_layers(&x->f.t, c, &first, &end);
        assert_int_equal(first, at);
        sum += blocks[c];
        at = c + 1 == x->chunks ? x->f.model.n_layers : sum < x->n ? x->movable[sum] : x->head;
        assert_int_equal(end, at);
    }
}

/* The stage of a layer: chunks go round the stages. */
static uint32_t stage_of(const drawn *x, uint32_t layer)
{
    uint32_t first, end, c = 0;
    for (; c < x->chunks; c++) {
        rlt_training_layers(&x->f.t, c, &first, &end);
        if (first <= layer && layer < end)
            break;
    }
    return c % x->pp;
}

/* The nearest earlier layer outside blocks that repeat with enough parameters holds the tied ones. */
static void check_copies(const drawn *x)
{
    const rlt_training *t = &x->f.t;
    bool found = false;
    for (uint32_t i = 0; i < x->f.model.n_layers && !found && x->pp > 1; i++) {
        uint32_t holder = i;
        for (uint32_t k = 0; k < i; k++)
            if (!repeats(x, k) && layers[k].parameters >= layers[i].tied_parameters)
                holder = k;
        if (layers[i].tied_parameters && stage_of(x, holder) != stage_of(x, i)) {
            found = true;
            assert_int_equal(t->home, stage_of(x, holder));
            assert_int_equal(t->away, stage_of(x, i));
            assert_int_equal(t->copies, i);
        }
    }
    if (!found)
        assert_int_equal(t->home, t->away);
}

/* Equal numbers of blocks: the first chunks have one more. With more chunks than blocks the head is alone, and
 * with yet another one what is in front. */
static void by_blocks(void **state)
{
    dice d = {.seed = 1};
    uint32_t planned = 0, refused = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        drawn x;
        uint32_t blocks[MOST] = {0};
        draw(&x, &d);
        tie(&x, &d);
        draw_pipeline(&x, &d);
        bool head = x.head<x.f.model.n_layers, front = x.movable[0]> 0;
        uint32_t most = x.n + (head ? 1 + front : 0);
        int rc = rlt_training_plan(&x.f.t, x.pp, &x.f.err);
        if (x.chunks > 1 && x.chunks > most) {
            char what[128];
            snprintf(what, sizeof what, "%u stages x %u chunks exceed the model's %u blocks", x.pp, x.vp,
                     x.n);
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_string_equal(x.f.err.where, "pp");
            assert_string_equal(x.f.err.what, what);
            refused++;
            continue;
        }
        if (rc)
            fail_msg("%s: %s", x.f.err.where, x.f.err.what);
        uint32_t lone = x.chunks == x.n + 2;
        for (uint32_t i = 0; i < x.n; i++) /* one to each in turn, as often as it goes */
            blocks[lone + i % (x.chunks > x.n ? x.n : x.chunks)]++;
        check_blocks(&x);
        check_chunks(&x, blocks);
        check_copies(&x);
        planned++;
    }
    assert_true(planned > 1000 && refused > 300);
}

/* Any numbers that add up. Only the first chunk may have what is in front alone, only the last the head. */
static void by_numbers(void **state)
{
    dice d = {.seed = 2};
    uint32_t fine = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        drawn x;
        uint32_t blocks[MOST] = {0}, empty = MOST, n = 0;
        char text[128] = "", got[128];
        size_t used = 0;
        draw(&x, &d);
        tie(&x, &d);
        draw_pipeline(&x, &d);
        for (uint32_t i = below(&d, 20) ? 0 : MOST; i < x.n + (below(&d, 10) == 0); i++, n++)
            blocks[below(&d, 4) ? i % x.chunks : below(&d, x.chunks)]++;
        for (uint32_t c = 0; c < x.chunks; c++) {
            bool alone = c == 0 ? x.movable[0] > 0 : c + 1 == x.chunks && x.head < x.f.model.n_layers;
            if (blocks[c] == 0 && !(alone && x.chunks > 1) && empty == MOST)
                empty = c;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", c ? "-" : "", blocks[c]);
        }
        test_set(&x.f, "split", text);
        rlt_param_write(rlt_params_find(rlt_training_parameters(), "split"), &x.f.t, got, sizeof got);
        assert_string_equal(got, text);
        int rc = rlt_training_plan(&x.f.t, x.pp, &x.f.err);
        assert_int_equal(rc, empty < MOST || n != x.n ? RLT_ESCHEMA : 0);
        if (empty < MOST)
            snprintf(text, sizeof text,
                     "chunk %u is empty: only the first may have embeddings alone, and the last logits alone",
                     empty + 1);
        else
            snprintf(text, sizeof text, "the numbers add up to %u blocks, but the model has %u", n, x.n);
        if (rc) {
            assert_string_equal(x.f.err.where, "split");
            assert_string_equal(x.f.err.what, text);
            continue;
        }
        check_chunks(&x, blocks);
        check_copies(&x);
        fine++;
    }
    assert_true(fine > 500);
}

/* ---- by time ---- */

static double twice_of(const drawn *x, uint32_t layer, const char *recompute)
{
    double forward = layers[layer].forward_flop / 1e9, again = 0;
    bool attention = layers[layer].work == RLT_WORK_ATTENTION;
    if (strcmp(recompute, "full") == 0)
        again = repeats(x, layer);
    if (strcmp(recompute, "selective") == 0)
        again = attention;
    if (strcmp(recompute, "products") == 0)
        again = repeats(x, layer) && !attention ? 0.5 : 0;
    return 2 * (forward * 3 + forward * again);
}

/* The best division of what is behind layer `from`: the shortest longest chunk, then the least sum of squares. */
typedef struct best {
    double longest, squares;
} best;

static double time_between(const drawn *x, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += x->twice[i];
    return sum;
}

/* Tries all places for each chunk in turn: each block at which a stage may begin, and the head. */
static void try_all(const drawn *x, uint32_t from, uint32_t chunks, best so_far, best *least)
{
    uint32_t end = x->f.model.n_layers;
    for (uint32_t i = chunks == 1 ? end : from + 1; i <= end; i++) {
        bool place = i == end ? chunks == 1 : layers[i].movable || i == x->head;
        if (!place)
            continue;
        double own = time_between(x, from, i);
        best now = {fmax(so_far.longest, own), so_far.squares + own * own};
        if (chunks > 1)
            try_all(x, i, chunks - 1, now, least);
        else if (now.longest < least->longest ||
                 (now.longest <= least->longest && now.squares < least->squares))
            *least = now;
    }
}

static void by_time(void **state)
{
    static const char *const recompute[] = {"none", "full", "selective", "products"};
    dice d = {.seed = 3};
    uint32_t planned = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 800; trial++) {
        drawn x;
        draw(&x, &d);
        draw_pipeline(&x, &d);
        const char *again = recompute[below(&d, 4)];
        test_set(&x.f, "split", "time");
        test_set(&x.f, "recompute", again);
        if (x.vp == 1 && below(&d, 2))
            test_set(&x.f, "schedule", "zero-bubble"); /* gradients of weights are apart */
        if (rlt_training_plan(&x.f.t, x.pp, &x.f.err))
            continue; /* too many chunks, as by_blocks tests */
        for (uint32_t i = 0; i < x.f.model.n_layers; i++)
            x.twice[i] = twice_of(&x, i, again);
        best least = {INFINITY, INFINITY}, got = {0, 0};
        try_all(&x, 0, x.chunks, (best){0, 0}, &least);
        for (uint32_t c = 0; c < x.chunks; c++) {
            uint32_t first, end;
            rlt_training_layers(&x.f.t, c, &first, &end);
            double own = time_between(&x, first, end);
            got = (best){fmax(got.longest, own), got.squares + own * own};
        }
        if (fabs(got.longest - least.longest) > 1e-9 || fabs(got.squares - least.squares) > 1e-9)
            fail_msg("trial %u: longest %g, squares %g; best of all %g, %g", trial, got.longest, got.squares,
                     least.longest, least.squares);
        check_blocks(&x);
        planned++;
    }
    assert_true(planned > 300);
}

/* ---- texts ---- */

static void texts(void **state)
{
    static const struct {
        const char *text;
        bool right;
    } rows[] = {{"1", true},
                {"65535-1", true},
                {"65536-1", false},
                {"", false},
                {"1-", false},
                {"-1", false},
                {"1--2", false},
                {"1-x", false},
                {"00000000000003-1", true},
                {"time", true},
                {"blocks", true},
                {"times", false},
                {"99999999999999999999999", false}};
    char most[2 * RLT_MAX_SPLIT + 3] = "", what[256];
    fixture f = {.err = {0}};
    (void)state;
    test_begin(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.err = (rlt_error){0};
        int rc = rlt_training_set(&f.t, "split", rows[i].text, &f.err);
        snprintf(what, sizeof what,
                 "expected blocks, time, or the blocks of up to %d chunks such as 3-4-4-4, got '%s'",
                 RLT_MAX_SPLIT, rows[i].text);
        if (rc != (rows[i].right ? 0 : RLT_EUSAGE) || (rc && strcmp(f.err.what, what) != 0))
            fail_msg("'%s': %d: %s", rows[i].text, rc, f.err.what);
    }
    for (uint32_t i = 0; i < RLT_MAX_SPLIT; i++)
        strcat(most, i ? "-1" : "1");
    assert_int_equal(rlt_training_set(&f.t, "split", most, &f.err), 0);
    assert_int_equal(f.t.n_split, RLT_MAX_SPLIT);
    strcat(most, "-1");
    assert_int_equal(rlt_training_set(&f.t, "split", most, &f.err), RLT_EUSAGE);
    assert_int_equal(rlt_training_set(&f.t, "split", "blocks", &f.err), 0);
    assert_int_equal(f.t.n_split, 0);
}

/* A text without room is cut, and nothing is written behind it. */
static void cut(void **state)
{
    char text[12];
    fixture f = {.err = {0}};
    (void)state;
    test_begin(&f);
    test_set(&f, "split", "100-200-300-400");
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, 'x', sizeof text);
        rlt_param_write(rlt_params_find(rlt_training_parameters(), "split"), &f.t, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, "100-200-300-400", size - 1);
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], 'x');
    }
}

/* A division by time has up to 256 chunks, one by blocks more. */
static void limits(void **state)
{
    static const struct {
        const char *split;
        uint32_t chunks;
        const char *what;
    } rows[] = {{"time", 256, NULL},
                {"blocks", 257, NULL},
                {"time", 257, "257 chunks of 257 blocks exceed the limits, 256 and 65535"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f = {.err = {0}};
        test_blocks(&f.model, rows[i].chunks);
        test_begin(&f);
        set_number(&f, "pp", rows[i].chunks);
        test_set(&f, "split", rows[i].split);
        int rc = rlt_training_plan(&f.t, rows[i].chunks, &f.err);
        assert_int_equal(rc, rows[i].what ? RLT_ERANGE : 0);
        if (rc)
            assert_string_equal(f.err.what, rows[i].what);
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_blocks), cmocka_unit_test(by_numbers), cmocka_unit_test(by_time),
        cmocka_unit_test(texts),     cmocka_unit_test(cut),        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
