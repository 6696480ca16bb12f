#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: tests/build/deb.sh FOLDER
#
# Debian packages that scripts/make-deb wrote to FOLDER: lintian finds nothing, programs and libraries
# are hardened, and in a bare system of Debian's (mmdebstrap, root) they install, pass their own tests,
# install again over themselves and are removed without a trace. Needs Debian's archive.
set -u
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
. "$top_srcdir/tests/build/checks.sh"
folder=$(cd "${1:?folder with packages}" && pwd) || exit 99
tests=$top_srcdir/packaging/debian/tests
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-deb.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
changes=$(find "$folder" -maxdepth 1 -name 'wcodec_*.changes')
if [ "$(echo "$changes" | grep -c .)" -ne 1 ]; then
    echo "$folder: one wcodec_*.changes is wanted" >&2
    exit 99
fi

if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$changes" >"$work/lintian" 2>"$work/said"
    run "lintian" test $? -eq 0
    run "lintian without errors and warnings" sh -c '! grep "^[EW]:" "$1"' sh "$work/lintian"
else
    skip "no lintian"
fi

if command -v hardening-check >/dev/null; then
    for package in libwcodec0 wcodec wcodec-mpi libwcodec-plugin-opencl libwcodec-plugin-cuda; do
        deb=$(find "$folder" -maxdepth 1 -name "${package}_*.deb")
        [ -n "$deb" ] || { skip "no $package"; continue; }
        dpkg-deb -x "$deb" "$work/$package"
        find "$work/$package" -type f '(' -name '*.so*' -o -path '*/bin/*' ')' >"$work/programs"
        run "$package has a program or library" test -s "$work/programs"
        while read -r program; do
            # The note of control flow's integrity is lost to start-up files of Debian's that lack it.
            run "${program##*/} is hardened" hardening-check --nocfprotection "$program"
        done <"$work/programs"
    done
else
    skip "no hardening-check"
fi

if ! command -v mmdebstrap >/dev/null || [ "$(id -u)" -ne 0 ]; then
    skip "no mmdebstrap, or not root: nothing is installed"
    finish
fi

# Done inside, with the network of the system for what packages depend on.
mkdir "$work/packages" "$work/packages/tests"
cp "$folder"/*.deb "$work/packages/"
cp "$tests"/* "$work/packages/tests/"
cat >"$work/packages/try" <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd /packages
rm -f ./*-dbgsym_*.deb
dpkg-query -W -f '${Package}\n' | sort >/before
apt-get -q -y --no-install-recommends install ./*.deb gcc libc6-dev pkg-config python3-numpy
for test in round-trip library python plugins mpi; do
    mkdir /test
    AUTOPKGTEST_TMP=/test sh tests/$test
    rm -r /test
    echo "passed: $test"
done
apt-get -q -y --reinstall --no-install-recommends install ./*.deb
wcodec version
echo "passed: again"
packages=$(dpkg-query -W -f '${Package} ' '*wcodec*')
# shellcheck disable=SC2086
apt-get -q -y purge $packages
left=$(find /usr /etc /var/lib /var/cache -path '*wcodec*' -not -path '/var/lib/dpkg/*' \
    -not -path '/var/lib/apt/*')
test -z "$left" || { echo "left: $left"; exit 1; }
echo "passed: removed"
END
mmdebstrap -q --variant=apt --customize-hook="copy-in $work/packages /" \
    --customize-hook='chroot "$1" sh /packages/try' bookworm /dev/null "${WCODEC_APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}" >"$work/log" 2>&1
status=$?
for step in round-trip library python plugins mpi again removed; do
    run "in a bare system: $step" grep -q "^passed: $step\$" "$work/log"
done
[ $status -eq 0 ] && [ "$failed" -eq 0 ] || tail -n 40 "$work/log"
finish
