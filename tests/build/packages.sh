#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# scripts/setup-packages where nothing can be installed: without root and sudo, as on many machines
# for machine learning. It goes on where wcodec can be built all the same, and says what is missing.
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-packages.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# A system of apt, on which no package is installed and this user is nobody.
fake () {
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
mkdir -p "$work/bin" "$work/tree/scripts" "$work/pc"
cp "$top_srcdir/scripts/setup-packages" "$work/tree/scripts" || exit 99
fake apt-get 'exit 1'
fake dpkg-query 'exit 1'
fake sudo 'exit 1'
fake id 'echo 1000'
fake pkg-config 'test -e "$(dirname "$0")/../pc/$2"'
for tool in make autoconf automake libtoolize nocc; do
    fake $tool 'exit 0'
done
touch "$work/pc/libzstd" "$work/pc/libxxhash" "$work/pc/jansson"

setup () {
    (cd "$work/tree" && PATH=$work/bin:$PATH CC=nocc sh scripts/setup-packages "$@") \
        >"$work/out" 2>&1 </dev/null
}
goes_on () {
    setup quickstart && grep -q 'not root, and no sudo: going on without .*liblz4-dev' "$work/out"
}
stops () {
    ! setup quickstart && grep -q "building needs .*$1.*install by hand: gcc" "$work/out"
}
run 'goes on where building is possible' goes_on
rm "$work/pc/jansson"
run 'stops without a library that is needed' stops 'jansson with its headers'
touch "$work/pc/jansson"
rm "$work/bin/nocc"
run 'stops without a compiler' stops 'a C compiler'
fake nocc 'exit 0'
rm "$work/bin/libtoolize"
if ! command -v libtoolize >/dev/null 2>&1; then
    run 'stops without what makes configure' stops libtoolize
fi
touch "$work/tree/configure"
chmod +x "$work/tree/configure"
run 'a tarball needs no Autotools' goes_on
finish
