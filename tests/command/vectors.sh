#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# wcodec vectors: train, info, evaluate and export, and what they refuse.
. "$top_srcdir/tests/command/lib.sh"
command -v "$PYTHON" >/dev/null 2>&1 || exit 77

# The published test data, as NumPy and safetensors files.
cat >make.py <<'PY'
import json, math, struct
def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]
tenth = f32(0.1)
def rows(n, d):
    return [f32(5 * (i // d % 3) + 0.5 * f32(math.sin(f32(f32(i) * tenth)))) for i in range(n * d)]
def npy(name, dtype, shape, data, fortran=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (dtype, fortran, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
def safetensors(name, tensors):
    header, body = {}, b""
    for key, dtype, shape, data in tensors:
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + body)
big, small = rows(1000, 64), rows(300, 64)
half = struct.pack("<64000e", *big)
npy("big.npy", "<f2", "(1000, 64)", half)
small = [struct.unpack("<e", struct.pack("<e", x))[0] for x in small]
npy("small.npy", "<f4", "(300, 64)", struct.pack("<19200f", *small))
columns = [small[i * 64 + j] for j in range(64) for i in range(300)]
npy("columns.npy", "<f4", "(300, 64)", struct.pack("<19200f", *columns), True)
few = rows(40, 6)
bf16 = b"".join(struct.pack("<f", x)[2:] for x in few)
safetensors("many.safetensors", [
    ("embed", "F16", [1000, 64], half), ("bf16", "BF16", [40, 6], bf16), ("line", "F32", [7], bytes(28)),
    ("cube", "F16", [2, 2, 2], bytes(16)), ("whole", "I32", [5, 2], bytes(40)), ("none", "F32", [0, 4], b"")])
wrong = [x for x in few]
wrong[17 * 6 + 4] = math.nan
npy("nan.npy", "<f4", "(40, 6)", struct.pack("<240f", *wrong))
wrong[17 * 6 + 4] = 1e6
npy("large.npy", "<f4", "(40, 6)", struct.pack("<240f", *wrong))
npy("long.npy", "<f2", "(70000, 4)", struct.pack("<280000e", *[i * 7919 % 1000 / 100 for i in range(280000)]))
npy("wide.npy", "<f4", "(20000, 16)", struct.pack("<320000f", *[i * 7919 % 1000 / 100 for i in range(320000)]))
PY
run 0 "$PYTHON" make.py
"$WCODEC" compress -q many.safetensors

# What the published runs were made with.
published='--schedule=compat --cooling=0.05 --step=0.2 --max-iterations=50 --tolerance=1e-3 --min-changes=1 --maintenance=20'
# lines EXPRESSION: true of the iterations that the last run printed.
lines () {
    cp "$work/out" lines
    if "$PYTHON" -c 'import json, sys
d = [json.loads(line) for line in open("lines")]
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)' "$1"; then pass; else fail "not so: $1 in $(tail -n 1 lines)"; fi
}

# Golden energies, from each kind of file.
# shellcheck disable=SC2086
for file in big.npy 'many.safetensors --tensor=embed' 'many.safetensors.wcodec --tensor=embed'; do
    run 0 "$WCODEC" vectors train --anchors=32 $published --json -f -o set $file
    says '1000 vectors of 64 dimensions, 32 anchors, 8 iterations, energy 0.287837, 3.17 % of F32'
    lines 'len(d) == 8 and abs(d[-1]["energy"] - 0.287837) < 2e-6'
    lines '[x["iteration"] for x in d] == list(range(1, 9)) and d[0]["changes"] == 1000 and d[7]["anchors"] == 32'
    lines 'abs(d[1]["temperature"] - 0.9025) < 1e-9 and set(d[0]) >= {"temperature", "energy", "changes", "anchors"}'
    cat set.idx set.anchors.bin set.assign.bin >whole
    [ -e first ] || cp whole first
    same first whole "$file"
done
is "$(size_of set.idx) $(size_of set.anchors.bin) $(size_of set.assign.bin)" '19 4096 4000'
# shellcheck disable=SC2086
for file in small.npy columns.npy; do
    run 0 "$WCODEC" vectors train --anchors=10 $published --json -q -f -o rows $file; quiet
    lines 'abs(d[19]["energy"] - 2.339) < 5e-4'
done

# A device finds the same, if there is one. One that cannot be used is an error.
# shellcheck disable=SC2086
if "$WCODEC" vectors train -q --backend=opencl --anchors=32 $published -o device big.npy 2>messages; then
    same set.anchors.bin device.anchors.bin; same set.assign.bin device.assign.bin
else
    is "$(grep -c 'opencl cannot be used' messages)" 1
fi
run 4 "$WCODEC" vectors train --backend=nosuch --anchors=3 -o none small.npy; says 'nosuch cannot be used'

# The default schedule: the same by each number of threads, another by another seed.
run 0 "$WCODEC" vectors train --anchors=22 -T 1 -o best small.npy; silent; says 'small.npy: tensor .arr_0.: 300 vectors'
run 0 "$WCODEC" vectors train --anchors=22 -T 3 --json -o again columns.npy
lines 'd[-1]["energy"] < 0.5 and d[-1]["temperature"] == 0'
same best.anchors.bin again.anchors.bin; same best.assign.bin again.assign.bin
run 0 "$WCODEC" vectors train --anchors=22 --seed=5 --max-iterations=2 --json -o seed small.npy
lines 'len(d) == 2'
if cmp -s best.anchors.bin seed.anchors.bin; then fail 'a seed changes nothing'; else pass; fi
run 0 "$WCODEC" vectors train --anchors=3 -v -o bf16 --tensor=bf16 - <many.safetensors
says 'standard input: tensor .bf16.: iteration 1: energy '

run 0 "$WCODEC" vectors info set; quiet; prints '^set: 1000 vectors of 64 dimensions, 32 anchors$'
prints '^bytes: 8115, 3.17 % of F32$'; prints '^vectors an anchor: '
run 0 "$WCODEC" vectors info --json set.idx; json out
json_is out 'd["rows"] == 1000 and d["dimensions"] == 64 and d["anchors"] == 32 and d["bytes"] == 8115 and 0 < d["index_bits"] <= 5'
json_is out 'd["smallest"] <= d["largest"] and not d["residuals"]'
run 0 "$WCODEC" vectors evaluate set big.npy; quiet; prints '^energy: 0.28'; prints '^recall@10: 0\.[0-9]*, of 100 queries$'
run 0 "$WCODEC" vectors evaluate --json --queries=20 --nearest=3 set many.safetensors.wcodec --tensor=embed; json out
json_is out 'd["queries"] == 20 and d["nearest"] == 3 and 0 <= d["recall"] <= 1 and abs(d["energy"] - 0.2878) < 1e-2'
run 0 "$WCODEC" vectors evaluate --json --queries=0 set big.npy; json_is out 'd["recall"] is None'
run 0 "$WCODEC" vectors train -q --anchors=1 -o one many.safetensors --tensor=bf16
run 0 "$WCODEC" vectors evaluate one many.safetensors --tensor=bf16; prints 'of 40 queries'

# The same bytes, as a safetensors file.
run 0 "$WCODEC" vectors export -o set.safetensors set; silent; quiet
run 0 "$WCODEC" vectors export -f -o set.safetensors set.idx
run 0 "$WCODEC" compress -q set.safetensors
run 0 "$WCODEC" list --json set.safetensors.wcodec
json_is out '[(t["name"], t["dtype"], t["shape"]) for t in d["files"][0]["tensors"]] == [("index", "U32", [1000]), ("anchors", "F16", [32, 64])]'
"$WCODEC" cat --tensor=anchors -o anchors set.safetensors.wcodec; same anchors set.anchors.bin
"$WCODEC" cat --tensor=index -o index set.safetensors.wcodec; same index set.assign.bin
# As narrow as what it is made of.
chmod 600 set.anchors.bin small.npy
run 0 "$WCODEC" vectors export -f -o set.safetensors set
run 0 "$WCODEC" vectors train -f -q --anchors=2 -o narrow small.npy
for file in set.safetensors narrow.idx narrow.anchors.bin narrow.assign.bin; do
    is "$(stat -c %a $file 2>/dev/null || stat -f %Lp $file)" 600 $file
done

# refused CODE TEXT ARGUMENTS: nothing of an output `x` is there.
refused () {
    code=$1 text=$2
    shift 2
    run "$code" "$WCODEC" vectors "$@"; silent; says "$text"
    missing x.idx x.anchors.bin x.assign.bin
    clean
}
refused 2 'vectors what' -o x
refused 2 "vectors does not 'find'" find -o x big.npy
refused 2 'takes one file' train -o x
refused 2 'takes one input' train -o x --anchors=2 big.npy small.npy
refused 2 'needs -o NAME' train --anchors=2 big.npy
refused 2 'not to standard output' train -o - big.npy
refused 2 'takes no option --queries' train --queries=3 -o x big.npy
refused 2 'set: is a set that train made, but --probes is for stores' evaluate --probes=3 set big.npy
refused 2 'but --first-id is for stores' evaluate --first-id=3 set big.npy
refused 2 'takes no option --seed' evaluate --seed=3 set big.npy
refused 2 'takes no option --output' info -o x set
refused 2 'takes no option --json' export --json -o x.safetensors set
refused 2 'anchors must be a number from 1' train --anchors=0 -o x big.npy
refused 2 'schedule is best or compat, not' train --schedule=fast -o x big.npy
refused 2 'iterations must be a number from 1' train --max-iterations=0 -o x big.npy
refused 2 'a part is a number from 0 to 1' train --cooling=1.5 -o x big.npy
refused 2 'a seed is a number' train --seed=-1 -o x big.npy
refused 2 "nan.npy: tensor 'arr_0': row 17: element 4 is NaN" train --anchors=2 -o x nan.npy
refused 2 "large.npy: tensor 'arr_0': row 17: element 4 is beyond 65504" train --anchors=2 -o x large.npy
refused 2 "small.npy: tensor 'arr_0': 301 anchors for 300 vectors" train --anchors=301 -o x small.npy
refused 2 "small.npy: tensor 'arr_0': 1024 anchors for 300 vectors" train -o x small.npy
refused 2 "many.safetensors: holds 6 tensors: choose one by --tensor" train -o x many.safetensors
refused 2 'one --tensor' train -o x many.safetensors --tensor=bf16 --tensor=embed
refused 1 "many.safetensors: no tensor is called 'nothing'" train -o x many.safetensors --tensor=nothing
refused 2 "many.safetensors: tensor 'line' has the shape \[7\]" train -o x many.safetensors --tensor=line
refused 2 "many.safetensors.wcodec: tensor 'cube' has the shape \[2, 2, 2\]" train -o x many.safetensors.wcodec --tensor=cube
refused 2 "many.safetensors: tensor 'whole' is of I32" train -o x many.safetensors --tensor=whole
refused 2 "many.safetensors: tensor 'none': there are 1 to 4294967294 vectors, and not 0" train -o x many.safetensors --tensor=none
refused 1 'nowhere.npy: cannot open' train -o x nowhere.npy
refused 3 'make.py: no file of tensors' train -o x make.py
refused 1 'cannot open the output.s directory' train --anchors=2 -o none/x big.npy
refused 1 'x.*limit\|memory' train --anchors=2 --memory-limit=100KiB -o x big.npy
mkdir x.assign.bin
run 1 "$WCODEC" vectors train --anchors=2 -o x big.npy; says 'x.assign.bin: is a directory'; missing x.idx x.anchors.bin; clean
rmdir x.assign.bin
cp set.idx before
run 1 "$WCODEC" vectors train --anchors=2 -o set big.npy; says 'set.idx: exists already; -f replaces it'; same set.idx before
refused 2 'needs -o OUT.safetensors' export set
refused 2 'needs -o OUT.safetensors' export -o x.idx set
refused 1 'nothing.idx: cannot open' info nothing
refused 2 'the anchors are of \[1000, 64\] vectors, and not of \[300, 64\]' evaluate set small.npy
refused 2 '1001 queries of 1000' evaluate --queries=1001 set big.npy
refused 2 '1001 neighbours' evaluate --nearest=1001 set big.npy
cp set.idx whole.wcodec; refused 3 'whole.wcodec: ' evaluate whole.wcodec big.npy; rm whole.wcodec
cp set.anchors.bin bad.anchors.bin; cp set.assign.bin bad.assign.bin; cp set.idx bad.idx
poke bad.assign.bin 3 001
refused 3 'bad: row 0 has anchor' info bad
: >bad.assign.bin
refused 3 'bad: indices take 0 bytes, not 4000' evaluate bad big.npy
poke bad.idx 4 002
refused 3 'bad: the index has version 2' export -o x.safetensors bad; missing x.safetensors
rm bad.anchors.bin
refused 1 'bad.anchors.bin: cannot open' info bad

# Interrupted, nothing is there; with -f, what was there before.
cat >interrupt.py <<'PY'
import os, signal, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
for _ in range(3):
    p.stdout.readline()
p.send_signal(signal.SIGTERM)
p.stdout.read()
sys.exit(0 if p.wait() == -signal.SIGTERM else 1)
PY
endless='--schedule=compat --tolerance=0 --cooling=0 --max-iterations=1000000 --maintenance=0 --json'
# shellcheck disable=SC2086
run 0 "$PYTHON" interrupt.py "$WCODEC" vectors train $endless --anchors=8 -o x small.npy
missing x.idx x.anchors.bin x.assign.bin; clean
cat set.idx set.anchors.bin set.assign.bin >before
# shellcheck disable=SC2086
run 0 "$PYTHON" interrupt.py "$WCODEC" vectors train $endless --anchors=8 -f -o set small.npy
cat set.idx set.anchors.bin set.assign.bin >whole; same before whole; clean
# Whoever reads the lines goes away.
# shellcheck disable=SC2086
"$WCODEC" vectors train $endless --anchors=8 -o x small.npy 2>err | head -n 1 >out; prints '"iteration":1,'
missing x.idx x.anchors.bin x.assign.bin; clean

# Rows that are beyond the limit of memory stay in the file: the same anchors.
run 0 "$WCODEC" vectors train -q --anchors=6 --max-iterations=3 -o whole long.npy
run 0 "$WCODEC" vectors train -v --anchors=6 --max-iterations=3 --memory-limit=3600000 -o apart long.npy
says 'rows are read as they are wanted'
for part in idx anchors.bin assign.bin; do same whole.$part apart.$part; done
"$WCODEC" vectors train -q --anchors=6 --memory-limit=1000000 -o x long.npy 2>err; is $? 1; says 'more than the limit of memory'
missing x.idx x.anchors.bin x.assign.bin
# A file that is cut short, or written to, after the first iteration: an error, and no files.
cat >change.py <<'PY'
import os, subprocess, sys
name = sys.argv[2]
run = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE)
run.stdout.readline()
if sys.argv[1] == "cut":
    os.truncate(name, 4096)
else:
    os.utime(name, (1, 1))
run.stdout.read()
sys.exit(run.wait() if run.returncode is None or run.returncode >= 0 else 99)
PY
cp long.npy cut.npy; cp small.npy changed.npy
"$PYTHON" change.py cut cut.npy "$WCODEC" vectors train --json --tolerance=0 --max-iterations=1000 --anchors=64 --memory-limit=3600000 -o x cut.npy 2>err
is $? 1; says 'cut.npy: the file was cut short'
# shellcheck disable=SC2086
"$PYTHON" change.py write changed.npy "$WCODEC" vectors train $endless --max-iterations=1000 --anchors=6 --memory-limit=250000 -o x changed.npy 2>err
is $? 1; says 'changed.npy: the file was changed'
missing x.idx x.anchors.bin x.assign.bin; clean
# Rows that change while they are compressed for a store: it gets none of them.
cat >add.py <<'PY'
import os, subprocess, sys
before = os.listdir("held")
run = subprocess.Popen(sys.argv[1:])
while os.listdir("held") == before and run.poll() is None:
    pass
os.utime("wide.npy", (1, 1))
sys.exit(run.wait())
PY
head -c 32128 wide.npy | sed 's/(20000, 16)/(500, 16)  /' >first.npy
run 0 "$WCODEC" vectors add -q --anchors=6 --bits=4 held first.npy
cp held/vectors.manifest before; ls held >names
"$PYTHON" add.py "$WCODEC" vectors add --recall=0.99 --memory-limit=5000000 held wide.npy 2>err
is $? 1; says 'wide.npy: the file was changed'
same held/vectors.manifest before; is "$(ls held)" "$(cat names)"
# Originals that are cut short after the first queries were printed.
run 0 "$WCODEC" vectors compress -q --anchors=6 --bits=4 -o held.wcodec wide.npy
head -c 128128 wide.npy | sed 's/(20000, 16)/(2000, 16) /' >queries.npy
"$PYTHON" change.py cut wide.npy "$WCODEC" vectors search --json --memory-limit=5000000 --rerank=wide.npy held.wcodec queries.npy 2>err
is $? 1; says 'wide.npy: the file was cut short'
if [ -w /dev/full ]; then
    "$WCODEC" vectors info set >/dev/full 2>err; is $? 1; says 'standard output'
fi
finish
