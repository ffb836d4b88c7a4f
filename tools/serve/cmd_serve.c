/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet serve`: serves a study's page on this machine, updated as points come. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/serve/serve.h"

typedef struct settings {
    const char *address;
    uint64_t port, at_once;
    rlt_time timeout_ps;
} settings;

#define AT(field) .offset = offsetof(settings, field)
static const rlt_option serve_options[] = {
    {"port", 'p', RLT_PARAM_COUNT, "N", "TCP port; 0: any free port. The address is printed.", AT(port),
     .preset = "8437", .max = 65535},
    {"address", 0, RLT_PARAM_TEXT, "IP",
     "Address to listen on. HTTP is not encrypted: on an address other than the local one, anyone who can "
     "read the network's traffic can read the study and the token. From elsewhere use a tunnel to the same "
     "port: ssh -L 8437:127.0.0.1:8437 HOST.",
     AT(address), .preset = "127.0.0.1"},
    {"runs", 0, RLT_PARAM_COUNT, "N", "What-ifs that run at the same time.", AT(at_once), .preset = "2",
     .min = 1, .max = 64},
    {"timeout", 0, RLT_PARAM_DURATION, "TIME", "Longest duration of a what-if; a longer one is ended.",
     AT(timeout_ps), .preset = "60s"},
    {0}};
#undef AT
static const rlt_option_group groups[] = {{"Server", serve_options, 0}, {0}};

typedef struct server {
    uv_loop_t loop;
    uv_signal_t signals[2];
    rlt_http *http;
    rlt_runs *runs;
    rlt_pages *pages;
} server;

static void end(server *s)
{
    rlt_http_close(s->http);
    rlt_runs_close(s->runs);
    for (int i = 0; i < 2; i++)
        if (!uv_is_closing((uv_handle_t *)&s->signals[i]))
            uv_close((uv_handle_t *)&s->signals[i], NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    end(signal->data);
}

static int run(const rlt_parsed *args, void *given, rlt_error *err)
{
    const settings *s = given;
    server v = {0};
    rlt_runs_limits limits = {(uint32_t)s->at_once, 8, 40, (uint64_t)(s->timeout_ps / 1000000000)};
    rlt_http_door door = {.limits = {.request_ms = 10000, .answer_ms = 30000}, .answer = rlt_pages_answer};
    static const int numbers[2] = {SIGINT, SIGTERM};
    if (limits.timeout_ms == 0)
        return rlt_fail(err, RLT_EUSAGE, "--timeout", "expected a time of a millisecond or more");
    int rc = uv_loop_init(&v.loop) ? rlt_nomem(err) : 0;
    if (rc)
        return rc;
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&v.loop, &v.signals[i]);
        v.signals[i].data = &v;
        uv_signal_start(&v.signals[i], on_signal, numbers[i]);
    }
    if (!(rc = rlt_runs_open(&v.loop, &limits, &v.runs, err)) &&
        !(rc = rlt_pages_open(args->operands[0], s->address, v.runs, &v.pages, err)) &&
        (door.ctx = v.pages) != NULL &&
        !(rc = rlt_http_open(&v.loop, s->address, (uint16_t)s->port, &door, &v.http, err))) {
        bool six = strchr(s->address, ':') != NULL;
        rlt_pages_port(v.pages, rlt_http_port(v.http));
        printf("http://%s%s%s:%u/?token=%s\n", six ? "[" : "", s->address, six ? "]" : "",
               rlt_http_port(v.http), rlt_pages_token(v.pages));
        fflush(stdout);
    } else
        end(&v);
    uv_run(&v.loop, UV_RUN_DEFAULT);
    rlt_http_free(v.http);
    rlt_pages_free(v.pages);
    rlt_runs_free(v.runs);
    uv_loop_close(&v.loop);
    return rc;
}

const rlt_command rlt_cmd_serve = {
    .name = "serve",
    .summary = "the page of a study over HTTP, live, with what-ifs",
    .operands = "STUDY",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Serves the page of 'ringlet report' for a study that may still be running. New points appear as "
        "they come. A form starts a further run, which is shown beside the others. Ends with Ctrl-C.\n\nOnly "
        "this machine is served, unless --address says otherwise, and only who has the printed address: it "
        "ends in a random token, without which nothing is answered. A what-if is 'ringlet run' with the "
        "options of the form, none of which writes a file. A few run at the same time, each for a limited "
        "time.",
    .example = "ringlet serve study.sqlite",
    .options = groups,
    .settings_size = sizeof(settings),
    .become = rlt_http_become,
    .run = run,
};
