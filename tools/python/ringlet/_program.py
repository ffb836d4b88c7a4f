# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `ringlet`: where it is, and how it is run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from ._errors import Crashed

_here = Path(__file__).resolve().parent
_bundle = _here / "_bundle"  # what a wheel carries, laid out as the source tree


def program() -> str:
    """Path of the executable: $RINGLET, the wheel's, that of the same prefix, or the one in PATH."""
    asked = os.environ.get("RINGLET")
    if asked:
        found = shutil.which(asked)
        if not found:
            raise Crashed("RINGLET", f"'{asked}' is not an executable")
        return found
    for near in (_bundle / "bin/ringlet", *(up / "bin/ringlet" for up in _here.parents[3:4])):
        if os.access(near, os.X_OK):
            return str(near)
    found = shutil.which("ringlet")
    if not found:
        raise Crashed(
            "ringlet", "no such command; set RINGLET to its path, or install the wheel that carries it"
        )
    return found


def data() -> Path:
    """Folder of the shipped files: data() / "traces/transformer-8", data() / "topologies/hgx-h100-8.json"."""
    top = Path(program()).resolve().parents[1]  # a source tree, a wheel's bundle, or an installation's prefix
    for folder in (top / "share/ringlet", top):
        if (folder / "topologies").is_dir():
            return folder
    raise FileNotFoundError(f"no topologies and traces beside {program()}")


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str
    interrupted: bool  # this process was asked to stop, too


def execute(words: list[str]) -> Outcome:
    """Runs `ringlet WORDS` to its end. The interpreter is free for other threads meanwhile.

    In the main thread Ctrl-C is passed on once, so that the command stops and writes what it has. It stands
    in a session of its own: a terminal would signal it a second time, which ends it at once. Other threads
    see no Ctrl-C: there the terminal signals the command. If this process is killed, the command stops, too.
    """
    main = threading.current_thread() is threading.main_thread()
    command = [program(), *words]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "RINGLET_PARENT": str(os.getpid())},
            start_new_session=main,
        )
    except OSError as e:
        raise Crashed(command[0], e.strerror or str(e)) from e
    interrupted = False
    try:
        try:
            out, err = process.communicate()
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return Outcome(
        process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), interrupted
    )


def main() -> None:
    """The command of an environment in which the wheel is installed."""
    os.execv(program(), ["ringlet", *sys.argv[1:]])
