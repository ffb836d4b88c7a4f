# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands and their options, as `ringlet --generate-json` prints them, and the texts made from them."""

from __future__ import annotations

import difflib
import inspect
import json
import keyword
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

WIDTH = 96
TYPES = {
    "flag": "bool",
    "count": "int",
    "number": "float",
    "share": "float",
    "size": "size",
    "rate": "rate",
    "duration": "duration",
    "list": "repeatable",
    "word": "word",
}
# Options that the package sets itself: the form of the output, and where it goes.
OWN = {"format", "quiet"}


def identifier(name: str) -> str:
    """A name of the command line as one of Python: rank_scale, as_."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


@dataclass(frozen=True)
class Option:
    name: str
    kind: str = "text"
    letter: str = ""
    group: str = "Options"
    value: str = ""
    unit: str = ""
    default: str = ""
    range: str = ""
    words: tuple[str, ...] = ()
    required: bool = False
    help: str = ""

    @property
    def keyword(self) -> str:
        return identifier(self.name)

    @property
    def joint(self) -> str:
        """What stands between the items of a list."""
        return ";" if "[;...]" in self.value else ","

    @property
    def type(self) -> str:
        known = " | ".join(repr(w) for w in self.words) if self.kind == "word" else TYPES.get(self.kind, "")
        return known or self.value or "text"


CONFIG = Option("config", value="FILE", group="Options of all commands")


@dataclass(frozen=True)
class Command:
    path: tuple[str, ...]  # ("topo", "route")
    summary: str
    description: str
    example: str
    runs: bool
    operands: str
    options: dict[str, Option]  # by keyword
    hidden: tuple[Option, ...]  # those that the package sets itself
    more_options: bool
    verbs: tuple[Command, ...]
    prints_json: bool

    @property
    def name(self) -> str:
        return ".".join(identifier(word) for word in self.path)

    def find(self, word: str) -> Option | None:
        """The option of a word of a command line: --name, --name=value, -n."""
        name = word[2:].split("=", 1)[0] if word.startswith("--") else None
        for o in (*self.options.values(), *self.hidden):
            if o.name == name or (name is None and o.letter and word.startswith("-" + o.letter)):
                return o
        return None

    def unknown(self, names: list[str]) -> str:
        """Complaint about keywords that are none."""
        name = names[0]
        near = difflib.get_close_matches(name.replace("-", "_").lower(), self.options, n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; help(ringlet.{self.name}) lists them"
        return f"{self.name}() has no keyword '{name}'{hint}"

    def signature(self) -> inspect.Signature:
        p = inspect.Parameter
        parameters = [*self._operands()]
        for o in self.options.values():
            parameters.append(p(o.keyword, p.KEYWORD_ONLY, default=p.empty if o.required else None))
        if self.more_options:
            parameters.append(p("more", p.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def _operands(self) -> Iterator[inspect.Parameter]:
        p = inspect.Parameter
        if re.search(r"\.\.\.\]?$", self.operands):
            fixed, last = self.operands.split()[:-1], self.operands.split()[-1]
        else:
            fixed, last = self.operands.split(), None
        for word in fixed:
            name = "topology" if word == "T" else re.sub(r"\W", "", word).lower()
            kind = p.POSITIONAL_ONLY if name in self.options else p.POSITIONAL_OR_KEYWORD
            yield p(name, p.POSITIONAL_ONLY if last else kind, default=None if "[" in word else p.empty)
        if last:
            yield p(re.sub(r"\W", "", last).lower() + "s", p.VAR_POSITIONAL)

    def doc(self) -> str:
        """As --help, in Python's terms."""
        parts = [
            self.summary[:1].upper() + self.summary[1:] + ".",
            *self._python(self.description).split("\n\n"),
        ]
        text = "\n\n".join(s if s.startswith(" ") else textwrap.fill(s, WIDTH) for s in parts)
        group = ""
        for o in self.options.values():
            if o.group != group:
                group = o.group
                text += f"\n\n{group}:"
            text += "\n" + self._option(o)
        if self.verbs:
            text += "\n\nFunctions:\n" + "\n".join(f"    {v.name}  {v.summary}" for v in self.verbs)
        examples = [self.as_python(line) for line in self.example.splitlines() if line.startswith("ringlet ")]
        return text + "\n\nExample:\n" + "".join(f"    {e}\n" for e in examples)

    def _option(self, o: Option) -> str:
        facts = [
            "required" if o.required else "",
            o.range and f"range: {o.range}",
            o.default and f"default: {o.default}",
        ]
        help = " ".join([self._python(o.help), *(f"[{s}]" for s in facts if s)])
        body = textwrap.fill(help, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
        return f"    {o.keyword} : {o.type}\n{body}"

    def _python(self, text: str) -> str:
        """Options as keywords: --rank-scale becomes rank_scale."""
        names = {o.name: o.keyword for o in self.options.values()}
        return re.sub(r"--([a-z][a-z-]*[a-z])", lambda m: names.get(m[1], m[0]), text)

    def parse(self, words: list[str]) -> tuple[list[str], dict[str, Any]]:
        """Operands and keywords of a command line."""
        operands: list[str] = []
        given: dict[str, Any] = {}
        rest = iter(words)
        for word in rest:
            o = self.find(word) if word.startswith("-") and word != "-" else None
            if o is None and word.startswith("--") and self.more_options:
                name, _, value = word[2:].partition("=")
                given[name.replace("-", "_")] = value or next(rest, "")
            elif o is None:
                operands.append(word)
            else:
                self._take({} if o in self.hidden else given, o, word, rest)
        return operands, given

    @staticmethod
    def _take(given: dict[str, Any], o: Option, word: str, rest: Iterator[str]) -> None:
        if o.kind == "flag":
            given[o.keyword] = True
            return
        attached = word.partition("=")[2] if word.startswith("--") else word[2:]
        value = attached or next(rest, "")
        given[o.keyword] = [*given.get(o.keyword, []), value] if o.kind == "list" else value

    def as_python(self, line: str) -> str:
        """A command line as a call."""
        words = shlex.split(line)
        operands, given = self.parse(words[1 + len(self.path) :])
        single = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in given.items()}
        texts = [*map(repr, operands), *(f"{k}={v!r}" for k, v in single.items())]
        return f"ringlet.{self.name}({', '.join(texts)})"


def _command(path: tuple[str, ...], c: dict[str, Any]) -> Command:
    rows = c["options"]
    where_format = {o.get("group", Option.group) for o in rows if o["name"] == "format"}
    options: dict[str, Option] = {}
    hidden: list[Option] = []
    for row in rows:
        values: dict[str, Any] = {**row, "words": tuple(row.get("words", ()))}
        o = Option(**values)
        # The result is the return value. Elsewhere --output is a file of another kind: a topology, a trace.
        if o.name in OWN or (o.name == "output" and o.group in where_format):
            hidden.append(o)
        else:
            options[o.keyword] = o
    if c["runs"] and rows:
        options["config"] = replace(CONFIG, help=_config_help)
    path = (*path, c["name"])
    return Command(
        path,
        c.get("summary", ""),
        c.get("description", ""),
        c.get("example", ""),
        c["runs"],
        c.get("operands", ""),
        options,
        tuple(hidden),
        c["more_options"],
        tuple(_command(path, v) for v in c["verbs"]),
        bool(where_format),
    )


_tables = json.loads(Path(__file__).with_name("_options.json").read_text(encoding="utf-8"))
_config_help = (
    "A dict or a JSON file of options, by their names on the command line. Keywords given here override "
    "those in it; repeatable options accumulate."
)
VERSION: str = _tables["ringlet"]
# `serve` runs until it is stopped, and `help` is help() here.
COMMANDS = {
    identifier(c["name"]): _command((), c) for c in _tables["commands"] if c["name"] not in ("serve", "help")
}


def every_command() -> Iterator[Command]:
    """All commands and verbs."""
    for c in COMMANDS.values():
        yield c
        yield from c.verbs
