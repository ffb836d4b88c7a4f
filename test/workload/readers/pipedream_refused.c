/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every refusal of PipeDream's graphs, word for word with its line, and lines that are just not refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/readers/pipedream.h"

#define F       "forward_compute_time="
#define B       "backward_compute_time="
#define A       "activation_size="
#define P       "parameter_size="
#define NODE(n) "node" n " -- X -- " F "1, " B "2, " A "3, " P "4"

/* Parses a text that nothing follows. */
static int parse(const char *text, size_t length, rlt_pipedream *d, rlt_error *err)
{
    char *own = malloc(length + 1);
    assert_non_null(own);
    memcpy(own, text, length + 1);
    *err = (rlt_error){0};
    int rc = rlt__pipedream_parse("g", own, length, d, err);
    free(own);
    return rc;
}

static void lines_are_refused(void **state)
{
    static const struct {
        const char *text, *where, *what;
        int code;
    } all[] = {
        {"", "g:1", "the file has no nodes", RLT_ESCHEMA},
        {"\n", "g:1", "the file has no nodes", RLT_ESCHEMA},
        {"\n \r\n\n", "g:3", "the file has no nodes", RLT_ESCHEMA},
        {"node1", "g:1", "expected node -- description -- forward_compute_time=..., got 'node1'",
         RLT_EMALFORMED},
        {"node1 -- X", "g:1", "expected node -- description -- forward_compute_time=..., got 'node1 -- X'",
         RLT_EMALFORMED},
        {"node1 -- X --" F "1", "g:1",
         "expected node -- description -- forward_compute_time=..., got 'node1 -- X --" F "1'",
         RLT_EMALFORMED},
        {"node -- X -- " F "1", "g:1", "expected a node, got 'node'", RLT_EMALFORMED},
        {"nod1 -- X -- " F "1", "g:1", "expected a node, got 'nod1'", RLT_EMALFORMED},
        {"node1 -- X -- " F, "g:1", "expected " F "NUMBER, got ''", RLT_EMALFORMED},
        {"node1 -- X -- " F "-1", "g:1", "expected " F "NUMBER, got '-1'", RLT_EMALFORMED},
        {"node1 -- X -- " F "1.2.3", "g:1", "expected " F "NUMBER, got '1.2.3'", RLT_EMALFORMED},
        {"node1 -- X -- " F "1e3", "g:1", "expected " B ", got 'e3'", RLT_EMALFORMED},
        {"node1 -- X -- " F "1", "g:1", "expected " B ", got ''", RLT_EMALFORMED},
        {"node1 -- X -- " F "1, ", "g:1", "expected " B ", got ''", RLT_EMALFORMED},
        {"node1 -- X -- " F "1 , , \n" B "1", "g:1", "expected " B ", got ''", RLT_EMALFORMED},
        {"node1 -- X -- " F "1, " B "[1; 2", "g:1", "expected ']', got ''", RLT_EMALFORMED},
        {"node1 -- X -- " F "1, " B "[1;2]", "g:1", "expected ']', got ';2]'", RLT_EMALFORMED},
        {"node1 -- X -- " F "1, " B "[1; ]", "g:1", "expected " B "NUMBER, got ']'", RLT_EMALFORMED},
        {"node1 -- X -- " F "1, " B "[1; 1000000000]", "g:1", B "'" B "[1; 1000000000' is too large",
         RLT_ERANGE},
        {NODE("1") " 5", "g:1", "expected the end of the line, got ' 5'", RLT_EMALFORMED},
        {NODE("1") ",", "g:1", "expected the end of the line, got ','", RLT_EMALFORMED},
        {NODE("1") "\n" NODE("2") "\n" NODE("1"), "g:3", "'node1' appears a second time: line 1 defines it",
         RLT_ESCHEMA},
        {"\tnode1 - node2\n", "g:1", "expected <tab>nodeA -- nodeB, got 'node1 - node2'", RLT_EMALFORMED},
        {"\tnode1 -- nodes2\n", "g:1", "expected two nodes of this file, but no line defines 'node1'",
         RLT_ESCHEMA},
        {NODE("1") "\n\tnode1 -- x\n", "g:2", "expected a node, got 'x'", RLT_EMALFORMED},
        {NODE("1") "\n\n\tnode1 -- node3\n" NODE("2"), "g:3",
         "expected two nodes of this file, but no line defines 'node3'", RLT_ESCHEMA},
        {NODE("1") " -- stage_id=", "g:1", "expected stage_id=NUMBER, got ''", RLT_EMALFORMED},
        {NODE("1") " -- stage_id=0 ,", "g:1", "expected a stage, got '0 ,'", RLT_EMALFORMED},
        {"node1 -- X -- stage_id=0", "g:1", "expected measurements before stage_id, got 'X'", RLT_EMALFORMED},
        {NODE("1") " -- stage_id=4096", "g:1", "stage_id='4096' is too large", RLT_ERANGE},
        {NODE("1") " -- stage_id=0\n" NODE("2"), "g:2", "this node has no stage_id, but other nodes have one",
         RLT_ESCHEMA},
        {NODE("1") "\n" NODE("2") " -- stage_id=0\n", "g:1",
         "this node has no stage_id, but other nodes have one", RLT_ESCHEMA},
        {NODE("1") " -- stage_id=3\n" NODE("2") " -- stage_id=0\n" NODE("3") " -- stage_id=2\n", "g:1",
         "stage 1 of 4 has no nodes", RLT_ESCHEMA},
        {NODE("1") " -- stage_id=1\n" NODE("2") " -- stage_id=2\n", "g:1", "stage 0 of 3 has no nodes",
         RLT_ESCHEMA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_pipedream d;
        rlt_error err;
        int rc = parse(all[i].text, strlen(all[i].text), &d, &err);
        if (rc != all[i].code || strcmp(err.where, all[i].where) != 0 || strcmp(err.what, all[i].what) != 0)
            fail_msg("%zu: %d: %s: %s", i, rc, err.where, err.what);
        rlt__pipedream_free(&d);
    }
}

static void a_zero_byte(void **state)
{
    static const char text[] = NODE("1") "\nnode2 -- X\0 -- " F "1\n";
    rlt_pipedream d;
    rlt_error err;
    (void)state;
    assert_int_equal(parse(text, sizeof text - 1, &d, &err), RLT_EMALFORMED);
    assert_string_equal(err.where, "g:2");
    assert_string_equal(err.what, "a zero byte");
    rlt__pipedream_free(&d);
}

/* A name has 200 bytes at most. */
static void long_names(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char name[300], text[800], what[300];
        rlt_pipedream d;
        rlt_error err;
        memset(name, '7', sizeof name);
        memcpy(name, "node", 4);
        name[200 + more] = '\0';
        snprintf(text, sizeof text, "%s -- X -- " F "1, " B "2, " A "3, " P "4", name);
        snprintf(what, sizeof what, "expected a node, got '%.80s'", name);
        assert_int_equal(parse(text, strlen(text), &d, &err), more ? RLT_EMALFORMED : 0);
        assert_string_equal(more ? err.what : d.nodes[0].name, more ? what : name);
        rlt__pipedream_free(&d);
    }
}

/* Commas and blanks between figures, in any number; what stands for Input counts no time. */
static void lines_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t forward, backward; /* us */
        uint64_t output, parameters;
    } all[] = {
        {"node1 -- X -- " F "1.5" B "2" A "3" P "4", 1500, 2000, 3, 4},
        {"node1 -- X --  ,, " F "1 ,, " B "[2; 3; .5],," A "[3.0]  , " P "4", 1000, 5500, 3, 4},
        {"node1 -- Input0 -- " F "1, " B "2, " A "[3; 4], " P "5", 0, 0, 7, 5},
        {"node1 -- a -- b -- " F "1, " B "2, " A "3, " P "4 -- stage_id=0", 1000, 2000, 3, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_pipedream d;
        rlt_error err;
        if (parse(all[i].text, strlen(all[i].text), &d, &err))
            fail_msg("%zu: %s", i, err.what);
        assert_string_equal(err.where, "");
        assert_int_equal(d.nodes[0].forward_ps, all[i].forward * RLT_US);
        assert_int_equal(d.nodes[0].backward_ps, all[i].backward * RLT_US);
        assert_int_equal(d.nodes[0].output_bytes, all[i].output);
        assert_int_equal(d.nodes[0].parameter_bytes, all[i].parameters);
        rlt__pipedream_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_refused),
        cmocka_unit_test(a_zero_byte),
        cmocka_unit_test(long_names),
        cmocka_unit_test(lines_are_read),
    };
    return cmocka_run_group_tests_name("pipedream_refused", tests, NULL, NULL);
}
