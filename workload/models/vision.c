/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers of images: ViT (Dosovitskiy et al., arXiv 2010.11929) and DiT (Peebles and Xie, arXiv
 * 2212.09748). Both cut an image into square patches, each of which is a token, and consist of the blocks of
 * workload/models/transformer.c, without a mask.
 *
 *   ViT   (image / patch)^2 tokens and one for the class. A matrix per patch, learned positions, a norm, and
 *         a matrix to the classes.
 *   DiT   (image / patch)^2 tokens of a latent image, fixed positions. The time step, a frequency embedding
 *         of 256 through an MLP, and the class give one vector per image. In each block a matrix turns it
 *         into six vectors that shift, scale and gate; the norms have no weights (adaLN-Zero).
 *
 * Example: DiT-XL/2 of latent images of 32 x 32 has 256 tokens and takes 118.6 billion multiply-adds.
 */
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"
#include "workload/models/transformer.h"

typedef struct vision {
    uint32_t layers, hidden, heads, ffn, image, patch, channels, classes, class_token, qk_norm;
} vision;

#define FIELD(name) RLT_FIELD(vision, name)
#define SHAPE(layers_, hidden_, heads_)                                                                      \
    {"layers",          .kind = RLT_PARAM_COUNT,   FIELD(layers), .min = 1, .max = 4096,                     \
     .preset = layers_, .help = "number of blocks"},                                                         \
        {"hidden",                                                                                           \
         .kind = RLT_PARAM_COUNT,                                                                            \
         FIELD(hidden),                                                                                      \
         .min = 1,                                                                                           \
         .max = 1 << 20,                                                                                     \
         .preset = hidden_,                                                                                  \
         .help = "width of a token between layers"},                                                         \
        {"heads",                                                                                            \
         .kind = RLT_PARAM_COUNT,                                                                            \
         FIELD(heads),                                                                                       \
         .min = 1,                                                                                           \
         .max = 1 << 16,                                                                                     \
         .preset = heads_,                                                                                   \
         .help = "number of attention heads"},                                                               \
        {"ffn",          .kind = RLT_PARAM_COUNT, FIELD(ffn),                                                \
         .max = 1 << 22, .usual = "4*hidden",     .help = "inner width of an MLP"},                          \
    {                                                                                                        \
        "qk_norm", .kind = RLT_PARAM_CHOICE, .words = "no|yes", FIELD(qk_norm), .preset = "no",              \
                   .help = "normalises queries and keys"                                                     \
    }
#define IMAGE(image_, patch_, channels_)                                                                     \
    {"image",                                                                                                \
     .kind = RLT_PARAM_COUNT,                                                                                \
     FIELD(image),                                                                                           \
     .min = 1,                                                                                               \
     .max = 1 << 14,                                                                                         \
     .preset = image_,                                                                                       \
     .help = "height and width of an image, in pixels (dit: of a latent image)"},                            \
        {"patch",                                                                                            \
         .kind = RLT_PARAM_COUNT,                                                                            \
         FIELD(patch),                                                                                       \
         .min = 1,                                                                                           \
         .max = 1 << 14,                                                                                     \
         .preset = patch_,                                                                                   \
         .help = "height and width of a patch, in pixels"},                                                  \
    {                                                                                                        \
        "channels", .kind = RLT_PARAM_COUNT, FIELD(channels), .min = 1, .max = 4096, .preset = channels_,    \
                    .help = "channels of an image"                                                           \
    }
static const rlt_param of_vit[] = {SHAPE("12", "768", "12"),
                                   IMAGE("224", "16", "3"),
                                   {"classes", .kind = RLT_PARAM_COUNT, FIELD(classes), .min = 1,
                                    .max = 1 << 26, .preset = "1000", .help = "classes of images"},
                                   {"class_token", .kind = RLT_PARAM_CHOICE, .words = "no|yes",
                                    FIELD(class_token), .preset = "yes",
                                    .help = "one token more, which the class is read from"},
                                   {0}};
static const rlt_param of_dit[] = {SHAPE("28", "1152", "16"),
                                   IMAGE("32", "2", "4"),
                                   {"classes", .kind = RLT_PARAM_COUNT, FIELD(classes), .min = 1,
                                    .max = 1 << 26, .preset = "1000", .help = "classes of images"},
                                   {0}};

/* Sets up the blocks as those of a transformer with the same settings. */
static int begin(const vision *v, rlt__transformer *t, rlt_model *m, rlt_error *err)
{
    enum { COUNTS = 5, WORDS = 3 };
    uint32_t side = v->image / v->patch;
    const struct {
        const char *name;
        uint32_t value;
    } counts[COUNTS] = {{"layers", v->layers},
                        {"hidden", v->hidden},
                        {"heads", v->heads},
                        {"ffn", v->ffn ? v->ffn : 4 * v->hidden},
                        {"sequence", side * side + v->class_token}};
    char text[COUNTS][32];
    const char *list[COUNTS + WORDS] = {"dropout=no", "fused_attention=yes",
                                        v->qk_norm ? "qk_norm=yes" : "qk_norm=no"};
    if (v->image % v->patch)
        return rlt_fail(err, RLT_EUSAGE, "patch", "%u does not divide image %u", v->patch, v->image);
    for (uint32_t i = 0; i < COUNTS; i++) {
        snprintf(text[i], sizeof text[i], "%s=%u", counts[i].name, counts[i].value);
        list[WORDS + i] = text[i];
    }
    int rc = rlt__transformer_settings(t, list, COUNTS + WORDS, err);
    if (rc)
        return rc;
    snprintf(m->sample, sizeof m->sample, "image");
    m->tokens = t->sequence;
    m->hidden = t->hidden;
    m->heads = t->heads;
    m->kv_heads = t->kv_heads;
    return 0;
}

/* Adds the matrix that makes a token of each patch. */
static void patches(const vision *v, const rlt__transformer *t, rlt__model_builder *b)
{
    uint64_t pixels = (uint64_t)v->patch * v->patch * v->channels;
    double rows = t->s - v->class_token;
    rlt__model_layer(b, "patches", NULL, RLT_WORK_MATMUL);
    b->layer->output_elements = (uint64_t)t->sequence * t->hidden;
    b->layer->saved_whole = rows * (double)pixels;
    b->layer->moved_elements = rows * (double)pixels + t->s * t->hidden;
    rlt__model_matrix(b, rows, pixels, t->hidden, true);
}

/* Adds a norm without or with weights, and a matrix to `out` values, for `rows` tokens. */
static void head(const rlt__transformer *t, rlt__model_builder *b, double rows, uint64_t out, bool weights)
{
    double sh = t->s * t->hidden;
    rlt__model_layer(b, "head", NULL, RLT_WORK_MATMUL);
    b->layer->saved_whole = sh + rows * (t->hidden + (double)out);
    b->layer->moved_elements = 2 * sh + rows * (t->hidden + (double)out);
    rlt__model_tensor(b, weights ? 2 * (uint64_t)t->hidden : 0, false);
    rlt__model_matrix(b, rows, t->hidden, out, true);
}

static int build_vit(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    vision v = {.layers = 0};
    rlt__transformer t;
    rlt__model_builder b = {.m = m, .err = err};
    char stem[32];
    int rc = rlt__model_set("vit", of_vit, &v, settings, n, err);
    if (rc || (rc = begin(&v, &t, m, err)))
        return rc;
    patches(&v, &t, &b);
    rlt__model_tensor(&b, v.class_token ? t.hidden : 0, false);
    rlt__model_tensor(&b, (uint64_t)t.sequence * t.hidden, false);
    for (uint32_t i = 0; i < t.layers && !b.rc; i++) {
        snprintf(stem, sizeof stem, "block %u", i + 1);
        rlt__transformer_block(&t, &b, stem, i);
    }
    b.block++;
    head(&t, &b, 1, v.classes, true);
    return b.rc;
}

/* Adds the matrix that turns the vector of an image into `n` vectors. */
static void modulation(const rlt__transformer *t, rlt__model_builder *b, const char *stem, uint32_t n)
{
    double h = t->hidden;
    rlt__model_layer(b, stem, "modulation", RLT_WORK_MATMUL);
    b->layer->output_elements = (uint64_t)t->sequence * t->hidden;
    b->layer->saved_whole = h * (1 + n);
    b->layer->moved_elements = h * (1 + n);
    rlt__model_matrix(b, 1, t->hidden, (uint64_t)n * t->hidden, true);
}

static void condition(const vision *v, const rlt__transformer *t, rlt__model_builder *b)
{
    enum { FREQUENCIES = 256 };
    rlt__model_layer(b, "condition", NULL, RLT_WORK_MATMUL);
    b->layer->output_elements = (uint64_t)t->sequence * t->hidden;
    b->layer->saved_whole = FREQUENCIES + 3.0 * t->hidden;
    b->layer->moved_elements = FREQUENCIES + 5.0 * t->hidden;
    rlt__model_matrix(b, 1, FREQUENCIES, t->hidden, true);
    rlt__model_matrix(b, 1, t->hidden, t->hidden, true);
    rlt__model_tensor(b, ((uint64_t)v->classes + 1) * t->hidden, false); /* and one for no class */
}

static int build_dit(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    vision v = {.layers = 0};
    rlt__transformer t;
    rlt__model_builder b = {.m = m, .err = err};
    char stem[32];
    int rc = rlt__model_set("dit", of_dit, &v, settings, n, err);
    if (rc || (rc = begin(&v, &t, m, err)))
        return rc;
    t.unweighted_norms = 1;
    patches(&v, &t, &b);
    condition(&v, &t, &b);
    for (uint32_t i = 0; i < t.layers && !b.rc; i++) {
        snprintf(stem, sizeof stem, "block %u", i + 1);
        rlt__transformer_block(&t, &b, stem, i);
        modulation(&t, &b, stem, 6);
    }
    b.block++;
    modulation(&t, &b, "head", 2);
    /* The prediction of the noise and of its variance. */
    head(&t, &b, t.s, 2ull * v.patch * v.patch * v.channels, false);
    return b.rc;
}

const rlt_model_family rlt__model_vit = {
    .name = "vit",
    .summary = "ViT: images in patches through a transformer",
    .parameters = of_vit,
    .build = build_vit,
};

const rlt_model_family rlt__model_dit = {
    .name = "dit",
    .summary = "DiT: diffusion of latent images by a transformer",
    .parameters = of_dit,
    .build = build_dit,
};
