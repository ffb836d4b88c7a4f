/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line, parsed by getopt_long. */
#include "tools/base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/words.h"

enum {
    MAX_OPTIONS = 128,
    FIRST_LONG = 256, /* getopt's value of option 0: above all letters */
    HELP = 255,
};

/* The tables in getopt's two forms. */
typedef struct getopt_view {
    struct option longs[MAX_OPTIONS + 2];
    char shorts[2 * MAX_OPTIONS + 4];
} getopt_view;

static int make_view(rlt_parsed *p, getopt_view *v, rlt_error *err)
{
    const rlt_option *o;
    char *s = v->shorts;
    uint32_t i = 0;
    *s++ = ':';
    for (; (o = rlt_option_at(p->groups, i, NULL)); i++) {
        if (i == MAX_OPTIONS)
            return rlt_fail(err, RLT_ERANGE, "options", "more than %d in one table", MAX_OPTIONS);
        int takes = o->kind != RLT_PARAM_FLAG;
        v->longs[i] =
            (struct option){o->name, takes ? required_argument : no_argument, NULL, FIRST_LONG + (int)i};
        if (o->letter) {
            *s++ = o->letter;
            if (takes)
                *s++ = ':';
        }
    }
    v->longs[i] = (struct option){"help", no_argument, NULL, HELP};
    v->longs[i + 1] = (struct option){0};
    *s++ = 'h';
    *s = '\0';
    return 0;
}

static uint32_t find_letter(const rlt_parsed *p, int letter)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (rlt_option_at(p->groups, i, NULL)->letter == letter)
            return i;
    return RLT_NONE;
}

/* Reports why getopt refused a word of the command line. */
static int refuse(const rlt_parsed *p, int what, const char *word, rlt_error *err)
{
    char name[64];
    rlt_nearest near;
    uint32_t prefixes = 0;
    size_t length = strcspn(word, "=");
    if (optopt >= FIRST_LONG || (what == ':' && optopt)) {
        uint32_t i = optopt >= FIRST_LONG ? (uint32_t)(optopt - FIRST_LONG) : find_letter(p, optopt);
        const rlt_option *o = rlt_option_at(p->groups, i, NULL);
        snprintf(name, sizeof name, "--%s", o->name);
        return what == ':' ? rlt_fail(err, RLT_EUSAGE, name, "needs a value: %s", o->arg ? o->arg : o->words)
                           : rlt_fail(err, RLT_EUSAGE, name, "takes no value");
    }
    if (optopt == HELP)
        return rlt_fail(err, RLT_EUSAGE, "--help", "takes no value");
    if (optopt) {
        snprintf(name, sizeof name, "-%c", optopt);
        return rlt_fail(err, RLT_EUSAGE, name, "unknown option");
    }
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    near = rlt_nearest_to(name + 2);
    rlt_nearest_try(&near, "help");
    for (uint32_t i = 0; i < p->n_options; i++) {
        const char *candidate = rlt_option_at(p->groups, i, NULL)->name;
        rlt_nearest_try(&near, candidate);
        prefixes += strncmp(candidate, name + 2, strlen(name + 2)) == 0;
    }
    if (prefixes > 1)
        return rlt_fail(err, RLT_EUSAGE, name, "short for %u options; write it out", prefixes);
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown option; did you mean '--%s'?", near.best);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown option");
}

int rlt_options_parse(const rlt_option_group *groups, int argc, char **argv, void *settings, rlt_parsed *out,
                      rlt_error *err)
{
    getopt_view view;
    int c, rc = rlt_options_begin(groups, settings, out, err);
    if (rc || (rc = make_view(out, &view, err)))
        return rc;
    opterr = 0;
    optind = 0; /* GNU getopt: start from the first word again */
    while ((c = getopt_long(argc, argv, view.shorts, view.longs, NULL)) != -1) {
        if (c == 'h' || c == HELP) {
            out->help = true;
            return 0;
        }
        if (c == '?' || c == ':')
            return refuse(out, c, argv[optind - 1], err);
        uint32_t i = c >= FIRST_LONG ? (uint32_t)(c - FIRST_LONG) : find_letter(out, c);
        if ((rc = rlt_options_give(out, i, optarg ? optarg : "", err)))
            return rc;
    }
    out->operands = argv + optind;
    out->n_operands = argc - optind;
    return rlt_options_finish(out, err);
}
