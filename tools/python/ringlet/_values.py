# SPDX-License-Identifier: GPL-3.0-or-later
"""Python values as words of a command line."""

from __future__ import annotations

import datetime
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ._result import Result
from ._tables import Option


class Inputs:
    """Values of one call. Frames, studies and results become files that live as long as this object."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def file(self, name: str) -> str:
        """Path for a file of this name."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ringlet-")
        path = Path(self._folder.name, name)
        serial = 1
        while path.exists():
            serial += 1
            path = path.with_name(f"{Path(name).stem}-{serial}{path.suffix}")
        return str(path)

    def text(self, value: Any, joint: str = ",") -> str:
        """One value as text; lists are joined."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return _decimal(value)
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        if isinstance(value, datetime.timedelta):
            return f"{value // datetime.timedelta(microseconds=1)}us"
        return self._collection(value, joint)

    def _collection(self, value: Any, joint: str) -> str:
        if isinstance(value, Result):
            return self._saved("result.json", value.text)
        if hasattr(value, "to_csv"):  # a frame
            path = self.file("table.csv")
            value.to_csv(path, index=False)
            return path
        if hasattr(value, "tolist"):  # an array, or a scalar of one
            return self.text(value.tolist(), joint)
        if isinstance(value, Mapping):
            return joint.join(self._pair(k, v) for k, v in value.items())
        if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
            return joint.join(self.text(v, joint) for v in value)
        raise TypeError(
            f"expected text, a number, a path, a list, a dict or a frame, got {type(value).__name__}"
        )

    def _pair(self, name: Any, value: Any) -> str:
        return f"{name}={self.text(value)}"

    def _saved(self, name: str, text: str) -> str:
        path = self.file(name)
        Path(path).write_text(text, encoding="utf-8")
        return path

    def operand(self, value: Any) -> str:
        """An operand: a dict is a file of JSON, such as a study."""
        return (
            self._saved("input.json", json.dumps(value)) if isinstance(value, Mapping) else self.text(value)
        )

    def words(self, option: Option, value: Any) -> list[str]:
        """--NAME=VALUE, for each item of a repeatable option; nothing for None and for a flag that is off."""
        if value is None or (option.kind == "flag" and value is False):
            return []
        if option.kind == "flag":
            if value is not True:
                raise TypeError(f"{option.keyword}: expected True or False, got {value!r}")
            return [f"--{option.name}"]
        if option.name == "config" and isinstance(value, Mapping):
            return [f"--config={self._saved('config.json', json.dumps(value))}"]
        try:
            if option.kind != "list":
                return [f"--{option.name}={self.text(value, option.joint)}"]
            return [f"--{option.name}={one}" for one in self._items(value)]
        except TypeError as e:
            raise TypeError(f"{option.keyword}: {e}") from None

    def _items(self, value: Any) -> list[str]:
        if isinstance(value, Mapping):
            return [self._pair(k, v) for k, v in value.items()]
        if isinstance(value, (list, tuple, set, frozenset, range)):
            return [self.text(one) for one in value]
        return [self.text(value)]


def _decimal(value: float) -> str:
    if not math.isfinite(value):
        raise TypeError(f"expected a finite number, got {value}")
    return format(Decimal(repr(value)), "f")
