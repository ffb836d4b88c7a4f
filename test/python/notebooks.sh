#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The notebooks run from their first cell to their last, in a folder of their own, and are kept without outputs.
. "$(dirname "$0")/../support/tap.sh"
. test/support/python.sh
here=$PWD
if ! "$python" -c 'import nbclient, ipykernel, pandas, matplotlib' 2>/dev/null; then
    skip "notebooks" "needs python3-nbclient, python3-ipykernel, python3-pandas and python3-matplotlib"
    finish
fi
if nm "$ringlet" | grep -q __asan_init; then
    skip "notebooks" "needs a build without sanitizers" # whose simulations are tested elsewhere
    finish
fi
for notebook in tools/python/notebooks/*.ipynb; do
    name=$(basename "$notebook" .ipynb)
    mkdir "$tmp/$name"
    (cd "$tmp/$name" && MPLBACKEND=module://matplotlib_inline.backend_inline IPYTHONDIR=$tmp/ipython "$python" -c '
import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], as_version=4)
assert not any(c.get("outputs") for c in book.cells), "it has outputs"
nbclient.NotebookClient(book, timeout=240, kernel_name="python3").execute()
shown = [o for c in book.cells for o in c.get("outputs", [])]
said = [o["text"] for o in shown if o.get("name") == "stderr"]
assert not said, said
assert any("image/png" in o.get("data", {}) for o in shown), "no figure"
nbformat.write(book, sys.argv[2])
' "$here/$notebook" "$tmp/$name.ipynb") >"$tmp/out" 2>"$tmp/err"
    status=$?
    verdict "$name runs" "$([ $status = 0 ] || tail -3 "$tmp/err")"
    # For a look at the outputs: KEEP=folder.
    [ $status != 0 ] || [ -z "${KEEP:-}" ] || cp "$tmp/$name.ipynb" "$KEEP"
done
finish
