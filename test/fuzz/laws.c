/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws on random cases. */
#include "test/fuzz/fuzz.h"

const fuzz_target fuzz_laws[] = {{0}};
