#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Names of outputs, what is overwritten and what is not, links, devices, pipes, full disks.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" -s 1 a.safetensors w:BF16:100x1000:gauss || exit 99
"$MAKE" -s 2 b.safetensors w:BF16:100x1000:gauss || exit 99

run 0 "$WCODEC" compress a.safetensors b.safetensors
exists a.safetensors a.safetensors.wcodec b.safetensors.wcodec
run 0 "$WCODEC" compress -O dest a.safetensors b.safetensors
same a.safetensors.wcodec dest/a.safetensors.wcodec
exists dest/b.safetensors.wcodec
run 0 "$WCODEC" decompress -O back dest/a.safetensors.wcodec dest/b.safetensors.wcodec
same a.safetensors back/a.safetensors
same b.safetensors back/b.safetensors
run 0 "$WCODEC" compress -o renamed a.safetensors
run 2 "$WCODEC" decompress renamed; says 'does not end in .wcodec'
run 0 "$WCODEC" decompress renamed -o again
same a.safetensors again
run 1 "$WCODEC" decompress .wcodec
run 1 "$WCODEC" compress a.safetensors.wcodec; says 'ends in .wcodec already'
run 0 "$WCODEC" compress -f --raw a.safetensors.wcodec
exists a.safetensors.wcodec.wcodec
run 1 "$WCODEC" compress -o none/x a.safetensors; says "output's directory"
run 2 "$WCODEC" compress -o dest/ a.safetensors
run 1 "$WCODEC" compress -o dest a.safetensors; says 'is a directory'
run 1 "$WCODEC" decompress -o a.safetensors.wcodec a.safetensors.wcodec -f; says 'same file'
run 1 "$WCODEC" compress -f -o a.safetensors a.safetensors; says 'same file'
same a.safetensors again

# As JSON: an object for each file, whatever came of it.
mkdir json
cp a.safetensors json/a.safetensors
echo '{}' >json/config.json
run 0 "$WCODEC" compress --json -q json; quiet; json out
json_is out 'sorted((r["path"], r["output"], r["status"]) for r in d["results"]) == [
    ("json/a.safetensors", "json.wcodec/a.safetensors.wcodec", "compressed"),
    ("json/config.json", "json.wcodec/config.json", "copied")]'
json_is out '[r for r in d["results"] if "bytes" in r][0]["bytes"] == '"$(size_of a.safetensors)"
json_is out '[r for r in d["results"] if "bytes" in r][0]["coded_bytes"] == '"$(size_of json.wcodec/a.safetensors.wcodec)"
run 0 "$WCODEC" compress --json json; json out
json_is out '[(r["ok"], r["status"]) for r in d["results"]] == [(True, "up to date")] * 2'
run 1 "$WCODEC" compress --json a.safetensors not.there -O json.other; json out
json_is out '[(r["path"], r["ok"]) for r in d["results"]] == [("a.safetensors", True), ("not.there", False)]'
json_is out '"No such file" in d["results"][1]["error"]'
run 3 "$WCODEC" decompress --json a.safetensors; json out
json_is out '[(r["path"], r["ok"], "is no .wcodec file" in r["error"]) for r in d["results"]] == [("a.safetensors", False, True)]'
run 2 "$WCODEC" compress --json --rm json; json out
json_is out '[(r["path"], r["ok"], "is a directory" in r["error"]) for r in d["results"]] == [("json", False, True)]'
run 0 "$WCODEC" decompress --json json.wcodec -o json.back; json out
json_is out 'sorted(r["status"] for r in d["results"]) == ["copied", "restored"]'
head -c 300 json.wcodec/a.safetensors.wcodec >json.wcodec/a.safetensors.wcodec.cut
mv json.wcodec/a.safetensors.wcodec.cut json.wcodec/a.safetensors.wcodec
run 3 "$WCODEC" decompress --json json.wcodec -o json.cut; json out
json_is out 'sorted((r["status"], "error" in r) for r in d["results"]) == [("copied", False), ("failed", True)]'
for command in list info; do
    run 3 "$WCODEC" $command --json json.wcodec/a.safetensors.wcodec; json out
    json_is out '[sorted(f) for f in d["files"]] == [["error", "path"]] and "cut short" in d["files"][0]["error"]'
done
run 3 "$WCODEC" test --json json.wcodec; json out
json_is out 'd["results"][0]["lossy"] is None and "cut short" in d["results"][0]["error"]'
run 0 sh -c '"$1" compress --json -o json.new <a.safetensors' sh "$WCODEC"; json out
json_is out '[(r["path"], r["output"]) for r in d["results"]] == [("standard input", "json.new")]'
run 2 "$WCODEC" compress --json -c a.safetensors; says 'goes to standard output'
run 2 sh -c '"$1" decompress --json <a.safetensors' sh "$WCODEC"; silent
rm -r json json.*

# Up to date: skipped. Not up to date: refused without -f.
before=$(stat -c %i a.safetensors.wcodec)
run 0 "$WCODEC" compress a.safetensors; says 'up to date'
is "$(stat -c %i a.safetensors.wcodec)" "$before"
for option in -9 --level=2 --tile=4096 --predict=none '--include=*' --best -N --name --raw; do
    run 0 "$WCODEC" compress $option a.safetensors; says 'up to date, but made with other options (-3): -f makes it anew'
done
for option in -3 --level=3 --predict=auto -n --no-name; do
    run 0 "$WCODEC" compress $option a.safetensors; says 'up to date$'
done
run 0 "$WCODEC" compress -7 --tune=latency --profile=p12 --tile=8192 --predict=none -o made.wcodec a.safetensors
run 0 "$WCODEC" info made.wcodec; prints '^options: *-7 --tune=latency --tile=8192 --profile=p12 --predict=none$'
run 0 "$WCODEC" info --json made.wcodec; json out
json_is out 'd["files"][0]["options"] == {"level": 7, "tune": "latency", "profile": "p12", "predict": "none", "tile": 8192, "patterns": False}'
run 0 "$WCODEC" compress -7 --tune=latency --profile=p12 --tile=8192 --predict=none -o made.wcodec a.safetensors; says 'up to date$'
run 0 "$WCODEC" compress -7 -o made.wcodec a.safetensors; says 'with other options (-7 --tune=latency --tile=8192 --profile=p12 --predict=none)'
rm made.wcodec
run 0 "$WCODEC" compress -q -T1 --no-sync a.safetensors
run 0 "$WCODEC" compress -T1 a.safetensors; says 'up to date$'
# One that has the right name for it and is damaged is not: who begins again may want to mend it.
cp a.safetensors.wcodec damaged.wcodec
poke damaged.wcodec $(($(size_of damaged.wcodec) / 3)) 125
run 3 "$WCODEC" test -q damaged.wcodec
run 1 "$WCODEC" compress -o damaged.wcodec a.safetensors
says "damaged.wcodec: exists already, but is damaged (.*tensor '.*'.*); -f makes it anew"
run 0 "$WCODEC" compress --no-verify -o damaged.wcodec a.safetensors; says 'up to date$'
run 0 "$WCODEC" compress -fq -o damaged.wcodec a.safetensors
same damaged.wcodec a.safetensors.wcodec
rm damaged.wcodec
run 0 "$WCODEC" compress -f a.safetensors; says ' [kMG]*B/s$'
run 0 "$WCODEC" compress a.safetensors b.safetensors -fO sums; says 'total: 2 compressed, .* KiB to .* KiB ([0-9.]* %), 0 copied, 0 up to date'
run 0 "$WCODEC" compress a.safetensors b.safetensors -O sums; says 'total: 0 copied, 2 up to date'
run 0 "$WCODEC" decompress sums/*.wcodec; says 'total: 2 restored, '
rm -r sums
run 0 "$WCODEC" decompress a.safetensors.wcodec; says 'up to date'
run 1 "$WCODEC" compress -o a.safetensors.wcodec b.safetensors; says 'exists already'
run 0 "$WCODEC" verify a.safetensors.wcodec a.safetensors
echo junk >taken
run 1 "$WCODEC" decompress -o taken a.safetensors.wcodec; says 'exists already'
is "$(cat taken)" junk
run 0 "$WCODEC" decompress -f -o taken a.safetensors.wcodec
same taken a.safetensors
run 0 "$WCODEC" compress -f -o taken a.safetensors
same taken a.safetensors.wcodec

# Symbolic links: inputs are followed, outputs never.
ln -s a.safetensors link
run 0 "$WCODEC" compress link
run 0 "$WCODEC" verify link.wcodec a.safetensors
echo precious >target
ln -s target out.link
run 1 "$WCODEC" compress -o out.link a.safetensors; says 'symbolic link'
run 0 "$WCODEC" compress -f -o out.link a.safetensors
is "$(cat target)" precious
if [ -L out.link ]; then fail 'the link was followed'; else pass; fi
ln -s nowhere dangling
run 1 "$WCODEC" compress -o dangling a.safetensors
missing nowhere
ln -s a.safetensors self
run 1 "$WCODEC" compress -f -o self a.safetensors; says 'same file'

# Devices and pipes are written to with -f only, and stay what they are.
run 1 "$WCODEC" compress -o /dev/null a.safetensors; says 'device'
run 0 "$WCODEC" compress -f -o /dev/null a.safetensors
if [ -c /dev/null ]; then pass; else fail '/dev/null is no device any more'; fi
mkfifo pipe
run 1 "$WCODEC" compress -o pipe a.safetensors
cat pipe >piped &
run 0 "$WCODEC" compress -f -o pipe a.safetensors
wait
same piped a.safetensors.wcodec
run 1 "$WCODEC" compress /dev/zero -o zero; says 'device'
# Links of the system stay; so does an input that standard output is added to.
for path in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
    [ -L $path ] || { skip "no $path"; continue; }
    run 1 "$WCODEC" compress -f -o $path a.safetensors; says 'a link of the system'; silent
done
cp a.safetensors added
run 1 sh -c '"$1" compress -c added >>added' sh "$WCODEC"; says 'same file'
run 1 sh -c '"$1" compress - <added >>added' sh "$WCODEC"; says 'same file'
same added a.safetensors
cp a.safetensors.wcodec added
run 1 sh -c '"$1" decompress -c added >>added' sh "$WCODEC"; says 'same file'
run 1 sh -c '"$1" cat --tensor=w added >>added' sh "$WCODEC"; says 'same file'
same added a.safetensors.wcodec
# "-" is no file's name.
run 0 "$WCODEC" compress -q -o - a.safetensors
same out a.safetensors.wcodec
run 0 "$WCODEC" cat --tensor=w -o - a.safetensors.wcodec
run 2 "$WCODEC" compress --rm -o - a.safetensors
missing ./-
# A folder that is gone.
mkdir gone
run 1 sh -c 'cd gone && rmdir ../gone && "$1" compress "$2/a.safetensors" -o x' sh "$WCODEC" "$work"
says 'No such file'
long=$(printf '%0240d' 0)
run 0 "$WCODEC" compress -o "$long" a.safetensors
same "$long" a.safetensors.wcodec

# A directory that cannot be written to; a file that cannot be read.
if [ "$(id -u)" != 0 ]; then
    mkdir locked
    chmod 555 locked
    run 1 "$WCODEC" compress -O locked a.safetensors; says 'Permission denied'
    cp a.safetensors unreadable
    chmod 000 unreadable
    run 1 "$WCODEC" compress unreadable; says 'Permission denied'
else
    skip 'permissions do not bind root'
fi

# A limit on file sizes, and a full disk: an error, and nothing left.
run 1 sh -c 'ulimit -f 50; "$1" compress -o limited a.safetensors' sh "$WCODEC"
says 'limited: cannot write: File too large'
missing limited
run 1 sh -c 'ulimit -f 50; "$1" decompress -o limited a.safetensors.wcodec' sh "$WCODEC"; says 'cannot write'
missing limited
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    mounted=$work/small
    run 1 "$WCODEC" compress -o small/x a.safetensors; says 'No space left'
    is "$(ls -A small)" ''
    run 1 "$WCODEC" decompress -o small/x a.safetensors.wcodec; says 'are free'
    is "$(ls -A small)" ''
    run 1 sh -c 'cat "$2" | TMPDIR=small "$1" compress - -o spooled' sh "$WCODEC" a.safetensors
    says 'No space left'
    missing spooled
    cp a.safetensors small/ 2>/dev/null || :
    umount small && mounted=
    # Written by several threads, in a mapping of what could be allocated.
    "$MAKE" -s 3 c.safetensors w:BF16:5800x5800:gauss
    run 0 "$WCODEC" compress -q -1 c.safetensors
    mount -t tmpfs -o size=20m none small && mounted=$work/small
    run 0 "${MAKE%/*}/mapped" small/x 20
    rm small/x
    run 1 "$WCODEC" compress -q -1 --raw -T16 -o small/x c.safetensors; says 'No space left'
    is "$(ls -A small)" ''
    run 1 "$WCODEC" decompress -q -T16 -o small/x c.safetensors.wcodec; says 'are free'
    is "$(ls -A small)" ''
    umount small && mounted=
    # No more room than for the output: what cannot be copied is written all the same.
    mount -t tmpfs -o "size=$(($(size_of c.safetensors.wcodec) / 4096 * 4 + 8))k" none small && mounted=$work/small
    run 0 "$WCODEC" compress -q -1 -T16 -o small/x c.safetensors
    same small/x c.safetensors.wcodec
    umount small && mounted=
    # Nor for what is restored, of which the begin has large pages.
    mount -t tmpfs -o "size=$(($(size_of c.safetensors) / 4096 * 4 + 8))k" none small && mounted=$work/small
    run 0 "$WCODEC" decompress -q -T16 -o small/x c.safetensors.wcodec
    same small/x c.safetensors
    umount small && mounted=
    mount -t tmpfs -o size=60m none small && mounted=$work/small
    run 0 "${MAKE%/*}/mapped" small/x 60
    umount small && mounted=
    rm c.safetensors*
else
    skip 'no small file system to fill'
fi

# Several threads write one file in memory, by a mapping when they would wait for each other.
shared=$(mktemp -d /dev/shm/wcodec-command.XXXXXX 2>/dev/null) || shared=
if [ -n "$shared" ] && [ "$(stat -f -c %T "$shared")" = tmpfs ] &&
    [ "$(df -k --output=avail "$shared" | tail -n 1)" -gt 200000 ]; then
    "$PYTHON" -c '
import json, random, struct, sys
values = random.Random(1).randbytes(1 << 20)
count = 40
header = {"t%d" % i: {"dtype": "U8", "shape": [len(values) + 7],
                      "data_offsets": [i * (len(values) + 7), (i + 1) * (len(values) + 7)]}
          for i in range(count)}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for i in range(count):
        file.write(bytes([i] * 7) + values)
' large.safetensors
    run 0 "$WCODEC" compress -q -1 -o large.wcodec large.safetensors
    for threads in 1 3 16; do
        run 0 "$WCODEC" decompress -q -f "-T$threads" -o "$shared/large" large.wcodec
        same "$shared/large" large.safetensors
        is "$(stat -c %Y "$shared/large")" "$(stat -c %Y large.safetensors)"
    done
    run 0 sh -c '"$1" decompress -q -c -T16 large.wcodec >"$2/large"' sh "$WCODEC" "$shared"
    same "$shared/large" large.safetensors
    is "$(ls -A "$shared")" large
    rm -f large.*
else
    skip 'no memory-backed file system with 200 MB'
fi
[ -z "$shared" ] || rm -rf "$shared"
if [ -w /dev/full ]; then
    run 1 sh -c '"$1" compress -c a.safetensors >/dev/full' sh "$WCODEC"; says 'No space left'
    run 1 sh -c '"$1" list a.safetensors.wcodec >/dev/full' sh "$WCODEC"; says 'No space left'
    run 1 sh -c '"$1" list --json a.safetensors.wcodec >/dev/full' sh "$WCODEC"; says 'No space left'
else
    skip 'no /dev/full'
fi

# The umask counts where there is no file to take the mode from.
run 0 sh -c 'umask 027; cat a.safetensors | "$1" compress -q - -o masked.wcodec' sh "$WCODEC"
is "$(stat -c %a masked.wcodec)" 640

# Few open files: more are asked for, and what then is too many is an error.
mkdir shards
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$MAKE" shards/$n.safetensors t$n:U8:5:text
done
"$WCODEC" compress -q shards
run 0 sh -c 'ulimit -Sn 16; "$1" list shards.wcodec' sh "$WCODEC"
is "$(grep -c '^t[0-9]* ' out)" 20
run 1 sh -c 'ulimit -n 16; "$1" list shards.wcodec' sh "$WCODEC"; says 'shards.wcodec/.*: Too many open files'
run 0 sh -c 'ulimit -n 16; "$1" test -q shards.wcodec/*.wcodec' sh "$WCODEC"
run 0 sh -c 'ulimit -n 16; "$1" verify -q shards.wcodec shards' sh "$WCODEC"

# A memory limit that cannot be kept is an error.
run 1 "$WCODEC" cat --tensor w --memory-limit=1000 -o never a.safetensors.wcodec
says "a.safetensors.wcodec: tensor 'w': [0-9]* bytes of memory are needed"
missing never
clean
finish
