#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# A writer of a store of vectors that is killed, or meets a failing system call, at every step that changes files: the store is
# as before or as afterwards, a search says which, and the next writer goes on and leaves no file that the manifest does not name.
. "$top_srcdir/tests/command/lib.sh"
command -v "$PYTHON" >/dev/null 2>&1 || exit 77
build_strike || { skip 'no library can be put in front'; finish; }
export WCODEC_BACKEND=cpu WCODEC_THREADS=1
cat >make.py <<'PY'
import struct
rows = [[(i * 37 + j * j * 11) % 101 for j in range(4)] for i in range(40)]
def npy(name, rows):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }" % len(rows)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = b"".join(struct.pack("<4f", *r) for r in rows)
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
npy("rows.npy", rows)
npy("more.npy", rows[:5])
PY
run 0 "$PYTHON" make.py
run 0 "$WCODEC" vectors add -q --anchors=3 origin rows.npy
run 0 "$WCODEC" vectors add -q origin more.npy
run 0 "$WCODEC" vectors remove origin 3 41

# found STORE FILE: what is found there, and how many vectors and segments there are.
found () {
    "$WCODEC" vectors search --nearest=43 "$1" more.npy >"$2" 2>&1
    "$WCODEC" vectors info --json "$1" 2>&1 | sed 's/.*"rows"/"rows"/; s/"anchors".*//' >>"$2"
}

# strike ARGUMENTS...: vectors ARGUMENTS at the first step, the second, and so on, until all is done before.
strike () {
    cp -R origin whole
    run 0 "$WCODEC" vectors "$@"
    found origin before
    found whole after
    if cmp -s before after; then fail "nothing is changed by $*"; fi
    for with in SIGNAL=9 ERRNO=28; do
        at=0 over=0 old=0 new=0
        while [ $over -lt 3 ] && [ $at -lt 200 ]; do
            at=$((at + 1))
            rm -rf other
            mv whole other
            cp -R origin whole
            env LD_PRELOAD="$work/strike.so" STRIKE_AT=$at STRIKE_$with "$WCODEC" vectors "$@" >out 2>err
            code=$?
            case $with:$code in
            *:0) over=$((over + 1)) ;;
            SIGNAL=9:137|ERRNO=*:1) over=0 ;;
            *) fail "exit code $code: $with at step $at of $*: $(cat err)" ;;
            esac
            found whole now
            if cmp -s now before; then old=$((old + 1)); elif cmp -s now after; then new=$((new + 1))
            else fail "neither before nor after: $with at step $at of $*: $(cat now)"; fi
            [ $code -ne 0 ] || cmp -s now after || fail "done, but as before: $with at step $at of $*"
        done
        # The next one finds its way, and leaves as many files as there are to be.
        run 0 "$WCODEC" vectors compact -q whole
        is "$(find whole -type f | grep -c .)" 3
        if [ $old -gt 2 ] && [ $new -gt 2 ] && [ $at -lt 200 ]; then pass
        else fail "$at steps, $old as before, $new as afterwards: $with, $*"; fi
    done
    rm -rf whole other
}

strike compact -q whole
strike add -q whole more.npy
strike remove whole 7 40
finish
