/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of results, from the tables that results are written from. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tools/base/command.h"
#include "tools/help/help.h"
#include "tools/help/markdown.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/run/columns.h"

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

/* Returns the unit in JSON and CSV. The second line of a heading over a count is none. */
static const char *unit_of(const rlt_column *c)
{
    static const char *const units[][2] = {{"_ps", "ps"},  {"_GBps", "GB/s"},    {"_Bps", "B/s"},
                                           {"bytes", "B"}, {"_share", "0 to 1"}, {"utilization", "0 to 1"}};
    for (size_t i = 0; c->name && i < sizeof units / sizeof *units; i++)
        if (ends_with(c->name, units[i][0]))
            return units[i][1];
    if (c->name && c->kind == RLT_COL_PERCENT)
        return "fraction";
    return c->unit && c->kind != RLT_COL_COUNT ? c->unit : "";
}

static void put_column(rlt_growing *out, const rlt_column *c)
{
    const char *title = c->title && *c->title ? c->title : "";
    rlt_growing_add(out, "| %s%s%s | %s | %s | %s |\n", c->name ? "`" : "", c->name ? c->name : "",
                    c->name ? "`" : "", title, unit_of(c), c->meaning);
}

static void put_heading(rlt_growing *out, const char *heading)
{
    rlt_growing_add(out, "\n## %s\n\n| name | in tables | unit | meaning |\n|---|---|---|---|\n", heading);
}

static void put_run(rlt_growing *out, const char *heading, const rlt_run_column *columns)
{
    put_heading(out, heading);
    for (const rlt_run_column *c = columns; c->shape.meaning; c++)
        put_column(out, &c->shape);
}

static void put_command(rlt_growing *out, const rlt_command *command)
{
    for (const rlt_columns *const *t = command->tables; t && *t; t++) {
        put_heading(out, (*t)->heading);
        for (uint32_t i = 0; i < (*t)->n; i++)
            put_column(out, &(*t)->list[i]);
    }
    for (const rlt_command *const *v = command->verbs; v && *v; v++)
        put_command(out, *v);
}

void rlt_help_columns(rlt_growing *out)
{
    const rlt_command *command;
    put_run(out, "Ranks of a run: JSON `ranks[]`, CSV of `ringlet run`", rlt_rank_columns);
    put_run(out, "Communications of a run: JSON `collectives[]`", rlt_comm_columns);
    for (uint32_t i = 0; (command = rlt_command_at(i)); i++)
        put_command(out, command);
    put_heading(out, "Points of a study: `ringlet sweep`");
    for (int i = 0; i < RLT_FIGURES; i++) {
        rlt_column c = rlt_figure_column((rlt_figure)i);
        c.name = rlt_figure_infos[i].name;
        c.meaning = rlt_figure_infos[i].meaning;
        put_column(out, &c);
    }
}

/* Walks tables for the rows of one name. */
typedef struct wanted {
    rlt_growing *out;
    const char *name;
    char heading[128];
    int found;
} wanted;

/* Backticks stand around names of JSON; what stands in tables has none. */
static bool is_name(const char *cell, const char *name)
{
    size_t n = strlen(name);
    cell += *cell == '`';
    return strncasecmp(cell, name, n) == 0 && (!cell[n] || cell[n] == '`');
}

static void look(void *self, const rlt_block *b)
{
    wanted *w = self;
    if (b->kind == RLT_BLOCK_HEADING)
        snprintf(w->heading, sizeof w->heading, "%s", b->text);
    for (size_t i = 1; b->kind == RLT_BLOCK_TABLE && i < b->table.rows; i++) {
        char *const *row = b->table.cells + i * b->table.columns, *const *head = b->table.cells;
        if (!is_name(row[0], w->name) && !(b->table.columns > 3 && is_name(row[1], w->name)))
            continue;
        rlt_growing_add(w->out, "- %s", w->heading);
        for (size_t c = 0; c < b->table.columns; c++)
            if (*row[c])
                rlt_growing_add(w->out, "%s%s %s", c ? "; " : ": ", head[c], row[c]);
        rlt_growing_add(w->out, "%c", '\n');
        w->found++;
    }
}

int rlt_help_column(rlt_growing *out, const char *document, const char *name, rlt_error *err)
{
    wanted w = {.out = out, .name = name};
    int rc = rlt_markdown(document, strlen(document), &(rlt_block_writer){look, &w, NULL}, err);
    return rc ? rc : w.found;
}
