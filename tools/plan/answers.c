/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/plan/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sim/base/mem.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/output/manifest.h"
#include "tools/plan/run_options.h"

enum { MAX_BYTES = 1 << 30, MAX_ANSWERS = 1 << 26, KEY = 400 };

/* Others shape only which questions are asked, and what is shown. */
static bool shapes_answers(const rlt_option *o)
{
    return rlt_plan_of_the_run(o) || strcmp(o->name, "headroom") == 0;
}

int rlt_answers_question(const rlt_parsed *args, const rlt_inputs *in, char **line, rlt_error *err)
{
    rlt_parsed shaping = *args;
    const rlt_option *o;
    rlt_jw w;
    *line = NULL;
    shaping.given = calloc(args->n_options + 1, sizeof *shaping.given);
    if (!shaping.given)
        return rlt_nomem(err);
    for (uint32_t i = 0; (o = rlt_option_at(args->groups, i, NULL)); i++)
        shaping.given[i] = shapes_answers(o) ? args->given[i] : NULL;
    rlt_document_begin(&w, "plan", &shaping, in);
    rlt_jw_end_object(&w);
    free(shaping.given);
    *line = rlt_jw_finish(&w, NULL);
    if (!*line)
        return rlt_nomem(err);
    size_t used = 0;
    for (const char *at = *line; *at; at++) /* blanks at the start of a line go with its end */
        if (*at == '\n')
            at += strspn(at + 1, " ");
        else
            (*line)[used++] = *at;
    (*line)[used] = '\0';
    return 0;
}

int rlt_answers_open(rlt_answers *a, const char *path, char **text, rlt_error *err)
{
    size_t length;
    *text = NULL;
    a->path = path;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return rlt_fail(err, RLT_EIO, path, "cannot be opened: %s", strerror(errno));
    a->file = fdopen(fd, "r+");
    if (!a->file) {
        close(fd);
        return rlt_nomem(err);
    }
    if (flock(fd, LOCK_EX | LOCK_NB))
        return rlt_fail(err, RLT_EIO, path, "is in use by another search");
    return rlt_read_file(path, MAX_BYTES, text, &length, err);
}

static uint64_t checksum_of(const char *line, size_t length, uint64_t before)
{
    return rlt_hash_bytes(line, length, before);
}

static int add_answer(rlt_answers *a, const char *key, size_t length, rlt_answer one, rlt_error *err)
{
    uint32_t i = rlt_intern(&a->keys, key, length);
    if (i == RLT_NONE)
        return rlt_nomem(err);
    int rc = rlt_grow(&a->known, &a->room, sizeof *a->known, (uint64_t)i + 1, MAX_ANSWERS, "answers", err);
    if (!rc)
        a->known[i] = one;
    return rc;
}

/* Returns the start of the last word of a line; its end moves before the blank that precedes it. */
static const char *last_word(const char *line, const char **end)
{
    const char *at = *end;
    while (at > line && at[-1] != ' ')
        at--;
    *end = at > line ? at - 1 : at;
    return at;
}

static int read_line(rlt_answers *a, const char *line, size_t length, rlt_error *err)
{
    const char *end = line + length;
    char *stop;
    const char *checksum = last_word(line, &end);
    uint64_t expected = checksum_of(line, (size_t)(end - line), a->checksum);
    bool whole = end > line && strtoull(checksum, &stop, 16) == expected && stop == line + length;
    const char *memory = last_word(line, &end), *ps = last_word(line, &end);
    if (!whole || end == line)
        return rlt_fail(err, RLT_EMALFORMED, a->path,
                        "line %u is damaged; without it and the lines behind it the search goes on",
                        a->lines);
    a->checksum = expected;
    rlt_answer one = {.ps = strtoll(ps, NULL, 10), .memory_bytes = strtod(memory, NULL), .line = a->lines};
    return add_answer(a, line, (size_t)(end - line), one, err);
}

/* Starts a new file, or cuts one behind its last whole line. */
static int go_on(rlt_answers *a, const char *question, size_t whole, rlt_error *err)
{
    int failed = ftruncate(fileno(a->file), (off_t)whole) || fseek(a->file, 0, SEEK_END);
    if (!failed && !whole)
        failed = fprintf(a->file, "%s\n", question) < 0;
    if (failed)
        return rlt_fail(err, RLT_EIO, a->path, "cannot be written: %s", strerror(errno));
    return rlt_answers_flush(a, err);
}

int rlt_answers_read(rlt_answers *a, const char *question, const rlt_layout_space *space, const char *text,
                     rlt_error *err)
{
    size_t length = strlen(question), all = text ? strlen(text) : 0;
    const char *at = text, *end = text ? strchr(text, '\n') : NULL;
    int rc = 0;
    a->space = space;
    a->lines = 1;
    a->checksum = checksum_of(question, length, 0);
    bool same = end ? (size_t)(end - at) == length && memcmp(at, question, length) == 0
                    : all < length && memcmp(question, all ? text : "", all) == 0;
    if (!same)
        return rlt_fail(
            err, RLT_EUSAGE, "--save",
            "%s holds answers to another question: other options, other inputs or another version", a->path);
    while (end && (end = strchr(at = end + 1, '\n')) && !rc) {
        a->lines++;
        rc = read_line(a, at, (size_t)(end - at), err);
    }
    return rc || !a->file ? rc : go_on(a, question, at ? (size_t)(at - text) : 0, err);
}

/* Writes the key of a question. Returns its length. */
static size_t key_of(const rlt_answers *a, const rlt_layout_task *t, char *key)
{
    static const char *const questions[] = {"consider", "bound", "simulate"};
    size_t used = (size_t)snprintf(key, KEY, "%s", questions[t->what]);
    for (uint32_t i = 0; i < a->space->known[t->level] && used < KEY; i++)
        used += (size_t)snprintf(key + used, KEY - used, "%c%s", i ? '/' : ' ',
                                 a->space->axes[i].values[t->at[i]]);
    return used < KEY ? used : KEY - 1;
}

static const rlt_answer *find(const rlt_answers *a, const rlt_layout_task *t)
{
    char key[KEY];
    size_t length = key_of(a, t, key);
    uint32_t i = a->keys.n ? rlt_intern_find(&a->keys, key, length) : RLT_NONE;
    return i == RLT_NONE ? NULL : &a->known[i];
}

bool rlt_answers_recall(const rlt_answers *a, const rlt_layout_task *t, rlt_layout_outcome *out)
{
    const rlt_answer *known = t->level == RLT_LAYOUT_SIZES ? NULL : find(a, t);
    if (known)
        *out = (rlt_layout_outcome){
            .state = RLT_LAYOUT_OPEN, .ps = known->ps, .memory_bytes = known->memory_bytes};
    return known != NULL;
}

int rlt_answers_keep(rlt_answers *a, const rlt_layout_task *t, const rlt_layout_outcome *o, rlt_error *err)
{
    char line[KEY + 100];
    const rlt_answer *known = find(a, t);
    if (o->state != RLT_LAYOUT_OPEN)
        return 0;
    if (known && known->ps == o->ps)
        return 0;
    if (known)
        return rlt_fail(err, RLT_ECHECK, a->path,
                        "line %u: is now %lld ps: the model, the accelerator or ringlet has changed",
                        known->line, (long long)o->ps);
    if (!a->file)
        return 0;
    size_t used = key_of(a, t, line);
    used += (size_t)snprintf(line + used, sizeof line - used, " %lld %a", (long long)o->ps, o->memory_bytes);
    a->checksum = checksum_of(line, used, a->checksum);
    if (fprintf(a->file, "%s %016" PRIx64 "\n", line, a->checksum) < 0)
        return rlt_fail(err, RLT_EIO, a->path, "cannot be written: %s", strerror(errno));
    return 0;
}

int rlt_answers_flush(rlt_answers *a, rlt_error *err)
{
    if (a->file && fflush(a->file))
        return rlt_fail(err, RLT_EIO, a->path, "cannot be written: %s", strerror(errno));
    return 0;
}

void rlt_answers_close(rlt_answers *a)
{
    if (a->file)
        fclose(a->file);
    rlt_strings_free(&a->keys);
    free(a->known);
    *a = (rlt_answers){0};
}
