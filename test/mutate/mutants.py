#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the mutants of a C source: small changes, each of which gives the program another meaning.

mutants.py FILE    prints them, one a line: LINE: OLD -> NEW

A lexer knows comments, strings, preprocessor lines, and where statements begin. That is enough: what it
misreads does not compile, and is left out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
      |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.X | re.S | re.M,
)
TYPES = set("const static struct union enum void bool char short int long".split())
TYPES |= set("unsigned signed float double".split())
WORDS = set("return goto break continue case default if else for while do switch sizeof".split())
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
SWAPS |= {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
# Memory and files that are not given back: sanitizers hold that, and no result shows it.
RELEASE = re.compile(r"(^|_)(free|destroy|close|fclose|munmap)$")
# Memory that is asked for: no test sees more of it, so it only gets less.
REQUEST = re.compile(r"^(malloc|calloc|realloc)$")


@dataclass(frozen=True)
class Mutant:
    """Replaces text[start:end] by `new`. `first` is the line at which its statement begins."""

    line: int
    first: int
    start: int
    end: int
    new: str
    nth: int = 1  # of those in the file that look the same

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def shown(self, text: str) -> str:
        return self.plainly(text) + (f" [{self.nth}]" if self.nth > 1 else "")

    def plainly(self, text: str) -> str:
        old = text[self.start : self.end]
        if len(old) < 4:  # an operator or a constant says more with its surroundings
            begin = text.rfind("\n", 0, self.start) + 1
            end = text.find("\n", self.end)
            left, right = text[begin : self.start].lstrip(), text[self.end : end].rstrip()
            left, right = left[-24:], right[:24]
            return f"{left}{old}{right} -> {left}{self.new}{right}"
        one_line = re.sub(r"\s+", " ", f"{old} -> {self.new or 'nothing'}")
        return one_line if len(one_line) <= 160 else one_line[:157] + "..."


class Tokens:
    """Tokens of a source: kind, text, place, and the partner of each bracket."""

    def __init__(self, text: str) -> None:
        found = [m for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.kind = [m.lastgroup for m in found]
        self.text = [m.group() for m in found]
        self.start = [m.start() for m in found]
        self.end = [m.end() for m in found]
        self.partner: dict[int, int] = {}
        stack: list[int] = []
        for i, t in enumerate(self.text):
            if t in OPEN:
                stack.append(i)
            elif t in CLOSE and stack:
                self.partner[i] = stack.pop()
                self.partner[self.partner[i]] = i
        newlines = [m.start() for m in re.finditer("\n", text)]
        self.line, at = [], 0
        for s in self.start:
            while at < len(newlines) and newlines[at] < s:
                at += 1
            self.line.append(at + 1)

    def operand(self, i: int) -> bool:
        """Whether an operator behind token i has two operands."""
        if self.kind[i] == "name":
            return self.text[i] not in WORDS
        return self.kind[i] in ("number", "text") or self.text[i] in (")", "]")

    def beyond(self, i: int, stops: str) -> int:
        """First token at or after i that is in stops, or that closes what was opened before."""
        nested = 0
        while i < len(self.text):
            t = self.text[i]
            if t == "?" and ":" in stops:
                nested += 1
            elif t == ":" and nested:
                nested -= 1
            elif t in stops or t in CLOSE:
                break
            i = self.partner.get(i, i) + 1 if t in OPEN else i + 1
        return i


def declared(k: Tokens, i: int, end: int) -> bool:
    """Whether the statement of tokens i to end is a declaration."""
    if k.text[i] in TYPES:
        return True
    if k.kind[i] != "name" or k.text[i] in WORDS:
        return False
    j = i + 1
    while j < end and k.text[j] in ("*", "const"):
        j += 1
    return j < end and k.kind[j] == "name" and k.text[j] not in WORDS


def statements(k: Tokens, begin: int, end: int):
    """Yields (first, end, kind) of each statement between two braces, such as (5, 9, "declaration")."""
    i = begin
    while i < end:
        t = k.text[i]
        if t in ("{", "}", ";", "else", "do"):
            i += 1
        elif t in ("if", "while", "switch", "for"):
            closing = k.partner[i + 1]
            if t == "for":
                semicolon = k.beyond(i + 2, ";")
                kind = "declaration" if semicolon > i + 2 and declared(k, i + 2, semicolon) else "head"
                yield i + 2, semicolon, kind
                yield semicolon, closing, "head"
            else:
                yield i + 2, closing, t
            i = closing + 1
        elif t in ("case", "default") or (k.kind[i] == "name" and k.text[i + 1] == ":"):
            i = k.beyond(i, ":") + 1
        else:
            stop = k.beyond(i, ";")
            kind = "declaration" if declared(k, i, stop) else "other" if t in WORDS else "expression"
            yield i, stop, "jump" if t in ("break", "continue") else kind
            i = stop + 1


def bodies(k: Tokens):
    """Yields the braces of function bodies."""
    i = 0
    while i < len(k.text):
        if k.text[i] == "{" and i in k.partner:
            if i and k.text[i - 1] == ")":
                yield i + 1, k.partner[i]
            i = k.partner[i]
        i += 1


def plain_comparison(k: Tokens, i: int, end: int) -> bool:
    """Whether the condition is one == or !=, whose swap is its negation."""
    signs = []
    while i < end:
        if k.text[i] in SWAPS and k.operand(i - 1):
            signs.append(k.text[i])
        i = k.partner.get(i, i) + 1 if k.text[i] in OPEN else i + 1
    return len(signs) == 1 and signs[0] in ("==", "!=")


def of_statement(k: Tokens, text: str, i: int, end: int, kind: str):
    first = k.line[i]

    def change(a: int, b: int, new: str) -> Mutant:  # tokens a to b, exclusive
        return Mutant(k.line[a], first, k.start[a], k.end[b - 1], new)

    if kind == "jump":
        yield change(i, i + 1, "")
        return
    if kind == "expression" and not (k.text[i + 1] == "(" and RELEASE.search(k.text[i])) and i + 1 < end:
        yield change(i, end, "")
    if kind in ("if", "while") and not plain_comparison(k, i, end):
        yield change(i, end, f"!({text[k.start[i]:k.end[end - 1]]})")
    # Names and types of a declaration stay as they are; its values, from = to the next comma, do not.
    j, value_until, request_until = i, i if kind == "declaration" else end, i
    while j < end:
        t = k.text[j]
        if j >= value_until:
            if t == "=":
                value_until = k.beyond(j + 1, ",")
            j = k.partner.get(j, j) + 1 if t in OPEN else j + 1
            continue
        if REQUEST.search(t) and k.text[j + 1] == "(":
            request_until = k.partner[j + 1]
        more = ("-", "/", "0") if j < request_until else ()
        if t in more:
            pass
        elif t in SWAPS and j > i and k.operand(j - 1) and k.text[j + 1] not in (")", ",", ";"):
            yield change(j, j + 1, SWAPS[t])
        elif k.kind[j] == "number":
            by = "-" if more and k.text[j - 1] != "/" else "+"
            yield change(j, j + 1, {"0": "1", "1": "0"}.get(t, f"({t} {by} 1)"))
        elif t == "?":
            colon = k.beyond(j + 1, ":")
            stop = k.beyond(colon + 1, ",;:")
            if k.text[colon] == ":" and stop > colon + 1:
                one, two = (text[k.start[a] : k.end[b - 1]] for a, b in ((j + 1, colon), (colon + 1, stop)))
                yield change(j, stop, f"? ({two}) : ({one})")
        j += 1


def mutants(text: str) -> list[Mutant]:
    k = Tokens(text)
    found = []
    for begin, end in bodies(k):
        for i, stop, kind in statements(k, begin, end):
            found += of_statement(k, text, i, stop, kind)
    alike: dict[str, int] = {}
    for at, m in enumerate(found := sorted(found, key=lambda m: (m.start, m.end))):
        name = m.plainly(text)
        alike[name] = alike.get(name, 0) + 1
        found[at] = replace(m, nth=alike[name])
    return found


if __name__ == "__main__":
    source = Path(sys.argv[1]).read_text(encoding="utf-8")
    for mutant in mutants(source):
        print(f"{mutant.line}: {mutant.shown(source)}")
