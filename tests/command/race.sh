#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Two processes with one output at the same time: it is the whole output of one of them; without -f
# the other says so. A file that grows or shrinks while it is read.
. "$top_srcdir/tests/command/lib.sh"
export WCODEC_BACKEND=cpu
"$MAKE" a w:BF16:300x300:gauss t:U8:5000:text || exit 99
"$MAKE" b v:F32:400x200:gauss || exit 99
"$WCODEC" compress -q a && "$WCODEC" compress -q b || exit 99

# race OPTIONS INPUT INPUT OUTPUT OUTPUT: the second pair is what they give.
race () {
    command=$1
    rm -f out
    $WCODEC $command -q -o out "$2" 2>err1 &
    first=$!
    $WCODEC $command -q -o out "$3" 2>err2
    second=$?
    wait $first
    first=$?
    if cmp -s out "$4"; then winner=1; elif cmp -s out "$5"; then winner=2; else winner=none; fi
    case "$command:$first:$second:$winner" in
    *-f:0:0:[12]|*s:0:1:1|*s:1:0:2) pass ;;
    *) fail "$command: exit codes $first and $second, the output is of $winner: $(cat err1 err2)" ;;
    esac
    clean
}
for round in 1 2 3 4 5 6; do
    race compress a b a.wcodec b.wcodec
    race 'compress -f' a b a.wcodec b.wcodec
    race decompress a.wcodec b.wcodec a b
    race 'decompress -f' a.wcodec b.wcodec a b
done

# The input comes slowly through the system's cache or not: what changes it does so at any moment,
# and there is a right output, of before or after, or an error that names the file.
"$MAKE" big w:BF16:2000x3000:gauss || exit 99
for change in 'truncate -s 1000000' 'truncate -s +100000' 'truncate -s 0'; do
    for round in 1 2 3; do
        cp big changing
        rm -f changing.wcodec
        "$WCODEC" compress -q changing 2>err &
        sleep 0.0$round
        $change changing
        wait $!
        code=$?
        case $code in
        0) run 0 "$WCODEC" decompress -q -f -o back changing.wcodec
            if cmp -s back big || cmp -s back changing; then pass; else fail "what was never there: $change"; fi ;;
        *) says 'changing: '; [ ! -e changing.wcodec ] && pass || fail "an output of a file that changed: $change" ;;
        esac
        clean
    done
done
finish
