/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laws of trainings: a model and a layout at random over tp, pp, cp, dp, ep, vp, zero, schedule and recompute, with
 * few other settings. For each case:
 *
 *   memory    in each stage the peak over the replayed time is that of the formula (a message-driven schedule: at
 *             most that)
 *   bound     the simulated time of the layout is not below the bound of the search
 *   folded    one rank per stage takes as long as all ranks if no two communications share a link. Otherwise
 *             neither is a bound of the other: what waits for a link may make way for something longer
 *   search    the search that has only this layout finds the same time and memory
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/laws.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

enum { MOST_RANKS = 32, TEXT = 1024, MOST_AXES = 24 };

typedef struct training_case {
    char model[160], network[192], train[TEXT];
    char axes[MOST_AXES][40]; /* settings that are axes of a search */
    const char *given[MOST_AXES];
    uint32_t n_given;
    const char *net; /* network model */
    uint32_t ranks;
    rlt_model shape;
    rlt_training asked, t; /* as set; planned */
    rlt_topology *topology;
    rlt_replay_options how;
} training_case;

static const rlt_accelerator *accelerator(void)
{
    static rlt_accelerator a;
    rlt_error err = {0};
    if (!a.name[0]) {
        FUZZ_CHECK(rlt_accelerator_load("a100-80gb", "workload/accelerators", &a, &err) == 0);
        a.memory_bytes = (uint64_t)1 << 60;
    }
    return &a;
}

static const char *command_of(const training_case *c)
{
    static char line[2 * TEXT];
    snprintf(line, sizeof line,
             "ringlet run --model %s --accelerator a100-80gb --any-memory -t %s --network %s --train %s",
             c->model, c->network, c->net, c->train);
    return line;
}

static void set(training_case *c, const char *name, const char *value)
{
    size_t n = strlen(c->train);
    rlt_error err = {0};
    snprintf(c->train + n, sizeof c->train - n, "%s%s=%s", n ? "," : "", name, value);
    if (rlt_training_set(&c->asked, name, value, &err))
        fuzz_broken(command_of(c), "%s: %s", err.where, err.what);
    if (rlt_layout_is_axis(name)) {
        snprintf(c->axes[c->n_given], sizeof *c->axes, "%s=%s", name, value);
        c->given[c->n_given] = c->axes[c->n_given];
        c->n_given++;
    }
}

static void set_number(training_case *c, const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    set(c, name, text);
}

static void draw_model(fuzz_draw *d, training_case *c)
{
    static const uint32_t heads[] = {4, 8, 12, 16};
    static const uint32_t experts[] = {4, 8, 2, 6};
    uint32_t h = FUZZ_WORD(d, heads);
    int n = snprintf(c->model, sizeof c->model,
                     "transformer:layers=%u,hidden=%u,heads=%u,vocabulary=%u,sequence=%u,tied=%s",
                     2 + fuzz_below(d, 7), h * (fuzz_below(d, 2) ? 32 : 64), h, 960 * (1 + fuzz_below(d, 4)),
                     240u << fuzz_below(d, 2), fuzz_below(d, 2) ? "yes" : "no");
    if (fuzz_below(d, 2))
        snprintf(c->model + n, sizeof c->model - (size_t)n, ",experts=%u,top_k=%u", FUZZ_WORD(d, experts),
                 1 + fuzz_below(d, 2));
}

/* Sizes of the layout. The network has dimensions of their product: tp cp | dp | pp, or one switch. */
static void draw_layout(fuzz_draw *d, training_case *c)
{
    static const uint32_t sizes[] = {1, 2, 1, 4, 3};
    static const char *const rates[] = {"50GB/s,1us", "300GB/s,500ns", "10GB/s,5us", "25GB/s,0ns"};
    uint32_t size[4], product = 1;
    for (int i = 0; i < 4; i++) {
        size[i] = FUZZ_WORD(d, sizes);
        if (product * size[i] > MOST_RANKS)
            size[i] = 1;
        product *= size[i];
    }
    set_number(c, "tp", size[0]);
    set_number(c, "cp", size[1]);
    set_number(c, "dp", size[2]);
    set_number(c, "pp", size[3]);
    c->ranks = product;
    if (fuzz_below(d, 2) || product == 1)
        snprintf(c->network, sizeof c->network, "switch:%u@%s", product < 2 ? 2 : product,
                 FUZZ_WORD(d, rates));
    else {
        int n = 0;
        for (int i = 0; i < 4; i++)
            if (size[i] > 1)
                n += snprintf(c->network + n, sizeof c->network - (size_t)n, "%s%s:%u@%s", n ? "*" : "",
                              fuzz_below(d, 2) ? "switch" : "fully-connected", size[i], FUZZ_WORD(d, rates));
    }
}

static void draw_settings(fuzz_draw *d, training_case *c)
{
    static const char *const schedules[] = {"1f1b",    "gpipe",    "interleaved", "zero-bubble",
                                            "message", "dualpipe", "dualpipev"};
    static const char *const recompute[] = {"none", "selective", "products", "full"};
    static const char *const few[][2] = {
        {"overlap", "off"},     {"prefetch", "off"},  {"drain", "on"},          {"split", "time"},
        {"reshard", "on"},      {"reshard", "off"},   {"bucket", "1MiB"},       {"scatter_gather", "on"},
        {"tie", "off"},         {"tp_overlap", "on"}, {"expert_overlap", "on"}, {"checkpoint", "2"},
        {"loss", "12"},         {"gathered", "2"},    {"fragmentation", "1.1"}, {"accumulate", "4"},
        {"main_gradient", "4"}, {"optimizer", "sgd"}, {"steps", "2"},           {"pass", "20us"},
        {"host", "1ms"},        {"lora_rank", "8"},   {"sparsity", "0.5"},      {"offload", "on"},
        {"capacity", "1.25"},   {"precision", "fp16"}};
    static const uint32_t eps[] = {1, 2, 4, 8};
    static const char *const orders[] = {"tp-cp-dp-pp", "tp-cp-dp-pp", "tp-dp-cp-pp", "pp-tp-cp-dp"};
    const char *schedule = FUZZ_WORD(d, schedules);
    set(c, "schedule", schedule);
    set_number(c, "vp", strcmp(schedule, "interleaved") == 0 ? 1 + fuzz_below(d, 4) : 1);
    set(c, "recompute", FUZZ_WORD(d, recompute));
    /* Two stages have the same chunks in DualPipe, and come to them in opposite orders. Gathering weights over
     * both (ZeRO 3) can wait in a circle if the stages are not equally fast. */
    set_number(c, "zero", fuzz_below(d, strcmp(schedule, "dualpipe") == 0 ? 3 : 4));
    set_number(c, "ep", strstr(c->model, "experts") ? FUZZ_WORD(d, eps) : 1);
    set(c, "sp", fuzz_below(d, 2) ? "on" : "off");
    set_number(c, "batch", 12 * (1 + fuzz_below(d, 3)));
    set_number(c, "microbatch", 1 + fuzz_below(d, 2));
    set(c, "order", FUZZ_WORD(d, orders));
    for (uint32_t i = fuzz_below(d, 4); i > 0; i--) {
        const char *const *of = few[fuzz_below(d, sizeof few / sizeof *few)];
        set(c, of[0], of[1]);
    }
}

/* Simulates all ranks, and compares the memory of a rank of each stage. */
static void check_memory(training_case *c)
{
    rlt_training t = c->t;
    rlt_training_passes passes = {0};
    rlt_program *p = NULL;
    rlt_replay *r = NULL;
    rlt_error err = {0};
    t.passes = &passes;
    int rc = rlt_training_program(&t, &p, &err);
    if (!rc && !(rc = rlt_replay_create(p, &c->how, &r, &err)))
        rc = rlt_replay_run(r, &err);
    if (rc == RLT_ECHECK || rc == RLT_ESTALL)
        fuzz_broken(command_of(c), "%s: %s", err.where, err.what);
    rlt_error_prefix(&err, "training");
    fuzz_judge(rc, &err, NULL);
    for (uint32_t stage = 0; !rc && stage < t.size[RLT_AXIS_PP]; stage++) {
        rlt_memory_curve curve = {0};
        double formula = rlt_training_memory_of(&t, stage).total;
        rc = rlt_memory_curve_of(&t, &passes, p, r, rlt_stage_rank(&t, &passes, stage), &curve, &err);
        if (rc)
            fuzz_broken(command_of(c), "memory of stage %u: %s: %s", stage, err.where, err.what);
        double over = curve.peak_bytes / formula - 1;
        if (over > 1e-9 || (over < -1e-9 && t.schedule != RLT_SCHEDULE_MESSAGE))
            fuzz_broken(command_of(c), "stage %u holds %.0f bytes at most, by the formula %.0f", stage,
                        curve.peak_bytes, formula);
        rlt_memory_curve_free(&curve);
    }
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_training_passes_free(&passes);
}

/* Searches the space that has only this layout. The search checks its bounds against what it simulates. */
static void find_layout(const training_case *c, rlt_time folded)
{
    rlt_layout_space space;
    rlt_layout_result r = {0};
    rlt_error err = {0};
    int rc = rlt_layout_space_open(&c->asked, c->ranks, c->given, c->n_given, &space, &err);
    rlt_layout_search s = {.base = &c->asked, .how = &c->how, .ranks = c->ranks, .space = &space};
    if (!rc)
        rc = rlt_layout_find(&s, &r, &err);
    if (rc == RLT_ECHECK || rc == RLT_ESTALL)
        fuzz_broken(command_of(c), "search: %s: %s", err.where, err.what);
    rlt_error_prefix(&err, "search");
    fuzz_judge(rc, &err, NULL);
    if (!rc && r.n == 1) {
        const rlt_layout_point *p = &r.points[0];
        if (p->time_ps != folded || p->bound_ps > p->time_ps)
            fuzz_broken(command_of(c), "found %lld ps with a bound of %lld ps, simulated %lld ps",
                        (long long)p->time_ps, (long long)p->bound_ps, (long long)folded);
        double fullest = rlt_training_fullest(&c->t, NULL);
        if (p->memory_bytes > fullest || p->memory_bytes < fullest)
            fuzz_broken(command_of(c), "found %.0f bytes, of which the fullest stage needs %.0f",
                        p->memory_bytes, fullest);
    }
    rlt_layout_result_free(&r);
    rlt_layout_space_free(&space);
}

/* Groups of tensor and data parallelism in dimensions of their own, and nothing else, share no link. */
static bool has_links_alone(const training_case *c)
{
    const uint32_t *size = c->t.size;
    return size[RLT_AXIS_CP] == 1 && size[RLT_AXIS_PP] == 1 && c->t.ep == 1 && c->t.order[0] == RLT_AXIS_TP &&
           (strchr(c->network, '*') || size[RLT_AXIS_TP] == 1 || size[RLT_AXIS_DP] == 1);
}

static void compare_folded(training_case *c)
{
    rlt_time folded = 0, whole = 0;
    rlt_error err = {0};
    int rc = rlt_layout_simulate(&c->t, &c->how, true, NULL, NULL, &folded, &err);
    if (!rc)
        rc = rlt_layout_simulate(&c->t, &c->how, false, NULL, NULL, &whole, &err);
    rlt_error_prefix(&err, "layout");
    fuzz_judge(rc, &err, NULL);
    if (!rc && folded != whole && has_links_alone(c))
        fuzz_broken(command_of(c), "one rank per stage takes %lld ps, all ranks %lld ps", (long long)folded,
                    (long long)whole);
    if (!rc)
        find_layout(c, folded);
}

static bool begin(fuzz_draw *d, training_case *c)
{
    rlt_error err = {0};
    c->asked = rlt_training_default();
    c->asked.accelerator = accelerator();
    c->asked.model = &c->shape;
    c->net = fuzz_below(d, 2) ? "flow" : "alpha-beta";
    draw_model(d, c);
    draw_layout(d, c);
    draw_settings(d, c);
    if (rlt_model_open(c->model, &c->shape, &err) || rlt_topology_load(c->network, NULL, &c->topology, &err))
        fuzz_broken(command_of(c), "%s: %s", err.where, err.what);
    c->t = c->asked;
    int rc = rlt_training_plan(&c->t, c->ranks, &err);
    rlt_error_prefix(&err, "training");
    fuzz_judge(rc, &err, NULL);
    c->how = rlt_replay_options_default();
    c->how.topology = c->topology;
    c->how.endpoint = *rlt_topology_endpoint(c->topology);
    c->how.model = strcmp(c->net, "flow") ? &rlt_net_alpha_beta : &rlt_net_flow;
    c->how.overlap_slowdown = accelerator()->overlap_slowdown;
    return rc == 0;
}

/* ---- pairs of values ---- */

enum { FACTORS = 9, VALUES = 8, TRIES = 24 };
static bool met[FACTORS][VALUES][FACTORS][VALUES];
static uint32_t n_met;

static void say_pairs(void)
{
    fprintf(stderr, "# %u pairs of values of tp, cp, dp, pp, ep, vp, zero, schedule and recompute\n", n_met);
}

/* Counts the pairs of a planned training that were not met before; if `mark`, they are from now on. */
static uint32_t new_pairs(const rlt_training *t, bool mark)
{
    const uint32_t at[FACTORS] = {t->size[RLT_AXIS_TP],
                                  t->size[RLT_AXIS_CP],
                                  t->size[RLT_AXIS_DP],
                                  t->size[RLT_AXIS_PP],
                                  t->ep - 1,
                                  t->vp,
                                  t->zero,
                                  (uint32_t)t->schedule,
                                  (uint32_t)t->recompute};
    uint32_t n = 0;
    for (int i = 0; i < FACTORS; i++)
        for (int k = i + 1; k < FACTORS; k++) {
            bool *pair = &met[i][at[i] % VALUES][k][at[k] % VALUES];
            n += !*pair;
            *pair = *pair || mark;
        }
    return n;
}

static void end(training_case *c)
{
    rlt_topology_free(c->topology);
    rlt_model_free(&c->shape);
}

/* Draws some inputs, and takes the one with most new pairs: all pairs are met soon. */
size_t fuzz_change_layouts(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    static uint8_t best[FUZZ_MOST_BYTES];
    uint32_t most = 0;
    for (uint64_t k = 0; k < TRIES; k++) {
        training_case c = {.ranks = 0};
        fuzz_draw d = {data, n};
        fuzz_change_all(data, n, room, seed * TRIES + k);
        uint32_t pairs = begin(&d, &c) ? 1 + new_pairs(&c.t, false) : 0;
        if (pairs > most) {
            most = pairs;
            memcpy(best, data, n);
        }
        end(&c);
    }
    if (most)
        memcpy(data, best, n);
    return n;
}

void fuzz_layouts(const fuzz_input *in)
{
    static bool said;
    fuzz_draw d = fuzz_draws(in);
    training_case c = {.ranks = 0};
    if (!said && getenv("FUZZ_SAY"))
        atexit(say_pairs);
    said = true;
    if (begin(&d, &c)) {
        n_met += new_pairs(&c.t, true);
        check_memory(&c);
        compare_folded(&c);
    }
    end(&c);
}
