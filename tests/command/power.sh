#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Power cuts: what the command writes, syncs, links, renames and removes is recorded, and replayed up
# to each call with all lost that was not synced: there is the whole old file or the whole new one, a
# store of vectors as it was or as it was to be, and in the end what was done.
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

# kept FILES NAMES COMMAND...: the power may be cut
kept () {
    cut_power "$@" || return
    if [ "$replay" -eq 0 ]; then pass; else fail "$*: $(head -n 3 replayed; tail -n 1 replayed)"; fi
    echo "$(tail -n 1 replayed): $*"
}
# whole FILES NAMES ARGUMENTS...: of the command
whole () {
    files=$1 names=$2
    shift 2
    kept "$files" "$names" "$WCODEC" "$@"
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
# A folder that is made is on the disk before what it holds is all that there is.
whole w 'w new/w.wcodec' compress -q --rm -O new w
mkdir model
cp w v model/
whole model 'model/w model/v deep/model/w.wcodec deep/model/v.wcodec' compress -q -r model -O deep

# Stores of vectors.
cat >make.py <<'PY'
import struct
for name, count in ("rows.npy", 40), ("more.npy", 5):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }" % count
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = b"".join(struct.pack("<4f", *((i * 37 + j * j * 11) % 101 for j in range(4))) for i in range(count))
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
PY
"$PYTHON" make.py
whole rows.npy store/ vectors add -q --anchors=3 store rows.npy
mv after/store .
whole 'store more.npy' store/ vectors add -q store more.npy
mv after/store two
whole two two/ vectors remove two 3 41
rm -r two
mv after/two .
whole two two/ vectors remove two 4
whole two two/ vectors compact -q two

# A folder that cannot be brought to the disk is none to write into.
if build_preload strike; then
    run 1 env LD_PRELOAD="$work/strike.so" STRIKE_ON=fsync STRIKE_AT=1 STRIKE_ERRNO=5 "$WCODEC" compress -q --rm -O none w
    says 'none: its directory cannot be brought to the disk'; exists w
    run 1 env LD_PRELOAD="$work/strike.so" STRIKE_ON=fsync STRIKE_AT=1 STRIKE_ERRNO=5 "$WCODEC" vectors add -q --anchors=3 fresh rows.npy
    says 'fresh: cannot sync the folder that it is in'; missing fresh
else
    skip 'nothing can be made to fail'
fi

# What the library itself writes under a name.
cp w w.safetensors
for new in compress save; do
    kept w.safetensors 'w.safetensors out' "$here/tests/command/wcodec_saves" $new w.safetensors out
    cp made/v.wcodec out
    kept 'w.safetensors out' 'w.safetensors out' "$here/tests/command/wcodec_saves" $new w.safetensors out
    rm out
done

# Without waiting for the disk half a file is what a power cut may leave: the replay sees that.
cut_power w 'w w.wcodec' "$WCODEC" compress -q --no-sync w
if [ "$replay" -eq 1 ]; then pass; else fail 'what is not synced was taken for whole'; fi
finish
