#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# A CUDA device whose kernels end in a trap, never end, do nothing or are refused, and one whose memory
# another process has: the right bytes, by the CPU where that may be, or an error that names the device.
# Never other bytes, half an output, or a command that does not end.
. "$top_srcdir/tests/command/lib.sh"
[ -z "${SANITIZER_FLAGS:-}" ] || { echo 'skipped: the driver does not run under sanitizers'; exit 77; }
WCODEC_BACKEND_PATH=$here/backends/cuda/.libs
export WCODEC_BACKEND_PATH
[ -f "$WCODEC_BACKEND_PATH/wcodec_cuda.so" ] || { echo 'skipped: the plugin is not built'; exit 77; }
"$WCODEC" devices >out 2>err
grep -q '^cuda  *[0-9]*  *\(usable\|chosen\)' out || { echo 'skipped: no CUDA device'; cat out; exit 77; }
# tool NAME FLAGS...: $NAME.so, or the program, from WCODEC_TEST_TOOLS where there is no compiler
tool () {
    name=$1
    shift
    if [ -n "${WCODEC_TEST_TOOLS:-}" ]; then cp "$WCODEC_TEST_TOOLS/$name" .; else
        ${CC:-cc} -I"$sources" -o "$name" "$sources/tests/command/${name%.so}.c" "$@" -ldl
    fi || { echo "skipped: no $name"; exit 77; }
}
tool launches.so -shared -fPIC
tool crowd

"$MAKE" -s 7 all.safetensors all || exit 99
"$MAKE" -s 8 large.safetensors a:BF16:4000x4096:gauss b:F32:1000x4096:gauss c:BF16:300x200:gauss || exit 99
"$MAKE" -s 9 rows.safetensors t:F32:20000x64:gauss || exit 99
# Anchors of rows.safetensors
train="vectors train -f --anchors=64 --max-iterations=4"
# shellcheck disable=SC2086 # words
"$WCODEC" $train -q --backend=cpu -o rows.cpu rows.safetensors || exit 99
# is_trained: by the last command: the CPU's anchors, or none, and a reason
is_trained () {
    if [ $code -eq 0 ]; then
        same rows.assign.bin rows.cpu.assign.bin
        same rows.anchors.bin rows.cpu.anchors.bin
    else
        says 'cuda\|CUDA'
        missing rows.idx
    fi
    rm -f rows.assign.bin rows.anchors.bin rows.idx
}
for file in all large; do
    "$WCODEC" compress -q --backend=cpu $file.safetensors -o $file.cpu || exit 99
done

# ends COMMAND...: in time, with an exit code that is no signal's, to $code
ends () {
    timeout -k 5 30 "$@" >out 2>err </dev/null
    code=$?
    case $code in
    0 | 1 | 3 | 4) pass ;;
    *)
        fail "exit code $code: $*"
        sed 's/^/    | /' err
        ;;
    esac
}
# is_whole FILE ORIGINAL: what came of the last command: those bytes; or nothing, and a reason. What a
# device computed wrongly is found by the hash of all.
is_whole () {
    if [ $code -eq 0 ]; then same "$1" "$2"; else missing "$1"; says 'cuda\|CUDA'; fi
    rm -f "$1"
}
# How often each command of these launches, so that every launch of it can be the first that is wrong
launches_of () {
    LAUNCH_FAULT=count LD_PRELOAD=$work/launches.so "$@" >out 2>err </dev/null || fail "$*: $(cat err)"
    sed -n 's/^launches: //p' err | tail -n 1
    rm -f back
}
# wrong FAULT AT COMMAND...
wrong () {
    fault=$1 at=$2 once=
    shift 2
    [ "$fault" != endless ] || once=LAUNCH_ONCE=1
    # shellcheck disable=SC2086 # nothing, or a word
    ends env $once LAUNCH_FAULT="$fault" LAUNCH_AT="$at" LAUNCH_SECONDS=5 LD_PRELOAD="$work/launches.so" "$@"
}

decoding () {
    most=$(launches_of "$WCODEC" decompress -q -f --backend=cuda all.cpu -o back)
    echo "decompressing launches $most kernels"
    [ "${most:-0}" -gt 3 ] || fail "few launches: $most"
    right=0 refused=0
    for fault in trap nothing timeout endless twice; do
        at=1
        while [ $at -le "$most" ]; do
            for backend in cuda auto; do
                wrong "$fault" "$at" "$WCODEC" decompress -q -f --backend=$backend all.cpu -o back
                if [ $code -eq 0 ]; then right=$((right + 1)); else refused=$((refused + 1)); fi
                is_whole back all.safetensors
            done
            # Each, or fewer and fewer; one that takes long seldom.
            case $fault:${WCODEC_TEST_LEVEL:-quick} in
            endless:*) at=$((at + most / 2 + 1)) ;;
            *:full) at=$((at + 1)) ;;
            *) at=$((2 * at + 1)) ;;
            esac
        done
        # The first of all is one of the known tensors'.
        wrong "$fault" 1 "$WCODEC" devices -v
        sed -n "/cuda/s/^/    $fault: /p" out | cut -c 1-200
        wrong "$fault" 1 "$WCODEC" decompress -f --backend=auto large.cpu -o back
        is "$code" 0 "$fault, auto"; is_whole back large.safetensors
    done
    echo "$right times the right bytes, $refused times an error"
}
# What is coded on a device, and trained, too.
coding () {
    for fault in trap nothing timeout; do
        for at in 1 7 20 60; do
            wrong "$fault" "$at" "$WCODEC" compress -q -f --backend=cuda large.safetensors -o coded
            if [ $code -eq 0 ]; then
                run 0 "$WCODEC" decompress -q -f --backend=cpu coded -o back
                same back large.safetensors
                rm -f back
            else
                missing coded; says 'cuda\|CUDA'
            fi
            rm -f coded
            for backend in cuda cuda,cpu; do
                # shellcheck disable=SC2086 # words
                wrong "$fault" "$at" "$WCODEC" $train --backend=$backend -o rows rows.safetensors
                echo "    $fault at $at: train by $backend $code $(head -c 150 err)"
                is_trained
            done
        done
    done
}
# A kernel that does not end in time: with patience for two seconds the command ends before it.
patience () {
    WCODEC_CUDA_PATIENCE=2
    export WCODEC_CUDA_PATIENCE
    run 0 "$WCODEC" decompress -q -f --backend=cuda all.cpu -o back; same back all.safetensors
    rm -f back
    for at in 1 4 20; do
        for backend in cuda cuda,cpu; do
            begun=$(date +%s)
            ends env LAUNCH_ONCE=1 LAUNCH_FAULT=endless LAUNCH_AT=$at LAUNCH_SECONDS=25 LD_PRELOAD="$work/launches.so" \
                "$WCODEC" decompress -f --backend=$backend all.cpu -o back
            took=$(($(date +%s) - begun))
            echo "    endless at $at, $backend: $code after $took s $(head -c 200 err)"
            [ $took -lt 15 ] || fail "it took $took s"
            is_whole back all.safetensors
            # shellcheck disable=SC2086 # words
            ends env LAUNCH_ONCE=1 LAUNCH_FAULT=endless LAUNCH_AT=$at LAUNCH_SECONDS=25 LD_PRELOAD="$work/launches.so" \
                "$WCODEC" $train --backend=$backend -o rows rows.safetensors
            echo "    endless at $at, train by $backend: $code $(head -c 200 err)"
            is_trained
        done
    done
    unset WCODEC_CUDA_PATIENCE
}

# crowded MIB [churn]: another process that leaves so much, until enough is said
crowded () {
    rm -f full
    mkfifo hold 2>/dev/null
    ./crowd "$@" <hold >full 2>&1 &
    crowd=$!
    exec 9>hold
    tries=0
    until grep -q . full || [ $tries -ge 200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    is "$(cat full)" full
}
alone () {
    exec 9>&-
    wait $crowd
}
memory () {
    for leave in 1 100 300 500 700 1000 2000; do
        crowded $leave
        for backend in cuda auto; do
            ends "$WCODEC" decompress -f --backend=$backend large.cpu -o back
            echo "    $leave MiB left, $backend: $code $(grep -v '^large' err | head -c 150)"
            [ $backend = cuda ] || is "$code" 0 "$leave MiB left"
            is_whole back large.safetensors
        done
        # shellcheck disable=SC2086 # words
        ends "$WCODEC" $train --backend=cuda -o rows rows.safetensors
        is_trained
        alone
    done
    crowded 600 churn
    for try in 1 2 3 4 5 6; do
        ends "$WCODEC" decompress -f --backend=auto large.cpu -o back
        is "$code" 0 "churn, $try"; is_whole back large.safetensors
    done
    alone
}
for part in ${WCODEC_TEST_PARTS:-decoding coding patience memory}; do
    case $part in
    decoding) decoding ;;
    coding) coding ;;
    patience) patience ;;
    memory) memory ;;
    esac
done
finish
