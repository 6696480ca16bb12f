#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# The command line: commands, options, help, version, exit codes of wrong usage.
. "$top_srcdir/tests/command/lib.sh"
printf 'some bytes' >file

run 2 "$WCODEC"; silent; says 'command is missing'
run 2 "$WCODEC" frobnicate; silent; says 'no such command'
run 2 "$WCODEC" --frobnicate compress file; silent
run 2 "$WCODEC" compress -o; silent
run 2 "$WCODEC" compress --quiet -xq file; says "no such option: '-x'"
run 2 "$WCODEC" compress --no file; says 'several options begin so (.*--no-sync'
run 2 "$WCODEC" compress --out=x file; says 'several options begin so (--output, --output-dir)'
run 2 "$WCODEC" compress --frob file; says "no such option: '--frob'"
for level in -19 -12 -10 -0 -q19 -9q11; do
    run 2 "$WCODEC" compress $level file; silent; says "levels are 1 to 9, not '[0-9]"
done
run 2 "$WCODEC" compress -19 file; says "not '19'"
run 2 "$WCODEC" compress -q19 file; says "not '19'"
run 2 "$WCODEC" compress -9q11 file; says "not '11'"
for level in 0 10 x ''; do
    run 2 "$WCODEC" compress --level=$level file; says "levels are 1 to 9, not '$level'"
done
run 2 "$WCODEC" list --level=3 file; says 'takes no option --level'
run 2 "$WCODEC" file; silent; says "did you mean 'wcodec compress' with 'file'?$"
cp file file.wcodec
run 2 "$WCODEC" file.wcodec; silent; says "did you mean 'wcodec decompress' with 'file.wcodec'?$"
rm file.wcodec
run 2 "$WCODEC" compress --rm=1 file; says "no value goes with '--rm=1'"
run 2 "$WCODEC" compress file -q --output; says "value is missing after '--output'"
run 2 "$WCODEC" compress file --quiet -qo; says "value is missing after '-o'"
run 2 "$WCODEC" "--$(printf 'c1\302\2331m')" file; says '--c1\\xc2\\x9b1m'
run 2 "$WCODEC" "$(printf '\033[1m')"; says '\\x1b'
run 2 "$WCODEC" compress ''; says 'name is empty'
run 2 "$WCODEC" compress -o '' file; says 'name is empty'
run 2 "$WCODEC" compress -O '' file; says 'name is empty'
run 2 "$WCODEC" -z -d file; says 'exclude each other'
run 2 "$WCODEC" compress --quick file; says 'takes no option --quick'
run 2 "$WCODEC" list -3 file; says 'takes no level'
run 2 "$WCODEC" list -o x file; says 'takes no option --output'
for arguments in '-T x' '-T -1' '-T 99999' '--memory-limit=lots' '--memory-limit=1XiB' \
    '--tile=5000' '--tile=131072' '--profile=p9' '--predict=right' '--tune=fast' '--color=blue' '--raw --strict' \
    '-o a -O b' '-c -o a' '--rm -c' '--rm --no-verify' '--rm --no-sync'; do
    run 2 "$WCODEC" compress $arguments file; silent
done
run 2 "$WCODEC" compress -o out file file; says 'one input'
run 2 "$WCODEC" compress -c file file; says 'one input'
run 2 "$WCODEC" decompress --rm --no-checksum file.wcodec; says 'no-checksum'
run 2 "$WCODEC" decompress --rm --keep-going file.wcodec
for slice in 3 a:b 5:2 1:2:3 -1:2; do
    run 2 "$WCODEC" cat --tensor=x --slice="$slice" file.wcodec
done
run 2 "$WCODEC" bench -n 0 file
run 2 "$WCODEC" cat file.wcodec; says 'needs one --tensor'
run 2 "$WCODEC" cat --tensor a --tensor b file.wcodec
run 2 "$WCODEC" verify file; says 'ORIGINAL'
run 2 "$WCODEC" verify --xxh128=12 file; says '32 hexadecimal digits'
run 2 "$WCODEC" verify - -
for command in list info bench; do
    run 2 "$WCODEC" $command; silent
done
run 2 "$WCODEC" devices file
missing file.wcodec a b

run 0 "$WCODEC" --help; quiet; prints '^Usage: wcodec COMMAND'
run 0 "$WCODEC" help; quiet; prints 'Exit codes'
run 0 "$WCODEC" -h
run 0 "$WCODEC" devices -v; quiet; prints '^cpu '
: >empty
run 0 "$WCODEC" compress empty; says 'empty: empty, stored in'
run 0 "$WCODEC" decompress -f empty.wcodec; says 'empty.wcodec: empty, restored$'
run 0 "$WCODEC" info empty.wcodec; prints '^coded size: .*, ratio -$'
run 0 "$WCODEC" list empty.wcodec; prints '^total: .*, ratio -$'
rm empty empty.wcodec
"$MAKE" none e:BF16:0x3:zero || exit 99
run 0 "$WCODEC" compress none
for command in list info; do
    run 0 "$WCODEC" $command none.wcodec
    if grep 'ratio 0\.0000\|  0\.0000' out; then fail "$command has a ratio of nothing"; else pass; fi
done
rm none none.wcodec
run 4 "$WCODEC" test --backend=foo file
says "foo cannot be used: there is no such backend (wcodec's own are cpu, cuda and opencl); as a plugin, /.*/wcodec_foo.so: not installed"
for command in compress decompress list info test verify cat bench devices help version; do
    run 0 "$WCODEC" help $command; quiet; prints "^Usage: wcodec $command"
    run 0 "$WCODEC" $command --help; quiet; prints "^Usage: wcodec $command"
done
run 0 "$WCODEC" extract -h; prints '^Usage: wcodec cat'
run 0 "$WCODEC" help report; quiet; prints '^Usage: python3 -m wcodec report'
run 1 "$WCODEC" report one two -o page.html --png=plots.png; silent; says 'then run python3 -m wcodec report'
missing page.html plots.png
run 2 "$WCODEC" help frobnicate
run 0 "$WCODEC" -V; quiet; prints '^wcodec [0-9]*\.[0-9]*\.[0-9]*$'
run 0 "$WCODEC" compress --version; prints '^wcodec [0-9]'
run 0 "$WCODEC" version --json; json out
is "$("$WCODEC" version)" "$("$WCODEC" --version)"

# Where the command and its letters may stand, abbreviations, sizes with units.
run 0 "$WCODEC" -qq compress -o 1.wcodec file; quiet
run 0 "$WCODEC" -z -q -o 2.wcodec file
run 0 "$WCODEC" file -qz -o 3.wcodec
run 0 env POSIXLY_CORRECT=1 "$WCODEC" compress file -q -o 4.wcodec
run 0 "$WCODEC" compress --memory-limit=1.5GiB --threads=1 --quiet --tile=4KiB -9 file -o 5.wcodec
# -n takes a number for bench only.
run 0 "$WCODEC" compress -n -f file -o level.wcodec
run 0 "$WCODEC" -n compress -f file -o level.wcodec
run 0 "$WCODEC" -zn -f file -o level.wcodec
run 2 "$WCODEC" bench -n file; says 'iterations must be a number'
run 2 "$WCODEC" -n x bench file; says 'iterations must be a number'
run 2 "$WCODEC" decompress -n file; says 'takes no option --no-name'
for level in -9 --level=9 '-1 -9' '--level=1 --best' -q9 -T16 -9T16; do
    run 0 "$WCODEC" compress $level -f file -o level.wcodec
done
rm level.wcodec
run 0 "$WCODEC" compress --memory-limit=600MB --thr=2 --fast --best -qq file -o 6.wcodec
for n in 2 3 4; do
    same 1.wcodec $n.wcodec
done
cp file compress
run 0 "$WCODEC" -zq compress
exists compress.wcodec
run 0 "$WCODEC" compress -q compress -o 7.wcodec
exists 7.wcodec

# Names that begin with a hyphen.
cp file ./-f.name
run 0 "$WCODEC" compress -q -- -f.name
exists ./-f.name.wcodec
run 0 "$WCODEC" decompress -q -o -out -- -f.name.wcodec
same file ./-out

# A closed descriptor is no place for messages or data.
run 1 sh -c '"$1" list 1.wcodec >&-' sh "$WCODEC"
run 0 sh -c '"$1" compress -q file -o 8.wcodec <&- 2>&-' sh "$WCODEC"
same 1.wcodec 8.wcodec

# What cannot be opened; work goes on with the next.
run 1 "$WCODEC" compress missing file; says 'missing: cannot open: No such file'; silent
exists file.wcodec
run 1 "$WCODEC" test missing.wcodec file.wcodec; says 'file.wcodec: ok'
run 4 "$WCODEC" test --backend=cuda:77 file.wcodec; silent
run 2 env WCODEC_THREADS=many "$WCODEC" test file.wcodec
finish
