#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Headers, symbol map and shared library agree on the public functions; configure.ac and the header
# agree on the version.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-abi.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
include=$top_srcdir/include

check () {
    run "$1 (above: < the headers, > the other)" diff "$2" "$3"
}

# The functions that the headers declare with WCODEC_API: the name before the first parenthesis.
# Comments are gone after the preprocessor.
printf '#include <wcodec.h>\n' >"$work/t.c"
$CC -E -P -I"$include" "$work/t.c" | tr '\n' ' ' | tr ';' '\n' | grep 'visibility *("default")' |
    sed 's/.*visibility *("default") *) *)//; s/ *(.*//; s/.*[ *]//' | sort >"$work/headers"
sed -n '/global:/,/local:/s/^ *\([a-z0-9_]*\);.*/\1/p' "$top_srcdir/lib/libwcodec.map" | sort >"$work/map"
check "symbol map" "$work/headers" "$work/map"

# wcodec_structure_size() knows all structures.
$CC -E -P -I"$include" "$work/t.c" | sed -n 's/^} \(wcodec_[a-z_]*\);.*/\1/p' | sort >"$work/typedefs"
$CC -E -P -I"$include" "$work/t.c" | sed -n 's/^typedef enum \(wcodec_[a-z_]*\) {.*/\1/p' |
    sort >"$work/enums"
comm -23 "$work/typedefs" "$work/enums" >"$work/structures"
grep -o 'STRUCTURE(wcodec_[a-z_]*)' "$top_srcdir/lib/core/version.c" | sed 's/.*(//; s/)//' |
    sort >"$work/sized"
check "structures of wcodec_structure_size()" "$work/structures" "$work/sized"

library=$top_builddir/.libs/libwcodec.so
if [ -f "$library" ]; then
    nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | sort >"$work/library"
    check "shared library" "$work/headers" "$work/library"
    nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@WCODEC_0\.1$/ {print $3}' >"$work/unversioned"
    : >"$work/empty"
    check "version of every symbol" "$work/empty" "$work/unversioned"
else
    echo "no shared library in this build: its symbols are not checked"
fi

# Nothing in the internal library may collide with a user's names: all external symbols start with
# wcodec_ (gcc's address sanitizer adds names of its own).
nm -A "$top_builddir"/lib/.libs/libwcodec-internal.a | awk \
    '$(NF-1) ~ /^[TDBRC]$/ && $NF !~ /^(__odr_asan\.)?wcodec_/ {print $NF}' >"$work/foreign"
: >"$work/empty"
check "prefix of internal symbols" "$work/empty" "$work/foreign"

awk '/^#define WCODEC_VERSION_(MAJOR|MINOR|PATCH) /{v = v s $3; s = "."} END {print v}' \
    "$include/wcodec/base.h" >"$work/version"
echo "$PACKAGE_VERSION" >"$work/configured"
check "version" "$work/version" "$work/configured"

run "public functions in the headers" test -s "$work/headers"
finish
