# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the functions of a test in order; prints "ok - NAME", "skip - NAME|needs X" or what went wrong."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from typing import Any, Callable


def run(tests: list[Callable[[], None]]) -> None:
    bad = 0
    for test in tests:
        name = (test.__doc__ or test.__name__).rstrip(".")
        missing = [m for m in getattr(test, "needs", ()) if importlib.util.find_spec(m) is None]
        if missing:
            print(f"skip - {name}|needs {missing[0]}")
            continue
        try:
            test()
            print(f"ok - {name}")
        except Exception:
            print(f"not - {name}\n{traceback.format_exc()}")
            bad = 1
    sys.exit(bad)


def needs(*modules: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def mark(test: Callable[[], None]) -> Callable[[], None]:
        test.needs = modules  # type: ignore[attr-defined]
        return test

    return mark


def fails(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    """The exception that the call must raise."""
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"{kind.__name__} was not raised")
