/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet list options: the options of every command, from the tables that make --help. */
#include <stdio.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "tools/base/command.h"
#include "tools/cli/list.h"
#include "tools/output/output.h"

const rlt_column rlt_option_columns[] = {
    {"name", "name", NULL, RLT_COL_TEXT, 0, 0, "name of the option, without dashes"},
    {"command", "command", NULL, RLT_COL_TEXT, 0, 0, "command that takes the option"},
    {"letter", "letter", NULL, RLT_COL_TEXT, 0, 0, "short form of the option"},
    {"kind", "kind", NULL, RLT_COL_TEXT, 0, 0, "kind of the value: count, size, duration, ..."},
    {"value", "value", NULL, RLT_COL_TEXT, 0, 0, "form of the value"},
    {"default", "default", NULL, RLT_COL_TEXT, 0, 0, "value without the option"},
    {"range", "range", NULL, RLT_COL_TEXT, 0, 0, "limits of the value"},
    {"required", "required", NULL, RLT_COL_TEXT, 0, 0, "yes: the command needs the option"},
    {"repeatable", "repeatable", NULL, RLT_COL_TEXT, 0, 0, "yes: the option may be given several times"},
    {"help", "help", NULL, RLT_COL_TEXT, 0, 0, "what the option changes"},
};

/* Formats the words of an option if it has a list of words; "" for a flag; else help's name of the value. */
static void value_of(const rlt_option *o, char *text, size_t size)
{
    rlt_param plain = *o;
    text[0] = '\0';
    if (o->words || o->word_at)
        plain.arg = NULL;
    if (o->kind != RLT_PARAM_FLAG)
        rlt_param_form(&plain, text, size);
}

static void put_option(rlt_table *t, const char *command, const rlt_option *o)
{
    char name[80], value[256], range[96], more[640];
    const char letter[] = {o->letter, '\0'};
    const char *preset = o->usual ? o->usual : o->preset ? o->preset : "";
    value_of(o, value, sizeof value);
    if (t->format == RLT_FORMAT_TABLE) {
        snprintf(name, sizeof name, "--%s%s%s", o->name, o->letter ? ", -" : "", letter);
        rlt_list_text(
            t->out, name, o->help,
            rlt_list_limits(o, o->kind == RLT_PARAM_FLAG ? "flag" : value, preset, more, sizeof more));
        return;
    }
    rlt_value v[] = {rlt_text(o->name),
                     rlt_text(command),
                     rlt_text(letter),
                     rlt_text(rlt_param_kind_name(o->kind)),
                     rlt_text(value),
                     rlt_text(preset),
                     rlt_text(rlt_param_range(o, range, sizeof range)),
                     rlt_text(o->required ? "yes" : "no"),
                     rlt_text(o->kind == RLT_PARAM_LIST ? "yes" : "no"),
                     rlt_text(o->help ? o->help : "")};
    rlt_table_row(t, v);
}

static void put_command(rlt_table *t, const char *name, const rlt_command *c)
{
    for (const rlt_option_group *g = c->options; g && g->options; g++) {
        if (t->format == RLT_FORMAT_TABLE && g->title)
            rlt_heading(t->out, "ringlet %s, %s:", name, g->title);
        for (const rlt_option *o = g->options; o->name; o++)
            put_option(t, name, o);
    }
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        char verb[128];
        snprintf(verb, sizeof verb, "%s %s", name, (*v)->name);
        put_command(t, verb, *v);
    }
}

static const rlt_command *next_command(const rlt_command *in, uint32_t i)
{
    return !in ? rlt_command_at(i) : in->verbs ? in->verbs[i] : NULL;
}

static const rlt_command *find(const rlt_command *in, const char *name, rlt_error *err)
{
    const rlt_command *c;
    rlt_nearest near = rlt_nearest_to(name);
    for (uint32_t i = 0; (c = next_command(in, i)); i++) {
        if (strcmp(c->name, name) == 0)
            return c;
        rlt_nearest_try(&near, c->name);
    }
    rlt_fail(err, RLT_EUSAGE, name, "no command%s%s%s%s%s", in ? " of " : "", in ? in->name : "",
             near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
    return NULL;
}

int rlt_list_options(rlt_table *t, char *const *command, int n, rlt_error *err)
{
    const rlt_command *c = NULL;
    char name[128] = "";
    for (int i = 0; i < n; i++) {
        if (!(c = find(c, command[i], err)))
            return RLT_EUSAGE;
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", i ? " " : "", c->name);
    }
    if (c)
        put_command(t, name, c);
    for (uint32_t i = 0; !n && (c = rlt_command_at(i)); i++)
        put_command(t, c->name, c);
    return 0;
}
