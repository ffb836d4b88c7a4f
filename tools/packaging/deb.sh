#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# deb.sh DIR VERSION: builds the Debian packages of this source tree in DIR, and checks them where lintian is installed.
# The maintainer is DEBFULLNAME <DEBEMAIL>; without them an address that nobody has. DEB_BUILD_OPTIONS as usual.
set -eu
cd "$(dirname "$0")/../.."
version=$2
mkdir -p "$1"
dir=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh; do
    command -v $tool >/dev/null || { echo "make deb needs $tool: apt-get install build-essential debhelper dh-python lintian" >&2; exit 1; }
done
tree=$dir/ringlet-$version
rm -rf "$dir"/ringlet-* "$dir"/*.deb "$dir"/*.changes "$dir"/*.buildinfo
mkdir "$tree"
cp -Rp Makefile LICENSE README.md sim net collectives workload tools topologies traces test "$tree"
cp -Rp tools/packaging/debian "$tree/debian"
# The date is that of the sources: the same sources give the same packages.
date=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date -r Makefile +%s)}
cd "$tree"
find . -name __pycache__ -type d -prune -exec rm -rf {} +
find . -type f -exec touch -d "@$date" {} +
[ -d tools/python ] || sed -i '/^Package: python3-ringlet/,$d' debian/control
maintainer="${DEBFULLNAME:-ringlet maintainers} <${DEBEMAIL:-maintainers@ringlet.example}>"
sed -i "s/@MAINTAINER@/$maintainer/" debian/control
cat >debian/changelog <<END
ringlet ($version) unstable; urgency=medium

  * Built from the sources of this version: see 'ringlet help changes'.

 -- $maintainer  $(date -R -u -d "@$date")
END
DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-parallel=$(nproc)}" dpkg-buildpackage -b -us -uc
rm -rf "$tree"
cd "$dir"
if command -v lintian >/dev/null; then lintian --fail-on error,warning ./*.changes; fi
ls ./*.deb
