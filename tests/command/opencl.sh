#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# The OpenCL plugin through the command, on whatever device is there: listed, used when named, and
# taken by "auto" on GPUs only.
. "$top_srcdir/tests/command/lib.sh"
WCODEC_BACKEND_PATH=$here/backends/opencl/.libs
# PoCL asks hwloc for the machine, and hwloc's OpenCL component would ask PoCL.
HWLOC_COMPONENTS=-opencl,-cuda,-nvml
export WCODEC_BACKEND_PATH HWLOC_COMPONENTS
[ -f "$WCODEC_BACKEND_PATH/wcodec_opencl.so" ] || { echo "skipped: the plugin is not built"; exit 77; }

run 0 "$WCODEC" devices
case $(cat out) in
*opencl*usable*) ;;
*) echo "skipped: no OpenCL device"; cat out; exit 77 ;;
esac
prints '^opencl  *0  *usable'
run 0 "$WCODEC" devices --json; prints '"opencl'

"$MAKE" -s 7 all.safetensors all || exit 99
"$WCODEC" compress -q all.safetensors || exit 99
run 0 "$WCODEC" test --backend=opencl all.safetensors.wcodec; silent
run 0 "$WCODEC" test --backend=opencl:0 all.safetensors.wcodec; silent
run 0 "$WCODEC" decompress --backend=opencl -q -o back all.safetensors.wcodec; silent
same all.safetensors back
run 0 "$WCODEC" test --backend=all all.safetensors.wcodec; silent
# Matrices at a fixed rate: the device decodes all their tiles.
"$MAKE" -s 8 fixed.safetensors w:BF16:100x384:gauss e:BF16:333x1001:gauss || exit 99
"$WCODEC" compress -q --tune=compute-fixed fixed.safetensors || exit 99
run 0 "$WCODEC" test --backend=all fixed.safetensors.wcodec; silent
run 0 env WCODEC_LOG=debug "$WCODEC" decompress --backend=opencl -o back.fixed fixed.safetensors.wcodec
says 'opencl:0 decoded 21 tiles'; says 'opencl:0 decoded 168 tiles'
same fixed.safetensors back.fixed
# Those in fragments too.
"$WCODEC" compress -q -f --tune=compute -o order.wcodec fixed.safetensors || exit 99
run 0 "$WCODEC" test --backend=all order.wcodec; silent
run 0 env WCODEC_LOG=debug "$WCODEC" decompress --backend=opencl -o back.order order.wcodec
says 'opencl:0 decoded 10 tiles'
same fixed.safetensors back.order
run 0 "$WCODEC" test -v --backend=all all.safetensors.wcodec; says 'not tested on cuda: '; says 'ok on cpu:0'
says 'all.safetensors.wcodec: ok on opencl:0$'; says 'ok on cpu:0$'
# Each device by its number, of whatever driver; and by the variable.
"$WCODEC" devices >devices.out
for device in $(awk '$1 == "opencl" && ($3 == "usable" || $3 == "chosen") {print $2}' devices.out); do
    run 0 "$WCODEC" test --backend=opencl:$device all.safetensors.wcodec; silent
    run 0 env WCODEC_BACKEND=opencl:$device "$WCODEC" decompress -q -f -o back all.safetensors.wcodec; silent
    same all.safetensors back "opencl:$device"
    run 0 env WCODEC_BACKEND=opencl:$device "$WCODEC" devices; prints "^opencl  *$device  *chosen"
    last=$device
done
run 4 env WCODEC_BACKEND=opencl:$((last + 1)) "$WCODEC" test all.safetensors.wcodec
says "opencl:$((last + 1))"; says 'there is no such device'
run 4 "$WCODEC" test --backend=opencl:99 all.safetensors.wcodec; says 'there is no such device'

# Damage that the CPU finds in a tensor a device finds there too. The reason given for a small one
# differs: the CPU looks at hashes of payloads first.
for at in 3 5 7 9; do
    size=$(size_of all.safetensors.wcodec)
    cp all.safetensors.wcodec bad.wcodec
    printf '\377\000\377\000' | dd of=bad.wcodec bs=1 seek=$((size * at / 10)) conv=notrunc 2>/dev/null
    "$WCODEC" test --backend=cpu bad.wcodec >cpu.out 2>cpu.err; code=$?
    run $code "$WCODEC" test --backend=opencl bad.wcodec
    for file in cpu.err err; do sed "s/\(tensor '[^']*'\).*/\1/" $file >$file.tensor; done
    same cpu.err.tensor err.tensor "damage at $at"
done

# A driver's compiler that fails: what it said is the reason.
run 4 env WCODEC_OPENCL_VARIANT=nonesuch "$WCODEC" test --backend=opencl all.safetensors.wcodec
says 'WCODEC_OPENCL_VARIANT is "nonesuch"'
finish
