#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Man pages are clean, completions and scripts parse, and every option of the command stands in the man page and in each completion.
set -u
: "${top_srcdir:?}"
passed=0 failed=0 skipped=0

run () {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $name"
    fi
}

if command -v mandoc >/dev/null 2>&1; then
    for page in "$top_srcdir"/man/*.[135]; do
        run "$page" mandoc -Tlint -Wwarning "$page"
    done
else
    echo "no mandoc: man pages are not checked"
    skipped=$((skipped + 1))
fi
for script in autogen.sh scripts/check scripts/quickstart scripts/setup-packages scripts/test-counts scripts/cross-sysroot; do
    run "$script" sh -n "$top_srcdir/$script"
done
for shell in bash zsh fish; do
    file=$top_srcdir/completions/wcodec.$shell
    [ $shell = zsh ] && file=$top_srcdir/completions/_wcodec
    if command -v $shell >/dev/null 2>&1; then
        run "$file" $shell -n "$file"
    fi
done

options=$(sed -n '/^static const struct option long_options/,/^};/s/^ *{"\([a-z0-9-]*\)".*/\1/p' "$top_srcdir/utils/options.c")
run "options of utils/options.c" test -n "$options"
for option in $options; do
    case $option in
    # Other spellings of commands.
    compress|decompress|list|test) continue ;;
    esac
    run "--$option in wcodec(1)" grep -Eq "Fl -$option([ ,=]|\$)" "$top_srcdir/man/wcodec.1"
    run "--$option for bash" grep -q -e "--$option\\>" "$top_srcdir/completions/wcodec.bash"
    run "--$option for zsh" grep -q -e "--$option\\>" "$top_srcdir/completions/_wcodec"
    run "--$option for fish" grep -q -e "-l $option\\>" "$top_srcdir/completions/wcodec.fish"
done
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
