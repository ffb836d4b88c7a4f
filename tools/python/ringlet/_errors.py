# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures of the command as exceptions, one class for each exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import Result


class Error(Exception):
    """The command failed.

    where    what the message is about: a file with line and column, an option, a rank; "" if it names none
    what     what is wrong, what was expected, and a name that was perhaps meant
    command  the command line
    status   its exit status; negative: the signal that ended it
    result   what it found before it failed, or None
    """

    def __init__(
        self, where: str, what: str, command: str = "", status: int = 0, result: Result | None = None
    ):
        super().__init__(f"{where}: {what}" if where else what)
        self.where = where
        self.what = what
        self.command = command
        self.status = status
        self.result = result


class CheckFailed(Error):
    """A check failed (1). `result` holds what was found, such as points of a study that failed."""


class UsageError(Error, ValueError):
    """Wrong use (2): a value without its unit, options that exclude each other."""


class InputError(Error, ValueError):
    """Bad input (3). `where` names file, line, column and path of the value."""


class StalledError(Error):
    """The simulation ended with work pending (4): who waits for whom."""


class SystemFailure(Error):
    """A file could not be read or written, or memory ran out (5)."""


class Crashed(Error):
    """The command could not be started, or ended by a signal."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. `result` holds what was found until then, or None."""

    def __init__(self, result: Result | None = None):
        super().__init__("interrupted")
        self.result = result


class RingletWarning(UserWarning):
    """A warning of the command: the result is there, but read this first."""


OF_STATUS: dict[int, type[Error]] = {
    1: CheckFailed,
    2: UsageError,
    3: InputError,
    4: StalledError,
    5: SystemFailure,
}
INTERRUPTED = 130
