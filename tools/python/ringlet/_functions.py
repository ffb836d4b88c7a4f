# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions of the package, made from the tables of the command."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

from . import _result
from ._errors import INTERRUPTED, OF_STATUS, Crashed, Error, Interrupted, RingletWarning
from ._program import Outcome, execute
from ._tables import COMMANDS, Command
from ._values import Inputs


def function(command: Command) -> Callable[..., Any]:
    """The function of a command. A command that only has verbs refuses to be called."""
    signature = command.signature()

    def call(*operands: Any, _form: str = "json", **given: Any) -> Any:
        unknown = [k for k in given if k not in signature.parameters]
        if unknown and not command.more_options:
            raise TypeError(command.unknown(unknown))
        names = {
            k: given.pop(k) for k in list(given) if k in signature.parameters and k not in command.options
        }
        bound = signature.bind_partial(*operands, **names)
        if not command.runs:
            raise TypeError(f"say which: {' or '.join(v.name for v in command.verbs)}")
        return _Call(command, list(bound.args), given, _form).run()

    call.__name__ = call.__qualname__ = command.name
    call.__module__ = "ringlet"
    call.__doc__ = command.doc()
    call.__signature__ = signature  # type: ignore[attr-defined]
    for verb in command.verbs:
        setattr(call, verb.name.rpartition(".")[2], function(verb))
    return call


def command(line: str) -> Any:
    """Runs a command line, such as one from a plan's column `command`, and returns its result."""
    words = shlex.split(line)
    if words[:1] == ["ringlet"]:
        words = words[1:]
    known = {c.path[0]: c for c in COMMANDS.values()}
    if not words or words[0] not in known:
        raise ValueError(f"expected one of {', '.join(known)}, got '{line}'")
    found = known[words.pop(0)]
    for verb in found.verbs:
        if words[:1] == [verb.path[-1]]:
            found = verb
            words.pop(0)
            break
    operands, given = found.parse(words)
    return function(found)(*operands, **given)


class _Call:
    """One call of the command."""

    def __init__(self, command: Command, operands: list[Any], given: dict[str, Any], form: str):
        self.command = command
        self.operands = operands
        self.given = given
        self.form = form
        self.before: dict[str, Any] = {}  # state of the files that the line names
        self.result: Any = None

    def run(self) -> Any:
        inputs = Inputs()
        kept = None
        db = self.given.get("db")
        if self.command.path == ("sweep",) and not db:
            kept = tempfile.TemporaryDirectory(prefix="ringlet-")
            db = Path(kept.name, "study.sqlite")
        line = [*self.command.path, *(inputs.operand(o) for o in self.operands if o is not None)]
        for name, value in self.given.items():
            line += self._words(inputs, name, value)
        self._remember(line)
        own = [f"--format={self.form}"] if self.command.prints_json else []
        outcome = execute([*line, *own, *([f"--db={db}"] if kept else [])])
        if self.command.path == ("sweep",):
            return self._study(outcome, line, str(db), kept)
        return self._end(outcome, line)

    def _words(self, inputs: Inputs, name: str, value: Any) -> list[str]:
        option = self.command.options.get(name)
        if option:
            return inputs.words(option, value)
        # Of a study: an axis, or an option of the command that the study runs.
        theirs = COMMANDS["coll"].options.get(name) or COMMANDS["run"].options.get(name)
        if theirs and theirs.kind in ("list", "flag"):
            return inputs.words(theirs, value)
        return [] if value is None else [f"--{name.replace('_', '-')}={inputs.text(value)}"]

    def _study(self, outcome: Outcome, line: list[str], db: str, kept: Any) -> Any:
        """The points of a study come from its database."""
        there = os.path.exists(db) and outcome.status in (0, 1, INTERRUPTED) and not self.given.get("dry_run")
        points = execute(["sweep", "query", db, "--format=json"]) if there else outcome
        return self._end(replace(outcome, out=points.out), line, db=db, _kept=kept)

    def _end(self, outcome: Outcome, line: list[str], **more: Any) -> Any:
        shown = shlex.join(["ringlet", *line])
        said = _messages(outcome.err)
        kind = _result.OF_COMMAND.get(self.command.path, _result.Result)
        result = kind(
            outcome.out, shown, [m for m in said if m.startswith(("warning: ", "note: "))], self.again
        )
        vars(result).update(more)
        self.result = result
        if outcome.interrupted or outcome.status == INTERRUPTED:
            raise Interrupted(result if outcome.out else None)
        if outcome.status:
            raise _failure(outcome, shown, said, result)
        for text in result.warnings:
            if text.startswith("warning: "):
                warnings.warn(text.partition(": ")[2], RingletWarning, stacklevel=_outside())
        return result

    def again(self, _form: str = "json", **changes: Any) -> Any:
        """The same command with other keywords."""
        unknown = [k for k in changes if k not in self.command.options]
        if unknown and not self.command.more_options:
            raise TypeError(self.command.unknown(unknown))
        known = self.result.json.get("manifest", {}) if self.result.is_json else {}
        for read in known.get("inputs", []):
            if read["path"] in self.before and _state(read["path"]) != self.before[read["path"]]:
                raise Error(read["path"], "has changed since; the result does not belong to it any more")
        return _Call(self.command, self.operands, {**self.given, **changes}, _form).run()

    def _remember(self, line: list[str]) -> None:
        for word in line[1:]:
            path = word.partition("=")[2] if word.startswith("--") else word
            if os.path.exists(path):
                self.before[path] = _state(path)


def _outside() -> int:
    """Level of the first caller outside of the package, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _state(path: str) -> Any:
    """Sizes and times of a file, or of those in a folder; None if there is none."""
    if not os.path.exists(path):
        return None
    files = sorted(Path(path).iterdir()) if os.path.isdir(path) else [Path(path)]
    return [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]


def _messages(err: str) -> list[str]:
    """The messages on standard error, without "ringlet: ". A message may have further lines."""
    found: list[str] = []
    for line in err.splitlines():
        if line.startswith("ringlet: "):
            found.append(line[len("ringlet: ") :])
        elif found and not (line.startswith("'ringlet ") and line.endswith("explains its use")):
            found[-1] += "\n" + line
    return found


def _failure(outcome: Outcome, shown: str, said: list[str], result: _result.Result) -> Error:
    kind = OF_STATUS.get(outcome.status, Crashed)
    wrong = [m for m in said if not m.startswith(("warning: ", "note: "))]
    text = wrong[-1] if wrong else outcome.err.strip() or outcome.out.strip().rpartition("\n")[2]
    if kind is Crashed:
        text = (
            f"ended by signal {-outcome.status}"
            if outcome.status < 0
            else text or f"exit status {outcome.status}"
        )
    where, colon, what = text.partition(": ")
    return kind(
        where if colon else "",
        what if colon else text,
        shown,
        outcome.status,
        result if outcome.out else None,
    )
