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

static void man_command(FILE *out, const char *name, const rlt_command *c)
{
    fputs(".SS ", out);
    rlt_roff_text(out, name);
    if (c->operands) {
        fputc(' ', out);
        rlt_roff_text(out, c->operands);
    }
    fputc('\n', out);
    rlt_roff_text(out, c->description);
    fputc('\n', out);
    for (const rlt_option_group *g = c->options; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++)
            man_option(out, o);
    fputs(".PP\nExample:\n.PP\n.nf\n  ", out);
    rlt_roff_text(out, c->example);
    fputs("\n.fi\n", out);
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        char verb[128];
        snprintf(verb, sizeof verb, "%s %s", name, (*v)->name);
        man_command(out, verb, *v);
    }
}

int rlt_print_man(FILE *out, rlt_error *err)
{
    const rlt_command *c;
    fprintf(out, ".TH RINGLET 1 \"\" \"ringlet %s\" \"User Commands\"\n", rlt_version);
    fputs(".SH NAME\nringlet \\- simulate distributed deep-learning training\n"
          ".SH SYNOPSIS\n.B ringlet\n.I COMMAND\n[arguments]\n"
          ".SH DESCRIPTION\n"
          "How long an iteration or a collective takes on a network, what bounds it, and how busy every\n"
          "link is.\n"
          "Units are required in input: 400Gbps, 50GB/s, 1.5us, 64MiB (1 GB = 1e9 B, 1 GiB = 2^30 B).\n"
          ".SH COMMANDS\n",
          out);
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++) {
        char name[64];
        snprintf(name, sizeof name, "ringlet %s", c->name);
        man_command(out, name, c);
    }
    fputs(".SH OPTIONS BEFORE THE COMMAND\n"
          ".TP\n\\fB\\-\\-plugin\\fR \\fIFILE\\fR\nLoad a plug-in before the command runs. May be repeated.\n"
          ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nPrint the version and the libraries that are built in.\n"
          ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the commands. After a command: explain it.\n"
          ".SH OPTIONS OF ALL COMMANDS\n",
          out);
    rlt_roff_text(out, rlt_config_help);
    fputs("\n.SH EXAMPLES\n", out);
    int rc = rlt_help_man(out, "examples", err);
    fputs(".SH EXIT STATUS\n", out);
    rc = rc ? rc : rlt_help_man(out, "exit-status", err);
    fputs(".SH ENVIRONMENT\n", out);
    return rc ? rc : rlt_help_man(out, "environment", err);
}
