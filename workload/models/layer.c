/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/models/layer.h"

/* Backward element-wise kernels move this much more than forward ones. */
static const double moved_backward = 1.6;

rlt_time rlt_time_of(double ps)
{
    return ps < (double)RLT_TIME_MAX ? (rlt_time)(ps + 0.5) : RLT_TIME_MAX;
}

static double split_of(const rlt_model_layer *l, const rlt_layer_share *s)
{
    return l->sharded ? s->tp : 1;
}

/* Returns the ranks that share an expert. */
static double expert_split(const rlt_model_layer *l, const rlt_layer_share *s)
{
    return l->sharded && s->etp ? s->etp : split_of(l, s);
}

/* Returns the share of the tokens on which a rank computes a product that is not divided. With sequence
 * parallelism, that is its own part: Megatron-LM, multi_latent_attention.py, whose narrow vectors are
 * gathered afterwards. If fewer ranks share an expert than share the other layers, each dispatches its own
 * part, and the router has only that. */
static double own_tokens(const rlt_model_layer *l, const rlt_layer_share *s)
{
    if (s->sequence_parallel)
        return 1 / split_of(l, s);
    return l->experts > 0 ? expert_split(l, s) / split_of(l, s) : 1;
}

/* Returns the time of a product. A rank has 1/ep of the experts and as many copies of tokens as without
 * expert parallelism: each of its experts gets an equal share. If fewer ranks share an expert than share the
 * other layers, the copies of a rank are as many less as its matrices are more. */
static double product_time(const rlt_model_layer *l, const rlt_model_product *p, const rlt_roofline *f,
                           const rlt_layer_share *s, rlt_layer_pass pass)
{
    double count = p->expert && l->experts > s->ep ? (double)l->experts / s->ep : 1;
    double tp = p->expert ? expert_split(l, s) : split_of(l, s);
    double rows = p->rows * s->samples / count, e = s->element_bytes;
    rows *= p->expert && s->load > 0 ? s->load : 1;
    if (p->expert)
        rows *= expert_split(l, s) / split_of(l, s);
    else if (p->split == RLT_SPLIT_NONE)
        rows *= own_tokens(l, s);
    double in = (double)p->in / (p->split == RLT_SPLIT_IN ? tp : 1),
           out = (double)p->out / (p->split == RLT_SPLIT_OUT ? tp : 1);
    rlt_work w = {.kind = (rlt_work_kind)l->work, .m = rows, .n = out, .k = in};
    w.flop = 2 * rows * in * out * count * s->slowdown / (pass == RLT_LAYER_FORWARD ? 1 : f->backward);
    /* A convolution reads images, not a copy of each pixel for each tap of the filter. */
    double activations = rows * (l->work == RLT_WORK_CONVOLUTION ? 2 * out : in + out) * e;
    w.bytes = count * (activations + in * out * (pass == RLT_LAYER_WEIGHTS ? 2.0 * s->gradient_bytes : e));
    if (pass == RLT_LAYER_INPUTS) {
        w.n = in;
        w.k = out;
    } else if (pass == RLT_LAYER_WEIGHTS) {
        w.m = in;
        w.k = rows;
    }
    return (double)rlt_roofline_time(f, &w);
}

/* Returns true if the stack computes the scores of attention apart, whatever the model says. */
static bool unfused(const rlt_model_layer *l, const rlt_roofline *f)
{
    return f->score_passes > 0 && l->scores > 0;
}

static double moved(const rlt_model_layer *l, const rlt_roofline *f)
{
    return unfused(l, f) ? l->moved_elements - l->moved_scores + f->score_passes * l->scores
                         : l->moved_elements;
}

/* Returns the time of attention as products of matrices: queries times keys (head wide), whose results are
 * scores, and scores times values (as long as there are keys). Of the backward pass one is like the former,
 * three like the latter. All heads are one kernel. */
static double scores_time(const rlt_model_layer *l, const rlt_roofline *f, const rlt_layer_share *s,
                          rlt_layer_pass pass)
{
    double scores = l->scores * s->samples / split_of(l, s), rows = scores / l->keys;
    double times = pass == RLT_LAYER_FORWARD ? 1 : 1 / f->backward;
    rlt_work into = {.kind = RLT_WORK_MATMUL, .flop = 2 * scores * l->head * times},
             out = {.kind = RLT_WORK_MATMUL, .flop = 2 * scores * l->value_head * times};
    into.m = out.m = rows;
    into.n = out.k = l->keys;
    into.k = l->head;
    out.n = l->value_head;
    return (double)rlt_roofline_time(f, &into) +
           (pass == RLT_LAYER_FORWARD ? 1 : 3) * (double)rlt_roofline_time(f, &out);
}

/* Returns the time of a layer without a list of products: one of the model's width. */
static double width_time(const rlt_model *m, const rlt_model_layer *l, const rlt_roofline *f,
                         const rlt_layer_share *s, double flop, double weight_bytes)
{
    double tp = split_of(l, s);
    double weights = (double)(l->parameters + l->tied_parameters) / tp +
                     (double)l->expert_parameters / s->ep / expert_split(l, s);
    bool matrix = l->work == RLT_WORK_MATMUL || l->work == RLT_WORK_CONVOLUTION;
    rlt_work w = {.kind = (rlt_work_kind)l->work,
                  .flop = flop * s->samples / tp * (matrix ? s->slowdown : 1),
                  .bytes = weights * weight_bytes,
                  .m = m->hidden ? s->samples * m->tokens : 0,
                  .n = m->hidden,
                  .k = m->hidden};
    return w.flop > 0 ? (double)rlt_roofline_time(f, &w) : 0;
}

static double products_time(const rlt_model *m, const rlt_model_layer *l, const rlt_roofline *f,
                            const rlt_layer_share *s, rlt_layer_pass pass)
{
    double sum = 0;
    for (uint32_t i = 0; i < l->n_products; i++)
        sum += product_time(l, &m->products[l->first_product + i], f, s, pass);
    if (l->n_products)
        return sum;
    if (unfused(l, f))
        return pass == RLT_LAYER_WEIGHTS ? 0 : scores_time(l, f, s, pass);
    bool learns = l->parameters + l->tied_parameters + l->expert_parameters > 0;
    double forward = l->executed_forward > 0 ? l->executed_forward : l->forward_flop,
           backward = (l->executed_backward > 0 ? l->executed_backward : l->backward_flop) / f->backward;
    if (pass == RLT_LAYER_FORWARD)
        return width_time(m, l, f, s, forward, s->element_bytes);
    if (pass == RLT_LAYER_INPUTS)
        return width_time(m, l, f, s, learns ? backward / 2 : backward, s->element_bytes);
    return learns ? width_time(m, l, f, s, backward / 2, 2.0 * s->gradient_bytes) : 0;
}

/* Returns the time of a layer's adapters (LoRA): two narrow products beside each of its own. Weights that are
 * frozen have no gradients; those of the adapters are counted with the inputs'. */
static double adapters_time(const rlt_model *m, const rlt_model_layer *l, const rlt_roofline *f,
                            const rlt_layer_share *s, rlt_layer_pass pass)
{
    rlt_work w = {.kind = RLT_WORK_MATMUL,
                  .flop = s->adapter_rank * l->sides_flop * s->samples * (pass == RLT_LAYER_FORWARD ? 1 : 2),
                  .m = s->samples * m->tokens,
                  .n = s->adapter_rank,
                  .k = m->hidden};
    return w.flop > 0 ? (double)rlt_roofline_time(f, &w) : 0;
}

double rlt_layer_time(const rlt_model *m, uint32_t i, const rlt_roofline *f, const rlt_layer_share *s,
                      rlt_layer_pass pass)
{
    const rlt_model_layer *l = &m->layers[i];
    if (s->adapter_rank && pass == RLT_LAYER_WEIGHTS)
        return 0;
    double products = products_time(m, l, f, s, pass), split = split_of(l, s);
    if (s->adapter_rank)
        products += adapters_time(m, l, f, s, pass);
    double times = pass == RLT_LAYER_FORWARD ? 1 : pass == RLT_LAYER_INPUTS ? moved_backward : 0;
    if (!l->sharded && s->sequence_parallel)
        split = s->tp;
    bool experts = l->experts > 0 && l->work == RLT_WORK_MATMUL;
    double elements = moved(l, f) + (experts ? s->packed * (double)l->ep_elements : 0);
    rlt_work w = {.kind = RLT_WORK_VECTOR,
                  .bytes = elements * (experts && s->load > 0 ? s->load : 1) * times * s->samples *
                           s->element_bytes / split};
    return (products + (w.bytes > 0 ? (double)rlt_roofline_time(f, &w) : 0)) * (s->busy > 0 ? s->busy : 1);
}

double rlt_layer_kernels(const rlt_model_layer *l)
{
    return l->n_products + (l->n_products == 0 && l->forward_flop > 0) + (l->moved_elements > 0 ? 2 : 0);
}
