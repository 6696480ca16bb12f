#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# What packages are made by agrees with the sources, and what cannot be packaged is refused.
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-packaging.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
debian=$top_srcdir/packaging/debian

"$top_srcdir/scripts/symbols" >"$work/symbols"
run "Debian's symbols are those of the map (else: scripts/symbols)" \
    diff "$work/symbols" "$debian/libwcodec0.symbols"
run "Debian's version" grep -q "^wcodec ($PACKAGE_VERSION-" "$debian/changelog"
run "RPM's version" grep -q "^Version: *$PACKAGE_VERSION\$" "$top_srcdir/packaging/wcodec.spec"
run "Python's version" grep -q "^version = \"$PACKAGE_VERSION\"" "$top_srcdir/python/pyproject.toml"

refuses () {
    ! "$top_srcdir/scripts/make-deb" --build="$work/build" --output="$work/debs" "$2" \
        >"$work/out" 2>&1 && grep -q "$1" "$work/out"
}
if command -v dpkg-buildpackage >/dev/null 2>&1; then
    run "refuses a missing tarball" refuses 'no such file' "$work/wcodec-1.tar.xz"
    : >"$work/other.tar.xz"
    run "refuses another name" refuses 'not wcodec-VERSION' "$work/other.tar.xz"
    : >"$work/wcodec-1.tar.xz"
    run "refuses what is no tarball" refuses 'cannot be unpacked' "$work/wcodec-1.tar.xz"
    mkdir "$work/wcodec-1"
    tar -cJf "$work/wcodec-1.tar.xz" -C "$work" wcodec-1
    run "refuses a tarball without packaging" refuses 'packaging/debian is not in it' \
        "$work/wcodec-1.tar.xz"
else
    skip "no dpkg-buildpackage"
fi
finish
