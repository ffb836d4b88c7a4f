/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: formats of text that several readers stand on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/config.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "sim/text/json_stream.h"
#include "sim/text/tree.h"
#include "sim/text/xml.h"
#include "sim/text/yaml.h"
#include "test/fuzz/fuzz.h"
#include "tools/base/command.h"

/* Visits all values; each must lie inside the text. */
static void walk(rlt_json v, size_t n)
{
    char where[256];
    size_t begin = 0, end = 0;
    rlt_json_where(v, where, sizeof where);
    rlt_json_extent(v, &begin, &end);
    FUZZ_CHECK(begin <= end && end <= n);
    uint32_t k = 0;
    for (rlt_json c = rlt_json_first(v); rlt_json_is(c); c = rlt_json_next(c), k++)
        walk(c, n);
    FUZZ_CHECK(k == rlt_json_count(v));
}

/* A document that was read is written, and the text is read again. */
static void write_again(const rlt_json_doc *doc)
{
    rlt_arena arena = {0};
    rlt_json_tree *tree = NULL;
    rlt_error err = {0};
    char *text = NULL;
    size_t n = 0;
    int rc = rlt_tree_make(&arena, rlt_json_root(doc), &tree, &err);
    fuzz_judge(rc, &err, NULL);
    if (!rc) {
        rlt_json_doc *again = NULL;
        FILE *out = open_memstream(&text, &n);
        FUZZ_CHECK(out);
        rlt_tree_write(tree, NULL, out);
        fclose(out);
        rc = rlt_json_parse("again", text, n, &again, &err);
        if (rc)
            fprintf(stderr, "%s: %s\n%s\n", err.where, err.what, text);
        FUZZ_CHECK(!rc);
        rlt_json_free(again);
        free(text);
    }
    rlt_arena_free(&arena);
}

typedef int document_reader(const char *name, const char *text, size_t length, rlt_json_doc **out,
                            rlt_error *err);

static void read_document(const fuzz_input *in, document_reader *read)
{
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    int rc = read("input", in->text, in->n, &doc, &err);
    fuzz_judge(rc, &err, "input");
    FUZZ_CHECK((rc == 0) == (doc != NULL));
    if (doc) {
        walk(rlt_json_root(doc), in->n);
        write_again(doc);
    }
    rlt_json_free(doc);
}

static void json(const fuzz_input *in)
{
    read_document(in, rlt_json_parse);
}

static void yaml(const fuzz_input *in)
{
    read_document(in, rlt_yaml_parse);
}

static void json_stream(const fuzz_input *in)
{
    static const char *const members[] = {"traceEvents", "a", NULL};
    static const char *const keys[] = {"name", "args", "ts", NULL};
    const char *path = fuzz_path(in, "");
    rlt_jstream *s = NULL;
    rlt_jpiece piece;
    rlt_error err = {0};
    int rc = rlt_jstream_open(path, members, &s, &err);
    if (!rc && fuzz_pick(2))
        rlt_jstream_keys(s, keys);
    if (!rc)
        while ((rc = rlt_jstream_next(s, &piece, &err)) == 1) {
            FUZZ_CHECK(piece.n_tokens > 0 && piece.tokens[0].next == piece.n_tokens);
            for (uint32_t i = 0; i < piece.n_tokens; i++) {
                const char *text = rlt_jpiece_text(&piece, i);
                int64_t number;
                FUZZ_CHECK(piece.tokens[i].next > i && piece.tokens[i].next <= piece.n_tokens);
                if (text)
                    (void)rlt_decimal_i64(text, 6, &number);
            }
        }
    fuzz_judge(rc, &err, path);
    rlt_jstream_close(s);
}

static int on_tag(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    (void)err;
    FUZZ_CHECK(tag->depth < RLT_XML_MAX_DEPTH && tag->line > 0 && tag->column > 0);
    ++*(uint32_t *)user;
    return 0;
}

static int on_text(void *user, const rlt_xml_tag *tag, const char *text, size_t length, rlt_error *err)
{
    (void)user;
    (void)err;
    (void)text;
    FUZZ_CHECK(tag->name && length <= FUZZ_MOST_BYTES);
    return 0;
}

static void xml(const fuzz_input *in)
{
    static const rlt_xml_handler handler = {.start = on_tag, .end = on_tag, .text = on_text};
    rlt_error err = {0};
    uint32_t tags = 0;
    int rc = rlt_xml_read("input", in->text, in->n, &handler, &tags, &err);
    fuzz_judge(rc, &err, "input");
    FUZZ_CHECK(rc || (tags > 0 && tags % 2 == 0));
}

static void csv(const fuzz_input *in)
{
    static rlt_csv c;
    rlt_error err = {0};
    uint64_t whole;
    int rc = rlt_csv_begin(&c, "input", in->text, in->n, &err);
    while (!rc && (rc = rlt_csv_next(&c, &err)) == 1) {
        FUZZ_CHECK(c.n_cells == c.n_columns && c.n_cells <= RLT_CSV_CELLS);
        for (uint32_t i = 0; i < c.n_cells; i++) {
            rlt_error why = {0};
            FUZZ_CHECK(rlt_csv_column(&c, c.columns[i]) >= 0);
            fuzz_judge(rlt_csv_whole(&c, (int)i, 1000, &whole, &why), &why, "input");
        }
        rc = 0;
    }
    fuzz_judge(rc, &err, "input");
}

static void compressed(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".gz");
    char *text = NULL;
    size_t n = 0;
    rlt_error err = {0};
    int rc = rlt_read_file(path, 1 << 20, &text, &n, &err);
    fuzz_judge(rc, &err, path);
    FUZZ_CHECK(rc || n <= 1 << 20);
    free(text);
}

/* Options of each command from a file. */
static void config(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".json");
    const rlt_command *command;
    for (uint32_t i = 0; (command = rlt_command_at(i)); i++) {
        rlt_config c = {0};
        rlt_parsed parsed = {0};
        rlt_error err = {0};
        if (!command->options)
            continue;
        void *settings = calloc(1, command->settings_size);
        FUZZ_CHECK(settings);
        int rc = rlt_config_file(&c, command->options, "of this command", path, &err);
        if (!rc)
            rc = rlt_config_fill(&c, command->options, settings, &parsed, &err);
        fuzz_judge(rc, &err, NULL);
        rlt_parsed_free(&parsed);
        rlt_config_free(&c);
        free(settings);
    }
}

const fuzz_target fuzz_texts[] = {{"json", .run = json, .change = fuzz_change_json},
                                  {"yaml", .run = yaml},
                                  {"json-stream", .run = json_stream, .change = fuzz_change_json},
                                  {"xml", .run = xml},
                                  {"csv", .run = csv},
                                  {"compressed", .run = compressed},
                                  {"config", .run = config, .change = fuzz_change_json},
                                  {0}};
