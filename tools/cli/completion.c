/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bash completion, from the same tables as --help. Words that are built in are written out. Names that
 * files or plug-ins define are asked for by 'ringlet list' when they are needed.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "tools/base/command.h"
#include "tools/help/settings.h"

/* Returns the lists of 'ringlet list' whose names an option, a setting or an operand takes; NULL: none.
 * `name` is that of the option or setting, or of the operands' command. */
static const char *list_of(const char *name, const char *arg)
{
    static const struct {
        const char *name, *arg; /* NULL: any */
        const char *list;
    } lists[] = {{NULL, "T", "topologies"},
                 {NULL, "TRACE", "traces"},
                 {NULL, "MODEL", "models"},
                 {NULL, "STUDY", "studies"},
                 {"check", "FILE", "topologies accelerators models traces studies"},
                 {"diff", "A", "traces"},
                 {"workload", "SPEC", "models traces"},
                 {"accelerator", NULL, "accelerators"},
                 {"strategy", NULL, "strategies"},
                 {"stack", NULL, "stacks"},
                 {"dispatcher", NULL, "dispatchers"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *word = lists[i].arg, *at = word && arg ? strstr(arg, word) : NULL;
        size_t n = word ? strlen(word) : 0;
        bool is_word = at && (at == arg || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]);
        if ((!word || is_word) && (!lists[i].name || strcmp(name, lists[i].name) == 0))
            return lists[i].list;
    }
    return NULL;
}

/* Appends the names of lists to the words. */
static void put_lists(FILE *out, const char *lists)
{
    const char *list;
    size_t n;
    while (lists && (list = rlt_next_item(&lists, ' ', &n)))
        fprintf(out, "\" $(_ringlet_list %.*s)\"", (int)n, list);
}

/* Returns the last option in the text in front of a setting: "set " in "--network packet --set "; NULL if the
 * setting belongs to a command of its own or stands behind a placeholder. */
static const char *option_of(const rlt_setting_owner *o)
{
    const char *last = strncmp(o->given, "--", 2) == 0 ? o->given : NULL, *next;
    while (last && (next = strstr(last + 2, "--")))
        last = next;
    for (const char *c = last; c && *c; c++)
        if (isupper((unsigned char)*c))
            return NULL;
    return last && !(o->prefix && isupper((unsigned char)o->prefix[0])) ? last + 2 : NULL;
}

/* ---- settings: _ringlet_settings OPTION TEXT ITEM lists names, and words once ITEM has the name */

static void put_owner(void *self, const rlt_setting_owner *o)
{
    (void)self;
    (void)o;
}

static void put_setting(void *self, const rlt_setting_owner *o, const rlt_param *p)
{
    FILE *out = self;
    const char *option = option_of(o), *w, *list = list_of(p->name, p->arg);
    char word[64], name[128];
    if (!option)
        return;
    snprintf(name, sizeof name, "%s%s", o->prefix ? o->prefix : "", p->name);
    fprintf(out, "    '%s'*) ", option);
    if (list)
        fprintf(out, "[[ $3 == %s=* ]] && _ringlet_list %s %s= || ", name, list, name);
    else if (rlt_param_word(p, 0, word))
        fprintf(out, "[[ $3 == %s=* ]] && echo", name);
    for (uint32_t i = 0; !list && (w = rlt_param_word(p, i, word)); i++)
        fprintf(out, " '%s=%s'", name, w);
    if (!list && rlt_param_word(p, 0, word))
        fputs(" || ", out);
    fprintf(out, "echo %s= ;;&\n", name);
}

static void completion_settings(FILE *out)
{
    /* A layout is written with the settings of trainings. */
    fputs("_ringlet_settings()\n{\n"
          "    case \"${1/#layout/train} $2\" in\n",
          out);
    rlt_each_setting(&(rlt_setting_visitor){put_owner, put_setting, out});
    fputs("    esac\n}\n", out);
}

typedef struct sought {
    const char *option;
    bool found;
} sought;

static void seek(void *self, const rlt_setting_owner *o)
{
    sought *s = self;
    const char *option = option_of(o);
    size_t n = strlen(s->option);
    s->found = s->found || (option && strncmp(option, s->option, n) == 0 && option[n] == ' ');
}

static void pass(void *self, const rlt_setting_owner *o, const rlt_param *p)
{
    (void)self;
    (void)o;
    (void)p;
}

static bool has_settings(const rlt_option *o)
{
    sought s = {.option = strcmp(o->name, "layout") == 0 ? "train" : o->name};
    rlt_each_setting(&(rlt_setting_visitor){seek, pass, &s});
    return s.found;
}

/* ---- options and operands */

static bool is_file(const rlt_option *o)
{
    return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strncmp(o->arg, "DIR", 3) == 0);
}

/* Writes the words that verbs and operands can be. If there are none, the shell completes files. */
static void completion_operands(FILE *out, const rlt_command *c)
{
    const char *w, *list = c->operands ? list_of(c->name, c->operands) : NULL;
    if (!c->operands && !c->verbs)
        return;
    fputs("        [[ $cur == -* ]] || words='", out);
    for (const rlt_command *const *v = c->verbs; v && *v; v++)
        fprintf(out, "%s%s", v == c->verbs ? "" : " ", (*v)->name);
    for (uint32_t i = 0; c->operand_at && (w = c->operand_at(i)); i++)
        fprintf(out, "%s%s", i ? " " : "", w);
    fputs("'", out);
    put_lists(out, list);
    fputs("\n", out);
}

/* Writes the line of the `case` on the word before that completes the value of an option. */
static void completion_value(FILE *out, const rlt_option *o)
{
    const char *w, *list = list_of(o->name, o->arg);
    bool words = o->words || o->word_at, settings = has_settings(o);
    char word[64];
    if (o->kind == RLT_PARAM_FLAG || (!words && !list && !settings && !is_file(o)))
        return;
    fputs("        ", out);
    if (o->letter)
        fprintf(out, "-%c|", o->letter);
    fprintf(out, "--%s) words='", o->name);
    for (uint32_t k = 0; words && (w = rlt_param_word(o, k, word)); k++)
        fprintf(out, "%s%s", k ? " " : "", w);
    fputs("'", out);
    put_lists(out, list);
    if (settings)
        fprintf(out, "\" $(_ringlet_settings %s \"$cur\" \"${cur##*[,:]}\")\"", o->name);
    fputs(" ;;\n", out);
}

/* Writes the lines of a `case` on "command verb" that set the words to offer. */
static void completion_case(FILE *out, const char *name, const rlt_command *c)
{
    const rlt_option *o;
    fprintf(out, "    '%s')\n        words='--help", name);
    for (uint32_t i = 0; (o = rlt_option_at(c->options, i, NULL)); i++)
        fprintf(out, " --%s", o->name);
    fputs("'\n", out);
    completion_operands(out, c);
    fputs("        case $prev in\n", out);
    for (uint32_t i = 0; (o = rlt_option_at(c->options, i, NULL)); i++)
        completion_value(out, o);
    fputs("        esac ;;\n", out);
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        char verb[128];
        snprintf(verb, sizeof verb, "%s %s", name, (*v)->name);
        completion_case(out, verb, *v);
    }
}

/* The shell splits words at the letters of COMP_WORDBREAKS and replaces the last piece only: `all` has the
 * words joined again, and the answer leaves out what stands in front of the last piece. */
static const char before_cases[] =
    "_ringlet()\n{\n"
    "    local all=() i cur prev words='' at='' joined=''\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        if ((i > 1)) && [[ -n $joined || ${COMP_WORDS[i]} == [=:]* ]]; then\n"
    "            all[${#all[@]}-1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            all+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "        joined=''\n"
    "        [[ ${COMP_WORDS[i]} == [=:]* ]] && joined=yes\n"
    "    done\n"
    "    cur=${all[${#all[@]}-1]} prev=${all[${#all[@]}-2]}\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        prev=${cur%%=*} cur=${cur#*=}\n"
    "    fi\n"
    "    if ((${#all[@]} > 3)); then\n"
    "        at=\"${all[1]} ${all[2]}\"\n"
    "    fi\n"
    "    case $at in\n";

/* An item of a list may be NAME=WORD or NAME:WORD where only WORD is known. */
static const char after_cases[] =
    "    esac\n"
    "    local item=${cur##*,} piece=${cur##*[=:]} stem\n"
    "    local before=${cur%\"$item\"}\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"$item\")\n"
    "    if ((${#COMPREPLY[@]} == 0)) && [[ $item == *[=:]* ]]; then\n"
    "        stem=${item%\"${item##*[=:]}\"}\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$before$stem\" -W \"$words\" -- \"${item#\"$stem\"}\")\n"
    "    fi\n"
    "    [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[*]} != *[^=]\\ * && ${COMPREPLY[*]} == *= ]] &&\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    if [[ $COMP_WORDBREAKS == *[=:]* ]]; then\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"$piece\"}\"}\")\n"
    "    fi\n"
    "}\n"
    "complete -o default -F _ringlet ringlet\n";

void rlt_print_completion(FILE *out)
{
    const rlt_command *c;
    fputs("# bash completion for ringlet\n"
          "_ringlet_list()\n{\n" /* KIND [PREFIX]: the names, with PREFIX in front of each */
          "    \"${COMP_WORDS[0]/#\\~\\//$HOME/}\" list \"$1\" --format csv 2>/dev/null |\n"
          "        sed \"1d; s/,.*//; s/\\\"//g; s|^|$2|\"\n"
          "}\n",
          out);
    completion_settings(out);
    fputs(before_cases, out);
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        for (const rlt_command *const *v = c->verbs; v && *v; v++)
            fprintf(out, "    '%s %s') ;;\n", c->name, (*v)->name);
    fputs("    *) at=${all[1]} ;;\n    esac\n"
          "    ((${#all[@]} == 2)) && at=''\n"
          "    case $at in\n    '') words='--help --version",
          out);
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        fprintf(out, " %s", c->name);
    fputs("' ;;\n", out);
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        completion_case(out, c->name, c);
    fputs(after_cases, out);
}
