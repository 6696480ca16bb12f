#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Every public header compiles alone, as C11 and as C++17, by each compiler that is there, without a
# warning.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-headers.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# try COMPILER LANGUAGE STANDARD HEADER
try () {
    printf '#include <%s>\n#include <%s>\n' "$4" "$4" >"$work/t.$2"
    echo 'int main(void) { wcodec_error err; return (int)sizeof err == 0; }' >>"$work/t.$2"
    # -Wpedantic and the rest catch what a user's own flags would.
    # shellcheck disable=SC2086 # a compiler may have options
    run "$1 -std=$3 <$4>" $1 -std="$3" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
        -I"$top_srcdir/include" -fsyntax-only "$work/t.$2"
}

have () {
    command -v "${1%% *}" >/dev/null 2>&1
}

for header in $(cd "$top_srcdir/include" && find . -name '*.h' | sed 's,^\./,,' | sort); do
    for compiler in "$CC" gcc clang; do
        have "$compiler" && try "$compiler" c c11 "$header"
    done
    for compiler in g++ clang++; do
        have "$compiler" && try "$compiler" cpp c++17 "$header"
    done
done
run "any header" test "$passed" -gt 0
finish
