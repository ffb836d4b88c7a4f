/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet sweep`: runs many points of a study, into a database. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/chart.h"
#include "tools/sweep/override.h"
#include "tools/sweep/queries.h"
#include "tools/sweep/ranks.h"
#include "tools/sweep/state.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "tools/sweep/sweep.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"

/* Files of a database in the temporary folder. */
static const char *const own_endings[] = {"", "-wal", "-shm", "-journal"};
enum { N_OWN = sizeof own_endings / sizeof *own_endings };

typedef struct sweep_settings {
    const char *db, *shard, *status;
    uint64_t jobs;
    bool dry_run, quiet;
    rlt_chart_settings chart;
    rlt_report_settings report;  /* output of rows if no database is named */
    char *text;                  /* the study as changed by the command line; NULL: the file is unchanged */
    char path[PATH_MAX];         /* file of the study */
    char folder[64], own_db[80]; /* without --db: temporary folder and database; "": none */
    char own[N_OWN][96];         /* its files */
} sweep_settings;

#define AT(field) .offset = offsetof(sweep_settings, field)
static const rlt_option own_options[] = {
    {"db", 'd', RLT_PARAM_TEXT, "FILE",
     "Database (SQLite). It is created if missing; otherwise only missing points are run. Without it the "
     "rows are printed; for a study with a baseline also the output of 'ringlet sweep wins'.",
     AT(db), .writes = true},
    {"jobs", 'j', RLT_PARAM_COUNT, "N",
     "Points simulated at the same time, each in a thread with its own memory (default: one per processor). "
     "The results do not depend on it. Under mpirun or srun each rank but the first runs one.",
     AT(jobs), .min = 1, .max = RLT_POOL_THREADS},
    {"shard", 0, RLT_PARAM_TEXT, "I/N",
     "Run only share I of N shares of the points, for job arrays. 'ringlet sweep merge' joins their "
     "databases.",
     AT(shard)},
    {"dry-run", 0, RLT_PARAM_FLAG, NULL, "Check the study and print its number of points.", AT(dry_run)},
    {"status", 0, RLT_PARAM_TEXT, "FILE",
     "Print the progress of the sweep that writes this database, from any terminal.", AT(status)},
    {"quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress bar and no closing line.", AT(quiet)},
    {0}};
#undef AT
static const rlt_option_group groups[] = {
    {"Sweep", own_options, 0},
    {"Rows, without a database", rlt_format_options, offsetof(sweep_settings, report)},
    {"Picture", rlt_chart_options, offsetof(sweep_settings, chart)},
    {0}};

static void print_counts(const rlt_sweep_study *s)
{
    char dropped[2000];
    printf("%s: %llu point%s", s->name, (unsigned long long)s->points, rlt_s(s->points));
    for (uint32_t a = 0; a < s->n_axes; a++)
        printf("%s %s (%u)", a ? " x" : ":", s->axes[a].name, s->axes[a].n);
    if (s->n_named)
        printf(", %u named", s->n_named);
    if (s->replicas > 1)
        printf(", %u replicas", s->replicas);
    printf("\n");
    if (rlt_sweep_dropped(s, dropped, sizeof dropped))
        printf("%s\n", dropped);
}

static int dry_run(rlt_sweep_study *s, rlt_error *err)
{
    rlt_sweep w = {0};
    int rc = rlt_sweep_skip(&w, s, err);
    if (!rc)
        print_counts(s);
    rlt_sweep_free(&w);
    return rc;
}

/* Reports the result in one line, as an error if points failed or the sweep was interrupted. */
static int conclude(const rlt_sweep *w, const sweep_settings *s, int rc, rlt_error *err)
{
    char reused[128] = "", copied[60] = "";
    uint64_t hidden = 0, run = w->n_flying - w->reused - (w->reused ? w->copied : 0);
    if (w->reused && w->copied)
        snprintf(copied, sizeof copied, ", %llu equal to others", (unsigned long long)w->copied);
    if (w->reused)
        snprintf(reused, sizeof reused, ", %llu taken from an earlier version%s",
                 (unsigned long long)w->reused, copied);
    if (!rc)
        rc = rlt_store_hidden(w->store, &hidden, err);
    if (rc == RLT_ECANCELLED) {
        *err = (rlt_error){0};
        if (s->own_db[0])
            return rlt_fail(err, rc, NULL,
                            "interrupted: the results are partial; with --db the same command continues");
        return rlt_fail(err, rc, NULL,
                        "interrupted: %llu of %llu points are in %s; the same command continues",
                        (unsigned long long)w->done, (unsigned long long)w->total, s->db);
    }
    if (!rc && !s->quiet && !s->own_db[0]) {
        rlt_note("%llu point%s in %s, %llu of them run now%s", (unsigned long long)w->done, rlt_s(w->done),
                 s->db, (unsigned long long)run, reused);
        if (hidden)
            rlt_note("%llu result%s of values that the study no longer has stay in the database",
                     (unsigned long long)hidden, rlt_s(hidden));
    }
    if (!rc && w->assumed && w->measured)
        rlt_warn("some accelerators' times rest on measured runs, others' are assumed: differences between "
                 "them rest on no measurement ('ringlet list accelerators')");
    else if (!rc && *w->other)
        rlt_warn("the stacks chosen differ, %s and %s: part of the differences is software's (stack=NAME "
                 "names one)",
                 w->stack, w->other);
    if (w->failed && s->own_db[0])
        return rlt_fail(err, RLT_ECHECK, "sweep", "%llu of %llu points failed%s%s",
                        (unsigned long long)w->failed, (unsigned long long)w->done,
                        w->first_error[0] ? ", the first: " : "", w->first_error);
    if (!rc && w->failed)
        rc = rlt_fail(
            err, RLT_ECHECK, s->db,
            "%llu of %llu points failed%s%s; 'ringlet sweep query %s --where \"status <> 0\"' shows them",
            (unsigned long long)w->failed, (unsigned long long)w->done,
            w->first_error[0] ? ", the first now: " : "", w->first_error, s->db);
    return rc;
}

/* Plots. Failed points do not prevent the plot. */
static int draw(const sweep_settings *s, int rc, rlt_error *err)
{
    rlt_asked a;
    if (!s->chart.path || (rc && rc != RLT_ECHECK))
        return rc;
    rlt_error why = {0};
    int drawn = rlt_asked_open(&a, s->db, &why);
    if (!drawn)
        drawn = rlt_chart_lines(&a, &s->chart, &why);
    rlt_asked_close(&a);
    if (drawn)
        *err = why;
    return drawn ? drawn : rc;
}

/* Prints the results if the database is temporary, after an interrupt those that are there. */
static int print(const sweep_settings *s, int rc, rlt_error *err)
{
    rlt_asked a;
    char *columns, *sql;
    bool people = rlt_format_of(s->report.format, s->report.output) == RLT_FORMAT_TABLE;
    rlt_error why = {0};
    if (!s->own_db[0] || (rc && rc != RLT_ECHECK && rc != RLT_ECANCELLED))
        return rc;
    if (rc == RLT_ECANCELLED)
        rlt_results_are_partial();
    int told = rlt_asked_open(&a, s->db, &why);
    if (!told)
        told = rlt_asked_select(&a, NULL, people, &columns, &why);
    if (!told && !(sql = rlt_arena_printf(&a.arena, "SELECT %s FROM points ORDER BY point", columns)))
        told = rlt_nomem(&why);
    if (!told)
        told = rlt_asked_write(&a, sql, RLT_MAX_COLUMNS, s->report.format, s->report.output, &why);
    if (!told && people && rc != RLT_ECANCELLED && a.baseline && strcmp(s->report.output, "-") == 0) {
        printf("\n");
        told = rlt_asked_wins(&a, s->report.format, s->report.output, &why);
    }
    rlt_asked_close(&a);
    if (rc == RLT_ECANCELLED) /* there may be no row yet */
        return rc;
    if (told)
        *err = why;
    return told ? told : rc;
}

static int sweep(rlt_sweep_study *study, const sweep_settings *s, uint32_t ranks, rlt_error *err)
{
    rlt_sweep w = {.remote = ranks > 1, .jobs = ranks > 1 ? ranks - 1 : rlt_pool_threads(s->jobs)};
    char dropped[2000];
    int rc = rlt_sweep_shard(s->shard, &w.shard, &w.shards, err);
    if (!rc && s->shard && study->sample == RLT_SWEEP_ADAPTIVE)
        rc = rlt_fail(err, RLT_EUSAGE, "--shard",
                      "an adaptive sample cannot be divided: each round depends on all results");
    if (rc || (rc = rlt_sweep_skip(&w, study, err)) ||
        (access(s->db, F_OK) && (rc = rlt_sweep_probe(&w, study, err))) ||
        (rc = rlt_store_open(s->db, RLT_STORE_WRITE, &w.store, err)) ||
        (rc = rlt_store_begin(w.store, study, s->shard, err)))
        goto out;
    if (!s->quiet && rlt_sweep_dropped(study, dropped, sizeof dropped))
        rlt_note("%s", dropped);
    if (!s->quiet) {
        rlt_progress_start(&w.progress, w.label);
        rc = rlt_sweep_run(&w, study, err);
        rlt_progress_clear();
    } else {
        rc = rlt_sweep_run(&w, study, err);
    }
    if (!rc)
        rlt_store_done(w.store);
    rc = conclude(&w, s, rc, err);
out:
    rlt_sweep_free(&w);
    rlt_store_close(w.store);
    return print(s, draw(s, rc, err), err);
}

static int read_study(const char *name, const sweep_settings *s, rlt_sweep_study *out, rlt_error *err)
{
    return s->text ? rlt_sweep_study_parse(name, s->text, out, err) : rlt_sweep_study_read(s->path, out, err);
}

/* Runs the sweep under a launcher. Only rank 0 reads the file; it sends the text to the others. */
static int run_ranked(const rlt_parsed *args, const sweep_settings *s, rlt_error *err)
{
    rlt_sweep_study study = {0};
    uint32_t ranks = 1, rank = 0;
    char *text = NULL;
    int rc = rlt_ranks_begin(&ranks, &rank, err);
    if (rc)
        return rc;
    if (rank == 0)
        rc = read_study(args->operands[0], s, &study, err);
    int shared = rlt_ranks_text(rank == 0 && !rc ? rlt_json_text(study.doc) : NULL, &text, err);
    rc = rc ? rc : shared;
    if (rank && text && !rc && !(rc = rlt_sweep_study_parse(args->operands[0], text, &study, err)))
        rc = rlt_ranks_serve(&study, err);
    else if (rank == 0 && !rc)
        rc = sweep(&study, s, ranks, err);
    rlt_ranks_end(rank, text != NULL);
    free(text);
    rlt_sweep_study_free(&study);
    return rc;
}

static int make_own_db(sweep_settings *s, rlt_error *err)
{
    const char *where = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%.40s/ringlet-XXXXXX",
             where && strlen(where) <= 40 ? where : "/tmp");
    if (!mkdtemp(s->folder)) {
        s->folder[0] = '\0';
        return rlt_fail(err, RLT_EIO, where ? where : "/tmp", "cannot make a folder: %s", strerror(errno));
    }
    snprintf(s->own_db, sizeof s->own_db, "%s/sweep", s->folder);
    s->db = s->own_db;
    rlt_temporary_add(s->folder);
    for (size_t i = 0; i < N_OWN; i++) {
        snprintf(s->own[i], sizeof s->own[i], "%s%s", s->own_db, own_endings[i]);
        rlt_temporary_add(s->own[i]);
    }
    return 0;
}

/* Frees the settings and removes a temporary database. */
static void end(void *settings)
{
    sweep_settings *s = settings;
    for (size_t i = 0; s->folder[0] && i < N_OWN; i++) {
        (void)unlink(s->own[i]);
        rlt_temporary_drop(s->own[i]);
    }
    if (s->folder[0]) {
        (void)rmdir(s->folder);
        rlt_temporary_drop(s->folder);
    }
    free(s->text);
}

static int become(char **argv, rlt_error *err)
{
    return rlt_ranks_become("sweep", argv, err);
}

static int take(int *argc, char **argv, void *settings, rlt_error *err)
{
    return rlt_sweep_override(groups, argc, argv, &((sweep_settings *)settings)->text, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    sweep_settings *s = settings;
    rlt_sweep_study study = {0};
    if (s->status)
        return args->n_operands
                   ? rlt_fail(err, RLT_EUSAGE, args->operands[0], "--status takes only the database")
                   : rlt_sweep_status(s->status, err);
    if (args->n_operands == 0)
        return rlt_fail(err, RLT_EUSAGE, "sweep",
                        "expected STUDY, or query, top, pareto, sensitivity, compare, merge, wins");
    int rc = rlt_study_path(args->operands[0], s->path, sizeof s->path, err);
    if (rc)
        return rc;
    if (!s->dry_run && !s->db && s->shard)
        return rlt_fail(err, RLT_EUSAGE, "--db", "is required with --shard: the database for the results");
    if (!s->dry_run) {
        rc = s->db ? 0 : make_own_db(s, err);
        return rc ? rc : run_ranked(args, s, err);
    }
    rc = read_study(args->operands[0], s, &study, err);
    rc = rc ? rc : dry_run(&study, err);
    rlt_sweep_study_free(&study);
    return rc;
}

static const rlt_command *const verbs[] = {
    &rlt_sweep_query,   &rlt_sweep_top,   &rlt_sweep_pareto, &rlt_sweep_sensitivity,
    &rlt_sweep_compare, &rlt_sweep_merge, &rlt_sweep_wins,   NULL};

const rlt_command rlt_cmd_sweep = {
    .name = "sweep",
    .summary = "many what-ifs into a database: grids, lists and samples of options",
    .operands = "STUDY",
    .max_operands = 1,
    .description =
        "Runs every point of a study, a JSON file. \"base\" has options of run (or of coll, with "
        "\"command\": \"coll\") by their long names. \"axes\" change values in base by JSON pointer, such as "
        "/topology/dims/1/bandwidth. \"points\", \"filter\", \"replicas\" and \"sample\" select the points. "
        "Inputs are read once, equal points run once.\n\n\"rules\": [\"heads % tp == 0\"] hold at every "
        "point. An axis with a text as its \"values\", such as \"256 / (tp * pp)\", follows from axes before "
        "it. \"skip_impossible\": true leaves out trainings that cannot run or do not fit into the memory. "
        "What is left out is no row; it is counted by reason.\n\nA study may change and go on in its "
        "database: done points are kept, new ones are run, and those of removed values are not shown. "
        "Command, base and links must stay.\n\nSTUDY is a file, or the name of a shipped study: "
        "aggregation, collectives, ina, replay, training. Further options after STUDY change it. The name of "
        "an axis takes new values for it (--slots 16,32); an option of the command that the study runs (-t, "
        "--set NAME=VALUE) is set in base.\n\n\"baseline\": {\"axis\": \"algorithm\", \"where\": \"algorithm "
        "= 'ring'\"} names the points that others, which differ only in this axis, are compared with (the "
        "column gain; ringlet sweep wins).\n\nA point that fails is a row with its error, and the exit "
        "status is 1. A sweep that was stopped, killed, or ran out of disk space continues with the same "
        "command; the results are the same bytes. Under mpirun or srun the first rank hands out the points.",
    .example = "ringlet sweep study.json --db study.sqlite\nringlet sweep ina --slots 16,64 --loss 0",
    .options = groups,
    .settings_size = sizeof(sweep_settings),
    .become = become,
    .take = take,
    .run = run,
    .end = end,
    .verbs = verbs,
};
