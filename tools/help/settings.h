/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every parameter that is set by name beside the options, in groups by what it belongs to. */
#ifndef RLT_TOOLS_HELP_SETTINGS_H
#define RLT_TOOLS_HELP_SETTINGS_H

#include "sim/base/param.h"

typedef struct rlt_setting_owner {
    const char *of;     /* owner of the settings: "packet network" */
    const char *given;  /* text in front of the name on a command line: "--set " */
    const char *prefix; /* prefix of each name, with its dot; NULL: none */
} rlt_setting_owner;

typedef struct rlt_setting_visitor {
    void (*owner)(void *self, const rlt_setting_owner *o); /* before the first row of each group */
    void (*row)(void *self, const rlt_setting_owner *o, const rlt_param *p);
    void *self;
} rlt_setting_visitor;

void rlt_each_setting(const rlt_setting_visitor *v);

#endif
