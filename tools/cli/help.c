/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --help, from the tables. */
#include <string.h>

#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/output/output.h"

const char rlt_config_help[] =
    "--config FILE takes options from a JSON file: {\"option\": value, ...}. Options on the command line "
    "override those in the file, and a later option overrides an earlier one. Repeatable options accumulate, "
    "but a NAME given twice in NAME=VALUE is refused, in lists, too.";

enum { WIDTH = 80, INDENT = 26 };

void rlt_wrap(FILE *out, const char *text, int column, int indent)
{
    int at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > indent && at + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", length, text);
        at += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* Prints paragraphs separated by empty lines. A line that begins with a blank is kept as it is. */
static void paragraphs(FILE *out, const char *text)
{
    while (*text) {
        char part[2048];
        size_t length = strcspn(text, "\n");
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        if (part[0] == ' ' || !part[0])
            fprintf(out, "%s\n", part);
        else
            rlt_wrap(out, part, 0, 0);
        text += length;
        text += *text == '\n';
    }
}

static void print_option(FILE *out, const rlt_option *o)
{
    char left[64], help[1024], word[64];
    size_t used;
    int column;
    const char *w;
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    column = fprintf(out, "%s", left);
    used = (size_t)snprintf(help, sizeof help, "%s", o->help);
    for (uint32_t i = 0; o->kind == RLT_PARAM_WORD && (w = rlt_param_word(o, i, word)); i++)
        used += (size_t)snprintf(help + used, sizeof help - used, "%s%s", i ? ", " : " One of ", w);
    if (o->kind == RLT_PARAM_WORD)
        used += (size_t)snprintf(help + used, sizeof help - used, ".");
    if (o->preset && strcmp(o->preset, "-") != 0)
        snprintf(help + used, sizeof help - used, " [%s]", o->preset);
    if (column >= INDENT) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", INDENT - column, "");
    rlt_wrap(out, help, INDENT, INDENT);
}

static void usage_line(FILE *out, const char *name, const rlt_command *c)
{
    const rlt_option *o;
    fprintf(out, "usage: %s", name);
    if (c->operands)
        fprintf(out, " %s", c->operands);
    for (uint32_t i = 0; (o = rlt_option_at(c->options, i, NULL)); i++)
        if (o->required)
            fprintf(out, " --%s %s", o->name, o->arg);
    fprintf(out, "%s\n", c->options ? " [options]" : "");
}

void rlt_print_help(FILE *out, const char *name, const rlt_command *c)
{
    if (c->run)
        usage_line(out, name, c);
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        char verb[128];
        snprintf(verb, sizeof verb, "%s %s", name, (*v)->name);
        usage_line(out, verb, *v);
    }
    fputc('\n', out);
    paragraphs(out, c->description);
    if (c->verbs) {
        fputc('\n', out);
        rlt_heading(out, "Commands:");
        for (const rlt_command *const *v = c->verbs; *v; v++)
            fprintf(out, "  %-10s %s\n", (*v)->name, (*v)->summary);
        fprintf(out, "'%s COMMAND --help' explains one.\n", name);
    }
    for (const rlt_option_group *g = c->options; g && g->options; g++) {
        if (g->title) {
            fputc('\n', out);
            rlt_heading(out, "%s:", g->title);
        }
        for (const rlt_option *o = g->options; o->name; o++)
            print_option(out, o);
    }
    if (c->run && c->options) {
        fputc('\n', out);
        rlt_wrap(out, rlt_config_help, 0, 0);
    }
    fputc('\n', out);
    rlt_heading(out, "Example:");
    fprintf(out, "  %s\n", c->example);
}

void rlt_print_overview(FILE *out)
{
    const rlt_command *c;
    fputs("usage: ringlet COMMAND [arguments]\n\n", out);
    rlt_wrap(out,
             "Simulates distributed deep-learning training: how long an iteration or a collective takes on a "
             "network, what bounds it, and how busy every link is.",
             0, 0);
    fputc('\n', out);
    rlt_heading(out, "Commands:");
    int width = 0;
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        width = (int)strlen(c->name) > width ? (int)strlen(c->name) : width;
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        fprintf(out, "  %-*s %s\n", width, c->name, c->summary);
    fputs("\n'ringlet help COMMAND' explains one; 'ringlet help' lists topics; 'ringlet --version' lists\n"
          "what is built in.\n\n",
          out);
    rlt_heading(out, "Example:");
    fputs("  ringlet coll --topology 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' \\\n"
          "               --collective all_reduce --algorithm all --bytes 1MiB:1GiB:x4\n",
          out);
}
