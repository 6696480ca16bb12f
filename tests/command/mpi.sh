#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# wcodec-mpi: folders of uneven shards over ranks, beside wcodec; damage, kills, and wrong calls.
. "$top_srcdir/tests/command/lib.sh"
MPI=$here/wcodec-mpi
[ -x "$MPI" ] || { echo 'skipped: wcodec-mpi is not built (--with-mpi)'; exit 77; }
[ -z "${SANITIZER_FLAGS:-}" ] || { echo 'skipped: MPI itself leaks'; exit 77; }
command -v mpirun >/dev/null 2>&1 || { echo 'skipped: no mpirun'; exit 77; }
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# Messages between ranks of one host need no network, and few machines of tests have one.
OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl OMPI_MCA_btl_vader_single_copy_mechanism
# MPICH's launcher starts more ranks than there are cores without being told.
more=
case $(mpirun --version 2>/dev/null) in *'Open MPI'*) more=--oversubscribe ;; esac
# ranks N COMMAND...
ranks () {
    number=$1
    shift
    mpirun $more -n "$number" "$@" </dev/null
}
ranks 2 true >out 2>err || { echo "skipped: mpirun does not start: $(head -n 3 err)"; exit 77; }

mkdir -p model/sub
i=1
while [ $i -le 16 ]; do
    "$MAKE" -s $i model/m-$i.safetensors a.$i:BF16:$((i * i * 4))x512:gauss b.$i:F32:10x$i:gauss || exit 99
    i=$((i + 1))
done
mv model/m-7.safetensors model/sub
echo '{"x": 1}' >model/config.json
run 0 "$WCODEC" compress -rq -T1 model -o expected

# The same bytes, whatever the number of ranks; more of them than files, too.
for n in 1 3; do
    run 0 ranks $n "$MPI" compress -r -T1 model -o coded
    says 'total: 16 compressed, .*, 1 copied'; says "$n ranks*: 17 files"
    run 0 diff -r expected coded
    run 0 ranks $n "$MPI" compress -r model -o coded; says 'total: 0 copied, 17 up to date'
    run 0 ranks $n "$MPI" test -r coded; says 'm-7.safetensors.wcodec: ok'
    run 0 ranks $n "$MPI" decompress -r coded -o back
    says 'total: 16 restored'
    run 0 diff -r model back
    rm -r coded back
done
mkdir few
cp model/m-1.safetensors model/m-2.safetensors few
run 0 ranks 4 "$MPI" compress --json few; json out
json_is out 'len(d["results"]) == 2 and all(r["ok"] and 0 <= r["rank"] < 4 for r in d["results"])'
json_is out 'len(d["ranks"]) == 4 and sum(r["files"] for r in d["ranks"]) == 2 and d["failed"] == 0'
same expected/m-1.safetensors.wcodec few.wcodec/m-1.safetensors.wcodec
# Alone, without a launcher.
run 0 "$MPI" compress few -o alone
run 0 diff -r few.wcodec alone
run 0 ranks 2 "$MPI" compress -O apart few/m-1.safetensors few/m-2.safetensors
run 0 diff -r few.wcodec apart
run 0 ranks 2 "$MPI" test --json few.wcodec; json out
json_is out 'sorted(r["path"][-19:] for r in d["results"]) == ["m-1.safetensors.wcodec"[-19:], "m-2.safetensors.wcodec"[-19:]]'

# Damage: named, with its tensor, and all else is done.
cp -r expected damaged
poke damaged/m-9.safetensors.wcodec 100000 125
run 3 "$WCODEC" test -q damaged/m-9.safetensors.wcodec
run 3 ranks 3 "$MPI" test -r damaged
says 'm-9.safetensors.wcodec: .*a\.9'; says '1 of 16 files failed'; says 'm-16.safetensors.wcodec: ok'
run 3 ranks 3 "$MPI" decompress -r --json damaged -o back
json_is out 'sum(r["ok"] for r in d["results"]) == 16 and d["failed"] == 1'
json_is out '[("m-9" in r["path"], "a.9" in r["error"]) for r in d["results"] if not r["ok"]] == [(True, True)]'
missing back/m-9.safetensors
clean back
cp model/m-9.safetensors back
run 0 diff -r model back
rm -r back
printf 'no safetensors' >few/m-3.safetensors
run 3 ranks 2 "$MPI" compress --strict few; says 'm-3.safetensors: '; says '1 of 3 files failed'
rm few/m-3.safetensors

# Wrong calls end with one reason.
run 2 ranks 2 "$MPI" list model; says "'list' is for wcodec"
run 2 ranks 2 "$MPI" compress; says 'takes files and folders'
run 2 ranks 2 "$MPI" compress -c few; says 'takes files and folders'
run 2 ranks 2 "$MPI" compress --rm few; says 'is for wcodec'
run 2 ranks 3 "$MPI" compress --nonsense few
is "$(grep -c 'no such option' err)" 1
run 1 ranks 2 "$MPI" compress nothing; says 'nothing'
echo >file
run 1 ranks 2 "$MPI" compress few -o file/out; says 'file: cannot open the output.s directory'
run 4 ranks 2 "$MPI" compress --backend=nonsense few -o none; says 'nonsense'; says 'no rank can work'
run 0 ranks 2 "$MPI" --version; prints '^wcodec-mpi '
run 0 ranks 2 "$MPI" --help; prints '^Usage'
run 1 env PMI_SIZE=2 "$MPI" compress few; says 'MPI knows one rank only'
mkdir other
cp few/m-1.safetensors other
run 1 ranks 2 "$MPI" compress -fO both few/m-1.safetensors other/m-1.safetensors
says 'two inputs cannot have one output'
# Permissions are nothing to root.
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod 555 closed
    run 1 ranks 2 "$MPI" compress few -o closed; says 'm-1.*Permission denied'; says 'm-2.*Permission denied'
fi

# A file that is too large for one rank is done in parts by all, and is the same.
mkdir large
"$MAKE" -s 98 large/l.safetensors a:BF16:3000x4096:gauss b:F32:10x7:gauss c:BF16:2000x4096:gauss \
    d:BF16:100x4096:gauss e:F32:1000x2048:gauss f:F16:0x3:gauss || exit 99
run 0 "$WCODEC" compress -q -T1 large/l.safetensors -o l.wcodec
# parts: there are none beside the output.
no_parts () {
    find "$1" -name '.*.part-*' >names
    same names /dev/null
}
for n in 2 3; do
    run 0 ranks $n "$MPI" compress -v -T1 large/l.safetensors few/m-1.safetensors -O parts
    says '1 *rank\|ranks: 2 files'; says 'l.safetensors: 6 tensors'
    same l.wcodec parts/l.safetensors.wcodec
    no_parts parts
    rm -r parts
done
run 0 ranks 2 "$MPI" compress --json -T1 large -o parts; json out
json_is out 'len(d["results"]) == 1 and d["results"][0]["status"] == "compressed" and d["results"][0]["tensors"] == 6'
json_is out 'sum(r["files"] for r in d["ranks"]) == 1 and all(r["bytes"] > 0 for r in d["ranks"])'
json_is out 'sum(r["bytes"] for r in d["ranks"]) == d["results"][0]["bytes"]'
same l.wcodec parts/l.safetensors.wcodec
run 0 ranks 2 "$MPI" compress large -o parts; says 'up to date'
run 1 ranks 2 "$MPI" compress --level=1 -fq large -o file/parts
# Another base, and without one: rebase.
sed 's/x/y/' large/l.safetensors | dd conv=notrunc of=next.safetensors 2>/dev/null
run 0 "$WCODEC" compress -q --base=large/l.safetensors next.safetensors -o delta.wcodec
run 0 ranks 2 "$MPI" compress -q -T1 --base=large/l.safetensors next.safetensors -o parts/delta.wcodec
same delta.wcodec parts/delta.wcodec
run 0 "$WCODEC" rebase -q --from=large/l.safetensors delta.wcodec -o plain.wcodec
run 0 ranks 2 "$MPI" rebase -q -T1 --from=large/l.safetensors delta.wcodec -o parts/plain.wcodec
same plain.wcodec parts/plain.wcodec
run 2 ranks 2 "$MPI" rebase plain.wcodec -o parts/none.wcodec; says 'holds no deltas'
mkdir deltas
cp delta.wcodec plain.wcodec model/config.json deltas
run 0 ranks 3 "$MPI" rebase -r -T1 --from=large/l.safetensors -o parts/rebased deltas
says 'total: 1 rebased, .*, 2 copied'
same plain.wcodec parts/rebased/delta.wcodec; same plain.wcodec parts/rebased/plain.wcodec
run 0 ranks 2 "$MPI" rebase -r -T1 --from=large/l.safetensors -o parts/rebased deltas; says 'total: 0 copied, 3 up to date'
rm -r deltas parts/rebased
missing parts/none.wcodec
no_parts parts
# Tested and restored in parts by all, too, whatever the coding; with and without checks.
run 0 ranks 3 "$MPI" test -T1 l.wcodec few.wcodec/m-1.safetensors.wcodec
is "$(grep -c ': ok$' err)" 2
run 0 ranks 2 "$MPI" test --json -T1 l.wcodec; json out
json_is out 'len(d["results"]) == 1 and d["results"][0]["ok"] and all(r["bytes"] > 0 for r in d["ranks"])'
run 0 ranks 2 "$MPI" decompress --json -T1 l.wcodec -o back.safetensors; json out
json_is out 'len(d["results"]) == 1 and d["results"][0]["status"] == "restored" and d["results"][0]["tensors"] == 6'
json_is out 'sum(r["files"] for r in d["ranks"]) == 1 and all(r["bytes"] > 0 for r in d["ranks"])'
same large/l.safetensors back.safetensors
run 0 ranks 3 "$MPI" decompress -T1 l.wcodec -o back.safetensors; says 'up to date'
echo other >back.safetensors
run 1 ranks 2 "$MPI" decompress -T1 l.wcodec -o back.safetensors; says 'exists already'
is "$(cat back.safetensors)" other
run 0 ranks 2 "$MPI" decompress -fq -T1 --no-checksum l.wcodec -o back.safetensors
same large/l.safetensors back.safetensors
run 0 ranks 2 "$MPI" decompress -fq -T1 --base=large/l.safetensors delta.wcodec -o back.safetensors
same next.safetensors back.safetensors
run 0 ranks 2 "$MPI" test -q -T1 --base=large/l.safetensors delta.wcodec
no_parts .
rm back.safetensors
# What is wrong with one tensor is said once, and nothing is left.
cp plain.wcodec bad.wcodec
poke bad.wcodec 20000000 125
run 3 ranks 2 "$MPI" test -T1 bad.wcodec
says "bad.wcodec: tensor '[a-e]': "; says '1 of 1 files failed'
is "$(grep -c "bad.wcodec: tensor" err)" 2 # as it comes, and in the report
run 3 ranks 2 "$MPI" test --json -T1 bad.wcodec
json_is out 'len(d["results"]) == 1 and not d["results"][0]["ok"] and "tensor" in d["results"][0]["error"]'
for at in 1000000 9000000 17000000 25000000 33000000; do
    poke bad.wcodec $at 125
    poke bad.wcodec $((at + 1)) 252
done
run 3 ranks 3 "$MPI" test --json -T1 bad.wcodec
json_is out 'd["failed"] == 1 and len(d["results"]) == 1'
run 3 ranks 2 "$MPI" decompress -T1 bad.wcodec -o parts/bad.safetensors
says "bad.wcodec: tensor '[a-e]': "; says '1 of 1 files failed'
missing parts/bad.safetensors
no_parts parts
run 3 ranks 2 "$MPI" compress -T1 --level=2 bad.wcodec -o parts/bad.wcodec
says "bad.wcodec: tensor '[a-e]': "; says '1 of 1 files failed'
missing parts/bad.wcodec
no_parts parts

# Nor does a power cut leave half of a file that is done in parts, or lose it.
if [ -n "${PYTHON:-}" ] && build_preload trace; then
    "$MAKE" even a:U8:5000x4096:zero b:U8:5000x4096:zero c:BF16:10x4096:gauss || exit 99
    cut_power even 'even even.wcodec' ranks 2 "$MPI" compress -q -T1 even &&
        is "$replay" 0 "$(head -n 3 replayed; tail -n 1 replayed)"
    grep -q 'part-' trace || fail 'nothing was done in parts'
    rm -r before after
else
    skip 'no power can be cut'
fi

if build_strike; then
    # A file system that says only when a file is closed that it had no room.
    run 1 ranks 2 env LD_PRELOAD="$work/strike.so" STRIKE_ON=close STRIKE_AT=1 STRIKE_ERRNO=28 "$MPI" compress -q -T1 large -o full
    says 'l.safetensors.wcodec: cannot write: No space left'
    missing full/l.safetensors.wcodec
    no_parts full
    for call in pwrite:1 close:1 close:2; do
        run 1 ranks 2 env LD_PRELOAD="$work/strike.so" STRIKE_ON=${call%:*} STRIKE_AT=${call#*:} STRIKE_ERRNO=28 "$MPI" decompress -q -T1 l.wcodec \
            -o parts/full.safetensors
        says 'full.safetensors: .*: No space left'
        missing parts/full.safetensors
        no_parts parts
    done
    # Parts of a file in whose place another has come, of the same size and time, are of no use. What looks like one is not ours.
    mkdir replaced
    cp -p large/l.safetensors replaced
    code=0
    ranks 2 env LD_PRELOAD="$work/strike.so" STRIKE_ON=linkat STRIKE_AT=2 STRIKE_SIGNAL=9 "$MPI" compress -q -T1 replaced \
        -o again >out 2>err || code=$?
    if [ $code -ne 0 ] && [ -n "$(find again -name '.*.part-*-[0-9]')" ]; then pass; else fail "no parts are left: $code"; fi
    touch -r large/l.safetensors next.safetensors
    mv next.safetensors replaced/l.safetensors
    echo mine >again/.l.safetensors.wcodec.part-mine
    run 0 "$WCODEC" compress -q -T1 replaced -o whole
    run 0 ranks 2 "$MPI" compress -q -T1 replaced -o again
    same whole/l.safetensors.wcodec again/l.safetensors.wcodec
    is "$(find again -name '.*.part-*')" again/.l.safetensors.wcodec.part-mine
fi

# Killed at random moments: no file under its name that is not whole, no part that was made is made
# again, and begun again the same bytes.
seed=${SEED:-$$}
echo "seed $seed"
mkdir killed
cp large/l.safetensors model
cp l.wcodec expected/l.safetensors.wcodec
tries=0
most=5
[ "${WCODEC_TEST_LEVEL:-quick}" != full ] || most=20
: >before
while [ $tries -lt $most ]; do
    delay=$(awk -v seed=$((seed + tries)) 'BEGIN {srand(seed); printf "%.2f", 0.3 + rand()}')
    if [ $((tries % 2)) -eq 0 ]; then
        timeout -s KILL "$delay" mpirun $more -n 3 "$MPI" compress -rq -T1 model -o "$work/killed" </dev/null >out 2>&1
    else
        mpirun $more -n 3 "$MPI" compress -rq -T1 model -o "$work/killed" </dev/null >out 2>&1 &
        sleep "$delay"
        for rank in $(pgrep -f "wcodec-mpi.* -o $work/killed" | shuf -n 1); do kill -KILL "$rank"; done
        wait $! || true
    fi
    tries=$((tries + 1))
    # The ranks see that their launcher is gone, and end.
    waited=0
    while pgrep -f "wcodec-mpi.* -o $work/killed" >/dev/null && [ $waited -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    find killed -name '*.wcodec' ! -name '.*' >names
    while read -r name; do
        same "$name" "expected/${name#killed/}"
    done <names
    find killed -name '.l.safetensors.wcodec.part-*-[0-9]*' -printf '%p %i\n' | sort >after
    if [ -e killed/l.safetensors.wcodec ]; then
        pass # all were used
    elif comm -23 before after | grep .; then
        fail 'a part was made twice'
    else
        pass
    fi
    mv after before
done
run 0 ranks 3 "$MPI" compress -rq model -o killed
find killed -name '.*.??????????' -type f -exec rm {} +
run 0 diff -r expected killed

# Restoring that a signal ends leaves nothing, and what a kill leaves is gone when the output is there.
if build_strike; then
    mkdir restored
    for signal in 15 2 9; do
        # Rank 0 removes the file, unless it is itself killed: by the launcher, a second after its
        # SIGTERM, where a busy machine gave it no time.
        for try in 1 2 3; do
            rm -f restored/.l.part-*
            code=0
            ranks 3 env LD_PRELOAD="$work/strike.so" STRIKE_ON=pwrite STRIKE_AT=2 STRIKE_SIGNAL=$signal "$MPI" decompress -q -T1 l.wcodec \
                -o restored/l >out 2>err || code=$?
            [ $code -ne 0 ] || fail "signal $signal, try $try: exit code 0"
            missing restored/l
            find restored -name '.l.part-*-all' >names
            [ -s names ] || break
        done
        [ $signal -eq 9 ] || same names /dev/null
    done
    echo left >restored/.l.part-0123456789abcdef-all
    run 0 ranks 3 "$MPI" decompress -q -T1 l.wcodec -o restored/l
    same large/l.safetensors restored/l
    no_parts restored
fi

# One rank dies: all end with the reason.
rm -r killed
cat >dying <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || { (sleep 0.5; kill -KILL $$) & }
exec "$@"
END
chmod +x dying
"$MAKE" -s 99 large.safetensors a:BF16:8000x4096:gauss || exit 99
code=0
timeout 60 mpirun $more -n 3 ./dying "$MPI" compress -rq -9 -T1 model large.safetensors -O killed </dev/null >out 2>err || code=$?
if [ $code -eq 124 ] || [ $code -eq 0 ]; then fail "a dead rank: exit code $code"; else pass; fi
cat out >>err # where MPICH's launcher says it
says '[sS][iI][gG][nN][aA][lL]:* 9'
finish
