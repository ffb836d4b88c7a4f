/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names and lists of algorithms: random lists as a table by kind against a plain reading of them, every name once, and
 * what else of an opened setup settings.h promises: its endpoint, its inputs, recorded updates, JSON.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactive.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/sim.h"
#include "sim/text/json.h"
#include "test/support/dice.h"
#include "test/support/open_setup.h"
#include "test/support/same_fields.h"
#include "test/support/say.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/setup/settings.h"

static uint32_t count(const char *(*word)(uint32_t))
{
    uint32_t n = 0;
    while (word(n))
        n++;
    return n;
}

static void names(void **state)
{
    uint32_t algorithms = count(rlt_algorithm_word), protocols = 0;
    (void)state;
    while (rlt_reactive_at(protocols))
        protocols++;
    assert_true(algorithms > 10 && protocols > 3);
    for (uint32_t i = 0; i < algorithms; i++) {
        assert_string_equal(rlt_algorithm_word(i), rlt_algorithm_at(i)->name);
        assert_string_equal(rlt_any_algorithm_word(i), rlt_algorithm_at(i)->name);
    }
    assert_null(rlt_algorithm_at(algorithms));
    for (uint32_t i = 0; i < protocols; i++)
        assert_string_equal(rlt_any_algorithm_word(algorithms + i), rlt_reactive_name(rlt_reactive_at(i)));
    assert_null(rlt_any_algorithm_word(algorithms + protocols));
    for (uint32_t i = 0; i < RLT_COLL_KINDS; i++)
        assert_string_equal(rlt_collective_word(i), rlt_coll_name((rlt_coll_kind)i));
    assert_string_equal(rlt_collective_word(RLT_COLL_KINDS), "all");
    assert_null(rlt_collective_word(RLT_COLL_KINDS + 1));
    for (uint32_t i = 0; i < count(rlt_network_word); i++)
        assert_string_equal(rlt_network_word(i), rlt_net_model_at(i)->name);
    assert_null(rlt_net_model_at(count(rlt_network_word)));
}

/* "ring" is for every kind that it does, "all_reduce=ring" for that kind; later ones count. */
static void lists_of_algorithms(void **state)
{
    uint32_t n = count(rlt_algorithm_word), refused = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        dice d = {.seed = seed};
        const rlt_algorithm *got[RLT_COLL_KINDS + 1], *want[RLT_COLL_KINDS] = {NULL};
        char text[600] = "", what[100] = "";
        size_t used = 0;
        rlt_error err = {0};
        for (uint32_t i = 0; i <= RLT_COLL_KINDS; i++)
            got[i] = &rlt_ring;
        for (uint32_t i = below(&d, 5); i > 0; i--) {
            const rlt_algorithm *a = rlt_algorithm_at(below(&d, n));
            uint32_t kind = below(&d, 2 * RLT_COLL_KINDS);
            const char *name = kind < RLT_COLL_KINDS ? rlt_coll_name((rlt_coll_kind)kind) : "";
            test_say(text, sizeof text, &used, "%s%s%s%s", used ? "," : "", name, *name ? "=" : "", a->name);
            if (*name && !(a->kinds >> kind & 1) && !*what)
                snprintf(what, sizeof what, "%s does not support %s", a->name, name);
            for (uint32_t k = 0; k < RLT_COLL_KINDS; k++)
                if ((!*name || k == kind) && a->kinds >> k & 1)
                    want[k] = a;
        }
        int rc = rlt_parse_algorithms(used ? text : NULL, got, &err);
        if (rc != (*what ? RLT_EUSAGE : 0) || strcmp(err.what, what) != 0)
            fail_msg("%s: %d: %s, not %s", text, rc, err.what, what);
        assert_ptr_equal(got[RLT_COLL_KINDS], &rlt_ring);
        for (uint32_t k = 0; k < RLT_COLL_KINDS && !rc; k++)
            if (got[k] != want[k])
                fail_msg("%s: %s by %s", text, rlt_coll_name((rlt_coll_kind)k),
                         got[k] ? got[k]->name : "none");
        refused += rc != 0;
    }
    assert_in_range(refused, 50, 450);
}

static void wrong_names(void **state)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"rinq", "unknown algorithm 'rinq'; did you mean 'ring'?"},
        {"all_reduce=switchm", "unknown algorithm 'switchm'; did you mean 'switchml'?"},
        {"nothinglikethat", "unknown algorithm 'nothinglikethat'; 'ringlet list algorithms' shows them"},
        {"switchml",
         "switchml is a reactive protocol with its own packets: only 'ringlet coll' and 'ringlet run' "
         "support it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_algorithm *got[RLT_COLL_KINDS];
        rlt_error err = {0};
        assert_int_equal(rlt_parse_algorithms(rows[i].text, got, &err), RLT_EUSAGE);
        assert_int_equal(err.code, RLT_EUSAGE);
        assert_string_equal(err.where, "--algorithm");
        assert_string_equal(err.what, rows[i].what);
    }
}

static void open_or_fail(test_setup *s, const char *words, const char *algorithm)
{
    rlt_error err;
    if (test_setup_open(s, words, algorithm, &err))
        fail_msg("%s: %s: %s", words, err.where, err.what);
}

static bool same_endpoint(const rlt_endpoint *a, const rlt_endpoint *b)
{
    bool same = a->n_protocols == b->n_protocols && !test_other_field(rlt_endpoint_parameters(), a, b);
    for (uint32_t i = 0; i < a->n_protocols && same; i++)
        same = !test_other_field(rlt_protocol_parameters(), &a->protocols[i], &b->protocols[i]);
    return same;
}

/* The endpoint is that of the topology, with what is set; the network gets it. */
static void endpoints(void **state)
{
    test_setup s;
    (void)state;
    open_or_fail(&s, "topology=hgx-h100-8 network=packet set=packet.mtu=1500B", NULL);
    rlt_endpoint own = *rlt_topology_endpoint(s.setup.topology), plain = rlt_endpoint_default();
    assert_false(same_endpoint(&own, &plain));
    assert_true(same_endpoint(&s.setup.endpoint, &own));
    rlt_sim *sim = (rlt_sim *)&s;
    rlt_router *router = (rlt_router *)&own;
    rlt_net_config c = rlt_setup_net(&s.setup, sim, router, 77);
    assert_true(same_endpoint(&c.endpoint, &own));
    assert_true(c.sim == sim && c.router == router && c.series_bin_ps == 77 && c.packet == &s.setup.packet);
    assert_true(c.bandwidth_scale == 1 && c.latency_scale == 1 && c.packet->mtu == 1500);
    test_setup_close(&s);
    open_or_fail(&s, "topology=hgx-h100-8 injection=blocking set=channels=3", NULL);
    own.injection = RLT_INJECT_BLOCKING;
    assert_true(same_endpoint(&s.setup.endpoint, &own));
    rlt_coll_request r = {.n = 8};
    rlt_setup_parameters(&s.setup, &r);
    assert_true(r.endpoint == &s.setup.endpoint && r.model == s.setup.model);
    test_setup_close(&s);
}

static void as_json(void **state)
{
    static const struct {
        const char *words, *text;
    } rows[] = {
        {"topology=switch:4@1GB/s,1us", "{\"topology\":\"switch:4@1GB/s,1us\",\"accelerators\":4,\"network\":"
                                        "\"flow\",\"routing\":\"dmodk\",\"injection\":\"nic\"}"},
        {"topology=ring:6@1GB/s,1us network=packet routing=ecmp injection=blocking",
         "{\"topology\":\"ring:6@1GB/s,1us\",\"accelerators\":6,\"network\":\"packet\",\"routing\":\"ecmp\","
         "\"injection\":\"blocking\"}"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_jw w;
        size_t length;
        open_or_fail(&s, rows[i].words, NULL);
        rlt_jw_init(&w, false);
        rlt_jw_object(&w, NULL);
        rlt_setup_json(&s.setup, &w);
        rlt_jw_end_object(&w);
        char *text = rlt_jw_finish(&w, &length);
        assert_non_null(text);
        assert_true(length >= strlen(rows[i].text));
        assert_memory_equal(text, rows[i].text, strlen(rows[i].text));
        free(text);
        test_setup_close(&s);
    }
}

static bool is_input(const rlt_setup *s, const char *what, const char *path)
{
    for (uint32_t i = 0; i < s->inputs.n; i++)
        if (strcmp(s->inputs.items[i].path, path) == 0 && s->inputs.items[i].hash)
            return strcmp(s->inputs.items[i].what, what) == 0;
    return false;
}

#define ADDS "topology=switch:4@1GB/s,1us,in_network=reduce+multicast network=packet "

/* Files of a placement and of updates: what they say is taken, or borrowed, and both are inputs. */
static void files(void **state)
{
    char places[] = "/tmp/ringlet-words-XXXXXX", counts[] = "/tmp/ringlet-words-XXXXXX", words[300];
    test_setup s;
    rlt_setup more;
    rlt_error err = {0};
    (void)state;
    test_write_new(places, "{\"ranks\": [3, 1, 0]}", 20);
    test_write_new(counts, "5\n4\n1\n", 6);
    snprintf(words, sizeof words, ADDS "placement=%s", places);
    open_or_fail(&s, words, "atp,libra");
    assert_null(s.setup.updates);
    s.settings.updates = counts;
    assert_int_equal(rlt_setup_open(&s.settings, 0, &more, &err), 0);
    rlt_skew *read = more.updates;
    assert_true(read && !more.borrows_updates && more.placement.n == 3);
    assert_true(is_input(&more, "placement", places) && is_input(&more, "updates", counts));
    s.settings.updated = read;
    rlt_setup again;
    assert_int_equal(rlt_setup_open(&s.settings, 0, &again, &err), 0);
    assert_true(again.borrows_updates && again.updates == read);
    rlt_setup_free(&again);
    s.settings.updated = NULL;
    s.settings.sets_of_others = true; /* with libra, they are read all the same */
    assert_int_equal(rlt_setup_open(&s.settings, 0, &again, &err), 0);
    assert_true(again.updates && again.updates != read && !again.borrows_updates);
    rlt_setup_free(&again);
    rlt_setup_free(&more);
    /* Without libra, they are left alone or refused. */
    s.settings.n_protocols = 1;
    assert_int_equal(rlt_setup_open(&s.settings, 0, &again, &err), 0);
    assert_null(again.updates);
    rlt_setup_free(&again);
    s.settings.sets_of_others = false;
    assert_int_equal(rlt_setup_open(&s.settings, 0, &again, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "--updates");
    assert_string_equal(err.what, "is for libra: add libra to --algorithm");
    test_setup_close(&s);
    assert_int_equal(unlink(places), 0);
    static const char *const sets[] = {"libra.zipf=1", "zipf=1", "parameters=9", "libra.parameters=9"};
    for (int i = 0; i < 4; i++) {
        char what[60];
        snprintf(words, sizeof words, ADDS "set=%s", sets[i]);
        snprintf(what, sizeof what, "it does not go with --set %s", sets[i]);
        open_or_fail(&s, words, "libra");
        s.settings.updates = counts;
        err = (rlt_error){0};
        assert_int_equal(rlt_setup_open(&s.settings, 0, &more, &err), RLT_EUSAGE);
        assert_string_equal(err.where, "--updates");
        assert_non_null(strstr(err.what, what));
        test_setup_close(&s);
    }
    assert_int_equal(unlink(counts), 0);
}

static void what_needs_packets(void **state)
{
    static const struct {
        const char *option, *text;
        bool needs;
    } rows[] = {{"algorithm", "ring", false},    {"algorithm", "all_reduce=ring,all_gather=tree", false},
                {"algorithm", "switchml", true}, {"algorithm", "ring,all_reduce=atp", true},
                {"set", "mtu=1500B", true},      {"set", "packet.mtu=1500B", true},
                {"set", "channels=2", false},    {"set", "window=2", false},
                {"set", "injection=nic", false}, {"dim-scale", "mtu=1500B", false}};
    (void)state;
    assert_string_equal(rlt_packet_network(), "packet");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rlt_needs_packets(rows[i].option, rows[i].text) != rows[i].needs)
            fail_msg("%s=%s", rows[i].option, rows[i].text);
}

/* NAME sets all protocols that have it, PROTOCOL.NAME one of them; the rest keeps its defaults. A fallback that is named
 * takes the place of each protocol's own. */
static void sets_of_protocols(void **state)
{
    static const char *const all[] = {"atp", "switchml", "libra"};
    static const char *const sets[] = {"window=7", "atp.window=7", "libra.window=7",
                                       "window=7 set=switchml.window=9", "switch.fallback=host_ring"};
    (void)state;
    for (uint32_t i = 0; i < 5 * 8; i++) {
        char words[300], algorithms[60] = "";
        size_t used = 0;
        test_setup s;
        rlt_error err;
        bool has[3];
        for (uint32_t k = 0; k < 3; k++)
            if ((has[k] = (i / 5) >> k & 1))
                test_say(algorithms, sizeof algorithms, &used, "%s%s", used ? "," : "", all[k]);
        snprintf(words, sizeof words, ADDS "set=%s", sets[i % 5]);
        int rc = test_setup_open(&s, words, used ? algorithms : NULL, &err);
        bool wrong = (i % 5 == 1 && !has[0]) || (i % 5 == 2 && !has[2]) || (i % 5 == 3 && !has[1]);
        if (rc != (wrong ? RLT_EUSAGE : 0))
            fail_msg("%s %s: %d: %s: %s", words, algorithms, rc, err.where, err.what);
        if (!rc) /* algorithms have a window, too, that a name with a protocol does not mean */
            assert_int_equal(s.setup.params.window, i % 5 == 0 || i % 5 == 3 ? 7 : 0);
        for (uint32_t k = 0; k < s.setup.n_protocols && !rc; k++) {
            const rlt_reacting *r = &s.setup.protocols[k];
            const char *name = rlt_reactive_name(r->protocol);
            rlt_param_value want[RLT_MAX_SETTINGS] = {{0}};
            bool mine = i % 5 == 0 || i % 5 == 3 || strncmp(sets[i % 5], name, strlen(name)) == 0;
            assert_int_equal(rlt_settings_preset(r->protocol, want, &err), 0);
            if (i % 5 < 4 && mine && rlt_has_setting(r->protocol, "window"))
                assert_int_equal(rlt_settings_set(r->protocol, want, "window", "7", &err), 0);
            if (i % 5 == 3 && strcmp(name, "switchml") == 0)
                assert_int_equal(rlt_settings_set(r->protocol, want, "window", "9", &err), 0);
            if (i % 5 == 4 && rlt_has_setting(r->protocol, "refused"))
                assert_int_equal(rlt_settings_set(r->protocol, want, "refused", "fail", &err), 0);
            for (const rlt_param *p = rlt_reactive_settings(r->protocol); p->name; p++) {
                size_t at = (size_t)(p - rlt_reactive_settings(r->protocol));
                if (memcmp(&r->values[at], &want[at], sizeof want[at]) != 0)
                    fail_msg("%s %s: %s of %s", words, algorithms, p->name, name);
            }
        }
        test_setup_close(&s);
    }
}

/* A setting of a protocol that does not run is refused, or checked and left alone where others are allowed. */
static void sets_of_others(void **state)
{
    static const struct {
        const char *protocols, *set;
        int code[2]; /* without others, and with them */
        const char *text[2];
    } rows[] = {
        {"libra", "atp.window=7", {RLT_EUSAGE, 0}, {"atp.window: belongs to atp: add this protocol", ""}},
        {"libra", "atp.window=0", {RLT_EUSAGE, RLT_EUSAGE}, {"belongs to atp", "window"}},
        {"libra", "atp.nothing=7", {RLT_EUSAGE, RLT_EUSAGE}, {"belongs to atp", "nothing"}},
        {"libra", "switchml.window=many", {RLT_EUSAGE, RLT_EUSAGE}, {"belongs to switchml", "many"}},
        {"libra", "nothinglikethat=7", {RLT_EUSAGE, RLT_EUSAGE}, {"unknown setting", "unknown setting"}},
        {"atp,switchml", "window=0", {RLT_EUSAGE, RLT_EUSAGE}, {"--set: atp: window", "--set: atp: window"}},
        {"atp,switchml", "atp.window=0", {RLT_EUSAGE, RLT_EUSAGE}, {"--set: window", "--set: window"}},
        {"switchml", "switch.sharing=first-come", {0, 0}, {"", ""}},
        {"switchml", "switch.sharing=first+come", {RLT_EUSAGE, RLT_EUSAGE}, {"first+come", "first+come"}},
        {"switchml", "switch.fallback=host-ring", {0, 0}, {"", ""}},
        {"switchml", "switch.fallback=hostxring", {RLT_EUSAGE, RLT_EUSAGE}, {"hostxring", "hostxring"}},
        {"switchml", "switch.fallback=host-rin", {RLT_EUSAGE, RLT_EUSAGE}, {"host-rin", "host-rin"}},
        {"switchml", "switch.sharing=girst-come", {RLT_EUSAGE, RLT_EUSAGE}, {"girst-come", "girst-come"}},
        {"switchml", "switch.sharing=first_comer", {RLT_EUSAGE, RLT_EUSAGE}, {"first_comer", "first_comer"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int others = 0; others < 2; others++) {
            test_setup s;
            rlt_setup more;
            rlt_error err = {0};
            char all[1600];
            const char *items[] = {rows[i].set};
            open_or_fail(&s, ADDS, rows[i].protocols);
            rlt_texts was = s.settings.set;
            s.settings.set = (rlt_texts){.items = items, .n = 1};
            s.settings.sets_of_others = others;
            int rc = rlt_setup_open(&s.settings, 0, &more, &err);
            snprintf(all, sizeof all, "%s: %s", err.where, err.what);
            if (rc != rows[i].code[others] || !strstr(all, rows[i].text[others]))
                fail_msg("%s, %d: %d: %s", rows[i].set, others, rc, all);
            assert_int_equal(err.code, rc);
            if (!rc)
                rlt_setup_free(&more);
            s.settings.set = was;
            test_setup_close(&s);
        }
}

/* Protocols may be used only where a switch adds, and its machine has no tuned endpoint, which they do not know. */
static void where_able(void **state)
{
    static const struct {
        const char *words;
        uint32_t n;
    } rows[] = {{ADDS, 1},
                {"topology=switch:4@1GB/s,1us network=packet", 0},
                {"topology=hgx-h100-8 network=packet", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_setup more;
        rlt_error err = {0};
        open_or_fail(&s, rows[i].words, "switchml");
        assert_int_equal(s.setup.n_protocols, 1);
        s.settings.protocols_where_able = true;
        assert_int_equal(rlt_setup_open(&s.settings, 0, &more, &err), 0);
        assert_int_equal(more.n_protocols, rows[i].n);
        if (i == 2) /* it adds */
            assert_true((rlt_topology_in_networks(more.topology) & RLT_CAN_REDUCE) &&
                        more.endpoint.channels > 0);
        rlt_setup_free(&more);
        assert_true(!more.topology && !more.protocols && !more.updates);
        test_setup_close(&s);
    }
}

/* So is one of packets on another network, if runs on several networks are compared. */
static void sets_of_packets(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *items[] = {"mtu=1500B"};
        test_setup s;
        rlt_setup more;
        rlt_error err = {0};
        bool taken = i == 1;
        open_or_fail(&s, "topology=switch:4@1GB/s,1us network=flow", NULL);
        rlt_texts was = s.settings.set;
        s.settings.set = (rlt_texts){.items = items, .n = 1};
        s.settings.sets_of_others = i % 2;
        s.settings.one_network = i / 2;
        assert_int_equal(rlt_setup_open(&s.settings, 0, &more, &err), taken ? 0 : RLT_EUSAGE);
        if (taken)
            rlt_setup_free(&more);
        else
            assert_string_equal(err.what, "is a setting of --network packet, not of flow");
        s.settings.set = was;
        test_setup_close(&s);
    }
}

/* "ALGORITHM.NAME" is a setting of algorithms, whichever it is, and needs no protocol. */
static void sets_of_algorithms(void **state)
{
    test_setup s;
    rlt_error err = {0};
    uint32_t n = count(rlt_algorithm_word);
    (void)state;
    open_or_fail(&s, ADDS, NULL);
    for (uint32_t i = 0; i <= n; i++) {
        char name[80];
        rlt_coll_params params = {0};
        rlt_error why = {0};
        snprintf(name, sizeof name, "%.60s.nothing", i < n ? rlt_algorithm_word(i) : "rin");
        int rc = rlt_coll_params_set(&params, name, "1", &why);
        err = (rlt_error){0};
        assert_true(rlt_setup_set(&s.setup, name, "1", &err) < 0 && rc < 0);
        if (i < n)
            assert_string_equal(err.what, why.what);
        else
            assert_string_not_equal(err.what, why.what);
    }
    test_setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(lists_of_algorithms),
        cmocka_unit_test(wrong_names),
        cmocka_unit_test(endpoints),
        cmocka_unit_test(as_json),
        cmocka_unit_test(files),
        cmocka_unit_test(what_needs_packets),
        cmocka_unit_test(sets_of_protocols),
        cmocka_unit_test(sets_of_others),
        cmocka_unit_test(where_able),
        cmocka_unit_test(sets_of_packets),
        cmocka_unit_test(sets_of_algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
