#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# SIGINT and SIGTERM while compressing, restoring and reading a pipe: nothing is left behind, the
# input is whole, and the signal is passed on.
. "$top_srcdir/tests/command/lib.sh"
# Level 9 takes seconds for it.
"$MAKE" big.safetensors a:BF16:1024x2048:gauss b:F32:512x1024:gauss || exit 99
cp big.safetensors original
before=$(stat -c '%i %Y' big.safetensors)

# Wait until a file that matches $1 is there, or process $2 has ended.
await () {
    while kill -0 "$2" 2>/dev/null; do
        for f in $1; do
            [ ! -e "$f" ] || return 0
        done
    done
    return 1
}

# sh sets SIGINT to be ignored in background jobs; a shell of its own with a trap does not help, so
# the command is started by a program that resets it.
cat >start.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL); /* nohup ignores it */
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
C
${CC:-cc} -o start start.c 2>/dev/null || cc -o start start.c || { skip 'no compiler for the starter'; finish; }

interrupt () {
    signal=$1 expected=$2 pattern=$3
    shift 3
    ./start "$@" >out 2>err &
    process=$!
    if ! await "$pattern" $process; then
        wait $process
        fail "ended before the signal ($?): $*"
        return
    fi
    kill -$signal $process
    wait $process
    is $? "$expected" "exit code after SIG$signal: $*"
    quiet
    clean
    missing big.safetensors.wcodec
}

interrupt INT 130 '.big.safetensors.wcodec.*' "$WCODEC" compress -9 -T 1 big.safetensors
interrupt TERM 143 '.big.safetensors.wcodec.*' "$WCODEC" compress -9 -T 2 big.safetensors
interrupt HUP 129 '.big.safetensors.wcodec.*' "$WCODEC" compress -9 big.safetensors
interrupt INT 130 '.big.safetensors.wcodec.*' "$WCODEC" compress -9 --rm big.safetensors
# The next input is not begun.
interrupt TERM 143 '.big.safetensors.wcodec.*' "$WCODEC" compress -9 big.safetensors original
missing original.wcodec
same big.safetensors original
is "$(stat -c '%i %Y' big.safetensors)" "$before" 'the input is untouched'

mkfifo pipe
sh -c 'exec 3>pipe; printf begin >&3; : >opened; read forever <hold' 2>/dev/null &
mkfifo hold
writer=$!
interrupt TERM 143 opened "$WCODEC" compress pipe -o piped.wcodec
missing piped.wcodec
kill $writer 2>/dev/null
wait $writer 2>/dev/null

# A signal between the look at the flag and the read that waits: a library put in front sends it
# there.
if build_strike; then
    mkfifo quiet-pipe
    (exec 3<>quiet-pipe; exec sleep 1000) &
    holder=$!
    for arguments in 'compress quiet-pipe -o quiet.wcodec' 'test quiet-pipe' 'verify packed.wcodec quiet-pipe'; do
        [ -e packed.wcodec ] || "$WCODEC" compress -q -1 -o packed.wcodec original
        # What fails here would wait for ever.
        run 143 timeout -k 5 60 env LD_PRELOAD="$work/strike.so" STRIKE_AT=1 STRIKE_ON=read \
            STRIKE_SIGNAL=15 ./start "$WCODEC" $arguments
        if grep -q '^wcodec' err; then fail "a message after a signal: $(cat err)"; else pass; fi
    done
    missing quiet.wcodec
    rm packed.wcodec
    kill $holder
    wait $holder 2>/dev/null
else
    skip 'no library can be put in front'
fi

# Restoring is much faster.
rm original
"$MAKE" big.safetensors a:BF16:4096x4096:gauss b:F32:1024x4096:gauss || exit 99

# No progress bar but on a terminal.
run 0 "$WCODEC" compress -1 -T 1 -o packed.wcodec big.safetensors
if grep -q "$(printf '\r')" err; then fail 'a progress bar in a file'; else pass; fi
run 0 "$WCODEC" test packed.wcodec
interrupt INT 130 '.restored.*' "$WCODEC" decompress -T 1 packed.wcodec -o restored
missing restored
run 0 "$WCODEC" verify packed.wcodec big.safetensors

# A signal that was ignored when we were started stays ignored.
(trap '' INT; exec "$WCODEC" compress -q -1 -o ignored.wcodec big.safetensors) &
process=$!
await '.ignored.wcodec.*' $process && kill -INT $process
wait $process
is $? 0 'an ignored SIGINT'
exists ignored.wcodec
clean
finish
