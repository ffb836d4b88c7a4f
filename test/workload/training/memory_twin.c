/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of random trainings against a second model of it, written from the tables and words at the top of
 * memory.c and allocator.c: state with ZeRO, SAMO, LoRA and offload, activations with each recomputation, and
 * what a framework takes besides. The refusal of a training that does not fit, with all its numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { TRIALS = 3000, DUALPIPE = 4, DUALPIPEV };

/* Formats of weights and kept inputs, by their number in precision.h, and their bytes. MXFP4 has 8 bits for 32
 * elements besides. */
static const struct {
    const char *name;
    double bytes; /* 0: those of the training */
} formats[] = {{"element", 0}, {"fp8", 1}, {"mxfp4", 0.5 + 1.0 / 32}};

typedef struct trial {
    fixture f;
    uint32_t param, kept; /* formats */
    uint32_t schedule;
    uint32_t experts;
} trial;

static void set_number(fixture *f, const char *name, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    test_set(f, name, text);
}

static void draw_model(trial *x, dice *d)
{
    static const char *const specs[] = {
        "transformer:layers=4,hidden=6400,heads=8,sequence=160,vocabulary=300000",
        "transformer:layers=2,hidden=32,heads=8,sequence=8,vocabulary=90,fused_attention=yes,tied=no",
        "transformer:layers=4,hidden=3200,heads=8,sequence=800,vocabulary=90,experts=8,gated=yes,moe_every=2",
        "transformer:layers=2,hidden=32,heads=8,sequence=8,vocabulary=70,pattern=M-*-M-,dropout=no",
        "transformer:layers=4,hidden=32,heads=8,sequence=8,vocabulary=90,experts=1,top_k=1",
        "dit:layers=3,hidden=32,heads=8,image=8"};
    uint32_t at = below(d, 6);
    x->experts = at == 2 ? 8 : at == 4 ? 1 : 0;
    assert_int_equal(rlt_model_open(specs[at], &x->f.model, &x->f.err), 0);
    x->f.model.layers[0].movable = at == 1; /* what is in front is a block, too: none precedes it */
    test_begin(&x->f);
}

static void draw_layout(trial *x, dice *d)
{
    static const char *const schedules[] = {"gpipe",       "1f1b",     "interleaved",
                                            "zero-bubble", "dualpipe", "dualpipev"};
    x->schedule = below(d, 6);
    test_set(&x->f, "schedule", schedules[x->schedule]);
    set_number(&x->f, "tp", 1u << below(d, 3));
    set_number(&x->f, "cp", x->f.model.recurrent ? 1 : 1 + below(d, 2));
    set_number(&x->f, "dp", 1u << below(d, 3));
    set_number(&x->f, "pp", 1u << below(d, 3));
    if (x->schedule == 2)
        set_number(&x->f, "vp", 2);
    if (x->experts > 1)
        set_number(&x->f, "ep", 1u << below(d, 3));
    test_set(&x->f, "sp", below(d, 2) ? "on" : "off");
}

static void draw_training(trial *x, dice *d)
{
    static const char *const recompute[] = {"none", "selective", "full", "products"}, *const reshard[] = {
                                                                                          "on", "off",
                                                                                          "auto"};
    fixture *f = &x->f;
    draw_layout(x, d);
    test_set(f, "recompute", recompute[below(d, 4)]);
    set_number(f, "checkpoint", 1 + below(d, 3));
    set_number(f, "zero", below(d, 4));
    set_number(f, "microbatch", 1 + below(d, 3));
    f->t.batch =
        (uint64_t)f->t.microbatch * f->t.size[RLT_AXIS_DP] * f->t.size[RLT_AXIS_PP] * (1 + below(d, 4));
    f->t.element_bytes = below(d, 2) ? 2 : 4;
    f->t.gradient_bytes = below(d, 2) ? 2 : 4;
    f->t.main_gradient_bytes = below(d, 2) ? 4 : 0;
    f->t.accumulate_bytes = below(d, 2) ? 3 : 0;
    f->t.state_bytes = 4 + below(d, 10);
    f->t.loss_bytes = below(d, 2) ? 1 + below(d, 90) : 0;
    f->t.loss_split_bytes = below(d, 2) ? 1 + below(d, 90) : 0;
    f->t.gathered = below(d, 3);
    f->t.fragmentation = below(d, 2) ? 1 : 1.25;
    f->t.context_bytes = below(d, 2) ? 12345 : 0;
    test_set(f, "reshard", reshard[below(d, 3)]);
    x->param = below(d, 3);
    x->kept = below(d, 3);
    test_set(f, "param_precision", formats[x->param].name);
    test_set(f, "activation_precision", formats[x->kept].name);
    uint32_t kind = below(d, 6);
    if (kind == 0)
        f->t.sparsity = 0.75;
    if (kind == 1)
        f->t.lora_rank = 1 + below(d, 8);
    if (kind == 2) {
        f->t.offload = true;
        f->t.overlap = false;
        f->t.offload_bucket = below(d, 2) ? 100 : 1 << 30;
    }
    if (kind == 3)
        f->t.shard = 2;
}

static bool in_block(const trial *x, uint32_t i)
{
    const rlt_model_layer *l = x->f.model.layers;
    while (i > 0 && l[i - 1].block == l[i].block)
        i--;
    return l[i].movable;
}

static bool behind_blocks(const trial *x, uint32_t i)
{
    for (uint32_t k = i; k < x->f.model.n_layers; k++)
        if (in_block(x, k))
            return false;
    return true;
}

static double element(const trial *x)
{
    return x->f.t.element_bytes;
}

static double bytes_of(const trial *x, uint32_t format)
{
    return format ? formats[format].bytes : element(x);
}

/* Bytes of a weight: products inside blocks have a format of their own. */
static double weight_bytes(const trial *x, uint32_t i)
{
    bool product = x->f.model.layers[i].work == RLT_WORK_MATMUL && in_block(x, i);
    return product ? bytes_of(x, x->param) : element(x);
}

static uint32_t etp(const trial *x)
{
    const uint32_t *n = x->f.t.size;
    bool fits = n[RLT_AXIS_CP] * n[RLT_AXIS_DP] % x->f.t.ep == 0;
    return fits ? n[RLT_AXIS_TP] : 1;
}

/* Parameters of a layer on a rank: dense ones, with a copy of tied ones on another stage, and experts'. */
static double dense(const trial *x, uint32_t i)
{
    const rlt_model_layer *l = &x->f.model.layers[i];
    const rlt_training *t = &x->f.t;
    bool copy = l->tied_parameters && t->size[RLT_AXIS_PP] > 1 && x->schedule < DUALPIPE;
    double n = (double)l->parameters + (copy ? (double)l->tied_parameters : 0);
    return l->sharded ? n / t->size[RLT_AXIS_TP] : n;
}

static double of_experts(const trial *x, uint32_t i)
{
    const rlt_model_layer *l = &x->f.model.layers[i];
    return (double)l->expert_parameters / (x->f.t.ep * (l->sharded ? etp(x) : 1));
}

static void layers_of(const trial *x, uint32_t stage, uint32_t index, uint32_t *first, uint32_t *end)
{
    uint32_t pp = x->f.t.size[RLT_AXIS_PP], chunk = stage + index * pp;
    if (x->schedule == DUALPIPE) /* both directions: the chunk of the stage, and of its mirror */
        chunk = (index == 0) == (stage < pp - 1 - stage) ? stage : pp - 1 - stage;
    if (x->schedule == DUALPIPEV)
        chunk = index ? 2 * pp - 1 - stage : stage;
    rlt_training_layers(&x->f.t, chunk, first, end);
}

/* ---- state ---- */

/* Adds the state of n parameters that ZeRO divides over `over` ranks. */
static void add_state(const trial *x, double n, double trained, double weight, double over,
                      rlt_training_memory *m)
{
    const rlt_training *t = &x->f.t;
    double e = element(x), g = t->main_gradient_bytes, f = 1 - t->sparsity;
    double gradient = t->accumulate_bytes ? t->accumulate_bytes : e + g;
    m->parameters += t->zero == 3 ? n * e / over : n * weight;
    if (t->sparsity > 0) {
        m->gradients += n * f * (e + g);
        m->optimizer += n * f * (t->state_bytes + 4); /* and indices */
        m->buffers += n * f * e;
        return;
    }
    m->gradients += trained * gradient / (t->zero >= 2 ? over : 1);
    m->optimizer += trained * t->state_bytes / (t->zero >= 1 ? over : 1);
    if (t->lora_rank) /* adapters are weights, too */
        m->parameters += trained * e / (t->zero == 3 ? over : 1);
}

static void state_of(const trial *x, uint32_t stage, rlt_training_memory *m)
{
    const rlt_training *t = &x->f.t;
    const uint32_t *size = t->size;
    double over = t->shard ? t->shard : size[RLT_AXIS_DP] * size[RLT_AXIS_CP], all = 0;
    over *= x->schedule == DUALPIPE && !t->shard ? 2 : 1; /* each chunk is on two stages */
    double over_experts = over * size[RLT_AXIS_TP] / (etp(x) * t->ep);
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        layers_of(x, stage, c, &first, &end);
        for (uint32_t i = first; i < end; i++) {
            double n = dense(x, i), k = of_experts(x, i),
                   adapters = (double)t->lora_rank * (double)x->f.model.layers[i].sides;
            add_state(x, n, t->lora_rank ? adapters : n, weight_bytes(x, i), over, m);
            add_state(x, k, t->lora_rank ? 0 : k, weight_bytes(x, i), over_experts, m);
            all += n + k;
        }
    }
    if (t->offload) { /* a bucket at a time is on the accelerator */
        m->gradients -= t->accumulate_bytes ? 0 : all * t->main_gradient_bytes; /* nothing in their place */
        m->optimizer = 0;
        m->buffers += fmin(all, t->offload_bucket) * (t->main_gradient_bytes + t->state_bytes);
    }
}

/* ---- activations ---- */

/* Elements that a layer keeps, in those of the training. In a narrow format inputs of products alone take its
 * bytes; those that others read, too, take both. */
static double kept_by(const trial *x, const rlt_model_layer *l, bool scores)
{
    const rlt_training *t = &x->f.t;
    double tp = t->size[RLT_AXIS_TP], whole = l->saved_whole, split = l->saved_split;
    if (l->experts && l->work == RLT_WORK_MATMUL)
        split *= t->load.experts;
    if (x->kept) {
        double narrow = bytes_of(x, x->kept) / element(x);
        whole = whole - l->inputs_whole + narrow * l->inputs_whole;
        split = split - l->inputs_split + narrow * l->inputs_split + narrow * l->inputs_shared;
    }
    split += scores ? l->saved_scores : 0;
    return (t->sequence_parallel ? whole / tp : whole) + split / tp;
}

/* Elements of a chunk that a microbatch keeps, per sample. *block: those of its largest block, recomputed. */
static double kept_in(const trial *x, uint32_t first, uint32_t end, double *block)
{
    const rlt_training *t = &x->f.t;
    double tp = t->size[RLT_AXIS_TP], sum = 0, inputs = 0, now = 0, largest = 0, products = 0;
    uint32_t blocks = 0;
    bool full = t->recompute == RLT_RECOMPUTE_FULL, again = full || t->recompute == RLT_RECOMPUTE_PRODUCTS;
    bool once = t->loss_bytes && x->schedule != 0; /* logits are counted with the loss */
    for (uint32_t i = first; i < end; i++) {
        const rlt_model_layer *l = &x->f.model.layers[i];
        if (!again || !in_block(x, i)) {
            sum += kept_by(x, l, t->recompute != RLT_RECOMPUTE_SELECTIVE) - (once ? 2 * l->logits / tp : 0);
            continue;
        }
        if (l->movable) {
            double in = i > 0 ? (double)x->f.model.layers[i - 1].output_elements : 0;
            inputs += t->sequence_parallel ? in / tp : in;
            now = 0;
            blocks++;
        }
        products += l->saved_products / tp;
        now += kept_by(x, l, true);
        largest = fmax(largest, now);
    }
    /* Full recomputation keeps the input of every n-th block, and goes through n blocks at once. */
    double every = full ? fmin(t->checkpoint, blocks) : fmin(1, blocks);
    *block = largest * every;
    return sum + (blocks ? inputs / every : 0) + (full || !again ? 0 : products);
}

/* Microbatches (of one chunk) under way. */
static uint32_t under_way(const trial *x, uint32_t stage)
{
    const rlt_training *t = &x->f.t;
    uint32_t p = t->size[RLT_AXIS_PP], m = (uint32_t)(t->batch / t->size[RLT_AXIS_DP] / t->microbatch);
    uint32_t all = m * t->vp, n = all;
    if (x->schedule == 1)
        n = p - stage;
    if (x->schedule == 3)
        n = p;
    if (x->schedule >= DUALPIPE)
        n = (x->schedule == DUALPIPE ? p : 2 * p) + 1;
    if (x->schedule == 2 && m != p)
        n = 2 * (p - 1 - stage) + (t->vp - 1) * p + 1;
    return n < all ? n : all;
}

/* Parameters of a stage, as ZeRO 3 gathers them. */
typedef struct whole {
    double all, all_bytes, chunk, block, block_bytes, outside, head;
    uint32_t blocks;
} whole;

static whole whole_of(const trial *x, uint32_t stage)
{
    whole w = {0};
    for (uint32_t c = 0; c < x->f.t.vp; c++) {
        uint32_t first, end;
        double chunk = 0, n = 0, bytes = 0;
        layers_of(x, stage, c, &first, &end);
        for (uint32_t i = first; i < end; i++) {
            double own = dense(x, i) + of_experts(x, i);
            chunk += own;
            w.all_bytes += own * weight_bytes(x, i);
            if (!in_block(x, i)) {
                w.outside += own;
                w.head += behind_blocks(x, i) ? own : 0;
                continue;
            }
            bool begins = x->f.model.layers[i].movable;
            n = begins ? own : n + own;
            bytes = begins ? own * weight_bytes(x, i) : bytes + own * weight_bytes(x, i);
            w.blocks += begins;
            w.block = fmax(w.block, n);
            w.block_bytes = fmax(w.block_bytes, bytes);
        }
        w.all += chunk;
        w.chunk = fmax(w.chunk, chunk);
    }
    return w;
}

static double gathered(const trial *x, uint32_t stage)
{
    const rlt_training *t = &x->f.t;
    whole w = whole_of(x, stage);
    uint32_t pp = t->size[RLT_AXIS_PP];
    bool keeps = t->reshard == RLT_RESHARD_OFF || (t->reshard == RLT_RESHARD_AUTO && pp > 1);
    if (t->zero != 3 || t->gathered == 0)
        return 0;
    if (!keeps)
        return w.outside * element(x) + fmin(t->gathered, w.blocks) * w.block_bytes;
    bool few = t->batch / t->size[RLT_AXIS_DP] / t->microbatch <= pp;
    return w.all_bytes + (few ? w.chunk : w.all) * t->gradient_bytes;
}

/* What a backward pass adds: the larger of the loss, and of a block. */
static double backward(const trial *x, uint32_t stage, double recomputed)
{
    const rlt_training *t = &x->f.t;
    double e = element(x), logits = 0, inner = 0, block = recomputed;
    double each = (double)t->microbatch / (t->size[RLT_AXIS_TP] * t->size[RLT_AXIS_CP]);
    if (t->zero == 3 && t->gathered) {
        whole w = whole_of(x, stage);
        block += w.block * (e + t->gradient_bytes) + w.head * e;
    }
    if (!t->loss_bytes)
        return block;
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        layers_of(x, stage, c, &first, &end);
        for (uint32_t i = first; i < end; i++) {
            logits += x->f.model.layers[i].logits * each;
            if (in_block(x, i))
                inner = fmax(inner, x->f.model.layers[i].inner_gradients * each);
        }
    }
    bool split = t->loss_split_bytes && t->size[RLT_AXIS_TP] > 1;
    double loss = logits * (split ? t->loss_split_bytes : t->loss_bytes);
    return fmax(loss, block + inner * e) - (x->schedule == 0 ? 2 * logits * e : 0);
}

static rlt_training_memory expect(const trial *x, uint32_t stage)
{
    const rlt_training *t = &x->f.t;
    rlt_training_memory m = {.in_flight = under_way(x, stage)};
    double elements = 0, block = 0, sample = t->microbatch * element(x) / t->size[RLT_AXIS_CP];
    for (uint32_t c = 0; c < t->vp; c++) {
        uint32_t first, end;
        double one;
        layers_of(x, stage, c, &first, &end);
        elements += kept_in(x, first, end, &one) / t->vp; /* of a chunk of mean size */
        block = fmax(block, one);
    }
    state_of(x, stage, &m);
    m.backward = backward(x, stage, block * sample);
    m.activations = elements * sample * m.in_flight + m.backward;
    m.gathered = gathered(x, stage);
    m.allocated = m.parameters + m.gradients + m.optimizer + m.activations + m.buffers + m.gathered;
    m.reserved = m.allocated * t->fragmentation;
    m.total = m.reserved + (double)t->context_bytes;
    return m;
}

static void same(const char *what, uint32_t k, uint32_t stage, double got, double expected)
{
    if (fabs(got - expected) > 1e-9 * fabs(expected) + 1e-6)
        fail_msg("trial %u, stage %u: %s %.17g, expected %.17g", k, stage, what, got, expected);
}

/* The first change that makes a stage fit: full recomputation, a higher ZeRO stage, both. */
static void advice(const trial *x, uint32_t stage, double room, char *text, size_t size)
{
    trial other = *x;
    bool full = x->f.t.recompute == RLT_RECOMPUTE_FULL;
    other.f.t.recompute = RLT_RECOMPUTE_FULL;
    if (!full && expect(&other, stage).total <= room) {
        snprintf(text, size, "recompute=full would fit");
        return;
    }
    for (uint32_t zero = x->f.t.zero + 1; zero <= 3; zero++)
        for (int both = 0; both < 2; both++) {
            other.f.t.zero = zero;
            other.f.t.recompute = both ? RLT_RECOMPUTE_FULL : x->f.t.recompute;
            if (expect(&other, stage).total <= room) {
                snprintf(text, size, "%szero=%u would fit", both ? "recompute=full with " : "", zero);
                return;
            }
        }
    snprintf(text, size, "more %spipeline stages or tensor parallelism are needed",
             x->experts > x->f.t.ep ? "expert parallelism (ep), " : "");
}

/* A training fits if each stage has no more bytes than there are. Else the first that has more is named. */
static void compare_fit(const trial *x, double room)
{
    rlt_training t = x->f.t;
    rlt_accelerator small = x->f.accelerator;
    rlt_error err = {0};
    char what[500], other[40] = "", help[100];
    uint32_t stage = 0;
    t.accelerator = &small;
    small.memory_bytes = (uint64_t)room;
    room = (double)small.memory_bytes;
    while (stage < t.size[RLT_AXIS_PP] && rlt_training_memory_of(&t, stage).total <= room)
        stage++;
    int rc = rlt_training_fits(&t, &err);
    assert_int_equal(rc, stage < t.size[RLT_AXIS_PP] ? RLT_ERANGE : 0);
    if (!rc)
        return;
    rlt_training_memory m = rlt_training_memory_of(&t, stage);
    double beside = m.buffers + m.gathered + (m.total - m.allocated);
    if (beside > 0)
        snprintf(other, sizeof other, ", other %.1f", beside / 1e9);
    advice(x, stage, room, help, sizeof help);
    snprintf(what, sizeof what,
             "stage %u needs %.1f GB (weights %.1f, gradients %.1f, optimizer %.1f, activations %.1f of %u "
             "microbatch%s%s), more than the %.1f GB of test: %s",
             stage, m.total / 1e9, m.parameters / 1e9, m.gradients / 1e9, m.optimizer / 1e9,
             m.activations / 1e9, m.in_flight, m.in_flight == 1 ? "" : "es", other, room / 1e9, help);
    assert_string_equal(err.where, "memory");
    if (strncmp(err.what, what, sizeof err.what - 1) != 0)
        fail_msg("'%s', expected '%s'", err.what, what);
}

static void compare(const trial *x, uint32_t k)
{
    double most = 0;
    uint32_t which = 0, fullest = 99;
    for (uint32_t s = 0; s < x->f.t.size[RLT_AXIS_PP]; s++) {
        rlt_training_memory got = rlt_training_memory_of(&x->f.t, s), m = expect(x, s);
        same("parameters", k, s, got.parameters, m.parameters);
        same("gradients", k, s, got.gradients, m.gradients);
        same("optimizer", k, s, got.optimizer, m.optimizer);
        same("buffers", k, s, got.buffers, m.buffers);
        assert_int_equal(got.in_flight, m.in_flight);
        same("backward", k, s, got.backward, m.backward);
        same("activations", k, s, got.activations, m.activations);
        same("gathered", k, s, got.gathered, m.gathered);
        same("allocated", k, s, got.allocated, m.allocated);
        same("reserved", k, s, got.reserved, m.reserved);
        same("total", k, s, got.total, m.total);
        which = got.total > most ? s : which;
        most = fmax(most, got.total);
        compare_fit(x, got.total);
        compare_fit(x, got.total - 1);
        compare_fit(x, got.total * (1 + s + k % 5) / 8);
    }
    assert_true(fabs(rlt_training_fullest(&x->f.t, &fullest) - most) <= 0);
    assert_int_equal(fullest, which);
}

static void as_counted(void **state)
{
    dice d = {.seed = 1};
    uint32_t planned = 0;
    (void)state;
    for (uint32_t k = 0; k < TRIALS; k++) {
        trial x = {.f = {.err = {0}}};
        draw_model(&x, &d);
        draw_training(&x, &d);
        if (rlt_training_plan(&x.f.t, 0, &x.f.err) == 0) {
            x.f.t.load.experts = 1.25; /* as a plan finds it for the routing */
            compare(&x, k);
            planned++;
        }
        rlt_model_free(&x.f.model);
    }
    printf("# %u of %d layouts\n", planned, TRIALS);
    assert_true(planned > TRIALS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
