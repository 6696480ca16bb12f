#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# SIGTERM, SIGKILL and a failing system call at every step that changes files: there is always the
# whole input or the whole output, never a part of one under its name; no temporary file stays but
# after SIGKILL.
. "$top_srcdir/tests/command/lib.sh"
build_strike || { skip 'no library can be put in front'; finish; }
export WCODEC_BACKEND=cpu WCODEC_THREADS=1
# EDQUOT, which is another number elsewhere.
quota=
[ "$(uname -s) ${WCODEC_TEST_LEVEL:-quick}" != 'Linux full' ] || quota=ERRNO=122
"$MAKE" original w:BF16:100x300:gauss t:U8:5000:text || exit 99
touch -d 2020-02-03 original
cp -p original w
"$WCODEC" compress -q w
mv w.wcodec coded
echo old >old

# whole FILE CONTENTS...: it is not there, or one of these.
whole () {
    file=$1
    shift
    [ -e "$file" ] || return 0
    for contents; do
        ! cmp -s "$file" "$contents" || return 0
    done
    fail "$file is something else: $step"
}
# kept FILE CONTENTS OTHER CONTENTS: one of the two is there.
kept () {
    if cmp -s "$1" "$2" || cmp -s "$3" "$4"; then pass; else fail "lost: $step"; fi
}

# strike PREPARE CHECK ARGUMENTS...: at the first step, the second, and so on, until all is done
# before.
strike () {
    prepare=$1 check=$2
    shift 2
    for with in SIGNAL=15 SIGNAL=9 ERRNO=5 ERRNO=28 $quota; do
        at=0 code=1 over=0
        # A failure that does no harm is no failure: three steps without one are the end.
        while [ $over -lt 3 ] && [ $at -lt 200 ]; do
            at=$((at + 1)) step="$with at step $at of $*"
            rm -rf w w.wcodec .w* d d.wcodec
            $prepare
            env LD_PRELOAD="$work/strike.so" STRIKE_AT=$at STRIKE_$with "$WCODEC" "$@" >out 2>err
            code=$?
            case $with:$code in
            *:0) over=$((over + 1)) ;;
            SIGNAL=15:143|SIGNAL=9:137|ERRNO=*:1) over=0 ;;
            *) fail "exit code $code: $step: $(cat err)" ;;
            esac
            case $with in ERRNO=*) [ $code -eq 0 ] || says 'error: ' ;; SIGNAL=15) [ ! -s err ] || says '^Term' ;; esac
            [ $with = SIGNAL=9 ] || clean
            $check
        done
        if [ $at -gt 6 ] && [ $at -lt 200 ]; then pass; else fail "$at steps: $with, $*"; fi
    done
}

# What is prepared and checked.
plain () { cp -p original w; }
replacing () { cp -p original w; cp old w.wcodec; }
packed () { cp -p coded w.wcodec; }
folder () { mkdir d; cp -p original d/w.safetensors; cp old d/note; }
check_compress () { whole w original; whole w.wcodec coded; kept w original w.wcodec coded; }
check_keep () { same w original "$step"; whole w.wcodec coded; }
check_replace () { whole w original; whole w.wcodec coded old; kept w original w.wcodec coded; }
check_decompress () { whole w original; whole w.wcodec coded; kept w.wcodec coded w original; }
check_folder () {
    same d/w.safetensors original
    whole d.wcodec/note old
    if [ -e d.wcodec/w.safetensors.wcodec ]; then run 0 "$WCODEC" verify -q d.wcodec/w.safetensors.wcodec original; fi
}

strike plain check_keep compress -q w
strike plain check_compress compress -q --rm w
strike replacing check_replace compress -q --rm -f w
strike packed check_decompress decompress -q --rm w.wcodec
strike folder check_folder compress -q d
finish
