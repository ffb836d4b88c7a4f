#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sample of the faults of test/faults: each command with some of its allocations and calls on files failing.
. "$(dirname "$0")/../../support/tap.sh"
RINGLET=$ringlet JOBS=1 sh test/faults/faults.sh sample
