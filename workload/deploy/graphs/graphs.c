/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of graph readers, and how one is found. */
#include "workload/deploy/graphs/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/text/file.h"

static const rlt_graph_reader *const readers[] = {&rlt__graph_pipedream, &rlt__graph_placement,
                                                  &rlt__graph_onnx, &rlt__graph_trace};

static const rlt_graph_reader *reader_at(uint32_t i)
{
    return i < sizeof readers / sizeof *readers ? readers[i] : NULL;
}

void rlt__graph_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *from = slash ? slash + 1 : path;
    snprintf(name, size, "%.*s", (int)strcspn(from, "."), from);
}

int rlt_opgraph_read(const char *path, const rlt_graph_options *o, rlt_opgraph **out, rlt_error *err)
{
    char *text = NULL, known[256] = "";
    size_t length, used = 0;
    struct stat st;
    *out = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) /* only traces come in directories */
        return rlt__graph_trace.read(path, NULL, 0, o, out, err);
    int rc = rlt_read_file(path, RLT_MAX_GRAPH_FILE, &text, &length, err);
    if (rc)
        return rc;
    const rlt_graph_reader *r;
    for (uint32_t i = 0; (r = reader_at(i)) && !r->probe(text, length); i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", r->name);
    rc = r ? r->read(path, text, length, o, out, err)
           : rlt_fail(err, RLT_EMALFORMED, path,
                      "not an operator graph: expected a file of one of the formats %s", known);
    free(text);
    return rc;
}
