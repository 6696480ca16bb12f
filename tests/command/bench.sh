#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# bench: every class, coder and operation once; nothing is written; ratios that cannot be wrong.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" a.safetensors w:BF16:200x1000:gauss v:BF16:100x1000:gauss i:I8:50000:gauss \
    n:U8:50000:random p:F4:64x100:random || exit 99
"$WCODEC" compress -q a.safetensors
printf 'opaque bytes, again and again and again and again and again' >opaque
ls -A >before

run 0 "$WCODEC" bench -n 1 -T 2 --json a.safetensors; quiet; json out
json_is out 'all(set(r) >= {"coder", "backend", "operation", "level", "threads", "name", "dtype",
    "elements", "bytes", "coded_bytes", "seconds", "gb_per_s"} for r in d["results"])'
json_is out '{r["dtype"] for r in d["results"]} == {"BF16", "I8", "U8", "F4"}'
json_is out '{r["coder"] for r in d["results"]} >= {"wcodec", "memcpy", "zstd-1", "zstd-3", "zstd-19"}'
json_is out '{(r["operation"], r["threads"]) for r in d["results"] if r["coder"] == "wcodec" and
    r["dtype"] == "BF16"} ==
    {(o, t) for o in ("encode", "encode-verify", "decode", "decode-nocheck") for t in (1, 2)}'
json_is out 'all(r["seconds"] > 0 and abs(r["gb_per_s"] - r["bytes"] / r["seconds"] / 1e9) <=
    1e-5 + r["gb_per_s"] * 1e-4 for r in d["results"])'
json_is out 'all(r["bytes"] == 600000 and r["elements"] == 300000 for r in d["results"] if r["dtype"] == "BF16")'
json_is out 'all(r["elements"] == 6400 and r["bytes"] == 3200 for r in d["results"] if r["dtype"] == "F4")'
json_is out 'all(8 * r["coded_bytes"] < 1.1 * r["order0_bits"] for r in d["results"] if
    r["coder"] == "wcodec" and r["dtype"] == "BF16")'
json_is out 'all(0.9 < r["order0_bits"] / 8 / r["bytes"] <= 1 for r in d["results"] if r["dtype"] == "U8")'
json_is out 'all(r["threads"] == 1 for r in d["results"] if r["coder"] != "wcodec")'
run 0 "$WCODEC" bench -n 1 -T 1 --sample=100KiB --json a.safetensors.wcodec; json out
json_is out 'all(r["bytes"] <= 102400 for r in d["results"]) and {r["threads"] for r in d["results"]} == {1}'
run 0 "$WCODEC" bench -n 2 -1 --sample=64KiB a.safetensors opaque; quiet
prints '^DTYPE  *CODER  *BACKEND  *OPERATION  *THREADS  *RATIO  *BITS  *BOUND  *GB/S  *OF COPY$'
prints '^opaque  *wcodec '
prints '^BF16  *zstd-19  *cpu  *decode '
run 0 "$WCODEC" bench -n 1 --backend=all --sample=16KiB a.safetensors
prints '^BF16  *wcodec  *cpu  *load '
run 0 "$WCODEC" bench -n 1 --backend=cpu --json a.safetensors; json out
json_is out 'any(r["operation"] == "kernel" and r["gb_per_s"] > 0 and r["of_copy"] is None for r in d["results"])'
json_is out 'any(r["operation"] == "load" and r["gb_per_s"] > 0 and r["of_copy"] is None for r in d["results"])'
run 1 "$WCODEC" bench -n 1 missing
# A cell that is wider than its column.
"$MAKE" one.safetensors x:U8:1:random || exit 99
run 0 "$WCODEC" bench -n 1 one.safetensors
prints '^U8  *wcodec .* [0-9]\{4,\}\.0000 '
if [ "$(size_of out)" -lt 10000 ]; then pass; else fail "a table of $(size_of out) bytes"; fi
rm one.safetensors
# Nothing to measure, and what is no ordinary file.
: >empty
run 1 "$WCODEC" bench -n 1 empty; says 'empty: holds nothing to measure'; silent
"$MAKE" empty e:F32:0x3:zero || exit 99
run 1 "$WCODEC" bench -n 1 empty; says 'nothing to measure'
rm empty
run 1 "$WCODEC" bench -n 1 - </dev/null; says 'nothing to measure'
run 1 "$WCODEC" bench -n 1 /dev/zero; says 'is a device'
mkfifo fifo
cat opaque >fifo &
run 0 "$WCODEC" bench -n 1 fifo; prints '^opaque  *wcodec '
wait
rm fifo
if [ -s /proc/self/status ] || ! [ -r /proc/self/status ]; then
    skip 'no /proc whose files say that they are empty'
else
    run 1 "$WCODEC" bench -n 1 /proc/self/status; says 'no ordinary file'
fi
# Recurrent models: all rows, and an ensemble's memory as it was said.
run 0 "$WCODEC" bench --recurrent -n 1 -T 2 --json; quiet; json out
json_is out '{(r["operation"], r["threads"]) for r in d["results"]} == {("memory", 1), ("features", 1)} |
    {(o, t) for o in ("open", "rollout", "open-step", "step", "sequences", "features-batch") for t in (1, 2)}'
json_is out '{(r["ensemble"], r["hidden"], r["steps"]) for r in d["results"] if r["operation"] == "rollout"} ==
    {(5, h, 50) for h in (64, 128, 256, 512, 1024)}'
json_is out 'all(r["seconds"] > 0 and r["iterations"] >= 1 for r in d["results"] if r["operation"] != "memory")'
json_is out 'all(0 < r["share"] < 1 for r in d["results"] if r["operation"] == "open")'
json_is out 'all(r["gflop_per_s"] > 0 for r in d["results"] if r["operation"] in ("rollout", "sequences"))'
json_is out '{(r["ensemble"], r["hidden"]) for r in d["results"] if r["measured_bytes"]} ==
    {(e, h) for e in (1, 3, 5, 10) for h in (64, 128, 256, 512, 1024)}'
json_is out 'all(r["ensemble"] * r["hidden"] * (r["hidden"] + 64) * 12 < r["measured_bytes"] and
    abs(r["estimated_bytes"] / r["measured_bytes"] - 1) < 0.05 for r in d["results"] if r["operation"] == "memory")'
run 0 "$WCODEC" bench --recurrent -n 1 -T 1
prints '^OPERATION  *BACKEND  *THREADS  *MEMBERS  *HIDDEN  *STEPS  *COUNT  *US EACH  *GFLOP/S  *SHARE  *ESTIMATED  *MEASURED$'
prints '^rollout  *cpu  *1  *5  *256  *50  *1  *[0-9.]*  *[0-9.]*  *-  *-  *-$'
run 2 "$WCODEC" bench --recurrent a.safetensors; says 'bench --recurrent measures no files'
run 1 "$WCODEC" bench --recurrent -n 1 -T 1 --memory-limit=64MiB --json; json out
says 'memory'
head -c 100 a.safetensors.wcodec >cut.wcodec
run 3 "$WCODEC" bench -n 1 cut.wcodec
rm cut.wcodec
ls -A >after
for list in before after; do
    grep -v -e '^out$' -e '^err$' -e '^before' -e '^after' $list >$list.rest
done
same before.rest after.rest 'nothing is written'
finish
