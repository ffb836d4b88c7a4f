/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest, and the document around it. */
#include "tools/output/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "tools/base/file.h"
#include "tools/base/version.h"
#include "workload/plugin/plugin.h"

static void write_list(rlt_jw *w, const char *name, const rlt_texts *list)
{
    rlt_jw_array(w, name);
    for (uint32_t i = 0; i < list->n; i++)
        rlt_jw_string(w, NULL, list->items[i]);
    rlt_jw_end_array(w);
}

static void write_options(rlt_jw *w, const rlt_parsed *args)
{
    const rlt_option *o;
    size_t base;
    rlt_jw_object(w, "options");
    for (uint32_t i = 0; (o = rlt_option_at(args->groups, i, &base)); i++) {
        const char *text = args->given[i] ? args->given[i] : o->preset;
        if (!text || o->unrecorded)
            continue;
        if (o->kind == RLT_PARAM_FLAG)
            rlt_jw_bool(w, o->name, true);
        else if (o->kind == RLT_PARAM_LIST)
            write_list(w, o->name, (const rlt_texts *)(void *)((char *)args->settings + base + o->offset));
        else
            rlt_jw_string(w, o->name, text);
    }
    rlt_jw_end_object(w);
}

static void write_input(rlt_jw *w, const char *what, const char *path, uint64_t hash)
{
    char text[17];
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "what", what);
    rlt_jw_string(w, "path", path);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    rlt_jw_string(w, "hash", text);
    rlt_jw_end_object(w);
}

void rlt_document_begin(rlt_jw *w, const char *command, const rlt_parsed *args, const rlt_inputs *in)
{
    char what[160];
    const rlt_plugin_loaded *plugin;
    rlt_jw_init(w, true);
    rlt_jw_object(w, NULL);
    rlt_jw_u64(w, "schema_version", RLT_SCHEMA_VERSION);
    rlt_jw_object(w, "manifest");
    rlt_jw_string(w, "ringlet", rlt_version);
    rlt_jw_string(w, "command", command);
    write_options(w, args);
    rlt_jw_array(w, "operands");
    for (int i = 0; i < args->n_operands; i++)
        rlt_jw_string(w, NULL, args->operands[i]);
    rlt_jw_end_array(w);
    rlt_jw_array(w, "inputs");
    for (uint32_t i = 0; in && i < in->n; i++)
        write_input(w, in->items[i].what, in->items[i].path, in->items[i].hash);
    for (uint32_t i = 0; (plugin = rlt_plugin_at(i)); i++) {
        snprintf(what, sizeof what, "plug-in %.64s %.64s", plugin->name, plugin->version);
        write_input(w, what, plugin->path, plugin->hash);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

int rlt_document_write(rlt_jw *w, const char *path, rlt_error *err)
{
    size_t length;
    char *text;
    int rc;
    rlt_jw_end_object(w);
    text = rlt_jw_finish(w, &length);
    if (!text)
        return rlt_nomem(err);
    rc = rlt_file_write(path, text, length, err);
    free(text);
    return rc;
}

void rlt_document_drop(rlt_jw *w)
{
    free(rlt_jw_finish(w, NULL));
}
