#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Man pages are clean, and scripts parse. (The command's options in the man page and in completions:
# tests/command/options.sh.)
set -u
: "${top_srcdir:?}"
. "$top_srcdir/tests/build/checks.sh"

if command -v mandoc >/dev/null 2>&1; then
    for page in "$top_srcdir"/man/*.[135]; do
        run "$page" mandoc -Tlint -Wwarning "$page"
    done
else
    skip "no mandoc: man pages are not checked"
fi
for script in "$top_srcdir"/autogen.sh "$top_srcdir"/scripts/* "$top_srcdir"/backends/*/*.sh \
    "$top_srcdir"/tests/*.sh "$top_srcdir"/tests/*/*.sh; do
    case $script in *.c | *.py) continue ;; esac
    run "$script" sh -n "$script"
done
# Every folder is on the map.
for folder in "$top_srcdir"/lib/*/ "$top_srcdir"/backends/*/ "$top_srcdir"/tests/*/; do
    folder=${folder#"$top_srcdir"/}
    case $folder in *__*) continue ;; esac
    run "$folder in doc/architecture.md" grep -q "^$folder  *[a-z]" "$top_srcdir/doc/architecture.md"
done

finish
