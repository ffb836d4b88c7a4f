/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the common command, which has neither METIS nor OpenBLAS: it hands over to the executable that has. */
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/beside.h"
#include "tools/deploy/deploy.h"

static const rlt_beside deploy = {.name = "ringlet-deploy",
                                  .command = "deploy",
                                  .need = "a deployment search needs",
                                  .package = "ringlet",
                                  .library = "METIS and OpenBLAS",
                                  .packages = "libmetis-dev libopenblas-serial-dev",
                                  .otherwise = ""};

/* If that executable is missing, the command reports it, after help and errors of the command line. */
int rlt_deploy_become(char **argv, rlt_error *err)
{
    return rlt_beside_there(&deploy) ? rlt_beside_become(&deploy, argv, err) : 0;
}

const char *rlt_deploy_version(void)
{
    return rlt_beside_there(&deploy) ? "in ringlet-deploy" : "not built in";
}

int rlt_deploy_search(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    (void)args;
    (void)s;
    return rlt_beside_missing(&deploy, err);
}

int rlt_deploy_evaluate(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    return rlt_deploy_search(args, s, err);
}

int rlt_deploy_judges(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    return rlt_deploy_search(args, s, err);
}

int rlt_deploy_train(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    return rlt_deploy_search(args, s, err);
}

int rlt_deploy_policy(const rlt_parsed *args, const rlt_deploy_settings *s, rlt_error *err)
{
    return rlt_deploy_search(args, s, err);
}
