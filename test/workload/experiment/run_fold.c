/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded trainings as runs: the same time as with every rank, which ranks are left, what does not go with it, and
 * a check that finds a difference. Tables of layers are folded to their first rank.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/run_words.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

#define MODEL                                                                                                \
    "accelerator=h100-sxm any-memory model=transformer:layers=4,hidden=256,heads=8,sequence=128,vocabulary=1000"
#define PLANE "topology=ring:4@100GB/s,300ns*switch:4@20GB/s,2us "
#define ONE   "topology=switch:16@20GB/s,1us "

/* With stages, and tensor parallelism in dimensions of its own, one plane is left: a rank of each place in the
 * others. Else one rank of each stage is; that is exact where no two communications share a link, as with one
 * stage. Where they do, the whole run takes longer. */
static void same_time(void **state)
{
    static const struct {
        const char *words;
        bool planes;
        uint32_t ranks;
    } rows[] = {
        {PLANE "layout=tp=4,dp=2,pp=2 train=batch=8", true, 4},
        {PLANE "layout=tp=4,pp=4 train=batch=8,steps=2", true, 4},
        {"topology=switch:2@100GB/s,300ns*switch:8@20GB/s,2us layout=tp=2,dp=2,pp=4 train=batch=8", true, 8},
        {PLANE "layout=tp=4,dp=4 train=batch=8", false, 1},
        {PLANE "layout=tp=2,dp=4,pp=2 train=batch=8", false, 2},
        {PLANE "layout=dp=8,pp=2 train=batch=8", false, 2},
        {ONE "layout=tp=4,dp=2,pp=2 train=batch=8", false, 2},
        {ONE "layout=dp=16 train=batch=32,steps=3", false, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int stages = 0; stages < 2; stages++) {
            char words[400];
            asked whole, folded;
            rlt_error err;
            snprintf(words, sizeof words, "%s " MODEL, rows[i].words);
            bool planes = rows[i].planes && !stages, exact = planes || rows[i].ranks == 1;
            if (go(&whole, words, &err))
                fail_msg("%s: %s: %s", words, err.where, err.what);
            snprintf(words, sizeof words, "%s " MODEL "%s%s", rows[i].words, exact ? " verify-fold " : " ",
                     stages ? "fold-stages" : "fold");
            if (go(&folded, words, &err))
                fail_msg("%s: %s: %s", words, err.where, err.what);
            assert_int_equal(folded.run.folds, planes ? RLT_FOLD_PLANES : RLT_FOLD_STAGES);
            assert_int_equal(whole.run.folds, 0);
            assert_int_equal(whole.run.program->n_ranks, 16);
            assert_int_equal(folded.run.program->n_ranks,
                             planes ? rows[i].ranks : folded.run.training.size[RLT_AXIS_PP]);
            assert_int_equal(rlt_replay_iterations(folded.run.replay),
                             rlt_replay_iterations(whole.run.replay));
            for (uint32_t k = 0; k < rlt_replay_iterations(whole.run.replay); k++) {
                rlt_time all = rlt_replay_iteration_ps(whole.run.replay, k),
                         few = rlt_replay_iteration_ps(folded.run.replay, k);
                assert_true(exact ? few == all : few <= all && few > all * 9 / 10);
            }
            done(&whole);
            done(&folded);
        }
}

static void what_makes_ranks_differ(void **state)
{
    static const struct {
        const char *words, *option;
        bool stages_too;
    } rows[] = {{"rank-scale=1:compute=0.5", "--rank-scale", false},
                {"rank-delay=1=1us", "--rank-delay", true},
                {"link-scale=acc0=0.5", "--link-scale", true},
                {"link-event=1us:acc0=0.5", "--link-event", true},
                {"noise=0.1", "--noise", true},
                {"background=0>1:1GB/s", "--background", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int stages = 0; stages < 2; stages++) {
            char words[400];
            asked a;
            rlt_error err;
            snprintf(words, sizeof words, ONE MODEL " layout=dp=8,pp=2 train=batch=8 %s %s",
                     stages ? "fold-stages" : "fold", rows[i].words);
            int rc = go(&a, words, &err);
            if (stages && !rows[i].stages_too) {
                assert_true(rc == 0 || !strstr(err.what, "which makes ranks differ"));
            } else if (rc != RLT_EUSAGE || !strstr(err.what, rows[i].option) ||
                       !strstr(err.what, "which makes ranks differ")) {
                fail_msg("%s: %d: %s: %s", words, rc, err.where, err.what);
            } else {
                assert_string_equal(err.where, stages ? "--fold-stages" : "--fold");
            }
            done(&a);
        }
}

/* A run whose settings have changed since is not that of its ranks: 10 GB/s instead of 20. */
static void a_difference_is_found(void **state)
{
    (void)state;
    for (int stages = 0; stages < 2; stages++) {
        char words[400], slower[] = "switch:16@10GB/s,1us";
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, ONE MODEL " layout=dp=16 train=batch=16 %s",
                 stages ? "fold-stages" : "fold");
        assert_int_equal(go(&a, words, &err), 0);
        a.settings.verify_fold = true;
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), 0);
        a.settings.sim.topology = slower;
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), RLT_ECHECK);
        assert_string_equal(err.where, stages ? "--fold-stages" : "--fold");
        assert_non_null(strstr(err.what, "iteration 0 takes "));
        asked other;
        rlt_error none;
        assert_int_equal(
            go(&other, "topology=switch:16@10GB/s,1us " MODEL " layout=dp=16 train=batch=16", &none), 0);
        snprintf(words, sizeof words, ": %lld ps more",
                 (long long)(rlt_replay_time(other.run.replay) - rlt_replay_time(a.run.replay)));
        assert_string_equal(strstr(err.what, ": "), words);
        done(&other);
        done(&a);
    }
}

/* One straggler among the ranks of a stage: the folded run has its speed, and takes the time of all ranks. */
static void stragglers(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 16; rank += 5) {
        char words[400];
        asked alone, slow;
        rlt_error err;
        assert_int_equal(go(&alone, ONE MODEL " layout=dp=16 train=batch=16 fold-stages", &err), 0);
        snprintf(words, sizeof words,
                 ONE MODEL " layout=dp=16 train=batch=16 fold-stages verify-fold rank-scale=%u:compute=0.25",
                 rank);
        if (go(&slow, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_true(rlt_replay_time(slow.run.replay) > rlt_replay_time(alone.run.replay));
        assert_true(slow.run.compute_scale[0] <= 0.25 && slow.run.host_scale[0] >= 1);
        done(&slow);
        snprintf(words, sizeof words,
                 ONE MODEL " layout=dp=16 train=batch=16 fold-stages verify-fold rank-scale=%u:host=0.25",
                 rank);
        if (go(&slow, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_true(slow.run.host_scale[0] <= 0.25 && slow.run.compute_scale[0] >= 1);
        done(&alone);
        done(&slow);
    }
}

/* A table of layers, whose ranks do all the same: rank 0 alone takes what all take. Other traces are not folded. */
static void tables_of_layers(void **state)
{
    static const char *const networks[] = {"switch:8@100GB/s,500ns*switch:4@25GB/s,1us",
                                           "ring:8@100GB/s,300ns*switch:4@50GB/s,2us"};
    static const char *const settings[] = {"set=channels=1 set=chunks=16 algorithm=ring", "",
                                           "set=message=700ns", "set=byte=3fs set=launch=2us"};
    (void)state;
    assert_true(close(mkstemp(trace)) == 0);
    for (int i = 0; i < 12; i++) {
        char words[300];
        asked whole, folded;
        rlt_error err;
        FILE *f = fopen(trace, "w");
        assert_non_null(f);
        fprintf(
            f,
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 32 "
            "checkpoints: 0 checkpoint_initiates: 0\n6\n");
        for (int k = 0; k < 6; k++)
            fprintf(f, "l%d -1 %d ALLGATHER %d 300 REDUCESCATTER 200000 200 ALLREDUCE %d 10\n", k, 1000 + k,
                    400000 * (i + 1), i % 4 ? 900000 * i : 0);
        assert_int_equal(fclose(f), 0);
        for (int fold = 0; fold < 2; fold++) {
            snprintf(words, sizeof words, "topology=%s trace=TRACE %s%s", networks[i % 2], settings[i / 3],
                     fold ? " fold verify-fold" : "");
            if (go(fold ? &folded : &whole, words, &err))
                fail_msg("%s: %s: %s", words, err.where, err.what);
        }
        assert_int_equal(whole.run.program->n_ranks, 32);
        assert_int_equal(folded.run.program->n_ranks, 1);
        assert_int_equal(rlt_replay_time(folded.run.replay), rlt_replay_time(whole.run.replay));
        assert_true(rlt_replay_rank(folded.run.replay, 0).exposed_comm_ps ==
                    rlt_replay_rank(whole.run.replay, 0).exposed_comm_ps);
        done(&whole);
        done(&folded);
        snprintf(words, sizeof words, "topology=%s trace=TRACE fold noise=0.1", networks[i % 2]);
        assert_int_equal(go(&folded, words, &err), RLT_EUSAGE);
        assert_string_equal(err.what, "does not go with --noise, which makes ranks differ");
        done(&folded);
    }
    asked a;
    rlt_error err;
    assert_int_equal(go(&a, "topology=hgx-h100-8 trace=traces/transformer-8 fold", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "the chakra reader cannot tell that ranks are identical"));
    done(&a);
    assert_int_equal(unlink(trace), 0);
}

/* On a machine whose algorithms are chosen by its endpoint and by a version of its library, as with every rank. */
static void tables_on_machines(void **state)
{
    static const char *const words[] = {"", "algorithm=auto=nccl-2.22", "set=launch=9us", "set=nccl=2.22"};
    rlt_time took[4];
    (void)state;
    char path[] = "/tmp/ringlet-table-XXXXXX",
         text[] = "DATA\n2\nl0 -1 1000 ALLREDUCE 40000000 300 ALLREDUCE 20000 200 ALLREDUCE 400000 10\n"
                  "l1 -1 1000 ALLREDUCE 90000 300 ALLREDUCE 20000 200 ALLREDUCE 3000000 10\n";
    test_write_new(path, text, sizeof text - 1);
    for (int i = 0; i < 4; i++) {
        char all[300];
        asked whole, folded;
        rlt_error err;
        snprintf(all, sizeof all, "topology=p4de-2x8 trace=%s %s", path, words[i]);
        if (go(&whole, all, &err))
            fail_msg("%s: %s: %s", all, err.where, err.what);
        strcat(all, " fold");
        if (go(&folded, all, &err))
            fail_msg("%s: %s: %s", all, err.where, err.what);
        assert_int_equal(whole.run.program->n_ranks, 16);
        assert_int_equal(folded.run.program->n_ranks, 1);
        took[i] = rlt_replay_time(whole.run.replay);
        if (rlt_replay_time(folded.run.replay) != took[i])
            fail_msg("%s: %lld, not %lld", all, (long long)rlt_replay_time(folded.run.replay),
                     (long long)took[i]);
        done(&whole);
        done(&folded);
    }
    for (int i = 1; i < 4; i++)
        if (took[i] == took[0])
            fail_msg("%s", words[i]);
    assert_int_equal(unlink(path), 0);
}

/* A placement that is borrowed stays whole; the run has its own one, of the ranks that are left. */
static void borrowed_placements(void **state)
{
    (void)state;
    for (int folds = 0; folds < 2; folds++) {
        asked lender, a;
        rlt_error err = {0};
        assert_int_equal(go(&lender, ONE MODEL " layout=dp=8,pp=2 train=batch=16", &err), 0);
        assert_int_equal(read_words(&a, ONE MODEL " layout=dp=8,pp=2 train=batch=16", &err), 0);
        a.run.args = &a.args;
        a.run.settings = &a.settings;
        a.settings.fold = folds;
        a.settings.sim.loaded = lender.run.setup.topology;
        a.settings.sim.placed = &lender.run.setup.placement;
        if (rlt_run_load(&a.run, &err) || rlt_run_prepare(&a.run, &err) || rlt_run_simulate(&a.run, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(a.run.setup.borrows_placement, !folds);
        assert_int_equal(a.run.setup.placement.n, folds ? 2 : 16);
        done(&a);
        assert_int_equal(lender.run.setup.placement.n, 16);
        for (uint32_t r = 0; r < 16; r++)
            assert_int_equal(rlt_placed(&lender.run.setup.placement, r), r);
        done(&lender);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_time),
                                       cmocka_unit_test(what_makes_ranks_differ),
                                       cmocka_unit_test(a_difference_is_found),
                                       cmocka_unit_test(stragglers),
                                       cmocka_unit_test(tables_of_layers),
                                       cmocka_unit_test(tables_on_machines),
                                       cmocka_unit_test(borrowed_placements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
