# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of the Python package, after tap.sh: finds an interpreter ($python; one with pandas if there is), and
# builds the package for the command under test into $tmp/python.
python=""
for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    python=${python:-$candidate}
    "$candidate" -c 'import pandas' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { skip "the Python package" "needs python3"; finish; }
mkdir "$tmp/python"
RINGLET=$ringlet
PYTHONPATH=$tmp/python
PYTHONDONTWRITEBYTECODE=1
export RINGLET PYTHONPATH PYTHONDONTWRITEBYTECODE
"$python" tools/python/build.py package "$tmp/python" "$ringlet" >"$tmp/out" 2>"$tmp/err"
expect "the package is built" "$?" 0
