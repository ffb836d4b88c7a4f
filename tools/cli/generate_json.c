/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands and options as JSON, from the same tables as --help, for front ends such as the Python package. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/version.h"

static void put_text(rlt_jw *w, const char *key, const char *text)
{
    if (text && *text)
        rlt_jw_string(w, key, text);
}

static void put_option(rlt_jw *w, const char *group, const rlt_option *o)
{
    char word[64], range[96];
    const char letter[] = {o->letter, '\0'};
    const char *s;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "name", o->name);
    put_text(w, "letter", letter);
    put_text(w, "group", group);
    rlt_jw_string(w, "kind", rlt_param_kind_name(o->kind));
    put_text(w, "value", o->arg);
    put_text(w, "unit", o->unit);
    put_text(w, "default", o->usual ? o->usual : o->preset);
    put_text(w, "range", rlt_param_range(o, range, sizeof range));
    if (o->words || o->word_at) {
        rlt_jw_array(w, "words");
        for (uint32_t i = 0; (s = rlt_param_word(o, i, word)); i++)
            rlt_jw_string(w, NULL, s);
        rlt_jw_end_array(w);
    }
    rlt_jw_bool(w, "required", o->required);
    put_text(w, "help", o->help);
    rlt_jw_end_object(w);
}

static void put_command(rlt_jw *w, const rlt_command *c)
{
    const char *group = NULL;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "name", c->name);
    put_text(w, "summary", c->summary);
    put_text(w, "description", c->description);
    put_text(w, "example", c->example);
    rlt_jw_bool(w, "runs", c->run != NULL);
    put_text(w, "operands", c->operands);
    rlt_jw_i64(w, "min_operands", c->min_operands);
    rlt_jw_i64(w, "max_operands", c->max_operands);
    rlt_jw_bool(w, "more_options", c->take != NULL); /* the tables do not know all that it takes */
    rlt_jw_array(w, "options");
    for (const rlt_option_group *g = c->options; g && g->options; g++) {
        group = g->title ? g->title : group;
        for (const rlt_option *o = g->options; o->name; o++)
            put_option(w, group, o);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "verbs");
    for (const rlt_command *const *v = c->verbs; v && *v; v++)
        put_command(w, *v);
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

int rlt_print_tables(FILE *out, rlt_error *err)
{
    const rlt_command *c;
    rlt_jw w;
    rlt_jw_init(&w, true);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "ringlet", rlt_version);
    rlt_jw_string(&w, "config", rlt_config_help);
    rlt_jw_array(&w, "commands");
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        put_command(&w, c);
    rlt_jw_end_array(&w);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, NULL);
    if (!text)
        return rlt_nomem(err);
    fputs(text, out);
    free(text);
    return 0;
}
