#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# The interface is that of the last release, and more; and scripts/interface finds what breaks it.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/tests/build/checks.sh"
for tool in abidw abidiff xz; do
    command -v $tool >/dev/null 2>&1 || { echo "no $tool: skipped"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-interface-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
interface=$top_srcdir/scripts/interface

# library NAME SED-EXPRESSION: a small one, of a header that is changed so
library () {
    mkdir "$work/$1"
    sed "$2" >"$work/$1/small.h" <<'END'
struct small;
typedef struct small_report { unsigned long bytes; unsigned long reserved[3]; } small_report;
typedef enum small_kind { SMALL_A = 0, SMALL_B = 1 } small_kind;
__attribute__((visibility("default"))) int small_one(struct small *, small_report *);
__attribute__((visibility("default"))) int small_two(small_kind kind);
END
    {
        printf '#include "small.h"\nstruct small { int kept; %s };\n' "${3-}"
        sed -n 's/^__attribute.*(*"default"))) \(.*\);$/\1/p' "$work/$1/small.h" |
            sed 's/struct small \*/&s/; s/small_report \*/&r/; s/$/ { return 0; }/'
    } >"$work/$1/small.c"
    # shellcheck disable=SC2086
    $CC -g -shared -fPIC -w -I"$work/$1" -o "$work/$1.so" "$work/$1/small.c"
}
# gives STATUS NAME
gives () {
    "$interface" compare "$work/first.abi.xz" "$work/$2" "$work/$2.so" >"$work/log" 2>&1
    [ $? -eq "$1" ] || { cat "$work/log"; return 1; }
}
run "a first library" library first ''
"$interface" dump "$work/first" "$work/first.so" >"$work/first.abi.xz"
run "a member of what only the library knows" library private '' 'long more;'
run "... is no change" gives 0 private
run "a function more" library more '$a __attribute__((visibility("default"))) int small_three(void);'
run "... is no break" gives 0 more
run "a function less" library less '/small_two/d'
run "... is one" gives 1 less
run "another type of an argument" library argument 's/int small_two(small_kind kind)/int small_two(long kind)/'
run "... is one" gives 1 argument
run "another number of a name" library number 's/SMALL_B = 1/SMALL_B = 2/'
run "... is one" gives 1 number
run "another type of a member" library member 's/unsigned long bytes/double bytes/'
run "... is one" gives 1 member
echo broken >"$work/first.abi.xz"
run "no dump" gives 2 first

# What is compared are releases of this tree; their dumps are of x86-64.
library=$top_builddir/.libs/libwcodec.so
last=$(find "$top_srcdir/tests/golden" -name '*.abi.xz' | sort -V | tail -n 1)
if [ -z "$last" ]; then
    skip "there was no release to compare with"
elif [ ! -f "$library" ] || [ -n "${SANITIZER_FLAGS-}" ] || [ "$(uname -m)" != x86_64 ] ||
    ! readelf -S "$library" | grep -q '\.debug_info'; then
    skip "no shared library for x86-64 with debugging information"
else
    run "the interface of ${last##*/}" "$interface" compare "$last" "$top_srcdir/include" "$library"
fi
finish
