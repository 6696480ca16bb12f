# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the command's tests: each case prints a line if it fails, and the last line counts.

set -u
WCODEC=${WCODEC:?the wcodec command under test}
here=$(cd "${top_builddir:-.}" && pwd) || exit 99
# shellcheck disable=SC2034 # used by the tests that source this
sources=$(cd "$top_srcdir" && pwd) || exit 99
# shellcheck disable=SC2034
MAKE=$here/tests/command/make_safetensors
PYTHON=${PYTHON:-python3}
passed=0 failed=0 skipped=0
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-command.XXXXXX") || exit 99
mounted=
cleanup () {
    test -z "$mounted" || umount "$mounted"
    chmod -R u+rwX "$work" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 99
unset TMPDIR
umask 022

pass () {
    passed=$((passed + 1))
}

fail () {
    failed=$((failed + 1))
    echo "failed: $*"
}

skip () {
    skipped=$((skipped + 1))
    echo "skipped: $*"
}

# run CODE COMMAND...: run it with its outputs in ./out and ./err, which must end with CODE.
# Standard input is the caller's.
run () {
    expected=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    if [ $code -eq "$expected" ]; then
        pass
    else
        fail "exit code $code, not $expected: $*"
        sed 's/^/    | /' "$work/err"
    fi
}

# says TEXT: the last run said so on standard error. prints TEXT: on standard output.
says () {
    if grep -q -e "$1" "$work/err"; then pass; else
        fail "standard error does not say '$1':"
        sed 's/^/    | /' "$work/err"
    fi
}
prints () {
    if grep -q -e "$1" "$work/out"; then pass; else
        fail "standard output does not say '$1':"
        sed 's/^/    | /' "$work/out"
    fi
}

# silent: the last run printed nothing on standard output. quiet: nothing on standard error.
silent () {
    if [ -s "$work/out" ]; then fail "something on standard output: $(head -c 200 "$work/out")"; else pass; fi
}
quiet () {
    if [ -s "$work/err" ]; then fail "something on standard error: $(head -c 200 "$work/err")"; else pass; fi
}

same () {
    if cmp "$1" "$2"; then pass; else fail "$1 and $2 differ${3:+: $3}"; fi
}
is () {
    if [ "$1" = "$2" ]; then pass; else fail "'$1' is not '$2'${3:+: $3}"; fi
}
exists () {
    for each; do if [ -e "$each" ] || [ -L "$each" ]; then pass; else fail "$each is not there"; fi; done
}
missing () {
    for each; do if [ -e "$each" ] || [ -L "$each" ]; then fail "$each is there"; else pass; fi; done
}
# No temporary file of ours is left in a folder.
clean () {
    left=$(find "${1:-.}" -name '.*.??????????' -type f)
    if [ -z "$left" ]; then pass; else fail "left behind: $left"; fi
}

# json FILE: it is valid JSON and names its schema.
json () {
    if ! command -v "$PYTHON" >/dev/null 2>&1; then
        skip "no Python to check JSON with"
    elif "$PYTHON" -m json.tool <"$1" >/dev/null && grep -q '"schema":"wcodec/1"' "$1"; then
        pass
    else
        fail "not valid JSON: $(head -c 300 "$1")"
    fi
}
# json_is FILE EXPRESSION: a Python expression on the parsed document d is true.
json_is () {
    if ! command -v "$PYTHON" >/dev/null 2>&1; then
        skip "no Python to read JSON with"
    elif "$PYTHON" -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$1" "$2"; then
        pass
    else
        fail "not so: $2 in $(head -c 300 "$1")"
    fi
}

# poke FILE OFFSET BYTE: overwrite one byte (octal).
poke () {
    printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
size_of () {
    wc -c <"$1" | tr -d ' '
}

# Make strike.so (see strike.c) in $work. False where that cannot be done, or a sanitizer will have
# nothing in front of it.
build_preload () {
    source=$top_srcdir
    case $source in /*) ;; *) source=$here/$source ;; esac
    ${CC:-cc} -shared -fPIC -o "$work/$1.so" "$source/tests/command/$1.c" -ldl 2>/dev/null || return 1
    LD_PRELOAD=$work/$1.so "$WCODEC" version >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]
}
build_strike () {
    build_preload strike
}

# cut_power FILES NAMES COMMAND...: with copies of the files in a folder, in which it runs; then the power is
# cut at each step (replay.py, with those names). $replay: 0 where that does no harm. False: the
# command failed.
cut_power () {
    files=$1 names=$2
    shift 2
    rm -rf before after trace
    mkdir before
    for file in $files; do
        cp -Rp "$file" before/
    done
    cp -Rp before after
    (cd after && TRACE=$work/trace TRACE_BELOW=$(pwd -P) LD_PRELOAD=$work/trace.so &&
        export TRACE TRACE_BELOW LD_PRELOAD && "$@" >../out 2>../err) ||
        { fail "$*: $(cat err)"; return 1; }
    [ -s trace ] || { fail "$*: nothing was recorded"; return 1; }
    # shellcheck disable=SC2086,SC2034 # used by the tests that source this
    "$PYTHON" "$sources/tests/command/replay.py" trace before after $names >replayed && replay=0 || replay=1
}

finish () {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
    exit
}
