/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/coll/remarks.h"

#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/plan.h"
#include "collectives/selector.h"
#include "collectives/stated.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/base/message.h"
#include "tools/output/links.h"
#include "workload/experiment/coll/react.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

/* Tells which protocol ran in place of the one asked for, and why on one thread. */
static void tell_fallback(const rlt_coll_one *one, rlt_coll_remarks *r)
{
    if (one->ask->settings->threads > 1)
        snprintf(r->alone, sizeof r->alone, "a switch of a reactive protocol acts for many workers at once");
    const char *reason = rlt_react_reason(&one->react.result);
    const rlt_coll_result *result = &one->result;
    char size[32];
    if (reason && !one->ask->tenants)
        snprintf(r->fell_back, sizeof r->fell_back, "%s of %s ran as %s: %.256s", result->algorithm,
                 rlt_format_size(size, sizeof size, result->bytes), result->ran, reason);
}

/* Explains a choice without a tuner: appends to r->why, which has `used` characters. */
static void explain_untuned(rlt_coll_remarks *r, const rlt_coll_request *req, int used)
{
    const rlt_algorithm *chosen = rlt_algorithm_choose(req), *usual = rlt_algorithm_usual(req);
    char *to = r->why + used;
    size_t room = sizeof r->why - (size_t)used;
    if (chosen == usual)
        snprintf(to, room, "%s, the usual one: this endpoint has no tuner", usual->name);
    else
        snprintf(to, room, "%s, by closed form clearly faster here than %s, the usual one", chosen->name,
                 usual->name);
}

/* Explains a tuned choice, for --why. Called while the endpoint still is the plan's. */
static void explain(rlt_coll_remarks *r, const rlt_coll_request *req)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    uint32_t n = rlt_candidates(req, all);
    char size[32], excluded[sizeof r->out - 80];
    char chooser[120];
    bool version = rlt_chooser(req, chooser, sizeof chooser) && req->library;
    int used = snprintf(r->why, sizeof r->why, "%s of %s%s%s: ", rlt_coll_name(req->kind),
                        rlt_format_size(size, sizeof size, req->bytes), version ? " by " : "",
                        version ? chooser : "");
    const rlt_algorithm *stated = rlt_algorithm_stated(req);
    if (stated)
        snprintf(r->why + used, sizeof r->why - (size_t)used, "%s, as the topology states (its \"auto\")",
                 stated->name);
    else if (n)
        rlt_candidates_text(all, n, rlt_request_endpoint(req), r->why + used, sizeof r->why - (size_t)used);
    else
        explain_untuned(r, req, used);
    if (stated || !n)
        return;
    rlt_excluded_text(all, n, rlt_request_endpoint(req), excluded, sizeof excluded);
    if (excluded[0])
        snprintf(r->out, sizeof r->out, "%s, out of the question: %s", rlt_coll_name(req->kind), excluded);
}

static void tell_steps(const rlt_coll_one *one, bool why, rlt_coll_remarks *r)
{
    const rlt_coll_run *run = &one->run;
    uint32_t place = one->row % one->ask->n_algorithms;
    r->algorithm = run->plan.algorithm;
    if (why && (!one->ask->algorithms[place] || place == 0))
        explain(r, one->reqs);
    r->over = run->over;
    memcpy(r->alone, run->alone, sizeof r->alone);
    r->rounded = run->plan.req.bytes - run->bytes;
    if (one->ask->settings->verify_fold)
        memcpy(r->unfolded, run->unfolded, sizeof r->unfolded);
}

void rlt_coll_remarks_of(const rlt_coll_one *one, bool why, rlt_coll_remarks *out)
{
    *out = (rlt_coll_remarks){.kind = one->result.kind};
    if (one->ask->reacting[one->row % one->ask->n_algorithms])
        tell_fallback(one, out);
    else
        tell_steps(one, why, out);
}

/* Returns true if `name` is a parameter of a protocol that was asked for. Step algorithms may ignore it
 * silently. */
static bool is_of_protocol(const rlt_setup *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_protocols; i++)
        if (rlt_has_setting(s->protocols[i].protocol, name))
            return true;
    return false;
}

/* Prints remarks about an algorithm that moves in steps. */
static void remark_steps(rlt_coll_remarked *said, const rlt_coll_ask *ask, const rlt_coll_remarks *r)
{
    const rlt_algorithm *a = r->algorithm;
    const rlt_setup *s = &ask->setup;
    const rlt_param *idle;
    char value[80], what[80];
    uint32_t bit = 0;
    while (bit < 31 && rlt_algorithm_at(bit) && rlt_algorithm_at(bit) != a)
        bit++;
    for (uint32_t i = 0;
         !(said->unused >> bit & 1) && (idle = rlt_coll_params_idle(&s->params, a, i, value, sizeof value));
         i++) {
        bool count = idle->kind != RLT_PARAM_CHOICE && idle->kind != RLT_PARAM_OTHER;
        if (!is_of_protocol(s, idle->name) && strcmp(idle->name, "order") != 0)
            rlt_note("%s has no parameter %s: --set %s%s%s does nothing there", a->name, idle->name,
                     idle->name, count ? "=" : "", count ? value : "");
    }
    if (s->params.order && !s->params.schedule && !(said->unused >> bit & 1) && !is_of_protocol(s, "order"))
        rlt_note("chunks wait for a dimension only with --set schedule=baseline or themis: --set order does "
                 "nothing else");
    said->unused |= 1u << bit;
    if (r->why[0])
        rlt_note("%s", r->why);
    if (r->out[0] && strcmp(r->out, said->out) != 0)
        rlt_note("%s", r->out);
    if (r->out[0])
        memcpy(said->out, r->out, sizeof said->out);
    if (r->unfolded[0])
        rlt_note("%s by %s: every rank was simulated, as %s", rlt_coll_name(r->kind), a->name, r->unfolded);
    if (r->rounded && !(said->rounded >> bit & 1))
        rlt_note(
            "%s by %s: simulated with %llu more bytes, so that all its blocks are equal; the group is too "
            "large to simulate every rank",
            rlt_coll_name(r->kind), a->name, (unsigned long long)r->rounded);
    if (r->rounded)
        said->rounded |= 1u << bit;
    if (r->over.link != RLT_NONE && !(said->over >> bit & 1)) {
        said->over |= 1u << bit;
        snprintf(what, sizeof what, "%s by %s", rlt_coll_name(r->kind), a->name);
        rlt_links_warn(&r->over, what);
    }
}

/* Prints remarks for reading the figures of reactive protocols. */
static void remark_react(rlt_coll_remarked *said, const rlt_coll_ask *ask, uint32_t place,
                         const rlt_coll_remarks *r)
{
    const rlt_setup *s = &ask->setup;
    if (r->fell_back[0] && !(said->back >> place & 1)) {
        rlt_note("%s", r->fell_back);
        said->back |= UINT64_C(1) << place;
    }
    if (!said->costs && s->endpoint.message_ps)
        rlt_note("%s has headers of its own and no endpoint costs, which algorithms have",
                 rlt_reactive_name(ask->reacting[place]->protocol));
    said->costs = true;
}

/* Tells once why a row was simulated on one thread. */
static void remark_alone(rlt_coll_remarked *said, const rlt_coll_remarks *r)
{
    if (r->alone[0] && !said->alone)
        rlt_note("--threads: simulated on one thread: %s", r->alone);
    said->alone |= r->alone[0] != '\0';
}

void rlt_coll_remark(rlt_coll_remarked *said, const rlt_coll_ask *ask, uint32_t place,
                     const rlt_coll_remarks *r)
{
    if (ask->reacting[place])
        remark_react(said, ask, place, r);
    remark_alone(said, r);
    if (r->algorithm)
        remark_steps(said, ask, r);
}

/* Estimates the packets of all rows: bytes that leave the ranks, over the payload of a packet. */
static double expect_packets(const rlt_coll_ask *ask)
{
    double packets = 0;
    for (uint32_t i = 0; i < ask->n_cases * ask->n_algorithms; i++) {
        const rlt_coll_case *c = &ask->cases[i / ask->n_algorithms];
        const rlt_algorithm *a = ask->algorithms[i % ask->n_algorithms];
        bool runs = ask->reacting[i % ask->n_algorithms] || !a || (a->kinds & 1u << c->kind);
        double ranks = (double)ask->group.n * (ask->n_tenants ? ask->n_tenants : 1);
        if (runs)
            packets += rlt_busbw_factor(c->kind, ask->group.n) * (double)c->bytes * ranks /
                       (double)ask->setup.packet.mtu;
    }
    return packets;
}

void rlt_coll_remark_network(const rlt_coll_ask *ask)
{
    const double many = 1 << 24;
    const rlt_setup *s = &ask->setup;
    double packets = s->model->can & RLT_NET_PACKETS ? expect_packets(ask) : 0;
    char cost[120] = "";
    if (packets > many)
        snprintf(cost, sizeof cost, "about %.0f million packets; a million takes a processor about a second",
                 packets * 1e-6);
    if (s->why_packets[0])
        rlt_note("%s: all rows are simulated on packets%s%s", s->why_packets, cost[0] ? ", " : "", cost);
    else if (cost[0])
        rlt_note("the rows have %s", cost);
    if (s->lacks_packets && ask->settings->algorithm)
        rlt_note("reactive protocols are left out of 'all', as they aggregate packets: --network %s compares "
                 "them",
                 rlt_packet_network());
}
