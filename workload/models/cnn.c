/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Convolutional networks with their published shapes. ResNet: He et al., arXiv 1512.03385; wide ones:
 * Zagoruyko & Komodakis, arXiv 1605.07146; the stride is on the 3 x 3 convolution of a bottleneck, as trained
 * today ("v1.5"). VGG: Simonyan & Zisserman, arXiv 1409.1556.
 *
 * FLOPs: 2 c_in c_out k^2 H_out W_out per convolution, 2 in out per fully connected layer. Example: 3 x 3, 64
 * to 64 channels, 56 x 56 outputs: 2 * 64 * 64 * 9 * 3136 = 0.23 GFLOP. Other layers count no FLOPs but take
 * the time of the bytes they move. Kept for the backward pass: the input of each convolution (the output of
 * the activation before it), of each batch norm, and of each pooling layer.
 */
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

typedef struct cnn {
    uint32_t depth, width, image, channels, classes, batch_norm;
} cnn;

/* The model being built, and the image after its last layer. */
typedef struct chain {
    rlt__model_builder b;
    cnn s;
    uint32_t channels, side;
    bool movable; /* the next layer begins a block, at which a pipeline stage may begin */
} chain;

static double image(const chain *c)
{
    return (double)c->channels * c->side * c->side;
}

static void begin_block(chain *c)
{
    c->b.block++;
    c->movable = true;
}

static rlt_model_layer *layer(chain *c, const char *name, rlt_work_kind work)
{
    rlt__model_layer(&c->b, name, NULL, work);
    c->b.layer->output_elements = (uint64_t)c->channels * c->side * c->side;
    c->b.layer->movable = c->movable;
    c->movable = false;
    return c->b.layer;
}

/* A convolution, padded by half its kernel, with its batch norm if it has one. `passes`: passes of the
 * following element-wise operations over the output. An activation reads and writes; a sum with a shortcut
 * reads once more. */
typedef struct conv {
    uint32_t kernel, channels, stride, passes;
    bool bias, batch_norm;
    bool shares; /* another layer already keeps its input */
} conv;

static void convolve(chain *c, const char *name, const conv *k)
{
    char bn[RLT_MODEL_NAME];
    double in = image(c), out;
    uint64_t inputs = c->channels, weights = (uint64_t)k->kernel * k->kernel * inputs * k->channels;
    c->channels = k->channels;
    c->side = (c->side + k->stride - 1) / k->stride;
    out = image(c);
    rlt_model_layer *l = layer(c, name, RLT_WORK_CONVOLUTION);
    l->saved_whole = k->shares ? 0 : in;
    l->moved_elements = k->batch_norm ? 0 : k->passes * out;
    rlt__model_tensor(&c->b, weights, false);
    rlt__model_tensor(&c->b, k->bias ? k->channels : 0, false);
    rlt__model_product(&c->b, (rlt_model_product){(double)c->side * c->side,
                                                  (uint64_t)k->kernel * k->kernel * inputs, k->channels,
                                                  RLT_SPLIT_OUT, false});
    if (!k->batch_norm)
        return;
    snprintf(bn, sizeof bn, "%s.bn", name);
    l = layer(c, bn, RLT_WORK_VECTOR);
    l->saved_whole = out;
    l->moved_elements = (3 + k->passes) * out; /* batch norm: reads for the statistics, reads again, writes */
    rlt__model_tensor(&c->b, k->channels, false);
    rlt__model_tensor(&c->b, k->channels, false);
}

/* Adds a pooling step to the layer before: its output shrinks. */
static void pool(chain *c, uint32_t stride)
{
    rlt_model_layer *l = c->b.layer;
    double in = image(c);
    c->side = (c->side + stride - 1) / stride;
    l->saved_whole += in;
    l->moved_elements += in + image(c);
    l->output_elements = (uint64_t)image(c);
}

static void fully_connected(chain *c, const char *name, uint32_t width, uint32_t passes)
{
    uint64_t in = (uint64_t)image(c);
    c->channels = width;
    c->side = 1;
    rlt_model_layer *l = layer(c, name, RLT_WORK_CONVOLUTION); /* of one pixel */
    l->saved_whole = (double)in;
    l->moved_elements = 1.0 * passes * width;
    rlt__model_matrix(&c->b, 1, in, width, true);
}

/* Adds a block. ResNet-18 and -34 have two 3 x 3 convolutions per block; the others have a bottleneck that
 * widens fourfold. */
static void residual(chain *c, const char *name, uint32_t inner, uint32_t outer, uint32_t stride)
{
    bool narrow = c->s.depth<50, project = stride> 1 || c->channels != outer;
    uint32_t in = c->channels, side = c->side;
    char part[RLT_MODEL_NAME];
    conv parts[] = {{1, inner, 1, 2, false, true, false},
                    {3, inner, stride, 2, false, true, false},
                    {1, outer, 1, 3, false, true, false}};
    if (narrow) {
        parts[0] = (conv){3, inner, stride, 2, false, true, false};
        parts[1] = (conv){3, outer, 1, 3, false, true, false};
    }
    begin_block(c);
    for (uint32_t i = 0; i < (narrow ? 2u : 3u); i++) {
        snprintf(part, sizeof part, "%s.conv%u", name, i + 1);
        convolve(c, part, &parts[i]);
    }
    if (!project)
        return;
    c->channels = in;
    c->side = side;
    snprintf(part, sizeof part, "%s.down", name);
    convolve(c, part, &(conv){1, outer, stride, 0, false, true, true});
}

static void begin(chain *c, rlt_model *m, rlt_error *err)
{
    c->b = (rlt__model_builder){.m = m, .err = err};
    snprintf(m->sample, sizeof m->sample, "image");
    m->tokens = 1;
    c->channels = c->s.channels;
    c->side = c->s.image;
}

#define FIELD(name) RLT_FIELD(cnn, name)
#define DEPTH(usual_one, which)                                                                              \
    {                                                                                                        \
        "depth", .kind = RLT_PARAM_COUNT, FIELD(depth), .min = 1, .max = 152, .preset = usual_one,           \
                 .help = which                                                                               \
    }
#define COMMON                                                                                               \
    {"image",         .kind = RLT_PARAM_COUNT, FIELD(image), .min = 1, .max = 1 << 14,                       \
     .preset = "224", .help = "side in pixels"},                                                             \
        {"channels",    .kind = RLT_PARAM_COUNT,        FIELD(channels), .min = 1, .max = 4096,              \
         .preset = "3", .help = "channels of the image"},                                                    \
    {                                                                                                        \
        "classes", .kind = RLT_PARAM_COUNT, FIELD(classes), .min = 1, .max = 1 << 24, .preset = "1000",      \
                   .help = "output classes"                                                                  \
    }
static const rlt_param resnet[] = {
    DEPTH("50", "layers: 18, 34, 50, 101 or 152"),
    {"width", .kind = RLT_PARAM_COUNT, FIELD(width), .min = 1, .max = 64, .preset = "1",
     .help = "factor on the inner channels of a bottleneck; needs depth of at least 50"},
    COMMON,
    {0}};
static const rlt_param vgg[] = {DEPTH("19", "layers: 11, 13, 16 or 19"),
                                COMMON,
                                {"batch_norm", .kind = RLT_PARAM_CHOICE, .words = "no|yes", FIELD(batch_norm),
                                 .preset = "no", .help = "adds a batch norm after each convolution"},
                                {0}};

static int build_resnet(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    static const uint32_t depths[][5] = {
        {18, 2, 2, 2, 2}, {34, 3, 4, 6, 3}, {50, 3, 4, 6, 3}, {101, 3, 4, 23, 3}, {152, 3, 8, 36, 3}};
    const uint32_t *blocks = NULL;
    chain c = {.s = {.depth = 0}};
    int rc = rlt__model_set("resnet", resnet, &c.s, settings, n, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        if (depths[i][0] == c.s.depth)
            blocks = depths[i] + 1;
    if (!blocks || (c.s.width > 1 && c.s.depth < 50))
        return rlt_fail(err, RLT_EUSAGE, "depth",
                        "expected 18, 34, 50, 101 or 152 (at least 50 with width above 1), got %u",
                        c.s.depth);
    begin(&c, m, err);
    convolve(&c, "conv1", &(conv){7, 64, 2, 2, false, true, false});
    pool(&c, 2);
    for (uint32_t stage = 0; stage < 4; stage++)
        for (uint32_t i = 0; i < blocks[stage]; i++) {
            char name[32];
            uint32_t base = 64u << stage;
            snprintf(name, sizeof name, "layer%u.%u", stage + 1, i);
            residual(&c, name, base * c.s.width, c.s.depth < 50 ? base : 4 * base, stage && i == 0 ? 2 : 1);
        }
    pool(&c, c.side);
    c.b.block++;
    fully_connected(&c, "fc", c.s.classes, 0);
    return c.b.rc;
}

static int build_vgg(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    static const uint32_t depths[][6] = {
        {11, 1, 1, 2, 2, 2}, {13, 2, 2, 2, 2, 2}, {16, 2, 2, 3, 3, 3}, {19, 2, 2, 4, 4, 4}};
    const uint32_t *convs = NULL;
    chain c = {.s = {.depth = 0}};
    int rc = rlt__model_set("vgg", vgg, &c.s, settings, n, err);
    uint32_t number = 0;
    char name[32];
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        if (depths[i][0] == c.s.depth)
            convs = depths[i] + 1;
    if (!convs)
        return rlt_fail(err, RLT_EUSAGE, "depth", "expected 11, 13, 16 or 19, got %u", c.s.depth);
    begin(&c, m, err);
    for (uint32_t stage = 0; stage < 5; stage++, number++) {
        for (uint32_t i = 0; i < convs[stage]; i++) {
            if (number)
                begin_block(&c);
            snprintf(name, sizeof name, "features.%u", number++);
            convolve(&c, name, &(conv){3, stage < 4 ? 64u << stage : 512, 1, 2, true, c.s.batch_norm, false});
        }
        pool(&c, 2);
    }
    for (uint32_t i = 6; i < 9; i++) {
        begin_block(&c);
        snprintf(name, sizeof name, "fc%u", i);
        fully_connected(&c, name, i < 8 ? 4096 : c.s.classes, i < 8 ? 2 : 0);
    }
    return c.b.rc;
}

const rlt_model_family rlt__model_resnet = {
    .name = "resnet",
    .summary = "residual networks for images",
    .parameters = resnet,
    .build = build_resnet,
};

const rlt_model_family rlt__model_vgg = {
    .name = "vgg",
    .summary = "plain convolutional networks for images",
    .parameters = vgg,
    .build = build_vgg,
};
