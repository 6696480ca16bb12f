#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# wcodec vectors: compress, add, remove and search, info and export of what they make, and what they refuse.
. "$top_srcdir/tests/command/lib.sh"
command -v "$PYTHON" >/dev/null 2>&1 || exit 77

# Clusters; the vectors that are nearest to rows 0, 1 and 2, and these as queries.
cat >make.py <<'PY'
import json, math, random, struct
random.seed(5)
D = 12
centres = [[random.gauss(0, 4) for _ in range(D)] for _ in range(9)]
rows = [[c + random.gauss(0, 1) for c in random.choice(centres)] for _ in range(500)]
rows = [list(struct.unpack("<12f", struct.pack("<12f", *r))) for r in rows]
def npy(name, rows, dtype="f"):
    text = "{'descr': '<%s4', 'fortran_order': False, 'shape': (%d, %d), }" % (dtype, len(rows), len(rows[0]))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = b"".join(struct.pack("<%d%s" % (len(r), dtype), *r) for r in rows)
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
npy("all.npy", rows)
npy("few.npy", rows[:3])
npy("more.npy", [[x + 100 for x in r] for r in rows[:20]])
npy("narrow.npy", [r[:5] for r in rows])
npy("nan.npy", [r[:11] + [math.nan if i == 7 else 0] for i, r in enumerate(rows)])
npy("late.npy", [r[:11] + [math.inf if i == 1100 else 0] for i, r in enumerate(rows + rows + rows)])
npy("whole.npy", [[1, 2], [3, 4]], "i")
nearest = []
for q in rows[:3]:
    d = sorted((sum((a - b) ** 2 for a, b in zip(q, r)), i) for i, r in enumerate(rows))
    nearest.append([i for _, i in d[:10]])
json.dump(nearest, open("nearest.json", "w"))
PY
run 0 "$PYTHON" make.py

# found PART: so much of the nearest was found by the last run.
found () {
    if "$PYTHON" -c 'import json, sys
want = json.load(open("nearest.json"))
got = [json.loads(line) for line in open(sys.argv[1])]
same = sum(len({h["id"] for h in g["nearest"]} & set(w)) for g, w in zip(got, want))
sys.exit(0 if [g["query"] for g in got] == [0, 1, 2] and same >= float(sys.argv[2]) * 30 else 1)' "$work/out" "$1"
    then pass; else fail "fewer than $1 found: $(cat "$work/out")"; fi
}

run 0 "$WCODEC" vectors compress --anchors=8 -o all.wcodec all.npy; silent
says 'all.wcodec: 500 vectors of 12 dimensions, 8 anchors, .* bits a dimension, energy .* of F32'
run 0 "$WCODEC" test all.wcodec
run 0 "$WCODEC" vectors search --json all.wcodec few.npy; quiet; found 0.9
run 0 "$WCODEC" vectors search --nearest=1 --metric=cosine all.wcodec few.npy
is "$(sed 's/ (.*//' "$work/out" | tr '\n' ' ')" '0: 0 1: 1 2: 2 '
run 0 "$WCODEC" vectors info all.wcodec; quiet; prints 'all.wcodec: 500 vectors of 12 dimensions, 8 anchors'
prints 'segments: 1, 0 vectors removed, next id 500'
# The same by every number of threads, fewer bits by asking for them; a decoded tensor.
run 0 "$WCODEC" vectors compress -T 1 -q --anchors=8 -o again.wcodec all.npy; quiet; same all.wcodec again.wcodec
run 0 "$WCODEC" vectors compress --json -q --anchors=8 --bits=2 -o two.wcodec - <all.npy; json out
json_is out 'abs(d["bits"] - 2) < 0.2 and d["recall"] is None and d["anchors"] == 8 and d["first_id"] is None'
json_is out 'd["bytes"] < 6000 and abs(d["ratio"] * 4 * 500 * 12 - d["bytes"]) < 1'
run 0 "$WCODEC" vectors export -o two.safetensors two.wcodec; silent; quiet
run 0 "$WCODEC" compress -q two.safetensors
run 0 "$WCODEC" list --json two.safetensors.wcodec
json_is out '[(t["name"], t["dtype"], t["shape"]) for t in d["files"][0]["tensors"]] == [("vectors", "F32", [500, 12])]'
run 0 "$WCODEC" vectors search --probes=8 --json two.wcodec few.npy; found 0.5
# By the originals all of the nearest, whatever file these are in.
"$PYTHON" -c 'import json, struct
data = open("all.npy", "rb").read()[-24000:]
head = json.dumps({"a": {"dtype": "F32", "shape": [500, 12], "data_offsets": [0, 24000]},
    "c": {"dtype": "F32", "shape": [2, 12], "data_offsets": [24000, 24096]}}).encode()
open("two:files.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + data + bytes(96))'
run 0 "$WCODEC" compress -q -o originals.wcodec two:files.safetensors
run 0 "$WCODEC" vectors search --json --rerank=all.npy --rerank-factor=50 two.wcodec few.npy; found 1
cp "$work/out" exact
for original in two:files.safetensors:a originals.wcodec:a; do
    run 0 "$WCODEC" vectors search --json --rerank=$original --rerank-factor=50 two.wcodec few.npy
    cp "$work/out" again; same again exact "by $original"
done
run 0 "$WCODEC" vectors search --nearest=1 --rerank=all.npy two.wcodec few.npy; prints '^2: 2 (0)$'
run 0 "$WCODEC" vectors search -v --json --probes-recall=0.9 all.wcodec few.npy; found 0.8; says 'few.npy: .* probe'

# Only vectors whose bits are set, whatever is nearer; none beyond the bits.
"$PYTHON" -c 'open("bits", "wb").write(bytes([0b00100010, 0, 0, 0, 0x80]))'
run 0 "$WCODEC" vectors search --nearest=4 --filter=bits all.wcodec few.npy; quiet
is "$(sed 's/([^)]*)//g' "$work/out" | tr -s ' ' '\n' | grep -v : | sort -nu | tr '\n' ' ')" '1 5 39 '
run 0 "$WCODEC" vectors search --nearest=1 --filter=bits --rerank=all.npy all.wcodec few.npy; prints '^1: 1 (0)$'
: >none
run 0 "$WCODEC" vectors search --nearest=2 --filter=none all.wcodec few.npy; prints '^2:$'
# What a search finds of the nearest: more by more bits and probes.
run 0 "$WCODEC" vectors evaluate all.wcodec all.npy; quiet; prints '^recall@10: [01]\.[0-9]*, of 100 queries$'; prints '^bytes: .* of F32$'
# recall PART ARGUMENTS...: so much or more, and no more than that of the one before
above=1.1
recall () {
    least=$1
    shift
    run 0 "$WCODEC" vectors evaluate --json --queries=500 "$@"; json out
    json_is out "$least <= d['recall'] <= $above and d['queries'] == 500 and d['rows'] <= 500"
    above=$("$PYTHON" -c 'import json; print(json.load(open("out"))["recall"])')
}
recall 0.95 all.wcodec all.npy
recall 0.5 two.wcodec all.npy
recall 0.05 --probes=1 two.wcodec all.npy
run 0 "$WCODEC" vectors evaluate --json --queries=0 --metric=cosine two.wcodec all.npy; json_is out 'd["recall"] is None'
above=1.1
run 0 "$WCODEC" vectors add -q --anchors=8 --first-id=100 some all.npy
run 0 "$WCODEC" vectors remove some 100 101 350 599
recall 0.95 --first-id=100 some all.npy
run 2 "$WCODEC" vectors evaluate some all.npy; says 'the original has no row of vector'
run 2 "$WCODEC" vectors evaluate --nearest=496 some all.npy; says '496 neighbours of 496'
run 2 "$WCODEC" vectors evaluate --queries=501 some all.npy; says '501 queries of 500'
for queries in 0 100; do
    run 2 "$WCODEC" vectors evaluate --queries=$queries some narrow.npy; says '^wcodec: error: narrow.npy: .* 5 dimensions'
done
# With as few as are asked for, and with none, only their size.
"$PYTHON" -c 'print(*(i for i in range(107, 600) if i != 350 and i != 599))' >ids
run 0 xargs "$WCODEC" vectors remove some <ids
run 0 "$WCODEC" vectors evaluate --first-id=100 --nearest=4 some all.npy; quiet; prints '^recall@4: '
run 0 "$WCODEC" vectors evaluate --first-id=100 some all.npy; quiet; is "$(sed 's:[0-9.]::g' "$work/out")" 'bytes: ,  % of F'
run 2 "$WCODEC" vectors evaluate --nearest=10 some all.npy; says '^wcodec: error: some: 10 neighbours of 5 '
run 0 "$WCODEC" vectors remove some 102 103 104 105 106
run 0 "$WCODEC" vectors evaluate --json some all.npy; json_is out 'd["rows"] == 0 and d["recall"] is None'
run 2 "$WCODEC" vectors evaluate --queries=0 --nearest=4294967294 some all.npy; says 'at most 1000'
rm -r some
run 1 "$WCODEC" vectors evaluate --probes=3 some all.npy; says 'some.idx: cannot open'

# A store: ids, adding by the anchors that are there, removing.
run 0 "$WCODEC" vectors add --json --anchors=8 store all.npy; json out
json_is out 'd["first_id"] == 0 and d["rows"] == 500 and d["recall"] >= 0.95'
run 0 "$WCODEC" vectors search --json store few.npy; found 0.9
run 0 "$WCODEC" vectors add --first-id=1000 --json -q store more.npy; json out
json_is out 'd["first_id"] == 1000 and d["recall"] is None'
run 0 "$WCODEC" vectors info --json store; json out
json_is out '(d["rows"], d["removed"], d["segments"], d["next_id"]) == (520, 0, 2, 1020)'
run 0 "$WCODEC" vectors search --nearest=3 store more.npy; prints '^19: 1019 '
run 0 "$WCODEC" vectors remove store 0 1019; silent; quiet
run 0 "$WCODEC" vectors search --nearest=1 store few.npy; prints '^1: 1 ('
if grep -q '^0: 0 ' "$work/out"; then fail 'a removed vector is found'; else pass; fi
run 0 "$WCODEC" vectors info store; prints 'store: 518 vectors'; prints '2 vectors removed'

# Compacted it finds the same.
run 0 "$WCODEC" vectors search --metric=cosine store few.npy; cp "$work/out" found
cp -R store copy
run 0 "$WCODEC" vectors compact --json -q copy; json out
json_is out '(d["segments_before"], d["segments"], d["rows"], d["dropped"]) == (2, 1, 518, 2)'
run 0 "$WCODEC" vectors search --metric=cosine copy few.npy; same "$work/out" found
run 0 "$WCODEC" vectors compact copy; silent; says 'copy: 518 vectors in 1 segments, before in 1, 0 removed ones dropped'

# Another process has the lock; a first add that fails leaves nothing.
"$PYTHON" -c 'import fcntl, subprocess, sys
lock = open("store/lock")
fcntl.flock(lock, fcntl.LOCK_EX)
sys.exit(subprocess.run(sys.argv[1:], close_fds=True).returncode)' "$WCODEC" vectors remove store 5 2>"$work/busy"
is $? 5
is "$(cat "$work/busy")" 'wcodec: error: store: another is changing the store'
run 2 "$WCODEC" vectors add new nan.npy; says 'row 7: element 11 is NaN'; missing new

cp store/vectors.manifest before
mkdir empty
refused () {
    code=$1 text=$2
    shift 2
    run "$code" "$WCODEC" vectors "$@"; silent; says "$text"
    missing x.wcodec
    same store/vectors.manifest before
    clean
}
refused 2 'takes one file of tensors' compress -o x.wcodec
refused 2 'needs -o OUT.wcodec' compress all.npy
refused 2 'needs -o OUT.wcodec' compress -o x all.npy
refused 2 'bits are 0.5 to 7, not' compress --bits=8 -o x.wcodec all.npy
refused 2 'above 0 and below 1, not' compress --recall=1 -o x.wcodec all.npy
refused 2 'and not both' compress --recall=.5 --bits=3 --anchors=8 -o x.wcodec all.npy
refused 2 'row 7: element 11 is NaN' compress -o x.wcodec nan.npy
refused 2 'is of I32' compress -o x.wcodec whole.npy
refused 2 'takes no option --first-id' compress --first-id=3 -o x.wcodec all.npy
refused 2 'takes no option --output' remove -o x.wcodec store
refused 2 'takes a store, and one file' add store
refused 2 'store: id 1019 was used: the first that never was is 1020' add --first-id=1019 store all.npy
refused 2 'store: 500 ids from 9223372036854775800 on are not all below 2^63' add --first-id=9223372036854775800 store all.npy
refused 2 "an id is a number from 0 to 2^63 - 1, not '9223372036854775808'" add --first-id=9223372036854775808 store all.npy
refused 2 "not '9223372036854775808'" remove store 9223372036854775808
refused 2 'store: vectors of 5 dimensions, but those there have 12' add store narrow.npy
refused 2 'row 7: element 11 is NaN' add store nan.npy
refused 2 'takes a store, and ids' remove store
refused 2 "not 'x'" remove store 3 x
refused 1 'store: there is no vector of id 1019' remove store 3 1019
refused 2 'takes a store' compact store store
refused 2 'empty: no store of vectors' compact empty
refused 2 'takes a store, and a file' search store
refused 2 'queries of 5 dimensions, but the vectors have 12' search store narrow.npy
refused 2 "nan.npy: tensor 'arr_0': row 7: element 11 is NaN" search store nan.npy
refused 2 'needs a file with a bit for each id' search --filter= store few.npy
refused 1 'nothing' search --filter=nothing store few.npy
refused 2 'and not standard input' search --filter=- store few.npy
refused 2 'takes no option --filter' evaluate --filter=bits store all.npy
refused 2 '600 nearest of 518' search --nearest=600 store few.npy
refused 2 'at most 4096 neighbours' search --nearest=4097 store few.npy
refused 2 'narrow.npy: the original has rows of 5 dimensions, but the vectors have 12' search --rerank=narrow.npy store few.npy
refused 2 'originals.wcodec:c: the original has no row of vector' search --rerank=originals.wcodec:c store few.npy
refused 2 'nan.npy: the original: the row of vector 7 has elements that are NaN' search --rerank=nan.npy --rerank-factor=100 store few.npy
refused 2 'choose one by --rerank=FILE:TENSOR' search --rerank=originals.wcodec store few.npy
refused 1 "no tensor is called 'b'" search --rerank=originals.wcodec:b store few.npy
refused 1 'nothing: ' search --rerank=nothing store few.npy
refused 2 'exclude each other' search --probes=3 --probes-recall=0.9 store few.npy
refused 2 'above 0 and below 1' search --probes-recall=1 store few.npy
refused 2 'need --rerank' search --rerank-factor=3 store few.npy
refused 2 'from 1 to 1000, not' search --rerank=all.npy --rerank-factor=0 store few.npy
refused 2 'takes no option --queries' search --queries=3 store few.npy
refused 2 'metric is l2, inner-product or cosine, not' search --metric=l3 store few.npy
refused 1 'nothing: ' search nothing few.npy
refused 2 'two.safetensors.wcodec: no segment of vectors' search two.safetensors.wcodec few.npy
refused 2 'no segment of vectors' export -o x.safetensors two.safetensors.wcodec
refused 2 'empty: no store of vectors' search empty few.npy
poke store/vectors.manifest 20 070
cp store/vectors.manifest before
refused 3 "vectors.manifest: the manifest's check differs" search store few.npy
refused 3 "vectors.manifest: the manifest's check differs" add store all.npy
# Of many queries, none is answered before the last is good.
refused 2 "late.npy: tensor 'arr_0': row 1100: element 11 is infinite" search all.wcodec late.npy
silent
# What does not fit a store is said of the file.
run 0 "$WCODEC" vectors add -q --anchors=4 --bits=3 whole all.npy
cp whole/vectors.manifest whole.before
refused 2 "narrow.npy: tensor 'arr_0': whole: vectors of 5 dimensions, but those there have 12" add whole narrow.npy
refused 2 "nan.npy: tensor 'arr_0': row 7: element 11 is NaN" add whole nan.npy
refused 2 "few.npy: .*: id 499 was used" add --first-id=499 whole few.npy
same whole.before whole/vectors.manifest
# What is made of a private file is as private, and so is what the store becomes by it.
cp all.npy private.npy
chmod 600 private.npy
run 0 "$WCODEC" vectors add -q --anchors=4 private private.npy
is "$(stat -c %a private private/*.wcodec private/vectors.manifest | tr '\n' ' ')" '700 600 600 '
run 0 "$WCODEC" vectors add -q --anchors=4 shared all.npy
is "$(stat -c %a shared shared/*.wcodec shared/vectors.manifest | tr '\n' ' ')" '755 644 644 '
run 0 "$WCODEC" vectors add -q shared private.npy
run 0 "$WCODEC" vectors compact -q shared
is "$(stat -c %a shared shared/*.wcodec shared/vectors.manifest | tr '\n' ' ')" '755 600 600 '
finish
