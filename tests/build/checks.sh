# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests here: counts checks, and says which failed.

passed=0 failed=0 skipped=0

# run NAME COMMAND...: the command's success is one check
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

skip () {
    echo "skipped: $1"
    skipped=$((skipped + 1))
}

# Ends the test.
finish () {
    if [ "$skipped" -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" -eq 0 ]
    exit
}
