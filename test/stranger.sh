#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds and tests on a machine that knows nothing of ringlet: a minimal Debian in a folder, a user who is not root, a path with
# spaces, no git, no public data, and no network once the packages are there. Needs root and debootstrap.
# stranger.sh [SUITE]   a release of Debian (default bookworm). Its last line is that of the tests, whose skips are counted.
# TESTS="..."           runs only these tests, and builds anew only what changed
# ROOT=folder           where the small Debian stays for the next time (default build-stranger/SUITE)
# DEBIAN=address        where its packages come from (default: as debootstrap has it)
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
root=${ROOT:-build-stranger/$suite}
say() { echo "stranger: $*" >&2; }
[ "$(id -u)" = 0 ] || { say "needs root, to make another machine's root folder"; exit 1; }
command -v debootstrap >/dev/null || { say "needs debootstrap: apt-get install debootstrap"; exit 1; }

if [ ! -e "$root/made" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$suite" "$root" ${DEBIAN:+"$DEBIAN"} >"$root.log" 2>&1 ||
        { tail -3 "$root.log" >&2; say "no $suite: the whole log is $root.log"; exit 1; }
    touch "$root/made"
fi
root=$(cd "$root" && pwd)
home="$root/home/stranger"
place="$home/a path with spaces/ringlet"
chroot "$root" sh -c 'id stranger >/dev/null 2>&1 || useradd -m stranger'
# Only what would be in an archive of the sources.
[ -n "${TESTS:-}" ] || rm -rf "$home"
mkdir -p "$place"
find "$place" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z -co --exclude-standard | tar -c --null -T - | tar -x -C "$place"
chroot "$root" chown -R stranger:stranger /home/stranger

# A namespace of mounts and processes: what is mounted or still runs ends with it.
inside() { # more arguments of unshare; the rest is run by sh in the small Debian
    unshare --mount --pid --fork --kill-child "$@"
}
shell='mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" && exec chroot "$@"'
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
inside sh -c "$shell" "$root" "$root" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends make >/dev/null &&
    cd "/home/stranger/a path with spaces/ringlet" && tools/deps.sh' </dev/null
say "packages are there; from here on without network"
inside --net sh -c "ip link set lo up 2>/dev/null; $shell" "$root" --userspec=stranger:stranger "$root" \
    env -i HOME=/home/stranger PATH=/usr/bin:/bin LANG=C.UTF-8 JOBS="${JOBS:-}" TESTS="${TESTS:-}" sh -c '
    cd "$HOME/a path with spaces/ringlet" || exit 1
    if [ -z "$TESTS" ]; then
        make -s DEPS=no -j"$(nproc)" all tests && make -s DEPS=no test
    else
        make -s DEPS=no -j"$(nproc)" all $(echo "$TESTS" | tr " " "\n" | grep ^build/) && test/run.sh build $TESTS
    fi' </dev/null
