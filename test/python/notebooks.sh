#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The notebooks run from their first cell to their last, by the wheel in an environment of its own that has pandas,
# matplotlib and Jupyter from the system. They are kept without outputs. KEEP=folder keeps what they show.
. "$(dirname "$0")/../support/tap.sh"
. test/support/python.sh
here=$PWD
if ! "$python" -c 'import nbclient, ipykernel, pandas, matplotlib, venv, pip' 2>/dev/null; then
    skip "notebooks" "needs python3-nbclient, python3-ipykernel, python3-pandas, python3-matplotlib and python3-venv"
    finish
fi
if nm "$ringlet" | grep -q __asan_init; then
    skip "notebooks" "needs a build without sanitizers" # whose simulations are tested elsewhere
    finish
fi
"$python" tools/python/build.py wheel "$tmp" "$tmp/python" "$ringlet" >"$tmp/out" 2>"$tmp/err" &&
    "$python" -m venv --without-pip --system-site-packages "$tmp/venv" &&
    "$python" -m pip -q --python "$tmp/venv/bin/python" install --no-index --no-deps "$tmp"/*.whl >"$tmp/out" 2>"$tmp/err"
expect "the wheel is installed" "$?" 0
mkdir -p "$tmp/jupyter/kernels/wheel"
echo '{"display_name": "wheel", "language": "python",
    "argv": ["'"$tmp/venv/bin/python"'", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}' >"$tmp/jupyter/kernels/wheel/kernel.json"
unset RINGLET PYTHONPATH
for notebook in tools/python/notebooks/*.ipynb; do
    name=$(basename "$notebook" .ipynb)
    mkdir "$tmp/$name"
    (cd "$tmp/$name" && JUPYTER_PATH=$tmp/jupyter IPYTHONDIR=$tmp/ipython "$python" -c '
import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], as_version=4)
assert not any(c.get("outputs") for c in book.cells), "it has outputs"
book.cells.append(nbformat.v4.new_code_cell("print(ringlet.program())"))
nbclient.NotebookClient(book, timeout=240, kernel_name="wheel").execute()
shown = [o for c in book.cells for o in c.get("outputs", [])]
said = [o["text"] for o in shown if o.get("name") == "stderr"]
assert not said, said
assert any("image/png" in o.get("data", {}) for o in shown), "no figure"
assert "/_bundle/bin/ringlet" in shown[-1]["text"], shown[-1]["text"]
nbformat.write(book, sys.argv[2])
' "$here/$notebook" "$tmp/$name.ipynb") >"$tmp/out" 2>"$tmp/err"
    status=$?
    verdict "$name runs" "$([ $status = 0 ] || tail -3 "$tmp/err")"
    [ $status != 0 ] || [ -z "${KEEP:-}" ] || cp "$tmp/$name.ipynb" "$KEEP"
done
finish
