/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models by name: families, their settings, and the table of layers that they fill. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

#define MAX_PARAMETERS (UINT64_C(1) << 60)
enum { MAX_SETTINGS = 128, MAX_SPEC = 2048, MAX_TENSORS = 1 << 24 };

#define RLT_X(name) &rlt__model_##name,
static const rlt_model_family *const families[] = {RLT_MODEL_FAMILIES(RLT_X)};
#undef RLT_X
static rlt_registry registry = RLT_REGISTRY("model", RLT_EUSAGE, families);

rlt_registry *rlt_model_families(void)
{
    return &registry;
}

const rlt_model_family *rlt_model_family_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_model_preset *rlt_model_preset_at(uint32_t i)
{
    return i < rlt__model_n_presets ? &rlt__model_presets[i] : NULL;
}

/* ---- the table ---- */

void rlt_model_free(rlt_model *m)
{
    free(m->layers);
    free(m->tensors);
    free(m->products);
    *m = (rlt_model){0};
}

rlt_model_layer *rlt_model_add(rlt_model *m, const char *name, rlt_work_kind work, rlt_error *err)
{
    if (rlt_grow(&m->layers, &m->layers_room, sizeof *m->layers, (uint64_t)m->n_layers + 1,
                 RLT_MAX_MODEL_LAYERS, "layers of a model", err))
        return NULL;
    rlt_model_layer *l = &m->layers[m->n_layers++];
    *l = (rlt_model_layer){.work = (uint8_t)work};
    snprintf(l->name, sizeof l->name, "%s", name);
    return l;
}

int rlt_model_add_tensor(rlt_model *m, uint64_t elements, bool expert, rlt_error *err)
{
    int rc;
    if (elements == 0)
        return 0;
    if (elements > MAX_PARAMETERS - m->parameters)
        return rlt_fail(err, RLT_ERANGE, m->name, "the model has more than 2^60 parameters, the limit");
    if ((rc = rlt_grow(&m->tensors, &m->tensors_room, sizeof *m->tensors, (uint64_t)m->n_tensors + 1,
                       MAX_TENSORS, "tensors of a model", err)))
        return rc;
    rlt_model_layer *l = &m->layers[m->n_layers - 1];
    m->tensors[m->n_tensors++] =
        (rlt_model_tensor){.layer = m->n_layers - 1, .expert = expert, .elements = elements};
    *(expert ? &l->expert_parameters : &l->parameters) += elements;
    m->parameters += elements;
    return 0;
}

/* Adds a product to the last layer, and its FLOPs: 2 rows in out forward, twice that backward. */
static int add_product(rlt_model *m, const rlt_model_product *p, rlt_error *err)
{
    int rc = rlt_grow(&m->products, &m->products_room, sizeof *m->products, (uint64_t)m->n_products + 1,
                      MAX_TENSORS, "products of a model", err);
    if (rc)
        return rc;
    rlt_model_layer *l = &m->layers[m->n_layers - 1];
    double flop = 2 * p->rows * (double)p->in * (double)p->out;
    if (l->n_products == 0)
        l->first_product = m->n_products;
    l->n_products++;
    l->forward_flop += flop;
    l->backward_flop += 2 * flop;
    m->products[m->n_products++] = *p;
    return 0;
}

rlt_model_totals rlt_model_sum(const rlt_model *m)
{
    rlt_model_totals t = {.parameters = m->parameters};
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const rlt_model_layer *l = &m->layers[i];
        t.forward_flop += l->forward_flop;
        t.backward_flop += l->backward_flop;
        t.blocks += l->movable && (i == 0 || m->layers[i - 1].block != l->block);
    }
    return t;
}

/* ---- for families ---- */

void rlt__model_layer(rlt__model_builder *b, const char *stem, const char *part, rlt_work_kind work)
{
    char name[RLT_MODEL_NAME];
    snprintf(name, sizeof name, "%s%s%s", stem, part ? " " : "", part ? part : "");
    b->layer = b->rc ? NULL : rlt_model_add(b->m, name, work, b->err);
    if (!b->layer) {
        b->rc = b->rc ? b->rc : b->err && b->err->code ? b->err->code : RLT_ENOMEM;
        b->layer = &b->scratch;
    }
    b->layer->block = b->block;
}

void rlt__model_tensor(rlt__model_builder *b, uint64_t elements, bool expert)
{
    if (!b->rc)
        b->rc = rlt_model_add_tensor(b->m, elements, expert, b->err);
}

void rlt__model_work(rlt__model_builder *b, double flop)
{
    b->layer->forward_flop += flop;
    b->layer->backward_flop += 2 * flop;
}

void rlt__model_shape(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, uint64_t n)
{
    double small = (double)(in < out ? in : out), large = (double)(in < out ? out : in);
    b->layer->sides += n * (in + out);
    b->layer->sides_flop += 2 * rows * (double)(in + out);
    b->layer->orthogonal_flop += (double)n * (4 * small * small * large + 2 * small * small * small);
}

void rlt__model_product(rlt__model_builder *b, rlt_model_product p)
{
    if (!b->rc)
        b->rc = add_product(b->m, &p, b->err);
}

void rlt__model_matrix_split(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, bool bias,
                             rlt_product_split split)
{
    rlt__model_tensor(b, in * out, false);
    rlt__model_tensor(b, bias ? out : 0, false);
    rlt__model_shape(b, rows, in, out, 1);
    rlt__model_product(b, (rlt_model_product){rows, in, out, split, false});
}

void rlt__model_matrix(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, bool bias)
{
    rlt__model_matrix_split(b, rows, in, out, bias, RLT_SPLIT_OUT);
}

int rlt__model_set(const char *family, const rlt_param *known, void *into, const char *const *settings,
                   uint32_t n, rlt_error *err)
{
    char whose[32];
    int rc = rlt_params_preset(known, into, err);
    snprintf(whose, sizeof whose, "a %s", family);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rlt_params_set_text(known, whose, into, settings[i], err);
    return rc;
}

/* ---- by the text that a user types ---- */

typedef struct setting_list {
    char text[MAX_SPEC];
    size_t used;
    const char *items[MAX_SETTINGS];
    uint32_t n;
} setting_list;

/* Appends the settings of "A=1,B=2". Ignores blanks after commas. */
static int add_settings(setting_list *l, const char *spec, const char *from, rlt_error *err)
{
    const char *cursor = from, *item;
    size_t length;
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        for (; length && *item == ' '; item++)
            length--;
        if (l->n == MAX_SETTINGS || length + 1 > sizeof l->text - l->used)
            return rlt_fail(err, RLT_EUSAGE, spec, "expected at most %d settings, in a shorter text",
                            MAX_SETTINGS);
        l->items[l->n++] = memcpy(l->text + l->used, item, length);
        l->text[l->used + length] = '\0';
        l->used += length + 1;
    }
    return 0;
}

static int unknown_model(const char *name, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    for (uint32_t i = 0; i < rlt__model_n_presets; i++)
        rlt_nearest_try(&near, rlt__model_presets[i].name);
    rlt_registry_near(&registry, &near);
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown model; did you mean '%s'?", near.best);
    return rlt_fail(err, RLT_EUSAGE, name,
                    "unknown model: 'ringlet list models' shows all; a file ends in .csv or .json");
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

/* Settings of a preset or a file, and the name and family of the model they describe. */
typedef struct described {
    const char *name, *family, *settings;
} described;

/* Builds a model from its own settings and those behind the colon. */
static int build(const char *spec, const described *d, const char *settings, rlt_model *m, rlt_error *err)
{
    setting_list list = {.used = 0};
    const rlt_model_family *f = rlt_registry_find(&registry, d->family, NULL, NULL);
    int rc = 0;
    if (!f)
        return unknown_model(d->name, err);
    if (d->settings)
        rc = add_settings(&list, spec, d->settings, err);
    if (!rc && (rc = rlt_names_once(settings, err)))
        rlt_error_prefix(err, spec);
    if (!rc && settings)
        rc = add_settings(&list, spec, settings, err);
    if (rc)
        return rc;
    snprintf(m->name, sizeof m->name, "%s", d->name);
    snprintf(m->family, sizeof m->family, "%s", d->family);
    if ((rc = f->build(m, list.items, list.n, err)))
        rlt_error_prefix(err, spec);
    return rc;
}

static int build_named(const char *spec, const char *name, const char *settings, rlt_model *m, rlt_error *err)
{
    described d = {.name = name, .family = name};
    for (uint32_t i = 0; i < rlt__model_n_presets; i++)
        if (strcmp(name, rlt__model_presets[i].name) == 0) {
            d.family = rlt__model_presets[i].family;
            d.settings = rlt__model_presets[i].settings;
        }
    return build(spec, &d, settings, m, err);
}

static int open_json(const char *spec, const char *path, const char *settings, rlt_model *m, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    rlt__config config;
    int rc = rlt_json_load(path, &doc, err);
    bool is = !rc && rlt__config_is(rlt_json_root(doc));
    if (is)
        rc = rlt__config_read(rlt_json_root(doc), &config, err);
    rlt_json_free(doc);
    if (is && !rc) {
        const described d = {config.name, config.family, config.settings};
        rc = build(spec, &d, settings, m, err);
    } else if (!rc && settings)
        rc = rlt_fail(err, RLT_EUSAGE, spec, "a table of layers has no settings: expected the file alone");
    else if (!rc)
        rc = rlt__model_read(path, m, err);
    return rc;
}

/* Returns the length of a file's name in front of ":settings". Returns 0 if the text is not a .json file with
 * settings. */
static size_t file_length(const char *spec)
{
    static const char ending[] = ".json:";
    const char *end = strstr(spec, ending);
    return end ? (size_t)(end - spec) + sizeof ending - 2 : 0;
}

const char *rlt_model_settings(const char *spec)
{
    size_t n = file_length(spec);
    if (ends_with(spec, ".csv") || ends_with(spec, ".json"))
        return NULL;
    return n ? spec + n : strchr(spec, ':');
}

/* Writes the path of a file, or of the config.json of a folder. Returns false for a name. */
static bool find_file(const char *spec, size_t length, char *path, size_t size)
{
    struct stat st;
    int n = snprintf(path, size, "%.*s", (int)length, spec);
    if (n < 0 || (size_t)n + sizeof "/config.json" > size)
        return false;
    if (ends_with(path, ".json"))
        return true;
    if (!(strchr(path, '/') || path[0] == '.') || stat(path, &st) || !S_ISDIR(st.st_mode))
        return false;
    snprintf(path + n, size - (size_t)n, "/config.json");
    return true;
}

int rlt_model_open(const char *spec, rlt_model *out, rlt_error *err)
{
    char name[RLT_MODEL_NAME], path[PATH_MAX];
    const char *colon = rlt_model_settings(spec), *settings = colon ? colon + 1 : NULL;
    size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
    int rc;
    *out = (rlt_model){0};
    if (ends_with(spec, ".csv"))
        rc = rlt__model_read(spec, out, err);
    else if (find_file(spec, length, path, sizeof path))
        rc = open_json(spec, path, settings, out, err);
    else if (length == 0 || length >= sizeof name)
        rc = unknown_model(spec, err);
    else {
        snprintf(name, sizeof name, "%.*s", (int)length, spec);
        rc = build_named(spec, name, settings, out, err);
    }
    if (rc)
        rlt_model_free(out);
    return rc;
}
