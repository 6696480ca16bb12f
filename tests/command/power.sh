#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Power cuts: what the command writes, syncs, links, renames and removes is recorded, and replayed up
# to each call with all lost that was not synced: there is the whole old file or the whole new one.
. "$top_srcdir/tests/command/lib.sh"
[ -n "${PYTHON:-}" ] || { skip 'no python3 to replay with'; finish; }
build_preload trace || { skip 'no library can be put in front'; finish; }
export WCODEC_BACKEND=cpu WCODEC_THREADS=2
"$MAKE" w w:BF16:100x300:gauss t:U8:5000:text || exit 99
"$MAKE" v w:BF16:100x300:gauss t:U8:4000:text || exit 99
"$WCODEC" compress -q w
"$WCODEC" compress -q v
mkdir made
mv w.wcodec v.wcodec made/
"$WCODEC" compress -q --base made/v.wcodec -o made/delta w || exit 99

# cut FILES NAMES ARGUMENTS...: the files, of those above and in made, are in a folder, in which the
# command runs.
replay=0
cut () {
    files=$1 names=$2
    shift 2
    rm -rf before after trace
    mkdir before
    for file in $files; do
        cp -p "$file" before/
    done
    cp -Rp before after
    (cd after && env TRACE="$work/trace" LD_PRELOAD="$work/trace.so" "$WCODEC" "$@" >../out 2>../err) ||
        { fail "$*: $(cat err)"; return; }
    [ -s trace ] || { fail "$*: nothing was recorded"; return; }
    # shellcheck disable=SC2086
    "$PYTHON" "$sources/tests/command/replay.py" trace before after $names >replayed
    replay=$?
}
whole () {
    cut "$@"
    if [ $replay -eq 0 ]; then pass; else fail "$*: $(head -n 3 replayed; tail -n 1 replayed)"; fi
    echo "$(tail -n 1 replayed): $*"
}

whole w 'w w.wcodec' compress -q w
whole w 'w w.wcodec' compress -q --rm w
whole 'w made/v.wcodec' 'w v.wcodec' compress -q -f -o v.wcodec w
whole made/w.wcodec 'w w.wcodec' decompress -q w.wcodec
whole made/w.wcodec 'w w.wcodec' decompress -q --rm w.wcodec
whole 'v made/w.wcodec' 'v w.wcodec' decompress -q -f -o v w.wcodec
whole 'made/delta made/v.wcodec' 'delta v.wcodec new' rebase -q --base v.wcodec -o new delta
cp made/w.wcodec made/new
whole 'made/delta made/v.wcodec made/new' 'delta v.wcodec new' rebase -q -f --base v.wcodec -o new delta
# Without waiting for the disk half a file is what a power cut may leave: the replay sees that.
cut w 'w w.wcodec' compress -q --no-sync w
if [ $replay -eq 1 ]; then pass; else fail 'what is not synced was taken for whole'; fi
finish
