#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Public structures can grow (include/wcodec/base.h): programs built with older, today's and newer headers run with the library of this build,
# and no member of a structure has moved since its version was released.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-older.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2016
# Headers of another time. older: options end before `limits` or after `progress`. newer: options have one member more, and in other structures
# one was taken from `reserved`.
for age in older today newer; do
    mkdir -p "$work/$age/wcodec"
    cp "$top_srcdir/include/wcodec.h" "$work/$age"
    for header in "$top_srcdir"/include/wcodec/*.h; do
        awk -v age=$age '
            /^typedef struct .*\{/ { options = 0; cut = 0 }
            /^    size_t struct_size;/ { options = 1 }
            age == "older" && options && /^    wcodec_limits limits;/ { cut = 1 }
            age == "newer" && options && /^}/ { print "    uint64_t newer;" }
            age == "newer" && /^    [a-z0-9_]+ \*?reserved\[/ { one = $0; sub(/reserved.*/, "newer;", one); print one; sub(/\];/, " - 1];") }
            /^}/ { cut = options = 0 }
            !cut { print }
            age == "older" && options && /^    wcodec_progress progress;/ { cut = 1 }' "$header" >"$work/$age/wcodec/${header##*/}"
    done
    # shellcheck disable=SC2086
    run "build with $age's headers" $CC -std=c11 -Wall -Wextra -Werror ${SANITIZER_FLAGS-} -D"AGE_$age" -I"$work/$age" -c -o "$work/$age.o" "$top_srcdir/tests/build/older.c"
    # shellcheck disable=SC2086
    run "link" "$top_builddir/libtool" --silent --tag=CC --mode=link $CC ${SANITIZER_FLAGS-} -o "$work/$age.run" "$work/$age.o" "$top_builddir/libwcodec.la"
    run "run a program built with $age's headers" "$work/$age.run"
done
run "older options are shorter" sh -c '[ "$("$1" sizes)" != "$("$2" sizes)" ]' sh "$work/older.run" "$work/today.run"

# A program that prints every structure's size and its members' places, made of the headers.
{
    printf '#include <stdio.h>\n#include <wcodec.h>\nint main(void) {\n'
    # Comments are gone after the preprocessor.
    $CC -E -P -I"$top_srcdir/include" "$top_srcdir/include/wcodec.h" | awk '
        /^typedef struct wcodec_[a-z0-9_]+ \{/ { name = $3; print "printf(\"" name " %zu\\n\", sizeof(" name "));" }
        name && /^ +.*;/ {
            member = $0
            if (!sub(/\)\(.*/, "", member)) sub(/[[;].*/, "", member)
            sub(/.*[ *]/, "", member)
            if (member != "reserved")
                print "printf(\"" name "." member " %zu %zu\\n\", offsetof(" name ", " member "), sizeof(((" name " *)0)->" member "));"
        }
        /^}/ { name = "" }'
    printf 'return 0; }\n'
} >"$work/layout.c"
# shellcheck disable=SC2086
run "build the layout" $CC -std=c11 -I"$top_srcdir/include" -o "$work/layout" "$work/layout.c"
run "the layout has structures" sh -c '[ "$("$1" | wc -l)" -gt 100 ]' sh "$work/layout"
if [ "$("$work/today.run" sizes | sed 's/ .*//')" = 8 ] && ! [ "${UPDATE_LAYOUT-}" ]; then
    # What was released stands; options may be longer.
    "$work/layout" | sort >"$work/today.layout"
    grep -v '^#\|^wcodec_[a-z_]*options ' "$top_srcdir/tests/build/layout-lp64" | sort >"$work/released"
    comm -23 "$work/released" "$work/today.layout" >"$work/moved"
    cat "$work/moved"
    run "nothing that was released has moved (above: what has)" test ! -s "$work/moved"
else
    "$work/layout"
fi
finish
