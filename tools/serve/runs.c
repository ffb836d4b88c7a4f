/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-ifs: runs `ringlet run --format json` in child processes, a few at a time, each with a time limit. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/report/study_data.h"
#include "tools/serve/serve.h"

enum {
    MAX_OUTPUT = 16 << 20,
    MAX_COMPLAINT = 4096,
    MAX_ARGS = 48,
    MAX_VALUE = 12000 /* a topology may be given in full */,
    MAX_NAME = 80
};

/* Options that a page may give, for `ringlet run` and `ringlet coll`. None of them writes a file. A flag
 * takes no value; OF_FILE may be the name of a file to read. */
typedef struct allowance {
    const char *name;
    enum { FLAG, OF_TEXT, OF_FILE } kind;
} allowance;
static const allowance of_run[] = {{"topology", OF_FILE},
                                   {"model", OF_FILE},
                                   {"trace", OF_FILE},
                                   {"accelerator", OF_FILE},
                                   {"layout", OF_TEXT},
                                   {"train", OF_TEXT},
                                   {"strategy", OF_TEXT},
                                   {"network", OF_TEXT},
                                   {"routing", OF_TEXT},
                                   {"injection", OF_TEXT},
                                   {"algorithm", OF_TEXT},
                                   {"set", OF_TEXT},
                                   {"link-scale", OF_TEXT},
                                   {"compute-scale", OF_TEXT},
                                   {"host-scale", OF_TEXT},
                                   {"network-scale", OF_TEXT},
                                   {"rank-scale", OF_TEXT},
                                   {"rank-delay", OF_TEXT},
                                   {"overlap-slowdown", OF_TEXT},
                                   {"no-skew", FLAG},
                                   {"any-memory", FLAG},
                                   {"fold", FLAG},
                                   {NULL, FLAG}};
static const allowance of_coll[] = {{"topology", OF_FILE},   {"collective", OF_TEXT}, {"bytes", OF_TEXT},
                                    {"algorithm", OF_TEXT},  {"ranks", OF_TEXT},      {"group", OF_TEXT},
                                    {"root", OF_TEXT},       {"dtype", OF_TEXT},      {"network", OF_TEXT},
                                    {"routing", OF_TEXT},    {"injection", OF_TEXT},  {"set", OF_TEXT},
                                    {"link-scale", OF_TEXT}, {"no-fold", FLAG},       {NULL, FLAG}};

typedef enum state { WAITING, RUNNING, DONE, FAILED } state;

typedef struct buffer {
    char *bytes;
    size_t n, most;
    bool over;
} buffer;

typedef struct what_if what_if;
struct what_if {
    rlt_runs *runs;
    what_if *next; /* sorted by id */
    uint32_t id;
    state state;
    char name[MAX_NAME + 1];
    char *args[MAX_ARGS + 1];
    int n_args;
    uv_process_t process;
    uv_pipe_t out, err;
    uv_timer_t timer;
    int open_handles; /* handles of the process that are still open */
    bool timed_out;
    int64_t exit_status;
    int signal;
    buffer output, complaint;
    char error[400];
    char *figures; /* JSON array, in the study's order */
    char busiest[160];
};

struct rlt_runs {
    uv_loop_t *loop;
    rlt_runs_limits limits;
    what_if *list;
    uint32_t last_id, running, waiting;
    bool closing, coll;
    char *study; /* text of the study */
    char exe[4096];
};

const char *rlt_runs_option(const rlt_runs *r, uint32_t i)
{
    return (r->coll ? of_coll : of_run)[i].name;
}

static const allowance *allowed(const rlt_runs *r, const char *option)
{
    const allowance *a = r->coll ? of_coll : of_run;
    while (a->name && strcmp(a->name, option) != 0)
        a++;
    return a->name ? a : NULL;
}

bool rlt_runs_allows(const rlt_runs *r, const char *option)
{
    return allowed(r, option) != NULL;
}

int rlt_runs_of_study(rlt_runs *r, bool coll, const char *text, rlt_error *err)
{
    free(r->study);
    r->coll = coll;
    r->study = strdup(text);
    return r->study ? 0 : rlt_nomem(err);
}

int rlt_runs_open(uv_loop_t *loop, const rlt_runs_limits *limits, rlt_runs **out, rlt_error *err)
{
    rlt_runs *r = calloc(1, sizeof *r);
    size_t n = sizeof r->exe;
    char parent[16];
    *out = r;
    if (!r)
        return rlt_nomem(err);
    r->loop = loop;
    r->limits = *limits;
    /* A what-if ends with its server, even a killed one (tools/base/interrupt.c). */
    snprintf(parent, sizeof parent, "%d", (int)uv_os_getpid());
    if (uv_os_setenv("RINGLET_PARENT", parent))
        return rlt_nomem(err);
    return uv_exepath(r->exe, &n) ? rlt_fail(err, RLT_EIO, "serve", "cannot find the ringlet command itself")
                                  : 0;
}

static void free_one(what_if *w)
{
    for (int i = 0; i < w->n_args; i++)
        free(w->args[i]);
    free(w->output.bytes);
    free(w->complaint.bytes);
    free(w->figures);
    free(w);
}

void rlt_runs_free(rlt_runs *r)
{
    while (r && r->list) {
        what_if *w = r->list;
        r->list = w->next;
        free_one(w);
    }
    if (r)
        free(r->study);
    free(r);
}

/* Returns the memory of the pipeline stage that needs most. */
static rlt_study_figure memory_of(rlt_json training)
{
    rlt_json stages = rlt_json_get(training, "stages");
    rlt_study_figure f = {.kind = RLT_FIGURE_NONE};
    double bytes;
    for (rlt_json v = rlt_json_first(stages); rlt_json_is(v); v = rlt_json_next(v))
        if (rlt_json_is_number(rlt_json_get(v, "memory_bytes")) &&
            !rlt_json_get_double(v, "memory_bytes", false, &bytes, NULL) && bytes >= f.real)
            f = (rlt_study_figure){.kind = RLT_FIGURE_REAL, .real = bytes};
    return f;
}

static rlt_study_figure figure_of(rlt_json run, const char *name)
{
    rlt_json training = rlt_json_get(run, "training");
    if (strcmp(name, "memory_bytes") == 0)
        return memory_of(training);
    if (strcmp(name, "tokens_per_second") == 0)
        name = "tokens_per_s";
    rlt_json home = rlt_json_is(rlt_json_get(run, name)) ? run : training;
    rlt_json v = rlt_json_get(home, name);
    uint64_t whole;
    double real;
    if (rlt_json_is_array(v)) /* one per iteration: takes the last */
        v = rlt_json_count(v) ? rlt_json_at(v, rlt_json_count(v) - 1) : (rlt_json){0};
    if (!rlt_json_is_number(v))
        return (rlt_study_figure){.kind = RLT_FIGURE_NONE};
    if (rlt_json_u64(v, INT64_MAX, &whole, NULL) == 0)
        return (rlt_study_figure){.kind = RLT_FIGURE_WHOLE, .whole = (int64_t)whole};
    if (rlt_json_get_double(home, name, false, &real, NULL))
        return (rlt_study_figure){.kind = RLT_FIGURE_NONE};
    return (rlt_study_figure){.kind = RLT_FIGURE_REAL, .real = real};
}

/* Returns the utilization of the busiest link and stores its name in w; -1: none. */
static double busiest_of_run(rlt_json run, what_if *w)
{
    rlt_json links = rlt_json_get(run, "links"), busiest = {0};
    double most = -1, u;
    for (rlt_json l = rlt_json_first(links); rlt_json_is(l); l = rlt_json_next(l))
        if (!rlt_json_get_double(l, "utilization", true, &u, NULL) && u > most) {
            most = u;
            busiest = l;
        }
    const char *src = rlt_json_string(rlt_json_get(busiest, "src")),
               *dst = rlt_json_string(rlt_json_get(busiest, "dst"));
    if (src && dst)
        snprintf(w->busiest, sizeof w->busiest, "%.70s -> %.70s", src, dst);
    return most;
}

static double busiest_of_row(rlt_json row, what_if *w)
{
    const char *name = rlt_json_string(rlt_json_get(row, "bottleneck"));
    double u;
    snprintf(w->busiest, sizeof w->busiest, "%.140s", name ? name : "");
    return rlt_json_get_double(row, "bottleneck_utilization", true, &u, NULL) ? -1 : u;
}

/* Takes the figures of the study's columns from the result of a what-if. */
static void take_result(what_if *w)
{
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    rlt_jw out;
    if (w->output.over ||
        rlt_json_parse("result", w->output.bytes ? w->output.bytes : "", w->output.n, &doc, &err)) {
        snprintf(w->error, sizeof w->error, "the result is too large or not JSON");
        w->state = FAILED;
        return;
    }
    rlt_json run = rlt_json_root(doc), rows = rlt_json_get(run, "results");
    if (w->runs->coll && rlt_json_count(rows) != 1) {
        snprintf(w->error, sizeof w->error,
                 "expected one collective, size and algorithm: these options give %u rows",
                 rlt_json_count(rows));
        w->state = FAILED;
        rlt_json_free(doc);
        return;
    }
    if (w->runs->coll)
        run = rlt_json_at(rows, 0);
    double most = w->runs->coll ? busiest_of_row(run, w) : busiest_of_run(run, w);
    rlt_jw_init(&out, false);
    rlt_jw_array(&out, NULL);
    for (uint32_t i = 0; rlt_study_figure_name(i); i++) {
        const char *name = rlt_study_figure_name(i);
        rlt_study_figure f = figure_of(run, name);
        if (w->runs->coll && strcmp(name, "bytes") == 0) /* in a row it is the size, not the bytes sent */
            f = (rlt_study_figure){.kind = RLT_FIGURE_NONE};
        if (strcmp(name, "busiest_utilization") == 0 && most >= 0)
            rlt_jw_double(&out, NULL, most, 6);
        else if (f.kind == RLT_FIGURE_WHOLE)
            rlt_jw_i64(&out, NULL, f.whole);
        else if (f.kind == RLT_FIGURE_REAL)
            rlt_jw_double(&out, NULL, f.real, 6);
        else
            rlt_jw_null(&out, NULL);
    }
    rlt_jw_end_array(&out);
    w->figures = rlt_jw_finish(&out, NULL);
    w->state = w->figures ? DONE : FAILED;
    rlt_json_free(doc);
}

static void start_next(rlt_runs *r);

static void finish(what_if *w)
{
    rlt_runs *r = w->runs;
    r->running--;
    if (w->timed_out || w->exit_status || w->signal) {
        w->state = FAILED;
        size_t n = w->complaint.n < sizeof w->error - 1 ? w->complaint.n : sizeof w->error - 1;
        if (w->timed_out)
            snprintf(w->error, sizeof w->error, "took longer than %llu s",
                     (unsigned long long)r->limits.timeout_ms / 1000);
        else if (n) {
            memcpy(w->error, w->complaint.bytes, n);
            w->error[n] = '\0';
        } else
            snprintf(w->error, sizeof w->error, "ended with status %lld", (long long)w->exit_status);
    } else
        take_result(w);
    free(w->output.bytes);
    free(w->complaint.bytes);
    w->output = w->complaint = (buffer){0};
    start_next(r);
}

static void on_closed(uv_handle_t *handle)
{
    what_if *w = handle->data;
    if (--w->open_handles == 0)
        finish(w);
}

static void close_once(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
    what_if *w = process->data;
    w->exit_status = status;
    w->signal = signal;
    close_once(&w->process);
    close_once(&w->timer);
}

static void on_room(uv_handle_t *handle, size_t asked, uv_buf_t *out)
{
    static char shared[65536]; /* single-threaded, and consumed before the next read */
    (void)handle;
    (void)asked;
    *out = uv_buf_init(shared, sizeof shared);
}

static void on_output(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    what_if *w = pipe->data;
    buffer *b = (void *)pipe == (void *)&w->out ? &w->output : &w->complaint;
    if (n < 0) {
        close_once(pipe);
        return;
    }
    if (b->n + (size_t)n > b->most) {
        b->over = true;
        if (b == &w->output)
            uv_process_kill(&w->process, SIGKILL);
        return;
    }
    char *grown = realloc(b->bytes, b->n + (size_t)n + 1);
    if (!grown) {
        b->over = true;
        return;
    }
    memcpy(grown + b->n, bytes->base, (size_t)n);
    b->bytes = grown;
    b->n += (size_t)n;
    b->bytes[b->n] = '\0';
}

static void on_timeout(uv_timer_t *timer)
{
    what_if *w = timer->data;
    w->timed_out = true;
    uv_process_kill(&w->process, SIGKILL);
}

static void start(what_if *w)
{
    rlt_runs *r = w->runs;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&w->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&w->err}};
    uv_process_options_t o = {
        .file = r->exe, .args = w->args, .stdio = stdio, .stdio_count = 3, .exit_cb = on_ended};
    w->process.data = w->out.data = w->err.data = w->timer.data = w;
    w->output.most = MAX_OUTPUT;
    w->complaint.most = MAX_COMPLAINT;
    w->state = RUNNING;
    w->open_handles = 4;
    r->running++;
    uv_pipe_init(r->loop, &w->out, 0);
    uv_pipe_init(r->loop, &w->err, 0);
    uv_timer_init(r->loop, &w->timer);
    if (uv_spawn(r->loop, &w->process, &o)) {
        w->exit_status = -1;
        close_once(&w->process);
        close_once(&w->out);
        close_once(&w->err);
        close_once(&w->timer);
        return;
    }
    uv_timer_start(&w->timer, on_timeout, r->limits.timeout_ms, 0);
    uv_read_start((uv_stream_t *)&w->out, on_room, on_output);
    uv_read_start((uv_stream_t *)&w->err, on_room, on_output);
}

static void start_next(rlt_runs *r)
{
    for (what_if *w = r->list; w && r->running < r->limits.at_once && !r->closing; w = w->next)
        if (w->state == WAITING) {
            r->waiting--;
            start(w);
        }
}

/* Refuses text that must not be an argument: control characters, too long, an option, or standard input. */
static int check_value(const char *name, const char *value, rlt_error *err)
{
    if (strlen(value) > MAX_VALUE)
        return rlt_fail(err, RLT_EUSAGE, name, "longer than %d bytes", MAX_VALUE);
    if (value[0] == '-')
        return rlt_fail(err, RLT_EUSAGE, name, "must not begin with '-'");
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return rlt_fail(err, RLT_EUSAGE, name, "must be one line of text");
    return 0;
}

/* Refuses files outside the served folder, except those that the study names. Otherwise error messages, which
 * quote a word of the file, would reveal other files. */
static int check_file(const rlt_runs *r, const char *name, const char *value, rlt_error *err)
{
    size_t n = strlen(value), back = strlen("/..");
    bool elsewhere = value[0] == '/' || strncmp(value, "../", 3) == 0 || strcmp(value, "..") == 0 ||
                     strstr(value, "/../") || (n >= back && strcmp(value + n - back, "/..") == 0);
    const char *at = r->study;
    if (!elsewhere)
        return 0;
    while (at && *at && (at = strstr(at + 1, value)))
        if (at[-1] == '"' && at[n] == '"')
            return 0;
    return rlt_fail(err, RLT_EUSAGE, name, "'%.100s' lies outside the folder that is served", value);
}

static int add(what_if *w, const char *name, const char *value, rlt_error *err)
{
    size_t n = strlen(name) + (value ? strlen(value) : 0) + 4;
    char *arg = w->n_args < MAX_ARGS ? malloc(n) : NULL;
    if (!arg)
        return w->n_args < MAX_ARGS ? rlt_nomem(err) : rlt_fail(err, RLT_EUSAGE, name, "too many options");
    snprintf(arg, n, value ? "--%s=%s" : "--%s", name, value);
    w->args[w->n_args++] = arg;
    return 0;
}

static int add_value(what_if *w, const allowance *a, const char *value, rlt_error *err)
{
    int rc = check_value(a->name, value, err);
    if (!rc && a->kind == OF_FILE)
        rc = check_file(w->runs, a->name, value, err);
    return rc ? rc : add(w, a->name, value, err);
}

static int add_option(what_if *w, rlt_json v, rlt_error *err)
{
    const char *name = rlt_json_key(v), *value = rlt_json_string(v);
    const allowance *a = allowed(w->runs, name);
    int rc = 0;
    if (!a)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "a what-if does not take this option");
    if (a->kind == FLAG)
        return rlt_json_is_true(v) ? add(w, name, NULL, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected true, or no such option");
    if (value)
        return add_value(w, a, value, err);
    if (!rlt_json_is_array(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected text or a list of texts");
    for (rlt_json i = rlt_json_first(v); rlt_json_is(i) && !rc; i = rlt_json_next(i)) {
        value = rlt_json_string(i);
        rc = value ? add_value(w, a, value, err) : rlt_json_fail(i, RLT_ESCHEMA, err, "expected text");
    }
    return rc;
}

static int fill(what_if *w, rlt_json body, rlt_error *err)
{
    static const char *const keys[] = {"name", "options", NULL};
    const char *const first[] = {"ringlet", w->runs->coll ? "coll" : "run"};
    const char *name = "";
    rlt_json options = rlt_json_get(body, "options");
    int rc = rlt_json_only(body, keys, err);
    if (rc || (rc = rlt_json_get_string(body, "name", false, &name, err)) ||
        (rc = check_value("name", name, err)))
        return rc;
    if (!rlt_json_is_object(options))
        return rlt_json_fail(body, RLT_ESCHEMA, err, "expected options");
    snprintf(w->name, sizeof w->name, "%.*s", MAX_NAME, name);
    for (int i = 0; i < 2; i++)
        if (!(w->args[w->n_args++] = strdup(first[i])))
            return rlt_nomem(err);
    if ((rc = add(w, "format", "json", err)) || (!w->runs->coll && (rc = add(w, "quiet", NULL, err))))
        return rc;
    for (rlt_json v = rlt_json_first(options); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = add_option(w, v, err);
    return rc;
}

/* Removes the oldest finished what-ifs if there are too many. */
static void forget(rlt_runs *r)
{
    uint32_t n = 0;
    what_if **at = &r->list;
    for (what_if *w = r->list; w; w = w->next)
        n++;
    while (*at && n >= r->limits.kept) {
        what_if *w = *at;
        if (w->state == DONE || w->state == FAILED) {
            *at = w->next;
            free_one(w);
            n--;
        } else
            at = &w->next;
    }
}

int rlt_runs_start(rlt_runs *r, const char *body, size_t length, uint32_t *id, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc;
    if (r->waiting >= r->limits.waiting)
        return rlt_fail(err, RLT_ERANGE, NULL, "%u what-ifs are waiting already", r->waiting);
    if ((rc = rlt_json_parse("what-if", body, length, &doc, err)))
        return rc;
    what_if *w = calloc(1, sizeof *w), **end = &r->list;
    if (w)
        w->runs = r;
    rc = w ? fill(w, rlt_json_root(doc), err) : rlt_nomem(err);
    rlt_json_free(doc);
    if (rc) {
        if (w)
            free_one(w);
        return rc;
    }
    forget(r);
    *id = w->id = ++r->last_id;
    while (*end)
        end = &(*end)->next;
    *end = w;
    r->waiting++;
    start_next(r);
    return 0;
}

void rlt_runs_json(const rlt_runs *r, rlt_jw *w)
{
    static const char *const states[] = {"waiting", "running", "done", "failed"};
    rlt_jw_array(w, "runs");
    for (const what_if *x = r->list; x; x = x->next) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "id", x->id);
        rlt_jw_string(w, "name", x->name);
        rlt_jw_string(w, "state", states[x->state]);
        rlt_jw_string(w, "error", x->error);
        rlt_jw_string(w, "busiest_link", x->busiest);
        rlt_jw_array(w, "options");
        for (int i = r->coll ? 3 : 4; i < x->n_args; i++)
            rlt_jw_string(w, NULL, x->args[i]);
        rlt_jw_end_array(w);
        rlt_jw_raw(w, "figures", x->figures ? x->figures : "[]");
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

void rlt_runs_close(rlt_runs *r)
{
    if (!r)
        return;
    r->closing = true;
    for (what_if *w = r->list; w; w = w->next)
        if (w->state == RUNNING && !uv_is_closing((uv_handle_t *)&w->process))
            uv_process_kill(&w->process, SIGKILL);
}
