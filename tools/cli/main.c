/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The `ringlet` command: finds the subcommand, parses its options, runs it, reports how it went. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "net/network.h"
#include "net/shapes/shapes.h"
#include "net/topology/graph.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/words.h"
#include "sim/text/config.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "sim/text/xml.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/interrupt.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/base/version.h"
#include "tools/calibrate/calibrate.h"
#include "tools/deploy/deploy.h"
#include "tools/serve/serve.h"
#include "tools/sweep/ranks.h"
#include "tools/sweep/store/store.h"
#include "workload/plugin/plugin.h"
#include "workload/program/reader.h"

static void print_version(void)
{
    char nlopt[32], mpi[64];
    printf("ringlet %s\n", rlt_version);
    printf("networks:   ");
    for (uint32_t i = 0; rlt_net_model_at(i); i++)
        printf(" %s", rlt_net_model_at(i)->name);
    printf("\nalgorithms: ");
    for (uint32_t i = 0; rlt_algorithm_at(i); i++)
        printf(" %s", rlt_algorithm_at(i)->name);
    printf("\nshapes:     ");
    for (uint32_t i = 0; rlt_shape_list(i); i++)
        printf(" %s", rlt_shape_list(i)->name);
    printf("\nreaders:    ");
    for (uint32_t i = 0; rlt_reader_at(i); i++)
        printf(" %s", rlt_reader_at(i)->name);
    printf("\nlibraries:   igraph %s, cJSON %s, expat %s, libuv %s, %s, NLopt %s, SQLite %s, "
           "libmicrohttpd %s, MPI %s, METIS %s\n",
           rlt_graph_version(), rlt_json_version(), rlt_xml_version(), rlt_pool_version(),
           rlt_inflate_version(), rlt_fit_version(nlopt, sizeof nlopt), rlt_store_version(),
           rlt_http_version(), rlt_ranks_version(mpi, sizeof mpi), rlt_deploy_version());
    printf("licence:     GPL-3.0-or-later\n");
}

static const rlt_command *find(const char *name)
{
    const rlt_command *c;
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static int unknown_command(const char *name, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    const rlt_command *c;
    const char *what = name[0] == '-' ? "option" : "command";
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++)
        rlt_nearest_try(&near, c->name);
    rlt_nearest_try(&near, "--help");
    rlt_nearest_try(&near, "--version");
    rlt_nearest_try(&near, "--plugin");
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown %s; did you mean '%s'?", what, near.best);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown %s; 'ringlet --help' lists them", what);
}

/* Returns the verb of the command if argv[1] names one, and moves *argc and *argv past it; else NULL. */
static const rlt_command *find_verb(const rlt_command *c, int *argc, char ***argv)
{
    for (const rlt_command *const *v = c->verbs; v && *v && *argc > 1; v++)
        if (strcmp((*v)->name, (*argv)[1]) == 0) {
            --*argc;
            ++*argv;
            return *v;
        }
    return NULL;
}

static int check_operands(const rlt_command *c, const rlt_parsed *p, const char *name, rlt_error *err)
{
    if (p->n_operands < c->min_operands)
        return rlt_fail(err, RLT_EUSAGE, name + strlen("ringlet "), "expected %s", c->operands);
    if (c->max_operands < 0 || p->n_operands <= c->max_operands)
        return 0;
    rlt_nearest near = rlt_nearest_to(p->operands[0]); /* the operand may be a misspelt verb */
    for (const rlt_command *const *v = c->verbs; v && *v; v++)
        rlt_nearest_try(&near, (*v)->name);
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, c->name, "unknown command '%s'; did you mean '%s'?", p->operands[0],
                        near.best);
    return c->operands ? rlt_fail(err, RLT_EUSAGE, p->operands[c->max_operands],
                                  "one argument too many; expected %s", c->operands)
                       : rlt_fail(err, RLT_EUSAGE, p->operands[0], "unexpected argument");
}

/* Reports a missing verb: a command without a run of its own needs one. */
static int need_verb(const rlt_command *c, int argc, char **argv, const char *name, rlt_error *err)
{
    char known[256] = "";
    rlt_nearest near;
    if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        rlt_print_help(argc < 2 ? stderr : stdout, name, c);
        return argc < 2 ? rlt_fail(err, RLT_EUSAGE, c->name, "expected a command") : 0;
    }
    near = rlt_nearest_to(argv[1]);
    for (const rlt_command *const *v = c->verbs; *v; v++) {
        rlt_nearest_try(&near, (*v)->name);
        rlt_list_name(known, sizeof known, (*v)->name);
    }
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, c->name, "unknown command '%s'; did you mean '%s'?", argv[1],
                        near.best);
    return rlt_fail(err, RLT_EUSAGE, c->name, "unknown command '%s'; expected one of %s", argv[1], known);
}

static int run_command(const rlt_command *c, int argc, char **argv, rlt_error *err)
{
    char name[64];
    const rlt_command *verb = find_verb(c, &argc, &argv);
    rlt_parsed parsed = {0};
    rlt_config config = {0};
    void *settings;
    int rc;
    if (verb)
        snprintf(name, sizeof name, "ringlet %s %s", c->name, verb->name);
    else
        snprintf(name, sizeof name, "ringlet %s", c->name);
    c = verb ? verb : c;
    if (!c->run)
        return need_verb(c, argc, argv, name, err);
    settings = calloc(1, c->settings_size + 1);
    if (!settings)
        return rlt_nomem(err);
    rc = c->take ? c->take(&argc, argv, settings, err) : 0;
    if (!rc)
        rc = rlt_config_expand(&config, c->options, argc, argv, err);
    if (!rc)
        rc = rlt_options_parse(c->options, config.argc, config.argv, settings, &parsed, err);
    if (!rc && !parsed.help)
        rc = rlt_config_names(&config, &parsed, err);
    if (!rc && rlt_given(&parsed, "quiet"))
        rlt_progress_hush();
    if (!rc && parsed.help)
        rlt_print_help(stdout, name, c);
    else if (!rc && !(rc = check_operands(c, &parsed, name, err)) && !(rc = rlt_files_apart(&parsed, err)))
        rc = c->run(&parsed, settings, err);
    rc = rc ? rlt_config_locate(&config, &parsed, rc, err) : 0;
    rlt_parsed_free(&parsed);
    rlt_config_free(&config);
    if (c->end)
        c->end(settings);
    free(settings);
    return rc;
}

static int dispatch(int argc, char **argv, rlt_error *err)
{
    const char *word = argc > 1 ? argv[1] : "";
    const rlt_command *c = find(word);
    if (c)
        return run_command(c, argc - 1, argv + 1, err);
    if (argc < 2) {
        rlt_print_overview(stderr);
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected a command");
    }
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        if (argc == 2 || !(c = find(argv[2]))) {
            rlt_print_overview(stdout);
            return argc > 2 ? unknown_command(argv[2], err) : 0;
        }
        char *help[] = {argv[2], "--help", NULL};
        return run_command(c, 2, help, err);
    }
    if (strcmp(word, "--generate-man") == 0 && argc > 2)
        return (c = find(argv[2])) ? rlt_print_man_of(stdout, c, err) : unknown_command(argv[2], err);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        print_version();
    else if (strcmp(word, "--generate-man") == 0)
        return rlt_print_man(stdout, err);
    else if (strcmp(word, "--generate-completion") == 0)
        rlt_print_completion(stdout);
    else if (strcmp(word, "--generate-json") == 0)
        return rlt_print_tables(stdout, err);
    else
        return unknown_command(word, err);
    return 0;
}

/* `ringlet ... | head`: the reader closed the pipe, which is not reported. */
static bool reader_left(const rlt_error *e)
{
    return e->code == RLT_EIO && strcmp(e->where, "standard output") == 0 && strstr(e->what, strerror(EPIPE));
}

static void explain_use(int argc, char **argv)
{
    const rlt_command *c = find(argv[1]);
    --argc;
    ++argv;
    const rlt_command *verb = find_verb(c, &argc, &argv);
    fprintf(stderr, "'ringlet %s%s%s --help' explains its use\n", c->name, verb ? " " : "",
            verb ? verb->name : "");
}

/* Loads plug-ins from every --plugin FILE before the command. *first is the index of the command's word. */
static int load_plugins(int argc, char **argv, int *first, rlt_error *err)
{
    static const char option[] = "--plugin";
    size_t length = sizeof option - 1;
    for (int i = 1; i < argc && strncmp(argv[i], option, length) == 0; *first = ++i) {
        const char *path = argv[i] + length + 1;
        if (argv[i][length] == '\0')
            path = ++i < argc ? argv[i] : "";
        else if (argv[i][length] != '=')
            break;
        if (*path == '\0')
            return rlt_fail(err, RLT_EUSAGE, option, "expected a shared object: --plugin ./mine.so");
        int rc = rlt_plugin_load(path, NULL, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Lets another executable run the command, with the whole command line including plug-ins. */
static int become(int argc, char **argv, char **whole, rlt_error *err)
{
    const rlt_command *c = argc > 1 ? find(argv[1]) : NULL;
    return c && c->become ? c->become(whole, err) : 0;
}

/* Opens each closed standard stream for the direction in which it is not used. Otherwise the next file opened
 * would get its number, and messages would go into an output file. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            return;
}

int main(int argc, char **argv)
{
    rlt_error err = {0}, end = {0};
    char **whole = argv;
    int rc, first = 1;
    hold_standard_streams();
    rlt_interrupt_init();
    rc = load_plugins(argc, argv, &first, &err);
    argc -= first - 1; /* from here on the command is argv[1] */
    argv += first - 1;
    if (!rc)
        rc = become(argc, argv, whole, &err);
    if (!rc)
        rc = dispatch(argc, argv, &err);
    if (rc) {
        err.code = rc;
        if (!reader_left(&err))
            rlt_say(&err);
        if (rc == RLT_EUSAGE && find(argc > 1 ? argv[1] : ""))
            explain_use(argc, argv);
    }
    if (rlt_stdout_finish(&end) && rc != RLT_EIO) {
        if (!reader_left(&end))
            rlt_say(&end);
        rc = rc ? rc : RLT_EIO;
    }
    return rlt_exit_status(rc);
}
