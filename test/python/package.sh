#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python package: functions that equal the command's tables, results that equal its bytes, errors, Ctrl-C, threads,
# the recorder; and its wheel in an empty environment.
. "$(dirname "$0")/../support/tap.sh"
. test/support/python.sh

for part in api results recorder; do
    "$python" test/python/$part.py "$tmp" >"$tmp/$part.tap" 2>"$tmp/err"
    status=$?
    sed -n 's/^ok - //p' "$tmp/$part.tap" >"$tmp/good"
    while IFS= read -r name; do verdict "$name" ""; done <"$tmp/good"
    sed -n 's/^skip - //p' "$tmp/$part.tap" >"$tmp/left"
    while IFS='|' read -r name why; do skip "$name" "$why"; done <"$tmp/left"
    [ $status = 0 ] || verdict "$part.py" "$(grep -v '^ok - ' "$tmp/$part.tap"; tail -5 "$tmp/err")"
done

# Without pandas and matplotlib whatever else is there works.
"$python" -S -c '
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["pandas"] = sys.modules["matplotlib"] = sys.modules["pyarrow"] = None
import ringlet
r = ringlet.run(ringlet.data() / "traces/transformer-8", topology="hgx-h100-8")
assert "exposed communication" in r._repr_html_() and r.breakdown_s["compute"] > 0 and r.report().html
for what, call in (("pandas", lambda: r.ranks), ("matplotlib", r.plot), ("pyarrow", lambda: r.to_parquet("x"))):
    try:
        call()
    except ImportError as e:
        assert f"needs the package {what}" in str(e) or what == "matplotlib", e
    else:
        raise SystemExit(f"{what} was not missed")
' "$tmp/python" >"$tmp/out" 2>"$tmp/err"
expect "without pandas, matplotlib and pyarrow: only what needs them says so" "$?" 0

# Installed by make install-python: the command of the same prefix is called.
mkdir -p "$tmp/prefix/bin" "$tmp/prefix/lib/python3/dist-packages"
cp -R "$tmp/python/ringlet" "$tmp/prefix/lib/python3/dist-packages"
ln -s "$ringlet" "$tmp/prefix/bin/ringlet"
found=$(cd "$tmp" && env -u RINGLET PYTHONPATH=prefix/lib/python3/dist-packages "$python" -c 'import ringlet; print(ringlet.program())')
expect "the command of the same prefix is called" "$found" "$(cd "$tmp" && pwd -P)/prefix/bin/ringlet"

mkdir "$tmp/wheel"
"$python" tools/python/build.py wheel "$tmp/wheel" "$tmp/python" "$ringlet" >"$tmp/out" 2>"$tmp/err" || cat "$tmp/err" >&2
cp "$tmp"/wheel/*.whl "$tmp/first"
"$python" tools/python/build.py wheel "$tmp/wheel" "$tmp/python" "$ringlet" >"$tmp/out" 2>"$tmp/err"
expect "a wheel is the same bytes again" "$(cmp "$tmp"/wheel/*.whl "$tmp/first" 2>&1)" ""
if "$python" -c 'import venv, pip' 2>/dev/null; then
    unset RINGLET PYTHONPATH
    "$python" -m venv --without-pip "$tmp/empty" &&
        "$python" -m pip -q --python "$tmp/empty/bin/python" install --no-index --no-deps "$tmp"/wheel/*.whl >"$tmp/out" 2>"$tmp/err"
    expect "the wheel installs into an empty environment without a network" "$?" 0
    (cd "$tmp" && empty/bin/python -c '
import os, ringlet
assert ringlet.program().startswith(os.path.dirname(ringlet.__file__)), ringlet.program()
r = ringlet.run(ringlet.data() / "traces/transformer-8", topology="hgx-h100-8")
assert r.json["time_ps"] == 19067469672, r.json["time_ps"]
assert ringlet.run(model="llama3-8b", accelerator="h100-sxm", layout="tp=8", topology="hgx-h100-8").time_s > 0
assert ringlet.sweep("ina", slots=16, loss=0, size="16KiB").json["points"]
') >"$tmp/out" 2>"$tmp/err"
    expect "and runs there, with topologies, traces, accelerators and studies" "$?" 0
    expect "which also has the command" "$("$tmp/empty/bin/ringlet" --version 2>&1 | head -1)" "$("$ringlet" --version | head -1)"
else
    skip "the wheel in an empty environment" "needs python3-venv and python3-pip"
fi
finish
