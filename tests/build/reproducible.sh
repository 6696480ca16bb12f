#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: tests/build/reproducible.sh TARBALL
#
# Two builds of a release, in different folders, places beside the sources, time zones, languages and
# umasks, one after the other, install the same files: programs, libraries, plugins and all else.
set -u
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd)
. "$top_srcdir/tests/build/checks.sh"
tarball=$(realpath "${1:?tarball}") || exit 99
[ -f "$tarball" ] || { echo "$tarball: no such file" >&2; exit 99; }
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-reproducible.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH

# install_from SOURCE BUILD TO
install_from () {
    mkdir -p "$1" "$2" && tar -xf "$tarball" -C "$1" --strip-components=1 &&
        (cd "$2" && "$1/configure" -q --prefix=/usr --without-cmocka --enable-static &&
            make -s -j"$(nproc)" && make -s install DESTDIR="$3") >"$work/log" 2>&1 || {
        tail -n 20 "$work/log"
        return 1
    }
}

first () {
    umask 022
    TZ=UTC LC_ALL=C
    export TZ LC_ALL
    install_from "$work/one" "$work/one" "$work/installed"
}
second () {
    umask 077
    TZ=Asia/Kathmandu LC_ALL=C.UTF-8
    export TZ LC_ALL
    install_from "$work/another/longer-place" "$work/another/build" "$work/again"
}
run "builds" eval '(first)'
run "builds elsewhere" eval '(second)'
run "something is installed" test -x "$work/installed/usr/bin/wcodec"
run "the same files" diff -r "$work/installed" "$work/again"
modes () {
    (cd "$1" && find . -type f -exec stat -c '%a %n' '{}' + | sort)
}
modes "$work/installed" >"$work/modes"
run "their permissions" eval 'modes "$work/again" | diff "$work/modes" -'
finish
