/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The man page, from the same tables as --help. */
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/base/version.h"
#include "tools/help/help.h"
#include "tools/help/markdown.h"

static void man_option(FILE *out, const rlt_option *o)
{
    char word[64];
    const char *w;
    fputs(".TP\n\\fB", out);
    if (o->letter)
        fprintf(out, "\\-%c\\fR, \\fB", o->letter);
    fputs("\\-\\-", out);
    rlt_roff_text(out, o->name);
    fputs("\\fR", out);
    if (o->arg) {
        fputs(" \\fI", out);
        rlt_roff_text(out, o->arg);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    rlt_roff_text(out, o->help);
    for (uint32_t i = 0; o->kind == RLT_PARAM_WORD && (w = rlt_param_word(o, i, word)); i++) {
        fputs(i ? ", " : " One of ", out);
        rlt_roff_text(out, w);
    }
    fputs(o->kind == RLT_PARAM_WORD ? "." : "", out);
    if (o->preset) {
        fputs(" Default: ", out);
        rlt_roff_text(out, o->preset);
        fputc('.', out);
    }
    fputc('\n', out);
}

static void man_usage(FILE *out, const char *name, const rlt_command *c)
{
    const rlt_option *o;
    fputs(".br\n.B ", out);
    rlt_roff_text(out, name);
    fputc('\n', out);
    if (c->operands) {
        fputs(".I ", out);
        rlt_roff_text(out, c->operands);
        fputc('\n', out);
    }
    for (uint32_t i = 0; (o = rlt_option_at(c->options, i, NULL)); i++)
        if (o->required) {
            fputs(".B \\-\\-", out);
            rlt_roff_text(out, o->name);
            fputs("\n.I ", out);
            rlt_roff_text(out, o->arg);
            fputc('\n', out);
        }
    fputs(c->options ? "[options]\n" : "", out);
}

/* Prints the description, the options in their groups, and an example. */
static void man_body(FILE *out, const rlt_command *c)
{
    rlt_roff_text(out, c->description);
    fputc('\n', out);
    for (const rlt_option_group *g = c->options; g && g->options; g++) {
        if (g->title) {
            fputs(".PP\n\\fI", out);
            rlt_roff_text(out, g->title);
            fputs("\\fR\n", out);
        }
        for (const rlt_option *o = g->options; o->name; o++)
            man_option(out, o);
    }
    fputs(".PP\nExample:\n.PP\n.nf\n  ", out);
    rlt_roff_text(out, c->example);
    fputs("\n.fi\n", out);
}

static void man_title(FILE *out, const char *name)
{
    fprintf(out, ".TH \"%s\" 1 \"\" \"ringlet %s\" \"User Commands\"\n.SH NAME\n", name, rlt_version);
    rlt_roff_text(out, name);
    fputs(" \\- ", out);
}

int rlt_print_man_of(FILE *out, const rlt_command *c, rlt_error *err)
{
    char name[64], verb[128];
    snprintf(name, sizeof name, "ringlet-%s", c->name);
    man_title(out, name);
    rlt_roff_text(out, c->summary);
    fputs("\n.SH SYNOPSIS\n", out);
    snprintf(verb, sizeof verb, "ringlet %s", c->name);
    if (c->run)
        man_usage(out, verb, c);
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        snprintf(verb, sizeof verb, "ringlet %s %s", c->name, (*v)->name);
        man_usage(out, verb, *v);
    }
    fputs(".SH DESCRIPTION\n", out);
    man_body(out, c);
    if (c->verbs)
        fputs(".SH COMMANDS\n", out);
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        fputs(".SS ", out);
        rlt_roff_text(out, (*v)->name);
        fputc('\n', out);
        man_body(out, *v);
    }
    fputs(".SH EXAMPLES\n", out);
    int rc = rlt_help_man(out, "examples", name, err);
    fputs(".SH SEE ALSO\n.BR ringlet (1)\n", out);
    return rc;
}

int rlt_print_man(FILE *out, rlt_error *err)
{
    const rlt_command *c;
    man_title(out, "ringlet");
    fputs("simulate distributed deep-learning training\n"
          ".SH SYNOPSIS\n.B ringlet\n.I COMMAND\n[arguments]\n"
          ".SH DESCRIPTION\n"
          "How long an iteration or a collective takes on a network, what bounds it, and how busy every\n"
          "link is.\n"
          "Units are required in input: 400Gbps, 50GB/s, 1.5us, 64MiB (1 GB = 1e9 B, 1 GiB = 2^30 B).\n"
          ".SH COMMANDS\n",
          out);
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++) {
        fprintf(out, ".TP\n.BR ringlet\\-");
        rlt_roff_text(out, c->name);
        fputs(" (1)\n", out);
        rlt_roff_text(out, c->summary);
        fputc('\n', out);
    }
    fputs(".SH OPTIONS BEFORE THE COMMAND\n"
          ".TP\n\\fB\\-\\-plugin\\fR \\fIFILE\\fR\nLoad a plug-in before the command runs. May be repeated.\n"
          ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nPrint the version and the libraries that are built in.\n"
          ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the commands. After a command: explain it.\n"
          ".SH OPTIONS OF ALL COMMANDS\n",
          out);
    rlt_roff_text(out, rlt_config_help);
    fputs("\n.SH EXIT STATUS\n", out);
    int rc = rlt_help_man(out, "exit-status", NULL, err);
    fputs(".SH ENVIRONMENT\n", out);
    return rc ? rc : rlt_help_man(out, "environment", NULL, err);
}
