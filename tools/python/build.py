#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the package and its wheel: needs Python alone. Called by the Makefile.

build.py package FOLDER COMMAND       FOLDER/ringlet: sources, the tables of the command, and their type stub
build.py wheel OUT FOLDER COMMAND...  OUT/ringlet-VERSION-py3-none-PLATFORM.whl: these, the executables, and
                                      the shipped topologies, traces, accelerators, ...

A wheel is a zip with a list of its files. The same sources and commands give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
# Shipped files, found beside the executable (workload/setup/locate.h), in folders as in the source tree.
DATA = (
    "topologies",
    "traces",
    "workload/accelerators",
    "workload/stacks",
    "workload/dispatchers",
    "tools/sweep/examples",
    "tools/deploy/policy",
    "tools/calibrate/training",
)
KINDS = {".json", ".csv", ".et", ".txt", ".weights", ".md", ".svg"}
NEWEST = (1980, 1, 1, 0, 0, 0)  # a time of files that does not change


def package(folder: Path, command: Path) -> None:
    """Copies the sources, and writes what is made from the tables."""
    target = folder / "ringlet"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(HERE / "ringlet", target, ignore=shutil.ignore_patterns("__pycache__"))
    tables = subprocess.run([command, "--generate-json"], check=True, capture_output=True, text=True).stdout
    (target / "_options.json").write_text(tables, encoding="utf-8")
    (target / "py.typed").touch()
    sys.path.insert(0, str(folder))
    from stubs import stub  # imports the package

    (target / "__init__.pyi").write_text(stub(), encoding="utf-8")
    for cache in target.rglob("__pycache__"):
        shutil.rmtree(cache)


def version(command: Path) -> str:
    """The version of the command, in the form of Python's: 0.1.0+g1a2b3c."""
    line = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.split()[
        1
    ]
    number, rest = re.fullmatch(r"([0-9.]+)(.*)", line).groups()
    local = ".".join(re.findall(r"[A-Za-z0-9]+", rest))
    return f"{number}+{local}" if local else number


def wheel(out: Path, folder: Path, commands: list[Path]) -> Path:
    """Writes the wheel."""
    package(folder, commands[0])
    number = version(commands[0])
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"ringlet-{number}.dist-info"
    files = {
        f"ringlet/{f.relative_to(folder / 'ringlet')}": f.read_bytes()
        for f in sorted((folder / "ringlet").rglob("*"))
        if f.is_file()
    }
    for command in commands:
        files[f"ringlet/_bundle/bin/{command.name}"] = stripped(command, folder)
    for data in DATA:
        for f in sorted((TOP / data).rglob("*")):
            if f.is_file() and f.suffix in KINDS:
                files[f"ringlet/_bundle/{f.relative_to(TOP)}"] = f.read_bytes()
    files[f"{info}/METADATA"] = metadata(number).encode()
    files[
        f"{info}/WHEEL"
    ] = f"Wheel-Version: 1.0\nGenerator: ringlet\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nringlet = ringlet._program:main\n"
    files[f"{info}/licenses/LICENSE"] = (TOP / "LICENSE").read_bytes()
    record = "".join(f"{name},sha256={digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return archive(out / f"ringlet-{number}-{tag}.whl", files)


def stripped(command: Path, folder: Path) -> bytes:
    """The executable without what only a debugger reads, if strip is here."""
    copy = folder / f"{command.name}.stripped"
    shutil.copy(command, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-debug", copy], check=True)
    text = copy.read_bytes()
    copy.unlink()
    return text


def metadata(number: str) -> str:
    return "\n".join(
        (
            "Metadata-Version: 2.1",
            "Name: ringlet",
            f"Version: {number}",
            "Summary: Discrete-event simulator of distributed deep-learning training",
            "License: GPL-3.0-or-later",
            "Requires-Python: >=3.9",
            "Provides-Extra: frames",
            "Requires-Dist: pandas; extra == 'frames'",
            "Requires-Dist: matplotlib; extra == 'frames'",
            "Requires-Dist: pyarrow; extra == 'frames'",
            "Description-Content-Type: text/markdown",
            "",
            (HERE / "README.md").read_text(encoding="utf-8"),
        )
    )


def digest(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")


def archive(path: Path, files: dict[str, bytes]) -> Path:
    for old in path.parent.glob("ringlet-*.whl"):
        old.unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, NEWEST)
            entry.external_attr = (0o100755 if "/_bundle/bin/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, text)
    return path


if __name__ == "__main__":
    what, *paths = sys.argv[1:]
    if what == "package":
        package(*map(Path, paths))
    else:
        print(wheel(Path(paths[0]), Path(paths[1]), [Path(c) for c in paths[2:]]))
