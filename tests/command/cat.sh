#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# cat (extract), slices, single tensors as safetensors; decompress --tensor and --only.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" -s 3 -m who=me a.safetensors m:BF16:50x300:gauss n:F32:7x5x3:gauss s:F64::gauss \
    e:F16:0x4:gauss p:F4:64x6:random q:F4:6x3:random l.1:I8:70000:gauss l.2:I8:70000:same || exit 99
"$WCODEC" compress -q a.safetensors
W=a.safetensors.wcodec
header=$(($(od -An -tu8 -N 8 a.safetensors) + 8))

# part OFFSET SIZE: bytes of the data in the original.
part () {
    tail -c +$((header + $1 + 1)) a.safetensors | head -c "$2" >part
}
run 0 "$WCODEC" cat --tensor=m $W; quiet
part 0 30000; same out part 'tensor m'
run 0 "$WCODEC" extract --tensor=n $W; part 30000 420; same out part 'tensor n'
run 0 "$WCODEC" cat --tensor=s $W; part 30420 8; same out part 'rank 0'
run 0 "$WCODEC" cat --tensor=e $W; silent
run 0 "$WCODEC" cat --tensor=l.2 $W; "$WCODEC" cat --tensor=l.1 $W >part; same out part 'equal tensors'
run 0 "$WCODEC" cat --tensor=m --slice=3:10 $W; part $((3 * 600)) $((7 * 600)); same out part 'rows 3 to 9'
run 0 "$WCODEC" cat --tensor=m --slice=:1 $W; part 0 600; same out part
run 0 "$WCODEC" cat --tensor=m --slice=49: $W; part $((49 * 600)) 600; same out part
run 0 "$WCODEC" cat --tensor=m --slice=: $W; part 0 30000; same out part
run 0 "$WCODEC" cat --tensor=m --slice=5:5 $W; silent
run 0 "$WCODEC" cat --tensor=n --slice=6:7 $W; part $((30000 + 6 * 60)) 60; same out part
run 0 "$WCODEC" cat --tensor=p --slice=10:20 $W; part $((30428 + 30)) 30; same out part 'packed rows'
run 0 "$WCODEC" cat --tensor=l.1 --slice=65000:66000 $W; part $((30428 + 192 + 9 + 65000)) 1000
same out part 'across tiles'
run 0 "$WCODEC" cat --no-checksum --tensor=m $W; part 0 30000; same out part
run 2 "$WCODEC" cat --tensor=m --slice=0:51 $W; says 'outside'; silent
run 2 "$WCODEC" cat --tensor=m --slice=51: $W
run 2 "$WCODEC" cat --tensor=s --slice=0:1 $W; says 'no rows'
run 2 "$WCODEC" cat --tensor=q --slice=0:1 $W
run 1 "$WCODEC" cat --tensor=nope $W; says "no tensor is called 'nope'"; silent

# To files.
run 0 "$WCODEC" cat --tensor=m -o m.raw $W; silent
part 0 30000; same m.raw part
run 1 "$WCODEC" cat --tensor=m -o m.raw $W; says 'exists already'
run 0 "$WCODEC" cat --tensor=m -f -o m.raw $W
run 0 "$WCODEC" cat --tensor=m --slice=2:4 -o m.safetensors $W
is "$(($(od -An -tu8 -N 8 m.safetensors) % 8))" 0 'the data is aligned'
run 0 "$WCODEC" compress --strict -q m.safetensors
run 0 "$WCODEC" list --json m.safetensors.wcodec
json_is out '[(t["name"], t["dtype"], t["shape"]) for t in d["files"][0]["tensors"]] == [("m", "BF16", [2, 300])]'
run 0 "$WCODEC" cat --tensor=m m.safetensors.wcodec; part 1200 1200; same out part
for t in n s e p l.2; do
    run 0 "$WCODEC" cat --tensor=$t -o $t.safetensors $W
    run 0 "$WCODEC" compress --strict -q $t.safetensors
    "$WCODEC" cat --tensor=$t $W >part
    run 0 "$WCODEC" cat --tensor=$t $t.safetensors.wcodec; same out part "tensor $t through a file of its own"
done

# Some of the tensors.
run 2 "$WCODEC" decompress --tensor=m $W; says 'need -o'
run 0 "$WCODEC" decompress --tensor=n --only='l.*' -o some.safetensors $W
run 0 "$WCODEC" compress --strict -q some.safetensors
run 0 "$WCODEC" info --json some.safetensors.wcodec
json_is out '[t["name"] for t in d["files"][0]["tensors"]] == ["n", "l.1", "l.2"]'
json_is out 'd["files"][0]["metadata"] == {"who": "me"}'
run 0 "$WCODEC" decompress --only='?' -c $W; cp out letters.safetensors
run 0 "$WCODEC" compress --strict -q letters.safetensors
run 0 "$WCODEC" list --json letters.safetensors.wcodec; json_is out 'len(d["files"][0]["tensors"]) == 6'
run 1 "$WCODEC" decompress --only='zz*' -o none.safetensors $W; says 'no tensor matches'
missing none.safetensors
run 1 "$WCODEC" decompress --tensor=nope -o none.safetensors $W; missing none.safetensors
printf 'no tensors here' >opaque
"$WCODEC" compress -q opaque
run 1 "$WCODEC" decompress --only='*' -o none.safetensors opaque.wcodec; says 'no tensors'
run 1 "$WCODEC" cat --tensor=x opaque.wcodec
run 0 "$WCODEC" decompress --no-checksum -o back $W; same back a.safetensors
clean
# What is cut out of a private file is as private as that.
cp $W private.wcodec
for mode in 600 640 644; do
    chmod $mode private.wcodec
    for out in one.bin one.safetensors; do
        run 0 "$WCODEC" cat --tensor=m -o $out private.wcodec
        is "$(stat -c %a $out)" $mode
        rm $out
    done
done
rm private.wcodec
finish
