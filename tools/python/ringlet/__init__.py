# SPDX-License-Identifier: GPL-3.0-or-later
"""ringlet simulates distributed deep-learning training: how long an iteration or a collective takes on a
network, what bounds it, and what a change would do.

    import ringlet
    r = ringlet.run("traces/transformer-8", topology="hgx-h100-8")
    r.time_s, r.ranks, r.links          # figures and pandas frames
    print(r.explain())                  # what bounds it
    r.vary(network_scale=2)             # a what-if

Each command is a function, its options are keywords: help(ringlet.run). Verbs are functions of it:
ringlet.topo.route(...). Values have units where the command needs them: bytes="64MiB".
"""

from __future__ import annotations

from . import _functions
from ._errors import (
    CheckFailed,
    Crashed,
    Error,
    InputError,
    Interrupted,
    RingletWarning,
    StalledError,
    SystemFailure,
    UsageError,
)
from ._functions import command
from ._page import Page
from ._program import data, program
from ._record import Recorder, record
from ._result import CollResult, PlanResult, Result, RunResult, SweepResult
from ._tables import COMMANDS, VERSION as __version__

globals().update({_name: _functions.function(_command) for _name, _command in COMMANDS.items()})

__all__ = [
    "CheckFailed",
    "CollResult",
    "Crashed",
    "Error",
    "InputError",
    "Interrupted",
    "Page",
    "PlanResult",
    "Recorder",
    "Result",
    "RingletWarning",
    "RunResult",
    "StalledError",
    "SweepResult",
    "SystemFailure",
    "UsageError",
    "command",
    "data",
    "program",
    "record",
    *(_name for _name in COMMANDS if _name != "list"),  # the builtin stays
]
