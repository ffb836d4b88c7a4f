/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of trace readers, the expansion of trace file names, and the choice of a reader. */
#include "workload/program/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/file.h"

enum { HEAD_BYTES = 1 << 16, MAX_FILES = RLT_MAX_RANKS, MAX_PATH_BYTES = 1 << 14 };

#define RLT_X(name) &rlt_reader_##name,
static const rlt_reader *const readers[] = {RLT_READERS(RLT_X)};
#undef RLT_X

static rlt_registry registry = RLT_REGISTRY("trace reader", RLT_EUSAGE, readers);

rlt_registry *rlt_readers(void)
{
    return &registry;
}

const rlt_reader *rlt_reader_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

typedef struct trace_file {
    char *path;
    uint32_t rank;
    int kind;
} trace_file;

typedef struct file_list {
    trace_file *files;
    uint32_t n, capacity;
} file_list;

static bool ends_with(const char *s, size_t length, const char *suffix)
{
    size_t n = strlen(suffix);
    return length >= n && strncasecmp(s + length - n, suffix, n) == 0;
}

/* Returns the length of the name without ".gz". */
static size_t inflated_length(const char *name)
{
    size_t length = strlen(name);
    return ends_with(name, length, ".gz") ? length - 3 : length;
}

/* Kinds of file names, by ending. Only the files of the first kind present in a directory are its trace:
 * beside execution traces and timelines, JSON files are settings or results. */
enum { NAME_ET, NAME_TIMELINE, NAME_KERNELS, NAME_JSON, NAME_SQLITE, NAME_OTHER };

static const char kernels_end[] = "kernel_trace.csv";

static int kind_of_name(const char *name)
{
    size_t length = inflated_length(name);
    if (name[0] == '.')
        return NAME_OTHER;
    return ends_with(name, length, ".et")                                           ? NAME_ET
           : ends_with(name, length, ".csv") && strncasecmp(name, "trace-", 6) == 0 ? NAME_TIMELINE
           : ends_with(name, length, kernels_end)                                   ? NAME_KERNELS
           : ends_with(name, length, ".json")                                       ? NAME_JSON
           : ends_with(name, length, ".sqlite")                                     ? NAME_SQLITE
                                                                                    : NAME_OTHER;
}

/* Returns true if digits at `at` are a rank: they follow a separator or a word that says so. "dlrm.3.et" and
 * "rank3.json" have one, "resnet50.et" has none. */
static bool begins_number(const char *name, size_t at)
{
    static const char *const words[] = {"rank", "worker", "gpu", "npu"};
    if (at == 0 || !isalnum((unsigned char)name[at - 1]))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ends_with(name, at, words[i]))
            return true;
    return false;
}

uint32_t rlt_rank_in_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t end = inflated_length(name);
    for (size_t i = end; i > 0; i--) { /* without the extension */
        if (name[i - 1] == '.') {
            end = i - 1;
            break;
        }
    }
    size_t first = end;
    while (first > 0 && isdigit((unsigned char)name[first - 1]))
        first--;
    if (first == end || end - first > 9 || !begins_number(name, first))
        return RLT_NONE;
    uint32_t rank = 0;
    for (size_t i = first; i < end; i++)
        rank = rank * 10 + (uint32_t)(name[i] - '0');
    return rank;
}

static int add_file(file_list *l, const char *directory, const char *name, rlt_error *err)
{
    int rc = rlt_grow(&l->files, &l->capacity, sizeof *l->files, (uint64_t)l->n + 1, MAX_FILES, "trace files",
                      err);
    if (rc < 0)
        return rc;
    size_t size = (directory ? strlen(directory) + 1 : 0) + strlen(name) + 1;
    char *path = malloc(size);
    if (!path)
        return rlt_nomem(err);
    bool slash = directory && directory[0] && directory[strlen(directory) - 1] == '/';
    snprintf(path, size, "%s%s%s", directory ? directory : "", directory && !slash ? "/" : "", name);
    l->files[l->n++] = (trace_file){.path = path, .rank = rlt_rank_in_name(path), .kind = kind_of_name(name)};
    return 0;
}

/* Returns true if `name` is BASE.<digits>.et, .json or .sqlite, also with .gz. With base NULL any trace file
 * belongs. */
static bool belongs(const char *name, const char *base)
{
    if (kind_of_name(name) == NAME_OTHER)
        return false;
    if (!base)
        return true;
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || name[n] != '.' || !isdigit((unsigned char)name[n + 1]))
        return false;
    size_t i = n + 1;
    while (isdigit((unsigned char)name[i]))
        i++;
    static const char *const endings[] = {".et", ".et.gz", ".json", ".json.gz", ".sqlite"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        if (strcmp(name + i, endings[e]) == 0)
            return true;
    return false;
}

/* Adds the trace files of a directory. */
static int scan(file_list *l, const char *directory, const char *base, rlt_error *err)
{
    DIR *d = opendir(directory[0] ? directory : ".");
    if (!d)
        return rlt_fail(err, RLT_EIO, directory, "cannot read the directory: %s", strerror(errno));
    uint32_t before = l->n;
    int best = NAME_OTHER, rc = 0;
    for (const struct dirent *e; rc == 0 && (e = readdir(d));) {
        if (!belongs(e->d_name, base))
            continue;
        rc = add_file(l, directory[0] ? directory : NULL, e->d_name, err);
        best = kind_of_name(e->d_name) < best ? kind_of_name(e->d_name) : best;
    }
    closedir(d);
    uint32_t kept = before;
    for (uint32_t i = before; i < l->n; i++) {
        if (l->files[i].kind == best)
            l->files[kept++] = l->files[i];
        else
            free(l->files[i].path);
    }
    l->n = kept;
    return rc;
}

/* Returns true if a reader looks for `path` beside the trace file `kept`: NAME_hip_api_trace.csv beside
 * NAME_kernel_trace.csv. */
static bool is_companion(const char *path, const trace_file *kept)
{
    size_t length = strlen(kept->path) - (kept->kind == NAME_KERNELS ? strlen(kernels_end) : 0);
    return kept->kind == NAME_KERNELS && strncmp(path, kept->path, length) == 0 &&
           ends_with(path, strlen(path), ".csv");
}

/* Adds the files of a directory that are not of its trace: those that `kept` does not list, and that stand
 * beside none of these. */
static int scan_ignored(file_list *l, const char *directory, const file_list *kept, rlt_error *err)
{
    DIR *d = opendir(directory);
    int rc = 0;
    if (!d)
        return rlt_fail(err, RLT_EIO, directory, "cannot read the directory: %s", strerror(errno));
    for (const struct dirent *e; rc == 0 && (e = readdir(d));) {
        struct stat st;
        rc = e->d_name[0] == '.' ? 0 : add_file(l, directory, e->d_name, err);
        if (rc < 0 || e->d_name[0] == '.')
            continue;
        bool out = stat(l->files[l->n - 1].path, &st) == 0 && S_ISREG(st.st_mode);
        for (uint32_t i = 0; i < kept->n && out; i++)
            out = strcmp(kept->files[i].path, l->files[l->n - 1].path) != 0 &&
                  !is_companion(l->files[l->n - 1].path, &kept->files[i]);
        if (!out)
            free(l->files[--l->n].path);
    }
    closedir(d);
    return rc;
}

static int add_prefix(file_list *l, const char *spec, rlt_error *err)
{
    const char *slash = strrchr(spec, '/'), *base = slash ? slash + 1 : spec;
    char directory[MAX_PATH_BYTES] = "";
    size_t length = slash ? (size_t)(slash - spec) + 1 : 0;
    memcpy(directory, spec, length);
    struct stat st;
    if (base[0] && (length == 0 || (stat(directory, &st) == 0 && S_ISDIR(st.st_mode)))) {
        uint32_t before = l->n;
        int rc = scan(l, directory, base, err);
        if (rc < 0 || l->n > before)
            return rc;
    }
    return rlt_fail(err, RLT_EIO, spec,
                    "no such file or directory, and no files %s.<rank>.et or %s.<rank>.json", spec, spec);
}

static int add_spec(file_list *l, const char *spec, rlt_error *err)
{
    if (spec[0] == '\0' || strlen(spec) >= MAX_PATH_BYTES)
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected the name of a trace, got %s",
                        spec[0] ? "a name longer than 16 KiB" : "an empty name");
    struct stat st;
    if (stat(spec, &st) != 0)
        return add_prefix(l, spec, err);
    if (!S_ISDIR(st.st_mode))
        return add_file(l, NULL, spec, err);
    uint32_t before = l->n;
    int rc = scan(l, spec, NULL, err);
    if (rc == 0 && l->n == before)
        rc = rlt_fail(err, RLT_EIO, spec,
                      "the directory has no trace files (*.et, *.json, trace-*.csv, "
                      "*kernel_trace.csv, also .gz; *.sqlite)");
    return rc;
}

static int order_files(const void *a, const void *b)
{
    const trace_file *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void free_list(file_list *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        free(l->files[i].path);
    free(l->files);
}

static int join_names(const file_list *l, char **names, rlt_error *err)
{
    size_t size = 1, used = 0;
    for (uint32_t i = 0; i < l->n; i++)
        size += strlen(l->files[i].path) + 2;
    *names = l->n ? malloc(size) : NULL;
    if (l->n && !*names)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < l->n; i++) {
        const char *slash = strrchr(l->files[i].path, '/');
        used += (size_t)snprintf(*names + used, size - used, "%s%s", i ? ", " : "",
                                 slash ? slash + 1 : l->files[i].path);
    }
    return 0;
}

int rlt_trace_ignored(const char *const *specs, uint32_t n_specs, char **names, uint32_t *n, rlt_error *err)
{
    file_list out = {0};
    int rc = 0;
    *names = NULL;
    for (uint32_t i = 0; i < n_specs && rc == 0; i++) {
        struct stat st;
        file_list kept = {0};
        if (stat(specs[i], &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        rc = scan(&kept, specs[i], NULL, err);
        if (rc == 0)
            rc = scan_ignored(&out, specs[i], &kept, err);
        free_list(&kept);
    }
    *n = out.n;
    if (out.n)
        qsort(out.files, out.n, sizeof *out.files, order_files);
    rc = rc ? rc : join_names(&out, names, err);
    free_list(&out);
    return rc;
}

/* Packs the list into one block: the pointers, then the texts. */
static int pack(const file_list *l, char ***paths, rlt_error *err)
{
    size_t bytes = l->n * sizeof(char *);
    for (uint32_t i = 0; i < l->n; i++)
        bytes += strlen(l->files[i].path) + 1;
    char **block = malloc(bytes ? bytes : 1);
    if (!block)
        return rlt_nomem(err);
    char *text = (char *)(block + l->n);
    for (uint32_t i = 0; i < l->n; i++) {
        size_t size = strlen(l->files[i].path) + 1;
        block[i] = memcpy(text, l->files[i].path, size);
        text += size;
    }
    *paths = block;
    return 0;
}

int rlt_trace_files(const char *const *specs, uint32_t n_specs, char ***paths, uint32_t *n, rlt_error *err)
{
    *paths = NULL;
    *n = 0;
    file_list l = {0};
    int rc = n_specs ? 0 : rlt_fail(err, RLT_EUSAGE, NULL, "no trace given");
    for (uint32_t i = 0; i < n_specs && rc == 0; i++)
        rc = add_spec(&l, specs[i], err);
    if (rc == 0) {
        qsort(l.files, l.n, sizeof *l.files, order_files);
        rc = pack(&l, paths, err);
    }
    if (rc == 0)
        *n = l.n;
    free_list(&l);
    return rc;
}

bool rlt_is_host_trace(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]))
        i++;
    return i < n && head[i] == '{' && rlt_contains(head, n, "\"schema\"") &&
           rlt_contains(head, n, "\"nodes\"") &&
           (rlt_contains(head, n, "|execution_graph|") || rlt_contains(head, n, "|execution_trace|") ||
            rlt_contains(head, n, "record_param_comms"));
}

/* Describes an unrecognised file by its first bytes, for the message. */
static const char *looks_like(const char *head, size_t n)
{
    if (rlt_is_host_trace(head, n))
        return "it is a host execution trace of PyTorch, which gives sizes to a recording: --host-trace";
    if (n == 0)
        return "it is empty";
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]))
        i++;
    if (i < n && (head[i] == '{' || head[i] == '['))
        return "it is JSON, but without traceEvents";
    if (i < n && head[i] == '<')
        return "it looks like XML";
    for (i = 0; i < n; i++)
        if ((unsigned char)head[i] < 9)
            return "it is binary, but not length-prefixed Chakra nodes";
    return "it looks like plain text";
}

int rlt_reader_for(const char *path, const rlt_reader **out, rlt_error *err)
{
    *out = NULL;
    char *head = malloc(HEAD_BYTES);
    if (!head)
        return rlt_nomem(err);
    size_t n = 0;
    int best = 0, rc = rlt_read_head(path, head, HEAD_BYTES, &n, err);
    const rlt_reader *r;
    for (uint32_t i = 0; rc == 0 && (r = rlt_reader_at(i)); i++) {
        int sure = r->probe(path, head, n);
        if (sure > best) {
            best = sure;
            *out = r;
        }
    }
    if (rc == 0 && !*out)
        rc = rlt_fail(err, RLT_EMALFORMED, path,
                      "no reader knows this format ('ringlet list readers' shows the formats): %s",
                      looks_like(head, n));
    free(head);
    return rc;
}

int rlt_trace_read(const char *const *specs, uint32_t n_specs, const rlt_read_options *opts,
                   rlt_program **out, rlt_error *err)
{
    *out = NULL;
    char **paths = NULL;
    uint32_t n = 0;
    const rlt_reader *reader = NULL;
    int rc = rlt_trace_files(specs, n_specs, &paths, &n, err);
    if (rc == 0)
        rc = rlt_reader_for(paths[0], &reader, err);
    if (rc == 0 && opts->ideal && !reader->ideals)
        rc = rlt_fail(err, RLT_EUSAGE, paths[0], "the %s reader cannot remove stragglers (--ideal)",
                      reader->name);
    if (rc == 0 && opts->fold && !reader->folds)
        rc = rlt_fail(err, RLT_EUSAGE, paths[0],
                      "the %s reader cannot tell that ranks are identical (--fold): tables of layers can",
                      reader->name);
    if (rc == 0)
        rc = reader->read((const char *const *)paths, n, opts, out, err);
    free(paths);
    return rc;
}
