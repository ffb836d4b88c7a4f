/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads "auto" of a topology in JSON: the algorithm that each collective takes, by size.
 *
 *   "auto": {"all_reduce": "tree:1MiB:ring", "all_gather": "ring"}
 *
 * takes the tree below 1 MiB and the ring from there on. The names are checked where collectives are known
 * (collectives/stated.h).
 */
#include <stdio.h>
#include <string.h>

#include "net/import/topo_json.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"

enum { MAX_CHOICES = 1024 };

/* Returns the number of algorithms in a chain. */
static uint32_t links_of(const char *chain)
{
    uint32_t colons = 0;
    for (; *chain; chain++)
        colons += *chain == ':';
    return colons / 2 + 1;
}

static int bad_chain(rlt_json v, rlt_error *err)
{
    return rlt_json_fail(v, RLT_ESCHEMA, err,
                         "expected an algorithm, or algorithms with increasing sizes between them, such as "
                         "\"tree:1MiB:ring\"");
}

static int read_chain(rlt_json v, rlt_choice *out, uint32_t *n, rlt_error *err)
{
    const char *chain = rlt_json_string(v), *item, *key = rlt_json_key(v);
    uint64_t from = 0;
    size_t length;
    if (strlen(key) >= sizeof out->collective)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a collective, such as all_reduce");
    for (uint32_t k = 0; (item = rlt_next_item(&chain, ':', &length)) != NULL; k++) {
        char word[sizeof out->algorithm];
        if (length == 0 || length >= sizeof word)
            return bad_chain(v, err);
        snprintf(word, sizeof word, "%.*s", (int)length, item);
        if (k % 2 == 0) {
            rlt_choice *c = &out[(*n)++];
            c->from_bytes = from;
            snprintf(c->collective, sizeof c->collective, "%s", key);
            memcpy(c->algorithm, word, sizeof word);
            continue;
        }
        uint64_t before = from;
        if (!chain || rlt_parse_size(word, &from, NULL, NULL) || from <= before)
            return bad_chain(v, err);
    }
    return 0;
}

int rlt__json_choices_read(rlt_json v, rlt_arena *arena, rlt_topology_spec *spec, rlt_error *err)
{
    uint32_t n = 0;
    int rc = 0;
    if (!rlt_json_is(v))
        return 0;
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "expected an object of collectives and their algorithms, such as "
                             "{\"all_reduce\": \"ring\"}");
    for (rlt_json m = rlt_json_first(v); rlt_json_is(m); m = rlt_json_next(m)) {
        if (!rlt_json_is_string(m))
            return bad_chain(m, err);
        n += links_of(rlt_json_string(m));
    }
    if (n > MAX_CHOICES)
        return rlt_json_fail(v, RLT_ERANGE, err, "at most %d algorithms", MAX_CHOICES);
    rlt_choice *choices = rlt_arena_array(arena, n + 1ull, sizeof *choices);
    if (!choices)
        return rlt_nomem(err);
    for (rlt_json m = rlt_json_first(v); rc == 0 && rlt_json_is(m); m = rlt_json_next(m))
        rc = read_chain(m, choices, &spec->n_choices, err);
    spec->choices = choices;
    return rc;
}
