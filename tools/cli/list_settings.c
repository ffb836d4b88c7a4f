/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet list settings: every table of parameters that are set by name. */
#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/param.h"
#include "tools/cli/list.h"
#include "tools/help/settings.h"
#include "tools/output/output.h"

const rlt_column rlt_setting_columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0, "name of the setting"},
    {"of", "of", NULL, RLT_COL_TEXT, 0, 0, "algorithm, model or part that reads the setting"},
    {"given", "given", NULL, RLT_COL_TEXT, 0, 0, "how the setting is given"},
    {"kind", "kind", NULL, RLT_COL_TEXT, 0, 0, "kind of the value: count, size, duration, ..."},
    {"value", "value", NULL, RLT_COL_TEXT, 0, 0, "form of the value"},
    {"default", "default", NULL, RLT_COL_TEXT, 0, 0, "value without the setting"},
    {"range", "range", NULL, RLT_COL_TEXT, 0, 0, "limits of the value"},
    {"unit", "unit", NULL, RLT_COL_TEXT, 0, 0, "unit of a plain number"},
    {"help", "help", NULL, RLT_COL_TEXT, 0, 0, "what the setting changes"},
};

/* Returns the default as text. A field without a default is zero. */
static const char *default_of(const rlt_param *p, char word[64])
{
    bool number = p->kind == RLT_PARAM_COUNT || p->kind == RLT_PARAM_SIZE || p->kind == RLT_PARAM_RATE ||
                  p->kind == RLT_PARAM_DURATION || p->kind == RLT_PARAM_NUMBER ||
                  p->kind == RLT_PARAM_SHARE || p->kind == RLT_PARAM_PPM;
    const char *first = p->kind == RLT_PARAM_CHOICE ? rlt_param_word(p, 0, word) : NULL;
    if (p->required)
        return "none: needed";
    if (p->usual || p->preset)
        return p->usual ? p->usual : p->preset;
    return first ? first : number && p->min <= 0 ? "0" : "";
}

char *rlt_list_limits(const rlt_param *p, const char *form, const char *preset, char *text, size_t size)
{
    char range[96];
    rlt_param_range(p, range, sizeof range);
    if (p->required)
        preset = "";
    snprintf(text, size, "%s%s%s%s%s%s%s%s", form, p->unit ? " of " : "", p->unit ? p->unit : "",
             *range ? "; " : "", range, *preset ? "; default " : "", preset, p->required ? "; required" : "");
    return text;
}

char *rlt_list_value(const rlt_param *p, char *text, size_t size)
{
    char form[256], word[64];
    return rlt_list_limits(p, rlt_param_form(p, form, sizeof form), default_of(p, word), text, size);
}

static void put_row(void *self, const rlt_setting_owner *o, const rlt_param *p)
{
    rlt_table *t = self;
    char name[128], given[256], form[256], range[96], word[64], more[640];
    snprintf(name, sizeof name, "%s%s", o->prefix ? o->prefix : "", p->name);
    if (t->format == RLT_FORMAT_TABLE) {
        rlt_list_text(t->out, name, p->help, rlt_list_value(p, more, sizeof more));
        return;
    }
    snprintf(given, sizeof given, "%s%s=VALUE", o->given, name);
    rlt_param_form(p, form, sizeof form);
    rlt_value v[] = {rlt_text(name),
                     rlt_text(o->of),
                     rlt_text(given),
                     rlt_text(rlt_param_kind_name(p->kind)),
                     rlt_text(form),
                     rlt_text(default_of(p, word)),
                     rlt_text(rlt_param_range(p, range, sizeof range)),
                     rlt_text(p->unit ? p->unit : ""),
                     rlt_text(p->help ? p->help : "")};
    rlt_table_row(t, v);
}

static void put_owner(void *self, const rlt_setting_owner *o)
{
    rlt_table *t = self;
    if (t->format == RLT_FORMAT_TABLE)
        rlt_heading(t->out, "%s: %sNAME=VALUE", o->of, o->given);
}

void rlt_list_settings(rlt_table *t)
{
    rlt_each_setting(&(rlt_setting_visitor){put_owner, put_row, t});
}
