/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dollars, energy and days of a layout, and the goals that need them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/fleets.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

static const double hour_s = 3600, day_s = 86400, usual_tokens = 1e12;

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* Reads a number above 0 with one of the units; "" among them: a number alone. NULL: leaves *out. */
static int read_with_unit(const char *text, const unit *units, const char *option, const char *expected,
                          double *out, rlt_error *err)
{
    char digits[32];
    if (!text)
        return 0;
    const char *at = text + (*text == '$');
    size_t n = strspn(at, "0123456789.");
    double x = 0;
    snprintf(digits, sizeof digits, "%.*s", (int)(n < 31 ? n : 31), at);
    while (units->name && strcmp(units->name, at + n) != 0)
        units++;
    if (n > 31 || !units->name || rlt_parse_number(digits, 0, &x, NULL, NULL) || x <= 0)
        return rlt_fail(err, RLT_EUSAGE, option, "expected %s, got '%s'", expected, text);
    *out = x * units->factor;
    return 0;
}

static int read_all(const rlt_plan_asked *s, rlt_plan_worth *w, rlt_error *err)
{
    static const unit times[] = {{"min", 60},     {"h", 3600},       {"d", 86400}, {"day", 86400},
                                 {"days", 86400}, {"weeks", 604800}, {NULL, 0}},
                      counts[] = {{"", 1}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}, {NULL, 0}},
                      prices[] = {{"/h", 1}, {NULL, 0}}, powers[] = {{"W", 1}, {"kW", 1e3}, {NULL, 0}};
    int rc =
        read_with_unit(s->deadline, times, "--deadline", "a time such as 30days or 12h", &w->deadline_s, err);
    if (!rc)
        rc = read_with_unit(s->tokens, counts, "--tokens", "a number of tokens such as 15T or 300B",
                            &w->tokens, err);
    if (!rc)
        rc = read_with_unit(s->price, prices, "--price", "dollars per accelerator and hour, such as 2.5/h",
                            &w->price_h, err);
    if (!rc)
        rc = read_with_unit(s->power, powers, "--power", "watts of an accelerator, such as 700W", &w->power_w,
                            err);
    return rc;
}

static const struct {
    const char *word;
    rlt_goal goal;
} goals_of_words[] = {
    {"time", RLT_GOAL_TIME}, {"memory", RLT_GOAL_MEMORY}, {"accelerators", RLT_GOAL_ACCELERATORS},
    {"cost", RLT_GOAL_WORK}, {"energy", RLT_GOAL_WORK},   {"tokens-per-accelerator", RLT_GOAL_WORK}};
enum { N_WORDS = sizeof goals_of_words / sizeof *goals_of_words, N_OF_FRONT = 5 };

/* Finds the first `n` words' goal. */
static bool find_goal(const char *word, size_t length, int n, rlt_goal *out)
{
    for (int i = 0; i < n; i++)
        if (strlen(goals_of_words[i].word) == length && strncmp(goals_of_words[i].word, word, length) == 0) {
            *out = goals_of_words[i].goal;
            return true;
        }
    return false;
}

static bool asks_for(const rlt_plan_asked *s, const char *word)
{
    size_t length = strlen(word);
    const char *at = s->front ? strstr(s->front, word) : NULL;
    return strcmp(s->objective, word) == 0 || (at && (at[length] == '\0' || at[length] == ','));
}

int rlt_plan_goals(const rlt_plan_asked *s, rlt_goal goals[2], rlt_error *err)
{
    const char *list = s->front, *item;
    size_t length, first = 0;
    int n = 0;
    if (!s->front)
        return find_goal(s->objective, strlen(s->objective), N_WORDS, &goals[0]) ? 1 : RLT_EUSAGE;
    while ((item = rlt_next_item(&list, ',', &length))) {
        bool again = n == 1 && length == first && strncmp(item, s->front, length) == 0;
        if (n == 2 || again || !find_goal(item, length, N_OF_FRONT, &goals[n]))
            break;
        first = length;
        n++;
    }
    if (n == 2 && !item)
        return n;
    return rlt_fail(err, RLT_EUSAGE, "--front",
                    "expected two of time, memory, accelerators, cost, energy, such as time,memory, got '%s'",
                    s->front);
}

/* Refuses an option without another one that it needs. */
static int need(bool is, bool other, const char *option, const char *what, rlt_error *err)
{
    return !is || other ? 0 : rlt_fail(err, RLT_EUSAGE, option, "%s", what);
}

int rlt_plan_worth_read(const rlt_plan_asked *s, const rlt_parsed *args, rlt_plan_worth *out, rlt_error *err)
{
    rlt_goal goals[2];
    *out = (rlt_plan_worth){.tokens = usual_tokens};
    int n = rlt_plan_goals(s, goals, err), rc = n < 0 ? n : read_all(s, out, err);
    bool fewest = strcmp(s->objective, "accelerators") == 0, several = s->front || s->accelerators;
    if (rc || (rc = need(s->deadline, s->tokens, "--deadline", "needs --tokens, such as 15T", err)) ||
        (rc = need(asks_for(s, "cost"), s->price, s->front ? "--front" : "--objective",
                   "cost needs --price, such as 2.5/h", err)) ||
        (rc = need(asks_for(s, "accelerators"), s->accelerators, s->front ? "--front" : "--objective",
                   "accelerators needs --accelerators, such as 64:4096: their number is fixed", err)) ||
        (rc = need(fewest, s->deadline, "--objective",
                   "accelerators needs --deadline and --tokens, such as 30days and 15T", err)) ||
        (rc = need(s->front, !rlt_given(args, "objective"), "--front", "takes the place of --objective",
                   err)) ||
        (rc = need(s->front, !rlt_given(args, "within"), "--front", "does not go with --within", err)))
        return rc;
    return need(several, !rlt_given(args, "gap"), "--gap",
                "does not go with --front or --accelerators, which compare proven optima", err);
}

int rlt_plan_worth_settle(const rlt_plan_asked *s, const rlt_layouts *l, rlt_plan_worth *w, rlt_error *err)
{
    const rlt_training *t = &l->run.training;
    double of_iteration = (double)t->batch * t->model->tokens;
    double limit = w->deadline_s * of_iteration / w->tokens * 1e12;
    if (w->power_w <= 0)
        w->power_w = l->run.accelerator.power_w;
    if (asks_for(s, "energy") && w->power_w <= 0)
        return rlt_fail(err, RLT_EUSAGE, s->front ? "--front" : "--objective",
                        "energy needs --power, such as 700W: the file of %s has none",
                        l->run.accelerator.name);
    if (w->deadline_s > 0)
        w->limit_ps = limit < 1 ? 1 : limit < (double)RLT_TIME_MAX ? (rlt_time)limit : RLT_TIME_MAX;
    return 0;
}

double rlt_plan_seconds(const rlt_plan_worth *w, const rlt_planned *row)
{
    return row->tokens_per_s > 0 ? w->tokens / row->tokens_per_s : 0;
}

static double accelerator_hours(const rlt_plan_worth *w, const rlt_planned *row)
{
    return rlt_plan_seconds(w, row) / hour_s * rlt_layouts_ranks(row->from);
}

double rlt_plan_dollars(const rlt_plan_worth *w, const rlt_planned *row)
{
    return accelerator_hours(w, row) * w->price_h;
}

double rlt_plan_kWh(const rlt_plan_worth *w, const rlt_planned *row)
{
    return accelerator_hours(w, row) * w->power_w / 1e3;
}

int rlt_plan_missed(const rlt_plan_asked *s, uint32_t ranks, rlt_time fastest_ps, const char *counts,
                    rlt_error *err)
{
    const rlt_plan_worth *w = &s->worth;
    double days = (double)fastest_ps / (double)w->limit_ps * w->deadline_s / day_s;
    char fastest[120] = "";
    if (fastest_ps)
        snprintf(fastest, sizeof fastest, ", the fastest takes %.4g s (%.4g days) on %u accelerators",
                 (double)fastest_ps / 1e12, days, ranks);
    return rlt_fail(err, RLT_ERANGE, "--deadline",
                    "no layout reaches %s tokens in %s: an iteration may take %.4g s%s%s", s->tokens,
                    s->deadline, (double)w->limit_ps / 1e12, fastest, counts);
}

void rlt_plan_worth_print(FILE *out, const rlt_plan_asked *s)
{
    const rlt_plan_worth *w = &s->worth;
    const char *tokens = s->tokens ? s->tokens : "1T";
    if (w->price_h > 0)
        fprintf(out, "prices are for %s tokens, at %g $ per accelerator and hour\n", tokens, w->price_h);
    if (w->power_w > 0)
        fprintf(
            out,
            "energy is for %s tokens, at %g W per accelerator%s; hosts, network and cooling are left out\n",
            tokens, w->power_w, s->power ? "" : " (data sheet)");
    if (w->limit_ps)
        fprintf(out, "an iteration may take %.4g s: %s tokens in %s\n", (double)w->limit_ps / 1e12, s->tokens,
                s->deadline);
}
