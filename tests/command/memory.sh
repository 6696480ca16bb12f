#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Memory that runs out, at every allocation of the command: an error or the whole output, never a
# crash, a part of an output or a temporary file.
. "$top_srcdir/tests/command/lib.sh"
# A sanitizer's allocator stands before any other.
[ -z "${SANITIZER_FLAGS:-}" ] || { skip 'the sanitizer has an allocator of its own'; finish; }
build_preload starve || { skip 'no library can be put in front'; finish; }
export WCODEC_BACKEND=cpu WCODEC_THREADS=1
"$MAKE" original w:BF16:40x300:gauss t:U8:3000:text v:F32:50:gauss || exit 99
"$WCODEC" compress -q -o coded original
"$WCODEC" decompress -q --only '[wv]' -o part coded
# A matrix at a fixed rate, and its rows.
"$MAKE" matrix w:BF16:48x384:gauss || exit 99
"$WCODEC" compress -q --tune=compute-fixed -o fixed matrix
"$WCODEC" cat --tensor=w --slice=5:33 -o rows fixed
"$WCODEC" compress -q --tune=compute -o order matrix

# Every third allocation; all in --full.
case ${WCODEC_TEST_LEVEL:-quick} in full) step=1 ;; *) step=3 ;; esac

# starve EXPECTED ARGUMENTS...: the output is d/out.
starve () {
    contents=$1
    shift
    for once in '' STARVE_ONCE=1; do
        at=0 over=0
        # Some failures do no harm (of a buffer for messages, say): a good many without any are the
        # end.
        while [ $((over * step)) -lt 40 ] && [ $at -lt 2000 ]; do
            at=$((at + step))
            rm -rf d
            mkdir d
            env LD_PRELOAD="$work/starve.so" STARVE_AT=$at $once "$WCODEC" "$@" >out 2>err
            code=$?
            over=$((code == 0 ? over + 1 : 0))
            left=$(find d -type f ! -name out)
            [ -z "$left" ] || fail "left behind: $left: $once at $at of $*"
            case $code in
            0) cmp -s d/out "$contents" || fail "another output: $once at $at of $*" ;;
            1|2|3) [ ! -e d/out ] || fail "an output in spite of exit code $code: $once at $at of $*"
                [ -s err ] || fail "no message: $once at $at of $*" ;;
            *) fail "exit code $code: $once at $at of $*: $(cat err)" ;;
            esac
        done
        if [ $at -gt 60 ] && [ $at -lt 2000 ]; then pass; else fail "$at allocations: $once $*"; fi
    done
}

starve coded compress -q -o d/out original
starve original decompress -q -o d/out coded
starve part decompress -q --only '[wv]' -o d/out coded
starve fixed compress -q --tune=compute-fixed -o d/out matrix
starve matrix decompress -q -o d/out fixed
starve rows cat --tensor=w --slice=5:33 -o d/out fixed
starve order compress -q --tune=compute -o d/out matrix
starve rows cat --tensor=w --slice=5:33 -o d/out order
finish
