# SPDX-License-Identifier: GPL-3.0-or-later
"""The type stub of the package: signatures and docstrings of all commands, for editors and type checkers."""

from __future__ import annotations

import inspect

from ringlet._result import OF_COMMAND, Result
from ringlet._tables import COMMANDS, Command, Option

HEAD = """\
# Made from the option tables of the command.
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, Protocol, Union

from ._errors import CheckFailed as CheckFailed, Crashed as Crashed, Error as Error
from ._errors import InputError as InputError, Interrupted as Interrupted
from ._errors import RingletWarning as RingletWarning, StalledError as StalledError
from ._errors import SystemFailure as SystemFailure, UsageError as UsageError
from ._functions import command as command
from ._page import Page as Page
from ._program import data as data, program as program
from ._record import Recorder as Recorder, record as record
from ._result import CollResult as CollResult, PlanResult as PlanResult, Result as Result
from ._result import RunResult as RunResult, SweepResult as SweepResult

__version__: str

class Frame(Protocol):
    def to_csv(self, path: Any, *, index: bool) -> Any: ...

_One = Union[str, int, float, bool, os.PathLike[str], timedelta, Frame, Result]
_Value = Union[_One, Iterable[Any], Mapping[str, Any]]
"""


def _type(o: Option) -> str:
    if o.kind == "flag":
        return "bool | None"
    if o.kind == "word":
        return f"Literal[{', '.join(repr(w) for w in o.words)}] | None"
    if o.kind in ("count", "number"):
        return "int | float | str | None"
    return "_Value | None"


def _parameters(c: Command) -> str:
    p = inspect.Parameter
    texts: list[str] = []
    found = list(c.signature().parameters.values())
    for i, x in enumerate(found):
        if x.kind is p.VAR_POSITIONAL:
            texts.append(f"*{x.name}: _Value")
        elif x.kind is p.VAR_KEYWORD:
            texts.append(f"**{x.name}: _Value | None")
        elif x.kind is p.KEYWORD_ONLY:
            if i == 0 or found[i - 1].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                texts.append("*")
            texts.append(
                f"{x.name}: {_type(c.options[x.name])}" + ("" if x.default is p.empty else " = None")
            )
        else:
            texts.append(f"{x.name}: _Value" + ("" if x.default is p.empty else " | None = None"))
            if x.kind is p.POSITIONAL_ONLY and (
                i + 1 == len(found) or found[i + 1].kind is not p.POSITIONAL_ONLY
            ):
                texts.append("/")
    return ", ".join(texts)


def _method(c: Command, name: str) -> str:
    kind = OF_COMMAND.get(c.path, Result).__name__
    doc = c.doc().replace("\\", "\\\\").replace('"""', '\\"""').replace("\n", "\n        ").rstrip()
    return f'    @staticmethod\n    def {name}({_parameters(c)}) -> {kind}:\n        """{doc}\n        """\n'


def stub() -> str:
    """Text of __init__.pyi. A command is an object that can be called, with its verbs as methods."""
    text = HEAD
    for name, c in COMMANDS.items():
        text += f"\nclass _{name}:\n"
        if c.runs:
            text += _method(c, "__call__").replace(
                "    @staticmethod\n    def __call__(", "    def __call__(self, "
            )
        text += "".join(_method(v, v.name.rpartition(".")[2]) for v in c.verbs)
        text += f"\n{name}: _{name}\n"
    return text
