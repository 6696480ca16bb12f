#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Standard input and output, pipes, terminals, SIGPIPE.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" a.safetensors w:BF16:300x1000:gauss || exit 99

run 0 sh -c 'cat a.safetensors | "$1" compress - >a.wcodec' sh "$WCODEC"
run 0 sh -c 'cat a.wcodec | "$1" decompress - >back' sh "$WCODEC"
same a.safetensors back
run 0 sh -c '"$1" compress - <a.safetensors >b.wcodec' sh "$WCODEC"
same a.wcodec b.wcodec 'a pipe and a file as standard input'
run 0 sh -c '"$1" -zc a.safetensors | "$1" -d - -o back2' sh "$WCODEC"; silent
same a.safetensors back2
run 0 sh -c '"$1" -zqc a.safetensors | "$1" -dqc -' sh "$WCODEC"; quiet
same a.safetensors out
run 0 "$WCODEC" decompress -c a.wcodec b.wcodec
cat a.safetensors a.safetensors >two
same two out 'two originals joined'
run 2 sh -c 'cat a.safetensors | "$1" compress - -O dir' sh "$WCODEC"
run 2 sh -c 'cat a.wcodec | "$1" decompress - -O dir' sh "$WCODEC"
missing dir

# Without any file, as gzip and zstd: what stands in a pipe goes through.
run 0 sh -c '"$1" compress -q <a.safetensors >e.wcodec' sh "$WCODEC"; quiet
same a.wcodec e.wcodec
run 0 sh -c 'cat a.safetensors | "$1" compress -q | "$1" decompress -q | cmp - a.safetensors' sh "$WCODEC"; quiet
run 0 sh -c '"$1" -zq <a.safetensors | "$1" -dqo back3' sh "$WCODEC"; quiet
same a.safetensors back3
run 0 sh -c '"$1" test <a.wcodec' sh "$WCODEC"; says 'standard input: ok'
run 0 sh -c '"$1" test --json <a.wcodec' sh "$WCODEC"; json_is out 'd["results"][0]["ok"]'
run 3 sh -c '"$1" decompress <a.safetensors' sh "$WCODEC"; silent
rm e.wcodec back3

# Everything that reads takes a pipe, by "-" or by name.
for command in list info test; do
    run 0 sh -c 'cat a.wcodec | "$1" '$command' -' sh "$WCODEC"
done
run 0 sh -c 'cat a.wcodec | "$1" cat --tensor=w -' sh "$WCODEC"
is "$(size_of out)" 600000
run 0 sh -c 'cat a.safetensors | "$1" verify a.wcodec -' sh "$WCODEC"
run 0 sh -c 'cat a.wcodec | "$1" verify - a.safetensors' sh "$WCODEC"
run 3 sh -c 'head -c 1000 a.safetensors | "$1" verify a.wcodec -' sh "$WCODEC"; says 'first at byte 1000'
mkfifo pipe
cat a.safetensors >pipe &
run 0 "$WCODEC" compress -o c.wcodec pipe
wait
run 0 "$WCODEC" verify c.wcodec a.safetensors
# A standard input that was read in part is taken from there.
run 0 sh -c '{ dd bs=8 count=1 of=/dev/null 2>/dev/null; "$1" compress -q - -o rest.wcodec;
    } <a.safetensors' sh "$WCODEC"
run 0 "$WCODEC" decompress -qc rest.wcodec
tail -c +9 a.safetensors >rest
same rest out
run 0 sh -c '"$1" compress -q - </dev/null >empty.wcodec' sh "$WCODEC"
run 0 "$WCODEC" decompress -qc empty.wcodec; silent
run 0 env TMPDIR=/nonexistent "$WCODEC" compress -q a.safetensors -o d.wcodec
run 1 sh -c 'cat a.safetensors | TMPDIR=/nonexistent "$1" compress -q - -o e.wcodec' sh "$WCODEC"
says 'temporary file'
missing e.wcodec

# Data goes to no terminal and comes from none. script(1) gives us one.
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    run 2 script -qec "'$WCODEC' compress -c a.safetensors" typescript </dev/null; prints 'terminal'
    for command in compress decompress test; do
        run 2 script -qec "'$WCODEC' $command" typescript </dev/null; prints "$command what"
    done
    run 2 script -qec "'$WCODEC' cat --tensor w a.wcodec" typescript </dev/null; prints 'terminal'
    run 2 script -qec "'$WCODEC' decompress - -o tty.out" typescript </dev/null; prints 'terminal'
    run 2 script -qec "'$WCODEC' compress - -o tty.out" typescript </dev/null; prints 'terminal'
    missing tty.out
    run 0 script -qec "'$WCODEC' decompress -fc a.wcodec >/dev/tty" typescript </dev/null
    # One tensor that takes a while: what is left of it is said when that can be known.
    "$MAKE" large.safetensors w:I8:4000x4000:gauss || exit 99
    run 0 script -qec "'$WCODEC' compress -9 large.safetensors" typescript </dev/null
    tr '\r' '\n' <out >bars
    if grep -e ' [01]\.[0-9] %.* left' -e '99:59:59' bars; then fail 'an estimate without a rate'; else pass; fi
    rm large.safetensors*
else
    skip 'no script(1) to make a terminal with'
fi
run 0 sh -c '"$1" list a.wcodec 2>&1 >/dev/null | cat' sh "$WCODEC"; silent

# A reader that goes away ends us quietly, by SIGPIPE.
i=0
set --
while [ $i -lt 250 ]; do
    set -- "$@" "name.with.some.length.$i:BF16:4000:gauss"
    i=$((i + 1))
done
"$MAKE" many.safetensors "$@" || exit 99
"$WCODEC" compress -q many.safetensors
for arguments in 'list many.safetensors.wcodec' 'list --json many.safetensors.wcodec' \
    'decompress -c many.safetensors.wcodec' 'compress -c many.safetensors' \
    'cat --tensor w a.wcodec'; do
    { "$WCODEC" $arguments 2>err; echo $? >code; } | true
    case $(cat code) in
    141) pass ;;
    0) pass ;; # all was written before the reader went
    *) fail "exit code $(cat code) on a broken pipe: $arguments" ;;
    esac
    work_err=$(cat err)
    case $arguments in
    list*) is "$work_err" '' "message on a broken pipe" ;;
    *) case $work_err in *rror*) fail "message on a broken pipe: $work_err" ;; *) pass ;; esac ;;
    esac
done
{ "$WCODEC" decompress -qc many.safetensors.wcodec 2>err; echo $? >code; } | head -c 1 >/dev/null
is "$(cat code)" 141 'decompress into a pipe whose reader went away'
is "$(cat err)" ''
# Where SIGPIPE is ignored, it is an error like any other.
run 1 sh -c 'trap "" PIPE; { "$1" decompress -qc many.safetensors.wcodec; echo $? >code;
    } | head -c 1 >/dev/null; exit $(cat code)' sh "$WCODEC"
says 'Broken pipe'
finish
